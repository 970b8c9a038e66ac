/* quant_partial.c - placement on models that have Q/DQ already: what is there is kept, the rest is
 * completed. In the lines below Q and DQ nodes are left out: r0.dq is what stands behind r0.q. */
#include "quant/place/place.h"

#include "ir/shape.h"
#include "support/placed.h"
#include "support/test.h"

static const qdq_plan_tensor *tensor_of(const qdq_plan *p, const char *name)
{
    for (size_t i = 0; i < p->tensors.n; i++)
        if (strcmp(p->tensors.at[i].tensor, name) == 0)
            return &p->tensors.at[i];
    fail_msg("the plan has no tensor '%s'", name);
    return NULL;
}

static bool is_kept(const qdq_plan *p, const char *node)
{
    for (size_t i = 0; i < p->quantized.n; i++)
        if (strcmp(p->quantized.at[i].node, node) == 0)
            return p->quantized.at[i].kept;
    fail_msg("the plan does not quantize '%s'", node);
    return false;
}

static void assert_empty(const qdq_plan *p)
{
    if (p->tensors.n + p->weights.n + p->biases.n > 0)
        fail_msg("the plan has %zu tensors, %zu weights, %zu biases; first tensor '%s'",
                 p->tensors.n, p->weights.n, p->biases.n,
                 p->tensors.n > 0 ? p->tensors.at[0].tensor : "");
    assert_int_equal(p->left_float.n, 0);
}

static void assert_reason(test_builder *b, const char *node, const char *reason)
{
    test_placed p = test_place(b);

    assert_string_equal(test_reason(p.plan, node), reason);
    test_placed_free(p);
}

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

static void what_training_left_float_before_a_residual_add_is_completed(void **state)
{
    test_builder b = trained_residual();
    test_placed p = test_place(&b);

    (void)state;
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
static void the_add_reads_through_the_q_that_is_there_with_its_scale(void **state)
{
    test_builder b = trained_residual();
    test_placed p = test_place(&b);
    const qdq_plan_tensor *r0 = tensor_of(p.plan, "r0"), *c2 = tensor_of(p.plan, "c2");

    (void)state;
    assert_true(r0->all && r0->known);
    assert_true(r0->qparam.scale == 0.5f);
    assert_string_equal(r0->origin, "import");
    assert_true(c2->all && !c2->known);
    assert_string_equal(c2->origin, "rule");
    assert_true(is_kept(p.plan, "c1") && is_kept(p.plan, "c3"));
    assert_false(is_kept(p.plan, "c0") || is_kept(p.plan, "c2") || is_kept(p.plan, "a"));
    assert_int_equal(qdq_plan_get_summary(p.plan)->n_kept, 1); /* one operator: Conv */
    test_placed_free(p);
}

static test_builder whole_chain(qdq_elem type, int32_t zero_point)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 32, 8, 8);
    test_qdq(&b, "x", type, 0.25f, zero_point);
    test_conv8(&b, "c0", "x.dq", 32, 32, 3);
    TEST_NODE(&b, "Relu", "r0", "c0");
    test_qdq(&b, "r0", type, 0.5f, zero_point);
    test_conv8(&b, "c1", "r0.dq", 32, 32, 3);
    test_qdq(&b, "c1", type, 0.75f, zero_point);
    test_output(&b, "c1.dq");
    return b;
}

static void a_model_that_is_quantized_leaves_nothing_to_do(void **state)
{
    test_builder b = whole_chain(QDQ_UINT8, 0);
    test_placed p = test_place(&b);

    (void)state;
    assert_empty(p.plan);
    assert_int_equal(p.plan->quantized.n, 2);
    test_placed_free(p);
}

static void what_the_model_has_no_exclusion_takes_out(void **state)
{
    static const char *const patterns[] = {"^c[01]$", NULL};
    test_builder b = whole_chain(QDQ_UINT8, 0);
    qdq_place_opts opts = {.exclude = patterns};
    test_placed p = test_place_with(&b, &opts);

    (void)state;
    assert_true(is_kept(p.plan, "c0") && is_kept(p.plan, "c1"));
    assert_int_equal(p.plan->left_float.n, 0);
    test_placed_free(p);
}

static void an_excluded_node_is_not_completed(void **state)
{
    static const char *const patterns[] = {"^c2$", NULL};
    test_builder b = trained_residual();
    qdq_place_opts opts = {.exclude = patterns};
    test_placed p = test_place_with(&b, &opts);

    (void)state;
    assert_string_equal(test_reason(p.plan, "c2"), "excluded by the user");
    assert_string_equal(test_reason(p.plan, "a"), "an input is not in 8 bits");
    assert_int_equal(p.plan->tensors.n, 1); /* c0 is completed: whoever reads r0 reads codes */
    assert_true(tensor_of(p.plan, "r0")->all);
    test_placed_free(p);
}

static void weights_alone_in_8_bits_get_activations_and_a_bias(void **state)
{
    test_builder b = test_build(17);
    const int64_t kernel[2] = {1, 1};

    (void)state;
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
    assert_true(tensor_of(p.plan, "c")->all);
    test_placed_free(p);
}

static void activations_alone_in_8_bits_get_weights(void **state)
{
    test_builder b = test_build(17);

    (void)state;
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

static void a_float_bias_beside_trained_codes_is_all_that_is_missing(void **state)
{
    test_builder b = test_build(17);

    (void)state;
    TEST_INPUT(&b, "x", 4, 8);
    test_qdq(&b, "x", QDQ_UINT8, 0.25f, 7);
    TEST_CODES(&b, "w", QDQ_INT8, 1, 8, 16);
    TEST_RANDOM(&b, "bias", 16);
    TEST_NODE(&b, "Gemm", "g", "x.dq", "w.dq", "bias");
    test_output(&b, "g");
    test_placed p = test_place(&b);
    assert_string_equal(p.text, "g: x.dq w.dq QB(bias)\n");
    assert_false(is_kept(p.plan, "g"));
    test_placed_free(p);
}

/* The trained form: float weight -> Q -> DQ. */
static void a_float_weight_in_front_of_a_q_counts_as_codes(void **state)
{
    test_builder b = test_build(17);

    (void)state;
    TEST_INPUT(&b, "x", 4, 8);
    test_qdq(&b, "x", QDQ_UINT8, 0.25f, 7);
    TEST_RANDOM(&b, "w", 8, 16);
    test_qdq(&b, "w", QDQ_INT8, 0.01f, 0);
    TEST_NODE(&b, "Gemm", "g", "x.dq", "w.dq");
    test_output(&b, "g");
    test_placed p = test_place(&b);
    assert_empty(p.plan);
    assert_true(is_kept(p.plan, "g"));
    test_placed_free(p);
}

static void int8_activations_are_completed_in_int8(void **state)
{
    test_builder b = test_build(17);

    (void)state;
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

static void codes_of_different_types_do_not_meet_in_one_kernel(void **state)
{
    test_builder b = test_build(17);

    (void)state;
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
static void the_second_operand_of_an_int8_product_becomes_int8(void **state)
{
    test_builder b = test_build(17);

    (void)state;
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

static void sixteen_bits_are_left_alone(void **state)
{
    test_builder b = test_build(21);

    (void)state;
    TEST_INPUT(&b, "x", 4, 8);
    test_qdq(&b, "x", QDQ_UINT16, 0.25f, 0);
    TEST_RANDOM(&b, "w", 8, 16);
    TEST_NODE(&b, "MatMul", "m", "x.dq", "w");
    test_output(&b, "m");
    assert_reason(&b, "m", "its data is quantized in a type that no 8-bit kernel takes: uint16");
}

static void four_bit_weights_are_left_alone(void **state)
{
    test_builder b = test_build(21);

    (void)state;
    TEST_INPUT(&b, "x", 4, 8);
    TEST_CODES(&b, "w", QDQ_INT4, 1, 8, 16);
    TEST_NODE(&b, "MatMul", "m", "x", "w.dq");
    test_output(&b, "m");
    assert_reason(&b, "m", "its weight is quantized in a type that no 8-bit kernel takes: int4");
}

static void blocks_are_left_alone(void **state)
{
    test_builder b = test_build(21);

    (void)state;
    TEST_INPUT(&b, "x", 4, 8);
    qdq_node *dq = TEST_CODES(&b, "w", QDQ_INT8, -1, 8, 16);
    assert_true(qdq_node_set_int(dq, "axis", 0) && qdq_node_set_int(dq, "block_size", 4));
    qdq_node_set_in(dq, 1, TEST_RANDOM(&b, "scales", 2, 16));
    qdq_node_set_in(dq, 2, NULL);
    TEST_NODE(&b, "MatMul", "m", "x", "w.dq");
    test_output(&b, "m");
    assert_reason(&b, "m", "its weight is quantized in blocks");
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

static void scales_along_the_rows_of_a_matrix_fit_no_kernel(void **state)
{
    test_builder b = weight_along(0, QDQ_INT8);

    (void)state;
    assert_reason(&b, "m", "its weight has scales along a dimension that no 8-bit kernel takes");
}

/* convbn-bias case 28: without an axis attribute the scales are per input channel. */
static void case_28_scales_per_input_channel_fit_no_kernel(void **state)
{
    test_builder b = test_build(17);

    (void)state;
    TEST_INPUT(&b, "x", 1, 8, 4, 4);
    test_qdq(&b, "x", QDQ_UINT8, 1, 0);
    qdq_node *c = test_conv8(&b, "c", "x.dq", 8, 8, 1);
    qdq_node_remove_attr(c->in[1].value->producer, "axis");
    test_output(&b, "c");
    assert_reason(&b, "c", "its weight has scales along a dimension that no 8-bit kernel takes");
}

static void several_zero_points_fit_no_kernel(void **state)
{
    test_builder b = weight_along(1, QDQ_INT8);

    (void)state;
    ((int8_t *)(uintptr_t)qdq_graph_find(b.g, "w.z")->init->bytes.data)[3] = 5;
    assert_reason(&b, "m", "its weight has several zero points");
}

static void weights_with_one_zero_point_are_completed(void **state)
{
    test_builder b = test_build(17);
    const int64_t dims[3] = {8, 16, 0};

    (void)state;
    TEST_INPUT(&b, "x", 4, 8);
    test_codes(&b, "w", QDQ_UINT8, dims, 1, 128);
    TEST_NODE(&b, "MatMul", "m", "x", "w.dq");
    test_output(&b, "m");
    test_assert_placed(&b, "m: QDQ(x) w.dq\n");
}

static void a_scale_of_zero_is_no_scale(void **state)
{
    test_builder b = weight_along(1, QDQ_INT8);

    (void)state;
    memset((void *)(uintptr_t)qdq_graph_find(b.g, "w.s")->init->bytes.data, 0, 4);
    assert_reason(&b, "m",
                  "its weight is quantized in a way that no 8-bit kernel takes: its scale is 0");
}

static void activations_with_a_scale_per_channel_fit_no_kernel(void **state)
{
    test_builder b = test_build(17);

    (void)state;
    TEST_INPUT(&b, "x", 4, 8);
    TEST_RANDOM(&b, "s", 8);
    TEST_NODE(&b, "QuantizeLinear", "x.q", "x", "s");
    TEST_NODE(&b, "DequantizeLinear", "x.dq", "x.q", "s");
    TEST_RANDOM(&b, "w", 8, 16);
    TEST_NODE(&b, "MatMul", "m", "x.dq", "w");
    test_output(&b, "m");
    assert_reason(&b, "m", "its data is quantized with a scale for each channel");
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

static void a_computed_scale_is_kept_where_no_number_is_asked_for(void **state)
{
    test_builder b = test_build(17);

    (void)state;
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
    assert_true(is_kept(p.plan, "c0"));
    assert_int_equal(p.plan->tensors.n, 1); /* c1 */
    test_placed_free(p);
}

static void a_computed_scale_cannot_be_handed_on(void **state)
{
    test_builder b = test_build(17);

    (void)state;
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

static void no_bias_follows_a_computed_scale(void **state)
{
    test_builder b = test_build(17);

    (void)state;
    TEST_INPUT(&b, "x", 4, 8);
    add_computed(&b, "x");
    TEST_CODES(&b, "w", QDQ_INT8, 1, 8, 16);
    TEST_RANDOM(&b, "bias", 16);
    TEST_NODE(&b, "Gemm", "g", "x.dq", "w.dq", "bias");
    test_output(&b, "g");
    assert_reason(&b, "g", "its bias would follow a scale that is computed");
}

/* --- several Q behind one value --------------------------------------------------------------- */

static test_builder two_quantizers(float second)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 8, 4, 4);
    test_qdq(&b, "x", QDQ_UINT8, 0.25f, 0);
    test_conv8(&b, "c0", "x.dq", 8, 8, 1);
    test_qdq(&b, "c0", QDQ_UINT8, 0.5f, 0);
    test_q_or_dq(&b, "QuantizeLinear", "two.q", "c0", QDQ_UINT8, second, 0);
    test_q_or_dq(&b, "DequantizeLinear", "two.dq", "two.q", QDQ_UINT8, second, 0);
    test_conv8(&b, "c1", "c0.dq", 8, 8, 1);
    test_conv8(&b, "c2", "two.dq", 8, 8, 1);
    test_qdq(&b, "c1", QDQ_UINT8, 0.5f, 0);
    test_qdq(&b, "c2", QDQ_UINT8, 0.5f, 0);
    test_output(&b, "c1.dq");
    test_output(&b, "c2.dq");
    return b;
}

static void one_q_for_each_reader_is_whole_if_they_are_equal(void **state)
{
    test_builder b = two_quantizers(0.5f);
    test_placed p = test_place(&b);

    (void)state;
    assert_empty(p.plan);
    test_placed_free(p);
}

static void a_result_with_two_scales_fuses_with_neither(void **state)
{
    test_builder b = two_quantizers(0.75f);
    test_placed p = test_place(&b);

    (void)state;
    assert_int_equal(p.plan->tensors.n, 0);
    assert_string_equal(test_reason(p.plan, "c0"),
                        "its result is quantized more than once, in different ways");
    assert_true(is_kept(p.plan, "c1") && is_kept(p.plan, "c2"));
    test_placed_free(p);
}

/* --- operators that move data ----------------------------------------------------------------- */

static qdq_node *add_pool(test_builder *b, const char *name, const char *x)
{
    const int64_t two[2] = {2, 2};
    qdq_node *pool = TEST_NODE(b, "MaxPool", name, x);

    assert_true(qdq_node_set_ints(pool, "kernel_shape", two, 2));
    return pool;
}

static void what_moves_data_hands_on_the_scale_that_is_there(void **state)
{
    test_builder b = test_build(17);

    (void)state;
    TEST_INPUT(&b, "x", 1, 8, 4, 4);
    test_qdq(&b, "x", QDQ_UINT8, 0.25f, 9);
    add_pool(&b, "p", "x.dq");
    test_conv8(&b, "c", "p", 8, 8, 1);
    test_output(&b, "c");
    test_placed p = test_place(&b);
    assert_string_equal(p.text, "p: x.dq\nc: QDQ(p) c.w.dq c.b.dq\n");
    const qdq_plan_tensor *t = tensor_of(p.plan, "p");
    assert_true(t->known && t->qparam.scale == 0.25f && t->qparam.zero_point == 9);
    test_placed_free(p);
}

/* c -> p -> Q: the Conv needs a Q of its own, and the pool the same scale on both sides. */
static test_builder conv_pool(bool other_reader)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 8, 4, 4);
    test_qdq(&b, "x", QDQ_UINT8, 0.25f, 0);
    test_conv8(&b, "c", "x.dq", 8, 8, 1);
    add_pool(&b, "p", "c");
    TEST_NODE(&b, "Flatten", "f", "p");
    test_qdq(&b, "f", QDQ_UINT8, 0.5f, 3);
    TEST_CODES(&b, "w", QDQ_INT8, 1, 72, 4);
    TEST_NODE(&b, "MatMul", "m", "f.dq", "w.dq");
    if (other_reader)
        test_output(&b, "c");
    test_output(&b, "m");
    return b;
}

static void the_scale_behind_what_moves_data_is_that_in_front(void **state)
{
    test_builder b = conv_pool(false);
    test_placed p = test_place(&b);

    (void)state;
    assert_string_equal(p.text, "c: x.dq c.w.dq c.b.dq\n"
                                "p: QDQ(c)\n"
                                "f: QDQ(p)\n"
                                "m: f.dq w.dq\n");
    assert_true(tensor_of(p.plan, "c")->qparam.scale == 0.5f && tensor_of(p.plan, "c")->known);
    assert_true(tensor_of(p.plan, "p")->qparam.zero_point == 3 && tensor_of(p.plan, "p")->known);
    assert_int_equal(p.plan->tensors.n, 2);
    test_placed_free(p);
}

/* The scale was trained for the other branch: taking it would clip what others read. */
static void a_scale_is_not_handed_back_past_other_readers(void **state)
{
    test_builder b = conv_pool(true);
    test_placed p = test_place(&b);

    (void)state;
    assert_false(tensor_of(p.plan, "c")->known);
    assert_string_equal(test_reason(p.plan, "f"),
                        "its result is quantized with another scale than its input");
    test_placed_free(p);
}

static void a_pool_between_two_scales_stays_float(void **state)
{
    test_builder b = test_build(17);

    (void)state;
    TEST_INPUT(&b, "x", 1, 8, 4, 4);
    test_qdq(&b, "x", QDQ_UINT8, 0.25f, 0);
    add_pool(&b, "p", "x.dq");
    test_qdq(&b, "p", QDQ_UINT8, 0.5f, 0);
    test_conv8(&b, "c", "p.dq", 8, 8, 1);
    test_output(&b, "c");
    assert_reason(&b, "p", "its result is quantized with another scale than its input");
}

static void a_pool_inside_its_scale_is_kept(void **state)
{
    test_builder b = test_build(17);

    (void)state;
    TEST_INPUT(&b, "x", 1, 8, 4, 4);
    test_qdq(&b, "x", QDQ_UINT8, 0.25f, 0);
    add_pool(&b, "p", "x.dq");
    test_qdq(&b, "p", QDQ_UINT8, 0.25f, 0);
    TEST_NODE(&b, "Softmax", "sm", "p.dq");
    test_output(&b, "sm");
    test_placed p = test_place(&b);
    assert_true(is_kept(p.plan, "p"));
    test_placed_free(p);
}

/* --- joint operators -------------------------------------------------------------------------- */

/* As it is when a float model is quantized: a Q for a float operator's sake alone gains nothing. */
static void an_add_of_a_float_operator_stays_float(void **state)
{
    test_builder b = test_build(17);

    (void)state;
    TEST_INPUT(&b, "x", 1, 8, 4, 4);
    test_qdq(&b, "x", QDQ_UINT8, 0.25f, 0);
    TEST_INPUT(&b, "y", 1, 8, 4, 4);
    TEST_NODE(&b, "Softmax", "sm", "y");
    TEST_NODE(&b, "Add", "a", "x.dq", "sm");
    test_qdq(&b, "a", QDQ_UINT8, 0.5f, 0);
    test_conv8(&b, "c", "a.dq", 8, 8, 1);
    test_qdq(&b, "c", QDQ_UINT8, 0.5f, 0);
    test_output(&b, "c.dq");
    test_placed p = test_place(&b);
    assert_string_equal(test_reason(p.plan, "a"), "an input is not in 8 bits");
    assert_int_equal(p.plan->tensors.n, 0);
    test_placed_free(p);
}

static void an_add_of_trained_operands_gets_its_result(void **state)
{
    test_builder b = test_build(17);

    (void)state;
    TEST_INPUT(&b, "x", 1, 8, 4, 4);
    test_qdq(&b, "x", QDQ_UINT8, 0.25f, 0);
    TEST_CODES(&b, "half", QDQ_UINT8, -1, 1);
    TEST_NODE(&b, "Add", "a", "x.dq", "half.dq");
    test_conv8(&b, "c", "a", 8, 8, 1);
    test_qdq(&b, "c", QDQ_UINT8, 0.5f, 0);
    test_output(&b, "c.dq");
    test_assert_placed(&b, "a: x.dq half.dq\nc: QDQ(a) c.w.dq c.b.dq\n");
}

/* --- MatMul with a bias behind it ------------------------------------------------------------- */

static void the_int32_bias_of_a_matmul_is_part_of_it(void **state)
{
    test_builder b = test_build(17);

    (void)state;
    TEST_INPUT(&b, "x", 4, 8);
    test_qdq(&b, "x", QDQ_UINT8, 0.25f, 0);
    TEST_CODES(&b, "w", QDQ_INT8, 1, 8, 16);
    TEST_CODES(&b, "bias", QDQ_INT32, 0, 16);
    TEST_NODE(&b, "MatMul", "m", "x.dq", "w.dq");
    TEST_NODE(&b, "Add", "a", "m", "bias.dq");
    test_output(&b, "a");
    test_placed p = test_place(&b);
    assert_empty(p.plan);
    test_placed_free(p);
}

static void the_float_bias_of_a_trained_matmul_becomes_int32(void **state)
{
    test_builder b = test_build(17);

    (void)state;
    TEST_INPUT(&b, "x", 4, 8);
    test_qdq(&b, "x", QDQ_UINT8, 0.25f, 0);
    TEST_CODES(&b, "w", QDQ_INT8, 1, 8, 16);
    TEST_RANDOM(&b, "bias", 16);
    TEST_NODE(&b, "MatMul", "m", "x.dq", "w.dq");
    TEST_NODE(&b, "Add", "a", "bias", "m");
    test_output(&b, "a");
    test_assert_placed(&b, "m: x.dq w.dq\na: QB(bias) m\n");
}

static void a_bias_of_8_bits_has_no_kernel(void **state)
{
    test_builder b = test_build(17);

    (void)state;
    TEST_INPUT(&b, "x", 4, 8);
    test_qdq(&b, "x", QDQ_UINT8, 0.25f, 0);
    TEST_CODES(&b, "w", QDQ_INT8, 1, 8, 16);
    TEST_CODES(&b, "bias", QDQ_INT8, 0, 16);
    TEST_NODE(&b, "Gemm", "g", "x.dq", "w.dq", "bias.dq");
    test_output(&b, "g");
    assert_reason(&b, "g", "its bias is quantized in a way that no 8-bit kernel takes");
}

/* --- whatever else reads a value -------------------------------------------------------------- */

static void a_graph_output_beside_the_q_becomes_the_dequantized_value(void **state)
{
    test_builder b = whole_chain(QDQ_UINT8, 0);

    (void)state;
    test_output(&b, "r0");
    test_placed p = test_place(&b);
    assert_int_equal(p.plan->tensors.n, 1);
    assert_true(tensor_of(p.plan, "r0")->all && tensor_of(p.plan, "r0")->known);
    test_placed_free(p);
}

static void a_second_conv_reads_through_the_q_of_the_first(void **state)
{
    test_builder b = test_build(17);

    (void)state;
    TEST_INPUT(&b, "x", 1, 8, 4, 4);
    test_qdq(&b, "x", QDQ_UINT8, 0.25f, 0);
    test_conv8(&b, "c0", "x.dq", 8, 8, 1);
    test_conv8(&b, "c1", "x", 8, 8, 1); /* not trained */
    test_qdq(&b, "c0", QDQ_UINT8, 0.5f, 0);
    test_output(&b, "c0.dq");
    test_output(&b, "c1");
    test_placed p = test_place(&b);
    assert_string_equal(p.text, "c0: x.dq c0.w.dq c0.b.dq\nc1: QDQ(x) c1.w.dq c1.b.dq\n");
    const qdq_plan_tensor *t = tensor_of(p.plan, "x");
    assert_true(t->known && t->qparam.scale == 0.25f && !t->all);
    assert_string_equal(t->origin, "import");
    test_placed_free(p);
}

/* A graph inside reads r0: then r0 is no result of one Q alone. */
static void a_reader_inside_a_subgraph_counts(void **state)
{
    test_builder b = whole_chain(QDQ_UINT8, 0);
    const char *out = "if";

    (void)state;
    assert_non_null(qdq_graph_add_input(b.g, "cond", qdq_type_fixed(b.m, QDQ_BOOL, 0, NULL)));
    qdq_node *n = qdq_graph_add_node(b.g, NULL, "", "If", "if", 1, 1, &out);
    assert_non_null(n);
    qdq_node_set_in(n, 0, qdq_graph_find(b.g, "cond"));
    for (int i = 0; i < 2; i++) {
        const char *inner = i == 0 ? "p" : "q";
        qdq_graph *g = qdq_graph_new(b.m, n, i == 0 ? "then" : "else");
        qdq_attr a = {.name = qdq_intern(b.m, i == 0 ? "then_branch" : "else_branch"),
                      .type = QDQ_ATTR_GRAPH,
                      .count = 1,
                      .v.g = g};
        qdq_attr *kept = qdq_arena_alloc(&b.m->arena, sizeof *kept);

        assert_true(g != NULL && kept != NULL);
        *kept = a;
        assert_true(qdq_node_set_attr(n, kept));
        qdq_node *relu = qdq_graph_add_node(g, NULL, "", "Relu", "", 1, 1, &inner);
        assert_non_null(relu);
        qdq_node_set_in(relu, 0, qdq_graph_find(b.g, "r0"));
        assert_true(qdq_graph_add_output(g, relu->out[0]));
    }
    test_output(&b, "if");
    test_placed p = test_place(&b);
    assert_true(tensor_of(p.plan, "r0")->all);
    assert_false(is_kept(p.plan, "c0"));
    test_placed_free(p);
}

/* --- other forms ------------------------------------------------------------------------------ */

static void operators_on_codes_are_passed_over(void **state)
{
    qdq_model *m = test_model("g (uint8[1,8,4,4] x) => (float[1,8,4,4] y) <\n"
                              "  float s = {0.5}, uint8 z = {0}, int8[8,8,1,1] w = {1, 1, 1, 1, 1, "
                              "1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,"
                              "1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, "
                              "1, 1, 1, 1, 1, 1, 1, 1, 1, 1,"
                              "1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, int8 wz = {0}> {\n"
                              "  [qc] c = QLinearConv(x, s, z, w, s, wz, s, z)\n"
                              "  [ci] i = ConvInteger(x, w, z, wz)\n"
                              "  [dq] y = DequantizeLinear(c, s, z)\n"
                              "}\n");
    qdq_error err = QDQ_ERROR_INIT;
    qdq_target *t = NULL;
    qdq_plan *p = qdq_plan_new();

    (void)state;
    assert_ok(qdq_model_infer(m, NULL, &err));
    assert_ok(qdq_target_load("ort-cpu", &t, &err));
    assert_ok(qdq_place(m, t, NULL, p, &err));
    assert_true(qdq_plan_finish(p));
    assert_empty(p);
    assert_int_equal(p->quantized.n, 0);
    qdq_plan_free(p);
    qdq_target_free(t);
    qdq_model_free(m);
}

/* The scale is missing, the data is: nothing that reaches placement unchecked makes it crash. */
static void q_and_dq_without_inputs_are_no_reason_to_fail(void **state)
{
    test_builder b = test_build(17);
    qdq_error err = QDQ_ERROR_INIT;
    qdq_target *t = NULL;
    qdq_plan *plan = qdq_plan_new();

    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_training_left_float_before_a_residual_add_is_completed),
        cmocka_unit_test(the_add_reads_through_the_q_that_is_there_with_its_scale),
        cmocka_unit_test(a_model_that_is_quantized_leaves_nothing_to_do),
        cmocka_unit_test(what_the_model_has_no_exclusion_takes_out),
        cmocka_unit_test(an_excluded_node_is_not_completed),
        cmocka_unit_test(weights_alone_in_8_bits_get_activations_and_a_bias),
        cmocka_unit_test(activations_alone_in_8_bits_get_weights),
        cmocka_unit_test(a_float_bias_beside_trained_codes_is_all_that_is_missing),
        cmocka_unit_test(a_float_weight_in_front_of_a_q_counts_as_codes),
        cmocka_unit_test(int8_activations_are_completed_in_int8),
        cmocka_unit_test(codes_of_different_types_do_not_meet_in_one_kernel),
        cmocka_unit_test(the_second_operand_of_an_int8_product_becomes_int8),
        cmocka_unit_test(sixteen_bits_are_left_alone),
        cmocka_unit_test(four_bit_weights_are_left_alone),
        cmocka_unit_test(blocks_are_left_alone),
        cmocka_unit_test(scales_along_the_rows_of_a_matrix_fit_no_kernel),
        cmocka_unit_test(case_28_scales_per_input_channel_fit_no_kernel),
        cmocka_unit_test(several_zero_points_fit_no_kernel),
        cmocka_unit_test(weights_with_one_zero_point_are_completed),
        cmocka_unit_test(a_scale_of_zero_is_no_scale),
        cmocka_unit_test(activations_with_a_scale_per_channel_fit_no_kernel),
        cmocka_unit_test(a_computed_scale_is_kept_where_no_number_is_asked_for),
        cmocka_unit_test(a_computed_scale_cannot_be_handed_on),
        cmocka_unit_test(no_bias_follows_a_computed_scale),
        cmocka_unit_test(one_q_for_each_reader_is_whole_if_they_are_equal),
        cmocka_unit_test(a_result_with_two_scales_fuses_with_neither),
        cmocka_unit_test(what_moves_data_hands_on_the_scale_that_is_there),
        cmocka_unit_test(the_scale_behind_what_moves_data_is_that_in_front),
        cmocka_unit_test(a_scale_is_not_handed_back_past_other_readers),
        cmocka_unit_test(a_pool_between_two_scales_stays_float),
        cmocka_unit_test(a_pool_inside_its_scale_is_kept),
        cmocka_unit_test(an_add_of_a_float_operator_stays_float),
        cmocka_unit_test(an_add_of_trained_operands_gets_its_result),
        cmocka_unit_test(the_int32_bias_of_a_matmul_is_part_of_it),
        cmocka_unit_test(the_float_bias_of_a_trained_matmul_becomes_int32),
        cmocka_unit_test(a_bias_of_8_bits_has_no_kernel),
        cmocka_unit_test(a_graph_output_beside_the_q_becomes_the_dequantized_value),
        cmocka_unit_test(a_second_conv_reads_through_the_q_of_the_first),
        cmocka_unit_test(a_reader_inside_a_subgraph_counts),
        cmocka_unit_test(operators_on_codes_are_passed_over),
        cmocka_unit_test(q_and_dq_without_inputs_are_no_reason_to_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
