/* reference_outputs.h - outputs of a model that is compared with many others on the same samples:
 * it runs for the first one only. */
#ifndef QDQ_REFERENCE_OUTPUTS_H
#define QDQ_REFERENCE_OUTPUTS_H

#include "qdq/compare.h"
#include "quant/calib/array_copy.h"

typedef struct qdq_kept {
    uint64_t limit; /* bytes; what is more is not kept, and the model runs each time */
    uint64_t bytes;
    qdq_held *at; /* outputs that are compared, sample by sample */
    size_t n;
    bool is_complete, is_over; /* all of them are there; they are more than the limit */
} qdq_kept;

/* Room for n outputs, if there is none. */
qdq_status qdq_kept_begin(qdq_kept *k, size_t n, qdq_error *err);

/* A copy of one; beyond the limit all go, and is_over says so. */
qdq_status qdq_keep(qdq_kept *k, size_t i, const qdq_array *a, qdq_error *err);
void qdq_kept_free(qdq_kept *k);

/* qdq_compare() for the same a, samples and options each time: outputs of a are those that were
 * kept. (compare.c) */
qdq_status qdq_compare_keeping(qdq_engine *e, const qdq_model *a, const qdq_model *b, qdq_data *d,
                               const qdq_compare_opts *opts, qdq_kept *kept,
                               qdq_compare_result **out, qdq_error *err);

#endif /* QDQ_REFERENCE_OUTPUTS_H */
