/* cli_groups.c - prints executed layers: which kernel, on what it works, how long, for which
 * nodes. */
#include "cli/cli_groups.h"

#include <math.h>

#include "base/buf.h"
#include "base/fail.h"
#include "cli/cli_engine.h"
#include "cli/cli_values.h"

enum { SHOWN_NODES = 3 };

qdq_status cli_groups_check(const qdq_model *m, cli_groups *g, qdq_error *err)
{
    return qdq_layers_check(m, g->group, g->n, &g->finding, &g->n_findings, err);
}

qdq_status cli_groups_from_check(const cli_groups_from *from, qdq_error *err)
{
    if (from->layer_info != NULL && from->engine->engine != NULL)
        return qdq_fail(err, QDQ_E_USAGE, "found --layer-info and --engine, expected one of them");
    if (from->layer_profile != NULL && from->layer_info == NULL)
        return qdq_fail(err, QDQ_E_USAGE, "found --layer-profile without --layer-info");
    return QDQ_OK;
}

const char *cli_groups_given(const cli_opt *opts, const void *args, const cli_shape_args *shape,
                             const cli_range_args *range)
{
    const char *given = cli_first_given(opts, args);

    if (given == NULL)
        given = cli_first_given(cli_shape_opts, shape);
    return given != NULL ? given : cli_first_given(cli_range_opts, range);
}

static qdq_status list_layers(qdq_session *s, unsigned runs, cli_groups *g, qdq_error *err)
{
    qdq_named_array *in = NULL;
    size_t n = 0;

    if (runs > 0)
        QDQ_TRY(qdq_random_inputs(s, 1, &in, &n, err));
    qdq_status st = qdq_session_layers(s, in, n, runs, &g->group, &g->n, err);
    qdq_free(in);
    return st;
}

qdq_status cli_groups_get(cli *c, const cli_groups_from *from, const qdq_model *m, unsigned runs,
                          cli_groups *g, qdq_engine **e, qdq_error *err)
{
    qdq_session_opts opts = QDQ_SESSION_OPTS_INIT;
    cli_engine_args engine = *from->engine;
    qdq_session *s = NULL;

    *e = NULL;
    if (from->layer_info != NULL)
        return qdq_layers_read(m, from->layer_info, from->layer_profile, &c->job, &g->group, &g->n,
                               err);
    if (engine.engine == NULL)
        engine.engine = "ort";
    opts.layers = true;
    opts.threads = from->threads;
    opts.shapes = from->shapes->at;
    opts.n_shapes = from->shapes->n;
    QDQ_TRY(cli_engine_open(c, &engine, e, err));
    qdq_status st = cli_at_file(c->operand[0], qdq_session_open(*e, m, &opts, &s, err), err);
    if (st == QDQ_OK)
        st = cli_at_file(c->operand[0], list_layers(s, runs, g, err), err);
    qdq_session_close(s);
    return st;
}

void cli_groups_free(cli_groups *g)
{
    qdq_free(g->finding);
    qdq_free(g->group);
}

/* --- text ------------------------------------------------------------------------------------- */

const char *cli_nodes_text(cli *c, const char *const *node, size_t n, size_t most)
{
    const size_t shown = n <= most + 1 ? n : most;
    qdq_buf b = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);

    for (size_t i = 0; i < shown; i++)
        qdq_buf_printf(&b, "%s%s", i > 0 ? ", " : "", node[i]);
    if (shown < n)
        qdq_buf_printf(&b, ", and %zu more", n - shown);
    const char *text = b.failed ? NULL : qdq_arena_strdup(&c->arena, b.data != NULL ? b.data : "");
    qdq_buf_free(&b);
    return text != NULL ? text : "?";
}

static const char *source_text(const qdq_layer *g)
{
    switch (g->source) {
    case QDQ_LAYER_NONE:
        return "-";
    case QDQ_LAYER_SLICE:
        return "slice";
    case QDQ_LAYER_EXACT:
        break;
    }
    return "exact";
}

static void put_row(cli *c, cli_table *t, const cli_groups *all, size_t i, double total,
                    bool verbose)
{
    const qdq_layer *g = &all->group[i];

    if (isnan(g->median_us)) {
        CLI_CELLS(t, "-", "-");
    } else {
        cli_cell(t, "%.1f", g->median_us);
        cli_cell(t, "%.1f", total > 0 ? 100 * g->median_us / total : 0);
    }
    CLI_CELLS(t, g->op, g->in_type[0] != '\0' ? g->in_type : "?",
              g->out_type[0] != '\0' ? g->out_type : "?", source_text(g),
              g->n_nodes == 0
                  ? g->layer
                  : cli_nodes_text(c, g->node, g->n_nodes, verbose ? SIZE_MAX - 1 : SHOWN_NODES));
}

/* Names come from files: no control characters on a terminal. */
static void print_finding(const qdq_layer *g, const qdq_layer_finding *f)
{
    char text[2000];

    snprintf(text, sizeof text, "warning: %s '%s' %s", g->op, g->layer, f->why);
    for (char *c = text; *c != '\0'; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            *c = '?';
    puts(text);
}

static void print_sum(const cli_groups *g)
{
    const qdq_layers_sum s = qdq_layers_add(g->group, g->n);
    size_t nameless = 0;

    for (size_t i = 0; i < g->n; i++)
        nameless += g->group[i].n_nodes == 0 && !g->group[i].conversion;
    printf("%zu layer%s, %zu of them computing for nodes that are not known", g->n,
           cli_plural(g->n), nameless);
    if (s.n_timed > 0)
        printf("; %.1f us, %.1f %% of it conversions", s.us,
               s.us > 0 ? 100 * s.conversions_us / s.us : 0);
    if (!isnan(s.attributed))
        printf("; nodes are known for %.1f %% of the rest", 100 * s.attributed);
    printf("\n");
}

qdq_status cli_groups_print(cli *c, const cli_groups *g, bool verbose, qdq_error *err)
{
    const qdq_layers_sum s = qdq_layers_add(g->group, g->n);
    cli_table t = {.arena = &c->arena, .columns = "rrlllll"};

    CLI_CELLS(&t, "us", "%", "kernel", "in", "out", "by", "nodes");
    for (size_t i = 0; i < g->n; i++)
        put_row(c, &t, g, i, s.us, verbose);
    QDQ_TRY(cli_table_print(&t, stdout, err));
    for (size_t i = 0; i < g->n_findings; i++)
        print_finding(&g->group[g->finding[i].layer], &g->finding[i]);
    print_sum(g);
    return QDQ_OK;
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void layer_json(qdq_json_out entry, const qdq_layer *g)
{
    qdq_json_put_text(entry, "layer", g->layer);
    qdq_json_put_text(entry, "kernel", g->op);
    qdq_json_put_some(entry, "in", g->in_type);
    qdq_json_put_some(entry, "out", g->out_type);
    qdq_json_put_short(entry, "us", g->median_us);
    qdq_json_put_bool(entry, "conversion", g->conversion);
    qdq_json_put_text(entry, "by", g->source != QDQ_LAYER_NONE ? source_text(g) : NULL);
    qdq_json_put_texts(entry, "nodes", g->node, g->n_nodes);
    if (g->tensor != NULL && g->tensor[0] != '\0')
        qdq_json_put_text(entry, "tensor", g->tensor);
}

void cli_groups_json(qdq_json_out root, const cli_groups *g)
{
    const qdq_layers_sum s = qdq_layers_add(g->group, g->n);

    qdq_json_put_int(root, "qdq_layers",
                     1); /* as qdq_layers_write() has it: it can be read again */
    qdq_json_put_short(root, "us", s.us);
    qdq_json_put_short(root, "conversions_us", s.conversions_us);
    qdq_json_put_short(root, "attributed", s.attributed);
    qdq_json_out layers = qdq_json_put_list(root, "layers");
    for (size_t i = 0; i < g->n; i++)
        layer_json(qdq_json_put_object(layers, NULL), &g->group[i]);
    qdq_json_out findings = qdq_json_put_list(root, "findings");
    for (size_t i = 0; i < g->n_findings; i++) {
        const qdq_layer_finding *f = &g->finding[i];
        qdq_json_out entry = qdq_json_put_object(findings, NULL);
        qdq_json_put_text(entry, "layer", g->group[f->layer].layer);
        qdq_json_put_some(entry, "node", f->node);
        qdq_json_put_some(entry, "tensor", f->tensor);
        qdq_json_put_text(entry, "why", f->why);
    }
}
