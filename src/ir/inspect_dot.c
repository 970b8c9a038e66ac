/* inspect_dot.c - a model as a drawing for Graphviz: nodes, values between them, subgraphs as
 * frames. Weights are left out: they would bury the rest. */
#include "ir/inspect_dot.h"

#include "ir/text_literal.h"

void qdq_dot_escape(qdq_buf *out, const char *s)
{
    for (; *s != '\0'; s++) {
        if (*s == '"' || *s == '\\')
            qdq_buf_putc(out, '\\');
        if ((unsigned char)*s >= ' ')
            qdq_buf_putc(out, *s);
        else
            qdq_buf_putc(out, '?');
    }
}

static const char *color_of(const qdq_node *n)
{
    if (n->op == QDQ_OP_QUANTIZELINEAR)
        return "#f4cccc";
    return n->op == QDQ_OP_DEQUANTIZELINEAR ? "#d9ead3" : "#ffffff";
}

static void print_node(qdq_buf *out, const qdq_node *n)
{
    qdq_buf_printf(out, "  g%un%u [shape=box, style=filled, fillcolor=\"%s\", label=\"",
                   (unsigned)n->graph->index, (unsigned)n->id, color_of(n));
    qdq_dot_escape(out, n->domain);
    qdq_buf_puts(out, n->domain[0] == '\0' ? "" : "::");
    qdq_dot_escape(out, n->type);
    if (n->name[0] != '\0') {
        qdq_buf_puts(out, "\\n");
        qdq_dot_escape(out, n->name);
    }
    qdq_buf_puts(out, "\"];\n");
}

/* Inputs and outputs of a graph are drawn; other values are edges. */
static void print_end(qdq_buf *out, const qdq_value *v, char kind)
{
    qdq_buf t = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);

    qdq_buf_printf(out, "  g%u%c%u [shape=ellipse, label=\"", (unsigned)v->graph->index, kind,
                   (unsigned)v->id);
    qdq_dot_escape(out, v->name);
    if (v->type != NULL && qdq_print_type(&t, v->type) && !t.failed) {
        qdq_buf_puts(out, "\\n");
        qdq_dot_escape(out, t.data);
    }
    out->failed |= t.failed;
    qdq_buf_free(&t);
    qdq_buf_puts(out, "\"];\n");
}

static void print_edge_label(qdq_buf *out, const qdq_value *v)
{
    qdq_buf_puts(out, " [label=\"");
    qdq_dot_escape(out, v->name);
    qdq_buf_puts(out, "\"];\n");
}

static bool print_source(qdq_buf *out, const qdq_value *v)
{
    if (v->producer != NULL)
        qdq_buf_printf(out, "  g%un%u -> ", (unsigned)v->graph->index, (unsigned)v->producer->id);
    else if (v->is_input && v->init == NULL)
        qdq_buf_printf(out, "  g%ui%u -> ", (unsigned)v->graph->index, (unsigned)v->id);
    else
        return false;
    return true;
}

static void print_edges(qdq_buf *out, const qdq_graph *g)
{
    for (size_t i = 0; i < g->values.n; i++) {
        const qdq_value *v = g->values.at[i];

        if (v->dead)
            continue;
        for (const qdq_use *u = v->first; u != NULL; u = u->next)
            if (print_source(out, v)) {
                qdq_buf_printf(out, "g%un%u", (unsigned)u->node->graph->index,
                               (unsigned)u->node->id);
                print_edge_label(out, v);
            }
        if (v->n_output > 0 && print_source(out, v)) {
            qdq_buf_printf(out, "g%uo%u", (unsigned)g->index, (unsigned)v->id);
            print_edge_label(out, v);
        }
    }
}

static void print_graph(qdq_buf *out, const qdq_graph *g)
{
    if (g->owner != NULL || g->function != NULL) {
        qdq_buf_printf(out, "  subgraph cluster_%u {\n  label=\"", (unsigned)g->index);
        qdq_dot_escape(out, g->name);
        qdq_buf_puts(out, "\";\n");
    }
    for (size_t i = 0; i < g->inputs.n; i++)
        if (g->inputs.at[i]->init == NULL)
            print_end(out, g->inputs.at[i], 'i');
    QDQ_FOR_NODES (n, g)
        print_node(out, n);
    for (size_t i = 0; i < g->outputs.n; i++)
        print_end(out, g->outputs.at[i], 'o');
    if (g->owner != NULL || g->function != NULL)
        qdq_buf_puts(out, "  }\n");
}

void qdq_print_dot(const qdq_model *m, qdq_buf *out)
{
    qdq_buf_puts(out, "digraph \"");
    qdq_dot_escape(out, m->graph->name);
    qdq_buf_puts(out, "\" {\n");
    QDQ_FOR_GRAPHS (g, m)
        print_graph(out, g);
    QDQ_FOR_GRAPHS (g, m)
        print_edges(out, g);
    QDQ_FOR_GRAPHS (g, m) {
        if (g->owner != NULL) /* a dotted line from the node to the first thing in its body */
            QDQ_FOR_NODES (n, g) {
                qdq_buf_printf(out, "  g%un%u -> g%un%u [style=dotted, arrowhead=none];\n",
                               (unsigned)g->owner->graph->index, (unsigned)g->owner->id,
                               (unsigned)g->index, (unsigned)n->id);
                break;
            }
    }
    qdq_buf_puts(out, "}\n");
}
