/* space_formats.h - types, scales and zero points of placements that were given, and their
 * constants: an assignment can take them from there instead of from the target and from
 * calibration.
 *
 * Each placement that is added has a bit behind those of the edges and of types (space_edges.h
 * counts them). Where it is on, whatever the rest of the assignment quantizes, and the placement
 * does too, has the placement's format. */
#ifndef QDQ_SPACE_FORMATS_H
#define QDQ_SPACE_FORMATS_H

#include "tune/space/space.h"

/* Adds a plan of this model, which must outlive the space. To be called before any assignment with
 * edges is made. */
qdq_status qdq_space_add_formats(qdq_space *s, const qdq_plan *p, qdq_error *err);

/* Switches the formats of `p` in `a`, an assignment with edges; of a plan that was not added:
 * nothing. */
void qdq_space_use_formats(const qdq_space *s, qdq_assign *a, const qdq_plan *p, bool on);

/* Gives p, the finished plan of the rest of `a`, the formats that `a` takes: to each input that has
 * codes in both plans, and to constants of nodes that read codes in both. Given scales of a
 * constant that cleaning changed are left out: they follow from its numbers. An entry of tensors
 * that the model has in codes already stays as it is. */
qdq_status qdq_space_give_formats(const qdq_space *s, const qdq_assign *a, qdq_plan *p,
                                  qdq_error *err);

#endif /* QDQ_SPACE_FORMATS_H */
