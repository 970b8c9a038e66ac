/* quant_threshold.c - ranges out of histograms: percentile, entropy, least squares. */
#include "quant/calib/threshold.h"

#include <math.h>

#include "base/random.h"
#include "support/test.h"

static const qdq_qscheme int8_symmetric = {.type = QDQ_INT8, .symmetric = true};
static const qdq_qscheme uint8_asymmetric = {.type = QDQ_UINT8};
static const qdq_qscheme int4_symmetric = {.type = QDQ_INT4, .symmetric = true};
static const qdq_qscheme int16_symmetric = {.type = QDQ_INT16, .symmetric = true};

static qdq_histogram *histogram_of(const float *x, size_t n)
{
    qdq_histogram *h = malloc(sizeof *h);

    assert_non_null(h);
    qdq_histogram_init(h);
    qdq_histogram_add(h, x, n);
    return h;
}

/* Normal values, and with `relu` the negative ones are 0; then `outlier`, unless that is 0. */
static qdq_histogram *normal(size_t n, bool relu, float outlier)
{
    float *x = malloc((n + 1) * sizeof *x);
    qdq_random r = qdq_random_new(7, "normal");

    assert_non_null(x);
    for (size_t i = 0; i < n; i++) {
        x[i] = qdq_random_normal(&r);
        x[i] = relu && x[i] < 0 ? 0 : x[i];
    }
    x[n] = outlier;
    qdq_histogram *h = histogram_of(x, n + (outlier != 0));
    free(x);
    return h;
}

static void assert_near(double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance))
        fail_msg("want %g +- %g, got %g", want, tolerance, got);
}

/* --- percentile ------------------------------------------------------------------------------- */

/* 1 to 1000, each once: 99 percent are up to 990. */
TEST(percentile_of_magnitudes_and_of_either_side)
{
    float x[2000];

    for (int i = 0; i < 1000; i++) {
        x[i] = (float)(i + 1);
        x[1000 + i] = -(float)(i + 1) / 2;
    }
    qdq_histogram *up = histogram_of(x, 1000), *both = histogram_of(x, 2000);
    qdq_range r = qdq_threshold_percentile(up, &int8_symmetric, 99);
    assert_near(r.high, 990, 1.1);
    assert_true(r.low == -r.high);
    r = qdq_threshold_percentile(up, &uint8_asymmetric, 98);
    assert_near(r.high, 990, 1.1);
    assert_true(r.low == 0);
    r = qdq_threshold_percentile(both, &uint8_asymmetric, 98); /* 20 of 2000 on either side */
    assert_near(r.high, 980, 1.1);
    assert_near(r.low, -490, 1.1);
    free(up);
    free(both);
}

TEST(percentile_100_is_all_and_few_values_are_interpolated)
{
    const float x[] = {-3, 0, 1, 6};
    qdq_histogram *h = histogram_of(x, 4);
    qdq_range r = qdq_threshold_percentile(h, &uint8_asymmetric, 100);

    assert_true(r.low == -3 && r.high == 6);
    r = qdq_threshold_percentile(h, &uint8_asymmetric, 99.999);
    assert_near(r.low, -3, 0.01);
    assert_near(r.high, 6, 0.01);
    free(h);
}

/* Nine of ten values are zeros behind a ReLU: they count. */
TEST(percentile_counts_zeros)
{
    float x[1000] = {0};

    for (int i = 0; i < 100; i++)
        x[i] = (float)(i + 1);
    qdq_histogram *h = histogram_of(x, 1000);
    qdq_range r = qdq_threshold_percentile(h, &int8_symmetric, 95);
    assert_near(r.high, 50, 1.1);
    r = qdq_threshold_percentile(h, &int8_symmetric, 60);
    assert_true(r.high == 0);
    free(h);
}

/* --- entropy ---------------------------------------------------------------------------------- */

/* Divergence of the first `end` bins of magnitudes, term by term. */
static double naive_divergence(const double *count, size_t n, size_t end, size_t codes)
{
    double total = 0, window = 0, kl = 0;
    double p[QDQ_HISTOGRAM_SIDE], q[QDQ_HISTOGRAM_SIDE];

    for (size_t i = 0; i < n; i++)
        total += count[i];
    for (size_t i = 0; i < end; i++) {
        p[i] = count[i];
        window += count[i];
    }
    p[end - 1] += total - window;
    for (size_t j = 0; j < codes; j++) {
        size_t from = (size_t)((double)j * ((double)end / (double)codes));
        size_t to = j + 1 < codes ? (size_t)((double)(j + 1) * ((double)end / (double)codes)) : end;
        double mass = 0, filled = 0;
        for (size_t i = from; i < to; i++) {
            mass += count[i];
            filled += count[i] > 0;
        }
        for (size_t i = from; i < to; i++)
            q[i] = count[i] > 0 ? mass / filled : 0;
    }
    for (size_t i = 0; i < end; i++)
        if (p[i] > 0)
            kl += p[i] / total * log(p[i] / total / (q[i] / window));
    return kl;
}

TEST(entropy_finds_what_trying_every_window_finds)
{
    double count[QDQ_HISTOGRAM_SIDE];
    qdq_histogram *h = normal(20000, false, 11);
    size_t n = QDQ_HISTOGRAM_SIDE, best = 0;
    double least = INFINITY;
    qdq_range r;

    for (size_t i = 0; i < n; i++)
        count[i] = (double)(h->bin[QDQ_HISTOGRAM_SIDE + i] + h->bin[QDQ_HISTOGRAM_SIDE - 1 - i]);
    count[0] = count[1];
    while (count[n - 1] == 0)
        n--;
    for (size_t end = n; end >= 128; end--) {
        double kl = count[end - 1] > 0 ? naive_divergence(count, n, end, 128) : INFINITY;
        if (kl < least - 1e-9) {
            least = kl;
            best = end;
        }
    }
    assert_true(qdq_threshold_entropy(h, &int8_symmetric, &r));
    assert_near(r.high, ((double)best + 0.5) * qdq_histogram_width(h), 1e-9);
    assert_true(r.low == -r.high);
    assert_true(r.high < 6); /* the outlier is cut off */
    free(h);
}

/* Behind a ReLU more than half of the values are exact zeros, and the codes of uint8 have one side
 * alone. */
TEST(entropy_of_one_sided_values_does_not_see_the_zeros)
{
    qdq_histogram *h = normal(40000, true, 30);
    qdq_range with, without;

    assert_true(qdq_threshold_entropy(h, &uint8_asymmetric, &with));
    assert_true(with.low == 0);
    assert_true(with.high > 2 && with.high < 8);
    h->bin[QDQ_HISTOGRAM_BINS] *= 1000;
    assert_true(qdq_threshold_entropy(h, &uint8_asymmetric, &without));
    assert_true(with.high == without.high);
    free(h);
}

TEST(entropy_finds_a_bound_on_each_side)
{
    float x[30002];
    qdq_random r = qdq_random_new(3, NULL);
    qdq_range range;

    for (int i = 0; i < 30000; i++) {
        float v = qdq_random_normal(&r);
        x[i] = v < 0 ? v * 0.2f : v;
    }
    x[30000] = 25;
    x[30001] = -6;
    qdq_histogram *h = histogram_of(x, 30002);
    assert_true(qdq_threshold_entropy(h, &uint8_asymmetric, &range));
    assert_true(range.high > 2.5 && range.high < 10);
    assert_true(range.low > -3 && range.low < -0.4);
    free(h);
}

TEST(entropy_of_negative_values_alone_has_high_zero)
{
    float x[5000];
    qdq_random r = qdq_random_new(3, NULL);
    qdq_range range;

    for (int i = 0; i < 5000; i++)
        x[i] = -fabsf(qdq_random_normal(&r));
    x[0] = -100;
    qdq_histogram *h = histogram_of(x, 5000);
    assert_true(qdq_threshold_entropy(h, &uint8_asymmetric, &range));
    assert_true(range.high == 0);
    assert_true(range.low > -50 && range.low < -2);
    free(h);
}

/* --- least squares ---------------------------------------------------------------------------- */

static double error_with(const qdq_histogram *h, const qdq_qscheme *s, double low, double high)
{
    double error = 0;

    assert_true(qdq_threshold_error(h, s, (qdq_range){low, high}, &error));
    return error;
}

TEST(mse_is_not_beaten_by_any_bound_of_a_fine_grid)
{
    const qdq_qscheme *schemes[] = {&int8_symmetric, &int4_symmetric, &uint8_asymmetric};
    qdq_histogram *h = normal(20000, false, 9);
    qdq_range r;

    for (size_t i = 0; i < 3; i++) {
        assert_true(qdq_threshold_mse(h, schemes[i], &r));
        double found = error_with(h, schemes[i], r.low, r.high);
        assert_true(found <= error_with(h, schemes[i], (double)h->low, (double)h->high));
        for (double high = 0.05; high <= 9; high += 0.013) {
            double low = schemes[i]->symmetric ? -high : r.low;
            double error = error_with(h, schemes[i], low, high);
            if (error < found * 0.97)
                fail_msg("scheme %zu: %g at %g, but %g at %g", i, found, r.high, error, high);
        }
    }
    free(h);
}

/* Four bits have few codes, so more is cut off than with eight; with sixteen next to nothing. */
TEST(mse_knows_the_codes)
{
    qdq_histogram *h = normal(50000, false, 0);
    qdq_range four, eight, sixteen;

    assert_true(qdq_threshold_mse(h, &int4_symmetric, &four));
    assert_true(qdq_threshold_mse(h, &int8_symmetric, &eight));
    assert_true(qdq_threshold_mse(h, &int16_symmetric, &sixteen));
    assert_true(four.high < 0.8 * eight.high);
    assert_near(four.high, 2.6, 0.35); /* the best clip of a normal distribution at 4 bits */
    assert_true(sixteen.high >= eight.high);
    free(h);
}

/* --- all -------------------------------------------------------------------------------------- */

TEST(zeros_constants_and_one_value_have_a_range)
{
    const float zeros[] = {0, -0.0f, 0}, constant[] = {2.5f, 2.5f}, negative[] = {-1e-30f};
    const struct {
        const float *x;
        size_t n;
        double low, high;
    } cases[] = {{zeros, 3, 0, 0}, {constant, 2, 0, 2.5}, {negative, 1, (double)-1e-30f, 0}};
    const qdq_qscheme *schemes[] = {&int8_symmetric, &uint8_asymmetric, &int4_symmetric,
                                    &int16_symmetric};

    for (size_t i = 0; i < 3; i++) {
        qdq_histogram *h = histogram_of(cases[i].x, cases[i].n);
        double amax = fmax(-cases[i].low, cases[i].high);

        for (size_t k = 0; k < 4; k++) {
            qdq_range found[3] = {qdq_threshold_percentile(h, schemes[k], 99.999), {0, 0}, {0, 0}};
            assert_true(qdq_threshold_entropy(h, schemes[k], &found[1]));
            assert_true(qdq_threshold_mse(h, schemes[k], &found[2]));
            for (size_t j = 0; j < 3; j++) {
                assert_near(fmax(-fmin(found[j].low, 0), fmax(found[j].high, 0)), amax,
                            1e-3 * amax);
                assert_true(found[j].low >= -amax && found[j].high <= amax);
            }
        }
        free(h);
    }
}

TEST(a_floating_type_keeps_the_whole_range_by_entropy)
{
    const qdq_qscheme float8 = {.type = QDQ_FLOAT8E4M3FN, .symmetric = true};
    qdq_histogram *h = normal(20000, false, 50);
    qdq_range r;

    assert_true(qdq_threshold_entropy(h, &float8, &r));
    assert_true(r.high == 50);
    assert_true(qdq_threshold_mse(h, &float8, &r));
    assert_true(r.high > 5 && r.high <= 50);
    free(h);
}
