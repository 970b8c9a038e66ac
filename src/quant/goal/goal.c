/* goal.c - quantization under a goal: the way from the first plan to the one that is taken. What a
 * plan is worth is in goal_trial.c, what the layers cost in goal_layers.c, in which order they go
 * in goal_search.c. */
#include "qdq/goal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/fail.h"
#include "base/opts.h"
#include "base/processor.h"
#include "ir/ir.h"
#include "quant/data/data_source.h"
#include "quant/goal/goal_outputs.h"
#include "quant/goal/goal_state.h"
#include "quant/goal/goal_times.h"
#include "quant/place/why.h"
#include "quant/quantize_steps.h"
#include "quant/target_fit.h"
#include "target/target.h"

/* of outputs of the float model, as of activations in calibration */
#define KEPT_BYTES ((uint64_t)256 << 20)

enum { MAX_EVALUATIONS = 16, MOST_TIMED = 3 };

static const double min_saving = 0.1;
static const double same_db = 1; /* bounds of few samples do not tell plans apart that are closer */

/* --- trials ----------------------------------------------------------------------------------- */

/* Of the search: what is gone is float. */
static qdq_status try_without(void *ctx, const bool *gone, size_t n_gone, qdq_goal_trial *out,
                              qdq_error *err)
{
    qdq_goal_run *g = ctx;

    if (n_gone == 0) { /* the search begins where the first trial ended */
        *out = g->first_trial;
        return QDQ_OK;
    }
    for (size_t i = 0; i < g->n_layers; i++)
        g->forms.tried[i] = gone[i] ? QDQ_FORM_FLOAT : QDQ_FORM_TARGET;
    return qdq_goal_try_forms(g, g->forms.tried, out, err);
}

/* --- the way ---------------------------------------------------------------------------------- */

static qdq_status make_room(qdq_goal_run *g, qdq_error *err)
{
    const char *const *given = g->opts.exclude;

    while (given != NULL && given[g->n_exclude] != NULL)
        g->n_exclude++;
    g->exclude = qdq_arena_array(&g->arena, g->n_exclude + g->n_layers + 1, sizeof *g->exclude);
    g->forms.tried = qdq_arena_array(&g->arena, g->n_layers + 1, sizeof *g->forms.tried);
    QDQ_NEED(g->exclude != NULL && g->forms.tried != NULL, err);
    for (size_t i = 0; i < g->n_exclude; i++)
        g->exclude[i] = given[i];
    return QDQ_OK;
}

static unsigned most_trials(const qdq_goal_run *g)
{
    if (g->goal.times != NULL && g->goal.times->times.processor != NULL)
        return g->goal.times->times.trials;
    return g->goal.max_evaluations > 0 ? g->goal.max_evaluations : MAX_EVALUATIONS;
}

static double saving(const qdq_goal_run *g)
{
    return g->goal.min_saving > 0 ? g->goal.min_saving : min_saving;
}

/* The outputs of the plan that is taken: those of its trial, if it was evaluated. */
static qdq_status take_compared(qdq_goal_run *g, const qdq_goal_tried *t, qdq_plan *p,
                                qdq_error *err)
{
    qdq_compare_result *r = NULL;

    if (t != NULL && t->is_evaluated) {
        g->block->head.compared = t->compared;
        return QDQ_OK;
    }
    QDQ_TRY(qdq_goal_compare(g, p, &r, err));
    const qdq_goal_tried own = {.is_evaluated = true, .compared = r};
    if (!QDQ_PUSH(&g->arena, &g->tried, own)) {
        qdq_free(r);
        return qdq_nomem(err);
    }
    g->block->head.compared = r;
    return QDQ_OK;
}

/* Makes the plan of a set; whole runs of it are timed if a default goal may take it. */
static qdq_status make(qdq_goal_run *g, const qdq_goal_tried *t, const unsigned char *form,
                       qdq_plan **plan, qdq_model **out, qdq_error *err)
{
    if (form != NULL)
        QDQ_TRY(qdq_goal_make_plan(g, form, plan, err));
    QDQ_TRY(qdq_goal_apply(g, form != NULL ? *plan : g->first, out, err));
    const bool may_ship =
        form != NULL || g->block->head.reached; /* the first plan: if its biases were corrected */
    if (t == NULL || !may_ship || !g->goal.by_default || !g->block->head.is_profiled)
        return QDQ_OK;
    return qdq_goal_time_plan(g, (size_t)(t - g->tried.at), *out, err);
}

/* Takes it if its time, as a share of the float model's, is at most so much; else *out stays
 * NULL. */
static qdq_status take_if(qdq_goal_run *g, const qdq_goal_tried *t, const unsigned char *form,
                          double most, qdq_plan **plan, qdq_model **out, qdq_error *err)
{
    const qdq_status st = make(g, t, form, plan, out, err);

    if (st == QDQ_OK && (t == NULL || t->time_fraction <= most)) {
        if (form == NULL) {
            *plan = g->first;
            g->first = NULL;
        }
        return QDQ_OK;
    }
    qdq_plan_free(*plan);
    qdq_model_free(*out);
    *plan = NULL;
    *out = NULL;
    return st;
}

/* A default goal is missed: the best that saves enough; *t is NULL where nothing does. */
static qdq_status take_best(qdq_goal_run *g, qdq_goal_tried **t, qdq_plan **plan, qdq_model **out,
                            qdq_error *err)
{
    for (int i = 0; i < MOST_TIMED; i++) {
        QDQ_TRY(qdq_goal_find_best(g, 1 - saving(g), same_db, t, err));
        if (*t == NULL)
            return QDQ_OK;
        QDQ_TRY(take_if(g, *t, (*t)->form, 1 - saving(g), plan, out, err));
        if (*out != NULL)
            return QDQ_OK;
    }
    *t = NULL;
    return QDQ_OK;
}

static void tell_no_gain(qdq_goal_run *g, const qdq_goal_tried *t)
{
    qdq_goal_result *r = &g->block->head;

    r->reached = false;
    r->is_slower = true;
    snprintf(g->block->why, sizeof g->block->why,
             "what reaches it takes %.2f of the time of the float model", t->time_fraction);
}

static void note_forms(qdq_goal_run *g, const unsigned char *form)
{
    const bool is_float = g->block->head.is_float;

    for (size_t i = 0; i < g->n_layers; i++) {
        const unsigned char f = form != NULL ? form[i] : QDQ_FORM_TARGET;

        g->layers[i].is_float = is_float || f == QDQ_FORM_FLOAT;
        g->layers[i].form =
            !is_float && f >= QDQ_FORM_OTHER ? g->forms.name[f - QDQ_FORM_OTHER] : NULL;
    }
}

/* Makes the plan that the search ended with, with these formats. */
static qdq_status take(qdq_goal_run *g, const unsigned char *form, qdq_plan **plan, qdq_model **out,
                       qdq_error *err)
{
    qdq_goal_result *r = &g->block->head;
    qdq_goal_tried *t = qdq_goal_find_tried(g, form), *nearest = qdq_goal_find_best_measured(g);

    if (nearest == NULL && !r->reached && !g->goal.by_default)
        QDQ_TRY(qdq_goal_find_best(g, (double)INFINITY, 0, &nearest, err));
    if (!r->reached && !g->goal.by_default && nearest != NULL) {
        t = nearest;
        snprintf(g->block->why, sizeof g->block->why, "%s", t->why);
    }
    if (r->reached || !g->goal.by_default) {
        form = t != NULL ? t->form : form;
        const double most = g->goal.by_default && r->is_profiled ? 1 : (double)INFINITY;

        QDQ_TRY(take_if(g, t, form, most, plan, out, err));
        if (*out == NULL)
            tell_no_gain(g, t);
    } else {
        QDQ_TRY(take_best(g, &t, plan, out, err));
        r->is_best_accepted = t != NULL;
        if (t != NULL)
            snprintf(g->block->why, sizeof g->block->why, "%s", t->why);
        form = t != NULL ? t->form : NULL;
    }
    r->is_float = *out == NULL;
    r->metric = t != NULL ? t->metric : (double)NAN;
    note_forms(g, form);
    if (r->is_float) {
        t = NULL;
        r->is_corrected = r->has_float_channels = r->is_smoothed = false;
        QDQ_TRY(qdq_goal_make_float(g, plan, err));
        QDQ_TRY(qdq_goal_apply(g, *plan, out, err));
    }
    return take_compared(g, t, *plan, err);
}

/* The worst layers, as many as leave what is saved above the least. */
static qdq_status try_what_saves_enough(qdq_goal_run *g, qdq_error *err)
{
    /* times of layers are off by more than that, but not of most together */
    const double margin = 0.02;
    bool *gone = qdq_arena_array(&g->arena, g->n_layers + 1, sizeof *gone);
    double share = g->tried.at[0].time_fraction;
    qdq_goal_trial t;
    size_t n = 0;

    QDQ_NEED(gone != NULL, err);
    for (; n < g->n_layers; n++) {
        size_t worst = g->n_layers;

        for (size_t i = 0; i < g->n_layers; i++)
            if (!gone[i] && (worst == g->n_layers ||
                             g->items[i].sensitivity * g->items[worst].expected_bound >
                                 g->items[worst].sensitivity * g->items[i].expected_bound))
                worst = i;
        if (share + g->layers[worst].saved_fraction > 1 - saving(g) - margin)
            break;
        share += g->layers[worst].saved_fraction;
        gone[worst] = true;
    }
    return n > 0 ? try_without(g, gone, n, &t, err) : QDQ_OK;
}

/* Which layers go back to float, and which of these get other formats; *form: of each. */
static qdq_status search(qdq_goal_run *g, unsigned *trials, unsigned char **form, qdq_error *err)
{
    qdq_goal_result *r = &g->block->head;
    const double begun = qdq_clock_seconds();
    qdq_goal_search_result found;

    *form = qdq_arena_array(&g->arena, g->n_layers + 1, sizeof **form);
    QDQ_NEED(*form != NULL, err);
    QDQ_TRY(qdq_goal_search(g->items, g->n_layers, most_trials(g), try_without, g, &g->arena,
                            &found, err));
    for (size_t i = 0; i < g->n_layers; i++)
        (*form)[i] = found.gone[i] ? QDQ_FORM_FLOAT : QDQ_FORM_TARGET;
    r->reached = found.reached;
    r->is_timed_out = found.cut;
    *trials = found.trials;
    QDQ_TRY(qdq_goal_try_other_forms(g, *form, &r->reached, err));
    if (!r->reached && g->goal.by_default)
        QDQ_TRY(try_what_saves_enough(g, err));
    r->seconds.trials += qdq_clock_seconds() - begun;
    return QDQ_OK;
}

static qdq_status take_layers_back(qdq_goal_run *g, qdq_plan **plan, qdq_model **out,
                                   qdq_error *err)
{
    qdq_goal_result *r = &g->block->head;
    unsigned char *form = NULL;
    unsigned trials = 0;

    QDQ_TRY(qdq_goal_rank(g, err));
    QDQ_TRY(qdq_goal_time_share(g, g->first, NULL, &g->tried.at[0].time_fraction, err));
    g->block->steps.at[0].time_fraction =
        g->tried.at[0].time_fraction; /* a profile may be there now */
    QDQ_TRY(make_room(g, err));
    QDQ_TRY(search(g, &trials, &form, err));
    r->layers = g->layers;
    r->n_layers = g->n_layers;
    QDQ_TRY(take(g, form, plan, out, err));
    if (r->is_profiled || g->clock.until > 0)
        QDQ_TRY(qdq_goal_record_times(g, trials, *plan, err));
    qdq_goal_sort_layers(g);
    return QDQ_OK;
}

/* --- the first plan --------------------------------------------------------------------------- */

/* A search is compared with calibration and a evaluation on one sample in eight. */
static void set_limit(qdq_goal_run *g)
{
    const qdq_goal_seconds *s = &g->block->head.seconds;
    const double share = g->first->n_folds > 0 ? 0.2 : 1;

    if (g->goal.times != NULL)
        return;
    if (g->goal.limit_s != 0)
        g->clock.until = g->clock.begun + fmax(g->goal.limit_s, 0);
    else if (g->goal.max_slowdown > 0)
        g->clock.until =
            g->clock.begun + g->goal.max_slowdown * (s->calibration + share * s->evaluation);
    g->block->head.limit_s = g->clock.until > 0 ? g->clock.until - g->clock.begun : 0;
}

/* What a goal would try with samples. */
static void warn_of_statistics(const qdq_goal_run *g)
{
    const bool corrects = g->opts.bias_correction == QDQ_BIAS_CORRECTION_AUTO ||
                          g->opts.float_channels == QDQ_FLOAT_CHANNELS_AUTO ||
                          g->opts.smooth == QDQ_SMOOTH_AUTO;

    if (g->statistics != NULL)
        qdq_job_log(g->opts.job, QDQ_LOG_WARNING,
                    "%s: statistics without samples: no cross-validation%s", g->opts.cache,
                    corrects ? ", no correction of biases, no float channels and no smoothing"
                             : "");
}

/* A list of names that outlives the plan which it was made for. */
static qdq_status keep_list(qdq_goal_run *g, const char *const **list, qdq_error *err)
{
    size_t n = 0;

    if (*list == NULL)
        return QDQ_OK;
    while ((*list)[n] != NULL)
        n++;
    const char **kept = qdq_arena_array(&g->arena, n + 1, sizeof *kept);
    QDQ_NEED(kept != NULL, err);
    for (size_t i = 0; i < n; i++) {
        kept[i] = qdq_arena_strdup(&g->arena, (*list)[i]);
        QDQ_NEED(kept[i] != NULL, err);
    }
    kept[n] = NULL;
    *list = kept;
    return QDQ_OK;
}

static qdq_status make_first(qdq_goal_run *g, qdq_error *err)
{
    qdq_goal_seconds *to = &g->block->head.seconds;

    g->clock.begun = qdq_clock_seconds();
    g->first = qdq_plan_new();
    QDQ_NEED(g->first != NULL, err);
    QDQ_TRY(qdq_quantize_begin(g->m, g->target, &g->opts, g->first, &g->clean, err));
    /* a variant may take the place of g->first */
    QDQ_TRY(keep_list(g, &g->opts.exclude, err));
    QDQ_TRY(keep_list(g, &g->opts.include, err));
    qdq_quantizing q = qdq_goal_quantizing(g, &g->opts, g->first);
    QDQ_TRY(qdq_statistics_open(&q, g->requested, &g->statistics, err));
    warn_of_statistics(g);
    QDQ_TRY(qdq_quantize_first_plan(&q, g->clean, err));
    const double planned = qdq_clock_seconds();
    to->calibration = planned - g->clock.begun;
    QDQ_TRY(qdq_goal_evaluate(g, g->first, NULL, &g->first_trial, err));
    to->evaluation = qdq_clock_seconds() - planned;
    const qdq_compare_result *r = g->tried.at[0].compared;
    const double runs = r != NULL ? 2 * (double)(r->samples * qdq_data_steps(qdq_goal_data(g))) : 0;
    g->clock.run_s = runs > 0 ? to->evaluation / runs : 0;
    g->block->head.is_cross_validated = g->first->n_folds > 0;
    set_limit(g);
    return QDQ_OK;
}

static bool has_kept(const qdq_plan *p)
{
    for (size_t i = 0; i < p->quantized.n; i++)
        if (p->quantized.at[i].preserved)
            return true;
    return false;
}

/* Layers that got such data first may have gone back to float. */
static bool has_recurrent(const qdq_goal_run *g, const qdq_plan *p)
{
    for (size_t i = 0; i < p->quantized.n; i++) {
        const qdq_target_op *op = qdq_target_find(g->target, p->quantized.at[i].op);

        if (op != NULL && op->kind == QDQ_KIND_RECURRENT)
            return true;
    }
    return false;
}

static bool can_search(const qdq_goal_run *g)
{
    const double sqnr = g->block->steps.at[0].sqnr_db;

    if (g->goal.by_default && (g->first->tensors.n == 0 || has_kept(g->first)))
        return false; /* weights alone, or what the model brought: the user's choice */
    if (qdq_goal_is_beyond_reach(g))
        return false;
    return !g->first_trial.holds && !isnan(sqnr); /* zero everywhere: no plan changes that */
}

/* Is a search worth while, or does the engine compute the model wrongly? */
static qdq_status ask_hook(qdq_goal_run *g, bool *search, qdq_error *err)
{
    qdq_model *first = NULL;

    if (!*search || g->hook.missed == NULL)
        return QDQ_OK;
    QDQ_TRY(qdq_goal_apply(g, g->first, &first, err));
    const qdq_status st = g->hook.missed(g->hook.ctx, first, search, err);
    qdq_model_free(first);
    return st;
}

/* --- all of it -------------------------------------------------------------------------------- */

/* The whole plan in other ways; *missed: no way reaches the goal, and layers may. */
static qdq_status try_other_ways(qdq_goal_run *g, bool *missed, qdq_error *err)
{
    const double begun = qdq_clock_seconds();

    if (!has_kept(g->first)) { /* what the model brought is the user's choice */
        QDQ_TRY(qdq_goal_try_recurrent(g, err));
        *missed = *missed && can_search(g);
    }
    if (*missed)
        QDQ_TRY(qdq_goal_try_variants(g, err));
    /* layers may have been measured for a variant */
    g->block->head.seconds.trials = qdq_clock_seconds() - begun - g->block->head.seconds.layers;
    return QDQ_OK;
}

static qdq_status search_for_goal(qdq_goal_run *g, qdq_plan **plan, qdq_model **out, qdq_error *err)
{
    qdq_goal_result *r = &g->block->head;

    QDQ_TRY(qdq_goal_check_times(g, err));
    QDQ_TRY(qdq_goal_measure_input(g, err));
    QDQ_TRY(make_first(g, err));
    bool missed = can_search(g);
    QDQ_TRY(ask_hook(g, &missed, err));
    QDQ_TRY(qdq_goal_list_forms(g, err));
    QDQ_TRY(try_other_ways(g, &missed, err));
    r->reached = g->first_trial.holds;
    /* what reaches a default goal must be faster, too */
    if (missed && (!r->reached || g->goal.by_default))
        QDQ_TRY(take_layers_back(g, plan, out, err));
    else {
        QDQ_TRY(qdq_goal_apply(g, g->first, out, err));
        *plan = g->first;
        g->first = NULL;
        r->compared = g->tried.at[0].compared;
        r->metric = g->tried.at[0].metric;
    }
    r->has_recurrent = r->has_recurrent && has_recurrent(g, *plan);
    if (r->reached)
        g->block->why[0] = '\0';
    r->steps = g->block->steps.at;
    r->n_steps = g->block->steps.n;
    return qdq_why_conclude(g->opts.why, g->clean, *plan, err);
}

/* --- the interface ---------------------------------------------------------------------------- */

static qdq_status check(const qdq_data *data, const qdq_goal_opts *how, bool rounds, qdq_error *err)
{
    if (data == NULL && how->eval == NULL)
        return qdq_fail(err, QDQ_E_USAGE, "a goal without data: found nothing to evaluate on");
    if (!(how->min_agreement >= 0 && how->min_agreement <= 1))
        return qdq_fail(err, QDQ_E_USAGE, "min_agreement: found %g, expected 0 to 1",
                        how->min_agreement);
    return qdq_goal_check_folds(data, how, rounds, err);
}

static void put_away(qdq_goal_run *g)
{
    for (size_t i = 0; i < g->tried.n; i++)
        if (g->block == NULL || g->tried.at[i].compared != g->block->head.compared)
            qdq_free(g->tried.at[i].compared);
    qdq_plan_free(g->first);
    qdq_model_free(g->clean);
    qdq_statistics_free(g->statistics);
    qdq_scales_free(&g->scales);
    qdq_seen_free(&g->seen);
    qdq_recorded_free(&g->recorded);
    qdq_insert_cache_free(&g->codes);
    qdq_reference_outputs_free(&g->reference_outputs);
    qdq_arena_free(&g->arena);
}

qdq_status qdq_quantize_goal_hooked(const qdq_goal_call *c, qdq_plan **plan, qdq_model **out,
                                    qdq_goal_result **result_out, qdq_error *err)
{
    qdq_data *data = c->data;
    qdq_goal_run g = {.m = c->m,
                      .requested = c->t,
                      .engine = c->e,
                      .data = data,
                      .opts = QDQ_QUANTIZE_OPTS_INIT,
                      .goal = QDQ_GOAL_OPTS_INIT,
                      .hook = c->hook,
                      .arena = QDQ_ARENA_INIT};

    *plan = NULL;
    *out = NULL;
    *result_out = NULL;
    QDQ_TRY(qdq_opts_read("qdq_quantize_opts", &g.opts, sizeof g.opts, c->opts, err));
    QDQ_TRY(qdq_opts_read("qdq_goal_opts", &g.goal, sizeof g.goal, c->how, err));
    QDQ_TRY(qdq_metric_check(&g.goal, &g.metric, err));
    QDQ_TRY(check(data, &g.goal, qdq_target_rounds_by_samples(c->t), err));
    QDQ_TRY(qdq_data_warn_of_sameness(data, g.opts.job, err));
    QDQ_TRY(qdq_data_warn_of_sameness(g.goal.eval, g.opts.job, err));
    if (g.goal.by_default)
        g.goal.min_sqnr = QDQ_DEFAULT_MIN_SQNR;
    g.reference_outputs.limit = g.opts.memory != 0 ? g.opts.memory : KEPT_BYTES;
    g.quiet = qdq_job_copy(g.opts.job);
    g.quiet.log = NULL;
    if (c->e != NULL)
        snprintf(g.clock.processor, sizeof g.clock.processor, "%s", qdq_engine_processor(c->e));
    else
        qdq_processor_name(g.clock.processor, sizeof g.clock.processor);
    g.block = calloc(1, sizeof *g.block);
    QDQ_NEED(g.block != NULL, err);
    g.block->head.why = g.block->why;
    qdq_target *own = NULL;
    qdq_status st = qdq_target_fit(c->m, c->t, g.opts.cpu, g.opts.job, &own, err);
    g.target = own != NULL ? own : c->t;
    if (st == QDQ_OK)
        st = search_for_goal(&g, plan, out, err);
    qdq_target_free(own);
    put_away(&g);
    if (st != QDQ_OK) {
        qdq_plan_free(*plan);
        qdq_model_free(*out);
        qdq_goal_result_free(&g.block->head);
        *plan = NULL;
        *out = NULL;
        return st;
    }
    *result_out = &g.block->head;
    return QDQ_OK;
}

qdq_status qdq_quantize_goal(const qdq_model *m, const qdq_target *t, qdq_engine *e, qdq_data *data,
                             const qdq_quantize_opts *opts, const qdq_goal_opts *how,
                             qdq_plan **plan, qdq_model **out, qdq_goal_result **result_out,
                             qdq_error *err)
{
    const qdq_goal_call c = {.m = m, .t = t, .e = e, .data = data, .opts = opts, .how = how};

    return qdq_quantize_goal_hooked(&c, plan, out, result_out, err);
}

void qdq_goal_result_free(qdq_goal_result *r)
{
    qdq_goal_room *room = (qdq_goal_room *)(void *)r; /* its first member */

    if (room == NULL)
        return;
    qdq_free(r->compared);
    qdq_arena_free(&room->arena);
    free(room);
}
