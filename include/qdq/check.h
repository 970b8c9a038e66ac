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
    /* the numbers are wrong, or the model will not run; else it only costs */
    bool is_error;
    /* one word for programs, as qdq_check_kind() lists them */
    const char *kind;
    /* of the node: operator, */
    const char *op;
    /* and label */
    const char *node;
    /* a sentence without full stop */
    const char *why;
    /* elements that Q and DQ convert in every run because of it; 0: none, or not known */
    uint64_t converted;
    /* what that took on the engine, per run; 0: not measured */
    double microseconds;
    /* figures of the target's rule: "0.712 (0.690 to 0.730) on ort 1.31.1, PROCESSOR";
     * "": none */
    const char *measured;
} qdq_target_finding;

/* The kinds of findings: name and one line of help; NULL past the end. */
QDQ_API const char *qdq_check_kind(size_t i, const char **help);

typedef struct qdq_check_opts {
    size_t size;
    /* proves, by the kernels that it runs on random input, and measures; NULL: rules alone */
    qdq_engine *engine;
    const qdq_input_shape *shapes;
    size_t n_shapes;
    /* of the engine; 0: 1 */
    int threads;
    const qdq_job *job;
    /* that runs the model */
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
    /* Q and DQ in the model */
    size_t n_quantizers;
    /* nodes that run in 8 bits */
    size_t n_fused;
    /* nodes next to Q/DQ that could, and do not */
    size_t n_unfused;
    /* by all findings */
    uint64_t converted;
    /* cost of all findings, us */
    double microseconds;
    /* by the engine's kernels */
    bool proven;
    /* nodes that a weight-only format quantizes: none of those above */
    size_t n_weights;
} qdq_target_check;

/* *out is freed with qdq_free() (one block). What is wrong with the model apart from its
 * quantization is qdq_model_check()'s business. */
QDQ_API QDQ_MUST_USE qdq_status qdq_model_check_target(const qdq_model *m, const qdq_target *t,
                                                       const qdq_check_opts *opts,
                                                       qdq_target_check **out, qdq_error *err);

/* An executed layer that consumes 8 bits and produces a float tensor for other layers. */
typedef struct qdq_layer_finding {
    /* its index */
    size_t layer;
    /* label of the producer; "": unknown */
    const char *node;
    /* label of the node that lacks a QuantizeLinear after it; "": unknown */
    const char *tensor;
    /* a sentence without full stop */
    const char *why;
} qdq_layer_finding;

/* Looks through the layers of qdq_session_layers(), or of a layer information, for the model that
 * they are of. What the model gives to its caller may be float. *out is freed with qdq_free() (one
 * block). */
QDQ_API QDQ_MUST_USE qdq_status qdq_layers_check(const qdq_model *m, const qdq_layer *g, size_t n,
                                                 qdq_layer_finding **out, size_t *n_out,
                                                 qdq_error *err);

/* --- does the engine compute what the graph says? --------------------------------------------- */

/* The optimizations of an engine can have defects. So the same model runs twice on the same data:
 * on the engine as users run it, and on a reference, as it is written: ONNX Runtime without
 * optimizations, Q and DQ as operators; for the engines "ort" and "sim", the engine itself without
 * optimizations; where neither is available, qdq's own evaluator, if it knows every operator.
 *
 * An output is wrong if a slice of it, or the whole, has an SQNR against the original model that is
 * more than QDQ_VERIFY_LOSS_DB below that of the reference in the same slice (and below
 * QDQ_SAME_SQNR_DB of compare.h), or less than QDQ_VERIFY_SAME_DB against the reference. The
 * reference's error in a slice counts as that of the worst one in its group (compare.h), for in few
 * samples a slice may be near the original by chance; and for the same reason the loss must be
 * there without any one of the samples, if there are several. The second rule needs a reference
 * that has the sum of both numbers, 16 dB, against the original: below, what a plan loses makes
 * noise of roundings that differ, and two right engines may be as far apart as each is from the
 * original. Integers of more than 8 bits are right where they are equal; where not, they count as
 * not compared. */
#define QDQ_VERIFY_LOSS_DB 6.0
#define QDQ_VERIFY_SAME_DB 10.0

typedef enum qdq_verify_verdict {
    /* there is no reference: `why` says why */
    QDQ_VERIFY_UNKNOWN,
    QDQ_VERIFY_RIGHT,
    QDQ_VERIFY_WRONG
} qdq_verify_verdict;

typedef struct qdq_verify_opts {
    size_t size;
    /* An engine "ort"; NULL: none. Not needed for "ort" and "sim". */
    qdq_engine *reference;
    /* The model before it was quantized, for the first rule above; NULL: only the second one is
     * asked. */
    const qdq_model *original;
    /* Of the engine; 0: 1. */
    int threads;
    /* Fixes open dims in all runs; none: they stay open. */
    const qdq_input_shape *shapes;
    size_t n_shapes;
    /* Samples of the data: [first, first + count); count 0: at most 4. Where these say wrong, up to
     * `confirm` more are added before the verdict is wrong. */
    size_t first, count, confirm;
    /* Do not look for the node: saves up to some 30 runs where an output is wrong. */
    bool no_search;
    const qdq_job *job;
} qdq_verify_opts;

#define QDQ_VERIFY_OPTS_INIT                                                                       \
    {                                                                                              \
        .size = sizeof(qdq_verify_opts)                                                            \
    }

/* Texts that do not apply are "". */
typedef struct qdq_verify_result {
    qdq_verify_verdict verdict;
    size_t samples;
    /* the model ran with open dims */
    bool open;
    /* "ort 1.31.1 without optimizations"; "" if there is none */
    const char *reference;
    /* Of the output that is furthest off: its name, and SQNR in dB of engine against reference, and
     * of both against the original model. NAN: not measured, or no signal. */
    const char *output;
    /* Of its worst slice (compare.h); axis -1: the whole. */
    int axis;
    size_t index;
    double sqnr_db, engine_db, reference_db;
    /* WRONG: the first node, in order of execution, whose result differs: operator and label, and
     * its form: what it reads, and which nodes read its result. "" if it was not found. */
    const char *op, *node, *form;
    /* The processor adds products of u8 and s8 with saturation, and the node is one that does. */
    bool saturates;
    /* a sentence without full stop; "" if the verdict is RIGHT */
    const char *why;
    /* Outputs, or slices of them, that the verdict is not about, each with the reason: their shapes
     * differ, integers differ, nothing but zeros, or the reference itself is too far from the
     * original. "": all were compared. */
    const char *not_compared;
} qdq_verify_result;

/* Runs `m` on both. The data are samples of opts->original, or of `m` if there is none. A failed
 * run on the engine is an error, a failed run on the reference an unknown verdict. *out goes to
 * qdq_free() (one block). Thread safe, as long as the engines are. */
QDQ_API QDQ_MUST_USE qdq_status qdq_verify_engine(const qdq_model *m, qdq_engine *e, qdq_data *data,
                                                  const qdq_verify_opts *opts,
                                                  qdq_verify_result **out, qdq_error *err);

/* Labels of the nodes of m that a wrong result is about, to leave them float: all of the operator
 * and form of r->node, or where that one reads no quantized values, the nearest nodes before it
 * that do; `wide`: and all that have the form of one of these, and the consumers of r->node's
 * quantized result. *labels is freed with qdq_free() (one block). */
QDQ_API QDQ_MUST_USE qdq_status qdq_verify_equivalent(const qdq_model *m,
                                                      const qdq_verify_result *r, bool wide,
                                                      const char ***labels, size_t *n,
                                                      qdq_error *err);

/* The verdict, what it rests on, and what was not compared, as one line without full stop.
 * `engine`: as "ort 1.31.1"; `data`: where the samples came from, or NULL. Returns `text`; 2,500
 * bytes hold it. */
QDQ_API const char *qdq_verify_text(const qdq_verify_result *r, const char *engine,
                                    const char *data, char *text, size_t size);

/* "unknown", "right", "wrong" */
QDQ_API const char *qdq_verify_verdict_name(qdq_verify_verdict v);

#ifdef __cplusplus
}
#endif
#endif /* QDQ_CHECK_H */
