/* tune_metric.c - the caller's metric in a run: asked of the input model before anything else, of
 * what evaluates candidates, and of each candidate that won a trial. */
#include <math.h>

#include "base/fail.h"
#include "quant/data/data_source.h"
#include "tune/accuracy/accuracy.h"

bool qdq_tune_caller_failed(const qdq_tune_state *t)
{
    return t->tools.metric_failed || qdq_data_has_failed(t->task.data) ||
           qdq_data_has_failed(t->opts->goal->eval);
}

static qdq_status measure(qdq_tune_state *t, const qdq_model *m, bool is_input,
                          qdq_metric_value *out, qdq_error *err)
{
    qdq_compare_opts o;
    qdq_data *data;

    QDQ_TRY(qdq_tune_evaluation_data(t, &data, &o, err));
    const qdq_status st =
        qdq_metric_measure(t->opts->goal->metric, t->tools.engine, m, is_input, &o, out, err);
    /* that its time is up is no failure of the metric */
    t->tools.metric_failed =
        st != QDQ_OK && (st != QDQ_E_INTERRUPTED || !qdq_cancel_is_set(t->tools.stop));
    return st;
}

qdq_status qdq_tune_measure_input(qdq_tune_state *t, qdq_error *err)
{
    const qdq_goal_opts *goal = t->opts->goal;
    qdq_metric_value found;

    QDQ_TRY(measure(t, t->task.m, true, &found, err));
    t->tools.input_metric = found.value;
    if (goal->has_min_metric && found.value < goal->min_metric)
        qdq_job_log(t->job, QDQ_LOG_WARNING,
                    "metric '%s' of the input model: found %g, expected at least %g",
                    qdq_metric_name(goal->metric), found.value, goal->min_metric);
    return QDQ_OK;
}

qdq_status qdq_tune_measure_metric(qdq_tune_state *t, const qdq_model *m, qdq_tune_evaluation *h,
                                   qdq_error *err)
{
    const qdq_goal_opts *goal = t->opts->goal;

    h->metric = (qdq_metric_value){.value = NAN};
    if (goal->metric == NULL || !qdq_tune_outputs_hold(goal, h))
        return QDQ_OK;
    return measure(t, m, false, &h->metric, err);
}

bool qdq_tune_knows_metric(const qdq_tune_state *t, const qdq_tune_evaluation *h)
{
    const qdq_goal_opts *goal = t->opts->goal;

    return goal->metric == NULL || !isnan(h->metric.value) || h->metric.why[0] != '\0' ||
           !qdq_tune_outputs_hold(goal, h);
}

bool qdq_tune_metric_holds(const qdq_tune_state *t, const qdq_tune_evaluation *h, char *why,
                           size_t size)
{
    const qdq_goal_opts *goal = t->opts->goal;

    return goal->metric == NULL ||
           qdq_metric_holds(goal, &h->metric, t->tools.input_metric, why, size);
}

qdq_status qdq_tune_require_metric(qdq_tune_state *t, qdq_tune_candidate *c, qdq_error *err)
{
    bool known;

    if (t->opts->goal->metric == NULL || c == t->run.base || c->failed)
        return QDQ_OK;
    QDQ_TRY(qdq_tune_evaluate_candidate(t, c, &known, err));
    qdq_tune_compare_with_goal(t, c, known);
    return QDQ_OK;
}

const char *qdq_tune_metric_text(qdq_tune_state *t)
{
    const qdq_goal_opts *goal = t->opts->goal;

    if (goal->metric == NULL)
        return "";
    return qdq_arena_printf(&t->arena, " metric=%s min=%.17g/%d drop=%.17g",
                            qdq_metric_name(goal->metric), goal->min_metric, goal->has_min_metric,
                            goal->max_drop);
}
