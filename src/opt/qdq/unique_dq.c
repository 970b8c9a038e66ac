/* unique_dq.c - unique-dq: every reader of a DequantizeLinear gets one of its own, so that the
 * groups of nodes which engines run in 8 bits do not overlap. Exact: all of them compute the same.
 *
 * Not in the description of ort-cpu: ONNX Runtime does it itself while it loads a model, and the
 * kernels that it then runs were the same with and without this pass in all cases that were tried
 * (1.31: Conv, Add, Mul with itself, shared weights, graph outputs, captures). It is for engines
 * that do not. */
#include "base/fail.h"
#include "opt/opt.h"

/* The same node once more, behind the first one; its output, or NULL: out of memory. */
static qdq_value *repeat(const qdq_node *n)
{
    qdq_node *copy = qdq_node_copy(n, n->graph, n->next == &n->graph->end ? NULL : n->next);

    return copy != NULL ? copy->out[0] : NULL;
}

/* Every edge in the graph is a reader; all edges from inside one body are one. The first keeps what
 * is there. */
static qdq_status split(qdq_opt *o, qdq_node *n, qdq_map *bodies, qdq_error *err)
{
    qdq_value *y = n->out[0];
    bool is_free = y->n_output == 0;

    QDQ_FOR_USES (u, y) {
        qdq_node *reader = qdq_node_within(n->graph, u->node);
        qdq_map_value local = {y}, *place = &local;
        bool is_new = true;

        if (reader != u->node &&
            (place = qdq_map_put_int(bodies, (uint64_t)(uintptr_t)reader, &is_new)) == NULL)
            return qdq_nomem(err);
        if (is_new && is_free)
            place->ptr = y;
        else if (is_new && !qdq_opt_take(o, n))
            return QDQ_OK;
        else if (is_new && (place->ptr = repeat(n)) == NULL)
            return qdq_nomem(err);
        is_free = false;
        qdq_node_set_in(u->node, u->index, place->ptr);
    }
    return QDQ_OK;
}

qdq_status qdq_pass_unique_dq(qdq_opt *o, qdq_node *n, qdq_error *err)
{
    qdq_map bodies = QDQ_MAP_INIT; /* node with bodies -> what they read */
    qdq_status st = QDQ_OK;

    if (n->op == QDQ_OP_DEQUANTIZELINEAR && n->n_out == 1 && n->out[0] != NULL)
        st = split(o, n, &bodies, err);
    qdq_map_free(&bodies);
    return st;
}
