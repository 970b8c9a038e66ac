/* engine_bench_stats.c - order statistics on samples whose answer is known. */
#include "engine/sample_stats.h"

#include <math.h>

#include "base/random.h"
#include "support/test.h"

#define assert_near(x, want, by) assert_true(fabs((double)(x) - (double)(want)) <= (by))

TEST(quantiles_lie_between_neighbours)
{
    double x[] = {5, 1, 4, 2, 3};

    qdq_stats_sort(x, 5);
    for (int i = 0; i < 5; i++)
        assert_near(x[i], i + 1, 0);
    assert_near(qdq_stats_quantile(x, 5, 0.5), 3, 0);
    assert_near(qdq_stats_quantile(x, 5, 0), 1, 0);
    assert_near(qdq_stats_quantile(x, 5, 1), 5, 0);
    assert_near(qdq_stats_quantile(x, 5, 0.1), 1.4, 1e-12);
    assert_near(qdq_stats_quantile(x, 4, 0.5), 2.5, 1e-12);
}

/* In any order, with samples that are equal, and again in what an earlier call moved. */
TEST(each_rank_has_the_value_that_sorting_puts_there)
{
    qdq_random r = qdq_random_new(1, "ranks");

    for (size_t n = 1; n < 60; n++) {
        double sorted[60], x[60];
        for (size_t i = 0; i < n; i++)
            sorted[i] = x[i] = (double)(qdq_random_u64(&r) % (n % 2 == 0 ? 5 : 1000));
        qdq_stats_sort(sorted, n);
        for (size_t k = 0; k < n; k++) {
            const size_t rank = k % 2 == 0 ? k / 2 : n - 1 - k / 2;
            assert_near(qdq_stats_select(x, n, rank), sorted[rank], 0);
        }
        qdq_stats_sort(x, n);
        assert_memory_equal(x, sorted, n * sizeof *x);
    }
}

TEST(few_samples_have_quantiles_and_an_interval)
{
    double one = 7, low = -1, high = -1;
    const double five[] = {1, 2, 3, 4, 5};

    assert_near(qdq_stats_quantile(&one, 0, 0.5), 0, 0);
    assert_near(qdq_stats_quantile(&one, 1, 0.9), 7, 0);
    qdq_stats_median_interval(&one, 0, &low, &high);
    assert_true(low == 0 && high == 0);
    qdq_stats_median_interval(&one, 1, &low, &high);
    assert_true(low == 7 && high == 7);
    qdq_stats_median_interval(five, 5, &low, &high); /* nothing narrower covers enough */
    assert_true(low == 1 && high == 5);
}

/* Ranks of published tables of the sign test's interval. */
TEST(intervals_have_the_ranks_of_the_tables)
{
    static const struct {
        size_t n, rank;
    } table[] = {{6, 1},  {8, 1},  {9, 2},  {11, 2},  {12, 3},  {15, 4},
                 {17, 5}, {20, 6}, {25, 8}, {30, 10}, {50, 18}, {100, 40}};
    double x[100], low, high;

    for (int i = 0; i < 100; i++)
        x[i] = i + 1;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        qdq_stats_median_interval(x, table[i].n, &low, &high);
        assert_near(low, table[i].rank, 0);
        assert_near(high, table[i].n + 1 - table[i].rank, 0);
    }
}

TEST(long_series_continue_without_a_step)
{
    enum { N = 1002 };
    static double x[N];
    double low[2], high[2];

    for (int i = 0; i < N; i++)
        x[i] = i + 1;
    qdq_stats_median_interval(x, 1000, &low[0], &high[0]);
    qdq_stats_median_interval(x, 1001, &low[1], &high[1]);
    assert_near(low[0], low[1], 1.01);
    assert_near(high[0], high[1], 1.01);
}

/* 400 series of 25 samples around a true median of 1: some 95 % of the intervals must hold it. */
TEST(intervals_cover_the_median_as_often_as_they_say)
{
    enum { SERIES = 400, N = 25 };
    qdq_random r = qdq_random_new(11, "coverage");
    int covered = 0;

    for (int s = 0; s < SERIES; s++) {
        double x[N], low, high;
        for (int i = 0; i < N; i++) { /* skewed, as times are */
            double u = qdq_random_uniform(&r);
            x[i] = u < 0.5 ? 0.5 + u : 1 + 8 * (u - 0.5) * (u - 0.5);
        }
        qdq_stats_sort(x, N);
        qdq_stats_median_interval(x, N, &low, &high);
        covered += low <= 1 && 1 <= high;
    }
    assert_in_range(covered, SERIES * 93 / 100, SERIES * 99 / 100);
}
