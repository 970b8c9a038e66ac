/* eval_shape.c - operators that read or change nothing but the shape: results are numbers of dims,
 * or the input's data in another shape. */
#include "opt/eval/eval_kernel.h"

#include <inttypes.h>
#include <string.h>

#include "ir/shape.h"

bool qdq_eval_identity(qdq_eval *c)
{
    return qdq_eval_view(c, 0, c->in[0], c->in[0]->rank, c->in[0]->dim);
}

/* Is input 1, the fraction of elements to drop, 0? Without it, half of them are dropped. */
static bool drops_none(qdq_eval *c)
{
    const qdq_const *ratio = qdq_eval_in(c, 1);

    return ratio != NULL && ratio->count == 1 && qdq_elem_is_float(ratio->elem) &&
           qdq_elem_float(ratio->elem, ratio->data, 0) == 0;
}

/* Where nothing trains, or nothing is dropped: the data, and a mask that keeps all of them. */
bool qdq_eval_dropout(qdq_eval *c)
{
    const qdq_const *x = c->in[0], *trains = qdq_eval_in(c, 2);
    bool has_mask = c->node->n_out > 1 && c->node->out[1] != NULL;

    if (trains != NULL && (trains->elem != QDQ_BOOL || trains->count != 1))
        return QDQ_REFUSE(c, "input 2 is not a single bool");
    if (trains != NULL && *(const uint8_t *)trains->data != 0 && !drops_none(c))
        return QDQ_REFUSE(c, "a dropout that trains");
    if (has_mask && c->opset < 10)
        return QDQ_REFUSE(c, "a mask below opset 10, whose type is not certain");
    if (!qdq_eval_view(c, 0, x, x->rank, x->dim))
        return false;
    uint8_t *mask = has_mask ? qdq_eval_output(c, 1, QDQ_BOOL, x->rank, x->dim) : NULL;
    if (mask != NULL)
        memset(mask, 1, (size_t)x->count);
    return !has_mask || mask != NULL;
}

/* The same bits as another type of that size. */
bool qdq_eval_bitcast(qdq_eval *c)
{
    int64_t to = qdq_eval_int(c, "to", QDQ_UNDEFINED);
    qdq_const x = *c->in[0];
    unsigned bits = qdq_elem_bits(x.elem);

    x.elem = to > 0 && to < QDQ_ELEM_COUNT ? (qdq_elem)to : QDQ_UNDEFINED;
    if (qdq_elem_bits(x.elem) != bits || (x.elem == QDQ_BOOL && c->in[0]->elem != QDQ_BOOL))
        return QDQ_REFUSE(c, "a type of another size, or bool");
    return qdq_eval_view(c, 0, &x, x.rank, x.dim);
}

/* --- dims as numbers -------------------------------------------------------------------------- */

bool qdq_eval_shape(qdq_eval *c)
{
    const qdq_const *x = c->in[0];
    int64_t rank = x->rank, start = 0, end = rank, count;
    int64_t *out;

    if (c->opset >= 15) {
        start = qdq_eval_int(c, "start", 0);
        end = qdq_eval_int(c, "end", rank);
        qdq_shape_bounds(rank, &start, &end);
    }
    count = end - start;
    out = qdq_eval_output(c, 0, QDQ_INT64, 1, &count);
    for (int64_t i = 0; out != NULL && i < count; i++)
        out[i] = x->dim[start + i];
    return out != NULL;
}

bool qdq_eval_count(qdq_eval *c)
{
    int64_t *out = qdq_eval_output(c, 0, QDQ_INT64, 0, NULL);

    if (out != NULL)
        *out = c->in[0]->count;
    return out != NULL;
}

/* --- the same data in another shape ----------------------------------------------------------- */

/* Puts in what 0 copies; *open is the place of -1, or -1. */
static bool read_shape(qdq_eval *c, const int64_t *list, int64_t count, int64_t *dim, int *open)
{
    bool allow_zero = c->opset >= 14 && qdq_eval_flag(c, "allowzero", false);
    const qdq_const *x = c->in[0];

    *open = -1;
    for (int i = 0; i < (int)count; i++) {
        dim[i] = list[i];
        if (list[i] == 0 && !allow_zero) {
            if (i >= x->rank)
                return QDQ_REFUSE(c, "dim %d is copied from an array of rank %d", i, x->rank);
            dim[i] = x->dim[i];
        } else if (list[i] == -1 && *open < 0) {
            *open = i;
            dim[i] = 1;
        } else if (list[i] < 0) {
            return QDQ_REFUSE(c, "dim %d is %" PRId64 ", expected one -1 at most", i, list[i]);
        }
    }
    return true;
}

bool qdq_eval_reshape(qdq_eval *c)
{
    const qdq_const *x = c->in[0];
    int64_t dim[QDQ_EVAL_RANK], count, others;
    const int64_t *list;
    int open;

    if (!qdq_eval_ints_or_attr(c, 1, NULL, 0, &list, &count))
        return false;
    if (count > QDQ_EVAL_RANK)
        return QDQ_REFUSE(c, "a result of rank %" PRId64 ", expected at most %d", count,
                          QDQ_EVAL_RANK);
    if (!read_shape(c, list, count, dim, &open))
        return false;
    if (open >= 0) {
        if (!qdq_dims_count((int)count, dim, &others) || others == 0 || x->count % others != 0)
            return QDQ_REFUSE(
                c, "%" PRId64 " elements do not fill a shape whose other dims take their part",
                x->count);
        dim[open] = x->count / others;
    }
    return qdq_eval_view(c, 0, x, (int)count, dim);
}

bool qdq_eval_flatten(qdq_eval *c)
{
    const qdq_const *x = c->in[0];
    int64_t axis = qdq_eval_int(c, "axis", 1), dim[2];

    if (axis < -x->rank || axis > x->rank)
        return QDQ_REFUSE(c, "axis %" PRId64 " of an array of rank %d", axis, x->rank);
    axis += axis < 0 ? x->rank : 0;
    if (!qdq_dims_count((int)axis, x->dim, &dim[0]) ||
        !qdq_dims_count(x->rank - (int)axis, x->dim + axis, &dim[1]))
        return QDQ_REFUSE(c, "a result that has more elements than can be counted");
    return qdq_eval_view(c, 0, x, 2, dim);
}

bool qdq_eval_squeeze(qdq_eval *c)
{
    const qdq_const *x = c->in[0];
    int64_t dim[QDQ_EVAL_RANK], count;
    bool mark[QDQ_EVAL_RANK];
    int rank = 0;

    if (!qdq_eval_axes(c, 1, 13, x->rank, mark, &count))
        return false;
    if (count == 0) /* none of them, or all */
        return QDQ_REFUSE(c, "axes are empty");
    for (int i = 0; i < x->rank; i++)
        if (count < 0 ? x->dim[i] != 1 : !mark[i])
            dim[rank++] = x->dim[i];
        else if (x->dim[i] != 1)
            return QDQ_REFUSE(c, "axis %d has dim %" PRId64 ", expected 1", i, x->dim[i]);
    return qdq_eval_view(c, 0, x, rank, dim);
}

bool qdq_eval_unsqueeze(qdq_eval *c)
{
    const qdq_const *x = c->in[0];
    int64_t dim[QDQ_EVAL_RANK], count;
    bool mark[QDQ_EVAL_RANK];
    const int64_t *list;

    if (!qdq_eval_ints_or_attr(c, 1, "axes", 13, &list, &count))
        return false;
    if (list == NULL)
        return QDQ_REFUSE(c, "axes are missing");
    if (count > QDQ_EVAL_RANK - x->rank)
        return QDQ_REFUSE(c, "a result of rank above %d", QDQ_EVAL_RANK);
    int rank = x->rank + (int)count, next = 0;
    if (!qdq_eval_axes(c, 1, 13, rank, mark, &count))
        return false;
    for (int i = 0; i < rank; i++)
        dim[i] = mark[i] ? 1 : x->dim[next++];
    return qdq_eval_view(c, 0, x, rank, dim);
}
