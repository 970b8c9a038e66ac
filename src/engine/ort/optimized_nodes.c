/* optimized_nodes.c - every tensor of the optimized graph is told which tensor of the source it
 * holds, in whatever layout; then a node computes what lies between the tensors that it gives and
 * those that are there without it. */
#include "engine/ort/optimized_nodes.h"

#include <string.h>

#include "base/fail.h"
#include "base/words.h"

typedef struct matcher {
    const qdq_graph *source, *optimized;
    qdq_arena *arena;
    /* of the source */
    qdq_layer_index names;
    /* by value id of `optimized`: the tensor of the source; NULL: unknown */
    const qdq_value **holds;
    /* by value id of `source`: the optimized graph has it, too */
    bool *present;
} matcher;

static const qdq_value *held(const matcher *m, const qdq_value *v)
{
    return v != NULL && v->graph == m->optimized ? m->holds[v->id] : NULL;
}

static qdq_layer_owner owner_of(const matcher *m, const char *name, bool *good)
{
    char *own = qdq_arena_strdup(m->arena, name);
    qdq_layer_owner none = {0};

    *good = *good && own != NULL;
    return own != NULL ? qdq_layer_find_ending(&m->names, own) : none;
}

/* --- which nodes came with the optimization --------------------------------------------------- */

/* Operators that hand on what they read in another form. */
static bool moves(const qdq_node *n)
{
    return QDQ_WORD_IS_IN(n->type, "ReorderInput", "ReorderOutput", "Transpose", "Reshape",
                          "Squeeze", "Unsqueeze", "Cast", "Identity", "QuantizeLinear",
                          "DequantizeLinear", "MemcpyFromHost", "MemcpyToHost");
}

static const qdq_node *same_node(const matcher *m, const qdq_node *n)
{
    qdq_layer_owner o = n->name[0] != '\0' ? qdq_layer_find(&m->names, n->name, strlen(n->name))
                                           : (qdq_layer_owner){0};

    if (o.node != NULL && o.value == NULL && strcmp(o.node->type, n->type) == 0)
        return o.node;
    const qdq_value *v =
        n->n_out > 0 && n->out[0] != NULL ? qdq_graph_find(m->source, n->out[0]->name) : NULL;
    return v != NULL && v->producer != NULL && strcmp(v->producer->type, n->type) == 0 ? v->producer
                                                                                       : NULL;
}

static bool is_inserted(const matcher *m, const qdq_node *n)
{
    return moves(n) && same_node(m, n) == NULL;
}

/* --- which tensor is which -------------------------------------------------------------------- */

/* By their own names, with endings cut. */
static bool match_by_name(matcher *m, const qdq_node *n)
{
    bool good = true;

    for (uint32_t i = 0; i < n->n_out; i++) {
        const qdq_value *v = n->out[i];
        if (v == NULL || m->holds[v->id] != NULL)
            continue;
        qdq_layer_owner o = owner_of(m, v->name, &good);
        m->holds[v->id] = o.value;
    }
    return good;
}

static const qdq_value *behind(const qdq_value *v, const char *type)
{
    const qdq_node *n = v != NULL ? qdq_value_only_user(v) : NULL;

    return n != NULL && n->n_out > 0 && n->out[0] != NULL && strcmp(n->type, type) == 0 ? n->out[0]
                                                                                        : v;
}

/* A Conv in a layout takes in an Add and an activation, and keeps its name. */
static const qdq_value *behind_epilogue(const qdq_node *n, const qdq_value *v)
{
    const uint32_t sum = 3; /* the input that is added */
    const qdq_attr *activation = qdq_node_attr(n, "activation");
    char type[32];

    if (strcmp(n->type, "Conv") != 0 || n->domain[0] == '\0')
        return v;
    if (qdq_node_in(n, sum) != NULL)
        v = behind(v, "Add");
    if (activation == NULL || activation->type != QDQ_ATTR_STRING ||
        activation->v.s.size >= sizeof type)
        return v;
    memcpy(type, activation->v.s.data, activation->v.s.size);
    type[activation->v.s.size] = '\0';
    return behind(v, type);
}

/* By the node's name: layouts rename tensors to "reorder_token_7", but call the node after what it
 * gave before; a tensor that is transposed on its way may be called as the node, too. */
static bool match_by_node(matcher *m, const qdq_node *n)
{
    const qdq_value *v = qdq_node_out(n, 0);
    bool good = true;

    if (v == NULL || m->holds[v->id] != NULL || is_inserted(m, n))
        return true;
    qdq_layer_owner o = owner_of(m, n->name[0] != '\0' ? n->name : v->name, &good);
    if (o.value == NULL && o.node != NULL)
        o.value = qdq_node_out(o.node, 0);
    if (o.value != NULL)
        m->holds[v->id] = behind_epilogue(n, o.value);
    return good;
}

/* Through an inserted node, from what is known on one side of it to the other. */
static void match_through(matcher *m, const qdq_node *n, bool forward)
{
    const qdq_value *in = qdq_node_in(n, 0), *out = qdq_node_out(n, 0);

    if (in == NULL || out == NULL || in->graph != m->optimized || !is_inserted(m, n))
        return;
    if (forward && m->holds[out->id] == NULL)
        m->holds[out->id] = m->holds[in->id];
    else if (!forward && m->holds[in->id] == NULL)
        m->holds[in->id] = m->holds[out->id];
}

static void match_backward(matcher *m)
{
    for (const qdq_node *n = m->optimized->end.prev; n != &m->optimized->end; n = n->prev)
        if (!n->dead)
            match_through(m, n, false);
}

/* What is behind an inserted node tells more than the name of the node in front: that is older than
 * what was fused since. */
static qdq_status match_tensors(matcher *m, qdq_error *err)
{
    for (size_t i = 0; i < m->optimized->values.n; i++) {
        const qdq_value *v = m->optimized->values.at[i];
        if (!v->dead)
            m->holds[v->id] = qdq_graph_find(m->source, v->name);
    }
    QDQ_FOR_NODES (n, m->optimized)
        QDQ_NEED(match_by_name(m, n), err);
    match_backward(m);
    QDQ_FOR_NODES (n, m->optimized)
        QDQ_NEED(match_by_node(m, n), err);
    match_backward(m);
    QDQ_FOR_NODES (n, m->optimized)
        match_through(m, n, true);
    for (size_t i = 0; i < m->optimized->values.n; i++) {
        const qdq_value *v = m->optimized->values.at[i];
        if (!v->dead && m->holds[v->id] != NULL)
            m->present[m->holds[v->id]->id] = true;
    }
    return QDQ_OK;
}

/* --- what a node computes --------------------------------------------------------------------- */

static bool reads(const matcher *m, const qdq_node *n, const qdq_value *v)
{
    for (uint32_t i = 0; i < n->n_in; i++)
        if (held(m, qdq_node_in(n, i)) == v)
            return true;
    return false;
}

/* No tensor of it is known, but its name is. */
static qdq_status find_by_name(const matcher *m, qdq_optimized_node *o, qdq_error *err)
{
    bool good = true;
    const qdq_node *n = owner_of(m, o->node->name, &good).node;

    if (good && n != NULL && qdq_layer_is_core(o->node->type, n)) {
        good = QDQ_PUSH(m->arena, &o->nodes, n);
        o->source = QDQ_LAYER_EXACT;
    }
    return good ? QDQ_OK : qdq_nomem(err);
}

static qdq_status find_nodes(matcher *m, qdq_optimized_node *o, qdq_error *err)
{
    const qdq_node *n = o->node;
    const qdq_value **to = qdq_arena_array(m->arena, (size_t)n->n_out + 1, sizeof(qdq_value *));
    size_t n_to = 0;

    QDQ_NEED(to != NULL, err);
    for (uint32_t i = 0; i < n->n_out; i++) {
        const qdq_value *v = held(m, n->out[i]);
        if (v != NULL && v->producer != NULL && !reads(m, n, v))
            to[n_to++] = v;
    }
    QDQ_TRY(qdq_layer_slice(&m->names, to, n_to, m->present, m->arena, &o->nodes, err));
    if (o->nodes.n == 0)
        return o->conversion ? QDQ_OK : find_by_name(m, o, err);
    o->source =
        o->nodes.n == 1 && o->nodes.at[0] == same_node(m, n) ? QDQ_LAYER_EXACT : QDQ_LAYER_SLICE;
    return QDQ_OK;
}

static qdq_status find_all(matcher *m, qdq_optimized_node *o, qdq_error *err)
{
    QDQ_TRY(match_tensors(m, err));
    QDQ_FOR_NODES (n, m->optimized) {
        *o = (qdq_optimized_node){.node = n};
        o->conversion = is_inserted(m, n) || n->op == QDQ_OP_QUANTIZELINEAR ||
                        n->op == QDQ_OP_DEQUANTIZELINEAR || n->op == QDQ_OP_CAST;
        QDQ_TRY(find_nodes(m, o, err));
        o++;
    }
    return QDQ_OK;
}

qdq_status qdq_optimized_nodes(const qdq_graph *source, const qdq_graph *optimized,
                               qdq_arena *arena, qdq_optimized_node **out, size_t *n,
                               qdq_error *err)
{
    matcher m = {.source = source, .optimized = optimized, .arena = arena};

    *n = optimized->n_node;
    *out = qdq_arena_array(arena, *n + 1, sizeof **out);
    m.holds = qdq_arena_array(arena, optimized->values.n + 1, sizeof(qdq_value *));
    m.present = qdq_arena_array(arena, source->values.n + 1, sizeof *m.present);
    QDQ_NEED(*out != NULL && m.holds != NULL && m.present != NULL, err);
    qdq_status st = qdq_layer_index_make(&m.names, source, arena, err);
    if (st == QDQ_OK)
        st = find_all(&m, *out, err);
    qdq_layer_index_free(&m.names);
    return st;
}
