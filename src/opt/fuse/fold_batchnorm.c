/* fold_batchnorm.c - what a channel goes through behind Conv, ConvTranspose or Gemm, folded into
 * weight and bias:
 *
 *     y = BatchNormalization(Conv(x, w, b), scale, shift, mean, var)  =>  y = Conv(x, w', b')
 *     f = scale / sqrt(var + epsilon),  w' = w * f,  b' = (b - mean) * f + shift
 *
 * after the definition of BatchNormalization in the ONNX operator specification; and Mul, Div, Add,
 * Sub by a constant per channel before, between and behind (training with simulated quantization
 * leaves Conv -> Div -> Add -> BatchNormalization). Computed in double, rounded once.
 *
 * Quantized weights keep their codes, and their DQ: the factor goes into the scales
 * (linear_scale.c). A weight that is still float before its Q is quantized first, as training saw
 * it, and then scaled: quantizing w * f instead would round other weights up and down. Nothing
 * moves across the Q and DQ of an activation, unless that is asked for and only the bias changes.
 *
 * Arguments: requant-per-tensor  a weight with one scale keeps one: its codes are rounded again
 *            clip, skip          what to do with a lowest code under a factor below 0; else rescale
 *            through-qdq         see above; results may change by a step
 *            float               quantized weights are left alone */
#include <float.h>
#include <math.h>

#include "base/fail.h"
#include "opt/fuse/linear.h"
#include "opt/qdq/quantize_bias.h"

typedef struct folding {
    qdq_opt *o;
    qdq_linear l;
    qdq_bias old;
    /* what the chain makes of x: x * factor + bias, the bias of the node included */
    double *factor, *bias;
    /* in order */
    QDQ_VEC(qdq_node *) chain;
    /* the first BatchNormalization of it, or NULL */
    qdq_node *bn;
    /* between the node and the chain; or NULL */
    qdq_node *dq;
} folding;

/* --- the chain -------------------------------------------------------------------------------- */

static bool may_fold(const qdq_node *n)
{
    switch ((int)n->op) {
    case QDQ_OP_BATCHNORMALIZATION:
    case QDQ_OP_MUL:
    case QDQ_OP_DIV:
    case QDQ_OP_ADD:
    case QDQ_OP_SUB:
        return n->n_in >= 2 && qdq_node_out(n, 0) != NULL;
    }
    return false;
}

/* BatchNormalization that computes with its own inputs and nothing else. Before opset 14 further
 * outputs, even unread, meant training; before opset 7 is_test had to say that it does not. */
static const char *speaks_against_mode(const qdq_node *bn)
{
    int64_t opset = qdq_graph_opset(bn->graph);

    for (uint32_t i = 0; i < bn->n_attr; i++)
        if (bn->attr[i]->ref != NULL)
            return "an attribute of it is set by the caller of the function";
    if (qdq_node_int(bn, "training_mode", 0) != 0 ||
        (opset < 7 && qdq_node_int(bn, "is_test", 0) == 0))
        return "it trains";
    if (opset < 9 && qdq_node_int(bn, "spatial", 1) != 1)
        return "it is not per channel (spatial = 0)";
    for (uint32_t i = 1; i < bn->n_out; i++)
        if (bn->out[i] != NULL && (opset < 14 || bn->out[i]->n_use > 0 || bn->out[i]->n_output > 0))
            return "it trains: it has more than one output";
    return NULL;
}

/* [channels] doubles; NULL: not known, or not this many. */
static qdq_status read_parameter(folding *f, const qdq_node *bn, uint32_t i, double **out,
                                 qdq_error *err)
{
    const qdq_value *v = qdq_node_in(bn, i);
    const qdq_tensor *t = v != NULL ? qdq_const_elements(v) : NULL;

    *out = NULL;
    if (t == NULL || t->count != f->l.channels)
        return QDQ_OK;
    /* [channels] as the last of two dims */
    return qdq_per_channel(f->o, v, 2, f->l.channels, out, err);
}

static qdq_status absorb_batchnorm(folding *f, const qdq_node *bn, const char **why, qdq_error *err)
{
    double epsilon = (double)qdq_node_float(bn, "epsilon", 1e-5F);
    double *scale, *shift, *mean, *var;

    *why = speaks_against_mode(bn);
    if (*why != NULL)
        return QDQ_OK;
    QDQ_TRY(read_parameter(f, bn, 1, &scale, err));
    QDQ_TRY(read_parameter(f, bn, 2, &shift, err));
    QDQ_TRY(read_parameter(f, bn, 3, &mean, err));
    QDQ_TRY(read_parameter(f, bn, 4, &var, err));
    if (scale == NULL || shift == NULL || mean == NULL || var == NULL) {
        *why = "its parameters are not constants of one number per channel";
        return QDQ_OK;
    }
    for (int64_t c = 0; c < f->l.channels; c++)
        if (!(var[c] + epsilon > 0) || !isfinite(scale[c]) || !isfinite(shift[c]) ||
            !isfinite(mean[c]) || !isfinite(var[c])) {
            *why = "its parameters are not finite, or a variance is not above 0";
            return QDQ_OK;
        }
    for (int64_t c = 0; c < f->l.channels; c++) {
        double factor = scale[c] / sqrt(var[c] + epsilon);

        f->factor[c] *= factor;
        f->bias[c] = (f->bias[c] - mean[c]) * factor + shift[c];
    }
    return QDQ_OK;
}

/* Mul, Div, Add or Sub of y and a constant. *done false: the operand is something else. */
static qdq_status absorb_arithmetic(folding *f, const qdq_node *n, const qdq_value *y, bool *done,
                                    qdq_error *err)
{
    bool first = qdq_node_in(n, 0) == y;
    double *x;

    *done = false;
    if (n->n_in != 2 || qdq_graph_opset(n->graph) < 7 || /* broadcasting was an attribute before */
        (!first && (n->op == QDQ_OP_DIV || n->op == QDQ_OP_SUB)))
        return QDQ_OK;
    QDQ_TRY(qdq_per_channel(f->o, n->in[first ? 1 : 0].value, f->l.rank, f->l.channels, &x, err));
    for (int64_t c = 0; x != NULL && c < f->l.channels; c++) {
        if (n->op == QDQ_OP_MUL || n->op == QDQ_OP_DIV) {
            f->factor[c] = n->op == QDQ_OP_MUL ? f->factor[c] * x[c] : f->factor[c] / x[c];
            f->bias[c] = n->op == QDQ_OP_MUL ? f->bias[c] * x[c] : f->bias[c] / x[c];
        } else {
            f->bias[c] += n->op == QDQ_OP_ADD ? x[c] : -x[c];
        }
    }
    *done = x != NULL;
    return QDQ_OK;
}

/* What is normalized but read elsewhere, too, stays: say so where somebody would look for it. */
static void refuse_readers(qdq_opt *o, const qdq_value *y)
{
    QDQ_FOR_USES (u, y)
        if (u->node->op == QDQ_OP_BATCHNORMALIZATION && u->index == 0)
            qdq_opt_refuse(o, u->node,
                           y->n_output > 0 ? "what it normalizes is a graph output"
                                           : "what it normalizes is read elsewhere, too");
}

/* The reader of y that the chain goes on with. */
static qdq_node *next_of(qdq_opt *o, const qdq_value *y)
{
    qdq_node *n = qdq_value_only_user(y);

    if (n == NULL)
        refuse_readers(o, y);
    return n != NULL && may_fold(n) && (n->op != QDQ_OP_BATCHNORMALIZATION || y->first->index == 0)
               ? n
               : NULL;
}

static qdq_status follow(folding *f, qdq_node *n, const qdq_value *y, qdq_error *err)
{
    while (n != NULL) {
        const char *why = NULL;
        bool done = true;

        if (n->op == QDQ_OP_BATCHNORMALIZATION)
            QDQ_TRY(absorb_batchnorm(f, n, &why, err));
        else
            QDQ_TRY(absorb_arithmetic(f, n, y, &done, err));
        if (why != NULL)
            qdq_opt_refuse(f->o, n, why);
        if (why != NULL || !done)
            return QDQ_OK;
        QDQ_NEED(QDQ_PUSH(&f->o->scratch, &f->chain, n), err);
        if (n->op == QDQ_OP_BATCHNORMALIZATION && f->bn == NULL)
            f->bn = n;
        y = n->out[0];
        n = next_of(f->o, y);
    }
    return QDQ_OK;
}

/* --- the fold --------------------------------------------------------------------------------- */

/* Scales of quantized weights are left alone for a factor that is 1 but for rounding: what training
 * simulated was 1, divided and multiplied. */
static bool only_bias(const folding *f)
{
    double room = f->l.dq != NULL ? 1e-6 : 0;

    for (int64_t c = 0; c < f->l.channels; c++)
        if (!(fabs(f->factor[c] - 1) <= room))
            return false;
    return true;
}

static const char *speaks_against(const folding *f)
{
    double limit = f->l.dq == NULL && f->l.weight->elem == QDQ_FLOAT16 ? 65504 : (double)FLT_MAX;

    if (f->dq != NULL && !qdq_opt_has_arg(f->o, "through-qdq"))
        return "quantized between";
    if (f->dq != NULL && !only_bias(f))
        return "quantized between, and its factor is not 1";
    if (f->l.dq != NULL && qdq_opt_has_arg(f->o, "float"))
        return "the weight before it is quantized";
    for (int64_t c = 0; c < f->l.channels; c++)
        if (!isfinite(f->factor[c]) || !(fabs(f->bias[c]) <= limit))
            return "a factor or a bias would not be finite";
    return NULL;
}

/* Named after the bias that it replaces, else after what brought one. */
static qdq_value *add_bias(const folding *f)
{
    qdq_node *n = f->l.node;
    const qdq_value *b = qdq_node_in(n, 2), *shift = f->bn != NULL ? qdq_node_in(f->bn, 2) : NULL;
    qdq_elem e = f->l.dq != NULL ? QDQ_FLOAT : f->l.weight->elem;
    void *data;
    qdq_tensor *t = qdq_tensor_new(f->o->model, e, 1, &f->l.channels, &data);

    for (int64_t c = 0; t != NULL && c < f->l.channels; c++)
        qdq_elem_put_float(e, data, c, f->bias[c]);
    return qdq_opt_constant(f->o, n,
                            b != NULL       ? b->name
                            : shift != NULL ? shift->name
                                            : n->in[1].value->name,
                            b != NULL || shift != NULL ? "_folded" : "_bias", t);
}

/* Last to first: each is unread once the next is gone. */
static void drop_chain(folding *f)
{
    for (size_t i = f->chain.n; i-- > 0;) {
        qdq_node *n = f->chain.at[i];

        for (uint32_t k = n->n_in; k-- > 0;) {
            qdq_value *v = n->in[k].value;

            qdq_node_set_in(n, k, NULL);
            if (v != NULL)
                qdq_value_remove_if_unused(v);
        }
        qdq_node_remove(n);
    }
}

static void report(const folding *f, const qdq_weight_change *w)
{
    const char *label = qdq_node_label(f->l.node, &f->o->scratch);

    if (w->max_error > 0)
        qdq_job_log(f->o->opts->job, QDQ_LOG_WARNING,
                    "'%s': codes of the weight were rounded again: error at most %.3g, %.3g rms",
                    label, w->max_error, w->rms_error);
    if (f->dq != NULL)
        qdq_job_log(f->o->opts->job, QDQ_LOG_WARNING,
                    "'%s': a bias was moved before Q/DQ: results may change by a step", label);
}

static qdq_status apply_folding(folding *f, qdq_weight_change *w, qdq_error *err)
{
    qdq_node *n = f->l.node;
    qdq_value *b = add_bias(f);

    QDQ_NEED(b != NULL, err);
    if (w != NULL)
        QDQ_TRY(qdq_weight_apply(f->o, &f->l, w, err));
    QDQ_TRY(qdq_bias_set(&f->l, b, err));
    drop_chain(f);
    return f->l.dq != NULL || f->old.dq != NULL ? qdq_bias_quantize(f->o, n, 0, err) : QDQ_OK;
}

static qdq_status fold_chain(folding *f, qdq_error *err)
{
    qdq_node *last = f->chain.at[f->chain.n - 1], *about = f->bn != NULL ? f->bn : last;
    unsigned policy = (qdq_opt_has_arg(f->o, "clip") ? QDQ_WEIGHT_CLIP : 0U) |
                      (qdq_opt_has_arg(f->o, "skip") ? QDQ_WEIGHT_SKIP : 0U) |
                      (qdq_opt_has_arg(f->o, "requant-per-tensor") ? QDQ_WEIGHT_ONE_SCALE : 0U);
    qdq_weight_change w = {0};
    bool scales = !only_bias(f);
    const char *why = speaks_against(f);

    if (why == NULL && scales)
        QDQ_TRY(qdq_weight_scale(f->o, &f->l, f->factor, policy, &w, &why, err));
    if (why == NULL && f->l.dq != NULL) /* engines take a node with a float bias for a float one */
        QDQ_TRY(qdq_bias_fits(f->o, f->l.node, &why, err));
    if (!qdq_opt_take_unless(f->o, about, why))
        return QDQ_OK;
    /* The last of the chain may be a graph output: its name goes to what computes it now. */
    if (!qdq_value_replace(last->out[0], f->dq != NULL ? f->dq->out[0] : f->l.node->out[0]))
        return qdq_fail(err, QDQ_E_BUG, "node '%s': its result cannot be replaced",
                        qdq_node_label(last, &f->o->scratch));
    QDQ_TRY(apply_folding(f, scales ? &w : NULL, err));
    report(f, &w);
    return QDQ_OK;
}

/* --- the pass --------------------------------------------------------------------------------- */

static bool is_linear(const qdq_node *n)
{
    return (n->op == QDQ_OP_CONV || n->op == QDQ_OP_CONVTRANSPOSE || n->op == QDQ_OP_GEMM) &&
           qdq_node_out(n, 0) != NULL;
}

/* Behind the node, or behind the Q and DQ that follow it. */
static qdq_node *first_of_chain(qdq_opt *o, qdq_node *n, qdq_node **dq)
{
    const qdq_value *y = n->out[0];
    qdq_node *q = qdq_value_only_user(y);

    *dq = NULL;
    if (q == NULL || q->op != QDQ_OP_QUANTIZELINEAR || y->first->index != 0 ||
        qdq_node_out(q, 0) == NULL)
        return next_of(o, y);
    *dq = qdq_value_only_user(q->out[0]);
    if (*dq == NULL || (*dq)->op != QDQ_OP_DEQUANTIZELINEAR || q->out[0]->first->index != 0 ||
        qdq_node_out(*dq, 0) == NULL)
        return NULL;
    return next_of(o, (*dq)->out[0]);
}

qdq_status qdq_pass_fold_batchnorm(qdq_opt *o, qdq_node *n, qdq_error *err)
{
    folding f = {.o = o};
    qdq_node *first = is_linear(n) ? first_of_chain(o, n, &f.dq) : NULL;
    const char *why = NULL;
    bool is;

    if (first == NULL)
        return QDQ_OK;
    QDQ_TRY(qdq_linear_read(o, n, &f.l, &is, &why, err));
    if (!is)
        why = "the weight before it is not constant";
    if (why == NULL)
        QDQ_TRY(qdq_bias_read(o, &f.l, qdq_node_in(n, 2), &f.old, &why, err));
    if (why != NULL) {
        if (first->op == QDQ_OP_BATCHNORMALIZATION)
            qdq_opt_refuse(o, first, why);
        return QDQ_OK;
    }
    f.bias = f.old.value;
    f.factor = qdq_arena_array(&o->scratch, (size_t)f.l.channels, sizeof *f.factor);
    QDQ_NEED(f.factor != NULL, err);
    for (int64_t c = 0; c < f.l.channels; c++)
        f.factor[c] = 1;
    QDQ_TRY(follow(&f, first, f.dq != NULL ? f.dq->out[0] : n->out[0], err));
    /* An Add behind Q and DQ is no remains of training: nothing to say about it. */
    return f.chain.n == 0 || (f.dq != NULL && f.bn == NULL) ? QDQ_OK : fold_chain(&f, err);
}
