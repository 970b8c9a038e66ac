/* shape_math.c - shapes of operators that compute element by element, along axes, or as matrix
 * products, and of those that only change the element type. */
#include "ir/shape_infer.h"

#include <inttypes.h>

/* The element type that inputs [from, to) share: that of the first one whose type is known. */
static qdq_elem common_elem(const qdq_infer *c, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to && i < c->node->n_in; i++)
        if (qdq_infer_elem(c, i) != QDQ_UNDEFINED)
            return qdq_infer_elem(c, i);
    return QDQ_UNDEFINED;
}

/* The shape of the first n inputs broadcast together, unknown as soon as one is, of type `elem`. */
static qdq_status broadcast_inputs(qdq_infer *c, uint32_t n, qdq_elem elem)
{
    qdq_shape s, next;
    bool known = qdq_infer_shape_of(c, 0, &s);

    for (uint32_t i = 1; i < n && known; i++) {
        known = qdq_infer_shape_of(c, i, &next);
        if (known)
            QDQ_TRY(qdq_shape_broadcast(c, &s, &next));
    }
    return qdq_infer_out(c, 0, elem, known ? &s : NULL);
}

qdq_status qdq_infer_same(qdq_infer *c)
{
    return qdq_infer_set(c, 0, qdq_infer_in(c, 0));
}

/* The shape of the first input, with an element type of its own. */
static qdq_status same_shape(qdq_infer *c, uint32_t out, qdq_elem elem)
{
    qdq_shape s;

    qdq_infer_shape_of(c, 0, &s);
    return qdq_infer_out(c, out, elem, &s);
}

qdq_status qdq_infer_test(qdq_infer *c)
{
    return same_shape(c, 0, QDQ_BOOL);
}

qdq_status qdq_infer_broadcast(qdq_infer *c)
{
    if (c->node->n_in == 0)
        return QDQ_OK;
    return broadcast_inputs(c, c->node->n_in, common_elem(c, 0, c->node->n_in));
}

qdq_status qdq_infer_compare(qdq_infer *c)
{
    return broadcast_inputs(c, 2, QDQ_BOOL);
}

qdq_status qdq_infer_pow(qdq_infer *c)
{
    return broadcast_inputs(c, 2, qdq_infer_elem(c, 0));
}

qdq_status qdq_infer_where(qdq_infer *c)
{
    return broadcast_inputs(c, 3, common_elem(c, 1, 3));
}

/* --- element types ---------------------------------------------------------------------------- */

/* An element type in an attribute; undefined if it is not there or no type. */
static qdq_elem attr_elem(qdq_infer *c, const char *name)
{
    int64_t e = qdq_infer_int(c, name, QDQ_UNDEFINED);

    return e > QDQ_UNDEFINED && e < QDQ_ELEM_COUNT ? (qdq_elem)e : QDQ_UNDEFINED;
}

qdq_status qdq_infer_cast(qdq_infer *c)
{
    qdq_elem to = attr_elem(c, "to");

    if (to == QDQ_UNDEFINED)
        return qdq_fail(c->err, QDQ_E_FORMAT, "attribute 'to' names no element type");
    return same_shape(c, 0, to);
}

qdq_status qdq_infer_castlike(qdq_infer *c)
{
    return same_shape(c, 0, qdq_infer_elem(c, 1));
}

qdq_status qdq_infer_quantize(qdq_infer *c)
{
    qdq_elem elem = QDQ_UINT8;

    if (qdq_infer_has(c, 2))
        elem = qdq_infer_elem(c, 2);
    else if (attr_elem(c, "output_dtype") != QDQ_UNDEFINED)
        elem = attr_elem(c, "output_dtype");
    return same_shape(c, 0, elem);
}

qdq_status qdq_infer_dequantize(qdq_infer *c)
{
    qdq_elem elem = qdq_infer_elem(c, 1);

    if (attr_elem(c, "output_dtype") != QDQ_UNDEFINED)
        elem = attr_elem(c, "output_dtype");
    else if (elem == QDQ_UNDEFINED && c->opset < 19)
        elem = QDQ_FLOAT;
    return same_shape(c, 0, elem);
}

qdq_status qdq_infer_dynamicquantize(qdq_infer *c)
{
    qdq_shape scalar = {0};

    QDQ_TRY(same_shape(c, 0, QDQ_UINT8));
    QDQ_TRY(qdq_infer_out(c, 1, QDQ_FLOAT, &scalar));
    return qdq_infer_out(c, 2, QDQ_UINT8, &scalar);
}

qdq_status qdq_infer_randomlike(qdq_infer *c)
{
    qdq_elem elem = attr_elem(c, "dtype");

    return same_shape(c, 0, elem != QDQ_UNDEFINED ? elem : qdq_infer_elem(c, 0));
}

qdq_status qdq_infer_random(qdq_infer *c)
{
    qdq_elem elem = attr_elem(c, "dtype");
    const int64_t *dim;
    size_t n;
    qdq_shape s;

    s.rank = -1;
    if (qdq_infer_ints(c, "shape", &dim, &n) && n <= QDQ_INFER_RANK) {
        qdq_shape_fill(&s, (int)n);
        for (int i = 0; i < s.rank; i++)
            if (dim[i] >= 0)
                s.dim[i] = qdq_dim_known(dim[i]);
    }
    return qdq_infer_out(c, 0, elem == QDQ_UNDEFINED ? QDQ_FLOAT : elem, &s);
}

qdq_status qdq_infer_multinomial(qdq_infer *c)
{
    qdq_elem elem = attr_elem(c, "dtype");
    int64_t samples = qdq_infer_int(c, "sample_size", 1);
    qdq_shape s;

    if (qdq_infer_shape_of(c, 0, &s)) {
        if (s.rank != 2)
            return qdq_fail(c->err, QDQ_E_FORMAT, "input 0 has rank %d, want 2", s.rank);
        s.dim[1] = samples >= 0 ? qdq_dim_known(samples) : qdq_dim_unknown();
    }
    return qdq_infer_out(c, 0, elem == QDQ_UNDEFINED ? QDQ_INT32 : elem, &s);
}

/* Each row gets as many columns as the largest of the indexes says. */
qdq_status qdq_infer_tfidf(qdq_infer *c)
{
    const int64_t *column;
    int64_t largest = -1;
    size_t count = 0;
    qdq_shape s;

    if (!qdq_infer_ints(c, "ngram_indexes", &column, &count))
        return qdq_fail(c->err, QDQ_E_FORMAT, "attribute 'ngram_indexes' is missing");
    for (size_t i = 0; i < count; i++)
        largest = column[i] > largest ? column[i] : largest;
    if (largest < 0 || largest >= INT32_MAX)
        return qdq_fail(c->err, QDQ_E_FORMAT,
                        "attribute 'ngram_indexes' ends at %" PRId64 ", want 0 to 2^31 - 2",
                        largest);
    if (qdq_infer_shape_of(c, 0, &s)) {
        if (s.rank < 1 || s.rank > 2)
            return qdq_fail(c->err, QDQ_E_FORMAT, "input 0 has rank %d, want 1 or 2", s.rank);
        s.dim[s.rank - 1] = qdq_dim_known(largest + 1);
    }
    return qdq_infer_out(c, 0, QDQ_FLOAT, &s);
}

/* --- along axes ------------------------------------------------------------------------------- */

/* Which of them takes axes as input since when. */
static int64_t reduce_axes_since(qdq_op op)
{
    return op == QDQ_OP_REDUCESUM ? 13 : 18;
}

qdq_status qdq_infer_reduce(qdq_infer *c)
{
    bool keep = qdq_infer_int(c, "keepdims", 1) != 0;
    bool mark[QDQ_INFER_RANK];
    qdq_shape s, out;
    int count;

    if (!qdq_infer_shape_of(c, 0, &s))
        return qdq_infer_out(c, 0, qdq_infer_elem(c, 0), NULL);
    QDQ_TRY(qdq_infer_axes(c, 1, reduce_axes_since(c->node->op), s.rank, mark, &count));
    if (count == QDQ_AXES_UNKNOWN) {
        qdq_shape_fill(&out, keep ? s.rank : -1);
        return qdq_infer_out(c, 0, qdq_infer_elem(c, 0), &out);
    }
    if (count <= 0) {
        if (qdq_infer_int(c, "noop_with_empty_axes", 0) != 0)
            return qdq_infer_same(c);
        for (int i = 0; i < s.rank; i++)
            mark[i] = true;
    }
    out.rank = 0;
    for (int i = 0; i < s.rank; i++)
        if (!mark[i])
            out.dim[out.rank++] = s.dim[i];
        else if (keep)
            out.dim[out.rank++] = qdq_dim_known(1);
    return qdq_infer_out(c, 0, qdq_infer_elem(c, 0), &out);
}

qdq_status qdq_infer_argreduce(qdq_infer *c)
{
    bool keep = qdq_infer_int(c, "keepdims", 1) != 0;
    qdq_shape s;
    int axis;

    if (!qdq_infer_shape_of(c, 0, &s))
        return qdq_infer_out(c, 0, QDQ_INT64, NULL);
    QDQ_TRY(qdq_infer_axis(c, qdq_infer_int(c, "axis", 0), s.rank, &axis));
    if (keep) {
        s.dim[axis] = qdq_dim_known(1);
    } else {
        for (int i = axis; i + 1 < s.rank; i++)
            s.dim[i] = s.dim[i + 1];
        s.rank--;
    }
    return qdq_infer_out(c, 0, QDQ_INT64, &s);
}

/* --- matrix products -------------------------------------------------------------------------- */

/* numpy.matmul: a vector counts as a row on the left and as a column on the right, and that dim
 * goes away. */
static qdq_status multiply(qdq_infer *c, uint32_t ia, uint32_t ib, qdq_elem elem)
{
    qdq_shape a, b;
    qdq_dim k, rows, columns;
    bool a_vector, b_vector;

    if (!qdq_infer_shape_of(c, ia, &a) || !qdq_infer_shape_of(c, ib, &b))
        return qdq_infer_out(c, 0, elem, NULL);
    if (a.rank == 0 || b.rank == 0)
        return qdq_fail(c->err, QDQ_E_FORMAT, "input %u is a scalar, want rank 1 or more",
                        (unsigned)(a.rank == 0 ? ia : ib));
    a_vector = a.rank == 1;
    b_vector = b.rank == 1;
    if (!qdq_dim_merge(a.dim[a.rank - 1], b.dim[b_vector ? 0 : b.rank - 2], &k))
        return qdq_infer_mismatch(c, "inner dim of the second input is",
                                  b.dim[b_vector ? 0 : b.rank - 2], a.dim[a.rank - 1]);
    rows = a_vector ? qdq_dim_known(1) : a.dim[a.rank - 2];
    columns = b_vector ? qdq_dim_known(1) : b.dim[b.rank - 1];
    a.rank = a_vector ? 0 : a.rank - 2;
    b.rank = b_vector ? 0 : b.rank - 2;
    QDQ_TRY(qdq_shape_broadcast(c, &a, &b));
    if (!a_vector)
        a.dim[a.rank++] = rows;
    if (!b_vector)
        a.dim[a.rank++] = columns;
    return qdq_infer_out(c, 0, elem, &a);
}

qdq_status qdq_infer_matmul(qdq_infer *c)
{
    qdq_elem elem = c->node->op == QDQ_OP_MATMULINTEGER ? QDQ_INT32 : common_elem(c, 0, 2);
    return multiply(c, 0, 1, elem);
}

qdq_status qdq_infer_qlinearmatmul(qdq_infer *c)
{
    return multiply(c, 0, 3, qdq_infer_elem(c, 7));
}

qdq_status qdq_infer_gemm(qdq_infer *c)
{
    int a_rows = qdq_infer_int(c, "transA", 0) != 0, b_rows = qdq_infer_int(c, "transB", 0) != 0;
    bool has_a, has_b;
    qdq_shape a, b, out;
    qdq_dim k;

    has_a = qdq_infer_shape_of(c, 0, &a);
    has_b = qdq_infer_shape_of(c, 1, &b);
    if ((has_a && a.rank != 2) || (has_b && b.rank != 2))
        return qdq_fail(c->err, QDQ_E_FORMAT, "inputs of ranks %d and %d, want 2", a.rank, b.rank);
    if (has_a && has_b && !qdq_dim_merge(a.dim[1 - a_rows], b.dim[b_rows], &k))
        return qdq_infer_mismatch(c, "inner dim of the second input is", b.dim[b_rows],
                                  a.dim[1 - a_rows]);
    qdq_shape_fill(&out, 2);
    if (has_a)
        out.dim[0] = a.dim[a_rows];
    if (has_b)
        out.dim[1] = b.dim[1 - b_rows];
    return qdq_infer_out(c, 0, common_elem(c, 0, 3), &out);
}
