/* group_plan.h - the plan of a whole model, as far as it is about one fusion group: what is
 * measured in isolation is what is applied later.
 *
 * Of the plan remain the entries of the group's own nodes: edges that they read, and what they give
 * with Q/DQ for all readers, if the group is computed in 8 bits; where the Q stands behind an
 * epilogue in the halo, there. A tensor that others read, too, is quantized for the group's own
 * readers; nothing else is quantized for nodes of the halo. */
#ifndef QDQ_GROUP_PLAN_H
#define QDQ_GROUP_PLAN_H

#include "quant/insert/insert_cache.h"
#include "tune/extract/group_model.h"

/* A copy of the model of `g`, a group of `f` that has one, with that part of `whole` applied to it,
 * a plan for the clean model that `f` was found in (NULL: without Q/DQ). Its nodes are called as
 * qdq_node_label() calls them in the clean model, and all of its main graph have a name. `cache` is
 * that of all plans for the clean model, or NULL. */
qdq_status qdq_group_plan_apply(const qdq_fusions *f, const qdq_group_model *g,
                                const qdq_plan *whole, qdq_insert_cache *cache, qdq_model **out,
                                qdq_error *err);

#endif /* QDQ_GROUP_PLAN_H */
