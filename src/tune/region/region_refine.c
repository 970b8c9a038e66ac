/* region_refine.c - leaves: few neighbouring nodes around few kernels. Every node begins as a leaf;
 * going down the graph, a leaf that is read by one node only becomes part of that node's leaf, and
 * so does a fork whose branches are there. Hence no way leads out of a leaf and into it again. */
#include "tune/region/region_build.h"

#include <stdlib.h>

#include "base/fail.h"
#include "base/union_find.h"

/* --- walks ------------------------------------------------------------------------------------ */

static bool visit_place(qdq_rb *b, const qdq_fork *f, uint32_t i, uint32_t hops, bool *nomem)
{
    if (i == f->to || b->seen[i] == b->n_seen || (f->taken != NULL && f->taken[i] != 0))
        return true;
    b->seen[i] = b->n_seen;
    b->hops[i] = hops;
    if (b->queue.n >= f->max_nodes || hops > f->max_hops)
        return false;
    *nomem = !QDQ_PUSH(&b->scratch, &b->queue, i);
    return !*nomem;
}

bool qdq_region_between(qdq_rb *b, const qdq_fork *f, qdq_places *out, bool *nomem)
{
    const qdq_region_graph *g = &b->g;
    /* a node that everybody reads is not walked to its end */
    const uint32_t max_edges = 8 * f->max_nodes;
    uint32_t edges = 0;

    b->n_seen++;
    b->queue.n = 0;
    for (uint32_t i = 0; i < f->n_readers; i++)
        if (++edges > max_edges || !visit_place(b, f, f->reader[i], 1, nomem))
            return false;
    for (size_t q = 0; q < b->queue.n; q++) {
        uint32_t i = b->queue.at[q];
        for (uint32_t e = g->first_reader[i]; e < g->first_reader[i + 1]; e++)
            if (++edges > max_edges || !visit_place(b, f, g->reader[e], b->hops[i] + 1, nomem))
                return false;
    }
    for (size_t q = 0; q < b->queue.n; q++)
        if (!QDQ_PUSH(&b->scratch, out, b->queue.at[q])) {
            *nomem = true;
            return false;
        }
    return true;
}

/* --- leaves that grow ------------------------------------------------------------------------- */

static uint32_t leaf_of(qdq_rb *b, uint32_t i)
{
    return qdq_part_of(b->up, i);
}

static bool fits_leaf(const qdq_rb *b, uint32_t size, uint32_t kernels)
{
    return size <= b->max_size && kernels <= QDQ_REGION_KERNELS;
}

/* `open`: edges that lead out of the leaf. */
static void join_leaf(qdq_rb *b, uint32_t leaf, uint32_t into, uint32_t open)
{
    b->up[leaf] = into;
    b->size[into] += b->size[leaf];
    b->kernels[into] += b->kernels[leaf];
    b->open[into] = open;
}

/* Leaves that only node v reads become part of its leaf. */
static void join_sources(qdq_rb *b, uint32_t v)
{
    const qdq_region_graph *g = &b->g;
    const uint32_t *s = g->source + g->first_source[v], *end = g->source + g->first_source[v + 1];

    for (const uint32_t *p = s; p < end; p++)
        if (b->group[*p] == b->n_groups)
            b->count[leaf_of(b, *p)] = 0;
    for (const uint32_t *p = s; p < end; p++)
        if (b->group[*p] == b->n_groups)
            b->count[leaf_of(b, *p)]++;
    for (const uint32_t *p = s; p < end; p++) {
        if (b->group[*p] != b->n_groups)
            continue;
        uint32_t leaf = leaf_of(b, *p), mine = leaf_of(b, v);
        if (leaf != mine && b->open[leaf] == b->count[leaf] &&
            fits_leaf(b, b->size[leaf] + b->size[mine], b->kernels[leaf] + b->kernels[mine]))
            join_leaf(b, leaf, mine, b->open[mine]);
    }
}

/* The leaves of a fork and of its branches, which meet at v, become part of v's leaf, if nothing
 * else reads them. */
static qdq_status join_fork(qdq_rb *b, uint32_t fork, uint32_t v, qdq_error *err)
{
    const qdq_region_graph *g = &b->g;
    const qdq_fork f = {
        g->reader + g->first_reader[fork], qdq_readers(g, fork), v, b->max_size, UINT32_MAX, NULL};
    uint32_t mine = leaf_of(b, v), size = b->size[mine], kernels = b->kernels[mine], open = 0,
             inside = 0;
    qdq_places nodes = {0};
    bool nomem = false, near = qdq_region_between(b, &f, &nodes, &nomem);

    if (near && !QDQ_PUSH(&b->scratch, &nodes, fork))
        nomem = true;
    QDQ_NEED(!nomem, err);
    if (!near)
        return QDQ_OK;
    b->roots.n = 0;
    for (size_t i = 0; i < nodes.n; i++) {
        uint32_t at = nodes.at[i];
        if (b->group[at] != b->n_groups)
            return QDQ_OK;
        for (uint32_t e = g->first_reader[at]; e < g->first_reader[at + 1]; e++)
            inside += leaf_of(b, g->reader[e]) != leaf_of(b, at) && leaf_of(b, at) != mine;
        b->count[leaf_of(b, at)] = 0;
    }
    b->count[mine] = 1;
    for (size_t i = 0; i < nodes.n; i++) {
        uint32_t leaf = leaf_of(b, nodes.at[i]);
        if (b->count[leaf]++ > 0)
            continue;
        QDQ_NEED(QDQ_PUSH(&b->scratch, &b->roots, leaf), err);
        size += b->size[leaf];
        kernels += b->kernels[leaf];
        open += b->open[leaf];
    }
    if (open == inside && fits_leaf(b, size, kernels))
        for (size_t i = 0; i < b->roots.n; i++)
            join_leaf(b, b->roots.at[i], mine, b->open[mine]);
    return QDQ_OK;
}

static qdq_status grow_leaves(qdq_rb *b, const qdq_places *nodes, qdq_error *err)
{
    const qdq_region_graph *g = &b->g;

    b->n_groups++;
    for (size_t i = 0; i < nodes->n; i++) {
        uint32_t v = nodes->at[i];
        b->group[v] = b->n_groups;
        b->up[v] = v;
        b->size[v] = 1;
        b->kernels[v] = qdq_region_is_backbone(g->node[v]);
        b->open[v] = qdq_readers(g, v);
    }
    for (size_t i = 0; i < nodes->n; i++) {
        uint32_t v = nodes->at[i];
        join_sources(b, v);
        for (uint32_t fork = b->first_meet[v]; fork != QDQ_NO_PLACE; fork = b->next_meet[fork]) {
            if (b->group[fork] == b->n_groups)
                QDQ_TRY(join_fork(b, fork, v, err));
        }
    }
    return QDQ_OK;
}

/* --- regions ---------------------------------------------------------------------------------- */

qdq_status qdq_region_leaf(qdq_rb *b, qdq_places *nodes, const char *path, qdq_region **out,
                           qdq_error *err)
{
    qdq_region *r = qdq_arena_alloc(b->arena, sizeof *r);

    QDQ_NEED(r != NULL, err);
    qdq_region_sort_places(nodes->at, nodes->n);
    r->type = QDQ_REGION_LEAF;
    r->path = path;
    r->n_total = nodes->n;
    for (size_t i = 0; i < nodes->n; i++)
        QDQ_NEED(QDQ_PUSH(b->arena, &r->nodes, b->g.node[nodes->at[i]]), err);
    *out = r;
    return QDQ_OK;
}

qdq_status qdq_region_leaves(qdq_rb *b, qdq_places *nodes, const char *path, qdq_region_list *out,
                             qdq_error *err)
{
    typedef struct bucket {
        qdq_places nodes;
    } bucket;
    QDQ_VEC(bucket) leaf = {0};

    qdq_region_sort_places(nodes->at, nodes->n);
    QDQ_TRY(grow_leaves(b, nodes, err));
    for (size_t i = 0; i < nodes->n; i++)
        b->count[leaf_of(b, nodes->at[i])] = 0;
    for (size_t i = 0; i < nodes->n; i++) {
        uint32_t root = leaf_of(b, nodes->at[i]);
        if (b->count[root] == 0) {
            QDQ_NEED(QDQ_PUSH(&b->scratch, &leaf, (bucket){0}), err);
            b->count[root] = (uint32_t)leaf.n;
        }
        QDQ_NEED(QDQ_PUSH(&b->scratch, &leaf.at[b->count[root] - 1].nodes, nodes->at[i]), err);
    }
    for (size_t i = 0; i < leaf.n; i++) {
        qdq_region *r;
        QDQ_TRY(qdq_region_leaf(b, &leaf.at[i].nodes, path, &r, err));
        QDQ_NEED(QDQ_PUSH(b->arena, out, r), err);
    }
    return QDQ_OK;
}

static uint32_t first_place(const qdq_rb *b, const qdq_region *r)
{
    while (r->nodes.n == 0)
        r = r->children.at[0];
    return b->g.place[r->nodes.at[0]->id];
}

typedef struct placed {
    uint32_t first;
    qdq_region *region;
} placed;

static int by_first(const void *a, const void *b)
{
    const uint32_t x = ((const placed *)a)->first, y = ((const placed *)b)->first;

    return x < y ? -1 : x > y;
}

qdq_status qdq_region_sort(qdq_rb *b, qdq_region_list *list, qdq_error *err)
{
    placed *p = qdq_arena_array(&b->scratch, list->n + 1, sizeof *p);

    QDQ_NEED(p != NULL, err);
    for (size_t i = 0; i < list->n; i++)
        p[i] = (placed){first_place(b, list->at[i]), list->at[i]};
    qsort(p, list->n, sizeof *p, by_first);
    for (size_t i = 0; i < list->n; i++)
        list->at[i] = p[i].region;
    return QDQ_OK;
}

qdq_status qdq_region_composite(qdq_rb *b, qdq_region_list *children, const char *path,
                                qdq_region **out, qdq_error *err)
{
    qdq_region *r = qdq_arena_alloc(b->arena, sizeof *r);

    QDQ_NEED(r != NULL, err);
    QDQ_TRY(qdq_region_sort(b, children, err));
    r->type = QDQ_REGION_COMPOSITE;
    r->path = path;
    r->children = *children;
    for (size_t i = 0; i < children->n; i++)
        r->n_total += children->at[i]->n_total;
    *out = r;
    return QDQ_OK;
}

qdq_status qdq_region_refine(qdq_rb *b, qdq_places *nodes, const char *path, qdq_region **out,
                             qdq_error *err)
{
    qdq_region_list leaves = {0};

    if (nodes->n < b->min_refine)
        return qdq_region_leaf(b, nodes, path, out, err);
    QDQ_TRY(qdq_region_leaves(b, nodes, path, &leaves, err));
    if (leaves.n == 1) {
        *out = leaves.at[0];
        return QDQ_OK;
    }
    return qdq_region_composite(b, &leaves, path, out, err);
}
