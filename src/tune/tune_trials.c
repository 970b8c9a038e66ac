/* tune_trials.c - one trial: two candidates, their models, samples from the store as far as it has
 * them, and new ones behind them. Every time that a decision depends on goes through here
 * (profiles: through tune_profile.c), which is why a run that was cut off can be run again: it asks
 * the same questions, and most of the answers are on disk. */
#include "tune/tune_state.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/fail.h"
#include "tune/accuracy/accuracy.h"
#include "tune/greedy/greedy.h"

/* --- models ----------------------------------------------------------------------------------- */

static void give_up(qdq_tune_candidate *c, const char *what, const char *why)
{
    c->failed = true;
    snprintf(c->why, sizeof c->why, "%s: %.300s", what, why);
    c->died = qdq_tune_tells_death(c->why);
}

static void give_up_by_fate(qdq_tune_candidate *c, const qdq_remote_fate *fate)
{
    const bool system =
        fate->end == QDQ_REMOTE_REFUSED && (fate->code == QDQ_E_IO || fate->code == QDQ_E_NOMEM);

    give_up(c, system ? QDQ_TUNE_SYSTEM : qdq_remote_end_name(fate->end), fate->text);
}

void qdq_tune_count_deaths(const qdq_tuning *t, unsigned *died, unsigned *tried)
{
    *died = t->apart_died;
    *tried = t->apart_tried;
    for (size_t i = 0; i < t->candidates.n; i++) {
        const qdq_tune_candidate *c = t->candidates.at[i];

        if (c == t->base || !c->tried || c->shapes != NULL)
            continue;
        (*tried)++;
        *died += c->died;
    }
}

static qdq_status write_model(qdq_tuning *t, qdq_tune_candidate *c, const char *file,
                              qdq_error *err)
{
    qdq_plan *p = NULL;
    qdq_status st = QDQ_OK;

    if (c->assign.word != NULL && qdq_assign_count(&c->assign) > 0)
        st = qdq_tune_plan_of(t, &c->assign, &p, err);
    if (st == QDQ_OK)
        st = qdq_candidate_write(t->files, p != NULL ? p : t->nothing, file, err);
    if (st == QDQ_OK && t->opts->keep_models && p != NULL) {
        const char *path = qdq_arena_printf(&t->arena, "%s/region_models/%s.onnx", t->dir, c->name);
        qdq_save_opts so = QDQ_SAVE_OPTS_INIT;
        qdq_model *m = NULL;
        so.allow_overwrite = true;
        st = path != NULL ? qdq_candidate_model(t->files, p, &m, err) : qdq_nomem(err);
        if (st == QDQ_OK)
            st = qdq_model_save(m, path, &so, err);
        qdq_model_free(m);
    }
    qdq_plan_free(p);
    return st;
}

static bool has_own_reference(const qdq_tuning *t)
{
    return t->converted && !t->nothing->rest.direct_io;
}

/* What outputs are compared with: the model as it was given, or its clean copy, which is the
 * baseline. Where inputs have another type than in the given model, no sample is the same for
 * both. */
static qdq_status build_reference(qdq_tuning *t, const qdq_tune_candidate **out, qdq_error *err)
{
    qdq_tune_candidate *c = t->base;
    qdq_remote_fate fate = {0};

    if (has_own_reference(t))
        QDQ_TRY(qdq_tune_candidate_named(t, "given", &c, err));
    *out = c;
    if (!has_own_reference(t))
        QDQ_TRY(qdq_tune_build(t, c, NULL, err));
    else if (c->handle < 0 && !c->failed) {
        const char *path = qdq_arena_printf(&t->arena, "%s/given.onnx", qdq_tempdir_path(t->work));
        if (path == NULL)
            return qdq_nomem(err);
        QDQ_TRY(qdq_model_save(t->m, path, NULL, err));
        QDQ_TRY(qdq_lab_build(t->lab, path, &c->handle, &fate, err));
        if (fate.end != QDQ_REMOTE_FINE)
            give_up_by_fate(c, &fate);
    }
    return c->failed ? qdq_fail(err, QDQ_E_ENGINE, "the model itself: %s", c->why) : QDQ_OK;
}

/* No placement can reach a goal that is missed without any. */
static qdq_status check_precision(const qdq_tune_candidate *base, double least, qdq_error *err)
{
    return least != 0 && !(base->sqnr_db >= least)
               ? qdq_fail(err, QDQ_E_GOAL,
                          "in the precision that ships, without any Q/DQ: "
                          "found SQNR %.2f dB, expected at least %g dB",
                          base->sqnr_db, least)
               : QDQ_OK;
}

/* Are its outputs those of the float model, as far as the user wants? Asked once for each model
 * that is built. */
static qdq_status check_outputs(qdq_tuning *t, qdq_tune_candidate *c, qdq_error *err)
{
    const double least = t->opts->goal != NULL && !t->in_front ? t->opts->goal->min_sqnr : 0;
    const qdq_tune_candidate *reference;
    qdq_lab_accuracy a;
    qdq_remote_fate fate = {0};
    char text[64];
    double sqnr_db;

    if (c->checked || (c == t->base && !has_own_reference(t)))
        return QDQ_OK;
    if ((qdq_lab_engine(t->lab)->capabilities & QDQ_CAN_RUN) == 0)
        return QDQ_OK; /* the guard judges what is to be shipped, on an engine that can */
    c->checked = true;
    QDQ_TRY(build_reference(t, &reference, err));
    QDQ_TRY(qdq_lab_compare(t->lab, reference->handle, c->handle, &a, &fate, err));
    c->sqnr_db = a.sqnr_db;
    /* of all samples that judge, where it was asked */
    sqnr_db = c->judged ? c->heard.sqnr_db : a.sqnr_db;
    if (fate.end != QDQ_REMOTE_FINE)
        give_up_by_fate(c, &fate);
    else if (!a.finite)
        give_up(c, "outputs", "not finite");
    else if (c == t->base)
        return check_precision(c, least, err);
    else if (least != 0 && !(sqnr_db >= least)) {
        if (sqnr_db == -(double)INFINITY)
            snprintf(text, sizeof text, "not finite, or of another shape");
        else
            snprintf(text, sizeof text, "SQNR %.2f dB, expected at least %g dB", sqnr_db, least);
        give_up(c, "outputs", text);
        c->misses = true;
    }
    return QDQ_OK;
}

qdq_status qdq_tune_model_file(qdq_tuning *t, qdq_tune_candidate *c, const char **path,
                               qdq_error *err)
{
    const char *file = qdq_arena_printf(&t->arena, "%s.onnx", c->name);

    *path = c->file;
    if (c->file != NULL)
        return QDQ_OK;
    *path = qdq_arena_printf(&t->arena, "%s/%s.onnx", qdq_tempdir_path(t->work), c->name);
    return file != NULL && *path != NULL ? write_model(t, c, file, err) : qdq_nomem(err);
}

qdq_status qdq_tune_build(qdq_tuning *t, qdq_tune_candidate *c, const char *path, qdq_error *err)
{
    qdq_remote_fate fate = {0};

    if (c->failed || c->handle >= 0)
        return QDQ_OK;
    if (path == NULL)
        QDQ_TRY(qdq_tune_model_file(t, c, &path, err));
    QDQ_TRY(c->shapes != NULL ? qdq_lab_build_shaped(t->lab, path, c->shapes->at, c->shapes->n,
                                                     &c->handle, &fate, err)
                              : qdq_lab_build(t->lab, path, &c->handle, &fate, err));
    QDQ_TRY(qdq_tune_note_refused(t, t->lab, err));
    if (fate.end != QDQ_REMOTE_FINE) {
        c->handle = -1;
        give_up_by_fate(c, &fate);
        return QDQ_OK;
    }
    return c->shapes != NULL ? QDQ_OK : check_outputs(t, c, err);
}

/* What is no incumbent any more takes memory only. */
void qdq_tune_drop(qdq_tuning *t, qdq_tune_candidate *c)
{
    if (c == t->base || c == t->raw)
        return;
    c->counted =
        /* the next time is another build, also in a run that goes on and has it all on disk */
        false;
    if (c->handle < 0)
        return;
    qdq_lab_drop(t->lab, c->handle);
    c->handle = -1;
}

void qdq_tune_drop_idle(qdq_tuning *t)
{
    if (t->idle != NULL)
        qdq_tune_drop(t, t->idle);
    t->idle = NULL;
}

/* --- time ------------------------------------------------------------------------------------- */

double qdq_tune_left_s(const qdq_tuning *t)
{
    return t->opts->time_s > 0 ? t->budget_from + t->opts->time_s - qdq_clock_seconds() : INFINITY;
}

/* How long it takes to judge a placement. Before the first one was judged: both models on all
 * samples that judge. */
static double judge_s(const qdq_tuning *t)
{
    const qdq_goal_opts *goal = t->opts->goal;

    if (!qdq_tune_has_goal(t) || t->data == NULL)
        return 0;
    const double n = (double)(goal->count > 0 ? goal->count : qdq_data_count(t->data));
    return t->judge_s > 0 ? t->judge_s : 2 * n * t->problem.base_ns * 1e-9;
}

/* Of a test: the least is 6, and what is usual where there is time is twice as many. */
enum { RESERVED_PAIRS = 12 };

double qdq_tune_after_pairs_s(const qdq_tuning *t)
{
    const double runs = 20,
                 verify = t->verify_s > 0 ? t->verify_s : runs * t->problem.base_ns * 1e-9;
    const double other = qdq_model_is_open(t->m)
                             ? 2 * qdq_lab_build_s(t->lab) + RESERVED_PAIRS * qdq_lab_pair_s(t->lab)
                             : 0;

    return judge_s(t) + verify + other;
}

/* The guard builds three models and times them in pairs; one of them is judged, verified, timed
 * with other dims, and written. */
static double reserve_s(const qdq_tuning *t)
{
    const double build = t->lab != NULL ? qdq_lab_build_s(t->lab) : 0, most = 0.5;

    if (build <= 0)
        return 0;
    /* each is built and timed, too, and the best once more */
    const double n = (double)t->n_baselines;
    const double raw = t->opts->mode == QDQ_TUNE_SUBGRAPH;
    return fmin((3 + n) * build +
                    (2 + n + (n > 0) + raw) * RESERVED_PAIRS * qdq_lab_pair_s(t->lab) +
                    qdq_tune_after_pairs_s(t) + 1,
                most * t->opts->time_s);
}

bool qdq_tune_time_is_up(const qdq_tuning *t)
{
    return t->opts->time_s > 0 && qdq_tune_left_s(t) <= reserve_s(t);
}

/* By the clock: when the search must be over, or in the guard all. */
static double time_ends(const qdq_tuning *t)
{
    const double left = qdq_tune_left_s(t) - (t->guarded ? 0 : reserve_s(t));

    return isinf(left) ? INFINITY : qdq_clock_seconds() + left;
}

void qdq_tune_set_deadline(const qdq_tuning *t, qdq_lab *lab)
{
    qdq_lab_set_until(lab, time_ends(t));
}

void qdq_tune_begin_timed(qdq_tuning *t)
{
    qdq_cancel_at(t->stop, time_ends(t));
}

qdq_status qdq_tune_end_timed(qdq_tuning *t, qdq_status st, bool *cut)
{
    qdq_cancel_at(t->stop, INFINITY);
    *cut = st == QDQ_E_INTERRUPTED && !qdq_cancel_is_set(t->stop);
    return *cut ? QDQ_OK : st;
}

/* --- samples ---------------------------------------------------------------------------------- */

typedef struct taking {
    qdq_tuning *t;
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
    QDQ_TRY(qdq_tune_store_trial_fail(k->t->store, &k->trial, why, err));
    return qdq_fail(err, QDQ_E_GOAL, "%s", why);
}

bool qdq_tune_was_cut(const qdq_tuning *t, qdq_tune_candidate *c)
{
    const char *hung = qdq_remote_end_name(QDQ_REMOTE_HUNG);

    if (!c->failed || strncmp(c->why, hung, strlen(hung)) != 0 ||
        (!t->guarded && !qdq_tune_time_is_up(t)) || (t->guarded && qdq_tune_left_s(t) > 0))
        return false;
    c->failed = c->died = false;
    return true;
}

static qdq_status measure_pair(taking *k, unsigned pair, double *a_ns, double *b_ns, qdq_error *err)
{
    qdq_remote_fate fate = {0};

    QDQ_TRY(qdq_job_poll(k->t->job, err));
    k->t->measured = true;
    qdq_tune_set_deadline(k->t, k->t->lab);
    QDQ_TRY(qdq_tune_build(k->t, k->a, NULL, err));
    QDQ_TRY(qdq_tune_build(k->t, k->b, NULL, err));
    if (qdq_tune_was_cut(k->t, k->a) || qdq_tune_was_cut(k->t, k->b))
        return qdq_fail(err, QDQ_E_GOAL, "the budget of time is used up");
    if (k->a->failed || k->b->failed)
        return fail_trial(k, k->a->failed ? k->a->why : k->b->why, err);
    QDQ_TRY(qdq_lab_pair(k->t->lab, k->a->handle, k->b->handle, pair % 2 == 1, number_of(k, pair),
                         a_ns, b_ns, &fate, err));
    QDQ_TRY(qdq_tune_note_refused(k->t, k->t->lab, err));
    if (fate.end != QDQ_REMOTE_FINE) {
        give_up_by_fate(k->b, &fate);
        k->b->handle = -1;
        if (qdq_tune_was_cut(k->t, k->b))
            return qdq_fail(err, QDQ_E_GOAL, "the budget of time is used up");
        return fail_trial(k, k->b->why, err);
    }
    return qdq_tune_store_pair_add(k->t->store, &k->trial, pair, a_ns, b_ns, err);
}

static qdq_status take(void *ctx, unsigned pair, double *a_ns, double *b_ns, qdq_error *err)
{
    taking *k = ctx;

    k->t->pairs++;
    if (pair < k->trial.n_pairs)
        return qdq_tune_store_pair_get(k->t->store, &k->trial, pair, a_ns, b_ns, err);
    return measure_pair(k, pair, a_ns, b_ns, err);
}

static void count(qdq_tuning *t, qdq_tune_candidate *c)
{
    t->builds += !c->counted;
    c->counted = true;
}

static qdq_status begin(qdq_tuning *t, taking *k, unsigned nth, qdq_error *err)
{
    count(t, k->a);
    count(t, k->b);
    k->b->tried = true;
    return qdq_tune_store_trial_get(t->store, &t->run, k->a->name, k->b->name, nth, &k->trial, err);
}

/* Of the store's answer, or of the test's: a trial that failed is no error of the run. */
static qdq_status conclude(taking *k, qdq_status st, const qdq_test_result *r, bool *failed,
                           qdq_error *err)
{
    if (k->failed && st == QDQ_E_GOAL) {
        *failed = true;
        return QDQ_OK;
    }
    QDQ_TRY(st);
    return qdq_tune_store_trial_verdict(k->t->store, &k->trial, qdq_verdict_name(r->verdict),
                                        r->gain, r->ci_low, r->ci_high, err);
}

qdq_status qdq_tune_compare(qdq_tuning *t, qdq_tune_candidate *a, qdq_tune_candidate *b,
                            unsigned nth, const qdq_test_opts *test, qdq_test_result *out,
                            bool *failed, qdq_error *err)
{
    taking k = {.t = t, .a = a, .b = b};

    *out = (qdq_test_result){0};
    *failed = false;
    QDQ_TRY(begin(t, &k, nth, err));
    if (k.trial.failed) {
        give_up(b, "before", k.trial.why);
        *failed = true;
        return QDQ_OK;
    }
    return conclude(&k, qdq_test_run(test, take, &k, out, err), out, failed, err);
}

/* Of a pair, on a machine that has neighbours: on one of its own it is half of that. */
static const double noisy_sd = 0.01;

qdq_status qdq_tune_control(qdq_tuning *t, qdq_tune_candidate *c, qdq_error *err)
{
    taking k = {.t = t, .a = c, .b = c};

    QDQ_TRY(begin(t, &k, 1000 + t->epochs++, err));
    qdq_status st = qdq_epoch_begin(&t->test, take, &k, &t->epoch, err);
    if (st == QDQ_E_GOAL && k.failed)
        return qdq_fail(err, QDQ_E_ENGINE, "the model cannot be timed: %s", c->why);
    QDQ_TRY(st);
    t->marked = c;
    if (t->epoch.noisy)
        qdq_job_log(t->job, QDQ_LOG_WARNING,
                    "this machine is noisy: a model compared with itself seems to be %.2f %% "
                    "faster; gains of that "
                    "size mean nothing",
                    fabs(t->epoch.aa_gain) * 100);
    t->test.floor_sd = t->epoch.aa_sd;
    t->noisy = t->noisy || t->epoch.aa_sd > noisy_sd;
    return QDQ_OK;
}

/* --- the search's eyes ------------------------------------------------------------------------ */

/* Has the noise been far below that of the control for some trials? Then they took more pairs than
 * they needed. */
static bool is_calmer(qdq_tuning *t, const qdq_test_result *r)
{
    enum { TRIALS = 3 };

    t->calm_trials = 2 * r->seen_sd < t->epoch.aa_sd ? t->calm_trials + 1 : 0;
    return t->calm_trials >= TRIALS;
}

/* After the machine has changed its pace, noise is another one, too. */
static qdq_status follow_drift(qdq_tuning *t, qdq_tune_candidate *incumbent,
                               const qdq_test_result *r, qdq_error *err)
{
    /* of a noisy machine, single medians differ */
    const double limit = fmax(0.1, 3 * t->epoch.aa_sd);
    const bool drifted =
        incumbent == t->marked && qdq_epoch_drifted(&t->epoch, r->incumbent_ns, limit);

    if (drifted)
        qdq_job_log(t->job, QDQ_LOG_WARNING,
                    "the machine's pace changed by %.0f %%: noise is measured again",
                    (r->incumbent_ns / t->epoch.base_ns - 1) * 100);
    if (!is_calmer(t, r) && !drifted)
        return QDQ_OK;
    t->calm_trials = 0;
    return qdq_tune_control(t, incumbent, err);
}

static qdq_status measure(void *ctx, const qdq_assign *incumbent, const qdq_assign *candidate,
                          const qdq_test_opts *test, qdq_test_result *out, bool *failed,
                          qdq_error *err)
{
    qdq_tuning *t = ctx;
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
        return QDQ_OK;
    }
    own.floor_sd = t->epoch.aa_sd;
    own.least_ns = t->noisy ? test->least_ns : 0;
    QDQ_TRY(qdq_tune_compare(t, a, b, 0, &own, out, failed, err));
    if (!*failed)
        QDQ_TRY(follow_drift(t, a, out, err));
    if (!*failed && out->verdict == QDQ_VERDICT_KEEP)
        QDQ_TRY(qdq_tune_verify(t, b, err));
    *failed = *failed || b->wrong;
    bool kept = !*failed && out->verdict == QDQ_VERDICT_KEEP;
    if (a != t->marked) /* greedy goes back to what was better than nothing, but not the best */
        t->epoch.base_ns = out->incumbent_ns;
    if (kept)
        t->epoch.base_ns *= 1 - out->gain;
    t->marked = kept ? b : a;
    t->idle = kept ? a : b; /* not dropped yet: it may be what the event names as raw */
    return QDQ_OK;
}

static qdq_status identity(void *ctx, const qdq_assign *a, qdq_assign_hash *out, qdq_error *err)
{
    qdq_tune_candidate *c;

    QDQ_TRY(qdq_tune_candidate_of(ctx, a, &c, err));
    *out = (qdq_assign_hash){(uint64_t)(uintptr_t)c, 0};
    return QDQ_OK;
}

qdq_status qdq_tune_write_assignment(qdq_tuning *t, const qdq_assign *a, qdq_error *err)
{
    qdq_plan *p;

    t->unwritten = false;
    if (qdq_assign_count(a) == 0)
        return qdq_tune_write_best(t, NULL, err);
    QDQ_TRY(qdq_tune_plan_of(t, a, &p, err));
    qdq_status st = qdq_tune_write_best(t, p, err);
    qdq_plan_free(p);
    return st;
}

/* A run that goes on finds on its way what an earlier process found, and left in model.onnx, or
 * something better. So is a baseline that saves more. */
static qdq_status kept(qdq_tuning *t, const qdq_search_event *e, qdq_error *err)
{
    t->unwritten = (t->out->resumed && !t->measured) || t->lead > t->saved;
    return t->unwritten ? QDQ_OK : qdq_tune_write_assignment(t, e->candidate, err);
}

static qdq_status record(qdq_tuning *t, const qdq_search_event *e, qdq_error *err)
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
                                .kept = e->kept,
                                .saved = t->saved};
    if (!QDQ_PUSH(&t->arena, &t->steps, step))
        return qdq_nomem(err);
    qdq_tune_tell(t, &step);
    snprintf(
        text, sizeof text,
        "{\"phase\": \"%s\", \"unit\": %lld, \"candidate\": \"%s\", \"failed\": %s, \"kept\": %s, "
        "\"gain\": %.6g, "
        "\"low\": %.6g, \"high\": %.6g, \"pairs\": %u, \"saved\": %.6g}",
        qdq_tune_phase_name(t, e->phase), e->unit == SIZE_MAX ? -1LL : (long long)e->unit, c->name,
        e->result == NULL ? "true" : "false", e->kept ? "true" : "false",
        e->result != NULL ? e->result->gain : 0, e->result != NULL ? e->result->ci_low : 0,
        e->result != NULL ? e->result->ci_high : 0, e->result != NULL ? e->result->pairs : 0,
        e->saved);
    return qdq_tune_store_event(t->store, &t->run, "trial", text, err);
}

/* What was proposed before anything of it was rejected: greedy may go on with a part of it. */
static const qdq_assign *proposed_of(const qdq_tuning *t, const qdq_search_event *e)
{
    return t->greedy != NULL && t->greedy->result.raw.word != NULL ? &t->greedy->result.raw
                                                                   : e->candidate;
}

static qdq_status event(void *ctx, const qdq_search_event *e, qdq_error *err)
{
    qdq_tuning *t = ctx;

    t->unit = e->unit != SIZE_MAX ? t->problem.unit[e->unit].name : "";
    t->unit_number = e->unit != SIZE_MAX ? e->unit + 1 : 0;
    const bool is_best =
        /* no: merged groups, slower than the best start, that became better */
        e->saved >= t->saved;
    t->saved = fmax(t->saved, e->saved);
    QDQ_TRY(record(t, e, err));
    if (t->opts->mode == QDQ_TUNE_REGION) {
        QDQ_TRY(qdq_tune_remember_share(t, e, err));
        QDQ_TRY(qdq_tune_learn(t, e, err));
    }
    if (t->opts->mode == QDQ_TUNE_SUBGRAPH)
        QDQ_TRY(qdq_tune_write_cache(t, e->kept ? e->candidate : e->incumbent,
                                     e->phase == QDQ_PHASE_DONE, err));
    if (t->opts->mode == QDQ_TUNE_SUBGRAPH && e->phase != QDQ_PHASE_START &&
        e->phase != QDQ_PHASE_DONE)
        QDQ_TRY(qdq_tune_write_raw(t, proposed_of(t, e), err));
    if (e->kept && is_best)
        QDQ_TRY(kept(t, e, err));
    qdq_tune_show(t,
                  e->phase == QDQ_PHASE_INTERACTIONS ? e->move : qdq_tune_phase_name(t, e->phase));
    return QDQ_OK;
}

static qdq_status profile(void *ctx, const qdq_assign *a, qdq_search_cost *cost, bool *known,
                          qdq_error *err)
{
    return qdq_tune_profile_bits(ctx, a, cost, known, err);
}

static unsigned builds(void *ctx)
{
    return ((qdq_tuning *)ctx)->builds;
}

static qdq_status known_share(void *ctx, const qdq_assign *a, double *out, qdq_error *err)
{
    return qdq_tune_known_share(ctx, a, out, err);
}

qdq_search_ops qdq_tune_search_ops(qdq_tuning *t)
{
    return (qdq_search_ops){.ctx = t,
                            .measure = measure,
                            .identity = identity,
                            .event = event,
                            .builds = builds,
                            .known_share = known_share,
                            .profile = profile};
}

qdq_status qdq_tune_try(qdq_tuning *t, qdq_search_phase phase, const char *move,
                        const qdq_assign *incumbent, const qdq_assign *candidate,
                        qdq_tune_tried *out, qdq_error *err)
{
    *out = (qdq_tune_tried){.failed = false};
    qdq_status st =
        measure(t, incumbent, candidate, &t->search_opts.test, &out->result, &out->failed, err);
    if (st == QDQ_E_GOAL) {
        t->found.ended_early = out->failed = true;
        return QDQ_OK;
    }
    QDQ_TRY(st);
    t->found.trials++;
    t->found.pairs += out->result.pairs;
    out->kept = !out->failed && out->result.verdict == QDQ_VERDICT_KEEP;
    if (out->kept)
        t->found.predicted_ns *= 1 - out->result.gain;
    const qdq_search_event e = {.phase = phase,
                                .move = move,
                                .unit = SIZE_MAX,
                                .n_units = t->problem.n_units,
                                .incumbent = incumbent,
                                .candidate = candidate,
                                .result = out->failed ? NULL : &out->result,
                                .kept = out->kept,
                                .saved = 1 - t->found.predicted_ns / t->problem.base_ns};
    return event(t, &e, err);
}
