/* fusions_list.c - fusion groups as callers of the library get them: texts and numbers. */
#include <stdlib.h>

#include "base/fail.h"
#include "base/opts.h"
#include "ir/shape.h"
#include "tune/group/keys.h"

typedef struct held_list {
    /* what callers see */
    qdq_fusion_list list;
    qdq_arena arena;
} held_list;

static qdq_status copy_group(const qdq_fusion *f, qdq_arena *arena, qdq_fusion_info *out,
                             qdq_error *err)
{
    const char **node = qdq_arena_array(arena, (size_t)f->n + 1, sizeof *node);

    *out = (qdq_fusion_info){.node = node,
                             .n_nodes = f->n,
                             .n_linear = f->linear,
                             .n_layers = f->layers,
                             .layer = qdq_arena_strdup(arena, f->layer),
                             .in_type = qdq_arena_strdup(arena, f->in_type),
                             .out_type = qdq_arena_strdup(arena, f->out_type),
                             .us = f->us,
                             .converts_us = f->converts_us,
                             .source = f->source,
                             .is_part = f->cut};
    QDQ_NEED(node != NULL && out->layer != NULL && out->in_type != NULL && out->out_type != NULL,
             err);
    for (uint32_t i = 0; i < f->n; i++) {
        node[i] = qdq_arena_strdup(arena, qdq_node_label(f->node[i], arena));
        QDQ_NEED(node[i] != NULL, err);
    }
    return QDQ_OK;
}

static qdq_status copy_all(held_list *h, const qdq_fusions *f, const qdq_fusion_keys *k,
                           qdq_error *err)
{
    qdq_fusion_list *l = &h->list;
    qdq_fusion_info *at = qdq_arena_array(&h->arena, (size_t)f->n + 1, sizeof *at);

    QDQ_NEED(at != NULL, err);
    for (uint32_t i = 0; i < f->n; i++) {
        QDQ_TRY(copy_group(&f->at[i], &h->arena, &at[i], err));
        at[i].class_id = k->of[i];
        at[i].key = qdq_arena_strdup(&h->arena, k->at[k->of[i]].hash);
        QDQ_NEED(at[i].key != NULL, err);
    }
    *l = (qdq_fusion_list){.at = at,
                           .n = f->n,
                           .n_keys = k->n,
                           .matched = f->matched,
                           .covered = f->covered,
                           .us = f->us,
                           .unknown_us = f->unknown_us,
                           .converted_us = f->converted_us};
    return QDQ_OK;
}

/* Of a model with types. */
static qdq_status list_groups(const qdq_model *m, const qdq_layer *layer, size_t n,
                              const qdq_fusion_opts *opts, held_list *h, qdq_error *err)
{
    qdq_fusion_keys *k = NULL;
    qdq_fusions *f;

    QDQ_TRY(qdq_fusions_find(m, layer, n, opts, &f, err));
    qdq_status st = qdq_fusion_keys_find(f, &k, err);
    if (st == QDQ_OK)
        st = copy_all(h, f, k, err);
    qdq_fusion_keys_free(k);
    qdq_fusions_free(f);
    return st;
}

qdq_status qdq_fusions_list(const qdq_model *m, const qdq_layer *layer, size_t n,
                            const qdq_fusion_opts *opts, qdq_fusion_list **out, qdq_error *err)
{
    qdq_fusion_opts own = QDQ_FUSION_OPTS_INIT;
    qdq_model *typed = NULL;

    *out = NULL;
    QDQ_TRY(qdq_opts_read("qdq_fusion_opts", &own, sizeof own, opts, err));
    held_list *h = calloc(1, sizeof *h);
    QDQ_NEED(h != NULL, err);
    qdq_status st = qdq_model_clone(m, &typed, err);
    if (st == QDQ_OK)
        st = qdq_model_infer(typed, NULL, err);
    if (st == QDQ_OK)
        st = list_groups(typed, layer, n, &own, h, err);
    qdq_model_free(typed);
    if (st == QDQ_OK)
        *out = &h->list;
    else
        qdq_fusion_list_free(&h->list);
    return st;
}

void qdq_fusion_list_free(qdq_fusion_list *l)
{
    held_list *h = (held_list *)(void *)l;

    if (h == NULL)
        return;
    qdq_arena_free(&h->arena);
    free(h);
}
