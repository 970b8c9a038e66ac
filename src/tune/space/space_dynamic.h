/* space_dynamic.h - operators whose data is quantized while the model runs, a form that the target
 * has for some of them (key `dynamic`): MatMul and Gemm with a constant weight, and LSTM, which has
 * no decision of its own.
 *
 * An assignment with edges (space_edges.h) has a bit for each of these operators after those of
 * types. If it is on, the operator has this form, whatever the other bits of the operator are. */
#ifndef QDQ_SPACE_DYNAMIC_H
#define QDQ_SPACE_DYNAMIC_H

#include "tune/space/space.h"

#define QDQ_NOT_DYNAMIC SIZE_MAX

/* Number of bits for this form in an assignment with edges. */
size_t qdq_space_dynamic_bits(const qdq_space *s);

/* Index of a node in s->dynamic; QDQ_NOT_DYNAMIC: it does not have the form. */
size_t qdq_space_dynamic_of(const qdq_space *s, const qdq_node *n);

/* Whether `a` gives operator number `i` the form. False for an assignment without edges. */
bool qdq_space_is_dynamic(const qdq_space *s, const qdq_assign *a, size_t i);

/* Number of operators to which `a` gives the form. */
size_t qdq_space_count_dynamic(const qdq_space *s, const qdq_assign *a);

/* Gives operator number `i` the form in `a`, an assignment with edges. The operator's decisions,
 * and changes of its edges, are off then: its data is float. */
void qdq_space_make_dynamic(const qdq_space *s, qdq_assign *a, size_t i);

/* *out, by node id, in the arena: the number format of operators with the form, and NULL for
 * others; NULL if `a` gives it to none. */
qdq_status qdq_space_dynamic_formats(const qdq_space *s, const qdq_assign *a, qdq_arena *arena,
                                     const qdq_format *const **out, qdq_error *err);

/* Finds the operators. space.c calls it once. */
qdq_status qdq_space_find_dynamic(qdq_space *s, const qdq_quantize_opts *opts, qdq_error *err);

#endif /* QDQ_SPACE_DYNAMIC_H */
