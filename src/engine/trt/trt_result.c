/* trt_result.c - makes layers with nodes and times of layer information and profiles. */
#include "engine/trt/trt_result.h"

#include <math.h>

#include "base/fail.h"
#include "engine/engine_layer.h"
#include "engine/trt/trt_map.h"

/* --- profile ---------------------------------------------------------------------------------- */

qdq_status qdq_trt_make_profile(const qdq_trt_layers *l, const qdq_trt_profile *p, qdq_layer **out,
                                size_t *n, qdq_error *err)
{
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_engine_layer *rows = qdq_arena_array(&scratch, p->n + 1, sizeof *rows);
    size_t *row = qdq_arena_array(&scratch, l->n + 1, sizeof *row);
    bool positional;
    qdq_status st = rows != NULL && row != NULL ? qdq_trt_profile_join(p, l, row, &positional, err)
                                                : qdq_nomem(err);

    for (size_t i = 0; st == QDQ_OK && i < p->n; i++) {
        const double ms = qdq_trt_row_ms(&p->at[i]);
        rows[i] =
            (qdq_engine_layer){.name = p->at[i].name, .op = "", .us = isnan(ms) ? 0 : ms * 1e3};
    }
    for (size_t i = 0; st == QDQ_OK && i < l->n; i++)
        if (row[i] != SIZE_MAX && l->at[i].type != NULL)
            rows[row[i]].op = l->at[i].type;
    if (st == QDQ_OK)
        st = qdq_engine_profile_pack(rows, p->n, p->count > 0 ? p->count : 1, out, err);
    if (st == QDQ_OK)
        *n = p->n;
    qdq_arena_free(&scratch);
    return st;
}

/* --- groups ----------------------------------------------------------------------------------- */

static qdq_layer_source source_of(const qdq_trt_nodes *n)
{
    switch (n->source) {
    case QDQ_TRT_NO_SOURCE:
        break;
    case QDQ_TRT_SLICE:
        return QDQ_LAYER_SLICE;
    case QDQ_TRT_NAME:
    case QDQ_TRT_METADATA:
        return QDQ_LAYER_EXACT;
    }
    return QDQ_LAYER_NONE;
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

    QDQ_NEED(row != NULL, err);
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
                              const qdq_job *job, qdq_arena *scratch, qdq_layer **out, size_t *n,
                              qdq_error *err)
{
    qdq_engine_layer *layer = qdq_arena_array(scratch, l->n + 1, sizeof *layer);
    qdq_trt_nodes *nodes = qdq_arena_array(scratch, l->n + 1, sizeof *nodes);

    QDQ_NEED(layer != NULL && nodes != NULL, err);
    QDQ_TRY(qdq_trt_map(l, g, scratch, nodes, err));
    for (size_t i = 0; i < l->n; i++)
        QDQ_NEED(make_layer(&l->at[i], &nodes[i], scratch, &layer[i]), err);
    if (p != NULL)
        QDQ_TRY(set_times(l, p, job, scratch, layer, err));
    return qdq_engine_layers_pack(layer, l->n, scratch, out, n, err);
}

qdq_status qdq_trt_make_groups(const qdq_trt_layers *l, const qdq_trt_profile *p,
                               const qdq_graph *g, const qdq_job *job, qdq_layer **out, size_t *n,
                               qdq_error *err)
{
    qdq_arena scratch = QDQ_ARENA_INIT;

    QDQ_TRY(qdq_trt_layers_need_detail(l, err));
    qdq_status st = make_groups(l, p, g, job, &scratch, out, n, err);
    qdq_arena_free(&scratch);
    return st;
}
