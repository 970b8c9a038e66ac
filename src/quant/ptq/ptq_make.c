/* ptq_make.c - plan and model, under the goal; and as long as the engine computes the model
 * wrongly, once more with those nodes in float. */
#include "quant/ptq/ptq_state.h"

#include <string.h>

#include "base/clock.h"
#include "base/fail.h"
#include "quant/goal/goal_hook.h"
#include "quant/place/why.h"

/* --- does the engine compute it? -------------------------------------------------------------- */

qdq_status qdq_ptq_own_engine(const qdq_ptq_run *r, const char **why, qdq_error *err)
{
    const char *target = qdq_plan_get_summary(qdq_ptq_plan(r))->target,
               *engine = qdq_engine_get_info(r->e)->name;
    qdq_arena *arena = &r->block->arena;
    qdq_target *t = NULL;

    *why = NULL;
    if (r->t == NULL && qdq_target_load(target, &t, NULL) != QDQ_OK) {
        *why = qdq_arena_printf(arena, "target %s is not known here", target);
        return qdq_allocated(*why != NULL, err);
    }
    const char *own = qdq_target_engine(t != NULL ? t : r->t);
    const bool is_own = strcmp(own, engine) == 0;
    if (own[0] == '\0')
        *why = qdq_arena_printf(arena, "target %s names no engine", target);
    else if (!is_own)
        *why = qdq_arena_printf(arena, "target %s, engine %s", target, engine);
    qdq_target_free(t);
    return qdq_allocated(is_own || *why != NULL, err);
}

/* Only with samples. */
static bool may_ask(const qdq_ptq_run *r)
{
    return r->e != NULL && r->data != NULL && !qdq_data_is_random(r->data) && !r->o.no_sqnr &&
           !r->o.no_engine_check;
}

/* Of what is written, only the engine that will run it. */
static qdq_status is_asked(const qdq_ptq_run *r, bool *asked, qdq_error *err)
{
    const char *why;

    *asked = qdq_ptq_model(r) != NULL && may_ask(r);
    if (!*asked)
        return QDQ_OK;
    QDQ_TRY(qdq_ptq_own_engine(r, &why, err));
    *asked = why == NULL;
    return QDQ_OK;
}

/* A model that does not run at all is reported where outputs are compared. */
static qdq_status ask_engine(qdq_ptq_run *r, const qdq_model *m, qdq_error *err)
{
    enum { SAMPLES = 2, CONFIRM = 6 };
    qdq_ptq_result *head = &r->block->head;
    const size_t n = head->split.evaluate;
    qdq_error own = QDQ_ERROR_INIT;
    qdq_verify_opts o = QDQ_VERIFY_OPTS_INIT;

    o.reference = r->o.reference;
    o.original = r->m;
    o.threads = r->quant.threads;
    o.first = n > 0 ? head->split.first : 0;
    o.count = n == 0 ? 1 : n < SAMPLES ? n : SAMPLES;
    o.confirm = n > o.count ? n - o.count : 0;
    o.confirm = o.confirm < CONFIRM ? o.confirm : CONFIRM;
    o.job = &r->job;
    qdq_free(head->engine_check);
    head->engine_check = NULL;
    const qdq_status st = qdq_verify_engine(m, r->e, n > 0 ? qdq_ptq_eval(r) : r->data, &o,
                                            &head->engine_check, &own);
    if (st == QDQ_OK || st == QDQ_E_ENGINE || st == QDQ_E_UNSUPPORTED)
        return QDQ_OK;
    if (err != NULL)
        *err = own;
    return st;
}

/* --- one plan --------------------------------------------------------------------------------- */

static qdq_status forget_why(const qdq_ptq_run *r, qdq_error *err)
{
    return qdq_allocated(r->quant.why == NULL || qdq_why_restart(r->quant.why), err);
}

/* What is known of the plan before, `why` included. */
static qdq_status drop_plan(qdq_ptq_run *r, qdq_error *err)
{
    qdq_ptq_result *head = &r->block->head;

    qdq_plan_free(head->plan);
    qdq_model_free(head->model);
    qdq_goal_result_free(head->goal);
    head->plan = NULL;
    head->model = NULL;
    head->goal = NULL;
    return forget_why(r, err);
}

/* Before a search: SQNR on an engine that computes the first plan wrongly leads nowhere. Of the
 * target's own engine such nodes stay float; of another one nothing follows but a warning. */
static qdq_status ask_before_search(void *ctx, const qdq_model *m, bool *search, qdq_error *err)
{
    qdq_ptq_run *r = ctx;
    qdq_ptq_result *head = &r->block->head;

    if (!may_ask(r))
        return QDQ_OK;
    QDQ_TRY(ask_engine(r, m, err));
    r->found_wrong = head->engine_check != NULL && head->engine_check->verdict == QDQ_VERIFY_WRONG;
    *search = !r->found_wrong;
    r->misjudges =
        r->found_wrong && strcmp(qdq_target_engine(r->t), qdq_engine_get_info(r->e)->name) != 0;
    if (!r->misjudges)
        return QDQ_OK;
    head->missed =
        qdq_arena_printf(&r->block->arena, "the accuracy is unknown: %s", head->engine_check->why);
    qdq_free(head->engine_check); /* what it has is said of the target's own engine alone */
    head->engine_check = NULL;
    return qdq_allocated(head->missed != NULL, err);
}

/* A search that the engine check starts again goes on with the time of the first one. */
static double time_left(const qdq_ptq_run *r, double now)
{
    return r->search_ends == 0 ? 0 : r->search_ends > now ? r->search_ends - now : -1;
}

static qdq_status make_for_goal(qdq_ptq_run *r, const qdq_quantize_opts *o, qdq_error *err)
{
    qdq_ptq_result *head = &r->block->head;
    qdq_goal_opts goal = r->goal;
    const double now = qdq_clock_seconds();

    goal.folds = head->split.folds;
    goal.first = head->split.first;
    goal.count = head->split.evaluate;
    goal.limit_s = time_left(r, now);
    const qdq_goal_call call = {.m = r->m,
                                .t = r->t,
                                .e = r->e,
                                .data = r->data,
                                .opts = o,
                                .how = &goal,
                                .hook = {ask_before_search, r}};
    r->found_wrong = r->misjudges = false;
    QDQ_TRY(qdq_quantize_goal_hooked(&call, &head->plan, &head->model, &head->goal, err));
    if (r->search_ends == 0 && head->goal->limit_s > 0)
        r->search_ends = now + head->goal->limit_s;
    return QDQ_OK;
}

/* Outputs that cannot be compared are no reason to keep a model back: then as without a goal. */
static bool gives_up(const qdq_ptq_run *r, qdq_status st)
{
    return st == QDQ_E_UNSUPPORTED && r->by_default && !qdq_ptq_must_compare(r);
}

/* Back to one sample in eight, where folds cannot be evaluated. */
static void split_without_goal(qdq_ptq_run *r)
{
    qdq_split *s = &r->block->head.split;

    if (s->folds > 0) /* none, with statistics */
        *s = qdq_split_samples(r->data, NULL, s->calibrate,
                               QDQ_SPLIT_CALIBRATE | QDQ_SPLIT_EVALUATE);
}

static qdq_status make(qdq_ptq_run *r, qdq_error *err)
{
    qdq_ptq_result *head = &r->block->head;
    qdq_quantize_opts o = r->quant;

    o.samples = head->split.calibrate;
    if (r->wrong.n > 0) {
        QDQ_NEED(QDQ_PUSH(&r->block->arena, &r->wrong, NULL), err);
        o.wrong = r->wrong.at;
        r->wrong.n--; /* the end of the list is none */
    }
    if (qdq_ptq_seeks(r)) {
        const qdq_status st = make_for_goal(r, &o, err);

        if (!gives_up(r, st))
            return st;
        r->found_wrong = r->misjudges = false;
        split_without_goal(r);
        o.samples = head->split.calibrate;
        QDQ_TRY(forget_why(r, err));
    }
    return qdq_quantize(r->m, r->t, r->e, r->data, &o, &head->plan,
                        r->o.plan_only ? NULL : &head->model, err);
}

/* --- what it computes wrongly ----------------------------------------------------------------- */

static bool is_left_out(const qdq_ptq_run *r, const char *label)
{
    size_t i = 0;

    while (i < r->wrong.n && strcmp(r->wrong.at[i], label) != 0)
        i++;
    return i < r->wrong.n;
}

/* The nodes of that form stay float from now on, *n that were not float before. What did not help
 * at first was not all of it. */
static qdq_status leave_out(qdq_ptq_run *r, bool wide, size_t *n, qdq_error *err)
{
    const char **labels;
    size_t found;

    *n = 0;
    QDQ_TRY(qdq_verify_equivalent(qdq_ptq_model(r), r->block->head.engine_check, wide, &labels,
                                  &found, err));
    qdq_status st = QDQ_OK;
    for (size_t i = 0; i < found && st == QDQ_OK; i++) {
        if (is_left_out(r, labels[i]))
            continue;
        const char *entry = qdq_arena_strdup(&r->block->arena, labels[i]);

        st = qdq_allocated(entry != NULL && QDQ_PUSH(&r->block->arena, &r->wrong, entry), err);
        ++*n;
    }
    qdq_free(labels);
    return st;
}

/* --- the interface ---------------------------------------------------------------------------- */

static qdq_status take_wrong_of_caller(qdq_ptq_run *r, qdq_error *err)
{
    for (size_t i = 0; r->quant.wrong != NULL && r->quant.wrong[i] != NULL; i++)
        QDQ_NEED(QDQ_PUSH(&r->block->arena, &r->wrong, r->quant.wrong[i]), err);
    return QDQ_OK;
}

/* Of one try. *again: nodes were left out, and another one follows. */
static qdq_status check(qdq_ptq_run *r, int i, bool *again, qdq_error *err)
{
    enum { TRIES = 4 };
    qdq_ptq_result *head = &r->block->head;
    size_t n = 0;
    bool asked;

    *again = false;
    QDQ_TRY(is_asked(r, &asked, err));
    if (!asked)
        return QDQ_OK;
    if (!r->found_wrong) /* else it was asked before the search */
        QDQ_TRY(ask_engine(r, qdq_ptq_model(r), err));
    r->found_wrong = false;
    const qdq_verify_result *found = head->engine_check;
    if (found == NULL)
        return QDQ_OK;
    if (found->verdict == QDQ_VERIFY_UNKNOWN)
        QDQ_TRY(qdq_ptq_note(r, err, QDQ_PTQ_NOT_CHECKED,
                             "unknown whether the engine computes the model correctly: %s",
                             found->why));
    if (found->verdict != QDQ_VERIFY_WRONG)
        return QDQ_OK;
    if (!r->is_given && i + 1 < TRIES)
        QDQ_TRY(leave_out(r, i > 0, &n, err));
    if (n == 0) {
        head->verdict = QDQ_PTQ_WRONG;
        return qdq_fail(err, QDQ_E_ENGINE, "%s", found->why);
    }
    QDQ_TRY(qdq_ptq_note(r, err, QDQ_PTQ_NODES_WRONG, "%zu node%s of that form stay%s float: %s", n,
                         n == 1 ? "" : "s", n == 1 ? "s" : "", found->why));
    *again = true;
    return drop_plan(r, err);
}

qdq_status qdq_ptq_make(qdq_ptq_run *r, qdq_error *err)
{
    bool again = true;

    QDQ_TRY(take_wrong_of_caller(r, err));
    for (int i = 0; again; i++) {
        if (!r->is_given)
            QDQ_TRY(make(r, err));
        QDQ_TRY(check(r, i, &again, err));
    }
    return QDQ_OK;
}
