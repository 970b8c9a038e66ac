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

#define SQRT_HALF       0.70710678118654752440
#define SQRT_TWO_PER_PI 0.79788456080286535588

typedef double on_double_fn(double x, const double *p);

#define UNARY(OP, expression)                                                                      \
    static double on_##OP(double x, const double *p)                                               \
    {                                                                                              \
        (void)p;                                                                                   \
        return expression;                                                                         \
    }
#include "opt/eval/eval_unary.def"
#undef UNARY

static on_double_fn *const on_doubles[QDQ_OP_COUNT] = {
#define UNARY(OP, expression) [QDQ_OP_##OP] = on_##OP,
#include "opt/eval/eval_unary.def"
#undef UNARY
};

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
    on_double_fn *fn = qdq_eval_is_float(x->elem) ? on_doubles[c->node->op] : NULL;
    bool is_test = c->node->op == QDQ_OP_ISNAN || c->node->op == QDQ_OP_ISINF;
    double p[2] = {0, 0};

    if (run == NULL && fn == NULL)
        return qdq_eval_refuse_type(c, 0);
    read_attributes(c, p);
    void *out = qdq_eval_output(c, 0, is_test ? QDQ_BOOL : x->elem, x->rank, x->dim);
    if (out == NULL)
        return false;
    if (run != NULL)
        run(x->data, out, x->count, p);
    for (int64_t i = 0; run == NULL && i < x->count; i++)
        qdq_eval_put_number(x->elem, out, i, fn(qdq_eval_number(x, i), p));
    return true;
}
