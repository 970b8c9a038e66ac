/* weights.h - constant tensors in 8 bits: scales per channel, codes, and int32 biases. */
#ifndef QDQ_WEIGHTS_H
#define QDQ_WEIGHTS_H

#include "ir/qdq_node.h"
#include "target/qparam.h"

/* The float32 elements of t, aligned: in place if they lie so, else in `scratch`. */
qdq_status qdq_weight_floats(const qdq_tensor *t, qdq_arena *scratch, const float **out, qdq_error *err);

/* absmax / highest code for each channel, symmetric. A value that is not finite is QDQ_E_FORMAT. */
qdq_status qdq_weight_scales(const float *w, const qdq_channels *c, const qdq_qscheme *s, float *scales,
                             qdq_error *err);

/* Codes of w, zero point 0. */
void qdq_weight_codes(const float *w, const qdq_channels *c, const float *scales, int8_t *codes);
/* The inverse. */
void qdq_weight_decode(const int8_t *codes, const qdq_channels *c, const float *scales, float *w);

#endif /* QDQ_WEIGHTS_H */
