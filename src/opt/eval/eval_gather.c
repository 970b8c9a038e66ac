/* eval_gather.c - operators that pick elements or put them down at places given by indices. */
#include "opt/eval/eval_kernel.h"

#include <inttypes.h>
#include <string.h>

/* --- Gather ----------------------------------------------------------------------------------- */

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

    if (!qdq_eval_axis(c, qdq_eval_int(c, "axis", 0), x->rank, &axis) ||
        !gather_dims(c, axis, &rank, dim) || !qdq_eval_ints(c, 1, &index, &count))
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

/* --- GatherElements, ScatterElements: one index for each element ------------------------------ */

/* Two arrays walked in the shape of the indices: those themselves, and x at place 0 of the axis. */
typedef struct elements {
    qdq_walk w;
    const int64_t *index;
    /* of x along the axis */
    int64_t rows, row_stride;
} elements;

static bool begin_elements(qdq_eval *c, elements *e)
{
    const qdq_const *x = c->in[0], *index = c->in[1];
    int64_t count;
    int axis;

    if (!qdq_eval_axis(c, qdq_eval_int(c, "axis", 0), x->rank, &axis) ||
        !qdq_eval_ints(c, 1, &e->index, &count))
        return false;
    if (index->rank != x->rank)
        return QDQ_REFUSE(c, "indices of rank %d into an array of rank %d", index->rank, x->rank);
    for (int i = 0; i < x->rank; i++)
        if (i != axis && index->dim[i] > x->dim[i])
            return QDQ_REFUSE(c, "more indices than elements along axis %d", i);
    qdq_eval_strides(x->rank, index->dim, e->w.stride[0]);
    qdq_eval_strides(x->rank, x->dim, e->w.stride[1]);
    e->rows = x->dim[axis];
    e->row_stride = e->w.stride[1][axis];
    e->w.stride[1][axis] = 0;
    e->w.rank = x->rank;
    memcpy(e->w.dim, index->dim, (size_t)x->rank * sizeof *e->w.dim);
    return true;
}

/* Where element i of the run is in x; *at: in the indices. */
static bool element_of(qdq_eval *c, const elements *e, int64_t i, int64_t *at, int64_t *from)
{
    int64_t place;

    *at = e->w.offset[0] + i * e->w.step[0];
    if (!place_of(c, e->index[*at], e->rows, &place))
        return false;
    *from = e->w.offset[1] + i * e->w.step[1] + place * e->row_stride;
    return true;
}

bool qdq_eval_gatherelements(qdq_eval *c)
{
    const qdq_const *x = c->in[0], *index = c->in[1];
    size_t size = qdq_eval_size(x->elem);
    int64_t at, from;
    elements e;

    if (!begin_elements(c, &e))
        return false;
    char *out = qdq_eval_output(c, 0, x->elem, index->rank, index->dim);
    if (out == NULL)
        return false;
    for (bool more = qdq_walk_begin(&e.w, 2); more; more = qdq_walk_next(&e.w))
        for (int64_t i = 0; i < e.w.run; i++) {
            if (!element_of(c, &e, i, &at, &from))
                return false;
            memcpy(out + (size_t)at * size, (const char *)x->data + (size_t)from * size, size);
        }
    return true;
}

/* --- Scatter: what an element becomes --------------------------------------------------------- */

/* *run NULL: the update replaces it. */
static bool read_reduction(qdq_eval *c, qdq_run_fn **run)
{
    static const struct {
        const char *name;
        qdq_op op;
        int64_t since;
    } ways[] = {{"none", QDQ_OP_UNKNOWN, 0},
                {"add", QDQ_OP_ADD, 16},
                {"mul", QDQ_OP_MUL, 16},
                {"max", QDQ_OP_MAX, 18},
                {"min", QDQ_OP_MIN, 18}};

    *run = NULL;
    if (c->in[0]->elem != c->in[2]->elem)
        return QDQ_REFUSE(c, "inputs of the types %s and %s", qdq_elem_name(c->in[0]->elem),
                          qdq_elem_name(c->in[2]->elem));
    for (size_t i = 0; i < QDQ_COUNT(ways); i++) {
        if (c->opset < ways[i].since || !qdq_eval_string_is(c, "reduction", ways[i].name, "none"))
            continue;
        *run = c->actual == QDQ_UNDEFINED ? qdq_eval_run_of(ways[i].op, c->in[0]->elem) : NULL;
        return i == 0 || *run != NULL || qdq_eval_refuse_type(c, 0);
    }
    return QDQ_REFUSE(c, "attribute 'reduction' is not known");
}

static void put_down(qdq_run_fn *run, char *to, const char *update, int64_t n, size_t size)
{
    if (run == NULL)
        memcpy(to, update, (size_t)n * size);
    else
        run(to, 1, update, 1, to, n);
}

/* A copy of input 0 to put updates into. */
static char *begin_scatter(qdq_eval *c)
{
    const qdq_const *x = c->in[0];
    char *out = qdq_eval_output(c, 0, x->elem, x->rank, x->dim);

    return out == NULL ? NULL : memcpy(out, x->data, x->bytes);
}

bool qdq_eval_scatterelements(qdq_eval *c)
{
    const qdq_const *index = c->in[1], *update = c->in[2];
    size_t size = qdq_eval_size(update->elem);
    int64_t at, to;
    qdq_run_fn *run;
    elements e;

    if (!read_reduction(c, &run) || !begin_elements(c, &e))
        return false;
    if (update->rank != index->rank ||
        memcmp(update->dim, index->dim, (size_t)index->rank * sizeof *index->dim) != 0)
        return QDQ_REFUSE(c, "updates and indices of different shapes");
    char *out = begin_scatter(c);
    if (out == NULL)
        return false;
    for (bool more = qdq_walk_begin(&e.w, 2); more; more = qdq_walk_next(&e.w))
        for (int64_t i = 0; i < e.w.run; i++) {
            if (!element_of(c, &e, i, &at, &to))
                return false;
            put_down(run, out + (size_t)to * size, (const char *)update->data + (size_t)at * size,
                     1, size);
        }
    return run == NULL || qdq_eval_check_nan(c);
}

/* --- GatherND, ScatterND: a list of indices for each slice ------------------------------------ */

typedef struct slices {
    const int64_t *index;
    /* lists of `depth` indices in each batch */
    int64_t batches, lists, depth;
    /* that the indices count */
    const int64_t *dim;
    /* elements of x in a batch and in a slice */
    int64_t batch_size, size;
} slices;

static bool begin_slices(qdq_eval *c, int64_t batch_dims, slices *s)
{
    const qdq_const *x = c->in[0], *index = c->in[1];
    int64_t count;

    if (!qdq_eval_ints(c, 1, &s->index, &count))
        return false;
    if (index->rank < 1 || batch_dims < 0 || batch_dims >= index->rank || batch_dims > x->rank)
        return QDQ_REFUSE(c, "%" PRId64 " batch dims of arrays of the ranks %d and %d", batch_dims,
                          x->rank, index->rank);
    s->depth = index->dim[index->rank - 1];
    if (s->depth > x->rank - batch_dims)
        return QDQ_REFUSE(c, "lists of %" PRId64 " indices into an array of rank %d", s->depth,
                          x->rank);
    for (int i = 0; i < (int)batch_dims; i++)
        if (x->dim[i] != index->dim[i])
            return QDQ_REFUSE(c, "batch dims %" PRId64 " and %" PRId64, x->dim[i], index->dim[i]);
    s->dim = x->dim + batch_dims;
    s->batches = s->lists = s->batch_size = s->size = 0;
    return true;
}

/* The sizes, once it is sure that there are elements and products do not overflow. */
static void count_slices(const qdq_const *x, const qdq_const *index, int64_t batch_dims, slices *s)
{
    int first = (int)batch_dims, inner = (int)(batch_dims + s->depth);

    s->batches = qdq_eval_product(x->dim, 0, first);
    s->lists = qdq_eval_product(index->dim, first, index->rank - 1);
    s->batch_size = qdq_eval_product(x->dim, first, x->rank);
    s->size = qdq_eval_product(x->dim, inner, x->rank);
}

/* Where slice `list` of a batch begins in x. */
static bool slice_of(qdq_eval *c, const slices *s, int64_t batch, int64_t list, int64_t *offset)
{
    const int64_t *index = s->index + (batch * s->lists + list) * s->depth;
    int64_t place;

    *offset = 0;
    for (int i = 0; i < (int)s->depth; i++) {
        if (!place_of(c, index[i], s->dim[i], &place))
            return false;
        *offset = *offset * s->dim[i] + place;
    }
    *offset = *offset * s->size + batch * s->batch_size;
    return true;
}

bool qdq_eval_gathernd(qdq_eval *c)
{
    const qdq_const *x = c->in[0], *index = c->in[1];
    int64_t batch_dims = c->opset >= 12 ? qdq_eval_int(c, "batch_dims", 0) : 0, offset;
    int64_t dim[2 * QDQ_EVAL_RANK];
    int rank = 0;
    slices s;

    if (!begin_slices(c, batch_dims, &s))
        return false;
    for (int i = 0; i + 1 < index->rank; i++)
        dim[rank++] = index->dim[i];
    for (int i = (int)(batch_dims + s.depth); i < x->rank; i++)
        dim[rank++] = x->dim[i];
    char *out = qdq_eval_output(c, 0, x->elem, rank, dim);
    if (out == NULL)
        return false;
    if (c->out[0].count == 0)
        return true;
    if (x->count == 0)
        return QDQ_REFUSE(c, "indices into an array without elements");
    count_slices(x, index, batch_dims, &s);
    size_t size = (size_t)s.size * qdq_eval_size(x->elem);
    for (int64_t b = 0; b < s.batches; b++)
        for (int64_t i = 0; i < s.lists; i++, out += size) {
            if (!slice_of(c, &s, b, i, &offset))
                return false;
            memcpy(out, (const char *)x->data + (size_t)offset * qdq_eval_size(x->elem), size);
        }
    return true;
}

/* The updates are the shape of the lists, then that of a slice. */
static bool check_updates(qdq_eval *c, const slices *s)
{
    const qdq_const *x = c->in[0], *index = c->in[1], *update = c->in[2];
    int rank = index->rank - 1 + x->rank - (int)s->depth;
    bool fits = update->rank == rank;

    for (int i = 0; fits && i < rank; i++)
        fits =
            update->dim[i] ==
            (i < index->rank - 1 ? index->dim[i] : x->dim[(int)s->depth + i - (index->rank - 1)]);
    return fits || QDQ_REFUSE(c, "updates of another shape than indices and slices");
}

bool qdq_eval_scatternd(qdq_eval *c)
{
    const qdq_const *x = c->in[0], *index = c->in[1], *update = c->in[2];
    size_t size = qdq_eval_size(x->elem);
    qdq_run_fn *run;
    int64_t offset;
    slices s;

    if (!read_reduction(c, &run) || !begin_slices(c, 0, &s) || !check_updates(c, &s))
        return false;
    char *out = begin_scatter(c);
    if (out == NULL)
        return false;
    if (update->count == 0)
        return true;
    if (x->count == 0)
        return QDQ_REFUSE(c, "indices into an array without elements");
    count_slices(x, index, 0, &s);
    for (int64_t i = 0; i < s.lists; i++) {
        if (!slice_of(c, &s, 0, i, &offset))
            return false;
        put_down(run, out + (size_t)offset * size,
                 (const char *)update->data + (size_t)(i * s.size) * size, s.size, size);
    }
    return run == NULL || qdq_eval_check_nan(c);
}
