/* ptq_state.h - one call of qdq_ptq(): what was asked for, and what was found so far. */
#ifndef QDQ_PTQ_STATE_H
#define QDQ_PTQ_STATE_H

#include "qdq/ptq.h"

#include "base/vec.h"

/* The result and all that it owns. */
typedef struct qdq_ptq_room {
    /* first: the caller's pointer is the room's */
    qdq_ptq_result head;
    qdq_arena arena;
    QDQ_VEC(qdq_ptq_warning) warnings;
    qdq_ptq_speed speed;
    /* not that of the goal */
    qdq_compare_result *compared;
} qdq_ptq_room;

typedef struct qdq_ptq_run {
    const qdq_model *m;
    /* NULL: a plan was given */
    const qdq_target *t;
    /* NULL: nothing is run */
    qdq_engine *e;
    /* NULL: none */
    qdq_data *data;
    qdq_ptq_opts o;
    qdq_quantize_opts quant;
    qdq_goal_opts goal;
    qdq_metric metric;
    qdq_job job;
    qdq_ptq_room *block;
    /* labels that stay float; of the caller, then of the check */
    QDQ_VEC(const char *) wrong;
    /* the engine gives outputs */
    bool runs;
    /* in place of samples that calibrate */
    bool has_statistics;
    /* plan and model are the caller's */
    bool is_given;
    /* the caller says what the goal is, be it none */
    bool names_goal;
    /* the caller says nothing, and there is one */
    bool by_default;
    /* the engine, by the model of the first plan */
    bool found_wrong;
    /* and it is not the target's own: accuracy is unknown */
    bool misjudges;
    /* by qdq_clock_seconds(); 0: no search with a limit yet */
    double began, search_ends;
} qdq_ptq_run;

/* Of the caller, or made. NULL: not made. */
static inline const qdq_plan *qdq_ptq_plan(const qdq_ptq_run *r)
{
    return r->is_given ? r->o.plan : r->block->head.plan;
}

static inline const qdq_model *qdq_ptq_model(const qdq_ptq_run *r)
{
    return r->is_given ? r->o.quantized : r->block->head.model;
}

/* The samples that evaluate, if there are any. */
static inline qdq_data *qdq_ptq_eval(const qdq_ptq_run *r)
{
    return r->o.eval != NULL ? r->o.eval : r->data;
}

/* Does a goal of the caller hold something up? */
static inline bool qdq_ptq_has_goal(const qdq_ptq_run *r)
{
    return r->names_goal && (r->goal.min_sqnr != 0 || r->goal.max_drop >= 0 ||
                             r->goal.metric != NULL || r->goal.min_agreement != 0);
}

/* May a goal change the plan? */
static inline bool qdq_ptq_seeks(const qdq_ptq_run *r)
{
    return r->by_default ? r->runs : qdq_ptq_has_goal(r) && !r->is_given;
}

/* Is it an error if outputs cannot be compared? */
static inline bool qdq_ptq_must_compare(const qdq_ptq_run *r)
{
    return r->o.must_compare || r->o.eval != NULL || qdq_ptq_has_goal(r);
}

/* --- ptq_make.c: plan and model, without what the engine computes wrongly --------------------- */

qdq_status qdq_ptq_make(qdq_ptq_run *r, qdq_error *err);

/* *why: NULL if e is the own engine of the plan's target, else why it is not. */
qdq_status qdq_ptq_own_engine(const qdq_ptq_run *r, const char **why, qdq_error *err);

/* --- ptq_evaluate.c: outputs against the input's, and the verdict ----------------------------- */

qdq_status qdq_ptq_evaluate(qdq_ptq_run *r, qdq_error *err);

/* The first output below the default goal; NULL: none, or nothing was compared. */
const qdq_compare_tensor *qdq_ptq_find_low(const qdq_ptq_run *r);

/* --- ptq_speed.c ------------------------------------------------------------------------------ */

qdq_status qdq_ptq_measure_speed(qdq_ptq_run *r, qdq_error *err);

/* --- ptq_warn.c ------------------------------------------------------------------------------- */

/* Found on the way: logged, too. */
qdq_status qdq_ptq_note(qdq_ptq_run *r, qdq_error *err, qdq_ptq_fact fact, const char *fmt, ...)
    QDQ_PRINTF(4, 5);

/* Of the goal and of what was quantized; of the speed. */
qdq_status qdq_ptq_warn_of_result(qdq_ptq_run *r, qdq_error *err);
qdq_status qdq_ptq_warn_of_speed(qdq_ptq_run *r, qdq_error *err);

#endif /* QDQ_PTQ_STATE_H */
