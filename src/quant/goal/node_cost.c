/* node_cost.c - estimates the time of a node: the slower of arithmetic and memory, and a little for
 * the call. */
#include "quant/goal/node_cost.h"

#include "base/fail.h"
#include "base/map.h"

/* at some 3 GHz: two FMA, or VNNI */
static const double macs_per_ns_float = 48, macs_per_ns_eight = 160;
static const double bytes_per_ns = 12;
static const double ns_per_call = 500;
static const double bytes_float = 4, bytes_eight = 1;

static double elements(const qdq_value *v)
{
    double n = 1;

    if (v == NULL || v->type == NULL || v->type->kind != QDQ_TYPE_TENSOR || v->type->rank < 0) {
        const qdq_tensor *t = v != NULL ? qdq_value_const(v) : NULL;
        return t != NULL ? (double)t->count : 0;
    }
    for (int i = 0; i < v->type->rank; i++)
        n *= v->type->dim[i].value > 0 ? (double)v->type->dim[i].value : 1;
    return n;
}

/* The size of an axis, from the front or (negative) from behind; 0: not known. */
static double axis(const qdq_value *v, int at)
{
    const qdq_tensor *t = v != NULL ? qdq_value_const(v) : NULL;

    if (t != NULL && t->rank > 0 && at < t->rank && -at <= t->rank)
        return (double)t->dim[at < 0 ? t->rank + at : at];
    if (v == NULL || v->type == NULL || v->type->kind != QDQ_TYPE_TENSOR || at >= v->type->rank ||
        -at > v->type->rank)
        return 0;
    int64_t dim = v->type->dim[at < 0 ? v->type->rank + at : at].value;
    return dim > 0 ? (double)dim : 1;
}

double qdq_node_macs(const qdq_node *n)
{
    const qdq_value *a = qdq_node_in(n, 0), *b = qdq_node_in(n, 1), *y = qdq_node_out(n, 0);

    switch ((int)n->op) {
    case QDQ_OP_CONV: {
        double channels = axis(b, 0);
        return channels > 0 ? elements(y) * elements(b) / channels : 0;
    }
    case QDQ_OP_CONVTRANSPOSE: {
        double channels = axis(b, 0);
        return channels > 0 ? elements(a) * elements(b) / channels : 0;
    }
    case QDQ_OP_MATMUL:
        return elements(y) * axis(a, -1);
    case QDQ_OP_GEMM:
        return elements(y) * axis(a, qdq_node_int(n, "transA", 0) != 0 ? 0 : 1);
    default:
        return 0;
    }
}

double qdq_node_time(const qdq_node *n, bool eight)
{
    double arithmetic = qdq_node_macs(n) / (eight ? macs_per_ns_eight : macs_per_ns_float),
           moved = 0;

    for (uint32_t i = 0; i < n->n_in; i++)
        moved += elements(n->in[i].value);
    for (uint32_t i = 0; i < n->n_out; i++)
        moved += elements(n->out[i]);
    double memory = moved * (eight ? bytes_eight : bytes_float) / bytes_per_ns;
    return ns_per_call + (arithmetic > memory ? arithmetic : memory);
}

/* --- of a plan -------------------------------------------------------------------------------- */

enum { IS_FLOAT = 1, IS_EIGHT = 2 };

typedef struct timing {
    const qdq_graph *g;
    qdq_arena scratch;
    /* of nodes that the plan names -> IS_... */
    qdq_map by_label;
    double time, float_time;
} timing;

static uint64_t kind_of(timing *t, const qdq_node *n)
{
    qdq_arena_mark mark = qdq_arena_get_mark(&t->scratch);
    const qdq_map_value *v = qdq_map_get(&t->by_label, qdq_node_label(n, &t->scratch));

    qdq_arena_reset(&t->scratch, mark);
    return v != NULL ? v->num : 0;
}

static qdq_status note_nodes(timing *t, const qdq_plan *p, qdq_error *err)
{
    for (size_t i = 0; i < p->quantized.n; i++) {
        qdq_map_value *v = qdq_map_put(&t->by_label, p->quantized.at[i].node, NULL);
        QDQ_NEED(v != NULL, err);
        v->num = IS_EIGHT;
    }
    for (size_t i = 0; i < p->left_float.n; i++) {
        qdq_map_value *v = qdq_map_put(&t->by_label, p->left_float.at[i].node, NULL);
        QDQ_NEED(v != NULL, err);
        v->num = IS_FLOAT;
    }
    return QDQ_OK;
}

/* Q behind a float producer, DQ in front of float readers: both are passes over the tensor. */
static void add_borders(timing *t, const qdq_plan *p)
{
    for (size_t i = 0; i < p->tensors.n; i++) {
        const qdq_value *v = qdq_graph_find(t->g, p->tensors.at[i].tensor);
        double bytes = v != NULL ? elements(v) * (bytes_float + bytes_eight) : 0;
        bool float_reader = false;

        if (v == NULL || qdq_value_const(v) != NULL)
            continue;
        if (v->producer == NULL || kind_of(t, v->producer) == IS_FLOAT)
            t->time += ns_per_call + bytes / bytes_per_ns;
        QDQ_FOR_USES (u, v)
            float_reader |= u->node->graph == t->g && kind_of(t, u->node) == IS_FLOAT;
        if (p->tensors.at[i].all && float_reader)
            t->time += ns_per_call + bytes / bytes_per_ns;
    }
}

qdq_status qdq_plan_time(const qdq_model *clean, const qdq_plan *p, double *time,
                         double *float_time, qdq_error *err)
{
    timing t = {.g = clean->graph, .scratch = QDQ_ARENA_INIT, .by_label = QDQ_MAP_INIT};
    qdq_status st = note_nodes(&t, p, err);

    if (st == QDQ_OK) {
        QDQ_FOR_NODES (n, clean->graph) {
            uint64_t kind = kind_of(&t, n);

            t.time += kind == 0 ? 0 : qdq_node_time(n, kind == IS_EIGHT);
            t.float_time += kind == 0 ? 0 : qdq_node_time(n, false);
        }
        add_borders(&t, p);
    }
    *time = t.time;
    *float_time = t.float_time;
    qdq_map_free(&t.by_label);
    qdq_arena_free(&t.scratch);
    return st;
}
