/* hyperedges.h - the tensors of a space for the strategy mincut, with their producers and
 * consumers. The input and the output of a copy operator are one tensor, and so are those of an
 * epilogue in its kernel: a Q or DQ on either side is the same placement. */
#ifndef QDQ_HYPEREDGES_H
#define QDQ_HYPEREDGES_H

#include "tune/measure/layer_times.h"
#include "tune/mincut/costs.h"
#include "tune/space/space.h"

typedef struct qdq_hyperedge_map {
    /* tensors in the graph's order; bits are the groups of the space */
    qdq_mincut_graph graph;
    /* by id of a value in the clean model: index of its tensor; or QDQ_NO_HYPEREDGE */
    uint32_t *of;
    /* by id of a node: the tensor that it copies, or whose epilogue it is; or QDQ_NO_HYPEREDGE */
    uint32_t *within;
} qdq_hyperedge_map;

#define QDQ_NO_HYPEREDGE UINT32_MAX

/* Finds the tensors; arrays are in the arena. */
qdq_status qdq_hyperedges_find(const qdq_space *s, qdq_arena *arena, qdq_hyperedge_map *out,
                               qdq_error *err);

/* Attributes each row of a profile once: to a decision, to a tensor between decisions, or to the
 * remainder. */
void qdq_tune_sum_costs(const qdq_space *s, const qdq_hyperedge_map *hyperedges,
                        const qdq_tune_times *times, qdq_mincut_profile *out);

#endif /* QDQ_HYPEREDGES_H */
