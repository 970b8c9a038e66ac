/* equalized.h - cleaning as part of quantizing: what the pass "equalize" is told of a target, and
 * what passes did. */
#ifndef QDQ_EQUALIZED_H
#define QDQ_EQUALIZED_H

#include "ir/ir.h"
#include "target/target.h"

/* What passes did, and what they left. */
typedef struct qdq_cleaned {
    size_t n_equalized;     /* pairs of Conv */
    size_t n_not_equalized; /* channels are apart, but equal ranges would not help */
    /* LayerNormalizations in single nodes that only the opset keeps from being fused */
    size_t n_spelled;
} qdq_cleaned;

/* The pass with arguments: what of a pair of Conv this target rounds. */
const char *qdq_equalize_pass(const qdq_target *t);

/* Runs a pipeline within QDQ_CLEAN_GROWTH, and counts. */
qdq_status qdq_clean(qdq_model *m, const char *passes, qdq_cleaned *out, qdq_error *err);

#endif /* QDQ_EQUALIZED_H */
