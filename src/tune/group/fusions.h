/* fusions.h - the fusion groups of a graph: what an engine computes in one layer is decided
 * together. Every node that is neither constant nor shape arithmetic is in exactly one group; those
 * others go along with whoever reads them.
 *
 * Layers are a relation, not a partition: a node may be in several, and in none. Layers that share
 * a node are joined, except over nodes that only move numbers; a node that no layer names goes to
 * the group that computes it; what holds too many operators for one decision is cut where a single
 * tensor passes; where nothing is known, structure decides. How a group was found is said with it.
 * A group is convex: no way leaves it and comes back. */
#ifndef QDQ_FUSIONS_H
#define QDQ_FUSIONS_H

#include "qdq/parts.h"
#include "tune/region/region_graph.h"

#define QDQ_NO_FUSION UINT32_MAX

typedef struct qdq_fusion {
    /* in the order of the graph */
    const qdq_node **node;
    uint32_t n;
    /* nodes with an operator that can be quantized; 0: nothing to decide here */
    uint32_t linear;
    qdq_fusion_source source;
    /* a part of a layer that holds more */
    bool cut;
    /* of the first layer, as in qdq_layer; "" */
    const char *in_type, *out_type;
    /* the first layer that is in it, as the engine calls it; "": none */
    const char *layer;
    /* layers that are in it, in whole or in part */
    uint32_t layers;
    /* of one run, conversions left out; NAN: not known */
    double us;
    /* conversions that carry the name of one of its nodes; NAN: the same */
    double converts_us;
} qdq_fusion;

typedef struct qdq_fusions {
    qdq_arena arena;
    qdq_region_graph g;
    /* in the order of their first nodes: the same layers give the same numbers */
    qdq_fusion *at;
    uint32_t n;
    /* by node id: which; QDQ_NO_FUSION: constant or shape arithmetic */
    uint32_t *of;
    /* share of the computing layers whose nodes are in this graph; NAN: there are no layers */
    double matched;
    /* share of the operators that can be quantized of which a layer is known; the same */
    double covered;
    /* of layers without nodes, conversions left out; NAN: no times */
    double unknown_us;
    /* of all conversions; the same */
    double converted_us;
    /* of all layers; the same */
    double us;
} qdq_fusions;

/* `layer`: what qdq_session_layers() or qdq_layers_read() gave for this model, or for the same with
 * Q/DQ, whose Q/DQ are passed over; none: structure alone. `m` has inferred types and must outlive
 * the result. QDQ_E_UNSUPPORTED, with the share that matched: the layers are of another model. */
qdq_status qdq_fusions_find(const qdq_model *m, const qdq_layer *layer, size_t n,
                            const qdq_fusion_opts *opts, qdq_fusions **out, qdq_error *err);

/* The same for a model of a caller of the library: *typed is a copy of it with types. Both are to
 * be freed in every case. */
qdq_status qdq_fusions_open(const qdq_model *m, const qdq_layer *layer, size_t n,
                            const qdq_fusion_opts *opts, qdq_model **typed, qdq_fusions **out,
                            qdq_error *err);

/* The common refinement: nodes stay together that are together in both. Both of the same graph: of
 * an engine's layers for the model in float, whose times are kept, and with Q/DQ, which change what
 * is fused. Where one knows no layer, the other one decides. */
qdq_status qdq_fusions_refine(const qdq_fusions *a, const qdq_fusions *b,
                              const qdq_fusion_opts *opts, qdq_fusions **out, qdq_error *err);

void qdq_fusions_free(qdq_fusions *f); /* NULL is allowed */

#endif /* QDQ_FUSIONS_H */
