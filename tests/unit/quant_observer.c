/* quant_observer.c - streaming statistics. */
#include <math.h>

#include "quant/observer.h"
#include "support/test.h"

static void assert_range(const qdq_observer *o, double low, double high)
{
    double have_low, have_high;

    assert_true(qdq_observer_range(o, &have_low, &have_high));
    if (fabs(have_low - low) > 1e-6 || fabs(have_high - high) > 1e-6)
        fail_msg("want [%g, %g], got [%g, %g]", low, high, have_low, have_high);
}

static void n15_minmax_over_batches(void **state)
{
    const float first[] = {-1, 2}, second[] = {-3, 1};
    qdq_observer *o = qdq_observer_new(QDQ_METHOD_MAX);

    (void)state;
    qdq_observer_add(o, first, 2);
    qdq_observer_add(o, second, 2);
    assert_range(o, -3, 2);
    qdq_observer_free(o);
}

static void n15_moving_average(void **state)
{
    const float first[] = {-1, 2}, second[] = {-3, 1};
    qdq_observer *o = qdq_observer_new(QDQ_METHOD_MOVING_AVERAGE);

    (void)state;
    qdq_observer_add(o, first, 2);
    qdq_observer_add(o, second, 2);
    assert_range(o, -1.02, 1.99);
    qdq_observer_free(o);
}

static void order_and_split_of_the_data_do_not_matter_for_minmax(void **state)
{
    const float x[] = {0.5f, -2, 7, 1, -9, 3};
    qdq_observer *whole = qdq_observer_new(QDQ_METHOD_MAX), *parts = qdq_observer_new(QDQ_METHOD_MAX);

    (void)state;
    qdq_observer_add(whole, x, 6);
    for (int i = 5; i >= 0; i--)
        qdq_observer_add(parts, x + i, 1);
    assert_range(whole, -9, 7);
    assert_range(parts, -9, 7);
    qdq_observer_free(whole);
    qdq_observer_free(parts);
}

static void nan_and_infinity_are_counted_and_left_out(void **state)
{
    const float bad[] = {NAN, INFINITY}, mixed[] = {1, -INFINITY};
    double low, high;

    (void)state;
    for (int i = 0; i < 2; i++) {
        qdq_observer *o = qdq_observer_new(i == 0 ? QDQ_METHOD_MAX : QDQ_METHOD_MOVING_AVERAGE);

        qdq_observer_add(o, bad, 2);
        assert_false(qdq_observer_range(o, &low, &high));
        qdq_observer_add(o, mixed, 2);
        assert_range(o, 1, 1);
        assert_int_equal(qdq_observer_nonfinite(o), 3);
        qdq_observer_free(o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(n15_minmax_over_batches),
        cmocka_unit_test(n15_moving_average),
        cmocka_unit_test(order_and_split_of_the_data_do_not_matter_for_minmax),
        cmocka_unit_test(nan_and_infinity_are_counted_and_left_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
