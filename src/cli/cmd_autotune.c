/* cmd_autotune.c - tune a model into a folder, and tell how a run stands. The options are in
 * cmd_autotune_args.c, the call is in cli_tune.c. */
#include "cli/cmd_autotune.h"

#include <string.h>

#include "base/fail.h"
#include "base/file.h"
#include "cli/cli_files.h"
#include "cli/cli_host.h"
#include "cli/cli_report.h"

typedef struct autotune {
    cli *c;
    const struct autotune_args *a;
    const char *path;
    /* ends with NULL */
    qdq_model *model, *baselines[QDQ_TUNE_MOST_BASELINES + 1];
    qdq_target *target;
    cli_samples samples;
    cli_run_shapes run_as;
    double max_drop;
    cli_metric metric;
    cli_range range;
    /* of inputs: --shape, and what is timed of a range */
    cli_shapes usual;
} autotune;

/* --- status ----------------------------------------------------------------------------------- */

static qdq_status print_status(cli *c, const char *dir, json_t *report, qdq_error *err)
{
    printf("%s\n", dir);
    QDQ_TRY(cli_tune_report_print(c, report, stdout, err));
    cli_tune_report_verdict(report, stdout);
    return QDQ_OK;
}

static qdq_status tell_status(cli *c, const char *dir, qdq_error *err)
{
    char *text = NULL;

    QDQ_TRY(qdq_tune_status(dir, &text, err));
    json_t *report = json_loads(text, 0, NULL);
    qdq_status st = report == NULL ? qdq_nomem(err) : QDQ_OK;
    if (st == QDQ_OK && c->json)
        fputs(text, stdout);
    else if (st == QDQ_OK)
        st = print_status(c, dir, report, err);
    json_decref(report);
    qdq_free(text);
    return st;
}

/* --- tuning ----------------------------------------------------------------------------------- */

/* Random samples have the usual shape also where the model that is timed stays open, as it does for
 * trtexec. */
static qdq_status open_samples(autotune *t, qdq_error *err)
{
    cli_quant_args q = t->a->quant;

    q.shape.shapes = t->usual;
    QDQ_TRY(cli_samples_open(t->c, &q, t->model, true, q.sqnr, &t->samples, err));
    cli_samples_for_goal(&q, t->target, &t->samples);
    return cli_data_find_shapes(t->c, t->samples.data, t->model, &t->usual, &t->run_as, err);
}

static qdq_status load_baselines(autotune *t, qdq_error *err)
{
    const cli_names *names = &t->a->qdq_baselines;

    for (size_t i = 0; i < names->n; i++) {
        qdq_status st = cli_model_load(t->c, names->at[i], &t->baselines[i], err);
        if (st == QDQ_OK)
            st = cli_shapes_set(&t->a->quant.set_shape, t->baselines[i], err);
        if (st != QDQ_OK)
            return cli_at_file(names->at[i], st, err);
    }
    return QDQ_OK;
}

static qdq_status load(autotune *t, qdq_error *err)
{
    const cli_quant_args *q = &t->a->quant;
    cli_format_args format;
    cli_shapes fitting;

    QDQ_TRY(cmd_autotune_format(t->a, &format, err));
    QDQ_TRY(cli_model_load(t->c, t->path, &t->model, err));
    QDQ_TRY(cli_shapes_set(&q->set_shape, t->model, err));
    QDQ_TRY(cli_files_guard(t->c, t->model, err));
    QDQ_TRY(cli_shapes_check(&q->shape.shapes, &t->model, 1, err));
    QDQ_TRY(cli_shapes_check(&t->range.opt, &t->model, 1, err));
    QDQ_TRY(cli_shapes_pick(t->c, &q->shape.shapes, t->model, &fitting, err));
    QDQ_TRY(cli_shapes_pick(t->c, &t->range.opt, t->model, &fitting, err));
    const char *target = q->target != NULL ? q->target : qdq_target_of_engine(t->a->engine.engine);
    QDQ_TRY(cli_target_open(t->c, target, &format, &t->a->engine, &t->target, err));
    QDQ_TRY(load_baselines(t, err));
    return open_samples(t, err);
}

static qdq_status tune(autotune *t, qdq_error *err)
{
    const struct autotune_args *a = t->a;
    autotune_opts o;
    const cli_tune_request r = {.path = t->path,
                                .model = t->model,
                                .target = t->target,
                                .quant = &a->quant,
                                .engine = &a->engine,
                                .samples = &t->samples,
                                .dir = a->output,
                                .calibration_threads = cli_threads(a->calib_threads),
                                .one_format = cli_format_is_named(&a->quant.format) || a->type != 0,
                                .max_drop = t->max_drop,
                                .metric = &t->metric};

    QDQ_TRY(cmd_autotune_fill(a, &o, err));
    QDQ_TRY(cli_host_threads(t->c, &a->engine, a->threads, &o.tune.threads, err));
    o.tune.qdq_baselines = (const qdq_model *const *)t->baselines;
    return cli_tune_run(t->c, &r, &o.tune, err);
}

/* --- result ----------------------------------------------------------------------------------- */

static const char *in_folder(const autotune *t, const char *name)
{
    return qdq_arena_printf(&t->c->arena, "%s/%s", t->a->output, name);
}

static qdq_status save_ranges(const autotune *t, qdq_error *err)
{
    const char *path = in_folder(t, "plan.json");
    qdq_plan *plan = NULL;

    if (t->a->quant.cache_out == NULL)
        return QDQ_OK;
    QDQ_NEED(path != NULL, err);
    QDQ_TRY(qdq_plan_load(path, &plan, err));
    qdq_status st = qdq_plan_save_ranges(plan, t->a->quant.cache_out, t->a->force, err);
    qdq_plan_free(plan);
    return st;
}

/* As quantize has it: layers, ranges, borders of what was written. */
static qdq_status write_page(const autotune *t, qdq_plan *plan, qdq_model *written, json_t *result,
                             qdq_error *err)
{
    const struct autotune_args *a = t->a;
    qdq_bench_model times[2];
    cli_report_request r = {.path = t->path,
                            .model = t->model,
                            .quantized = written,
                            .plan = plan,
                            .target = t->target,
                            .quant = &a->quant,
                            .samples = &t->samples,
                            .times = cli_tune_report_times(result, times) ? times : NULL,
                            .threads = cli_threads(a->threads),
                            .file = a->report,
                            .force = a->force};

    QDQ_TRY(cli_engine_open(t->c, &a->engine, &r.engine, err));
    qdq_status st = cli_report_write(t->c, &r, err);
    qdq_engine_close(r.engine);
    cli_ui_clear(&t->c->ui);
    return st;
}

static qdq_status make_page(const autotune *t, json_t *result, qdq_error *err)
{
    const char *plan_path = in_folder(t, "plan.json"), *path = in_folder(t, "model.onnx");
    qdq_plan *plan = NULL;
    qdq_model *written = NULL;

    QDQ_NEED(plan_path != NULL && path != NULL, err);
    QDQ_TRY(qdq_plan_load(plan_path, &plan, err));
    qdq_status st = qdq_model_load(path, NULL, &written, err);
    if (st == QDQ_OK)
        st = write_page(t, plan, written, result, err);
    qdq_model_free(written);
    qdq_plan_free(plan);
    return st;
}

/* --report, as its name ends. */
static qdq_status report(const autotune *t, json_t *result, qdq_error *err)
{
    const char *path = t->a->report;
    char *text = NULL;

    if (path == NULL)
        return QDQ_OK;
    if (!cli_has_suffix(path, ".json"))
        return make_page(t, result, err);
    QDQ_TRY(cli_tune_report_text(t->a->output, &text, err));
    qdq_status st = qdq_write_file(path, t->a->force, text, strlen(text), err);
    qdq_free(text);
    return st;
}

/* Why a search ends before its time. */
static void print_search(const autotune *t, json_t *result)
{
    const json_int_t excluded = json_integer_value(json_object_get(result, "ruled_out"));

    if (t->a->time_s <= 0 || json_is_true(json_object_get(result, "budget_used_up")))
        return;
    printf("search complete after %.1f of %.0f s",
           json_number_value(json_object_get(result, "seconds")), t->a->time_s);
    if (excluded > 0)
        printf(" (%lld candidate%s ruled out by profiles)", (long long)excluded,
               cli_plural((size_t)excluded));
    putchar('\n');
}

static qdq_status print_result(const autotune *t, json_t *result, qdq_error *err)
{
    const char *files[4] = {in_folder(t, "model.onnx"), in_folder(t, "plan.json"),
                            in_folder(t, "report.html")};
    size_t n_files = 3;

    if (t->a->mode == QDQ_TUNE_REGION)
        files[n_files++] = in_folder(t, "patterns.yaml");
    printf("%s\n", t->path);
    cli_shapes_set_print(&t->a->quant.set_shape, stdout);
    cli_data_print_shapes(&t->run_as, stdout);
    QDQ_TRY(cli_tune_report_print(t->c, result, stdout, err));
    print_search(t, result);
    QDQ_TRY(cli_files_print(t->c, files, n_files, stdout, err));
    cli_tune_report_verdict(result, stdout);
    return QDQ_OK;
}

static qdq_status print_json(const char *dir, qdq_error *err)
{
    char *text = NULL;

    QDQ_TRY(cli_tune_report_text(dir, &text, err));
    fputs(text, stdout); /* ends with a newline */
    qdq_free(text);
    return QDQ_OK;
}

static qdq_status finish(const autotune *t, qdq_error *err)
{
    json_t *result = NULL;

    QDQ_TRY(save_ranges(t, err));
    QDQ_TRY(cli_tune_report_load(t->a->output, &result, err));
    qdq_status st = report(t, result, err);
    if (st == QDQ_OK)
        st = t->c->json ? print_json(t->a->output, err) : print_result(t, result, err);
    json_decref(result);
    return st;
}

static qdq_status check_outputs(autotune *t, qdq_error *err)
{
    const struct autotune_args *a = t->a;

    QDQ_TRY(cli_quant_max_drop(&a->quant, &t->max_drop, err));
    QDQ_TRY(cli_tune_check_folder(a->output, t->path, "the model", a->force, err));
    for (size_t i = 0; i < a->qdq_baselines.n; i++)
        QDQ_TRY(cli_tune_check_folder(a->output, a->qdq_baselines.at[i], "a Q/DQ baseline",
                                      a->force, err));
    QDQ_TRY(cli_tune_add_files(t->c, a->output, err));
    QDQ_TRY(cli_files_check(t->c, a->force, err));
    return cli_report_check(a->report, err);
}

static qdq_status run_autotune(cli *c, const void *args, qdq_error *err)
{
    struct autotune_args own = *(const struct autotune_args *)args;
    autotune t = {.c = c, .a = &own};

    QDQ_TRY(cmd_autotune_check(t.a, c->n_operands, err));
    if (t.a->status != NULL)
        return tell_status(c, t.a->status, err);
    t.path = c->operand[0];
    QDQ_TRY(check_outputs(&t, err));
    QDQ_TRY(cli_range_read(c, &own.range, &own.engine, &own.quant.shape.shapes, &t.range, err));
    QDQ_TRY(cli_range_merge(c, &t.range, &own.quant.shape.shapes, &t.usual, err));
    QDQ_TRY(cli_range_apply(c, &t.range, &own.engine, &own.quant.shape.shapes, err));
    qdq_status st = load(&t, err);
    if (st == QDQ_OK)
        st = cli_metric_open(c, &own.quant, &t.metric, err);
    if (st == QDQ_OK)
        st = tune(&t, err);
    if (st == QDQ_OK)
        st = finish(&t, err);
    cli_metric_close(&t.metric);
    cli_samples_close(&t.samples);
    qdq_target_free(t.target);
    for (size_t i = 0; i < own.qdq_baselines.n; i++)
        qdq_model_free(t.baselines[i]);
    qdq_model_free(t.model);
    return st;
}

const cli_command cmd_autotune = {
    .name = "autotune",
    .synopsis = "MODEL -o DIR [--calib DATA] [options]",
    .operands = "MODEL",
    .min_operands = 0,
    .max_operands = 1,
    .summary = "find by measuring which Q/DQ make a model faster",
    .makes = "the quantized model",
    .about =
        "Times placements of Q/DQ on the engine, each in interleaved pairs with the best so far,\n"
        "and keeps significantly faster ones. Equivalent regions of the model are decided\n"
        "together; with --mode subgraph, what the engine computes in one layer, which needs fewer\n"
        "builds where the engine times layers (up to 14, not 42, with the default preset, and a\n"
        "few for run-time data, baselines and open dims) and suits large models. At the end the\n"
        "input, the rules' plan and the best plan are measured again: the fastest is\n"
        "DIR/model.onnx, which is never slower than the input. docs/autotune.md explains the run\n"
        "and its result.\n"
        "\n"
        "A model with open dimensions is also measured with the other shapes: fixed by the engine\n"
        "to those of the samples, or open if --shape fixes them. It is slower in neither.\n"
        "\n"
        "The verdict is 'tuned', 'rules' (the rules' plan is fastest), 'baseline' (a file of\n"
        "--qdq-baseline is fastest, and DIR/model.onnx is that file) or 'float' (the input is\n"
        "fastest); the exit code is 0 with each. A file of --qdq-baseline that misses the goal,\n"
        "or that the engine computes wrongly, is reported and not written; a file with other\n"
        "weights than MODEL gives only its placement.\n"
        "\n"
        "Without --calib scales come from random data: the result shows placement only, as the\n"
        "last line reports. With real data the goal is 20 dB for every output; --min-sqnr and\n"
        "--max-drop set another one, --min-sqnr 0 none. Candidates that miss the goal are\n"
        "rejected; if all do, the verdict is 'float', with the reason.\n"
        "\n"
        "With --state samples are sequences: output OUT of a step is input IN of the next one. "
        "Whole\n"
        "sequences calibrate and evaluate; the step in the middle is timed, on its states.\n"
        "\n"
        "DIR gets model.onnx (the best at every moment), plan.json, report.json, report.html,\n"
        "patterns.yaml (for --pattern-cache; region mode), baseline.onnx, tune.db and logs; with\n"
        "--mode subgraph model_raw.onnx (the first proposal), MODEL.fp32.graph.json (the engine's\n"
        "layers) and autotune_cache.json; with --pareto pareto/model_K.onnx and plan_K.json.\n"
        "\n"
        "Engines run in a process of their own: a crash costs one candidate. Ctrl-C ends a run\n"
        "with exit code 130, a second one at once; the same command resumes it and repeats no\n"
        "measurement. 'qdq autotune --status DIR' reports the state of a run from anywhere.",
    .json =
        "report.json (docs/json.md): { \"mode\", \"engine\", \"baseline_ms\", \"rules_ms\", "
        "\"rules_why\",\n"
        "  \"final_ms\", \"predicted_ms\", \"speedup\", \"ci_low\", \"ci_high\", \"shapes\", "
        "\"other_shapes\",\n"
        "  \"builds\", \"timings\", \"ruled_out\", \"seconds\", \"verdict\", \"regions\", "
        "\"patterns\",\n"
        "  \"min_detectable_gain\", \"sqnr_db\", \"worst\", \"judged_on\", \"bound_db\", "
        "\"top1\",\n"
        "  \"half_agreement\", \"placement_only\", \"resumed\", \"budget_used_up\", \"failed\", "
        "\"reason\",\n"
        "  \"engine_check\", \"overruled\", \"types\", \"weights_alone\",\n"
        "  \"at_run_time\", \"other_weights\" }\n"
        "With --metric-command also \"metric\": { \"name\", \"input\", \"written\", \"min\", "
        "\"max_drop\" }.\n"
        "With --state also \"steps\" and \"timed_step\".\n"
        "With --set-shape also \"set_shape\", with --qdq-baseline \"qdq_baselines\", with "
        "--pareto\n"
        "\"pareto\". With --mode subgraph \"strategy\", \"groups\", \"keys\", \"raw_ms\", "
        "\"kept\",\n"
        "\"rejected\", \"undecided\", \"apart_builds\", \"not_apart\", \"apart_by\" and "
        "\"decisions\"\n"
        "instead of \"regions\" and \"patterns\". With --status also \"state\": \"running\",\n"
        "\"interrupted\", \"failed\" (then \"error\" has the reason) or \"finished\", and of an\n"
        "unfinished run the known keys.",
    .example = "qdq autotune model.onnx -o tuned --calib photos --mean 127 --std 128 --time 10m",
    .common = "output force calib target time preset mode engine min-sqnr min-gain threads status "
              "report mean std help",
    .groups = cmd_autotune_groups,
    .args_size = sizeof(struct autotune_args),
    .run = run_autotune,
};
