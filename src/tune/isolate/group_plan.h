/* group_plan.h - the part of a whole model's plan that concerns one fusion group, so that the
 * isolated measurement has the Q/DQ of the whole model.
 *
 * It has the entries of the group's own nodes: edges that they read, and their results with Q/DQ
 * for all consumers, if the group is computed in 8 bits; after an epilogue in the halo if the Q is
 * there. A tensor with other consumers is quantized for the group's own ones; nothing else is
 * quantized for nodes of the halo. */
#ifndef QDQ_GROUP_PLAN_H
#define QDQ_GROUP_PLAN_H

#include "quant/insert/insert_cache.h"
#include "tune/extract/group_model.h"

/* Copies the model `g` of a group of `f`, and applies that part of `whole` to it, a plan for the
 * clean model of `f` (NULL: without Q/DQ). Nodes have the names that qdq_node_label() gives them in
 * the clean model, and all of the main graph have one. `cache` is that of all plans for the clean
 * model, or NULL. */
qdq_status qdq_group_plan_apply(const qdq_fusions *f, uint32_t group, const qdq_group_model *g,
                                const qdq_plan *whole, qdq_insert_cache *cache, qdq_model **out,
                                qdq_error *err);

#endif /* QDQ_GROUP_PLAN_H */
