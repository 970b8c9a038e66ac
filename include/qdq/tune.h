/* qdq/tune.h - finds the fastest Q/DQ placement of a model by timing it on an engine. */
#ifndef QDQ_TUNE_H
#define QDQ_TUNE_H

#include "check.h"
#include "goal.h"
#include "parts.h"
#include "quant.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum qdq_tune_mode {
    QDQ_TUNE_REGION = 0,
    /* nodes that an engine computes in one layer are decided together: few builds, for large
     * models */
    QDQ_TUNE_SUBGRAPH
} qdq_tune_mode;

/* The strategies that users can name, as STRATEGY(MEMBER, name) for each: the method that finds the
 * placement in subgraph mode. New ones come at the end. */
#define QDQ_TUNE_STRATEGIES(STRATEGY)                                                              \
    /* costs from a few profiles of the whole model, then one minimum cut for all decisions */     \
    STRATEGY(MINCUT, mincut)                                                                       \
    /* each class of groups in isolation with a few schemes; those that save time are merged, and  \
     * validated on the whole model part by part */                                                \
    STRATEGY(GREEDY, greedy)                                                                       \
    /* a new one */

#define QDQ_TUNE_STRATEGY_MEMBER(MEMBER, name) QDQ_TUNE_##MEMBER,

/* QDQ_TUNE_AUTO, QDQ_TUNE_MINCUT, ... */
typedef enum qdq_tune_strategy {
    /* mincut if the engine reports times of layers; else classes of groups are tried one by one on
     * the whole model, as patterns are in region mode */
    QDQ_TUNE_AUTO = 0,
    QDQ_TUNE_STRATEGIES(QDQ_TUNE_STRATEGY_MEMBER)
} qdq_tune_strategy;

typedef enum qdq_tune_preset {
    QDQ_TUNE_DEFAULT = 0,
    QDQ_TUNE_QUICK,
    QDQ_TUNE_EXTENSIVE
} qdq_tune_preset;

typedef struct qdq_tune_live qdq_tune_live;

#define QDQ_TUNE_MOST_POINTS    16
#define QDQ_TUNE_MOST_BASELINES 8

/* Details that few callers set; docs/autotune.md describes a run without them. Zero stands for the
 * default, unless a member's comment has another rule. Pointers are borrowed for the call. */
typedef struct qdq_tune_details {
    size_t size;

    /* --- what is varied --- */

    /* region mode; NULL: the defaults of QDQ_REGION_OPTS_INIT */
    const qdq_region_opts *regions;
    /* file with wildcards, one a line: only regions or groups with a node whose name matches one of
     * them are tuned; NULL: all */
    const char *node_filter;

    /* --- how it is searched --- */

    /* most candidates of a pattern; in subgraph mode, most schemes of a class of groups; 0: the
     * preset's */
    unsigned schemes_per_region;
    /* most decisions of a pattern that one mutation changes; 0: 3 */
    unsigned max_mutations;
    /* most mutations to draw for a pattern; 0: 100 */
    unsigned max_attempts;
    /* every trial takes all its pairs */
    bool strict;

    /* --- subgraph mode --- */

    /* greedy accepts or rejects all merged groups at once; without a strategy, this selects
     * greedy */
    bool validate_whole;
    /* number of models along the Pareto front of latency and accuracy, in DIR/pareto, by minimum
     * cuts; each takes one build beyond max_builds; 2 to QDQ_TUNE_MOST_POINTS; 0: none */
    unsigned pareto;
    /* file with the layers of the model without Q/DQ, from trtexec or an earlier run, which
     * replaces a build; or NULL */
    const char *layer_info;

    /* --- how it is timed --- */

    /* runs before the first sample of a model; 0: 2 */
    unsigned warmup_runs;
    /* least runs of a sample, which takes at least 5 ms; 0: 1 */
    unsigned timing_runs;

    /* --- pattern caches --- */

    /* fraction of the cached schemes of a pattern to try, fastest first; 0: 0.1 */
    double pool_fraction;
    /* least number of cached schemes to try, if available; 0: 10 */
    unsigned pool_min;
    /* least number of points in which two schemes of a pattern differ, among those tried and those
     * in caches and in patterns.yaml; 0 is no default here: QDQ_TUNE_DETAILS_INIT has 4 */
    unsigned pattern_cache_distance;
    /* most schemes of a pattern in caches and in patterns.yaml; 0: no limit; QDQ_TUNE_DETAILS_INIT
     * has 32 */
    unsigned pattern_cache_entries;

    /* --- the folder --- */

    /* keep every candidate in DIR/region_models, every fusion group in DIR/subgraphs */
    bool keep_models;
    /* QDQ_E_IO if the finished result in DIR is of another model, data, engine or options */
    bool keep_finished;
    /* write formats, times and reasons into the metadata of the nodes of model.onnx
     * (qdq/report.h) */
    bool metadata;
    /* file of all measurements, which runs may share; NULL: DIR/tune.db */
    const char *store;
    /* file of node data for Model Explorer to write, over an existing one; NULL: none */
    const char *overlay;
    /* n_set_shapes shapes that were fixed in the input model before, for the report */
    const qdq_input_shape *set_shapes;
    size_t n_set_shapes;
} qdq_tune_details;

#define QDQ_TUNE_DETAILS_INIT                                                                      \
    {                                                                                              \
        .size = sizeof(qdq_tune_details), .pattern_cache_distance = 4, .pattern_cache_entries = 32 \
    }

/* Options of qdq_autotune(). Zero stands for the preset's value (docs/autotune.md). Pointers are
 * borrowed for the call. */
typedef struct qdq_tune_opts {
    size_t size;
    qdq_tune_mode mode;
    /* for subgraph mode */
    qdq_tune_strategy strategy;
    qdq_tune_preset preset;
    /* file of the weights of model.onnx and baseline.onnx */
    qdq_external external;

    /* options of calibration, and nodes to exclude; NULL: defaults */
    const qdq_quantize_opts *quantize;
    /* Accuracy goal; NULL: the default goal. min_sqnr: a candidate below it is rejected. max_drop:
     * a model that misses it is not written. At most max_evaluations minimum cuts are evaluated
     * before they are built. */
    const qdq_goal_opts *goal;
    /* spec of the engine; NULL: "ort" */
    const char *engine;
    /* options of the engine, which runs in the program `worker` with `deadline_s` for each call;
     * NULL: defaults */
    const qdq_engine_opts *engine_opts;
    /* Up to QDQ_TUNE_MOST_BASELINES models of the same network with Q/DQ, by other tools or from
     * earlier runs; ends with NULL; or NULL. Each is measured unchanged, and is written if no model
     * that reaches the goal is faster (qdq_tune_baseline); its placement is a start of the search.
     * A model that was loaded from a file and not edited is written with the bytes of that file,
     * unless it has external data. */
    const qdq_model *const *qdq_baselines;
    /* for region mode: files with schemes to try, the preferred one first; ends with NULL; or
     * NULL */
    const char *const *pattern_caches;

    /* time limit of the search, in seconds; 0: no limit */
    double time_s;
    /* a candidate that saves a smaller fraction of the time is rejected; 0: 0.003 */
    double min_gain;
    uint64_t seed;
    /* most comparisons of the search; 0: no limit */
    unsigned trials;
    /* most builds of whole models; 0: the preset's. In subgraph mode it includes the three builds
     * of the final validation, and is at least 7 */
    unsigned max_builds;
    /* threads of the engine while a model is timed; 0: 1 */
    int threads;
    /* ignore the measurements of an earlier run in the folder */
    bool restart;

    /* NULL: QDQ_TUNE_DETAILS_INIT */
    const qdq_tune_details *details;
    const qdq_job *job;
    /* receives the state of the run, on the thread of the call, with ctx of the job; may be NULL */
    void (*live)(void *ctx, const qdq_tune_live *now);
} qdq_tune_opts;

#define QDQ_TUNE_OPTS_INIT                                                                         \
    {                                                                                              \
        .size = sizeof(qdq_tune_opts)                                                              \
    }

/* The state of a run. Borrowed for the call. */
struct qdq_tune_live {
    /* "calibrating", "control", "baseline", "start", "regions", "groups", "interactions",
     * "exceptions", "guard", "done", or the method: "minimum cut", ... */
    const char *phase;
    /* signature of the current pattern; "" */
    const char *unit;
    size_t unit_number, n_units;
    /* number of comparisons; of models built; of pairs of samples on disk */
    unsigned trials, builds, pairs;
    double baseline_ms, incumbent_ms;
    /* time saved, as a fraction of the baseline's time */
    double saved_fraction;
    /* seconds since the start, and seconds left; left_s: NAN without a time limit */
    double elapsed_s, left_s;
};

typedef enum qdq_tune_verdict {
    /* the search found the fastest model */
    QDQ_TUNED,
    /* the rules' plan is fastest */
    QDQ_TUNED_RULES,
    /* the input is fastest */
    QDQ_TUNED_FLOAT,
    /* a Q/DQ baseline is fastest, and was written */
    QDQ_TUNED_BASELINE
} qdq_tune_verdict;

/* The name of a verdict: "tuned", "rules", "float", "baseline". */
QDQ_API const char *qdq_tune_verdict_name(qdq_tune_verdict v);

/* The outcome of a Q/DQ baseline. */
typedef enum qdq_baseline_outcome {
    QDQ_BASELINE_SHIPPED,
    /* the written model is as fast, or faster */
    QDQ_BASELINE_BEATEN,
    /* it misses the goal */
    QDQ_BASELINE_MISSES,
    /* the engine computes it wrongly */
    QDQ_BASELINE_WRONG,
    /* it was not built, or the engine's process died */
    QDQ_BASELINE_FAILED,
    /* it is another model, by its weights, inputs or outputs: only its placement was tried */
    QDQ_BASELINE_PLACEMENT,
    /* the time limit ended the search before it was measured, evaluated and verified: `why` has the
     * missing step */
    QDQ_BASELINE_UNKNOWN
} qdq_baseline_outcome;

/* The name of an outcome: "shipped", "beaten", "misses the goal", "wrong", "failed", "placement",
 * "unknown". */
QDQ_API const char *qdq_baseline_outcome_name(qdq_baseline_outcome f);

/* Numbers of Q/DQ in a baseline's file that a placement of this target on the cleaned model cannot
 * express; all 0: it expresses the file completely. */
typedef struct qdq_tune_not_expressed {
    /* inputs of nodes that only one of the two quantizes */
    unsigned edges;
    /* inputs whose quantized values have another type */
    unsigned types;
    /* pairs of an operator's tensors that share a scale in only one of the two */
    unsigned scales;
    /* inputs whose constants have scales along another axis, or for other blocks */
    unsigned weights;
    /* quantized inputs of nodes that cleaning folds, fuses or removes; not in the counts above */
    unsigned removed;
    /* DequantizeLinear nodes that no plan can express, such as those with a scale for each channel
     * of an activation */
    unsigned other;
} qdq_tune_not_expressed;

/* A Q/DQ baseline. Times are in ms, as in qdq_tune_result: from pairs with the input, or if the
 * final measurement had no time, from the search, in pairs with the optimized input. NAN: not
 * measured. */
typedef struct qdq_tune_baseline {
    /* name of its file; "baseline 1" if it has none */
    const char *name;
    qdq_baseline_outcome outcome;
    /* reason of MISSES, WRONG, FAILED, PLACEMENT and UNKNOWN; or a note that the times are those of
     * the search; else "" */
    const char *why;
    double ms, speedup, ci_low, ci_high;
    /* on all samples that evaluate; NAN: not evaluated; accuracy: NAN without labels */
    double sqnr_db, accuracy;
    /* SQNR of the engine's results against its reference: qdq_verify_result.sqnr_db; NAN:
     * unknown */
    double agreement_db;
    qdq_tune_not_expressed not_expressed;
} qdq_tune_baseline;

/* A rule of the target that the written plan contradicts, based on a measurement. */
typedef struct qdq_tune_overruled {
    const char *rule, *op;
    /* true: these nodes run in 8 bits, and the rule leaves them in float; false: the reverse */
    bool quantized;
    unsigned nodes;
} qdq_tune_overruled;

/* Tensors whose quantized values have another type or format than the target's
 * (`other_activations`), based on one measurement. */
typedef struct qdq_tune_typed {
    /* names of that and of the target's: the element type, and where the target has several formats
     * of it what tells them apart, as "symmetric int8" */
    const char *type, *instead_of;
    unsigned tensors;
    /* number of the trial in the report */
    unsigned trial;
    /* fraction of the time that this trial saved */
    double gain;
} qdq_tune_typed;

/* A model of the Pareto front, in the run's folder. */
typedef struct qdq_tune_point {
    /* paths in the folder: "pareto/model_1.onnx", "pareto/plan_1.json" */
    const char *file, *plan;
    /* latency in ms, in pairs with the input, and its 95 % interval */
    double ms, ms_low, ms_high;
    /* predicted latency in ms, by the costs at the end of the search */
    double predicted_ms;
    /* on all samples that evaluate; accuracy: NAN without labels */
    double sqnr_db, accuracy;
    /* number of nodes in 8 bits */
    unsigned nodes;
    /* another model of the front, or the input, is at least as fast and as accurate, and better in
     * one of these */
    bool dominated;
} qdq_tune_point;

/* The difference between a model and the input, on all samples that evaluate. */
typedef struct qdq_tune_accuracy {
    /* slice with the least SQNR: "output 'y', axis 1, index 4"; "": not measured */
    const char *worst;
    /* number of samples that evaluate */
    size_t samples;
    /* least qdq_compare_tensor.bound_db of all outputs; NAN: fewer than two samples */
    double bound_db;
    /* least top1 of all outputs; NAN: no output has rows that are scores */
    double top1;
    /* least half_agreement of all outputs; NAN: no output lies in [0, 1] */
    double half_agreement;
} qdq_tune_accuracy;

/* Whether input dims are open for the engine during timing. */
typedef enum qdq_tune_dims {
    /* fixed by the model, by --shape, or by the shapes of the samples */
    QDQ_DIMS_FIXED,
    QDQ_DIMS_OPEN
} qdq_tune_dims;

/* The name of a state of dims: "fixed", "open". */
QDQ_API const char *qdq_tune_dims_name(qdq_tune_dims d);

/* The written model against the input, with dims in the other state than in the search. Times are
 * in ms, as in qdq_tune_result. */
typedef struct qdq_tune_other_dims {
    bool measured;
    qdq_tune_dims dims;
    double baseline_ms, final_ms, speedup, ci_low, ci_high;
    /* why it was not measured; "": it was, or the input has no open dims */
    const char *why;
} qdq_tune_other_dims;

/* The result of a run. Members that do not apply are 0, NAN or "". Times of models are the latency
 * of one run in ms, from the final validation; intervals are of 95 %. */
typedef struct qdq_tune_result {
    /* "region" or "subgraph"; static */
    const char *mode;
    /* name of the strategy of subgraph mode, or "trials" (classes of groups one by one on the whole
     * model); static */
    const char *strategy;
    /* "ort 1.31.1" */
    const char *engine;

    /* --- what was written --- */

    qdq_tune_verdict verdict;
    /* for QDQ_TUNED_FLOAT: the reason; else NULL; static */
    const char *why;
    /* why a faster model was not written: the goal that it misses, or that it is slower with dims
     * in the other state; "": no model was faster */
    const char *reason;
    /* no data was given: the scales are meaningless */
    bool placement_only;
    /* an earlier run in the folder was resumed */
    bool resumed;
    /* the search ended early, because a limit was reached */
    bool ended_early;
    /* SQNR of the worst slice of the written model against the input; NAN: float */
    double sqnr_db;
    /* accuracy of the written model, if a goal needs it */
    qdq_tune_accuracy written;
    /* verification of the engine's results for the written model; never NULL */
    qdq_verify_result *computed;

    /* --- times --- */

    /* latency of the input, of the rules' plan, and of the written model */
    double baseline_ms, rules_ms, final_ms;
    /* why rules_ms is NAN: the rules' plan failed, or misses the goal; "": it was timed */
    const char *rules_why;
    /* latency of the written model as predicted from the gains of the search */
    double predicted_ms;
    /* latency of model_raw.onnx, the first placement that the strategy proposed (subgraph mode), on
     * the scale of final_ms; NAN: it failed, or no time or build was left */
    double raw_ms;
    /* baseline_ms / final_ms, and its interval */
    double speedup, ci_low, ci_high;
    /* minimum detectable effect */
    double mde;
    /* state of the dims in the search, and for the times above */
    qdq_tune_dims dims;
    /* the other state; a model that is slower than the input there is not written */
    qdq_tune_other_dims other_dims;

    /* --- the search --- */

    /* duration of the run, and of the part before the time limit began */
    double seconds, calibration_s;
    /* number of whole models built */
    unsigned builds;
    /* number of timed pairs */
    unsigned timings;
    /* candidates that profiles ruled out before they were built */
    unsigned ruled_out;
    /* candidates that were timed against another model */
    unsigned tried;
    /* of the candidates tried, those in which the engine crashed, hung or ran out of memory */
    unsigned crashed;
    /* candidates that were rejected because the engine computes them wrongly, and the reason for
     * the first one */
    unsigned n_wrong;
    const char *wrong;
    /* for region mode: number of regions, and of their equivalence classes */
    size_t regions, patterns;
    /* for subgraph mode: number of fusion groups, and of their equivalence classes */
    size_t groups, keys;
    /* greedy: proposed groups, by outcome. mincut: measured placements; one that failed counts as
     * rejected */
    unsigned accepted, rejected, undecided;
    /* greedy: number of isolated groups that were built as models */
    unsigned isolated_builds;
    /* greedy: classes of groups that cannot be models, or that the engine does not accept */
    unsigned not_isolated;

    /* --- lists --- */

    /* n_baselines baselines, in the order of the options */
    qdq_tune_baseline *baselines;
    size_t n_baselines;
    /* n_overruled rules; only for QDQ_TUNED */
    qdq_tune_overruled *overruled;
    size_t n_overruled;
    /* n_typed types; only for QDQ_TUNED */
    qdq_tune_typed *typed;
    size_t n_typed;
    /* n_pareto models, the fastest first */
    qdq_tune_point *pareto;
    size_t n_pareto;
} qdq_tune_result;

/* Does qdq_autotune() take the target on this engine (NULL: "ort")? Where all data is quantized at
 * run time, or the engine has no kernels for the type of activations, it has nothing to tune. */
QDQ_API bool qdq_autotune_takes(const qdq_target *t, const char *engine);

/* Tunes m into the folder `dir`, which is created: model.onnx, plan.json, report.json, report.html,
 * baseline.onnx, tune.db, logs/, and in region mode patterns.yaml. At every moment, model.onnx is
 * the best model so far. `data` NULL: seeded random input, so that the scales are meaningless.
 * `opts` may be NULL. An unfinished run of the same kind in the folder is resumed.
 *
 * Data, and those of the goal, may have states (qdq_data_opts.states): sequences calibrate and
 * evaluate, and what is timed is the step in the middle of a sequence, with the states that m has
 * there.
 *
 * *out is freed with qdq_free() (one block); `out` may be NULL. It is filled as far as the run
 * came, also on failure. NULL: the options were rejected, or out of memory. Different threads may
 * tune into different folders.
 *
 * QDQ_E_IO: another run uses the folder. QDQ_E_UNSUPPORTED: the engine has no kernels for the
 * target's types; the target is weight-only, so that there is nothing to tune; mincut is selected,
 * and the engine reports no times of layers; or layer_info belongs to another model. QDQ_E_GOAL:
 * the target's half precision alone misses min_sqnr, and model.onnx is the converted model.
 * QDQ_E_INTERRUPTED: the cancel flag of the job was set. */
QDQ_API QDQ_MUST_USE qdq_status qdq_autotune(const qdq_model *m, const qdq_target *t,
                                             qdq_data *data, const char *dir,
                                             const qdq_tune_opts *opts, qdq_tune_result **out,
                                             qdq_error *err);

/* Reports the newest run in a folder, finished or running in another process. *text is JSON with
 * the keys of report.json and "state": "running", "interrupted", "failed" (and "error") or
 * "finished"; freed with qdq_free(). Writes nothing, and finds a store outside of the folder. */
QDQ_API QDQ_MUST_USE qdq_status qdq_tune_status(const char *dir, char **text, qdq_error *err);

/* --- stores of several runs ------------------------------------------------------------------- */

/* A store whose times contradict those of an earlier one from an equal device. */
typedef struct qdq_tune_quarantined {
    /* file, and what it shares with the other store */
    const char *store, *engine, *device;
    /* which times differ, and by how much, as a sentence without full stop */
    const char *why;
} qdq_tune_quarantined;

typedef struct qdq_tune_merge_result {
    /* numbers of contexts (model, engine, device, options) that were merged, of pairs of samples
     * and of values (profiles, times of groups) that are new in the store */
    size_t n_contexts, n_pairs, n_values;
    /* pairs that the store had already */
    size_t n_known_pairs;
    /* what was not merged, in the order of merging */
    const qdq_tune_quarantined *quarantined;
    size_t n_quarantined;
} qdq_tune_merge_result;

/* Merges the samples and values of n stores (tune.db) into the store `into`, which is created or
 * added to: a run with --store INTO takes them instead of measuring. They stay apart by model,
 * engine, device and options of measurement. Of each context only what was measured since its
 * newest restart is merged. A pair that both have stays as it is in `into`. Failures, runs and
 * their events are not merged.
 *
 * Stores are merged in the order in which their first runs began. If a store and what was merged
 * before it have samples of the same trial from an equal device, at least 3 pairs each, medians
 * must agree: times of a model within 10 % or 3 times the noise of the A/A tests of both, if that
 * is more, and gains within 1 % or 3 times that noise. Otherwise all that this store has of the
 * engine and device is left out, and the log of `job` (may be NULL) has a warning.
 *
 * On an error `into` is as before. QDQ_E_USAGE: `into` is one of the stores, or n is 0.
 * QDQ_E_FORMAT: no store of qdq, of another version, or damaged. QDQ_E_IO: not found, or locked.
 * QDQ_E_INTERRUPTED: the cancel flag of the job was set. *out is freed with
 * qdq_tune_merge_result_free(). */
QDQ_API QDQ_MUST_USE qdq_status qdq_tune_merge(const char *const *from, size_t n, const char *into,
                                               const qdq_job *job, qdq_tune_merge_result **out,
                                               qdq_error *err);
/* Frees the result; NULL is allowed. */
QDQ_API void qdq_tune_merge_result_free(qdq_tune_merge_result *r);

#ifdef __cplusplus
}
#endif
#endif /* QDQ_TUNE_H */
