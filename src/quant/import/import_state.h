/* import_state.h - what was found of the quantization of a model, before it is a plan; shared by
 * the import*.c files only. */
#ifndef QDQ_IMPORT_STATE_H
#define QDQ_IMPORT_STATE_H

#include "ir/ir.h"
#include "quant/plan/plan.h"
#include "quant/import/strip.h"
#include "quant/weights/weights.h"

/* Edges are kept as pointers until the graph has its final names. */
typedef struct qdq_found_edge {
    const qdq_node *node;
    uint32_t input;
} qdq_found_edge;

typedef QDQ_VEC(qdq_found_edge) qdq_found_edges;

typedef struct qdq_found_tensor {
    qdq_value *x;
    bool all;
    qdq_found_edges edges;
    qdq_qparam qparam;
} qdq_found_tensor;

typedef struct qdq_found_weight {
    /* the float initializer that stands for it now */
    qdq_value *w;
    int axis;
    int64_t block;
    qdq_elem type;
    qdq_weight_store store;
    int accuracy_level;
    const float *scales;
    const int32_t *zeros;
    size_t n_scales;
    /* the scales follow from the weights, by `scheme` */
    bool follow;
    qdq_qscheme scheme;
    qdq_found_edges edges;
} qdq_found_weight;

typedef struct qdq_found_bias {
    qdq_value *b;
    qdq_found_edge edge;
    /* behind their DQ */
    const qdq_value *activation, *weight;
} qdq_found_bias;

typedef struct qdq_importer {
    qdq_model *m;
    /* at hand */
    qdq_graph *g;
    /* of scales: QDQ_FLOAT, or the 16-bit type that the model was widened from */
    qdq_elem storage;
    qdq_arena scratch;
    QDQ_VEC(qdq_found_tensor) tensors;
    QDQ_VEC(qdq_found_weight) weights;
    QDQ_VEC(qdq_found_bias) biases;
    /* address of a DQ's output -> index into tensors */
    qdq_map activation_of;
    /* the same into weights */
    qdq_map weight_of;
    /* DQ nodes of biases */
    qdq_map bias_of;
    /* DQ nodes of weights that were inside of operators -> accuracy level + 1 */
    qdq_map nbits_of;
    /* DQ nodes of weights that were inside of a DynamicQuantizeLSTM */
    qdq_map lstm_of;
    /* address of a float initializer -> 1 + index of the weight that was inside of one */
    qdq_map packed;
    /* addresses of nodes that were float32 in a model that was widened */
    qdq_map was_float;
    const qdq_import_opts *opts;
    qdq_leftover left;
    /* while something was only asked about */
    bool no_memory;
    qdq_error *err;
} qdq_importer;

/* --- import_origin.c -------------------------------------------------------------------------- */

/* The float initializer of im->g that stands for what dq makes of its codes; `t` has its numbers. A
 * constant that several DQ restore, as shared biases are, becomes one again. NULL: no memory. */
qdq_value *qdq_import_restore(qdq_importer *im, const qdq_node *dq, qdq_tensor *t,
                              const float *scales, size_t n_scales);

/* Did found->scales come from the weights `w`? Sets found->scheme and found->follow: then a plan
 * need not list them. */
void qdq_import_find_scheme(qdq_importer *im, const float *w, const qdq_scale_grid *g,
                            qdq_found_weight *found);

/* --- import_dynamic.c ------------------------------------------------------------------------- */

/* Is v what a DequantizeLinear makes of the codes of a DynamicQuantizeLinear? */
bool qdq_import_is_dynamic(const qdq_value *v);

/* Do all that read the weight dq multiply it with such data, in a form that a plan can ask for? */
bool qdq_import_reads_dynamic(const qdq_importer *im, const qdq_node *dq, const qdq_tensor *codes,
                              const qdq_found_weight *w);

/* --- import_write.c --------------------------------------------------------------------------- */

/* Writes all that was found into the plan, once the graph has its final names. */
qdq_status qdq_import_write(const qdq_importer *im, qdq_plan *p);

#endif /* QDQ_IMPORT_STATE_H */
