/* engine_layer.c - executed layers and their nodes, packed into the one block that callers free. */
#include "engine/engine_layer.h"

#include <stdlib.h>
#include <string.h>

#include "base/elem_info.h"
#include "base/fail.h"
#include "base/pack.h"
#include "base/words.h"

const char *qdq_engine_type(qdq_elem e)
{
    const char *brief = qdq_elem_get_info(e)->brief;

    return brief != NULL ? brief : "";
}

typedef struct packer {
    /* of each layer, into label; one more at the end */
    size_t *first;
    /* of all layers, one behind the other */
    const char **label;
    /* of all texts */
    size_t bytes;
} packer;

static bool is_repeated(const qdq_engine_layer *l, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (l->nodes.at[k] == l->nodes.at[i])
            return true;
    return false;
}

static qdq_status measure(packer *p, const qdq_engine_layer *l, size_t n, qdq_arena *scratch,
                          qdq_error *err)
{
    size_t n_labels = 0;

    for (size_t i = 0; i < n; i++)
        n_labels += l[i].nodes.n;
    p->first = qdq_arena_array(scratch, n + 1, sizeof *p->first);
    p->label = qdq_arena_array(scratch, n_labels + 1, sizeof *p->label);
    QDQ_NEED(p->first != NULL && p->label != NULL, err);
    n_labels = 0;
    for (size_t i = 0; i < n; i++) {
        p->first[i] = n_labels;
        for (size_t k = 0; k < l[i].nodes.n; k++) {
            if (is_repeated(&l[i], k))
                continue;
            p->label[n_labels] = qdq_node_label(l[i].nodes.at[k], scratch);
            p->bytes += strlen(p->label[n_labels++]) + 1;
        }
        p->bytes += strlen(qdq_text_or_empty(l[i].name)) + strlen(qdq_text_or_empty(l[i].op)) + 2;
        p->bytes +=
            strlen(qdq_text_or_empty(l[i].in_type)) + strlen(qdq_text_or_empty(l[i].out_type)) + 2;
        p->bytes += strlen(qdq_text_or_empty(l[i].tensor)) + 1;
    }
    p->first[n] = n_labels;
    return QDQ_OK;
}

qdq_status qdq_engine_layers_pack(const qdq_engine_layer *l, size_t n, qdq_arena *scratch,
                                  qdq_layer **out, size_t *n_out, qdq_error *err)
{
    packer p = {0};

    QDQ_TRY(measure(&p, l, n, scratch, err));
    qdq_layer *g = malloc((n + 1) * sizeof *g + (p.first[n] + 1) * sizeof(char *) + p.bytes);
    QDQ_NEED(g != NULL, err);
    const char **label = (const char **)(g + n + 1);
    char *text = (char *)(label + p.first[n] + 1);
    for (size_t i = 0; i < n; i++) {
        g[i] = (qdq_layer){.median_us = l[i].us,
                           .conversion = l[i].conversion,
                           .node = label + p.first[i],
                           .n_nodes = p.first[i + 1] - p.first[i],
                           .source = l[i].source};
        g[i].layer = qdq_pack_text(&text, qdq_text_or_empty(l[i].name));
        g[i].op = qdq_pack_text(&text, qdq_text_or_empty(l[i].op));
        g[i].in_type = qdq_pack_text(&text, qdq_text_or_empty(l[i].in_type));
        g[i].out_type = qdq_pack_text(&text, qdq_text_or_empty(l[i].out_type));
        g[i].tensor = qdq_pack_text(&text, qdq_text_or_empty(l[i].tensor));
        for (size_t k = p.first[i]; k < p.first[i + 1]; k++)
            label[k] = qdq_pack_text(&text, p.label[k]);
    }
    *out = g;
    *n_out = n;
    return QDQ_OK;
}

qdq_status qdq_engine_profile_pack(const qdq_engine_layer *from, size_t n, unsigned runs,
                                   qdq_layer **out, qdq_error *err)
{
    size_t size = (n + 1) * sizeof(qdq_layer);

    for (size_t i = 0; i < n; i++)
        size += strlen(from[i].name) + strlen(from[i].op) + 2;
    qdq_layer *l = malloc(size);
    QDQ_NEED(l != NULL, err);
    char *p = (char *)(l + n + 1);
    for (size_t i = 0; i < n; i++) {
        l[i] = (qdq_layer){.median_us = from[i].us, .runs = runs};
        l[i].layer = qdq_pack_text(&p, from[i].name);
        l[i].op = qdq_pack_text(&p, from[i].op);
    }
    *out = l;
    return QDQ_OK;
}
