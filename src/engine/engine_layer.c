/* engine_layer.c - executed layers and their nodes, packed into the one block that callers free. */
#include "engine/engine_layer.h"

#include <stdlib.h>

#include "base/elem_info.h"
#include "base/fail.h"
#include "base/pack.h"
#include "base/words.h"

const char *qdq_engine_type(qdq_elem e)
{
    const char *brief = qdq_elem_get_info(e)->brief;

    return brief != NULL ? brief : "";
}

static void pack_layer(qdq_pack *p, void *to)
{
    qdq_layer *l = to;

    l->layer = qdq_pack_string(p, l->layer);
    l->op = qdq_pack_string(p, l->op);
    l->in_type = qdq_pack_string(p, l->in_type);
    l->out_type = qdq_pack_string(p, l->out_type);
    l->tensor = qdq_pack_string(p, l->tensor);
    l->node = qdq_pack_strings(p, l->node, l->n_nodes);
}

qdq_status qdq_layers_pack(qdq_layer *from, size_t n, qdq_layer **out, qdq_error *err)
{
    *out = qdq_pack_list(from, n, sizeof *from, pack_layer);
    return qdq_allocated(*out != NULL, err);
}

static bool is_repeated(const qdq_engine_layer *l, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (l->nodes.at[k] == l->nodes.at[i])
            return true;
    return false;
}

static qdq_status describe_layer(const qdq_engine_layer *l, qdq_arena *scratch, qdq_layer *out,
                                 qdq_error *err)
{
    const char **label = qdq_arena_array(scratch, l->nodes.n + 1, sizeof *label);

    QDQ_NEED(label != NULL, err);
    *out = (qdq_layer){.layer = qdq_text_or_empty(l->name),
                       .op = qdq_text_or_empty(l->op),
                       .in_type = qdq_text_or_empty(l->in_type),
                       .out_type = qdq_text_or_empty(l->out_type),
                       .median_us = l->us,
                       .conversion = l->conversion,
                       .node = label,
                       .source = l->source,
                       .tensor = qdq_text_or_empty(l->tensor)};
    for (size_t k = 0; k < l->nodes.n; k++)
        if (!is_repeated(l, k))
            label[out->n_nodes++] = qdq_node_label(l->nodes.at[k], scratch);
    return QDQ_OK;
}

qdq_status qdq_engine_layers_pack(const qdq_engine_layer *l, size_t n, qdq_arena *scratch,
                                  qdq_layer **out, size_t *n_out, qdq_error *err)
{
    qdq_layer *g = qdq_arena_array(scratch, n + 1, sizeof *g);

    QDQ_NEED(g != NULL, err);
    for (size_t i = 0; i < n; i++)
        QDQ_TRY(describe_layer(&l[i], scratch, &g[i], err));
    QDQ_TRY(qdq_layers_pack(g, n, out, err));
    *n_out = n;
    return QDQ_OK;
}

qdq_status qdq_engine_profile_pack(const qdq_engine_layer *from, size_t n, unsigned runs,
                                   qdq_layer **out, qdq_error *err)
{
    qdq_layer *l = calloc(n + 1, sizeof *l);

    QDQ_NEED(l != NULL, err);
    for (size_t i = 0; i < n; i++)
        l[i] = (qdq_layer){
            .layer = from[i].name, .op = from[i].op, .median_us = from[i].us, .runs = runs};
    const qdq_status st = qdq_layers_pack(l, n, out, err);
    free(l);
    return st;
}
