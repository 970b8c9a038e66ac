/* edit_node.c - edits of nodes: birth, operands, attributes, order, death. */
#include "ir/edit.h"
#include "ir/name.h"
#include "ir/use.h"

#include <assert.h>
#include <string.h>

/* Arrays of nodes have no capacity field: room is always a power of two, so a full one is seen by
 * its count. An array that was trimmed is then grown a little too early, which costs memory and
 * nothing else. */
static uint32_t room_for(uint32_t n)
{
    uint32_t room = 1;

    while (room < n)
        room *= 2;
    return n == 0 ? 0 : room;
}

static bool is_full(uint32_t n)
{
    return (n & (n - 1)) == 0;
}

static bool grow(qdq_node *n, void **at, uint32_t used, size_t elem_size)
{
    void *bigger;

    if (!is_full(used))
        return true;
    if (used >= UINT32_MAX / 2)
        return false;
    bigger = qdq_arena_array(&n->graph->model->arena, used == 0 ? 1 : (size_t)used * 2, elem_size);
    if (bigger == NULL)
        return false;
    if (used > 0)
        memcpy(bigger, *at, used * elem_size);
    *at = bigger;
    return true;
}

/* --- birth ------------------------------------------------------------------------------------ */

static void link_before(qdq_node *n, qdq_node *before)
{
    n->next = before;
    n->prev = before->prev;
    n->prev->next = n;
    before->prev = n;
}

static bool make_outputs(qdq_node *n, uint32_t n_out, const char *const *names)
{
    for (uint32_t i = 0; i < n_out; i++) {
        qdq_value *v;

        if (names == NULL || names[i] == NULL)
            continue;
        v = qdq_graph_add_value(n->graph, names[i], NULL);
        if (v == NULL)
            return false;
        v->producer = n;
        v->out_index = i;
        n->out[i] = v;
    }
    return true;
}

qdq_node *qdq_graph_add_node(qdq_graph *g, qdq_node *before, const char *domain, const char *type,
                             const char *name, uint32_t n_in, uint32_t n_out,
                             const char *const *out_names)
{
    qdq_model *m = g->model;
    qdq_node *n = qdq_arena_alloc(&m->arena, sizeof *n);

    assert(before == NULL || (before->graph == g && !before->dead));
    if (n == NULL || n_in > UINT32_MAX / 2 || n_out > UINT32_MAX / 2)
        return NULL;
    n->graph = g;
    n->domain = qdq_intern(m, domain);
    n->type = qdq_intern(m, type);
    n->name = qdq_intern(m, name == NULL ? "" : name);
    n->overload = "";
    if (n->domain == NULL || n->type == NULL || n->name == NULL)
        return NULL;
    n->op = qdq_op_find(n->domain, n->type);
    if (n_in > 0 && (n->in = qdq_arena_array(&m->arena, room_for(n_in), sizeof *n->in)) == NULL)
        return NULL;
    if (n_out > 0 &&
        (n->out = qdq_arena_array(&m->arena, room_for(n_out), sizeof(qdq_value *))) == NULL)
        return NULL;
    n->n_in = n_in;
    n->n_out = n_out;
    for (uint32_t i = 0; i < n_in; i++) {
        n->in[i].node = n;
        n->in[i].index = i;
    }
    if (!make_outputs(n, n_out, out_names))
        return NULL;
    n->id = g->next_node_id++;
    link_before(n, before == NULL ? &g->end : before);
    g->n_node++;
    qdq_name_of(n->name)->n_node++;
    qdq_graph_touch(g);
    return n;
}

static qdq_node *add_named(qdq_graph *g, qdq_node *before, const char *domain, const char *type,
                           const char *name, const char *out, uint32_t n_in)
{
    out = qdq_graph_unique_name(g, out);
    if (name[0] != '\0')
        name = qdq_graph_unique_node_name(g, name);
    return out != NULL && name != NULL
               ? qdq_graph_add_node(g, before, domain, type, name, n_in, 1, &out)
               : NULL;
}

qdq_node *qdq_graph_add_op(qdq_graph *g, qdq_node *before, const char *type, const char *name,
                           const char *out, uint32_t n_in, qdq_value *const *in)
{
    qdq_node *n = add_named(g, before, "", type, name, out, n_in);

    for (uint32_t i = 0; n != NULL && i < n_in; i++)
        qdq_node_set_in(n, i, in[i]);
    return n;
}

qdq_node *qdq_node_copy(const qdq_node *n, qdq_graph *g, qdq_node *before)
{
    qdq_node *copy = add_named(g, before, n->domain, n->type, n->name, n->out[0]->name, n->n_in);

    if (copy == NULL || !qdq_node_set_attrs_of(copy, n))
        return NULL;
    for (uint32_t i = 0; i < n->n_in; i++)
        qdq_node_set_in(copy, i, n->in[i].value);
    qdq_value_set_type(copy->out[0], n->out[0]->type);
    return copy;
}

bool qdq_node_set_name(qdq_node *n, const char *name)
{
    const char *interned = qdq_intern(n->graph->model, name);

    if (interned == NULL)
        return false;
    qdq_name_of(n->name)->n_node--;
    qdq_name_of(interned)->n_node++;
    n->name = interned;
    qdq_graph_touch(n->graph);
    return true;
}

void qdq_node_set_rest(qdq_node *n, qdq_span rest)
{
    n->unknown_fields = rest;
    qdq_graph_touch(n->graph);
}

/* All labels first: a name that several nodes share becomes the last one's own. */
bool qdq_graph_name_nodes(qdq_graph *g)
{
    qdq_arena scratch = QDQ_ARENA_INIT;
    const char **label = qdq_arena_array(&scratch, (size_t)g->next_node_id + 1, sizeof *label);
    bool good = label != NULL;

    QDQ_FOR_NODES (n, g)
        if (good && !qdq_node_has_own_name(n)) {
            label[n->id] = qdq_node_label(n, &scratch);
            good = !qdq_node_label_failed(label[n->id]);
        }
    QDQ_FOR_NODES (n, g)
        if (good && label[n->id] != NULL)
            good = qdq_node_set_name(n, label[n->id]);
    qdq_arena_free(&scratch);
    return good;
}

bool qdq_node_set_type(qdq_node *n, const char *domain, const char *type)
{
    const char *d = qdq_intern(n->graph->model, domain), *t = qdq_intern(n->graph->model, type);

    if (d == NULL || t == NULL)
        return false;
    n->domain = d;
    n->type = t;
    n->op = qdq_op_find(d, t);
    qdq_graph_touch(n->graph);
    return true;
}

void qdq_node_move_before(qdq_node *n, qdq_node *before)
{
    qdq_node *at = before == NULL ? &n->graph->end : before;

    assert(!n->dead && at->graph == n->graph && !at->dead);
    if (at == n || n->next == at)
        return;
    n->prev->next = n->next;
    n->next->prev = n->prev;
    link_before(n, at);
    qdq_graph_touch(n->graph);
}

/* --- operands --------------------------------------------------------------------------------- */

void qdq_node_set_in(qdq_node *n, uint32_t i, qdq_value *v)
{
    qdq_use *u;

    assert(!n->dead && i < n->n_in && (v == NULL || !v->dead));
    u = &n->in[i];
    if (u->value == v)
        return;
    if (u->value != NULL)
        qdq_use_unlink(u);
    if (v != NULL)
        qdq_use_link(u, v);
    qdq_graph_touch(n->graph);
}

/* Where a use is after the move: those of the same node, which may be each other's neighbours,
 * moved along. */
static qdq_use *moved(const qdq_node *n, const qdq_use *old, qdq_use *u)
{
    uintptr_t at = (uintptr_t)u, start = (uintptr_t)old;

    if (at < start || at >= start + n->n_in * sizeof *u)
        return u;
    return n->in + (at - start) / sizeof *u;
}

/* The uses of n moved in memory, from `old` to n->in: their lists must follow. */
static void relink_moved(qdq_node *n, const qdq_use *old)
{
    for (uint32_t i = 0; i < n->n_in; i++) {
        qdq_use *u = &n->in[i];

        if (u->value == NULL)
            continue;
        u->prev = moved(n, old, u->prev);
        u->next = moved(n, old, u->next);
        if (u->prev != NULL)
            u->prev->next = u;
        else
            u->value->first = u;
        if (u->next != NULL)
            u->next->prev = u;
        else
            u->value->last = u;
    }
}

bool qdq_node_append_in(qdq_node *n, qdq_value *v)
{
    qdq_use *old = n->in;
    void *at = old;

    if (!grow(n, &at, n->n_in, sizeof *n->in))
        return false;
    n->in = at;
    if (at != old)
        relink_moved(n, old);
    n->in[n->n_in] = (qdq_use){NULL, n, n->n_in, NULL, NULL};
    if (v != NULL)
        qdq_use_link(&n->in[n->n_in], v);
    n->n_in++;
    qdq_graph_touch(n->graph);
    return true;
}

void qdq_node_drop_in(qdq_node *n, uint32_t i)
{
    qdq_value *v = qdq_node_in(n, i);

    if (v == NULL)
        return;
    qdq_node_set_in(n, i, NULL);
    qdq_value_remove_if_unused(v);
}

void qdq_node_trim_in(qdq_node *n)
{
    uint32_t before = n->n_in;

    while (n->n_in > 0 && n->in[n->n_in - 1].value == NULL)
        n->n_in--;
    if (n->n_in != before)
        qdq_graph_touch(n->graph);
}

bool qdq_node_append_out(qdq_node *n, qdq_value *v)
{
    void *at = n->out;

    assert(v == NULL || (v->producer == NULL && v->graph == n->graph && !v->dead));
    if (!grow(n, &at, n->n_out, sizeof(qdq_value *)))
        return false;
    n->out = at;
    n->out[n->n_out] = v;
    if (v != NULL) {
        v->producer = n;
        v->out_index = n->n_out;
    }
    n->n_out++;
    qdq_graph_touch(n->graph);
    return true;
}

void qdq_node_trim_out(qdq_node *n)
{
    uint32_t before = n->n_out;

    while (n->n_out > 1 && n->out[n->n_out - 1] == NULL)
        n->n_out--;
    if (n->n_out != before)
        qdq_graph_touch(n->graph);
}

/* --- attributes ------------------------------------------------------------------------------- */

static void kill_graph(qdq_graph *g, int depth);

static void kill_graphs_of(const qdq_attr *a, int depth)
{
    if (depth > QDQ_MAX_NESTING)
        return;
    if (a->type == QDQ_ATTR_GRAPH && a->v.g != NULL)
        kill_graph(a->v.g, depth);
    if (a->type == QDQ_ATTR_GRAPHS)
        for (size_t i = 0; i < a->count; i++)
            kill_graph(a->v.graphs[i], depth);
}

/* True if one of the graphs of `old` goes on in `new`: then it is the same body under a new
 * attribute. */
static bool has_graph(const qdq_attr *a, const qdq_graph *g)
{
    if (a->type == QDQ_ATTR_GRAPH)
        return a->v.g == g;
    if (a->type == QDQ_ATTR_GRAPHS)
        for (size_t i = 0; i < a->count; i++)
            if (a->v.graphs[i] == g)
                return true;
    return false;
}

static void drop_attr(const qdq_attr *old, const qdq_attr *replacement)
{
    if (old->type == QDQ_ATTR_GRAPH && !has_graph(replacement, old->v.g))
        kill_graph(old->v.g, 1);
    if (old->type == QDQ_ATTR_GRAPHS)
        for (size_t i = 0; i < old->count; i++)
            if (!has_graph(replacement, old->v.graphs[i]))
                kill_graph(old->v.graphs[i], 1);
}

bool qdq_node_append_attr(qdq_node *n, qdq_attr *a)
{
    void *at = n->attr;

    if ((a->name = qdq_intern(n->graph->model, a->name)) == NULL ||
        !grow(n, &at, n->n_attr, sizeof(qdq_attr *)))
        return false;
    n->attr = at;
    n->attr[n->n_attr++] = a;
    qdq_graph_touch(n->graph);
    return true;
}

bool qdq_node_set_attr(qdq_node *n, qdq_attr *a)
{
    for (uint32_t i = 0; i < n->n_attr; i++)
        if (strcmp(n->attr[i]->name, a->name) == 0) {
            a->name = n->attr[i]->name;
            if (n->attr[i] != a)
                drop_attr(n->attr[i], a);
            n->attr[i] = a;
            qdq_graph_touch(n->graph);
            return true;
        }
    return qdq_node_append_attr(n, a);
}

bool qdq_node_set_attrs_of(qdq_node *n, const qdq_node *from)
{
    for (uint32_t i = 0; i < from->n_attr; i++)
        if (!qdq_node_set_attr(n, from->attr[i]))
            return false;
    return true;
}

void qdq_node_remove_attr(qdq_node *n, const char *name)
{
    for (uint32_t i = 0; i < n->n_attr; i++)
        if (strcmp(n->attr[i]->name, name) == 0) {
            kill_graphs_of(n->attr[i], 1);
            n->n_attr--;
            memmove(&n->attr[i], &n->attr[i + 1], (n->n_attr - i) * sizeof(qdq_attr *));
            qdq_graph_touch(n->graph);
            return;
        }
}

/* `a` without its name. */
static bool put_attr(qdq_node *n, const char *name, qdq_attr a)
{
    qdq_attr *copy;

    a.name = name;
    copy = qdq_arena_copy(&n->graph->model->arena, &a, 1, sizeof a);
    return copy != NULL && qdq_node_set_attr(n, copy);
}

bool qdq_node_set_int(qdq_node *n, const char *name, int64_t i)
{
    return put_attr(n, name, (qdq_attr){.type = QDQ_ATTR_INT, .count = 1, .v.i = i});
}

bool qdq_node_set_float(qdq_node *n, const char *name, float f)
{
    return put_attr(n, name, (qdq_attr){.type = QDQ_ATTR_FLOAT, .count = 1, .v.f = f});
}

bool qdq_node_set_string(qdq_node *n, const char *name, const char *s)
{
    qdq_span copy = {(unsigned char *)qdq_arena_strdup(&n->graph->model->arena, s), strlen(s)};

    return copy.data != NULL &&
           put_attr(n, name, (qdq_attr){.type = QDQ_ATTR_STRING, .count = 1, .v.s = copy});
}

bool qdq_node_set_ints(qdq_node *n, const char *name, const int64_t *ints, size_t count)
{
    int64_t *copy = qdq_arena_copy(&n->graph->model->arena, ints, count, sizeof *copy);

    return copy != NULL &&
           put_attr(n, name, (qdq_attr){.type = QDQ_ATTR_INTS, .count = count, .v.ints = copy});
}

bool qdq_node_set_tensor(qdq_node *n, const char *name, qdq_tensor *t)
{
    return put_attr(n, name, (qdq_attr){.type = QDQ_ATTR_TENSOR, .count = 1, .v.t = t});
}

/* --- death ------------------------------------------------------------------------------------ */

/* Everything but the outputs, which the two callers treat differently. */
static void kill_node(qdq_node *n, int depth)
{
    for (uint32_t i = 0; i < n->n_in; i++)
        if (n->in[i].value != NULL)
            qdq_use_unlink(&n->in[i]);
    for (uint32_t i = 0; i < n->n_attr; i++)
        kill_graphs_of(n->attr[i], depth + 1);
    qdq_name_of(n->name)->n_node--;
    n->dead = true;
}

static void kill_graph(qdq_graph *g, int depth)
{
    if (g->dead)
        return;
    g->dead = true;
    for (qdq_node *n = g->end.next; n != &g->end; n = n->next)
        kill_node(n, depth);
    /* qdq_value_kill, but for the map, which goes as a whole */
    for (size_t i = 0; i < g->values.n; i++) {
        qdq_value *v = g->values.at[i];

        qdq_name_of(v->name)->n_value -= !v->dead;
        v->dead = true;
    }
    g->n_node = 0;
    qdq_map_free(&g->by_name);
}

void qdq_graph_kill(qdq_graph *g)
{
    kill_graph(g, 0);
}

void qdq_node_remove(qdq_node *n)
{
    assert(!n->dead);
    kill_node(n, 0);
    for (uint32_t i = 0; i < n->n_out; i++)
        if (n->out[i] != NULL) {
            assert(n->out[i]->n_use == 0 && n->out[i]->n_output == 0);
            qdq_value_kill(n->out[i]);
        }
    /* n's own links stay: from a dead node a walk steps on until it finds a live one. */
    n->prev->next = n->next;
    n->next->prev = n->prev;
    n->graph->n_node--;
    qdq_graph_touch(n->graph);
}
