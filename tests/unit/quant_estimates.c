/* Estimates from a graph alone: how long nodes take, and how much of the outputs hangs on them. */
#include <math.h>
#include "quant/compare/influence.h"
#include "quant/goal/node_cost.h"
#include "support/build.h"
#include "support/npy_file.h"

static qdq_error err;

/* --- estimates -------------------------------------------------------------------------------- */

TEST(multiplications_are_counted_from_shapes)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 2, 4, 8, 8);
    qdq_node *conv = test_conv(&b, "c", "x", 6, 4, 3, 1);
    qdq_node *depthwise = test_conv(&b, "d", "x", 4, 4, 3, 4);
    TEST_INPUT(&b, "a", 5, 7);
    TEST_RANDOM(&b, "w", 7, 3);
    qdq_node *gemm = TEST_NODE(&b, "Gemm", "g", "a", "w");
    qdq_node *matmul = TEST_NODE(&b, "MatMul", "m", "a", "w");
    qdq_node *relu = TEST_NODE(&b, "Relu", "r", "a");
    const char *const outputs[] = {"c", "d", "g", "m", "r"};
    for (size_t i = 0; i < 5; i++)
        test_output(&b, outputs[i]);
    qdq_model *m = test_built(&b);
    assert_true(qdq_node_macs(conv) == 2 * 6 * 64 * 4 * 9);
    assert_true(qdq_node_macs(depthwise) == 2 * 4 * 64 * 9);
    assert_true(qdq_node_macs(gemm) == 5 * 3 * 7);
    assert_true(qdq_node_macs(matmul) == 5 * 3 * 7);
    assert_true(qdq_node_macs(relu) == 0);
    assert_true(qdq_node_time(conv, true) < qdq_node_time(conv, false));
    qdq_model_free(m);
}

TEST(influence_flows_back_by_power)
{
    test_builder b = test_build(17);
    qdq_arena arena = QDQ_ARENA_INIT;
    double *weight, *power;

    TEST_INPUT(&b, "x", 4);
    TEST_NODE(&b, "Relu", "r", "x");
    TEST_NODE(&b, "Neg", "n", "r");
    TEST_NODE(&b, "Add", "s", "r", "n");
    TEST_NODE(&b, "Abs", "y", "s");
    test_output(&b, "y");
    qdq_model *m = test_built(&b);
    const qdq_graph *g = m->graph;
    power = qdq_arena_array(&arena, g->values.n + 1, sizeof *power);
    power[qdq_graph_find(g, "r")->id] = 3;
    power[qdq_graph_find(g, "n")->id] = 1;
    const qdq_noise noise = {.power = power};
    assert_ok(qdq_influence(g, &noise, &arena, &weight, &err));
    assert_true(weight[qdq_graph_find(g, "y")->id] == 1);
    assert_true(weight[qdq_graph_find(g, "s")->id] == 1);
    assert_true(weight[qdq_graph_find(g, "n")->id] == 0.25);
    assert_true(weight[qdq_graph_find(g, "r")->id] == 1);
    qdq_arena_free(&arena);
    qdq_model_free(m);
}

/* A detector's head: what is off in scores far below 0 grows in the Sigmoid, and no box hides
 * it. */
TEST(noise_counts_by_what_nodes_make_of_it_and_slices_are_not_drowned)
{
    test_builder b = test_build(17);
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_noise noise;
    double *weight;
    bool *near;

    TEST_INPUT(&b, "x", 4, 8);
    TEST_NODE(&b, "Neg", "boxes", "x");
    TEST_NODE(&b, "Abs", "logits", "x");
    TEST_NODE(&b, "Sigmoid", "scores", "logits");
    assert_true(qdq_node_set_int(TEST_NODE(&b, "Concat", "y", "boxes", "scores"), "axis", 1));
    test_output(&b, "y");
    qdq_model *m = test_built(&b);
    const qdq_graph *g = m->graph;
    const size_t n = g->values.n + 1, boxes = qdq_graph_find(g, "boxes")->id,
                 logits = qdq_graph_find(g, "logits")->id, scores = qdq_graph_find(g, "scores")->id;

    noise.power = qdq_arena_array(&arena, n, sizeof(double));
    noise.total = qdq_arena_array(&arena, n, sizeof(double));
    noise.introduced = qdq_arena_array(&arena, n, sizeof(double));
    noise.total[logits] = 1e-4;
    noise.total[scores] = 0.011;
    noise.introduced[scores] = 0.001;
    noise.total[boxes] = 1e-5;
    noise.total[qdq_graph_find(g, "y")->id] = 0.011;
    assert_ok(qdq_near_outputs(g, &arena, &near, &err));
    assert_true(near[boxes] && near[scores]);
    assert_false(near[logits]);
    assert_ok(qdq_influence(g, &noise, &arena, &weight, &err));
    assert_true(weight[boxes] == 1 && weight[scores] == 1);
    assert_true(fabs(weight[logits] - 100) < 1e-9);
    qdq_arena_free(&arena);
    qdq_model_free(m);
}
