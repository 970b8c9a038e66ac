/* compare_feed.h - samples in the types that a model reads: of two models that are compared, one may have inputs in 16
 * bits where the other has float. */
#ifndef QDQ_COMPARE_FEED_H
#define QDQ_COMPARE_FEED_H

#include "base/arena.h"
#include "qdq/model.h"

/* Arrays of *in that m reads as another type of floats are converted; all others stay what they are. *in is a list in
 * `memory` afterwards, if anything had to be converted. */
qdq_status qdq_compare_feed(const qdq_model *m, const qdq_named_array **in, size_t n, qdq_arena *memory,
                            qdq_error *err);

#endif /* QDQ_COMPARE_FEED_H */
