/* shape.h - type and shape inference with symbolic dimensions and data propagation for shape
 * arithmetic.
 *
 * Results are stored as the types of values, in bodies of If, Loop and Scan, too. Not stored: types
 * of initializers (their data says it) and of values in function bodies (every call may give other
 * ones; what a call gives is inferred). Types of graph inputs are never touched, and graph outputs
 * keep the names that the file gives to their dims. */
#ifndef QDQ_SHAPE_H
#define QDQ_SHAPE_H

#include "ir/ir.h"

typedef struct qdq_shape_opts {
    /* Types that the file declares for intermediate values are believed only where inference knows
     * nothing; with `forget_declared` they are dropped first (used after input shapes changed).
     * Where inference cannot reach, their element type is left, and of graph outputs the rank and
     * the names of dims. */
    bool forget_declared;
    /* A contradiction (declared 5, inferred 6; inputs of a node that do not fit) is QDQ_E_FORMAT,
     * and the model is unchanged; else the inferred type wins, a node that cannot be right gives
     * nothing, and `log` gets it. */
    bool strict;
    const qdq_job *job;
} qdq_shape_opts;

/* Infers types of all values, subgraphs and function calls included where their bodies are known.
 * Unknown operators leave their outputs unknown. `opts` may be NULL. Takes time linear in the size
 * of the model; on any failure the model is as it was. */
qdq_status qdq_model_infer(qdq_model *m, const qdq_shape_opts *opts, qdq_error *err);

/* A copy with types, which a file need not say. NULL on failure. */
qdq_status qdq_model_clone_typed(const qdq_model *m, const qdq_job *job, qdq_model **out,
                                 qdq_error *err);

/* Which dims Shape returns, by its attributes: negative bounds count from the end, others are
 * clamped. Afterwards 0 <= *start <= *end <= rank. */
void qdq_shape_bounds(int64_t rank, int64_t *start, int64_t *end);

#endif /* QDQ_SHAPE_H */
