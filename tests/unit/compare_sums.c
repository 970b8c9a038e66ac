/* The sums behind a comparison, checked against numbers that can be worked out by hand. */
#include <math.h>

#include "quant/compare/compare_stat.h"
#include "support/test.h"

static qdq_array floats(float *x, int64_t n)
{
    return (qdq_array){
        .elem = QDQ_FLOAT, .rank = 1, .dim = {n}, .data = x, .bytes = (size_t)n * sizeof *x};
}

static qdq_compare_tensor compared(float *x, float *y, int64_t n)
{
    qdq_compare_stat s = {0};
    qdq_compare_tensor t = {0};
    qdq_array a = floats(x, n), b = floats(y, n);

    qdq_compare_stat_add(&s, &a, &b);
    qdq_compare_stat_result(&s, &t);
    return t;
}

#define assert_near(x, want) assert_true(fabs((x) - (want)) < 1e-9)

TEST(a_tenth_of_noise_is_twenty_decibels)
{
    float x[] = {10, -10, 10, -10}, y[] = {11, -11, 9, -9};
    qdq_compare_tensor t = compared(x, y, 4);

    assert_near(t.sqnr_db, 20);
    assert_near(t.max_abs, 1);
    assert_near(t.cosine, 400 / (20 * sqrt(404)));
    assert_int_equal(t.elements, 4);
}

TEST(equal_is_infinitely_good_and_cosine_one)
{
    float x[] = {1, -2, 3};
    qdq_compare_tensor t = compared(x, x, 3);

    assert_true(isinf(t.sqnr_db) && t.sqnr_db > 0);
    assert_true(t.cosine == 1);
    assert_true(t.max_abs == 0);
}

TEST(zero_everywhere_proves_nothing)
{
    float zero[] = {0, 0}, x[] = {1, 2};
    qdq_compare_tensor t = compared(zero, zero, 2);

    assert_true(isnan(t.sqnr_db) && isnan(t.cosine));
    t = compared(zero, x, 2);
    assert_true(isnan(t.sqnr_db) && isnan(t.cosine) && t.max_abs == 2);
    t = compared(x, zero, 2); /* all signal lost: 0 dB */
    assert_true(t.sqnr_db == 0 && isnan(t.cosine));
}

TEST(equal_infinities_count_as_equal)
{
    float x[] = {-INFINITY, 1, NAN}, y[] = {-INFINITY, 1, NAN};
    qdq_compare_tensor t = compared(x, y, 3);

    assert_true(isinf(t.sqnr_db) && t.sqnr_db > 0 && t.max_abs == 0);
    assert_int_equal(t.elements, 3);
}

TEST(one_infinity_makes_the_difference_infinite)
{
    float x[] = {5, 1}, y[] = {INFINITY, 1}, z[] = {NAN, 1};

    qdq_compare_tensor t = compared(x, y, 2);
    assert_true(isinf(t.sqnr_db) && t.sqnr_db < 0 && isnan(t.cosine) && isinf(t.max_abs));
    t = compared(x, z, 2);
    assert_true(isinf(t.sqnr_db) && t.sqnr_db < 0);
}

TEST(the_range_reaches_to_zero_and_unequal_elements_are_counted)
{
    float x[] = {3, 5, 4, NAN, INFINITY}, y[] = {3, 6, 4, NAN, INFINITY}, low[] = {-3, -5, -4},
          both[] = {-1, 2, 0};
    qdq_compare_tensor t = compared(x, y, 5);

    assert_true(t.range == 5);
    assert_int_equal(t.unequal, 1);
    assert_int_equal(t.elem, QDQ_FLOAT);
    assert_true(compared(low, low, 3).range == 5);
    t = compared(both, low, 3);
    assert_true(t.range == 3);
    assert_int_equal(t.unequal, 3);
}

TEST(integers_beyond_double_are_told_apart)
{
    int64_t x[] = {1, INT64_MAX, INT64_MIN}, y[] = {2, INT64_MAX - 1, INT64_MIN};
    uint64_t u[] = {UINT64_MAX}, v[] = {UINT64_MAX - 1};
    qdq_array a = {.elem = QDQ_INT64, .rank = 1, .dim = {3}, .data = x, .bytes = sizeof x}, b = a;
    qdq_array c = {.elem = QDQ_UINT64, .rank = 1, .dim = {1}, .data = u, .bytes = sizeof u}, d = c;
    qdq_compare_stat s = {0}, wide = {0};

    b.data = y;
    d.data = v;
    qdq_compare_stat_add(&s, &a, &b);
    assert_int_equal(s.unequal, 2);
    qdq_compare_stat_add(&wide, &c, &d);
    assert_int_equal(wide.unequal, 1);
}

TEST(sums_do_not_lose_small_terms)
{
    enum { n = 1 << 20 };
    static float x[n], y[n];

    for (int i = 0; i < n; i++) {
        x[i] = 1;
        y[i] = 1 + 0x1p-12f;
    }
    assert_near(compared(x, y, n).sqnr_db, 20 * log10(4096));
}

TEST(sums_go_on_over_samples)
{
    float x[] = {10}, y[] = {11}, z[] = {9};
    qdq_compare_stat s = {0};
    qdq_compare_tensor t;
    qdq_array a = floats(x, 1), b = floats(y, 1), c = floats(z, 1);

    qdq_compare_stat_add(&s, &a, &b);
    qdq_compare_stat_add(&s, &a, &c);
    qdq_compare_stat_result(&s, &t);
    assert_near(t.sqnr_db, 20);
    assert_int_equal(t.elements, 2);
}

TEST(types_other_than_float_are_compared_by_value)
{
    double d[] = {1, 2};
    uint16_t h[] = {0x3c00, 0x4000}; /* 1, 2 in float16 */
    int64_t l[] = {1, 2};
    uint64_t u[] = {1, UINT64_MAX};
    qdq_array of[] = {{.elem = QDQ_DOUBLE, .rank = 1, .dim = {2}, .data = d, .bytes = 16},
                      {.elem = QDQ_FLOAT16, .rank = 1, .dim = {2}, .data = h, .bytes = 4},
                      {.elem = QDQ_INT64, .rank = 1, .dim = {2}, .data = l, .bytes = 16}};

    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++) {
            qdq_compare_stat s = {0};

            qdq_compare_stat_add(&s, &of[i], &of[k]);
            assert_near(s.ab, 5);
            assert_true(s.dd == 0);
        }
    }
    qdq_array big = {.elem = QDQ_UINT64, .rank = 1, .dim = {2}, .data = u, .bytes = 16};
    qdq_compare_stat s = {0};
    qdq_compare_stat_add(&s, &big, &big);
    assert_true(s.aa > 3e38 && s.dd == 0);
}

TEST(top1_counts_rows_and_the_first_of_equals_wins)
{
    float x[] = {1, 3, 2, 5, 5, 4, 0, 0, 9, NAN, 1, 2},
          y[] = {0, 9, 1, 4, 4, 5, 1, 2, 3, NAN, 1, 2};
    int64_t labels[] = {1, 2, 2, 0};
    qdq_array a = {.elem = QDQ_FLOAT, .rank = 2, .dim = {4, 3}, .data = x, .bytes = sizeof x};
    qdq_array b = a;
    qdq_top1 t = {0};

    b.data = y;
    assert_int_equal(qdq_top1_rows(&a), 4);
    qdq_top1_add(&t, &a, &b, labels);
    assert_int_equal(t.rows, 4);
    /* rows 0 and 2; row 1 is 0 against 2, a row with NaN agrees with nothing */
    assert_int_equal(t.same, 2);
    assert_int_equal(t.labelled, 4);
    assert_int_equal(t.right_a, 2);
    assert_int_equal(t.right_b, 3);
    qdq_top1_add(&t, &a, &b, NULL);
    assert_int_equal(t.rows, 8);
    assert_int_equal(t.labelled, 4);
}

/* Rows of RMS 1, whose best two may differ by 0.141; b chooses the other. */
TEST(a_choice_that_scores_nearly_as_high_is_a_tie)
{
    float x[] = {1.4F, 0.2F, 1.36F, 0.4F, 1.4F, 0.3F, 1.25F, 0.6F, 1.4F, 0.2F, 1.36F, NAN},
          y[] = {1, 0, 2, 0, 1, 0, 2, 0, 1, 0, 2, 0};
    qdq_array a = {.elem = QDQ_FLOAT, .rank = 2, .dim = {3, 4}, .data = x, .bytes = sizeof x};
    qdq_array b = a;
    qdq_top1 t = {0};

    b.data = y;
    qdq_top1_add(&t, &a, &b, NULL);
    assert_int_equal(t.rows, 3);
    assert_int_equal(t.same, 0);
    /* row 0; in row 1 the best two are 0.15 apart, and row 2 has NaN */
    assert_int_equal(t.close, 1);
    qdq_top1_add(&t, &a, &a, NULL);
    assert_int_equal(t.same, 2);
    assert_int_equal(t.close, 1);
}

TEST(an_axis_without_a_choice_has_no_rows)
{
    qdq_array a = {.elem = QDQ_FLOAT, .rank = 2, .dim = {4, 1}};

    assert_int_equal(qdq_top1_rows(&a), 0);
    a.rank = 0;
    assert_int_equal(qdq_top1_rows(&a), 0);
    a = (qdq_array){.elem = QDQ_STRING, .rank = 1, .dim = {4}};
    assert_int_equal(qdq_top1_rows(&a), 0);
}
