/* compare_stat.c - sums in double, whatever the arrays are: a million squares in float lose the last digits that
 * SQNR is about. */
#include "quant/compare/compare_stat.h"

#include <math.h>

#include "ir/ir.h"

static void add_pair(qdq_compare_stat *s, double a, double b)
{
    double d = a - b;

    if (!isfinite(a) || !isfinite(b)) {
        if (a == b || (isnan(a) && isnan(b)))
            return;
        s->unequal++;
        s->dd = INFINITY;
        s->max_abs = INFINITY;
        return;
    }
    s->unequal += a != b;
    s->low = a < s->low ? a : s->low;
    s->high = a > s->high ? a : s->high;
    s->aa += a * a;
    s->bb += b * b;
    s->ab += a * b;
    s->dd += d * d;
    if (fabs(d) > s->max_abs)
        s->max_abs = fabs(d);
}

static double element(const qdq_array *a, int64_t i)
{
    if (a->elem == QDQ_FLOAT)
        return (double)((const float *)a->data)[i];
    if (a->elem == QDQ_DOUBLE)
        return ((const double *)a->data)[i];
    if (a->elem == QDQ_UINT64)
        return (double)((const uint64_t *)a->data)[i];
    if (qdq_elem_is_int(a->elem))
        return (double)qdq_elem_int(a->elem, a->data, i);
    return (double)qdq_elem_float(a->elem, a->data, i);
}

/* Integers that are different numbers, but the same as double. */
static void count_wide(qdq_compare_stat *s, const qdq_array *a, const qdq_array *b, int64_t n)
{
    const uint64_t *x = a->data, *y = b->data;

    if (a->elem != b->elem || (a->elem != QDQ_INT64 && a->elem != QDQ_UINT64))
        return;
    for (int64_t i = 0; i < n; i++)
        s->unequal += x[i] != y[i] && element(a, i) == element(b, i);
}

void qdq_compare_stat_add(qdq_compare_stat *s, const qdq_array *a, const qdq_array *b)
{
    int64_t n = qdq_array_count(a);

    s->elem = a->elem;
    s->elements += (uint64_t)n;
    count_wide(s, a, b, n);
    if (a->elem == QDQ_FLOAT && b->elem == QDQ_FLOAT) {
        const float *x = a->data, *y = b->data;

        for (int64_t i = 0; i < n; i++)
            add_pair(s, (double)x[i], (double)y[i]);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        add_pair(s, element(a, i), element(b, i));
}

void qdq_compare_stat_result(const qdq_compare_stat *s, qdq_compare_tensor *t)
{
    t->elem = s->elem;
    t->elements = s->elements;
    t->unequal = s->unequal;
    t->max_abs = s->max_abs;
    t->range = s->high - s->low;
    t->top1 = NAN;
    t->power = s->elements > 0 ? s->aa / (double)s->elements : 0;
    if (s->aa == 0)
        t->sqnr_db = NAN;
    else if (s->dd == 0)
        t->sqnr_db = INFINITY;
    else
        t->sqnr_db = 10 * log10(s->aa / s->dd);
    /* Two roots, because the product of the sums may overflow; equal vectors get a clean 1. */
    t->cosine = s->aa == 0 || s->bb == 0 ? NAN : s->dd == 0 ? 1 : s->ab / (sqrt(s->aa) * sqrt(s->bb));
    if (isinf(s->dd))
        t->cosine = NAN;
}

int64_t qdq_top1_rows(const qdq_array *a)
{
    if (a->rank < 1 || a->dim[a->rank - 1] < 2 || !(qdq_elem_is_int(a->elem) || qdq_elem_is_float(a->elem)))
        return 0;
    return qdq_array_count(a) / a->dim[a->rank - 1];
}

/* -1 when the row holds NaN. */
static int64_t argmax(const qdq_array *a, int64_t first, int64_t n)
{
    int64_t best = 0;
    double largest = element(a, first);

    for (int64_t i = 0; i < n; i++) {
        double x = element(a, first + i);

        if (isnan(x))
            return -1;
        if (x > largest) {
            largest = x;
            best = i;
        }
    }
    return best;
}

void qdq_top1_add(qdq_top1 *t, const qdq_array *a, const qdq_array *b, const int64_t *labels)
{
    int64_t rows = qdq_top1_rows(a);

    for (int64_t r = 0; r < rows; r++) {
        int64_t n = a->dim[a->rank - 1];
        int64_t x = argmax(a, r * n, n), y = argmax(b, r * n, n);

        t->rows++;
        t->same += x == y && x >= 0;
        if (labels == NULL)
            continue;
        t->labelled++;
        t->right_a += x == labels[r] && x >= 0;
        t->right_b += y == labels[r] && y >= 0;
    }
}
