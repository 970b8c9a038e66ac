/* opt_rule.c - the matcher and the driver of rewrite rules, with rules made for the test. */
#include "ir/graph_check.h"
#include "opt/opt_state.h"
#include "opt/rules/rule.h"
#include "support/test.h"

enum { MAX_RULES = 4 };

/* --- rules ------------------------------------------------------------------------------------ */

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

/* The root becomes what is bound to x. */
static qdq_status become_x(qdq_match *m, qdq_error *err)
{
    return qdq_match_become(m, qdq_match_value(m, "x"), err);
}

/* The root is marked, and found no more. */
static qdq_status mark(qdq_match *m, qdq_error *err)
{
    return qdq_match_recast(m, "Identity", 1, (qdq_value *[]){qdq_match_value(m, "x")}, err);
}

#define RULE_OF(pattern, check, build)                                                             \
    {                                                                                              \
        pattern, QDQ_COUNT(pattern), 0, 0, false, check, build                                     \
    }

static const qdq_pat two_negs_pat[] = {
    {"y", QDQ_OP_NEG, {"t"}, 0},
    {"t", QDQ_OP_NEG, {"x"}, 0},
};
static const qdq_rule two_negs = RULE_OF(two_negs_pat, NULL, become_x);

static const qdq_pat only_relu_pat[] = {
    {"y", QDQ_OP_RELU, {"t"}, 0},
    {"t", QDQ_OP_ABS, {"x"}, QDQ_PAT_ONLY},
};
static const qdq_rule only_relu = RULE_OF(only_relu_pat, NULL, become_x);

/* --- running them ----------------------------------------------------------------------------- */

typedef struct changed {
    uint64_t n;
    char where[200];
} changed;

static void hear(void *ctx, uint64_t number, const char *pass, const char *where)
{
    changed *c = ctx;

    assert_int_equal(number, c->n + 1);
    c->n = number;
    snprintf(c->where + strlen(c->where), sizeof c->where - strlen(c->where), "%s %s;", pass,
             where);
}

/* What one walk over all graphs did. The arena of the records is the caller's. */
typedef struct ran {
    qdq_opt_state state;
    changed heard;
} ran;

static void run_rules(qdq_model *m, const qdq_rule *const *rules, size_t n, uint64_t limit,
                      ran *out)
{
    static const qdq_pass_info names[MAX_RULES] = {
        {.name = "first"}, {.name = "second"}, {.name = "third"}, {.name = "fourth"}};
    qdq_error err = QDQ_ERROR_INIT;
    qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;
    qdq_opt o = {.opts = &opts, .model = m, .arg = "", .state = &out->state};

    memset(out, 0, sizeof *out);
    opts.max_applications = limit;
    opts.on_change = hear;
    opts.ctx = &out->heard;
    for (size_t i = 0; i < n; i++)
        out->state.pipeline.step[out->state.pipeline.n++] = (qdq_step){&names[i], ""};
    assert_ok(qdq_opt_begin(&o, &err));
    qdq_opt_enter(&o, 0);
    QDQ_FOR_GRAPHS (g, m)
        assert_ok(qdq_rules_run(&o, rules, n, g, &err));
    assert_int_equal(out->state.current, 0);
    qdq_opt_close_facts(&o);
    qdq_arena_free(&o.scratch);
    assert_ok(qdq_model_verify(m, &err));
}

static void free_ran(ran *r)
{
    qdq_arena_free(&r->state.memory);
}

/* One rule on `before` leaves `after`, with so many changes. */
static void assert_rule(const qdq_rule *rule, const char *before, const char *after,
                        uint64_t changes)
{
    qdq_model *m = test_model(before), *want = test_model(after);
    qdq_error err = QDQ_ERROR_INIT;
    char *text;
    ran r;

    assert_ok(qdq_model_to_text(want, &text, &err));
    run_rules(m, &rule, 1, 0, &r);
    test_assert_text(m, text);
    assert_int_equal(r.state.changes, changes);
    free_ran(&r);
    qdq_free(text);
    qdq_model_free(want);
    qdq_model_free(m);
}

#define ASSERT_FITS(pattern, before, after)                                                        \
    do {                                                                                           \
        static const qdq_rule rule = RULE_OF(pattern, NULL, mark);                                 \
        assert_rule(&rule, before, after, strcmp(before, after) != 0);                             \
    } while (0)

/* --- the matcher ------------------------------------------------------------------------------ */

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
    static const qdq_rule rule = RULE_OF(pat, NULL, mark);

    for (size_t i = 0; i < QDQ_COUNT(fits); i++) {
        snprintf(before, sizeof before, "g (float[1] x) => (float[1] y) <float a = {1}> { y = %s }",
                 fits[i]);
        assert_rule(&rule, before,
                    "g (float[1] x) => (float[1] y) <float a = {1}> { y = Identity(x) }", 1);
    }
    assert_rule(&rule, "g (float[1] x, float a) => (float[1] y) { y = Clip(x, a) }",
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
    static const qdq_rule rule = RULE_OF(pat, is_named_q, mark);
    const qdq_rule *rules[] = {&rule};
    qdq_model *m;
    ran r;

    assert_rule(&rule, "g (float[1] a) => (float[1] y) { p = Neg(a) q = Neg(p) y = Add(p, q) }",
                "g (float[1] a) => (float[1] y) { p = Neg(a) y = Identity(p) }", 1);
    m = test_model("g (float[1] a) => (float[1] y) { p = Neg(a) o = Neg(p) y = Add(p, o) }");
    run_rules(m, rules, 1, 0, &r);
    assert_int_equal(r.state.record[0].refusals.n, 1);
    assert_int_equal(r.state.record[0].refusals.at[0].n, 1); /* both orders are one candidate */
    free_ran(&r);
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
        assert_rule(&only_relu, others[i], others[i], 0);
    assert_rule(&only_relu, "g (float[1] x) => (float[1] y) { a = Neg(x) t = Abs(a) y = Relu(t) }",
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

    assert_rule(&two_negs, nodes, nodes, 0);
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
        {"y", QDQ_OP_ADD, {"x", "#c"}, 0}, QDQ_PAT_OR, {"y", QDQ_OP_MUL, {"n", "#c"}, 0},
        {"n", QDQ_OP_NEG, {"x"}, 0},       QDQ_PAT_OR, {"y", QDQ_OP_MUL, {"r", "#c"}, 0},
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

    assert_rule(&two_negs, text, text, 0);
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
        int64_t all; /* of an integer list, summed; -1: none */
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

/* --- the driver ------------------------------------------------------------------------------- */

TEST(what_a_change_leaves_is_looked_at_again)
{
    assert_rule(&two_negs,
                "g (float[1] x) => (float[1] y) { a = Relu(x) b = Neg(a) c = Neg(b) d = Neg(c) e = "
                "Neg(d) f = "
                "Neg(e) y = Neg(f) }",
                "g (float[1] x) => (float[1] y) { y = Relu(x) }", 3);
}

TEST(nodes_that_a_change_leaves_unread_are_readers_no_more)
{
    static const qdq_rule *const rules[] = {&two_negs, &only_relu};
    qdq_model *m = test_model("g (float[1] x) => (float[1] y, float[1] z) {\n"
                              "  a = Sigmoid(x)\n"
                              "  t = Abs(a)\n"
                              "  y = Relu(t)\n" /* first in the list, and t is read by n then */
                              "  n = Neg(t)\n"
                              "  o = Neg(n)\n"
                              "  z = Mul(o, a)\n"
                              "}");
    ran r;

    run_rules(m, rules, 2, 0, &r); /* the two Neg go, but z reads t still */
    assert_int_equal(r.state.changes, 1);
    assert_int_equal(m->graph->n_node, 4);
    free_ran(&r);
    qdq_model_free(m);

    static const qdq_pat zero_pat[] = {{"z", QDQ_OP_MUL, {"n", "x"}, 0},
                                       {"n", QDQ_OP_NEG, {"t"}, 0}};
    static const qdq_rule zero = RULE_OF(zero_pat, NULL, become_x);
    static const qdq_rule *const more[] = {&only_relu, &zero};
    m = test_model("g (float[1] x) => (float[1] y, float[1] z) {\n"
                   "  a = Sigmoid(x)\n"
                   "  t = Abs(a)\n"
                   "  y = Relu(t)\n"
                   "  n = Neg(t)\n"
                   "  b = Ceil(x)\n"
                   "  z = Mul(n, b)\n"
                   "}");
    run_rules(m, more, 2, 0, &r);
    test_assert_text(
        m, "g (float[1] x) => (float[1] y, float[1] z) {\n  y = Sigmoid(x)\n  z = Ceil(x)\n}\n");
    assert_int_equal(r.state.record[0].changes, 1);
    assert_int_equal(r.state.record[1].changes, 1);
    assert_int_equal(r.state.record[0].nodes, -2);
    assert_int_equal(r.state.record[1].nodes, -2);
    free_ran(&r);
    qdq_model_free(m);
}

TEST(nodes_that_nobody_reads_are_left_to_drop_unused)
{
    static const char text[] =
        "g (float[1] x) => (float[1] y) { a = Neg(x) b = Neg(a) y = Relu(x) }";

    assert_rule(&two_negs, text, text, 0);
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
    ran r;

    run_rules(m, rules, 2, 0, &r);
    assert_true(r.state.changes > 1 && r.state.changes <= 40);
    free_ran(&r);
    qdq_model_free(m);
}

TEST(a_bisection_stops_at_its_limit)
{
    static const qdq_rule *const rules[] = {&two_negs};
    qdq_model *m = test_model(
        "g (float[1] x) => (float[1] y, float[1] z) {\n"
        "  r = Relu(x) a = Neg(r) b = Neg(a) y = Abs(b) c = Neg(y) d = Neg(c) z = Abs(d)\n"
        "}");
    ran r;

    run_rules(m, rules, 1, 1, &r);
    assert_int_equal(r.state.changes, 1);
    assert_string_equal(r.heard.where, "first Neg@b;");
    test_assert_text(m,
                     "g (float[1] x) => (float[1] y, float[1] z) {\n"
                     "  r = Relu(x)\n  y = Abs(r)\n  c = Neg(y)\n  d = Neg(c)\n  z = Abs(d)\n}\n");
    free_ran(&r);
    run_rules(m, rules, 1, 0, &r);
    assert_string_equal(r.heard.where, "first Neg@d;");
    free_ran(&r);
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
    static const qdq_rule abs = RULE_OF(abs_pat, not_behind_relu, become_x);
    static const qdq_pat relu_pat[] = {{"y", QDQ_OP_RELU, {"n"}, 0}, {"n", QDQ_OP_NEG, {"x"}, 0}};
    static const qdq_rule relu = RULE_OF(relu_pat, NULL, become_x);
    static const qdq_rule *const rules[] = {&abs, &relu, &two_negs};
    qdq_model *m = test_model("g (float[1] x, float[1] v) => (float[1] y, float[1] z) {\n"
                              /* the Relu goes, then the Abs */
                              "  n = Neg(x) r = Relu(n) a = Abs(r) y = Exp(a)\n"
                              "  s = Relu(v) b = Abs(s) p = Neg(b) q = Neg(p) z = Exp(q)\n"
                              "}");
    ran r;

    run_rules(m, rules, 3, 0, &r);
    assert_int_equal(r.state.record[0].changes, 1);
    assert_int_equal(r.state.record[0].refusals.n, 1);
    assert_string_equal(r.state.record[0].refusals.at[0].reason, "behind Relu");
    assert_int_equal(r.state.record[0].refusals.at[0].n, 1);
    assert_string_equal(r.state.record[0].refusals.at[0].example[0], "Abs@b");
    assert_int_equal(r.state.record[1].refusals.n, 0);
    free_ran(&r);
    qdq_model_free(m);
}

TEST(the_reason_of_one_alternative_outlasts_the_others)
{
    static const qdq_pat pat[] = {{"y", QDQ_OP_ABS, {"x"}, 0},
                                  QDQ_PAT_OR,
                                  {"y", QDQ_OP_ABS, {"n"}, 0},
                                  {"n", QDQ_OP_NEG, {"x"}, 0}};
    static const qdq_rule abs = RULE_OF(pat, not_behind_relu, become_x);
    static const qdq_rule *const rules[] = {&abs};
    qdq_model *m = test_model("g (float[1] x) => (float[1] y) { r = Relu(x) y = Abs(r) }");
    ran r;

    run_rules(m, rules, 1, 0, &r);
    assert_int_equal(r.state.record[0].refusals.n, 1);
    assert_string_equal(r.state.record[0].refusals.at[0].reason, "behind Relu");
    free_ran(&r);
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
    static const qdq_rule rule = RULE_OF(pat, not_this, mark);
    static const qdq_rule *const rules[] = {&rule};
    qdq_model *m = test_model("g (float[1] x) => (float[1] y) { y = Neg(x) }");
    ran r;

    run_rules(m, rules, 1, 0, &r);
    assert_int_equal(r.state.record[0].refusals.n, 0);
    assert_int_equal(r.state.changes, 0);
    free_ran(&r);
    qdq_model_free(m);
}

TEST(rules_say_for_which_opsets_they_are)
{
    static const qdq_pat pat[] = {{"y", QDQ_OP_NEG, {"x"}, 0}};
    static const struct {
        int min, max, opset;
        bool fires;
    } cases[] = {{0, 0, 1, true},    {13, 0, 13, true},  {13, 0, 12, false}, {0, 12, 12, true},
                 {0, 12, 13, false}, {11, 12, 11, true}, {11, 12, 10, false}};

    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        qdq_rule rule = RULE_OF(pat, NULL, mark);
        const qdq_rule *rules[] = {&rule};
        char text[200];
        ran r;

        rule.min_opset = cases[i].min;
        rule.max_opset = cases[i].max;
        snprintf(text, sizeof text,
                 "<ir_version: 8, opset_import: [\"\" : %d]> g (float[1] x) => (float[1] y) { y = "
                 "Neg(x) }",
                 cases[i].opset);
        qdq_model *m = test_model(text);
        run_rules(m, rules, 1, 0, &r);
        assert_int_equal(r.state.changes, cases[i].fires);
        free_ran(&r);
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
    qdq_rule rule = RULE_OF(pat, NULL, mark);
    const qdq_rule *rules[] = {&rule};
    ran r;

    for (int i = 0; i < 3; i++) {
        qdq_model *m = test_model(text);

        rule.max_opset = i == 1 ? 12 : 13;
        rule.needs_initializers = i == 2;
        run_rules(m, rules, 1, 0, &r);
        assert_int_equal(r.state.changes, i == 0);
        free_ran(&r);
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

    assert_rule(&rule,
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
    assert_rule(&two_negs, "g (float[1] x) => (float[1] y) { r = Relu(x) a = Neg(r) y = Neg(a) }",
                "g (float[1] x) => (float[1] y) { y = Relu(x) }", 1);
    assert_rule(&two_negs, "g (float[1] x) => (float[1] y) { a = Neg(x) y = Neg(a) }",
                "g (float[1] x) => (float[1] y) { y = Identity(x) }", 1);
    assert_rule(&two_negs,
                "g (float[1] x) => (float[1] r, float[1] y) { r = Relu(x) a = Neg(r) y = Neg(a) }",
                "g (float[1] x) => (float[1] r, float[1] y) { r = Relu(x) y = Identity(r) }", 1);
}

TEST(a_root_with_more_outputs_stays_for_them)
{
    static const qdq_pat pat[] = {{"y", QDQ_OP_DROPOUT, {"x"}, 0}};
    static const qdq_rule rule = RULE_OF(pat, NULL, become_x);

    assert_rule(&rule,
                "g (float[1] x) => (float[1] y, bool[1] m) { t, m = Dropout(x) y = Relu(t) }",
                "g (float[1] x) => (float[1] y, bool[1] m) { t, m = Dropout(x) y = Relu(x) }", 1);
    assert_rule(
        &rule, "g (float[1] x) => (float[1] t, bool[1] m) { t, m = Dropout(x) }",
        "g (float[1] x) => (float[1] t, bool[1] m) { t = Identity(x) \"\", m = Dropout(x) }", 1);
    assert_rule(&rule, "g (float[1] x) => (float[1] t) { t, m = Dropout <seed = 1> (x) }",
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

    assert_rule(
        &rule,
        "g (float[1] x) => (float[1] y) { [n] t = ThresholdedRelu <alpha = 2.0> (x) y = Exp(t) }",
        "g (float[1] x) => (float[1] y) { [n] t = Abs(x) y = Exp(t) }", 1);
    assert_rule(&clip, "g (float[1] x, float c) => (float[1] y) { y = Clip(x, c) }",
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
    static const qdq_rule counted = RULE_OF(two_negs_pat, count, become_x);
    static const qdq_pat abs_pat[] = {{"y", QDQ_OP_ABS, {"x"}, 0}};
    static const qdq_rule abs = RULE_OF(abs_pat, never, become_x);
    static const qdq_rule *const rules[] = {&counted, &abs};
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = wide_model(20000);
    ran r;

    for (qdq_node *n = m->graph->end.next; n != &m->graph->end; n = n->next)
        if (n->op == QDQ_OP_ABS) /* so that they are read */
            assert_true(qdq_graph_add_output(m->graph, n->out[0]));
    n_checked = 0;
    run_rules(m, rules, 2, 0, &r);
    assert_int_equal(r.state.changes, 20000);
    assert_in_range(n_checked, 40000, 20000 * 6);
    free_ran(&r);
    assert_ok(qdq_model_verify(m, &err));
    qdq_model_free(m);
}

TEST(long_chains_are_no_trap)
{
    enum { N = 5000 };
    static const qdq_rule *const rules[] = {&two_negs};
    char *text = malloc(N * 30 + 200);
    size_t used;
    ran r;

    assert_non_null(text);
    used = (size_t)sprintf(text, "g (float[1] x) => (float[1] y) {\n  t0 = Neg(x)\n");
    for (int i = 1; i < N; i++)
        used += (size_t)sprintf(text + used, "  t%d = Neg(t%d)\n", i, i - 1);
    sprintf(text + used, "  y = Exp(t%d)\n}\n", N - 1);
    qdq_model *m = test_model(text);
    free(text);
    run_rules(m, rules, 1, 0, &r);
    assert_int_equal(m->graph->n_node, 1);
    free_ran(&r);
    qdq_model_free(m);
}
