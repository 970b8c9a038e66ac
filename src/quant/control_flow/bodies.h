/* bodies.h - plans for what is inside If, Loop and Scan: each body is planned like a model of its
 * own, with what samples give it, and its entries join the plan. */
#ifndef QDQ_BODIES_H
#define QDQ_BODIES_H

#include "quant/control_flow/body_data.h"

/* Values in different graphs get different names, so that a plan can name them. No edit where that
 * is so. */
qdq_status qdq_bodies_name_apart(qdq_model *m, qdq_error *err);

/* Plans one model: places, calibrates on `data`, and plans its bodies; `depth` is for
 * qdq_bodies_plan(). */
typedef qdq_status (*qdq_plan_fn)(void *ctx, const qdq_model *m, qdq_data *data, int depth,
                                  qdq_plan *p, qdq_error *err);

/* For every body of a node of m's main graph, `plan` is called; what it gives joins `p`, the plan
 * of m. Nodes of bodies that cannot be run, or that no sample reached, are reported as left
 * float. */
qdq_status qdq_bodies_plan(const qdq_model *m, qdq_engine *e, qdq_data *data,
                           const qdq_calib_opts *opts, qdq_plan_fn plan, void *ctx, int depth,
                           qdq_plan *p, qdq_error *err);

#endif /* QDQ_BODIES_H */
