/* trt_result.c - see the header. */
#include "engine/trt/trt_result.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "base/pack.h"
#include "engine/engine_layer.h"
#include "engine/trt/trt_map.h"

/* --- profile ---------------------------------------------------------------------------------- */

static qdq_status pack_rows(const qdq_trt_profile *p, const char *const *op, qdq_group **out,
                            size_t *n, qdq_error *err)
{
    size_t size = (p->n + 1) * sizeof(qdq_group);

    for (size_t i = 0; i < p->n; i++)
        size += strlen(p->at[i].name) + strlen(op[i]) + 2;
    qdq_group *l = malloc(size);
    if (l == NULL)
        return qdq_nomem(err);
    char *text = (char *)(l + p->n + 1);
    for (size_t i = 0; i < p->n; i++) {
        double ms = qdq_trt_row_ms(&p->at[i]);

        l[i] =
            (qdq_group){.median_us = isnan(ms) ? 0 : ms * 1e3, .runs = p->count > 0 ? p->count : 1};
        l[i].layer = qdq_pack_text(&text, p->at[i].name);
        l[i].op = qdq_pack_text(&text, op[i]);
    }
    *out = l;
    *n = p->n;
    return QDQ_OK;
}

qdq_status qdq_trt_make_profile(const qdq_trt_layers *l, const qdq_trt_profile *p, qdq_group **out,
                                size_t *n, qdq_error *err)
{
    qdq_arena scratch = QDQ_ARENA_INIT;
    const char **op = qdq_arena_array(&scratch, p->n + 1, sizeof *op);
    size_t *row = qdq_arena_array(&scratch, l->n + 1, sizeof *row);
    bool positional;
    qdq_status st = op != NULL && row != NULL ? qdq_trt_profile_join(p, l, row, &positional, err)
                                              : qdq_nomem(err);

    for (size_t i = 0; st == QDQ_OK && i < p->n; i++)
        op[i] = "";
    for (size_t i = 0; st == QDQ_OK && i < l->n; i++)
        if (row[i] != SIZE_MAX && l->at[i].type != NULL)
            op[row[i]] = l->at[i].type;
    if (st == QDQ_OK)
        st = pack_rows(p, op, out, n, err);
    qdq_arena_free(&scratch);
    return st;
}

/* --- groups ----------------------------------------------------------------------------------- */

static qdq_group_source source_of(const qdq_trt_nodes *n)
{
    switch (n->source) {
    case QDQ_TRT_NO_SOURCE:
        break;
    case QDQ_TRT_SLICE:
        return QDQ_GROUP_SLICE;
    case QDQ_TRT_NAME:
    case QDQ_TRT_METADATA:
        return QDQ_GROUP_EXACT;
    }
    return QDQ_GROUP_NONE;
}

/* What a layer moves for others has their name, but is not what computes them. */
static bool make_layer(const qdq_trt_layer *from, const qdq_trt_nodes *nodes, qdq_arena *scratch,
                       qdq_engine_layer *l)
{
    *l = (qdq_engine_layer){.name = from->name,
                            .op = from->type,
                            .in_type = from->in.n > 0 ? from->in.at[0].type : "",
                            .out_type = from->out.n > 0 ? from->out.at[0].type : "",
                            .us = NAN,
                            .conversion = qdq_trt_layer_is_reformat(from),
                            .tensor = nodes->tensor != NULL ? nodes->tensor->name : NULL,
                            .source = source_of(nodes)};
    for (size_t i = 0; i < nodes->n; i++)
        if (!QDQ_PUSH(scratch, &l->nodes, nodes->at[i]))
            return false;
    for (size_t i = 0; i < nodes->n_qdq; i++)
        if (!QDQ_PUSH(scratch, &l->nodes, nodes->qdq[i]))
            return false;
    return true;
}

static qdq_status set_times(const qdq_trt_layers *l, const qdq_trt_profile *p, const qdq_job *job,
                            qdq_arena *scratch, qdq_engine_layer *out, qdq_error *err)
{
    size_t *row = qdq_arena_array(scratch, l->n + 1, sizeof *row);
    bool positional;

    if (row == NULL)
        return qdq_nomem(err);
    QDQ_TRY(qdq_trt_profile_join(p, l, row, &positional, err));
    if (!positional)
        qdq_job_log(
            job, QDQ_LOG_WARNING,
            "the profile has %zu rows for %zu layers or another order: they were joined by name",
            p->n, l->n);
    for (size_t i = 0; i < l->n; i++)
        if (row[i] != SIZE_MAX)
            out[i].us = qdq_trt_row_ms(&p->at[row[i]]) * 1e3;
    return QDQ_OK;
}

static qdq_status make_groups(const qdq_trt_layers *l, const qdq_trt_profile *p, const qdq_graph *g,
                              const qdq_job *job, qdq_arena *scratch, qdq_group **out, size_t *n,
                              qdq_error *err)
{
    qdq_engine_layer *layer = qdq_arena_array(scratch, l->n + 1, sizeof *layer);
    qdq_trt_nodes *nodes = qdq_arena_array(scratch, l->n + 1, sizeof *nodes);

    if (layer == NULL || nodes == NULL)
        return qdq_nomem(err);
    QDQ_TRY(qdq_trt_map(l, g, scratch, nodes, err));
    for (size_t i = 0; i < l->n; i++)
        if (!make_layer(&l->at[i], &nodes[i], scratch, &layer[i]))
            return qdq_nomem(err);
    if (p != NULL)
        QDQ_TRY(set_times(l, p, job, scratch, layer, err));
    return qdq_engine_layers_pack(layer, l->n, scratch, out, n, err);
}

qdq_status qdq_trt_make_groups(const qdq_trt_layers *l, const qdq_trt_profile *p,
                               const qdq_graph *g, const qdq_job *job, qdq_group **out, size_t *n,
                               qdq_error *err)
{
    qdq_arena scratch = QDQ_ARENA_INIT;

    QDQ_TRY(qdq_trt_layers_need_detail(l, err));
    qdq_status st = make_groups(l, p, g, job, &scratch, out, n, err);
    qdq_arena_free(&scratch);
    return st;
}
