/* fusions_list.c - fusion groups as callers of the library get them: texts and numbers. */
#include <stdlib.h>

#include "base/fail.h"
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

qdq_status qdq_fusions_list(const qdq_model *m, const qdq_layer *layer, size_t n,
                            const qdq_fusion_opts *opts, qdq_fusion_list **out, qdq_error *err)
{
    held_list *h = calloc(1, sizeof *h);
    qdq_fusion_keys *k = NULL;
    qdq_fusions *f;
    qdq_model *typed;

    *out = NULL;
    QDQ_NEED(h != NULL, err);
    qdq_status st = qdq_fusions_open(m, layer, n, opts, &typed, &f, err);
    if (st == QDQ_OK)
        st = qdq_fusion_keys_find(f, &k, err);
    if (st == QDQ_OK)
        st = copy_all(h, f, k, err);
    qdq_fusion_keys_free(k);
    qdq_fusions_free(f);
    qdq_model_free(typed);
    return QDQ_HAND_OVER(&h->list, st, out, qdq_fusion_list_free);
}

void qdq_fusion_list_free(qdq_fusion_list *l)
{
    held_list *h = (held_list *)(void *)l;

    if (h == NULL)
        return;
    qdq_arena_free(&h->arena);
    free(h);
}
