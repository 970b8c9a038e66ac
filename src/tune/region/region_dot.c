/* region_dot.c - regions as frames around the nodes of a graph, for Graphviz; equal colours are
 * equal patterns. */
#include "ir/inspect_dot.h"
#include "tune/region/region_graph.h"
#include "tune/region/region_print.h"

static void put_node(qdq_buf *b, const qdq_node *n)
{
    qdq_buf_printf(b, "n%u [label=\"", (unsigned)n->id);
    qdq_dot_escape(b, n->type);
    if (n->name[0] != '\0') {
        qdq_buf_puts(b, "\\n");
        qdq_dot_escape(b, n->name);
    }
    qdq_buf_puts(b, "\"];\n");
}

/* Colours of the scheme set312, in turn. */
static void open_frame(qdq_buf *b, const qdq_region *r)
{
    qdq_buf_printf(b, "subgraph cluster_%u { label=\"", (unsigned)r->id);
    if (r->path != NULL)
        qdq_dot_escape(b, r->path);
    else
        qdq_buf_printf(b, "region %u", (unsigned)r->id);
    qdq_buf_printf(b, ", pattern %u\"; ", (unsigned)r->pattern);
    if (r->type == QDQ_REGION_LEAF)
        qdq_buf_printf(b, "style=filled; fillcolor=\"/set312/%u\";",
                       (unsigned)(r->pattern % 12 + 1));
    else
        qdq_buf_puts(b, "style=dashed;");
    qdq_buf_putc(b, '\n');
    for (size_t i = 0; i < r->nodes.n; i++)
        put_node(b, r->nodes.at[i]);
}

/* Frames lie in each other as regions do: those that do not contain the next one are closed. */
static void put_frames(const qdq_region_view *v, qdq_buf *b)
{
    const qdq_region *last = NULL;

    for (const qdq_region *r = qdq_region_next(v->r, NULL); r != NULL;
         r = qdq_region_next(v->r, r)) {
        for (; last != NULL && last != r->parent; last = last->parent)
            qdq_buf_puts(b, "}\n");
        last = r;
        open_frame(b, r);
    }
    for (; last != NULL; last = last->parent)
        qdq_buf_puts(b, "}\n");
}

static void put_edges(const qdq_region_view *v, qdq_buf *b)
{
    const qdq_graph *g = v->r->model->graph;

    QDQ_FOR_NODES (n, g) {
        if (v->r->of[n->id] == NULL)
            continue;
        for (uint32_t i = 0; i < n->n_out; i++) {
            if (n->out[i] == NULL)
                continue;
            QDQ_FOR_USES (u, n->out[i]) {
                const qdq_node *reader = qdq_region_reader(g, u);
                if (reader != NULL && v->r->of[reader->id] != NULL)
                    qdq_buf_printf(b, "n%u -> n%u;\n", (unsigned)n->id, (unsigned)reader->id);
            }
        }
    }
}

void qdq_region_print_dot(const qdq_region_view *v, qdq_buf *b)
{
    qdq_buf_puts(b, "digraph regions {\nnode [shape=box, style=filled, fillcolor=white];\n");
    put_frames(v, b);
    put_edges(v, b);
    qdq_buf_puts(b, "}\n");
}
