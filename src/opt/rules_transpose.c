/* rules_transpose.c - Transpose that is not needed, and two that are one. Q/DQ: SAFE, direct neighbours only, and what
 * a per-axis DequantizeLinear behind them sees is the same. */
#include "base/fail.h"
#include "opt/rule_layout.h"

static bool is_identity(const qdq_rule_ints *perm)
{
    for (int i = 0; i < perm->n; i++)
        if (perm->at[i] != i)
            return false;
    return true;
}

/* --- drop-noop-transpose -------------------------------------------------------------------------------------------------- */

static const qdq_pat noop_pat[] = {{"y", QDQ_OP_TRANSPOSE, {"x"}, 0}};

static const char *noop_check(const qdq_match *m)
{
    qdq_rule_ints perm;

    return qdq_rule_perm(m, m->root, &perm) && is_identity(&perm) ? NULL : qdq_not_this;
}

const qdq_rule qdq_rule_drop_noop_transpose = {
    .pat = noop_pat,
    .n_pat = QDQ_COUNT(noop_pat),
    .check = noop_check,
    .build = qdq_rule_become_x,
};

/* --- merge-transposes: y = Transpose(Transpose(x))  =>  Transpose(x), or x ------------------------------------------------ */

static const qdq_pat merge_pat[] = {
    {"y", QDQ_OP_TRANSPOSE, {"t"}, 0},
    {"t", QDQ_OP_TRANSPOSE, {"x"}, 0},
};

/* y's axis i is t's axis b[i], which is x's axis a[b[i]]. */
static bool merged_perm(const qdq_match *m, qdq_rule_ints *out)
{
    qdq_rule_ints a, b;

    if (!qdq_rule_perm(m, qdq_match_node(m, "t"), &a) || !qdq_rule_perm(m, m->root, &b) || a.n != b.n)
        return false;
    out->n = a.n;
    for (int i = 0; i < a.n; i++)
        out->at[i] = a.at[b.at[i]];
    return true;
}

static const char *merge_check(const qdq_match *m)
{
    qdq_rule_ints perm;

    return merged_perm(m, &perm) ? NULL : "the permutation is not known";
}

static qdq_status merge_build(qdq_match *m, qdq_error *err)
{
    qdq_rule_ints perm = {0};

    if (!merged_perm(m, &perm))
        return qdq_nomem(err);
    if (is_identity(&perm))
        return qdq_rule_become_x(m, err);
    qdq_node_set_in(m->root, 0, qdq_match_value(m, "x"));
    return qdq_node_set_ints(m->root, "perm", perm.at, (size_t)perm.n) ? QDQ_OK : qdq_nomem(err);
}

const qdq_rule qdq_rule_merge_transposes = {
    .pat = merge_pat,
    .n_pat = QDQ_COUNT(merge_pat),
    .check = merge_check,
    .build = merge_build,
};
