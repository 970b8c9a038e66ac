/* space_types.h - other types of activations, tensor by tensor: an assignment can give a tensor
 * codes of a type that the target lists under `other_activations`, instead of the target's own.
 *
 * An assignment with edges (space_edges.h) has bits for this behind those of the edges: one for
 * each of these types and each tensor that an edge reads. A tensor without Q/DQ has no type,
 * whatever its bit says. Tensors that share a scale (copies, what a Concat joins) have one type:
 * that of one among them whose bit is on. What the model has in codes already keeps its type. */
#ifndef QDQ_SPACE_TYPES_H
#define QDQ_SPACE_TYPES_H

#include "tune/space/space.h"

#define QDQ_NOT_TYPED UINT32_MAX

/* Bits of an assignment with edges that are about types. */
size_t qdq_space_type_bits(const qdq_space *s);

/* The number of a tensor among those that have a type; QDQ_NOT_TYPED: it has none. */
uint32_t qdq_space_typed(const qdq_space *s, const qdq_value *v);

/* What `a` says of the tensor with this number: 0: the target's type, k: that of
 * s->target->others.at[k - 1]. 0 for an assignment without edges. */
size_t qdq_space_get_type(const qdq_space *s, const qdq_assign *a, uint32_t typed);

/* `a` is an assignment with edges. */
void qdq_space_set_type(const qdq_space *s, qdq_assign *a, uint32_t typed, size_t type);

/* The tensor whose type decides about this entry of a plan that a space made; NULL: its type
 * stays. */
const qdq_value *qdq_space_type_decider(const qdq_space *s, const qdq_plan_tensor *e);

/* Gives entries of p, the finished plan of the rest of `a`, the types that it says. Scales as in
 * qdq_space_plan(), which calls this. */
qdq_status qdq_space_retype(const qdq_space *s, const qdq_assign *a, const qdq_space_scaling *from,
                            qdq_plan *p, qdq_error *err);

/* Finds the tensors; space.c calls this once, after the edges. */
qdq_status qdq_space_find_typed(qdq_space *s, qdq_error *err);

#endif /* QDQ_SPACE_TYPES_H */
