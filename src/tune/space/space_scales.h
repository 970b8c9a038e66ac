/* space_scales.h - scales of plans that hold entries and were not placed by quantize; shared by the
 * files of space/. qdq_space_calibrate() of space.h is here, too. */
#ifndef QDQ_SPACE_SCALES_H
#define QDQ_SPACE_SCALES_H

#include "tune/space/space.h"

/* Scales of the activations of p: those that are known, the others by calibration, and they are
 * known then. A tensor without a finite value loses its entries. */
qdq_status qdq_space_fill_scales(const qdq_space *s, qdq_engine *e, qdq_data *data,
                                 const qdq_quantize_opts *opts, qdq_scales *known, qdq_plan *p,
                                 qdq_error *err);

/* The same for weights whose clips are searched. */
qdq_status qdq_space_fill_clips(const qdq_space *s, qdq_scales *known, qdq_plan *p, qdq_error *err);

#endif /* QDQ_SPACE_SCALES_H */
