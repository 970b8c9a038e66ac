/* quant_place.c - placement on ort-cpu.
 *
 * Most graphs are those of the tests for tensorrt, which fuses the Add of a residual block into the
 * convolution and wants no Q on that path. What differs here is data in src/target/ort-cpu.json,
 * for these reasons: an 8-bit kernel needs a DQ on every input and a Q on its output, so an Add
 * reads both operands through Q/DQ and a quantized Conv hands its result to everyone dequantized;
 * Sigmoid and Mul have 8-bit kernels and keep the chain; BatchNormalization has none. In the lines
 * below a name in QDQ(...) is read through Q/DQ, QW(...) and QB(...) are 8-bit weights and int32
 * biases, the others are read as they are. */
#include "support/placed.h"

#include "support/test.h"

/* x -> c0 -> Relu r0 -> c1 -> Relu r1 -> c2; Add -> Relu r2 -> c3: two tests have this graph, but
 * for the order */
static test_builder residual(const char *first, const char *second)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 32, 8, 8);
    test_conv(&b, "c0", "x", 32, 32, 3, 1);
    TEST_NODE(&b, "Relu", "r0", "c0");
    test_conv(&b, "c1", "r0", 32, 32, 3, 1);
    TEST_NODE(&b, "Relu", "r1", "c1");
    test_conv(&b, "c2", "r1", 32, 32, 3, 1);
    TEST_NODE(&b, "Add", "a", first, second);
    TEST_NODE(&b, "Relu", "r2", "a");
    test_conv(&b, "c3", "r2", 32, 32, 3, 1);
    test_output(&b, "c3");
    return b;
}

TEST(residual_add_reads_both_operands_in_8_bits)
{
    test_builder b = residual("c2", "r0");

    test_assert_placed(&b, "c0: QDQ(x) QW(c0.w) QB(c0.b)\n"
                           "r0: c0\n"
                           "c1: QDQ(r0) QW(c1.w) QB(c1.b)\n"
                           "r1: c1\n"
                           "c2: QDQ(r1) QW(c2.w) QB(c2.b)\n"
                           "a: QDQ(c2) QDQ(r0)\n"
                           "r2: a\n"
                           "c3: QDQ(r2) QW(c3.w) QB(c3.b)\n");
}

TEST(operand_order_does_not_matter)
{
    test_builder b = residual("r0", "c2");
    test_placed p = test_place(&b);

    assert_non_null(strstr(p.text, "a: QDQ(r0) QDQ(c2)\n"));
    test_placed_free(p);
}

TEST(a_residual_add_reads_a_projection_in_8_bits_too)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 32, 8, 8);
    test_conv(&b, "c0", "x", 32, 32, 3, 1);
    TEST_NODE(&b, "Relu", "r0", "c0");
    test_conv(&b, "c1", "r0", 32, 32, 3, 1);
    test_conv(&b, "ds", "r0", 32, 32, 1, 1);
    TEST_NODE(&b, "Add", "a", "c1", "ds");
    test_output(&b, "a");
    test_assert_placed(&b, "c0: QDQ(x) QW(c0.w) QB(c0.b)\n"
                           "r0: c0\n"
                           "c1: QDQ(r0) QW(c1.w) QB(c1.b)\n"
                           "ds: QDQ(r0) QW(ds.w) QB(ds.b)\n"
                           "a: QDQ(c1) QDQ(ds)\n");
}

static void add_pool(test_builder *b, const char *x)
{
    const int64_t two[2] = {2, 2};
    qdq_node *pool = TEST_NODE(b, "MaxPool", "mp", x);

    assert_true(qdq_node_set_ints(pool, "kernel_shape", two, 2) &&
                qdq_node_set_ints(pool, "strides", two, 2));
}

TEST(batchnormalization_that_was_not_folded_stays_float)
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
    test_assert_placed(&b, "c0: QDQ(x) QW(c0.w) QB(c0.b)\n"
                           "bn: QDQ(c0) s s s s\n"
                           "r: bn\n"
                           "mp: r\n"
                           "c1: QDQ(mp) QW(c1.w) QB(c1.b)\n");
}

TEST(maxpool_hands_on_8_bits_with_the_scale_of_its_input)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 32, 8, 8);
    test_conv(&b, "c0", "x", 32, 32, 3, 1);
    TEST_NODE(&b, "Relu", "r", "c0");
    add_pool(&b, "r");
    test_conv(&b, "c1", "mp", 32, 32, 3, 1);
    test_output(&b, "c1");
    test_placed p = test_place(&b);
    assert_string_equal(p.text, "c0: QDQ(x) QW(c0.w) QB(c0.b)\n"
                                "r: c0\n"
                                "mp: QDQ(r)\n"
                                "c1: QDQ(mp) QW(c1.w) QB(c1.b)\n");
    for (size_t i = 0; i < p.plan->tensors.n; i++)
        if (strcmp(p.plan->tensors.at[i].tensor, "mp") == 0)
            assert_string_equal(p.plan->tensors.at[i].like, "r");
    test_placed_free(p);
}

TEST(the_last_gemm_reads_8_bits_and_gives_floats)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 4, 32, 8, 8);
    test_conv(&b, "c0", "x", 32, 32, 3, 1);
    TEST_NODE(&b, "Relu", "r", "c0");
    TEST_NODE(&b, "GlobalAveragePool", "gap", "r");
    TEST_NODE(&b, "Flatten", "f", "gap");
    TEST_RANDOM(&b, "w", 64, 32);
    TEST_RANDOM(&b, "bias", 64);
    assert_true(qdq_node_set_int(TEST_NODE(&b, "Gemm", "g", "f", "w", "bias"), "transB", 1));
    test_output(&b, "g");
    test_placed p = test_place(&b);
    /* 8-bit pooling and int32 bias are what ORT's QGemm takes; the result of the last Gemm stays
     * float */
    assert_string_equal(p.text, "c0: QDQ(x) QW(c0.w) QB(c0.b)\n"
                                "r: c0\n"
                                "gap: QDQ(r)\n"
                                "f: QDQ(gap)\n"
                                "g: QDQ(f) QW(w) QB(bias)\n");
    assert_int_equal(p.plan->weights.at[1].axis, 0);
    test_placed_free(p);
}

TEST(a_global_pool_at_the_end_still_pools_codes)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 32, 8, 8);
    test_conv(&b, "c0", "x", 32, 32, 3, 1);
    TEST_NODE(&b, "GlobalAveragePool", "gap", "c0");
    TEST_NODE(&b, "Flatten", "f", "gap");
    test_output(&b, "f");
    /* in float, the whole plane would be dequantized first; behind the pool one number a channel is
     * left */
    test_assert_placed(&b, "c0: QDQ(x) QW(c0.w) QB(c0.b)\n"
                           "gap: QDQ(c0)\n"
                           "f: QDQ(gap)\n");
}

TEST(silu_keeps_the_chain_in_8_bits)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 32, 8, 8);
    test_conv(&b, "c0", "x", 32, 32, 3, 1);
    TEST_NODE(&b, "Sigmoid", "s", "c0");
    TEST_NODE(&b, "Mul", "m", "c0", "s");
    test_conv(&b, "c1", "m", 32, 32, 3, 1);
    test_output(&b, "c1");
    /* with Q at the end alone the Conv would stay float */
    test_assert_placed(&b, "c0: QDQ(x) QW(c0.w) QB(c0.b)\n"
                           "s: QDQ(c0)\n"
                           "m: QDQ(c0) QDQ(s)\n"
                           "c1: QDQ(m) QW(c1.w) QB(c1.b)\n");
}

TEST(squeeze_and_excitation_stays_in_8_bits)
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
    test_conv(&b, "c3", "m", 32, 32, 1, 1);
    test_output(&b, "c3");
    test_assert_placed(&b, "c0: QDQ(x) QW(c0.w) QB(c0.b)\n"
                           "r: c0\n"
                           "g: QDQ(r)\n"
                           "c1: QDQ(g) QW(c1.w) QB(c1.b)\n"
                           "r1: c1\n"
                           "c2: QDQ(r1) QW(c2.w) QB(c2.b)\n"
                           "s: QDQ(c2)\n"
                           "m: QDQ(r) QDQ(s)\n"
                           "c3: QDQ(m) QW(c3.w) QB(c3.b)\n");
}

static test_builder concatenation(void)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 32, 8, 8);
    test_conv(&b, "c0", "x", 32, 32, 3, 1);
    TEST_NODE(&b, "Relu", "r0", "c0");
    test_conv(&b, "c1", "x", 32, 32, 3, 1);
    TEST_NODE(&b, "Relu", "r1", "c1");
    assert_true(qdq_node_set_int(TEST_NODE(&b, "Concat", "cc", "r0", "r1"), "axis", 1));
    return b;
}

TEST(a_concat_between_8_bit_neighbours_is_in_8_bits)
{
    test_builder b = concatenation();

    test_conv(&b, "c2", "cc", 32, 64, 3, 1);
    test_output(&b, "c2");
    test_placed p = test_place(&b);
    assert_non_null(strstr(p.text, "cc: QDQ(r0) QDQ(r1)\nc2: QDQ(cc) "));
    for (size_t i = 0; i < p.plan->tensors.n; i++)
        /* QLinearConcat takes operands of any scale; place_tied.c */
        assert_null(p.plan->tensors.at[i].like);
    test_placed_free(p);
}

TEST(concat_with_a_float_reader_stays_float)
{
    test_builder b = concatenation();

    TEST_NODE(&b, "Softmax", "sm", "cc");
    test_output(&b, "sm");
    test_placed p = test_place(&b);
    assert_non_null(strstr(p.text, "cc: QDQ(r0) QDQ(r1)\nsm: cc\n"));
    assert_string_equal(test_reason(p.plan, "cc"), "no 8-bit kernel reads its result");
    test_placed_free(p);
}

TEST(a_batchnormalization_before_the_first_conv_stays_float)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 32, 8, 8);
    TEST_RANDOM(&b, "s", 32);
    TEST_NODE(&b, "BatchNormalization", "bn", "x", "s", "s", "s", "s");
    TEST_NODE(&b, "Relu", "r", "bn");
    test_conv(&b, "c0", "r", 32, 32, 3, 1);
    test_output(&b, "c0");
    test_assert_placed(&b, "bn: x s s s s\n" /* no 8-bit kernel on ORT */
                           "r: bn\n"
                           "c0: QDQ(r) QW(c0.w) QB(c0.b)\n");
}

TEST(clip_is_part_of_the_conv)
{
    test_builder b = test_build(17);
    qdq_error err = QDQ_ERROR_INIT;

    (void)err;
    TEST_INPUT(&b, "x", 1, 32, 8, 8);
    test_conv(&b, "c0", "x", 32, 32, 3, 1);
    const float zero = 0, six = 6;
    assert_non_null(qdq_graph_add_init(b.g, "lo", qdq_tensor_of_floats(b.m, 0, NULL, &zero)));
    assert_non_null(qdq_graph_add_init(b.g, "hi", qdq_tensor_of_floats(b.m, 0, NULL, &six)));
    TEST_NODE(&b, "Clip", "cl", "c0", "lo", "hi");
    test_conv(&b, "c1", "cl", 32, 32, 3, 1);
    test_output(&b, "c1");
    test_assert_placed(&b, "c0: QDQ(x) QW(c0.w) QB(c0.b)\n"
                           "cl: c0 lo hi\n"
                           "c1: QDQ(cl) QW(c1.w) QB(c1.b)\n");
}

TEST(graph_output_in_the_chain_is_the_dequantized_value)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 32, 8, 8);
    test_conv(&b, "c0", "x", 32, 32, 3, 1);
    TEST_NODE(&b, "Relu", "r0", "c0");
    test_conv(&b, "c1", "r0", 32, 32, 3, 1);
    test_output(&b, "r0");
    test_output(&b, "c1");
    test_placed p = test_place(&b);
    /* ORT fuses a Conv only if its result goes into one Q and is no graph output itself (4.2). A
     * float r0 for the caller would be the dequantized result of c0 all the same, only slower: the
     * output is the DQ's */
    assert_string_equal(p.text, "c0: QDQ(x) QW(c0.w) QB(c0.b)\n"
                                "r0: c0\n"
                                "c1: QDQ(r0) QW(c1.w) QB(c1.b)\n");
    for (size_t i = 0; i < p.plan->tensors.n; i++)
        assert_true(p.plan->tensors.at[i].all);
    test_placed_free(p);
}

TEST(op_types_chosen_by_the_user_are_the_only_ones)
{
    static const char *const types[] = {"Conv", "Add", NULL};
    test_builder b = residual("c2", "r0");
    qdq_place_opts opts = {.op_types = types};
    test_placed p = test_place_with(&b, &opts);

    /* Relu was not asked for, but goes along with the Conv that it is fused into */
    assert_non_null(strstr(p.text, "a: QDQ(c2) QDQ(r0)\n"));
    assert_non_null(strstr(p.text, "r0: c0\n"));
    assert_string_equal(test_reason(p.plan, "r0"), "(not left float)");
    test_placed_free(p);
}

TEST(a_shared_weight_is_stored_once)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 32, 8, 8);
    test_conv(&b, "c0", "x", 32, 32, 3, 1);
    qdq_node *c1 = test_conv(&b, "c1", "c0", 32, 32, 3, 1);
    qdq_node_set_in(c1, 1, qdq_graph_find(b.g, "c0.w"));
    test_output(&b, "c1");
    test_placed p = test_place(&b);
    /* ORT clones the DQ per reader itself (EnsureUniqueDQ), so one 8-bit initializer serves both */
    assert_int_equal(p.plan->weights.n, 1);
    assert_int_equal(p.plan->weights.at[0].consumers.n, 2);
    test_placed_free(p);
}

TEST(excluded_nodes_and_their_edges_stay_float)
{
    static const char *const patterns[] = {"^c1$", NULL};
    test_builder b = residual("c2", "r0");
    qdq_place_opts opts = {.exclude = patterns};
    test_placed p = test_place_with(&b, &opts);

    assert_non_null(strstr(p.text, "c1: QDQ(r0) c1.w c1.b\n"));
    assert_non_null(strstr(p.text, "c2: r1 c2.w c2.b\n"));
    assert_non_null(strstr(p.text, "a: c2 QDQ(r0)\n"));
    assert_string_equal(test_reason(p.plan, "c1"), "excluded by the user");
    assert_string_equal(test_reason(p.plan, "a"), "an input is not in 8 bits");
    /* c2 was not excluded, but a Q before it would make ORT quantize c1 */
    assert_string_equal(
        test_reason(p.plan, "c2"),
        "a Q here would make the engine quantize the operator before, which stays float");
    test_placed_free(p);
}

TEST(a_regular_expression_that_is_none_is_refused)
{
    static const char *const patterns[] = {"(", NULL};
    test_builder b = residual("c2", "r0");
    qdq_place_opts opts = {.exclude = patterns};
    qdq_error err = QDQ_ERROR_INIT;
    qdq_target *t = NULL;
    qdq_plan *plan = qdq_plan_new();
    qdq_model *m = test_built(&b);

    assert_ok(qdq_target_load("ort-cpu", &t, &err));
    assert_fails(QDQ_E_USAGE, "regular expression '('", qdq_place(m, t, &opts, plan, &err));
    qdq_plan_free(plan);
    qdq_target_free(t);
    qdq_model_free(m);
}

static test_builder first_layers(int64_t channels, bool pool)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 3, 16, 16);
    test_conv(&b, "c0", "x", channels, 3, 3, 1);
    TEST_NODE(&b, "Relu", "r0", "c0");
    if (pool)
        add_pool(&b, "r0");
    test_conv(&b, "c1", pool ? "mp" : "r0", channels, channels, 3, channels);
    TEST_NODE(&b, "Relu", "r1", "c1");
    test_conv(&b, "c2", "r1", 32, channels, 1, 1);
    test_output(&b, "c2");
    return b;
}

TEST(first_conv_with_few_channels_stays_float)
{
    test_builder b = first_layers(32, false);

    test_assert_placed(&b, "c0: x c0.w c0.b\n"
                           "r0: c0\n"
                           "c1: QDQ(r0) QW(c1.w) QB(c1.b)\n"
                           "r1: c1\n"
                           "c2: QDQ(r1) QW(c2.w) QB(c2.b)\n");
}

TEST(depthwise_with_few_channels_behind_it_too)
{
    test_builder b = first_layers(16, false);

    test_assert_placed(&b, "c0: x c0.w c0.b\n"
                           "r0: c0\n"
                           "c1: r0 c1.w c1.b\n"
                           "r1: c1\n"
                           "c2: QDQ(r1) QW(c2.w) QB(c2.b)\n");
}

TEST(first_conv_before_a_maxpool_is_quantized)
{
    test_builder b = first_layers(32, true);
    test_placed p = test_place(&b);

    assert_non_null(strstr(p.text, "c0: QDQ(x) QW(c0.w) QB(c0.b)\n"));
    test_placed_free(p);
}

TEST(first_conv_that_a_residual_add_reads_shares_its_codes)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 1, 16, 16);
    test_conv(&b, "c0", "x", 16, 1, 3, 1);
    TEST_NODE(&b, "Relu", "r0", "c0");
    test_conv(&b, "c1", "r0", 16, 16, 3, 1);
    TEST_NODE(&b, "Add", "a", "c1", "r0");
    test_output(&b, "a");
    /* c1 needs a Q behind r0 anyway; in float, the Add would take the whole chain behind it
     * along */
    test_assert_placed(&b, "c0: x c0.w c0.b\n"
                           "r0: c0\n"
                           "c1: QDQ(r0) QW(c1.w) QB(c1.b)\n"
                           "a: QDQ(c1) QDQ(r0)\n");
}

TEST(first_conv_with_many_channels_is_quantized)
{
    test_builder b = first_layers(80, false);
    test_placed p = test_place(&b);

    assert_non_null(strstr(p.text, "c0: QDQ(x) QW(c0.w) QB(c0.b)\n"));
    test_placed_free(p);
}

TEST(matmul_has_no_q_behind_it)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 2, 4, 32);
    TEST_RANDOM(&b, "w", 32, 64);
    TEST_RANDOM(&b, "bias", 64);
    TEST_NODE(&b, "MatMul", "m", "x", "w");
    TEST_NODE(&b, "Add", "a", "m", "bias");
    TEST_NODE(&b, "Softmax", "sm", "a");
    test_output(&b, "sm");
    test_placed p = test_place(&b);
    /* static shapes: the int32 bias keeps ORT from making a float Gemm of it */
    assert_string_equal(p.text, "m: QDQ(x) QW(w)\n"
                                "a: m QB(bias)\n"
                                "sm: a\n");
    assert_int_equal(p.plan->weights.at[0].axis, 1);
    test_placed_free(p);
}

TEST(a_constant_that_is_no_bias_stays_a_float_add)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 2, 4, 32);
    TEST_RANDOM(&b, "w", 32, 64);
    TEST_RANDOM(&b, "one", 1);
    TEST_NODE(&b, "MatMul", "m", "x", "w");
    TEST_NODE(&b, "Add", "a", "m", "one"); /* not one number per channel */
    TEST_INPUT(&b, "y", 2, 64, 64);
    TEST_RANDOM(&b, "mask", 64);
    TEST_NODE(&b, "MatMul", "mm", "a", "y");
    TEST_NODE(&b, "Add", "am", "mm", "mask"); /* no weight, no bias */
    test_output(&b, "am");
    test_placed p = test_place(&b);
    assert_string_equal(p.text, "m: QDQ(x) QW(w)\n"
                                "a: m one\n"
                                "mm: a y\n"
                                "am: mm mask\n");
    assert_string_equal(test_reason(p.plan, "a"), "an input is not in 8 bits");
    assert_string_equal(test_reason(p.plan, "am"), "an input is not in 8 bits");
    test_placed_free(p);
}

TEST(matmul_of_two_activations)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 2, 400, 64);
    TEST_INPUT(&b, "y", 2, 64, 400);
    TEST_NODE(&b, "MatMul", "m", "x", "y");
    test_output(&b, "m");
    test_assert_placed(&b, "m: QDQ(x) QDQ(y)\n");
}

TEST(a_weight_of_rank_3_has_one_scale)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 4, 8, 32);
    TEST_RANDOM(&b, "w", 4, 32, 16);
    TEST_NODE(&b, "MatMul", "m", "x", "w");
    test_output(&b, "m");
    test_placed p = test_place(&b);
    assert_int_equal(p.plan->weights.at[0].axis, -1);
    test_placed_free(p);
}

TEST(gemm_with_alpha_stays_float)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 4, 32);
    TEST_RANDOM(&b, "w", 32, 16);
    assert_true(qdq_node_set_float(TEST_NODE(&b, "Gemm", "g", "x", "w"), "alpha", 0.5f));
    test_output(&b, "g");
    test_placed p = test_place(&b);
    assert_string_equal(test_reason(p.plan, "g"), "its attributes have no 8-bit kernel");
    test_placed_free(p);
}
