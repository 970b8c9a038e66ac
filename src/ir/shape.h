/* shape.h - type and shape inference with symbolic dimensions and data propagation for shape arithmetic. */
#ifndef QDQ_SHAPE_H
#define QDQ_SHAPE_H

#include "ir/ir.h"

typedef struct qdq_shape_opts {
    /* Types that the file declares for intermediate values are believed only where inference knows nothing;
     * with `forget_declared` they are dropped first (used after input shapes changed). Graph inputs and
     * declared outputs that inference cannot reach are always kept. */
    bool forget_declared;
    /* A contradiction (declared 5, inferred 6) is QDQ_E_FORMAT; else the inferred type wins and `log` hears. */
    bool strict;
    const qdq_job *job;
} qdq_shape_opts;

/* Infers types of all values, subgraphs and function calls included where their bodies are known. Unknown
 * operators leave their outputs unknown. */
qdq_status qdq_model_infer(qdq_model *m, const qdq_shape_opts *opts, qdq_error *err);

#endif /* QDQ_SHAPE_H */
