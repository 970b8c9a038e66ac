/* rules_transpose.c - Transpose that is not needed, and two that are one. Q/DQ: SAFE, direct
 * neighbours only, and what a per-axis DequantizeLinear behind them sees is the same. */
#include "base/fail.h"
#include "opt/rules/rule_layout.h"

static bool is_identity(const qdq_rule_ints *perm)
{
    for (int i = 0; i < perm->n; i++)
        if (perm->at[i] != i)
            return false;
    return true;
}

/* --- drop-noop-transpose ---------------------------------------------------------------------- */

static const qdq_pat noop_pat[] = {{"y", QDQ_OP_TRANSPOSE, {"x"}, 0}};

static const char *noop_check(const qdq_match *m)
{
    qdq_rule_ints perm;

    return qdq_rule_perm(m, m->root, &perm) && is_identity(&perm) ? NULL : qdq_not_this;
}

const qdq_rule qdq_rule_drop_noop_transpose = {
    QDQ_RULE_PAT(noop_pat),
    .check = noop_check,
    .build = qdq_rule_become_x,
};

/* --- merge-transposes: y = Transpose(Transpose(x))  =>  Transpose(x), or x -------------------- */

static const qdq_pat merge_pat[] = {
    {"y", QDQ_OP_TRANSPOSE, {"t"}, 0},
    {"t", QDQ_OP_TRANSPOSE, {"x"}, 0},
};

/* y's axis i is t's axis b[i], which is x's axis a[b[i]]. */
static const char *merge_check(const qdq_match *m)
{
    qdq_rule_ints a, b, *out = qdq_match_found(m, sizeof *out);

    if (!qdq_rule_perm(m, qdq_match_node(m, "t"), &a) || !qdq_rule_perm(m, m->root, &b) ||
        a.n != b.n)
        return "the permutation is not known";
    out->n = a.n;
    for (int i = 0; i < a.n; i++)
        out->at[i] = a.at[b.at[i]];
    return NULL;
}

static qdq_status merge_build(qdq_match *m, qdq_error *err)
{
    const qdq_rule_ints *perm = qdq_match_found(m, sizeof *perm);

    if (is_identity(perm))
        return qdq_rule_become_x(m, err);
    QDQ_NEED(qdq_node_set_ints(m->root, "perm", perm->at, (size_t)perm->n), err);
    return qdq_rule_read_x(m, err);
}

const qdq_rule qdq_rule_merge_transposes = {
    QDQ_RULE_PAT(merge_pat),
    .check = merge_check,
    .build = merge_build,
};

/* --- cancel-transposes: y = Transpose(Relu(Transpose(x)))  =>  Relu(x), where the two come back
 *
 * Between them stand operators that look at each element alone, read by nothing else. Q/DQ:
 * NEVER-ACROSS. */

static const qdq_pat cancel_pat[] = {{"y", QDQ_OP_TRANSPOSE, {"t"}, 0}};

enum { MAX_STEPS = 16 };

typedef struct between {
    int n;
    /* from the root backwards */
    qdq_node *step[MAX_STEPS];
    /* the input that is not a constant */
    uint32_t data[MAX_STEPS];
    qdq_value *x;
} between;

static bool is_one_element(const qdq_value *v)
{
    const qdq_tensor *t = qdq_value_const(v);

    return t != NULL && t->count == 1 && t->rank <= 1;
}

/* y = op(x) element by element; further inputs, and the other operand of arithmetic, are single
 * numbers. */
static bool is_elementwise(const qdq_node *n, uint32_t *data)
{
    *data = 0;
    if (QDQ_OP_IS_IN(
            n->op, QDQ_OP_ABS, QDQ_OP_CAST, QDQ_OP_CEIL, QDQ_OP_CELU, QDQ_OP_CLIP, QDQ_OP_ELU,
            QDQ_OP_ERF, QDQ_OP_EXP, QDQ_OP_FLOOR, QDQ_OP_GELU, QDQ_OP_HARDSWISH, QDQ_OP_HARDSIGMOID,
            QDQ_OP_LEAKYRELU, QDQ_OP_LOG, QDQ_OP_MISH, QDQ_OP_NEG, QDQ_OP_NOT, QDQ_OP_RECIPROCAL,
            QDQ_OP_RELU, QDQ_OP_ROUND, QDQ_OP_SELU, QDQ_OP_SIGMOID, QDQ_OP_SIGN, QDQ_OP_SOFTPLUS,
            QDQ_OP_SOFTSIGN, QDQ_OP_SQRT, QDQ_OP_SWISH, QDQ_OP_TANH, QDQ_OP_THRESHOLDEDRELU)) {
        for (uint32_t k = 1; k < n->n_in; k++)
            if (n->in[k].value != NULL && !is_one_element(n->in[k].value))
                return false;
        return qdq_node_in(n, 0) != NULL;
    }
    if (n->n_in != 2 || !QDQ_OP_IS_IN(n->op, QDQ_OP_ADD, QDQ_OP_SUB, QDQ_OP_MUL, QDQ_OP_DIV,
                                      QDQ_OP_POW, QDQ_OP_MAX, QDQ_OP_MIN))
        return false;
    *data = is_one_element(n->in[0].value);
    return n->in[*data].value != NULL && is_one_element(n->in[1 - *data].value);
}

static const char *cancel_check(const qdq_match *m)
{
    between *b = qdq_match_found(m, sizeof *b);
    qdq_rule_ints first, last;
    qdq_value *v = qdq_match_value(m, "t");
    const qdq_node *reader = m->root;

    for (b->n = 0; b->n < MAX_STEPS; b->n++) {
        qdq_node *n = v != NULL && v->graph == m->graph ? v->producer : NULL;

        if (n == NULL || v->out_index != 0)
            return qdq_not_this;
        if (n->op == QDQ_OP_TRANSPOSE) {
            b->x = qdq_node_in(n, 0);
            if (b->n == 0 || b->x == NULL || !qdq_rule_perm(m, n, &first) ||
                !qdq_rule_perm(m, m->root, &last) || first.n != last.n)
                return qdq_not_this;
            for (int i = 0; i < first.n; i++)
                if (first.at[last.at[i]] != i)
                    return qdq_not_this;
            return NULL;
        }
        if (qdq_value_only_user(v) != reader || !is_elementwise(n, &b->data[b->n]))
            return qdq_not_this;
        b->step[b->n] = n;
        v = n->in[b->data[b->n]].value;
        reader = n;
    }
    return qdq_not_this;
}

/* The same step on what lies the other way round: a new node, because what it computes is a new
 * value. */
static qdq_value *repeat_step(qdq_match *m, qdq_node *old, uint32_t data, qdq_value *x)
{
    const qdq_type *type = qdq_match_type(m, old->out[0]),
                   *shape = qdq_match_type(m, m->root->out[0]);
    qdq_type own = shape != NULL ? *shape : (qdq_type){.kind = QDQ_TYPE_TENSOR, .rank = -1};
    const char *label = old->name;
    qdq_node *n = qdq_node_set_name(old, "") ? qdq_node_copy(old, m->graph, m->root) : NULL;

    own.elem = type != NULL ? type->elem : QDQ_UNDEFINED;
    if (n == NULL || !qdq_match_set_type(m, n->out[0], type != NULL ? &own : NULL) ||
        !qdq_node_set_name(n, label))
        return NULL;
    qdq_node_set_in(n, data, x);
    qdq_match_touch(m, n);
    return n->out[0];
}

static qdq_status cancel_build(qdq_match *m, qdq_error *err)
{
    const between *b = qdq_match_found(m, sizeof *b);
    qdq_value *v = b->x;

    for (int i = b->n; v != NULL && i-- > 0;)
        v = repeat_step(m, b->step[i], b->data[i], v);
    return v != NULL ? qdq_match_become(m, v, err) : qdq_nomem(err);
}

const qdq_rule qdq_rule_cancel_transposes = {
    QDQ_RULE_PAT(cancel_pat),
    .min_opset = 7,
    .check = cancel_check,
    .build = cancel_build,
};
