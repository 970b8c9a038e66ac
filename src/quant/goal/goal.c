/* goal.c - quantization under a goal: what a plan without some layers is, how good it is, and what the layers cost. In
 * which order layers go is goal_search.c. */
#include "qdq/goal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "quant/compare/harm.h"
#include "quant/compare/kept.h"
#include "quant/goal/goal_search.h"
#include "quant/goal/node_cost.h"
#include "quant/place/why.h"
#include "quant/quantize_steps.h"
#include "quant/rest/rest.h"

#define KEPT_BYTES ((uint64_t)256 << 20) /* of outputs of the float model, as of activations in calibration */

enum { MAX_EVALUATIONS = 16, SAMPLES_FOR_LAYERS = 8 };

/* Room of its own, so that the caller frees one thing. */
typedef struct result {
    qdq_goal_result head;
    qdq_arena arena;
    QDQ_VEC(qdq_goal_step) steps;
} result;

typedef struct goal {
    const qdq_model *m;
    const qdq_target *target;
    qdq_engine *engine;
    qdq_data *data;
    qdq_quantize_opts opts;
    qdq_goal_opts goal;
    result *result;
    qdq_arena arena;
    qdq_model *clean;
    qdq_plan *first;   /* with everything in 8 bits that the rules allow */
    qdq_scales scales; /* of all plans so far */
    qdq_kept kept;     /* what the float model gave in the first trial */
    qdq_goal_layer *layers;
    qdq_goal_item *items;
    size_t n_layers;
    const char **exclude; /* the caller's, and room for the layers */
    size_t n_exclude;
    qdq_job quiet;    /* what the first plan said, no other one says again */
    bool known_first; /* the first trial was made already */
    qdq_goal_trial first_trial;
} goal;

/* --- a plan, and what it is worth ----------------------------------------------------------------------------------- */

static void give_reasons(qdq_plan *p, const bool *gone, qdq_map *labels)
{
    for (size_t i = 0; i < p->left_float.n; i++) {
        const qdq_map_value *v = qdq_map_get(labels, p->left_float.at[i].node);

        if (v != NULL && gone[v->num])
            p->left_float.at[i].reason = "back to float for the goal";
    }
}

/* The caller's exclusions and the layers that go. */
static qdq_status list_exclusions(goal *g, const bool *gone, qdq_map *labels, qdq_error *err)
{
    size_t n = g->n_exclude;

    for (size_t i = 0; i < g->n_layers; i++) {
        qdq_map_value *v;
        char *text;

        if (!gone[i])
            continue;
        v = qdq_map_put(labels, g->layers[i].node, NULL);
        text = qdq_arena_printf(&g->arena, "=%s", g->layers[i].node);
        if (v == NULL || text == NULL)
            return qdq_nomem(err);
        v->num = i;
        g->exclude[n++] = text;
    }
    g->exclude[n] = NULL;
    return QDQ_OK;
}

static qdq_status fill_plan(goal *g, const bool *gone, qdq_map *labels, qdq_plan *p, qdq_error *err)
{
    const qdq_plan_basis basis = {.known = &g->scales};
    qdq_quantize_opts opts = g->opts;

    QDQ_TRY(qdq_quantize_again(g->first, p, err));
    QDQ_TRY(list_exclusions(g, gone, labels, err));
    opts.exclude = g->exclude;
    opts.job = &g->quiet;
    opts.why = NULL;
    QDQ_TRY(qdq_quantize_plan(g->clean, g->target, g->engine, g->data, &opts, &basis, p, err));
    give_reasons(p, gone, labels);
    return qdq_plan_finish(p) ? QDQ_OK : qdq_nomem(err);
}

/* The plan without the layers that go. */
static qdq_status make_plan(goal *g, const bool *gone, qdq_plan **out, qdq_error *err)
{
    qdq_map labels = QDQ_MAP_INIT;
    qdq_plan *p = qdq_plan_new();
    qdq_status st = p != NULL ? fill_plan(g, gone, &labels, p, err) : qdq_nomem(err);

    qdq_map_free(&labels);
    if (st != QDQ_OK) {
        qdq_plan_free(p);
        p = NULL;
    }
    *out = p;
    return st;
}

static qdq_status apply(const goal *g, const qdq_plan *p, qdq_model **out, qdq_error *err)
{
    QDQ_TRY(qdq_model_clone(g->clean, out, err));
    qdq_status st = qdq_quantize_finish(*out, p, &g->quiet, err);
    if (st != QDQ_OK) {
        qdq_model_free(*out);
        *out = NULL;
    }
    return st;
}

static qdq_data *judging_data(const goal *g)
{
    return g->goal.eval != NULL ? g->goal.eval : g->data;
}

static void compare_opts(const goal *g, qdq_compare_opts *o)
{
    o->threads = g->opts.threads;
    o->shapes = g->opts.shapes;
    o->n_shapes = g->opts.n_shapes;
    o->first = g->goal.first;
    o->count = g->goal.count;
    o->job = g->opts.job;
}

/* --- the goal ------------------------------------------------------------------------------------------------------- */

/* What the goal is asked of: the worst slice of all outputs on these samples. */
static double judged_sqnr(const qdq_compare_result *r)
{
    return r->worst_db;
}

/* How far the result is from the goal, and in words what is missing. */
static qdq_status judge(goal *g, const qdq_compare_result *r, qdq_goal_step *step, qdq_goal_trial *out,
                        qdq_error *err)
{
    qdq_goal_result *to = &g->result->head;
    double drop = r->accuracy_a - r->accuracy_b;
    const qdq_compare_tensor *worst = &r->outputs[r->worst];
    char place[80];

    step->sqnr_db = judged_sqnr(r);
    step->accuracy = r->accuracy_b;
    to->float_accuracy = r->accuracy_a;
    *out = (qdq_goal_trial){.holds = true, .excess = NAN};
    if (g->goal.max_drop >= 0 && isnan(drop))
        return qdq_fail(
            err, QDQ_E_USAGE,
            "output '%s': found no accuracy, expected labels for an output with two classes or more",
            r->outputs[0].name);
    if (g->goal.max_drop >= 0 && drop > g->goal.max_drop + 1e-9) {
        out->holds = false;
        snprintf(to->why, sizeof to->why,
                 "accuracy: found %.4f, %.2f points below float, expected at most %g", r->accuracy_b,
                 drop * 100, g->goal.max_drop * 100);
    }
    if (g->goal.min_sqnr == 0 || step->sqnr_db >= g->goal.min_sqnr)
        return QDQ_OK;
    if (out->holds)
        out->excess = pow(10, (g->goal.min_sqnr - step->sqnr_db) / 10);
    out->holds = false;
    if (!isfinite(out->excess))
        out->excess = NAN;
    if (worst->other_shape)
        snprintf(to->why, sizeof to->why, "output '%s': its shape depends on data, and is not that of float",
                 worst->name);
    else if (isnan(step->sqnr_db))
        snprintf(to->why, sizeof to->why,
                 "output '%s': zero everywhere or not finite, it has no SQNR, expected at least %g dB",
                 worst->name, g->goal.min_sqnr);
    else
        snprintf(to->why, sizeof to->why, "output '%s'%s: found SQNR %.2f dB, expected at least %g dB",
                 worst->name, qdq_compare_place(worst, place, sizeof place), step->sqnr_db, g->goal.min_sqnr);
    return QDQ_OK;
}

static qdq_status evaluate(goal *g, const qdq_plan *p, const qdq_model *quantized, size_t n_gone,
                           qdq_goal_trial *out, qdq_error *err)
{
    qdq_compare_opts o = QDQ_COMPARE_OPTS_INIT;
    qdq_compare_result *r = NULL;
    qdq_goal_step step = {.n_float = n_gone};
    double time, float_time;

    compare_opts(g, &o);
    QDQ_TRY(qdq_plan_time(g->clean, p, &time, &float_time, err));
    step.time_share = float_time > 0 ? time / float_time : 1;
    QDQ_TRY(qdq_compare_keeping(g->engine, g->m, quantized, judging_data(g), &o, &g->kept, &r, err));
    if (g->kept.is_over && g->result->steps.n == 0)
        qdq_job_log(g->opts.job, QDQ_LOG_INFO,
                    "outputs of the float model are more than %" PRIu64
                    " MiB: it runs again for each trial (--memory)",
                    g->kept.limit >> 20);
    qdq_status st = judge(g, r, &step, out, err);
    qdq_free(r);
    step.holds = out->holds;
    if (st == QDQ_OK && !QDQ_PUSH(&g->result->arena, &g->result->steps, step))
        st = qdq_nomem(err);
    qdq_job_progress(g->opts.job, "goal", g->result->steps.n, 0);
    return st;
}

static qdq_status try_without(void *ctx, const bool *gone, size_t n_gone, qdq_goal_trial *out, qdq_error *err)
{
    goal *g = ctx;
    qdq_model *quantized = NULL;
    qdq_plan *p = NULL;

    if (n_gone == 0 && g->known_first) {
        *out = g->first_trial;
        return QDQ_OK;
    }
    QDQ_TRY(make_plan(g, gone, &p, err));
    qdq_status st = apply(g, p, &quantized, err);
    if (st == QDQ_OK)
        st = evaluate(g, p, quantized, n_gone, out, err);
    qdq_model_free(quantized);
    qdq_plan_free(p);
    return st;
}

/* --- the layers ----------------------------------------------------------------------------------------------------- */

/* Moving data saves nothing by itself: what only passes codes on goes with its neighbours. */
static bool is_candidate(const goal *g, const qdq_plan_node *n)
{
    const qdq_target_op *op = qdq_target_find(g->target, n->op);

    return !n->kept && (op == NULL || op->kind != QDQ_KIND_PASS);
}

/* Who is a layer that can go, by node id: index + 1. */
typedef struct ranking {
    goal *g;
    const qdq_compare_layers_result *found;
    size_t *layer;
} ranking;

static qdq_status add_layer(ranking *k, const qdq_plan_node *p, const qdq_node *n, double float_time,
                            qdq_error *err)
{
    goal *g = k->g;
    qdq_goal_layer *to = &g->layers[g->n_layers];
    double saved = qdq_node_time(n, false) - qdq_node_time(n, true);

    to->node = qdq_arena_strdup(&g->result->arena, p->node);
    to->op = qdq_arena_strdup(&g->result->arena, p->op);
    to->saved_share = float_time > 0 ? saved / float_time : 0;
    if (to->node == NULL || to->op == NULL)
        return qdq_nomem(err);
    g->items[g->n_layers++].worth = saved > 0 ? saved : 0;
    k->layer[n->id] = g->n_layers;
    return QDQ_OK;
}

static qdq_status list_layers(ranking *k, const qdq_map *by_label, double float_time, qdq_error *err)
{
    goal *g = k->g;
    size_t most = g->first->quantized.n;

    g->layers = qdq_arena_array(&g->result->arena, most + 1, sizeof *g->layers);
    g->items = qdq_arena_array(&g->arena, most + 1, sizeof *g->items);
    if (g->layers == NULL || g->items == NULL)
        return qdq_nomem(err);
    for (size_t i = 0; i < most; i++) {
        const qdq_plan_node *p = &g->first->quantized.at[i];
        const qdq_map_value *v = qdq_map_get(by_label, p->node);

        if (v != NULL && is_candidate(g, p))
            QDQ_TRY(add_layer(k, p, v->ptr, float_time, err));
    }
    return QDQ_OK;
}

/* What a layer introduces counts by its influence. */
static qdq_status rank(ranking *k, const qdq_map *by_label, double float_time, qdq_error *err)
{
    goal *g = k->g;
    const size_t n = (size_t)g->clean->graph->next_node_id + 1;
    double *harm = qdq_arena_array(&g->arena, n, sizeof *harm),
           *error = qdq_arena_array(&g->arena, n, sizeof *error);
    bool *is_layer = qdq_arena_array(&g->arena, n, sizeof *is_layer);

    k->layer = qdq_arena_array(&g->arena, n, sizeof *k->layer);
    if (harm == NULL || error == NULL || is_layer == NULL || k->layer == NULL)
        return qdq_nomem(err);
    QDQ_TRY(list_layers(k, by_label, float_time, err));
    for (size_t i = 0; i < n; i++)
        is_layer[i] = k->layer[i] > 0;
    QDQ_TRY(qdq_harm_of_layers(g->clean->graph, k->found, is_layer, harm, error, err));
    for (size_t i = 0; i < n; i++)
        if (is_layer[i]) {
            g->items[k->layer[i] - 1].harm = harm[i];
            g->layers[k->layer[i] - 1].error = error[i];
        }
    return QDQ_OK;
}

static qdq_status rank_layers(goal *g, const qdq_model *quantized, qdq_error *err)
{
    qdq_compare_opts o = QDQ_COMPARE_OPTS_INIT;
    qdq_compare_layers_result *r = NULL;
    qdq_map by_label = QDQ_MAP_INIT;
    double time, float_time = 0;

    compare_opts(g, &o);
    size_t have = qdq_data_count(judging_data(g)) - o.first;
    if (o.count == 0 || o.count > SAMPLES_FOR_LAYERS)
        o.count = have < SAMPLES_FOR_LAYERS ? have : SAMPLES_FOR_LAYERS;
    QDQ_TRY(qdq_plan_time(g->clean, g->first, &time, &float_time, err));
    QDQ_TRY(qdq_compare_layers(g->engine, g->clean, quantized, judging_data(g), &o, &r, err));
    ranking k = {.g = g, .found = r};
    qdq_status st = qdq_graph_map_labels(g->clean->graph, &g->arena, &by_label) ? QDQ_OK : qdq_nomem(err);
    if (st == QDQ_OK)
        st = rank(&k, &by_label, float_time, err);
    qdq_free(r);
    qdq_map_free(&by_label);
    return st;
}

/* --- the way --------------------------------------------------------------------------------------------------------- */

static qdq_status make_room(goal *g, qdq_error *err)
{
    const char *const *given = g->opts.exclude;

    while (given != NULL && given[g->n_exclude] != NULL)
        g->n_exclude++;
    g->exclude = qdq_arena_array(&g->arena, g->n_exclude + g->n_layers + 1, sizeof *g->exclude);
    if (g->exclude == NULL)
        return qdq_nomem(err);
    for (size_t i = 0; i < g->n_exclude; i++)
        g->exclude[i] = given[i];
    return QDQ_OK;
}

static int by_rank(const void *a, const void *b)
{
    const qdq_goal_layer *x = a, *y = b;
    double rx = x->error / (x->saved_share + 1e-9), ry = y->error / (y->saved_share + 1e-9);

    return rx != ry ? (rx < ry ? 1 : -1) : strcmp(x->node, y->node);
}

/* Without some layers; *plan and *out become what the search ends with. */
static qdq_status take_layers_back(goal *g, qdq_plan **plan, qdq_model **out, qdq_error *err)
{
    qdq_goal_result *r = &g->result->head;
    unsigned most = g->goal.max_evaluations > 0 ? g->goal.max_evaluations : MAX_EVALUATIONS;
    qdq_goal_search_result found;
    qdq_plan *p = NULL;

    QDQ_TRY(rank_layers(g, *out, err));
    QDQ_TRY(make_room(g, err));
    QDQ_TRY(qdq_goal_search(g->items, g->n_layers, most, try_without, g, &g->arena, &found, err));
    r->reached = found.reached;
    for (size_t i = 0; i < g->n_layers; i++)
        g->layers[i].is_float = found.gone[i];
    QDQ_TRY(make_plan(g, found.gone, &p, err));
    qdq_model_free(*out);
    *out = NULL;
    qdq_plan_free(g->first);
    g->first = NULL;
    *plan = p;
    QDQ_TRY(apply(g, p, out, err));
    r->layers = g->layers;
    r->n_layers = g->n_layers;
    if (r->n_layers > 1)
        qsort(r->layers, r->n_layers, sizeof *r->layers, by_rank);
    return QDQ_OK;
}

static qdq_status run(goal *g, qdq_plan **plan, qdq_model **out, qdq_error *err)
{
    const qdq_plan_basis basis = {.known = &g->scales};
    qdq_goal_result *r = &g->result->head;

    g->first = qdq_plan_new();
    if (g->first == NULL)
        return qdq_nomem(err);
    QDQ_TRY(qdq_quantize_begin(g->m, g->target, &g->opts, g->first, &g->clean, err));
    QDQ_TRY(qdq_quantize_plan(g->clean, g->target, g->engine, g->data, &g->opts, &basis, g->first, err));
    QDQ_TRY(apply(g, g->first, out, err));
    QDQ_TRY(evaluate(g, g->first, *out, 0, &g->first_trial, err));
    g->known_first = true;
    r->reached = g->first_trial.holds;
    if (!r->reached && !isnan(g->result->steps.at[0].sqnr_db)) /* zero everywhere: no plan changes that */
        QDQ_TRY(take_layers_back(g, plan, out, err));
    if (*plan == NULL) {
        *plan = g->first;
        g->first = NULL;
    }
    if (r->reached)
        r->why[0] = '\0';
    r->steps = g->result->steps.at;
    r->n_steps = g->result->steps.n;
    return qdq_why_conclude(g->opts.why, g->clean, *plan, err);
}

qdq_status qdq_quantize_goal(const qdq_model *m, const qdq_target *t, qdq_engine *e, qdq_data *data,
                             const qdq_quantize_opts *opts, const qdq_goal_opts *how, qdq_plan **plan,
                             qdq_model **out, qdq_goal_result **result_out, qdq_error *err)
{
    static const qdq_quantize_opts defaults = QDQ_QUANTIZE_OPTS_INIT;
    goal g = {.m = m, .target = t, .engine = e, .data = data, .goal = *how, .arena = QDQ_ARENA_INIT};

    *plan = NULL;
    *out = NULL;
    *result_out = NULL;
    g.opts = opts != NULL ? *opts : defaults;
    g.kept.limit = g.opts.memory != 0 ? g.opts.memory : KEPT_BYTES;
    if (data == NULL && how->eval == NULL)
        return qdq_fail(err, QDQ_E_USAGE, "a goal without data: found nothing to judge on");
    if (g.opts.job != NULL)
        g.quiet = *g.opts.job;
    g.quiet.log = NULL;
    g.result = calloc(1, sizeof *g.result);
    if (g.result == NULL)
        return qdq_nomem(err);
    qdq_target *own = NULL;
    qdq_status st = qdq_rest_follow(m, t, g.opts.job, &own, err);
    g.target = own != NULL ? own : t;
    if (st == QDQ_OK)
        st = run(&g, plan, out, err);
    qdq_target_free(own);
    qdq_plan_free(g.first);
    qdq_model_free(g.clean);
    qdq_scales_free(&g.scales);
    qdq_kept_free(&g.kept);
    qdq_arena_free(&g.arena);
    if (st != QDQ_OK) {
        qdq_plan_free(*plan);
        qdq_model_free(*out);
        qdq_goal_result_free(&g.result->head);
        *plan = NULL;
        *out = NULL;
        return st;
    }
    *result_out = &g.result->head;
    return QDQ_OK;
}

void qdq_goal_result_free(qdq_goal_result *r)
{
    result *whole = (result *)(void *)r; /* its first member */

    if (whole == NULL)
        return;
    qdq_arena_free(&whole->arena);
    free(whole);
}
