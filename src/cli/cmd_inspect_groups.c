/* cmd_inspect_groups.c - 'qdq inspect --groups': the layers that an engine executes of a model, with their nodes. */
#include "cli/cmd_inspect.h"

#include <string.h>

#include "base/fail.h"
#include "cli/cli_groups.h"

enum { RUNS = 20 };

const cli_opt cmd_inspect_group_opts[] = {
    {.name = "groups",
     .kind = CLI_FLAG,
     .offset = CLI_AT(cmd_inspect_groups_args, groups),
     .help = "print what an engine executes: kernel, types, time and nodes of each layer"},
    {.letter = 'e',
     .name = "engine",
     .kind = CLI_TEXT,
     .offset = CLI_AT(cmd_inspect_groups_args, engine) + offsetof(cli_engine_args, engine),
     .what = "NAME[:ARG]",
     .help = "the engine of --groups; default: ort"},
    {.name = "runs",
     .kind = CLI_WHOLE,
     .offset = CLI_AT(cmd_inspect_groups_args, runs),
     .what = "N",
     .help = "profiled runs on random input; default: 20",
     .min = 1,
     .max = 100000},
    {.letter = 't',
     .name = "threads",
     .kind = CLI_WHOLE,
     .offset = CLI_AT(cmd_inspect_groups_args, threads),
     .what = "N",
     .help = "threads of the engine; 0: all processors",
     .init = "1",
     .min = 0,
     .max = 1024},
    CLI_END,
};

const char *cmd_inspect_groups_given(const cmd_inspect_groups_args *a)
{
    return a->engine.engine != NULL ? "--engine"
           : a->runs > 0            ? "--runs"
           : a->threads != 1        ? "--threads"
           : a->shape.shapes.n > 0  ? "--shape"
           : a->range.min.n > 0     ? "--min-shape"
           : a->range.opt.n > 0     ? "--opt-shape"
           : a->range.max.n > 0     ? "--max-shape"
                                    : NULL;
}

static qdq_status ask(const cmd_inspect_groups_args *a, qdq_session *s, cli_groups *g, qdq_error *err)
{
    const unsigned runs = a->runs > 0 ? (unsigned)a->runs : RUNS;
    qdq_named_array *in = NULL;
    size_t n = 0;

    QDQ_TRY(qdq_random_inputs(s, 1, &in, &n, err));
    qdq_status st = qdq_session_groups(s, in, n, runs, &g->group, &g->n, err);
    qdq_free(in);
    return st;
}

static qdq_status print(cli *c, const qdq_engine *e, const qdq_model *m, const cli_groups *g, int threads,
                        bool dot, bool verbose, qdq_error *err)
{
    const qdq_engine_info *info = qdq_engine_get_info(e);
    cli_json j = {false};

    if (dot) {
        char *text;
        QDQ_TRY(qdq_groups_dot(m, g->group, g->n, &text, err));
        fputs(text, stdout);
        qdq_free(text);
        return QDQ_OK;
    }
    if (c->json) {
        json_t *root = cli_groups_json(&j, g);
        cli_json_set(&j, root, "engine", cli_json_text(info->name));
        cli_json_set(&j, root, "engine_version", cli_json_text(info->version));
        cli_json_set(&j, root, "device", cli_json_text(info->device));
        cli_json_set(&j, root, "threads", json_integer(threads));
        return cli_json_print(&j, root, err);
    }
    printf("engine %s %s on %s, %d thread%s\n", info->name, info->version, info->device, threads,
           cli_plural((size_t)threads));
    return cli_groups_print(c, g, verbose, err);
}

qdq_status cmd_inspect_groups(cli *c, const cmd_inspect_groups_args *a, const qdq_model *m, bool dot,
                              bool verbose, qdq_error *err)
{
    qdq_session_opts opts = QDQ_SESSION_OPTS_INIT;
    cli_engine_args engine = a->engine;
    cli_shapes shapes = a->shape.shapes, fitting;
    cli_groups g = {0};
    qdq_engine *e = NULL;
    qdq_session *s = NULL;

    if (engine.engine == NULL)
        engine.engine = "ort";
    opts.groups = true;
    opts.threads = cli_threads(a->threads);
    QDQ_TRY(cli_range_check(&a->range, &shapes, err));
    QDQ_TRY(cli_shapes_pick(c, &a->range.opt, m, &fitting, err));
    if (fitting.n < a->range.opt.n)
        return qdq_fail(err, QDQ_E_USAGE, "--opt-shape: found a name that is no input of the model");
    QDQ_TRY(cli_range_apply(c, &a->range, &engine, &shapes, err));
    opts.shapes = shapes.at;
    opts.n_shapes = shapes.n;
    qdq_status st = cli_engine_open(c, &engine, &e, err);
    if (st == QDQ_OK)
        st = cli_at_file(c->operand[0], qdq_session_open(e, m, &opts, &s, err), err);
    if (st == QDQ_OK)
        st = cli_at_file(c->operand[0], ask(a, s, &g, err), err);
    if (st == QDQ_OK)
        st = cli_groups_check(m, &g, err);
    if (st == QDQ_OK)
        st = print(c, e, m, &g, opts.threads, dot, verbose, err);
    cli_groups_free(&g);
    qdq_session_close(s);
    qdq_engine_close(e);
    return st;
}
