/* eval_binary.c - arithmetic, comparison and logic of arrays that are broadcast together. One loop
 * for each operator and type; integers are computed in 64 bits without a sign, which wraps as every
 * type wraps. */
#include "opt/eval/eval_kernel.h"

#include <math.h>
#include <string.h>

/* --- loops ------------------------------------------------------------------------------------ */

/* `out` may be `a`. x and y are the elements in `expression`. */
#define RUN(name, type, result, expression)                                                        \
    static void name(const void *va, int64_t sa, const void *vb, int64_t sb, void *vo, int64_t n)  \
    {                                                                                              \
        const type *a = va, *b = vb;                                                               \
        result *o = vo;                                                                            \
        if (sa == 1 && sb == 1)                                                                    \
            for (int64_t i = 0; i < n; i++) {                                                      \
                type x = a[i], y = b[i];                                                           \
                o[i] = (result)(expression);                                                       \
            }                                                                                      \
        else if (sa == 1 && sb == 0) {                                                             \
            type y = b[0];                                                                         \
            for (int64_t i = 0; i < n; i++) {                                                      \
                type x = a[i];                                                                     \
                o[i] = (result)(expression);                                                       \
            }                                                                                      \
        } else                                                                                     \
            for (int64_t i = 0; i < n; i++) {                                                      \
                type x = a[i * sa], y = b[i * sb];                                                 \
                o[i] = (result)(expression);                                                       \
            }                                                                                      \
    }

#define U(x) ((uint64_t)(x))

/* The sign of the remainder is that of the divisor; C has that of the dividend. */
#define FLOOR_MOD(x, y) (x % y != 0 && (x % y < 0) != (y < 0) ? x % y + y : x % y)
/* INT_MIN / -1 would trap. */
#define SIGNED_DIV(x, y) (y == -1 ? U(0) - U(x) : U(x / y))
#define SIGNED_MOD(x, y) (y == -1 ? 0 : FLOOR_MOD(x, y))
#define SIGNED_REM(x, y) (y == -1 ? 0 : x % y)
/* A NaN on either side is the result. */
#define FLOAT_MAX(x, y) (x > y || x != x ? x : y)
#define FLOAT_MIN(x, y) (x < y || x != x ? x : y)

/* Greater is Less the other way round. */
#define ORDER(type, E)                                                                             \
    RUN(less_##E, type, uint8_t, x < y)                                                            \
    RUN(less_equal_##E, type, uint8_t, x <= y)

#define INTEGER(type, E)                                                                           \
    ORDER(type, E)                                                                                 \
    RUN(max_##E, type, type, x > y ? x : y)                                                        \
    RUN(min_##E, type, type, x < y ? x : y)

#define SIGNED(type, E)                                                                            \
    INTEGER(type, E)                                                                               \
    RUN(div_##E, type, type, SIGNED_DIV(x, y))                                                     \
    RUN(mod_##E, type, type, SIGNED_MOD(x, y))                                                     \
    RUN(rem_##E, type, type, SIGNED_REM(x, y))

/* The first seven serve the type with a sign, too: bits are the same. */
#define UNSIGNED(type, E)                                                                          \
    RUN(add_##E, type, type, U(x) + U(y))                                                          \
    RUN(sub_##E, type, type, U(x) - U(y))                                                          \
    RUN(mul_##E, type, type, U(x) * U(y))                                                          \
    RUN(bit_and_##E, type, type, x &y)                                                             \
    RUN(bit_or_##E, type, type, x | y)                                                             \
    RUN(bit_xor_##E, type, type, x ^ y)                                                            \
    RUN(equal_##E, type, uint8_t, x == y)                                                          \
    INTEGER(type, E)                                                                               \
    RUN(div_##E, type, type, x / y)                                                                \
    RUN(mod_##E, type, type, x % y)                                                                \
    RUN(shift_left_##E, type, type, U(x) << y)                                                     \
    RUN(shift_right_##E, type, type, x >> y)

#define FLOATING(type, E, fmod_function)                                                           \
    ORDER(type, E)                                                                                 \
    RUN(equal_##E, type, uint8_t, x == y)                                                          \
    RUN(add_##E, type, type, x + y)                                                                \
    RUN(sub_##E, type, type, x - y)                                                                \
    RUN(mul_##E, type, type, x *y)                                                                 \
    RUN(div_##E, type, type, x / y)                                                                \
    RUN(max_##E, type, type, FLOAT_MAX(x, y))                                                      \
    RUN(min_##E, type, type, FLOAT_MIN(x, y))                                                      \
    RUN(rem_##E, type, type, fmod_function(x, y))

QDQ_EVAL_INTEGERS(SIGNED, UNSIGNED)
FLOATING(float, FLOAT, fmodf)
FLOATING(double, DOUBLE, fmod)
RUN(prelu_INT32, int32_t, int32_t, x < 0 ? U(x) * U(y) : U(x))
RUN(prelu_INT64, int64_t, int64_t, x < 0 ? U(x) * U(y) : U(x))
RUN(prelu_FLOAT, float, float, x < 0 ? x * y : x)
RUN(prelu_DOUBLE, double, double, x < 0 ? x * y : x)
RUN(equal_BOOL, uint8_t, uint8_t, (x != 0) == (y != 0))
RUN(and_BOOL, uint8_t, uint8_t, x != 0 && y != 0)
RUN(or_BOOL, uint8_t, uint8_t, x != 0 || y != 0)
RUN(xor_BOOL, uint8_t, uint8_t, (x != 0) != (y != 0))

/* --- which loop ------------------------------------------------------------------------------- */

typedef qdq_run_fn *run_table[QDQ_ELEM_COUNT];

#define TYPE_BY(name, E, F) [QDQ_##E] = name##_##F
#define TYPE(name, E)       TYPE_BY(name, E, E)
#define UNSIGNEDS(name)                                                                            \
    TYPE(name, UINT8), TYPE(name, UINT16), TYPE(name, UINT32), TYPE(name, UINT64)
#define SIGNEDS(name)  TYPE(name, INT8), TYPE(name, INT16), TYPE(name, INT32), TYPE(name, INT64)
#define INTEGERS(name) UNSIGNEDS(name), SIGNEDS(name)
#define FLOATS(name)   TYPE(name, FLOAT), TYPE(name, DOUBLE)
#define NUMBERS(name)  INTEGERS(name), FLOATS(name)
/* Where the sign of an integer changes no bit of the result. */
#define INTEGER_BITS(name)                                                                         \
    UNSIGNEDS(name), TYPE_BY(name, INT8, UINT8), TYPE_BY(name, INT16, UINT16),                     \
        TYPE_BY(name, INT32, UINT32), TYPE_BY(name, INT64, UINT64)
#define NUMBER_BITS(name) INTEGER_BITS(name), FLOATS(name)

static const run_table rem = {UNSIGNEDS(mod), SIGNEDS(rem), FLOATS(rem)},
                       shift_left = {UNSIGNEDS(shift_left)}, shift_right = {UNSIGNEDS(shift_right)};

static const struct operation {
    run_table runs;
    bool gives_bool;
    /* the second input comes first */
    bool swapped;
} operations[QDQ_OP_COUNT] = {
    [QDQ_OP_ADD] = {{NUMBER_BITS(add)}, false, false},
    [QDQ_OP_SUM] = {{NUMBER_BITS(add)}, false, false},
    [QDQ_OP_MEAN] = {{NUMBER_BITS(add)}, false, false}, /* but for the division */
    [QDQ_OP_SUB] = {{NUMBER_BITS(sub)}, false, false},
    [QDQ_OP_MUL] = {{NUMBER_BITS(mul)}, false, false},
    [QDQ_OP_DIV] = {{NUMBERS(div)}, false, false},
    [QDQ_OP_MAX] = {{NUMBERS(max)}, false, false},
    [QDQ_OP_MIN] = {{NUMBERS(min)}, false, false},
    [QDQ_OP_MOD] = {{INTEGERS(mod)}, false, false},
    [QDQ_OP_BITWISEAND] = {{INTEGER_BITS(bit_and)}, false, false},
    [QDQ_OP_BITWISEOR] = {{INTEGER_BITS(bit_or)}, false, false},
    [QDQ_OP_BITWISEXOR] = {{INTEGER_BITS(bit_xor)}, false, false},
    [QDQ_OP_EQUAL] = {{NUMBER_BITS(equal), TYPE(equal, BOOL)}, true, false},
    [QDQ_OP_LESS] = {{NUMBERS(less)}, true, false},
    [QDQ_OP_LESSOREQUAL] = {{NUMBERS(less_equal)}, true, false},
    [QDQ_OP_GREATER] = {{NUMBERS(less)}, true, true},
    [QDQ_OP_GREATEROREQUAL] = {{NUMBERS(less_equal)}, true, true},
    [QDQ_OP_PRELU] = {{TYPE(prelu, INT32), TYPE(prelu, INT64), TYPE(prelu, FLOAT),
                       TYPE(prelu, DOUBLE)},
                      false,
                      false},
    [QDQ_OP_AND] = {{TYPE(and, BOOL)}, true, false},
    [QDQ_OP_OR] = {{TYPE(or, BOOL)}, true, false},
    [QDQ_OP_XOR] = {{TYPE(xor, BOOL)}, true, false},
};

qdq_run_fn *qdq_eval_run_of(qdq_op op, qdq_elem e)
{
    return (unsigned)e < (unsigned)QDQ_ELEM_COUNT ? operations[op].runs[e] : NULL;
}

static const run_table *runs_of_node(qdq_eval *c)
{
    if (c->node->op == QDQ_OP_BITSHIFT)
        return qdq_eval_string_is(c, "direction", "LEFT", "")    ? &shift_left
               : qdq_eval_string_is(c, "direction", "RIGHT", "") ? &shift_right
                                                                 : NULL;
    if (c->node->op == QDQ_OP_MOD)
        return qdq_eval_flag(c, "fmod", false) ? &rem : &operations[QDQ_OP_MOD].runs;
    return &operations[c->node->op].runs;
}

/* --- two arrays ------------------------------------------------------------------------------- */

/* Three places that move together: in a, in b, in what comes out. */
static bool begin_walk(qdq_walk *w, int rank, const int64_t *dim, const qdq_const *a,
                       const qdq_const *b)
{
    w->rank = rank;
    for (int i = 0; i < rank; i++)
        w->dim[i] = dim[i];
    qdq_eval_broadcast_strides(a, rank, w->stride[0]);
    qdq_eval_broadcast_strides(b, rank, w->stride[1]);
    qdq_eval_strides(rank, dim, w->stride[2]);
    return qdq_walk_begin(w, 3);
}

static void walk_all(int rank, const int64_t *dim, const qdq_const *a, const qdq_const *b,
                     size_t out_size, void *out, qdq_run_fn *run)
{
    size_t size = qdq_eval_size(a->elem);
    const char *from_a = a->data, *from_b = b->data;
    char *to = out;
    qdq_walk w;

    for (bool more = begin_walk(&w, rank, dim, a, b); more; more = qdq_walk_next(&w))
        run(from_a + w.offset[0] * (int64_t)size, w.step[0], from_b + w.offset[1] * (int64_t)size,
            w.step[1], to + w.offset[2] * (int64_t)out_size, w.run);
}

/* What integers cannot be divided or shifted by. */
static bool check_divisor(qdq_eval *c)
{
    const qdq_const *b = c->in[1];
    uint64_t bits = qdq_elem_bits(b->elem);
    qdq_op op = c->node->op;

    if (!qdq_elem_is_int(b->elem))
        return true;
    if (op == QDQ_OP_DIV || op == QDQ_OP_MOD) {
        for (int64_t i = 0; i < b->count; i++)
            if (qdq_elem_int(b->elem, b->data, i) == 0)
                return QDQ_REFUSE(c, "integer division by zero");
    } else if (op == QDQ_OP_BITSHIFT) {
        for (int64_t i = 0; i < b->count; i++)
            if ((uint64_t)qdq_elem_int(b->elem, b->data, i) >= bits)
                return QDQ_REFUSE(c, "a shift by as many bits as the type has, or more");
    }
    return true;
}

bool qdq_eval_binary(qdq_eval *c)
{
    const run_table *runs = runs_of_node(c);
    qdq_elem e = c->in[0]->elem;
    int64_t dim[QDQ_EVAL_RANK];
    int rank;

    if (!qdq_eval_same_types(c))
        return false;
    if (runs == NULL)
        return QDQ_REFUSE(c, "attribute 'direction' is neither LEFT nor RIGHT");
    if ((*runs)[e] == NULL)
        return qdq_eval_refuse_type(c, 0);
    if (!check_divisor(c) || !qdq_eval_broadcast(c, 2, c->in, &rank, dim))
        return false;
    qdq_elem to = operations[c->node->op].gives_bool ? QDQ_BOOL : e;
    const bool swapped = operations[c->node->op].swapped;
    void *out = qdq_eval_output(c, 0, to, rank, dim);
    if (out == NULL)
        return false;
    walk_all(rank, dim, c->in[swapped], c->in[!swapped], qdq_eval_size(to), out, (*runs)[e]);
    return true;
}

/* The slope is broadcast to the data, never the other way round. */
bool qdq_eval_prelu(qdq_eval *c)
{
    if (!qdq_eval_binary(c))
        return false;
    if (c->out[0].count != c->in[0]->count || c->out[0].rank != c->in[0]->rank)
        return QDQ_REFUSE(c, "the slope does not broadcast to the data");
    return true;
}

/* --- any number of arrays --------------------------------------------------------------------- */

static void divide_all(const qdq_const *out, void *data, uint32_t n)
{
    float single = (float)n;
    double twice = n;

    if (out->elem == QDQ_FLOAT)
        div_FLOAT(data, 1, &single, 0, data, out->count);
    else
        div_DOUBLE(data, 1, &twice, 0, data, out->count);
}

/* Max, Min, Sum, Mean: from the left to the right. */
bool qdq_eval_variadic(qdq_eval *c)
{
    uint32_t n = c->node->n_in;
    qdq_elem e = c->in[0]->elem;
    qdq_run_fn *run = qdq_eval_run_of(c->node->op, e);
    int64_t dim[QDQ_EVAL_RANK];
    int rank;

    for (uint32_t i = 0; i < n; i++)
        if (c->in[i] == NULL)
            return QDQ_REFUSE(c, "input %u is left out", (unsigned)i);
    if (!qdq_eval_same_types(c))
        return false;
    if (run == NULL || (c->node->op == QDQ_OP_MEAN && !qdq_eval_is_float(e)))
        return qdq_eval_refuse_type(c, 0);
    if (n == 1)
        return qdq_eval_view(c, 0, c->in[0], c->in[0]->rank, c->in[0]->dim);
    if (!qdq_eval_broadcast(c, n, c->in, &rank, dim))
        return false;
    void *out = qdq_eval_output(c, 0, e, rank, dim);
    if (out == NULL)
        return false;
    walk_all(rank, dim, c->in[0], c->in[1], qdq_eval_size(e), out, run);
    for (uint32_t i = 2; i < n; i++)
        walk_all(rank, dim, &c->out[0], c->in[i], qdq_eval_size(e), out, run);
    if (c->node->op == QDQ_OP_MEAN)
        divide_all(&c->out[0], out, n);
    return true;
}

/* --- Clip ------------------------------------------------------------------------------------- */

/* A bound: input i, or below opset 11 an attribute. *at NULL: there is none. */
static bool bound(qdq_eval *c, uint32_t i, const char *name, double room[1], const void **at)
{
    const qdq_const *x = qdq_eval_in(c, i);

    *at = NULL;
    if (c->opset < 11) {
        if (qdq_node_attr(c->node, name) == NULL)
            return true;
        float f = qdq_eval_float(c, name, 0.0F);
        if (c->in[0]->elem == QDQ_FLOAT)
            memcpy(room, &f, sizeof f);
        else
            *room = (double)f;
        *at = room;
        return qdq_eval_is_float(c->in[0]->elem) || qdq_eval_refuse_type(c, 0);
    }
    if (x == NULL)
        return true;
    if (x->count != 1 || x->rank > 1)
        return QDQ_REFUSE(c, "input %u is not a scalar", (unsigned)i);
    *at = x->data;
    return true;
}

bool qdq_eval_clip(qdq_eval *c)
{
    const qdq_const *x = c->in[0];
    const void *low, *high, *from = x->data;
    double room_low, room_high;

    if (c->opset < 11 && c->node->n_in > 1)
        return QDQ_REFUSE(c, "%u inputs, expected 1 below opset 11", (unsigned)c->node->n_in);
    qdq_run_fn *largest = qdq_eval_run_of(QDQ_OP_MAX, x->elem),
               *smallest = qdq_eval_run_of(QDQ_OP_MIN, x->elem);
    if (largest == NULL)
        return qdq_eval_refuse_type(c, 0);
    if (!qdq_eval_same_types(c) || !bound(c, 1, "min", &room_low, &low) ||
        !bound(c, 2, "max", &room_high, &high))
        return false;
    if (low == NULL && high == NULL)
        return qdq_eval_view(c, 0, x, x->rank, x->dim);
    void *out = qdq_eval_output(c, 0, x->elem, x->rank, x->dim);
    if (out == NULL)
        return false;
    if (low != NULL) {
        largest(from, 1, low, 0, out, x->count);
        from = out;
    }
    if (high != NULL)
        smallest(from, 1, high, 0, out, x->count);
    return true;
}

/* --- Pow -------------------------------------------------------------------------------------- */

/* The exponent, or the base, has its own type: both go through the widest of their kind. */
static double number_at(const qdq_const *x, int64_t i)
{
    if (x->elem == QDQ_DOUBLE)
        return ((const double *)x->data)[i];
    if (x->elem == QDQ_FLOAT)
        return (double)((const float *)x->data)[i];
    if (x->elem == QDQ_UINT64)
        return (double)((const uint64_t *)x->data)[i];
    return (double)qdq_elem_int(x->elem, x->data, i);
}

/* By squaring. False: the exponent is no natural number, or the power leaves int64. */
static bool int_power(int64_t base, double exponent, int64_t *power)
{
    int64_t result = 1, square = base;
    uint64_t left;

    if (!(exponent >= 0 && exponent < 0x1p63) || exponent != floor(exponent))
        return false;
    for (left = (uint64_t)exponent; left > 0; left >>= 1) {
        if ((left & 1) != 0 && __builtin_mul_overflow(result, square, &result))
            return false;
        if (left > 1 && __builtin_mul_overflow(square, square, &square))
            return false;
    }
    *power = result;
    return true;
}

static bool power_at(const qdq_const *a, int64_t i, const qdq_const *b, int64_t j, void *out,
                     int64_t o)
{
    int64_t power;

    if (a->elem == QDQ_FLOAT)
        ((float *)out)[o] = (float)pow(number_at(a, i), number_at(b, j));
    else if (a->elem == QDQ_DOUBLE)
        ((double *)out)[o] = pow(number_at(a, i), number_at(b, j));
    else
        return int_power(qdq_elem_int(a->elem, a->data, i), number_at(b, j), &power) &&
               qdq_elem_put_int(a->elem, out, o, power);
    return true;
}

bool qdq_eval_pow(qdq_eval *c)
{
    const qdq_const *a = c->in[0], *b = c->in[1];
    int64_t dim[QDQ_EVAL_RANK];
    qdq_walk w;
    int rank;

    if (qdq_eval_run_of(QDQ_OP_ADD, a->elem) == NULL || a->elem == QDQ_UINT64)
        return qdq_eval_refuse_type(c, 0);
    if (qdq_eval_run_of(QDQ_OP_ADD, b->elem) == NULL)
        return qdq_eval_refuse_type(c, 1);
    if (!qdq_eval_broadcast(c, 2, c->in, &rank, dim))
        return false;
    void *out = qdq_eval_output(c, 0, a->elem, rank, dim);
    if (out == NULL)
        return false;
    for (bool more = begin_walk(&w, rank, dim, a, b); more; more = qdq_walk_next(&w))
        for (int64_t i = 0; i < w.run; i++)
            if (!power_at(a, w.offset[0] + i * w.step[0], b, w.offset[1] + i * w.step[1], out,
                          w.offset[2] + i * w.step[2]))
                return QDQ_REFUSE(
                    c, "an integer power with a negative or broken exponent, or beyond its type");
    return true;
}

/* --- Where ------------------------------------------------------------------------------------ */

bool qdq_eval_where(qdq_eval *c)
{
    const qdq_const *cond = c->in[0], *x = c->in[1], *y = c->in[2];
    size_t size = qdq_eval_size(x->elem);
    int64_t dim[QDQ_EVAL_RANK];
    qdq_walk w;
    int rank;

    if (cond->elem != QDQ_BOOL)
        return qdq_eval_refuse_type(c, 0);
    if (x->elem != y->elem)
        return QDQ_REFUSE(c, "inputs of the types %s and %s", qdq_elem_name(x->elem),
                          qdq_elem_name(y->elem));
    if (!qdq_eval_broadcast(c, 3, c->in, &rank, dim))
        return false;
    char *out = qdq_eval_output(c, 0, x->elem, rank, dim);
    if (out == NULL)
        return false;
    w.rank = rank;
    for (int i = 0; i < rank; i++)
        w.dim[i] = dim[i];
    for (int k = 0; k < 3; k++)
        qdq_eval_broadcast_strides(c->in[k], rank, w.stride[k]);
    qdq_eval_strides(rank, dim, w.stride[3]);
    for (bool more = qdq_walk_begin(&w, 4); more; more = qdq_walk_next(&w))
        for (int64_t i = 0; i < w.run; i++) {
            bool yes = ((const char *)cond->data)[w.offset[0] + i * w.step[0]] != 0;
            const char *from = yes ? x->data : y->data;
            int64_t at = yes ? w.offset[1] + i * w.step[1] : w.offset[2] + i * w.step[2];

            memcpy(out + (size_t)(w.offset[3] + i * w.step[3]) * size, from + (size_t)at * size,
                   size);
        }
    return true;
}
