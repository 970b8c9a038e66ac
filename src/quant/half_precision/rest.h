/* rest.h - what is not quantized in float16 or bfloat16: which nodes stay float32 is decided when a
 * plan is made, and recorded in it; the conversion itself is a pure function of model and plan.
 *
 * Every float value has one type that its producer gives, and at most one Cast for readers that
 * want the other one. Graph inputs and outputs keep their types unless the plan says `direct_io`;
 * so do inputs and outputs of bodies. Q and DQ are borders of their own: a Q has the type of what
 * it reads, a DQ the one that its readers want, and either of them scales of that type. */
#ifndef QDQ_REST_H
#define QDQ_REST_H

#include "quant/plan/quantizing.h"

/* A target whose rest follows the model, and a model that is in 16 bits: *out is the target that
 * says which, to be freed. NULL: t is to be taken as it is. */
qdq_status qdq_rest_follow(const qdq_model *m, const qdq_target *t, const qdq_job *job,
                           qdq_target **out, qdq_error *err);

/* A model that is in 16 bits already: placement wants float32, so plan->rest says that it is to be
 * widened, and which of its nodes were float32 and stay that. Does nothing for other models, or if
 * the target wants no 16 bits. */
qdq_status qdq_rest_begin(const qdq_model *m, const qdq_target *t, qdq_plan *plan, qdq_error *err);

/* Every node of m that computes float32, with the nodes that have 16 bits left out; Q, DQ and Cast
 * are neither. Types are inferred. *out: labels, in `arena`. */
typedef QDQ_VEC(const char *) qdq_rest_labels;
qdq_status qdq_rest_find_float(const qdq_model *m, qdq_arena *arena, qdq_rest_labels *out,
                               qdq_error *err);

/* Fills plan->rest for m, a model in float32 that was in `type` but for the nodes in
 * plan->rest.was_float. */
qdq_status qdq_rest_recall(const qdq_model *m, qdq_elem type, qdq_plan *plan, qdq_error *err);

/* Fills q->plan->rest from what the target says, for the model as placement sees it. With data, all
 * float activations of the main graph are observed: what comes near the end of the 16-bit range
 * stays float32. */
qdq_status qdq_rest_choose(const qdq_quantizing *q, qdq_error *err);

/* The nodes that p->rest keeps in float32, by address: *kept is to be freed with qdq_map_free(),
 * also on failure. Asked before anything is inserted, since labels may change then. Labels that no
 * node has are QDQ_E_FORMAT. */
qdq_status qdq_rest_find_kept(const qdq_model *m, const qdq_plan *p, qdq_map *kept, qdq_error *err);

/* Scales of Q/DQ that can have the type become numbers of it, on both sides of a border: but those
 * of biases, which follow from others. Before the conversion, so that what depends on scales can be
 * made for those that will be stored. */
qdq_status qdq_rest_round_scales(qdq_model *m, const qdq_plan_rest *rest, const qdq_map *kept,
                                 qdq_error *err);

/* Converts a model with inferred types. Does nothing if `rest` says float. What the type cannot
 * hold is clamped, and `job` hears of it. */
qdq_status qdq_rest_convert(qdq_model *m, const qdq_plan_rest *rest, const qdq_map *kept,
                            const qdq_job *job, qdq_error *err);

#endif /* QDQ_REST_H */
