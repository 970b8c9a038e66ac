/* place_partitions_filter.c - linear nodes that stay float: they cannot read codes, or the engine
 * has no kernel that is faster in 8 bits for their shape. The bounds are the target's; what is not
 * known of a shape is no reason. */
#include "base/fail.h"
#include "quant/place/place_partitions.h"

/* --- what they read --------------------------------------------------------------------------- */

/* A MatMul of two activations, or of a constant and an activation. */
static const char *evaluate_product(const qdq_partition_state *t, const qdq_node *n,
                                    const qdq_value *a, const qdq_value *b)
{
    const char *reason = NULL;
    qdq_elem left = QDQ_INT8, right = QDQ_INT8;

    if (n->op != QDQ_OP_MATMUL)
        return qdq_value_const(a) != NULL ? "its data is constant, its weight is not"
                                          : "its weight is not constant";
    if (qdq_value_const(a) != NULL)
        reason = qdq_place_evaluate_weight(t->p, n, qdq_value_const(a), NULL, right);
    else
        reason = qdq_place_evaluate_data(t->p, n, a, "its first operand", &left);
    return reason != NULL ? reason
                          : qdq_place_evaluate_data(t->p, n, b, "its second operand", &right);
}

static const char *evaluate_operands(const qdq_partition_state *t, const qdq_node *n)
{
    const qdq_target_op *rule = t->rule_of[n->op];
    const qdq_value *data = qdq_node_in(n, rule->data), *weight = qdq_node_in(n, rule->weight);
    const qdq_found *found;
    qdq_elem type;

    if (data == NULL || weight == NULL)
        return "an input is missing";
    if (!qdq_place_is_float(qdq_node_out(n, 0)))
        return qdq_place_no_float(qdq_node_out(n, 0));
    const qdq_tensor *w = qdq_place_weight(t->p, weight, &found);
    if (w == NULL)
        return evaluate_product(t, n, data, weight);
    if (qdq_value_const(data) != NULL)
        return "both inputs are constant";
    const char *reason = qdq_place_evaluate_data(t->p, n, data, "its data", &type);
    return reason != NULL ? reason : qdq_place_evaluate_weight(t->p, n, w, found, type);
}

/* --- Conv ------------------------------------------------------------------------------------- */

static bool is_square(const qdq_tensor *w)
{
    for (int i = 3; i < w->rank; i++)
        if (w->dim[i] != w->dim[2])
            return false;
    return true;
}

static bool kernel_reaches(const qdq_tensor *w, int64_t least)
{
    for (int i = 2; i < w->rank; i++)
        if (w->dim[i] < least)
            return false;
    return true;
}

static bool kernel_is_larger(const qdq_tensor *w, int64_t volume_max)
{
    int64_t volume = 1;

    for (int i = 2; i < w->rank; i++) {
        if (w->dim[i] > volume_max)
            return true;
        volume *= w->dim[i];
        if (volume > volume_max)
            return true;
    }
    return false;
}

/* Few channels on one side, but a kernel all the same: the weight is [out, in / group, ...]. */
static bool few_but_fast(const qdq_conv_filter *f, const qdq_node *n, const qdq_tensor *w)
{
    int64_t out = w->dim[0], in = w->dim[1], multiple = f->few_multiple;

    if (multiple == 0)
        return false;
    if (qdq_node_int(n, "group", 1) > 1)
        return out % multiple == 0 && kernel_reaches(w, f->depthwise_kernel);
    return (out % multiple == 0 || in % multiple == 0) && is_square(w) &&
           (qdq_node_in(n, 0)->is_input || out >= f->channels_min || in >= f->channels_min);
}

static const char *filter_conv(const qdq_partition_state *t, const qdq_node *n, const qdq_tensor *w)
{
    const qdq_conv_filter *f = &t->rules->conv;

    if (w->rank < 3 || w->rank > 5)
        return "its weight has no 1 to 3 dims of a kernel";
    if ((w->dim[0] < f->channels_min || w->dim[1] < f->channels_min) && !few_but_fast(f, n, w))
        return "a Conv with few channels has no faster kernel in 8 bits";
    if (f->kernel_volume_max > 0 && kernel_is_larger(w, f->kernel_volume_max))
        return "a Conv with a large kernel has no faster kernel in 8 bits";
    return NULL;
}

/* --- MatMul and Gemm -------------------------------------------------------------------------- */

static const qdq_type *shape_of(const qdq_value *v)
{
    return v != NULL && v->type != NULL && v->type->kind == QDQ_TYPE_TENSOR && v->type->rank >= 0
               ? v->type
               : NULL;
}

/* Dim i from behind, 1 the last; -1: not known. */
static int64_t dim_from_end(const qdq_type *type, int i)
{
    return type != NULL && type->rank >= i ? type->dim[type->rank - i].value : -1;
}

static bool is_vector(const qdq_partition_state *t, const qdq_node *n, const qdq_type *out)
{
    bool constant = false;

    if (out == NULL)
        return false;
    for (uint32_t i = 0; i < 2; i++)
        constant |= qdq_node_in(n, i) != NULL && qdq_part_known(t, qdq_node_in(n, i));
    if (!constant)
        return out->rank < 2 || dim_from_end(out, 1) == 1 || dim_from_end(out, 2) == 1;
    for (int i = 1; i <= out->rank && out->rank < 3; i++)
        if (dim_from_end(out, i) == 1)
            return true;
    return false;
}

static const char *filter_gemm(const qdq_partition_state *t, const qdq_node *n)
{
    const qdq_gemm_filter *f = &t->rules->gemm;
    const qdq_type *out = shape_of(qdq_node_out(n, 0)), *b = shape_of(qdq_node_in(n, 1));
    bool transposed = n->op == QDQ_OP_GEMM && qdq_node_int(n, "transB", 0) != 0;
    int64_t columns = dim_from_end(out, 1);
    int64_t depth = dim_from_end(b, transposed || (b != NULL && b->rank == 1) ? 1 : 2);

    if (n->op == QDQ_OP_GEMM && depth < 0) /* the same dim, of the other operand */
        depth =
            dim_from_end(shape_of(qdq_node_in(n, 0)), qdq_node_int(n, "transA", 0) != 0 ? 2 : 1);
    if (f->vectors && is_vector(t, n, out))
        return "a product with a vector has no faster kernel in 8 bits";
    if (columns > 0 && columns < f->columns_min)
        return "a product with few columns has no faster kernel in 8 bits";
    return depth > 0 && depth < f->depth_min
               ? "a product over few elements has no faster kernel in 8 bits"
               : NULL;
}

/* --- all linear nodes ------------------------------------------------------------------------- */

/* What the model has in 8 bits already is not taken back for its shape. */
static bool is_kept(const qdq_partition_state *t, const qdq_node *n)
{
    const qdq_target_op *rule = t->rule_of[n->op];

    return qdq_part_through_dq(t, qdq_node_in(n, rule->data)) &&
           qdq_part_through_dq(t, qdq_node_in(n, rule->weight));
}

static const char *filter_node(const qdq_partition_state *t, const qdq_node *n, const char **rule)
{
    const char *reason = evaluate_operands(t, n);
    const qdq_found *found;

    *rule = t->rule_of[n->op]->rule;
    if (reason != NULL || is_kept(t, n))
        return reason;
    if (n->op == QDQ_OP_CONV && t->rules->conv.rule != NULL) {
        const qdq_tensor *w = qdq_place_weight(t->p, qdq_node_in(n, 1), &found);

        *rule = t->rules->conv.rule;
        return w != NULL ? filter_conv(t, n, w) : "its weight is not constant";
    }
    if ((n->op == QDQ_OP_MATMUL || n->op == QDQ_OP_GEMM) && t->rules->gemm.rule != NULL) {
        *rule = t->rules->gemm.rule;
        return filter_gemm(t, n);
    }
    return NULL;
}

qdq_status qdq_part_filter(const qdq_partition_state *t, qdq_error *err)
{
    QDQ_FOR_PLACED (n, t->p) {
        qdq_node_state *s = qdq_state_of(t->p, n);
        const char *rule;

        if (s->reason != NULL || !qdq_part_is(t, n, QDQ_PART_LINEAR))
            continue;
        s->reason = filter_node(t, n, &rule);
        if (s->reason != NULL)
            QDQ_PART_SAY(t, n, rule, true, "%s: it stays float", s->reason);
        else
            QDQ_PART_SAY(t, n, rule, false, "nothing speaks against 8 bits: a kernel begins here");
    }
    return t->p->no_memory ? qdq_nomem(err) : QDQ_OK;
}
