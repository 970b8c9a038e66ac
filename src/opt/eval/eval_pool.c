/* eval_pool.c - pools of constants, as ONNX's specification of opset 22 defines them. Sums are in
 * double, in the order of the data, and rounded once. Windows of one dim that all lie in padding
 * have no result here: engines differ. */
#include "opt/eval/eval_window.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

typedef struct pool {
    qdq_op op;
    qdq_window w;
    /* AveragePool */
    bool counts_padding;
    /* LpPool: the power */
    int64_t p;
} pool;

/* What one window comes to. */
typedef struct seen {
    double sum, largest;
    /* elements; `at`: the first that is the largest */
    int64_t n, n_padding, at;
    bool has_nan;
} seen;

static void see(const pool *p, seen *s, double x, int64_t at)
{
    if (s->n++ == 0 || x > s->largest) {
        s->largest = x;
        s->at = at;
    }
    s->has_nan = s->has_nan || isnan(x);
    s->sum += p->p > 0 ? pow(fabs(x), (double)p->p) : x;
}

static double settle(const pool *p, const seen *s)
{
    if (p->op == QDQ_OP_MAXPOOL || p->op == QDQ_OP_GLOBALMAXPOOL)
        return s->largest;
    if (p->p > 0)
        return pow(s->sum, 1 / (double)p->p);
    return s->sum / (double)(s->n + (p->counts_padding ? s->n_padding : 0));
}

static bool read_power(qdq_eval *c, pool *p)
{
    if (p->op != QDQ_OP_LPPOOL && p->op != QDQ_OP_GLOBALLPPOOL)
        return true;
    p->p = qdq_eval_int(c, "p", 2);
    return (p->p >= 1 && p->p <= 1 << 20) || QDQ_REFUSE(c, "attribute 'p' is %" PRId64, p->p);
}

static bool check_type(qdq_eval *c)
{
    qdq_elem e = c->in[0]->elem;
    bool is_code = (e == QDQ_INT8 || e == QDQ_UINT8) && c->node->op == QDQ_OP_MAXPOOL;

    return qdq_eval_is_float(e) || is_code || qdq_eval_refuse_type(c, 0);
}

static void put_element(const qdq_const *x, void *out, int64_t i, double number)
{
    if (qdq_eval_is_float(x->elem))
        qdq_elem_put_float(x->elem, out, i, number);
    else
        qdq_elem_put_int(x->elem, out, i, (int64_t)number);
}

/* --- all of a channel ------------------------------------------------------------------------- */

bool qdq_eval_globalpool(qdq_eval *c)
{
    const qdq_const *x = c->in[0];
    pool p = {.op = c->node->op};
    int64_t dim[QDQ_EVAL_RANK];

    if (!check_type(c) || !read_power(c, &p))
        return false;
    if (x->rank < 3)
        return QDQ_REFUSE(c, "an array of rank %d, expected 3 or more", x->rank);
    if (x->count == 0)
        return QDQ_REFUSE(c, "an array without elements");
    for (int i = 0; i < x->rank; i++)
        dim[i] = i < 2 ? x->dim[i] : 1;
    void *out = qdq_eval_output(c, 0, x->elem, x->rank, dim);
    if (out == NULL)
        return false;
    int64_t size = qdq_eval_product(x->dim, 2, x->rank);
    for (int64_t i = 0; i < c->out[0].count; i++) {
        seen s = {0};

        for (int64_t k = 0; k < size; k++)
            see(&p, &s, qdq_elem_float(x->elem, x->data, i * size + k), k);
        if (s.has_nan)
            return QDQ_REFUSE(c, "the data have NaN");
        put_element(x, out, i, settle(&p, &s));
    }
    return true;
}

/* --- windows ---------------------------------------------------------------------------------- */

static bool read_pool(qdq_eval *c, pool *p)
{
    const qdq_const *x = c->in[0];
    qdq_window *w = &p->w;

    *p = (pool){.op = c->node->op};
    p->counts_padding = qdq_eval_flag(c, "count_include_pad", false);
    if (!check_type(c) || !read_power(c, p))
        return false;
    w->space = x->rank - 2;
    if (w->space < 1 || w->space > QDQ_WINDOW_SPACE)
        return QDQ_REFUSE(c, "an array of rank %d, expected 3 to 5", x->rank);
    if (x->count == 0)
        return QDQ_REFUSE(c, "an array without elements");
    for (int i = 0; i < w->space; i++)
        w->in[i] = x->dim[2 + i];
    if (!qdq_window_list(c, "kernel_shape", w->space, 1, 0, w->kernel) ||
        !qdq_window_read(c, w, qdq_eval_flag(c, "ceil_mode", false)))
        return false;
    for (int i = 0; i < w->space; i++)
        if (w->pad[i] >= w->kernel[i] || w->end[i] >= w->kernel[i])
            return QDQ_REFUSE(c, "padding that is as large as the kernel");
    return true;
}

static bool check_work(qdq_eval *c, const pool *p)
{
    int64_t work = c->out[0].count;

    for (int i = 0; i < p->w.space; i++)
        if (__builtin_mul_overflow(work, p->w.kernel[i], &work) || work > QDQ_WINDOW_WORK)
            return QDQ_REFUSE(c, "more than %d places", QDQ_WINDOW_WORK);
    return true;
}

static void look(const qdq_eval *c, const pool *p, int64_t channel, const int64_t *place, seen *s)
{
    const qdq_const *x = c->in[0];
    int64_t k[QDQ_WINDOW_SPACE] = {0}, size = qdq_eval_product(p->w.in, 0, p->w.space);

    *s = (seen){0};
    do {
        int64_t at = qdq_window_at(&p->w, place, k);

        if (at >= 0)
            see(p, s, qdq_elem_float(x->elem, x->data, channel * size + at), at);
        s->n_padding += at == QDQ_WINDOW_PADDING;
    } while (qdq_window_advance(p->w.space, p->w.kernel, k));
}

/* Where the largest one is: in row-major order of the whole array, or with the dims of space in
 * column-major order. */
static int64_t index_of(const pool *p, int64_t channel, int64_t at, bool by_columns)
{
    int64_t index = 0, size = qdq_eval_product(p->w.in, 0, p->w.space), step = size;

    if (!by_columns)
        return channel * size + at;
    for (int i = p->w.space; i-- > 0; at /= p->w.in[i]) {
        step /= p->w.in[i];
        index += at % p->w.in[i] * step;
    }
    return channel * size + index;
}

bool qdq_eval_pool(qdq_eval *c)
{
    const qdq_const *x = c->in[0];
    int64_t dim[2 + QDQ_WINDOW_SPACE], place[QDQ_WINDOW_SPACE] = {0}, *indices = NULL;
    bool by_columns = qdq_eval_flag(c, "storage_order", false);
    pool p;

    if (!read_pool(c, &p))
        return false;
    for (int i = 0; i < x->rank; i++)
        dim[i] = i < 2 ? x->dim[i] : p.w.out[i - 2];
    void *out = qdq_eval_output(c, 0, x->elem, x->rank, dim);
    if (out == NULL || !check_work(c, &p))
        return false;
    if (c->node->n_out > 1 && p.op == QDQ_OP_MAXPOOL &&
        (indices = qdq_eval_output(c, 1, QDQ_INT64, x->rank, dim)) == NULL)
        return false;
    int64_t places = qdq_eval_product(p.w.out, 0, p.w.space);
    for (int64_t i = 0; i < c->out[0].count; i++) {
        seen s;

        look(c, &p, i / places, place, &s);
        qdq_window_advance(p.w.space, p.w.out, place);
        if (s.n == 0)
            return QDQ_REFUSE(c, "a window without data");
        if (s.has_nan)
            return QDQ_REFUSE(c, "the data have NaN");
        put_element(x, out, i, settle(&p, &s));
        if (indices != NULL)
            indices[i] = index_of(&p, i / places, s.at, by_columns);
    }
    return true;
}

/* --- MaxUnpool -------------------------------------------------------------------------------- */

/* The size of what the pool was of. Another one may be asked for, but engines then take the indices
 * in different ways. */
static bool read_unpool(qdq_eval *c, qdq_window *w, int64_t *dim)
{
    const qdq_const *x = c->in[0];
    const int64_t *size;
    qdq_padding how;
    int64_t count;

    if (!qdq_window_list(c, "kernel_shape", w->space, 1, 0, w->kernel) ||
        !qdq_window_attributes(c, w, &how) || !qdq_eval_ints_or_attr(c, 2, NULL, 0, &size, &count))
        return false;
    for (int i = 0; i < x->rank; i++) {
        int64_t whole = 0;

        dim[i] = x->dim[i];
        if (i >= 2 && (__builtin_mul_overflow(x->dim[i] - 1, w->stride[i - 2], &whole) ||
                       __builtin_add_overflow(
                           whole, w->kernel[i - 2] - w->pad[i - 2] - w->end[i - 2], &dim[i])))
            return QDQ_REFUSE(c, "a result that is larger than can be counted");
        if (dim[i] < 1)
            return QDQ_REFUSE(c, "a result without elements");
    }
    return size == NULL ||
           (count == x->rank && memcmp(size, dim, (size_t)x->rank * sizeof *dim) == 0) ||
           QDQ_REFUSE(c, "a result of another size than the data make it");
}

bool qdq_eval_unpool(qdq_eval *c)
{
    const qdq_const *x = c->in[0], *index = c->in[1];
    int64_t dim[2 + QDQ_WINDOW_SPACE];
    qdq_window w = {.space = x->rank - 2};

    if (!check_type(c))
        return false;
    if (w.space < 1 || w.space > QDQ_WINDOW_SPACE || x->count == 0 || index->elem != QDQ_INT64 ||
        index->rank != x->rank || memcmp(index->dim, x->dim, (size_t)x->rank * sizeof *dim) != 0)
        return QDQ_REFUSE(c, "data and indices of other shapes, or without elements");
    if (!read_unpool(c, &w, dim))
        return false;
    void *out = qdq_eval_output(c, 0, x->elem, x->rank, dim);
    if (out == NULL)
        return false;
    for (int64_t i = 0; i < x->count; i++) {
        int64_t at = ((const int64_t *)index->data)[i];

        if (at < 0 || at >= c->out[0].count)
            return QDQ_REFUSE(c, "index %" PRId64 " beyond the result", at);
        put_element(x, out, at, qdq_elem_float(x->elem, x->data, i));
    }
    return true;
}
