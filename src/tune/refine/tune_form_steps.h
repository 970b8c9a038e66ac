/* tune_form_steps.h - which format each operator gets when a goal bounds what all of them lose:
 * from its fastest format an operator steps down to slower ones that lose less. Those that gain by
 * no format step down too, from what they have in the best placement: so another one may have a
 * format that loses more than float. */
#ifndef QDQ_TUNE_FORM_STEPS_H
#define QDQ_TUNE_FORM_STEPS_H

#include "quant/goal/goal_search.h"
#include "tune/refine/tune_form_items.h"
#include "tune/refine/tune_prices.h"

/* An operator, and the item with which it begins; QDQ_NO_ITEM: as in the base. */
typedef struct qdq_form_start {
    /* its first item */
    size_t first;
    size_t item;
} qdq_form_start;

typedef struct qdq_form_step {
    /* index in qdq_form_steps.start */
    size_t of;
    /* the item after the step; QDQ_NO_ITEM: as in the base */
    size_t to;
} qdq_form_step;

/* All arrays are in the arena of the caller. */
typedef struct qdq_form_steps {
    /* operators whose fastest format is not the base's; with a goal that is missed also others */
    QDQ_VEC(qdq_form_start) start;
    /* those of one operator follow each other, in their order */
    QDQ_VEC(qdq_form_step) step;
    /* by step: what it spares of the goal, and the us that it costs */
    QDQ_VEC(qdq_goal_item) cost;
} qdq_form_steps;

/* Finds the fastest formats. saved[i]: us that item i saves, below 0: loses; NAN: it is no
 * choice. */
qdq_status qdq_form_steps_begin(const qdq_refining *x, const double *saved, qdq_arena *arena,
                                qdq_form_steps *out, qdq_error *err);

/* Finds the steps. What a format of weights in blocks loses is their rounding noise times the
 * influence of the operator, which a run on samples finds; data quantized at run time counts as
 * alike in all operators. */
qdq_status qdq_form_steps_find(const qdq_refining *x, const double *saved, qdq_arena *arena,
                               qdq_form_steps *steps, qdq_error *err);

/* *out, in the run's arena: the base with the fastest formats and the steps that are taken; NULL:
 * none is. *us: what it saves. */
qdq_status qdq_form_steps_assign(const qdq_refining *x, const qdq_form_steps *steps,
                                 const double *saved, const bool *taken, qdq_assign *out,
                                 double *us, qdq_error *err);

#endif /* QDQ_TUNE_FORM_STEPS_H */
