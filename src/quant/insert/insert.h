/* insert.h - inserts the Q/DQ of a plan into a graph. Deterministic: the same model and plan give
 * the same bytes. */
#ifndef QDQ_INSERT_H
#define QDQ_INSERT_H

#include "ir/edit.h"
#include "quant/insert/insert_cache.h"
#include "quant/plan/plan.h"

/* Edits `m`, a cleaned private copy. QDQ_E_FORMAT: the model lacks tensors, nodes or edges of the
 * plan; the message lists the first few, and m can only be freed. `cache`: results of earlier
 * insertions into copies of the same model; NULL: none. `job` may be NULL. */
qdq_status qdq_insert(qdq_model *m, const qdq_plan *plan, qdq_insert_cache *cache,
                      const qdq_job *job, qdq_error *err);

/* Passes the weight `w` and the dequantized weight `back` of each entry `index` of plan->weights to
 * `fn`, without an edit. Both are borrowed for the call. Any status but QDQ_OK ends the call. */
typedef qdq_status (*qdq_insert_weight_fn)(void *ctx, size_t index, const float *w,
                                           const float *back, qdq_error *err);
qdq_status qdq_insert_try_weights(const qdq_model *m, const qdq_plan *plan, qdq_insert_weight_fn fn,
                                  void *ctx, qdq_error *err);

#endif /* QDQ_INSERT_H */
