/* shape_index.c - shapes of operators that make tensors from nothing but shapes and numbers, and of
 * those that pick elements: constants, ranges, slices, gathers. */
#include "ir/shape_infer.h"

#include <inttypes.h>
#include <math.h>

/* --- constants and shapes --------------------------------------------------------------------- */

static qdq_status constant_list(qdq_infer *c, qdq_elem elem, const qdq_attr *list)
{
    qdq_shape s;

    s.rank = list == NULL ? 0 : 1;
    s.dim[0] = qdq_dim_known(list == NULL ? 0 : (int64_t)list->count);
    return qdq_infer_out(c, 0, elem, &s);
}

static qdq_status constant_shape(qdq_infer *c, qdq_elem elem, int rank, const int64_t *dim)
{
    qdq_shape s;

    qdq_shape_fill(&s, rank);
    for (int i = 0; i < s.rank; i++)
        s.dim[i] = qdq_dim_known(dim[i]);
    return qdq_infer_out(c, 0, elem, &s);
}

qdq_status qdq_infer_constant(qdq_infer *c)
{
    const qdq_attr *a;

    if ((a = qdq_infer_attr(c, "value", QDQ_ATTR_TENSOR)) != NULL)
        return constant_shape(c, a->v.t->elem, a->v.t->rank, a->v.t->dim);
    if ((a = qdq_infer_attr(c, "sparse_value", QDQ_ATTR_SPARSE)) != NULL)
        return constant_shape(c, a->v.sparse->values->elem, a->v.sparse->rank, a->v.sparse->dim);
    if (qdq_infer_attr(c, "value_int", QDQ_ATTR_INT) != NULL)
        return constant_list(c, QDQ_INT64, NULL);
    if (qdq_infer_attr(c, "value_float", QDQ_ATTR_FLOAT) != NULL)
        return constant_list(c, QDQ_FLOAT, NULL);
    if (qdq_infer_attr(c, "value_string", QDQ_ATTR_STRING) != NULL)
        return constant_list(c, QDQ_STRING, NULL);
    if ((a = qdq_infer_attr(c, "value_ints", QDQ_ATTR_INTS)) != NULL)
        return constant_list(c, QDQ_INT64, a);
    if ((a = qdq_infer_attr(c, "value_floats", QDQ_ATTR_FLOATS)) != NULL)
        return constant_list(c, QDQ_FLOAT, a);
    if ((a = qdq_infer_attr(c, "value_strings", QDQ_ATTR_STRINGS)) != NULL)
        return constant_list(c, QDQ_STRING, a);
    return QDQ_OK;
}

qdq_status qdq_infer_constantofshape(qdq_infer *c)
{
    const qdq_attr *a = qdq_infer_attr(c, "value", QDQ_ATTR_TENSOR);
    const qdq_values *v = qdq_infer_known(c, 0);
    qdq_shape in, out;

    out.rank = -1;
    if (qdq_infer_shape_of(c, 0, &in) && in.rank == 1 && in.dim[0].value >= 0 &&
        in.dim[0].value <= QDQ_INFER_RANK)
        qdq_shape_fill(&out, (int)in.dim[0].value);
    if (v != NULL && v->n == out.rank && qdq_elem_is_int(v->elem))
        for (int i = 0; i < out.rank; i++) {
            if (v->at[i].know == QDQ_KNOW_NUMBER && v->at[i].v.i < 0)
                return qdq_fail(c->err, QDQ_E_FORMAT,
                                "dim %d of the shape is %" PRId64 ", want 0 or more", i,
                                v->at[i].v.i);
            out.dim[i] = qdq_dim_from(&v->at[i]);
        }
    return qdq_infer_out(c, 0, a == NULL ? QDQ_FLOAT : a->v.t->elem, &out);
}

void qdq_shape_bounds(int64_t rank, int64_t *start, int64_t *end)
{
    const int64_t from = *start < 0 ? *start + rank : *start, to = *end < 0 ? *end + rank : *end;

    *start = from < 0 ? 0 : from > rank ? rank : from;
    *end = to < *start ? *start : to > rank ? rank : to;
}

/* Shape counts dims from `start` to `end`, since opset 15. */
void qdq_infer_shape_range(qdq_infer *c, int rank, int *start, int *end)
{
    int64_t from = 0, to = rank;

    if (c->opset >= 15) {
        from = qdq_infer_int(c, "start", 0);
        to = qdq_infer_int(c, "end", rank);
    }
    qdq_shape_bounds(rank, &from, &to);
    *start = (int)from;
    *end = (int)to;
}

qdq_status qdq_infer_shape(qdq_infer *c)
{
    qdq_shape in, out;
    int start, end;

    qdq_shape_fill(&out, 1);
    if (qdq_infer_shape_of(c, 0, &in)) {
        qdq_infer_shape_range(c, in.rank, &start, &end);
        out.dim[0] = qdq_dim_known(end - start);
    }
    return qdq_infer_out(c, 0, QDQ_INT64, &out);
}

qdq_status qdq_infer_size(qdq_infer *c)
{
    qdq_shape scalar;

    scalar.rank = 0;
    return qdq_infer_out(c, 0, QDQ_INT64, &scalar);
}

/* Element i as a number of any type. */
static bool number_of(const qdq_values *v, int i, double *out)
{
    if (v == NULL || i >= v->n || v->at[i].know != QDQ_KNOW_NUMBER)
        return false;
    *out = qdq_elem_is_int(v->elem) ? (double)v->at[i].v.i : v->at[i].v.f;
    return true;
}

static bool integers(const qdq_values *const *v)
{
    for (int i = 0; i < 3; i++)
        if (!qdq_elem_is_int(v[i]->elem) || v[i]->at[0].know != QDQ_KNOW_NUMBER)
            return false;
    return true;
}

/* max(ceil((limit - start) / delta), 0) */
static qdq_dim range_count(const qdq_values *const *v)
{
    double start, limit, delta, n;

    for (int i = 0; i < 3; i++)
        if (v[i] == NULL || v[i]->n != 1)
            return qdq_dim_unknown();
    if (integers(v)) {
        int64_t step = v[2]->at[0].v.i, span;

        if (step == 0 || step == INT64_MIN || !qdq_mul_int64(v[0]->at[0].v.i, -1, &span) ||
            !qdq_add_int64(v[1]->at[0].v.i, span, &span) || span == INT64_MIN)
            return qdq_dim_unknown();
        if ((span > 0) != (step > 0))
            return qdq_dim_known(0);
        return qdq_dim_known(span / step + (span % step != 0));
    }
    if (number_of(v[0], 0, &start) && number_of(v[2], 0, &delta)) {
        if (v[1]->at[0].know == QDQ_KNOW_SYMBOL && start == 0.0 && delta == 1.0)
            return qdq_dim_symbol(v[1]->at[0].v.param);
        if (!number_of(v[1], 0, &limit))
            return qdq_dim_unknown();
        n = ceil((limit - start) / delta);
        if (n <= 0.0)
            return qdq_dim_known(0);
        if (n < 1.0e15)
            return qdq_dim_known((int64_t)n);
    }
    return qdq_dim_unknown();
}

qdq_status qdq_infer_range(qdq_infer *c)
{
    const qdq_values *v[3];
    qdq_elem elem = QDQ_UNDEFINED;
    qdq_shape s;

    for (uint32_t i = 0; i < 3; i++) {
        v[i] = qdq_infer_known(c, i);
        if (elem == QDQ_UNDEFINED)
            elem = qdq_infer_elem(c, i);
    }
    s.rank = 1;
    s.dim[0] = range_count(v);
    return qdq_infer_out(c, 0, elem, &s);
}

/* --- Slice ------------------------------------------------------------------------------------ */

/* One number per sliced axis, from attribute or input; unknown where it is not known. */
typedef struct slice_arg {
    const int64_t *ints;
    const qdq_values *values;
} slice_arg;

static qdq_scalar slice_number(const slice_arg *a, int i, int64_t fallback)
{
    qdq_scalar s = {QDQ_KNOW_NOT, {0}};

    if (a->values != NULL && i < a->values->n)
        return a->values->at[i];
    if (a->values == NULL && (a->ints != NULL || fallback != INT64_MIN)) {
        s.know = QDQ_KNOW_NUMBER;
        s.v.i = a->ints != NULL ? a->ints[i] : fallback;
    }
    return s;
}

/* Elements of [0, dim) that start, end and step pick, ends clamped as ONNX does. */
static int64_t slice_count(int64_t dim, int64_t start, int64_t end, int64_t step)
{
    int64_t low = step > 0 ? 0 : -1, high = step > 0 ? dim : dim - 1;

    start = start < 0 ? start + dim : start;
    end = end < 0 ? end + dim : end;
    start = start < 0 ? 0 : start;
    start = start > high ? high : start; /* below 0 where there is nothing, backwards */
    end = end < low ? low : end > dim ? dim : end;
    if (step > 0)
        return start < end ? 1 + (end - start - 1) / step : 0;
    return start > end ? (int64_t)(1 + (uint64_t)(start - end - 1) / (0 - (uint64_t)step)) : 0;
}

static qdq_dim slice_dim(qdq_dim dim, const qdq_scalar *start, const qdq_scalar *end,
                         const qdq_scalar *step)
{
    bool from_0, to_end;

    if (start->know != QDQ_KNOW_NUMBER || step->know != QDQ_KNOW_NUMBER)
        return qdq_dim_unknown();
    from_0 = start->v.i == 0 && step->v.i == 1;
    to_end = end->know == QDQ_KNOW_SYMBOL ? dim.value < 0 && dim.param == end->v.param
                                          : end->know == QDQ_KNOW_NUMBER && end->v.i >= INT32_MAX;
    if (dim.value < 0)
        return from_0 && to_end ? dim : qdq_dim_unknown();
    if (end->know != QDQ_KNOW_NUMBER)
        return qdq_dim_unknown();
    /* Backwards to "the end": nothing by ONNX's words, all that is left of start by ONNX Runtime's
     * deeds. */
    if (step->v.i < 0 && (end->v.i == INT64_MAX || end->v.i == INT32_MAX))
        return qdq_dim_unknown();
    return qdq_dim_known(slice_count(dim.value, start->v.i, end->v.i, step->v.i));
}

/* Reads what slices which axis. *n: axes; -1: not known which. */
qdq_status qdq_infer_slice_args(qdq_infer *c, int rank, int *n, int *axis, qdq_scalar *start,
                                qdq_scalar *end, qdq_scalar *step)
{
    slice_arg arg[4] = {{0}}; /* starts, ends, axes, steps */
    bool seen[QDQ_INFER_RANK] = {false};
    static const char *const name[] = {"starts", "ends", "axes"};
    size_t count = 0;
    qdq_shape s;

    *n = -1;
    if (c->opset < 10) {
        for (int i = 0; i < 3; i++) {
            size_t k;

            if (!qdq_infer_ints(c, name[i], &arg[i].ints, &k) && i < 2)
                return qdq_fail(c->err, QDQ_E_FORMAT, "attribute '%s' is missing", name[i]);
            if (i > 0 && arg[i].ints != NULL && k != count)
                return qdq_fail(c->err, QDQ_E_FORMAT, "attribute '%s' has %zu numbers, want %zu",
                                name[i], k, count);
            count = i == 0 ? k : count;
        }
    } else {
        for (uint32_t i = 0; i < 4; i++) {
            arg[i].values = qdq_infer_known(c, i + 1);
            if (arg[i].values != NULL && !qdq_elem_is_int(arg[i].values->elem))
                return qdq_fail(c->err, QDQ_E_FORMAT, "input %u is not of an integer type",
                                (unsigned)i + 1);
        }
        if (!qdq_infer_shape_of(c, 1, &s) || s.rank != 1 || s.dim[0].value < 0)
            return QDQ_OK;
        count = (size_t)s.dim[0].value;
        if (qdq_infer_has(c, 3) && (arg[2].values == NULL || (size_t)arg[2].values->n != count))
            return QDQ_OK;
    }
    if (count > (size_t)rank)
        return qdq_fail(c->err, QDQ_E_FORMAT, "%zu slices of a tensor of rank %d", count, rank);
    for (int i = 0; i < (int)count; i++) {
        qdq_scalar a = slice_number(&arg[2], i, i);

        if (a.know != QDQ_KNOW_NUMBER)
            return QDQ_OK;
        QDQ_TRY(qdq_infer_axis(c, a.v.i, rank, &axis[i]));
        if (seen[axis[i]])
            return qdq_fail(c->err, QDQ_E_FORMAT, "axis %d is sliced twice", axis[i]);
        seen[axis[i]] = true;
        start[i] = slice_number(&arg[0], i, INT64_MIN);
        end[i] = slice_number(&arg[1], i, INT64_MIN);
        step[i] = slice_number(&arg[3], i, qdq_infer_has(c, 4) && c->opset >= 10 ? INT64_MIN : 1);
        if (step[i].know == QDQ_KNOW_NUMBER && step[i].v.i == 0)
            return qdq_fail(c->err, QDQ_E_FORMAT, "the step along axis %d is 0", axis[i]);
    }
    *n = (int)count;
    return QDQ_OK;
}

qdq_status qdq_infer_slice(qdq_infer *c)
{
    qdq_scalar start[QDQ_INFER_RANK], end[QDQ_INFER_RANK], step[QDQ_INFER_RANK];
    int axis[QDQ_INFER_RANK], n;
    qdq_shape s;

    if (!qdq_infer_shape_of(c, 0, &s))
        return qdq_infer_out(c, 0, qdq_infer_elem(c, 0), NULL);
    QDQ_TRY(qdq_infer_slice_args(c, s.rank, &n, axis, start, end, step));
    if (n < 0)
        qdq_shape_fill(&s, s.rank);
    for (int i = 0; i < n; i++)
        s.dim[axis[i]] = slice_dim(s.dim[axis[i]], &start[i], &end[i], &step[i]);
    return qdq_infer_out(c, 0, qdq_infer_elem(c, 0), &s);
}

/* --- gathers ---------------------------------------------------------------------------------- */

qdq_status qdq_infer_gather(qdq_infer *c)
{
    qdq_shape data, index, out;
    int axis;

    if (!qdq_infer_shape_of(c, 0, &data))
        return qdq_infer_out(c, 0, qdq_infer_elem(c, 0), NULL);
    QDQ_TRY(qdq_infer_axis(c, qdq_infer_int(c, "axis", 0), data.rank, &axis));
    if (!qdq_infer_shape_of(c, 1, &index) || data.rank - 1 + index.rank > QDQ_INFER_RANK)
        return qdq_infer_out(c, 0, qdq_infer_elem(c, 0), NULL);
    out.rank = 0;
    for (int i = 0; i < axis; i++)
        out.dim[out.rank++] = data.dim[i];
    for (int i = 0; i < index.rank; i++)
        out.dim[out.rank++] = index.dim[i];
    for (int i = axis + 1; i < data.rank; i++)
        out.dim[out.rank++] = data.dim[i];
    return qdq_infer_out(c, 0, qdq_infer_elem(c, 0), &out);
}

qdq_status qdq_infer_gatherelements(qdq_infer *c)
{
    qdq_shape index;

    qdq_infer_shape_of(c, 1, &index);
    return qdq_infer_out(c, 0, qdq_infer_elem(c, 0), &index);
}

qdq_status qdq_infer_gathernd(qdq_infer *c)
{
    int64_t batch = c->opset >= 12 ? qdq_infer_int(c, "batch_dims", 0) : 0, depth;
    qdq_shape data, index, out;

    if (!qdq_infer_shape_of(c, 0, &data) || !qdq_infer_shape_of(c, 1, &index))
        return qdq_infer_out(c, 0, qdq_infer_elem(c, 0), NULL);
    if (index.rank < 1 || batch < 0 || batch >= index.rank || batch >= data.rank)
        return qdq_fail(c->err, QDQ_E_FORMAT, "%" PRId64 " batch dims of ranks %d and %d", batch,
                        data.rank, index.rank);
    depth = index.dim[index.rank - 1].value;
    if (depth < 0)
        return qdq_infer_out(c, 0, qdq_infer_elem(c, 0), NULL);
    if (depth > data.rank - batch)
        return qdq_fail(c->err, QDQ_E_FORMAT, "indices of %" PRId64 " numbers into rank %d", depth,
                        data.rank);
    if (index.rank - 1 + data.rank - batch - depth > QDQ_INFER_RANK)
        return qdq_infer_out(c, 0, qdq_infer_elem(c, 0), NULL);
    out.rank = 0;
    for (int i = 0; i + 1 < index.rank; i++)
        out.dim[out.rank++] = index.dim[i];
    for (int i = (int)(batch + depth); i < data.rank; i++)
        out.dim[out.rank++] = data.dim[i];
    return qdq_infer_out(c, 0, qdq_infer_elem(c, 0), &out);
}

qdq_status qdq_infer_onehot(qdq_infer *c)
{
    const qdq_values *depth = qdq_infer_known(c, 1);
    qdq_shape index, out;
    double number;
    int axis;

    out.rank = -1;
    if (qdq_infer_shape_of(c, 0, &index) && index.rank < QDQ_INFER_RANK) {
        QDQ_TRY(qdq_infer_axis(c, qdq_infer_int(c, "axis", -1), index.rank + 1, &axis));
        out.rank = index.rank + 1;
        for (int i = 0; i < out.rank; i++)
            if (i != axis)
                out.dim[i] = index.dim[i < axis ? i : i - 1];
        out.dim[axis] = qdq_dim_unknown();
        if (depth != NULL && depth->n == 1 && qdq_elem_is_int(depth->elem))
            out.dim[axis] = qdq_dim_from(&depth->at[0]);
        else if (number_of(depth, 0, &number) && number >= 0.0 && number < 1.0e15)
            out.dim[axis] = qdq_dim_known((int64_t)number);
    }
    return qdq_infer_out(c, 0, qdq_infer_elem(c, 2), &out);
}

qdq_status qdq_infer_topk(qdq_infer *c)
{
    qdq_dim k = qdq_dim_unknown();
    const qdq_values *v;
    qdq_shape s;
    int axis;

    if (c->opset < 10) {
        k = qdq_dim_known(qdq_infer_int(c, "k", -1));
    } else {
        v = qdq_infer_known(c, 1);
        if (v != NULL && v->n == 1 && qdq_elem_is_int(v->elem))
            k = qdq_dim_from(&v->at[0]);
    }
    if (k.value < 0)
        k.value = -1;
    if (qdq_infer_shape_of(c, 0, &s)) {
        QDQ_TRY(qdq_infer_axis(c, qdq_infer_int(c, "axis", -1), s.rank, &axis));
        s.dim[axis] = k;
    }
    QDQ_TRY(qdq_infer_out(c, 0, qdq_infer_elem(c, 0), &s));
    return qdq_infer_out(c, 1, QDQ_INT64, &s);
}

/* --- as many as the data says ----------------------------------------------------------------- */

qdq_status qdq_infer_nonzero(qdq_infer *c)
{
    qdq_shape in, out;

    qdq_shape_fill(&out, 2);
    /* A scalar counts as a vector for some engines and not for others. */
    if (qdq_infer_shape_of(c, 0, &in) && in.rank > 0)
        out.dim[0] = qdq_dim_known(in.rank);
    return qdq_infer_out(c, 0, QDQ_INT64, &out);
}

/* How many elements are kept is data. */
qdq_status qdq_infer_compress(qdq_infer *c)
{
    bool is_flat = qdq_node_attr(c->node, "axis") == NULL;
    qdq_shape in, out;
    int axis;

    qdq_shape_fill(&out, is_flat ? 1 : -1);
    if (!is_flat && qdq_infer_shape_of(c, 0, &in)) {
        QDQ_TRY(qdq_infer_axis(c, qdq_infer_int(c, "axis", 0), in.rank, &axis));
        out = in;
        out.dim[axis] = qdq_dim_unknown();
    }
    return qdq_infer_out(c, 0, qdq_infer_elem(c, 0), &out);
}

/* One number for each matrix. */
qdq_status qdq_infer_det(qdq_infer *c)
{
    qdq_shape s;

    if (!qdq_infer_shape_of(c, 0, &s))
        return qdq_infer_out(c, 0, qdq_infer_elem(c, 0), NULL);
    if (s.rank < 2)
        return qdq_fail(c->err, QDQ_E_FORMAT, "input 0 has rank %d, want 2 or more", s.rank);
    s.rank -= 2;
    return qdq_infer_out(c, 0, qdq_infer_elem(c, 0), &s);
}

qdq_status qdq_infer_nonmaxsuppression(qdq_infer *c)
{
    qdq_shape out;

    qdq_shape_fill(&out, 2);
    out.dim[1] = qdq_dim_known(3);
    return qdq_infer_out(c, 0, QDQ_INT64, &out);
}
