/* tune_forms.c - whole runs on the sim engine, whose costs price data that is quantized at run
 * time: operators get this form where it is faster than float and than calibrated scales and holds
 * the goal, on a target that has it. */
#include "base/file.h"
#include "support/tuned_setting.h"

/* Costs of a MatMul and a Gemm: of calibrated scales, and of the form, each with its epilogue. */
#define COSTS(int8, integer)                                                                       \
    "\"MatMul\": {\"float_us\": 100, \"int8_us\": " int8 ", \"inputs\": 2}, "                      \
    "\"Gemm\": {\"float_us\": 100, \"int8_us\": " int8 ", \"inputs\": 2}, "                        \
    "\"Mul\": {}, \"DynamicQuantizeLinear\": {\"float_us\": 4}, "                                  \
    "\"MatMulInteger\": {\"float_us\": " integer ", \"epilogue\": [\"Cast\", \"Mul\"]}, "          \
    "\"LSTM\": {\"float_us\": 300}, \"DynamicQuantizeLSTM\": {\"float_us\": 100}"
/* Of float, calibrated scales and the form the fastest; conversions cost 12. */
#define FORM   COSTS("70", "30")
#define SCALES COSTS("20", "70")
#define FLOAT  COSTS("150", "120")

/* The sizes of both products differ. */
static qdq_model *products(void)
{
    return test_tuned_graph(__func__);
}

static qdq_model *lstm(void)
{
    return test_tuned_graph(__func__);
}

static qdq_model *body(void)
{
    return test_tuned_graph(__func__);
}

static setting setting_of(const char *ops, qdq_tune_mode mode)
{
    setting s = {.ops = ops,
                 .model = products,
                 .target = "ort-cpu",
                 .engine = "sim",
                 .goal = QDQ_GOAL_OPTS_INIT};

    s.o = test_tuned_opts(NULL);
    s.o.mode = mode;
    s.goal.by_default = true;
    return s;
}

static bool tried(const char *folder)
{
    return test_tuned_has(folder, "report.html", ">data quantized at run time");
}

/* Of weights: an LSTM has two. */
static size_t count(const char *folder)
{
    const char *path = test_path("%s/plan.json", folder + strlen(test_dir()) + 1);
    qdq_plan *p;

    assert_ok(qdq_plan_load(path, &p, &err));
    const size_t n = qdq_plan_get_summary(p)->n_dynamic;
    qdq_plan_free(p);
    return n;
}

/* --- where it pays ---------------------------------------------------------------------------- */

TEST(products_get_the_fastest_of_the_three_forms)
{
    static const struct {
        const char *ops;
        size_t n;
    } cases[] = {{FORM, 2}, {SCALES, 0}, {FLOAT, 0}};

    for (size_t i = 0; i < QDQ_COUNT(modes); i++)
        for (size_t k = 0; k < QDQ_COUNT(cases); k++) {
            const char *folder = test_path("fastest%zu%zu", i, k);
            setting s = setting_of(cases[k].ops, modes[i]);
            const qdq_tune_result r = run(&s, folder);
            assert_int_equal(count(folder), cases[k].n);
            assert_int_equal(tried(folder), cases[k].n > 0);
            assert_int_equal(r.verdict == QDQ_TUNED_FLOAT, k == 2);
            if (k == 0)
                assert_true(r.speedup > 1.7);
        }
}

/* The form is faster than calibrated scales, which are faster than float. */
TEST(a_product_with_calibrated_scales_gets_the_form_where_that_is_faster_still)
{
    for (size_t i = 0; i < QDQ_COUNT(modes); i++) {
        const char *folder = test_path("still%zu", i);
        setting s = setting_of(COSTS("50", "20"), modes[i]);
        run(&s, folder);
        assert_int_equal(count(folder), 2);
    }
}

TEST(an_lstm_gets_the_form_although_it_has_no_other)
{
    for (size_t i = 0; i < QDQ_COUNT(modes); i++) {
        const char *folder = test_path("lstm%zu", i);
        setting s = setting_of(FORM, modes[i]);
        s.model = lstm;
        const qdq_tune_result r = run(&s, folder);
        assert_int_equal(r.verdict, QDQ_TUNED);
        assert_int_equal(count(folder), 2);
        assert_true(r.speedup > 2);
        assert_true(test_tuned_has(folder, "report.json", "\"op\": \"LSTM\",\n      \"trial\": "));
    }
}

TEST(strategies_without_profiles_and_greedy_find_it_too)
{
    const char *folder = test_path("blind");
    setting s = setting_of(FORM, QDQ_TUNE_REGION);

    s.more = TEST_TUNED_BLIND;
    run(&s, folder);
    assert_int_equal(count(folder), 2);
    s = setting_of(FORM, QDQ_TUNE_SUBGRAPH);
    s.o.strategy = QDQ_TUNE_GREEDY;
    folder = test_path("greedy");
    run(&s, folder);
    assert_int_equal(count(folder), 2);
}

/* --- the goal --------------------------------------------------------------------------------- */

/* Calibrated scales miss the goal, the form holds it. */
TEST(operators_that_a_goal_left_float_get_the_form)
{
    for (size_t i = 0; i < QDQ_COUNT(modes); i++) {
        const char *folder = test_path("goal%zu", i);
        setting s = setting_of(COSTS("10", "40"), modes[i]);
        s.more = "\"error\": 0.1, \"dynamic_error\": 0.001";
        s.goal.by_default = false;
        s.goal.min_sqnr = 40;
        const qdq_tune_result r = run(&s, folder);
        assert_int_equal(r.verdict, QDQ_TUNED);
        assert_int_equal(count(folder), 2);
        assert_true(r.sqnr_db >= 40);
    }
}

TEST(it_is_not_kept_where_the_goal_is_missed)
{
    for (size_t i = 0; i < QDQ_COUNT(modes); i++) {
        const char *folder = test_path("missed%zu", i);
        setting s = setting_of(FORM, modes[i]);
        s.more = "\"error\": 0.1, \"dynamic_error\": 0.1";
        s.goal.by_default = false;
        s.goal.min_sqnr = 40;
        const qdq_tune_result r = run(&s, folder);
        assert_int_equal(r.verdict, QDQ_TUNED_FLOAT);
        assert_int_equal(count(folder), 0);
        assert_true(test_tuned_has(folder, "report.json", "\"at_run_time\": []"));
    }
}

/* Two operators miss it, one holds it. */
TEST(as_many_operators_get_it_as_the_goal_allows)
{
    for (size_t i = 0; i < QDQ_COUNT(modes); i++) {
        const char *folder = test_path("some%zu", i);
        setting s = setting_of(FORM, modes[i]);
        s.more = "\"error\": 0.1, \"dynamic_error\": 0.008";
        s.goal.by_default = false;
        s.goal.min_sqnr = 40;
        const qdq_tune_result r = run(&s, folder);
        assert_int_equal(r.verdict, QDQ_TUNED);
        assert_int_equal(count(folder), 1);
        assert_true(r.sqnr_db >= 40);
    }
}

/* --- where it is not offered ------------------------------------------------------------------ */

TEST(another_engine_than_the_targets_has_no_such_kernels)
{
    for (size_t i = 0; i < QDQ_COUNT(modes); i++) {
        const char *folder = test_path("engine%zu", i);
        setting s = setting_of(FORM, modes[i]);
        s.engine = "ort";
        run(&s, folder);
        assert_false(tried(folder));
        assert_int_equal(count(folder), 0);
    }
}

TEST(one_format_overrides_and_excluded_nodes_prevent_it)
{
    static const char *const every[] = {".*", NULL};
    const qdq_quantize_opts usual = QDQ_QUANTIZE_OPTS_INIT;

    for (size_t i = 0; i < 3; i++) {
        const char *folder = test_path("prevented%zu", i);
        setting s = setting_of(FORM, QDQ_TUNE_SUBGRAPH);
        qdq_quantize_opts q = usual;
        s.goal.one_format = i == 0;
        if (i == 1) {
            s.key = "overrides";
            s.value = "[{\"op\": \"Conv\", \"weight\": {\"method\": \"mse\"}}]";
        }
        q.exclude = i == 2 ? every : NULL;
        s.o.quantize = &q;
        run(&s, folder);
        assert_false(tried(folder));
        assert_int_equal(count(folder), 0);
    }
}

TEST(a_filter_of_nodes_and_a_bound_of_trials_prevent_it)
{
    const char *folder = test_path("filtered");
    char *filter = strdup(test_path("filter.txt"));
    setting s = setting_of(FORM, QDQ_TUNE_SUBGRAPH);

    assert_non_null(filter);
    assert_ok(qdq_write_file(filter, true, "*\n", 2, &err));
    test_tuned_details(&s.o)->node_filter = filter;
    run(&s, folder);
    assert_false(tried(folder));
    s = setting_of(FORM, QDQ_TUNE_SUBGRAPH);
    s.o.trials = 1;
    folder = test_path("trials");
    run(&s, folder);
    assert_false(tried(folder));
    free(filter);
}

TEST(builds_of_the_user_bound_it)
{
    unsigned found = 0;

    for (unsigned most = 7; most < 20; most += 3) {
        const char *folder = test_path("builds%u", most);
        setting s = setting_of(FORM, QDQ_TUNE_SUBGRAPH);
        s.o.max_builds = most;
        assert_true(run(&s, folder).builds <= most);
        found += count(folder) > 0;
    }
    assert_true(found > 0);
}

/* What bodies compute has the target's own format. */
TEST(operators_in_subgraphs_do_not_get_it)
{
    const char *folder = test_path("bodies");
    setting s = setting_of(FORM, QDQ_TUNE_REGION);

    s.model = body;
    run(&s, folder);
    assert_int_equal(count(folder), 0);
}

/* --- again, caches, reports ------------------------------------------------------------------- */

/* Wherever a run is interrupted, it goes on and ends the same. */
TEST(a_run_that_goes_on_ends_with_the_same_plan)
{
    for (size_t i = 0; i < QDQ_COUNT(modes); i++) {
        setting s = setting_of(FORM, modes[i]);
        assert_true(interrupted(&s, 3) > 6);
    }
}

TEST(a_run_again_measures_nothing)
{
    const char *folder = test_path("once");

    for (size_t i = 0; i < QDQ_COUNT(modes); i++) {
        setting s = setting_of(FORM, modes[i]);
        s.o.restart = true;
        run(&s, folder);
        const uint64_t before = test_tuned_samples(folder);
        s.o.restart = false;
        const qdq_tune_result again = run(&s, folder);
        assert_int_equal(test_tuned_samples(folder), before);
        assert_true(again.resumed && again.verdict == QDQ_TUNED && count(folder) == 2);
        s.goal.one_format = true; /* that is another run */
        assert_false(run(&s, folder).resumed);
        assert_int_equal(count(folder), 0);
    }
}

/* Schemes of patterns do not learn the time of a form that they cannot name. */
TEST(a_pattern_cache_leads_to_the_same_forms_without_a_search)
{
    setting s = setting_of(COSTS("50", "20"), QDQ_TUNE_REGION);
    const qdq_tune_result cold = run(&s, test_path("cold"));
    const char *caches[] = {strdup(test_path("cold/patterns.yaml")), NULL};

    assert_non_null(caches[0]);
    s.o.pattern_caches = caches;
    const qdq_tune_result warm = run(&s, test_path("warm"));
    assert_true(warm.builds < cold.builds);
    test_tuned_same(test_path("cold"), test_path("warm"), "plan.json");
    assert_true(test_tuned_has(test_path("warm"), "report.json", "\"trial\": null"));
    free((char *)caches[0]);
}

TEST(the_plan_that_is_saved_makes_the_same_file)
{
    const char *folder = test_path("applied");
    setting s = setting_of(FORM, QDQ_TUNE_SUBGRAPH);
    qdq_model *m = products();

    run(&s, folder);
    test_tuned_replays(folder, m);
    qdq_model_free(m);
}

TEST(models_of_the_front_have_it_too)
{
    const char *folder = test_path("front");
    setting s = setting_of(FORM, QDQ_TUNE_SUBGRAPH);

    test_tuned_details(&s.o)->pareto = 3;
    const qdq_tune_result r = run(&s, folder);
    assert_true(r.n_pareto >= 1 && r.n_pareto <= 3);
    assert_true(test_tuned_has(folder, r.pareto[0].plan, "\"store\": \"dynamic\""));
}

TEST(the_reports_name_the_operators_and_their_trial)
{
    const char *folder = test_path("report");
    setting s = setting_of(FORM, QDQ_TUNE_SUBGRAPH);

    run(&s, folder);
    assert_true(test_tuned_has(folder, "report.html",
                               "a trial of data of 2 operators at run time, this one among them, "
                               "gained"));
    assert_true(test_tuned_has(folder, "report.json",
                               "\"node\": \"MatMul@h\",\n      \"op\": \"MatMul\",\n      "
                               "\"trial\": "));
    assert_true(test_tuned_has(folder, "autotune_cache.json", "data quantized at run time"));
    assert_true(test_tuned_has(folder, "plan.json", "\"store\": \"dynamic\""));
}
