/* quant_weights.c - weights as codes: one scale, channels, blocks, each against a loop over
 * elements. */
#include <math.h>

#include "quant/weights/weights.h"
#include "support/build.h"
#include "support/test.h"

enum { MOST = 4096 };

typedef struct coded {
    qdq_scale_grid grid;
    float scales[MOST], low[MOST], high[MOST];
    int32_t zeros[MOST];
    uint8_t packed[2 * MOST];
} coded;

static qdq_tensor tensor_of(int rank, const int64_t *dim)
{
    qdq_tensor t = {.name = "w", .elem = QDQ_FLOAT, .rank = rank, .dim = dim};

    assert_true(qdq_dims_count(rank, dim, &t.count));
    return t;
}

static void encode(coded *c, const qdq_tensor *t, const qdq_qscheme *s, int axis, int64_t block,
                   const float *w)
{
    qdq_error err = QDQ_ERROR_INIT;

    assert_ok(qdq_weight_grid(t, axis, block, &c->grid, &err));
    size_t n = qdq_scale_count(&c->grid);
    assert_true(n <= MOST);
    assert_ok(qdq_weight_ranges(w, &c->grid, NULL, c->low, c->high, &err));
    assert_ok(qdq_weight_scales(s, c->low, c->high, NULL, n, c->scales, c->zeros, &err));
    const qdq_weight_params p = {s->type, c->scales, c->zeros, NULL};
    assert_ok(qdq_weight_codes(w, &c->grid, &p, c->packed, &err));
}

/* blocks are contiguous */
TEST(blocks_are_rows_that_follow_each_other)
{
    static const float w[] = {1, 2, 3, 4, 5, 6, 7, 8};
    static const int64_t dim[] = {4, 2};
    const qdq_qscheme s = {QDQ_INT4, true, false, QDQ_FLOAT, false};
    qdq_tensor t = tensor_of(2, dim);
    static coded c;

    encode(&c, &t, &s, 0, 2, w);
    assert_int_equal(qdq_scale_count(&c.grid), 4);
    assert_true(c.high[0] == 3 && c.high[1] == 4 && c.high[2] == 7 && c.high[3] == 8);
}

TEST(four_bit_blocks_use_seven_codes_on_each_side)
{
    static const float block[] = {-.8f, .7f, .35f, 0}, zero[4] = {0},
                       two[] = {.5f, 1.5f, .875f, 1.75f};
    static const int64_t column[] = {4, 1}, square[] = {2, 2};
    const qdq_qscheme s = {QDQ_INT4, true, false, QDQ_FLOAT, false};
    qdq_tensor t = tensor_of(2, column), u = tensor_of(2, square);
    static coded c;

    encode(&c, &t, &s, 0, 4, block);
    assert_true(fabsf(c.scales[0] - 0.1142857f) < 1e-7f);
    assert_int_equal(c.packed[0], 0x69); /* -7, 6 */
    assert_int_equal(c.packed[1], 0x03);
    encode(&c, &t, &s, 0, 4, zero);
    assert_true(c.scales[0] == 1e-5f && c.packed[0] == 0 && c.packed[1] == 0);
    encode(&c, &u, &s, 0, 8, two); /* a block that is larger than the dimension */
    assert_int_equal(qdq_scale_count(&c.grid), 2);
    assert_true(c.scales[0] == 0.125f && c.scales[1] == 0.25f);
}

TEST(codes_follow_the_definition_whatever_the_layout)
{
    static const int64_t dims[][4] = {
        {7, 5, 3, 2}, {1, 9, 1, 11}, {1, 1, 1, 64}, {3, 70, 1, 1}, {2, 1, 5, 4}};
    static const qdq_qscheme schemes[] = {{QDQ_INT8, true, false, QDQ_FLOAT, false},
                                          {QDQ_UINT8, false, true, QDQ_FLOAT, false},
                                          {QDQ_INT16, true, false, QDQ_FLOAT, false},
                                          {QDQ_UINT4, false, false, QDQ_FLOAT, false},
                                          {QDQ_INT4, true, false, QDQ_FLOAT, false},
                                          {QDQ_FLOAT8E4M3FN, true, false, QDQ_FLOAT, false}};
    static float w[MOST], back[MOST];
    static coded c;
    qdq_error err = QDQ_ERROR_INIT;

    for (int i = 0; i < MOST; i++)
        w[i] = (float)((i * 7919) % 1009 - 400) / 300;
    for (size_t d = 0; d < QDQ_COUNT(dims); d++)
        for (size_t k = 0; k < QDQ_COUNT(schemes); k++)
            for (int axis = -1; axis < 4; axis++)
                for (int64_t block = 0; block <= (axis < 0 ? 0 : 3); block++) {
                    qdq_tensor t = tensor_of(4, dims[d]);

                    encode(&c, &t, &schemes[k], axis, block, w);
                    const qdq_weight_params how = {schemes[k].type, c.scales, c.zeros, NULL};
                    assert_ok(qdq_weight_decode(c.packed, &c.grid, &how, back, &err));
                    for (size_t i = 0; i < (size_t)t.count; i++) {
                        const qdq_channels *g = &c.grid.c;
                        size_t at = qdq_scale_at(&c.grid, i / g->inner / g->channels,
                                                 i / g->inner % g->channels, i % g->inner);
                        qdq_qparam p = {schemes[k].type, c.scales[at], c.zeros[at]};
                        int32_t code = qdq_quantize_value(&p, w[i]);

                        if (p.type == QDQ_FLOAT8E4M3FN)
                            assert_int_equal(c.packed[i], code);
                        else
                            assert_int_equal(qdq_elem_int(p.type, c.packed, (int64_t)i), code);
                        assert_true(w[i] >= c.low[at] && w[i] <= c.high[at]);
                        assert_true(fabsf(back[i] - w[i]) <=
                                    (p.type == QDQ_FLOAT8E4M3FN ? fabsf(w[i]) / 16 + p.scale / 1024
                                                                : p.scale * 1.01f));
                    }
                }
}

TEST(clipping_takes_a_part_of_the_range)
{
    const float low[] = {-1, -2}, high[] = {2, 1}, factor[] = {0.5f, 1};
    const qdq_qscheme s = {QDQ_INT8, true, false, QDQ_FLOAT, false};
    qdq_error err = QDQ_ERROR_INIT;
    float scales[2];
    int32_t zeros[2];

    assert_ok(qdq_weight_scales(&s, low, high, factor, 2, scales, zeros, &err));
    assert_true(scales[0] == (float)(1.0 / 127) && scales[1] == (float)(2.0 / 127));
}

TEST(what_is_not_finite_is_named_by_its_channel)
{
    static const int64_t dim[] = {4, 3};
    float w[12] = {0}, low[12], high[12];
    qdq_tensor t = tensor_of(2, dim);
    qdq_error err = QDQ_ERROR_INIT;
    qdq_scale_grid g;

    w[4] = NAN; /* and numbers after it in its column */
    for (int axis = -1; axis < 2; axis++)
        for (int64_t block = 0; block <= (axis < 0 ? 0 : 2); block++) {
            assert_ok(qdq_weight_grid(&t, axis, block, &g, &err));
            assert_fails(QDQ_E_FORMAT,
                         axis < 0 ? "channel 0 holds NaN" : "channel 1 holds NaN or infinity",
                         qdq_weight_ranges(w, &g, NULL, low, high, &err));
        }
    assert_fails(QDQ_E_FORMAT, "axis 2, but its rank is 2", qdq_weight_grid(&t, 2, 0, &g, &err));
    assert_fails(QDQ_E_FORMAT, "blocks without axis", qdq_weight_grid(&t, -1, 2, &g, &err));
}

/* One element in a channel, all zeros, nothing at all. */
TEST(odd_channels_have_scales)
{
    static const int64_t one[] = {1, 1}, none[] = {0, 3};
    static const float zero[] = {0}, some[] = {-3};
    const qdq_qscheme s = {QDQ_INT8, true, false, QDQ_FLOAT, false};
    qdq_tensor t = tensor_of(2, one), u = tensor_of(2, none);
    static coded c;

    encode(&c, &t, &s, 1, 0, zero);
    assert_true(c.scales[0] == 1 && c.packed[0] == 0);
    encode(&c, &t, &s, 0, 4, some);
    assert_true(c.scales[0] == (float)(3.0 / 127) && (int8_t)c.packed[0] == -127);
    encode(&c, &u, &s, 1, 0, some);
    encode(&c, &u, &s, 0, 2, some);
    assert_int_equal(qdq_scale_count(&c.grid), 0);
}
