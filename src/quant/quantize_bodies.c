/* quantize_bodies.c - see the header. */
#include "quant/quantize_bodies.h"

#include "base/fail.h"
#include "ir/edit.h"
#include "ir/shape.h"
#include "quant/control_flow/bodies.h"
#include "quant/quantize_place.h"
#include "quant/insert/bias_correct.h"
#include "quant/weights/bias_fit.h"
#include "quant/weights/weight_mse.h"

typedef struct planning {
    const qdq_target *target;
    qdq_engine *engine;
    const qdq_quantize_opts *opts;
    qdq_plan_basis basis;
} planning;

/* Clips that an earlier plan searched are not searched again. */
static qdq_status search_weights(const qdq_model *m, qdq_scales *known, qdq_plan *p, qdq_error *err)
{
    if (known != NULL)
        QDQ_TRY(qdq_scales_give_clips(known, p, err));
    QDQ_TRY(qdq_weight_mse_search(m, p, err));
    return known != NULL ? qdq_scales_keep_clips(known, p, err) : QDQ_OK;
}

/* One model, the main one or a body. Depth is bounded by qdq_bodies_plan(). */
static qdq_status plan_model(void *ctx, const qdq_model *m, qdq_data *data, int depth, qdq_plan *p,
                             qdq_error *err)
{
    const planning *pl = ctx;
    const qdq_target *t = depth > 0 && pl->basis.bodies != NULL ? pl->basis.bodies : pl->target;
    const qdq_plan_basis inside = {.known = pl->basis.known,
                                   .means = pl->basis.means,
                                   .rest = pl->basis.rest},
                         *basis = depth > 0 ? &inside : &pl->basis;
    qdq_quantize_opts opts = *pl->opts;
    qdq_calib_opts co = {.samples = opts.samples,
                         .memory = opts.memory,
                         .threads = opts.threads,
                         .shapes = opts.shapes,
                         .n_shapes = opts.n_shapes,
                         .job = opts.job};

    if (depth > 0) { /* its inputs are no inputs of the model, and each sample counts */
        opts.shapes = co.shapes = NULL;
        opts.n_shapes = co.n_shapes = 0;
        opts.samples = co.samples = 0;
    }
    QDQ_TRY(qdq_place_with_scales(m, t, pl->engine, data, &opts, basis, p, err));
    QDQ_TRY(search_weights(m, basis->known, p, err));
    QDQ_TRY(qdq_drop_misfit_biases(m, opts.job, p, err));
    if (opts.bias_correction == QDQ_BIAS_CORRECTION_ON)
        QDQ_TRY(qdq_bias_correct(m, t, opts.job, p, err));
    return qdq_bodies_plan(m, pl->engine, data, &co, plan_model, ctx, depth, p, err);
}

/* One body, alone, without what samples give it. */
static qdq_status place_body(const qdq_graph *g, const qdq_target *t, const qdq_quantize_opts *opts,
                             qdq_plan *p, qdq_error *err)
{
    qdq_quantize_opts own = *opts;
    qdq_model *body = NULL;
    qdq_plan *sub = qdq_plan_new();
    qdq_status st = sub == NULL ? qdq_nomem(err) : qdq_graph_to_model(g, &body, err);

    own.job = NULL; /* has heard already what the user's lists fit */
    if (st == QDQ_OK)
        st = qdq_model_infer(body, NULL, err);
    if (st == QDQ_OK)
        st = qdq_place_for(body, t, &own, sub, err);
    if (st == QDQ_OK && !qdq_plan_absorb(p, sub))
        st = qdq_nomem(err);
    qdq_plan_free(sub);
    qdq_model_free(body);
    return st;
}

qdq_status qdq_place_inside(const qdq_model *clean, const qdq_target *t,
                            const qdq_quantize_opts *opts, qdq_plan *p, qdq_error *err)
{
    QDQ_FOR_GRAPHS (g, clean)
        if (g->owner != NULL && !qdq_graph_in_function(g))
            QDQ_TRY(place_body(g, t, opts, p, err));
    return QDQ_OK;
}

static bool has_bodies(const qdq_model *m)
{
    QDQ_FOR_GRAPHS (g, m)
        if (g->owner != NULL && !qdq_graph_in_function(g))
            return true;
    return false;
}

qdq_status qdq_place_all(const qdq_model *clean, const qdq_target *t, qdq_engine *e, qdq_data *data,
                         const qdq_quantize_opts *opts, const qdq_plan_basis *basis, qdq_plan *p,
                         qdq_error *err)
{
    qdq_quantize_opts own = *opts;
    planning pl = {.target = t, .engine = e, .opts = &own};
    qdq_data_opts dopts = QDQ_DATA_OPTS_INIT;
    qdq_data *random = NULL;

    if (basis != NULL)
        pl.basis = *basis;
    if (opts->bias_correction == QDQ_BIAS_CORRECTION_ON &&
        (data == NULL || qdq_data_is_random(data))) {
        qdq_job_log(opts->job, QDQ_LOG_WARNING,
                    "biases are not corrected: random input has no means that count");
        own.bias_correction = QDQ_BIAS_CORRECTION_OFF;
    }

    dopts.shapes = opts->shapes;
    dopts.n_shapes = opts->n_shapes;
    if (data == NULL && has_bodies(clean))
        QDQ_TRY(qdq_data_open("random:1", clean, &dopts, &random, err));
    qdq_status st = plan_model(&pl, clean, data != NULL ? data : random, 0, p, err);
    qdq_data_close(random);
    return st;
}
