/* bias_fit.c - see the header. The scale of a bias is that of activation times weight; where both are there and only
 * the activation's was calibrated now, nobody has looked yet whether the bias fits. */
#include "quant/weights/bias_fit.h"

#include <float.h>

#include "base/fail.h"
#include "base/map.h"
#include "quant/found.h"
#include "quant/weights/weights.h"

static const qdq_node *dq_behind(const qdq_model *m, const char *tensor)
{
    const qdq_value *v = qdq_graph_find(m->graph, tensor);

    return v != NULL && v->producer != NULL && v->producer->op == QDQ_OP_DEQUANTIZELINEAR ? v->producer
                                                                                          : NULL;
}

static qdq_status activation_scale(const qdq_model *m, const qdq_plan *plan, const qdq_map *tensors,
                                   const qdq_plan_bias *b, qdq_arena *scratch, float *out, qdq_error *err)
{
    const qdq_map_value *known = qdq_map_get(tensors, b->activation);
    const qdq_node *dq = dq_behind(m, b->activation);
    qdq_found found = {0};
    qdq_qparam param;

    if (known == NULL && dq != NULL)
        QDQ_TRY(qdq_found_read(dq, scratch, &found, err));
    *out = known != NULL                      ? plan->tensors.at[known->num].qparam.scale
           : qdq_found_qparam(&found, &param) ? param.scale
                                              : 0;
    return QDQ_OK;
}

static qdq_status fits(const qdq_model *m, const qdq_plan_bias *b, float activation, qdq_arena *scratch,
                       bool *out, qdq_error *err)
{
    const qdq_tensor *t = qdq_value_const(qdq_graph_find(m->graph, b->tensor));
    const float *bias;
    qdq_found found;

    QDQ_TRY(qdq_found_read(dq_behind(m, b->weight), scratch, &found, err));
    QDQ_TRY(qdq_weight_floats(t, scratch, &bias, err));
    *out = found.params.count == 1 || t->count == found.params.count;
    for (int64_t i = 0; i < t->count && *out; i++) {
        float scale = activation * found.params.scale[found.params.count > 1 ? i : 0];

        *out = scale >= FLT_MIN && (double)scale >= qdq_bias_scale_min(bias[i]);
    }
    return QDQ_OK;
}

static qdq_status drop(const qdq_model *m, const qdq_job *job, const qdq_map *tensors, qdq_arena *scratch,
                       qdq_plan *plan, qdq_error *err)
{
    size_t n = 0;

    for (size_t i = 0; i < plan->biases.n; i++) {
        const qdq_plan_bias *b = &plan->biases.at[i];
        bool fit = true;
        float scale;

        if (dq_behind(m, b->weight) != NULL) {
            QDQ_TRY(activation_scale(m, plan, tensors, b, scratch, &scale, err));
            QDQ_TRY(fits(m, b, scale, scratch, &fit, err));
        }
        if (fit)
            plan->biases.at[n++] = *b;
        else
            qdq_job_log(job, QDQ_LOG_WARNING,
                        "bias '%s' stays float: int32 cannot hold it beside the scales that the model has",
                        b->tensor);
    }
    plan->biases.n = n;
    return QDQ_OK;
}

qdq_status qdq_drop_misfit_biases(const qdq_model *m, const qdq_job *job, qdq_plan *plan, qdq_error *err)
{
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_map tensors = {0};
    qdq_status st = QDQ_OK;

    for (size_t i = 0; i < plan->tensors.n && st == QDQ_OK; i++) {
        bool is_new;
        qdq_map_value *v = qdq_map_put(&tensors, plan->tensors.at[i].tensor, &is_new);

        if (v == NULL)
            st = qdq_nomem(err);
        else if (is_new || plan->tensors.at[i].qparam.scale < plan->tensors.at[v->num].qparam.scale)
            v->num = i; /* of several entries, the one that leaves least room */
    }
    if (st == QDQ_OK)
        st = drop(m, job, &tensors, &scratch, plan, err);
    qdq_map_free(&tensors);
    qdq_arena_free(&scratch);
    return st;
}
