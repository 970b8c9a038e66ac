/* quantize_steps.h - the way of qdq_quantize() in its steps, for callers that go the middle one
 * many times: one clean model, many plans for it, each applied to a copy. */
#ifndef QDQ_QUANTIZE_STEPS_H
#define QDQ_QUANTIZE_STEPS_H

#include "quant/insert/insert_cache.h"
#include "quant/calib/calib.h"
#include "quant/weights/smooth.h"

/* Fills the head of an empty plan, and *prepared: the model that plans speak of. Names of nodes in
 * `opts` that this fused become names of nodes in it (place_fused.h), in the plan's arena. */
qdq_status qdq_quantize_begin(const qdq_model *m, const qdq_target *t, qdq_quantize_opts *opts,
                              qdq_plan *p, qdq_model **prepared, qdq_error *err);

/* The same model again, from a plan that is there. */
qdq_status qdq_quantize_clean(const qdq_plan *p, const qdq_model *m, const qdq_job *job,
                              qdq_model **out, qdq_error *err);

/* The head of another plan for the same model. */
qdq_status qdq_quantize_again(const qdq_plan *first, qdq_plan *p, qdq_error *err);

/* Finds what to smooth in the clean model q->m: q->plan, which has its head, gets smoothings and is
 * otherwise empty. Samples choose them; random ones are a warning. `ask`: as for
 * qdq_smooth_search(). */
qdq_status qdq_quantize_find_smoothings(const qdq_quantizing *q, const qdq_smooth_ask *ask,
                                        qdq_error *err);

/* The same for the clean model m, which is q->m, and smooths it. */
qdq_status qdq_quantize_smooth(const qdq_quantizing *q, qdq_model *m, qdq_error *err);

/* Places and calibrates: the rest of q->plan. */
qdq_status qdq_quantize_plan(const qdq_quantizing *q, qdq_error *err);

/* The same with smoothing of the clean model m, if it is asked for. */
qdq_status qdq_quantize_first_plan(const qdq_quantizing *q, qdq_model *m, qdq_error *err);

/* Applies the plan to the clean model, which becomes the quantized one. `cache`: as for
 * qdq_insert(). */
qdq_status qdq_quantize_finish(qdq_model *m, const qdq_plan *p, qdq_insert_cache *cache,
                               const qdq_job *job, qdq_error *err);

/* --- quantize_place.c: placement and calibration depend on each other ------------------------- */

/* Placement as q->opts want it, without scales. */
qdq_status qdq_place_for(const qdq_quantizing *q, qdq_error *err);

/* The same with scales. Nodes that turn out to have none stay float: tensors without a finite
 * value, biases that int32 cannot hold. */
qdq_status qdq_place_with_scales(const qdq_quantizing *q, qdq_error *err);

/* Ranges come from samples, or from statistics of some, and not from random numbers. */
bool qdq_has_samples(const qdq_quantizing *q);

/* Random input, which stands for data where there are none. */
qdq_status qdq_quantize_random(const qdq_quantizing *q, qdq_data **out, qdq_error *err);

/* Fills scales of a placed plan that are not there, as qdq_calibrate() does. */
qdq_status qdq_find_scales(const qdq_quantizing *q, qdq_calib_names *empty, qdq_error *err);

/* The precision of what is not quantized, and which nodes stay float32, as another plan for the
 * model has it. */
qdq_status qdq_take_half(const qdq_plan_half *from, qdq_plan *p, qdq_error *err);

/* --- quantize_control_flow.c: the same for the bodies of If, Loop and Scan -------------------- */

/* Fills q->plan, with scales, bodies included as far as samples reach them. */
qdq_status qdq_place_all(const qdq_quantizing *q, qdq_error *err);

/* Placement of what is inside bodies, without scales, joins the plan: to explain it. */
qdq_status qdq_place_inside(const qdq_quantizing *q, qdq_error *err);

/* --- quantize_statistics.c: statistics in place of samples ------------------------------------ */

/* Sets q->statistics and *out to what q->opts->cache has, if the file has statistics; else to NULL.
 * They are those of the model, the cleaning, the target as the caller has it (`given`) and the
 * method, or an error names both. What they cannot serve is an error or a warning. *out is freed
 * with qdq_statistics_free(). */
qdq_status qdq_statistics_open(qdq_quantizing *q, const qdq_target *given, qdq_statistics **out,
                               qdq_error *err);

#endif /* QDQ_QUANTIZE_STEPS_H */
