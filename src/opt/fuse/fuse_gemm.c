/* fuse_gemm.c - for matrices:
 *
 *     y = MatMul(a, b) + c            =>  y = Gemm(a, b, c)
 *     y = Gemm(Transpose(a), b, c)    =>  y = Gemm(a, b, c) with transA turned over; the same for b
 *
 * Never at the cost of 8 bits. Engines run Gemm in 8 bits only if its bias is a constant with one
 * number for each column, as 32-bit codes with the scale of the product; MatMul and Add they run
 * one by one, whatever is added. So c must be such a constant, and where Q/DQ are there already, it
 * would have to become int32 in the same step. */
#include "base/fail.h"
#include "opt/rules/rule.h"

static bool is_dequantized(const qdq_value *v)
{
    return v != NULL && v->producer != NULL && v->producer->op == QDQ_OP_DEQUANTIZELINEAR;
}

/* --- MatMul and Add --------------------------------------------------------------------------- */

/* One number for each column. */
static bool is_bias(const qdq_tensor *c, qdq_dim columns)
{
    return c != NULL && columns.value == c->count &&
           (c->rank == 1 || (c->rank == 2 && c->dim[0] == 1));
}

static const char *check_gemm(const qdq_match *m)
{
    const qdq_value *a = qdq_match_value(m, "a"), *b = qdq_match_value(m, "b");
    const qdq_type *ta = qdq_match_type(m, a), *tb = qdq_match_type(m, b);

    if (ta == NULL || tb == NULL || ta->rank < 0 || tb->rank < 0)
        return "the ranks of the factors are not proven";
    if (ta->rank != 2 || tb->rank != 2)
        return qdq_not_this;
    if (ta->elem != QDQ_FLOAT && ta->elem != QDQ_DOUBLE)
        return "the element type is neither float nor double";
    if (is_dequantized(a) || is_dequantized(b))
        return "a factor comes from DequantizeLinear: the bias would have to become int32 in the "
               "same step";
    if (qdq_value_only_user(qdq_match_value(m, "product")) != m->root)
        return "the product is read elsewhere";
    return is_bias(qdq_match_const(m, "c"), tb->dim[1])
               ? NULL
               : "what is added is not a constant with one number for each column";
}

static qdq_status build_gemm(qdq_match *m, qdq_error *err)
{
    qdq_value *in[] = {qdq_match_value(m, "a"), qdq_match_value(m, "b"), qdq_match_value(m, "c")};
    const qdq_tensor *c = qdq_match_const(m, "c");

    if (c->rank == 2) /* 8-bit kernels want a vector */
        in[2] = qdq_match_add_const(m, in[2]->name,
                                    qdq_tensor_view(m->graph->model, c, c->elem, 1, &c->count));
    QDQ_NEED(in[2] != NULL, err);
    QDQ_TRY(qdq_match_recast(m, "Gemm", QDQ_COUNT(in), in, err));
    qdq_match_touch(m, m->root);
    return QDQ_OK;
}

static const qdq_pat gemm[] = {
    {"y", QDQ_OP_ADD, {"product", "c"}, QDQ_PAT_COMMUTES},
    {"product", QDQ_OP_MATMUL, {"a", "b"}, 0},
};

const qdq_rule qdq_rule_fuse_gemm = {QDQ_RULE_PAT(gemm), .min_opset = 7, .check = check_gemm,
                                     .build = build_gemm};

/* --- Transpose and Gemm ----------------------------------------------------------------------- */

/* Which input of the Gemm it is, and the attribute that says how that one is read. */
static uint32_t side_of(const qdq_match *m, const char **attribute)
{
    uint32_t side = qdq_node_in(m->root, 0) == qdq_match_value(m, "transposed") ? 0 : 1;

    *attribute = side == 0 ? "transA" : "transB";
    return side;
}

static const char *check_transpose(const qdq_match *m)
{
    const qdq_node *n = qdq_match_node(m, "transposed");
    const qdq_attr *attr = qdq_node_attr(n, "perm"), *trans;
    const char *attribute;
    const int64_t *perm;
    size_t count;

    side_of(m, &attribute);
    trans = qdq_node_attr(m->root, attribute);
    if (trans != NULL && (trans->type != QDQ_ATTR_INT || trans->ref != NULL))
        return qdq_not_this;
    /* Gemm multiplies matrices: without perm it is [1, 0]. */
    if (attr != NULL &&
        (!qdq_node_ints(n, "perm", &perm, &count) || count != 2 || perm[0] != 1 || perm[1] != 0))
        return qdq_not_this;
    if (is_dequantized(qdq_match_value(m, "x")))
        return "it transposes what comes from DequantizeLinear";
    return qdq_value_only_user(n->out[0]) != m->root ? "the transposed matrix is read elsewhere"
                                                     : NULL;
}

static qdq_status build_transpose(qdq_match *m, qdq_error *err)
{
    const char *attribute;
    uint32_t side = side_of(m, &attribute);
    bool was = qdq_node_int(m->root, attribute, 0) != 0;

    qdq_node_set_in(m->root, side, qdq_match_value(m, "x"));
    if (was)
        qdq_node_remove_attr(m->root, attribute);
    else if (!qdq_node_set_int(m->root, attribute, 1))
        return qdq_nomem(err);
    qdq_match_touch(m, m->root);
    return QDQ_OK;
}

static const qdq_pat gemm_transpose[] = {
    {"y", QDQ_OP_GEMM, {"transposed", "b", "c?"}, 0},
    {"transposed", QDQ_OP_TRANSPOSE, {"x"}, 0},
    {"y", QDQ_OP_GEMM, {"a", "transposed", "c?"}, 0},
    {"transposed", QDQ_OP_TRANSPOSE, {"x"}, 0},
};

const qdq_rule qdq_rule_fuse_gemm_transpose = {QDQ_RULE_PAT(gemm_transpose), .min_opset = 7,
                                               .check = check_transpose, .build = build_transpose};
