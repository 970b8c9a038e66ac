/* pairs.h - which numbers of a weight kernels add first. On x86-64 without VNNI they multiply uint8
 * with int8 and add the products of two neighbours in int16, with saturation (vpmaddubsw; Intel
 * SDM, volume 2C); int8 activations are shifted to uint8. 255 times two codes of one sign fits
 * while their sum is at most 128. */
#ifndef QDQ_PAIRS_H
#define QDQ_PAIRS_H

#include "ir/qdq_node.h"

/* Numbers of one output channel in the order in which their products are added up: rows of a
 * matrix; of a convolution, computed with channels last, input channels at each place of the
 * kernel; the last dimension of an LSTM's weight. */
typedef struct qdq_pair_order {
    /* output channels, and numbers of each */
    int64_t n_out, n;
    /* elements from one output channel to the next */
    int64_t out_step;
    /* number k is at k % minor * minor_step + k / minor * major_step */
    int64_t minor, minor_step, major_step;
} qdq_pair_order;

/* How a node adds up products with the constant weight t. */
typedef enum qdq_pair_kind {
    QDQ_PAIRS_UNKNOWN,
    /* kernels for depthwise Conv add in 32 bits */
    QDQ_PAIRS_NONE,
    /* in an order that qdq_pair_order_of() knows */
    QDQ_PAIRS_KNOWN
} qdq_pair_kind;

qdq_pair_kind qdq_pair_kind_of(const qdq_node *n, const qdq_tensor *t);

/* `axis` is that of the output channels. False: a form whose order is not known. */
bool qdq_pair_order_of(const qdq_tensor *t, int axis, qdq_pair_order *out);

/* How many pairs of these int8 codes can saturate, whatever the activations are. */
int64_t qdq_pairs_saturating(const qdq_pair_order *o, const void *codes);

/* Widens the ranges of t, whose numbers w are and whose scales lie as g has them, one for each
 * output channel, to those of the sums of pairs, so that no two codes of a symmetric scheme of 127
 * steps have a sum above 128. QDQ_E_FORMAT if the order is not known, or the scales are others;
 * QDQ_E_INTERRUPTED. `cancel` may be NULL. */
qdq_status qdq_pairs_widen(const float *w, const qdq_tensor *t, int axis, const qdq_scale_grid *g,
                           const qdq_cancel *cancel, float *low, float *high, qdq_error *err);

#endif /* QDQ_PAIRS_H */
