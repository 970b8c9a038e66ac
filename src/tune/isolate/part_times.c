/* part_times.c - layers of a model of several parts, each told to its part by the prefix of its
 * names. Without the prefix, they are layers of the clean model, and its nodes get their times as
 * in a profile of the whole model. */
#include "tune/isolate/part_times.h"

#include <math.h>
#include <string.h>

#include "base/fail.h"

/* --- a group ---------------------------------------------------------------------------------- */

enum { OWN = 1, OTHER = 2 };

static unsigned side_of(const qdq_fusions *f, const qdq_node *n, uint32_t group)
{
    const uint32_t of = n != NULL ? f->of[n->id] : QDQ_NO_FUSION;

    return of == group ? OWN : of != QDQ_NO_FUSION ? OTHER : 0;
}

/* Who has the tensor: of a constant it does not matter who else reads it. */
static unsigned sides_of(const qdq_fusions *f, const qdq_value *v, uint32_t group)
{
    unsigned sides = side_of(f, v->producer, group);

    QDQ_FOR_USES (u, v)
        sides |= side_of(f, qdq_region_reader(f->g.g, u), group);
    return qdq_region_is_const(v) || v->init != NULL ? sides & OWN : sides;
}

qdq_group_time qdq_group_time_of(const qdq_fusions *f, uint32_t group, const qdq_tune_times *t)
{
    const qdq_graph *g = f->g.g;
    qdq_group_time sum = {0};

    QDQ_FOR_NODES (n, g) {
        const bool own = f->of[n->id] == group;
        *(own ? &sum.own : &sum.halo) += t->own[n->id];
        sum.rows += own ? t->rows[n->id] : 0;
    }
    for (size_t i = 0; i < g->values.n; i++) {
        const qdq_value *v = g->values.at[i];
        const unsigned sides = t->converted[v->id] > 0 ? sides_of(f, v, group) : 0;
        sum.inside += sides == OWN ? t->converted[v->id] : 0;
        sum.border += sides == (OWN | OTHER) ? t->converted[v->id] : 0;
    }
    return sum;
}

bool qdq_group_time_differs(const qdq_group_time *here, const qdq_group_time *there)
{
    const double half = 0.499; /* two products of one kernel have half of its row each */

    return fabs(here->rows - there->rows) > half;
}

/* --- parts ------------------------------------------------------------------------------------ */

#define NO_PART UINT32_MAX

typedef struct splitting {
    const qdq_parts *p;
    /* copies, with names of the clean model and without what profiling added */
    qdq_layer *layer;
    size_t n;
    /* by layer: its part */
    uint32_t *of;
    /* by part: a layer is another part's, too */
    bool *is_mixed;
    /* those of one part, in order of execution */
    qdq_layer *own;
    qdq_layer_index names;
    qdq_arena scratch;
    qdq_error *err;
} splitting;

/* The name without the prefix of a part, which then has the layer. */
static const char *cut_prefix(splitting *s, size_t layer, const char *name)
{
    const char *end = name != NULL ? strchr(name, '/') : NULL;
    const qdq_map_value *found =
        end != NULL ? qdq_map_get_n(&s->p->prefixes, name, (size_t)(end + 1 - name)) : NULL;
    uint32_t *of = &s->of[layer];

    if (found == NULL)
        return name;
    const uint32_t part = (uint32_t)found->num;
    if (*of != NO_PART && *of != part)
        s->is_mixed[*of] = s->is_mixed[part] = true;
    *of = part;
    return end + 1;
}

static qdq_status split_layer(splitting *s, size_t i)
{
    qdq_layer *l = &s->layer[i];
    const char **node = qdq_arena_array(&s->scratch, l->n_nodes + 1, sizeof *node);

    QDQ_NEED(node != NULL, s->err);
    s->of[i] = NO_PART;
    l->layer = cut_prefix(s, i, l->layer);
    l->tensor = cut_prefix(s, i, l->tensor);
    for (size_t k = 0; k < l->n_nodes; k++)
        node[k] = cut_prefix(s, i, l->node[k]);
    l->node = node;
    return QDQ_OK;
}

/* What profiling adds to each layer that took time. */
static double overhead_of(const qdq_layer *layer, size_t n, double end_to_end_us)
{
    double sum = 0, rows = 0;

    for (size_t i = 0; i < n; i++)
        if (layer[i].median_us > 0) {
            sum += layer[i].median_us;
            rows++;
        }
    return sum > end_to_end_us ? (sum - end_to_end_us) / rows : 0;
}

/* A layer without a name is that of the parts around it, if they are one. */
static qdq_status split_layers(splitting *s, const qdq_layer *layer, double end_to_end_us)
{
    const double overhead = overhead_of(layer, s->n, end_to_end_us);

    for (size_t i = 0; i < s->n; i++) {
        s->layer[i] = layer[i];
        s->layer[i].median_us = fmax(0, layer[i].median_us - overhead);
        QDQ_TRY(split_layer(s, i));
    }
    for (size_t i = 1; i + 1 < s->n; i++)
        if (s->of[i] == NO_PART && s->of[i - 1] == s->of[i + 1])
            s->of[i] = s->of[i - 1];
    return QDQ_OK;
}

static qdq_status time_part(splitting *s, uint32_t part, qdq_group_time *out)
{
    const qdq_arena_mark mark = qdq_arena_get_mark(&s->scratch);
    qdq_tune_times times;
    size_t n = 0;

    *out = (qdq_group_time){.own = NAN};
    if (s->is_mixed[part])
        return QDQ_OK;
    for (size_t i = 0; i < s->n; i++)
        if (s->of[i] == part)
            s->own[n++] = s->layer[i];
    QDQ_TRY(qdq_tune_attribute_by(&s->names, s->own, n, &s->scratch, &times, s->err));
    *out = qdq_group_time_of(s->p->f, s->p->group.at[part], &times);
    qdq_arena_reset(&s->scratch, mark);
    return QDQ_OK;
}

static qdq_status time_parts(splitting *s, const qdq_layer *layer, double end_to_end_us,
                             qdq_group_time *out)
{
    s->layer = qdq_arena_array(&s->scratch, s->n + 1, sizeof *s->layer);
    s->own = qdq_arena_array(&s->scratch, s->n + 1, sizeof *s->own);
    s->of = qdq_arena_array(&s->scratch, s->n + 1, sizeof *s->of);
    s->is_mixed = qdq_arena_array(&s->scratch, (size_t)s->p->n + 1, sizeof *s->is_mixed);
    QDQ_NEED(s->layer != NULL && s->own != NULL && s->of != NULL && s->is_mixed != NULL, s->err);
    QDQ_TRY(split_layers(s, layer, end_to_end_us));
    QDQ_TRY(qdq_layer_index_make(&s->names, s->p->f->g.g, &s->scratch, s->err));
    for (uint32_t part = 0; part < s->p->n; part++)
        QDQ_TRY(time_part(s, part, &out[part]));
    return QDQ_OK;
}

qdq_status qdq_parts_time(const qdq_parts *p, const qdq_layer *layer, size_t n,
                          double end_to_end_us, qdq_group_time *out, qdq_error *err)
{
    splitting s = {.p = p, .n = n, .scratch = QDQ_ARENA_INIT, .err = err};
    qdq_status st = time_parts(&s, layer, end_to_end_us, out);

    qdq_layer_index_free(&s.names);
    qdq_arena_free(&s.scratch);
    return st;
}
