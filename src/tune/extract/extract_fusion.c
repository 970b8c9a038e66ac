/* extract_fusion.c - one fusion group of a model as a model, for callers of the library. */
#include "base/fail.h"
#include "ir/shape.h"
#include "tune/extract/group_model.h"

static qdq_status take(qdq_fusions *f, uint32_t group, const qdq_group_model_opts *o, qdq_model **out,
                       qdq_error *err)
{
    qdq_group_model *g;

    QDQ_TRY(qdq_group_model_make(f, group, o, &g, err));
    qdq_status st = QDQ_OK;
    if (g->model == NULL)
        st = qdq_fail(err, QDQ_E_UNSUPPORTED, "group %u cannot be a model of its own: %s", (unsigned)group,
                      g->why);
    *out = g->model;
    g->model = NULL;
    qdq_group_model_free(g);
    return st;
}

static qdq_status extract(const qdq_model *typed, const qdq_group *layer, size_t n,
                          const qdq_fusion_opts *opts, uint32_t group, const qdq_fusion_extract_opts *x,
                          qdq_model **out, qdq_error *err)
{
    const qdq_shape_range_opts shapes = {{x->min, x->opt, x->max}, {x->n_min, x->n_opt, x->n_max}};
    qdq_shape_range *range = NULL;
    qdq_fusions *f;

    QDQ_TRY(qdq_fusions_find(typed, layer, n, opts, &f, err));
    qdq_status st = qdq_shape_range_open(typed, &shapes, &range, err);
    if (st == QDQ_OK) {
        const qdq_group_model_opts o = {.halo = x->halo, .range = range};
        st = take(f, group, &o, out, err);
    }
    qdq_shape_range_close(range);
    qdq_fusions_free(f);
    return st;
}

qdq_status qdq_fusion_extract(const qdq_model *m, const qdq_group *layer, size_t n,
                              const qdq_fusion_opts *opts, size_t group, const qdq_fusion_extract_opts *how,
                              qdq_model **out, qdq_error *err)
{
    static const qdq_fusion_extract_opts plain = QDQ_FUSION_EXTRACT_OPTS_INIT;
    qdq_model *typed = NULL;

    *out = NULL;
    if (group >= QDQ_NO_FUSION)
        return qdq_fail(err, QDQ_E_USAGE, "found group %zu, which no model has", group);
    qdq_status st = qdq_model_clone(m, &typed, err);
    if (st == QDQ_OK)
        st = qdq_model_infer(typed, NULL, err);
    if (st == QDQ_OK)
        st = extract(typed, layer, n, opts, (uint32_t)group, how != NULL ? how : &plain, out, err);
    qdq_model_free(typed);
    return st;
}
