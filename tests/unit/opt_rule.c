/* opt_rule.c - the driver of rewrite rules: when and how often rules change a graph. */
#include "ir/graph_check.h"
#include "support/ruled.h"

static int n_checked;

static const char *never(const qdq_match *m)
{
    (void)m;
    n_checked++;
    return "never";
}

static const char *count(const qdq_match *m)
{
    (void)m;
    n_checked++;
    return NULL;
}

/* --- the driver ------------------------------------------------------------------------------- */

TEST(what_a_change_leaves_is_looked_at_again)
{
    test_rule(&test_two_negs,
              "g (float[1] x) => (float[1] y) { a = Relu(x) b = Neg(a) c = Neg(b) d = Neg(c) e = "
              "Neg(d) f = "
              "Neg(e) y = Neg(f) }",
              "g (float[1] x) => (float[1] y) { y = Relu(x) }", 3);
}

TEST(nodes_that_a_change_leaves_unread_are_readers_no_more)
{
    static const qdq_rule *const rules[] = {&test_two_negs, &test_only_relu};
    qdq_model *m = test_model("g (float[1] x) => (float[1] y, float[1] z) {\n"
                              "  a = Sigmoid(x)\n"
                              "  t = Abs(a)\n"
                              "  y = Relu(t)\n" /* first in the list, and t is read by n then */
                              "  n = Neg(t)\n"
                              "  o = Neg(n)\n"
                              "  z = Mul(o, a)\n"
                              "}");
    test_ruled r;

    test_run_rules(m, rules, 2, 0, &r); /* the two Neg go, but z reads t still */
    assert_int_equal(r.state.changes, 1);
    assert_int_equal(m->graph->n_node, 4);
    test_free_ruled(&r);
    qdq_model_free(m);

    static const qdq_pat zero_pat[] = {{"z", QDQ_OP_MUL, {"n", "x"}, 0},
                                       {"n", QDQ_OP_NEG, {"t"}, 0}};
    static const qdq_rule zero = RULE_OF(zero_pat, NULL, test_become_x);
    static const qdq_rule *const more[] = {&test_only_relu, &zero};
    m = test_model("g (float[1] x) => (float[1] y, float[1] z) {\n"
                   "  a = Sigmoid(x)\n"
                   "  t = Abs(a)\n"
                   "  y = Relu(t)\n"
                   "  n = Neg(t)\n"
                   "  b = Ceil(x)\n"
                   "  z = Mul(n, b)\n"
                   "}");
    test_run_rules(m, more, 2, 0, &r);
    test_assert_text(
        m, "g (float[1] x) => (float[1] y, float[1] z) {\n  y = Sigmoid(x)\n  z = Ceil(x)\n}\n");
    assert_int_equal(r.state.record[0].changes, 1);
    assert_int_equal(r.state.record[1].changes, 1);
    assert_int_equal(r.state.record[0].nodes, -2);
    assert_int_equal(r.state.record[1].nodes, -2);
    test_free_ruled(&r);
    qdq_model_free(m);
}

TEST(nodes_that_nobody_reads_are_left_to_drop_unused)
{
    static const char text[] =
        "g (float[1] x) => (float[1] y) { a = Neg(x) b = Neg(a) y = Relu(x) }";

    test_rule(&test_two_negs, text, text, 0);
}

TEST(random_nodes_stay_even_when_unread)
{
    static const qdq_pat pat[] = {
        {"y", QDQ_OP_ADD, {"r", "x"}, 0},
        {"r", QDQ_OP_RANDOMNORMALLIKE, {"z"}, 0},
    };

    ASSERT_FITS(pat, "g (float[1] x) => (float[1] y) { r = RandomNormalLike(x) y = Add(r, x) }",
                "g (float[1] x) => (float[1] y) { r = RandomNormalLike(x) y = Identity(x) }");
}

static qdq_status to_abs(qdq_match *m, qdq_error *err)
{
    return qdq_match_recast(m, "Abs", 1, (qdq_value *[]){qdq_match_value(m, "x")}, err);
}

static qdq_status to_neg(qdq_match *m, qdq_error *err)
{
    return qdq_match_recast(m, "Neg", 1, (qdq_value *[]){qdq_match_value(m, "x")}, err);
}

TEST(two_rules_that_undo_each_other_end)
{
    static const qdq_pat neg_pat[] = {{"y", QDQ_OP_NEG, {"x"}, 0}};
    static const qdq_pat abs_pat[] = {{"y", QDQ_OP_ABS, {"x"}, 0}};
    static const qdq_rule neg = RULE_OF(neg_pat, NULL, to_abs),
                          abs = RULE_OF(abs_pat, NULL, to_neg);
    static const qdq_rule *const rules[] = {&neg, &abs};
    qdq_model *m = test_model("g (float[1] x) => (float[1] y) { y = Neg(x) }");
    test_ruled r;

    test_run_rules(m, rules, 2, 0, &r);
    assert_true(r.state.changes > 1 && r.state.changes <= 40);
    test_free_ruled(&r);
    qdq_model_free(m);
}

TEST(a_bisection_stops_at_its_limit)
{
    static const qdq_rule *const rules[] = {&test_two_negs};
    qdq_model *m = test_model(
        "g (float[1] x) => (float[1] y, float[1] z) {\n"
        "  r = Relu(x) a = Neg(r) b = Neg(a) y = Abs(b) c = Neg(y) d = Neg(c) z = Abs(d)\n"
        "}");
    test_ruled r;

    test_run_rules(m, rules, 1, 1, &r);
    assert_int_equal(r.state.changes, 1);
    assert_string_equal(r.where, "first Neg@b;");
    test_assert_text(m,
                     "g (float[1] x) => (float[1] y, float[1] z) {\n"
                     "  r = Relu(x)\n  y = Abs(r)\n  c = Neg(y)\n  d = Neg(c)\n  z = Abs(d)\n}\n");
    test_free_ruled(&r);
    test_run_rules(m, rules, 1, 0, &r);
    assert_string_equal(r.where, "first Neg@d;");
    test_free_ruled(&r);
    qdq_model_free(m);
}

static const char *not_behind_relu(const qdq_match *m)
{
    const qdq_value *x = qdq_match_value(m, "x");

    return x->producer != NULL && x->producer->op == QDQ_OP_RELU ? "behind Relu" : NULL;
}

TEST(what_is_refused_is_reported_once_and_only_if_it_stays)
{
    static const qdq_pat abs_pat[] = {{"y", QDQ_OP_ABS, {"x"}, 0}};
    static const qdq_rule abs = RULE_OF(abs_pat, not_behind_relu, test_become_x);
    static const qdq_pat relu_pat[] = {{"y", QDQ_OP_RELU, {"n"}, 0}, {"n", QDQ_OP_NEG, {"x"}, 0}};
    static const qdq_rule relu = RULE_OF(relu_pat, NULL, test_become_x);
    static const qdq_rule *const rules[] = {&abs, &relu, &test_two_negs};
    qdq_model *m = test_model("g (float[1] x, float[1] v) => (float[1] y, float[1] z) {\n"
                              /* the Relu goes, then the Abs */
                              "  n = Neg(x) r = Relu(n) a = Abs(r) y = Exp(a)\n"
                              "  s = Relu(v) b = Abs(s) p = Neg(b) q = Neg(p) z = Exp(q)\n"
                              "}");
    test_ruled r;

    test_run_rules(m, rules, 3, 0, &r);
    assert_int_equal(r.state.record[0].changes, 1);
    assert_int_equal(r.state.record[0].refusals.n, 1);
    assert_string_equal(r.state.record[0].refusals.at[0].reason, "behind Relu");
    assert_int_equal(r.state.record[0].refusals.at[0].n, 1);
    assert_string_equal(r.state.record[0].refusals.at[0].example[0], "Abs@b");
    assert_int_equal(r.state.record[1].refusals.n, 0);
    test_free_ruled(&r);
    qdq_model_free(m);
}

TEST(the_reason_of_one_alternative_outlasts_the_others)
{
    static const qdq_pat pat[] = {
        {"y", QDQ_OP_ABS, {"x"}, 0}, {"y", QDQ_OP_ABS, {"n"}, 0}, {"n", QDQ_OP_NEG, {"x"}, 0}};
    static const qdq_rule abs = RULE_OF(pat, not_behind_relu, test_become_x);
    static const qdq_rule *const rules[] = {&abs};
    qdq_model *m = test_model("g (float[1] x) => (float[1] y) { r = Relu(x) y = Abs(r) }");
    test_ruled r;

    test_run_rules(m, rules, 1, 0, &r);
    assert_int_equal(r.state.record[0].refusals.n, 1);
    assert_string_equal(r.state.record[0].refusals.at[0].reason, "behind Relu");
    test_free_ruled(&r);
    qdq_model_free(m);
}

static const char *not_this(const qdq_match *m)
{
    (void)m;
    return qdq_not_this;
}

TEST(a_match_in_form_only_is_not_reported)
{
    static const qdq_pat pat[] = {{"y", QDQ_OP_NEG, {"x"}, 0}};
    static const qdq_rule rule = RULE_OF(pat, not_this, test_mark);
    static const qdq_rule *const rules[] = {&rule};
    qdq_model *m = test_model("g (float[1] x) => (float[1] y) { y = Neg(x) }");
    test_ruled r;

    test_run_rules(m, rules, 1, 0, &r);
    assert_int_equal(r.state.record[0].refusals.n, 0);
    assert_int_equal(r.state.changes, 0);
    test_free_ruled(&r);
    qdq_model_free(m);
}

TEST(rules_say_for_which_opsets_they_are)
{
    static const qdq_pat pat[] = {{"y", QDQ_OP_NEG, {"x"}, 0}};
    static const struct {
        int min, opset;
        bool fires;
    } cases[] = {{0, 1, true}, {13, 13, true}, {13, 12, false}, {11, 12, true}, {11, 10, false}};

    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        qdq_rule rule = RULE_OF(pat, NULL, test_mark);
        const qdq_rule *rules[] = {&rule};
        char text[200];
        test_ruled r;

        rule.min_opset = cases[i].min;
        snprintf(text, sizeof text,
                 "<ir_version: 8, opset_import: [\"\" : %d]> g (float[1] x) => (float[1] y) { y = "
                 "Neg(x) }",
                 cases[i].opset);
        qdq_model *m = test_model(text);
        test_run_rules(m, rules, 1, 0, &r);
        assert_int_equal(r.state.changes, cases[i].fires);
        test_free_ruled(&r);
        qdq_model_free(m);
    }
}

TEST(functions_have_their_own_opset_and_no_initializers)
{
    static const qdq_pat pat[] = {{"y", QDQ_OP_NEG, {"x"}, 0}};
    static const char text[] =
        "<ir_version: 8, opset_import: [\"\" : 17, \"d\" : 1]>\n"
        "g (float[1] x) => (float[1] y) { y = d.F(x) }\n"
        "<domain: \"d\", opset_import: [\"\" : 13]> F (a) => (b) { b = Neg(a) }";
    qdq_rule rule = RULE_OF(pat, NULL, test_mark);
    const qdq_rule *rules[] = {&rule};
    test_ruled r;

    for (int i = 0; i < 3; i++) {
        qdq_model *m = test_model(text);

        rule.min_opset = i == 1 ? 14 : 13;
        rule.needs_initializers = i == 2;
        test_run_rules(m, rules, 1, 0, &r);
        assert_int_equal(r.state.changes, i == 0);
        test_free_ruled(&r);
        qdq_model_free(m);
    }
}

static qdq_status add_a_constant(qdq_match *m, qdq_error *err)
{
    static const int64_t two[] = {2, 3};
    qdq_value *in[] = {qdq_match_value(m, "x"), qdq_match_add_ints(m, "numbers", 2, two)};

    return in[1] != NULL ? qdq_match_recast(m, "Add", 2, in, err) : qdq_nomem(err);
}

TEST(constants_are_nodes_in_functions_and_initializers_elsewhere)
{
    static const qdq_pat pat[] = {{"y", QDQ_OP_NEG, {"x"}, 0}};
    static const qdq_rule rule = RULE_OF(pat, NULL, add_a_constant);

    test_rule(&rule,
              "<ir_version: 8, opset_import: [\"\" : 17, \"d\" : 1]>\n"
              "g (int64[2] x) => (int64[2] y) { t = d.F(x) y = Neg(t) }\n"
              "<domain: \"d\", opset_import: [\"\" : 17]> F (a) => (b) { b = Neg(a) }",
              "<ir_version: 8, opset_import: [\"\" : 17, \"d\" : 1]>\n"
              "g (int64[2] x) => (int64[2] y) <int64[2] numbers = {2, 3}> { t = d.F(x) y = "
              "Add(t, numbers) }\n"
              "<domain: \"d\", opset_import: [\"\" : 17]> F (a) => (b) {\n"
              "  numbers = Constant <value = int64[2] {2, 3}> () b = Add(a, numbers) }",
              2);
}

/* --- what a root becomes ---------------------------------------------------------------------- */

TEST(outputs_keep_their_names)
{
    test_rule(&test_two_negs,
              "g (float[1] x) => (float[1] y) { r = Relu(x) a = Neg(r) y = Neg(a) }",
              "g (float[1] x) => (float[1] y) { y = Relu(x) }", 1);
    test_rule(&test_two_negs, "g (float[1] x) => (float[1] y) { a = Neg(x) y = Neg(a) }",
              "g (float[1] x) => (float[1] y) { y = Identity(x) }", 1);
    test_rule(&test_two_negs,
              "g (float[1] x) => (float[1] r, float[1] y) { r = Relu(x) a = Neg(r) y = Neg(a) }",
              "g (float[1] x) => (float[1] r, float[1] y) { r = Relu(x) y = Identity(r) }", 1);
}

TEST(a_root_with_more_outputs_stays_for_them)
{
    static const qdq_pat pat[] = {{"y", QDQ_OP_DROPOUT, {"x"}, 0}};
    static const qdq_rule rule = RULE_OF(pat, NULL, test_become_x);

    test_rule(&rule, "g (float[1] x) => (float[1] y, bool[1] m) { t, m = Dropout(x) y = Relu(t) }",
              "g (float[1] x) => (float[1] y, bool[1] m) { t, m = Dropout(x) y = Relu(x) }", 1);
    test_rule(&rule, "g (float[1] x) => (float[1] t, bool[1] m) { t, m = Dropout(x) }",
              "g (float[1] x) => (float[1] t, bool[1] m) { t = Identity(x) \"\", m = Dropout(x) }",
              1);
    test_rule(&rule, "g (float[1] x) => (float[1] t) { t, m = Dropout <seed = 1> (x) }",
              "g (float[1] x) => (float[1] t) { t = Identity(x) }", 1);
}

static qdq_status leave_out_a_bound(qdq_match *m, qdq_error *err)
{
    qdq_value *in[] = {qdq_match_value(m, "x"), NULL, qdq_match_value(m, "lo")};

    return qdq_match_recast(m, "Clip", 3, in, err);
}

TEST(a_recast_node_keeps_name_and_output_and_drops_attributes)
{
    static const qdq_pat pat[] = {{"y", QDQ_OP_THRESHOLDEDRELU, {"x"}, 0}};
    static const qdq_pat clip_pat[] = {{"y", QDQ_OP_CLIP, {"x", "lo"}, 0}};
    static const qdq_rule rule = RULE_OF(pat, NULL, to_abs);
    static const qdq_rule clip = RULE_OF(clip_pat, NULL, leave_out_a_bound);

    test_rule(
        &rule,
        "g (float[1] x) => (float[1] y) { [n] t = ThresholdedRelu <alpha = 2.0> (x) y = Exp(t) }",
        "g (float[1] x) => (float[1] y) { [n] t = Abs(x) y = Exp(t) }", 1);
    test_rule(&clip, "g (float[1] x, float c) => (float[1] y) { y = Clip(x, c) }",
              "g (float[1] x, float c) => (float[1] y) { y = Clip(x, \"\", c) }", 1);
}

/* --- cost ------------------------------------------------------------------------------------- */

/* n nodes that all read x: y_i = Neg(x), and z_i = Neg(y_i). */
static qdq_model *wide_model(int n)
{
    qdq_error err = QDQ_ERROR_INIT;
    size_t size = (size_t)n * 90 + 200, used;
    char *text = malloc(size);
    qdq_model *m = NULL;

    assert_non_null(text);
    used = (size_t)snprintf(text, size, "g (float[1] i) => (float[1] z0) {\n  x = Relu(i)\n");
    for (int i = 0; i < n; i++)
        used +=
            (size_t)snprintf(text + used, size - used,
                             "  y%d = Neg(x)\n  z%d = Neg(y%d)\n  a%d = Abs(z%d)\n", i, i, i, i, i);
    snprintf(text + used, size - used, "}\n");
    assert_ok(qdq_model_from_text(text, "wide", &m, &err));
    free(text);
    return m;
}

TEST(a_value_with_many_readers_costs_each_of_them_once)
{
    qdq_rule counted = test_two_negs;
    static const qdq_pat abs_pat[] = {{"y", QDQ_OP_ABS, {"x"}, 0}};
    static const qdq_rule abs = RULE_OF(abs_pat, never, test_become_x);
    const qdq_rule *const rules[] = {&counted, &abs};
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = wide_model(20000);
    test_ruled r;

    for (qdq_node *n = m->graph->end.next; n != &m->graph->end; n = n->next)
        if (n->op == QDQ_OP_ABS) /* so that they are read */
            assert_true(qdq_graph_add_output(m->graph, n->out[0]));
    n_checked = 0;
    counted.check = count;
    test_run_rules(m, rules, 2, 0, &r);
    assert_int_equal(r.state.changes, 20000);
    assert_in_range(n_checked, 40000, 20000 * 6);
    test_free_ruled(&r);
    assert_ok(qdq_model_verify(m, &err));
    qdq_model_free(m);
}

TEST(long_chains_are_no_trap)
{
    enum { N = 5000 };
    static const qdq_rule *const rules[] = {&test_two_negs};
    char *text = malloc(N * 30 + 200);
    size_t used;
    test_ruled r;

    assert_non_null(text);
    used = (size_t)sprintf(text, "g (float[1] x) => (float[1] y) {\n  t0 = Neg(x)\n");
    for (int i = 1; i < N; i++)
        used += (size_t)sprintf(text + used, "  t%d = Neg(t%d)\n", i, i - 1);
    sprintf(text + used, "  y = Exp(t%d)\n}\n", N - 1);
    qdq_model *m = test_model(text);
    free(text);
    test_run_rules(m, rules, 1, 0, &r);
    assert_int_equal(m->graph->n_node, 1);
    test_free_ruled(&r);
    qdq_model_free(m);
}
