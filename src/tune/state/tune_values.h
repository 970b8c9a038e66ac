/* tune_values.h - JSON in the store. */
#ifndef QDQ_TUNE_VALUES_H
#define QDQ_TUNE_VALUES_H

#include "base/json.h"
#include "tune/state/tune_state.h"

/* JSON that the store has under a key: json_decref(). *out NULL: nothing, or nothing that can be
 * read. */
qdq_status qdq_tune_recall(qdq_tune_state *t, const char *key, json_t **out, qdq_error *err);

/* Puts it there, and takes it; NULL: there was no memory for it. */
qdq_status qdq_tune_remember(qdq_tune_state *t, const char *key, json_t *j, qdq_error *err);

/* The same by content: also for other models. */
qdq_status qdq_tune_recall_content(qdq_tune_state *t, const char *key, json_t **out,
                                   qdq_error *err);
qdq_status qdq_tune_remember_content(qdq_tune_state *t, const char *key, json_t *j, qdq_error *err);

#endif /* QDQ_TUNE_VALUES_H */
