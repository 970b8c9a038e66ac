/* tune_cache_read.h - the autotune_cache.json that a run finds. */
#ifndef QDQ_TUNE_CACHE_READ_H
#define QDQ_TUNE_CACHE_READ_H

#include "tune/cache/autotune_cache.h"
#include "tune/isolate/fusion_schemes.h"
#include "tune/state/tune_state.h"

#define QDQ_AUTOTUNE_CACHE "autotune_cache.json"

/* In subgraph mode, before anything is measured: reads the file that is in the folder, into
 * t->parts.cached, and sets it aside if it is not this run's. A run that goes on sees what it saw
 * when it began. qdq_tune_close_cache() in any case. */
qdq_status qdq_tune_open_cache(qdq_tune_state *t, qdq_error *err);
void qdq_tune_close_cache(qdq_tune_state *t);

/* What that file places: groups by their schemes, without those that it rejected. False: it has no
 * group of this model with Q/DQ. */
bool qdq_tune_cached_start(const qdq_tune_state *t, qdq_assign *a);

/* Do these name a scheme, and a group, of the file that the run began with? */
bool qdq_tune_names_scheme(const char *name, qdq_scheme_kind kind);
bool qdq_tune_is_cached_group(const qdq_tune_state *t, const qdq_cached_group *g, uint32_t group);

/* Stores samples of a scheme by their key, for this run and others: times in threes. */
qdq_status qdq_tune_remember_samples(qdq_tune_state *t, const qdq_cached_samples *s,
                                     qdq_error *err);

#endif /* QDQ_TUNE_CACHE_READ_H */
