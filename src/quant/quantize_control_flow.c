/* quantize_control_flow.c - places and calibrates a model and the bodies of its control nodes. */
#include "quant/quantize_steps.h"

#include "base/fail.h"
#include "ir/edit.h"
#include "ir/shape.h"
#include "quant/control_flow/control_flow.h"
#include "quant/calib/scales.h"
#include "quant/insert/bias_correct.h"
#include "quant/weights/bias_fit.h"
#include "quant/weights/weight_mse.h"

/* Clips that an earlier plan searched are not searched again. */
static qdq_status search_weights(const qdq_quantizing *q, qdq_error *err)
{
    qdq_scales *known = q->basis.known;

    if (known != NULL)
        QDQ_TRY(qdq_scales_give_clips(known, q->plan, err));
    QDQ_TRY(qdq_weight_mse_search(q->m, q->plan, err));
    return known != NULL ? qdq_scales_keep_clips(known, q->plan, err) : QDQ_OK;
}

static qdq_status plan_body(const qdq_quantizing *body, int depth, qdq_error *err);

/* One model, the main one or a body. Depth is bounded by qdq_control_flow_plan(). */
static qdq_status plan_model(const qdq_quantizing *q, int depth, qdq_error *err)
{
    QDQ_TRY(qdq_place_with_scales(q, err));
    QDQ_TRY(search_weights(q, err));
    QDQ_TRY(qdq_drop_overflowing_biases(q->m, q->opts->job, q->plan, err));
    if (q->opts->bias_correction == QDQ_BIAS_CORRECTION_ON)
        QDQ_TRY(qdq_bias_correct(q->m, q->target, q->opts->job, q->plan, err));
    return q->statistics != NULL
               ? qdq_control_flow_leave(q, "statistics have no samples of it", err)
               : qdq_control_flow_plan(q, plan_body, depth, err);
}

/* Its inputs are no inputs of the model, and each sample counts. */
static qdq_status plan_body(const qdq_quantizing *body, int depth, qdq_error *err)
{
    const qdq_plan_basis *basis = &body->basis;
    qdq_quantizing own = *body;
    qdq_quantize_opts opts = *body->opts;

    if (basis->bodies != NULL)
        own.target = basis->bodies;
    own.basis = (qdq_plan_basis){.known = basis->known,
                                 .recorded = basis->recorded,
                                 .means = basis->means,
                                 .half = basis->half};
    opts.shapes = NULL;
    opts.n_shapes = 0;
    opts.samples = 0;
    own.opts = &opts;
    return plan_model(&own, depth, err);
}

/* One body, alone, without what samples give it. */
static qdq_status place_body(const qdq_graph *g, const qdq_quantizing *around, qdq_error *err)
{
    qdq_quantizing q = *around;
    qdq_quantize_opts opts = *around->opts;
    qdq_model *body = NULL;
    qdq_status st = qdq_graph_to_model(g, &body, err);

    q.m = body;
    q.plan = qdq_plan_new();
    opts.job = NULL; /* has got already what the user's lists fit */
    q.opts = &opts;
    if (st == QDQ_OK && q.plan == NULL)
        st = qdq_nomem(err);
    if (st == QDQ_OK)
        st = qdq_model_infer(body, NULL, err);
    if (st == QDQ_OK)
        st = qdq_place_for(&q, err);
    if (st == QDQ_OK && !qdq_plan_absorb(around->plan, q.plan))
        st = qdq_nomem(err);
    qdq_plan_free(q.plan);
    qdq_model_free(body);
    return st;
}

qdq_status qdq_place_inside(const qdq_quantizing *q, qdq_error *err)
{
    QDQ_FOR_GRAPHS (g, q->m)
        if (g->owner != NULL && !qdq_graph_in_function(g))
            QDQ_TRY(place_body(g, q, err));
    return QDQ_OK;
}

qdq_status qdq_place_all(const qdq_quantizing *q, qdq_error *err)
{
    qdq_quantizing own = *q;
    qdq_quantize_opts opts = *q->opts;
    qdq_data *random = NULL;

    own.opts = &opts;
    if (opts.bias_correction == QDQ_BIAS_CORRECTION_ON &&
        (q->data == NULL || qdq_data_is_random(q->data))) {
        qdq_job_log(opts.job, QDQ_LOG_WARNING,
                    "biases are not corrected: random input has no means that count");
        opts.bias_correction = QDQ_BIAS_CORRECTION_OFF;
    }
    if (opts.float_channels == QDQ_FLOAT_CHANNELS_ON &&
        (q->data == NULL || qdq_data_is_random(q->data))) {
        qdq_job_log(opts.job, QDQ_LOG_WARNING,
                    "all channels are in 8 bits: random input shows none that stand out");
        opts.float_channels = QDQ_FLOAT_CHANNELS_OFF;
    }
    if (q->data == NULL && q->statistics == NULL && qdq_model_has_bodies(q->m)) {
        QDQ_TRY(qdq_quantize_random(q, &random, err));
        own.data = random;
    }
    qdq_status st = plan_model(&own, 0, err);
    qdq_data_close(random);
    return st;
}
