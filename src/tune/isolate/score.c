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

/* What nodes a layer has; of Q, DQ and casts also those that are not at the boundary. */
enum {
    OWN = 1,
    HALO = 2,
    OWN_LIGHT = 4,
    HALO_LIGHT = 8,
    QDQ = 16,
    QDQ_INSIDE = 32,
    CAST_INSIDE = 64
};

static unsigned bits_of(const qdq_part_node *n)
{
    switch (n->role) {
    case QDQ_ROLE_BESIDE:
        return 0;
    case QDQ_ROLE_OWN:
        return n->light ? OWN_LIGHT : OWN;
    case QDQ_ROLE_HALO:
        return n->light ? HALO_LIGHT : HALO;
    case QDQ_ROLE_QDQ:
        return n->boundary ? QDQ : QDQ | QDQ_INSIDE;
    case QDQ_ROLE_CAST:
        return n->boundary ? 0 : CAST_INSIDE;
    }
    return 0;
}

/* Nodes that only move numbers are in the layers of all who read them: they say whose a layer is if
 * nothing else does. */
static kind kind_of(unsigned has, bool conversion)
{
    if ((has & (OWN | HALO)) != 0) /* a conversion is for a node, but not what computes it */
        return conversion ? IS_OPEN : (has & OWN) != 0 ? IS_OWN : IS_NOTHING;
    if ((has & QDQ) != 0 && (conversion || (has & (OWN_LIGHT | HALO_LIGHT)) == 0))
        return IS_QDQ;
    if ((has & (OWN_LIGHT | HALO_LIGHT)) != 0)
        return (has & OWN_LIGHT) != 0 ? IS_OWN : IS_NOTHING;
    return (has & CAST_INSIDE) != 0 ? IS_REFORMAT : IS_NOTHING;
}

/* A layer of two parts counts for neither: their shares of it are not known. */
static row evaluate_layer(const scorer *s, const qdq_layer *l)
{
    row r = {.part = NO_PART};
    unsigned has = 0;

    for (size_t k = 0; k < l->n_nodes; k++) {
        const qdq_part_node *n = qdq_map_get_ptr(&s->p->nodes, l->node[k]);
        if (n == NULL)
            continue;
        if (r.part != NO_PART && r.part != n->part)
            s->spoiled[r.part] = s->spoiled[n->part] = true;
        r.part = n->part;
        has |= bits_of(n);
    }
    const unsigned both = (has & (OWN | HALO)) != 0 ? OWN | HALO : OWN_LIGHT | HALO_LIGHT;
    r.kind = r.part != NO_PART ? kind_of(has, l->conversion) : l->conversion ? IS_OPEN : IS_NOTHING;
    r.computes = !l->conversion && r.kind != IS_QDQ;
    r.shared = (has & both) == both;
    r.boundary = (has & (QDQ | QDQ_INSIDE)) == QDQ;
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

static const row *next_computing(const scorer *s, size_t i, int step)
{
    for (i += step; i < s->n; i += step) /* in front of the first one is a large number */
        if (s->row[i].computes && s->row[i].part != NO_PART)
            return &s->row[i];
    return NULL;
}

static void evaluate_place(scorer *s, size_t i)
{
    const row *before = next_computing(s, i, -1), *behind = next_computing(s, i, 1);
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
        s->row[i] = evaluate_layer(s, &s->layer[i]);
        if (s->row[i].kind == IS_OPEN)
            QDQ_TRY(evaluate_name(s, &s->layer[i], &s->row[i]));
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

static void add_row(const row *r, double us, qdq_part_score *to)
{
    if (r->kind == IS_NOTHING) {
        to->halo_us += r->computes ? us : 0;
        return;
    }
    *(r->kind == IS_OWN ? &to->own_us : r->kind == IS_QDQ ? &to->qdq_us : &to->reformat_us) += us;
    to->boundary_qdq_us += r->kind == IS_QDQ && r->boundary ? us : 0;
    to->layers += r->kind == IS_OWN;
    to->shared |= r->kind == IS_OWN && r->shared;
}

static void add_all(scorer *s, double end_to_end_us, qdq_part_score *out)
{
    const double launch = launch_of(s, end_to_end_us);

    for (size_t i = 0; i < s->n; i++) {
        const row *r = &s->row[i];
        const double us = s->layer[i].median_us;
        if (r->part == NO_PART)
            continue;
        s->spoiled[r->part] |= isnan(us);
        add_row(r, isnan(us) ? us : fmax(0, us - launch), &out[r->part]);
    }
    for (uint32_t k = 0; k < s->p->n; k++) {
        qdq_part_score *to = &out[k];
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
static uint32_t counted_group(const qdq_fusions *f, const qdq_map *labels, const char *node,
                              bool light)
{
    const qdq_node *n = qdq_map_get_ptr(labels, node);
    const bool is_light = n != NULL && (qdq_fusion_is_light(n) || n->op == QDQ_OP_CAST);

    return n != NULL && is_light == light ? f->of[n->id] : QDQ_NO_FUSION;
}

/* Layer number i, from 1, by its light nodes or by the others. False: it has none of them. */
static bool count_layer(const qdq_fusions *f, const qdq_map *labels, const qdq_layer *l, size_t i,
                        bool light, qdq_group_layers *at)
{
    uint32_t first = QDQ_NO_FUSION;

    for (size_t k = 0; k < l->n_nodes; k++) {
        const uint32_t group = counted_group(f, labels, l->node[k], light);
        if (group == QDQ_NO_FUSION)
            continue;
        first = first == QDQ_NO_FUSION ? group : first;
        if (group != first)
            at[first].shared = at[group].shared = true;
        at[group].n += at[group].last != i;
        at[group].last = i;
    }
    return first != QDQ_NO_FUSION;
}

qdq_status qdq_count_group_layers(const qdq_fusions *f, const qdq_layer *whole, size_t n,
                                  qdq_arena *arena, qdq_group_layers **out, qdq_error *err)
{
    qdq_map labels = QDQ_MAP_INIT;

    *out = qdq_arena_array(arena, (size_t)f->n + 1, sizeof **out);
    const bool good = *out != NULL && qdq_graph_map_labels(f->g.g, arena, &labels);
    for (size_t i = 0; i < n && good; i++)
        if (!whole[i].conversion && !count_layer(f, &labels, &whole[i], i + 1, false, *out))
            (void)count_layer(f, &labels, &whole[i], i + 1, true, *out);
    for (uint32_t i = 0; i < f->n && good; i++)
        if ((*out)[i].n == 0) /* as the groups were found */
            (*out)[i] = (qdq_group_layers){.n = f->at[i].layers, .shared = true};
    qdq_map_free(&labels);
    return qdq_allocated(good, err);
}

bool qdq_part_mismatches(const qdq_part_score *s, const qdq_group_layers *there)
{
    return (there->n > 0 && s->layers > there->n) || (s->shared && !there->shared);
}
