/* shape_values_math.c - arithmetic on elements of small tensors: what exporters write between Shape
 * and Reshape. A symbol survives only where the result is the symbol for sure: N * 1, N + 0, max(N,
 * 0). */
#include "ir/shape_infer.h"

#include <math.h>

static const qdq_scalar not_known = {QDQ_KNOW_NOT, {0}};

typedef qdq_scalar binary_fn(qdq_elem e, const qdq_scalar *a, const qdq_scalar *b);

/* --- questions to one element ----------------------------------------------------------------- */

static bool is_number(qdq_elem e, const qdq_scalar *s, int number)
{
    return s->know == QDQ_KNOW_NUMBER &&
           (qdq_elem_is_int(e) ? s->v.i == number : s->v.f == (double)number);
}

static bool is_negative(qdq_elem e, const qdq_scalar *s)
{
    return s->know == QDQ_KNOW_NUMBER && (qdq_elem_is_int(e) ? s->v.i < 0 : s->v.f < 0.0);
}

static bool same_symbol(const qdq_scalar *a, const qdq_scalar *b)
{
    return a->know == QDQ_KNOW_SYMBOL && b->know == QDQ_KNOW_SYMBOL && a->v.param == b->v.param;
}

static bool numbers(const qdq_scalar *a, const qdq_scalar *b)
{
    return a->know == QDQ_KNOW_NUMBER && b->know == QDQ_KNOW_NUMBER;
}

static qdq_scalar make(qdq_elem e, int number)
{
    return qdq_elem_is_int(e) ? qdq_scalar_int(e, number) : qdq_scalar_float(e, (double)number);
}

static qdq_scalar truth(bool yes)
{
    return qdq_scalar_int(QDQ_BOOL, yes ? 1 : 0);
}

/* --- two elements ----------------------------------------------------------------------------- */

static qdq_scalar add(qdq_elem e, const qdq_scalar *a, const qdq_scalar *b)
{
    int64_t i;

    if (!numbers(a, b))
        return is_number(e, b, 0) ? *a : is_number(e, a, 0) ? *b : not_known;
    if (!qdq_elem_is_int(e)) /* also for zeros, which have a sign */
        return qdq_scalar_float(e, a->v.f + b->v.f);
    return qdq_add_int64(a->v.i, b->v.i, &i) ? qdq_scalar_int(e, i) : not_known;
}

static qdq_scalar sub(qdq_elem e, const qdq_scalar *a, const qdq_scalar *b)
{
    int64_t i;

    if (is_number(e, b, 0))
        return *a;
    if (same_symbol(a, b))
        return make(e, 0);
    if (!numbers(a, b))
        return not_known;
    if (!qdq_elem_is_int(e))
        return qdq_scalar_float(e, a->v.f - b->v.f);
    return b->v.i != INT64_MIN && qdq_add_int64(a->v.i, -b->v.i, &i) ? qdq_scalar_int(e, i)
                                                                     : not_known;
}

static qdq_scalar mul(qdq_elem e, const qdq_scalar *a, const qdq_scalar *b)
{
    int64_t i;

    if (is_number(e, b, 1))
        return *a;
    if (is_number(e, a, 1))
        return *b;
    if (qdq_elem_is_int(e) && (is_number(e, a, 0) || is_number(e, b, 0)))
        return make(e, 0);
    if (!numbers(a, b))
        return not_known;
    if (!qdq_elem_is_int(e))
        return qdq_scalar_float(e, a->v.f * b->v.f);
    return qdq_mul_int64(a->v.i, b->v.i, &i) ? qdq_scalar_int(e, i) : not_known;
}

/* Integers are divided as C does: towards zero. */
static qdq_scalar divide(qdq_elem e, const qdq_scalar *a, const qdq_scalar *b)
{
    if (is_number(e, b, 1))
        return *a;
    if (same_symbol(a, b))
        return make(e, 1);
    if (!numbers(a, b))
        return not_known;
    if (!qdq_elem_is_int(e))
        return qdq_scalar_float(e, a->v.f / b->v.f);
    if (b->v.i == 0 || (a->v.i == INT64_MIN && b->v.i == -1))
        return not_known;
    return qdq_scalar_int(e, a->v.i / b->v.i);
}

/* As Python's %, the sign of the divisor; fmod=1 and floats are not followed. */
static qdq_scalar mod(qdq_elem e, const qdq_scalar *a, const qdq_scalar *b)
{
    int64_t r;

    if (!numbers(a, b) || !qdq_elem_is_int(e) || b->v.i == 0 || b->v.i == -1)
        return not_known;
    r = a->v.i % b->v.i;
    if (r != 0 && (r < 0) != (b->v.i < 0))
        r += b->v.i;
    return qdq_scalar_int(e, r);
}

static int order(qdq_elem e, const qdq_scalar *a, const qdq_scalar *b)
{
    if (qdq_elem_is_int(e))
        return (a->v.i > b->v.i) - (a->v.i < b->v.i);
    return (a->v.f > b->v.f) - (a->v.f < b->v.f);
}

/* A symbol is a dim: never below zero. */
static qdq_scalar max(qdq_elem e, const qdq_scalar *a, const qdq_scalar *b)
{
    if (numbers(a, b))
        return order(e, a, b) >= 0 ? *a : *b;
    if (same_symbol(a, b) ||
        (a->know == QDQ_KNOW_SYMBOL && (is_negative(e, b) || is_number(e, b, 0))))
        return *a;
    if (b->know == QDQ_KNOW_SYMBOL && (is_negative(e, a) || is_number(e, a, 0)))
        return *b;
    return not_known;
}

static qdq_scalar min(qdq_elem e, const qdq_scalar *a, const qdq_scalar *b)
{
    if (numbers(a, b))
        return order(e, a, b) <= 0 ? *a : *b;
    if (same_symbol(a, b) ||
        (b->know == QDQ_KNOW_SYMBOL && (is_negative(e, a) || is_number(e, a, 0))))
        return *a;
    if (a->know == QDQ_KNOW_SYMBOL && (is_negative(e, b) || is_number(e, b, 0)))
        return *b;
    return not_known;
}

static qdq_scalar equal(qdq_elem e, const qdq_scalar *a, const qdq_scalar *b)
{
    if (numbers(a, b))
        return truth(order(e, a, b) == 0);
    if (same_symbol(a, b))
        return truth(true);
    if ((a->know == QDQ_KNOW_SYMBOL && is_negative(e, b)) ||
        (b->know == QDQ_KNOW_SYMBOL && is_negative(e, a)))
        return truth(false);
    return not_known;
}

static qdq_scalar greater(qdq_elem e, const qdq_scalar *a, const qdq_scalar *b)
{
    if (numbers(a, b))
        return truth(order(e, a, b) > 0);
    if (same_symbol(a, b) || (b->know == QDQ_KNOW_SYMBOL && is_negative(e, a)))
        return truth(false);
    if (a->know == QDQ_KNOW_SYMBOL && is_negative(e, b))
        return truth(true);
    return not_known;
}

static qdq_scalar negate(qdq_scalar s)
{
    return s.know == QDQ_KNOW_NUMBER ? truth(s.v.i == 0) : s;
}

static qdq_scalar less(qdq_elem e, const qdq_scalar *a, const qdq_scalar *b)
{
    return greater(e, b, a);
}

static qdq_scalar greater_or_equal(qdq_elem e, const qdq_scalar *a, const qdq_scalar *b)
{
    return negate(greater(e, b, a));
}

static qdq_scalar less_or_equal(qdq_elem e, const qdq_scalar *a, const qdq_scalar *b)
{
    return negate(greater(e, a, b));
}

static qdq_scalar both(qdq_elem e, const qdq_scalar *a, const qdq_scalar *b)
{
    if (is_number(e, a, 0) || is_number(e, b, 0))
        return truth(false);
    return numbers(a, b) ? truth(true) : not_known;
}

static qdq_scalar either(qdq_elem e, const qdq_scalar *a, const qdq_scalar *b)
{
    if (is_number(e, a, 1) || is_number(e, b, 1))
        return truth(true);
    return numbers(a, b) ? truth(false) : not_known;
}

/* --- two tensors ------------------------------------------------------------------------------ */

/* `sign`: how sums of symbols combine, 0 if they do not. */
static qdq_scalar apply(qdq_infer *c, binary_fn *fn, char sign, qdq_elem e, const qdq_scalar *a,
                        const qdq_scalar *b)
{
    qdq_scalar s = fn(e, a, b);

    return s.know == QDQ_KNOW_NOT && sign != 0 && e == QDQ_INT64
               ? qdq_symbol_combine(c->env, sign, a, b)
               : s;
}

/* Folds all inputs, broadcast, from the left. */
static qdq_status combine_by(qdq_infer *c, binary_fn *fn, char sign)
{
    const qdq_values *first = qdq_infer_known(c, 0);
    int64_t at[QDQ_VALUES_RANK];
    qdq_values *out;

    if (first == NULL)
        return QDQ_OK;
    for (uint32_t k = 1; k < c->node->n_in; k++) {
        const qdq_values *next = qdq_infer_known(c, k);

        if (next == NULL || next->elem != first->elem)
            return QDQ_OK;
    }
    QDQ_TRY(qdq_infer_values(c, 0, &out));
    if (out == NULL)
        return QDQ_OK;
    for (int i = 0; i < out->n; i++) {
        qdq_scalar s;

        qdq_values_coordinates(out, i, at);
        s = *qdq_values_broadcast(first, out->rank, at);
        for (uint32_t k = 1; k < c->node->n_in; k++)
            s = apply(c, fn, sign, first->elem, &s,
                      qdq_values_broadcast(qdq_infer_known(c, k), out->rank, at));
        out->at[i] = s;
    }
    qdq_infer_keep(c, 0, out);
    return QDQ_OK;
}

/* Operators of two inputs. The shape of the result says nothing of others that a node may list. */
static qdq_status pair_by(qdq_infer *c, binary_fn *fn, char sign)
{
    return c->node->n_in == 2 ? combine_by(c, fn, sign) : QDQ_OK;
}

static qdq_status pair(qdq_infer *c, binary_fn *fn)
{
    return pair_by(c, fn, 0);
}

qdq_status qdq_values_add(qdq_infer *c)
{
    return pair_by(c, add, '+');
}

qdq_status qdq_values_sub(qdq_infer *c)
{
    return pair_by(c, sub, '-');
}

/* In which order more than two floats are added is the engine's secret. */
qdq_status qdq_values_sum(qdq_infer *c)
{
    const qdq_values *first = qdq_infer_known(c, 0);
    bool exact = c->node->n_in <= 2 || (first != NULL && qdq_elem_is_int(first->elem));

    return exact ? combine_by(c, add, '+') : QDQ_OK;
}

qdq_status qdq_values_mul(qdq_infer *c)
{
    return pair_by(c, mul, '*');
}

qdq_status qdq_values_div(qdq_infer *c)
{
    return pair_by(c, divide, '/');
}

qdq_status qdq_values_mod(qdq_infer *c)
{
    return qdq_infer_int(c, "fmod", 0) == 0 ? pair(c, mod) : QDQ_OK;
}

qdq_status qdq_values_max(qdq_infer *c)
{
    return combine_by(c, max, 0);
}

qdq_status qdq_values_min(qdq_infer *c)
{
    return combine_by(c, min, 0);
}

qdq_status qdq_values_equal(qdq_infer *c)
{
    return pair(c, equal);
}

qdq_status qdq_values_greater(qdq_infer *c)
{
    return pair(c, greater);
}

qdq_status qdq_values_greaterorequal(qdq_infer *c)
{
    return pair(c, greater_or_equal);
}

qdq_status qdq_values_less(qdq_infer *c)
{
    return pair(c, less);
}

qdq_status qdq_values_lessorequal(qdq_infer *c)
{
    return pair(c, less_or_equal);
}

qdq_status qdq_values_and(qdq_infer *c)
{
    return pair(c, both);
}

qdq_status qdq_values_or(qdq_infer *c)
{
    return pair(c, either);
}

/* A bound that is left out does not bind; one that is not known leaves nothing known. */
static qdq_scalar bound(qdq_infer *c, uint32_t i, binary_fn *fn, qdq_elem e, qdq_scalar s)
{
    const qdq_values *limit = qdq_infer_known(c, i);

    if (!qdq_infer_has(c, i))
        return s;
    return limit == NULL || limit->n != 1 || limit->elem != e ? not_known
                                                              : fn(e, &s, &limit->at[0]);
}

/* Before opset 11 the bounds were attributes, and only of floats. */
qdq_status qdq_values_clip(qdq_infer *c)
{
    const qdq_values *in = qdq_infer_known(c, 0);
    qdq_values *out;

    if (in == NULL || c->opset < 11)
        return QDQ_OK;
    QDQ_TRY(qdq_infer_values(c, 0, &out));
    if (out == NULL || out->n != in->n)
        return QDQ_OK;
    for (int i = 0; i < out->n; i++)
        out->at[i] = bound(c, 2, min, in->elem, bound(c, 1, max, in->elem, in->at[i]));
    qdq_infer_keep(c, 0, out);
    return QDQ_OK;
}

/* --- one tensor ------------------------------------------------------------------------------- */

typedef qdq_scalar unary_fn(qdq_elem e, const qdq_scalar *a);

static qdq_status map(qdq_infer *c, unary_fn *fn)
{
    const qdq_values *in = qdq_infer_known(c, 0);
    qdq_values *out;

    if (in == NULL)
        return QDQ_OK;
    QDQ_TRY(qdq_infer_values(c, 0, &out));
    if (out == NULL || out->n != in->n)
        return QDQ_OK;
    for (int i = 0; i < out->n; i++)
        out->at[i] = in->at[i].know == QDQ_KNOW_NOT ? not_known : fn(in->elem, &in->at[i]);
    qdq_infer_keep(c, 0, out);
    return QDQ_OK;
}

static qdq_scalar absolute(qdq_elem e, const qdq_scalar *a)
{
    if (!is_negative(e, a))
        return *a;
    if (!qdq_elem_is_int(e))
        return qdq_scalar_float(e, -a->v.f);
    return a->v.i == INT64_MIN ? not_known : qdq_scalar_int(e, -a->v.i);
}

static qdq_scalar negative(qdq_elem e, const qdq_scalar *a)
{
    if (a->know != QDQ_KNOW_NUMBER)
        return not_known;
    if (!qdq_elem_is_int(e))
        return qdq_scalar_float(e, -a->v.f);
    return a->v.i == INT64_MIN ? not_known : qdq_scalar_int(e, -a->v.i);
}

static qdq_scalar invert(qdq_elem e, const qdq_scalar *a)
{
    return is_number(e, a, 0) ? truth(true) : is_number(e, a, 1) ? truth(false) : not_known;
}

/* Symbols stand for whole numbers, also in float tensors. */
static qdq_scalar round_by(qdq_elem e, const qdq_scalar *a, double (*fn)(double))
{
    return a->know == QDQ_KNOW_SYMBOL || qdq_elem_is_int(e) ? *a : qdq_scalar_float(e, fn(a->v.f));
}

static qdq_scalar round_down(qdq_elem e, const qdq_scalar *a)
{
    return round_by(e, a, floor);
}

static qdq_scalar round_up(qdq_elem e, const qdq_scalar *a)
{
    return round_by(e, a, ceil);
}

/* Halves to even, as ONNX says, whatever rounding mode the caller has set. */
static double half_to_even(double f)
{
    double r = floor(f), rest = f - r;

    if (rest > 0.5 || (rest == 0.5 && fmod(r, 2.0) != 0.0))
        r += 1.0;
    return r;
}

static qdq_scalar round_even(qdq_elem e, const qdq_scalar *a)
{
    return round_by(e, a, half_to_even);
}

qdq_status qdq_values_abs(qdq_infer *c)
{
    return map(c, absolute);
}

qdq_status qdq_values_neg(qdq_infer *c)
{
    return map(c, negative);
}

qdq_status qdq_values_not(qdq_infer *c)
{
    return map(c, invert);
}

qdq_status qdq_values_floor(qdq_infer *c)
{
    return map(c, round_down);
}

qdq_status qdq_values_ceil(qdq_infer *c)
{
    return map(c, round_up);
}

qdq_status qdq_values_round(qdq_infer *c)
{
    return map(c, round_even);
}

/* --- all elements to one ---------------------------------------------------------------------- */

/* With a sign: in which order engines add up floats is their secret. */
static qdq_status reduce(qdq_infer *c, binary_fn *fn, char sign)
{
    const qdq_values *in = qdq_infer_known(c, 0);
    qdq_values *out;

    if (in == NULL || in->n == 0 || (sign != 0 && in->n > 2 && !qdq_elem_is_int(in->elem)))
        return QDQ_OK;
    QDQ_TRY(qdq_infer_values(c, 0, &out));
    /* Only full reductions: with keepdims and axes that are not all, more than one element is left,
     * or the one axis that stays has one. Either way the result is that of all elements when one is
     * left. */
    if (out == NULL || out->n != 1)
        return QDQ_OK;
    out->at[0] = in->at[0];
    for (int i = 1; i < in->n; i++)
        out->at[0] = apply(c, fn, sign, in->elem, &out->at[0], &in->at[i]);
    qdq_infer_keep(c, 0, out);
    return QDQ_OK;
}

qdq_status qdq_values_reducemax(qdq_infer *c)
{
    return reduce(c, max, 0);
}

qdq_status qdq_values_reducemin(qdq_infer *c)
{
    return reduce(c, min, 0);
}

qdq_status qdq_values_reduceprod(qdq_infer *c)
{
    return reduce(c, mul, '*');
}

qdq_status qdq_values_reducesum(qdq_infer *c)
{
    return reduce(c, add, '+');
}
