/* tune_run_borders.c - a whole run where only what two regions do at their border pays. */
#include "ir/edit.h"
#include "support/build.h"
#include "support/tuned.h"

static qdq_error err;

static void matmul(test_builder *b, const char *name, const char *x)
{
    char w[16];

    snprintf(w, sizeof w, "%s.w", name);
    TEST_RANDOM(b, w, 16, 16);
    TEST_NODE(b, "MatMul", name, x, w);
}

static void name(test_builder *b, const char *out, const char *node)
{
    assert_true(qdq_node_set_name(qdq_graph_find(b->g, out)->producer, node));
}

/* Two modules read t. In each a MatMul reads it, and one that is slow in 8 bits reads that. */
static qdq_model *two_readers(void)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 4, 16);
    TEST_NODE(&b, "Tanh", "t", "x");
    matmul(&b, "b1", "t");
    TEST_NODE(&b, "Relu", "br", "b1");
    matmul(&b, "b2", "br");
    matmul(&b, "c1", "t");
    TEST_NODE(&b, "Erf", "ce", "c1");
    matmul(&b, "c2", "ce");
    name(&b, "t", "/m/a/Tanh");
    name(&b, "b1", "/m/b/one");
    name(&b, "br", "/m/b/Relu");
    name(&b, "b2", "/m/b/two");
    name(&b, "c1", "/m/c/one");
    name(&b, "ce", "/m/c/Erf");
    name(&b, "c2", "/m/c/two");
    test_output(&b, "b2");
    test_output(&b, "c2");
    return test_built(&b);
}

/* 8 bits save 9 us at each reader of t, and the conversion of t costs 12, once. */
static void two_regions_win_together_what_each_would_lose_alone(void **state)
{
    const char *costs = test_tuned_costs("\"Erf\": {\"float_us\": 1}",
                                         "\"nodes\": {\"/m/b/one\": {\"float_us\": 100, \"int8_us\": 91, "
                                         "\"inputs\": 2}, \"/m/b/two\": {\"float_us\": 50, \"int8_us\": 300, "
                                         "\"inputs\": 2}, \"/m/c/one\": {\"float_us\": 100, \"int8_us\": 91, "
                                         "\"inputs\": 2}, \"/m/c/two\": {\"float_us\": 50, \"int8_us\": 300, "
                                         "\"inputs\": 2}}");
    qdq_tune_opts o = test_tuned_opts(costs);
    qdq_model *m = two_readers();
    qdq_tune_result r;

    (void)state;
    o.regions.builder = QDQ_REGIONS_NAMES;
    o.regions.min_refine_size = 4;
    assert_ok(test_tuned_run(m, test_path("borders"), &o, &r, &err));
    char *plan = test_tuned_file(test_path("borders"), "plan.json");
    assert_int_equal(r.verdict, QDQ_TUNED);
    assert_non_null(strstr(plan, "{\"node\": \"/m/b/one\", \"op\": \"MatMul\"}"));
    assert_non_null(strstr(plan, "{\"node\": \"/m/c/one\", \"op\": \"MatMul\"}"));
    assert_null(strstr(plan, "{\"node\": \"/m/b/two\", \"op\": \"MatMul\"}"));
    assert_null(strstr(plan, "{\"node\": \"/m/c/two\", \"op\": \"MatMul\"}"));
    qdq_free(plan);
    qdq_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_regions_win_together_what_each_would_lose_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
