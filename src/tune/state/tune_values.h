/* tune_values.h - JSON values in the store. */
#ifndef QDQ_TUNE_VALUES_H
#define QDQ_TUNE_VALUES_H

#include "base/json.h"
#include "tune/state/tune_state.h"

/* Reads the JSON of a key. *out is released with json_decref(); NULL: there is none, or it cannot
 * be read. */
qdq_status qdq_tune_recall(qdq_tune_state *t, const char *key, json_t **out, qdq_error *err);

/* Stores JSON under a key, and releases j. j NULL: out of memory. */
qdq_status qdq_tune_remember(qdq_tune_state *t, const char *key, json_t *j, qdq_error *err);

/* The same for keys by content, which other models share. */
qdq_status qdq_tune_recall_content(qdq_tune_state *t, const char *key, json_t **out,
                                   qdq_error *err);
qdq_status qdq_tune_remember_content(qdq_tune_state *t, const char *key, json_t *j, qdq_error *err);

#endif /* QDQ_TUNE_VALUES_H */
