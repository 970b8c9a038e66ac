/* opt_rules_qdq.c - the rewrites that may touch Q and DQ, and what they must not touch. */
#include "support/rewrite.h"

#define OPSET(n) "<ir_version: 10, opset_import: [\"\" : " #n "]> "
#define CLEAN    ",drop-unused"

/* --- collapse-requantize ---------------------------------------------------------------------- */

/* optimizer 10 case 9 */
static void codes_that_come_back_are_passed_on(void **state)
{
    (void)state;
    assert_becomes("collapse-requantize" CLEAN,
                   "g (uint8[N] x) => (float[N] y) <float s = {0.1}, uint8 z = {3}> {\n"
                   "  d = DequantizeLinear(x, s, z)\n  q = QuantizeLinear(d, s, z)\n  y = "
                   "DequantizeLinear(q, s, z)\n}",
                   "g (uint8[N] x) => (float[N] y) <float s = {0.1}, uint8 z = {3}> { y = "
                   "DequantizeLinear(x, s, z) }");
    /* equal bits in other tensors, a zero point that is left out, 16 bits, one scale per channel */
    assert_becomes(
        "collapse-requantize" CLEAN,
        "g (uint8[N] x) => (float[N] y) <float s = {0.1}, float t = {0.1}, uint8 z = {0}> {\n"
        "  d = DequantizeLinear(x, s, z)\n  q = QuantizeLinear(d, t)\n  y = DequantizeLinear(q, s, "
        "z)\n}",
        "g (uint8[N] x) => (float[N] y) <float s = {0.1}, uint8 z = {0}> { y = DequantizeLinear(x, "
        "s, z) }");
    assert_becomes(
        "collapse-requantize" CLEAN,
        OPSET(21) "g (int16[N] x) => (float[N] y) <float s = {0.1}, int16 z = {0}> {\n"
                  "  d = DequantizeLinear(x, s)\n  q = QuantizeLinear <output_dtype = 5> (d, s)\n "
                  " y = DequantizeLinear(q, s, z)\n}",
        OPSET(21) "g (int16[N] x) => (float[N] y) <float s = {0.1}, int16 z = {0}> { y = "
                  "DequantizeLinear(x, s, z) }");
    assert_becomes(
        "collapse-requantize" CLEAN,
        "g (int8[4,2] x) => (float[4,2] y) <float[2] s = {0.1, 0.2}, int8[2] z = {0, 1}> {\n"
        "  d = DequantizeLinear <axis = -1> (x, s, z)\n  q = QuantizeLinear(d, s, z)\n  y = "
        "DequantizeLinear(q, s, z)\n}",
        "g (int8[4,2] x) => (float[4,2] y) <float[2] s = {0.1, 0.2}, int8[2] z = {0, 1}> { y = "
        "DequantizeLinear(x, s, z) }");
}

static void two_pairs_with_the_same_parameters_become_one(void **state)
{
    (void)state;
    assert_becomes("collapse-requantize" CLEAN,
                   "g (float[N] x) => (float[N] y) <float s = {0.1}, uint8 z = {3}> {\n"
                   "  a = QuantizeLinear(x, s, z)\n  b = DequantizeLinear(a, s, z)\n"
                   "  c = QuantizeLinear(b, s, z)\n  y = DequantizeLinear(c, s, z)\n}",
                   "g (float[N] x) => (float[N] y) <float s = {0.1}, uint8 z = {3}> {\n"
                   "  a = QuantizeLinear(x, s, z)\n  y = DequantizeLinear(a, s, z)\n}");
}

static void a_pair_on_an_activation_stays(void **state)
{
    (void)state;
    assert_kept("collapse-requantize",
                "g (float[N] x) => (float[N] y) <float s = {0.1}, uint8 z = {3}> {\n"
                "  a = QuantizeLinear(x, s, z)\n  b = DequantizeLinear(a, s, z)\n  y = Relu(b)\n}");
}

/* optimizer 10 case 9: one unit in the last place */
static void parameters_that_differ_in_a_bit_keep_both(void **state)
{
    static const char why[] = "the scales, zero points or types differ";
    static const char *const q[] = {"QuantizeLinear(d, t, z)", "QuantizeLinear(d, s, o)",
                                    "QuantizeLinear(d, s)", "QuantizeLinear(d, s, i)"};
    char text[400];

    (void)state;
    for (size_t i = 0; i < QDQ_COUNT(q); i++) {
        snprintf(text, sizeof text,
                 "g (uint8[N] x) => (float[N] y) <float s = {0.1}, float t = {0.10000001}, uint8 z "
                 "= {3}, "
                 "uint8 o = {4}, int8 i = {3}> {\n"
                 "  d = DequantizeLinear(x, s, z)\n  q = %s\n  y = my.Use(q)\n}",
                 q[i]);
        assert_refused("collapse-requantize", text, why);
    }
    assert_refused(
        "collapse-requantize",
        "g (int8[2,2] x) => (int8[2,2] y) <float[2] s = {0.1, 0.2}, int8[2] z = {0, 0}> {\n"
        "  d = DequantizeLinear <axis = 0> (x, s, z)\n  y = QuantizeLinear <axis = 1> (d, s, z)\n}",
        why);
}

static void codes_that_may_not_come_back_keep_both(void **state)
{
    static const char why[] = "do not come back exactly";

    (void)state;
    assert_refused("collapse-requantize",
                   "g (int8[N] x) => (int8[N] y) <float s = {1e-40}, int8 z = {0}> { d = "
                   "DequantizeLinear(x, s, z) y = "
                   "QuantizeLinear(d, s, z) }",
                   why);
    assert_refused("collapse-requantize",
                   "g (int8[N] x) => (int8[N] y) <float s = {1e37}, int8 z = {0}> { d = "
                   "DequantizeLinear(x, s, z) y = "
                   "QuantizeLinear(d, s, z) }",
                   why);
    assert_refused(
        "collapse-requantize",
        OPSET(21) "g (int16[N] x) => (int16[N] y) <float16 s = {0.1}, int16 z = {0}> { d = "
                  "DequantizeLinear(x, s, z) y = "
                  "QuantizeLinear(d, s, z) }",
        why);
    assert_refused(
        "collapse-requantize",
        OPSET(19) "g (float8e4m3fn[N] x) => (float8e4m3fn[N] y) <float s = {0.1}, float8e4m3fn z "
                  "= {0.0}> { d = "
                  "DequantizeLinear(x, s, z) y = QuantizeLinear(d, s, z) }",
        why);
}

static void parameters_that_are_computed_keep_both(void **state)
{
    (void)state;
    assert_refused(
        "collapse-requantize",
        "g (int8[N] x, float s) => (int8[N] y) <int8 z = {0}> { d = DequantizeLinear(x, s, z) y = "
        "QuantizeLinear(d, s, z) }",
        "its scale is computed");
    assert_refused(
        "collapse-requantize",
        "g (int8[N] x, float s = {0.1}) => (int8[N] y) <int8 z = {0}> { d = DequantizeLinear(x, "
        "s, z) y = QuantizeLinear(d, s, z) }",
        "its scale is computed");
}

static void a_dequantized_value_that_others_read_stays(void **state)
{
    (void)state;
    assert_becomes(
        "collapse-requantize" CLEAN,
        "g (uint8[N] x) => (float[N] d, uint8[N] y) <float s = {0.1}, uint8 z = {3}> {\n"
        "  d = DequantizeLinear(x, s, z)\n  q = QuantizeLinear(d, s, z)\n  y = my.Use(q)\n}",
        "g (uint8[N] x) => (float[N] d, uint8[N] y) <float s = {0.1}, uint8 z = {3}> {\n"
        "  d = DequantizeLinear(x, s, z)\n  y = my.Use(x)\n}");
}

/* --- drop-bounds-before-quantize -------------------------------------------------------------- */

/* optimizer 10 case 10 */
static void a_relu_goes_where_codes_begin_at_zero(void **state)
{
    static const char *const zero[] = {"uint8 z = {0}", "int8 z = {-128}", "uint16 z = {0}"};
    char before[400], after[400];

    (void)state;
    for (size_t i = 0; i < QDQ_COUNT(zero); i++) {
        char type[20];

        snprintf(type, sizeof type, "%.*s", (int)strcspn(zero[i], " "), zero[i]);
        snprintf(before, sizeof before,
                 OPSET(21) "g (float[N] x) => (%s[N] y) <float s = {0.1}, %s> { c = Neg(x) r = "
                           "Relu(c) y = "
                           "QuantizeLinear(r, s, z) }",
                 type, zero[i]);
        snprintf(after, sizeof after,
                 OPSET(21) "g (float[N] x) => (%s[N] y) <float s = {0.1}, %s> { c = Neg(x) y = "
                           "QuantizeLinear(c, s, z) }",
                 type, zero[i]);
        assert_becomes("drop-bounds-before-quantize" CLEAN, before, after);
    }
    assert_becomes(
        "drop-bounds-before-quantize" CLEAN,
        "g (float[N] x) => (uint8[N] y) <float s = {0.1}> { r = Relu(x) y = QuantizeLinear(r, s) }",
        "g (float[N] x) => (uint8[N] y) <float s = {0.1}> { y = QuantizeLinear(x, s) }");
}

/* optimizer 10 case 10 */
static void a_relu_stays_where_there_are_codes_below_zero(void **state)
{
    static const char why[] = "there are codes beyond the bounds";

    (void)state;
    assert_refused(
        "drop-bounds-before-quantize",
        "g (float[N] x) => (int8[N] y) <float s = {0.1}, int8 z = {0}> { r = Relu(x) y = "
        "QuantizeLinear(r, s, z) }",
        why);
    assert_refused(
        "drop-bounds-before-quantize",
        "g (float[N] x) => (uint8[N] y) <float s = {0.1}, uint8 z = {1}> { r = Relu(x) y = "
        "QuantizeLinear(r, s, z) }",
        why);
    assert_refused("drop-bounds-before-quantize",
                   "g (float[2,2] x) => (uint8[2,2] y) <float[2] s = {0.1, 0.2}, uint8[2] z = {0, "
                   "1}> { r = Relu(x) y = "
                   "QuantizeLinear(r, s, z) }",
                   why);
}

static void a_clip_goes_where_codes_end_at_its_bounds(void **state)
{
    (void)state;
    /* 6 / 0.0235294 = 255.0001 rounds to 255 */
    assert_becomes(
        "drop-bounds-before-quantize" CLEAN,
        "g (float[N] x) => (uint8[N] y) <float s = {0.0235294}, uint8 z = {0}, float lo = {0}, "
        "float hi = {6}> {\n"
        "  r = Clip(x, lo, hi)\n  y = QuantizeLinear(r, s, z)\n}",
        "g (float[N] x) => (uint8[N] y) <float s = {0.0235294}, uint8 z = {0}> { y = "
        "QuantizeLinear(x, s, z) }");
    assert_becomes(
        "drop-bounds-before-quantize" CLEAN,
        "g (float[N] x) => (int8[N] y) <float s = {0.1}, int8 z = {0}, float hi = {12.7}> {\n"
        "  r = Clip(x, \"\", hi)\n  y = QuantizeLinear(r, s, z)\n}",
        "g (float[N] x) => (int8[N] y) <float s = {0.1}, int8 z = {0}> { y = QuantizeLinear(x, s, "
        "z) }");
    assert_becomes(
        "drop-bounds-before-quantize" CLEAN,
        OPSET(10) "g (float[N] x) => (uint8[N] y) <float s = {0.02}, uint8 z = {0}> {\n"
                  "  r = Clip <min = 0.0, max = 6.0> (x)\n  y = QuantizeLinear(r, s, z)\n}",
        OPSET(10) "g (float[N] x) => (uint8[N] y) <float s = {0.02}, uint8 z = {0}> { y = "
                  "QuantizeLinear(x, s, z) }");
}

static void a_clip_that_cuts_off_codes_stays(void **state)
{
    (void)state;
    assert_refused("drop-bounds-before-quantize",
                   "g (float[N] x) => (uint8[N] y) <float s = {0.03}, uint8 z = {0}, float lo = "
                   "{0}, float hi = {6}> {\n"
                   "  r = Clip(x, lo, hi)\n  y = QuantizeLinear(r, s, z)\n}",
                   "there are codes beyond the bounds");
    assert_refused("drop-bounds-before-quantize",
                   "g (float[N] x, float lo) => (uint8[N] y) <float s = {0.03}, uint8 z = {0}> {\n"
                   "  r = Clip(x, lo)\n  y = QuantizeLinear(r, s, z)\n}",
                   "the bounds are not constant numbers");
    assert_refused("drop-bounds-before-quantize",
                   "g (float[N] x) => (uint8[N] y) <float s = {0.03}, uint8 z = {0}, float lo = "
                   "{9}, float hi = {8}> {\n"
                   "  r = Clip(x, lo, hi)\n  y = QuantizeLinear(r, s, z)\n}",
                   "the bounds are not constant numbers");
}

static void a_clip_to_infinity_stays(void **state)
{
    (void)state;
    assert_refused(
        "drop-bounds-before-quantize",
        "g (float[N] x) => (uint8[N] y) <float s = {0.03}, uint8 z = {0}, float i = {inf}> {\n"
        "  r = Clip(x, i)\n  y = QuantizeLinear(r, s, z)\n}",
        "there are codes beyond the bounds");
    assert_refused(
        "drop-bounds-before-quantize",
        "g (float[N] x) => (uint8[N] y) <float s = {0.03}, uint8 z = {0}, float i = {-inf}> {\n"
        "  r = Clip(x, \"\", i)\n  y = QuantizeLinear(r, s, z)\n}",
        "there are codes beyond the bounds");
}

static void bounds_stay_where_the_codes_are_not_plain(void **state)
{
    static const char why[] = "the codes are of a type with rules of its own";

    (void)state;
    assert_refused(
        "drop-bounds-before-quantize",
        OPSET(19) "g (float[N] x) => (float8e4m3fn[N] y) <float s = {0.1}, float8e4m3fn z = "
                  "{0.0}> { r = Relu(x) y = "
                  "QuantizeLinear(r, s, z) }",
        why);
    assert_refused(
        "drop-bounds-before-quantize",
        "g (float[N] x) => (uint8[N] y) <float s = {0}, uint8 z = {0}> { r = Relu(x) y = "
        "QuantizeLinear(r, s, z) }",
        why);
    assert_refused("drop-bounds-before-quantize",
                   "g (float[N] x, float s) => (uint8[N] y) <uint8 z = {0}> { r = Relu(x) y = "
                   "QuantizeLinear(r, s, z) }",
                   "its scale is computed");
}

static void a_relu_that_others_read_stays(void **state)
{
    (void)state;
    assert_kept("drop-bounds-before-quantize",
                "g (float[N] x) => (uint8[N] y, float[N] r) <float s = {0.1}, "
                "uint8 z = {0}> { r = Relu(x) y = QuantizeLinear(r, s, z) }");
    assert_kept("drop-bounds-before-quantize",
                "g (float[N] x) => (uint8[N] y, float[N] w) <float s = {0.1}, "
                "uint8 z = {0}> { r = Relu(x) w = Exp(r) y = "
                "QuantizeLinear(r, s, z) }");
}

/* --- layout-before-dequantize ----------------------------------------------------------------- */

/* optimizer 10 case 8 */
static void a_transpose_of_a_quantized_weight_is_a_transposed_weight(void **state)
{
    (void)state;
    assert_becomes(
        "layout-before-dequantize,fold-constants" CLEAN,
        "g (float[N,5] x) => (float[N,3] y) <int8[3,5] w = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15}, "
        "float[5] s = {1,2,3,4,5}> {\n"
        "  d = DequantizeLinear <axis = 1> (w, s)\n  t = Transpose <perm = [1, 0]> (d)\n  y = "
        "MatMul(x, t)\n}",
        "g (float[N,5] x) => (float[N,3] y) <float[5] s = {1,2,3,4,5}, int8[5,3] t_1 = "
        "{1,6,11,2,7,12,3,8,13,4,9,14,5,10,15}> {\n"
        "  t = DequantizeLinear <axis = 0> (t_1, s)\n  y = MatMul(x, t)\n}");
}

static void reshapes_of_a_quantized_weight_are_done_to_the_weight(void **state)
{
    static const char *const layouts[] = {"Reshape(d, shape)", "Flatten(d)", "Squeeze(d, one)"};
    char before[500];

    (void)state;
    for (size_t i = 0; i < QDQ_COUNT(layouts); i++) {
        snprintf(before, sizeof before,
                 "g (float[N,2] x) => (float[N,3] y) <int8[2,1,3] w = {1,2,3,4,5,6}, float s = "
                 "{1}, int8 z = "
                 "{0}, int64[2] shape = {2, -1}, "
                 "int64[1] one = {1}> {\n  d = DequantizeLinear(w, s, z)\n  t = %s\n  y = "
                 "MatMul(x, t)\n}",
                 layouts[i]);
        assert_becomes(
            "layout-before-dequantize,fold-constants" CLEAN, before,
            "g (float[N,2] x) => (float[N,3] y) <float s = {1}, int8 z = {0}, int8[2,3] t_1 = "
            "{1,2,3,4,5,6}> {\n"
            "  t = DequantizeLinear(t_1, s, z)\n  y = MatMul(x, t)\n}");
    }
    assert_becomes(
        "layout-before-dequantize,fold-constants" CLEAN,
        "g () => (float[1,3] t) <int8[3] w = {1,2,3}, float s = {1}, int64[1] a = {0}> { d = "
        "DequantizeLinear(w, s) t = Unsqueeze(d, a) }",
        "g () => (float[1,3] t) <float s = {1}, int8[1,3] t_1 = {1,2,3}> { t = "
        "DequantizeLinear(t_1, s) }");
}

static void scales_follow_their_axis_through_a_reshape(void **state)
{
    (void)state;
    assert_becomes(
        "layout-before-dequantize,fold-constants" CLEAN, /* one scale has none */
        "g () => (float[4] y) <int8[2,1,2] w = {1,2,3,4}, float[1] s = {2}, int64[1] a = {4}> {\n"
        "  d = DequantizeLinear <axis = 2> (w, s)\n  y = Reshape(d, a)\n}",
        "g () => (float[4] y) <float[1] s = {2}, int8[4] y_1 = {1,2,3,4}> { y = "
        "DequantizeLinear(y_1, s) }");
    assert_becomes(
        "layout-before-dequantize,fold-constants" CLEAN,
        "g () => (float[2,1,1,2] y) <int8[2,2] w = {1,2,3,4}, float[2] s = {1, 2}, int64[4] a = "
        "{2, 1, 1, 2}> {\n"
        "  d = DequantizeLinear <axis = 1> (w, s)\n  y = Reshape(d, a)\n}",
        "g () => (float[2,1,1,2] y) <float[2] s = {1, 2}, int8[2,1,1,2] y_1 = {1,2,3,4}> { y = "
        "DequantizeLinear <axis = 3> (y_1, s) }");
    assert_becomes("layout-before-dequantize,fold-constants" CLEAN,
                   "g () => (float[2,2] y) <int8[2,2,1] w = {1,2,3,4}, float[2] s = {1, 2}> {\n"
                   "  d = DequantizeLinear <axis = 0> (w, s)\n  y = Flatten(d)\n}",
                   "g () => (float[2,2] y) <float[2] s = {1, 2}, int8[2,2] y_1 = {1,2,3,4}> { y = "
                   "DequantizeLinear <axis = 0> (y_1, s) }");
}

static void scales_whose_axis_goes_keep_the_layout_behind(void **state)
{
    static const char why[] = "the axis of the scales does not survive";

    (void)state;
    assert_refused(
        "layout-before-dequantize",
        "g () => (float[4] y) <int8[2,2] w = {1,2,3,4}, float[2] s = {1, 2}, int64[1] a = {4}> {\n"
        "  d = DequantizeLinear <axis = 0> (w, s)\n  y = Reshape(d, a)\n}",
        why);
    /* two dims of 2, but the scales lie along the other one */
    assert_refused(
        "layout-before-dequantize",
        "g () => (float[3,2,2] y) <int8[2,6] w = {1,2,3,4,5,6,7,8,9,10,11,12}, float[2] s = {1, "
        "2}, int64[3] a = {3, 2, 2}> {\n"
        "  d = DequantizeLinear <axis = 0> (w, s)\n  y = Reshape(d, a)\n}",
        why);
}

static void layouts_of_what_is_no_constant_or_blocked_or_read_elsewhere_stay(void **state)
{
    (void)state;
    assert_kept("layout-before-dequantize", "g (int8[3,5] w) => (float[5,3] y) <float s = {1}> { d "
                                            "= DequantizeLinear(w, s) y = Transpose(d) }");
    assert_kept("layout-before-dequantize",
                "g () => (float[2,1] y, float[1,2] d) <int8[1,2] w = {1, 2}, "
                "float s = {1}> { d = DequantizeLinear(w, s) y = Transpose(d) }");
    assert_refused(
        "layout-before-dequantize",
        OPSET(21) "g () => (float[2,2] y) <int8[2,2] w = {1,2,3,4}, float[2,1] s = {1, 2}> { d = "
                  "DequantizeLinear <axis = 1, block_size = 2> (w, s) y = "
                  "Transpose(d) }",
        "the scales are blocked");
    assert_refused(
        "layout-before-dequantize",
        "g (float[] s) => (float[2,2] y) <int8[2,2] w = {1,2,3,4}> { d = DequantizeLinear(w, s) y "
        "= Transpose(d) }",
        "the rank of the scale is not known");
    assert_refused("layout-before-dequantize",
                   "g () => (float[2,2] y) <int8[2,2] w = {1,2,3,4}, float[2] s = {1, 2}> { d = "
                   "DequantizeLinear <axis = 7> (w, s) y = Transpose(d) }",
                   "not one of the tensor");
}

/* optimizer 10 cases 4 and 7: what these rules leave alone */
static void two_dequantizes_of_one_activation_and_a_zero_zero_point_stay(void **state)
{
    (void)state;
    assert_kept("rules",
                "g (uint8[1,1,2,2] x) => (float[1,1,2,2] y, float[1,1,2,2] u) <float s = {0.1}, "
                "uint8 z = {0}, float[1,1,1,1] w = {2}> {\n"
                "  a = DequantizeLinear(x, s, z)\n  b = DequantizeLinear(x, s, z)\n  y = Conv(a, "
                "w)\n  u = Conv(b, w)\n}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_that_come_back_are_passed_on),
        cmocka_unit_test(two_pairs_with_the_same_parameters_become_one),
        cmocka_unit_test(a_pair_on_an_activation_stays),
        cmocka_unit_test(parameters_that_differ_in_a_bit_keep_both),
        cmocka_unit_test(codes_that_may_not_come_back_keep_both),
        cmocka_unit_test(parameters_that_are_computed_keep_both),
        cmocka_unit_test(a_dequantized_value_that_others_read_stays),
        cmocka_unit_test(a_relu_goes_where_codes_begin_at_zero),
        cmocka_unit_test(a_relu_stays_where_there_are_codes_below_zero),
        cmocka_unit_test(a_clip_goes_where_codes_end_at_its_bounds),
        cmocka_unit_test(a_clip_that_cuts_off_codes_stays),
        cmocka_unit_test(a_clip_to_infinity_stays),
        cmocka_unit_test(bounds_stay_where_the_codes_are_not_plain),
        cmocka_unit_test(a_relu_that_others_read_stays),
        cmocka_unit_test(a_transpose_of_a_quantized_weight_is_a_transposed_weight),
        cmocka_unit_test(reshapes_of_a_quantized_weight_are_done_to_the_weight),
        cmocka_unit_test(scales_follow_their_axis_through_a_reshape),
        cmocka_unit_test(scales_whose_axis_goes_keep_the_layout_behind),
        cmocka_unit_test(layouts_of_what_is_no_constant_or_blocked_or_read_elsewhere_stay),
        cmocka_unit_test(two_dequantizes_of_one_activation_and_a_zero_zero_point_stay),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
