/* place_start.c - what every way of placement looks at first: nodes in order, what the user allows,
 * the number format of each node, and the Q and DQ that the model has. */
#include "base/fail.h"
#include "ir/graph_check.h"
#include "quant/place/place_filter.h"
#include "quant/place/place_format.h"
#include "quant/place/place_joins.h"
#include "quant/place/place_state.h"

/* As if the user had excluded the node, but silently: the tuner does this many times. */
static void leave_unchosen(qdq_placing *p, const qdq_node *n)
{
    const qdq_target_op *op = qdq_target_find(p->target, n->type);
    bool by_edge = p->target->partitions != NULL && op != NULL && op->kind != QDQ_KIND_LINEAR &&
                   op->kind != QDQ_KIND_TABLE;

    if (qdq_place_unchosen(p, n) != 0 && !by_edge && qdq_state_of(p, n)->reason == NULL)
        qdq_state_of(p, n)->reason = QDQ_PLACE_UNCHOSEN;
}

qdq_status qdq_place_start(qdq_placing *p, qdq_error *err)
{
    const qdq_graph *g = p->model->graph;
    const char *const *filtered;

    QDQ_TRY(qdq_graph_sorted(g, &p->scratch, &p->order, &p->n_order, err));
    p->node = qdq_arena_array(&p->scratch, (size_t)g->next_node_id + 1, sizeof *p->node);
    p->value = qdq_arena_array(&p->scratch, g->values.n + 1, sizeof *p->value);
    if (p->node == NULL || p->value == NULL)
        return qdq_nomem(err);
    QDQ_TRY(qdq_place_filter(p->model, p->order, p->n_order, p->opts, &p->scratch, &filtered, err));
    for (size_t i = 0; i < p->n_order; i++)
        qdq_state_of(p, p->order[i])->reason = filtered[p->order[i]->id];
    for (size_t i = 0; i < p->n_order; i++)
        leave_unchosen(p, p->order[i]);
    QDQ_TRY(qdq_place_keep_apart(p, err));
    QDQ_TRY(
        qdq_place_formats(p->model, p->target, p->order, p->n_order, &p->scratch, &p->format, err));
    return qdq_place_find(p, err);
}

void qdq_place_leave_weights(qdq_placing *p)
{
    for (size_t i = 0; i < p->n_order; i++)
        if (qdq_format_weight_only(qdq_place_format(p, p->order[i])))
            qdq_state_of(p, p->order[i])->reason = "its weight alone may be quantized";
}
