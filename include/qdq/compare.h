/* qdq/compare.h - compares the outputs of two models on data. */
#ifndef QDQ_COMPARE_H
#define QDQ_COMPARE_H

#include "data.h"
#include "engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* At this SQNR, in dB, two scores differ by so little that noise may exchange them
 * (qdq_compare_tensor.top1_close): that of the default goal. */
#define QDQ_TIE_DB 20.0

/* The difference between an output of model b and the same output of model a. SQNR is 10 log10(sum
 * a^2 / sum (a-b)^2) in dB, over all samples.
 *
 * An output is compared as a whole and slice by slice. Slices lie along one axis: not the batch,
 * the one with the fewest entries above 1 (the first of several), at most 128, and as long in all
 * samples. An output with longer axes only, such as 1,000 classes, has no slices. The signal of a
 * slice is its own power, but at least the mean power of its group. A group is a run of
 * neighbouring slices whose ranges in a differ by less than a factor of 8. A slice that is zero
 * everywhere in a belongs to the neighbouring group with less power. */
typedef struct qdq_compare_tensor {
    const char *name;
    /* its shape depends on data and differs in b: all SQNR are -INFINITY */
    bool other_shape;
    /* SQNR of the whole output, in dB. INFINITY: equal. NAN: a is zero everywhere, so that the
     * output proves nothing. -INFINITY: only one of a and b is finite. */
    double sqnr_db;
    /* least SQNR of the whole and of its slices, in dB; NAN as sqnr_db */
    double worst_db;
    /* axis of the worst slice; -1: the whole is worst, or there are no slices */
    int axis;
    /* index of the worst slice along that axis */
    size_t index;
    /* Lower bound of SQNR on equally many other samples, in dB: one-sided, 90 %, the least of the
     * whole and of its slices. NAN: fewer than two samples. Method: jackknife over samples, in dB
     * (Efron and Tibshirani, An Introduction to the Bootstrap, chapter 11), of the least slice,
     * with at least the mean variance of the slices of its group. If a gives at most 256 scores in
     * [0, 1], the bound includes the error that saturation may hide: that of undecided scores (p =
     * 1/2) in a fraction 1 - 0.1^(1/N) of the samples. N is the number of scores, or of rows that
     * add up to 1. */
    double bound_db;
    /* cosine similarity of all elements as one vector; NAN: a or b is zero everywhere */
    double cosine;
    /* largest |a - b| */
    double max_abs;
    /* largest minus smallest element of a, with 0 counted as an element */
    double range;
    /* mean of a^2 */
    double power;
    /* fraction of rows (along the last axis) with the same argmax; NAN: the rows are not scores of
     * classes. Scores are rows that add up to 1, their logarithms, rows with labels, and in rank 1
     * or 2 rows with both signs and ten columns or more. */
    double top1;
    /* As top1, and rows of ties count, too: a's largest element and b's choice differ in a by at
     * most sqrt(2) times the row's RMS at QDQ_TIE_DB, the standard deviation that white noise of
     * that SQNR gives to the difference of two elements. */
    double top1_close;
    /* fraction of elements on the same side of 0.5; NAN: not all of a is in [0, 1] */
    double half_agreement;
    /* number of elements compared, over all samples */
    uint64_t elements;
    /* number of these that differ */
    uint64_t unequal;
    /* element type in a */
    qdq_elem elem;
} qdq_compare_tensor;

typedef struct qdq_compare_result {
    /* n_outputs graph outputs that both models have, in the order of a. If the shape of an output
     * depends on data, it is replaced by the inner float values that decide the shape (names as in
     * a), unless its shape differed. */
    qdq_compare_tensor *outputs;
    size_t n_outputs;
    /* index of the output with the least worst_db; an output without signal is the worst */
    size_t worst;
    /* worst_db of that output */
    double worst_db;
    /* least bound_db of all outputs */
    double bound_db;
    /* top1 of the first output */
    double top1_agreement;
    /* fraction of samples that match their label; NAN: no labels */
    double accuracy_a, accuracy_b;
    size_t samples;
} qdq_compare_result;

/* Describes the worst slice of an output: ", axis 1, index 4"; "" for the whole. Writes at most
 * `size` bytes to `text` and returns it. */
QDQ_API const char *qdq_compare_place(const qdq_compare_tensor *t, char *text, size_t size);

typedef struct qdq_compare_opts {
    size_t size;
    int threads;
    const qdq_input_shape *shapes;
    size_t n_shapes;
    /* range of samples: the first one, and how many; count 0: to the end */
    size_t first, count;
    /* compute Q/DQ in float: compare the graphs, without the engine's 8-bit kernels */
    bool fake_quant;
    const qdq_job *job;
    /* rows of the first output are scores of classes, whatever their numbers: it has a top1 */
    bool scores;
} qdq_compare_opts;

#define QDQ_COMPARE_OPTS_INIT                                                                      \
    {                                                                                              \
        .size = sizeof(qdq_compare_opts)                                                           \
    }

/* Runs both models on the data. With states (qdq_data_opts.states) the steps of a sample run one
 * after the other, each model on its own states, and a whole sequence counts as one sample. *out is
 * freed with qdq_free() (one block). QDQ_E_FORMAT: outputs have different shapes, no output is
 * common, or the second model lacks the output of a state. */
QDQ_API QDQ_MUST_USE qdq_status qdq_compare(qdq_engine *e, const qdq_model *a, const qdq_model *b,
                                            qdq_data *d, const qdq_compare_opts *opts,
                                            qdq_compare_result **out, qdq_error *err);

/* --- the error of each layer ------------------------------------------------------------------ */

/* Inner values of both models are matched by name, through Q/DQ. The nodes of b between matched
 * values form a layer, named after the node that produces its value. Each layer is also run in
 * isolation, on the values that model a has before it. The error of its result is the error that
 * this layer introduces, without the errors of earlier layers:
 *
 *     error = sum (y' - y)^2 / sum y^2
 *
 * Here y is the value in a, and y' is what b's layer computes from a's values. The Q/DQ before a
 * layer belong to it, and those after it to its consumers. */

typedef struct qdq_compare_layer {
    /* label and operator of the node in b */
    const char *node, *op;
    /* Name of the value in a. It is value.name, unless passes gave the layer in b the name of an
     * earlier value, as for a Conv with a folded BatchNormalization. */
    const char *name_in_a;
    /* the layer has Q or DQ; false: it introduces no error */
    bool quantized;
    /* it is not quantized, or its Q/DQ only convert what it reads: an 8-bit kernel gives a float
     * result without Q after it for products alone (Conv, ConvTranspose, Gemm, MatMul, LSTM, GRU)
     */
    bool in_float;
    /* the introduced error; INFINITY: the value is zero everywhere in a and not in b */
    double error;
    /* the introduced error as SQNR, cosine, ...: of the layer in isolation. The worst slice is
     * known for values that only moves, sums and scales separate from outputs */
    qdq_compare_tensor introduced;
    /* the same value in a run of the whole model b, as its producer computes it */
    qdq_compare_tensor value;
    /* SQNR of the value as its consumers read it, after Q and DQ, in dB; NAN without Q/DQ */
    double read_sqnr_db;
} qdq_compare_layer;

typedef struct qdq_compare_layers_result {
    /* n_layers layers, the largest error first */
    qdq_compare_layer *layers;
    size_t n_layers;
    /* names of inner float values without a match in the other model: renamed or fused away */
    const char **unmatched_a;
    size_t n_unmatched_a;
    const char **unmatched_b;
    size_t n_unmatched_b;
    size_t samples;
} qdq_compare_layers_result;

/* Runs both models on the data, several times if the values take more than about 128 MiB at once.
 * *out is freed with qdq_free() (one block). QDQ_E_UNSUPPORTED: the engine does not expose inner
 * values. */
QDQ_API QDQ_MUST_USE qdq_status qdq_compare_layers(qdq_engine *e, const qdq_model *a,
                                                   const qdq_model *b, qdq_data *d,
                                                   const qdq_compare_opts *opts,
                                                   qdq_compare_layers_result **out, qdq_error *err);

/* --- do two models compute the same? ---------------------------------------------------------- */

/* Which differences count as the same depends on an output's type. Floats may differ by 1e-5 of the
 * output's range, 16-bit floats by 1e-2, 8-bit floats by 1e-1; integers of up to 8 bits by one
 * step, wider integers not at all. NaN equals NaN. If the models differ by more, the first model is
 * also run with and without the engine's optimizations: floats may then differ by twice that
 * difference, up to 1e-2. If one of the models has Q/DQ, a difference in the last digit of a float
 * may change a rounding and all that follows. Then Q/DQ are computed in float, and floats of any
 * size are the same if their SQNR reaches QDQ_SAME_SQNR_DB. */
#define QDQ_SAME_SQNR_DB 40.0

typedef struct qdq_same_result {
    bool same;
    /* an output has a signal in the first model; false: nothing was shown */
    bool proven;
    /* if not: the output, what was found, what was expected; else "" */
    const char *why;
    /* owned by the result; NULL: a runs and b does not */
    qdq_compare_result *compared;
} qdq_same_result;

/* Runs both models on the data. If b fails where a runs, or has other outputs, the models are not
 * the same; a failure of a is an error. A `tolerance` above 0 is the allowed difference of floats
 * as a fraction of the range, with or without Q/DQ. opts->fake_quant is ignored. *out is freed with
 * qdq_same_result_free(). */
QDQ_API QDQ_MUST_USE qdq_status qdq_compare_same(qdq_engine *e, const qdq_model *a,
                                                 const qdq_model *b, qdq_data *d,
                                                 const qdq_compare_opts *opts, double tolerance,
                                                 qdq_same_result **out, qdq_error *err);
/* Frees a result; NULL is allowed. */
QDQ_API void qdq_same_result_free(qdq_same_result *r);

#ifdef __cplusplus
}
#endif
#endif /* QDQ_COMPARE_H */
