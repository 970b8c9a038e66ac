/* goal_variants.c - what may reach a goal before any layer goes back to float: the whole plan made
 * in another way, kept where it comes nearer to the goal. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "ir/ir.h"
#include "quant/goal/goal_state.h"
#include "quant/weights/smooth_fold.h"
#include "target/target.h"

/* Less gain than this on the samples at hand may be harm on others: dnsmos has 0.01 dB more there
 * with corrected biases, and 1.5 dB less on unseen data. */
static const double LEAST_GAIN_DB = 0.5;

/* Of the worst output as a whole: bounds of slices that are far below the goal say little.
 * -INFINITY: it has none. */
static double least_db(const qdq_compare_result *r)
{
    return r != NULL ? qdq_compare_whole_db(r) : (double)-INFINITY;
}

/* Of two trials without a layer gone: is b, the variant, nearer to the goal? */
static bool is_nearer(const qdq_goal_run *g, const qdq_goal_tried *a, const qdq_goal_tried *b)
{
    if (b->early.has_ended)
        return false;
    if (a->holds != b->holds)
        return b->holds;
    if (!isnan(a->metric) && !isnan(b->metric) && a->metric != b->metric)
        return b->metric > a->metric;
    if (g->goal.max_drop >= 0 && a->compared != NULL && b->compared != NULL &&
        a->compared->accuracy_b != b->compared->accuracy_b)
        return b->compared->accuracy_b > a->compared->accuracy_b;
    return least_db(b->compared) > least_db(a->compared) + LEAST_GAIN_DB;
}

/* Of the two trials that there are one goes: no other one was to be compared. */
static void keep_one(qdq_goal_run *g, bool second)
{
    qdq_free(g->tried.at[!second].compared);
    g->tried.at[0] = g->tried.at[second];
    g->block->steps.at[0] = g->block->steps.at[second];
    g->tried.n = g->block->steps.n = 1;
    snprintf(g->block->why, sizeof g->block->why, "%s", g->tried.at[0].why);
}

/* Of two trials without a layer gone: is b, the variant, to be kept? */
typedef bool better_fn(const qdq_goal_run *g, const qdq_goal_tried *a, const qdq_goal_tried *b);

/* A variant: when it is kept, and with and without it, in dB. */
typedef struct gain {
    better_fn *is_better;
    bool is_kept;
    double with_db, without_db;
} gain;

/* Evaluates a variant of the whole plan, which is g->first then if it is nearer. */
static qdq_status evaluate_variant(qdq_goal_run *g, qdq_plan *variant, gain *out, qdq_error *err)
{
    qdq_plan *first = g->first;
    const unsigned worst_fold = g->worst_fold;
    qdq_goal_trial trial;

    g->first = variant;
    g->is_rival = out->is_better == is_nearer;
    const qdq_status st = qdq_goal_evaluate(g, variant, NULL, &trial, err);
    g->is_rival = false;
    out->is_kept = st == QDQ_OK && out->is_better(g, &g->tried.at[0], &g->tried.at[1]);
    if (out->is_kept) {
        out->with_db = least_db(g->tried.at[1].compared);
        out->without_db = least_db(g->tried.at[0].compared);
        g->first_trial = trial;
        g->measured = NULL; /* another plan may have its place in memory */
    } else {
        g->first = first;
        g->worst_fold = worst_fold;
    }
    if (st == QDQ_OK)
        keep_one(g, out->is_kept);
    qdq_plan_free(out->is_kept ? first : variant);
    return st;
}

/* The plan that the options make now, if it has what they ask for. */
static qdq_status try_plan(qdq_goal_run *g, bool (*has)(const qdq_plan *), gain *out,
                           qdq_error *err)
{
    qdq_plan *p;

    out->is_kept = false;
    QDQ_TRY(qdq_goal_make_plan(g, NULL, &p, err));
    if (has(p))
        return evaluate_variant(g, p, out, err);
    qdq_plan_free(p);
    return QDQ_OK;
}

static bool has_channels(const qdq_plan *p)
{
    return p->float_channels.n > 0;
}

static qdq_status try_float_channels(qdq_goal_run *g, qdq_error *err)
{
    qdq_goal_result *r = &g->block->head;
    gain found = {.is_better = is_nearer};

    g->opts.float_channels = QDQ_FLOAT_CHANNELS_ON;
    QDQ_TRY(try_plan(g, has_channels, &found, err));
    if (!found.is_kept)
        g->opts.float_channels = QDQ_FLOAT_CHANNELS_OFF;
    r->has_float_channels = found.is_kept;
    r->float_channels_db = found.with_db;
    r->all_channels_db = found.without_db;
    return QDQ_OK;
}

/* --- smoothing -------------------------------------------------------------------------------- */

/* Formats of nodes for `to`, a copy of the clean model. */
static qdq_status move_formats(qdq_goal_run *g, const qdq_model *to, const qdq_format ***out,
                               qdq_error *err)
{
    const qdq_node *other = to->graph->end.next;
    const size_t n = (size_t)to->graph->next_node_id + 1;

    *out = NULL;
    if (g->forms.base == NULL)
        return QDQ_OK;
    *out = qdq_arena_array(&g->arena, n, sizeof **out);
    QDQ_NEED(*out != NULL, err);
    QDQ_FOR_NODES (node, g->clean->graph) {
        (*out)[other->id] = g->forms.base[node->id];
        other = other->next;
    }
    return QDQ_OK;
}

/* What a smoothed model takes the place of. */
typedef struct unsmoothed {
    qdq_model *clean;
    qdq_weight_finds weights;
    qdq_insert_cache codes;
    qdq_recorded recorded;
    const qdq_format **formats, **base_formats;
} unsmoothed;

/* Smooths the copy that has taken the place of the clean model. What is smoothed has another name,
 * so that the ranges that are there hold. */
static qdq_status evaluate_smoothed(qdq_goal_run *g, qdq_plan *head, gain *found, qdq_error *err)
{
    qdq_plan *first = g->first, *p = NULL;

    QDQ_TRY(qdq_smooth_apply(g->clean, head, err));
    g->first = head;
    const qdq_status st = qdq_goal_make_plan(g, NULL, &p, err);
    g->first = first;
    return st == QDQ_OK ? evaluate_variant(g, p, found, err) : st;
}

/* Its products have other weights by the names that they had. */
static qdq_status smooth_copy(qdq_goal_run *g, qdq_plan *head, qdq_error *err)
{
    unsmoothed before = {g->clean,    g->scales.weights, g->codes,
                         g->recorded, g->forms.by_node,  g->forms.base};
    qdq_goal_result *r = &g->block->head;
    gain found = {.is_better = is_nearer};
    qdq_model *smoothed = NULL;
    const qdq_format **base = NULL, **formats = NULL;

    QDQ_TRY(qdq_model_clone(g->clean, &smoothed, err));
    qdq_status st = move_formats(g, smoothed, &base, err);
    if (st == QDQ_OK)
        st = move_formats(g, smoothed, &formats, err);
    if (st != QDQ_OK) {
        qdq_model_free(smoothed);
        return st;
    }
    g->clean = smoothed;
    g->scales.weights = (qdq_weight_finds){0};
    g->codes = (qdq_insert_cache){0};
    g->recorded = (qdq_recorded){0};
    g->forms.base = base;
    g->forms.by_node = formats;
    st = evaluate_smoothed(g, head, &found, err);
    if (found.is_kept) {
        qdq_model_free(before.clean);
        qdq_weight_finds_free(&before.weights);
        qdq_insert_cache_free(&before.codes);
        qdq_recorded_free(&before.recorded);
    } else {
        qdq_model_free(smoothed);
        qdq_weight_finds_free(&g->scales.weights);
        qdq_insert_cache_free(&g->codes);
        qdq_recorded_free(&g->recorded);
        g->clean = before.clean;
        g->scales.weights = before.weights;
        g->codes = before.codes;
        g->recorded = before.recorded;
        g->forms.base = before.base_formats;
        g->forms.by_node = before.formats;
    }
    r->is_smoothed = found.is_kept;
    r->smoothed_db = found.with_db;
    r->unsmoothed_db = found.without_db;
    return st;
}

/* Is g->items[i] a product that reads x, or what makes it? */
static bool is_around(const qdq_goal_run *g, size_t i, const qdq_value *x)
{
    if (x->producer == g->nodes[i])
        return true;
    QDQ_FOR_USES (u, x)
        if (u->node == g->nodes[i])
            return true;
    return false;
}

/* The fraction of what all layers do to the outputs that layers around x[0] to x[n - 1] do. NAN:
 * it is not known. */
static double fraction_around(const qdq_goal_run *g, const qdq_value *const *x, size_t n)
{
    double all = 0, around = 0;

    for (size_t i = 0; i < g->n_layers; i++) {
        bool is_near = false;

        if (isnan(g->layers[i].error))
            return NAN;
        for (size_t k = 0; k < n && !is_near; k++)
            is_near = is_around(g, i, x[k]);
        all += g->items[i].sensitivity;
        around += is_near ? g->items[i].sensitivity : 0;
    }
    return around / all;
}

/* Even without any error of its products, would the output be nearer to the goal? */
static qdq_status ask_errors(void *ctx, const qdq_value *const *x, size_t n, const char **why_not,
                             qdq_error *err)
{
    qdq_goal_run *g = ctx;

    QDQ_TRY(qdq_goal_measure_errors(g, err));
    const double fraction = fraction_around(g, x, n);
    if (!(-10 * log10(1 - fraction) < LEAST_GAIN_DB))
        return QDQ_OK;
    *why_not = qdq_arena_printf(&g->arena,
                                "all products of such activations have %.3g of the error of the "
                                "outputs",
                                fraction);
    return qdq_allocated(*why_not != NULL, err);
}

static qdq_status find_smoothings(qdq_goal_run *g, qdq_plan *head, qdq_error *err)
{
    const qdq_quantizing q = qdq_goal_quantizing(g, &g->opts, head);
    const qdq_smooth_ask ask = {ask_errors, g};

    QDQ_TRY(qdq_quantize_again(g->first, head, err));
    return qdq_quantize_find_smoothings(&q, &ask, err);
}

static qdq_status try_smooth(qdq_goal_run *g, qdq_error *err)
{
    qdq_plan *head = qdq_plan_new();
    qdq_status st = head != NULL ? find_smoothings(g, head, err) : qdq_nomem(err);

    if (st == QDQ_OK && head->smoothings.n > 0)
        st = smooth_copy(g, head, err);
    qdq_plan_free(head);
    return st;
}

static bool has_corrections(const qdq_plan *p)
{
    return p->corrections.n > 0;
}

static qdq_status try_corrected(qdq_goal_run *g, qdq_error *err)
{
    qdq_goal_result *r = &g->block->head;
    gain found = {.is_better = is_nearer};

    g->opts.bias_correction = QDQ_BIAS_CORRECTION_ON;
    QDQ_TRY(try_plan(g, has_corrections, &found, err));
    if (!found.is_kept) /* means are gathered for another attempt */
        g->opts.bias_correction = QDQ_BIAS_CORRECTION_AUTO;
    r->is_corrected = found.is_kept;
    r->corrected_db = found.with_db;
    r->uncorrected_db = found.without_db;
    return QDQ_OK;
}

/* Corrected biases cost no time, and little to try: smoothing asks for the errors of layers, which
 * the search needs of the plan with them. But means of products whose data is too coarse say
 * little, so that what smoothing makes finer is corrected again. */
qdq_status qdq_goal_try_variants(qdq_goal_run *g, qdq_error *err)
{
    const bool may_correct = g->opts.bias_correction == QDQ_BIAS_CORRECTION_AUTO;
    const qdq_goal_result *r = &g->block->head;

    if (!qdq_goal_may_vary(g))
        return QDQ_OK;
    if (g->opts.float_channels == QDQ_FLOAT_CHANNELS_AUTO)
        QDQ_TRY(try_float_channels(g, err));
    if (may_correct && !g->first_trial.holds)
        QDQ_TRY(try_corrected(g, err));
    if (g->opts.smooth == QDQ_SMOOTH_AUTO && !g->first_trial.holds)
        QDQ_TRY(try_smooth(g, err));
    if (may_correct && r->is_smoothed && !r->is_corrected && !g->first_trial.holds)
        QDQ_TRY(try_corrected(g, err));
    if (may_correct && !r->is_corrected)
        g->opts.bias_correction = QDQ_BIAS_CORRECTION_OFF;
    return QDQ_OK;
}

/* --- recurrent layers ------------------------------------------------------------------------- */

/* It saves time: layers of a goal that is missed all the same go back to float later. */
static bool is_no_harm(const qdq_goal_run *g, const qdq_goal_tried *a, const qdq_goal_tried *b)
{
    (void)g;
    return b->holds || (!a->holds && b->compared != NULL);
}

static bool is_asked(const qdq_goal_run *g)
{
    return g->goal.by_default || g->goal.min_sqnr != 0 || g->goal.max_drop >= 0 ||
           g->goal.metric != NULL || g->goal.min_agreement > 0;
}

/* Gives recurrent nodes with a form for such data that format; false: there are none. */
static bool choose_recurrent(qdq_goal_run *g)
{
    bool any = false;

    QDQ_FOR_NODES (n, g->clean->graph) {
        const qdq_target_op *op = qdq_target_find(g->target, n->type);

        if (op == NULL || op->kind != QDQ_KIND_RECURRENT || !op->dynamic || n->domain[0] != '\0')
            continue;
        g->forms.base[n->id] = &g->forms.form[0];
        any = true;
    }
    return any;
}

qdq_status qdq_goal_try_recurrent(qdq_goal_run *g, qdq_error *err)
{
    gain found = {.is_better = is_no_harm};

    if (g->forms.n == 0 || !qdq_format_dynamic(&g->forms.form[0]) || !is_asked(g) ||
        qdq_goal_is_beyond_reach(g) || !choose_recurrent(g))
        return QDQ_OK;
    QDQ_TRY(try_plan(g, qdq_plan_has_dynamic, &found, err));
    if (!found.is_kept)
        memset(g->forms.base, 0,
               ((size_t)g->clean->graph->next_node_id + 1) * sizeof(const qdq_format *));
    g->block->head.has_recurrent = found.is_kept;
    return QDQ_OK;
}
