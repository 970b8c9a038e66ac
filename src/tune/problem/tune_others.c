/* tune_others.c - what the rules of the other built-in targets place, in this target's types:
 * another processor's rules may be the better ones here. Each is tried late, and only where
 * profiles do not rule it out. */
#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "quant/place/place.h"
#include "quant/target_fit.h"
#include "target/target.h"
#include "tune/candidate/tune_names.h"
#include "tune/candidate/tune_plans.h"
#include "tune/problem/tune_problem.h"
#include "tune/space/space_edges.h"
#include "tune/state/strategy.h"
#include "tune/state/tune_budget.h"
#include "tune/state/tune_presets.h"
#include "tune/trial/tune_trials.h"

/* Starts may have room for halves, and have none. */
static bool is_start(const qdq_assign *start, const qdq_assign *a)
{
    for (size_t i = 0; i < a->n; i++)
        if (qdq_assign_get(start, i) != qdq_assign_get(a, i))
            return false;
    return true;
}

static bool is_known(const qdq_search_problem *p, const qdq_assign *a, size_t n_late)
{
    for (size_t i = 0; i < p->n_starts; i++)
        if (is_start(&p->start[i], a))
            return true;
    for (size_t i = 0; i < n_late; i++)
        if (qdq_assign_equal(&p->late[i], a))
            return true;
    return false;
}

static void keep_to(const qdq_assign *allowed, qdq_assign *a)
{
    for (size_t i = 0; allowed != NULL && i < a->n; i++)
        if (!qdq_assign_get(allowed, i))
            qdq_assign_set(a, i, false);
}

/* Where the rules of a target put Q/DQ. */
static qdq_status place_rules(const qdq_tune_state *t, const qdq_target *other, qdq_plan *p,
                              qdq_error *err)
{
    const qdq_place_opts po = {.exclude = t->task.quantize.exclude,
                               .include = t->task.quantize.include,
                               .op_types = t->task.quantize.op_types,
                               .exclude_op_types = t->task.quantize.exclude_op_types,
                               .finite = t->task.space->finite};

    return qdq_place(t->task.clean, other, &po, p, err);
}

/* *out has nothing in it where the target quantizes weights alone. It goes to qdq_plan_free(). */
static qdq_status place_by_name(const qdq_tune_state *t, const char *name, qdq_plan **out,
                                qdq_error *err)
{
    qdq_target *other = NULL, *fitting = NULL;

    QDQ_TRY(qdq_target_load(name, &other, err));
    *out = qdq_plan_new();
    qdq_status st = qdq_allocated(*out != NULL, err);
    /* what its rules say of this processor was measured with another engine: they are taken as for
     * one that has all kernels */
    if (st == QDQ_OK)
        st = qdq_target_fit(t->task.m, other, QDQ_CPU_VNNI, NULL, &fitting, err);
    /* rules without measurements follow those of a target that has some, which is in the list */
    if (st == QDQ_OK && !qdq_format_weight_only(&other->format) && !other->unmeasured)
        st = place_rules(t, fitting != NULL ? fitting : other, *out, err);
    qdq_target_free(fitting);
    qdq_target_free(other);
    return QDQ_HAND_OVER(*out, st, out, qdq_plan_free);
}

/* As far as decisions have it. */
static qdq_status find_decisions(qdq_tune_state *t, const char *name, qdq_assign *out,
                                 qdq_error *err)
{
    qdq_plan *p;

    QDQ_TRY(place_by_name(t, name, &p, err));
    const qdq_status st = qdq_space_from_plan(t->task.space, p, out, &t->arena, err);
    qdq_plan_free(p);
    return st;
}

qdq_status qdq_tune_find_others(qdq_tune_state *t, qdq_error *err)
{
    size_t n_targets = 0, n = 0;
    const char *help, *name;

    while (qdq_target_name(n_targets, &help) != NULL)
        n_targets++;
    qdq_assign *late = qdq_arena_array(&t->arena, n_targets + 1, sizeof *late);
    const char **names = qdq_arena_array(&t->arena, n_targets + 1, sizeof *names);
    QDQ_NEED(late != NULL && names != NULL, err);
    t->parts.problem.late = late;
    t->parts.problem.late_name = names;
    for (size_t i = 0; (name = qdq_target_name(i, &help)) != NULL; i++) {
        if (strcmp(name, t->task.target->name) == 0)
            continue;
        QDQ_TRY(find_decisions(t, name, &late[n], err));
        keep_to(t->parts.problem.allowed, &late[n]);
        if (qdq_assign_count(&late[n]) == 0 || is_known(&t->parts.problem, &late[n], n))
            continue;
        names[n] = qdq_arena_printf(&t->arena, "rules of %s", name);
        QDQ_NEED(names[n++] != NULL, err);
    }
    t->parts.problem.n_late = n;
    return QDQ_OK;
}

/* --- which of them may be the fastest --------------------------------------------------------- */

static qdq_status see_candidate(qdq_tune_state *t, const qdq_tune_candidate *c, qdq_arena *scratch,
                                qdq_mincut_seen *out, qdq_error *err)
{
    *out = (qdq_mincut_seen){.time_ns = c == t->run.base ? t->parts.problem.base_ns : NAN};
    QDQ_NEED(qdq_assign_new(&out->assign, t->task.space->n_groups, scratch), err);
    for (size_t i = 0; i < t->task.space->n_groups && i < c->assign.n; i++)
        qdq_assign_set(&out->assign, i, qdq_assign_get(&c->assign, i));
    QDQ_TRY(qdq_mincut_profile_new(&out->profile, &t->parts.hyperedges.graph, scratch, err));
    qdq_tune_sum_costs(t->task.space, &t->parts.hyperedges, c->times, &out->profile);
    return QDQ_OK;
}

/* Of groups alone: what a plan has beyond them would count for their kernels. */
static bool is_profiled(const qdq_tune_state *t, const qdq_tune_candidate *c)
{
    return c->times != NULL && c->times->is_known && c->assign.word != NULL &&
           c->assign.n == t->task.space->n_groups;
}

/* From profiles that a strategy without costs has taken: two at least, as one prices nothing.
 * *known: there are two. */
static qdq_status fit_costs(qdq_tune_state *t, qdq_mincut_costs *out, bool *known, qdq_error *err)
{
    qdq_arena scratch = QDQ_ARENA_INIT;
    QDQ_VEC(qdq_mincut_seen) seen = {0};
    qdq_status st = QDQ_OK;

    if (t->parts.hyperedges.of == NULL)
        QDQ_TRY(qdq_hyperedges_find(t->task.space, &t->arena, &t->parts.hyperedges, err));
    for (size_t i = 0; i < t->run.candidates.n && st == QDQ_OK; i++) {
        qdq_mincut_seen one;
        if (!is_profiled(t, t->run.candidates.at[i]))
            continue;
        st = see_candidate(t, t->run.candidates.at[i], &scratch, &one, err);
        if (st == QDQ_OK && !QDQ_PUSH(&scratch, &seen, one))
            st = qdq_nomem(err);
    }
    *known = st == QDQ_OK && seen.n > 1;
    if (*known)
        st = qdq_mincut_costs_fit(out, &t->parts.hyperedges.graph, seen.at, seen.n,
                                  t->parts.problem.allowed, &t->arena, err);
    qdq_arena_free(&scratch);
    return st;
}

/* May it be as fast as the best, within the interval of both? */
static bool is_near(const qdq_mincut_costs *k, const qdq_assign *a, const qdq_assign *best)
{
    const double deviations = 2; /* 95 % */

    return qdq_energy_value(&k->energy, a) -
               deviations * sqrt(qdq_mincut_doubt_between(k, a, best)) <
           qdq_energy_value(&k->energy, best);
}

/* Measures what is new, and not ruled out by costs (NULL: there are none), against the best. */
static qdq_status try_placement(qdq_tune_state *t, const qdq_mincut_costs *costs,
                                qdq_search_phase phase, const char *move, const qdq_assign *a,
                                qdq_error *err)
{
    qdq_tune_candidate *c;
    qdq_tune_tried r;

    QDQ_TRY(qdq_tune_candidate_of(t, a, &c, err));
    if (c == t->run.base || c->tried)
        return QDQ_OK;
    if (costs == NULL || is_near(costs, a, &t->run.found.best))
        return qdq_tune_try_for_best(t, phase, move, a, &r, err);
    t->run.found.ruled_out++;
    return QDQ_OK;
}

qdq_status qdq_tune_try_others(qdq_tune_state *t, qdq_error *err)
{
    const qdq_search_opts *o = &t->run.search_opts;
    qdq_mincut_costs own = t->parts.costs;
    bool known = t->parts.has_costs;

    if (t->parts.problem.n_late > 0 && !known)
        QDQ_TRY(fit_costs(t, &own, &known, err));
    for (size_t i = 0; i < t->parts.problem.n_late && !t->run.found.ended_early; i++) {
        if ((o->max_builds > 0 && t->run.builds >= o->max_builds) ||
            (o->max_trials > 0 && t->run.found.trials >= o->max_trials))
            return QDQ_OK;
        QDQ_TRY(try_placement(t, known ? &own : NULL, QDQ_PHASE_INTERACTIONS,
                              t->parts.problem.late_name[i], &t->parts.problem.late[i], err));
    }
    return QDQ_OK;
}

/* --- edge by edge ----------------------------------------------------------------------------- */

/* *any: the placement has more than decisions can say. */
static qdq_status find_edges(qdq_tune_state *t, const char *name, qdq_assign *out, bool *any,
                             qdq_error *err)
{
    const qdq_space_scaling from = qdq_tune_scaling(t);
    qdq_plan *p;

    *any = false;
    QDQ_TRY(place_by_name(t, name, &p, err));
    const qdq_status st = qdq_space_express(t->task.space, p, &from, &t->arena, out, err);
    qdq_plan_free(p);
    for (size_t i = t->task.space->n_groups; st == QDQ_OK && i < out->n && !*any; i++)
        *any = qdq_assign_get(out, i);
    return st;
}

/* Two builds are left to the search of single edges. */
static bool has_budget(const qdq_tune_state *t)
{
    return qdq_tune_has_builds(t, QDQ_STAGE_EDGES, 3) && !t->run.found.ended_early;
}

/* Decisions alone predict its time: what single edges cost is known behind them. */
static qdq_status try_edges_of(qdq_tune_state *t, const qdq_mincut_costs *costs, const char *name,
                               qdq_error *err)
{
    qdq_assign a;
    bool any;

    QDQ_TRY(find_edges(t, name, &a, &any, err));
    if (!any)
        return QDQ_OK;
    const char *move = qdq_arena_printf(&t->arena, "rules of %s, edge by edge", name);
    QDQ_NEED(move != NULL, err);
    return try_placement(t, costs, QDQ_PHASE_EXCEPTIONS, move, &a, err);
}

qdq_status qdq_tune_try_others_by_edges(qdq_tune_state *t, qdq_error *err)
{
    qdq_mincut_costs own = t->parts.costs;
    bool known = t->parts.has_costs;
    const char *help, *name;

    if (t->run.greedy != NULL || t->parts.filter.n > 0 || t->parts.settled != NULL ||
        t->task.space->n_edges == 0 || !has_budget(t))
        return QDQ_OK;
    if (!known)
        QDQ_TRY(fit_costs(t, &own, &known, err));
    for (size_t i = 0; (name = qdq_target_name(i, &help)) != NULL; i++)
        if (strcmp(name, t->task.target->name) != 0 && has_budget(t))
            QDQ_TRY(try_edges_of(t, known ? &own : NULL, name, err));
    return QDQ_OK;
}
