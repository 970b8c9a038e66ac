/* opt_fold_scale.c - a factor per channel behind a MatMul goes into its weight. */
#include "support/rewrite.h"

#define PIPELINE "fold-scale,drop-unused"

static void a_factor_behind_a_product_goes_into_its_weight(void **state)
{
    static const char *const spellings[] = {"y = Mul(p, g)", "y = Mul(g, p)", "y = Div(p, d)"};

    (void)state;
    for (size_t i = 0; i < QDQ_COUNT(spellings); i++) {
        char before[500];

        snprintf(before, sizeof before,
                 "h (float[N,2] x) => (float[N,2] y) <float[2,2] w = {1, 2, 3, 4}, float[2] g = "
                 "{2, 0.5},\n"
                 "float[2] d = {0.5, 2}> {\n  p = MatMul(x, w) %s\n}\n",
                 spellings[i]);
        assert_becomes(PIPELINE, before,
                       "h (float[N,2] x) => (float[N,2] y) <float[2,2] w_folded = {2, 1, 6, 2}> {\n"
                       "  y = MatMul(x, w_folded)\n}\n");
    }
}

static void one_factor_for_all_is_one_for_each(void **state)
{
    (void)state;
    assert_becomes(
        PIPELINE,
        "h (float[N,2] x) => (float[N,2] y) <float[2,2] w = {1, 2, 3, 4}, float b = {4}, float[1] "
        "g = {2}> {\n"
        "  p = MatMul(x, w) q = Add(p, b) y = Mul(q, g)\n}\n",
        "h (float[N,2] x) => (float[N,2] y) <float[2,2] w_folded = {2, 4, 6, 8}, float[2] "
        "b_scaled = {8, 8}> {\n"
        "  p = MatMul(x, w_folded) y = Add(p, b_scaled)\n}\n");
}

static void a_bias_before_the_factor_is_scaled_too(void **state)
{
    static const char *const biases[][2] = {{"q = Add(p, b)", "y = Add(p, b_scaled)"},
                                            {"q = Add(b, p)", "y = Add(b_scaled, p)"}};

    (void)state;
    for (size_t i = 0; i < QDQ_COUNT(biases); i++) {
        char before[500], after[500];

        snprintf(before, sizeof before,
                 "h (float[N,3,2] x) => (float[N,3,2] y) <float[2,2] w = {1, 2, 3, 4}, float[1,2] "
                 "b = {5, 6},\n"
                 "float[1,1,2] g = {2, 0.5}> {\n  p = MatMul(x, w) %s y = Mul(q, g)\n}\n",
                 biases[i][0]);
        snprintf(after, sizeof after,
                 "h (float[N,3,2] x) => (float[N,3,2] y) <float[2,2] w_folded = {2, 1, 6, 2},\n"
                 "float[1,2] b_scaled = {10, 3}> {\n  p = MatMul(x, w_folded) %s\n}\n",
                 biases[i][1]);
        assert_becomes(PIPELINE, before, after);
    }
}

static void the_way_back_to_channels_first_is_no_obstacle(void **state)
{
    (void)state;
    assert_becomes(PIPELINE,
                   "h (float[N,H,W,2] x) => (float[N,2,H,W] y) <float[2,2] w = {1, 2, 3, 4}, "
                   "float[2] b = {5, 6},\n"
                   "float[2,1,1] g = {2, 0.5}> {\n"
                   "  p = MatMul(x, w) q = Add(p, b) t = Transpose <perm = [0, 3, 1, 2]> (q) y = "
                   "Mul(g, t)\n}\n",
                   "h (float[N,H,W,2] x) => (float[N,2,H,W] y) <float[2,2] w_folded = {2, 1, 6, "
                   "2}, float[2] b_scaled = "
                   "{10, 3}> {\n"
                   "  p = MatMul(x, w_folded) q = Add(p, b_scaled) y = Transpose <perm = [0, 3, 1, "
                   "2]> (q)\n}\n");
}

static void factors_along_other_axes_stay(void **state)
{
    static const char *const others[] = {
        "p = MatMul(x, w) y = Mul(p, column)",
        "p = MatMul(x, w) y = Mul(p, matrix)",
        "p = MatMul(x, w) t = Transpose <perm = [1, 0]> (p) y = Mul(t, g)",
        "p = MatMul(x, w) t = Transpose(p) y = Mul(t, column)",
        "p = MatMul(x, w) t = Transpose <perm = [0, 0]> (p) y = Mul(t, g)",
        "p = MatMul(x, w) t = Transpose <perm = [2, 1, 0]> (p) y = Mul(t, g)",
        "p = MatMul(x, w) y = Mul(p, deep)",
        "p = MatMul(x, w) y = Div(g, p)",
        "p = MatMul(x, w) y = Mul(p, p)",
        "p = MatMul(x, w) y = Mul(p, x)",
        "p = MatMul(x, w) q = Add(p, column) y = Mul(q, g)",
        "p = MatMul(x, w) q = Add(p, x) y = Mul(q, g)",
        "p = MatMul(x, w) q = Add(p, g) r = Add(q, g) y = Mul(r, g)",
        "p = MatMul(w, x) y = Mul(p, g)",
        "p = MatMul(x, x) y = Mul(p, g)",
        "p = MatMul(x, w) q = Relu(p) y = Mul(q, g)",
    };

    (void)state;
    for (size_t i = 0; i < QDQ_COUNT(others); i++) {
        char text[800];

        snprintf(
            text, sizeof text,
            "h (float[2,2] x) => (float[] y) <float[2,2] w = {1, 2, 3, 4}, float[2] g = {2, 0.5},\n"
            "float[2,1] column = {2, 3}, float[2,2] matrix = {1, 2, 3, 4}, float[1,1,2] deep = {2, "
            "3}> "
            "{\n%s\n}\n",
            others[i]);
        assert_kept("fold-scale", text);
    }
}

static void a_rank_that_is_not_proven_allows_vectors_only(void **state)
{
    (void)state;
    assert_kept(
        "fold-scale",
        "h (float[] x) => (float[] y) <float[2,2] w = {1, 2, 3, 4}, float[1,2] g = {2, 3}> {\n"
        "  p = MatMul(x, w) y = Mul(p, g)\n}\n");
    assert_becomes(
        PIPELINE,
        "h (float[] x) => (float[] y) <float[2,2] w = {1, 2, 3, 4}, float[2] g = {2, 3}> {\n"
        "  p = MatMul(x, w) y = Mul(p, g)\n}\n",
        "h (float[] x) => (float[] y) <float[2,2] w_folded = {2, 6, 6, 12}> {\n"
        "  y = MatMul(x, w_folded)\n}\n");
}

static void what_is_read_in_between_keeps_the_factor(void **state)
{
    static const char *const outputs[] = {"p", "q", "t"};

    (void)state;
    for (size_t i = 0; i < QDQ_COUNT(outputs); i++) {
        char text[500];

        snprintf(
            text, sizeof text,
            "h (float[2,2] x) => (float[2,2] y, float[2,2] %s) <float[2,2] w = {1, 2, 3, 4},\n"
            "float[2] b = {5, 6}, float[2,1] g = {2, 0.5}> {\n"
            "  p = MatMul(x, w) q = Add(p, b) t = Transpose <perm = [1, 0]> (q) y = Mul(t, g)\n}\n",
            outputs[i]);
        assert_kept("fold-scale", text);
    }
}

static void a_weight_that_others_read_stays_for_them(void **state)
{
    (void)state;
    assert_becomes(
        PIPELINE,
        "h (float[2,2] x) => (float[2,2] y, float[2,2] z) <float[2,2] w = {1, 2, 3, 4}, float[2] "
        "b = {5, 6},\n"
        "float[2] g = {2, 0.5}> {\n"
        "  p = MatMul(x, w) q = Add(p, b) y = Mul(q, g) r = MatMul(x, w) z = Add(r, b)\n}\n",
        "h (float[2,2] x) => (float[2,2] y, float[2,2] z) <float[2,2] w = {1, 2, 3, 4}, float[2] "
        "b = {5, 6},\n"
        "float[2,2] w_folded = {2, 1, 6, 2}, float[2] b_scaled = {10, 3}> {\n"
        "  p = MatMul(x, w_folded) y = Add(p, b_scaled) r = MatMul(x, w) z = Add(r, b)\n}\n");
}

static void quantized_weights_keep_their_codes(void **state)
{
    (void)state;
    assert_becomes(
        PIPELINE,
        "h (float[2,2] x) => (float[2,2] y) <int8[2,2] w = {1, 2, 3, 4}, float[2] s = {0.5, 1},\n"
        "int8[2] z = {0, 0}, float[2] g = {2, -0.5}> {\n"
        "  d = DequantizeLinear <axis = 1> (w, s, z) p = MatMul(x, d) y = Mul(p, g)\n}\n",
        "h (float[2,2] x) => (float[2,2] y) <int8[2] z = {0, 0}, int8[2,2] w_folded = {1, -2, 3, "
        "-4},\n"
        "float[2] s_folded = {1, 0.5}> {\n"
        "  d = DequantizeLinear <axis = 1> (w_folded, s_folded, z) y = MatMul(x, d)\n}\n");
    /* one scale becomes one for each channel */
    assert_becomes(
        PIPELINE,
        "h (float[2,2] x) => (float[2,2] y) <int8[2,2] w = {1, 2, 3, 4}, float s = {0.5}, int8 z = "
        "{0},\n"
        "float[2] g = {2, 0.5}> {\n"
        "  d = DequantizeLinear(w, s, z) p = MatMul(x, d) y = Mul(p, g)\n}\n",
        "h (float[2,2] x) => (float[2,2] y) <int8[2,2] w = {1, 2, 3, 4}, int8[2] z_folded = {0, "
        "0},\n"
        "float[2] s_folded = {1, 0.25}> {\n"
        "  d = DequantizeLinear <axis = 1> (w, s_folded, z_folded) y = MatMul(x, d)\n}\n");
}

static void quantization_in_between_keeps_the_factor(void **state)
{
    (void)state;
    assert_kept(
        "fold-scale",
        "h (float[2,2] x) => (float[2,2] y) <float[2,2] w = {1, 2, 3, 4}, float s = {0.5},\n"
        "uint8 z = {0}, float[2] g = {2, 0.5}> {\n"
        "  p = MatMul(x, w) q = QuantizeLinear(p, s, z) d = DequantizeLinear(q, s, z)\n"
        "  y = Mul(d, g)\n}\n");
    assert_kept(
        "fold-scale",
        "h (float[2,2] x) => (float[2,2] y) <float[2,2] w = {1, 2, 3, 4}, float[2] s = {0.5, 1},\n"
        "int32[2] c = {1, 2}, float[2] g = {2, 0.5}> {\n"
        "  p = MatMul(x, w) b = DequantizeLinear <axis = 0> (c, s) q = Add(p, b) y = Mul(q, "
        "g)\n}\n");
}

static void what_would_not_be_finite_is_refused(void **state)
{
    static const char *const factors[][2] = {
        {"Mul", "inf"}, {"Mul", "nan"}, {"Div", "0"}, {"Mul", "3e38"}};

    (void)state;
    for (size_t i = 0; i < QDQ_COUNT(factors); i++) {
        char text[500];

        snprintf(text, sizeof text,
                 "h (float[2,2] x) => (float[2,2] y) <float[2,2] w = {1, 2, 3, 4}, float[2] b = "
                 "{5, 6},\n"
                 "float[2] g = {2, %s}> {\n  p = MatMul(x, w) q = Add(p, b) y = %s(q, g)\n}\n",
                 factors[i][1], factors[i][0]);
        assert_refused("fold-scale", text, "would not be finite");
    }
    assert_refused("fold-scale",
                   "h (float[2,2] x) => (float[2,2] y) <float[2,2] w = {1, 2, 3, 4}, float[2] g = "
                   "{2, 3e38}> {\n"
                   "  p = MatMul(x, w) y = Mul(p, g)\n}\n",
                   "a weight would not be finite");
}

static void other_types_are_refused(void **state)
{
    (void)state;
    assert_refused("fold-scale",
                   "h (double[2,2] x) => (double[2,2] y) <double[2,2] w = {1, 2, 3, 4}, double[2] "
                   "g = {2, 3}> {\n"
                   "  p = MatMul(x, w) y = Mul(p, g)\n}\n",
                   "float, float16 or bfloat16");
    assert_refused("fold-scale",
                   "h (double[2,2] x) => (double[2,2] y) <double[2,2] w = {1, 2, 3, 4}, double[2] "
                   "b = {2, 3},\n"
                   "double g = {2}> {\n  p = MatMul(x, w) q = Add(p, b) y = Mul(q, g)\n}\n",
                   "its weight is not of type float");
    assert_becomes(
        PIPELINE,
        "h (float16[2,2] x) => (float16[2,2] y) <float16[2,2] w = {1.0, 2.0, 3.0, 4.0}, float16[2] "
        "b = "
        "{1.0, "
        "2.0},\n"
        "float16[2] g = {2.0, 0.5}> {\n  p = MatMul(x, w) q = Add(p, b) y = Mul(q, g)\n}\n",
        "h (float16[2,2] x) => (float16[2,2] y) <float16[2,2] w_folded = {2.0, 1.0, 6.0, 2.0},\n"
        "float16[2] b_scaled = {2.0, 1.0}> {\n  p = MatMul(x, w_folded) y = Add(p, b_scaled)\n}\n");
}

static void overridable_and_old_ones_stay(void **state)
{
    (void)state;
    assert_kept(
        "fold-scale",
        "h (float[2,2] x, float[2] g = {2, 3}) => (float[2,2] y) <float[2,2] w = {1, 2, 3, 4}> {\n"
        "  p = MatMul(x, w) y = Mul(p, g)\n}\n");
    assert_kept(
        "fold-scale",
        "h (float[2,2] x, float[2,2] w = {1, 2, 3, 4}) => (float[2,2] y) <float[2] g = {2, 3}> {\n"
        "  p = MatMul(x, w) y = Mul(p, g)\n}\n");
    assert_kept(
        "fold-scale",
        "<ir_version: 4, opset_import: [\"\" : 6]>\n"
        "h (float[2,2] x) => (float[2,2] y) <float[2,2] w = {1, 2, 3, 4}, float[2] g = {2, 3}> {\n"
        "  p = MatMul(x, w) y = Mul <broadcast = 1> (p, g)\n}\n");
}

static void bodies_and_functions_have_factors_too(void **state)
{
    (void)state;
    assert_becomes(
        PIPELINE,
        "h (bool c, float[2,2] x) => (float[2,2] y) <float[2,2] w = {1, 2, 3, 4}, float[2] g = {2, "
        "3}> "
        "{\n"
        "  y = If (c) <then_branch = t () => (float[2,2] a) { p = MatMul(x, w) a = Mul(p, g) },\n"
        "              else_branch = e () => (float[2,2] b) { b = MatMul(x, w) }>\n}\n",
        "h (bool c, float[2,2] x) => (float[2,2] y) <float[2,2] w = {1, 2, 3, 4}> {\n"
        "  y = If (c) <then_branch = t () => (float[2,2] a) <float[2,2] w_folded = {2, 6, 6, 12}> "
        "{\n"
        "                a = MatMul(x, w_folded) },\n"
        "              else_branch = e () => (float[2,2] b) { b = MatMul(x, w) }>\n}\n");
    assert_becomes(
        PIPELINE,
        "<ir_version: 9, opset_import: [\"\" : 17, \"acme\" : 1]>\n"
        "h (float[2,2] x) => (float[2,2] y) { y = acme.F(x) }\n"
        "<domain: \"acme\", opset_import: [\"\" : 17]>\n"
        "F (x) => (y) { w = Constant <value = float[2,2] {1, 2, 3, 4}> () g = Constant <value = "
        "float {2}> ()\n"
        "  p = MatMul(x, w) y = Mul(p, g) }\n",
        "<ir_version: 9, opset_import: [\"\" : 17, \"acme\" : 1]>\n"
        "h (float[2,2] x) => (float[2,2] y) { y = acme.F(x) }\n"
        "<domain: \"acme\", opset_import: [\"\" : 17]>\n"
        "F (x) => (y) { w_folded = Constant <value = float[2,2] {2, 4, 6, 8}> () y = MatMul(x, "
        "w_folded) }\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_factor_behind_a_product_goes_into_its_weight),
        cmocka_unit_test(one_factor_for_all_is_one_for_each),
        cmocka_unit_test(a_bias_before_the_factor_is_scaled_too),
        cmocka_unit_test(the_way_back_to_channels_first_is_no_obstacle),
        cmocka_unit_test(factors_along_other_axes_stay),
        cmocka_unit_test(a_rank_that_is_not_proven_allows_vectors_only),
        cmocka_unit_test(what_is_read_in_between_keeps_the_factor),
        cmocka_unit_test(a_weight_that_others_read_stays_for_them),
        cmocka_unit_test(quantized_weights_keep_their_codes),
        cmocka_unit_test(quantization_in_between_keeps_the_factor),
        cmocka_unit_test(what_would_not_be_finite_is_refused),
        cmocka_unit_test(other_types_are_refused),
        cmocka_unit_test(overridable_and_old_ones_stay),
        cmocka_unit_test(bodies_and_functions_have_factors_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
