/* Saturated scores: samples that are all decided must not promise what the first undecided one will
 * not keep. */
#include <math.h>

#include "quant/compare/compare_output.h"
#include "support/test.h"

static qdq_error err;

static double uniform(uint32_t *random)
{
    *random = *random * 1664525u + 1013904223u;
    return (*random >> 8) / 0x1p24;
}

static double gaussian(uint32_t *random)
{
    double sum = -6;

    for (int i = 0; i < 12; i++)
        sum += uniform(random);
    return sum;
}

static void add(qdq_compare_output *o, size_t sample, float *x, float *y, int64_t n)
{
    const qdq_array a = {
        .elem = QDQ_FLOAT, .rank = 2, .dim = {1, n}, .data = x, .bytes = (size_t)n * sizeof *x};
    qdq_array b = a;

    b.data = y;
    assert_ok(qdq_compare_output_add(o, sample, 1, &a, &b, NULL, &err));
}

static qdq_compare_tensor get(qdq_compare_output *o)
{
    qdq_compare_tensor t = {0};

    assert_ok(qdq_compare_output_get(o, &t, &err));
    qdq_compare_output_free(o);
    return t;
}

static float share_of(double odds)
{
    return (float)(1 / (1 + exp(-odds)));
}

/* Two classes by Softmax, or one score by Sigmoid: log odds of some 10, off by some 0.5. */
static void draw(uint32_t *random, bool is_pair, float *x, float *y)
{
    const double odds = 10 * gaussian(random), other = odds + 0.5 * gaussian(random);

    x[0] = share_of(odds);
    y[0] = share_of(other);
    x[1] = is_pair ? share_of(-odds) : 0;
    y[1] = is_pair ? share_of(-other) : 0;
}

static qdq_compare_tensor draw_many(uint32_t *random, bool is_pair, size_t n)
{
    qdq_compare_output o = {0};
    float x[2], y[2];

    for (size_t i = 0; i < n; i++) {
        draw(random, is_pair, x, y);
        add(&o, i, x, y, is_pair ? 2 : 1);
    }
    return get(&o);
}

static void check_coverage(bool is_pair)
{
    enum { DRAWS = 500 };
    const size_t sizes[] = {4, 8, 16, 32};
    uint32_t random = 11;
    const double others = draw_many(&random, is_pair, 100000).worst_db;

    for (size_t k = 0; k < QDQ_COUNT(sizes); k++) {
        int holds = 0, far = 0, useful = 0;

        for (int i = 0; i < DRAWS; i++) {
            const double bound = draw_many(&random, is_pair, sizes[k]).bound_db;

            holds += bound <= others;
            far += bound > others + 3;
            useful += bound > others - 15;
        }
        assert_in_range(holds, DRAWS * 85 / 100, DRAWS);
        assert_in_range(far, 0, DRAWS * 3 / 100);
        if (sizes[k] >= 16)
            assert_in_range(useful, DRAWS * 80 / 100, DRAWS);
    }
}

TEST(decided_classes_promise_no_more_than_undecided_ones_keep)
{
    check_coverage(true);
}

TEST(decided_scores_promise_no_more_than_undecided_ones_keep)
{
    check_coverage(false);
}

/* Two samples with the same error, so that nothing is left for the jackknife: two decisions, share
 * 1 - 0.1^(1/2). */
TEST(the_bound_counts_a_share_of_the_samples_as_undecided)
{
    float x = share_of(-6), y = share_of(-6.1);
    qdq_compare_output o = {0};
    const double share = 1 - sqrt(0.1), d = (double)x - (double)y, change = tanh(0.1 / 4);

    for (size_t i = 0; i < 2; i++)
        add(&o, i, &x, &y, 1);
    qdq_compare_tensor t = get(&o);
    assert_true(fabs(t.worst_db - 10 * log10((double)x * (double)x / (d * d))) < 1e-9);
    assert_true(t.bound_db <= t.worst_db);
    x = share_of(6);
    y = share_of(6.1);
    for (size_t i = 0; i < 2; i++)
        add(&o, i, &x, &y, 1);
    t = get(&o);
    const double e = (double)x - (double)y;
    assert_true(t.worst_db > 60);
    assert_true(fabs(t.bound_db - 10 * log10(((1 - share) * (double)x * (double)x + share / 4) /
                                             ((1 - share) * e * e + share * change * change))) <
                1e-3);
}

/* Scores of classes that no sample shows are near nothing: an undecided sample would have more
 * signal there. */
TEST(undecided_samples_lift_no_slice_above_what_was_measured)
{
    float x[] = {1 - 2e-6f, 1e-6f, 1e-6f}, y[] = {1 - 3e-6f, 1e-6f, 2e-6f};
    qdq_compare_output o = {0};

    for (size_t i = 0; i < 4; i++)
        add(&o, i, x, y, 3);
    qdq_compare_tensor t = get(&o);
    assert_true(t.worst_db < 10 && t.bound_db <= t.worst_db);
}

TEST(outputs_that_are_no_shares_hide_nothing)
{
    static float x[300], y[300];
    float high[] = {0.1f, 1.5f}, high_b[] = {0.2f, 1.5f};
    qdq_compare_output many = {0}, above = {0}, equal = {0};

    for (int i = 0; i < 300; i++) {
        x[i] = 0.001f;
        y[i] = 0.002f;
    }
    for (size_t i = 0; i < 2; i++) {
        add(&many, i, x, y, 300);
        add(&above, i, high, high_b, 2);
        add(&equal, i, x, x, 2);
    }
    qdq_compare_tensor t = get(&many);
    assert_true(fabs(t.bound_db - t.worst_db) < 1e-9);
    t = get(&above);
    assert_true(fabs(t.bound_db - t.worst_db) < 1e-9);
    assert_true(get(&equal).bound_db == INFINITY);
}

TEST(elements_that_are_rounded_to_0_or_1_or_are_not_finite_do_no_harm)
{
    float x[] = {0, 1}, y[] = {0, 1}, z[] = {NAN, 1}, u[] = {1, 0};
    qdq_compare_output o = {0}, bad = {0}, turned = {0};

    for (size_t i = 0; i < 3; i++) {
        add(&o, i, x, y, 2);
        add(&bad, i, x, i == 1 ? z : y, 2);
        add(&turned, i, x, i == 1 ? u : y, 2);
    }
    assert_true(get(&o).bound_db == INFINITY);
    assert_true(get(&bad).bound_db == -INFINITY);
    assert_true(isfinite(get(&turned).bound_db));
}
