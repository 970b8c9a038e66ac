/* qdq/data.h - calibration and test data: .npz, .npy, folders of them, folders of images, ONNX's
 * test data, random. */
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
    /* key of the labels inside the .npz; or a file, x.npy or x.npz:KEY; NULL: none */
    const char *labels;
    /* 0: all; random: 8 */
    size_t max_samples;
    /* log: what was skipped, and why */
    const qdq_job *job;
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
