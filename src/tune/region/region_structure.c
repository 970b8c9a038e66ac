/* region_structure.c - regions by the shape of the graph: runs of nodes with one reader each, and
 * forks with all that lies between them and the node where their branches meet again. Nothing here
 * depends on the order of independent branches. */
#include "tune/region/region_build.h"

#include "base/fail.h"

/* nodes from where branches meet: what is fused behind a residual Add, and no more */
enum { TAIL = 3 };

typedef struct grower {
    qdq_rb *b;
    /* by place: number of the region; 0: none yet */
    uint32_t *owner;
    uint32_t n_regions;
    /* nodes of region n_regions */
    qdq_places now;
    qdq_region_list *top;
} grower;

static qdq_status take_node(grower *s, uint32_t i, qdq_error *err)
{
    s->owner[i] = s->n_regions;
    return QDQ_PUSH(&s->b->scratch, &s->now, i) ? QDQ_OK : qdq_nomem(err);
}

static void begin_region(grower *s)
{
    s->n_regions++;
    s->now.n = 0;
}

static qdq_status end_region(grower *s, qdq_error *err)
{
    qdq_region *r;

    QDQ_TRY(qdq_region_refine(s->b, &s->now, NULL, &r, err));
    return QDQ_PUSH(s->b->arena, s->top, r) ? QDQ_OK : qdq_nomem(err);
}

/* May the region go on into the only reader of its last node? Not if that waits for a branch that
 * is as much entitled to it. What other nodes read, too, is no such branch: a residual, a mask. */
static bool may_go_on(const grower *s, uint32_t reader)
{
    const qdq_region_graph *g = &s->b->g;

    if (s->owner[reader] != 0)
        return false;
    for (uint32_t e = g->first_source[reader]; e < g->first_source[reader + 1]; e++)
        if (s->owner[g->source[e]] != s->n_regions && qdq_readers(g, g->source[e]) == 1)
            return false;
    return true;
}

static qdq_fork fork_of(const grower *s, const uint32_t *reader, uint32_t n_readers, uint32_t meet)
{
    return (qdq_fork){reader, n_readers, meet, QDQ_REGION_FORK_NODES, QDQ_REGION_HOPS, s->owner};
}

/* The branches of a fork, the node where they meet, and a short tail, if that is near: true in
 * *found, and the last node in *last. */
static qdq_status take_fork(grower *s, const qdq_fork *fork, bool fresh, bool *found,
                            uint32_t *last, qdq_error *err)
{
    const qdq_region_graph *g = &s->b->g;
    qdq_places between = {0};
    bool nomem = false;
    const uint32_t meet = fork->to;

    *found =
        meet != g->n && s->owner[meet] == 0 && qdq_region_between(s->b, fork, &between, &nomem);
    QDQ_NEED(!nomem, err);
    if (!*found)
        return QDQ_OK;
    if (fresh) {
        QDQ_TRY(end_region(s, err));
        begin_region(s);
    }
    for (size_t i = 0; i < between.n; i++)
        QDQ_TRY(take_node(s, between.at[i], err));
    QDQ_TRY(take_node(s, meet, err));
    *last = meet;
    for (uint32_t i = 1; i < TAIL && qdq_readers(g, *last) == 1; i++) {
        uint32_t next = g->reader[g->first_reader[*last]];
        if (!qdq_region_is_fusible(g->node[next]) || !may_go_on(s, next))
            break;
        QDQ_TRY(take_node(s, next, err));
        *last = next;
    }
    return QDQ_OK;
}

/* From node i, the last of the region, through forks that follow each other, as residual blocks do.
 * A fork that ends a region belongs to it: what comes behind is a region of its own. A fork at the
 * beginning belongs to its branches. */
static qdq_status grow_through_forks(grower *s, uint32_t i, qdq_error *err)
{
    const qdq_region_graph *g = &s->b->g;
    bool found = true;

    while (found && qdq_readers(g, i) > 1) {
        const qdq_fork fork =
            fork_of(s, g->reader + g->first_reader[i], qdq_readers(g, i), g->meet[i]);
        QDQ_TRY(take_fork(s, &fork, s->now.n > 1, &found, &i, err));
    }
    return end_region(s, err);
}

static qdq_status grow_from(grower *s, uint32_t i, qdq_error *err)
{
    const qdq_region_graph *g = &s->b->g;

    begin_region(s);
    QDQ_TRY(take_node(s, i, err));
    while (qdq_readers(g, i) == 1 && may_go_on(s, g->reader[g->first_reader[i]])) {
        i = g->reader[g->first_reader[i]];
        QDQ_TRY(take_node(s, i, err));
    }
    return grow_through_forks(s, i, err);
}

/* A graph input that several nodes read is a fork without a node. */
static qdq_status grow_from_input(grower *s, const qdq_value *v, qdq_error *err)
{
    const qdq_region_graph *g = &s->b->g;
    qdq_places readers = {0};
    uint32_t mark = ++s->b->n_seen, meet = g->n, last = 0;
    bool found;

    QDQ_FOR_USES (u, v) {
        const qdq_node *n = qdq_region_reader(g->g, u);
        uint32_t r = n != NULL ? g->place[n->id] : QDQ_NO_PLACE;
        if (r == QDQ_NO_PLACE || s->b->seen[r] == mark)
            continue;
        s->b->seen[r] = mark;
        meet = readers.n == 0 ? r : qdq_region_meet(g, meet, r);
        QDQ_NEED(QDQ_PUSH(&s->b->scratch, &readers, r), err);
    }
    if (readers.n < 2)
        return QDQ_OK;
    begin_region(s);
    const qdq_fork fork = fork_of(s, readers.at, (uint32_t)readers.n, meet);
    QDQ_TRY(take_fork(s, &fork, false, &found, &last, err));
    return found ? grow_through_forks(s, last, err) : QDQ_OK;
}

qdq_status qdq_regions_by_structure(qdq_rb *b, qdq_region_list *top, qdq_error *err)
{
    grower s = {.b = b, .top = top};

    s.owner = qdq_arena_array(&b->scratch, (size_t)b->g.n + 1, sizeof *s.owner);
    QDQ_NEED(s.owner != NULL, err);
    for (size_t i = 0; i < b->g.g->inputs.n; i++)
        QDQ_TRY(grow_from_input(&s, b->g.g->inputs.at[i], err));
    for (uint32_t i = 0; i < b->g.n; i++)
        if (s.owner[i] == 0)
            QDQ_TRY(grow_from(&s, i, err));
    return QDQ_OK;
}
