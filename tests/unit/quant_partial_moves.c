/* Placement on models that have Q/DQ already: what lies between the quantized operators, and what
 * else reads their values. */
#include "ir/shape.h"
#include "support/placed.h"
#include "support/test.h"

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

TEST(one_q_for_each_reader_is_whole_if_they_are_equal)
{
    test_builder b = two_quantizers(0.5f);
    test_placed p = test_place(&b);

    test_assert_empty(p.plan);
    test_placed_free(p);
}

TEST(a_result_with_two_scales_fuses_with_neither)
{
    test_builder b = two_quantizers(0.75f);
    test_placed p = test_place(&b);

    assert_int_equal(p.plan->tensors.n, 0);
    assert_string_equal(test_reason(p.plan, "c0"),
                        "its result is quantized more than once, in different ways");
    assert_true(test_is_kept(p.plan, "c1") && test_is_kept(p.plan, "c2"));
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

TEST(what_moves_data_hands_on_the_scale_that_is_there)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 8, 4, 4);
    test_qdq(&b, "x", QDQ_UINT8, 0.25f, 9);
    add_pool(&b, "p", "x.dq");
    test_conv8(&b, "c", "p", 8, 8, 1);
    test_output(&b, "c");
    test_placed p = test_place(&b);
    assert_string_equal(p.text, "p: x.dq\nc: QDQ(p) c.w.dq c.b.dq\n");
    const qdq_plan_tensor *t = test_planned_tensor(p.plan, "p");
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

TEST(the_scale_behind_what_moves_data_is_that_in_front)
{
    test_builder b = conv_pool(false);
    test_placed p = test_place(&b);

    assert_string_equal(p.text, "c: x.dq c.w.dq c.b.dq\n"
                                "p: QDQ(c)\n"
                                "f: QDQ(p)\n"
                                "m: f.dq w.dq\n");
    assert_true(test_planned_tensor(p.plan, "c")->qparam.scale == 0.5f &&
                test_planned_tensor(p.plan, "c")->known);
    assert_true(test_planned_tensor(p.plan, "p")->qparam.zero_point == 3 &&
                test_planned_tensor(p.plan, "p")->known);
    assert_int_equal(p.plan->tensors.n, 2);
    test_placed_free(p);
}

/* The scale was trained for the other branch: taking it would clip what others read. */
TEST(a_scale_is_not_handed_back_past_other_readers)
{
    test_builder b = conv_pool(true);
    test_placed p = test_place(&b);

    assert_false(test_planned_tensor(p.plan, "c")->known);
    assert_string_equal(test_reason(p.plan, "f"),
                        "its result is quantized with another scale than its input");
    test_placed_free(p);
}

TEST(a_pool_between_two_scales_stays_float)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 8, 4, 4);
    test_qdq(&b, "x", QDQ_UINT8, 0.25f, 0);
    add_pool(&b, "p", "x.dq");
    test_qdq(&b, "p", QDQ_UINT8, 0.5f, 0);
    test_conv8(&b, "c", "p.dq", 8, 8, 1);
    test_output(&b, "c");
    test_assert_reason(&b, "p", "its result is quantized with another scale than its input");
}

TEST(a_pool_inside_its_scale_is_kept)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 8, 4, 4);
    test_qdq(&b, "x", QDQ_UINT8, 0.25f, 0);
    add_pool(&b, "p", "x.dq");
    test_qdq(&b, "p", QDQ_UINT8, 0.25f, 0);
    TEST_NODE(&b, "Softmax", "sm", "p.dq");
    test_output(&b, "sm");
    test_placed p = test_place(&b);
    assert_true(test_is_kept(p.plan, "p"));
    test_placed_free(p);
}

/* --- joint operators -------------------------------------------------------------------------- */

/* As it is when a float model is quantized: a Q for a float operator's sake alone gains nothing. */
TEST(an_add_of_a_float_operator_stays_float)
{
    test_builder b = test_build(17);

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

TEST(an_add_of_trained_operands_gets_its_result)
{
    test_builder b = test_build(17);

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

TEST(the_int32_bias_of_a_matmul_is_part_of_it)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 4, 8);
    test_qdq(&b, "x", QDQ_UINT8, 0.25f, 0);
    TEST_CODES(&b, "w", QDQ_INT8, 1, 8, 16);
    TEST_CODES(&b, "bias", QDQ_INT32, 0, 16);
    TEST_NODE(&b, "MatMul", "m", "x.dq", "w.dq");
    TEST_NODE(&b, "Add", "a", "m", "bias.dq");
    test_output(&b, "a");
    test_placed p = test_place(&b);
    test_assert_empty(p.plan);
    test_placed_free(p);
}

TEST(the_float_bias_of_a_trained_matmul_becomes_int32)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 4, 8);
    test_qdq(&b, "x", QDQ_UINT8, 0.25f, 0);
    TEST_CODES(&b, "w", QDQ_INT8, 1, 8, 16);
    TEST_RANDOM(&b, "bias", 16);
    TEST_NODE(&b, "MatMul", "m", "x.dq", "w.dq");
    TEST_NODE(&b, "Add", "a", "bias", "m");
    test_output(&b, "a");
    test_assert_placed(&b, "m: x.dq w.dq\na: QB(bias) m\n");
}

TEST(a_bias_of_8_bits_has_no_kernel)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 4, 8);
    test_qdq(&b, "x", QDQ_UINT8, 0.25f, 0);
    TEST_CODES(&b, "w", QDQ_INT8, 1, 8, 16);
    TEST_CODES(&b, "bias", QDQ_INT8, 0, 16);
    TEST_NODE(&b, "Gemm", "g", "x.dq", "w.dq", "bias.dq");
    test_output(&b, "g");
    test_assert_reason(&b, "g", "its bias is quantized in a way that no 8-bit kernel takes");
}

/* --- whatever else reads a value -------------------------------------------------------------- */

TEST(a_graph_output_beside_the_q_becomes_the_dequantized_value)
{
    test_builder b = test_trained_chain(QDQ_UINT8, 0);

    test_output(&b, "r0");
    test_placed p = test_place(&b);
    assert_int_equal(p.plan->tensors.n, 1);
    assert_true(test_planned_tensor(p.plan, "r0")->all && test_planned_tensor(p.plan, "r0")->known);
    test_placed_free(p);
}

TEST(a_second_conv_reads_through_the_q_of_the_first)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 8, 4, 4);
    test_qdq(&b, "x", QDQ_UINT8, 0.25f, 0);
    test_conv8(&b, "c0", "x.dq", 8, 8, 1);
    test_conv8(&b, "c1", "x", 8, 8, 1); /* not trained */
    test_qdq(&b, "c0", QDQ_UINT8, 0.5f, 0);
    test_output(&b, "c0.dq");
    test_output(&b, "c1");
    test_placed p = test_place(&b);
    assert_string_equal(p.text, "c0: x.dq c0.w.dq c0.b.dq\nc1: QDQ(x) c1.w.dq c1.b.dq\n");
    const qdq_plan_tensor *t = test_planned_tensor(p.plan, "x");
    assert_true(t->known && t->qparam.scale == 0.25f && !t->all);
    assert_string_equal(t->origin, "import");
    test_placed_free(p);
}

/* A graph inside reads r0: then r0 is no result of one Q alone. */
TEST(a_reader_inside_a_subgraph_counts)
{
    test_builder b = test_trained_chain(QDQ_UINT8, 0);
    const char *out = "if";

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
    assert_true(test_planned_tensor(p.plan, "r0")->all);
    assert_false(test_is_kept(p.plan, "c0"));
    test_placed_free(p);
}

/* --- other forms ------------------------------------------------------------------------------ */

TEST(operators_on_codes_are_passed_over)
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

    assert_ok(qdq_model_infer(m, NULL, &err));
    assert_ok(qdq_target_load("ort-cpu", &t, &err));
    assert_ok(qdq_place(m, t, NULL, p, &err));
    assert_true(qdq_plan_finish(p));
    test_assert_empty(p);
    assert_int_equal(p->quantized.n, 0);
    qdq_plan_free(p);
    qdq_target_free(t);
    qdq_model_free(m);
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
