/* qat_form.h - the other form in which trained quantization arrives: BatchNormalization folded by
 * the exporter, weights stored as integers, bias left float. */
#ifndef QDQ_TEST_QAT_FORM_H
#define QDQ_TEST_QAT_FORM_H

#include "qdq/model.h"

/* Turns a model as digits_qat_bn (float weight -> Q -> DQ -> Conv -> BatchNormalization) into that
 * form. Integers are those of the training, scales take up the factor of the normalization; no pass
 * of ours decides any number. */
qdq_status test_fold_qat(qdq_model *m, qdq_error *err);

#endif /* QDQ_TEST_QAT_FORM_H */
