/* bias_fit.h - biases that int32 cannot hold beside weights that the model has in 8 bits. */
#ifndef QDQ_BIAS_FIT_H
#define QDQ_BIAS_FIT_H

#include "ir/ir.h"
#include "quant/plan/plan.h"

/* Takes those out of a plan that has its scales, with a warning: they stay float. Weights that the plan itself
 * quantizes get larger scales instead, when it is applied. */
qdq_status qdq_drop_misfit_biases(const qdq_model *m, const qdq_job *job, qdq_plan *plan, qdq_error *err);

#endif /* QDQ_BIAS_FIT_H */
