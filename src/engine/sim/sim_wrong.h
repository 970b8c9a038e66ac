/* sim_wrong.h - single forms that the `sim` engine computes wrongly, on request (docs/sim.md): what
 * optimizations of a real engine do to a graph, so that a check has something to find. */
#ifndef QDQ_SIM_WRONG_H
#define QDQ_SIM_WRONG_H

#include "base/json_read.h"
#include "ir/ir.h"

struct qdq_sim_estimate;

/* A node of such a form gives `times` its result. */
typedef struct qdq_sim_wrong {
    /* operator and label; NULL: any */
    const char *op, *node;
    /* a node of this operator reads its result in float; NULL: any or none */
    const char *read_by;
    /* of its first input; QDQ_UNDEFINED: any */
    qdq_elem codes;
    /* only where it runs in float with its weight alone in 8 bits */
    bool weight;
    /* where it runs in float; else where it runs in 8 bits */
    bool in_float;
    /* only in a model with an open dim among its inputs */
    bool open;
    /* only in one without */
    bool fixed;
    double times;
} qdq_sim_wrong;

/* Reads one from its object; errors go to the reader. */
void qdq_sim_wrong_read(const qdq_json_place *p, qdq_sim_wrong *w);

/* What becomes of the values of a graph: factor[value id], 1 where the value is right. A value that
 * follows from a wrong one has the same factor. In `arena`; NULL: no memory. */
const double *qdq_sim_wrong_values(const qdq_sim_wrong *w, size_t n, const qdq_graph *g,
                                   const struct qdq_sim_estimate *e, bool is_open,
                                   qdq_arena *arena);

#endif /* QDQ_SIM_WRONG_H */
