/* tune_form_steps.h - which format each operator gets when a goal bounds what all of them lose:
 * from its fastest format an operator steps down to slower ones that lose less, and in the end to
 * what it has in the best placement. */
#ifndef QDQ_TUNE_FORM_STEPS_H
#define QDQ_TUNE_FORM_STEPS_H

#include "quant/goal/goal_search.h"
#include "tune/refine/tune_prices.h"

typedef struct qdq_form_step {
    /* index in qdq_form_steps.fastest */
    size_t of;
    /* index in s->formed of the format after the step; QDQ_NO_FORM: as in the base */
    size_t to;
} qdq_form_step;

/* All arrays are in the arena of the caller. */
typedef struct qdq_form_steps {
    /* by operator that saves time with another format: the fastest, an index in s->formed */
    QDQ_VEC(size_t) fastest;
    /* those of one operator follow each other, in their order */
    QDQ_VEC(qdq_form_step) step;
    /* by step: what it spares of the goal, and the us that it costs */
    QDQ_VEC(qdq_goal_item) cost;
} qdq_form_steps;

/* Finds the fastest formats. saved[i]: us that s->formed[i] saves; 0: it is no choice. */
qdq_status qdq_form_steps_begin(const qdq_refining *x, const double *saved, qdq_arena *arena,
                                qdq_form_steps *out, qdq_error *err);

/* Finds the steps. What a format of weights in blocks loses is their rounding noise times the
 * influence of the operator, which a run on samples finds; data quantized at run time counts as
 * alike in all operators. */
qdq_status qdq_form_steps_find(const qdq_refining *x, const double *saved, qdq_arena *arena,
                               qdq_form_steps *steps, qdq_error *err);

/* *out, in the run's arena: the base with the fastest formats and the steps that are taken; NULL:
 * none is. */
qdq_status qdq_form_steps_assign(const qdq_refining *x, const qdq_form_steps *steps,
                                 const bool *taken, qdq_assign *out, qdq_error *err);

#endif /* QDQ_TUNE_FORM_STEPS_H */
