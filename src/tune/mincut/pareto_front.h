/* pareto_front.h - placements that cost little and do little harm. Harm adds up over the bits that
 * are on (noise power at the outputs, for one). A price on harm, Lagrange's multiplier, is part of
 * what a bit costs when it is on: exact by one cut for each price. */
#ifndef QDQ_PARETO_FRONT_H
#define QDQ_PARETO_FRONT_H

#include "tune/mincut/energy.h"

typedef struct qdq_mincut_point {
    qdq_assign assign; /* in the arena */
    double cost, harm; /* the energy; the sum of what its bits do */
} qdq_mincut_point;

/* The cheapest assignment of those that prices find, with at most so much harm, and what fits in
 * besides; `harm` by bit, at least 0. *fits: false, and *out has nothing on but what must be, where
 * that does more. */
qdq_status qdq_mincut_minimize_within(const qdq_energy *e, const double *harm, double most,
                                      qdq_assign *out, bool *fits, qdq_error *err);

/* Up to `most` (at least 2) assignments of which none is better than another in both, from the
 * cheapest to the least harmful; widest gaps are filled first. */
qdq_status qdq_mincut_front(const qdq_energy *e, const double *harm, size_t most, qdq_arena *arena,
                            qdq_mincut_point **out, size_t *n, qdq_error *err);

#endif /* QDQ_PARETO_FRONT_H */
