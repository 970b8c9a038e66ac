/* place_tensorrt_residual.c - residual blocks, gates and pools on tensorrt. In the lines below a
 * name in QDQ(...) is read through Q/DQ, QW(...) is an 8-bit weight, the others are read as they
 * are. */
#include "support/placed.h"

#include "support/test.h"

#define ON "tensorrt"

/* x -> c0 -> Relu r0 -> c1 -> Relu r1 -> c2; Add -> Relu r2 -> c3 */
static test_builder residual(const char *first, const char *second)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 32, 8, 8);
    test_conv(&b, "c0", "x", 32, 32, 3, 1);
    TEST_NODE(&b, "Relu", "r0", "c0");
    test_conv(&b, "c1", "r0", 32, 32, 3, 1);
    TEST_NODE(&b, "Relu", "r1", "c1");
    test_conv(&b, "c2", "r1", 32, 32, 3, 1);
    if (strcmp(first, "i") == 0 || strcmp(second, "i") == 0)
        TEST_NODE(&b, "Identity", "i", "r0");
    TEST_NODE(&b, "Add", "a", first, second);
    TEST_NODE(&b, "Relu", "r2", "a");
    test_conv(&b, "c3", "r2", 32, 32, 3, 1);
    test_output(&b, "c3");
    return b;
}

TEST(the_main_branch_of_a_residual_add_stays_float)
{
    test_builder b = residual("c2", "r0");

    test_assert_placed_on(&b, ON, NULL,
                          "c0: QDQ(x) QW(c0.w) c0.b\n"
                          "r0: c0\n"
                          "c1: QDQ(r0) QW(c1.w) c1.b\n"
                          "r1: c1\n"
                          "c2: QDQ(r1) QW(c2.w) c2.b\n"
                          "a: c2 QDQ(r0)\n"
                          "r2: a\n"
                          "c3: QDQ(r2) QW(c3.w) c3.b\n");
}

TEST(operand_order_does_not_matter)
{
    test_builder b = residual("r0", "c2");

    TEST_ASSERT_LINES(&b, ON, NULL, "a: QDQ(r0) c2", "r2: a", "c3: QDQ(r2) QW(c3.w) c3.b");
}

/* the shortcut through Identity, which cleaning takes out */
TEST(an_identity_in_the_shortcut_is_no_bias)
{
    test_builder b = residual("c2", "i");
    qdq_error err = QDQ_ERROR_INIT;

    assert_ok(qdq_model_run_passes(b.m, "quantize", &err));
    TEST_ASSERT_LINES(&b, ON, NULL, "a: c2 QDQ(r0)", "c1: QDQ(r0) QW(c1.w) c1.b");
}

/* The same without cleaning: Identity is an operator that copies. */
TEST(an_identity_that_was_left_is_a_copy)
{
    test_builder b = residual("c2", "i");

    TEST_ASSERT_LINES(&b, ON, NULL, "a: c2 QDQ(i)", "i: r0");
}

TEST(a_projection_in_the_shortcut_is_quantized)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 32, 8, 8);
    test_conv(&b, "c0", "x", 32, 32, 3, 1);
    TEST_NODE(&b, "Relu", "r0", "c0");
    test_conv(&b, "c1", "r0", 32, 32, 3, 1);
    TEST_NODE(&b, "Relu", "r1", "c1");
    test_conv(&b, "c2", "r1", 32, 32, 3, 1);
    test_conv(&b, "ds", "r0", 32, 32, 1, 1);
    TEST_NODE(&b, "Add", "a", "c2", "ds");
    test_conv(&b, "c3", "a", 32, 32, 3, 1);
    test_output(&b, "c3");
    TEST_ASSERT_LINES(&b, ON, NULL, "a: c2 QDQ(ds)", "c1: QDQ(r0) QW(c1.w) c1.b",
                      "ds: QDQ(r0) QW(ds.w) ds.b");
}

/* Both branches end in a convolution as far from where they parted: the first one takes the Add. */
TEST(branches_of_one_length_keep_the_first_float)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 32, 8, 8);
    test_conv(&b, "c0", "x", 32, 32, 3, 1);
    TEST_NODE(&b, "Relu", "r0", "c0");
    test_conv(&b, "c1", "r0", 32, 32, 3, 1);
    test_conv(&b, "c2", "r0", 32, 32, 3, 1);
    TEST_NODE(&b, "Add", "a", "c1", "c2");
    test_conv(&b, "c3", "a", 32, 32, 3, 1);
    test_output(&b, "c3");
    TEST_ASSERT_LINES(&b, ON, NULL, "a: c1 QDQ(c2)");
}

/* The last common ancestor is behind another one: ways to the first do not count. */
TEST(distances_begin_at_the_last_common_ancestor)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 32, 8, 8);
    test_conv(&b, "c0", "x", 32, 32, 3, 1);
    test_conv(&b, "far", "c0", 32, 32, 3, 1); /* joins the second branch: a long way from c0 */
    TEST_NODE(&b, "Relu", "far1", "far");
    TEST_NODE(&b, "Sigmoid", "far2", "far1");
    TEST_NODE(&b, "Relu", "r0", "c0");
    test_conv(&b, "c1", "r0", 32, 32, 3, 1);
    test_conv(&b, "c2", "c1", 32, 32, 3, 1);
    TEST_NODE(&b, "Concat", "cc", "r0", "far2");
    assert_true(qdq_node_set_int(qdq_graph_find(b.g, "cc")->producer, "axis", 1));
    test_conv(&b, "c4", "cc", 32, 64, 3, 1);
    TEST_NODE(&b, "Add", "a", "c2", "c4");
    test_conv(&b, "c3", "a", 32, 32, 3, 1);
    test_output(&b, "c3");
    /* from r0 on both are equal, from c0 on the second is longer */
    TEST_ASSERT_LINES(&b, ON, NULL, "a: c2 QDQ(c4)");
}

static void add_pool(test_builder *b, const char *x)
{
    const int64_t two[2] = {2, 2};
    qdq_node *pool = TEST_NODE(b, "MaxPool", "mp", x);

    assert_true(qdq_node_set_ints(pool, "kernel_shape", two, 2) &&
                qdq_node_set_ints(pool, "strides", two, 2));
}

TEST(a_maxpool_behind_batchnormalization_is_part_of_the_kernel)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 32, 8, 8);
    test_conv(&b, "c0", "x", 32, 32, 3, 1);
    TEST_RANDOM(&b, "s", 32);
    TEST_NODE(&b, "BatchNormalization", "bn", "c0", "s", "s", "s", "s");
    TEST_NODE(&b, "Relu", "r", "bn");
    add_pool(&b, "r");
    test_conv(&b, "c1", "mp", 32, 32, 3, 1);
    test_output(&b, "c1");
    test_assert_placed_on(&b, ON, NULL,
                          "c0: QDQ(x) QW(c0.w) c0.b\n"
                          "bn: c0 s s s s\n"
                          "r: bn\n"
                          "mp: r\n"
                          "c1: QDQ(mp) QW(c1.w) c1.b\n");
}

TEST(a_maxpool_behind_relu_is_a_kernel_of_its_own)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 32, 8, 8);
    test_conv(&b, "c0", "x", 32, 32, 3, 1);
    TEST_NODE(&b, "Relu", "r", "c0");
    add_pool(&b, "r");
    test_conv(&b, "c1", "mp", 32, 32, 3, 1);
    test_output(&b, "c1");
    TEST_ASSERT_LINES(&b, ON, NULL, "mp: QDQ(r)", "c1: QDQ(mp) QW(c1.w) c1.b");
}

TEST(a_maxpool_between_float_neighbours_stays_float)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 32, 8, 8);
    TEST_NODE(&b, "Relu", "r", "x");
    add_pool(&b, "r");
    TEST_NODE(&b, "Relu", "y", "mp");
    test_output(&b, "y");
    test_placed p = test_place_on(&b, ON, NULL);
    assert_string_equal(test_reason(p.plan, "mp"),
                        "neither what it reads nor what reads it runs in 8 bits");
    assert_int_equal(p.plan->tensors.n, 0);
    test_placed_free(p);
}

TEST(a_global_pool_before_a_gemm)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 4, 32, 8, 8);
    test_conv(&b, "c0", "x", 32, 32, 3, 1);
    TEST_NODE(&b, "Relu", "r", "c0");
    TEST_NODE(&b, "GlobalAveragePool", "g", "r");
    TEST_NODE(&b, "Flatten", "f", "g");
    TEST_RANDOM(&b, "w", 64, 32);
    TEST_RANDOM(&b, "b", 64);
    assert_true(qdq_node_set_int(TEST_NODE(&b, "Gemm", "y", "f", "w", "b"), "transB", 1));
    test_output(&b, "y");
    test_placed p = test_place_on(&b, ON, NULL);
    assert_string_equal(p.text, "c0: QDQ(x) QW(c0.w) c0.b\n"
                                "r: c0\n"
                                "g: QDQ(r)\n"
                                "f: g\n"
                                "y: QDQ(f) QW(w) b\n");
    for (size_t i = 0; i < p.plan->weights.n; i++)
        assert_int_equal(p.plan->weights.at[i].axis, 0);
    test_placed_free(p);
}

TEST(silu_behind_a_convolution_is_part_of_its_kernel)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 32, 8, 8);
    test_conv(&b, "c0", "x", 32, 32, 3, 1);
    TEST_NODE(&b, "Sigmoid", "s", "c0");
    TEST_NODE(&b, "Mul", "m", "c0", "s");
    test_conv(&b, "c1", "m", 32, 32, 3, 1);
    test_output(&b, "c1");
    test_assert_placed_on(&b, ON, NULL,
                          "c0: QDQ(x) QW(c0.w) c0.b\n"
                          "s: c0\n"
                          "m: c0 s\n"
                          "c1: QDQ(m) QW(c1.w) c1.b\n");
}

TEST(squeeze_and_excitation_gates_in_8_bits)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 32, 8, 8);
    test_conv(&b, "c0", "x", 32, 32, 3, 1);
    TEST_NODE(&b, "Relu", "r", "c0");
    TEST_NODE(&b, "GlobalAveragePool", "g", "r");
    test_conv(&b, "c1", "g", 32, 32, 1, 1);
    TEST_NODE(&b, "Relu", "r1", "c1");
    test_conv(&b, "c2", "r1", 32, 32, 1, 1);
    TEST_NODE(&b, "Sigmoid", "s", "c2");
    TEST_NODE(&b, "Mul", "m", "r", "s");
    test_conv(&b, "c3", "m", 32, 32, 3, 1);
    test_output(&b, "c3");
    test_assert_placed_on(&b, ON, NULL,
                          "c0: QDQ(x) QW(c0.w) c0.b\n"
                          "r: c0\n"
                          "g: QDQ(r)\n"
                          "c1: QDQ(g) QW(c1.w) c1.b\n"
                          "r1: c1\n"
                          "c2: QDQ(r1) QW(c2.w) c2.b\n"
                          "s: c2\n"
                          "m: QDQ(r) QDQ(s)\n"
                          "c3: QDQ(m) QW(c3.w) c3.b\n");
}

static void concat(test_builder *b, const char *name, const char *first, const char *second)
{
    assert_true(qdq_node_set_int(TEST_NODE(b, "Concat", name, first, second), "axis", 1));
}

static const qdq_plan_tensor *entry(const test_placed *p, const char *tensor)
{
    for (size_t i = 0; i < p->plan->tensors.n; i++)
        if (strcmp(p->plan->tensors.at[i].tensor, tensor) == 0)
            return &p->plan->tensors.at[i];
    fail_msg("the plan has no tensor '%s'", tensor);
    return NULL;
}

TEST(a_concat_of_float_inputs_has_no_group)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 32, 8, 8);
    test_conv(&b, "c0", "x", 32, 32, 3, 1);
    TEST_NODE(&b, "Relu", "r0", "c0");
    test_conv(&b, "c1", "x", 32, 32, 3, 1);
    TEST_NODE(&b, "Relu", "r1", "c1");
    concat(&b, "cc", "r0", "r1");
    test_conv(&b, "c2", "cc", 32, 64, 3, 1);
    test_output(&b, "c2");
    const char *lines[] = {"cc: r0 r1", "c2: QDQ(cc) QW(c2.w) c2.b", NULL};
    test_placed p = test_assert_lines(&b, ON, NULL, lines);
    assert_null(entry(&p, "cc")->group);
    test_placed_free(p);
}

TEST(tensors_that_a_concat_joins_have_one_scale)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 32, 8, 8);
    test_conv(&b, "c0", "x", 32, 32, 3, 1);
    TEST_NODE(&b, "Relu", "r0", "c0");
    test_conv(&b, "c1", "r0", 32, 32, 3, 1);
    TEST_NODE(&b, "Relu", "r1", "c1");
    concat(&b, "cc", "r0", "r1");
    test_conv(&b, "c2", "cc", 32, 64, 3, 1);
    concat(&b, "dd", "cc", "c2");
    test_conv(&b, "c3", "dd", 32, 96, 3, 1);
    test_output(&b, "c3");
    const char *lines[] = {"c1: QDQ(r0) QW(c1.w) c1.b", "cc: QDQ(r0) r1",
                           "c2: QDQ(cc) QW(c2.w) c2.b", "dd: QDQ(cc) c2",
                           "c3: QDQ(dd) QW(c3.w) c3.b", NULL};
    test_placed p = test_assert_lines(&b, ON, NULL, lines);
    assert_non_null(entry(&p, "r0")->group);
    assert_string_equal(entry(&p, "r0")->group, entry(&p, "cc")->group);
    assert_string_equal(entry(&p, "r0")->group, entry(&p, "dd")->group);
    assert_null(entry(&p, "x")->group);
    test_placed_free(p);
}

TEST(a_resize_behind_a_convolution_reads_codes)
{
    const float twice[4] = {1, 1, 2, 2};
    const int64_t four = 4;
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 32, 8, 8);
    test_conv(&b, "c0", "x", 32, 32, 3, 1);
    TEST_NODE(&b, "Relu", "r", "c0");
    assert_non_null(qdq_graph_add_init(b.g, "scales", qdq_tensor_of_floats(b.m, 1, &four, twice)));
    TEST_NODE(&b, "Resize", "z", "r", "", "scales");
    test_conv(&b, "c1", "z", 32, 32, 3, 1);
    test_output(&b, "c1");
    TEST_ASSERT_LINES(&b, ON, NULL, "z: QDQ(r) - scales", "c1: QDQ(z) QW(c1.w) c1.b");
}

TEST(hardswish_has_a_kernel_of_its_own)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 32, 8, 8);
    test_conv(&b, "c0", "x", 32, 32, 3, 1);
    TEST_NODE(&b, "HardSwish", "h", "c0");
    test_conv(&b, "c1", "h", 32, 32, 3, 1);
    test_output(&b, "c1");
    TEST_ASSERT_LINES(&b, ON, NULL, "h: QDQ(c0)", "c1: QDQ(h) QW(c1.w) c1.b");
}

static test_placed place_transposed(int64_t group)
{
    const int64_t two[2] = {2, 2};
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 32, 8, 8);
    test_conv(&b, "c0", "x", 32, 32, 3, 1);
    TEST_RANDOM(&b, "w", 32, 16, 2, 2);
    TEST_RANDOM(&b, "b", 16 * group);
    qdq_node *t = TEST_NODE(&b, "ConvTranspose", "t", "c0", "w", "b");
    assert_true(qdq_node_set_ints(t, "strides", two, 2) &&
                qdq_node_set_ints(t, "kernel_shape", two, 2) &&
                qdq_node_set_int(t, "group", group));
    test_conv(&b, "c1", "t", 32, 16 * group, 3, 1);
    test_output(&b, "c1");
    const char *lines[] = {"t: QDQ(c0) QW(w) b", "c1: QDQ(t) QW(c1.w) c1.b", NULL};
    return test_assert_lines(&b, ON, NULL, lines);
}

static int axis_of(const test_placed *p, const char *weight)
{
    for (size_t i = 0; i < p->plan->weights.n; i++)
        if (strcmp(p->plan->weights.at[i].tensor, weight) == 0)
            return p->plan->weights.at[i].axis;
    return -2;
}

/* with groups, one index of axis 1 is a channel of each */
TEST(convtranspose_has_scales_along_axis_1_but_one_with_groups)
{
    test_placed p = place_transposed(1);

    assert_int_equal(axis_of(&p, "w"), 1);
    assert_int_equal(axis_of(&p, "c0.w"), 0);
    test_placed_free(p);
    p = place_transposed(2);
    assert_int_equal(axis_of(&p, "w"), -1);
    test_placed_free(p);
}

/* parameters stay float, and a BatchNormalization that reads an activation reads codes */
TEST(batchnormalization_before_the_first_convolution)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 32, 8, 8);
    TEST_RANDOM(&b, "s", 32);
    TEST_NODE(&b, "BatchNormalization", "bn", "x", "s", "s", "s", "s");
    TEST_NODE(&b, "Relu", "r", "bn");
    test_conv(&b, "c0", "r", 32, 32, 3, 1);
    test_output(&b, "c0");
    TEST_ASSERT_LINES(&b, ON, NULL, "bn: QDQ(x) s s s s", "r: bn", "c0: QDQ(r) QW(c0.w) c0.b");
}

TEST(clip_reads_no_codes)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 32, 8, 8);
    test_conv(&b, "c0", "x", 32, 32, 3, 1);
    TEST_NODE(&b, "Clip", "k", "c0");
    test_conv(&b, "c1", "k", 32, 32, 3, 1);
    test_output(&b, "c1");
    TEST_ASSERT_LINES(&b, ON, NULL, "k: c0", "c1: QDQ(k) QW(c1.w) c1.b");
}
