/* tune_plans.h - the clean model, the plans of assignments, and their names. */
#ifndef QDQ_TUNE_PLANS_H
#define QDQ_TUNE_PLANS_H

#include "tune/state/tune_state.h"

/* The clean model, and the precision that ships. */
qdq_status qdq_tune_prepare(qdq_tune_state *t, qdq_error *err);

/* The space, all scales, and the rules' plan. */
qdq_status qdq_tune_calibrate(qdq_tune_state *t, qdq_error *err);

/* From now on plans have corrected biases, if users want them; so has the rules' plan. */
qdq_status qdq_tune_correct(qdq_tune_state *t, qdq_error *err);

/* What plans of the space are made with. */
qdq_space_scaling qdq_tune_scaling(qdq_tune_state *t);

/* The plan of an assignment: qdq_plan_free(). */
qdq_status qdq_tune_plan_of(qdq_tune_state *t, const qdq_assign *a, qdq_plan **out, qdq_error *err);

/* 32 digits of a plan's text. */
qdq_status qdq_tune_name_plan(const qdq_plan *p, char name[33], qdq_error *err);

#endif /* QDQ_TUNE_PLANS_H */
