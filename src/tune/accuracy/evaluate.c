/* evaluate.c - what candidates do to the outputs, on all evaluation samples: asked before anything
 * is built, once for each, and remembered in the store. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "base/clock.h"
#include "base/fail.h"
#include "base/json_write.h"
#include "quant/compare/deciders.h"
#include "quant/data/data_source.h"
#include "tune/accuracy/accuracy.h"
#include "tune/candidate/tune_plans.h"
#include "tune/space/space_forms.h"
#include "tune/state/tune_budget.h"
#include "tune/state/tune_presets.h"
#include "tune/state/tune_progress.h"
#include "tune/state/tune_values.h"

enum { SHOWN_FOLDS = 4 };

enum { MAX_EVALUATIONS = 16 }; /* as quantize has it */

/* --- which samples ---------------------------------------------------------------------------- */

static qdq_status hash_sample(qdq_data *d, size_t i, XXH128_hash_t *h, qdq_error *err)
{
    const qdq_named_array *in;
    size_t n, n_labels;
    const int64_t *labels = qdq_data_labels(d, i, &n_labels);

    if (labels != NULL)
        *h = XXH3_128bits_withSeed(labels, n_labels * sizeof *labels, h->low64 ^ h->high64);
    for (size_t step = 0; step < qdq_data_steps(d); step++) {
        QDQ_TRY(qdq_data_get_step(d, i, step, &in, &n, err));
        for (size_t k = 0; k < n; k++)
            *h = XXH3_128bits_withSeed(in[k].array.data, in[k].array.bytes, h->low64 ^ h->high64);
    }
    return QDQ_OK;
}

static qdq_status hash_states(const qdq_data *d, XXH128_hash_t *h, qdq_error *err)
{
    qdq_arena scratch = QDQ_ARENA_INIT;
    const char *text = qdq_data_states_text(d, &scratch);

    if (text != NULL && text[0] != '\0')
        *h = XXH3_128bits_withSeed(text, strlen(text), h->low64 ^ h->high64);
    qdq_arena_free(&scratch);
    return qdq_allocated(text != NULL, err);
}

/* n samples from `first` on, and `how` they are used, in a few digits; of many, this many of them:
 * to read all images takes its time. */
static qdq_status name_some(qdq_data *d, size_t first, size_t n, size_t some, unsigned how,
                            char name[33], qdq_error *err)
{
    const uint64_t range[] = {qdq_data_count(d), first, n, how};
    XXH128_hash_t h = XXH3_128bits(range, sizeof range);

    for (size_t k = 1; k < SHOWN_FOLDS; k++) { /* where groups or files put the edges of folds */
        const size_t edge = qdq_data_fold_first(d, k, SHOWN_FOLDS, qdq_data_count(d)),
                     usual = qdq_data_fold_first(NULL, k, SHOWN_FOLDS, qdq_data_count(d));
        if (edge != usual)
            h = XXH3_128bits_withSeed(&edge, sizeof edge, h.low64 ^ h.high64 ^ k);
    }
    QDQ_TRY(hash_states(d, &h, err));
    for (size_t i = 0; i < some && i < n; i++)
        QDQ_TRY(hash_sample(d, first + i * n / (n < some ? n : some), &h, err));
    qdq_assign_hash_text((qdq_assign_hash){h.low64, h.high64}, name);
    return QDQ_OK;
}

/* Others find other things. */
static qdq_status name_samples(qdq_tune_state *t, qdq_error *err)
{
    enum { SOME = 16 };
    qdq_compare_opts o;
    qdq_data *d;

    if (t->tools.samples_name[0] != '\0')
        return QDQ_OK;
    QDQ_TRY(qdq_tune_evaluation_data(t, &d, &o, err));
    const unsigned how = 2 * t->opts->goal->folds + t->opts->goal->by_default;
    return name_some(d, o.first, o.count > 0 ? o.count : qdq_data_count(d) - o.first, SOME, how,
                     t->tools.samples_name, err);
}

qdq_status qdq_tune_name_data(qdq_tune_state *t, const char **out, qdq_error *err)
{
    enum { MANY = 256 };
    char calibrate[33] = "random", evaluated[33] = "same";
    qdq_data *eval = t->opts->goal->eval;

    if (t->task.data != NULL && !qdq_data_is_random(t->task.data))
        QDQ_TRY(name_some(t->task.data, 0, qdq_data_count(t->task.data), MANY, t->opts->goal->folds,
                          calibrate, err));
    if (eval != NULL && eval != t->task.data)
        QDQ_TRY(name_some(eval, 0, qdq_data_count(eval), MANY, 0, evaluated, err));
    const char *states = t->task.data != NULL ? qdq_data_states_text(t->task.data, &t->arena) : "";
    QDQ_NEED(states != NULL, err);
    *out = qdq_arena_printf(&t->arena, "calibration=%s evaluation=%s%s%s", calibrate, evaluated,
                            states[0] != '\0' ? " " : "", states);
    return qdq_allocated(*out != NULL, err);
}

/* --- remembering ------------------------------------------------------------------------------ */

/* As text, since there are infinite ones. */
static void put_number(qdq_json_out o, const char *key, double x)
{
    char text[40];

    snprintf(text, sizeof text, "%.17g", x);
    qdq_json_put_text(o, key, text);
}

static bool get_number(const json_t *j, const char *key, double *x)
{
    const char *text = json_string_value(json_object_get(j, key));
    char *end = NULL;

    *x = text != NULL ? strtod(text, &end) : NAN;
    return text != NULL && end != text && *end == '\0';
}

static bool read_evaluation(const json_t *j, qdq_arena *arena, qdq_tune_evaluation *h)
{
    const char *worst = json_string_value(json_object_get(j, "worst")),
               *disagreeing = json_string_value(json_object_get(j, "disagreeing"));

    h->more.samples = (size_t)json_integer_value(json_object_get(j, "samples"));
    const char *why = json_string_value(json_object_get(j, "metric_why"));
    snprintf(h->metric.why, sizeof h->metric.why, "%s", why != NULL ? why : "");
    get_number(j, "metric", &h->metric.value); /* NAN where there was none */
    h->more.worst = worst != NULL ? qdq_arena_strdup(arena, worst) : NULL;
    h->disagreeing = disagreeing != NULL ? qdq_arena_strdup(arena, disagreeing) : NULL;
    return h->more.worst != NULL && h->disagreeing != NULL &&
           get_number(j, "goal_db", &h->goal_db) && get_number(j, "sqnr_db", &h->sqnr_db) &&
           get_number(j, "agreement", &h->agreement) && get_number(j, "accuracy", &h->accuracy) &&
           get_number(j, "given_accuracy", &h->given_accuracy) &&
           get_number(j, "bound_db", &h->more.bound_db) && get_number(j, "top1", &h->more.top1) &&
           get_number(j, "half_agreement", &h->more.half_agreement);
}

/* NULL: out of memory. */
static json_t *write_evaluation(const qdq_tune_evaluation *h)
{
    qdq_json_doc doc = {0};
    qdq_json_out o = qdq_json_object(&doc);

    put_number(o, "goal_db", h->goal_db);
    put_number(o, "sqnr_db", h->sqnr_db);
    qdq_json_put_text(o, "disagreeing", h->disagreeing);
    put_number(o, "agreement", h->agreement);
    put_number(o, "accuracy", h->accuracy);
    put_number(o, "given_accuracy", h->given_accuracy);
    put_number(o, "bound_db", h->more.bound_db);
    put_number(o, "top1", h->more.top1);
    put_number(o, "half_agreement", h->more.half_agreement);
    put_number(o, "metric", h->metric.value);
    qdq_json_put_text(o, "metric_why", h->metric.why);
    qdq_json_put_text(o, "worst", h->more.worst);
    qdq_json_put_size(o, "samples", h->more.samples);
    return qdq_json_take(&doc);
}

/* --- evaluating ------------------------------------------------------------------------------- */

/* What does not run is as far from the input model as can be. *known: false where there was no time
 * for it. */
static qdq_status evaluate_now(qdq_tune_state *t, qdq_plan *p, const qdq_model *m, const char *key,
                               qdq_tune_evaluation *out, bool *known, qdq_error *err)
{
    const double start = qdq_clock_seconds();
    qdq_error why = QDQ_ERROR_INIT;
    bool cut;

    qdq_tune_show(t, "evaluating");
    QDQ_TRY(qdq_job_poll(t->job, err));
    qdq_tune_begin_timed(t);
    qdq_status st = p != NULL ? qdq_tune_compare_plan(t, p, out, &why)
                              : qdq_tune_compare_model(t, m, out, &why);
    st = qdq_tune_end_timed(t, st, &cut);
    *known = !cut;
    if (cut) {
        *out = (qdq_tune_evaluation){.goal_db = NAN, .sqnr_db = NAN, .disagreeing = ""};
        return QDQ_OK;
    }
    t->run.evaluation_s = fmax(t->run.evaluation_s, qdq_clock_seconds() - start);
    if (st != QDQ_OK && (st != QDQ_E_ENGINE || qdq_tune_caller_failed(t)))
        return qdq_fail(err, st, "%s", why.text);
    if (st == QDQ_E_ENGINE) {
        qdq_job_log(t->job, QDQ_LOG_WARNING, "a candidate is not evaluated, and refused: %s",
                    why.text);
        *out = (qdq_tune_evaluation){.goal_db = -INFINITY,
                                     .sqnr_db = -INFINITY,
                                     .disagreeing = "",
                                     .agreement = NAN,
                                     .accuracy = NAN,
                                     .given_accuracy = NAN,
                                     .more = {"", 0, NAN, NAN, NAN},
                                     .metric = {.value = NAN, .why = "not measured"}};
    }
    return qdq_tune_remember(t, key, write_evaluation(out), err);
}

/* Of a plan, or of a model. */
static qdq_status evaluate_named(qdq_tune_state *t, qdq_plan *p, const qdq_model *m,
                                 const char *name, qdq_tune_evaluation *out, bool *known,
                                 qdq_error *err)
{
    json_t *j;

    QDQ_TRY(name_samples(t, err));
    const qdq_metric *metric = t->opts->goal->metric;
    const double agreement = t->opts->goal->min_agreement;
    const char *rows =
        agreement > 0 ? qdq_arena_printf(&t->arena, " for agreement %.17g", agreement) : "";
    const char *key =
        qdq_arena_printf(&t->arena, "evaluated %s on %s%s%s%s", name, t->tools.samples_name,
                         metric != NULL ? " by " : "",
                         metric != NULL ? qdq_metric_name(metric) : "", rows != NULL ? rows : "");
    QDQ_NEED(key != NULL && rows != NULL, err);
    QDQ_TRY(qdq_tune_recall(t, key, &j, err));
    const bool found =
        j != NULL && read_evaluation(j, &t->arena, out) && qdq_tune_knows_metric(t, out);
    json_decref(j);
    *known = found;
    return found ? QDQ_OK : evaluate_now(t, p, m, key, out, known, err);
}

qdq_status qdq_tune_evaluate_plan(qdq_tune_state *t, qdq_plan *p, qdq_tune_evaluation *out,
                                  bool *known, qdq_error *err)
{
    char name[33];

    QDQ_TRY(qdq_tune_name_plan(p, name, err));
    return evaluate_named(t, p, NULL, name, out, known, err);
}

qdq_status qdq_tune_evaluate_model(qdq_tune_state *t, const qdq_model *m, const char *name,
                                   qdq_tune_evaluation *out, bool *known, qdq_error *err)
{
    return evaluate_named(t, NULL, m, name, out, known, err);
}

/* Without edges and other choices that an assignment may have. */
static size_t count_decisions(const qdq_tune_state *t, const qdq_assign *a)
{
    size_t n = 0;

    for (size_t i = 0; i < t->task.space->n_groups; i++)
        n += qdq_assign_get(a, i);
    return n;
}

static void tell_evaluation(const qdq_tune_state *t, const qdq_tune_candidate *c)
{
    const qdq_tune_evaluation *h = &c->evaluation;

    char accuracy[40] = "", bound[40] = "", form[80] = "";

    if (!isnan(h->metric.value))
        snprintf(accuracy, sizeof accuracy, ", metric %.6g", h->metric.value);
    else if (!isnan(h->accuracy))
        snprintf(accuracy, sizeof accuracy, ", accuracy %.4f", h->accuracy);
    if (!isnan(h->more.bound_db))
        snprintf(bound, sizeof bound, " (lower bound %.2f)", h->goal_db);
    const size_t at_run_time = qdq_space_count_forms(t->task.space, &c->assign, true),
                 others = qdq_space_count_forms(t->task.space, &c->assign, false);
    if (at_run_time > 0)
        snprintf(form, sizeof form, ", data of %zu at run time", at_run_time);
    else if (others > 0)
        snprintf(form, sizeof form, ", %zu in other formats", others);
    qdq_job_log(
        t->job, QDQ_LOG_INFO, "evaluated, %zu of %zu decisions in 8 bits%s: SQNR %.2f dB%s%s",
        count_decisions(t, &c->assign), t->task.space->n_groups, form, h->sqnr_db, bound, accuracy);
}

/* `usual`: how many there may be where the user sets no limit; 0: any number. */
static bool are_used_up(const qdq_tune_state *t, unsigned usual)
{
    const unsigned given = t->opts->goal->max_evaluations, most = given > 0 ? given : usual;

    return t->run.bounded && most > 0 && t->run.evaluations >= most;
}

static qdq_status evaluate_candidate(qdq_tune_state *t, qdq_tune_candidate *c, unsigned usual,
                                     bool *known, qdq_error *err)
{
    qdq_plan *p;

    *known = c->evaluated;
    if (c->evaluated || are_used_up(t, usual))
        return QDQ_OK;
    t->run.evaluations++;
    QDQ_TRY(qdq_tune_plan_of(t, &c->assign, &p, err));
    qdq_status st = qdq_tune_evaluate_plan(t, p, &c->evaluation, known, err);
    qdq_plan_free(p);
    QDQ_TRY(st);
    c->evaluated = *known;
    if (!*known)
        return QDQ_OK;
    if (c != t->run.base)
        /* NAN is no number to fmax() */
        t->run.least_noisy_db = fmax(t->run.least_noisy_db, c->evaluation.goal_db);
    tell_evaluation(t, c);
    return QDQ_OK;
}

qdq_status qdq_tune_evaluate_candidate(qdq_tune_state *t, qdq_tune_candidate *c, bool *known,
                                       qdq_error *err)
{
    return evaluate_candidate(t, c, MAX_EVALUATIONS, known, err);
}

qdq_status qdq_tune_evaluate_after_search(qdq_tune_state *t, qdq_tune_candidate *c, bool *known,
                                          qdq_error *err)
{
    return evaluate_candidate(t, c, 0, known, err);
}

void qdq_tune_compare_with_goal(qdq_tune_state *t, qdq_tune_candidate *c, bool known)
{
    const qdq_tune_evaluation *h = &c->evaluation;

    if (known && qdq_tune_holds(t, h))
        return;
    c->failed = c->misses = true;
    if (!known && qdq_tune_time_is_up(t))
        snprintf(c->why, sizeof c->why, "accuracy: not asked: the time of the search is used up");
    else if (!known)
        snprintf(c->why, sizeof c->why, "accuracy: not asked: %u evaluations are used up",
                 t->run.evaluations);
    else
        qdq_tune_miss_text(t, h, "outputs", "accuracy:", c->why, sizeof c->why);
}

qdq_status qdq_tune_require_goal(qdq_tune_state *t, qdq_tune_candidate *c, qdq_error *err)
{
    bool known;

    if (!(t->run.bounded || (t->run.follows && qdq_tune_has_goal(t))) || c == t->run.base ||
        c->failed)
        return QDQ_OK;
    QDQ_TRY(qdq_tune_evaluate_candidate(t, c, &known, err));
    qdq_tune_compare_with_goal(t, c, known);
    return QDQ_OK;
}

qdq_status qdq_tune_find_followers(qdq_tune_state *t, qdq_error *err)
{
    qdq_deciders d;

    /* it was told before what shapes contradict */
    qdq_status st = qdq_deciders_find(t->task.m, NULL, &d, err);
    for (size_t i = 0; st == QDQ_OK && i < qdq_model_output_count(t->task.m); i++)
        t->run.follows = t->run.follows || d.follows[i];
    qdq_deciders_free(&d);
    return st;
}
