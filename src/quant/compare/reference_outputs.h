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

/* What models are compared with. */
typedef struct qdq_comparison {
    qdq_engine *engine;
    const qdq_model *a;
    qdq_data *data;
    const qdq_compare_opts *opts; /* NULL: those of QDQ_COMPARE_OPTS_INIT */
    /* outputs of a from comparison to comparison, for the same a, samples and options each time;
     * NULL: it runs each time */
    qdq_kept *kept;
} qdq_comparison;

/* qdq_compare() with b. (compare.c) */
qdq_status qdq_compare_keeping(const qdq_comparison *of, const qdq_model *b,
                               qdq_compare_result **out, qdq_error *err);

#endif /* QDQ_REFERENCE_OUTPUTS_H */
