/* eval_unary.c - operators that take each element for itself. What is not exact is computed in
 * double and rounded once. */
#include "opt/eval/eval_kernel.h"

#include <math.h>

/* n elements of `in` into `out`; p holds the attributes. */
typedef void unary_fn(const void *in, void *out, int64_t n, const double *p);

#define LOOP(name, type, wide, result, expression)                                                 \
    static void name(const void *vi, void *vo, int64_t n, const double *p)                         \
    {                                                                                              \
        const type *in = vi;                                                                       \
        result *out = vo;                                                                          \
        (void)p;                                                                                   \
        for (int64_t i = 0; i < n; i++) {                                                          \
            wide x = in[i];                                                                        \
            out[i] = (result)(expression);                                                         \
        }                                                                                          \
    }

#define FLOATS(name, expression)                                                                   \
    LOOP(name##_FLOAT, float, double, float, expression)                                           \
    LOOP(name##_DOUBLE, double, double, double, expression)
#define TESTS(name, expression)                                                                    \
    LOOP(name##_FLOAT, float, float, uint8_t, expression)                                          \
    LOOP(name##_DOUBLE, double, double, uint8_t, expression)
#define SIGNED(name, expression)                                                                   \
    LOOP(name##_INT8, int8_t, int64_t, int8_t, expression)                                         \
    LOOP(name##_INT16, int16_t, int64_t, int16_t, expression)                                      \
    LOOP(name##_INT32, int32_t, int64_t, int32_t, expression)                                      \
    LOOP(name##_INT64, int64_t, int64_t, int64_t, expression)
#define UNSIGNED(name, expression)                                                                 \
    LOOP(name##_UINT8, uint8_t, uint64_t, uint8_t, expression)                                     \
    LOOP(name##_UINT16, uint16_t, uint64_t, uint16_t, expression)                                  \
    LOOP(name##_UINT32, uint32_t, uint64_t, uint32_t, expression)                                  \
    LOOP(name##_UINT64, uint64_t, uint64_t, uint64_t, expression)

#define MINUS(x) (UINT64_C(0) - (uint64_t)(x)) /* wraps */

LOOP(abs_FLOAT, float, float, float, fabsf(x))
LOOP(abs_DOUBLE, double, double, double, fabs(x))
SIGNED(abs, x < 0 ? MINUS(x) : (uint64_t)x)
UNSIGNED(abs, x)
LOOP(neg_FLOAT, float, float, float, -x)
LOOP(neg_DOUBLE, double, double, double, -x)
SIGNED(neg, MINUS(x))
LOOP(relu_FLOAT, float, float, float, x <= 0 ? 0 : x)
LOOP(relu_DOUBLE, double, double, double, x <= 0 ? 0 : x)
SIGNED(relu, x < 0 ? 0 : x)
LOOP(sqrt_FLOAT, float, float, float, sqrtf(x))
LOOP(sqrt_DOUBLE, double, double, double, sqrt(x))
LOOP(reciprocal_FLOAT, float, float, float, 1.0F / x)
LOOP(reciprocal_DOUBLE, double, double, double, 1.0 / x)
FLOATS(sign, x > 0 ? 1.0 : x < 0 ? -1.0 : x != x ? x : 0.0)
SIGNED(sign, (x > 0) - (x < 0))
UNSIGNED(sign, x > 0)
SIGNED(bit_not, ~x)
UNSIGNED(bit_not, ~x)
LOOP(not_BOOL, uint8_t, uint8_t, uint8_t, x == 0)
TESTS(is_nan, isnan(x))
TESTS(is_inf, isinf(x) && (x > 0 ? p[1] != 0 : p[0] != 0))

FLOATS(ceil, ceil(x))
FLOATS(floor, floor(x))
FLOATS(round, nearbyint(x))
FLOATS(exp, exp(x))
FLOATS(log, log(x))
FLOATS(sin, sin(x))
FLOATS(cos, cos(x))
FLOATS(tan, tan(x))
FLOATS(asin, asin(x))
FLOATS(acos, acos(x))
FLOATS(atan, atan(x))
FLOATS(sinh, sinh(x))
FLOATS(cosh, cosh(x))
FLOATS(tanh, tanh(x))
FLOATS(asinh, asinh(x))
FLOATS(acosh, acosh(x))
FLOATS(atanh, atanh(x))
FLOATS(erf, erf(x))
FLOATS(sigmoid, 1.0 / (1.0 + exp(-x)))
/* exp(x) may be infinite, its log is not */
FLOATS(softplus, x > 0 ? x + log1p(exp(-x)) : log1p(exp(x)))
FLOATS(softsign, x / (1.0 + fabs(x)))
FLOATS(leaky_relu, x < 0 ? p[0] * x : x)
FLOATS(thresholded_relu, x != x || x > p[0] ? x : 0.0)
FLOATS(elu, x < 0 ? p[0] * expm1(x) : x)
FLOATS(selu, p[1] * (x < 0 ? p[0] * expm1(x) : x))
FLOATS(hard_sigmoid, x != x ? x : fmax(0.0, fmin(1.0, p[0] * x + p[1])))
FLOATS(celu, x < 0 ? p[0] * expm1(x / p[0]) : x)
FLOATS(shrink, x<-p[0] ? x + p[1] : x> p[0] ? x - p[1] : x != x ? x : 0.0)
FLOATS(mish, x *tanh(x > 0 ? x + log1p(exp(-x)) : log1p(exp(x))))
FLOATS(swish, x / (1.0 + exp(-p[0] * x)))
#define SQRT_HALF       0.70710678118654752440
#define SQRT_TWO_PER_PI 0.79788456080286535588
FLOATS(gelu, 0.5 * x *
                 (1.0 + (p[0] != 0 ? tanh(SQRT_TWO_PER_PI * (x + 0.044715 * x * x * x))
                                   : erf(SQRT_HALF * x))))
FLOATS(hard_swish, x != x ? x : x * fmax(0.0, fmin(1.0, x / 6.0 + 0.5)))

/* --- which loop ------------------------------------------------------------------------------- */

typedef unary_fn *unary_table[QDQ_ELEM_COUNT];

#define TYPE(name, E)    [QDQ_##E] = name##_##E
#define ALL_FLOATS(name) TYPE(name, FLOAT), TYPE(name, DOUBLE)
#define ALL_SIGNED(name) TYPE(name, INT8), TYPE(name, INT16), TYPE(name, INT32), TYPE(name, INT64)
#define ALL_UNSIGNED(name)                                                                         \
    TYPE(name, UINT8), TYPE(name, UINT16), TYPE(name, UINT32), TYPE(name, UINT64)

static const unary_table tables[QDQ_OP_COUNT] = {
    [QDQ_OP_ABS] = {ALL_FLOATS(abs), ALL_SIGNED(abs), ALL_UNSIGNED(abs)},
    [QDQ_OP_NEG] = {ALL_FLOATS(neg), ALL_SIGNED(neg)},
    [QDQ_OP_RELU] = {ALL_FLOATS(relu), ALL_SIGNED(relu)},
    [QDQ_OP_SQRT] = {ALL_FLOATS(sqrt)},
    [QDQ_OP_RECIPROCAL] = {ALL_FLOATS(reciprocal)},
    [QDQ_OP_SIGN] = {ALL_FLOATS(sign), ALL_SIGNED(sign), ALL_UNSIGNED(sign)},
    [QDQ_OP_BITWISENOT] = {ALL_SIGNED(bit_not), ALL_UNSIGNED(bit_not)},
    [QDQ_OP_NOT] = {TYPE(not, BOOL)},
    [QDQ_OP_ISNAN] = {ALL_FLOATS(is_nan)},
    [QDQ_OP_ISINF] = {ALL_FLOATS(is_inf)},
    [QDQ_OP_CEIL] = {ALL_FLOATS(ceil)},
    [QDQ_OP_FLOOR] = {ALL_FLOATS(floor)},
    [QDQ_OP_ROUND] = {ALL_FLOATS(round)},
    [QDQ_OP_EXP] = {ALL_FLOATS(exp)},
    [QDQ_OP_LOG] = {ALL_FLOATS(log)},
    [QDQ_OP_SIN] = {ALL_FLOATS(sin)},
    [QDQ_OP_COS] = {ALL_FLOATS(cos)},
    [QDQ_OP_TAN] = {ALL_FLOATS(tan)},
    [QDQ_OP_ASIN] = {ALL_FLOATS(asin)},
    [QDQ_OP_ACOS] = {ALL_FLOATS(acos)},
    [QDQ_OP_ATAN] = {ALL_FLOATS(atan)},
    [QDQ_OP_SINH] = {ALL_FLOATS(sinh)},
    [QDQ_OP_COSH] = {ALL_FLOATS(cosh)},
    [QDQ_OP_TANH] = {ALL_FLOATS(tanh)},
    [QDQ_OP_ASINH] = {ALL_FLOATS(asinh)},
    [QDQ_OP_ACOSH] = {ALL_FLOATS(acosh)},
    [QDQ_OP_ATANH] = {ALL_FLOATS(atanh)},
    [QDQ_OP_ERF] = {ALL_FLOATS(erf)},
    [QDQ_OP_SIGMOID] = {ALL_FLOATS(sigmoid)},
    [QDQ_OP_SOFTPLUS] = {ALL_FLOATS(softplus)},
    [QDQ_OP_SOFTSIGN] = {ALL_FLOATS(softsign)},
    [QDQ_OP_LEAKYRELU] = {ALL_FLOATS(leaky_relu)},
    [QDQ_OP_THRESHOLDEDRELU] = {ALL_FLOATS(thresholded_relu)},
    [QDQ_OP_ELU] = {ALL_FLOATS(elu)},
    [QDQ_OP_SELU] = {ALL_FLOATS(selu)},
    [QDQ_OP_HARDSIGMOID] = {ALL_FLOATS(hard_sigmoid)},
    [QDQ_OP_CELU] = {ALL_FLOATS(celu)},
    [QDQ_OP_SHRINK] = {ALL_FLOATS(shrink)},
    [QDQ_OP_MISH] = {ALL_FLOATS(mish)},
    [QDQ_OP_SWISH] = {ALL_FLOATS(swish)},
    [QDQ_OP_GELU] = {ALL_FLOATS(gelu)},
    [QDQ_OP_HARDSWISH] = {ALL_FLOATS(hard_swish)},
};

/* p[0], p[1] in the order that the loops above use. */
static void read_attributes(qdq_eval *c, double p[2])
{
    static const struct {
        qdq_op op;
        const char *name[2];
        float fallback[2];
    } floats[] = {
        {QDQ_OP_LEAKYRELU, {"alpha", NULL}, {0.01F, 0}},
        {QDQ_OP_THRESHOLDEDRELU, {"alpha", NULL}, {1.0F, 0}},
        {QDQ_OP_ELU, {"alpha", NULL}, {1.0F, 0}},
        {QDQ_OP_SELU, {"alpha", "gamma"}, {1.67326319217681884765625F, 1.05070102214813232421875F}},
        {QDQ_OP_CELU, {"alpha", NULL}, {1.0F, 0}},
        {QDQ_OP_SHRINK, {"lambd", "bias"}, {0.5F, 0.0F}},
        {QDQ_OP_SWISH, {"alpha", NULL}, {1.0F, 0}},
        {QDQ_OP_HARDSIGMOID, {"alpha", "beta"}, {0.2F, 0.5F}},
    };

    if (c->node->op == QDQ_OP_ISINF) {
        p[0] = (double)qdq_eval_flag(c, "detect_negative", true);
        p[1] = (double)qdq_eval_flag(c, "detect_positive", true);
    }
    if (c->node->op == QDQ_OP_GELU)
        p[0] = (double)qdq_eval_string_is(c, "approximate", "tanh", "none");
    for (size_t i = 0; i < QDQ_COUNT(floats); i++)
        for (int k = 0; k < 2 && floats[i].op == c->node->op; k++)
            if (floats[i].name[k] != NULL)
                p[k] = (double)qdq_eval_float(c, floats[i].name[k], floats[i].fallback[k]);
}

bool qdq_eval_unary(qdq_eval *c)
{
    const qdq_const *x = c->in[0];
    unary_fn *run = tables[c->node->op][x->elem];
    bool is_test = c->node->op == QDQ_OP_ISNAN || c->node->op == QDQ_OP_ISINF;
    double p[2] = {0, 0};

    if (run == NULL)
        return qdq_eval_refuse_type(c, 0);
    read_attributes(c, p);
    void *out = qdq_eval_output(c, 0, is_test ? QDQ_BOOL : x->elem, x->rank, x->dim);
    if (out == NULL)
        return false;
    run(x->data, out, x->count, p);
    return true;
}
