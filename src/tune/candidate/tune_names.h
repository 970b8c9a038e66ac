/* tune_names.h - finds candidates by assignment and by name. */
#ifndef QDQ_TUNE_NAMES_H
#define QDQ_TUNE_NAMES_H

#include "tune/state/tune_state.h"

/* The candidate of an assignment; made if it is new. */
qdq_status qdq_tune_candidate_of(qdq_tune_state *t, const qdq_assign *a, qdq_tune_candidate **out,
                                 qdq_error *err);

/* The candidate of a model file that no assignment makes, by name. */
qdq_status qdq_tune_candidate_named(qdq_tune_state *t, const char *name, qdq_tune_candidate **out,
                                    qdq_error *err);

#endif /* QDQ_TUNE_NAMES_H */
