/* tune_plans.h - the clean model, the plans of assignments, and their names. */
#ifndef QDQ_TUNE_PLANS_H
#define QDQ_TUNE_PLANS_H

#include "tune/state/tune_state.h"

/* Makes the clean model, and chooses the final precision. */
qdq_status qdq_tune_prepare(qdq_tune_state *t, qdq_error *err);

/* Makes the space, all scales, and the rules' plan. */
qdq_status qdq_tune_calibrate(qdq_tune_state *t, qdq_error *err);

/* From now on, plans have corrected biases if the options ask for it; the rules' plan too. */
qdq_status qdq_tune_correct(qdq_tune_state *t, qdq_error *err);

/* What plans of the space need in addition to an assignment. */
qdq_space_scaling qdq_tune_scaling(qdq_tune_state *t);

/* The plan of an assignment; *out is freed with qdq_plan_free(). */
qdq_status qdq_tune_plan_of(qdq_tune_state *t, const qdq_assign *a, qdq_plan **out, qdq_error *err);

/* Hash of a plan's text, 32 digits. */
qdq_status qdq_tune_name_plan(const qdq_plan *p, char name[33], qdq_error *err);

#endif /* QDQ_TUNE_PLANS_H */
