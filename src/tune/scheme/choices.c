/* choices.c - lists what can be decided in a pattern, and in a whole assignment */
#include "base/fail.h"
#include "tune/scheme/scheme.h"

typedef struct finder {
    const qdq_pattern *p;
    const qdq_space *s;
    qdq_arena *arena;
    QDQ_VEC(qdq_choice) all;
    qdq_error *err;
} finder;

static const qdq_node *node_of(const qdq_pattern *p, size_t instance, size_t node)
{
    return p->instance[instance].node[node];
}

/* The group of canonical input i, or none. */
static uint32_t group_at(const finder *f, size_t instance, size_t node, uint32_t i)
{
    const qdq_node *n = node_of(f->p, instance, node);

    return i < n->n_in ? qdq_space_group_of(f->s, n, f->p->instance[instance].input[node][i])
                       : QDQ_NO_GROUP;
}

/* --- find ------------------------------------------------------------------------------------- */

enum { MAX_INPUTS = 32 }; /* what a slot group can tell apart */

static uint32_t count_inputs(const finder *f, size_t node)
{
    uint32_t n = 0;

    for (size_t k = 0; k < f->p->n_instances; k++)
        if (node_of(f->p, k, node)->n_in > n)
            n = node_of(f->p, k, node)->n_in;
    return n < MAX_INPUTS ? n : MAX_INPUTS;
}

/* Does each instance decide about this node at once? */
static bool is_one_decision(const finder *f, size_t node)
{
    for (size_t k = 0; k < f->p->n_instances; k++) {
        const qdq_node *n = node_of(f->p, k, node);
        uint32_t g = f->s->first_group[n->id];

        if (g != QDQ_NO_GROUP && g + 1 < f->s->n_groups && f->s->group[g + 1].node == n)
            return false;
    }
    return true;
}

/* Counts what instance k has there into the choice, if an earlier choice of the node has not got
 * it. */
static bool take_input(finder *f, qdq_choice *c, size_t first, size_t k, size_t node, uint32_t i)
{
    uint32_t g = group_at(f, k, node, i);

    if (g == QDQ_NO_GROUP)
        return false;
    for (size_t before = first; before < f->all.n; before++)
        if (f->all.at[before].group[k] == g)
            return false;
    if (c->inputs == 0)
        c->point = (qdq_point){QDQ_POINT_NONE, (int32_t)node, (int32_t)i};
    c->inputs |= (uint32_t)1 << i;
    if (c->group[k] == QDQ_NO_GROUP) {
        c->group[k] = g;
        c->linear |= f->s->group[g].linear;
        c->cost_ns += f->s->group[g].cost_ns;
    }
    return true;
}

/* The choice about canonical inputs from `i` up to `end`; `first`: where those of the node
 * begin. */
static qdq_status add_choice(finder *f, size_t first, size_t node, uint32_t i, uint32_t end)
{
    qdq_choice c = {.group = qdq_arena_array(f->arena, f->p->n_instances, sizeof *c.group)};
    bool any = false;

    QDQ_NEED(c.group != NULL, f->err);
    for (size_t k = 0; k < f->p->n_instances; k++)
        c.group[k] = QDQ_NO_GROUP;
    for (; i < end; i++)
        for (size_t k = 0; k < f->p->n_instances; k++)
            any |= take_input(f, &c, first, k, node, i);
    return !any || QDQ_PUSH(f->arena, &f->all, c) ? QDQ_OK : qdq_nomem(f->err);
}

static qdq_status add_choices(finder *f, size_t node)
{
    uint32_t n = count_inputs(f, node);
    size_t first = f->all.n;

    if (is_one_decision(f, node))
        return add_choice(f, first, node, 0, n);
    for (uint32_t i = 0; i < n; i++)
        QDQ_TRY(add_choice(f, first, node, i, i + 1));
    return QDQ_OK;
}

qdq_status qdq_choices_find(const qdq_pattern *p, const qdq_space *s, qdq_arena *arena,
                            qdq_choices *out, qdq_error *err)
{
    finder f = {.p = p, .s = s, .arena = arena, .err = err};

    *out = (qdq_choices){0};
    for (size_t node = 0; node < p->n_nodes; node++)
        QDQ_TRY(add_choices(&f, node));
    *out = (qdq_choices){f.all.at, f.all.n};
    return QDQ_OK;
}

/* --- whole assignments ------------------------------------------------------------------------ */

void qdq_choices_apply(const qdq_choices *c, const qdq_pattern *p, size_t instance,
                       const qdq_assign *bits, qdq_assign *a)
{
    size_t first = instance == SIZE_MAX ? 0 : instance,
           end = instance == SIZE_MAX ? p->n_instances : instance + 1;

    for (size_t i = 0; i < c->n; i++)
        for (size_t k = first; k < end; k++)
            if (c->choice[i].group[k] != QDQ_NO_GROUP)
                qdq_assign_set(a, c->choice[i].group[k], qdq_assign_get(bits, i));
}

/* Instances that have a choice, and those of them where it is on. */
static void count_on(const qdq_choice *c, const qdq_pattern *p, const qdq_assign *whole,
                     size_t *have, size_t *on)
{
    *have = *on = 0;
    for (size_t k = 0; k < p->n_instances; k++)
        if (c->group[k] != QDQ_NO_GROUP) {
            (*have)++;
            *on += qdq_assign_get(whole, c->group[k]);
        }
}

void qdq_choices_vote(const qdq_choices *c, const qdq_pattern *p, const qdq_assign *whole,
                      qdq_assign *bits)
{
    size_t have, on;

    for (size_t i = 0; i < c->n; i++) {
        count_on(&c->choice[i], p, whole, &have, &on);
        qdq_assign_set(bits, i, 2 * on > have);
    }
}

void qdq_choices_union(const qdq_choices *c, const qdq_pattern *p, const qdq_assign *whole,
                       qdq_assign *bits)
{
    size_t have, on;

    for (size_t i = 0; i < c->n; i++) {
        count_on(&c->choice[i], p, whole, &have, &on);
        qdq_assign_set(bits, i, on > 0);
    }
}
