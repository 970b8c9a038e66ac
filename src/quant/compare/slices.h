/* slices.h - SQNR of slices of an output: an error of boxes in pixels must not hide one of scores
 * beside them. Knows no models.
 *
 * The slices of an output lie along one axis: that with the fewest entries above 1, at most
 * QDQ_SLICES_MOST, which is not the batch and has the same length in all samples; of equal ones the
 * first. Without such an axis the whole output is one slice. Neighbouring slices form a group while
 * their ranges (of the first array, and 0) differ by less than a factor of QDQ_SLICES_FACTOR. The
 * signal of a slice is its own power, but at least the mean power of its group: a class that no
 * sample shows has scores near nothing, and is judged by the scale of its neighbours. A slice that
 * is zero everywhere has no range: it belongs to the neighbouring group with less power, and does
 * not count in that group's mean. */
#ifndef QDQ_SLICES_H
#define QDQ_SLICES_H

#include "qdq/engine.h"
#include "quant/compare/hidden.h"

enum { QDQ_SLICES_MOST = 128, QDQ_SLICES_FACTOR = 8, QDQ_SLICES_BLOCKS = 64 };

typedef struct qdq_slice_axis {
    int axis;     /* -1: the whole output is one slice */
    size_t n;     /* slices */
    size_t first; /* index of its first slice in the lists of qdq_slices */
    bool is_out;  /* a sample had another length there */
} qdq_slice_axis;

/* Zero is an empty one. Sums are kept for each sample; from the 65th sample on, samples whose
 * indexes are equal modulo 64 share them. So an output takes at most 64 * (1 + QDQ_MAX_RANK * 128)
 * * 16 bytes, 1.6 MB. */
typedef struct qdq_slices {
    qdq_slice_axis axis[QDQ_MAX_RANK + 1]; /* the whole output first */
    int n_axes, rank;
    size_t total; /* slices of all axes */
    double *low, *high;
    qdq_power_sums *block[QDQ_SLICES_BLOCKS]; /* NULL: it has no sample */
    qdq_hidden hidden;
} qdq_slices;

typedef struct qdq_slice_result {
    /* least SQNR of the whole and of its slices; NAN: zero everywhere; -INFINITY: not finite */
    double worst_db;
    int axis; /* of that slice; -1: the whole */
    size_t index;
    /* least lower bound of the whole and of its slices, with what saturation may hide (hidden.h);
     * NAN: fewer than two samples */
    double bound_db;
} qdq_slice_result;

/* Adds a sample. Both arrays have one shape; axis 0 is the batch where its length is `batch` (0:
 * never). Pairs that are not finite count as in qdq_compare_stat_add(). */
qdq_status qdq_slices_add(qdq_slices *s, size_t sample, int64_t batch, const qdq_array *a,
                          const qdq_array *b, qdq_error *err);
qdq_status qdq_slices_get(const qdq_slices *s, qdq_slice_result *out, qdq_error *err);
void qdq_slices_free(qdq_slices *s);

typedef struct qdq_slice_list {
    int axis;                   /* -1: the whole output, as one slice */
    size_t n;                   /* 0: zero everywhere, or no such axis */
    double db[QDQ_SLICES_MOST]; /* SQNR of each slice */
} qdq_slice_list;

/* Of the whole output, or of the slices of its axis. `even`: the error of a slice counts as that of
 * the worst one in its group, for in few samples a slice may be near the first array by chance.
 * `without`: this block of samples does not count; QDQ_SLICES_BLOCKS: all do. */
void qdq_slices_list(const qdq_slices *s, bool whole, bool even, size_t without,
                     qdq_slice_list *out);

/* The length of axis 0 that means the batch in outputs of a model that reads these arrays: that of
 * axis 0 of all of them that have axes; 0 if they differ (a state [2, N, 128] beside an input [N,
 * 576]) or there is none. */
int64_t qdq_slices_batch(const qdq_named_array *in, size_t n);

/* The one-sided 90 % lower bound of a statistic in dB, for as many other samples, from the
 * jackknife of n: `all` is its value, without[i] that without sample i; INFINITY is allowed. From
 * B. Efron, R. J. Tibshirani, An Introduction to the Bootstrap, chapter 11, and for other samples
 * G. J. Hahn, W. Q. Meeker, Statistical Intervals, chapter 4 (the variances of both means add up):
 *
 *     corrected = n all - (n - 1) mean
 *     deviation = sqrt((n - 1) / n * sum (without[i] - mean)^2)
 *     bound     = min(all, corrected) - t sqrt(2) deviation
 *
 * `mean` is that of all without[i]. `corrected` is Quenouille's: few samples show too few of the
 * large errors. `deviation` is Tukey's. t: Student's 90 % quantile, n - 1 degrees of freedom.
 *
 * without[i] counts as no further than QDQ_JACKKNIFE_MOST_DB from `all`, or one sample that holds
 * all of the error, or of the signal, would make the bound infinite. NAN with n < 2; `all` where
 * that is infinite. */
#define QDQ_JACKKNIFE_MOST_DB 10.0
double qdq_jackknife_bound(double all, const double *without, size_t n);

#endif /* QDQ_SLICES_H */
