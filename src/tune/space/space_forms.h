/* space_forms.h - operators in other formats than the target's own (qdq_target_list_forms): data
 * that is quantized while the model runs, of MatMul and Gemm with a constant weight and of LSTM,
 * which has no decision of its own; or other weights in blocks.
 *
 * An assignment with edges (space_edges.h) has a bit for each of these operators and each format
 * that it can have, after those of types. If it is on, the operator has this format, whatever the
 * other bits of the operator are. */
#ifndef QDQ_SPACE_FORMS_H
#define QDQ_SPACE_FORMS_H

#include "tune/space/space.h"

#define QDQ_NO_FORM SIZE_MAX

/* What reports call the step that gives operators such formats. */
const char *qdq_space_forms_name(const qdq_space *s);

/* Number of bits for formats in an assignment with edges. */
size_t qdq_space_form_bits(const qdq_space *s);

/* Whether `a` gives an operator the format of s->formed[i]. False for an assignment without
 * edges. */
bool qdq_space_has_form(const qdq_space *s, const qdq_assign *a, size_t i);

/* Index in s->formed of the format that `a` gives the node; QDQ_NO_FORM: none. */
size_t qdq_space_form_of(const qdq_space *s, const qdq_assign *a, const qdq_node *n);

/* Whether the data of s->formed[i] is quantized at run time. */
bool qdq_space_is_dynamic(const qdq_space *s, size_t i);

/* Number of operators to which `a` gives formats of this kind. */
size_t qdq_space_count_forms(const qdq_space *s, const qdq_assign *a, bool dynamic);

/* Gives the operator of s->formed[i] its format in `a`, an assignment with edges, and no other one.
 * The operator's decisions, and changes of its edges, are off then: its data is float. */
void qdq_space_set_form(const qdq_space *s, qdq_assign *a, size_t i);

/* Gives the operator the target's own format in `a`. */
void qdq_space_set_own(const qdq_space *s, qdq_assign *a, const qdq_node *n);

/* *out, by node id, in the arena: the number formats of operators with other ones than the
 * target's, and NULL for the rest; NULL if `a` has none. */
qdq_status qdq_space_node_formats(const qdq_space *s, const qdq_assign *a, qdq_arena *arena,
                                  const qdq_format *const **out, qdq_error *err);

/* Finds the operators. space.c calls it once. */
qdq_status qdq_space_find_forms(qdq_space *s, const qdq_quantize_opts *opts, qdq_error *err);

#endif /* QDQ_SPACE_FORMS_H */
