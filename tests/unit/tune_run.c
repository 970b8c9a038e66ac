/* tune_run.c - whole tuning runs on the sim engine: what is written, what is refused, what is gone
 * on with. */
#include <math.h>
#include <unistd.h>

#include "base/json.h"
#include "ir/edit.h"
#include "support/tuned.h"

static qdq_error err;

static qdq_tune_result run(const char *folder, const char *engine)
{
    const qdq_tune_opts o = test_tuned_opts(engine);

    return test_tuned_result(test_tuned, folder, &o);
}

TEST(the_best_of_search_rules_and_given_is_written)
{
    const char *folder = test_path("best");
    qdq_tune_result r = run(folder, test_tuned_costs(TEST_TUNED_OPS, NULL));
    qdq_model *m;

    assert_int_equal(r.verdict, QDQ_TUNED);
    assert_true(r.speedup > 1.8 && r.ci_low > 1.7 && r.final_ms <= r.rules_ms * 1.01);
    assert_true(fabs(r.predicted_ms / r.final_ms - 1) < 0.03);
    assert_true(r.placement_only);
    assert_true(r.builds > 3 && r.timings > 20 && r.regions > 0 && r.patterns > 0);
    assert_true(test_tuned_quantizes(folder, "MatMul", "h1") &&
                test_tuned_quantizes(folder, "MatMul", "h4"));
    assert_ok(qdq_model_load(test_path("best/model.onnx"), NULL, &m, &err));
    qdq_model_free(m);
    assert_int_equal(access(test_path("best/baseline.onnx"), F_OK), 0);
    assert_int_equal(access(test_path("best/report.html"), F_OK), 0);
    assert_int_equal(access(test_path("best/patterns.yaml"), F_OK), 0);
}

TEST(where_nothing_pays_the_given_model_is_written)
{
    const char *folder = test_path("nothing");
    qdq_tune_result r =
        run(folder, test_tuned_costs("\"MatMul\": {\"float_us\": 100, \"int8_us\": 110}", NULL));

    assert_int_equal(r.verdict, QDQ_TUNED_FLOAT);
    assert_true(r.speedup == 1);
    assert_true(test_tuned_has(folder, "plan.json", "\"tensors\": []"));
}

TEST(where_nothing_can_run_in_8_bits_the_given_model_is_written)
{
    qdq_model *m = test_model("g (float[1,8] x) => (float[1,8] y) { y = Tanh(x) }");
    qdq_tune_opts o = test_tuned_opts(test_tuned_costs(TEST_TUNED_OPS, NULL));
    qdq_tune_result r;

    assert_ok(test_tuned_run(m, test_path("none"), &o, &r, &err));
    assert_int_equal(r.verdict, QDQ_TUNED_FLOAT);
    assert_true(r.speedup == 1 && r.baseline_ms > 0);
    assert_int_equal(access(test_path("none/model.onnx"), F_OK), 0);
    qdq_model_free(m);
}

TEST(where_every_candidate_fails_the_given_model_is_written)
{
    qdq_tune_result r = run(
        test_path("rules_fail"),
        test_tuned_costs(TEST_TUNED_OPS, "\"fail\": [{\"at\": \"open\", \"node\": \"MatMul@h1\"}, "
                                         "{\"at\": \"open\", \"node\": \"MatMul@h2\"}, "
                                         "{\"at\": \"open\", \"node\": \"MatMul@h3\"}, "
                                         "{\"at\": \"open\", \"node\": \"MatMul@h4\"}]"));

    assert_int_equal(r.verdict, QDQ_TUNED_FLOAT);
    assert_true(r.baseline_ms > 0.1 && r.final_ms == r.baseline_ms);
}

/* Each of these happens where the MatMul that gives h2 runs in 8 bits. */
TEST(what_the_engine_does_not_survive_costs_that_candidate)
{
    static const char *const failures[] = {
        "{\"at\": \"run\", \"node\": \"MatMul@h2\", \"crash\": \"SIGILL\"}",
        "{\"at\": \"open\", \"node\": \"MatMul@h2\", \"message\": \"no such kernel\"}",
        "{\"at\": \"time\", \"node\": \"MatMul@h2\", \"crash\": \"SIGSEGV\"}",
        "{\"at\": \"run\", \"node\": \"MatMul@h2\", \"outputs\": \"nan\"}",
    };

    for (size_t i = 0; i < QDQ_COUNT(failures); i++) {
        char more[300];
        snprintf(more, sizeof more, "\"fail\": [%s]", failures[i]);
        const char *folder = test_path("fails%zu", i);
        qdq_tune_result r = run(folder, test_tuned_costs(TEST_TUNED_OPS, more));
        if (test_tuned_quantizes(folder, "MatMul", "h2"))
            fail_msg("%s: it is in the plan", failures[i]);
        assert_int_equal(r.verdict, QDQ_TUNED);
        assert_true(test_tuned_quantizes(folder, "MatMul", "h1"));
    }
}

TEST(what_misses_the_accuracy_is_refused_however_fast)
{
    qdq_goal_opts goal = QDQ_GOAL_OPTS_INIT;
    const char *folder = test_path("accurate");
    qdq_tune_opts o = test_tuned_opts(test_tuned_costs(
        TEST_TUNED_OPS,
        "\"fail\": [{\"at\": \"run\", \"node\": \"MatMul@h2\", \"outputs\": \"wrong\"}]"));
    qdq_tune_result r;

    goal.min_sqnr = 10;
    o.goal = &goal;
    assert_ok(test_tuned_run(test_tuned, folder, &o, &r, &err));
    assert_false(test_tuned_quantizes(folder, "MatMul", "h2"));
    assert_true(test_tuned_quantizes(folder, "MatMul", "h1"));
    assert_true(r.sqnr_db >= 10);
}

TEST(a_finished_run_measures_nothing_again)
{
    const char *folder = test_path("again"), *engine = test_tuned_costs(TEST_TUNED_OPS, NULL);
    qdq_tune_result first = run(folder, engine), second;
    uint64_t samples = test_tuned_samples(folder);
    char *plan = test_tuned_file(folder, "plan.json");

    second = run(folder, engine);
    assert_true(second.resumed && !first.resumed);
    assert_int_equal(test_tuned_samples(folder), samples);
    test_tuned_holds(folder, "plan.json", plan);
    assert_int_equal(first.builds, second.builds);
    assert_true(first.speedup == second.speedup);
    qdq_free(plan);

    qdq_tune_opts o = test_tuned_opts(engine);
    o.restart = true;
    assert_ok(test_tuned_run(test_tuned, folder, &o, &second, &err));
    assert_false(second.resumed);
    assert_true(test_tuned_samples(folder) > samples);
}

TEST(a_budget_ends_the_search_and_the_guard_still_decides)
{
    const char *folder = test_path("budget");
    qdq_tune_opts o = test_tuned_opts(test_tuned_costs(TEST_TUNED_OPS, TEST_TUNED_BLIND));
    qdq_tune_result r;

    o.trials = 2;
    assert_ok(test_tuned_run(test_tuned, folder, &o, &r, &err));
    assert_true(r.ended_early);
    assert_true(r.speedup > 1);
    o.trials = 0;
    o.time_s = 1e-9;
    assert_ok(test_tuned_run(test_tuned, test_path("no_time"), &o, &r, &err));
    assert_true(r.ended_early);
}

static void stop_early(void *ctx, const qdq_tune_live *now)
{
    test_tuned_stop *s = ctx;

    if (now->trials > 0)
        qdq_cancel_set(s->cancel);
}

/* What it knew it runs through again: meanwhile, the best that was found stays in the folder. */
TEST(a_run_that_goes_on_does_not_go_back)
{
    const char *folder = test_path("goes_on");
    /* one MatMul does not pay: the rules' plan is the best for some trials only */
    const char *engine =
        test_tuned_costs(TEST_TUNED_OPS, TEST_TUNED_BLIND
                         ", \"nodes\": {\"MatMul@h4\": {\"float_us\": 100, \"int8_us\": 250}}");
    qdq_tune_opts o = test_tuned_opts(engine);
    test_tuned_stop s;
    qdq_tune_result r = run(folder, engine);
    char *before = test_tuned_file(folder, "plan.json");

    assert_int_equal(r.verdict, QDQ_TUNED);
    test_tuned_stop_in(&s, NULL, 0, &o);
    o.live = stop_early;
    assert_int_equal(test_tuned_run(test_tuned, folder, &o, &r, &err), QDQ_E_INTERRUPTED);
    test_tuned_holds(folder, "plan.json", before);
    qdq_free(before);
    qdq_cancel_free(s.cancel);
}

TEST(an_interrupted_run_leaves_the_best_so_far_and_goes_on)
{
    const char *folder = test_path("interrupted"),
               *engine = test_tuned_costs(TEST_TUNED_OPS, TEST_TUNED_BLIND);
    qdq_tune_opts o = test_tuned_opts(engine);
    test_tuned_stop s;
    qdq_tune_result r;
    char *status;

    test_tuned_stop_in(&s, "regions", 1, &o);
    assert_int_equal(test_tuned_run(test_tuned, folder, &o, &r, &err), QDQ_E_INTERRUPTED);
    uint64_t samples = test_tuned_samples(folder);
    assert_true(samples > 0);
    assert_int_equal(access(test_path("interrupted/model.onnx"), F_OK), 0);
    assert_ok(qdq_tune_status(folder, &status, &err));
    assert_non_null(strstr(status, "\"trials\""));
    qdq_free(status);

    r = run(folder, engine);
    assert_true(r.resumed);
    assert_true(test_tuned_samples(folder) > samples);
    run(test_path("whole"), engine);
    test_tuned_same(folder, test_path("whole"), "plan.json");
    qdq_cancel_free(s.cancel);
}

TEST(a_machine_that_slows_down_changes_no_plan)
{
    const char *calm = test_path("calm"), *slow = test_path("slow");

    run(calm, test_tuned_costs(TEST_TUNED_OPS, NULL));
    run(slow, test_tuned_costs(TEST_TUNED_OPS,
                               "\"fail\": [{\"at\": \"time\", \"nth\": 60, \"slow\": 2}]"));
    for (int i = 1; i <= 4; i++) {
        char name[8];
        snprintf(name, sizeof name, "h%d", i);
        assert_true(test_tuned_quantizes(calm, "MatMul", name) ==
                    test_tuned_quantizes(slow, "MatMul", name));
    }
}

static void write_into_model(void *ctx, const qdq_tune_live *now)
{
    (void)ctx;
    if (strcmp(now->phase, "start") == 0 || strcmp(now->phase, "regions") == 0) {
        FILE *f = fopen(test_path("changing.onnx"), "r+");
        if (f != NULL) {
            int c = fgetc(f);
            rewind(f);
            fputc(c, f); /* the same byte: only the time of the change is another */
            fclose(f);
        }
    }
}

TEST(a_model_that_is_written_to_meanwhile_is_an_error)
{
    const char *path = strdup(test_path("changing.onnx"));
    qdq_tune_opts o = test_tuned_opts(test_tuned_costs(TEST_TUNED_OPS, NULL));
    qdq_tune_result r;
    qdq_model *m;

    assert_ok(qdq_model_save(test_tuned, path, NULL, &err));
    assert_ok(qdq_model_load(path, NULL, &m, &err));
    o.live = write_into_model;
    assert_fails(QDQ_E_IO, "changing.onnx: modified during tuning; results are invalid",
                 test_tuned_run(m, test_path("changed"), &o, &r, &err));
    qdq_model_free(m);
    free((char *)path);
}

TEST(the_report_has_what_the_result_has)
{
    const char *folder = test_path("report");
    qdq_tune_result r = run(folder, test_tuned_costs(TEST_TUNED_OPS, NULL));
    char *text = test_tuned_file(folder, "report.json"), *status;
    static const char *const keys[] = {"mode",    "engine",  "baseline_ms", "rules_ms", "final_ms",
                                       "speedup", "ci_low",  "ci_high",     "builds",   "timings",
                                       "seconds", "verdict", "regions",     "patterns"};
    json_t *j;

    assert_ok(qdq_json_parse(text, strlen(text), "report", &j, &err));
    for (size_t i = 0; i < QDQ_COUNT(keys); i++)
        assert_non_null(json_object_get(j, keys[i]));
    assert_true(json_number_value(json_object_get(j, "speedup")) == r.speedup);
    assert_int_equal(json_integer_value(json_object_get(j, "builds")), r.builds);
    json_decref(j);
    assert_ok(qdq_tune_status(folder, &status, &err));
    assert_non_null(strstr(status, "\"state\": \"finished\""));
    qdq_free(status);
    qdq_free(text);
}

/* Which candidate was what, and nothing from elsewhere. */
TEST(the_page_names_the_starts_and_needs_nothing_else)
{
    const char *folder = test_path("page");
    qdq_tune_result r = run(folder, test_tuned_costs(TEST_TUNED_OPS, NULL));

    assert_true(r.builds > 0);
    assert_true(test_tuned_has(folder, "report.html", "linear</"));
    assert_false(test_tuned_has(folder, "report.html", "src="));
    assert_false(test_tuned_has(folder, "report.html", "href=\"http"));
    assert_false(test_tuned_has(folder, "report.html", "@import"));
}

/* an imported placement is a start, and a seed of each pattern, also of a model that cannot ship */
TEST(a_qdq_baseline_is_a_start)
{
    const char *engine = test_tuned_costs(TEST_TUNED_OPS, NULL);
    qdq_tune_opts o = test_tuned_opts(engine);
    qdq_tune_result r;
    qdq_model *baseline, *other = test_model("g (float[1,4] p) => (float[1,4] q) { q = Tanh(p) }");
    const qdq_model *baselines[2] = {NULL, NULL};

    run(test_path("first"), engine);
    assert_ok(qdq_model_load(test_path("first/model.onnx"), NULL, &baseline, &err));
    baseline = test_tuned_other_weight(baseline);
    baselines[0] = baseline;
    o.qdq_baselines = baselines;
    o.trials = 1; /* the first start is measured, and nothing else */
    assert_ok(test_tuned_run(test_tuned, test_path("imported"), &o, &r, &err));
    assert_true(test_tuned_quantizes(test_path("imported"), "MatMul", "h1") &&
                test_tuned_quantizes(test_path("imported"), "MatMul", "h4"));
    assert_true(r.speedup > 1.8);
    baselines[0] = other;
    assert_fails(QDQ_E_FORMAT, "expected the same network",
                 test_tuned_run(test_tuned, test_path("imported2"), &o, &r, &err));
    qdq_model_free(other);
    qdq_model_free(baseline);
}

/* What a cache knows is tried as a whole, whatever was imported. */
TEST(a_cache_is_a_start_beside_a_qdq_baseline)
{
    static const char *const exclude[] = {"=MatMul@h2", "=MatMul@h3", "=MatMul@h4", NULL};
    const char *engine = test_tuned_costs(TEST_TUNED_OPS, NULL), *caches[2] = {NULL, NULL};
    qdq_quantize_opts quantize = QDQ_QUANTIZE_OPTS_INIT;
    qdq_tune_opts o = test_tuned_opts(engine);
    const qdq_model *baselines[2] = {NULL, NULL};
    qdq_tune_result r;
    qdq_model *baseline;

    run(test_path("knows"), engine);
    quantize.exclude = exclude;
    o.quantize = &quantize;
    assert_ok(test_tuned_run(test_tuned, test_path("one"), &o, &r, &err));
    assert_ok(qdq_model_load(test_path("one/model.onnx"), NULL, &baseline, &err));
    o = test_tuned_opts(engine);
    caches[0] = strdup(test_path("knows/patterns.yaml"));
    o.pattern_caches = caches;
    baselines[0] = baseline;
    o.qdq_baselines = baselines;
    o.trials = 1;
    assert_ok(test_tuned_run(test_tuned, test_path("both"), &o, &r, &err));
    assert_true(test_tuned_quantizes(test_path("both"), "MatMul", "h1") &&
                test_tuned_quantizes(test_path("both"), "MatMul", "h4"));
    free((char *)caches[0]);
    qdq_model_free(baseline);
}

/* A profile says which candidates cannot win: they are not built, and the plan is the same. */
TEST(a_profile_makes_the_search_short)
{
    qdq_tune_result blind =
                        run(test_path("blind"), test_tuned_costs(TEST_TUNED_OPS, TEST_TUNED_BLIND)),
                    seeing = run(test_path("seeing"), test_tuned_costs(TEST_TUNED_OPS, NULL));

    print_message("%u builds, with profiles %u\n", blind.builds, seeing.builds);
    assert_true(seeing.builds < blind.builds);
    assert_true(seeing.ruled_out > 0 && blind.ruled_out == 0);
    test_tuned_same(test_path("blind"), test_path("seeing"), "plan.json");
}

/* Names in models are bytes, those in JSON are not. */
TEST(names_that_no_plan_can_hold_are_an_error_that_says_so)
{
    const qdq_tune_opts o = test_tuned_opts(test_tuned_costs(TEST_TUNED_OPS, NULL));
    qdq_model *m = test_tuned_model();
    qdq_tune_result r;

    QDQ_FOR_NODES (n, m->graph) {
        char name[20];
        snprintf(name, sizeof name, "n\xf6\xdf%u", (unsigned)n->id);
        assert_true(qdq_node_set_name(n, name));
    }
    assert_fails(QDQ_E_UNSUPPORTED, "is no UTF-8",
                 test_tuned_run(m, test_path("odd"), &o, &r, &err));
    qdq_model_free(m);
}

/* Part 5: its own patterns.yaml makes a second run short. */
TEST(its_own_cache_makes_the_next_run_short)
{
    const char *engine = test_tuned_costs(TEST_TUNED_OPS, TEST_TUNED_BLIND),
               *caches[2] = {NULL, NULL};
    qdq_tune_opts o = test_tuned_opts(engine);
    qdq_tune_result cold = run(test_path("cold"), engine), warm;

    caches[0] = strdup(test_path("cold/patterns.yaml"));
    o.pattern_caches = caches;
    assert_ok(test_tuned_run(test_tuned, test_path("warm"), &o, &warm, &err));
    print_message("%u builds, warm %u\n", cold.builds, warm.builds);
    assert_true(warm.final_ms <= cold.final_ms * 1.01);
    assert_true(warm.builds < cold.builds);
    free((char *)caches[0]);
}

TEST(every_candidate_is_kept_if_that_is_wanted)
{
    const char *folder = test_path("keep");
    qdq_tune_opts o = test_tuned_opts(test_tuned_costs(TEST_TUNED_OPS, TEST_TUNED_BLIND));
    qdq_tune_result r;

    test_tuned_details(&o)->keep_models = true;
    assert_ok(test_tuned_run(test_tuned, folder, &o, &r, &err));
    char command[4300];
    snprintf(command, sizeof command, "test $(ls %s/region_models | grep -c onnx$) -ge 3", folder);
    assert_int_equal(system(command), 0);
}

TEST(what_cannot_begin_says_why)
{
    qdq_engine_opts no_worker = QDQ_ENGINE_OPTS_INIT;
    qdq_tune_opts o = test_tuned_opts(test_tuned_costs(TEST_TUNED_OPS, NULL));
    const char *file = test_path("a_file");
    FILE *f = fopen(file, "w");
    qdq_tune_result r;
    char *status;

    assert_non_null(f);
    fclose(f);
    assert_fails(QDQ_E_IO, "cannot make the folder",
                 test_tuned_run(test_tuned, file, &o, &r, &err));
    assert_fails(QDQ_E_IO, "", test_tuned_run(test_tuned, test_path("no/such/dir"), &o, &r, &err));
    test_tuned_details(&o)->node_filter = test_path("no_filter");
    assert_fails(QDQ_E_IO, "no_filter",
                 test_tuned_run(test_tuned, test_path("filter"), &o, &r, &err));
    test_tuned_details(&o)->node_filter = NULL;
    no_worker.worker = "/no/such/worker";
    o.engine_opts = &no_worker;
    assert_fails(QDQ_E_ENGINE, "worker",
                 test_tuned_run(test_tuned, test_path("worker"), &o, &r, &err));
    assert_fails(QDQ_E_IO, "expected a folder of qdq autotune",
                 qdq_tune_status(test_path("nowhere"), &status, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_best_of_search_rules_and_given_is_written),
        cmocka_unit_test(where_nothing_pays_the_given_model_is_written),
        cmocka_unit_test(where_nothing_can_run_in_8_bits_the_given_model_is_written),
        cmocka_unit_test(where_every_candidate_fails_the_given_model_is_written),
        cmocka_unit_test(what_the_engine_does_not_survive_costs_that_candidate),
        cmocka_unit_test(what_misses_the_accuracy_is_refused_however_fast),
        cmocka_unit_test(a_finished_run_measures_nothing_again),
        cmocka_unit_test(a_budget_ends_the_search_and_the_guard_still_decides),
        cmocka_unit_test(a_run_that_goes_on_does_not_go_back),
        cmocka_unit_test(an_interrupted_run_leaves_the_best_so_far_and_goes_on),
        cmocka_unit_test(a_machine_that_slows_down_changes_no_plan),
        cmocka_unit_test(a_model_that_is_written_to_meanwhile_is_an_error),
        cmocka_unit_test(the_report_has_what_the_result_has),
        cmocka_unit_test(the_page_names_the_starts_and_needs_nothing_else),
        cmocka_unit_test(a_qdq_baseline_is_a_start),
        cmocka_unit_test(a_profile_makes_the_search_short),
        cmocka_unit_test(a_cache_is_a_start_beside_a_qdq_baseline),
        cmocka_unit_test(names_that_no_plan_can_hold_are_an_error_that_says_so),
        cmocka_unit_test(its_own_cache_makes_the_next_run_short),
        cmocka_unit_test(every_candidate_is_kept_if_that_is_wanted),
        cmocka_unit_test(what_cannot_begin_says_why),
    };

    return cmocka_run_group_tests(tests, test_tuned_make, test_tuned_drop);
}
