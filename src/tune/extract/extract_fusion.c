/* extract_fusion.c - one fusion group of a model as a model, for callers of the library. */
#include <stdlib.h>

#include "base/fail.h"
#include "base/opts.h"
#include "base/pack.h"
#include "tune/extract/group_model.h"

/* Where results go. */
typedef struct part {
    qdq_model *model;
    qdq_fusion_input *in;
    size_t n_in;
} part;

static bool is_open(const qdq_model *m, const char *input)
{
    const qdq_type *t = qdq_graph_find(m->graph, input)->type;

    for (int d = 0; t != NULL && d < t->rank; d++)
        if (t->dim[d].value < 0)
            return true;
    return false;
}

static const int64_t *pack_dims(qdq_pack *p, const int64_t *dim, int rank)
{
    return qdq_pack_array(p, (void *)(uintptr_t)dim, (size_t)rank, sizeof *dim);
}

static void pack_input(qdq_pack *p, void *to)
{
    qdq_fusion_input *in = to;

    in->name = qdq_pack_string(p, in->name);
    in->min = pack_dims(p, in->min, in->rank);
    in->opt = pack_dims(p, in->opt, in->rank);
    in->max = pack_dims(p, in->max, in->rank);
}

static qdq_status list_inputs(const qdq_group_model *g, part *out, qdq_error *err)
{
    qdq_fusion_input *in = calloc((size_t)g->n_inputs + 1, sizeof *in);

    QDQ_NEED(in != NULL, err);
    for (uint32_t i = 0; i < g->n_inputs; i++) {
        const qdq_dims_range *d = &g->input[i].dims;

        in[i] = (qdq_fusion_input){.name = g->input[i].name,
                                   .min = d->dim[QDQ_SHAPE_MIN],
                                   .opt = d->dim[QDQ_SHAPE_OPT],
                                   .max = d->dim[QDQ_SHAPE_MAX],
                                   .rank = d->rank,
                                   .dynamic = is_open(g->model, g->input[i].name)};
    }
    out->in = qdq_pack_list(in, g->n_inputs, sizeof *in, pack_input);
    out->n_in = g->n_inputs;
    free(in);
    return out->in != NULL ? QDQ_OK : qdq_nomem(err);
}

static qdq_status take_group(const qdq_fusions *f, uint32_t group, const qdq_group_model_opts *o,
                             part *out, qdq_error *err)
{
    qdq_group_model *g;

    QDQ_TRY(qdq_group_model_make(f, group, o, &g, err));
    qdq_status st = QDQ_OK;
    if (g->model == NULL)
        st = qdq_fail(err, QDQ_E_UNSUPPORTED, "group %u: cannot be a model of its own: %s",
                      (unsigned)group, g->why);
    else
        st = list_inputs(g, out, err);
    if (st == QDQ_OK) {
        out->model = g->model;
        g->model = NULL;
    }
    qdq_group_model_free(g);
    return st;
}

static qdq_status extract_group(const qdq_fusions *f, uint32_t group,
                                const qdq_fusion_extract_opts *x, part *out, qdq_error *err)
{
    const qdq_shape_range_opts shapes = {{x->min, x->opt, x->max}, {x->n_min, x->n_opt, x->n_max}};
    qdq_shape_range *range;

    QDQ_TRY(qdq_shape_range_open(f->g.g->model, &shapes, &range, err));
    const qdq_group_model_opts o = {.halo = x->halo, .range = range};
    const qdq_status st = take_group(f, group, &o, out, err);
    qdq_shape_range_close(range);
    return st;
}

qdq_status qdq_fusion_extract(const qdq_model *m, const qdq_layer *layer, size_t n,
                              const qdq_fusion_opts *opts, size_t group,
                              const qdq_fusion_extract_opts *how, qdq_model **out,
                              qdq_fusion_input **in, size_t *n_in, qdq_error *err)
{
    qdq_fusion_extract_opts halo = QDQ_FUSION_EXTRACT_OPTS_INIT;
    qdq_fusions *f;
    qdq_model *typed;
    part x = {NULL, NULL, 0};

    *out = NULL;
    if (in != NULL) {
        *in = NULL;
        *n_in = 0;
    }
    QDQ_TRY(qdq_opts_read("qdq_fusion_extract_opts", &halo, sizeof halo, how, err));
    if (group >= QDQ_NO_FUSION)
        return qdq_fail(err, QDQ_E_USAGE, "found group %zu, which no model has", group);
    qdq_status st = qdq_fusions_open(m, layer, n, opts, &typed, &f, err);
    if (st == QDQ_OK)
        st = extract_group(f, (uint32_t)group, &halo, &x, err);
    qdq_fusions_free(f);
    qdq_model_free(typed);
    if (st == QDQ_OK)
        *out = x.model;
    if (st == QDQ_OK && in != NULL) {
        *in = x.in;
        *n_in = x.n_in;
    } else {
        free(x.in);
    }
    return st;
}
