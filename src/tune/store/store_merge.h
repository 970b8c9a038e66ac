/* store_merge.h - one store more for a store: the steps of qdq_tune_merge(). */
#ifndef QDQ_STORE_MERGE_H
#define QDQ_STORE_MERGE_H

#include "base/arena.h"
#include "base/vec.h"
#include "qdq/tune.h"
#include "tune/store/store_sql.h"

/* A context that a store has. */
typedef struct qdq_merge_context {
    /* `quant` is NULL */
    qdq_tune_store_context head;
    /* ids in the store that is merged and in `into`; 0: not there yet */
    int64_t from, into;
    /* the newest beginning in both */
    int64_t from_since, into_since;
    bool is_quarantined;
} qdq_merge_context;

/* Do the samples of a context agree in both stores? *why: NULL if they do, else a sentence in
 * `memory`. */
qdq_status qdq_merge_compare(qdq_tune_store *from, qdq_tune_store *into, const qdq_merge_context *c,
                             qdq_arena *memory, const char **why, qdq_error *err);

#endif /* QDQ_STORE_MERGE_H */
