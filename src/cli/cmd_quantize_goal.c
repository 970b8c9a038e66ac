/* cmd_quantize_goal.c - quantize under a goal: options, and the trade as a table. */
#include <math.h>

#include "base/fail.h"
#include "cli/cmd_quantize.h"

bool cmd_quantize_has_goal(const struct quantize_args *a)
{
    return cli_quant_has_goal(&a->quant);
}

qdq_status cmd_quantize_goal_check(const struct quantize_args *a, double *max_drop, qdq_error *err)
{
    const char *option = cli_quant_evaluation(&a->quant);

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
                        "found --best-effort without --min-sqnr, --min-agreement, --min-metric or "
                        "--max-drop");
    return QDQ_OK;
}

/* --- the trade -------------------------------------------------------------------------------- */

static void steps_json(qdq_json_out list, const quantize *q)
{
    for (size_t i = 0; i < q->r->goal->n_steps; i++) {
        const qdq_goal_step *s = &q->r->goal->steps[i];

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
    for (size_t i = 0; i < q->r->goal->n_layers; i++) {
        const qdq_goal_layer *l = &q->r->goal->layers[i];

        qdq_json_out o = qdq_json_put_object(list, NULL);
        qdq_json_put_text(o, "node", l->node);
        qdq_json_put_text(o, "op", l->op);
        qdq_json_put_short(o, "error", l->error);
        qdq_json_put_short(o, "saved_share", l->saved_fraction);
        qdq_json_put_bool(o, "float", l->is_float);
        qdq_json_put_text(o, "form", l->form);
    }
}

static void seconds_json(qdq_json_out o, const quantize *q)
{
    const qdq_goal_seconds *s = &q->r->goal->seconds;

    qdq_json_put_short(o, "calibration", s->calibration);
    qdq_json_put_short(o, "judging", s->evaluation);
    qdq_json_put_short(o, "layers", s->layers);
    qdq_json_put_short(o, "profile", s->profile);
    qdq_json_put_short(o, "trials", s->trials);
}

void cmd_quantize_goal_json(const quantize *q, qdq_json_out root)
{
    const qdq_compare_result *r = q->r->compared;

    qdq_json_put_short(root, "top1_agreement", r != NULL ? r->top1_agreement : (double)NAN);
    qdq_json_out accuracy = qdq_json_put_object(root, "accuracy");
    qdq_json_put_short(accuracy, "before", r != NULL ? r->accuracy_a : (double)NAN);
    qdq_json_put_short(accuracy, "after", r != NULL ? r->accuracy_b : (double)NAN);
    if (q->a->quant.metric_command != NULL) {
        qdq_json_out metric = qdq_json_put_object(root, "metric");
        qdq_json_put_text(metric, "command", q->a->quant.metric_command);
        qdq_json_put_short(metric, "before", q->r->metric_before);
        qdq_json_put_short(metric, "after", q->r->metric_after);
    }
    if (q->r->goal == NULL)
        return;
    qdq_json_out goal = qdq_json_put_object(root, "goal");
    qdq_json_put_bool(goal, "reached", q->r->goal->reached);
    qdq_json_put_text(goal, "shapes", cmd_quantize_shapes(q));
    seconds_json(qdq_json_put_object(goal, "seconds"), q);
    qdq_json_put_bool(goal, "bias_correction", q->r->goal->is_corrected);
    if (q->r->goal->is_corrected) {
        qdq_json_put_short(goal, "corrected_db", q->r->goal->corrected_db);
        qdq_json_put_short(goal, "uncorrected_db", q->r->goal->uncorrected_db);
    }
    qdq_json_put_bool(goal, "float_channels", q->r->goal->has_float_channels);
    if (q->r->goal->has_float_channels) {
        qdq_json_put_short(goal, "float_channels_db", q->r->goal->float_channels_db);
        qdq_json_put_short(goal, "all_channels_db", q->r->goal->all_channels_db);
    }
    qdq_json_put_bool(goal, "smooth", q->r->goal->is_smoothed);
    if (q->r->goal->is_smoothed) {
        qdq_json_put_short(goal, "smoothed_db", q->r->goal->smoothed_db);
        qdq_json_put_short(goal, "unsmoothed_db", q->r->goal->unsmoothed_db);
    }
    qdq_json_put_bool(goal, "recurrent", q->r->goal->has_recurrent);
    qdq_json_put_bool(goal, "cut", q->r->goal->is_timed_out);
    steps_json(qdq_json_put_list(goal, "evaluations"), q);
    layers_json(qdq_json_put_list(goal, "layers"), q);
}

static qdq_status print_steps(const quantize *q, FILE *to, qdq_error *err)
{
    cli_table t = {.arena = &q->c->arena, .columns = "rrrrrl"};
    char text[40];

    fprintf(to, "\nto reach the goal (time: of the float model's, %s; shapes %s)\n",
            q->r->goal->is_profiled ? "from its profile" : "estimated from shapes",
            cmd_quantize_shapes(q));
    CLI_CELLS(&t, "trial", "back to float", "SQNR dB");
    const bool has_metric = q->a->quant.metric_command != NULL;
    cli_cell(&t, has_metric ? "metric" : "accuracy");
    CLI_CELLS(&t, "time", "goal");
    for (size_t i = 0; i < q->r->goal->n_steps; i++) {
        const qdq_goal_step *s = &q->r->goal->steps[i];

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

/* Half a hundredth below 0 would be "-0.00". */
static double error_db(double error)
{
    const double db = error > 0 ? -10 * log10(error) : (double)INFINITY;

    return fabs(db) < 0.005 ? 0 : db;
}

static qdq_status print_layers(const quantize *q, FILE *to, qdq_error *err)
{
    cli_table t = {.arena = &q->c->arena, .columns = "llrr"};
    size_t n = 0;

    CLI_CELLS(&t, "back to float", "op", "own error, dB", "time saved in 8 bits");
    for (size_t i = 0; i < q->r->goal->n_layers; i++) {
        const qdq_goal_layer *l = &q->r->goal->layers[i];

        if (!l->is_float)
            continue;
        n++;
        CLI_CELLS(&t, l->node, l->op);
        if (isnan(l->error))
            cli_cell(&t, "-");
        else
            cli_cell(&t, "%.2f", error_db(l->error));
        if (isnan(l->saved_fraction))
            cli_cell(&t, "-");
        else
            cli_cell(&t, "%.4f", l->saved_fraction);
    }
    if (n == 0)
        return QDQ_OK;
    fputc('\n', to);
    return cli_table_print(&t, to, err);
}

static qdq_status print_forms(const quantize *q, FILE *to, qdq_error *err)
{
    cli_table t = {.arena = &q->c->arena, .columns = "lll"};
    size_t n = 0;

    CLI_CELLS(&t, "in another format", "op", "format");
    for (size_t i = 0; i < q->r->goal->n_layers; i++) {
        const qdq_goal_layer *l = &q->r->goal->layers[i];

        if (l->form == NULL)
            continue;
        n++;
        CLI_CELLS(&t, l->node, l->op, l->form);
    }
    if (n == 0)
        return QDQ_OK;
    fputc('\n', to);
    return cli_table_print(&t, to, err);
}

qdq_status cmd_quantize_goal_print(const quantize *q, FILE *to, qdq_error *err)
{
    const qdq_compare_result *r = q->r->compared;
    char text[2][40];

    if (r != NULL && !isnan(r->accuracy_a))
        fprintf(to, "accuracy %.4f (float), %.4f (quantized)\n", r->accuracy_a, r->accuracy_b);
    if (q->a->quant.metric_command != NULL)
        fprintf(to, "metric %g (float), %g (quantized)\n", q->r->metric_before, q->r->metric_after);
    if (q->r->goal != NULL && q->r->goal->has_float_channels)
        fprintf(to, "channels in float: SQNR in dB of the worst output %s, without %s\n",
                cli_sqnr_text(q->r->goal->float_channels_db, text[0], sizeof text[0]),
                cli_sqnr_text(q->r->goal->all_channels_db, text[1], sizeof text[1]));
    if (q->r->goal != NULL && q->r->goal->is_smoothed)
        fprintf(to, "activations are smoothed: SQNR in dB of the worst output %s, without %s\n",
                cli_sqnr_text(q->r->goal->smoothed_db, text[0], sizeof text[0]),
                cli_sqnr_text(q->r->goal->unsmoothed_db, text[1], sizeof text[1]));
    if (q->r->goal != NULL && q->r->goal->is_corrected)
        fprintf(to, "biases are corrected: SQNR in dB of the worst output %s, without %s\n",
                cli_sqnr_text(q->r->goal->corrected_db, text[0], sizeof text[0]),
                cli_sqnr_text(q->r->goal->uncorrected_db, text[1], sizeof text[1]));
    if (q->r->goal != NULL && q->r->goal->has_recurrent)
        fputs("recurrent layers: their data is quantized at run time\n", to);
    if (q->r->goal == NULL || q->r->goal->n_steps < 2)
        return QDQ_OK;
    QDQ_TRY(print_steps(q, to, err));
    QDQ_TRY(print_layers(q, to, err));
    QDQ_TRY(print_forms(q, to, err));
    fprintf(to,
            "\ntime: calibration %.1f s, judging %.1f s, errors of layers %.1f s, profiles %.1f s, "
            "trials %.1f s%s\n",
            q->r->goal->seconds.calibration, q->r->goal->seconds.evaluation,
            q->r->goal->seconds.layers, q->r->goal->seconds.profile, q->r->goal->seconds.trials,
            q->r->goal->is_timed_out ? "; the search stopped at its time limit" : "");
    return QDQ_OK;
}
