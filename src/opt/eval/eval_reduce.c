/* eval_reduce.c - sums, products, extremes along axes. Each result is gathered in row-major order,
 * floats in double, and rounded once; integers wrap. */
#include "opt/eval/eval_kernel.h"

#include <math.h>

/* Takes n elements `in` into one result (step 0) or into n of them (step 1). */
typedef void gather_fn(const void *in, int64_t in_step, void *sum, int64_t sum_step, int64_t n);

/* x is an element, s what has been gathered so far. */
#define GATHER(name, type, wide, expression)                                                       \
    static void name(const void *vi, int64_t in_step, void *vs, int64_t sum_step, int64_t n)       \
    {                                                                                              \
        const type *in = vi;                                                                       \
        wide *sum = vs;                                                                            \
        if (sum_step == 0) {                                                                       \
            wide s = *sum;                                                                         \
            for (int64_t i = 0; i < n; i++) {                                                      \
                wide x = in[i * in_step];                                                          \
                s = expression;                                                                    \
            }                                                                                      \
            *sum = s;                                                                              \
        } else                                                                                     \
            for (int64_t i = 0; i < n; i++) {                                                      \
                wide x = in[i * in_step], s = sum[i * sum_step];                                   \
                sum[i * sum_step] = expression;                                                    \
            }                                                                                      \
    }

#define U(x) ((uint64_t)(x))

#define INTEGER(type, wide, E)                                                                     \
    GATHER(sum_##E, type, wide, (wide)(U(s) + U(x)))                                               \
    GATHER(sum_square_##E, type, wide, (wide)(U(s) + U(x) * U(x)))                                 \
    GATHER(product_##E, type, wide, (wide)(U(s) * U(x)))                                           \
    GATHER(max_##E, type, wide, x > s ? x : s)                                                     \
    GATHER(min_##E, type, wide, x < s ? x : s)

/* log(exp(a) + exp(b)) */
static double add_logs(double a, double b)
{
    double high = fmax(a, b), low = fmin(a, b);

    if (a != a || b != b || isinf(high) || isinf(low))
        return a != a || b != b ? a + b : high;
    return high + log1p(exp(low - high));
}

#define FLOATING(type, E)                                                                          \
    GATHER(sum_##E, type, double, s + x)                                                           \
    GATHER(sum_abs_##E, type, double, s + fabs(x))                                                 \
    GATHER(sum_square_##E, type, double, s + x * x)                                                \
    GATHER(product_##E, type, double, (double)(type)(s * x)) /* too large on the way stays so */   \
    GATHER(sum_logs_##E, type, double, add_logs(s, x))                                             \
    GATHER(max_##E, type, double, x > s || x != x ? x : s)                                         \
    GATHER(min_##E, type, double, x < s || x != x ? x : s)

#define SIGNED(type, E)                                                                            \
    INTEGER(type, int64_t, E)                                                                      \
    GATHER(sum_abs_##E, type, int64_t, (int64_t)(x < 0 ? U(s) - U(x) : U(s) + U(x)))

#define UNSIGNED(type, E)                                                                          \
    INTEGER(type, uint64_t, E)                                                                     \
    GATHER(sum_abs_##E, type, uint64_t, s + x)

QDQ_EVAL_INTEGERS(SIGNED, UNSIGNED)
FLOATING(float, FLOAT)
FLOATING(double, DOUBLE)
GATHER(max_BOOL, uint8_t, int64_t, x > s ? x : s)
GATHER(min_BOOL, uint8_t, int64_t, x < s ? x : s)

#define TYPE(name, E) [QDQ_##E] = name##_##E
#define INTEGERS(name)                                                                             \
    TYPE(name, UINT8), TYPE(name, UINT16), TYPE(name, UINT32), TYPE(name, UINT64),                 \
        TYPE(name, INT8), TYPE(name, INT16), TYPE(name, INT32), TYPE(name, INT64)
#define FLOATS(name) TYPE(name, FLOAT), TYPE(name, DOUBLE)

typedef gather_fn *gather_table[QDQ_ELEM_COUNT];

/* What is made of the sum at the end. */
typedef enum finish { AS_IT_IS, MEAN, ROOT, LOG } finish;

static const struct reduction {
    qdq_op op;
    finish finish;
    /* of one element, it is the element */
    bool is_plain;
    gather_table table;
} reductions[] = {
    {QDQ_OP_REDUCESUM, AS_IT_IS, true, {INTEGERS(sum), FLOATS(sum)}},
    {QDQ_OP_REDUCEMEAN, MEAN, true, {INTEGERS(sum), FLOATS(sum)}},
    {QDQ_OP_REDUCELOGSUM, LOG, false, {FLOATS(sum)}},
    {QDQ_OP_REDUCELOGSUMEXP, AS_IT_IS, true, {FLOATS(sum_logs)}},
    {QDQ_OP_REDUCEL1, AS_IT_IS, false, {INTEGERS(sum_abs), FLOATS(sum_abs)}},
    {QDQ_OP_REDUCEL2, ROOT, false, {FLOATS(sum_square)}},
    {QDQ_OP_REDUCESUMSQUARE, AS_IT_IS, false, {INTEGERS(sum_square), FLOATS(sum_square)}},
    {QDQ_OP_REDUCEPROD, AS_IT_IS, true, {INTEGERS(product), FLOATS(product)}},
    {QDQ_OP_REDUCEMAX, AS_IT_IS, true, {INTEGERS(max), FLOATS(max), TYPE(max, BOOL)}},
    {QDQ_OP_REDUCEMIN, AS_IT_IS, true, {INTEGERS(min), FLOATS(min), TYPE(min, BOOL)}},
};

typedef enum sum_kind { SIGNED_SUM, UNSIGNED_SUM, FLOAT_SUM } sum_kind;

static sum_kind kind_of(qdq_elem e)
{
    if (qdq_eval_is_float(e))
        return FLOAT_SUM;
    return e == QDQ_UINT8 || e == QDQ_UINT16 || e == QDQ_UINT32 || e == QDQ_UINT64 ? UNSIGNED_SUM
                                                                                   : SIGNED_SUM;
}

/* The bound that no number of the type passes. */
static qdq_sum bound_of(qdq_elem e, bool upper)
{
    const unsigned shift = 64 - qdq_elem_bits(e);
    qdq_sum w = {0};

    if (kind_of(e) == FLOAT_SUM)
        w.f = upper ? INFINITY : -INFINITY;
    else if (e == QDQ_BOOL)
        w.i = upper;
    else if (kind_of(e) == SIGNED_SUM)
        w.i = upper ? (int64_t)(INT64_MAX >> shift) : -(int64_t)(INT64_MAX >> shift) - 1;
    else
        w.u = upper ? UINT64_MAX >> shift : 0;
    return w;
}

/* The result of no elements, with which each one begins. */
static qdq_sum first_value(qdq_op op, qdq_elem e)
{
    qdq_sum w = {0};

    if (op == QDQ_OP_REDUCEMAX || op == QDQ_OP_REDUCEMIN)
        return bound_of(e, op == QDQ_OP_REDUCEMIN);
    if (op == QDQ_OP_REDUCELOGSUMEXP)
        w.f = -INFINITY;
    else if (op == QDQ_OP_REDUCEPROD && kind_of(e) == FLOAT_SUM)
        w.f = 1;
    else if (op == QDQ_OP_REDUCEPROD)
        w.i = 1;
    return w;
}

static void finish_one(qdq_sum *w, finish how, sum_kind kind, int64_t n)
{
    switch (how) {
    case AS_IT_IS:
        break;
    case MEAN:
        if (kind == FLOAT_SUM)
            w->f /= (double)n;
        else if (kind == SIGNED_SUM)
            w->i /= n;
        else
            w->u /= (uint64_t)n;
        break;
    case ROOT:
        w->f = sqrt(w->f);
        break;
    case LOG:
        w->f = log(w->f);
        break;
    }
}

/* --- axes ------------------------------------------------------------------------------------- */

typedef struct axes {
    bool mark[QDQ_EVAL_RANK];
    /* dims of the result; 1 where they are reduced */
    int64_t result_dims[QDQ_EVAL_RANK];
    /* elements that make one result */
    int64_t count;
    /* nothing is reduced, not even one by one */
    bool none;
} axes;

static bool read_axes(qdq_eval *c, axes *a)
{
    const qdq_const *x = c->in[0];
    int64_t since = c->node->op == QDQ_OP_REDUCESUM ? 13 : 18, n;

    if (!qdq_eval_axes(c, 1, since, x->rank, a->mark, &n))
        return false;
    a->none = n <= 0 && c->opset >= since && qdq_eval_flag(c, "noop_with_empty_axes", false);
    a->count = 1;
    for (int i = 0; i < x->rank; i++) {
        a->mark[i] = !a->none && (n <= 0 || a->mark[i]);
        a->result_dims[i] = a->mark[i] ? 1 : x->dim[i];
    }
    for (int i = 0; i < x->rank; i++)
        if (a->mark[i] && __builtin_mul_overflow(a->count, x->dim[i], &a->count))
            return QDQ_REFUSE(c, "more elements than can be counted");
    return true;
}

/* The dims of the result as the node wants them. */
static int result_dims(const axes *a, int rank, bool keep, int64_t *dim)
{
    int n = 0;

    for (int i = 0; i < rank; i++)
        if (keep || !a->mark[i])
            dim[n++] = a->result_dims[i];
    return n;
}

static void gather_all(const qdq_const *x, const axes *a, qdq_sum *sum, gather_fn *run)
{
    size_t size = qdq_eval_size(x->elem);
    qdq_walk w;

    w.rank = x->rank;
    qdq_eval_strides(x->rank, x->dim, w.stride[0]);
    qdq_eval_strides(x->rank, a->result_dims, w.stride[1]);
    for (int i = 0; i < x->rank; i++) {
        w.dim[i] = x->dim[i];
        if (a->mark[i])
            w.stride[1][i] = 0;
    }
    for (bool more = qdq_walk_begin(&w, 2); more; more = qdq_walk_next(&w))
        run((const char *)x->data + w.offset[0] * (int64_t)size, w.step[0], sum + w.offset[1],
            w.step[1], w.run);
}

bool qdq_eval_reduce(qdq_eval *c)
{
    const qdq_const *x = c->in[0];
    const struct reduction *r = reductions;
    int64_t dim[QDQ_EVAL_RANK];
    axes a;

    while (r->op != c->node->op)
        r++;
    if (r->table[x->elem] == NULL)
        return qdq_eval_refuse_type(c, 0);
    if (!read_axes(c, &a))
        return false;
    if (a.none && r->is_plain)
        return qdq_eval_view(c, 0, x, x->rank, x->dim);
    if (a.none)
        return QDQ_REFUSE(c, "axes are empty");
    if (x->count == 0 && r->finish == MEAN)
        return QDQ_REFUSE(c, "a reduction of an array without elements");
    int rank = result_dims(&a, x->rank, qdq_eval_flag(c, "keepdims", true), dim);
    void *out = qdq_eval_output(c, 0, x->elem, rank, dim);
    if (out == NULL)
        return false;
    int64_t n = c->out[0].count;
    qdq_sum *sum = qdq_eval_scratch(c, n, sizeof *sum), first = first_value(r->op, x->elem);
    if (sum == NULL)
        return false;
    for (int64_t i = 0; i < n; i++)
        sum[i] = first;
    gather_all(x, &a, sum, r->table[x->elem]);
    for (int64_t i = 0; i < n && r->finish != AS_IT_IS; i++)
        finish_one(&sum[i], r->finish, kind_of(x->elem), a.count);
    qdq_eval_store(sum, n, x->elem, out, 0);
    return true;
}
