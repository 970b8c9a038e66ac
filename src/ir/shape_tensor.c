/* shape_tensor.c - shapes of operators that lay out the same elements in another way: reshape,
 * transpose, concat, split, pad, repeat. */
#include "ir/shape_infer.h"

#include <inttypes.h>

/* --- Reshape ---------------------------------------------------------------------------------- */

/* Takes one dim `d` out of the product that `s` stands for: divides by it. False: that cannot be
 * done. */
static bool cancel(qdq_shape *s, qdq_dim d)
{
    for (int i = 0; i < s->rank; i++)
        if (d.value < 0 && qdq_dim_same(s->dim[i], d)) {
            s->dim[i] = qdq_dim_known(1);
            return true;
        }
    return false;
}

/* What the one open dim of `out` must be for both shapes to have as many elements. Symbols that
 * both have cancel out: [N, 768, 7, 7] to [N, 768, -1] gives 49, and to [-1, 768, 49] gives N. */
static qdq_status solve_dim(qdq_infer *c, const qdq_shape *in, const qdq_shape *out, int open,
                            qdq_dim *solved)
{
    qdq_dim have = qdq_dim_known(1), taken = qdq_dim_known(1), rest = qdq_dim_known(1);
    qdq_shape left = *in;

    *solved = qdq_dim_unknown();
    for (int i = 0; i < out->rank; i++) {
        if (i == open)
            continue;
        if (out->dim[i].value >= 0)
            taken = qdq_dim_mul(NULL, taken, out->dim[i]);
        else if (!cancel(&left, out->dim[i]))
            return QDQ_OK;
    }
    for (int i = 0; i < left.rank; i++)
        if (left.dim[i].value >= 0)
            have = qdq_dim_mul(NULL, have, left.dim[i]);
        else
            rest = qdq_dim_mul(c->env, rest, left.dim[i]);
    if (have.value < 0 || taken.value < 1)
        return QDQ_OK;
    if (have.value == 0 || rest.value == 1) {
        if (have.value % taken.value != 0)
            return qdq_fail(c->err, QDQ_E_FORMAT,
                            "%" PRId64
                            " elements do not fill a shape whose other dims take %" PRId64,
                            have.value, taken.value);
        *solved = qdq_dim_known(have.value / taken.value);
    } else if (have.value == taken.value) {
        *solved = rest;
    }
    return QDQ_OK;
}

/* Both shapes have all dims known and not the same number of elements. */
static bool counts_differ(const qdq_shape *a, const qdq_shape *b)
{
    qdq_dim na, nb;

    for (int i = 0; i < a->rank; i++)
        if (a->dim[i].value < 0)
            return false;
    for (int i = 0; i < b->rank; i++)
        if (b->dim[i].value < 0)
            return false;
    na = qdq_shape_product(NULL, a, 0, a->rank);
    nb = qdq_shape_product(NULL, b, 0, b->rank);
    return na.value >= 0 && nb.value >= 0 && na.value != nb.value;
}

/* A shape tensor whose elements are not known still says the rank. */
static bool reshape_rank(const qdq_infer *c, qdq_shape *out)
{
    qdq_shape shape;

    out->rank = -1;
    if (!qdq_infer_shape_of(c, 1, &shape) || shape.rank != 1 || shape.dim[0].value < 0 ||
        shape.dim[0].value > QDQ_INFER_RANK)
        return false;
    qdq_shape_fill(out, (int)shape.dim[0].value);
    return true;
}

/* Puts in what the elements of the shape tensor say. *inferred: the place of -1, or -1. */
static qdq_status reshape_read(qdq_infer *c, const qdq_values *shape, const qdq_shape *in,
                               qdq_shape *out, int *inferred)
{
    bool allow_zero = c->opset >= 14 && qdq_infer_int(c, "allowzero", 0) != 0;

    *inferred = -1;
    for (int i = 0; i < out->rank; i++) {
        const qdq_scalar *s = &shape->at[i];

        if (s->know != QDQ_KNOW_NUMBER || s->v.i > 0) {
            out->dim[i] = qdq_dim_from(s);
        } else if (s->v.i == 0 && allow_zero) {
            out->dim[i] = qdq_dim_known(0);
        } else if (s->v.i == 0) {
            if (in->rank >= 0 && i >= in->rank)
                return qdq_fail(c->err, QDQ_E_FORMAT, "dim %d is copied from an input of rank %d",
                                i, in->rank);
            if (in->rank >= 0)
                out->dim[i] = in->dim[i];
        } else if (s->v.i == -1 && *inferred < 0) {
            *inferred = i;
        } else {
            return qdq_fail(c->err, QDQ_E_FORMAT,
                            "dim %d of the shape is %" PRId64 ", want one -1 at most", i, s->v.i);
        }
    }
    return QDQ_OK;
}

qdq_status qdq_infer_reshape(qdq_infer *c)
{
    const qdq_values *shape = qdq_infer_known(c, 1);
    int inferred = -1, open = -1, n_open = 0;
    qdq_shape in, out;

    qdq_infer_shape_of(c, 0, &in);
    if (!reshape_rank(c, &out))
        return qdq_infer_out(c, 0, qdq_infer_elem(c, 0), NULL);
    if (shape != NULL && shape->n == out.rank && qdq_elem_is_int(shape->elem)) {
        QDQ_TRY(reshape_read(c, shape, &in, &out, &inferred));
        QDQ_TRY(qdq_infer_adapt(c, &in, shape, &out));
    }
    if (in.rank >= 0) {
        for (int i = 0; i < out.rank; i++)
            if (out.dim[i].value < 0 && out.dim[i].param == NULL) {
                open = i;
                n_open++;
            }
        if (n_open == 1) {
            qdq_shape others = out;

            QDQ_TRY(solve_dim(c, &in, &out, open, &out.dim[open]));
            if (out.dim[open].value < 0 && out.dim[open].param == NULL) {
                others.dim[open] = qdq_dim_known(1);
                out.dim[open] =
                    qdq_dim_combine(c->env, '/', qdq_shape_product(c->env, &in, 0, in.rank),
                                    qdq_shape_product(c->env, &others, 0, out.rank));
            }
        }
        if (counts_differ(&in, &out))
            return qdq_fail(c->err, QDQ_E_FORMAT, "%" PRId64 " elements reshaped to %" PRId64,
                            qdq_shape_product(NULL, &in, 0, in.rank).value,
                            qdq_shape_product(NULL, &out, 0, out.rank).value);
    }
    return qdq_infer_out(c, 0, qdq_infer_elem(c, 0), &out);
}

qdq_status qdq_infer_flatten(qdq_infer *c)
{
    int64_t axis = qdq_infer_int(c, "axis", 1);
    qdq_shape in, out;

    qdq_shape_fill(&out, 2);
    if (qdq_infer_shape_of(c, 0, &in)) {
        if (axis < -in.rank || axis > in.rank)
            return qdq_fail(c->err, QDQ_E_FORMAT, "axis %" PRId64 " of a tensor of rank %d", axis,
                            in.rank);
        if (axis < 0)
            axis += in.rank;
        out.dim[0] = qdq_shape_product(c->env, &in, 0, (int)axis);
        out.dim[1] = qdq_shape_product(c->env, &in, (int)axis, in.rank);
    }
    return qdq_infer_out(c, 0, qdq_infer_elem(c, 0), &out);
}

qdq_status qdq_infer_squeeze(qdq_infer *c)
{
    bool mark[QDQ_INFER_RANK];
    qdq_shape in, out;
    int count;

    if (!qdq_infer_shape_of(c, 0, &in))
        return qdq_infer_out(c, 0, qdq_infer_elem(c, 0), NULL);
    QDQ_TRY(qdq_infer_axes(c, 1, 13, in.rank, mark, &count));
    if (count == QDQ_AXES_UNKNOWN)
        return qdq_infer_out(c, 0, qdq_infer_elem(c, 0), NULL);
    out.rank = 0;
    for (int i = 0; i < in.rank; i++) {
        if (count <= 0 && in.dim[i].value < 0) /* whether this one goes is not known */
            return qdq_infer_out(c, 0, qdq_infer_elem(c, 0), NULL);
        if (count <= 0 ? in.dim[i].value != 1 : !mark[i])
            out.dim[out.rank++] = in.dim[i];
        else if (in.dim[i].value >= 0 && in.dim[i].value != 1)
            return qdq_fail(c->err, QDQ_E_FORMAT, "axis %d has dim %" PRId64 ", want 1", i,
                            in.dim[i].value);
    }
    return qdq_infer_out(c, 0, qdq_infer_elem(c, 0), &out);
}

qdq_status qdq_infer_unsqueeze(qdq_infer *c)
{
    int64_t axes[QDQ_VALUES_MAX];
    bool mark[QDQ_INFER_RANK];
    const int64_t *list;
    int count, next = 0;
    qdq_shape in, out;
    size_t n = 0;

    if (!qdq_infer_shape_of(c, 0, &in))
        return qdq_infer_out(c, 0, qdq_infer_elem(c, 0), NULL);
    if (c->opset >= 13) {
        if (!qdq_infer_ints_in(c, 1, axes, &count))
            return qdq_infer_out(c, 0, qdq_infer_elem(c, 0), NULL);
        n = (size_t)count;
    } else if (!qdq_infer_ints(c, "axes", &list, &n)) {
        return qdq_fail(c->err, QDQ_E_FORMAT, "attribute 'axes' is missing");
    }
    if (n > (size_t)(QDQ_INFER_RANK - in.rank))
        return qdq_infer_out(c, 0, qdq_infer_elem(c, 0), NULL);
    out.rank = in.rank + (int)n;
    QDQ_TRY(qdq_infer_axes(c, 1, 13, out.rank, mark, &count));
    for (int i = 0; i < out.rank; i++)
        out.dim[i] = mark[i] ? qdq_dim_known(1) : in.dim[next++];
    return qdq_infer_out(c, 0, qdq_infer_elem(c, 0), &out);
}

qdq_status qdq_infer_transpose(qdq_infer *c)
{
    bool seen[QDQ_INFER_RANK] = {false};
    qdq_shape in, out;
    const int64_t *perm;
    size_t n;

    if (!qdq_infer_shape_of(c, 0, &in))
        return qdq_infer_out(c, 0, qdq_infer_elem(c, 0), NULL);
    out.rank = in.rank;
    if (!qdq_infer_ints(c, "perm", &perm, &n)) {
        for (int i = 0; i < in.rank; i++)
            out.dim[i] = in.dim[in.rank - 1 - i];
        return qdq_infer_out(c, 0, qdq_infer_elem(c, 0), &out);
    }
    if (n != (size_t)in.rank)
        return qdq_fail(c->err, QDQ_E_FORMAT, "attribute 'perm' has %zu numbers, want %d", n,
                        in.rank);
    for (int i = 0; i < in.rank; i++) {
        if (perm[i] < 0 || perm[i] >= in.rank || seen[perm[i]])
            return qdq_fail(c->err, QDQ_E_FORMAT,
                            "attribute 'perm' is not a permutation of %d axes", in.rank);
        seen[perm[i]] = true;
        out.dim[i] = in.dim[perm[i]];
    }
    return qdq_infer_out(c, 0, qdq_infer_elem(c, 0), &out);
}

/* --- joining and cutting ---------------------------------------------------------------------- */

/* All inputs have the same rank; one whose shape is not known leaves the sum open and nothing
 * else. */
qdq_status qdq_infer_concat(qdq_infer *c)
{
    const qdq_attr *attr = qdq_infer_attr(c, "axis", QDQ_ATTR_INT);
    qdq_dim sum = qdq_dim_known(0);
    qdq_elem elem = QDQ_UNDEFINED;
    qdq_shape s, out;
    int axis = 0;

    if (attr == NULL)
        return c->bad != NULL ? QDQ_OK
                              : qdq_fail(c->err, QDQ_E_FORMAT, "attribute 'axis' is missing");
    out.rank = -1;
    for (uint32_t i = 0; i < c->node->n_in; i++) {
        if (elem == QDQ_UNDEFINED)
            elem = qdq_infer_elem(c, i);
        if (!qdq_infer_shape_of(c, i, &s)) {
            sum = qdq_dim_unknown();
            continue;
        }
        if (out.rank < 0) {
            qdq_shape_fill(&out, s.rank);
            QDQ_TRY(qdq_infer_axis(c, attr->v.i, s.rank, &axis));
        } else if (out.rank != s.rank) {
            return qdq_fail(c->err, QDQ_E_FORMAT, "input %u has rank %d, want %d", (unsigned)i,
                            s.rank, out.rank);
        }
        sum = qdq_dim_add(c->env, sum, s.dim[axis]);
        for (int k = 0; k < s.rank; k++)
            if (k != axis && !qdq_dim_merge(out.dim[k], s.dim[k], &out.dim[k]))
                return qdq_fail(c->err, QDQ_E_FORMAT,
                                "input %u has %" PRId64 " along axis %d, want %" PRId64,
                                (unsigned)i, s.dim[k].value, k, out.dim[k].value);
    }
    if (out.rank >= 0)
        out.dim[axis] = sum;
    return qdq_infer_out(c, 0, elem, &out);
}

/* The size of part i of n when `in` is cut evenly; the last part may be smaller since opset 18. */
static qdq_status even_part(qdq_infer *c, qdq_dim in, uint32_t i, uint32_t n, qdq_dim *part)
{
    int64_t chunk, rest;

    *part = n == 1 ? in : qdq_dim_unknown();
    if (in.value < 0 || n <= 1)
        return QDQ_OK;
    chunk = in.value / n + (in.value % n != 0);
    rest = in.value - chunk * (n - 1);
    if (rest < 0 || (rest != chunk && c->opset < 18))
        return qdq_fail(c->err, QDQ_E_FORMAT, "a dim of %" PRId64 " does not split into %u parts",
                        in.value, (unsigned)n);
    *part = qdq_dim_known(i + 1 < n ? chunk : rest);
    return QDQ_OK;
}

/* The sizes given by attribute or input. *given false: even parts. What is not known of them is
 * unknown. */
static qdq_status split_sizes(qdq_infer *c, bool *given, qdq_dim *size)
{
    const qdq_values *v = NULL;
    const int64_t *ints = NULL;
    uint32_t n = c->node->n_out;
    size_t count;

    *given = c->opset < 13 ? qdq_infer_ints(c, "split", &ints, &count) : qdq_infer_has(c, 1);
    if (*given && c->opset >= 13) {
        v = qdq_infer_known(c, 1);
        count = v == NULL ? n : (size_t)v->n;
    }
    if (*given && count != n)
        return qdq_fail(c->err, QDQ_E_FORMAT, "%zu split sizes for %u outputs", count, (unsigned)n);
    for (uint32_t i = 0; *given && i < n; i++) {
        if (ints != NULL)
            size[i] = ints[i] >= 0 ? qdq_dim_known(ints[i]) : qdq_dim_unknown();
        else
            size[i] = v != NULL ? qdq_dim_from(&v->at[i]) : qdq_dim_unknown();
    }
    return QDQ_OK;
}

qdq_status qdq_infer_split(qdq_infer *c)
{
    uint32_t n = c->node->n_out;
    qdq_elem elem = qdq_infer_elem(c, 0);
    qdq_dim sum = qdq_dim_known(0), ignored, whole, *size;
    qdq_shape s;
    bool given;
    int axis;

    if (!qdq_infer_shape_of(c, 0, &s)) {
        for (uint32_t i = 0; i < n; i++)
            QDQ_TRY(qdq_infer_out(c, i, elem, NULL));
        return QDQ_OK;
    }
    QDQ_TRY(qdq_infer_axis(c, qdq_infer_int(c, "axis", 0), s.rank, &axis));
    size = qdq_arena_array(&c->env->arena, (size_t)n + 1, sizeof *size);
    QDQ_NEED(size != NULL, c->err);
    QDQ_TRY(split_sizes(c, &given, size));
    whole = s.dim[axis];
    for (uint32_t i = 0; i < n; i++) {
        if (!given)
            QDQ_TRY(even_part(c, whole, i, n, &size[i]));
        sum = qdq_dim_add(c->env, sum, size[i]);
        s.dim[axis] = size[i];
        QDQ_TRY(qdq_infer_out(c, i, elem, &s));
    }
    if (given && !qdq_dim_merge(sum, whole, &ignored))
        return qdq_infer_mismatch(c, "split sizes add up to", sum, whole);
    return QDQ_OK;
}

qdq_status qdq_infer_pad(qdq_infer *c)
{
    int64_t room[QDQ_VALUES_MAX], grown;
    bool mark[QDQ_INFER_RANK];
    const int64_t *pads = room;
    size_t n = 0;
    qdq_shape s;
    int count, axis[QDQ_INFER_RANK], n_axis = 0, n_in;

    if (!qdq_infer_shape_of(c, 0, &s))
        return qdq_infer_out(c, 0, qdq_infer_elem(c, 0), NULL);
    for (int i = 0; i < s.rank; i++)
        axis[n_axis++] = i;
    if (c->opset >= 18 && qdq_infer_has(c, 3)) {
        int64_t axes[QDQ_VALUES_MAX];

        QDQ_TRY(qdq_infer_axes(c, 3, 18, s.rank, mark, &count));
        if (count < 0) {
            qdq_shape_fill(&s, s.rank);
            return qdq_infer_out(c, 0, qdq_infer_elem(c, 0), &s);
        }
        qdq_infer_ints_in(c, 3, axes, &n_axis);
        QDQ_TRY(qdq_axes_read(axes, n_axis, s.rank, axis, NULL, c->err));
    }
    if (c->opset < 11) {
        if (!qdq_infer_ints(c, "pads", &pads, &n))
            return qdq_fail(c->err, QDQ_E_FORMAT, "attribute 'pads' is missing");
    } else if (qdq_infer_ints_in(c, 1, room, &n_in)) {
        n = (size_t)n_in;
    } else {
        for (int i = 0; i < n_axis; i++)
            s.dim[axis[i]] = qdq_dim_unknown();
        return qdq_infer_out(c, 0, qdq_infer_elem(c, 0), &s);
    }
    if (n != 2 * (size_t)n_axis)
        return qdq_fail(c->err, QDQ_E_FORMAT, "%zu pads for %d axes, want two for each", n, n_axis);
    for (int i = 0; i < n_axis; i++) {
        qdq_dim *d = &s.dim[axis[i]];

        if (pads[i] == 0 && pads[i + n_axis] == 0)
            continue;
        if (d->value < 0 || !qdq_add_int64(d->value, pads[i], &grown) ||
            !qdq_add_int64(grown, pads[i + n_axis], &grown)) {
            *d = qdq_dim_unknown();
            continue;
        }
        if (grown < 0)
            return qdq_fail(c->err, QDQ_E_FORMAT, "pads leave %" PRId64 " along axis %d", grown,
                            axis[i]);
        *d = qdq_dim_known(grown);
    }
    return qdq_infer_out(c, 0, qdq_infer_elem(c, 0), &s);
}

/* --- repeating -------------------------------------------------------------------------------- */

qdq_status qdq_infer_expand(qdq_infer *c)
{
    const qdq_values *v = qdq_infer_known(c, 1);
    qdq_shape in, out;

    if (!qdq_infer_shape_of(c, 0, &in) || !reshape_rank(c, &out))
        return qdq_infer_out(c, 0, qdq_infer_elem(c, 0), NULL);
    if (v != NULL && v->n == out.rank && qdq_elem_is_int(v->elem))
        for (int i = 0; i < out.rank; i++)
            out.dim[i] = qdq_dim_from(&v->at[i]);
    QDQ_TRY(qdq_shape_broadcast(c, &out, &in));
    return qdq_infer_out(c, 0, qdq_infer_elem(c, 0), &out);
}

qdq_status qdq_infer_tile(qdq_infer *c)
{
    const qdq_values *v = qdq_infer_known(c, 1);
    qdq_shape s;

    if (!qdq_infer_shape_of(c, 0, &s))
        return qdq_infer_out(c, 0, qdq_infer_elem(c, 0), NULL);
    if (v != NULL && v->n != s.rank)
        return qdq_fail(c->err, QDQ_E_FORMAT, "%d repeats for rank %d", v->n, s.rank);
    for (int i = 0; i < s.rank; i++)
        s.dim[i] = qdq_dim_mul(c->env, s.dim[i],
                               v == NULL || !qdq_elem_is_int(v->elem) ? qdq_dim_unknown()
                                                                      : qdq_dim_from(&v->at[i]));
    return qdq_infer_out(c, 0, qdq_infer_elem(c, 0), &s);
}

/* --- sequences: what comes out is not followed ------------------------------------------------ */

qdq_status qdq_infer_nothing(qdq_infer *c)
{
    (void)c;
    return QDQ_OK;
}
