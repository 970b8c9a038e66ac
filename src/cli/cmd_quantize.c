/* cmd_quantize.c - place, calibrate, apply, judge, write: the order in which the library is called.
 * The options are in cmd_quantize_args.c, the summary is in cmd_quantize_summary.c. */
#include "cli/cmd_quantize.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/fail.h"
#include "cli/cli_files.h"
#include "cli/cli_text.h"
#include "cli/cli_why.h"
#include "qdq/report.h"

/* --dry-run, or --why without --output: nothing is written. */
static bool is_dry(const struct quantize_args *a)
{
    return a->dry_run || (a->why != NULL && a->out.output == NULL);
}

/* --- before the work -------------------------------------------------------------------------- */

static qdq_status check_outputs(cli *c, const struct quantize_args *a, qdq_error *err)
{
    if (is_dry(a))
        return QDQ_OK;
    QDQ_TRY(cli_output_check(c, &a->out, err));
    return cli_files_check(c, a->out.force, err);
}

/* --- the work --------------------------------------------------------------------------------- */

static bool needs_engine(const struct quantize_args *a)
{
    return a->plan == NULL ||
           ((a->quant.calib != NULL || a->quant.eval != NULL) && a->quant.sqnr && !is_dry(a));
}

static qdq_status open_data(quantize *q, qdq_error *err)
{
    QDQ_TRY(cli_samples_open(q->c, &q->a->quant, q->model, q->a->plan == NULL,
                             q->a->quant.sqnr && !is_dry(q->a), &q->samples, err));
    if (cmd_quantize_seeks_goal(q))
        cli_samples_for_goal(&q->a->quant, &q->samples);
    return QDQ_OK;
}

/* The plan, and unless it is to be printed alone, the model. */
static qdq_status quantize_model(quantize *q, qdq_error *err)
{
    const struct quantize_args *a = q->a;
    qdq_quantize_opts o = QDQ_QUANTIZE_OPTS_INIT;

    QDQ_TRY(cli_quant_fill(q->c, &a->quant, &o, err));
    o.samples = q->samples.split.calibrate;
    o.threads = cli_threads(a->threads);
    o.job = &q->c->job;
    o.why = q->why;
    QDQ_TRY(cmd_quantize_verify_opts(q, &o, err));
    if (cmd_quantize_seeks_goal(q)) {
        qdq_status st = cmd_quantize_goal_run(q, &o, err);

        if (!cmd_quantize_gives_up(q, st))
            return cli_at_file(q->path, st, err);
        cli_samples_without_goal(&q->samples);
        o.samples = q->samples.split.calibrate;
    }
    return cli_at_file(q->path,
                       qdq_quantize(q->model, q->target, q->engine, q->samples.data, &o, &q->plan,
                                    is_dry(a) ? NULL : &q->quantized, err),
                       err);
}

static qdq_status apply_plan(quantize *q, qdq_error *err)
{
    const struct quantize_args *a = q->a;

    if (is_dry(a))
        return QDQ_OK;
    return cli_at_file(a->plan,
                       qdq_plan_apply(q->plan, q->model, a->force_plan, &q->quantized, err), err);
}

static qdq_status plan_and_apply(quantize *q, qdq_error *err)
{
    const struct quantize_args *a = q->a;
    cli_shapes fitting;

    QDQ_TRY(cli_model_load(q->c, q->path, &q->model, err));
    QDQ_TRY(cli_shapes_set(&a->quant.set_shape, q->model, err));
    if (!is_dry(a)) /* nothing is written over external data, with -f either */
        QDQ_TRY(cli_files_guard(q->c, q->model, err));
    QDQ_TRY(cli_shapes_check(&a->quant.shape.shapes, &q->model, 1, err));
    QDQ_TRY(cli_shapes_pick(q->c, &a->quant.shape.shapes, q->model, &fitting, err));
    if (a->plan != NULL)
        QDQ_TRY(qdq_plan_load(a->plan, &q->plan, err));
    else
        QDQ_TRY(
            cli_target_open(q->c, a->quant.target, &a->quant.format, &a->engine, &q->target, err));
    if (needs_engine(a))
        QDQ_TRY(open_data(q, err));
    if (a->autotune != 0)
        QDQ_TRY(cmd_quantize_tune(q, err));
    if (needs_engine(a))
        QDQ_TRY(cli_engine_open(q->c, &a->engine, &q->engine, err));
    if (a->autotune != 0)
        return QDQ_OK;
    return cmd_quantize_verified(q, a->plan != NULL ? apply_plan : quantize_model, err);
}

/* Outputs that have no SQNR (strings, shapes that follow the data) are an error where the user
 * wants it, and otherwise no reason to keep the model back. */
static bool is_asked_for_judgement(const struct quantize_args *a)
{
    return cli_quant_has_goal(&a->quant) || a->quant.labels != NULL || a->quant.eval != NULL ||
           a->report != NULL;
}

static qdq_status compare_with_input(quantize *q, qdq_error *err)
{
    qdq_compare_opts o = QDQ_COMPARE_OPTS_INIT;

    QDQ_TRY(cmd_quantize_measure_given(q, err));
    if (q->engine == NULL || q->samples.split.judge == 0)
        return QDQ_OK;
    if (!(qdq_engine_get_info(q->engine)->capabilities & QDQ_CAN_RUN)) {
        cli_warn(&q->c->ui, "engine %s gives no outputs: no SQNR",
                 qdq_engine_get_info(q->engine)->name);
        return QDQ_OK;
    }
    if (q->a->plan == NULL && !q->samples.split.held_back)
        cli_warn(&q->c->ui,
                 "one sample: SQNR is measured on the sample that calibrated, not held out");
    if (q->goal != NULL) {
        q->compared = q->goal->compared;
        return QDQ_OK;
    }
    o.threads = cli_threads(q->a->threads);
    o.shapes = q->a->quant.shape.shapes.at;
    o.n_shapes = q->a->quant.shape.shapes.n;
    o.first = q->samples.split.first;
    o.count = q->samples.split.judge;
    o.job = &q->c->job;
    qdq_status st = qdq_compare(q->engine, q->model, q->quantized, cli_samples_judge(&q->samples),
                                &o, &q->compared, err);
    if (st == QDQ_E_UNSUPPORTED && !is_asked_for_judgement(q->a)) {
        cli_warn(&q->c->ui, "no SQNR, the outputs cannot be compared: %s", err->text);
        return QDQ_OK;
    }
    return cli_at_file(q->path, st, err);
}

/* A target for weights alone, which left nearly all of them as they are. */
static bool saves_little(const quantize *q)
{
    const qdq_plan_summary *sum = qdq_plan_get_summary(q->plan);
    int64_t before = 0, after = 0;
    qdq_error ignored = QDQ_ERROR_INIT;

    return sum->n_tensors == 0 && strncmp(sum->target, "int4", 4) == 0 &&
           cli_weight_bytes(q->model, &before, &ignored) == QDQ_OK &&
           cli_weight_bytes(q->quantized, &after, &ignored) == QDQ_OK &&
           (double)after > 0.95 * (double)before;
}

static void warn_of_little(const quantize *q)
{
    const qdq_plan_summary *sum = qdq_plan_get_summary(q->plan);

    cmd_quantize_warn_of_goal(q);
    if (q->goal != NULL && q->goal->is_float)
        return;
    if (sum->n_tensors + sum->n_weights + sum->n_biases == 0)
        cli_warn(&q->c->ui,
                 sum->n_existing > 0
                     ? "nothing was left to quantize: what the model has in 8 bits is kept"
                     : "nothing was quantized: the reasons are listed with the result");
    else if (saves_little(q))
        cli_warn(
            &q->c->ui,
            "weights: less than 5 %% saved; target %s quantizes only weights of MatMul, Gemm and "
            "Gather, --format int4 those of Conv too",
            sum->target);
    else if (sum->placement_only)
        cli_warn(&q->c->ui,
                 "placement only: scales come from random data, --calib DATA gives real ones");
}

/* Judged before it is written: a model that the engine refuses is not handed over. */
static qdq_status finish(quantize *q, qdq_error *err)
{
    const struct quantize_args *a = q->a;

    QDQ_TRY(compare_with_input(q, err));
    cli_ui_clear(&q->c->ui);
    QDQ_TRY(cmd_quantize_goal_answer(q, false, err));
    if (a->metadata)
        QDQ_TRY(qdq_plan_annotate(q->plan, q->model, &q->c->job, q->quantized, err));
    QDQ_TRY(cli_model_save(q->c, q->quantized, &a->out, err));
    if (a->plan_out != NULL)
        QDQ_TRY(qdq_plan_save(q->plan, a->plan_out, a->out.force, err));
    if (a->quant.cache_out != NULL)
        QDQ_TRY(qdq_plan_save_ranges(q->plan, a->quant.cache_out, a->out.force, err));
    QDQ_TRY(cmd_quantize_speed(q, err));
    QDQ_TRY(cmd_quantize_report(q, err));
    QDQ_TRY(q->c->json ? cmd_quantize_print_json(q, err)
                       : cmd_quantize_print_text(q, cli_result_stream(&a->out), err));
    warn_of_little(q);
    cmd_quantize_speed_warn(q);
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

static qdq_status run_quantize(cli *c, const void *args, qdq_error *err)
{
    quantize q = {.c = c,
                  .a = args,
                  .path = c->operand[0],
                  .began = qdq_clock_seconds(),
                  .metric_before = NAN,
                  .metric_after = NAN};

    QDQ_TRY(cmd_quantize_check(q.a, err));
    QDQ_TRY(cmd_quantize_goal_check(q.a, &q.max_drop, err));
    QDQ_TRY(check_outputs(c, q.a, err));
    QDQ_TRY(cmd_quantize_times_load(&q, err));
    if (q.a->why != NULL && (q.why = qdq_why_new(q.a->why)) == NULL)
        return qdq_nomem(err);
    qdq_status st = cli_metric_open(c, &q.a->quant, &q.metric, err);
    if (st == QDQ_OK)
        st = plan_and_apply(&q, err);
    cli_ui_clear(&c->ui);
    if (st == QDQ_OK)
        st = is_dry(q.a) ? print_plan(&q, err) : finish(&q, err);
    if (st == QDQ_OK)
        st = cmd_quantize_goal_answer(&q, true, err);
    cli_metric_close(&q.metric);
    json_decref(q.tuned);
    if (q.goal == NULL || q.goal->compared != q.compared)
        qdq_free(q.compared);
    qdq_free(q.computed);
    qdq_goal_result_free(q.goal);
    qdq_plan_free(q.times);
    qdq_plan_free(q.plan);
    qdq_why_free(q.why);
    cli_samples_close(&q.samples);
    qdq_engine_close(q.engine);
    qdq_target_free(q.target);
    qdq_model_free(q.quantized);
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
        "--min-sqnr 0 switches it off. If it is missed, biases are corrected where that helps.\n"
        "Then layers return to float until it holds: first those with the largest error (as\n"
        "compare --per-tensor reports it) for the time that 8 bits save there, from profiles, or\n"
        "estimated from shapes if the engine is not the target's own. The number of layers\n"
        "doubles, then bisects; layers may come back. The summary lists each trial.\n"
        "\n"
        "If only the float model reaches the default goal, the best plan that saves a tenth of\n"
        "the time is written, with a warning. If there is none, or if what reaches the goal is\n"
        "slower, the optimized float model is written, with the warning \"nothing was "
        "quantized\".\n"
        "The exit code is 0. Plans for weights only, of --plan, and of models with Q/DQ are\n"
        "evaluated, not changed. If only the float model reaches a goal of --min-sqnr,\n"
        "--min-metric or --max-drop, nothing is written and the exit code is 6; --best-effort\n"
        "writes the nearest model, with the same exit code.\n"
        "\n"
        "--metric-command is explained in docs/autotune.md, section Accuracy.\n"
        "\n"
        "With a goal and fewer than 64 samples the estimate is cross-validated in 4 folds: each\n"
        "sample is evaluated with ranges that did not see it; all samples calibrate the result.\n"
        "Of more samples one in eight, 16 to 64, is held out; so are those after the first N of\n"
        "--samples N, if there are 8. One sample calibrates and evaluates, without a bound.\n"
        "Without a goal one in eight, 1 to 64, is held out. The output reports whether shapes\n"
        "were open or fixed (--shape). --no-sqnr calibrates on all samples and measures nothing.\n"
        "--eval DATA evaluates on other data, and calibration uses all of its own.\n"
        "\n"
        "If the first plan reaches the goal, no measured time enters the files. A search uses\n"
        "measured times of layers and plans. The plan of --plan-out records them (key \"times\",\n"
        "with the processor and the target); --times PLAN reuses them and gives the same bytes.\n"
        "\n"
        "Q/DQ of the input are preserved with their scales; the target's rules complete what\n"
        "training left float. Quantizing twice equals quantizing once.\n"
        "\n"
        "--autotune measures placements on the engine and keeps the fastest, like 'qdq autotune'.\n"
        "The folder of that run stays next to the model: after Ctrl-C the same command resumes.\n"
        "\n"
        "With --calib, the target's own engine must compute what the model defines, as 'check\n"
        "--engine' tests it. Nodes that it computes wrongly stay float; if that does not help,\n"
        "nothing is written and the exit code is 5.\n"
        "\n"
        "--plan applies a plan unchanged and needs no engine; with --calib it is evaluated on\n"
        "that data. A plan that was made with --set-shape is for a model of that shape: repeat\n"
        "it.\n"
        "\n"
        "At last the file is timed in turns with the input, on the first evaluation sample, for\n"
        "at most 2 s and at most as long as the rest took, if the engine is the target's own. Not\n"
        "with --no-bench, --autotune, or a --plan without data. If it is slower than float, or "
        "not\n"
        "shown to be faster (the interval contains 1), a warning reports it; the exit code stays "
        "0.",
    .json =
        "{ \"model\", \"output\", \"target\", \"installed_target\", \"cpu\", \"engine\", "
        "\"engine_version\", "
        "\"placement_only\",\n"
        "  \"samples\": {\"calibration\", \"sqnr\", \"shapes\": \"open\" or \"fixed\", "
        "\"held_back\"},\n"
        "  \"quantized\": {\"Conv\": 20},\n"
        "  \"kept\": {\"Conv\": 3}, \"left_float\": [{\"reason\", \"nodes\"}], \"plan\": "
        "{\"tensors\", "
        "\"weights\", \"biases\"},\n"
        "  \"fused_layernorms\": count, where the opset was raised for them,\n"
        "  \"outputs\": [as compare --json has them],\n"
        "  \"weight_bytes\": {\"before\", \"after\"}, \"run_as\": [{\"input\", \"shape\"}],\n"
        "  \"metric\": {\"command\", \"before\", \"after\"}, with --metric-command,\n"
        "  \"top1_agreement\", \"accuracy\": {\"before\", \"after\"}, \"files\": [{\"path\", "
        "\"bytes\"}],\n"
        "  \"speed\": {\"not_measured\", \"speedup\", \"ci_low\", \"ci_high\", \"before_ms\", "
        "\"after_ms\", \"threads\",\n"
        "  \"shapes\": \"open\" or \"fixed\", \"fixed\": the same times with open dimensions fixed "
        "by the "
        "engine, or\n"
        "  null, \"optimized\": against the model with the same optimizations and without Q/DQ, or "
        "null} },\n"
        "  of which not_measured stands alone where it is no null; with a goal also\n"
        "  \"goal\": {\"reached\", \"shapes\", \"seconds\", \"cut\", \"bias_correction\",\n"
        "  \"corrected_db\", \"uncorrected_db\" (of the worst output, where biases are corrected "
        "for it),\n"
        "  \"evaluations\": [{\"float\", \"sqnr_db\", \"accuracy\", \"metric\", "
        "\"time_share\", \"holds\"}],\n"
        "  \"layers\": [{\"node\", \"op\", \"error\", \"saved_share\", \"float\"}]}.\n"
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
