/* insert_scaling.c - activations divided and weights multiplied by one number per channel: the same
 * products. The division goes into the constants of the operator before, where the plan says so,
 * else into a Mul. */

#include "base/fail.h"
#include "quant/insert/insert_state.h"
#include "quant/weights/scaling.h"

/* --- what the plan names ---------------------------------------------------------------------- */

static void check_fold(const qdq_inserter *in, const qdq_plan_scaling *c, const qdq_value *v,
                       qdq_buf *list)
{
    const qdq_node *n = qdq_insert_find_node(in, c->fold);
    uint32_t inputs[2];

    if (n == NULL)
        qdq_buf_printf(list, " node '%s';", c->fold);
    else if (v != NULL &&
             (qdq_node_out(n, 0) != v || v->n_use != c->consumers.n || v->n_output > 0 ||
              qdq_scaling_inputs(n, (int64_t)c->n_scales, inputs) == 0))
        qdq_buf_printf(list, " constants of node '%s' that scale '%s' for these readers alone;",
                       c->fold, c->tensor);
}

qdq_status qdq_insert_check_scaling(qdq_inserter *in, size_t index, qdq_buf *list)
{
    const qdq_plan_scaling *c = &in->plan->scalings.at[index];
    const qdq_value *v = qdq_insert_find_value(in, c->tensor);

    for (size_t i = 0; i < c->consumers.n; i++) {
        const qdq_edge *e = &c->consumers.at[i];
        const qdq_node *n = qdq_insert_reader(in, e, list);

        if (n == NULL)
            continue;
        if (e->input != 0 || qdq_node_in(n, 0) != v || !qdq_scaling_reader(n, (int64_t)c->n_scales))
            qdq_buf_printf(list, " product '%s' of '%s' and a matrix with %zu input channels;",
                           e->node, c->tensor, c->n_scales);
        QDQ_TRY(qdq_insert_claim(in, &in->scaling_of, e->node, index, "scalings", list));
    }
    if (c->fold != NULL)
        check_fold(in, c, v, list);
    return QDQ_OK;
}

/* --- weights ---------------------------------------------------------------------------------- */

/* All readers of one entry have their data scaled alike, or none has. */
static qdq_status find_scaling(const qdq_inserter *in, const qdq_plan_weight *w,
                               const qdq_plan_scaling **out)
{
    size_t index;

    QDQ_TRY(qdq_insert_claimed(in, &in->scaling_of, w,
                               "its readers have their data scaled in different ways", &index));
    *out = index != SIZE_MAX ? &in->plan->scalings.at[index] : NULL;
    return QDQ_OK;
}

qdq_status qdq_insert_scaled(qdq_inserter *in, const qdq_plan_weight *w, qdq_weight_state *s)
{
    const qdq_plan_scaling *c;

    QDQ_TRY(find_scaling(in, w, &c));
    if (c == NULL)
        return QDQ_OK;
    size_t rows = (size_t)s->tensor->dim[0], width = (size_t)s->tensor->dim[1];
    const qdq_node *n = qdq_insert_find_node(in, w->consumers.at[0].node);
    bool transposed = qdq_node_int(n, "transB", 0) != 0;
    float *scaled = qdq_arena_array(&in->scratch, rows * width + 1, sizeof *scaled);
    QDQ_NEED(scaled != NULL, in->err);
    for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < width; k++)
            scaled[i * width + k] = s->floats[i * width + k] * c->scales[transposed ? k : i];
    s->floats = scaled;
    s->is_changed = true;
    in->scaled_readers[c - in->plan->scalings.at] += w->consumers.n;
    return QDQ_OK;
}

/* --- activations ------------------------------------------------------------------------------ */

static qdq_status divide_constant(qdq_inserter *in, const qdq_plan_scaling *c, qdq_node *n,
                                  uint32_t input)
{
    const qdq_value *old = n->in[input].value;
    const qdq_tensor *t = qdq_value_const(old);
    const float *floats;
    void *data;

    QDQ_TRY(qdq_weight_floats(t, &in->scratch, &floats, in->err));
    qdq_tensor *fresh = qdq_tensor_new(in->m, QDQ_FLOAT, t->rank, t->dim, &data);
    for (size_t i = 0; fresh != NULL && i < c->n_scales; i++)
        ((float *)data)[i] = floats[i] / c->scales[i];
    qdq_value *v = qdq_insert_constant(in, in->g, old->name, "_scaled", fresh);
    QDQ_NEED(v != NULL, in->err);
    qdq_node_set_in(n, input, v);
    qdq_value_remove_if_unused((qdq_value *)old);
    return QDQ_OK;
}

static qdq_status insert_mul(qdq_inserter *in, const qdq_plan_scaling *c, qdq_value *x)
{
    const int64_t dim = (int64_t)c->n_scales;
    const char *out_name = qdq_insert_name(in, c->tensor, "_scaled"), *wanted, *name;
    void *data;
    qdq_tensor *t = qdq_tensor_new(in->m, QDQ_FLOAT, 1, &dim, &data);

    for (size_t i = 0; t != NULL && i < c->n_scales; i++)
        ((float *)data)[i] = 1 / c->scales[i];
    qdq_value *by = qdq_insert_constant(in, in->g, c->tensor, "_scaled_by", t);
    wanted = qdq_arena_printf(&in->scratch, "%s_Mul", c->tensor);
    name = wanted != NULL ? qdq_graph_unique_node_name(in->g, wanted) : NULL;
    qdq_node *mul = by != NULL && out_name != NULL && name != NULL
                        ? qdq_graph_add_node(in->g, qdq_insert_first_reader(in, &c->consumers), "",
                                             "Mul", name, 2, 1, &out_name)
                        : NULL;
    QDQ_NEED(mul != NULL, in->err);
    qdq_node_set_in(mul, 0, x);
    qdq_node_set_in(mul, 1, by);
    if (x->type != NULL)
        qdq_value_set_type(mul->out[0], x->type);
    for (size_t i = 0; i < c->consumers.n; i++)
        qdq_node_set_in(qdq_insert_find_node(in, c->consumers.at[i].node), 0, mul->out[0]);
    return QDQ_OK;
}

qdq_status qdq_insert_scaling(qdq_inserter *in, size_t index)
{
    const qdq_plan_scaling *c = &in->plan->scalings.at[index];
    qdq_node *n = c->fold != NULL ? qdq_insert_find_node(in, c->fold) : NULL;
    uint32_t inputs[2];

    in->g = qdq_insert_first_reader(in, &c->consumers)->graph;
    if (in->scaled_readers[index] != c->consumers.n)
        return qdq_fail(in->err, QDQ_E_FORMAT,
                        "%zu of its %zu readers have a weight in the plan, expected all",
                        in->scaled_readers[index], c->consumers.n);
    if (n == NULL)
        return insert_mul(in, c, qdq_insert_find_value(in, c->tensor));
    for (uint32_t i = qdq_scaling_inputs(n, (int64_t)c->n_scales, inputs); i-- > 0;)
        QDQ_TRY(divide_constant(in, c, n, inputs[i]));
    /* it is not the value that the input model has by that name; a node keeps its label */
    const char *name = qdq_insert_name(in, c->tensor, "_scaled");
    if (!qdq_node_has_own_name(n))
        QDQ_NEED(qdq_node_set_name(n, qdq_node_label(n, &in->scratch)), in->err);
    return qdq_allocated(name != NULL && qdq_value_rename(n->out[0], name), in->err);
}
