/* calib.h - runs samples through an engine and turns what the planned tensors hold into scales. */
#ifndef QDQ_CALIB_H
#define QDQ_CALIB_H

#include "ir/ir.h"
#include "quant/plan/plan.h"
#include "target/target.h"

typedef struct qdq_calib_opts {
    qdq_method method; /* QDQ_METHOD_DEFAULT: the target's */
    double percentile; /* 0: 99.999 */
    const qdq_input_shape *shapes;
    size_t n_shapes;
    size_t samples;  /* 0: all */
    uint64_t memory; /* bytes of activations observed in one run; 0: 256 MiB */
    int threads;
    /* file with ranges (calib_cache.h): only what it does not have is observed; or NULL */
    const char *cache;
    /* 2 or more: scales for cross-validation, too (qdq_plan_tensor.fold); 0: none */
    unsigned folds;
    const qdq_job *job;
} qdq_calib_opts;

/* Names of tensors, in the arena of the plan. */
typedef QDQ_VEC(const char *) qdq_calib_names;

/* Fills the scale and zero point of every tensor of `plan` that has none yet, for the model `m`
 * with inferred shapes; the Q/DQ that it has already are run with it. Only tensors that need a
 * scale are observed, in as few runs as `memory` allows; nothing is kept of a sample but its
 * statistics. Tensors that never held a finite value are appended to `empty`, and nothing gets a
 * scale; where `empty` is NULL, theirs is 1. */
qdq_status qdq_calibrate(const qdq_model *m, const qdq_target *t, qdq_engine *e, qdq_data *data,
                         const qdq_calib_opts *opts, qdq_plan *plan, qdq_calib_names *empty,
                         qdq_error *err);

#endif /* QDQ_CALIB_H */
