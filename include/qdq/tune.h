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
    /* what an engine computes in one layer is decided together: few builds, for large models */
    QDQ_TUNE_SUBGRAPH
} qdq_tune_mode;

/* How the placement is found in subgraph mode. */
typedef enum qdq_tune_strategy {
    /* mincut where the engine reports times of layers; else kinds of groups are tried one by one on
     * the whole model, as patterns are in region mode */
    QDQ_TUNE_AUTO = 0,
    /* costs from a few profiles of the whole model, one minimum cut for all decisions */
    QDQ_TUNE_MINCUT,
    /* each kind of group in isolation, with each of a few schemes; what saves time is merged, and
     * validated on the whole model part by part */
    QDQ_TUNE_GREEDY
} qdq_tune_strategy;

typedef enum qdq_tune_preset {
    QDQ_TUNE_DEFAULT = 0,
    QDQ_TUNE_QUICK,
    QDQ_TUNE_EXTENSIVE
} qdq_tune_preset;

typedef struct qdq_tune_live qdq_tune_live;

#define QDQ_TUNE_MOST_POINTS    16
#define QDQ_TUNE_MOST_BASELINES 8

/* Details that few callers set: a run without them behaves as docs/autotune.md describes. Zero
 * stands for the default, unless a member says otherwise. */
typedef struct qdq_tune_details {
    size_t size;

    /* --- what is varied --- */

    /* region mode; NULL: the defaults of QDQ_REGION_OPTS_INIT */
    const qdq_region_opts *regions;
    /* file: only regions or groups with a node whose name matches one of its wildcards; or NULL */
    const char *node_filter;

    /* --- how it is searched --- */

    /* most candidates of a pattern; in subgraph mode most schemes of a kind of group; 0: the
     * preset's */
    unsigned schemes_per_region;
    /* most decisions of a pattern that one mutation changes; 0: 3 */
    unsigned max_mutations;
    /* most mutations that are drawn for a pattern; 0: 100 */
    unsigned max_attempts;
    /* every trial takes all its pairs */
    bool strict;

    /* --- subgraph mode --- */

    /* greedy accepts or rejects all that it merges as one; by itself it means greedy */
    bool validate_whole;
    /* models along the Pareto front of latency and accuracy, in DIR/pareto, by minimum cuts; each
     * takes one build beyond max_builds; 2 to QDQ_TUNE_MOST_POINTS, 0: none */
    unsigned pareto;
    /* file with the layers of the model without Q/DQ, by trtexec or an earlier run, instead of a
     * build; or NULL */
    const char *layer_info;

    /* --- how it is timed --- */

    /* runs before the first sample of a model; 0: 2 */
    unsigned warmup_runs;
    /* least runs of a sample; 0: 1; a sample takes 5 ms in any case */
    unsigned timing_runs;

    /* --- pattern caches --- */

    /* fraction of the cached schemes of a pattern to try, the fastest first; 0: 0.1 */
    double pool_share;
    /* try at least this many, if available; 0: 10 */
    unsigned pool_least;
    /* points by which two schemes of a pattern differ at least, of those that are tried and of
     * those in caches and in patterns.yaml; counts as it is, QDQ_TUNE_DETAILS_INIT: 4 */
    unsigned pattern_cache_distance;
    /* most schemes of a pattern in caches and in patterns.yaml; counts as it is, 0: no bound,
     * QDQ_TUNE_DETAILS_INIT: 32 */
    unsigned pattern_cache_entries;

    /* --- the folder --- */

    /* every candidate in DIR/region_models, every fusion group in DIR/subgraphs */
    bool keep_models;
    /* QDQ_E_IO where the finished result in DIR is of another model, data, engine or options */
    bool keep_finished;
    /* formats, times and reasons in the metadata of the nodes of model.onnx (qdq/report.h) */
    bool metadata;
    /* file of all measurements, which runs may share; NULL: DIR/tune.db */
    const char *store;
    /* file of node data for Model Explorer, over one that is there; NULL: none */
    const char *overlay;
    /* n_set_shapes shapes that the input model was given before, for the report */
    const qdq_input_shape *set_shapes;
    size_t n_set_shapes;
} qdq_tune_details;

#define QDQ_TUNE_DETAILS_INIT                                                                      \
    {                                                                                              \
        .size = sizeof(qdq_tune_details), .pattern_cache_distance = 4, .pattern_cache_entries = 32 \
    }

/* Zero stands for "as the preset has it" (docs/autotune.md). */
typedef struct qdq_tune_opts {
    size_t size;
    qdq_tune_mode mode;
    /* subgraph mode */
    qdq_tune_strategy strategy;
    qdq_tune_preset preset;
    /* where the weights of model.onnx and baseline.onnx go */
    qdq_external external;

    /* calibration and what users exclude; NULL: defaults */
    const qdq_quantize_opts *quantize;
    /* min_sqnr: no candidate below it is accepted; max_drop: none that misses it is shipped.
     * Minimum cuts are evaluated before they are built, max_evaluations times at most. NULL: the
     * default goal */
    const qdq_goal_opts *goal;
    /* spec; NULL: "ort" */
    const char *engine;
    /* `worker` runs the engine, with `deadline_s` for each of its calls; NULL: defaults */
    const qdq_engine_opts *engine_opts;
    /* the same network with Q/DQ, by others or from before: each is measured as it is, and ships if
     * nothing that reaches the goal is faster (qdq_tune_baseline); its placement is a start. One
     * that was loaded from a file, and not edited since, ships with the bytes of that file, unless
     * there are external data. At most QDQ_TUNE_MOST_BASELINES; ends with NULL; or NULL */
    const qdq_model *const *qdq_baselines;
    /* region mode: files with schemes to try, the first preferred; ends with NULL; or NULL */
    const char *const *pattern_caches;

    /* seconds of the search; 0: no limit */
    double time_s;
    /* a candidate that saves less is rejected; fraction of the time, 0: 0.003 */
    double min_gain;
    uint64_t seed;
    /* most comparisons of the search; 0: no limit */
    unsigned trials;
    /* most builds of whole models; 0: the preset's. In subgraph mode the final validation's three
     * are among them, so at least 7 */
    unsigned max_builds;
    /* threads of the engine while a model is timed; 0: 1 */
    int threads;
    /* ignore the measurements of an earlier run in the folder */
    bool restart;

    /* NULL: defaults */
    const qdq_tune_details *details;
    const qdq_job *job;
    /* reports the state of the run, on the thread of the call, with ctx of the job; may be NULL */
    void (*live)(void *ctx, const qdq_tune_live *now);
} qdq_tune_opts;

#define QDQ_TUNE_OPTS_INIT                                                                         \
    {                                                                                              \
        .size = sizeof(qdq_tune_opts)                                                              \
    }

/* The state of a run. Borrowed for the call. */
struct qdq_tune_live {
    /* "calibrating", "control", "baseline", "start", "regions", "groups", "exceptions", "guard",
     * "done", or what is tried: "minimum cut", ... */
    const char *phase;
    /* signature of the pattern at hand; "" */
    const char *unit;
    size_t unit_number, n_units;
    /* pairs: of samples, on disk */
    unsigned trials, builds, pairs;
    double baseline_ms, incumbent_ms;
    /* of the baseline's time */
    double saved_fraction;
    /* left_s: NAN without a budget of time */
    double elapsed_s, left_s;
};

typedef enum qdq_tune_verdict {
    /* the search found the best */
    QDQ_TUNED,
    /* nothing beat the rules' plan */
    QDQ_TUNED_RULES,
    /* the input is fastest */
    QDQ_TUNED_FLOAT,
    /* a Q/DQ baseline is fastest, and was written */
    QDQ_TUNED_BASELINE
} qdq_tune_verdict;

/* "tuned", "rules", "float", "baseline" */
QDQ_API const char *qdq_tune_verdict_name(qdq_tune_verdict v);

/* The outcome of a Q/DQ baseline. */
typedef enum qdq_baseline_outcome {
    QDQ_BASELINE_SHIPPED,
    /* what was written is as fast, or faster */
    QDQ_BASELINE_BEATEN,
    /* it misses the goal */
    QDQ_BASELINE_MISSES,
    /* the engine computes it wrongly */
    QDQ_BASELINE_WRONG,
    /* it was not built, or did not live */
    QDQ_BASELINE_FAILED,
    /* it is another model, by its weights, inputs or outputs: its placement alone was tried */
    QDQ_BASELINE_PLACEMENT,
    /* the budget of time ended before it was measured, evaluated and verified: `why` says which */
    QDQ_BASELINE_UNKNOWN
} qdq_baseline_outcome;

/* "shipped", "beaten", "misses the goal", "wrong", "failed", "placement", "unknown" */
QDQ_API const char *qdq_baseline_outcome_name(qdq_baseline_outcome f);

/* What a placement of this target on the cleaned model cannot express of a file's; 0 everywhere: it
 * expresses all. */
typedef struct qdq_tune_not_expressed {
    /* inputs of nodes that are quantized in one of both alone */
    unsigned edges;
    /* inputs with quantized values of another type */
    unsigned types;
    /* pairs of an operator's tensors that share a scale in one of both alone */
    unsigned scales;
    /* inputs whose constants have scales along another axis, or of other blocks */
    unsigned weights;
    /* quantized inputs of nodes that cleaning folds, fuses or drops: none of the above */
    unsigned gone;
    /* DequantizeLinear nodes that no plan can express: a scale for each channel of an activation,
     * ... */
    unsigned other;
} qdq_tune_not_expressed;

/* A Q/DQ baseline. Times in ms, as in qdq_tune_result: in pairs with the input, or
 * where the final measurement had no time, of the search with the optimized input; NAN: not
 * measured. */
typedef struct qdq_tune_baseline {
    /* of its file; "baseline 1" if it has none */
    const char *name;
    qdq_baseline_outcome outcome;
    /* of MISSES, WRONG, FAILED, PLACEMENT, UNKNOWN; or that times are those of the search; "" */
    const char *why;
    double ms, speedup, ci_low, ci_high;
    /* on all evaluation samples; NAN: not evaluated; accuracy: NAN without labels */
    double sqnr_db, accuracy;
    /* of the engine with its reference: qdq_verify_result.sqnr_db; NAN: not known */
    double agreement_db;
    qdq_tune_not_expressed not_expressed;
} qdq_tune_baseline;

/* A rule of the target that the written plan contradicts, by a measurement. */
typedef struct qdq_tune_overruled {
    const char *rule, *op;
    /* true: these nodes run in 8 bits, the rule leaves them float. false: the other way round */
    bool quantized;
    unsigned nodes;
} qdq_tune_overruled;

/* Tensors whose quantized values have another type than the target's (`other_activations`), by one
 * measurement. */
typedef struct qdq_tune_typed {
    /* names of element types; static */
    const char *type, *instead_of;
    unsigned tensors;
    /* its number in the report */
    unsigned trial;
    /* of that trial */
    double gain;
} qdq_tune_typed;

/* A model of the Pareto front, in the folder. */
typedef struct qdq_tune_point {
    /* "pareto/model_1.onnx", "pareto/plan_1.json" */
    const char *file, *plan;
    /* in pairs with the input; 95 % */
    double ms, ms_low, ms_high;
    /* by the costs that the search ended with */
    double predicted_ms;
    /* on all evaluation samples; accuracy: NAN without labels */
    double sqnr_db, accuracy;
    /* in 8 bits */
    unsigned nodes;
    /* another one, or the input, is as fast and as accurate, and better in one of both */
    bool dominated;
} qdq_tune_point;

/* The distance of a model to the input, on all evaluation samples. */
typedef struct qdq_tune_accuracy {
    /* the slice with the least SQNR: "output 'y', axis 1, index 4"; "": not measured */
    const char *worst;
    /* of the evaluation */
    size_t samples;
    /* qdq_compare_tensor: the least of all outputs; NAN: fewer than two samples */
    double bound_db;
    /* least of the outputs; NAN: none has rows that are scores */
    double top1;
    /* least of the outputs; NAN: none lies in [0, 1] */
    double half_agreement;
} qdq_tune_accuracy;

/* Whether input dims are open for the engine while a model is timed. */
typedef enum qdq_tune_dims {
    /* by the model, by --shape, or by the shapes of the samples */
    QDQ_DIMS_FIXED,
    QDQ_DIMS_OPEN
} qdq_tune_dims;

/* "fixed", "open" */
QDQ_API const char *qdq_tune_dims_name(qdq_tune_dims d);

/* What ships against the input, with dims the other way than in the search. Times in ms, as in
 * qdq_tune_result. */
typedef struct qdq_tune_other_dims {
    bool measured;
    qdq_tune_dims dims;
    double baseline_ms, final_ms, speedup, ci_low, ci_high;
    /* why it was not measured; "": the input has no open dims, or it was */
    const char *why;
} qdq_tune_other_dims;

/* Members that do not apply are 0, NAN or "". Times of models are those of one run, in ms, from the
 * final validation; intervals are of 95 %. */
typedef struct qdq_tune_result {
    /* "region", "subgraph"; static */
    const char *mode;
    /* that was followed in subgraph mode: "mincut", "greedy"; "trials": kinds of groups one by one
     * on the whole model; static */
    const char *strategy;
    /* "ort 1.31.1" */
    const char *engine;

    /* --- what was written --- */

    qdq_tune_verdict verdict;
    /* of a float verdict, in words; NULL: it is another one; static */
    const char *why;
    /* why something faster was not written: the goal that it misses, or slower with the other dims;
     * "": nothing was faster */
    const char *reason;
    /* no data: the scales mean nothing */
    bool placement_only;
    /* an earlier run in the folder was resumed */
    bool resumed;
    /* the budget was used up */
    bool ended_early;
    /* of what was written, against the input: of the slice that has least; NAN: float */
    double sqnr_db;
    /* of what was written, where a goal asked for it */
    qdq_tune_accuracy written;
    /* does the engine compute what was written as its graph says? Never NULL */
    qdq_verify_result *computed;

    /* --- times --- */

    /* of the input, of the rules' plan, of what was written */
    double baseline_ms, rules_ms, final_ms;
    /* why rules_ms is NAN: the rules' plan failed, or misses the goal; "": it was timed */
    const char *rules_why;
    /* of what was written, by the gains on the way */
    double predicted_ms;
    /* of model_raw.onnx, the first placement that the strategy proposed (subgraph mode), in the
     * scale of final_ms; NAN: it failed, or no time or build was left for it */
    double raw_ms;
    /* baseline_ms / final_ms, and its interval */
    double speedup, ci_low, ci_high;
    /* minimum detectable effect */
    double mde;
    /* in the search, and of the times above */
    qdq_tune_dims dims;
    /* the other way: what is slower than the input there is not written */
    qdq_tune_other_dims other_dims;

    /* --- the search --- */

    /* of all; of these, before the budget of time began */
    double seconds, calibration_s;
    /* of whole models */
    unsigned builds;
    /* pairs */
    unsigned timings;
    /* candidates that profiles ruled out, and that were not built */
    unsigned ruled_out;
    /* candidates that were timed against another */
    unsigned tried;
    /* of these, those in which the engine crashed, hung or ran out of memory */
    unsigned crashed;
    /* candidates that were rejected because the engine computes them wrongly; why the first one
     * was */
    unsigned n_wrong;
    const char *wrong;
    /* region mode: regions, and equivalence classes of them */
    size_t regions, patterns;
    /* subgraph mode: fusion groups, and equivalence classes of them */
    size_t groups, keys;
    /* greedy: groups that were proposed. mincut: placements that were measured; one that failed is
     * rejected */
    unsigned kept, rejected, undecided;
    /* greedy: models of groups that were built */
    unsigned isolated_builds;
    /* greedy: kinds of groups that cannot be models, or that the engine does not take */
    unsigned not_isolated;

    /* --- lists --- */

    /* in the order of the options */
    qdq_tune_baseline *baselines;
    size_t n_baselines;
    /* of verdict `tuned` */
    qdq_tune_overruled *overruled;
    size_t n_overruled;
    /* of verdict `tuned` */
    qdq_tune_typed *typed;
    size_t n_typed;
    /* the fastest first */
    qdq_tune_point *pareto;
    size_t n_pareto;
} qdq_tune_result;

/* Tunes m into the folder `dir`, which is made: model.onnx, plan.json, report.json, report.html,
 * patterns.yaml, baseline.onnx, tune.db, logs/ (no patterns.yaml in subgraph mode). model.onnx is
 * the best so far at every moment. `data` NULL: seeded random input, so that the scales mean
 * nothing. `opts` may be NULL. An unfinished run of the same kind in the folder is resumed.
 *
 * *out (`out` may be NULL) is freed with qdq_free() (one block). It is filled as far as the run
 * came, also on failure; NULL: the options were rejected, or out of memory. Different threads may
 * tune into different folders.
 *
 * QDQ_E_IO: another run is at work in the folder. QDQ_E_UNSUPPORTED: the engine has no kernels for
 * the target's types; the target quantizes weights alone, so that there is nothing to tune; mincut
 * is asked for, and the engine reports no times of layers; or layer_info is of another model.
 * QDQ_E_GOAL: the target's half precision alone misses min_sqnr, and model.onnx is the converted
 * model. QDQ_E_INTERRUPTED: the cancel flag of the job was set. */
QDQ_API QDQ_MUST_USE qdq_status qdq_autotune(const qdq_model *m, const qdq_target *t,
                                             qdq_data *data, const char *dir,
                                             const qdq_tune_opts *opts, qdq_tune_result **out,
                                             qdq_error *err);

/* What a folder says of its newest run, be it ended or under way in another process: as JSON, the
 * keys of report.json and "state": "running", "interrupted", "failed" (and "error") or "finished".
 * Writes nothing, and finds a store that is elsewhere. *text is freed with qdq_free(). */
QDQ_API QDQ_MUST_USE qdq_status qdq_tune_status(const char *dir, char **text, qdq_error *err);

#ifdef __cplusplus
}
#endif
#endif /* QDQ_TUNE_H */
