/* Placement of graphs at the edges of the rules: what cannot be in 8 bits stays float, says why,
 * and is no reason to fail. */
#include "support/placed.h"
#include <math.h>
#include "support/test.h"

TEST(pass_through_at_the_end_stays_float)
{
    test_builder b = test_build(17);
    const int64_t perm[4] = {0, 2, 3, 1};

    TEST_INPUT(&b, "x", 1, 32, 8, 8);
    test_conv(&b, "c0", "x", 32, 32, 3, 1);
    assert_true(qdq_node_set_ints(TEST_NODE(&b, "Transpose", "t", "c0"), "perm", perm, 4));
    TEST_NODE(&b, "Softmax", "sm", "t");
    test_output(&b, "sm");
    test_placed p = test_place(&b);
    assert_string_equal(p.text, "c0: QDQ(x) QW(c0.w) QB(c0.b)\nt: QDQ(c0)\nsm: t\n");
    assert_string_equal(test_reason(p.plan, "t"), "no 8-bit kernel reads its result");
    assert_string_equal(test_reason(p.plan, "sm"), "slower in 8 bits, and loses accuracy");
    test_placed_free(p);
}

TEST(weights_that_are_not_finite_stay_float)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 32, 8, 8);
    test_conv(&b, "c0", "x", 32, 32, 3, 1);
    test_output(&b, "c0");
    ((float *)(uintptr_t)qdq_graph_find(b.g, "c0.w")->init->bytes.data)[100] = INFINITY;
    test_placed p = test_place(&b);
    assert_string_equal(test_reason(p.plan, "c0"), "its weight holds NaN or infinity");
    test_placed_free(p);
}

TEST(a_bias_that_is_not_finite_stays_float)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 32, 8, 8);
    test_conv(&b, "c0", "x", 32, 32, 3, 1);
    test_output(&b, "c0");
    ((float *)(uintptr_t)qdq_graph_find(b.g, "c0.b")->init->bytes.data)[1] = INFINITY;
    test_placed p = test_place(&b);
    assert_string_equal(test_reason(p.plan, "c0"), "its bias holds NaN or infinity");
    test_placed_free(p);
}

/* Quantized, -inf would become the lowest finite value that was seen: 0. */
TEST(a_mask_of_infinities_stays_float)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 32, 8, 8);
    test_conv(&b, "c0", "x", 32, 32, 3, 1);
    TEST_RANDOM(&b, "mask", 8, 8);
    TEST_NODE(&b, "Add", "a", "c0", "mask");
    test_conv(&b, "c1", "a", 32, 32, 3, 1);
    test_output(&b, "c1");
    ((float *)(uintptr_t)qdq_graph_find(b.g, "mask")->init->bytes.data)[1] = -INFINITY;
    test_placed p = test_place(&b);
    assert_non_null(strstr(p.text, "a: QDQ(c0) mask\n"));
    assert_string_equal(test_reason(p.plan, "a"),
                        "a constant operand is empty, or holds NaN or infinity");
    test_placed_free(p);
}

/* Its indices are int64: they carry no codes, and there is no kernel that gives both. */
TEST(a_maxpool_with_indices_stays_float)
{
    const int64_t kernel[2] = {2, 2};
    const char *outs[2] = {"p", "indices"};
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 32, 8, 8);
    test_conv(&b, "c0", "x", 32, 32, 3, 1);
    qdq_node *pool = qdq_graph_add_node(b.g, NULL, "", "MaxPool", "p", 1, 2, outs);
    assert_non_null(pool);
    qdq_node_set_in(pool, 0, qdq_graph_find(b.g, "c0"));
    assert_true(qdq_node_set_ints(pool, "kernel_shape", kernel, 2));
    test_conv(&b, "c1", "p", 32, 32, 3, 1);
    test_output(&b, "c1");
    test_output(&b, "indices");
    test_placed p = test_place(&b);
    assert_string_equal(test_reason(p.plan, "p"), "not all of its results are float32");
    assert_non_null(strstr(p.text, "c1: QDQ(p)"));
    test_placed_free(p);
}

TEST(an_absurd_group_is_no_reason_to_fail)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 3, 8, 8);
    qdq_node *n = test_conv(&b, "c0", "x", 8, 3, 3, 1);
    test_output(&b, "c0");
    assert_true(qdq_node_set_int(n, "group", INT64_MAX));
    qdq_error err = QDQ_ERROR_INIT;
    qdq_target *t = NULL;
    qdq_plan *plan = qdq_plan_new();
    assert_ok(qdq_target_load("ort-cpu", &t, &err));
    assert_ok(qdq_place(b.m, t, NULL, plan, &err)); /* whatever it decides */
    qdq_plan_free(plan);
    qdq_target_free(t);
    qdq_model_free(b.m);
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
