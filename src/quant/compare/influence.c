/* influence.c - see the header: one walk, readers first. */
#include "quant/compare/influence.h"

#include "base/fail.h"
#include "ir/graph_check.h"

static bool carries_noise(const qdq_value *v)
{
    return v != NULL && qdq_value_const(v) == NULL &&
           (v->type == NULL || (v->type->kind == QDQ_TYPE_TENSOR &&
                                (v->type->elem == QDQ_UNDEFINED || qdq_elem_is_float(v->type->elem))));
}

/* What n's inputs share. */
static double take(const qdq_node *n, double *weight)
{
    double sum = 0;

    for (uint32_t i = 0; i < n->n_out; i++)
        if (n->out[i] != NULL)
            sum += weight[n->out[i]->id];
    return sum;
}

static double part_of(const qdq_node *n, const qdq_value *v, const double *power)
{
    double own = power[v->id];

    if (n->op != QDQ_OP_ADD && n->op != QDQ_OP_SUM && n->op != QDQ_OP_SUB)
        return 1;
    return own > 0 ? own : 1e-30;
}

static void hand_back(const qdq_node *n, const double *power, double *weight)
{
    double whole = take(n, weight), parts = 0;

    for (uint32_t i = 0; i < n->n_in; i++)
        if (carries_noise(n->in[i].value) && n->in[i].value->graph == n->graph)
            parts += part_of(n, n->in[i].value, power);
    for (uint32_t i = 0; i < n->n_in && parts > 0; i++)
        if (carries_noise(n->in[i].value) && n->in[i].value->graph == n->graph)
            weight[n->in[i].value->id] += whole * part_of(n, n->in[i].value, power) / parts;
}

qdq_status qdq_influence(const qdq_graph *g, const double *power, qdq_arena *arena, double **weight,
                         qdq_error *err)
{
    qdq_node **order;
    size_t n;

    *weight = qdq_arena_array(arena, g->values.n + 1, sizeof **weight);
    if (*weight == NULL)
        return qdq_nomem(err);
    QDQ_TRY(qdq_graph_sorted(g, arena, &order, &n, err));
    for (size_t i = 0; i < g->outputs.n; i++)
        (*weight)[g->outputs.at[i]->id] += 1 / (double)g->outputs.n;
    while (n-- > 0)
        hand_back(order[n], power, *weight);
    return QDQ_OK;
}
