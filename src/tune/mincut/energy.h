/* energy.h - what a placement costs, as a function of its bits that a minimum cut minimizes
 * exactly: each bit has a cost for on and for off; each tensor costs a Q if its producer gives
 * floats and one of its readers takes codes, and a DQ if its producer gives codes and one of its
 * readers takes floats, once, however many readers there are.
 *
 *     E(x) = sum_i c_i(x_i) + sum_t [ q_t (1 - x_p) OR_r(x_r) + dq_t x_p (1 - AND_r(x_r)) ]
 *
 * With q, dq >= 0 that is submodular, and one cut finds the minimum on any graph (V. Kolmogorov, R.
 * Zabih, What Energy Functions Can Be Minimized via Graph Cuts?, 2004): OR and AND are a node each.
 * The cost of two bits that differ, w [x_a != x_b], is a tensor from a to b with q = dq = w. */
#ifndef QDQ_ENERGY_H
#define QDQ_ENERGY_H

#include "tune/space/assign.h"

/* Instead of a bit: a producer or reader of floats, whatever is decided. */
#define QDQ_CUT_FLOAT UINT32_MAX

/* A tensor between decisions. */
typedef struct qdq_hyperedge {
    uint32_t from;      /* bit of its producer */
    const uint32_t *to; /* bits of its readers */
    size_t n_to;
    double bytes; /* of the tensor in float; 0: unknown */
} qdq_hyperedge;

/* Bits that are on only together. */
typedef struct qdq_mincut_tie {
    uint32_t a, b;
} qdq_mincut_tie;

typedef struct qdq_mincut_graph {
    size_t n_bits;
    const qdq_hyperedge *net;
    size_t n_nets;
    const qdq_mincut_tie *tie;
    size_t n_ties;
} qdq_mincut_graph;

/* What an assignment makes of a tensor. */
typedef enum qdq_net_state {
    QDQ_NET_FLOAT, /* all floats */
    QDQ_NET_Q,     /* floats that a reader takes as codes */
    QDQ_NET_CODES, /* all codes */
    QDQ_NET_DQ     /* codes that a reader takes as floats */
} qdq_net_state;

qdq_net_state qdq_hyperedge_state(const qdq_hyperedge *t, const qdq_assign *a);

typedef struct qdq_energy {
    const qdq_mincut_graph *graph;
    double *off, *on; /* by bit; INFINITY: it may not be so */
    double *q, *dq;   /* by net; at least 0 */
} qdq_energy;

/* Arrays of zeros. */
qdq_status qdq_energy_new(qdq_energy *e, const qdq_mincut_graph *g, qdq_arena *arena,
                          qdq_error *err);

double qdq_energy_value(const qdq_energy *e, const qdq_assign *a);

/* The cheapest assignment, into *out, of n_bits; of several that cost the same, the one with the
 * fewest bits on. */
qdq_status qdq_energy_minimize(const qdq_energy *e, qdq_assign *out, qdq_error *err);

#endif /* QDQ_ENERGY_H */
