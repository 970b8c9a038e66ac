/* opt_rules_slice.c - Slices, and Concats. */
#include "support/rewrite.h"

#define OPSET(n) "<ir_version: 8, opset_import: [\"\" : " #n "]> "
#define CLEAN    ",drop-unused"
#define MAX      "9223372036854775807"

/* One Slice of x: starts, ends, axes, steps. */
static void slice_text(char *to, size_t size, const char *x, const char *starts, const char *ends,
                       const char *rest)
{
    snprintf(to, size,
             "g (%s x) => (float[] y) <int64[1] s = {%s}, int64[1] e = {%s}%s%s> {\n  t = Slice(x, "
             "s, e%s)\n "
             " y = Exp(t)\n}",
             x, starts, ends, rest[0] != '\0' ? ", " : "", rest,
             rest[0] == '\0'                 ? ""
             : strstr(rest, "st = ") != NULL ? ", a, st"
                                             : ", a");
}

static void a_slice_of_everything_goes(void **state)
{
    static const char *const all[][4] = {
        {"float[N,5]", "0", MAX, ""},
        {"float[N,5]", "0", "2147483647", "int64[1] a = {0}"},
        {"float[]", "0", MAX, "int64[1] a = {3}"},
        {"float[N,5]", "0", "5", "int64[1] a = {1}"},
        {"float[N,5]", "0", "7", "int64[1] a = {-1}, int64[1] st = {1}"},
        {"float[N,5]", "-5", "5", "int64[1] a = {1}"},
        {"float[N,5]", "-99", "99", "int64[1] a = {1}"},
        {"float[0]", "0", "0", ""},
    };
    char before[400], after[200];

    (void)state;
    for (size_t i = 0; i < QDQ_COUNT(all); i++) {
        slice_text(before, sizeof before, all[i][0], all[i][1], all[i][2], all[i][3]);
        snprintf(after, sizeof after, "g (%s x) => (float[] y) { y = Exp(x) }", all[i][0]);
        assert_becomes("drop-noop-slice" CLEAN, before, after);
    }
    assert_becomes(
        "drop-noop-slice",
        OPSET(9) "g (float[N,5] x) => (float[N,5] y) { t = Slice <starts = [0, 0], ends = [5, "
                 "9223372036854775807], axes = [1, 0]> (x) y = Exp(t) }",
        OPSET(9) "g (float[N,5] x) => (float[N,5] y) { y = Exp(x) }");
}

static void a_slice_of_less_stays(void **state)
{
    static const char *const less[][4] = {
        {"float[N,5]", "1", MAX, ""},
        {"float[N,5]", "0", "5", ""}, /* N may be 6 */
        {"float[N,5]", "0", "4", "int64[1] a = {1}"},
        {"float[N,5]", "0", "-1", "int64[1] a = {1}"},
        {"float[N,5]", "-1", MAX, ""},
        /* backwards */
        {"float[5]", "-1", "-9223372036854775808", "int64[1] a = {0}, int64[1] st = {-1}"},
        {"float[5]", "0", MAX, "int64[1] a = {0}, int64[1] st = {2}"},
        {"float[]", "0", MAX, "int64[1] a = {-1}, int64[1] st = {2}"},
    };
    char text[400];

    (void)state;
    for (size_t i = 0; i < QDQ_COUNT(less); i++) {
        slice_text(text, sizeof text, less[i][0], less[i][1], less[i][2], less[i][3]);
        assert_kept("drop-noop-slice", text);
    }
    assert_kept(
        "drop-noop-slice",
        "g (float[N] x, int64[1] s) => (float[?] y) <int64[1] e = {99}> { y = Slice(x, s, e) }");
}

static void a_slice_to_the_size_that_is_there_goes(void **state)
{
    (void)state;
    assert_becomes(
        "drop-noop-slice" CLEAN,
        "g (float[N,5] x) => (float[N,5] y) <int64[1] z = {0}, int64[1] one = {1}> {\n"
        "  sh = Shape(x)\n  n = Slice(sh, z, one)\n  t = Slice(x, z, n, z)\n  y = Exp(t)\n}",
        "g (float[N,5] x) => (float[N,5] y) { y = Exp(x) }");
}

/* --- merge-slices ----------------------------------------------------------------------------- */

static void two_slices_are_one(void **state)
{
    (void)state;
    assert_becomes(
        "merge-slices" CLEAN,
        "g (float[N,M] x) => (float[] y) <int64[1] s = {2}, int64[1] e = {9}, int64[1] a = {0}, "
        "int64[1] b = {1}> {\n"
        "  t = Slice(x, s, e, a)\n  y = Slice(t, a, s, b)\n}",
        "g (float[N,M] x) => (float[] y) <int64[2] starts = {2, 0}, int64[2] ends = {9, 2}, "
        "int64[2] axes = {0, 1}> {\n"
        "  y = Slice(x, starts, ends, axes)\n}");
    assert_becomes(
        "merge-slices" CLEAN,
        "g (float[N] x) => (float[] y) <int64[1] s = {2}, int64[1] e = {9}, int64[1] f = {" MAX
        "}> {\n"
        "  t = Slice(x, s, e)\n  y = Slice(t, s, f)\n}",
        "g (float[N] x) => (float[] y) <int64[1] starts = {4}, int64[1] ends = {9}, int64[1] axes "
        "= {0}> {\n"
        "  y = Slice(x, starts, ends, axes)\n}");
    assert_becomes("merge-slices" CLEAN,
                   "g (float[20] x) => (float[] y) <int64[1] s = {-18}, int64[1] e = {-3}, "
                   "int64[1] g = {1}> {\n"
                   "  t = Slice(x, s, e)\n  y = Slice(t, g, e)\n}",
                   "g (float[20] x) => (float[] y) <int64[1] starts = {3}, int64[1] ends = {14}, "
                   "int64[1] axes = {0}> "
                   "{\n"
                   "  y = Slice(x, starts, ends, axes)\n}");
    assert_becomes("merge-slices",
                   OPSET(9) "g (float[N,M] x) => (float[] y) { t = Slice <starts = [1], ends = "
                            "[7]> (x) y = Slice "
                            "<starts = [1], ends = "
                            "[3]> (t) }",
                   OPSET(9) "g (float[N,M] x) => (float[] y) { y = Slice <starts = [2], ends = "
                            "[4], axes = [0]> (x) }");
}

static void slices_that_are_not_plain_stay(void **state)
{
    static const char why[] = "what is taken is not known, or not with steps of 1";

    (void)state;
    assert_refused(
        "merge-slices",
        "g (float[N] x) => (float[] y) <int64[1] s = {1}, int64[1] e = {-1}> { t = Slice(x, s, e) "
        "y = Slice(t, s, e) }",
        why);
    assert_refused(
        "merge-slices",
        "g (float[N] x) => (float[] y) <int64[1] s = {0}, int64[1] e = {9}, int64[1] t2 = {2}> { "
        "t = Slice(x, s, e, s, t2) y = "
        "Slice(t, s, e) }",
        why);
    assert_refused(
        "merge-slices",
        "g (float[N] x, int64[1] s) => (float[] y) <int64[1] z = {0}, int64[1] e = {9}> { t = "
        "Slice(x, s, e) y = Slice(t, z, e) "
        "}",
        why);
    assert_refused(
        "merge-slices",
        "g (float[] x) => (float[] y) <int64[1] s = {0}, int64[1] e = {9}, int64[1] a = {-1}> { t "
        "= Slice(x, s, e, a) y = "
        "Slice(t, s, e) }",
        why);
    assert_kept("merge-slices",
                "g (float[N] x) => (float[] y, float[] t) <int64[1] s = {0}, int64[1] e = "
                "{9}> { t = Slice(x, s, e) y = Slice(t, s, e) }");
}

/* --- split-slices ----------------------------------------------------------------------------- */

#define INTS                                                                                       \
    "int64[1] z = {0}, int64[1] two = {2}, int64[1] three = {3}, int64[1] five = {5}, int64[1] "   \
    "six = {6}, "                                                                                  \
    "int64[1] last = {-1}"

/* optimizer 10 case 24 */
static void slices_that_make_up_the_whole_are_a_split(void **state)
{
    (void)state;
    assert_becomes(
        "split-slices" CLEAN,
        "g (float[N,6] x) => (float[N,3] y) <" INTS "> {\n"
        "  a = Slice(x, z, three, last)\n  b = Slice(x, three, six, last)\n  y = Add(a, b)\n}",
        "g (float[N,6] x) => (float[N,3] y) <int64[2] split = {3, 3}> {\n"
        "  a_1, b_1 = Split <axis = 1> (x, split)\n  y = Add(a_1, b_1)\n}");
    /* in any order, uneven, the last one to the end, more than two */
    assert_becomes("split-slices" CLEAN,
                   "g (float[6,N] x) => (float[1,N] a, float[2,N] b, float[3,N] c) <" INTS
                   ", int64[1] end = {" MAX "}> {\n"
                   "  t = Neg(x)\n  a = Slice(t, two, three, z)\n  u = Slice(t, three, end, z)\n  "
                   "b = Slice(t, z, two, "
                   "z)\n  c = Exp(u)\n}",
                   "g (float[6,N] x) => (float[1,N] a, float[2,N] b, float[3,N] c) <int64[3] split "
                   "= {2, 1, 3}> {\n"
                   "  t = Neg(x)\n  b, a, u_1 = Split <axis = 0> (t, split)\n  c = Exp(u_1)\n}");
    assert_becomes(
        "split-slices",
        OPSET(9) "g (float[6] x) => (float[2] y, float[4] z) { a = Slice <starts = [0], ends = "
                 "[2]> (x) b = Slice <starts = [2], "
                 "ends = [6]> (x) y = Neg(a) z = Neg(b) }",
        OPSET(9) "g (float[6] x) => (float[2] y, float[4] z) { a_1, b_1 = Split <axis = 0, split "
                 "= [2, 4]> (x) y = Neg(a_1) z = "
                 "Neg(b_1) }");
}

/* optimizer 10 case 24: halves of five are written as sizes */
static void odd_halves_are_written_as_sizes(void **state)
{
    (void)state;
    assert_becomes("split-slices" CLEAN,
                   "g (float[N,5] x) => (float[N,2] v, float[N,3] w) <" INTS "> {\n"
                   "  a = Slice(x, z, two, last)\n  b = Slice(x, two, five, last)\n  v = Neg(a)\n  "
                   "w = Neg(b)\n}",
                   "g (float[N,5] x) => (float[N,2] v, float[N,3] w) <int64[2] split = {2, 3}> {\n"
                   "  a_1, b_1 = Split <axis = 1> (x, split)\n  v = Neg(a_1)\n  w = Neg(b_1)\n}");
}

static void slices_that_overlap_others_find_their_own_parts(void **state)
{
    (void)state;
    assert_becomes(
        "split-slices" CLEAN,
        "g (float[6] x) => (float[2] a, float[3] b, float[4] c, float[3] d) <" INTS "> {\n"
        "  a = Slice(x, z, two)\n  b = Slice(x, z, three)\n  c = Slice(x, two, six)\n  d = "
        "Slice(x, three, six)\n}",
        "g (float[6] x) => (float[2] a, float[3] b, float[4] c, float[3] d) <int64[2] split = {2, "
        "4}, int64[2] split_1 = {3, 3}> {\n"
        "  b, d = Split <axis = 0> (x, split_1)\n  a, c = Split <axis = 0> (x, split)\n}");
}

static void slices_that_leave_something_stay(void **state)
{
    static const char why[] = "the parts do not make up the whole";

    (void)state;
    assert_refused("split-slices",
                   "g (float[6] x) => (float[2] y, float[3] w) <" INTS
                   "> { y = Slice(x, z, two) w = Slice(x, three, six) }",
                   why);
    assert_refused("split-slices",
                   "g (float[6] x) => (float[3] y, float[4] w) <" INTS
                   "> { y = Slice(x, z, three) w = Slice(x, two, six) }",
                   why);
    assert_refused("split-slices",
                   "g (float[6,6] x) => (float[] y, float[] w) <" INTS
                   "> { y = Slice(x, z, three, z) w = Slice(x, three, "
                   "six, last) }",
                   why);
    assert_kept("split-slices", "g (float[N] x) => (float[] y, float[] w) <" INTS
                                "> { y = Slice(x, z, three) w = Slice(x, three, six) }");
    assert_kept("split-slices",
                "g (float[6] x) => (float[] y) <" INTS "> { y = Slice(x, z, three) }");
}

static void slices_beside_quantization_stay(void **state)
{
    static const char why[] = "a part stands beside quantization";

    (void)state;
    assert_refused(
        "split-slices",
        "g (float[6] x) => (uint8[3] y, float[3] w) <" INTS ", float s = {0.5}, uint8 o = {0}> {\n"
        "  a = Slice(x, z, three)\n  w = Slice(x, three, six)\n  y = QuantizeLinear(a, s, o)\n}",
        why);
    assert_refused(
        "split-slices",
        "g (uint8[6] q) => (float[3] y, float[3] w) <" INTS ", float s = {0.5}, uint8 o = {0}> {\n"
        "  x = DequantizeLinear(q, s, o)\n  y = Slice(x, z, three)\n  w = Slice(x, three, six)\n}",
        why);
}

static void parts_that_are_read_in_a_subgraph_become_outputs_of_the_split(void **state)
{
    (void)state;
    assert_becomes(
        "split-slices" CLEAN,
        "g (float[6] x, bool c) => (float[3] y) <" INTS "> {\n"
        "  a = Slice(x, z, three)\n  b = Slice(x, three, six)\n"
        "  y = If (c) <then_branch = p () => (float[3] u) { u = Neg(a) }, else_branch = q () => "
        "(float[3] v) { v = Neg(b) }>\n}",
        "g (float[6] x, bool c) => (float[3] y) <int64[2] split = {3, 3}> {\n"
        "  a_1, b_1 = Split <axis = 0> (x, split)\n"
        "  y = If (c) <then_branch = p () => (float[3] u) { u = Neg(a_1) }, else_branch = q () => "
        "(float[3] v) { v = Neg(b_1) }>\n}");
}

/* --- Concat ----------------------------------------------------------------------------------- */

/* optimizer 10 case 13 */
static void parts_without_elements_go(void **state)
{
    (void)state;
    assert_becomes(
        "drop-empty-parts",
        "g (float[N,128] a, float[N,0] b, float[N,128] c) => (float[N,256] z) { z = Concat <axis "
        "= -1> (a, b, c) }",
        "g (float[N,128] a, float[N,0] b, float[N,128] c) => (float[N,256] z) { z = Concat <axis "
        "= -1> (a, c) }");
    assert_becomes(
        "drop-empty-parts",
        "g (float[N,0] a, float[N,0] b) => (float[N,0] z) { z = Concat <axis = -1> (a, b) }",
        "g (float[N,0] a, float[N,0] b) => (float[N,0] z) { z = Identity(a) }");
    assert_becomes(
        "drop-empty-parts",
        "g (float[0] a, float[N] b) => (float[N] z) { t = Concat <axis = 0> (a, b) z = Exp(t) }",
        "g (float[0] a, float[N] b) => (float[N] z) { z = Exp(b) }");
    assert_becomes("drop-empty-parts",
                   "g (float[N] a) => (float[N] z) { t = Concat <axis = 0> (a) z = Exp(t) }",
                   "g (float[N] a) => (float[N] z) { z = Exp(a) }");
}

static void parts_that_may_have_elements_stay(void **state)
{
    (void)state;
    assert_kept(
        "drop-empty-parts",
        "g (float[N,M] a, float[N,3] b) => (float[N,?] z) { z = Concat <axis = 1> (a, b) }");
    assert_kept(
        "drop-empty-parts",
        "g (float[0,M] a, float[0,3] b) => (float[0,?] z) { z = Concat <axis = 1> (a, b) }");
    assert_kept("drop-empty-parts",
                "g (float[2,0] a, float[N] b) => (float[] z) { z = Concat <axis = 0> (a, b) }");
}

static void concats_in_a_row_are_one(void **state)
{
    (void)state;
    assert_becomes(
        "merge-concats",
        "g (float[N] a, float[N] b, float[N] c, float[N] d) => (float[?] y) {\n"
        "  t = Concat <axis = 0> (b, c)\n  y = Concat <axis = -1> (a, t, d)\n}",
        "g (float[N] a, float[N] b, float[N] c, float[N] d) => (float[?] y) { y = Concat <axis = "
        "0> (a, b, c, d) }");
    assert_becomes(
        "merge-concats",
        "g (float[] a, float[] b) => (float[] y) { t = Concat <axis = -1> (a, b) u = Concat <axis "
        "= -1> (b, t) y = Concat "
        "<axis = -1> (u, a) }",
        "g (float[] a, float[] b) => (float[] y) { y = Concat <axis = -1> (b, a, b, a) }");
}

static void concats_along_other_axes_or_read_elsewhere_stay(void **state)
{
    (void)state;
    assert_kept("merge-concats", "g (float[2,2] a) => (float[4,4] y) { t = Concat <axis = 0> (a, "
                                 "a) y = Concat <axis = 1> (t, t) }");
    assert_kept("merge-concats",
                "g (float[2,2] a, float[4,2] b) => (float[4,4] y) { t = Concat <axis = 0> "
                "(a, a) y = Concat <axis = 1> (t, b) }");
    assert_kept("merge-concats",
                "g (float[N] a) => (float[?] t, float[?] y) { t = Concat <axis = 0> (a, a) "
                "y = Concat <axis = 0> (t, a) }");
    assert_kept("merge-concats", "g (float[N] a) => (float[?] y) { t = Concat <axis = 0> (a, a) y "
                                 "= Concat <axis = 0> (t, t) }");
}

static void quantized_parts_keep_their_concats(void **state)
{
    (void)state;
    assert_kept("merge-concats",
                "g (float[N] a) => (float[?] y) <float s = {0.5}, uint8 z = {0}> {\n"
                "  t = Concat <axis = 0> (a, a)\n  q = QuantizeLinear(t, s, z)\n  d = "
                "DequantizeLinear(q, s, z)\n"
                "  y = Concat <axis = 0> (d, a)\n}");
}

static void a_long_chain_of_concats_ends_at_a_bound(void **state)
{
    enum { N = 3000 };
    qdq_error err = QDQ_ERROR_INIT;
    char *text = malloc(N * 60 + 200);
    size_t used;

    (void)state;
    assert_non_null(text);
    used = (size_t)sprintf(text, "g (float[1] x) => (float[?] y) {\n  t0 = Neg(x)\n");
    for (int i = 1; i < N; i++)
        used += (size_t)sprintf(text + used, "  t%d = Concat <axis = 0> (t%d, x)\n", i, i - 1);
    sprintf(text + used, "  y = Neg(t%d)\n}\n", N - 1);
    qdq_model *m = test_model(text);
    free(text);
    assert_ok(qdq_model_run_passes(m, "merge-concats", &err));
    qdq_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slice_of_everything_goes),
        cmocka_unit_test(a_slice_of_less_stays),
        cmocka_unit_test(a_slice_to_the_size_that_is_there_goes),
        cmocka_unit_test(two_slices_are_one),
        cmocka_unit_test(slices_that_are_not_plain_stay),
        cmocka_unit_test(slices_that_make_up_the_whole_are_a_split),
        cmocka_unit_test(odd_halves_are_written_as_sizes),
        cmocka_unit_test(slices_that_overlap_others_find_their_own_parts),
        cmocka_unit_test(slices_that_leave_something_stay),
        cmocka_unit_test(slices_beside_quantization_stay),
        cmocka_unit_test(parts_that_are_read_in_a_subgraph_become_outputs_of_the_split),
        cmocka_unit_test(parts_without_elements_go),
        cmocka_unit_test(parts_that_may_have_elements_stay),
        cmocka_unit_test(concats_in_a_row_are_one),
        cmocka_unit_test(concats_along_other_axes_or_read_elsewhere_stay),
        cmocka_unit_test(quantized_parts_keep_their_concats),
        cmocka_unit_test(a_long_chain_of_concats_ends_at_a_bound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
