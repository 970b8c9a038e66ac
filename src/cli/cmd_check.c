/* cmd_check.c - the verifier's findings and, with a target, those about quantization. Errors make
 * the answer no, warnings only with --strict. */
#include <string.h>

#include "base/fail.h"
#include "cli/cli.h"
#include "cli/cli_data.h"
#include "cli/cli_engine.h"
#include "cli/cli_format.h"
#include "cli/cli_groups.h"
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
#include "cli/cli_members.h"
#include "cli/cmd_check.def"
};

/* What --engine found. */
typedef struct ran {
    qdq_verify_result *result;
    const qdq_engine_info *info; /* of the engine, which is open; NULL: nothing was asked */
    const char *data;
} ran;

#define ARGS check_args
#include "cli/cli_tables.h"
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

static size_t count_errors(const qdq_finding *f, size_t n)
{
    size_t errors = 0;

    for (size_t i = 0; i < n; i++)
        errors += f[i].is_error;
    return errors;
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void target_json(qdq_json_out root, const struct check_args *a, const qdq_target_check *t)
{
    qdq_json_put_text(root, "target", a->target);
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

static qdq_status print_json(const struct check_args *a, const char *path, const qdq_finding *f,
                             size_t n, const qdq_target_check *t, const ran *r, const cli_groups *g,
                             qdq_error *err)
{
    qdq_json_doc d = {0};
    qdq_json_out root = qdq_json_object(&d);

    qdq_json_put_text(root, "model", path);
    qdq_json_put_int(root, "errors", (int64_t)count_errors(f, n));
    qdq_json_put_int(root, "warnings", (int64_t)(n - count_errors(f, n)));
    qdq_json_out list = qdq_json_put_list(root, "findings");
    for (size_t i = 0; i < n; i++) {
        qdq_json_out entry = qdq_json_put_object(list, NULL);
        qdq_json_put_text(entry, "level", f[i].is_error ? "error" : "warning");
        qdq_json_put_text(entry, "text", f[i].text);
    }
    if (t != NULL)
        target_json(qdq_json_put_object(root, "quantization"), a, t);
    if (r->info != NULL)
        cli_verify_json(qdq_json_put_object(root, "engine_check"), r->result, r->info, r->data);
    if (a->layer_info != NULL)
        cli_groups_json(qdq_json_put_object(root, "executed"), g);
    return cli_json_print(&d, err);
}

/* --- text ------------------------------------------------------------------------------------- */

/* `what`: "" where nothing but the model as such is checked. */
static void print_text(const char *path, const char *what, const qdq_finding *f, size_t n)
{
    size_t errors = count_errors(f, n), warnings = n - errors;

    for (size_t i = 0; i < n; i++)
        printf("%s: %s\n", f[i].is_error ? "error" : "warning", f[i].text);
    printf("%s%s: %zu error%s, %zu warning%s\n", path, what, errors, errors == 1 ? "" : "s",
           warnings, warnings == 1 ? "" : "s");
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

static qdq_status print_target(cli *c, const char *path, const char *target,
                               const qdq_target_check *t, qdq_error *err)
{
    cli_table table = {.arena = &c->arena, .columns = t->proven ? "lllrrl" : "lllrl"};

    if (t->n > 0) {
        cli_cell(&table, "level");
        cli_cell(&table, "kind");
        cli_cell(&table, "node");
        cli_cell(&table, "converted");
        if (t->proven)
            cli_cell(&table, "us");
        cli_cell(&table, "why");
    }
    for (size_t i = 0; i < t->n; i++) {
        const qdq_target_finding *f = &t->findings[i];

        cli_cell(&table, "%s", f->is_error ? "error" : "warning");
        cli_cell(&table, "%s", f->kind);
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
           path, target, t->n_errors, t->n_errors == 1 ? "" : "s", warnings,
           warnings == 1 ? "" : "s", t->n_quantizers, t->n_fused, t->n_fused == 1 ? "" : "s",
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

/* --- run -------------------------------------------------------------------------------------- */

static qdq_status check_options(const struct check_args *a, qdq_error *err)
{
    if (a->layer_profile != NULL && a->layer_info == NULL)
        return qdq_fail(err, QDQ_E_USAGE, "found --layer-profile without --layer-info");
    if (a->data != NULL && a->engine.engine == NULL)
        return qdq_fail(err, QDQ_E_USAGE, "found --data without --engine");
    if (a->target == NULL && (a->set.n > 0 || a->cpu != QDQ_CPU_AUTO))
        return qdq_fail(err, QDQ_E_USAGE, "found %s without --target",
                        a->set.n > 0 ? "--set" : "--cpu");
    if (a->target == NULL && a->engine.engine == NULL && a->shape.shapes.n > 0)
        return qdq_fail(err, QDQ_E_USAGE, "found --shape without --target or --engine");
    return QDQ_OK;
}

static qdq_status check_target(cli *c, const struct check_args *a, qdq_engine *engine,
                               const qdq_model *m, qdq_target_check **out, qdq_error *err)
{
    qdq_check_opts opts = QDQ_CHECK_OPTS_INIT;
    const cli_format_args format = {.set = a->set};
    qdq_target *target = NULL;
    qdq_status st = cli_target_open(c, a->target, &format, &a->engine, &target, err);

    opts.engine = engine;
    opts.shapes = a->shape.shapes.at;
    opts.n_shapes = a->shape.shapes.n;
    opts.threads = cli_threads(a->threads);
    opts.job = &c->job;
    opts.cpu = (qdq_cpu)a->cpu;
    if (st == QDQ_OK)
        st = cli_at_file(c->operand[0], qdq_model_check_target(m, target, &opts, out, err), err);
    qdq_target_free(target);
    return st;
}

/* Does the engine compute what the model says? */
static qdq_status check_computed(cli *c, const struct check_args *a, qdq_engine *engine,
                                 const qdq_model *m, ran *out, qdq_error *err)
{
    const cli_data_request request = {a->data != NULL ? a->data : "random:0", &a->form,
                                      &a->shape.shapes, NULL, 0};
    qdq_verify_opts o = QDQ_VERIFY_OPTS_INIT;
    qdq_data *data = NULL;

    out->data = a->data != NULL ? a->data : "random input";
    o.shapes = a->shape.shapes.at;
    o.n_shapes = a->shape.shapes.n;
    o.threads = cli_threads(a->threads);
    o.job = &c->job;
    QDQ_TRY(cli_data_open(c, &request, m, &data, err));
    qdq_status st = cli_verify(c, &a->engine, engine, m, data, &o, &out->result, err);
    qdq_data_close(data);
    cli_ui_clear(&c->ui);
    if (st == QDQ_OK)
        out->info = qdq_engine_get_info(engine);
    return cli_at_file(c->operand[0], st, err);
}

static qdq_status read_layers(cli *c, const struct check_args *a, const qdq_model *m, cli_groups *g,
                              qdq_error *err)
{
    QDQ_TRY(qdq_groups_read(m, a->layer_info, a->layer_profile, &c->job, &g->group, &g->n, err));
    return cli_groups_check(m, g, err);
}

static qdq_status run_check(cli *c, const void *args, qdq_error *err)
{
    const struct check_args *a = args;
    const char *path = cli_is_stdout(c->operand[0]) ? "<stdin>" : c->operand[0];
    qdq_model *m = NULL;
    qdq_finding *findings = NULL;
    qdq_target_check *t = NULL;
    qdq_engine *engine = NULL;
    cli_groups g = {0};
    size_t n = 0;
    ran r = {.result = NULL};

    QDQ_TRY(check_options(a, err));
    QDQ_TRY(cli_model_load(c, c->operand[0], &m, err));
    qdq_status st = qdq_model_check(m, &findings, &n, err);
    bool sound = st == QDQ_OK && count_errors(findings, n) == 0;
    if (sound && a->engine.engine != NULL)
        st = cli_engine_open(c, &a->engine, &engine, err);
    if (st == QDQ_OK && sound && a->target != NULL)
        st = check_target(c, a, engine, m, &t, err);
    if (st == QDQ_OK && engine != NULL)
        st = check_computed(c, a, engine, m, &r, err);
    if (st == QDQ_OK && sound && a->layer_info != NULL)
        st = read_layers(c, a, m, &g, err);
    if (st == QDQ_OK) {
        const bool wrong = r.info != NULL && r.result->verdict == QDQ_VERIFY_WRONG;
        size_t all = n + (t != NULL ? t->n : 0) + g.n_findings;
        c->negative = !sound || wrong || (t != NULL && t->n_errors > 0) || (a->strict && all > 0);
        if (c->json)
            st = print_json(a, path, findings, n, t, &r, &g, err);
        else
            print_text(path, t != NULL ? ", as a model" : "", findings, n);
    }
    if (st == QDQ_OK && t != NULL && !c->json)
        st = print_target(c, path, a->target, t, err);
    if (st == QDQ_OK && r.info != NULL && !c->json)
        cli_verify_print(r.result, r.info, r.data, stdout);
    if (st == QDQ_OK && g.group != NULL && !c->json)
        st = cli_groups_print(c, &g, a->common.verbose > 0, err);
    cli_groups_free(&g);
    qdq_free(r.result);
    qdq_engine_close(engine);
    qdq_free(t);
    qdq_free(findings);
    qdq_model_free(m);
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
        "  \"quantization\": {\"target\", \"proven\", \"quantizers\", \"fused\", \"unfused\",\n"
        "    \"weights_alone\", \"errors\", \"converted\",\n"
        "    \"microseconds\", \"findings\": [{\"level\", \"kind\", \"op\", \"node\", \"why\",\n"
        "    \"measured\", "
        "\"converted\", "
        "\"microseconds\"}]},\n"
        "  \"engine_check\": {\"engine\", \"version\", \"result\": \"right\", \"wrong\" or "
        "\"unknown\", "
        "\"reference\",\n"
        "    \"data\", \"n_samples\", \"open_dims\", \"output\", \"axis\", \"index\", "
        "\"agreement_db\",\n"
        "    \"equal\", \"engine_db\", \"reference_db\", \"op\", \"node\", \"form\", "
        "\"saturates\", "
        "\"not_compared\",\n"
        "    \"why\"}, with --engine,\n"
        "  \"executed\": as 'inspect --groups' has it, with --layer-info }",
    .example = "qdq check model.onnx && echo sound\n"
               "qdq check model.qdq.onnx --target ort-cpu --engine ort\n"
               "qdq check model.qdq.onnx --engine openvino --data test.npz",
    .groups = groups,
    .args_size = sizeof(struct check_args),
    .run = run_check,
};
