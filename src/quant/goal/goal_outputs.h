/* goal_outputs.h - what a goal asks of outputs that were compared, and the folds in which few
 * samples are compared. */
#ifndef QDQ_GOAL_OUTPUTS_H
#define QDQ_GOAL_OUTPUTS_H

#include "quant/compare/compare_run.h"
#include "quant/plan/plan.h"
#include "qdq/goal.h"

/* What a goal in SQNR is compared with: the lower bound of an output's worst slice; as measured
 * where one sample gives no bound. */
double qdq_goal_db(const qdq_compare_tensor *t);

typedef struct qdq_goal_outputs {
    /* Of the outputs that count: all, but by default not those that are zero everywhere, which
     * prove nothing. NULL: none counts. */
    const qdq_compare_tensor *worst;
    /* qdq_goal_db() of it. NAN: zero everywhere or not finite; -INFINITY: another shape; INFINITY:
     * no output counts. */
    double db;
    /* the same as measured; NAN: no output counts */
    double measured_db;
    /* Rows of scores that miss the least agreement of the goal; NULL: none. */
    const qdq_compare_tensor *disagreeing;
    /* the fraction of its rows that agree: top1, or top1_close by default; NAN: there is none */
    double agreement;
} qdq_goal_outputs;

/* What argmax of rows has to agree: QDQ_DEFAULT_AGREEMENT, or what was asked for. */
double qdq_goal_agreement(const qdq_goal_opts *goal);

/* `m`: the model that was compared, with shapes. */
qdq_goal_outputs qdq_goal_read_outputs(const qdq_model *m, const qdq_compare_result *r,
                                       const qdq_goal_opts *goal);

/* What an output misses whose rows agree too little with those of `whose` model, in words. */
void qdq_goal_rows_text(const qdq_goal_opts *goal, const char *output, double agreement,
                        const char *whose, char *text, size_t size);

/* QDQ_E_USAGE: an agreement was asked for, and no output has rows of two columns or more. */
qdq_status qdq_goal_need_rows(const qdq_compare_result *r, const qdq_goal_opts *goal,
                              qdq_error *err);

/* Cross-validation needs samples that calibrate, and that decide ranges alone: `rounds` is
 * qdq_rounds_by_samples(). */
qdq_status qdq_goal_check_folds(const qdq_data *data, const qdq_goal_opts *goal, bool rounds,
                                qdq_error *err);

/* The model of a plan; *out goes to qdq_model_free(). */
typedef qdq_status qdq_goal_model_fn(void *ctx, const qdq_plan *p, qdq_model **out, qdq_error *err);

/* Adds fold k of p->n_folds to a comparison, with the model whose scales did not see it. n_samples
 * are those that calibrate. */
qdq_status qdq_goal_add_fold(qdq_comparing *c, qdq_plan *p, unsigned k, size_t n_samples,
                             qdq_goal_model_fn *make, void *ctx, qdq_error *err);

#endif /* QDQ_GOAL_OUTPUTS_H */
