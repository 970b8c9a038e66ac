/* bias_fit.c - see the header. The scale of a bias is that of activation times weight; where both
 * are there and only the activation's was calibrated now, nobody has looked yet whether the bias
 * fits. */
#include "quant/weights/bias_fit.h"

#include <float.h>

#include "base/fail.h"
#include "base/map.h"
#include "target/existing_qdq.h"
#include "quant/weights/weights.h"

static const qdq_node *dq_behind(const qdq_model *m, const char *tensor)
{
    const qdq_value *v = qdq_graph_find(m->graph, tensor);

    return v != NULL && v->producer != NULL && v->producer->op == QDQ_OP_DEQUANTIZELINEAR
               ? v->producer
               : NULL;
}

static qdq_status activation_scale(const qdq_model *m, const qdq_plan *plan, const qdq_map *tensors,
                                   const qdq_plan_bias *b, qdq_arena *scratch, float *out,
                                   qdq_error *err)
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

static qdq_status fits(const qdq_model *m, const qdq_plan_bias *b, float activation,
                       qdq_arena *scratch, bool *out, qdq_error *err)
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

static qdq_status drop(const qdq_model *m, const qdq_job *job, const qdq_map *tensors,
                       qdq_arena *scratch, qdq_plan *plan, qdq_error *err)
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
            qdq_job_log(
                job, QDQ_LOG_WARNING,
                "bias '%s' stays float: int32 cannot hold it beside the scales that the model has",
                b->tensor);
    }
    plan->biases.n = n;
    return QDQ_OK;
}

/* Of several entries for a tensor, the one that leaves least room. */
static qdq_status map_tensors(const qdq_plan *plan, qdq_map *tensors, qdq_error *err)
{
    for (size_t i = 0; i < plan->tensors.n; i++) {
        bool is_new;
        qdq_map_value *v = qdq_map_put(tensors, plan->tensors.at[i].tensor, &is_new);

        if (v == NULL)
            return qdq_nomem(err);
        if (is_new || plan->tensors.at[i].qparam.scale < plan->tensors.at[v->num].qparam.scale)
            v->num = i;
    }
    return QDQ_OK;
}

qdq_status qdq_drop_misfit_biases(const qdq_model *m, const qdq_job *job, qdq_plan *plan,
                                  qdq_error *err)
{
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_map tensors = {0};
    qdq_status st = map_tensors(plan, &tensors, err);

    if (st == QDQ_OK)
        st = drop(m, job, &tensors, &scratch, plan, err);
    qdq_map_free(&tensors);
    qdq_arena_free(&scratch);
    return st;
}

/* --- one scale for all channels --------------------------------------------------------------- */

/* Weights of the plan with one scale: name -> 1 + index. */
static qdq_status map_weights(const qdq_plan *plan, qdq_map *weights, qdq_error *err)
{
    for (size_t i = 0; i < plan->weights.n; i++) {
        const qdq_plan_weight *w = &plan->weights.at[i];
        qdq_map_value *v;

        if (w->axis >= 0 || w->block != 0 || w->scales != NULL)
            continue;
        v = qdq_map_put(weights, w->tensor, NULL);
        if (v == NULL)
            return qdq_nomem(err);
        v->num = i + 1;
    }
    return QDQ_OK;
}

static qdq_status one_scale(const qdq_tensor *t, const qdq_plan_weight *w, qdq_arena *scratch,
                            float *out, qdq_error *err)
{
    const qdq_qscheme scheme = qdq_plan_scheme(w);
    const float *floats;
    qdq_scale_grid grid;
    float low, high;
    int32_t zero;

    QDQ_TRY(qdq_weight_grid(t, -1, 0, &grid, err));
    QDQ_TRY(qdq_weight_floats(t, scratch, &floats, err));
    QDQ_TRY(qdq_weight_ranges(floats, &grid, &low, &high, err));
    return qdq_weight_scales(&scheme, &low, &high, NULL, 1, out, &zero, err);
}

static qdq_status has_room(const qdq_model *m, const qdq_plan *plan, const qdq_plan_bias *b,
                           const qdq_plan_weight *w, const qdq_map *tensors, qdq_arena *scratch,
                           bool *out, qdq_error *err)
{
    const qdq_value *bias = qdq_graph_find(m->graph, b->tensor),
                    *v = qdq_graph_find(m->graph, b->weight);
    const qdq_tensor *t = bias != NULL ? qdq_value_const(bias) : NULL,
                     *weight = v != NULL ? qdq_value_const(v) : NULL;
    const float *floats;
    float activation, scale = 0;

    *out = true;
    if (t == NULL || weight == NULL)
        return QDQ_OK;
    QDQ_TRY(activation_scale(m, plan, tensors, b, scratch, &activation, err));
    QDQ_TRY(one_scale(weight, w, scratch, &scale, err));
    QDQ_TRY(qdq_weight_floats(t, scratch, &floats, err));
    for (int64_t i = 0; i < t->count && *out; i++)
        *out = !((double)activation * (double)scale < qdq_bias_scale_min(floats[i]));
    return QDQ_OK;
}

/* The label of the linear operator behind whose DQ of a weight the bias is added. */
static const char *label_of(const qdq_map *nodes, const qdq_plan_bias *b, qdq_arena *arena)
{
    const qdq_map_value *at = qdq_map_get(nodes, b->consumer.node);
    const qdq_node *linear = at != NULL ? qdq_bias_linear(at->ptr, b->consumer.input) : NULL;

    return linear != NULL ? qdq_node_label(linear, arena)
                          : qdq_arena_strdup(arena, b->consumer.node);
}

static qdq_status find_misfits(const qdq_model *m, qdq_plan *plan, const qdq_map *tensors,
                               const qdq_map *weights, qdq_map *nodes, qdq_arena *scratch,
                               qdq_calib_names *labels, qdq_error *err)
{
    for (size_t i = 0; i < plan->biases.n; i++) {
        const qdq_plan_bias *b = &plan->biases.at[i];
        const qdq_map_value *w = qdq_map_get(weights, b->weight);
        qdq_arena_mark mark = qdq_arena_get_mark(scratch);
        bool ok = true;

        if (w != NULL)
            QDQ_TRY(
                has_room(m, plan, b, &plan->weights.at[w->num - 1], tensors, scratch, &ok, err));
        qdq_arena_reset(scratch, mark);
        if (ok)
            continue;
        if (nodes->n_live == 0 && !qdq_graph_map_labels(m->graph, &plan->arena, nodes))
            return qdq_nomem(err);
        const char *label = label_of(nodes, b, &plan->arena);
        if (label == NULL || !QDQ_PUSH(&plan->arena, labels, label))
            return qdq_nomem(err);
    }
    return QDQ_OK;
}

qdq_status qdq_find_misfit_biases(const qdq_model *m, qdq_plan *plan, qdq_calib_names *labels,
                                  qdq_error *err)
{
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_map tensors = QDQ_MAP_INIT, weights = QDQ_MAP_INIT, nodes = QDQ_MAP_INIT;
    qdq_status st = map_weights(plan, &weights, err);

    if (st == QDQ_OK && weights.n_live > 0) {
        st = map_tensors(plan, &tensors, err);
        if (st == QDQ_OK)
            st = find_misfits(m, plan, &tensors, &weights, &nodes, &scratch, labels, err);
    }
    qdq_map_free(&nodes);
    qdq_map_free(&weights);
    qdq_map_free(&tensors);
    qdq_arena_free(&scratch);
    return st;
}
