/* quant_observer.c - streaming statistics. */
#include "quant/calib/observer.h"

#include <math.h>

#include "base/random.h"
#include "support/test.h"

static const qdq_qscheme int8_symmetric = {.type = QDQ_INT8, .symmetric = true};
static const qdq_qscheme uint8_asymmetric = {.type = QDQ_UINT8};

static void assert_range(const qdq_observer *o, double low, double high)
{
    qdq_range have;

    assert_false(qdq_observer_empty(o));
    assert_true(qdq_observer_range(o, &int8_symmetric, &have, NULL));
    if (fabs(have.low - low) > 1e-6 || fabs(have.high - high) > 1e-6)
        fail_msg("want [%g, %g], got [%g, %g]", low, high, have.low, have.high);
}

TEST(minmax_over_batches)
{
    const float first[] = {-1, 2}, second[] = {-3, 1};
    qdq_observer *o = qdq_observer_new(QDQ_METHOD_MAX, 0);

    assert_true(qdq_observer_add(o, first, 2));
    assert_true(qdq_observer_add(o, second, 2));
    assert_range(o, -3, 2);
    qdq_observer_free(o);
}

TEST(moving_average)
{
    const float first[] = {-1, 2}, second[] = {-3, 1};
    qdq_observer *o = qdq_observer_new(QDQ_METHOD_MOVING_AVERAGE, 0);

    assert_true(qdq_observer_add(o, first, 2));
    assert_true(qdq_observer_add(o, second, 2));
    assert_range(o, -1.02, 1.99);
    qdq_observer_free(o);
}

TEST(order_and_split_of_the_data_do_not_matter_for_minmax)
{
    const float x[] = {0.5f, -2, 7, 1, -9, 3};
    qdq_observer *whole = qdq_observer_new(QDQ_METHOD_MAX, 0),
                 *parts = qdq_observer_new(QDQ_METHOD_MAX, 0);

    assert_true(qdq_observer_add(whole, x, 6));
    for (int i = 5; i >= 0; i--)
        assert_true(qdq_observer_add(parts, x + i, 1));
    assert_range(whole, -9, 7);
    assert_range(parts, -9, 7);
    qdq_observer_free(whole);
    qdq_observer_free(parts);
}

/* the reference takes the largest float for them */
TEST(nan_and_infinity_are_counted_and_left_out)
{
    const float bad[] = {NAN, INFINITY}, mixed[] = {1, -INFINITY};
    qdq_range r;

    for (int method = QDQ_METHOD_MAX; method <= QDQ_METHOD_AUTO; method++) {
        qdq_observer *o = qdq_observer_new((qdq_method)method, 99.999);

        assert_true(qdq_observer_add(o, bad, 2));
        assert_true(qdq_observer_empty(o));
        assert_true(qdq_observer_add_held_back(o, mixed, 2));
        assert_false(qdq_observer_empty(o));
        assert_true(qdq_observer_range(o, &uint8_asymmetric, &r, NULL));
        assert_true(r.low >= 0 && r.high > 0.999 && r.high <= 1);
        assert_int_equal(qdq_observer_nonfinite(o), 3);
        qdq_observer_free(o);
    }
}

TEST(a_group_has_the_range_of_all_its_members)
{
    static const qdq_method methods[] = {
        QDQ_METHOD_MAX, QDQ_METHOD_MOVING_AVERAGE, QDQ_METHOD_PERCENTILE,    QDQ_METHOD_ENTROPY,
        QDQ_METHOD_MSE, QDQ_METHOD_AUTO,           QDQ_METHOD_ENTROPY_COMPAT};
    const float first[] = {-1, 4}, second[] = {-2, 3};

    for (size_t i = 0; i < 7; i++) {
        qdq_observer *r0 = qdq_observer_new(methods[i], 100),
                     *cc = qdq_observer_new(methods[i], 100);
        qdq_qparam p;
        qdq_range r;

        assert_true(qdq_observer_add(r0, first, 2));
        assert_true(qdq_observer_add(cc, second, 2));
        assert_true(qdq_observer_pool(r0, cc));
        assert_true(qdq_observer_range(r0, &int8_symmetric, &r, NULL));
        /* they may find a nicer step */
        if (methods[i] != QDQ_METHOD_MSE && methods[i] != QDQ_METHOD_AUTO) {
            assert_true(qdq_qparam_from_range(&int8_symmetric, r.low, r.high, &p));
            assert_float_equal(p.scale, 0.03149606f, 1e-8);
        }
        assert_true(r.high > 3.8 && r.high <= 4);
        qdq_observer_free(r0);
        qdq_observer_free(cc);
    }
}

/* The counts are added: a group of two halves is the whole. */
TEST(a_pooled_histogram_is_that_of_all_the_data)
{
    static const qdq_method methods[] = {QDQ_METHOD_PERCENTILE, QDQ_METHOD_ENTROPY, QDQ_METHOD_MSE,
                                         QDQ_METHOD_AUTO};
    enum { N = 4000 };
    float x[N];
    qdq_random random = qdq_random_new(5, NULL);

    for (size_t i = 0; i < N; i++)
        x[i] = qdq_random_normal(&random) * (i % 100 == 0 ? 8.0f : 1.0f);
    for (size_t i = 0; i < 4; i++) {
        qdq_observer *all = qdq_observer_new(methods[i], 99), *a = qdq_observer_new(methods[i], 99);
        qdq_observer *b = qdq_observer_new(methods[i], 99);
        qdq_range want, have;

        assert_true(qdq_observer_add(all, x, N / 2) &&
                    qdq_observer_add_held_back(all, x + N / 2, N / 2));
        assert_true(qdq_observer_add(a, x, N / 2) &&
                    qdq_observer_add_held_back(b, x + N / 2, N / 2));
        assert_true(qdq_observer_pool(a, b));
        assert_true(qdq_observer_range(all, &uint8_asymmetric, &want, NULL));
        assert_true(qdq_observer_range(a, &uint8_asymmetric, &have, NULL));
        assert_true(want.low == have.low && want.high == have.high);
        qdq_observer_free(all);
        qdq_observer_free(a);
        qdq_observer_free(b);
    }
}

/* One outlier among the first samples that never comes again: keeping it in range costs every other
 * value. */
TEST(auto_takes_what_serves_the_samples_that_are_held_back)
{
    enum { N = 5000 };
    float x[N];
    qdq_random random = qdq_random_new(6, NULL);
    qdq_observer *o = qdq_observer_new(QDQ_METHOD_AUTO, 99.9);
    qdq_method used;
    qdq_range r;

    for (size_t i = 0; i < N; i++)
        x[i] = qdq_random_normal(&random);
    assert_true(qdq_observer_add_held_back(o, x, N));
    x[0] = 60;
    assert_true(qdq_observer_add(o, x, N));
    assert_true(qdq_observer_range(o, &int8_symmetric, &r, &used));
    assert_int_not_equal(used, QDQ_METHOD_MAX);
    assert_true(r.high < 30);
    qdq_observer_free(o);
}
