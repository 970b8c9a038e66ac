/* space_scales.h - scales of plans that hold entries and were not placed by quantize; shared by the
 * files of space/. qdq_space_calibrate() of space.h is here, too. */
#ifndef QDQ_SPACE_SCALES_H
#define QDQ_SPACE_SCALES_H

#include "tune/space/space.h"

/* Scales of the activations of p: those that are known, the others by calibration, and they are
 * known then. A tensor without a finite value loses its entries. */
qdq_status qdq_space_fill_scales(const qdq_space *s, const qdq_space_scaling *from, qdq_plan *p,
                                 qdq_error *err);

/* Notes in p that scales of these entries are of random data, if they are: as qdq_quantize_plan()
 * does. */
void qdq_space_note_random(qdq_plan *p, const qdq_plan *entries, const qdq_data *data);

/* The same for weights whose clips are searched. */
qdq_status qdq_space_fill_clips(const qdq_space *s, qdq_scales *known, qdq_plan *p, qdq_error *err);

#endif /* QDQ_SPACE_SCALES_H */
