/* quant_place.c - of placement, what the text form of tests (tests/text/place-*) does not express:
 * the trace of rules, plans that are written by hand, unsound and random graphs. */
#include "ir/graph_check.h"
#include "ir/shape.h"
#include "quant/insert/insert.h"
#include "quant/place/why.h"
#include "support/placed.h"
#include "support/random_graph.h"
#include "support/test.h"

TEST(the_trace_of_a_node_has_every_option_that_matches_it)
{
    qdq_why why = {.about = "c0"};
    test_builder b = test_two_convs();
    qdq_place_opts opts = {.include = (const char *const[]){"1", NULL},
                           .exclude = (const char *const[]){"^c0$", NULL},
                           .why = &why};
    test_placed p = test_place_with(&b, &opts);

    assert_true(why.notes.n >= 2);
    assert_string_equal(why.notes.at[0].rule, "include");
    assert_string_equal(why.notes.at[0].verdict, "not included by the user: it stays float");
    assert_string_equal(why.notes.at[1].rule, "exclude");
    assert_true(why.notes.at[1].holds);
    for (size_t i = 0; i < why.notes.n; i++)
        assert_string_equal(why.notes.at[i].node, "c0"); /* r0 reads a tensor of that name */
    assert_string_equal(test_reason(p.plan, "c0"), "excluded by the user");
    qdq_why_clear(&why);
    test_placed_free(p);
}

TEST(unknown_operators_are_passed_over_and_reported)
{
    test_builder b = test_build(17);
    const char *out = "u";

    TEST_INPUT(&b, "x", 1, 32, 8, 8);
    test_conv(&b, "c0", "x", 32, 32, 3, 1);
    qdq_node *u = qdq_graph_add_node(b.g, NULL, "my.domain", "Odd", "u", 1, 1, &out);
    assert_non_null(u);
    qdq_node_set_in(u, 0, qdq_graph_find(b.g, "c0"));
    test_output(&b, "u");
    qdq_error err = QDQ_ERROR_INIT;
    assert_ok(qdq_model_set_opset_version(b.m, "my.domain", 1, &err));
    test_placed p = test_place(&b);
    assert_string_equal(test_reason(p.plan, "u"), "unknown operator");
    assert_string_equal(p.plan->left_float.at[0].op, "my.domain::Odd");
    test_placed_free(p);
}

TEST(the_trace_of_a_concat_has_the_operands_that_share_its_scale)
{
    test_builder b = test_build(17);
    qdq_place_opts opts = {.why = qdq_why_new("cc")};
    size_t n, tied = 0;

    TEST_INPUT(&b, "x", 1, 32, 8, 8);
    test_conv(&b, "a", "x", 32, 32, 3, 1);
    test_conv(&b, "b", "x", 32, 32, 3, 1);
    assert_true(qdq_node_set_int(TEST_NODE(&b, "Concat", "cc", "a", "x"), "axis", 1));
    test_conv(&b, "c", "cc", 32, 64, 3, 1);
    test_output(&b, "b");
    test_output(&b, "c");
    test_placed p = test_place_with(&b, &opts);
    const qdq_why_note *note = qdq_why_notes(opts.why, &n);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(note[i].rule, "tied") != 0)
            continue;
        tied += note[i].holds;
        assert_non_null(strstr(note[i].verdict, note[i].holds ? "'a' and 'cc' share one scale"
                                                              : "'x' is not only read here"));
    }
    assert_int_equal(tied, 1);
    test_placed_free(p);
    qdq_why_free(opts.why);
}

static test_builder gemms(void)
{
    test_builder b = test_build(21);

    TEST_INPUT(&b, "x", 4, 64);
    TEST_INPUT(&b, "free", 32, 8);
    TEST_RANDOM(&b, "v", 32, 64);
    TEST_RANDOM(&b, "u", 32, 8);
    TEST_RANDOM(&b, "c", 8);
    assert_true(qdq_node_set_int(TEST_NODE(&b, "Gemm", "y", "x", "v"), "transB", 1));
    assert_true(qdq_node_set_float(TEST_NODE(&b, "Gemm", "z", "y", "u", "c"), "alpha", 2));
    TEST_NODE(&b, "MatMul", "t", "y", "free");
    TEST_NODE(&b, "Add", "s", "z", "t");
    test_output(&b, "s");
    return b;
}

TEST(plans_that_no_operator_of_the_engine_fits_are_refused)
{
    static const struct {
        const char *weight, *message;
    } cases[] = {
        {"\"tensor\": \"v\", \"consumers\": [[\"y\", 1]], \"axis\": 0, \"block\": 16",
         "'nbits' for node 'y' needs blocks of 16, 32, 64, ... along axis 1"},
        {"\"tensor\": \"v\", \"consumers\": [[\"y\", 1]], \"axis\": 1, \"block\": 24",
         "'nbits' for node 'y' needs blocks"},
        {"\"tensor\": \"v\", \"consumers\": [[\"y\", 1]], \"axis\": 1",
         "'nbits' for node 'y' needs blocks"},
        {"\"tensor\": \"u\", \"consumers\": [[\"z\", 1]], \"axis\": 0, \"block\": 16",
         "node 'z' is neither a product of matrices nor a table that 'nbits' is for"},
    };
    qdq_error err = QDQ_ERROR_INIT;

    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        test_builder b = gemms();
        qdq_model *m = test_built(&b);
        qdq_plan *p = NULL;
        char text[600];

        int n = snprintf(
            text, sizeof text,
            "{\"qdq_plan\": 1, \"weights\": [{%s, \"type\": \"int4\", \"store\": \"nbits\"}]}",
            cases[i].weight);
        assert_ok(qdq_plan_parse(text, (size_t)n, "plan", &p, &err));
        assert_fails(QDQ_E_FORMAT, cases[i].message, qdq_insert(m, p, NULL, NULL, &err));
        qdq_plan_free(p);
        qdq_model_free(m);
    }
}

/* The scale is missing, the data is: nothing that reaches placement unchecked makes it crash. */
TEST(q_and_dq_without_inputs_are_no_reason_to_fail)
{
    test_builder b = test_build(17);
    qdq_error err = QDQ_ERROR_INIT;
    qdq_target *t = NULL;
    qdq_plan *plan = qdq_plan_new();

    TEST_INPUT(&b, "x", 4, 8);
    TEST_RANDOM(&b, "w", 8, 4);
    TEST_NODE(&b, "QuantizeLinear", "q", "x");
    TEST_NODE(&b, "DequantizeLinear", "dq", "q");
    TEST_NODE(&b, "DequantizeLinear", "none", "");
    TEST_NODE(&b, "MatMul", "m", "dq", "w");
    TEST_NODE(&b, "MatMul", "n", "x", "none");
    test_output(&b, "m");
    test_output(&b, "n");
    assert_ok(qdq_target_load("ort-cpu", &t, &err));
    assert_ok(qdq_place(b.m, t, NULL, plan, &err)); /* whatever it decides */
    qdq_plan_free(plan);
    qdq_target_free(t);
    qdq_model_free(b.m);
}

/* Placed once more, a model that was placed is left as it is. */
static void assert_nothing_to_add(qdq_model *m, const qdq_target *t, uint64_t seed)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_plan *plan = qdq_plan_new();

    assert_ok(qdq_model_infer(m, NULL, &err));
    assert_ok(qdq_place(m, t, NULL, plan, &err));
    if (plan->tensors.n + plan->weights.n > 0)
        fail_msg("graph %llu: the second time, '%s' is quantized", (unsigned long long)seed,
                 plan->tensors.n > 0 ? plan->tensors.at[0].tensor : plan->weights.at[0].tensor);
    qdq_plan_free(plan);
}

TEST(whatever_the_graph_placement_comes_to_an_end)
{
    static const char *const targets[] = {"tensorrt", "tensorrt-fp8"};
    qdq_error err = QDQ_ERROR_INIT;

    for (uint64_t seed = 1; seed <= 400; seed++) {
        char *text = test_random_graph(seed, (test_random_opts){40, seed % 2 == 0});
        qdq_model *m = test_model(text);
        qdq_plan *plan = qdq_plan_new();
        qdq_target *t = NULL;

        assert_ok(qdq_model_infer(m, NULL, &err));
        assert_ok(qdq_target_load(targets[seed % 4 == 3], &t, &err));
        assert_ok(qdq_place(m, t, NULL, plan, &err));
        assert_true(qdq_plan_finish(plan));
        for (size_t i = 0; i < plan->tensors.n; i++)
            plan->tensors.at[i].qparam.scale = 0.1f;
        if (seed % 4 != 3) {
            assert_ok(qdq_insert(m, plan, NULL, NULL, &err));
            assert_ok(qdq_model_verify(m, &err));
            assert_nothing_to_add(m, t, seed);
        }
        qdq_target_free(t);
        qdq_plan_free(plan);
        qdq_model_free(m);
        free(text);
    }
}
