/* scaling.h - where an activation can be divided by one number per channel without an operator of
 * its own. */
#ifndef QDQ_SCALING_H
#define QDQ_SCALING_H

#include "ir/ir.h"

/* Is v a constant of `count` floats along its last dimension, and nothing else? */
bool qdq_scaling_is_row(const qdq_value *v, int64_t count);

/* The constant inputs of `n`, which have `count` numbers for the last dimension of its first
 * result, and which divided divide that result: scale and bias of a normalization, the constant of
 * a Mul. At most 2; 0: it has none. */
uint32_t qdq_scaling_inputs(const qdq_node *n, int64_t count, uint32_t inputs[2]);

/* Is n a product of activation (input 0) and matrix (input 1) whose inner dimension is `count`? */
bool qdq_scaling_reader(const qdq_node *n, int64_t count);

#endif /* QDQ_SCALING_H */
