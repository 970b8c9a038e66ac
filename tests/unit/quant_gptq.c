/* quant_gptq.c - codes by second-order information: the factor of the inverse Hessian, what
 * rounding by it gains on rows that it has not seen, in each format and layout, what moving its
 * values and scales gains, and what is bad about data. */
#include <math.h>
#include <string.h>

#include "base/half.h"
#include "base/random.h"
#include "quant/weights/gptq_state.h"
#include "quant/weights/weights.h"
#include "support/test.h"

enum { K = 200, N = 70, FIT_ROWS = 1000, ROWS = 1250 };

typedef struct fixture {
    /* v: w transposed */
    float x[ROWS * K], w[K * N], v[K * N];
    qdq_plan_weight entry;
    qdq_gptq_group group;
    qdq_weight_columns columns;
    qdq_gptq_factor factor;
    qdq_gptq_result result;
} fixture;

/* Normal weights [K, N], and activations that mix K / 4 sources, and a little noise of their own.
 */
static void make(fixture *f, size_t block, qdq_elem type, bool symmetric)
{
    qdq_random r = qdq_random_new(7, "gptq");
    static float mix[K / 4 * K];

    *f = (fixture){.group.k = K};
    for (size_t i = 0; i < QDQ_COUNT(f->w); i++)
        f->v[i % N * K + i / N] = f->w[i] = qdq_random_normal(&r);
    for (size_t i = 0; i < QDQ_COUNT(mix); i++)
        mix[i] = qdq_random_normal(&r);
    for (size_t row = 0; row < ROWS; row++) {
        float source[K / 4];

        for (size_t i = 0; i < K / 4; i++)
            source[i] = qdq_random_normal(&r);
        for (size_t k = 0; k < K; k++) {
            float sum = 0.2F * qdq_random_normal(&r);

            for (size_t i = 0; i < K / 4; i++)
                sum += source[i] * mix[i * K + k] / 5;
            f->x[row * K + k] = sum;
        }
    }
    f->entry = (qdq_plan_weight){.method = QDQ_WEIGHT_GPTQ,
                                 .type = type,
                                 .asymmetric = !symmetric,
                                 .axis = block != 0 ? 0 : 1,
                                 .block = (int64_t)block,
                                 .gptq = {0.01, false}};
    f->columns = (qdq_weight_columns){.entry = &f->entry,
                                      .w = f->w,
                                      .k = K,
                                      .n = N,
                                      .step_k = N,
                                      .step_n = 1,
                                      .block = block != 0 && block < K ? block : K,
                                      .scheme = qdq_plan_scheme(&f->entry),
                                      .grid = {{1, K, N}, block, 1}};
    f->columns.n_block = (K + f->columns.block - 1) / f->columns.block;
    f->columns.grid.n_block = f->columns.n_block;
    if (block == 0)
        f->columns.grid = (qdq_scale_grid){{K, N, 1}, 0, 0};
}

static void transpose(fixture *f)
{
    f->entry.axis = 1 - f->entry.axis;
    f->columns.w = f->v;
    f->columns.step_k = 1;
    f->columns.step_n = K;
    f->columns.grid.c = f->entry.block != 0 ? (qdq_channels){N, K, 1} : (qdq_channels){1, N, K};
}

static void collect(fixture *f, size_t fit, size_t held)
{
    assert_true(qdq_gptq_begin_group(&f->group));
    qdq_gptq_add_rows(&f->group, QDQ_GPTQ_FIT, f->x, fit);
    qdq_gptq_add_rows(&f->group, QDQ_GPTQ_HELD, f->x + FIT_ROWS * K, held);
    qdq_gptq_flush(&f->group);
}

static const char *factorize(fixture *f)
{
    const char *why = NULL;

    assert_true(qdq_gptq_factorize(&f->group, &f->entry.gptq, &f->factor, &why));
    return why;
}

/* Less error on held-out rows than the nearest codes give, in dB. */
static double gain(fixture *f)
{
    qdq_error err = QDQ_ERROR_INIT;

    assert_null(factorize(f));
    assert_ok(qdq_gptq_round(&f->group, &f->factor, &f->columns, NULL, &f->result, &err));
    return 10 * log10(f->result.nearest / f->result.error);
}

/* The same after values and scales moved. */
static double refined_gain(fixture *f)
{
    qdq_error err = QDQ_ERROR_INIT;

    f->entry.method = QDQ_WEIGHT_GPTQ_REFINE;
    f->columns.scheme = qdq_plan_scheme(&f->entry);
    (void)gain(f);
    qdq_gptq_mirror(&f->group, &f->factor);
    assert_ok(qdq_gptq_refine(&f->group, &f->factor, &f->columns, NULL, &f->result, &err));
    return 10 * log10(f->result.nearest / f->result.error);
}

static void end(fixture *f)
{
    qdq_gptq_result_free(&f->result);
    qdq_gptq_factor_free(&f->factor);
    qdq_gptq_end_group(&f->group);
}

static fixture f;

/* H^-1 = U'U, and row p of V is row p of U in the order of positions. */
TEST(the_factor_is_that_of_the_inverse)
{
    static double h[K * K], product[K * K];
    double mean = 0;

    make(&f, 32, QDQ_INT4, true);
    collect(&f, FIT_ROWS, 100);
    assert_null(factorize(&f));
    for (size_t i = 0; i < K; i++)
        mean += (double)f.group.h[i * f.group.ld + i] / K;
    for (size_t p = 0; p < K; p++)
        for (size_t q = 0; q < K; q++) {
            size_t a = f.factor.channel[p], b = f.factor.channel[q];

            h[p * K + q] =
                (double)f.group.h[(a < b ? a : b) * f.group.ld + (a < b ? b : a)] / mean +
                (p == q ? 0.01 : 0);
        }
    for (size_t p = 0; p < K; p++) /* V'V h is the unit matrix */
        for (size_t q = 0; q < K; q++) {
            double vh = 0;

            for (size_t k = 0; k <= p; k++)
                vh += (k == p ? (double)f.factor.diagonal[p]
                              : (double)f.factor.v[p * f.factor.ld + k]) *
                      h[k * K + q];
            product[p * K + q] = vh;
        }
    for (size_t i = 0; i < K; i++)
        for (size_t q = 0; q < K; q++) {
            double sum = (double)f.factor.diagonal[i] * product[i * K + q];

            for (size_t p = i + 1; p < K; p++)
                sum += (double)f.factor.v[p * f.factor.ld + i] * product[p * K + q];
            assert_true(fabs(sum - (i == q)) < 2e-3);
        }
    end(&f);
}

/* Squared error of products of the held-out rows, from the codes as they are written. */
static double written_error(bool transposed)
{
    static float back[K * N];
    qdq_error err = QDQ_ERROR_INIT;
    static unsigned char packed[2 * K * N];
    double sum = 0;

    qdq_pack_codes(f.entry.type, f.result.codes, K * N, packed);
    const qdq_weight_params p = {f.entry.type, f.result.scales, f.result.zeros, NULL};
    assert_ok(qdq_weight_decode(packed, &f.columns.grid, &p, back, &err));
    for (size_t r = FIT_ROWS; r < ROWS; r++)
        for (size_t n = 0; n < N; n++) {
            double y = 0;

            for (size_t k = 0; k < K; k++)
                y += (double)f.x[r * K + k] *
                     ((double)back[transposed ? n * K + k : k * N + n] - (double)f.w[k * N + n]);
            sum += y * y;
        }
    return sum;
}

typedef struct format {
    size_t block;
    qdq_elem type;
    bool symmetric, transposed, act_order;
    qdq_weight_method method;
} format;

static const format formats[] = {
    {32, QDQ_INT4, true, false, false, QDQ_WEIGHT_GPTQ},
    {32, QDQ_INT4, true, true, false, QDQ_WEIGHT_GPTQ},
    {32, QDQ_INT4, true, false, true, QDQ_WEIGHT_GPTQ},
    {32, QDQ_UINT4, false, false, false, QDQ_WEIGHT_GPTQ_MSE},
    {30, QDQ_INT4, true, true, false, QDQ_WEIGHT_GPTQ_MSE}, /* K is no multiple */
    {64, QDQ_INT4, true, false, false, QDQ_WEIGHT_GPTQ},
    {100, QDQ_UINT4, false, true, true, QDQ_WEIGHT_GPTQ},
    {160, QDQ_INT4, true, false, false, QDQ_WEIGHT_GPTQ},
    {0, QDQ_INT8, true, false, false, QDQ_WEIGHT_GPTQ}, /* per channel */
    {0, QDQ_INT8, true, true, true, QDQ_WEIGHT_GPTQ},
    {0, QDQ_UINT8, false, false, false, QDQ_WEIGHT_GPTQ},
    {0, QDQ_UINT16, false, true, false, QDQ_WEIGHT_GPTQ},
};

static void make_format(const format *c)
{
    make(&f, c->block, c->type, c->symmetric);
    f.entry.method = c->method;
    f.entry.gptq.act_order = c->act_order;
    if (c->transposed)
        transpose(&f);
    collect(&f, FIT_ROWS, ROWS - FIT_ROWS);
}

TEST(planted_correlations_give_two_db_in_each_format)
{
    for (size_t i = 0; i < QDQ_COUNT(formats); i++) {
        make_format(&formats[i]);
        double db = gain(&f);
        if (db < 2)
            fail_msg("case %zu: %.2f dB", i, db);
        double written = written_error(formats[i].transposed);
        if (fabs(f.result.error / written - 1) > 2e-3)
            fail_msg("case %zu: error %g, written %g", i, f.result.error, written);
        end(&f);
    }
}

/* From what GPTQ gives with searched ranges. */
TEST(refined_values_and_scales_give_more_in_each_format)
{
    for (size_t i = 0; i < QDQ_COUNT(formats); i++) {
        make_format(&formats[i]);
        f.entry.method = QDQ_WEIGHT_GPTQ_MSE;
        double before = gain(&f);
        qdq_gptq_result_free(&f.result);
        qdq_gptq_factor_free(&f.factor);
        double after = refined_gain(&f);
        if (after < before + 0.3)
            fail_msg("case %zu: %.2f dB, before %.2f dB", i, after, before);
        double written = written_error(formats[i].transposed);
        if (fabs(f.result.error / written - 1) > 2e-3)
            fail_msg("case %zu: error %g, written %g", i, f.result.error, written);
        end(&f);
    }
}

TEST(transposed_weights_get_the_same_codes)
{
    static unsigned char codes[K * N];

    for (int refined = 0; refined < 2; refined++) {
        make(&f, 32, QDQ_INT4, true);
        collect(&f, FIT_ROWS, ROWS - FIT_ROWS);
        (void)(refined ? refined_gain(&f) : gain(&f));
        for (size_t i = 0; i < QDQ_COUNT(codes); i++)
            codes[i % N * K + i / N] = f.result.codes[i];
        end(&f);
        make(&f, 32, QDQ_INT4, true);
        transpose(&f);
        collect(&f, FIT_ROWS, ROWS - FIT_ROWS);
        (void)(refined ? refined_gain(&f) : gain(&f));
        assert_memory_equal(codes, f.result.codes, sizeof codes);
        end(&f);
    }
}

/* What nothing is known of is rounded as ever. */
TEST(channels_that_are_always_zero_get_their_nearest_codes)
{
    make(&f, 0, QDQ_INT8, true);
    for (size_t i = 0; i < QDQ_COUNT(f.x); i++)
        if (i % K == 3 || i % K >= 190)
            f.x[i] = 0;
    collect(&f, FIT_ROWS, ROWS - FIT_ROWS);
    assert_true(gain(&f) > 1);
    for (size_t k = 0; k < K; k++)
        for (size_t n = 0; n < N && (k == 3 || k >= 190); n++) {
            qdq_qparam p = {QDQ_INT8, f.result.scales[n], 0};

            assert_int_equal((int8_t)f.result.codes[k * N + n],
                             qdq_quantize_value(&p, f.w[k * N + n]));
        }
    end(&f);
}

TEST(one_row_makes_a_hessian_of_rank_one_that_damping_holds)
{
    make(&f, 32, QDQ_INT4, true);
    collect(&f, 1, ROWS - FIT_ROWS);
    double db = gain(&f);
    assert_true(isfinite(db));
    end(&f);
}

TEST(channels_that_are_one_and_the_same_need_damping_alone)
{
    make(&f, 32, QDQ_INT4, true);
    for (size_t i = 0; i < QDQ_COUNT(f.x); i++)
        f.x[i] = f.x[i / K * K] + 3; /* rank 1, far from 0 */
    f.entry.gptq.damping = 1e-6;
    collect(&f, FIT_ROWS, ROWS - FIT_ROWS);
    assert_true(gain(&f) > 10);
    end(&f);
}

/* --- refinement ------------------------------------------------------------------------------- */

/* Copies of what GPTQ made. */
static float scales_before[K * N];
static unsigned char codes_before[K * N];

static void refine_other_rows(size_t held)
{
    qdq_error err = QDQ_ERROR_INIT;

    f.entry.method = QDQ_WEIGHT_GPTQ_REFINE;
    collect(&f, FIT_ROWS, held);
    (void)gain(&f);
    memcpy(scales_before, f.result.scales, f.columns.n_block * N * sizeof(float));
    memcpy(codes_before, f.result.codes, K * N);
    qdq_gptq_mirror(&f.group, &f.factor);
    assert_ok(qdq_gptq_refine(&f.group, &f.factor, &f.columns, NULL, &f.result, &err));
}

static void assert_as_before(void)
{
    assert_memory_equal(scales_before, f.result.scales, f.columns.n_block * N * sizeof(float));
    assert_memory_equal(codes_before, f.result.codes, K * N);
}

TEST(what_held_out_rows_lose_by_refinement_is_not_kept)
{
    qdq_random r = qdq_random_new(8, "white");

    make(&f, 32, QDQ_INT4, true);
    for (size_t i = FIT_ROWS * K; i < QDQ_COUNT(f.x); i++)
        f.x[i] = qdq_random_normal(&r); /* nothing in common with the others */
    refine_other_rows(ROWS - FIT_ROWS);
    assert_as_before();
    end(&f);
    make(&f, 32, QDQ_INT4, true);
    memset(f.x + FIT_ROWS * K, 0, sizeof(float) * (ROWS - FIT_ROWS) * K);
    refine_other_rows(ROWS - FIT_ROWS); /* whose error is 0 in any case */
    assert_as_before();
    assert_float_equal(f.result.error, 0, 0);
    end(&f);
}

TEST(channels_that_are_always_zero_get_the_values_nearest_with_the_refined_scale)
{
    make(&f, 0, QDQ_INT8, true);
    for (size_t i = 0; i < QDQ_COUNT(f.x); i++)
        if (i % K == 3 || i % K >= 190)
            f.x[i] = 0;
    collect(&f, FIT_ROWS, ROWS - FIT_ROWS);
    assert_true(refined_gain(&f) > 1);
    for (size_t k = 0; k < K; k++)
        for (size_t n = 0; n < N && (k == 3 || k >= 190); n++) {
            qdq_qparam p = {QDQ_INT8, f.result.scales[n], 0};

            assert_in_range((int8_t)f.result.codes[k * N + n] -
                                qdq_quantize_value(&p, f.w[k * N + n]) + 1,
                            0, 2); /* the last step was that of the scale */
        }
    end(&f);
}

TEST(refinement_holds_where_the_hessian_has_rank_one)
{
    make(&f, 32, QDQ_INT4, true);
    collect(&f, 1, ROWS - FIT_ROWS);
    const double one_row = gain(&f);
    qdq_gptq_result_free(&f.result);
    qdq_gptq_factor_free(&f.factor);
    assert_true(refined_gain(&f) > one_row - 0.1);
    end(&f);
    make(&f, 32, QDQ_INT4, true);
    for (size_t i = 0; i < QDQ_COUNT(f.x); i++)
        f.x[i] = f.x[i / K * K] + 3;
    f.entry.gptq.damping = 1e-6;
    collect(&f, FIT_ROWS, ROWS - FIT_ROWS);
    assert_true(refined_gain(&f) > 10);
    end(&f);
}

TEST(columns_of_zeros_stay_zeros)
{
    make(&f, 32, QDQ_INT4, true);
    for (size_t i = 0; i < QDQ_COUNT(f.w); i++)
        if (i % N == 5)
            f.w[i] = 0;
    collect(&f, FIT_ROWS, ROWS - FIT_ROWS);
    assert_true(refined_gain(&f) > 2);
    for (size_t k = 0; k < K; k++)
        assert_int_equal(f.result.codes[k * N + 5], 0);
    end(&f);
}

TEST(refined_scales_are_such_as_their_type_stores)
{
    make(&f, 32, QDQ_INT4, true);
    f.entry.pow2 = true;
    collect(&f, FIT_ROWS, ROWS - FIT_ROWS);
    assert_true(refined_gain(&f) > 2);
    for (size_t i = 0; i < f.columns.n_block * N; i++)
        assert_true(qdq_power_of_two((double)f.result.scales[i]) == (double)f.result.scales[i]);
    end(&f);
    make(&f, 32, QDQ_INT4, true);
    collect(&f, FIT_ROWS, ROWS - FIT_ROWS);
    f.entry.method = QDQ_WEIGHT_GPTQ_REFINE;
    f.columns.scheme.storage = QDQ_FLOAT16;
    qdq_error err = QDQ_ERROR_INIT;
    double before = gain(&f);
    qdq_gptq_mirror(&f.group, &f.factor);
    assert_ok(qdq_gptq_refine(&f.group, &f.factor, &f.columns, NULL, &f.result, &err));
    assert_true(qdq_gptq_gain(f.result.nearest, f.result.error) > before + 0.5);
    for (size_t i = 0; i < f.columns.n_block * N; i++) {
        float stored = qdq_float_of_float16(qdq_float16_of_double((double)f.result.scales[i]));

        assert_float_equal(stored, f.result.scales[i], 0);
    }
    end(&f);
}

TEST(values_of_one_bit_less_stay_so)
{
    for (int i = 0; i < 4; i++) {
        const bool is_unsigned = i % 2 != 0;
        const int shift = is_unsigned ? 0 : 64, most = is_unsigned ? 127 : 128;

        make(&f, 0, is_unsigned ? QDQ_UINT8 : QDQ_INT8, !is_unsigned);
        f.entry.reduced = true;
        f.columns.scheme = qdq_plan_scheme(&f.entry);
        collect(&f, FIT_ROWS, ROWS - FIT_ROWS);
        assert_true((i < 2 ? gain(&f) : refined_gain(&f)) > 2);
        for (size_t k = 0; k < K * N; k++) {
            int code = is_unsigned ? f.result.codes[k] : (int8_t)f.result.codes[k];

            assert_in_range(code + shift, 0, most);
        }
        end(&f);
    }
}

TEST(a_cancelled_job_ends_rounding_and_refinement)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_cancel *flag = qdq_cancel_new();
    const qdq_job job = {.size = sizeof job, .cancel = flag};
    qdq_gptq_result r;

    make(&f, 32, QDQ_INT4, true);
    f.entry.method = QDQ_WEIGHT_GPTQ_REFINE;
    collect(&f, FIT_ROWS, ROWS - FIT_ROWS);
    (void)gain(&f);
    qdq_gptq_mirror(&f.group, &f.factor);
    qdq_cancel_set(flag);
    assert_int_equal(qdq_gptq_round(&f.group, &f.factor, &f.columns, &job, &r, &err),
                     QDQ_E_INTERRUPTED);
    qdq_gptq_result_free(&r);
    assert_int_equal(qdq_gptq_refine(&f.group, &f.factor, &f.columns, &job, &f.result, &err),
                     QDQ_E_INTERRUPTED);
    qdq_cancel_free(flag);
    end(&f);
}

/* --- data ------------------------------------------------------------------------------------- */

TEST(numbers_that_are_none_count_as_zero)
{
    static float diagonal[K];

    make(&f, 32, QDQ_INT4, true);
    f.x[5] = f.x[7] = 0;
    collect(&f, FIT_ROWS, 0);
    for (size_t k = 0; k < K; k++)
        diagonal[k] = f.group.h[k * f.group.ld + k];
    end(&f);
    f.x[5] = NAN;
    f.x[7] = -INFINITY;
    collect(&f, FIT_ROWS, 0);
    for (size_t k = 0; k < K; k++)
        assert_float_equal(diagonal[k], f.group.h[k * f.group.ld + k], 0);
    end(&f);
}

TEST(activations_whose_squares_overflow_are_said_to_have_no_factor)
{
    make(&f, 32, QDQ_INT4, true);
    for (size_t i = 0; i < QDQ_COUNT(f.x); i++)
        f.x[i] *= 1e30F;
    collect(&f, FIT_ROWS, 0);
    assert_string_equal(factorize(&f), "its Hessian has no Cholesky factor");
    end(&f);
    for (size_t i = 0; i < QDQ_COUNT(f.x); i++)
        f.x[i] = 0;
    collect(&f, FIT_ROWS, 0);
    assert_non_null(factorize(&f)); /* nothing is known */
    end(&f);
}

TEST(rows_may_come_one_by_one)
{
    static float h[K * K];

    make(&f, 32, QDQ_INT4, true);
    collect(&f, FIT_ROWS, ROWS - FIT_ROWS);
    for (size_t i = 0; i < K; i++)
        for (size_t j = 0; j < K; j++)
            h[i * K + j] = f.group.h[i * f.group.ld + j];
    end(&f);
    assert_true(qdq_gptq_begin_group(&f.group));
    for (size_t r = 0; r < ROWS; r++)
        qdq_gptq_add_rows(&f.group, r < FIT_ROWS ? QDQ_GPTQ_FIT : QDQ_GPTQ_HELD, f.x + r * K, 1);
    qdq_gptq_flush(&f.group);
    for (size_t i = 0; i < K; i++)
        assert_memory_equal(h + i * K, f.group.h + i * f.group.ld, K * sizeof *h);
    end(&f);
}

TEST(channels_beyond_what_memory_counts_are_too_many)
{
    assert_true(qdq_gptq_group_bytes((size_t)1 << 40) == UINT64_MAX);
    assert_true(qdq_gptq_group_bytes(4096) < 100 << 20);
}
