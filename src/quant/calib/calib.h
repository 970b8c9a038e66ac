/* calib.h - runs samples through an engine, and computes scales from the values of planned
 * tensors. */
#ifndef QDQ_CALIB_H
#define QDQ_CALIB_H

#include "quant/calib/quantizing.h"

/* Names of tensors, in the arena of the plan. */
typedef QDQ_VEC(const char *) qdq_calib_names;

/* Sets the scale and zero point of every tensor of q->plan without one; existing Q/DQ of the model
 * stay in its runs. Tensors with a range in q->opts->cache are not observed, and others in as few
 * runs as `memory` allows; only statistics of a sample are kept. Tensors without any finite value
 * are appended to `empty`, and then no tensor gets a scale; if `empty` is NULL, their scale is
 * 1. */
qdq_status qdq_calibrate(const qdq_quantizing *q, qdq_calib_names *empty, qdq_error *err);

#endif /* QDQ_CALIB_H */
