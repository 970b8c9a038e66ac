/* control_flow.h - plans for what is inside If, Loop and Scan: each body is planned like a model of
 * its own, with what samples give it, and its entries join the plan. */
#ifndef QDQ_CONTROL_FLOW_H
#define QDQ_CONTROL_FLOW_H

#include "quant/control_flow/subgraph_data.h"

/* Values in different graphs get different names, so that a plan can name them. No edit where that
 * is so. */
qdq_status qdq_control_flow_name_apart(qdq_model *m, qdq_error *err);

/* Plans one body: places, calibrates, and plans the bodies inside it; `depth` is for
 * qdq_control_flow_plan(). */
typedef qdq_status (*qdq_plan_fn)(const qdq_quantizing *body, int depth, qdq_error *err);

/* For every body of a node of q->m's main graph, `plan` is called, with the body as model and what
 * samples give it as data; its plan joins that of q. Nodes of bodies that cannot be run, or that no
 * sample reached, are reported as left float. */
qdq_status qdq_control_flow_plan(const qdq_quantizing *q, qdq_plan_fn plan, int depth,
                                 qdq_error *err);

/* Reports the nodes of all bodies as left float, for the reason. */
qdq_status qdq_control_flow_leave(const qdq_quantizing *q, const char *why, qdq_error *err);

#endif /* QDQ_CONTROL_FLOW_H */
