/* canon.c - the canonical form of a set of nodes.
 *
 * A node's colour is a hash of what it is, of all that leads to it inside the region, and of all
 * that follows. Colours are refined as Weisfeiler and Lehman do it, but the graph has no cycles, so
 * that one sweep down and one up spread a colour through the whole region at once. The order is:
 * depth in the region, operator with attributes, colour; nodes that are still equal are told apart
 * by where their sources came. The form is written in that order and names every wire: equal forms
 * are equal graphs, also where colours alone would not tell. */
#include "tune/region/canon.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/fail.h"
#include "tune/region/region_build.h"
#include "tune/region/signature.h"

#define NO_NUMBER UINT32_MAX
enum { ROUNDS = 2 };

/* What an operand is, in hashes. */
enum { LEFT_OUT = 1, CONSTANT, OUTSIDE, INSIDE };

typedef QDQ_VEC(uint64_t) words;

struct qdq_canon {
    const qdq_graph *graph;
    /* by node id: the number of the set that has it; 0: none has */
    const uint32_t *owner;
    /* of sets that are regions; else NULL */
    const qdq_regions *all;
    /* sizes as they are, and what small integer constants hold */
    bool exact;
    qdq_arena *arena;
    /* by node id */
    const char **head;
    /* by node id: what the node is, whatever is around it */
    uint64_t *label;
    /* by node id: index into the region at hand; NO_NUMBER */
    uint32_t *local;
    /* by value id: of what comes from outside, in the order in which it is met */
    uint32_t *number;
    /* by value id: in which region */
    uint32_t *numbered;
    uint32_t n_regions, n_numbers;
    words scratch, form;
};

unsigned qdq_canon_bucket(int64_t dim)
{
    unsigned bits = 0;

    if (dim < 2)
        return dim < 0 ? 255 : (unsigned)dim;
    while (dim > 1) {
        dim >>= 1;
        bits++;
    }
    return 2 + bits / 2;
}

static uint64_t mix(uint64_t a, uint64_t b)
{
    const uint64_t both[2] = {a, b};

    return XXH3_64bits(both, sizeof both);
}

static uint64_t hash_text(const char *s)
{
    return XXH3_64bits(s, strlen(s));
}

/* --- what a node is --------------------------------------------------------------------------- */

/* Axes, shapes and the like: another number is another computation. */
static uint64_t hash_small_ints(const qdq_tensor *t)
{
    int64_t *ints;
    uint64_t h = 0;
    qdq_arena scratch = QDQ_ARENA_INIT;

    if (qdq_elem_is_int(t->elem) && t->count <= 8 &&
        qdq_tensor_ints(t, &scratch, 8, &ints, NULL) == QDQ_OK)
        h = XXH3_64bits(ints, (size_t)t->count * sizeof *ints);
    qdq_arena_free(&scratch);
    return h;
}

static uint64_t size_of(const qdq_canon *c, int64_t dim)
{
    return c->exact ? (uint64_t)dim : qdq_canon_bucket(dim);
}

static uint64_t hash_type(const qdq_canon *c, const qdq_value *v)
{
    const qdq_tensor *t = qdq_value_const(v);
    uint64_t h;

    if (t != NULL) {
        h = mix((uint64_t)t->elem, (uint64_t)t->rank);
        for (int i = 0; i < t->rank; i++)
            h = mix(h, size_of(c, t->dim[i]));
        return c->exact ? mix(h, hash_small_ints(t)) : h;
    }
    if (v->type == NULL)
        return 0;
    h = mix((uint64_t)v->type->elem, (uint64_t)v->type->rank + 1);
    if (v->type->kind != QDQ_TYPE_TENSOR)
        return mix(h, (uint64_t)v->type->kind + 256);
    for (int i = 0; i < v->type->rank; i++)
        h = mix(h, size_of(c, v->type->dim[i].value));
    return h;
}

static bool all_are(const qdq_attr *a, int64_t x)
{
    if (a->type == QDQ_ATTR_INT)
        return a->v.i == x;
    for (size_t i = 0; a->type == QDQ_ATTR_INTS && i < a->count; i++)
        if (a->v.ints[i] != x)
            return false;
    return a->type == QDQ_ATTR_INTS;
}

/* Exporters write defaults or leave them out. These mean the same in all operators that have
 * them. */
static bool is_default(const qdq_attr *a)
{
    static const struct {
        const char *name;
        int64_t value;
    } known[] = {{"group", 1},    {"dilations", 1},      {"strides", 1},   {"pads", 0},
                 {"transA", 0},   {"transB", 0},         {"ceil_mode", 0}, {"storage_order", 0},
                 {"keepdims", 1}, {"output_padding", 0}, {"allowzero", 0}};

    if (strcmp(a->name, "auto_pad") == 0)
        return a->type == QDQ_ATTR_STRING && a->v.s.size == 6 &&
               memcmp(a->v.s.data, "NOTSET", 6) == 0;
    for (size_t i = 0; i < QDQ_COUNT(known); i++)
        if (strcmp(a->name, known[i].name) == 0)
            return all_are(a, known[i].value);
    return false;
}

static bool hash_attrs(qdq_canon *c, const qdq_node *n)
{
    uint64_t sum = 0; /* in any order */

    for (uint32_t i = 0; i < n->n_attr; i++) {
        qdq_buf text = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);
        if (is_default(n->attr[i]))
            continue;
        qdq_signature_attr(&text, n->attr[i]);
        bool failed = text.failed;
        sum += mix(hash_text(n->attr[i]->name), XXH3_64bits(text.data, text.size));
        qdq_buf_free(&text);
        if (failed)
            return false;
    }
    return QDQ_PUSH(c->arena, &c->scratch, sum);
}

static uint64_t operand_kind(const qdq_canon *c, const qdq_value *v)
{
    if (v == NULL)
        return LEFT_OUT;
    return mix(qdq_region_is_const(v) ? CONSTANT : OUTSIDE, hash_type(c, v));
}

static int by_word(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static void sort_words(words *w, size_t from)
{
    qsort(w->at + from, w->n - from, sizeof *w->at, by_word);
}

static qdq_status make_label(qdq_canon *c, const qdq_node *n, qdq_error *err)
{
    words *w = &c->scratch;

    w->n = 0;
    QDQ_NEED(hash_attrs(c, n) &&
                 QDQ_PUSH(c->arena, w, mix(hash_text(n->type), hash_text(n->domain))) &&
                 QDQ_PUSH(c->arena, w, mix(n->n_in, n->n_out)),
             err);
    size_t inputs = w->n;
    for (uint32_t i = 0; i < n->n_in; i++)
        QDQ_NEED(QDQ_PUSH(c->arena, w, operand_kind(c, qdq_node_in(n, i))), err);
    if (qdq_is_symmetric(n))
        sort_words(w, inputs);
    for (uint32_t i = 0; i < n->n_out; i++)
        if (!QDQ_PUSH(c->arena, w, n->out[i] == NULL ? LEFT_OUT : hash_type(c, n->out[i])))
            return qdq_nomem(err);
    c->label[n->id] = XXH3_64bits(w->at, w->n * sizeof *w->at);
    return QDQ_OK;
}

static qdq_status open_tables(qdq_canon *c, qdq_error *err)
{
    size_t n = (size_t)c->graph->next_node_id + 1, values = c->graph->values.n + 1;

    c->head = qdq_arena_array(c->arena, n, sizeof(const char *));
    c->label = qdq_arena_array(c->arena, n, sizeof *c->label);
    c->local = qdq_arena_array(c->arena, n, sizeof *c->local);
    c->number = qdq_arena_array(c->arena, values, sizeof *c->number);
    c->numbered = qdq_arena_array(c->arena, values, sizeof *c->numbered);
    QDQ_NEED(c->head != NULL && c->label != NULL && c->local != NULL && c->number != NULL &&
                 c->numbered != NULL,
             err);
    for (size_t i = 0; i < n; i++)
        c->local[i] = NO_NUMBER;
    return QDQ_OK;
}

qdq_status qdq_canon_new_sets(const qdq_graph *g, const uint32_t *owner, qdq_arena *arena,
                              qdq_canon **out, qdq_error *err)
{
    qdq_canon *c = qdq_arena_alloc(arena, sizeof *c);

    QDQ_NEED(c != NULL, err);
    *c = (qdq_canon){.graph = g, .owner = owner, .exact = true, .arena = arena};
    *out = c;
    return open_tables(c, err);
}

qdq_status qdq_canon_new(const qdq_regions *all, qdq_arena *arena, qdq_canon **out, qdq_error *err)
{
    const qdq_graph *g = all->model->graph;
    uint32_t *owner = qdq_arena_array(arena, (size_t)g->next_node_id + 1, sizeof *owner);
    qdq_canon *c = qdq_arena_alloc(arena, sizeof *c);

    QDQ_NEED(owner != NULL && c != NULL, err);
    for (size_t i = 0; i <= g->next_node_id; i++)
        owner[i] = all->of[i] != NULL ? all->of[i]->id + 1 : 0;
    *c = (qdq_canon){.graph = g, .owner = owner, .all = all, .arena = arena};
    *out = c;
    return open_tables(c, err);
}

static qdq_status describe_node(qdq_canon *c, const qdq_node *n, qdq_error *err)
{
    if (c->head[n->id] != NULL)
        return QDQ_OK;
    c->head[n->id] = qdq_signature_head(n, c->arena);
    return c->head[n->id] != NULL ? make_label(c, n, err) : qdq_nomem(err);
}

const char *qdq_canon_head(const qdq_canon *c, const qdq_node *n)
{
    return c->head[n->id];
}

/* --- one region ------------------------------------------------------------------------------- */

typedef struct operand {
    /* what it is, by colours */
    uint64_t key;
    /* position of its source, or number of what comes from outside; NO_NUMBER: not yet */
    uint32_t known;
    /* operator that it comes from, outside: not in the form, only for a stable order */
    const char *maker;
    uint32_t slot, out;
    const qdq_value *value;
} operand;

typedef struct member {
    const qdq_node *node;
    /* index in topological order */
    uint32_t depth, index;
    const char *head;
    uint64_t colour, tie;
} member;

typedef struct coloring {
    qdq_canon *c;
    /* number of the set */
    uint32_t own;
    /* of the form */
    qdq_arena *arena;
    /* in topological order, then in canonical order */
    member *m;
    size_t n;
    /* in topological order */
    const qdq_node *const *node;
    /* by index */
    uint64_t *down, *up, *colour;
    /* by index: in canonical order */
    uint32_t *position;
    qdq_region_values reads;
    QDQ_VEC(operand) operands;
} coloring;

static uint32_t local_of(const coloring *s, const qdq_value *v)
{
    return v == NULL || v->producer == NULL ? NO_NUMBER : s->c->local[v->producer->id];
}

static int by_operand(const void *a, const void *b)
{
    const operand *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    if (x->known != y->known)
        return x->known < y->known ? -1 : 1;
    int order = strcmp(x->maker, y->maker);
    return order != 0 ? order : (int)x->slot - (int)y->slot;
}

/* What node n reads, in canonical order, with `colour` for what is inside. */
static qdq_status find_operands(coloring *s, const qdq_node *n, const uint64_t *colour,
                                qdq_error *err)
{
    const qdq_canon *c = s->c;

    s->reads.n = s->operands.n = 0;
    QDQ_TRY(qdq_region_reads(n, c->arena, &s->reads, err));
    for (uint32_t i = 0; i < s->reads.n; i++) {
        const qdq_value *v = s->reads.at[i];
        uint32_t at = local_of(s, v);
        operand o = {
            .key = operand_kind(c, v), .known = NO_NUMBER, .maker = "", .slot = i, .value = v};
        if (at != NO_NUMBER) {
            o.key = mix(mix(INSIDE, colour[at]), v->out_index);
            o.known = s->position[at];
            o.out = v->out_index;
        } else if (v != NULL && !qdq_region_is_const(v)) {
            o.maker = v->producer != NULL ? v->producer->type : "";
            o.known = c->numbered[v->id] == c->n_regions ? c->number[v->id] : NO_NUMBER;
        }
        QDQ_NEED(QDQ_PUSH(c->arena, &s->operands, o), err);
    }
    if (qdq_is_symmetric(n))
        qsort(s->operands.at, n->n_in, sizeof(operand), by_operand);
    return QDQ_OK;
}

static qdq_status sweep_down(coloring *s, qdq_error *err)
{
    for (uint32_t i = 0; i < s->n; i++) {
        uint64_t h = s->colour[i];
        uint32_t depth = 0;
        QDQ_TRY(find_operands(s, s->node[i], s->down, err));
        for (size_t k = 0; k < s->operands.n; k++) {
            uint32_t at = local_of(s, s->operands.at[k].value);
            h = mix(h, s->operands.at[k].key);
            if (at != NO_NUMBER && s->m[at].depth + 1 > depth)
                depth = s->m[at].depth + 1;
        }
        s->m[i].depth = depth;
        s->down[i] = h;
    }
    return QDQ_OK;
}

/* The readers of an output in any order, and in *leaves whether it leaves the region. */
static uint64_t hash_readers(const coloring *s, const qdq_value *v, bool *leaves)
{
    uint64_t sum = 0;

    *leaves = v != NULL && v->n_output > 0;
    if (v == NULL)
        return LEFT_OUT;
    QDQ_FOR_USES (u, v) {
        const qdq_node *n = qdq_region_reader(s->c->graph, u);
        if (n == NULL || s->c->owner[n->id] == 0)
            continue;
        uint32_t at = s->c->local[n->id];
        if (at == NO_NUMBER)
            *leaves = true;
        else
            sum += mix(s->up[at], u->node != n ? NO_NUMBER : qdq_is_symmetric(n) ? 0 : u->index);
    }
    return sum;
}

static void sweep_up(coloring *s)
{
    for (size_t i = s->n; i-- > 0;) {
        uint64_t h = s->colour[i];
        for (uint32_t k = 0; k < s->node[i]->n_out; k++) {
            bool leaves;
            uint64_t readers = hash_readers(s, s->node[i]->out[k], &leaves);
            h = mix(h, mix(readers, leaves));
        }
        s->up[i] = h;
    }
}

static qdq_status find_colours(coloring *s, qdq_error *err)
{
    for (uint32_t i = 0; i < s->n; i++) {
        QDQ_TRY(describe_node(s->c, s->node[i], err));
        s->position[i] = NO_NUMBER;
        s->colour[i] = mix(s->c->label[s->node[i]->id], s->c->owner[s->node[i]->id] == s->own);
        s->m[i] =
            (member){.node = s->node[i], .index = i, .head = qdq_canon_head(s->c, s->node[i])};
    }
    for (int round = 0; round < ROUNDS; round++) {
        QDQ_TRY(sweep_down(s, err));
        sweep_up(s);
        for (size_t i = 0; i < s->n; i++)
            s->m[i].colour = s->colour[i] = mix(s->down[i], s->up[i]);
    }
    return QDQ_OK;
}

/* --- order ------------------------------------------------------------------------------------ */

static int by_colour(const void *a, const void *b)
{
    const member *x = a, *y = b;

    if (x->depth != y->depth)
        return x->depth < y->depth ? -1 : 1;
    int order = strcmp(x->head, y->head);
    if (order != 0)
        return order;
    return x->colour < y->colour ? -1 : x->colour > y->colour;
}

static int by_member(const void *a, const void *b)
{
    const member *x = a, *y = b;
    int order = by_colour(x, y);

    if (order != 0)
        return order;
    if (x->tie != y->tie)
        return x->tie < y->tie ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* Nodes of one colour, none of which reads another: they follow their sources. */
static qdq_status break_ties(coloring *s, member *m, size_t n, qdq_error *err)
{
    for (size_t i = 0; i < n; i++) {
        m[i].tie = 0;
        QDQ_TRY(find_operands(s, m[i].node, s->colour, err));
        for (size_t k = 0; k < s->operands.n; k++)
            m[i].tie = mix(m[i].tie, mix(s->operands.at[k].known, s->operands.at[k].out));
    }
    qsort(m, n, sizeof *m, by_member);
    return QDQ_OK;
}

/* One node of the form: what it is, and where each operand comes from. */
static qdq_status write_node(coloring *s, const member *m, uint32_t *input, qdq_error *err)
{
    qdq_canon *c = s->c;
    words *w = &c->form;

    QDQ_TRY(find_operands(s, m->node, s->colour, err));
    QDQ_NEED(QDQ_PUSH(c->arena, w, mix(c->label[m->node->id], c->owner[m->node->id] == s->own)) &&
                 QDQ_PUSH(c->arena, w, s->operands.n),
             err);
    for (size_t k = 0; k < s->operands.n; k++) {
        operand *o = &s->operands.at[k];
        uint64_t what = operand_kind(c, o->value), where = 0;
        if (k < m->node->n_in)
            input[k] = o->slot;
        if (local_of(s, o->value) != NO_NUMBER) {
            what = INSIDE;
            where = mix(o->known, o->out);
        } else if (o->value != NULL && !qdq_region_is_const(o->value)) {
            uint32_t id = o->value->id;
            if (c->numbered[id] != c->n_regions) {
                c->numbered[id] = c->n_regions;
                c->number[id] = c->n_numbers++;
            }
            where = c->number[id];
        }
        QDQ_NEED(QDQ_PUSH(c->arena, w, what) && QDQ_PUSH(c->arena, w, where), err);
    }
    for (uint32_t k = 0; k < m->node->n_out; k++) {
        bool leaves;
        hash_readers(s, m->node->out[k], &leaves);
        QDQ_NEED(QDQ_PUSH(c->arena, w, leaves), err);
    }
    return QDQ_OK;
}

static qdq_status write_form(coloring *s, qdq_canon_form *out, qdq_error *err)
{
    uint32_t *slots;
    size_t n_slots = 0;

    qsort(s->m, s->n, sizeof *s->m, by_member);
    for (size_t i = 0; i < s->n; i++)
        n_slots += s->m[i].node->n_in;
    slots = qdq_arena_array(s->arena, n_slots + 1, sizeof *slots);
    out->node = qdq_arena_array(s->arena, s->n + 1, sizeof(const qdq_node *));
    out->input = qdq_arena_array(s->arena, s->n + 1, sizeof(uint32_t *));
    QDQ_NEED(slots != NULL && out->node != NULL && out->input != NULL, err);
    for (size_t i = 0, same = 0; i < s->n; i++) {
        if (i >= same) {
            for (same = i + 1; same < s->n && by_colour(&s->m[i], &s->m[same]) == 0;)
                same++;
            if (same > i + 1)
                QDQ_TRY(break_ties(s, s->m + i, same - i, err));
        }
        out->node[i] = s->m[i].node;
        out->input[i] = slots;
        slots += s->m[i].node->n_in;
        s->position[s->m[i].index] = (uint32_t)i;
        QDQ_TRY(write_node(s, &s->m[i], out->input[i], err));
    }
    XXH128_hash_t h = XXH3_128bits(s->c->form.at, s->c->form.n * sizeof *s->c->form.at);
    out->word = s->c->form.at;
    out->n_words = s->c->form.n;
    out->n = s->n;
    out->hash[0] = h.low64;
    out->hash[1] = h.high64;
    return QDQ_OK;
}

qdq_status qdq_canon_nodes(qdq_canon *c, const qdq_node *const *node, size_t n, uint32_t own,
                           qdq_arena *arena, qdq_canon_form *out, qdq_error *err)
{
    coloring s = {.c = c, .own = own, .arena = arena, .node = node, .n = n};

    *out = (qdq_canon_form){0};
    c->n_regions++;
    c->n_numbers = 0;
    c->form.n = 0;
    s.m = qdq_arena_array(c->arena, s.n + 1, sizeof *s.m);
    s.down = qdq_arena_array(c->arena, s.n + 1, sizeof *s.down);
    s.up = qdq_arena_array(c->arena, s.n + 1, sizeof *s.up);
    s.colour = qdq_arena_array(c->arena, s.n + 1, sizeof *s.colour);
    s.position = qdq_arena_array(c->arena, s.n + 1, sizeof *s.position);
    QDQ_NEED(s.m != NULL && s.down != NULL && s.up != NULL && s.colour != NULL &&
                 s.position != NULL,
             err);
    for (uint32_t i = 0; i < s.n; i++)
        c->local[s.node[i]->id] = i;
    qdq_status st = find_colours(&s, err);
    if (st == QDQ_OK)
        st = write_form(&s, out, err);
    for (uint32_t i = 0; i < s.n; i++)
        c->local[s.node[i]->id] = NO_NUMBER;
    return st;
}

qdq_status qdq_canon_region(qdq_canon *c, const qdq_region *r, qdq_arena *arena,
                            qdq_canon_form *out, qdq_error *err)
{
    const qdq_node *const *node = qdq_region_all_nodes(c->all, r, c->arena);

    return node != NULL ? qdq_canon_nodes(c, node, r->n_total, r->id + 1, arena, out, err)
                        : qdq_nomem(err);
}
