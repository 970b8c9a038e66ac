/* sample_stats.h - statistics of timing samples: order statistics only, because times have no
 * distribution that could be relied on. Knows nothing of engines. */
#ifndef QDQ_SAMPLE_STATS_H
#define QDQ_SAMPLE_STATS_H

#include <stddef.h>
#include <stdint.h>

void qdq_stats_sort(double *x, size_t n);

/* The q-quantile (0 to 1) of sorted samples, linear between neighbours; 0 of none. */
double qdq_stats_quantile(const double *sorted, size_t n, double q);

/* The value of rank k, counted from 0, of n > k samples in any order, which it moves. Where few
 * ranks are asked for, this takes less time than sorting. */
double qdq_stats_select(double *x, size_t n, size_t k);

/* An interval of order statistics that covers the median of whatever the samples come from with at
 * least 95 % probability. Below 6 samples no interval of theirs does; then it is that of the
 * extremes (for 5: 93.75 %). */
void qdq_stats_median_interval(const double *sorted, size_t n, double *low, double *high);

/* How many runs make a sample of this many ns, if the fastest takes best_ns: at least `least`, at
 * most a million. */
unsigned qdq_stats_sample_runs(double sample_ns, uint64_t best_ns, unsigned least);

#endif /* QDQ_SAMPLE_STATS_H */
