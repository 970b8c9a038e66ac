/* qdq/pass.h - the optimizer: named passes that clean a model, fold, fuse and repair, and
 * preserve what it computes and its quantization (docs/optimizer.md).
 *
 * A pipeline is text: names of passes and groups, separated by commas. They run in order until
 * nothing changes.
 *
 *     name:word+word   a pass with arguments
 *     -name            removes an earlier pass: "default,-fold-batchnorm"
 *     default          the passes of qdq_model_optimize for a target
 *     quantize         the passes before placement
 *     rules            all rewrite rules of `default` */
#ifndef QDQ_PASS_H
#define QDQ_PASS_H

#include "model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* quant.h */
typedef struct qdq_target qdq_target;

/* The i-th pass: its name and one line of help. NULL past the end. */
QDQ_API const char *qdq_pass_name(size_t i, const char **help);

/* Replaces names of groups in the pipeline `text` by their passes: *out has only names of passes,
 * as plans record it, and is freed with qdq_free(). `t` NULL: no particular engine. QDQ_E_USAGE:
 * unknown name. */
QDQ_API QDQ_MUST_USE qdq_status qdq_pass_pipeline(const char *text, const qdq_target *t, char **out,
                                                  qdq_error *err);

/* --- options ---------------------------------------------------------------------------------- */

/* A node whose inputs are all constant, for should_fold. The strings are borrowed for the call. */
typedef struct qdq_fold_node {
    /* its name, or Op@tensor */
    const char *label;
    /* operator */
    const char *op;
    /* bytes of all its inputs */
    uint64_t in_bytes;
    /* bytes of all its outputs; UINT64_MAX: unknown before it is computed */
    uint64_t out_bytes;
} qdq_fold_node;

typedef enum qdq_fold {
    /* as the limits decide */
    QDQ_FOLD_DEFAULT = 0,
    QDQ_FOLD_NO,
    /* whatever the size of its inputs; the limit of outputs applies */
    QDQ_FOLD_YES
} qdq_fold;

typedef struct qdq_optimize_opts {
    /* sizeof this struct */
    size_t size;
    /* the pipeline; NULL: "default" */
    const char *passes;
    /* decides the passes of groups; NULL: no particular engine */
    const qdq_target *target;

    /* Limits of constant folding, in bytes; 0: 1 MiB each. A node stays if an input is larger than
     * fold_input_bytes, unless only this node reads it and the result is no larger. It also stays
     * if its results are larger than fold_output_bytes, unless what they replace frees as much.
     * growth_bytes is the total by which constants may grow; 0: a node stays if its result would
     * make the file larger. Results of up to 64 bytes never count: the text of a node takes about
     * as much. QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear are never folded. */
    uint64_t fold_input_bytes, fold_output_bytes, growth_bytes;
    /* operators that stay, ends with NULL; or NULL */
    const char *const *no_fold;
    /* the only operators to fold, ends with NULL; NULL: all */
    const char *const *fold_only;
    /* decides for single nodes; NULL: the limits decide */
    qdq_fold (*should_fold)(void *ctx, const qdq_fold_node *n);

    /* verify the model after every pass: QDQ_E_BUG names the one that broke it */
    bool verify_each;
    /* stop after this many changes (for bisecting); 0: no limit */
    uint64_t max_applications;
    /* Called for every change: its number from 1, the pass, and the changed node or value. May be
     * NULL. */
    void (*on_change)(void *ctx, uint64_t number, const char *pass, const char *where);
    /* Called for every pass that changed something, with lines of the text form that begin with -
     * or +. Data of constants with more than 64 elements are "...". May be NULL. */
    void (*on_pass)(void *ctx, const char *pass, const char *changed_lines);
    /* first argument of the callbacks */
    void *ctx;
    const qdq_job *job;
} qdq_optimize_opts;

#define QDQ_OPTIMIZE_OPTS_INIT                                                                     \
    {                                                                                              \
        .size = sizeof(qdq_optimize_opts)                                                          \
    }

/* --- report ----------------------------------------------------------------------------------- */

typedef struct qdq_refusal {
    const char *reason;
    /* number of candidates refused for this reason in the last run of the pass */
    size_t n;
    /* labels of the first n_examples of them */
    const char *const *examples;
    size_t n_examples;
} qdq_refusal;

typedef struct qdq_pass_report {
    const char *pass;
    uint64_t changes;
    const qdq_refusal *refusals;
    size_t n_refusals;
    /* number of nodes added, over all rounds; negative: removed */
    int64_t nodes;
    /* bytes of constants added, over all rounds; of rules, only new constants count */
    int64_t bytes;
    double seconds;
} qdq_pass_report;

typedef struct qdq_optimize_report {
    /* n_passes passes, in the order of the pipeline */
    const qdq_pass_report *passes;
    size_t n_passes;
    int rounds;
    /* nothing changes any more; false: the limit of rounds, or max_applications, ended the run */
    bool settled;
    uint64_t changes;
    /* nodes of the main graph, control-flow subgraphs and functions */
    size_t nodes_before, nodes_after;
    /* bytes of constants */
    uint64_t bytes_before, bytes_after;
    size_t q_before, q_after, dq_before, dq_after;
    double seconds;
} qdq_optimize_report;

/* Frees a report; NULL is allowed. */
QDQ_API void qdq_optimize_report_free(qdq_optimize_report *r);

/* --- run -------------------------------------------------------------------------------------- */

/* Runs a pipeline until nothing changes, at most 20 rounds. `opts` may be NULL. QDQ_E_FORMAT: the
 * model is invalid. On failure the model may have some of the changes, but is valid. *report is
 * freed with qdq_optimize_report_free(); `report` may be NULL. */
QDQ_API QDQ_MUST_USE qdq_status qdq_model_optimize(qdq_model *m, const qdq_optimize_opts *opts,
                                                   qdq_optimize_report **report, qdq_error *err);

/* Runs a pipeline with the default options. */
QDQ_API QDQ_MUST_USE qdq_status qdq_model_run_passes(qdq_model *m, const char *pipeline,
                                                     qdq_error *err);

/* --- bisect ----------------------------------------------------------------------------------- */

/* Evaluates a model that has some of the changes. Sets *bad, which is false on entry, if the model
 * is bad, and may write one line with the reason to `why`. Any status but QDQ_OK ends the
 * search. */
typedef qdq_status (*qdq_bisect_fn)(void *ctx, const qdq_model *m, bool *bad, char *why,
                                    size_t why_size, qdq_error *err);

typedef struct qdq_bisect_result {
    /* false: the model is good with all changes */
    bool found;
    /* number of the change that made it bad, from 1; 0: it was bad before the first */
    uint64_t number;
    /* number of all changes */
    uint64_t changes;
    /* pass of that change; "" for number 0 */
    const char *pass;
    /* node or value that it changed */
    const char *where;
    /* reason from the callback or the verifier */
    const char *why;
} qdq_bisect_result;

/* Finds a change that makes a model bad, where all changes before it leave it good, by bisection:
 * it evaluates about log2(changes) models. A model that the verifier rejects is bad too. `m` is not
 * changed. opts->max_applications limits the changes that are examined; on_change and on_pass are
 * not called. *out is freed with qdq_free() (one block). */
QDQ_API QDQ_MUST_USE qdq_status qdq_model_bisect(const qdq_model *m, const qdq_optimize_opts *opts,
                                                 qdq_bisect_fn evaluate, void *ctx,
                                                 qdq_bisect_result **out, qdq_error *err);

#ifdef __cplusplus
}
#endif
#endif /* QDQ_PASS_H */
