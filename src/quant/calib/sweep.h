/* sweep.h - runs samples through a model and shows the values of tensors: in as few runs as memory
 * allows, without the engine's optimizations, so that results do not depend on which other tensors
 * are observed. */
#ifndef QDQ_SWEEP_H
#define QDQ_SWEEP_H

#include "quant/calib/quantizing.h"

/* The number of samples that the options allow, and the limit of activations observed at once, in
 * bytes. */
size_t qdq_sweep_count(const qdq_quantizing *q);
uint64_t qdq_sweep_memory(const qdq_quantizing *q);

/* Whether there are samples other than random ones. If not, a warning: "`what` needs samples". */
bool qdq_has_real_samples(const qdq_quantizing *q, const char *what);

/* Opens a session of q->m that returns only the values in `expose`, which ends with NULL. */
qdq_status qdq_sweep_open(const qdq_quantizing *q, const char *const *expose, qdq_session **out,
                          qdq_error *err);

/* Receives a value. The array is borrowed for the call. Any status but QDQ_OK ends the sweep. */
typedef qdq_status (*qdq_sweep_fn)(void *ctx, size_t sample, const char *name, const qdq_array *a,
                                   qdq_error *err);

/* Calls `show` once for each step of each sample: for every value of `values`, which ends with NULL
 * and has results of nodes only, and for all graph inputs. `stage` is for progress. */
qdq_status qdq_sweep(const qdq_quantizing *q, const char *stage, const qdq_value *const *values,
                     qdq_sweep_fn show, void *ctx, qdq_error *err);

#endif /* QDQ_SWEEP_H */
