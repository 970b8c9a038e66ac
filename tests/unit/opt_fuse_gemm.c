/* opt_fuse_gemm.c - MatMul and Add of matrices become Gemm, and Gemm reads through a Transpose. */
#include "support/rewrite.h"

/* --- fuse-gemm -------------------------------------------------------------------------------- */

static void a_bias_of_one_number_for_each_column_is_taken(void **state)
{
    (void)state;
    assert_becomes("fuse-gemm",
                   "g (float[N,2] a) => (float[N,3] y) <float[2,3] b = {1, 2, 3, 4, 5, 6}, "
                   "float[3] c = {1, 2, 3}> {\n"
                   "  p = MatMul(a, b) y = Add(p, c)\n}\n",
                   "g (float[N,2] a) => (float[N,3] y) <float[2,3] b = {1, 2, 3, 4, 5, 6}, "
                   "float[3] c = {1, 2, 3}> {\n"
                   "  y = Gemm(a, b, c)\n}\n");
}

static void a_bias_in_a_row_becomes_a_vector(void **state)
{
    (void)state;
    assert_becomes("fuse-gemm,drop-unused",
                   "g (float[N,2] a, float[2,3] b) => (float[N,3] y) <float[1,3] c = {1, 2, 3}> {\n"
                   "  p = MatMul(a, b) y = Add(p, c)\n}\n",
                   "g (float[N,2] a, float[2,3] b) => (float[N,3] y) <float[3] c_1 = {1, 2, 3}> {\n"
                   "  y = Gemm(a, b, c_1)\n}\n");
}

static void the_bias_may_come_first(void **state)
{
    (void)state;
    assert_becomes(
        "fuse-gemm",
        "g (double[2,2] a, double[2,3] b) => (double[2,3] y) <double[3] c = {1, 2, 3}> {\n"
        "  p = MatMul(a, b) y = Add(c, p)\n}\n",
        "g (double[2,2] a, double[2,3] b) => (double[2,3] y) <double[3] c = {1, 2, 3}> {\n"
        "  y = Gemm(a, b, c)\n}\n");
}

/* A Gemm with another bias runs in float where MatMul alone would run in 8 bits. */
static void what_is_no_bias_is_refused(void **state)
{
    static const char *const inits[] = {
        "float c = {1}", "float[1] c = {1}", "float[2,1] c = {1, 2}",
        "float[2,3] c = {1, 2, 3, 4, 5, 6}", "float[1,1,3] c = {1, 2, 3}"};

    (void)state;
    for (size_t i = 0; i < QDQ_COUNT(inits); i++) {
        char text[500];

        snprintf(text, sizeof text,
                 "g (float[2,2] a) => (float[] y) <float[2,3] b = {1, 2, 3, 4, 5, 6}, %s> {\n"
                 "  p = MatMul(a, b) y = Add(p, c)\n}\n",
                 inits[i]);
        assert_refused("fuse-gemm", text, "one number for each column");
    }
    assert_refused("fuse-gemm",
                   "g (float[2,2] a, float[2,3] b, float[3] c) => (float[2,3] y) {\n"
                   "  p = MatMul(a, b) y = Add(p, c)\n}\n",
                   "one number for each column");
    assert_refused("fuse-gemm",
                   "g (float[2,2] a, float[2,3] b, float[3] c = {1, 2, 3}) => (float[2,3] y) {\n"
                   "  p = MatMul(a, b) y = Add(p, c)\n}\n",
                   "one number for each column");
    assert_refused("fuse-gemm",
                   "g (float[2,2] a, float[2,N] b) => (float[2,?] y) <float[3] c = {1, 2, 3}> {\n"
                   "  p = MatMul(a, b) y = Add(p, c)\n}\n",
                   "one number for each column");
    assert_refused("fuse-gemm",
                   "g (float[2,2] a, float[2,2] b) => (float[2,2] y) {\n"
                   "  p = MatMul(a, b) q = MatMul(b, a) y = Add(p, q)\n}\n",
                   "one number for each column");
}

static void products_that_are_no_matrices_stay(void **state)
{
    (void)state;
    assert_kept("fuse-gemm", "g (float[4,2,2] a, float[2,3] b, float[3] c) => (float[4,2,3] y) {\n"
                             "  p = MatMul(a, b) y = Add(p, c)\n}\n");
    assert_kept("fuse-gemm", "g (float[2] a, float[2,3] b, float[3] c) => (float[3] y) {\n"
                             "  p = MatMul(a, b) y = Add(p, c)\n}\n");
    assert_refused("fuse-gemm",
                   "g (float[] a, float[2,3] b, float[3] c) => (float[] y) {\n  p = MatMul(a, b) y "
                   "= Add(p, c)\n}\n",
                   "the ranks of the factors are not proven");
}

static void products_of_integers_stay(void **state)
{
    (void)state;
    assert_refused("fuse-gemm",
                   "g (int32[2,2] a, int32[2,3] b, int32[3] c) => (int32[2,3] y) {\n"
                   "  p = MatMul(a, b) y = Add(p, c)\n}\n",
                   "neither float nor double");
}

static void products_that_are_read_elsewhere_stay(void **state)
{
    (void)state;
    assert_refused("fuse-gemm",
                   "g (float[2,2] a, float[2,3] b, float[3] c) => (float[2,3] y, float[2,3] p) {\n"
                   "  p = MatMul(a, b) y = Add(p, c)\n}\n",
                   "the product is read elsewhere");
    assert_refused(
        "fuse-gemm",
        "g (float[2,2] a, float[2,3] b) => (float[2,3] y) {\n  p = MatMul(a, b) y = Add(p, p)\n}\n",
        "the product is read elsewhere");
    assert_refused(
        "fuse-gemm",
        "g (bool t, float[2,2] a, float[2,3] b, float[3] c) => (float[2,3] y, float[2,3] z) {\n"
        "  p = MatMul(a, b) y = Add(p, c)\n"
        "  z = If (t) <then_branch = th () => (float[2,3] u) { u = Neg(p) },\n"
        "              else_branch = el () => (float[2,3] w) { w = Abs(p) }>\n}\n",
        "the product is read elsewhere");
}

static void quantized_products_keep_their_add(void **state)
{
    static const char *const operands[] = {
        "a = DequantizeLinear(x, s, z) b = DequantizeLinear(v, s, z) p = MatMul(a, b) y = Add(p, "
        "c)",
        "a = DequantizeLinear(x, s, z) p = MatMul(a, f) y = Add(p, c)",
        "b = DequantizeLinear(v, s, z) p = MatMul(g, b) y = Add(p, c)",
    };

    (void)state;
    for (size_t i = 0; i < QDQ_COUNT(operands); i++) {
        char text[800];

        snprintf(
            text, sizeof text,
            "h (uint8[2,2] x, float[2,2] g) => (float[2,2] y) <float s = {0.1}, uint8 z = {128},\n"
            "uint8[2,2] v = {1, 2, 3, 4}, float[2,2] f = {1, 2, 3, 4}, float[2] c = {1, 2}> "
            "{\n%s\n}\n",
            operands[i]);
        assert_refused("fuse-gemm", text, "comes from DequantizeLinear");
    }
}

static void quantization_between_product_and_sum_keeps_both(void **state)
{
    (void)state;
    assert_kept("fuse-gemm",
                "h (float[2,2] a, float[2,2] b, float[2] c) => (float[2,2] y) <float s = {0.1},\n"
                "uint8 z = {128}> {\n"
                "  p = MatMul(a, b) q = QuantizeLinear(p, s, z) d = DequantizeLinear(q, s, z)\n"
                "  y = Add(d, c)\n}\n");
}

static void products_in_bodies_become_gemm(void **state)
{
    (void)state;
    assert_becomes(
        "fuse-gemm",
        "g (bool t, float[2,2] a, float[2,3] b) => (float[2,3] y) <float[3] c = {1, 2, 3}> {\n"
        "  y = If (t) <then_branch = th () => (float[2,3] u) { p = MatMul(a, b) u = Add(p, c) },\n"
        "              else_branch = el () => (float[2,3] w) { w = MatMul(a, b) }>\n}\n",
        "g (bool t, float[2,2] a, float[2,3] b) => (float[2,3] y) <float[3] c = {1, 2, 3}> {\n"
        "  y = If (t) <then_branch = th () => (float[2,3] u) { u = Gemm(a, b, c) },\n"
        "              else_branch = el () => (float[2,3] w) { w = MatMul(a, b) }>\n}\n");
}

/* --- fuse-gemm-transpose ---------------------------------------------------------------------- */

static void gemm_reads_through_transposes(void **state)
{
    static const char *const spellings[][2] = {
        {"t = Transpose <perm = [1, 0]> (a) y = Gemm(t, b, c)", "y = Gemm <transA = 1> (a, b, c)"},
        {"t = Transpose(a) y = Gemm(t, b, c)", "y = Gemm <transA = 1> (a, b, c)"},
        {"t = Transpose(a) y = Gemm <transA = 1> (t, b, c)", "y = Gemm(a, b, c)"},
        {"t = Transpose(b) y = Gemm <alpha = 0.5, transB = 0> (a, t)",
         "y = Gemm <alpha = 0.5, transB = 1> (a, b)"},
        {"t = Transpose(b) u = Transpose(a) y = Gemm <transB = 1> (u, t, c)",
         "y = Gemm <transA = 1> (a, b, c)"},
        {"t = Transpose(a) y = Gemm(t, b, t)", NULL},
        {"t = Transpose <perm = [0, 1]> (a) y = Gemm(t, b, c)", NULL},
        {"t = Transpose(c) y = Gemm(a, b, t)", NULL},
    };

    (void)state;
    for (size_t i = 0; i < QDQ_COUNT(spellings); i++) {
        char before[500], after[500];

        snprintf(before, sizeof before,
                 "g (float[2,2] a, float[2,2] b, float[2,2] c) => (float[2,2] y) {\n%s\n}\n",
                 spellings[i][0]);
        if (spellings[i][1] == NULL) {
            assert_kept("fuse-gemm-transpose", before);
            continue;
        }
        snprintf(after, sizeof after,
                 "g (float[2,2] a, float[2,2] b, float[2,2] c) => (float[2,2] y) {\n%s\n}\n",
                 spellings[i][1]);
        assert_becomes("fuse-gemm-transpose", before, after);
    }
}

static void transposes_that_are_read_elsewhere_stay(void **state)
{
    (void)state;
    assert_refused("fuse-gemm-transpose",
                   "g (float[2,2] a, float[2,2] b) => (float[2,2] y, float[2,2] t) {\n"
                   "  t = Transpose(a) y = Gemm(t, b)\n}\n",
                   "the transposed matrix is read elsewhere");
    assert_refused("fuse-gemm-transpose",
                   "g (float[2,2] a) => (float[2,2] y) {\n  t = Transpose(a) y = Gemm(t, t)\n}\n",
                   "the transposed matrix is read elsewhere");
}

static void transposes_of_dequantized_weights_stay(void **state)
{
    (void)state;
    assert_refused("fuse-gemm-transpose",
                   "g (float[2,2] a) => (float[2,3] y) <int8[3,2] w = {1, 2, 3, 4, 5, 6}, float[3] "
                   "s = {1, 2, 3}> {\n"
                   "  d = DequantizeLinear <axis = 0> (w, s) t = Transpose(d) y = Gemm(a, t)\n}\n",
                   "comes from DequantizeLinear");
}

static void attributes_of_a_function_that_callers_set_keep_the_transpose(void **state)
{
    (void)state;
    assert_kept("fuse-gemm-transpose",
                "<ir_version: 9, opset_import: [\"\" : 17, \"acme\" : 1]>\n"
                "g (float[2,2] x) => (float[2,2] y) { y = acme.F <b = 1> (x) }\n"
                "<domain: \"acme\", opset_import: [\"\" : 17]>\n"
                "F <b> (x) => (y) { t = Transpose(x) y = Gemm <transA: int = @b> (t, x) }\n");
}

static void both_rules_meet(void **state)
{
    (void)state;
    assert_becomes("fuse-gemm,fuse-gemm-transpose",
                   "g (float[N,2] a, float[3,2] b) => (float[N,3] y) <float[3] c = {1, 2, 3}> {\n"
                   "  t = Transpose <perm = [1, 0]> (b) p = MatMul(a, t) y = Add(p, c)\n}\n",
                   "g (float[N,2] a, float[3,2] b) => (float[N,3] y) <float[3] c = {1, 2, 3}> {\n"
                   "  y = Gemm <transB = 1> (a, b, c)\n}\n");
}

/* --- widen-bias ------------------------------------------------------------------------------- */

static void a_bias_behind_a_product_of_open_shape_gets_its_rank(void **state)
{
    (void)state;
    assert_becomes("widen-bias,drop-unused",
                   "g (float[N,3,2] a) => (float[N,3,2] y) <float[2,2] w = {1, 2, 3, 4}, float[2] "
                   "c = {5, 6}> {\n"
                   "  p = MatMul(a, w) y = Add(p, c)\n}\n",
                   "g (float[N,3,2] a) => (float[N,3,2] y) <float[2,2] w = {1, 2, 3, 4}, "
                   "float[1,1,2] c_1 = {5, 6}> "
                   "{\n  p = MatMul(a, w) y = Add(p, c_1)\n}\n");
    /* the other order, four dims, a weight behind DQ */
    assert_becomes(
        "widen-bias,drop-unused",
        "g (float[N,H,3,2] a) => (float[N,H,3,2] y) <int8[2,2] w = {1, 2, 3, 4}, float s = {1}, "
        "float[2] c = {5, 6}> "
        "{\n  d = DequantizeLinear(w, s) p = MatMul(a, d) y = Add(c, p)\n}\n",
        "g (float[N,H,3,2] a) => (float[N,H,3,2] y) <int8[2,2] w = {1, 2, 3, 4}, float s = {1}, "
        "float[1,1,1,2] c_1 = "
        "{5, 6}> {\n  d = DequantizeLinear(w, s) p = MatMul(a, d) y = Add(p, c_1)\n}\n");
}

static void a_bias_is_not_widened_where_it_would_change_the_shape_or_gain_nothing(void **state)
{
    (void)state;
    assert_refused("widen-bias",
                   "g (float[2,3,2] a) => (float[2,3,2] y) <float[2,2] w = {1, 2, 3, 4}, float[2] "
                   "c = {5, 6}> {\n"
                   "  p = MatMul(a, w) y = Add(p, c)\n}\n",
                   "its shape is fixed");
    assert_refused(
        "widen-bias",
        "g (float[N,2] a) => (float[N,2] y) <float[2,2] w = {1, 2, 3, 4}, float[2] c = {5, 6}> {\n"
        "  p = MatMul(a, w) y = Add(p, c)\n}\n",
        "no product of more than two dims with a matrix");
    assert_refused(
        "widen-bias",
        "g (float[N,2,2] a, float[N,2,2] w) => (float[N,2,2] y) <float[2] c = {5, 6}> {\n"
        "  p = MatMul(a, w) y = Add(p, c)\n}\n",
        "no product of more than two dims with a matrix");
    assert_refused(
        "widen-bias",
        "g (float[] a) => (float[] y) <float[2,2] w = {1, 2, 3, 4}, float[2] c = {5, 6}> {\n"
        "  p = MatMul(a, w) y = Add(p, c)\n}\n",
        "the rank of the product is not proven");
    assert_kept(
        "widen-bias", /* read twice, a graph output, a bias of two dims, none that is constant */
        "g (float[N,3,2] a, float[2] v) => (float[N,3,2] y, float[N,3,2] q, float[N,3,2] x, "
        "float[N,3,2] z) "
        "<float[2,2] w = {1, 2, 3, 4}, float[2] c = {5, 6}, float[1,2] e = {5, 6}> {\n"
        "  p = MatMul(a, w) y = Add(p, c) q = Neg(p)\n"
        "  r = MatMul(a, w) x = Add(r, e)\n"
        "  s = MatMul(a, w) z = Add(s, v)\n}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_bias_of_one_number_for_each_column_is_taken),
        cmocka_unit_test(a_bias_in_a_row_becomes_a_vector),
        cmocka_unit_test(the_bias_may_come_first),
        cmocka_unit_test(what_is_no_bias_is_refused),
        cmocka_unit_test(products_that_are_no_matrices_stay),
        cmocka_unit_test(products_of_integers_stay),
        cmocka_unit_test(products_that_are_read_elsewhere_stay),
        cmocka_unit_test(quantized_products_keep_their_add),
        cmocka_unit_test(quantization_between_product_and_sum_keeps_both),
        cmocka_unit_test(products_in_bodies_become_gemm),
        cmocka_unit_test(gemm_reads_through_transposes),
        cmocka_unit_test(transposes_that_are_read_elsewhere_stay),
        cmocka_unit_test(transposes_of_dequantized_weights_stay),
        cmocka_unit_test(attributes_of_a_function_that_callers_set_keep_the_transpose),
        cmocka_unit_test(both_rules_meet),
        cmocka_unit_test(a_bias_behind_a_product_of_open_shape_gets_its_rank),
        cmocka_unit_test(a_bias_is_not_widened_where_it_would_change_the_shape_or_gain_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
