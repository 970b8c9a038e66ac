/* influence.h - how much of a model's outputs hangs on a value: an estimate from the graph and the
 * power of its values, good enough to tell an early layer from a side branch. */
#ifndef QDQ_INFLUENCE_H
#define QDQ_INFLUENCE_H

#include "ir/ir.h"

/* Of values, by id; what is not known is 0. */
typedef struct qdq_noise {
    double *power; /* mean square */
    /* of all that is off in a run of the quantized model: noise over signal; NULL: not known */
    double *total;
    double *introduced; /* what of it the node that makes the value added */
} qdq_noise;

/* weight[value id] for the main graph. All outputs together have 1, and it flows back: an Add hands
 * it to its operands by their power, all else in equal parts to the float inputs that are no
 * constants; a value has what its readers hand back. So a chain has 1 throughout, and noise
 * relative to a value counts with its weight at the outputs. Where `total` is known, a node hands
 * back as much more or less as it passes on of the noise in front of it: a Sigmoid makes much of
 * what is off in a score far below 0, and nothing of what is off far above it. *weight is in
 * `arena`. */
qdq_status qdq_influence(const qdq_graph *g, const qdq_noise *noise, qdq_arena *arena,
                         double **weight, qdq_error *err);

/* near[value id]: what is off in one slice of the value is off in a slice of an output, for between
 * them elements are only moved, added and scaled; nothing is summed up. *near is in `arena`. */
qdq_status qdq_near_outputs(const qdq_graph *g, qdq_arena *arena, bool **near, qdq_error *err);

#endif /* QDQ_INFLUENCE_H */
