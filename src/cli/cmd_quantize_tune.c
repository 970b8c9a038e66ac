/* cmd_quantize_tune.c - quantize --autotune: calibration, rules and tuning in one go. What the
 * tuner leaves in its folder becomes plan and model of the command, which are evaluated and written
 * as if the rules had made them. */
#include "cli/cli_tune.h"
#include "cli/cli_files.h"
#include "cli/cmd_quantize.h"

#include "base/fail.h"

qdq_status cmd_quantize_tune_check(const struct quantize_args *a, qdq_error *err)
{
    const char *clash = a->plan != NULL                              ? "--plan"
                        : a->dry_run                                 ? "--dry-run"
                        : a->why != NULL                             ? "--why"
                        : a->float_channels == QDQ_FLOAT_CHANNELS_ON ? "--float-channels"
                        : a->smooth == QDQ_SMOOTH_ON                 ? "--smooth"
                                                                     : NULL;

    if (a->autotune == 0)
        return a->autotune_dir == NULL
                   ? QDQ_OK
                   : qdq_fail(err, QDQ_E_USAGE, "found --autotune-dir without --autotune");
    if (clash != NULL)
        return qdq_fail(err, QDQ_E_USAGE, "found --autotune and %s, expected one of them", clash);
    if (cli_is_stdout(a->out.output) && a->autotune_dir == NULL)
        return qdq_fail(
            err, QDQ_E_USAGE,
            "found --autotune and --output -, expected --autotune-dir: no folder has that name");
    return QDQ_OK;
}

static qdq_status folder_of(quantize *q, qdq_error *err)
{
    const struct quantize_args *a = q->a;

    q->tuned_in = a->autotune_dir != NULL
                      ? a->autotune_dir
                      : qdq_arena_printf(&q->c->arena, "%s.tune", a->out.output);
    QDQ_NEED(q->tuned_in != NULL, err);
    return cli_tune_check_folder(q->tuned_in, q->path, "the model", a->out.force, err);
}

static qdq_status take_result(quantize *q, qdq_error *err)
{
    const char *plan = qdq_arena_printf(&q->c->arena, "%s/plan.json", q->tuned_in);
    const char *model = qdq_arena_printf(&q->c->arena, "%s/model.onnx", q->tuned_in);

    QDQ_NEED(plan != NULL && model != NULL, err);
    QDQ_TRY(cli_tune_report_load(q->tuned_in, &q->tuned, err));
    QDQ_TRY(qdq_plan_load(plan, &q->given_plan, err));
    return qdq_model_load(model, NULL, &q->planned, err);
}

qdq_status cmd_quantize_tune(quantize *q, qdq_error *err)
{
    const struct quantize_args *a = q->a;
    qdq_tune_opts o = QDQ_TUNE_OPTS_INIT;
    qdq_tune_details details = QDQ_TUNE_DETAILS_INIT;

    QDQ_TRY(folder_of(q, err));
    o.preset = (qdq_tune_preset)(a->autotune - 1);
    details.keep_finished = !a->out.force;
    o.details = &details;
    const cli_tune_request r = {.path = q->path,
                                .model = q->model,
                                .target = q->target,
                                .quant = &a->quant,
                                .engine = &a->engine,
                                .samples = &q->samples,
                                .dir = q->tuned_in,
                                .calibration_threads = cli_threads(a->threads),
                                .one_format =
                                    a->one_format || cli_format_is_named(&a->quant.format),
                                .max_drop = q->max_drop,
                                .metric = &q->metric};
    cli_samples_for_goal(&a->quant, q->target, &q->samples);
    QDQ_TRY(cli_tune_run(q->c, &r, &o, err));
    if (q->samples.split.folds > 0) { /* the result is calibrated on all of them */
        q->samples.split.folds = 0;
        q->samples.split.held_out = false;
    }
    return take_result(q, err);
}

qdq_status cmd_quantize_tune_print(const quantize *q, FILE *to, qdq_error *err)
{
    if (q->tuned == NULL)
        return QDQ_OK;
    fprintf(to, "\ntuned in %s\n", q->tuned_in);
    return cli_tune_report_print(q->c, q->tuned, to, err);
}
