/* qdq/ptq.h - post-training quantization of one model, evaluated: what `qdq quantize` does.
 *
 * qdq_quantize() makes a plan and applies it; qdq_quantize_goal() returns layers to float until a
 * goal holds. qdq_ptq() decides for both what a careful user would: which samples calibrate and
 * which evaluate, the goal where none is named, nodes that the engine computes wrongly, and whether
 * the result is faster. */
#ifndef QDQ_PTQ_H
#define QDQ_PTQ_H

#include "check.h"
#include "compare.h"
#include "goal.h"
#include "quant.h"

#ifdef __cplusplus
extern "C" {
#endif

/* --- samples ---------------------------------------------------------------------------------- */

/* Which samples calibrate and which evaluate. */
typedef struct qdq_split {
    /* samples that calibrate, from the first; 0: none */
    size_t calibrate;
    /* samples that evaluate: [first, first + evaluate); evaluate 0: none */
    size_t first, evaluate;
    /* no sample is evaluated with ranges, or with weights that samples rounded, that saw it */
    bool held_out;
    /* of cross-validation, as in qdq_goal_opts: all samples calibrate, and all evaluate; 0: none */
    unsigned folds;
} qdq_split;

/* What samples are for: bits of `uses` below. */
typedef enum qdq_split_use {
    QDQ_SPLIT_CALIBRATE = 1,
    QDQ_SPLIT_EVALUATE = 2,
    /* the evaluation is compared with a goal: needs more samples, or folds */
    QDQ_SPLIT_GOAL = 4,
    /* samples round weights, too (qdq_rounds_by_samples()): no folds */
    QDQ_SPLIT_ROUND = 8
} qdq_split_use;

/* Splits the samples of `data`; `eval` evaluates instead of samples that are held out, NULL: none.
 * `samples`: the most that calibrate, 0: all. One sample in eight is held out, 1 to 64 of them; a
 * single sample calibrates and evaluates. With a goal, fewer than 64 samples are cross-validated in
 * 4 folds; of more, 16 to 64 are held out, those after the first `samples` if there are 8. Folds
 * have ranges of their own and nothing else: where samples also round weights, one in four of
 * fewer than 64 is held out, at least 4 or half of them. */
QDQ_API qdq_split qdq_split_samples(const qdq_data *data, const qdq_data *eval, size_t samples,
                                    unsigned uses);

/* Do samples decide what the target's weights are rounded to, by AWQ or GPTQ? */
QDQ_API bool qdq_rounds_by_samples(const qdq_target *t);

/* How many random samples such a split needs (qdq_data_opts.max_samples): 8 that calibrate where
 * `samples` is 0, and those that evaluate if `uses` has QDQ_SPLIT_EVALUATE. */
QDQ_API size_t qdq_split_random(size_t samples, unsigned uses);

/* --- options ---------------------------------------------------------------------------------- */

typedef struct qdq_ptq_result qdq_ptq_result;

typedef struct qdq_ptq_opts {
    size_t size;
    /* How the plan is made; `threads` and `shapes` count for every run, `samples` is the most that
     * calibrate. NULL: defaults */
    const qdq_quantize_opts *quantize;
    /* NULL, or with by_default: the goal is QDQ_DEFAULT_MIN_SQNR where real samples calibrate. With
     * neither min_sqnr, max_drop nor a metric: no goal. Its eval, first, count, folds and limit_s
     * must be 0: they follow from the samples. max_slowdown 0 is 3.5, below 0: no limit */
    const qdq_goal_opts *goal;
    /* samples of the evaluation; NULL: of the data, see qdq_split_samples() */
    qdq_data *eval;
    /* instead of qdq_split_samples(); NULL: that one */
    const qdq_split *split;
    /* A model that is evaluated instead of made, and its plan: both or none, and then neither is
     * changed, and all samples evaluate unless `split` says otherwise. */
    const qdq_plan *plan;
    const qdq_model *quantized;
    /* An engine "ort", as reference of the engine check where another engine runs; NULL: qdq's own
     * evaluator (qdq_verify_engine()). */
    qdq_engine *reference;
    /* do not compare outputs; then there is no goal, and no engine check */
    bool no_sqnr;
    /* do not ask whether the engine computes the model as its graph says */
    bool no_engine_check;
    /* do not measure how fast the model is */
    bool no_speed;
    /* only the plan: no model is made, unless a goal that the caller names needs it */
    bool plan_only;
    /* Outputs that cannot be compared are an error. So they are with a goal of the caller and with
     * `eval`; else the model is kept, with a warning. */
    bool must_compare;
    /* A goal of the caller that is missed is no error: verdict QDQ_PTQ_MISSED. */
    bool best_effort;
    /* Seconds that the caller has spent on the model before the call. Speed is measured for at most
     * 2 s, and at most as long as the rest took. */
    double spent_s;
    /* Called once the model and its verdict are final, before speed is measured: to save the model
     * early. The result is borrowed for the call. Anything but QDQ_OK ends the call with this
     * status and this error, unchanged. NULL: not called */
    qdq_status (*ready)(void *ctx, const qdq_ptq_result *r, qdq_error *err);
    /* first argument of `ready` */
    void *ctx;
    /* NULL: that of `quantize` */
    const qdq_job *job;
} qdq_ptq_opts;

#define QDQ_PTQ_OPTS_INIT                                                                          \
    {                                                                                              \
        .size = sizeof(qdq_ptq_opts)                                                               \
    }

/* --- result ----------------------------------------------------------------------------------- */

typedef enum qdq_ptq_verdict {
    /* there was no goal, or nothing was measured */
    QDQ_PTQ_UNKNOWN,
    /* the goal holds */
    QDQ_PTQ_REACHED,
    /* it is missed: look at `missed` before you use the model */
    QDQ_PTQ_MISSED,
    /* only the float model reaches the default goal, or what reaches it is slower: the model is the
     * optimized float model */
    QDQ_PTQ_FLOAT,
    /* the engine computes the model wrongly, and no node explains it */
    QDQ_PTQ_WRONG
} qdq_ptq_verdict;

typedef enum qdq_ptq_fact {
    /* one sample calibrates and evaluates */
    QDQ_PTQ_ONE_SAMPLE,
    /* the engine gives no outputs: nothing was compared */
    QDQ_PTQ_NO_OUTPUTS,
    /* outputs cannot be compared */
    QDQ_PTQ_NOT_COMPARED,
    /* it is unknown whether the engine computes the model correctly */
    QDQ_PTQ_NOT_CHECKED,
    /* nodes stay float, because the engine computes them wrongly */
    QDQ_PTQ_NODES_WRONG,
    /* the default goal is missed */
    QDQ_PTQ_GOAL_MISSED,
    /* it can be reached, but only slower than in float: nothing was quantized */
    QDQ_PTQ_GOAL_SLOWER,
    /* only float reaches it: nothing was quantized */
    QDQ_PTQ_GOAL_FLOAT,
    /* an output is below it, of a plan that is not changed for that */
    QDQ_PTQ_PLAN_BELOW,
    /* nothing was quantized, for other reasons */
    QDQ_PTQ_NOTHING,
    /* weights alone, and less than 5 % of their bytes were saved */
    QDQ_PTQ_LITTLE,
    /* scales come from random data and mean nothing */
    QDQ_PTQ_PLACEMENT_ONLY,
    /* slower than the input once the engine fixes open dims */
    QDQ_PTQ_SLOWER_FIXED,
    /* slower than the input with the same optimizations and without Q/DQ */
    QDQ_PTQ_SLOWER_OPTIMIZED,
    /* slower than the input: the whole 95 % interval is below 1 */
    QDQ_PTQ_SLOWER,
    /* not shown to be faster: the interval contains 1 */
    QDQ_PTQ_NOT_FASTER,
    /* the engine that evaluates computes the model wrongly, and is not the target's own: the
     * accuracy is unknown, and nothing was changed for it */
    QDQ_PTQ_ENGINE_WRONG
} qdq_ptq_fact;

typedef struct qdq_ptq_warning {
    qdq_ptq_fact fact;
    /* a sentence without full stop */
    const char *text;
    /* the job's log has had it, when it was found */
    bool logged;
} qdq_ptq_warning;

/* Timed in turns with the input, both as they are, with the typical one of the samples that
 * evaluate (qdq_data_find_typical()). */
typedef struct qdq_ptq_speed {
    bool measured;
    /* why it was not; "" */
    const char *why_not;
    int threads;
    /* after: with its speedup over before */
    qdq_bench_model before, after;
    /* of open dims: also with the shapes of the sample, fixed by the engine */
    bool fixed_too;
    qdq_bench_model fixed_before, fixed_after;
    /* next to the input with the same passes and without Q/DQ */
    bool optimized_too;
    qdq_bench_model optimized_before, optimized_after;
} qdq_ptq_speed;

struct qdq_ptq_result {
    qdq_ptq_verdict verdict;
    /* what was found and what was expected, where a goal is missed; "" */
    const char *missed;
    /* Both are freed with the result: to keep one, take it and set the member to NULL. NULL if the
     * options have them; the model also with plan_only. */
    qdq_plan *plan;
    qdq_model *model;
    qdq_split split;
    /* how a goal was reached; NULL: none was searched for */
    qdq_goal_result *goal;
    /* outputs of input and model on samples that evaluate; NULL: not compared */
    const qdq_compare_result *compared;
    /* of the model; NULL: not asked, or it does not run */
    qdq_verify_result *engine_check;
    /* of a metric: of the input and of the model; NAN: not measured */
    double metric_before, metric_after;
    /* NULL: not asked */
    const qdq_ptq_speed *speed;
    /* in the order in which they were found */
    const qdq_ptq_warning *warnings;
    size_t n_warnings;
};

/* Quantizes m for target t on engine e, whose speed and results it measures.
 *
 * `data` calibrates and evaluates; NULL: seeded random input calibrates, and nothing is evaluated.
 * With real samples there is a default goal (options, `goal`), and if t's own engine is e, it must
 * compute what the model defines: nodes of the form that it computes wrongly stay float, in up to 3
 * further plans. If outputs cannot be compared, the default goal is dropped. Where options have
 * `plan` and `quantized`, t may be NULL, and the model is evaluated only.
 *
 * What a user should know before the model is used is in `warnings`: a default goal that is missed
 * is one, a goal that the caller names is QDQ_E_GOAL. With QDQ_E_GOAL, and where the verdict is
 * QDQ_PTQ_WRONG (QDQ_E_ENGINE), *out holds what was found; with all other errors it is NULL. Other
 * errors: as qdq_quantize_goal() and qdq_compare(); QDQ_E_USAGE for options that conflict.
 *
 * *out goes to qdq_ptq_result_free(). The input is not changed. Thread safe, as long as data and
 * engine are not used elsewhere meanwhile. */
QDQ_API QDQ_MUST_USE qdq_status qdq_ptq(const qdq_model *m, const qdq_target *t, qdq_engine *e,
                                        qdq_data *data, const qdq_ptq_opts *opts,
                                        qdq_ptq_result **out, qdq_error *err);
/* NULL is allowed */
QDQ_API void qdq_ptq_result_free(qdq_ptq_result *r);

/* "unknown", "reached", "missed", "float", "wrong" */
QDQ_API const char *qdq_ptq_verdict_name(qdq_ptq_verdict v);

#ifdef __cplusplus
}
#endif
#endif /* QDQ_PTQ_H */
