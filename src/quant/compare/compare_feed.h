/* compare_feed.h - samples in the types that a model reads: of two models that are compared, one
 * may have inputs in 16 bits, or of codes, where the other has float. */
#ifndef QDQ_COMPARE_FEED_H
#define QDQ_COMPARE_FEED_H

#include "base/arena.h"
#include "qdq/model.h"

/* Arrays of *in, which are samples of `of`, that m reads as another type of floats are converted;
 * floats that it reads as codes are quantized with the scale that follows in it, and codes of `of`
 * that it reads as floats become such. Where no scale is known that is QDQ_E_UNSUPPORTED. All
 * others stay what they are. *in is a list in `memory` afterwards, if anything had to be
 * converted. */
qdq_status qdq_compare_feed(const qdq_model *m, const qdq_model *of, const qdq_named_array **in,
                            size_t n, qdq_arena *memory, qdq_error *err);

#endif /* QDQ_COMPARE_FEED_H */
