/* rules_matmul.c - MatMul in the shape that its operands have anyway. */
#include "base/fail.h"
#include "opt/rules/rule_layout.h"

/* --- unwrap-matmul: y = Reshape(MatMul(Reshape(a), Reshape(b)))  =>  MatMul(a, b) -----------------------------------------
 *
 * Exporters make batches of batches one. Either b is a matrix, and a is reshaped but for its last dim: every row is a
 * product of its own. Or both have the same dims but for the last two, which stay as they are, and these are
 * multiplied pair by pair, in the same order. What comes out must have the shape that MatMul gives.
 * Q/DQ: SAFE and useful (a DQ stands in front of the MatMul then), NEVER-ACROSS. */

static const qdq_pat unwrap_pat[] = {
    {"y", QDQ_OP_RESHAPE, {"p", "#sy"}, 0},
    {"p", QDQ_OP_MATMUL, {"ra", "rb"}, QDQ_PAT_ONLY},
    {"ra", QDQ_OP_RESHAPE, {"a", "#sa"}, 0},
    {"rb", QDQ_OP_RESHAPE, {"b", "#sb"}, 0},
    QDQ_PAT_OR,
    {"y", QDQ_OP_RESHAPE, {"p", "#sy"}, 0},
    {"p", QDQ_OP_MATMUL, {"ra", "b"}, QDQ_PAT_ONLY},
    {"ra", QDQ_OP_RESHAPE, {"a", "#sa"}, 0},
};

/* The last `n` dims of both are proven to be the same. */
static bool same_last(const qdq_type *a, const qdq_type *b, int n)
{
    if (a->rank < n || b->rank < n)
        return false;
    for (int i = 1; i <= n; i++)
        if (!qdq_dim_same(a->dim[a->rank - i], b->dim[b->rank - i]))
            return false;
    return true;
}

/* All but the last `n` dims are. */
static bool same_first(const qdq_type *a, const qdq_type *b, int n)
{
    if (a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank - n; i++)
        if (!qdq_dim_same(a->dim[i], b->dim[i]))
            return false;
    return true;
}

static const char *unwrap_check(const qdq_match *m)
{
    const qdq_type *a = qdq_match_type(m, qdq_match_value(m, "a")),
                   *b = qdq_match_type(m, qdq_match_value(m, "b"));
    const qdq_type *ra = qdq_match_type(m, qdq_match_value(m, "ra")), *y = qdq_match_type(m, m->root->out[0]);
    const qdq_type *rb = m->n_pat > 3 ? qdq_match_type(m, qdq_match_value(m, "rb")) : b;

    if (a == NULL || b == NULL || ra == NULL || rb == NULL || y == NULL || a->rank < 2 || b->rank < 2 ||
        ra->rank < 2 || rb->rank < 2)
        return "shapes are not known";
    if (!same_first(a, y, 1) || !qdq_dim_same(b->dim[b->rank - 1], y->dim[y->rank - 1]))
        return "what comes out has not the shape of the product";
    if (rb->rank == 2 && b->rank == 2)
        return same_last(a, ra, 1) && same_last(b, rb, 2) ? NULL : "rows are cut";
    if (ra->rank != 3 || rb->rank != 3 || !same_first(a, b, 2) || !same_last(a, ra, 2) ||
        !same_last(b, rb, 2) || !qdq_dim_same(ra->dim[0], rb->dim[0]))
        return "matrices are cut";
    return NULL;
}

static qdq_status unwrap_build(qdq_match *m, qdq_error *err)
{
    qdq_value *in[] = {qdq_match_value(m, "a"), qdq_match_value(m, "b")};

    return qdq_match_recast(m, "MatMul", 2, in, err);
}

const qdq_rule qdq_rule_unwrap_matmul = {
    .pat = unwrap_pat,
    .n_pat = QDQ_COUNT(unwrap_pat),
    .min_opset = 5,
    .check = unwrap_check,
    .build = unwrap_build,
};
