/* ptq.c - the order: options, split, plan and model, evaluation, speed. What each step decides is
 * in the files next to this one. */
#include "quant/ptq/ptq_state.h"

#include <math.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/fail.h"
#include "base/opts.h"
#include "qdq/statistics.h"
#include "quant/data/data_source.h"
#include "quant/goal/metric.h"

/* Of a whole `quantize` at most 4, its report included. */
static const double most_slowdown = 3.5;

/* --- options ---------------------------------------------------------------------------------- */

static qdq_status check_goal(qdq_ptq_run *r, qdq_error *err)
{
    qdq_goal_opts *g = &r->goal;

    if (g->eval != NULL || g->first != 0 || g->count != 0 || g->folds != 0 || g->limit_s != 0)
        return qdq_fail(err, QDQ_E_USAGE,
                        "qdq_ptq_opts.goal: found samples or a limit of its own, expected none: "
                        "they follow from `eval`, `split` and `data`");
    QDQ_TRY(qdq_metric_check(g, &r->metric, err));
    if (r->o.no_sqnr && qdq_ptq_has_goal(r))
        return qdq_fail(err, QDQ_E_USAGE, "found a goal with no_sqnr, expected one of them");
    if (g->times != NULL && !qdq_ptq_seeks(r))
        return qdq_fail(err, QDQ_E_USAGE, "found times where no goal is searched for");
    if (qdq_ptq_has_goal(r) && !r->is_given && !r->runs)
        return qdq_fail(err, QDQ_E_UNSUPPORTED,
                        "engine %s gives no outputs: no goal can be measured",
                        qdq_engine_get_info(r->e)->name);
    if (r->names_goal)
        g->by_default = false;
    else
        *g = (qdq_goal_opts){.size = sizeof *g,
                             .max_drop = -1,
                             .by_default = true,
                             .one_format = g->one_format,
                             .max_evaluations = g->max_evaluations,
                             .min_saving = g->min_saving,
                             .max_slowdown = g->max_slowdown,
                             .times = g->times,
                             .times_name = g->times_name};
    g->max_slowdown = g->max_slowdown == 0  ? most_slowdown
                      : g->max_slowdown < 0 ? 0
                                            : g->max_slowdown;
    g->eval = r->o.eval;
    return QDQ_OK;
}

static qdq_status read_options(qdq_ptq_run *r, const qdq_ptq_opts *opts, qdq_error *err)
{
    QDQ_TRY(qdq_opts_read("qdq_ptq_opts", &r->o, sizeof r->o, opts, err));
    QDQ_TRY(qdq_opts_read("qdq_quantize_opts", &r->quant, sizeof r->quant, r->o.quantize, err));
    QDQ_TRY(qdq_opts_read("qdq_goal_opts", &r->goal, sizeof r->goal, r->o.goal, err));
    r->job = qdq_job_copy(r->o.job != NULL ? r->o.job : r->quant.job);
    r->quant.job = &r->job;
    r->is_given = r->o.quantized != NULL;
    if ((r->o.plan != NULL) != r->is_given)
        return qdq_fail(err, QDQ_E_USAGE, "qdq_ptq_opts: found %s alone, expected both or none",
                        r->is_given ? "`quantized`" : "`plan`");
    if (!r->is_given && (r->t == NULL || r->e == NULL))
        return qdq_fail(err, QDQ_E_USAGE, "qdq_ptq: found no %s",
                        r->t == NULL ? "target" : "engine");
    if (r->quant.cache != NULL && !r->is_given)
        QDQ_TRY(qdq_statistics_is_file(r->quant.cache, &r->has_statistics, err));
    r->runs = r->e != NULL && (qdq_engine_get_info(r->e)->capabilities & QDQ_CAN_RUN) != 0;
    r->names_goal = r->o.goal != NULL && !r->goal.by_default;
    r->by_default = !r->names_goal && !r->is_given && !r->o.no_sqnr && !r->o.plan_only &&
                    r->data != NULL && !qdq_data_is_random(r->data);
    if (!r->o.no_sqnr)
        QDQ_TRY(qdq_data_check_labels(r->o.eval != NULL ? r->o.eval : r->data, r->m, err));
    return check_goal(r, err);
}

static void split(qdq_ptq_run *r)
{
    const bool evaluates = !r->o.no_sqnr && (!r->o.plan_only || qdq_ptq_has_goal(r));
    const unsigned uses = (r->is_given || r->has_statistics ? 0 : QDQ_SPLIT_CALIBRATE) |
                          (evaluates ? QDQ_SPLIT_EVALUATE : 0) |
                          (qdq_ptq_seeks(r) ? QDQ_SPLIT_GOAL : 0) |
                          (!r->is_given && qdq_rounds_by_samples(r->t) ? QDQ_SPLIT_ROUND : 0);

    r->block->head.split = r->o.split != NULL
                               ? *r->o.split
                               : qdq_split_samples(r->data, r->o.eval, r->quant.samples, uses);
}

/* --- the order -------------------------------------------------------------------------------- */

static qdq_status run_ptq(qdq_ptq_run *r, qdq_error *err)
{
    qdq_ptq_result *head = &r->block->head;

    split(r);
    QDQ_TRY(qdq_ptq_make(r, err));
    QDQ_TRY(qdq_ptq_evaluate(r, err));
    if (qdq_ptq_has_goal(r) && head->verdict == QDQ_PTQ_MISSED && !r->o.best_effort)
        return qdq_fail(err, QDQ_E_GOAL, "%s", head->missed);
    if (qdq_ptq_model(r) == NULL)
        return QDQ_OK;
    QDQ_TRY(qdq_ptq_warn_of_result(r, err));
    if (r->o.ready != NULL)
        QDQ_TRY(r->o.ready(r->o.ctx, head, err));
    QDQ_TRY(qdq_ptq_measure_speed(r, err));
    return qdq_ptq_warn_of_speed(r, err);
}

/* With these the caller gets what was found: it names what came nearest, and the wrong node. */
static bool is_answer(qdq_status st, const qdq_ptq_result *r)
{
    return st == QDQ_OK || (st == QDQ_E_GOAL && r->verdict == QDQ_PTQ_MISSED) ||
           (st == QDQ_E_ENGINE && r->verdict == QDQ_PTQ_WRONG);
}

qdq_status qdq_ptq(const qdq_model *m, const qdq_target *t, qdq_engine *e, qdq_data *data,
                   const qdq_ptq_opts *opts, qdq_ptq_result **out, qdq_error *err)
{
    qdq_ptq_run r = {.m = m,
                     .t = t,
                     .e = e,
                     .data = data,
                     .o = QDQ_PTQ_OPTS_INIT,
                     .quant = QDQ_QUANTIZE_OPTS_INIT,
                     .goal = QDQ_GOAL_OPTS_INIT,
                     .began = qdq_clock_seconds()};

    *out = NULL;
    QDQ_TRY(read_options(&r, opts, err));
    r.block = calloc(1, sizeof *r.block);
    QDQ_NEED(r.block, err);
    qdq_ptq_result *head = &r.block->head;
    head->missed = r.block->speed.why_not = "";
    head->metric_before = head->metric_after = NAN;
    const qdq_status st = run_ptq(&r, err);
    head->warnings = r.block->warnings.at;
    head->n_warnings = r.block->warnings.n;
    if (is_answer(st, head))
        *out = head;
    else
        qdq_ptq_result_free(head);
    return st;
}

void qdq_ptq_result_free(qdq_ptq_result *r)
{
    qdq_ptq_room *room = (qdq_ptq_room *)(void *)r; /* its first member */

    if (room == NULL)
        return;
    qdq_plan_free(r->plan);
    qdq_model_free(r->model);
    qdq_goal_result_free(r->goal);
    qdq_free(room->compared);
    qdq_free(r->engine_check);
    qdq_arena_free(&room->arena);
    free(room);
}

const char *qdq_ptq_verdict_name(qdq_ptq_verdict v)
{
    switch (v) {
    case QDQ_PTQ_REACHED:
        return "reached";
    case QDQ_PTQ_MISSED:
        return "missed";
    case QDQ_PTQ_FLOAT:
        return "float";
    case QDQ_PTQ_WRONG:
        return "wrong";
    case QDQ_PTQ_UNKNOWN:
        break;
    }
    return "unknown";
}
