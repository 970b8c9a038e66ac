/* goal_trial.c - one trial: a plan without some layers, what it is worth, and whether that is
 * enough. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/fail.h"
#include "quant/compare/compare_run.h"
#include "quant/data/data_source.h"
#include "quant/goal/goal_outputs.h"
#include "quant/goal/goal_state.h"
#include "quant/quantize_steps.h"
#include "target/target.h"

/* --- a plan ----------------------------------------------------------------------------------- */

static void give_reasons(qdq_plan *p, const qdq_map *gone)
{
    for (size_t i = 0; i < p->left_float.n; i++)
        if (qdq_map_get(gone, p->left_float.at[i].node) != NULL)
            p->left_float.at[i].reason = "back to float for the goal";
}

/* The caller's exclusions and the layers that go. */
static qdq_status list_exclusions(qdq_goal_run *g, const unsigned char *form, qdq_map *labels,
                                  qdq_error *err)
{
    size_t n = g->n_exclude;

    for (size_t i = 0; i < g->n_layers; i++) {
        if (form[i] != QDQ_FORM_FLOAT)
            continue;
        g->exclude[n] = qdq_arena_printf(&g->arena, "=%s", g->layers[i].node);
        QDQ_NEED(qdq_map_put(labels, g->layers[i].node, NULL) != NULL && g->exclude[n] != NULL,
                 err);
        n++;
    }
    g->exclude[n] = NULL;
    return QDQ_OK;
}

static void set_formats(qdq_goal_run *g, const unsigned char *form)
{
    const size_t n = (size_t)g->clean->graph->next_node_id + 1;

    if (g->forms.by_node == NULL)
        return;
    memcpy(g->forms.by_node, g->forms.base, n * sizeof(const qdq_format *));
    for (size_t i = 0; form != NULL && i < g->n_layers; i++)
        if (form[i] >= QDQ_FORM_OTHER)
            g->forms.by_node[g->nodes[i]->id] = &g->forms.form[form[i] - QDQ_FORM_OTHER];
}

bool qdq_goal_may_vary(const qdq_goal_run *g)
{
    const bool is_evaluated_alone =
        g->goal.by_default && qdq_format_weight_only(&g->target->format);

    return g->opts.cache == NULL && !is_evaluated_alone && g->data != NULL &&
           !qdq_data_is_random(g->data);
}

qdq_quantizing qdq_goal_quantizing(qdq_goal_run *g, const qdq_quantize_opts *opts, qdq_plan *p)
{
    const bool is_wanted = g->opts.bias_correction == QDQ_BIAS_CORRECTION_AUTO ||
                           g->opts.float_channels == QDQ_FLOAT_CHANNELS_AUTO;
    const bool means = is_wanted && qdq_goal_may_vary(g);

    return (qdq_quantizing){.m = g->clean,
                            .target = g->target,
                            .engine = g->engine,
                            .data = g->data,
                            .opts = opts,
                            .basis = {.known = &g->scales,
                                      .seen = &g->seen,
                                      .recorded = &g->recorded,
                                      .folds = g->goal.folds,
                                      .means = means,
                                      .islands_of = p != g->first ? g->first : NULL,
                                      .formats = g->forms.by_node},
                            .plan = p,
                            .statistics = g->statistics};
}

static qdq_status fill_plan(qdq_goal_run *g, const char *const *exclude, qdq_plan *p,
                            qdq_error *err)
{
    qdq_quantize_opts opts = g->opts;
    const qdq_quantizing q = qdq_goal_quantizing(g, &opts, p);

    QDQ_TRY(qdq_quantize_again(g->first, p, err));
    opts.exclude = exclude;
    opts.job = &g->quiet;
    opts.why = NULL;
    return qdq_quantize_plan(&q, err);
}

static qdq_status new_plan(qdq_goal_run *g, const char *const *exclude, qdq_plan **out,
                           qdq_error *err)
{
    qdq_plan *p = qdq_plan_new();
    qdq_status st = p != NULL ? fill_plan(g, exclude, p, err) : qdq_nomem(err);

    return QDQ_HAND_OVER(p, st, out, qdq_plan_free);
}

qdq_status qdq_goal_make_plan(qdq_goal_run *g, const unsigned char *form, qdq_plan **out,
                              qdq_error *err)
{
    qdq_map labels = QDQ_MAP_INIT;

    *out = NULL;
    set_formats(g, form);
    qdq_status st = form != NULL ? list_exclusions(g, form, &labels, err) : QDQ_OK;
    if (st == QDQ_OK)
        st = new_plan(g, form != NULL ? g->exclude : g->opts.exclude, out, err);
    if (st == QDQ_OK) {
        give_reasons(*out, &labels);
        st = qdq_plan_finish(*out) ? QDQ_OK : qdq_nomem(err);
    }
    qdq_map_free(&labels);
    return QDQ_HAND_OVER(*out, st, out, qdq_plan_free);
}

qdq_status qdq_goal_make_float(qdq_goal_run *g, qdq_plan **out, qdq_error *err)
{
    static const char *const all[] = {"", NULL}; /* found in every label */

    QDQ_TRY(new_plan(g, all, out, err));
    for (size_t i = 0; i < (*out)->left_float.n; i++)
        (*out)->left_float.at[i].reason = "back to float for the goal";
    return qdq_plan_finish(*out) ? QDQ_OK : qdq_nomem(err);
}

qdq_status qdq_goal_apply(qdq_goal_run *g, const qdq_plan *p, qdq_model **out, qdq_error *err)
{
    QDQ_TRY(qdq_model_clone(g->clean, out, err));
    qdq_status st = qdq_quantize_finish(*out, p, &g->codes, &g->quiet, err);
    return QDQ_HAND_OVER(*out, st, out, qdq_model_free);
}

/* --- its outputs ------------------------------------------------------------------------------ */

static qdq_status make_model(void *ctx, const qdq_plan *p, qdq_model **out, qdq_error *err)
{
    return qdq_goal_apply(ctx, p, out, err);
}

static qdq_status add_model(qdq_goal_run *g, const qdq_plan *p, qdq_comparing *c, qdq_error *err)
{
    qdq_model *m = NULL;

    QDQ_TRY(qdq_goal_apply(g, p, &m, err));
    qdq_status st = qdq_comparing_add(c, m, 0, 0, err);
    qdq_model_free(m);
    return st;
}

/* Noise over signal of the worst slice so far. */
static qdq_status noise_so_far(const qdq_comparing *c, double *noise, qdq_error *err)
{
    qdq_compare_result *r = NULL;

    QDQ_TRY(qdq_comparing_get(c, &r, err));
    *noise = pow(10, -r->worst_db / 10);
    qdq_free(r);
    return QDQ_OK;
}

static size_t samples_that_calibrate(const qdq_goal_run *g)
{
    const size_t have = qdq_data_count(g->data);

    return g->opts.samples > 0 && g->opts.samples < have ? g->opts.samples : have;
}

size_t qdq_goal_fold_first(const qdq_goal_run *g, unsigned k)
{
    return qdq_data_fold_first(g->data, k, g->first->n_folds, samples_that_calibrate(g));
}

/* Each fold by ranges that did not see it, as far as `early` lets it go on; NULL: to the end. */
static qdq_status add_folds(qdq_goal_run *g, qdq_plan *p, qdq_comparing *c,
                            const qdq_compare_looks *early, qdq_error *err)
{
    double noise = 0, before = 0, most = 0;

    for (unsigned k = 0; k < p->n_folds && !(early != NULL && early->has_ended); k++) {
        QDQ_TRY(qdq_goal_add_fold(c, p, k, samples_that_calibrate(g), make_model, g, err));
        if (p != g->first)
            continue;
        QDQ_TRY(noise_so_far(c, &noise, err));
        /* what this fold added to the mean */
        if ((k + 1) * noise - k * before > most) {
            most = (k + 1) * noise - k * before;
            g->worst_fold = k;
        }
        before = noise;
    }
    return QDQ_OK;
}

qdq_compare_opts qdq_goal_compare_opts(const qdq_goal_run *g)
{
    qdq_compare_opts o = QDQ_COMPARE_OPTS_INIT;

    o.threads = g->opts.threads;
    o.shapes = g->opts.shapes;
    o.n_shapes = g->opts.n_shapes;
    o.job = g->opts.job;
    o.scores = g->goal.min_agreement > 0;
    return o;
}

qdq_data *qdq_goal_data(const qdq_goal_run *g)
{
    return g->goal.eval != NULL ? g->goal.eval : g->data;
}

/* That evaluate. */
static size_t count_samples(const qdq_goal_run *g)
{
    return g->goal.count > 0 ? g->goal.count : qdq_data_count(qdq_goal_data(g)) - g->goal.first;
}

/* From look to look; 0: there are too few for one. */
static size_t early_samples(const qdq_goal_run *g)
{
    const size_t n = count_samples(g), least = 4;

    return n < 2 * least ? 0 : n / 4 > least ? n / 4 : least;
}

/* early: where a look at the first samples is noted; NULL: there is none. */
static qdq_status compare_outputs(qdq_goal_run *g, qdq_plan *p, qdq_compare_looks *early,
                                  qdq_compare_result **out, qdq_error *err)
{
    qdq_compare_opts o = qdq_goal_compare_opts(g);
    qdq_comparing *c = NULL;

    *out = NULL;
    o.first = g->goal.first;
    o.count = g->goal.count;
    QDQ_TRY(qdq_comparing_begin(
        &(qdq_comparison){g->engine, g->m, qdq_goal_data(g), &o, &g->reference_outputs}, &c, err));
    if (early != NULL)
        qdq_comparing_look(c, early);
    qdq_status st = p->n_folds > 0 ? add_folds(g, p, c, early, err) : add_model(g, p, c, err);
    if (st == QDQ_OK)
        st = qdq_comparing_get(c, out, err);
    qdq_comparing_free(c);
    return st;
}

qdq_status qdq_goal_compare(qdq_goal_run *g, qdq_plan *p, qdq_compare_result **out, qdq_error *err)
{
    const qdq_compare_result *first = g->tried.n > 0 ? g->tried.at[0].compared : NULL;
    const bool is_labelled = first == NULL || !isnan(first->accuracy_a);
    qdq_compare_looks looks = {.every = early_samples(g)};

    if (p->tensors.n > 0 || p->weights.n > 0 || is_labelled)
        return compare_outputs(g, p, NULL, out, err);
    for (size_t i = 0; i < QDQ_MOST_LOOKS; i++)
        looks.limit[i] = (qdq_compare_look){INFINITY, INFINITY};
    return compare_outputs(g, p, &looks, out, err);
}

/* --- a look at the first samples -------------------------------------------------------------- */

/* What the first plan has on all samples, above what it has by look i. */
static double early_gap(const qdq_goal_run *g, size_t i)
{
    const qdq_goal_tried *first = g->tried.n > 0 ? &g->tried.at[0] : NULL;

    return first != NULL && i < first->early.n ? first->sqnr_db - first->early.found[i].worst_db
                                               : (double)NAN;
}

/* A trial ends where it would miss the goal even without any noise in the samples to come: the
 * first plan shows what those so far say about all. So does a variant, where these are no nearer to
 * the goal with it. */
static qdq_compare_looks look_early(const qdq_goal_run *g, const qdq_plan *p)
{
    const bool may_end = p != g->first || (g->is_rival && g->goal.max_drop < 0);
    const size_t n = count_samples(g);
    qdq_compare_looks looks = {.every = early_samples(g)};

    for (size_t i = 0; i < QDQ_MOST_LOOKS; i++) {
        const double gap = early_gap(g, i),
                     part = (double)looks.every * (double)(i + 1) / (double)n;
        qdq_compare_look *limit = &looks.limit[i];

        *limit = (qdq_compare_look){-INFINITY, INFINITY};
        if (!may_end || g->goal.min_sqnr == 0 || !isfinite(gap))
            continue;
        limit->worst_db = g->goal.min_sqnr + 10 * log10(part) - gap;
        if (g->is_rival)
            limit->whole_db = g->tried.at[0].early.found[i].whole_db;
    }
    return looks;
}

/* --- is it enough? ---------------------------------------------------------------------------- */

static void tell_output(const qdq_goal_run *g, const qdq_goal_outputs *o, char *to, size_t room)
{
    const qdq_compare_tensor *t = o->worst;
    char place[80];

    if (t->other_shape)
        snprintf(to, room, "output '%s': its shape depends on data, and is not that of float",
                 t->name);
    else if (isnan(o->db))
        snprintf(
            to, room,
            "output '%s': zero everywhere or not finite, it has no SQNR, expected at least %g dB",
            t->name, g->goal.min_sqnr);
    else
        snprintf(to, room, "output '%s'%s: found SQNR %.2f dB%s, expected at least %g dB", t->name,
                 qdq_compare_place(t, place, sizeof place), o->db,
                 isnan(t->bound_db) ? "" : " (lower bound)", g->goal.min_sqnr);
}

static qdq_status evaluate_accuracy(qdq_goal_run *g, const qdq_compare_result *r,
                                    qdq_goal_trial *out, qdq_error *err)
{
    const double drop = r->accuracy_a - r->accuracy_b;

    if (g->goal.metric != NULL || g->goal.max_drop < 0)
        return QDQ_OK;
    if (isnan(drop))
        return qdq_fail(err, QDQ_E_USAGE,
                        "output '%s': found no accuracy, expected labels for an output with two "
                        "classes or more",
                        r->outputs[0].name);
    if (drop > g->goal.max_drop + 1e-9) {
        out->holds = false;
        snprintf(g->block->why, sizeof g->block->why,
                 "accuracy: found %.4f, %.2f points below float, expected at most %g",
                 r->accuracy_b, drop * 100, g->goal.max_drop * 100);
    }
    return QDQ_OK;
}

/* How far the result is from the goal, and in words what is missing. */
static qdq_status evaluate_outputs(qdq_goal_run *g, const qdq_compare_result *r,
                                   const qdq_compare_looks *early, qdq_goal_step *step,
                                   qdq_goal_trial *out, qdq_error *err)
{
    qdq_goal_result *to = &g->block->head;
    qdq_goal_outputs o = qdq_goal_read_outputs(g->clean, r, &g->goal);

    if (early->has_ended)
        o.db = early->found[early->n - 1].worst_db + early_gap(g, early->n - 1);

    step->sqnr_db = o.db;
    step->accuracy = early->has_ended ? (double)NAN : r->accuracy_b;
    if (!early->has_ended)
        to->float_accuracy = r->accuracy_a;
    *out = (qdq_goal_trial){.holds = true, .excess = NAN};
    QDQ_TRY(qdq_goal_need_rows(r, &g->goal, err));
    QDQ_TRY(evaluate_accuracy(g, r, out, err));
    if (o.disagreeing != NULL) {
        out->holds = false;
        qdq_goal_rows_text(&g->goal, o.disagreeing->name, o.agreement, "float's", g->block->why,
                           sizeof g->block->why);
    }
    if (g->goal.min_sqnr == 0 || o.db >= g->goal.min_sqnr)
        return QDQ_OK;
    if (out->holds)
        out->excess = pow(10, (g->goal.min_sqnr - o.db) / 10);
    if (!isfinite(out->excess))
        out->excess = NAN;
    out->holds = false;
    tell_output(g, &o, g->block->why, sizeof g->block->why);
    return QDQ_OK;
}

/* --- the trial -------------------------------------------------------------------------------- */

/* Is it the plan that the engine or the comparison refuses, and not the samples or the memory? */
static bool is_refused(const qdq_goal_run *g, qdq_status st)
{
    return (st == QDQ_E_UNSUPPORTED || st == QDQ_E_ENGINE || st == QDQ_E_FORMAT) &&
           !qdq_data_has_failed(qdq_goal_data(g));
}

static void note_refusal(qdq_goal_run *g, qdq_goal_step *step, qdq_goal_trial *out, qdq_error *err)
{
    step->sqnr_db = -INFINITY;
    step->accuracy = NAN;
    *out = (qdq_goal_trial){.holds = false, .excess = NAN};
    snprintf(g->block->why, sizeof g->block->why, "%.250s", err->text);
    *err = (qdq_error)QDQ_ERROR_INIT;
}

/* In folds where there are any, with the look t->early. t->is_evaluated: it did not end early. */
static qdq_status compare_and_evaluate(qdq_goal_run *g, qdq_plan *p, qdq_goal_step *step,
                                       qdq_goal_tried *t, qdq_goal_trial *out, qdq_error *err)
{
    qdq_free(t->compared);
    qdq_status st = compare_outputs(g, p, &t->early, &t->compared, err);

    t->is_evaluated = !t->early.has_ended;
    if (st == QDQ_OK)
        return evaluate_outputs(g, t->compared, &t->early, step, out, err);
    if (!is_refused(g, st) || !g->reference_outputs.is_complete) /* else float may be at fault */
        return st;
    note_refusal(g, step, out, err);
    return QDQ_OK;
}

/* --- the metric ------------------------------------------------------------------------------- */

qdq_status qdq_goal_measure_input(qdq_goal_run *g, qdq_error *err)
{
    const qdq_compare_opts o = qdq_goal_compare_opts(g);
    qdq_goal_result *to = &g->block->head;
    qdq_metric_value m;

    to->float_metric = to->metric = NAN;
    to->metric_name = "";
    if (g->goal.metric == NULL)
        return QDQ_OK;
    to->metric_name = qdq_arena_strdup(&g->block->arena, qdq_metric_name(g->goal.metric));
    QDQ_NEED(to->metric_name != NULL, err);
    QDQ_TRY(qdq_metric_measure(g->goal.metric, g->engine, g->m, true, &o, &m, err));
    to->float_metric = m.value;
    if (qdq_goal_is_beyond_reach(g))
        qdq_job_log(g->opts.job, QDQ_LOG_WARNING,
                    "metric '%s' of the input model: found %g, expected at least %g; no layer goes "
                    "back to float",
                    to->metric_name, m.value, g->goal.min_metric);
    return QDQ_OK;
}

bool qdq_goal_is_beyond_reach(const qdq_goal_run *g)
{
    return g->goal.has_min_metric && g->block->head.float_metric < g->goal.min_metric;
}

/* Of a plan that holds the rest of the goal: it takes longer than that. */
static qdq_status evaluate_metric(qdq_goal_run *g, const qdq_plan *p, qdq_goal_step *step,
                                  qdq_goal_trial *out, qdq_error *err)
{
    const qdq_compare_opts o = qdq_goal_compare_opts(g);
    qdq_goal_result *to = &g->block->head;
    qdq_model *m = NULL;
    qdq_metric_value found;

    if (g->goal.metric == NULL || !out->holds)
        return QDQ_OK;
    QDQ_TRY(qdq_goal_apply(g, p, &m, err));
    const qdq_status st = qdq_metric_measure(g->goal.metric, g->engine, m, false, &o, &found, err);
    qdq_model_free(m);
    QDQ_TRY(st);
    step->metric = found.value;
    if (!qdq_metric_holds(&g->goal, &found, to->float_metric, g->block->why, sizeof g->block->why))
        *out = (qdq_goal_trial){.holds = false, .excess = NAN};
    return QDQ_OK;
}

/* --- all of it -------------------------------------------------------------------------------- */

qdq_status qdq_goal_evaluate(qdq_goal_run *g, qdq_plan *p, const unsigned char *form,
                             qdq_goal_trial *out, qdq_error *err)
{
    const double begun = qdq_clock_seconds();
    const size_t n_gone = qdq_goal_count_float(g, form);
    qdq_goal_step step = {.n_float = n_gone, .accuracy = NAN, .metric = NAN};
    qdq_goal_tried t = {.n_gone = n_gone, .early = look_early(g, p)};
    unsigned char *copy = qdq_arena_array(&g->arena, g->n_layers + 1, sizeof *copy);

    *out = (qdq_goal_trial){.excess = NAN};
    QDQ_NEED(copy != NULL, err);
    if (form != NULL)
        t.form = memcpy(copy, form, g->n_layers * sizeof *copy);
    QDQ_TRY(qdq_goal_time_share(g, p, form, &step.time_fraction, err));
    qdq_status st = QDQ_OK;
    t.is_float = p->tensors.n == 0 && p->weights.n == 0;
    if (t.is_float && n_gone > 0) { /* it is never taken */
        *out = (qdq_goal_trial){.is_float = true, .excess = NAN};
        step.sqnr_db = INFINITY;
    } else {
        st = compare_and_evaluate(g, p, &step, &t, out, err);
        if (st == QDQ_OK)
            st = evaluate_metric(g, p, &step, out, err);
    }
    step.holds = t.holds = out->holds;
    t.sqnr_db = step.sqnr_db;
    t.metric = step.metric;
    t.why = qdq_arena_strdup(&g->arena, g->block->why);
    t.time_fraction = step.time_fraction;
    if (st == QDQ_OK && (t.why == NULL || !QDQ_PUSH(&g->block->arena, &g->block->steps, step) ||
                         !QDQ_PUSH(&g->arena, &g->tried, t)))
        st = qdq_nomem(err);
    if (st != QDQ_OK) {
        qdq_free(t.compared);
        return st;
    }
    if (g->reference_outputs.is_over && g->tried.n == 1)
        qdq_job_log(g->opts.job, QDQ_LOG_INFO,
                    "outputs of the float model are more than %" PRIu64
                    " MiB: it runs again for each trial (--memory)",
                    g->reference_outputs.limit >> 20);
    g->clock.longest_trial = fmax(g->clock.longest_trial, qdq_clock_seconds() - begun);
    qdq_job_progress(g->opts.job, "goal", g->block->steps.n, 0);
    return QDQ_OK;
}

qdq_status qdq_goal_complete(qdq_goal_run *g, size_t trial, qdq_error *err)
{
    qdq_goal_tried *t = &g->tried.at[trial];
    qdq_goal_step *step = &g->block->steps.at[trial];
    qdq_goal_trial found;
    qdq_plan *p = NULL;

    QDQ_TRY(qdq_goal_make_plan(g, t->form, &p, err));
    t->early.every = 0; /* to the end */
    const qdq_status st = compare_and_evaluate(g, p, step, t, &found, err);
    qdq_plan_free(p);
    QDQ_TRY(st);
    t->sqnr_db = step->sqnr_db;
    if (found.holds)
        return QDQ_OK;
    t->why = qdq_arena_strdup(&g->arena, g->block->why);
    return qdq_allocated(t->why != NULL, err);
}

/* --- what was tried --------------------------------------------------------------------------- */

/* With fewer trials than the least, no search finds anything; what follows once something holds
 * only makes it faster. */
bool qdq_goal_is_over(const qdq_goal_run *g)
{
    enum { LEAST_TRIALS = 8 };
    bool held = false;

    for (size_t i = 0; i < g->tried.n; i++)
        held |= g->tried.at[i].holds;
    return g->clock.until > 0 && (held || g->tried.n >= LEAST_TRIALS) &&
           qdq_clock_seconds() + g->clock.longest_trial > g->clock.until;
}

size_t qdq_goal_count_float(const qdq_goal_run *g, const unsigned char *form)
{
    size_t n = 0;

    for (size_t i = 0; form != NULL && i < g->n_layers; i++)
        n += form[i] == QDQ_FORM_FLOAT;
    return n;
}

static bool has_forms(const qdq_goal_run *g, const qdq_goal_tried *t, const unsigned char *form)
{
    for (size_t i = 0; i < g->n_layers; i++)
        if (form[i] != (t->form != NULL ? t->form[i] : QDQ_FORM_TARGET))
            return false;
    return true;
}

qdq_goal_tried *qdq_goal_find_tried(const qdq_goal_run *g, const unsigned char *form)
{
    for (size_t i = g->tried.n; i-- > 0;)
        if (has_forms(g, &g->tried.at[i], form))
            return &g->tried.at[i];
    return NULL;
}

qdq_status qdq_goal_try_forms(qdq_goal_run *g, const unsigned char *form, qdq_goal_trial *out,
                              qdq_error *err)
{
    const qdq_goal_tried *known = qdq_goal_find_tried(g, form);
    qdq_plan *p = NULL;

    if (known != NULL) {
        *out = (qdq_goal_trial){.holds = known->holds,
                                .is_float = known->is_float,
                                .excess = NAN,
                                .is_last = qdq_goal_is_over(g)};
        return QDQ_OK;
    }
    QDQ_TRY(qdq_goal_make_plan(g, form, &p, err));
    qdq_status st = qdq_goal_evaluate(g, p, form, out, err);
    out->is_last = qdq_goal_is_over(g);
    qdq_plan_free(p);
    return st;
}
