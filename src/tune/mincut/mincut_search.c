/* mincut_search.c - the course of the strategy: starts, anchors, rounds, and uncertain
 * decisions. */
#include "tune/mincut/mincut_search.h"

#include <math.h>

#include "base/fail.h"
#include "tune/mincut/pareto_front.h"
#include "tune/search/search_state.h"

enum { ROUNDS = 3 };

/* Numbers of standard deviations: by which a change must pay, by which it must pay after a
 * measurement that rejected a proposal, and by which an uncertain decision may be better. */
static const double caution = 1, distrust = 3, boldness = 2;

typedef struct cutting {
    const qdq_mincut_problem *p;
    qdq_search_state s;
    QDQ_VEC(qdq_mincut_seen) seen;
    qdq_mincut_result *out;
    /* the costs with a bias for or against the incumbent */
    qdq_energy leaning;
    /* the last proposal was rejected by a measurement: its costs were too optimistic */
    bool refused;
    /* limit of harm for the current proposal */
    double max_sensitivity;
    /* largest sum of harm that reached the goal, and smallest that missed it */
    double holds, fails;
} cutting;

static unsigned builds_left(const cutting *c)
{
    const qdq_search_opts *o = c->s.opts;
    const unsigned now =
        o->max_builds > 0 && c->s.ops->builds != NULL ? c->s.ops->builds(c->s.ops->ctx) : 0;

    return o->max_builds == 0 ? UINT32_MAX : now < o->max_builds ? o->max_builds - now : 0;
}

/* --- profiles --------------------------------------------------------------------------------- */

static qdq_status look_at(cutting *c, const qdq_assign *a, bool *known, qdq_error *err)
{
    qdq_mincut_seen seen;
    double time;

    *known = false;
    if (!qdq_search_budget_left(&c->s))
        return QDQ_OK;
    QDQ_TRY(qdq_search_known_time(&c->s, a, &time, err));
    QDQ_TRY(qdq_mincut_profile_new(&seen.profile, c->p->graph, &c->s.scratch, err));
    QDQ_TRY(c->p->profile(c->p->profile_ctx, a, &seen.profile, known, err));
    if (!*known)
        return QDQ_OK;
    c->out->profiles++;
    seen.time_ns = time * c->p->search->base_ns;
    QDQ_NEED(qdq_assign_copy(&seen.assign, a, &c->s.scratch) &&
                 QDQ_PUSH(&c->s.scratch, &c->seen, seen),
             err);
    return QDQ_OK;
}

/* 0 or 1 for the n-th number: the Thue-Morse sequence, which avoids the periods of a model's
 * repeated blocks. */
static bool is_odd(unsigned n)
{
    bool odd = false;

    for (; n != 0; n &= n - 1)
        odd = !odd;
    return odd;
}

/* Fills the candidate with alternating decisions along the graph, so that most tensors need a
 * conversion. Consumers of tensors that are float in any case alternate too, so that one profile
 * has both states. */
static qdq_status alternate_bits(cutting *c, qdq_error *err)
{
    const qdq_mincut_graph *g = c->p->graph;
    qdq_assign *a = &c->s.candidate;
    bool *is_set = qdq_arena_array(&c->s.scratch, g->n_bits + 1, sizeof *is_set);
    unsigned behind_float = 0;

    QDQ_NEED(is_set != NULL, err);
    for (size_t i = 0; i < g->n_bits; i++)
        qdq_assign_set(a, i, true);
    for (size_t t = 0; t < g->n_hyperedges; t++) {
        const qdq_hyperedge *hyperedge = &g->hyperedge[t];
        if (hyperedge->from != QDQ_CUT_FLOAT)
            is_set[hyperedge->from] = true;
        for (size_t i = 0; i < hyperedge->n_to; i++) {
            if (hyperedge->to[i] == QDQ_CUT_FLOAT || is_set[hyperedge->to[i]])
                continue;
            qdq_assign_set(a, hyperedge->to[i],
                           hyperedge->from == QDQ_CUT_FLOAT ? !is_odd(behind_float++)
                                                            : !qdq_assign_get(a, hyperedge->from));
            is_set[hyperedge->to[i]] = true;
        }
    }
    return QDQ_OK;
}

/* Turns off bits that are not allowed, and all bits of a tie if one of them is off. */
static void make_legal(cutting *c)
{
    const qdq_mincut_graph *g = c->p->graph;
    qdq_assign *a = &c->s.candidate;
    bool changed = true;

    for (size_t i = 0; i < g->n_bits; i++)
        if (!qdq_search_allows(&c->s, i))
            qdq_assign_set(a, i, false);
    /* bits only turn off */
    while (changed) {
        changed = false;
        for (size_t i = 0; i < g->n_ties; i++) {
            const bool both = qdq_assign_get(a, g->tie[i].a) && qdq_assign_get(a, g->tie[i].b);
            changed = changed || qdq_assign_get(a, g->tie[i].a) != qdq_assign_get(a, g->tie[i].b);
            qdq_assign_set(a, g->tie[i].a, both);
            qdq_assign_set(a, g->tie[i].b, both);
        }
    }
}

static void fill_candidate(cutting *c, bool on)
{
    for (size_t i = 0; i < c->p->graph->n_bits; i++)
        qdq_assign_set(&c->s.candidate, i, on);
}

static void flip_candidate(cutting *c)
{
    for (size_t i = 0; i < c->p->graph->n_bits; i++)
        qdq_assign_set(&c->s.candidate, i, !qdq_assign_get(&c->s.candidate, i));
}

/* Profiles of the all-float plan, the all-quantized plan, and alternating decisions; the reverse
 * alternation and the incumbent too, if two rounds of builds remain. Without a profile of the
 * all-float plan and of another one, there are no costs. */
static qdq_status look_at_anchors(cutting *c, qdq_error *err)
{
    enum { TWO_ROUNDS = 5 };
    bool known, ignored;

    QDQ_TRY(look_at(c, &c->p->search->start[0], &known, err));
    if (!known)
        return QDQ_OK;
    fill_candidate(c, true);
    make_legal(c);
    const bool is_anchor = qdq_assign_equal(&c->s.candidate, &c->s.incumbent) ||
                           qdq_assign_count(&c->s.incumbent) == 0;
    QDQ_TRY(look_at(c, &c->s.candidate, &ignored, err));
    QDQ_TRY(alternate_bits(c, err));
    make_legal(c);
    QDQ_TRY(look_at(c, &c->s.candidate, &ignored, err));
    if (builds_left(c) > TWO_ROUNDS) {
        QDQ_TRY(alternate_bits(c, err));
        flip_candidate(c);
        make_legal(c);
        QDQ_TRY(look_at(c, &c->s.candidate, &ignored, err));
    }
    if (builds_left(c) > TWO_ROUNDS && !is_anchor)
        QDQ_TRY(look_at(c, &c->s.incumbent, &ignored, err));
    c->out->known = c->seen.n > 1;
    return QDQ_OK;
}

/* --- proposals -------------------------------------------------------------------------------- */

/* What uncertainty favours: the incumbent, the incumbent strongly, or other decisions. */
typedef enum leaning {
    LEAN_TO_INCUMBENT,
    LEAN_TO_INCUMBENT_MORE,
    LEAN_TO_CODES,
    LEAN_TO_FLOAT,
    LEAN_TO_CONVERSIONS
} leaning;

/* By how many deviations the cost of a bit that is on increases. */
static double lean_of(leaning to, bool is_on)
{
    switch (to) {
    case LEAN_TO_INCUMBENT:
        return is_on ? -caution : caution;
    case LEAN_TO_INCUMBENT_MORE:
        return is_on ? -distrust : distrust;
    case LEAN_TO_CODES:
        return -boldness;
    case LEAN_TO_FLOAT:
        return boldness;
    case LEAN_TO_CONVERSIONS:
        return 0;
    }
    return 0;
}

static qdq_status fit_costs(cutting *c, qdq_error *err)
{
    QDQ_TRY(qdq_mincut_costs_fit(&c->out->costs, c->p->graph, c->seen.at, c->seen.n,
                                 c->p->search->allowed, c->s.arena, err));
    return qdq_energy_new(&c->leaning, c->p->graph, &c->s.scratch, err);
}

static void lean_costs(cutting *c, leaning to)
{
    const qdq_mincut_costs *k = &c->out->costs;
    const qdq_mincut_graph *g = c->p->graph;

    for (size_t i = 0; i < g->n_bits; i++) {
        const bool on = qdq_assign_get(&c->s.incumbent, i);
        c->leaning.off[i] = k->energy.off[i];
        c->leaning.on[i] = k->energy.on[i] + lean_of(to, on) * k->doubt[i];
    }
    for (size_t t = 0; t < g->n_hyperedges; t++) {
        const double less = to == LEAN_TO_CONVERSIONS ? 1 : 0;
        c->leaning.q[t] = fmax(k->energy.q[t] - less * k->q_doubt[t], 0);
        c->leaning.dq[t] = fmax(k->energy.dq[t] - less * k->dq_doubt[t], 0);
    }
}

/* Makes the best assignment with this bias, within the limit, the candidate. *worth: its saving may
 * be detectable within the uncertainty, and it was not measured before; repeated pairs would be
 * undecided again. */
static qdq_status minimize_costs(cutting *c, leaning to, bool *matters, qdq_error *err)
{
    const qdq_energy *e = &c->out->costs.energy;
    bool fits = true;
    double time;

    if (c->p->sensitivity == NULL)
        QDQ_TRY(qdq_energy_minimize(&c->leaning, &c->s.candidate, err));
    else
        QDQ_TRY(qdq_mincut_minimize_within(&c->leaning, c->p->sensitivity, c->max_sensitivity,
                                           &c->s.candidate, &fits, err));
    QDQ_TRY(qdq_search_known_time(&c->s, &c->s.candidate, &time, err));
    const double doubt = qdq_mincut_doubt_between(&c->out->costs, &c->s.candidate, &c->s.incumbent);
    const double saved =
                     qdq_energy_value(e, &c->s.incumbent) - qdq_energy_value(e, &c->s.candidate),
                 most = saved + (to <= LEAN_TO_INCUMBENT_MORE ? 0 : boldness * sqrt(doubt));
    *matters = fits && isnan(time) && qdq_search_matters(&c->s, most / c->p->search->base_ns);
    return QDQ_OK;
}

/* --- the bound on harm ------------------------------------------------------------------------ */

/* Records a result. If it contradicts an earlier one, the newer one counts. */
static void narrow_bound(cutting *c, double sensitivity, bool holds)
{
    if (holds) {
        c->holds = fmax(c->holds, sensitivity);
        c->fails = c->fails > sensitivity ? c->fails : INFINITY;
    } else {
        c->fails = fmin(c->fails, sensitivity);
        c->holds = c->holds < sensitivity ? c->holds : 0;
    }
}

/* Moves the limit by the result of the candidate. False: the limit is close enough to the largest
 * harm that reaches the goal. */
static bool move_bound(cutting *c, const qdq_mincut_verdict *v)
{
    const double near = 1.06, margin = 0.98, step = 4;
    const double sensitivity = qdq_assign_sum(&c->s.candidate, c->p->sensitivity);
    double next = v->excess > 0 ? margin * sensitivity / v->excess : NAN;

    narrow_bound(c, sensitivity, v->holds);
    if (c->fails <= near * c->holds || (v->holds && v->excess * near >= 1))
        return false;
    /* unknown, or outside of the interval */
    if (!(next > c->holds && next < c->fails))
        next = c->holds <= 0 ? sensitivity / step : sqrt(c->holds) * sqrt(c->fails);
    c->max_sensitivity = next;
    return sensitivity > 0;
}

/* Makes the best assignment that reaches the goal the candidate: tries limits until the interval
 * between success and failure is small. */
static qdq_status minimize_evaluated(cutting *c, leaning to, bool *matters, qdq_error *err)
{
    enum { STEPS = 24 };
    qdq_assign last, best;
    double within = c->max_sensitivity, least = INFINITY;
    bool more = true;

    QDQ_NEED(qdq_assign_new(&last, c->p->graph->n_bits, &c->s.scratch) &&
                 qdq_assign_new(&best, c->p->graph->n_bits, &c->s.scratch),
             err);
    for (int i = 0; i < STEPS && more; i++) {
        qdq_mincut_verdict v = {0};
        QDQ_TRY(minimize_costs(c, to, &more, err));
        more = more && (i == 0 || !qdq_assign_equal(&c->s.candidate, &last));
        if (more)
            QDQ_TRY(c->p->evaluate(c->p->evaluate_ctx, &c->s.candidate, &v, err));
        if (!more || !v.known)
            break;
        qdq_assign_take(&last, &c->s.candidate);
        const double cost = qdq_energy_value(&c->leaning, &c->s.candidate);
        if (v.holds && cost < least) {
            qdq_assign_take(&best, &c->s.candidate);
            within = c->max_sensitivity;
            least = cost;
        }
        more = move_bound(c, &v);
    }
    *matters = isfinite(least);
    if (*matters) {
        qdq_assign_take(&c->s.candidate, &best);
        c->max_sensitivity = within;
    }
    return QDQ_OK;
}

static qdq_status propose_placement(cutting *c, leaning to, bool *matters, qdq_error *err)
{
    lean_costs(c, to);
    return c->p->evaluate != NULL ? minimize_evaluated(c, to, matters, err)
                                  : minimize_costs(c, to, matters, err);
}

/* --- rounds ----------------------------------------------------------------------------------- */

/* Measures the candidate. If another round may follow, its profile corrects the costs. *again:
 * another round may follow. */
static qdq_status go_round(cutting *c, const char *move, bool *again, qdq_error *err)
{
    qdq_tried t;

    *again = false;
    c->s.move = move;
    QDQ_TRY(qdq_search_try(&c->s, SIZE_MAX, &t, err));
    c->out->rounds += t.measured;
    c->refused = t.measured ? !t.accepted : c->refused;
    if (!t.measured || !isfinite(t.time) || !qdq_search_budget_left(&c->s) || builds_left(c) < 2)
        return QDQ_OK;
    QDQ_TRY(look_at(c, &c->s.candidate, again, err));
    return *again ? fit_costs(c, err) : QDQ_OK;
}

static qdq_status go_rounds(cutting *c, qdq_error *err)
{
    bool again = true;

    while (again && !c->s.over && c->out->rounds < ROUNDS) {
        QDQ_TRY(propose_placement(c, LEAN_TO_INCUMBENT, &again, err));
        if (again)
            QDQ_TRY(go_round(c, "minimum cut", &again, err));
    }
    return QDQ_OK;
}

/* Measures the best assignment with this bias, if its saving may be detectable, and starts from
 * it. */
static qdq_status try_leaning(cutting *c, leaning to, const char *move, qdq_error *err)
{
    const double before = c->s.time;
    bool matters;

    if (c->s.over)
        return QDQ_OK;
    QDQ_TRY(propose_placement(c, to, &matters, err));
    if (matters)
        QDQ_TRY(go_round(c, move, &matters, err));
    return c->s.time < before ? go_rounds(c, err) : QDQ_OK;
}

/* After a rejected proposal: only certain changes. Else the least certain decisions, all biased in
 * the same direction. */
static qdq_status try_doubts(cutting *c, qdq_error *err)
{
    if (c->refused)
        return try_leaning(c, LEAN_TO_INCUMBENT_MORE, "what is sure", err);
    QDQ_TRY(try_leaning(c, LEAN_TO_CODES, "doubtful ones on codes", err));
    QDQ_TRY(try_leaning(c, LEAN_TO_FLOAT, "doubtful ones in float", err));
    return try_leaning(c, LEAN_TO_CONVERSIONS, "more conversions", err);
}

/* --- the whole -------------------------------------------------------------------------------- */

static qdq_status search_by_cuts(cutting *c, qdq_error *err)
{
    QDQ_TRY(qdq_search_begin(&c->s, err));
    c->s.phase = QDQ_PHASE_INTERACTIONS;
    if (!c->s.over)
        QDQ_TRY(look_at_anchors(c, err));
    if (c->out->known) {
        QDQ_TRY(fit_costs(c, err));
        QDQ_TRY(go_rounds(c, err));
        QDQ_TRY(try_doubts(c, err));
        c->out->best_ns =
            c->out->costs.remainder + qdq_energy_value(&c->out->costs.energy, &c->s.incumbent);
    }
    return qdq_search_finish(&c->s, err);
}

qdq_status qdq_mincut_search_run(const qdq_mincut_problem *p, const qdq_search_opts *opts,
                                 const qdq_search_ops *ops, qdq_arena *arena,
                                 qdq_mincut_result *out, qdq_error *err)
{
    /* costs decide what to measure, without the upper bounds of region mode */
    qdq_search_ops own = *ops;
    cutting c = {
        .p = p,
        .s = {.p = p->search, .opts = opts, .ops = &own, .arena = arena, .out = &out->search},
        .out = out,
        .max_sensitivity = p->max_sensitivity,
        .fails = INFINITY};

    *out = (qdq_mincut_result){0};
    own.profile = NULL;
    if (p->graph->n_bits != p->search->n_bits)
        return qdq_fail(err, QDQ_E_USAGE, "tensors between %zu bits for a search of %zu",
                        p->graph->n_bits, p->search->n_bits);
    qdq_status st = search_by_cuts(&c, err);
    qdq_search_free(&c.s);
    return st;
}
