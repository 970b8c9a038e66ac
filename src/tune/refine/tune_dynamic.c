/* tune_dynamic.c - after all else: operators whose data is quantized at run time (space_dynamic.h).
 * First those that are float in the best placement, then those that are quantized in it. The best
 * placement with all of these in the other form has a profile, which prices each class of them; of
 * those that pay, as many as the goal allows are measured together. */
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/fail.h"
#include "quant/goal/goal_search.h"
#include "target/target.h"
#include "tune/accuracy/accuracy.h"
#include "tune/candidate/tune_names.h"
#include "tune/refine/refine.h"
#include "tune/refine/tune_prices.h"
#include "tune/space/space_dynamic.h"
#include "tune/space/space_partial.h"
#include "tune/state/tune_budget.h"
#include "tune/state/tune_presets.h"

/* As many as a goal of quantize has for the same form. */
enum { MOST_EVALUATIONS = 8 };

typedef struct forming {
    /* first: describe() is given this */
    qdq_refining r;
    const char *move;
    /* operators that the best placement quantizes; else those that it leaves float */
    bool of_quantized;
} forming;

static bool has_builds(const qdq_tune_state *t, unsigned builds)
{
    return qdq_tune_has_builds(t, builds, qdq_tune_max_builds_with_dynamic(t)) &&
           (t->opts->trials == 0 || t->run.found.trials < t->opts->trials);
}

static bool has_a_build(const qdq_tune_state *t)
{
    return has_builds(t, 1);
}

/* --- classes ---------------------------------------------------------------------------------- */

static bool is_quantized(const qdq_space *s, const qdq_assign *a, const qdq_node *n)
{
    const uint32_t group = s->first_group[n->id];

    return group != QDQ_NO_GROUP && qdq_space_get_part(s, a, group) != QDQ_PART_NONE;
}

static bool is_item(const forming *x, size_t i)
{
    const qdq_space *s = x->r.t->task.space;

    return !qdq_space_is_dynamic(s, &x->r.base, i) &&
           is_quantized(s, &x->r.base, s->dynamic[i]) == x->of_quantized;
}

/* Operators of one class have one type, and inputs and results of one size. */
static bool describe(const qdq_refining *r, size_t item, qdq_buf *text)
{
    const qdq_node *n = r->t->task.space->dynamic[item];

    if (!is_item((const forming *)r, item))
        return false;
    qdq_buf_puts(text, n->type);
    for (uint32_t i = 0; i < n->n_in; i++)
        qdq_refine_describe_dims(text, qdq_node_in(n, i));
    qdq_refine_describe_dims(text, qdq_node_out(n, 0));
    return true;
}

static void make_dynamic(const qdq_refining *x, size_t item, qdq_assign *c)
{
    qdq_space_make_dynamic(x->t->task.space, c, item);
}

static bool is_made(const qdq_refining *x, size_t item, const qdq_assign *c)
{
    const qdq_space *s = x->t->task.space;

    return qdq_space_is_dynamic(s, c, item) != qdq_space_is_dynamic(s, &x->base, item);
}

/* us of the kernel, of what quantizes its result, and its part of what quantizes its data. */
static double time_of(const qdq_refining *x, size_t item, const qdq_tune_times *times)
{
    const qdq_node *n = x->t->task.space->dynamic[item];
    const qdq_value *data = qdq_node_in(n, 0), *result = qdq_node_out(n, 0);
    double us = times->own[n->id];

    us += data != NULL ? times->converted[data->id] / fmax((double)data->n_use, 1) : 0;
    return us + (result != NULL ? times->converted[result->id] : 0);
}

/* --- the goal --------------------------------------------------------------------------------- */

/* The operators of classes that pay. */
typedef struct paying {
    const forming *x;
    /* of each */
    size_t *item;
    qdq_goal_item *goal;
    size_t n;
} paying;

static bool pays(const forming *x, size_t item)
{
    return x->r.kind[item] != QDQ_TUNE_NO_KIND && x->r.pays.at[x->r.kind[item]];
}

static qdq_status list_paying(forming *x, paying *out, qdq_error *err)
{
    *out = (paying){.x = x,
                    .item = qdq_arena_array(&x->r.arena, x->r.n + 1, sizeof *out->item),
                    .goal = qdq_arena_array(&x->r.arena, x->r.n + 1, sizeof *out->goal)};
    QDQ_NEED(out->item != NULL && out->goal != NULL, err);
    for (size_t i = 0; i < x->r.n; i++) {
        const double saved = x->r.out[i].saved_us;
        if (!pays(x, i))
            continue;
        out->item[out->n] = i;
        out->goal[out->n++] =
            (qdq_goal_item){.sensitivity = 1, .expected_bound = isfinite(saved) ? saved : 1};
    }
    return QDQ_OK;
}

/* `gone`: those that stay as they are; NULL: none do. */
static qdq_status assign(const paying *of, const bool *gone, qdq_assign *out, qdq_error *err)
{
    QDQ_NEED(qdq_assign_copy(out, &of->x->r.base, &of->x->r.t->arena), err);
    for (size_t i = 0; i < of->n; i++)
        if (gone == NULL || !gone[i])
            make_dynamic(&of->x->r, of->item[i], out);
    return QDQ_OK;
}

static qdq_status try_goal(void *ctx, const bool *gone, size_t n_gone, qdq_goal_trial *out,
                           qdq_error *err)
{
    const paying *of = ctx;
    qdq_tune_state *t = of->x->r.t;
    qdq_tune_candidate *c;
    qdq_assign a;
    bool known;

    (void)n_gone;
    QDQ_TRY(assign(of, gone, &a, err));
    QDQ_TRY(qdq_tune_candidate_of(t, &a, &c, err));
    QDQ_TRY(qdq_tune_evaluate_after_search(t, c, &known, err));
    out->holds = known && qdq_tune_holds(t, &c->evaluation);
    out->is_last = !known;
    return QDQ_OK;
}

/* *out: the base with as many operators in the form as the goal allows, the largest saving first.
 * *any: there are such. */
static qdq_status choose(forming *x, qdq_assign *out, bool *any, qdq_error *err)
{
    qdq_goal_search_result r = {.gone = NULL};
    paying of;

    QDQ_TRY(list_paying(x, &of, err));
    *any = of.n > 0;
    if (qdq_tune_has_goal(x->r.t) && of.n > 0) {
        QDQ_TRY(qdq_goal_search_back(of.goal, of.n, MOST_EVALUATIONS, try_goal, &of, &x->r.arena,
                                     &r, err));
        *any = r.reached;
    }
    return *any ? assign(&of, r.gone, out, err) : QDQ_OK;
}

/* --- measuring -------------------------------------------------------------------------------- */

/* *known: a profile tells which classes pay. On an engine without profiles all may. */
static qdq_status find_gains(forming *x, bool *known, qdq_error *err)
{
    qdq_tune_prices before;
    qdq_assign all;

    *known = true;
    for (size_t k = 0; k < x->r.pays.n; k++)
        x->r.pays.at[k] = true;
    if (!qdq_tune_can_profile(x->r.t))
        return QDQ_OK;
    QDQ_NEED(qdq_assign_copy(&all, &x->r.base, &x->r.arena), err);
    for (size_t i = 0; i < x->r.n; i++)
        if (x->r.kind[i] != QDQ_TUNE_NO_KIND)
            make_dynamic(&x->r, i, &all);
    return qdq_refine_find_gains(&x->r, &all, &before, known, err);
}

/* What several classes do together may hide what the best of them does. */
static qdq_status try_best(forming *x, qdq_error *err)
{
    size_t n;
    const uint32_t best = qdq_refine_best_kind(&x->r, &n);
    qdq_assign c;
    bool any, kept;

    if (n < 2 || !has_a_build(x->r.t))
        return QDQ_OK;
    for (uint32_t k = 0; k < x->r.pays.n; k++)
        x->r.pays.at[k] = k == best;
    QDQ_TRY(choose(x, &c, &any, err));
    return any ? qdq_refine_try(&x->r, x->move, &c, &kept, err) : QDQ_OK;
}

static qdq_status measure_paying(forming *x, qdq_error *err)
{
    bool known, any, kept;
    qdq_assign c;
    size_t n;

    QDQ_TRY(find_gains(x, &known, err));
    qdq_refine_best_kind(&x->r, &n);
    if (known && n == 0)
        x->r.t->run.found.ruled_out++;
    if (!known || n == 0 || !has_a_build(x->r.t))
        return QDQ_OK;
    QDQ_TRY(choose(x, &c, &any, err));
    if (!any)
        return QDQ_OK;
    QDQ_TRY(qdq_refine_try(&x->r, x->move, &c, &kept, err));
    return kept ? QDQ_OK : try_best(x, err);
}

/* Two profiles, of which the best placement may have one, and a trial. */
static qdq_status try_form(forming *x, qdq_error *err)
{
    qdq_tune_candidate *best;

    QDQ_TRY(qdq_refine_find_classes(&x->r, describe, err));
    if (x->r.gain.n == 0)
        return QDQ_OK;
    QDQ_TRY(qdq_tune_candidate_of(x->r.t, &x->r.base, &best, err));
    const unsigned profiles = qdq_tune_can_profile(x->r.t) ? 1 + (best->times == NULL) : 0;
    return has_builds(x->r.t, profiles + 1) ? measure_paying(x, err) : QDQ_OK;
}

/* --- all of it -------------------------------------------------------------------------------- */

/* Operators of the target's own engine: another one has no kernel for them. */
bool qdq_tune_offers_dynamic(const qdq_tune_state *t)
{
    return t->task.space->n_dynamic > 0 && !t->opts->goal->one_format &&
           strcmp(qdq_worker_client_engine(t->tools.worker_client)->name, t->task.target->engine) ==
               0;
}

qdq_status qdq_tune_try_dynamic(qdq_tune_state *t, qdq_error *err)
{
    forming x = {.r = {.t = t,
                       .arena = QDQ_ARENA_INIT,
                       .may_build = has_a_build,
                       .change = make_dynamic,
                       .differs = is_made,
                       .time_of = time_of},
                 .move = "data quantized at run time"};

    t->run.dynamic_due = false;
    if (!qdq_tune_offers_dynamic(t) || qdq_tune_is_settled(t))
        return QDQ_OK;
    qdq_status st = qdq_refine_begin(&x.r, t->task.space->n_dynamic, err);
    t->outcome.dynamic = x.r.out;
    if (st == QDQ_OK)
        st = try_form(&x, err);
    x.of_quantized = true;
    if (st == QDQ_OK)
        st = try_form(&x, err);
    return qdq_refine_end(&x.r, st, err);
}
