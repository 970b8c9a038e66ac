/* cmd_calibrate.c - statistics of samples, in parts that merge. */
#include <string.h>

#include "base/fail.h"
#include "cli/cli.h"
#include "cli/cli_engine.h"
#include "cli/cli_files.h"
#include "cli/cli_quant.h"
#include "cli/cli_values.h"
#include "qdq/statistics.h"

struct calibrate_args {
    cli_common common;
    cli_engine_args engine;
    cli_quant_args quant;
#include "cli/cli_members.def"
#include "cli/cmd_calibrate.def"
};

#define ARGS calibrate_args
#include "cli/cli_tables.def"
#include "cli/cmd_calibrate.def"

static const cli_group groups[] = {
    {"output", output_opts, 0},
    {"calibration", calibration_opts, 0},
    {"what is quantized", target_opts, 0},
    {"", cli_quant_clean_opts, CLI_AT(calibrate_args, quant)},
    {"constant folding", cli_fold_opts, CLI_AT(calibrate_args, quant.fold)},
    {"", cli_fold_growth_opts, CLI_AT(calibrate_args, quant.fold)},
    {"formats", cli_format_opts, CLI_AT(calibrate_args, quant.format)},
    {"data", cli_data_opts, CLI_AT(calibrate_args, quant.data)},
    {"", cli_state_opts, CLI_AT(calibrate_args, quant.state)},
    {"shapes", cli_shape_opts, CLI_AT(calibrate_args, quant.shape)},
    {"", cli_set_shape_opts, CLI_AT(calibrate_args, quant.set_shape)},
    {"engine", cli_engine_opts, CLI_AT(calibrate_args, engine)},
    {"options", cli_common_opts, 0},
    {NULL, NULL, 0},
};

typedef struct calibration {
    cli *c;
    const struct calibrate_args *a;
    qdq_model *model;
    qdq_target *target;
    qdq_engine *engine;
    qdq_data *data;
    qdq_statistics *made;
} calibration;

/* --- before the work -------------------------------------------------------------------------- */

/* "2/16" */
static qdq_status read_part(const char *text, qdq_calibrate_opts *o, qdq_error *err)
{
    unsigned long long part = 0, n = 0;
    int end = 0;

    if (text == NULL)
        return QDQ_OK;
    if (strspn(text, "0123456789/") != strlen(text) || strlen(text) > 20 ||
        sscanf(text, "%llu/%llu%n", &part, &n, &end) != 2 || text[end] != '\0' || part < 1 ||
        part > n)
        return qdq_fail(err, QDQ_E_USAGE,
                        "--part: found '%s', expected I/N with I from 1 to N, as 2/16", text);
    o->part = (size_t)part;
    o->n_parts = (size_t)n;
    return QDQ_OK;
}

/* An option that --merge has no use for; NULL: none is given. */
static const char *find_unused(const struct calibrate_args *a)
{
    const cli_group *end = groups + QDQ_COUNT(groups) - 2; /* without those of every command */

    for (const cli_group *g = groups + 1; g < end; g++) {
        const char *given = cli_first_given(g->opts, (const char *)a + g->offset);

        if (given != NULL)
            return given;
    }
    return NULL;
}

static qdq_status check(cli *c, const struct calibrate_args *a, qdq_error *err)
{
    const char *unused = a->merge ? find_unused(a) : NULL;

    if (a->output == NULL)
        return qdq_fail(err, QDQ_E_USAGE, "--output: missing; expected -o FILE");
    if (cli_is_stdout(a->output) && c->json)
        return qdq_fail(err, QDQ_E_USAGE, "found --json and --output -: both would go to stdout");
    if (unused != NULL)
        return qdq_fail(err, QDQ_E_USAGE, "--merge: conflicts with %s; expected one of them",
                        unused);
    if (a->merge && c->n_operands < 2)
        return qdq_fail(err, QDQ_E_USAGE, "--merge: found no PART, expected MODEL PART...");
    if (!a->merge && c->n_operands > 1)
        return qdq_fail(err, QDQ_E_USAGE, "found '%s' without --merge, expected MODEL alone",
                        c->operand[1]);
    if (!a->merge && a->quant.calib == NULL)
        return qdq_fail(err, QDQ_E_USAGE, "found no --calib, expected DATA, or --merge PART...");
    for (size_t i = 1; i < c->n_operands; i++)
        QDQ_TRY(cli_files_add(c, c->operand[i], "PART", CLI_READS, err));
    QDQ_TRY(cli_files_check(c, a->force, err));
    return cli_quant_check_clean(&a->quant, err);
}

/* --- the work --------------------------------------------------------------------------------- */

static qdq_status open_all(calibration *k, qdq_error *err)
{
    const struct calibrate_args *a = k->a;
    const cli_data_request request = {.spec = a->quant.calib,
                                      .args = &a->quant.data,
                                      .shapes = &a->quant.shape.shapes,
                                      .states = &a->quant.state};
    cli_shapes fitting;

    QDQ_TRY(cli_shapes_set(&a->quant.set_shape, k->model, err));
    QDQ_TRY(cli_shapes_check(&a->quant.shape.shapes, &k->model, 1, err));
    QDQ_TRY(cli_shapes_pick(k->c, &a->quant.shape.shapes, k->model, &fitting, err));
    QDQ_TRY(cli_target_open(k->c, a->quant.target, &a->quant.format, &a->engine, &k->target, err));
    QDQ_TRY(cli_data_open(k->c, &request, k->model, &k->data, err));
    if ((size_t)a->quant.samples > qdq_data_count(k->data))
        cli_warn(&k->c->ui, "--samples %zu: %s has %zu", (size_t)a->quant.samples, a->quant.calib,
                 qdq_data_count(k->data));
    return cli_engine_open(k->c, &a->engine, &k->engine, err);
}

static qdq_status collect(calibration *k, qdq_error *err)
{
    const struct calibrate_args *a = k->a;
    qdq_quantize_opts quantize = QDQ_QUANTIZE_OPTS_INIT;
    qdq_calibrate_opts o = QDQ_CALIBRATE_OPTS_INIT;

    QDQ_TRY(read_part(a->part, &o, err));
    QDQ_TRY(cli_quant_fill_clean(k->c, &a->quant, &quantize, err));
    quantize.shapes = a->quant.shape.shapes.at;
    quantize.n_shapes = a->quant.shape.shapes.n;
    quantize.memory = a->quant.memory;
    quantize.method = (qdq_method)a->quant.method;
    quantize.samples = (size_t)a->quant.samples;
    quantize.threads = cli_threads(a->threads);
    quantize.job = &k->c->job;
    o.quantize = &quantize;
    QDQ_TRY(open_all(k, err));
    return cli_at_file(
        k->c->operand[0],
        qdq_statistics_collect(k->model, k->target, k->engine, k->data, &o, &k->made, err), err);
}

static qdq_status add_part(calibration *k, const char *path, qdq_error *err)
{
    qdq_statistics *part = NULL;

    QDQ_TRY(qdq_job_poll(&k->c->job, err));
    QDQ_TRY(qdq_statistics_load(path, &part, err));
    qdq_status st = qdq_statistics_check_model(part, k->model, err);
    if (st == QDQ_OK && k->made != NULL)
        st = qdq_statistics_merge(k->made, part, err);
    else if (st == QDQ_OK) {
        k->made = part;
        part = NULL;
    }
    qdq_statistics_free(part);
    return st;
}

static qdq_status merge(calibration *k, qdq_error *err)
{
    const size_t n = k->c->n_operands - 1;

    for (size_t i = 0; i < n; i++) {
        QDQ_TRY(add_part(k, k->c->operand[i + 1], err));
        qdq_job_progress(&k->c->job, "merge", i + 1, n);
    }
    return QDQ_OK;
}

/* --- the result ------------------------------------------------------------------------------- */

static qdq_status print_json(const calibration *k, qdq_error *err)
{
    const qdq_statistics_summary *s = qdq_statistics_get_summary(k->made);
    qdq_json_doc d = {0};
    qdq_json_out root = qdq_json_object(&d);

    qdq_json_put_text(root, "model", k->c->operand[0]);
    qdq_json_put_text(root, "output", k->a->output);
    qdq_json_put_text(root, "target", s->target);
    qdq_json_put_text(root, "method", qdq_method_name(s->method));
    qdq_json_put_int(root, "samples", (int64_t)s->n_samples);
    qdq_json_put_int(root, "missing", (int64_t)s->n_missing);
    qdq_json_put_int(root, "sources", (int64_t)s->n_sources);
    qdq_json_put_int(root, "tensors", (int64_t)s->n_tensors);
    cli_files_json(qdq_json_put_list(root, "files"), k->c, NULL);
    return cli_json_print(&d, err);
}

static qdq_status print_text(const calibration *k, qdq_error *err)
{
    const qdq_statistics_summary *s = qdq_statistics_get_summary(k->made);

    printf("%s: target %s, method %s, statistics of %zu tensors on %zu sample%s", k->c->operand[0],
           s->target, qdq_method_name(s->method), s->n_tensors, s->n_samples,
           cli_plural(s->n_samples));
    if (s->n_missing > 0)
        printf(", %zu more in other parts", s->n_missing);
    putchar('\n');
    return cli_files_print(k->c, NULL, 0, stdout, err);
}

static qdq_status write_result(const calibration *k, qdq_error *err)
{
    char *text = NULL;

    cli_ui_clear(&k->c->ui);
    if (!cli_is_stdout(k->a->output)) {
        QDQ_TRY(qdq_statistics_save(k->made, k->a->output, k->a->force, err));
        return k->c->json ? print_json(k, err) : print_text(k, err);
    }
    QDQ_TRY(qdq_statistics_to_text(k->made, &text, err));
    fputs(text, stdout);
    qdq_free(text);
    return QDQ_OK;
}

static qdq_status run_calibrate(cli *c, const void *args, qdq_error *err)
{
    calibration k = {.c = c, .a = args};

    QDQ_TRY(check(c, k.a, err));
    QDQ_TRY(cli_model_load(c, c->operand[0], &k.model, err));
    qdq_status st = cli_files_guard(c, k.model, err);
    if (st == QDQ_OK)
        st = k.a->merge ? merge(&k, err) : collect(&k, err);
    if (st == QDQ_OK)
        st = write_result(&k, err);
    cli_ui_clear(&c->ui);
    qdq_statistics_free(k.made);
    qdq_data_close(k.data);
    qdq_engine_close(k.engine);
    qdq_target_free(k.target);
    qdq_model_free(k.model);
    return st;
}

const cli_command cmd_calibrate = {
    .name = "calibrate",
    .synopsis = "MODEL --calib DATA [--part I/N] | --merge PART... -o FILE [options]",
    .operands = "MODEL, and with --merge PART...",
    .min_operands = 1,
    .max_operands = 4096,
    .summary = "collect calibration statistics in parts, and merge them",
    .about =
        "Writes statistics of all float activations of the cleaned model: bounds or histograms,\n"
        "as --method needs them. 'qdq quantize --cache FILE' takes them in place of samples, with\n"
        "the same target, formats, passes and method. Files are small: bins without values take\n"
        "no room.\n"
        "\n"
        "Parts come from any number of machines. With --part I/N, DATA is the whole, and each\n"
        "N-th sample from number I on is taken. Without it, DATA is a shard. --merge adds the\n"
        "samples of all PART: the result is that of one run over them, bit for bit, in any order\n"
        "and grouping. It merges again. Parts of another model, target or method are an error, as\n"
        "are parts with the same samples of the same data.\n"
        "\n"
        "The method moving-average depends on the order of samples, so that its parts come from\n"
        "one DATA (--part). With auto, one sample in eight is held out, of DATA or of each shard.\n"
        "The method entropy-compat has no parts: its bins depend on the first sample.\n"
        "\n"
        "With statistics, --calib of quantize only evaluates. The correction of biases, float\n"
        "channels, smoothing, AWQ and GPTQ need samples: an option that asks for one of them is\n"
        "an error, and a goal goes without.\n"
        "\n"
        "Nodes inside If, Loop and Scan are not observed. Ctrl-C ends the run without a file.\n"
        "docs/calibrate.md has the details.",
    .json = "{ \"model\", \"output\", \"target\", \"method\", \"samples\", \"missing\": samples of "
            "the same data\n"
            "that are not taken, \"sources\": data sources, \"tensors\", \"files\": [{\"path\", "
            "\"bytes\"}] }",
    .example = "qdq calibrate model.onnx --calib calib.npz --part 1/2 -o part1.json\n"
               "qdq calibrate model.onnx --calib calib.npz --part 2/2 -o part2.json\n"
               "qdq calibrate model.onnx --merge part1.json part2.json -o all.json",
    .common = "output force merge calib part samples method target format threads json help",
    .groups = groups,
    .args_size = sizeof(struct calibrate_args),
    .run = run_calibrate,
};
