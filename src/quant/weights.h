/* weights.h - constant tensors in 8 bits: scales per channel, codes, and int32 biases. */
#ifndef QDQ_WEIGHTS_H
#define QDQ_WEIGHTS_H

#include "ir/ir.h"
#include "target/qparam.h"

/* A tensor seen as [outer, channels, inner]; axis -1: one channel. */
typedef struct qdq_channels {
    size_t outer, channels, inner;
} qdq_channels;

/* QDQ_E_FORMAT if the axis is beyond the rank. */
qdq_status qdq_channels_of(const qdq_tensor *t, int axis, qdq_channels *out, qdq_error *err);

/* The float32 elements of t, aligned: in place if they lie so, else in `scratch`. */
qdq_status qdq_weight_floats(const qdq_tensor *t, qdq_arena *scratch, const float **out, qdq_error *err);

/* absmax / highest code for each channel, symmetric. A value that is not finite is QDQ_E_FORMAT. */
qdq_status qdq_weight_scales(const float *w, const qdq_channels *c, const qdq_qscheme *s, float *scales,
                             qdq_error *err);

/* Codes of w, zero point 0. */
void qdq_weight_codes(const float *w, const qdq_channels *c, const float *scales, int8_t *codes);
/* The inverse. */
void qdq_weight_decode(const int8_t *codes, const qdq_channels *c, const float *scales, float *w);

/* The scale of a DequantizeLinear that has one, constant, above 0. */
bool qdq_dequantize_scale(const qdq_node *dq, float *scale);

#endif /* QDQ_WEIGHTS_H */
