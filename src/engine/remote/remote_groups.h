/* remote_groups.h - executed layers as JSON: between a worker and its client, and in the store. A
 * list of rows [layer, op, in_type, out_type, us, conversion, source, [node, ...], tensor, runs],
 * us null where it is not known, `source` as qdq_layer_source counts, texts as qdq_remote_text()
 * has them. A profile has no types, nodes and tensors. */
#ifndef QDQ_REMOTE_GROUPS_H
#define QDQ_REMOTE_GROUPS_H

#include "base/json_read.h"
#include "qdq/engine.h"

/* NULL: no memory. */
json_t *qdq_remote_groups_json(const qdq_layer *g, size_t n);

/* In one block, as qdq_session_layers() and qdq_session_profile() give them: qdq_free().
 * QDQ_E_FORMAT: that is no such list. */
qdq_status qdq_remote_groups_read(const json_t *list, qdq_layer **out, size_t *n, qdq_error *err);

#endif /* QDQ_REMOTE_GROUPS_H */
