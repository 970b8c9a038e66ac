/* tune_known.h - what other runs measured, and what this one tells them: pattern caches. */
#ifndef QDQ_TUNE_KNOWN_H
#define QDQ_TUNE_KNOWN_H

#include "tune/state/tune_state.h"

/* Names patterns and the model for pattern caches, once the engine is open; fills t->parts.settled.
 */
qdq_status qdq_tune_name_patterns(qdq_tune_state *t, qdq_error *err);

/* What the run learnt from a trial, into patterns.yaml; before the first one (NULL) that of the
 * model without Q/DQ. */
qdq_status qdq_tune_learn(qdq_tune_state *t, const qdq_search_event *e, qdq_error *err);

/* patterns.yaml when all is over. */
qdq_status qdq_tune_write_patterns(qdq_tune_state *t, qdq_error *err);

/* Schemes that caches have for a pattern as bits over its choices, those that are measured on this
 * engine and device first; each once, as many as users want to be tried. In the arena. */
qdq_status qdq_tune_find_seeds(qdq_tune_state *t, size_t pattern, qdq_assign **out, size_t *n,
                               qdq_error *err);

/* The entry of a pattern whose schemes are tried first; NULL: caches do not have it. */
const qdq_pattern_schemes *qdq_tune_best_entry(const qdq_tune_state *t, size_t pattern);

/* An assignment in digits, by which caches know it; in the arena. NULL: out of memory. */
const char *qdq_tune_placement_text(const qdq_tune_state *t, const qdq_assign *a, qdq_arena *arena);

/* The time of a measured candidate as a share of the baseline's. */
double qdq_tune_share_of(const qdq_search_event *e);

/* The fastest placement that caches have for this very model, whatever it was measured on: *found
 * is false where there is none. */
qdq_status qdq_tune_find_placement(qdq_tune_state *t, qdq_assign *out, bool *found, qdq_error *err);

/* Tries what t->parts.settled says is best. If that is as fast as it says, and no start that
 * nothing measured is faster, *done is true, and t->run.found is what a search would have found;
 * else t->parts.settled is NULL from now on. */
qdq_status qdq_tune_follow_known(qdq_tune_state *t, bool *done, qdq_error *err);

/* The time of a placement as a share of the baseline's, if another run with this store, or
 * t->parts.settled, knows it; NAN. */
qdq_status qdq_tune_known_share(qdq_tune_state *t, const qdq_assign *a, double *out,
                                qdq_error *err);

/* Puts what a trial found into the store, for other runs. */
qdq_status qdq_tune_remember_share(qdq_tune_state *t, const qdq_search_event *e, qdq_error *err);

#endif /* QDQ_TUNE_KNOWN_H */
