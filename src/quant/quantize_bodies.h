/* quantize_bodies.h - places and calibrates a model and the bodies of its control nodes. */
#ifndef QDQ_QUANTIZE_BODIES_H
#define QDQ_QUANTIZE_BODIES_H

#include "quant/plan/quantizing.h"

/* Fills q->plan, with scales, bodies of If, Loop and Scan included as far as samples reach them. */
qdq_status qdq_place_all(const qdq_quantizing *q, qdq_error *err);

/* Placement of what is inside bodies, without scales, joins the plan: to explain it. */
qdq_status qdq_place_inside(const qdq_quantizing *q, qdq_error *err);

#endif /* QDQ_QUANTIZE_BODIES_H */
