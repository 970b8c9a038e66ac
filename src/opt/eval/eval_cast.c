/* eval_cast.c - Cast and CastLike: every type but strings and complex numbers to every other, by
 * way of the widest type of its kind, as ONNX's specification of opset 25 defines it. What it
 * leaves open is refused: a float beyond the range of an integer type of 8 bits or more, floats
 * with a fraction as 4 or 2 bits, what is not positive as float8e8m0. */
#include "opt/eval/eval_kernel.h"

#include <math.h>

#include "base/half.h"

enum { CHUNK = 512 };

typedef enum way { SIGNED, UNSIGNED64, FLOATING } way;

/* Elements on their way; the member of their kind. */
typedef union chunk {
    int64_t i[CHUNK];
    uint64_t u[CHUNK];
    double f[CHUNK];
} chunk;

static way way_of(qdq_elem e)
{
    return e == QDQ_UINT64 ? UNSIGNED64 : qdq_elem_is_int(e) ? SIGNED : FLOATING;
}

/* --- in --------------------------------------------------------------------------------------- */

#define LOAD(E, type, member, expression)                                                          \
    if (x->elem == QDQ_##E) {                                                                      \
        const type *at = (const type *)x->data + from;                                             \
        for (int k = 0; k < n; k++)                                                                \
            to->member[k] = expression;                                                            \
        return;                                                                                    \
    }

static void load(const qdq_const *x, int64_t from, int n, chunk *to)
{
    LOAD(FLOAT, float, f, (double)at[k])
    LOAD(DOUBLE, double, f, at[k])
    LOAD(INT64, int64_t, i, at[k])
    LOAD(INT32, int32_t, i, at[k])
    LOAD(UINT8, uint8_t, i, at[k])
    LOAD(INT8, int8_t, i, at[k])
    LOAD(BOOL, uint8_t, i, at[k] != 0)
    LOAD(UINT16, uint16_t, i, at[k])
    LOAD(INT16, int16_t, i, at[k])
    LOAD(UINT32, uint32_t, i, at[k])
    LOAD(UINT64, uint64_t, u, at[k])
    LOAD(FLOAT16, uint16_t, f, (double)qdq_float_of_float16(at[k]))
    LOAD(BFLOAT16, uint16_t, f, (double)qdq_float_of_bfloat16(at[k]))
    for (int k = 0; k < n; k++)
        if (qdq_elem_is_int(x->elem))
            to->i[k] = qdq_elem_int(x->elem, x->data, from + k);
        else
            to->f[k] = (double)qdq_elem_float(x->elem, x->data, from + k);
}

/* --- out -------------------------------------------------------------------------------------- */

#define STORE(E, type, expression)                                                                 \
    if (e == QDQ_##E) {                                                                            \
        type *at = (type *)out + to;                                                               \
        for (int k = 0; k < n; k++)                                                                \
            at[k] = (type)(expression);                                                            \
        return true;                                                                               \
    }
/* Towards zero; a number whose integer part the type does not have is refused, and so is NaN. */
#define STORE_TRUNCATED(E, type, low, high)                                                        \
    if (e == QDQ_##E) {                                                                            \
        type *at = (type *)out + to;                                                               \
        for (int k = 0; k < n; k++) {                                                              \
            double whole = trunc(x->f[k]);                                                         \
            if (!(whole >= low && whole < high))                                                   \
                return false;                                                                      \
            at[k] = (type)whole;                                                                   \
        }                                                                                          \
        return true;                                                                               \
    }

/* Integers that do not fit 2 or 4 bits wrap, as in the other types. */
static bool store_small_int(const int64_t *x, int n, qdq_elem e, void *out, int64_t to)
{
    int64_t half = (int64_t)1 << (qdq_elem_bits(e) - 1), all = 2 * half;

    for (int k = 0; k < n; k++) {
        int64_t low = (int64_t)((uint64_t)x[k] & (uint64_t)(all - 1));

        if (qdq_elem_get_info(e)->kind == QDQ_ELEM_INT && low >= half)
            low -= all;
        if (!qdq_elem_put_int(e, out, to + k, low))
            return false;
    }
    return true;
}

/* How a float becomes a small one. */
typedef enum round_mode { UP, DOWN, NEAREST } round_mode;

typedef struct rounding {
    /* what is too large becomes the largest, as ONNX wants by default */
    bool saturate;
    /* below opset 24, whose table had other words for infinity */
    bool is_old;
    /* of float8e8m0 */
    round_mode mode;
} rounding;

/* Powers of two: the table of opset 24 leaves open what is below 0, and its words on 0 and infinity
 * are not those of its tests, but for 0 that saturates. */
static bool store_power(double x, void *out, int64_t i, const rounding *r)
{
    int exponent;
    double part;

    if (isnan(x))
        return qdq_elem_put_float(QDQ_FLOAT8E8M0, out, i, x);
    if (isinf(x) || signbit(x) || (x == 0 && !(r->saturate && r->mode == UP)))
        return false;
    if (x <= 0x1p-127 && (x == 0x1p-127 || r->saturate))
        return qdq_elem_put_float(QDQ_FLOAT8E8M0, out, i, 0x1p-127);
    if (x < 0x1p-127 || (x > 0x1p127 && !r->saturate))
        return qdq_elem_put_float(QDQ_FLOAT8E8M0, out, i, (double)NAN);
    if (x >= 0x1p127)
        return qdq_elem_put_float(QDQ_FLOAT8E8M0, out, i, 0x1p127);
    part = frexp(x, &exponent); /* from 1/2 to 1 */
    if (r->mode == UP ? part > 0.5 : r->mode == NEAREST && part >= 0.75)
        exponent++;
    return qdq_elem_put_float(QDQ_FLOAT8E8M0, out, i, ldexp(1, exponent - 1));
}

static bool store_small_float(double x, qdq_elem e, void *out, int64_t i, const rounding *r)
{
    double largest = e == QDQ_FLOAT8E4M3FN     ? 448
                     : e == QDQ_FLOAT8E4M3FNUZ ? 240
                     : e == QDQ_FLOAT4E2M1     ? 6
                                               : 57344;
    bool is_fnuz = e == QDQ_FLOAT8E4M3FNUZ || e == QDQ_FLOAT8E5M2FNUZ;

    if (e == QDQ_FLOAT8E8M0)
        return store_power(x, out, i, r);
    if (isinf(x) && is_fnuz && r->is_old && r->saturate)
        return false;
    if (!(isinf(x) && r->saturate) && qdq_elem_put_float(e, out, i, x))
        return true;
    if (isnan(x)) /* float4e2m1, which has none: what ONNX's tests have */
        return qdq_elem_put_float(e, out, i, -0.0);
    if (r->saturate || e == QDQ_FLOAT4E2M1)
        return qdq_elem_put_float(e, out, i, copysign(largest, x));
    return qdq_elem_put_float(e, out, i, e == QDQ_FLOAT8E5M2 ? copysign(INFINITY, x) : (double)NAN);
}

/* The nearest double is not enough on the way to a smaller type: that would round twice. What does
 * not fit sets the last bit that does. */
static double sticky(uint64_t magnitude, bool negative)
{
    if (magnitude >> 53 != 0)
        magnitude = (magnitude >> 11 | ((magnitude & 0x7ff) != 0)) << 11;
    return negative ? -(double)magnitude : (double)magnitude;
}

static bool store_int(const chunk *x, int n, qdq_elem e, void *out, int64_t to)
{
    STORE(FLOAT, float, x->i[k])
    STORE(DOUBLE, double, x->i[k])
    STORE(BOOL, uint8_t, x->i[k] != 0)
    STORE(UINT8, uint8_t, x->i[k])
    STORE(INT8, int8_t, x->i[k])
    STORE(UINT16, uint16_t, x->i[k])
    STORE(INT16, int16_t, x->i[k])
    STORE(UINT32, uint32_t, x->i[k])
    STORE(INT32, int32_t, x->i[k])
    STORE(UINT64, uint64_t, x->i[k])
    STORE(INT64, int64_t, x->i[k])
    return store_small_int(x->i, n, e, out, to);
}

static bool store_float(const chunk *x, int n, qdq_elem e, void *out, int64_t to, const rounding *r)
{
    STORE(FLOAT, float, x->f[k])
    STORE(DOUBLE, double, x->f[k])
    STORE(FLOAT16, uint16_t, qdq_float16_of_double(x->f[k]))
    STORE(BFLOAT16, uint16_t, qdq_bfloat16_of_double(x->f[k]))
    STORE(BOOL, uint8_t, x->f[k] != 0)
    STORE_TRUNCATED(UINT8, uint8_t, 0, 0x1p8)
    STORE_TRUNCATED(INT8, int8_t, -0x1p7, 0x1p7)
    STORE_TRUNCATED(UINT16, uint16_t, 0, 0x1p16)
    STORE_TRUNCATED(INT16, int16_t, -0x1p15, 0x1p15)
    STORE_TRUNCATED(UINT32, uint32_t, 0, 0x1p32)
    STORE_TRUNCATED(INT32, int32_t, -0x1p31, 0x1p31)
    STORE_TRUNCATED(UINT64, uint64_t, 0, 0x1p64)
    STORE_TRUNCATED(INT64, int64_t, -0x1p63, 0x1p63)
    if (qdq_elem_is_int(e)) { /* 2 and 4 bits: whole numbers wrap in ONNX's tests and in engines */
        int64_t whole[CHUNK];

        for (int k = 0; k < n; k++) {
            if (!(fabs(x->f[k]) < 128) || x->f[k] != trunc(x->f[k]))
                return false;
            whole[k] = (int64_t)x->f[k];
        }
        return store_small_int(whole, n, e, out, to);
    }
    for (int k = 0; k < n; k++)
        if (!store_small_float(x->f[k], e, out, to + k, r))
            return false;
    return true;
}

/* --- both ------------------------------------------------------------------------------------- */

static bool store(chunk *x, way by, int n, qdq_elem e, void *out, int64_t to, const rounding *r)
{
    if (by == FLOATING)
        return store_float(x, n, e, out, to, r);
    if (!qdq_elem_is_int(e) && !qdq_eval_is_float(e)) {
        for (int k = 0; k < n; k++) {
            bool negative = by == SIGNED && x->i[k] < 0;

            x->f[k] = sticky(negative ? UINT64_C(0) - x->u[k] : x->u[k], negative);
        }
        return store_float(x, n, e, out, to, r);
    }
    if (by == UNSIGNED64) {
        STORE(FLOAT, float, x->u[k])
        STORE(DOUBLE, double, x->u[k])
    }
    return store_int(x, n, e, out, to);
}

static bool wanted_type(qdq_eval *c, qdq_elem *to)
{
    int64_t number;

    if (c->node->op == QDQ_OP_CASTLIKE) {
        *to = c->in[1]->elem;
    } else {
        number = qdq_eval_int(c, "to", QDQ_UNDEFINED);
        *to = number > 0 && number < QDQ_ELEM_COUNT ? (qdq_elem)number : QDQ_UNDEFINED;
    }
    if (!qdq_elem_is_int(*to) && !qdq_elem_is_float(*to))
        return QDQ_REFUSE(c, "a cast to a type that is not computed here");
    return true;
}

bool qdq_eval_cast(qdq_eval *c)
{
    const qdq_const *x = c->in[0];
    rounding r = {qdq_eval_flag(c, "saturate", true), c->opset < 24, UP};
    way by = way_of(x->elem);
    chunk part;
    qdq_elem to;

    if (!wanted_type(c, &to))
        return false;
    r.mode = qdq_eval_string_is(c, "round_mode", "down", "up")      ? DOWN
             : qdq_eval_string_is(c, "round_mode", "nearest", "up") ? NEAREST
                                                                    : UP;
    if (r.mode == UP && !qdq_eval_string_is(c, "round_mode", "up", "up"))
        return QDQ_REFUSE(c, "attribute 'round_mode' has none of its values");
    if (to == x->elem)
        return qdq_eval_view(c, 0, x, x->rank, x->dim);
    if (!qdq_elem_is_int(x->elem) && !qdq_elem_is_float(x->elem))
        return qdq_eval_refuse_type(c, 0);
    void *out = qdq_eval_output(c, 0, to, x->rank, x->dim);
    if (out == NULL)
        return false;
    for (int64_t i = 0; i < x->count; i += CHUNK) {
        int n = x->count - i < CHUNK ? (int)(x->count - i) : CHUNK;

        load(x, i, n, &part);
        if (!store(&part, by, n, to, out, i, &r))
            return QDQ_REFUSE(c, "a number that has no certain value as %s", qdq_elem_name(to));
    }
    return true;
}
