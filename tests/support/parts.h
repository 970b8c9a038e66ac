/* parts.h - samples of a model in parts: statistics of each, merged. */
#ifndef QDQ_TEST_PARTS_H
#define QDQ_TEST_PARTS_H

#include "qdq/statistics.h"

/* What is calibrated, and how. */
typedef struct test_parts {
    const qdq_model *model;
    const qdq_target *target;
    qdq_engine *engine;
    qdq_data *data;
    qdq_quantize_opts opts;
} test_parts;

/* Statistics of part `part` of n; n = 0: of all samples. */
qdq_statistics *test_collect(const test_parts *p, size_t part, size_t n);

/* Of all n parts, merged from the first to the last, or the other way round, or in pairs that are
 * written, read and merged again. */
typedef enum test_merging { TEST_FORWARD, TEST_BACKWARD, TEST_IN_PAIRS } test_merging;
qdq_statistics *test_merge_parts(const test_parts *p, size_t n, test_merging how);

/* The text; qdq_free(). */
char *test_statistics_text(const qdq_statistics *s);

#endif /* QDQ_TEST_PARTS_H */
