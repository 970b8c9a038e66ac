/* histogram.h - counts of the values of one tensor, from which every threshold search works.
 *
 * Bins reach from -T to T, T a power of two above every magnitude seen. When a larger value comes,
 * T doubles and pairs of bins become one. Widths are powers of two, so edges nest and no value lies
 * between two ways of rounding: any order and any split of the same data gives the same bins, bit
 * for bit. */
#ifndef QDQ_HISTOGRAM_H
#define QDQ_HISTOGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    /* bins on each side of zero */
    QDQ_HISTOGRAM_SIDE = 4096,
    QDQ_HISTOGRAM_BINS = 2 * QDQ_HISTOGRAM_SIDE,
    /* places behind the bins: equal neighbours in memory must not wait for each other */
    QDQ_HISTOGRAM_ZEROS = 8
};

typedef struct qdq_histogram {
    /* T = 2^exponent */
    int exponent;
    /* of finite values, zeros included */
    uint64_t count;
    uint64_t n_nonfinite;
    /* of the finite values; if count > 0 */
    float low, high;
    /* Bin i holds the values between (i - SIDE) * width and (i - SIDE + 1) * width, without exact
     * zeros, which any quantization keeps and which would hide the rest behind a ReLU. They are
     * counted behind the bins. */
    uint64_t bin[QDQ_HISTOGRAM_BINS + QDQ_HISTOGRAM_ZEROS];
} qdq_histogram;

void qdq_histogram_init(qdq_histogram *h);

/* Values that are not finite are counted and left out. */
void qdq_histogram_add(qdq_histogram *h, const float *x, size_t n);

/* The exponent that values from low to high need, and the bin of one that is not 0. */
int qdq_histogram_exponent(float low, float high);
size_t qdq_histogram_bin(int exponent, float x);

/* As if what `other` got had been added to h, too. */
void qdq_histogram_merge(qdq_histogram *h, const qdq_histogram *other);

double qdq_histogram_width(const qdq_histogram *h); /* of one bin */
double qdq_histogram_amax(const qdq_histogram *h);  /* largest magnitude; 0 if count is 0 */
uint64_t qdq_histogram_zeros(const qdq_histogram *h);

#endif /* QDQ_HISTOGRAM_H */
