/* costs.h - costs of decisions and conversions, fitted to profiles of a few whole models: the
 * all-float plan, the all-quantized plan, others between them, and what the search built. Costs
 * depend on context: the time of a kernel is taken where its neighbours are in the same state, and
 * its additional time next to a conversion counts for that conversion. */
#ifndef QDQ_COSTS_H
#define QDQ_COSTS_H

#include "tune/mincut/energy.h"

/* Rows of a profile, summed. Several decisions about one kernel share its time and its row. */
typedef struct qdq_mincut_time {
    /* NAN: not in the profile */
    double us;
    double rows;
} qdq_mincut_time;

/* Times of a profiled assignment. Each row counts once: for a bit, for a tensor, or for the
 * remainder. */
typedef struct qdq_mincut_profile {
    /* by bit: its kernel, and undecided nodes that run in it */
    qdq_mincut_time *own;
    /* by tensor: its Q, DQ, casts and changes of layout, and copies of it */
    qdq_mincut_time *hyperedge;
    qdq_mincut_time remainder;
} qdq_mincut_profile;

/* Makes arrays of zeros. */
qdq_status qdq_mincut_profile_new(qdq_mincut_profile *p, const qdq_mincut_graph *g,
                                  qdq_arena *arena, qdq_error *err);

typedef struct qdq_mincut_seen {
    qdq_assign assign;
    qdq_mincut_profile profile;
    /* time of the whole model, measured in pairs; NAN: not measured */
    double time_ns;
} qdq_mincut_seen;

typedef struct qdq_mincut_costs {
    /* in ns */
    qdq_energy energy;
    /* remainder in ns: with the energy of an assignment, it is the time of the model */
    double remainder;
    /* by bit: standard deviation of the difference between on and off */
    double *doubt;
    /* by hyperedge: standard deviations of the conversions */
    double *q_doubt, *dq_doubt;
    /* noise of a kernel's time in a profile, as a fraction of it */
    double noise;
    /* time that profiling adds to a row; negative: time that a model spends between rows */
    double overhead_us;
} qdq_mincut_costs;

/* Fits costs to at least one profile (`seen`). A bit outside of `allowed` (NULL: all bits are
 * allowed) costs INFINITY when it is on. A bit that was never on in a profile costs as much as in
 * float, with a large deviation. A conversion without a profile costs as much as others of its
 * size. */
qdq_status qdq_mincut_costs_fit(qdq_mincut_costs *c, const qdq_mincut_graph *g,
                                const qdq_mincut_seen *seen, size_t n_seen,
                                const qdq_assign *allowed, qdq_arena *arena, qdq_error *err);

/* Variance of the difference between two assignments, in ns squared. */
double qdq_mincut_doubt_between(const qdq_mincut_costs *c, const qdq_assign *a,
                                const qdq_assign *b);

#endif /* QDQ_COSTS_H */
