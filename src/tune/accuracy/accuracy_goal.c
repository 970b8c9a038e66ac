/* accuracy_goal.c - a goal in accuracy: what is shipped may be no more points below the given model
 * than the user allows, and no output may have less SQNR. Where candidates were asked on a few
 * samples only, what would be shipped is asked on all that judge. What minimum cuts propose under a
 * goal was asked on all before: evaluate.c. */
#include <math.h>
#include <stdio.h>

#include "base/fail.h"
#include "tune/accuracy/accuracy.h"
#include "tune/candidate/tune_files.h"
#include "tune/state/tune_budget.h"
#include "tune/state/tune_presets.h"
#include "tune/state/tune_progress.h"

/* --- samples that judge ----------------------------------------------------------------------- */

qdq_status qdq_tune_judging_data(qdq_tune_state *t, qdq_data **out, qdq_compare_opts *o,
                                 qdq_error *err)
{
    const qdq_goal_opts *goal = t->opts->goal;
    qdq_data_opts random = QDQ_DATA_OPTS_INIT;
    char spec[40];

    *o = (qdq_compare_opts)QDQ_COMPARE_OPTS_INIT;
    o->threads = t->task.quantize.threads;
    o->shapes = random.shapes = t->task.quantize.shapes;
    o->n_shapes = random.n_shapes = t->task.quantize.n_shapes;
    o->first = goal != NULL ? goal->first : 0;
    o->count = goal != NULL ? goal->count : 0;
    o->job = &t->tools.timed;
    *out = goal != NULL && goal->eval != NULL ? goal->eval : t->task.data;
    if (*out != NULL)
        return QDQ_OK;
    o->first = o->count = 0;
    snprintf(spec, sizeof spec, "random:%llu", (unsigned long long)t->opts->seed);
    if (t->task.random == NULL)
        QDQ_TRY(qdq_data_open(spec, t->task.m, &random, &t->task.random, err));
    *out = t->task.random;
    return QDQ_OK;
}

/* count: 0: all that judge */
static qdq_status compare_models(qdq_tune_state *t, const qdq_model *m, size_t count,
                                 qdq_compare_result **out, qdq_error *err)
{
    const uint64_t usual = (uint64_t)256 << 20; /* as of activations in calibration */
    qdq_compare_opts o;
    qdq_data *data;

    QDQ_TRY(qdq_tune_judging_data(t, &data, &o, err));
    if (count > 0) {
        o.count = count;
        return qdq_compare(t->tools.engine, t->task.m, m, data, &o, out, err);
    }
    if (t->tools.kept.limit == 0)
        t->tools.kept.limit = t->task.quantize.memory != 0 ? t->task.quantize.memory : usual;
    return qdq_compare_keeping(
        &(qdq_comparison){t->tools.engine, t->task.m, data, &o, &t->tools.kept}, m, out, err);
}

static qdq_status read_result(qdq_tune_state *t, const qdq_compare_result *r,
                              qdq_tune_evaluation *out, qdq_error *err)
{
    const qdq_compare_tensor *worst = &r->outputs[r->worst];
    char place[80];

    *out = (qdq_tune_evaluation){
        .sqnr_db = r->worst_db, .accuracy = r->accuracy_b, .given_accuracy = r->accuracy_a};
    out->more = (qdq_tune_accuracy){
        .samples = r->samples, .bound_db = r->bound_db, .top1 = NAN, .half_agreement = NAN};
    out->more.worst = qdq_arena_printf(&t->arena, "output '%.60s'%s", worst->name,
                                       qdq_compare_place(worst, place, sizeof place));
    for (size_t i = 0; i < r->n_outputs; i++) {
        out->more.top1 = fmin(out->more.top1, r->outputs[i].top1);
        out->more.half_agreement = fmin(out->more.half_agreement, r->outputs[i].half_agreement);
    }
    return qdq_allocated(out->more.worst != NULL, err);
}

qdq_status qdq_tune_hear_model(qdq_tune_state *t, const qdq_model *m, qdq_tune_evaluation *out,
                               qdq_error *err)
{
    qdq_compare_result *r = NULL;

    QDQ_TRY(compare_models(t, m, 0, &r, err));
    qdq_status st = read_result(t, r, out, err);
    qdq_free(r);
    return st == QDQ_OK ? qdq_tune_measure_metric(t, m, out, err) : st;
}

qdq_status qdq_tune_evaluate(qdq_tune_state *t, const qdq_plan *p, qdq_tune_evaluation *out,
                             qdq_error *err)
{
    qdq_model *m = NULL;

    QDQ_TRY(qdq_candidate_model(t->tools.files, p, &m, err));
    qdq_status st = qdq_tune_hear_model(t, m, out, err);
    qdq_model_free(m);
    return st;
}

/* --- what is shipped -------------------------------------------------------------------------- */

/* By so much two shares of samples that are equal may differ. */
static const double rounding = 1e-9;

bool qdq_tune_has_sqnr(const qdq_goal_opts *g, const qdq_tune_evaluation *h)
{
    return g->min_sqnr == 0 || h->sqnr_db >= g->min_sqnr;
}

bool qdq_tune_holds(const qdq_tune_state *t, const qdq_tune_evaluation *h)
{
    const qdq_goal_opts *g = t->opts->goal;

    return qdq_tune_has_sqnr(g, h) &&
           (g->metric != NULL || g->max_drop < 0 ||
            h->given_accuracy - h->accuracy <= g->max_drop + rounding) &&
           qdq_tune_metric_holds(t, h, NULL, 0);
}

void qdq_tune_miss_text(const qdq_tune_state *t, const qdq_tune_evaluation *h, const char *outputs,
                        const char *accuracy, char *text, size_t size)
{
    const qdq_goal_opts *g = t->opts->goal;

    if (!qdq_tune_has_sqnr(g, h) && h->sqnr_db == -(double)INFINITY)
        snprintf(text, size, "%s: not finite, or of another shape", outputs);
    else if (!qdq_tune_has_sqnr(g, h))
        snprintf(text, size, "%s: SQNR %.2f dB on all samples that judge, expected at least %g dB",
                 outputs, h->sqnr_db, g->min_sqnr);
    else if (qdq_tune_metric_holds(t, h, text, size))
        snprintf(text, size,
                 "%s %.4f, %.2f points below that of the given model, expected at most %g",
                 accuracy, h->accuracy, (h->given_accuracy - h->accuracy) * 100, g->max_drop * 100);
}

double qdq_tune_excess(const qdq_tune_state *t, const qdq_tune_evaluation *h)
{
    const double least = t->opts->goal->min_sqnr;

    return least != 0 ? pow(10, (least - h->sqnr_db) / 10) : NAN;
}

/* model.onnx as it is on disk. */
static qdq_status hear_file(qdq_tune_state *t, qdq_tune_evaluation *out, bool *known,
                            qdq_error *err)
{
    const char *path = qdq_tune_path(t, "model.onnx");
    qdq_model *m = NULL;
    bool cut;

    QDQ_NEED(path != NULL, err);
    QDQ_TRY(qdq_model_load(path, NULL, &m, err));
    qdq_tune_begin_timed(t);
    qdq_status st = qdq_tune_end_timed(t, qdq_tune_hear_model(t, m, out, err), &cut);
    *known = !cut;
    qdq_model_free(m);
    return st;
}

/* Is there anything left to ask? Random samples were asked before. */
static bool is_open(const qdq_tune_state *t)
{
    const qdq_goal_opts *g = t->opts->goal;

    return qdq_tune_has_goal(t) &&
           (g->max_drop >= 0 || g->metric != NULL || t->task.data != NULL || g->eval != NULL);
}

qdq_status qdq_tune_keeps_accuracy(qdq_tune_state *t, const qdq_plan *p, bool *keeps,
                                   qdq_error *err)
{
    qdq_tune_evaluation h;
    char text[300];
    bool known;

    *keeps = true;
    if (!is_open(t))
        return QDQ_OK;
    QDQ_TRY(p != NULL ? qdq_tune_judge_plan(t, p, &h, &known, err) : hear_file(t, &h, &known, err));
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
    qdq_tune_tell_miss(t, "%s%s", p == t->task.rules ? "the rules' plan: " : "", text);
    return QDQ_OK;
}

qdq_status qdq_tune_check_goal(qdq_tune_state *t, qdq_error *err)
{
    qdq_compare_result *r = NULL;

    if (t->opts->goal != NULL && t->opts->goal->metric != NULL)
        return qdq_tune_measure_input(t, err);
    if (t->opts->goal == NULL || t->opts->goal->max_drop < 0)
        return QDQ_OK;
    if (t->task.data == NULL && t->opts->goal->eval == NULL)
        return qdq_fail(err, QDQ_E_USAGE,
                        "found a goal in accuracy without data, expected samples with labels");
    QDQ_TRY(compare_models(t, t->task.m, 1, &r, err));
    const bool labelled = !isnan(r->accuracy_a);
    qdq_free(r);
    if (!labelled)
        return qdq_fail(
            err, QDQ_E_USAGE,
            "found no accuracy, expected labels for an output with two classes or more");
    return QDQ_OK;
}
