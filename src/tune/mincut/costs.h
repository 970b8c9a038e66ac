/* costs.h - what decisions and conversions cost, from profiles of a few whole models: of nothing,
 * of everything, of others between, and of what the search built. In context: a kernel's time is
 * taken where its neighbours are as they are, and what it takes longer beside a conversion counts
 * for that conversion. */
#ifndef QDQ_COSTS_H
#define QDQ_COSTS_H

#include "tune/mincut/energy.h"

/* Rows of a profile, together. Several decisions about one kernel divide its time and its row. */
typedef struct qdq_mincut_time {
    double us; /* NAN: the profile does not say */
    double rows;
} qdq_mincut_time;

/* What a profile of an assignment says. Each row counts once: for a bit, for a tensor, or for the
 * rest. */
typedef struct qdq_mincut_profile {
    /* by bit: its kernel, and nodes about which no one decides that run with it */
    qdq_mincut_time *own;
    /* by tensor: its Q, DQ, casts and changes of layout, and copies that it goes through */
    qdq_mincut_time *net;
    qdq_mincut_time rest;
} qdq_mincut_profile;

/* Arrays of zeros. */
qdq_status qdq_mincut_profile_new(qdq_mincut_profile *p, const qdq_mincut_graph *g,
                                  qdq_arena *arena, qdq_error *err);

typedef struct qdq_mincut_seen {
    qdq_assign assign;
    qdq_mincut_profile profile;
    double time_ns; /* of the whole model, measured in pairs; NAN: not measured */
} qdq_mincut_seen;

typedef struct qdq_mincut_costs {
    qdq_energy energy;          /* ns */
    double rest;                /* ns: with the energy of an assignment it is the model's time */
    double *doubt;              /* by bit: deviation of on - off */
    double *q_doubt, *dq_doubt; /* by net */
    double noise;               /* of a kernel's time in a profile, as a share of it */
    /* that profiling adds to a row; negative: a model spends so much between rows */
    double overhead_us;
} qdq_mincut_costs;

/* `seen`: at least one. Bits outside of `allowed` (NULL: all may be on) cost INFINITY when on. What
 * has never been seen on costs there what it costs in float, with much doubt; conversions never
 * seen cost what others of their size do. */
qdq_status qdq_mincut_costs_fit(qdq_mincut_costs *c, const qdq_mincut_graph *g,
                                const qdq_mincut_seen *seen, size_t n_seen,
                                const qdq_assign *allowed, qdq_arena *arena, qdq_error *err);

/* Variance of what two assignments differ by, ns squared. */
double qdq_mincut_doubt_between(const qdq_mincut_costs *c, const qdq_assign *a,
                                const qdq_assign *b);

#endif /* QDQ_COSTS_H */
