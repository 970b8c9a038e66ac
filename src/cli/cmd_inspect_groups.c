/* cmd_inspect_groups.c - 'qdq inspect --groups': the layers that an engine executes of a model,
 * with their nodes, and the fusion groups that follow from them. */
#include "cli/cmd_inspect.h"

#include "base/fail.h"
#include "cli/cli_fusions.h"
#include "cli/cli_groups.h"
#include "cli/cli_host.h"

enum { RUNS = 20 };

#define ARGS cmd_inspect_groups_args
#include "cli/cli_tables.def"
#include "cli/cmd_inspect_groups.def"

const char *cmd_inspect_groups_given(const cmd_inspect_groups_args *a)
{
    cmd_inspect_groups_args other = *a;

    other.groups = false;
    other.engine.engine = NULL;
    return a->engine.host != NULL
               ? "--host"
               : cli_groups_given(cmd_inspect_group_opts, &other, &a->shape, &a->range);
}

static qdq_status print_json(const qdq_engine *e, const cli_groups *g, const qdq_fusion_list *l,
                             int threads, qdq_error *err)
{
    qdq_json_doc d = {0};
    qdq_json_out root = qdq_json_object(&d);

    cli_groups_json(root, g);
    cli_fusions_json(root, l);
    if (e != NULL) {
        const qdq_engine_info *info = qdq_engine_get_info(e);
        qdq_json_put_text(root, "engine", info->name);
        qdq_json_put_text(root, "engine_version", info->version);
        qdq_json_put_text(root, "device", info->device);
        qdq_json_put_int(root, "threads", threads);
    }
    return cli_json_print(&d, err);
}

static qdq_status print_dot(const qdq_model *m, const qdq_fusion_list *l, qdq_error *err)
{
    char *text;

    QDQ_TRY(qdq_fusions_dot(m, l, &text, err));
    fputs(text, stdout);
    qdq_free(text);
    return QDQ_OK;
}

static qdq_status print_text(cli *c, const qdq_engine *e, const cli_groups *g,
                             const qdq_fusion_list *l, int threads, bool verbose, qdq_error *err)
{
    if (e != NULL) {
        const qdq_engine_info *info = qdq_engine_get_info(e);
        printf("engine %s %s on %s, %d thread%s\n", info->name, info->version, info->device,
               threads, cli_plural((size_t)threads));
    }
    QDQ_TRY(cli_groups_print(c, g, verbose, err));
    printf("\n");
    return cli_fusions_print(c, l, verbose, err);
}

/* What an engine says of the model that it was given is of this model, however little of it has
 * nodes; unknown of a file. */
static qdq_status find_groups(const cmd_inspect_groups_args *a, const qdq_model *m,
                              const cli_groups *g, qdq_fusion_list **l, qdq_error *err)
{
    qdq_fusion_opts opts = QDQ_FUSION_OPTS_INIT;

    if (a->layer_info == NULL)
        opts.min_matched = 1e-9;
    qdq_status st = qdq_fusions_list(m, g->group, g->n, &opts, l, err);
    return a->layer_info != NULL ? cli_at_file(a->layer_info, st, err) : st;
}

qdq_status cmd_inspect_groups(cli *c, const cmd_inspect_groups_args *a, qdq_model *m, bool dot,
                              bool verbose, qdq_error *err)
{
    cli_engine_args engine = a->engine;
    cli_shapes shapes = a->shape.shapes, fitting;
    int threads = 1;
    cli_range range;
    cli_groups g = {0};
    qdq_fusion_list *l = NULL;
    qdq_engine *e = NULL;

    QDQ_TRY(cli_host_threads(c, &engine, a->threads, &threads, err));
    const cli_groups_from from = {&engine, &shapes, threads, a->layer_info, a->layer_profile};
    QDQ_TRY(cli_groups_from_check(&from, err));
    if (engine.engine == NULL)
        engine.engine = "ort";
    QDQ_TRY(cli_range_read(c, &a->range, &engine, &shapes, &range, err));
    QDQ_TRY(cli_shapes_check(&range.opt, &m, 1, err));
    QDQ_TRY(cli_shapes_pick(c, &range.opt, m, &fitting, err));
    QDQ_TRY(cli_range_apply(c, &range, &engine, &shapes, err));
    qdq_status st =
        cli_groups_get(c, &from, m, a->runs > 0 ? (unsigned)a->runs : RUNS, &g, &e, err);
    if (st == QDQ_OK)
        st = cli_groups_check(m, &g, err);
    if (st == QDQ_OK)
        st = find_groups(a, m, &g, &l, err);
    if (st == QDQ_OK)
        st = dot       ? print_dot(m, l, err)
             : c->json ? print_json(e, &g, l, from.threads, err)
                       : print_text(c, e, &g, l, from.threads, verbose, err);
    qdq_fusion_list_free(l);
    cli_groups_free(&g);
    qdq_engine_close(e);
    return st;
}
