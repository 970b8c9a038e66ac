/* place_tensorrt_options.c - what the user asks for, what the model has, and graphs of any form, on
 * tensorrt: fp8, Q/DQ that are there, subgraphs, random graphs. */
#include "ir/graph_check.h"
#include "ir/shape.h"
#include "quant/insert/insert.h"
#include "support/placed.h"
#include "support/random_graph.h"
#include "support/test.h"

#define ON "tensorrt"

static test_builder residual(void)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 32, 8, 8);
    test_conv(&b, "c0", "x", 32, 32, 3, 1);
    TEST_NODE(&b, "Relu", "r0", "c0");
    test_conv(&b, "c1", "r0", 32, 32, 3, 1);
    TEST_NODE(&b, "Relu", "r1", "c1");
    test_conv(&b, "c2", "r1", 32, 32, 3, 1);
    TEST_NODE(&b, "Add", "a", "c2", "r0");
    test_output(&b, "a");
    return b;
}

TEST(an_excluded_convolution_takes_no_add)
{
    const char *exclude[] = {"c1$", NULL};
    const qdq_place_opts opts = {.exclude = exclude};
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 32, 8, 8);
    test_conv(&b, "c0", "x", 32, 32, 3, 1);
    TEST_NODE(&b, "Relu", "r0", "c0");
    test_conv(&b, "c1", "r0", 32, 32, 3, 1);
    test_conv(&b, "c2", "r0", 32, 32, 3, 1);
    TEST_NODE(&b, "Add", "a", "c1", "c2");
    test_conv(&b, "c3", "a", 32, 32, 3, 1);
    test_output(&b, "c3");
    TEST_ASSERT_LINES(&b, ON, &opts, "c1: r0 c1.w c1.b", "c2: QDQ(r0) QW(c2.w) c2.b",
                      "a: QDQ(c1) c2");
}

TEST(a_graph_output_stays_the_float_result)
{
    test_builder b = test_build(17);
    qdq_error err = QDQ_ERROR_INIT;

    TEST_INPUT(&b, "x", 1, 32, 8, 8);
    test_conv(&b, "c0", "x", 32, 32, 3, 1);
    TEST_NODE(&b, "Relu", "r0", "c0");
    test_conv(&b, "c1", "r0", 32, 32, 3, 1);
    test_output(&b, "r0");
    test_output(&b, "c1");
    const char *lines[] = {"c1: QDQ(r0) QW(c1.w) c1.b", NULL};
    test_placed p = test_assert_lines(&b, ON, NULL, lines);
    for (size_t i = 0; i < p.plan->tensors.n; i++)
        p.plan->tensors.at[i].qparam.scale = 0.1f;
    assert_ok(qdq_insert(p.m, p.plan, NULL, &err));
    assert_string_equal(p.m->graph->outputs.at[0]->name, "r0");
    assert_int_equal(p.m->graph->outputs.at[0]->producer->op, QDQ_OP_RELU);
    test_placed_free(p);
}

/* Q/DQ around every operator */
TEST(results_get_qdq_for_all_readers_where_the_target_wants_that)
{
    test_builder b = residual();
    const qdq_place_opts opts = {0};
    qdq_error err = QDQ_ERROR_INIT;
    qdq_target *t = NULL;
    qdq_plan *p[2] = {qdq_plan_new(), qdq_plan_new()};

    TEST_NODE(&b, "Shape", "s", "c2");
    test_output(&b, "s");
    qdq_model *m = test_built(&b);
    assert_ok(qdq_target_load(ON, &t, &err));
    assert_ok(qdq_place(m, t, &opts, p[0], &err));
    for (size_t i = 0; i < p[0]->tensors.n; i++) /* the main branch of a residual Add stays float */
        assert_string_not_equal(p[0]->tensors.at[i].tensor, "c2");
    assert_ok(qdq_target_set(t, "partitions.quantize_outputs", "true", &err));
    assert_ok(qdq_place(m, t, &opts, p[1], &err));
    size_t convs = 0;
    for (size_t i = 0; i < p[1]->tensors.n; i++) {
        const qdq_plan_tensor *entry = &p[1]->tensors.at[i];

        assert_string_not_equal(entry->tensor, "a"); /* a graph output */
        if (entry->tensor[0] != 'c')
            continue;
        assert_true(entry->all && entry->qparam.type == QDQ_INT8);
        convs++;
    }
    assert_int_equal(convs, 3);
    assert_ok(qdq_target_set(t, "graph_output", "dequantized", &err));
    qdq_plan_free(p[1]);
    p[1] = qdq_plan_new();
    assert_ok(qdq_place(m, t, &opts, p[1], &err));
    bool output = false;
    for (size_t i = 0; i < p[1]->tensors.n; i++) {
        p[1]->tensors.at[i].qparam.scale = 0.1f;
        output |= strcmp(p[1]->tensors.at[i].tensor, "a") == 0;
    }
    assert_true(output);
    assert_ok(qdq_insert(m, p[1], NULL, &err));
    qdq_plan_free(p[0]); /* and again: nothing is left to do */
    p[0] = qdq_plan_new();
    assert_ok(qdq_place(m, t, &opts, p[0], &err));
    assert_int_equal(p[0]->tensors.n + p[0]->weights.n, 0);
    qdq_plan_free(p[0]);
    qdq_plan_free(p[1]);
    qdq_target_free(t);
    qdq_model_free(m);
}

/* no neighbour has a say */
TEST(operators_that_are_named_are_quantized_whatever_is_around)
{
    const char *types[] = {"Conv", "Add", NULL};
    const qdq_place_opts opts = {.op_types = types};
    test_builder b = residual();

    TEST_ASSERT_LINES(&b, ON, &opts, "c0: QDQ(x) QW(c0.w) c0.b", "c2: QDQ(r1) QW(c2.w) c2.b",
                      "a: QDQ(c2) QDQ(r0)", "r1: c1");
}

TEST(included_nodes_are_all_that_is_quantized)
{
    const char *include[] = {"^c2$", NULL};
    const qdq_place_opts opts = {.include = include};
    test_builder b = residual();

    TEST_ASSERT_LINES(&b, ON, &opts, "c0: x c0.w c0.b", "c2: QDQ(r1) QW(c2.w) c2.b", "a: c2 r0");
}

TEST(a_constant_operand_is_quantized_when_it_is_asked_for)
{
    const char *types[] = {"Add", "Softmax", NULL};
    const qdq_place_opts opts = {.op_types = types};
    const char *lines[] = {"a: QDQ(x) QDQ(k)", "s: a", NULL};
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 4, 32);
    TEST_RANDOM(&b, "k", 32);
    TEST_NODE(&b, "Add", "a", "x", "k");
    TEST_NODE(&b, "Softmax", "s", "a");
    test_output(&b, "s");
    test_placed p = test_assert_lines(&b, ON, &opts, lines);
    assert_string_equal(test_reason(p.plan, "s"), "no 8-bit kernel on this target");
    test_placed_free(p);
}

/* the list of operators is the target's, not that of an installed tool */
TEST(topk_stays_float)
{
    const char *outs[2] = {"v", "i"};
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 32, 8, 8);
    test_conv(&b, "c0", "x", 32, 32, 3, 1);
    TEST_NODE(&b, "Flatten", "f", "c0");
    TEST_INTS(&b, "five", 5);
    qdq_node *n = qdq_graph_add_node(b.g, NULL, "", "TopK", "v", 2, 2, outs);
    assert_non_null(n);
    qdq_node_set_in(n, 0, qdq_graph_find(b.g, "f"));
    qdq_node_set_in(n, 1, qdq_graph_find(b.g, "five"));
    test_conv(&b, "c1", "c0", 32, 32, 3, 1);
    test_output(&b, "v");
    test_output(&b, "c1");
    TEST_ASSERT_LINES(&b, ON, NULL, "f: c0", "v: f five", "c1: QDQ(c0) QW(c1.w) c1.b");
}

TEST(fp8_leaves_the_input_of_layernorm_float)
{
    const int64_t perm[4] = {0, 2, 3, 1};
    test_builder b = test_build(19);

    TEST_INPUT(&b, "x", 1, 32, 8, 8);
    test_conv(&b, "c1", "x", 32, 32, 3, 1);
    assert_true(qdq_node_set_ints(TEST_NODE(&b, "Transpose", "t", "c1"), "perm", perm, 4));
    TEST_RANDOM(&b, "gamma", 32);
    TEST_NODE(&b, "LayerNormalization", "ln", "t", "gamma");
    TEST_RANDOM(&b, "w", 32, 64);
    TEST_NODE(&b, "MatMul", "y", "ln", "w");
    test_output(&b, "y");
    TEST_ASSERT_LINES(&b, "tensorrt-fp8", NULL, "c1: QDQ(x) QW(c1.w) c1.b", "ln: t gamma",
                      "y: QDQ(ln) QW(w)");
}

/* with fp8 */
TEST(fp8_leaves_narrow_and_wide_convolutions_float)
{
    static const struct {
        int64_t out, in, k, group;
        bool excluded;
    } cases[] = {{64, 3, 7, 1, true},  {8, 8, 3, 1, true},   {12, 16, 3, 1, true},
                 {32, 1, 3, 32, true}, {32, 16, 3, 1, true}, {17, 17, 3, 1, false},
                 {64, 64, 7, 1, true}};

    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        const int64_t dims[] = {1, cases[i].in * cases[i].group, 8, 8, 0};

        test_builder b = test_build(19);
        test_input(&b, "x", dims);
        test_conv(&b, "c", "x", cases[i].out, dims[1], cases[i].k, cases[i].group);
        test_output(&b, "c");
        test_placed p = test_place_on(&b, "tensorrt-fp8", NULL);
        assert_int_equal(strcmp(test_reason(p.plan, "c"), "(not left float)") != 0,
                         cases[i].excluded);
        if (!cases[i].excluded)
            assert_int_equal(p.plan->tensors.at[0].qparam.type, QDQ_FLOAT8E4M3FN);
        test_placed_free(p);
    }
}

/* --- what the model has ----------------------------------------------------------------------- */

TEST(q_and_dq_of_the_model_are_not_doubled)
{
    const char *lines[] = {"c0: x.dq c0.w.dq c0.b.dq", "r0: c0", "c1: r0.dq QW(c1.w) c1.b",
                           "a: c1 r0.dq", NULL};
    test_builder b = test_build(17);
    size_t kept = 0;

    TEST_INPUT(&b, "x", 1, 32, 8, 8);
    test_qdq(&b, "x", QDQ_INT8, 0.5f, 0);
    test_conv8(&b, "c0", "x.dq", 32, 32, 3);
    TEST_NODE(&b, "Relu", "r0", "c0");
    test_qdq(&b, "r0", QDQ_INT8, 0.5f, 0);
    test_conv(&b, "c1", "r0.dq", 32, 32, 3, 1);
    TEST_NODE(&b, "Add", "a", "c1", "r0.dq");
    TEST_NODE(&b, "Relu", "y", "a");
    test_output(&b, "y");
    test_placed p = test_assert_lines(&b, ON, NULL, lines);
    for (size_t i = 0; i < p.plan->quantized.n; i++)
        kept += p.plan->quantized.at[i].kept;
    assert_int_equal(kept, 2); /* c0, and the Add: its other branch is inside of the kernel */
    for (size_t i = 0; i < p.plan->tensors.n; i++)
        assert_null(strstr(p.plan->tensors.at[i].tensor, ".dq"));
    test_placed_free(p);
}

/* The edge that is missing gets the scale that is there. */
TEST(a_new_edge_takes_the_scale_of_the_models_q)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 32, 8, 8);
    test_qdq(&b, "x", QDQ_INT8, 0.5f, 0);
    test_conv(&b, "c0", "x.dq", 32, 32, 3, 1);
    test_conv(&b, "c1", "x", 32, 32, 3, 1);
    TEST_NODE(&b, "Sub", "s", "c0", "c1");
    test_output(&b, "s");
    test_placed p = test_place_on(&b, ON, NULL);
    assert_int_equal(p.plan->tensors.n, 1);
    assert_true(p.plan->tensors.at[0].known);
    assert_float_equal(p.plan->tensors.at[0].qparam.scale, 0.5, 0);
    test_placed_free(p);
}

/* Codes that are handed on by copies are codes still. */
TEST(an_edge_behind_a_dq_and_copies_is_left)
{
    const int64_t perm[4] = {0, 1, 3, 2};
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 32, 8, 8);
    test_qdq(&b, "x", QDQ_INT8, 0.5f, 0);
    assert_true(qdq_node_set_ints(TEST_NODE(&b, "Transpose", "t", "x.dq"), "perm", perm, 4));
    test_conv(&b, "c", "t", 32, 32, 3, 1);
    test_output(&b, "c");
    TEST_ASSERT_LINES(&b, ON, NULL, "c: t QW(c.w) c.b");
}

TEST(codes_that_the_engine_does_not_take_stay_what_they_are)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 32, 8, 8);
    test_qdq(&b, "x", QDQ_UINT8, 0.5f, 3);
    test_conv(&b, "c", "x.dq", 32, 32, 3, 1);
    test_output(&b, "c");
    test_placed p = test_place_on(&b, ON, NULL);
    assert_string_equal(test_reason(p.plan, "c"),
                        "its data is quantized in a type that no 8-bit kernel takes: uint8");
    assert_int_equal(p.plan->tensors.n + p.plan->weights.n, 0);
    test_placed_free(p);
}

/* --- any graph -------------------------------------------------------------------------------- */

/* A graph inside is no reader that fuses, and reads what it read. */
TEST(a_capture_reads_the_float_value)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_target *t = NULL;
    qdq_plan *plan = qdq_plan_new();
    char ones[2 * 256], text[1200];

    for (size_t i = 0; i < sizeof ones; i++)
        ones[i] = i % 2 == 0 ? '1' : ',';
    snprintf(text, sizeof text,
             "<ir_version: 8, opset_import: [\"\": 17]>\n"
             "g (float[1,16,8,8] x, bool c) => (float[1,16,8,8] y, float[1,16,8,8] z)\n"
             "<float[16,16,1,1] w = {%.*s}> {\n"
             "  a = Conv(x, w)\n"
             "  y = If <then_branch = t () => (float[1,16,8,8] b) { b = Sigmoid(a) }, else_branch "
             "= e () => "
             "(float[1,16,8,8] d) { d = Relu(a) }> (c)\n"
             "  z = Conv(a, w)\n"
             "}",
             (int)sizeof ones - 1, ones);
    qdq_model *m = test_model(text);
    assert_ok(qdq_model_infer(m, NULL, &err));
    assert_ok(qdq_target_load(ON, &t, &err));
    assert_ok(qdq_place(m, t, NULL, plan, &err));
    assert_int_equal(plan->tensors.n, 2);
    assert_string_equal(plan->tensors.at[1].tensor, "a");
    assert_false(plan->tensors.at[1].all);
    assert_int_equal(plan->tensors.at[1].consumers.n, 1);
    qdq_target_free(t);
    qdq_plan_free(plan);
    qdq_model_free(m);
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
    static const char *const targets[] = {ON, "tensorrt-fp8"};
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
            assert_ok(qdq_insert(m, plan, NULL, &err));
            assert_ok(qdq_model_verify(m, &err));
            assert_nothing_to_add(m, t, seed);
        }
        qdq_target_free(t);
        qdq_plan_free(plan);
        qdq_model_free(m);
        free(text);
    }
}
