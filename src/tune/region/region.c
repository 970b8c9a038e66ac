/* region.c - from a graph to its regions: which builder, ids, and the proof that nothing is left
 * out or there twice. */
#include "tune/region/region.h"

#include <stdlib.h>

#include "base/fail.h"
#include "tune/region/region_build.h"

static const double named_enough = 0.8;

/* --- which builder ---------------------------------------------------------------------------- */

static double named_share(const qdq_graph *g)
{
    size_t named = 0, all = 0;

    QDQ_FOR_NODES (n, g) {
        if (n->op == QDQ_OP_CONSTANT)
            continue;
        named += n->name[0] == '/';
        all++;
    }
    return all > 0 ? (double)named / (double)all : 0;
}

static qdq_region_builder choose_builder(const qdq_region_opts *opts, double share)
{
    if (opts->builder != QDQ_REGIONS_AUTO)
        return opts->builder;
    return share >= named_enough ? QDQ_REGIONS_NAMES : QDQ_REGIONS_STRUCTURE;
}

/* --- building --------------------------------------------------------------------------------- */

/* For each node, the forks whose branches meet there, the nearest first. */
static void link_forks(qdq_rb *b)
{
    for (uint32_t i = 0; i <= b->g.n; i++)
        b->first_meet[i] = QDQ_NO_PLACE;
    for (uint32_t i = 0; i < b->g.n; i++) {
        if (qdq_readers(&b->g, i) < 2)
            continue;
        b->next_meet[i] = b->first_meet[b->g.meet[i]];
        b->first_meet[b->g.meet[i]] = i;
    }
}

static qdq_status prepare_builder(qdq_rb *b, const qdq_regions *r, const qdq_region_opts *opts,
                                  qdq_error *err)
{
    uint32_t **const arrays[] = {&b->group, &b->seen, &b->hops,    &b->next_meet, &b->first_meet,
                                 &b->up,    &b->size, &b->kernels, &b->open,      &b->count};

    QDQ_TRY(qdq_region_graph_new(r->model->graph, &b->scratch, &b->g, err));
    b->max_size = opts->max_region_size > 0 ? opts->max_region_size : QDQ_REGION_SIZE;
    b->min_refine = opts->min_refine_size > 0 ? opts->min_refine_size : QDQ_REGION_SIZE;
    for (size_t i = 0; i < QDQ_COUNT(arrays); i++) {
        *arrays[i] = qdq_arena_array(&b->scratch, (size_t)b->g.n + 1, sizeof(uint32_t));
        QDQ_NEED(*arrays[i] != NULL, err);
    }
    link_forks(b);
    return QDQ_OK;
}

/* --- numbering -------------------------------------------------------------------------------- */

static qdq_status number_regions(qdq_regions *r, qdq_error *err)
{
    for (size_t i = 0; i < r->top.n; i++)
        QDQ_NEED(QDQ_PUSH(&r->arena, &r->all, r->top.at[i]), err);
    for (size_t i = 0; i < r->all.n; i++) {
        qdq_region *at = r->all.at[i];
        at->id = (uint32_t)i;
        for (size_t k = 0; k < at->children.n; k++) {
            at->children.at[k]->parent = at;
            at->children.at[k]->depth = at->depth + 1;
            QDQ_NEED(QDQ_PUSH(&r->arena, &r->all, at->children.at[k]), err);
        }
        for (size_t k = 0; k < at->nodes.n; k++) {
            if (r->of[at->nodes.at[k]->id] != NULL)
                return qdq_fail(err, QDQ_E_BUG, "node '%s' is in two regions",
                                at->nodes.at[k]->name);
            r->of[at->nodes.at[k]->id] = at;
            r->n_covered++;
        }
    }
    if (r->n_covered != r->n_nodes)
        return qdq_fail(err, QDQ_E_BUG, "regions cover %zu of %zu nodes", r->n_covered, r->n_nodes);
    return QDQ_OK;
}

static qdq_status keep_places(qdq_regions *r, const qdq_region_graph *g, qdq_error *err)
{
    size_t n = (size_t)g->g->next_node_id + 1;

    r->place = qdq_arena_array(&r->arena, n, sizeof *r->place);
    r->of = qdq_arena_array(&r->arena, n, sizeof(qdq_region *));
    QDQ_NEED(r->place != NULL && r->of != NULL, err);
    for (size_t i = 0; i < n; i++)
        r->place[i] = g->place[i];
    r->n_nodes = g->n;
    return QDQ_OK;
}

static qdq_status build_regions(qdq_rb *b, qdq_regions *r, const qdq_region_opts *opts,
                                qdq_error *err)
{
    QDQ_TRY(prepare_builder(b, r, opts, err));
    QDQ_TRY(keep_places(r, &b->g, err));
    if (r->builder == QDQ_REGIONS_NAMES)
        QDQ_TRY(qdq_regions_by_names(b, &r->top, err));
    else
        QDQ_TRY(qdq_regions_by_structure(b, &r->top, err));
    QDQ_TRY(qdq_region_sort(b, &r->top, err));
    QDQ_TRY(number_regions(r, err));
    return qdq_regions_bound(r, &b->g, err);
}

qdq_status qdq_regions_find(const qdq_model *m, const qdq_region_opts *opts, qdq_regions **out,
                            qdq_error *err)
{
    static const qdq_region_opts plain = QDQ_REGION_OPTS_INIT;
    qdq_regions *r = calloc(1, sizeof *r);

    *out = NULL;
    QDQ_NEED(r != NULL, err);
    opts = opts != NULL ? opts : &plain;
    r->model = m;
    r->named_share = named_share(m->graph);
    r->builder = choose_builder(opts, r->named_share);
    qdq_rb b = {.arena = &r->arena};
    qdq_status st = build_regions(&b, r, opts, err);
    qdq_arena_free(&b.scratch);
    return QDQ_HAND_OVER(r, st, out, qdq_regions_free);
}

void qdq_regions_free(qdq_regions *r)
{
    if (r == NULL)
        return;
    qdq_arena_free(&r->arena);
    free(r);
}

void qdq_region_put_name(qdq_buf *b, const qdq_node *n)
{
    if (n->name[0] != '\0') {
        qdq_buf_puts(b, n->name);
        return;
    }
    qdq_buf_printf(b, "%s@%s", n->type, n->n_out > 0 && n->out[0] != NULL ? n->out[0]->name : "");
}

/* Ids count level by level: what lies beside a region has the next one. */
const qdq_region *qdq_region_next(const qdq_regions *all, const qdq_region *r)
{
    if (r == NULL)
        return all->top.n > 0 ? all->top.at[0] : NULL;
    if (r->children.n > 0)
        return r->children.at[0];
    for (; r != NULL; r = r->parent) {
        const qdq_region_list *beside = r->parent != NULL ? &r->parent->children : &all->top;
        size_t place = r->id - beside->at[0]->id;
        if (place + 1 < beside->n)
            return beside->at[place + 1];
    }
    return NULL;
}
