/* layer_times.c - times of a graph's nodes and tensors from layers of an engine, by their names. */
#include "tune/measure/layer_times.h"

#include <math.h>
#include <string.h>

#include "base/fail.h"

typedef struct layer {
    const char *op;
    double us;
    /* whose kernel it is; NULL: unknown */
    const qdq_node *node;
    /* all those nodes, where the engine told them: as good as one another; NULL: it did not */
    const qdq_node **reported;
    size_t n_reported;
    /* the tensor that it gives, if that is what it is called after */
    const qdq_value *value;
    /* says the engine */
    bool converts;
} layer;

typedef struct reading {
    const qdq_graph *graph;
    const qdq_layer_index *names;
    /* in order of execution */
    QDQ_VEC(layer) layers;
    /* by node: is a layer called after it? */
    bool *is_named;
    /* the node of the kernel before; NULL: there was none, or no one knows */
    const qdq_node *last;
    /* of conversions behind it, for the kernel that comes */
    double waiting;
    /* of kernels whose names say nothing, and whose nodes the engine told */
    double reported;
    qdq_tune_times *times;
} reading;

static bool is_conversion(const layer *l)
{
    return l->converts || qdq_layer_is_conversion(l->op, l->node) ||
           (strcmp(l->op, "DynamicQuantizeLinear") == 0 &&
            (l->node == NULL || strcmp(l->node->type, l->op) != 0));
}

static void find_cores(reading *r)
{
    for (size_t i = 0; i < r->layers.n; i++)
        if (r->layers.at[i].node != NULL)
            r->is_named[r->layers.at[i].node->id] = true;
    for (size_t i = 0; i < r->layers.n; i++) {
        layer *l = &r->layers.at[i];
        const qdq_node *core = l->node != NULL && l->n_reported == 0 && !is_conversion(l)
                                   ? qdq_layer_core(l->op, l->node, r->is_named)
                                   : NULL;
        if (core == NULL)
            continue;
        r->is_named[core->id] = true;
        l->node = core;
    }
}

static void add_boundary(reading *r, const qdq_node *n, double us)
{
    if (n != NULL)
        r->times->boundary[n->id] += us;
}

static void add_converted(reading *r, const qdq_value *v, double us)
{
    if (v == NULL)
        return;
    r->times->converted[v->id] += us;
    r->times->conversions[v->id]++;
}

/* A conversion belongs to who gives the tensor and who reads it; one without a name to the kernels
 * around it. */
static void add_conversion(reading *r, const layer *l)
{
    if (l->value == NULL) {
        add_converted(r, r->last != NULL ? qdq_node_out(r->last, 0) : NULL, l->us);
        add_boundary(r, r->last, l->us);
        r->waiting += l->us;
        return;
    }
    add_converted(r, l->value, l->us);
    add_boundary(r, l->value->producer, l->us);
    for (const qdq_use *u = l->value->first; u != NULL; u = u->next)
        if (u->node->graph == r->graph)
            add_boundary(r, u->node, l->us);
}

/* Products of one kernel have an equal part of it each, as in groups. */
static void add_kernel(reading *r, const layer *l)
{
    const size_t n = l->n_reported > 0 ? l->n_reported : 1;

    for (size_t i = 0; i < n && l->node != NULL; i++) {
        const qdq_node *node = l->n_reported > 0 ? l->reported[i] : l->node;
        add_boundary(r, node, r->waiting);
        r->times->own[node->id] += l->us / (double)n;
        r->times->rows[node->id] += 1.0 / (double)n;
    }
    r->waiting = 0;
    r->last = l->node;
    r->times->known += l->node != NULL ? l->us : 0;
}

static void add_up(reading *r)
{
    for (size_t i = 0; i < r->layers.n; i++) {
        const layer *l = &r->layers.at[i];
        r->times->sum += l->us;
        r->times->n_rows++;
        if (is_conversion(l))
            add_conversion(r, l);
        else
            add_kernel(r, l);
    }
}

/* Is the kernel called after this operator, or does it multiply? Else one node of several is as
 * good as another. */
static int rank_of(const layer *l, const qdq_node *n)
{
    return strncmp(l->op, n->type, strlen(n->type)) == 0 ? 2 : qdq_op_is_linear(n->op);
}

/* Of nodes that rank alike, all products count, and of others the first one. */
static void add_reported(layer *l, const qdq_node *n)
{
    const int now = rank_of(l, n), best = l->n_reported > 0 ? rank_of(l, l->reported[0]) : now;

    if (now < best || (now == 0 && l->n_reported > 0))
        return;
    l->n_reported = now > best ? 0 : l->n_reported;
    l->reported[l->n_reported++] = n;
    l->node = l->reported[0];
}

/* Where its own name says nothing: by the nodes that it computes, of which Q and DQ are called
 * after their tensor. A conversion of floats that a kernel gives is that of its result. */
static qdq_status find_by_nodes(reading *r, const qdq_layer *g, qdq_arena *arena, layer *l,
                                qdq_error *err)
{
    l->reported = qdq_arena_array(arena, g->n_nodes + 1, sizeof *l->reported);
    QDQ_NEED(l->reported != NULL, err);
    for (size_t i = 0; i < g->n_nodes; i++) {
        char *name = qdq_arena_strdup(arena, g->node[i]);
        QDQ_NEED(name != NULL, err);
        const qdq_layer_owner exact = qdq_layer_find(r->names, name, strlen(name)),
                              owner = qdq_layer_find_ending(r->names, name);
        if (exact.node != NULL && exact.value == NULL) {
            if (!l->converts)
                add_reported(l, exact.node);
        } else if (l->converts && l->value == NULL && owner.value != NULL) {
            l->value = owner.value;
        }
    }
    return QDQ_OK;
}

/* The tensor that a conversion is of says more than any name does: NULL where the engine does not
 * tell it. */
static qdq_status find_converted(reading *r, const char *tensor, qdq_arena *arena, layer *l,
                                 qdq_error *err)
{
    if (!l->converts || tensor == NULL || tensor[0] == '\0')
        return QDQ_OK;
    char *name = qdq_arena_strdup(arena, tensor);
    QDQ_NEED(name != NULL, err);
    (void)qdq_layer_find_ending(r->names, name); /* cuts its endings off */
    l->value = qdq_graph_find(r->graph, name);
    return QDQ_OK;
}

/* By its name, else by what the engine tells beside it. */
static qdq_status find_owner(reading *r, const qdq_layer *g, qdq_arena *arena, layer *l,
                             qdq_error *err)
{
    QDQ_TRY(find_converted(r, g->tensor, arena, l, err));
    if (l->value == NULL) {
        char *name = qdq_arena_strdup(arena, g->layer);
        QDQ_NEED(name != NULL, err);
        const qdq_layer_owner owner = qdq_layer_find_ending(r->names, name);
        l->node = owner.node;
        l->value = owner.value;
        if (l->value == NULL && is_conversion(l)) /* a node may be called as a tensor */
            l->value = qdq_graph_find(r->graph, name);
        if (owner.node != NULL || owner.value != NULL)
            return QDQ_OK;
        QDQ_TRY(find_by_nodes(r, g, arena, l, err));
    }
    r->reported += l->node != NULL || l->value != NULL ? l->us : 0;
    return QDQ_OK;
}

static qdq_status read_layers(reading *r, const qdq_layer *g, size_t n, qdq_arena *arena,
                              qdq_error *err)
{
    for (size_t i = 0; i < n; i++) {
        layer l = {.op = g[i].op,
                   .us = isnan(g[i].median_us) ? 0 : g[i].median_us,
                   .converts = g[i].conversion};
        QDQ_TRY(find_owner(r, &g[i], arena, &l, err));
        QDQ_NEED(QDQ_PUSH(arena, &r->layers, l), err);
    }
    return QDQ_OK;
}

qdq_status qdq_tune_attribute_by(const qdq_layer_index *names, const qdq_layer *from,
                                 size_t n_layers, qdq_arena *arena, qdq_tune_times *out,
                                 qdq_error *err)
{
    const qdq_graph *g = names->graph;
    const size_t n = (size_t)g->next_node_id + 1, values = g->values.n + 1;
    const double enough = 0.5;
    reading r = {.graph = g, .names = names, .times = out};

    *out =
        (qdq_tune_times){.own = qdq_arena_array(arena, n, sizeof *out->own),
                         .boundary = qdq_arena_array(arena, n, sizeof *out->boundary),
                         .rows = qdq_arena_array(arena, n, sizeof *out->rows),
                         .converted = qdq_arena_array(arena, values, sizeof *out->converted),
                         .conversions = qdq_arena_array(arena, values, sizeof *out->conversions)};
    r.is_named = qdq_arena_array(arena, n, sizeof *r.is_named);
    QDQ_NEED(out->own != NULL && out->boundary != NULL && out->rows != NULL &&
                 out->converted != NULL && out->conversions != NULL && r.is_named != NULL,
             err);
    QDQ_TRY(read_layers(&r, from, n_layers, arena, err));
    find_cores(&r);
    add_up(&r);
    out->reported = r.reported;
    out->is_known = out->sum > 0 && out->known >= enough * out->sum;
    return QDQ_OK;
}

qdq_status qdq_tune_attribute(const qdq_graph *g, const qdq_layer *from, size_t n_layers,
                              qdq_arena *arena, qdq_tune_times *out, qdq_error *err)
{
    qdq_layer_index names = {.graph = NULL};
    qdq_status st = qdq_layer_index_make(&names, g, arena, err);

    if (st == QDQ_OK)
        st = qdq_tune_attribute_by(&names, from, n_layers, arena, out, err);
    qdq_layer_index_free(&names);
    return st;
}

double qdq_tune_kernels_us(const qdq_tune_times *t, const qdq_node *const *node, size_t n)
{
    double us = 0;

    if (t == NULL || !t->is_known)
        return NAN;
    for (size_t i = 0; i < n; i++)
        us += t->own[node[i]->id];
    return us;
}

double qdq_tune_kernels_ms(const qdq_tune_times *t, const qdq_node *const *node, size_t n,
                           double model_ns)
{
    return t != NULL ? qdq_tune_kernels_us(t, node, n) / t->sum * model_ns * 1e-6 : NAN;
}
