/* tune_trials.c - one trial: two candidates, their models, samples from the store as far as it has
 * them, and new ones behind them. Every time that a decision depends on goes through here
 * (profiles: through tune_profile.c), which is why a run that was cut off can be run again: it asks
 * the same questions, and most of the answers are on disk. */
#include "tune/trial/tune_trials.h"

#include <math.h>
#include <stdio.h>

#include "base/fail.h"
#include "tune/accuracy/accuracy.h"
#include "tune/candidate/tune_files.h"
#include "tune/candidate/tune_models.h"
#include "tune/candidate/tune_names.h"
#include "tune/candidate/tune_profile.h"
#include "tune/state/tune_budget.h"
#include "tune/state/tune_progress.h"
#include "tune/state/tune_refused.h"
#include "tune/state/units.h"
#include "tune/trial/tune_verify.h"

/* --- samples ---------------------------------------------------------------------------------- */

typedef struct taking {
    qdq_tune_state *t;
    qdq_tune_candidate *a, *b;
    qdq_tune_store_trial trial;
    bool failed;
} taking;

static uint64_t number_of(const taking *k, unsigned pair)
{
    return ((uint64_t)k->trial.id << 12) + pair; /* the same in a run that goes on */
}

static qdq_status fail_trial(taking *k, const char *why, qdq_error *err)
{
    k->failed = true;
    QDQ_TRY(qdq_tune_store_trial_fail(k->t->tools.store, &k->trial, why, err));
    return qdq_fail(err, QDQ_E_GOAL, "%s", why);
}

static qdq_status measure_pair(taking *k, unsigned pair, double *a_ns, double *b_ns, qdq_error *err)
{
    qdq_remote_outcome outcome = {0};

    QDQ_TRY(qdq_job_poll(k->t->job, err));
    k->t->run.measured = true;
    qdq_tune_set_deadline(k->t, k->t->tools.worker_client);
    QDQ_TRY(qdq_tune_build(k->t, k->a, NULL, err));
    QDQ_TRY(qdq_tune_build(k->t, k->b, NULL, err));
    if (qdq_tune_was_cut(k->t, k->a) || qdq_tune_was_cut(k->t, k->b))
        return qdq_fail(err, QDQ_E_GOAL, "the budget of time is used up");
    if (k->a->failed || k->b->failed)
        return fail_trial(k, k->a->failed ? k->a->why : k->b->why, err);
    QDQ_TRY(qdq_worker_client_pair(k->t->tools.worker_client, k->a->handle, k->b->handle,
                                   pair % 2 == 1, number_of(k, pair), a_ns, b_ns, &outcome, err));
    QDQ_TRY(qdq_tune_note_refused(k->t, k->t->tools.worker_client, err));
    if (outcome.end != QDQ_REMOTE_FINE) {
        qdq_tune_give_up_by_outcome(k->b, &outcome);
        k->b->handle = -1;
        if (qdq_tune_was_cut(k->t, k->b))
            return qdq_fail(err, QDQ_E_GOAL, "the budget of time is used up");
        return fail_trial(k, k->b->why, err);
    }
    return qdq_tune_store_pair_add(k->t->tools.store, &k->trial, pair, a_ns, b_ns, err);
}

static qdq_status take_pair(void *ctx, unsigned pair, double *a_ns, double *b_ns, qdq_error *err)
{
    taking *k = ctx;

    k->t->run.pairs++;
    if (pair < k->trial.n_pairs)
        return qdq_tune_store_pair_get(k->t->tools.store, &k->trial, pair, a_ns, b_ns, err);
    return measure_pair(k, pair, a_ns, b_ns, err);
}

static void count_build(qdq_tune_state *t, qdq_tune_candidate *c)
{
    t->run.builds += !c->counted;
    c->counted = true;
}

static qdq_status begin_trial(qdq_tune_state *t, taking *k, unsigned nth, qdq_error *err)
{
    count_build(t, k->a);
    count_build(t, k->b);
    k->b->tried = true;
    return qdq_tune_store_trial_get(t->tools.store, &t->tools.run,
                                    &(qdq_tune_store_models){k->a->name, k->b->name, nth},
                                    &k->trial, err);
}

/* Of the store's answer, or of the test's: a trial that failed is no error of the run. */
static qdq_status conclude_trial(taking *k, qdq_status st, const qdq_test_result *r, bool *failed,
                                 qdq_error *err)
{
    if (k->failed && st == QDQ_E_GOAL) {
        *failed = true;
        return QDQ_OK;
    }
    QDQ_TRY(st);
    return qdq_tune_store_trial_verdict(k->t->tools.store, &k->trial, r, err);
}

qdq_status qdq_tune_compare(qdq_tune_state *t, qdq_tune_candidate *a, qdq_tune_candidate *b,
                            unsigned nth, const qdq_test_opts *test, qdq_test_result *out,
                            bool *failed, qdq_error *err)
{
    taking k = {.t = t, .a = a, .b = b};

    *out = (qdq_test_result){0};
    *failed = false;
    QDQ_TRY(begin_trial(t, &k, nth, err));
    if (k.trial.failed) {
        qdq_tune_give_up(b, "before", k.trial.why);
        *failed = true;
        return QDQ_OK;
    }
    return conclude_trial(&k, qdq_test_run(test, take_pair, &k, out, err), out, failed, err);
}

/* Of a pair, on a machine that has neighbours: on one of its own it is half of that. */
static const double noisy_sd = 0.01;

qdq_status qdq_tune_aa_test(qdq_tune_state *t, qdq_tune_candidate *c, qdq_error *err)
{
    taking k = {.t = t, .a = c, .b = c};

    QDQ_TRY(begin_trial(t, &k, 1000 + t->run.aa_tests++, err));
    qdq_status st = qdq_aa_test_begin(&t->run.test, take_pair, &k, &t->run.aa_test, err);
    if (st == QDQ_E_GOAL && k.failed)
        return qdq_fail(err, QDQ_E_ENGINE, "the model cannot be timed: %s", c->why);
    QDQ_TRY(st);
    t->run.marked = c;
    if (t->run.aa_test.noisy)
        qdq_job_log(t->job, QDQ_LOG_WARNING,
                    "this machine is noisy: a model compared with itself seems to be %.2f %% "
                    "faster; gains of that size mean nothing",
                    fabs(t->run.aa_test.aa_gain) * 100);
    t->run.test.floor_sd = t->run.aa_test.aa_sd;
    t->run.noisy = t->run.noisy || t->run.aa_test.aa_sd > noisy_sd;
    return QDQ_OK;
}

/* --- the search's eyes ------------------------------------------------------------------------ */

/* Has the noise been far below that of the control for some trials? Then they took more pairs than
 * they needed. */
static bool is_calmer(qdq_tune_state *t, const qdq_test_result *r)
{
    enum { TRIALS = 3 };

    t->run.calm_trials = 2 * r->seen_sd < t->run.aa_test.aa_sd ? t->run.calm_trials + 1 : 0;
    return t->run.calm_trials >= TRIALS;
}

/* After the machine has changed its pace, noise is another one, too. */
static qdq_status follow_drift(qdq_tune_state *t, qdq_tune_candidate *incumbent,
                               const qdq_test_result *r, qdq_error *err)
{
    /* of a noisy machine, single medians differ */
    const double limit = fmax(0.1, 3 * t->run.aa_test.aa_sd);
    const bool drifted =
        incumbent == t->run.marked && qdq_aa_test_drifted(&t->run.aa_test, r->incumbent_ns, limit);

    if (drifted)
        qdq_job_log(t->job, QDQ_LOG_WARNING, "latency drifted by %.0f %%: noise is measured again",
                    (r->incumbent_ns / t->run.aa_test.base_ns - 1) * 100);
    if (!is_calmer(t, r) && !drifted)
        return QDQ_OK;
    t->run.calm_trials = 0;
    return qdq_tune_aa_test(t, incumbent, err);
}

/* Does it miss the goal because the engine computes it wrongly? Then that is what is told of it.
 * What was not evaluated for want of time is not asked either. */
static qdq_status explain_miss(qdq_tune_state *t, qdq_tune_candidate *c, qdq_error *err)
{
    return c->misses && (c->evaluated || c->checked) && !qdq_tune_time_is_up(t)
               ? qdq_tune_verify(t, c, err)
               : QDQ_OK;
}

static qdq_status measure_candidate(void *ctx, const qdq_assign *incumbent,
                                    const qdq_assign *candidate, const qdq_test_opts *test,
                                    qdq_test_result *out, bool *failed, qdq_error *err)
{
    qdq_tune_state *t = ctx;
    qdq_test_opts own = *test;
    qdq_tune_candidate *a, *b;

    QDQ_TRY(qdq_job_poll(t->job, err));
    if (qdq_tune_time_is_up(t))
        return QDQ_E_GOAL;
    qdq_tune_drop_idle(t);
    QDQ_TRY(qdq_tune_candidate_of(t, incumbent, &a, err));
    QDQ_TRY(qdq_tune_candidate_of(t, candidate, &b, err));
    QDQ_TRY(qdq_tune_recall_wrong(t, b, err));
    QDQ_TRY(qdq_tune_require_goal(t, b, err));
    if (b->failed && (b->misses || b->wrong)) {
        *failed = true;
        return explain_miss(t, b, err);
    }
    own.floor_sd = t->run.aa_test.aa_sd;
    own.least_ns = t->run.noisy ? test->least_ns : 0;
    QDQ_TRY(qdq_tune_compare(t, a, b, 0, &own, out, failed, err));
    if (*failed)
        QDQ_TRY(explain_miss(t, b, err));
    else
        QDQ_TRY(follow_drift(t, a, out, err));
    if (!*failed && out->verdict == QDQ_VERDICT_KEEP)
        QDQ_TRY(qdq_tune_verify(t, b, err));
    if (!*failed && out->verdict == QDQ_VERDICT_KEEP && !b->wrong)
        QDQ_TRY(qdq_tune_require_metric(t, b, err));
    *failed = *failed || b->wrong || b->misses;
    bool kept = !*failed && out->verdict == QDQ_VERDICT_KEEP;
    if (a != t->run.marked) /* greedy goes back to what was better than nothing, but not the best */
        t->run.aa_test.base_ns = out->incumbent_ns;
    if (kept)
        t->run.aa_test.base_ns *= 1 - out->gain;
    t->run.marked = kept ? b : a;
    t->run.idle = kept ? a : b; /* not dropped yet: it may be what the event names as raw */
    return QDQ_OK;
}

static qdq_status identify_candidate(void *ctx, const qdq_assign *a, qdq_assign_hash *out,
                                     qdq_error *err)
{
    qdq_tune_candidate *c;

    QDQ_TRY(qdq_tune_candidate_of(ctx, a, &c, err));
    *out = (qdq_assign_hash){(uint64_t)(uintptr_t)c, 0};
    return QDQ_OK;
}

/* A run that goes on finds on its way what an earlier process found, and left in model.onnx, or
 * something better. So is a baseline that saves more. */
static qdq_status write_kept(qdq_tune_state *t, const qdq_search_event *e, qdq_error *err)
{
    t->run.unwritten = (t->out->resumed && !t->run.measured) || t->run.lead > t->run.saved;
    return t->run.unwritten ? QDQ_OK : qdq_tune_write_assignment(t, e->candidate, err);
}

static qdq_status record_trial(qdq_tune_state *t, const qdq_search_event *e, qdq_error *err)
{
    char text[400];
    qdq_tune_candidate *c;

    if (e->phase == QDQ_PHASE_DONE)
        return QDQ_OK;
    QDQ_TRY(qdq_tune_candidate_of(t, e->candidate, &c, err));
    const qdq_tune_step step = {.phase = e->phase,
                                .unit = e->unit,
                                .move = e->move,
                                .candidate = c->name,
                                .result = e->result != NULL ? *e->result : (qdq_test_result){0},
                                .failed = e->result == NULL ? c->why : NULL,
                                .accepted = e->accepted,
                                .saved = t->run.saved};
    QDQ_NEED(QDQ_PUSH(&t->arena, &t->run.steps, step), err);
    qdq_tune_report_step(t, &step);
    snprintf(text, sizeof text,
             "{\"phase\": \"%s\", \"unit\": %lld, \"candidate\": \"%s\", \"failed\": %s, \"kept\": "
             "%s, \"gain\": %.6g, \"low\": %.6g, \"high\": %.6g, \"pairs\": %u, \"saved\": %.6g}",
             qdq_tune_phase_name(t, e->phase), e->unit == SIZE_MAX ? -1LL : (long long)e->unit,
             c->name, e->result == NULL ? "true" : "false", e->accepted ? "true" : "false",
             e->result != NULL ? e->result->gain : 0, e->result != NULL ? e->result->ci_low : 0,
             e->result != NULL ? e->result->ci_high : 0, e->result != NULL ? e->result->pairs : 0,
             e->saved);
    return qdq_tune_store_event(t->tools.store, &t->tools.run, "trial", text, err);
}

static qdq_status follow_event(void *ctx, const qdq_search_event *e, qdq_error *err)
{
    qdq_tune_state *t = ctx;

    t->run.unit = e->unit != SIZE_MAX ? t->parts.problem.unit[e->unit].name : "";
    t->run.unit_number = e->unit != SIZE_MAX ? e->unit + 1 : 0;
    /* not so: merged groups, slower than the best start, that became better */
    const bool is_best = e->saved >= t->run.saved;
    t->run.saved = fmax(t->run.saved, e->saved);
    QDQ_TRY(record_trial(t, e, err));
    QDQ_TRY(t->units->learn(t, e, err));
    if (e->accepted && is_best)
        QDQ_TRY(write_kept(t, e, err));
    qdq_tune_show(t,
                  e->phase == QDQ_PHASE_INTERACTIONS ? e->move : qdq_tune_phase_name(t, e->phase));
    return QDQ_OK;
}

static qdq_status profile_candidate(void *ctx, const qdq_assign *a, qdq_search_cost *cost,
                                    bool *known, qdq_error *err)
{
    return qdq_tune_profile_bits(ctx, a, cost, known, err);
}

static unsigned count_builds(void *ctx)
{
    return ((qdq_tune_state *)ctx)->run.builds;
}

static qdq_status recall_share(void *ctx, const qdq_assign *a, double *out, qdq_error *err)
{
    qdq_tune_state *t = ctx;

    return t->units->known_share(t, a, out, err);
}

qdq_search_ops qdq_tune_search_ops(qdq_tune_state *t)
{
    return (qdq_search_ops){.ctx = t,
                            .measure = measure_candidate,
                            .identity = identify_candidate,
                            .event = follow_event,
                            .builds = count_builds,
                            .known_share = t->units->known_share != NULL ? recall_share : NULL,
                            .profile = profile_candidate};
}

qdq_status qdq_tune_try(qdq_tune_state *t, qdq_search_phase phase, const char *move,
                        const qdq_assign *incumbent, const qdq_assign *candidate,
                        qdq_tune_tried *out, qdq_error *err)
{
    const qdq_search_ops ops = qdq_tune_search_ops(t);
    qdq_search_event e = {.phase = phase,
                          .move = move,
                          .unit = SIZE_MAX,
                          .n_units = t->parts.problem.n_units,
                          .incumbent = incumbent,
                          .candidate = candidate};
    double time = t->run.found.predicted_ns / t->parts.problem.base_ns;

    qdq_status st =
        qdq_search_measure(&ops, &t->run.search_opts.test, &e, &time, &t->run.found, out, err);
    if (st == QDQ_OK && out->accepted)
        t->run.found.predicted_ns *= 1 - out->result.gain;
    return st;
}

qdq_status qdq_tune_try_for_best(qdq_tune_state *t, qdq_search_phase phase, const char *move,
                                 const qdq_assign *candidate, qdq_tune_tried *out, qdq_error *err)
{
    QDQ_TRY(qdq_tune_try(t, phase, move, &t->run.found.best, candidate, out, err));
    return qdq_allocated(
        !out->accepted || qdq_assign_copy(&t->run.found.best, candidate, &t->arena), err);
}
