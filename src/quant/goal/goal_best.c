/* goal_best.c - the best of the plans that a search tried, where none reaches the goal. */
#include <math.h>

#include "base/fail.h"
#include "quant/goal/goal_state.h"

enum { MOST_COMPLETED = 3 };

static qdq_goal_tried *best_tried(const qdq_goal_run *g, double most, double within_db)
{
    qdq_goal_tried *best = NULL;
    double db = -INFINITY;

    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < g->tried.n; i++) {
            qdq_goal_tried *t = &g->tried.at[i];

            if (t->is_float || t->time_fraction > most || !(t->sqnr_db > -INFINITY))
                continue;
            if (pass == 0)
                db = fmax(db, t->sqnr_db);
            else if (t->sqnr_db >= db - within_db && (best == NULL || t->n_gone > best->n_gone))
                best = t;
        }
    return best;
}

/* The first samples may have said too much of a plan, which is then the best no more. */
qdq_status qdq_goal_find_best(qdq_goal_run *g, double most, double within_db, qdq_goal_tried **out,
                              qdq_error *err)
{
    for (int i = 0; i <= MOST_COMPLETED; i++) {
        *out = best_tried(g, most, within_db);
        if (*out == NULL || (*out)->is_evaluated || i == MOST_COMPLETED)
            return QDQ_OK;
        QDQ_TRY(qdq_goal_complete(g, (size_t)(*out - g->tried.at), err));
    }
    return QDQ_OK;
}

qdq_goal_tried *qdq_goal_find_best_measured(const qdq_goal_run *g)
{
    qdq_goal_tried *best = NULL;

    for (size_t i = 0; i < g->tried.n; i++) {
        qdq_goal_tried *t = &g->tried.at[i];

        if (!t->is_float && !isnan(t->metric) && (best == NULL || t->metric > best->metric))
            best = t;
    }
    return best;
}
