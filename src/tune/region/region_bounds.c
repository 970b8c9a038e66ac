/* region_bounds.c - where regions begin and end: what they read and hand out. */
#include "tune/region/region_build.h"

#include <stdlib.h>

#include "base/fail.h"

typedef struct bounder {
    qdq_regions *r;
    const qdq_region_graph *g;
    /* of all of it */
    qdq_arena scratch;
    /* by id: number of the last region that saw it */
    uint32_t *value_seen;
} bounder;

typedef struct ranked {
    uint32_t place;
    const qdq_node *node;
} ranked;

static int by_rank(const void *a, const void *b)
{
    uint32_t x = ((const ranked *)a)->place, y = ((const ranked *)b)->place;

    return x < y ? -1 : x > y;
}

const qdq_node **qdq_region_all_nodes(const qdq_regions *all, const qdq_region *r, qdq_arena *arena)
{
    ranked *order = qdq_arena_array(arena, r->n_total + 1, sizeof *order);
    const qdq_node **out = qdq_arena_array(arena, r->n_total + 1, sizeof(const qdq_node *));
    QDQ_VEC(const qdq_region *) todo = {0};
    size_t n = 0;

    if (order == NULL || out == NULL || !QDQ_PUSH(arena, &todo, r))
        return NULL;
    for (size_t i = 0; i < todo.n; i++) {
        const qdq_region *at = todo.at[i];
        for (size_t k = 0; k < at->nodes.n; k++)
            order[n++] = (ranked){all->place[at->nodes.at[k]->id], at->nodes.at[k]};
        for (size_t k = 0; k < at->children.n; k++)
            if (!QDQ_PUSH(arena, &todo, at->children.at[k]))
                return NULL;
    }
    qsort(order, n, sizeof *order, by_rank);
    for (size_t i = 0; i < n; i++)
        out[i] = order[i].node;
    return out;
}

static bool inside(const bounder *b, const qdq_region *r, const qdq_node *n)
{
    const qdq_region *at = b->r->of[n->id];

    while (at != NULL && at->depth > r->depth)
        at = at->parent;
    return at == r;
}

/* --- inputs and outputs ----------------------------------------------------------------------- */

static bool is_input(const bounder *b, const qdq_region *r, const qdq_value *v)
{
    if (v == NULL || qdq_region_is_const(v))
        return false;
    if (v->producer == NULL)
        return true;
    return b->r->of[v->producer->id] != NULL && !inside(b, r, v->producer);
}

static bool is_output(const bounder *b, const qdq_region *r, const qdq_value *v)
{
    bool is_read = false; /* what only asks for the shape does not count */

    if (v == NULL || v->n_output > 0)
        return v != NULL;
    QDQ_FOR_USES (u, v) {
        const qdq_node *reader = qdq_region_reader(b->g->g, u);
        if (reader == NULL || b->r->of[reader->id] == NULL)
            continue;
        if (!inside(b, r, reader))
            return true;
        is_read = true;
    }
    return !is_read;
}

static qdq_status find_boundary(bounder *b, qdq_region *r, const qdq_node *const *node,
                                qdq_error *err)
{
    qdq_region_values reads = {0};

    for (size_t i = 0; i < r->n_total; i++) {
        reads.n = 0;
        QDQ_TRY(qdq_region_reads(node[i], &b->scratch, &reads, err));
        for (size_t k = 0; k < reads.n; k++) {
            const qdq_value *v = reads.at[k];
            if (!is_input(b, r, v) || b->value_seen[v->id] == r->id + 1)
                continue;
            b->value_seen[v->id] = r->id + 1;
            QDQ_NEED(QDQ_PUSH(&b->r->arena, &r->inputs, v), err);
        }
        for (uint32_t k = 0; k < node[i]->n_out; k++)
            if (is_output(b, r, node[i]->out[k]) &&
                !QDQ_PUSH(&b->r->arena, &r->outputs, node[i]->out[k]))
                return qdq_nomem(err);
    }
    return QDQ_OK;
}

/* --- all of them ------------------------------------------------------------------------------ */

static qdq_status bound_all(bounder *b, qdq_error *err)
{
    const qdq_graph *g = b->g->g;

    b->value_seen = qdq_arena_array(&b->scratch, g->values.n + 1, sizeof *b->value_seen);
    QDQ_NEED(b->value_seen != NULL, err);
    for (size_t i = 0; i < b->r->all.n; i++) {
        qdq_region *r = b->r->all.at[i];
        const qdq_node *const *node = qdq_region_all_nodes(b->r, r, &b->scratch);
        QDQ_NEED(node != NULL, err);
        QDQ_TRY(find_boundary(b, r, node, err));
    }
    return QDQ_OK;
}

qdq_status qdq_regions_bound(qdq_regions *r, const qdq_region_graph *g, qdq_error *err)
{
    bounder b = {.r = r, .g = g};
    qdq_status st = bound_all(&b, err);

    qdq_arena_free(&b.scratch);
    return st;
}
