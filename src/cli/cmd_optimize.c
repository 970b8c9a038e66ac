/* cmd_optimize.c - runs a pipeline of passes over a model. */
#include "cli/cmd_optimize.h"

#include <inttypes.h>

#include "base/fail.h"
#include "qdq/quant.h"
#include "cli/cli_files.h"
#include "cli/cli_text.h"

#define ARGS optimize_args
#include "cli/cli_tables.def"
#include "cli/cmd_optimize.def"

static const cli_group groups[] = {
    {"output", cli_output_opts, CLI_AT(optimize_args, out)},
    {"optimize", options, 0},
    {"constant folding", cli_fold_opts, CLI_AT(optimize_args, fold)},
    {"", growth_options, 0},
    {"check", check_options, 0},
    {"data", cli_data_opts, CLI_AT(optimize_args, data)},
    {"shapes", cli_shape_opts, CLI_AT(optimize_args, shape)},
    {"", cli_set_shape_opts, CLI_AT(optimize_args, set_shape)},
    {"engine", cli_engine_opts, CLI_AT(optimize_args, engine)},
    {"watching", debug_options, 0},
    {"options", cli_common_opts, 0},
    {NULL, NULL, 0},
};

/* --- what passes report while they run-------------------------------------------------------- */

static void tell_change(void *ctx, uint64_t number, const char *pass, const char *where)
{
    optimize *p = ctx;
    char line[1000];

    snprintf(line, sizeof line, "change %" PRIu64 ": %s: %s", number, pass, where);
    cli_ui_log(&p->c->ui, QDQ_LOG_DEBUG, line);
}

static void tell_pass(void *ctx, const char *pass, const char *changed_lines)
{
    optimize *p = ctx;

    cli_ui_clear(&p->c->ui);
    fprintf(cli_text_stderr(), "after %s:\n%s", pass, changed_lines);
}

/* --- the work --------------------------------------------------------------------------------- */

/* In the library, 0 asks for the default; on the command line it means none. */
static uint64_t limit(uint64_t bytes)
{
    return bytes != 0 ? bytes : 1;
}

static qdq_optimize_opts library_opts(optimize *p)
{
    const struct optimize_args *a = p->a;
    qdq_optimize_opts o = QDQ_OPTIMIZE_OPTS_INIT;

    o.passes = p->passes;
    o.target = p->target;
    o.fold_input_bytes = limit(a->fold.input);
    o.fold_output_bytes = limit(a->fold.output);
    o.growth_bytes = a->fold.growth;
    o.no_fold = a->fold.no_fold.at;
    o.fold_only = a->fold.fold_only.at;
    o.verify_each = a->verify_each;
    o.on_change = p->c->ui.level >= QDQ_LOG_DEBUG ? tell_change : NULL;
    o.on_pass = a->print_changed ? tell_pass : NULL;
    o.ctx = p;
    o.job = &p->c->job;
    return o;
}

static qdq_status check_combinations(const struct optimize_args *a, qdq_error *err)
{
    const char *lonely = a->tolerance != 0   ? "--tolerance"
                         : a->samples != 0   ? "--samples"
                         : a->shape.shapes.n ? "--shape"
                                             : NULL;

    if (a->check == NULL && lonely == NULL && a->engine.host != NULL)
        lonely = "--host";
    if (a->check == NULL && lonely != NULL)
        return qdq_fail(err, QDQ_E_USAGE, "found %s without --check", lonely);
    if (a->tolerance < 0)
        return qdq_fail(err, QDQ_E_USAGE, "--tolerance: found %g, expected a number above 0",
                        a->tolerance);
    if (a->report != NULL && cli_has_suffix(a->report, ".html"))
        return qdq_fail(err, QDQ_E_USAGE,
                        "--report: found '%s'; expected NAME.json: there is no page", a->report);
    if (a->bisect && (a->out.output != NULL || a->report != NULL))
        return qdq_fail(err, QDQ_E_USAGE, "found --bisect and %s: it writes nothing",
                        a->out.output != NULL ? "--output" : "--report");
    return QDQ_OK;
}

static qdq_status check_outputs(cli *c, const struct optimize_args *a, qdq_error *err)
{
    if (a->bisect)
        return QDQ_OK;
    QDQ_TRY(cli_output_check(c, &a->out, err));
    return cli_files_check(c, a->out.force, err);
}

static qdq_status choose_passes(optimize *p, qdq_error *err)
{
    const struct optimize_args *a = p->a;

    if (a->target != NULL)
        QDQ_TRY(qdq_target_load(a->target, &p->target, err));
    p->passes = a->freeze_inputs ? qdq_arena_printf(&p->c->arena, "freeze-inputs,%s", a->passes)
                                 : a->passes;
    QDQ_NEED(p->passes != NULL, err);
    return qdq_pass_pipeline(p->passes, p->target, &p->pipeline, err);
}

/* A model that computes something else is not handed over. */
static qdq_status compare_with_input(optimize *p, qdq_error *err)
{
    QDQ_TRY(cmd_optimize_check(p, err));
    cli_ui_clear(&p->c->ui);
    if (p->verdict->same)
        return QDQ_OK;
    char line[1000];
    snprintf(line, sizeof line,
             "%s: the optimized model computes something else: %s; nothing is written (--tolerance "
             "allows more)",
             cli_is_stdout(p->path) ? "<stdin>" : p->path, p->verdict->why);
    cli_ui_log(&p->c->ui, QDQ_LOG_ERROR, line);
    p->c->negative = true;
    return QDQ_OK;
}

static qdq_status change(optimize *p, const qdq_optimize_opts *o, qdq_error *err)
{
    if (p->a->check != NULL)
        QDQ_TRY(qdq_model_clone(p->model, &p->original, err));
    QDQ_TRY(cli_at_file(p->path, qdq_model_optimize(p->model, o, &p->report, err), err));
    if (p->a->check != NULL)
        QDQ_TRY(compare_with_input(p, err));
    cli_ui_clear(&p->c->ui);
    if (!p->c->negative)
        QDQ_TRY(cli_model_save(p->c, p->model, &p->a->out, err));
    if (!p->c->negative && p->a->report != NULL)
        QDQ_TRY(cmd_optimize_json(p, p->a->report, err));
    return p->c->json ? cmd_optimize_json(p, NULL, err)
                      : cmd_optimize_print_text(p, cli_result_stream(&p->a->out), err);
}

static qdq_status work(optimize *p, qdq_error *err)
{
    QDQ_TRY(check_combinations(p->a, err));
    QDQ_TRY(check_outputs(p->c, p->a, err));
    QDQ_TRY(choose_passes(p, err));
    QDQ_TRY(cli_model_load(p->c, p->path, &p->model, err));
    QDQ_TRY(cli_shapes_set(&p->a->set_shape, p->model, err));
    QDQ_TRY(cli_files_guard(p->c, p->model, err));
    if (p->a->check != NULL)
        QDQ_TRY(cmd_optimize_open_check(p, err));
    const qdq_optimize_opts o = library_opts(p);
    return p->a->bisect ? cmd_optimize_bisect(p, &o, err) : change(p, &o, err);
}

static qdq_status run_optimize(cli *c, const void *args, qdq_error *err)
{
    optimize p = {.c = c, .a = args, .path = c->operand[0]};
    qdq_status st = work(&p, err);

    cmd_optimize_close_check(&p);
    qdq_optimize_report_free(p.report);
    qdq_model_free(p.model);
    qdq_target_free(p.target);
    qdq_free(p.pipeline);
    return st;
}

const cli_command cmd_optimize = {
    .name = "optimize",
    .synopsis = "MODEL -o OUT [--target T] [--passes LIST] [options]",
    .operands = "MODEL",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "clean, fold, fuse, repair what training left; safe for Q/DQ",
    .makes = "the optimized model",
    .about =
        "Runs passes over a model until nothing changes, and preserves what it computes: removes\n"
        "unneeded nodes, folds constants, fuses what an exporter split. QuantizeLinear and\n"
        "DequantizeLinear stay: docs/optimizer.md lists the few rewrites that touch them.\n"
        "\n"
        "--passes takes names of passes and of groups, in order: default, quantize, rules;\n"
        "'name:word+word' passes arguments, '-name' removes an earlier one:\n"
        "    --passes default,-fold-batchnorm\n"
        "\n"
        "--check runs the model before and after on DATA: an .npz (arrays named like the inputs),\n"
        "an .npy, an image, a folder of these, or random:SEED. Floats may differ by 1e-5 of the\n"
        "range of an output (16 bits: 1e-2, 8 bits: 1e-1), integers of 8 bits by one step, others\n"
        "not at all; NaN equals NaN. An output that is zero everywhere or empty proves nothing,\n"
        "and is reported. Where Q/DQ may change a rounding, an output with an SQNR of 40 dB is\n"
        "equal too. --tolerance sets another fraction of the range, for all floats. --bisect\n"
        "finds the change that causes a difference.\n"
        "\n"
        "Sizes of 0 mean none. A caller may set inputs that have an initializer, so they are not\n"
        "constant; --freeze-inputs makes them constants, and removes the inputs.",
    .json = "{ \"model\", \"output\", \"target\", \"passes\": \"a,b\", \"rounds\", \"settled\", "
            "\"changes\", \"seconds\",\n"
            "  \"nodes\": {\"before\", \"after\"}, \"constant_bytes\": {\"before\", \"after\"},\n"
            "  \"quantize\": {\"before\", \"after\"}, \"dequantize\": {\"before\", \"after\"},\n"
            "  \"by_pass\": [{\"pass\", \"changes\", \"nodes\", \"bytes\", \"seconds\",\n"
            "    \"refused\": [{\"reason\", \"candidates\", \"examples\": [\"node\"]}]}],\n"
            "  \"check\": {\"same\", \"proven\", \"why\", \"samples\", \"outputs\": [as compare "
            "--json has them],\n"
            "    \"run_as\": [{\"input\", \"shape\"}]},\n"
            "  \"files\": [{\"path\", \"bytes\"}] }; without --check, \"check\" is null.\n"
            "With --set-shape also \"set_shape\": [{\"input\", \"shape\"}].\n"
            "With --bisect: { \"model\", \"passes\", \"changes\", \"found\", \"number\", \"pass\", "
            "\"where\", \"why\" }",
    .example = "qdq optimize model.onnx -o model.opt.onnx --target ort-cpu",
    .common = "output force passes target check set-shape report bisect engine json help",
    .groups = groups,
    .args_size = sizeof(struct optimize_args),
    .run = run_optimize,
};
