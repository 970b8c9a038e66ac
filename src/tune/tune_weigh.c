/* tune_weigh.c - what a decision can be worth at most: the time of its nodes in the float model, as the engine's profile
 * has it, else as shapes suggest. It decides what is tried first, and what is too small to try. */
#include "tune/tune_state.h"

#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/json.h"
#include "quant/goal/node_cost.h"

enum { PROFILE_RUNS = 8 };

/* Shapes know ratios only: they are scaled to the time that the model takes. */
static void from_shapes(const qdq_tuning *t, double *ns)
{
    double sum = 0;

    QDQ_FOR_NODES (n, t->clean->graph)
        sum += ns[n->id] = qdq_node_time(n, false);
    QDQ_FOR_NODES (n, t->clean->graph)
        ns[n->id] *= sum > 0 ? t->problem.base_ns / sum : 0;
}

/* --- the profile ------------------------------------------------------------------------------------------------------ */

/* [{"name": ..., "us": ...}, ...]: kept in the store, for a run that goes on has to see the same. */
static qdq_status to_text(const qdq_layer *layer, size_t n, char **text, qdq_error *err)
{
    json_t *list = json_array();

    for (size_t i = 0; i < n && list != NULL; i++)
        json_array_append_new(list, json_pack("{s:s, s:f}", "name", layer[i].name, "us", layer[i].mean_us));
    qdq_status st = list != NULL ? qdq_json_dump(list, text, err) : qdq_nomem(err);
    json_decref(list);
    return st;
}

static qdq_status measure_profile(qdq_tuning *t, char **text, qdq_error *err)
{
    const char *path = qdq_arena_printf(&t->arena, "%s/profile.onnx", qdq_tempdir_path(t->work));
    qdq_lab_fate fate = {0};
    qdq_layer *layers = NULL;
    size_t n = 0;

    if (path == NULL)
        return qdq_nomem(err);
    QDQ_TRY(qdq_candidate_write(t->files, NULL, "profile.onnx", err));
    QDQ_TRY(qdq_lab_profile(t->lab, path, PROFILE_RUNS, &layers, &n, &fate, err));
    if (fate.end != QDQ_LAB_FINE) {
        qdq_job_log(t->job, QDQ_LOG_WARNING, "no profile of the model (%s: %s): shapes say what matters",
                    qdq_lab_end_name(fate.end), fate.text);
        n = 0;
    }
    qdq_status st = to_text(layers, n, text, err);
    qdq_free(layers);
    return st == QDQ_OK ? qdq_tune_store_value_put(t->store, &t->run, "profile", *text, err) : st;
}

/* The node that a layer is about: engines call it as the node, or as what it gives, with an ending of their own. */
static const qdq_node *node_of(const qdq_map *labels, const qdq_map *outputs, const char *layer)
{
    static const char *const endings[] = {"_nchwc", "_token_0"};
    const qdq_map_value *v = qdq_map_get(labels, layer);
    size_t size = strlen(layer);

    if (v == NULL)
        v = qdq_map_get(outputs, layer);
    for (size_t i = 0; i < QDQ_COUNT(endings) && v == NULL; i++) {
        size_t end = strlen(endings[i]);
        if (size > end && strcmp(layer + size - end, endings[i]) == 0)
            v = qdq_map_get_n(outputs, layer, size - end);
    }
    return v != NULL ? v->ptr : NULL;
}

static qdq_status index_nodes(qdq_tuning *t, qdq_map *labels, qdq_map *outputs, qdq_error *err)
{
    if (!qdq_graph_map_labels(t->clean->graph, &t->arena, labels))
        return qdq_nomem(err);
    QDQ_FOR_NODES (n, t->clean->graph)
        for (uint32_t i = 0; i < n->n_out; i++) {
            qdq_map_value *v = n->out[i] != NULL ? qdq_map_put(outputs, n->out[i]->name, NULL) : NULL;
            if (n->out[i] != NULL && v == NULL)
                return qdq_nomem(err);
            if (v != NULL)
                v->ptr = n;
        }
    return QDQ_OK;
}

/* Takes the profile if it says of most of the time where it goes. */
static qdq_status from_profile(qdq_tuning *t, const json_t *profile, double *ns, qdq_error *err)
{
    const double enough = 0.5;
    qdq_map labels = QDQ_MAP_INIT, outputs = QDQ_MAP_INIT;
    double *found = calloc((size_t)t->clean->graph->next_node_id + 1, sizeof *found), sum = 0, known = 0;
    size_t i;
    const json_t *layer;
    qdq_status st = found != NULL ? index_nodes(t, &labels, &outputs, err) : qdq_nomem(err);

    json_array_foreach(profile, i, layer)
    {
        const char *name = json_string_value(json_object_get(layer, "name"));
        double us = json_number_value(json_object_get(layer, "us"));
        const qdq_node *n = st == QDQ_OK && name != NULL ? node_of(&labels, &outputs, name) : NULL;
        sum += us;
        if (n == NULL)
            continue;
        known += us;
        found[n->id] += us;
    }
    if (st == QDQ_OK && sum > 0 && known >= enough * sum)
        QDQ_FOR_NODES (n, t->clean->graph)
            ns[n->id] = found[n->id] / sum * t->problem.base_ns;
    qdq_map_free(&labels);
    qdq_map_free(&outputs);
    free(found);
    return st;
}

static qdq_status read_profile(qdq_tuning *t, double *ns, qdq_error *err)
{
    char *text = NULL;
    json_t *profile = NULL;

    if ((qdq_lab_engine(t->lab)->capabilities & QDQ_CAN_PROFILE) == 0)
        return QDQ_OK;
    QDQ_TRY(qdq_tune_store_value_get(t->store, &t->run, "profile", &text, err));
    if (text == NULL)
        QDQ_TRY(measure_profile(t, &text, err));
    qdq_status st = qdq_json_parse(text, strlen(text), "profile", &profile, err);
    qdq_free(text);
    if (st == QDQ_OK)
        st = from_profile(t, profile, ns, err);
    json_decref(profile);
    return st;
}

/* --- worth ------------------------------------------------------------------------------------------------------------ */

/* A node with several groups, each an input of its own, divides its time among them. */
static void weigh_groups(qdq_tuning *t, const double *ns)
{
    qdq_slot_group *g = t->space->group;

    for (size_t i = 0, end; i < t->space->n_groups; i = end) {
        for (end = i; end < t->space->n_groups && g[end].node == g[i].node;)
            end++;
        for (size_t k = i; k < end; k++)
            g[k].cost_ns = ns[g[k].node->id] / (double)(end - i);
    }
}

qdq_status qdq_tune_weigh(qdq_tuning *t, qdq_error *err)
{
    double *ns = calloc((size_t)t->clean->graph->next_node_id + 1, sizeof *ns);

    if (ns == NULL)
        return qdq_nomem(err);
    from_shapes(t, ns);
    qdq_status st = read_profile(t, ns, err);
    if (st == QDQ_OK)
        weigh_groups(t, ns);
    free(ns);
    return st;
}
