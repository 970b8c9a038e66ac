/* influence.c - estimates how much a value counts for the outputs: one walk each, readers first. */
#include "quant/compare/influence.h"

#include <math.h>

#include "base/fail.h"
#include "ir/graph_check.h"

static bool carries_noise(const qdq_value *v)
{
    return v != NULL && qdq_value_const(v) == NULL &&
           (v->type == NULL ||
            (v->type->kind == QDQ_TYPE_TENSOR &&
             (v->type->elem == QDQ_UNDEFINED || qdq_elem_is_float(v->type->elem))));
}

static double part_of(const qdq_node *n, const qdq_value *v, const double *power)
{
    double own = power[v->id];

    if (n->op != QDQ_OP_ADD && n->op != QDQ_OP_SUM && n->op != QDQ_OP_SUB)
        return 1;
    return own > 0 ? own : 1e-30;
}

static bool takes_part(const qdq_node *n, uint32_t i)
{
    return carries_noise(n->in[i].value) && n->in[i].value->graph == n->graph;
}

/* --- slices of outputs ------------------------------------------------------------------------ */

static bool keeps_slices(const qdq_node *n)
{
    return QDQ_OP_IS_IN(n->op, QDQ_OP_ADD, QDQ_OP_CAST, QDQ_OP_CONCAT, QDQ_OP_DIV, QDQ_OP_FLATTEN,
                        QDQ_OP_GATHER, QDQ_OP_IDENTITY, QDQ_OP_MUL, QDQ_OP_RESHAPE, QDQ_OP_SLICE,
                        QDQ_OP_SPLIT, QDQ_OP_SQUEEZE, QDQ_OP_SUB, QDQ_OP_TRANSPOSE,
                        QDQ_OP_UNSQUEEZE);
}

/* Its slices are those of outputs: what is off in one of them stays off, whatever else is in the
 * result. */
static bool hands_slices_on(const qdq_node *n, const bool *near)
{
    for (uint32_t i = 0; i < n->n_out && keeps_slices(n); i++)
        if (n->out[i] != NULL && near[n->out[i]->id])
            return true;
    return false;
}

qdq_status qdq_near_outputs(const qdq_graph *g, qdq_arena *arena, bool **near, qdq_error *err)
{
    qdq_node **order;
    size_t n;

    *near = qdq_arena_array(arena, g->values.n + 1, sizeof **near);
    QDQ_NEED(*near != NULL, err);
    QDQ_TRY(qdq_graph_sorted(g, arena, &order, &n, err));
    for (size_t i = 0; i < g->outputs.n; i++)
        (*near)[g->outputs.at[i]->id] = true;
    while (n-- > 0) {
        if (!hands_slices_on(order[n], *near))
            continue;
        for (uint32_t i = 0; i < order[n]->n_in; i++)
            if (takes_part(order[n], i))
                (*near)[order[n]->in[i].value->id] = true;
    }
    return QDQ_OK;
}

/* --- noise ------------------------------------------------------------------------------------ */

/* Mean noise in front of n; 0: not known of all its inputs. */
static double noise_before(const qdq_node *n, const qdq_noise *noise, double parts)
{
    double before = 0;

    for (uint32_t i = 0; i < n->n_in && noise->total != NULL; i++) {
        if (!takes_part(n, i))
            continue;
        if (!(noise->total[n->in[i].value->id] > 0))
            return 0;
        before +=
            noise->total[n->in[i].value->id] * part_of(n, n->in[i].value, noise->power) / parts;
    }
    return before;
}

/* Noise of a result, without what the node added, over noise in front of it. Bounded: noise may
 * cancel out. */
static double gain(const qdq_noise *noise, const qdq_value *y, double before)
{
    const double least = 1e-2, most = 1e6;

    if (!(before > 0) || !(noise->total[y->id] > 0))
        return 1;
    const double all = noise->total[y->id];
    /* nearly all of it may be new */
    const double behind = fmax(all - noise->introduced[y->id], least * all);
    return fmin(fmax(behind / before, least), most);
}

static void hand_back(const qdq_node *n, const qdq_noise *noise, const bool *near, double *weight)
{
    const bool is_near = near != NULL && hands_slices_on(n, near);
    double whole = 0, parts = 0;

    for (uint32_t i = 0; i < n->n_in; i++)
        if (takes_part(n, i))
            parts += part_of(n, n->in[i].value, noise->power);
    if (parts <= 0)
        return;
    const double before = is_near ? 0 : noise_before(n, noise, parts);
    for (uint32_t i = 0; i < n->n_out; i++)
        if (n->out[i] != NULL)
            whole += weight[n->out[i]->id] * gain(noise, n->out[i], before);
    if (is_near && n->op == QDQ_OP_CONCAT)
        whole *= parts; /* each input has slices of its own */
    for (uint32_t i = 0; i < n->n_in; i++)
        if (takes_part(n, i))
            weight[n->in[i].value->id] += whole * part_of(n, n->in[i].value, noise->power) / parts;
}

qdq_status qdq_influence(const qdq_graph *g, const qdq_noise *noise, qdq_arena *arena,
                         double **weight, qdq_error *err)
{
    qdq_node **order;
    bool *near = NULL;
    size_t n;

    if (noise->total != NULL)
        QDQ_TRY(qdq_near_outputs(g, arena, &near, err));
    *weight = qdq_arena_array(arena, g->values.n + 1, sizeof **weight);
    QDQ_NEED(*weight != NULL, err);
    QDQ_TRY(qdq_graph_sorted(g, arena, &order, &n, err));
    for (size_t i = 0; i < g->outputs.n; i++)
        (*weight)[g->outputs.at[i]->id] += 1 / (double)g->outputs.n;
    while (n-- > 0)
        hand_back(order[n], noise, near, *weight);
    return QDQ_OK;
}
