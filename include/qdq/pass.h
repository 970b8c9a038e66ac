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

/* The list of passes: name and one line of help; NULL past the end. */
QDQ_API const char *qdq_pass_name(size_t i, const char **help);

/* `text` with the names of groups replaced by what they stand for: *out has only names of passes,
 * is what plans record, and is freed with qdq_free(). `t` NULL: for no engine in particular. An
 * unknown name is QDQ_E_USAGE. */
QDQ_API QDQ_MUST_USE qdq_status qdq_pass_pipeline(const char *text, const qdq_target *t, char **out,
                                                  qdq_error *err);

/* --- options ---------------------------------------------------------------------------------- */

/* A node whose inputs are all constant, as should_fold sees it. The strings are borrowed for the
 * call. */
typedef struct qdq_fold_node {
    /* name, or Op@tensor */
    const char *label;
    /* operator */
    const char *op;
    /* of all its inputs */
    uint64_t in_bytes;
    /* of all its outputs; UINT64_MAX: not known before it is computed */
    uint64_t out_bytes;
} qdq_fold_node;

typedef enum qdq_fold {
    /* as the limits say */
    QDQ_FOLD_DEFAULT = 0,
    QDQ_FOLD_NO,
    /* whatever its inputs weigh; the limit of outputs holds */
    QDQ_FOLD_YES
} qdq_fold;

typedef struct qdq_optimize_opts {
    /* sizeof this struct */
    size_t size;
    /* a pipeline; NULL: "default" */
    const char *passes;
    /* what the groups stand for; NULL: no engine in particular */
    const qdq_target *target;

    /* Constant folding. QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear are never
     * computed, whatever is said here. A node is not computed when an input is larger than
     * fold_input_bytes (unless this node alone reads it and the result is no larger), when its
     * results are larger than fold_output_bytes (unless what they replace frees as much). 0: 1 MiB
     * each. growth_bytes: all constants together may grow by this many bytes; 0: a node stays if
     * its result would make the file larger. Results of up to 64 bytes never count: the text of a
     * node takes about as much. */
    uint64_t fold_input_bytes, fold_output_bytes, growth_bytes;
    /* operators that are not computed; ends with NULL; or NULL */
    const char *const *no_fold;
    /* only these are; ends with NULL; or NULL: all */
    const char *const *fold_only;
    /* NULL: the default */
    qdq_fold (*should_fold)(void *ctx, const qdq_fold_node *n);

    /* verify the model after every pass: QDQ_E_BUG names the one that broke it */
    bool verify_each;
    /* stop after this many changes; 0: no limit (for bisecting) */
    uint64_t max_applications;
    /* Called for every change: its number from 1, the pass, the node or value it is about. */
    void (*on_change)(void *ctx, uint64_t number, const char *pass, const char *where);
    /* Called for every pass that changed something: lines of the text form with - and + in front.
     * The data of constants with more than 64 elements are "...". */
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
    /* candidates refused for it when the pass ran last */
    size_t n;
    /* labels of the first of them */
    const char *const *examples;
    size_t n_examples;
} qdq_refusal;

typedef struct qdq_pass_report {
    const char *pass;
    uint64_t changes;
    const qdq_refusal *refusals;
    size_t n_refusals;
    /* how many more (or, negative, fewer) after it, over all rounds */
    int64_t nodes;
    /* the same of constants; rules only count what they add */
    int64_t bytes;
    double seconds;
} qdq_pass_report;

typedef struct qdq_optimize_report {
    /* in the order of the pipeline */
    const qdq_pass_report *passes;
    size_t n_passes;
    int rounds;
    /* false: the bound on rounds, or max_applications, ended it */
    bool settled;
    uint64_t changes;
    /* of the main graph, control-flow subgraphs and functions */
    size_t nodes_before, nodes_after;
    /* of constants */
    uint64_t bytes_before, bytes_after;
    size_t q_before, q_after, dq_before, dq_after;
    double seconds;
} qdq_optimize_report;

/* NULL is allowed */
QDQ_API void qdq_optimize_report_free(qdq_optimize_report *r);

/* --- run -------------------------------------------------------------------------------------- */

/* Runs a pipeline until nothing changes (at most 20 rounds). A model that is not sound is
 * QDQ_E_FORMAT. `report` may be NULL; freed with qdq_optimize_report_free. On failure the model may
 * be half changed, but is sound. */
QDQ_API QDQ_MUST_USE qdq_status qdq_model_optimize(qdq_model *m, const qdq_optimize_opts *opts,
                                                   qdq_optimize_report **report, qdq_error *err);

/* The same with nothing but a pipeline. */
QDQ_API QDQ_MUST_USE qdq_status qdq_model_run_passes(qdq_model *m, const char *pipeline,
                                                     qdq_error *err);

/* --- bisect ----------------------------------------------------------------------------------- */

/* Gets a model after some of the changes and sets *bad, which is false on entry, if the model is
 * bad; `why` has room for one line about it. A status other than QDQ_OK ends the search. */
typedef qdq_status (*qdq_bisect_fn)(void *ctx, const qdq_model *m, bool *bad, char *why,
                                    size_t why_size, qdq_error *err);

typedef struct qdq_bisect_result {
    /* false: with all changes made, the model is good */
    bool found;
    /* of the change that made it bad, from 1; 0: it was bad before the first */
    uint64_t number;
    /* how many there are */
    uint64_t changes;
    /* of that change; "" for number 0 */
    const char *pass;
    /* the node or value that it is about */
    const char *where;
    /* reason by the callback or the verifier */
    const char *why;
} qdq_bisect_result;

/* Finds a change that makes a model bad where all changes before it leave it good, by halving:
 * about log2 of the changes models are evaluated. What the verifier rejects is bad too. The model
 * itself is not changed; with opts->max_applications only this many changes are examined; on_change
 * and on_pass are not called. *out is freed with qdq_free() (one block). */
QDQ_API QDQ_MUST_USE qdq_status qdq_model_bisect(const qdq_model *m, const qdq_optimize_opts *opts,
                                                 qdq_bisect_fn judge, void *ctx,
                                                 qdq_bisect_result **out, qdq_error *err);

#ifdef __cplusplus
}
#endif
#endif /* QDQ_PASS_H */
