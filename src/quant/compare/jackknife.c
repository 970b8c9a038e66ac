/* jackknife.c - how far below an SQNR that was measured on few samples that of others may lie. */
#include <math.h>

#include "quant/compare/slices.h"

/* Student's t, one-sided 90 %. Beyond the table the first term of the expansion in 1 / df: right to
 * 0.001. */
static double student_90(size_t df)
{
    static const double table[] = {3.078, 1.886, 1.638, 1.533, 1.476, 1.440, 1.415,
                                   1.397, 1.383, 1.372, 1.363, 1.356, 1.350, 1.345,
                                   1.341, 1.337, 1.333, 1.330, 1.328, 1.325};
    const double z = 1.281552;

    return df <= sizeof table / sizeof *table ? table[df - 1]
                                              : z + (z * z * z + z) / (4 * (double)df);
}

static double cut(double x, double all)
{
    return fmax(all - QDQ_JACKKNIFE_MOST_DB, fmin(x, all + QDQ_JACKKNIFE_MOST_DB));
}

double qdq_jackknife_bound(double all, const double *without, size_t n)
{
    double mean = 0, sum = 0;

    if (n < 2)
        return NAN;
    if (!isfinite(all))
        return all;
    for (size_t i = 0; i < n; i++)
        mean += cut(without[i], all) / (double)n;
    for (size_t i = 0; i < n; i++) {
        const double d = cut(without[i], all) - mean;

        sum += d * d;
    }
    const double corrected = (double)n * all - (double)(n - 1) * mean;
    return fmin(all, corrected) - student_90(n - 1) * sqrt(2 * (double)(n - 1) / (double)n * sum);
}
