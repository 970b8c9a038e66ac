/* trt_map.h - which nodes of the model each layer of an engine computes: by its metadata, else by
 * its name, else by what lies between its tensors. A relation: a node may be in several layers, and
 * a layer has many nodes. */
#ifndef QDQ_TRT_MAP_H
#define QDQ_TRT_MAP_H

#include "engine/trt/trt_layers.h"
#include "ir/ir.h"

typedef enum qdq_trt_source {
    QDQ_TRT_NO_SOURCE,
    QDQ_TRT_SLICE,
    QDQ_TRT_NAME,
    QDQ_TRT_METADATA
} qdq_trt_source;

typedef struct qdq_trt_nodes {
    /* what the layer computes, without Q and DQ */
    const qdq_node **at;
    size_t n;
    /* Q and DQ that it took in, or is */
    const qdq_node **qdq;
    size_t n_qdq;
    /* SLICE: what lies between its tensors had to help */
    qdq_trt_source source;
    /* of a Reformat: what it converts; NULL: not known */
    const qdq_value *tensor;
    /* metadata was cut: complete only if the source is SLICE */
    bool truncated;
    /* its name could mean several nodes */
    bool ambiguous;
    /* layers that share a node have the same: their nodes are decided together. The least index of
     * a layer in it */
    size_t set;
} qdq_trt_nodes;

/* out[i] belongs to l->at[i]; all in the arena. A layer of another model has no nodes. */
qdq_status qdq_trt_map(const qdq_trt_layers *l, const qdq_graph *g, qdq_arena *arena,
                       qdq_trt_nodes *out, qdq_error *err);

#endif /* QDQ_TRT_MAP_H */
