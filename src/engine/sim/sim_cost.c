/* sim_cost.c - applies a cost model to a graph: which nodes run in 8 bits, which Q/DQ they take in,
 * what the rest costs. The rules are those of docs/sim.md; they are like ONNX Runtime's, but small
 * enough to find a best placement by hand. */
#include "engine/sim/sim_cost.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <xxhash.h>

#include "base/fail.h"
#include "base/words.h"

typedef struct estimator {
    const qdq_sim *sim;
    qdq_arena *arena;
    /* by node id: runs as an 8-bit kernel */
    bool *is_int8;
    /* by node id: runs in float and takes in the DequantizeLinear of its weight */
    bool *has_weight;
    /* by node id: costs nothing, a kernel takes it in */
    bool *is_taken;
} estimator;

static bool is_q(const qdq_node *n)
{
    return n != NULL && strcmp(n->type, "QuantizeLinear") == 0;
}

static bool is_dq(const qdq_node *n)
{
    return n != NULL && strcmp(n->type, "DequantizeLinear") == 0;
}

static qdq_node *producer(const qdq_node *n, uint32_t i)
{
    qdq_value *v = qdq_node_in(n, i);

    return v != NULL ? v->producer : NULL;
}

/* --- which nodes run in 8 bits ---------------------------------------------------------------- */

/* MatMulNBits has costs by bits, block and level, too. */
static qdq_map_value *find_op(const estimator *e, const qdq_node *n)
{
    char form[80];
    qdq_map_value *at = NULL;

    if (strcmp(n->type, "MatMulNBits") == 0) {
        snprintf(form, sizeof form, "%s %lld %lld %lld", n->type,
                 (long long)qdq_node_int(n, "bits", 0), (long long)qdq_node_int(n, "block_size", 0),
                 (long long)qdq_node_int(n, "accuracy_level", 0));
        at = qdq_map_get(&e->sim->by_op, form);
    }
    return at != NULL ? at : qdq_map_get(&e->sim->by_op, n->type);
}

static const qdq_sim_cost *find_cost(const estimator *e, const qdq_node *n)
{
    qdq_map_value *at = NULL;

    if (e->sim->by_node.n_live > 0) /* labels are not for free */
        at = qdq_map_get(&e->sim->by_node, qdq_node_label(n, e->arena));
    if (at == NULL)
        at = find_op(e, n);
    if (at != NULL)
        return at->ptr;
    return is_q(n) || is_dq(n) ? &e->sim->convert : &e->sim->other;
}

/* The last node of n's epilogue, n itself if it has none. */
static const qdq_node *epilogue_end(const qdq_sim_cost *cost, const qdq_node *n)
{
    for (;;) {
        qdq_node *next = n->n_out > 0 && n->out[0] != NULL ? qdq_value_only_user(n->out[0]) : NULL;
        if (next == NULL || !qdq_word_is_in(next->type, cost->epilogue))
            return n;
        n = next;
    }
}

static bool runs_in_int8(const qdq_sim_cost *cost, qdq_node *n)
{
    if (cost->int8_us < 0)
        return false;
    for (uint32_t i = 0; i < (uint32_t)cost->inputs; i++)
        if (!is_dq(producer(n, i)))
            return false;
    if (!cost->output_q)
        return true;
    const qdq_node *end = epilogue_end(cost, n);
    return end->n_out > 0 && end->out[0] != NULL && is_q(qdq_value_only_user(end->out[0]));
}

/* A float kernel whose weight is quantized, and its data is not. */
static bool reads_weight(const qdq_sim_cost *cost, const qdq_node *n)
{
    const qdq_node *dq = producer(n, 1);

    return cost->weight_us >= 0 && is_dq(dq) && !is_dq(producer(n, 0)) &&
           qdq_node_const(dq, 0) != NULL;
}

/* --- which nodes cost nothing ----------------------------------------------------------------- */

static void take_epilogue(const estimator *e, const qdq_sim_cost *cost, qdq_node *n)
{
    const qdq_node *end = epilogue_end(cost, n);

    for (const qdq_node *p = n; p != end;) {
        p = qdq_value_only_user(p->out[0]);
        e->is_taken[p->id] = true;
    }
    qdq_node *q = end->n_out > 0 && end->out[0] != NULL ? qdq_value_only_user(end->out[0]) : NULL;
    if (e->is_int8[n->id] && is_q(q))
        e->is_taken[q->id] = true;
}

/* A DQ is taken in when all its consumers run in 8 bits, or in float with an 8-bit weight; a Q of a
 * constant is computed beforehand. */
static bool takes_conversion(const estimator *e, const qdq_node *n)
{
    if (is_q(n))
        return qdq_node_in(n, 0) != NULL && qdq_node_const(n, 0) != NULL;
    if (!is_dq(n) || n->n_out == 0 || n->out[0] == NULL)
        return false;
    const qdq_value *v = n->out[0];
    if (v->n_output > 0 || v->n_use == 0)
        return false;
    for (const qdq_use *u = v->first; u != NULL; u = u->next)
        if (u->node->graph != n->graph || !(e->is_int8[u->node->id] || e->has_weight[u->node->id]))
            return false;
    return true;
}

/* --- the assignment --------------------------------------------------------------------------- */

/* The tensor that a DQ stands for: what its Q reads, or its constant. */
static const char *source_of(const qdq_node *dq)
{
    const qdq_value *v = qdq_node_in(dq, 0);

    if (v != NULL && is_q(v->producer))
        v = qdq_node_in(v->producer, 0);
    return v != NULL ? v->name : "";
}

/* Sums over edges, so the order of nodes does not matter. */
static uint64_t hash_edges(const estimator *e, const qdq_node *dq)
{
    uint64_t sum = 0;

    if (dq->n_out == 0 || dq->out[0] == NULL)
        return 0;
    const char *source = source_of(dq);
    for (const qdq_use *u = dq->out[0]->first; u != NULL; u = u->next) {
        const char *reader = qdq_node_label(u->node, e->arena);
        uint64_t h =
            XXH64(source, strlen(source), (uint64_t)qdq_value_data_elem(qdq_node_in(dq, 0)));
        sum += XXH64(reader, strlen(reader), h + u->index);
    }
    return sum;
}

/* --- all of it -------------------------------------------------------------------------------- */

static double thousands_of(const qdq_node *n)
{
    int64_t dim[QDQ_MAX_RANK];
    double count = 1;
    int rank;

    if (n->n_out == 0 || n->out[0] == NULL ||
        !qdq_value_static_shape(n->out[0], &rank, dim, QDQ_MAX_RANK))
        return 0;
    for (int i = 0; i < rank; i++)
        count *= (double)dim[i];
    return count / 1000;
}

qdq_elem qdq_sim_input_codes(const qdq_node *n)
{
    const qdq_node *dq = producer(n, 0);

    return is_dq(dq) ? qdq_value_data_elem(qdq_node_in(dq, 0)) : QDQ_UNDEFINED;
}

static double type_factor(const qdq_sim_cost *cost, const qdq_node *n)
{
    const double times = cost->type_times != NULL ? cost->type_times[qdq_sim_input_codes(n)] : 0;

    return times > 0 ? times : 1;
}

static qdq_status add_layer(const estimator *e, const qdq_node *n, qdq_sim_estimate *out,
                            qdq_error *err)
{
    const qdq_sim_cost *cost = find_cost(e, n);
    bool is_int8 = e->is_int8[n->id];
    double k = thousands_of(n);
    qdq_sim_layer layer = {.node = n, .is_int8 = is_int8, .has_weight = e->has_weight[n->id]};

    layer.us = is_int8 ? cost->int8_us + k * cost->int8_us_per_k
                       : cost->float_us + k * cost->float_us_per_k;
    if (layer.has_weight)
        layer.us = cost->weight_us;
    if (is_int8)
        layer.us *= type_factor(cost, n);
    QDQ_NEED(QDQ_PUSH(e->arena, &out->layers, layer), err);
    out->total_us += layer.us;
    out->n_int8 += is_int8;
    out->n_dynamic +=
        strcmp(n->type, "MatMulInteger") == 0 || strcmp(n->type, "DynamicQuantizeLSTM") == 0;
    /* steps of 4 bits are 16 times as large as those of 8 */
    if (strcmp(n->type, "MatMulNBits") == 0)
        out->weight_noise += pow(4, 4 - (double)qdq_node_int(n, "bits", 4));
    return QDQ_OK;
}

qdq_status qdq_sim_estimate_graph(const qdq_sim *sim, const qdq_graph *g, qdq_arena *arena,
                                  qdq_sim_estimate *out, qdq_error *err)
{
    estimator e = {.sim = sim, .arena = arena};

    *out = (qdq_sim_estimate){.total_us = sim->overhead_us};
    e.is_int8 = qdq_arena_array(arena, (size_t)g->next_node_id + 1, sizeof *e.is_int8);
    e.is_taken = qdq_arena_array(arena, (size_t)g->next_node_id + 1, sizeof *e.is_taken);
    e.has_weight = qdq_arena_array(arena, (size_t)g->next_node_id + 1, sizeof *e.has_weight);
    QDQ_NEED(e.is_int8 != NULL && e.is_taken != NULL && e.has_weight != NULL, err);
    out->is_taken = e.is_taken;
    QDQ_FOR_NODES (n, g) {
        if (is_q(n) || is_dq(n))
            continue;
        e.is_int8[n->id] = runs_in_int8(find_cost(&e, n), n);
        e.has_weight[n->id] = !e.is_int8[n->id] && reads_weight(find_cost(&e, n), n);
    }
    QDQ_FOR_NODES (n, g) {
        if (!e.is_taken[n->id])
            take_epilogue(&e, find_cost(&e, n), n);
        if (takes_conversion(&e, n) || n->op == QDQ_OP_CONSTANT)
            e.is_taken[n->id] = true;
        if (is_dq(n))
            out->assignment += hash_edges(&e, n);
    }
    QDQ_FOR_NODES (n, g)
        if (!e.is_taken[n->id])
            QDQ_TRY(add_layer(&e, n, out, err));
    return QDQ_OK;
}

/* --- what a layer computes -------------------------------------------------------------------- */

/* The DQ in front of a kernel that takes it in, and a Q of a constant in front of that. */
static bool push_readers(const qdq_sim_estimate *e, const qdq_sim_layer *l, qdq_arena *arena,
                         qdq_layer_node_list *nodes)
{
    for (uint32_t i = 0; i < l->node->n_in; i++) {
        const qdq_node *dq = producer(l->node, i);
        if (!is_dq(dq) || dq->graph != l->node->graph || !e->is_taken[dq->id])
            continue;
        const qdq_node *q = producer(dq, 0);
        if (is_q(q) && qdq_node_const(q, 0) != NULL && !QDQ_PUSH(arena, nodes, q))
            return false;
        if (!QDQ_PUSH(arena, nodes, dq))
            return false;
    }
    return true;
}

bool qdq_sim_layer_nodes(const qdq_sim *sim, const qdq_sim_estimate *e, const qdq_sim_layer *l,
                         qdq_arena *arena, qdq_layer_node_list *nodes)
{
    const estimator find = {.sim = sim, .arena = arena};
    const qdq_node *end = epilogue_end(find_cost(&find, l->node), l->node);

    if (!push_readers(e, l, arena, nodes) || !QDQ_PUSH(arena, nodes, l->node))
        return false;
    for (const qdq_node *n = l->node; n != end;) {
        n = qdq_value_only_user(n->out[0]);
        if (!QDQ_PUSH(arena, nodes, n))
            return false;
    }
    const qdq_node *q = l->is_int8 && end->n_out > 0 && end->out[0] != NULL
                            ? qdq_value_only_user(end->out[0])
                            : NULL;
    return !is_q(q) || !e->is_taken[q->id] || QDQ_PUSH(arena, nodes, q);
}
