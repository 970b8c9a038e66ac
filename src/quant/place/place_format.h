/* place_format.h - which number format each node has: the target's, or that of an override. */
#ifndef QDQ_PLACE_FORMAT_H
#define QDQ_PLACE_FORMAT_H

#include "ir/ir.h"
#include "target/target.h"

/* (*out)[node id], in `scratch`. `order` has the live nodes of the graph that is placed. */
qdq_status qdq_place_formats(const qdq_model *m, const qdq_target *t, qdq_node *const *order,
                             size_t n_order, qdq_arena *scratch, const qdq_format *const **out,
                             qdq_error *err);

#endif /* QDQ_PLACE_FORMAT_H */
