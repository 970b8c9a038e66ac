/* sort.c - the order in which the nodes of a graph can run. Time n log n at worst, n when the order
 * is right. */
#include "base/fail.h"
#include "ir/graph_check.h"
#include "ir/name.h"

typedef struct sorter {
    const qdq_graph *g;
    /* live nodes in list order */
    qdq_node **by_pos;
    /* node id -> place in the list */
    uint32_t *pos;
    /* place -> inputs whose producer did not run yet */
    uint32_t *waits;
    /* places that are ready, smallest first */
    uint32_t *heap;
    uint32_t n_heap;
} sorter;

static void heap_push(sorter *s, uint32_t place)
{
    uint32_t i = s->n_heap++;

    for (; i > 0 && s->heap[(i - 1) / 2] > place; i = (i - 1) / 2)
        s->heap[i] = s->heap[(i - 1) / 2];
    s->heap[i] = place;
}

static uint32_t heap_pop(sorter *s)
{
    uint32_t top = s->heap[0], last = s->heap[--s->n_heap], i = 0;

    for (;;) {
        uint32_t child = 2 * i + 1;

        if (child + 1 < s->n_heap && s->heap[child + 1] < s->heap[child])
            child++;
        if (child >= s->n_heap || s->heap[child] >= last)
            break;
        s->heap[i] = s->heap[child];
        i = child;
    }
    s->heap[i] = last;
    return top;
}

/* Calls for every edge between two nodes of g; captures count as edges of the node that has the
 * subgraph. */
#define FOR_READERS(s, reader, place)                                                              \
    for (uint32_t o_ = 0; o_ < (s)->by_pos[place]->n_out; o_++)                                    \
        for (const qdq_use *u_ = (s)->by_pos[place]->out[o_] ? (s)->by_pos[place]->out[o_]->first  \
                                                             : NULL;                               \
             u_ != NULL; u_ = u_->next)                                                            \
            for (qdq_node *reader = qdq_node_within((s)->g, u_->node); reader != NULL;             \
                 reader = NULL)

/* Counts what every node waits for; true if the list is in a valid order as it is. */
static bool count_waits(sorter *s)
{
    bool in_order = true;

    for (uint32_t place = 0; place < s->g->n_node; place++)
        FOR_READERS(s, reader, place)
        {
            uint32_t at = s->pos[reader->id];

            s->waits[at]++;
            if (at <= place)
                in_order = false;
        }
    return in_order;
}

/* Nodes that wait for ever are on a cycle or behind one: from one of them backwards until a node
 * returns. */
static qdq_node *on_cycle(sorter *s)
{
    uint32_t *before = s->heap; /* its work is done */
    uint32_t start = 0;

    for (uint32_t place = 0; place < s->g->n_node; place++)
        if (s->waits[place] > 0) {
            start = place;
            FOR_READERS(s, reader, place)
            {
                before[s->pos[reader->id]] = place;
            }
        }
    for (uint32_t seen = 0; seen < s->g->n_node; seen++)
        start = before[start]; /* after as many steps as there are nodes the walk is on the cycle */
    return s->by_pos[start];
}

static qdq_status cycle_error(sorter *s, qdq_arena *scratch, qdq_error *err)
{
    return qdq_fail(err, QDQ_E_FORMAT,
                    "graph '%s': node '%s' is on a cycle, expected an order in which nodes can run",
                    s->g->name, qdq_node_label(on_cycle(s), scratch));
}

static bool make_sorter(const qdq_graph *g, qdq_arena *scratch, sorter *s)
{
    size_t n = (size_t)g->n_node + 1;
    uint32_t place = 0;

    s->g = g;
    s->n_heap = 0;
    s->by_pos = qdq_arena_array(scratch, n, sizeof *s->by_pos);
    s->pos = qdq_arena_array(scratch, (size_t)g->next_node_id + 1, sizeof *s->pos);
    s->waits = qdq_arena_array(scratch, n, sizeof *s->waits);
    s->heap = qdq_arena_array(scratch, n, sizeof *s->heap);
    if (s->by_pos == NULL || s->pos == NULL || s->waits == NULL || s->heap == NULL)
        return false;
    QDQ_FOR_NODES (node, g) {
        s->pos[node->id] = place;
        s->by_pos[place++] = node;
    }
    return true;
}

static qdq_status sorted(const qdq_graph *g, qdq_arena *scratch, qdq_node ***out, bool *in_order,
                         qdq_error *err)
{
    qdq_node **order;
    uint32_t done = 0;
    sorter s;

    *out = NULL;
    QDQ_NEED(make_sorter(g, scratch, &s), err);
    *in_order = count_waits(&s);
    if (*in_order) {
        *out = s.by_pos;
        return QDQ_OK;
    }
    order = qdq_arena_array(scratch, (size_t)g->n_node + 1, sizeof *order);
    QDQ_NEED(order != NULL, err);
    for (uint32_t place = 0; place < g->n_node; place++)
        if (s.waits[place] == 0)
            heap_push(&s, place);
    while (s.n_heap > 0) {
        uint32_t place = heap_pop(&s);

        order[done++] = s.by_pos[place];
        FOR_READERS(&s, reader, place)
        {
            if (--s.waits[s.pos[reader->id]] == 0)
                heap_push(&s, s.pos[reader->id]);
        }
    }
    if (done != g->n_node)
        return cycle_error(&s, scratch, err);
    *out = order;
    return QDQ_OK;
}

qdq_status qdq_graph_sorted(const qdq_graph *g, qdq_arena *scratch, qdq_node ***out, size_t *n,
                            qdq_error *err)
{
    bool in_order;

    *n = 0;
    QDQ_TRY(sorted(g, scratch, out, &in_order, err));
    *n = g->n_node;
    return QDQ_OK;
}

qdq_status qdq_graph_sort(qdq_graph *g, qdq_error *err)
{
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_node **order;
    bool in_order;
    qdq_status st = sorted(g, &scratch, &order, &in_order, err);

    if (st == QDQ_OK && !in_order) {
        qdq_node *last = &g->end;

        for (uint32_t i = 0; i < g->n_node; i++) {
            order[i]->prev = last;
            last->next = order[i];
            last = order[i];
        }
        last->next = &g->end;
        g->end.prev = last;
        qdq_graph_touch(g);
    }
    qdq_arena_free(&scratch);
    return st;
}
