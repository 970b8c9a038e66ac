/* region_print.c - the regions of a model, for reading: the tree, the patterns, how much is
 * covered, how large leaves are. */
#include "tune/region/region_print.h"

#include <string.h>

#include "base/fail.h"
#include "base/opts.h"
#include "quant/quantize_steps.h"
#include "quant/target_fit.h"

enum { ITEMS = 20, SIGNATURE = 80 };

/* --- text ------------------------------------------------------------------------------------- */

static void put_head(const qdq_region_view *v, qdq_buf *b)
{
    const qdq_regions *r = v->r;
    double percent = r->n_nodes > 0 ? 100.0 * (double)r->n_covered / (double)r->n_nodes : 100;

    qdq_buf_printf(b, "builder   %s (%.0f %% of the nodes are named by modules)\n",
                   r->builder == QDQ_REGIONS_NAMES ? "names" : "structure", 100 * r->named_share);
    qdq_buf_printf(b, "regions   %zu, of %zu patterns", r->all.n, v->p->n);
    if (v->n_shown < r->all.n)
        qdq_buf_printf(b, "; %zu without an operator that can be quantized are not shown",
                       r->all.n - v->n_shown);
    qdq_buf_printf(b, "\ncoverage  %zu of %zu nodes, %.4g %%\n", r->n_covered, r->n_nodes, percent);
}

static void put_indent(qdq_buf *b, unsigned depth)
{
    for (unsigned i = 0; i < depth; i++)
        qdq_buf_puts(b, "  ");
}

static void put_values(qdq_buf *b, unsigned depth, const char *what, const qdq_value *const *at,
                       size_t n)
{
    if (n == 0)
        return;
    put_indent(b, depth);
    qdq_buf_puts(b, what);
    for (size_t i = 0; i < n && i < ITEMS; i++)
        qdq_buf_printf(b, "%s%s", i > 0 ? ", " : " ", at[i]->name);
    if (n > ITEMS)
        qdq_buf_printf(b, ", and %zu more", n - ITEMS);
    qdq_buf_putc(b, '\n');
}

static void put_region_nodes(const qdq_region_view *v, qdq_buf *b, const qdq_region *r)
{
    for (size_t i = 0; i < r->nodes.n && v->verbose; i++) {
        put_indent(b, r->depth + 3);
        qdq_buf_printf(b, "%s ", r->nodes.at[i]->type);
        qdq_region_put_name(b, r->nodes.at[i]);
        qdq_buf_putc(b, '\n');
    }
}

static void put_region(const qdq_region_view *v, qdq_buf *b, const qdq_region *r)
{
    put_indent(b, r->depth + 1);
    qdq_buf_printf(b, "%u %s, level %u, pattern %u, ", (unsigned)r->id,
                   r->type == QDQ_REGION_LEAF ? "leaf" : "composite", (unsigned)r->depth,
                   (unsigned)r->pattern);
    if (r->type == QDQ_REGION_LEAF)
        qdq_buf_printf(b, "nodes %zu", r->nodes.n);
    else
        qdq_buf_printf(b, "nodes %zu of %zu, children %zu", r->nodes.n, r->n_total, r->children.n);
    if (r->path != NULL)
        qdq_buf_printf(b, ", %s", r->path[0] != '\0' ? r->path : "/");
    qdq_buf_putc(b, '\n');
    put_values(b, r->depth + 3, "in ", r->inputs.at, r->inputs.n);
    put_values(b, r->depth + 3, "out", r->outputs.at, r->outputs.n);
    put_region_nodes(v, b, r);
}

static void put_tree(const qdq_region_view *v, qdq_buf *b)
{
    qdq_buf_puts(b, "\ntree\n");
    for (const qdq_region *r = qdq_region_next(v->r, NULL); r != NULL; r = qdq_region_next(v->r, r))
        if (v->shown[r->id])
            put_region(v, b, r);
}

static void put_patterns(const qdq_region_view *v, qdq_buf *b)
{
    qdq_buf_puts(b, "\npatterns\n  number  instances  nodes  signature\n");
    for (size_t i = 0; i < v->p->n; i++) {
        const qdq_pattern *p = &v->p->pattern[i];
        size_t size = strlen(p->signature), shown = 0;
        for (size_t k = 0; k < p->n_instances; k++)
            shown += v->shown[p->instance[k].region->id];
        if (shown == 0)
            continue;
        qdq_buf_printf(b, "  %6zu  %9zu  %5zu  ", i, p->n_instances,
                       p->instance[0].region->n_total);
        if (size > SIGNATURE && !v->verbose)
            qdq_buf_printf(b, "%.*s...\n", SIGNATURE - 3, p->signature);
        else
            qdq_buf_printf(b, "%s\n", p->signature);
    }
}

static void put_sizes(const qdq_region_view *v, qdq_buf *b)
{
    qdq_buf_puts(b, "\nsizes of leaves\n  nodes  leaves\n");
    for (size_t n = 1; n <= v->most_nodes; n++)
        if (v->leaves_of[n] > 0)
            qdq_buf_printf(b, "  %5zu  %6zu\n", n, v->leaves_of[n]);
}

void qdq_region_print_text(const qdq_region_view *v, qdq_buf *b)
{
    put_head(v, b);
    if (v->n_shown == 0)
        return;
    put_tree(v, b);
    put_patterns(v, b);
    put_sizes(v, b);
}

/* --- what is shown ---------------------------------------------------------------------------- */

/* The operators that Model-Optimizer quantizes. */
static bool can_be_quantized(const qdq_node *n)
{
    return n->domain[0] == '\0' &&
           QDQ_OP_IS_IN(n->op, QDQ_OP_CONV, QDQ_OP_CONVTRANSPOSE, QDQ_OP_GEMM, QDQ_OP_MATMUL,
                        QDQ_OP_AVERAGEPOOL, QDQ_OP_MAXPOOL, QDQ_OP_GLOBALAVERAGEPOOL,
                        QDQ_OP_GLOBALMAXPOOL, QDQ_OP_RESIZE, QDQ_OP_ADD, QDQ_OP_SUM, QDQ_OP_MUL,
                        QDQ_OP_RELU);
}

/* A region is shown if it, or one in it, has such an operator: children come behind their
 * parents. */
static qdq_status choose_shown(qdq_region_view *v, qdq_arena *arena, qdq_error *err)
{
    for (size_t i = 0; i < v->r->all.n; i++)
        if (v->r->all.at[i]->nodes.n > v->most_nodes)
            v->most_nodes = v->r->all.at[i]->nodes.n;
    v->shown = qdq_arena_array(arena, v->r->all.n + 1, sizeof *v->shown);
    v->leaves_of = qdq_arena_array(arena, v->most_nodes + 1, sizeof *v->leaves_of);
    QDQ_NEED(v->shown != NULL && v->leaves_of != NULL, err);
    for (size_t i = v->r->all.n; i-- > 0;) {
        const qdq_region *r = v->r->all.at[i];
        for (size_t k = 0; k < r->nodes.n; k++)
            v->shown[i] = v->shown[i] || can_be_quantized(r->nodes.at[k]);
        v->shown[i] = v->shown[i] || v->all;
        if (v->shown[i] && r->parent != NULL)
            v->shown[r->parent->id] = true;
        v->n_shown += v->shown[i];
        v->leaves_of[r->nodes.n] += v->shown[i] && r->type == QDQ_REGION_LEAF;
    }
    return QDQ_OK;
}

static qdq_status print_view(const qdq_region_view *v, char **text, qdq_error *err)
{
    qdq_buf b = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);

    if (v->form == QDQ_REGIONS_JSON)
        return qdq_region_print_json(v, text, err);
    if (v->form == QDQ_REGIONS_DOT)
        qdq_region_print_dot(v, &b);
    else
        qdq_region_print_text(v, &b);
    *text = qdq_buf_take(&b);
    return *text != NULL ? QDQ_OK : qdq_nomem(err);
}

static qdq_status print_clean(const qdq_model *clean, const qdq_region_opts *opts,
                              qdq_region_view *v, char **text, qdq_error *err)
{
    qdq_regions *r = NULL;
    qdq_patterns *p = NULL;
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_status st = qdq_regions_find(clean, opts, &r, err);

    if (st == QDQ_OK)
        st = qdq_patterns_find(r, &p, err);
    v->r = r;
    v->p = p;
    if (st == QDQ_OK)
        st = choose_shown(v, &arena, err);
    if (st == QDQ_OK)
        st = print_view(v, text, err);
    qdq_arena_free(&arena);
    qdq_patterns_free(p);
    qdq_regions_free(r);
    return st;
}

qdq_status qdq_regions_print(const qdq_model *m, const qdq_target *t,
                             const qdq_quantize_opts *quantize, const qdq_region_opts *opts,
                             qdq_regions_form form, bool all, bool verbose, char **text,
                             qdq_error *err)
{
    qdq_quantize_opts q = QDQ_QUANTIZE_OPTS_INIT;
    qdq_region_opts own = QDQ_REGION_OPTS_INIT;
    qdq_region_view v = {.form = form, .all = all, .verbose = verbose};
    qdq_target *usual = NULL, *followed = NULL;
    qdq_model *clean = NULL;

    *text = NULL;
    QDQ_TRY(qdq_opts_read("qdq_quantize_opts", &q, sizeof q, quantize, err));
    QDQ_TRY(qdq_opts_read("qdq_region_opts", &own, sizeof own, opts, err));
    qdq_plan *plan = qdq_plan_new();
    qdq_status st = plan != NULL ? QDQ_OK : qdq_nomem(err);
    if (st == QDQ_OK && t == NULL)
        st = qdq_target_load("ort-cpu", &usual, err);
    t = t != NULL ? t : usual;
    if (st == QDQ_OK)
        st = qdq_target_fit(m, t, q.cpu, q.job, &followed, err);
    if (st == QDQ_OK)
        st = qdq_quantize_begin(m, followed != NULL ? followed : t, &q, plan, &clean, err);
    if (st == QDQ_OK)
        st = print_clean(clean, &own, &v, text, err);
    qdq_model_free(clean);
    qdq_target_free(followed);
    qdq_target_free(usual);
    qdq_plan_free(plan);
    return st;
}
