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
    const qdq_graph *clean;
    const qdq_group_model *g;
    const qdq_plan *whole;
    qdq_plan *part;
    qdq_arena scratch;
    /* labels of the group's nodes -> node */
    qdq_map own;
    /* by node id of `clean` */
    bool *is_own;
    /* the group has nodes that run in 8 bits */
    bool in_codes;
    qdq_error *err;
} cutter;

static const qdq_node *own_node(const cutter *c, const char *label)
{
    return qdq_map_get_ptr(&c->own, label);
}

static bool is_own(const cutter *c, const qdq_node *n)
{
    return n != NULL && n->graph == c->clean && c->is_own[n->id];
}

static qdq_status find_own(cutter *c)
{
    c->is_own = qdq_arena_array(&c->scratch, (size_t)c->clean->next_node_id + 1, sizeof *c->is_own);
    QDQ_NEED(c->is_own != NULL, c->err);
    for (uint32_t i = 0; i < c->g->n_nodes; i++) {
        if (c->g->is_halo[i])
            continue;
        const char *label = qdq_node_label(c->g->node[i], &c->scratch);
        QDQ_NEED(!qdq_node_label_failed(label) && qdq_map_set_ptr(&c->own, label, c->g->node[i]),
                 c->err);
        c->is_own[c->g->node[i]->id] = true;
    }
    return QDQ_OK;
}

/* --- edges ------------------------------------------------------------------------------------ */

static bool push_edge(cutter *c, qdq_edges *to, const char *node, uint32_t input)
{
    return QDQ_PUSH(&c->part->arena, to, ((qdq_edge){node, input}));
}

static qdq_status keep_edges(cutter *c, const qdq_edges *from, qdq_edges *to)
{
    *to = (qdq_edges){0};
    for (size_t i = 0; i < from->n; i++)
        if (own_node(c, from->at[i].node) != NULL &&
            !push_edge(c, to, from->at[i].node, from->at[i].input))
            return qdq_nomem(c->err);
    return QDQ_OK;
}

/* Has another entry of the tensor this edge? Such an entry stands on top of the one for all
 * readers. */
static bool is_listed(const cutter *c, const qdq_plan_tensor *all, const char *node, uint32_t input)
{
    const qdq_plan *p = c->whole;

    for (size_t i = 0; i < p->tensors.n; i++)
        if (&p->tensors.at[i] != all && strcmp(p->tensors.at[i].tensor, all->tensor) == 0 &&
            qdq_edges_have(&p->tensors.at[i].consumers, node, input))
            return true;
    return false;
}

static qdq_status list_readers(cutter *c, const qdq_plan_tensor *all, const qdq_value *v,
                               qdq_edges *to)
{
    *to = (qdq_edges){0};
    QDQ_FOR_USES (u, v) {
        if (!is_own(c, u->node))
            continue;
        const char *label = qdq_node_label(u->node, &c->part->arena);
        if (qdq_node_label_failed(label) ||
            (!is_listed(c, all, label, u->index) && !push_edge(c, to, label, u->index)))
            return qdq_nomem(c->err);
    }
    return QDQ_OK;
}

#define HAS_ENTRY(list, name, found)                                                               \
    do {                                                                                           \
        (found) = false;                                                                           \
        for (size_t i_ = 0; i_ < (list).n && !(found); i_++)                                       \
            (found) = strcmp((list).at[i_].tensor, (name)) == 0;                                   \
    } while (0)

/* --- what the group gives --------------------------------------------------------------------- */

static bool is_halo(const cutter *c, const qdq_node *n)
{
    for (uint32_t i = 0; i < c->g->n_nodes; i++)
        if (c->g->node[i] == n)
            return c->g->is_halo[i];
    return false;
}

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
    return only != NULL && only->n_output == 0 && only->first != NULL && only->first->next == NULL
               ? only
               : NULL;
}

/* Where a neighbour takes all that the group gives, and the plan has Q/DQ behind it and none
 * between them, they are one kernel in 8 bits, with an epilogue that is a group of its own because
 * the engine fuses it in float alone. */
static bool is_given(const cutter *c, const qdq_value *v)
{
    const qdq_node *n = v->producer;

    if (is_own(c, n))
        return true;
    if (n == NULL || !is_halo(c, n))
        return false;
    const qdq_value *from = carried_by(n);
    bool is_quantized;
    if (from == NULL || !is_own(c, from->producer))
        return false;
    HAS_ENTRY(c->whole->tensors, from->name, is_quantized);
    return !is_quantized;
}

/* --- entries ---------------------------------------------------------------------------------- */

static qdq_status keep_tensor(cutter *c, const qdq_plan_tensor *from)
{
    const qdq_value *v = qdq_graph_find(c->clean, from->tensor);
    qdq_plan_tensor t = *from;

    if (v == NULL)
        return QDQ_OK; /* of a body */
    t.consumers = (qdq_edges){0};
    t.all = from->all && c->in_codes && is_given(c, v);
    if (from->all && !t.all)
        QDQ_TRY(list_readers(c, from, v, &t.consumers));
    else if (!t.all)
        QDQ_TRY(keep_edges(c, &from->consumers, &t.consumers));
    if (!t.all && t.consumers.n == 0)
        return QDQ_OK;
    return qdq_allocated(QDQ_PUSH(&c->part->arena, &c->part->tensors, t), c->err);
}

static qdq_status keep_weight(cutter *c, const qdq_plan_weight *from)
{
    qdq_plan_weight w = *from;

    QDQ_TRY(keep_edges(c, &from->consumers, &w.consumers));
    if (w.consumers.n == 0)
        return QDQ_OK;
    return qdq_allocated(QDQ_PUSH(&c->part->arena, &c->part->weights, w), c->err);
}

/* What the operator before the group takes in divides nothing here: weights are then as they were,
 * which takes as long. */
static qdq_status keep_scaling(cutter *c, const qdq_plan_scaling *from)
{
    qdq_plan_scaling s = *from;

    QDQ_TRY(keep_edges(c, &from->consumers, &s.consumers));
    if (s.consumers.n == 0 ||
        (s.fold != NULL && (s.consumers.n < from->consumers.n || own_node(c, s.fold) == NULL)))
        return QDQ_OK;
    return qdq_allocated(QDQ_PUSH(&c->part->arena, &c->part->scalings, s), c->err);
}

static bool comes_from_dq(const cutter *c, const char *tensor)
{
    const qdq_value *v = qdq_graph_find(c->g->model->graph, tensor);

    return v != NULL && v->producer != NULL && v->producer->op == QDQ_OP_DEQUANTIZELINEAR;
}

/* Its scale is that of a product that is computed here. */
static bool has_scales(const cutter *c, const qdq_plan_bias *b)
{
    const qdq_node *reader = own_node(c, b->consumer.node);
    const qdq_node *linear = reader != NULL ? qdq_bias_linear(reader, b->consumer.input) : NULL;
    bool activation, weight;

    if (reader == NULL || (linear != NULL && !is_own(c, linear)))
        return false;
    HAS_ENTRY(c->part->tensors, b->activation, activation);
    HAS_ENTRY(c->part->weights, b->weight, weight);
    return (activation || comes_from_dq(c, b->activation)) &&
           (weight || comes_from_dq(c, b->weight));
}

/* Nodes that stay float32 where the rest is in 16 bits, neighbours included: tensors that cross the
 * border have the type that they have in the whole model, so the inputs and outputs of the part are
 * converted, too. */
static qdq_status keep_rest(cutter *c)
{
    const qdq_plan_rest *from = &c->whole->rest;
    qdq_plan_rest *to = &c->part->rest;
    qdq_map labels = QDQ_MAP_INIT;
    bool good = true;

    *to = (qdq_plan_rest){.type = from->type, .direct_io = true, .widened = from->widened};
    for (uint32_t i = 0; i < c->g->n_nodes && from->keep.n > 0 && good; i++) {
        const char *label = qdq_node_label(c->g->node[i], &c->scratch);
        good = !qdq_node_label_failed(label) && qdq_map_put(&labels, label, NULL) != NULL;
    }
    for (size_t i = 0; i < from->keep.n && good; i++)
        if (qdq_map_get(&labels, from->keep.at[i].node) != NULL)
            good = QDQ_PUSH(&c->part->arena, &to->keep, from->keep.at[i]);
    qdq_map_free(&labels);
    return qdq_allocated(good, c->err);
}

/* --- all of it -------------------------------------------------------------------------------- */

static qdq_status keep_quantized(cutter *c)
{
    const qdq_plan *p = c->whole;

    for (size_t i = 0; i < p->quantized.n; i++)
        if (own_node(c, p->quantized.at[i].node) != NULL &&
            !QDQ_PUSH(&c->part->arena, &c->part->quantized, p->quantized.at[i]))
            return qdq_nomem(c->err);
    /* a plan that was made of a model with Q/DQ may not say which kernels it means */
    c->in_codes = c->part->quantized.n > 0 || p->quantized.n == 0;
    return QDQ_OK;
}

static qdq_status cut_plan(cutter *c)
{
    const qdq_plan *p = c->whole;

    c->part->model = p->model;
    c->part->target = p->target;
    c->part->created_by = p->created_by;
    c->part->clean = p->clean;
    c->part->opset = p->opset;
    QDQ_TRY(find_own(c));
    QDQ_TRY(keep_quantized(c));
    for (size_t i = 0; i < p->tensors.n; i++)
        QDQ_TRY(keep_tensor(c, &p->tensors.at[i]));
    for (size_t i = 0; i < p->weights.n; i++)
        QDQ_TRY(keep_weight(c, &p->weights.at[i]));
    for (size_t i = 0; i < p->scalings.n; i++)
        QDQ_TRY(keep_scaling(c, &p->scalings.at[i]));
    for (size_t i = 0; i < p->biases.n; i++)
        if (has_scales(c, &p->biases.at[i]) &&
            !QDQ_PUSH(&c->part->arena, &c->part->biases, p->biases.at[i]))
            return qdq_nomem(c->err);
    for (size_t i = 0; i < p->corrections.n; i++)
        if (own_node(c, p->corrections.at[i].consumer.node) != NULL &&
            !QDQ_PUSH(&c->part->arena, &c->part->corrections, p->corrections.at[i]))
            return qdq_nomem(c->err);
    QDQ_TRY(keep_rest(c));
    return qdq_allocated(qdq_plan_finish(c->part), c->err);
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
static qdq_status name_nodes(const qdq_fusions *f, qdq_model *m, qdq_error *err)
{
    qdq_arena scratch = QDQ_ARENA_INIT;
    bool good = true;

    QDQ_FOR_NODES (n, m->graph) {
        const qdq_node *from = source_of(f->g.g, n);
        if (from == NULL || qdq_node_has_own_name(from))
            continue;
        const char *label = qdq_node_label(from, &scratch);
        good = good && !qdq_node_label_failed(label) && qdq_node_set_name(n, label);
    }
    qdq_arena_free(&scratch);
    return qdq_allocated(good, err);
}

static qdq_status quantize_part(const qdq_fusions *f, const qdq_group_model *g,
                                const qdq_plan *whole, qdq_insert_cache *cache, qdq_model *m,
                                qdq_error *err)
{
    cutter c = {.clean = f->g.g, .g = g, .whole = whole, .part = qdq_plan_new(), .err = err};
    qdq_status st = c.part != NULL ? cut_plan(&c) : qdq_nomem(err);

    qdq_map_free(&c.own);
    qdq_arena_free(&c.scratch);
    if (st == QDQ_OK)
        st = qdq_quantize_finish(m, c.part, cache, NULL, err);
    qdq_plan_free(c.part);
    return st;
}

qdq_status qdq_group_plan_apply(const qdq_fusions *f, const qdq_group_model *g,
                                const qdq_plan *whole, qdq_insert_cache *cache, qdq_model **out,
                                qdq_error *err)
{
    QDQ_TRY(qdq_model_clone(g->model, out, err));
    qdq_status st = name_nodes(f, *out, err);
    if (st == QDQ_OK && whole != NULL)
        st = quantize_part(f, g, whole, cache, *out, err);
    if (st == QDQ_OK && !qdq_graph_name_nodes((*out)->graph)) /* what came with the plan */
        st = qdq_nomem(err);
    return qdq_model_hand_over(*out, st, out);
}
