/* quant_partial.c - placement on models that have Q/DQ already: what is there is kept, the rest is
 * completed. In the lines below Q and DQ nodes are left out: r0.dq is what stands behind r0.q. */

#include "support/placed.h"
#include "support/test.h"

/* x -> Q/DQ -> c0 -> Relu r0 -> Q/DQ -> c1 -> Relu r1 -> Q/DQ -> c2; Add(r0, c2) -> Relu r2 -> Q/DQ
 * -> c3: how training leaves a residual block, with BatchNormalization folded */
static test_builder trained_residual(void)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 32, 8, 8);
    test_qdq(&b, "x", QDQ_UINT8, 0.25f, 0);
    test_conv8(&b, "c0", "x.dq", 32, 32, 3);
    TEST_NODE(&b, "Relu", "r0", "c0");
    test_qdq(&b, "r0", QDQ_UINT8, 0.5f, 0);
    test_conv8(&b, "c1", "r0.dq", 32, 32, 3);
    TEST_NODE(&b, "Relu", "r1", "c1");
    test_qdq(&b, "r1", QDQ_UINT8, 0.75f, 3);
    test_conv8(&b, "c2", "r1.dq", 32, 32, 3);
    TEST_NODE(&b, "Add", "a", "r0", "c2");
    TEST_NODE(&b, "Relu", "r2", "a");
    test_qdq(&b, "r2", QDQ_UINT8, 0.125f, 0);
    test_conv8(&b, "c3", "r2.dq", 32, 32, 3);
    test_qdq(&b, "c3", QDQ_UINT8, 2, 128);
    test_output(&b, "c3.dq");
    return b;
}

TEST(what_training_left_float_before_a_residual_add_is_completed)
{
    test_builder b = trained_residual();
    test_placed p = test_place(&b);

    assert_string_equal(p.text, "c0: x.dq c0.w.dq c0.b.dq\n"
                                "r0: c0\n"
                                "c1: r0.dq c1.w.dq c1.b.dq\n"
                                "r1: c1\n"
                                "c2: r1.dq c2.w.dq c2.b.dq\n"
                                "a: QDQ(r0) QDQ(c2)\n"
                                "r2: a\n"
                                "c3: r2.dq c3.w.dq c3.b.dq\n");
    assert_int_equal(p.plan->tensors.n, 2);
    assert_int_equal(p.plan->weights.n + p.plan->biases.n + p.plan->left_float.n, 0);
    test_placed_free(p);
}

/* r0 has a Q for c1: an engine fuses c0 only if the Add reads r0 through it, too. */
TEST(the_add_reads_through_the_q_that_is_there_with_its_scale)
{
    test_builder b = trained_residual();
    test_placed p = test_place(&b);
    const qdq_plan_tensor *r0 = test_planned_tensor(p.plan, "r0"),
                          *c2 = test_planned_tensor(p.plan, "c2");

    assert_true(r0->all && r0->known);
    assert_true(r0->qparam.scale == 0.5f);
    assert_string_equal(r0->origin, "import");
    assert_true(c2->all && !c2->known);
    assert_string_equal(c2->origin, "rule");
    assert_true(test_is_kept(p.plan, "c1") && test_is_kept(p.plan, "c3"));
    assert_false(test_is_kept(p.plan, "c0") || test_is_kept(p.plan, "c2") ||
                 test_is_kept(p.plan, "a"));
    assert_int_equal(qdq_plan_get_summary(p.plan)->n_existing, 1); /* one operator: Conv */
    test_placed_free(p);
}

TEST(a_model_that_is_quantized_leaves_nothing_to_do)
{
    test_builder b = test_trained_chain(QDQ_UINT8, 0);
    test_placed p = test_place(&b);

    test_assert_empty(p.plan);
    assert_int_equal(p.plan->quantized.n, 2);
    test_placed_free(p);
}

TEST(what_the_model_has_no_exclusion_takes_out)
{
    static const char *const patterns[] = {"^c[01]$", NULL};
    test_builder b = test_trained_chain(QDQ_UINT8, 0);
    qdq_place_opts opts = {.exclude = patterns};
    test_placed p = test_place_with(&b, &opts);

    assert_true(test_is_kept(p.plan, "c0") && test_is_kept(p.plan, "c1"));
    assert_int_equal(p.plan->left_float.n, 0);
    test_placed_free(p);
}

TEST(an_excluded_node_is_not_completed)
{
    static const char *const patterns[] = {"^c2$", NULL};
    test_builder b = trained_residual();
    qdq_place_opts opts = {.exclude = patterns};
    test_placed p = test_place_with(&b, &opts);

    assert_string_equal(test_reason(p.plan, "c2"), "excluded by the user");
    assert_string_equal(test_reason(p.plan, "a"), "an input is not in 8 bits");
    assert_int_equal(p.plan->tensors.n, 1); /* c0 is completed: whoever reads r0 reads codes */
    assert_true(test_planned_tensor(p.plan, "r0")->all);
    test_placed_free(p);
}

TEST(weights_alone_in_8_bits_get_activations_and_a_bias)
{
    test_builder b = test_build(17);
    const int64_t kernel[2] = {1, 1};

    TEST_INPUT(&b, "x", 1, 8, 4, 4);
    TEST_CODES(&b, "w", QDQ_INT8, 0, 16, 8, 1, 1);
    TEST_RANDOM(&b, "bias", 16);
    assert_true(qdq_node_set_ints(TEST_NODE(&b, "Conv", "c", "x", "w.dq", "bias"), "kernel_shape",
                                  kernel, 2));
    TEST_INPUT(&b, "y", 4, 8);
    TEST_CODES(&b, "v", QDQ_INT8, 1, 8, 16);
    TEST_NODE(&b, "MatMul", "m", "y", "v.dq");
    test_output(&b, "c");
    test_output(&b, "m");
    test_placed p = test_place(&b);
    assert_string_equal(p.text, "c: QDQ(x) w.dq QB(bias)\n"
                                "m: QDQ(y) v.dq\n");
    assert_string_equal(p.plan->biases.at[0].weight, "w.dq");
    assert_int_equal(p.plan->weights.n, 0);
    assert_true(test_planned_tensor(p.plan, "c")->all);
    test_placed_free(p);
}

TEST(activations_alone_in_8_bits_get_weights)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 3, 8,
               8); /* by rule such a first Conv stays float: here it was trained otherwise */
    test_qdq(&b, "x", QDQ_UINT8, 0.25f, 7);
    test_conv(&b, "c0", "x.dq", 16, 3, 3, 1);
    TEST_NODE(&b, "Relu", "r0", "c0");
    test_qdq(&b, "r0", QDQ_UINT8, 0.5f, 0);
    TEST_NODE(&b, "Softmax", "sm", "r0.dq");
    test_output(&b, "sm");
    test_placed p = test_place(&b);
    assert_string_equal(p.text, "c0: x.dq QW(c0.w) QB(c0.b)\n"
                                "r0: c0\n"
                                "sm: r0.dq\n");
    assert_string_equal(p.plan->biases.at[0].activation, "x.dq");
    assert_string_equal(test_reason(p.plan, "sm"), "slower in 8 bits, and loses accuracy");
    test_placed_free(p);
}

TEST(a_float_bias_beside_trained_codes_is_all_that_is_missing)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 4, 8);
    test_qdq(&b, "x", QDQ_UINT8, 0.25f, 7);
    TEST_CODES(&b, "w", QDQ_INT8, 1, 8, 16);
    TEST_RANDOM(&b, "bias", 16);
    TEST_NODE(&b, "Gemm", "g", "x.dq", "w.dq", "bias");
    test_output(&b, "g");
    test_placed p = test_place(&b);
    assert_string_equal(p.text, "g: x.dq w.dq QB(bias)\n");
    assert_false(test_is_kept(p.plan, "g"));
    test_placed_free(p);
}

/* The trained form: float weight -> Q -> DQ. */
TEST(a_float_weight_in_front_of_a_q_counts_as_codes)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 4, 8);
    test_qdq(&b, "x", QDQ_UINT8, 0.25f, 7);
    TEST_RANDOM(&b, "w", 8, 16);
    test_qdq(&b, "w", QDQ_INT8, 0.01f, 0);
    TEST_NODE(&b, "Gemm", "g", "x.dq", "w.dq");
    test_output(&b, "g");
    test_placed p = test_place(&b);
    test_assert_empty(p.plan);
    assert_true(test_is_kept(p.plan, "g"));
    test_placed_free(p);
}

TEST(int8_activations_are_completed_in_int8)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 32, 8, 8);
    test_qdq(&b, "x", QDQ_INT8, 0.25f, 0);
    test_conv8(&b, "c0", "x.dq", 32, 32, 3);
    test_conv8(&b, "c1", "c0", 32, 32, 3);
    TEST_RANDOM(&b, "half", 1);
    TEST_NODE(&b, "Add", "a", "c1", "half");
    test_conv8(&b, "c2", "a", 32, 32, 3);
    test_output(&b, "c2");
    test_placed p = test_place(&b);
    for (size_t i = 0; i < p.plan->tensors.n; i++)
        assert_int_equal(p.plan->tensors.at[i].qparam.type, QDQ_INT8);
    assert_int_equal(p.plan->tensors.n, 5); /* c0, c1, half, a, c2 */
    test_placed_free(p);
}

TEST(codes_of_different_types_do_not_meet_in_one_kernel)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 32, 8, 8);
    test_qdq(&b, "x", QDQ_INT8, 0.25f, 0);
    TEST_INPUT(&b, "y", 1, 32, 8, 8);
    test_qdq(&b, "y", QDQ_UINT8, 0.25f, 0);
    TEST_NODE(&b, "Add", "a", "x.dq", "y.dq");
    test_conv8(&b, "c", "x.dq", 32, 32, 3);
    test_qdq(&b, "c", QDQ_UINT8, 0.25f, 0);
    TEST_INPUT(&b, "z", 4, 8);
    test_qdq(&b, "z", QDQ_INT8, 0.25f, 0);
    TEST_CODES(&b, "w", QDQ_UINT8, -1, 8, 16);
    TEST_NODE(&b, "MatMul", "m", "z.dq", "w.dq");
    TEST_INPUT(&b, "v", 8, 4);
    test_qdq(&b, "v", QDQ_UINT8, 0.25f, 0);
    TEST_NODE(&b, "MatMul", "mm", "z.dq", "v.dq");
    test_output(&b, "a");
    test_output(&b, "c.dq");
    test_output(&b, "m");
    test_output(&b, "mm");
    test_placed p = test_place(&b);
    assert_string_equal(test_reason(p.plan, "a"), "its inputs are quantized to different types");
    assert_string_equal(test_reason(p.plan, "c"),
                        "its data and its result are quantized to different types");
    assert_string_equal(test_reason(p.plan, "m"), "its data is int8, and its weight is not");
    assert_string_equal(test_reason(p.plan, "mm"),
                        "its first operand is int8, and its second is not");
    assert_int_equal(p.plan->tensors.n, 0);
    test_placed_free(p);
}

/* int8 times int8: what is added beside int8 is int8. */
TEST(the_second_operand_of_an_int8_product_becomes_int8)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 4, 8);
    test_qdq(&b, "x", QDQ_INT8, 0.25f, 0);
    TEST_INPUT(&b, "y", 8, 4);
    TEST_NODE(&b, "MatMul", "m", "x.dq", "y");
    TEST_NODE(&b, "MatMul", "u", "y", "x.dq"); /* and uint8 times any */
    test_output(&b, "m");
    test_output(&b, "u");
    test_placed p = test_place(&b);
    assert_string_equal(p.text, "m: x.dq QDQ(y)\nu: QDQ(y) x.dq\n");
    assert_int_equal(p.plan->tensors.n, 2);
    assert_int_equal(p.plan->tensors.at[0].qparam.type + p.plan->tensors.at[1].qparam.type,
                     QDQ_INT8 + QDQ_UINT8);
    assert_false(p.plan->tensors.at[0].all || p.plan->tensors.at[1].all);
    test_placed_free(p);
}

TEST(sixteen_bits_are_left_alone)
{
    test_builder b = test_build(21);

    TEST_INPUT(&b, "x", 4, 8);
    test_qdq(&b, "x", QDQ_UINT16, 0.25f, 0);
    TEST_RANDOM(&b, "w", 8, 16);
    TEST_NODE(&b, "MatMul", "m", "x.dq", "w");
    test_output(&b, "m");
    test_assert_reason(&b, "m",
                       "its data is quantized in a type that no 8-bit kernel takes: uint16");
}

TEST(four_bit_weights_are_left_alone)
{
    test_builder b = test_build(21);

    TEST_INPUT(&b, "x", 4, 8);
    TEST_CODES(&b, "w", QDQ_INT4, 1, 8, 16);
    TEST_NODE(&b, "MatMul", "m", "x", "w.dq");
    test_output(&b, "m");
    test_assert_reason(&b, "m",
                       "its weight is quantized in a type that no 8-bit kernel takes: int4");
}

TEST(blocks_are_left_alone)
{
    test_builder b = test_build(21);

    TEST_INPUT(&b, "x", 4, 8);
    qdq_node *dq = TEST_CODES(&b, "w", QDQ_INT8, -1, 8, 16);
    assert_true(qdq_node_set_int(dq, "axis", 0) && qdq_node_set_int(dq, "block_size", 4));
    qdq_node_set_in(dq, 1, TEST_RANDOM(&b, "scales", 2, 16));
    qdq_node_set_in(dq, 2, NULL);
    TEST_NODE(&b, "MatMul", "m", "x", "w.dq");
    test_output(&b, "m");
    test_assert_reason(&b, "m", "its weight is quantized in blocks");
}

/* A DQ of constants of rank 2 along `axis`, and MatMul with it. */
static test_builder weight_along(int axis, qdq_elem type)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 4, 8);
    TEST_CODES(&b, "w", type, axis, 8, 16);
    TEST_NODE(&b, "MatMul", "m", "x", "w.dq");
    test_output(&b, "m");
    return b;
}

TEST(scales_along_the_rows_of_a_matrix_fit_no_kernel)
{
    test_builder b = weight_along(0, QDQ_INT8);

    test_assert_reason(&b, "m",
                       "its weight has scales along a dimension that no 8-bit kernel takes");
}

/* convbn-bias case 28: without an axis attribute the scales are per input channel. */
TEST(scales_per_input_channel_fit_no_kernel)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 8, 4, 4);
    test_qdq(&b, "x", QDQ_UINT8, 1, 0);
    qdq_node *c = test_conv8(&b, "c", "x.dq", 8, 8, 1);
    qdq_node_remove_attr(c->in[1].value->producer, "axis");
    test_output(&b, "c");
    test_assert_reason(&b, "c",
                       "its weight has scales along a dimension that no 8-bit kernel takes");
}

TEST(several_zero_points_fit_no_kernel)
{
    test_builder b = weight_along(1, QDQ_INT8);

    ((int8_t *)(uintptr_t)qdq_graph_find(b.g, "w.z")->init->bytes.data)[3] = 5;
    test_assert_reason(&b, "m", "its weight has several zero points");
}

TEST(weights_with_one_zero_point_are_completed)
{
    test_builder b = test_build(17);
    const int64_t dims[3] = {8, 16, 0};

    TEST_INPUT(&b, "x", 4, 8);
    test_codes(&b, "w", QDQ_UINT8, dims, 1, 128);
    TEST_NODE(&b, "MatMul", "m", "x", "w.dq");
    test_output(&b, "m");
    test_assert_placed(&b, "m: QDQ(x) w.dq\n");
}

TEST(a_scale_of_zero_is_no_scale)
{
    test_builder b = weight_along(1, QDQ_INT8);

    memset((void *)(uintptr_t)qdq_graph_find(b.g, "w.s")->init->bytes.data, 0, 4);
    test_assert_reason(
        &b, "m", "its weight is quantized in a way that no 8-bit kernel takes: its scale is 0");
}

TEST(activations_with_a_scale_per_channel_fit_no_kernel)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 4, 8);
    TEST_RANDOM(&b, "s", 8);
    TEST_NODE(&b, "QuantizeLinear", "x.q", "x", "s");
    TEST_NODE(&b, "DequantizeLinear", "x.dq", "x.q", "s");
    TEST_RANDOM(&b, "w", 8, 16);
    TEST_NODE(&b, "MatMul", "m", "x.dq", "w");
    test_output(&b, "m");
    test_assert_reason(&b, "m", "its data is quantized with a scale for each channel");
}

/* x -> Q -> DQ with a scale that is computed from another input. */
static void add_computed(test_builder *b, const char *x)
{
    char q[16], dq[16], s[16], in[16];

    snprintf(in, sizeof in, "%s.si", x);
    snprintf(s, sizeof s, "%s.s", x);
    snprintf(q, sizeof q, "%s.q", x);
    snprintf(dq, sizeof dq, "%s.dq", x);
    assert_non_null(qdq_graph_add_input(b->g, in, qdq_type_fixed(b->m, QDQ_FLOAT, 0, NULL)));
    TEST_NODE(b, "Abs", s, in);
    TEST_NODE(b, "QuantizeLinear", q, x, s);
    TEST_NODE(b, "DequantizeLinear", dq, q, s);
}

TEST(a_computed_scale_is_kept_where_no_number_is_asked_for)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 8, 4, 4);
    add_computed(&b, "x");
    test_conv8(&b, "c0", "x.dq", 8, 8, 1);
    add_computed(&b, "c0");
    test_conv8(&b, "c1", "c0.dq", 8, 8, 1);
    test_output(&b, "c1");
    test_placed p = test_place(&b);
    assert_string_equal(p.text, "x.s: x.si\n"
                                "c0: x.dq c0.w.dq c0.b.dq\n"
                                "c0.s: c0.si\n"
                                "c1: c0.dq c1.w.dq c1.b.dq\n");
    assert_true(test_is_kept(p.plan, "c0"));
    assert_int_equal(p.plan->tensors.n, 1); /* c1 */
    test_placed_free(p);
}

TEST(a_computed_scale_cannot_be_handed_on)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 8, 4, 4);
    add_computed(&b, "x");
    TEST_NODE(&b, "Flatten", "f", "x.dq");
    TEST_RANDOM(&b, "w", 128, 8);
    TEST_NODE(&b, "MatMul", "m", "f", "w");
    test_conv8(&b, "c", "x.dq", 8, 8, 1);
    add_computed(&b, "c");
    test_conv8(&b, "d", "c.dq", 8, 8, 1);
    TEST_NODE(&b, "Softmax", "sm", "c"); /* would have to read through the Q */
    test_output(&b, "m");
    test_output(&b, "d");
    test_output(&b, "sm");
    test_placed p = test_place(&b);
    assert_string_equal(test_reason(p.plan, "f"),
                        "its input is quantized with a scale that is computed");
    assert_string_equal(test_reason(p.plan, "c"),
                        "its result is quantized with a scale that is computed");
    test_placed_free(p);
}

TEST(no_bias_follows_a_computed_scale)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 4, 8);
    add_computed(&b, "x");
    TEST_CODES(&b, "w", QDQ_INT8, 1, 8, 16);
    TEST_RANDOM(&b, "bias", 16);
    TEST_NODE(&b, "Gemm", "g", "x.dq", "w.dq", "bias");
    test_output(&b, "g");
    test_assert_reason(&b, "g", "its bias would follow a scale that is computed");
}
