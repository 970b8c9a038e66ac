/* eval_gather.c - operators that pick elements or put them down at places given by indices. */
#include "opt/eval_kernel.h"

#include <inttypes.h>
#include <string.h>

/* --- Gather -------------------------------------------------------------------------------------------------------------- */

/* Indices from -dim to dim - 1; the result counts from the front. */
static bool place_of(qdq_eval *c, int64_t index, int64_t dim, int64_t *place)
{
    if (index < -dim || index >= dim)
        return QDQ_REFUSE(c, "index %" PRId64 " is out of range: the dim is %" PRId64, index, dim);
    *place = index < 0 ? index + dim : index;
    return true;
}

static bool gather_dims(qdq_eval *c, int axis, int *rank, int64_t *dim)
{
    const qdq_const *x = c->in[0], *index = c->in[1];

    *rank = 0;
    if (x->rank - 1 + index->rank > QDQ_EVAL_RANK)
        return QDQ_REFUSE(c, "a result of rank above %d", QDQ_EVAL_RANK);
    for (int i = 0; i < axis; i++)
        dim[(*rank)++] = x->dim[i];
    for (int i = 0; i < index->rank; i++)
        dim[(*rank)++] = index->dim[i];
    for (int i = axis + 1; i < x->rank; i++)
        dim[(*rank)++] = x->dim[i];
    return true;
}

bool qdq_eval_gather(qdq_eval *c)
{
    const qdq_const *x = c->in[0];
    int64_t dim[QDQ_EVAL_RANK], count, place = 0;
    const int64_t *index;
    int axis, rank;

    if (!qdq_eval_axis(c, qdq_eval_int(c, "axis", 0), x->rank, &axis) || !gather_dims(c, axis, &rank, dim) ||
        !qdq_eval_ints(c, 1, &index, &count))
        return false;
    char *out = qdq_eval_output(c, 0, x->elem, rank, dim);
    if (out == NULL)
        return false;
    if (c->out[0].count == 0)
        return true;
    int64_t outer = qdq_eval_product(x->dim, 0, axis), rows = x->dim[axis];
    size_t size = qdq_eval_size(x->elem) * (size_t)qdq_eval_product(x->dim, axis + 1, x->rank);
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < count; i++, out += size) {
            if (!place_of(c, index[i], rows, &place))
                return false;
            memcpy(out, (const char *)x->data + (size_t)(o * rows + place) * size, size);
        }
    return true;
}
