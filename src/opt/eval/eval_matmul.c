/* eval_matmul.c - MatMul, Gemm and Det of small matrices: weights that exporters multiply at load
 * time. Sums in double, or in 64 bits that wrap. */
#include "opt/eval/eval_kernel.h"

#include <inttypes.h>
#include <math.h>

enum { MAX_WORK = 1 << 28 }; /* multiplications: a fraction of a second */

/* One product of matrices; strides in elements. */
typedef struct product {
    int64_t m, k, n;
    int64_t a_row, a_column, b_row, b_column;
} product;

typedef void row_fn(const product *p, const void *a, const void *b, qdq_sum *row);

/* Row after row of b, so that the inner loop runs over neighbours and each sum takes k in order. */
#define ROW(type, wide, member, E)                                                                 \
    static void row_##E(const product *p, const void *va, const void *vb, qdq_sum *row)            \
    {                                                                                              \
        const type *a = va, *b = vb;                                                               \
        for (int64_t j = 0; j < p->n; j++)                                                         \
            row[j].member = 0;                                                                     \
        for (int64_t k = 0; k < p->k; k++) {                                                       \
            wide x = (wide)a[k * p->a_column];                                                     \
            const type *y = b + k * p->b_row;                                                      \
            for (int64_t j = 0; j < p->n; j++)                                                     \
                row[j].member += x * (wide)y[j * p->b_column];                                     \
        }                                                                                          \
    }

ROW(float, double, f, FLOAT)
ROW(double, double, f, DOUBLE)
ROW(int32_t, uint64_t, u, INT32)
ROW(int64_t, uint64_t, u, INT64)
ROW(uint32_t, uint64_t, u, UINT32)
ROW(uint64_t, uint64_t, u, UINT64)

static row_fn *const rows[QDQ_ELEM_COUNT] = {
    [QDQ_FLOAT] = row_FLOAT, [QDQ_DOUBLE] = row_DOUBLE, [QDQ_INT32] = row_INT32,
    [QDQ_INT64] = row_INT64, [QDQ_UINT32] = row_UINT32, [QDQ_UINT64] = row_UINT64,
};

static bool check_types(qdq_eval *c)
{
    return qdq_eval_same_types(c) && (rows[c->in[0]->elem] != NULL || qdq_eval_refuse_type(c, 0));
}

/* `results` elements, each a sum of k. */
static bool check_work(qdq_eval *c, int64_t results, int64_t k)
{
    if (k > 0 && results > MAX_WORK / k)
        return QDQ_REFUSE(c, "more than %d multiplications", MAX_WORK);
    return true;
}

/* --- MatMul ----------------------------------------------------------------------------------- */

/* The matrices of one input: the last two dims; those before are broadcast. A vector is a matrix of
 * one row (left) or column (right) whose dim goes out again. */
typedef struct operand {
    /* the dims before, as a shape */
    qdq_const batch;
    int64_t rows, columns;
    bool is_vector;
} operand;

static operand operand_of(const qdq_const *x, bool left)
{
    operand o = {{x->elem, 0, x->dim, 1, NULL, 0}, 1, 1, x->rank == 1};

    if (o.is_vector) {
        *(left ? &o.columns : &o.rows) = x->dim[0];
        return o;
    }
    o.batch.rank = x->rank - 2;
    o.rows = x->dim[x->rank - 2];
    o.columns = x->dim[x->rank - 1];
    return o;
}

static void multiply_all(const qdq_const *a, const qdq_const *b, const product *p, qdq_walk *w,
                         qdq_sum *row, void *out)
{
    int64_t size = (int64_t)qdq_eval_size(a->elem);

    for (bool more = qdq_walk_begin(w, 3); more; more = qdq_walk_next(w))
        for (int64_t i = 0; i < w->run; i++) {
            const char *from_a =
                (const char *)a->data + (w->offset[0] + i * w->step[0]) * p->m * p->k * size;
            const char *from_b =
                (const char *)b->data + (w->offset[1] + i * w->step[1]) * p->k * p->n * size;
            int64_t to = (w->offset[2] + i * w->step[2]) * p->m * p->n;

            for (int64_t r = 0; r < p->m; r++) {
                rows[a->elem](p, from_a + r * p->a_row * size, from_b, row);
                qdq_eval_store(row, p->n, a->elem, out, to + r * p->n);
            }
        }
}

bool qdq_eval_matmul(qdq_eval *c)
{
    const qdq_const *a = c->in[0], *b = c->in[1];
    int64_t dim[QDQ_EVAL_RANK + 2];
    qdq_walk w;
    int rank;

    if (!check_types(c))
        return false;
    if (a->rank == 0 || b->rank == 0)
        return QDQ_REFUSE(c, "a scalar, expected a matrix or vector");
    operand left = operand_of(a, true), right = operand_of(b, false);
    product p = {left.rows, left.columns, right.columns, left.columns, 1, right.columns, 1};
    if (left.columns != right.rows)
        return QDQ_REFUSE(c, "%" PRId64 " columns times %" PRId64 " rows", left.columns,
                          right.rows);
    if (!qdq_eval_broadcast(c, 2, (const qdq_const *const[]){&left.batch, &right.batch}, &rank,
                            dim))
        return false;
    w.rank = rank;
    for (int i = 0; i < rank; i++)
        w.dim[i] = dim[i];
    if (!left.is_vector)
        dim[rank++] = p.m;
    if (!right.is_vector)
        dim[rank++] = p.n;
    void *out = qdq_eval_output(c, 0, a->elem, rank, dim);
    qdq_sum *row = qdq_eval_scratch(c, c->out[0].count > 0 ? p.n : 0, sizeof *row);
    if (out == NULL || row == NULL || !check_work(c, c->out[0].count, p.k))
        return false;
    if (c->out[0].count == 0)
        return true;
    qdq_eval_broadcast_strides(&left.batch, w.rank, w.stride[0]);
    qdq_eval_broadcast_strides(&right.batch, w.rank, w.stride[1]);
    qdq_eval_strides(w.rank, w.dim, w.stride[2]);
    multiply_all(a, b, &p, &w, row, out);
    return true;
}

/* --- Gemm ------------------------------------------------------------------------------------- */

/* What is added: a matrix broadcast to m x n; data NULL: nothing. */
typedef struct addend {
    const qdq_const *c;
    /* strides */
    int64_t row, column;
} addend;

static bool read_addend(qdq_eval *c, const product *p, addend *add)
{
    const qdq_const *x = qdq_eval_in(c, 2);
    int64_t dim[2] = {p->m, p->n}, stride[2];

    *add = (addend){x, 0, 0};
    if (x == NULL)
        return true;
    if (x->rank > 2)
        return QDQ_REFUSE(c, "input 2 has rank %d, expected at most 2", x->rank);
    for (int i = 0; i < x->rank; i++)
        if (x->dim[i] != 1 && x->dim[i] != dim[2 - x->rank + i])
            return QDQ_REFUSE(c, "input 2 does not broadcast to the product");
    qdq_eval_broadcast_strides(x, 2, stride);
    add->row = stride[0];
    add->column = stride[1];
    return true;
}

static void add_row(const addend *add, int64_t r, double alpha, double beta, const product *p,
                    qdq_sum *row)
{
    const qdq_const *x = add->c;

    for (int64_t j = 0; j < p->n; j++) {
        int64_t at = r * add->row + j * add->column;

        row[j].f *= alpha;
        if (x != NULL)
            row[j].f += beta * qdq_eval_number(x, at);
    }
}

static bool read_product(qdq_eval *c, product *p)
{
    const qdq_const *a = c->in[0], *b = c->in[1];
    bool ta = qdq_eval_flag(c, "transA", false), tb = qdq_eval_flag(c, "transB", false);

    if (a->rank != 2 || b->rank != 2)
        return QDQ_REFUSE(c, "arrays of the ranks %d and %d, expected matrices", a->rank, b->rank);
    *p = (product){a->dim[ta], a->dim[!ta], b->dim[!tb], 0, 0, 0, 0};
    p->a_row = ta ? 1 : p->k;
    p->a_column = ta ? p->m : 1;
    p->b_row = tb ? 1 : p->n;
    p->b_column = tb ? p->k : 1;
    if (b->dim[tb] != p->k)
        return QDQ_REFUSE(c, "%" PRId64 " columns times %" PRId64 " rows", p->k, b->dim[tb]);
    return true;
}

bool qdq_eval_gemm(qdq_eval *c)
{
    const qdq_const *a = c->in[0], *b = c->in[1];
    double alpha = (double)qdq_eval_float(c, "alpha", 1.0F),
           beta = (double)qdq_eval_float(c, "beta", 1.0F);
    addend add;
    product p;

    if (!qdq_eval_is_float(a->elem))
        return qdq_eval_refuse_type(c, 0);
    if (!check_types(c) || !read_product(c, &p) || !read_addend(c, &p, &add))
        return false;
    void *out = qdq_eval_output(c, 0, a->elem, 2, (int64_t[]){p.m, p.n});
    qdq_sum *row = qdq_eval_scratch(c, c->out[0].count > 0 ? p.n : 0, sizeof *row);
    if (out == NULL || row == NULL || !check_work(c, c->out[0].count, p.k))
        return false;
    for (int64_t r = 0; r < p.m && c->out[0].count > 0; r++) {
        rows[a->elem](&p, (const char *)a->data + r * p.a_row * (int64_t)qdq_eval_size(a->elem),
                      b->data, row);
        add_row(&add, r, alpha, beta, &p, row);
        qdq_eval_store(row, p.n, a->elem, out, r * p.n);
    }
    return true;
}

/* --- Det -------------------------------------------------------------------------------------- */

/* Of the n x n numbers at a, which it overwrites: elimination with the largest element of each
 * column as pivot. */
static double determinant(double *a, int64_t n)
{
    double result = 1;

    for (int64_t i = 0; i < n; i++) {
        int64_t pivot = i;

        for (int64_t r = i + 1; r < n; r++)
            if (fabs(a[r * n + i]) > fabs(a[pivot * n + i]))
                pivot = r;
        if (a[pivot * n + i] == 0)
            return 0;
        for (int64_t k = 0; pivot != i && k < n; k++) {
            double swapped = a[i * n + k];

            a[i * n + k] = a[pivot * n + k];
            a[pivot * n + k] = swapped;
        }
        result *= pivot != i ? -a[i * n + i] : a[i * n + i];
        for (int64_t r = i + 1; r < n; r++) {
            double factor = a[r * n + i] / a[i * n + i];

            for (int64_t k = i; k < n; k++)
                a[r * n + k] -= factor * a[i * n + k];
        }
    }
    return result;
}

bool qdq_eval_det(qdq_eval *c)
{
    enum { MOST = 1 << 9 }; /* rows: the work is their cube */
    const qdq_const *x = c->in[0];

    if (!qdq_eval_is_float(x->elem))
        return qdq_eval_refuse_type(c, 0);
    if (x->rank < 2 || x->dim[x->rank - 1] != x->dim[x->rank - 2])
        return QDQ_REFUSE(c, "an array that is not a square matrix");
    int64_t n = x->dim[x->rank - 1];
    if (n < 1 || n > MOST)
        return QDQ_REFUSE(c, "a matrix of %" PRId64 " rows, expected 1 to %d", n, MOST);
    void *out = qdq_eval_output(c, 0, x->elem, x->rank - 2, x->dim);
    double *a = qdq_eval_scratch(c, n * n, sizeof *a);
    if (out == NULL || a == NULL)
        return false;
    for (int64_t i = 0; i < c->out[0].count; i++) {
        for (int64_t k = 0; k < n * n; k++)
            a[k] = qdq_eval_number(x, i * n * n + k);
        qdq_eval_put_number(x->elem, out, i, determinant(a, n));
    }
    return true;
}
