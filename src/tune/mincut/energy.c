/* energy.c - the energy as a flow network. On is the source's side of the cut, so that ties go to
 * float. Costs become integers: the sum of all costs is below 2^59 equal steps. The cut is exact in
 * these; the rounding of a cost is smaller than the precision of a double of that sum. */
#include "tune/mincut/energy.h"

#include <math.h>

#include "base/fail.h"
#include "base/union_find.h"
#include "tune/mincut/flow.h"

qdq_status qdq_energy_new(qdq_energy *e, const qdq_mincut_graph *g, qdq_arena *arena,
                          qdq_error *err)
{
    *e = (qdq_energy){.graph = g,
                      .off = qdq_arena_array(arena, g->n_bits + 1, sizeof *e->off),
                      .on = qdq_arena_array(arena, g->n_bits + 1, sizeof *e->on),
                      .q = qdq_arena_array(arena, g->n_hyperedges + 1, sizeof *e->q),
                      .dq = qdq_arena_array(arena, g->n_hyperedges + 1, sizeof *e->dq)};
    return e->off != NULL && e->on != NULL && e->q != NULL && e->dq != NULL ? QDQ_OK
                                                                            : qdq_nomem(err);
}

static bool takes_codes(uint32_t bit, const qdq_assign *a)
{
    return bit != QDQ_CUT_FLOAT && qdq_assign_get(a, bit);
}

qdq_conversion_state qdq_hyperedge_state(const qdq_hyperedge *t, const qdq_assign *a)
{
    size_t on = 0;

    for (size_t i = 0; i < t->n_to; i++)
        on += takes_codes(t->to[i], a);
    if (takes_codes(t->from, a))
        return on == t->n_to ? QDQ_HYPEREDGE_QUANTIZED : QDQ_HYPEREDGE_DQ;
    return on == 0 ? QDQ_HYPEREDGE_FLOAT : QDQ_HYPEREDGE_Q;
}

double qdq_energy_value(const qdq_energy *e, const qdq_assign *a)
{
    double sum = 0;

    for (size_t i = 0; i < e->graph->n_bits; i++)
        sum += qdq_assign_get(a, i) ? e->on[i] : e->off[i];
    for (size_t t = 0; t < e->graph->n_hyperedges; t++) {
        const qdq_conversion_state s = qdq_hyperedge_state(&e->graph->hyperedge[t], a);
        sum += s == QDQ_HYPEREDGE_Q ? e->q[t] : s == QDQ_HYPEREDGE_DQ ? e->dq[t] : 0;
    }
    return sum;
}

/* --- what is asked ---------------------------------------------------------------------------- */

static qdq_status check_bits(const qdq_energy *e, qdq_error *err)
{
    for (size_t i = 0; i < e->graph->n_bits; i++) {
        if (isnan(e->off[i]) || isnan(e->on[i]) || e->off[i] == -INFINITY || e->on[i] == -INFINITY)
            return qdq_fail(err, QDQ_E_USAGE, "bit %zu: costs of %g and %g: expected numbers", i,
                            e->off[i], e->on[i]);
        if (isinf(e->off[i]) && isinf(e->on[i]))
            return qdq_fail(err, QDQ_E_USAGE, "bit %zu may be neither on nor off", i);
    }
    return QDQ_OK;
}

static bool is_bit(const qdq_mincut_graph *g, uint32_t bit)
{
    return bit < g->n_bits || bit == QDQ_CUT_FLOAT;
}

static qdq_status check_hyperedges(const qdq_energy *e, qdq_error *err)
{
    const qdq_mincut_graph *g = e->graph;

    for (size_t t = 0; t < g->n_hyperedges; t++) {
        bool fine = is_bit(g, g->hyperedge[t].from);
        for (size_t i = 0; i < g->hyperedge[t].n_to; i++)
            fine = fine && is_bit(g, g->hyperedge[t].to[i]);
        if (!fine)
            return qdq_fail(err, QDQ_E_USAGE, "tensor %zu: a bit outside of %zu", t, g->n_bits);
        if (!(e->q[t] >= 0) || !(e->dq[t] >= 0) || isinf(e->q[t]) || isinf(e->dq[t]))
            return qdq_fail(err, QDQ_E_USAGE,
                            "tensor %zu: conversions of %g and %g: expected numbers of at least 0",
                            t, e->q[t], e->dq[t]);
    }
    for (size_t i = 0; i < g->n_ties; i++)
        if (g->tie[i].a >= g->n_bits || g->tie[i].b >= g->n_bits)
            return qdq_fail(err, QDQ_E_USAGE, "tie %zu: a bit outside of %zu", i, g->n_bits);
    return QDQ_OK;
}

/* --- the cut ---------------------------------------------------------------------------------- */

typedef struct cutting {
    const qdq_energy *e;
    qdq_flow flow;
    /* by bit: tied bits share a node, that of the lowest one */
    uint32_t *node;
    /* by node */
    double *off, *on;
    /* bits, then auxiliary nodes for OR and AND */
    uint32_t n_nodes;
    /* a cost times two to this exponent is a number of steps */
    int exponent;
} cutting;

static int64_t steps_of(const cutting *c, double cost)
{
    return isinf(cost) ? QDQ_FLOW_FOREVER : (int64_t)llround(ldexp(cost, c->exponent));
}

static void tie_bits(cutting *c)
{
    const qdq_mincut_graph *g = c->e->graph;

    for (size_t i = 0; i < g->n_bits; i++)
        c->node[i] = (uint32_t)i;
    for (size_t i = 0; i < g->n_ties; i++)
        qdq_part_join(c->node, g->tie[i].a, g->tie[i].b);
    for (size_t i = 0; i < g->n_bits; i++)
        c->node[i] = qdq_part_of(c->node, (uint32_t)i);
}

/* Only the difference between on and off matters; without the common part, sums are smaller. */
static qdq_status sum_costs(cutting *c, qdq_error *err)
{
    const qdq_energy *e = c->e;

    for (size_t i = 0; i < e->graph->n_bits; i++) {
        const double least = fmin(e->off[i], e->on[i]);
        c->off[c->node[i]] += e->off[i] - least;
        c->on[c->node[i]] += e->on[i] - least;
    }
    for (size_t i = 0; i < e->graph->n_bits; i++)
        if (isinf(c->off[i]) && isinf(c->on[i]))
            return qdq_fail(
                err, QDQ_E_USAGE,
                "bits tied to bit %zu: some must be on, some off: expected one of these", i);
    return QDQ_OK;
}

static double payable(double cost)
{
    return isinf(cost) ? 0 : cost;
}

static void find_exponent(cutting *c)
{
    const qdq_energy *e = c->e;
    double sum = 0;
    int exponent;

    for (size_t i = 0; i < e->graph->n_bits; i++)
        sum += payable(c->off[i]) + payable(c->on[i]);
    for (size_t t = 0; t < e->graph->n_hyperedges; t++)
        sum += e->q[t] + e->dq[t];
    /* sum < 2^exponent; one more for rounding */
    frexp(sum, &exponent);
    c->exponent = sum > 0 ? 58 - exponent : 0;
}

static void add_bits(cutting *c)
{
    for (uint32_t i = 0; i < c->e->graph->n_bits; i++)
        if (c->node[i] == i)
            qdq_flow_add_terminal(&c->flow, i, steps_of(c, c->off[i]), steps_of(c, c->on[i]));
}

/* A tensor's consumers without its producer; tied ones are replaced by their node. */
typedef struct readers {
    size_t n;
    /* the only consumer, if n is 1 */
    uint32_t one;
    bool any_float;
} readers;

static uint32_t node_of(const cutting *c, uint32_t bit)
{
    return bit == QDQ_CUT_FLOAT ? QDQ_CUT_FLOAT : c->node[bit];
}

static readers readers_of(const cutting *c, const qdq_hyperedge *t)
{
    const uint32_t from = node_of(c, t->from);
    readers r = {0};

    for (size_t i = 0; i < t->n_to; i++) {
        const uint32_t to = node_of(c, t->to[i]);
        r.any_float = r.any_float || to == QDQ_CUT_FLOAT;
        if (to == QDQ_CUT_FLOAT || to == from || (r.n > 0 && to == r.one))
            continue;
        r.one = to;
        r.n++;
    }
    return r;
}

/* Arcs that keep consumers and `middle` on one side: OR is on if a consumer is on, AND needs all of
 * them. */
static void bind_readers(cutting *c, const qdq_hyperedge *t, uint32_t middle, bool is_or)
{
    const uint32_t from = node_of(c, t->from);

    for (size_t i = 0; i < t->n_to; i++) {
        const uint32_t to = node_of(c, t->to[i]);
        if (to != QDQ_CUT_FLOAT && to != from)
            qdq_flow_add_arc(&c->flow, to, middle, is_or ? QDQ_FLOW_FOREVER : 0,
                             is_or ? 0 : QDQ_FLOW_FOREVER);
    }
}

/* A Q: a consumer is on, and the producer is not. */
static void add_q(cutting *c, const qdq_hyperedge *t, readers r, int64_t cost)
{
    const uint32_t from = node_of(c, t->from);
    uint32_t any = r.one;

    if (cost == 0 || r.n == 0)
        return;
    if (r.n > 1) {
        any = c->n_nodes++;
        bind_readers(c, t, any, true);
    }
    if (from == QDQ_CUT_FLOAT)
        qdq_flow_add_terminal(&c->flow, any, 0, cost);
    else
        qdq_flow_add_arc(&c->flow, any, from, cost, 0);
}

/* A DQ: the producer is on, and a consumer is not. */
static void add_dq(cutting *c, const qdq_hyperedge *t, readers r, int64_t cost)
{
    const uint32_t from = node_of(c, t->from);
    uint32_t all = r.one;

    if (cost == 0 || from == QDQ_CUT_FLOAT || (r.n == 0 && !r.any_float))
        return;
    if (r.any_float) {
        qdq_flow_add_terminal(&c->flow, from, 0, cost);
        return;
    }
    if (r.n > 1) {
        all = c->n_nodes++;
        bind_readers(c, t, all, false);
    }
    qdq_flow_add_arc(&c->flow, from, all, cost, 0);
}

static void add_hyperedges(cutting *c)
{
    const qdq_mincut_graph *g = c->e->graph;

    c->n_nodes = (uint32_t)g->n_bits;
    for (size_t t = 0; t < g->n_hyperedges; t++) {
        const readers r = readers_of(c, &g->hyperedge[t]);
        add_q(c, &g->hyperedge[t], r, steps_of(c, c->e->q[t]));
        add_dq(c, &g->hyperedge[t], r, steps_of(c, c->e->dq[t]));
    }
}

static size_t most_arcs(const qdq_mincut_graph *g)
{
    size_t n = 0;

    for (size_t t = 0; t < g->n_hyperedges; t++)
        n += 2 * (g->hyperedge[t].n_to + 1);
    return n;
}

static qdq_status cut_minimum(cutting *c, qdq_arena *scratch, qdq_assign *out, qdq_error *err)
{
    const qdq_mincut_graph *g = c->e->graph;

    c->node = qdq_arena_array(scratch, g->n_bits + 1, sizeof *c->node);
    c->off = qdq_arena_array(scratch, g->n_bits + 1, sizeof *c->off);
    c->on = qdq_arena_array(scratch, g->n_bits + 1, sizeof *c->on);
    QDQ_NEED(c->node != NULL && c->off != NULL && c->on != NULL, err);
    QDQ_TRY(qdq_flow_init(&c->flow, g->n_bits + 2 * g->n_hyperedges, most_arcs(g), scratch, err));
    tie_bits(c);
    QDQ_TRY(sum_costs(c, err));
    find_exponent(c);
    add_bits(c);
    add_hyperedges(c);
    qdq_flow_run(&c->flow);
    for (size_t i = 0; i < g->n_bits; i++)
        qdq_assign_set(out, i, qdq_flow_is_source(&c->flow, c->node[i]));
    return QDQ_OK;
}

qdq_status qdq_energy_minimize(const qdq_energy *e, qdq_assign *out, qdq_error *err)
{
    qdq_arena scratch = QDQ_ARENA_INIT;
    cutting c = {.e = e};

    QDQ_TRY(check_bits(e, err));
    QDQ_TRY(check_hyperedges(e, err));
    qdq_status st = cut_minimum(&c, &scratch, out, err);
    qdq_arena_free(&scratch);
    return st;
}
