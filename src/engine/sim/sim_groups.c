/* sim_groups.c - the layers of the `sim` engine with their nodes: it knows what each kernel takes
 * in, so all are exact. */
#include "engine/sim/sim_groups.h"

#include <math.h>

#include "base/fail.h"
#include "engine/engine_layer.h"

/* What the kernel reads: codes, where it takes in the DQ. */
static qdq_elem type_read(const qdq_sim_estimate *e, const qdq_sim_layer *l)
{
    const qdq_value *v = qdq_node_in(l->node, 0);
    const qdq_node *from = v != NULL ? v->producer : NULL;

    if (l->is_int8 && from != NULL && from->op == QDQ_OP_DEQUANTIZELINEAR &&
        from->graph == l->node->graph && e->is_taken[from->id])
        v = qdq_node_in(from, 0);
    return qdq_value_data_elem(v);
}

static const char *op_of(const qdq_sim_layer *l, qdq_arena *scratch)
{
    return l->is_int8 ? qdq_arena_printf(scratch, "QLinear%s", l->node->type) : l->node->type;
}

static qdq_status make_layer(const qdq_sim *sim, const qdq_sim_estimate *e,
                             const qdq_sim_layer *from, bool timed, qdq_arena *scratch,
                             qdq_engine_layer *l, qdq_error *err)
{
    const qdq_node *n = from->node;
    qdq_layer_node_list nodes = {0};

    QDQ_NEED(qdq_sim_layer_nodes(sim, e, from, scratch, &nodes), err);
    *l = (qdq_engine_layer){.name = qdq_node_label(n, scratch), .op = op_of(from, scratch)};
    QDQ_NEED(l->op != NULL, err);
    const qdq_node *last = nodes.at[nodes.n - 1];
    l->in_type = qdq_engine_type(type_read(e, from));
    l->out_type = qdq_engine_type(qdq_value_data_elem(qdq_node_out(last, 0)));
    l->us = timed && !sim->no_profile ? from->us : NAN;
    l->conversion =
        n->op == QDQ_OP_QUANTIZELINEAR || n->op == QDQ_OP_DEQUANTIZELINEAR || n->op == QDQ_OP_CAST;
    l->source = QDQ_LAYER_EXACT;
    l->nodes = nodes;
    return QDQ_OK;
}

qdq_status qdq_sim_groups(const qdq_sim *sim, const qdq_sim_estimate *e, bool timed,
                          qdq_arena *scratch, qdq_layer **out, size_t *n, qdq_error *err)
{
    qdq_engine_layer *l = qdq_arena_array(scratch, e->layers.n + 1, sizeof *l);

    QDQ_NEED(l != NULL, err);
    for (size_t i = 0; i < e->layers.n; i++)
        QDQ_TRY(make_layer(sim, e, &e->layers.at[i], timed, scratch, &l[i], err));
    return qdq_engine_layers_pack(l, e->layers.n, scratch, out, n, err);
}
