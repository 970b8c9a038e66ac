/* place_fused.h - names that users know from their model, and that cleaning took away by fusing
 * nodes: --exclude and --include of such a node mean the one that computes its result now. */
#ifndef QDQ_PLACE_FUSED_H
#define QDQ_PLACE_FUSED_H

#include "ir/ir.h"
#include "qdq/quant.h"

/* In opts->exclude and opts->include, each entry that matches nodes of `m` and none of `clean` is
 * replaced by "=NAME" of what they became, with a warning that names both. Entries that match no
 * node, or nodes that are simply gone, stay: placement warns of those. New lists are in `arena`. */
qdq_status qdq_place_follow_names(const qdq_model *m, const qdq_model *clean, qdq_arena *arena,
                                  qdq_quantize_opts *opts, qdq_error *err);

/* The node of the cleaned model that makes a result of n, or that n was folded into; NULL: none. */
const qdq_node *qdq_place_maker(const qdq_model *clean, const qdq_node *n);

#endif /* QDQ_PLACE_FUSED_H */
