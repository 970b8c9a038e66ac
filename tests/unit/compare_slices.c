/* Slices of outputs: what an SQNR over all of a tensor hides, and how far it can be trusted. */
#include <math.h>
#include <stdlib.h>

#include "quant/compare/compare_output.h"
#include "support/test.h"

static qdq_error err;

#define assert_near(x, want) assert_true(fabs((x) - (want)) < 1e-9)

/* An array of rank 1 to 5, as a list of dims that ends with 0, or a scalar. */
static qdq_array array_of(float *x, const int64_t *dim)
{
    qdq_array a = {.elem = QDQ_FLOAT, .data = x};

    for (; dim[a.rank] != 0; a.rank++)
        a.dim[a.rank] = dim[a.rank];
    a.bytes = (size_t)qdq_array_count(&a) * sizeof *x;
    return a;
}

static void add(qdq_compare_output *o, size_t sample, int64_t batch, float *x, float *y,
                const int64_t *dim)
{
    qdq_array a = array_of(x, dim), b = array_of(y, dim);

    assert_ok(qdq_compare_output_add(o, sample, batch, &a, &b, NULL, &err));
}

static qdq_compare_tensor get(qdq_compare_output *o)
{
    qdq_compare_tensor t = {0};

    assert_ok(qdq_compare_output_get(o, &t, &err));
    return t;
}

static qdq_compare_tensor compared(float *x, float *y, const int64_t *dim)
{
    qdq_compare_output o = {0};

    add(&o, 0, 1, x, y, dim);
    qdq_compare_tensor t = get(&o);
    qdq_compare_output_free(&o);
    return t;
}

#define DIMS(...) ((const int64_t[]){__VA_ARGS__, 0})

/* Four coordinates to 640 and eighty scores to 1 in one tensor, with one uint8 scale. */
TEST(scores_that_are_all_lost_are_seen_beside_boxes_in_pixels)
{
    enum { ROWS = 84, COLUMNS = 200 };
    static float x[ROWS * COLUMNS], y[ROWS * COLUMNS];
    const float scale = 640.0f / 255;
    uint32_t random = 1;

    for (int i = 0; i < ROWS * COLUMNS; i++) {
        random = random * 1664525u + 1013904223u;
        const float u = (float)(random >> 8) / 0x1p24f;

        x[i] = i < 4 * COLUMNS ? 640 * u : powf(u, 24); /* few scores are high */
        y[i] = roundf(x[i] / scale) * scale;
    }
    qdq_compare_tensor t = compared(x, y, DIMS(1, ROWS, COLUMNS));
    assert_true(t.sqnr_db > 50 && t.cosine > 0.9999); /* looks fine */
    assert_near(t.worst_db, 0);                       /* and every score is 0 */
    assert_int_equal(t.axis, 1);
    assert_true(t.index >= 4 && t.index < ROWS);
}

/* --- which axis ------------------------------------------------------------------------------- */

TEST(the_axis_with_the_fewest_entries_above_one_is_taken)
{
    static float x[8 * 9 * 8 * 8 * 9], y[8 * 9 * 8 * 8 * 9];
    static const struct {
        int64_t dim[6];
        int64_t batch;
        int axis;
    } cases[] = {
        {{0}, 1, -1},
        {{1, 0}, 1, -1},
        {{3, 0}, 1, 0},
        {{3, 0}, 3, -1},
        {{1, 4, 0}, 1, 1},
        {{4, 3, 0}, 4, 1},
        {{3, 4, 0}, 1, 0},
        {{2, 1, 128, 0}, 0, 0},
        {{1, 1000, 0}, 1, -1},
        {{1, 129, 128, 0}, 1, 2},
        {{1, 5, 5, 0}, 1, 1}, /* of equal ones the first */
        {{1, 1, 1, 6, 0}, 1, 3},
        {{1, 9, 8, 7, 9, 0}, 1, 3},
    };

    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        qdq_compare_output o = {0};
        qdq_array a = array_of(x, cases[i].dim);
        const int64_t n = qdq_array_count(&a);

        for (int64_t k = 0; k < n; k++) {
            x[k] = 1;
            y[k] = 1.1f;
        }
        y[n - 1] = 2; /* the last slice is worst */
        add(&o, 0, cases[i].batch, x, y, cases[i].dim);
        qdq_compare_tensor t = get(&o);
        assert_int_equal(t.axis, cases[i].axis);
        if (t.axis >= 0)
            assert_int_equal(t.index, cases[i].dim[t.axis] - 1);
        else
            assert_true(t.worst_db == t.sqnr_db);
        qdq_compare_output_free(&o);
    }
}

TEST(an_axis_of_other_length_in_a_later_sample_is_none)
{
    float x[] = {1, 1, 1, 1, 1, 1, 1, 1}, y[] = {1, 1, 1, 1, 1, 1, 1, 2};
    qdq_compare_output o = {0};

    add(&o, 0, 1, x, y, DIMS(1, 2, 4));
    assert_int_equal(get(&o).axis, 1);
    add(&o, 1, 1, x, y, DIMS(1, 1, 4));
    qdq_compare_tensor t = get(&o);
    assert_int_equal(t.axis, 2);
    assert_int_equal(t.index, 3);
    add(&o, 2, 1, x, y, DIMS(8));
    assert_int_equal(get(&o).axis, -1);
    assert_near(get(&o).sqnr_db, 10 * log10(20 / 2.0));
    qdq_compare_output_free(&o);
}

TEST(the_batch_is_the_first_axis_of_all_inputs)
{
    const qdq_array window = {.rank = 2, .dim = {1, 576}}, memory = {.rank = 3, .dim = {2, 1, 128}};
    const qdq_array rate = {.rank = 0}, eight = {.rank = 2, .dim = {8, 3}};
    const qdq_named_array speech[] = {{"input", window}, {"state", memory}, {"sr", rate}};
    const qdq_named_array rows[] = {{"a", eight}, {"sr", rate}, {"b", eight}};

    assert_int_equal(qdq_slices_batch(speech, 3), 0);
    assert_int_equal(qdq_slices_batch(rows, 3), 8);
    assert_int_equal(qdq_slices_batch(speech + 2, 1), 0);
    assert_int_equal(qdq_slices_batch(NULL, 0), 0);
}

/* --- groups ----------------------------------------------------------------------------------- */

/* Slices of one element, each off by 1. */
static qdq_compare_tensor of_ranges(float *x, int n)
{
    float y[16];

    for (int i = 0; i < n; i++)
        y[i] = x[i] + 1;
    return compared(x, y, DIMS(1, n));
}

TEST(neighbours_within_a_factor_of_eight_share_their_mean_power)
{
    float alike[] = {100, 13}, apart[] = {100, 12.5f}, chain[] = {1, 7, 49};

    qdq_compare_tensor t = of_ranges(alike, 2);
    assert_near(t.worst_db, 10 * log10((100 * 100 + 13 * 13) / 2.0));
    t = of_ranges(apart, 2); /* and they sum up to more than the group of the other */
    assert_near(t.worst_db, 20 * log10(12.5));
    assert_int_equal(t.index, 1);
    t = of_ranges(chain, 3);
    assert_near(t.worst_db, 10 * log10((1 + 49 + 2401) / 3.0));
}

TEST(like_slices_that_are_no_neighbours_are_two_groups)
{
    float range[] = {1, 100, 2};

    assert_near(of_ranges(range, 3).worst_db, 0);
    assert_int_equal(of_ranges(range, 3).index, 0);
}

/* They have no range of their own: the lesser neighbour's power counts, and they do not make its
 * mean less. */
TEST(a_slice_that_is_zero_everywhere_belongs_to_the_lesser_neighbour)
{
    float x[] = {600, 0, 0, 2, 0}, y[] = {600, 0, 1, 2, 0};

    qdq_compare_tensor t = compared(x, y, DIMS(1, 5));
    assert_near(t.worst_db, 10 * log10(4));
    assert_int_equal(t.index, 2);
    float u[] = {0, 0, 3}, v[] = {3, 0, 3};
    t = compared(u, v, DIMS(1, 3));
    assert_near(t.worst_db, 0);
    assert_int_equal(t.index, 0);
}

TEST(an_output_that_is_zero_everywhere_has_no_worst_slice)
{
    float x[] = {0, 0}, y[] = {0, 1};

    qdq_compare_tensor t = compared(x, y, DIMS(1, 2));
    assert_true(isnan(t.worst_db) && isnan(t.bound_db) && isnan(t.half_agreement));
    assert_int_equal(t.axis, -1);
}

TEST(a_slice_that_is_not_finite_is_the_worst)
{
    float x[] = {1, 2, -INFINITY, 4}, y[] = {1, NAN, -INFINITY, 4};

    qdq_compare_tensor t = compared(x, y, DIMS(1, 4));
    assert_true(isinf(t.worst_db) && t.worst_db < 0);
    t = compared(x, x, DIMS(1, 4));
    assert_true(isinf(t.worst_db) && t.worst_db > 0);
}

/* --- the bound -------------------------------------------------------------------------------- */

TEST(the_bound_of_two_samples_is_what_the_formula_says)
{
    float x[] = {10, 10}, y[] = {11, 10}, z[] = {12, 10};
    qdq_compare_output o = {0};

    add(&o, 0, 1, x, y, DIMS(1, 2));
    assert_true(isnan(get(&o).bound_db)); /* one sample has none */
    add(&o, 1, 1, x, z, DIMS(1, 2));
    qdq_compare_tensor t = get(&o);
    /* slice 0: 200 / 5; without one sample 100 / 4 or 100 / 1. Its group's mean power is the
     * same. */
    assert_near(t.worst_db, 10 * log10(40));
    assert_near(t.bound_db, 20 * log10(40) - 5 * log10(25 * 100) - 3.078 * sqrt(2) * 5 * log10(4));
    qdq_compare_output_free(&o);
}

TEST(an_error_that_one_sample_holds_alone_does_not_make_the_bound_infinite)
{
    const double without[] = {20, 20, 20, INFINITY};

    /* 20, 20, 20, 30: mean 22.5, sum of squares 75, times 3 / 4 */
    assert_near(qdq_jackknife_bound(20, without, 4), 4 * 20 - 3 * 22.5 - 1.638 * sqrt(2 * 56.25));
    assert_true(isnan(qdq_jackknife_bound(20, without, 1)));
    assert_true(qdq_jackknife_bound(INFINITY, without, 4) == INFINITY);
    assert_true(qdq_jackknife_bound(-INFINITY, without, 4) == -INFINITY);
}

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

static double squared_error(uint32_t *random, bool is_normal, double spread)
{
    const double x = gaussian(random);

    return is_normal ? fmax(0.01, 1 + spread * x) : exp(spread * log(10) / 10 * x);
}

/* How often the SQNR of n others is at or above the bound of n samples, in %; *far: how often 3 dB
 * below it. */
static double coverage(bool is_normal, double spread, size_t n, double *far)
{
    enum { DRAWS = 2000 };
    uint32_t random = 7;
    int holds = 0, is_far = 0;

    for (int draw = 0; draw < DRAWS; draw++) {
        double error[32], without[32], sum = 0, others = 0;

        for (size_t i = 0; i < n; i++) {
            sum += error[i] = squared_error(&random, is_normal, spread);
            others += squared_error(&random, is_normal, spread);
        }
        for (size_t i = 0; i < n; i++)
            without[i] = -10 * log10((sum - error[i]) / (double)(n - 1));
        const double above = qdq_jackknife_bound(-10 * log10(sum / (double)n), without, n) +
                             10 * log10(others / (double)n);
        holds += above <= 0;
        is_far += above > 3;
    }
    *far = is_far * 100.0 / DRAWS;
    return holds * 100.0 / DRAWS;
}

/* Normal errors, 0.2 of their mean wide, and log-normal ones, 2 and 5 dB wide: nine of ten, or 83
 * of 100 where one error in a hundred is fifteen times the median. */
TEST(other_samples_are_above_the_bound_in_nine_draws_of_ten)
{
    const size_t sizes[] = {4, 8, 16, 32};

    for (size_t k = 0; k < QDQ_COUNT(sizes); k++) {
        double far;

        assert_true(fabs(coverage(true, 0.2, sizes[k], &far) - 90) < 4 && far == 0);
        assert_true(fabs(coverage(false, 2, sizes[k], &far) - 90) < 4 && far < 0.5);
        assert_true(fabs(coverage(false, 5, sizes[k], &far) - 87) < 5 && far < 6);
    }
}

enum { SLICES = 128, DRAWS = 200 };

typedef struct slice_errors {
    /* log-normal, dB */
    double spread;
    /* this share of pairs of sample and slice is 12 dB worse, in all slices or in the first */
    double rare;
    bool in_first;
} slice_errors;

static void add_errors(qdq_compare_output *o, size_t sample, const slice_errors *e,
                       uint32_t *random)
{
    float x[SLICES], y[SLICES];

    for (size_t k = 0; k < SLICES; k++) {
        const double error = squared_error(random, false, e->spread);
        const bool is_rare = uniform(random) < e->rare && (k == 0 || !e->in_first);

        x[k] = 1;
        y[k] = (float)(1 + 0.01 * sqrt(is_rare ? 16 * error : error));
    }
    add(o, sample, 1, x, y, DIMS(1, SLICES));
}

/* How often the worst slice of n other samples is at or above the bound of n samples, in %; *gap:
 * how far above it, in the mean, dB. */
static double slice_coverage(const slice_errors *e, size_t n, double *gap)
{
    uint32_t random = 11;
    int holds = 0;

    *gap = 0;
    for (int draw = 0; draw < DRAWS; draw++) {
        qdq_compare_output these = {0}, others = {0};

        for (size_t i = 0; i < n; i++) {
            add_errors(&these, i, e, &random);
            add_errors(&others, i, e, &random);
        }
        const double above = get(&others).worst_db - get(&these).bound_db;
        holds += above >= 0;
        *gap += above / DRAWS;
        qdq_compare_output_free(&these);
        qdq_compare_output_free(&others);
    }
    return holds * 100.0 / DRAWS;
}

/* Tokens of a transformer: what is bounded is the worst of 128 slices. The worst of 128 bounds
 * would be 16 dB below it in the second case. */
TEST(the_bound_of_many_like_slices_is_not_the_worst_of_their_bounds)
{
    const slice_errors even = {.spread = 2}, heavy = {.spread = 2, .rare = 0.01};
    double gap;

    assert_true(slice_coverage(&even, 8, &gap) >= 90 && gap < 2);
    assert_true(slice_coverage(&heavy, 8, &gap) >= 90 && gap < 4);
    assert_true(slice_coverage(&heavy, 16, &gap) >= 90 && gap < 4);
}

/* 16 samples have no such error in 19 % of draws; nothing warns of it then. */
TEST(a_slice_with_rare_errors_of_its_own_is_covered_where_samples_show_them)
{
    const slice_errors first = {.spread = 2, .rare = 0.1, .in_first = true};
    double gap;

    assert_true(slice_coverage(&first, 16, &gap) >= 70);
    assert_true(slice_coverage(&first, 32, &gap) >= 80);
}

TEST(samples_beyond_the_sixty_fourth_share_sums)
{
    qdq_compare_output o = {0}, backwards = {0};
    float x[] = {1, 1}, y[2];

    for (size_t i = 0; i < 1000; i++) {
        y[0] = 1 + 0.001f * (float)(i % 64);
        y[1] = 1.01f;
        add(&o, i, 1, x, y, DIMS(1, 2));
    }
    for (size_t i = 1000; i-- > 0;) {
        y[0] = 1 + 0.001f * (float)(i % 64);
        add(&backwards, i, 1, x, y, DIMS(1, 2));
    }
    qdq_compare_tensor t = get(&o), u = get(&backwards);
    assert_true(t.bound_db < t.worst_db && t.bound_db > t.worst_db - 1);
    assert_near(t.worst_db, u.worst_db);
    assert_near(t.bound_db, u.bound_db);
    qdq_compare_output_free(&o);
    qdq_compare_output_free(&backwards);
}

/* --- agreement -------------------------------------------------------------------------------- */

static double top1_of(float *x, const int64_t *dim)
{
    return compared(x, x, dim).top1;
}

TEST(only_scores_of_classes_have_a_top_1)
{
    float share[] = {0.25f, 0.75f, 0.5f, 0.5f}, logarithm[] = {-0.6931472f, -0.6931472f};
    float box[] = {10, 20, 300, 400}, opinion[] = {1.5f, 2.5f, 3.5f};
    float logits[] = {-1, 2, -3, 4, 5, -6, 7, 8, -9, 0}, point[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 0};

    assert_near(top1_of(share, DIMS(1, 2, 2)), 1);
    assert_near(top1_of(logarithm, DIMS(1, 2)), 1);
    assert_near(top1_of(logits, DIMS(1, 10)), 1);
    assert_near(top1_of(logits, DIMS(10)), 1);
    assert_true(isnan(top1_of(logits, DIMS(1, 1, 10)))); /* a feature map? */
    assert_true(isnan(top1_of(logits, DIMS(2, 5))));
    assert_true(isnan(top1_of(box, DIMS(1, 4))));
    assert_true(isnan(top1_of(opinion, DIMS(1, 3))));
    assert_true(isnan(top1_of(point, DIMS(1, 10))));
}

TEST(agreement_at_one_half_is_counted_where_floats_are_in_the_unit_interval)
{
    float x[] = {0, 0.4f, 0.6f, 1}, y[] = {0, 0.6f, 0.6f, 2}, odd[] = {0, 0.4f, 0.6f, INFINITY};
    qdq_compare_tensor t = compared(x, y, DIMS(1, 4));

    assert_near(t.half_agreement, 0.75);
    assert_true(isnan(compared(y, x, DIMS(1, 4)).half_agreement));
    assert_true(isnan(compared(odd, odd, DIMS(1, 4)).half_agreement));
    assert_near(compared(x, odd, DIMS(1, 4)).half_agreement, 0.75);
}
