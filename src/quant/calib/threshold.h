/* threshold.h - from a histogram to the range that codes should span. Values outside are clipped to
 * its bounds.
 *
 * Each search knows the codes that will be used: with a symmetric scheme it looks for one
 * magnitude, else for two bounds. Nothing that was seen lies outside the largest range, and 0 lies
 * inside every one. The same histogram gives the same range, on one thread as on many. */
#ifndef QDQ_THRESHOLD_H
#define QDQ_THRESHOLD_H

#include "quant/calib/histogram.h"
#include "target/qparam.h"

typedef struct qdq_range {
    double low, high;
} qdq_range;

/* All that was seen. The histogram must not be empty, here and below. */
qdq_range qdq_threshold_max(const qdq_histogram *h);

/* `percent` of the values stay inside: of the magnitudes if symmetric, else half of the rest is cut
 * off on either side. Interpolated inside a bin. */
qdq_range qdq_threshold_percentile(const qdq_histogram *h, const qdq_qscheme *s, double percent);

/* Least Kullback-Leibler divergence between the values and their codes. False: out of memory. */
bool qdq_threshold_entropy(const qdq_histogram *h, const qdq_qscheme *s, qdq_range *out);

/* Least squared error of what comes back from the codes. False: out of memory. */
bool qdq_threshold_mse(const qdq_histogram *h, const qdq_qscheme *s, qdq_range *out);

/* Sum over all values of the squared error that codes for this range make. False: out of memory. */
bool qdq_threshold_error(const qdq_histogram *h, const qdq_qscheme *s, qdq_range r, double *error);

#endif /* QDQ_THRESHOLD_H */
