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

static double error_of(const float *w, const qdq_scale_grid *g, const qdq_qscheme *s, const char *letters,
                       size_t column)
{
    float low[COUNT], high[COUNT], factor[COUNT], scales[COUNT], back[COUNT];
    int32_t zeros[COUNT];
    char codes[COUNT];
    qdq_error err = QDQ_ERROR_INIT;
    size_t n = qdq_scale_count(g);
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        factor[i] = letters == NULL
                        ? 1
                        : (float)(1 - QDQ_WEIGHT_MSE_STEP *
                                          (double)(strchr(QDQ_CLIP_LETTERS, letters[i]) - QDQ_CLIP_LETTERS));
    assert_ok(qdq_weight_ranges(w, g, low, high, &err));
    assert_ok(qdq_weight_scales(s, low, high, factor, n, scales, zeros, &err));
    assert_true(qdq_weight_codes(w, g, s->type, scales, zeros, codes));
    assert_true(qdq_weight_decode(codes, g, s->type, scales, zeros, back));
    for (size_t i = 0; i < COUNT; i++)
        sum += i % COLUMNS == column ? pow((double)w[i] - (double)back[i], 2) : 0;
    return sum;
}

static void letters_of(const float *w, const qdq_scale_grid *g, const qdq_qscheme *s, char *letters)
{
    float low[COUNT], high[COUNT];
    qdq_error err = QDQ_ERROR_INIT;

    assert_ok(qdq_weight_ranges(w, g, low, high, &err));
    assert_true(qdq_weight_mse_letters(w, g, s, low, high, letters));
}

static qdq_scale_grid grid_of(int axis, int64_t block)
{
    static const int64_t dim[2] = {ROWS, COLUMNS};
    qdq_tensor t = {.name = "w", .elem = QDQ_FLOAT, .rank = 2, .dim = dim, .count = COUNT};

    return qdq_scale_grid_of(&t, axis, block);
}

static void no_column_comes_back_worse_and_one_with_an_outlier_much_better(void **state)
{
    const qdq_qscheme *schemes[] = {&int4, &int8, &uint4};
    const qdq_scale_grid g = grid_of(1, 0);
    float w[COUNT];
    char letters[COLUMNS];

    (void)state;
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

static void blocks_rows_and_one_scale_are_searched_as_columns_are(void **state)
{
    const struct {
        int axis;
        int64_t block;
    } forms[] = {{0, 32}, {1, 4}, {0, 0}, {-1, 0}};
    float w[COUNT];
    char letters[COUNT];

    (void)state;
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
            fail_msg("axis %d, block %d: %g, was %g", forms[i].axis, (int)forms[i].block, after, before);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_column_comes_back_worse_and_one_with_an_outlier_much_better),
        cmocka_unit_test(blocks_rows_and_one_scale_are_searched_as_columns_are),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
