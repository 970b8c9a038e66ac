/* opt_merge_equal.c - nodes that compute the same from the same become one. */
#include "support/rewrite.h"

#define PASS "merge-equal"

/* --- fires ------------------------------------------------------------------------------------ */

/* optimizer 10 case 34 */
static void equal_nodes_become_one_and_chains_follow(void **state)
{
    (void)state;
    assert_becomes(PASS,
                   "g (float[2] x) => (float[2] y) {\n"
                   "  a = Sigmoid(x)\n"
                   "  b = Sigmoid(x)\n"
                   "  c = Neg(a)\n"
                   "  d = Neg(b)\n"
                   "  e = Softmax <axis = 0> (c)\n"
                   "  f = Softmax <axis = 0> (d)\n"
                   "  y = Sub(e, f)\n"
                   "}\n",
                   "g (float[2] x) => (float[2] y) {\n"
                   "  a = Sigmoid(x)\n"
                   "  c = Neg(a)\n"
                   "  e = Softmax <axis = 0> (c)\n"
                   "  y = Sub(e, e)\n"
                   "}\n");
}

static void attributes_may_stand_in_any_order(void **state)
{
    (void)state;
    assert_becomes(
        PASS,
        "g (float[1,1,4,4] x) => (float[1,1,2,2] y) {\n"
        "  a = MaxPool <kernel_shape = [2, 2], strides = [2, 2], auto_pad = \"VALID\"> (x)\n"
        "  b = MaxPool <auto_pad = \"VALID\", strides = [2, 2], kernel_shape = [2, 2]> (x)\n"
        "  y = Sub(a, b)\n"
        "}\n",
        "g (float[1,1,4,4] x) => (float[1,1,2,2] y) {\n"
        "  a = MaxPool <kernel_shape = [2, 2], strides = [2, 2], auto_pad = \"VALID\"> (x)\n"
        "  y = Sub(a, a)\n"
        "}\n");
}

static void operands_of_a_sum_may_change_places(void **state)
{
    (void)state;
    assert_becomes(PASS,
                   "g (float[2] x, float[2] z) => (float[2] y) {\n"
                   "  a = Add(x, z)\n"
                   "  b = Add(z, x)\n"
                   "  y = Sub(a, b)\n"
                   "}\n",
                   "g (float[2] x, float[2] z) => (float[2] y) {\n"
                   "  a = Add(x, z)\n"
                   "  y = Sub(a, a)\n"
                   "}\n");
    assert_kept(PASS, "g (float[2] x, float[2] z) => (float[2] y) {\n"
                      "  a = Sub(x, z)\n"
                      "  b = Sub(z, x)\n"
                      "  y = Sub(a, b)\n"
                      "}\n");
}

static void all_outputs_of_a_node_are_merged(void **state)
{
    (void)state;
    assert_becomes(PASS,
                   "g (float[4] x) => (float[2] y, float[2] b2) {\n"
                   "  a1, a2 = Split(x)\n"
                   "  b1, b2 = Split(x)\n"
                   "  y = Sum(a1, a2, b1)\n"
                   "}\n",
                   "g (float[4] x) => (float[2] y, float[2] b2) {\n"
                   "  a1, b2 = Split(x)\n"
                   "  y = Sum(a1, b2, a1)\n"
                   "}\n");
}

static void quantizelinear_is_merged_and_dequantizelinear_is_not(void **state)
{
    (void)state;
    /* optimizer 10 case 4 */
    assert_kept("default",
                "g (uint8[2] x) => (float[2] y, float[2] u) <float s = {0.5}, uint8 z = {3}> {\n"
                "  a = DequantizeLinear(x, s, z)\n"
                "  b = DequantizeLinear(x, s, z)\n"
                "  y = Sigmoid(a)\n"
                "  u = Tanh(b)\n"
                "}\n");
    assert_becomes(PASS,
                   "g (float[2] x) => (float[2] y, float[2] u) <float s = {0.5}, uint8 z = {3}> {\n"
                   "  p = QuantizeLinear(x, s, z)\n"
                   "  q = QuantizeLinear(x, s, z)\n"
                   "  a = DequantizeLinear(p, s, z)\n"
                   "  b = DequantizeLinear(q, s, z)\n"
                   "  y = Sigmoid(a)\n"
                   "  u = Tanh(b)\n"
                   "}\n",
                   "g (float[2] x) => (float[2] y, float[2] u) <float s = {0.5}, uint8 z = {3}> {\n"
                   "  p = QuantizeLinear(x, s, z)\n"
                   "  a = DequantizeLinear(p, s, z)\n"
                   "  b = DequantizeLinear(p, s, z)\n"
                   "  y = Sigmoid(a)\n"
                   "  u = Tanh(b)\n"
                   "}\n");
}

/* optimizer 10 case 7 */
static void a_zero_point_that_is_written_down_stays_apart_from_one_that_is_not(void **state)
{
    (void)state;
    assert_kept("default", "g (float[2] x) => (uint8[2] p, uint8[2] q, float[2] y) <float s = "
                           "{0.5}, uint8 z = {0}> {\n"
                           "  p = QuantizeLinear(x, s, z)\n"
                           "  q = QuantizeLinear(x, s)\n"
                           "  y = DequantizeLinear(p, s, z)\n"
                           "}\n");
}

static void bodies_are_merged_each_for_itself(void **state)
{
    (void)state;
    assert_becomes(PASS,
                   "g (bool c, float[2] x) => (float[2] y, float[2] z) {\n"
                   "  z = Neg(x)\n"
                   "  y = If <then_branch = t () => (float[2] a) {\n"
                   "    p = Neg(x)\n"
                   "    q = Neg(x)\n"
                   "    a = Sub(p, q)\n"
                   "  }, else_branch = e () => (float[2] b) {\n"
                   "    b = Neg(x)\n"
                   "  }> (c)\n"
                   "}\n",
                   "g (bool c, float[2] x) => (float[2] y, float[2] z) {\n"
                   "  z = Neg(x)\n"
                   "  y = If <then_branch = t () => (float[2] a) {\n"
                   "    p = Neg(x)\n"
                   "    a = Sub(p, p)\n"
                   "  }, else_branch = e () => (float[2] b) {\n"
                   "    b = Neg(x)\n"
                   "  }> (c)\n"
                   "}\n");
}

static void what_a_body_captures_is_redirected(void **state)
{
    (void)state;
    assert_becomes(PASS,
                   "g (bool c, float[2] x) => (float[2] y, float[2] z) {\n"
                   "  z = Neg(x)\n"
                   "  w = Neg(x)\n"
                   "  y = If <then_branch = t () => (float[2] a) {\n"
                   "    a = Abs(w)\n"
                   "  }, else_branch = e () => (float[2] b) {\n"
                   "    b = Neg(w)\n"
                   "  }> (c)\n"
                   "}\n",
                   "g (bool c, float[2] x) => (float[2] y, float[2] z) {\n"
                   "  z = Neg(x)\n"
                   "  y = If <then_branch = t () => (float[2] a) {\n"
                   "    a = Abs(z)\n"
                   "  }, else_branch = e () => (float[2] b) {\n"
                   "    b = Neg(z)\n"
                   "  }> (c)\n"
                   "}\n");
}

static void constants_and_parameters_in_functions(void **state)
{
    static const char head[] = "<ir_version: 9, opset_import: [\"\" : 17, \"my\" : 1]>\n"
                               "g (float[2] x) => (float[2] z) {\n"
                               "  z = my.F(x)\n"
                               "}\n"
                               "<domain: \"my\", opset_import: [\"\" : 17]>\n";
    char before[900], after[900];

    (void)state;
    snprintf(before, sizeof before,
             "%sF <p, q> (u) => (v) {\n"
             "  a = Constant <value = float[2] {1, 2}> ()\n"
             "  b = Constant <value = float[2] {1, 2}> ()\n"
             "  c = Constant <value = float[2,1] {1, 2}> ()\n"
             "  d = Elu <alpha: float = @p> (u)\n"
             "  e = Elu <alpha: float = @p> (u)\n"
             "  f = Elu <alpha: float = @q> (u)\n"
             "  v = Sum(a, b, c, d, e, f)\n"
             "}\n",
             head);
    snprintf(after, sizeof after,
             "%sF <p, q> (u) => (v) {\n"
             "  a = Constant <value = float[2] {1, 2}> ()\n"
             "  c = Constant <value = float[2,1] {1, 2}> ()\n"
             "  d = Elu <alpha: float = @p> (u)\n"
             "  f = Elu <alpha: float = @q> (u)\n"
             "  v = Sum(a, a, c, d, d, f)\n"
             "}\n",
             head);
    assert_becomes(PASS, before, after);
}

/* --- graph outputs ---------------------------------------------------------------------------- */

static void outputs_keep_their_names(void **state)
{
    (void)state;
    assert_becomes(PASS,
                   "g (float[2] x) => (float[2] y, float[2] z) {\n"
                   "  a = Neg(x)\n"
                   "  y = Neg(x)\n"
                   "  z = Abs(a)\n"
                   "}\n",
                   "g (float[2] x) => (float[2] y, float[2] z) {\n"
                   "  y = Neg(x)\n"
                   "  z = Abs(y)\n"
                   "}\n");
    assert_becomes(PASS,
                   "g (float[2,2] x) => (float[2,2] y, float[2,2] z) {\n"
                   "  y = Softmax <axis = 0> (x)\n"
                   "  z = Softmax <axis = 0> (x)\n"
                   "}\n",
                   "g (float[2,2] x) => (float[2,2] y, float[2,2] z) {\n"
                   "  y = Softmax <axis = 0> (x)\n"
                   "  z = Identity(y)\n"
                   "}\n");
}

/* What fold-constants makes Constant nodes of, this pass must not make Identity of, and so on
 * without end. */
static void constants_that_are_two_outputs_stay_two(void **state)
{
    (void)state;
    assert_kept("default", "g () => (float[2] y, float[2] z) {\n"
                           "  y = Constant <value = float[2] {1, 2}> ()\n"
                           "  z = Constant <value = float[2] {1, 2}> ()\n"
                           "}\n");
}

static void nodes_of_several_outputs_with_two_names_each_stay(void **state)
{
    (void)state;
    assert_kept(PASS, "g (float[4] x) => (float[2] a1, float[2] b1) {\n"
                      "  a1, a2 = Split(x)\n"
                      "  b1, b2 = Split(x)\n"
                      "}\n");
}

/* --- does not fire ---------------------------------------------------------------------------- */

/* optimizer 10 case 34 */
static void operands_that_are_left_out_keep_their_place(void **state)
{
    (void)state;
    assert_kept(PASS, "g (float[2] x) => (float[2] y, float[2] z) <float c = {1}> {\n"
                      "  y = Clip(x, c, \"\")\n"
                      "  z = Clip(x, \"\", c)\n"
                      "}\n");
}

/* optimizer 10 case 32 */
static void random_nodes_are_not_equal(void **state)
{
    (void)state;
    assert_kept(PASS, "g (float[4] x) => (float[4] y, float[4] z) {\n"
                      "  r = RandomNormal <shape = [4]> ()\n"
                      "  s = RandomNormal <shape = [4]> ()\n"
                      "  y = Add(x, r)\n"
                      "  z = Add(x, s)\n"
                      "}\n");
    assert_kept("default", "g (float[4] x) => (float[4] y) {\n"
                           "  r = RandomNormal <shape = [4]> ()\n"
                           "  y = Add(x, r)\n"
                           "}\n");
    assert_kept(PASS,
                "g (float[2] x) => (float[2] y, float[2] z) <float r = {0.5}, bool t = {1}> {\n"
                "  y = Dropout(x, r, t)\n"
                "  z = Dropout(x, r, t)\n"
                "}\n");
}

static void unknown_operators_and_those_with_bodies_stay(void **state)
{
    (void)state;
    assert_kept(PASS, "g (bool c, float[2] x) => (float[2] y, float[2] z) {\n"
                      "  a = your.Op(x)\n"
                      "  b = your.Op(x)\n"
                      "  y = If <then_branch = t () => (float[2] d) {\n"
                      "    d = Neg(a)\n"
                      "  }, else_branch = e () => (float[2] f) {\n"
                      "    f = Abs(a)\n"
                      "  }> (c)\n"
                      "  z = Add(y, b)\n"
                      "}\n");
}

/* A function may be called as an operator is, and do anything. */
static void calls_of_functions_stay(void **state)
{
    (void)state;
    assert_kept(PASS, "g (float[2] x) => (float[2] y, float[2] z) {\n"
                      "  y = Neg(x)\n"
                      "  z = Neg(x)\n"
                      "}\n"
                      "<domain: \"\", opset_import: [\"\" : 17]>\n"
                      "Neg (x) => (y) {\n"
                      "  y = RandomNormalLike(x)\n"
                      "}\n");
}

static void attributes_that_differ_or_are_not_compared(void **state)
{
    (void)state;
    assert_kept(PASS, "g (float[2,2] x) => (float[2,2] y) {\n"
                      "  a = Softmax <axis = 0> (x)\n"
                      "  b = Softmax <axis = 1> (x)\n"
                      "  c = Softmax(x)\n"
                      "  d = Elu <alpha = 0.0> (x)\n"
                      "  e = Elu <alpha = -0.0> (x)\n"
                      "  f = Elu <alpha: float = nan> (x)\n"
                      "  h = Elu <alpha: float = nan> (x)\n"
                      "  y = Sum(a, b, c, d, e, f, h)\n"
                      "}\n");
    assert_kept(PASS, "g () => (string[1] y, string[1] z, float[1] a, float[1] b) {\n"
                      "  y = Constant <value_strings = [\"a\"]> ()\n"
                      "  z = Constant <value_strings = [\"a\"]> ()\n"
                      "  a = Constant <value = float[1] {nan}> ()\n"
                      "  b = Constant <value = float[1] {nan}> ()\n"
                      "}\n");
}

static void how_many_outputs_there_are_matters(void **state)
{
    (void)state;
    assert_kept(PASS, "<ir_version: 8, opset_import: [\"\" : 13, \"your\" : 1]>\n"
                      "g (float[6] x) => (float[2] y) {\n"
                      "  a1, a2, a3 = Split(x)\n"
                      "  b1, b2 = Split(x)\n"
                      "  m, i = MaxPool <kernel_shape = [1]> (x)\n"
                      "  n = MaxPool <kernel_shape = [1]> (x)\n"
                      "  y = your.Op(a1, b1, m, i, n)\n"
                      "}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_nodes_become_one_and_chains_follow),
        cmocka_unit_test(attributes_may_stand_in_any_order),
        cmocka_unit_test(operands_of_a_sum_may_change_places),
        cmocka_unit_test(all_outputs_of_a_node_are_merged),
        cmocka_unit_test(quantizelinear_is_merged_and_dequantizelinear_is_not),
        cmocka_unit_test(a_zero_point_that_is_written_down_stays_apart_from_one_that_is_not),
        cmocka_unit_test(bodies_are_merged_each_for_itself),
        cmocka_unit_test(what_a_body_captures_is_redirected),
        cmocka_unit_test(constants_and_parameters_in_functions),
        cmocka_unit_test(outputs_keep_their_names),
        cmocka_unit_test(constants_that_are_two_outputs_stay_two),
        cmocka_unit_test(nodes_of_several_outputs_with_two_names_each_stay),
        cmocka_unit_test(operands_that_are_left_out_keep_their_place),
        cmocka_unit_test(random_nodes_are_not_equal),
        cmocka_unit_test(unknown_operators_and_those_with_bodies_stay),
        cmocka_unit_test(calls_of_functions_stay),
        cmocka_unit_test(attributes_that_differ_or_are_not_compared),
        cmocka_unit_test(how_many_outputs_there_are_matters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
