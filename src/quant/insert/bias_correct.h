/* bias_correct.h - what rounding its weight adds to the mean of a product, its bias takes off:
 * analytic bias correction (Nagel et al., "Data-Free Quantization Through Weight Equalization and
 * Bias Correction", 2019, 4.2), with the means of the data measured. */
#ifndef QDQ_BIAS_CORRECT_H
#define QDQ_BIAS_CORRECT_H

#include "ir/ir.h"
#include "quant/plan/plan.h"
#include "target/target.h"

/* Asks calibration for the means that corrections need, of each fold by itself. */
qdq_status qdq_bias_correct_means(const qdq_model *m, unsigned folds, qdq_plan *p, qdq_error *err);

/* Fills p->corrections of the calibrated plan, whose entries get sorted. A product that has no bias
 * gets one, where the operator takes one. The job hears of products that are left alone, and
 * why. */
qdq_status qdq_bias_correct(const qdq_model *m, const qdq_target *t, const qdq_job *job,
                            qdq_plan *p, qdq_error *err);

#endif /* QDQ_BIAS_CORRECT_H */
