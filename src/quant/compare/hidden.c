/* hidden.c - estimates the error that a saturated Softmax or Sigmoid hides. */
#include "quant/compare/hidden.h"

#include <math.h>

#include "ir/ir.h"
#include "quant/compare/compare_stat.h"

/* Log odds beyond it are rounded away in float: 1 - p has a few steps of 6e-8 left. */
static const double most_odds = 14;

/* A row may be off 1 by so much: what 16-bit floats give. */
static const double row_slack = 0.01;

static double log_odds(double p, double rest)
{
    if (!(p > 0))
        return -most_odds;
    return rest > 0 ? fmax(-most_odds, fmin(log(p / rest), most_odds)) : most_odds;
}

/* Log odds of an element of a row against the rest of it: 1 - p would have lost its digits. */
static double row_odds(const qdq_array *a, int64_t first, int64_t length, int64_t top)
{
    double rest = 0;

    for (int64_t i = first; i < first + length; i++)
        rest += i != top ? qdq_array_number(a, i) : 0;
    return log_odds(qdq_array_number(a, top), rest);
}

static double row_error(const qdq_array *a, const qdq_array *b, int64_t row)
{
    const int64_t length = a->dim[a->rank - 1], first = row * length;
    int64_t top = first;

    for (int64_t i = first + 1; i < first + length; i++)
        if (qdq_array_number(a, i) > qdq_array_number(a, top))
            top = i;
    return row_odds(a, first, length, top) - row_odds(b, first, length, top);
}

static double element_error(const qdq_array *a, const qdq_array *b, int64_t i)
{
    const double p = qdq_array_number(a, i), q = qdq_array_number(b, i);

    return log_odds(p, 1 - p) - log_odds(q, 1 - q);
}

static double undecided(double error)
{
    const double change = tanh(error / 4);

    return change * change;
}

static bool is_in_unit(const qdq_array *a, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const double x = qdq_array_number(a, i);

        if (!(x >= 0 && x <= 1))
            return false;
    }
    return true;
}

static bool has_rows(const qdq_array *a, int64_t rows)
{
    const int64_t length = rows > 0 ? a->dim[a->rank - 1] : 0;

    for (int64_t r = 0; r < rows; r++) {
        double sum = 0;

        for (int64_t i = 0; i < length; i++)
            sum += qdq_array_number(a, r * length + i);
        if (!(fabs(sum - 1) <= row_slack))
            return false;
    }
    return rows > 0;
}

/* How many decisions a sample holds; -1: it is none. */
static int64_t count_decisions(const qdq_array *a, const qdq_array *b, bool *is_rows)
{
    const int64_t n = qdq_array_count(a), rows = qdq_top1_rows(a);

    if (!qdq_elem_is_float(a->elem) || !qdq_elem_is_float(b->elem) ||
        (rows > 0 ? rows : n) > QDQ_HIDDEN_MOST || !is_in_unit(a, n))
        return -1;
    *is_rows = has_rows(a, rows);
    return *is_rows ? rows : n;
}

void qdq_hidden_add(qdq_hidden *h, size_t sample, const qdq_array *a, const qdq_array *b)
{
    qdq_power_sums *to = &h->sums[sample % QDQ_HIDDEN_BLOCKS];
    bool is_rows = false;
    const int64_t n = h->is_out ? -1 : count_decisions(a, b, &is_rows);

    h->is_out |=
        n < 0 || h->decisions + n > QDQ_HIDDEN_MOST || (h->has_begun && h->is_rows != is_rows);
    if (h->is_out)
        return;
    h->is_rows = is_rows;
    h->has_begun = true;
    h->decisions += n;
    for (int64_t i = 0; i < n; i++) {
        const int elements = is_rows ? 2 : 1;

        to->aa += 0.25 * elements;
        to->dd += elements * undecided(is_rows ? row_error(a, b, i) : element_error(a, b, i));
    }
}

double qdq_hidden_share(const qdq_hidden *h)
{
    return h->is_out || h->decisions == 0 ? 0 : 1 - pow(0.1, 1 / (double)h->decisions);
}
