/* opt_rules_clip.c - bounds that follow each other. */
#include "support/rewrite.h"

#define OPSET(n) "<ir_version: 8, opset_import: [\"\" : " #n "]> "
#define CLEAN    ",drop-unused"

/* Bounds of the first and of the second, and what is left; "-": none. Numbers as they are
 * printed. */
typedef struct chain {
    const char *lo1, *hi1, *lo2, *hi2, *lo, *hi;
} chain;

static void print_clip(char *to, size_t size, const char *out, const char *in, const char *lo,
                       const char *hi)
{
    if (lo[0] == '-' && lo[1] == '\0' && hi[0] == '-' && hi[1] == '\0')
        snprintf(to, size, "  %s = Clip(%s)\n", out, in);
    else
        snprintf(to, size, "  %s = Clip(%s, %s%s%s)\n", out, in, strcmp(lo, "-") == 0 ? "\"\"" : lo,
                 strcmp(hi, "-") == 0 ? "" : ", ", strcmp(hi, "-") == 0 ? "" : hi);
}

#define NUMBERS                                                                                    \
    "float a = {-5}, float b = {-1}, float c = {0}, float d = {1}, float e = {2}, float f = {3}, " \
    "float g = "                                                                                   \
    "{6}"

/* optimizer 10 case 20 */
static void two_clips_are_one(void **state)
{
    /* -5 -1 0 1 2 3 6 are a to g */
    static const chain chains[] = {
        {"c", "d", "e", "f", "e", "e"}, {"e", "f", "c", "d", "d", "d"},
        {"a", "f", "c", "g", "c", "f"}, {"c", "g", "d", "e", "d", "e"},
        {"-", "f", "c", "-", "c", "f"}, {"c", "-", "d", "-", "d", "-"},
        {"-", "f", "-", "e", "-", "e"}, {"f", "d", "c", "g", "d", "d"},
        {"f", "d", "e", "f", "e", "e"}, {"c", "g", "f", "d", "d", "d"},
        {"-", "-", "c", "-", "c", "-"},
    };
    char first[100], second[100], both[100], before[600], after[600];

    (void)state;
    for (size_t i = 0; i < QDQ_COUNT(chains); i++) {
        print_clip(first, sizeof first, "t", "x", chains[i].lo1, chains[i].hi1);
        print_clip(second, sizeof second, "y", "t", chains[i].lo2, chains[i].hi2);
        print_clip(both, sizeof both, "y", "x", chains[i].lo, chains[i].hi);
        snprintf(before, sizeof before, "g (float[N] x) => (float[N] y) <" NUMBERS "> {\n%s%s}",
                 first, second);
        snprintf(after, sizeof after, "g (float[N] x) => (float[N] y) <" NUMBERS "> {\n%s}", both);
        assert_becomes("merge-clips", before, after);
    }
}

/* optimizer 10 case 21 */
static void a_relu_behind_a_clip_below_zero_leaves_zero(void **state)
{
    (void)state;
    assert_becomes("merge-clips" CLEAN,
                   "g (float[N] x) => (float[N] y) <float a = {-5}, float b = {-1}> { t = Clip(x, "
                   "a, b) y = Relu(t) }",
                   "g (float[N] x) => (float[N] y) <float min = {0}, float max = {0}> { y = "
                   "Clip(x, min, max) }");
}

static void relu_and_clip_are_a_clip(void **state)
{
    (void)state;
    assert_becomes(
        "merge-clips" CLEAN,
        "g (float[N] x) => (float[N] y) <float c = {0}, float g = {6}> { t = Relu(x) y = Clip(t, "
        "c, g) }",
        "g (float[N] x) => (float[N] y) <float c = {0}, float g = {6}> { y = Clip(x, c, g) }");
    assert_becomes(
        "merge-clips" CLEAN,
        "g (float[N] x) => (float[N] y) <float a = {-1}, float g = {6}> { t = Clip(x, a, g) y = "
        "Relu(t) }",
        "g (float[N] x) => (float[N] y) <float g = {6}, float min = {0}> { y = Clip(x, min, g) }");
    assert_becomes("merge-clips" CLEAN,
                   "g (float[N] x) => (float[N] y) { t = Relu(x) y = Clip(t) }",
                   "g (float[N] x) => (float[N] y) <float min = {0}> { y = Clip(x, min) }");
    assert_becomes("merge-clips" CLEAN,
                   OPSET(14) "g (int32[N] x) => (int32[N] y) <int32 g = {6}> { t = Relu(x) y = "
                             "Clip(t, \"\", g) }",
                   OPSET(14) "g (int32[N] x) => (int32[N] y) <int32 g = {6}, int32 min = {0}> { y "
                             "= Clip(x, min, g) }");
}

/* optimizer 10 case 22 */
static void clips_with_attributes_are_merged_as_such(void **state)
{
    (void)state;
    assert_becomes(
        "merge-clips",
        OPSET(6) "g (float[N] x) => (float[N] y) { t = Clip <min = 0.0, max = 6.0> (x) y = Clip "
                 "<min = 1.0, max = 5.0> (t) }",
        OPSET(6) "g (float[N] x) => (float[N] y) { y = Clip <min = 1.0, max = 5.0> (x) }");
    assert_becomes(
        "merge-clips",
        OPSET(10) "g (float[N] x) => (float[N] y) { t = Relu(x) y = Clip <max = 6.0> (t) }",
        OPSET(10) "g (float[N] x) => (float[N] y) { y = Clip <min = 0.0, max = 6.0> (x) }");
}

/* optimizer 10 case 23 */
static void two_clips_on_one_tensor_keep_their_own_bounds(void **state)
{
    (void)state;
    assert_becomes("merge-clips" CLEAN,
                   "g (float[N] x) => (float[N] a, float[N] b) <float m = {-1}, float six = {6}, "
                   "float four = {4}> {\n"
                   "  r = Relu(x)\n  a = Clip(r, m, six)\n  s = Relu(x)\n  b = Clip(s, m, four)\n}",
                   "g (float[N] x) => (float[N] a, float[N] b) <float six = {6}, float four = {4}, "
                   "float min = {0}, "
                   "float min_1 = "
                   "{0}> {\n  a = Clip(x, min, six)\n  b = Clip(x, min_1, four)\n}");
}

static void bounds_that_are_not_constant_keep_both(void **state)
{
    static const char why[] = "a bound is not a constant number";

    (void)state;
    assert_refused("merge-clips",
                   "g (float[N] x, float l) => (float[N] y) <float g = {6}> { t = Clip(x, l) y = "
                   "Clip(t, \"\", g) }",
                   why);
    assert_refused(
        "merge-clips",
        "g (float[N] x, float l = {1}) => (float[N] y) <float g = {6}> { t = Clip(x, \"\", g) y = "
        "Clip(t, l) }",
        why);
    assert_refused(
        "merge-clips",
        "g (float[N] x) => (float[N] y) <float n = {nan}> { t = Relu(x) y = Clip(t, n) }", why);
    assert_refused(
        "merge-clips",
        "g (int64[N] x) => (int64[N] y) <int64 n = {9223372036854775807}> { t = Relu(x) y = "
        "Clip(t, \"\", n) }",
        why);
}

static void what_clip_cannot_do_stays(void **state)
{
    (void)state;
    assert_refused("merge-clips",
                   "g (float[N] x) => (float[N] y) { u = my.Op(x) t = Relu(u) y = Clip(t) }",
                   "the element type is not known");
    assert_refused(
        "merge-clips",
        "g (float[N] x) => (float[N] y) <float i = {inf}> { t = Relu(x) y = Clip(t, i) }",
        "a bound is infinite");
}

/* Such models are not right, but sound: out of memory was what was said of the first of them. */
static void bounds_that_the_type_cannot_hold_stay(void **state)
{
    (void)state;
    assert_refused("merge-clips", "g (string[N] x) => (string[N] y) { t = Relu(x) y = Clip(t) }",
                   "the element type cannot hold the bounds");
    assert_refused(
        "merge-clips",
        "g (uint8[N] x) => (uint8[N] y) <uint8 lo = {1}, float hi = {300.5}> { t = Clip(x, lo) y = "
        "Clip(t, \"\", hi) }",
        "the bounds have different types");
    assert_refused("merge-clips",
                   "g (uint8[N] x) => (uint8[N] y) <uint8 lo = {1}, float hi = {300.5}> { t = "
                   "Clip(x, lo, hi) y "
                   "= Relu(t) }",
                   "a bound is not a constant number");
    assert_refused("min-max-to-clip",
                   "g (int8[N] x) => (int8[N] y) <int8 lo = {1}, float hi = {1e30}> { t = Max(x, "
                   "lo) y = Min(t, "
                   "hi) }",
                   "the bounds have different types");
}

static void a_first_bound_that_others_read_stays(void **state)
{
    (void)state; /* an engine that fuses it into the layer before would need that twice */
    assert_kept("merge-clips", "g (float[N] x) => (float[N] y, float[N] t) <float g = {6}> { t = "
                               "Relu(x) y = Clip(t, \"\", g) }");
}

static void quantization_between_relu_and_clip_keeps_both(void **state)
{
    (void)state;
    assert_kept("merge-clips",
                "g (float[N] x) => (float[N] y) <float g = {6}, float s = {0.5}, uint8 z = {0}> {\n"
                "  t = Relu(x)\n  q = QuantizeLinear(t, s, z)\n  d = DequantizeLinear(q, s, z)\n"
                "  y = Clip(d, \"\", g)\n}");
}

static void merged_bounds_in_front_of_quantize_are_one_clip(void **state)
{
    (void)state;
    assert_becomes(
        "merge-clips" CLEAN,
        "g (float[N] x) => (uint8[N] y) <float g = {6}, float s = {0.5}, uint8 z = {0}> {\n"
        "  t = Relu(x)\n  u = Clip(t, \"\", g)\n  y = QuantizeLinear(u, s, z)\n}",
        "g (float[N] x) => (uint8[N] y) <float g = {6}, float s = {0.5}, uint8 z = {0}, float min "
        "= {0}> {\n"
        "  u = Clip(x, min, g)\n  y = QuantizeLinear(u, s, z)\n}");
}

/* --- min-max-to-clip -------------------------------------------------------------------------- */

static void min_and_max_are_a_clip(void **state)
{
    static const struct {
        const char *nodes, *clip;
    } cases[] = {
        {"t = Min(x, hi) y = Max(t, lo)", "Clip(x, lo, hi)"},
        {"t = Max(lo, x) y = Min(hi, t)", "Clip(x, lo, hi)"},
        {"t = Max(x, hi) y = Min(t, lo)", "Clip(x, hi, lo)"}, /* lo above hi gives hi, both ways */
        {"t = Max(x, hi) y = Max(t, lo)", "Max(x, hi)"},
        {"t = Min(x, hi) y = Min(t, lo)", "Min(x, lo)"},
    };
    char before[300], after[300];

    (void)state;
    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        /* a constant that is the first operand is not found again */
        bool again = strstr(cases[i].nodes, "(lo, x)") == NULL;
        snprintf(before, sizeof before,
                 "g (float[N] x) => (float[N] y) <float lo = {0}, float hi = {6}> { %s }",
                 cases[i].nodes);
        snprintf(after, sizeof after,
                 again
                     ? "g (float[N] x) => (float[N] y) <float lo = {0}, float hi = {6}> { y = %s }"
                     : "g (float[N] x) => (float[N] y) <float lo = {0}, float hi = {6}, float min "
                       "= {0}, "
                       "float max = {6}> { y = "
                       "Clip(x, min, max) }",
                 cases[i].clip);
        assert_becomes("min-max-to-clip", before, after);
    }
}

/* A Clip without a bound ends at the largest finite number; Relu, Max and a Clip with an infinite
 * bound do not. */
static void infinity_passes_as_before(void **state)
{
    (void)state;
    assert_becomes(
        "min-max-to-clip",
        "g (float[N] x) => (float[N] y) <float lo = {0}, float i = {inf}> { t = Min(x, i) y = "
        "Max(t, "
        "lo) }",
        "g (float[N] x) => (float[N] y) <float lo = {0}, float i = {inf}> { y = Max(x, lo) }");
    assert_refused("merge-clips",
                   "g (float[N] x) => (float[N] y) <float lo = {-1}, float i = {inf}> { t = "
                   "Clip(x, lo, i) y = "
                   "Relu(t) }",
                   "a bound is infinite");
    assert_refused(
        "merge-clips",
        "g (float[N] x) => (float[N] y) <float hi = {1}, float i = {-inf}> { t = Clip(x, i) y = "
        "Clip(t, i, hi) }",
        "a bound is infinite");
    assert_becomes(
        "merge-clips",
        "g (float[N] x) => (float[N] y) <float hi = {1}, float i = {-inf}> { t = Clip(x, i) y = "
        "Clip(t, \"\", hi) }",
        "g (float[N] x) => (float[N] y) <float hi = {1}, float i = {-inf}> { y = Clip(x, \"\", hi) "
        "}");
}

static void bounds_with_one_element_become_scalars(void **state)
{
    (void)state;
    assert_becomes(
        "min-max-to-clip" CLEAN,
        "g (int8[N] x) => (int8[N] y) <int8[1] lo = {-3}, int8[1] hi = {7}> { t = Max(x, lo) y = "
        "Min(t, hi) "
        "}",
        "g (int8[N] x) => (int8[N] y) <int8 min = {-3}, int8 max = {7}> { y = Clip(x, min, max) }");
}

static void what_is_no_clip_stays(void **state)
{
    (void)state;
    assert_refused("min-max-to-clip",
                   "g (float[N] x) => (float[N] y) <float lo = {7}, float hi = {6}> { t = Min(x, "
                   "hi) y = Max(t, lo) }",
                   "the lower bound is above the upper one");
    assert_refused(
        "min-max-to-clip",
        "g (float[2] x) => (float[2] y) <float[2] lo = {0, 1}, float hi = {6}> { t = Max(x, lo) y "
        "= Min(t, hi) }",
        "not a constant number");
    assert_refused("min-max-to-clip",
                   "g (float x) => (float[1] y) <float[1] lo = {0}, float hi = {6}> { t = Max(x, "
                   "lo) y = Min(t, hi) }",
                   "may change the shape");
    assert_refused(
        "min-max-to-clip",
        "g (float[N] x) => (float[N] y) <float i = {-inf}> { t = Max(x, i) y = Max(t, i) }",
        "infinite");
    /* above all, or below: what comes out is that bound */
    assert_refused(
        "min-max-to-clip",
        "g (float[N] x) => (float[N] y) <float z = {0}, float i = {-inf}> { t = Max(x, z) y = "
        "Min(t, i) }",
        "infinite");
    assert_refused(
        "min-max-to-clip",
        "g (float[N] x) => (float[N] y) <float z = {0}, float i = {inf}> { t = Max(x, z) y = "
        "Max(t, i) }",
        "infinite");
    assert_kept("min-max-to-clip", "g (float[N] x, float lo) => (float[N] y) <float hi = {6}> { t "
                                   "= Max(x, lo) y = Min(t, hi) }");
    assert_kept("min-max-to-clip", "g (float[N] x, float[N] z) => (float[N] y) <float hi = {6}> { "
                                   "t = Max(x, hi, z) y = Min(t, hi) }");
    assert_kept("min-max-to-clip",
                "g (float[N] x) => (float[N] y, float[N] t) <float lo = {0}, float hi = "
                "{6}> { t = Max(x, lo) y = Min(t, hi) }");
    assert_kept("min-max-to-clip", OPSET(11) "g (float[N] x) => (float[N] y) <float lo = {0}, "
                                             "float hi = {6}> { t = Max(x, lo) y = "
                                             "Min(t, hi) }");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_clips_are_one),
        cmocka_unit_test(a_relu_behind_a_clip_below_zero_leaves_zero),
        cmocka_unit_test(relu_and_clip_are_a_clip),
        cmocka_unit_test(clips_with_attributes_are_merged_as_such),
        cmocka_unit_test(two_clips_on_one_tensor_keep_their_own_bounds),
        cmocka_unit_test(bounds_that_are_not_constant_keep_both),
        cmocka_unit_test(what_clip_cannot_do_stays),
        cmocka_unit_test(bounds_that_the_type_cannot_hold_stay),
        cmocka_unit_test(a_first_bound_that_others_read_stays),
        cmocka_unit_test(quantization_between_relu_and_clip_keeps_both),
        cmocka_unit_test(merged_bounds_in_front_of_quantize_are_one_clip),
        cmocka_unit_test(min_and_max_are_a_clip),
        cmocka_unit_test(infinity_passes_as_before),
        cmocka_unit_test(bounds_with_one_element_become_scalars),
        cmocka_unit_test(what_is_no_clip_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
