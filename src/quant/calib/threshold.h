/* threshold.h - finds the range that quantized values span from a histogram. Values outside are
 * clipped to its bounds.
 *
 * Each search depends on the type of quantized values: with a symmetric scheme it finds one
 * magnitude, else two bounds. The largest range has all values, and every range has 0. The same
 * histogram gives the same range, with any number of threads. */
#ifndef QDQ_THRESHOLD_H
#define QDQ_THRESHOLD_H

#include "quant/calib/histogram.h"
#include "target/qparam.h"

typedef struct qdq_range {
    double low, high;
} qdq_range;

/* The range of all values. Here and below, the histogram must not be empty. */
qdq_range qdq_threshold_max(const qdq_histogram *h);

/* The range that `percent` of the values are inside: of the magnitudes if symmetric, else half of
 * the remainder is cut off at either side. Interpolated inside a bin. */
qdq_range qdq_threshold_percentile(const qdq_histogram *h, const qdq_qscheme *s, double percent);

/* Least Kullback-Leibler divergence between values and quantized values. False: out of memory. */
bool qdq_threshold_entropy(const qdq_histogram *h, const qdq_qscheme *s, qdq_range *out);

/* Least squared error of dequantized values. False: out of memory. */
bool qdq_threshold_mse(const qdq_histogram *h, const qdq_qscheme *s, qdq_range *out);

/* Sum over all values of the squared error of this range. False: out of memory. */
bool qdq_threshold_error(const qdq_histogram *h, const qdq_qscheme *s, qdq_range r, double *error);

#endif /* QDQ_THRESHOLD_H */
