/* tune_profile.h - profiles of candidates: attributes layers of the engine to nodes and
 * decisions. */
#ifndef QDQ_TUNE_PROFILE_H
#define QDQ_TUNE_PROFILE_H

#include "tune/state/tune_state.h"

/* Sets c->times, unless they are set. */
qdq_status qdq_tune_profile(qdq_tune_state *t, qdq_tune_candidate *c, qdq_error *err);

/* The times of an assignment, from a profile that is taken unless there is one. *out NULL: the
 * engine cannot, says too little, or does not take the model. */
qdq_status qdq_tune_times_of(qdq_tune_state *t, const qdq_assign *a, const qdq_tune_times **out,
                             qdq_error *err);

/* The same from layers with their nodes, if these have times. */
qdq_status qdq_tune_profile_from(qdq_tune_state *t, qdq_tune_candidate *c, const qdq_layer *g,
                                 size_t n, qdq_error *err);

/* Times layers of a model file, with their nodes where the engine names layers after other things:
 * then there are no layers unless all are timed. out->at is freed with qdq_free() in any case. */
qdq_status qdq_tune_ask_layers(qdq_tune_state *t, qdq_worker_client *w, const char *path,
                               unsigned runs, qdq_tune_layers *out, qdq_remote_outcome *outcome,
                               qdq_error *err);

/* Asks the engine for layers of the model in the file. */
typedef qdq_status qdq_tune_ask(qdq_tune_state *t, const qdq_tune_candidate *c, const char *path,
                                qdq_tune_layers *out, qdq_remote_outcome *outcome, qdq_error *err);

/* Asks for a candidate's layers, and stores them under the key; none if the time of the search is
 * used up. What an engine did not survive is not stored: a resumed run asks again. `what` is the
 * word of the warning. */
qdq_status qdq_tune_measure_layers(qdq_tune_state *t, qdq_tune_candidate *c, const char *key,
                                   const char *what, qdq_tune_ask *ask, qdq_tune_layers *out,
                                   qdq_error *err);

/* Stored layers of a key; out->at is freed with qdq_free(). *known false: there are none, or they
 * cannot be read. */
qdq_status qdq_tune_recall_layers(qdq_tune_state *t, const char *key, qdq_tune_layers *out,
                                  bool *known, qdq_error *err);
qdq_status qdq_tune_keep_layers(qdq_tune_state *t, const char *key, const qdq_tune_layers *l,
                                qdq_error *err);

/* A profile by bits, as the search wants it. *known: there is one. */
qdq_status qdq_tune_profile_bits(qdq_tune_state *t, const qdq_assign *a, qdq_search_cost *cost,
                                 bool *known, qdq_error *err);

#endif /* QDQ_TUNE_PROFILE_H */
