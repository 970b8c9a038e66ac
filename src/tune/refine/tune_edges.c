/* tune_edges.c - after the search: Q/DQ on single edges, as space_edges.h has them. Two profiles
 * price them all, of the best placement and of the same with every edge turned that may pay; what
 * pays by these is measured like any other candidate. Edges between nodes that are alike are
 * decided together: times of single layers are too rough for one. */

#include "base/buf.h"
#include "base/fail.h"
#include "target/target.h"
#include "tune/candidate/tune_names.h"
#include "tune/candidate/tune_plans.h"
#include "tune/refine/refine.h"
#include "tune/refine/tune_prices.h"
#include "tune/space/space_edges.h"
#include "tune/space/space_partial.h"
#include "tune/state/tune_budget.h"
#include "tune/state/tune_presets.h"

typedef struct edging {
    qdq_refining r;
    /* by edge: does it read what Q/DQ make, in the best placement? */
    bool *has_codes;
    /* by node: in 8 bits there */
    bool *runs;
    /* by edge: turned round it may be faster */
    bool *may_pay;
    /* of the first round with profiles; times NULL: there was none */
    struct {
        /* the base, as x->has_codes and x->may_pay were in it */
        qdq_assign base;
        const bool *has_codes, *may_pay;
        /* of the base, and of it with all edges turned that may pay */
        const qdq_tune_times *before, *turned;
    } first;
} edging;

static bool has_budget(const qdq_tune_state *t)
{
    return qdq_tune_has_builds(t, QDQ_STAGE_EDGES, 1);
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
    const uint32_t g =
        e->node != NULL ? qdq_space_group_of(x->r.t->task.space, e->node, e->input) : QDQ_NO_GROUP;

    return g != QDQ_NO_GROUP && qdq_space_has_partial(x->r.t->task.space, g);
}

/* Does a graph output take codes of v? Outputs are the last edges. */
static bool leaves_as_codes(const edging *x, const qdq_value *v)
{
    const qdq_space *s = x->r.t->task.space;

    for (size_t i = s->n_edges; v->n_output > 0 && i > 0 && s->edge[i - 1].node == NULL; i--)
        if (s->edge[i - 1].value == v && x->has_codes[i - 1])
            return true;
    return false;
}

/* Does anything take codes of v? `may`: or may take them. */
static bool has_coded_reader(const edging *x, const qdq_value *v, bool may)
{
    QDQ_FOR_USES (u, v) {
        const size_t e = qdq_space_edge_of(x->r.t->task.space, u->node, u->index);
        if (e == QDQ_NO_EDGE ? x->runs[u->node->id] : x->has_codes[e] || (may && x->may_pay[e]))
            return true;
    }
    return leaves_as_codes(x, v);
}

/* Does anything take codes of what n gives? */
static bool gives_codes(const edging *x, const qdq_node *n)
{
    for (uint32_t i = 0; i < n->n_out; i++)
        if (n->out[i] != NULL && has_coded_reader(x, n->out[i], false))
            return true;
    return false;
}

/* Does a kernel read codes of v, or a copy operator move them to something that does? */
static bool is_read_by_kernel(const edging *x, const qdq_value *v)
{
    QDQ_FOR_USES (u, v)
        if (is_copy(x, u->node) ? gives_codes(x, u->node) : x->runs[u->node->id])
            return true;
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
 * A float operator may read codes of what reads codes, or beside others, or those that another
 * operator reads; and a graph output may take them: the kernel before it may want Q behind it. What
 * reads floats among floats has no kernel to gain from. What was turned before may be turned back,
 * and so may codes that a rule puts behind a kernel and that no kernel reads. */
static bool may_pay(const edging *x, size_t edge)
{
    const qdq_space_edge *e = &x->r.t->task.space->edge[edge];
    const qdq_node *from;

    if (is_halved(x, e))
        return qdq_space_is_flipped(x->r.t->task.space, &x->r.base, edge);
    if (e->node != NULL && is_copy(x, e->node))
        return gives_codes(x, e->node);
    if (x->has_codes[edge])
        return qdq_space_is_flipped(x->r.t->task.space, &x->r.base, edge) ||
               !is_read_by_kernel(x, e->value);
    from = qdq_space_source(x->r.t->task.space, e->value);
    return (from != NULL && reads_codes(x, from)) || (e->node != NULL && reads_codes(x, e->node)) ||
           has_coded_reader(x, e->value, true);
}

static qdq_status read_plan(edging *x, qdq_error *err)
{
    qdq_tune_state *t = x->r.t;
    const size_t n = (size_t)t->task.clean->graph->next_node_id + 1;
    qdq_plan *p;

    x->runs = qdq_arena_array(&x->r.arena, n, sizeof *x->runs);
    QDQ_NEED(x->runs != NULL, err);
    QDQ_TRY(qdq_tune_plan_of(t, &x->r.base, &p, err));
    qdq_status st = qdq_space_read_edges(t->task.space, p, &x->r.arena, &x->has_codes, err);
    for (size_t i = 0; i < p->quantized.n && st == QDQ_OK; i++) {
        const qdq_node *node = qdq_map_get_ptr(&t->task.space->labels, p->quantized.at[i].node);
        if (node != NULL)
            x->runs[node->id] = true;
    }
    qdq_plan_free(p);
    return st;
}

/* *any: there are such edges. */
static qdq_status find_edges(edging *x, bool *any, qdq_error *err)
{
    *any = false;
    x->may_pay = qdq_arena_array(&x->r.arena, x->r.t->task.space->n_edges + 1, sizeof *x->may_pay);
    QDQ_NEED(x->may_pay != NULL, err);
    QDQ_TRY(read_plan(x, err));
    x->r.is_off = x->has_codes;
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < x->r.t->task.space->n_edges; i++)
            if (!x->may_pay[i] && may_pay(x, i))
                x->may_pay[i] = more = *any = true;
    }
    return QDQ_OK;
}

/* --- kinds ------------------------------------------------------------------------------------ */

/* Which way it turns tells an edge apart, too. */
static bool describe_edge(const qdq_refining *r, size_t edge, qdq_buf *text)
{
    const edging *x = (const edging *)(const void *)r; /* its first member */
    const qdq_space_edge *e = &x->r.t->task.space->edge[edge];

    if (x->may_pay[edge])
        qdq_buf_printf(text, " %s.%u%c", e->node != NULL ? e->node->type : "",
                       e->node != NULL ? (unsigned)e->input : 0, x->has_codes[edge] ? '-' : '+');
    return x->may_pay[edge];
}

static qdq_status find_kinds(edging *x, qdq_error *err)
{
    QDQ_TRY(qdq_refine_find_kinds(&x->r, err));
    for (size_t i = 0; i < x->r.n; i++)
        x->r.kind[i] = x->may_pay[i] ? qdq_refine_kind_of(&x->r, x->r.t->task.space->edge[i].value)
                                     : QDQ_TUNE_NO_KIND;
    return QDQ_OK;
}

static void turn_edge(const qdq_refining *x, size_t edge, qdq_assign *c)
{
    qdq_space_flip(x->t->task.space, c, edge);
}

static bool is_turned(const qdq_refining *x, size_t edge, const qdq_assign *c)
{
    const qdq_space *s = x->t->task.space;

    return qdq_space_is_flipped(s, c, edge) != qdq_space_is_flipped(s, &x->base, edge);
}

/* --- measuring -------------------------------------------------------------------------------- */

/* Where the base is not the best placement: by profiles, with all that pays. */
static qdq_status may_beat(const edging *x, const qdq_tune_prices *before, bool *out,
                           qdq_error *err)
{
    qdq_tune_candidate *best;
    double sum = before->sum;

    *out = true;
    if (x->r.against == NULL)
        return QDQ_OK;
    QDQ_TRY(qdq_tune_candidate_of(x->r.t, x->r.against, &best, err));
    for (size_t k = 0; k < x->r.gain.n; k++)
        sum -= x->r.pays.at[k] ? x->r.gain.at[k] : 0;
    *out = best->times == NULL || !best->times->is_known || sum < best->times->sum;
    return QDQ_OK;
}

static qdq_status note_first(edging *x, const qdq_assign *turned, qdq_error *err)
{
    qdq_tune_candidate *c;

    if (x->first.turned != NULL)
        return QDQ_OK;
    QDQ_NEED(qdq_assign_copy(&x->first.base, &x->r.base, &x->r.arena), err);
    x->first.has_codes = x->has_codes;
    x->first.may_pay = x->may_pay;
    QDQ_TRY(qdq_tune_candidate_of(x->r.t, &x->r.base, &c, err));
    x->first.before = c->times;
    QDQ_TRY(qdq_tune_candidate_of(x->r.t, turned, &c, err));
    x->first.turned = c->times;
    return QDQ_OK;
}

/* From the best placement so far. One profile beside another, with the edges turned that may pay,
 * says which kinds are faster so. *kept: there is a better one now. */
static qdq_status try_kinds(edging *x, bool *kept, qdq_error *err)
{
    qdq_tune_prices before;
    qdq_assign c;
    size_t n;
    bool known, may_pay;

    *kept = false;
    QDQ_NEED(qdq_assign_copy(&c, &x->r.base, &x->r.arena), err);
    for (size_t i = 0; i < x->r.n; i++)
        if (x->may_pay[i])
            turn_edge(&x->r, i, &c);
    QDQ_TRY(qdq_refine_find_gains(&x->r, &c, &before, &known, err));
    if (known)
        QDQ_TRY(note_first(x, &c, err));
    const uint32_t best = qdq_refine_best_kind(&x->r, &n);
    if (!known || n == 0 || !has_budget(x->r.t))
        return QDQ_OK;
    QDQ_TRY(may_beat(x, &before, &may_pay, err));
    if (!may_pay) {
        x->r.t->run.found.ruled_out++;
        return QDQ_OK;
    }
    QDQ_TRY(qdq_refine_try_kind(&x->r, "edges", QDQ_TUNE_NO_KIND, kept, err));
    return *kept || n < 2 || !has_budget(x->r.t)
               ? QDQ_OK
               : qdq_refine_try_kind(&x->r, "edges", best, kept, err);
}

static bool is_wanted(const qdq_tune_state *t)
{
    return t->task.space->n_edges > 0 && !qdq_tune_is_settled(t) && qdq_tune_can_profile(t) &&
           has_budget(t);
}

static qdq_status go_round(edging *x, bool *again, qdq_error *err)
{
    bool any;

    *again = false;
    QDQ_TRY(find_edges(x, &any, err));
    if (!any)
        return QDQ_OK;
    QDQ_TRY(find_kinds(x, err));
    QDQ_TRY(try_kinds(x, again, err));
    *again = *again && has_budget(x->r.t);
    return QDQ_OK;
}

/* All tensors beside a kernel share what it gains, so that codes of a graph output may seem to pay
 * that the kernel does without. */
static qdq_status try_float_outputs(edging *x, qdq_error *err)
{
    const qdq_space *s = x->r.t->task.space;
    bool any = false, kept;
    qdq_assign c;

    QDQ_NEED(qdq_assign_copy(&c, &x->r.base, &x->r.arena), err);
    for (size_t i = s->n_edges; i > 0 && s->edge[i - 1].node == NULL; i--)
        if (x->has_codes[i - 1] && qdq_space_is_flipped(s, &c, i - 1)) {
            turn_edge(&x->r, i - 1, &c);
            any = true;
        }
    return any && has_budget(x->r.t) ? qdq_refine_try(&x->r, "edges", &c, &kept, err) : QDQ_OK;
}

/* Was this edge of a graph input turned to codes for the profile of the first round? */
static bool was_given_codes(const edging *x, size_t edge)
{
    const qdq_space_edge *e = &x->r.t->task.space->edge[edge];

    return x->first.may_pay[edge] && !x->first.has_codes[edge] && e->node != NULL &&
           e->value->producer == NULL && !is_copy(x, e->node);
}

/* What its operator gained there, less its part of the conversions. */
static double gain_alone(const edging *x, size_t edge)
{
    const qdq_tune_times *before = x->first.before, *turned = x->first.turned;
    const qdq_space_edge *e = &x->r.t->task.space->edge[edge];
    unsigned n = 0;

    for (size_t i = 0; i < x->r.t->task.space->n_edges; i++)
        n += x->r.t->task.space->edge[i].value == e->value && was_given_codes(x, i);
    return before->own[e->node->id] - turned->own[e->node->id] -
           (turned->converted[e->value->id] - before->converted[e->value->id]) / n;
}

/* All operators that read a graph input are one class, though codes may pay for one and cost
 * another more. */
static qdq_status try_readers(edging *x, qdq_error *err)
{
    const qdq_space *s = x->r.t->task.space;
    bool any = false, kept;
    qdq_assign c;

    if (x->first.turned == NULL || x->r.against != NULL)
        return QDQ_OK;
    QDQ_NEED(qdq_assign_copy(&c, &x->r.base, &x->r.arena), err);
    for (size_t i = 0; i < s->n_edges; i++) {
        const bool has =
            qdq_space_is_flipped(s, &x->r.base, i) != qdq_space_is_flipped(s, &x->first.base, i);
        if (was_given_codes(x, i) && has != (gain_alone(x, i) > 0)) {
            turn_edge(&x->r, i, &c);
            any = true;
        }
    }
    return any && has_budget(x->r.t) ? qdq_refine_try(&x->r, "edges", &c, &kept, err) : QDQ_OK;
}

static qdq_status go_rounds(edging *x, qdq_error *err)
{
    bool again = true, any = false;

    while (again) {
        QDQ_TRY(go_round(x, &again, err));
        any |= again;
    }
    if (any)
        QDQ_TRY(try_float_outputs(x, err));
    return try_readers(x, err);
}

/* *any: decisions that the best placement leaves float, which may be in 8 bits. */
static bool set_all(edging *x)
{
    const qdq_tune_state *t = x->r.t;
    const qdq_assign *allowed = t->parts.problem.allowed;
    bool any = false;

    for (size_t i = 0; i < x->r.base.n; i++) {
        const bool is_group = i < t->task.space->n_groups;
        const bool on = is_group && (allowed == NULL || qdq_assign_get(allowed, i));
        any |= on && !qdq_assign_get(&x->r.base, i);
        qdq_assign_set(&x->r.base, i, on);
    }
    return any;
}

/* A decision may lose for its result alone: what a rule does there is right for others. So edges
 * are turned in the placement with all decisions, too, whose profile the search has, and what pays
 * is measured against the best one. */
static qdq_status go_from_all(edging *x, qdq_error *err)
{
    qdq_tune_candidate *c;

    x->r.against = &x->r.t->run.found.best;
    if (!set_all(x))
        return QDQ_OK;
    QDQ_TRY(qdq_tune_candidate_of(x->r.t, &x->r.base, &c, err));
    return c->failed || c->times == NULL || !c->times->is_known ? QDQ_OK : go_rounds(x, err);
}

/* Fills t->outcome.edges with prices of what ships. */
static qdq_status try_edges(qdq_tune_state *t, qdq_status (*go)(edging *, qdq_error *),
                            qdq_error *err)
{
    edging x = {.r = {.t = t,
                      .arena = QDQ_ARENA_INIT,
                      .stage = QDQ_STAGE_EDGES,
                      .builds = 1,
                      .describe = describe_edge,
                      .change = turn_edge,
                      .differs = is_turned}};

    if (!has_budget(t))
        return QDQ_OK;
    qdq_status st = qdq_refine_begin(&x.r, t->task.space->n_edges, err);
    if (st == QDQ_OK)
        st = go(&x, err);
    if (x.r.against == NULL)
        t->outcome.edges = x.r.out;
    return qdq_refine_end(&x.r, st, err);
}

qdq_status qdq_tune_try_edges(qdq_tune_state *t, qdq_error *err)
{
    if (!is_wanted(t))
        return QDQ_OK;
    if (qdq_assign_count(&t->run.found.best) > 0)
        QDQ_TRY(try_edges(t, go_rounds, err));
    return try_edges(t, go_from_all, err);
}
