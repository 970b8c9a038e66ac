/* quantize_bodies.h - places and calibrates a model and the bodies of its control nodes. */
#ifndef QDQ_QUANTIZE_BODIES_H
#define QDQ_QUANTIZE_BODIES_H

#include "ir/ir.h"
#include "quant/plan/plan.h"
#include "quant/quantize_place.h"
#include "target/target.h"

/* The plan of `clean` with scales, bodies of If, Loop and Scan included as far as samples reach
 * them. `data` NULL: random input. `basis` as for qdq_place_with_scales(). */
qdq_status qdq_place_all(const qdq_model *clean, const qdq_target *t, qdq_engine *e, qdq_data *data,
                         const qdq_quantize_opts *opts, const qdq_plan_basis *basis, qdq_plan *p,
                         qdq_error *err);

/* Placement of what is inside bodies, without scales, joins the plan: to explain it. */
qdq_status qdq_place_inside(const qdq_model *clean, const qdq_target *t,
                            const qdq_quantize_opts *opts, qdq_plan *p, qdq_error *err);

#endif /* QDQ_QUANTIZE_BODIES_H */
