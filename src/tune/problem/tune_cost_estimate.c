/* tune_cost_estimate.c - what a decision can be worth at most: the time of its nodes in the float
 * model, as the engine's profile has it, else as shapes suggest. It decides what is tried first,
 * and what is too small to try. */
#include <stdlib.h>

#include "base/fail.h"
#include "quant/goal/node_cost.h"
#include "tune/candidate/tune_profile.h"
#include "tune/problem/tune_problem.h"

/* Shapes know ratios only: they are scaled to the time that the model takes. */
static void from_shapes(const qdq_tune_state *t, double *ns)
{
    double sum = 0;

    QDQ_FOR_NODES (n, t->task.clean->graph)
        sum += ns[n->id] = qdq_node_time(n, false);
    QDQ_FOR_NODES (n, t->task.clean->graph)
        ns[n->id] *= sum > 0 ? t->parts.problem.base_ns / sum : 0;
}

static qdq_status from_profile(qdq_tune_state *t, double *ns, qdq_error *err)
{
    QDQ_TRY(qdq_tune_profile(t, t->run.base, err));
    const qdq_tune_times *times = t->run.base->times;
    if (times->is_known)
        QDQ_FOR_NODES (n, t->task.clean->graph)
            ns[n->id] = times->own[n->id] / times->sum * t->parts.problem.base_ns;
    return QDQ_OK;
}

/* --- worth ------------------------------------------------------------------------------------ */

static void weigh_groups(qdq_tune_state *t, const double *ns)
{
    qdq_decision *g = t->task.space->group;

    for (size_t i = 0; i < t->task.space->n_groups; i++)
        g[i].cost_ns = ns[g[i].node->id] / (double)qdq_space_groups_beside(t->task.space, i);
}

qdq_status qdq_tune_weigh(qdq_tune_state *t, qdq_error *err)
{
    double *ns = calloc((size_t)t->task.clean->graph->next_node_id + 1, sizeof *ns);

    QDQ_NEED(ns != NULL, err);
    from_shapes(t, ns);
    qdq_status st = t->parts.settled != NULL ? QDQ_OK : from_profile(t, ns, err);
    if (st == QDQ_OK)
        weigh_groups(t, ns);
    free(ns);
    return st;
}
