/* calib_statistics.h - what observers of some samples have seen, apart from the samples: it is
 * merged with that of others, written and read, and becomes the state of observers.
 *
 * A file is {"qdq_statistics": 1, ..., "tensors": [...]}. Histograms and lists of bounds are sparse
 * arrays in one text, "4096:c,5;5000:1" (hexadecimal: index, then the values from there on), so
 * that a file grows with what was seen. Tensors are in order of their names, data sources in order
 * of their hashes, sample numbers in maximal ranges: equal statistics have equal bytes. */
#ifndef QDQ_CALIB_STATISTICS_H
#define QDQ_CALIB_STATISTICS_H

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "qdq/statistics.h"
#include "quant/calib/observer.h"

/* Values that are not 0, by index, ascending. */
typedef struct qdq_counts {
    size_t n;
    uint64_t *index, *value;
} qdq_counts;

/* Of the values of one tensor. */
typedef struct qdq_seen_values {
    /* of finite values, and of others */
    uint64_t count, n_nonfinite;
    /* smallest and largest finite value; 0 without one */
    float low, high;
    /* of a histogram; of methods without one all 0 */
    uint64_t zeros;
    qdq_counts bins;
} qdq_seen_values;

typedef struct qdq_seen_tensor {
    const char *name;
    qdq_seen_values all;
    /* of samples that are held out, by QDQ_METHOD_AUTO alone; then not in `all` */
    qdq_seen_values held_out;
    /* of moving-average: number of the run (sample * steps + step) -> its bounds (qdq_pack_bounds)
     */
    qdq_counts bounds;
} qdq_seen_tensor;

/* Sample numbers from `first` to `last`. */
typedef struct qdq_sample_range {
    uint64_t first, last;
    /* file that has them, for messages; "": collected here */
    const char *file;
} qdq_sample_range;

typedef QDQ_VEC(qdq_sample_range) qdq_sample_ranges;

/* Data that samples are from. */
typedef struct qdq_sample_source {
    /* 32 hexadecimal digits: number of samples and steps, and up to 8 samples of them */
    const char *hash;
    /* number of its samples, and of those that may be taken (qdq_quantize_opts.samples) */
    uint64_t count, limit;
    uint64_t steps;
    /* ascending; adjacent ones are from different files */
    qdq_sample_ranges taken;
} qdq_sample_source;

typedef QDQ_VEC(qdq_sample_source) qdq_sample_sources;
typedef QDQ_VEC(qdq_seen_tensor) qdq_seen_tensors;

struct qdq_statistics {
    qdq_arena arena;
    qdq_statistics_summary summary;
    /* fingerprint of the cleaned model, whose tensors these are */
    const char *cleaned;
    /* what messages call it; "": collected here */
    const char *name;
    qdq_sample_sources sources;
    qdq_seen_tensors tensors;
    /* name of a tensor -> its number */
    qdq_map by_name;
};

/* Empty ones; NULL: out of memory. */
qdq_statistics *qdq_statistics_new(void);

/* Sorts, fills the summary and the map. False: out of memory. */
bool qdq_statistics_finish(qdq_statistics *s);

/* The tensor; NULL: there is none. */
const qdq_seen_tensor *qdq_statistics_find(const qdq_statistics *s, const char *tensor);

/* Puts what was seen of a tensor into a new observer of the method of the statistics, or of
 * QDQ_METHOD_MAX, for which all statistics serve. */
void qdq_statistics_restore(const qdq_statistics *s, const qdq_seen_tensor *t, qdq_method method,
                            qdq_observer *o);

/* A histogram as sparse values, and back. False: out of memory. */
bool qdq_seen_from_histogram(qdq_arena *arena, const qdq_histogram *h, qdq_seen_values *out);
void qdq_seen_to_histogram(const qdq_seen_values *v, qdq_histogram *out);

/* Bounds of one run in 64 bits, which are not 0, and back. */
uint64_t qdq_pack_bounds(float low, float high);
void qdq_unpack_bounds(uint64_t bits, float *low, float *high);

bool qdq_method_has_histogram(qdq_method m);

#endif /* QDQ_CALIB_STATISTICS_H */
