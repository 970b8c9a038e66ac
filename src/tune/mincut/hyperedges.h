/* hyperedges.h - the tensors of a space, as the strategy mincut wants them: who gives each, and who
 * reads it. What operators copy is one tensor on both sides of them, and so is what an epilogue
 * takes from its kernel: where a Q or DQ stands there makes no other placement. */
#ifndef QDQ_HYPEREDGES_H
#define QDQ_HYPEREDGES_H

#include "tune/measure/layer_times.h"
#include "tune/mincut/costs.h"
#include "tune/space/space.h"

typedef struct qdq_nets {
    qdq_mincut_graph graph; /* tensors in the graph's order; bits are the space's groups */
    uint32_t *of; /* by id of a value in the clean model: index of its tensor; QDQ_NO_NET */
    /* by id of a node: the tensor that it copies, or is an epilogue of; QDQ_NO_NET */
    uint32_t *within;
} qdq_nets;

#define QDQ_NO_NET UINT32_MAX

/* Arrays in the arena. */
qdq_status qdq_nets_find(const qdq_space *s, qdq_arena *arena, qdq_nets *out, qdq_error *err);

/* A profile as costs, each of its rows once: of a decision, of a tensor between decisions, or of
 * the rest. */
void qdq_tune_sum_costs(const qdq_space *s, const qdq_nets *nets, const qdq_tune_times *times,
                        qdq_mincut_profile *out);

#endif /* QDQ_HYPEREDGES_H */
