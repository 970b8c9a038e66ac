/* opt_rules_shape.c - Reshape and its like: what is there already, two that are one, shapes that
 * can be written down. */
#include "support/rewrite.h"

#define OPSET(n) "<ir_version: 8, opset_import: [\"\" : " #n "]> "
#define CLEAN    ",drop-unused"

/* --- drop-noop-shape -------------------------------------------------------------------------- */

static void a_shape_that_was_there_goes(void **state)
{
    static const char *const same[] = {
        "Reshape(x, s)", "Reshape(x, open)", "Flatten(x)",    "Flatten <axis = -1> (x)",
        "Expand(x, s)",  "Expand(x, one)",   "Tile(x, ones)", "Squeeze(x)"};
    char before[400];

    (void)state;
    for (size_t i = 0; i < QDQ_COUNT(same); i++) {
        snprintf(before, sizeof before,
                 "g (float[2,3] x) => (float[2,3] y) <int64[2] s = {2, 3}, int64[2] open = {-1, "
                 "3}, int64[1] "
                 "one = {1}, int64[2] "
                 "ones = {1, 1}> { t = %s y = Exp(t) }",
                 same[i]);
        assert_becomes("drop-noop-shape" CLEAN, before,
                       "g (float[2,3] x) => (float[2,3] y) { y = Exp(x) }");
    }
}

static void another_shape_stays(void **state)
{
    static const char *const other[] = {"Reshape(x, s)", "Flatten <axis = 0> (x)", "Expand(x, s)",
                                        "Tile(x, twice)", "Unsqueeze(x, zero)"};
    char text[400];

    (void)state;
    for (size_t i = 0; i < QDQ_COUNT(other); i++) {
        snprintf(text, sizeof text,
                 "g (float[2,1] x) => (float[] y) <int64[2] s = {1, 2}, int64[2] twice = {1, 2}, "
                 "int64[1] "
                 "zero = {0}> { y = %s }",
                 other[i]);
        assert_kept("drop-noop-shape", text);
    }
}

/* optimizer 10 case 12 */
static void a_reshape_to_the_symbols_that_are_there_goes(void **state)
{
    (void)state;
    assert_becomes("drop-noop-shape" CLEAN,
                   "g (float[B,256] x, float[B,128] y) => (float[B,256] z) <int64[1] i = {0}, "
                   "int64[1] c = {256}> {\n"
                   "  sh = Shape(y)\n  b = Gather(sh, i)\n  s = Concat <axis = 0> (b, c)\n  z = "
                   "Reshape(x, s)\n}",
                   "g (float[B,256] x, float[B,128] y) => (float[B,256] z) { z = Identity(x) }");
    assert_kept("drop-noop-shape", "g (float[A,256] x, float[B,128] y) => (float[?,256] z) "
                                   "<int64[1] i = {0}, int64[1] c = {256}> {\n"
                                   "  sh = Shape(y)\n  b = Gather(sh, i)\n  s = Concat <axis = 0> "
                                   "(b, c)\n  z = Reshape(x, s)\n}");
}

static void an_expand_to_the_symbols_that_are_there_goes(void **state)
{
    (void)state;
    assert_becomes(
        "drop-noop-shape" CLEAN,
        "g (float[N,3] x) => (float[N,3] y) { s = Shape(x) t = Expand(x, s) y = Exp(t) }",
        "g (float[N,3] x) => (float[N,3] y) { y = Exp(x) }");
    assert_kept(
        "drop-noop-shape",
        "g (float[1,3] x, float[N,3] z) => (float[N,3] y) { s = Shape(z) y = Expand(x, s) }");
}

static void reshapes_that_come_back_cancel(void **state)
{
    (void)state;
    assert_becomes(
        "drop-noop-shape" CLEAN,
        "g (float[N,6] x) => (float[N,6] y) <int64[3] a = {0, 2, 3}, int64[1] one = {1}, int64[2] "
        "b = {-1, 6}> {\n"
        "  t = Reshape(x, a)\n  u = Unsqueeze(t, one)\n  v = Reshape(u, b)\n  y = Exp(v)\n}",
        "g (float[N,6] x) => (float[N,6] y) { y = Exp(x) }");
    /* in the middle: back to what was between */
    assert_becomes(
        "drop-noop-shape" CLEAN,
        "g (float[6] x) => (float[2,3] y) <int64[2] a = {2, 3}, int64[2] b = {3, 2}> {\n"
        "  t = Reshape(x, a)\n  u = Reshape(t, b)\n  v = Reshape(u, a)\n  y = Exp(v)\n}",
        "g (float[6] x) => (float[2,3] y) <int64[2] a = {2, 3}> { t = Reshape(x, a) y = Exp(t) }");
}

static void squeeze_and_unsqueeze_of_the_same_axes_cancel_without_types(void **state)
{
    (void)state;
    assert_becomes(
        "drop-noop-shape" CLEAN,
        "g (float[] x) => (float[] y) <int64[1] a = {-1}> { t = Unsqueeze(x, a) u = Squeeze(t, a) "
        "y = Exp(u) }",
        "g (float[] x) => (float[] y) { y = Exp(x) }");
    assert_becomes(
        "drop-noop-shape" CLEAN,
        OPSET(11) "g (float[] x) => (float[] y) { t = Squeeze <axes = [0, 2]> (x) u = Unsqueeze "
                  "<axes = [0, 2]> (t) y "
                  "= Exp(u) }",
        OPSET(11) "g (float[] x) => (float[] y) { y = Exp(x) }");
    assert_kept(
        "drop-noop-shape",
        OPSET(
            11) "g (float[] x) => (float[] y) { t = Unsqueeze <axes = [0]> (x) y = Squeeze <axes = "
                "[1]> (t) }");
    assert_kept(
        "drop-noop-shape",
        "g (float[] x) => (float[] y) <int64[1] a = {0}> { t = Unsqueeze(x, a) y = Squeeze(t) }");
}

static void quantization_between_two_reshapes_keeps_both(void **state)
{
    (void)state;
    assert_kept("drop-noop-shape,merge-reshapes",
                "g (float[6] x) => (float[6] y) <float s = {0.5}, uint8 z "
                "= {0}, int64[2] a = {2, 3}, int64[1] b = {6}> {\n"
                "  t = Reshape(x, a)\n  q = QuantizeLinear(t, s, z)\n  d = "
                "DequantizeLinear(q, s, z)\n  y = Reshape(d, b)\n}");
}

/* --- drop-expand ------------------------------------------------------------------------------ */

static void an_expand_before_an_operator_that_broadcasts_goes(void **state)
{
    static const char *const ops[] = {"Add", "Sub", "Mul",  "Div", "Pow",
                                      "Max", "Min", "Mean", "Sum"};
    char before[400], after[400];

    (void)state;
    for (size_t i = 0; i < QDQ_COUNT(ops); i++) {
        snprintf(before, sizeof before,
                 "g (float[1,64] x, float[N,64] z) => (float[N,64] y) { s = Shape(z) t = Expand(x, "
                 "s) y = "
                 "%s(t, z) }",
                 ops[i]);
        snprintf(after, sizeof after,
                 "g (float[1,64] x, float[N,64] z) => (float[N,64] y) { y = %s(x, z) }", ops[i]);
        assert_becomes("drop-expand" CLEAN, before, after);
    }
    assert_becomes("drop-expand" CLEAN,
                   "g (float[64] x, float[N,64] z) => (bool[N,64] y) { s = Shape(z) t = Expand(x, "
                   "s) y = Less(z, t) }",
                   "g (float[64] x, float[N,64] z) => (bool[N,64] y) { y = Less(z, x) }");
    /* a number that is spread over what is there already */
    assert_becomes(
        "drop-expand" CLEAN,
        "g (float[N,64] z) => (float[N,64] y) <float c = {2}> { s = Shape(z) t = Expand(c, s) y = "
        "Mul(t, z) }",
        "g (float[N,64] z) => (float[N,64] y) <float c = {2}> { y = Mul(c, z) }");
}

static void an_expand_that_makes_the_shape_stays(void **state)
{
    static const char why[] = "without the Expand it may have another shape";

    (void)state;
    assert_refused(
        "drop-expand",
        "g (float[1,64] x, float[N,64] w, float[1,64] z) => (float[N,64] y) { s = Shape(w) t = "
        "Expand(x, s) y = Add(t, z) }",
        why);
    assert_refused("drop-expand",
                   "g (float[64] x, float[N,64] w) => (float[N,64] y) { s = Shape(w) t = Expand(x, "
                   "s) y = Add(t, x) }",
                   why);
    assert_refused("drop-expand",
                   "g (float[1,64] x, float[N,64] z, int64[2] s) => (float[?,64] y) { t = "
                   "Expand(x, s) y = Add(t, z) }",
                   why);
    assert_kept("drop-expand",
                "g (float[1,64] x, float[N,64] z) => (float[N,64] y) { s = Shape(z) t = "
                "Expand(x, s) y = MatMul(t, t) }");
}

static void quantization_behind_an_expand_keeps_it(void **state)
{
    (void)state;
    assert_kept(
        "drop-expand",
        "g (float[1,64] x, float[N,64] z) => (float[N,64] y) <float c = {0.5}, uint8 o = {0}> {\n"
        "  s = Shape(z)\n  t = Expand(x, s)\n  q = QuantizeLinear(t, c, o)\n  d = "
        "DequantizeLinear(q, c, o)\n"
        "  y = Add(d, z)\n}");
}

/* --- merge-reshapes --------------------------------------------------------------------------- */

static void two_reshapes_are_one(void **state)
{
    static const char *const first[] = {"Reshape(x, a)", "Flatten(x)", "Squeeze(x)",
                                        "Unsqueeze(x, one)"};
    char before[400];

    (void)state;
    for (size_t i = 0; i < QDQ_COUNT(first); i++) {
        snprintf(before, sizeof before,
                 "g (float[2,1,6] x) => (float[4,3] y) <int64[2] b = {-1, 3}, int64[1] a = {12}, "
                 "int64[1] "
                 "one = {1}> {\n"
                 "  t = %s\n  y = Reshape(t, b)\n}",
                 first[i]);
        assert_becomes(
            "merge-reshapes" CLEAN, before,
            "g (float[2,1,6] x) => (float[4,3] y) <int64[2] b = {-1, 3}> { y = Reshape(x, b) }");
    }
}

static void a_copied_dim_is_written_down(void **state)
{
    (void)state;
    assert_becomes(
        "merge-reshapes" CLEAN,
        "g (float[2,6] x) => (float[4,3] y) <int64[2] a = {4, 3}, int64[2] b = {0, -1}> { t = "
        "Reshape(x, a) y = "
        "Reshape(t, b) }",
        "g (float[2,6] x) => (float[4,3] y) <int64[2] b_1 = {4, -1}> { y = Reshape(x, b_1) }");
}

static void a_copied_dim_that_x_has_at_the_same_place_stays_copied(void **state)
{
    (void)state;
    assert_becomes(
        "merge-reshapes" CLEAN,
        "g (float[N,6] x) => (float[N,3,2] y) <int64[3] a = {0, 2, 3}, int64[3] b = {0, 3, 2}> { "
        "t = Reshape(x, a) y = "
        "Reshape(t, b) }",
        "g (float[N,6] x) => (float[N,3,2] y) <int64[3] b = {0, 3, 2}> { y = Reshape(x, b) }");
}

static void one_copied_dim_that_is_not_known_is_left_open(void **state)
{
    (void)state;
    assert_becomes(
        "merge-reshapes" CLEAN,
        "g (float[2,N] x) => (float[?,2] y) <int64[2] a = {-1, 2}, int64[2] b = {0, 2}> { t = "
        "Reshape(x, a) y = "
        "Reshape(t, b) }",
        "g (float[2,N] x) => (float[?,2] y) <int64[2] b_1 = {-1, 2}> { y = Reshape(x, b_1) }");
}

static void copied_dims_that_are_not_known_keep_both(void **state)
{
    static const char why[] = "copies dims of what is between";

    (void)state;
    assert_refused(
        "merge-reshapes",
        "g (float[6,N] x) => (float[] y) <int64[3] a = {-1, 2, 3}, int64[2] b = {0, -1}> { t = "
        "Reshape(x, a) y = "
        "Reshape(t, b) }",
        why);
    assert_refused(
        "merge-reshapes",
        "g (float[A,B] x) => (float[] y) { t = Transpose(x) s = Shape(t) u = Reshape(x, s) b = "
        "Constant <value = "
        "int64[3] {0, 0, 1}> () y = Reshape(u, b) }",
        why);
    /* N stays copied, and -1 beside a dim that may be 0 fails */
    assert_refused(
        "merge-reshapes",
        "g (float[N,M] x) => (float[] y) <int64[3] a = {0, -1, 2}, int64[3] b = {0, 0, 2}> { t = "
        "Reshape(x, a) y = "
        "Reshape(t, b) }",
        why);
}

static void zeros_that_are_meant_stay(void **state)
{
    (void)state;
    assert_becomes("merge-reshapes" CLEAN,
                   "g (float[0,6] x) => (float[3,0] y) <int64[1] a = {0}, int64[2] b = {3, 0}> {\n"
                   "  t = Reshape(x, a)\n  y = Reshape <allowzero = 1> (t, b)\n}",
                   "g (float[0,6] x) => (float[3,0] y) <int64[2] b = {3, 0}> { y = Reshape "
                   "<allowzero = 1> (x, b) }");
}

static void reshapes_to_computed_shapes_stay(void **state)
{
    (void)state;
    assert_kept(
        "merge-reshapes",
        "g (float[N,6] x, int64[2] s) => (float[] y) <int64[1] a = {-1}> { t = Reshape(x, a) y = "
        "Reshape(t, s) }");
    assert_kept("merge-reshapes", "<ir_version: 3, opset_import: [\"\" : 1]> g (float[6] x) => "
                                  "(float[6] y) { t = Reshape <shape "
                                  "= [2, 3]> (x) y = Reshape <shape = [6]> (t) }");
}

static void a_first_reshape_that_others_read_stays_for_them(void **state)
{
    (void)state;
    assert_becomes("merge-reshapes",
                   "g (float[6] x) => (float[2,3] t, float[3,2] y) <int64[2] a = {2, 3}, int64[2] "
                   "b = {3, 2}> {\n"
                   "  t = Reshape(x, a) y = Reshape(t, b) }",
                   "g (float[6] x) => (float[2,3] t, float[3,2] y) <int64[2] a = {2, 3}, int64[2] "
                   "b = {3, 2}> {\n"
                   "  t = Reshape(x, a) y = Reshape(x, b) }");
}

/* --- merge-unsqueezes ------------------------------------------------------------------------- */

/* axes of the first, of the second, and of both in one */
static const struct {
    const char *op, *in, *first, *second, *both;
} axes[] = {
    {"Unsqueeze", "float[]", "0", "0", "0, 1"},
    {"Unsqueeze", "float[]", "1", "0", "0, 2"},
    {"Unsqueeze", "float[]", "0", "2", "0, 2"},
    {"Unsqueeze", "float[]", "2, 0", "1, 3", "0, 1, 3, 4"},
    {"Unsqueeze", "float[5,6]", "-1", "-4", "0, 3"},
    {"Squeeze", "float[]", "0", "0", "0, 1"},
    {"Squeeze", "float[]", "1", "0", "0, 1"},
    {"Squeeze", "float[]", "0", "1", "0, 2"},
    {"Squeeze", "float[1,7,1]", "-1", "-2", "0, 2"},
};

static int count_of(const char *list)
{
    int n = 1;

    for (; *list != '\0'; list++)
        n += *list == ',';
    return n;
}

static void two_unsqueezes_are_one(void **state)
{
    char before[400], after[400];

    (void)state;
    for (size_t i = 0; i < QDQ_COUNT(axes); i++) {
        snprintf(before, sizeof before,
                 "g (%s x) => (float[] y) <int64[%d] a = {%s}, int64[%d] b = {%s}> { t = %s(x, a) "
                 "y = %s(t, b) }",
                 axes[i].in, count_of(axes[i].first), axes[i].first, count_of(axes[i].second),
                 axes[i].second, axes[i].op, axes[i].op);
        snprintf(after, sizeof after,
                 "g (%s x) => (float[] y) <int64[%d] axes = {%s}> { y = %s(x, axes) }", axes[i].in,
                 count_of(axes[i].both), axes[i].both, axes[i].op);
        assert_becomes("merge-unsqueezes" CLEAN, before, after);
        snprintf(
            before, sizeof before,
            OPSET(
                12) "g (%s x) => (float[] y) { t = %s <axes = [%s]> (x) y = %s <axes = [%s]> (t) }",
            axes[i].in, axes[i].op, axes[i].first, axes[i].op, axes[i].second);
        snprintf(after, sizeof after,
                 OPSET(12) "g (%s x) => (float[] y) { y = %s <axes = [%s]> (x) }", axes[i].in,
                 axes[i].op, axes[i].both);
        assert_becomes("merge-unsqueezes" CLEAN, before, after);
    }
}

static void axes_that_are_not_known_keep_both(void **state)
{
    static const char *const texts[] = {
        "g (float[] x) => (float[] y) <int64[1] a = {-1}> { t = Unsqueeze(x, a) y = Unsqueeze(t, "
        "a) }",
        "g (float[] x, int64[1] a) => (float[] y) <int64[1] b = {0}> { t = Unsqueeze(x, a) y = "
        "Unsqueeze(t, "
        "b) }",
        "g (float[] x) => (float[] y) <int64[1] a = {0}> { t = Squeeze(x) y = Squeeze(t, a) }",
        "g (float[] x) => (float[] y) <int64[1] a = {0}> { t = Squeeze(x, a) y = Squeeze(t) }",
        "g (float[] x) => (float[] y) <int64[2] a = {0, 0}, int64[1] b = {0}> { t = Unsqueeze(x, "
        "a) y = "
        "Unsqueeze(t, b) }",
        "g (float[] x) => (float[] y) <int64[1] a = {99}> { t = Unsqueeze(x, a) y = Unsqueeze(t, "
        "a) }",
    };

    (void)state;
    for (size_t i = 0; i < QDQ_COUNT(texts); i++)
        assert_refused("merge-unsqueezes", texts[i], "the axes are not known");
}

/* --- materialize-reshape ---------------------------------------------------------------------- */

/* What an exporter writes for x.view(x.shape[0], 12, 4) and its like. */
static void a_shape_known_but_for_one_dim_is_written_down(void **state)
{
    (void)state;
    assert_becomes(
        "materialize-reshape" CLEAN,
        "g (float[N,48] x) => (float[N,12,4] y) <int64[1] i = {0}, int64[2] c = {12, 4}> {\n"
        "  sh = Shape(x)\n  n = Gather(sh, i)\n  s = Concat <axis = 0> (n, c)\n  y = Reshape(x, "
        "s)\n}",
        "g (float[N,48] x) => (float[N,12,4] y) <int64[3] s_1 = {-1, 12, 4}> { y = Reshape(x, s_1) "
        "}");
    /* a product that has no name */
    assert_becomes(
        "materialize-reshape" CLEAN,
        "g (float[50,N,768] x) => (float[50,?,64] y) <int64 one = {1}, int64 h = {12}, int64[1] "
        "zero = {0}, "
        "int64[1] a = "
        "{50}, int64[1] b = {64}> {\n"
        "  sh = Shape(x)\n  n = Gather(sh, one)\n  nh = Mul(n, h)\n  u = Unsqueeze(nh, zero)\n"
        "  s = Concat <axis = 0> (a, u, b)\n  y = Reshape(x, s)\n}",
        "g (float[50,N,768] x) => (float[50,?,64] y) <int64[3] s_1 = {50, -1, 64}> { y = "
        "Reshape(x, s_1) }");
    /* an input: 0, -1 and n mean the same beside 2 and 3 */
    assert_becomes("materialize-reshape" CLEAN,
                   "g (float[N,6] x, int64[1] n) => (float[] y) <int64[2] c = {2, 3}> { s = Concat "
                   "<axis = 0> (n, c) y "
                   "= "
                   "Reshape(x, s) }",
                   "g (float[N,6] x, int64[1] n) => (float[] y) <int64[3] s_1 = {-1, 2, 3}> { y = "
                   "Reshape(x, s_1) }");
}

static void dims_that_stay_at_their_place_are_copied(void **state)
{
    (void)state;
    assert_becomes("materialize-reshape" CLEAN,
                   "g (float[N,64,8,8] x) => (float[N,64,64] y) <int64[1] a = {0}, int64[1] b = "
                   "{1}, int64[1] m = {-1}, "
                   "int64[1] c = {64}> {\n"
                   "  sh = Shape(x)\n  n = Slice(sh, a, b, a)\n  s = Concat <axis = 0> (n, c, m)\n "
                   " y = Reshape(x, "
                   "s)\n}",
                   "g (float[N,64,8,8] x) => (float[N,64,64] y) <int64[3] s_1 = {0, 64, -1}> { y = "
                   "Reshape(x, s_1) }");
    assert_becomes("materialize-reshape" CLEAN,
                   "g (float[N,M,6] x) => (float[N,M,2,3] y) <int64[1] a = {0}, int64[1] b = {2}, "
                   "int64[2] c = {2, 3}> "
                   "{\n"
                   "  sh = Shape(x)\n  nm = Slice(sh, a, b, a)\n  s = Concat <axis = 0> (nm, c)\n  "
                   "y = Reshape(x, s)\n}",
                   "g (float[N,M,6] x) => (float[N,M,2,3] y) <int64[4] s_1 = {0, 0, 2, 3}> { y = "
                   "Reshape(x, s_1) }");
}

static void a_zero_that_copies_a_known_dim_is_that_dim(void **state)
{
    (void)state;
    assert_becomes("materialize-reshape" CLEAN,
                   "g (float[4,N] x, int64[1] n) => (float[] y) <int64[1] zero = {0}> { s = Concat "
                   "<axis = 0> (zero, n) "
                   "y = "
                   "Reshape(x, s) }",
                   "g (float[4,N] x, int64[1] n) => (float[] y) <int64[2] s_1 = {4, -1}> { y = "
                   "Reshape(x, s_1) }");
}

static void a_shape_that_is_fully_known_is_written_down_as_it_is(void **state)
{
    (void)state;
    assert_becomes(
        "materialize-reshape" CLEAN,
        "g (float[4,6] x, float[3,8] z) => (float[3,8] y) { s = Shape(z) y = Reshape(x, s) }",
        "g (float[4,6] x, float[3,8] z) => (float[3,8] y) <int64[2] s_1 = {3, 8}> { y = Reshape(x, "
        "s_1) }");
    assert_becomes(
        "materialize-reshape" CLEAN,
        "g (float[0,6] x, float[0,3] z) => (float[0,3] y) { s = Shape(z) y = Reshape <allowzero = "
        "1> (x, s) }",
        "g (float[0,6] x, float[0,3] z) => (float[0,3] y) <int64[2] s_1 = {0, 3}> { y = Reshape "
        "<allowzero = 1> (x, s_1) }");
}

static void more_than_one_open_dim_stays_computed(void **state)
{
    static const char why[] = "more than one dim of the shape is not known";

    (void)state;
    /* not at their place; beside a 0; with -1 where N may be 0; zeros that are meant */
    assert_refused(
        "materialize-reshape",
        "g (float[N,M] x) => (float[M,N] y) { t = Transpose(x) s = Shape(t) y = Reshape(x, s) }",
        why);
    assert_refused(
        "materialize-reshape",
        "g (float[N,M,6] x, int64[1] n) => (float[] y) <int64[1] zero = {0}> { s = Concat <axis = "
        "0> (n, zero) y = "
        "Reshape(x, s) }",
        why);
    assert_refused(
        "materialize-reshape",
        "g (float[M,N,6] x, float[N] z) => (float[] y) <int64[2] c = {-1, 3}> { n = Shape(z) s = "
        "Concat <axis = 0> (n, c) y "
        "= Reshape(x, s) }",
        why);
    assert_refused(
        "materialize-reshape",
        "g (float[N,M,6] x) => (float[N,M,2,3] y) <int64[1] a = {0}, int64[1] b = {2}, int64[2] c "
        "= {2, 3}> {\n"
        "  sh = Shape(x)\n  nm = Slice(sh, a, b, a)\n  s = Concat <axis = 0> (nm, c)\n"
        "  y = Reshape <allowzero = 1> (x, s)\n}",
        why);
}

static void shapes_of_which_nothing_is_known_stay(void **state)
{
    (void)state;
    assert_kept("materialize-reshape",
                "g (float[N,6] x, int64[2] s) => (float[] y) { y = Reshape(x, s) }");
    assert_kept("materialize-reshape",
                "g (float[N,6] x) => (float[2,?] y) <int64[2] s = {2, -1}> { y = Reshape(x, s) }");
}

static void a_shape_that_others_read_stays_for_them(void **state)
{
    (void)state;
    assert_becomes("materialize-reshape" CLEAN,
                   "g (float[N,6] x, float[N,2,3] z) => (float[N,2,3] y, int64[3] s) { s = "
                   "Shape(z) y = Reshape(x, s) }",
                   "g (float[N,6] x, float[N,2,3] z) => (float[N,2,3] y, int64[3] s) <int64[3] s_1 "
                   "= {-1, 2, 3}> { s = "
                   "Shape(z) y = "
                   "Reshape(x, s_1) }");
}

static void a_reshape_inside_a_loop_is_written_down(void **state)
{
    (void)state;
    assert_becomes("materialize-reshape" CLEAN,
                   "g (float[N,6] x, int64 n, bool c) => (float[?,N,2,3] y) <int64[2] d = {2, 3}, "
                   "int64[1] i = {0}> {\n"
                   "  y = Loop <body = b (int64 k, bool e) => (bool f, float[N,2,3] o) {\n"
                   "    f = Identity(e)\n    sh = Shape(x)\n    m = Gather(sh, i)\n    s = Concat "
                   "<axis = 0> (m, d)\n   "
                   " o = Reshape(x, s)\n"
                   "  }> (n, c)\n}",
                   "g (float[N,6] x, int64 n, bool c) => (float[?,N,2,3] y) {\n"
                   "  y = Loop <body = b (int64 k, bool e) => (bool f, float[N,2,3] o) <int64[3] "
                   "s_1 = {-1, 2, 3}> {\n"
                   "    f = Identity(e)\n    o = Reshape(x, s_1)\n"
                   "  }> (n, c)\n}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shape_that_was_there_goes),
        cmocka_unit_test(another_shape_stays),
        cmocka_unit_test(a_reshape_to_the_symbols_that_are_there_goes),
        cmocka_unit_test(an_expand_to_the_symbols_that_are_there_goes),
        cmocka_unit_test(reshapes_that_come_back_cancel),
        cmocka_unit_test(squeeze_and_unsqueeze_of_the_same_axes_cancel_without_types),
        cmocka_unit_test(quantization_between_two_reshapes_keeps_both),
        cmocka_unit_test(an_expand_before_an_operator_that_broadcasts_goes),
        cmocka_unit_test(an_expand_that_makes_the_shape_stays),
        cmocka_unit_test(quantization_behind_an_expand_keeps_it),
        cmocka_unit_test(two_reshapes_are_one),
        cmocka_unit_test(a_copied_dim_is_written_down),
        cmocka_unit_test(a_copied_dim_that_x_has_at_the_same_place_stays_copied),
        cmocka_unit_test(one_copied_dim_that_is_not_known_is_left_open),
        cmocka_unit_test(copied_dims_that_are_not_known_keep_both),
        cmocka_unit_test(zeros_that_are_meant_stay),
        cmocka_unit_test(reshapes_to_computed_shapes_stay),
        cmocka_unit_test(a_first_reshape_that_others_read_stays_for_them),
        cmocka_unit_test(two_unsqueezes_are_one),
        cmocka_unit_test(axes_that_are_not_known_keep_both),
        cmocka_unit_test(a_shape_known_but_for_one_dim_is_written_down),
        cmocka_unit_test(dims_that_stay_at_their_place_are_copied),
        cmocka_unit_test(a_zero_that_copies_a_known_dim_is_that_dim),
        cmocka_unit_test(a_shape_that_is_fully_known_is_written_down_as_it_is),
        cmocka_unit_test(more_than_one_open_dim_stays_computed),
        cmocka_unit_test(shapes_of_which_nothing_is_known_stay),
        cmocka_unit_test(a_shape_that_others_read_stays_for_them),
        cmocka_unit_test(a_reshape_inside_a_loop_is_written_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
