/* quantize_bias.h - the bias of a linear node between Q/DQ, in the form that integer kernels
 * add. */
#ifndef QDQ_QUANTIZE_BIAS_H
#define QDQ_QUANTIZE_BIAS_H

#include "opt/fuse/linear.h"

enum {
    /* no code below -INT32_MAX */
    QDQ_BIAS_SYMMETRIC = 1,
    /* a bias that does not fit is clipped; */
    QDQ_BIAS_SATURATE = 2,
    /* ... or stays float; without either, the scales of its weight are raised */
    QDQ_BIAS_SKIP = 4,
    /* a node without bias gets zeros */
    QDQ_BIAS_ZERO = 8,
    /* a change of its own, for which permission is needed */
    QDQ_BIAS_ASK = 16
};

/* *why: what keeps a bias of n from being codes; NULL: nothing, or its kernel adds floats (data or
 * weight are floats, floats of 8 bits or blocks). */
qdq_status qdq_bias_fits(qdq_opt *o, qdq_node *n, const char **why, qdq_error *err);

/* A node that is no candidate is left alone without a word; one that is, but may not be changed, is
 * refused. */
qdq_status qdq_bias_quantize(qdq_opt *o, qdq_node *n, unsigned policy, qdq_error *err);

/* --- the numbers (quantize_bias_range.c) ------------------------------------------------------ */

/* Bias c has weight scale c % n_scale. */
typedef struct qdq_bias_codes {
    double x_scale;
    int64_t channels, n_scale;
    /* channels */
    const double *bias;
    /* n_scale: scales of the weight */
    const double *weight;
    /* channels: the largest |code| that leaves room for the accumulator */
    const double *max_code;
    unsigned policy;
    /* out: */
    /* n_scale: what the weight's scales must be raised to; 0: nothing */
    double *least;
    /* n_scale: of the bias, for the weight's scales so raised */
    float *scale;
    /* channels */
    int32_t *code;
    bool raises;
    /* codes that were clipped, */
    int64_t saturated;
    /* ... and by how much */
    double largest_error;
} qdq_bias_codes;

/* NULL: done; else why not. */
const char *qdq_bias_encode(qdq_bias_codes *b);

/* `max_code` of a channel whose weights can make an accumulator as large as this: what is left of
 * int32, but never less than half of it, because a sum that can overflow without any bias is not
 * the bias's doing. */
double qdq_bias_room(double accumulator);

#endif /* QDQ_QUANTIZE_BIAS_H */
