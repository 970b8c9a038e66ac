/* tune_budget.c - the time that is left for the search, and for the steps after it. */
#include "tune/state/tune_budget.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "tune/state/units.h"

double qdq_tune_left_s(const qdq_tune_state *t)
{
    return t->opts->time_s > 0 ? t->run.budget_from + t->opts->time_s - qdq_clock_seconds()
                               : INFINITY;
}

/* Duration of evaluating a placement. Before the first evaluation it is estimated: both models on
 * all samples that evaluate. */
static double evaluation_s(const qdq_tune_state *t)
{
    const qdq_goal_opts *goal = t->opts->goal;

    if (!qdq_tune_has_goal(t) || t->task.data == NULL)
        return 0;
    const double n = (double)(goal->count > 0 ? goal->count : qdq_data_count(t->task.data));
    return t->run.evaluation_s > 0 ? t->run.evaluation_s : 2 * n * t->parts.problem.base_ns * 1e-9;
}

/* Pairs of one test: twice the minimum of 6, which is usual if there is time. */
enum { RESERVED_PAIRS = 12 };

double qdq_tune_after_pairs_s(const qdq_tune_state *t)
{
    const double runs = 20, verify = t->run.verify_s > 0 ? t->run.verify_s
                                                         : runs * t->parts.problem.base_ns * 1e-9;
    const double other = qdq_model_is_open(t->task.m)
                             ? 2 * qdq_worker_client_build_s(t->tools.worker_client) +
                                   RESERVED_PAIRS * qdq_worker_client_pair_s(t->tools.worker_client)
                             : 0;

    return evaluation_s(t) + verify + other;
}

/* Whether limits of trials and builds leave this number of builds. */
static bool may_build(const qdq_tune_state *t, qdq_tune_stage stage, unsigned builds)
{
    const unsigned most = qdq_tune_max_builds_until(t, stage);

    return (most == 0 || t->run.builds + builds <= most) &&
           (t->opts->trials == 0 || t->run.found.trials < t->opts->trials);
}

/* Builds that other formats of operators still need: two profiles and a model, or a model. */
static unsigned builds_of_forms(const qdq_tune_state *t)
{
    if (!t->run.forms_due || !may_build(t, QDQ_STAGE_FORMS, 1))
        return 0;
    return qdq_tune_can_profile(t) ? 3 : 1;
}

/* Time of the final validation: it builds three models and times them in pairs; it evaluates,
 * verifies, times with the other dims, and writes one of them. */
static double reserve_s(const qdq_tune_state *t)
{
    const double build = t->tools.worker_client != NULL
                             ? qdq_worker_client_build_s(t->tools.worker_client)
                             : 0,
                 most = 0.5;

    if (build <= 0)
        return 0;
    /* each baseline is built and timed too, and the best one once more */
    const double n = (double)t->parts.n_baselines;
    const double raw = t->units->raw;
    const unsigned forms = builds_of_forms(t);
    return fmin((3 + n + forms) * build +
                    (2 + n + (n > 0) + raw + (forms > 0)) * RESERVED_PAIRS *
                        qdq_worker_client_pair_s(t->tools.worker_client) +
                    qdq_tune_after_pairs_s(t) + 1,
                most * t->opts->time_s);
}

bool qdq_tune_time_is_up(const qdq_tune_state *t)
{
    return t->opts->time_s > 0 && qdq_tune_left_s(t) <= reserve_s(t);
}

/* The clock at the end of the search, or in the final validation of the whole budget. */
static double time_ends(const qdq_tune_state *t)
{
    const double left = qdq_tune_left_s(t) - (t->run.guarded ? 0 : reserve_s(t));

    return isinf(left) ? INFINITY : qdq_clock_seconds() + left;
}

void qdq_tune_set_deadline(const qdq_tune_state *t, qdq_worker_client *worker_client)
{
    qdq_worker_client_set_until(worker_client, time_ends(t));
}

void qdq_tune_begin_timed(qdq_tune_state *t)
{
    qdq_cancel_at(t->tools.stop, time_ends(t));
}

qdq_status qdq_tune_end_timed(qdq_tune_state *t, qdq_status st, bool *cut)
{
    qdq_cancel_at(t->tools.stop, INFINITY);
    *cut = st == QDQ_E_INTERRUPTED && !qdq_cancel_is_set(t->tools.stop) && !t->tools.metric_failed;
    return *cut ? QDQ_OK : st;
}

bool qdq_tune_was_cut(const qdq_tune_state *t, qdq_tune_candidate *c)
{
    const char *hung = qdq_remote_end_name(QDQ_REMOTE_HUNG);

    if (!c->failed || strncmp(c->why, hung, strlen(hung)) != 0 ||
        (!t->run.guarded && !qdq_tune_time_is_up(t)) || (t->run.guarded && qdq_tune_left_s(t) > 0))
        return false;
    c->failed = c->died = false;
    return true;
}

bool qdq_tune_has_builds(const qdq_tune_state *t, qdq_tune_stage stage, unsigned builds)
{
    return !qdq_tune_time_is_up(t) && may_build(t, stage, builds);
}

bool qdq_tune_can_profile(const qdq_tune_state *t)
{
    return (qdq_worker_client_engine(t->tools.worker_client)->capabilities & QDQ_CAN_PROFILE) != 0;
}
