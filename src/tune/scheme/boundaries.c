/* boundaries.c - finds what composites can decide. A boundary is found in the first instance of
 * a pattern; in the others it is where the node in the same canonical place reads at the same
 * canonical input. */

#include "base/fail.h"
#include "base/map.h"
#include "tune/region/region_graph.h"
#include "tune/scheme/readers.h"
#include "tune/scheme/scheme.h"

enum { MAX_READERS = 64 }; /* what more nodes read than that, a mask, is no boundary between two */

typedef struct finder {
    const qdq_space *s;
    qdq_arena *arena;
    qdq_arena scratch;
    qdq_boundaries *out;

    /* at hand */
    const qdq_pattern *p;
    /* id of a node of its first instance -> number of the child with it */
    qdq_map child;
    /* ids of values of its first instance */
    qdq_map seen;
    qdq_readers_set readers;
    qdq_error *err;
} finder;

/* Where a boundary is: input or output `slot` of node `place`, both canonical; an output's slot is
 * the node's own. */
typedef struct spot {
    size_t place;
    uint32_t slot;
    bool is_output;
} spot;

static const qdq_value *value_at(const qdq_instance *in, const spot *at)
{
    const qdq_node *n = in->inner[at->place];

    if (at->is_output)
        return qdq_node_out(n, at->slot);
    return at->slot < n->n_in ? qdq_node_in(n, in->inner_input[at->place][at->slot]) : NULL;
}

/* --- one boundary ----------------------------------------------------------------------------- */

static bool has_too_many_readers(const qdq_value *v)
{
    size_t n = 0;

    QDQ_FOR_USES (u, v)
        n += u != NULL;
    return n > MAX_READERS;
}

static qdq_status add_boundary(finder *f, const spot *at)
{
    qdq_boundary b = {.value = value_at(&f->p->instance[0], at)};
    const qdq_readers_set *r = &f->readers;

    qdq_readers_begin(&f->readers);
    for (size_t k = 0; k < f->p->n_instances; k++) {
        const qdq_value *v = value_at(&f->p->instance[k], at);
        if (v != NULL && has_too_many_readers(v))
            return QDQ_OK;
        if (v != NULL && !qdq_readers_add(&f->readers, v, f->arena))
            return qdq_nomem(f->err);
    }
    if (r->group.n == 0)
        return QDQ_OK;
    b.group = r->group.at;
    b.n_groups = r->group.n;
    for (size_t i = 0; i < b.n_groups; i++)
        b.cost_ns += f->s->group[b.group[i]].cost_ns;
    return QDQ_PUSH(f->arena, f->out, b) ? QDQ_OK : qdq_nomem(f->err);
}

/* --- one pattern ------------------------------------------------------------------------------ */

typedef QDQ_VEC(const qdq_region *) region_list;

/* Gives all nodes of a child, at whatever depth, its number. */
static bool number_nodes(finder *f, const qdq_region *child, uint64_t number, region_list *todo)
{
    bool is_new;

    todo->n = 0;
    if (!QDQ_PUSH(&f->scratch, todo, child))
        return false;
    for (size_t i = 0; i < todo->n; i++) {
        const qdq_region *at = todo->at[i];
        for (size_t k = 0; k < at->nodes.n; k++) {
            qdq_map_value *v = qdq_map_put_int(&f->child, at->nodes.at[k]->id, &is_new);
            if (v == NULL)
                return false;
            v->num = number;
        }
        for (size_t k = 0; k < at->children.n; k++) {
            const qdq_region *inner = at->children.at[k];
            if (!QDQ_PUSH(&f->scratch, todo, inner))
                return false;
        }
    }
    return true;
}

/* A leaf on top is a child of the whole. */
static qdq_status number_children(finder *f)
{
    const qdq_region *r = f->p->instance[0].region;
    region_list todo = {0};
    bool ok = r->children.n > 0 || number_nodes(f, r, 1, &todo);

    for (size_t c = 0; c < r->children.n && ok; c++)
        ok = number_nodes(f, r->children.at[c], c + 1, &todo);
    return ok ? QDQ_OK : qdq_nomem(f->err);
}

/* 0: none, it is outside. */
static uint64_t child_of(const finder *f, const qdq_node *n)
{
    const qdq_map_value *v = n != NULL ? qdq_map_get_int(&f->child, n->id) : NULL;

    return v != NULL ? v->num : 0;
}

static bool comes_in(const finder *f, const qdq_node *reader, const qdq_value *v)
{
    const qdq_node *from =
        v->producer != NULL && v->producer->graph == reader->graph ? v->producer : NULL;

    return !qdq_region_is_const(v) && child_of(f, from) != child_of(f, reader);
}

static bool goes_out(const finder *f, const qdq_value *v)
{
    QDQ_FOR_USES (u, v)
        if (u->node->graph == f->s->clean->graph && child_of(f, u->node) == 0)
            return true;
    return false;
}

static qdq_status look_at_spot(finder *f, const spot *at)
{
    const qdq_value *v = value_at(&f->p->instance[0], at);
    const qdq_node *n = f->p->instance[0].inner[at->place];
    bool is_new = false;

    if (v == NULL || !(at->is_output ? goes_out(f, v) : comes_in(f, n, v)))
        return QDQ_OK;
    QDQ_NEED(qdq_map_put_int(&f->seen, v->id, &is_new) != NULL, f->err);
    return is_new ? add_boundary(f, at) : QDQ_OK;
}

static qdq_status find_boundaries_in(finder *f)
{
    const qdq_instance *first = &f->p->instance[0];

    QDQ_TRY(number_children(f));
    for (size_t i = 0; i < first->region->n_total; i++)
        for (uint32_t k = 0; k < first->inner[i]->n_in; k++)
            QDQ_TRY(look_at_spot(f, &(spot){i, k, false}));
    for (size_t i = 0; i < first->region->n_total && first->region->children.n > 0; i++)
        for (uint32_t k = 0; k < first->inner[i]->n_out; k++)
            QDQ_TRY(look_at_spot(f, &(spot){i, k, true}));
    return QDQ_OK;
}

/* Composites, and the parts of the whole: what comes into a leaf that is on top. */
static bool has_boundaries(const qdq_pattern *p)
{
    if (p->instance[0].region->children.n > 0)
        return true;
    for (size_t k = 0; k < p->n_instances; k++)
        if (p->instance[k].region->parent == NULL)
            return true;
    return false;
}

qdq_status qdq_boundaries_find(const qdq_patterns *p, const qdq_space *s, qdq_arena *arena,
                               qdq_boundaries *out, qdq_error *err)
{
    finder f = {.s = s, .arena = arena, .out = out, .err = err};
    qdq_status st = QDQ_OK;

    *out = (qdq_boundaries){0};
    if (!qdq_readers_open(&f.readers, s, &f.scratch))
        st = qdq_nomem(err);
    for (size_t i = 0; i < p->n && st == QDQ_OK; i++) {
        f.p = &p->pattern[i];
        if (!has_boundaries(f.p))
            continue;
        st = find_boundaries_in(&f);
        qdq_map_free(&f.child);
        qdq_map_free(&f.seen);
        f.child = f.seen = (qdq_map)QDQ_MAP_INIT;
    }
    qdq_arena_free(&f.scratch);
    return st;
}
