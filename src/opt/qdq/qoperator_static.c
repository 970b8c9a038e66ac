/* qoperator_static.c - operators that have scale and zero point of all that they read and write as
 * inputs: QLinearConv and QLinearMatMul of the standard, and those of com.microsoft. One table says
 * where the inputs are. */
#include <string.h>

#include "base/fail.h"
#include "opt/qdq/qoperator.h"

/* The axis of several scales of the second operand. */
typedef enum weight_axis { AXIS_NONE, AXIS_0, AXIS_LAST, AXIS_GEMM } weight_axis;

typedef struct layout {
    const char *type, *to;
    /* of the default domain, too */
    bool standard;
    /* an input that is no code, passed on as the first; -1: none */
    int plain;
    /* where (codes, scale, zero point) begin; -1: none */
    int operand[2];
    /* operand[0] goes on to the last input, in threes */
    bool repeats;
    /* where scale and zero point of the result begin */
    int out;
    /* int32 codes; -1: none */
    int bias;
    /* of operand[1] */
    weight_axis axis;
    /* that the float operator does not have; NULL: none */
    const char *attribute;
    /* without output scale, the result is float */
    bool is_float;
} layout;

/* com.microsoft's own with one operand: scale and zero point of the result behind its three. */
#define ONE_OPERAND(type, to, attribute)                                                           \
    {                                                                                              \
        type, to, false, -1, {0, -1}, false, 3, -1, AXIS_NONE, attribute, false                    \
    }

static const layout layouts[] = {
    {"QLinearConv", "Conv", true, -1, {0, 3}, false, 6, 8, AXIS_0, "channels_last", false},
    {"QLinearMatMul", "MatMul", true, -1, {0, 3}, false, 6, -1, AXIS_LAST, NULL, false},
    {"QGemm", "Gemm", false, -1, {0, 3}, false, 7, 6, AXIS_GEMM, NULL, true},
    {"QLinearAdd", "Add", false, -1, {0, 3}, false, 6, -1, AXIS_NONE, NULL, false},
    {"QLinearMul", "Mul", false, -1, {0, 3}, false, 6, -1, AXIS_NONE, NULL, false},
    {"QLinearConcat", "Concat", false, -1, {2, -1}, true, 0, -1, AXIS_NONE, NULL, false},
    ONE_OPERAND("QLinearAveragePool", "AveragePool", "channels_last"),
    ONE_OPERAND("QLinearGlobalAveragePool", "GlobalAveragePool", "channels_last"),
    ONE_OPERAND("QLinearSigmoid", "Sigmoid", NULL),
    ONE_OPERAND("QLinearLeakyRelu", "LeakyRelu", NULL),
    ONE_OPERAND("QLinearSoftmax", "Softmax", "opset"),
    {"QLinearWhere", "Where", false, 0, {1, 4}, false, 7, -1, AXIS_NONE, NULL, false},
};

static const layout *find_layout(const qdq_node *n)
{
    for (size_t i = 0; i < QDQ_COUNT(layouts); i++)
        if (strcmp(n->type, layouts[i].type) == 0 && (n->domain[0] != '\0' || layouts[i].standard))
            return &layouts[i];
    return NULL;
}

/* One node on its way. */
typedef struct work {
    qdq_qop *s;
    qdq_node *n;
    const layout *l;
    /* of the second operand's scales; -1: one */
    int axis;
    /* of the result */
    qdq_codes codes;
    /* the result is */
    bool is_float;
} work;

static qdq_value *in_at(const work *w, int i)
{
    return i >= 0 ? qdq_node_in(w->n, (uint32_t)i) : NULL;
}

/* The axis of the second operand along which several scales may lie; -1: nowhere. */
static int axis_of(const work *w)
{
    const qdq_value *v = in_at(w, w->l->operand[1]);
    const qdq_tensor *t = qdq_value_const(v);

    switch (w->l->axis) {
    case AXIS_NONE:
        return -1;
    case AXIS_0:
        return 0;
    case AXIS_LAST:
        return t != NULL ? t->rank - 1 : -1;
    case AXIS_GEMM:
        return qdq_node_int(w->n, "transB", 0) != 0 ? 0 : 1;
    }
    return -1;
}

static uint32_t count_operands(const work *w)
{
    if (w->l->repeats)
        return (w->n->n_in - (uint32_t)w->l->operand[0]) / 3;
    return w->l->operand[1] >= 0 ? 2 : 1;
}

static uint32_t operand_at(const work *w, uint32_t k)
{
    return w->l->repeats ? (uint32_t)w->l->operand[0] + 3 * k : (uint32_t)w->l->operand[k];
}

/* --- what speaks against it ------------------------------------------------------------------- */

static const char *check_inputs(work *w)
{
    const qdq_node *n = w->n;

    if (n->n_out != 1 || n->out[0] == NULL)
        return "it has not one output";
    if (w->l->repeats &&
        (n->n_in <= (uint32_t)w->l->operand[0] || (n->n_in - (uint32_t)w->l->operand[0]) % 3 != 0))
        return "its inputs are not threes of codes, scale and zero point";
    if (w->l->plain >= 0 && in_at(w, w->l->plain) == NULL)
        return "an input is missing";
    for (uint32_t k = 0; k < count_operands(w); k++) {
        uint32_t at = operand_at(w, k);
        int axis = k == 1 ? axis_of(w) : -1;

        if (qdq_node_in(n, at) == NULL)
            return "an input is missing";
        const char *why =
            qdq_qop_scale(w->s, qdq_node_in(n, at + 1), qdq_node_in(n, at + 2), &axis);
        if (why != NULL)
            return why;
        if (k == 1)
            w->axis = axis;
    }
    return NULL;
}

static const char *check_result(work *w)
{
    qdq_value *scale = in_at(w, w->l->out), *zero = in_at(w, w->l->out + 1);
    uint32_t first = operand_at(w, 0);
    int axis = -1;

    if (scale == NULL && w->l->is_float) {
        w->is_float = true;
        return NULL;
    }
    const char *why = qdq_qop_scale(w->s, scale, zero, &axis);
    w->codes = (qdq_codes){scale, zero, qdq_qop_elem(w->s, NULL, zero)};
    if (zero == NULL) /* of the type of what it reads */
        w->codes.elem = qdq_qop_elem(w->s, qdq_node_in(w->n, first), qdq_node_in(w->n, first + 2));
    if (why == NULL && w->codes.elem == QDQ_UNDEFINED)
        why = "the type of its codes is not known";
    return why;
}

/* Softmax of opset 13 is another one than that of opset 11, unless it is over the last axis. */
static const char *check_softmax(const work *w)
{
    bool is_old = qdq_node_int(w->n, "opset", 13) < 13,
         model_is_old = qdq_graph_opset(w->s->g) < 13;

    return is_old == model_is_old || qdq_node_int(w->n, "axis", -1) == -1
               ? NULL
               : "it is a Softmax of another opset";
}

static const char *check_bias(const work *w)
{
    const qdq_value *v = in_at(w, w->l->bias), *xs = in_at(w, w->l->operand[0] + 1);
    const qdq_value *ws = in_at(w, w->l->operand[1] + 1);
    const qdq_tensor *t = qdq_value_const(v);

    if (v == NULL)
        return NULL;
    if ((qdq_value_const(xs) == NULL || qdq_value_const(ws) == NULL) &&
        qdq_node_float(w->n, "alpha", 1) != 1)
        return "its bias has a scale that is computed";
    if (w->axis >= 0 && (t == NULL || t->rank < 1))
        return "its bias is not a constant with one number for each channel";
    return qdq_value_const(xs) != NULL && !qdq_elem_is_float(qdq_value_const(xs)->elem)
               ? "its scale is not a float tensor"
               : NULL;
}

static const char *check_node(work *w)
{
    const char *why = check_inputs(w);

    if (why == NULL)
        why = check_result(w);
    if (why == NULL && qdq_node_int(w->n, "channels_last", 0) != 0)
        why = "its data has channels last";
    if (why == NULL && strcmp(w->l->to, "Softmax") == 0)
        why = check_softmax(w);
    if (why == NULL && qdq_graph_opset(w->s->g) < 10)
        why = "Q/DQ need opset 10";
    return why != NULL ? why : check_bias(w);
}

/* --- bias ------------------------------------------------------------------------------------- */

/* scale of x times that of w, times alpha: a constant where both are. */
static qdq_status bias_scale(work *w, qdq_value **out)
{
    qdq_value *xs = in_at(w, w->l->operand[0] + 1), *ws = in_at(w, w->l->operand[1] + 1);
    const qdq_tensor *x = qdq_value_const(xs), *y = qdq_value_const(ws);
    float alpha = qdq_node_float(w->n, "alpha", 1), *a, *b;
    qdq_graph *g = w->s->g;

    *out = NULL;
    if (x == NULL || y == NULL) {
        qdq_node *mul =
            qdq_graph_add_op(g, w->n, "Mul", "", "bias_scale", 2, (qdq_value *[]){xs, ws});

        *out = mul != NULL ? mul->out[0] : NULL;
        return mul != NULL ? QDQ_OK : qdq_nomem(w->s->err);
    }
    QDQ_TRY(qdq_tensor_floats(x, &w->s->o->scratch, &a, w->s->err));
    QDQ_TRY(qdq_tensor_floats(y, &w->s->o->scratch, &b, w->s->err));
    float *scale = qdq_arena_array(&w->s->o->scratch, (size_t)y->count + 1, sizeof *scale);
    QDQ_NEED(scale != NULL, w->s->err);
    for (int64_t i = 0; i < y->count; i++)
        scale[i] = alpha * a[0] * b[i];
    qdq_tensor *t = qdq_tensor_of_floats(g->model, w->axis < 0 ? 0 : 1, &y->count, scale);
    *out = qdq_opt_constant(w->s->o, w->n, in_at(w, w->l->bias)->name, "_scale", t);
    return *out != NULL ? QDQ_OK : qdq_nomem(w->s->err);
}

static qdq_status add_bias(work *w, qdq_value **in, uint32_t *n_in)
{
    qdq_value *v = in_at(w, w->l->bias), *scale;
    int axis = w->axis >= 0 ? qdq_value_const(v)->rank - 1 : -1;

    QDQ_TRY(bias_scale(w, &scale));
    in[*n_in] = qdq_qop_dequantize(w->s, w->n, v, scale, NULL, axis);
    return in[(*n_in)++] != NULL ? QDQ_OK : qdq_nomem(w->s->err);
}

/* --- the change ------------------------------------------------------------------------------- */

static qdq_status build_float(work *w)
{
    uint32_t n_operand = count_operands(w), n_in = 0;
    qdq_value **in = qdq_arena_array(&w->s->o->scratch, n_operand + 2, sizeof(qdq_value *));

    QDQ_NEED(in != NULL, w->s->err);
    if (w->l->plain >= 0)
        in[n_in++] = in_at(w, w->l->plain);
    for (uint32_t k = 0; k < n_operand; k++) {
        uint32_t at = operand_at(w, k);

        in[n_in] = qdq_qop_dequantize(w->s, w->n, qdq_node_in(w->n, at), qdq_node_in(w->n, at + 1),
                                      qdq_node_in(w->n, at + 2), k == 1 ? w->axis : -1);
        QDQ_NEED(in[n_in++] != NULL, w->s->err);
    }
    if (in_at(w, w->l->bias) != NULL)
        QDQ_TRY(add_bias(w, in, &n_in));
    bool is_softmax = strcmp(w->l->to, "Softmax") == 0;
    int64_t axis = qdq_node_int(w->n, "axis", -1);
    QDQ_TRY(qdq_qop_recast(w->s, w->n, w->l->to, n_in, in, w->l->attribute));
    if (is_softmax && !qdq_node_set_int(w->n, "axis", axis))
        return qdq_nomem(w->s->err);
    return w->is_float ? QDQ_OK : qdq_qop_requantize(w->s, w->n, 0, w->codes);
}

qdq_status qdq_qop_static(qdq_qop *s, qdq_node *n, bool *done)
{
    work w = {.s = s, .n = n, .l = find_layout(n), .axis = -1};

    *done = w.l != NULL;
    if (w.l == NULL)
        return QDQ_OK;
    return qdq_opt_take_unless(s->o, n, check_node(&w)) ? build_float(&w) : QDQ_OK;
}
