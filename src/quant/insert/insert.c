/* insert.c - applies a plan to a graph:
 *
 *   - resolve: every name in the plan to a value, node, input; unknown ones are listed and nothing
 *     is done
 *   - corrections: biases get what their plan adds to them, and are made where there was none
 *   - weights: float initializer -> int8 initializer, scale, zero point, DQ
 *   - scalings: x -> x / s for the products of scaled weights
 *   - float channels: x -> Gather -> MatMul -> Add for products whose weights have rows of zeros
 *   - biases: float initializer -> int32 initializer with scale activation * weight, DQ
 *   - tensors: x -> Q -> DQ -> its readers
 *   - products whose data is quantized while the model runs: after all else, as they become other
 *     nodes
 *
 * Q and DQ of the model that do what the plan says are used, not doubled. */
#include "quant/insert/insert.h"

#include "base/buf.h"
#include "base/fail.h"
#include "ir/graph_check.h"
#include "target/existing_qdq.h"
#include "quant/insert/insert_state.h"

/* --- resolve ---------------------------------------------------------------------------------- */

qdq_node *qdq_insert_find_node(const qdq_inserter *in, const char *label)
{
    return qdq_map_get_ptr(&in->nodes, label);
}

const qdq_node *qdq_insert_reader(const qdq_inserter *in, const qdq_edge *e, qdq_buf *list)
{
    const qdq_node *n = qdq_insert_find_node(in, e->node);

    if (n == NULL)
        qdq_buf_printf(list, " node '%s';", e->node);
    return n;
}

qdq_value *qdq_insert_find_value(const qdq_inserter *in, const char *name)
{
    return qdq_map_get_ptr(&in->values, name);
}

qdq_status qdq_insert_claim(qdq_inserter *in, qdq_map *map, const char *node, size_t index,
                            const char *what, qdq_buf *list)
{
    bool is_new;
    const qdq_node *n = qdq_insert_find_node(in, node);
    qdq_map_value *entry = qdq_map_put_int(map, qdq_insert_place(in, n), &is_new);

    QDQ_NEED(entry != NULL, in->err);
    if (!is_new)
        qdq_buf_printf(list, " room for two %s of node '%s';", what, node);
    entry->num = index;
    return QDQ_OK;
}

qdq_status qdq_insert_claimed(const qdq_inserter *in, const qdq_map *map, const qdq_plan_weight *w,
                              const char *differ, size_t *index)
{
    *index = SIZE_MAX;
    for (size_t i = 0; i < w->consumers.n; i++) {
        const qdq_node *n = qdq_insert_find_node(in, w->consumers.at[i].node);
        const qdq_map_value *entry = qdq_map_get_int(map, qdq_insert_place(in, n));
        const size_t own = entry != NULL ? (size_t)entry->num : SIZE_MAX;

        if (i > 0 && own != *index)
            return qdq_fail(in->err, QDQ_E_FORMAT, "%s", differ);
        *index = own;
    }
    return QDQ_OK;
}

/* Appends what is wrong with the edge to `list`. `weight`: 1 + index of the weight that it is for,
 * or 0. */
static void check_edge(qdq_inserter *in, const char *tensor, const qdq_edge *e, size_t weight,
                       qdq_buf *list)
{
    const qdq_node *n = qdq_insert_find_node(in, e->node);
    const qdq_value *v = qdq_insert_find_value(in, tensor);
    qdq_map_value *entry;
    bool is_new;

    if (v == NULL)
        return; /* the tensor itself is reported, once */
    if (n == NULL)
        qdq_buf_printf(list, " node '%s';", e->node);
    else if (qdq_node_in(n, e->input) != v)
        qdq_buf_printf(list, " edge '%s' -> '%s' input %u;", tensor, e->node, (unsigned)e->input);
    else if ((entry = qdq_map_put_int(&in->edges, qdq_insert_edge(in, n, e->input), &is_new)) ==
             NULL)
        list->failed = true;
    else if (is_new)
        entry->num = weight;
    else
        qdq_buf_printf(list, " room for two entries of edge '%s' -> '%s' input %u;", tensor,
                       e->node, (unsigned)e->input);
}

static void check_tensor(const qdq_inserter *in, const char *tensor, bool constant, qdq_buf *list)
{
    const qdq_value *v = qdq_insert_find_value(in, tensor);

    if (v == NULL)
        qdq_buf_printf(list, " tensor '%s';", tensor);
    else if (constant && qdq_value_const(v) == NULL)
        qdq_buf_printf(list, " constant '%s';", tensor);
}

/* The graph of the nodes that read an entry; that of the value itself if none is listed. */
static qdq_graph *graph_of(const qdq_inserter *in, const char *tensor, const qdq_edges *edges)
{
    const qdq_node *n = edges->n > 0 ? qdq_insert_find_node(in, edges->at[0].node) : NULL;
    const qdq_value *v = qdq_insert_find_value(in, tensor);

    return n != NULL ? n->graph : v != NULL ? v->graph : in->m->graph;
}

/* Is the entry for nodes of a body that read a value of a graph around it? */
static bool is_capture(const qdq_inserter *in, const qdq_plan_tensor *t)
{
    const qdq_value *v = qdq_insert_find_value(in, t->tensor);

    return v != NULL && graph_of(in, t->tensor, &t->consumers) != v->graph;
}

/* Is the entry for readers of what another entry, for all readers, gives? */
static bool is_on_top(const qdq_inserter *in, const qdq_plan_tensor *t)
{
    const qdq_plan_tensor *first = &in->plan->tensors.at[qdq_map_get(&in->tensors, t->tensor)->num];

    return is_capture(in, t) || (first != t && first->all && !t->all);
}

static void check_edges(qdq_inserter *in, const char *tensor, const qdq_edges *edges, size_t weight,
                        qdq_buf *list)
{
    for (size_t i = 0; i < edges->n; i++) {
        const qdq_node *n = qdq_insert_find_node(in, edges->at[i].node);

        check_edge(in, tensor, &edges->at[i], weight, list);
        if (n != NULL && n->graph != graph_of(in, tensor, edges))
            qdq_buf_printf(list, " room for one entry of tensor '%s' in two graphs;", tensor);
    }
}

/* Of two entries for all readers, one would have none. Others stand on top: what they are for is
 * quantized once more. */
static void check_room(const qdq_inserter *in, const qdq_plan_tensor *t, qdq_buf *list)
{
    const qdq_plan_tensor *first = &in->plan->tensors.at[qdq_map_get(&in->tensors, t->tensor)->num];

    if (first != t && t->all)
        qdq_buf_printf(list, " room for two entries of tensor '%s', one of them for all readers;",
                       t->tensor);
}

/* Everything that the plan names must be there: users get one list, not one error at a time. */
static qdq_status check_names(qdq_inserter *in)
{
    qdq_buf list = QDQ_BUF_INIT(1 << 20);
    const qdq_plan *p = in->plan;
    qdq_status st = QDQ_OK;

    for (size_t i = 0; i < p->tensors.n; i++) {
        check_tensor(in, p->tensors.at[i].tensor, false, &list);
        check_room(in, &p->tensors.at[i], &list);
        check_edges(in, p->tensors.at[i].tensor, &p->tensors.at[i].consumers, 0, &list);
    }
    for (size_t i = 0; i < p->weights.n; i++) {
        check_tensor(in, p->weights.at[i].tensor, true, &list);
        check_edges(in, p->weights.at[i].tensor, &p->weights.at[i].consumers, i + 1, &list);
    }
    for (size_t i = 0; i < p->scalings.n && st == QDQ_OK; i++) {
        check_tensor(in, p->scalings.at[i].tensor, false, &list);
        st = qdq_insert_check_scaling(in, i, &list);
    }
    for (size_t i = 0; i < p->float_channels.n && st == QDQ_OK; i++) {
        check_tensor(in, p->float_channels.at[i].tensor, false, &list);
        st = qdq_insert_check_channels(in, i, &list);
    }
    for (size_t i = 0; i < p->biases.n; i++) {
        const qdq_plan_bias *b = &p->biases.at[i];

        check_tensor(in, b->tensor, true, &list);
        check_edge(in, b->tensor, &b->consumer, 0, &list);
        if (st == QDQ_OK)
            st = qdq_insert_check_bias(in, i, &list);
    }
    for (size_t i = 0; i < p->corrections.n; i++)
        qdq_insert_check_correction(in, i, &list);
    if (st == QDQ_OK && list.size > 0)
        st = qdq_fail(in->err, QDQ_E_FORMAT, "the plan names what the model does not have:%.*s",
                      (int)(list.size - 1 < 700 ? list.size - 1 : 700), list.data);
    else if (st == QDQ_OK && list.failed)
        st = qdq_nomem(in->err);
    qdq_buf_free(&list);
    return st;
}

/* Nodes and values of g; of two with one name the first stays, which is that of the graph
 * around. */
static bool resolve_graph(qdq_inserter *in, qdq_graph *g, uint32_t *place)
{
    uint32_t *places = qdq_arena_array(&in->scratch, (size_t)g->next_node_id + 1, sizeof *places);

    in->place[g->index] = places;
    if (places == NULL || !qdq_graph_map_labels(g, &in->scratch, &in->nodes))
        return false;
    QDQ_FOR_NODES (n, g)
        places[n->id] = (*place)++;
    for (size_t i = 0; i < g->values.n; i++) {
        qdq_value *v = g->values.at[i];

        if (!v->dead && qdq_map_get(&in->values, v->name) == NULL &&
            !qdq_map_set_ptr(&in->values, v->name, v))
            return false;
    }
    return true;
}

static qdq_status resolve(qdq_inserter *in)
{
    const qdq_plan *p = in->plan;
    uint32_t place = 0;

    in->place = qdq_arena_array(&in->scratch, in->m->graphs.n + 1, sizeof *in->place);
    QDQ_NEED(in->place != NULL, in->err);
    QDQ_FOR_GRAPHS (g, in->m)
        if (!qdq_graph_in_function(g) && !resolve_graph(in, g, &place))
            return qdq_nomem(in->err);
    for (size_t i = 0; i < p->tensors.n; i++)
        QDQ_NEED(qdq_map_set_first(&in->tensors, p->tensors.at[i].tensor, i), in->err);
    for (size_t i = 0; i < p->weights.n; i++)
        QDQ_NEED(qdq_map_set_first(&in->weights, p->weights.at[i].tensor, i), in->err);
    in->weight = qdq_arena_array(&in->scratch, p->weights.n + 1, sizeof *in->weight);
    in->scaled_readers =
        qdq_arena_array(&in->scratch, p->scalings.n + 1, sizeof *in->scaled_readers);
    QDQ_NEED(in->weight != NULL && in->scaled_readers != NULL, in->err);
    for (size_t i = 0; i < p->corrections.n; i++)
        QDQ_TRY(qdq_insert_new_bias(in, i));
    return check_names(in);
}

/* --- tensors ---------------------------------------------------------------------------------- */

qdq_node *qdq_insert_behind(const qdq_inserter *in, const qdq_value *v)
{
    qdq_node *next = v->producer != NULL && v->graph == in->g ? v->producer->next : in->g->end.next;

    return next != &in->g->end ? next : NULL;
}

/* Gives the name of graph output v to the dequantized value: callers ask for outputs by name. */
static qdq_status free_output_name(qdq_inserter *in, qdq_value *v, const char *name)
{
    const char *inner = qdq_insert_name(in, name, "_QuantizeLinear_Input");

    return qdq_allocated(inner != NULL && qdq_value_rename(v, inner), in->err);
}

static bool quantizes_as(qdq_inserter *in, const qdq_node *n, const qdq_qparam *want,
                         qdq_status *st)
{
    qdq_arena_mark mark = qdq_arena_get_mark(&in->scratch);
    qdq_found found = {0};
    qdq_qparam have;

    *st = qdq_found_read(n, &in->scratch, &found, in->err);
    bool same = *st == QDQ_OK && qdq_found_qparam(&found, &have) && have.type == want->type &&
                have.scale == want->scale && have.zero_point == want->zero_point;
    qdq_arena_reset(&in->scratch, mark);
    return same;
}

/* The Q (or, behind codes, DQ) of the model that does what the plan wants: there is one for each
 * scale, whoever put it there. *out NULL: none. */
static qdq_status find_quantizer(qdq_inserter *in, const qdq_value *v, qdq_op op,
                                 const qdq_qparam *want, qdq_node **out)
{
    qdq_status st = QDQ_OK;

    *out = NULL;
    for (const qdq_use *u = v->first; u != NULL && *out == NULL && st == QDQ_OK; u = u->next)
        if (u->node->op == op && u->index == 0 && u->node->graph == in->g &&
            qdq_node_out(u->node, 0) != NULL && quantizes_as(in, u->node, want, &st))
            *out = u->node;
    return st;
}

/* A Q of the model with the same scale: it may go on reading what it reads (exporters write one for
 * each reader), and the one that the entry uses must. */
static bool stays(qdq_inserter *in, const qdq_node *reader, uint32_t index,
                  const qdq_qparam *qparam, qdq_status *st)
{
    return reader->op == QDQ_OP_QUANTIZELINEAR && index == 0 && reader->graph == in->g &&
           quantizes_as(in, reader, qparam, st);
}

/* Readers of v, and the graph output, get the dequantized value instead. */
static qdq_status redirect_all(qdq_inserter *in, qdq_value *v, const qdq_node *q,
                               const qdq_qparam *qparam, qdq_value *dequantized)
{
    qdq_status st = QDQ_OK;

    QDQ_FOR_USES (u, v) {
        if (u->node != q && !stays(in, u->node, u->index, qparam, &st))
            qdq_node_set_in(u->node, u->index, dequantized);
        QDQ_TRY(st);
    }
    for (size_t i = 0; i < in->g->outputs.n && v->n_output > 0; i++)
        if (in->g->outputs.at[i] == v)
            qdq_graph_set_output(in->g, i, dequantized);
    return QDQ_OK;
}

static qdq_status redirect_listed(qdq_inserter *in, const qdq_plan_tensor *t,
                                  qdq_value *dequantized)
{
    qdq_status st = QDQ_OK;

    for (size_t i = 0; i < t->consumers.n && st == QDQ_OK; i++) {
        const qdq_edge *e = &t->consumers.at[i];
        qdq_node *reader = qdq_insert_find_node(in, e->node);
        if (!stays(in, reader, e->input, &t->qparam, &st))
            qdq_node_set_in(reader, e->input, dequantized);
    }
    return st;
}

static qdq_status insert_quantizer(qdq_inserter *in, const qdq_plan_tensor *t,
                                   const qdq_quantizer *of, qdq_node **q)
{
    const qdq_type *type = of->input[0]->type;
    const qdq_type *codes =
        type == NULL ? NULL : qdq_type_tensor(in->m, t->qparam.type, type->rank, type->dim);
    const qdq_value *quantized =
        qdq_insert_node(in, qdq_insert_behind(in, of->input[0]), "QuantizeLinear", of,
                        qdq_insert_name(in, t->tensor, "_QuantizeLinear_Output"), codes);

    QDQ_NEED(quantized != NULL, in->err);
    *q = quantized->producer;
    return QDQ_OK;
}

/* Q and DQ behind v, those of the model where it has them. */
static qdq_status quantize_and_back(qdq_inserter *in, const qdq_plan_tensor *t, qdq_value *v,
                                    qdq_node **q, qdq_value **dequantized)
{
    bool is_output = t->all && v->n_output > 0;
    qdq_node *dq = NULL;

    QDQ_TRY(find_quantizer(in, v, QDQ_OP_QUANTIZELINEAR, &t->qparam, q));
    if (*q != NULL && !is_output)
        QDQ_TRY(find_quantizer(in, (*q)->out[0], QDQ_OP_DEQUANTIZELINEAR, &t->qparam, &dq));
    in->unsorted |= *q != NULL; /* the new readers may stand before it */
    if (dq != NULL) {
        *dequantized = dq->out[0];
        return QDQ_OK;
    }
    const char *out_name =
        is_output ? t->tensor : qdq_insert_name(in, t->tensor, "_DequantizeLinear_Output");
    qdq_quantizer of = {
        .base = t->tensor,
        .form = &qdq_one_scale,
        .input = {v, qdq_insert_scales(in, t->tensor, &qdq_one_scale, &t->qparam.scale),
                  qdq_insert_zero_points(in, t->tensor, &qdq_one_scale, t->qparam.type,
                                         &t->qparam.zero_point)}};
    QDQ_NEED(of.input[1] != NULL && of.input[2] != NULL && out_name != NULL, in->err);
    if (*q == NULL)
        QDQ_TRY(insert_quantizer(in, t, &of, q));
    of.input[0] = (*q)->out[0];
    *dequantized = qdq_insert_node(in, qdq_insert_behind(in, of.input[0]), "DequantizeLinear", &of,
                                   out_name, v->type);
    return qdq_allocated(*dequantized != NULL, in->err);
}

static qdq_status insert_tensor(qdq_inserter *in, size_t index)
{
    const qdq_plan_tensor *t = &in->plan->tensors.at[index];
    qdq_value *v = qdq_insert_find_value(in, t->tensor), *dequantized = NULL;
    const qdq_type *type = v->type;
    qdq_node *q = NULL;

    in->g = graph_of(in, t->tensor, &t->consumers);
    if (type != NULL && (type->kind != QDQ_TYPE_TENSOR || type->elem != QDQ_FLOAT))
        return qdq_fail(in->err, QDQ_E_FORMAT, "its type is %s, expected float",
                        type->kind == QDQ_TYPE_TENSOR ? qdq_elem_name(type->elem) : "no tensor");
    if (t->all && v->n_output > 0) {
        if (v->producer == NULL)
            return qdq_fail(in->err, QDQ_E_UNSUPPORTED, "it is an input and an output at once");
        QDQ_TRY(free_output_name(in, v, t->tensor));
    }
    QDQ_TRY(quantize_and_back(in, t, v, &q, &dequantized));
    if (t->all)
        QDQ_TRY(redirect_all(in, v, q, &t->qparam, dequantized));
    return redirect_listed(in, t, dequantized);
}

/* What stands on top first: then it reads what the entry for all readers of the value gives. */
static qdq_status insert_on_top(qdq_inserter *in, size_t i)
{
    return is_on_top(in, &in->plan->tensors.at[i]) ? insert_tensor(in, i) : QDQ_OK;
}

static qdq_status insert_own(qdq_inserter *in, size_t i)
{
    return is_on_top(in, &in->plan->tensors.at[i]) ? QDQ_OK : insert_tensor(in, i);
}

/* --- public ----------------------------------------------------------------------------------- */

#define FOR_EACH(list, step, what)                                                                 \
    for (size_t i = 0; i < in->plan->list.n; i++) {                                                \
        QDQ_TRY(qdq_job_poll(in->job, in->err));                                                   \
        qdq_status st = step(in, i);                                                               \
        if (st != QDQ_OK)                                                                          \
            return qdq_within(in->err, st, what " '%s'", in->plan->list.at[i].tensor);             \
    }

static void drop_original(qdq_inserter *in, const char *tensor)
{
    qdq_value *v = qdq_insert_find_value(in, tensor);

    if (v != NULL)
        qdq_value_remove_if_unused(v);
}

static void drop_originals(qdq_inserter *in)
{
    for (size_t i = 0; i < in->plan->weights.n; i++)
        drop_original(in, in->plan->weights.at[i].tensor);
    for (size_t i = 0; i < in->plan->biases.n; i++)
        drop_original(in, in->plan->biases.at[i].tensor);
    for (size_t i = 0; i < in->plan->corrections.n; i++)
        drop_original(in, in->plan->corrections.at[i].tensor);
}

/* Q/DQ came with opset 10. */
static qdq_status check_opset(const qdq_inserter *in)
{
    const qdq_plan *p = in->plan;
    int need = p->biases.n > 0 ? 13 : p->tensors.n > 0 ? 10 : 0, have = qdq_model_opset(in->m);

    for (size_t i = 0; i < p->tensors.n; i++) {
        qdq_elem type = p->tensors.at[i].qparam.type;
        int least = type == QDQ_INT8 || type == QDQ_UINT8 ? 10 : qdq_codes_opset(type, false);
        need = least > need ? least : need;
    }
    for (size_t i = 0; i < p->weights.n; i++) {
        const qdq_plan_weight *w = &p->weights.at[i];
        /* blocks are in no DequantizeLinear there */
        bool blocks = w->block != 0 && w->store != QDQ_WEIGHT_AS_DYNAMIC;
        int least = qdq_codes_opset(w->type, blocks);
        need = least > need ? least : need;
    }
    return have >= need
               ? QDQ_OK
               : qdq_fail(in->err, QDQ_E_FORMAT,
                          "the plan needs opset %d, but has the model left at %d", need, have);
}

static qdq_status sort_graphs(const qdq_inserter *in)
{
    QDQ_FOR_GRAPHS (g, in->m)
        if (!qdq_graph_in_function(g))
            QDQ_TRY(qdq_graph_sort(g, in->err));
    return QDQ_OK;
}

/* Nothing is edited but biases. */
static qdq_status find_scales(qdq_inserter *in)
{
    QDQ_TRY(resolve(in));
    FOR_EACH(corrections, qdq_insert_correction, "correction of")
    FOR_EACH(weights, qdq_insert_weight_scales, "weight")
    FOR_EACH(biases, qdq_insert_room, "bias")
    return QDQ_OK;
}

static qdq_status insert_all(qdq_inserter *in)
{
    QDQ_TRY(check_opset(in));
    QDQ_TRY(sort_graphs(in));
    QDQ_TRY(find_scales(in));
    if (in->cache != NULL)
        QDQ_TRY(qdq_insert_find_codes(in));
    FOR_EACH(weights, qdq_insert_weight, "weight")
    FOR_EACH(scalings, qdq_insert_scaling, "scaling of")
    FOR_EACH(biases, qdq_insert_bias, "bias")
    FOR_EACH(tensors, insert_on_top, "tensor")
    FOR_EACH(tensors, insert_own, "tensor")
    FOR_EACH(float_channels, qdq_insert_channels, "float channels of")
    FOR_EACH(weights, qdq_insert_dynamic, "weight")
    drop_originals(in);
    return in->unsorted ? sort_graphs(in) : QDQ_OK;
}

static void inserter_free(qdq_inserter *in)
{
    qdq_map_free(&in->nodes);
    qdq_map_free(&in->tensors);
    qdq_map_free(&in->weights);
    qdq_map_free(&in->edges);
    qdq_map_free(&in->scaling_of);
    qdq_map_free(&in->channels_of);
    qdq_map_free(&in->zeroed);
    qdq_map_free(&in->values);
    qdq_arena_free(&in->scratch);
    qdq_arena_free(&in->copies);
}

qdq_status qdq_insert(qdq_model *m, const qdq_plan *plan, qdq_insert_cache *cache,
                      const qdq_job *job, qdq_error *err)
{
    qdq_inserter in = {.m = m, .g = m->graph, .plan = plan, .job = job, .err = err};

    /* what those do to weights is not in any key */
    if (plan->scalings.n == 0 && !qdq_plan_has_half(plan))
        in.cache = cache;
    qdq_status st = insert_all(&in);

    inserter_free(&in);
    qdq_plan_rest_numbers(plan);
    return st;
}

qdq_status qdq_insert_try_weights(const qdq_model *m, const qdq_plan *plan, qdq_insert_weight_fn fn,
                                  void *ctx, qdq_error *err)
{
    qdq_inserter in = {.plan = plan, .err = err};

    QDQ_TRY(qdq_model_clone(m, &in.m, err));
    in.g = in.m->graph;
    qdq_status st = find_scales(&in);
    for (size_t i = 0; i < plan->weights.n && st == QDQ_OK; i++) {
        const qdq_arena_mark mark = qdq_arena_get_mark(&in.scratch),
                             copies = qdq_arena_get_mark(&in.copies);
        const float *back;

        st = qdq_insert_weight_back(&in, i, &back);
        if (st == QDQ_OK)
            st = qdq_insert_find_floats(&in, &in.weight[i]);
        if (st == QDQ_OK)
            st = fn(ctx, i, in.weight[i].floats, back, err);
        qdq_insert_drop_floats(&in, &in.weight[i], copies);
        qdq_arena_reset(&in.scratch, mark);
    }
    inserter_free(&in);
    qdq_model_free(in.m);
    return st;
}
