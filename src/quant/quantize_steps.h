/* quantize_steps.h - the way of qdq_quantize() in its steps, for those who go the middle one many
 * times: one clean model, many plans for it, each applied to a copy. */
#ifndef QDQ_QUANTIZE_STEPS_H
#define QDQ_QUANTIZE_STEPS_H

#include "quant/insert/insert_cache.h"
#include "quant/quantize_place.h"

/* Fills the head of an empty plan, and *prepared: the model that plans speak of. Names of nodes in
 * `opts` that this fused become names of nodes in it (place_fused.h), in the plan's arena. */
qdq_status qdq_quantize_begin(const qdq_model *m, const qdq_target *t, qdq_quantize_opts *opts,
                              qdq_plan *p, qdq_model **prepared, qdq_error *err);

/* The same model again, from a plan that is there. */
qdq_status qdq_quantize_clean(const qdq_plan *p, const qdq_model *m, const qdq_job *job,
                              qdq_model **clean, qdq_error *err);

/* The head of another plan for the same model. */
qdq_status qdq_quantize_again(const qdq_plan *first, qdq_plan *p, qdq_error *err);

/* Places and calibrates: the rest of q->plan. */
qdq_status qdq_quantize_plan(const qdq_quantizing *q, qdq_error *err);

/* Applies the plan to the clean model, which becomes the quantized one. `cache`: as for
 * qdq_insert(). */
qdq_status qdq_quantize_finish(qdq_model *m, const qdq_plan *p, qdq_insert_cache *cache,
                               const qdq_job *job, qdq_error *err);

#endif /* QDQ_QUANTIZE_STEPS_H */
