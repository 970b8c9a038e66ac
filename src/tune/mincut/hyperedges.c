/* hyperedges.c - the tensors between decisions, with their producers and consumers. */
#include "tune/mincut/hyperedges.h"

#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "base/words.h"
#include "tune/space/space_cover.h"

typedef struct finder {
    const qdq_space *s;
    qdq_arena *arena;
    qdq_hyperedge_map *out;
    QDQ_VEC(qdq_hyperedge) hyperedges;
    /* consumers of the current tensor */
    QDQ_VEC(uint32_t) readers;
    qdq_error *err;
} finder;

/* Whether the node copies this input, in float or quantized. */
static bool copies(const qdq_space *s, const qdq_node *n, uint32_t input)
{
    const qdq_target_op *op = qdq_target_find(s->target, n->type);

    return op != NULL && op->kind == QDQ_KIND_PASS && op->data == input;
}

static bool others_are_constant(const qdq_node *n, uint32_t input)
{
    for (uint32_t i = 0; i < n->n_in; i++)
        if (i != input && qdq_node_in(n, i) != NULL && qdq_node_const(n, i) == NULL)
            return false;
    return true;
}

/* Whether the kernel of `root` computes this node too: an activation, or a bias after a product; on
 * targets with partitions any pointwise operator, whatever else it reads. */
static bool is_epilogue(const qdq_space *s, const qdq_node *root, const qdq_node *n, uint32_t input)
{
    const qdq_target_op *op = root != NULL ? qdq_target_find(s->target, root->type) : NULL;
    const qdq_partitions *parts = s->target->partitions;

    if (op == NULL || s->first_group[root->id] == QDQ_NO_GROUP ||
        qdq_value_only_user(qdq_node_in(n, input)) != n)
        return false;
    if (parts != NULL)
        return qdq_space_group_of(s, n, input) == QDQ_NO_GROUP &&
               (qdq_word_is_in(n->type, parts->pointwise) ||
                qdq_word_is_in(n->type, parts->behind_convolution));
    return s->first_group[n->id] == QDQ_NO_GROUP && others_are_constant(n, input) &&
           (qdq_word_is_in(n->type, op->epilogue) ||
            (op->bias == QDQ_BIAS_ADD_IF_STATIC && n->op == QDQ_OP_ADD));
}

/* Number of float32 elements; 0: unknown. */
static double bytes_of(const qdq_value *v)
{
    double n = v->type != NULL && v->type->rank >= 0 ? 4 : 0;

    for (int i = 0; n > 0 && i < v->type->rank; i++)
        n *= v->type->dim[i].value > 0 ? (double)v->type->dim[i].value : 1;
    return n;
}

static bool add_reader(finder *f, uint32_t bit)
{
    for (size_t i = 0; i < f->readers.n; i++)
        if (f->readers.at[i] == bit)
            return true;
    return QDQ_PUSH(f->arena, &f->readers, bit);
}

static uint32_t bit_of(uint32_t group)
{
    return group == QDQ_NO_GROUP ? QDQ_CUT_FLOAT : group;
}

typedef QDQ_VEC(const qdq_value *) value_list;

/* The output of the node belongs to the same tensor. */
static bool go_through(finder *f, const qdq_node *n, uint32_t hyperedge, value_list *todo)
{
    f->out->within[n->id] = hyperedge;
    for (uint32_t i = 0; i < n->n_out; i++)
        if (n->out[i] != NULL && f->out->of[n->out[i]->id] == QDQ_NO_HYPEREDGE &&
            !QDQ_PUSH(f->arena, todo, n->out[i]))
            return false;
    return true;
}

/* Adds all consumers of a value, also those after copies and epilogues of it. */
static bool add_readers(finder *f, const qdq_value *first, uint32_t hyperedge)
{
    value_list todo = {0};

    if (!QDQ_PUSH(f->arena, &todo, first))
        return false;
    for (size_t at = 0; at < todo.n; at++) {
        const qdq_value *v = todo.at[at];
        f->out->of[v->id] = hyperedge;
        if (v->n_output > 0 && !add_reader(f, QDQ_CUT_FLOAT))
            return false;
        QDQ_FOR_USES (u, v) {
            const bool inside = u->node->graph == f->s->clean->graph;
            if (inside && (copies(f->s, u->node, u->index) ||
                           is_epilogue(f->s, first->producer, u->node, u->index))) {
                if (!go_through(f, u->node, hyperedge, &todo))
                    return false;
            } else if (!add_reader(f, inside ? bit_of(qdq_space_group_of(f->s, u->node, u->index))
                                             : QDQ_CUT_FLOAT)) {
                return false;
            }
        }
    }
    return true;
}

/* The decision whose quantized values it may be. Some kernels produce floats in any case: then a Q
 * after them makes quantized values, and consumers of floats need no DQ. */
static uint32_t giver_of(const finder *f, const qdq_node *n)
{
    const qdq_target_op *op = n != NULL ? qdq_target_find(f->s->target, n->type) : NULL;

    if (op == NULL)
        return QDQ_CUT_FLOAT;
    return op->quantize_output || op->quantize_if_read || f->s->target->partitions != NULL
               ? bit_of(f->s->first_group[n->id])
               : QDQ_CUT_FLOAT;
}

static qdq_status add_hyperedge(finder *f, const qdq_value *v)
{
    qdq_hyperedge hyperedge = {.bytes = bytes_of(v), .from = giver_of(f, v->producer)};

    if (v->init != NULL || v->sparse != NULL || f->out->of[v->id] != QDQ_NO_HYPEREDGE)
        return QDQ_OK;
    f->readers.at = NULL;
    f->readers.n = f->readers.cap = 0;
    QDQ_NEED(add_readers(f, v, (uint32_t)f->hyperedges.n), f->err);
    hyperedge.to = f->readers.at;
    hyperedge.n_to = f->readers.n;
    return QDQ_PUSH(f->arena, &f->hyperedges, hyperedge) ? QDQ_OK : qdq_nomem(f->err);
}

qdq_status qdq_hyperedges_find(const qdq_space *s, qdq_arena *arena, qdq_hyperedge_map *out,
                               qdq_error *err)
{
    const qdq_graph *g = s->clean->graph;
    finder f = {.s = s, .arena = arena, .out = out, .err = err};

    *out = (qdq_hyperedge_map){
        .of = qdq_arena_array(arena, g->values.n + 1, sizeof *out->of),
        .within = qdq_arena_array(arena, (size_t)g->next_node_id + 1, sizeof *out->within)};
    QDQ_NEED(out->of != NULL && out->within != NULL, err);
    memset(out->of, 0xff, (g->values.n + 1) * sizeof *out->of);
    memset(out->within, 0xff, ((size_t)g->next_node_id + 1) * sizeof *out->within);
    for (size_t i = 0; i < g->inputs.n; i++)
        QDQ_TRY(add_hyperedge(&f, g->inputs.at[i]));
    QDQ_FOR_NODES (n, g)
        for (uint32_t i = 0; i < n->n_out; i++)
            if (n->out[i] != NULL)
                QDQ_TRY(add_hyperedge(&f, n->out[i]));
    out->graph = (qdq_mincut_graph){
        .n_bits = s->n_groups, .hyperedge = f.hyperedges.at, .n_hyperedges = f.hyperedges.n};
    return QDQ_OK;
}

/* --- a profile, attributed to decisions and to the tensors between them ----------------------- */

static void add_time(qdq_mincut_time *to, double us, double rows)
{
    to->us += us;
    to->rows += rows;
}

/* Adds kernels to their decisions, and copies and epilogues with layers of their own to their
 * tensor. */
static void add_node_times(const qdq_space *s, const qdq_hyperedge_map *hyperedges,
                           const qdq_tune_times *times, qdq_mincut_profile *out)
{
    QDQ_FOR_NODES (n, s->clean->graph) {
        const uint32_t first = s->first_group[n->id];
        if (first == QDQ_NO_GROUP) {
            if (hyperedges->within[n->id] != QDQ_NO_HYPEREDGE)
                add_time(&out->hyperedge[hyperedges->within[n->id]], times->own[n->id],
                         times->rows[n->id]);
            continue;
        }
        const double beside = (double)qdq_space_groups_beside(s, first);
        for (size_t g = first; g < s->n_groups && s->group[g].node == n; g++)
            add_time(&out->own[g], times->own[n->id] / beside, times->rows[n->id] / beside);
    }
}

/* The remainder belongs to no decision: nodes that stay float, and layers without a name. */
void qdq_tune_sum_costs(const qdq_space *s, const qdq_hyperedge_map *hyperedges,
                        const qdq_tune_times *times, qdq_mincut_profile *out)
{
    add_node_times(s, hyperedges, times, out);
    for (size_t i = 0; i < s->clean->graph->values.n; i++)
        if (hyperedges->of[i] != QDQ_NO_HYPEREDGE)
            add_time(&out->hyperedge[hyperedges->of[i]], times->converted[i],
                     times->conversions[i]);
    out->remainder = (qdq_mincut_time){times->sum, times->n_rows};
    for (size_t i = 0; i < hyperedges->graph.n_bits; i++)
        add_time(&out->remainder, -out->own[i].us, -out->own[i].rows);
    for (size_t i = 0; i < hyperedges->graph.n_hyperedges; i++)
        add_time(&out->remainder, -out->hyperedge[i].us, -out->hyperedge[i].rows);
    out->remainder.us = fmax(out->remainder.us, 0);
}
