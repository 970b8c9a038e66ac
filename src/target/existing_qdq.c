/* existing_qdq.c - reads Q and DQ that a model already has. Constants are qdq_params_read()'s
 * business; what is computed is evaluated by its type. */
#include "target/existing_qdq.h"

#include "base/fail.h"

static const qdq_type *tensor_type(const qdq_value *v)
{
    return v != NULL && v->type != NULL && v->type->kind == QDQ_TYPE_TENSOR ? v->type : NULL;
}

static qdq_elem type_of_codes(const qdq_node *n)
{
    return qdq_value_elem(n->op == QDQ_OP_QUANTIZELINEAR ? qdq_node_out(n, 0) : qdq_node_in(n, 0));
}

/* Rank and number of the scales; -1: not known. */
static int rank_of_scales(const qdq_node *n, int64_t *count)
{
    const qdq_tensor *t = qdq_node_const(n, 1);
    const qdq_type *type = tensor_type(qdq_node_in(n, 1));

    *count = t != NULL ? t->count : -1;
    if (t != NULL || type == NULL)
        return t != NULL ? t->rank : -1;
    *count = type->rank == 0 ? 1 : type->rank == 1 ? type->dim[0].value : -1;
    return type->rank;
}

/* ONNX: 1 if it is not given, negative ones count from behind. One that is outside fits no
 * kernel. */
static int axis_of(const qdq_node *n, int rank, int64_t count)
{
    const qdq_tensor *t = qdq_node_const(n, 0);
    const qdq_type *type = tensor_type(qdq_node_in(n, 0));
    int64_t axis = qdq_node_int(n, "axis", 1);

    if (rank < 1 || count == 1)
        return -1;
    if (axis < 0)
        axis += t != NULL ? t->rank : type != NULL && type->rank > 0 ? type->rank : 0;
    return axis >= 0 && axis < QDQ_MAX_RANK ? (int)axis : QDQ_MAX_RANK;
}

qdq_status qdq_found_read(const qdq_node *n, qdq_arena *scratch, qdq_found *out, qdq_error *err)
{
    const qdq_tensor *data =
        n->op == QDQ_OP_DEQUANTIZELINEAR ? qdq_found_constant(n) : qdq_node_const(n, 0);
    bool computed =
        qdq_node_const(n, 1) == NULL || (qdq_node_in(n, 2) != NULL && qdq_node_const(n, 2) == NULL);
    const char *why = NULL;
    int64_t count;
    int rank = rank_of_scales(n, &count);

    *out = (qdq_found){.node = n, .type = type_of_codes(n), .axis = -1};
    out->blocked = qdq_node_int(n, "block_size", 0) != 0 || rank > 1;
    if (out->blocked)
        return QDQ_OK;
    out->axis = axis_of(n, rank, count);
    if (computed)
        return QDQ_OK;
    QDQ_TRY(qdq_params_read(n, data, scratch, &out->params, &why, err));
    if (out->params.codes != QDQ_UNDEFINED)
        out->type = out->params.codes;
    if (why == NULL)
        out->axis = out->params.axis;
    if (why == NULL && !out->params.positive)
        why = "its scale is 0";
    out->fault = why;
    out->known = why == NULL && out->params.scale_elem == QDQ_FLOAT;
    return QDQ_OK;
}

bool qdq_found_qparam(const qdq_found *f, qdq_qparam *out)
{
    int32_t low, high;

    if (!f->known || f->params.count != 1 || !qdq_elem_code_limits(f->type, &low, &high))
        return false;
    *out = (qdq_qparam){f->type, f->params.scale[0], qdq_params_zero(&f->params, 0)};
    return true;
}

bool qdq_found_same(const qdq_found *a, const qdq_found *b)
{
    const qdq_node *x = a->node, *y = b->node;

    if (a->params.count > 0 && b->params.count > 0 && a->fault == NULL && b->fault == NULL)
        return qdq_params_equal(&a->params, &b->params);
    return qdq_node_in(x, 1) == qdq_node_in(y, 1) && qdq_node_in(x, 2) == qdq_node_in(y, 2) &&
           a->type == b->type && a->axis == b->axis &&
           qdq_node_int(x, "block_size", 0) == qdq_node_int(y, "block_size", 0);
}

const qdq_tensor *qdq_found_constant(const qdq_node *dq)
{
    const qdq_value *codes = qdq_node_in(dq, 0);

    if (codes == NULL || qdq_value_const(codes) != NULL)
        return qdq_value_const(codes);
    return codes->producer != NULL && codes->producer->op == QDQ_OP_QUANTIZELINEAR
               ? qdq_node_const(codes->producer, 0)
               : NULL;
}
