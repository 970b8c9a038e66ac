/* threshold_compat.h - entropy calibration as ONNX Runtime's tool computes it, for equal ranges.
 *
 * It uses a histogram of signed values with 128 bins, whose width the first batch decides and which
 * grows at both ends, and a search that is quadratic in the bins (onnxruntime:
 * quantization/calibrate.py, HistogramCollector). Its results depend on the order of the data;
 * otherwise prefer qdq_threshold_entropy(). */
#ifndef QDQ_THRESHOLD_COMPAT_H
#define QDQ_THRESHOLD_COMPAT_H

#include "quant/calib/threshold.h"

typedef struct qdq_compat {
    /* n_bins bins, NULL before the first batch */
    uint64_t *bin;
    size_t n_bins, first_bins;
    /* bins range from -threshold to threshold */
    float threshold;
    /* range of all values */
    float low, high;
    /* more than QDQ_COMPAT_MAX_BINS would be needed: there is no range */
    bool too_wide;
} qdq_compat;

enum { QDQ_COMPAT_BINS = 128, QDQ_COMPAT_CODES = 128, QDQ_COMPAT_MAX_BINS = 16384 };

qdq_compat qdq_compat_new(size_t bins);
void qdq_compat_free(qdq_compat *c);

/* Adds one batch of finite values, n > 0. False: out of memory. */
bool qdq_compat_add(qdq_compat *c, const float *x, size_t n);

/* Finds the range. False: out of memory. `codes` is the number of groups that a window is split
 * into. `kl` may be NULL, or receives the divergences of the n_bins / 2 - codes / 2 + 1 windows. */
bool qdq_compat_range(const qdq_compat *c, size_t codes, double *kl, qdq_range *out);

#endif /* QDQ_THRESHOLD_COMPAT_H */
