/* place_groups.h - values whose tensors share one scale: placement ties them pair by pair,
 * calibration pools their ranges. */
#ifndef QDQ_PLACE_GROUPS_H
#define QDQ_PLACE_GROUPS_H

#include "ir/ir.h"
#include "quant/plan/plan.h"

/* By value id: another member's id + 1; 0: in no group. */
typedef struct qdq_groups {
    const qdq_graph *graph;
    uint32_t *next;
} qdq_groups;

/* All values of g, each on its own. The table is in `arena`. False: out of memory. */
bool qdq_groups_start(qdq_groups *s, const qdq_graph *g, qdq_arena *arena);

void qdq_groups_tie(qdq_groups *s, const qdq_value *a, const qdq_value *b);

/* Writes the groups into the entries of the plan; what has its scale already is left out. */
qdq_status qdq_groups_name(const qdq_groups *s, qdq_plan *plan, qdq_error *err);

#endif /* QDQ_PLACE_GROUPS_H */
