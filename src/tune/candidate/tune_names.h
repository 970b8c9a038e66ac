/* tune_names.h - candidates by assignment and by name. */
#ifndef QDQ_TUNE_NAMES_H
#define QDQ_TUNE_NAMES_H

#include "tune/state/tune_state.h"

/* The candidate of an assignment. */
qdq_status qdq_tune_candidate_of(qdq_tune_state *t, const qdq_assign *a, qdq_tune_candidate **out,
                                 qdq_error *err);

/* A candidate that is no assignment of the space: a model file under a name. */
qdq_status qdq_tune_candidate_named(qdq_tune_state *t, const char *name, qdq_tune_candidate **out,
                                    qdq_error *err);

#endif /* QDQ_TUNE_NAMES_H */
