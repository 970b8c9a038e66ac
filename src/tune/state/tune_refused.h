/* tune_refused.h - options that the engine's program rejects. */
#ifndef QDQ_TUNE_REFUSED_H
#define QDQ_TUNE_REFUSED_H

#include "tune/state/tune_state.h"

/* Reads rejected options from the store, and sends them to the run's worker client. */
qdq_status qdq_tune_recall_refused(qdq_tune_state *t, qdq_error *err);
/* Sends them to another worker client. */
qdq_status qdq_tune_send_refused(const qdq_tune_state *t, qdq_worker_client *worker_client,
                                 qdq_error *err);
/* After a call of `worker_client`: stores options that its engine has rejected since, and logs them
 * once. */
qdq_status qdq_tune_note_refused(qdq_tune_state *t, const qdq_worker_client *worker_client,
                                 qdq_error *err);

#endif /* QDQ_TUNE_REFUSED_H */
