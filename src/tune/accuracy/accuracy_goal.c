/* accuracy_goal.c - a goal in accuracy: what is shipped may be no more points below the given model
 * than the user allows, and no output may have less SQNR. Where candidates were asked on a few
 * samples only, what would be shipped is asked on all evaluation samples. What minimum cuts propose
 * under a goal was asked on all before: evaluate.c. */
#include <math.h>
#include <stdio.h>

#include "base/fail.h"
#include "quant/calib/sweep.h"
#include "quant/goal/goal_outputs.h"
#include "tune/accuracy/accuracy.h"
#include "tune/candidate/tune_plans.h"
#include "tune/state/tune_presets.h"
#include "tune/state/tune_progress.h"

/* --- evaluation samples ----------------------------------------------------------------------- */

qdq_status qdq_tune_evaluation_data(qdq_tune_state *t, qdq_data **out, qdq_compare_opts *o,
                                    qdq_error *err)
{
    const qdq_goal_opts *goal = t->opts->goal;
    qdq_data_opts random = QDQ_DATA_OPTS_INIT;
    char spec[40];

    *o = (qdq_compare_opts)QDQ_COMPARE_OPTS_INIT;
    o->threads = t->task.quantize.threads;
    o->shapes = random.shapes = t->task.quantize.shapes;
    o->n_shapes = random.n_shapes = t->task.quantize.n_shapes;
    o->first = goal->first;
    o->count = goal->count;
    o->job = &t->tools.timed;
    o->scores = goal->min_agreement > 0;
    *out = goal->eval != NULL ? goal->eval : t->task.data;
    if (*out != NULL)
        return QDQ_OK;
    o->first = o->count = 0;
    snprintf(spec, sizeof spec, "random:%llu", (unsigned long long)t->opts->seed);
    if (t->task.random == NULL)
        QDQ_TRY(qdq_data_open(spec, t->task.m, &random, &t->task.random, err));
    *out = t->task.random;
    return QDQ_OK;
}

/* One sample tells whether there is an accuracy. */
static qdq_status compare_first_sample(qdq_tune_state *t, qdq_compare_result **out, qdq_error *err)
{
    qdq_compare_opts o;
    qdq_data *data;

    QDQ_TRY(qdq_tune_evaluation_data(t, &data, &o, err));
    o.count = 1;
    return qdq_compare(t->tools.engine, t->task.m, t->task.m, data, &o, out, err);
}

static qdq_status make_candidate(void *files, const qdq_plan *p, qdq_model **out, qdq_error *err)
{
    return qdq_candidate_model(files, p, out, err);
}

/* Each fold by scales that did not see it. */
static qdq_status add_folds(qdq_tune_state *t, qdq_plan *p, qdq_comparing *c, qdq_error *err)
{
    const size_t n =
        qdq_sweep_count(&(qdq_quantizing){.data = t->task.data, .opts = &t->task.quantize});

    for (unsigned k = 0; k < p->n_folds; k++)
        QDQ_TRY(qdq_goal_add_fold(c, p, k, n, make_candidate, t->tools.files, err));
    return QDQ_OK;
}

/* With the given one, on all evaluation samples: a model, or that of a plan. */
static qdq_status compare_models(qdq_tune_state *t, const qdq_model *m, qdq_plan *p,
                                 qdq_compare_result **out, qdq_error *err)
{
    const uint64_t usual = (uint64_t)256 << 20; /* as of activations in calibration */
    qdq_comparing *c = NULL;
    qdq_compare_opts o;
    qdq_data *data;

    QDQ_TRY(qdq_tune_evaluation_data(t, &data, &o, err));
    if (t->tools.reference_outputs.limit == 0)
        t->tools.reference_outputs.limit =
            t->task.quantize.memory != 0 ? t->task.quantize.memory : usual;
    const qdq_comparison of = {t->tools.engine, t->task.m, data, &o, &t->tools.reference_outputs};
    if (m != NULL)
        return qdq_compare_keeping(&of, m, out, err);
    QDQ_TRY(qdq_comparing_begin(&of, &c, err));
    qdq_status st = add_folds(t, p, c, err);
    if (st == QDQ_OK)
        st = qdq_comparing_get(c, out, err);
    qdq_comparing_free(c);
    return st;
}

static qdq_status read_result(qdq_tune_state *t, const qdq_compare_result *r,
                              qdq_tune_evaluation *out, qdq_error *err)
{
    const qdq_goal_outputs o = qdq_goal_read_outputs(t->task.clean, r, t->opts->goal);
    const qdq_compare_tensor *worst = o.worst != NULL ? o.worst : &r->outputs[r->worst];
    char place[80];

    *out = (qdq_tune_evaluation){.goal_db = o.db,
                                 .sqnr_db = o.measured_db,
                                 .disagreeing = "",
                                 .agreement = NAN,
                                 .accuracy = r->accuracy_b,
                                 .given_accuracy = r->accuracy_a,
                                 .more = {.samples = r->samples,
                                          .bound_db = r->bound_db,
                                          .top1 = NAN,
                                          .half_agreement = NAN},
                                 .metric = {.value = NAN}};
    out->more.worst = qdq_arena_printf(&t->arena, "output '%.60s'%s", worst->name,
                                       qdq_compare_place(worst, place, sizeof place));
    for (size_t i = 0; i < r->n_outputs; i++) {
        out->more.top1 = fmin(out->more.top1, r->outputs[i].top1);
        out->more.half_agreement = fmin(out->more.half_agreement, r->outputs[i].half_agreement);
    }
    if (o.disagreeing != NULL) {
        out->disagreeing = qdq_arena_strdup(&t->arena, o.disagreeing->name);
        out->agreement = o.agreement;
    }
    return qdq_allocated(out->more.worst != NULL && out->disagreeing != NULL, err);
}

static qdq_status measure_outputs(qdq_tune_state *t, const qdq_model *m, qdq_plan *p,
                                  qdq_tune_evaluation *out, qdq_error *err)
{
    qdq_compare_result *r = NULL;

    QDQ_TRY(compare_models(t, m, p, &r, err));
    qdq_status st = read_result(t, r, out, err);
    qdq_free(r);
    return st;
}

qdq_status qdq_tune_compare_model(qdq_tune_state *t, const qdq_model *m, qdq_tune_evaluation *out,
                                  qdq_error *err)
{
    QDQ_TRY(measure_outputs(t, m, NULL, out, err));
    return qdq_tune_measure_metric(t, m, out, err);
}

qdq_status qdq_tune_compare_plan(qdq_tune_state *t, qdq_plan *p, qdq_tune_evaluation *out,
                                 qdq_error *err)
{
    const bool in_folds = p->n_folds > 0;
    qdq_model *m = NULL;

    if (in_folds)
        QDQ_TRY(measure_outputs(t, NULL, p, out, err));
    if (in_folds && t->opts->goal->metric == NULL)
        return QDQ_OK;
    QDQ_TRY(qdq_candidate_model(t->tools.files, p, &m, err));
    qdq_status st =
        in_folds ? qdq_tune_measure_metric(t, m, out, err) : qdq_tune_compare_model(t, m, out, err);
    qdq_model_free(m);
    return st;
}

/* --- what is shipped -------------------------------------------------------------------------- */

/* By so much two shares of samples that are equal may differ. */
static const double rounding = 1e-9;

bool qdq_tune_outputs_hold(const qdq_goal_opts *g, const qdq_tune_evaluation *h)
{
    const bool agrees = h->disagreeing[0] == '\0' && h->goal_db != -(double)INFINITY;

    if (g->min_sqnr == 0)
        return g->min_agreement == 0 || agrees;
    return h->goal_db >= g->min_sqnr && agrees;
}

bool qdq_tune_holds(const qdq_tune_state *t, const qdq_tune_evaluation *h)
{
    const qdq_goal_opts *g = t->opts->goal;

    return qdq_tune_outputs_hold(g, h) &&
           (g->metric != NULL || g->max_drop < 0 ||
            h->given_accuracy - h->accuracy <= g->max_drop + rounding) &&
           qdq_tune_metric_holds(t, h, NULL, 0);
}

void qdq_tune_miss_text(const qdq_tune_state *t, const qdq_tune_evaluation *h, const char *outputs,
                        const char *accuracy, char *text, size_t size)
{
    const qdq_goal_opts *g = t->opts->goal;

    if (!qdq_tune_outputs_hold(g, h) && h->goal_db == -(double)INFINITY)
        snprintf(text, size, "%s: not finite, or of another shape", outputs);
    else if (!qdq_tune_outputs_hold(g, h) && (g->min_sqnr == 0 || h->goal_db >= g->min_sqnr))
        qdq_goal_rows_text(g, h->disagreeing, h->agreement, "the input's", text, size);
    else if (!qdq_tune_outputs_hold(g, h))
        snprintf(text, size,
                 "%s: SQNR %.2f dB%s on all evaluation samples, expected at least %g dB", outputs,
                 h->goal_db, isnan(h->more.bound_db) ? "" : " (lower bound)", g->min_sqnr);
    else if (qdq_tune_metric_holds(t, h, text, size))
        snprintf(text, size, "%s %.4f, %.2f points below that of the input, expected at most %g",
                 accuracy, h->accuracy, (h->given_accuracy - h->accuracy) * 100, g->max_drop * 100);
}

double qdq_tune_excess(const qdq_tune_state *t, const qdq_tune_evaluation *h)
{
    const double least = t->opts->goal->min_sqnr;

    return least != 0 ? pow(10, (least - h->goal_db) / 10) : NAN;
}

/* Of model.onnx, which the search ended with. */
static qdq_status evaluate_found(qdq_tune_state *t, qdq_tune_evaluation *out, bool *known,
                                 qdq_error *err)
{
    qdq_plan *p;

    QDQ_TRY(qdq_tune_plan_of(t, &t->run.found.best, &p, err));
    qdq_status st = qdq_tune_evaluate_plan(t, p, out, known, err);
    qdq_plan_free(p);
    return st;
}

/* Is there anything left to ask? Random samples were asked before. */
static bool is_open(const qdq_tune_state *t)
{
    const qdq_goal_opts *g = t->opts->goal;

    return qdq_tune_has_goal(t) && (g->max_drop >= 0 || g->metric != NULL || g->min_agreement > 0 ||
                                    t->task.data != NULL || g->eval != NULL);
}

qdq_status qdq_tune_keeps_accuracy(qdq_tune_state *t, qdq_plan *p, bool *keeps, qdq_error *err)
{
    qdq_tune_evaluation h;
    char text[300];
    bool known;

    *keeps = true;
    if (!is_open(t))
        return QDQ_OK;
    QDQ_TRY(p != NULL ? qdq_tune_evaluate_plan(t, p, &h, &known, err)
                      : evaluate_found(t, &h, &known, err));
    t->run.cut = t->run.cut || !known;
    *keeps = known && qdq_tune_holds(t, &h);
    if (!known)
        return QDQ_OK;
    t->outcome.shipped_db = h.sqnr_db;
    t->outcome.shipped_metric = h.metric.value;
    if (*keeps) {
        t->out->written = h.more;
        return QDQ_OK;
    }
    qdq_tune_miss_text(t, &h, h.more.worst, "accuracy", text, sizeof text);
    qdq_tune_log_miss(t, "%s%s", p == t->task.rules ? "the rules' plan: " : "", text);
    return QDQ_OK;
}

static qdq_status check_rows(qdq_tune_state *t, qdq_error *err)
{
    qdq_compare_result *r = NULL;

    QDQ_TRY(compare_first_sample(t, &r, err));
    qdq_status st = qdq_goal_need_rows(r, t->opts->goal, err);
    qdq_free(r);
    return st;
}

qdq_status qdq_tune_check_goal(qdq_tune_state *t, qdq_error *err)
{
    qdq_compare_result *r = NULL;

    if (t->opts->goal->metric != NULL)
        return qdq_tune_measure_input(t, err);
    if (t->opts->goal->min_agreement > 0)
        QDQ_TRY(check_rows(t, err));
    if (t->opts->goal->max_drop < 0)
        return QDQ_OK;
    if (t->task.data == NULL && t->opts->goal->eval == NULL)
        return qdq_fail(err, QDQ_E_USAGE,
                        "found a goal in accuracy without data, expected samples with labels");
    QDQ_TRY(compare_first_sample(t, &r, err));
    const bool labelled = !isnan(r->accuracy_a);
    qdq_free(r);
    if (!labelled)
        return qdq_fail(
            err, QDQ_E_USAGE,
            "found no accuracy, expected labels for an output with two classes or more");
    return QDQ_OK;
}
