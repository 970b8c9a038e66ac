/* tune_forms.c - after all else: operators in other formats than the target's (space_forms.h). The
 * best placement with all operators in a format has a profile, which prices each class of them. Of
 * the formats that pay, each operator gets the fastest that the goal allows, and all are measured
 * together. Where the target quantizes activations, operators that are float in the best placement
 * come first, then those that are quantized in it. */
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/fail.h"
#include "quant/goal/goal_search.h"
#include "target/target.h"
#include "tune/accuracy/accuracy.h"
#include "tune/candidate/tune_names.h"
#include "tune/refine/refine.h"
#include "tune/refine/tune_form_steps.h"
#include "tune/refine/tune_prices.h"
#include "tune/space/space_forms.h"
#include "tune/space/space_partial.h"
#include "tune/state/tune_budget.h"
#include "tune/state/tune_presets.h"

typedef enum whose { OF_FLOAT, OF_QUANTIZED, OF_ALL } whose;

typedef struct forming {
    /* first: describe() is given this */
    qdq_refining r;
    const char *move;
    /* the operators of this round, by what the best placement makes of them */
    whose whose;
    /* the format that a profile prices */
    size_t form;
    /* by item, an index of s->formed: us that it saves; 0: none that could be seen */
    double *saved;
    /* and its class among those of all formats */
    uint32_t *class;
    uint32_t n_classes;
} forming;

static bool has_builds(const qdq_tune_state *t, unsigned builds)
{
    return qdq_tune_has_builds(t, builds, qdq_tune_max_builds_with_forms(t)) &&
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
    const qdq_assign *base = &x->r.base;

    return s->formed[i].form == x->form && !qdq_space_has_form(s, base, i) &&
           (x->whose == OF_ALL ||
            is_quantized(s, base, s->formed[i].node) == (x->whose == OF_QUANTIZED));
}

/* Operators of one class have one type, inputs and results of one size, and are all float in the
 * base or all quantized. */
static bool describe(const qdq_refining *r, size_t item, qdq_buf *text)
{
    const qdq_space *s = r->t->task.space;
    const qdq_node *n = s->formed[item].node;

    if (!is_item((const forming *)r, item))
        return false;
    qdq_buf_printf(text, "%s %d", n->type, is_quantized(s, &r->base, n));
    for (uint32_t i = 0; i < n->n_in; i++)
        qdq_refine_describe_dims(text, qdq_node_in(n, i));
    qdq_refine_describe_dims(text, qdq_node_out(n, 0));
    return true;
}

static void set_form(const qdq_refining *x, size_t item, qdq_assign *c)
{
    qdq_space_set_form(x->t->task.space, c, item);
}

/* Not the format that it takes the place of: operators are counted by what they get. */
static bool is_set(const qdq_refining *x, size_t item, const qdq_assign *c)
{
    const qdq_space *s = x->t->task.space;

    return qdq_space_has_form(s, c, item) && !qdq_space_has_form(s, &x->base, item);
}

/* us of the kernel, of what quantizes its result, and its part of what is converted before it. */
static double time_of(const qdq_refining *x, size_t item, const qdq_tune_times *times)
{
    const qdq_node *n = x->t->task.space->formed[item].node;
    const qdq_value *result = qdq_node_out(n, 0);
    double us = times->own[n->id];

    for (uint32_t i = 0; i < n->n_in; i++) {
        const qdq_value *v = qdq_node_in(n, i);
        us += v != NULL ? times->converted[v->id] / fmax((double)v->n_use, 1) : 0;
    }
    return us + (result != NULL ? times->converted[result->id] : 0);
}

/* --- prices ----------------------------------------------------------------------------------- */

/* Without profiles, all operators save as much. */
static qdq_status note_saved(forming *x, bool is_profiled, qdq_error *err)
{
    unsigned *n_equal;

    QDQ_TRY(qdq_refine_count_items(&x->r, &n_equal, err));
    for (size_t i = 0; i < x->r.n; i++) {
        const uint32_t k = x->r.kind[i];
        if (k == QDQ_TUNE_NO_KIND)
            continue;
        x->class[i] = x->n_classes + k;
        x->saved[i] = !is_profiled ? 1 : x->r.pays.at[k] ? x->r.gain.at[k] / n_equal[k] : 0;
    }
    x->n_classes += (uint32_t)x->r.gain.n;
    return QDQ_OK;
}

/* From the profile of the base with all operators of the round in format x->form. *known: there is
 * such a profile, or the engine has none at all. */
static qdq_status price_form(forming *x, bool *known, qdq_error *err)
{
    const bool can_profile = qdq_tune_can_profile(x->r.t);
    qdq_tune_prices before;
    qdq_assign all;

    *known = true;
    QDQ_TRY(qdq_refine_find_classes(&x->r, describe, err));
    if (x->r.gain.n == 0)
        return QDQ_OK;
    if (can_profile) {
        QDQ_NEED(qdq_assign_copy(&all, &x->r.base, &x->r.arena), err);
        for (size_t i = 0; i < x->r.n; i++)
            if (x->r.kind[i] != QDQ_TUNE_NO_KIND)
                set_form(&x->r, i, &all);
        QDQ_TRY(qdq_refine_find_gains(&x->r, &all, &before, known, err));
    }
    return *known ? note_saved(x, can_profile, err) : QDQ_OK;
}

/* --- the goal --------------------------------------------------------------------------------- */

typedef struct choice {
    forming *x;
    qdq_form_steps steps;
} choice;

static qdq_status evaluate(const choice *c, const bool *taken, qdq_goal_trial *out, qdq_error *err)
{
    qdq_tune_state *t = c->x->r.t;
    qdq_tune_candidate *of;
    qdq_assign a;
    bool known;

    QDQ_TRY(qdq_form_steps_assign(&c->x->r, &c->steps, taken, &a, err));
    QDQ_TRY(qdq_tune_candidate_of(t, &a, &of, err));
    QDQ_TRY(qdq_tune_evaluate_after_search(t, of, &known, err));
    out->holds = known && qdq_tune_holds(t, &of->evaluation);
    out->excess = known ? qdq_tune_excess(t, &of->evaluation) : NAN;
    out->is_last = !known;
    return QDQ_OK;
}

static qdq_status try_steps(void *ctx, const bool *gone, size_t n_gone, qdq_goal_trial *out,
                            qdq_error *err)
{
    (void)n_gone;
    return evaluate(ctx, gone, out, err);
}

/* *taken: the steps with which the goal holds; *holds: there are such. */
static qdq_status take_steps(choice *c, const double *saved, const bool **taken, bool *holds,
                             qdq_error *err)
{
    qdq_arena *arena = &c->x->r.arena;
    qdq_goal_trial first = {.excess = NAN};
    qdq_goal_search_result r;

    QDQ_TRY(evaluate(c, NULL, &first, err));
    *holds = first.holds;
    if (first.holds || first.is_last)
        return QDQ_OK;
    QDQ_TRY(qdq_form_steps_find(&c->x->r, saved, arena, &c->steps, err));
    QDQ_TRY(qdq_goal_search(c->steps.cost.at, c->steps.cost.n, QDQ_GOAL_FORM_TRIALS, try_steps, c,
                            arena, &r, err));
    *holds = r.reached;
    *taken = r.gone;
    return QDQ_OK;
}

/* *out: the base with formats that save time, as far as the goal allows. *any: there are such. */
static qdq_status choose(forming *x, const double *saved, qdq_assign *out, bool *any,
                         qdq_error *err)
{
    choice c = {.x = x};
    const bool *taken = NULL;

    QDQ_TRY(qdq_form_steps_begin(&x->r, saved, &x->r.arena, &c.steps, err));
    *any = c.steps.fastest.n > 0;
    if (*any && qdq_tune_has_goal(x->r.t))
        QDQ_TRY(take_steps(&c, saved, &taken, any, err));
    if (!*any)
        return QDQ_OK;
    QDQ_TRY(qdq_form_steps_assign(&x->r, &c.steps, taken, out, err));
    *any = !qdq_assign_equal(out, &x->r.base);
    return QDQ_OK;
}

/* --- measuring -------------------------------------------------------------------------------- */

/* *out: what is left of the savings with the best class of operators in one format alone; *others:
 * there are more. */
static qdq_status keep_best(forming *x, double **out, bool *others, qdq_error *err)
{
    double *sum = qdq_arena_array(&x->r.arena, x->n_classes + 1, sizeof *sum);
    uint32_t best = 0;

    *out = qdq_arena_array(&x->r.arena, x->r.n + 1, sizeof **out);
    QDQ_NEED(sum != NULL && *out != NULL, err);
    for (size_t i = 0; i < x->r.n; i++)
        if (x->saved[i] > 0)
            sum[x->class[i]] += x->saved[i];
    for (uint32_t k = 1; k < x->n_classes; k++)
        best = sum[k] > sum[best] ? k : best;
    for (size_t i = 0; i < x->r.n; i++) {
        const bool is_best = x->saved[i] > 0 && x->class[i] == best;
        (*out)[i] = is_best ? x->saved[i] : 0;
        *others |= x->saved[i] > 0 && !is_best;
    }
    return QDQ_OK;
}

/* What several classes do together may hide what the best of them does. */
static qdq_status try_best(forming *x, qdq_error *err)
{
    double *saved;
    qdq_assign c;
    bool others = false, any, kept;

    QDQ_TRY(keep_best(x, &saved, &others, err));
    if (!others || !has_a_build(x->r.t))
        return QDQ_OK;
    QDQ_TRY(choose(x, saved, &c, &any, err));
    return any ? qdq_refine_try(&x->r, x->move, &c, &kept, err) : QDQ_OK;
}

static qdq_status try_paying(forming *x, qdq_error *err)
{
    qdq_assign c;
    bool any = false, kept;

    for (size_t i = 0; i < x->r.n; i++)
        any |= x->saved[i] > 0;
    if (!any)
        x->r.t->run.found.ruled_out++;
    if (!any || !has_a_build(x->r.t))
        return QDQ_OK;
    QDQ_TRY(choose(x, x->saved, &c, &any, err));
    if (!any)
        return QDQ_OK;
    QDQ_TRY(qdq_refine_try(&x->r, x->move, &c, &kept, err));
    return kept ? QDQ_OK : try_best(x, err);
}

/* A profile of each format, one of the best placement if it has none, and a trial: formats that
 * have no profile are no choice. Without profiles each format has its own trial. */
static qdq_status try_forms(forming *x, qdq_error *err)
{
    const bool can_profile = qdq_tune_can_profile(x->r.t);
    qdq_tune_candidate *best;
    size_t n_priced = 0;
    bool known;

    for (size_t i = 0; i < x->r.n; i++)
        x->saved[i] = 0;
    x->n_classes = 0;
    for (x->form = 0; x->form < x->r.t->task.space->forms.n; x->form++) {
        QDQ_TRY(qdq_tune_candidate_of(x->r.t, &x->r.base, &best, err));
        if (!has_builds(x->r.t, can_profile ? 2 + (best->times == NULL) : 1))
            break;
        QDQ_TRY(price_form(x, &known, err));
        n_priced += known && x->r.gain.n > 0;
        if (!can_profile && x->r.gain.n > 0) {
            QDQ_TRY(try_paying(x, err));
            for (size_t i = 0; i < x->r.n; i++)
                x->saved[i] = 0;
        }
    }
    return can_profile && n_priced > 0 ? try_paying(x, err) : QDQ_OK;
}

/* --- all of it -------------------------------------------------------------------------------- */

/* Operators of the target's own engine, where weights are inside of them: another one has no
 * kernel, or others. Weights that lose more than the target's need samples that evaluate. */
bool qdq_tune_offers_forms(const qdq_tune_state *t)
{
    const qdq_space *s = t->task.space;
    const char *engine = qdq_worker_client_engine(t->tools.worker_client)->name;

    if (s->n_formed == 0 || t->opts->goal->one_format)
        return false;
    const qdq_format *first = &s->forms.at[0].format;
    return (!qdq_store_is_inside(first->weight_store) ||
            strcmp(engine, t->task.target->engine) == 0) &&
           (qdq_format_dynamic(first) || qdq_tune_has_goal(t));
}

static qdq_status begin_forms(forming *x, qdq_error *err)
{
    const size_t n = x->r.t->task.space->n_formed;

    QDQ_TRY(qdq_refine_begin(&x->r, n, err));
    x->saved = qdq_arena_array(&x->r.arena, n + 1, sizeof *x->saved);
    x->class = qdq_arena_array(&x->r.arena, n + 1, sizeof *x->class);
    QDQ_NEED(x->saved != NULL && x->class != NULL, err);
    x->r.t->outcome.forms = x->r.out;
    return QDQ_OK;
}

qdq_status qdq_tune_try_forms(qdq_tune_state *t, qdq_error *err)
{
    const bool in_blocks = qdq_format_weight_only(&t->task.target->format);
    forming x = {.r = {.t = t,
                       .arena = QDQ_ARENA_INIT,
                       .may_build = has_a_build,
                       .change = set_form,
                       .differs = is_set,
                       .time_of = time_of},
                 .move = qdq_space_forms_name(t->task.space),
                 .whose = in_blocks ? OF_ALL : OF_FLOAT};

    t->run.forms_due = false;
    if (!qdq_tune_offers_forms(t) || qdq_tune_is_settled(t))
        return QDQ_OK;
    qdq_status st = begin_forms(&x, err);
    if (st == QDQ_OK)
        st = try_forms(&x, err);
    x.whose = OF_QUANTIZED;
    if (st == QDQ_OK && !in_blocks)
        st = try_forms(&x, err);
    return qdq_refine_end(&x.r, st, err);
}
