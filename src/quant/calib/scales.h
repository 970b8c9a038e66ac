/* scales.h - scales that were calibrated once, for the next plan of the same model: what a changed placement asks for
 * again is not calibrated again. */
#ifndef QDQ_SCALES_H
#define QDQ_SCALES_H

#include "base/map.h"
#include "quant/plan/plan.h"

typedef struct qdq_scales {
    qdq_arena arena;
    qdq_map by_use; /* tensor, type, and whose range decides -> qdq_qparam */
} qdq_scales;

/* Fills the scales of `plan` that are there; calibration leaves them alone then. Of a group of tensors with one
 * range, all or none. */
qdq_status qdq_scales_give(const qdq_scales *s, qdq_plan *plan, qdq_error *err);

/* Of a calibrated plan: keeps what was not found in the model, and makes it look as if all of it had just been
 * calibrated. */
qdq_status qdq_scales_keep(qdq_scales *s, qdq_plan *plan, qdq_error *err);

void qdq_scales_free(qdq_scales *s);

#endif /* QDQ_SCALES_H */
