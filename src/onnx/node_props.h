/* node_props.h - metadata of a node: metadata_props of NodeProto, from IR version 10 on. The graph
 * keeps them as wire bytes. */
#ifndef QDQ_NODE_PROPS_H
#define QDQ_NODE_PROPS_H

#include "ir/ir.h"

enum { QDQ_NODE_PROPS_IR = 10 }; /* the first IR version with them */

/* Puts entries in place of those whose keys begin with `prefix`; others stay. Texts are copied. */
qdq_status qdq_node_set_props(qdq_node *n, const char *prefix, const qdq_prop *props,
                              size_t n_props, qdq_error *err);

/* Raises the IR version of a model to 10, if it is lower. */
void qdq_model_allow_node_props(qdq_model *m);

#endif /* QDQ_NODE_PROPS_H */
