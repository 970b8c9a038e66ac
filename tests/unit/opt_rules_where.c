/* opt_rules_where.c - Where with a condition that is known. */
#include "support/rewrite.h"

/* --- pick-where ------------------------------------------------------------------------------- */

static void a_known_condition_picks_its_operand(void **state)
{
    (void)state;
    assert_becomes(
        "pick-where,drop-unused",
        "g (float[N] x, float[N] z) => (float[N] y) <bool c = {1}> { a = Neg(x) b = Abs(z) y = "
        "Where(c, a, b) }",
        "g (float[N] x, float[N] z) => (float[N] y) { y = Neg(x) }");
    assert_becomes("pick-where,drop-unused",
                   "g (float[3] x, float z) => (float[3] y) <bool[3] c = {0, 0, 0}> { t = Neg(x) y "
                   "= Where(c, z, t) }",
                   "g (float[3] x, float z) => (float[3] y) { y = Neg(x) }");
}

static void a_condition_about_sizes_is_known(void **state)
{
    (void)state;
    assert_becomes("pick-where,drop-unused",
                   "g (float[N] x) => (int64[1] y) <int64[1] c = {-1}, int64[1] one = {1}> {\n"
                   "  s = Shape(x)\n  e = Equal(s, c)\n  w = Where(e, one, s)\n  y = Neg(w)\n}",
                   "g (float[N] x) => (int64[1] y) { s = Shape(x) y = Neg(s) }");
}

static void an_operand_that_is_broadcast_stays(void **state)
{
    static const char why[] = "may change the shape";

    (void)state;
    assert_refused(
        "pick-where",
        "g (float[1] x, float[3] z) => (float[3] y) <bool c = {1}> { y = Where(c, x, z) }", why);
    assert_refused("pick-where",
                   "g (float[1] x) => (float[3] y) <bool[3] c = {1, 1, 1}> { y = Where(c, x, x) }",
                   why);
    assert_refused(
        "pick-where",
        "g (float[N] x, float[M] z) => (float[?] y) <bool c = {1}> { y = Where(c, x, z) }", why);
}

static void a_mixed_condition_stays(void **state)
{
    (void)state;
    assert_kept(
        "pick-where",
        "g (float[2] x, float[2] z) => (float[2] y) <bool[2] c = {1, 0}> { y = Where(c, x, z) }");
    assert_kept("pick-where",
                "g (bool[2] c, float[2] x, float[2] z) => (float[2] y) { y = Where(c, x, z) }");
    assert_kept("pick-where",
                "g (float[2] x, float[2] z, bool c = {1}) => (float[2] y) { y = Where(c, x, z) }");
}

/* --- pick-where-parts ------------------------------------------------------------------------- */

#define PARTS "pick-where-parts,drop-unused"

/* What an exporter writes for token.expand(n, -1, -1). */
static void sizes_that_are_kept_or_given_are_put_together(void **state)
{
    (void)state;
    assert_becomes(PARTS,
                   "g (float[N,3] x) => (float[N,1,64] y) <int64[1] i = {0}, int64[2] m = {-1, "
                   "-1}, int64[3] k = {-1, "
                   "-1, -1}, int64[3] one = {1, 1, 1}, float[1,1,64] w = {"
                   "0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,"
                   "0,0,0,0,0,0,0,0,0,0,0,"
                   "0,0,0,0,0,0,0,0,0,0,0,0,0,0}> {\n"
                   "  s = Shape(x)\n  n = Gather(s, i)\n  c = Concat <axis = 0> (n, m0, m0)\n  e = "
                   "Equal(c, k)\n  v = "
                   "Where(e, one, c)\n  y = Expand(w, v)\n"
                   "  m0 = Slice(m, i, z)\n  z = Constant <value = int64[1] {1}> ()\n}",
                   "g (float[N,3] x) => (float[N,1,64] y) <int64[1] i = {0}, float[1,1,64] w = {"
                   "0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,"
                   "0,0,0,0,0,0,0,0,0,0,0,"
                   "0,0,0,0,0,0,0,0,0,0,0,0,0,0}, "
                   "int64[2] v_1 = {1, 1}> {\n"
                   "  s = Shape(x)\n  n = Gather(s, i)\n  v = Concat <axis = 0> (n, v_1)\n  y = "
                   "Expand(w, v)\n}");
    assert_becomes(
        PARTS,
        "g (int64[1] n) => (int64[3] y) <int64[1] five = {5}, int64[3] b = {7, 8, 9}, bool[3] c = "
        "{0, 1, 0}> {\n"
        "  a = Concat <axis = 0> (five, n, five)\n  y = Where(c, a, b)\n}",
        "g (int64[1] n) => (int64[3] y) <int64[1] y_1 = {7}, int64[1] y_2 = {9}> { y = Concat "
        "<axis = 0> (y_1, n, y_2) }");
}

static void elements_that_have_no_value_of_their_own_stay(void **state)
{
    (void)state;
    assert_refused(PARTS,
                   "g (int64[2] a) => (int64[2] y) <bool[2] c = {1, 0}, int64[2] b = {1, 2}> { y = "
                   "Where(c, a, b) }",
                   "an element has no value of its own");
    assert_refused(
        PARTS,
        "g (int64[2] n, int64[1] m) => (int64[3] y) <bool[3] c = {1, 0, 0}, int64[3] b = {1, 2, "
        "3}> { a = Concat <axis = 0> (m, n) y = Where(c, a, b) }",
        "an element has no value of its own");
    assert_refused(
        PARTS,
        "g (int64[1] n) => (int64[2] y) <bool[2] c = {1, 0}, int64[1] b = {1}> { a = Concat <axis "
        "= 0> (n, n) y = Where(c, a, b) }",
        "an operand is broadcast");
    assert_kept(PARTS,
                "g (float[1] n) => (float[2] y) <bool[2] c = {1, 0}, float[2] b = {1, 2}> { a = "
                "Concat <axis = 0> (n, n) y = Where(c, a, b) }");
    assert_kept(
        PARTS,
        "g (bool[2] c, int64[1] n) => (int64[2] y) <int64[2] b = {1, 2}> { a = Concat <axis = "
        "0> (n, n) y = Where(c, a, b) }");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_known_condition_picks_its_operand),
        cmocka_unit_test(a_condition_about_sizes_is_known),
        cmocka_unit_test(an_operand_that_is_broadcast_stays),
        cmocka_unit_test(a_mixed_condition_stays),
        cmocka_unit_test(sizes_that_are_kept_or_given_are_put_together),
        cmocka_unit_test(elements_that_have_no_value_of_their_own_stay),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
