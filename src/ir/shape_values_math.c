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

static qdq_scalar add_scalars(qdq_elem e, const qdq_scalar *a, const qdq_scalar *b)
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

/* What operators of several inputs, and reductions, do to two elements. `sign`: how sums of symbols
 * combine, 0 if they do not. */
typedef struct arithmetic {
    binary_fn *fn;
    char sign;
} arithmetic;

static const arithmetic arithmetics[QDQ_OP_COUNT] = {
    [QDQ_OP_ADD] = {add_scalars, '+'},
    [QDQ_OP_AND] = {both, 0},
    [QDQ_OP_DIV] = {divide, '/'},
    [QDQ_OP_EQUAL] = {equal, 0},
    [QDQ_OP_GREATER] = {greater, 0},
    [QDQ_OP_GREATEROREQUAL] = {greater_or_equal, 0},
    [QDQ_OP_LESS] = {less, 0},
    [QDQ_OP_LESSOREQUAL] = {less_or_equal, 0},
    [QDQ_OP_MAX] = {max, 0},
    [QDQ_OP_MIN] = {min, 0},
    [QDQ_OP_MOD] = {mod, 0},
    [QDQ_OP_MUL] = {mul, '*'},
    [QDQ_OP_OR] = {either, 0},
    [QDQ_OP_REDUCEMAX] = {max, 0},
    [QDQ_OP_REDUCEMIN] = {min, 0},
    [QDQ_OP_REDUCEPROD] = {mul, '*'},
    [QDQ_OP_REDUCESUM] = {add_scalars, '+'},
    [QDQ_OP_SUB] = {sub, '-'},
    [QDQ_OP_SUM] = {add_scalars, '+'},
};

static qdq_scalar combine(qdq_infer *c, qdq_elem e, const qdq_scalar *a, const qdq_scalar *b)
{
    const arithmetic *of = &arithmetics[c->node->op];
    qdq_scalar s = of->fn(e, a, b);

    return s.know == QDQ_KNOW_NOT && of->sign != 0 && e == QDQ_INT64
               ? qdq_symbol_combine(c->env, of->sign, a, b)
               : s;
}

/* In which order more than two floats are added up is the engine's secret. */
static bool is_exact(const qdq_infer *c, qdq_elem e, int64_t n)
{
    return n <= 2 || qdq_elem_is_int(e) || arithmetics[c->node->op].sign == 0;
}

/* Folds all inputs, broadcast, from the left. */
bool qdq_values_fold(qdq_infer *c, qdq_values *out)
{
    const qdq_values *first = qdq_infer_known(c, 0);
    int64_t at[QDQ_VALUES_RANK];

    if (first == NULL || !is_exact(c, first->elem, c->node->n_in))
        return false;
    for (uint32_t k = 1; k < c->node->n_in; k++) {
        const qdq_values *next = qdq_infer_known(c, k);

        if (next == NULL || next->elem != first->elem)
            return false;
    }
    for (int i = 0; i < out->n; i++) {
        qdq_values_coordinates(out, i, at);
        out->at[i] = *qdq_values_broadcast(first, out->rank, at);
        for (uint32_t k = 1; k < c->node->n_in; k++)
            out->at[i] = combine(c, first->elem, &out->at[i],
                                 qdq_values_broadcast(qdq_infer_known(c, k), out->rank, at));
    }
    return true;
}

/* Operators of two inputs. The shape of the result says nothing of others that a node may list. */
bool qdq_values_pair(qdq_infer *c, qdq_values *out)
{
    if (c->node->n_in != 2 || (c->node->op == QDQ_OP_MOD && qdq_infer_int(c, "fmod", 0) != 0))
        return false;
    return qdq_values_fold(c, out);
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
bool qdq_values_clip(qdq_infer *c, qdq_values *out)
{
    const qdq_values *in = qdq_infer_known(c, 0);

    if (in == NULL || c->opset < 11 || out->n != in->n)
        return false;
    for (int i = 0; i < out->n; i++)
        out->at[i] = bound(c, 2, min, in->elem, bound(c, 1, max, in->elem, in->at[i]));
    return true;
}

/* --- one tensor ------------------------------------------------------------------------------- */

typedef qdq_scalar unary_fn(qdq_elem e, const qdq_scalar *a);

static qdq_scalar negative(qdq_elem e, const qdq_scalar *a)
{
    if (a->know != QDQ_KNOW_NUMBER)
        return not_known;
    if (!qdq_elem_is_int(e))
        return qdq_scalar_float(e, -a->v.f);
    return a->v.i == INT64_MIN ? not_known : qdq_scalar_int(e, -a->v.i);
}

static qdq_scalar absolute(qdq_elem e, const qdq_scalar *a)
{
    return is_negative(e, a) ? negative(e, a) : *a;
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

bool qdq_values_map(qdq_infer *c, qdq_values *out)
{
    static unary_fn *const fns[QDQ_OP_COUNT] = {
        [QDQ_OP_ABS] = absolute, [QDQ_OP_CEIL] = round_up, [QDQ_OP_FLOOR] = round_down,
        [QDQ_OP_NEG] = negative, [QDQ_OP_NOT] = invert,    [QDQ_OP_ROUND] = round_even,
    };
    const qdq_values *in = qdq_infer_known(c, 0);

    if (in == NULL || out->n != in->n)
        return false;
    for (int i = 0; i < out->n; i++)
        if (in->at[i].know != QDQ_KNOW_NOT)
            out->at[i] = fns[c->node->op](in->elem, &in->at[i]);
    return true;
}

/* --- all elements to one ---------------------------------------------------------------------- */

/* Only full reductions: with keepdims and axes that are not all, more than one element is left, or
 * the one axis that stays has one. Either way the result is that of all elements when one is
 * left. */
bool qdq_values_reduce(qdq_infer *c, qdq_values *out)
{
    const qdq_values *in = qdq_infer_known(c, 0);

    if (in == NULL || in->n == 0 || out->n != 1 || !is_exact(c, in->elem, in->n))
        return false;
    out->at[0] = in->at[0];
    for (int i = 1; i < in->n; i++)
        out->at[0] = combine(c, in->elem, &out->at[0], &in->at[i]);
    return true;
}
