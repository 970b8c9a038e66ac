/* quantize_place.h - placement and calibration as one step of quantize: they depend on each other where a tensor turns
 * out to have no range. */
#ifndef QDQ_QUANTIZE_PLACE_H
#define QDQ_QUANTIZE_PLACE_H

#include "quant/plan/plan.h"
#include "quant/place/place.h"
#include "quant/calib/scales.h"

/* Placement as `opts` want it, without scales. */
qdq_status qdq_place_for(const qdq_model *clean, const qdq_target *t, const qdq_quantize_opts *opts,
                         qdq_plan *p, qdq_error *err);

/* The same with scales. `data` NULL: random input. `known` may be NULL; else its scales are taken, and new ones added. */
qdq_status qdq_place_with_scales(const qdq_model *clean, const qdq_target *t, qdq_engine *e, qdq_data *data,
                                 const qdq_quantize_opts *opts, qdq_scales *known, qdq_plan *p,
                                 qdq_error *err);

#endif /* QDQ_QUANTIZE_PLACE_H */
