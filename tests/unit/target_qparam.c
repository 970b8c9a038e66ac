/* target_qparam.c - scale and zero point arithmetic. */
#include <float.h>
#include <math.h>

#include "ir/ir.h"
#include "support/test.h"
#include "target/qparam.h"

static qdq_qparam of_range(qdq_elem type, bool symmetric, bool reduced, double low, double high)
{
    qdq_qscheme s = {type, symmetric, reduced, QDQ_FLOAT, false};
    qdq_qparam p = {0};

    assert_true(qdq_qparam_from_range(&s, low, high, &p));
    return p;
}

static void assert_qparam(qdq_qparam p, double scale, int zero_point)
{
    if (fabs((double)p.scale - scale) > 1e-6 * scale || p.zero_point != zero_point)
        fail_msg("want %.9g, %d; got %.9g, %d", scale, zero_point, (double)p.scale,
                 (int)p.zero_point);
}

TEST(int8_symmetric_uses_the_larger_side)
{
    assert_qparam(of_range(QDQ_INT8, true, false, -3, 6.35), 0.05, 0);
}

TEST(uint8_asymmetric_always_includes_zero)
{
    assert_qparam(of_range(QDQ_UINT8, false, false, -1, 3), 0.0156862745, 64);
    assert_qparam(of_range(QDQ_UINT8, false, false, 2, 6), 0.0235294118, 0);
    assert_qparam(of_range(QDQ_UINT8, false, false, -6, -2), 0.0235294118, 255);
    assert_qparam(of_range(QDQ_UINT8, true, false, -1, 3), 0.0235294118, 128);
    assert_true(of_range(QDQ_UINT8, false, false, -1, 3).scale == (float)(4.0 / 255));
}

TEST(int8_asymmetric)
{
    assert_qparam(of_range(QDQ_INT8, false, false, -1, 3), 0.0156862745, -64);
}

TEST(sixteen_bits_and_reduced_ranges)
{
    assert_qparam(of_range(QDQ_UINT16, false, false, -1, 3), 6.103609e-05, 16384);
    assert_qparam(of_range(QDQ_INT16, true, false, -1, 1), 3.051851e-05, 0);
    assert_qparam(of_range(QDQ_INT8, true, true, -1, 1), 0.015625, 0);
    assert_qparam(of_range(QDQ_UINT8, false, true, -1, 1), 0.01574803, 64);
}

TEST(empty_and_tiny_ranges)
{
    qdq_qscheme half = {QDQ_INT8, true, false, QDQ_FLOAT16, false};
    qdq_qparam p;

    assert_qparam(of_range(QDQ_UINT8, false, false, 0, 0), 1, 0);
    assert_qparam(of_range(QDQ_INT8, true, false, 0, 0), 1, 0);
    assert_true(qdq_qparam_from_range(&half, -0.007, 0.007, &p));
    assert_true(fabs((double)p.scale - 5.51e-05) < 0.01e-05);
    assert_true(qdq_qparam_from_range(&half, -0.008, 0.008, &p));
    assert_true(fabs((double)p.scale - 6.3e-05) < 0.01e-05);
    assert_true(qdq_qparam_from_range(&half, -1e-9, 1e-9, &p));
    assert_true(p.scale == 0x1p-23f); /* twice the smallest float16, not 0 and not 1 */
    assert_true(of_range(QDQ_INT8, true, false, -1e-45, 1e-45).scale > 0);
}

TEST(rounds_half_to_even_and_saturates)
{
    const float x[] = {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 127.6f, -128.7f};
    const int8_t want[] = {0, 2, 2, 0, -2, 127, -128};
    int8_t codes[7];
    qdq_qparam p = {QDQ_INT8, 1, 0};

    qdq_quantize_floats(&p, x, 7, codes);
    assert_memory_equal(codes, want, 7);
    for (int i = 0; i < 7; i++)
        assert_int_equal(qdq_quantize_value(&p, x[i]), want[i]);
}

TEST(pooled_ranges_give_one_scale)
{
    double low = fmin(-1, -2), high = fmax(4, 3);

    assert_qparam(of_range(QDQ_INT8, true, false, low, high), 0.03149606, 0);
}

TEST(scales_that_are_powers_of_two_are_rounded_up)
{
    static const struct {
        qdq_qscheme s;
        double low, high, scale;
        int zero_point;
    } cases[] = {
        {{QDQ_INT8, true, false, QDQ_FLOAT, true}, -3, 6.35, 0.0625, 0},
        {{QDQ_INT8, true, false, QDQ_FLOAT, true}, -1, 127 * 0.5, 0.5, 0}, /* one already */
        {{QDQ_UINT8, false, false, QDQ_FLOAT, true}, -1, 3, 0.015625 * 2, 32},
        {{QDQ_INT8, false, false, QDQ_FLOAT, true}, -1, 3, 0.03125, -96},
        {{QDQ_INT8, true, false, QDQ_FLOAT, true}, 0, 0, 1, 0},
        {{QDQ_FLOAT8E4M3FN, true, false, QDQ_FLOAT, true}, -1, 1, 0.00390625, 0},
        {{QDQ_INT8, true, false, QDQ_FLOAT16, true}, -1e-9, 1e-9, 0x1p-23, 0},
        /* float16 has no larger one */
        {{QDQ_INT8, true, false, QDQ_FLOAT16, true}, -1e8, 1e8, 32768, 0},
        {{QDQ_INT8, true, false, QDQ_FLOAT, true}, -1e300, 1e300, 0x1p127, 0},
    };

    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        qdq_qparam p;

        assert_true(qdq_qparam_from_range(&cases[i].s, cases[i].low, cases[i].high, &p));
        if ((double)p.scale != cases[i].scale || p.zero_point != cases[i].zero_point)
            fail_msg("case %zu: want %g, %d; got %g, %d", i, cases[i].scale, cases[i].zero_point,
                     (double)p.scale, (int)p.zero_point);
    }
}

TEST(infinity_and_nan_have_no_scale)
{
    qdq_qscheme s = {QDQ_UINT8, false, false, QDQ_FLOAT, false};
    qdq_qparam p;

    assert_false(qdq_qparam_from_range(&s, -INFINITY, 1, &p));
    assert_false(qdq_qparam_from_range(&s, 0, NAN, &p));
    s.type = QDQ_FLOAT;
    assert_false(qdq_qparam_from_range(&s, 0, 1, &p));
}

TEST(huge_and_nan_values_saturate)
{
    const float x[] = {1e30f, -1e30f, INFINITY, -INFINITY, NAN};
    const uint8_t want[] = {255, 0, 255, 0, 7};
    uint8_t codes[5];
    qdq_qparam p = {QDQ_UINT8, 0.1f, 7};

    qdq_quantize_floats(&p, x, 5, codes);
    assert_memory_equal(codes, want, 5);
}

TEST(vector_and_scalar_quantization_agree)
{
    float x[1000];
    uint16_t codes[1000];

    for (int i = 0; i < 1000; i++)
        x[i] = (float)(i - 500) * 0.37f;
    for (int zp = 0; zp < 65536; zp += 13107) {
        qdq_qparam p = {QDQ_UINT16, 0.011f, zp};

        qdq_quantize_floats(&p, x, 1000, codes);
        for (int i = 0; i < 1000; i++)
            assert_int_equal(codes[i], qdq_quantize_value(&p, x[i]));
    }
}

TEST(a_row_has_a_scale_for_each_value)
{
    const float x[] = {1, -1, 300, -300, NAN, 2.5f}, scales[] = {0.5f, 0.1f, 1, 1, 1, 1};
    const int8_t want[] = {2, -10, 127, -128, 0, 2};
    int8_t codes[6];

    qdq_quantize_row(QDQ_INT8, scales, NULL, x, 6, codes);
    assert_memory_equal(codes, want, 6);
}

TEST(rows_and_single_scales_agree_for_every_type)
{
    static const qdq_elem types[] = {QDQ_INT4,  QDQ_UINT4,  QDQ_INT8,        QDQ_UINT8,
                                     QDQ_INT16, QDQ_UINT16, QDQ_FLOAT8E4M3FN};
    float x[257], y[257], z[257], scales[257];
    int32_t zeros[257];
    uint16_t a[257], b[257];

    for (size_t t = 0; t < QDQ_COUNT(types); t++) {
        bool has_zero = types[t] != QDQ_FLOAT8E4M3FN;
        qdq_qparam p = {types[t], 0.043f, has_zero ? 3 : 0};

        for (int i = 0; i < 257; i++) {
            x[i] = (float)(i - 128) * 0.0217f;
            scales[i] = p.scale;
            zeros[i] = p.zero_point;
        }
        qdq_quantize_floats(&p, x, 257, a);
        qdq_quantize_row(p.type, scales, zeros, x, 257, b);
        assert_memory_equal(a, b, 257 * qdq_code_size(p.type));
        qdq_dequantize_floats(&p, a, 257, y);
        qdq_dequantize_row(p.type, scales, zeros, b, 257, z);
        assert_memory_equal(y, z, sizeof y);
        assert_true(fabsf(y[128]) <= 0 && fabsf(y[130] - x[130]) < p.scale);
    }
}

TEST(float8_uses_all_of_its_codes)
{
    const float x[] = {1, -1, 2, 0, -0.0f, 0.5f, NAN, 1e-9f, INFINITY};
    const uint8_t want[] = {0x7e, 0xfe, 0x7e, 0, 0x80, 0x76, 0x7f, 0, 0x7e};
    uint8_t codes[9];
    float back[9];
    qdq_qparam p = of_range(QDQ_FLOAT8E4M3FN, true, false, -0.3, 1);

    assert_qparam(p, 1 / 448.0, 0);
    qdq_quantize_floats(&p, x, 9, codes);
    assert_memory_equal(codes, want, 9);
    qdq_dequantize_floats(&p, codes, 9, back);
    assert_true(back[0] == 448 * p.scale && back[1] == -back[0] && isnan(back[6]));
    assert_int_equal(qdq_quantize_value(&p, 1), 0x7e);
    assert_qparam(of_range(QDQ_FLOAT8E4M3FN, true, false, 0, 0), 1, 0);
}

/* Every code, and the middle between each and the next, against the conversion that reads
 * models. */
TEST(float8_codes_are_those_of_onnx)
{
    qdq_qparam one = {QDQ_FLOAT8E4M3FN, 1, 0};

    for (int code = 0; code < 256; code++) {
        uint8_t c = (uint8_t)code, next = (uint8_t)(code + 1), put = 0;
        float value = qdq_elem_float(QDQ_FLOAT8E4M3FN, &c, 0), got;

        qdq_dequantize_floats(&one, &c, 1, &got);
        if ((code & 0x7f) == 0x7f) {
            assert_true(isnan(got));
            continue;
        }
        assert_true(got == value);
        assert_int_equal(qdq_quantize_value(&one, value), code);
        if ((next & 0x7f) == 0x7f)
            continue;
        float middle = (value + qdq_elem_float(QDQ_FLOAT8E4M3FN, &next, 0)) / 2;
        for (int side = -1; side <= 1; side++) {
            float x = side == 0 ? middle : nextafterf(middle, (float)side * INFINITY);

            assert_true(qdq_elem_put_float(QDQ_FLOAT8E4M3FN, &put, 0, (double)x));
            assert_int_equal(qdq_quantize_value(&one, x), put);
        }
    }
}

TEST(four_bits_have_zero_inside_their_range)
{
    const float far[] = {1.0f, 1.1f, 1.2f, 1.3f}, wide[] = {-.8f, .7f, .35f, 0};
    const uint8_t want_far[] = {12, 13, 14, 15}, want_wide[] = {0, 15, 12, 8};
    uint8_t codes[4];
    qdq_qparam p = of_range(QDQ_UINT4, false, false, (double)far[0], (double)far[3]);

    assert_qparam(p, 1.3 / 15, 0);
    qdq_quantize_floats(&p, far, 4, codes);
    assert_memory_equal(codes, want_far, 4);
    p = of_range(QDQ_UINT4, false, false, (double)wide[0], (double)wide[1]);
    assert_qparam(p, 0.1, 8);
    qdq_quantize_floats(&p, wide, 4, codes);
    assert_memory_equal(codes, want_wide, 4);
    assert_qparam(of_range(QDQ_INT4, true, false, -0.7, 0.2), 0.1, 0);
    assert_qparam(of_range(QDQ_UINT4, true, false, -0.75, 0.2), 0.1, 8);
}

TEST(two_codes_of_four_bits_lie_in_a_byte)
{
    static const struct {
        qdq_elem type;
        int8_t codes[8];
        size_t n;
        uint8_t packed[4];
    } cases[] = {
        {QDQ_INT4, {-8, 0, 7, 0, -8, 7}, 6, {0x08, 0x07, 0x78}},
        {QDQ_INT4, {1, 2, 3}, 3, {0x21, 0x03}},
        {QDQ_UINT4, {15, 0, 7, 0}, 4, {0x0f, 0x07}},
        {QDQ_INT4, {3, 7, -5, 2, 1, -8, 0, 4}, 8, {0x73, 0x2b, 0x81, 0x40}},
        {QDQ_INT8, {-128, 5}, 2, {0x80, 0x05}},
    };

    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        uint8_t packed[8] = {0};
        int8_t codes[8] = {0};

        qdq_pack_codes(cases[i].type, cases[i].codes, cases[i].n, packed);
        assert_memory_equal(packed, cases[i].packed, 4);
        qdq_unpack_codes(cases[i].type, packed, cases[i].n, codes);
        assert_memory_equal(codes, cases[i].codes, cases[i].n);
    }
}

/* what is stored is the exponent + 127 */
TEST(scales_of_mx_formats_are_powers_of_two)
{
    static const struct {
        double largest;
        int stored;
    } cases[] = {{3, 120}, {4, 121}, {7, 121}, {8, 122}, {448, 127}, {0, 0}};
    const qdq_qscheme s = {QDQ_FLOAT8E4M3FN, true, false, QDQ_FLOAT8E8M0, false};
    qdq_qparam p;

    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        assert_true(qdq_qparam_from_range(&s, -cases[i].largest, 0, &p));
        assert_true(p.scale == ldexpf(1, cases[i].stored - 127));
    }
}

TEST(decoding_inverts_encoding_within_half_a_step)
{
    const float x[] = {-1.0f, -0.4f, 0, 0.1f, 2.9f};
    float y[5];
    uint8_t codes[5];
    qdq_qparam p = of_range(QDQ_UINT8, false, false, -1, 3);

    qdq_quantize_floats(&p, x, 5, codes);
    qdq_dequantize_floats(&p, codes, 5, y);
    for (int i = 0; i < 5; i++)
        assert_true(fabsf(x[i] - y[i]) <= p.scale * 0.5001f);
    assert_true(y[2] == 0);
}

TEST(the_scale_of_a_bias_may_be_the_16_bit_number_next_to_the_product)
{
    assert_true(qdq_bias_scale_is(0.03F, 0.3 * 0.1));
    assert_true(qdq_bias_scale_is(0.030029296875F, 0.03));    /* bfloat16 */
    assert_true(qdq_bias_scale_is(0.029998779296875F, 0.03)); /* float16 */
    assert_false(qdq_bias_scale_is(0.0299072265625F, 0.03));  /* the bfloat16 on the other side */
    assert_false(qdq_bias_scale_is(0.03001F, 0.03));
    assert_false(qdq_bias_scale_is(0x1p-24F, 1.2 * 0x1p-24)); /* float16 has few digits there */
}

TEST(bias_codes_saturate_and_the_least_scale_fits)
{
    assert_int_equal(qdq_quantize_bias(1, 0.5f), 2);
    /* a dead channel, whose scale is too small for a float */
    assert_int_equal(qdq_quantize_bias(0, 0), 0);
    assert_int_equal(qdq_quantize_bias(1e-40f, 0), 0);
    assert_int_equal(qdq_quantize_bias(1e20f, 1e-9f), INT32_MAX);
    assert_int_equal(qdq_quantize_bias(-1e20f, 1e-9f), INT32_MIN);
    assert_true(fabs(qdq_bias_scale_min(5) - 2.3285e-09) < 1e-13);
    assert_true(fabs(5 / qdq_bias_scale_min(5)) < 2147483647.0);
}

TEST(minmax_leaves_out_what_is_not_finite)
{
    float x[] = {3, NAN, -2, INFINITY, -INFINITY, -0.0f};
    float low, high;
    uint64_t bad;

    assert_true(qdq_minmax(x, 6, &low, &high, &bad));
    assert_true(low == -2 && high == 3);
    assert_int_equal(bad, 3);
    assert_false(qdq_minmax(x + 3, 2, &low, &high, &bad));
    assert_false(qdq_minmax(x, 0, &low, &high, &bad));
    assert_true(qdq_absmax(x, 1) == 3 && qdq_absmax(x, 2) == -1);
}
