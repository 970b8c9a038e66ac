/* eval_make.c - operators that make arrays from numbers: constants, fills, ranges. */
#include "opt/eval/eval_kernel.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* --- Constant, ConstantOfShape ---------------------------------------------------------------- */

static bool of_tensor(qdq_eval *c, const qdq_tensor *t, qdq_const *x)
{
    const char *why;

    if (t->rank > QDQ_EVAL_RANK)
        return QDQ_REFUSE(c, "a tensor of rank %d, expected at most %d", t->rank, QDQ_EVAL_RANK);
    bool read = qdq_const_of_tensor(t, c->memory, x, &why, NULL) == QDQ_OK;
    if (!read || why != NULL)
        qdq_eval_refuse(c, why);
    return read && why == NULL;
}

bool qdq_eval_constant(qdq_eval *c)
{
    const qdq_attr *a = c->node->n_attr == 1 ? c->node->attr[0] : NULL;
    int64_t one = 1, count = a != NULL ? (int64_t)a->count : 0;
    qdq_const x = {QDQ_UNDEFINED, 0, &one, 1, NULL, 0};

    if (a != NULL && a->type == QDQ_ATTR_TENSOR && strcmp(a->name, "value") == 0)
        return of_tensor(c, a->v.t, &x) && qdq_eval_view(c, 0, &x, x.rank, x.dim);
    if (a != NULL && a->type == QDQ_ATTR_INT && strcmp(a->name, "value_int") == 0)
        x = (qdq_const){QDQ_INT64, 0, &one, 1, &a->v.i, 0};
    else if (a != NULL && a->type == QDQ_ATTR_FLOAT && strcmp(a->name, "value_float") == 0)
        x = (qdq_const){QDQ_FLOAT, 0, &one, 1, &a->v.f, 0};
    else if (a != NULL && a->type == QDQ_ATTR_INTS && strcmp(a->name, "value_ints") == 0)
        x = (qdq_const){QDQ_INT64, 1, &count, count, a->v.ints, 0};
    else if (a != NULL && a->type == QDQ_ATTR_FLOATS && strcmp(a->name, "value_floats") == 0)
        x = (qdq_const){QDQ_FLOAT, 1, &count, count, a->v.floats, 0};
    else
        return QDQ_REFUSE(c, "a constant of a kind that is not computed here");
    void *out = qdq_eval_output(c, 0, x.elem, x.rank, x.dim);
    if (out != NULL && c->out[0].bytes > 0)
        memcpy(out, x.data, c->out[0].bytes);
    return out != NULL;
}

/* The value of ConstantOfShape, float 0 if there is none. */
static bool fill_value(qdq_eval *c, qdq_const *x)
{
    const qdq_attr *a = qdq_node_attr(c->node, "value");
    static const float zero = 0;

    *x = (qdq_const){QDQ_FLOAT, 0, NULL, 1, &zero, sizeof zero};
    if (a == NULL)
        return true;
    if (a->type != QDQ_ATTR_TENSOR)
        return QDQ_REFUSE(c, "attribute 'value' has a type that it should not have");
    if (!of_tensor(c, a->v.t, x))
        return false;
    if (x->count != 1 || qdq_elem_bits(x->elem) < 8 || qdq_elem_bits(x->elem) > 64)
        return QDQ_REFUSE(
            c, "attribute 'value' is not a single element of a type that is computed here");
    return true;
}

bool qdq_eval_constantofshape(qdq_eval *c)
{
    const int64_t *dim;
    int64_t count;
    qdq_const x;

    if (!qdq_eval_ints_or_attr(c, 0, NULL, 0, &dim, &count) || !fill_value(c, &x))
        return false;
    if (count > QDQ_EVAL_RANK)
        return QDQ_REFUSE(c, "a result of rank %" PRId64 ", expected at most %d", count,
                          QDQ_EVAL_RANK);
    void *out = qdq_eval_output(c, 0, x.elem, (int)count, dim);
    if (out == NULL)
        return false;
    qdq_eval_fill(out, c->out[0].count, qdq_eval_size(x.elem), x.data);
    return true;
}

/* --- Range ------------------------------------------------------------------------------------ */

/* How many; false for a step of 0 or too many to count. */
static bool int_range(int64_t start, int64_t limit, int64_t delta, int64_t *count)
{
    bool up = delta > 0;
    uint64_t size = up ? (uint64_t)delta : UINT64_C(0) - (uint64_t)delta, way, n;

    *count = 0;
    if (delta == 0)
        return false;
    if (up ? start >= limit : start <= limit)
        return true;
    way = up ? (uint64_t)limit - (uint64_t)start : (uint64_t)start - (uint64_t)limit;
    n = (way - 1) / size + 1;
    *count = (int64_t)n;
    return n <= INT64_MAX;
}

/* The sum fits although the product alone may not: unsigned numbers wrap around. */
static int64_t int_range_at(int64_t start, int64_t delta, int64_t i)
{
    return (int64_t)((uint64_t)start + (uint64_t)i * (uint64_t)delta);
}

static bool float_range(double start, double limit, double delta, int64_t *count)
{
    double n = ceil((limit - start) / delta);

    *count = n > 0 && n < 0x1p62 ? (int64_t)n : 0;
    return n < 0x1p62;
}

bool qdq_eval_range(qdq_eval *c)
{
    qdq_elem e = c->in[0]->elem;
    int64_t count;
    bool ok;

    for (uint32_t i = 0; i < 3; i++)
        if (c->in[i]->elem != e || c->in[i]->count != 1)
            return QDQ_REFUSE(c, "input %u is not a scalar of the type of the others", (unsigned)i);
    const void *start = c->in[0]->data, *limit = c->in[1]->data, *delta = c->in[2]->data;
    if (e == QDQ_INT16 || e == QDQ_INT32 || e == QDQ_INT64)
        ok = int_range(qdq_elem_int(e, start, 0), qdq_elem_int(e, limit, 0),
                       qdq_elem_int(e, delta, 0), &count);
    else if (e == QDQ_FLOAT && c->real == QDQ_UNDEFINED)
        ok = float_range((double)*(const float *)start, (double)*(const float *)limit,
                         (double)*(const float *)delta, &count);
    else if (e == QDQ_DOUBLE)
        ok = float_range(*(const double *)start, *(const double *)limit, *(const double *)delta,
                         &count);
    else
        return qdq_eval_refuse_type(c, 0);
    if (!ok)
        return QDQ_REFUSE(c, "a range without end");
    void *out = qdq_eval_output(c, 0, e, 1, &count);
    if (out == NULL)
        return false;
    for (int64_t i = 0; i < count; i++)
        if (e == QDQ_FLOAT)
            ((float *)out)[i] = *(const float *)start + (float)i * *(const float *)delta;
        else if (e == QDQ_DOUBLE)
            ((double *)out)[i] = *(const double *)start + (double)i * *(const double *)delta;
        else
            qdq_elem_put_int(e, out, i,
                             int_range_at(qdq_elem_int(e, start, 0), qdq_elem_int(e, delta, 0), i));
    return true;
}

/* --- EyeLike, OneHot, NonZero ----------------------------------------------------------------- */

bool qdq_eval_eyelike(qdq_eval *c)
{
    const qdq_const *x = c->in[0];
    int64_t type = qdq_eval_int(c, "dtype", x->elem), k = qdq_eval_int(c, "k", 0);
    qdq_elem e = type > 0 && type < QDQ_ELEM_COUNT ? (qdq_elem)type : QDQ_UNDEFINED;
    unsigned char one[8] = {0};

    if (x->rank != 2)
        return QDQ_REFUSE(c, "input 0 has rank %d, expected 2", x->rank);
    if (qdq_elem_bits(e) < 8 ||
        (!qdq_elem_put_int(e, one, 0, 1) && !qdq_elem_put_float(e, one, 0, 1)))
        return QDQ_REFUSE(c, "a result of a type that is not computed here");
    char *out = qdq_eval_output(c, 0, e, 2, x->dim);
    if (out == NULL)
        return false;
    for (int64_t i = 0; c->out[0].count > 0 && i < x->dim[0]; i++)
        if (k < x->dim[1] - i && k >= -i)
            memcpy(out + (size_t)(i * x->dim[1] + i + k) * qdq_eval_size(e), one, qdq_eval_size(e));
    return true;
}

/* The elements of input i, which may be floats that are whole. */
static bool read_whole(qdq_eval *c, uint32_t i, const int64_t **list, int64_t *count)
{
    const qdq_const *x = c->in[i];
    int64_t *whole;

    if (!qdq_eval_is_float(x->elem))
        return qdq_eval_ints(c, i, list, count);
    *list = whole = qdq_eval_scratch(c, x->count, sizeof *whole);
    *count = x->count;
    for (int64_t k = 0; whole != NULL && k < x->count; k++) {
        double number = qdq_eval_number(x, k);

        if (!(fabs(number) < 0x1p53) || number != trunc(number))
            return QDQ_REFUSE(c, "input %u has a number that is not whole", (unsigned)i);
        whole[k] = (int64_t)number;
    }
    return whole != NULL;
}

/* The depth: a single integer that fits a dim. */
static bool read_depth(qdq_eval *c, int64_t *depth)
{
    const int64_t *list;
    int64_t count;

    if (!read_whole(c, 1, &list, &count))
        return false;
    if (count != 1 || list[0] < 0)
        return QDQ_REFUSE(c, "input 1 is not a single depth of 0 or more");
    *depth = list[0];
    return true;
}

bool qdq_eval_onehot(qdq_eval *c)
{
    const qdq_const *x = c->in[0], *values = c->in[2];
    size_t size = qdq_eval_size(values->elem);
    int64_t dim[QDQ_EVAL_RANK + 1], count, depth;
    const int64_t *index;
    int axis;

    if (!read_whole(c, 0, &index, &count) || !read_depth(c, &depth) ||
        !qdq_eval_axis(c, qdq_eval_int(c, "axis", -1), x->rank + 1, &axis))
        return false;
    if (values->count != 2)
        return QDQ_REFUSE(c, "input 2 has %" PRId64 " elements, expected 2", values->count);
    for (int i = 0; i <= x->rank; i++)
        dim[i] = i < axis ? x->dim[i] : i == axis ? depth : x->dim[i - 1];
    char *out = qdq_eval_output(c, 0, values->elem, x->rank + 1, dim);
    if (out == NULL)
        return false;
    if (c->out[0].count == 0)
        return true;
    qdq_eval_fill(out, c->out[0].count, size, values->data);
    int64_t inner = qdq_eval_product(x->dim, axis, x->rank);
    for (int64_t i = 0; i < count; i++) {
        int64_t at = index[i] < 0 ? index[i] + depth : index[i];

        if (at >= 0 && at < depth) /* others are off everywhere */
            memcpy(out + (size_t)((i / inner * depth + at) * inner + i % inner) * size,
                   (const char *)values->data + size, size);
    }
    return true;
}

static bool is_zero(const qdq_const *x, int64_t i)
{
    return qdq_eval_is_float(x->elem) ? qdq_eval_number(x, i) == 0
                                      : qdq_elem_int(x->elem, x->data, i) == 0;
}

bool qdq_eval_nonzero(qdq_eval *c)
{
    const qdq_const *x = c->in[0];
    int64_t dim[2] = {x->rank, 0}, next = 0;

    if (x->rank == 0) /* some engines take it as a vector, some do not */
        return QDQ_REFUSE(c, "input 0 has rank 0");
    if (!qdq_elem_is_int(x->elem) && !qdq_eval_is_float(x->elem))
        return qdq_eval_refuse_type(c, 0);
    for (int64_t i = 0; i < x->count; i++)
        dim[1] += !is_zero(x, i);
    int64_t *out = qdq_eval_output(c, 0, QDQ_INT64, 2, dim);
    if (out == NULL)
        return false;
    for (int64_t i = 0; i < x->count; i++) {
        int64_t left = i;

        if (is_zero(x, i))
            continue;
        for (int k = x->rank - 1; k >= 0; k--) {
            out[k * dim[1] + next] = left % x->dim[k];
            left /= x->dim[k];
        }
        next++;
    }
    return true;
}
