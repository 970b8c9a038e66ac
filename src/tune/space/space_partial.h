/* space_partial.h - linear operators that are weight-only or activation-only. An engine may gain
 * from these (reading a large weight takes a quarter of the time), and no rule of a target places
 * them.
 *
 * An assignment with partial decisions has three bits for each of n groups: bit i is group i in
 * full, as in any assignment; bit n + i its weight alone; bit 2n + i its activation alone. The
 * first of the three that is on counts; for other groups only the first bit does. An assignment of
 * n bits is equal to one whose other bits are off. */
#ifndef QDQ_SPACE_PARTIAL_H
#define QDQ_SPACE_PARTIAL_H

#include "tune/space/space.h"

typedef enum qdq_space_part {
    QDQ_PART_NONE,
    QDQ_PART_FULL,
    QDQ_PART_WEIGHT,
    QDQ_PART_ACTIVATION
} qdq_space_part;

/* Reasons in plans of partly quantized nodes. */
#define QDQ_SPACE_ONLY_WEIGHT     "only its weight is quantized"
#define QDQ_SPACE_ONLY_ACTIVATION "only its activation is quantized"

/* Number of bits of an assignment with partial decisions. */
size_t qdq_space_scheme_bits(const qdq_space *s);

/* Whether the group has an activation and a constant weight, which can be quantized separately. */
bool qdq_space_has_partial(const qdq_space *s, size_t group);

/* The part of a group that `a` quantizes; `a` has n_groups bits or qdq_space_scheme_bits(). */
qdq_space_part qdq_space_get_part(const qdq_space *s, const qdq_assign *a, size_t group);

/* Sets exactly this one of the three bits. A part that the group does not have, or that `a` of
 * n_groups bits cannot have, turns all off. */
void qdq_space_set_part(const qdq_space *s, qdq_assign *a, size_t group, qdq_space_part part);

/* Adds the partial decisions of `a` to p, the complete plan of its first n_groups bits. A weight
 * gets an entry with its edge, in the form of the all-quantized plan. An activation gets its edge
 * with a scale of its own, unless the plan quantizes that tensor for all consumers, or calibration
 * saw no value of it. The operator computes in float: it gets no quantized bias, no correction and
 * no Q after it, and is in left_float with this reason. Scales are as in qdq_space_plan(), which
 * calls this function. */
qdq_status qdq_space_add_partial(const qdq_space *s, const qdq_assign *a,
                                 const qdq_space_scaling *from, qdq_plan *p, qdq_error *err);

#endif /* QDQ_SPACE_PARTIAL_H */
