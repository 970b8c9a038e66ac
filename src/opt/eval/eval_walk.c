/* eval_walk.c - several arrays walked together: broadcasting, and copies between any two layouts.
 * Knows sizes of elements, no types. */
#include "opt/eval/eval_kernel.h"

#include <inttypes.h>
#include <string.h>

/* --- walks ------------------------------------------------------------------------------------ */

/* Dim i + 1 continues dim i in every array. */
static bool is_joined(const qdq_walk *w, int i)
{
    for (int k = 0; k < w->n; k++)
        if (w->stride[k][i] != w->stride[k][i + 1] * w->dim[i + 1])
            return false;
    return true;
}

/* Leaves out dims of 1 and joins what can be joined. */
static void simplify(qdq_walk *w)
{
    int rank = 0;

    for (int i = 0; i < w->rank; i++) {
        if (w->dim[i] == 1)
            continue;
        w->dim[rank] = w->dim[i];
        for (int k = 0; k < w->n; k++)
            w->stride[k][rank] = w->stride[k][i];
        rank++;
        if (rank > 1 && is_joined(w, rank - 2)) {
            w->dim[rank - 2] *= w->dim[rank - 1];
            for (int k = 0; k < w->n; k++)
                w->stride[k][rank - 2] = w->stride[k][rank - 1];
            rank--;
        }
    }
    w->rank = rank;
}

bool qdq_walk_begin(qdq_walk *w, int n)
{
    w->n = n;
    for (int i = 0; i < w->rank; i++) {
        if (w->dim[i] == 0)
            return false;
        w->at[i] = 0;
    }
    simplify(w);
    bool scalar = w->rank == 0;
    w->rank -= !scalar; /* the last one is the run */
    w->run = scalar ? 1 : w->dim[w->rank];
    for (int k = 0; k < n; k++) {
        w->step[k] = scalar ? 1 : w->stride[k][w->rank];
        w->offset[k] = 0;
    }
    return true;
}

bool qdq_walk_next(qdq_walk *w)
{
    for (int i = w->rank - 1; i >= 0; i--) {
        for (int k = 0; k < w->n; k++)
            w->offset[k] += w->stride[k][i];
        if (++w->at[i] < w->dim[i])
            return true;
        for (int k = 0; k < w->n; k++)
            w->offset[k] -= w->stride[k][i] * w->dim[i];
        w->at[i] = 0;
    }
    return false;
}

/* --- broadcasting ----------------------------------------------------------------------------- */

void qdq_eval_strides(int rank, const int64_t *dim, int64_t *stride)
{
    bool empty = false;
    int64_t next = 1;

    for (int i = 0; i < rank; i++)
        empty = empty || dim[i] == 0;
    for (int i = rank - 1; i >= 0; i--) {
        stride[i] = empty ? 0 : next; /* the product might overflow, and nothing goes there */
        next *= empty ? 1 : dim[i];
    }
}

void qdq_eval_broadcast_strides(const qdq_const *x, int rank, int64_t *stride)
{
    int lead = rank - x->rank;

    for (int i = 0; i < lead; i++)
        stride[i] = 0;
    qdq_eval_strides(x->rank, x->dim, stride + lead);
    for (int i = 0; i < x->rank; i++)
        if (x->dim[i] == 1)
            stride[lead + i] = 0;
}

bool qdq_eval_broadcast(qdq_eval *c, uint32_t n, const qdq_const *const *x, int *rank, int64_t *dim)
{
    *rank = 0;
    for (uint32_t k = 0; k < n; k++)
        if (x[k] != NULL && x[k]->rank > *rank)
            *rank = x[k]->rank;
    for (int i = 0; i < *rank; i++)
        dim[i] = 1;
    for (uint32_t k = 0; k < n; k++)
        for (int i = 0; x[k] != NULL && i < x[k]->rank; i++) {
            int64_t *to = &dim[*rank - x[k]->rank + i], d = x[k]->dim[i];

            if (d != 1 && *to != 1 && d != *to)
                return QDQ_REFUSE(c, "dims %" PRId64 " and %" PRId64 " do not broadcast", *to, d);
            if (d != 1)
                *to = d;
        }
    return true;
}

/* --- copies ----------------------------------------------------------------------------------- */

/* The calls with a constant size become plain loads and stores. */
#define FOR_SIZE(size, LOOP)                                                                       \
    switch (size) {                                                                                \
    case 1:                                                                                        \
        LOOP(1)                                                                                    \
        break;                                                                                     \
    case 2:                                                                                        \
        LOOP(2)                                                                                    \
        break;                                                                                     \
    case 4:                                                                                        \
        LOOP(4)                                                                                    \
        break;                                                                                     \
    default:                                                                                       \
        LOOP(8)                                                                                    \
        break;                                                                                     \
    }

void qdq_eval_fill(void *to, int64_t n, size_t size, const void *value)
{
    unsigned char *t = to, v[8];

    memcpy(v, value, size);
#define FILL(S)                                                                                    \
    for (int64_t i = 0; i < n; i++)                                                                \
        memcpy(t + i * (S), v, (S));
    FOR_SIZE(size, FILL)
#undef FILL
}

static void copy_strided(unsigned char *to, int64_t to_step, const unsigned char *from,
                         int64_t from_step, int64_t n, size_t size)
{
#define COPY(S)                                                                                    \
    for (int64_t i = 0; i < n; i++)                                                                \
        memcpy(to + i * to_step * (S), from + i * from_step * (S), (S));
    FOR_SIZE(size, COPY)
#undef COPY
}

static void copy_run(unsigned char *to, int64_t to_step, const unsigned char *from,
                     int64_t from_step, int64_t n, size_t size)
{
    if (to_step == 1 && from_step == 1)
        memcpy(to, from, (size_t)n * size);
    else if (to_step == 1 && from_step == 0)
        qdq_eval_fill(to, n, size, from);
    else
        copy_strided(to, to_step, from, from_step, n, size);
}

/* Rows of `to` are columns of `from`: in blocks whose lines stay in the cache. */
static void copy_transposed(unsigned char *to, int64_t to_row, const unsigned char *from,
                            int64_t from_column, int64_t rows, int64_t columns, size_t size)
{
    enum { BLOCK = 32 };

    for (int64_t r0 = 0; r0 < rows; r0 += BLOCK)
        for (int64_t c0 = 0; c0 < columns; c0 += BLOCK) {
            int64_t r1 = r0 + BLOCK < rows ? r0 + BLOCK : rows;
            int64_t n = c0 + BLOCK < columns ? BLOCK : columns - c0;

            for (int64_t r = r0; r < r1; r++)
                copy_strided(to + (size_t)(r * to_row + c0) * size, 1,
                             from + (size_t)(r + c0 * from_column) * size, from_column, n, size);
        }
}

/* A dim along which `from` is contiguous, while it is not along the run; -1: none. It becomes the
 * last one of the outer dims. */
static int find_rows(const qdq_walk *w)
{
    if (w->step[0] != 1 || w->step[1] == 1 || w->step[1] == 0)
        return -1;
    for (int i = 0; i < w->rank; i++)
        if (w->stride[1][i] == 1)
            return i;
    return -1;
}

static void take_out(qdq_walk *w, int i)
{
    w->rank--;
    for (int j = i; j < w->rank; j++) {
        w->dim[j] = w->dim[j + 1];
        for (int k = 0; k < w->n; k++)
            w->stride[k][j] = w->stride[k][j + 1];
    }
}

void qdq_eval_copy(qdq_walk *w, size_t size, void *to, const void *from)
{
    unsigned char *t = to;
    const unsigned char *f = from;
    bool more = qdq_walk_begin(w, 2);
    int row = more ? find_rows(w) : -1;

    if (row >= 0) {
        int64_t rows = w->dim[row], to_row = w->stride[0][row];

        for (take_out(w, row); more; more = qdq_walk_next(w))
            copy_transposed(t + w->offset[0] * (int64_t)size, to_row,
                            f + w->offset[1] * (int64_t)size, w->step[1], rows, w->run, size);
        return;
    }
    for (; more; more = qdq_walk_next(w))
        copy_run(t + w->offset[0] * (int64_t)size, w->step[0], f + w->offset[1] * (int64_t)size,
                 w->step[1], w->run, size);
}
