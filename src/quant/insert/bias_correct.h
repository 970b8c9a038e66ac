/* bias_correct.h - corrects biases for the mean error that rounding the weight adds to a product:
 * analytic bias correction (Nagel et al., "Data-Free Quantization Through Weight Equalization and
 * Bias Correction", 2019, 4.2), with measured means of the data. */
#ifndef QDQ_BIAS_CORRECT_H
#define QDQ_BIAS_CORRECT_H

#include "ir/ir.h"
#include "quant/plan/plan.h"
#include "target/target.h"

/* Requests the means that corrections need from calibration, for each fold. */
qdq_status qdq_bias_correct_means(const qdq_model *m, unsigned folds, qdq_plan *p, qdq_error *err);

/* Fills p->corrections of the calibrated plan, and sorts its entries. A product without a bias gets
 * one, if its operator can have one. The job logs products that are not corrected, and the
 * reason. */
qdq_status qdq_bias_correct(const qdq_model *m, const qdq_target *t, const qdq_job *job,
                            qdq_plan *p, qdq_error *err);

#endif /* QDQ_BIAS_CORRECT_H */
