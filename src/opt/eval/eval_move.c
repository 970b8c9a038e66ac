/* eval_move.c - operators that move elements: all are copies between two layouts of strides, made
 * by qdq_eval_copy. */
#include "opt/eval/eval_kernel.h"

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

/* --- Transpose -------------------------------------------------------------------------------- */

bool qdq_eval_transpose(qdq_eval *c)
{
    const qdq_const *x = c->in[0];
    int64_t stride[QDQ_EVAL_RANK], count;
    bool seen[QDQ_EVAL_RANK] = {false};
    const int64_t *perm;
    qdq_walk w;

    if (qdq_eval_int_list(c, "perm", &perm, &count) && count != x->rank)
        return QDQ_REFUSE(c, "a permutation of %" PRId64 " axes of an array of rank %d", count,
                          x->rank);
    qdq_eval_strides(x->rank, x->dim, stride);
    for (int i = 0; i < x->rank; i++) {
        int64_t from = perm != NULL ? perm[i] : x->rank - 1 - i;

        if (from < 0 || from >= x->rank || seen[from])
            return QDQ_REFUSE(c, "attribute 'perm' is not a permutation");
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

/* --- Expand, Tile ----------------------------------------------------------------------------- */

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
        return QDQ_REFUSE(c, "a result of rank %" PRId64 ", expected at most %d", count,
                          QDQ_EVAL_RANK);
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

bool qdq_eval_tile(qdq_eval *c)
{
    const qdq_const *x = c->in[0];
    int64_t dim[QDQ_EVAL_RANK], stride[QDQ_EVAL_RANK], count;
    const int64_t *times;
    qdq_walk w;

    if (!qdq_eval_ints_or_attr(c, 1, NULL, 0, &times, &count))
        return false;
    if (count != x->rank)
        return QDQ_REFUSE(c, "%" PRId64 " repeats of an array of rank %d", count, x->rank);
    qdq_eval_strides(x->rank, x->dim, stride);
    for (int i = 0, k = 0; i < x->rank; i++, k += 2) {
        if (times[i] < 0 || __builtin_mul_overflow(x->dim[i], times[i], &dim[i]))
            return QDQ_REFUSE(c, "axis %d is repeated %" PRId64 " times", i, times[i]);
        w.dim[k] = times[i];
        w.dim[k + 1] = x->dim[i];
        w.stride[1][k] = 0;
        w.stride[1][k + 1] = stride[i];
    }
    void *out = qdq_eval_output(c, 0, x->elem, x->rank, dim);
    if (out == NULL)
        return false;
    copy_into(&w, 2 * x->rank, x, 0, out);
    return true;
}

/* --- Slice ------------------------------------------------------------------------------------ */

typedef struct slices {
    /* axis, step: NULL: all from the first on; 1 */
    const int64_t *start, *end, *axis, *step;
    int64_t count;
} slices;

static bool read_slices(qdq_eval *c, slices *s)
{
    int64_t n_end, n_axis, n_step = 0;

    s->step = NULL;
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
    int64_t offset = 0;
    int axes[QDQ_EVAL_RANK];
    slices s;
    qdq_walk w;

    if (!read_slices(c, &s) || !qdq_eval_read_axes(c, s.axis, s.count, x->rank, axes, NULL))
        return false;
    qdq_eval_strides(x->rank, x->dim, w.stride[1]);
    for (int i = 0; i < x->rank; i++)
        w.dim[i] = x->dim[i];
    for (int i = 0; i < (int)s.count; i++) {
        int64_t step = s.step != NULL ? s.step[i] : 1, first;
        int axis = axes[i];

        if (step == 0)
            return QDQ_REFUSE(c, "the step along axis %d is 0", axis);
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

/* --- Concat ----------------------------------------------------------------------------------- */

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
                return QDQ_REFUSE(c, "input %u has %" PRId64 " along axis %d, expected %" PRId64,
                                  (unsigned)k, x->dim[i], i, dim[i]);
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
    if (!qdq_eval_axis(c, qdq_eval_int(c, "axis", 0), first->rank, &axis) ||
        !join_dims(c, axis, dim))
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

/* --- Split ------------------------------------------------------------------------------------ */

/* Even parts; the last one may be smaller since opset 18. */
static bool even_parts(qdq_eval *c, int64_t dim, int64_t *part)
{
    int64_t n = c->node->n_out, chunk = dim / n + (dim % n != 0), last = dim - chunk * (n - 1);

    if (c->opset >= 18 && qdq_eval_int(c, "num_outputs", n) != n)
        return QDQ_REFUSE(c, "attribute 'num_outputs' is not the number of outputs");
    if (last < 0 || (last != chunk && c->opset < 18))
        return QDQ_REFUSE(c, "a dim of %" PRId64 " does not split into %" PRId64 " parts", dim, n);
    for (int64_t i = 0; i < n; i++)
        part[i] = i + 1 < n ? chunk : last;
    return true;
}

static bool read_parts(qdq_eval *c, int64_t dim, int64_t *part)
{
    int64_t n = c->node->n_out, left = dim, count;
    const int64_t *list;

    if (!qdq_eval_ints_or_attr(c, 1, "split", 13, &list, &count))
        return false;
    if (list == NULL)
        return even_parts(c, dim, part);
    if (count != n)
        return QDQ_REFUSE(c, "%" PRId64 " parts for %" PRId64 " outputs", count, n);
    for (int64_t i = 0; i < n; i++) {
        if (list[i] < 0 || list[i] > left)
            return QDQ_REFUSE(c, "the parts do not add up to the dim of %" PRId64, dim);
        part[i] = list[i];
        left -= list[i];
    }
    return left == 0 || QDQ_REFUSE(c, "the parts do not add up to the dim of %" PRId64, dim);
}

bool qdq_eval_split(qdq_eval *c)
{
    const qdq_const *x = c->in[0];
    int64_t part[QDQ_EVAL_OUTPUTS], stride[QDQ_EVAL_RANK], place = 0;
    qdq_walk w;
    int axis;

    if (!qdq_eval_axis(c, qdq_eval_int(c, "axis", 0), x->rank, &axis) ||
        !read_parts(c, x->dim[axis], part))
        return false;
    qdq_eval_strides(x->rank, x->dim, stride);
    for (uint32_t k = 0; k < c->node->n_out; k++) {
        memcpy(w.dim, x->dim, (size_t)x->rank * sizeof *w.dim);
        memcpy(w.stride[1], stride, (size_t)x->rank * sizeof *stride);
        w.dim[axis] = part[k];
        void *out = qdq_eval_output(c, k, x->elem, x->rank, w.dim);
        if (out == NULL)
            return false;
        copy_into(&w, x->rank, x, place * stride[axis], out);
        place += part[k];
    }
    return true;
}

/* --- blocks of channels to blocks of pixels and back ------------------------------------------ */

/* N, C, H, W and the block size of an input with that many channels or pixels at least. */
static bool read_blocks(qdq_eval *c, int64_t *block)
{
    const qdq_const *x = c->in[0];
    bool to_space = c->node->op == QDQ_OP_DEPTHTOSPACE;

    *block = qdq_eval_int(c, "blocksize", 0);
    if (x->rank != 4)
        return QDQ_REFUSE(c, "input 0 has rank %d, expected 4", x->rank);
    if (*block < 1 || *block > INT16_MAX || (to_space && x->dim[1] % (*block * *block) != 0) ||
        (!to_space && (x->dim[2] % *block != 0 || x->dim[3] % *block != 0)))
        return QDQ_REFUSE(c, "blocks of %" PRId64 " do not divide the input", *block);
    return true;
}

/* `dim` seen as six axes, in the order of `from` for the input; the result takes them as `perm`
 * says. */
static bool copy_blocks(qdq_eval *c, const int64_t *from, const int *perm, const int64_t *dim)
{
    const qdq_const *x = c->in[0];
    int64_t stride[6];
    qdq_walk w;

    qdq_eval_strides(6, from, stride);
    for (int i = 0; i < 6; i++) {
        w.dim[i] = from[perm[i]];
        w.stride[1][i] = stride[perm[i]];
    }
    void *out = qdq_eval_output(c, 0, x->elem, 4, dim);
    if (out != NULL)
        copy_into(&w, 6, x, 0, out);
    return out != NULL;
}

bool qdq_eval_depthtospace(qdq_eval *c)
{
    static const int block_first[] = {0, 3, 4, 1, 5, 2}, channel_first[] = {0, 1, 4, 2, 5, 3};
    const int64_t *d = c->in[0]->dim;
    int64_t b;

    if (!read_blocks(c, &b))
        return false;
    bool crd = c->opset >= 11 && qdq_eval_string_is(c, "mode", "CRD", "DCR");
    if (c->opset >= 11 && !crd && !qdq_eval_string_is(c, "mode", "DCR", "DCR"))
        return QDQ_REFUSE(c, "attribute 'mode' is neither DCR nor CRD");
    int64_t channels = d[1] / (b * b), dim[4] = {d[0], channels, 0, 0};
    if (__builtin_mul_overflow(d[2], b, &dim[2]) || __builtin_mul_overflow(d[3], b, &dim[3]))
        return QDQ_REFUSE(c, "a result that has more elements than can be counted");
    int64_t blocks[] = {d[0], b, b, channels, d[2], d[3]},
            columns[] = {d[0], channels, b, b, d[2], d[3]};
    return copy_blocks(c, crd ? columns : blocks, crd ? channel_first : block_first, dim);
}

bool qdq_eval_spacetodepth(qdq_eval *c)
{
    static const int perm[] = {0, 3, 5, 1, 2, 4};
    const int64_t *d = c->in[0]->dim;
    int64_t b, channels;

    if (!read_blocks(c, &b))
        return false;
    if (__builtin_mul_overflow(d[1], b * b, &channels))
        return QDQ_REFUSE(c, "a result that has more elements than can be counted");
    int64_t dim[] = {d[0], channels, d[2] / b, d[3] / b},
            from[] = {d[0], d[1], dim[2], b, dim[3], b};
    return copy_blocks(c, from, perm, dim);
}

/* --- Trilu ------------------------------------------------------------------------------------ */

bool qdq_eval_trilu(qdq_eval *c)
{
    const qdq_const *x = c->in[0];
    size_t size = qdq_eval_size(x->elem);
    bool upper = qdq_eval_flag(c, "upper", true);
    const int64_t *k;
    int64_t count, diagonal;

    if (!qdq_eval_ints_or_attr(c, 1, NULL, 0, &k, &count))
        return false;
    if (x->rank < 2 || (k != NULL && count != 1))
        return QDQ_REFUSE(c, "no matrix, or a diagonal that is not a scalar");
    char *out = qdq_eval_output(c, 0, x->elem, x->rank, x->dim);
    if (out == NULL)
        return false;
    if (x->count == 0)
        return true;
    int64_t rows = x->dim[x->rank - 2], columns = x->dim[x->rank - 1];
    diagonal = k == NULL ? 0 : clamp(k[0], -rows, columns);
    memcpy(out, x->data, x->bytes);
    for (int64_t r = 0; r < x->count / columns; r++) {
        int64_t edge =
            /* where the kept part begins or ends */
            clamp(r % rows + diagonal + !upper, 0, columns);
        char *row = out + (size_t)(r * columns) * size;

        if (upper)
            memset(row, 0, (size_t)edge * size);
        else
            memset(row + (size_t)edge * size, 0, (size_t)(columns - edge) * size);
    }
    return true;
}
