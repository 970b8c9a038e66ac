/* goal_layers.c - the layers that can go back to float: what each of them loses, and what time it
 * saves. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fail.h"
#include "ir/ir.h"
#include "quant/compare/layer_sensitivity.h"
#include "quant/data/data_source.h"
#include "quant/goal/goal_state.h"
#include "quant/goal/goal_times.h"
#include "quant/goal/node_cost.h"
#include "target/target.h"

enum { SAMPLES_FOR_LAYERS = 2 };

/* Of the float model's time: what saves less is as good as what saves nothing, and a clock cannot
 * tell them apart. */
static const double least_expected_bound = 0.002;

/* Moving data saves nothing by itself: what only passes codes on goes with its neighbours. */
static bool is_candidate(const qdq_goal_run *g, const qdq_plan_node *n)
{
    const qdq_target_op *op = qdq_target_find(g->target, n->op);

    return !n->preserved && (op == NULL || op->kind != QDQ_KIND_PASS);
}

/* Who is a layer that can go, by node id: index + 1. */
typedef struct ranking {
    qdq_goal_run *g;
    const qdq_map *by_label;
    size_t *layer;
} ranking;

static qdq_status add_layer(ranking *k, const qdq_plan_node *p, const qdq_node *n,
                            double float_time, qdq_error *err)
{
    qdq_goal_run *g = k->g;
    qdq_goal_layer *to = &g->layers[g->n_layers];
    const double saved = n != NULL ? qdq_node_time(n, false) - qdq_node_time(n, true) : 0;

    to->node = qdq_arena_strdup(&g->block->arena, p->node);
    to->op = qdq_arena_strdup(&g->block->arena, p->op);
    to->saved_fraction = float_time > 0 ? saved / float_time : 0;
    QDQ_NEED(to->node != NULL && to->op != NULL, err);
    g->n_layers++;
    g->nodes[g->n_layers - 1] = n;
    if (n != NULL)
        k->layer[n->id] = g->n_layers;
    else { /* of a body: nothing shows what it loses */
        g->items[g->n_layers - 1].sensitivity = 1;
        to->error = NAN;
    }
    return QDQ_OK;
}

static qdq_status list_layers(ranking *k, qdq_error *err)
{
    qdq_goal_run *g = k->g;
    size_t most = g->first->quantized.n;
    double time, float_time = 0;

    g->n_layers = 0;
    g->layers = qdq_arena_array(&g->block->arena, most + 1, sizeof *g->layers);
    g->items = qdq_arena_array(&g->arena, most + 1, sizeof *g->items);
    k->layer =
        qdq_arena_array(&g->arena, (size_t)g->clean->graph->next_node_id + 1, sizeof *k->layer);
    g->nodes = qdq_arena_array(&g->arena, most + 1, sizeof *g->nodes);
    QDQ_NEED(g->layers != NULL && g->items != NULL && g->nodes != NULL && k->layer != NULL, err);
    QDQ_TRY(qdq_plan_time(g->clean, g->first, &time, &float_time, err));
    for (size_t i = 0; i < most; i++) {
        const qdq_plan_node *p = &g->first->quantized.at[i];
        if (is_candidate(g, p))
            QDQ_TRY(add_layer(k, p, qdq_map_get_ptr(k->by_label, p->node), float_time, err));
    }
    return QDQ_OK;
}

/* What a layer introduces counts by its influence. */
static qdq_status charge(ranking *k, const qdq_compare_layers_result *found, qdq_error *err)
{
    qdq_goal_run *g = k->g;
    const size_t n = (size_t)g->clean->graph->next_node_id + 1;
    double *sensitivity = qdq_arena_array(&g->arena, n, sizeof *sensitivity),
           *error = qdq_arena_array(&g->arena, n, sizeof *error);
    bool *is_layer = qdq_arena_array(&g->arena, n, sizeof *is_layer);

    QDQ_NEED(sensitivity != NULL && error != NULL && is_layer != NULL, err);
    for (size_t i = 0; i < n; i++)
        is_layer[i] = k->layer[i] > 0;
    QDQ_TRY(qdq_sensitivity_of_layers(g->clean->graph, found, is_layer, sensitivity, error, err));
    for (size_t i = 0; i < n; i++)
        if (is_layer[i]) {
            g->items[k->layer[i] - 1].sensitivity = sensitivity[i];
            g->layers[k->layer[i] - 1].error = error[i];
        }
    return QDQ_OK;
}

static qdq_status compare_layers(ranking *k, const qdq_model *quantized, size_t first, size_t count,
                                 qdq_error *err)
{
    qdq_goal_run *g = k->g;
    qdq_compare_opts o = qdq_goal_compare_opts(g);
    qdq_compare_layers_result *r = NULL;

    o.first = first;
    o.count = count > SAMPLES_FOR_LAYERS ? SAMPLES_FOR_LAYERS : count;
    QDQ_TRY(qdq_compare_layers(g->engine, g->clean, quantized, qdq_goal_data(g), &o, &r, err));
    qdq_status st = charge(k, r, err);
    qdq_free(r);
    return st;
}

/* Where there are folds, by the ranges and on the samples of the worst one: what they clip is lost
 * in no other. */
static qdq_status compare_worst(ranking *k, qdq_error *err)
{
    qdq_goal_run *g = k->g;
    const bool has_folds = g->first->n_folds > 0;
    const size_t first = has_folds ? qdq_goal_fold_first(g, g->worst_fold) : g->goal.first;
    size_t count = has_folds ? qdq_goal_fold_first(g, g->worst_fold + 1) - first : g->goal.count;
    qdq_model *m = NULL;

    if (count == 0)
        count = qdq_data_count(qdq_goal_data(g)) - first;
    if (has_folds)
        qdq_plan_swap_fold(g->first, g->worst_fold);
    qdq_status st = qdq_goal_apply(g, g->first, &m, err);
    if (has_folds)
        qdq_plan_swap_fold(g->first, g->worst_fold);
    if (st == QDQ_OK)
        st = compare_layers(k, m, first, count, err);
    qdq_model_free(m);
    return st;
}

/* Where layers cannot be compared, those that save least go first. */
static void assume_errors(qdq_goal_run *g)
{
    for (size_t i = 0; i < g->n_layers; i++) {
        g->items[i].sensitivity = 1;
        g->layers[i].error = NAN;
    }
}

static qdq_status measure_errors(qdq_goal_run *g, qdq_error *err)
{
    qdq_map by_label = QDQ_MAP_INIT;
    ranking k = {.g = g, .by_label = &by_label};
    qdq_status st = qdq_allocated(qdq_graph_map_labels(g->clean->graph, &g->arena, &by_label), err);

    if (st == QDQ_OK)
        st = list_layers(&k, err);
    if (st == QDQ_OK && g->first_trial.holds)
        assume_errors(g); /* no layer has to go */
    else if (st == QDQ_OK)
        st = compare_worst(&k, err);
    if ((st == QDQ_E_ENGINE || st == QDQ_E_UNSUPPORTED) && !qdq_data_has_failed(qdq_goal_data(g))) {
        *err = (qdq_error)QDQ_ERROR_INIT;
        assume_errors(g);
        st = QDQ_OK;
    }
    qdq_map_free(&by_label);
    return st;
}

qdq_status qdq_goal_measure_errors(qdq_goal_run *g, qdq_error *err)
{
    const double begun = qdq_clock_seconds();

    if (g->measured == g->first)
        return QDQ_OK;
    QDQ_TRY(measure_errors(g, err));
    g->measured = g->first;
    g->block->head.seconds.layers += qdq_clock_seconds() - begun;
    return QDQ_OK;
}

static qdq_status take_times(qdq_goal_run *g, qdq_error *err)
{
    qdq_map by_label = QDQ_MAP_INIT;
    qdq_model *quantized = NULL;
    qdq_status st = qdq_goal_apply(g, g->first, &quantized, err);

    if (st == QDQ_OK)
        st = qdq_allocated(qdq_graph_map_labels(g->clean->graph, &g->arena, &by_label), err);
    if (st == QDQ_OK)
        st = qdq_goal_take_times(g, quantized, &by_label, err);
    qdq_map_free(&by_label);
    qdq_model_free(quantized);
    return st;
}

qdq_status qdq_goal_rank(qdq_goal_run *g, qdq_error *err)
{
    QDQ_TRY(qdq_goal_measure_errors(g, err));
    const double measured = qdq_clock_seconds();
    QDQ_TRY(take_times(g, err));
    g->block->head.seconds.profile = qdq_clock_seconds() - measured;
    for (size_t i = 0; i < g->n_layers; i++)
        g->items[i].expected_bound = fmax(g->layers[i].saved_fraction, least_expected_bound);
    return QDQ_OK;
}

/* What layer i loses of what it saves in 8 bits, in this format. */
static double lost_saving(const qdq_goal_run *g, size_t i, unsigned char form)
{
    const double *other = form >= QDQ_FORM_OTHER ? g->forms.saved[form - QDQ_FORM_OTHER] : NULL;

    if (form == QDQ_FORM_FLOAT)
        return g->layers[i].saved_fraction;
    return other != NULL ? g->layers[i].saved_fraction - other[i] : 0;
}

qdq_status qdq_goal_time_share(const qdq_goal_run *g, const qdq_plan *p, const unsigned char *form,
                               double *share, qdq_error *err)
{
    double time, float_time;

    if (!g->block->head.is_profiled) {
        QDQ_TRY(qdq_plan_time(g->clean, p, &time, &float_time, err));
        *share = float_time > 0 ? time / float_time : 1;
        return QDQ_OK;
    }
    *share = g->clock.eight_share;
    for (size_t i = 0; i < g->n_layers && form != NULL; i++)
        *share += lost_saving(g, i, form[i]);
    return QDQ_OK;
}

/* Where it is not known, the largest. */
static double ranked_error(const qdq_goal_layer *l)
{
    return isnan(l->error) ? 1 : l->error;
}

static int by_rank(const void *a, const void *b)
{
    const qdq_goal_layer *x = a, *y = b;
    double rx = ranked_error(x) / fmax(x->saved_fraction, least_expected_bound),
           ry = ranked_error(y) / fmax(y->saved_fraction, least_expected_bound);

    return rx != ry ? (rx < ry ? 1 : -1) : strcmp(x->node, y->node);
}

void qdq_goal_sort_layers(qdq_goal_run *g)
{
    for (size_t i = 0; i < g->n_layers; i++)
        if (g->nodes[i] == NULL) /* of a body: it had a part of what all save */
            g->layers[i].saved_fraction = NAN;
    if (g->n_layers > 1)
        qsort(g->layers, g->n_layers, sizeof *g->layers, by_rank);
}
