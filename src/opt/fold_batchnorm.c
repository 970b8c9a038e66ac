/* fold_batchnorm.c - y = BatchNormalization(Conv(x, w, b), scale, shift, mean, var)  =>  y = Conv(x, w', b')
 *
 *     f = scale / sqrt(var + epsilon),  w' = w * f (per output channel),  b' = (b - mean) * f + shift
 *
 * after the definition of BatchNormalization in the ONNX operator specification; computed in double, rounded
 * once. Not when the result of the Conv is read elsewhere, when anything is not a float32 constant (a weight
 * behind Q/DQ is not: that repair is a rule of its own), or when the node trains. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "opt/opt.h"

enum { BN_SCALE = 1, BN_SHIFT, BN_MEAN, BN_VAR, BN_INPUTS };

typedef struct folding {
    qdq_node *conv, *bn;
    const qdq_tensor *w, *b; /* b may be NULL */
    float *weight, *bias, *param[BN_INPUTS];
    int64_t channels;
} folding;

static const qdq_tensor *float_constant(const qdq_node *n, uint32_t i)
{
    const qdq_value *v = qdq_node_in(n, i);
    const qdq_tensor *t = v != NULL ? qdq_value_const(v) : NULL;

    return t != NULL && t->elem == QDQ_FLOAT ? t : NULL;
}

/* The shape of the rule, without looking at data. */
static bool matches(qdq_node *bn, folding *f)
{
    if (bn->op != QDQ_OP_BATCHNORMALIZATION || qdq_node_in(bn, 0) == NULL ||
        qdq_node_int(bn, "training_mode", 0) != 0 || qdq_node_int(bn, "spatial", 1) != 1)
        return false;
    for (uint32_t i = 1; i < bn->n_out; i++)
        if (bn->out[i] != NULL && (bn->out[i]->n_use > 0 || bn->out[i]->n_output > 0))
            return false;
    f->bn = bn;
    f->conv = qdq_node_in(bn, 0)->producer;
    if (f->conv == NULL || f->conv->op != QDQ_OP_CONV || qdq_value_only_user(f->conv->out[0]) != bn)
        return false;
    f->w = float_constant(f->conv, 1);
    f->b = float_constant(f->conv, 2);
    if (f->w == NULL || f->w->rank < 1 || (qdq_node_in(f->conv, 2) != NULL && f->b == NULL))
        return false;
    f->channels = f->w->dim[0];
    if (f->b != NULL && f->b->count != f->channels)
        return false;
    for (uint32_t i = BN_SCALE; i <= BN_VAR; i++)
        if (float_constant(bn, i) == NULL || float_constant(bn, i)->count != f->channels)
            return false;
    return f->channels > 0;
}

static qdq_status read_constants(folding *f, qdq_arena *scratch, qdq_error *err)
{
    QDQ_TRY(qdq_tensor_floats(f->w, scratch, &f->weight, err));
    if (f->b != NULL)
        QDQ_TRY(qdq_tensor_floats(f->b, scratch, &f->bias, err));
    for (uint32_t i = BN_SCALE; i <= BN_VAR; i++)
        QDQ_TRY(qdq_tensor_floats(float_constant(f->bn, i), scratch, &f->param[i], err));
    return QDQ_OK;
}

/* False if a factor or a result is not finite: then the node stays, and says so itself when it runs. */
static bool compute(const folding *f, float *weight, float *bias)
{
    double epsilon = (double)qdq_node_float(f->bn, "epsilon", 1e-5f);
    int64_t inner = f->w->count / f->channels;

    for (int64_t c = 0; c < f->channels; c++) {
        double factor = (double)f->param[BN_SCALE][c] / sqrt((double)f->param[BN_VAR][c] + epsilon);
        double b = f->bias != NULL ? (double)f->bias[c] : 0;

        bias[c] = (float)((b - (double)f->param[BN_MEAN][c]) * factor + (double)f->param[BN_SHIFT][c]);
        if (!isfinite(factor) || !isfinite(bias[c]))
            return false;
        for (int64_t i = 0; i < inner; i++) {
            double w = (double)f->weight[c * inner + i] * factor;

            if (!(fabs(w) <= (double)FLT_MAX))
                return false;
            weight[c * inner + i] = (float)w;
        }
    }
    return true;
}

/* A constant named after the one it replaces. */
static qdq_value *add_folded(qdq_graph *g, const char *base, qdq_tensor *t, qdq_arena *scratch)
{
    const char *name = qdq_arena_printf(scratch, "%s_bn_folded", base);
    const char *unique = name != NULL ? qdq_graph_unique_name(g, name) : NULL;

    return unique != NULL ? qdq_graph_add_init(g, unique, t) : NULL;
}

static qdq_status fold(qdq_opt *o, folding *f, qdq_error *err)
{
    qdq_graph *g = f->conv->graph;
    void *weight, *bias;
    qdq_tensor *w = qdq_tensor_new(g->model, QDQ_FLOAT, f->w->rank, f->w->dim, &weight);
    qdq_tensor *b = qdq_tensor_new(g->model, QDQ_FLOAT, 1, &f->channels, &bias);

    if (w == NULL || b == NULL)
        return qdq_nomem(err);
    QDQ_TRY(read_constants(f, &o->scratch, err));
    if (!compute(f, weight, bias) || !qdq_opt_take(o, f->bn))
        return QDQ_OK;
    qdq_value *w_value = add_folded(g, f->conv->in[1].value->name, w, &o->scratch);
    qdq_value *b_value = add_folded(g, f->bn->in[BN_SHIFT].value->name, b, &o->scratch);
    if (w_value == NULL || b_value == NULL)
        return qdq_nomem(err);
    if (!qdq_value_replace(f->bn->out[0], f->conv->out[0]))
        return QDQ_OK; /* the new constants are unused, and drop-unused takes them */
    qdq_node_set_in(f->conv, 1, w_value);
    if (f->conv->n_in > 2)
        qdq_node_set_in(f->conv, 2, b_value);
    else if (!qdq_node_append_in(f->conv, b_value))
        return qdq_nomem(err);
    qdq_node_remove(f->bn);
    return QDQ_OK;
}

qdq_status qdq_pass_fold_batchnorm(qdq_opt *o, qdq_graph *g, qdq_error *err)
{
    if (g->function != NULL)
        return QDQ_OK;
    QDQ_FOR_NODES (n, g) {
        folding f = {0};

        if (!matches(n, &f))
            continue;
        QDQ_TRY(fold(o, &f, err));
        qdq_arena_reset(&o->scratch, (qdq_arena_mark){NULL, 0});
    }
    return QDQ_OK;
}
