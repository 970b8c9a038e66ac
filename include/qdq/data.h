/* qdq/data.h - calibration and test data: .npz, .npy, folders of them, folders of images, ONNX's
 * test data, random; arrays in memory; samples of a function of the caller. */
#ifndef QDQ_DATA_H
#define QDQ_DATA_H

#include "model.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct qdq_data qdq_data;

typedef struct qdq_data_opts {
    size_t size;
    /* 0: as the model's input says */
    int image_height, image_width;
    /* pixel units, 0 to 255; n_mean, n_std of them are used */
    float mean[4], std[4];
    /* 0: mean 0, std 1; 1: for all channels */
    int n_mean, n_std;
    /* "nchw", "nhwc"; NULL: as the input's shape suggests */
    const char *layout;
    /* "rgb" (default), "bgr", "gray" */
    const char *channel_order;
    /* fixes symbolic dims */
    const qdq_input_shape *shapes;
    size_t n_shapes;
    /* key of the labels inside the .npz, or name of their array; or a file, x.npy or x.npz:KEY;
     * NULL: none */
    const char *labels;
    /* 0: all; random: 8 */
    size_t max_samples;
    /* log: what was skipped, and why; must outlive the data */
    const qdq_job *job;
    /* folder for samples of a source that can be read only once; NULL: /tmp */
    const char *temp_dir;
} qdq_data_opts;

#define QDQ_DATA_OPTS_INIT                                                                         \
    {                                                                                              \
        .size = sizeof(qdq_data_opts)                                                              \
    }

/* Opens a source for the inputs of `m`. Spec: a file "x.npz" (arrays named as the inputs; a single
 * array fits a single input whatever its name), "x.npy", a folder of those (one file a sample or
 * batch), an image, a folder of images, a folder with ONNX's test data (test_data_set_N, or
 * input_K.pb: one TensorProto for each input, one run of the model), "x.pb", "random:SEED". The
 * first axis of an array counts samples; arrays are cut into pieces of the model's batch (symbolic:
 * 1), a remainder is dropped with a warning. Types must match the inputs (wider floats are rounded,
 * with a note; for an input of codes of 8 or 16 bits they are quantized with the one scale that
 * follows it in the model); NaN and infinity are QDQ_E_FORMAT. Files are read sample by sample, not
 * held. */
QDQ_API QDQ_MUST_USE qdq_status qdq_data_open(const char *spec, const qdq_model *m,
                                              const qdq_data_opts *opts, qdq_data **out,
                                              qdq_error *err);

/* The same for arrays in memory, with the rules of a .npz: `arrays` are named as the inputs, a
 * single array fits a single input whatever its name (NULL: no name), and their first axis counts
 * samples. Each array must be the labels (qdq_data_opts.labels) or an input. The elements are
 * borrowed until qdq_data_close(), and are not changed; names and shapes are copied. Errors:
 * QDQ_E_FORMAT for an array that is missing, surplus, or does not fit; QDQ_E_USAGE for an array
 * whose rank, dims and bytes contradict each other; QDQ_E_UNSUPPORTED for elements of less than a
 * byte. */
QDQ_API QDQ_MUST_USE qdq_status qdq_data_from_arrays(const qdq_named_array *arrays, size_t n,
                                                     const qdq_model *m, const qdq_data_opts *opts,
                                                     qdq_data **out, qdq_error *err);

/* Samples that the caller's functions produce, one run of the model at a time. The functions are
 * called from qdq_data_from() and from every function that is given the qdq_data, on the thread of
 * that call. */
typedef struct qdq_data_source {
    size_t size;
    /* stands for the source in messages; NULL: "samples" */
    const char *name;
    /* first argument of the functions */
    void *ctx;
    /* samples that `next` returns; 0: unknown */
    size_t count;
    /* Sets *in to the arrays of the next sample, *n of them, which stay unchanged until the next
     * call of a function of this source; *n = 0: there are no more samples. Each input of the model
     * has an array of its name (of a single input it may be NULL), with a shape that one run of the
     * model takes; the axis of the batch may be left out where the batch is 1. The array of the
     * labels, if any, has an integer for each item of the batch. Anything but QDQ_OK ends the call
     * that needed the sample: its result is this status and this error, unchanged (QDQ_E_GOAL
     * becomes QDQ_E_USAGE). */
    qdq_status (*next)(void *ctx, const qdq_named_array **in, size_t *n, qdq_error *err);
    /* Goes back to the first sample: `next` then returns the same samples in the same order. NULL:
     * the source can be read only once. */
    qdq_status (*rewind)(void *ctx, qdq_error *err);
} qdq_data_source;

#define QDQ_DATA_SOURCE_INIT                                                                       \
    {                                                                                              \
        .size = sizeof(qdq_data_source)                                                            \
    }

/* Opens such a source for the inputs of `m`. Elements are converted as those of files are. At least
 * one sample is read at once. All are read at once where `count` is unknown or labels are wanted;
 * then `next` must come to an end, unless max_samples ends it. A source with `rewind` is rewound
 * for each pass, and samples that a pass leaves out are read and dropped. Of a source without one,
 * samples go to a file in qdq_data_opts.temp_dir, before the second one is read; the file has no
 * name, and the system removes it with the process at the latest. *source is copied, what it points
 * to must outlive the data; NULL members of opts are as with qdq_data_open(), options of images
 * have no effect. After a function of the source has failed, each use of the data fails with the
 * same error. Errors: those of the functions; QDQ_E_FORMAT for an array that is missing, surplus,
 * or does not fit, and for a source with fewer samples than `count` or than in its first pass;
 * QDQ_E_USAGE for an array whose rank, dims and bytes contradict each other; QDQ_E_IO where the
 * file cannot be written; QDQ_E_INTERRUPTED once the cancel flag of opts->job is set. */
QDQ_API QDQ_MUST_USE qdq_status qdq_data_from(const qdq_data_source *source, const qdq_model *m,
                                              const qdq_data_opts *opts, qdq_data **out,
                                              qdq_error *err);

/* NULL is allowed */
QDQ_API void qdq_data_close(qdq_data *d);

/* Samples: runs of the model that the data is enough for. At least 1. */
QDQ_API size_t qdq_data_count(const qdq_data *d);

/* All inputs of sample i, in the order of the model's inputs. The arrays are borrowed until the
 * next call. */
QDQ_API QDQ_MUST_USE qdq_status qdq_data_get(qdq_data *d, size_t i, const qdq_named_array **in,
                                             size_t *n, qdq_error *err);

/* Labels of sample i: as many as its batch. NULL and 0 where there are none. */
QDQ_API const int64_t *qdq_data_labels(const qdq_data *d, size_t i, size_t *n);

/* True for random:SEED: scales from it are no calibration. */
QDQ_API bool qdq_data_is_random(const qdq_data *d);

#ifdef __cplusplus
}
#endif
#endif /* QDQ_DATA_H */
