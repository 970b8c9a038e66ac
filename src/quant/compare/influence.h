/* influence.h - the influence of a value on a model's outputs: an estimate from the graph and the
 * power of its values, which can distinguish an early layer from a side branch. */
#ifndef QDQ_INFLUENCE_H
#define QDQ_INFLUENCE_H

#include "ir/ir.h"

/* Noise of values, by id; 0: unknown. */
typedef struct qdq_noise {
    /* mean square */
    double *power;
    /* noise over signal of each value in a run of the quantized model; NULL: unknown */
    double *total;
    /* part of it that the value's producer introduced */
    double *introduced;
} qdq_noise;

/* Sets weight[value id] for the main graph. All outputs together have weight 1, which flows back.
 * An Add distributes it to its operands by their power; other nodes distribute it equally to their
 * float inputs that are not constants. The weight of a value is the sum from its consumers. So a
 * chain has 1 throughout, and relative noise of a value counts with its weight at the outputs. If
 * `total` is known, a node also scales the weight by the ratio at which it passes noise on: a
 * Sigmoid amplifies errors of scores far below 0, and suppresses those far above 0. *weight is in
 * `arena`. */
qdq_status qdq_influence(const qdq_graph *g, const qdq_noise *noise, qdq_arena *arena,
                         double **weight, qdq_error *err);

/* Sets near[value id]: an error in one slice of the value is an error in one slice of an output,
 * because elements between them are only moved, added and scaled, and not summed up. *near is in
 * `arena`. */
qdq_status qdq_near_outputs(const qdq_graph *g, qdq_arena *arena, bool **near, qdq_error *err);

#endif /* QDQ_INFLUENCE_H */
