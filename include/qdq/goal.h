/* qdq/goal.h - quantization with an accuracy goal: layers return to float until it holds. */
#ifndef QDQ_GOAL_H
#define QDQ_GOAL_H

#include "compare.h"
#include "quant.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The goal of `qdq quantize` where the user names none, in dB. */
#define QDQ_DEFAULT_MIN_SQNR 20.0

/* What a default goal asks of rows that are scores of more than 128 classes: this share of them has
 * the same argmax, or all but one where there are 20 rows or fewer. */
#define QDQ_DEFAULT_AGREEMENT 0.95

/* --- a metric of the caller ------------------------------------------------------------------- */

/* A model that is measured; it lives for the call of the metric. */
typedef struct qdq_metric_run qdq_metric_run;

/* Runs the model once, on the engine, with the threads and the input shapes of the search. `in` is
 * as for qdq_session_run(), in the types of the input model. *out are all *n_out outputs, in the
 * order of the model; they are borrowed until the next run and are not to be freed. Errors: as
 * qdq_session_open() and qdq_session_run(); QDQ_E_INTERRUPTED once the cancel flag is set. */
QDQ_API QDQ_MUST_USE qdq_status qdq_metric_run_arrays(qdq_metric_run *run,
                                                      const qdq_named_array *in, size_t n_in,
                                                      const qdq_named_array **out, size_t *n_out,
                                                      qdq_error *err);

/* The model itself, to inspect or save it. */
QDQ_API const qdq_model *qdq_metric_run_model(const qdq_metric_run *run);

/* Is it the input model, from whose metric max_drop counts? */
QDQ_API bool qdq_metric_run_is_input(const qdq_metric_run *run);

/* Set when the search must end: for a metric that waits for something. It is borrowed for the
 * call. NULL: never set. */
QDQ_API const qdq_cancel *qdq_metric_run_cancel(const qdq_metric_run *run);

/* A number that the caller computes for a model; more is better. */
typedef struct qdq_metric {
    size_t size;
    /* for messages and reports; NULL: "metric". What qdq_autotune() stored for a metric of this
     * name counts for it in later runs with the same data. */
    const char *name;
    /* first argument of `measure` */
    void *ctx;
    /* Sets *value to the metric of a model. Called on the thread of the search: once for the input
     * model, and once for each model that holds every other part of the goal. NaN and infinity: the
     * model misses the goal; of the input model they are QDQ_E_FORMAT. Anything but QDQ_OK ends the
     * search with this status and this error, unchanged (QDQ_E_GOAL becomes QDQ_E_USAGE); but the
     * failure of a run on the engine that `measure` passes on says that this model misses the goal,
     * unless it is the input. */
    qdq_status (*measure)(void *ctx, qdq_metric_run *run, double *value, qdq_error *err);
} qdq_metric;

#define QDQ_METRIC_INIT                                                                            \
    {                                                                                              \
        .size = sizeof(qdq_metric)                                                                 \
    }

/* --- the goal --------------------------------------------------------------------------------- */

typedef struct qdq_goal_opts {
    size_t size;
    /* dB that every output and every slice of it has at least, as the lower bound of
     * qdq_compare_tensor.bound_db, or as measured where one sample gives no bound; 0: no such
     * goal. */
    double min_sqnr;
    /* How much lower than the float model's the accuracy may be, as a share (0.005: half a point);
     * below 0: no such goal. Needs labels. With a metric: how much lower the metric may be, in its
     * own unit, and no labels are needed. */
    double max_drop;
    /* samples of the evaluation; NULL: the data of calibration */
    qdq_data *eval;
    /* of its samples; count 0: to the end */
    size_t first, count;
    /* 0: 16 */
    unsigned max_evaluations;
    /* Cross-validation: samples that calibrate are cut into this number of folds, and each is
     * evaluated with ranges that did not see it (more folds than samples: one for each). 0: samples
     * [first, first + count) are evaluated with the ranges of all. Neither with `eval` nor with
     * random data. */
    unsigned folds;
    /* Nobody asked for the goal, which is QDQ_DEFAULT_MIN_SQNR whatever min_sqnr is. Then outputs
     * that are zero everywhere prove nothing and are left out, rows of scores must agree
     * (QDQ_DEFAULT_AGREEMENT), and a goal that is missed ends with the best plan tried that saves
     * `min_saving` of the float model's time or more, or with the float model. Plans of weights
     * alone, and of models that have Q/DQ themselves, are evaluated and not changed. */
    bool by_default;
    /* share of the float model's time; 0: 0.1 */
    double min_saving;
    /* A search takes at most this multiple of the time of calibration and one evaluation on samples
     * that are held out; 0: no limit. The number of trials that fits is then recorded in the
     * plan. */
    double max_slowdown;
    /* Seconds from the call, instead of max_slowdown: what is left of the limit of an earlier
     * search (qdq_goal_result.limit_s), where one follows the other for the same file. Below 0:
     * nothing is left. 0: max_slowdown counts. Either way a search that found nothing yet has 8
     * trials. */
    double limit_s;
    /* A plan with the key `times` (docs/plan.md): used instead of a clock; NULL: the clock is
     * asked. */
    const qdq_plan *times;
    /* for errors: where it came from; NULL: "times" */
    const char *times_name;
    /* Needs min_metric or max_drop, and not by_default; NULL: none. */
    const qdq_metric *metric;
    /* Every model that holds the goal has a metric of at least min_metric. */
    bool has_min_metric;
    double min_metric;
} qdq_goal_opts;

#define QDQ_GOAL_OPTS_INIT                                                                         \
    {                                                                                              \
        .size = sizeof(qdq_goal_opts), .max_drop = -1                                              \
    }

/* One evaluation: a plan was made, applied, and run on the samples. */
typedef struct qdq_goal_step {
    /* layers that were taken back in it */
    size_t n_float;
    /* What the goal is compared with: the bound of the worst slice of all outputs, or its SQNR
     * where there is no bound; NAN: an output is zero everywhere; -INFINITY: outputs have another
     * shape, or the engine refuses the model. */
    double sqnr_db;
    /* NAN without labels */
    double accuracy;
    /* of the float model's time: qdq_goal_result.is_profiled */
    double time_fraction;
    bool holds;
    /* NAN: not measured, or no finite number */
    double metric;
} qdq_goal_step;

/* A layer that could go back. */
typedef struct qdq_goal_layer {
    const char *node, *op;
    /* that it introduces: qdq_compare_layer */
    double error;
    /* Of the float model's time that 8 bits save in it: qdq_goal_result.is_profiled. */
    double saved_fraction;
    /* it went back */
    bool is_float;
} qdq_goal_layer;

/* Where the time went. */
typedef struct qdq_goal_seconds {
    /* with placement */
    double calibration;
    /* the first plan */
    double evaluation;
    /* errors of all layers */
    double layers;
    /* of the float and of the quantized model */
    double profile;
    /* all other plans */
    double trials;
} qdq_goal_seconds;

typedef struct qdq_goal_result {
    bool reached;
    /* if not: what was found, what was expected; "" */
    const char *why;
    /* NAN without labels */
    double float_accuracy;
    /* in the order of the evaluations */
    qdq_goal_step *steps;
    size_t n_steps;
    /* worst ratio of error to saved time first; none if all could stay */
    qdq_goal_layer *layers;
    size_t n_layers;
    /* Of what is in *out, on samples that its ranges did not see if there are any; NULL: its
     * outputs cannot be compared. Owned by the result. */
    qdq_compare_result *compared;
    bool is_cross_validated;
    /* times come from profiles of the engine, or from `times`; else they are estimated from
     * shapes */
    bool is_profiled;
    /* a default goal was missed: *out is the best plan tried that saves enough */
    bool is_best_kept;
    /* it was missed, and there is no such plan: *out is the float model, optimized */
    bool is_float;
    /* is_float: a plan reaches the goal, and takes longer than the float model */
    bool is_slower;
    /* Biases are corrected, as qdq_quantize_opts.bias_correction allowed. SQNR of the worst output
     * with it and without, with every layer in 8 bits. */
    bool is_corrected;
    double corrected_db, uncorrected_db;
    /* seconds from the call that the search had at most; 0: there was no limit */
    double limit_s;
    /* that limit ended the search before it was done */
    bool is_cut;
    qdq_goal_seconds seconds;
    /* of the input model and of what is in *out; NAN: not measured. The name is the result's; ""
     * without a metric. */
    double float_metric, metric;
    const char *metric_name;
} qdq_goal_result;

/* Quantizes as qdq_quantize() does. If that misses the goal, biases are corrected, where the
 * options leave that open and it brings the goal nearer. Then layers go back to float, those first
 * whose error is largest for the time that they save: in steps that double, then by bisection; then
 * groups come back as far as the goal allows. Each time everything is placed again around them, for
 * they change their neighbours; what was calibrated is kept, and so are outputs of the float model,
 * as far as `memory` of the options allows. A plan whose outputs have another shape than the float
 * model's, or that the engine refuses, has missed the goal. A goal that only a float model would
 * reach is not reached: then *plan and *out are what came nearest (the one with the highest metric
 * where there is one); where the input model's metric is below min_metric, nothing goes back to
 * float. Of a default goal see qdq_goal_opts.by_default. Without a goal the first plan is evaluated
 * and taken. Plans that a clock had a part in have the key `times` (docs/plan.md). Errors: as
 * qdq_quantize(); QDQ_E_USAGE for labels that are missing; QDQ_E_FORMAT for `times` of another
 * target. *result goes to qdq_goal_result_free(). */
QDQ_API QDQ_MUST_USE qdq_status qdq_quantize_goal(const qdq_model *m, const qdq_target *t,
                                                  qdq_engine *e, qdq_data *data,
                                                  const qdq_quantize_opts *opts,
                                                  const qdq_goal_opts *goal, qdq_plan **plan,
                                                  qdq_model **out, qdq_goal_result **result,
                                                  qdq_error *err);
/* NULL is allowed */
QDQ_API void qdq_goal_result_free(qdq_goal_result *r);

#ifdef __cplusplus
}
#endif
#endif /* QDQ_GOAL_H */
