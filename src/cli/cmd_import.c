/* cmd_import.c - the quantization that is in a model, as a plan. */

#include "base/fail.h"
#include "cli/cli.h"
#include "cli/cli_files.h"
#include "cli/cli_import.h"
#include "cli/cli_model.h"
#include "qdq/quant.h"
#include "cli/cli_text.h"

struct import_args {
    cli_common common;
    struct cli_import_args import;
#include "cli/cli_members.def"
#include "cli/cmd_import.def"
};

#define ARGS import_args
#include "cli/cli_tables.def"
#include "cli/cmd_import.def"

static const cli_group groups[] = {
    {"output", options, 0},
    {"encodings", source, 0},
    {"import", cli_import_opts, CLI_AT(import_args, import)},
    {"options", cli_common_opts, 0},
    {NULL, NULL, 0},
};

static qdq_status print_json(const struct import_args *a, const char *model, const qdq_plan *plan,
                             qdq_error *err)
{
    const qdq_plan_summary *s = qdq_plan_get_summary(plan);
    qdq_json_doc d = {0};
    qdq_json_out root = qdq_json_object(&d);

    qdq_json_put_text(root, "model", model);
    qdq_json_put_text(root, "output", a->output);
    qdq_json_put_int(root, "tensors", (int64_t)s->n_tensors);
    qdq_json_put_int(root, "weights", (int64_t)s->n_weights);
    qdq_json_put_int(root, "biases", (int64_t)s->n_biases);
    qdq_json_put_int(root, "left_float", (int64_t)s->n_left_float);
    return cli_json_print(&d, err);
}

static qdq_status write_plan(cli *c, const struct import_args *a, const qdq_plan *plan,
                             qdq_error *err)
{
    char *text = NULL;

    if (!cli_is_stdout(a->output)) {
        QDQ_TRY(qdq_plan_save(plan, a->output, a->force, err));
        return c->json ? print_json(a, c->operand[0], plan, err) : QDQ_OK;
    }
    QDQ_TRY(qdq_plan_to_text(plan, &text, err));
    cli_text_set_mode(CLI_TEXT_JSON);
    fputs(text, stdout);
    qdq_free(text);
    return QDQ_OK;
}

static qdq_status run_import(cli *c, const void *args, qdq_error *err)
{
    const struct import_args *a = args;
    qdq_import_opts opts = cli_import_options(c, &a->import);
    qdq_model *m = NULL;
    qdq_plan *plan = NULL;

    if (a->output == NULL)
        return qdq_fail(err, QDQ_E_USAGE, "--output: missing; expected -o PLAN");
    if (cli_is_stdout(a->output) && c->json)
        return qdq_fail(err, QDQ_E_USAGE, "found --json and --output -: both would go to stdout");
    QDQ_TRY(cli_files_check(c, a->force, err));
    QDQ_TRY(cli_model_load(c, c->operand[0], &m, err));
    qdq_status st = cli_files_guard(c, m, err);
    if (st == QDQ_OK)
        st = a->encodings != NULL
                 ? qdq_plan_load_encodings(a->encodings, m, &opts, &plan, err)
                 : cli_at_file(c->operand[0], qdq_plan_import(m, &opts, &plan, NULL, err), err);
    if (st == QDQ_OK)
        st = write_plan(c, a, plan, err);
    qdq_plan_free(plan);
    qdq_model_free(m);
    return st;
}

const cli_command cmd_import = {
    .name = "import",
    .synopsis = "MODEL -o PLAN [options]",
    .operands = "MODEL",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "write the quantization that is in a model as a plan",
    .about =
        "Writes the quantization of a model as a plan, which 'qdq quantize --plan' applies to the\n"
        "result of 'qdq strip'. Operators on quantized values (QLinearConv, QLinearMatMul, QGemm,\n"
        "MatMulInteger, ...) are decomposed first. What a plan cannot express, like computed\n"
        "scales, is listed.\n"
        "\n"
        "--encodings reads the file that AIMET exports next to a float model (versions 0.4.0 to\n"
        "1.0.0), and makes a plan for MODEL of it.",
    .json = "{ \"model\", \"output\", \"tensors\", \"weights\", \"biases\", \"left_float\" }",
    .example = "qdq import model.qdq.onnx -o plan.json",
    .groups = groups,
    .args_size = sizeof(struct import_args),
    .run = run_import,
};
