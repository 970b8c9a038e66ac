/* qdq/quant.h - calibrate, plan, apply a plan, import existing quantization.
 *
 * A plan lists which edges carry Q/DQ with which scale (docs/plan.md).
 * Placement, calibration, import and insertion all work on it. */
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

/* Built-in targets: name and one line of help; NULL past the end. */
QDQ_API const char *qdq_target_name(size_t i, const char **help);

/* A built-in target by name ("ort-cpu", "builtin:ort-cpu"), or a description in a file (a name with
 * '/' or ending in ".json"). Mistakes in it are QDQ_E_FORMAT with file, key, and what was
 * expected. */
QDQ_API QDQ_MUST_USE qdq_status qdq_target_load(const char *name_or_path, qdq_target **out,
                                                qdq_error *err);
/* NULL is allowed */
QDQ_API void qdq_target_free(qdq_target *t);

/* Changes one key of a loaded description, as if the file said so: `key` is a path of object keys
 * ("weight.type"), `value` is JSON, or taken as a string if it is none. Mistakes as for
 * qdq_target_load(), and then the target is as before. */
QDQ_API QDQ_MUST_USE qdq_status qdq_target_set(qdq_target *t, const char *key, const char *value,
                                               qdq_error *err);

/* Changes that are right only together, as a type and the size of its blocks: all n are made, or
 * none. Keys and values as for qdq_target_set(). */
typedef struct qdq_target_change {
    const char *key, *value;
} qdq_target_change;

QDQ_API QDQ_MUST_USE qdq_status qdq_target_set_all(qdq_target *t, const qdq_target_change *changes,
                                                   size_t n, qdq_error *err);

/* The description, as it is read: borrowed, valid as long as the target and until it is changed. */
QDQ_API const char *qdq_target_text(const qdq_target *t);

/* The name in the description: "ort-cpu". Borrowed like the text. */
QDQ_API const char *qdq_target_get_name(const qdq_target *t);

/* The engine whose speed its rules are about, as in qdq_engine_info.name: "ort". Borrowed like
 * the text. */
QDQ_API const char *qdq_target_engine(const qdq_target *t);

/* One key that two targets have otherwise. */
typedef struct qdq_target_difference {
    /* "stay_float: small-matrix of MatMul", "activation"; "": the top */
    const char *place;
    /* "": the whole rule */
    const char *key;
    /* values, JSON on one line, strings as they are; "": it has none */
    const char *a, *b;
    /* what was measured of this key, as a sentence; "": nothing */
    const char *figures_a, *figures_b;
} qdq_target_difference;

/* What differs between two targets, figures and probes left out. *out is freed with qdq_free() (one
 * block). */
QDQ_API QDQ_MUST_USE qdq_status qdq_target_compare(const qdq_target *a, const qdq_target *b,
                                                   qdq_target_difference **out, size_t *n,
                                                   qdq_error *err);

/* --- why -------------------------------------------------------------------------------------- */

/* Records, while a plan is made, every rule that looks at one node or tensor, and its verdict. */
typedef struct qdq_why qdq_why;

typedef struct qdq_why_note {
    /* label of the node that was looked at */
    const char *node;
    /* name of the rule, as the target has it; "plan": what came of it */
    const char *rule;
    /* the rule applies to the node */
    bool holds;
    /* a sentence without full stop: what was found, and what follows */
    const char *verdict;
} qdq_why_note;

/* `about`: the label of a node, or the name of a tensor: its producer and its consumers are
 * recorded. NULL: out of memory. */
QDQ_API qdq_why *qdq_why_new(const char *about);
/* NULL is allowed */
QDQ_API void qdq_why_free(qdq_why *w);

/* The notes, in that order. Borrowed: valid as long as `w`. */
QDQ_API const qdq_why_note *qdq_why_notes(const qdq_why *w, size_t *n);

/* --- quantize: the whole way ------------------------------------------------------------------ */

/* How the values of an activation become the range that its quantized values span. */
typedef enum qdq_method {
    /* the target's (key "activation.method"), or max */
    QDQ_METHOD_DEFAULT = 0,
    /* smallest and largest value of all data */
    QDQ_METHOD_MAX,
    /* least loss of information (Kullback-Leibler), searched exactly */
    QDQ_METHOD_ENTROPY,
    /* the same as ONNX Runtime's tool computes it, its oddities included */
    QDQ_METHOD_ENTROPY_COMPAT,
    /* leaves out the outermost values */
    QDQ_METHOD_PERCENTILE,
    /* least squared error */
    QDQ_METHOD_MSE,
    /* of the bounds of each sample, weight 0.01 for the newest */
    QDQ_METHOD_MOVING_AVERAGE,
    /* for each tensor the one with the least squared error on held-out samples */
    QDQ_METHOD_AUTO
} qdq_method;

/* "max", "moving-average", ... NULL for what is none. */
QDQ_API const char *qdq_method_name(qdq_method method);

/* The processor that a model is made for. Without VNNI, 8-bit kernels on x86 saturate
 * (docs/targets.md, key `without_vnni`). */
typedef enum qdq_cpu {
    /* the processor that runs */
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

/* "auto", "avx2", ... NULL for what is none. */
QDQ_API const char *qdq_cpu_name(qdq_cpu cpu);

/* Do biases take off the shift that rounding the weights adds to the mean of each channel (Nagel et
 * al., "Data-Free Quantization Through Weight Equalization and Bias Correction", 2019, 4.2)? Random
 * data has no means that count. */
typedef enum qdq_bias_correction {
    /* where a goal is missed without, and what is found is nearer to it with
     * (qdq_quantize_goal()) */
    QDQ_BIAS_CORRECTION_AUTO,
    QDQ_BIAS_CORRECTION_ON,
    QDQ_BIAS_CORRECTION_OFF
} qdq_bias_correction;

typedef struct qdq_quantize_opts {
    size_t size;
    /* Which nodes may run in 8 bits. Each list ends with NULL, or is NULL: no such wish. A node is
     * named by its label (as in plans); an entry is a POSIX extended regular expression that is
     * found anywhere in the label, or "=NAME", the whole label. What an engine fuses into a node
     * goes along with it. */
    /* these stay float */
    const char *const *exclude;
    /* all others stay float */
    const char *const *include;
    /* all other operators stay float */
    const char *const *op_types;
    const char *const *exclude_op_types;
    /* Labels of nodes that the engine computes wrongly in 8 bits (qdq_verify_equivalent()): they
     * stay float, and the plan says why. */
    const char *const *wrong;
    /* records; may be NULL. A node or tensor that the model does not have is QDQ_E_USAGE */
    qdq_why *why;
    const qdq_input_shape *shapes;
    size_t n_shapes;
    /* use at most this many; 0: all */
    size_t samples;
    /* Bound on the bytes of activations observed at once, and, with a goal, on those of the float
     * model's outputs that are kept from trial to trial (beyond it, that model runs again in each);
     * 0: 256 MiB. */
    uint64_t memory;
    /* of the engine; 0: 1. Last digits of scales depend on it */
    int threads;
    /* What is run on the copy before anything is placed (pass.h), and recorded in the plan; NULL:
     * "quantize". */
    const char *passes;
    const qdq_job *job;
    qdq_method method;
    /* of the values that stay inside the range, above 50 and up to 100; 0: 99.999 */
    double percentile;
    /* file with ranges, TensorRT's calibration cache or qdq_plan_save_ranges()'s: only tensors that
     * it does not have are calibrated; or NULL */
    const char *cache;
    /* cross-layer equalization first, where it helps: runs the pass "equalize", too */
    bool equalize;
    qdq_bias_correction bias_correction;
    /* for targets whose kernels depend on it; the plan records it */
    qdq_cpu cpu;
} qdq_quantize_opts;

/* Bytes that constants of that copy may grow by, unless `passes` says otherwise. A float16 weight
 * behind Cast must become a float constant there, or it would not be quantized; in the file it
 * becomes smaller again. */
#define QDQ_CLEAN_GROWTH (1 << 20)

/* The least that placement and engines ask for: a model that is otherwise left as it is. */
#define QDQ_PASSES_MINIMAL "lift-constants,drop-shared-names"

#define QDQ_QUANTIZE_OPTS_INIT                                                                     \
    {                                                                                              \
        .size = sizeof(qdq_quantize_opts)                                                          \
    }

/* Cleans a copy of `m`, places Q/DQ by the target's rules, calibrates on `data`, and gives the
 * plan. Q/DQ of the model are preserved, and the plan has what they lack.
 * `data` NULL: seeded random input, and the plan has "placement only" if it took scales from it.
 * The model is not changed. */
QDQ_API QDQ_MUST_USE qdq_status qdq_plan_make(const qdq_model *m, const qdq_target *t,
                                              qdq_engine *e, qdq_data *data,
                                              const qdq_quantize_opts *opts, qdq_plan **out,
                                              qdq_error *err);

/* The same, and the plan is applied: *out (`out` may be NULL) is what qdq_plan_apply() would make
 * of it and `m`, without cleaning a second copy. */
QDQ_API QDQ_MUST_USE qdq_status qdq_quantize(const qdq_model *m, const qdq_target *t, qdq_engine *e,
                                             qdq_data *data, const qdq_quantize_opts *opts,
                                             qdq_plan **plan, qdq_model **out, qdq_error *err);

/* For opts->why alone: places, and ends before calibration, so that it needs neither engine nor
 * data. No such node or tensor is QDQ_E_USAGE, with a name that is near. */
QDQ_API QDQ_MUST_USE qdq_status qdq_explain(const qdq_model *m, const qdq_target *t,
                                            const qdq_quantize_opts *opts, qdq_error *err);

/* --- the plan --------------------------------------------------------------------------------- */

/* A plan from a file, or from `size` bytes of its text, which messages call `name` (docs/plan.md).
 * QDQ_E_FORMAT: it is malformed, with the place. *out is freed with qdq_plan_free(). */
QDQ_API QDQ_MUST_USE qdq_status qdq_plan_load(const char *path, qdq_plan **out, qdq_error *err);
QDQ_API QDQ_MUST_USE qdq_status qdq_plan_parse(const char *text, size_t size, const char *name,
                                               qdq_plan **out, qdq_error *err);
/* Writes the text of a plan: the same plan gives the same bytes, and a file appears whole or not at
 * all. QDQ_E_IO: it is there already, unless allow_overwrite. */
QDQ_API QDQ_MUST_USE qdq_status qdq_plan_save(const qdq_plan *p, const char *path,
                                              bool allow_overwrite, qdq_error *err);
/* The ranges of the plan's activations as a calibration cache: "X.json" is ours (docs/plan.md), any
 * other name TensorRT's form. For qdq_quantize_opts.cache, and for trtexec. */
QDQ_API QDQ_MUST_USE qdq_status qdq_plan_save_ranges(const qdq_plan *p, const char *path,
                                                     bool allow_overwrite, qdq_error *err);
/* *text is freed with qdq_free(). */
QDQ_API QDQ_MUST_USE qdq_status qdq_plan_to_text(const qdq_plan *p, char **text, qdq_error *err);
/* NULL is allowed */
QDQ_API void qdq_plan_free(qdq_plan *p);

/* Applies a plan: a new model, cleaned by the pipeline that the plan records, with Q/DQ. A pure
 * function of model and plan. A plan for another model is QDQ_E_FORMAT unless `force`; edges that
 * are not there are QDQ_E_FORMAT and listed. */
QDQ_API QDQ_MUST_USE qdq_status qdq_plan_apply(const qdq_plan *p, const qdq_model *m, bool force,
                                               qdq_model **out, qdq_error *err);

/* Relu and Clip that a quantizer removed, because the quantized range ends at the same place. */
typedef enum qdq_bounds {
    /* put back in models of the tool that does so (ONNX Runtime's) */
    QDQ_BOUNDS_AUTO = 0,
    /* restore wherever quantized values begin at 0 after a Conv, Add, ... */
    QDQ_BOUNDS_RESTORE,
    QDQ_BOUNDS_LEAVE
} qdq_bounds;

typedef struct qdq_import_opts {
    size_t size;
    qdq_bounds bounds;
    /* its log warns of what cannot be expressed or removed, with place and reason */
    const qdq_job *job;
} qdq_import_opts;

#define QDQ_IMPORT_OPTS_INIT                                                                       \
    {                                                                                              \
        .size = sizeof(qdq_import_opts)                                                            \
    }

/* The quantization that is already in a model, as a plan for the model without it; import(apply(p))
 * = p in tensors, weights, biases. QOperator format (QLinearConv, ...) is decomposed first.
 * `opts` may be NULL. *stripped (may be NULL) is what qdq_model_strip() gives. */
QDQ_API QDQ_MUST_USE qdq_status qdq_plan_import(const qdq_model *m, const qdq_import_opts *opts,
                                                qdq_plan **out, qdq_model **stripped,
                                                qdq_error *err);

/* Quantization encodings that AIMET wrote next to the float model `m` (JSON, versions 0.4.0
 * to 1.0.0), as a plan for it. The job logs tensors that the model does not have, and what a plan
 * cannot express. */
QDQ_API QDQ_MUST_USE qdq_status qdq_plan_load_encodings(const char *path, const qdq_model *m,
                                                        const qdq_import_opts *opts, qdq_plan **out,
                                                        qdq_error *err);
QDQ_API QDQ_MUST_USE qdq_status qdq_plan_parse_encodings(const char *text, size_t size,
                                                         const char *name, const qdq_model *m,
                                                         const qdq_import_opts *opts,
                                                         qdq_plan **out, qdq_error *err);

/* A new model: `m` as float model, without any Q/DQ, in the subgraphs of If, Loop and Scan
 * and in functions, too. Constants that were stored as quantized values are float again. *n_left
 * (may be NULL) counts nodes that had to stay; the job logs the reason. */
QDQ_API QDQ_MUST_USE qdq_status qdq_model_strip(const qdq_model *m, const qdq_import_opts *opts,
                                                qdq_model **out, size_t *n_left, qdq_error *err);

/* Nodes that a plan treats alike. */
typedef struct qdq_plan_count {
    /* operator, or reason */
    const char *what;
    /* nodes */
    size_t n;
} qdq_plan_count;

typedef struct qdq_plan_summary {
    size_t n_tensors, n_weights, n_biases, n_left_float;
    /* nodes by operator that the plan puts into 8 bits */
    const qdq_plan_count *quantized;
    size_t n_quantized;
    /* nodes by operator that the model had in 8 bits before */
    const qdq_plan_count *existing;
    size_t n_existing;
    /* nodes by "Op: reason" */
    const qdq_plan_count *left_float;
    size_t n_left;
    bool placement_only;
    const char *target;
    /* the processor that it is for, as qdq_cpu_name() has it; "": any */
    const char *cpu;
    /* Of a plan made with `equalize`: pairs of Conv that share ranges now, and those that it would
     * not help. */
    size_t n_equalized, n_not_equalized;
    /* the model is raised to this; 0: left as it is */
    int opset;
    /* spelled in single nodes; the opset was raised to fuse them */
    size_t n_layernorms;
} qdq_plan_summary;

/* Borrowed: valid as long as the plan. */
QDQ_API const qdq_plan_summary *qdq_plan_get_summary(const qdq_plan *p);

#ifdef __cplusplus
}
#endif
#endif /* QDQ_QUANT_H */
