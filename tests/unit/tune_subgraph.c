/* tune_subgraph.c - whole runs in subgraph mode on the sim engine: what the engine computes in one
 * layer is one decision, minimum cuts find the placement in a few builds, and what an engine does
 * not tell is done without. */
#include <math.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"
#include "support/tuned.h"

static qdq_error err;

static qdq_tune_opts opts(const char *engine)
{
    qdq_tune_opts o = test_tuned_opts(engine);

    o.mode = QDQ_TUNE_SUBGRAPH;
    return o;
}

static qdq_tune_result run(const char *folder, const char *engine)
{
    const qdq_tune_opts o = opts(engine);

    return test_tuned_result(test_tuned, folder, &o);
}

static const char one_that_does_not_pay[] =
    "\"nodes\": {\"MatMul@h4\": {\"float_us\": 100, \"int8_us\": 250}}";

/* --- what is found ---------------------------------------------------------------------------- */

TEST(the_best_placement_is_found_in_few_builds)
{
    const char *folder = test_path("best");
    qdq_tune_result r = run(folder, test_tuned_costs(TEST_TUNED_OPS, NULL));

    assert_string_equal(r.mode, "subgraph");
    assert_string_equal(r.strategy, "mincut");
    assert_int_equal(r.verdict, QDQ_TUNED);
    for (int i = 1; i <= 4; i++) {
        char name[8];
        snprintf(name, sizeof name, "h%d", i);
        assert_true(test_tuned_quantizes(folder, "MatMul", name));
    }
    assert_false(test_tuned_quantizes(folder, "Add", "s") ||
                 test_tuned_quantizes(folder, "Add", "z"));
    assert_true(r.speedup > 1.8 && r.builds <= 12);
    assert_true(fabs(r.predicted_ms / r.final_ms - 1) < 0.03);
    /* MatMul and Relu are one, four times */
    assert_true(r.groups >= 6 && r.keys > 0 && r.keys < r.groups);
    assert_true(r.regions == 0 && r.patterns == 0);
    assert_int_equal(r.accepted > 0, true);
    assert_true(test_tuned_exists(folder, "model.onnx") &&
                test_tuned_exists(folder, "report.html"));
    assert_false(test_tuned_exists(folder, "patterns.yaml"));
}

TEST(a_group_that_does_not_pay_stays_float)
{
    const char *folder = test_path("one");
    qdq_tune_result r = run(folder, test_tuned_costs(TEST_TUNED_OPS, one_that_does_not_pay));

    assert_int_equal(r.verdict, QDQ_TUNED);
    assert_true(test_tuned_quantizes(folder, "MatMul", "h1") &&
                test_tuned_quantizes(folder, "MatMul", "h2") &&
                test_tuned_quantizes(folder, "MatMul", "h3"));
    assert_false(test_tuned_quantizes(folder, "MatMul",
                                      "h4")); /* although it is of the same kind as the others */
    assert_true(isfinite(r.raw_ms) && r.builds <= 12);
}

TEST(where_nothing_pays_the_given_model_is_written)
{
    qdq_tune_result r =
        run(test_path("nothing"),
            test_tuned_costs("\"MatMul\": {\"float_us\": 100, \"int8_us\": 110}", NULL));

    assert_int_equal(r.verdict, QDQ_TUNED_FLOAT);
    assert_int_equal(r.accepted, 0);
    assert_true(test_tuned_exists(test_path("nothing"), "model_raw.onnx") && isfinite(r.raw_ms));
}

TEST(a_model_without_decisions_ends_well)
{
    qdq_model *m = test_model("g (float[1,8] x) => (float[1,8] y) { y = Tanh(x) }");
    qdq_tune_opts o = opts(test_tuned_costs(TEST_TUNED_OPS, NULL));
    qdq_tune_result r;

    assert_ok(test_tuned_run(m, test_path("none"), &o, &r, &err));
    assert_int_equal(r.verdict, QDQ_TUNED_FLOAT);
    assert_int_equal(r.groups, 1);
    qdq_model_free(m);
}

/* Total time alone, where the engine tells no times of layers. */
TEST(without_times_of_layers_whole_models_are_timed)
{
    const char *folder = test_path("blind"),
               *engine = test_tuned_costs(TEST_TUNED_OPS, TEST_TUNED_BLIND);
    qdq_tune_result r = run(folder, engine);
    qdq_tune_opts o = opts(engine);

    assert_int_equal(r.verdict, QDQ_TUNED);
    for (int i = 1; i <= 4; i++) {
        char name[8];
        snprintf(name, sizeof name, "h%d", i);
        assert_true(test_tuned_quantizes(folder, "MatMul", name));
    }
    assert_true(r.groups > 0);
    assert_string_equal(r.strategy, "trials");
    o.strategy = QDQ_TUNE_MINCUT;
    assert_fails(QDQ_E_UNSUPPORTED, "too few times of layers for minimum cuts",
                 test_tuned_run(test_tuned, test_path("refused"), &o, &r, &err));
}

/* The engine refuses whatever has the second one in 8 bits: with the filter nobody asks for it. */
TEST(the_filter_holds)
{
    const char *filter = test_path("filter.txt");
    qdq_model *m = test_graph(__func__);
    qdq_tune_opts o =
        opts(test_tuned_costs(TEST_TUNED_OPS, "\"fail\": [{\"at\": \"open\", \"node\": \"two\"}]"));
    qdq_tune_result r;

    assert_ok(qdq_write_file(filter, true, "on*\n", 4, &err));
    assert_ok(test_tuned_run(m, test_path("unfiltered"), &o, &r, &err));
    assert_true(r.rejected > 0);
    test_tuned_details(&o)->node_filter = filter;
    assert_ok(test_tuned_run(m, test_path("filtered"), &o, &r, &err));
    assert_true(test_tuned_has(test_path("filtered"), "plan.json",
                               "{\"node\": \"one\", \"op\": \"MatMul\"}"));
    assert_false(test_tuned_has(test_path("filtered"), "plan.json",
                                "{\"node\": \"two\", \"op\": \"MatMul\"}"));
    qdq_model_free(m);
}

/* --- budgets ---------------------------------------------------------------------------------- */

TEST(no_bound_on_builds_is_passed)
{
    const char *engine = test_tuned_costs(TEST_TUNED_OPS, one_that_does_not_pay);
    qdq_tune_opts o = opts(engine);
    qdq_tune_result r;

    for (unsigned most = 7; most <= 13; most++) {
        o.max_builds = most;
        assert_ok(test_tuned_run(test_tuned, test_path("most%u", most), &o, &r, &err));
        if (r.builds > most)
            fail_msg("%u builds, at most %u were allowed", r.builds, most);
    }
    o.max_builds = 6;
    assert_fails(QDQ_E_USAGE, "found 6 builds, expected at least 7",
                 test_tuned_run(test_tuned, test_path("few"), &o, &r, &err));
}

/* With open dims, the final validation needs two builds more. */
TEST(no_bound_on_builds_is_passed_with_open_dims)
{
    const char *engine = test_tuned_costs(TEST_TUNED_OPS, one_that_does_not_pay);
    bool measured = false;
    qdq_tune_opts o = opts(engine);
    qdq_tune_result r;

    qdq_model *open = test_tuned_graph(__func__);
    for (unsigned most = 9; most <= 15; most++) {
        o.max_builds = most;
        assert_ok(test_tuned_run(open, test_path("open%u", most), &o, &r, &err));
        measured = measured || r.other_dims.measured;
        if (r.builds > most)
            fail_msg("%u builds, at most %u were allowed", r.builds, most);
    }
    assert_true(measured);
    qdq_model_free(open);
}

/* --- going on --------------------------------------------------------------------------------- */

TEST(a_finished_run_measures_nothing_again)
{
    const char *folder = test_path("again"),
               *engine = test_tuned_costs(TEST_TUNED_OPS, one_that_does_not_pay);
    qdq_tune_result first = run(folder, engine), second;
    uint64_t samples = test_tuned_samples(folder);
    char *plan = test_tuned_file(folder, "plan.json");

    second = run(folder, engine);
    assert_true(second.resumed && !first.resumed);
    assert_int_equal(test_tuned_samples(folder), samples);
    test_tuned_holds(folder, "plan.json", plan);
    assert_int_equal(first.builds, second.builds);
    assert_int_equal(first.groups, second.groups);
    assert_true(first.speedup == second.speedup && first.raw_ms == second.raw_ms);
    qdq_free(plan);
}

TEST(an_interrupted_run_goes_on_to_the_same_plan)
{
    const char *engine = test_tuned_costs(TEST_TUNED_OPS, one_that_does_not_pay);
    bool ended = false;

    run(test_path("whole"), engine);
    char *whole = test_tuned_file(test_path("whole"), "plan.json");
    for (unsigned after = 0; !ended && after < 30; after++) {
        const char *folder = test_path("stopped%u", after);
        qdq_tune_opts o = opts(engine);
        test_tuned_stop s;
        qdq_tune_result r;
        test_tuned_stop_in(&s, NULL, after + 1, &o);
        qdq_status st = test_tuned_run(test_tuned, folder, &o, &r, &err);
        ended = st == QDQ_OK;
        assert_true(ended || st == QDQ_E_INTERRUPTED);
        run(folder, engine);
        test_tuned_holds(folder, "plan.json", whole);
        qdq_cancel_free(s.cancel);
    }
    assert_true(ended);
    qdq_free(whole);
}

TEST(a_killed_run_goes_on_to_the_same_plan)
{
    const char *engine = test_tuned_costs(TEST_TUNED_OPS, one_that_does_not_pay);
    int fd[2];

    run(test_path("unharmed"), engine);
    char *whole = test_tuned_file(test_path("unharmed"), "plan.json");
    for (unsigned pairs = 1; pairs <= 61; pairs += 20) {
        const char *folder = test_path("killed%u", pairs);
        unsigned now = 0;
        assert_int_equal(pipe(fd), 0);
        pid_t child = test_tuned_start(folder, engine, QDQ_TUNE_SUBGRAPH, fd[1]);
        close(fd[1]);
        while (now < pairs && read(fd[0], &now, sizeof now) == sizeof now)
            ;
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        close(fd[0]);
        run(folder, engine);
        test_tuned_holds(folder, "plan.json", whole);
    }
    qdq_free(whole);
}

/* --- layers from a file ----------------------------------------------------------------------- */

static const char *layer_file(const char *name, const char *layers)
{
    const char *path = test_path("%s", name);

    assert_ok(qdq_write_file(path, true, layers, strlen(layers), &err));
    return path;
}

#define LAYER(nodes) "{\"Name\": \"k\", \"LayerType\": \"gemm\", \"Metadata\": \"" nodes "\"}"
#define NODE(output) "[ONNX Layer: node_of_" output "]"

TEST(layers_of_a_file_are_taken)
{
    static const char layers[] = "{\"Layers\": [" LAYER(NODE("h1") "\\u001e" NODE("r1")) ", " LAYER(NODE(
        "h2") "\\u001"
              "e" NODE("r2") "\\u001e" NODE(
                  "s")) ", " LAYER(NODE("h3") "\\u001e" NODE("r3")) ", " LAYER(NODE("h4") "\\u001"
                                                                                          "e" NODE("r4") "\\u001e" NODE(
                                                                                              "z") "\\u001"
                                                                                                   "e" NODE(
                                                                                                       "y")) "]"
                                                                                                             "}";
    const char *folder = test_path("from_file");
    qdq_tune_opts o = opts(test_tuned_costs(TEST_TUNED_OPS, NULL));
    qdq_tune_result r;

    test_tuned_details(&o)->layer_info = layer_file("layers.json", layers);
    assert_ok(test_tuned_run(test_tuned, folder, &o, &r, &err));
    assert_int_equal(r.verdict, QDQ_TUNED);
    assert_true(test_tuned_quantizes(folder, "MatMul", "h1") &&
                test_tuned_quantizes(folder, "MatMul", "h4"));
}

/* What a run wrote about its engine's layers is good for another run. */
TEST(layers_that_a_run_wrote_are_layers_of_a_file)
{
    const char *folder = test_path("writes"), *engine = test_tuned_costs(TEST_TUNED_OPS, NULL);
    qdq_tune_opts o = opts(engine);
    qdq_tune_result first = run(folder, engine), second;

    assert_true(test_tuned_exists(folder, "model.fp32.graph.json") &&
                test_tuned_exists(folder, "model.fp32.build.log"));
    test_tuned_details(&o)->layer_info = test_path("writes/model.fp32.graph.json");
    assert_ok(test_tuned_run(test_tuned, test_path("reads"), &o, &second, &err));
    assert_int_equal(first.groups, second.groups);
    assert_int_equal(first.keys, second.keys);
    assert_false(test_tuned_exists(test_path("reads"), "model.fp32.graph.json"));
}

/* Layer information that does not fit the model. */
TEST(layers_of_another_model_are_refused)
{
    static const char layers[] = "{\"Layers\": ["
                                 "{\"Name\": \"a\", \"Metadata\": \"[ONNX Layer: other1]\"},"
                                 "{\"Name\": \"b\", \"Metadata\": \"[ONNX Layer: other2]\"},"
                                 "{\"Name\": \"c\", \"Metadata\": \"[ONNX Layer: MatMul@h1]\"}]}";
    qdq_tune_opts o = opts(test_tuned_costs(TEST_TUNED_OPS, NULL));
    qdq_tune_result r;

    test_tuned_details(&o)->layer_info = layer_file("other.json", layers);
    assert_fails(QDQ_E_UNSUPPORTED, "other.json",
                 test_tuned_run(test_tuned, test_path("other"), &o, &r, &err));
    test_tuned_details(&o)->layer_info = test_path("nowhere.json");
    assert_fails(QDQ_E_IO, "nowhere.json",
                 test_tuned_run(test_tuned, test_path("nowhere"), &o, &r, &err));
    test_tuned_details(&o)->layer_info = layer_file("broken.json", "{\"Layers\": [");
    assert_fails(QDQ_E_FORMAT, "broken.json",
                 test_tuned_run(test_tuned, test_path("broken"), &o, &r, &err));
}

/* --- what does not go together ---------------------------------------------------------------- */

TEST(options_of_the_other_mode_are_refused)
{
    static const char *const caches[] = {"patterns.yaml", NULL};
    const char *engine = test_tuned_costs(TEST_TUNED_OPS, NULL), *folder = test_path("clash");
    qdq_region_opts regions = QDQ_REGION_OPTS_INIT;
    qdq_tune_opts o = opts(engine);
    qdq_tune_result r;

    o.pattern_caches = caches;
    assert_fails(QDQ_E_USAGE, "region mode alone",
                 test_tuned_run(test_tuned, folder, &o, &r, &err));
    o = opts(engine);
    regions.max_region_size = 3;
    test_tuned_details(&o)->regions = &regions;
    assert_fails(QDQ_E_USAGE, "region mode alone",
                 test_tuned_run(test_tuned, folder, &o, &r, &err));
    o = opts(engine);
    o.strategy = (qdq_tune_strategy)3;
    assert_fails(QDQ_E_USAGE, "strategy 3", test_tuned_run(test_tuned, folder, &o, &r, &err));
    o = test_tuned_opts(engine);
    o.strategy = QDQ_TUNE_MINCUT;
    assert_fails(QDQ_E_USAGE, "subgraph mode alone",
                 test_tuned_run(test_tuned, folder, &o, &r, &err));
    o = test_tuned_opts(engine);
    test_tuned_details(&o)->layer_info = "layers.json";
    assert_fails(QDQ_E_USAGE, "subgraph mode alone",
                 test_tuned_run(test_tuned, folder, &o, &r, &err));
    o = test_tuned_opts(engine);
    o.mode = (qdq_tune_mode)2;
    assert_fails(QDQ_E_USAGE, "found mode 2", test_tuned_run(test_tuned, folder, &o, &r, &err));
    assert_false(test_tuned_exists(folder, "model.onnx"));
}

/* --- report ----------------------------------------------------------------------------------- */

TEST(the_report_tells_groups)
{
    static const char *const keys[] = {"groups",   "keys",      "raw_ms", "kept",
                                       "rejected", "undecided", "builds"};
    const char *folder = test_path("report");
    json_t *j;

    run(folder, test_tuned_costs(TEST_TUNED_OPS, one_that_does_not_pay));
    char *text = test_tuned_file(folder, "report.json"),
         *page = test_tuned_file(folder, "report.html");
    assert_ok(qdq_json_parse(text, strlen(text), "report", &j, &err));
    assert_string_equal(json_string_value(json_object_get(j, "mode")), "subgraph");
    for (size_t i = 0; i < QDQ_COUNT(keys); i++)
        if (!json_is_number(json_object_get(j, keys[i])))
            fail_msg("%s: found no number in %s", keys[i], text);
    assert_null(json_object_get(j, "regions"));
    assert_non_null(strstr(page, "fusion groups of"));
    assert_non_null(strstr(page, "MatMul #"));
    assert_non_null(strstr(page, "3 of 4")); /* of one kind, each for itself */
    json_decref(j);
    qdq_free(text);
    qdq_free(page);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_placement_is_found_in_few_builds),
        cmocka_unit_test(a_group_that_does_not_pay_stays_float),
        cmocka_unit_test(where_nothing_pays_the_given_model_is_written),
        cmocka_unit_test(a_model_without_decisions_ends_well),
        cmocka_unit_test(without_times_of_layers_whole_models_are_timed),
        cmocka_unit_test(the_filter_holds),
        cmocka_unit_test(no_bound_on_builds_is_passed),
        cmocka_unit_test(no_bound_on_builds_is_passed_with_open_dims),
        cmocka_unit_test(a_finished_run_measures_nothing_again),
        cmocka_unit_test(an_interrupted_run_goes_on_to_the_same_plan),
        cmocka_unit_test(a_killed_run_goes_on_to_the_same_plan),
        cmocka_unit_test(layers_of_a_file_are_taken),
        cmocka_unit_test(layers_that_a_run_wrote_are_layers_of_a_file),
        cmocka_unit_test(layers_of_another_model_are_refused),
        cmocka_unit_test(options_of_the_other_mode_are_refused),
        cmocka_unit_test(the_report_tells_groups),
    };

    if (argc > 1)
        return test_tuned_child(argc, argv);
    return cmocka_run_group_tests(tests, test_tuned_make, test_tuned_drop);
}
