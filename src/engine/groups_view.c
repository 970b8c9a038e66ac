/* groups_view.c - executed layers and their nodes: sums, and a drawing. */
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/map.h"
#include "ir/inspect_dot.h"
#include "qdq/engine.h"

qdq_groups_sum qdq_groups_add(const qdq_group *g, size_t n)
{
    qdq_groups_sum s = {NAN, NAN, NAN, 0};
    double us = 0, conversions = 0, known = 0;

    for (size_t i = 0; i < n; i++) {
        if (isnan(g[i].median_us))
            continue;
        s.n_timed++;
        us += g[i].median_us;
        conversions += g[i].conversion ? g[i].median_us : 0;
        known += !g[i].conversion && g[i].n_nodes > 0 ? g[i].median_us : 0;
    }
    if (s.n_timed == 0)
        return s;
    s.us = us;
    s.conversions_us = conversions;
    if (us > conversions)
        s.attributed = known / (us - conversions);
    return s;
}

/* --- the drawing -------------------------------------------------------------------------------------------------------- */

typedef struct drawing {
    const qdq_graph *graph;
    const qdq_group *group;
    size_t n;
    qdq_arena arena;
    qdq_map labels;
    bool *drawn; /* by node id; of several layers the first has it */
    qdq_buf *out;
} drawing;

static bool is_eight_bits(const char *type)
{
    return strcmp(type, "u8") == 0 || strcmp(type, "i8") == 0 || strcmp(type, "f8") == 0;
}

/* Green: codes to codes. Yellow: codes to float. Grey: a conversion. */
static const char *color_of(const qdq_group *g)
{
    if (g->conversion)
        return "#e0e0e0";
    if (!is_eight_bits(g->in_type))
        return "#ffffff";
    return is_eight_bits(g->out_type) ? "#d9ead3" : "#fff2cc";
}

static void draw_node(drawing *d, const qdq_node *n)
{
    d->drawn[n->id] = true;
    qdq_buf_printf(d->out, "  n%u [label=\"", (unsigned)n->id);
    qdq_dot_escape(d->out, n->type);
    qdq_buf_puts(d->out, "\\n");
    qdq_dot_escape(d->out, n->name);
    qdq_buf_puts(d->out, "\"];\n");
}

static void draw_group(drawing *d, size_t i)
{
    const qdq_group *g = &d->group[i];

    qdq_buf_printf(d->out, "  subgraph cluster_%zu {\n  style=filled; fillcolor=\"%s\"; label=\"", i,
                   color_of(g));
    qdq_dot_escape(d->out, g->op);
    qdq_buf_puts(d->out, "\\n");
    qdq_dot_escape(d->out, g->layer);
    qdq_buf_puts(d->out, "\\n");
    qdq_dot_escape(d->out, g->in_type[0] != '\0' ? g->in_type : "?");
    qdq_buf_puts(d->out, " to ");
    qdq_dot_escape(d->out, g->out_type[0] != '\0' ? g->out_type : "?");
    if (!isnan(g->median_us))
        qdq_buf_printf(d->out, ", %.1f us", g->median_us);
    qdq_buf_puts(d->out, "\";\n");
    for (size_t k = 0; k < g->n_nodes; k++) {
        const qdq_map_value *at = qdq_map_get(&d->labels, g->node[k]);
        const qdq_node *n = at != NULL ? at->ptr : NULL;
        if (n != NULL && !d->drawn[n->id])
            draw_node(d, n);
    }
    qdq_buf_puts(d->out, "  }\n");
}

static void draw(drawing *d)
{
    qdq_buf_puts(d->out, "digraph \"");
    qdq_dot_escape(d->out, d->graph->name);
    qdq_buf_puts(d->out, "\" {\n  node [shape=box, style=filled, fillcolor=white];\n");
    for (size_t i = 0; i < d->n; i++)
        if (d->group[i].n_nodes > 0)
            draw_group(d, i);
    QDQ_FOR_NODES (n, d->graph)
        if (!d->drawn[n->id])
            draw_node(d, n);
    for (size_t i = 0; i < d->graph->values.n; i++) {
        const qdq_value *v = d->graph->values.at[i];
        for (const qdq_use *u = v->dead ? NULL : v->first; u != NULL; u = u->next)
            if (v->producer != NULL && u->node->graph == d->graph)
                qdq_buf_printf(d->out, "  n%u -> n%u;\n", (unsigned)v->producer->id, (unsigned)u->node->id);
    }
    qdq_buf_puts(d->out, "}\n");
}

qdq_status qdq_groups_dot(const qdq_model *m, const qdq_group *g, size_t n, char **text, qdq_error *err)
{
    qdq_buf b = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);
    drawing d = {.graph = m->graph, .group = g, .n = n, .out = &b};
    qdq_status st = QDQ_OK;

    *text = NULL;
    d.drawn = qdq_arena_array(&d.arena, (size_t)m->graph->next_node_id + 1, sizeof *d.drawn);
    if (d.drawn == NULL || !qdq_graph_map_labels(m->graph, &d.arena, &d.labels)) {
        st = qdq_nomem(err);
    } else {
        draw(&d);
        *text = qdq_buf_take(&b);
        if (*text == NULL)
            st = qdq_nomem(err);
    }
    qdq_map_free(&d.labels);
    qdq_arena_free(&d.arena);
    return st;
}
