/* opt_inline_functions.c - calls of functions give way to their bodies; what cannot be put in place
 * stays a call. */
#include "support/rewrite.h"

#define HEAD(imports) "<ir_version: 9, opset_import: [\"\" : 17, " imports "]>\n"
#define MY            HEAD("\"my\" : 1")
#define BODY          "<domain: \"my\", opset_import: [\"\" : 17, \"my\" : 1]>\n"
#define PASS          "inline-functions,drop-unused-functions"

/* --- fires ------------------------------------------------------------------------------------ */

static void a_call_gives_way_to_the_body(void **state)
{
    (void)state;
    assert_becomes(PASS,
                   MY "g (float[2] x) => (float[2] z) {\n"
                      "  h = Abs(x)\n"
                      "  y = my.F(h, x)\n"
                      "  z = Neg(y)\n"
                      "}\n" BODY "F (a, b) => (c) {\n"
                      "  s = Add(a, b)\n"
                      "  c = Mul(s, a)\n"
                      "}\n",
                   MY "g (float[2] x) => (float[2] z) {\n"
                      "  h = Abs(x)\n"
                      "  s = Add(h, x)\n"
                      "  y = Mul(s, h)\n"
                      "  z = Neg(y)\n"
                      "}\n");
}

static void the_second_call_gets_names_of_its_own(void **state)
{
    (void)state;
    assert_becomes(PASS,
                   MY "g (float[2] x) => (float[2] y, float[2] z) {\n"
                      "  y = my.F(x)\n"
                      "  z = my.F(y)\n"
                      "}\n" BODY "F (a) => (c) {\n"
                      "  [\"neg\"] s = Neg(a)\n"
                      "  c = Mul(s, a)\n"
                      "}\n",
                   MY "g (float[2] x) => (float[2] y, float[2] z) {\n"
                      "  [neg_1] s = Neg(x)\n"
                      "  y = Mul(s, x)\n"
                      "  [neg_2] s_1 = Neg(y)\n"
                      "  z = Mul(s_1, y)\n"
                      "}\n");
}

static void attributes_come_from_the_call_else_from_the_default_else_not_at_all(void **state)
{
    (void)state;
    assert_becomes(PASS,
                   MY "g (float[2,2] x) => (float[2,2] z) {\n"
                      "  z = my.F <axis = 0> (x)\n"
                      "}\n" BODY "F <axis, missing, alpha = 0.5> (a) => (c) {\n"
                      "  s = Softmax <axis: int = @axis> (a)\n"
                      "  t = LeakyRelu <alpha: float = @alpha> (s)\n"
                      "  c = Elu <alpha: float = @missing> (t)\n"
                      "}\n",
                   MY "g (float[2,2] x) => (float[2,2] z) {\n"
                      "  s = Softmax <axis = 0> (x)\n"
                      "  t = LeakyRelu <alpha = 0.5> (s)\n"
                      "  z = Elu(t)\n"
                      "}\n");
}

static void functions_that_call_functions_are_followed(void **state)
{
    (void)state;
    assert_becomes(PASS,
                   MY "g (float[2,2] x) => (float[2,2] z) {\n"
                      "  z = my.F <a = 1> (x)\n"
                      "}\n" BODY "F <a> (u) => (v) {\n"
                      "  t = my.G <b: int = @a> (u)\n"
                      "  v = Neg(t)\n"
                      "}\n" BODY "G <b> (u) => (v) {\n"
                      "  v = Softmax <axis: int = @b> (u)\n"
                      "}\n",
                   MY "g (float[2,2] x) => (float[2,2] z) {\n"
                      "  t = Softmax <axis = 1> (x)\n"
                      "  z = Neg(t)\n"
                      "}\n");
}

static void inputs_at_the_end_may_be_left_out(void **state)
{
    (void)state;
    assert_becomes(PASS,
                   MY "g (float[2] x) => (float[2] z) {\n"
                      "  z = my.F(x)\n"
                      "}\n" BODY "F (a, low, high) => (c) {\n"
                      "  c = Clip(a, low, high)\n"
                      "}\n",
                   MY "g (float[2] x) => (float[2] z) {\n"
                      "  z = Clip(x, \"\", \"\")\n"
                      "}\n");
}

static void outputs_may_be_left_out_or_stand_twice_or_be_inputs(void **state)
{
    (void)state;
    assert_becomes(PASS,
                   MY "g (float[2] x) => (float[2] p, float[2] q, float[2] r, float[2] s) {\n"
                      "  \"\", p, q, r, k = my.F(x)\n"
                      "  s = Neg(k)\n"
                      "}\n" BODY "F (a) => (b, c, c, a, a) {\n"
                      "  b = Neg(a)\n"
                      "  c = Abs(b)\n"
                      "}\n",
                   MY "g (float[2] x) => (float[2] p, float[2] q, float[2] r, float[2] s) {\n"
                      "  b = Neg(x)\n"
                      "  p = Abs(b)\n"
                      "  q = Identity(p)\n"
                      "  r = Identity(x)\n"
                      "  s = Neg(x)\n"
                      "}\n");
}

static void calls_inside_subgraphs_and_subgraphs_inside_functions(void **state)
{
    (void)state;
    assert_becomes(PASS,
                   MY "g (bool c, float[2] x) => (float[2] y) {\n"
                      "  t = Neg(x)\n"
                      "  y = If <then_branch = p () => (float[2] a) {\n"
                      "    a = my.F <alpha = 2.5> (c, t)\n"
                      "  }, else_branch = q () => (float[2] b) {\n"
                      "    b = Neg(t)\n"
                      "  }> (c)\n"
                      "}\n" BODY "F <alpha> (d, u) => (v) {\n"
                      "  t = Abs(u)\n"
                      "  v = If <then_branch = p () => (float[2] a) <float[2] w = {1, 2}> {\n"
                      "    a = Add(t, w)\n"
                      "  }, else_branch = q () => (float[2] b) {\n"
                      "    b = Elu <alpha: float = @alpha> (u)\n"
                      "  }> (d)\n"
                      "}\n",
                   MY "g (bool c, float[2] x) => (float[2] y) {\n"
                      "  t = Neg(x)\n"
                      "  y = If <then_branch = p () => (float[2] a) {\n"
                      "    t_1 = Abs(t)\n"
                      "    a = If <then_branch = p () => (float[2] a_1) <float[2] w = {1, 2}> {\n"
                      "      a_1 = Add(t_1, w)\n"
                      "    }, else_branch = q () => (float[2] b) {\n"
                      "      b = Elu <alpha = 2.5> (t)\n"
                      "    }> (c)\n"
                      "  }, else_branch = q () => (float[2] b) {\n"
                      "    b = Neg(t)\n"
                      "  }> (c)\n"
                      "}\n");
}

static void a_loop_inside_a_function_keeps_its_captures(void **state)
{
    (void)state;
    assert_becomes(
        PASS,
        MY "g (int64 n, float[2] x) => (float[2] y) {\n"
           "  h = Neg(x)\n"
           "  y = my.F(n, h)\n"
           "}\n" BODY "F (n, u) => (v) {\n"
           "  h = Abs(u)\n"
           "  v = Loop <body = b (int64 i, bool k, float[2] s) => (bool k2, float[2] s2) {\n"
           "    k2 = Identity(k)\n"
           "    s2 = Add(s, h)\n"
           "  }> (n, \"\", u)\n"
           "}\n",
        MY "g (int64 n, float[2] x) => (float[2] y) {\n"
           "  h = Neg(x)\n"
           "  h_1 = Abs(h)\n"
           "  y = Loop <body = b (int64 i, bool k, float[2] s) => (bool k2, float[2] s2) {\n"
           "    k2 = Identity(k)\n"
           "    s2 = Add(s, h_1)\n"
           "  }> (n, \"\", h)\n"
           "}\n");
}

static void q_and_dq_in_functions_inline_like_all_else(void **state)
{
    (void)state;
    assert_becomes(PASS,
                   MY "g (float[2] x) => (float[2] y) <float s = {0.5}, uint8 z = {0}> {\n"
                      "  y = my.FakeQuantize(x, s, z)\n"
                      "}\n" BODY "FakeQuantize (x, s, z) => (y) {\n"
                      "  q = QuantizeLinear(x, s, z)\n"
                      "  y = DequantizeLinear(q, s, z)\n"
                      "}\n",
                   MY "g (float[2] x) => (float[2] y) <float s = {0.5}, uint8 z = {0}> {\n"
                      "  q = QuantizeLinear(x, s, z)\n"
                      "  y = DequantizeLinear(q, s, z)\n"
                      "}\n");
}

static void domains_that_the_model_lacks_are_imported(void **state)
{
    (void)state;
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m =
        test_model(MY "g (float[2] x) => (float[2] y) {\n"
                      "  y = my.F(x)\n"
                      "}\n"
                      "<domain: \"my\", opset_import: [\"\" : 17, \"your\" : 3, \"unused\" : 1]>\n"
                      "F (a) => (b) {\n"
                      "  b = your.Op(a)\n"
                      "}\n");
    char *text;

    assert_ok(qdq_model_run_passes(m, PASS ",drop-unused-opsets", &err));
    assert_ok(qdq_model_to_text(m, &text, &err));
    assert_non_null(strstr(text, "opset_import: [\"\" : 17, \"your\" : 3]"));
    qdq_free(text);
    qdq_model_free(m);
}

static void empty_bodies_and_overloads(void **state)
{
    (void)state;
    assert_becomes(PASS,
                   MY "g (float[2] x) => (float[2] y) {\n"
                      "  = my.F()\n"
                      "  t = my.F:two(x)\n"
                      "  y = my.F:three(t)\n"
                      "}\n" BODY "F () => () {\n"
                      "}\n"
                      "<domain: \"my\", overload: \"two\", opset_import: [\"\" : 17]>\n"
                      "F (a) => (b) { b = Abs(a) }\n"
                      "<domain: \"my\", overload: \"three\", opset_import: [\"\" : 17]>\n"
                      "F (a) => (b) { b = Neg(a) }\n",
                   MY "g (float[2] x) => (float[2] y) {\n"
                      "  t = Abs(x)\n"
                      "  y = Neg(t)\n"
                      "}\n");
}

/* --- does not fire ---------------------------------------------------------------------------- */

/* optimizer 10 case 35 */
static void a_function_with_another_opset_stays_a_call(void **state)
{
    (void)state;
    assert_refused(PASS,
                   MY "g (float[2] x) => (float[2] y) {\n"
                      "  y = my.F(x)\n"
                      "}\n"
                      "<domain: \"my\", opset_import: [\"\" : 13]>\n"
                      "F (a) => (b) {\n"
                      "  b = Abs(a)\n"
                      "}\n",
                   "opset conflict");
}

static void an_import_that_no_node_needs_is_no_conflict(void **state)
{
    (void)state;
    assert_becomes(PASS,
                   MY "g (float[2] x) => (float[2] y) {\n"
                      "  y = my.F(x)\n"
                      "}\n"
                      "<domain: \"my\", opset_import: [\"\" : 13, \"your\" : 1]>\n"
                      "F (a) => (b) {\n"
                      "  b = your.Op(a)\n"
                      "}\n",
                   HEAD("\"my\" : 1, \"your\" : 1") "g (float[2] x) => (float[2] y) {\n"
                                                    "  y = your.Op(x)\n"
                                                    "}\n");
}

/* F stays, because of its opset; what it calls goes into F, whose opset that is. */
static void a_function_that_stays_takes_in_what_it_calls(void **state)
{
    (void)state;
    assert_becomes(PASS,
                   MY "g (float[2] x) => (float[2] y) {\n"
                      "  y = my.F(x)\n"
                      "}\n"
                      "<domain: \"my\", opset_import: [\"\" : 13, \"my\" : 1]>\n"
                      "F (a) => (b) {\n"
                      "  t = Abs(a)\n"
                      "  b = my.G(t)\n"
                      "}\n"
                      "<domain: \"my\", opset_import: [\"\" : 13, \"your\" : 1]>\n"
                      "G (a) => (b) {\n"
                      "  t = Neg(a)\n"
                      "  b = your.Op(t)\n"
                      "}\n",
                   MY "g (float[2] x) => (float[2] y) {\n"
                      "  y = my.F(x)\n"
                      "}\n"
                      "<domain: \"my\", opset_import: [\"\" : 13, \"my\" : 1, \"your\" : 1]>\n"
                      "F (a) => (b) {\n"
                      "  t = Abs(a)\n"
                      "  t_1 = Neg(t)\n"
                      "  b = your.Op(t_1)\n"
                      "}\n");
}

static void graphs_as_arguments_are_refused(void **state)
{
    (void)state;
    assert_refused(PASS,
                   MY "g (bool c, float[2] x) => (float[2] y) {\n"
                      "  y = my.F <body = b () => (float[2] a) {\n"
                      "    a = Neg(x)\n"
                      "  }> (c)\n"
                      "}\n" BODY "F <body> (c) => (b) {\n"
                      "  b = If <then_branch: graph = @body, else_branch: graph = @body> (c)\n"
                      "}\n",
                   "a graph is an argument of the function");
}

static void calls_that_do_not_fit_are_refused(void **state)
{
    static const char body[] = BODY "F (a) => (b) {\n"
                                    "  b = Neg(a)\n"
                                    "}\n";
    char text[500];

    (void)state;
    snprintf(text, sizeof text, MY "g (float[2] x) => (float[2] y) { y = my.F(x, x) }\n%s", body);
    assert_refused(PASS, text, "the call has more inputs or outputs than the function");
    snprintf(text, sizeof text, MY "g (float[2] x) => (float[2] y) { y, z = my.F(x) }\n%s", body);
    assert_refused(PASS, text, "the call has more inputs or outputs than the function");
    assert_refused(PASS,
                   MY "g (float[2] x) => (float[2] y) { y = my.F(x) }\n" BODY
                      "F (a, b) => (b) { c = Neg(a) }",
                   "the function returns an input that the call leaves out");
}

static void functions_that_are_named_stay(void **state)
{
    static const char text[] = MY "g (float[2] x) => (float[2] y) {\n"
                                  "  y = my.F(x)\n"
                                  "}\n" BODY "F (a) => (b) {\n"
                                  "  b = Neg(a)\n"
                                  "}\n";

    (void)state;
    assert_refused("inline-functions:G+F", text, "the function is to be kept");
}

static void recursion_is_refused_with_the_name_of_a_function(void **state)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m =
        test_model(MY "g (float[2] x) => (float[2] y) { y = my.F(x) }\n" BODY
                      "F (a) => (b) { b = my.G(a) }\n" BODY "G (a) => (b) { b = my.F(a) }\n");

    (void)state;
    assert_fails(QDQ_E_FORMAT, "function 'F': its calls lead in a circle",
                 qdq_model_run_passes(m, PASS, &err));
    qdq_model_free(m);
}

/* --- size ------------------------------------------------------------------------------------- */

/* Each function calls the next one twice: 2^40 nodes. What fits into the limit is expanded, above
 * it calls stay. */
static void a_file_of_six_kilobytes_does_not_become_a_gigabyte(void **state)
{
    enum { LEVELS = 40 };
    static char text[LEVELS * 200];
    qdq_error err = QDQ_ERROR_INIT;
    qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;
    qdq_optimize_report *r;
    size_t n = 0;

    (void)state;
    n +=
        (size_t)snprintf(text, sizeof text, MY "g (float[2] x) => (float[2] y) { y = my.F0(x) }\n");
    for (int i = 0; i < LEVELS; i++)
        n += (size_t)snprintf(text + n, sizeof text - n,
                              BODY "F%d (a) => (c) { b = my.F%d(a) c = my.F%d(b) }\n", i, i + 1,
                              i + 1);
    snprintf(text + n, sizeof text - n, BODY "F%d (a) => (b) { b = Neg(a) }\n", LEVELS);
    qdq_model *m = test_model(text);
    opts.passes = "inline-functions";
    assert_ok(qdq_model_optimize(m, &opts, &r, &err));
    assert_true(r->nodes_after > 10000 && r->nodes_after <= 40000 && r->settled);
    assert_string_equal(
        r->passes[0].refusals[1].reason,
        "the bodies would take more than 16 MiB and 20 times the memory of all nodes");
    qdq_optimize_report_free(r);
    qdq_model_free(m);
}

/* A chain of functions, each of which calls the next one inside an If: 100 graphs deep is too
 * deep. */
static void graphs_do_not_get_nested_too_deep(void **state)
{
    enum { LEVELS = 100 };
    static char text[LEVELS * 300];
    qdq_error err = QDQ_ERROR_INIT;
    qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;
    qdq_optimize_report *r;
    size_t n = 0;

    (void)state;
    n += (size_t)snprintf(text, sizeof text,
                          MY "g (bool c, float[2] x) => (float[2] y) { y = my.F0(c, x) }\n");
    for (int i = 0; i < LEVELS; i++)
        n += (size_t)snprintf(
            text + n, sizeof text - n,
            BODY "F%d (c, a) => (b) { b = If <then_branch = t () => (float[2] d) {"
                 " d = my.F%d(c, a) }, else_branch = e () => (float[2] f) { f = Neg(a) }> (c) }\n",
            i, i + 1);
    snprintf(text + n, sizeof text - n, BODY "F%d (c, a) => (b) { b = Neg(a) }\n", LEVELS);
    qdq_model *m = test_model(text);
    opts.passes = PASS;
    opts.verify_each = true;
    assert_ok(qdq_model_optimize(m, &opts, &r, &err));
    assert_string_equal(r->passes[0].refusals[0].reason, "graphs would be nested too deep");
    qdq_optimize_report_free(r);
    qdq_model_free(m);
}

/* --- drop-unused-functions, drop-unused-opsets ------------------------------------------------ */

static void functions_that_only_unused_ones_call_go_too(void **state)
{
    (void)state;
    assert_becomes("drop-unused-functions",
                   MY "g (bool c, float[2] x) => (float[2] y) {\n"
                      "  y = If <then_branch = p () => (float[2] a) {\n"
                      "    a = my.Used(x)\n"
                      "  }, else_branch = q () => (float[2] b) {\n"
                      "    b = Neg(x)\n"
                      "  }> (c)\n"
                      "}\n" BODY "Unused (a) => (b) {\n"
                      "  b = my.Only(a)\n"
                      "}\n" BODY "Only (a) => (b) {\n"
                      "  b = Neg(a)\n"
                      "}\n" BODY "Used (a) => (b) {\n"
                      "  b = my.Deep(a)\n"
                      "}\n" BODY "Deep (a) => (b) {\n"
                      "  b = Neg(a)\n"
                      "}\n",
                   MY "g (bool c, float[2] x) => (float[2] y) {\n"
                      "  y = If <then_branch = p () => (float[2] a) {\n"
                      "    a = my.Used(x)\n"
                      "  }, else_branch = q () => (float[2] b) {\n"
                      "    b = Neg(x)\n"
                      "  }> (c)\n"
                      "}\n" BODY "Used (a) => (b) {\n"
                      "  b = my.Deep(a)\n"
                      "}\n" BODY "Deep (a) => (b) {\n"
                      "  b = Neg(a)\n"
                      "}\n");
}

/* The text of the imports after the pass. */
static void assert_imports(const char *text, const char *expected)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model(text);
    qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;
    qdq_optimize_report *r;
    char *printed;

    opts.passes = "drop-unused-opsets";
    opts.verify_each = true;
    for (int i = 0; i < 2; i++) {
        assert_ok(qdq_model_optimize(m, &opts, &r, &err));
        assert_true(i == 0 || r->changes == 0);
        assert_ok(qdq_model_to_text(m, &printed, &err));
        if (strstr(printed, expected) == NULL)
            fail_msg("'%s' is not in '%s'", expected, printed);
        qdq_free(printed);
        qdq_optimize_report_free(r);
    }
    qdq_model_free(m);
}

static void imports_that_no_node_needs_go(void **state)
{
    (void)state;
    assert_imports(
        HEAD("\"a\" : 1, \"b\" : 2, \"my\" : 3, \"c\" : 4") "g (float[2] x) => (float[2] y) { y = "
                                                            "b.F(x) }",
        "[\"\" : 17, \"b\" : 2]");
    /* domains of functions, and what functions import, stay; functions themselves keep what they
     * use */
    assert_imports(
        HEAD("\"my\" : 1, \"a\" : 1, \"b\" : 1") "g (float[2] x) => (float[2] y) { y = my.F(x) }\n"
                                                 "<domain: \"my\", opset_import: [\"a\" : 1, \"\" "
                                                 ": 17]>\n"
                                                 "F (x) => (y) { y = a.Op(x) }\n",
        "[\"\" : 17, \"my\" : 1, \"a\" : 1]");
    assert_imports(MY "g (float[2] x) => (float[2] y) { y = my.F(x) }\n"
                      "<domain: \"my\", opset_import: [\"a\" : 1, \"\" : 17, \"b\" : 2]>\n"
                      "F (x) => (y) { y = a.Op(x) }\n",
                   "<domain: \"my\", opset_import: [\"a\" : 1, \"\" : 17]>");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_call_gives_way_to_the_body),
        cmocka_unit_test(the_second_call_gets_names_of_its_own),
        cmocka_unit_test(attributes_come_from_the_call_else_from_the_default_else_not_at_all),
        cmocka_unit_test(functions_that_call_functions_are_followed),
        cmocka_unit_test(inputs_at_the_end_may_be_left_out),
        cmocka_unit_test(outputs_may_be_left_out_or_stand_twice_or_be_inputs),
        cmocka_unit_test(calls_inside_subgraphs_and_subgraphs_inside_functions),
        cmocka_unit_test(a_loop_inside_a_function_keeps_its_captures),
        cmocka_unit_test(q_and_dq_in_functions_inline_like_all_else),
        cmocka_unit_test(domains_that_the_model_lacks_are_imported),
        cmocka_unit_test(empty_bodies_and_overloads),
        cmocka_unit_test(a_function_with_another_opset_stays_a_call),
        cmocka_unit_test(an_import_that_no_node_needs_is_no_conflict),
        cmocka_unit_test(a_function_that_stays_takes_in_what_it_calls),
        cmocka_unit_test(graphs_as_arguments_are_refused),
        cmocka_unit_test(calls_that_do_not_fit_are_refused),
        cmocka_unit_test(functions_that_are_named_stay),
        cmocka_unit_test(recursion_is_refused_with_the_name_of_a_function),
        cmocka_unit_test(a_file_of_six_kilobytes_does_not_become_a_gigabyte),
        cmocka_unit_test(graphs_do_not_get_nested_too_deep),
        cmocka_unit_test(functions_that_only_unused_ones_call_go_too),
        cmocka_unit_test(imports_that_no_node_needs_go),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
