/* quant_histogram.c - counts that do not depend on how the data come. */
#include <math.h>

#include "base/random.h"
#include "quant/calib/histogram.h"
#include "support/test.h"

static qdq_histogram *histogram_of(const float *x, size_t n)
{
    qdq_histogram *h = malloc(sizeof *h);

    assert_non_null(h);
    qdq_histogram_init(h);
    qdq_histogram_add(h, x, n);
    return h;
}

/* Values of many magnitudes, both signs, zeros of both signs, and a few that are not finite. */
static void fill(qdq_random *r, float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t what = (qdq_random_u64(r) % (40));
        float v = qdq_random_normal(r) * ldexpf(1, (int)(qdq_random_u64(r) % (30)) - 15);

        x[i] = what < 8 ? 0.0f : what == 8 ? -0.0f : what == 9 ? NAN : what == 10 ? INFINITY : v;
    }
}

/* Moves the values around. */
static void shuffle(qdq_random *r, float *x, size_t n)
{
    for (size_t i = n; i-- > 1;) {
        size_t k = (size_t)(qdq_random_u64(r) % (i + 1));
        float v = x[i];
        x[i] = x[k];
        x[k] = v;
    }
}

TEST(any_split_and_any_order_give_the_same_bytes)
{
    enum { N = 20000 };
    float *x = malloc(N * sizeof *x);
    qdq_random r = qdq_random_new(20, NULL);

    assert_non_null(x);
    for (int round = 0; round < 30; round++) {
        size_t n = 1 + (size_t)(qdq_random_u64(&r) % (N)), at = 0;

        fill(&r, x, n);
        qdq_histogram *whole = histogram_of(x, n), *parts = histogram_of(NULL, 0);
        qdq_histogram *merged = histogram_of(NULL, 0);
        shuffle(&r, x, n);
        while (at < n) {
            size_t size = 1 + (size_t)(qdq_random_u64(&r) % (round % 3 == 0 ? 7 : 3000));
            size = size < n - at ? size : n - at;
            qdq_histogram *part = histogram_of(x + at, size);
            qdq_histogram_add(parts, x + at, size);
            qdq_histogram_merge(merged, part);
            free(part);
            at += size;
        }
        assert_memory_equal(whole, parts, sizeof *whole);
        assert_memory_equal(whole, merged, sizeof *whole);
        free(whole);
        free(parts);
        free(merged);
    }
    free(x);
}

/* A sample in which a tensor is 0 everywhere took resolution from all others below 1. */
TEST(pieces_of_zeros_do_not_widen_the_bins_of_others)
{
    static const float zeros[2] = {0, -0.0F}, x[4] = {0, -0.0F, 0.45F, -0.2F};
    qdq_histogram *apart = histogram_of(zeros, 2), *whole = histogram_of(x, 4);

    qdq_histogram_add(apart, x + 2, 2);
    assert_memory_equal(apart, whole, sizeof *whole);
    assert_int_equal(whole->exponent, -1);
    free(apart);
    free(whole);
}

TEST(a_value_lies_in_the_bin_that_its_edges_say)
{
    const float x[] = {0.75f, -0.75f, 0x1p-12f, -0x1p-12f, 0.99999994f, -0.99999994f, 1e-30f};
    qdq_histogram *h = histogram_of(x, 7);

    assert_int_equal(h->exponent, 0);
    assert_true(qdq_histogram_width(h) == 0x1p-12);
    assert_int_equal(h->bin[QDQ_HISTOGRAM_SIDE + 3072], 1);
    assert_int_equal(h->bin[QDQ_HISTOGRAM_SIDE - 1 - 3072], 1);
    assert_int_equal(h->bin[QDQ_HISTOGRAM_SIDE + 1], 1);
    assert_int_equal(h->bin[QDQ_HISTOGRAM_SIDE - 2], 1);
    assert_int_equal(h->bin[QDQ_HISTOGRAM_BINS - 1], 1);
    assert_int_equal(h->bin[0], 1);
    assert_int_equal(h->bin[QDQ_HISTOGRAM_SIDE], 1);
    free(h);
}

TEST(growing_keeps_every_count)
{
    const float small[] = {1e-20f, -1e-20f, 3e-20f, 0}, large[] = {3e38f, -3.4028235e38f};
    qdq_histogram *h = histogram_of(small, 4);
    uint64_t n = 0;

    qdq_histogram_add(h, large, 2);
    for (size_t i = 0; i < QDQ_HISTOGRAM_BINS; i++)
        n += h->bin[i];
    assert_int_equal(n, 5);
    assert_int_equal(h->count, 6);
    assert_int_equal(qdq_histogram_zeros(h), 1);
    assert_int_equal(h->bin[QDQ_HISTOGRAM_SIDE], 2);
    assert_int_equal(h->bin[QDQ_HISTOGRAM_SIDE - 1], 1);
    assert_true(qdq_histogram_amax(h) == 3.4028234663852886e38);
    free(h);
}

TEST(nothing_finite_is_nothing_counted)
{
    const float bad[] = {NAN, INFINITY, -INFINITY}, subnormal = 1e-42f;
    qdq_histogram *h = histogram_of(bad, 3);

    assert_int_equal(h->count, 0);
    assert_int_equal(h->n_nonfinite, 3);
    assert_true(qdq_histogram_amax(h) == 0);
    qdq_histogram_add(h, &subnormal, 1);
    assert_int_equal(h->bin[QDQ_HISTOGRAM_SIDE], 1);
    free(h);
}
