/* qdq_node.h - what a QuantizeLinear or DequantizeLinear node says: the one place that reads scale,
 * zero point, axis, block and type of codes, so that every pass and plan understands a node the
 * same way. */
#ifndef QDQ_QDQ_NODE_H
#define QDQ_QDQ_NODE_H

#include "ir/ir.h"

/* codes = saturate(round(x / scale) + zero); x' = (codes - zero) * scale */
typedef struct qdq_params {
    /* type of the quantized side; QDQ_UNDEFINED: a DQ whose input has no known type */
    qdq_elem codes;
    /* type that the scales are stored in */
    qdq_elem scale_elem;
    /* `count` of them, finite, none below 0 */
    const float *scale;
    /* the same; NULL: no zero point input, which means 0 */
    const int32_t *zero;
    int64_t count;
    /* no scale is 0 */
    bool positive;
    /* of the scales, not negative; -1: one scale for all elements */
    int axis;
    /* elements along `axis` that share a scale; 0: not blocked, a scale per index */
    int64_t block;
} qdq_params;

/* Reads a Q or DQ whose scale and zero point are constants. `quantized` is a tensor with the rank
 * and dims of what is quantized, for the axis; NULL: not known, then several scales are a reason.
 * *why NULL: *out is filled, and points into `scratch`. Else *why is a literal that says what the
 * node lacks ("its scale is computed"). Fails only when memory does. */
qdq_status qdq_params_read(const qdq_node *n, const qdq_tensor *quantized, qdq_arena *scratch,
                           qdq_params *out, const char **why, qdq_error *err);

/* The same codes for the same numbers: types, axis, and every scale and zero point, bit by bit. */
bool qdq_params_equal(const qdq_params *a, const qdq_params *b);

/* The zero point of scale i. */
static inline int32_t qdq_params_zero(const qdq_params *p, int64_t i)
{
    return p->zero != NULL ? p->zero[i] : 0;
}

/* A tensor seen as [outer, channels, inner]; axis -1: one channel. */
typedef struct qdq_channels {
    size_t outer, channels, inner;
} qdq_channels;

/* QDQ_E_FORMAT if the axis is beyond the rank. */
qdq_status qdq_channels_of(const qdq_tensor *t, int axis, qdq_channels *out, qdq_error *err);

/* The elements of a tensor that share a scale: [outer, channel, inner], or blocks of channels. */
typedef struct qdq_scale_grid {
    qdq_channels c;
    /* block 0: a scale for each channel */
    size_t block, n_block;
} qdq_scale_grid;

/* The axis is known to be one of t's. */
qdq_scale_grid qdq_scale_grid_of(const qdq_tensor *t, int axis, int64_t block);

static inline size_t qdq_scale_at(const qdq_scale_grid *g, size_t outer, size_t channel,
                                  size_t inner)
{
    return g->block == 0 ? channel : (outer * g->n_block + channel / g->block) * g->c.inner + inner;
}

static inline size_t qdq_scale_count(const qdq_scale_grid *g)
{
    return g->block == 0 ? g->c.channels : g->c.outer * g->n_block * g->c.inner;
}

/* The linear node whose bias input `input` of `reader` is: the reader itself or, if that is an Add,
 * what computes the other operand (a MatMul's bias is the constant of the Add behind it). NULL:
 * nothing does. */
const qdq_node *qdq_bias_linear(const qdq_node *reader, uint32_t input);

/* Is n this operator of com.microsoft, ONNX Runtime's own domain? */
bool qdq_node_is_contrib(const qdq_node *n, const char *type);

/* Does n compute with quantized values by itself: an operator of QOperator format, with data
 * quantized at run time, or with weights in blocks inside? */
bool qdq_node_is_qoperator(const qdq_node *n);

/* Is n an operator of com.microsoft that qdq writes, or reads as its counterpart of the standard
 * with Q/DQ? */
bool qdq_node_is_known_contrib(const qdq_node *n);

/* Is there a QuantizeLinear or DequantizeLinear in any graph of the model? */
bool qdq_model_has_qdq(const qdq_model *m);

#endif /* QDQ_QDQ_NODE_H */
