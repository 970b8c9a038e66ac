/* threshold_compat.h - entropy calibration as ONNX Runtime's tool does it, for ranges that must be
 * the same.
 *
 * A histogram of signed values with 128 bins, whose width the first batch fixes and which grows at
 * both ends, and a search that is quadratic in the bins (onnxruntime: quantization/calibrate.py,
 * HistogramCollector). Its results depend on the order of the data: prefer qdq_threshold_entropy()
 * where nothing is to be compared. */
#ifndef QDQ_THRESHOLD_COMPAT_H
#define QDQ_THRESHOLD_COMPAT_H

#include "quant/calib/threshold.h"

typedef struct qdq_compat {
    uint64_t *bin; /* n_bins of them, NULL before the first batch */
    size_t n_bins, first_bins;
    float threshold; /* bins reach from -threshold to threshold */
    float low, high; /* of all values */
    bool too_wide;   /* it would have taken more than QDQ_COMPAT_MAX_BINS: there is no range */
} qdq_compat;

enum { QDQ_COMPAT_BINS = 128, QDQ_COMPAT_CODES = 128, QDQ_COMPAT_MAX_BINS = 16384 };

qdq_compat qdq_compat_new(size_t bins);
void qdq_compat_free(qdq_compat *c);

/* One batch of finite values, n > 0. False: out of memory. */
bool qdq_compat_add(qdq_compat *c, const float *x, size_t n);

/* False: out of memory. `codes` is the number of groups that a window is cut into; `kl` may be
 * NULL, or takes the divergences of the windows, n_bins / 2 - codes / 2 + 1 of them. */
bool qdq_compat_range(const qdq_compat *c, size_t codes, double *kl, qdq_range *out);

#endif /* QDQ_THRESHOLD_COMPAT_H */
