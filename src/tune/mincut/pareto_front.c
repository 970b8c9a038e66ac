/* pareto_front.c - prices on harm. Cuts at a price lie on the lower convex hull of cost over harm.
 * If a limit lies between two corners, the corner within it is extended part by part. */
#include "tune/mincut/pareto_front.h"

#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "base/union_find.h"

typedef struct pricing {
    const qdq_energy *e;
    const double *sensitivity;
    /* the energy with a price, different only in `on` */
    qdq_energy priced;
    qdq_arena *arena;
} pricing;

static qdq_status begin_pricing(pricing *p, qdq_error *err)
{
    const qdq_mincut_graph *g = p->e->graph;

    for (size_t i = 0; i < g->n_bits; i++)
        if (!(p->sensitivity[i] >= 0) || isinf(p->sensitivity[i]))
            return qdq_fail(err, QDQ_E_USAGE,
                            "bit %zu: harm of %g: expected a number of at least 0", i,
                            p->sensitivity[i]);
    p->priced = *p->e;
    p->priced.on = qdq_arena_array(p->arena, g->n_bits + 1, sizeof *p->priced.on);
    return p->priced.on != NULL ? QDQ_OK : qdq_nomem(err);
}

/* The best assignment at a price. */
static qdq_status at_price(pricing *p, double price, qdq_mincut_point *out, qdq_error *err)
{
    for (size_t i = 0; i < p->e->graph->n_bits; i++)
        p->priced.on[i] = p->e->on[i] + price * p->sensitivity[i];
    QDQ_NEED(qdq_assign_new(&out->assign, p->e->graph->n_bits, p->arena), err);
    QDQ_TRY(qdq_energy_minimize(&p->priced, &out->assign, err));
    out->cost = qdq_energy_value(p->e, &out->assign);
    out->sensitivity = qdq_assign_sum(&out->assign, p->sensitivity);
    return QDQ_OK;
}

/* A price so high that the least harm costs more than everything else together. */
static double highest_price(const pricing *p)
{
    const qdq_mincut_graph *g = p->e->graph;
    double sum = 0, least = INFINITY;

    for (size_t i = 0; i < g->n_bits; i++) {
        const double d = fabs(p->e->on[i] - p->e->off[i]);
        sum += isinf(d) ? 0 : d;
        least = p->sensitivity[i] > 0 ? fmin(least, p->sensitivity[i]) : least;
    }
    for (size_t t = 0; t < g->n_hyperedges; t++)
        sum += p->e->q[t] + p->e->dq[t];
    return isinf(least) ? 0 : 2 * sum / least;
}

/* The corner of the hull between two of its points, at the price of their line; *found: there is
 * one. */
static qdq_status corner_between(pricing *p, const qdq_mincut_point *cheap,
                                 const qdq_mincut_point *mild, qdq_mincut_point *out, bool *found,
                                 qdq_error *err)
{
    const double price = (mild->cost - cheap->cost) / (cheap->sensitivity - mild->sensitivity);

    *found = false;
    if (!(price > 0) || isinf(price))
        return QDQ_OK;
    QDQ_TRY(at_price(p, price, out, err));
    const double line = cheap->cost + price * cheap->sensitivity,
                 below = line - (out->cost + price * out->sensitivity);
    *found = below > 1e-12 * (fabs(line) + fabs(cheap->cost)) &&
             out->sensitivity < cheap->sensitivity && out->cost < mild->cost;
    return QDQ_OK;
}

/* --- within a bound --------------------------------------------------------------------------- */

/* Independent parts of the difference between two assignments: by bit, the lowest bit of its
 * part. */
static void find_parts(const qdq_mincut_graph *g, const qdq_assign *a, const qdq_assign *b,
                       uint32_t *part)
{
    for (size_t i = 0; i < g->n_bits; i++)
        part[i] = (uint32_t)i;
    for (size_t t = 0; t < g->n_hyperedges; t++) {
        const qdq_hyperedge *hyperedge = &g->hyperedge[t];
        uint32_t last = QDQ_CUT_FLOAT;
        for (size_t i = 0; i <= hyperedge->n_to; i++) {
            const uint32_t bit = i < hyperedge->n_to ? hyperedge->to[i] : hyperedge->from;
            if (bit == QDQ_CUT_FLOAT || qdq_assign_get(a, bit) == qdq_assign_get(b, bit))
                continue;
            if (last != QDQ_CUT_FLOAT)
                qdq_part_join(part, last, bit);
            last = bit;
        }
    }
    for (size_t i = 0; i < g->n_ties; i++)
        qdq_part_join(part, g->tie[i].a, g->tie[i].b);
}

/* Adds parts of `cheap` to `mild`, within the limit, if they reduce the cost. */
static qdq_status fill_bound(pricing *p, const qdq_mincut_point *cheap, qdq_mincut_point *mild,
                             double most, qdq_error *err)
{
    const size_t n = p->e->graph->n_bits;
    uint32_t *part = qdq_arena_array(p->arena, n + 1, sizeof *part);
    qdq_assign now;

    QDQ_NEED(part != NULL && qdq_assign_copy(&now, &mild->assign, p->arena), err);
    find_parts(p->e->graph, &cheap->assign, &mild->assign, part);
    for (uint32_t first = 0; first < n; first++) {
        if (qdq_assign_get(&cheap->assign, first) == qdq_assign_get(&mild->assign, first) ||
            qdq_part_of(part, first) != first)
            continue;
        for (uint32_t i = first; i < n; i++)
            if (qdq_part_of(part, i) == first)
                qdq_assign_set(&now, i, qdq_assign_get(&cheap->assign, i));
        const double cost = qdq_energy_value(p->e, &now),
                     sensitivity = qdq_assign_sum(&now, p->sensitivity);
        if (cost < mild->cost && sensitivity <= most) {
            mild->cost = cost;
            mild->sensitivity = sensitivity;
            qdq_assign_take(&mild->assign, &now);
        } else {
            qdq_assign_take(&now, &mild->assign);
        }
    }
    return QDQ_OK;
}

static qdq_status minimize_within(pricing *p, double most, qdq_mincut_point *best, bool *fits,
                                  qdq_error *err)
{
    qdq_mincut_point cheap, mild, middle;
    bool found = true;

    QDQ_TRY(begin_pricing(p, err));
    QDQ_TRY(at_price(p, 0, &cheap, err));
    *best = cheap;
    *fits = cheap.sensitivity <= most;
    if (*fits)
        return QDQ_OK;
    QDQ_TRY(at_price(p, highest_price(p), &mild, err));
    *best = mild;
    *fits = mild.sensitivity <= most;
    while (*fits && found) {
        QDQ_TRY(corner_between(p, &cheap, &mild, &middle, &found, err));
        if (found)
            *(middle.sensitivity <= most ? &mild : &cheap) = middle;
    }
    if (*fits)
        QDQ_TRY(fill_bound(p, &cheap, &mild, most, err));
    *best = mild;
    return QDQ_OK;
}

qdq_status qdq_mincut_minimize_within(const qdq_energy *e, const double *sensitivity, double most,
                                      qdq_assign *out, bool *fits, qdq_error *err)
{
    qdq_arena scratch = QDQ_ARENA_INIT;
    pricing p = {.e = e, .sensitivity = sensitivity, .arena = &scratch};
    qdq_mincut_point best;

    qdq_status st = minimize_within(&p, most, &best, fits, err);
    if (st == QDQ_OK)
        qdq_assign_take(out, &best.assign);
    qdq_arena_free(&scratch);
    return st;
}

/* --- the front -------------------------------------------------------------------------------- */

typedef struct corners {
    /* from the cheapest */
    qdq_mincut_point *at;
    /* by corner: none lies between it and the next */
    bool *done;
    size_t n;
    /* ranges between the first and the last */
    double cost, sensitivity;
} corners;

/* The pair of corners that spans the largest unexplored triangle; n: none. */
static size_t widest(const corners *c)
{
    double most = 0;
    size_t best = c->n;

    for (size_t i = 0; i + 1 < c->n; i++) {
        const double size = (c->at[i + 1].cost - c->at[i].cost) / c->cost *
                            ((c->at[i].sensitivity - c->at[i + 1].sensitivity) / c->sensitivity);
        if (!c->done[i] && size > most) {
            most = size;
            best = i;
        }
    }
    return best;
}

static void insert_corner(corners *c, size_t at, const qdq_mincut_point *new)
{
    memmove(&c->at[at + 1], &c->at[at], (c->n - at) * sizeof *c->at);
    memmove(&c->done[at + 1], &c->done[at], (c->n - at) * sizeof *c->done);
    c->at[at] = *new;
    c->done[at] = false;
    c->n++;
}

static qdq_status find_corners(pricing *p, size_t most, corners *c, qdq_error *err)
{
    QDQ_TRY(begin_pricing(p, err));
    QDQ_TRY(at_price(p, 0, &c->at[0], err));
    QDQ_TRY(at_price(p, highest_price(p), &c->at[1], err));
    c->cost = c->at[1].cost - c->at[0].cost;
    c->sensitivity = c->at[0].sensitivity - c->at[1].sensitivity;
    c->n = c->sensitivity > 0 ? 2 : 1;
    for (size_t i = widest(c); c->n < most && i < c->n; i = widest(c)) {
        qdq_mincut_point new;
        bool found;
        QDQ_TRY(corner_between(p, &c->at[i], &c->at[i + 1], &new, &found, err));
        if (found)
            insert_corner(c, i + 1, &new);
        else
            c->done[i] = true;
    }
    return QDQ_OK;
}

qdq_status qdq_mincut_front(const qdq_energy *e, const double *sensitivity, size_t most,
                            qdq_arena *arena, qdq_mincut_point **out, size_t *n, qdq_error *err)
{
    pricing p = {.e = e, .sensitivity = sensitivity, .arena = arena};
    corners c = {0};

    if (most < 2)
        return qdq_fail(err, QDQ_E_USAGE, "a front of %zu points: expected at least 2", most);
    c.at = qdq_arena_array(arena, most + 1, sizeof *c.at);
    c.done = qdq_arena_array(arena, most + 1, sizeof *c.done);
    QDQ_NEED(c.at != NULL && c.done != NULL, err);
    QDQ_TRY(find_corners(&p, most, &c, err));
    *out = c.at;
    *n = c.n;
    return QDQ_OK;
}
