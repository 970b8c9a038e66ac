/* place_partitions_grow.c - partitions: from each linear node on, what the engine fuses behind it;
 * then, from what is left, pointwise nodes. A node joins once; its readers are asked when it joins,
 * and each keeps count of how many of its inputs are inside, so that growing costs as much as there
 * are edges. */
#include "base/fail.h"
#include "quant/place/place_partitions.h"

/* A node that has joined, and how far its readers have been looked at. */
typedef struct frame {
    const qdq_node *node;
    uint32_t out;
    /* NULL: begin with output `out` */
    const qdq_use *next;
    bool open;
} frame;

typedef struct grower {
    qdq_partition_state *t;
    QDQ_VEC(frame) stack;
    /* by node id: its inputs that are not known, those that are left out counted */
    uint32_t *variable;
    bool *mul_joins, *mul_stays;
    /* the partition that grows has no linear node */
    bool pointwise;
} grower;

/* --- what may join ---------------------------------------------------------------------------- */

static uint32_t count_variable(const qdq_partition_state *t, const qdq_node *n)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < n->n_in; i++)
        count += n->in[i].value == NULL || !qdq_part_known(t, n->in[i].value);
    return count;
}

/* The engine has a kernel for x * Sigmoid(x) behind a convolution or an Add, not for other
 * gates. */
static bool mul_may_join(const grower *g, const qdq_node *n)
{
    return n->op != QDQ_OP_MUL || g->variable[n->id] <= 1 || g->mul_joins[n->id] ||
           !g->mul_stays[n->id];
}

static bool may_join(const grower *g, const qdq_node *from, const qdq_node *n)
{
    const qdq_partition_state *t = g->t;
    const qdq_part_node *s = qdq_part_of(t, n);

    if (s->part != 0 || s->frozen || !mul_may_join(g, n))
        return false;
    if (qdq_part_is(t, n, QDQ_PART_COPY | QDQ_PART_POINTWISE) && s->stamp == t->n_parts &&
        s->inside == g->variable[n->id])
        return true;
    if (qdq_part_is(t, n, QDQ_PART_BEHIND_CONVOLUTION) && s->backbone != NULL)
        return true;
    return s->main_input != QDQ_PART_NO_INPUT &&
           qdq_part_producer(t, qdq_node_in(n, s->main_input)) == from &&
           qdq_node_out(from, 0) != NULL && qdq_node_in(n, s->main_input) == from->out[0];
}

/* --- growing ---------------------------------------------------------------------------------- */

/* n joins, and its readers have one more input that is inside. */
static bool join_partition(grower *g, const qdq_node *n)
{
    qdq_partition_state *t = g->t;
    qdq_part_node *s = qdq_part_of(t, n);

    s->part = t->n_parts;
    s->pointwise = g->pointwise;
    for (uint32_t i = 0; i < n->n_out; i++) {
        if (n->out[i] == NULL)
            continue;
        QDQ_FOR_USES (u, n->out[i]) {
            qdq_part_node *reader = qdq_part_here(t, u->node) ? qdq_part_of(t, u->node) : NULL;

            if (reader == NULL)
                continue;
            reader->inside = reader->stamp == t->n_parts ? reader->inside + 1 : 1;
            reader->stamp = t->n_parts;
        }
    }
    if (n->op == QDQ_OP_ADD && s->main_input != QDQ_PART_NO_INPUT)
        return true; /* a residual Add ends its kernel */
    return QDQ_PUSH(&t->p->scratch, &g->stack, ((frame){n, 0, NULL, false}));
}

/* The next reader of the node on top; NULL: there is none left. */
static const qdq_node *next_reader(const qdq_partition_state *t, frame *f)
{
    for (; f->out < f->node->n_out; f->out++, f->open = false) {
        const qdq_value *v = f->node->out[f->out];

        if (v == NULL)
            continue;
        if (!f->open)
            f->next = v->first;
        f->open = true;
        while (f->next != NULL) {
            const qdq_use *u = f->next;

            f->next = u->next;
            if (qdq_part_here(t, u->node))
                return u->node;
        }
    }
    return NULL;
}

static qdq_status grow_from(grower *g, const qdq_node *root, qdq_error *err)
{
    qdq_partition_state *t = g->t;

    t->n_parts++;
    qdq_part_of(t, root)->head = true;
    g->stack.n = 0;
    QDQ_NEED(join_partition(g, root), err);
    while (g->stack.n > 0) {
        frame *f = &g->stack.at[g->stack.n - 1];
        const qdq_node *from = f->node, *reader = next_reader(t, f);

        if (reader == NULL) {
            g->stack.n--;
        } else if (may_join(g, from, reader)) {
            QDQ_NEED(join_partition(g, reader), err);
            QDQ_PART_SAY(t, reader, "epilogue", true, "the engine fuses it into the kernel of '%s'",
                         root->n_out > 0 && root->out[0] != NULL ? root->out[0]->name : root->type);
        }
    }
    return QDQ_OK;
}

/* --- what follows a linear partition ---------------------------------------------------------- */

/* The copy operators between n and a linear partition: of each the data inputs alone count, and all
 * of them. */
static uint32_t count_copies(const qdq_partition_state *t, const qdq_node *n)
{
    const qdq_part_node *s = qdq_part_of(t, n);
    uint32_t most = 0;
    bool any = false;

    if (s->part != 0 && !s->pointwise)
        return 0;
    if (!qdq_part_is(t, n, QDQ_PART_COPY))
        return UINT32_MAX;
    for (uint32_t i = 0; i < n->n_in; i++) {
        const qdq_value *v = n->in[i].value;

        if (v == NULL || !qdq_part_is_data(t, n, i) || qdq_part_known(t, v))
            continue;
        const qdq_node *before = qdq_part_producer(t, v);
        uint32_t copies = before != NULL ? qdq_part_of(t, before)->copies : UINT32_MAX;

        most = copies > most ? copies : most;
        any = true;
    }
    return !any || (int64_t)most >= t->rules->trace_depth ? UINT32_MAX : most + 1;
}

static void trace_copies(const qdq_partition_state *t)
{
    QDQ_FOR_PLACED (n, t->p)
        qdq_part_of(t, n)->copies = count_copies(t, n);
}

/* --- all partitions --------------------------------------------------------------------------- */

static qdq_status find_muls(const grower *g, const qdq_paths *paths, bool *out, qdq_error *err)
{
    qdq_placing *p = g->t->p;
    qdq_arena_mark mark = qdq_arena_get_loop_mark(&p->scratch);

    for (size_t i = 0; i < paths->n; i++) {
        qdq_part_search s = {.path = &paths->at[i], .through = QDQ_PART_QDQ};

        QDQ_TRY(qdq_part_match(g->t, &s, err));
        QDQ_FOR_PLACED (n, p)
            out[n->id] |= (s.ok[n->id] & 1) != 0;
        qdq_arena_reset(&p->scratch, mark);
    }
    return QDQ_OK;
}

static qdq_status grow_all(grower *g, unsigned roots, qdq_error *err)
{
    QDQ_FOR_PLACED (n, g->t->p) {
        const qdq_part_node *s = qdq_part_of(g->t, n);

        if (s->part == 0 && !s->frozen && qdq_part_is(g->t, n, roots) && mul_may_join(g, n))
            QDQ_TRY(grow_from(g, n, err));
    }
    return QDQ_OK;
}

/* A Resize behind a linear partition is a kernel of its own: it joins nothing, and nothing joins
 * it. */
static void part_resizes(const qdq_partition_state *t)
{
    QDQ_FOR_PLACED (n, t->p) {
        qdq_part_node *s = qdq_part_of(t, n);
        const qdq_node *before = qdq_part_producer(t, qdq_node_in(n, 0));

        if (s->part == 0 && !s->frozen && qdq_part_is(t, n, QDQ_PART_RESIZE) && before != NULL &&
            qdq_part_of(t, before)->copies != UINT32_MAX) {
            s->head = s->pointwise = true;
            QDQ_PART_SAY(t, n, "resize", true,
                         "it follows a linear kernel: it is a kernel of its own");
        }
    }
}

qdq_status qdq_part_grow(qdq_partition_state *t, qdq_error *err)
{
    qdq_placing *p = t->p;
    grower g = {.t = t};

    g.variable = qdq_place_by_node(p, sizeof *g.variable);
    g.mul_joins = qdq_place_by_node(p, sizeof *g.mul_joins);
    g.mul_stays = qdq_place_by_node(p, sizeof *g.mul_stays);
    QDQ_NEED(g.variable != NULL && g.mul_joins != NULL && g.mul_stays != NULL, err);
    QDQ_FOR_PLACED (n, p)
        g.variable[n->id] = count_variable(t, n);
    QDQ_TRY(find_muls(&g, &t->rules->mul_joins, g.mul_joins, err));
    QDQ_TRY(find_muls(&g, &t->rules->mul_stays, g.mul_stays, err));
    QDQ_TRY(grow_all(&g, QDQ_PART_LINEAR, err));
    trace_copies(t);
    g.pointwise = true;
    QDQ_TRY(grow_all(&g, QDQ_PART_POINTWISE, err));
    part_resizes(t);
    return QDQ_OK;
}
