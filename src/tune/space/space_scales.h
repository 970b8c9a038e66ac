/* space_scales.h - scales of plans whose entries quantize() did not place; shared by the files of
 * space/. Also has qdq_space_calibrate() of space.h. */
#ifndef QDQ_SPACE_SCALES_H
#define QDQ_SPACE_SCALES_H

#include "tune/space/space.h"

/* Sets the scales of the activations of p: known ones, or else by calibration, which adds them to
 * the known ones. A tensor without a finite value loses its entries. */
qdq_status qdq_space_fill_scales(const qdq_space *s, const qdq_space_scaling *from, qdq_plan *p,
                                 qdq_error *err);

/* Records in p that scales of these entries come from random data, if they do, as
 * qdq_quantize_plan() does. */
void qdq_space_note_random(qdq_plan *p, const qdq_plan *entries, const qdq_data *data);

/* The same for weights with searched ranges. */
qdq_status qdq_space_fill_clips(const qdq_space *s, qdq_scales *known, qdq_plan *p, qdq_error *err);

#endif /* QDQ_SPACE_SCALES_H */
