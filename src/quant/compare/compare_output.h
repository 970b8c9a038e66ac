/* compare_output.h - all that is measured of one output over samples: sums, slices, rows. Knows no
 * models. */
#ifndef QDQ_COMPARE_OUTPUT_H
#define QDQ_COMPARE_OUTPUT_H

#include "quant/compare/compare_stat.h"
#include "quant/compare/slices.h"

/* Zero is an empty one. */
typedef struct qdq_compare_output {
    qdq_compare_stat stat;
    qdq_slices slices;
    qdq_top1 top1;
} qdq_compare_output;

/* A sample: arrays of one shape. `labels`: NULL, or one for each row. `batch`:
 * qdq_slices_batch(). */
qdq_status qdq_compare_output_add(qdq_compare_output *o, size_t sample, int64_t batch,
                                  const qdq_array *a, const qdq_array *b, const int64_t *labels,
                                  qdq_error *err);

/* Fills all of *t but the name. */
qdq_status qdq_compare_output_get(const qdq_compare_output *o, qdq_compare_tensor *t,
                                  qdq_error *err);

/* Makes *t that of an output with another shape in the second model. */
void qdq_compare_tensor_reshaped(qdq_compare_tensor *t);
void qdq_compare_output_free(qdq_compare_output *o);

#endif /* QDQ_COMPARE_OUTPUT_H */
