/* quantize_place.h - placement and calibration as one step of quantize: they depend on each other
 * where a tensor turns out to have no range. */
#ifndef QDQ_QUANTIZE_PLACE_H
#define QDQ_QUANTIZE_PLACE_H

#include "quant/calib/calib.h"

/* Placement as q->opts want it, without scales. */
qdq_status qdq_place_for(const qdq_quantizing *q, qdq_error *err);

/* The same with scales. Nodes that turn out to have none stay float: tensors without a finite
 * value, biases that int32 cannot hold. */
qdq_status qdq_place_with_scales(const qdq_quantizing *q, qdq_error *err);

/* Random input, which stands for data where there are none. */
qdq_status qdq_quantize_random(const qdq_quantizing *q, qdq_data **out, qdq_error *err);

/* Fills scales of a placed plan that are not there, as qdq_calibrate() does. */
qdq_status qdq_find_scales(const qdq_quantizing *q, qdq_calib_names *empty, qdq_error *err);

/* The precision of what is not quantized, and which nodes stay float32, as another plan for the
 * model has it. */
qdq_status qdq_take_rest(const qdq_plan_rest *from, qdq_plan *p, qdq_error *err);

#endif /* QDQ_QUANTIZE_PLACE_H */
