/* insert.h - Q/DQ into a graph, as a plan says. Deterministic: the same model and plan give the
 * same bytes. */
#ifndef QDQ_INSERT_H
#define QDQ_INSERT_H

#include "ir/edit.h"
#include "quant/insert/insert_cache.h"
#include "quant/plan/plan.h"

/* Edits `m`, a cleaned private copy. Tensors, nodes and edges that the model does not have are
 * QDQ_E_FORMAT, and the first few are listed; m is then to be thrown away. `cache`: what earlier
 * insertions into copies of the same model made of its weights; NULL: nothing. */
qdq_status qdq_insert(qdq_model *m, const qdq_plan *plan, qdq_insert_cache *cache, qdq_error *err);

/* What comes back from the codes of entry `index` of plan->weights, without an edit: `w` and `back`
 * are borrowed for the call. Anything but QDQ_OK ends it all. */
typedef qdq_status (*qdq_insert_weight_fn)(void *ctx, size_t index, const float *w,
                                           const float *back, qdq_error *err);
qdq_status qdq_insert_try_weights(const qdq_model *m, const qdq_plan *plan, qdq_insert_weight_fn fn,
                                  void *ctx, qdq_error *err);

#endif /* QDQ_INSERT_H */
