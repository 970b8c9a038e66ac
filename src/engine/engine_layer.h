/* engine_layer.h - executed layers while their nodes are being found, and as callers get them. */
#ifndef QDQ_ENGINE_LAYER_H
#define QDQ_ENGINE_LAYER_H

#include "engine/layer_nodes.h"
#include "qdq/engine.h"

/* One executed layer. Texts are borrowed: they must live until it is packed. */
typedef struct qdq_engine_layer {
    const char *name, *op;
    /* NULL: not known */
    const char *in_type, *out_type;
    /* NAN: not known */
    double us;
    bool conversion;
    qdq_layer_source source;
    /* NULL: not known */
    const char *tensor;
    /* of the source model; one that is there twice is given once */
    qdq_layer_node_list nodes;
} qdq_engine_layer;

/* Layers with all that they point to in one block, as callers get them. */
qdq_status qdq_layers_pack(qdq_layer *from, size_t n, qdq_layer **out, qdq_error *err);

/* The same of these. `scratch` is for labels. */
qdq_status qdq_engine_layers_pack(const qdq_engine_layer *l, size_t n, qdq_arena *scratch,
                                  qdq_layer **out, size_t *n_out, qdq_error *err);

/* Names, kernels and times alone, as qdq_session_profile() gives them. */
qdq_status qdq_engine_profile_pack(const qdq_engine_layer *from, size_t n, unsigned runs,
                                   qdq_layer **out, qdq_error *err);

/* "f32" for QDQ_FLOAT; "" for a type that no engine computes with. */
const char *qdq_engine_type(qdq_elem e);

#endif /* QDQ_ENGINE_LAYER_H */
