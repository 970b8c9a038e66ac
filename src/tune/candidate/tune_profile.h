/* tune_profile.h - profiles of candidates: layers of the engine, told to nodes and decisions. */
#ifndef QDQ_TUNE_PROFILE_H
#define QDQ_TUNE_PROFILE_H

#include "tune/state/tune_state.h"

/* Fills in c->times, where nothing has. */
qdq_status qdq_tune_profile(qdq_tune_state *t, qdq_tune_candidate *c, qdq_error *err);

/* The same from layers that were asked for their nodes, if they have times. */
qdq_status qdq_tune_profile_from(qdq_tune_state *t, qdq_tune_candidate *c, const qdq_layer *g,
                                 size_t n, qdq_error *err);

/* Layers that the store has under a key: qdq_free(out->at). *known: false if it has none, or none
 * that can be read. */
qdq_status qdq_tune_recall_layers(qdq_tune_state *t, const char *key, qdq_tune_layers *out,
                                  bool *known, qdq_error *err);
qdq_status qdq_tune_keep_layers(qdq_tune_state *t, const char *key, const qdq_tune_layers *l,
                                qdq_error *err);

/* The same by bits, as the search wants it. *known: false where the engine cannot, or says too
 * little. */
qdq_status qdq_tune_profile_bits(qdq_tune_state *t, const qdq_assign *a, qdq_search_cost *cost,
                                 bool *known, qdq_error *err);

#endif /* QDQ_TUNE_PROFILE_H */
