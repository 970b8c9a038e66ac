/* place_tensorrt_filter.c - linear operators without a fast 8-bit kernel on tensorrt, weights of
 * unusual rank, and what is not known of shapes. */
#include "support/placed.h"

#include <math.h>

#include "support/test.h"

#define ON "tensorrt"

static bool conv_is_excluded(int64_t out, int64_t in, int64_t k, int64_t group, bool reads_input)
{
    const int64_t dims[] = {1, in * group, 8, 8, 0};
    test_builder b = test_build(17);

    test_input(&b, "x", dims);
    if (!reads_input)
        TEST_NODE(&b, "Relu", "r", "x");
    test_conv(&b, "c", reads_input ? "x" : "r", out, in * group, k, group);
    test_output(&b, "c");
    test_placed p = test_place_on(&b, ON, NULL);
    bool excluded = strcmp(test_reason(p.plan, "c"), "(not left float)") != 0;
    if (excluded)
        assert_string_equal(test_reason(p.plan, "c"),
                            "a Conv with few channels has no faster kernel in 8 bits");
    test_placed_free(p);
    return excluded;
}

TEST(convolutions_with_few_channels_stay_float)
{
    assert_false(conv_is_excluded(64, 3, 7, 1, true));
    assert_false(conv_is_excluded(8, 8, 3, 1, true));
    assert_true(conv_is_excluded(8, 8, 3, 1, false));
    assert_false(conv_is_excluded(12, 16, 3, 1, false));
    assert_true(conv_is_excluded(12, 20, 3, 1, false));
    assert_false(conv_is_excluded(32, 1, 3, 32, false));
    assert_true(conv_is_excluded(12, 1, 3, 12, false));
    assert_true(conv_is_excluded(32, 1, 1, 32, false));
    assert_false(conv_is_excluded(32, 16, 3, 1, false));
    assert_false(conv_is_excluded(17, 17, 3, 1, false));
    assert_false(conv_is_excluded(64, 64, 7, 1, false));
}

/* [rows, K] times the constant [K, N], or Gemm with transB */
static const char *matmul_reason(const char *op, int rank, int64_t rows, int64_t k, int64_t n,
                                 bool turned)
{
    static char reason[128];
    const int64_t flat[] = {rows, k, 0}, deep[] = {8, rows, k, 0};
    const int64_t w[] = {turned ? n : k, turned ? k : n, 0};
    test_builder b = test_build(17);

    test_input(&b, "x", rank == 2 ? flat : deep);
    test_random(&b, "w", w);
    qdq_node *node = TEST_NODE(&b, op, "y", "x", "w");
    assert_true(!turned || qdq_node_set_int(node, "transB", 1));
    test_output(&b, "y");
    test_placed p = test_place_on(&b, ON, NULL);
    snprintf(reason, sizeof reason, "%s", test_reason(p.plan, "y"));
    test_placed_free(p);
    return reason;
}

TEST(small_products_stay_float)
{
    assert_string_equal(matmul_reason("MatMul", 2, 32, 64, 16, false), "(not left float)");
    assert_string_equal(matmul_reason("MatMul", 2, 32, 64, 15, false),
                        "a product with few columns has no faster kernel in 8 bits");
    assert_string_equal(matmul_reason("MatMul", 2, 32, 15, 64, false),
                        "a product over few elements has no faster kernel in 8 bits");
    assert_string_equal(matmul_reason("MatMul", 2, 32, 64, 1, false),
                        "a product with a vector has no faster kernel in 8 bits");
    assert_string_equal(matmul_reason("MatMul", 2, 1, 64, 64, false),
                        "a product with a vector has no faster kernel in 8 bits");
    assert_string_equal(matmul_reason("MatMul", 3, 1, 64, 64, false), "(not left float)");
    assert_string_equal(matmul_reason("Gemm", 2, 32, 8, 64, true),
                        "a product over few elements has no faster kernel in 8 bits");
    assert_string_equal(matmul_reason("Gemm", 2, 32, 64, 64, true), "(not left float)");
}

/* a dim that is not known is no 1; placement has no engine that it could run to find out */
TEST(what_is_not_known_of_a_shape_excludes_nothing)
{
    test_builder b = test_build(17);
    const char *lines[] = {"y: QDQ(x) QW(w)", "bmm: QDQ(r) QDQ(x2)", NULL};

    const qdq_dim dims[2] = {{-1, qdq_intern(b.m, "batch")}, {64, NULL}},
                  open[2] = {{-1, NULL}, {-1, NULL}};
    assert_non_null(qdq_graph_add_input(b.g, "x", qdq_type_tensor(b.m, QDQ_FLOAT, 2, dims)));
    assert_non_null(qdq_graph_add_input(b.g, "x1", qdq_type_tensor(b.m, QDQ_FLOAT, 2, open)));
    assert_non_null(qdq_graph_add_input(b.g, "x2", qdq_type_tensor(b.m, QDQ_FLOAT, 2, open)));
    TEST_RANDOM(&b, "w", 64, 64);
    TEST_NODE(&b, "MatMul", "y", "x", "w");
    TEST_NODE(&b, "Relu", "r", "x1");
    TEST_NODE(&b, "MatMul", "bmm", "r", "x2");
    test_output(&b, "y");
    test_output(&b, "bmm");
    test_placed_free(test_assert_lines(&b, ON, NULL, lines));
}

/* A product of two activations with a vector */
TEST(a_product_of_activations_with_a_vector_stays_float)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 4, 64, 64);
    TEST_INPUT(&b, "z", 4, 64, 1);
    TEST_NODE(&b, "MatMul", "y", "x", "z");
    test_output(&b, "y");
    test_placed p = test_place_on(&b, ON, NULL);
    assert_string_equal(test_reason(p.plan, "y"),
                        "a product with a vector has no faster kernel in 8 bits");
    test_placed_free(p);
}

/* one scale is wanted; axis 1 would be the dim that is summed over */
TEST(a_weight_of_rank_3_has_one_scale)
{
    test_builder b = test_build(17);
    const char *lines[] = {"y: QDQ(x) QW(w)", NULL};

    TEST_INPUT(&b, "x", 4, 32, 64);
    TEST_RANDOM(&b, "w", 4, 64, 48);
    TEST_NODE(&b, "MatMul", "y", "x", "w");
    test_output(&b, "y");
    test_placed p = test_assert_lines(&b, ON, NULL, lines);
    assert_int_equal(p.plan->weights.at[0].axis, -1);
    test_placed_free(p);
}

/* one scale is wanted */
TEST(a_constant_in_front_has_one_scale)
{
    test_builder b = test_build(17);
    const char *lines[] = {"y: QW(a) QDQ(x)", NULL};

    TEST_INPUT(&b, "x", 64, 48);
    TEST_RANDOM(&b, "a", 32, 64);
    TEST_NODE(&b, "MatMul", "y", "a", "x");
    test_output(&b, "y");
    test_placed p = test_assert_lines(&b, ON, NULL, lines);
    assert_int_equal(p.plan->weights.at[0].axis, -1);
    test_placed_free(p);
}

/* the same codes for both; other codes only where they are needed */
TEST(a_shared_weight_is_one_entry_for_each_axis)
{
    test_builder b = test_build(17);
    const char *lines[] = {"c1: QDQ(x) QW(w)", "c2: QDQ(c1) QW(w)", "m: QDQ(z) QW(v)",
                           "g: QDQ(z) QW(v)", NULL};

    TEST_INPUT(&b, "x", 1, 32, 8, 8);
    TEST_INPUT(&b, "z", 32, 64);
    TEST_RANDOM(&b, "w", 32, 32, 1, 1);
    TEST_RANDOM(&b, "v", 64, 64);
    TEST_NODE(&b, "Conv", "c1", "x", "w");
    TEST_NODE(&b, "Conv", "c2", "c1", "w");
    TEST_NODE(&b, "MatMul", "m", "z", "v");
    assert_true(qdq_node_set_int(TEST_NODE(&b, "Gemm", "g", "z", "v"), "transB", 1));
    test_output(&b, "c2");
    test_output(&b, "m");
    test_output(&b, "g");
    test_placed p = test_assert_lines(&b, ON, NULL, lines);
    assert_int_equal(p.plan->weights.n, 3); /* w, and v with either axis */
    test_placed_free(p);
}

TEST(what_has_no_codes_stays_float)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 32, 8, 8);
    TEST_INPUT(&b, "dynamic", 32, 32, 3, 3);
    TEST_RANDOM(&b, "w", 32, 32, 1, 1);
    TEST_RANDOM(&b, "odd", 32, 32);
    TEST_RANDOM(&b, "z", 32, 32);
    TEST_NODE(&b, "Conv", "c1", "x", "dynamic");
    TEST_NODE(&b, "Conv", "c2", "x", "w");
    TEST_NODE(&b, "MatMul", "m", "odd", "z");
    test_output(&b, "c1");
    test_output(&b, "c2");
    test_output(&b, "m");
    ((float *)(uintptr_t)qdq_graph_find(b.g, "w")->init->bytes.data)[3] = NAN;
    test_placed p = test_place_on(&b, ON, NULL);
    assert_string_equal(test_reason(p.plan, "c1"), "its weight is not constant");
    assert_string_equal(test_reason(p.plan, "c2"), "its weight holds NaN or infinity");
    assert_string_equal(test_reason(p.plan, "m"), "both inputs are constant");
    assert_int_equal(p.plan->tensors.n + p.plan->weights.n, 0);
    test_placed_free(p);
}
