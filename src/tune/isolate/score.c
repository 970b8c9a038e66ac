/* score.c - layers that an engine executed, told to isolated groups. Each layer is looked at on its
 * own first: whose it is, and what it does there. A change of layout that says of no tensor which
 * one it is of is told by what is executed around it. */
#include "tune/isolate/score.h"

#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "engine/layer_nodes.h"
#include "tune/group/fusions_build.h"

#define NO_PART UINT32_MAX

typedef enum kind {
    IS_NOTHING, /* of the halo, of constants, or of unknown origin */
    IS_OWN,
    IS_QDQ,
    IS_REFORMAT, /* between nodes of the group */
    IS_OPEN      /* a conversion of which it is not known yet */
} kind;

typedef struct row {
    kind kind;
    uint32_t part;
    /* no conversion */
    bool computes;
    bool shared, boundary;
} row;

/* The nodes of a layer by what they are. */
typedef struct members {
    uint32_t part, own, own_light, halo, halo_light, qdq, qdq_boundary, cast, cast_boundary, known;
    bool mixed;
} members;

typedef struct scorer {
    const qdq_parts *p;
    const qdq_layer *layer;
    size_t n;
    row *row;
    /* by part */
    bool *spoiled;
    qdq_layer_index names;
    qdq_arena scratch;
    qdq_error *err;
} scorer;

/* --- a layer on its own ----------------------------------------------------------------------- */

static void count_node(const scorer *s, const char *name, members *m)
{
    const qdq_part_node *n = qdq_map_get_ptr(&s->p->nodes, name);

    if (n == NULL)
        return;
    m->mixed |= m->known > 0 && m->part != n->part;
    m->part = n->part;
    m->known++;
    switch (n->role) {
    case QDQ_ROLE_BESIDE:
        break;
    case QDQ_ROLE_OWN:
        *(n->light ? &m->own_light : &m->own) += 1;
        break;
    case QDQ_ROLE_HALO:
        *(n->light ? &m->halo_light : &m->halo) += 1;
        break;
    case QDQ_ROLE_QDQ:
        m->qdq++;
        m->qdq_boundary += n->boundary;
        break;
    case QDQ_ROLE_CAST:
        m->cast++;
        m->cast_boundary += n->boundary;
        break;
    }
}

/* Nodes that only move numbers are in the layers of all who read them: they say whose a layer is if
 * nothing else does. */
static row evaluate_layer(const members *m, bool conversion)
{
    row r = {.part = m->known > 0 ? m->part : NO_PART};
    const bool computes = m->own + m->halo > 0;

    if (m->known == 0)
        r.kind = conversion ? IS_OPEN : IS_NOTHING;
    else if (computes && conversion) /* for a node, but not what computes it */
        r.kind = IS_OPEN;
    else if (computes)
        r.kind = m->own > 0 ? IS_OWN : IS_NOTHING;
    else if (m->qdq > 0 && (conversion || m->own_light + m->halo_light == 0))
        r.kind = IS_QDQ;
    else if (m->own_light + m->halo_light > 0)
        r.kind = m->own_light > 0 ? IS_OWN : IS_NOTHING;
    else if (m->cast > m->cast_boundary)
        r.kind = IS_REFORMAT;
    r.computes = !conversion && r.kind != IS_QDQ;
    r.shared = computes ? m->own > 0 && m->halo > 0 : m->own_light > 0 && m->halo_light > 0;
    r.boundary = m->qdq_boundary > 0 && m->qdq_boundary == m->qdq;
    return r;
}

/* --- a conversion by its name ----------------------------------------------------------------- */

static const qdq_part_node *node_of(const scorer *s, const qdq_node *n)
{
    return n != NULL && n->graph == s->p->model->graph ? qdq_map_get_ptr(&s->p->nodes, n->name)
                                                       : NULL;
}

/* Does the group give the tensor, or take it as it is given? Through the Q and DQ of the plan. */
static bool is_own_or_plan(const qdq_part_node *n)
{
    return n != NULL && (n->role == QDQ_ROLE_OWN || (n->role == QDQ_ROLE_QDQ && !n->boundary));
}

/* Between nodes of the group is what one of them gives and another one reads. */
static void evaluate_tensor(const scorer *s, const qdq_value *v, row *r)
{
    const qdq_part_node *from = node_of(s, v->producer);
    bool read = false;

    for (const qdq_use *u = v->first; u != NULL; u = u->next) {
        const qdq_part_node *to = node_of(s, u->node);
        read |= is_own_or_plan(to);
        r->part = to != NULL ? to->part : r->part;
    }
    r->part = from != NULL ? from->part : r->part;
    r->kind = is_own_or_plan(from) && read ? IS_REFORMAT : IS_NOTHING;
}

static bool is_qdq_kernel(const char *op)
{
    return strcmp(op, "QuantizeLinear") == 0 || strcmp(op, "DequantizeLinear") == 0;
}

static qdq_status evaluate_name(scorer *s, const qdq_layer *l, row *r)
{
    char *name = qdq_arena_strdup(&s->scratch, l->layer);

    QDQ_NEED(name != NULL, s->err);
    const qdq_layer_owner o = qdq_layer_find_ending(&s->names, name);
    const qdq_part_node *n = node_of(s, o.node != NULL    ? o.node
                                        : o.value != NULL ? o.value->producer
                                                          : NULL);
    if (is_qdq_kernel(l->op)) { /* a copy that the engine made of one */
        r->kind = n != NULL && n->role != QDQ_ROLE_HALO ? IS_QDQ : IS_OPEN;
        r->boundary = n != NULL && n->role == QDQ_ROLE_QDQ && n->boundary;
        r->part = n != NULL ? n->part : NO_PART;
    } else if (o.value != NULL && r->part == NO_PART) {
        evaluate_tensor(s, o.value, r);
    }
    return QDQ_OK;
}

/* --- a conversion by what is executed around it ----------------------------------------------- */

static const row *next_computing(const scorer *s, size_t i, bool forward)
{
    while (forward ? i + 1 < s->n : i > 0) {
        i = forward ? i + 1 : i - 1;
        if (s->row[i].computes && s->row[i].part != NO_PART)
            return &s->row[i];
    }
    return NULL;
}

static void evaluate_place(scorer *s, size_t i)
{
    const row *before = next_computing(s, i, false), *behind = next_computing(s, i, true);
    row *r = &s->row[i];
    const bool inside = before != NULL && behind != NULL && before->kind == IS_OWN &&
                        behind->kind == IS_OWN && before->part == behind->part;

    r->kind = IS_NOTHING;
    if (!inside || (r->part != NO_PART && r->part != before->part))
        return;
    r->part = before->part;
    r->kind = is_qdq_kernel(s->layer[i].op) ? IS_QDQ : IS_REFORMAT;
}

static qdq_status evaluate_all(scorer *s)
{
    s->row = qdq_arena_array(&s->scratch, s->n + 1, sizeof *s->row);
    QDQ_NEED(s->row != NULL, s->err);
    for (size_t i = 0; i < s->n; i++) {
        members m = {.part = NO_PART};
        for (size_t k = 0; k < s->layer[i].n_nodes; k++)
            count_node(s, s->layer[i].node[k], &m);
        s->row[i] = evaluate_layer(&m, s->layer[i].conversion);
        if (s->row[i].kind == IS_OPEN)
            QDQ_TRY(evaluate_name(s, &s->layer[i], &s->row[i]));
        for (size_t k = 0; k < s->layer[i].n_nodes && m.mixed; k++) {
            const qdq_part_node *n = qdq_map_get_ptr(&s->p->nodes, s->layer[i].node[k]);
            if (n != NULL)
                s->spoiled[n->part] = true;
        }
    }
    for (size_t i = 0; i < s->n; i++)
        if (s->row[i].kind == IS_OPEN)
            evaluate_place(s, i);
    return QDQ_OK;
}

/* --- sums ------------------------------------------------------------------------------------- */

/* What profiling adds to each row that took time. */
static double launch_of(const scorer *s, double end_to_end_us)
{
    double sum = 0;
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++)
        if (s->layer[i].median_us > 0) {
            sum += s->layer[i].median_us;
            n++;
        }
    return n > 0 && sum > end_to_end_us ? (sum - end_to_end_us) / (double)n : 0;
}

static void add_row(scorer *s, const row *r, double us, qdq_part_score *to)
{
    s->spoiled[r->part] |= isnan(us);
    switch (r->kind) {
    case IS_OWN:
        to->own_us += us;
        to->layers++;
        to->shared |= r->shared;
        break;
    case IS_QDQ:
        to->qdq_us += us;
        to->boundary_qdq_us += r->boundary ? us : 0;
        break;
    case IS_REFORMAT:
        to->reformat_us += us;
        break;
    case IS_NOTHING:
        to->halo_us += r->computes ? us : 0;
        break;
    case IS_OPEN:
        break;
    }
}

static void add_all(scorer *s, double end_to_end_us, qdq_part_score *out)
{
    const double launch = launch_of(s, end_to_end_us);

    for (size_t i = 0; i < s->n; i++) {
        const row *r = &s->row[i];
        const double us = s->layer[i].median_us;
        if (r->part != NO_PART)
            add_row(s, r, isnan(us) ? us : fmax(0, us - launch), &out[r->part]);
    }
    for (uint32_t k = 0; k < s->p->n; k++) {
        qdq_part_score *to = &out[k];
        to->context_mismatch = s->p->layers[k] > 0 && to->layers > s->p->layers[k];
        to->known = to->layers > 0 && !s->spoiled[k];
        if (!to->known)
            to->own_us = to->qdq_us = to->boundary_qdq_us = to->reformat_us = to->halo_us = NAN;
    }
}

qdq_status qdq_parts_score(const qdq_parts *p, const qdq_layer *layer, size_t n,
                           double end_to_end_us, qdq_part_score *out, qdq_error *err)
{
    scorer s = {.p = p, .layer = layer, .n = n, .err = err};

    memset(out, 0, p->n * sizeof *out);
    s.spoiled = qdq_arena_array(&s.scratch, (size_t)p->n + 1, sizeof *s.spoiled);
    qdq_status st = qdq_allocated(s.spoiled != NULL, err);
    if (st == QDQ_OK)
        st = qdq_layer_index_make(&s.names, p->model->graph, &s.scratch, err);
    if (st == QDQ_OK)
        st = evaluate_all(&s);
    if (st == QDQ_OK)
        add_all(&s, end_to_end_us, out);
    qdq_layer_index_free(&s.names);
    qdq_arena_free(&s.scratch);
    return st;
}

/* --- beside the whole model ------------------------------------------------------------------- */

/* Layers are read as those of parts are: nodes that only move numbers, which are in the layers of
 * all who read them, count where there are no others. */
typedef struct context {
    /* of the group */
    uint32_t layers;
    /* one of them computes nodes of other groups, too */
    bool shared;
    /* layer that was counted, plus one */
    size_t last;
} context;

static bool is_light(const qdq_node *n)
{
    return qdq_fusion_is_light(n) || n->op == QDQ_OP_CAST;
}

/* Groups of the nodes of layer i, light ones or the others. False: it has none of them. */
static bool count_groups(const qdq_fusions *f, const qdq_map *labels, const qdq_layer *l, size_t i,
                         bool light, context *at)
{
    uint32_t first = QDQ_NO_FUSION;
    bool shared = false;

    for (size_t k = 0; k < l->n_nodes; k++) {
        const qdq_node *n = qdq_map_get_ptr(labels, l->node[k]);
        const uint32_t group = n != NULL && is_light(n) == light ? f->of[n->id] : QDQ_NO_FUSION;
        if (group == QDQ_NO_FUSION)
            continue;
        shared |= first != QDQ_NO_FUSION && first != group;
        first = first == QDQ_NO_FUSION ? group : first;
        at[group].layers += at[group].last != i + 1;
        at[group].last = i + 1;
    }
    for (size_t k = 0; k < l->n_nodes && shared; k++) {
        const qdq_node *n = qdq_map_get_ptr(labels, l->node[k]);
        if (n != NULL && is_light(n) == light && f->of[n->id] != QDQ_NO_FUSION)
            at[f->of[n->id]].shared = true;
    }
    return first != QDQ_NO_FUSION;
}

static void compare_parts(const qdq_parts *p, const context *at, qdq_part_score *score)
{
    for (uint32_t i = 0; i < p->n; i++) {
        const context *there = &at[p->group[i]];
        if (there->layers > 0)
            score[i].context_mismatch =
                score[i].layers > there->layers || (score[i].shared && !there->shared);
    }
}

qdq_status qdq_parts_compare(const qdq_fusions *f, const qdq_parts *p, const qdq_layer *whole,
                             size_t n, qdq_part_score *score, qdq_error *err)
{
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_map labels = QDQ_MAP_INIT;
    context *at = qdq_arena_array(&scratch, (size_t)f->n + 1, sizeof *at);
    const bool good = at != NULL && qdq_graph_map_labels(f->g.g, &scratch, &labels);

    for (size_t i = 0; i < n && good; i++)
        if (!whole[i].conversion && !count_groups(f, &labels, &whole[i], i, false, at))
            (void)count_groups(f, &labels, &whole[i], i, true, at);
    if (good)
        compare_parts(p, at, score);
    qdq_map_free(&labels);
    qdq_arena_free(&scratch);
    return qdq_allocated(good, err);
}
