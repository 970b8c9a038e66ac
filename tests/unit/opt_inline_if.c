/* opt_inline_if.c - If with a constant condition gives way to the branch that is taken. */
#include "support/rewrite.h"

#define BOOL(value) "bool c = {" value "}"

/* --- fires ------------------------------------------------------------------------------------ */

/* optimizer 10 case 14 */
static void the_branch_that_is_taken_takes_the_place_of_the_if(void **state)
{
    static const char branches[] =
        "  z = If <then_branch = t () => (float[2] a) <float[2] temp = {1, 2}> {\n"
        "    s = Add(x, x)\n"
        "    a = Mul(s, temp)\n"
        "  }, else_branch = e () => (float[2] b) {\n"
        "    b = Mul(x, x)\n"
        "  }> (c)\n"
        "}\n";
    char text[1000];

    (void)state;
    snprintf(text, sizeof text, "g (float[2] x) => (float[2] z) <" BOOL("1") "> {\n%s", branches);
    assert_becomes("inline-if,drop-unused", text,
                   "g (float[2] x) => (float[2] z) <float[2] temp = {1, 2}> {\n"
                   "  s = Add(x, x)\n"
                   "  z = Mul(s, temp)\n"
                   "}\n");
    snprintf(text, sizeof text, "g (float[2] x) => (float[2] z) <" BOOL("0") "> {\n%s", branches);
    assert_becomes("inline-if,drop-unused", text,
                   "g (float[2] x) => (float[2] z) {\n"
                   "  z = Mul(x, x)\n"
                   "}\n");
}

/* optimizer 10 case 14 */
static void a_branch_initializer_whose_name_is_taken_is_renamed(void **state)
{
    (void)state;
    assert_becomes(
        "inline-if",
        "g (float[2] x, bool d) => (float[2] z, float[2] y) <" BOOL(
            "1") "> {\n"
                 "  z = If <then_branch = t () => (float[2] a) <float[2] temp = {1, 2}> {\n"
                 "    a = Add(x, temp)\n"
                 "  }, else_branch = e () => (float[2] b) {\n"
                 "    b = Mul(x, x)\n"
                 "  }> (c)\n"
                 "  y = If <then_branch = t2 () => (float[2] a2) <float[2] temp = {3, 4}> {\n"
                 "    a2 = Add(x, temp)\n"
                 "  }, else_branch = e2 () => (float[2] b2) {\n"
                 "    b2 = Mul(x, x)\n"
                 "  }> (d)\n"
                 "}\n",
        "g (float[2] x, bool d) => (float[2] z, float[2] y) <" BOOL(
            "1") ", float[2] temp_1 = {1, 2}> {\n"
                 "  z = Add(x, temp_1)\n"
                 "  y = If <then_branch = t2 () => (float[2] a2) <float[2] temp = {3, 4}> {\n"
                 "    a2 = Add(x, temp)\n"
                 "  }, else_branch = e2 () => (float[2] b2) {\n"
                 "    b2 = Mul(x, x)\n"
                 "  }> (d)\n"
                 "}\n");
}

/* Two branches that both have a value `t`: the one that moves out must not hide what the other one
 * has. */
static void a_value_whose_name_another_body_has_is_renamed(void **state)
{
    (void)state;
    assert_becomes("inline-if",
                   "g (float[2] x, bool d) => (float[2] z) <" BOOL(
                       "1") "> {\n"
                            "  y = If <then_branch = p () => (float[2] a) {\n"
                            "    t = Neg(x)\n"
                            "    a = Abs(t)\n"
                            "  }, else_branch = q () => (float[2] b) {\n"
                            "    b = Mul(x, x)\n"
                            "  }> (c)\n"
                            "  z = If <then_branch = r () => (float[2] a) {\n"
                            "    t = Exp(y)\n"
                            "    a = Abs(t)\n"
                            "  }, else_branch = s () => (float[2] b) {\n"
                            "    b = Neg(y)\n"
                            "  }> (d)\n"
                            "}\n",
                   "g (float[2] x, bool d) => (float[2] z) <" BOOL(
                       "1") "> {\n"
                            "  t_1 = Neg(x)\n"
                            "  y = Abs(t_1)\n"
                            "  z = If <then_branch = r () => (float[2] a) {\n"
                            "    t = Exp(y)\n"
                            "    a = Abs(t)\n"
                            "  }, else_branch = s () => (float[2] b) {\n"
                            "    b = Neg(y)\n"
                            "  }> (d)\n"
                            "}\n");
}

static void captures_and_graphs_inside_the_branch_come_along(void **state)
{
    (void)state;
    assert_becomes("inline-if",
                   "g (float[2] x, bool d) => (float[2] z) <" BOOL(
                       "1") "> {\n"
                            "  h = Neg(x)\n"
                            "  z = If <then_branch = p () => (float[2] a) <float[2] w = {1, 2}> {\n"
                            "    t = Abs(h)\n"
                            "    [inner] a = If <then_branch = r () => (float[2] m) {\n"
                            "      k = Add(t, h)\n"
                            "      m = Mul(k, w)\n"
                            "    }, else_branch = s () => (float[2] n) {\n"
                            "      n = Neg(t)\n"
                            "    }> (d)\n"
                            "  }, else_branch = q () => (float[2] b) {\n"
                            "    b = Mul(x, x)\n"
                            "  }> (c)\n"
                            "}\n",
                   "g (float[2] x, bool d) => (float[2] z) <" BOOL(
                       "1") ", float[2] w = {1, 2}> {\n"
                            "  h = Neg(x)\n"
                            "  t = Abs(h)\n"
                            "  [inner] z = If <then_branch = r () => (float[2] m) {\n"
                            "    k = Add(t, h)\n"
                            "    m = Mul(k, w)\n"
                            "  }, else_branch = s () => (float[2] n) {\n"
                            "    n = Neg(t)\n"
                            "  }> (d)\n"
                            "}\n");
}

static void an_if_inside_an_if_goes_too(void **state)
{
    (void)state;
    assert_becomes("inline-if",
                   "g (float[2] x) => (float[2] z) <" BOOL(
                       "1") "> {\n"
                            "  z = If <then_branch = p () => (float[2] a) {\n"
                            "    t = Abs(x)\n"
                            "    a = If <then_branch = r () => (float[2] m) {\n"
                            "      m = Exp(t)\n"
                            "    }, else_branch = s () => (float[2] n) {\n"
                            "      n = Neg(t)\n"
                            "    }> (c)\n"
                            "  }, else_branch = q () => (float[2] b) {\n"
                            "    b = Mul(x, x)\n"
                            "  }> (c)\n"
                            "}\n",
                   "g (float[2] x) => (float[2] z) <" BOOL("1") "> {\n"
                                                                "  t = Abs(x)\n"
                                                                "  z = Exp(t)\n"
                                                                "}\n");
}

static void an_if_in_a_body_goes_into_the_body(void **state)
{
    (void)state;
    assert_becomes("inline-if",
                   "g (float[2] x, bool d) => (float[2] z) <" BOOL(
                       "0") "> {\n"
                            "  z = If <then_branch = p () => (float[2] a) {\n"
                            "    a = If <then_branch = r () => (float[2] m) {\n"
                            "      m = Exp(x)\n"
                            "    }, else_branch = s () => (float[2] n) <float[2] w = {1, 2}> {\n"
                            "      n = Mul(x, w)\n"
                            "    }> (c)\n"
                            "  }, else_branch = q () => (float[2] b) {\n"
                            "    b = Mul(x, x)\n"
                            "  }> (d)\n"
                            "}\n",
                   "g (float[2] x, bool d) => (float[2] z) <" BOOL(
                       "0") "> {\n"
                            "  z = If <then_branch = p () => (float[2] a) <float[2] w = {1, 2}> {\n"
                            "    a = Mul(x, w)\n"
                            "  }, else_branch = q () => (float[2] b) {\n"
                            "    b = Mul(x, x)\n"
                            "  }> (d)\n"
                            "}\n");
}

static void in_a_function_the_constants_of_the_branch_become_nodes(void **state)
{
    (void)state;
    assert_becomes("inline-if",
                   "<ir_version: 9, opset_import: [\"\" : 17, \"my\" : 1]>\n"
                   "g (float[2] x) => (float[2] z) {\n"
                   "  z = my.F(x)\n"
                   "}\n"
                   "<domain: \"my\", opset_import: [\"\" : 17]>\n"
                   "F (u) => (v) {\n"
                   "  c = Constant <value = bool {1}> ()\n"
                   "  v = If <then_branch = r () => (float[2] m) <float[2] w = {1, 2}> {\n"
                   "    m = Mul(u, w)\n"
                   "  }, else_branch = s () => (float[2] n) {\n"
                   "    n = Neg(u)\n"
                   "  }> (c)\n"
                   "}\n",
                   "<ir_version: 9, opset_import: [\"\" : 17, \"my\" : 1]>\n"
                   "g (float[2] x) => (float[2] z) {\n"
                   "  z = my.F(x)\n"
                   "}\n"
                   "<domain: \"my\", opset_import: [\"\" : 17]>\n"
                   "F (u) => (v) {\n"
                   "  c = Constant <value = bool {1}> ()\n"
                   "  w = Constant <value = float[2] {1, 2}> ()\n"
                   "  v = Mul(u, w)\n"
                   "}\n");
}

/* --- outputs ---------------------------------------------------------------------------------- */

static void an_output_that_is_a_constant_of_the_branch_keeps_its_name(void **state)
{
    (void)state;
    assert_becomes(
        "inline-if",
        "g (float[2] x) => (float[2] z, float[2] y) <" BOOL(
            "1") "> {\n"
                 "  z, k = If <then_branch = p () => (float[2] w, float[2] w2) <float[2] w = {1, "
                 "2}, float[2] "
                 "w2 = {3, 4}> {\n"
                 "  }, else_branch = q () => (float[2] b, float[2] d) {\n"
                 "    b = Mul(x, x)\n"
                 "    d = Neg(x)\n"
                 "  }> (c)\n"
                 "  y = Add(k, x)\n"
                 "}\n",
        "g (float[2] x) => (float[2] z, float[2] y) <" BOOL(
            "1") ", float[2] w = {1, 2}, float[2] w2 = {3, 4}> {\n"
                 "  z = Identity(w)\n"
                 "  y = Add(w2, x)\n"
                 "}\n");
}

static void one_value_that_is_two_outputs_is_passed_on(void **state)
{
    (void)state;
    assert_becomes(
        "inline-if",
        "g (float[2] x) => (float[2] z, float[2] y, float[2] r) <" BOOL(
            "1") "> {\n"
                 "  z, y, k = If <then_branch = p () => (float[2] a, float[2] a, float[2] a) {\n"
                 "    a = Abs(x)\n"
                 "  }, else_branch = q () => (float[2] b, float[2] b, float[2] b) {\n"
                 "    b = Mul(x, x)\n"
                 "  }> (c)\n"
                 "  r = Neg(k)\n"
                 "}\n",
        "g (float[2] x) => (float[2] z, float[2] y, float[2] r) <" BOOL("1") "> {\n"
                                                                             "  z = Abs(x)\n"
                                                                             "  y = Identity(z)\n"
                                                                             "  r = Neg(z)\n"
                                                                             "}\n");
}

static void outputs_that_nobody_reads_or_that_are_left_out_do_not_disturb(void **state)
{
    (void)state;
    assert_becomes(
        "inline-if",
        "g (float[2] x) => (float[2] y) <" BOOL(
            "1") "> {\n"
                 "  \"\", z, y = If <then_branch = p () => (float[2] w, float[2] w, float[2] a) "
                 "<float[2] w = {1, 2}> {\n"
                 "    a = Abs(x)\n"
                 "  }, else_branch = q () => (float[2] b, float[2] b, float[2] b) {\n"
                 "    b = Mul(x, x)\n"
                 "  }> (c)\n"
                 "}\n",
        "g (float[2] x) => (float[2] y) <" BOOL("1") ", float[2] w = {1, 2}> {\n"
                                                     "  y = Abs(x)\n"
                                                     "}\n");
}

static void outputs_may_be_sequences_and_optionals(void **state)
{
    (void)state;
    assert_becomes(
        "inline-if",
        "g (float[2] x) => (seq(float[2]) z, optional(float[2]) y) <" BOOL(
            "1") "> {\n"
                 "  z, y = If <then_branch = p () => (seq(float[2]) a, optional(float[2]) o) {\n"
                 "    a = SequenceConstruct(x, x)\n"
                 "    o = Optional(x)\n"
                 "  }, else_branch = q () => (seq(float[2]) b, optional(float[2]) r) {\n"
                 "    b = SequenceEmpty()\n"
                 "    r = Optional(x)\n"
                 "  }> (c)\n"
                 "}\n",
        "g (float[2] x) => (seq(float[2]) z, optional(float[2]) y) <" BOOL(
            "1") "> {\n"
                 "  z = SequenceConstruct(x, x)\n"
                 "  y = Optional(x)\n"
                 "}\n");
}

/* A branch that only passes on what stands around it: Identity, which drop-identity knows. */
static void a_captured_value_as_output_is_an_alias(void **state)
{
    (void)state;
    assert_becomes("inline-if,drop-identity",
                   "g (float[2] x) => (float[2] y) <" BOOL(
                       "1") "> {\n"
                            "  h = Neg(x)\n"
                            "  z = If <then_branch = p () => (float[2] a) {\n"
                            "    a = Identity(h)\n"
                            "  }, else_branch = q () => (float[2] b) {\n"
                            "    b = Mul(x, x)\n"
                            "  }> (c)\n"
                            "  y = Add(z, h)\n"
                            "}\n",
                   "g (float[2] x) => (float[2] y) <" BOOL("1") "> {\n"
                                                                "  h = Neg(x)\n"
                                                                "  y = Add(h, h)\n"
                                                                "}\n");
}

static void q_and_dq_of_the_branch_come_along(void **state)
{
    (void)state;
    assert_becomes(
        "inline-if",
        "g (float[2] x) => (float[2] y) <" BOOL(
            "1") "> {\n"
                 "  y = If <then_branch = p () => (float[2] a) <float s = {0.5}, uint8 z = {0}> {\n"
                 "    q = QuantizeLinear(x, s, z)\n"
                 "    a = DequantizeLinear(q, s, z)\n"
                 "  }, else_branch = e () => (float[2] b) {\n"
                 "    b = Mul(x, x)\n"
                 "  }> (c)\n"
                 "}\n",
        "g (float[2] x) => (float[2] y) <" BOOL("1") ", float s = {0.5}, uint8 z = {0}> {\n"
                                                     "  q = QuantizeLinear(x, s, z)\n"
                                                     "  y = DequantizeLinear(q, s, z)\n"
                                                     "}\n");
}

/* --- does not fire ---------------------------------------------------------------------------- */

#define BRANCHES                                                                                   \
    "<then_branch = t () => (float[2] a) {\n"                                                      \
    "    a = Add(x, x)\n"                                                                          \
    "  }, else_branch = e () => (float[2] b) {\n"                                                  \
    "    b = Mul(x, x)\n"                                                                          \
    "  }>"

/* optimizer 10 case 14 */
static void a_condition_that_a_caller_may_override_is_no_constant(void **state)
{
    (void)state;
    assert_kept("inline-if", "g (float[2] x, " BOOL("1") ") => (float[2] z) {\n"
                                                         "  z = If " BRANCHES " (c)\n"
                                                         "}\n");
    assert_kept("inline-if", "g (float[2] x, bool c) => (float[2] z) {\n"
                             "  z = If " BRANCHES " (c)\n"
                             "}\n");
}

static void a_condition_of_more_or_other_elements_is_left_alone(void **state)
{
    (void)state;
    assert_kept("inline-if", "g (float[2] x) => (float[2] z) <bool[2] c = {1, 1}> {\n"
                             "  z = If " BRANCHES " (c)\n"
                             "}\n");
    assert_kept("inline-if", "g (float[2] x) => (float[2] z) <bool[0] c = {}> {\n"
                             "  z = If " BRANCHES " (c)\n"
                             "}\n");
    assert_kept("inline-if", "g (float[2] x) => (float[2] z) <int64 c = {1}> {\n"
                             "  z = If " BRANCHES " (c)\n"
                             "}\n");
}

static void one_element_in_a_list_is_a_condition(void **state)
{
    (void)state;
    assert_becomes("inline-if",
                   "g (float[2] x) => (float[2] z) <bool[1,1] c = {0}> {\n"
                   "  z = If " BRANCHES " (c)\n"
                   "}\n",
                   "g (float[2] x) => (float[2] z) <bool[1,1] c = {0}> {\n"
                   "  z = Mul(x, x)\n"
                   "}\n");
}

static void branches_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    assert_refused("inline-if",
                   "g (float[2] x) => (float[2] z) <" BOOL("1") "> {\n"
                                                                "  z, y = If " BRANCHES " (c)\n"
                                                                "}\n",
                   "the branch that is taken has fewer outputs than the node");
    assert_refused("inline-if",
                   "g (float[2] x) => (float[2] z) <" BOOL(
                       "1") "> {\n"
                            "  z = If <then_branch = t (float[2] u) => (float[2] a) {\n"
                            "    a = Neg(u)\n"
                            "  }, else_branch = e () => (float[2] b) {\n"
                            "    b = Mul(x, x)\n"
                            "  }> (c)\n"
                            "}\n",
                   "the branch that is taken has inputs");
    assert_refused("inline-if",
                   "g (float[2] x) => (float[2] z) <" BOOL(
                       "0") "> {\n"
                            "  z = If <then_branch = t () => (float[2] a) {\n"
                            "    a = Neg(x)\n"
                            "  }> (c)\n"
                            "}\n",
                   "the branch that is taken is not there");
}

/* --- size ------------------------------------------------------------------------------------- */

/* 60 Ifs inside each other: each is copied out once for every one around it, and no more. */
static void deeply_nested_branches_come_up(void **state)
{
    enum { DEEP = 60 };
    static char text[DEEP * 400];
    size_t n = 0;
    qdq_error err = QDQ_ERROR_INIT;

    (void)state;
    n += (size_t)snprintf(text + n, sizeof text - n,
                          "g (float[2] x) => (float[2] y0) <" BOOL("1") "> {\n");
    for (int i = 0; i < DEEP; i++)
        n += (size_t)snprintf(
            text + n, sizeof text - n,
            "t%d = Neg(x) y%d = If <else_branch = e () => (float[2] b) { b = Abs(t%d) },"
            " then_branch = p () => (float[2] y%d) {\n",
            i, i, i, i + 1);
    n += (size_t)snprintf(text + n, sizeof text - n, "y%d = Exp(x)", DEEP);
    for (int i = 0; i < DEEP; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "}> (c)");
    snprintf(text + n, sizeof text - n, "}");
    qdq_model *m = test_model(text);
    assert_ok(qdq_model_run_passes(m, "inline-if,drop-unused", &err));
    test_assert_text(m, "g (float[2] x) => (float[2] y0) {\n"
                        "  y0 = Exp(x)\n"
                        "}\n");
    qdq_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_branch_that_is_taken_takes_the_place_of_the_if),
        cmocka_unit_test(a_branch_initializer_whose_name_is_taken_is_renamed),
        cmocka_unit_test(a_value_whose_name_another_body_has_is_renamed),
        cmocka_unit_test(captures_and_graphs_inside_the_branch_come_along),
        cmocka_unit_test(an_if_inside_an_if_goes_too),
        cmocka_unit_test(an_if_in_a_body_goes_into_the_body),
        cmocka_unit_test(in_a_function_the_constants_of_the_branch_become_nodes),
        cmocka_unit_test(an_output_that_is_a_constant_of_the_branch_keeps_its_name),
        cmocka_unit_test(one_value_that_is_two_outputs_is_passed_on),
        cmocka_unit_test(outputs_that_nobody_reads_or_that_are_left_out_do_not_disturb),
        cmocka_unit_test(outputs_may_be_sequences_and_optionals),
        cmocka_unit_test(a_captured_value_as_output_is_an_alias),
        cmocka_unit_test(q_and_dq_of_the_branch_come_along),
        cmocka_unit_test(a_condition_that_a_caller_may_override_is_no_constant),
        cmocka_unit_test(a_condition_of_more_or_other_elements_is_left_alone),
        cmocka_unit_test(one_element_in_a_list_is_a_condition),
        cmocka_unit_test(branches_that_do_not_fit_are_refused),
        cmocka_unit_test(deeply_nested_branches_come_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
