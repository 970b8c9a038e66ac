/* cmd_strip.c - a model without its Q/DQ. */
#include "base/fail.h"
#include "cli/cli.h"
#include "cli/cli_files.h"
#include "cli/cli_import.h"
#include "cli/cli_model.h"
#include "qdq/quant.h"

struct strip_args {
    cli_common common;
    cli_output_args out;
    struct cli_import_args import;
};

static const cli_group groups[] = {
    {"output", cli_output_opts, CLI_AT(strip_args, out)},
    {"strip", cli_import_opts, CLI_AT(strip_args, import)},
    {"options", cli_common_opts, 0},
    {NULL, NULL, 0},
};

/* Quantized values that became float have another size; floats before QuantizeLinear stay. */
static qdq_status print_text(cli *c, const struct strip_args *a, const qdq_model *before,
                             const qdq_model *after, qdq_error *err)
{
    FILE *to = cli_result_stream(&a->out);

    if (qdq_model_weight_bytes(before) != qdq_model_weight_bytes(after))
        fputs("weights keep the rounding of their quantized values; your float file has the exact "
              "ones\n",
              to);
    return cli_files_print(c, NULL, 0, to, err);
}

static qdq_status run_strip(cli *c, const void *args, qdq_error *err)
{
    const struct strip_args *a = args;
    qdq_model *m = NULL, *stripped = NULL;
    qdq_import_opts opts = cli_import_options(c, &a->import);

    QDQ_TRY(cli_output_check(c, &a->out, err));
    QDQ_TRY(cli_model_load(c, c->operand[0], &m, err));
    qdq_status st =
        cli_at_file(c->operand[0], qdq_model_strip(m, &opts, &stripped, NULL, err), err);
    if (st == QDQ_OK)
        st = cli_model_save_copy(c, stripped, &a->out, err);
    if (st == QDQ_OK && !c->json)
        st = print_text(c, a, m, stripped, err);
    qdq_model_free(stripped);
    qdq_model_free(m);
    return st;
}

const cli_command cmd_strip = {
    .name = "strip",
    .synopsis = "MODEL -o OUT [options]",
    .operands = "MODEL",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "remove all Q/DQ from a model",
    .about =
        "Removes all QuantizeLinear and DequantizeLinear nodes from a model, also in subgraphs\n"
        "and functions. Operators on quantized values (QLinearConv, MatMulInteger, ...) become\n"
        "float ones, and quantized constants float again. Weights keep the rounding of their\n"
        "quantized values: only your float file has the exact ones. What cannot be removed, like\n"
        "quantized inputs, is listed. 'qdq import' writes the removed Q/DQ as a plan.",
    .json = "{ \"model\", \"output\", \"opset\", \"files\": [{\"path\", \"bytes\"}] }",
    .example = "qdq strip model.qdq.onnx -o model.float.onnx",
    .groups = groups,
    .args_size = sizeof(struct strip_args),
    .run = run_strip,
};
