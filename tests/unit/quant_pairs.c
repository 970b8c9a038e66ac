/* quant_pairs.c - weights for kernels that add the products of two neighbours in int16. */
#include "quant/weights/pairs.h"

#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "quant/place/place.h"
#include "quant/plan/plan.h"
#include "quant/weights/weights.h"
#include "support/build.h"
#include "support/test.h"

enum { MOST = 4096 };

static qdq_error err;

/* Numbers whose largest stand beside each other, with both signs. */
static void fill(float *w, size_t n)
{
    qdq_random r = qdq_random_new(3, NULL);

    for (size_t i = 0; i < n; i++)
        w[i] = qdq_random_normal(&r) * (i % 5 == 0 ? 4 : 1);
}

static const qdq_tensor *tensor_of(qdq_model *m, int rank, const int64_t *dims, float *w)
{
    void *data;
    qdq_tensor *t = qdq_tensor_new(m, QDQ_FLOAT, rank, dims, &data);

    fill(w, (size_t)t->count);
    memcpy(data, w, (size_t)t->count * sizeof *w);
    return t;
}

/* The codes of t by scales that follow from its pairs, or from its range alone. */
static int64_t saturating(const qdq_tensor *t, int axis, int64_t block, bool pairs)
{
    static float low[MOST], high[MOST], scales[MOST], w[MOST];
    static int32_t zeros[MOST];
    static int8_t codes[MOST];
    const qdq_qscheme scheme = {.type = QDQ_INT8, .symmetric = true};
    qdq_scale_grid g;
    qdq_pair_order o;

    fill(w, (size_t)t->count);
    assert_ok(qdq_weight_grid(t, axis, block, &g, &err));
    const size_t n = qdq_scale_count(&g);
    assert_ok(qdq_weight_ranges(w, &g, NULL, low, high, &err));
    if (pairs)
        assert_ok(qdq_pairs_widen(w, t, axis, &g, NULL, low, high, &err));
    assert_ok(qdq_weight_scales(&scheme, low, high, NULL, n, scales, zeros, &err));
    const qdq_weight_params p = {QDQ_INT8, scales, NULL, NULL};
    assert_ok(qdq_weight_codes(w, &g, &p, codes, &err));
    assert_true(qdq_pair_order_of(t, axis, &o));
    return qdq_pairs_saturating(&o, codes);
}

TEST(no_pair_saturates_in_any_form)
{
    static const struct {
        int rank, axis;
        int64_t dims[4], block;
    } forms[] = {
        {2, 1, {40, 24}, 0},     {2, 0, {24, 40}, 0},     {2, 1, {41, 7}, 0},
        {4, 0, {8, 6, 3, 3}, 0}, {4, 0, {8, 5, 3, 3}, 0}, {4, 0, {8, 1, 3, 3}, 0},
        {3, 0, {16, 4, 5}, 0},   {3, 1, {1, 32, 16}, 0},  {3, 2, {2, 16, 8}, 8},
        {2, 1, {512, 8}, 0},     {2, 1, {2, 1024}, 0},
    };
    static float w[MOST];

    for (size_t i = 0; i < QDQ_COUNT(forms); i++) {
        qdq_model *m = qdq_model_new();
        const qdq_tensor *t = tensor_of(m, forms[i].rank, forms[i].dims, w);

        assert_true(saturating(t, forms[i].axis, forms[i].block, false) > 0);
        assert_int_equal(saturating(t, forms[i].axis, forms[i].block, true), 0);
        qdq_model_free(m);
    }
}

/* 100 and 90 of one sign are 190 of 127 steps, of two signs they are apart: 100. */
TEST(only_numbers_of_one_sign_add_up)
{
    static const int64_t dims[] = {4, 2};
    static const float w[] = {100, 100, 90, -90, 1, 1, 2, 2};
    float low[2] = {0}, high[2] = {0};
    qdq_model *m = qdq_model_new();
    void *data;
    qdq_tensor *t = qdq_tensor_new(m, QDQ_FLOAT, 2, dims, &data);
    const qdq_scale_grid g = qdq_scale_grid_of(t, 1, 0);

    assert_ok(qdq_pairs_widen(w, t, 1, &g, NULL, low, high, &err));
    assert_float_equal(high[0], 190, 0);
    assert_float_equal(low[0], 0, 0);
    assert_float_equal(high[1], 100, 0);
    assert_float_equal(low[1], -90, 0);
    qdq_model_free(m);
}

/* With an odd number of channels a pair crosses from one place of the kernel to the next, or is
 * padded: both count. */
TEST(an_odd_number_of_channels_has_pairs_of_both_kinds)
{
    static const int64_t dims[] = {1, 3, 1, 2};
    /* [channel][place]: places hold 1 2 4 and 8 16 32 */
    static const float w[] = {1, 8, 2, 16, 4, 32};
    float low = 0, high = 0;
    qdq_model *m = qdq_model_new();
    void *data;
    qdq_tensor *t = qdq_tensor_new(m, QDQ_FLOAT, 4, dims, &data);
    const qdq_scale_grid g = qdq_scale_grid_of(t, 0, 0);

    assert_ok(qdq_pairs_widen(w, t, 0, &g, NULL, &low, &high, &err));
    assert_float_equal(high, 48, 0);
    qdq_model_free(m);
}

TEST(scales_that_are_not_one_for_each_output_channel_are_refused)
{
    static const struct {
        int rank, axis;
        int64_t dims[4], block;
    } wrong[] = {{2, 0, {8, 4}, 2},    {2, 0, {4, 2}, 2},       {3, 1, {2, 8, 4}, 0},
                 {3, 2, {2, 2, 4}, 2}, {4, 1, {4, 4, 3, 3}, 0}, {2, 1, {0, 4}, 0}};
    static float w[MOST], low[MOST], high[MOST];

    for (size_t i = 0; i < QDQ_COUNT(wrong); i++) {
        qdq_model *m = qdq_model_new();
        const qdq_tensor *t = tensor_of(m, wrong[i].rank, wrong[i].dims, w);
        const qdq_scale_grid g = qdq_scale_grid_of(t, wrong[i].axis, wrong[i].block);

        assert_fails(QDQ_E_FORMAT, "expected a scale for each output channel",
                     qdq_pairs_widen(w, t, wrong[i].axis, &g, NULL, low, high, &err));
        qdq_model_free(m);
    }
}

/* --- what placement says of each node --------------------------------------------------------- */

typedef struct found {
    bool pairs, reduced;
} found;

/* `dims` of the weight, with a 0 behind them; `key` "dynamic": data quantized at run time, weights
 * by the method `value`. */
static found placed(const char *op, int64_t group, const int64_t *dims, const char *key,
                    const char *value)
{
    test_builder b = test_build(17);
    qdq_target *t = NULL;
    qdq_plan *p = qdq_plan_new();
    found out;

    TEST_INPUT(&b, "x", 2, 4, 8, 8);
    test_random(&b, "w", dims);
    qdq_node *n = TEST_NODE(&b, op, "y", "x", "w");
    if (group > 0)
        assert_true(qdq_node_set_int(n, "group", group));
    test_output(&b, "y");
    qdq_model *m = test_built(&b);
    assert_ok(qdq_target_load("ort-cpu", &t, &err));
    assert_ok(qdq_target_set(t, "stay_float", "[]", &err));
    assert_ok(qdq_target_set(t, "weight.pairs", "true", &err));
    const qdq_target_change dynamic[] = {{"activation", "{\"type\": \"float\"}"},
                                         {"weight.store", "dynamic"},
                                         {"weight.method", value}};
    if (key != NULL && strcmp(key, "dynamic") == 0)
        assert_ok(qdq_target_set_all(t, dynamic, QDQ_COUNT(dynamic), &err));
    else if (key != NULL)
        assert_ok(qdq_target_set(t, key, value, &err));
    assert_ok(qdq_place(m, t, &(qdq_place_opts){.job = NULL}, p, &err));
    assert_int_equal(p->weights.n, 1);
    out = (found){p->weights.at[0].pairs, p->weights.at[0].reduced};
    qdq_plan_free(p);
    qdq_target_free(t);
    qdq_model_free(m);
    return out;
}

#define DIMS(...) ((const int64_t[]){__VA_ARGS__, 0})

static void assert_placed(found f, bool pairs, bool reduced)
{
    assert_int_equal(f.pairs, pairs);
    assert_int_equal(f.reduced, reduced);
}

TEST(conv_and_matrices_have_pairs_and_depthwise_conv_needs_none)
{
    assert_placed(placed("Conv", 1, DIMS(6, 4, 3, 3), NULL, NULL), true, false);
    assert_placed(placed("Conv", 2, DIMS(6, 2, 3, 3), NULL, NULL), true, false);
    assert_placed(placed("Conv", 4, DIMS(4, 1, 3, 3), NULL, NULL), false, false);
    assert_placed(placed("MatMul", 0, DIMS(8, 6), NULL, NULL), true, false);
}

TEST(where_the_order_is_not_known_weights_lose_a_bit)
{
    assert_placed(placed("MatMul", 0, DIMS(4, 8, 6), NULL, NULL), false, true);
    assert_placed(placed("MatMul", 0, DIMS(8, 6), "weight.per_channel", "false"), false, true);
    assert_placed(placed("MatMul", 0, DIMS(8, 6), "weight.method", "gptq"), false, true);
    assert_placed(placed("MatMul", 0, DIMS(8, 6), "dynamic", "awq-full"), false, true);
}

TEST(a_method_that_only_cuts_ranges_keeps_pairs_and_cuts_none)
{
    assert_placed(placed("MatMul", 0, DIMS(8, 6), "weight.method", "mse"), true, false);
    assert_placed(placed("MatMul", 0, DIMS(8, 6), "dynamic", "awq-clip"), true, false);
}
