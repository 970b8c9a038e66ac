/* space_partial.c - see the header. What a half looks like, its type, axis and rule, the plan of
 * everything says; that one is placed once more, for a plan has no entries of what it leaves
 * out. */
#include "tune/space/space_partial.h"

#include <string.h>

#include "base/fail.h"
#include "target/target.h"
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

bool qdq_space_has_halves(const qdq_space *s, size_t group)
{
    const qdq_decision *g = &s->group[group];
    const qdq_target_op *op = rule_of(s, group);

    return g->linear && op != NULL && (g->inputs >> op->data & 1) != 0 &&
           (g->inputs >> op->weight & 1) != 0 &&
           qdq_value_const(qdq_node_in(g->node, op->data)) == NULL &&
           qdq_value_const(qdq_node_in(g->node, op->weight)) != NULL;
}

qdq_space_part qdq_space_get_part(const qdq_space *s, const qdq_assign *a, size_t group)
{
    if (qdq_assign_get(a, group))
        return QDQ_PART_FULL;
    if (a->n < qdq_space_scheme_bits(s) || !qdq_space_has_halves(s, group))
        return QDQ_PART_NONE;
    if (qdq_assign_get(a, s->n_groups + group))
        return QDQ_PART_WEIGHT;
    return qdq_assign_get(a, 2 * s->n_groups + group) ? QDQ_PART_ACTIVATION : QDQ_PART_NONE;
}

void qdq_space_set_part(const qdq_space *s, qdq_assign *a, size_t group, qdq_space_part part)
{
    bool halves = qdq_space_has_halves(s, group);

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

/* Where the entries of a plan are, that more edges may be added to them. Numbers are 1 + index. */
typedef struct entries {
    qdq_arena arena;
    /* type and tensor, or form and weight; of a tensor, if not all readers have it */
    qdq_map by_form;
    qdq_map all; /* tensors that all readers get as codes */
} entries;

static void free_entries(entries *x)
{
    qdq_map_free(&x->by_form);
    qdq_map_free(&x->all);
    qdq_arena_free(&x->arena);
}

/* NULL: out of memory. */
static const char *tensor_key(const qdq_plan_tensor *t, qdq_arena *arena)
{
    return qdq_arena_printf(arena, "%d %s", (int)qdq_plan_asked(t), t->tensor);
}

static const char *weight_key(const qdq_plan_weight *w, qdq_arena *arena)
{
    return qdq_arena_printf(arena, "w %d %d %lld %d%d%d %d %s", (int)w->type, w->axis,
                            (long long)w->block, w->asymmetric, w->reduced, w->pow2, (int)w->store,
                            w->tensor);
}

/* 1 + index of the entry with this key, 0: there is none, and the next one of the list has it
 * now. */
static qdq_status find_entry(entries *x, const char *key, size_t next, size_t *out, qdq_error *err)
{
    bool is_new;
    qdq_map_value *v = key != NULL ? qdq_map_put(&x->by_form, key, &is_new) : NULL;

    if (v == NULL)
        return qdq_nomem(err);
    *out = is_new ? 0 : (size_t)v->num;
    if (is_new)
        v->num = next + 1;
    return QDQ_OK;
}

/* An entry is for nodes of one graph: those for nodes of bodies take no edges of this one. */
static bool is_of_main_graph(const qdq_space *s, const qdq_edges *consumers)
{
    return consumers->n > 0 && qdq_map_get(&s->labels, consumers->at[0].node) != NULL;
}

static qdq_status note_entries(const qdq_space *s, entries *x, const qdq_plan *p, qdq_error *err)
{
    size_t unused;

    for (size_t i = 0; i < p->tensors.n; i++) {
        const qdq_plan_tensor *t = &p->tensors.at[i];

        if (t->all && qdq_map_put(&x->all, t->tensor, NULL) == NULL)
            return qdq_nomem(err);
        if (!t->all && is_of_main_graph(s, &t->consumers))
            QDQ_TRY(find_entry(x, tensor_key(t, &x->arena), i, &unused, err));
    }
    for (size_t i = 0; i < p->weights.n; i++)
        if (is_of_main_graph(s, &p->weights.at[i].consumers))
            QDQ_TRY(find_entry(x, weight_key(&p->weights.at[i], &x->arena), i, &unused, err));
    return QDQ_OK;
}

static bool add_edges(qdq_plan *p, qdq_edges *to, const qdq_edges *from)
{
    for (size_t i = 0; i < from->n; i++)
        if (!qdq_plan_add_edge(p, to, from->at[i].node, from->at[i].input))
            return false;
    return true;
}

/* Edges of `t` get into p: into the entry that it has for them, or into a new one; *out, until the
 * next one is made. */
static qdq_status add_tensor(entries *x, qdq_plan *p, const qdq_plan_tensor *t,
                             qdq_plan_tensor **out, qdq_error *err)
{
    size_t at = 0;

    QDQ_TRY(find_entry(x, tensor_key(t, &x->arena), p->tensors.n, &at, err));
    if (at == 0) {
        qdq_plan_tensor own = *t;

        own.tensor = qdq_arena_strdup(&p->arena, t->tensor);
        own.rule = qdq_arena_strdup(&p->arena, t->rule);
        own.origin = qdq_arena_strdup(&p->arena, t->origin);
        own.consumers = (qdq_edges){0};
        if (own.tensor == NULL || own.rule == NULL || own.origin == NULL ||
            !QDQ_PUSH(&p->arena, &p->tensors, own))
            return qdq_nomem(err);
        at = p->tensors.n;
    }
    *out = &p->tensors.at[at - 1];
    return add_edges(p, &(*out)->consumers, &t->consumers) ? QDQ_OK : qdq_nomem(err);
}

static qdq_status add_weight(entries *x, qdq_plan *p, const qdq_plan_weight *w, qdq_error *err)
{
    size_t at = 0;

    QDQ_TRY(find_entry(x, weight_key(w, &x->arena), p->weights.n, &at, err));
    if (at == 0) {
        qdq_plan_weight own = *w;

        own.tensor = qdq_arena_strdup(&p->arena, w->tensor);
        own.rule = qdq_arena_strdup(&p->arena, w->rule);
        own.origin = qdq_arena_strdup(&p->arena, w->origin);
        own.clip = w->clip != NULL ? qdq_arena_strndup(&p->arena, w->clip, w->n_scales) : NULL;
        own.consumers = (qdq_edges){0};
        if (own.tensor == NULL || own.rule == NULL || own.origin == NULL ||
            (w->clip != NULL && own.clip == NULL) || !QDQ_PUSH(&p->arena, &p->weights, own))
            return qdq_nomem(err);
        at = p->weights.n;
    }
    return add_edges(p, &p->weights.at[at - 1].consumers, &w->consumers) ? QDQ_OK : qdq_nomem(err);
}

/* --- halves ----------------------------------------------------------------------------------- */

typedef struct halving {
    const qdq_space *s;
    const qdq_assign *a;
    qdq_plan *everything; /* without scales */
    /* node id and input -> the entry of the plan of everything that names it */
    qdq_map tensor, weight;
    qdq_map all;      /* tensor -> its entry for all readers */
    qdq_plan *halves; /* their entries */
    qdq_map given;    /* tensors that have such an entry in p */
    qdq_plan *p;
    entries in_p;
    qdq_error *err;
} halving;

static uint64_t edge_key(const qdq_node *n, uint32_t input)
{
    return (uint64_t)n->id << 32 | input;
}

static qdq_status note_edges(const halving *h, qdq_map *map, const qdq_edges *edges, void *entry)
{
    for (size_t i = 0; i < edges->n; i++) {
        const qdq_map_value *n = qdq_map_get(&h->s->labels, edges->at[i].node);
        qdq_map_value *v;

        if (n == NULL)
            continue;
        v = qdq_map_put_int(map, edge_key(n->ptr, edges->at[i].input), NULL);
        if (v == NULL)
            return qdq_nomem(h->err);
        v->ptr = entry;
    }
    return QDQ_OK;
}

static qdq_status place_everything(halving *h, const qdq_quantize_opts *opts)
{
    qdq_plan *p = h->everything;

    QDQ_TRY(qdq_space_place_all(h->s, opts, p, h->err));
    for (size_t i = 0; i < p->tensors.n; i++) {
        qdq_plan_tensor *t = &p->tensors.at[i];
        qdq_map_value *v = t->all ? qdq_map_put(&h->all, t->tensor, NULL) : NULL;

        if (t->all && v == NULL)
            return qdq_nomem(h->err);
        if (t->all)
            v->ptr = t;
        QDQ_TRY(note_edges(h, &h->tensor, &t->consumers, t));
    }
    for (size_t i = 0; i < p->weights.n; i++)
        QDQ_TRY(note_edges(h, &h->weight, &p->weights.at[i].consumers, &p->weights.at[i]));
    return QDQ_OK;
}

static qdq_status take_weight(halving *h, entries *x, const qdq_node *n, uint32_t input)
{
    const qdq_map_value *v = qdq_map_get_int(&h->weight, edge_key(n, input));
    qdq_edge edge = {qdq_node_label(n, &h->halves->arena), input};

    if (edge.node == NULL)
        return qdq_nomem(h->err);
    if (v == NULL)
        return QDQ_OK;
    qdq_plan_weight half = *(const qdq_plan_weight *)v->ptr;
    half.consumers = (qdq_edges){.at = &edge, .n = 1};
    return add_weight(x, h->halves, &half, h->err);
}

/* On its own: with whom the tensor shares a scale when everything is quantized says nothing
 * here. */
static qdq_status take_activation(halving *h, entries *x, const qdq_node *n, uint32_t input)
{
    const char *name = qdq_node_in(n, input)->name;
    const qdq_map_value *v = qdq_map_get_int(&h->tensor, edge_key(n, input));
    qdq_plan_tensor *unused;
    qdq_edge edge = {qdq_node_label(n, &h->halves->arena), input};

    if (edge.node == NULL)
        return qdq_nomem(h->err);
    v = v != NULL ? v : qdq_map_get(&h->all, name);
    if (v == NULL || qdq_map_get(&h->in_p.all, name) != NULL)
        return QDQ_OK;
    qdq_plan_tensor half = *(const qdq_plan_tensor *)v->ptr;
    half.like = half.group = NULL;
    half.all = false;
    half.consumers = (qdq_edges){.at = &edge, .n = 1};
    return add_tensor(x, h->halves, &half, &unused, h->err);
}

static qdq_status take_halves(halving *h, entries *x)
{
    for (size_t i = 0; i < h->s->n_groups; i++) {
        const qdq_target_op *op = rule_of(h->s, i);
        const qdq_node *n = h->s->group[i].node;

        switch (qdq_space_get_part(h->s, h->a, i)) {
        case QDQ_PART_NONE:
        case QDQ_PART_FULL:
            break;
        case QDQ_PART_WEIGHT:
            QDQ_TRY(take_weight(h, x, n, op->weight));
            break;
        case QDQ_PART_ACTIVATION:
            QDQ_TRY(take_activation(h, x, n, op->data));
            break;
        }
    }
    return QDQ_OK;
}

static bool are_all_readers(const halving *h, const qdq_plan_tensor *t)
{
    const qdq_value *v = qdq_graph_find(h->s->clean->graph, t->tensor);

    return v->n_output == 0 && t->consumers.n == v->n_use;
}

static qdq_status give_to_plan(halving *h)
{
    qdq_plan_tensor *t;

    for (size_t i = 0; i < h->halves->tensors.n; i++) {
        QDQ_TRY(add_tensor(&h->in_p, h->p, &h->halves->tensors.at[i], &t, h->err));
        t->all = are_all_readers(h, t); /* then a list of them says nothing */
        if (qdq_map_put(&h->given, t->tensor, NULL) == NULL)
            return qdq_nomem(h->err);
    }
    for (size_t i = 0; i < h->halves->weights.n; i++)
        QDQ_TRY(add_weight(&h->in_p, h->p, &h->halves->weights.at[i], h->err));
    return QDQ_OK;
}

/* --- what is said of them --------------------------------------------------------------------- */

/* NULL: what placement said holds, for it has no half, or calibration saw no value of its
 * activation. */
static const char *reason_of(const halving *h, uint32_t group)
{
    const qdq_node *n = h->s->group[group].node;
    const char *data = NULL;

    switch (qdq_space_get_part(h->s, h->a, group)) {
    case QDQ_PART_NONE:
    case QDQ_PART_FULL:
        return NULL;
    case QDQ_PART_WEIGHT:
        return "only its weight is quantized";
    case QDQ_PART_ACTIVATION:
        data = qdq_node_in(n, rule_of(h->s, group)->data)->name;
        return qdq_map_get(&h->in_p.all, data) != NULL || qdq_map_get(&h->given, data) != NULL
                   ? "only its activation is quantized"
                   : NULL;
    }
    return NULL;
}

static void say_reasons(const halving *h)
{
    for (size_t i = 0; i < h->p->left_float.n; i++) {
        qdq_plan_float *f = &h->p->left_float.at[i];
        const qdq_map_value *n = qdq_map_get(&h->s->labels, f->node);
        uint32_t group =
            n != NULL ? h->s->first_group[((const qdq_node *)n->ptr)->id] : QDQ_NO_GROUP;
        const char *reason = group != QDQ_NO_GROUP ? reason_of(h, group) : NULL;

        f->reason = reason != NULL ? reason : f->reason;
    }
}

/* As qdq_quantize_plan() has it. */
static void say_where_from(halving *h, const qdq_data *data)
{
    if (data != NULL && !qdq_data_is_random(data))
        return;
    for (size_t i = 0; i < h->halves->tensors.n; i++)
        h->p->placement_only |= !h->halves->tensors.at[i].known;
}

/* --- all of it -------------------------------------------------------------------------------- */

static qdq_status collect(halving *h, const qdq_quantize_opts *opts)
{
    entries x = {.arena = QDQ_ARENA_INIT};
    qdq_status st = note_entries(h->s, &h->in_p, h->p, h->err);

    if (st == QDQ_OK)
        st = place_everything(h, opts);
    if (st == QDQ_OK)
        st = take_halves(h, &x);
    free_entries(&x);
    return st;
}

static qdq_status add(halving *h, qdq_engine *e, qdq_data *data, const qdq_quantize_opts *opts,
                      qdq_scales *known)
{
    QDQ_TRY(collect(h, opts));
    QDQ_TRY(qdq_space_fill_scales(h->s, e, data, opts, known, h->halves, h->err));
    QDQ_TRY(qdq_space_fill_clips(h->s, known, h->halves, h->err));
    QDQ_TRY(give_to_plan(h));
    say_reasons(h);
    say_where_from(h, data);
    return qdq_plan_finish(h->p) ? QDQ_OK : qdq_nomem(h->err);
}

qdq_status qdq_space_add_halves(const qdq_space *s, const qdq_assign *a, qdq_engine *e,
                                qdq_data *data, const qdq_quantize_opts *opts, qdq_scales *known,
                                qdq_plan *p, qdq_error *err)
{
    halving h = {.s = s, .a = a, .p = p, .in_p = {.arena = QDQ_ARENA_INIT}, .err = err};

    if (!has_any_half(s, a))
        return QDQ_OK;
    h.everything = qdq_plan_new();
    h.halves = qdq_plan_new();
    qdq_status st =
        h.everything != NULL && h.halves != NULL ? add(&h, e, data, opts, known) : qdq_nomem(err);
    free_entries(&h.in_p);
    qdq_map_free(&h.tensor);
    qdq_map_free(&h.weight);
    qdq_map_free(&h.all);
    qdq_map_free(&h.given);
    qdq_plan_free(h.everything);
    qdq_plan_free(h.halves);
    return st;
}
