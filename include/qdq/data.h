/* qdq/data.h - calibration and test data: .npz, .npy, folders of them, folders of images, ONNX's
 * test data, random; arrays in memory; samples of a function of the caller. */
#ifndef QDQ_DATA_H
#define QDQ_DATA_H

#include "model.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct qdq_data qdq_data;

/* An output of a model that becomes an input at the next step of a sequence: the state of an LSTM,
 * a cache of keys and values. */
typedef struct qdq_state {
    /* name of the output, and of the input that it becomes: of one type and shape, except for dims
     * that are open in the model */
    const char *output, *input;
} qdq_state;

typedef struct qdq_data_opts {
    size_t size;
    /* size in pixels that images are scaled to; 0: the size of the model's input */
    int image_height, image_width;
    /* subtracted mean and divisor of each channel, in pixel units (0 to 255) */
    float mean[4], std[4];
    /* number of values used in mean and in std; 0: mean 0, std 1; 1: one value for all channels */
    int n_mean, n_std;
    /* "nchw" or "nhwc"; NULL: the layout that the input's shape suggests */
    const char *layout;
    /* "rgb" (default), "bgr", "gray" */
    const char *channel_order;
    /* n_shapes shapes that fix symbolic dims of inputs */
    const qdq_input_shape *shapes;
    size_t n_shapes;
    /* source of the labels: the key of an array in the .npz, the name of an array, or a file, x.npy
     * or x.npz:KEY; NULL: no labels */
    const char *labels;
    /* most samples to use; 0: all, and 8 of random data */
    size_t max_samples;
    /* its log reports skipped files and the reason; must outlive the data; may be NULL */
    const qdq_job *job;
    /* folder for samples of a source that qdq can read only once; NULL: /tmp */
    const char *temp_dir;
    /* n_states states, copied. With them each sample is a sequence, whose steps are runs of the
     * model: qdq_data_get_step() */
    const qdq_state *states;
    size_t n_states;
    /* with states: number of consecutive samples of the source that are the steps of one sequence,
     * or 0 for arrays with a time axis */
    size_t steps;
    /* key of an array of integers in the .npz, one for each sample (of a time axis: each sequence):
     * samples with one number belong together, as crops of one picture. They come one after the
     * other then, and are never on both sides of a fold or of the samples that are held out. NULL:
     * each sample is of its own */
    const char *groups;
    /* with states that are caches: names of inputs whose last dim is as long as the cache and the
     * new items together, as attention masks; ends with NULL; or NULL */
    const char *const *masks;
} qdq_data_opts;

#define QDQ_DATA_OPTS_INIT                                                                         \
    {                                                                                              \
        .size = sizeof(qdq_data_opts)                                                              \
    }

/* Opens a source of samples for the inputs of `m`. `spec` is one of:
 *
 *     x.npz          arrays named as the inputs; a single array fits a single input of any name
 *     x.npy          one array for a single input
 *     x.png, ...     an image for a single input
 *     FOLDER         of .npz or .npy files (each is a sample or a batch), or of images
 *     FOLDER         with ONNX's test data: test_data_set_N, or input_K.pb (a TensorProto for each
 *                    input, one run of the model)
 *     x.pb           one TensorProto
 *     random:SEED    seeded random values
 *
 * The first axis of an array counts samples. Arrays are split into batches of the model's batch
 * size (symbolic: 1); a remainder is dropped with a warning. Element types must match the inputs,
 * with two exceptions: wider floats are rounded, with a note in the log; and an input of 8- or
 * 16-bit quantized values is quantized with the single scale that follows it in the model. NaN and
 * infinity are QDQ_E_FORMAT. Files are read one sample at a time. *out is freed with
 * qdq_data_close().
 *
 * With states, samples are sequences. With `steps`, each sample of the source is one step, and a
 * remainder is dropped with a warning. Without, arrays of a .npz or .npy have a time axis:
 * [sequences, steps, shape of one run], where a batch of 1 may be left out; all of them have one
 * number of steps. Arrays without that axis have one value for each sequence, which is the same at
 * each step. An input that is a state may be absent, or has its value at the first step: with
 * `steps` that of the sequence's first sample, else that of the sequence. Where it is absent, it is
 * zero: an open dim is that of the same name in another input, else 0 if its name begins with
 * "past" (a cache), else 1.
 *
 * A mask has at step k the length P + (k + 1) N. P is the cache's length at the first step: the
 * first open dim of a state whose name no other input has. N is the second dim of the first input
 * that is neither a state nor a mask, or 1. Where samples have the mask, it is cut to that length;
 * where it is absent, its elements are 1.
 *
 * QDQ_E_USAGE: a state whose names are unknown or used twice, or whose types or shapes differ;
 * `steps` without states; a mask that is no such input, or without a state that grows.
 * QDQ_E_FORMAT: no time axis and no `steps`, both, or a state with a time axis; sequences of no
 * steps; a mask that is shorter than the cache. */
QDQ_API QDQ_MUST_USE qdq_status qdq_data_open(const char *spec, const qdq_model *m,
                                              const qdq_data_opts *opts, qdq_data **out,
                                              qdq_error *err);

/* The same for arrays in memory, with the rules of a .npz: `arrays` are named as the inputs, and
 * their first axis counts samples. A single array fits a single input of any name (NULL: no name).
 * Each array must be an input or the labels (qdq_data_opts.labels). The elements are borrowed until
 * qdq_data_close() and never changed; names and shapes are copied. Errors: QDQ_E_FORMAT for an
 * array that is missing, surplus or does not fit; QDQ_E_USAGE for an array whose rank, dims and
 * bytes contradict each other; QDQ_E_UNSUPPORTED for elements of less than a byte. */
QDQ_API QDQ_MUST_USE qdq_status qdq_data_from_arrays(const qdq_named_array *arrays, size_t n,
                                                     const qdq_model *m, const qdq_data_opts *opts,
                                                     qdq_data **out, qdq_error *err);

/* Functions of the caller that produce samples, one run of the model at a time. qdq calls them in
 * qdq_data_from() and in every function that takes the qdq_data, on the thread of that call. */
typedef struct qdq_data_source {
    size_t size;
    /* name of the source in messages; NULL: "samples" */
    const char *name;
    /* first argument of the functions */
    void *ctx;
    /* number of samples that `next` returns; 0: unknown */
    size_t count;
    /* Sets *in to the *n arrays of the next sample; *n = 0: the source has no more samples. The
     * arrays must stay unchanged until the next call of a function of this source. Each input of
     * the model needs an array of its name (NULL is allowed for a single input), with a shape that
     * one run of the model accepts; the batch axis may be absent if the batch is 1. The array of
     * the labels, if any, has one integer for each item of the batch. Any status but QDQ_OK ends
     * the call that needed the sample, which returns this status and this error, unchanged
     * (QDQ_E_GOAL becomes QDQ_E_USAGE). */
    qdq_status (*next)(void *ctx, const qdq_named_array **in, size_t *n, qdq_error *err);
    /* Returns to the first sample; `next` must then return the same samples in the same order.
     * NULL: qdq can read the source only once. */
    qdq_status (*rewind)(void *ctx, qdq_error *err);
} qdq_data_source;

#define QDQ_DATA_SOURCE_INIT                                                                       \
    {                                                                                              \
        .size = sizeof(qdq_data_source)                                                            \
    }

/* Opens such a source for the inputs of `m`. Elements are converted as those of files are. *source
 * is copied; what it points to must outlive the data. `opts` is as for qdq_data_open(); options of
 * images have no effect.
 *
 * The call reads at least one sample, and all of them if `count` is 0 or labels are wanted; `next`
 * must then come to an end, unless max_samples ends it. A source with `rewind` is rewound for each
 * pass; samples that a pass does not need are read and dropped. Samples of a source without
 * `rewind` go to a file in opts->temp_dir before the second one is read. This file has no name, and
 * the system removes it with the process at the latest.
 *
 * Errors: those of the functions, which every later use of the data repeats; QDQ_E_FORMAT for an
 * array that is missing, surplus or does not fit, and for a source with fewer samples than `count`
 * or than in its first pass; QDQ_E_USAGE for an array whose rank, dims and bytes contradict each
 * other; QDQ_E_IO if the file cannot be written; QDQ_E_INTERRUPTED once the cancel flag of
 * opts->job is set. *out is freed with qdq_data_close(). */
QDQ_API QDQ_MUST_USE qdq_status qdq_data_from(const qdq_data_source *source, const qdq_model *m,
                                              const qdq_data_opts *opts, qdq_data **out,
                                              qdq_error *err);

/* Frees the data; NULL is allowed. */
QDQ_API void qdq_data_close(qdq_data *d);

/* Number of samples, that is, of runs of the model. At least 1. */
QDQ_API size_t qdq_data_count(const qdq_data *d);

/* Number of steps of each sample; 1 without states. */
QDQ_API size_t qdq_data_steps(const qdq_data *d);

/* The states, borrowed until qdq_data_close(). */
QDQ_API const qdq_state *qdq_data_states(const qdq_data *d, size_t *n);

/* The arrays of sample i, one for each input, in the order of the model's inputs. *in is borrowed
 * until the next call with this data. One thread at a time may use a qdq_data. */
QDQ_API QDQ_MUST_USE qdq_status qdq_data_get(qdq_data *d, size_t i, const qdq_named_array **in,
                                             size_t *n, qdq_error *err);

/* The same for one step of sample i; qdq_data_get() is step 0. Inputs that are states have the
 * value of the first step, or what the source has in their place: after it, they are for the caller
 * to replace. */
QDQ_API QDQ_MUST_USE qdq_status qdq_data_get_step(qdq_data *d, size_t i, size_t step,
                                                  const qdq_named_array **in, size_t *n,
                                                  qdq_error *err);

/* The sample of which one run tells what runs take where lengths differ: in the middle by its
 * number of elements, of equal ones the first. Looks at up to 64 of `count` samples from `first` on
 * (0: all that follow), spread evenly, and reads none where shapes are fixed, of random data, and
 * with states: then it is `first`. QDQ_E_USAGE: there is no such sample; else errors as of
 * qdq_data_get(). */
QDQ_API QDQ_MUST_USE qdq_status qdq_data_find_typical(qdq_data *d, size_t first, size_t count,
                                                      size_t *i, qdq_error *err);

/* The *n labels of sample i, one for each item of its batch, step after step; borrowed as long as
 * the data. NULL and 0 if there are none. */
QDQ_API const int64_t *qdq_data_labels(const qdq_data *d, size_t i, size_t *n);

/* Whether the source is random:SEED; scales from random data are no calibration. */
QDQ_API bool qdq_data_is_random(const qdq_data *d);

/* Do the samples differ enough to show anything of a model? Scales and accuracy from samples that
 * do not are worth nothing for others. *why is borrowed until qdq_data_close(): "all 8 samples are
 * equal", "input 'x' has one value in all samples" (an input of floats with more than one element a
 * sample), "every input has one value in all samples"; NULL: they do, or are random. Samples are
 * read until this is ruled out, most often two; a second call reads none. Errors: those of
 * qdq_data_get(); QDQ_E_INTERRUPTED once the cancel flag of qdq_data_opts.job is set.
 *
 * What calibrates, compares or tunes asks this by itself, and logs a warning to its own job, one
 * for each source. */
QDQ_API QDQ_MUST_USE qdq_status qdq_data_find_sameness(qdq_data *d, const char **why,
                                                       qdq_error *err);

#ifdef __cplusplus
}
#endif
#endif /* QDQ_DATA_H */
