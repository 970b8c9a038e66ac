/* cmd_check.c - the verifier's findings and, with a target, those about quantization. Errors make
 * the answer no, warnings only with --strict. */

#include "base/fail.h"
#include "cli/cli.h"
#include "cli/cli_files.h"
#include "cli/cli_data.h"
#include "cli/cli_engine.h"
#include "cli/cli_format.h"
#include "cli/cli_groups.h"
#include "cli/cli_host.h"
#include "cli/cli_installed.h"
#include "cli/cli_json.h"
#include "cli/cli_model.h"
#include "cli/cli_verify.h"
#include "qdq/check.h"

struct check_args {
    cli_common common;
    cli_data_args form;
    cli_engine_args engine;
    cli_shape_args shape;
#include "cli/cli_members.def"
#include "cli/cmd_check.def"
};

typedef struct checking {
    cli *c;
    const struct check_args *a;
    /* for people */
    const char *path;
    qdq_model *m;
    /* of the model as such */
    qdq_finding *findings;
    size_t n, n_errors;
    /* NULL: no --target, or the model is not sound */
    qdq_target_check *target;
    /* NULL: no --engine */
    qdq_engine *engine;
    /* by the engine; NULL: not asked */
    qdq_verify_result *computed;
    /* that it ran on */
    const char *data;
    /* of --layer-info */
    cli_groups layers;
} checking;

#define ARGS check_args
#include "cli/cli_tables.def"
#include "cli/cmd_check.def"

static const cli_group groups[] = {
    {"check", options, 0},
    {"data", cli_data_opts, CLI_AT(check_args, form)},
    {"shapes", cli_shape_opts, CLI_AT(check_args, shape)},
    {"engine", cli_engine_opts + 1,
     CLI_AT(check_args, engine)}, /* without --engine, which has a default there */
    {"options", cli_common_opts, 0},
    {NULL, NULL, 0},
};

/* --- JSON ------------------------------------------------------------------------------------- */

static void target_json(qdq_json_out root, const checking *k)
{
    const qdq_target_check *t = k->target;

    qdq_json_put_text(root, "target", k->a->target);
    if (k->c->installed != NULL)
        qdq_json_put_text(root, "installed_target", k->c->installed);
    qdq_json_put_bool(root, "proven", t->proven);
    qdq_json_put_int(root, "quantizers", (int64_t)t->n_quantizers);
    qdq_json_put_int(root, "fused", (int64_t)t->n_fused);
    qdq_json_put_int(root, "unfused", (int64_t)t->n_unfused);
    qdq_json_put_int(root, "weights_alone", (int64_t)t->n_weights);
    qdq_json_put_int(root, "errors", (int64_t)t->n_errors);
    qdq_json_put_int(root, "converted", (int64_t)t->converted);
    qdq_json_put_short(root, "microseconds", t->microseconds);
    qdq_json_out list = qdq_json_put_list(root, "findings");
    for (size_t i = 0; i < t->n; i++) {
        const qdq_target_finding *f = &t->findings[i];
        qdq_json_out entry = qdq_json_put_object(list, NULL);
        qdq_json_put_text(entry, "level", f->is_error ? "error" : "warning");
        qdq_json_put_text(entry, "kind", f->kind);
        qdq_json_put_text(entry, "op", f->op);
        qdq_json_put_text(entry, "node", f->node);
        qdq_json_put_text(entry, "why", f->why);
        if (f->measured[0] != '\0')
            qdq_json_put_text(entry, "measured", f->measured);
        qdq_json_put_int(entry, "converted", (int64_t)f->converted);
        qdq_json_put_short(entry, "microseconds", f->microseconds);
    }
}

static qdq_status print_json(const checking *k, qdq_error *err)
{
    qdq_json_doc d = {0};
    qdq_json_out root = qdq_json_object(&d);

    qdq_json_put_text(root, "model", k->path);
    qdq_json_put_int(root, "errors", (int64_t)k->n_errors);
    qdq_json_put_int(root, "warnings", (int64_t)(k->n - k->n_errors));
    qdq_json_out list = qdq_json_put_list(root, "findings");
    for (size_t i = 0; i < k->n; i++) {
        qdq_json_out entry = qdq_json_put_object(list, NULL);
        qdq_json_put_text(entry, "level", k->findings[i].is_error ? "error" : "warning");
        qdq_json_put_text(entry, "text", k->findings[i].text);
    }
    if (k->target != NULL)
        target_json(qdq_json_put_object(root, "quantization"), k);
    if (k->computed != NULL)
        cli_verify_json(qdq_json_put_object(root, "engine_check"), k->computed,
                        qdq_engine_get_info(k->engine), k->data);
    if (k->a->layer_info != NULL)
        cli_groups_json(qdq_json_put_object(root, "executed"), &k->layers);
    return cli_json_print(&d, err);
}

/* --- text ------------------------------------------------------------------------------------- */

static void print_findings(const checking *k)
{
    const size_t warnings = k->n - k->n_errors;

    for (size_t i = 0; i < k->n; i++)
        printf("%s: %s\n", k->findings[i].is_error ? "error" : "warning", k->findings[i].text);
    printf("%s%s: %zu error%s, %zu warning%s\n", k->path, k->target != NULL ? ", as a model" : "",
           k->n_errors, cli_plural(k->n_errors), warnings, cli_plural(warnings));
}

/* "412 k", "1.2 M"; "" for 0. */
static const char *amount(cli *c, uint64_t n)
{
    const char *text = n == 0        ? ""
                       : n < 10000   ? qdq_arena_printf(&c->arena, "%llu", (unsigned long long)n)
                       : n < 1000000 ? qdq_arena_printf(&c->arena, "%.0f k", (double)n / 1e3)
                                     : qdq_arena_printf(&c->arena, "%.1f M", (double)n / 1e6);

    return text != NULL ? text : "";
}

static qdq_status print_target(const checking *k, qdq_error *err)
{
    cli *c = k->c;
    const qdq_target_check *t = k->target;
    cli_table table = {.arena = &c->arena, .columns = t->proven ? "lllrrl" : "lllrl"};

    if (t->n > 0) {
        CLI_CELLS(&table, "level", "kind", "node", "converted");
        if (t->proven)
            cli_cell(&table, "us");
        cli_cell(&table, "why");
    }
    for (size_t i = 0; i < t->n; i++) {
        const qdq_target_finding *f = &t->findings[i];

        CLI_CELLS(&table, f->is_error ? "error" : "warning", f->kind);
        cli_cell(&table, "%s '%s'", f->op, f->node);
        cli_cell(&table, "%s", amount(c, f->converted));
        if (t->proven && f->microseconds > 0)
            cli_cell(&table, "%.1f", f->microseconds);
        else if (t->proven)
            cli_cell(&table, "-");
        if (f->measured[0] != '\0')
            cli_cell(&table, "%s; measured: %s", f->why, f->measured);
        else
            cli_cell(&table, "%s", f->why);
    }
    QDQ_TRY(cli_table_print(&table, stdout, err));
    size_t warnings = t->n - t->n_errors;
    printf("%s, on %s: %zu error%s, %zu warning%s; %zu Q and DQ, %zu node%s next to them in 8 "
           "bits%s, %zu not",
           k->path, k->a->target, t->n_errors, cli_plural(t->n_errors), warnings,
           cli_plural(warnings), t->n_quantizers, t->n_fused, t->n_fused == 1 ? "" : "s",
           t->proven ? ", proven by the engine's kernels" : "", t->n_unfused);
    if (t->n_weights > 0)
        printf(", %zu with codes for the weight alone", t->n_weights);
    if (t->converted > 0)
        printf("; %s elements converted for nothing in every run", amount(c, t->converted));
    if (t->microseconds > 0)
        printf(", %.1f us", t->microseconds);
    printf("\n");
    cli_installed_print(c, stdout);
    return QDQ_OK;
}

static qdq_status print_text(const checking *k, qdq_error *err)
{
    print_findings(k);
    if (k->target != NULL)
        QDQ_TRY(print_target(k, err));
    if (k->computed != NULL)
        cli_verify_print(k->computed, qdq_engine_get_info(k->engine), k->data, stdout);
    return k->layers.group != NULL
               ? cli_groups_print(k->c, &k->layers, k->a->common.verbose > 0, err)
               : QDQ_OK;
}

/* --- run -------------------------------------------------------------------------------------- */

static qdq_status check_options(const struct check_args *a, qdq_error *err)
{
    if (a->layer_profile != NULL && a->layer_info == NULL)
        return qdq_fail(err, QDQ_E_USAGE, "found --layer-profile without --layer-info");
    if (a->engine.host != NULL && a->engine.engine == NULL)
        return qdq_fail(err, QDQ_E_USAGE, "found --host without --engine");
    if (a->data != NULL && a->engine.engine == NULL)
        return qdq_fail(err, QDQ_E_USAGE, "found --data without --engine");
    if (a->target == NULL && (a->set.n > 0 || a->cpu != QDQ_CPU_AUTO))
        return qdq_fail(err, QDQ_E_USAGE, "found %s without --target",
                        a->set.n > 0 ? "--set" : "--cpu");
    if (a->target == NULL && a->engine.engine == NULL && a->shape.shapes.n > 0)
        return qdq_fail(err, QDQ_E_USAGE, "found --shape without --target or --engine");
    return QDQ_OK;
}

static qdq_status check_target(checking *k, qdq_error *err)
{
    const struct check_args *a = k->a;
    qdq_check_opts opts = QDQ_CHECK_OPTS_INIT;
    const cli_format_args format = {.set = a->set};
    qdq_target *target = NULL;

    opts.engine = k->engine;
    opts.shapes = a->shape.shapes.at;
    opts.n_shapes = a->shape.shapes.n;
    QDQ_TRY(cli_host_threads(k->c, &a->engine, a->threads, &opts.threads, err));
    opts.job = &k->c->job;
    opts.cpu = (qdq_cpu)a->cpu;
    QDQ_TRY(cli_host_cpu(k->c, &a->engine, &opts.cpu, err));
    QDQ_TRY(cli_target_open(k->c, a->target, &format, &a->engine, &target, err));
    qdq_status st = qdq_model_check_target(k->m, target, &opts, &k->target, err);
    qdq_target_free(target);
    return cli_at_file(k->c->operand[0], st, err);
}

/* Does the engine compute what the model says? */
static qdq_status check_computed(checking *k, qdq_error *err)
{
    const struct check_args *a = k->a;
    const cli_data_request request = {
        a->data != NULL ? a->data : "random:0", &a->form, &a->shape.shapes, NULL, 0, NULL, NULL};
    qdq_verify_opts o = QDQ_VERIFY_OPTS_INIT;
    qdq_data *data = NULL;

    k->data = a->data != NULL ? a->data : "random input";
    o.shapes = a->shape.shapes.at;
    o.n_shapes = a->shape.shapes.n;
    QDQ_TRY(cli_host_threads(k->c, &a->engine, a->threads, &o.threads, err));
    o.job = &k->c->job;
    QDQ_TRY(cli_data_open(k->c, &request, k->m, &data, err));
    qdq_status st = cli_verify(k->c, &a->engine, k->engine, k->m, data, &o, &k->computed, err);
    qdq_data_close(data);
    cli_ui_clear(&k->c->ui);
    return cli_at_file(k->c->operand[0], st, err);
}

/* Nothing but the model as such is checked where that is not sound. */
static qdq_status check_model(checking *k, qdq_error *err)
{
    const struct check_args *a = k->a;

    QDQ_TRY(qdq_model_check(k->m, &k->findings, &k->n, err));
    for (size_t i = 0; i < k->n; i++)
        k->n_errors += k->findings[i].is_error;
    if (k->n_errors > 0)
        return QDQ_OK;
    if (a->engine.engine != NULL)
        QDQ_TRY(cli_engine_open(k->c, &a->engine, &k->engine, err));
    if (a->target != NULL)
        QDQ_TRY(check_target(k, err));
    if (k->engine != NULL)
        QDQ_TRY(check_computed(k, err));
    if (a->layer_info == NULL)
        return QDQ_OK;
    QDQ_TRY(qdq_layers_read(k->m, a->layer_info, a->layer_profile, &k->c->job, &k->layers.group,
                            &k->layers.n, err));
    return cli_groups_check(k->m, &k->layers, err);
}

static bool is_negative(const checking *k)
{
    const bool wrong = k->computed != NULL && k->computed->verdict == QDQ_VERIFY_WRONG;
    const size_t all = k->n + (k->target != NULL ? k->target->n : 0) + k->layers.n_findings;

    return k->n_errors > 0 || wrong || (k->target != NULL && k->target->n_errors > 0) ||
           (k->a->strict && all > 0);
}

static qdq_status run_check(cli *c, const void *args, qdq_error *err)
{
    checking k = {
        .c = c, .a = args, .path = cli_is_stdout(c->operand[0]) ? "<stdin>" : c->operand[0]};

    QDQ_TRY(check_options(k.a, err));
    QDQ_TRY(cli_model_load(c, c->operand[0], &k.m, err));
    qdq_status st = check_model(&k, err);
    c->negative = st == QDQ_OK && is_negative(&k);
    if (st == QDQ_OK)
        st = c->json ? print_json(&k, err) : print_text(&k, err);
    cli_groups_free(&k.layers);
    qdq_free(k.computed);
    qdq_engine_close(k.engine);
    qdq_free(k.target);
    qdq_free(k.findings);
    qdq_model_free(k.m);
    return st;
}

const cli_command cmd_check = {
    .name = "check",
    .synopsis = "MODEL [options]",
    .operands = "MODEL",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "verify a model, and say what of its quantization will not fuse",
    .about =
        "Verifies a model and prints each error with its place. The exit code is 1 if there is an\n"
        "error; warnings change it only with --strict. A file that is not a model is exit code 3.\n"
        "\n"
        "With --target the quantization of a sound model is checked too: scales and zero points,\n"
        "single Q or DQ, biases and weights that kernels would compute wrongly, and every node\n"
        "next to Q/DQ that will run in float on that target, with the reason and the number of\n"
        "elements that Q and DQ convert for nothing. With --engine the kernels that the engine\n"
        "runs on random input decide, and their time is reported. Wrong numbers are errors,\n"
        "unfused Q/DQ are warnings; Q and DQ at the boundaries of float parts are neither.\n"
        "docs/check.md lists the findings.\n"
        "\n"
        "--engine runs the model on that engine and on a reference: ONNX Runtime without\n"
        "optimizations, or qdq's evaluator. A different output is an error that names the first\n"
        "wrong node. Open dims stay open unless --shape fixes them.\n"
        "\n"
        "--layer-info reads a file of 'trtexec --exportLayerInfo=FILE\n"
        "--profilingVerbosity=detailed' for this model and prints, for every layer, its kernel,\n"
        "the types that it consumes and produces, its time (with --layer-profile) and its nodes.\n"
        "A layer that consumes 8 bits and produces float is a warning, with the QuantizeLinear\n"
        "that is missing after it. 'qdq inspect --groups' reports the layers of an available\n"
        "engine.",
    .json =
        "{ \"model\", \"errors\", \"warnings\", \"findings\": [{\"level\": \"error\", \"text\"}],\n"
        "  \"quantization\": {\"target\", \"installed_target\", \"proven\", \"quantizers\", "
        "\"fused\",\n"
        "    \"unfused\", \"weights_alone\", \"errors\", \"converted\",\n"
        "    \"microseconds\", \"findings\": [{\"level\", \"kind\", \"op\", \"node\", \"why\",\n"
        "    \"measured\", \"converted\", \"microseconds\"}]},\n"
        "  \"engine_check\": {\"engine\", \"version\", \"result\": \"right\", \"wrong\" or "
        "\"unknown\", \"reference\",\n"
        "    \"data\", \"n_samples\", \"open_dims\", \"output\", \"axis\", \"index\", "
        "\"agreement_db\",\n"
        "    \"equal\", \"engine_db\", \"reference_db\", \"op\", \"node\", \"form\", "
        "\"saturates\", \"not_compared\",\n"
        "    \"why\"}, with --engine,\n"
        "  \"executed\": as 'inspect --groups' has it, with --layer-info }",
    .example = "qdq check model.onnx && echo sound\n"
               "qdq check model.qdq.onnx --target ort-cpu --engine ort\n"
               "qdq check model.qdq.onnx --engine openvino --data test.npz",
    .common = "target strict engine data threads layer-info json help",
    .groups = groups,
    .args_size = sizeof(struct check_args),
    .run = run_check,
};
