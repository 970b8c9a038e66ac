/* baseline_names.c - a plan for one graph in the names of another one of the same network. Tools
 * rename what they take apart, drop and put back (ONNX Runtime's takes out a Relu, and its Conv
 * gives the Relu's result), and cleaning fuses: nodes are matched by name or result, and where that
 * fails by what they read. */
#include <string.h>

#include "base/fail.h"
#include "tune/baseline/baseline.h"

typedef struct renaming {
    const qdq_graph *from, *to;
    qdq_arena arena;
    /* label -> node */
    qdq_map from_labels, to_labels;
    /* by id of a node of `from`: that of `to`; NULL: none */
    const qdq_node **node;
    /* the same */
    const qdq_value **value;
    /* by id of a node of `to` */
    bool *taken;
    size_t *removed;
    qdq_plan *out;
} renaming;

/* --- which node is which ---------------------------------------------------------------------- */

static const qdq_node *by_label(renaming *r, const qdq_node *n)
{
    const char *label = qdq_node_label(n, &r->arena);
    const qdq_node *other = label != NULL ? qdq_map_get_ptr(&r->to_labels, label) : NULL;

    return other != NULL && strcmp(other->type, n->type) == 0 && !r->taken[other->id] ? other
                                                                                      : NULL;
}

/* Tools that name nodes leave the names of tensors alone. */
static const qdq_node *by_output(const renaming *r, const qdq_node *n)
{
    const qdq_value *y = qdq_node_out(n, 0),
                    *mine = y != NULL && y->name != NULL ? qdq_graph_find(r->to, y->name) : NULL;
    const qdq_node *other = mine != NULL ? mine->producer : NULL;

    return other != NULL && qdq_node_out(other, 0) == mine && strcmp(other->type, n->type) == 0 &&
                   !r->taken[other->id]
               ? other
               : NULL;
}

static bool reads_the_same(const renaming *r, const qdq_node *n, const qdq_node *other)
{
    for (uint32_t i = 0; i < n->n_in && i < other->n_in; i++) {
        const qdq_value *v = qdq_node_in(n, i),
                        *mine = v != NULL && v->graph == r->from ? r->value[v->id] : NULL;
        if (mine != NULL && mine != qdq_node_in(other, i))
            return false;
    }
    return true;
}

/* Of one kind; import puts a Relu back where a tool took a Clip out, whose upper end codes do not
 * tell, and tools make a MatMul and an Add a Gemm. */
static bool is_equivalent(const qdq_node *n, const qdq_node *other)
{
    const bool clip = QDQ_OP_IS_IN(n->op, QDQ_OP_RELU, QDQ_OP_CLIP) &&
                      QDQ_OP_IS_IN(other->op, QDQ_OP_RELU, QDQ_OP_CLIP),
               product = n->op == QDQ_OP_GEMM && other->op == QDQ_OP_MATMUL &&
                         qdq_node_int(n, "transA", 0) == 0 && qdq_node_int(n, "transB", 0) == 0;

    return clip || product || strcmp(n->type, other->type) == 0;
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
            if (u->node->graph == r->to && u->index == i && is_equivalent(n, u->node) &&
                !r->taken[u->node->id] && reads_the_same(r, n, u->node))
                return u->node;
        return NULL;
    }
    return NULL;
}

static bool is_const(const qdq_value *v)
{
    return v != NULL && qdq_value_const(v) != NULL;
}

/* Does n move or shift its one input that is computed, so that cleaning may take it out or put it
 * elsewhere? */
static bool may_vanish(const qdq_node *n)
{
    if (QDQ_OP_IS_IN(n->op, QDQ_OP_ADD, QDQ_OP_SUB, QDQ_OP_MUL, QDQ_OP_DIV))
        return is_const(qdq_node_in(n, 0)) != is_const(qdq_node_in(n, 1));
    return QDQ_OP_IS_IN(n->op, QDQ_OP_RELU, QDQ_OP_CLIP, QDQ_OP_IDENTITY, QDQ_OP_TRANSPOSE,
                        QDQ_OP_BATCHNORMALIZATION, QDQ_OP_RESHAPE);
}

/* A node that cleaning dropped, folded into the weights in front of it, or moved, gives what it
 * reads. */
static void look_through(renaming *r, const qdq_node *n)
{
    const qdq_value *x = qdq_node_in(n, 0), *y = qdq_node_out(n, 0);

    if (y == NULL || x == NULL || !may_vanish(n))
        return;
    x = is_const(x) ? qdq_node_in(n, 1) : x;
    if (x != NULL && x->graph == r->from)
        r->value[y->id] = r->value[x->id];
}

static void match_node(renaming *r, const qdq_node *n)
{
    const qdq_node *other = by_label(r, n);

    if (other == NULL)
        other = by_output(r, n);
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

/* Inputs and constants have their names in both. */
static void match_all(renaming *r)
{
    for (size_t i = 0; i < r->from->values.n; i++) {
        const qdq_value *v = r->from->values.at[i];
        if (!v->dead && v->producer == NULL && v->name != NULL)
            r->value[v->id] = qdq_graph_find(r->to, v->name);
    }
    QDQ_FOR_NODES (n, r->from)
        match_node(r, n);
}

/* --- the plan --------------------------------------------------------------------------------- */

/* An edge in the other graph, whose value is the tensor there. */
typedef struct place {
    /* NULL: the graph's output */
    const qdq_node *node;
    uint32_t input;
    const qdq_value *value;
    /* by an entry */
    bool taken;
} place;

typedef QDQ_VEC(place) places;

/* The input of `other` that is input i of n: cleaning has constants last. */
static uint32_t input_of(const renaming *r, const qdq_node *n, uint32_t i, const qdq_node *other)
{
    const qdq_value *v = qdq_node_in(n, i),
                    *mine = v != NULL && v->graph == r->from ? r->value[v->id] : NULL;
    const bool swaps = i < 2 && other->n_in == 2 && (n->op == QDQ_OP_ADD || n->op == QDQ_OP_MUL);

    if (!swaps || qdq_node_in(other, i) == mine)
        return i;
    return qdq_node_in(other, 1 - i) == mine || is_const(qdq_node_in(other, i)) != is_const(v)
               ? 1 - i
               : i;
}

static bool add_place(renaming *r, places *all, const qdq_node *n, uint32_t input)
{
    const qdq_node *other = r->node[n->id];
    const uint32_t i = other != NULL ? input_of(r, n, input, other) : 0;
    const place at = {other, i, other != NULL ? qdq_node_in(other, i) : NULL, false};

    if (at.value != NULL && is_const(at.value) == is_const(qdq_node_in(n, input)))
        return QDQ_PUSH(&r->arena, all, at);
    ++*r->removed;
    return true;
}

static bool add_listed(renaming *r, const qdq_edges *list, places *all)
{
    for (size_t i = 0; i < list->n; i++) {
        const qdq_map_value *n = qdq_map_get(&r->from_labels, list->at[i].node);
        if (n != NULL && !add_place(r, all, n->ptr, list->at[i].input))
            return false;
    }
    return true;
}

static bool add_readers(renaming *r, const qdq_value *v, places *all)
{
    const qdq_value *mine = r->value[v->id];
    const place output = {NULL, 0, mine, false};

    QDQ_FOR_USES (u, v)
        if (u->node->graph == r->from && !add_place(r, all, u->node, u->index))
            return false;
    return v->n_output == 0 || mine == NULL || mine->n_output == 0 ||
           QDQ_PUSH(&r->arena, all, output);
}

/* Takes the places of one value; *every: these are all that read it. */
static bool take_places(renaming *r, places *all, const qdq_value *v, qdq_edges *to, bool *every)
{
    size_t n = 0;
    bool output = false;

    *to = (qdq_edges){0};
    for (size_t i = 0; i < all->n; i++) {
        place *at = &all->at[i];
        const char *label;
        if (at->value != v || at->taken)
            continue;
        at->taken = true;
        output = output || at->node == NULL;
        n += at->node != NULL;
        label = at->node != NULL ? qdq_node_label(at->node, &r->out->arena) : "";
        if (label == NULL || (at->node != NULL && !qdq_plan_add_edge(r->out, to, label, at->input)))
            return false;
    }
    *every = n == v->n_use && output == (v->n_output > 0);
    return true;
}

/* An entry for each tensor there. */
static bool add_tensor(renaming *r, const qdq_plan_tensor *t, places *all)
{
    for (size_t i = 0; i < all->n; i++) {
        qdq_plan_tensor own = *t;
        if (all->at[i].taken)
            continue;
        own.tensor = all->at[i].value->name;
        if (!take_places(r, all, all->at[i].value, &own.consumers, &own.all))
            return false;
        if (own.all)
            own.consumers = (qdq_edges){0};
        if ((own.all || own.consumers.n > 0) && !QDQ_PUSH(&r->out->arena, &r->out->tensors, own))
            return false;
    }
    return true;
}

static bool add_weight(renaming *r, const qdq_plan_weight *w, places *all)
{
    for (size_t i = 0; i < all->n; i++) {
        qdq_plan_weight own = *w;
        bool every;
        if (all->at[i].taken)
            continue;
        own.tensor = all->at[i].value->name;
        if (!take_places(r, all, all->at[i].value, &own.consumers, &every) ||
            !QDQ_PUSH(&r->out->arena, &r->out->weights, own))
            return false;
    }
    return true;
}

/* What bodies read has its name in both. */
static bool is_of_main_graph(const renaming *r, const qdq_plan_tensor *t)
{
    const qdq_value *v = qdq_graph_find(r->from, t->tensor);

    if (!t->all)
        return t->consumers.n > 0 && qdq_map_get(&r->from_labels, t->consumers.at[0].node) != NULL;
    if (v == NULL)
        return false;
    QDQ_FOR_USES (u, v)
        if (u->node->graph != r->from)
            return false;
    return true;
}

static bool add_entries(renaming *r, const qdq_plan *p)
{
    for (size_t i = 0; i < p->tensors.n; i++) {
        const qdq_plan_tensor *t = &p->tensors.at[i];
        places all = {0};
        bool ok;
        if (!is_of_main_graph(r, t))
            ok = QDQ_PUSH(&r->out->arena, &r->out->tensors, *t);
        else
            ok = (t->all ? add_readers(r, qdq_graph_find(r->from, t->tensor), &all)
                         : add_listed(r, &t->consumers, &all)) &&
                 add_tensor(r, t, &all);
        if (!ok)
            return false;
    }
    for (size_t i = 0; i < p->weights.n; i++) {
        places all = {0};
        if (!add_listed(r, &p->weights.at[i].consumers, &all) ||
            !add_weight(r, &p->weights.at[i], &all))
            return false;
    }
    return true;
}

static bool begin_renaming(renaming *r)
{
    r->node =
        qdq_arena_array(&r->arena, (size_t)r->from->next_node_id + 1, sizeof(const qdq_node *));
    r->taken = qdq_arena_array(&r->arena, (size_t)r->to->next_node_id + 1, sizeof *r->taken);
    r->value = qdq_arena_array(&r->arena, r->from->values.n + 1, sizeof(const qdq_value *));
    r->out = qdq_plan_new();
    return r->node != NULL && r->taken != NULL && r->value != NULL && r->out != NULL &&
           qdq_graph_map_labels(r->from, &r->arena, &r->from_labels) &&
           qdq_graph_map_labels(r->to, &r->arena, &r->to_labels);
}

qdq_status qdq_baseline_rename(const qdq_plan *p, const qdq_model *of, const qdq_model *clean,
                               qdq_plan **out, size_t *removed, qdq_error *err)
{
    renaming r = {
        .from = of->graph, .to = clean->graph, .arena = QDQ_ARENA_INIT, .removed = removed};
    bool ok = begin_renaming(&r);

    *removed = 0;
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
