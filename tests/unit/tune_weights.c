/* tune_weights.c - whole runs on the sim engine, which has kernels for weights in 8 bits: operators
 * that stayed float get them where they pay, if the target has such kernels; no others do. */
#include "base/file.h"
#include "support/tuned.h"

static qdq_error err;

/* Costs of both products; quantizing their data costs more than the 8-bit kernel saves. */
#define COSTS(matmul, gemm)                                                                        \
    "\"MatMul\": {\"float_us\": 100, \"int8_us\": 95, \"inputs\": 2, \"weight_us\": " matmul "}, " \
    "\"Gemm\": {\"float_us\": 100, \"int8_us\": 95, \"inputs\": 2, \"weight_us\": " gemm "}"
/* Of the two weights one pays; both; none. */
#define ONE  COSTS("40", "120")
#define BOTH COSTS("40", "60")
#define NONE COSTS("110", "120")
/* Everything pays in full. */
#define FULL                                                                                       \
    "\"MatMul\": {\"float_us\": 100, \"int8_us\": 20, \"inputs\": 2, \"weight_us\": 40}, "         \
    "\"Gemm\": {\"float_us\": 100, \"int8_us\": 20, \"inputs\": 2, \"weight_us\": 40}"

static const char *const quantized = "only its weight is quantized";

static qdq_model *network(void)
{
    return test_tuned_graph(__func__);
}

static qdq_tune_opts options(const char *ops, qdq_tune_mode mode)
{
    qdq_tune_opts o = test_tuned_opts(test_tuned_costs(ops, "\"error\": 0.1"));

    o.mode = mode;
    return o;
}

static qdq_tune_result run_for(const char *folder, const char *has_kernels, const qdq_tune_opts *o)
{
    const qdq_goal_opts goal = test_tuned_two_forms(o);
    qdq_tune_opts own = *o;
    qdq_model *m = network();
    qdq_tune_result *r;
    qdq_target *t;

    own.goal = &goal;
    assert_ok(qdq_target_load("ort-cpu", &t, &err));
    assert_ok(qdq_target_set(t, "engine", "sim", &err));
    assert_ok(qdq_target_set(t, "stay_float", "[]", &err)); /* its rules quantize small products */
    if (has_kernels != NULL)
        assert_ok(qdq_target_set(t, "weights_alone", has_kernels, &err));
    assert_ok(qdq_autotune(m, t, NULL, folder, &own, &r, &err));
    test_keep(r);
    qdq_target_free(t);
    qdq_model_free(m);
    return *r;
}

static qdq_tune_result run(const char *folder, const qdq_tune_opts *o)
{
    return run_for(folder, "true", o);
}

static bool tried_weights(const char *folder)
{
    return test_tuned_has(folder, "report.html", ">weights alone");
}

static bool has_weights(const char *folder)
{
    return test_tuned_has(folder, "plan.json", quantized);
}

static const qdq_tune_mode modes[] = {QDQ_TUNE_REGION, QDQ_TUNE_SUBGRAPH};

/* --- where they pay --------------------------------------------------------------------------- */

TEST(weights_alone_are_quantized_where_8_bits_lose)
{
    for (size_t i = 0; i < QDQ_COUNT(modes); i++) {
        const char *folder = test_path("prices%zu", i);
        const qdq_tune_opts o = options(ONE, modes[i]);
        const qdq_tune_result r = run(folder, &o);
        assert_int_equal(r.verdict, QDQ_TUNED);
        assert_true(tried_weights(folder));
        assert_true(test_tuned_has(
            folder, "plan.json",
            "{\"node\": \"MatMul@h\", \"op\": \"MatMul\", \"reason\": \"only its weight is "
            "quantized\"}"));
        assert_false(test_tuned_has(
            folder, "plan.json",
            "\"Gemm@k\", \"op\": \"Gemm\", \"reason\": \"only its weight is quantized\""));
        assert_true(r.speedup > 1.3 && r.builds <= 14);
    }
}

/* Data in 8 bits miss the goal, weights alone do not. */
TEST(operators_that_a_goal_left_float_get_their_weights)
{
    for (size_t i = 0; i < QDQ_COUNT(modes); i++) {
        const char *folder = test_path("goal%zu", i);
        qdq_goal_opts goal = QDQ_GOAL_OPTS_INIT;
        qdq_tune_opts o = options(FULL, modes[i]);
        goal.min_sqnr = 60;
        o.goal = &goal;
        const qdq_tune_result r = run(folder, &o);
        assert_int_equal(r.verdict, QDQ_TUNED);
        assert_true(has_weights(folder));
        assert_true(r.speedup > 1.5 && r.sqnr_db >= 60);
    }
}

/* Greedy prices parts of groups by itself. */
TEST(greedy_finds_the_same_weights)
{
    const char *folder = test_path("greedy");
    qdq_tune_opts o = options(BOTH, QDQ_TUNE_SUBGRAPH);

    o.strategy = QDQ_TUNE_GREEDY;
    const qdq_tune_result r = run(folder, &o);
    assert_int_equal(r.verdict, QDQ_TUNED);
    assert_true(has_weights(folder));
    assert_true(test_tuned_has(folder, "report.json", "\"node\": \"MatMul@h\""));
    assert_true(r.speedup > 1.5);
}

/* --- where they are not tried ----------------------------------------------------------------- */

TEST(a_target_without_such_kernels_has_no_trial_of_them)
{
    static const char *const values[] = {"false", NULL};

    for (size_t i = 0; i < QDQ_COUNT(modes); i++)
        for (size_t k = 0; k < QDQ_COUNT(values); k++) {
            const char *folder = test_path("without%zu%zu", i, k);
            const qdq_tune_opts o = options(BOTH, modes[i]);
            const qdq_tune_result r = run_for(folder, values[k], &o);
            assert_int_equal(r.verdict, QDQ_TUNED_FLOAT);
            assert_false(tried_weights(folder));
        }
}

TEST(weights_that_are_slower_are_not_measured)
{
    for (size_t i = 0; i < QDQ_COUNT(modes); i++) {
        const char *folder = test_path("slower%zu", i);
        const qdq_tune_opts o = options(NONE, modes[i]);
        const qdq_tune_result r = run(folder, &o);
        assert_int_equal(r.verdict, QDQ_TUNED_FLOAT);
        assert_false(tried_weights(folder));
    }
}

TEST(without_a_float_operator_there_is_nothing_to_try)
{
    for (size_t i = 0; i < QDQ_COUNT(modes); i++) {
        const char *folder = test_path("full%zu", i);
        const qdq_tune_opts o = options(FULL, modes[i]);
        const qdq_tune_result r = run(folder, &o),
                              other = run_for(test_path("full_without%zu", i), "false", &o);
        assert_int_not_equal(r.verdict, QDQ_TUNED_FLOAT);
        assert_false(tried_weights(folder));
        assert_false(has_weights(folder));
        assert_int_equal(r.builds, other.builds);
    }
}

TEST(an_engine_without_profiles_has_no_trial_of_them)
{
    const char *folder = test_path("blind");
    qdq_tune_opts o = options(BOTH, QDQ_TUNE_REGION);

    o.engine = test_tuned_costs(BOTH, TEST_TUNED_BLIND);
    assert_int_equal(run(folder, &o).verdict, QDQ_TUNED_FLOAT);
    assert_false(tried_weights(folder));
}

TEST(a_filter_of_nodes_keeps_weights_float)
{
    const char *folder = test_path("filtered");
    char *filter = strdup(test_path("filter.txt"));
    qdq_tune_opts o = options(BOTH, QDQ_TUNE_SUBGRAPH);

    assert_non_null(filter);
    assert_ok(qdq_write_file(filter, true, "*\n", 2, &err));
    test_tuned_details(&o)->node_filter = filter;
    run(folder, &o);
    assert_false(tried_weights(folder));
    free(filter);
}

TEST(without_builds_left_they_are_not_tried)
{
    qdq_tune_opts o = options(BOTH, QDQ_TUNE_SUBGRAPH);
    unsigned tried = 0, most = 18;

    for (o.max_builds = 7; o.max_builds < most; o.max_builds++) {
        const char *folder = test_path("builds%u", o.max_builds);
        const qdq_tune_result r = run(folder, &o);
        assert_true(r.builds <= o.max_builds);
        assert_int_equal(r.verdict == QDQ_TUNED, tried_weights(folder));
        if (o.max_builds == 7)
            assert_false(tried_weights(folder));
        tried += tried_weights(folder);
    }
    assert_true(tried > 0);
}

TEST(after_the_last_trial_that_is_allowed_they_are_not_tried)
{
    const char *folder = test_path("trials");
    qdq_tune_opts o = options(BOTH, QDQ_TUNE_SUBGRAPH);

    o.trials = 1;
    run(folder, &o);
    assert_false(tried_weights(folder));
}

/* --- where they are not kept ------------------------------------------------------------------ */

/* Kernels for them compute another number: 20 dB are left. */
TEST(weights_that_miss_the_goal_are_not_kept)
{
    static const char wrong[] = "\"wrong\": [{\"op\": \"MatMul\", \"weight\": true, \"times\": "
                                "0.9}, {\"op\": \"Gemm\", \"weight\": true, \"times\": 0.9}]";

    for (size_t i = 0; i < QDQ_COUNT(modes); i++) {
        const char *folder = test_path("missed%zu", i);
        qdq_goal_opts goal = QDQ_GOAL_OPTS_INIT;
        qdq_tune_opts o = options(BOTH, modes[i]);
        o.engine = test_tuned_costs(BOTH, wrong);
        goal.min_sqnr = 30;
        o.goal = &goal;
        const qdq_tune_result r = run(folder, &o);
        assert_int_equal(r.verdict, QDQ_TUNED_FLOAT);
        assert_true(tried_weights(folder));
        assert_true(test_tuned_has(folder, "report.json", "\"weights_alone\": []"));
    }
}

/* --- again, files, reports -------------------------------------------------------------------- */

TEST(a_run_again_ends_with_the_same_weights)
{
    const char *once = test_path("once");

    for (size_t i = 0; i < QDQ_COUNT(modes); i++) {
        qdq_tune_opts o = options(ONE, modes[i]);
        o.restart = true;
        run(once, &o);
        run(test_path("twice"), &o);
        test_tuned_same(once, test_path("twice"), "plan.json");
        const uint64_t before = test_tuned_samples(once);
        o.restart = false;
        const qdq_tune_result again = run(once, &o);
        assert_int_equal(test_tuned_samples(once), before);
        assert_true(again.resumed && again.verdict == QDQ_TUNED);
        test_tuned_same(once, test_path("twice"), "plan.json");
    }
}

TEST(a_pattern_cache_leads_to_the_same_weights_without_a_search)
{
    qdq_tune_opts o = options(ONE, QDQ_TUNE_REGION);
    const qdq_tune_result cold = run(test_path("cold"), &o);
    const char *caches[] = {strdup(test_path("cold/patterns.yaml")), NULL};

    assert_non_null(caches[0]);
    o.pattern_caches = caches;
    const qdq_tune_result warm = run(test_path("warm"), &o);
    assert_true(warm.builds < cold.builds);
    test_tuned_same(test_path("cold"), test_path("warm"), "plan.json");
    assert_true(test_tuned_has(test_path("warm"), "report.json", "\"node\": \"MatMul@h\""));
    free((char *)caches[0]);
}

TEST(the_plan_that_is_saved_makes_the_same_file)
{
    const char *folder = test_path("applied");
    const qdq_tune_opts o = options(ONE, QDQ_TUNE_SUBGRAPH);
    qdq_model *m = network();

    run(folder, &o);
    test_tuned_replays(folder, m);
    qdq_model_free(m);
}

/* By costs of decisions alone the front has the MatMul in 8 bits and the Gemm float. */
TEST(models_of_the_front_have_the_weights_too)
{
    const char *folder = test_path("front");
    qdq_tune_opts o =
        options("\"MatMul\": {\"float_us\": 100, \"int8_us\": 20, \"inputs\": 2}, "
                "\"Gemm\": {\"float_us\": 100, \"int8_us\": 120, \"inputs\": 2, \"weight_us\": 40}",
                QDQ_TUNE_SUBGRAPH);

    for (unsigned n = 2; n <= 5; n += 3) {
        test_tuned_details(&o)->pareto = n;
        o.restart = true;
        const qdq_tune_result r = run(folder, &o);
        assert_true(r.n_pareto >= 1 && r.n_pareto <= n);
        assert_float_equal(r.pareto[0].ms, r.final_ms, 0.02 * r.final_ms);
        for (size_t i = 0; i < r.n_pareto; i++)
            assert_true(test_tuned_has(folder, r.pareto[i].plan, quantized));
    }
}

TEST(the_report_names_the_weights_and_their_trial)
{
    const char *folder = test_path("report");
    qdq_tune_opts o = options(BOTH, QDQ_TUNE_SUBGRAPH);

    run(folder, &o);
    assert_true(test_tuned_has(folder, "report.html", quantized));
    assert_true(test_tuned_has(folder, "report.html",
                               "a trial of 2 weights alone, this one among them, gained"));
    assert_true(
        test_tuned_has(folder, "report.json",
                       "\"node\": \"MatMul@h\",\n      \"op\": \"MatMul\",\n      \"trial\": "));
    assert_true(test_tuned_has(folder, "report.json", "\"node\": \"Gemm@k\""));
    o = options(ONE, QDQ_TUNE_SUBGRAPH);
    o.restart = true;
    run(folder, &o);
    assert_true(test_tuned_has(folder, "report.html", "a trial of this weight alone gained"));
}

TEST(the_rule_that_a_weight_alone_contradicts_is_named)
{
    const char *folder = test_path("overruled");
    const qdq_tune_opts o = options(ONE, QDQ_TUNE_SUBGRAPH);
    const qdq_tune_result r = run(folder, &o);
    bool found = false;

    for (size_t i = 0; i < r.n_overruled; i++)
        found |= strcmp(r.overruled[i].op, "MatMul") == 0 && !r.overruled[i].quantized;
    assert_true(found);
}
