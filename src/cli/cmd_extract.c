/* cmd_extract.c - the part of a model between named values, or what an engine computes in one
 * layer. */
#include <inttypes.h>

#include "base/fail.h"
#include "cli/cli.h"
#include "cli/cli_engine.h"
#include "cli/cli_groups.h"
#include "cli/cli_model.h"
#include "cli/cli_range.h"
#include "qdq/parts.h"

struct extract_args {
    cli_common common;
    cli_output_args out;
    cli_engine_args engine;
    cli_shape_args shape;
    cli_range_args range;
#include "cli/cli_members.def"
#include "cli/cmd_extract.def"
};

#define ARGS extract_args
#include "cli/cli_tables.def"
#include "cli/cmd_extract.def"

static const cli_group groups[] = {
    {"extract", options, 0},
    {"groups of an engine", group_options, 0},
    {"shapes", cli_shape_opts, CLI_AT(extract_args, shape)},
    {"", cli_range_opts, CLI_AT(extract_args, range)},
    /* --engine is among those above */
    {"engine", cli_engine_opts + 1, CLI_AT(extract_args, engine)},
    {"", cli_trtexec_opts, CLI_AT(extract_args, engine)},
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
        QDQ_NEED(QDQ_PUSH(&c->arena, names, io.name), err);
    return QDQ_OK;
}

static qdq_status extract(cli *c, const struct extract_args *a, const qdq_model *m, qdq_error *err)
{
    cli_names in, out;
    qdq_model *part = NULL;

    QDQ_TRY(names_or_all(c, &a->inputs, m, qdq_model_input, &in, err));
    QDQ_TRY(names_or_all(c, &a->outputs, m, qdq_model_output, &out, err));
    QDQ_TRY(cli_at_file(c->operand[0], qdq_model_extract(m, in.at, in.n, out.at, out.n, &part, err),
                        err));
    qdq_status st = cli_model_save_copy(c, part, &a->out, err);
    qdq_model_free(part);
    return st;
}

static qdq_status read_number(const char *text, size_t *n, qdq_error *err)
{
    *n = 0;
    for (const char *p = text; *p != '\0' || p == text; p++) {
        if (*p < '0' || *p > '9' || p - text > 8)
            return qdq_fail(err, QDQ_E_USAGE, "--group: found '%s', expected the number of a group",
                            text);
        *n = *n * 10 + (size_t)(*p - '0');
    }
    return QDQ_OK;
}

/* A group of the model, and the shapes of its inputs. */
typedef struct group_part {
    qdq_model *model;
    qdq_fusion_input *in;
    size_t n_in;
} group_part;

static void dims_json(qdq_json_out list, const int64_t *dim, int rank)
{
    for (int k = 0; k < rank; k++)
        qdq_json_put_known(list, NULL, dim[k] >= 0, dim[k]);
}

static qdq_status print_json(cli *c, const struct extract_args *a, const group_part *p,
                             qdq_error *err)
{
    qdq_json_doc d = {0};
    qdq_json_out root = qdq_json_object(&d);

    cli_json_written(root, c, a->out.output, p->model);
    qdq_json_out inputs = qdq_json_put_list(root, "inputs");
    for (size_t i = 0; i < p->n_in; i++) {
        const qdq_fusion_input *in = &p->in[i];
        qdq_json_out o = qdq_json_put_object(inputs, NULL);
        qdq_json_put_text(o, "name", in->name);
        qdq_json_put_bool(o, "dynamic", in->dynamic);
        dims_json(qdq_json_put_list(o, "min"), in->min, in->rank);
        dims_json(qdq_json_put_list(o, "opt"), in->opt, in->rank);
        dims_json(qdq_json_put_list(o, "max"), in->max, in->rank);
    }
    return cli_json_print(&d, err);
}

static void print_shape(const char *option, const qdq_fusion_input *in, const int64_t *dim,
                        FILE *to)
{
    fprintf(to, " %s %s=", option, in->name);
    for (int k = 0; k < in->rank; k++)
        fprintf(to, "%s%" PRId64, k > 0 ? "x" : "", dim[k]);
}

static bool is_known(const qdq_fusion_input *in)
{
    for (int k = 0; k < in->rank; k++)
        if (in->min[k] < 0 || in->opt[k] < 0 || in->max[k] < 0)
            return false;
    return true;
}

/* What is open in it, as options for commands that get the file. */
static void print_ranges(const group_part *p, FILE *to)
{
    for (size_t i = 0; i < p->n_in; i++) {
        const qdq_fusion_input *in = &p->in[i];
        if (!in->dynamic || !is_known(in))
            continue;
        fputs("its shapes:", to);
        print_shape("--min-shape", in, in->min, to);
        print_shape("--opt-shape", in, in->opt, to);
        print_shape("--max-shape", in, in->max, to);
        fputc('\n', to);
    }
}

static qdq_status save(cli *c, const struct extract_args *a, const group_part *p, qdq_error *err)
{
    QDQ_TRY(cli_model_save(c, p->model, &a->out, err));
    if (c->json)
        return print_json(c, a, p, err);
    print_ranges(p, cli_result_stream(&a->out));
    return QDQ_OK;
}

/* The engine that is asked for groups, and the shapes for which they are to be. */
typedef struct source {
    cli_engine_args engine;
    cli_range range;
    /* usual: of all inputs; fixed: those that the engine gets as shapes */
    cli_shapes usual, fixed;
} source;

static qdq_status read_source(cli *c, const struct extract_args *a, qdq_model *m, source *s,
                              qdq_error *err)
{
    cli_shapes fitting;

    s->engine = a->engine;
    s->fixed = a->shape.shapes;
    QDQ_TRY(cli_range_read(c, &a->range, &s->engine, &s->fixed, &s->range, err));
    QDQ_TRY(cli_range_merge(c, &s->range, &s->fixed, &s->usual, err));
    QDQ_TRY(cli_shapes_check(&s->usual, &m, 1, err));
    QDQ_TRY(cli_shapes_pick(c, &s->usual, m, &fitting, err));
    return cli_range_apply(c, &s->range, &s->engine, &s->fixed, err);
}

static qdq_status extract_group(cli *c, const struct extract_args *a, qdq_model *m, qdq_error *err)
{
    source s;
    const cli_groups_from from = {&s.engine, &s.fixed, cli_threads(a->threads), a->layer_info,
                                  NULL};
    qdq_fusion_extract_opts how = QDQ_FUSION_EXTRACT_OPTS_INIT;
    qdq_fusion_opts opts = QDQ_FUSION_OPTS_INIT;
    cli_groups g = {0};
    qdq_engine *e = NULL;
    group_part part = {0};
    size_t group;

    QDQ_TRY(read_source(c, a, m, &s, err));
    QDQ_TRY(cli_groups_from_check(&from, err));
    QDQ_TRY(read_number(a->group, &group, err));
    how.halo = a->halo;
    how.min = s.range.min.at;
    how.n_min = s.range.min.n;
    how.opt = s.usual.at;
    how.n_opt = s.usual.n;
    how.max = s.range.max.at;
    how.n_max = s.range.max.n;
    if (a->layer_info == NULL)
        opts.min_matched =
            1e-9; /* what an engine says of the model that it was given is of this model */
    qdq_status st = cli_groups_get(c, &from, m, 0, &g, &e, err);
    if (st == QDQ_OK) {
        st = qdq_fusion_extract(m, g.group, g.n, &opts, group, &how, &part.model, &part.in,
                                &part.n_in, err);
        st = cli_at_file(a->layer_info != NULL ? a->layer_info : c->operand[0], st, err);
    }
    if (st == QDQ_OK)
        st = save(c, a, &part, err);
    qdq_free(part.in);
    qdq_model_free(part.model);
    cli_groups_free(&g);
    qdq_engine_close(e);
    return st;
}

static qdq_status check_options(const struct extract_args *a, qdq_error *err)
{
    struct extract_args other = *a;

    other.group = NULL;
    const char *only = a->engine.host != NULL
                           ? "--host"
                           : cli_groups_given(group_options, &other, &a->shape, &a->range);

    if (a->group != NULL && (a->inputs.n > 0 || a->outputs.n > 0))
        return qdq_fail(err, QDQ_E_USAGE, "found --group and %s, expected one of them",
                        a->inputs.n > 0 ? "--inputs" : "--outputs");
    if (a->group == NULL && only != NULL)
        return qdq_fail(err, QDQ_E_USAGE, "found %s without --group", only);
    if (a->group == NULL && a->inputs.n == 0 && a->outputs.n == 0)
        return qdq_fail(err, QDQ_E_USAGE, "found neither --inputs nor --outputs nor --group");
    return QDQ_OK;
}

static qdq_status run_extract(cli *c, const void *args, qdq_error *err)
{
    const struct extract_args *a = args;
    qdq_model *m = NULL;

    QDQ_TRY(cli_output_check(c, &a->out, err));
    QDQ_TRY(check_options(a, err));
    QDQ_TRY(cli_model_load(c, c->operand[0], &m, err));
    qdq_status st = a->group != NULL ? extract_group(c, a, m, err) : extract(c, a, m, err);
    qdq_model_free(m);
    return st;
}

const cli_command cmd_extract = {
    .name = "extract",
    .synopsis = "MODEL -o OUT {--inputs A,B --outputs C | --group N} [options]",
    .operands = "MODEL",
    .min_operands = 1,
    .max_operands = 1,
    .summary = "write a part of a model: between named values, or one group of an engine",
    .about =
        "Writes the part of a model that computes the outputs from the inputs. Inputs that do not\n"
        "cut all paths are an error that names what is missing. A comma inside a name is written\n"
        "as '\\,'.\n"
        "\n"
        "--group N writes the nodes that an engine computes together, as 'qdq inspect --groups'\n"
        "lists them, as a model that can be built and timed: with constants, names, types and\n"
        "symbolic dims. Computed shapes are included; one that begins outside of the group\n"
        "becomes a constant for --shape or --opt-shape. With a range of shapes (also in\n"
        "--trtexec-args, with any engine) the shapes of its open inputs are printed as options. A\n"
        "group that cannot be a model is rejected with the reason.",
    .json = "{ \"model\", \"output\", \"opset\", \"files\": [{\"path\", \"bytes\"}] }; with "
            "--group also\n"
            "\"inputs\": [{\"name\", \"dynamic\", \"min\": [1, 64], \"opt\", \"max\"}]; null: not "
            "known",
    .example = "qdq extract model.onnx -o head.onnx --inputs pool_out --outputs logits",
    .common = "inputs outputs group engine output force json help",
    .groups = groups,
    .args_size = sizeof(struct extract_args),
    .run = run_extract,
};
