/* tune_forms.c - after all else: operators in other formats than the target's (space_forms.h).
 * Profiles of the best placement price each class of them in each format (tune_form_prices.h). Each
 * operator gets the fastest that the goal allows, and all are measured together. What the prices
 * leave in doubt, trials of the next best formats decide, as long as builds are left. Where the
 * target quantizes activations, operators that are float in the best placement come first, then
 * those that are quantized in it. */
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/fail.h"
#include "quant/goal/goal_search.h"
#include "target/target.h"
#include "tune/accuracy/accuracy.h"
#include "tune/candidate/tune_names.h"
#include "tune/refine/refine.h"
#include "tune/refine/tune_form_prices.h"
#include "tune/refine/tune_form_steps.h"
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
    /* of this round, and the placement that they were found in */
    qdq_form_prices prices;
    qdq_assign priced;
    /* by item: us that it saves against r.base, below 0: loses; NAN: it is no choice */
    double *saved;
    /* by format: it had a trial of its own */
    bool *tried;
    /* by class: counted already */
    bool *seen;
} forming;

static const qdq_space *space_of(const forming *x)
{
    return x->r.t->task.space;
}

/* --- classes ---------------------------------------------------------------------------------- */

static bool is_quantized(const qdq_space *s, const qdq_assign *a, const qdq_node *n)
{
    const uint32_t group = s->first_group[n->id];

    return group != QDQ_NO_GROUP && qdq_space_get_part(s, a, group) != QDQ_PART_NONE;
}

/* The target's own weights are a choice where a goal made an operator float; all other formats are
 * but the one that it has. */
static bool is_item(const qdq_refining *r, size_t item)
{
    const forming *x = (const forming *)r;
    const qdq_space *s = r->t->task.space;
    const qdq_node *n = qdq_form_item_node(s, item);

    if (qdq_form_item_is_own(s, item))
        return x->whose == OF_ALL && s->first_group[n->id] != QDQ_NO_GROUP &&
               qdq_form_item_of(s, &r->base, qdq_form_item_first(s, item)) == QDQ_NO_ITEM;
    return !qdq_space_has_form(s, &r->base, item) &&
           (x->whose == OF_ALL || is_quantized(s, &r->base, n) == (x->whose == OF_QUANTIZED));
}

/* Operators of one class have one type, inputs and results of one size, and are all float in the
 * base or all quantized. The first item of each stands for it. */
static bool describe(const qdq_refining *r, size_t item, qdq_buf *text)
{
    const qdq_space *s = r->t->task.space;
    bool any = false;

    if (qdq_form_item_is_own(s, item) || qdq_form_item_first(s, item) != item)
        return false;
    for (size_t i = item; i != QDQ_NO_ITEM; i = qdq_form_item_next(s, i))
        any |= is_item(r, i);
    if (!any)
        return false;
    const qdq_node *n = qdq_form_item_node(s, item);
    const size_t now = qdq_form_item_of(s, &r->base, item);
    qdq_buf_printf(text, "%s %d", n->type,
                   now != QDQ_NO_ITEM ? (int)qdq_form_item_column(s, now) : -1);
    for (uint32_t i = 0; i < n->n_in; i++)
        qdq_refine_describe_dims(text, qdq_node_in(n, i));
    qdq_refine_describe_dims(text, qdq_node_out(n, 0));
    return true;
}

static void set_form(const qdq_refining *x, size_t item, qdq_assign *c)
{
    qdq_form_item_set(x->t->task.space, c, item);
}

/* Not the format that it takes the place of: operators are counted by what they get. */
static bool is_set(const qdq_refining *x, size_t item, const qdq_assign *c)
{
    const qdq_space *s = x->t->task.space;
    const size_t first = qdq_form_item_first(s, item);

    return qdq_form_item_of(s, c, first) == item && qdq_form_item_of(s, &x->base, first) != item;
}

/* us of the kernel, of what quantizes its result, and its part of what is converted before it. */
static double time_of(const qdq_refining *x, size_t item, const qdq_tune_times *times)
{
    const qdq_node *n = qdq_form_item_node(x->t->task.space, item);
    const qdq_value *result = qdq_node_out(n, 0);
    double us = times->own[n->id];

    for (uint32_t i = 0; i < n->n_in; i++) {
        const qdq_value *v = qdq_node_in(n, i);
        us += v != NULL ? times->converted[v->id] / fmax((double)v->n_use, 1) : 0;
    }
    return us + (result != NULL ? times->converted[result->id] : 0);
}

/* --- savings ---------------------------------------------------------------------------------- */

typedef struct timed {
    double us, error;
} timed;

/* Of an operator in a format; QDQ_NO_ITEM, or what it had when prices were found: as it was. */
static timed time_in(const forming *x, size_t first, size_t item)
{
    const qdq_form_prices *p = &x->prices;

    return item == QDQ_NO_ITEM || item == qdq_form_item_of(space_of(x), &x->priced, first)
               ? (timed){p->base_us[first], p->base_error[first]}
               : (timed){p->us[item], p->error[item]};
}

/* What operators of a class save together by a format, against what they have. */
static timed saving_of(const forming *x, size_t first, size_t item)
{
    const timed now = time_in(x, first, qdq_form_item_of(space_of(x), &x->r.base, first)),
                then = time_in(x, first, item);
    const unsigned n = x->prices.n_equal[x->r.kind[first]];

    return (timed){n * (now.us - then.us), n * qdq_form_error_of_both(now.error, then.error)};
}

/* A saving below this share of what the class takes, or of the model's time, or of its standard
 * error is noise. */
static bool is_seen(const forming *x, size_t first, timed saved)
{
    const double of_class = 0.005, of_model = 0.0005;
    const double class_us = x->prices.n_equal[x->r.kind[first]] * x->prices.base_us[first];

    return saved.us > fmax(fmax(of_class * class_us, of_model * x->prices.sum), saved.error);
}

/* What could be noise counts as as fast as the base. */
static void note_saved(forming *x)
{
    const qdq_space *s = space_of(x);

    for (size_t i = 0; i < x->r.n; i++)
        x->saved[i] = NAN;
    for (size_t first = 0; first < s->n_formed; first = qdq_form_item_end(s, first))
        for (size_t i = first; i != QDQ_NO_ITEM && x->r.kind[first] != QDQ_TUNE_NO_KIND;
             i = qdq_form_item_next(s, i)) {
            const unsigned n = x->prices.n_equal[x->r.kind[first]];
            const timed all = saving_of(x, first, i);
            if (isnan(all.us) || qdq_form_item_of(s, &x->r.base, first) == i)
                continue;
            x->saved[i] = all.us > 0 && !is_seen(x, first, all) ? 0 : all.us / n;
            if (x->r.out[i].tried) /* of that trial it has its price */
                continue;
            x->r.out[i].saved_us = all.us / n;
            x->r.out[i].n_equal = n;
        }
}

/* Without profiles, all operators save as much in this format. */
static void note_unknown(forming *x, size_t form)
{
    const qdq_space *s = space_of(x);

    for (size_t i = 0; i < x->r.n; i++)
        x->saved[i] = qdq_form_item_column(s, i) == form && is_item(&x->r, i) ? 1 : NAN;
}

/* --- the goal --------------------------------------------------------------------------------- */

typedef struct choice {
    forming *x;
    const double *saved;
    qdq_form_steps steps;
} choice;

static qdq_status evaluate(const choice *c, const bool *taken, qdq_goal_trial *out, qdq_error *err)
{
    qdq_tune_state *t = c->x->r.t;
    qdq_tune_candidate *of;
    qdq_assign a;
    double us;
    bool known;

    QDQ_TRY(qdq_form_steps_assign(&c->x->r, &c->steps, c->saved, taken, &a, &us, err));
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
static qdq_status take_steps(choice *c, const bool **taken, bool *holds, qdq_error *err)
{
    qdq_arena *arena = &c->x->r.arena;
    qdq_goal_trial first = {.excess = NAN};
    qdq_goal_search_result r;

    QDQ_TRY(evaluate(c, NULL, &first, err));
    *holds = first.holds;
    if (first.holds || first.is_last)
        return QDQ_OK;
    QDQ_TRY(qdq_form_steps_find(&c->x->r, c->saved, arena, &c->steps, err));
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
    choice c = {.x = x, .saved = saved};
    const bool *taken = NULL;
    double us;

    QDQ_TRY(qdq_form_steps_begin(&x->r, saved, &x->r.arena, &c.steps, err));
    *any = c.steps.start.n > 0;
    if (*any && qdq_tune_has_goal(x->r.t))
        QDQ_TRY(take_steps(&c, &taken, any, err));
    if (!*any)
        return QDQ_OK;
    QDQ_TRY(qdq_form_steps_assign(&x->r, &c.steps, saved, taken, out, &us, err));
    *any = us > 0 && !qdq_assign_equal(out, &x->r.base);
    return QDQ_OK;
}

/* --- measuring -------------------------------------------------------------------------------- */

/* A copy of the savings in which only some of the formats are choices. */
static qdq_status copy_saved(forming *x, double **out, qdq_error *err)
{
    *out = qdq_arena_copy(&x->r.arena, x->saved, x->r.n, sizeof **out);
    return qdq_allocated(*out != NULL, err);
}

/* What is left of the savings with the best class of operators in one format alone; *others: there
 * are more. */
static void keep_best(const forming *x, double *saved, bool *others)
{
    const qdq_space *s = space_of(x);
    size_t best = QDQ_NO_ITEM;
    double most = 0;

    for (size_t i = 0; i < x->r.n; i++) {
        const size_t first = qdq_form_item_first(s, i);
        const double all =
            saved[i] > 0 ? saved[i] * x->prices.n_equal[x->r.kind[first]] : (double)NAN;
        if (all > most) {
            most = all;
            best = i;
        }
    }
    for (size_t i = 0; i < x->r.n; i++) {
        const bool is_best =
            best != QDQ_NO_ITEM &&
            x->r.kind[qdq_form_item_first(s, i)] == x->r.kind[qdq_form_item_first(s, best)] &&
            qdq_form_item_column(s, i) == qdq_form_item_column(s, best);
        *others |= saved[i] > 0 && !is_best;
        saved[i] = is_best ? saved[i] : (double)NAN;
    }
}

/* What several classes do together may hide what the best of them does. */
static qdq_status try_best(forming *x, qdq_error *err)
{
    double *saved;
    qdq_assign c;
    bool others = false, any, kept;

    QDQ_TRY(copy_saved(x, &saved, err));
    keep_best(x, saved, &others);
    if (!others || !qdq_tune_has_builds(x->r.t, x->r.stage, 1))
        return QDQ_OK;
    QDQ_TRY(choose(x, saved, &c, &any, err));
    return any ? qdq_refine_try(&x->r, x->move, &c, &kept, err) : QDQ_OK;
}

/* *kept false: nothing was tried, or it was not accepted. */
static qdq_status try_paying(forming *x, bool *kept, qdq_error *err)
{
    qdq_assign c;
    bool any = false;

    *kept = false;
    for (size_t i = 0; i < x->r.n; i++)
        any |= x->saved[i] > 0;
    if (!any)
        x->r.t->run.found.ruled_out++;
    if (!any || !qdq_tune_has_builds(x->r.t, x->r.stage, 1))
        return QDQ_OK;
    QDQ_TRY(choose(x, x->saved, &c, &any, err));
    return any ? qdq_refine_try(&x->r, x->move, &c, kept, err) : QDQ_OK;
}

/* --- formats that may be faster than they seem ------------------------------------------------ */

/* Standard errors below which a class may still gain. */
static const double unlikely = 2;

/* The item of a format where it may save time; QDQ_NO_ITEM: none. */
static size_t may_save(const forming *x, size_t first, size_t column, timed *saved)
{
    const qdq_space *s = space_of(x);

    for (size_t i = first; i != QDQ_NO_ITEM; i = qdq_form_item_next(s, i)) {
        if (qdq_form_item_column(s, i) != column || isnan(x->saved[i]))
            continue;
        *saved = saving_of(x, first, i);
        return saved->us > -unlikely * saved->error ? i : QDQ_NO_ITEM;
    }
    return QDQ_NO_ITEM;
}

/* What trying a format would bring, on average over what its prices leave open: us of the model. */
static double expect_of(const forming *x, size_t column)
{
    const qdq_space *s = space_of(x);
    double us = 0, variance = 0;

    memset(x->seen, 0, x->prices.n_classes * sizeof *x->seen);
    for (size_t i = 0; i < s->n_formed; i = qdq_form_item_end(s, i)) {
        const uint32_t k = x->r.kind[i];
        timed saved;
        if (k == QDQ_TUNE_NO_KIND || x->seen[k] || may_save(x, i, column, &saved) == QDQ_NO_ITEM)
            continue;
        x->seen[k] = true;
        us += saved.us;
        variance += saved.error * saved.error;
    }
    const double error = sqrt(variance), z = us / error;

    return error > 0 ? us * 0.5 * erfc(-z / sqrt(2)) + error * 0.39894 * exp(-z * z / 2)
                     : fmax(us, 0);
}

/* The format with the largest such value, of those that had no trial of their own. False: none is
 * worth a trial. */
static bool find_contender(const forming *x, size_t *column)
{
    const double least_of_model = 0.001;
    double most = least_of_model * x->prices.sum;
    bool any = false;

    for (size_t c = 0; c <= space_of(x)->forms.n; c++) {
        const double expected = x->tried[c] ? 0 : expect_of(x, c);
        if (expected > most) {
            most = expected;
            *column = c;
            any = true;
        }
    }
    return any;
}

/* Operators that may gain by this format get it, all others stay as they are. */
static qdq_status try_contender(forming *x, size_t column, qdq_error *err)
{
    const qdq_space *s = space_of(x);
    double *saved;
    qdq_assign c;
    bool any, kept;

    QDQ_TRY(copy_saved(x, &saved, err));
    for (size_t i = 0; i < x->r.n; i++) {
        timed all;
        const size_t first = qdq_form_item_first(s, i);
        const bool may = qdq_form_item_column(s, i) == column &&
                         x->r.kind[first] != QDQ_TUNE_NO_KIND &&
                         may_save(x, first, column, &all) == i;

        /* the trial decides: here it saves time, by its standard error at least */
        saved[i] =
            may ? fmax(all.us, all.error) / x->prices.n_equal[x->r.kind[first]] : (double)NAN;
    }
    QDQ_TRY(choose(x, saved, &c, &any, err));
    return any ? qdq_refine_try(&x->r, x->move, &c, &kept, err) : QDQ_OK;
}

static qdq_status try_contenders(forming *x, qdq_error *err)
{
    size_t column;

    for (note_saved(x); qdq_tune_has_builds(x->r.t, x->r.stage, 1) && find_contender(x, &column);
         note_saved(x)) {
        x->tried[column] = true;
        QDQ_TRY(try_contender(x, column, err));
    }
    return QDQ_OK;
}

/* --- rounds ----------------------------------------------------------------------------------- */

static qdq_status try_priced(forming *x, const qdq_form_pricing *with, qdq_error *err)
{
    bool kept;

    QDQ_TRY(qdq_form_prices_find(with, &x->prices, err));
    if (isnan(x->prices.sum))
        return QDQ_OK;
    note_saved(x);
    QDQ_TRY(try_paying(x, &kept, err));
    if (!kept)
        QDQ_TRY(try_best(x, err));
    return try_contenders(x, err);
}

/* Without profiles each format has its own trial. */
static qdq_status try_unknown(forming *x, qdq_error *err)
{
    bool kept;

    for (size_t k = 0; k <= space_of(x)->forms.n && qdq_tune_has_builds(x->r.t, x->r.stage, 1);
         k++) {
        bool any = false;

        note_unknown(x, k);
        for (size_t i = 0; i < x->r.n; i++)
            any |= x->saved[i] > 0;
        if (any)
            QDQ_TRY(try_paying(x, &kept, err));
        if (any && !kept)
            QDQ_TRY(try_best(x, err));
    }
    return QDQ_OK;
}

static qdq_status try_forms(forming *x, qdq_error *err)
{
    const qdq_form_pricing with = {.x = &x->r, .describe = describe, .is_item = is_item};

    QDQ_NEED(qdq_assign_copy(&x->priced, &x->r.base, &x->r.arena), err);
    memset(x->tried, 0, (space_of(x)->forms.n + 1) * sizeof *x->tried);
    QDQ_TRY(qdq_form_prices_begin(&with, &x->prices, err));
    if (x->prices.n_classes == 0)
        return QDQ_OK;
    return qdq_tune_can_profile(x->r.t) ? try_priced(x, &with, err) : try_unknown(x, err);
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
    const size_t n = qdq_form_item_count(space_of(x));

    QDQ_TRY(qdq_refine_begin(&x->r, n, err));
    x->saved = qdq_arena_array(&x->r.arena, n + 1, sizeof *x->saved);
    x->tried = qdq_arena_array(&x->r.arena, space_of(x)->forms.n + 1, sizeof *x->tried);
    x->seen = qdq_arena_array(&x->r.arena, n + 1, sizeof *x->seen); /* classes are of items */
    QDQ_NEED(x->saved != NULL && x->tried != NULL && x->seen != NULL, err);
    x->r.t->outcome.forms = x->r.out;
    return QDQ_OK;
}

qdq_status qdq_tune_try_forms(qdq_tune_state *t, qdq_error *err)
{
    const bool in_blocks = qdq_format_weight_only(&t->task.target->format);
    forming x = {.r = {.t = t,
                       .arena = QDQ_ARENA_INIT,
                       .stage = QDQ_STAGE_FORMS,
                       .builds = 1,
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
