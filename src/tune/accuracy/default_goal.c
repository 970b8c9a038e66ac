/* default_goal.c - the goal that holds without a goal of the user, and a start that reaches a goal
 * which the rules' plan misses. */
#include <math.h>

#include "base/fail.h"
#include "ir/qdq_node.h"
#include "quant/goal/goal_search.h"
#include "tune/accuracy/accuracy.h"
#include "tune/candidate/tune_files.h"
#include "tune/candidate/tune_names.h"

enum { MAX_EVALUATIONS = 16 };

/* --- which goal holds ------------------------------------------------------------------------- */

static bool has_real_samples(const qdq_data *calibration, const qdq_goal_opts *goal)
{
    const qdq_data *d = goal->eval != NULL ? goal->eval : calibration;

    return d != NULL && !qdq_data_is_random(d);
}

void qdq_tune_set_goal(qdq_tune_state *t, qdq_goal_opts *goal)
{
    static const qdq_goal_opts none = QDQ_GOAL_OPTS_INIT;
    const qdq_goal_opts *asked = t->opts->goal;

    *goal = asked != NULL ? *asked : none;
    goal->by_default = asked == NULL || asked->by_default;
    if (!goal->by_default)
        return;
    t->run.warns = has_real_samples(t->task.data, goal) && qdq_model_has_qdq(t->task.m);
    goal->min_sqnr =
        has_real_samples(t->task.data, goal) && !t->run.warns ? QDQ_DEFAULT_MIN_SQNR : 0;
}

/* --- what came with Q/DQ ---------------------------------------------------------------------- */

qdq_status qdq_tune_warn_of_accuracy(qdq_tune_state *t, qdq_error *err)
{
    const char *path = qdq_tune_path(t, "model.onnx");
    qdq_tune_evaluation evaluation;
    qdq_model *m = NULL;

    if (!t->run.warns || t->out->verdict == QDQ_TUNED_FLOAT)
        return QDQ_OK;
    QDQ_NEED(path != NULL, err);
    QDQ_TRY(qdq_model_load(path, NULL, &m, err));
    qdq_status st = qdq_tune_compare_model(t, m, &evaluation, err);
    qdq_model_free(m);
    if (st == QDQ_OK && !(evaluation.goal_db >= QDQ_DEFAULT_MIN_SQNR))
        qdq_job_log(
            t->job, QDQ_LOG_WARNING,
            "accuracy is low: SQNR %.2f dB%s, %g is the goal of models without Q/DQ of their own",
            evaluation.goal_db, isnan(evaluation.more.bound_db) ? "" : " (lower bound)",
            QDQ_DEFAULT_MIN_SQNR);
    return st;
}

/* --- a start that reaches the goal ------------------------------------------------------------ */

typedef struct back {
    qdq_tune_state *t;
    qdq_goal_item *item;
    /* of each item */
    size_t *bit;
    size_t n;
    qdq_assign rules;
} back;

static qdq_status assign_without(const back *b, const bool *gone, qdq_assign *out, qdq_error *err)
{
    QDQ_NEED(qdq_assign_copy(out, &b->rules, &b->t->arena), err);
    for (size_t i = 0; i < b->n; i++)
        if (gone[i])
            qdq_assign_set(out, b->bit[i], false);
    return QDQ_OK;
}

static qdq_status evaluate_assignment(qdq_tune_state *t, const qdq_assign *a, qdq_goal_trial *out,
                                      qdq_error *err)
{
    qdq_tune_candidate *c;
    bool known;

    QDQ_TRY(qdq_tune_candidate_of(t, a, &c, err));
    QDQ_TRY(qdq_tune_evaluate_candidate(t, c, &known, err));
    out->holds = known && qdq_tune_holds(t, &c->evaluation);
    out->excess = known ? qdq_tune_excess(t, &c->evaluation) : NAN;
    return QDQ_OK;
}

static qdq_status try_without(void *ctx, const bool *gone, size_t n_gone, qdq_goal_trial *out,
                              qdq_error *err)
{
    back *b = ctx;
    qdq_assign a;

    (void)n_gone;
    QDQ_TRY(assign_without(b, gone, &a, err));
    return evaluate_assignment(b->t, &a, out, err);
}

/* What a node's kernel saves in 8 bits, by the profiles of nothing and of everything; without them
 * all count alike. */
static double bound_of_decision(const qdq_tune_state *t, const qdq_tune_times *all, size_t bit)
{
    const size_t node = t->task.space->group[bit].node->id;
    const bool is_known =
        t->run.base->times != NULL && t->run.base->times->is_known && all != NULL && all->is_known;

    return is_known ? fmax(t->run.base->times->own[node] - all->own[node], 0) : 1;
}

static qdq_status list_items(back *b, const qdq_tune_times *all, qdq_error *err)
{
    qdq_tune_state *t = b->t;

    b->item = qdq_arena_array(&t->arena, t->task.space->n_groups + 1, sizeof *b->item);
    b->bit = qdq_arena_array(&t->arena, t->task.space->n_groups + 1, sizeof *b->bit);
    QDQ_NEED(b->item != NULL && b->bit != NULL, err);
    for (size_t i = 0; i < t->task.space->n_groups; i++)
        if (qdq_assign_get(&b->rules, i)) {
            b->item[b->n] = (qdq_goal_item){.sensitivity = t->parts.sensitivity[i],
                                            .expected_bound = bound_of_decision(t, all, i)};
            b->bit[b->n++] = i;
        }
    return QDQ_OK;
}

qdq_status qdq_tune_find_goal_start(qdq_tune_state *t, const qdq_assign *rules, qdq_assign *out,
                                    bool *found, qdq_error *err)
{
    const unsigned given = t->opts->goal->max_evaluations;
    qdq_tune_candidate *all;
    qdq_goal_search_result r;
    qdq_goal_trial first;
    back b = {.t = t};

    *found = false;
    if ((t->opts->goal->min_sqnr == 0 && t->opts->goal->metric == NULL &&
         t->opts->goal->min_agreement == 0) ||
        qdq_assign_count(rules) == 0)
        return QDQ_OK;
    QDQ_TRY(evaluate_assignment(t, rules, &first, err));
    if (first.holds)
        return QDQ_OK;
    QDQ_TRY(qdq_tune_find_sensitivities(t, err));
    if (t->parts.sensitivity == NULL)
        return QDQ_OK;
    QDQ_NEED(qdq_assign_copy(&b.rules, rules, &t->arena), err);
    QDQ_TRY(qdq_tune_everything(t, &all, err));
    QDQ_TRY(list_items(&b, all->times, err));
    QDQ_TRY(qdq_goal_search(b.item, b.n, given > 0 ? given : MAX_EVALUATIONS, try_without, &b,
                            &t->arena, &r, err));
    *found = r.reached;
    if (r.reached)
        QDQ_TRY(assign_without(&b, r.gone, out, err));
    return QDQ_OK;
}
