/* tune_edges.c - whole runs on the sim engine whose costs no rule knows: Q/DQ on single edges are
 * found by their profile, measured, and kept where they pay; nothing else is. */
#include "base/json.h"
#include "support/tuned.h"

static qdq_error err;

/* Products with a LayerNormalization between, and a Transpose in front of the last one. */
static qdq_model *network(void)
{
    return test_tuned_graph(__func__);
}

/* m is freed. */
static qdq_tune_result run_on(qdq_model *m, const char *folder, const char *ops, const char *more,
                              qdq_tune_mode mode)
{
    qdq_tune_opts o = test_tuned_opts(test_tuned_costs(ops, more));
    qdq_tune_result r;

    o.mode = mode;
    assert_ok(test_tuned_run(m, folder, &o, &r, &err));
    qdq_model_free(m);
    return r;
}

static qdq_tune_result run(const char *folder, const char *ops, const char *more,
                           qdq_tune_mode mode)
{
    return run_on(network(), folder, ops, more, mode);
}

/* Nodes between these inputs and the output y, with the weight a. */
static qdq_model *network_of(const char *inputs, const char *nodes)
{
    static char text[8000];

    snprintf(text, sizeof text, "g (%s) => (float[8,8] y) <float[8,8] a = {%s}> { %s }", inputs,
             test_tuned_weights(), nodes);
    return test_model(text);
}

static const qdq_tune_mode modes[] = {QDQ_TUNE_REGION, QDQ_TUNE_SUBGRAPH};

/* Readers of a tensor that take codes, in the plan of the folder: "all", "ln" or ""; static
 * storage. */
static const char *readers(const char *folder, const char *tensor)
{
    static char text[300];
    char *plan = test_tuned_file(folder, "plan.json");
    json_t *p, *t;
    size_t i;

    text[0] = '\0';
    assert_ok(qdq_json_parse(plan, strlen(plan), "plan", &p, &err));
    json_array_foreach(json_object_get(p, "tensors"), i, t)
    {
        if (strcmp(json_string_value(json_object_get(t, "tensor")), tensor) != 0)
            continue;
        const json_t *list = json_object_get(t, "consumers");
        snprintf(text, sizeof text, "%s",
                 list == NULL ? "all"
                              : json_string_value(json_array_get(json_array_get(list, 0), 0)));
    }
    json_decref(p);
    qdq_free(plan);
    return text;
}

/* Does the report list a trial of edges, kept or not? */
static bool tried_edges(const char *folder)
{
    char *text = test_tuned_file(folder, "report.html");
    const bool found = strstr(text, "edges</td>") != NULL;

    qdq_free(text);
    return found;
}

#define PRODUCTS "\"MatMul\": {\"float_us\": 100, \"int8_us\": 30}"
#define PLAIN                                                                                      \
    PRODUCTS                                                                                       \
    ", \"LayerNormalization\": {\"float_us\": 60}, \"Transpose\": {\"float_us\": 2, \"int8_us\": " \
    "60}"

/* The target has no kernel for it. */
TEST(a_normalization_that_is_faster_on_codes_gets_them)
{
    static const char *const folders[] = {"ln_region", "ln_subgraph"};

    for (size_t i = 0; i < 2; i++) {
        const char *folder = test_path("%s", folders[i]);
        run(folder,
            PRODUCTS ", \"LayerNormalization\": {\"float_us\": 60, \"int8_us\": 15},"
                     " \"Transpose\": {\"float_us\": 15, \"int8_us\": 15}",
            NULL, modes[i]);
        assert_string_equal(readers(folder, "h1"), "all");
        assert_string_equal(readers(folder, "h2"), "all");
        assert_true(tried_edges(folder));
    }
}

/* Its kernel needs both inputs in 8 bits, and one comes from nowhere. */
TEST(an_operand_that_is_a_graph_input_gets_codes_too)
{
    for (size_t i = 0; i < QDQ_COUNT(modes); i++) {
        const char *folder = test_path("input%zu", i);
        const qdq_tune_result r =
            run_on(network_of("float[8,8] x, float[8,8] z",
                              "h = MatMul(x, a) s = Sub(h, z) y = MatMul(s, a)"),
                   folder,
                   "\"MatMul\": {\"float_us\": 50, \"int8_us\": 20},"
                   " \"Sub\": {\"float_us\": 100, \"int8_us\": 10, \"inputs\": 2}",
                   NULL, modes[i]);
        assert_string_equal(readers(folder, "z"), "all");
        assert_string_equal(readers(folder, "h"), "all");
        assert_true(r.speedup > 1.9);
    }
}

/* Nothing computes x, and the normalization reads nothing else: what shows that codes of x are at
 * hand is the residual Add. */
TEST(a_normalization_beside_a_residual_that_is_read_as_codes_gets_them_too)
{
    for (size_t i = 0; i < QDQ_COUNT(modes); i++) {
        const char *folder = test_path("beside%zu", i);

        run_on(network_of("float[8,8] x, float[8] g",
                          "n = LayerNormalization(x, g) h = MatMul(n, a) r = Add(h, x)"
                          " y = MatMul(r, a)"),
               folder,
               PRODUCTS ", \"Add\": {\"float_us\": 60, \"int8_us\": 10, \"inputs\": 2},"
                        " \"LayerNormalization\": {\"float_us\": 60, \"int8_us\": 15}",
               NULL, modes[i]);
        assert_string_equal(readers(folder, "x"), "all");
    }
}

/* Of these kernels the one that gives the graph's output needs Q behind it. */
TEST(a_kernel_that_gives_an_output_gets_codes_behind_it_where_they_pay)
{
    for (size_t i = 0; i < QDQ_COUNT(modes); i++) {
        const char *folder = test_path("output%zu", i), *other = test_path("output_float%zu", i);
        qdq_tune_result r = run_on(
            network_of("float[8,8] x", "h = MatMul(x, a) s = Softmax(h) y = Gemm(s, a)"), folder,
            "\"MatMul\": {\"float_us\": 400, \"int8_us\": 40},"
            " \"Gemm\": {\"float_us\": 400, \"int8_us\": 40, \"output_q\": true}",
            NULL, modes[i]);
        assert_string_equal(readers(folder, "y"), "all");
        assert_true(r.speedup > 4);
        run_on(network_of("float[8,8] x", "h = MatMul(x, a) s = Softmax(h) y = Gemm(s, a)"), other,
               "\"MatMul\": {\"float_us\": 400, \"int8_us\": 40},"
               " \"Gemm\": {\"float_us\": 400, \"int8_us\": 40}",
               NULL, modes[i]);
        assert_string_equal(readers(other, "y"), "");
    }
}

/* Softmax loses more than the normalization gains. */
TEST(readers_of_an_input_are_decided_one_by_one)
{
    for (size_t i = 0; i < QDQ_COUNT(modes); i++) {
        const char *folder = test_path("readers%zu", i);

        run_on(network_of("float[8,8] x, float[8] g",
                          "h = MatMul(x, a) s = Softmax(x) n = LayerNormalization(x, g)"
                          " k = MatMul(n, a) r = Sub(h, s) y = Sub(r, k)"),
               folder,
               PRODUCTS ", \"Softmax\": {\"float_us\": 40, \"int8_us\": 120}, \"Sub\": "
                        "{\"float_us\": 5}, \"LayerNormalization\": {\"float_us\": 60, "
                        "\"int8_us\": 15}",
               NULL, modes[i]);
        /* the first of two, by name */
        assert_string_equal(readers(folder, "x"), "LayerNormalization@n");
    }
}

/* All tensors beside a kernel share what it gains in profiles, the output, too. */
TEST(an_output_gets_no_codes_that_the_kernel_before_it_does_without)
{
    for (size_t i = 0; i < QDQ_COUNT(modes); i++) {
        const char *folder = test_path("without%zu", i);
        const qdq_tune_result r =
            run_on(network_of("float[8,8] x", "h = MatMul(x, a) y = Sub(h, x)"), folder,
                   PRODUCTS ", \"Sub\": {\"float_us\": 200, \"int8_us\": 10, \"inputs\": 2}", NULL,
                   modes[i]);
        assert_string_equal(readers(folder, "h"), "all");
        assert_string_equal(readers(folder, "x"), "all");
        assert_string_equal(readers(folder, "y"), "");
        assert_true(r.builds <= 14);
    }
}

/* Every placement of the decisions alone loses. */
TEST(kernels_that_pay_only_with_codes_behind_them_are_found)
{
    for (size_t i = 0; i < QDQ_COUNT(modes); i++) {
        const char *folder = test_path("behind%zu", i);
        const qdq_tune_result r =
            run_on(network_of("float[8,8] x",
                              "h = MatMul(x, a) s = Softmax(h) k = MatMul(s, a) y = Softmax(k)"),
                   folder,
                   "\"MatMul\": {\"float_us\": 1000, \"int8_us\": 100, \"output_q\": true},"
                   " \"Softmax\": {\"float_us\": 100}",
                   NULL, modes[i]);
        assert_int_equal(r.verdict, QDQ_TUNED);
        assert_string_equal(readers(folder, "h"), "all");
        assert_string_equal(readers(folder, "k"), "all");
        assert_true(r.speedup > 2.0 && r.builds <= 14);
    }
}

/* The target wants Q behind each Conv. */
TEST(a_kernel_that_pays_only_without_codes_behind_it_is_found)
{
    for (size_t i = 0; i < QDQ_COUNT(modes); i++) {
        const char *folder = test_path("not_behind%zu", i);
        const qdq_tune_result r = run_on(test_tuned_graph(__func__), folder,
                                         "\"Conv\": {\"float_us\": 30, \"int8_us\": 10},"
                                         " \"Softmax\": {\"float_us\": 5}",
                                         NULL, modes[i]);
        assert_int_equal(r.verdict, QDQ_TUNED);
        assert_string_equal(readers(folder, "x"), "all");
        assert_string_equal(readers(folder, "h"), "");
        assert_true(r.speedup > 1.1 && r.builds <= 14);
    }
}

TEST(where_nothing_pays_with_edges_either_the_float_model_stays)
{
    for (size_t i = 0; i < QDQ_COUNT(modes); i++) {
        const char *folder = test_path("never%zu", i);
        const qdq_tune_result r = run_on(
            network_of("float[8,8] x", "h = MatMul(x, a) s = Softmax(h) y = MatMul(s, a)"), folder,
            "\"MatMul\": {\"float_us\": 20, \"int8_us\": 19},"
            " \"Softmax\": {\"float_us\": 10}",
            NULL, modes[i]);
        assert_int_equal(r.verdict, QDQ_TUNED_FLOAT);
        assert_true(r.builds <= 14);
        assert_false(tried_edges(folder));
    }
}

TEST(a_transpose_that_is_slower_on_codes_moves_floats)
{
    const char *folder = test_path("transpose"), *other = test_path("transpose_codes");

    run(folder,
        PRODUCTS ", \"LayerNormalization\": {\"float_us\": 60},"
                 " \"Transpose\": {\"float_us\": 5, \"int8_us\": 60}",
        NULL, QDQ_TUNE_SUBGRAPH);
    assert_string_equal(readers(folder, "h3"), "");
    assert_string_equal(readers(folder, "t"), "all");
    run(other,
        PRODUCTS ", \"LayerNormalization\": {\"float_us\": 60},"
                 " \"Transpose\": {\"float_us\": 60, \"int8_us\": 5}",
        NULL, QDQ_TUNE_SUBGRAPH);
    assert_string_equal(readers(other, "h3"), "all");
}

TEST(where_no_edge_pays_none_is_measured)
{
    const char *folder = test_path("none");

    run(folder, PLAIN, NULL, QDQ_TUNE_SUBGRAPH);
    assert_false(tried_edges(folder));
    assert_string_equal(readers(folder, "h1"), "");
}

TEST(an_engine_without_profiles_has_no_edges)
{
    const char *folder = test_path("blind");

    run(folder, PRODUCTS ", \"LayerNormalization\": {\"float_us\": 60, \"int8_us\": 15}",
        TEST_TUNED_BLIND, QDQ_TUNE_REGION);
    assert_string_equal(readers(folder, "h1"), "");
}

TEST(a_bound_on_builds_holds_for_edges_too)
{
    qdq_model *m = network();
    qdq_tune_opts o = test_tuned_opts(test_tuned_costs(
        PRODUCTS ", \"LayerNormalization\": {\"float_us\": 60, \"int8_us\": 15}", NULL));
    qdq_tune_result r;

    o.mode = QDQ_TUNE_SUBGRAPH;
    for (o.max_builds = 7; o.max_builds < 16; o.max_builds++) {
        assert_ok(test_tuned_run(m, test_path("builds%u", o.max_builds), &o, &r, &err));
        assert_true(r.builds <= o.max_builds);
    }
    qdq_model_free(m);
}

TEST(a_run_again_ends_with_the_same)
{
    static const char ops[] =
        PRODUCTS ", \"LayerNormalization\": {\"float_us\": 60, \"int8_us\": 15}";
    qdq_model *m = network();
    qdq_tune_opts o = test_tuned_opts(test_tuned_costs(ops, NULL));
    qdq_tune_result r;

    o.mode = QDQ_TUNE_SUBGRAPH;
    assert_ok(test_tuned_run(m, test_path("once"), &o, &r, &err));
    assert_ok(test_tuned_run(m, test_path("twice"), &o, &r, &err));
    test_tuned_same(test_path("once"), test_path("twice"), "plan.json");
    const uint64_t before = test_tuned_samples(test_path("once"));
    assert_ok(test_tuned_run(m, test_path("once"), &o, &r, &err));
    assert_int_equal(test_tuned_samples(test_path("once")), before);
    qdq_model_free(m);
}

/* Both normalizations are faster on codes: the fastest model of the front has them so. */
TEST(models_of_the_front_have_edges_too)
{
    static const char ops[] =
        PRODUCTS ", \"LayerNormalization\": {\"float_us\": 60, \"int8_us\": 15}";
    const char *folder = test_path("front");
    qdq_model *m = network();
    qdq_tune_opts o = test_tuned_opts(test_tuned_costs(ops, "\"error\": 0.01"));
    qdq_tune_result r;

    o.mode = QDQ_TUNE_SUBGRAPH;
    for (unsigned n = 2; n <= 5; n += 3) {
        test_tuned_details(&o)->pareto = n;
        o.restart = true;
        assert_ok(test_tuned_run(m, folder, &o, &r, &err));
        assert_true(r.n_pareto >= 1 && r.n_pareto <= n);
        assert_float_equal(r.pareto[0].ms, r.final_ms, 0.02 * r.final_ms);
        assert_true(test_tuned_has(folder, "pareto/plan_1.json", "\"measured\""));
    }
    qdq_model_free(m);
}
