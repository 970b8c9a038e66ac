/* sweep.h - samples through a model, and what values hold in each of them: in as few runs as memory
 * allows, without the engine's optimizations, so that what is seen of a value does not depend on
 * what else is looked at. */
#ifndef QDQ_SWEEP_H
#define QDQ_SWEEP_H

#include "quant/plan/quantizing.h"

/* How many samples the options take, and how many bytes of activations at once. */
size_t qdq_sweep_count(const qdq_quantizing *q);
uint64_t qdq_sweep_memory(const qdq_quantizing *q);

/* A session of q->m that gives the values in `expose`, which ends with NULL, and nothing else. */
qdq_status qdq_sweep_open(const qdq_quantizing *q, const char *const *expose, qdq_session **out,
                          qdq_error *err);

/* The array is borrowed for the call. Anything but QDQ_OK ends it all. */
typedef qdq_status (*qdq_sweep_fn)(void *ctx, size_t sample, const char *name, const qdq_array *a,
                                   qdq_error *err);

/* Calls `show` for every value of `values`, which ends with NULL and has results of nodes alone,
 * and for all that is fed to the graph's inputs, once for each sample. `stage` is for progress. */
qdq_status qdq_sweep(const qdq_quantizing *q, const char *stage, const qdq_value *const *values,
                     qdq_sweep_fn show, void *ctx, qdq_error *err);

#endif /* QDQ_SWEEP_H */
