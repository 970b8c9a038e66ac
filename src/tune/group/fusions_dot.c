/* fusions_dot.c - fusion groups as frames around the nodes of a graph, for Graphviz. */
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/fail.h"
#include "base/map.h"
#include "ir/inspect_dot.h"
#include "ir/ir.h"
#include "qdq/parts.h"

typedef struct drawing {
    const qdq_graph *graph;
    qdq_arena arena;
    qdq_map labels;
    /* by node id */
    bool *drawn;
    qdq_buf *out;
} drawing;

static bool is_eight_bits(const char *type)
{
    return strcmp(type, "u8") == 0 || strcmp(type, "i8") == 0 || strcmp(type, "f8") == 0;
}

/* Green: codes to codes. Yellow: codes to float. Grey: nothing to decide here. */
static const char *color_of(const qdq_fusion_info *f)
{
    if (is_eight_bits(f->in_type))
        return is_eight_bits(f->out_type) ? "#d9ead3" : "#fff2cc";
    return f->n_linear > 0 ? "#ffffff" : "#e0e0e0";
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

static void draw_group(drawing *d, const qdq_fusion_info *f, size_t i)
{
    qdq_buf_printf(
        d->out, "  subgraph cluster_%zu {\n  style=filled; fillcolor=\"%s\"; label=\"group %zu, %s",
        i, color_of(f), i, qdq_fusion_source_name(f->source));
    if (f->in_type[0] != '\0' || f->out_type[0] != '\0') {
        qdq_buf_puts(d->out, "\\n");
        qdq_dot_escape(d->out, f->in_type[0] != '\0' ? f->in_type : "?");
        qdq_buf_puts(d->out, " to ");
        qdq_dot_escape(d->out, f->out_type[0] != '\0' ? f->out_type : "?");
    }
    if (!isnan(f->us))
        qdq_buf_printf(d->out, "\\n%.1f us", f->us);
    qdq_buf_puts(d->out, "\";\n");
    for (size_t k = 0; k < f->n_nodes; k++) {
        const qdq_node *n = qdq_map_get_ptr(&d->labels, f->node[k]);
        if (n != NULL && !d->drawn[n->id])
            draw_node(d, n);
    }
    qdq_buf_puts(d->out, "  }\n");
}

static void draw_graph(drawing *d, const qdq_fusion_list *l)
{
    qdq_buf_puts(d->out, "digraph \"");
    qdq_dot_escape(d->out, d->graph->name);
    qdq_buf_puts(d->out, "\" {\n  node [shape=box, style=filled, fillcolor=white];\n");
    for (size_t i = 0; i < l->n; i++)
        draw_group(d, &l->at[i], i);
    QDQ_FOR_NODES (n, d->graph)
        if (!d->drawn[n->id])
            draw_node(d, n);
    for (size_t i = 0; i < d->graph->values.n; i++) {
        const qdq_value *v = d->graph->values.at[i];
        for (const qdq_use *u = v->dead ? NULL : v->first; u != NULL; u = u->next)
            if (v->producer != NULL && u->node->graph == d->graph)
                qdq_buf_printf(d->out, "  n%u -> n%u;\n", (unsigned)v->producer->id,
                               (unsigned)u->node->id);
    }
    qdq_buf_puts(d->out, "}\n");
}

qdq_status qdq_fusions_dot(const qdq_model *m, const qdq_fusion_list *l, char **text,
                           qdq_error *err)
{
    qdq_buf b = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);
    drawing d = {.graph = m->graph, .out = &b};
    qdq_status st = QDQ_OK;

    *text = NULL;
    d.drawn = qdq_arena_array(&d.arena, (size_t)m->graph->next_node_id + 1, sizeof *d.drawn);
    if (d.drawn == NULL || !qdq_graph_map_labels(m->graph, &d.arena, &d.labels)) {
        st = qdq_nomem(err);
    } else {
        draw_graph(&d, l);
        *text = qdq_buf_take(&b);
        if (*text == NULL)
            st = qdq_nomem(err);
    }
    qdq_map_free(&d.labels);
    qdq_arena_free(&d.arena);
    return st;
}
