/* qdq/check.h - what is wrong with the quantization of a model, and what of it an engine will not use.
 *
 * A Q/DQ pair pays only where the engine fuses it with an operator into an 8-bit kernel; where it does not, the
 * operator runs in float and Q/DQ are work on top. For each such place: why, and what it costs. */
#ifndef QDQ_CHECK_H
#define QDQ_CHECK_H

#include "engine.h"
#include "quant.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct qdq_target_finding {
    bool is_error;    /* the numbers are wrong, or the model will not run; else it only costs */
    const char *kind; /* one word for programs, as qdq_check_kind() lists them */
    const char *op;   /* of the node: operator, */
    const char *node; /* and label */
    const char *why;  /* a sentence without full stop */
    uint64_t
        converted; /* elements that Q and DQ turn over in every run because of it; 0: none, or not known */
    double microseconds; /* what that took on the engine, per run; 0: not measured */
} qdq_target_finding;

/* The kinds of findings: name and one line of help; NULL past the end. */
QDQ_API const char *qdq_check_kind(size_t i, const char **help);

typedef struct qdq_check_opts {
    size_t size;
    qdq_engine
        *engine; /* proves, by the kernels that it runs on random input, and measures; NULL: rules alone */
    const qdq_input_shape *shapes;
    size_t n_shapes;
    int threads; /* of the engine; 0: 1 */
    const qdq_job *job;
} qdq_check_opts;

#define QDQ_CHECK_OPTS_INIT                                                                                  \
    {                                                                                                        \
        sizeof(qdq_check_opts), NULL, NULL, 0, 0, NULL                                                       \
    }

typedef struct qdq_target_check {
    const qdq_target_finding *findings;
    size_t n;
    size_t n_errors;
    size_t n_quantizers; /* Q and DQ in the model */
    size_t n_fused;      /* nodes that run in 8 bits */
    size_t n_unfused;    /* nodes next to Q/DQ that could, and do not */
    uint64_t converted;  /* by all findings */
    double microseconds; /* likewise */
    bool proven;         /* by the engine's kernels */
    size_t n_weights;    /* nodes whose weight alone is to be codes, and is: none of those above */
} qdq_target_check;

/* *out is freed with qdq_free() (one block). What is wrong with the model apart from its quantization is
 * qdq_model_check()'s business. */
QDQ_API QDQ_MUST_USE qdq_status qdq_model_check_target(const qdq_model *m, const qdq_target *t,
                                                       const qdq_check_opts *opts, qdq_target_check **out,
                                                       qdq_error *err);

/* An executed layer that reads 8 bits and gives a float tensor that the model goes on with. */
typedef struct qdq_group_finding {
    size_t group;       /* index of the layer */
    const char *node;   /* that gives the tensor: its label; "": not known */
    const char *tensor; /* that a QuantizeLinear is missing behind; "": not known */
    const char *why;    /* a sentence without full stop */
} qdq_group_finding;

/* Looks through the layers of qdq_session_groups(), or of a layer information, for the model that they are of. What the model
 * gives to its caller may be float. *out is freed with qdq_free() (one block). */
QDQ_API QDQ_MUST_USE qdq_status qdq_groups_check(const qdq_model *m, const qdq_group *g, size_t n,
                                                 qdq_group_finding **out, size_t *n_out, qdq_error *err);

#ifdef __cplusplus
}
#endif
#endif /* QDQ_CHECK_H */
