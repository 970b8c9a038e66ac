/* quant_weight_mse.c - how much of a weight's range is worth codes. */
#include "quant/weights/weight_mse.h"

#include <math.h>

#include "base/random.h"
#include "quant/weights/weights.h"
#include "support/test.h"

enum { ROWS = 256, COLUMNS = 6, COUNT = ROWS * COLUMNS };

static const qdq_qscheme int4 = {.type = QDQ_INT4, .symmetric = true};
static const qdq_qscheme int8 = {.type = QDQ_INT8, .symmetric = true};
static const qdq_qscheme uint4 = {.type = QDQ_UINT4};

/* Column k of a matrix; column 1 has an outlier, column 2 is all 0, column 3 has two values. */
static void fill(float *w)
{
    qdq_random r = qdq_random_new(11, NULL);

    for (size_t i = 0; i < COUNT; i++) {
        size_t k = i % COLUMNS;
        float v = qdq_random_normal(&r);
        w[i] = k == 2 ? 0 : k == 3 ? (v < 0 ? -1.0f : 1.0f) : v;
    }
    w[10 * COLUMNS + 1] = 7;
}

static double error_of(const float *w, const qdq_scale_grid *g, const qdq_qscheme *s,
                       const char *letters, size_t column)
{
    float low[COUNT], high[COUNT], factor[COUNT], scales[COUNT], back[COUNT];
    int32_t zeros[COUNT];
    char codes[COUNT];
    qdq_error err = QDQ_ERROR_INIT;
    size_t n = qdq_scale_count(g);
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        factor[i] =
            letters == NULL
                ? 1
                : (float)(1 - QDQ_WEIGHT_MSE_STEP * (double)(strchr(QDQ_CLIP_LETTERS, letters[i]) -
                                                             QDQ_CLIP_LETTERS));
    assert_ok(qdq_weight_ranges(w, g, NULL, low, high, &err));
    assert_ok(qdq_weight_scales(s, low, high, factor, n, scales, zeros, &err));
    const qdq_weight_params p = {s->type, scales, zeros, NULL};
    assert_ok(qdq_weight_codes(w, g, &p, codes, &err));
    assert_ok(qdq_weight_decode(codes, g, &p, back, &err));
    for (size_t i = 0; i < COUNT; i++)
        sum += i % COLUMNS == column ? pow((double)w[i] - (double)back[i], 2) : 0;
    return sum;
}

static void letters_of(const float *w, const qdq_scale_grid *g, const qdq_qscheme *s, char *letters)
{
    float low[COUNT], high[COUNT];
    qdq_error err = QDQ_ERROR_INIT;

    assert_ok(qdq_weight_ranges(w, g, NULL, low, high, &err));
    assert_true(qdq_weight_mse_letters(w, g, s, low, high, letters));
}

static qdq_scale_grid grid_of(int axis, int64_t block)
{
    static const int64_t dim[2] = {ROWS, COLUMNS};
    qdq_tensor t = {.name = "w", .elem = QDQ_FLOAT, .rank = 2, .dim = dim, .count = COUNT};

    return qdq_scale_grid_of(&t, axis, block);
}

TEST(no_column_comes_back_worse_and_one_with_an_outlier_much_better)
{
    const qdq_qscheme *schemes[] = {&int4, &int8, &uint4};
    const qdq_scale_grid g = grid_of(1, 0);
    float w[COUNT];
    char letters[COLUMNS];

    fill(w);
    for (size_t i = 0; i < 3; i++) {
        letters_of(w, &g, schemes[i], letters);
        assert_int_equal(letters[2], 'A');
        assert_int_equal(letters[3], 'A');
        for (size_t k = 0; k < COLUMNS; k++)
            assert_true(error_of(w, &g, schemes[i], letters, k) <=
                        error_of(w, &g, schemes[i], NULL, k) * (1 + 1e-6));
        if (schemes[i] == &int4)
            assert_true(error_of(w, &g, schemes[i], letters, 1) <
                        0.85 * error_of(w, &g, schemes[i], NULL, 1));
    }
}

TEST(blocks_rows_and_one_scale_are_searched_as_columns_are)
{
    const struct {
        int axis;
        int64_t block;
    } forms[] = {{0, 32}, {1, 4}, {0, 0}, {-1, 0}};
    float w[COUNT];
    char letters[COUNT];

    fill(w);
    for (size_t i = 0; i < 4; i++) {
        const qdq_scale_grid g = grid_of(forms[i].axis, forms[i].block);
        double before = 0, after = 0;

        letters_of(w, &g, &int4, letters);
        for (size_t k = 0; k < COLUMNS; k++) {
            before += error_of(w, &g, &int4, NULL, k);
            after += error_of(w, &g, &int4, letters, k);
        }
        if (!(after < before))
            fail_msg("axis %d, block %d: %g, was %g", forms[i].axis, (int)forms[i].block, after,
                     before);
    }
}

TEST(values_of_one_bit_less_are_not_clipped)
{
    const qdq_qscheme reduced = {.type = QDQ_INT8, .symmetric = true, .reduced = true};
    const qdq_scale_grid g = grid_of(1, 0);
    float w[COUNT];
    char letters[COLUMNS];

    fill(w);
    letters_of(w, &g, &reduced, letters);
    for (size_t k = 0; k < COLUMNS; k++)
        assert_int_equal(letters[k], 'A');
}

/* The least error of any step, with the functions that make the codes: of `count` weights that lie
 * `pitch` apart. */
static double least_error(const float *x, size_t count, size_t pitch, const qdq_qscheme *s,
                          double low, double high, char *letter, double *of_letter)
{
    double least = INFINITY;

    for (int k = 0; QDQ_CLIP_LETTERS[k] != '\0'; k++) {
        double part = 1 - k * QDQ_WEIGHT_MSE_STEP, sum = 0;
        qdq_qparam p;

        assert_true(qdq_qparam_from_range(s, low * part, high * part, &p));
        for (size_t i = 0; i < count; i++) {
            int32_t code = 0;
            float back;
            qdq_quantize_floats(&p, x + i * pitch, 1, &code);
            qdq_dequantize_floats(&p, &code, 1, &back);
            sum += pow((double)x[i * pitch] - (double)back, 2);
        }
        if (*letter == QDQ_CLIP_LETTERS[k])
            *of_letter = sum;
        least = fmin(least, sum);
    }
    return least;
}

/* Sizes that are no multiple of what is taken at once: 37 columns, 1500 rows. */
TEST(no_other_step_gives_codes_that_come_back_better)
{
    enum { MANY = 1500, WIDE = 37 };
    static const qdq_qscheme schemes[] = {{.type = QDQ_INT8, .symmetric = true},
                                          {.type = QDQ_UINT8},
                                          {.type = QDQ_INT4, .symmetric = true},
                                          {.type = QDQ_INT16},
                                          {.type = QDQ_FLOAT8E4M3FN, .symmetric = true}};
    /* squares and reciprocals that no float holds */
    static const float units[] = {1, 1e-22F, 1e-38F};
    static const int64_t dim[2] = {MANY, WIDE};
    const qdq_tensor t = {
        .name = "w", .elem = QDQ_FLOAT, .rank = 2, .dim = dim, .count = MANY * WIDE};
    float *w = malloc((size_t)MANY * WIDE * sizeof *w);

    assert_non_null(w);
    for (size_t i = 0; i < QDQ_COUNT(schemes) * QDQ_COUNT(units); i++) {
        const qdq_qscheme *s = &schemes[i / QDQ_COUNT(units)];
        qdq_random r = qdq_random_new(i, NULL);
        float low[MANY], high[MANY];
        qdq_error err = QDQ_ERROR_INIT;
        char letters[MANY];

        for (size_t k = 0; k < (size_t)MANY * WIDE; k++) {
            float v = qdq_random_normal(&r);
            w[k] = v * v * v * units[i % QDQ_COUNT(units)]; /* a tail that is worth clipping */
        }
        for (int axis = 0; axis < 2; axis++) {
            const qdq_scale_grid g = qdq_scale_grid_of(&t, axis, 0);
            size_t count = axis == 0 ? WIDE : MANY, pitch = axis == 0 ? 1 : WIDE;

            assert_ok(qdq_weight_ranges(w, &g, NULL, low, high, &err));
            assert_true(qdq_weight_mse_letters(w, &g, s, low, high, letters));
            for (size_t k = 0; k < WIDE; k += 4) {
                double found = NAN,
                       least = least_error(w + k * (axis == 0 ? WIDE : 1), count, pitch, s,
                                           (double)low[k], (double)high[k], &letters[k], &found);
                if (!(found <= least * 1.001))
                    fail_msg("scheme and unit %zu, axis %d, scale %zu: %g, least %g", i, axis, k,
                             found, least);
            }
        }
    }
    free(w);
}
