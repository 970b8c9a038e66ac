/* eval_pick.c - elements that are left out or turned round along an axis: Compress,
 * ReverseSequence. */
#include "opt/eval/eval_kernel.h"

#include <inttypes.h>
#include <string.h>

/* Without an axis the array counts as one of rank 1. */
bool qdq_eval_compress(qdq_eval *c)
{
    const qdq_const *x = c->in[0], *keep = c->in[1];
    bool is_flat = qdq_node_attr(c->node, "axis") == NULL;
    size_t size = qdq_eval_size(x->elem);
    int64_t dim[QDQ_EVAL_RANK], n = x->count, inner = 1, kept = 0;
    int axis = 0, rank = is_flat ? 1 : x->rank;

    if (keep->elem != QDQ_BOOL)
        return qdq_eval_refuse_type(c, 1);
    if (!is_flat) {
        if (!qdq_eval_axis(c, qdq_eval_int(c, "axis", 0), x->rank, &axis))
            return false;
        n = x->dim[axis];
        inner = qdq_eval_product(x->dim, axis + 1, x->rank);
    }
    if (keep->rank != 1 || keep->count > n)
        return QDQ_REFUSE(c, "a condition of %" PRId64 " elements for %" PRId64, keep->count, n);
    for (int64_t i = 0; i < keep->count; i++)
        kept += ((const bool *)keep->data)[i];
    for (int i = 0; i < rank; i++)
        dim[i] = i == axis ? kept : x->dim[i];
    char *out = qdq_eval_output(c, 0, x->elem, rank, dim);
    if (out == NULL)
        return false;
    if (c->out[0].count == 0)
        return true;
    for (int64_t i = 0; i < x->count / (n * inner); i++)
        for (int64_t k = 0; k < keep->count; k++) {
            if (!((const bool *)keep->data)[k])
                continue;
            memcpy(out, (const char *)x->data + (size_t)((i * n + k) * inner) * size,
                   (size_t)inner * size);
            out += (size_t)inner * size;
        }
    return true;
}

bool qdq_eval_reversesequence(qdq_eval *c)
{
    const qdq_const *x = c->in[0];
    int64_t time = qdq_eval_int(c, "time_axis", 0), batch = qdq_eval_int(c, "batch_axis", 1), count;
    size_t size = qdq_eval_size(x->elem);
    const int64_t *length;

    if (x->rank < 2 || time < 0 || time > 1 || batch != 1 - time)
        return QDQ_REFUSE(c,
                          "time along axis %" PRId64 " and batch along axis %" PRId64
                          " of an array of rank %d",
                          time, batch, x->rank);
    if (c->in[1]->elem != QDQ_INT64)
        return qdq_eval_refuse_type(c, 1);
    if (!qdq_eval_ints(c, 1, &length, &count))
        return false;
    if (c->in[1]->rank != 1 || count != x->dim[batch])
        return QDQ_REFUSE(c, "%" PRId64 " lengths for a batch of %" PRId64, count, x->dim[batch]);
    for (int64_t i = 0; i < count; i++)
        if (length[i] < 0 || length[i] > x->dim[time])
            return QDQ_REFUSE(c, "a length of %" PRId64 " of %" PRId64, length[i], x->dim[time]);
    char *out = qdq_eval_output(c, 0, x->elem, x->rank, x->dim);
    if (out == NULL || x->count == 0)
        return out != NULL;
    size_t row = (size_t)qdq_eval_product(x->dim, 2, x->rank) * size;
    for (int64_t i = 0; i < x->dim[0] * x->dim[1]; i++) {
        int64_t at[2] = {i / x->dim[1], i % x->dim[1]}, n = length[at[batch]];

        at[time] = at[time] < n ? n - 1 - at[time] : at[time];
        memcpy(out + (size_t)i * row,
               (const char *)x->data + (size_t)(at[0] * x->dim[1] + at[1]) * row, row);
    }
    return true;
}
