/* group_model.c - a fusion group cut out of its model. The cut itself is qdq_model_extract(): all
 * that leads from the boundary to the outputs comes along, chains of constants and small shape
 * arithmetic with it. What remains is to find the boundary. */
#include "tune/extract/group_model.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/fail.h"
#include "ir/edit.h"

/* Nodes of shape arithmetic that come along (what takes more is frozen), and nodes of a neighbour's
 * group. */
enum { MOST_PULLED = 16, MOST_BESIDE = 16 };

typedef struct maker {
    const qdq_fusions *f;
    const qdq_region_graph *g;
    const qdq_group_model_opts *opts;
    qdq_group_model *out;
    qdq_arena scratch;
    /* the group itself */
    const qdq_fusion *own;
    /* by place: of the group with its halo */
    bool *inside;
    qdq_region_values crossing, inputs, outputs, frozen;
    /* by value id */
    bool *is_input;
    /* by node id: the last cone that it was in */
    uint32_t *seen;
    uint32_t n_cones;
    QDQ_VEC(const qdq_node *) cone;
    qdq_error *err;
} maker;

static qdq_status refuse_group(maker *s, const char *why, const qdq_value *v)
{
    char text[400];

    snprintf(text, sizeof text, v != NULL ? "%s: '%s'" : "%s", why, v != NULL ? v->name : "");
    s->out->why = qdq_arena_strdup(&s->out->arena, text);
    return qdq_allocated(s->out->why != NULL, s->err);
}

/* --- halo ------------------------------------------------------------------------------------- */

/* A node alone may be fused otherwise than with those that it is computed with: an Add is a bias
 * where no Gelu follows it. All of its group is there, unless that would be much work. An If or a
 * Loop may hold a model of its own: no neighbour. */
static void add_neighbour(maker *s, uint32_t p)
{
    const qdq_fusion *f = &s->f->at[s->f->of[s->g->node[p]->id]];

    s->inside[p] |= !qdq_region_has_subgraphs(s->g->node[p]);
    for (uint32_t i = 0; i < f->n && f->linear == 0 && f->n <= MOST_BESIDE; i++)
        s->inside[s->g->place[f->node[i]->id]] |= !qdq_region_has_subgraphs(f->node[i]);
}

static void add_halo(maker *s)
{
    const qdq_region_graph *g = s->g;

    for (uint32_t i = 0; i < s->own->n; i++) {
        const uint32_t p = g->place[s->own->node[i]->id];
        for (uint32_t e = g->first_source[p]; e < g->first_source[p + 1]; e++)
            add_neighbour(s, g->source[e]);
        for (uint32_t e = g->first_reader[p]; e < g->first_reader[p + 1]; e++)
            add_neighbour(s, g->reader[e]);
    }
}

/* --- what crosses the boundary ---------------------------------------------------------------- */

static bool is_inside(const maker *s, const qdq_node *n)
{
    return n != NULL && n->graph == s->g->g && s->g->place[n->id] != QDQ_NO_PLACE &&
           s->inside[s->g->place[n->id]];
}

/* What nodes inside read and others make, in the order of first use, also in bodies. Constants that
 * a caller may override count as constants; computed shapes that are made outside do not. */
static qdq_status find_inputs(maker *s)
{
    bool *seen = qdq_arena_array(&s->scratch, s->g->g->values.n + 1, sizeof *seen);
    qdq_region_values reads = {0};

    QDQ_NEED(seen != NULL, s->err);
    for (uint32_t p = 0; p < s->g->n; p++) {
        reads.n = 0;
        if (s->inside[p])
            QDQ_TRY(qdq_region_reads(s->g->node[p], &s->scratch, &reads, s->err));
        for (size_t i = 0; i < reads.n; i++) {
            const qdq_value *v = reads.at[i];
            if (v == NULL || qdq_region_is_const(v) || v->init != NULL ||
                is_inside(s, v->producer) || seen[v->id])
                continue;
            seen[v->id] = true;
            QDQ_NEED(QDQ_PUSH(&s->scratch, &s->crossing, v), s->err);
        }
    }
    return QDQ_OK;
}

/* What only asks for its shape does not count: it needs no numbers. */
static bool is_read_outside(const maker *s, const qdq_value *v)
{
    if (v->n_output > 0)
        return true;
    QDQ_FOR_USES (u, v) {
        const qdq_node *n = qdq_region_reader(s->g->g, u);
        if (n != NULL && s->g->place[n->id] != QDQ_NO_PLACE && !s->inside[s->g->place[n->id]])
            return true;
    }
    return false;
}

/* What others read of the nodes inside, also in bodies, or the graph gives. */
static qdq_status find_outputs(maker *s)
{
    for (uint32_t p = 0; p < s->g->n; p++)
        for (uint32_t i = 0; s->inside[p] && i < s->g->node[p]->n_out; i++) {
            const qdq_value *v = s->g->node[p]->out[i];
            if (v != NULL && is_read_outside(s, v))
                QDQ_NEED(QDQ_PUSH(&s->scratch, &s->outputs, v), s->err);
        }
    return QDQ_OK;
}

/* --- shapes that are computed ----------------------------------------------------------------- */

/* What makes v, as long as it is constant or shape arithmetic; in *pulled whether all that it
 * begins with is there anyway. */
static qdq_status walk_cone(maker *s, const qdq_value *v, bool *pulled)
{
    s->cone.n = 0;
    s->n_cones++;
    *pulled = true;
    QDQ_NEED(QDQ_PUSH(&s->scratch, &s->cone, v->producer), s->err);
    for (size_t i = 0; i < s->cone.n && *pulled; i++) {
        const qdq_node *n = s->cone.at[i];
        *pulled = s->cone.n <= MOST_PULLED && !qdq_region_has_subgraphs(n);
        for (uint32_t k = 0; k < n->n_in && *pulled; k++) {
            const qdq_value *in = qdq_node_in(n, k);
            if (in == NULL || qdq_region_is_const(in) || in->init != NULL || s->is_input[in->id])
                continue;
            const qdq_node *from = in->producer;
            if (from == NULL) {
                *pulled = false;
            } else if (s->g->place[from->id] != QDQ_NO_PLACE) {
                *pulled = s->inside[s->g->place[from->id]];
            } else if (s->seen[from->id] != s->n_cones) {
                s->seen[from->id] = s->n_cones;
                QDQ_NEED(QDQ_PUSH(&s->scratch, &s->cone, from), s->err);
            }
        }
    }
    return QDQ_OK;
}

/* The data inputs first: a shape that is taken of one of them comes along. */
static qdq_status sort_crossing(maker *s)
{
    for (size_t i = 0; i < s->crossing.n; i++) {
        const qdq_value *v = s->crossing.at[i];
        if (v->producer != NULL && s->g->place[v->producer->id] == QDQ_NO_PLACE)
            continue;
        s->is_input[v->id] = true;
        QDQ_NEED(QDQ_PUSH(&s->scratch, &s->inputs, v), s->err);
    }
    for (size_t i = 0; i < s->crossing.n; i++) {
        const qdq_value *v = s->crossing.at[i];
        bool pulled;
        if (s->is_input[v->id])
            continue;
        QDQ_TRY(walk_cone(s, v, &pulled));
        if (!pulled && !QDQ_PUSH(&s->scratch, &s->frozen, v))
            return qdq_nomem(s->err);
    }
    return QDQ_OK;
}

/* --- the boundary ----------------------------------------------------------------------------- */

static qdq_status describe_inputs(maker *s)
{
    qdq_group_model *out = s->out;

    out->input = qdq_arena_array(&out->arena, s->inputs.n + 1, sizeof *out->input);
    QDQ_NEED(out->input != NULL, s->err);
    for (size_t i = 0; i < s->inputs.n; i++) {
        const qdq_value *v = s->inputs.at[i];
        qdq_group_input *in = &out->input[out->n_inputs++];

        if (v->type == NULL || v->type->kind != QDQ_TYPE_TENSOR)
            return refuse_group(s, "an input is not a tensor, or of a type that is not known", v);
        if (!qdq_shape_range_of(s->opts->range, v, &in->dims))
            return refuse_group(s, "the shape of an input is not known before it runs", v);
        in->name = qdq_arena_strdup(&out->arena, v->name);
        QDQ_NEED(in->name != NULL, s->err);
        for (int d = 0; d < in->dims.rank && s->opts->range->has_shapes; d++)
            if (in->dims.dim[QDQ_SHAPE_OPT][d] < 0)
                return refuse_group(s, "the shape of an input is not known before it runs", v);
    }
    return QDQ_OK;
}

static qdq_status find_boundary(maker *s)
{
    QDQ_TRY(find_inputs(s));
    QDQ_TRY(find_outputs(s));
    QDQ_TRY(sort_crossing(s));
    if (s->inputs.n == 0)
        return refuse_group(s, "it reads nothing but constants", NULL);
    if (s->outputs.n == 0)
        return refuse_group(s, "nothing reads what it gives", NULL);
    return describe_inputs(s);
}

/* --- the model -------------------------------------------------------------------------------- */

static const char **names_of(maker *s, const qdq_region_values *a, const qdq_region_values *b)
{
    const char **names =
        qdq_arena_array(&s->scratch, a->n + (b != NULL ? b->n : 0) + 1, sizeof *names);

    for (size_t i = 0; names != NULL && i < a->n; i++)
        names[i] = a->at[i]->name;
    for (size_t i = 0; names != NULL && b != NULL && i < b->n; i++)
        names[a->n + i] = b->at[i]->name;
    return names;
}

/* What was cut off as an input becomes the constant that it is for the usual shapes. */
static qdq_status freeze_shape(maker *s, const qdq_value *v)
{
    qdq_value *at = qdq_graph_find(s->out->model->graph, v->name);
    qdq_status st;
    const qdq_tensor *known = qdq_shape_range_tensor(s->opts->range, v, &st);

    if (st != QDQ_OK)
        return qdq_nomem(s->err);
    if (known == NULL)
        return refuse_group(s, "a shape that it needs is not known before it runs", v);
    qdq_tensor *t = qdq_tensor_share(s->out->model, known);
    QDQ_NEED(t != NULL, s->err);
    qdq_graph_remove_input(s->out->model->graph, at);
    return qdq_allocated(qdq_value_set_init(at, t), s->err);
}

static qdq_status cut_group(maker *s)
{
    qdq_group_model *out = s->out;
    const char **in = names_of(s, &s->inputs, &s->frozen), **to = names_of(s, &s->outputs, NULL);

    QDQ_NEED(in != NULL && to != NULL, s->err);
    QDQ_TRY(qdq_model_extract(s->g->g->model, in, s->inputs.n + s->frozen.n, to, s->outputs.n,
                              &out->model, s->err));
    for (size_t i = 0; i < s->frozen.n && out->why[0] == '\0'; i++)
        QDQ_TRY(freeze_shape(s, s->frozen.at[i]));
    if (out->why[0] != '\0') {
        qdq_model_free(out->model);
        out->model = NULL;
    }
    return QDQ_OK;
}

static qdq_status make_group(maker *s)
{
    s->inside = qdq_arena_array(&s->scratch, (size_t)s->g->n + 1, sizeof *s->inside);
    s->is_input = qdq_arena_array(&s->scratch, s->g->g->values.n + 1, sizeof *s->is_input);
    s->seen = qdq_arena_array(&s->scratch, (size_t)s->g->g->next_node_id + 1, sizeof *s->seen);
    QDQ_NEED(s->inside != NULL && s->is_input != NULL && s->seen != NULL, s->err);
    for (uint32_t i = 0; i < s->own->n; i++)
        s->inside[s->g->place[s->own->node[i]->id]] = true;
    if (s->opts->halo)
        add_halo(s);
    QDQ_TRY(find_boundary(s));
    return s->out->why[0] == '\0' ? cut_group(s) : QDQ_OK;
}

qdq_status qdq_group_model_make(const qdq_fusions *f, uint32_t group,
                                const qdq_group_model_opts *opts, qdq_group_model **out,
                                qdq_error *err)
{
    *out = NULL;
    if (group >= f->n)
        return qdq_fail(err, QDQ_E_USAGE, "found group %u, expected one below %u", (unsigned)group,
                        (unsigned)f->n);
    *out = calloc(1, sizeof **out);
    QDQ_NEED(*out != NULL, err);
    (*out)->why = "";
    maker s = {.f = f, .g = &f->g, .own = &f->at[group], .opts = opts, .out = *out, .err = err};
    qdq_status st = make_group(&s);
    qdq_arena_free(&s.scratch);
    if (st != QDQ_OK)
        st = qdq_within(err, st, "group %u", (unsigned)group);
    return QDQ_HAND_OVER(*out, st, out, qdq_group_model_free);
}

void qdq_group_model_free(qdq_group_model *g)
{
    if (g == NULL)
        return;
    qdq_model_free(g->model);
    qdq_arena_free(&g->arena);
    free(g);
}
