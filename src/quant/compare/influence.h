/* influence.h - how much of a model's outputs hangs on a value: an estimate from the graph and the power of its
 * values, good enough to tell an early layer from a side branch. */
#ifndef QDQ_INFLUENCE_H
#define QDQ_INFLUENCE_H

#include "ir/ir.h"

/* weight[value id] for the main graph. All outputs together have 1, and it flows back: an Add hands it to its
 * operands by their power, all else in equal parts to the float inputs that are no constants; a value has what its
 * readers hand back. So a chain has 1 throughout, and noise relative to a value counts with its weight at the outputs.
 * `power` [value id] is the mean square; 0: not known, or zero everywhere. *weight is in `arena`. */
qdq_status qdq_influence(const qdq_graph *g, const double *power, qdq_arena *arena, double **weight,
                         qdq_error *err);

#endif /* QDQ_INFLUENCE_H */
