/* quantize_bias.c - the bias of Conv, ConvTranspose, Gemm, or of a MatMul and Add, between DQ(data)
 * and DQ(weight):
 *
 *     y = Conv(DQ(x), DQ(w), b)
 *  => y = Conv(DQ(x), DQ(w), DQ(int32 codes, scale of x times scale of w))
 *
 * Integer kernels accumulate in that scale and add the bias as codes; engines take a node with a
 * float bias for a float one (measured for ONNX Runtime: tests/numeric/ort_traps.c).
 * BatchNormalization that is folded leaves such a bias behind, and so do exporters that fold it
 * themselves. A bias is quantized whether or not the result is quantized again: where it is not,
 * the node runs in float either way and its bias is the same number within half a step; where it is
 * not yet, placement may complete it, and could not if the bias were float.
 *
 * A bias that is codes already is verified, and repaired if its scale is another one.
 *
 * Arguments: int32   the above (default)
 *            float   the opposite, for engines that add a float bias and refuse int32 behind DQ
 *                    (TensorRT)
 *            symmetric, saturate, skip, zero-bias   see quantize_bias.h */
#include "opt/qdq/quantize_bias.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/fail.h"
#include "target/qparam.h"

enum { MAX_STEPS = 64 };

typedef struct quantizing {
    qdq_opt *o;
    unsigned policy;
    qdq_linear l;
    /* behind a MatMul; or NULL */
    qdq_node *add;
    /* NULL: none */
    qdq_value *b;
    qdq_bias old;
    qdq_params x;
    /* of Gemm */
    double alpha;
    /* its codes are of a kind whose kernels do */
    bool adds_floats;
    qdq_bias_codes c;
    qdq_weight_change w;
} quantizing;

/* --- what stands around ----------------------------------------------------------------------- */

/* The DQ that data comes from; operators between that only move elements leave it on its grid. */
static const qdq_node *dq_of_data(const qdq_value *v)
{
    for (int step = 0; v != NULL && v->producer != NULL && step < MAX_STEPS; step++) {
        if (v->producer->op == QDQ_OP_DEQUANTIZELINEAR)
            return v->producer;
        if (!QDQ_OP_IS_IN(v->producer->op, QDQ_OP_IDENTITY, QDQ_OP_RESHAPE, QDQ_OP_FLATTEN,
                          QDQ_OP_SQUEEZE, QDQ_OP_UNSQUEEZE, QDQ_OP_TRANSPOSE))
            return NULL;
        v = qdq_node_in(v->producer, 0);
    }
    return NULL;
}

/* The bias, and for MatMul the Add that brings it. False: there is none, and none is wanted. */
static bool find_bias(quantizing *q)
{
    qdq_node *n = q->l.node;

    if (n->op != QDQ_OP_MATMUL) {
        q->b = qdq_node_in(n, 2);
        return q->b != NULL || (q->policy & QDQ_BIAS_ZERO) != 0;
    }
    q->add = qdq_value_only_user(n->out[0]);
    if (q->add == NULL || q->add->op != QDQ_OP_ADD || q->add->n_in != 2 ||
        qdq_node_out(q->add, 0) == NULL)
        return false;
    q->b = q->add->in[1 - n->out[0]->first->index].value;
    return q->b != NULL;
}

static bool takes_floats(const qdq_params *p)
{
    return p->scale_elem == QDQ_FLOAT;
}

/* Kernels on floats of 8 bits, and on blocks, add floats. */
static const char *speaks_against_codes(const quantizing *q)
{
    int32_t low, high;

    if (!qdq_elem_code_limits(q->x.codes, &low, &high) || qdq_elem_bits(q->x.codes) < 8 ||
        !qdq_elem_code_limits(q->l.params.codes, &low, &high))
        return "its data or weight has codes that are no integers of up to 16 bits";
    return q->l.params.block != 0 ? "the scales of its weight are blocked" : NULL;
}

static const char *speaks_against_scales(const quantizing *q)
{
    const qdq_params *x = &q->x, *w = &q->l.params;

    if (x->count != 1 || !x->positive)
        return "its data has not one scale above 0";
    if (!takes_floats(x) || !takes_floats(w))
        return "the scales of its data and weight are not of type float";
    if (w->count != 1 && w->axis != q->l.axis)
        return "its weight has scales per input channel";
    if (!(q->alpha > 0) || !isfinite(q->alpha))
        return "its alpha is not above 0";
    int64_t needs = w->count > 1 ? 13 : 10;
    return qdq_graph_opset(q->l.node->graph) >= needs
               ? NULL
               : "DequantizeLinear with these scales needs opset 13";
}

/* MatMul becomes Gemm, which knows matrices only. */
static qdq_status speaks_against_matmul(quantizing *q, const char **why, qdq_error *err)
{
    const qdq_facts *facts;

    if (q->add == NULL)
        return QDQ_OK;
    QDQ_TRY(qdq_opt_facts(q->o, &facts, err));
    const qdq_type *type = qdq_facts_type(facts, q->l.node->in[0].value);
    if (type == NULL || type->kind != QDQ_TYPE_TENSOR || type->rank != 2)
        *why = "its data is not known to be a matrix";
    return QDQ_OK;
}

/* *is false: no candidate. */
static qdq_status read_node(quantizing *q, qdq_node *n, bool *is, const char **why, qdq_error *err)
{
    const qdq_node *dq = dq_of_data(qdq_node_in(n, 0));

    *is = false;
    *why = NULL;
    if (dq == NULL)
        return QDQ_OK;
    QDQ_TRY(qdq_linear_read(q->o, n, &q->l, is, why, err));
    *is = *is && q->l.dq != NULL && find_bias(q);
    if (!*is || *why != NULL)
        return QDQ_OK;
    q->alpha = n->op == QDQ_OP_GEMM ? (double)qdq_node_float(n, "alpha", 1) : 1;
    QDQ_TRY(qdq_params_read(dq, NULL, &q->o->scratch, &q->x, why, err));
    if (*why == NULL) {
        *why = speaks_against_codes(q);
        q->adds_floats = *why != NULL;
    }
    if (*why == NULL)
        *why = speaks_against_scales(q);
    if (*why == NULL)
        QDQ_TRY(speaks_against_matmul(q, why, err));
    return *why == NULL ? qdq_bias_read(q->o, &q->l, q->b, &q->old, why, err) : QDQ_OK;
}

/* Codes with the right scale already? */
static bool is_right(const quantizing *q)
{
    const qdq_params *b = &q->old.params, *w = &q->l.params;

    if (q->old.dq == NULL || q->old.codes->elem != QDQ_INT32 || q->alpha != 1 ||
        (q->l.node->op == QDQ_OP_GEMM && qdq_node_float(q->l.node, "beta", 1) != 1.0F) ||
        (b->count > 1 && b->axis != q->old.codes->rank - 1))
        return false;
    for (int64_t i = 0; i < q->l.channels; i++) {
        double right = (double)q->x.scale[0] * (double)w->scale[i % w->count];

        if (qdq_params_zero(b, i % b->count) != 0 ||
            !qdq_bias_scale_is(b->scale[i % b->count], right) || !(right >= (double)FLT_MIN))
            return false;
    }
    return true;
}

/* --- numbers ---------------------------------------------------------------------------------- */

static double reach(const qdq_params *p)
{
    int32_t low = 0, high = 0, zero = qdq_params_zero(p, 0);

    qdq_elem_code_limits(p->codes, &low, &high);
    return fmax((double)high - zero, (double)zero - low);
}

/* Adds up |code - zero| of the weights of each output channel. */
static void sum_codes(const quantizing *q, const void *codes, double *sum)
{
    const qdq_params *p = &q->l.params;
    qdq_channels c;

    (void)qdq_channels_of(q->l.weight, q->l.axis, &c, NULL);
    for (size_t row = 0; row < c.outer * c.channels; row++) {
        size_t k = row % c.channels;
        int32_t zero = qdq_params_zero(p, p->count > 1 ? (int64_t)k : 0);
        int64_t total = 0;

        for (size_t i = row * c.inner; i < (row + 1) * c.inner; i++)
            total += imaxabs(qdq_elem_int(p->codes, codes, (int64_t)i) - zero);
        sum[qdq_linear_channel(&q->l, &c, row / c.channels, k)] += (double)total;
    }
}

/* What is left of int32 for each bias. Weights are looked at only where a bound on them does not
 * settle it. With 16-bit codes kernels accumulate in 64 bits. */
static qdq_status find_room(quantizing *q, double *room, const char **why, qdq_error *err)
{
    bool wide = qdq_elem_bits(q->x.codes) > 8 || qdq_elem_bits(q->l.params.codes) > 8;
    int64_t products = q->l.weight->count / q->l.channels; /* for one result */
    double most = wide ? 0 : reach(&q->x) * 255 * (double)products;
    const void *codes = NULL;
    bool settled = true;

    for (int64_t c = 0; c < q->l.channels; c++) {
        double scale = (double)q->x.scale[0] * q->c.weight[c % q->c.n_scale];

        room[c] = qdq_bias_room(most);
        settled &= fabs(q->c.bias[c]) <= room[c] * scale;
    }
    if (settled || wide)
        return QDQ_OK;
    QDQ_TRY(qdq_weight_codes_of(q->o, &q->l, &codes, why, err));
    if (*why != NULL)
        return QDQ_OK;
    for (int64_t c = 0; c < q->l.channels; c++)
        room[c] = 0;
    sum_codes(q, codes, room);
    for (int64_t c = 0; c < q->l.channels; c++)
        room[c] = qdq_bias_room(room[c] * reach(&q->x));
    return QDQ_OK;
}

/* Gemm's alpha goes into the weight's scales: what they will be, before any is raised. */
static qdq_status encode(quantizing *q, const char **why, qdq_error *err)
{
    const qdq_params *w = &q->l.params;
    size_t n = (size_t)w->count, channels = (size_t)q->l.channels;
    double *weight = qdq_arena_array(&q->o->scratch, n, sizeof *weight);
    double *room = qdq_arena_array(&q->o->scratch, channels, sizeof *room);

    q->c = (qdq_bias_codes){.x_scale = (double)q->x.scale[0],
                            .channels = q->l.channels,
                            .n_scale = w->count,
                            .bias = q->old.value,
                            .weight = weight,
                            .max_code = room,
                            .policy = q->policy,
                            .least = qdq_arena_array(&q->o->scratch, n, sizeof(double)),
                            .scale = qdq_arena_array(&q->o->scratch, n, sizeof(float)),
                            .code = qdq_arena_array(&q->o->scratch, channels, sizeof(int32_t))};
    QDQ_NEED(weight != NULL && room != NULL && q->c.least != NULL && q->c.scale != NULL &&
                 q->c.code != NULL,
             err);
    for (size_t i = 0; i < n; i++)
        weight[i] = (double)(float)((double)w->scale[i] * q->alpha);
    QDQ_TRY(find_room(q, room, why, err));
    if (*why == NULL)
        *why = qdq_bias_encode(&q->c);
    if (*why != NULL || (!q->c.raises && q->alpha == 1))
        return QDQ_OK;
    return qdq_weight_raise(q->o, &q->l, q->alpha, q->c.least, &q->w, why, err);
}

/* --- edits ------------------------------------------------------------------------------------ */

/* "b" for "b_quantized", which is what stands behind DQ. */
static const char *base_name(const quantizing *q)
{
    static const char suffix[] = "_quantized";
    const char *name = q->old.dq != NULL ? q->old.dq->in[0].value->name
                       : q->b != NULL
                           ? q->b->name
                           : qdq_arena_printf(&q->o->scratch, "%s_bias", q->l.node->out[0]->name);
    size_t n = name != NULL ? strlen(name) : 0, cut = sizeof suffix - 1;

    return n > cut && strcmp(name + n - cut, suffix) == 0
               ? qdq_arena_strndup(&q->o->scratch, name, n - cut)
               : name;
}

/* DQ before the node. Its zero point is written out: fusions of engines look for three inputs. */
static qdq_value *add_dq(const quantizing *q)
{
    int rank = q->c.n_scale > 1 ? 1 : 0; /* one scale of the weight is one of the bias */
    const char *base = base_name(q);
    qdq_model *m = q->o->model;
    qdq_graph *g = q->l.node->graph;
    float *all = qdq_arena_array(&q->o->scratch, (size_t)q->l.channels, sizeof *all);
    void *codes, *zeros;
    const int64_t *dim = &q->l.channels;
    qdq_tensor *t = qdq_tensor_new(m, QDQ_INT32, 1, dim, &codes),
               *z = qdq_tensor_new(m, QDQ_INT32, rank, dim, &zeros);

    if (base == NULL || all == NULL || t == NULL || z == NULL)
        return NULL;
    memcpy(codes, q->c.code, (size_t)q->l.channels * sizeof *q->c.code);
    for (int64_t c = 0; c < q->l.channels; c++)
        /* groups of ConvTranspose share those of the weight */
        all[c] = q->c.scale[c % q->c.n_scale];
    qdq_value *in[3] = {
        qdq_opt_constant(q->o, q->l.node, base, "_quantized", t),
        qdq_opt_constant(q->o, q->l.node, base, "_scale", qdq_tensor_of_floats(m, rank, dim, all)),
        qdq_opt_constant(q->o, q->l.node, base, "_zero_point", z)};
    const char *label = qdq_arena_printf(&q->o->scratch, "%s_DequantizeLinear", base);
    const char *name = qdq_arena_printf(&q->o->scratch, "%s_DequantizeLinear_Output", base);
    if (in[0] == NULL || in[1] == NULL || in[2] == NULL || label == NULL || name == NULL)
        return NULL;
    qdq_node *dq = qdq_graph_add_op(g, q->l.node, "DequantizeLinear", label, name, 3, in);
    if (dq == NULL || (rank > 0 && !qdq_node_set_int(dq, "axis", 0)))
        return NULL;
    qdq_value_set_type(dq->out[0], qdq_type_fixed(m, QDQ_FLOAT, 1, dim));
    return dq->out[0];
}

static void report(const quantizing *q)
{
    const char *label = qdq_node_label(q->l.node, &q->o->scratch);
    const qdq_job *job = q->o->opts->job;

    if (q->c.raises)
        qdq_job_log(job, QDQ_LOG_WARNING,
                    "'%s': scales of the weight were raised for the bias: weights changed by at "
                    "most %.3g, %.3g rms",
                    label, q->w.max_error, q->w.rms_error);
    if (q->c.saturated > 0)
        qdq_job_log(job, QDQ_LOG_WARNING,
                    "'%s': %lld numbers of the bias were clipped, by at most %.3g", label,
                    (long long)q->c.saturated, q->c.largest_error);
}

static qdq_status apply_codes(quantizing *q, qdq_error *err)
{
    qdq_node *n = q->l.node;

    if (q->c.raises || q->alpha != 1)
        QDQ_TRY(qdq_weight_apply(q->o, &q->l, &q->w, err));
    if (q->alpha != 1 && !qdq_node_set_float(n, "alpha", 1))
        return qdq_nomem(err);
    qdq_value *b = add_dq(q);
    if (b == NULL || (q->add != NULL && !qdq_node_set_type(n, "", "Gemm")))
        return qdq_nomem(err);
    QDQ_TRY(qdq_bias_set(&q->l, b, err));
    if (q->add != NULL) {
        QDQ_NEED(qdq_opt_alias(q->add, n->out[0]), err);
        qdq_linear_drop(q->b);
    }
    report(q);
    return QDQ_OK;
}

/* --- int32 ------------------------------------------------------------------------------------ */

qdq_status qdq_bias_fits(qdq_opt *o, qdq_node *n, const char **why, qdq_error *err)
{
    quantizing q = {.o = o, .policy = QDQ_BIAS_ZERO};
    bool is;

    QDQ_TRY(read_node(&q, n, &is, why, err));
    if (q.adds_floats)
        *why = NULL;
    return QDQ_OK;
}

qdq_status qdq_bias_quantize(qdq_opt *o, qdq_node *n, unsigned policy, qdq_error *err)
{
    quantizing q = {.o = o, .policy = policy};
    const char *why;
    bool is;

    QDQ_TRY(read_node(&q, n, &is, &why, err));
    if (!is || (why == NULL && is_right(&q)))
        return QDQ_OK;
    if (why == NULL)
        QDQ_TRY(encode(&q, &why, err));
    if (why != NULL) {
        qdq_opt_refuse(o, n, why);
        return QDQ_OK;
    }
    if ((policy & QDQ_BIAS_ASK) != 0 && !qdq_opt_take(o, n))
        return QDQ_OK;
    return apply_codes(&q, err);
}

/* --- float ------------------------------------------------------------------------------------ */

/* Is input i of n the bias of a linear node? */
static bool is_bias(const qdq_node *n, uint32_t i)
{
    const qdq_node *linear;

    switch ((int)n->op) {
    case QDQ_OP_CONV:
    case QDQ_OP_CONVTRANSPOSE:
    case QDQ_OP_GEMM:
        return i == 2;
    case QDQ_OP_ADD:
        linear = qdq_bias_linear(n, i);
        return linear != NULL && linear->op == QDQ_OP_MATMUL;
    }
    return false;
}

static qdq_tensor *dequantized(qdq_opt *o, const qdq_tensor *t, const qdq_params *p, qdq_span bytes)
{
    void *data;
    qdq_tensor *out = qdq_tensor_new(o->model, QDQ_FLOAT, t->rank, t->dim, &data);
    qdq_scale_grid g = qdq_scale_grid_of(t, p->axis, p->block);

    for (size_t i = 0; out != NULL && i < (size_t)t->count; i++) {
        size_t row = i / g.c.inner;
        int64_t s =
            (int64_t)qdq_scale_at(&g, row / g.c.channels, row % g.c.channels, i % g.c.inner);
        double code =
            (double)(qdq_elem_int(t->elem, bytes.data, (int64_t)i) - qdq_params_zero(p, s));

        ((float *)data)[i] = (float)(code * (double)p->scale[s]);
    }
    return out;
}

static qdq_status to_float(qdq_opt *o, qdq_node *n, uint32_t i, qdq_error *err)
{
    qdq_value *v = qdq_node_in(n, i);
    const qdq_node *dq = v != NULL ? v->producer : NULL;
    const qdq_tensor *t = NULL;
    const char *why = NULL;
    qdq_params p;
    qdq_span bytes;

    if (dq != NULL && dq->op == QDQ_OP_DEQUANTIZELINEAR && qdq_node_in(dq, 0) != NULL)
        t = qdq_value_const(dq->in[0].value);
    if (t == NULL || t->elem != QDQ_INT32)
        return QDQ_OK;
    QDQ_TRY(qdq_params_read(dq, t, &o->scratch, &p, &why, err));
    if (why == NULL &&
        (!takes_floats(&p) || qdq_node_int(dq, "output_dtype", QDQ_FLOAT) != QDQ_FLOAT))
        why = "its bias is not of type float";
    if (!qdq_opt_take_unless(o, n, why))
        return QDQ_OK;
    QDQ_TRY(qdq_tensor_data(t, &o->scratch, &bytes, err));
    qdq_value *fresh =
        qdq_opt_constant(o, n, dq->in[0].value->name, "_float", dequantized(o, t, &p, bytes));
    QDQ_NEED(fresh != NULL, err);
    qdq_node_set_in(n, i, fresh);
    qdq_linear_drop(v);
    return QDQ_OK;
}

/* --- the pass --------------------------------------------------------------------------------- */

qdq_status qdq_pass_quantize_bias(qdq_opt *o, qdq_node *n, qdq_error *err)
{
    unsigned policy = QDQ_BIAS_ASK | (qdq_opt_has_arg(o, "symmetric") ? QDQ_BIAS_SYMMETRIC : 0U) |
                      (qdq_opt_has_arg(o, "saturate") ? QDQ_BIAS_SATURATE : 0U) |
                      (qdq_opt_has_arg(o, "skip") ? QDQ_BIAS_SKIP : 0U) |
                      (qdq_opt_has_arg(o, "zero-bias") ? QDQ_BIAS_ZERO : 0U);

    if (!qdq_opt_has_arg(o, "float"))
        return qdq_bias_quantize(o, n, policy, err);
    for (uint32_t i = 0; i < n->n_in; i++)
        if (is_bias(n, i))
            QDQ_TRY(to_float(o, n, i, err));
    return QDQ_OK;
}
