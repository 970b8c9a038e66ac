/* tune_run_borders.c - a whole run where only what two regions do at their border pays. */
#include <string.h>

#include "ir/edit.h"
#include "support/blocks.h"
#include "support/build.h"
#include "support/regioned.h"
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
TEST(two_regions_win_together_what_each_would_lose_alone)
{
    const char *costs =
        test_tuned_costs("\"Erf\": {\"float_us\": 1}",
                         "\"nodes\": {\"/m/b/one\": {\"float_us\": 100, \"int8_us\": 91, "
                         "\"inputs\": 2}, \"/m/b/two\": {\"float_us\": 50, \"int8_us\": 300, "
                         "\"inputs\": 2}, \"/m/c/one\": {\"float_us\": 100, \"int8_us\": 91, "
                         "\"inputs\": 2}, \"/m/c/two\": {\"float_us\": 50, \"int8_us\": 300, "
                         "\"inputs\": 2}}");
    qdq_tune_opts o = test_tuned_opts(costs);
    qdq_region_opts regions = QDQ_REGION_OPTS_INIT;
    qdq_model *m = two_readers();
    qdq_tune_result r;

    regions.builder = QDQ_REGIONS_NAMES;
    regions.min_refine_size = 4;
    test_tuned_details(&o)->regions = &regions;
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

/* --- caches that speak of composites ---------------------------------------------------------- */

#define FAST(node) "\"" node "\": {\"float_us\": 100, \"int8_us\": 20}"

static char lines[20000];

static void record_line(void *ctx, qdq_log_level level, const char *text)
{
    (void)ctx;
    if (level == QDQ_LOG_WARNING)
        snprintf(lines + strlen(lines), sizeof lines - strlen(lines), "%s\n", text);
}

/* Three blocks, each a composite of leaves of two nodes. */
static qdq_model *three_blocks(void)
{
    test_builder b = test_build_planes();

    test_residual_blocks(&b, 0);
    test_output(&b, "e3");
    return test_built(&b);
}

/* A cache with a scheme for the composite: its part that reads b1, and a point that means
 * nothing. */
static const char *write_cache(const qdq_region_opts *opts)
{
    test_regioned s = test_regioned_open(three_blocks(), "ort-cpu", opts);
    const qdq_region *block =
        s.regions->of[qdq_graph_find(s.clean->graph, "b1")->producer->id]->parent;
    const char *path = test_path("composite.yaml");
    FILE *f = fopen(path, "w");
    size_t of = 0;

    assert_true(block != NULL && block->type == QDQ_REGION_COMPOSITE && f != NULL);
    const qdq_region **child = qdq_region_sorted_children(block, &s.arena);
    while (child[of]->inputs.n == 0 || strcmp(child[of]->inputs.at[0]->name, "b1") != 0)
        assert_true(++of < block->children.n);
    fprintf(f,
            "pattern_schemes:\n- pattern_signature: '%s'\n  pattern_size: %zu\n  schemes:\n"
            "  - latency_ms: 1.0\n    error: false\n    profile_timestamp: null\n"
            "    nodes_insertion_points: []\n    child_region_inputs:\n"
            "    - region_index: %zu\n      input_index: 0\n    - region_index: 99\n      "
            "input_index: 0\n"
            "    region_outputs: []\n",
            s.patterns->pattern[block->pattern].signature, block->n_total, of);
    fclose(f);
    test_regioned_free(&s);
    return path;
}

/* All readers of b1, b2 and b3 are a start of their own, the only one that pays here. */
TEST(a_cache_of_a_composite_is_a_start)
{
    qdq_tune_opts o = test_tuned_opts(
        test_tuned_costs("\"Conv\": {\"float_us\": 100, \"int8_us\": 400}",
                         "\"nodes\": {" FAST("c1") "," FAST("c2") "," FAST("c3") "}"));
    qdq_region_opts regions = QDQ_REGION_OPTS_INIT;
    qdq_job job = QDQ_JOB_INIT;
    qdq_model *m = three_blocks();
    qdq_tune_result r;

    job.log = record_line;
    o.job = &job;
    regions.max_region_size = regions.min_refine_size = 2;
    test_tuned_details(&o)->regions = &regions;
    o.trials = 5; /* the starts */
    const char *caches[] = {strdup(write_cache(&regions)), NULL};
    o.pattern_caches = caches;
    assert_ok(test_tuned_run(m, test_path("composite"), &o, &r, &err));
    char *page = test_tuned_file(test_path("composite"), "report.html"),
         *plan = test_tuned_file(test_path("composite"), "plan.json");
    assert_non_null(strstr(page, ">cached boundaries<"));
    assert_int_equal(r.verdict, QDQ_TUNED);
    assert_true(strstr(plan, "{\"node\": \"c3\", \"op\": \"Conv\"}") != NULL &&
                strstr(plan, "{\"node\": \"a3\", \"op\": \"Conv\"}") == NULL);
    assert_non_null(
        strstr(lines, "found 1 of 2 points at boundaries of regions without an operator"));
    qdq_free(page);
    qdq_free(plan);
    free((char *)caches[0]);
    qdq_model_free(m);
}
