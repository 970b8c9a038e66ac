/* fusions.c - from an engine's layers to a partition of the graph: the steps, and what comes
 * out. */
#include "tune/group/fusions.h"

#include <math.h>
#include <stdlib.h>

#include "base/fail.h"
#include "base/opts.h"
#include "ir/shape.h"
#include "tune/group/fusions_build.h"

const char *qdq_fusion_source_name(qdq_fusion_source s)
{
    switch (s) {
    case QDQ_FUSION_STRUCTURAL:
        return "structural";
    case QDQ_FUSION_SLICE:
        return "slice";
    case QDQ_FUSION_EXACT:
        break;
    }
    return "exact";
}

/* --- the builder ------------------------------------------------------------------------------ */

qdq_status qdq_fb_finish(qdq_fb *b, qdq_error *err)
{
    qdq_fusions *f = b->f;
    qdq_fusion_members all;

    QDQ_TRY(qdq_fb_number(b, err));
    QDQ_TRY(qdq_fb_members(b, &all, err));
    f->n = b->n_groups;
    f->at = qdq_arena_array(&f->arena, (size_t)f->n + 1, sizeof *f->at);
    f->of = qdq_arena_array(&f->arena, (size_t)f->g.g->next_node_id + 1, sizeof *f->of);
    const qdq_node **node = qdq_arena_array(&f->arena, (size_t)f->g.n + 1, sizeof *node);
    QDQ_NEED(f->at != NULL && f->of != NULL && node != NULL, err);
    for (uint32_t i = 0; i <= f->g.g->next_node_id; i++)
        f->of[i] = QDQ_NO_FUSION;
    for (uint32_t k = 0; k < f->n; k++) {
        qdq_fusion *at = &f->at[k];
        *at = (qdq_fusion){.node = node,
                           .source = QDQ_FUSION_EXACT,
                           .layer = "",
                           .in_type = "",
                           .out_type = "",
                           .us = NAN,
                           .converts_us = NAN};
        for (uint32_t i = all.first[k]; i < all.first[k + 1]; i++) {
            uint32_t p = all.member[i];
            f->of[f->g.node[p]->id] = k;
            at->linear += b->linear[p];
            at->cut |= b->cut[p];
            *node++ = f->g.node[p];
            at->n++;
        }
    }
    return QDQ_OK;
}

static qdq_status find_groups(qdq_fb *b, const qdq_layer *layer, size_t n, qdq_error *err)
{
    QDQ_TRY(qdq_fb_read_layers(b, layer, n, err));
    QDQ_TRY(qdq_fb_join_layers(b, err));
    QDQ_TRY(qdq_fb_cut_large(b, err));
    qdq_fb_attach(b);
    QDQ_TRY(qdq_fb_by_structure(b, err));
    QDQ_TRY(qdq_fb_make_convex(b, err));
    QDQ_TRY(qdq_fb_finish(b, err));
    return qdq_fb_set_times(b, err);
}

static qdq_status start_groups(qdq_fb *b, const qdq_model *m, const qdq_fusion_opts *opts,
                               qdq_fusions **out, qdq_error *err)
{
    static const qdq_fusion_opts plain = QDQ_FUSION_OPTS_INIT;

    *out = calloc(1, sizeof **out);
    QDQ_NEED(*out != NULL, err);
    (*out)->matched = (*out)->covered = NAN;
    (*out)->us = (*out)->unknown_us = (*out)->converted_us = NAN;
    return qdq_fb_open(b, *out, m, opts != NULL ? opts : &plain, err);
}

static qdq_status end_groups(qdq_fb *b, qdq_fusions **out, qdq_status st)
{
    qdq_arena_free(&b->scratch);
    return QDQ_HAND_OVER(*out, st, out, qdq_fusions_free);
}

qdq_status qdq_fusions_find(const qdq_model *m, const qdq_layer *layer, size_t n,
                            const qdq_fusion_opts *opts, qdq_fusions **out, qdq_error *err)
{
    qdq_fb b = {0};
    qdq_status st = start_groups(&b, m, opts, out, err);

    if (st == QDQ_OK)
        st = find_groups(&b, layer, n, err);
    return end_groups(&b, out, st);
}

qdq_status qdq_fusions_open(const qdq_model *m, const qdq_layer *layer, size_t n,
                            const qdq_fusion_opts *opts, qdq_model **typed, qdq_fusions **out,
                            qdq_error *err)
{
    qdq_fusion_opts own = QDQ_FUSION_OPTS_INIT;

    *typed = NULL;
    *out = NULL;
    QDQ_TRY(qdq_opts_read("qdq_fusion_opts", &own, sizeof own, opts, err));
    QDQ_TRY(qdq_model_clone(m, typed, err));
    QDQ_TRY(qdq_model_infer(*typed, NULL, err));
    return qdq_fusions_find(*typed, layer, n, &own, out, err);
}

void qdq_fusions_free(qdq_fusions *f)
{
    if (f == NULL)
        return;
    qdq_arena_free(&f->arena);
    free(f);
}

/* --- refinement ------------------------------------------------------------------------------- */

static const qdq_fusion *fusion_at(const qdq_fusions *f, uint32_t place)
{
    return &f->at[f->of[f->g.node[place]->id]];
}

/* Groups of pairs of numbers; where b has no layer for a node, it does not tell it from its
 * neighbours in a. */
static qdq_status pair_up(qdq_fb *out, const qdq_fusions *a, const qdq_fusions *b, qdq_error *err)
{
    qdq_map pairs = QDQ_MAP_INIT;
    qdq_status st = QDQ_OK;

    for (uint32_t i = 0; i < out->g->n && st == QDQ_OK; i++) {
        const qdq_fusion *x = fusion_at(a, i), *y = fusion_at(b, i);
        bool x_knows = x->layers > 0 || y->layers == 0, y_knows = y->layers > 0;
        uint64_t in_x = x_knows ? (uint64_t)(x - a->at) + 1 : 0,
                 in_y = y_knows ? (uint64_t)(y - b->at) + 1 : 0;
        bool is_new;
        qdq_map_value *v = qdq_map_put_int(&pairs, in_x << 32 | in_y, &is_new);
        if (v == NULL) {
            st = qdq_nomem(err);
            break;
        }
        if (is_new)
            v->num = out->n_groups++;
        out->group[i] = (uint32_t)v->num;
        out->cut[i] = x->cut || y->cut;
    }
    qdq_map_free(&pairs);
    return st;
}

/* The part of its group's time that a node stands for. */
static double share_of(const qdq_fb *b, const qdq_fusion *f, const qdq_node *n)
{
    if (f->linear == 0)
        return 1.0 / f->n;
    return b->linear[b->g->place[n->id]] ? 1.0 / f->linear : 0;
}

static void inherit(const qdq_fb *b, qdq_fusion *to, const qdq_fusions *a, const qdq_fusions *other)
{
    for (uint32_t i = 0; i < to->n; i++) {
        const qdq_node *n = to->node[i];
        const qdq_fusion *x = &a->at[a->of[n->id]], *y = &other->at[other->of[n->id]];
        const qdq_fusion *known = x->layers > 0 ? x : y;
        double share = share_of(b, x, n);

        to->us = qdq_fusion_add_time(to->us, share * x->us);
        to->converts_us = qdq_fusion_add_time(to->converts_us, share * x->converts_us);
        if (known->source < to->source)
            to->source = known->source;
        if (known->layers > to->layers)
            to->layers = known->layers;
        if (to->layer[0] == '\0') {
            to->layer = known->layer;
            to->in_type = known->in_type;
            to->out_type = known->out_type;
        }
    }
}

static qdq_status refine_groups(qdq_fb *b, const qdq_fusions *x, const qdq_fusions *y,
                                qdq_error *err)
{
    qdq_fusions *f = b->f;

    if (x->g.g != y->g.g)
        return qdq_fail(err, QDQ_E_USAGE, "fusion groups of two graphs, expected the same one");
    QDQ_TRY(pair_up(b, x, y, err));
    QDQ_TRY(qdq_fb_make_convex(b, err));
    QDQ_TRY(qdq_fb_finish(b, err));
    for (uint32_t i = 0; i < f->n; i++) {
        inherit(b, &f->at[i], x, y);
        QDQ_NEED(qdq_fusion_keep_texts(&f->at[i], &f->arena, f->at[i].layer, f->at[i].in_type,
                                       f->at[i].out_type),
                 err);
    }
    f->matched = x->matched;
    f->covered = x->covered;
    f->us = x->us;
    f->unknown_us = x->unknown_us;
    f->converted_us = x->converted_us;
    return QDQ_OK;
}

qdq_status qdq_fusions_refine(const qdq_fusions *a, const qdq_fusions *b,
                              const qdq_fusion_opts *opts, qdq_fusions **out, qdq_error *err)
{
    qdq_fb fb = {0};
    qdq_status st = start_groups(&fb, a->g.g->model, opts, out, err);

    if (st == QDQ_OK)
        st = refine_groups(&fb, a, b, err);
    return end_groups(&fb, out, st);
}
