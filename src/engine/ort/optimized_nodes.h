/* optimized_nodes.h - what the nodes of an optimized graph compute of the graph that it was made
 * from. */
#ifndef QDQ_OPTIMIZED_NODES_H
#define QDQ_OPTIMIZED_NODES_H

#include "engine/layer_nodes.h"
#include "qdq/engine.h"

typedef struct qdq_optimized_node {
    /* of the optimized graph */
    const qdq_node *node;
    qdq_layer_node_list nodes;
    qdq_layer_source source;
    bool conversion;
} qdq_optimized_node;

/* All nodes of `optimized` in its order, in the arena. Engines say nothing about where a node comes
 * from: tensors that kept their names do, and names of nodes where no tensor did. */
qdq_status qdq_optimized_nodes(const qdq_graph *source, const qdq_graph *optimized,
                               qdq_arena *arena, qdq_optimized_node **out, size_t *n,
                               qdq_error *err);

#endif /* QDQ_OPTIMIZED_NODES_H */
