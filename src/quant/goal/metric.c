/* metric.c - calls the caller's metric for one model. A session is opened when the metric runs the
 * model: one that works on the model's file needs none. */
#include "quant/goal/metric.h"

#include <math.h>
#include <stdio.h>

#include "base/fail.h"
#include "base/opts.h"
#include "base/vec.h"
#include "quant/calib/array_copy.h"
#include "quant/compare/compare_feed.h"
#include "quant/compare/compare_run.h"

struct qdq_metric_run {
    qdq_arena arena;
    qdq_safe_session session;
    const qdq_model *model;
    bool is_input;
    const qdq_job *job;
    /* outputs, in their order */
    QDQ_VEC(qdq_held) held;
    /* the same, as the caller sees them */
    QDQ_VEC(qdq_named_array) out;
    /* of the run at hand */
    size_t n;
    /* how the engine failed on the model */
    qdq_status refused;
};

const char *qdq_metric_name(const qdq_metric *metric)
{
    return metric->name != NULL ? metric->name : "metric";
}

qdq_status qdq_metric_check(qdq_goal_opts *goal, qdq_metric *own, qdq_error *err)
{
    *own = (qdq_metric)QDQ_METRIC_INIT;
    if (goal->metric == NULL)
        return goal->has_min_metric
                   ? qdq_fail(err, QDQ_E_USAGE, "found min_metric without a metric")
                   : QDQ_OK;
    QDQ_TRY(qdq_opts_read("qdq_metric", own, sizeof *own, goal->metric, err));
    goal->metric = own;
    if (own->measure == NULL)
        return qdq_fail(err, QDQ_E_USAGE, "qdq_metric: found no function `measure`");
    if (!goal->has_min_metric && goal->max_drop < 0)
        return qdq_fail(err, QDQ_E_USAGE,
                        "found a metric without a limit, expected min_metric or max_drop");
    if (goal->has_min_metric && !isfinite(goal->min_metric))
        return qdq_fail(err, QDQ_E_USAGE, "min_metric: found %g, expected a finite number",
                        goal->min_metric);
    return goal->by_default ? qdq_fail(err, QDQ_E_USAGE,
                                       "found a metric in a goal by default, expected neither "
                                       "or a goal of its own")
                            : QDQ_OK;
}

/* --- a run ------------------------------------------------------------------------------------ */

static qdq_status take_output(void *ctx, const char *name, const qdq_array *a, qdq_error *err)
{
    static const qdq_named_array none;
    static const qdq_held empty;
    qdq_metric_run *run = ctx;
    const size_t k = run->n++;

    if (k == run->held.n) {
        const qdq_named_array named = {.name = qdq_arena_strdup(&run->arena, name)};

        QDQ_NEED(named.name != NULL && QDQ_PUSH(&run->arena, &run->held, empty) &&
                     QDQ_PUSH(&run->arena, &run->out, none),
                 err);
        run->out.at[k] = named;
    }
    QDQ_TRY(qdq_hold(&run->held.at[k], a, err));
    run->out.at[k].array = run->held.at[k].array;
    return QDQ_OK;
}

/* An engine that fails on the model is a verdict on it. */
static qdq_status note_refusal(qdq_metric_run *run, qdq_status st)
{
    if (st == QDQ_E_ENGINE || st == QDQ_E_UNSUPPORTED)
        run->refused = st;
    return st;
}

qdq_status qdq_metric_run_arrays(qdq_metric_run *run, const qdq_named_array *in, size_t n_in,
                                 const qdq_named_array **out, size_t *n_out, qdq_error *err)
{
    *out = NULL;
    *n_out = 0;
    QDQ_TRY(qdq_job_poll(run->job, err));
    if (run->session.session == NULL)
        QDQ_TRY(note_refusal(run, qdq_safe_open(&run->session, err)));
    run->n = 0;
    qdq_arena memory = QDQ_ARENA_INIT;
    qdq_status st = qdq_compare_feed(run->session.model, run->model, &in, n_in, &memory, err);
    if (st == QDQ_OK)
        st = note_refusal(run, qdq_safe_run(&run->session, in, n_in, take_output, run, err));
    qdq_arena_free(&memory);
    if (st != QDQ_OK)
        return st;
    *out = run->out.at;
    *n_out = run->n;
    return QDQ_OK;
}

const qdq_model *qdq_metric_run_model(const qdq_metric_run *run)
{
    return run->model;
}

bool qdq_metric_run_is_input(const qdq_metric_run *run)
{
    return run->is_input;
}

const qdq_cancel *qdq_metric_run_cancel(const qdq_metric_run *run)
{
    return qdq_job_cancel(run->job);
}

/* --- its answer ------------------------------------------------------------------------------- */

/* What the metric of a model came to; *own: what the metric said of a failure. With QDQ_E_GOAL
 * searches end when their time is up: from a metric it is a misuse. */
static qdq_status conclude(const qdq_metric *metric, const qdq_metric_run *run, qdq_status st,
                           const qdq_error *own, qdq_metric_value *out, qdq_error *err)
{
    const char *name = qdq_metric_name(metric);

    st = st == QDQ_E_GOAL ? QDQ_E_USAGE : st;
    if (st == QDQ_OK && isfinite(out->value))
        return QDQ_OK;
    if (st == QDQ_OK && run->is_input)
        return qdq_fail(err, QDQ_E_FORMAT,
                        "metric '%s' of the input model: found %g, expected a finite number", name,
                        out->value);
    if (st == QDQ_OK && own->text[0] != '\0')
        snprintf(out->why, sizeof out->why, "%s", own->text);
    else if (st == QDQ_OK)
        snprintf(out->why, sizeof out->why, "metric '%s': found %g, expected a finite number", name,
                 out->value);
    else if (st == run->refused && !run->is_input)
        snprintf(out->why, sizeof out->why, "metric '%s': %s", name, own->text);
    else if (own->text[0] == '\0')
        return qdq_fail(err, st, "metric '%s' failed", name);
    else {
        if (err != NULL) {
            *err = *own;
            err->code = st;
        }
        return st;
    }
    out->value = NAN;
    return QDQ_OK;
}

qdq_status qdq_metric_measure(const qdq_metric *metric, qdq_engine *e, const qdq_model *m,
                              bool is_input, const qdq_compare_opts *o, qdq_metric_value *out,
                              qdq_error *err)
{
    qdq_metric_run run = {.arena = QDQ_ARENA_INIT,
                          .session = qdq_compare_session(e, m, o, "model of the metric"),
                          .model = m,
                          .is_input = is_input,
                          .job = o->job,
                          .refused = QDQ_OK};
    qdq_error own = QDQ_ERROR_INIT;

    *out = (qdq_metric_value){.value = NAN};
    QDQ_TRY(qdq_job_poll(o->job, err));
    qdq_status st = metric->measure(metric->ctx, &run, &out->value, &own);
    st = conclude(metric, &run, st, &own, out, err);
    qdq_safe_close(&run.session);
    for (size_t i = 0; i < run.held.n; i++)
        qdq_held_free(&run.held.at[i]);
    qdq_arena_free(&run.arena);
    return st;
}

bool qdq_metric_holds(const qdq_goal_opts *goal, const qdq_metric_value *m, double input, char *why,
                      size_t size)
{
    const char *name = qdq_metric_name(goal->metric);
    const double rounding = 1e-9 * fmax(1, fabs(input)), drop = input - m->value;

    if (isnan(m->value))
        snprintf(why, size, "%s", m->why);
    else if (goal->has_min_metric && m->value < goal->min_metric)
        snprintf(why, size, "metric '%s': found %g, expected at least %g", name, m->value,
                 goal->min_metric);
    else if (goal->max_drop >= 0 && drop > goal->max_drop + rounding)
        snprintf(why, size,
                 "metric '%s': found %g, %g below that of the input model, expected at most %g",
                 name, m->value, drop, goal->max_drop);
    else
        return true;
    return false;
}
