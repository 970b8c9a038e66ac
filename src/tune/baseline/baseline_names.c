/* baseline_names.c - a plan for one graph in the names of another one of the same network. Tools rename what they take apart, drop and put
 * back (ONNX Runtime's takes out a Relu, and its Conv gives the Relu's result), and cleaning fuses: nodes are matched by name, and where
 * that fails by what they read. */
#include "tune/baseline/baseline.h"

#include <string.h>

#include "base/fail.h"

typedef struct renaming {
    const qdq_graph *from, *to;
    qdq_arena arena;
    qdq_map from_labels, to_labels; /* label -> node */
    const qdq_node **node;          /* by id of a node of `from`: that of `to`; NULL: none */
    const qdq_value **value;        /* likewise */
    bool *taken;                    /* by id of a node of `to` */
    qdq_plan *out;
} renaming;

/* --- which node is which ------------------------------------------------------------------------------------------------ */

static const qdq_node *by_label(renaming *r, const qdq_node *n)
{
    const char *label = qdq_node_label(n, &r->arena);
    const qdq_map_value *v = label != NULL ? qdq_map_get(&r->to_labels, label) : NULL;
    const qdq_node *other = v != NULL ? v->ptr : NULL;

    return other != NULL && strcmp(other->type, n->type) == 0 && !r->taken[other->id] ? other : NULL;
}

static bool reads_the_same(const renaming *r, const qdq_node *n, const qdq_node *other)
{
    for (uint32_t i = 0; i < n->n_in; i++) {
        const qdq_value *v = qdq_node_in(n, i),
                        *mine = v != NULL && v->graph == r->from ? r->value[v->id] : NULL;
        if (mine != NULL && mine != qdq_node_in(other, i))
            return false;
    }
    return true;
}

/* Of one kind; import puts a Relu back where a tool took a Clip out, whose upper end codes do not tell. */
static bool is_alike(const qdq_node *n, const qdq_node *other)
{
    const bool clips = (n->op == QDQ_OP_RELU || n->op == QDQ_OP_CLIP) &&
                       (other->op == QDQ_OP_RELU || other->op == QDQ_OP_CLIP);

    return clips || strcmp(n->type, other->type) == 0;
}

/* The first reader of what n reads that is of its kind. */
static const qdq_node *by_inputs(const renaming *r, const qdq_node *n)
{
    for (uint32_t i = 0; i < n->n_in; i++) {
        const qdq_value *v = qdq_node_in(n, i),
                        *mine = v != NULL && v->graph == r->from ? r->value[v->id] : NULL;
        if (mine == NULL || qdq_value_const(mine) != NULL)
            continue;
        QDQ_FOR_USES (u, mine)
            if (u->node->graph == r->to && u->index == i && is_alike(n, u->node) && !r->taken[u->node->id] &&
                reads_the_same(r, n, u->node))
                return u->node;
        return NULL;
    }
    return NULL;
}

/* A Relu that cleaning dropped, or moved behind a MaxPool, gives what it reads. */
static void look_through(renaming *r, const qdq_node *n)
{
    const qdq_value *x = qdq_node_in(n, 0), *y = qdq_node_out(n, 0);

    if ((n->op == QDQ_OP_RELU || n->op == QDQ_OP_CLIP) && x != NULL && x->graph == r->from && y != NULL)
        r->value[y->id] = r->value[x->id];
}

static void match(renaming *r, const qdq_node *n)
{
    const qdq_node *other = by_label(r, n);

    if (other == NULL)
        other = by_inputs(r, n);
    r->node[n->id] = other;
    if (other == NULL) {
        look_through(r, n);
        return;
    }
    r->taken[other->id] = true;
    for (uint32_t i = 0; i < n->n_out && i < other->n_out; i++)
        if (n->out[i] != NULL && other->out[i] != NULL)
            r->value[n->out[i]->id] = other->out[i];
}

/* What nobody computes has its name in both. */
static void match_all(renaming *r)
{
    for (size_t i = 0; i < r->from->values.n; i++) {
        const qdq_value *v = r->from->values.at[i];
        if (!v->dead && v->producer == NULL && v->name != NULL)
            r->value[v->id] = qdq_graph_find(r->to, v->name);
    }
    QDQ_FOR_NODES (n, r->from)
        match(r, n);
}

/* --- the plan ------------------------------------------------------------------------------------------------------------ */

static const char *name_of(const renaming *r, const char *name)
{
    const qdq_value *v = qdq_graph_find(r->from, name);
    const qdq_value *other = v != NULL ? r->value[v->id] : NULL;

    return other != NULL && other->name != NULL ? other->name : name;
}

static bool add_edges(renaming *r, const qdq_edges *from, qdq_edges *to)
{
    *to = (qdq_edges){0};
    for (size_t i = 0; i < from->n; i++) {
        const qdq_map_value *v = qdq_map_get(&r->from_labels, from->at[i].node);
        const qdq_node *n = v != NULL ? r->node[((const qdq_node *)v->ptr)->id] : NULL;
        const char *label = n != NULL ? qdq_node_label(n, &r->out->arena) : from->at[i].node;
        if (label == NULL || !qdq_plan_add_edge(r->out, to, label, from->at[i].input))
            return false;
    }
    return true;
}

static bool add_entries(renaming *r, const qdq_plan *p)
{
    for (size_t i = 0; i < p->tensors.n; i++) {
        qdq_plan_tensor t = p->tensors.at[i];
        t.tensor = name_of(r, t.tensor);
        if (!add_edges(r, &p->tensors.at[i].consumers, &t.consumers) ||
            !QDQ_PUSH(&r->out->arena, &r->out->tensors, t))
            return false;
    }
    for (size_t i = 0; i < p->weights.n; i++) {
        qdq_plan_weight w = p->weights.at[i];
        w.tensor = name_of(r, w.tensor);
        if (!add_edges(r, &p->weights.at[i].consumers, &w.consumers) ||
            !QDQ_PUSH(&r->out->arena, &r->out->weights, w))
            return false;
    }
    return true;
}

static bool begin(renaming *r)
{
    r->node = qdq_arena_array(&r->arena, (size_t)r->from->next_node_id + 1, sizeof(const qdq_node *));
    r->taken = qdq_arena_array(&r->arena, (size_t)r->to->next_node_id + 1, sizeof *r->taken);
    r->value = qdq_arena_array(&r->arena, r->from->values.n + 1, sizeof(const qdq_value *));
    r->out = qdq_plan_new();
    return r->node != NULL && r->taken != NULL && r->value != NULL && r->out != NULL &&
           qdq_graph_map_labels(r->from, &r->arena, &r->from_labels) &&
           qdq_graph_map_labels(r->to, &r->arena, &r->to_labels);
}

qdq_status qdq_baseline_rename(const qdq_plan *p, const qdq_model *of, const qdq_model *clean, qdq_plan **out,
                               qdq_error *err)
{
    renaming r = {.from = of->graph, .to = clean->graph, .arena = QDQ_ARENA_INIT};
    bool ok = begin(&r);

    if (ok) {
        match_all(&r);
        ok = add_entries(&r, p);
    }
    qdq_map_free(&r.from_labels);
    qdq_map_free(&r.to_labels);
    qdq_arena_free(&r.arena);
    *out = ok ? r.out : NULL;
    if (!ok)
        qdq_plan_free(r.out);
    return ok ? QDQ_OK : qdq_nomem(err);
}
