/* bias_fit.h - biases that int32 cannot hold at the scale of activation times weight, where the
 * weight's cannot be enlarged: it is in the model, or it is one for all channels. */
#ifndef QDQ_BIAS_FIT_H
#define QDQ_BIAS_FIT_H

#include "ir/ir.h"
#include "quant/calib/calib.h"
#include "quant/plan/plan.h"

/* Takes those out of a plan that has its scales, with a warning: they stay float. Weights that the
 * plan itself quantizes get larger scales instead, when it is applied. */
qdq_status qdq_drop_overflowing_biases(const qdq_model *m, const qdq_job *job, qdq_plan *plan,
                                       qdq_error *err);

/* Appends labels of the nodes whose weight, which `plan` gives one scale, would need a larger one
 * for the bias of a single channel: all other channels would pay for it. They are in the arena of
 * the plan. */
qdq_status qdq_find_overflowing_biases(const qdq_model *m, qdq_plan *plan, qdq_calib_names *labels,
                                       qdq_error *err);

#endif /* QDQ_BIAS_FIT_H */
