/* insert_nodes.c - building blocks of insertion: constants, Q and DQ nodes. Names follow ONNX Runtime's tool:
 * <t>_QuantizeLinear, <t>_scale, <w>_quantized, ... */
#include <string.h>

#include "base/fail.h"
#include "quant/insert_state.h"

const char *qdq_insert_name(qdq_inserter *in, const char *base, const char *suffix)
{
    const char *wanted = qdq_arena_printf(&in->scratch, "%s%s", base, suffix);

    return wanted != NULL ? qdq_graph_unique_name(in->g, wanted) : NULL;
}

static qdq_value *add_constant(qdq_inserter *in, const char *base, const char *suffix, qdq_tensor *t)
{
    const char *name = t != NULL ? qdq_insert_name(in, base, suffix) : NULL;

    return name != NULL ? qdq_graph_add_init(in->g, name, t) : NULL;
}

qdq_value *qdq_insert_scales(qdq_inserter *in, const char *base, const float *scales, int axis, int64_t n)
{
    return add_constant(in, base, "_scale", qdq_tensor_of_floats(in->m, axis < 0 ? 0 : 1, &n, scales));
}

qdq_value *qdq_insert_zero_points(qdq_inserter *in, const char *base, qdq_elem type, int32_t value, int axis,
                                  int64_t n)
{
    void *data;
    qdq_tensor *t = qdq_tensor_new(in->m, type, axis < 0 ? 0 : 1, &n, &data);

    if (t == NULL)
        return NULL;
    if (axis < 0) { /* little-endian, as tensors are stored */
        unsigned char bytes[4] = {(unsigned char)(value & 0xff), (unsigned char)((value >> 8) & 0xff),
                                  (unsigned char)((value >> 16) & 0xff),
                                  (unsigned char)((value >> 24) & 0xff)};
        memcpy(data, bytes, qdq_elem_bits(type) / 8);
    }
    return add_constant(in, base, "_zero_point", t);
}

qdq_value *qdq_insert_node(qdq_inserter *in, qdq_node *before, const char *op, const char *base, int axis,
                           const char *out_name, qdq_value *const inputs[3], const qdq_type *type)
{
    const char *names[1] = {out_name};
    const char *wanted = qdq_arena_printf(&in->scratch, "%s_%s", base, op);
    const char *name = wanted != NULL ? qdq_graph_unique_node_name(in->g, wanted) : NULL;
    uint32_t n_in = inputs[2] != NULL ? 3 : 2;

    if (name == NULL || out_name == NULL)
        return NULL;
    qdq_node *n = qdq_graph_add_node(in->g, before, "", op, name, n_in, 1, names);
    if (n == NULL)
        return NULL;
    for (uint32_t i = 0; i < n_in; i++)
        qdq_node_set_in(n, i, inputs[i]);
    if (axis >= 0 && !qdq_node_set_int(n, "axis", axis))
        return NULL;
    if (type != NULL)
        qdq_value_set_type(n->out[0], type);
    return n->out[0];
}

qdq_status qdq_insert_constant(qdq_inserter *in, const char *base, qdq_tensor *codes, qdq_node *before,
                               int axis, const float *scales, int64_t n_scales, qdq_value **out)
{
    qdq_value *inputs[3] = {add_constant(in, base, "_quantized", codes),
                            qdq_insert_scales(in, base, scales, axis, n_scales), NULL};
    const char *out_name = qdq_insert_name(in, base, "_DequantizeLinear_Output");

    if (codes != NULL && codes->elem == QDQ_INT8)
        inputs[2] = qdq_insert_zero_points(in, base, QDQ_INT8, 0, axis, n_scales);
    if (inputs[0] == NULL || inputs[1] == NULL || (codes->elem == QDQ_INT8 && inputs[2] == NULL))
        return qdq_nomem(in->err);
    *out = qdq_insert_node(in, before, "DequantizeLinear", base, axis, out_name, inputs,
                           qdq_type_fixed(in->m, QDQ_FLOAT, codes->rank, codes->dim));
    return *out != NULL ? QDQ_OK : qdq_nomem(in->err);
}
