/* unique_dq.c - unique-dq: every reader of a DequantizeLinear gets one of its own, so that the
 * groups of nodes which engines run in 8 bits do not overlap. Exact: all of them compute the same.
 *
 * Not in the description of ort-cpu: ONNX Runtime does it itself while it loads a model, and the
 * kernels that it then runs were the same with and without this pass in all cases that were tried
 * (1.31: Conv, Add, Mul with itself, shared weights, graph outputs, captures). It is for engines
 * that do not. */
#include "base/fail.h"
#include "opt/opt.h"

/* The node of g that the reader is, or hangs on. */
static qdq_node *reader_in(const qdq_graph *g, qdq_node *n)
{
    while (n->graph != g)
        n = n->graph->owner;
    return n;
}

/* The same node once more, behind the first one; its output, or NULL: out of memory. */
static qdq_value *copy(qdq_node *n)
{
    qdq_graph *g = n->graph;
    const char *name = qdq_graph_unique_name(g, n->out[0]->name);
    const char *own = n->name[0] != '\0' ? qdq_graph_unique_node_name(g, n->name) : "";
    qdq_node *behind = n->next == &g->end ? NULL : n->next, *c = NULL;

    if (name != NULL && own != NULL)
        c = qdq_graph_add_node(g, behind, n->domain, n->type, own, n->n_in, 1, &name);
    if (c == NULL)
        return NULL;
    for (uint32_t i = 0; i < n->n_in; i++)
        qdq_node_set_in(c, i, n->in[i].value);
    for (uint32_t i = 0; i < n->n_attr; i++)
        if (!qdq_node_append_attr(c, n->attr[i]))
            return NULL;
    qdq_value_set_type(c->out[0], n->out[0]->type);
    return c->out[0];
}

/* Every edge in the graph is a reader; all edges from inside one body are one. The first keeps what
 * is there. */
static qdq_status split(qdq_opt *o, qdq_node *n, qdq_map *bodies, qdq_error *err)
{
    qdq_value *y = n->out[0];
    bool is_free = y->n_output == 0;

    QDQ_FOR_USES (u, y) {
        qdq_node *reader = reader_in(n->graph, u->node);
        qdq_map_value local = {y}, *place = &local;
        bool is_new = true;

        if (reader != u->node &&
            (place = qdq_map_put_int(bodies, (uint64_t)(uintptr_t)reader, &is_new)) == NULL)
            return qdq_nomem(err);
        if (is_new && is_free)
            place->ptr = y;
        else if (is_new && !qdq_opt_take(o, n))
            return QDQ_OK;
        else if (is_new && (place->ptr = copy(n)) == NULL)
            return qdq_nomem(err);
        is_free = false;
        qdq_node_set_in(u->node, u->index, place->ptr);
    }
    return QDQ_OK;
}

qdq_status qdq_pass_unique_dq(qdq_opt *o, qdq_graph *g, qdq_error *err)
{
    QDQ_FOR_NODES (n, g) {
        qdq_map bodies = QDQ_MAP_INIT; /* node with bodies -> what they read */
        qdq_status st = QDQ_OK;

        if (n->op == QDQ_OP_DEQUANTIZELINEAR && n->n_out == 1 && n->out[0] != NULL)
            st = split(o, n, &bodies, err);
        qdq_map_free(&bodies);
        QDQ_TRY(st);
    }
    return QDQ_OK;
}
