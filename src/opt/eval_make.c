/* eval_make.c - operators that make arrays from numbers: constants, fills, ranges. */
#include "opt/eval_kernel.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* --- Constant, ConstantOfShape ------------------------------------------------------------------------------------------- */

static bool of_tensor(qdq_eval *c, const qdq_tensor *t, qdq_const *x)
{
    const char *why;

    if (t->rank > QDQ_EVAL_RANK)
        return QDQ_REFUSE(c, "a tensor of rank %d, expected at most %d", t->rank, QDQ_EVAL_RANK);
    if (qdq_const_of_tensor(t, c->memory, x, &why, NULL) != QDQ_OK)
        return qdq_eval_refuse(c, NULL);
    return why == NULL || qdq_eval_refuse(c, why);
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
        return QDQ_REFUSE(c, "attribute 'value' is no single element of a type that is computed here");
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
        return QDQ_REFUSE(c, "a result of rank %" PRId64 ", expected at most %d", count, QDQ_EVAL_RANK);
    void *out = qdq_eval_output(c, 0, x.elem, (int)count, dim);
    if (out == NULL)
        return false;
    qdq_eval_fill(out, c->out[0].count, qdq_eval_size(x.elem), x.data);
    return true;
}

/* --- Range ----------------------------------------------------------------------------------------------------------------- */

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
            return QDQ_REFUSE(c, "input %u is no scalar of the type of the others", (unsigned)i);
    const void *start = c->in[0]->data, *limit = c->in[1]->data, *delta = c->in[2]->data;
    if (e == QDQ_INT16 || e == QDQ_INT32 || e == QDQ_INT64)
        ok = int_range(qdq_elem_int(e, start, 0), qdq_elem_int(e, limit, 0), qdq_elem_int(e, delta, 0),
                       &count);
    else if (e == QDQ_FLOAT && c->real == QDQ_UNDEFINED)
        ok = float_range((double)*(const float *)start, (double)*(const float *)limit,
                         (double)*(const float *)delta, &count);
    else if (e == QDQ_DOUBLE)
        ok = float_range(*(const double *)start, *(const double *)limit, *(const double *)delta, &count);
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
            qdq_elem_put_int(e, out, i, qdq_elem_int(e, start, 0) + i * qdq_elem_int(e, delta, 0));
    return true;
}
