/* half_precision.h - unquantized nodes in float16 or bfloat16. Which nodes stay float32 is decided
 * when a plan is made, and recorded in it; the conversion depends on model and plan alone.
 *
 * Every float value has the type of its producer, and at most one Cast for consumers that need the
 * other type. Graph inputs and outputs keep their types unless the plan has `direct_io`; so do
 * inputs and outputs of subgraphs. Q and DQ are boundaries: a Q has the type of its input, a DQ the
 * type that its consumers need, and both have scales of that type. */
#ifndef QDQ_HALF_PRECISION_H
#define QDQ_HALF_PRECISION_H

#include "quant/calib/quantizing.h"

/* For a target whose half precision follows the model, and a model in 16 bits: *out is a copy of
 * the target with that type, to be freed. NULL: t is used unchanged. */
qdq_status qdq_half_follow(const qdq_model *m, const qdq_target *t, const qdq_job *job,
                           qdq_target **out, qdq_error *err);

/* For a model that is already in 16 bits: placement needs float32, so plan->half records that the
 * model is to be widened, and which of its nodes were float32 and stay so. Does nothing for other
 * models, or if the target has no half precision. */
qdq_status qdq_half_begin(const qdq_model *m, const qdq_target *t, qdq_plan *plan, qdq_error *err);

/* Lists every node of m that computes float32, without nodes that have 16 bits, Q, DQ and Cast.
 * Types must be inferred. *out: labels, in `arena`. */
typedef QDQ_VEC(const char *) qdq_half_labels;
qdq_status qdq_half_find_float(const qdq_model *m, qdq_arena *arena, qdq_half_labels *out,
                               qdq_error *err);

/* Fills plan->half for m, a float32 model that was in `type` except for the nodes of
 * plan->half.was_float. */
qdq_status qdq_half_recall(const qdq_model *m, qdq_elem type, qdq_plan *plan, qdq_error *err);

/* Fills q->plan->half by the target's rules, for the model as placement sees it. With data, all
 * float activations of the main graph are observed: values near the limits of the 16-bit type keep
 * their nodes in float32. */
qdq_status qdq_half_choose(const qdq_quantizing *q, qdq_error *err);

/* Finds the nodes that p->half keeps in float32, by address. *kept is freed with qdq_map_free(),
 * also on failure. Call it before any insertion, because labels may change then. QDQ_E_FORMAT: no
 * node has a label. */
qdq_status qdq_half_find_kept(const qdq_model *m, const qdq_plan *p, qdq_map *kept, qdq_error *err);

/* Rounds scales of Q/DQ that can have the 16-bit type to it, on both sides of a boundary, except
 * scales of biases, which follow from others. Call it before the conversion, so that what depends
 * on scales uses the stored ones. */
qdq_status qdq_half_round_scales(qdq_model *m, const qdq_plan_half *rest, const qdq_map *kept,
                                 qdq_error *err);

/* Converts a model with inferred types. Does nothing if `rest` says float. Values outside of the
 * type's range are clamped, and `job` logs them. */
qdq_status qdq_half_convert(qdq_model *m, const qdq_plan_half *rest, const qdq_map *kept,
                            const qdq_job *job, qdq_error *err);

#endif /* QDQ_HALF_PRECISION_H */
