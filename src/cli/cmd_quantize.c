/* cmd_quantize.c - opens what the options name, calls the library, writes and prints. The options
 * are in cmd_quantize_args.c, the call in cmd_quantize_make.c, the summary in
 * cmd_quantize_summary.c. */
#include "cli/cmd_quantize.h"

#include "base/clock.h"
#include "base/fail.h"
#include "cli/cli_files.h"
#include "cli/cli_report.h"
#include "cli/cli_why.h"
#include "qdq/report.h"
#include "qdq/statistics.h"

/* --- before the work -------------------------------------------------------------------------- */

static qdq_status check_outputs(cli *c, const struct quantize_args *a, qdq_error *err)
{
    if (cmd_quantize_is_dry(a))
        return cli_files_none(c, a->dry_run ? "--dry-run" : "--why without --output", err);
    QDQ_TRY(cli_output_check(c, &a->out, err));
    QDQ_TRY(cli_files_check(c, a->out.force, err));
    QDQ_TRY(cli_report_check(a->report, err));
    cli_files_warn_of_replacing(c);
    return QDQ_OK;
}

static qdq_status load_times(quantize *q, qdq_error *err)
{
    if (q->a->times == NULL)
        return QDQ_OK;
    if (!cmd_quantize_seeks_goal(q->a))
        return qdq_fail(err, QDQ_E_USAGE, "found --times where no goal is searched for");
    return qdq_plan_load(q->a->times, &q->times, err);
}

/* --- the work --------------------------------------------------------------------------------- */

static bool needs_engine(const struct quantize_args *a)
{
    return a->plan == NULL || ((a->quant.calib != NULL || a->quant.eval != NULL) && a->quant.sqnr &&
                               !cmd_quantize_is_dry(a));
}

static qdq_status apply_plan(quantize *q, qdq_error *err)
{
    const struct quantize_args *a = q->a;

    q->plan = q->given_plan;
    if (cmd_quantize_is_dry(a))
        return QDQ_OK;
    return cli_at_file(
        a->plan, qdq_plan_apply(q->plan, q->model, a->force_plan, &q->c->job, &q->planned, err),
        err);
}

static qdq_status open_model(quantize *q, qdq_error *err)
{
    const struct quantize_args *a = q->a;
    cli_shapes fitting;

    QDQ_TRY(cli_model_load(q->c, q->path, &q->model, err));
    QDQ_TRY(cli_shapes_set(&a->quant.set_shape, q->model, err));
    if (!cmd_quantize_is_dry(a)) /* nothing is written over external data, with -f either */
        QDQ_TRY(cli_files_guard(q->c, q->model, err));
    QDQ_TRY(cli_shapes_check(&a->quant.shape.shapes, &q->model, 1, err));
    return cli_shapes_pick(q->c, &a->quant.shape.shapes, q->model, &fitting, err);
}

/* The shapes of samples that the summary names. */
static qdq_status find_shapes(quantize *q, qdq_error *err)
{
    const cli_shapes *shapes = &q->a->quant.shape.shapes;

    QDQ_TRY(cli_data_find_shapes(q->c, q->samples.data, q->model, shapes, &q->calibrated_as, err));
    q->evaluated_as = q->calibrated_as;
    if (q->samples.eval == NULL)
        return QDQ_OK;
    q->evaluated_as = (cli_run_shapes){0};
    return cli_data_find_shapes(q->c, q->samples.eval, q->model, shapes, &q->evaluated_as, err);
}

static qdq_status open_all(quantize *q, qdq_error *err)
{
    const struct quantize_args *a = q->a;

    QDQ_TRY(open_model(q, err));
    if (a->plan != NULL)
        QDQ_TRY(qdq_plan_load(a->plan, &q->given_plan, err));
    else
        QDQ_TRY(
            cli_target_open(q->c, a->quant.target, &a->quant.format, &a->engine, &q->target, err));
    if (a->quant.cache != NULL)
        QDQ_TRY(cli_at_file(q->path,
                            qdq_statistics_is_file(a->quant.cache, &q->has_statistics, err), err));
    if (needs_engine(a))
        QDQ_TRY(cli_samples_open(q->c, &a->quant, q->model, a->plan == NULL && !q->has_statistics,
                                 a->quant.sqnr && !cmd_quantize_is_dry(a), &q->samples, err));
    QDQ_TRY(cli_at_only_file(q->c, q->path, find_shapes(q, err), err));
    if (a->autotune != 0)
        QDQ_TRY(cmd_quantize_tune(q, err));
    if (needs_engine(a))
        QDQ_TRY(cli_engine_open(q->c, &a->engine, &q->engine, err));
    return a->plan != NULL ? apply_plan(q, err) : QDQ_OK;
}

/* --- the result ------------------------------------------------------------------------------- */

/* Evaluated before it is written: a model that the engine refuses is not handed over. */
static qdq_status save(quantize *q, qdq_error *err)
{
    const struct quantize_args *a = q->a;
    qdq_model *made = q->planned != NULL ? q->planned : q->r->model;

    cli_ui_clear(&q->c->ui);
    if (a->metadata)
        QDQ_TRY(qdq_plan_annotate(q->plan, q->model, &q->c->job, made, err));
    if (a->plan_out != NULL)
        QDQ_TRY(qdq_plan_save(q->plan, a->plan_out, a->out.force, err));
    if (a->quant.cache_out != NULL)
        QDQ_TRY(qdq_plan_save_ranges(q->plan, a->quant.cache_out, a->out.force, err));
    return cli_model_save(q->c, made, &a->out, err); /* last: it may replace the input */
}

static qdq_status finish(const quantize *q, qdq_error *err)
{
    QDQ_TRY(cmd_quantize_report(q, err));
    QDQ_TRY(q->c->json ? cmd_quantize_json(q, NULL, err)
                       : cmd_quantize_print_text(q, cli_result_stream(&q->a->out), err));
    cmd_quantize_warn(q);
    return QDQ_OK;
}

/* What a dry run is asked for. */
static qdq_status print_plan(const quantize *q, qdq_error *err)
{
    char *text = NULL;

    if (q->why != NULL)
        return q->c->json ? cli_why_print_json(q->why, err)
                          : cli_why_print(q->c, q->why, stdout, err);
    if (!q->c->json)
        return cmd_quantize_print_plan(q, err);
    QDQ_TRY(qdq_plan_to_text(q->plan, &text, err));
    fputs(text, stdout);
    qdq_free(text);
    return QDQ_OK;
}

/* The goal is missed, and --best-effort wanted the model all the same. */
static qdq_status answer(const quantize *q, qdq_error *err)
{
    return q->r != NULL && q->r->verdict == QDQ_PTQ_MISSED && cmd_quantize_has_goal(q->a)
               ? qdq_fail(err, QDQ_E_GOAL, "%s: %s", q->path, q->r->missed)
               : QDQ_OK;
}

static qdq_status work(quantize *q, qdq_ptq_result **made, qdq_error *err)
{
    const bool is_dry = cmd_quantize_is_dry(q->a);

    QDQ_TRY(open_all(q, err));
    if (q->a->plan == NULL || !is_dry)
        QDQ_TRY(cmd_quantize_make(q, is_dry ? NULL : save, made, err));
    cli_ui_clear(&q->c->ui);
    QDQ_TRY(is_dry ? print_plan(q, err) : finish(q, err));
    return answer(q, err);
}

static qdq_status run_quantize(cli *c, const void *args, qdq_error *err)
{
    quantize q = {.c = c, .a = args, .path = c->operand[0], .began = qdq_clock_seconds()};
    qdq_ptq_result *made = NULL;

    QDQ_TRY(cmd_quantize_check(q.a, err));
    QDQ_TRY(cmd_quantize_goal_check(q.a, &q.max_drop, err));
    QDQ_TRY(check_outputs(c, q.a, err));
    QDQ_TRY(load_times(&q, err));
    if (q.a->why != NULL && (q.why = qdq_why_new(q.a->why)) == NULL)
        return qdq_nomem(err);
    qdq_status st = cli_metric_open(c, &q.a->quant, &q.metric, err);
    if (st == QDQ_OK)
        st = work(&q, &made, err);
    cli_ui_clear(&c->ui);
    cli_metric_close(&q.metric);
    json_decref(q.tuned);
    qdq_ptq_result_free(made);
    qdq_model_free(q.planned);
    qdq_plan_free(q.given_plan);
    qdq_plan_free(q.times);
    qdq_why_free(q.why);
    cli_samples_close(&q.samples);
    qdq_engine_close(q.reference);
    qdq_engine_close(q.engine);
    qdq_target_free(q.target);
    qdq_model_free(q.model);
    return st;
}

const cli_command cmd_quantize = {
    .name = "quantize",
    .synopsis = "MODEL -o OUT [--calib DATA] [options]",
    .operands = "MODEL",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "calibrate, place Q/DQ by the target's rules, write the model",
    .makes = "the quantized model",
    .about =
        "Optimizes a model, decides by the target's rules which tensors carry Q/DQ, takes scales\n"
        "from DATA and writes the model. The summary lists what was quantized and why the rest\n"
        "stays float. With --no-optimize only Constant nodes become initializers, and names that\n"
        "several nodes share become unique.\n"
        "\n"
        "DATA is an .npz (arrays named like the inputs), an .npy, an image, a folder of these,\n"
        "ONNX's test data (a folder of test_data_set_N or of input_K.pb, or one .pb), or\n"
        "random:SEED (floats normal(0,1), integers 0 or 1). The default is random:0: then the\n"
        "result shows placement only, as a warning reports.\n"
        "\n"
        "The same model, data, options, engine and number of --threads give the same bytes,\n"
        "unless a goal was searched for. Another number may change the last digits of scales; the\n"
        "default is the number of processors. Loops of qdq over weights and ranges take\n"
        "OMP_NUM_THREADS threads, and give the same bytes with any number.\n"
        "\n"
        "With real data the goal is 20 dB for every output and every slice of it, as a lower\n"
        "bound of the SQNR on samples that did not calibrate. --min-sqnr DB changes the goal,\n"
        "--min-sqnr 0 switches it off. If it is missed, few channels go to float and biases are\n"
        "corrected, where that helps. Then layers return to float until it holds: first those\n"
        "with the largest error (as compare --per-tensor has it) for the time that 8 bits save\n"
        "there, from profiles, or estimated from shapes on another engine. Their number doubles,\n"
        "then bisects; layers may come back. Trials end once the other samples cannot save\n"
        "them. Other formats: docs/formats.md, Goals.\n"
        "\n"
        "If only the float model reaches the default goal, the best plan that saves a tenth of\n"
        "the time is written, with a warning. If there is none, or if what reaches the goal is\n"
        "slower, the optimized float model is written, with the warning \"nothing was "
        "quantized\".\n"
        "The exit code is 0. Plans for weights only, of --plan, and of models with Q/DQ are\n"
        "evaluated, not changed. If only the float model reaches a goal that was named,\n"
        "nothing is written and the exit code is 6, as with --best-effort, which writes the\n"
        "nearest model.\n"
        "\n"
        "--metric-command: docs/metric.md.\n"
        "\n"
        "With a goal and fewer than 64 samples the estimate is cross-validated in 4 folds: each\n"
        "sample is evaluated with ranges that did not see it, and all calibrate the result.\n"
        "With weights rounded by samples (awq, gptq) one in four is held out, at least 4 or half.\n"
        "Of more samples one in eight, 16 to 64, is held out; so are those after the first N of\n"
        "--samples N, if there are 8. One sample calibrates and evaluates, without a bound.\n"
        "Without a goal one in eight, 1 to 64, is held out. --no-sqnr calibrates on all\n"
        "and measures nothing.\n"
        "--eval DATA evaluates on other data; calibration uses all of its own.\n"
        "\n"
        "If the first plan reaches the goal, no measured time enters the files. A search uses\n"
        "measured times of layers and plans. The plan of --plan-out records them (key \"times\",\n"
        "with the processor and the target); --times PLAN reuses them and gives the same bytes.\n"
        "\n"
        "Q/DQ of the input are preserved with their scales; the target's rules complete what\n"
        "training left float. Quantizing twice equals quantizing once.\n"
        "\n"
        "--autotune keeps the fastest placement that it measures, like 'qdq autotune'.\n"
        "The folder of that run stays next to the model: after Ctrl-C the same command resumes.\n"
        "\n"
        "With --calib, the target's own engine must compute what the model says, as 'check\n"
        "--engine' tests it: nodes that it computes wrongly stay float, or nothing is written\n"
        "(exit code 5). If another engine computes wrongly and misses the goal, a warning names\n"
        "the defect, and no layer changes.\n"
        "\n"
        "--plan applies a plan unchanged and needs no engine; with --calib it is evaluated on\n"
        "that data. A plan made with --set-shape is for a model of that shape: repeat it.\n"
        "\n"
        "At last the file is timed in turns with the input, on the first evaluation sample, for\n"
        "at most 2 s and no longer than the rest, if the engine is the target's own. Not\n"
        "with --no-bench, --autotune, or a --plan without data. A warning reports a file that is\n"
        "slower than float, or not shown to be faster (interval with 1); the exit code is 0.",
    .json =
        "{ \"model\", \"output\", \"target\", \"installed_target\", \"cpu\", \"engine\", "
        "\"engine_version\", \"placement_only\",\n"
        "  \"samples\": {\"calibration\", \"sqnr\", \"shapes\": \"open\" or \"fixed\", "
        "\"held_back\",\n"
        "  \"unseen_fraction\": of inputs, whose faults these may not show; \"statistics\": "
        "file},\n"
        "  \"quantized\": {\"Conv\": 20},\n"
        "  \"kept\": {\"Conv\": 3}, \"left_float\": [{\"reason\", \"nodes\"}], \"plan\": "
        "{\"tensors\", \"weights\", \"biases\", \"dynamic\"},\n"
        "  \"fused_layernorms\": count, where the opset was raised for them,\n"
        "  \"gptq\": [{\"weight\": name, \"accepted\": bool, \"gain_db\": less error on held-out\n"
        "    rows, \"reason\": why not or null}], where the method of weights is gptq,\n"
        "  \"outputs\": [as compare --json has them],\n"
        "  \"weight_bytes\": {\"before\", \"after\"}, \"run_as\": [{\"input\", \"shape\"}],\n"
        "  \"metric\": {\"command\", \"before\", \"after\"}, with --metric-command,\n"
        "  \"top1_agreement\", \"accuracy\": {\"before\", \"after\"}, \"files\": [{\"path\", "
        "\"bytes\"}],\n"
        "  \"speed\": {\"not_measured\", \"speedup\", \"ci_low\", \"ci_high\", \"before_ms\", "
        "\"after_ms\", \"threads\",\n"
        "  \"shapes\": \"open\" or \"fixed\", \"fixed\": the same times with open dimensions fixed "
        "by the engine, or\n"
        "  null, \"optimized\": against the model with the same optimizations and without Q/DQ, or "
        "null} },\n"
        "  of which not_measured stands alone where it is not null; with a goal also\n"
        "  \"goal\": {\"reached\", \"shapes\", \"seconds\", \"cut\", \"bias_correction\",\n"
        "  \"corrected_db\", \"uncorrected_db\" (of the worst output, if it is true),\n"
        "  \"float_channels\", \"float_channels_db\", \"all_channels_db\" (the same),\n"
        "  \"smooth\", \"smoothed_db\", \"unsmoothed_db\" (the same),\n"
        "  \"recurrent\" (LSTMs are dynamic),\n"
        "  \"evaluations\": [{\"float\", \"sqnr_db\", \"accuracy\", \"metric\", \"time_share\", "
        "\"holds\"}],\n"
        "  \"layers\": [{\"node\", \"op\", \"error\", \"saved_share\", \"float\",\n"
        "  \"form\" (neither the target's nor float; or null)}]}.\n"
        "With --calib, and the target's own engine, also \"engine_check\", as 'check --engine' has "
        "it.\n"
        "null: not known or not measured; equal outputs have sqnr_db null and \"equal\": true.\n"
        "With --why also \"why\": [{\"node\", \"rule\", \"holds\", \"verdict\"}].\n"
        "With --set-shape also \"set_shape\": [{\"input\", \"shape\"}].\n"
        "With --autotune also \"autotune\": what 'qdq autotune --json' prints.\n"
        "With --dry-run: the plan, or with --why that list.",
    .example = "qdq quantize model.onnx -o model.qdq.onnx --calib photos --mean 127 --std 128",
    .common = "output force calib target format min-sqnr exclude report plan-out dry-run why "
              "threads mean std json help",
    .groups = cmd_quantize_groups,
    .args_size = sizeof(struct quantize_args),
    .run = run_quantize,
};
