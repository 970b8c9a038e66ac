/* insert_nodes.c - building blocks of insertion: constants, Q and DQ nodes. Names follow ONNX
 * Runtime's tool: <t>_QuantizeLinear, <t>_scale, <w>_quantized, ... */

#include "base/fail.h"
#include "quant/insert/insert_state.h"

const char *qdq_insert_name(qdq_inserter *in, const char *base, const char *suffix)
{
    const char *wanted = qdq_arena_printf(&in->scratch, "%s%s", base, suffix);

    return wanted != NULL ? qdq_graph_unique_name(in->m->graph, wanted) : NULL;
}

qdq_value *qdq_insert_constant(qdq_inserter *in, qdq_graph *g, const char *base, const char *suffix,
                               qdq_tensor *t)
{
    const char *name = t != NULL ? qdq_insert_name(in, base, suffix) : NULL;

    return name != NULL ? qdq_graph_add_init(g, name, t) : NULL;
}

void qdq_insert_feed(const qdq_inserter *in, const qdq_edges *edges, qdq_value *v)
{
    for (size_t i = 0; i < edges->n; i++)
        qdq_node_set_in(qdq_insert_find_node(in, edges->at[i].node), edges->at[i].input, v);
}

const qdq_scale_form qdq_one_scale = {.axis = -1};

qdq_value *qdq_insert_scales(qdq_inserter *in, const char *base, const qdq_scale_form *form,
                             const float *scales)
{
    return qdq_insert_constant(in, in->g, base, "_scale",
                               qdq_tensor_of_floats(in->m, form->rank, form->dim, scales));
}

qdq_value *qdq_insert_zero_points(qdq_inserter *in, const char *base, const qdq_scale_form *form,
                                  qdq_elem type, const int32_t *zeros)
{
    void *data;
    qdq_tensor *t = qdq_tensor_new(in->m, type, form->rank, form->dim, &data);

    for (int64_t i = 0; t != NULL && zeros != NULL && i < t->count; i++)
        if (zeros[i] != 0)
            (void)qdq_elem_put_int(type, data, i, zeros[i]);
    return qdq_insert_constant(in, in->g, base, "_zero_point", t);
}

qdq_value *qdq_insert_node(qdq_inserter *in, qdq_node *before, const char *op,
                           const qdq_quantizer *q, const char *out_name, const qdq_type *type)
{
    const char *wanted = qdq_arena_printf(&in->scratch, "%s_%s", q->base, op);
    const char *name = wanted != NULL ? qdq_graph_unique_node_name(in->m->graph, wanted) : NULL;
    uint32_t n_in = q->input[2] != NULL ? 3 : 2;

    if (name == NULL || out_name == NULL)
        return NULL;
    qdq_node *n = qdq_graph_add_node(in->g, before, "", op, name, n_in, 1, &out_name);
    if (n == NULL)
        return NULL;
    for (uint32_t i = 0; i < n_in; i++)
        qdq_node_set_in(n, i, q->input[i]);
    if ((q->form->axis >= 0 && !qdq_node_set_int(n, "axis", q->form->axis)) ||
        (q->form->block > 0 && !qdq_node_set_int(n, "block_size", q->form->block)))
        return NULL;
    if (type != NULL)
        qdq_value_set_type(n->out[0], type);
    return n->out[0];
}

qdq_status qdq_insert_back(qdq_inserter *in, qdq_node *before, const qdq_quantizer *q,
                           const qdq_tensor *shape, qdq_value **out)
{
    *out = qdq_insert_node(in, before, "DequantizeLinear", q,
                           qdq_insert_name(in, q->base, "_DequantizeLinear_Output"),
                           qdq_type_fixed(in->m, QDQ_FLOAT, shape->rank, shape->dim));
    return qdq_allocated(*out != NULL, in->err);
}

qdq_node *qdq_insert_first_reader(const qdq_inserter *in, const qdq_edges *edges)
{
    qdq_node *first = NULL;

    for (size_t i = 0; i < edges->n; i++) {
        qdq_node *n = qdq_insert_find_node(in, edges->at[i].node);
        if (first == NULL || qdq_insert_place(in, n) < qdq_insert_place(in, first))
            first = n;
    }
    return first;
}
