/* cmd_copy.c - load and save; opset, input shapes and the place of the weights change only when
 * asked. */
#include "base/fail.h"
#include "cli/cli.h"
#include "cli/cli_model.h"

struct copy_args {
    cli_common common;
    cli_output_args out;
    cli_shapes set_shape;
    int64_t opset;
};

static const cli_opt options[] = {
    CLI_ENTRY(copy_args, WHOLE, 0, "opset", opset, "N",
              "raise the opset of the default domain, 7 to 26", .min = 7, .max = 26),
    CLI_END,
};

static const cli_group groups[] = {
    {"output", cli_output_opts, CLI_AT(copy_args, out)},
    {"copy", options, 0},
    {"", cli_set_shape_opts, CLI_AT(copy_args, set_shape)},
    {"options", cli_common_opts, 0},
    {NULL, NULL, 0},
};

static qdq_status change(const struct copy_args *a, qdq_model *m, qdq_error *err)
{
    if (a->opset != 0)
        QDQ_TRY(qdq_model_set_opset(m, (int)a->opset, err));
    return cli_shapes_set(&a->set_shape, m, err);
}

static qdq_status run_copy(cli *c, const void *args, qdq_error *err)
{
    const struct copy_args *a = args;
    qdq_model *m = NULL;

    QDQ_TRY(cli_output_check(c, &a->out, err));
    QDQ_TRY(cli_model_load(c, c->operand[0], &m, err));
    qdq_status st = change(a, m, err);
    if (st == QDQ_E_FORMAT) /* the model itself is not sound */
        st = cli_at_file(c->operand[0], st, err);
    if (st == QDQ_OK)
        st = cli_model_save_copy(c, m, &a->out, err);
    qdq_model_free(m);
    return st;
}

const cli_command cmd_copy = {
    .name = "copy",
    .synopsis = "MODEL -o OUT [options]",
    .operands = "MODEL",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "load and save, with another opset, shapes or place of the weights",
    .about =
        "Loads a model and saves it unchanged, unknown fields included, but for what the options\n"
        "ask. Names that end in .onnxtxt are read and written as text, '-' is stdin or stdout.\n"
        "\n"
        "--set-shape adapts a constant leading batch in Reshape and rejects inconsistent shapes.\n"
        "--opset names an operator whose change is not implemented instead of raising the number.",
    .json = "{ \"model\", \"output\", \"opset\", \"files\": [{\"path\", \"bytes\"}] }",
    .example = "qdq copy model.onnx -o batch128.onnx --set-shape x=128x3x224x224",
    .groups = groups,
    .args_size = sizeof(struct copy_args),
    .run = run_copy,
};
