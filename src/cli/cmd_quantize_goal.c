/* cmd_quantize_goal.c - quantize under a goal: options, answer, and the trade as a table. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fail.h"
#include "cli/cmd_quantize.h"
#include "cli/cli_text.h"

/* Of the whole command at most 4, the report included. */
#define MAX_SLOWDOWN 3.5

bool cmd_quantize_has_goal(const struct quantize_args *a)
{
    return cli_quant_has_goal(&a->quant);
}

qdq_status cmd_quantize_goal_check(const struct quantize_args *a, double *max_drop, qdq_error *err)
{
    const char *option = cli_quant_judging(&a->quant);

    if (option == NULL && a->best_effort)
        option = "--best-effort";
    if (option == NULL)
        return cli_quant_max_drop(&a->quant, max_drop, err);
    if (!a->quant.sqnr || a->dry_run ||
        (a->plan != NULL && a->quant.calib == NULL && a->quant.eval == NULL))
        return qdq_fail(err, QDQ_E_USAGE, "found %s where nothing is measured: %s", option,
                        a->dry_run       ? "--dry-run"
                        : !a->quant.sqnr ? "--no-sqnr"
                                         : "--plan without --calib or --eval");
    QDQ_TRY(cli_quant_max_drop(&a->quant, max_drop, err));
    if (a->best_effort && !cmd_quantize_has_goal(a))
        return qdq_fail(err, QDQ_E_USAGE,
                        "found --best-effort without --min-sqnr, --min-metric or --max-drop");
    return QDQ_OK;
}

/* --- the way there ---------------------------------------------------------------------------- */

/* A search that the engine check starts again goes on with the time of the first one. */
static double time_left(const quantize *q, double now)
{
    return q->search_ends == 0 ? 0 : q->search_ends > now ? q->search_ends - now : -1;
}

qdq_status cmd_quantize_goal_run(quantize *q, const qdq_quantize_opts *opts, qdq_error *err)
{
    const qdq_engine_info *info = qdq_engine_get_info(q->engine);
    qdq_goal_opts goal = QDQ_GOAL_OPTS_INIT;

    if (!(info->capabilities & QDQ_CAN_RUN))
        return qdq_fail(err, QDQ_E_UNSUPPORTED,
                        "engine %s gives no outputs: no goal can be measured", info->name);
    goal.by_default = cmd_quantize_is_default(q);
    goal.min_sqnr = q->a->quant.min_sqnr.value;
    goal.folds = q->samples.split.folds;
    goal.max_slowdown = MAX_SLOWDOWN;
    goal.times = q->times;
    goal.times_name = q->a->times;
    goal.max_drop = q->max_drop;
    cli_metric_fill(&q->metric, &goal);
    goal.eval = q->samples.eval;
    goal.first = q->samples.split.first;
    goal.count = q->samples.split.judge;
    const double now = qdq_clock_seconds();
    goal.limit_s = time_left(q, now);
    QDQ_TRY(qdq_quantize_goal(q->model, q->target, q->engine, q->samples.data, opts, &goal,
                              &q->plan, &q->quantized, &q->goal, err));
    if (q->search_ends == 0 && q->goal->limit_s > 0)
        q->search_ends = now + q->goal->limit_s;
    return QDQ_OK;
}

qdq_status cmd_quantize_measure_given(quantize *q, qdq_error *err)
{
    if (q->a->quant.metric_command == NULL || q->goal != NULL)
        return QDQ_OK;
    QDQ_TRY(cli_metric_measure(&q->metric, q->model, true, q->c->cancel, &q->metric_before, err));
    return cli_metric_measure(&q->metric, q->quantized, false, q->c->cancel, &q->metric_after, err);
}

static qdq_status check_metric(const quantize *q, qdq_error *err)
{
    const cli_quant_args *a = &q->a->quant;
    const double drop = q->metric_before - q->metric_after;

    if (isnan(q->metric_after))
        return qdq_fail(err, QDQ_E_GOAL, "%s: metric '%s': found no number", q->path,
                        a->metric_command);
    if (a->min_metric.given && !(q->metric_after >= a->min_metric.value))
        return qdq_fail(err, QDQ_E_GOAL, "%s: metric '%s': found %g, expected at least %g", q->path,
                        a->metric_command, q->metric_after, a->min_metric.value);
    if (q->max_drop >= 0 && !(drop <= q->max_drop + 1e-9 * fmax(1, fabs(q->metric_before))))
        return qdq_fail(err, QDQ_E_GOAL,
                        "%s: metric '%s': found %g, %g below that of the input model, expected at "
                        "most %g",
                        q->path, a->metric_command, q->metric_after, drop, q->max_drop);
    return QDQ_OK;
}

/* Of a plan that was given, nothing is changed: it reaches the goal or it does not. */
static qdq_status check_given(const quantize *q, qdq_error *err)
{
    const bool has_labels = q->max_drop >= 0 && q->a->quant.metric_command == NULL;

    const qdq_compare_result *r = q->compared;
    char text[60], place[80];

    if (q->a->quant.metric_command != NULL)
        QDQ_TRY(check_metric(q, err));
    if (r == NULL && q->a->quant.metric_command != NULL && q->a->quant.min_sqnr.value == 0)
        return QDQ_OK;
    if (r == NULL)
        return qdq_fail(err, QDQ_E_GOAL, "%s: nothing was measured, expected a goal", q->path);
    if (has_labels && isnan(r->accuracy_a))
        return qdq_fail(
            err, QDQ_E_USAGE,
            "%s: found no accuracy, expected labels for an output with two classes or more",
            q->path);
    if (has_labels && r->accuracy_a - r->accuracy_b > q->max_drop + 1e-9)
        return qdq_fail(err, QDQ_E_GOAL,
                        "%s: accuracy: found %.4f, %.2f points below float, expected at most %g",
                        q->path, r->accuracy_b, (r->accuracy_a - r->accuracy_b) * 100,
                        q->max_drop * 100);
    const qdq_compare_tensor *low =
        q->a->quant.min_sqnr.value != 0
            ? cli_outputs_below(r->outputs, r->n_outputs, q->a->quant.min_sqnr.value)
            : NULL;
    if (low == NULL)
        return QDQ_OK;
    return qdq_fail(err, QDQ_E_GOAL, "%s: output '%s'%s: found SQNR %s, expected at least %g dB",
                    q->path, low->name, qdq_compare_place(low, place, sizeof place),
                    cli_worst_text(low, text, sizeof text), q->a->quant.min_sqnr.value);
}

qdq_status cmd_quantize_goal_answer(const quantize *q, bool written, qdq_error *err)
{
    if (!cmd_quantize_has_goal(q->a) || written != q->a->best_effort)
        return QDQ_OK;
    if (q->goal == NULL)
        return check_given(q, err);
    if (q->goal->reached)
        return QDQ_OK;
    if (!written && !q->c->json && q->c->ui.level >= QDQ_LOG_WARNING && q->goal->n_steps > 1)
        QDQ_TRY(
            /* no result on stdout will show the trade */
            cmd_quantize_goal_print(q, cli_text_stderr(), err));
    return qdq_fail(
        err, QDQ_E_GOAL, "%s: the goal is not reached by any model with a layer in 8 bits; %s%s",
        q->path, q->goal->why, written ? "" : " (--best-effort writes what came nearest)");
}

/* --- the trade -------------------------------------------------------------------------------- */

static void steps_json(qdq_json_out list, const quantize *q)
{
    for (size_t i = 0; i < q->goal->n_steps; i++) {
        const qdq_goal_step *s = &q->goal->steps[i];

        qdq_json_out o = qdq_json_put_object(list, NULL);
        qdq_json_put_int(o, "float", (int64_t)s->n_float);
        qdq_json_put_short(o, "sqnr_db", s->sqnr_db);
        qdq_json_put_short(o, "accuracy", s->accuracy);
        if (q->a->quant.metric_command != NULL)
            qdq_json_put_short(o, "metric", s->metric);
        qdq_json_put_short(o, "time_share", s->time_fraction);
        qdq_json_put_bool(o, "holds", s->holds);
    }
}

static void layers_json(qdq_json_out list, const quantize *q)
{
    for (size_t i = 0; i < q->goal->n_layers; i++) {
        const qdq_goal_layer *l = &q->goal->layers[i];

        qdq_json_out o = qdq_json_put_object(list, NULL);
        qdq_json_put_text(o, "node", l->node);
        qdq_json_put_text(o, "op", l->op);
        qdq_json_put_short(o, "error", l->error);
        qdq_json_put_short(o, "saved_share", l->saved_fraction);
        qdq_json_put_bool(o, "float", l->is_float);
    }
}

static void seconds_json(qdq_json_out o, const quantize *q)
{
    const qdq_goal_seconds *s = &q->goal->seconds;

    qdq_json_put_short(o, "calibration", s->calibration);
    qdq_json_put_short(o, "judging", s->evaluation);
    qdq_json_put_short(o, "layers", s->layers);
    qdq_json_put_short(o, "profile", s->profile);
    qdq_json_put_short(o, "trials", s->trials);
}

static double metric_before(const quantize *q)
{
    return q->goal != NULL ? q->goal->float_metric : q->metric_before;
}

static double metric_after(const quantize *q)
{
    return q->goal != NULL ? q->goal->metric : q->metric_after;
}

void cmd_quantize_goal_json(const quantize *q, qdq_json_out root)
{
    const qdq_compare_result *r = q->compared;

    qdq_json_put_short(root, "top1_agreement", r != NULL ? r->top1_agreement : (double)NAN);
    qdq_json_out accuracy = qdq_json_put_object(root, "accuracy");
    qdq_json_put_short(accuracy, "before", r != NULL ? r->accuracy_a : (double)NAN);
    qdq_json_put_short(accuracy, "after", r != NULL ? r->accuracy_b : (double)NAN);
    if (q->a->quant.metric_command != NULL) {
        qdq_json_out metric = qdq_json_put_object(root, "metric");
        qdq_json_put_text(metric, "command", q->a->quant.metric_command);
        qdq_json_put_short(metric, "before", metric_before(q));
        qdq_json_put_short(metric, "after", metric_after(q));
    }
    if (q->goal == NULL)
        return;
    qdq_json_out goal = qdq_json_put_object(root, "goal");
    qdq_json_put_bool(goal, "reached", q->goal->reached);
    qdq_json_put_text(goal, "shapes", cmd_quantize_shapes(q));
    seconds_json(qdq_json_put_object(goal, "seconds"), q);
    qdq_json_put_bool(goal, "bias_correction", q->goal->is_corrected);
    if (q->goal->is_corrected) {
        qdq_json_put_short(goal, "corrected_db", q->goal->corrected_db);
        qdq_json_put_short(goal, "uncorrected_db", q->goal->uncorrected_db);
    }
    qdq_json_put_bool(goal, "cut", q->goal->is_cut);
    steps_json(qdq_json_put_list(goal, "evaluations"), q);
    layers_json(qdq_json_put_list(goal, "layers"), q);
}

static qdq_status print_steps(const quantize *q, FILE *to, qdq_error *err)
{
    cli_table t = {.arena = &q->c->arena, .columns = "rrrrrl"};
    char text[40];

    fprintf(to, "\nto reach the goal (time: of the float model's, %s; shapes %s)\n",
            q->goal->is_profiled ? "from its profile" : "estimated from shapes",
            cmd_quantize_shapes(q));
    cli_cell(&t, "trial");
    cli_cell(&t, "back to float");
    cli_cell(&t, "SQNR dB");
    const bool has_metric = q->a->quant.metric_command != NULL;
    cli_cell(&t, has_metric ? "metric" : "accuracy");
    cli_cell(&t, "time");
    cli_cell(&t, "goal");
    for (size_t i = 0; i < q->goal->n_steps; i++) {
        const qdq_goal_step *s = &q->goal->steps[i];

        cli_cell(&t, "%zu", i + 1);
        cli_cell(&t, "%zu", s->n_float);
        cli_cell(&t, "%s", cli_sqnr_text(s->sqnr_db, text, sizeof text));
        if (isnan(has_metric ? s->metric : s->accuracy))
            cli_cell(&t, "-");
        else if (has_metric)
            cli_cell(&t, "%.6g", s->metric);
        else
            cli_cell(&t, "%.4f", s->accuracy);
        cli_cell(&t, "%.2f", s->time_fraction);
        cli_cell(&t, "%s", s->holds ? "holds" : "missed");
    }
    return cli_table_print(&t, to, err);
}

static qdq_status print_layers(const quantize *q, FILE *to, qdq_error *err)
{
    cli_table t = {.arena = &q->c->arena, .columns = "llrr"};
    size_t n = 0;

    cli_cell(&t, "back to float");
    cli_cell(&t, "op");
    cli_cell(&t, "own error, dB");
    cli_cell(&t, "time saved in 8 bits");
    for (size_t i = 0; i < q->goal->n_layers; i++) {
        const qdq_goal_layer *l = &q->goal->layers[i];

        if (!l->is_float)
            continue;
        n++;
        cli_cell(&t, "%s", l->node);
        cli_cell(&t, "%s", l->op);
        cli_cell(&t, "%.2f", l->error > 0 ? -10 * log10(l->error) : (double)INFINITY);
        cli_cell(&t, "%.4f", l->saved_fraction);
    }
    if (n == 0)
        return QDQ_OK;
    fputc('\n', to);
    return cli_table_print(&t, to, err);
}

qdq_status cmd_quantize_goal_print(const quantize *q, FILE *to, qdq_error *err)
{
    const qdq_compare_result *r = q->compared;
    char text[2][40];

    if (r != NULL && !isnan(r->accuracy_a))
        fprintf(to, "accuracy %.4f (float), %.4f (quantized)\n", r->accuracy_a, r->accuracy_b);
    if (q->a->quant.metric_command != NULL)
        fprintf(to, "metric %g (float), %g (quantized)\n", metric_before(q), metric_after(q));
    if (q->goal != NULL && q->goal->is_corrected)
        fprintf(to, "biases are corrected: SQNR in dB of the worst output %s, without %s\n",
                cli_sqnr_text(q->goal->corrected_db, text[0], sizeof text[0]),
                cli_sqnr_text(q->goal->uncorrected_db, text[1], sizeof text[1]));
    if (q->goal == NULL || q->goal->n_steps < 2)
        return QDQ_OK;
    QDQ_TRY(print_steps(q, to, err));
    QDQ_TRY(print_layers(q, to, err));
    fprintf(to,
            "\ntime: calibration %.1f s, judging %.1f s, errors of layers %.1f s, profiles %.1f s, "
            "trials "
            "%.1f s%s\n",
            q->goal->seconds.calibration, q->goal->seconds.evaluation, q->goal->seconds.layers,
            q->goal->seconds.profile, q->goal->seconds.trials,
            q->goal->is_cut ? "; the search stopped at its time limit" : "");
    return QDQ_OK;
}
