/* opt_rules_transpose.c - Transpose that is not needed. */
#include "support/rewrite.h"

static void a_transpose_that_moves_nothing_goes(void **state)
{
    (void)state;
    assert_becomes(
        "drop-noop-transpose",
        "g (float[] x) => (float[] y) { t = Transpose <perm = [0, 1, 2]> (x) y = Exp(t) }",
        "g (float[] x) => (float[] y) { y = Exp(x) }");
    assert_becomes("drop-noop-transpose",
                   "g (float[N] x) => (float[N] y) { t = Transpose(x) y = Exp(t) }",
                   "g (float[N] x) => (float[N] y) { y = Exp(x) }");
    assert_becomes("drop-noop-transpose",
                   "g (float x) => (float y) { t = Transpose(x) y = Exp(t) }",
                   "g (float x) => (float y) { y = Exp(x) }");
    assert_kept("drop-noop-transpose", "g (float[2,3] x) => (float[3,2] y) { y = Transpose(x) }");
    assert_kept("drop-noop-transpose", "g (float[] x) => (float[] y) { y = Transpose(x) }");
    assert_kept("drop-noop-transpose",
                "g (float[2,3] x) => (float[3,2] y) { y = Transpose <perm = [1, 0]> (x) }");
}

static void two_transposes_are_one(void **state)
{
    (void)state;
    assert_becomes(
        "merge-transposes",
        "g (float[2,3,4] x) => (float[4,2,3] y) { t = Transpose <perm = [1, 2, 0]> (x) y = "
        "Transpose <perm = [1, 2, 0]> (t) }",
        "g (float[2,3,4] x) => (float[4,2,3] y) { y = Transpose <perm = [2, 0, 1]> (x) }");
    assert_becomes(
        "merge-transposes",
        "g (float[2,3,4,5] x) => (float[] y) { t = Transpose <perm = [0, 2, 1, 3]> (x) y = "
        "Transpose <perm = [0, 2, 3, 1]> (t) }",
        "g (float[2,3,4,5] x) => (float[] y) { y = Transpose <perm = [0, 1, 3, 2]> (x) }");
    assert_becomes("merge-transposes",
                   "g (float[2,3,4] x) => (float[] y) { t = Transpose(x) y = Transpose <perm = [1, "
                   "0, 2]> (t) }",
                   "g (float[2,3,4] x) => (float[] y) { y = Transpose <perm = [1, 2, 0]> (x) }");
}

static void two_transposes_that_come_back_go(void **state)
{
    (void)state;
    assert_becomes(
        "merge-transposes",
        "g (float[] x) => (float[] y) { a = Transpose <perm = [1, 2, 0]> (x) b = Transpose <perm "
        "= [2, 0, 1]> (a) y = Exp(b) }",
        "g (float[] x) => (float[] y) { y = Exp(x) }");
    assert_becomes("merge-transposes",
                   "g (float[2,3] x) => (float[2,3] y) { a = Transpose(x) y = Transpose(a) }",
                   "g (float[2,3] x) => (float[2,3] y) { y = Identity(x) }");
    assert_becomes(
        "merge-transposes",
        "g (float[2,3] x) => (float[3,2] a, float[2,3] y) { a = Transpose(x) b = Transpose(a) y = "
        "Exp(b) }",
        "g (float[2,3] x) => (float[3,2] a, float[2,3] y) { a = Transpose(x) y = Exp(x) }");
}

static void permutations_that_are_not_known_keep_both(void **state)
{
    static const char *const texts[] = {
        "g (float[] x) => (float[] y) { t = Transpose(x) y = Transpose(t) }",
        "g (float[] x) => (float[] y) { t = Transpose <perm = [0, 0]> (x) y = Transpose <perm = "
        "[1, 0]> (t) "
        "}",
        "g (float[] x) => (float[] y) { t = Transpose <perm = [1, 0]> (x) y = Transpose <perm = "
        "[2, 1, 0]> "
        "(t) }",
        "g (float[] x) => (float[] y) { t = Transpose <perm = [0, 9]> (x) y = Transpose <perm = "
        "[1, 0]> (t) "
        "}",
        "g (float[] x) => (float[] y) { t = Transpose <perm = [-1, 0]> (x) y = Transpose <perm = "
        "[1, 0]> (t) "
        "}",
    };

    (void)state;
    for (size_t i = 0; i < QDQ_COUNT(texts); i++)
        assert_refused("merge-transposes", texts[i], "the permutation is not known");
}

static void quantization_between_two_transposes_keeps_both(void **state)
{
    (void)state;
    assert_kept(
        "merge-transposes",
        "g (float[2,3] x) => (float[2,3] y) <float s = {0.5}, uint8 z = {0}> {\n"
        "  t = Transpose(x)\n  q = QuantizeLinear(t, s, z)\n  d = DequantizeLinear(q, s, z)\n"
        "  y = Transpose(d)\n}");
}

static void two_transposes_in_front_of_a_per_axis_dequantize_are_one(void **state)
{
    (void)state;
    assert_becomes(
        "merge-transposes",
        "g (int8[2,3,4] x) => (float[4,3,2] y) <float[3] s = {0.5, 0.25, 1}> {\n"
        "  t = Transpose <perm = [1, 0, 2]> (x)\n  u = Transpose <perm = [2, 0, 1]> (t)\n  y = "
        "DequantizeLinear <axis = 1> (u, s)\n}",
        "g (int8[2,3,4] x) => (float[4,3,2] y) <float[3] s = {0.5, 0.25, 1}> {\n"
        "  u = Transpose <perm = [2, 1, 0]> (x)\n  y = DequantizeLinear <axis = 1> (u, s)\n}");
}

/* --- cancel-transposes ------------------------------------------------------------------------ */

#define TO_LAST  "Transpose <perm = [0, 2, 3, 1]>"
#define TO_FIRST "Transpose <perm = [0, 3, 1, 2]>"

static void transposes_around_arithmetic_cancel(void **state)
{
    (void)state;
    assert_becomes("cancel-transposes",
                   "g (float[N,3,4,5] x) => (float[N,3,4,5] y) { t = " TO_LAST
                   "(x) [r] r = Relu(t) y = " TO_FIRST "(r) }",
                   "g (float[N,3,4,5] x) => (float[N,3,4,5] y) { [r] y = Relu(x) }");
    assert_becomes(
        "cancel-transposes",
        "g (float[] x) => (float[] y) <float half = {0.5}, float[1] two = {2}, float lo = {0}> {\n"
        "  t = " TO_LAST "(x)\n  a = Mul(half, t)\n  b = Pow(a, two)\n  c = Clip(b, lo)\n  d = "
        "LeakyRelu <alpha = 0.5> (c)\n"
        "  u = " TO_FIRST "(d)\n  y = Neg(u)\n}",
        "g (float[] x) => (float[] y) <float half = {0.5}, float[1] two = {2}, float lo = {0}> {\n"
        "  a_1 = Mul(half, x)\n  b_1 = Pow(a_1, two)\n  c_1 = Clip(b_1, lo)\n  d_1 = LeakyRelu "
        "<alpha = 0.5> "
        "(c_1)\n  y = Neg(d_1)\n}");
    /* the first one is read elsewhere: it stays for that */
    assert_becomes(
        "cancel-transposes",
        "g (float[2,3] x) => (float[2,3] y, float[3,2] t) { t = Transpose(x) r = Cast <to = 10> "
        "(t) s = Cast <to = 1> (r) y = Transpose(s) }",
        "g (float[2,3] x) => (float[2,3] y, float[3,2] t) { t = Transpose(x) r_1 = Cast <to = 10> "
        "(x) y = Cast <to = 1> (r_1) }");
}

static void transposes_that_do_not_come_back_or_are_seen_between_stay(void **state)
{
    static const char *const texts[] = {
        "g (float[2,3,4] x) => (float[] y) { t = Transpose <perm = [1, 2, 0]> (x) r = Relu(t) y = "
        "Transpose "
        "<perm = [1, 2, 0]> (r) }",
        "g (float[2,3] x) => (float[2,3] y, float[3,2] r) { t = Transpose(x) r = Relu(t) y = "
        "Transpose(r) }",
        "g (float[2,3] x) => (float[2,3] y) { t = Transpose(x) r = Softmax(t) y = Transpose(r) }",
        "g (float[2,3] x, float[3,2] z) => (float[2,3] y) { t = Transpose(x) r = Add(t, z) y = "
        "Transpose(r) "
        "}",
        "g (float[2,3] x) => (float[2,3] y) <float[2] c = {1, 2}> { t = Transpose(x) r = Add(t, c) "
        "y = "
        "Transpose(r) }",
        "g (float[2,3] x) => (float[2,3] y) <float[1,1,1] c = {1}> { t = Transpose(x) r = Add(t, "
        "c) u = "
        "Squeeze(r) y = Transpose(u) }",
        "g (float[] x) => (float[] y) { t = Transpose(x) r = Relu(t) y = Transpose(r) }",
        "g (float[2,3] x) => (float[2,3] y) <float s = {0.5}, uint8 z = {0}> {\n"
        "  t = Transpose(x) q = QuantizeLinear(t, s, z) d = DequantizeLinear(q, s, z) y = "
        "Transpose(d) }",
        "g (float[2,3] x) => (float[2,3] y) { t = Transpose(x) r = Relu(t) a = Add(r, r) y = "
        "Transpose(a) }",
    };

    (void)state;
    for (size_t i = 0; i < QDQ_COUNT(texts); i++)
        assert_kept("cancel-transposes", texts[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_transpose_that_moves_nothing_goes),
        cmocka_unit_test(two_transposes_are_one),
        cmocka_unit_test(two_transposes_that_come_back_go),
        cmocka_unit_test(permutations_that_are_not_known_keep_both),
        cmocka_unit_test(quantization_between_two_transposes_keeps_both),
        cmocka_unit_test(transposes_around_arithmetic_cancel),
        cmocka_unit_test(transposes_that_do_not_come_back_or_are_seen_between_stay),
        cmocka_unit_test(two_transposes_in_front_of_a_per_axis_dequantize_are_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
