/* reference_outputs.h - outputs of a model that is compared with several others on the same
 * samples: it runs only for the first comparison. */
#ifndef QDQ_REFERENCE_OUTPUTS_H
#define QDQ_REFERENCE_OUTPUTS_H

#include "qdq/compare.h"
#include "quant/calib/array_copy.h"

typedef struct qdq_reference_outputs {
    /* in bytes; if the outputs need more, none is kept, and the model runs each time */
    uint64_t limit;
    uint64_t bytes;
    /* compared outputs, sample by sample */
    qdq_held *at;
    size_t n;
    /* all outputs are here; they exceed the limit */
    bool is_complete, is_over;
} qdq_reference_outputs;

/* Allocates n outputs, unless this was done. Those that are not complete are freed. */
qdq_status qdq_reference_outputs_begin(qdq_reference_outputs *k, size_t n, qdq_error *err);

/* Copies an output. Beyond the limit all copies are freed, and is_over is set. */
qdq_status qdq_keep(qdq_reference_outputs *k, size_t i, const qdq_array *a, qdq_error *err);

/* After the first of `samples` samples: does the same if samples of this size will exceed the
 * limit. */
void qdq_reference_outputs_expect(qdq_reference_outputs *k, size_t samples);
void qdq_reference_outputs_free(qdq_reference_outputs *k);

/* The fixed part of comparisons with one model. */
typedef struct qdq_comparison {
    qdq_engine *engine;
    const qdq_model *a;
    qdq_data *data;
    /* NULL: QDQ_COMPARE_OPTS_INIT */
    const qdq_compare_opts *opts;
    /* outputs of a, kept between comparisons with the same a, samples and options; NULL: it runs
     * each time */
    qdq_reference_outputs *reference_outputs;
} qdq_comparison;

/* qdq_compare() with b. Defined in compare.c. */
qdq_status qdq_compare_keeping(const qdq_comparison *of, const qdq_model *b,
                               qdq_compare_result **out, qdq_error *err);

#endif /* QDQ_REFERENCE_OUTPUTS_H */
