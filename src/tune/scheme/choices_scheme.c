/* choices_scheme.c - see scheme.h: bits of a pattern's choices as points, and back. */
#include <math.h>

#include "base/fail.h"
#include "tune/scheme/scheme.h"

/* --- to points ----------------------------------------------------------------------------------------------------- */

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
                if (!QDQ_PUSH(arena, &out->node_inputs, p))
                    return qdq_nomem(err);
                if (c->choice[k].linear)
                    break;
            }
    }
    (void)qdq_scheme_sort(out);
    return QDQ_OK;
}

/* --- from points --------------------------------------------------------------------------------------------------- */

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

static bool is_below(int32_t i, size_t n)
{
    return i >= 0 && (size_t)i < n;
}

static void take_child_input(resolving *r, size_t instance, const qdq_region *const *child,
                             const qdq_point *p)
{
    const qdq_region *of = r->p->instance[instance].region;

    if (is_below(p->region, of->children.n) && is_below(p->index, child[p->region]->inputs.n))
        take_readers(r, instance, child[p->region]->inputs.at[p->index]);
}

static void take_output(resolving *r, size_t instance, const qdq_region *const *child, const qdq_point *p)
{
    const qdq_instance *in = &r->p->instance[instance];

    if (is_below(p->node, r->p->n_nodes))
        take_readers(r, instance, p->index >= 0 ? qdq_node_out(in->node[p->node], (uint32_t)p->index) : NULL);
    else if (is_below(p->region, in->region->children.n) && is_below(p->index, child[p->region]->outputs.n))
        take_readers(r, instance, child[p->region]->outputs.at[p->index]);
}

static bool take_boundaries(resolving *r, size_t instance, const qdq_scheme *scheme)
{
    const qdq_region **child = qdq_region_sorted_children(r->p->instance[instance].region, &r->scratch);

    if (child == NULL)
        return false;
    for (size_t i = 0; i < scheme->child_inputs.n; i++)
        take_child_input(r, instance, child, &scheme->child_inputs.at[i]);
    for (size_t i = 0; i < scheme->outputs.n; i++)
        take_output(r, instance, child, &scheme->outputs.at[i]);
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
    if (scheme->child_inputs.n > 0 || scheme->outputs.n > 0)
        for (size_t k = 0; k < p->n_instances && ok; k++)
            ok = take_boundaries(&r, k, scheme);
    qdq_arena_free(&r.scratch);
    return ok ? QDQ_OK : qdq_nomem(err);
}
