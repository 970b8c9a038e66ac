/* tune_edges.c - after the search: Q/DQ on single edges, as space_edges.h has them. Two profiles
 * price them all, of the best placement and of the same with every edge turned that may pay; what
 * pays by these is measured like any other candidate. Edges between nodes that are alike are
 * decided alike: times of single layers are too rough for one. */
#include <math.h>

#include "base/buf.h"
#include "base/fail.h"
#include "target/target.h"
#include "tune/candidate/tune_plans.h"
#include "tune/refine/refine.h"
#include "tune/refine/tune_prices.h"
#include "tune/space/space_edges.h"
#include "tune/space/space_partial.h"
#include "tune/state/tune_budget.h"
#include "tune/state/tune_presets.h"
#include "tune/trial/tune_trials.h"

typedef struct edging {
    qdq_refining r;
    bool *has_codes;     /* by edge: does it read what Q/DQ make, in the best placement? */
    bool *runs;          /* by node: in 8 bits there */
    bool *may_pay;       /* by edge: turned round it may be faster */
    qdq_tune_edge *edge; /* t->outcome.edges */
} edging;

static bool has_budget(const qdq_tune_state *t)
{
    return qdq_tune_has_builds(t, 1, qdq_tune_max_builds_with_edges(t));
}

/* --- which edges may pay ---------------------------------------------------------------------- */

static bool is_copy(const edging *x, const qdq_node *n)
{
    const qdq_target_op *op = qdq_target_find(x->r.t->task.space->target, n->type);

    return op != NULL && op->kind == QDQ_KIND_PASS;
}

/* The activation of a group that the search has decided about, with its weight. */
static bool is_halved(const edging *x, const qdq_space_edge *e)
{
    const uint32_t g = qdq_space_group_of(x->r.t->task.space, e->node, e->input);

    return g != QDQ_NO_GROUP && qdq_space_has_halves(x->r.t->task.space, g);
}

/* Does anything take codes of what n gives? */
static bool gives_codes(const edging *x, const qdq_node *n)
{
    for (uint32_t i = 0; i < n->n_out; i++) {
        if (n->out[i] == NULL)
            continue;
        QDQ_FOR_USES (u, n->out[i]) {
            const size_t e = qdq_space_edge_of(x->r.t->task.space, u->node, u->index);
            if (e == QDQ_NO_EDGE ? x->runs[u->node->id] : x->has_codes[e])
                return true;
        }
    }
    return false;
}

/* Does n read codes somewhere, or will it where all that may pay is turned? */
static bool reads_codes(const edging *x, const qdq_node *n)
{
    const qdq_space *s = x->r.t->task.space;

    for (size_t i = s->first_edge[n->id]; i < s->n_edges && s->edge[i].node == n; i++)
        if (x->has_codes[i] || x->may_pay[i])
            return true;
    return x->runs[n->id];
}

/* A copy may move floats instead of codes, and the other way round, where codes are read behind it.
 * A float operator may read codes of what reads codes, or beside others; what reads floats among
 * floats has no kernel to gain from. What was turned before may be turned back. */
static bool may_pay(const edging *x, size_t edge)
{
    const qdq_space_edge *e = &x->r.t->task.space->edge[edge];
    const qdq_node *from;

    if (e->node == NULL)
        return false;
    if (is_halved(x, e))
        return qdq_space_is_flipped(x->r.t->task.space, &x->r.base, edge);
    if (is_copy(x, e->node))
        return gives_codes(x, e->node);
    if (x->has_codes[edge])
        return qdq_space_is_flipped(x->r.t->task.space, &x->r.base, edge);
    from = qdq_space_source(x->r.t->task.space, e->value);
    return from != NULL && (reads_codes(x, from) || reads_codes(x, e->node));
}

static qdq_status read_plan(edging *x, qdq_error *err)
{
    qdq_tune_state *t = x->r.t;
    const size_t n = (size_t)t->task.clean->graph->next_node_id + 1;
    qdq_plan *p;

    x->runs = qdq_arena_array(&x->r.arena, n, sizeof *x->runs);
    if (x->runs == NULL)
        return qdq_nomem(err);
    QDQ_TRY(qdq_tune_plan_of(t, &x->r.base, &p, err));
    qdq_status st = qdq_space_read_edges(t->task.space, p, &x->r.arena, &x->has_codes, err);
    for (size_t i = 0; i < p->quantized.n && st == QDQ_OK; i++) {
        const qdq_map_value *v = qdq_map_get(&t->task.space->labels, p->quantized.at[i].node);
        if (v != NULL)
            x->runs[((const qdq_node *)v->ptr)->id] = true;
    }
    qdq_plan_free(p);
    return st;
}

/* *any: there are such edges. */
static qdq_status find_edges(edging *x, bool *any, qdq_error *err)
{
    *any = false;
    x->may_pay = qdq_arena_array(&x->r.arena, x->r.t->task.space->n_edges + 1, sizeof *x->may_pay);
    if (x->may_pay == NULL)
        return qdq_nomem(err);
    QDQ_TRY(read_plan(x, err));
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < x->r.t->task.space->n_edges; i++)
            if (!x->may_pay[i] && may_pay(x, i))
                x->may_pay[i] = more = *any = true;
    }
    return QDQ_OK;
}

/* --- kinds ------------------------------------------------------------------------------------ */

static uint32_t net_of(const edging *x, size_t edge)
{
    return x->r.t->parts.nets.of[x->r.t->task.space->edge[edge].value->id];
}

/* Which way it turns tells an edge apart, too. */
static bool describe(const void *ctx, size_t edge, qdq_buf *text)
{
    const edging *x = ctx;
    const qdq_space_edge *e = &x->r.t->task.space->edge[edge];

    if (x->may_pay[edge])
        qdq_buf_printf(text, " %s.%u%c", e->node->type, (unsigned)e->input,
                       x->has_codes[edge] ? '-' : '+');
    return x->may_pay[edge];
}

/* --- what they cost --------------------------------------------------------------------------- */

static uint32_t kind_of(const edging *x, size_t edge)
{
    const uint32_t net = x->may_pay[edge] ? net_of(x, edge) : QDQ_NO_NET;

    return net != QDQ_NO_NET ? x->r.kind_of[net] : QDQ_TUNE_NO_KIND;
}

static unsigned count_alike(const edging *x, uint32_t kind)
{
    unsigned n = 0;

    for (size_t i = 0; i < x->r.t->task.space->n_edges; i++)
        n += kind_of(x, i) == kind;
    return n;
}

/* Each edge of a kind has its part of what turning all of them saves. */
static void note_prices(const edging *x, uint32_t kind, double gain)
{
    const unsigned n = count_alike(x, kind);

    for (size_t i = 0; i < x->r.t->task.space->n_edges; i++)
        if (kind_of(x, i) == kind) {
            x->edge[i].saved_us = (x->has_codes[i] ? -gain : gain) / n;
            x->edge[i].alike = n;
        }
}

static bool is_turned(const edging *x, const qdq_assign *c, size_t edge)
{
    const qdq_space *s = x->r.t->task.space;

    return qdq_space_is_flipped(s, c, edge) != qdq_space_is_flipped(s, &x->r.base, edge);
}

static void note_trial(const edging *x, const qdq_assign *c, const qdq_test_result *r, bool kept)
{
    const size_t n = x->r.t->task.space->n_edges;
    unsigned turned = 0;

    for (size_t i = 0; i < n; i++)
        turned += is_turned(x, c, i);
    for (size_t i = 0; i < n; i++) {
        if (!is_turned(x, c, i))
            continue;
        x->edge[i].tried = true;
        x->edge[i].kept = kept;
        x->edge[i].turned = turned;
        x->edge[i].result = *r;
    }
}

/* One profile beside the other says which kinds are faster with their edges turned; *any: some are.
 */
static qdq_status find_gains(edging *x, qdq_assign *c, bool *any, qdq_error *err)
{
    const qdq_space *s = x->r.t->task.space;
    qdq_tune_prices before;
    bool known;

    *any = false;
    for (size_t i = 0; i < s->n_edges; i++)
        if (x->may_pay[i])
            qdq_space_flip(s, c, i);
    QDQ_TRY(qdq_refine_find_gains(&x->r, c, &before, &known, err));
    for (size_t k = 0; k < x->r.gain.n && known; k++) {
        note_prices(x, (uint32_t)k, x->r.gain.at[k]);
        *any = *any || x->r.pays.at[k];
    }
    return QDQ_OK;
}

/* Turns the edges of kind `only`, or of each kind that pays (QDQ_TUNE_NO_KIND). */
static void turn(const edging *x, uint32_t only, qdq_assign *c)
{
    qdq_assign_take(c, &x->r.base);
    for (size_t i = 0; i < x->r.t->task.space->n_edges; i++) {
        const uint32_t kind = kind_of(x, i);
        if (kind != QDQ_TUNE_NO_KIND && x->r.pays.at[kind] &&
            (only == QDQ_TUNE_NO_KIND || only == kind))
            qdq_space_flip(x->r.t->task.space, c, i);
    }
}

static uint32_t best_kind(const edging *x, size_t *n_paying)
{
    uint32_t best = QDQ_TUNE_NO_KIND;

    *n_paying = 0;
    for (uint32_t k = 0; k < x->r.gain.n; k++) {
        *n_paying += x->r.pays.at[k];
        if (x->r.pays.at[k] && (best == QDQ_TUNE_NO_KIND || x->r.gain.at[k] > x->r.gain.at[best]))
            best = k;
    }
    return best;
}

/* --- measuring -------------------------------------------------------------------------------- */

static qdq_status measure(edging *x, const qdq_assign *c, bool *kept, qdq_error *err)
{
    qdq_tune_tried r;

    QDQ_TRY(qdq_refine_try(&x->r, "edges", c, &r, err));
    *kept = r.kept;
    if (!r.failed)
        note_trial(x, c, &r.result, r.kept);
    if (r.kept)
        qdq_assign_take(&x->r.base, c);
    return QDQ_OK;
}

/* From the best placement so far; *kept: there is a better one now. */
static qdq_status try_kinds(edging *x, bool *kept, qdq_error *err)
{
    qdq_assign c;
    size_t n;
    bool any;

    *kept = false;
    if (!qdq_assign_copy(&c, &x->r.base, &x->r.arena))
        return qdq_nomem(err);
    QDQ_TRY(find_gains(x, &c, &any, err));
    if (!any || !has_budget(x->r.t))
        return QDQ_OK;
    turn(x, QDQ_TUNE_NO_KIND, &c);
    QDQ_TRY(measure(x, &c, kept, err));
    const uint32_t best = best_kind(x, &n);
    if (*kept || n < 2 || !has_budget(x->r.t))
        return QDQ_OK;
    turn(x, best, &c);
    return measure(x, &c, kept, err);
}

/* --- all of it -------------------------------------------------------------------------------- */

static bool is_wanted(const qdq_tune_state *t)
{
    return t->task.space->n_edges > 0 && qdq_tune_may_refine(t) && qdq_tune_can_profile(t) &&
           has_budget(t);
}

static qdq_status begin(edging *x, qdq_error *err)
{
    qdq_tune_state *t = x->r.t;

    QDQ_TRY(qdq_refine_begin(&x->r, err));
    t->outcome.edges =
        qdq_arena_array(&t->arena, t->task.space->n_edges + 1, sizeof *t->outcome.edges);
    if (t->outcome.edges == NULL)
        return qdq_nomem(err);
    for (size_t i = 0; i < t->task.space->n_edges; i++)
        t->outcome.edges[i].saved_us = NAN;
    x->edge = t->outcome.edges;
    return QDQ_OK;
}

static qdq_status go_round(edging *x, bool *again, qdq_error *err)
{
    bool any;

    *again = false;
    QDQ_TRY(find_edges(x, &any, err));
    if (!any)
        return QDQ_OK;
    QDQ_TRY(qdq_refine_find_kinds(&x->r, describe, x, err));
    QDQ_TRY(try_kinds(x, again, err));
    *again = *again && has_budget(x->r.t);
    return QDQ_OK;
}

qdq_status qdq_tune_try_edges(qdq_tune_state *t, qdq_error *err)
{
    edging x = {.r = {.t = t, .arena = QDQ_ARENA_INIT, .may_build = has_budget}};
    bool again = true;

    if (!is_wanted(t))
        return QDQ_OK;
    qdq_status st = begin(&x, err);
    while (st == QDQ_OK && again)
        st = go_round(&x, &again, err);
    return qdq_refine_end(&x.r, st, err);
}
