/* qdq/goal.h - quantization with an accuracy goal: layers return to float until the model reaches
 * it. */
#ifndef QDQ_GOAL_H
#define QDQ_GOAL_H

#include "compare.h"
#include "quant.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The goal of `qdq quantize` if the user names none, in dB. */
#define QDQ_DEFAULT_MIN_SQNR QDQ_TIE_DB

/* Part of the default goal, for outputs that score more than 128 classes: this fraction of their
 * rows has the same argmax as in the float model, or one that ties with it
 * (qdq_compare_tensor.top1_close). With 20 rows or fewer, one row may differ. */
#define QDQ_DEFAULT_AGREEMENT 0.95

/* --- a metric of the caller ------------------------------------------------------------------- */

/* A model under evaluation. It lives for one call of the metric. */
typedef struct qdq_metric_run qdq_metric_run;

/* Runs the model once, on the engine, with the threads and the input shapes of the search. `in` is
 * as for qdq_session_run(), in the types of the input model. *out has all *n_out outputs, in the
 * order of the model; they are borrowed until the next run: do not free them. Errors: those of
 * qdq_session_open() and qdq_session_run(); QDQ_E_INTERRUPTED once the cancel flag is set. */
QDQ_API QDQ_MUST_USE qdq_status qdq_metric_run_arrays(qdq_metric_run *run,
                                                      const qdq_named_array *in, size_t n_in,
                                                      const qdq_named_array **out, size_t *n_out,
                                                      qdq_error *err);

/* The model itself, to inspect or save it. Borrowed for the call of the metric. */
QDQ_API const qdq_model *qdq_metric_run_model(const qdq_metric_run *run);

/* Whether this is the input model. max_drop counts from its metric. */
QDQ_API bool qdq_metric_run_is_input(const qdq_metric_run *run);

/* A flag that is set when the search must end, for a metric that waits for something. Borrowed for
 * the call of the metric. NULL: the flag is never set. */
QDQ_API const qdq_cancel *qdq_metric_run_cancel(const qdq_metric_run *run);

/* A number that the caller computes for a model; higher is better. */
typedef struct qdq_metric {
    size_t size;
    /* name in messages and reports; NULL: "metric". Later runs of qdq_autotune() with the same data
     * reuse values that were stored under this name. */
    const char *name;
    /* first argument of `measure` */
    void *ctx;
    /* Sets *value to the metric of a model. qdq calls it on the thread of the search: once for the
     * input model, and once for each model that reaches all other parts of the goal. NaN or
     * infinity: the model misses the goal, for the reason that is left in *err, if any; for the
     * input model it is QDQ_E_FORMAT. Any status but QDQ_OK ends the search with this status and
     * this error, unchanged (QDQ_E_GOAL becomes QDQ_E_USAGE). Exception: if `measure` passes on the
     * failure of a run on the engine, this model misses the goal, unless it is the input. */
    qdq_status (*measure)(void *ctx, qdq_metric_run *run, double *value, qdq_error *err);
} qdq_metric;

#define QDQ_METRIC_INIT                                                                            \
    {                                                                                              \
        .size = sizeof(qdq_metric)                                                                 \
    }

/* --- the goal --------------------------------------------------------------------------------- */

typedef struct qdq_goal_opts {
    size_t size;
    /* Least SQNR of every output and of every slice of it, in dB. The lower bound
     * qdq_compare_tensor.bound_db must reach it, or the measured SQNR where a single sample gives
     * no bound. 0: no such goal. */
    double min_sqnr;
    /* Largest loss of accuracy against the float model, as a fraction (0.005: half a percentage
     * point); needs labels. With `metric`: largest loss of the metric, in its unit, without labels.
     * Below 0: no such goal. */
    double max_drop;
    /* samples that evaluate; borrowed; NULL: the calibration data */
    qdq_data *eval;
    /* range of these samples: the first one, and how many; count 0: to the end */
    size_t first, count;
    /* most plans to evaluate; 0: 16, and 8 more with layers in other formats */
    unsigned max_evaluations;
    /* Cross-validation: the calibration samples are split into this number of folds, and each fold
     * is evaluated with ranges from the other folds (more folds than samples: one fold for each
     * sample). 0: samples [first, first + count) are evaluated with ranges from all samples. Cannot
     * be combined with `eval`, random data, or weights that samples round
     * (qdq_rounds_by_samples()): folds have ranges of their own and nothing else. */
    unsigned folds;
    /* The user asked for no goal: min_sqnr is ignored, and the goal is QDQ_DEFAULT_MIN_SQNR.
     * Outputs that are zero everywhere are left out, and rows of scores must agree
     * (QDQ_DEFAULT_AGREEMENT). If the goal is missed, the result is the best plan tried that saves
     * at least `min_saving` of the float model's time, or else the float model. Weight-only plans,
     * and plans of models with existing Q/DQ, are evaluated and not changed. */
    bool by_default;
    /* least saving, as a fraction of the float model's time; 0: 0.1 */
    double min_saving;
    /* Time limit of the search, as a multiple of the time of calibration and of one evaluation on
     * held-out samples; 0: no limit. The plan then records how many trials the limit allowed. */
    double max_slowdown;
    /* Time limit in seconds from the call; overrides max_slowdown. It is for the second of two
     * searches for one file, and is then the unused part of the first one's limit
     * (qdq_goal_result.limit_s). Below 0: no time is left. 0: max_slowdown counts. With either
     * limit, a search that has found no plan yet may make 8 trials. */
    double limit_s;
    /* Plan with the key `times` (docs/plan.md), which replaces the clock; borrowed; NULL: use the
     * clock. */
    const qdq_plan *times;
    /* origin of `times` in errors; NULL: "times" */
    const char *times_name;
    /* The caller's metric; borrowed; NULL: none. It needs has_min_metric or max_drop, and excludes
     * by_default. */
    const qdq_metric *metric;
    /* Every model that reaches the goal has a metric of at least min_metric. */
    bool has_min_metric;
    double min_metric;
    /* Every layer has the target's format or is float. false: where the target has such forms,
     * layers may also have their data quantized at run time, or more bits or smaller blocks, and in
     * qdq_autotune() other weights in blocks (docs/search.md). */
    bool one_format;
    /* Least fraction of rows whose argmax along the last axis is float's, up to 1: of the first
     * output, and of others whose rows are scores (qdq_compare_tensor.top1). 0: no such goal. */
    double min_agreement;
} qdq_goal_opts;

#define QDQ_GOAL_OPTS_INIT                                                                         \
    {                                                                                              \
        .size = sizeof(qdq_goal_opts), .max_drop = -1                                              \
    }

/* One evaluation: qdq made a plan, applied it, and ran the model on the samples. */
typedef struct qdq_goal_step {
    /* number of layers that this plan returns to float */
    size_t n_float;
    /* The value that is compared with min_sqnr, in dB: the lower bound of the worst slice of all
     * outputs, or its SQNR where there is no bound. Of a trial that its first samples showed to be
     * far from the goal, an estimate. NAN: an output is zero everywhere. -INFINITY: an output has
     * another shape, or the engine rejects the model. */
    double sqnr_db;
    /* fraction of samples that match their label; NAN: no labels */
    double accuracy;
    /* time as a fraction of the float model's; qdq_goal_result.is_profiled says where it comes
     * from */
    double time_fraction;
    bool holds;
    /* value of the metric; NAN: not measured, or not finite */
    double metric;
} qdq_goal_step;

/* A layer that can return to float. */
typedef struct qdq_goal_layer {
    const char *node, *op;
    /* error that the layer introduces: qdq_compare_layer.error; NAN: not known */
    double error;
    /* Time that 8 bits save in this layer, as a fraction of the float model's time;
     * qdq_goal_result.is_profiled says where it comes from. NAN: not known, as in a body of a
     * control-flow node. */
    double saved_fraction;
    /* the layer returned to float */
    bool is_float;
    /* The layer's format, if it is neither the target's nor float: "at run time", or type and
     * block, like "int8, blocks of 32". NULL: it is one of these two. */
    const char *form;
} qdq_goal_layer;

/* Duration of each phase, in seconds. */
typedef struct qdq_goal_seconds {
    /* calibration and placement */
    double calibration;
    /* evaluation of the first plan */
    double evaluation;
    /* errors of all layers */
    double layers;
    /* profiles of the float and of the quantized model, and times of what may be taken */
    double profile;
    /* all plans after the first, those with layers in other formats included */
    double trials;
} qdq_goal_seconds;

typedef struct qdq_goal_result {
    bool reached;
    /* if the goal was missed: what was found, what was expected; else "" */
    const char *why;
    /* accuracy of the float model; NAN: no labels */
    double float_accuracy;
    /* n_steps evaluations, in their order */
    qdq_goal_step *steps;
    size_t n_steps;
    /* n_layers layers, the largest ratio of error to saved time first; 0 if all layers could stay
     * in 8 bits */
    qdq_goal_layer *layers;
    size_t n_layers;
    /* Outputs of *out against the input model, on samples that its ranges did not see, if there are
     * any. NULL: the outputs cannot be compared. Owned by the result. */
    qdq_compare_result *compared;
    bool is_cross_validated;
    /* times come from profiles of the engine or from `times`; false: estimated from shapes */
    bool is_profiled;
    /* a default goal was missed: *out is the best plan tried that saves enough time */
    bool is_best_accepted;
    /* a default goal was missed, and no plan saves enough: *out is the float model, optimized */
    bool is_float;
    /* with is_float: a plan reaches the goal, but is slower than the float model */
    bool is_slower;
    /* Biases are corrected, as qdq_quantize_opts.bias_correction allowed. corrected_db and
     * uncorrected_db are the SQNR of the worst output with and without correction, with every layer
     * in 8 bits. */
    bool is_corrected;
    double corrected_db, uncorrected_db;
    /* time limit of the search, in seconds from the call; 0: no limit */
    double limit_s;
    /* the limit ended the search early */
    bool is_timed_out;
    qdq_goal_seconds seconds;
    /* metric of the input model, and of *out; NAN: not measured. metric_name is owned by the
     * result; "" without a metric. */
    double float_metric, metric;
    const char *metric_name;
    /* Some channels are in float, as qdq_quantize_opts.float_channels allowed. float_channels_db
     * and all_channels_db are the SQNR of the worst output with them and with all channels in 8
     * bits, with every layer in 8 bits. */
    bool has_float_channels;
    double float_channels_db, all_channels_db;
    /* Recurrent layers that have no form with calibrated scales have their data quantized at run
     * time: the model holds the goal, or misses it, with them and without. */
    bool has_recurrent;
    /* Activations are smoothed, as qdq_quantize_opts.smooth allowed. smoothed_db and
     * unsmoothed_db are the SQNR of the worst output with that and without, with every layer in 8
     * bits. */
    bool is_smoothed;
    double smoothed_db, unsmoothed_db;
} qdq_goal_result;

/* Quantizes as qdq_quantize() does. If the result misses the goal, the search proceeds as follows:
 *
 * 0. Where the target's activations have calibrated scales and it has such a form, recurrent layers
 * that would stay float have their data quantized at run time (rules of the target permitting), as
 * long as a goal that holds without them holds with them. This step comes even if no goal is
 * missed.
 *
 * 1. It computes few channels of products in float, and then, if the goal is still missed, corrects
 * biases: each if the options allow it, and it reduces the gap to the goal.
 *
 * 2. Layers return to float, those with the largest ratio of error to saved time first. Their
 * number doubles at each step; a bisection follows.
 *
 * 3. Groups of layers return to 8 bits as far as the goal allows.
 *
 * 4. Layers that are float then get other formats, in groups, as far as the goal allows: their data
 * is quantized at run time (activations with calibrated scales), or their weights have 8 bits
 * instead of 4, then blocks of 16 (MatMulNBits). qdq_goal_opts.one_format leaves out 0 and 4, and
 * so does an engine that is not the target's own.
 *
 * Each step places Q/DQ again, because neighbours of a float layer change too. Calibrated ranges
 * are reused, and so are outputs of the float model, as far as opts->memory allows. A plan misses
 * the goal if its outputs have another shape than the float model's, or if the engine rejects its
 * model.
 *
 * If only a float model would reach the goal, the goal is missed: *plan and *out are then the
 * nearest plan (with a metric: the plan with the highest one). If the input model's metric is below
 * min_metric, no layer returns to float. qdq_goal_opts.by_default describes the default goal.
 * Without any goal, the first plan is evaluated and accepted. A plan that depends on measured times
 * records them under `times` (docs/plan.md).
 *
 * `goal` is borrowed for the call. *plan, *out and *result are the caller's: free them with
 * qdq_plan_free(), qdq_model_free() and qdq_goal_result_free(). Errors: those of qdq_quantize();
 * QDQ_E_USAGE for missing labels; QDQ_E_FORMAT for `times` of another target. */
QDQ_API QDQ_MUST_USE qdq_status qdq_quantize_goal(const qdq_model *m, const qdq_target *t,
                                                  qdq_engine *e, qdq_data *data,
                                                  const qdq_quantize_opts *opts,
                                                  const qdq_goal_opts *goal, qdq_plan **plan,
                                                  qdq_model **out, qdq_goal_result **result,
                                                  qdq_error *err);
/* Frees a result; NULL is allowed. */
QDQ_API void qdq_goal_result_free(qdq_goal_result *r);

#ifdef __cplusplus
}
#endif
#endif /* QDQ_GOAL_H */
