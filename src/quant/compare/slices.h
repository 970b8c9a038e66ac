/* slices.h - SQNR of slices of an output, so that errors of scores are visible next to boxes in
 * pixels. Knows no models.
 *
 * The slices of an output lie along one axis: not the batch, the one with the fewest entries above
 * 1 (the first of several), at most QDQ_SLICES_MOST, and as long in all samples. Without such an
 * axis, the whole output is one slice. A group is a run of neighbouring slices whose ranges (of the
 * first array, and 0) differ by less than a factor of QDQ_SLICES_FACTOR. The signal of a slice is
 * its own power, but at least the mean power of its group: a class without samples has scores near
 * 0, and is evaluated on the scale of its neighbours. A slice that is zero everywhere has no range:
 * it belongs to the neighbouring group with less power, and does not count in that group's mean. */
#ifndef QDQ_SLICES_H
#define QDQ_SLICES_H

#include "qdq/engine.h"
#include "quant/compare/hidden.h"

enum { QDQ_SLICES_MOST = 128, QDQ_SLICES_FACTOR = 8, QDQ_SLICES_BLOCKS = 64 };

typedef struct qdq_slice_axis {
    /* -1: the whole output is one slice */
    int axis;
    /* number of slices */
    size_t n;
    /* index of its first slice in the lists of qdq_slices */
    size_t first;
    /* a sample has another length along it */
    bool is_out;
} qdq_slice_axis;

/* Empty if zero. Sums are kept for each sample; from the 65th sample on, samples with equal indices
 * modulo 64 share them. So an output takes at most 64 * (1 + QDQ_MAX_RANK * 128) * 16 bytes, 1.6
 * MB. */
typedef struct qdq_slices {
    /* the whole output first */
    qdq_slice_axis axis[QDQ_MAX_RANK + 1];
    int n_axes, rank;
    /* number of slices of all axes */
    size_t total;
    double *low, *high;
    /* NULL: no sample */
    qdq_power_sums *block[QDQ_SLICES_BLOCKS];
    qdq_hidden hidden;
} qdq_slices;

typedef struct qdq_slice_result {
    /* least SQNR of the whole and of its slices; NAN: zero everywhere; -INFINITY: not finite */
    double worst_db;
    /* axis of that slice; -1: the whole */
    int axis;
    size_t index;
    /* lower bound of the least SQNR of the whole and of its slices, with the error that saturation
     * may hide (hidden.h); NAN: fewer than two samples. Of slices it is the lesser of two: that of
     * their least, and the least of a group with the mean variance of its slices. */
    double bound_db;
} qdq_slice_result;

/* Adds a sample. Both arrays have one shape; axis 0 is the batch if its length is `batch` (0:
 * never). Pairs that are not finite count as in qdq_compare_stat_add(). */
qdq_status qdq_slices_add(qdq_slices *s, size_t sample, int64_t batch, const qdq_array *a,
                          const qdq_array *b, qdq_error *err);
qdq_status qdq_slices_get(const qdq_slices *s, qdq_slice_result *out, qdq_error *err);
void qdq_slices_free(qdq_slices *s);

typedef struct qdq_slice_list {
    /* -1: the whole output, as one slice */
    int axis;
    /* 0: zero everywhere, or no such axis */
    size_t n;
    /* SQNR of each slice */
    double db[QDQ_SLICES_MOST];
} qdq_slice_list;

/* SQNR of the whole output, or of the slices of its axis. `even`: the error of a slice counts as
 * that of the worst one in its group, because in few samples a slice may be near the first array by
 * chance. `without`: this block of samples does not count; QDQ_SLICES_BLOCKS: all count. */
void qdq_slices_list(const qdq_slices *s, bool whole, bool even, size_t without,
                     qdq_slice_list *out);

/* The length of axis 0 that is the batch in outputs of a model with these inputs: that of axis 0 of
 * all inputs with axes; 0 if they differ (a state [2, N, 128] next to an input [N, 576]) or none
 * has an axis. */
int64_t qdq_slices_batch(const qdq_named_array *in, size_t n);

/* The one-sided 90 % lower bound of a statistic in dB, for equally many other samples, from the
 * jackknife of n. `all` is its value, and without[i] the value without sample i; INFINITY is
 * allowed. From B. Efron, R. J. Tibshirani, An Introduction to the Bootstrap, chapter 11, and for
 * other samples G. J. Hahn, W. Q. Meeker, Statistical Intervals, chapter 4 (the variances of both
 * means add up):
 *
 *     corrected = n all - (n - 1) mean
 *     deviation = sqrt((n - 1) / n * sum (without[i] - mean)^2)
 *     bound     = min(all, corrected) - t sqrt(2) deviation
 *
 * `mean` is that of all without[i]. `corrected` is Quenouille's: few samples have too few of the
 * large errors. `deviation` is Tukey's. t: Student's 90 % quantile, n - 1 degrees of freedom.
 *
 * without[i] is clipped to QDQ_JACKKNIFE_MOST_DB from `all`, because one sample with all of the
 * error, or of the signal, would make the bound infinite. NAN if n < 2; `all` if that is
 * infinite. */
#define QDQ_JACKKNIFE_MOST_DB 10.0
double qdq_jackknife_bound(double all, const double *without, size_t n);

#endif /* QDQ_SLICES_H */
