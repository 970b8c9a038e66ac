/* equalized.h - the pass "equalize" as part of quantizing: what it is told of a target, and what it did. */
#ifndef QDQ_EQUALIZED_H
#define QDQ_EQUALIZED_H

#include "ir/ir.h"
#include "target/target.h"

/* Pairs of Conv. */
typedef struct qdq_equalized {
    size_t n_done;
    size_t n_left; /* channels are apart, but equal ranges would not help */
} qdq_equalized;

/* The pass with arguments: what of a pair of Conv this target rounds. */
const char *qdq_equalize_pass(const qdq_target *t);

/* Runs a pipeline within QDQ_CLEAN_GROWTH, and counts what of it was equalization. */
qdq_status qdq_clean(qdq_model *m, const char *passes, qdq_equalized *out, qdq_error *err);

#endif /* QDQ_EQUALIZED_H */
