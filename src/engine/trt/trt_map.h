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
    const qdq_node **at; /* what the layer computes, without Q and DQ */
    size_t n;
    const qdq_node **qdq; /* Q and DQ that it took in, or is */
    size_t n_qdq;
    qdq_trt_source source;   /* SLICE: what lies between its tensors had to help */
    const qdq_value *tensor; /* of a Reformat: what it converts; NULL: not known */
    bool truncated;          /* metadata was cut: complete only if the source is SLICE */
    bool ambiguous;          /* its name could mean several nodes */
    /* layers that share a node have the same: their nodes are decided together. The least index of
     * a layer in it */
    size_t set;
} qdq_trt_nodes;

/* out[i] belongs to l->at[i]; all in the arena. A layer of another model has no nodes. */
qdq_status qdq_trt_map(const qdq_trt_layers *l, const qdq_graph *g, qdq_arena *arena,
                       qdq_trt_nodes *out, qdq_error *err);

#endif /* QDQ_TRT_MAP_H */
