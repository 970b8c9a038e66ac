/* layer_sensitivity.c - multiplies the error of each layer by its influence on the outputs. */
#include "quant/compare/layer_sensitivity.h"

#include <math.h>

#include "base/fail.h"
#include "quant/compare/influence.h"

typedef struct charging {
    const qdq_graph *graph;
    const bool *is_layer;
    qdq_noise noise;
    /* by value id: its influence */
    double *weight;
} charging;

/* Noise over signal, of the worst slice where it is known; 0: nothing is off, or it is not
 * known. */
static double noise_of(const qdq_compare_tensor *t)
{
    const double db = t->worst_db < t->sqnr_db ? t->worst_db : t->sqnr_db;

    return isfinite(db) ? pow(10, -db / 10) : 0;
}

static void read_values(charging *c, const qdq_compare_layers_result *found)
{
    for (size_t i = 0; i < found->n_layers; i++) {
        const qdq_compare_layer *l = &found->layers[i];
        const qdq_value *v = qdq_graph_find(c->graph, l->name_in_a);

        if (v == NULL)
            continue;
        c->noise.power[v->id] = l->value.power;
        c->noise.total[v->id] = noise_of(&l->value);
        c->noise.introduced[v->id] =
            l->error > 0 && l->error < INFINITY ? noise_of(&l->introduced) : l->error;
    }
}

/* The layer that made v, through nodes that only hand on or are fused into it; NULL: none. */
static const qdq_node *layer_behind(const charging *c, const qdq_value *v)
{
    enum { FAR = 64 };

    for (int i = 0; i < FAR && v != NULL && v->producer != NULL; i++) {
        if (c->is_layer[v->producer->id])
            return v->producer;
        v = qdq_node_in(v->producer, 0);
    }
    return NULL;
}

static const qdq_node *who_is_charged(const charging *c, const qdq_node *n)
{
    const qdq_node *layer = c->is_layer[n->id] ? n : NULL;

    for (uint32_t i = 0; i < n->n_in && layer == NULL; i++)
        if (n->in[i].value != NULL && n->in[i].value->graph == n->graph)
            layer = layer_behind(c, n->in[i].value);
    return layer;
}

static void charge_for(const charging *c, const qdq_node *n, const qdq_value *y,
                       double *sensitivity, double *error)
{
    const double introduced = y != NULL ? c->noise.introduced[y->id] : 0;
    const qdq_node *layer = introduced > 0 && c->weight[y->id] > 0 ? who_is_charged(c, n) : NULL;

    if (layer == NULL)
        return;
    sensitivity[layer->id] += introduced * c->weight[y->id];
    error[layer->id] += introduced;
}

static void charge_layers(const charging *c, double *sensitivity, double *error)
{
    QDQ_FOR_NODES (n, c->graph)
        for (uint32_t i = 0; i < n->n_out; i++)
            charge_for(c, n, n->out[i], sensitivity, error);
}

static qdq_status charge_all(charging *c, const qdq_compare_layers_result *found,
                             double *sensitivity, double *error, qdq_arena *scratch, qdq_error *err)
{
    const size_t n = c->graph->values.n + 1;

    c->noise.power = qdq_arena_array(scratch, n, sizeof(double));
    c->noise.total = qdq_arena_array(scratch, n, sizeof(double));
    c->noise.introduced = qdq_arena_array(scratch, n, sizeof(double));
    QDQ_NEED(c->noise.power != NULL && c->noise.total != NULL && c->noise.introduced != NULL, err);
    read_values(c, found);
    QDQ_TRY(qdq_influence(c->graph, &c->noise, scratch, &c->weight, err));
    charge_layers(c, sensitivity, error);
    return QDQ_OK;
}

qdq_status qdq_sensitivity_of_layers(const qdq_graph *g, const qdq_compare_layers_result *found,
                                     const bool *is_layer, double *sensitivity, double *error,
                                     qdq_error *err)
{
    charging c = {.graph = g, .is_layer = is_layer};
    qdq_arena scratch = QDQ_ARENA_INIT;

    qdq_status st = charge_all(&c, found, sensitivity, error, &scratch, err);
    qdq_arena_free(&scratch);
    return st;
}
