/* space_formats.c - formats of placements that were given. Readers of an entry that have different
 * formats in the placement get an entry each. */
#include "tune/space/space_formats.h"

#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "quant/weights/weights.h"
#include "tune/space/space_cover.h"
#include "tune/space/space_edges.h"

/* --- which there are -------------------------------------------------------------------------- */

qdq_status qdq_space_add_formats(qdq_space *s, const qdq_plan *p, qdq_error *err)
{
    const qdq_plan **all = qdq_arena_array(&s->arena, s->n_formats + 1, sizeof(const qdq_plan *));

    QDQ_NEED(all != NULL, err);
    for (size_t i = 0; i < s->n_formats; i++)
        all[i] = s->formats[i];
    all[s->n_formats++] = p;
    s->formats = all;
    return QDQ_OK;
}

static size_t bit_of(const qdq_space *s, size_t i)
{
    return qdq_space_edge_bits(s) - s->n_formats + i;
}

void qdq_space_use_formats(const qdq_space *s, qdq_assign *a, const qdq_plan *p, bool on)
{
    for (size_t i = 0; i < s->n_formats; i++)
        if (s->formats[i] == p)
            qdq_assign_set(a, bit_of(s, i), on);
}

/* --- what they say ---------------------------------------------------------------------------- */

typedef struct giving {
    const qdq_space *s;
    const qdq_plan *from;
    qdq_plan *p;
    qdq_arena scratch;
    qdq_cover want, have;
    qdq_error *err;
} giving;

/* --- activations ------------------------------------------------------------------------------ */

static void take_format(qdq_plan_tensor *e, const qdq_plan_tensor *from)
{
    e->qparam = from->qparam;
    e->fold = NULL;
    e->like = e->group = NULL;
    e->rule = from->rule;
    e->origin = from->origin;
}

/* The readers by name; *named: these are all that there is. An entry below others on the same
 * tensor, or whose values are a graph's output or a body's, stays whole. */
static qdq_status list_readers(giving *g, const qdq_plan *was, const qdq_plan_tensor *e,
                               qdq_edges *out, bool *named)
{
    const qdq_value *v = qdq_graph_find(g->s->clean->graph, e->tensor);

    *out = (qdq_edges){0};
    *named = !e->all ||
             (v != NULL && v->n_output == 0 && v->n_use > 0 && qdq_space_is_only_entry(was, e));
    for (size_t i = 0; i < e->consumers.n && !e->all; i++)
        QDQ_NEED(QDQ_PUSH(&g->scratch, out, e->consumers.at[i]), g->err);
    if (!e->all || v == NULL)
        return QDQ_OK;
    QDQ_FOR_USES (u, v) {
        const qdq_edge reader = {qdq_node_label(u->node, &g->p->arena), u->index};
        *named = *named && u->node->graph == v->graph;
        QDQ_NEED(reader.node != NULL && QDQ_PUSH(&g->scratch, out, reader), g->err);
    }
    return QDQ_OK;
}

static size_t wanted_by(const giving *g, const char *tensor, const qdq_edge *reader)
{
    const qdq_node *n = qdq_space_node(g->s, reader->node);

    return n != NULL ? qdq_cover_tensor(&g->want, tensor, n, reader->input) : 0;
}

/* Takes readers with this format out of the list. */
static qdq_status split_readers(giving *g, const char *tensor, size_t format, qdq_edges *list,
                                qdq_edges *out)
{
    size_t n = 0;

    *out = (qdq_edges){0};
    for (size_t i = 0; i < list->n; i++) {
        const qdq_edge e = list->at[i];
        if (wanted_by(g, tensor, &e) != format)
            list->at[n++] = e;
        else if (!QDQ_PUSH(&g->p->arena, out, e))
            return qdq_nomem(g->err);
    }
    list->n = n;
    return QDQ_OK;
}

/* An entry for each format that its readers have. */
static qdq_status give_to_readers(giving *g, const qdq_plan_tensor *e, qdq_edges *list)
{
    const size_t n = list->n;

    while (list->n > 0) {
        const size_t format = wanted_by(g, e->tensor, &list->at[0]);
        qdq_plan_tensor own = *e;
        QDQ_TRY(split_readers(g, e->tensor, format, list, &own.consumers));
        own.all = e->all && own.consumers.n == n;
        if (own.all)
            own.consumers.n = 0;
        if (format != 0)
            take_format(&own, &g->from->tensors.at[format - 1]);
        QDQ_NEED(QDQ_PUSH(&g->p->arena, &g->p->tensors, own), g->err);
    }
    return QDQ_OK;
}

/* --- constants -------------------------------------------------------------------------------- */

/* Do given scales span about the range of these numbers? Cleaning folds factors into weights that a
 * tool left beside them. */
static bool span_range(const qdq_plan_weight *w, const float *low, const float *high, size_t n)
{
    const float most = 8;
    const qdq_qscheme scheme = qdq_plan_scheme(w);
    int32_t first, last;

    if (w->n_scales != n || !qdq_qscheme_codes(&scheme, &first, &last))
        return false;
    for (size_t i = 0; i < n; i++) {
        const float range = fmaxf(high[i], -low[i]),
                    codes = w->scales[i] * fmaxf(fabsf((float)first), fabsf((float)last));
        if (range > most * codes || (range > 0 && codes > 2 * most * range))
            return false;
    }
    return true;
}

/* *fits: has the constant such an axis, and such blocks? Scales that are not its own are taken out
 * of *w. */
static qdq_status fit_weight(giving *g, qdq_plan_weight *w, const qdq_value *v, bool *fits)
{
    const qdq_tensor *t = v != NULL ? qdq_value_const(v) : NULL;
    const float *floats;
    qdq_scale_grid grid;

    *fits = t != NULL && t->elem == QDQ_FLOAT && !qdq_store_is_inside(w->store) &&
            qdq_weight_grid(t, w->axis, w->block, &grid, NULL) == QDQ_OK;
    if (!*fits || w->scales == NULL)
        return QDQ_OK;
    const size_t n = qdq_scale_count(&grid);
    float *range = qdq_arena_array(&g->scratch, 2 * n + 1, sizeof *range);
    QDQ_NEED(range != NULL, g->err);
    QDQ_TRY(qdq_weight_floats(t, &g->scratch, &floats, g->err));
    QDQ_TRY(qdq_weight_ranges(floats, &grid, NULL, range, range + n, g->err));
    if (!span_range(w, range, range + n, n)) {
        w->asymmetric = w->zero_points != NULL;
        w->scales = NULL;
        w->zero_points = NULL;
        w->n_scales = 0;
    }
    if (w->scales == NULL || strcmp(w->tensor, v->name) != 0) {
        w->codes = NULL;
        w->codes_size = 0;
    }
    return QDQ_OK;
}

static bool are_alike(const qdq_plan_weight *a, const qdq_plan_weight *b)
{
    return strcmp(a->tensor, b->tensor) == 0 && a->axis == b->axis && a->block == b->block &&
           a->type == b->type && a->store == b->store && a->asymmetric == b->asymmetric &&
           a->reduced == b->reduced && a->pairs == b->pairs && a->pow2 == b->pow2 &&
           a->scales == b->scales && a->clip == b->clip && a->codes == b->codes;
}

/* One entry for all that read a constant in the same way. */
static qdq_status add_reader(giving *g, const qdq_plan_weight *w, qdq_edge reader)
{
    qdq_plan_weight own = *w;
    qdq_plan_weight *e = NULL;

    for (size_t i = 0; i < g->p->weights.n && e == NULL; i++)
        if (are_alike(&g->p->weights.at[i], w))
            e = &g->p->weights.at[i];
    own.consumers = (qdq_edges){0};
    if (e == NULL) {
        QDQ_NEED(QDQ_PUSH(&g->p->arena, &g->p->weights, own), g->err);
        e = &g->p->weights.at[g->p->weights.n - 1];
    }
    return QDQ_PUSH(&g->p->arena, &e->consumers, reader) ? QDQ_OK : qdq_nomem(g->err);
}

/* The placement's format for input `reader` of n; `store` is the target's: engines read both.
 * *given: it has one that fits. */
static qdq_status give_weight(giving *g, const qdq_node *n, qdq_edge reader, qdq_weight_store store,
                              bool *given)
{
    const size_t at = qdq_cover_weight(&g->want, n, reader.input);
    const qdq_value *v = qdq_node_in(n, reader.input);

    *given = false;
    if (at == 0)
        return QDQ_OK;
    qdq_plan_weight own = g->from->weights.at[at - 1];
    QDQ_TRY(fit_weight(g, &own, v, given));
    if (!*given)
        return QDQ_OK;
    own.tensor = v->name;
    own.store = store;
    return add_reader(g, &own, reader);
}

/* Each reader by itself: those of one weight may have different formats. */
static qdq_status give_to_weights(giving *g)
{
    const qdq_plan was = *g->p;

    memset(&g->p->weights, 0, sizeof g->p->weights);
    for (size_t i = 0; i < was.weights.n; i++) {
        const qdq_plan_weight *w = &was.weights.at[i];
        const qdq_node *first =
            w->consumers.n > 0 ? qdq_space_node(g->s, w->consumers.at[0].node) : NULL;
        if (first == NULL || qdq_store_is_inside(w->store)) {
            QDQ_NEED(QDQ_PUSH(&g->p->arena, &g->p->weights, *w), g->err);
            continue;
        }
        for (size_t k = 0; k < w->consumers.n; k++) {
            const qdq_edge reader = w->consumers.at[k];
            const qdq_node *n = qdq_space_node(g->s, reader.node);
            bool given = false;
            if (n != NULL)
                QDQ_TRY(give_weight(g, n, reader, w->store, &given));
            if (!given)
                QDQ_TRY(add_reader(g, w, reader));
        }
    }
    return QDQ_OK;
}

/* The space quantizes a constant operand like what a node gives; a file has codes of its own for
 * it. Takes readers with such codes out of the list. */
static qdq_status give_as_weights(giving *g, qdq_plan_tensor *e, qdq_edges *list)
{
    const qdq_weight_store store = g->s->target->format.weight_store;
    size_t n = 0;

    for (size_t i = 0; i < list->n; i++) {
        const qdq_edge reader = list->at[i];
        const qdq_node *node = qdq_space_node(g->s, reader.node);
        bool given = false;
        if (node != NULL)
            QDQ_TRY(give_weight(g, node, reader, store, &given));
        if (!given)
            list->at[n++] = reader;
    }
    e->all = e->all && n == list->n;
    list->n = n;
    return QDQ_OK;
}

static qdq_status give_to_tensor(giving *g, const qdq_plan *was, const qdq_plan_tensor *e)
{
    const size_t whole = e->all ? qdq_cover_tensor(&g->want, e->tensor, NULL, 0) : 0;
    qdq_plan_tensor own = *e;
    qdq_edges list;
    bool named;

    QDQ_TRY(list_readers(g, was, e, &list, &named));
    if (named && !e->known) {
        QDQ_TRY(give_as_weights(g, &own, &list));
        return give_to_readers(g, &own, &list);
    }
    if (whole != 0 && !e->known)
        take_format(&own, &g->from->tensors.at[whole - 1]);
    return QDQ_PUSH(&g->p->arena, &g->p->tensors, own) ? QDQ_OK : qdq_nomem(g->err);
}

static qdq_status give_to_tensors(giving *g)
{
    const qdq_plan was = *g->p;

    memset(&g->p->tensors, 0, sizeof g->p->tensors);
    for (size_t i = 0; i < was.tensors.n; i++)
        QDQ_TRY(give_to_tensor(g, &was, &was.tensors.at[i]));
    return QDQ_OK;
}

static bool reads_codes(const qdq_cover *c, const qdq_node *n)
{
    for (uint32_t i = 0; i < n->n_in && i < 32; i++) {
        const qdq_value *v = qdq_node_in(n, i);
        if (v != NULL && qdq_value_const(v) == NULL &&
            qdq_cover_input(c, n, i) == QDQ_COVERED_BY_PLAN)
            return true;
    }
    return false;
}

/* A bias that the placement has in other codes. */
static void drop_bias(qdq_plan *p, const qdq_edge *e)
{
    size_t n = 0;

    for (size_t i = 0; i < p->biases.n; i++)
        if (p->biases.at[i].consumer.input != e->input ||
            strcmp(p->biases.at[i].consumer.node, e->node) != 0)
            p->biases.at[n++] = p->biases.at[i];
    p->biases.n = n;
}

/* A constant that the file has in float, with Q/DQ behind it as behind what a node gives. */
static qdq_status give_pair(giving *g, const qdq_node *n, qdq_edge reader)
{
    const qdq_value *v = qdq_node_in(n, reader.input);
    const size_t at = v != NULL && qdq_value_const(v) != NULL
                          ? qdq_cover_tensor(&g->want, v->name, n, reader.input)
                          : 0;

    if (at == 0)
        return QDQ_OK;
    qdq_plan_tensor own = g->from->tensors.at[at - 1];
    own.all = v->n_use == 1;
    own.consumers = (qdq_edges){0};
    QDQ_NEED(own.all || QDQ_PUSH(&g->p->arena, &own.consumers, reader), g->err);
    return QDQ_PUSH(&g->p->arena, &g->p->tensors, own) ? QDQ_OK : qdq_nomem(g->err);
}

static bool is_weight(const qdq_space *s, const qdq_node *n, uint32_t input)
{
    const uint32_t group = qdq_space_group_of(s, n, input);

    return group != QDQ_NO_GROUP && s->group[group].linear;
}

/* Constants that the plan leaves float: of nodes that read codes in both, or in none. Weights of
 * groups are the groups'. */
static qdq_status add_constants(giving *g)
{
    const qdq_weight_store store = g->s->target->format.weight_store;

    QDQ_FOR_NODES (n, g->s->clean->graph) {
        if (reads_codes(&g->want, n) != reads_codes(&g->have, n))
            continue;
        for (uint32_t i = 0; i < n->n_in && i < 32; i++) {
            const qdq_edge reader = {qdq_node_label(n, &g->p->arena), i};
            bool given;
            QDQ_NEED(reader.node != NULL, g->err);
            if (qdq_cover_input(&g->have, n, i) != QDQ_COVERED_NOT || is_weight(g->s, n, i))
                continue;
            QDQ_TRY(give_weight(g, n, reader, store, &given));
            if (given)
                drop_bias(g->p, &reader);
            else
                QDQ_TRY(give_pair(g, n, reader));
        }
    }
    return QDQ_OK;
}

/* --- all of it -------------------------------------------------------------------------------- */

static qdq_status give_formats(giving *g)
{
    QDQ_TRY(qdq_cover_open(&g->want, g->s, g->from, g->err));
    QDQ_TRY(qdq_cover_open(&g->have, g->s, g->p, g->err));
    QDQ_TRY(give_to_weights(g));
    QDQ_TRY(give_to_tensors(g));
    QDQ_TRY(add_constants(g));
    return qdq_plan_finish(g->p) ? QDQ_OK : qdq_nomem(g->err);
}

static qdq_status give_format(const qdq_space *s, const qdq_plan *from, qdq_plan *p, qdq_error *err)
{
    giving g = {.s = s, .from = from, .p = p, .scratch = QDQ_ARENA_INIT, .err = err};
    qdq_status st = give_formats(&g);

    qdq_cover_free(&g.want);
    qdq_cover_free(&g.have);
    qdq_arena_free(&g.scratch);
    return st;
}

qdq_status qdq_space_give_formats(const qdq_space *s, const qdq_assign *a, qdq_plan *p,
                                  qdq_error *err)
{
    for (size_t i = 0; i < s->n_formats && a->n == qdq_space_edge_bits(s); i++)
        if (qdq_assign_get(a, bit_of(s, i)))
            QDQ_TRY(give_format(s, s->formats[i], p, err));
    return QDQ_OK;
}
