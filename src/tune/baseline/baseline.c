/* baseline.c - models with Q/DQ that were given: what of them is the same network, their files, and
 * what they are measured to be before the search. What the final validation makes of them is in
 * final_baseline.c. */
#include "tune/baseline/baseline.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <xxhash.h>

#include "base/fail.h"
#include "quant/data/data_source.h"
#include "quant/plan/fingerprint.h"
#include "tune/accuracy/accuracy.h"
#include "tune/candidate/tune_files.h"
#include "tune/candidate/tune_models.h"
#include "tune/candidate/tune_names.h"
#include "tune/candidate/tune_plans.h"
#include "tune/space/space_edges.h"
#include "tune/space/space_formats.h"
#include "tune/state/strategy.h"
#include "tune/state/tune_budget.h"
#include "tune/state/tune_presets.h"
#include "tune/state/tune_progress.h"
#include "tune/trial/tune_trials.h"
#include "tune/trial/tune_verify.h"

/* --- the same network? ------------------------------------------------------------------------ */

typedef bool io_fn(const qdq_model *m, size_t i, qdq_io *out);

static bool has_io(const qdq_model *m, io_fn *get, size_t n, const char *name)
{
    qdq_io io;

    for (size_t i = 0; i < n; i++)
        if (get(m, i, &io) && strcmp(io.name, name) == 0)
            return true;
    return false;
}

/* Whoever runs one of both with its inputs can run the other one so, and gets the same outputs.
 * `strict`: open dims, too, are alike. */
static bool is_same_io(const qdq_io *a, const qdq_io *b, bool strict)
{
    if (a->elem != b->elem || (a->rank != b->rank && a->rank >= 0 && b->rank >= 0))
        return false;
    for (int d = 0; d < a->rank && d < b->rank; d++)
        if (a->dim[d] != b->dim[d] && (strict || (a->dim[d] >= 0 && b->dim[d] >= 0)))
            return false;
    return true;
}

/* What an output is called is a promise, what inference finds of its shape is none. */
static qdq_status compare_io(const qdq_model *m, const qdq_model *other, bool inputs,
                             char why[QDQ_BASELINE_WHY], qdq_arena *scratch, qdq_error *err)
{
    io_fn *get = inputs ? qdq_model_input : qdq_model_output;
    const size_t n = inputs ? qdq_model_input_count(m) : qdq_model_output_count(m),
                 n_other = inputs ? qdq_model_input_count(other) : qdq_model_output_count(other);
    const char *what = inputs ? "input" : "output";
    qdq_io a, b;

    if (n != n_other)
        return qdq_fail(err, QDQ_E_FORMAT,
                        "found %zu %ss, the model has %zu: expected the same network", n_other,
                        what, n);
    for (size_t i = 0; i < n; i++) {
        if (!get(m, i, &a) || !get(other, i, &b))
            continue;
        if (!has_io(m, get, n, b.name))
            return qdq_fail(
                err, QDQ_E_FORMAT,
                "found %s '%s', which the model does not have: expected the same network", what,
                b.name);
        if (why[0] != '\0')
            continue;
        if (strcmp(a.name, b.name) != 0)
            snprintf(why, QDQ_BASELINE_WHY, "its %ss stand in another order", what);
        else if (!is_same_io(&a, &b, inputs))
            snprintf(why, QDQ_BASELINE_WHY, "its %s '%.60s' is %.60s, the model's is %.60s", what,
                     b.name, qdq_io_text(&b, scratch), qdq_io_text(&a, scratch));
    }
    return QDQ_OK;
}

/* Why a model can be no more than a placement; "": it may ship. */
static qdq_status find_difference(qdq_tune_state *t, qdq_baseline *b, const qdq_model *stripped,
                                  char why[QDQ_BASELINE_WHY], qdq_error *err)
{
    char other_weights[QDQ_BASELINE_WHY] = "";

    QDQ_TRY(compare_io(t->task.m, b->model, true, why, &t->arena, err));
    QDQ_TRY(compare_io(t->task.m, b->model, false, why, &t->arena, err));
    if (why[0] == '\0' && t->task.nothing->half.direct_io)
        snprintf(why, QDQ_BASELINE_WHY, "what ships has inputs and outputs of another type");
    QDQ_TRY(qdq_baseline_compare_weights(t->task.m, t->task.clean, stripped, b->plan, other_weights,
                                         err));
    b->same_weights = other_weights[0] == '\0';
    if (why[0] == '\0')
        snprintf(why, QDQ_BASELINE_WHY, "%s", other_weights);
    return QDQ_OK;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* The file that the model was loaded from, if it is the model and nothing else: not edited since,
 * without external data. */
static qdq_status find_file(const qdq_model *m, const char *content, const qdq_mapping **out,
                            qdq_arena *arena, qdq_error *err)
{
    qdq_model *again = NULL;
    const char *of_file;

    *out = NULL;
    if (m->had_external || m->mappings.n != 1 || qdq_mapping_path(m->mappings.at[0]) == NULL)
        return QDQ_OK;
    const qdq_mapping *file = m->mappings.at[0];
    qdq_status st = qdq_model_load_bytes(qdq_mapping_data(file), qdq_mapping_size(file), "", NULL,
                                         &again, NULL);
    if (st == QDQ_OK)
        st = qdq_model_fingerprint(again, NULL, arena, &of_file, err);
    else if (st != QDQ_E_NOMEM) /* it is text, or a part of something */
        return QDQ_OK;
    qdq_model_free(again);
    if (st == QDQ_OK && strcmp(of_file, content) == 0)
        *out = file;
    return st == QDQ_E_NOMEM ? qdq_nomem(err) : st;
}

/* Counts what import cannot say, and nothing else. */
static void count_unsaid(void *ctx, qdq_log_level level, const char *text)
{
    (void)text;
    ((qdq_baseline *)ctx)->result->not_expressed.other += level == QDQ_LOG_WARNING;
}

static qdq_status import_baseline(qdq_tune_state *t, qdq_baseline *b, qdq_model **stripped,
                                  qdq_error *err)
{
    qdq_import_opts o = QDQ_IMPORT_OPTS_INIT;
    qdq_job job = QDQ_JOB_INIT;
    size_t gone;

    job.ctx = b;
    job.log = count_unsaid;
    o.job = &job;
    QDQ_TRY(qdq_plan_import(b->model, &o, &b->plan, stripped, err));
    qdq_status st = qdq_baseline_rename(b->plan, *stripped, t->task.clean, &b->placed, &gone, err);
    if (st == QDQ_OK)
        b->result->not_expressed.removed = (unsigned)gone;
    if (st == QDQ_OK)
        st = qdq_space_add_formats(t->task.space, b->placed, err);
    if (st == QDQ_OK)
        st = qdq_space_from_plan(t->task.space, b->placed, &b->placement, &t->arena, err);
    if (st == QDQ_OK)
        return QDQ_OK;
    qdq_model_free(*stripped);
    *stripped = NULL;
    return st;
}

/* A candidate of its content; and the file that is measured and ships. */
static qdq_status name_candidate(qdq_tune_state *t, qdq_baseline *b, qdq_error *err)
{
    const char *content;
    char name[33];

    QDQ_TRY(qdq_model_fingerprint(b->model, NULL, &t->arena, &content, err));
    snprintf(name, sizeof name, "file-%.27s", content);
    QDQ_TRY(qdq_tune_candidate_named(t, name, &b->candidate, err));
    return find_file(b->model, content, &b->file, &t->arena, err);
}

/* One that was given before with the same content has its samples, too. */
static void note_equal(const qdq_tune_state *t, qdq_baseline *b)
{
    for (const qdq_baseline *other = t->parts.baselines; other < b; other++)
        if (other->candidate == b->candidate) {
            snprintf(b->why, sizeof b->why, "it is the same model as %.200s", other->result->name);
            qdq_job_log(t->job, QDQ_LOG_WARNING, "%s: %s", b->result->name, b->why);
            return;
        }
}

static qdq_status read_one(qdq_tune_state *t, qdq_baseline *b, qdq_error *err)
{
    qdq_model *stripped = NULL;
    char why[QDQ_BASELINE_WHY] = "";

    QDQ_TRY(import_baseline(t, b, &stripped, err));
    qdq_status st = find_difference(t, b, stripped, why, err);
    qdq_model_free(stripped);
    QDQ_TRY(st);
    if (b->plan->tensors.n + b->plan->weights.n + b->result->not_expressed.other == 0)
        return qdq_fail(err, QDQ_E_FORMAT, "found no Q/DQ in it");
    if (why[0] != '\0' && qdq_assign_count(&b->placement) == 0)
        return qdq_fail(err, QDQ_E_FORMAT,
                        "found another model (%.200s) with Q/DQ nowhere that this one could: "
                        "expected the same network",
                        why);
    QDQ_TRY(name_candidate(t, b, err));
    note_equal(t, b);
    b->may_ship = why[0] == '\0';
    if (b->may_ship)
        return QDQ_OK;
    b->result->outcome = QDQ_BASELINE_PLACEMENT;
    snprintf(b->why, sizeof b->why, "%s", why);
    qdq_job_log(t->job, QDQ_LOG_WARNING, "%s is used as a placement only: %s", b->result->name,
                why);
    return QDQ_OK;
}

qdq_status qdq_baselines_read(qdq_tune_state *t, qdq_error *err)
{
    const qdq_model *const *given = t->opts->qdq_baselines;
    size_t n = 0;

    while (given != NULL && given[n] != NULL)
        n++;
    t->parts.baselines = qdq_arena_array(&t->arena, n + 1, sizeof *t->parts.baselines);
    t->out->baselines = qdq_arena_array(&t->arena, n + 1, sizeof *t->out->baselines);
    QDQ_NEED(t->parts.baselines != NULL && t->out->baselines != NULL, err);
    for (size_t i = 0; i < n; i++) {
        qdq_baseline *b = &t->parts.baselines[i];
        qdq_tune_baseline *result = &t->out->baselines[i];

        *b = (qdq_baseline){.model = given[i], .result = result};
        *result = (qdq_tune_baseline){.name = given[i]->path,
                                      .outcome = QDQ_BASELINE_UNKNOWN,
                                      .why = b->why,
                                      .ms = NAN,
                                      .speedup = NAN,
                                      .ci_low = NAN,
                                      .ci_high = NAN,
                                      .sqnr_db = NAN,
                                      .accuracy = NAN,
                                      .agreement_db = NAN};
        if (given[i]->path[0] == '\0')
            result->name = qdq_arena_printf(&t->arena, "baseline %zu", i + 1);
        QDQ_NEED(result->name != NULL, err);
        t->parts.n_baselines = t->out->n_baselines = i + 1;
        qdq_status st = read_one(t, b, err);
        if (st != QDQ_OK)
            return qdq_within(err, st, "Q/DQ %s%s", given[i]->path[0] != '\0' ? "baseline " : "",
                              result->name);
    }
    return QDQ_OK;
}

void qdq_baselines_free(qdq_tune_state *t)
{
    for (size_t i = 0; i < t->parts.n_baselines; i++) {
        qdq_plan_free(t->parts.baselines[i].placed);
        qdq_plan_free(t->parts.baselines[i].plan);
    }
}

const char *qdq_baselines_text(qdq_tune_state *t)
{
    char digits[33];
    XXH128_hash_t h = XXH3_128bits("", 0);

    if (t->parts.n_baselines == 0)
        return "";
    for (size_t i = 0; i < t->parts.n_baselines; i++) {
        const char *name = t->parts.baselines[i].candidate->name;
        h = XXH3_128bits_withSeed(name, strlen(name), h.low64 ^ h.high64);
    }
    qdq_assign_hash_text((qdq_assign_hash){h.low64, h.high64}, digits);
    return qdq_arena_printf(&t->arena, "%zu:%.8s", t->parts.n_baselines, digits);
}

/* --- measuring -------------------------------------------------------------------------------- */

static void rule_out(qdq_tune_state *t, qdq_baseline *b, qdq_baseline_outcome outcome,
                     const char *why)
{
    b->may_ship = false;
    b->result->outcome = outcome;
    snprintf(b->why, sizeof b->why, "%.290s", why);
    qdq_job_log(t->job, QDQ_LOG_WARNING, "%s is ruled out: %s", b->result->name, b->why);
}

/* The figures are told in any case; only a goal rules out. */
static qdq_status evaluate_baseline(qdq_tune_state *t, qdq_baseline *b, bool *cut, qdq_error *err)
{
    qdq_tune_evaluation *h = &b->evaluation;
    char why[300];
    bool known;

    QDQ_TRY(qdq_tune_evaluate_model(t, b->model, b->candidate->name, h, &known, err));
    *cut = !known;
    if (!known)
        return QDQ_OK;
    b->result->sqnr_db = h->sqnr_db;
    b->result->accuracy = h->accuracy;
    if (!qdq_tune_has_goal(t) || qdq_tune_holds(t, h) || !b->may_ship)
        return QDQ_OK; /* that the engine computes it wrongly is the reason then */
    qdq_tune_miss_text(t, h, "outputs", "accuracy", why, sizeof why);
    rule_out(t, b, QDQ_BASELINE_MISSES, why);
    return QDQ_OK;
}

static qdq_status verify_baseline(qdq_tune_state *t, qdq_baseline *b, bool *cut, qdq_error *err)
{
    QDQ_TRY(qdq_tune_verify_model(t, b->model, b->candidate->name, &b->computed, cut, err));
    b->result->agreement_db = *cut ? (double)NAN : b->computed.sqnr_db;
    if (!*cut && b->computed.verdict == QDQ_VERIFY_WRONG)
        rule_out(t, b, QDQ_BASELINE_WRONG, b->computed.why);
    return QDQ_OK;
}

/* What misses the goal is timed, too, so that the report has it. */
static qdq_status time_it(qdq_tune_state *t, qdq_baseline *b, qdq_test_result *r, bool *ok,
                          qdq_error *err)
{
    qdq_test_opts test = t->run.test;
    bool failed;

    test.floor_sd = t->run.aa_test.aa_sd;
    test.least_ns = t->run.noisy ? test.least_ns : 0;
    t->run.in_front = true;
    qdq_status st = qdq_tune_compare(t, t->run.base, b->candidate, 0, &test, r, &failed, err);
    t->run.in_front = false;
    *ok = st == QDQ_OK && !failed;
    if (st == QDQ_E_GOAL) /* no time */
        return QDQ_OK;
    QDQ_TRY(st);
    if (failed)
        rule_out(t, b, QDQ_BASELINE_FAILED, b->candidate->why);
    else
        qdq_job_log(t->job, QDQ_LOG_INFO, "%s: gain %.2f %% (%.2f to %.2f, %u pairs)",
                    b->result->name, r->gain * 100, r->ci_low * 100, r->ci_high * 100, r->pairs);
    return QDQ_OK;
}

static qdq_status write_file(qdq_tune_state *t, qdq_baseline *b, qdq_error *err)
{
    const char *path = qdq_arena_printf(&t->arena, "%s/%s.onnx", qdq_tempdir_path(t->tools.work),
                                        b->candidate->name);

    QDQ_NEED(path != NULL, err);
    b->candidate->file = path;
    return qdq_tune_write_file(t, b->model, b->file, path, err);
}

/* The best so far is model.onnx, also for whoever ends the run now. */
static qdq_status take_lead(qdq_tune_state *t, const qdq_baseline *b, qdq_error *err)
{
    const qdq_test_result *r = &b->of_search;

    if (r->ci_low <= 0 || r->gain <= t->run.lead)
        return QDQ_OK;
    t->run.lead = r->gain;
    t->run.unwritten = true; /* what the search has */
    return t->out->resumed && !t->run.measured
               ? QDQ_OK
               : qdq_tune_write_model(t, b->model, b->file, b->plan, err);
}

/* It does not ship; of one that is not ruled out it is said why. */
static void leave_unknown(qdq_baseline *b, const char *what)
{
    b->may_ship = false;
    if (b->result->outcome == QDQ_BASELINE_UNKNOWN)
        snprintf(b->why, sizeof b->why, "time limit reached, expected time to %s it", what);
}

static qdq_status try_one(qdq_tune_state *t, qdq_baseline *b, qdq_error *err)
{
    const char *step = "measure";
    bool cut = qdq_tune_time_is_up(t);

    if (!b->may_ship)
        return QDQ_OK;
    if (!cut) {
        qdq_tune_show(t, "baseline");
        QDQ_TRY(qdq_job_poll(t->job, err));
        QDQ_TRY(write_file(t, b, err));
        QDQ_TRY(time_it(t, b, &b->of_search, &b->searched, err));
        qdq_tune_drop(t, b->candidate);
        cut = !b->searched;
    }
    if (!cut) {
        step = "verify";
        QDQ_TRY(verify_baseline(t, b, &cut, err));
    }
    if (!cut) {
        step = "evaluate";
        QDQ_TRY(evaluate_baseline(t, b, &cut, err));
    }
    if (cut)
        leave_unknown(b, step);
    return b->may_ship ? take_lead(t, b, err) : QDQ_OK;
}

/* The placement edge by edge, and what is not in it. */
static qdq_status find_exact(qdq_tune_state *t, qdq_baseline *b, qdq_error *err)
{
    const qdq_tune_not_expressed known = b->result->not_expressed;
    const qdq_space_scaling from = qdq_tune_scaling(t);
    qdq_plan *expressed;

    QDQ_TRY(qdq_space_express(t->task.space, b->placed, &from, &t->arena, &b->exact, err));
    QDQ_TRY(qdq_tune_plan_of(t, &b->exact, &expressed, err));
    qdq_status st =
        qdq_plans_differ(t->task.space, b->placed, expressed, &b->result->not_expressed, err);
    qdq_plan_free(expressed);
    b->result->not_expressed.removed = known.removed;
    b->result->not_expressed.other = known.other;
    return st;
}

/* One that may ship as it is takes no build that single edges could have. */
static bool has_budget(const qdq_tune_state *t, const qdq_baseline *b)
{
    return qdq_tune_has_builds(t, b->may_ship ? QDQ_STAGE_SEARCH : QDQ_STAGE_EDGES, 1) &&
           !t->run.found.ended_early;
}

static bool uses_formats(const qdq_baseline *b)
{
    return b->may_ship || (b->same_weights && b->result->outcome == QDQ_BASELINE_PLACEMENT);
}

qdq_status qdq_baselines_try_exact(qdq_tune_state *t, qdq_error *err)
{
    qdq_tune_candidate *c;
    qdq_tune_tried r;

    for (size_t i = 0; i < t->parts.n_baselines && t->parts.filter.n == 0; i++) {
        const qdq_baseline *b = &t->parts.baselines[i];
        if (!has_budget(t, b))
            continue;
        if (!uses_formats(b)) /* another network's scales, or such as miss the goal */
            qdq_space_use_formats(t->task.space, &t->parts.baselines[i].exact, b->placed, false);
        QDQ_TRY(qdq_tune_candidate_of(t, &b->exact, &c, err));
        if (c != t->run.base && !c->tried)
            QDQ_TRY(qdq_tune_try_for_best(t, QDQ_PHASE_EXCEPTIONS, "imported, edge by edge",
                                          &b->exact, &r, err));
    }
    return QDQ_OK;
}

qdq_status qdq_baselines_try(qdq_tune_state *t, qdq_error *err)
{
    for (size_t i = 0; i < t->parts.n_baselines; i++) {
        QDQ_TRY(find_exact(t, &t->parts.baselines[i], err));
        QDQ_TRY(try_one(t, &t->parts.baselines[i], err));
    }
    return QDQ_OK;
}
