/* qdq/compare.h - compares the outputs of two models on data. */
#ifndef QDQ_COMPARE_H
#define QDQ_COMPARE_H

#include "data.h"
#include "engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* How far one output of b is from that of a. SQNR is 10 log10(sum a^2 / sum (a-b)^2) in dB, over
 * all samples.
 *
 * An output is evaluated as a whole and slice by slice: slices lie along the axis, not the batch,
 * with the fewest entries above 1, at most 128, that has the same length in all samples (of equal
 * ones the first); a longer axis, as one of 1,000 classes, is none. The signal of a slice is its
 * own power, but at least the mean power of its group: neighbouring slices form a group while their
 * ranges in a differ by less than a factor of 8. A slice that is zero everywhere in a belongs to
 * the neighbouring group with less power. */
typedef struct qdq_compare_tensor {
    const char *name;
    /* its shape depends on data, and was another one in b: all SQNR are -INFINITY */
    bool other_shape;
    /* of the whole; INFINITY when equal; NAN when a is zero everywhere: such a tensor proves
     * nothing; -INFINITY where b is not finite and a is, or the other way round */
    double sqnr_db;
    /* least of the whole and of its slices; NAN as sqnr_db */
    double worst_db;
    /* of the worst slice; -1: the whole is worst, or it has no slices */
    int axis;
    /* of the worst slice along that axis */
    size_t index;
    /* One-sided 90 % lower bound of SQNR on as many other samples, the least of the whole and of
     * its slices; NAN with fewer than two samples. It is the jackknife over samples, in dB: Efron
     * and Tibshirani, An Introduction to the Bootstrap, chapter 11. Where float gives at most 256
     * scores in [0, 1], it includes the error that saturation may hide: that of undecided scores (p
     * = 1/2) in a share 1 - 0.1^(1/N) of the samples, N the number of scores or of rows that add up
     * to 1. */
    double bound_db;
    /* of all elements as one vector; NAN when a or b is zero everywhere */
    double cosine;
    /* largest |a - b| */
    double max_abs;
    /* from the smallest to the largest element of a, or to 0 if that is further */
    double range;
    /* mean of a^2 */
    double power;
    /* fraction of rows, along the last axis, with the same argmax; NAN where rows are no scores of
     * classes. Scores are rows that add up to 1, their logarithms, rows with labels, and in rank 1
     * or 2 those of ten columns or more with both signs */
    double top1;
    /* fraction of elements on the same side of 0.5; NAN where a is not all in [0, 1] */
    double half_agreement;
    /* compared, over all samples */
    uint64_t elements;
    /* of them */
    uint64_t unequal;
    /* of a */
    qdq_elem elem;
} qdq_compare_tensor;

typedef struct qdq_compare_result {
    /* Graph outputs that both have, in order of the first. Where the shape of one depends on data,
     * the inner float values that decide it stand after them (names as in a), and that output is
     * left out unless its shape was another one. */
    qdq_compare_tensor *outputs;
    size_t n_outputs;
    /* index of the output with the least worst_db; one without signal is the worst */
    size_t worst;
    /* of that output */
    double worst_db;
    /* least of all outputs' */
    double bound_db;
    /* top1 of the first output */
    double top1_agreement;
    /* against labels; NAN without */
    double accuracy_a, accuracy_b;
    size_t samples;
} qdq_compare_result;

/* Where an output is worst: ", axis 1, index 4", or "" for the whole of it. Returns `text`. */
QDQ_API const char *qdq_compare_place(const qdq_compare_tensor *t, char *text, size_t size);

typedef struct qdq_compare_opts {
    size_t size;
    int threads;
    const qdq_input_shape *shapes;
    size_t n_shapes;
    /* range of samples; count 0: to the end */
    size_t first, count;
    /* Q/DQ in float: what the graphs say, not what the engine makes of it */
    bool fake_quant;
    const qdq_job *job;
} qdq_compare_opts;

#define QDQ_COMPARE_OPTS_INIT                                                                      \
    {                                                                                              \
        .size = sizeof(qdq_compare_opts)                                                           \
    }

/* Runs both models on the data. *out is one block, freed with qdq_free(). Outputs of different
 * shape, or no output in common, are QDQ_E_FORMAT. */
QDQ_API QDQ_MUST_USE qdq_status qdq_compare(qdq_engine *e, const qdq_model *a, const qdq_model *b,
                                            qdq_data *d, const qdq_compare_opts *opts,
                                            qdq_compare_result **out, qdq_error *err);

/* --- the error of each layer ------------------------------------------------------------------ */

/* Both models' inner values are matched by name, through Q/DQ. What is between matched values of b
 * is a layer, named after the node that makes its value. Each layer is also run alone, on the
 * values that the model a has before it: the error of its result is what this layer
 * introduced, and not what came from layers before it:
 *
 *     error = sum (y' - y)^2 / sum y^2
 *
 * with y the value in a, and y' what b's layer makes of a's values.
 *
 * The Q/DQ before a layer belong to it, those after it to its consumers. */

typedef struct qdq_compare_layer {
    /* of b: label and operator */
    const char *node, *op;
    /* The value of a: value.name, unless passes gave b's layer the name of what it reads, as a Conv
     * that a BatchNormalization was folded into has. */
    const char *of_a;
    /* the layer holds Q or DQ; if not, it introduces nothing */
    bool quantized;
    /* introduced; 0 if none, INFINITY if the value is zero everywhere but not in b */
    double error;
    /* the same as SQNR, cosine, ..: of the layer alone. The worst slice is known of values that
     * only moves, sums and scales part from outputs */
    qdq_compare_tensor introduced;
    /* in the run of all of b, as its producer makes it */
    qdq_compare_tensor value;
    /* SQNR of the value as its consumers read it, after Q and DQ; NAN without them */
    double read_sqnr_db;
} qdq_compare_layer;

typedef struct qdq_compare_layers_result {
    /* the largest error first */
    qdq_compare_layer *layers;
    size_t n_layers;
    /* inner float values that the other one does not have under that name: renamed */
    const char **unmatched_a;
    /* or fused away */
    size_t n_unmatched_a;
    const char **unmatched_b;
    size_t n_unmatched_b;
    size_t samples;
} qdq_compare_layers_result;

/* Runs both models on the data, as often as it takes to hold no more than some 128 MiB of values at
 * a time. *out is one block, freed with qdq_free(). QDQ_E_UNSUPPORTED where the engine shows no
 * inner values. */
QDQ_API QDQ_MUST_USE qdq_status qdq_compare_layers(qdq_engine *e, const qdq_model *a,
                                                   const qdq_model *b, qdq_data *d,
                                                   const qdq_compare_opts *opts,
                                                   qdq_compare_layers_result **out, qdq_error *err);

/* --- do two models compute the same? ---------------------------------------------------------- */

/* What is the same depends on the type of an output: floats may be apart by 1e-5 of the output's
 * range, 16-bit floats by 1e-2, 8-bit floats by 1e-1; integers of 8 bits and less by one step,
 * others not at all. NaN is the same as NaN. Floats may also be apart by twice what the engine
 * differs from itself, for the first model, with and without its optimizations, up to 1e-2: that is
 * asked where the models differ by more than the above. Where there is Q/DQ in one of the models, a
 * difference in the last digit of a float may tip a rounding, and what follows: then Q/DQ are
 * computed in float, and floats of any size may be apart if they have an SQNR of
 * QDQ_SAME_SQNR_DB. */
#define QDQ_SAME_SQNR_DB 40.0

typedef struct qdq_same_result {
    bool same;
    /* an output has a signal in the first model: else nothing was shown */
    bool proven;
    /* if not: which output, what was found, what was expected; "" */
    const char *why;
    /* owned by the result; NULL if b does not run where a does */
    qdq_compare_result *compared;
} qdq_same_result;

/* Runs both models on the data. A model b that does not run where a does, or has other outputs, is
 * not the same; what fails for a is an error. With a `tolerance` above 0, floats may be apart by
 * that share of the range instead, with Q/DQ or without. Of opts, fake_quant is not used. *out is
 * freed with qdq_same_result_free(). */
QDQ_API QDQ_MUST_USE qdq_status qdq_compare_same(qdq_engine *e, const qdq_model *a,
                                                 const qdq_model *b, qdq_data *d,
                                                 const qdq_compare_opts *opts, double tolerance,
                                                 qdq_same_result **out, qdq_error *err);
/* NULL is allowed */
QDQ_API void qdq_same_result_free(qdq_same_result *r);

#ifdef __cplusplus
}
#endif
#endif /* QDQ_COMPARE_H */
