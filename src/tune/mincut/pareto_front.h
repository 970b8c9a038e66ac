/* pareto_front.h - placements with low cost and low sensitivity ("harm"). Harm is a sum over the
 * bits that are on, such as noise power at the outputs. A price on harm (Lagrange multiplier) is
 * added to the cost of a bit that is on; one cut for each price is exact. */
#ifndef QDQ_PARETO_FRONT_H
#define QDQ_PARETO_FRONT_H

#include "tune/mincut/energy.h"

typedef struct qdq_mincut_point {
    /* in the arena */
    qdq_assign assign;
    /* the energy, and the sum of harm over its bits */
    double cost, sensitivity;
} qdq_mincut_point;

/* The cheapest assignment that prices find with at most this harm, extended by what still fits.
 * `harm`: by bit, at least 0. *fits false: even the required bits have more harm, and *out has only
 * these on. */
qdq_status qdq_mincut_minimize_within(const qdq_energy *e, const double *sensitivity, double most,
                                      qdq_assign *out, bool *fits, qdq_error *err);

/* Up to `most` (at least 2) assignments that do not dominate each other, from the cheapest to the
 * least harmful. The largest gaps are filled first. */
qdq_status qdq_mincut_front(const qdq_energy *e, const double *sensitivity, size_t most,
                            qdq_arena *arena, qdq_mincut_point **out, size_t *n, qdq_error *err);

#endif /* QDQ_PARETO_FRONT_H */
