/* space_types.h - other types of activations, for single tensors: quantized values can have a type
 * that the target lists under `other_activations`.
 *
 * An assignment with edges (space_edges.h) has bits for types after those of the edges: one for
 * each of these types and each tensor that an edge reads. The bit of a tensor without Q/DQ has no
 * effect. Tensors that share a scale (copies, operands of a Concat) have one type: that of any of
 * them whose bit is on. Existing quantized values keep their type. */
#ifndef QDQ_SPACE_TYPES_H
#define QDQ_SPACE_TYPES_H

#include "tune/space/space.h"

#define QDQ_NOT_TYPED UINT32_MAX

/* Number of bits for types in an assignment with edges. */
size_t qdq_space_type_bits(const qdq_space *s);

/* The number of a tensor among those that have a type; QDQ_NOT_TYPED: none. */
uint32_t qdq_space_typed(const qdq_space *s, const qdq_value *v);

/* The type that `a` gives the tensor with this number: 0 is the target's type, k that of
 * s->target->others.at[k - 1]. 0 for an assignment without edges. */
size_t qdq_space_get_type(const qdq_space *s, const qdq_assign *a, uint32_t typed);

/* `a` is an assignment with edges. */
void qdq_space_set_type(const qdq_space *s, qdq_assign *a, uint32_t typed, size_t type);

/* The tensor whose type decides that of this entry, in a plan that a space made; NULL: the type is
 * fixed. */
const qdq_value *qdq_space_type_decider(const qdq_space *s, const qdq_plan_tensor *e);

/* Gives entries of p, the complete plan of the rest of `a`, the types of `a`. Scales are as in
 * qdq_space_plan(), which calls this function. */
qdq_status qdq_space_retype(const qdq_space *s, const qdq_assign *a, const qdq_space_scaling *from,
                            qdq_plan *p, qdq_error *err);

/* Finds the tensors. space.c calls it once, after the edges. */
qdq_status qdq_space_find_typed(qdq_space *s, qdq_error *err);

#endif /* QDQ_SPACE_TYPES_H */
