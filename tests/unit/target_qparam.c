/* target_qparam.c - scale and zero point arithmetic: ptq 8.3 cases N1 to N6, N15 (in quant_observer.c), N18. */
#include <float.h>
#include <math.h>

#include "support/test.h"
#include "target/qparam.h"

static qdq_qparam of_range(qdq_elem type, bool symmetric, bool reduced, double low, double high)
{
    qdq_qscheme s = {type, symmetric, reduced, QDQ_FLOAT};
    qdq_qparam p = {0};

    assert_true(qdq_qparam_from_range(&s, low, high, &p));
    return p;
}

static void assert_qparam(qdq_qparam p, double scale, int zero_point)
{
    if (fabs((double)p.scale - scale) > 1e-6 * scale || p.zero_point != zero_point)
        fail_msg("want %.9g, %d; got %.9g, %d", scale, zero_point, (double)p.scale, (int)p.zero_point);
}

static void n1_int8_symmetric_uses_the_larger_side(void **state)
{
    (void)state;
    assert_qparam(of_range(QDQ_INT8, true, false, -3, 6.35), 0.05, 0);
}

static void n2_uint8_asymmetric_always_includes_zero(void **state)
{
    (void)state;
    assert_qparam(of_range(QDQ_UINT8, false, false, -1, 3), 0.0156862745, 64);
    assert_qparam(of_range(QDQ_UINT8, false, false, 2, 6), 0.0235294118, 0);
    assert_qparam(of_range(QDQ_UINT8, false, false, -6, -2), 0.0235294118, 255);
    assert_qparam(of_range(QDQ_UINT8, true, false, -1, 3), 0.0235294118, 128);
    assert_true(of_range(QDQ_UINT8, false, false, -1, 3).scale == (float)(4.0 / 255));
}

static void n3_int8_asymmetric(void **state)
{
    (void)state;
    assert_qparam(of_range(QDQ_INT8, false, false, -1, 3), 0.0156862745, -64);
}

static void n4_sixteen_bits_and_reduced_ranges(void **state)
{
    (void)state;
    assert_qparam(of_range(QDQ_UINT16, false, false, -1, 3), 6.103609e-05, 16384);
    assert_qparam(of_range(QDQ_INT16, true, false, -1, 1), 3.051851e-05, 0);
    assert_qparam(of_range(QDQ_INT8, true, true, -1, 1), 0.015625, 0);
    assert_qparam(of_range(QDQ_UINT8, false, true, -1, 1), 0.01574803, 64);
}

static void n5_empty_and_tiny_ranges(void **state)
{
    qdq_qscheme half = {QDQ_INT8, true, false, QDQ_FLOAT16};
    qdq_qparam p;

    (void)state;
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

static void n6_rounds_half_to_even_and_saturates(void **state)
{
    const float x[] = {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 127.6f, -128.7f};
    const int8_t want[] = {0, 2, 2, 0, -2, 127, -128};
    int8_t codes[7];
    qdq_qparam p = {QDQ_INT8, 1, 0};

    (void)state;
    qdq_quantize_floats(&p, x, 7, codes);
    assert_memory_equal(codes, want, 7);
    for (int i = 0; i < 7; i++)
        assert_int_equal(qdq_quantize_value(&p, x[i]), want[i]);
}

static void n18_pooled_ranges_give_one_scale(void **state)
{
    double low = fmin(-1, -2), high = fmax(4, 3);

    (void)state;
    assert_qparam(of_range(QDQ_INT8, true, false, low, high), 0.03149606, 0);
}

static void infinity_and_nan_have_no_scale(void **state)
{
    qdq_qscheme s = {QDQ_UINT8, false, false, QDQ_FLOAT};
    qdq_qparam p;

    (void)state;
    assert_false(qdq_qparam_from_range(&s, -INFINITY, 1, &p));
    assert_false(qdq_qparam_from_range(&s, 0, NAN, &p));
    s.type = QDQ_FLOAT;
    assert_false(qdq_qparam_from_range(&s, 0, 1, &p));
}

static void huge_and_nan_values_saturate(void **state)
{
    const float x[] = {1e30f, -1e30f, INFINITY, -INFINITY, NAN};
    const uint8_t want[] = {255, 0, 255, 0, 7};
    uint8_t codes[5];
    qdq_qparam p = {QDQ_UINT8, 0.1f, 7};

    (void)state;
    qdq_quantize_floats(&p, x, 5, codes);
    assert_memory_equal(codes, want, 5);
}

static void vector_and_scalar_quantization_agree(void **state)
{
    float x[1000];
    uint16_t codes[1000];

    (void)state;
    for (int i = 0; i < 1000; i++)
        x[i] = (float)(i - 500) * 0.37f;
    for (int zp = 0; zp < 65536; zp += 13107) {
        qdq_qparam p = {QDQ_UINT16, 0.011f, zp};

        qdq_quantize_floats(&p, x, 1000, codes);
        for (int i = 0; i < 1000; i++)
            assert_int_equal(codes[i], qdq_quantize_value(&p, x[i]));
    }
}

static void a_row_has_a_scale_for_each_value(void **state)
{
    const float x[] = {1, -1, 300, -300, NAN, 2.5f}, scales[] = {0.5f, 0.1f, 1, 1, 1, 1};
    const int8_t want[] = {2, -10, 127, -128, 0, 2};
    int8_t codes[6];

    (void)state;
    qdq_quantize_row(x, scales, 6, codes);
    assert_memory_equal(codes, want, 6);
}

static void decoding_inverts_encoding_within_half_a_step(void **state)
{
    const float x[] = {-1.0f, -0.4f, 0, 0.1f, 2.9f};
    float y[5];
    uint8_t codes[5];
    qdq_qparam p = of_range(QDQ_UINT8, false, false, -1, 3);

    (void)state;
    qdq_quantize_floats(&p, x, 5, codes);
    qdq_dequantize_floats(&p, codes, 5, y);
    for (int i = 0; i < 5; i++)
        assert_true(fabsf(x[i] - y[i]) <= p.scale * 0.5001f);
    assert_true(y[2] == 0);
}

static void bias_codes_saturate_and_the_least_scale_fits(void **state)
{
    (void)state;
    assert_int_equal(qdq_quantize_bias(1, 0.5f), 2);
    assert_int_equal(qdq_quantize_bias(0, 0), 0); /* a dead channel, whose scale is too small for a float */
    assert_int_equal(qdq_quantize_bias(1e-40f, 0), 0);
    assert_int_equal(qdq_quantize_bias(1e20f, 1e-9f), INT32_MAX);
    assert_int_equal(qdq_quantize_bias(-1e20f, 1e-9f), INT32_MIN);
    assert_true(fabs(qdq_bias_scale_min(5) - 2.3285e-09) < 1e-13); /* ptq 8.3 case N17 */
    assert_true(fabs(5 / qdq_bias_scale_min(5)) < 2147483647.0);
}

static void minmax_leaves_out_what_is_not_finite(void **state)
{
    float x[] = {3, NAN, -2, INFINITY, -INFINITY, -0.0f};
    float low, high;
    uint64_t bad;

    (void)state;
    assert_true(qdq_minmax(x, 6, &low, &high, &bad));
    assert_true(low == -2 && high == 3);
    assert_int_equal(bad, 3);
    assert_false(qdq_minmax(x + 3, 2, &low, &high, &bad));
    assert_false(qdq_minmax(x, 0, &low, &high, &bad));
    assert_true(qdq_absmax(x, 1) == 3 && qdq_absmax(x, 2) == -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(n1_int8_symmetric_uses_the_larger_side),
        cmocka_unit_test(n2_uint8_asymmetric_always_includes_zero),
        cmocka_unit_test(n3_int8_asymmetric),
        cmocka_unit_test(n4_sixteen_bits_and_reduced_ranges),
        cmocka_unit_test(n5_empty_and_tiny_ranges),
        cmocka_unit_test(n6_rounds_half_to_even_and_saturates),
        cmocka_unit_test(n18_pooled_ranges_give_one_scale),
        cmocka_unit_test(infinity_and_nan_have_no_scale),
        cmocka_unit_test(huge_and_nan_values_saturate),
        cmocka_unit_test(vector_and_scalar_quantization_agree),
        cmocka_unit_test(a_row_has_a_scale_for_each_value),
        cmocka_unit_test(decoding_inverts_encoding_within_half_a_step),
        cmocka_unit_test(bias_codes_saturate_and_the_least_scale_fits),
        cmocka_unit_test(minmax_leaves_out_what_is_not_finite),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
