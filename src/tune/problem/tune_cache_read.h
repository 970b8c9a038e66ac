/* tune_cache_read.h - the autotune_cache.json at the beginning of a run. */
#ifndef QDQ_TUNE_CACHE_READ_H
#define QDQ_TUNE_CACHE_READ_H

#include "tune/cache/autotune_cache.h"
#include "tune/isolate/fusion_schemes.h"
#include "tune/state/tune_state.h"

#define QDQ_AUTOTUNE_CACHE "autotune_cache.json"

/* In subgraph mode, before any measurement: reads the file in the folder into t->parts.cached, and
 * moves it away if it belongs to another run. A resumed run sees the same file as at its beginning.
 * Call qdq_tune_close_cache() in every case. */
qdq_status qdq_tune_open_cache(qdq_tune_state *t, qdq_error *err);
void qdq_tune_close_cache(qdq_tune_state *t);

/* The placement of that file: groups with their schemes, without rejected ones. False: it has no
 * quantized group of this model. */
bool qdq_tune_cached_start(const qdq_tune_state *t, qdq_assign *a);

/* Whether these identify a scheme, and a group, of that file. */
bool qdq_tune_names_scheme(const char *name, qdq_scheme_kind kind);
bool qdq_tune_is_cached_group(const qdq_tune_state *t, const qdq_cached_group *g, uint32_t group);

/* Stores samples of a scheme by their key, for this run and others, as triples of times. */
qdq_status qdq_tune_remember_samples(qdq_tune_state *t, const qdq_cached_samples *s,
                                     qdq_error *err);

#endif /* QDQ_TUNE_CACHE_READ_H */
