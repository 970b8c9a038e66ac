/* compare_feed.h - converts samples to the types of a model's inputs: one of two compared models
 * may have inputs in 16 bits or of quantized values, and the other in float. */
#ifndef QDQ_COMPARE_FEED_H
#define QDQ_COMPARE_FEED_H

#include "base/arena.h"
#include "qdq/model.h"

/* Converts arrays of *in, samples of `of`, to the input types of m: between types of floats; from
 * floats to quantized values, with the scale that follows in m; and from quantized values of `of`
 * to floats. QDQ_E_UNSUPPORTED: the scale is unknown. Other arrays stay unchanged. If anything was
 * converted, *in becomes a list in `memory`. */
qdq_status qdq_compare_feed(const qdq_model *m, const qdq_model *of, const qdq_named_array **in,
                            size_t n, qdq_arena *memory, qdq_error *err);

#endif /* QDQ_COMPARE_FEED_H */
