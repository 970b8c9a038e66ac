/* tune_refused.h - options that the engine's program refuses. */
#ifndef QDQ_TUNE_REFUSED_H
#define QDQ_TUNE_REFUSED_H

#include "tune/state/tune_state.h"

/* What the store knows of options that the engine's program refuses; the run's lab is told. */
qdq_status qdq_tune_recall_refused(qdq_tune_state *t, qdq_error *err);
/* Tells another lab. */
qdq_status qdq_tune_send_refused(const qdq_tune_state *t, qdq_worker_client *lab, qdq_error *err);
/* After a lab was asked something: what its engine has refused since is kept in the store, and told
 * users once. */
qdq_status qdq_tune_note_refused(qdq_tune_state *t, const qdq_worker_client *lab, qdq_error *err);

#endif /* QDQ_TUNE_REFUSED_H */
