/* space_formats.h - types, scales, zero points and constants of existing placements, which an
 * assignment can use instead of those of the target and of calibration.
 *
 * Each added placement has a bit after all others (space_edges.h counts them). If the
 * bit is on, every input that both the assignment and the placement quantize has the placement's
 * format. */
#ifndef QDQ_SPACE_FORMATS_H
#define QDQ_SPACE_FORMATS_H

#include "tune/space/space.h"

/* Adds a plan of this model, which must outlive the space. Call it before any assignment with edges
 * is made. */
qdq_status qdq_space_add_formats(qdq_space *s, const qdq_plan *p, qdq_error *err);

/* Switches the formats of `p` in `a`, an assignment with edges. No effect if the plan was not
 * added. */
void qdq_space_use_formats(const qdq_space *s, qdq_assign *a, const qdq_plan *p, bool on);

/* Gives p, the complete plan of the rest of `a`, the formats that `a` selects: to each input that
 * both plans quantize, and to constants of nodes that read quantized values in both. Scales of a
 * constant that cleaning changed are omitted, since they follow from its values. Entries of tensors
 * with existing Q/DQ stay unchanged. */
qdq_status qdq_space_give_formats(const qdq_space *s, const qdq_assign *a, qdq_plan *p,
                                  qdq_error *err);

#endif /* QDQ_SPACE_FORMATS_H */
