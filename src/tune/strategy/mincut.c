/* mincut.c - the strategy mincut on the space: profiles told to decisions and to the tensors
 * between them. */
#include <math.h>

#include "base/fail.h"
#include "tune/accuracy/accuracy.h"
#include "tune/candidate/tune_names.h"
#include "tune/candidate/tune_profile.h"
#include "tune/mincut/mincut_search.h"
#include "tune/mincut/hyperedges.h"
#include "tune/problem/tune_problem.h"
#include "tune/state/strategy.h"
#include "tune/state/tune_presets.h"
#include "tune/trial/tune_trials.h"
#include "tune/trial/tune_verify.h"

static qdq_status profile_placement(void *ctx, const qdq_assign *a, qdq_mincut_profile *out,
                                    bool *known, qdq_error *err)
{
    qdq_tune_state *t = ctx;
    const qdq_tune_times *times;

    QDQ_TRY(qdq_tune_times_of(t, a, &times, err));
    *known = times != NULL;
    if (*known)
        qdq_tune_sum_costs(t->task.space, &t->parts.hyperedges, times, out);
    return QDQ_OK;
}

/* --- the strategy ----------------------------------------------------------------------------- */

/* Not where the baseline's profile is missing, or says too little: then the preset's bounds are
 * those of region mode, and the user is told. */
static qdq_status mincut_fits(qdq_tune_state *t, bool *fits, qdq_error *err)
{
    if (t->opts->mode != QDQ_TUNE_SUBGRAPH || t->task.space->n_groups == 0 ||
        qdq_tune_wants_greedy(t->opts))
        return QDQ_OK;
    *fits = t->run.base->times != NULL && t->run.base->times->is_known;
    if (*fits && t->details->schemes_per_region > 0)
        qdq_job_log(t->job, QDQ_LOG_INFO,
                    "minimum cuts place all groups at once: the bound on schemes of a group "
                    "changes nothing");
    if (*fits)
        return QDQ_OK;
    if (t->opts->strategy == QDQ_TUNE_MINCUT || t->details->pareto > 0)
        return qdq_fail(err, QDQ_E_UNSUPPORTED,
                        "engine '%s': too few times of layers for minimum cuts%s",
                        qdq_worker_client_engine(t->tools.worker_client)->name,
                        t->details->pareto > 0 ? "; expected them for --pareto" : "");
    qdq_job_log(t->job, QDQ_LOG_WARNING,
                "engine '%s': too few times of layers for minimum cuts; classes of groups are "
                "tried one by one on the whole model, with more builds",
                qdq_worker_client_engine(t->tools.worker_client)->name);
    return QDQ_OK;
}

/* --- the goal --------------------------------------------------------------------------------- */

/* An accuracy has no number that could be compared with harm. */
static double excess_of(const qdq_tune_state *t, const qdq_tune_evaluation *h, bool holds)
{
    const double excess = qdq_tune_excess(t, h);

    return holds || excess > 1 ? excess : NAN;
}

static qdq_status evaluate_placement(void *ctx, const qdq_assign *a, qdq_mincut_verdict *out,
                                     qdq_error *err)
{
    qdq_tune_state *t = ctx;
    qdq_tune_candidate *c;

    QDQ_TRY(qdq_tune_candidate_of(t, a, &c, err));
    if (c == t->run.base) {
        *out = (qdq_mincut_verdict){.known = true, .holds = true};
        return QDQ_OK;
    }
    QDQ_TRY(qdq_tune_evaluate_candidate(t, c, &out->known, err));
    out->holds = out->known && qdq_tune_holds(t, &c->evaluation);
    out->excess = out->known ? excess_of(t, &c->evaluation, out->holds) : NAN;
    return out->known && !out->holds ? qdq_tune_verify(t, c, err) : QDQ_OK;
}

/* From what is proposed on, candidates are evaluated before they are built, if it is known what
 * decisions do. */
static qdq_status bound_sensitivity(qdq_tune_state *t, qdq_mincut_problem *p, qdq_error *err)
{
    if (!qdq_tune_has_goal(t))
        return QDQ_OK;
    QDQ_TRY(qdq_tune_find_sensitivities(t, err));
    t->run.bounded = t->parts.sensitivity != NULL;
    if (!t->run.bounded) {
        qdq_job_log(
            t->job, QDQ_LOG_WARNING,
            "accuracy goal: sensitivities of decisions are unavailable; placements that miss "
            "the goal are rejected without a replacement");
        return QDQ_OK;
    }
    p->sensitivity = t->parts.sensitivity;
    p->max_sensitivity =
        t->opts->goal->min_sqnr != 0 ? pow(10, -t->opts->goal->min_sqnr / 10) : INFINITY;
    p->evaluate = evaluate_placement;
    p->evaluate_ctx = t;
    return QDQ_OK;
}

/* Nothing is what holds any goal, and not what users hoped for. Where the engine computed single
 * placements wrongly, the SQNR that was found is none of theirs. */
static void log_result(const qdq_tune_state *t)
{
    if (!t->run.bounded || t->out->n_wrong > 0 || qdq_assign_count(&t->run.found.best) > 0 ||
        isnan(t->run.least_noisy_db))
        return;
    qdq_job_log(
        t->job, QDQ_LOG_WARNING,
        "no placement that is faster keeps the goal: the best that was evaluated, of %u, has "
        "SQNR %.2f dB",
        t->run.evaluations, t->run.least_noisy_db);
}

/* --- the search ------------------------------------------------------------------------------- */

static qdq_status run_mincut(qdq_tune_state *t, qdq_error *err)
{
    const qdq_search_ops ops = qdq_tune_search_ops(t);
    qdq_mincut_result found;

    QDQ_TRY(qdq_hyperedges_find(t->task.space, &t->arena, &t->parts.hyperedges, err));
    qdq_mincut_problem p = {.search = &t->parts.problem,
                            .graph = &t->parts.hyperedges.graph,
                            .profile = profile_placement,
                            .profile_ctx = t};
    QDQ_TRY(bound_sensitivity(t, &p, err));
    QDQ_TRY(qdq_mincut_search_run(&p, &t->run.search_opts, &ops, &t->arena, &found, err));
    t->run.found = found.search;
    t->parts.costs = found.costs;
    t->parts.has_costs = found.known;
    QDQ_TRY(qdq_tune_try_others(t, err));
    log_result(t);
    return QDQ_OK;
}

const qdq_strategy qdq_strategy_mincut = {
    .name = "mincut", .by_costs = true, .fits = mincut_fits, .run = run_mincut};
