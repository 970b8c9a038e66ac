/* fold_scale.c - a factor per channel behind a MatMul goes into its weight:
 *
 *     y = (MatMul(x, w) + b) * g  =>  y = MatMul(x, w') + b',  w' = w * g,  b' = b * g
 *
 * also where a Transpose stands between (the layer scale of ConvNeXt comes behind the way back to
 * channels first), and where there is no b. fold-batchnorm does the same for operators with a bias
 * of their own. Computed in double, rounded once; quantized weights keep their codes, and their DQ
 * gets other scales (linear_scale.c). */
#include <float.h>
#include <math.h>

#include "base/fail.h"
#include "opt/fuse/linear.h"

typedef struct scaling {
    qdq_opt *o;
    qdq_linear l;
    /* add, transpose: NULL without; last: Mul or Div */
    qdq_node *add, *transpose, *last;
    /* of add */
    uint32_t bias_input;
    /* of the product; 1 where it is not proven */
    int rank;
    /* where its channels are for `last` */
    int axis;
    /* one for each channel */
    double *factor, *bias;
} scaling;

/* --- what follows the MatMul ------------------------------------------------------------------ */

/* The constant beside y. Broadcasting was an attribute before opset 7. */
static qdq_value *other_operand(const qdq_node *n, const qdq_value *y, uint32_t *i)
{
    if (n->n_in != 2 || qdq_node_out(n, 0) == NULL || qdq_graph_opset(n->graph) < 7)
        return NULL;
    *i = n->in[0].value == y ? 1 : 0;
    return n->in[*i].value;
}

/* An Add of one number per channel, which comes before the factor. Another Add ends the search: `n`
 * becomes NULL. */
static qdq_status take_bias(scaling *s, qdq_node **n, const qdq_value **y, qdq_error *err)
{
    qdq_value *b;

    if (*n == NULL || (*n)->op != QDQ_OP_ADD)
        return QDQ_OK;
    b = other_operand(*n, *y, &s->bias_input);
    s->add = *n;
    *n = NULL;
    if (b == NULL || qdq_value_const(b) == NULL)
        return QDQ_OK;
    QDQ_TRY(qdq_per_channel_at(s->o, b, s->rank, s->rank - 1, s->l.channels, &s->bias, err));
    if (s->bias == NULL)
        return QDQ_OK;
    *y = s->add->out[0];
    *n = qdq_value_only_user(*y);
    return QDQ_OK;
}

/* Where the last of `rank` axes goes. False: not known. */
static bool find_axis(scaling *s, const qdq_node *transpose, bool rank_is_proven)
{
    const int64_t *perm;
    size_t count;

    if (!qdq_node_ints(transpose, "perm", &perm, &count) || count < 1 || count > QDQ_MAX_RANK ||
        (rank_is_proven && (int)count != s->rank))
        return false;
    s->axis = -1;
    for (size_t i = 0; i < count; i++)
        if (perm[i] == (int64_t)count - 1)
            s->axis = (int)i;
    s->rank = (int)count;
    return s->axis >= 0;
}

static qdq_status take_factor(scaling *s, qdq_node *n, const qdq_value *y, qdq_error *err)
{
    qdq_value *g;
    uint32_t i;

    if (n == NULL || (n->op != QDQ_OP_MUL && n->op != QDQ_OP_DIV))
        return QDQ_OK;
    g = other_operand(n, y, &i);
    if (g == NULL || (n->op == QDQ_OP_DIV && i == 0))
        return QDQ_OK;
    QDQ_TRY(qdq_per_channel_at(s->o, g, s->rank, s->axis, s->l.channels, &s->factor, err));
    if (s->factor == NULL)
        return QDQ_OK;
    s->last = n;
    for (int64_t c = 0; n->op == QDQ_OP_DIV && c < s->l.channels; c++)
        s->factor[c] = 1 / s->factor[c];
    return QDQ_OK;
}

/* s->last is NULL if there is no such factor. */
static qdq_status find_factor(scaling *s, qdq_error *err)
{
    const qdq_value *y = s->l.node->out[0];
    qdq_node *n = qdq_value_only_user(y);
    const qdq_facts *facts;
    const qdq_type *type;

    if (n == NULL)
        return QDQ_OK;
    QDQ_TRY(qdq_opt_facts(s->o, &facts, err));
    type = qdq_facts_type(facts, y);
    s->rank = type != NULL && type->kind == QDQ_TYPE_TENSOR && type->rank > 0 ? type->rank : 1;
    s->axis = s->rank - 1;
    QDQ_TRY(take_bias(s, &n, &y, err));
    if (n != NULL && n->op == QDQ_OP_TRANSPOSE && qdq_node_out(n, 0) != NULL) {
        if (!find_axis(s, n, type != NULL && type->rank > 0))
            return QDQ_OK;
        s->transpose = n;
        y = n->out[0];
        n = qdq_value_only_user(y);
    }
    return take_factor(s, n, y, err);
}

/* --- the fold --------------------------------------------------------------------------------- */

static const char *speaks_against(const scaling *s)
{
    const qdq_tensor *b = s->add != NULL ? qdq_value_const(s->add->in[s->bias_input].value) : NULL;
    double limit = b != NULL && b->elem == QDQ_FLOAT16 ? 65504 : (double)FLT_MAX;

    if (b != NULL && b->elem != QDQ_FLOAT && b->elem != QDQ_FLOAT16 && b->elem != QDQ_BFLOAT16)
        return "its bias is not of type float, float16 or bfloat16";
    for (int64_t c = 0; c < s->l.channels; c++)
        if (!isfinite(s->factor[c]) || (b != NULL && !(fabs(s->bias[c] * s->factor[c]) <= limit)))
            return "a factor or a bias would not be finite";
    return NULL;
}

/* The constant of the Add times the factors, of its shape; a single number becomes one per
 * channel. */
static qdq_status scale_bias(scaling *s, qdq_error *err)
{
    qdq_value *v = s->add->in[s->bias_input].value;
    const qdq_tensor *b = qdq_value_const(v);
    void *data;
    qdq_tensor *t = b->count == s->l.channels
                        ? qdq_tensor_new(s->o->model, b->elem, b->rank, b->dim, &data)
                        : qdq_tensor_new(s->o->model, b->elem, 1, &s->l.channels, &data);

    for (int64_t c = 0; t != NULL && c < s->l.channels; c++)
        qdq_elem_put_float(b->elem, data, c, s->bias[c] * s->factor[c]);
    qdq_value *made = qdq_opt_constant(s->o, s->add, v->name, "_scaled", t);
    QDQ_NEED(made != NULL, err);
    qdq_node_set_in(s->add, s->bias_input, made);
    qdq_value_remove_if_unused(v);
    return QDQ_OK;
}

static qdq_status fold_factor(scaling *s, qdq_error *err)
{
    qdq_node *before = s->transpose != NULL ? s->transpose : s->add != NULL ? s->add : s->l.node;
    qdq_weight_change w = {0};
    const char *why = speaks_against(s);

    if (why == NULL)
        QDQ_TRY(qdq_weight_scale(s->o, &s->l, s->factor, 0, &w, &why, err));
    if (!qdq_opt_take_unless(s->o, s->last, why))
        return QDQ_OK;
    QDQ_TRY(qdq_weight_apply(s->o, &s->l, &w, err));
    if (s->add != NULL)
        QDQ_TRY(scale_bias(s, err));
    return qdq_opt_alias(s->last, before->out[0]) ? QDQ_OK : qdq_nomem(err);
}

qdq_status qdq_pass_fold_scale(qdq_opt *o, qdq_node *n, qdq_error *err)
{
    scaling s = {.o = o};
    const char *why = NULL;
    bool is;

    if (n->op != QDQ_OP_MATMUL)
        return QDQ_OK;
    QDQ_TRY(qdq_linear_read(o, n, &s.l, &is, &why, err));
    if (!is)
        return QDQ_OK;
    QDQ_TRY(find_factor(&s, err));
    if (s.last == NULL)
        return QDQ_OK;
    if (why != NULL) {
        qdq_opt_refuse(o, s.last, why);
        return QDQ_OK;
    }
    return fold_factor(&s, err);
}
