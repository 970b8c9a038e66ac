/* opt_rule_match.c - the matcher of rewrite rules: which nodes a pattern is. */
#include "support/ruled.h"

TEST(constants_are_told_from_values)
{
    static const qdq_pat pat[] = {{"y", QDQ_OP_ADD, {"x", "#c"}, 0}};

    ASSERT_FITS(pat, "g (float[1] x) => (float[1] y) <float[1] c = {1}> { y = Add(x, c) }",
                "g (float[1] x) => (float[1] y) <float[1] c = {1}> { y = Identity(x) }");
    ASSERT_FITS(
        pat,
        "g (float[1] x) => (float[1] y) { c = Constant <value = float[1] {1}> () y = Add(x, c) }",
        "g (float[1] x) => (float[1] y) { y = Identity(x) }");
    /* in the other order it does not say so */
    ASSERT_FITS(pat, "g (float[1] x) => (float[1] y) <float[1] c = {1}> { y = Add(c, x) }",
                "g (float[1] x) => (float[1] y) <float[1] c = {1}> { y = Add(c, x) }");
}

TEST(an_initializer_that_the_caller_may_override_is_no_constant)
{
    static const qdq_pat pat[] = {{"y", QDQ_OP_ADD, {"x", "#c"}, 0}};

    ASSERT_FITS(pat, "g (float[1] x, float[1] c = {1}) => (float[1] y) { y = Add(x, c) }",
                "g (float[1] x, float[1] c = {1}) => (float[1] y) { y = Add(x, c) }");
}

TEST(inputs_that_may_be_left_out_may_be_there)
{
    static const qdq_pat pat[] = {{"y", QDQ_OP_CLIP, {"x", "#lo?", "#hi?"}, 0}};
    static const char *const fits[] = {"Clip(x)", "Clip(x, a)", "Clip(x, \"\", a)",
                                       "Clip(x, a, a)"};
    char before[200];
    static const qdq_rule rule = RULE_OF(pat, NULL, test_mark);

    for (size_t i = 0; i < QDQ_COUNT(fits); i++) {
        snprintf(before, sizeof before, "g (float[1] x) => (float[1] y) <float a = {1}> { y = %s }",
                 fits[i]);
        test_rule(&rule, before,
                  "g (float[1] x) => (float[1] y) <float a = {1}> { y = Identity(x) }", 1);
    }
    test_rule(&rule, "g (float[1] x, float a) => (float[1] y) { y = Clip(x, a) }",
              "g (float[1] x, float a) => (float[1] y) { y = Clip(x, a) }", 0);
}

TEST(inputs_that_are_not_listed_must_be_left_out)
{
    static const qdq_pat one[] = {{"y", QDQ_OP_CLIP, {"x", "lo"}, 0}};
    static const qdq_pat more[] = {{"y", QDQ_OP_CLIP, {"x", "lo"}, QDQ_PAT_MORE}};

    ASSERT_FITS(one, "g (float[1] x, float a) => (float[1] y) { y = Clip(x, a, a) }",
                "g (float[1] x, float a) => (float[1] y) { y = Clip(x, a, a) }");
    ASSERT_FITS(one, "g (float[1] x, float a) => (float[1] y) { y = Clip(x, \"\", a) }",
                "g (float[1] x, float a) => (float[1] y) { y = Clip(x, \"\", a) }");
    ASSERT_FITS(one, "g (float[1] x, float a) => (float[1] y) { y = Clip(x, a, \"\") }",
                "g (float[1] x, float a) => (float[1] y) { y = Identity(x) }");
    ASSERT_FITS(more, "g (float[1] x, float a) => (float[1] y) { y = Clip(x, a, a) }",
                "g (float[1] x, float a) => (float[1] y) { y = Identity(x) }");
}

TEST(a_name_that_returns_is_the_same_value)
{
    static const qdq_pat pat[] = {{"y", QDQ_OP_ADD, {"x", "x"}, 0}};
    static const qdq_pat with_const[] = {{"y", QDQ_OP_CLIP, {"x", "#c", "c"}, 0}};

    ASSERT_FITS(pat, "g (float[1] a) => (float[1] y) { y = Add(a, a) }",
                "g (float[1] a) => (float[1] y) { y = Identity(a) }");
    ASSERT_FITS(pat, "g (float[1] a, float[1] b) => (float[1] y) { y = Add(a, b) }",
                "g (float[1] a, float[1] b) => (float[1] y) { y = Add(a, b) }");
    ASSERT_FITS(
        with_const,
        "g (float[1] x) => (float[1] y) <float a = {1}, float b = {1}> { y = Clip(x, a, b) }",
        "g (float[1] x) => (float[1] y) <float a = {1}, float b = {1}> { y = Clip(x, a, b) }");
    ASSERT_FITS(with_const, "g (float[1] x) => (float[1] y) <float a = {1}> { y = Clip(x, a, a) }",
                "g (float[1] x) => (float[1] y) <float a = {1}> { y = Identity(x) }");
}

TEST(a_row_that_is_reached_twice_is_one_node)
{
    static const qdq_pat pat[] = {
        {"y", QDQ_OP_MUL, {"t", "s"}, QDQ_PAT_COMMUTES},
        {"s", QDQ_OP_SIGMOID, {"t"}, 0},
        {"t", QDQ_OP_NEG, {"x"}, 0},
    };

    ASSERT_FITS(pat, "g (float[1] x) => (float[1] y) { t = Neg(x) s = Sigmoid(t) y = Mul(s, t) }",
                "g (float[1] x) => (float[1] y) { y = Identity(x) }");
    ASSERT_FITS(
        pat,
        "g (float[1] x) => (float[1] y) { t = Neg(x) u = Neg(x) s = Sigmoid(t) y = Mul(s, u) }",
        "g (float[1] x) => (float[1] y) { t = Neg(x) u = Neg(x) s = Sigmoid(t) y = Mul(s, u) }");
}

TEST(what_a_failed_order_has_bound_is_forgotten)
{
    static const qdq_pat pat[] = {
        {"y", QDQ_OP_ADD, {"m", "x"}, QDQ_PAT_COMMUTES},
        {"m", QDQ_OP_MUL, {"x", "#c"}, QDQ_PAT_COMMUTES},
    };

    /* m is the first factor, and x = u does not fit its product: then it is the second */
    ASSERT_FITS(pat,
                "g (float[1] a) => (float[1] y) <float c = {2}> { m = Mul(c, a) u = Mul(m, c) y = "
                "Add(m, u) }",
                "g (float[1] a) => (float[1] y) <float c = {2}> { m = Mul(c, a) y = Identity(m) }");
    ASSERT_FITS(pat,
                "g (float[1] a) => (float[1] y) <float c = {2}> { m = Mul(c, a) y = Add(a, m) }",
                "g (float[1] a) => (float[1] y) <float c = {2}> { y = Identity(a) }");
    ASSERT_FITS(pat,
                "g (float[1] a, float[1] b) => (float[1] y) <float c = {2}> { m = Mul(c, a) y = "
                "Add(b, m) }",
                "g (float[1] a, float[1] b) => (float[1] y) <float c = {2}> { m = Mul(c, a) y = "
                "Add(b, m) }");
}

TEST(the_other_order_is_tried_when_the_first_is_read_elsewhere)
{
    static const qdq_pat pat[] = {
        {"y", QDQ_OP_ADD, {"n", "x"}, QDQ_PAT_COMMUTES},
        {"n", QDQ_OP_NEG, {"z"}, QDQ_PAT_ONLY},
    };

    ASSERT_FITS(
        pat, "g (float[1] a) => (float[1] y, float[1] p) { p = Neg(a) q = Neg(p) y = Add(p, q) }",
        "g (float[1] a) => (float[1] y, float[1] p) { p = Neg(a) y = Identity(p) }");
}

/* Of two negations, the second is meant. */
static const char *is_named_q(const qdq_match *m)
{
    return strcmp(qdq_match_value(m, "n")->name, "q") == 0 ? NULL : "not the one";
}

TEST(the_other_order_is_tried_when_the_check_refuses_the_first)
{
    static const qdq_pat pat[] = {
        {"y", QDQ_OP_ADD, {"n", "x"}, QDQ_PAT_COMMUTES},
        {"n", QDQ_OP_NEG, {"z"}, 0},
    };
    static const qdq_rule rule = RULE_OF(pat, is_named_q, test_mark);
    const qdq_rule *rules[] = {&rule};
    qdq_model *m;
    test_ruled r;

    test_rule(&rule, "g (float[1] a) => (float[1] y) { p = Neg(a) q = Neg(p) y = Add(p, q) }",
              "g (float[1] a) => (float[1] y) { p = Neg(a) y = Identity(p) }", 1);
    m = test_model("g (float[1] a) => (float[1] y) { p = Neg(a) o = Neg(p) y = Add(p, o) }");
    test_run_rules(m, rules, 1, 0, &r);
    assert_int_equal(r.state.record[0].refusals.n, 1);
    assert_int_equal(r.state.record[0].refusals.at[0].n, 1); /* both orders are one candidate */
    test_free_ruled(&r);
    qdq_model_free(m);
}

TEST(only_inside_means_nobody_else_reads_it)
{
    static const char *const others[] = {
        "g (float[1] x) => (float[1] y, float[1] z) { t = Abs(x) z = Neg(t) y = Relu(t) }",
        "g (float[1] x) => (float[1] y, float[1] t) { t = Abs(x) y = Relu(t) }",
        "g (float[1] x, bool b) => (float[1] y, float[1] z) {\n"
        "  t = Abs(x)\n"
        "  z = If (b) <then_branch = p () => (float[1] u) { u = Neg(t) },\n"
        "              else_branch = q () => (float[1] v) { v = Neg(x) }>\n"
        "  y = Relu(t)\n"
        "}",
    };

    for (size_t i = 0; i < QDQ_COUNT(others); i++)
        test_rule(&test_only_relu, others[i], others[i], 0);
    test_rule(&test_only_relu,
              "g (float[1] x) => (float[1] y) { a = Neg(x) t = Abs(a) y = Relu(t) }",
              "g (float[1] x) => (float[1] y) { y = Neg(x) }", 1);
}

TEST(only_inside_means_all_outputs)
{
    static const qdq_pat pat[] = {
        {"y", QDQ_OP_RELU, {"t"}, 0},
        {"t", QDQ_OP_DROPOUT, {"x"}, QDQ_PAT_ONLY},
    };

    ASSERT_FITS(pat, "g (float[1] x) => (float[1] y, bool[1] m) { t, m = Dropout(x) y = Relu(t) }",
                "g (float[1] x) => (float[1] y, bool[1] m) { t, m = Dropout(x) y = Relu(t) }");
    ASSERT_FITS(pat, "g (float[1] x) => (float[1] y) { t, m = Dropout(x) y = Relu(t) }",
                "g (float[1] x) => (float[1] y) { y = Identity(x) }");
}

TEST(a_second_output_is_not_what_a_row_computes)
{
    static const qdq_pat pat[] = {
        {"y", QDQ_OP_RELU, {"t"}, 0},
        {"t", QDQ_OP_SPLIT, {"x"}, 0},
    };
    static const char text[] = "g (float[2] x) => (float[1] y) { a, t = Split(x) y = Relu(t) }";

    ASSERT_FITS(pat, text, text);
}

TEST(rows_stay_in_the_graph_of_the_root_and_values_need_not)
{
    static const qdq_pat value[] = {{"y", QDQ_OP_ADD, {"x", "#c"}, 0}};
    static const char nodes[] =
        "g (float[1] x, bool b) => (float[1] y) {\n"
        "  t = Neg(x)\n"
        "  y = If (b) <then_branch = p () => (float[1] u) { u = Neg(t) },\n"
        "              else_branch = q () => (float[1] v) { v = Relu(x) }>\n"
        "}";

    test_rule(&test_two_negs, nodes, nodes, 0);
    ASSERT_FITS(value,
                "g (float[1] x, bool b) => (float[1] y) <float[1] c = {1}> {\n"
                "  t = Neg(x)\n"
                "  y = If (b) <then_branch = p () => (float[1] u) { u = Add(t, c) },\n"
                "              else_branch = q () => (float[1] v) { v = Relu(x) }>\n"
                "}",
                "g (float[1] x, bool b) => (float[1] y) <float[1] c = {1}> {\n"
                "  t = Neg(x)\n"
                "  y = If (b) <then_branch = p () => (float[1] u) { u = Identity(t) },\n"
                "              else_branch = q () => (float[1] v) { v = Relu(x) }>\n"
                "}");
}

TEST(alternatives_are_tried_one_after_another)
{
    static const qdq_pat pat[] = {
        {"y", QDQ_OP_ADD, {"x", "#c"}, 0}, {"y", QDQ_OP_MUL, {"n", "#c"}, 0},
        {"n", QDQ_OP_NEG, {"x"}, 0},       {"y", QDQ_OP_MUL, {"r", "#c"}, 0},
        {"r", QDQ_OP_RELU, {"x"}, 0},
    };

    ASSERT_FITS(pat, "g (float[1] x) => (float[1] y) <float c = {1}> { y = Add(x, c) }",
                "g (float[1] x) => (float[1] y) <float c = {1}> { y = Identity(x) }");
    ASSERT_FITS(pat, "g (float[1] x) => (float[1] y) <float c = {1}> { t = Neg(x) y = Mul(t, c) }",
                "g (float[1] x) => (float[1] y) <float c = {1}> { y = Identity(x) }");
    ASSERT_FITS(pat, "g (float[1] x) => (float[1] y) <float c = {1}> { t = Relu(x) y = Mul(t, c) }",
                "g (float[1] x) => (float[1] y) <float c = {1}> { y = Identity(x) }");
    ASSERT_FITS(pat, "g (float[1] x) => (float[1] y) <float c = {1}> { t = Abs(x) y = Mul(t, c) }",
                "g (float[1] x) => (float[1] y) <float c = {1}> { t = Abs(x) y = Mul(t, c) }");
}

TEST(quantization_between_the_nodes_stops_a_pattern)
{
    static const char text[] = "g (float[1] x) => (float[1] y) <float s = {0.5}, uint8 z = {0}> {\n"
                               "  t = Neg(x)\n"
                               "  q = QuantizeLinear(t, s, z)\n"
                               "  d = DequantizeLinear(q, s, z)\n"
                               "  y = Neg(d)\n"
                               "}";

    test_rule(&test_two_negs, text, text, 0);
}

TEST(a_node_whose_attribute_the_caller_gives_fits_nothing)
{
    static const qdq_pat pat[] = {{"y", QDQ_OP_ELU, {"x"}, 0}};

    ASSERT_FITS(
        pat,
        "<ir_version: 8, opset_import: [\"\" : 17, \"d\" : 1]>\n"
        "g (float[1] x) => (float[1] y) { y = d.F <a = 2.0> (x) }\n"
        "<domain: \"d\", opset_import: [\"\" : 17]> F <a> (x) => (y) { t = Elu <alpha: float = @a> "
        "(x) y = Elu <alpha = 1.0> (t) }",
        "<ir_version: 8, opset_import: [\"\" : 17, \"d\" : 1]>\n"
        "g (float[1] x) => (float[1] y) { y = d.F <a = 2.0> (x) }\n"
        "<domain: \"d\", opset_import: [\"\" : 17]> F <a> (x) => (y) { t = Elu <alpha: float = @a> "
        "(x) y = Identity(t) }");
}

TEST(numbers_are_read_from_constants)
{
    static const qdq_pat pat[] = {{"y", QDQ_OP_CLIP, {"x", "#c", "#d"}, 0}};
    static const qdq_rule rule = RULE_OF(pat, NULL, NULL);
    static const struct {
        const char *c;
        double x;
        /* of an integer list, summed; -1: none */
        int64_t all;
    } cases[] = {
        {"float {0.5}", 0.5, -1},
        {"float[1] {0.5}", 0.5, -1},
        {"double {0.1}", 0.1, -1},
        {"float16 {0.5}", 0.5, -1},
        {"int64 {7}", 7, 7},
        {"int8[1] {-7}", -7, -7},
        {"float[2] {1, 2}", -1000, -1},
        {"int64[3] {1, 2, 3}", -1000, 6},
        {"int64[5] {1, 2, 3, 4, 5}", -1000, -1},
        {"string {\"a\"}", -1000, -1},
        {"int64[0] {}", -1000, 0},
    };

    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        char text[300];
        qdq_match m = {.rule = &rule, .pat = pat, .n_pat = 1};
        double x = -1000;
        int64_t list[4], sum = 0;
        size_t n;

        snprintf(text, sizeof text,
                 "g (float[1] x) => (float[1] y) { c = Constant <value = %s> () d = Constant "
                 "<value = float {1}> "
                 "() y = Clip(x, c, d) }",
                 cases[i].c);
        qdq_model *model = test_model(text);
        m.node[0] = m.root = model->graph->outputs.at[0]->producer;
        m.name[0] = "#c";
        m.value[0] = m.root->in[1].value;
        m.n_names = 1;
        assert_true(qdq_match_scalar(&m, "c", &x) == (cases[i].x > -1000));
        assert_true(x == cases[i].x);
        assert_true(qdq_match_ints(&m, "c", 4, list, &n) == (cases[i].all != -1));
        for (size_t k = 0; k < n; k++)
            sum += list[k];
        assert_true(cases[i].all == -1 ? n == 0 : sum == cases[i].all);
        qdq_model_free(model);
    }
}
