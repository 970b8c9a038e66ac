/* sample_stats.c - order statistics of timing samples. */
#include "engine/sample_stats.h"

#include <math.h>
#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

void qdq_stats_sort(double *x, size_t n)
{
    if (n > 1)
        qsort(x, n, sizeof *x, compare);
}

double qdq_stats_quantile(const double *sorted, size_t n, double q)
{
    if (n == 0)
        return 0;
    double at = q * (double)(n - 1);
    size_t i = (size_t)at;
    if (i + 1 >= n)
        return sorted[n - 1];
    return sorted[i] + (at - (double)i) * (sorted[i + 1] - sorted[i]);
}

/* Hoare's FIND: splits the part that place k lies in, until nothing else lies there. */
double qdq_stats_select(double *x, size_t n, size_t k)
{
    size_t first = 0, end = n;

    while (first + 1 < end) {
        const double middle = x[k];
        size_t i = first, j = end;
        do {
            while (x[i] < middle)
                i++;
            while (middle < x[j - 1])
                j--;
            if (i < j) {
                const double other = x[i];
                x[i++] = x[j - 1];
                x[--j] = other;
            }
        } while (i < j);
        if (j <= k)
            first = i;
        if (k < i)
            end = j;
    }
    return x[k];
}

/* The largest k with P(B(n, 1/2) < k) <= 2.5 %: the k-th smallest and the k-th largest sample are
 * the ends. */
static size_t tail_rank(size_t n)
{
    /* 2^-n leaves the range of double; the normal approximation is then good to one rank */
    if (n > 1000) {
        double k = floor((double)n / 2 - 1.959964 * sqrt((double)n) / 2);
        return (size_t)k;
    }
    double p = ldexp(1.0, -(int)n), sum = 0;
    size_t k = 0;
    while (k < n && sum + p <= 0.025) {
        sum += p;
        p *= (double)(n - k) / (double)(k + 1);
        k++;
    }
    return k;
}

void qdq_stats_median_interval(const double *sorted, size_t n, double *low, double *high)
{
    *low = 0;
    *high = 0;
    if (n == 0)
        return;
    size_t k = tail_rank(n);
    if (k == 0)
        k = 1;
    *low = sorted[k - 1];
    *high = sorted[n - k];
}

unsigned qdq_stats_sample_runs(double sample_ns, uint64_t best_ns, unsigned least)
{
    const double most = 1e6, runs = ceil(sample_ns / (double)(best_ns > 0 ? best_ns : 1));

    return runs > most ? (unsigned)most : runs < least ? least : (unsigned)runs;
}
