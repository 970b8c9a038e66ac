/* tune_others.c - what the rules of other targets place, in whole tuning runs on the sim engine: in
 * the types of this one, and only where costs do not rule it out. */
#include "support/build.h"
#include "support/tuned.h"

static qdq_error err;

/* Is there a trial whose name begins so in the page? It begins a cell of a table. */
static bool has_trial(const char *folder, const char *name)
{
    char *html = test_tuned_file(folder, "report.html"), cell[100];

    snprintf(cell, sizeof cell, ">%s", name);
    const bool found = strstr(html, cell) != NULL;

    qdq_free(html);
    return found;
}

typedef enum way { REGION, MINCUT, GREEDY, WAYS } way;

static qdq_tune_result run_on(const qdq_model *m, const char *engine, const char *folder, way w,
                              unsigned trials)
{
    qdq_tune_opts o = test_tuned_opts(engine);

    o.mode = w == REGION ? QDQ_TUNE_REGION : QDQ_TUNE_SUBGRAPH;
    o.strategy = w == GREEDY ? QDQ_TUNE_GREEDY : QDQ_TUNE_AUTO;
    o.trials = trials;
    return test_tuned_result(m, folder, &o);
}

/* Where subgraph mode has profiles, they rule out what the others would place. */
static void run(const qdq_model *m, const char *folder, way w, unsigned trials)
{
    const char *blind = test_tuned_costs(
        "\"Conv\": {\"float_us\": 100, \"int8_us\": 30, \"inputs\": 2, \"output_q\": true, "
        "\"epilogue\": "
        "[\"Relu\", \"Clip\"]}, \"Gemm\": {\"float_us\": 50, \"int8_us\": 20, \"inputs\": 2}",
        TEST_TUNED_BLIND);

    run_on(m, w != REGION ? blind : "sim:" QDQ_SOURCE_DIR "/tests/cli/fixtures/sim.json", folder, w,
           trials);
}

/* Of two Add the second has operands without codes, so that other targets want neither all Add nor
 * none. It is small, so that no cost tells them apart. */
static qdq_model *two_adds(void)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 16, 16, 16);
    test_conv(&b, "c1", "x", 16, 16, 3, 1);
    TEST_NODE(&b, "Relu", "r", "c1");
    test_conv(&b, "c2", "r", 16, 16, 3, 1);
    TEST_NODE(&b, "Add", "s", "c2", "r");
    TEST_NODE(&b, "Relu", "t", "s");
    TEST_RANDOM(&b, "p.w", 16, 16, 16, 16);
    TEST_NODE(&b, "Conv", "p", "t", "p.w");
    TEST_RANDOM(&b, "q.w", 16, 16, 16, 16);
    TEST_NODE(&b, "Conv", "q", "x", "q.w");
    TEST_NODE(&b, "Add", "u", "p", "q");
    TEST_NODE(&b, "Tanh", "y", "u");
    test_output(&b, "y");
    return test_built(&b);
}

TEST(rules_of_other_targets_are_tried_in_types_of_this_one)
{
    qdq_model *m = two_adds();

    for (way w = REGION; w < WAYS; w++) {
        const char *folder = test_path("others%d", (int)w);
        run(m, folder, w, 0);
        if (!has_trial(folder, "rules of "))
            fail_msg("no rules of other targets are tried in way %d", (int)w);
        assert_false(has_trial(folder, "rules of ort-cpu<")); /* they are its own */
        assert_false(has_trial(folder, "rules of int4"));     /* weights alone */
        assert_true(test_tuned_has(folder, "plan.json", "\"type\": \"uint8\""));
        assert_false(test_tuned_has(folder, "plan.json", "float8"));
    }
    qdq_model_free(m);
}

/* Another target has no Q/DQ on one of both Add, and on the other one only before its kernel, which
 * decisions of this one cannot say. */
TEST(rules_of_other_targets_are_tried_edge_by_edge)
{
    static const way ways[] = {REGION, MINCUT};
    qdq_model *m = two_adds();

    for (size_t i = 0; i < QDQ_COUNT(ways); i++) {
        const char *folder = test_path("by_edges%zu", i);
        run(m, folder, ways[i], 0);
        assert_true(has_trial(folder, "rules of openvino, edge by edge"));
        assert_false(has_trial(folder, "rules of ort-cpu, edge"));
        assert_false(has_trial(folder, "rules of int4, edge"));
    }
    qdq_model_free(m);
}

/* Of four MatMul, all targets want the same. */
TEST(rules_that_place_the_same_are_tried_once)
{
    qdq_model *m = test_tuned_model();

    run(m, test_path("same"), REGION, 0);
    assert_false(has_trial(test_path("same"), "rules of "));
    qdq_model_free(m);
}

/* The budget of trials is for starts first. */
TEST(a_budget_that_is_used_up_tries_none)
{
    const char *path = test_corpus("digits/digits_cnn.onnx");
    qdq_model *m;

    assert_ok(qdq_model_load(path, NULL, &m, &err));
    run(m, test_path("budget"), MINCUT, 1);
    assert_false(has_trial(test_path("budget"), "rules of "));
    qdq_model_free(m);
}

/* In this world 8 bits are slower everywhere, which profiles tell. */
TEST(rules_that_costs_rule_out_are_not_built)
{
    const char *path = test_corpus("digits/digits_cnn.onnx");
    const char *costs = test_tuned_costs(
        "\"Conv\": {\"float_us\": 100, \"int8_us\": 400, \"inputs\": 2, \"output_q\": true},"
        "\"Gemm\": {\"float_us\": 50, \"int8_us\": 300, \"inputs\": 2},"
        "\"MatMul\": {\"float_us\": 50, \"int8_us\": 300, \"inputs\": 2},"
        "\"Add\": {\"float_us\": 10, \"int8_us\": 50, \"inputs\": 2, \"output_q\": true}",
        NULL);
    qdq_model *m;

    assert_ok(qdq_model_load(path, NULL, &m, &err));
    for (way w = REGION; w < WAYS; w++) {
        const char *folder = test_path("out%d", (int)w);
        const qdq_tune_result r = run_on(m, costs, folder, w, 0);
        assert_false(has_trial(folder, "rules of "));
        assert_true(r.ruled_out > 0);
        assert_int_equal(r.verdict, QDQ_TUNED_FLOAT);
    }
    qdq_model_free(m);
}
