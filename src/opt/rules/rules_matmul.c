/* rules_matmul.c - MatMul in the shape that its operands have anyway. */
#include "base/fail.h"
#include "opt/rules/rule_layout.h"

/* --- unwrap-matmul: y = Reshape(MatMul(Reshape(a), Reshape(b)))  =>  MatMul(a, b) ---------------
 *
 * Exporters make batches of batches one. Either b is a matrix, and a is reshaped but for its last
 * dim: every row is a product of its own. Or both have the same dims but for the last two, which
 * stay as they are, and these are multiplied pair by pair, in the same order. What comes out must
 * have the shape that MatMul gives. Q/DQ: SAFE and useful (a DQ stands in front of the MatMul
 * then), NEVER-ACROSS. */

static const qdq_pat unwrap_pat[] = {
    {"y", QDQ_OP_RESHAPE, {"p", "#sy"}, 0},  {"p", QDQ_OP_MATMUL, {"ra", "rb"}, QDQ_PAT_ONLY},
    {"ra", QDQ_OP_RESHAPE, {"a", "#sa"}, 0}, {"rb", QDQ_OP_RESHAPE, {"b", "#sb"}, 0},
    {"y", QDQ_OP_RESHAPE, {"p", "#sy"}, 0},  {"p", QDQ_OP_MATMUL, {"ra", "b"}, QDQ_PAT_ONLY},
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
    const qdq_type *ra = qdq_match_type(m, qdq_match_value(m, "ra")),
                   *y = qdq_match_type(m, m->root->out[0]);
    const qdq_type *rb = m->n_pat > 3 ? qdq_match_type(m, qdq_match_value(m, "rb")) : b;

    if (a == NULL || b == NULL || ra == NULL || rb == NULL || y == NULL || a->rank < 2 ||
        b->rank < 2 || ra->rank < 2 || rb->rank < 2)
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
    QDQ_RULE_PAT(unwrap_pat),
    .min_opset = 5,
    .check = unwrap_check,
    .build = unwrap_build,
};

/* --- widen-bias: MatMul(a, w) + c  =>  the same with c of as many dims as the product -----------
 *
 * Once the shapes of a model are fixed, ONNX Runtime makes a Gemm of MatMul and Add where c has one
 * dim, and an 8-bit product with a float c becomes a float one whose weight is dequantized in every
 * run (docs/decisions.md). It does not where c has more dims. Open shapes only: where they are
 * fixed already, placement gives c codes, and the Gemm runs in 8 bits. Q/DQ: SAFE and useful. */

static const qdq_pat widen_pat[] = {
    {"y", QDQ_OP_ADD, {"p", "#c"}, QDQ_PAT_COMMUTES},
    {"p", QDQ_OP_MATMUL, {"a", "w"}, QDQ_PAT_ONLY},
};

static bool is_open(const qdq_type *t)
{
    for (int i = 0; i < t->rank; i++)
        if (t->dim[i].value < 0)
            return true;
    return false;
}

static const char *widen_check(const qdq_match *m)
{
    const qdq_type *product = qdq_match_type(m, qdq_match_value(m, "p"));

    if (qdq_match_const(m, "c")->rank != 1)
        return qdq_not_this;
    if (product == NULL || product->rank < 0)
        return "the rank of the product is not proven";
    if (product->rank < 3 || qdq_match_rank(m, qdq_match_value(m, "w")) != 2)
        return "it is not a product of more than two dims with a matrix";
    return is_open(product) ? NULL : "its shape is fixed";
}

static qdq_status widen_build(qdq_match *m, qdq_error *err)
{
    const qdq_type *product = qdq_match_type(m, qdq_match_value(m, "p"));
    const qdq_tensor *c = qdq_match_const(m, "c");
    qdq_value *in[] = {qdq_match_value(m, "p"), qdq_match_value(m, "c")};
    int64_t dim[QDQ_MAX_RANK];

    for (int i = 0; i < product->rank; i++)
        dim[i] = i + 1 < product->rank ? 1 : c->dim[0];
    in[1] = qdq_match_add_const(m, in[1]->name,
                                qdq_tensor_view(m->graph->model, c, c->elem, product->rank, dim));
    return in[1] != NULL ? qdq_match_recast(m, "Add", QDQ_COUNT(in), in, err) : qdq_nomem(err);
}

const qdq_rule qdq_rule_widen_bias = {
    QDQ_RULE_PAT(widen_pat),
    .min_opset = 7,
    .check = widen_check,
    .build = widen_build,
};
