/* place_partitions_residual.c - residual Adds: the engine fuses such an Add into the convolution of
 * one of its branches, which therefore stays float; the other branch gets the Q/DQ.
 *
 * Which branch that is depends on how far both are from where they parted: their last common
 * ancestor, found by a walk from both ends, the later node first. Regions of residual blocks are
 * small, but nested ones may span the graph, and then a walk for each would be quadratic. So a walk
 * ends after WALK_MAX edges, all walks together after WALKS_MAX for each node of the graph; from
 * then on distances from the start of the graph decide, which give the same answer wherever all
 * ways into the region lead through one node. */
#include "base/fail.h"
#include "quant/place/place_partitions.h"

enum { WALK_MAX = 512, WALKS_MAX = 32 };

/* A node that a walk has met. */
typedef struct stop {
    const qdq_node *node;
    /* the longest way from it to either end; -1: there is none */
    int64_t far[2];
} stop;

typedef struct walker {
    const qdq_partition_state *t;
    /* by rank, the latest on top */
    stop heap[2 * WALK_MAX + 2];
    size_t n;
    /* of this walk */
    size_t edges;
    /* edges that all walks may still look at */
    uint64_t left;
    /* by node id: its place in the heap + 1, 0: not there */
    uint32_t *at;
} walker;

/* --- backbones -------------------------------------------------------------------------------- */

/* The first convolution that n comes from, in the order of inputs; `of` is that of the nodes
 * before. */
static const qdq_node *first_convolution(const qdq_partition_state *t, const qdq_node *n,
                                         const qdq_node *const *of)
{
    if (qdq_part_is(t, n, QDQ_PART_CONVOLUTION))
        return n;
    for (uint32_t i = 0; i < n->n_in; i++) {
        const qdq_node *before = qdq_part_producer(t, n->in[i].value);

        if (before != NULL && !qdq_part_known(t, n->in[i].value) && of[before->id] != NULL)
            return of[before->id];
    }
    return NULL;
}

static qdq_status find_backbones(const qdq_partition_state *t, qdq_error *err)
{
    qdq_placing *p = t->p;
    const qdq_node **first = qdq_place_by_node(p, sizeof *first);
    bool *has = qdq_place_by_node(p, sizeof *has);

    QDQ_NEED(first != NULL && has != NULL, err);
    qdq_arena_mark mark = qdq_arena_get_loop_mark(&p->scratch);
    for (size_t i = 0; i < t->rules->backbones.n; i++) {
        qdq_part_search s = {.path = &t->rules->backbones.at[i],
                             .through = QDQ_PART_COPY | QDQ_PART_QDQ};

        QDQ_TRY(qdq_part_match(t, &s, err));
        QDQ_FOR_PLACED (n, p)
            has[n->id] |= (s.ok[n->id] & 1) != 0;
        qdq_arena_reset(&p->scratch, mark);
    }
    QDQ_FOR_PLACED (n, p) {
        first[n->id] = first_convolution(t, n, first);
        qdq_part_of(t, n)->backbone = has[n->id] ? first[n->id] : NULL;
    }
    return QDQ_OK;
}

/* Of a way: Q and DQ of the model do not count, so that a branch is as long with them as
 * without. */
static uint32_t length_of(const qdq_partition_state *t, const qdq_node *n)
{
    return qdq_part_is(t, n, QDQ_PART_QDQ) ? 0 : 1;
}

static void measure_depths(const qdq_partition_state *t)
{
    QDQ_FOR_PLACED (n, t->p) {
        qdq_part_node *s = qdq_part_of(t, n);

        for (uint32_t k = 0; k < n->n_in; k++) {
            const qdq_node *before = qdq_part_producer(t, n->in[k].value);

            if (before != NULL && qdq_part_of(t, before)->depth + length_of(t, n) > s->depth)
                s->depth = qdq_part_of(t, before)->depth + length_of(t, n);
        }
    }
}

/* --- the last common ancestor ----------------------------------------------------------------- */

static bool later(const walker *w, size_t a, size_t b)
{
    return qdq_part_of(w->t, w->heap[a].node)->rank > qdq_part_of(w->t, w->heap[b].node)->rank;
}

static void swap(walker *w, size_t a, size_t b)
{
    stop s = w->heap[a];

    w->heap[a] = w->heap[b];
    w->heap[b] = s;
    w->at[w->heap[a].node->id] = (uint32_t)a + 1;
    w->at[w->heap[b].node->id] = (uint32_t)b + 1;
}

/* End `end` can be reached from n in `far` edges. */
static void meet(walker *w, const qdq_node *n, int end, int64_t far)
{
    size_t i = w->at[n->id];

    if (i == 0) {
        i = w->n++;
        w->heap[i] = (stop){n, {-1, -1}};
        w->at[n->id] = (uint32_t)i + 1;
    } else {
        i--;
    }
    if (w->heap[i].far[end] < far)
        w->heap[i].far[end] = far;
    for (; i > 0 && later(w, i, (i - 1) / 2); i = (i - 1) / 2)
        swap(w, i, (i - 1) / 2);
}

static stop take_latest(walker *w)
{
    stop top = w->heap[0];

    swap(w, 0, --w->n);
    w->at[top.node->id] = 0;
    for (size_t i = 0;;) {
        size_t child = 2 * i + 1;

        if (child + 1 < w->n && later(w, child + 1, child))
            child++;
        if (child >= w->n || !later(w, child, i))
            return top;
        swap(w, i, child);
        i = child;
    }
}

/* False: they have none, or the walk was given up (then w->edges is above WALK_MAX). */
static bool last_common(walker *w, const qdq_node *a, const qdq_node *b, stop *out)
{
    bool found = false;

    w->n = w->edges = 0;
    meet(w, a, 0, 0);
    meet(w, b, 1, 0);
    while (w->n > 0 && !found && w->edges <= WALK_MAX) {
        *out = take_latest(w);
        found = out->far[0] >= 0 && out->far[1] >= 0;
        for (uint32_t i = 0; i < out->node->n_in && !found && w->edges <= WALK_MAX; i++) {
            const qdq_node *before = qdq_part_producer(w->t, out->node->in[i].value);

            w->edges++;
            for (int end = 0; end < 2 && before != NULL; end++)
                if (out->far[end] >= 0)
                    meet(w, before, end, out->far[end] + length_of(w->t, out->node));
        }
    }
    w->left -= w->edges < w->left ? w->edges : w->left;
    while (w->n > 0)
        w->at[w->heap[--w->n].node->id] = 0;
    return found;
}

/* --- the main branch -------------------------------------------------------------------------- */

/* A linear node, or one that the engine fuses behind a convolution, which runs in 8 bits. */
static bool ends_in_kernel(const qdq_partition_state *t, const qdq_node *n)
{
    const qdq_node *backbone = qdq_part_of(t, n)->backbone;

    if (qdq_part_is(t, n, QDQ_PART_LINEAR))
        return !qdq_part_of(t, n)->frozen;
    return backbone != NULL && !qdq_part_of(t, backbone)->frozen;
}

static uint8_t longer_branch(walker *w, const qdq_node *a, const qdq_node *b)
{
    const qdq_partition_state *t = w->t;
    int64_t far[2] = {qdq_part_of(t, a)->depth, qdq_part_of(t, b)->depth};
    stop common;

    if (w->left > 0 && last_common(w, a, b, &common)) {
        far[0] = common.far[0];
        far[1] = common.far[1];
    }
    if (far[0] != far[1])
        return far[0] > far[1] ? 0 : 1;
    return !ends_in_kernel(t, a) && ends_in_kernel(t, b) ? 1 : 0;
}

/* The input whose convolution the engine fuses the Add into, or none. */
static uint8_t convolution_input(walker *w, const qdq_node *add)
{
    const qdq_partition_state *t = w->t;
    const qdq_node *from[2];
    stop common;

    for (uint32_t i = 0; i < 2; i++) {
        const qdq_value *v = qdq_node_in(add, i);

        from[i] = qdq_part_producer(t, v);
        if (from[i] == NULL || qdq_part_known(t, v))
            return QDQ_PART_NO_INPUT;
    }
    const qdq_node *a = qdq_part_of(t, from[0])->backbone, *b = qdq_part_of(t, from[1])->backbone;
    if (a == b) /* one convolution, or none on either side */
        return QDQ_PART_NO_INPUT;
    if (a != NULL && b != NULL)
        return longer_branch(w, from[0], from[1]);
    /* a block that begins with its only convolution (ConvNeXt) has no main branch */
    bool starts = w->left > 0 && last_common(w, from[0], from[1], &common) &&
                  common.node == (a != NULL ? a : b);
    return starts ? QDQ_PART_NO_INPUT : a != NULL ? 0 : 1;
}

/* What the model quantizes is not fused: then the other branch is quantized, too. */
static uint8_t main_input(walker *w, const qdq_node *add)
{
    uint8_t input = convolution_input(w, add);

    return input != QDQ_PART_NO_INPUT && qdq_part_through_dq(w->t, add->in[input].value)
               ? QDQ_PART_NO_INPUT
               : input;
}

static qdq_status find_main_branches(walker *w, qdq_error *err)
{
    const qdq_partition_state *t = w->t;

    w->at = qdq_place_by_node(t->p, sizeof *w->at);
    QDQ_NEED(w->at != NULL, err);
    QDQ_FOR_PLACED (n, t->p) {
        qdq_part_node *s = qdq_part_of(t, n);

        if (n->op != QDQ_OP_ADD || n->n_in != 2)
            continue;
        s->main_input = main_input(w, n);
        if (s->main_input != QDQ_PART_NO_INPUT)
            QDQ_PART_SAY(t, n, "residual-add", true,
                         "input %u is the main branch: the engine fuses the Add into '%s'",
                         (unsigned)s->main_input, n->in[s->main_input].value->name);
        else
            QDQ_PART_SAY(t, n, "residual-add", false,
                         "no branch has a convolution for it to be fused into");
    }
    return QDQ_OK;
}

qdq_status qdq_part_residual(const qdq_partition_state *t, qdq_error *err)
{
    QDQ_TRY(find_backbones(t, err));
    if (!t->rules->residual_add)
        return QDQ_OK;
    measure_depths(t);
    walker *w = qdq_arena_alloc(&t->p->scratch, sizeof *w);
    QDQ_NEED(w != NULL, err);
    w->t = t;
    w->left = (uint64_t)t->p->n_order * WALKS_MAX;
    return find_main_branches(w, err);
}
