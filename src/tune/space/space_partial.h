/* space_partial.h - linear operators whose weight alone or activation alone has codes: what an
 * engine may gain from (a large weight is read in a quarter of the time), and what no rule of a
 * target places.
 *
 * An assignment that may say so has three bits for each group: bit i, group i in full, as in any
 * assignment; bit n + i, its weight alone; bit 2n + i, its activation alone. The first of the three
 * that is on counts; of a group without halves the first bit alone. One of n bits means the same as
 * with the others off. */
#ifndef QDQ_SPACE_PARTIAL_H
#define QDQ_SPACE_PARTIAL_H

#include "tune/space/space.h"

typedef enum qdq_space_part {
    QDQ_PART_NONE,
    QDQ_PART_FULL,
    QDQ_PART_WEIGHT,
    QDQ_PART_ACTIVATION
} qdq_space_part;

/* Bits of an assignment with halves. */
size_t qdq_space_scheme_bits(const qdq_space *s);

/* Does the group consist of an activation and a constant weight, which can be taken apart? */
bool qdq_space_has_partial(const qdq_space *s, size_t group);

/* What `a`, of n_groups bits or of qdq_space_scheme_bits(), says of a group. */
qdq_space_part qdq_space_get_part(const qdq_space *s, const qdq_assign *a, size_t group);

/* Exactly this, of the three. A half of a group that has none, or in an assignment of n_groups
 * bits, is nothing. */
void qdq_space_set_part(const qdq_space *s, qdq_assign *a, size_t group, qdq_space_part part);

/* Adds the halves that `a` has to p, the finished plan of its first n_groups bits: for a weight an
 * entry with that edge, in the form that it has when everything is quantized; for an activation the
 * edge, with a scale of its own, unless the plan quantizes that tensor for all readers, or
 * calibration saw no value of it. No bias, no correction and no Q behind the operator: it computes
 * on floats, and is in left_float with that reason. Scales as in qdq_space_plan(), which calls
 * this. */
qdq_status qdq_space_add_partial(const qdq_space *s, const qdq_assign *a,
                                 const qdq_space_scaling *from, qdq_plan *p, qdq_error *err);

#endif /* QDQ_SPACE_PARTIAL_H */
