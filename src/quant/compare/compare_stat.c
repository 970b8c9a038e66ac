/* compare_stat.c - sums in double, whatever the arrays are: a million squares in float lose the
 * last digits that SQNR is about. */
#include "quant/compare/compare_stat.h"

#include <math.h>

#include "ir/ir.h"

static void add_pair(qdq_compare_stat *s, double a, double b)
{
    double d = a - b;

    if (!isfinite(a) || !isfinite(b)) {
        s->a_not_finite |= !isfinite(a);
        if (a == b || (isnan(a) && isnan(b)))
            return;
        s->unequal++;
        s->dd = INFINITY;
        s->max_abs = INFINITY;
        return;
    }
    s->unequal += a != b;
    s->same_half += (a > 0.5) == (b > 0.5);
    s->low = a < s->low ? a : s->low;
    s->high = a > s->high ? a : s->high;
    s->aa += a * a;
    s->bb += b * b;
    s->ab += a * b;
    s->dd += d * d;
    if (fabs(d) > s->max_abs)
        s->max_abs = fabs(d);
}

double qdq_array_number(const qdq_array *a, int64_t i)
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
        s->unequal += x[i] != y[i] && qdq_array_number(a, i) == qdq_array_number(b, i);
}

void qdq_compare_stat_add(qdq_compare_stat *s, const qdq_array *a, const qdq_array *b)
{
    int64_t n = qdq_array_count(a);

    s->elem = a->elem;
    s->elements += (uint64_t)n;
    count_wide(s, a, b, n);
    if (a->elem == QDQ_FLOAT && b->elem == QDQ_FLOAT) {
        const float *x = a->data, *y = b->data;
        qdq_compare_stat own = *s; /* which the compiler keeps in registers */

        for (int64_t i = 0; i < n; i++)
            add_pair(&own, (double)x[i], (double)y[i]);
        *s = own;
        return;
    }
    for (int64_t i = 0; i < n; i++)
        add_pair(s, qdq_array_number(a, i), qdq_array_number(b, i));
}

/* Of floats that are all in [0, 1]: probabilities, masks. */
static double half_agreement(const qdq_compare_stat *s)
{
    const bool in_unit =
        qdq_elem_is_float(s->elem) && !s->a_not_finite && s->low >= 0 && s->high <= 1;

    return in_unit && s->aa > 0 ? (double)s->same_half / (double)s->elements : (double)NAN;
}

void qdq_compare_stat_result(const qdq_compare_stat *s, qdq_compare_tensor *t)
{
    t->elem = s->elem;
    t->elements = s->elements;
    t->unequal = s->unequal;
    t->max_abs = s->max_abs;
    t->range = s->high - s->low;
    t->top1 = t->top1_close = t->bound_db = NAN;
    t->half_agreement = half_agreement(s);
    t->axis = -1;
    t->index = 0;
    t->other_shape = false;
    t->power = s->elements > 0 ? s->aa / (double)s->elements : 0;
    if (s->aa == 0)
        t->sqnr_db = NAN;
    else if (s->dd == 0)
        t->sqnr_db = INFINITY;
    else
        t->sqnr_db = 10 * log10(s->aa / s->dd);
    t->worst_db = t->sqnr_db;
    /* Two roots, because the product of the sums may overflow; equal vectors get a clean 1. */
    t->cosine = s->aa == 0 || s->bb == 0 ? NAN
                : s->dd == 0             ? 1
                                         : s->ab / (sqrt(s->aa) * sqrt(s->bb));
    if (isinf(s->dd))
        t->cosine = NAN;
}

int64_t qdq_top1_rows(const qdq_array *a)
{
    if (a->rank < 1 || a->dim[a->rank - 1] < 2 ||
        !(qdq_elem_is_int(a->elem) || qdq_elem_is_float(a->elem)))
        return 0;
    return qdq_array_count(a) / a->dim[a->rank - 1];
}

/* -1 when the row holds NaN. */
static int64_t argmax(const qdq_array *a, int64_t first, int64_t n)
{
    int64_t best = 0;
    double largest = qdq_array_number(a, first);

    for (int64_t i = 0; i < n; i++) {
        double x = qdq_array_number(a, first + i);

        if (isnan(x))
            return -1;
        if (x > largest) {
            largest = x;
            best = i;
        }
    }
    return best;
}

/* The sum of a row's shares of 1, or of the exponentials of their logarithms, may be off by so
 * much: what 16-bit floats give. */
static const double share_slack = 0.01;

static void look_at_row(qdq_top1 *t, const qdq_array *a, int64_t first, int64_t n)
{
    double sum = 0, exponentials = 0, low = INFINITY, high = -INFINITY;

    t->has_numbers = true;
    for (int64_t i = 0; i < n; i++) {
        const double x = qdq_array_number(a, first + i);

        sum += x;
        exponentials += t->is_log_share ? exp(x) : 0;
        low = fmin(low, x);
        high = fmax(high, x);
    }
    t->is_share = t->is_share && low >= 0 && fabs(sum - 1) <= share_slack;
    t->is_log_share =
        t->is_log_share && high <= share_slack && fabs(exponentials - 1) <= share_slack;
    t->has_negative |= low < 0;
    t->has_positive |= high > 0;
}

/* Are x, the row's largest element, and y nearer to each other than what an error of all elements
 * at QDQ_TIE_DB makes of the difference of two? */
static bool is_tie(const qdq_array *a, int64_t first, int64_t n, int64_t x, int64_t y)
{
    const double gap = qdq_array_number(a, first + x) - qdq_array_number(a, first + y);
    double power = 0;

    for (int64_t i = 0; i < n; i++) {
        const double v = qdq_array_number(a, first + i);

        power += v * v;
    }
    return gap * gap <= 2 * power / (double)n * pow(10, -QDQ_TIE_DB / 10);
}

static void look_at_array(qdq_top1 *t, const qdq_array *a, int64_t n)
{
    const bool is_float = qdq_elem_is_float(a->elem), is_flat = is_float && a->rank <= 2;

    t->is_share = t->has_begun ? t->is_share && is_float : is_float;
    t->is_log_share = t->has_begun ? t->is_log_share && is_float : is_float;
    t->is_flat = t->has_begun ? t->is_flat && is_flat : is_flat;
    t->columns = t->has_begun && t->columns < n ? t->columns : n;
    t->has_begun = true;
}

bool qdq_top1_is_choice(const qdq_top1 *t)
{
    const bool is_logits =
        t->is_flat && t->columns >= QDQ_LOGITS_LEAST && t->has_negative && t->has_positive;

    return (t->is_asked && t->rows > 0) || t->labelled > 0 ||
           (t->has_numbers && (t->is_share || t->is_log_share || is_logits));
}

void qdq_top1_add(qdq_top1 *t, const qdq_array *a, const qdq_array *b, const int64_t *labels)
{
    const int64_t rows = qdq_top1_rows(a), n = rows > 0 ? a->dim[a->rank - 1] : 0;

    if (rows > 0)
        look_at_array(t, a, n);
    for (int64_t r = 0; r < rows; r++) {
        if (labels == NULL && !t->is_asked && !t->is_flat && !t->is_share && !t->is_log_share)
            return; /* no one will ask */
        const int64_t x = argmax(a, r * n, n), y = argmax(b, r * n, n);

        if (x >= 0)
            look_at_row(t, a, r * n, n);
        t->rows++;
        t->same += x == y && x >= 0;
        t->close += x != y && x >= 0 && y >= 0 && is_tie(a, r * n, n, x, y);
        if (labels == NULL)
            continue;
        t->labelled++;
        t->right_a += x == labels[r] && x >= 0;
        t->right_b += y == labels[r] && y >= 0;
    }
}
