/* tune_known.h - results of other runs, and this run's results for them: pattern caches. */
#ifndef QDQ_TUNE_KNOWN_H
#define QDQ_TUNE_KNOWN_H

#include "tune/state/tune_state.h"

/* Names patterns and the model for pattern caches, after the engine was opened; sets
 * t->parts.settled. */
qdq_status qdq_tune_name_patterns(qdq_tune_state *t, qdq_error *err);

/* Writes the result of a trial to patterns.yaml; before the first trial (NULL), that of the model
 * without Q/DQ. */
qdq_status qdq_tune_learn(qdq_tune_state *t, const qdq_search_event *e, qdq_error *err);

/* Writes patterns.yaml at the end of the run. */
qdq_status qdq_tune_write_patterns(qdq_tune_state *t, qdq_error *err);

/* Cached schemes of a pattern, as bits over its choices, each once: first those measured on this
 * engine and device, up to the number that the options allow. In the arena. */
qdq_status qdq_tune_find_seeds(qdq_tune_state *t, size_t pattern, qdq_assign **out, size_t *n,
                               qdq_error *err);

/* The preferred cache entry of a pattern; NULL: none. */
const qdq_pattern_schemes *qdq_tune_best_entry(const qdq_tune_state *t, size_t pattern);

/* The text of an assignment in caches; in the arena. NULL: out of memory. */
const char *qdq_tune_placement_text(const qdq_tune_state *t, const qdq_assign *a, qdq_arena *arena);

/* The time of a measured candidate, as a fraction of the baseline's. */
double qdq_tune_share_of(const qdq_search_event *e);

/* The fastest cached placement of this model, from any conditions; *found false: none. */
qdq_status qdq_tune_find_placement(qdq_tune_state *t, qdq_assign *out, bool *found, qdq_error *err);

/* Tries the result t->parts.settled. If it is as fast as stated, and no start without a known time
 * is faster, *done is set, and t->run.found is the result of the search. Else t->parts.settled
 * becomes NULL. */
qdq_status qdq_tune_follow_known(qdq_tune_state *t, bool *done, qdq_error *err);

/* The time of a placement, as a fraction of the baseline's, from another run with this store or
 * from t->parts.settled; NAN: unknown. */
qdq_status qdq_tune_known_share(qdq_tune_state *t, const qdq_assign *a, double *out,
                                qdq_error *err);

/* Stores the result of a trial for other runs. */
qdq_status qdq_tune_remember_share(qdq_tune_state *t, const qdq_search_event *e, qdq_error *err);

#endif /* QDQ_TUNE_KNOWN_H */
