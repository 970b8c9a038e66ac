/* flow.h - maximum flow and the minimum cut that belongs to it. Knows nothing of models.
 *
 *     qdq_flow f;
 *     QDQ_TRY(qdq_flow_init(&f, n_nodes, n_arcs, arena, err));
 *     qdq_flow_add_terminal(&f, v, from_source, to_sink);
 *     qdq_flow_add_arc(&f, a, b, there, back);
 *     value = qdq_flow_run(&f);
 *     if (qdq_flow_is_source(&f, v)) ...
 *
 * Y. Boykov, V. Kolmogorov, An Experimental Comparison of Min-Cut/Max-Flow Algorithms, 2004: two
 * trees that grow from source and sink, and are mended, not built again, after each augmentation.
 * Of minimum cuts it gives the one with the fewest nodes at the source. Capacities are integers, so
 * that sums are exact and the cut is the same on every machine. */
#ifndef QDQ_FLOW_H
#define QDQ_FLOW_H

#include "base/arena.h"

/* Largest sum of all finite capacities, and the value of an infinite one. */
#define QDQ_FLOW_MOST    (INT64_C(1) << 59)
#define QDQ_FLOW_FOREVER (INT64_C(1) << 60)

typedef struct qdq_flow_node qdq_flow_node;
typedef struct qdq_flow_arc qdq_flow_arc;

typedef struct qdq_flow {
    qdq_flow_node *node;
    /* an arc and its reverse are neighbours */
    qdq_flow_arc *arc;
    uint32_t n_nodes, n_arcs, capacity;
    int64_t value;
    /* lists of nodes */
    uint32_t first_active, last_active, first_orphan, last_orphan;
    uint32_t clock;
} qdq_flow;

/* Allocates this many nodes, and arcs with their reverses. */
qdq_status qdq_flow_init(qdq_flow *f, size_t n_nodes, size_t n_arcs, qdq_arena *arena,
                         qdq_error *err);

/* Adds capacities from the source to `v`, and from `v` to the sink. */
void qdq_flow_add_terminal(qdq_flow *f, uint32_t v, int64_t from_source, int64_t to_sink);

/* Adds an arc with its capacities from `a` to `b` and back. */
void qdq_flow_add_arc(qdq_flow *f, uint32_t a, uint32_t b, int64_t there, int64_t back);

/* Computes the maximum flow. Call it once. */
int64_t qdq_flow_run(qdq_flow *f);

/* After the run: whether `v` is on the source's side of the cut. */
bool qdq_flow_is_source(const qdq_flow *f, uint32_t v);

#endif /* QDQ_FLOW_H */
