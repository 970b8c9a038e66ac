/* eval_order.c - operators that say which elements of a line are the largest or smallest: ArgMax,
 * ArgMin, TopK, Unique. */
#include "opt/eval/eval_kernel.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* An array as lines along one axis. */
typedef struct lines {
    int64_t outer, length, inner;
} lines;

/* A number that orders as element i does; the two zeros are equal. */
static uint64_t rank_of(const qdq_const *x, int64_t i)
{
    const uint64_t sign = UINT64_C(1) << 63;
    double d;
    uint64_t bits;

    if (x->elem == QDQ_UINT64)
        return ((const uint64_t *)x->data)[i];
    if (qdq_elem_is_int(x->elem))
        return (uint64_t)qdq_elem_int(x->elem, x->data, i) ^ sign;
    d = qdq_eval_number(x, i) + 0.0; /* -0 becomes 0 */
    memcpy(&bits, &d, sizeof bits);
    return bits & sign ? ~bits : bits | sign;
}

static bool begin_lines(qdq_eval *c, int axis, lines *l)
{
    const qdq_const *x = c->in[0];

    if (qdq_elem_bits(x->elem) < 8 || x->elem == QDQ_BOOL ||
        (!qdq_elem_is_int(x->elem) && !qdq_eval_is_float(x->elem)))
        return qdq_eval_refuse_type(c, 0);
    for (int64_t i = 0; i < x->count; i++)
        if (qdq_eval_is_float(x->elem) && isnan(qdq_eval_number(x, i)))
            return QDQ_REFUSE(c, "NaN has no place in an order");
    *l = (lines){0, x->dim[axis], 0};
    if (x->count > 0) {
        l->outer = qdq_eval_product(x->dim, 0, axis);
        l->inner = qdq_eval_product(x->dim, axis + 1, x->rank);
    }
    return true;
}

/* --- ArgMax, ArgMin --------------------------------------------------------------------------- */

static int64_t best_of(const qdq_const *x, int64_t first, const lines *l, uint64_t flip, bool last)
{
    uint64_t best = rank_of(x, first) ^ flip;
    int64_t place = 0;

    for (int64_t k = 1; k < l->length; k++) {
        uint64_t r = rank_of(x, first + k * l->inner) ^ flip;

        if (r > best || (last && r == best)) {
            best = r;
            place = k;
        }
    }
    return place;
}

bool qdq_eval_argreduce(qdq_eval *c)
{
    const qdq_const *x = c->in[0];
    uint64_t flip = c->node->op == QDQ_OP_ARGMIN ? UINT64_MAX : 0;
    bool keep = qdq_eval_flag(c, "keepdims", true);
    bool last = c->opset >= 12 && qdq_eval_flag(c, "select_last_index", false);
    int64_t dim[QDQ_EVAL_RANK];
    int axis, rank = 0;
    lines l;

    if (!qdq_eval_axis(c, qdq_eval_int(c, "axis", 0), x->rank, &axis) || !begin_lines(c, axis, &l))
        return false;
    for (int i = 0; i < x->rank; i++)
        if (i != axis || keep)
            dim[rank++] = i == axis ? 1 : x->dim[i];
    if (x->count == 0) /* the shapes that engines give differ */
        return QDQ_REFUSE(c, "a reduction of an array without elements");
    int64_t *out = qdq_eval_output(c, 0, QDQ_INT64, rank, dim);
    if (out == NULL)
        return false;
    for (int64_t o = 0; o < l.outer; o++)
        for (int64_t i = 0; i < l.inner; i++)
            *out++ = best_of(x, o * l.length * l.inner + i, &l, flip, last);
    return true;
}

/* --- TopK ------------------------------------------------------------------------------------- */

typedef struct entry {
    uint64_t rank;
    int64_t place;
} entry;

/* From low ranks to high ones; equal ones from the front to the back. */
static int compare(const void *va, const void *vb)
{
    const entry *a = va, *b = vb;

    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    return (a->place > b->place) - (a->place < b->place);
}

static bool read_k(qdq_eval *c, int64_t length, int64_t *k)
{
    const int64_t *list;
    int64_t count;

    if (c->opset < 10) {
        *k = qdq_eval_int(c, "k", -1);
    } else {
        if (!qdq_eval_ints_or_attr(c, 1, NULL, 0, &list, &count))
            return false;
        *k = count == 1 ? list[0] : -1;
    }
    return (*k >= 0 && *k <= length) ||
           QDQ_REFUSE(c, "k is not a number from 0 to %" PRId64, length);
}

bool qdq_eval_topk(qdq_eval *c)
{
    const qdq_const *x = c->in[0];
    size_t size = qdq_eval_size(x->elem);
    int64_t dim[QDQ_EVAL_RANK], k;
    uint64_t flip = c->opset < 11 || qdq_eval_flag(c, "largest", true) ? UINT64_MAX : 0;
    int axis;
    lines l;

    if (c->node->n_out != 2)
        return QDQ_REFUSE(c, "%u outputs, expected 2", (unsigned)c->node->n_out);
    if (!qdq_eval_flag(c, "sorted", true))
        return QDQ_REFUSE(c, "the order of the results is left open");
    if (!qdq_eval_axis(c, qdq_eval_int(c, "axis", -1), x->rank, &axis) ||
        !begin_lines(c, axis, &l) || !read_k(c, l.length, &k))
        return false;
    memcpy(dim, x->dim, (size_t)x->rank * sizeof *dim);
    dim[axis] = k;
    char *value = qdq_eval_output(c, 0, x->elem, x->rank, dim);
    int64_t *place = qdq_eval_output(c, 1, QDQ_INT64, x->rank, dim);
    entry *line = qdq_eval_scratch(c, x->count > 0 ? l.length : 0, sizeof *line);
    if (value == NULL || place == NULL || line == NULL)
        return false;
    for (int64_t at = 0; at < l.outer * l.inner; at++) {
        int64_t o = at / l.inner, i = at % l.inner, from = o * l.length * l.inner + i,
                to = o * k * l.inner + i;

        for (int64_t j = 0; j < l.length; j++)
            line[j] = (entry){rank_of(x, from + j * l.inner) ^ flip, j};
        qsort(line, (size_t)l.length, sizeof *line, compare);
        for (int64_t j = 0; j < k; j++) {
            memcpy(value + (size_t)(to + j * l.inner) * size,
                   (const char *)x->data + (size_t)(from + line[j].place * l.inner) * size, size);
            place[to + j * l.inner] = line[j].place;
        }
    }
    return true;
}

/* --- Unique ----------------------------------------------------------------------------------- */

/* A slice along the axis: its elements as numbers that order as they do, and where it stands. */
typedef struct slice {
    const uint64_t *rank;
    /* same: the place in the result */
    int64_t size, place, same;
} slice;

static int compare_slices(const void *va, const void *vb)
{
    const slice *a = va, *b = vb;

    for (int64_t i = 0; i < a->size; i++)
        if (a->rank[i] != b->rank[i])
            return a->rank[i] < b->rank[i] ? -1 : 1;
    return (a->place > b->place) - (a->place < b->place);
}

static int compare_places(const void *va, const void *vb)
{
    const slice *a = va, *b = vb;

    return (a->place > b->place) - (a->place < b->place);
}

static bool is_like(const slice *a, const slice *b)
{
    return memcmp(a->rank, b->rank, (size_t)a->size * sizeof *a->rank) == 0;
}

/* Slices in order; those that are equal lie together, the first of them in front. */
static slice *sort_slices(qdq_eval *c, const lines *l)
{
    int64_t size = l->outer * l->inner;
    uint64_t *rank = qdq_eval_scratch(c, c->in[0]->count, sizeof *rank);
    slice *s = qdq_eval_scratch(c, l->length, sizeof *s);

    if (rank == NULL || s == NULL)
        return NULL;
    for (int64_t k = 0; k < l->length; k++) {
        for (int64_t i = 0; i < size; i++)
            rank[k * size + i] =
                rank_of(c->in[0], (i / l->inner * l->length + k) * l->inner + i % l->inner);
        s[k] = (slice){rank + k * size, size, k, 0};
    }
    qsort(s, (size_t)l->length, sizeof *s, compare_slices);
    return s;
}

/* The first of each that are equal, in their order or in that of the data. */
static slice *keep_first(qdq_eval *c, slice *all, int64_t n, bool sorted, int64_t *kept)
{
    slice *s = qdq_eval_scratch(c, n, sizeof *s);
    int64_t *number = qdq_eval_scratch(c, n, sizeof *number);

    *kept = 0;
    if (s == NULL || number == NULL)
        return NULL;
    for (int64_t i = 0; i < n; i++) {
        if (i == 0 || !is_like(&all[i], &all[i - 1])) {
            s[*kept] = all[i];
            s[*kept].same = *kept;
            ++*kept;
        }
        all[i].same = *kept - 1;
    }
    if (!sorted)
        qsort(s, (size_t)*kept, sizeof *s, compare_places);
    for (int64_t i = 0; i < *kept; i++)
        number[s[i].same] = i;
    for (int64_t i = 0; i < n; i++)
        all[i].same = number[all[i].same];
    return s;
}

/* Without an axis the array counts as one of rank 1. */
bool qdq_eval_unique(qdq_eval *c)
{
    qdq_const x = *c->in[0];
    size_t size = qdq_eval_size(x.elem);
    int64_t dim[QDQ_EVAL_RANK], kept, *list[3] = {NULL};
    int axis = 0;
    lines l;

    if (qdq_node_attr(c->node, "axis") == NULL) {
        x.rank = 1;
        x.dim = &x.count;
    } else if (!qdq_eval_axis(c, qdq_eval_int(c, "axis", 0), x.rank, &axis)) {
        return false;
    }
    c->in = (const qdq_const *const[]){&x};
    if (!begin_lines(c, axis, &l))
        return false;
    if (x.count == 0)
        return QDQ_REFUSE(c, "an array without elements");
    slice *all = sort_slices(c, &l);
    slice *s =
        all != NULL ? keep_first(c, all, l.length, qdq_eval_flag(c, "sorted", true), &kept) : NULL;
    if (s == NULL)
        return false;
    for (int i = 0; i < x.rank; i++)
        dim[i] = i == axis ? kept : x.dim[i];
    char *out = qdq_eval_output(c, 0, x.elem, x.rank, dim);
    for (uint32_t i = 1; out != NULL && i < 4 && i < c->node->n_out; i++)
        if ((list[i - 1] = qdq_eval_output(c, i, QDQ_INT64, 1, i == 2 ? &l.length : &kept)) == NULL)
            return false;
    if (out == NULL)
        return false;
    for (int64_t o = 0; o < l.outer; o++)
        for (int64_t k = 0; k < kept; k++, out += (size_t)l.inner * size)
            memcpy(out,
                   (const char *)x.data + (size_t)((o * l.length + s[k].place) * l.inner) * size,
                   (size_t)l.inner * size);
    for (int64_t k = 0; list[0] != NULL && k < kept; k++)
        list[0][k] = s[k].place;
    for (int64_t k = 0; k < l.length; k++) {
        if (list[1] != NULL)
            list[1][all[k].place] = all[k].same;
        if (list[2] != NULL)
            list[2][all[k].same]++;
    }
    return true;
}
