/* node_cost.h - about how long a node takes, from its shapes alone: for ranking and for telling
 * what a plan may bring before anything is measured. The numbers are those of one core with 256 or
 * 512 bits wide registers; only ratios count. */
#ifndef QDQ_NODE_COST_H
#define QDQ_NODE_COST_H

#include "ir/ir.h"
#include "quant/plan/plan.h"

/* Multiplications of Conv, ConvTranspose, MatMul and Gemm; 0 for others, and where a shape is not
 * known. Dims that are not fixed count as 1. */
double qdq_node_macs(const qdq_node *n);

/* Nanoseconds, as a float kernel or as one on codes. */
double qdq_node_time(const qdq_node *n, bool eight);

/* Of the nodes that the plan speaks of, and the Q/DQ at its borders, in the model with inferred
 * shapes: nanoseconds, and what they would take in float. */
qdq_status qdq_plan_time(const qdq_model *clean, const qdq_plan *p, double *time,
                         double *float_time, qdq_error *err);

#endif /* QDQ_NODE_COST_H */
