/* group_plan.c - the part of a plan that is about one group, applied to its model. Entries are
 * kept, shortened or left out; none is made that the whole plan does not have, but one for all
 * readers becomes one for those that are the group's. */
#include "tune/isolate/group_plan.h"

#include <string.h>

#include "base/fail.h"
#include "ir/edit.h"
#include "ir/qdq_node.h"
#include "quant/quantize_steps.h"
#include "tune/region/region_graph.h"

typedef struct cutter {
    const qdq_fusions *f;
    uint32_t group;
    /* the group's model */
    const qdq_graph *model;
    const qdq_plan *whole;
    qdq_plan *part;
    /* labels of the nodes of the clean model that the group's model has -> node */
    qdq_map labels;
    /* the group has nodes that run in 8 bits */
    bool in_codes;
    bool nomem;
} cutter;

/* --- nodes ------------------------------------------------------------------------------------ */

static bool is_own(const cutter *c, const qdq_node *n)
{
    return n != NULL && n->graph == c->f->g.g && c->f->of[n->id] == c->group;
}

/* The group's own node of this label. NULL: it has none. */
static const qdq_node *own_node(const cutter *c, const char *label)
{
    const qdq_node *n = qdq_map_get_ptr(&c->labels, label);

    return is_own(c, n) ? n : NULL;
}

/* --- edges ------------------------------------------------------------------------------------ */

static void keep_edges(cutter *c, qdq_edges *e)
{
    const qdq_edges from = *e;

    *e = (qdq_edges){0};
    for (size_t i = 0; i < from.n; i++)
        if (own_node(c, from.at[i].node) != NULL)
            c->nomem |= !QDQ_PUSH(&c->part->arena, e, from.at[i]);
}

/* Has another entry of the tensor this edge? Such an entry stands on top of the one for all
 * readers. */
static bool is_listed(const cutter *c, const char *tensor, const char *node, uint32_t input)
{
    for (size_t i = 0; i < c->whole->tensors.n; i++) {
        const qdq_plan_tensor *t = &c->whole->tensors.at[i];
        if (!t->all && strcmp(t->tensor, tensor) == 0 && qdq_edges_have(&t->consumers, node, input))
            return true;
    }
    return false;
}

static void list_readers(cutter *c, const qdq_value *v, qdq_edges *to)
{
    QDQ_FOR_USES (u, v) {
        if (!is_own(c, u->node))
            continue;
        const char *label = qdq_node_label(u->node, &c->part->arena);
        if (qdq_node_label_failed(label))
            c->nomem = true;
        else if (!is_listed(c, v->name, label, u->index))
            c->nomem |= !QDQ_PUSH(&c->part->arena, to, ((qdq_edge){label, u->index}));
    }
}

static bool is_quantized(const qdq_plan *p, const char *tensor)
{
    for (size_t i = 0; i < p->tensors.n; i++)
        if (strcmp(p->tensors.at[i].tensor, tensor) == 0)
            return true;
    return false;
}

/* --- what the group gives --------------------------------------------------------------------- */

/* The only tensor that n computes with, if n is the only one to read it; NULL: it is not so. */
static const qdq_value *carried_by(const qdq_node *n)
{
    const qdq_value *only = NULL;

    for (uint32_t i = 0; i < n->n_in; i++) {
        const qdq_value *v = qdq_node_in(n, i);
        if (v == NULL || qdq_region_is_const(v))
            continue;
        if (only != NULL)
            return NULL;
        only = v;
    }
    return only != NULL && qdq_value_only_user(only) == n ? only : NULL;
}

/* Where a neighbour takes all that the group gives, and the plan has Q/DQ behind it and none
 * between them, they are one kernel in 8 bits, with an epilogue that is a group of its own because
 * the engine fuses it in float alone. */
static bool is_given(const cutter *c, const qdq_value *v)
{
    const qdq_value *from = v->producer != NULL ? carried_by(v->producer) : NULL;

    return is_own(c, v->producer) ||
           (from != NULL && is_own(c, from->producer) &&
            qdq_graph_find(c->model, v->name) != NULL && !is_quantized(c->whole, from->name));
}

/* --- entries: what is left of a copy for the group; false: nothing ---------------------------- */

static bool keep_quantized(cutter *c, qdq_plan_node *n)
{
    return own_node(c, n->node) != NULL;
}

static bool keep_tensor(cutter *c, qdq_plan_tensor *t)
{
    const bool is_here = qdq_graph_find(c->model, t->tensor) != NULL; /* most are not: first */
    const qdq_value *v = is_here ? qdq_graph_find(c->f->g.g, t->tensor) : NULL;
    const bool all = t->all;

    if (v == NULL)
        return false;
    t->all = all && c->in_codes && is_given(c, v);
    if (all)
        t->consumers = (qdq_edges){0};
    else
        keep_edges(c, &t->consumers);
    if (all && !t->all)
        list_readers(c, v, &t->consumers);
    return t->all || t->consumers.n > 0;
}

static bool keep_weight(cutter *c, qdq_plan_weight *w)
{
    keep_edges(c, &w->consumers);
    return w->consumers.n > 0;
}

/* What the operator before the group takes in divides nothing here: weights are then as they were,
 * which takes as long. */
static bool keep_scaling(cutter *c, qdq_plan_scaling *s)
{
    const size_t n = s->consumers.n;

    keep_edges(c, &s->consumers);
    return s->consumers.n > 0 &&
           (s->fold == NULL || (s->consumers.n == n && own_node(c, s->fold) != NULL));
}

static bool comes_from_dq(const cutter *c, const char *tensor)
{
    const qdq_value *v = qdq_graph_find(c->model, tensor);

    return v != NULL && v->producer != NULL && v->producer->op == QDQ_OP_DEQUANTIZELINEAR;
}

/* Its scale is that of a product that is computed here. */
static bool keep_bias(cutter *c, qdq_plan_bias *b)
{
    const qdq_node *reader = own_node(c, b->consumer.node);
    const qdq_node *linear = reader != NULL ? qdq_bias_linear(reader, b->consumer.input) : NULL;
    bool weight = comes_from_dq(c, b->weight);

    if (reader == NULL || (linear != NULL && !is_own(c, linear)))
        return false;
    for (size_t i = 0; i < c->part->weights.n && !weight; i++)
        weight = strcmp(c->part->weights.at[i].tensor, b->weight) == 0;
    return weight && (is_quantized(c->part, b->activation) || comes_from_dq(c, b->activation));
}

/* Nodes that stay float32 where the rest is in 16 bits, neighbours included. */
static bool keep_float(cutter *c, qdq_plan_float *f)
{
    return qdq_map_get_ptr(&c->labels, f->node) != NULL;
}

/* --- all of it -------------------------------------------------------------------------------- */

#define KEEP(list, keeps)                                                                          \
    for (size_t i_ = 0; i_ < c->whole->list.n && !c->nomem; i_++) {                                \
        c->nomem = !QDQ_PUSH(&c->part->arena, &c->part->list, c->whole->list.at[i_]);              \
        if (!c->nomem && !keeps(c, &c->part->list.at[c->part->list.n - 1]))                        \
            c->part->list.n--;                                                                     \
    }

/* A plan of the search has no corrections of biases. Tensors that cross the border have the type
 * that they have in the whole model, so the inputs and outputs of the part are converted, too. */
static bool cut_plan(cutter *c)
{
    const qdq_plan *p = c->whole;

    c->part->model = p->model;
    c->part->target = p->target;
    c->part->created_by = p->created_by;
    c->part->clean = p->clean;
    c->part->opset = p->opset;
    c->part->half =
        (qdq_plan_half){.type = p->half.type, .direct_io = true, .widened = p->half.widened};
    KEEP(quantized, keep_quantized)
    /* a plan that was made of a model with Q/DQ may not say which kernels it means */
    c->in_codes = c->part->quantized.n > 0 || p->quantized.n == 0;
    KEEP(tensors, keep_tensor)
    KEEP(weights, keep_weight)
    KEEP(scalings, keep_scaling)
    KEEP(biases, keep_bias)
    KEEP(half.keep, keep_float)
    return !c->nomem && qdq_plan_finish(c->part);
}

/* --- its model -------------------------------------------------------------------------------- */

/* The node of the clean model that a node of the part is: it gives the same tensor. */
static const qdq_node *source_of(const qdq_graph *clean, const qdq_node *n)
{
    for (uint32_t i = 0; i < n->n_out; i++)
        if (n->out[i] != NULL) {
            const qdq_value *v = qdq_graph_find(clean, n->out[i]->name);
            return v != NULL ? v->producer : NULL;
        }
    return NULL;
}

/* A name that two nodes have is no label, but would be one where the other node is missing. */
static bool name_nodes(const qdq_graph *clean, qdq_model *m)
{
    qdq_arena scratch = QDQ_ARENA_INIT;
    bool good = true;

    QDQ_FOR_NODES (n, m->graph) {
        const qdq_node *from = source_of(clean, n);
        if (from == NULL || qdq_node_has_own_name(from))
            continue;
        const char *label = qdq_node_label(from, &scratch);
        good = good && !qdq_node_label_failed(label) && qdq_node_set_name(n, label);
    }
    qdq_arena_free(&scratch);
    return good;
}

static bool map_labels(cutter *c, qdq_arena *scratch)
{
    bool good = true;

    QDQ_FOR_NODES (n, c->model) {
        const qdq_node *from = source_of(c->f->g.g, n);
        if (from == NULL)
            continue;
        const char *label = qdq_node_label(from, scratch);
        good = good && !qdq_node_label_failed(label) && qdq_map_set_ptr(&c->labels, label, from);
    }
    return good;
}

static qdq_status quantize_part(cutter *c, qdq_insert_cache *cache, qdq_model *m, qdq_error *err)
{
    qdq_arena scratch = QDQ_ARENA_INIT;

    c->part = qdq_plan_new();
    qdq_status st = qdq_allocated(c->part != NULL && map_labels(c, &scratch) && cut_plan(c), err);
    if (st == QDQ_OK)
        st = qdq_quantize_finish(m, c->part, cache, NULL, err);
    qdq_map_free(&c->labels);
    qdq_arena_free(&scratch);
    qdq_plan_free(c->part);
    return st;
}

qdq_status qdq_group_plan_apply(const qdq_fusions *f, uint32_t group, const qdq_group_model *g,
                                const qdq_plan *whole, qdq_insert_cache *cache, qdq_model **out,
                                qdq_error *err)
{
    cutter c = {.f = f, .group = group, .model = g->model->graph, .whole = whole};

    QDQ_TRY(qdq_model_clone(g->model, out, err));
    qdq_status st = qdq_allocated(name_nodes(f->g.g, *out), err);
    if (st == QDQ_OK && whole != NULL)
        st = quantize_part(&c, cache, *out, err);
    if (st == QDQ_OK && !qdq_graph_name_nodes((*out)->graph)) /* what came with the plan */
        st = qdq_nomem(err);
    return QDQ_HAND_OVER(*out, st, out, qdq_model_free);
}
