/* eval_line.c - operators along the lines of one axis whose results have as many elements: CumSum,
 * CumProd, Softmax, Hardmax. */
#include "opt/eval/eval_kernel.h"

#include <math.h>

/* --- CumSum, CumProd -------------------------------------------------------------------------- */

/* A line of n elements, `step` apart (negative: backwards). */
typedef void line_fn(const void *in, void *out, int64_t n, int64_t step, bool exclusive);

#define LINE(name, type, wide, E, first, operator)                                                 \
    static void name##_##E(const void *vi, void *vo, int64_t n, int64_t step, bool exclusive)      \
    {                                                                                              \
        const type *in = vi;                                                                       \
        type *out = vo, all = first;                                                               \
        for (int64_t i = 0; i < n; i++) {                                                          \
            type next = (type)((wide)all operator(wide) in[i * step]);                             \
            out[i * step] = exclusive ? all : next;                                                \
            all = next;                                                                            \
        }                                                                                          \
    }
#define LINES(type, wide, E)                                                                       \
    LINE(sum, type, wide, E, 0, +)                                                                 \
    LINE(product, type, wide, E, 1, *)

LINES(float, float, FLOAT)
LINES(double, double, DOUBLE)
LINES(int32_t, uint64_t, INT32)
LINES(int64_t, uint64_t, INT64)
LINES(uint32_t, uint64_t, UINT32)
LINES(uint64_t, uint64_t, UINT64)

#define TABLE(name)                                                                                \
    {                                                                                              \
        [QDQ_FLOAT] = name##_FLOAT, [QDQ_DOUBLE] = name##_DOUBLE, [QDQ_INT32] = name##_INT32,      \
        [QDQ_INT64] = name##_INT64, [QDQ_UINT32] = name##_UINT32, [QDQ_UINT64] = name##_UINT64     \
    }

static line_fn *const lines[2][QDQ_ELEM_COUNT] = {TABLE(sum), TABLE(product)};

bool qdq_eval_cumulate(qdq_eval *c)
{
    const qdq_const *x = c->in[0];
    bool reverse = qdq_eval_flag(c, "reverse", false),
         exclusive = qdq_eval_flag(c, "exclusive", false);
    size_t size = qdq_eval_size(x->elem);
    const int64_t *list;
    int64_t count;
    line_fn *run = lines[c->node->op == QDQ_OP_CUMPROD][x->elem];
    int axis;

    if (run == NULL)
        return qdq_eval_refuse_type(c, 0);
    if (!qdq_eval_ints_or_attr(c, 1, NULL, 0, &list, &count))
        return false;
    if (count != 1)
        return QDQ_REFUSE(c, "input 1 is not a single axis");
    if (!qdq_eval_axis(c, list[0], x->rank, &axis))
        return false;
    char *out = qdq_eval_output(c, 0, x->elem, x->rank, x->dim);
    if (out == NULL)
        return false;
    if (x->count == 0)
        return true;
    int64_t inner = qdq_eval_product(x->dim, axis + 1, x->rank), n = x->dim[axis];
    for (int64_t i = 0; i < x->count / n; i++) {
        int64_t first = qdq_eval_line(i, n, inner) + (reverse ? (n - 1) * inner : 0);

        run((const char *)x->data + (size_t)first * size, out + (size_t)first * size, n,
            reverse ? -inner : inner, exclusive);
    }
    return true;
}

/* --- Softmax, LogSoftmax, Hardmax ------------------------------------------------------------- */

static void softmax_line(const qdq_const *x, void *out, int64_t first, int64_t n, int64_t step,
                         bool is_log)
{
    double largest = -INFINITY, sum = 0;

    for (int64_t i = 0; i < n; i++)
        largest = fmax(largest, qdq_eval_number(x, first + i * step));
    for (int64_t i = 0; i < n; i++)
        sum += exp(qdq_eval_number(x, first + i * step) - largest);
    for (int64_t i = 0; i < n; i++) {
        double shifted = qdq_eval_number(x, first + i * step) - largest;
        double y = is_log ? shifted - log(sum) : exp(shifted) / sum;

        qdq_eval_put_number(x->elem, out, first + i * step, y);
    }
}

/* 1 at the first of the largest. */
static void hardmax_line(const qdq_const *x, void *out, int64_t first, int64_t n, int64_t step)
{
    int64_t at = 0;

    for (int64_t i = 1; i < n; i++)
        if (qdq_eval_number(x, first + i * step) > qdq_eval_number(x, first + at * step))
            at = i;
    for (int64_t i = 0; i < n; i++)
        qdq_eval_put_number(x->elem, out, first + i * step, i == at);
}

/* Below opset 13 all axes from the given one on are one line. */
bool qdq_eval_softmax(qdq_eval *c)
{
    const qdq_const *x = c->in[0];
    bool joined = c->opset < 13, is_log = c->node->op == QDQ_OP_LOGSOFTMAX;
    int axis;

    if (!qdq_eval_is_float(x->elem))
        return qdq_eval_refuse_type(c, 0);
    if (!qdq_eval_axis(c, qdq_eval_int(c, "axis", joined ? 1 : -1), x->rank, &axis))
        return false;
    void *out = qdq_eval_output(c, 0, x->elem, x->rank, x->dim);
    if (out == NULL)
        return false;
    if (x->count == 0)
        return true;
    int64_t inner = joined ? 1 : qdq_eval_product(x->dim, axis + 1, x->rank);
    int64_t n = joined ? qdq_eval_product(x->dim, axis, x->rank) : x->dim[axis];
    for (int64_t i = 0; i < x->count / n; i++)
        if (c->node->op == QDQ_OP_HARDMAX)
            hardmax_line(x, out, qdq_eval_line(i, n, inner), n, inner);
        else
            softmax_line(x, out, qdq_eval_line(i, n, inner), n, inner, is_log);
    return true;
}
