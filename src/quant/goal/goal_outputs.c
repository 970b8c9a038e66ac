/* goal_outputs.c - compares the error of outputs with the accuracy goal, by folds of samples. */
#include "quant/goal/goal_outputs.h"

#include <math.h>
#include <stdio.h>

#include "base/fail.h"
#include "ir/ir.h"
#include "quant/data/data_source.h"

/* --- the worst output ------------------------------------------------------------------------- */

double qdq_goal_db(const qdq_compare_tensor *t)
{
    return isnan(t->bound_db) ? t->worst_db : t->bound_db;
}

static const qdq_compare_tensor *worst_output(const qdq_compare_result *r, bool by_default)
{
    const qdq_compare_tensor *worst = NULL;

    for (size_t i = 0; i < r->n_outputs; i++) {
        const qdq_compare_tensor *t = &r->outputs[i];

        if (isnan(t->sqnr_db) && by_default)
            continue;
        if (worst == NULL || isnan(t->sqnr_db) || qdq_goal_db(t) < qdq_goal_db(worst))
            worst = t;
        if (isnan(t->sqnr_db))
            break;
    }
    return worst;
}

/* --- rows of scores --------------------------------------------------------------------------- */

static double classes_of(const qdq_model *m, const char *output)
{
    const qdq_value *v = qdq_graph_find(m->graph, output);
    const int rank =
        v != NULL && v->type != NULL && v->type->kind == QDQ_TYPE_TENSOR ? v->type->rank : 0;

    return rank > 0 ? (double)v->type->dim[rank - 1].value : 0;
}

double qdq_goal_agreement(const qdq_goal_opts *goal)
{
    return goal->by_default ? QDQ_DEFAULT_AGREEMENT : goal->min_agreement;
}

/* The output with the least agreement, where that is too little. */
static const qdq_compare_tensor *least_agreeing(const qdq_compare_result *r, double least)
{
    const qdq_compare_tensor *found = NULL;

    for (size_t i = 0; i < r->n_outputs; i++)
        if (r->outputs[i].top1 < least && (found == NULL || r->outputs[i].top1 < found->top1))
            found = &r->outputs[i];
    return found;
}

qdq_status qdq_goal_need_rows(const qdq_compare_result *r, const qdq_goal_opts *goal,
                              qdq_error *err)
{
    bool any = goal->min_agreement <= 0;

    for (size_t i = 0; i < r->n_outputs; i++)
        any |= !isnan(r->outputs[i].top1) || r->outputs[i].other_shape;
    return any ? QDQ_OK
               : qdq_fail(err, QDQ_E_USAGE,
                          "min_agreement: output '%s' has no rows of two numbers or more, expected "
                          "scores of classes",
                          r->outputs[0].name);
}

/* Only those of a long class axis, which has no slices. */
static const qdq_compare_tensor *disagreeing_output(const qdq_model *m, const qdq_compare_result *r)
{
    enum { LONG_AXIS = 128, FEW_ROWS = 20 };

    for (size_t i = 0; i < r->n_outputs; i++) {
        const qdq_compare_tensor *t = &r->outputs[i];
        const double classes = classes_of(m, t->name);

        if (isnan(t->top1) || classes <= LONG_AXIS)
            continue;
        const double rows = (double)t->elements / classes, missed = rows * (1 - t->top1_close);
        if (rows <= FEW_ROWS ? missed > 1.5 : t->top1_close < QDQ_DEFAULT_AGREEMENT)
            return t;
    }
    return NULL;
}

qdq_goal_outputs qdq_goal_read_outputs(const qdq_model *m, const qdq_compare_result *r,
                                       const qdq_goal_opts *goal)
{
    const qdq_compare_tensor *worst = worst_output(r, goal->by_default);
    qdq_goal_outputs o = {
        worst, INFINITY, NAN,
        goal->by_default ? disagreeing_output(m, r) : least_agreeing(r, goal->min_agreement), NAN};

    if (o.disagreeing != NULL)
        o.agreement = goal->by_default ? o.disagreeing->top1_close : o.disagreeing->top1;
    if (worst == NULL)
        return o;
    o.db = o.measured_db = NAN;
    if (isnan(worst->sqnr_db))
        return o;
    o.db = qdq_goal_db(worst);
    o.measured_db = worst->worst_db;
    return o;
}

void qdq_goal_rows_text(const qdq_goal_opts *goal, const char *output, double agreement,
                        const char *whose, char *text, size_t size)
{
    snprintf(text, size, "output '%.60s': %.4f of its rows have %s argmax%s, expected at least %g",
             output, agreement, whose, goal->by_default ? " or a tie" : "",
             qdq_goal_agreement(goal));
}

/* --- folds ------------------------------------------------------------------------------------ */

qdq_status qdq_goal_check_folds(const qdq_data *data, const qdq_goal_opts *goal, bool rounds,
                                qdq_error *err)
{
    if (goal->folds > 0 && (goal->eval != NULL || data == NULL || qdq_data_is_random(data)))
        return qdq_fail(err, QDQ_E_USAGE,
                        "cross-validation: expected samples that calibrate, found others");
    if (goal->folds > 0 && rounds)
        return qdq_fail(err, QDQ_E_USAGE,
                        "cross-validation of weights that samples round: folds have ranges of "
                        "their own and nothing else; expected folds 0 and samples that are held "
                        "out");
    return QDQ_OK;
}

qdq_status qdq_goal_add_fold(qdq_comparing *c, qdq_plan *p, unsigned k, size_t n_samples,
                             qdq_goal_model_fn *make, void *ctx, qdq_error *err)
{
    const qdq_data *d = qdq_comparing_data(c);
    const size_t first = qdq_data_fold_first(d, k, p->n_folds, n_samples),
                 end = qdq_data_fold_first(d, k + 1, p->n_folds, n_samples);
    qdq_model *m = NULL;

    qdq_plan_swap_fold(p, k);
    qdq_status st = make(ctx, p, &m, err);
    qdq_plan_swap_fold(p, k);
    QDQ_TRY(st);
    st = qdq_comparing_add(c, m, first, end - first, err);
    qdq_model_free(m);
    return st;
}
