/* qdq/check.h - finds errors in the quantization of a model, Q/DQ that an engine does not fuse, and
 * wrong results of an engine.
 *
 * A Q/DQ pair pays only where the engine fuses it with an operator into an 8-bit kernel; elsewhere
 * the operator runs in float, and Q/DQ cost time. Each such place has a reason and a cost. */
#ifndef QDQ_CHECK_H
#define QDQ_CHECK_H

#include "compare.h"
#include "data.h"
#include "engine.h"
#include "quant.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct qdq_target_finding {
    /* the results are wrong, or the model will not run; false: the finding only costs time */
    bool is_error;
    /* kind as one word for programs, as qdq_check_kind() lists them */
    const char *kind;
    /* operator and label of the node */
    const char *op;
    const char *node;
    /* a sentence without full stop */
    const char *why;
    /* elements that Q and DQ convert in every run because of this finding; 0: none, or unknown */
    uint64_t converted;
    /* measured time of these conversions per run, in microseconds; 0: not measured */
    double microseconds;
    /* figures of the target's rule: "0.712 (0.690 to 0.730) on ort 1.31.1, PROCESSOR";
     * "": none */
    const char *measured;
} qdq_target_finding;

/* The i-th kind of finding: its name and one line of help. NULL past the end. */
QDQ_API const char *qdq_check_kind(size_t i, const char **help);

typedef struct qdq_check_opts {
    size_t size;
    /* engine that proves the findings by its kernels on random input, and times them; NULL: rules
     * alone */
    qdq_engine *engine;
    const qdq_input_shape *shapes;
    size_t n_shapes;
    /* threads of the engine; 0: 1 */
    int threads;
    const qdq_job *job;
    /* processor that will run the model */
    qdq_cpu cpu;
} qdq_check_opts;

#define QDQ_CHECK_OPTS_INIT                                                                        \
    {                                                                                              \
        .size = sizeof(qdq_check_opts)                                                             \
    }

typedef struct qdq_target_check {
    const qdq_target_finding *findings;
    size_t n;
    size_t n_errors;
    /* number of Q and DQ nodes */
    size_t n_quantizers;
    /* number of nodes that run in 8 bits */
    size_t n_fused;
    /* number of nodes next to Q/DQ that could run in 8 bits and do not */
    size_t n_unfused;
    /* elements that Q and DQ convert because of all findings */
    uint64_t converted;
    /* cost of all findings, in microseconds per run */
    double microseconds;
    /* the findings are confirmed by the engine's kernels */
    bool proven;
    /* number of nodes that a weight-only format quantizes; not part of the counts above */
    size_t n_weights;
} qdq_target_check;

/* Checks the quantization of `m` for the target `t`. `opts` may be NULL. *out is freed with
 * qdq_free() (one block). qdq_model_check() finds other errors of the model. */
QDQ_API QDQ_MUST_USE qdq_status qdq_model_check_target(const qdq_model *m, const qdq_target *t,
                                                       const qdq_check_opts *opts,
                                                       qdq_target_check **out, qdq_error *err);

/* An executed layer that consumes 8 bits and produces a float tensor for other layers. */
typedef struct qdq_layer_finding {
    /* index of the layer */
    size_t layer;
    /* label of the producer; "": unknown */
    const char *node;
    /* name of the tensor that lacks a QuantizeLinear; "": unknown */
    const char *tensor;
    /* a sentence without full stop */
    const char *why;
} qdq_layer_finding;

/* Checks n layers of the model m, from qdq_session_layers() or qdq_layers_read(). Outputs of the
 * model may be float. *out has *n_out findings and is freed with qdq_free() (one block). */
QDQ_API QDQ_MUST_USE qdq_status qdq_layers_check(const qdq_model *m, const qdq_layer *g, size_t n,
                                                 qdq_layer_finding **out, size_t *n_out,
                                                 qdq_error *err);

/* --- does the engine compute what the graph says? --------------------------------------------- */

/* Optimizations of an engine can have defects. So the same model runs twice on the same data: on
 * the engine as users run it, and on a reference that computes the graph as written. The reference
 * is ONNX Runtime without optimizations, with Q and DQ as operators; for the engines "ort" and
 * "sim", the engine itself without optimizations; and if neither is available, qdq's own evaluator,
 * if it knows every operator. What would be wrong by ONNX Runtime is compared once more, with the
 * data of products with weights in blocks in 8 bits, as engines compute these.
 *
 * An output is wrong if one of two rules applies to a slice of it or to the whole. Rule 1: its SQNR
 * against the original model is below QDQ_SAME_SQNR_DB (compare.h), and more than
 * QDQ_VERIFY_LOSS_DB below that of the reference in the same slice. Rule 2: its SQNR against the
 * reference is below QDQ_VERIFY_SAME_DB.
 *
 * Rule 1 guards against chance in few samples: the reference's error in a slice counts as that of
 * the worst slice in its group (compare.h), and the loss must remain without any single sample, if
 * there are several. Rule 2 needs a reference with at least the sum of both numbers, 16 dB, against
 * the original: below it, rounding differences become noise, and two correct engines may differ as
 * much as each differs from the original. Integers of more than 8 bits are right if they are equal,
 * and otherwise count as not compared. */
#define QDQ_VERIFY_LOSS_DB 6.0
#define QDQ_VERIFY_SAME_DB 10.0

typedef enum qdq_verify_verdict {
    /* no reference is available: `why` has the reason */
    QDQ_VERIFY_UNKNOWN,
    QDQ_VERIFY_RIGHT,
    QDQ_VERIFY_WRONG
} qdq_verify_verdict;

typedef struct qdq_verify_opts {
    size_t size;
    /* an engine "ort"; NULL: none. Not needed for "ort" and "sim" */
    qdq_engine *reference;
    /* the model before quantization, for rule 1; NULL: only rule 2 applies */
    const qdq_model *original;
    /* threads of the engine; 0: 1 */
    int threads;
    /* n_shapes shapes that fix open dims in all runs; 0: they stay open */
    const qdq_input_shape *shapes;
    size_t n_shapes;
    /* range of samples: [first, first + count); count 0: to the end */
    size_t first, count, confirm;
    /* do not search for the wrong node: saves up to about 30 runs */
    bool no_search;
    const qdq_job *job;
} qdq_verify_opts;

#define QDQ_VERIFY_OPTS_INIT                                                                       \
    {                                                                                              \
        .size = sizeof(qdq_verify_opts)                                                            \
    }

/* The result of a verification. Texts that do not apply are "". */
typedef struct qdq_verify_result {
    qdq_verify_verdict verdict;
    size_t samples;
    /* the model ran with open dims */
    bool open;
    /* the reference: "ort 1.31.1 without optimizations"; "": none */
    const char *reference;
    /* Name of the output with the largest difference, and SQNR in dB: of the engine against the
     * reference, and of each against the original model. NAN: not measured, or no signal. */
    const char *output;
    /* its worst slice (compare.h); axis -1: the whole */
    int axis;
    size_t index;
    double sqnr_db, engine_db, reference_db;
    /* verdict WRONG: operator and label of the first node, in order of execution, whose result
     * differs, and its form: the types that it reads, and the nodes that read its result. "": it
     * was not found */
    const char *op, *node, *form;
    /* the processor adds products of u8 and s8 with saturation, and the node does so */
    bool saturates;
    /* a sentence without full stop; "" if the verdict is RIGHT */
    const char *why;
    /* outputs, or slices of them, that the verdict ignores, each with the reason: shapes or
     * integers differ, all elements are zero, or the reference is too far from the original. "":
     * all were compared */
    const char *not_compared;
} qdq_verify_result;

/* Runs `m` on the engine and on the reference. `data` has samples for opts->original, or for `m` if
 * that is NULL. A failed run on the engine is an error; a failed run on the reference gives
 * QDQ_VERIFY_UNKNOWN. *out is freed with qdq_free() (one block). Thread safe if the engines are. */
QDQ_API QDQ_MUST_USE qdq_status qdq_verify_engine(const qdq_model *m, qdq_engine *e, qdq_data *data,
                                                  const qdq_verify_opts *opts,
                                                  qdq_verify_result **out, qdq_error *err);

/* Lists labels of the nodes of m to leave in float because of a wrong result: all nodes with the
 * operator and form of r->node. If r->node reads no quantized values, the nearest nodes before it
 * that do take its place. `wide` adds all nodes with the form of one of these, and the consumers of
 * r->node's quantized result. *labels has *n entries and is freed with qdq_free() (one block). */
QDQ_API QDQ_MUST_USE qdq_status qdq_verify_equivalent(const qdq_model *m,
                                                      const qdq_verify_result *r, bool wide,
                                                      const char ***labels, size_t *n,
                                                      qdq_error *err);

/* Writes the verdict, its basis and what was not compared as one line without full stop to `text`;
 * 2,500 bytes are enough. `engine`: as "ort 1.31.1"; `data`: origin of the samples, or NULL.
 * Returns `text`. */
QDQ_API const char *qdq_verify_text(const qdq_verify_result *r, const char *engine,
                                    const char *data, char *text, size_t size);

/* The verdict as text: "unknown", "right", "wrong". */
QDQ_API const char *qdq_verify_verdict_name(qdq_verify_verdict v);

#ifdef __cplusplus
}
#endif
#endif /* QDQ_CHECK_H */
