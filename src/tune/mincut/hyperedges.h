/* hyperedges.h - the tensors of a space for the strategy mincut, with their producers and
 * consumers. The input and the output of a copy operator are one tensor, and so are those of an
 * epilogue in its kernel: a Q or DQ on either side is the same placement. */
#ifndef QDQ_HYPEREDGES_H
#define QDQ_HYPEREDGES_H

#include "tune/measure/layer_times.h"
#include "tune/mincut/costs.h"
#include "tune/space/space.h"

typedef struct qdq_nets {
    /* tensors in the graph's order; bits are the groups of the space */
    qdq_mincut_graph graph;
    /* by id of a value in the clean model: index of its tensor; or QDQ_NO_NET */
    uint32_t *of;
    /* by id of a node: the tensor that it copies, or whose epilogue it is; or QDQ_NO_NET */
    uint32_t *within;
} qdq_nets;

#define QDQ_NO_NET UINT32_MAX

/* Finds the tensors; arrays are in the arena. */
qdq_status qdq_nets_find(const qdq_space *s, qdq_arena *arena, qdq_nets *out, qdq_error *err);

/* Attributes each row of a profile once: to a decision, to a tensor between decisions, or to the
 * remainder. */
void qdq_tune_sum_costs(const qdq_space *s, const qdq_nets *nets, const qdq_tune_times *times,
                        qdq_mincut_profile *out);

#endif /* QDQ_HYPEREDGES_H */
