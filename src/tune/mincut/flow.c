/* flow.c - maximum flow by two trees. The trees: from the source along arcs with capacity left, and
 * from the sink against them. Where they touch there is a path to augment; arcs that it fills cut
 * subtrees off, whose roots ("orphans") look for another parent in their tree. */
#include "tune/mincut/flow.h"

#include <assert.h>

#include "base/fail.h"

#define NO_NODE 0xffffffffu

/* Values in place of a parent's arc. */
#define FREE     0xffffffffu /* in no tree */
#define TERMINAL 0xfffffffeu /* source or sink itself */
#define ORPHAN   0xfffffffdu
#define LAST_ARC 0xfffffffcu

struct qdq_flow_arc {
    /* node at its end; next arc of the same node */
    uint32_t head, next;
    /* capacity that is left */
    int64_t left;
};

struct qdq_flow_node {
    /* first arc of the node */
    uint32_t first;
    /* arc to the parent */
    uint32_t parent;
    /* in the lists; the last node points to itself */
    uint32_t next_active, next_orphan;
    /* round in which the distance to its terminal was known, and that distance */
    uint32_t seen, distance;
    /* it is in the sink's tree */
    bool at_sink;
    /* capacity left from the source; negative: to the sink */
    int64_t left;
};

qdq_status qdq_flow_init(qdq_flow *f, size_t n_nodes, size_t n_arcs, qdq_arena *arena,
                         qdq_error *err)
{
    if (n_nodes >= LAST_ARC || n_arcs >= LAST_ARC / 2)
        return qdq_fail(err, QDQ_E_UNSUPPORTED,
                        "a cut of %zu nodes and %zu arcs: expected at most 2 to the 31st", n_nodes,
                        n_arcs);
    *f = (qdq_flow){.n_nodes = (uint32_t)n_nodes,
                    .capacity = (uint32_t)(2 * n_arcs),
                    .first_active = NO_NODE,
                    .last_active = NO_NODE,
                    .first_orphan = NO_NODE,
                    .last_orphan = NO_NODE};
    f->node = qdq_arena_array(arena, n_nodes + 1, sizeof *f->node);
    f->arc = qdq_arena_array(arena, 2 * n_arcs + 1, sizeof *f->arc);
    QDQ_NEED(f->node != NULL && f->arc != NULL, err);
    for (size_t i = 0; i < n_nodes; i++)
        f->node[i] = (qdq_flow_node){
            .first = NO_NODE, .parent = FREE, .next_active = NO_NODE, .next_orphan = NO_NODE};
    return QDQ_OK;
}

void qdq_flow_add_terminal(qdq_flow *f, uint32_t v, int64_t from_source, int64_t to_sink)
{
    const int64_t left = f->node[v].left;
    const int64_t from = from_source + (left > 0 ? left : 0), to = to_sink - (left < 0 ? left : 0);

    /* flow through the node alone */
    f->value += from < to ? from : to;
    f->node[v].left = from - to;
}

static void add_half(qdq_flow *f, uint32_t from, uint32_t to, int64_t capacity)
{
    assert(f->n_arcs < f->capacity);
    f->arc[f->n_arcs] = (qdq_flow_arc){to, f->node[from].first, capacity};
    f->node[from].first = f->n_arcs++;
}

void qdq_flow_add_arc(qdq_flow *f, uint32_t a, uint32_t b, int64_t there, int64_t back)
{
    add_half(f, a, b, there);
    add_half(f, b, a, back);
}

/* --- lists ------------------------------------------------------------------------------------ */

static void activate(qdq_flow *f, uint32_t v)
{
    if (f->node[v].next_active != NO_NODE)
        return;
    f->node[v].next_active = v;
    if (f->last_active != NO_NODE)
        f->node[f->last_active].next_active = v;
    else
        f->first_active = v;
    f->last_active = v;
}

/* The next active node that is still in a tree. */
static uint32_t take_active(qdq_flow *f)
{
    while (f->first_active != NO_NODE) {
        const uint32_t v = f->first_active;
        const uint32_t next = f->node[v].next_active;
        f->first_active = next != v ? next : NO_NODE;
        if (next == v)
            f->last_active = NO_NODE;
        f->node[v].next_active = NO_NODE;
        if (f->node[v].parent != FREE)
            return v;
    }
    return NO_NODE;
}

static void cut_off(qdq_flow *f, uint32_t v)
{
    f->node[v].parent = ORPHAN;
    f->node[v].next_orphan = NO_NODE;
    if (f->last_orphan != NO_NODE)
        f->node[f->last_orphan].next_orphan = v;
    else
        f->first_orphan = v;
    f->last_orphan = v;
}

static uint32_t take_orphan(qdq_flow *f)
{
    const uint32_t v = f->first_orphan;

    if (v == NO_NODE)
        return NO_NODE;
    f->first_orphan = f->node[v].next_orphan;
    if (f->first_orphan == NO_NODE)
        f->last_orphan = NO_NODE;
    return v;
}

/* --- growing ---------------------------------------------------------------------------------- */

/* The capacity left along the arc, away from the source: for a node in the sink's tree, that of the
 * reverse arc. */
static int64_t left_outwards(const qdq_flow *f, uint32_t arc, bool at_sink)
{
    return f->arc[at_sink ? arc ^ 1 : arc].left;
}

/* Lets the tree of `v` grow. Returns the arc from the source's tree to the sink's where the trees
 * touch; NO_NODE: they do not, and `v` is done. */
static uint32_t grow(qdq_flow *f, uint32_t v)
{
    const qdq_flow_node *from = &f->node[v];

    for (uint32_t a = from->first; a != NO_NODE; a = f->arc[a].next) {
        if (left_outwards(f, a, from->at_sink) == 0)
            continue;
        const uint32_t w = f->arc[a].head;
        qdq_flow_node *to = &f->node[w];
        if (to->parent == FREE) {
            to->at_sink = from->at_sink;
            to->parent = a ^ 1;
            to->seen = from->seen;
            to->distance = from->distance + 1;
            activate(f, w);
        } else if (to->at_sink != from->at_sink) {
            return from->at_sink ? a ^ 1 : a;
        } else if (to->seen <= from->seen && to->distance > from->distance) {
            /* a shorter path */
            to->parent = a ^ 1;
            to->seen = from->seen;
            to->distance = from->distance + 1;
        }
    }
    return NO_NODE;
}

/* --- augmenting ------------------------------------------------------------------------------- */

/* The capacity of the path from `v` to its terminal, at most `most`. */
static int64_t narrow(const qdq_flow *f, uint32_t v, int64_t most)
{
    const bool at_sink = f->node[v].at_sink;

    while (f->node[v].parent != TERMINAL) {
        const uint32_t a = f->node[v].parent;
        const int64_t left = f->arc[at_sink ? a : a ^ 1].left;
        most = left < most ? left : most;
        v = f->arc[a].head;
    }
    const int64_t end = at_sink ? -f->node[v].left : f->node[v].left;
    return end < most ? end : most;
}

static void push(qdq_flow *f, uint32_t v, int64_t amount)
{
    const bool at_sink = f->node[v].at_sink;

    while (f->node[v].parent != TERMINAL) {
        const uint32_t a = f->node[v].parent, along = at_sink ? a : a ^ 1;
        f->arc[along].left -= amount;
        f->arc[along ^ 1].left += amount;
        if (f->arc[along].left == 0)
            cut_off(f, v);
        v = f->arc[a].head;
    }
    f->node[v].left += at_sink ? amount : -amount;
    if (f->node[v].left == 0)
        cut_off(f, v);
}

static void augment(qdq_flow *f, uint32_t middle)
{
    const uint32_t source_end = f->arc[middle ^ 1].head, sink_end = f->arc[middle].head;
    const int64_t amount = narrow(f, sink_end, narrow(f, source_end, f->arc[middle].left));

    f->arc[middle].left -= amount;
    f->arc[middle ^ 1].left += amount;
    push(f, source_end, amount);
    push(f, sink_end, amount);
    f->value += amount;
}

/* --- adopting --------------------------------------------------------------------------------- */

/* Distance of `v` to its terminal; NO_NODE: it belongs to an orphan's subtree. Stores the result on
 * the path for this round. */
static uint32_t distance_of(qdq_flow *f, uint32_t v)
{
    uint32_t steps = 0, at = v;

    for (;; steps++) {
        const qdq_flow_node *n = &f->node[at];
        if (n->seen == f->clock) {
            steps += n->distance;
            break;
        }
        if (n->parent == TERMINAL) {
            steps++;
            break;
        }
        if (n->parent == ORPHAN)
            return NO_NODE;
        at = f->arc[n->parent].head;
    }
    uint32_t distance = steps;
    for (at = v; f->node[at].seen != f->clock; at = f->arc[f->node[at].parent].head) {
        f->node[at].seen = f->clock;
        f->node[at].distance = distance--;
        if (f->node[at].parent == TERMINAL)
            break;
    }
    return steps;
}

static bool is_in_tree(const qdq_flow *f, uint32_t v, bool at_sink)
{
    return f->node[v].parent != FREE && f->node[v].at_sink == at_sink;
}

/* The arc to the nearest parent for an orphan, or FREE. */
static uint32_t find_parent(qdq_flow *f, uint32_t v, uint32_t *distance)
{
    const bool at_sink = f->node[v].at_sink;
    uint32_t best = FREE;

    *distance = NO_NODE;
    for (uint32_t a = f->node[v].first; a != NO_NODE; a = f->arc[a].next) {
        const uint32_t w = f->arc[a].head;
        if (left_outwards(f, a ^ 1, at_sink) == 0 || !is_in_tree(f, w, at_sink))
            continue;
        const uint32_t d = distance_of(f, w);
        if (d < *distance) {
            *distance = d;
            best = a;
        }
    }
    return best;
}

/* Its children become orphans, and its neighbours active again. */
static void set_free(qdq_flow *f, uint32_t v)
{
    const bool at_sink = f->node[v].at_sink;

    for (uint32_t a = f->node[v].first; a != NO_NODE; a = f->arc[a].next) {
        const uint32_t w = f->arc[a].head;
        if (!is_in_tree(f, w, at_sink))
            continue;
        if (left_outwards(f, a ^ 1, at_sink) > 0)
            activate(f, w);
        if (f->node[w].parent == (a ^ 1))
            cut_off(f, w);
    }
    f->node[v].parent = FREE;
}

static void adopt(qdq_flow *f)
{
    f->clock++;
    for (uint32_t v = take_orphan(f); v != NO_NODE; v = take_orphan(f)) {
        uint32_t distance;
        const uint32_t parent = find_parent(f, v, &distance);
        if (parent == FREE) {
            set_free(f, v);
            continue;
        }
        f->node[v].parent = parent;
        f->node[v].seen = f->clock;
        f->node[v].distance = distance + 1;
    }
}

/* --- the whole -------------------------------------------------------------------------------- */

static void plant(qdq_flow *f)
{
    for (uint32_t v = 0; v < f->n_nodes; v++) {
        qdq_flow_node *n = &f->node[v];
        if (n->left == 0)
            continue;
        n->at_sink = n->left < 0;
        n->parent = TERMINAL;
        n->distance = 1;
        activate(f, v);
    }
}

int64_t qdq_flow_run(qdq_flow *f)
{
    plant(f);
    for (uint32_t v = take_active(f); v != NO_NODE; v = take_active(f)) {
        uint32_t middle;
        while (f->node[v].parent != FREE && (middle = grow(f, v)) != NO_NODE) {
            augment(f, middle);
            adopt(f);
        }
    }
    return f->value;
}

bool qdq_flow_is_source(const qdq_flow *f, uint32_t v)
{
    return f->node[v].parent != FREE && !f->node[v].at_sink;
}
