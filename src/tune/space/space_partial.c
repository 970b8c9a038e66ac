/* space_partial.c - halves of groups. What a half looks like, its type, axis and rule, the plan of
 * everything says; that one is placed once more, for a plan has no entries of what it leaves
 * out. */
#include "tune/space/space_partial.h"

#include <string.h>

#include "base/fail.h"
#include "target/target.h"
#include "tune/space/space_cover.h"
#include "tune/space/space_scales.h"

/* --- assignments ------------------------------------------------------------------------------ */

size_t qdq_space_scheme_bits(const qdq_space *s)
{
    return 3 * s->n_groups;
}

static const qdq_target_op *rule_of(const qdq_space *s, size_t group)
{
    return qdq_target_find(s->target, s->group[group].node->type);
}

bool qdq_space_has_partial(const qdq_space *s, size_t group)
{
    const qdq_decision *g = &s->group[group];
    const qdq_target_op *op = rule_of(s, group);

    return g->linear && op != NULL && (g->inputs >> op->data & 1) != 0 &&
           (g->inputs >> op->weight & 1) != 0 && qdq_node_const(g->node, op->data) == NULL &&
           qdq_node_const(g->node, op->weight) != NULL;
}

qdq_space_part qdq_space_get_part(const qdq_space *s, const qdq_assign *a, size_t group)
{
    if (qdq_assign_get(a, group))
        return QDQ_PART_FULL;
    if (a->n < qdq_space_scheme_bits(s) || !qdq_space_has_partial(s, group))
        return QDQ_PART_NONE;
    if (qdq_assign_get(a, s->n_groups + group))
        return QDQ_PART_WEIGHT;
    return qdq_assign_get(a, 2 * s->n_groups + group) ? QDQ_PART_ACTIVATION : QDQ_PART_NONE;
}

void qdq_space_set_part(const qdq_space *s, qdq_assign *a, size_t group, qdq_space_part part)
{
    bool halves = qdq_space_has_partial(s, group);

    qdq_assign_set(a, group, part == QDQ_PART_FULL);
    if (a->n < qdq_space_scheme_bits(s))
        return;
    qdq_assign_set(a, s->n_groups + group, halves && part == QDQ_PART_WEIGHT);
    qdq_assign_set(a, 2 * s->n_groups + group, halves && part == QDQ_PART_ACTIVATION);
}

static bool has_any_half(const qdq_space *s, const qdq_assign *a)
{
    for (size_t i = 0; i < s->n_groups; i++)
        if (qdq_space_get_part(s, a, i) > QDQ_PART_FULL)
            return true;
    return false;
}

/* --- entries ---------------------------------------------------------------------------------- */

/* An entry is for nodes of one graph: those for nodes of bodies take no edges of this one. */
static bool is_of_main_graph(const qdq_space *s, const qdq_edges *consumers)
{
    return consumers->n > 0 && qdq_space_node(s, consumers->at[0].node) != NULL;
}

/* The entry of p that lists readers of this tensor in this format; NULL: there is none. */
static qdq_plan_tensor *find_tensor(const qdq_space *s, qdq_plan *p, const qdq_plan_tensor *like)
{
    for (size_t i = 0; i < p->tensors.n; i++) {
        qdq_plan_tensor *t = &p->tensors.at[i];
        if (!t->all && qdq_plan_same_form(t, like) && strcmp(t->tensor, like->tensor) == 0 &&
            is_of_main_graph(s, &t->consumers))
            return t;
    }
    return NULL;
}

/* The same of a constant in this form. */
static qdq_plan_weight *find_weight(const qdq_space *s, qdq_plan *p, const qdq_plan_weight *like)
{
    for (size_t i = 0; i < p->weights.n; i++) {
        qdq_plan_weight *w = &p->weights.at[i];
        if (w->type == like->type && w->axis == like->axis && w->block == like->block &&
            w->asymmetric == like->asymmetric && w->reduced == like->reduced &&
            w->pairs == like->pairs && w->pow2 == like->pow2 && w->store == like->store &&
            strcmp(w->tensor, like->tensor) == 0 && is_of_main_graph(s, &w->consumers))
            return w;
    }
    return NULL;
}

static bool add_edges(qdq_plan *p, qdq_edges *to, const qdq_edges *from)
{
    for (size_t i = 0; i < from->n; i++)
        if (!qdq_plan_add_edge(p, to, from->at[i].node, from->at[i].input))
            return false;
    return true;
}

/* Edges of `t`, an entry of `from`, get into p: into the entry that it has for them, or into a new
 * one; *out, until the next one is made. */
static qdq_status add_tensor(const qdq_space *s, qdq_plan *p, const qdq_plan *from,
                             const qdq_plan_tensor *t, qdq_plan_tensor **out, qdq_error *err)
{
    *out = find_tensor(s, p, t);
    if (*out == NULL) {
        qdq_plan_tensor own = *t;

        own.tensor = qdq_arena_strdup(&p->arena, t->tensor);
        own.rule = qdq_arena_strdup(&p->arena, t->rule);
        own.origin = qdq_arena_strdup(&p->arena, t->origin);
        own.consumers = (qdq_edges){0};
        QDQ_NEED(own.tensor != NULL && own.rule != NULL && own.origin != NULL &&
                     qdq_plan_take_folds(p, from, &own) && QDQ_PUSH(&p->arena, &p->tensors, own),
                 err);
        *out = &p->tensors.at[p->tensors.n - 1];
    }
    return add_edges(p, &(*out)->consumers, &t->consumers) ? QDQ_OK : qdq_nomem(err);
}

static qdq_status add_weight(const qdq_space *s, qdq_plan *p, const qdq_plan_weight *w,
                             qdq_error *err)
{
    qdq_plan_weight *at = find_weight(s, p, w);

    if (at == NULL) {
        qdq_plan_weight own = *w;

        own.tensor = qdq_arena_strdup(&p->arena, w->tensor);
        own.rule = qdq_arena_strdup(&p->arena, w->rule);
        own.origin = qdq_arena_strdup(&p->arena, w->origin);
        own.clip = w->clip != NULL ? qdq_arena_strndup(&p->arena, w->clip, w->n_scales) : NULL;
        own.consumers = (qdq_edges){0};
        QDQ_NEED(own.tensor != NULL && own.rule != NULL && own.origin != NULL &&
                     (w->clip == NULL || own.clip != NULL) && QDQ_PUSH(&p->arena, &p->weights, own),
                 err);
        at = &p->weights.at[p->weights.n - 1];
    }
    return add_edges(p, &at->consumers, &w->consumers) ? QDQ_OK : qdq_nomem(err);
}

/* --- halves ----------------------------------------------------------------------------------- */

typedef struct partial {
    const qdq_space *s;
    const qdq_assign *a;
    /* without scales */
    qdq_plan *everything;
    /* of it */
    qdq_cover full;
    /* their entries */
    qdq_plan *halves;
    /* tensors that have such an entry in p */
    qdq_map listed;
    qdq_plan *p;
    /* of p, before it gets them */
    qdq_cover in_p;
    qdq_error *err;
} partial;

/* Does the plan without halves give all readers of the tensor codes? */
static bool is_covered_whole(const partial *h, const char *tensor)
{
    return qdq_cover_tensor(&h->in_p, tensor, NULL, 0) != 0;
}

static qdq_status take_weight(partial *h, const qdq_node *n, uint32_t input)
{
    const size_t at = qdq_cover_weight(&h->full, n, input);
    qdq_edge edge = {qdq_node_label(n, &h->halves->arena), input};

    QDQ_NEED(edge.node != NULL, h->err);
    if (at == 0)
        return QDQ_OK;
    qdq_plan_weight half = h->everything->weights.at[at - 1];
    half.consumers = (qdq_edges){.at = &edge, .n = 1};
    return add_weight(h->s, h->halves, &half, h->err);
}

/* On its own: with whom the tensor shares a scale when everything is quantized says nothing
 * here. */
static qdq_status take_activation(partial *h, const qdq_node *n, uint32_t input)
{
    const char *name = qdq_node_in(n, input)->name;
    const size_t at = qdq_cover_tensor(&h->full, name, n, input);
    qdq_plan_tensor *unused;
    qdq_edge edge = {qdq_node_label(n, &h->halves->arena), input};

    QDQ_NEED(edge.node != NULL, h->err);
    if (at == 0 || is_covered_whole(h, name))
        return QDQ_OK;
    qdq_plan_tensor half = h->everything->tensors.at[at - 1];
    half.like = half.group = NULL;
    half.all = false;
    half.consumers = (qdq_edges){.at = &edge, .n = 1};
    return add_tensor(h->s, h->halves, h->everything, &half, &unused, h->err);
}

static qdq_status take_partial(partial *h)
{
    for (size_t i = 0; i < h->s->n_groups; i++) {
        const qdq_target_op *op = rule_of(h->s, i);
        const qdq_node *n = h->s->group[i].node;

        switch (qdq_space_get_part(h->s, h->a, i)) {
        case QDQ_PART_NONE:
        case QDQ_PART_FULL:
            break;
        case QDQ_PART_WEIGHT:
            QDQ_TRY(take_weight(h, n, op->weight));
            break;
        case QDQ_PART_ACTIVATION:
            QDQ_TRY(take_activation(h, n, op->data));
            break;
        }
    }
    return QDQ_OK;
}

static bool are_all_readers(const partial *h, const qdq_plan_tensor *t)
{
    const qdq_value *v = qdq_graph_find(h->s->clean->graph, t->tensor);

    return v->n_output == 0 && t->consumers.n == v->n_use;
}

static qdq_status give_to_plan(partial *h)
{
    qdq_plan_tensor *t;

    for (size_t i = 0; i < h->halves->tensors.n; i++) {
        QDQ_TRY(add_tensor(h->s, h->p, h->halves, &h->halves->tensors.at[i], &t, h->err));
        t->all = are_all_readers(h, t); /* then a list of them says nothing */
        QDQ_NEED(qdq_map_put(&h->listed, t->tensor, NULL) != NULL, h->err);
    }
    for (size_t i = 0; i < h->halves->weights.n; i++)
        QDQ_TRY(add_weight(h->s, h->p, &h->halves->weights.at[i], h->err));
    return QDQ_OK;
}

/* --- what is said of them --------------------------------------------------------------------- */

/* NULL: what placement said holds, for it has no half, or calibration saw no value of its
 * activation. */
static const char *reason_of(const partial *h, uint32_t group)
{
    const qdq_node *n = h->s->group[group].node;
    const char *data = NULL;

    switch (qdq_space_get_part(h->s, h->a, group)) {
    case QDQ_PART_NONE:
    case QDQ_PART_FULL:
        return NULL;
    case QDQ_PART_WEIGHT:
        return QDQ_SPACE_ONLY_WEIGHT;
    case QDQ_PART_ACTIVATION:
        data = qdq_node_in(n, rule_of(h->s, group)->data)->name;
        return is_covered_whole(h, data) || qdq_map_get(&h->listed, data) != NULL
                   ? QDQ_SPACE_ONLY_ACTIVATION
                   : NULL;
    }
    return NULL;
}

static void set_reasons(const partial *h)
{
    for (size_t i = 0; i < h->p->left_float.n; i++) {
        qdq_plan_float *f = &h->p->left_float.at[i];
        const qdq_node *n = qdq_space_node(h->s, f->node);
        uint32_t group = n != NULL ? h->s->first_group[n->id] : QDQ_NO_GROUP;
        const char *reason = group != QDQ_NO_GROUP ? reason_of(h, group) : NULL;

        f->reason = reason != NULL ? reason : f->reason;
    }
}

/* --- all of it -------------------------------------------------------------------------------- */

static qdq_status add_partial(partial *h, const qdq_space_scaling *from)
{
    QDQ_TRY(qdq_cover_open(&h->in_p, h->s, h->p, h->err));
    QDQ_TRY(qdq_space_place_all(h->s, from->opts, h->everything, h->err));
    QDQ_TRY(qdq_cover_open(&h->full, h->s, h->everything, h->err));
    QDQ_TRY(take_partial(h));
    QDQ_TRY(qdq_space_fill_scales(h->s, from, h->halves, h->err));
    QDQ_TRY(qdq_space_fill_clips(h->s, from->known, h->halves, h->err));
    QDQ_TRY(give_to_plan(h));
    set_reasons(h);
    qdq_space_note_random(h->p, h->halves, from->data);
    return qdq_plan_finish(h->p) ? QDQ_OK : qdq_nomem(h->err);
}

qdq_status qdq_space_add_partial(const qdq_space *s, const qdq_assign *a,
                                 const qdq_space_scaling *from, qdq_plan *p, qdq_error *err)
{
    partial h = {.s = s, .a = a, .p = p, .err = err};

    if (!has_any_half(s, a))
        return QDQ_OK;
    h.everything = qdq_plan_new();
    h.halves = qdq_plan_new();
    qdq_status st =
        h.everything != NULL && h.halves != NULL ? add_partial(&h, from) : qdq_nomem(err);
    qdq_cover_free(&h.in_p);
    qdq_cover_free(&h.full);
    qdq_map_free(&h.listed);
    qdq_plan_free(h.everything);
    qdq_plan_free(h.halves);
    return st;
}
