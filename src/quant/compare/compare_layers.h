/* compare_layers.h - what the files of qdq_compare_layers() share. */
#ifndef QDQ_COMPARE_LAYERS_H
#define QDQ_COMPARE_LAYERS_H

#include "qdq/compare.h"
#include "quant/compare/compare_match.h"

/* The layers of `m` that were compared on `samples` samples, the largest error first. *out goes to
 * qdq_free(). */
qdq_status qdq_compare_layers_write(const qdq_matching *m, size_t samples,
                                    qdq_compare_layers_result **out, qdq_error *err);

#endif /* QDQ_COMPARE_LAYERS_H */
