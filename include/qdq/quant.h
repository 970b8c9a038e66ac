/* qdq/quant.h - calibrates, makes and applies plans, and imports existing quantization.
 *
 * A plan lists which edges carry Q/DQ with which scale (docs/plan.md). Placement, calibration,
 * import and insertion all work on it. */
#ifndef QDQ_QUANT_H
#define QDQ_QUANT_H

#include "data.h"
#include "engine.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct qdq_target qdq_target;
typedef struct qdq_plan qdq_plan;

/* --- targets: what an engine can run in 8 bits, as data --------------------------------------- */

/* The i-th built-in target: its name and one line of help. NULL past the end. */
QDQ_API const char *qdq_target_name(size_t i, const char **help);

/* Loads a built-in target by name ("ort-cpu", "builtin:ort-cpu"), or a description in a file (a
 * name with '/' or ending in ".json"). An error in the description is QDQ_E_FORMAT with file, key,
 * and what was expected. *out is freed with qdq_target_free(). */
QDQ_API QDQ_MUST_USE qdq_status qdq_target_load(const char *name_or_path, qdq_target **out,
                                                qdq_error *err);
/* Frees a target; NULL is allowed. */
QDQ_API void qdq_target_free(qdq_target *t);

/* Changes one key of a loaded description: `key` is a path of keys, and of numbers from 0 for
 * entries of lists ("operators.0.off"); `value` is JSON, or taken as a string if it is not. Errors
 * as for qdq_target_load(); the target is then unchanged. */
QDQ_API QDQ_MUST_USE qdq_status qdq_target_set(qdq_target *t, const char *key, const char *value,
                                               qdq_error *err);

/* One of several changes that are valid only together, such as a type and the size of its blocks.
 * qdq_target_set_all() makes all n changes or none. Keys and values as for qdq_target_set(). */
typedef struct qdq_target_change {
    const char *key, *value;
} qdq_target_change;

QDQ_API QDQ_MUST_USE qdq_status qdq_target_set_all(qdq_target *t, const qdq_target_change *changes,
                                                   size_t n, qdq_error *err);

/* The text of the description. Borrowed until the target is changed or freed. */
QDQ_API const char *qdq_target_text(const qdq_target *t);

/* The name in the description: "ort-cpu". Borrowed like the text. */
QDQ_API const char *qdq_target_get_name(const qdq_target *t);

/* The engine that its speed rules describe, as in qdq_engine_info.name: "ort". Borrowed like the
 * text. */
QDQ_API const char *qdq_target_engine(const qdq_target *t);

/* The target for an engine where none is named: "openvino" for "openvino:FILE"; "ort-cpu" for an
 * engine without one of its own, and for NULL. */
QDQ_API const char *qdq_target_of_engine(const char *spec);

/* A key whose values differ between two targets, a and b. */
typedef struct qdq_target_difference {
    /* "stay_float: small-matrix of MatMul", "activation"; "": the top level */
    const char *place;
    /* name of the key; "": the whole rule differs */
    const char *key;
    /* values in a and in b: JSON on one line, strings without quotes; "": the key is absent */
    const char *a, *b;
    /* what was measured for this key in a and in b, as a sentence; "": nothing */
    const char *figures_a, *figures_b;
} qdq_target_difference;

/* Lists the differences between two targets, without figures and probes. *out has *n entries and is
 * freed with qdq_free() (one block). */
QDQ_API QDQ_MUST_USE qdq_status qdq_target_compare(const qdq_target *a, const qdq_target *b,
                                                   qdq_target_difference **out, size_t *n,
                                                   qdq_error *err);

/* --- why -------------------------------------------------------------------------------------- */

/* Records every rule that examines one node or tensor while a plan is made, and its verdict. */
typedef struct qdq_why qdq_why;

typedef struct qdq_why_note {
    /* label of the examined node */
    const char *node;
    /* name of the rule in the target; "plan": the decision */
    const char *rule;
    /* the rule applies to the node */
    bool holds;
    /* what was found and what follows, as a sentence without full stop */
    const char *verdict;
} qdq_why_note;

/* Makes a recorder. `about` is the label of a node, or the name of a tensor, which stands for its
 * producer and its consumers. Returns NULL if out of memory; freed with qdq_why_free(). */
QDQ_API qdq_why *qdq_why_new(const char *about);
/* Frees a recorder; NULL is allowed. */
QDQ_API void qdq_why_free(qdq_why *w);

/* The *n notes, in order of examination. Borrowed as long as `w`. */
QDQ_API const qdq_why_note *qdq_why_notes(const qdq_why *w, size_t *n);

/* --- quantize: the whole way ------------------------------------------------------------------ */

/* How calibration chooses the range of an activation, which its quantized values span. */
typedef enum qdq_method {
    /* the target's method (key "activation.method"), or max */
    QDQ_METHOD_DEFAULT = 0,
    /* smallest and largest value of all data */
    QDQ_METHOD_MAX,
    /* least loss of information (Kullback-Leibler), searched exactly */
    QDQ_METHOD_ENTROPY,
    /* the same as ONNX Runtime's tool computes it, with its peculiarities */
    QDQ_METHOD_ENTROPY_COMPAT,
    /* range without the outermost values */
    QDQ_METHOD_PERCENTILE,
    /* least squared error of quantization */
    QDQ_METHOD_MSE,
    /* moving average of the bounds of each sample, weight 0.01 for the newest */
    QDQ_METHOD_MOVING_AVERAGE,
    /* for each tensor, the method with the least squared error on held-out samples */
    QDQ_METHOD_AUTO
} qdq_method;

/* The name of a method: "max", "moving-average", ...; NULL for an invalid value. */
QDQ_API const char *qdq_method_name(qdq_method method);

/* The processor that will run the model. Without VNNI, 8-bit kernels on x86 saturate
 * (docs/targets.md, key `without_vnni`). */
typedef enum qdq_cpu {
    /* the processor of this machine; rules for its name hold, too (docs/targets.md, key `cpu`) */
    QDQ_CPU_AUTO = 0,
    /* x86-64 without AVX-512 and VNNI */
    QDQ_CPU_AVX2,
    /* AVX-512 without VNNI */
    QDQ_CPU_AVX512,
    /* AVX512-VNNI or AVX-VNNI */
    QDQ_CPU_VNNI,
    /* ARM64, and every processor that is not x86-64 */
    QDQ_CPU_ARM
} qdq_cpu;

/* The name of a processor: "auto", "avx2", ...; NULL for an invalid value. */
QDQ_API const char *qdq_cpu_name(qdq_cpu cpu);

/* Whether biases are corrected for the mean error that rounding the weights adds to each channel
 * (Nagel et al., "Data-Free Quantization Through Weight Equalization and Bias Correction", 2019,
 * 4.2). Random data gives no useful means. */
typedef enum qdq_bias_correction {
    /* corrected if a goal is missed otherwise, and correction reduces the gap to it
     * (qdq_quantize_goal()) */
    QDQ_BIAS_CORRECTION_AUTO,
    QDQ_BIAS_CORRECTION_ON,
    QDQ_BIAS_CORRECTION_OFF
} qdq_bias_correction;

/* Whether MatMul and Gemm compute few channels of their data in float whose values are far larger
 * than all others (massive activations), so that the others get finer steps: Dettmers et al.,
 * "LLM.int8()", 2022, with channels chosen once, from the samples. Data and weight must have 8
 * bits, and a weight no searched rounding. Random data shows no such channels. */
typedef enum qdq_float_channels {
    /* where a goal is missed otherwise, and they reduce the gap to it (qdq_quantize_goal()) */
    QDQ_FLOAT_CHANNELS_AUTO,
    QDQ_FLOAT_CHANNELS_ON,
    QDQ_FLOAT_CHANNELS_OFF
} qdq_float_channels;

/* Whether activations in 8 bits before MatMul and Gemm with constant weights are divided by one
 * number per channel, and the weights multiplied by it, so that both lose less: Xiao et al.,
 * "SmoothQuant", ICML 2023, with a strength for each activation that held-out samples choose. The
 * division goes into constants of the model, of a normalization, a Mul or another product; where
 * that would change anything else, the activation stays as it is. Random data shows nothing of
 * channels. */
typedef enum qdq_smooth {
    /* where a goal is missed otherwise, and it reduces the gap to it (qdq_quantize_goal()) */
    QDQ_SMOOTH_AUTO,
    QDQ_SMOOTH_ON,
    QDQ_SMOOTH_OFF
} qdq_smooth;

typedef struct qdq_quantize_opts {
    size_t size;
    /* Which nodes may run in 8 bits. Each list ends with NULL; NULL: no restriction. A node is
     * named by its label (as in plans). An entry is a POSIX extended regular expression that
     * matches anywhere in the label, or "=NAME" for the whole label. Nodes that the engine fuses
     * into a listed node follow it. */
    /* nodes that stay in float */
    const char *const *exclude;
    /* nodes that may run in 8 bits; all others stay in float */
    const char *const *include;
    /* operators that may run in 8 bits, and operators that stay in float */
    const char *const *op_types;
    const char *const *exclude_op_types;
    /* Labels of nodes that the engine computes wrongly in 8 bits (qdq_verify_equivalent()): they
     * stay in float, and the plan has this reason. */
    const char *const *wrong;
    /* recorder; borrowed for the call; may be NULL. A node or tensor that the model does not have
     * is QDQ_E_USAGE */
    qdq_why *why;
    const qdq_input_shape *shapes;
    size_t n_shapes;
    /* most calibration samples; 0: all */
    size_t samples;
    /* Memory limit in bytes: for the activations observed at once; for the matrices of GPTQ
     * (weights that need more get the nearest quantized values); and, with a goal, for the float
     * model's outputs that are kept between trials (if they do not fit, the float model runs again
     * in each trial). 0: 256 MiB. */
    uint64_t memory;
    /* threads of the engine; 0: 1. The last digits of scales depend on it */
    int threads;
    /* Pipeline to run on the copy before placement (pass.h); the plan records it. NULL:
     * "quantize". */
    const char *passes;
    const qdq_job *job;
    qdq_method method;
    /* percentage of the values inside the range, above 50 and up to 100; 0: 99.999 */
    double percentile;
    /* File with ranges: TensorRT's calibration cache, or the output of qdq_plan_save_ranges(). Only
     * tensors that are not in it are calibrated. NULL: none. */
    const char *cache;
    /* run the pass "equalize" (cross-layer equalization) first, which changes the layers that it
     * improves */
    bool equalize;
    qdq_bias_correction bias_correction;
    /* for targets whose kernels depend on the processor; the plan records it */
    qdq_cpu cpu;
    qdq_float_channels float_channels;
    qdq_smooth smooth;
} qdq_quantize_opts;

/* Default limit of the bytes by which constants of that copy may grow; `passes` can set another. A
 * float16 weight before Cast must become a float constant to be quantized; in the file it is small
 * again. */
#define QDQ_CLEAN_GROWTH (1 << 20)

/* The minimal pipeline that placement and engines need; it leaves the model as it is otherwise. */
#define QDQ_PASSES_MINIMAL "lift-constants,drop-shared-names"

#define QDQ_QUANTIZE_OPTS_INIT                                                                     \
    {                                                                                              \
        .size = sizeof(qdq_quantize_opts)                                                          \
    }

/* Cleans a copy of `m`, places Q/DQ by the target's rules, calibrates on `data`, and makes the
 * plan. Existing Q/DQ of the model are preserved, and the plan adds what is missing. `data` NULL:
 * seeded random input; if scales depend on it, the plan has "placement only". `opts` may be NULL.
 * The model is not changed. *out is freed with qdq_plan_free(). */
QDQ_API QDQ_MUST_USE qdq_status qdq_plan_make(const qdq_model *m, const qdq_target *t,
                                              qdq_engine *e, qdq_data *data,
                                              const qdq_quantize_opts *opts, qdq_plan **out,
                                              qdq_error *err);

/* Makes the plan and applies it, without cleaning a second copy. *out equals the result of
 * qdq_plan_apply() for this plan and `m`, and is freed with qdq_model_free(); `out` may be NULL.
 * *plan is freed with qdq_plan_free(). */
QDQ_API QDQ_MUST_USE qdq_status qdq_quantize(const qdq_model *m, const qdq_target *t, qdq_engine *e,
                                             qdq_data *data, const qdq_quantize_opts *opts,
                                             qdq_plan **plan, qdq_model **out, qdq_error *err);

/* Fills opts->why: places Q/DQ and ends before calibration, so that it needs no engine and no data.
 * QDQ_E_USAGE: the model has no such node or tensor; the message suggests a similar name. */
QDQ_API QDQ_MUST_USE qdq_status qdq_explain(const qdq_model *m, const qdq_target *t,
                                            const qdq_quantize_opts *opts, qdq_error *err);

/* --- the plan --------------------------------------------------------------------------------- */

/* Reads a plan (docs/plan.md) from a file, or from `size` bytes of its text, which messages call
 * `name`. QDQ_E_FORMAT: the plan is malformed; the message has the place. *out is freed with
 * qdq_plan_free(). */
QDQ_API QDQ_MUST_USE qdq_status qdq_plan_load(const char *path, qdq_plan **out, qdq_error *err);
QDQ_API QDQ_MUST_USE qdq_status qdq_plan_parse(const char *text, size_t size, const char *name,
                                               qdq_plan **out, qdq_error *err);
/* Writes a plan to a file, whole or not at all: the same plan gives the same bytes. QDQ_E_IO: the
 * file exists, unless allow_overwrite. */
QDQ_API QDQ_MUST_USE qdq_status qdq_plan_save(const qdq_plan *p, const char *path,
                                              bool allow_overwrite, qdq_error *err);
/* Writes the ranges of the plan's activations as a calibration cache for qdq_quantize_opts.cache or
 * trtexec. "X.json" has qdq's form (docs/plan.md), any other name TensorRT's. */
QDQ_API QDQ_MUST_USE qdq_status qdq_plan_save_ranges(const qdq_plan *p, const char *path,
                                                     bool allow_overwrite, qdq_error *err);
/* The text of a plan. *text is freed with qdq_free(). */
QDQ_API QDQ_MUST_USE qdq_status qdq_plan_to_text(const qdq_plan *p, char **text, qdq_error *err);
/* Frees a plan; NULL is allowed. */
QDQ_API void qdq_plan_free(qdq_plan *p);

/* Applies a plan: makes a new model, cleaned by the pipeline that the plan records, with Q/DQ. The
 * result depends on plan and model alone. QDQ_E_FORMAT: the plan is for another model, unless
 * `force`; or edges of the plan are missing in the model, and the message lists them. Once the
 * cancel flag of `job` is set, the call ends with QDQ_E_INTERRUPTED soon; it logs nothing, and
 * `job` may be NULL. *out is freed with qdq_model_free(). */
QDQ_API QDQ_MUST_USE qdq_status qdq_plan_apply(const qdq_plan *p, const qdq_model *m, bool force,
                                               const qdq_job *job, qdq_model **out, qdq_error *err);

/* What import does with Relu and Clip that a quantizer removed because the quantized range ends at
 * the same value. */
typedef enum qdq_bounds {
    /* restore them in models of the tool that removes them (ONNX Runtime's) */
    QDQ_BOUNDS_AUTO = 0,
    /* restore them wherever quantized values begin at 0 after a Conv, Add, ... */
    QDQ_BOUNDS_RESTORE,
    QDQ_BOUNDS_LEAVE
} qdq_bounds;

typedef struct qdq_import_opts {
    size_t size;
    qdq_bounds bounds;
    /* Its log lists what cannot be expressed or removed, with place and reason. Once its cancel
     * flag is set, the call ends with QDQ_E_INTERRUPTED soon. NULL: no log, no flag */
    const qdq_job *job;
} qdq_import_opts;

#define QDQ_IMPORT_OPTS_INIT                                                                       \
    {                                                                                              \
        .size = sizeof(qdq_import_opts)                                                            \
    }

/* Makes a plan from the existing quantization of a model. It is a plan for the model without Q/DQ:
 * import(apply(p)) equals p in tensors, weights and biases. QOperator format (QLinearConv, ...) is
 * decomposed first. `opts` may be NULL. *stripped is the result of qdq_model_strip(), freed with
 * qdq_model_free(); `stripped` may be NULL. *out is freed with qdq_plan_free(). */
QDQ_API QDQ_MUST_USE qdq_status qdq_plan_import(const qdq_model *m, const qdq_import_opts *opts,
                                                qdq_plan **out, qdq_model **stripped,
                                                qdq_error *err);

/* Makes a plan for the float model `m` from the quantization encodings that AIMET wrote with it
 * (JSON, versions 0.4.0 to 1.0.0), in a file or in `size` bytes of text, which messages call
 * `name`. The job logs tensors that the model does not have, and what a plan cannot express. `opts`
 * may be NULL. *out is freed with qdq_plan_free(). */
QDQ_API QDQ_MUST_USE qdq_status qdq_plan_load_encodings(const char *path, const qdq_model *m,
                                                        const qdq_import_opts *opts, qdq_plan **out,
                                                        qdq_error *err);
QDQ_API QDQ_MUST_USE qdq_status qdq_plan_parse_encodings(const char *text, size_t size,
                                                         const char *name, const qdq_model *m,
                                                         const qdq_import_opts *opts,
                                                         qdq_plan **out, qdq_error *err);

/* Makes a float model of `m`, without any Q/DQ, also in the subgraphs of If, Loop and Scan and in
 * functions. Constants that were stored as quantized values are float again. *n_left counts nodes
 * that cannot be removed, and the job logs the reason; `n_left` may be NULL. *out is freed with
 * qdq_model_free(). */
QDQ_API QDQ_MUST_USE qdq_status qdq_model_strip(const qdq_model *m, const qdq_import_opts *opts,
                                                qdq_model **out, size_t *n_left, qdq_error *err);

/* Number of nodes that a plan treats equally. */
typedef struct qdq_plan_count {
    /* operator, reason, or both: "Op: reason" */
    const char *what;
    /* number of nodes */
    size_t n;
} qdq_plan_count;

/* What GPTQ did to a weight. */
typedef struct qdq_plan_rounding {
    const char *weight;
    /* the plan has codes for it; else it has the nearest ones */
    bool accepted;
    /* by how many dB the squared error of its products on held-out rows is below that of the
     * nearest codes; 0: there was nothing to measure it on */
    double gain_db;
    /* why it was not accepted; "" */
    const char *reason;
} qdq_plan_rounding;

typedef struct qdq_plan_summary {
    size_t n_tensors, n_weights, n_biases, n_left_float;
    /* nodes that the plan puts into 8 bits, by operator */
    const qdq_plan_count *quantized;
    size_t n_quantized;
    /* nodes that the model had in 8 bits before, by operator */
    const qdq_plan_count *existing;
    size_t n_existing;
    /* nodes that stay in float, by "Op: reason" */
    const qdq_plan_count *left_float;
    size_t n_left;
    bool placement_only;
    const char *target;
    /* processor of the plan, as qdq_cpu_name() names it; "": any */
    const char *cpu;
    /* Of a plan made with `equalize`: pairs of Conv whose ranges are equalized, and pairs that it
     * would not improve. */
    size_t n_equalized, n_not_equalized;
    /* opset that applying the plan raises the model to; 0: it stays */
    int opset;
    /* LayerNormalization that is spelled in single nodes, and for which the opset was raised to
     * fuse it */
    size_t n_layernorms;
    /* Of a plan made with weights of method `gptq`, sorted by name. */
    const qdq_plan_rounding *rounded;
    size_t n_rounded;
    /* products whose data the model quantizes while it runs (weights with `store` 'dynamic'); an
     * LSTM has two */
    size_t n_dynamic;
} qdq_plan_summary;

/* The summary of a plan. Borrowed as long as the plan. */
QDQ_API const qdq_plan_summary *qdq_plan_get_summary(const qdq_plan *p);

#ifdef __cplusplus
}
#endif
#endif /* QDQ_QUANT_H */
