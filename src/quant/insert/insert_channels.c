/* insert_channels.c - channels that products compute in float: their rows of the weights are 0, and
 *
 *   x -> Gather (last dimension) -> MatMul with these rows -> Add
 *
 * adds what they would have given, behind the bias, so that engines fuse product and bias as in any
 * other place. The sum has the name that it had; what is not the sum yet has another one. */
#include <string.h>

#include "base/fail.h"
#include "quant/insert/insert_state.h"
#include "quant/weights/scaling.h"

static bool is_transposed(const qdq_node *n)
{
    return qdq_node_int(n, "transB", 0) != 0;
}

/* Has n a weight with a row for each of these channels, and others? */
static bool has_channels(const qdq_node *n, const qdq_plan_channels *c)
{
    const qdq_tensor *t = qdq_node_const(n, 1);
    const int64_t count = t != NULL && t->rank == 2 ? t->dim[is_transposed(n) ? 1 : 0] : 0;

    return c->n_channels > 0 && c->channels[c->n_channels - 1] < count &&
           (int64_t)c->n_channels < count && qdq_scaling_reader(n, count);
}

qdq_status qdq_insert_check_channels(qdq_inserter *in, size_t index, qdq_buf *list)
{
    const qdq_plan_channels *c = &in->plan->float_channels.at[index];
    const qdq_value *v = qdq_insert_find_value(in, c->tensor);

    for (size_t i = 0; i < c->consumers.n; i++) {
        const qdq_edge *e = &c->consumers.at[i];
        const qdq_node *n = qdq_insert_reader(in, e, list);

        if (n == NULL)
            continue;
        if (e->input != 0 || qdq_node_in(n, 0) != v || !has_channels(n, c))
            qdq_buf_printf(list, " product '%s' of '%s' and a matrix with such input channels;",
                           e->node, c->tensor);
        if (qdq_map_get_int(&in->scaling_of, qdq_insert_place(in, n)) != NULL)
            qdq_buf_printf(list, " room for float channels of node '%s', whose data is scaled;",
                           e->node);
        QDQ_TRY(qdq_insert_claim(in, &in->channels_of, e->node, index, "entries of float channels",
                                 list));
    }
    return QDQ_OK;
}

/* --- weights ---------------------------------------------------------------------------------- */

/* All readers of one entry leave out the same channels, or none does. */
static qdq_status find_channels(const qdq_inserter *in, const qdq_plan_weight *w,
                                const qdq_plan_channels **out)
{
    size_t index;

    QDQ_TRY(qdq_insert_claimed(in, &in->channels_of, w,
                               "its readers have different channels of their data in float",
                               &index));
    *out = index != SIZE_MAX ? &in->plan->float_channels.at[index] : NULL;
    if (*out != NULL && w->store != QDQ_WEIGHT_AS_CODES && w->store != QDQ_WEIGHT_AS_FLOAT)
        return qdq_fail(in->err, QDQ_E_FORMAT,
                        "store '%s': found float channels of its readers, expected 'codes' or "
                        "'float'",
                        qdq_weight_store_names[w->store]);
    return QDQ_OK;
}

qdq_status qdq_insert_zeroed(qdq_inserter *in, size_t index)
{
    const qdq_plan_weight *w = &in->plan->weights.at[index];
    qdq_weight_state *s = &in->weight[index];
    const qdq_plan_channels *c;

    QDQ_TRY(find_channels(in, w, &c));
    if (c == NULL)
        return QDQ_OK;
    const size_t rows = (size_t)s->tensor->dim[0], width = (size_t)s->tensor->dim[1];
    const bool transposed = is_transposed(qdq_insert_find_node(in, w->consumers.at[0].node));
    QDQ_TRY(qdq_insert_find_floats(in, s));
    float *floats = qdq_arena_copy(&in->scratch, s->floats, rows * width, sizeof *floats);
    QDQ_NEED(floats != NULL, in->err);
    for (size_t i = 0; i < c->n_channels; i++) {
        const size_t channel = (size_t)c->channels[i];

        for (size_t k = 0; transposed && k < rows; k++)
            floats[k * width + channel] = 0;
        if (!transposed)
            memset(floats + channel * width, 0, width * sizeof *floats);
    }
    for (size_t i = 0; i < w->consumers.n; i++) {
        const qdq_node *n = qdq_insert_find_node(in, w->consumers.at[i].node);

        qdq_map_value *at = qdq_map_put_int(&in->zeroed, qdq_insert_place(in, n), NULL);

        QDQ_NEED(at != NULL, in->err);
        at->num = index;
    }
    s->whole = s->floats;
    s->floats = floats;
    s->is_changed = true;
    return QDQ_OK;
}

/* --- nodes ------------------------------------------------------------------------------------ */

/* The rows of n's weight as [channels, out], times the factor of n's product. */
static qdq_tensor *rows_of(qdq_inserter *in, const qdq_plan_channels *c, const qdq_node *n,
                           const qdq_tensor *w, const float *floats)
{
    const bool transposed = is_transposed(n);
    const float factor = n->op == QDQ_OP_GEMM ? qdq_node_float(n, "alpha", 1) : 1;
    const int64_t width = w->dim[1], dim[2] = {(int64_t)c->n_channels, w->dim[transposed ? 0 : 1]};
    void *data;
    qdq_tensor *t = qdq_tensor_new(in->m, QDQ_FLOAT, 2, dim, &data);

    for (int64_t i = 0; t != NULL && i < dim[0]; i++)
        for (int64_t k = 0; k < dim[1]; k++)
            ((float *)data)[i * dim[1] + k] =
                factor *
                floats[transposed ? k * width + c->channels[i] : c->channels[i] * width + k];
    return t;
}

/* NULL: out of memory. */
static qdq_node *add_node(qdq_inserter *in, qdq_node *before, const char *op, const char *base,
                          const char *suffix)
{
    const char *wanted = qdq_arena_printf(&in->scratch, "%s%s", base, suffix);
    const char *name = wanted != NULL ? qdq_graph_unique_node_name(in->m->graph, wanted) : NULL,
               *out = qdq_insert_name(in, base, suffix);

    return name != NULL && out != NULL ? qdq_graph_add_node(in->g, before, "", op, name, 2, 1, &out)
                                       : NULL;
}

static bool is_bias(const qdq_value *v)
{
    return v != NULL && (qdq_value_const(v) != NULL ||
                         (v->producer != NULL && v->producer->op == QDQ_OP_DEQUANTIZELINEAR &&
                          qdq_node_const(v->producer, 0) != NULL));
}

/* The Add that alone reads the MatMul n and adds its bias; else n. */
static qdq_node *last_of(qdq_node *n)
{
    qdq_node *add = n->op == QDQ_OP_MATMUL ? qdq_value_only_user(n->out[0]) : NULL;

    if (add == NULL || add->op != QDQ_OP_ADD || add->graph != n->graph || add->n_in != 2)
        return n;
    return is_bias(qdq_node_in(add, qdq_node_in(add, 0) == n->out[0] ? 1 : 0)) ? add : n;
}

/* Only the sum is what the float model has under these names: comparisons go by them. */
static qdq_status rename_part(qdq_inserter *in, qdq_value *v, const char *name)
{
    const char *own = qdq_insert_name(in, name, "_in_8_bits");

    return qdq_allocated(own != NULL && qdq_value_rename(v, own), in->err);
}

/* Who reads v reads `sum` instead, which gets its name. */
static qdq_status take_place(qdq_inserter *in, qdq_value *v, qdq_value *sum)
{
    const char *name = v->name;

    if (v->type != NULL)
        qdq_value_set_type(sum, v->type);
    QDQ_NEED(qdq_value_replace(v, sum), in->err);
    QDQ_TRY(rename_part(in, v, name));
    return qdq_allocated(sum->name == name || qdq_value_rename(sum, name), in->err);
}

/* A node without a name is called after its result, which is about to get another one. */
static qdq_status keep_label(qdq_inserter *in, qdq_node *n)
{
    const char *label = qdq_node_label(n, &in->scratch);

    return qdq_allocated(!qdq_node_label_failed(label) && qdq_node_set_name(n, label), in->err);
}

/* What the channels add to the product n. */
static qdq_status add_product(qdq_inserter *in, const qdq_plan_channels *c, qdq_node *n,
                              qdq_value *gathered)
{
    const qdq_map_value *at = qdq_map_get_int(&in->zeroed, qdq_insert_place(in, n));
    qdq_node *last = last_of(n), *next = last->next != &in->g->end ? last->next : NULL;
    qdq_value *y = last->out[0];

    if (at == NULL)
        return qdq_fail(in->err, QDQ_E_FORMAT, "product '%s' has no weight in the plan",
                        n->out[0]->name);
    const qdq_weight_state *s = &in->weight[at->num];
    qdq_value *rows = qdq_insert_constant(in, in->g, in->plan->weights.at[at->num].tensor,
                                          "_float_rows", rows_of(in, c, n, s->tensor, s->whole));
    qdq_node *product = add_node(in, n, "MatMul", n->out[0]->name, "_float_channels"),
             *sum = add_node(in, next, "Add", y->name, "_sum");
    QDQ_NEED(rows != NULL && product != NULL && sum != NULL, in->err);
    QDQ_TRY(keep_label(in, n));
    qdq_node_set_in(product, 0, gathered);
    qdq_node_set_in(product, 1, rows);
    QDQ_TRY(take_place(in, y, sum->out[0]));
    if (last != n)
        QDQ_TRY(rename_part(in, n->out[0], n->out[0]->name));
    qdq_node_set_in(sum, 0, y);
    qdq_node_set_in(sum, 1, product->out[0]);
    return QDQ_OK;
}

qdq_status qdq_insert_channels(qdq_inserter *in, size_t index)
{
    const qdq_plan_channels *c = &in->plan->float_channels.at[index];
    qdq_node *first = qdq_insert_first_reader(in, &c->consumers);
    const int64_t dim = (int64_t)c->n_channels;
    void *data;

    in->g = first->graph;
    qdq_tensor *t = qdq_tensor_new(in->m, QDQ_INT64, 1, &dim, &data);
    if (t != NULL)
        memcpy(data, c->channels, c->n_channels * sizeof *c->channels);
    qdq_value *indices = qdq_insert_constant(in, in->g, c->tensor, "_float_channel_numbers", t);
    qdq_node *gather = add_node(in, first, "Gather", c->tensor, "_float_channels");
    QDQ_NEED(indices != NULL && gather != NULL && qdq_node_set_int(gather, "axis", -1), in->err);
    qdq_node_set_in(gather, 0, qdq_insert_find_value(in, c->tensor));
    qdq_node_set_in(gather, 1, indices);
    for (size_t i = 0; i < c->consumers.n; i++)
        QDQ_TRY(
            add_product(in, c, qdq_insert_find_node(in, c->consumers.at[i].node), gather->out[0]));
    return QDQ_OK;
}
