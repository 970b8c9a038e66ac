/* weight_mse.h - the part of a weight's range that codes span, where the method is least squares:
 * large weights are clipped as far as that makes all of them come back better. */
#ifndef QDQ_WEIGHT_MSE_H
#define QDQ_WEIGHT_MSE_H

#include "ir/ir.h"
#include "ir/qdq_node.h"
#include "quant/plan/plan.h"

/* of the range; as many steps as there are letters in QDQ_CLIP_LETTERS */
#define QDQ_WEIGHT_MSE_STEP 0.0125

/* For each scale of `g` the number of steps that the range is shortened by, as letters; `letters`
 * has room for one each. Of a reduced scheme none is: quantized values saturate at the limits of
 * the type, which are too large for it. False: out of memory. */
bool qdq_weight_mse_letters(const float *w, const qdq_scale_grid *g, const qdq_qscheme *s,
                            const float *low, const float *high, char *letters);

/* Sets `clip` of all weights of the plan whose method is QDQ_WEIGHT_MSE: the plan then says what
 * was found, and applying it searches nothing. */
qdq_status qdq_weight_mse_search(const qdq_model *m, qdq_plan *p, qdq_error *err);

#endif /* QDQ_WEIGHT_MSE_H */
