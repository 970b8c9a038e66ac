/* choices_scheme.c - converts the bits of a pattern's choices to points and back, and what
 * points at boundaries lead to. */
#include <math.h>

#include "base/fail.h"
#include "tune/scheme/readers.h"
#include "tune/scheme/scheme.h"

/* --- to points -------------------------------------------------------------------------------- */

qdq_status qdq_choices_to_scheme(const qdq_choices *c, const qdq_assign *bits, qdq_arena *arena,
                                 qdq_scheme *out, qdq_error *err)
{
    *out = (qdq_scheme){.latency_ms = INFINITY};
    for (size_t k = 0; k < c->n; k++) {
        qdq_point p = c->choice[k].point;

        if (!qdq_assign_get(bits, k))
            continue;
        for (; p.index < 32; p.index++)
            if ((c->choice[k].inputs >> p.index & 1) != 0) {
                QDQ_NEED(QDQ_PUSH(arena, &out->node_inputs, p), err);
                if (c->choice[k].linear)
                    break;
            }
    }
    (void)qdq_scheme_sort(out);
    return QDQ_OK;
}

/* --- tensors at boundaries -------------------------------------------------------------------- */

static bool is_below(int32_t i, size_t n)
{
    return i >= 0 && (size_t)i < n;
}

/* An instance, and its children as points count them. */
typedef struct place {
    const qdq_pattern *p;
    size_t instance;
    const qdq_region **child;
} place;

/* False: out of memory. */
static bool find_place(place *at, const qdq_pattern *p, size_t instance, qdq_arena *scratch)
{
    *at = (place){p, instance, qdq_region_sorted_children(p->instance[instance].region, scratch)};
    return at->child != NULL;
}

/* NULL: there is no such input. */
static const qdq_value *input_of_child(const place *at, const qdq_point *p)
{
    const size_t n = at->p->instance[at->instance].region->children.n;

    if (!is_below(p->region, n) || !is_below(p->index, at->child[p->region]->inputs.n))
        return NULL;
    return at->child[p->region]->inputs.at[p->index];
}

/* Of a node, or of a child; NULL: there is none. */
static const qdq_value *output_at(const place *at, const qdq_point *p)
{
    const qdq_instance *in = &at->p->instance[at->instance];

    if (is_below(p->node, at->p->n_nodes))
        return p->index >= 0 ? qdq_node_out(in->node[p->node], (uint32_t)p->index) : NULL;
    if (!is_below(p->region, in->region->children.n) ||
        !is_below(p->index, at->child[p->region]->outputs.n))
        return NULL;
    return at->child[p->region]->outputs.at[p->index];
}

typedef struct gathering {
    const qdq_pattern *p;
    /* of all points; of the one at hand */
    qdq_readers_set all, one;
    /* of `all` */
    qdq_arena *arena;
    qdq_arena scratch;
    qdq_boundary_points *out;
} gathering;

/* Adds what reads a point's tensor in all instances. */
static bool gather_point(gathering *g, const qdq_point *point, bool is_output)
{
    qdq_readers_begin(&g->one);
    for (size_t k = 0; k < g->p->n_instances; k++) {
        place at;
        if (!find_place(&at, g->p, k, &g->scratch))
            return false;
        const qdq_value *v = is_output ? output_at(&at, point) : input_of_child(&at, point);
        if (v != NULL &&
            (!qdq_readers_add(&g->one, v, &g->scratch) || !qdq_readers_add(&g->all, v, g->arena)))
            return false;
    }
    g->out->n_points++;
    g->out->n_lost += g->one.group.n == 0;
    return true;
}

static bool gather_points(gathering *g, const qdq_scheme *scheme, const qdq_space *s)
{
    if (!qdq_readers_open(&g->all, s, &g->scratch) || !qdq_readers_open(&g->one, s, &g->scratch))
        return false;
    qdq_readers_begin(&g->all);
    for (size_t i = 0; i < scheme->child_inputs.n; i++)
        if (!gather_point(g, &scheme->child_inputs.at[i], false))
            return false;
    for (size_t i = 0; i < scheme->outputs.n; i++)
        if (!gather_point(g, &scheme->outputs.at[i], true))
            return false;
    return true;
}

qdq_status qdq_scheme_boundary(const qdq_scheme *scheme, const qdq_pattern *p, const qdq_space *s,
                               qdq_arena *arena, qdq_boundary_points *out, qdq_error *err)
{
    gathering g = {.p = p, .arena = arena, .out = out};

    *out = (qdq_boundary_points){0};
    const bool ok = gather_points(&g, scheme, s);
    out->group = g.all.group.at;
    out->n_groups = g.all.group.n;
    qdq_arena_free(&g.scratch);
    return ok ? QDQ_OK : qdq_nomem(err);
}

/* --- from points ------------------------------------------------------------------------------ */

typedef struct resolving {
    const qdq_choices *c;
    const qdq_pattern *p;
    const qdq_space *s;
    qdq_assign *bits;
    qdq_arena scratch;
} resolving;

static void take_node_input(resolving *r, const qdq_point *p)
{
    for (size_t k = 0; k < r->c->n; k++)
        if (r->c->choice[k].point.node == p->node && p->index >= 0 && p->index < 32 &&
            (r->c->choice[k].inputs >> p->index & 1) != 0)
            qdq_assign_set(r->bits, k, true);
}

/* Whatever reads the value in the graph, as far as this pattern decides about it. */
static void take_readers(resolving *r, size_t instance, const qdq_value *v)
{
    if (v == NULL)
        return;
    QDQ_FOR_USES (u, v) {
        if (u->node->graph != r->s->clean->graph || qdq_skip_reason(u->node, u->index) != NULL)
            continue;
        uint32_t g = qdq_space_group_of(r->s, u->node, u->index);

        for (size_t k = 0; k < r->c->n && g != QDQ_NO_GROUP; k++)
            if (r->c->choice[k].group[instance] == g)
                qdq_assign_set(r->bits, k, true);
    }
}

/* What a leaf gives to itself. A composite has no nodes of its own: all that it says is at
 * boundaries. */
static bool take_outputs(resolving *r, size_t instance, const qdq_scheme *scheme)
{
    place at;

    if (!find_place(&at, r->p, instance, &r->scratch))
        return false;
    for (size_t i = 0; i < scheme->outputs.n; i++)
        take_readers(r, instance, output_at(&at, &scheme->outputs.at[i]));
    return true;
}

qdq_status qdq_choices_from_scheme(const qdq_choices *c, const qdq_pattern *p, const qdq_space *s,
                                   const qdq_scheme *scheme, qdq_arena *arena, qdq_assign *bits,
                                   qdq_error *err)
{
    resolving r = {.c = c, .p = p, .s = s, .bits = bits};
    bool ok = qdq_assign_new(bits, c->n, arena);

    for (size_t i = 0; i < scheme->node_inputs.n && ok; i++)
        take_node_input(&r, &scheme->node_inputs.at[i]);
    if (scheme->outputs.n > 0)
        for (size_t k = 0; k < p->n_instances && ok; k++)
            ok = take_outputs(&r, k, scheme);
    qdq_arena_free(&r.scratch);
    return ok ? QDQ_OK : qdq_nomem(err);
}
