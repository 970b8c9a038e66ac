/* qdq/parts.h - parts of a model that autotune decides together: regions, and fusion groups (the
 * nodes that an engine computes in one layer). */
#ifndef QDQ_PARTS_H
#define QDQ_PARTS_H

#include "engine.h"
#include "quant.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- regions ---------------------------------------------------------------------------------- */

typedef enum qdq_region_builder {
    /* by names if 80 % of the nodes have a name that begins with '/'; else by structure */
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
    /* largest merged region, in nodes; 0: 10 */
    unsigned max_region_size;
    /* smallest region that is split further, in nodes; 0: 10 */
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
 * patterns with their counts, coverage, sizes. The model is cleaned as in such a run. `t` NULL:
 * ort-cpu; `quantize` and `opts` may be NULL. `all`: include regions without a quantizable operator
 * (the drawing always does). `verbose`: list every node, in the text. No engine is needed. *text is
 * freed with qdq_free(). */
QDQ_API QDQ_MUST_USE qdq_status qdq_regions_print(const qdq_model *m, const qdq_target *t,
                                                  const qdq_quantize_opts *quantize,
                                                  const qdq_region_opts *opts,
                                                  qdq_regions_form form, bool all, bool verbose,
                                                  char **text, qdq_error *err);

/* --- fusion groups ---------------------------------------------------------------------------- */

/* How the nodes of a group were found; the weakest way among its nodes. */
typedef enum qdq_fusion_source {
    /* no layer is known, or a layer was cut where a single tensor passes: the usual fusions of
     * engines */
    QDQ_FUSION_STRUCTURAL,
    /* nodes between the tensors of a layer */
    QDQ_FUSION_SLICE,
    /* nodes that the engine names */
    QDQ_FUSION_EXACT
} qdq_fusion_source;

/* The name of a source: "structural", "slice", "exact". */
QDQ_API const char *qdq_fusion_source_name(qdq_fusion_source s);

typedef struct qdq_fusion_opts {
    size_t size;
    /* operators that can be quantized, ends with NULL; NULL: Conv, ConvTranspose, Gemm, MatMul,
     * Einsum */
    const char *const *ops;
    /* most quantizable operators of one group; a layer with more is cut where a single tensor
     * passes; 0: 64 */
    unsigned max_ops;
    /* least fraction of the layers that must belong to this model; 0: 0.5 */
    double min_matched;
} qdq_fusion_opts;

#define QDQ_FUSION_OPTS_INIT                                                                       \
    {                                                                                              \
        .size = sizeof(qdq_fusion_opts)                                                            \
    }

typedef struct qdq_fusion_info {
    /* labels of the group's nodes, in the order of the graph */
    const char *const *node;
    /* number of labels, and how many of these nodes have a quantizable operator */
    size_t n_nodes, n_linear;
    qdq_fusion_source source;
    /* the group is a part of a layer that is too large for one decision */
    bool is_part;
    /* name of the group's first layer; "": unknown */
    const char *layer;
    /* types of that layer, as in qdq_layer */
    const char *in_type, *out_type;
    /* number of layers that the group has, in whole or in part */
    size_t n_layers;
    /* time of the group's layers, and of the conversions named after its nodes, in microseconds per
     * run; NAN: unknown */
    double us, converts_us;
    /* groups with equal numbers compute the same function */
    size_t class_id;
    /* hash of the computation, equal in every model: 64 hexadecimal digits */
    const char *key;
} qdq_fusion_info;

typedef struct qdq_fusion_list {
    /* n groups, in the order of their first nodes; n_keys is the number of different keys */
    const qdq_fusion_info *at;
    size_t n, n_keys;
    /* fraction of the layers that belong to this model; NAN: no layers */
    double matched;
    /* fraction of the quantizable operators whose layer is known; NAN: no such operators */
    double covered;
    /* time of all layers, of layers without nodes, and of conversions, in microseconds per run;
     * NAN: unknown */
    double us, unknown_us, converted_us;
} qdq_fusion_list;

/* Lists the fusion groups of a model: every node of its main graph that is neither constant nor
 * shape arithmetic is in exactly one. `layer` has n layers of qdq_session_layers() or
 * qdq_layers_read() for m; n 0: structure decides. Layers that share nodes are one group; no path
 * leaves a group and enters it again. QDQ_E_UNSUPPORTED: the layers belong to another model; the
 * message has the fraction that matched. `opts` may be NULL. *out is freed with
 * qdq_fusion_list_free(). */
QDQ_API QDQ_MUST_USE qdq_status qdq_fusions_list(const qdq_model *m, const qdq_layer *layer,
                                                 size_t n, const qdq_fusion_opts *opts,
                                                 qdq_fusion_list **out, qdq_error *err);
/* Frees a list; NULL is allowed. */
QDQ_API void qdq_fusion_list_free(qdq_fusion_list *l);

/* Draws the groups for Graphviz: frames in green from 8 bits to 8 bits, in yellow from 8 bits to
 * float, in grey without quantizable operators. *text is freed with qdq_free(). */
QDQ_API QDQ_MUST_USE qdq_status qdq_fusions_dot(const qdq_model *m, const qdq_fusion_list *l,
                                                char **text, qdq_error *err);

/* Options of qdq_fusion_extract(). Shapes of the whole model's inputs determine the shapes of the
 * group's inputs and the results of shape arithmetic that begins outside of the group. */
typedef struct qdq_fusion_extract_opts {
    size_t size;
    /* include the producers of the group's inputs and the consumers of its outputs */
    bool halo;
    const qdq_input_shape *min, *opt, *max;
    /* numbers of shapes; without opt, shapes are unknown; an input without min or max uses opt */
    size_t n_min, n_opt, n_max;
} qdq_fusion_extract_opts;

#define QDQ_FUSION_EXTRACT_OPTS_INIT                                                               \
    {                                                                                              \
        .size = sizeof(qdq_fusion_extract_opts)                                                    \
    }

/* An input of the extracted model. Its shapes follow from those of the whole model's inputs; a dim
 * of -1 is unknown. */
typedef struct qdq_fusion_input {
    const char *name;
    /* `rank` dims each */
    const int64_t *min, *opt, *max;
    int rank;
    /* some dim is symbolic or unknown in the extracted model; trtexec accepts shapes for such
     * inputs only */
    bool dynamic;
} qdq_fusion_input;

/* Extracts group number `group` of that list as a model, with the same names, types and symbolic
 * dims. `layer`, n and `opts` are as for qdq_fusions_list(); `opts` and `how` may be NULL. Weights
 * are shared with m. QDQ_E_UNSUPPORTED: the group cannot be a model; the message has the reason.
 * *out is freed with qdq_model_free(). *in has *n_in inputs in the order of the model's and is
 * freed with qdq_free() (one block); `in` may be NULL. */
QDQ_API QDQ_MUST_USE qdq_status qdq_fusion_extract(const qdq_model *m, const qdq_layer *layer,
                                                   size_t n, const qdq_fusion_opts *opts,
                                                   size_t group, const qdq_fusion_extract_opts *how,
                                                   qdq_model **out, qdq_fusion_input **in,
                                                   size_t *n_in, qdq_error *err);

#ifdef __cplusplus
}
#endif
#endif /* QDQ_PARTS_H */
