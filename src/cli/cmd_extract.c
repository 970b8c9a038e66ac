/* cmd_extract.c - the part of a model between named values. */
#include "base/fail.h"
#include "cli/cli.h"
#include "cli/cli_model.h"

struct extract_args {
    cli_common common;
    cli_output_args out;
    cli_names inputs, outputs;
};

static const cli_opt options[] = {
    {.letter = 'i',
     .name = "inputs",
     .kind = CLI_NAMES,
     .offset = CLI_AT(extract_args, inputs),
     .what = "A,B",
     .help = "values that become inputs; default: the model's inputs"},
    {.name = "outputs",
     .kind = CLI_NAMES,
     .offset = CLI_AT(extract_args, outputs),
     .what = "C,D",
     .help = "values that become outputs; default: the model's outputs"},
    CLI_END,
};

static const cli_group groups[] = {
    {"extract", options, 0},
    {"output", cli_output_opts, CLI_AT(extract_args, out)},
    {"options", cli_common_opts, 0},
    {NULL, NULL, 0},
};

typedef bool (*get_io)(const qdq_model *m, size_t i, qdq_io *out);

/* What was asked for, or all that the model has. */
static qdq_status names_or_all(cli *c, const cli_names *asked, const qdq_model *m, get_io get,
                               cli_names *names, qdq_error *err)
{
    qdq_io io;

    *names = *asked;
    if (asked->n > 0)
        return QDQ_OK;
    for (size_t i = 0; get(m, i, &io); i++)
        if (!QDQ_PUSH(&c->arena, names, io.name))
            return qdq_nomem(err);
    return QDQ_OK;
}

static qdq_status extract(cli *c, const struct extract_args *a, const qdq_model *m, qdq_error *err)
{
    cli_names in, out;
    qdq_model *part = NULL;

    QDQ_TRY(names_or_all(c, &a->inputs, m, qdq_model_input, &in, err));
    QDQ_TRY(names_or_all(c, &a->outputs, m, qdq_model_output, &out, err));
    QDQ_TRY(cli_at_file(c->operand[0], qdq_model_extract(m, in.at, in.n, out.at, out.n, &part, err), err));
    qdq_status st = cli_model_save(c, part, &a->out, err);
    if (st == QDQ_E_FORMAT) /* the model itself is not sound */
        st = cli_at_file(c->operand[0], st, err);
    if (st == QDQ_OK && c->json)
        st = cli_print_written(c, a->out.output, part, err);
    qdq_model_free(part);
    return st;
}

static qdq_status run(cli *c, const void *args, qdq_error *err)
{
    const struct extract_args *a = args;
    qdq_model *m = NULL;

    QDQ_TRY(cli_output_check(c, &a->out, err));
    if (a->inputs.n == 0 && a->outputs.n == 0)
        return qdq_fail(err, QDQ_E_USAGE, "found neither --inputs nor --outputs");
    QDQ_TRY(cli_model_load(c, c->operand[0], &m, err));
    qdq_status st = extract(c, a, m, err);
    qdq_model_free(m);
    return st;
}

const cli_command cmd_extract = {
    .name = "extract",
    .synopsis = "MODEL -o OUT --inputs A,B --outputs C [options]",
    .operands = "MODEL",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "write the part of a model between named values",
    .about =
        "Writes the part of a model that computes the outputs from the inputs. Inputs that do not cut all\n"
        "paths are an error that names what is missing. A comma inside a name is written as '\\,'.",
    .json = "{ \"model\", \"output\", \"opset\", \"files\": [{\"path\", \"bytes\"}] }",
    .example = "qdq extract model.onnx -o head.onnx --inputs pool_out --outputs logits",
    .groups = groups,
    .args_size = sizeof(struct extract_args),
    .run = run,
};
