/* bias_fit.c - finds biases that int32 cannot hold. The scale of a bias is that of activation
 * times weight; where both are there and only the activation's was calibrated now, no one has
 * looked yet whether the bias fits. */
#include "quant/weights/bias_fit.h"

#include <float.h>

#include "base/fail.h"
#include "base/map.h"
#include "quant/weights/weights.h"
#include "target/existing_qdq.h"

/* A plan with scales, and what of it is looked up. */
typedef struct fitting {
    const qdq_model *m;
    qdq_plan *plan;
    /* name -> index; of several entries the one that leaves least room */
    qdq_map tensors;
    /* of those with one scale: name -> 1 + index */
    qdq_map weights;
    qdq_arena scratch;
    qdq_error *err;
} fitting;

static const qdq_node *dq_behind(const qdq_model *m, const char *tensor)
{
    const qdq_value *v = qdq_graph_find(m->graph, tensor);

    return v != NULL && v->producer != NULL && v->producer->op == QDQ_OP_DEQUANTIZELINEAR
               ? v->producer
               : NULL;
}

static qdq_status activation_scale(fitting *f, const qdq_plan_bias *b, float *out)
{
    const qdq_map_value *known = qdq_map_get(&f->tensors, b->activation);
    const qdq_node *dq = dq_behind(f->m, b->activation);
    qdq_found found = {0};
    qdq_qparam param;

    if (known == NULL && dq != NULL)
        QDQ_TRY(qdq_found_read(dq, &f->scratch, &found, f->err));
    *out = known != NULL                      ? f->plan->tensors.at[known->num].qparam.scale
           : qdq_found_qparam(&found, &param) ? param.scale
                                              : 0;
    return QDQ_OK;
}

static qdq_status fits(fitting *f, const qdq_plan_bias *b, float activation, bool *out)
{
    const qdq_tensor *t = qdq_value_const(qdq_graph_find(f->m->graph, b->tensor));
    const float *bias;
    qdq_found found;

    QDQ_TRY(qdq_found_read(dq_behind(f->m, b->weight), &f->scratch, &found, f->err));
    QDQ_TRY(qdq_weight_floats(t, &f->scratch, &bias, f->err));
    *out = found.params.count == 1 || t->count == found.params.count;
    for (int64_t i = 0; i < t->count && *out; i++) {
        float scale = activation * found.params.scale[found.params.count > 1 ? i : 0];

        *out = scale >= FLT_MIN && (double)scale >= qdq_bias_scale_min(bias[i]);
    }
    return QDQ_OK;
}

static qdq_status drop_biases(fitting *f, const qdq_job *job)
{
    qdq_plan *plan = f->plan;
    size_t n = 0;

    for (size_t i = 0; i < plan->biases.n; i++) {
        const qdq_plan_bias *b = &plan->biases.at[i];
        bool fit = true;
        float scale;

        if (dq_behind(f->m, b->weight) != NULL) {
            QDQ_TRY(activation_scale(f, b, &scale));
            QDQ_TRY(fits(f, b, scale, &fit));
        }
        if (fit)
            plan->biases.at[n++] = *b;
        else
            qdq_job_log(job, QDQ_LOG_WARNING,
                        "bias '%s': int32 overflows with the scales of the model; it stays float",
                        b->tensor);
    }
    plan->biases.n = n;
    return QDQ_OK;
}

static qdq_status map_tensors(fitting *f)
{
    const qdq_plan *plan = f->plan;

    for (size_t i = 0; i < plan->tensors.n; i++) {
        bool is_new;
        qdq_map_value *v = qdq_map_put(&f->tensors, plan->tensors.at[i].tensor, &is_new);

        QDQ_NEED(v != NULL, f->err);
        if (is_new || plan->tensors.at[i].qparam.scale < plan->tensors.at[v->num].qparam.scale)
            v->num = i;
    }
    return QDQ_OK;
}

static void fitting_free(fitting *f)
{
    qdq_map_free(&f->tensors);
    qdq_map_free(&f->weights);
    qdq_arena_free(&f->scratch);
}

qdq_status qdq_drop_overflowing_biases(const qdq_model *m, const qdq_job *job, qdq_plan *plan,
                                       qdq_error *err)
{
    fitting f = {.m = m, .plan = plan, .err = err};
    qdq_status st = map_tensors(&f);

    if (st == QDQ_OK)
        st = drop_biases(&f, job);
    fitting_free(&f);
    return st;
}

/* --- one scale for all channels --------------------------------------------------------------- */

static qdq_status map_weights(fitting *f)
{
    for (size_t i = 0; i < f->plan->weights.n; i++) {
        const qdq_plan_weight *w = &f->plan->weights.at[i];

        if (w->axis >= 0 || w->block != 0 || w->scales != NULL)
            continue;
        QDQ_NEED(qdq_map_set_num(&f->weights, w->tensor, i + 1), f->err);
    }
    return QDQ_OK;
}

static qdq_status one_scale(fitting *f, const qdq_tensor *t, const qdq_plan_weight *w, float *out)
{
    const qdq_qscheme scheme = qdq_plan_scheme(w);
    const float *floats;
    qdq_scale_grid grid;
    float low, high;
    int32_t zero;

    QDQ_TRY(qdq_weight_grid(t, -1, 0, &grid, f->err));
    QDQ_TRY(qdq_weight_floats(t, &f->scratch, &floats, f->err));
    QDQ_TRY(qdq_weight_ranges(floats, &grid, NULL, &low, &high, f->err));
    return qdq_weight_scales(&scheme, &low, &high, NULL, 1, out, &zero, f->err);
}

static qdq_status has_room(fitting *f, const qdq_plan_bias *b, const qdq_plan_weight *w, bool *out)
{
    const qdq_value *bias = qdq_graph_find(f->m->graph, b->tensor),
                    *v = qdq_graph_find(f->m->graph, b->weight);
    const qdq_tensor *t = qdq_value_const(bias), *weight = qdq_value_const(v);
    const float *floats;
    float activation, scale = 0;

    *out = true;
    if (t == NULL || weight == NULL)
        return QDQ_OK;
    QDQ_TRY(activation_scale(f, b, &activation));
    QDQ_TRY(one_scale(f, weight, w, &scale));
    QDQ_TRY(qdq_weight_floats(t, &f->scratch, &floats, f->err));
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

static qdq_status find_overflows(fitting *f, qdq_map *nodes, qdq_calib_names *labels)
{
    qdq_plan *plan = f->plan;

    for (size_t i = 0; i < plan->biases.n; i++) {
        const qdq_plan_bias *b = &plan->biases.at[i];
        const qdq_map_value *w = qdq_map_get(&f->weights, b->weight);
        qdq_arena_mark mark = qdq_arena_get_mark(&f->scratch);
        bool ok = true;

        if (w != NULL)
            QDQ_TRY(has_room(f, b, &plan->weights.at[w->num - 1], &ok));
        qdq_arena_reset(&f->scratch, mark);
        if (ok)
            continue;
        if (nodes->n_live == 0 && !qdq_graph_map_labels(f->m->graph, &plan->arena, nodes))
            return qdq_nomem(f->err);
        const char *label = label_of(nodes, b, &plan->arena);
        QDQ_NEED(label != NULL && QDQ_PUSH(&plan->arena, labels, label), f->err);
    }
    return QDQ_OK;
}

qdq_status qdq_find_overflowing_biases(const qdq_model *m, qdq_plan *plan, qdq_calib_names *labels,
                                       qdq_error *err)
{
    fitting f = {.m = m, .plan = plan, .err = err};
    qdq_map nodes = QDQ_MAP_INIT;
    qdq_status st = map_weights(&f);

    if (st == QDQ_OK && f.weights.n_live > 0) {
        st = map_tensors(&f);
        if (st == QDQ_OK)
            st = find_overflows(&f, &nodes, labels);
    }
    qdq_map_free(&nodes);
    fitting_free(&f);
    return st;
}
