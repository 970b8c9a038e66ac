#include "support/qat_form.h"

#include <math.h>

#include "base/fail.h"
#include "ir/edit.h"
#include "qdq/pass.h"

/* One linear operator with its weight: w -> q -> dq -> linear -> norm (NULL: none). */
typedef struct layer {
    qdq_node *linear, *dq, *q, *norm;
    int64_t channels, inner;
} layer;

static qdq_status floats(const qdq_node *n, uint32_t i, qdq_arena *scratch, float **out,
                         qdq_error *err)
{
    const qdq_tensor *t = qdq_node_in(n, i) != NULL ? qdq_value_const(qdq_node_in(n, i)) : NULL;

    return t != NULL ? qdq_tensor_floats(t, scratch, out, err)
                     : qdq_fail(err, QDQ_E_FORMAT, "input %u is no constant", (unsigned)i);
}

static bool find_layer(qdq_node *linear, layer *l)
{
    const qdq_value *w = qdq_node_in(linear, 1);

    *l = (layer){.linear = linear};
    if ((linear->op != QDQ_OP_CONV && linear->op != QDQ_OP_GEMM) || w == NULL ||
        w->producer == NULL || w->producer->op != QDQ_OP_DEQUANTIZELINEAR)
        return false;
    l->dq = w->producer;
    l->q = qdq_node_in(l->dq, 0)->producer;
    if (l->q == NULL || l->q->op != QDQ_OP_QUANTIZELINEAR ||
        qdq_value_const(qdq_node_in(l->q, 0)) == NULL)
        return false;
    const qdq_tensor *t = qdq_value_const(qdq_node_in(l->q, 0));
    qdq_node *reader = qdq_value_only_user(linear->out[0]);
    l->norm = reader != NULL && reader->op == QDQ_OP_BATCHNORMALIZATION ? reader : NULL;
    l->channels = t->dim[0];
    l->inner = t->count / t->dim[0];
    return true;
}

/* What the normalization makes of channel c: y = factor * x + shift. */
static qdq_status affine(const layer *l, qdq_arena *scratch, double *factor, double *shift,
                         qdq_error *err)
{
    float *scale, *bias, *mean, *var;
    double epsilon = (double)qdq_node_float(l->norm, "epsilon", 1e-5f);

    QDQ_TRY(floats(l->norm, 1, scratch, &scale, err));
    QDQ_TRY(floats(l->norm, 2, scratch, &bias, err));
    QDQ_TRY(floats(l->norm, 3, scratch, &mean, err));
    QDQ_TRY(floats(l->norm, 4, scratch, &var, err));
    for (int64_t c = 0; c < l->channels; c++) {
        factor[c] = (double)scale[c] / sqrt((double)var[c] + epsilon);
        shift[c] = (double)bias[c] - (double)mean[c] * factor[c];
        if (!(factor[c] > 0))
            return qdq_fail(err, QDQ_E_UNSUPPORTED, "a factor is not above 0");
    }
    return QDQ_OK;
}

/* The integers of the training, by its own scales. */
static qdq_status store_weight(const layer *l, qdq_arena *scratch, qdq_error *err)
{
    qdq_graph *g = l->linear->graph;
    const qdq_tensor *t = qdq_value_const(qdq_node_in(l->q, 0));
    float *w, *scale;
    void *data;
    qdq_tensor *made = qdq_tensor_new(g->model, QDQ_INT8, t->rank, t->dim, &data);

    if (made == NULL)
        return qdq_nomem(err);
    QDQ_TRY(floats(l->q, 0, scratch, &w, err));
    QDQ_TRY(floats(l->q, 1, scratch, &scale, err));
    for (int64_t i = 0; i < t->count; i++) {
        float code = rintf(w[i] / scale[i / l->inner]);

        ((int8_t *)data)[i] = (int8_t)(code < -128 ? -128 : code > 127 ? 127 : code);
    }
    const char *name = qdq_graph_unique_name(g, "weight_int8");
    qdq_value *v = name != NULL ? qdq_graph_add_init(g, name, made) : NULL;
    if (v == NULL)
        return qdq_nomem(err);
    qdq_node_set_in(l->dq, 0, v);
    qdq_node_remove(l->q);
    return QDQ_OK;
}

static qdq_value *add_floats(qdq_graph *g, const char *base, int64_t n, const float *data)
{
    const char *name = qdq_graph_unique_name(g, base);
    qdq_tensor *t = qdq_tensor_of_floats(g->model, 1, &n, data);

    return name != NULL && t != NULL ? qdq_graph_add_init(g, name, t) : NULL;
}

static qdq_status fold(const layer *l, qdq_arena *scratch, qdq_error *err)
{
    qdq_graph *g = l->linear->graph;
    double *factor = qdq_arena_array(scratch, (size_t)l->channels, sizeof *factor);
    double *shift = qdq_arena_array(scratch, (size_t)l->channels, sizeof *shift);
    float *scale = qdq_arena_array(scratch, (size_t)l->channels, sizeof *scale);
    float *bias = qdq_arena_array(scratch, (size_t)l->channels, sizeof *bias);
    float *trained;

    if (factor == NULL || shift == NULL || scale == NULL || bias == NULL)
        return qdq_nomem(err);
    QDQ_TRY(affine(l, scratch, factor, shift, err));
    QDQ_TRY(floats(l->dq, 1, scratch, &trained, err));
    for (int64_t c = 0; c < l->channels; c++) {
        scale[c] = (float)((double)trained[c] * factor[c]);
        bias[c] = (float)shift[c];
    }
    qdq_value *s = add_floats(g, "weight_scale", l->channels, scale);
    qdq_value *b = add_floats(g, "bias", l->channels, bias);
    if (s == NULL || b == NULL || l->linear->n_in != 2 || !qdq_node_append_in(l->linear, b))
        return qdq_nomem(err);
    qdq_node_set_in(l->dq, 1, s);
    if (!qdq_value_replace(l->norm->out[0], l->linear->out[0]))
        return qdq_fail(err, QDQ_E_UNSUPPORTED,
                        "the result of the normalization is a graph output");
    qdq_node_remove(l->norm);
    return QDQ_OK;
}

qdq_status test_fold_qat(qdq_model *m, qdq_error *err)
{
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_status st = qdq_model_run_passes(m, "lift-constants,fold-constants", err);
    layer l;

    QDQ_FOR_NODES (n, m->graph) {
        if (st != QDQ_OK || !find_layer(n, &l))
            continue;
        st = store_weight(&l, &scratch, err);
        if (st == QDQ_OK && l.norm != NULL)
            st = fold(&l, &scratch, err);
    }
    qdq_arena_free(&scratch);
    return st == QDQ_OK ? qdq_model_run_passes(m, "drop-unused", err) : st;
}
