/* check_linear.c - weights and biases of Conv, Gemm and their like: what makes wrong numbers
 * without a word. */
#include <math.h>

#include "base/fail.h"
#include "quant/check/check_state.h"

typedef struct linear {
    const qdq_node *n;
    const qdq_target_op *rule;
    /* DQ in front of data, weight, bias; NULL: none */
    const qdq_found *x, *w, *b;
} linear;

static const qdq_found *found_of(const qdq_checking *c, const qdq_value *v)
{
    const qdq_node *dq = qdq_check_dq(c, v);

    return dq != NULL ? qdq_check_of(c, dq)->found : NULL;
}

/* The dim along which the kernel takes scales, or -1. */
static int axis_of(const qdq_target_op *rule, const qdq_node *n, int rank)
{
    switch (rule->axis) {
    case QDQ_AXIS_TENSOR:
        return -1;
    case QDQ_AXIS_0:
        return 0;
    case QDQ_AXIS_1:
        return rank > 1 ? 1 : -1;
    case QDQ_AXIS_LAST:
        return rank == 2 ? 1 : -1;
    case QDQ_AXIS_GEMM:
        return qdq_node_int(n, "transB", 0) != 0 ? 0 : 1;
    }
    return -1;
}

static qdq_status check_axis(qdq_checking *c, const linear *l)
{
    const qdq_tensor *t = l->w != NULL ? qdq_found_constant(l->w->node) : NULL;

    if (t == NULL || l->w->blocked || l->w->axis < 0)
        return QDQ_OK;
    int want = axis_of(l->rule, l->n, t->rank);
    if (want < 0 || want >= t->rank || l->w->axis == want)
        return QDQ_OK;
    bool fits = l->w->axis < t->rank && t->dim[want] == t->dim[l->w->axis];
    return qdq_check_add(c, QDQ_CHECK_WEIGHT_AXIS, l->n, 0,
                         "the scales of its weight lie along dim %d, and its kernel takes them for "
                         "those of dim %d%s",
                         l->w->axis, want,
                         fits ? ", which is as long: wrong numbers without a word" : "");
}

/* Scale i of the accumulator; 0: not known. */
static double unit(const linear *l, int64_t i)
{
    const qdq_params *x = &l->x->params, *w = &l->w->params;

    return (double)x->scale[0] * (double)w->scale[w->count > 1 ? i : 0];
}

static qdq_status check_codes(qdq_checking *c, const linear *l, const qdq_tensor *t)
{
    const qdq_params *b = &l->b->params;
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_span bytes = {NULL, 0};
    bool clipped = false;
    double worst = 0;

    if (qdq_tensor_data(t, &scratch, &bytes, NULL) != QDQ_OK)
        return QDQ_OK;
    for (int64_t i = 0; i < t->count; i++) {
        int64_t code = qdq_elem_int(t->elem, bytes.data, i);
        double want = unit(l, l->w->params.count == t->count ? i : 0);

        clipped |= code == INT32_MAX || code == INT32_MIN;
        worst = fmax(worst, fabs((double)b->scale[b->count > 1 ? i : 0] / want - 1));
    }
    qdq_arena_free(&scratch);
    if (clipped)
        QDQ_TRY(qdq_check_add(c, QDQ_CHECK_BIAS_OVERFLOW, l->n, 0,
                              "its bias has the largest int32 code there is: it was clipped"));
    if (!(worst > 0.01))
        return QDQ_OK;
    return qdq_check_add(
        c, QDQ_CHECK_BIAS_SCALE, l->n, 0,
        "the scale of its bias is off by %.3g %% from data times weight: %s", worst * 100,
        l->n->op == QDQ_OP_GEMM ? "the kernel adds the codes all the same, to wrong numbers"
                                : "it is not fused, or the kernel adds wrong numbers");
}

static qdq_status check_floats(qdq_checking *c, const linear *l, const qdq_tensor *t)
{
    qdq_arena scratch = QDQ_ARENA_INIT;
    float *bias = NULL;
    int64_t bad = -1;

    if (qdq_tensor_floats(t, &scratch, &bias, NULL) == QDQ_OK)
        for (int64_t i = 0; i < t->count && bad < 0; i++)
            if (fabs((double)bias[i]) / unit(l, l->w->params.count == t->count ? i : 0) >
                2147483647.0)
                bad = i;
    qdq_arena_free(&scratch);
    if (bad < 0)
        return QDQ_OK;
    return qdq_check_add(c, QDQ_CHECK_BIAS_OVERFLOW, l->n, 0,
                         "its bias %lld does not fit into int32 at the scale of data times weight",
                         (long long)bad);
}

static qdq_status check_bias(qdq_checking *c, const linear *l)
{
    const qdq_value *v =
        l->rule->bias == QDQ_BIAS_INPUT ? qdq_node_in(l->n, l->rule->bias_input) : NULL;
    const qdq_tensor *t = qdq_value_const(v);
    const qdq_tensor *codes = l->b != NULL ? qdq_found_constant(l->b->node) : NULL;

    if (!c->t->format.int32_bias || l->x == NULL || !l->x->known || l->x->params.count != 1 ||
        l->w == NULL || !l->w->known || l->w->blocked)
        return QDQ_OK;
    if (codes != NULL && codes->elem == QDQ_INT32 && l->b->known &&
        (l->b->params.count == 1 || l->b->params.count == codes->count) &&
        (l->w->params.count == 1 || l->w->params.count == codes->count))
        return check_codes(c, l, codes);
    if (t != NULL && t->elem == QDQ_FLOAT &&
        (l->w->params.count == 1 || l->w->params.count == t->count))
        return check_floats(c, l, t);
    return QDQ_OK;
}

/* --- MatMul and Add --------------------------------------------------------------------------- */

/* More than two dims, not all of them known: the engine leaves MatMul and Add alone until they
 * are. */
static bool is_open_batch(const qdq_value *v)
{
    int64_t dim[QDQ_MAX_RANK];
    int rank;

    return v->type != NULL && v->type->kind == QDQ_TYPE_TENSOR && v->type->rank > 2 &&
           !qdq_value_static_shape(v, &rank, dim, QDQ_MAX_RANK);
}

static bool goes_into_codes(const qdq_value *v)
{
    QDQ_FOR_USES (u, v)
        if (u->node->op == QDQ_OP_QUANTIZELINEAR)
            return true;
    return false;
}

/* What the pass widen-bias writes otherwise. With a Q behind it, the engine gives the bias codes
 * itself. */
static qdq_status check_added(qdq_checking *c, const linear *l)
{
    const qdq_node *add = qdq_value_only_user(l->n->out[0]);

    if (l->rule->bias != QDQ_BIAS_ADD_IF_STATIC || l->rule->quantize_output ||
        l->rule->quantize_if_read || l->x == NULL || l->w == NULL || add == NULL ||
        add->op != QDQ_OP_ADD || add->graph != c->m->graph || !is_open_batch(l->n->out[0]) ||
        goes_into_codes(add->out[0]))
        return QDQ_OK;
    const qdq_value *v = qdq_node_in(add, qdq_node_in(add, 0) == l->n->out[0] ? 1 : 0);
    const qdq_tensor *bias = qdq_value_const(v);
    const qdq_tensor *weight = qdq_found_constant(l->w->node);
    if (bias == NULL || bias->rank != 1 || weight == NULL || weight->rank != 2)
        return QDQ_OK;
    return qdq_check_add(
        c, QDQ_CHECK_SLOW_IF_FIXED, l->n, (uint64_t)weight->count,
        "what Add '%s' adds has one dim: once shapes are fixed, by --shape or a free-dimension "
        "override, the engine makes a float Gemm of both and dequantizes the weight in every "
        "run; the pass widen-bias keeps it fast",
        qdq_node_label(add, &c->arena));
}

qdq_status qdq_check_linear(qdq_checking *c, const qdq_node *n, const qdq_target_op *rule)
{
    linear l = {.n = n, .rule = rule};

    l.x = found_of(c, qdq_node_in(n, rule->data));
    l.w = found_of(c, qdq_node_in(n, rule->weight));
    if (rule->bias == QDQ_BIAS_INPUT)
        l.b = found_of(c, qdq_node_in(n, rule->bias_input));
    QDQ_TRY(check_axis(c, &l));
    const qdq_tensor *codes = l.w != NULL ? qdq_found_constant(l.w->node) : NULL;
    if (l.x != NULL && codes != NULL)
        QDQ_TRY(qdq_check_saturation(c, n, codes));
    QDQ_TRY(check_added(c, &l));
    return check_bias(c, &l);
}
