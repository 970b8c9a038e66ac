/* qdq/pass.h - the optimizer: named passes that clean a model, fold, fuse and repair, without changing what it
 * computes, and never at the cost of its quantization (docs/optimizer.md).
 *
 * Pipelines are text: names from the list below, separated by commas, run in order until nothing changes.
 *   name:word+word   a pass with arguments
 *   default          what qdq_model_optimize runs for a target; quantize: what runs before placement
 *   rules            all rewrite rules that `default` has
 *   -name            takes a pass out of what stands before it: "default,-fold-batchnorm" */
#ifndef QDQ_PASS_H
#define QDQ_PASS_H

#include "model.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct qdq_target qdq_target; /* quant.h */

/* The list of passes: name and one line of help; NULL past the end. */
QDQ_API const char *qdq_pass_name(size_t i, const char **help);

/* `text` with the names of groups replaced by what they stand for: *out has only names of passes, is what plans
 * record, and is freed with qdq_free(). `t` NULL: for no engine in particular. An unknown name is QDQ_E_USAGE. */
QDQ_API QDQ_MUST_USE qdq_status qdq_pass_pipeline(const char *text, const qdq_target *t, char **out,
                                                  qdq_error *err);

/* --- options ---------------------------------------------------------------------------------------------------- */

/* A node whose inputs are all constant, as should_fold sees it. The strings are lent for the call. */
typedef struct qdq_fold_node {
    const char *label;  /* name, or Op@tensor */
    const char *op;     /* operator */
    uint64_t in_bytes;  /* of all its inputs */
    uint64_t out_bytes; /* of all its outputs; UINT64_MAX: not known before it is computed */
} qdq_fold_node;

typedef enum qdq_fold {
    QDQ_FOLD_DEFAULT = 0, /* as the limits say */
    QDQ_FOLD_NO,
    QDQ_FOLD_YES /* whatever its inputs weigh; the limit of outputs holds */
} qdq_fold;

typedef struct qdq_optimize_opts {
    size_t size;              /* sizeof this struct */
    const char *passes;       /* a pipeline; NULL: "default" */
    const qdq_target *target; /* what the groups stand for; NULL: no engine in particular */

    /* Constant folding. QuantizeLinear, DequantizeLinear and DynamicQuantizeLinear are never computed, whatever
     * is said here. A node is not computed when an input is larger than fold_input_bytes (unless this node alone
     * reads it and the result is no larger), when its results are larger than fold_output_bytes (unless what
     * they replace frees as much). 0: 1 MiB each. growth_bytes: all constants together may grow by this many bytes;
     * 0: a node stays if its result would make the file larger. Results of up to 64 bytes never count: the text
     * of a node takes about as much. */
    uint64_t fold_input_bytes, fold_output_bytes, growth_bytes;
    const char *const *no_fold;   /* operators that are not computed; ends with NULL; or NULL */
    const char *const *fold_only; /* only these are; ends with NULL; or NULL: all */
    qdq_fold (*should_fold)(void *ctx, const qdq_fold_node *n); /* NULL: the default */

    bool verify_each;          /* verify the model after every pass: QDQ_E_BUG names the one that broke it */
    uint64_t max_applications; /* stop changing things after so many changes; 0: no limit (for bisecting) */
    /* Hears of every change: its number from 1, the pass, the node or value it is about. */
    void (*on_change)(void *ctx, uint64_t number, const char *pass, const char *where);
    /* Hears of every pass that changed something: lines of the text form with - and + in front.
     * The data of constants with more than 64 elements are "...". */
    void (*on_pass)(void *ctx, const char *pass, const char *changed_lines);
    void *ctx; /* first argument of the callbacks */
    const qdq_job *job;
} qdq_optimize_opts;

#define QDQ_OPTIMIZE_OPTS_INIT                                                                               \
    {                                                                                                        \
        sizeof(qdq_optimize_opts), NULL, NULL, 0, 0, 0, NULL, NULL, NULL, false, 0, NULL, NULL, NULL, NULL   \
    }

/* --- report ------------------------------------------------------------------------------------------------------- */

typedef struct qdq_refusal {
    const char *reason;
    size_t n;                    /* candidates refused for it when the pass ran last */
    const char *const *examples; /* labels of the first of them */
    size_t n_examples;
} qdq_refusal;

typedef struct qdq_pass_report {
    const char *pass;
    uint64_t changes;
    const qdq_refusal *refusals;
    size_t n_refusals;
    int64_t nodes; /* how many more (or, negative, fewer) after it, over all rounds */
    int64_t bytes; /* the same of constants; rules only count what they add */
    double seconds;
} qdq_pass_report;

typedef struct qdq_optimize_report {
    const qdq_pass_report *passes; /* in the order of the pipeline */
    size_t n_passes;
    int rounds;
    bool settled; /* false: the bound on rounds, or max_applications, ended it */
    uint64_t changes;
    size_t nodes_before, nodes_after;   /* of the main graph, bodies and functions */
    uint64_t bytes_before, bytes_after; /* of constants */
    size_t q_before, q_after, dq_before, dq_after;
    double seconds;
} qdq_optimize_report;

QDQ_API void qdq_optimize_report_free(qdq_optimize_report *r); /* NULL is allowed */

/* --- run ---------------------------------------------------------------------------------------------------------- */

/* Runs a pipeline until nothing changes (at most 20 rounds). A model that is not sound is QDQ_E_FORMAT. `report`
 * may be NULL; freed with qdq_optimize_report_free. On failure the model may be half changed, but is sound. */
QDQ_API QDQ_MUST_USE qdq_status qdq_model_optimize(qdq_model *m, const qdq_optimize_opts *opts,
                                                   qdq_optimize_report **report, qdq_error *err);

/* The same with nothing but a pipeline. */
QDQ_API QDQ_MUST_USE qdq_status qdq_model_run_passes(qdq_model *m, const char *pipeline, qdq_error *err);

/* --- bisect ------------------------------------------------------------------------------------------------------- */

/* Sees a model after some of the changes, and says whether it is bad: *bad is false on entry. `why` has room for
 * one line about it. Anything but QDQ_OK ends the search and is its result. */
typedef qdq_status (*qdq_judge_fn)(void *ctx, const qdq_model *m, bool *bad, char *why, size_t why_size,
                                   qdq_error *err);

typedef struct qdq_bisect_result {
    bool found;       /* false: with all changes made, the model is good */
    uint64_t number;  /* of the change that made it bad, from 1; 0: it was bad before the first */
    uint64_t changes; /* how many there are */
    char pass[64];    /* of that change; "" for number 0 */
    char where[256];  /* the node or value that it is about */
    char why[400];    /* what the judge or the verifier found */
} qdq_bisect_result;

/* Finds a change that makes a model bad where all changes before it leave it good, by halving: about log2 of the
 * changes models are judged. What the verifier refuses is bad too. The model itself is not changed; with
 * opts->max_applications only so many changes are looked at; on_change and on_pass are not called. */
QDQ_API QDQ_MUST_USE qdq_status qdq_model_bisect(const qdq_model *m, const qdq_optimize_opts *opts,
                                                 qdq_judge_fn judge, void *ctx, qdq_bisect_result *out,
                                                 qdq_error *err);

#ifdef __cplusplus
}
#endif
#endif /* QDQ_PASS_H */
