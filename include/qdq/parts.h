/* qdq/parts.h - parts of a model that autotune decides together: regions, and fusion groups, which
 * are what an engine computes in one layer. */
#ifndef QDQ_PARTS_H
#define QDQ_PARTS_H

#include "engine.h"
#include "quant.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- regions ---------------------------------------------------------------------------------- */

typedef enum qdq_region_builder {
    /* names, if 80 % of the nodes have one that begins with '/'; else structure */
    QDQ_REGIONS_AUTO = 0,
    /* by post-dominators */
    QDQ_REGIONS_STRUCTURE,
    /* by the modules that exporters write into names: "/encoder/layer.0/MatMul" */
    QDQ_REGIONS_NAMES
} qdq_region_builder;

typedef enum qdq_region_type { QDQ_REGION_LEAF, QDQ_REGION_COMPOSITE } qdq_region_type;

typedef struct qdq_region_opts {
    size_t size;
    qdq_region_builder builder;
    /* of merged neighbours, in nodes; 0: 10 */
    unsigned max_region_size;
    /* smaller regions are not taken apart; 0: 10 */
    unsigned min_refine_size;
} qdq_region_opts;

#define QDQ_REGION_OPTS_INIT                                                                       \
    {                                                                                              \
        .size = sizeof(qdq_region_opts)                                                            \
    }

typedef enum qdq_regions_form {
    QDQ_REGIONS_TEXT,
    QDQ_REGIONS_JSON,
    QDQ_REGIONS_DOT
} qdq_regions_form;

/* Prints the regions that qdq_autotune() tunes for `t` with `quantize` and `opts`: the tree,
 * patterns with their counts, coverage, sizes. The model is cleaned as in that run. `t` NULL:
 * ort-cpu; `quantize` and `opts` may be NULL. `all` shows regions without an operator that can be
 * quantized, too; a drawing always has them. `verbose`: every node, in text. Needs no engine. *text
 * is freed with qdq_free(). */
QDQ_API QDQ_MUST_USE qdq_status qdq_regions_print(const qdq_model *m, const qdq_target *t,
                                                  const qdq_quantize_opts *quantize,
                                                  const qdq_region_opts *opts,
                                                  qdq_regions_form form, bool all, bool verbose,
                                                  char **text, qdq_error *err);

/* --- fusion groups ---------------------------------------------------------------------------- */

/* How the nodes of a group were found, the weakest way of all that are in it. */
typedef enum qdq_fusion_source {
    /* no layer is known, or one was cut where a single tensor passes: what engines fuse usually */
    QDQ_FUSION_STRUCTURAL,
    /* what lies between the tensors of a layer */
    QDQ_FUSION_SLICE,
    /* the engine names them */
    QDQ_FUSION_EXACT
} qdq_fusion_source;

/* "structural", "slice", "exact" */
QDQ_API const char *qdq_fusion_source_name(qdq_fusion_source s);

typedef struct qdq_fusion_opts {
    size_t size;
    /* operators that can be quantized, ends with NULL; NULL: Conv, ConvTranspose, Gemm, MatMul,
     * Einsum */
    const char *const *ops;
    /* of those in one group; a layer with more is cut where a single tensor passes; 0: 64 */
    unsigned max_ops;
    /* least fraction of the layers that must belong to this model; 0: 0.5 */
    double min_matched;
} qdq_fusion_opts;

#define QDQ_FUSION_OPTS_INIT                                                                       \
    {                                                                                              \
        .size = sizeof(qdq_fusion_opts)                                                            \
    }

typedef struct qdq_fusion_info {
    /* n_nodes labels, in the order of the graph */
    const char *const *node;
    /* n_linear of them with an operator that can be quantized */
    size_t n_nodes, n_linear;
    qdq_fusion_source source;
    /* a part of a layer that holds too much for one decision */
    bool cut;
    /* the first layer that is in it; "": none is known */
    const char *layer;
    /* of that layer, as in qdq_layer */
    const char *in_type, *out_type;
    /* in whole or in part */
    size_t n_layers;
    /* of one run: its layers; conversions called after its nodes; NAN: not known */
    double us, converts_us;
    /* groups with equal numbers compute the same function */
    size_t class_id;
    /* 64 hexadecimal digits, of that computation in any model */
    const char *key;
} qdq_fusion_info;

typedef struct qdq_fusion_list {
    /* numbered in the order of their first nodes */
    const qdq_fusion_info *at;
    size_t n, n_keys;
    /* fraction of the layers that are of this model; NAN: there are none */
    double matched;
    /* fraction of the quantizable operators whose layer is known; NAN: there are none */
    double covered;
    /* of all layers; of those without nodes; of conversions; NAN: not known */
    double us, unknown_us, converted_us;
} qdq_fusion_list;

/* The fusion groups of a model: every node of its main graph that is neither constant nor shape
 * arithmetic is in exactly one. `layer` is what qdq_session_layers() or qdq_layers_read() gave for
 * it; without layers, structure decides. Layers that share nodes are one group; no way leaves a
 * group and comes back. QDQ_E_UNSUPPORTED with the fraction that matched: the layers are of another
 * model. `opts` may be NULL. *out is freed with qdq_fusion_list_free(). */
QDQ_API QDQ_MUST_USE qdq_status qdq_fusions_list(const qdq_model *m, const qdq_layer *layer,
                                                 size_t n, const qdq_fusion_opts *opts,
                                                 qdq_fusion_list **out, qdq_error *err);
/* NULL is allowed */
QDQ_API void qdq_fusion_list_free(qdq_fusion_list *l);

/* A drawing for Graphviz: groups as frames, green from 8 bits to 8 bits, yellow from 8 bits to
 * float, grey where nothing can be quantized. *text is freed with qdq_free(). */
QDQ_API QDQ_MUST_USE qdq_status qdq_fusions_dot(const qdq_model *m, const qdq_fusion_list *l,
                                                char **text, qdq_error *err);

/* Shapes of the whole model's inputs, from which follow what shape arithmetic gives that begins
 * outside of the group. */
typedef struct qdq_fusion_extract_opts {
    size_t size;
    /* with the producers of its inputs and the consumers of its outputs */
    bool halo;
    const qdq_input_shape *min, *opt, *max;
    /* without opt nothing is known; an input without min or max: as opt */
    size_t n_min, n_opt, n_max;
} qdq_fusion_extract_opts;

#define QDQ_FUSION_EXTRACT_OPTS_INIT                                                               \
    {                                                                                              \
        .size = sizeof(qdq_fusion_extract_opts)                                                    \
    }

/* An input of that model, with the shapes that follow from those of the whole; -1: not known. */
typedef struct qdq_fusion_input {
    const char *name;
    /* rank dims each */
    const int64_t *min, *opt, *max;
    int rank;
    /* some dim is open in that model: only then does trtexec take shapes for it */
    bool dynamic;
} qdq_fusion_input;

/* Group number `group` of that list as a model of its own, with names, types and symbolic dims as
 * they are. Weights are shared with m. QDQ_E_UNSUPPORTED: it cannot be one, and why. Both kinds of
 * options may be NULL. *in has n_in inputs in the order of the model's and is freed with qdq_free()
 * (one block); `in` may be NULL. */
QDQ_API QDQ_MUST_USE qdq_status qdq_fusion_extract(const qdq_model *m, const qdq_layer *layer,
                                                   size_t n, const qdq_fusion_opts *opts,
                                                   size_t group, const qdq_fusion_extract_opts *how,
                                                   qdq_model **out, qdq_fusion_input **in,
                                                   size_t *n_in, qdq_error *err);

#ifdef __cplusplus
}
#endif
#endif /* QDQ_PARTS_H */
