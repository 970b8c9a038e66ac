/* cmd_inspect.c - what a model holds. The library writes all three views. */
#include "base/fail.h"
#include "cli/cli.h"
#include "cli/cli_model.h"

struct inspect_args {
    cli_common common;
    bool dot;
};

static const cli_opt options[] = {
    {.name = "dot",
     .kind = CLI_FLAG,
     .offset = CLI_AT(inspect_args, dot),
     .help = "print the graph for Graphviz"},
    CLI_END,
};

static const cli_group groups[] = {
    {"inspect", options, 0},
    {"options", cli_common_opts, 0},
    {NULL, NULL, 0},
};

static qdq_status run(cli *c, const void *args, qdq_error *err)
{
    const struct inspect_args *a = args;
    qdq_model *m = NULL;
    char *text = NULL;

    if (a->dot && c->json)
        return qdq_fail(err, QDQ_E_USAGE, "found --dot and --json, expected one of them");
    QDQ_TRY(cli_model_load(c, c->operand[0], &m, err));
    qdq_view view = a->dot ? QDQ_VIEW_DOT : c->json ? QDQ_VIEW_JSON : QDQ_VIEW_TEXT;
    qdq_status st = qdq_model_inspect(m, view, &text, err);
    if (st == QDQ_OK)
        fputs(text, stdout);
    qdq_free(text);
    qdq_model_free(m);
    return st;
}

const cli_command cmd_inspect = {
    .name = "inspect",
    .synopsis = "MODEL [options]",
    .operands = "MODEL",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "show what a model holds",
    .about = "Shows versions, operators, inputs, outputs, weights and quantization of a model. No tensor is\n"
             "read, so this takes milliseconds whatever the size.",
    .json = "{ \"ir_version\", \"opsets\": {\"\": 17}, \"nodes\", \"ops\": {\"Conv\": 53, "
            "\"com.microsoft::Gelu\": 1},\n"
            "  \"initializers\", \"weight_bytes\", \"inputs\": [{\"name\", \"type\", \"shape\"}], "
            "\"outputs\": [...],\n"
            "  \"qdq\": {\"quantize\", \"dequantize\"} }\n"
            "Counts are of the main graph; bodies of subgraphs and functions are counted apart.",
    .example = "qdq inspect model.onnx --json",
    .groups = groups,
    .args_size = sizeof(struct inspect_args),
    .run = run,
};
