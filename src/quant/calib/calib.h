/* calib.h - runs samples through an engine and turns what the planned tensors hold into scales. */
#ifndef QDQ_CALIB_H
#define QDQ_CALIB_H

#include "quant/plan/quantizing.h"

/* Names of tensors, in the arena of the plan. */
typedef QDQ_VEC(const char *) qdq_calib_names;

/* Fills the scale and zero point of every tensor of q->plan that has none yet; the Q/DQ that the
 * model has already are run with it. q->opts->cache: ranges that are there are not observed. Only
 * tensors that need a scale are observed, in as few runs as `memory` allows; nothing is kept of a
 * sample but its statistics. Tensors that never held a finite value are appended to `empty`, and
 * nothing gets a scale; where `empty` is NULL, theirs is 1. */
qdq_status qdq_calibrate(const qdq_quantizing *q, qdq_calib_names *empty, qdq_error *err);

#endif /* QDQ_CALIB_H */
