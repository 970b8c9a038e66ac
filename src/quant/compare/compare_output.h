/* compare_output.h - all statistics of one output over samples: sums, slices, rows. Knows no
 * models. */
#ifndef QDQ_COMPARE_OUTPUT_H
#define QDQ_COMPARE_OUTPUT_H

#include "quant/compare/compare_stat.h"
#include "quant/compare/slices.h"

/* Empty if zero. */
typedef struct qdq_compare_output {
    qdq_compare_stat stat;
    qdq_slices slices;
    qdq_top1 top1;
} qdq_compare_output;

/* Adds a sample: arrays of one shape. `labels`: one for each row, or NULL. `batch`: see
 * qdq_slices_batch(). */
qdq_status qdq_compare_output_add(qdq_compare_output *o, size_t sample, int64_t batch,
                                  const qdq_array *a, const qdq_array *b, const int64_t *labels,
                                  qdq_error *err);

/* Fills all of *t except the name. */
qdq_status qdq_compare_output_get(const qdq_compare_output *o, qdq_compare_tensor *t,
                                  qdq_error *err);

/* Sets *t for an output whose shape differs in the second model. */
void qdq_compare_tensor_reshaped(qdq_compare_tensor *t);
void qdq_compare_output_free(qdq_compare_output *o);

#endif /* QDQ_COMPARE_OUTPUT_H */
