/* energy.h - the cost of a placement as a function of its bits, which a minimum cut minimizes
 * exactly. Each bit has a cost for on and for off. A tensor costs a Q if its producer produces
 * floats and a consumer reads quantized values, and a DQ if its producer produces quantized values
 * and a consumer reads floats; each once, for any number of consumers.
 *
 *     E(x) = sum_i c_i(x_i) + sum_t [ q_t (1 - x_p) OR_r(x_r) + dq_t x_p (1 - AND_r(x_r)) ]
 *
 * With q, dq >= 0 this is submodular, and one cut finds the minimum on any graph (V. Kolmogorov, R.
 * Zabih, What Energy Functions Can Be Minimized via Graph Cuts?, 2004): OR and AND are one node
 * each. The cost of two bits that differ, w [x_a != x_b], is a tensor from a to b with q = dq =
 * w. */
#ifndef QDQ_ENERGY_H
#define QDQ_ENERGY_H

#include "tune/space/assign.h"

/* Takes the place of a bit: a producer or consumer that is always float. */
#define QDQ_CUT_FLOAT UINT32_MAX

/* A tensor between decisions. */
typedef struct qdq_hyperedge {
    /* bit of its producer */
    uint32_t from;
    /* bits of its consumers */
    const uint32_t *to;
    size_t n_to;
    /* size of the tensor in float; 0: unknown */
    double bytes;
} qdq_hyperedge;

/* Bits that can be on only together. */
typedef struct qdq_mincut_tie {
    uint32_t a, b;
} qdq_mincut_tie;

typedef struct qdq_mincut_graph {
    size_t n_bits;
    const qdq_hyperedge *hyperedge;
    size_t n_hyperedges;
    const qdq_mincut_tie *tie;
    size_t n_ties;
} qdq_mincut_graph;

/* State of a tensor under an assignment. */
typedef enum qdq_conversion_state {
    /* all ends are float */
    QDQ_HYPEREDGE_FLOAT,
    /* the producer is float, and a consumer reads quantized values */
    QDQ_HYPEREDGE_Q,
    /* all ends are quantized */
    QDQ_HYPEREDGE_QUANTIZED,
    /* the producer is quantized, and a consumer reads floats */
    QDQ_HYPEREDGE_DQ
} qdq_conversion_state;

qdq_conversion_state qdq_hyperedge_state(const qdq_hyperedge *t, const qdq_assign *a);

typedef struct qdq_energy {
    const qdq_mincut_graph *graph;
    /* by bit; INFINITY: this state is not allowed */
    double *off, *on;
    /* by hyperedge; at least 0 */
    double *q, *dq;
} qdq_energy;

/* Makes arrays of zeros. */
qdq_status qdq_energy_new(qdq_energy *e, const qdq_mincut_graph *g, qdq_arena *arena,
                          qdq_error *err);

double qdq_energy_value(const qdq_energy *e, const qdq_assign *a);

/* Finds the cheapest assignment of n_bits. Among equally cheap ones, *out has the fewest bits
 * on. */
qdq_status qdq_energy_minimize(const qdq_energy *e, qdq_assign *out, qdq_error *err);

#endif /* QDQ_ENERGY_H */
