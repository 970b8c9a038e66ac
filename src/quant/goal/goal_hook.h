/* goal_hook.h - a question between a missed goal and the search: does the engine, which evaluates,
 * compute the model at all? */
#ifndef QDQ_GOAL_HOOK_H
#define QDQ_GOAL_HOOK_H

#include "qdq/goal.h"

/* Called once, with the model of the first plan, if that misses the goal and others could be tried.
 * *search: false keeps that plan. */
typedef struct qdq_goal_hook {
    qdq_status (*missed)(void *ctx, const qdq_model *m, bool *search, qdq_error *err);
    void *ctx;
} qdq_goal_hook;

/* What is quantized, and how. */
typedef struct qdq_goal_call {
    const qdq_model *m;
    const qdq_target *t;
    qdq_engine *e;
    qdq_data *data;
    const qdq_quantize_opts *opts;
    const qdq_goal_opts *how;
    /* without a function: nothing is asked */
    qdq_goal_hook hook;
} qdq_goal_call;

/* As qdq_quantize_goal(). */
qdq_status qdq_quantize_goal_hooked(const qdq_goal_call *c, qdq_plan **plan, qdq_model **out,
                                    qdq_goal_result **result_out, qdq_error *err);

#endif /* QDQ_GOAL_HOOK_H */
