/* hyperedges.c - see the header. */
#include "tune/mincut/hyperedges.h"

#include <string.h>

#include "base/fail.h"
#include "target/target.h"

typedef struct finder {
    const qdq_space *s;
    qdq_arena *arena;
    qdq_nets *out;
    QDQ_VEC(qdq_hyperedge) nets;
    QDQ_VEC(uint32_t) readers; /* of the tensor at hand */
    qdq_error *err;
} finder;

/* Does it move what it reads there, in float or in codes? */
static bool copies(const qdq_space *s, const qdq_node *n, uint32_t input)
{
    const qdq_target_op *op = qdq_target_find(s->target, n->type);

    return op != NULL && op->kind == QDQ_KIND_PASS && op->data == input;
}

static bool is_in(const char *const *list, const char *word)
{
    for (size_t i = 0; list != NULL && list[i] != NULL; i++)
        if (strcmp(list[i], word) == 0)
            return true;
    return false;
}

static bool others_are_constant(const qdq_node *n, uint32_t input)
{
    for (uint32_t i = 0; i < n->n_in; i++)
        if (i != input && qdq_node_in(n, i) != NULL && qdq_value_const(qdq_node_in(n, i)) == NULL)
            return false;
    return true;
}

/* Does the kernel of `root` do it, too? An activation, or a bias behind a product; on targets with
 * partitions any pointwise operator, whatever else it reads. */
static bool is_epilogue(const qdq_space *s, const qdq_node *root, const qdq_node *n, uint32_t input)
{
    const qdq_target_op *op = root != NULL ? qdq_target_find(s->target, root->type) : NULL;
    const qdq_partitions *parts = s->target->partitions;

    if (op == NULL || s->first_group[root->id] == QDQ_NO_GROUP ||
        qdq_value_only_user(qdq_node_in(n, input)) != n)
        return false;
    if (parts != NULL)
        return qdq_space_group_of(s, n, input) == QDQ_NO_GROUP &&
               (is_in(parts->pointwise, n->type) || is_in(parts->behind_convolution, n->type));
    return s->first_group[n->id] == QDQ_NO_GROUP && others_are_constant(n, input) &&
           (is_in(op->epilogue, n->type) ||
            (op->bias == QDQ_BIAS_ADD_IF_STATIC && n->op == QDQ_OP_ADD));
}

/* Float32 elements; 0: unknown. */
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

/* What the node gives is of the same tensor. */
static bool go_through(finder *f, const qdq_node *n, uint32_t net, value_list *todo)
{
    f->out->within[n->id] = net;
    for (uint32_t i = 0; i < n->n_out; i++)
        if (n->out[i] != NULL && f->out->of[n->out[i]->id] == QDQ_NO_NET &&
            !QDQ_PUSH(f->arena, todo, n->out[i]))
            return false;
    return true;
}

/* All that reads a value, also behind what goes with it. */
static bool add_readers(finder *f, const qdq_value *first, uint32_t net)
{
    value_list todo = {0};

    if (!QDQ_PUSH(f->arena, &todo, first))
        return false;
    for (size_t at = 0; at < todo.n; at++) {
        const qdq_value *v = todo.at[at];
        f->out->of[v->id] = net;
        if (v->n_output > 0 && !add_reader(f, QDQ_CUT_FLOAT))
            return false;
        QDQ_FOR_USES (u, v) {
            const bool inside = u->node->graph == f->s->clean->graph;
            if (inside && (copies(f->s, u->node, u->index) ||
                           is_epilogue(f->s, first->producer, u->node, u->index))) {
                if (!go_through(f, u->node, net, &todo))
                    return false;
            } else if (!add_reader(f, inside ? bit_of(qdq_space_group_of(f->s, u->node, u->index))
                                             : QDQ_CUT_FLOAT)) {
                return false;
            }
        }
    }
    return true;
}

/* Whose codes it may be. Some kernels give floats whatever they read: then codes are made by a Q
 * behind them, and no DQ is needed where floats are read. */
static uint32_t giver_of(const finder *f, const qdq_node *n)
{
    const qdq_target_op *op = n != NULL ? qdq_target_find(f->s->target, n->type) : NULL;

    if (op == NULL)
        return QDQ_CUT_FLOAT;
    return op->quantize_output || op->quantize_if_read || f->s->target->partitions != NULL
               ? bit_of(f->s->first_group[n->id])
               : QDQ_CUT_FLOAT;
}

static qdq_status add_net(finder *f, const qdq_value *v)
{
    qdq_hyperedge net = {.bytes = bytes_of(v), .from = giver_of(f, v->producer)};

    if (v->init != NULL || v->sparse != NULL || f->out->of[v->id] != QDQ_NO_NET)
        return QDQ_OK;
    f->readers.at = NULL;
    f->readers.n = f->readers.cap = 0;
    if (!add_readers(f, v, (uint32_t)f->nets.n))
        return qdq_nomem(f->err);
    net.to = f->readers.at;
    net.n_to = f->readers.n;
    return QDQ_PUSH(f->arena, &f->nets, net) ? QDQ_OK : qdq_nomem(f->err);
}

qdq_status qdq_nets_find(const qdq_space *s, qdq_arena *arena, qdq_nets *out, qdq_error *err)
{
    const qdq_graph *g = s->clean->graph;
    finder f = {.s = s, .arena = arena, .out = out, .err = err};

    *out = (qdq_nets){.of = qdq_arena_array(arena, g->values.n + 1, sizeof *out->of),
                      .within =
                          qdq_arena_array(arena, (size_t)g->next_node_id + 1, sizeof *out->within)};
    if (out->of == NULL || out->within == NULL)
        return qdq_nomem(err);
    memset(out->of, 0xff, (g->values.n + 1) * sizeof *out->of);
    memset(out->within, 0xff, ((size_t)g->next_node_id + 1) * sizeof *out->within);
    for (size_t i = 0; i < g->inputs.n; i++)
        QDQ_TRY(add_net(&f, g->inputs.at[i]));
    QDQ_FOR_NODES (n, g)
        for (uint32_t i = 0; i < n->n_out; i++)
            if (n->out[i] != NULL)
                QDQ_TRY(add_net(&f, n->out[i]));
    out->graph = (qdq_mincut_graph){.n_bits = s->n_groups, .net = f.nets.at, .n_nets = f.nets.n};
    return QDQ_OK;
}
