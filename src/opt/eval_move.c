/* eval_move.c - operators that move elements: all are copies between two layouts of strides, made by
 * qdq_eval_copy. */
#include "opt/eval_kernel.h"

#include <inttypes.h>
#include <string.h>

/* Fills output 0, whose strides are the row-major ones, from x as w->dim and w->stride[1] say. */
static void copy_into(qdq_walk *w, int rank, const qdq_const *x, int64_t offset, void *out)
{
    size_t size = qdq_eval_size(x->elem);

    w->rank = rank;
    qdq_eval_strides(rank, w->dim, w->stride[0]);
    qdq_eval_copy(w, size, out, (const char *)x->data + offset * (int64_t)size);
}

/* --- Transpose -------------------------------------------------------------------------------------------------------- */

bool qdq_eval_transpose(qdq_eval *c)
{
    const qdq_const *x = c->in[0];
    int64_t stride[QDQ_EVAL_RANK], count;
    bool seen[QDQ_EVAL_RANK] = {false};
    const int64_t *perm;
    qdq_walk w;

    if (qdq_eval_int_list(c, "perm", &perm, &count) && count != x->rank)
        return QDQ_REFUSE(c, "a permutation of %" PRId64 " axes of an array of rank %d", count, x->rank);
    qdq_eval_strides(x->rank, x->dim, stride);
    for (int i = 0; i < x->rank; i++) {
        int64_t from = perm != NULL ? perm[i] : x->rank - 1 - i;

        if (from < 0 || from >= x->rank || seen[from])
            return QDQ_REFUSE(c, "attribute 'perm' is no permutation");
        seen[from] = true;
        w.dim[i] = x->dim[from];
        w.stride[1][i] = stride[from];
    }
    void *out = qdq_eval_output(c, 0, x->elem, x->rank, w.dim);
    if (out == NULL)
        return false;
    copy_into(&w, x->rank, x, 0, out);
    return true;
}

/* --- Expand, Tile ----------------------------------------------------------------------------------------------------- */

bool qdq_eval_expand(qdq_eval *c)
{
    const qdq_const *x = c->in[0];
    int64_t count;
    const int64_t *list;
    qdq_const shape = {0};
    qdq_walk w;
    int rank;

    if (!qdq_eval_ints_or_attr(c, 1, NULL, 0, &list, &count))
        return false;
    if (count > QDQ_EVAL_RANK)
        return QDQ_REFUSE(c, "a result of rank %" PRId64 ", expected at most %d", count, QDQ_EVAL_RANK);
    for (int i = 0; i < (int)count; i++)
        if (list[i] < 0)
            return QDQ_REFUSE(c, "dim %d is %" PRId64 ", expected 0 or more", i, list[i]);
    shape.rank = (int)count;
    shape.dim = list;
    if (!qdq_eval_broadcast(c, 2, (const qdq_const *const[]){x, &shape}, &rank, w.dim))
        return false;
    void *out = qdq_eval_output(c, 0, x->elem, rank, w.dim);
    if (out == NULL)
        return false;
    qdq_eval_broadcast_strides(x, rank, w.stride[1]);
    copy_into(&w, rank, x, 0, out);
    return true;
}

/* --- Slice --------------------------------------------------------------------------------------------------------------- */

typedef struct slices {
    const int64_t *start, *end, *axis, *step; /* axis, step: NULL: all from the first on; 1 */
    int64_t count;
} slices;

static bool read_slices(qdq_eval *c, slices *s)
{
    int64_t n_end, n_axis, n_step = 0;

    s->step = NULL;
    if (c->opset < 10 && c->node->n_in > 1)
        return QDQ_REFUSE(c, "%u inputs, expected 1 below opset 10", (unsigned)c->node->n_in);
    if (!qdq_eval_ints_or_attr(c, 1, "starts", 10, &s->start, &s->count) ||
        !qdq_eval_ints_or_attr(c, 2, "ends", 10, &s->end, &n_end) ||
        !qdq_eval_ints_or_attr(c, 3, "axes", 10, &s->axis, &n_axis) ||
        !qdq_eval_ints_or_attr(c, 4, "steps", 10, &s->step, &n_step))
        return false;
    if (s->start == NULL || s->end == NULL)
        return QDQ_REFUSE(c, "starts or ends are missing");
    if (n_end != s->count || (s->axis != NULL && n_axis != s->count) ||
        (s->step != NULL && n_step != s->count))
        return QDQ_REFUSE(c, "%" PRId64 " starts and %" PRId64 " ends, axes or steps", s->count,
                          n_end != s->count                       ? n_end
                          : s->axis != NULL && n_axis != s->count ? n_axis
                                                                  : n_step);
    return true;
}

static int64_t clamp(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

/* One axis of `dim` elements: how many are taken; *first is where. */
static int64_t slice_axis(int64_t dim, int64_t start, int64_t end, int64_t step, int64_t *first)
{
    bool forward = step > 0;
    uint64_t size = forward ? (uint64_t)step : UINT64_C(0) - (uint64_t)step;

    start = clamp(start < 0 ? start + dim : start, 0, forward ? dim : dim - 1);
    end = clamp(end < 0 ? end + dim : end, forward ? 0 : -1, forward ? dim : dim - 1);
    *first = start;
    if (dim == 0 || (forward ? start >= end : start <= end))
        return 0;
    return (int64_t)(((uint64_t)(forward ? end - start : start - end) - 1) / size) + 1;
}

bool qdq_eval_slice(qdq_eval *c)
{
    const qdq_const *x = c->in[0];
    bool seen[QDQ_EVAL_RANK] = {false};
    int64_t offset = 0;
    slices s;
    qdq_walk w;

    if (!read_slices(c, &s))
        return false;
    if (s.count > x->rank)
        return QDQ_REFUSE(c, "%" PRId64 " slices of an array of rank %d", s.count, x->rank);
    qdq_eval_strides(x->rank, x->dim, w.stride[1]);
    for (int i = 0; i < x->rank; i++)
        w.dim[i] = x->dim[i];
    for (int i = 0; i < (int)s.count; i++) {
        int64_t step = s.step != NULL ? s.step[i] : 1, first;
        int axis;

        if (!qdq_eval_axis(c, s.axis != NULL ? s.axis[i] : i, x->rank, &axis))
            return false;
        if (seen[axis] || step == 0)
            return QDQ_REFUSE(c, step == 0 ? "the step along axis %d is 0" : "axis %d is there twice", axis);
        seen[axis] = true;
        w.dim[axis] = slice_axis(x->dim[axis], s.start[i], s.end[i], step, &first);
        if (w.dim[axis] > 0)
            offset += first * w.stride[1][axis];
        w.stride[1][axis] *= w.dim[axis] > 1 ? step : 0;
    }
    void *out = qdq_eval_output(c, 0, x->elem, x->rank, w.dim);
    if (out == NULL)
        return false;
    if (c->out[0].count > 0)
        copy_into(&w, x->rank, x, offset, out);
    return true;
}

/* --- Concat ---------------------------------------------------------------------------------------------------------------- */

static bool join_dims(qdq_eval *c, int axis, int64_t *dim)
{
    const qdq_const *first = c->in[0];

    memcpy(dim, first->dim, (size_t)first->rank * sizeof *dim);
    for (uint32_t k = 1; k < c->node->n_in; k++) {
        const qdq_const *x = c->in[k];

        if (x == NULL)
            return QDQ_REFUSE(c, "input %u is left out", (unsigned)k);
        if (x->elem != first->elem || x->rank != first->rank)
            return QDQ_REFUSE(c, "input %u has another type or rank than the first", (unsigned)k);
        for (int i = 0; i < x->rank; i++)
            if (i != axis && x->dim[i] != dim[i])
                return QDQ_REFUSE(c, "input %u has %" PRId64 " along axis %d, expected %" PRId64, (unsigned)k,
                                  x->dim[i], i, dim[i]);
        if (__builtin_add_overflow(dim[axis], x->dim[axis], &dim[axis]))
            return QDQ_REFUSE(c, "a result that has more elements than can be counted");
    }
    return true;
}

bool qdq_eval_concat(qdq_eval *c)
{
    const qdq_const *first = c->in[0];
    size_t size = qdq_eval_size(first->elem);
    int64_t dim[QDQ_EVAL_RANK], stride[QDQ_EVAL_RANK], place = 0;
    qdq_walk w;
    int axis;

    if (qdq_node_attr(c->node, "axis") == NULL)
        return QDQ_REFUSE(c, "attribute 'axis' is missing");
    if (!qdq_eval_axis(c, qdq_eval_int(c, "axis", 0), first->rank, &axis) || !join_dims(c, axis, dim))
        return false;
    char *out = qdq_eval_output(c, 0, first->elem, first->rank, dim);
    if (out == NULL)
        return false;
    qdq_eval_strides(first->rank, dim, stride);
    for (uint32_t k = 0; k < c->node->n_in && c->out[0].count > 0; k++) {
        const qdq_const *x = c->in[k];

        w.rank = x->rank;
        memcpy(w.dim, x->dim, (size_t)x->rank * sizeof *w.dim);
        memcpy(w.stride[0], stride, (size_t)x->rank * sizeof *stride);
        qdq_eval_strides(x->rank, x->dim, w.stride[1]);
        qdq_eval_copy(&w, size, out + place * stride[axis] * (int64_t)size, x->data);
        place += x->dim[axis];
    }
    return true;
}
