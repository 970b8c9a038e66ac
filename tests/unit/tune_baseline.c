/* tune_baseline.c - models with Q/DQ that were given beside the model, in whole tuning runs on the
 * sim engine: each is measured as it is, and ships where nothing beats it. */
#include <math.h>
#include <unistd.h>

#include "support/tuned.h"

/* Codes in front of Tanh are what the search may not place here: users keep it out. */
#define TANH(us) TEST_TUNED_OPS ", \"Tanh\": {\"float_us\": 2000, \"int8_us\": " us "}"

static qdq_error err;

/* The model with an entry for each of these tensors, as a file below test_dir():
 * qdq_model_free(). */
static qdq_model *given(const qdq_model *of, const char *name, const char *const *tensors, size_t n,
                        const qdq_save_opts *so)
{
    char text[2000];
    size_t at = (size_t)snprintf(
        text, sizeof text,
        "{\"qdq_plan\": 1, \"model\": \"any\", \"target\": \"\", \"created_by\": "
        "\"a test\", \"clean\": \"\", \"opset\": 0, \"placement_only\": false, \"tensors\": [");
    qdq_model *made, *out;
    qdq_plan *p;

    for (size_t i = 0; i < n; i++)
        at += (size_t)snprintf(text + at, sizeof text - at,
                               "%s{\"tensor\": \"%s\", \"type\": \"uint8\", \"scale\": 0.0%zu, "
                               "\"zero_point\": 128, \"rule\": \"\", \"origin\": \"rule\"}",
                               i > 0 ? ", " : "", tensors[i], i + 2);
    snprintf(text + at, sizeof text - at,
             "], \"weights\": [], \"biases\": [], \"quantized\": [], \"left_float\": []}");
    assert_ok(qdq_plan_parse(text, strlen(text), "a plan", &p, &err));
    assert_ok(qdq_plan_apply(p, of, true, NULL, &made, &err));
    assert_ok(qdq_model_save(made, test_path("%s", name), so, &err));
    assert_ok(qdq_model_load(test_path("%s", name), NULL, &out, &err));
    qdq_model_free(made);
    qdq_plan_free(p);
    return out;
}

static qdq_model *with_tanh(const char *name)
{
    static const char *const z[] = {"z"};

    return given(test_tuned, name, z, 1, NULL);
}

static qdq_tune_opts options(const char *costs, const char *more, const qdq_model *const *baselines)
{
    static const char *const exclude[] = {"^Tanh@", NULL};
    static qdq_quantize_opts quantize = QDQ_QUANTIZE_OPTS_INIT;
    qdq_tune_opts o = test_tuned_opts(test_tuned_costs(costs, more));

    quantize.exclude = exclude;
    o.quantize = &quantize;
    o.qdq_baselines = baselines;
    return o;
}

static qdq_tune_result run(const char *folder, const char *costs, const char *more,
                           const qdq_model *one)
{
    const qdq_model *const baselines[] = {one, NULL};
    const qdq_tune_opts o = options(costs, more, baselines);

    return test_tuned_result(test_tuned, folder, &o);
}

static bool is_file(const char *folder, const char *name, const char *other)
{
    char command[9000];

    snprintf(command, sizeof command, "cmp -s '%s/%s' '%s'", folder, name, other);
    return system(command) == 0;
}

static bool exists(const char *pattern)
{
    char command[4400];

    snprintf(command, sizeof command, "ls %s >/dev/null 2>&1", pattern);
    return system(command) == 0;
}

TEST(a_baseline_that_nothing_beats_is_written_as_it_is)
{
    static const qdq_tune_mode modes[] = {QDQ_TUNE_REGION, QDQ_TUNE_SUBGRAPH};
    qdq_model *b = with_tanh("fast.onnx");
    const qdq_model *const baselines[] = {b, NULL};

    for (size_t i = 0; i < QDQ_COUNT(modes); i++) {
        const char *folder = test_path("fast%zu", i);
        qdq_tune_opts o = options(TANH("100"), NULL, baselines);
        qdq_tune_result r;

        o.mode = modes[i];
        assert_ok(test_tuned_run(test_tuned, folder, &o, &r, &err));
        assert_int_equal(r.verdict, QDQ_TUNED_BASELINE);
        assert_string_equal(qdq_tune_verdict_name(r.verdict), "baseline");
        assert_true(r.speedup > 3 && r.ci_low > 2.9 && r.final_ms < r.rules_ms);
        assert_true(modes[i] == QDQ_TUNE_REGION || r.builds <= 14);
        assert_int_equal(r.n_baselines, 1);
        assert_int_equal(r.baselines[0].outcome, QDQ_BASELINE_SHIPPED);
        assert_true(r.baselines[0].speedup == r.speedup);
        assert_int_equal(r.computed->verdict, QDQ_VERIFY_RIGHT);
        assert_true(is_file(folder, "model.onnx", test_path("fast.onnx")));
        assert_true(test_tuned_has(folder, "plan.json", "\"tensor\": \"z\""));
        assert_true(test_tuned_has(folder, "report.json", "\"verdict\": \"baseline\""));
        assert_true(test_tuned_has(folder, "report.json", "\"result\": \"shipped\""));
        assert_true(test_tuned_has(folder, "report.json",
                                   "\"worst\": \"output 'y'")); /* which slice has least SQNR */
        assert_true(test_tuned_has(folder, "report.html", "fast.onnx"));
    }
    qdq_model_free(b);
}

TEST(a_baseline_that_is_slower_is_not_written)
{
    qdq_model *b = with_tanh("slow.onnx");
    const char *folder = test_path("slow");
    const qdq_tune_result r = run(folder, TANH("1900"), NULL, b);

    assert_int_equal(r.verdict, QDQ_TUNED);
    assert_int_equal(r.baselines[0].outcome, QDQ_BASELINE_BEATEN);
    assert_true(r.baselines[0].speedup > 1 && r.baselines[0].speedup < r.speedup);
    assert_true(test_tuned_has(folder, "report.json", "\"result\": \"beaten\""));
    assert_false(is_file(folder, "model.onnx", test_path("slow.onnx")));
    qdq_model_free(b);
}

TEST(a_baseline_that_misses_the_goal_is_told_with_its_figures_and_ruled_out)
{
    qdq_model *b = with_tanh("missing.onnx");
    const qdq_model *const baselines[] = {b, NULL};
    const char *folder = test_path("missing");
    qdq_goal_opts goal = QDQ_GOAL_OPTS_INIT;
    qdq_tune_opts o = options(
        TANH("100"), "\"fail\": [{\"at\": \"run\", \"node\": \"Tanh@y\", \"outputs\": \"wrong\"}]",
        baselines);
    qdq_tune_result r;

    goal.min_sqnr = 10;
    o.goal = &goal;
    assert_ok(test_tuned_run(test_tuned, folder, &o, &r, &err));
    assert_int_equal(r.verdict, QDQ_TUNED);
    assert_int_equal(r.baselines[0].outcome, QDQ_BASELINE_MISSES);
    assert_non_null(strstr(r.baselines[0].why, "expected at least 10 dB"));
    assert_true(r.baselines[0].sqnr_db < 10 && r.baselines[0].speedup > 3);
    assert_true(test_tuned_has(folder, "report.json", "\"result\": \"misses the goal\""));
    qdq_model_free(b);
}

TEST(a_baseline_that_the_engine_computes_wrongly_is_ruled_out)
{
    qdq_model *b = with_tanh("wrong.onnx");
    const char *folder = test_path("wrong");
    const qdq_tune_result r =
        run(folder, TANH("100"), "\"wrong\": [{\"op\": \"Tanh\", \"times\": 0.0001}]", b);

    assert_int_equal(r.verdict, QDQ_TUNED);
    assert_int_equal(r.baselines[0].outcome, QDQ_BASELINE_WRONG);
    assert_non_null(strstr(r.baselines[0].why, "Tanh"));
    assert_true(r.baselines[0].agreement_db < 20 && r.baselines[0].speedup > 3);
    qdq_model_free(b);
}

/* Its outputs miss the goal for that. */
TEST(a_baseline_that_misses_a_goal_by_a_defect_of_the_engine_is_wrong)
{
    qdq_model *b = with_tanh("wrong_goal.onnx");
    const qdq_model *const baselines[] = {b, NULL};
    const char *folder = test_path("wrong_goal");
    qdq_goal_opts goal = QDQ_GOAL_OPTS_INIT;
    qdq_tune_opts o =
        options(TANH("100"), "\"wrong\": [{\"op\": \"Tanh\", \"times\": 0.0001}]", baselines);
    qdq_tune_result r;

    goal.min_sqnr = 10;
    o.goal = &goal;
    assert_ok(test_tuned_run(test_tuned, folder, &o, &r, &err));
    assert_int_equal(r.baselines[0].outcome, QDQ_BASELINE_WRONG);
    assert_non_null(strstr(r.baselines[0].why, "Tanh"));
    assert_true(r.baselines[0].sqnr_db < 10);
    qdq_model_free(b);
}

TEST(a_baseline_that_does_not_live_is_told_with_its_reason)
{
    qdq_model *b = with_tanh("dead.onnx");
    const qdq_tune_result r =
        run(test_path("dead"), TANH("100"),
            "\"fail\": [{\"at\": \"time\", \"node\": \"Tanh@y\", \"crash\": \"SIGILL\"}]", b);

    assert_int_equal(r.verdict, QDQ_TUNED);
    assert_int_equal(r.baselines[0].outcome, QDQ_BASELINE_FAILED);
    assert_non_null(strstr(r.baselines[0].why, "SIGILL"));
    assert_true(isnan(r.baselines[0].ms));
    qdq_model_free(b);
}

/* A weight that is off by more than a step of any scale. */
TEST(a_baseline_with_other_weights_is_a_placement_only)
{
    static const char *const all[] = {"x", "r1", "s", "r3", "z"};
    char *text, *at;
    qdq_model *other, *b;

    assert_ok(qdq_model_to_text(test_tuned, &text, &err));
    at = strstr(text, "0.");
    assert_non_null(at);
    at[2] = at[2] == '9' ? '1' : '9';
    other = test_model(text);
    qdq_free(text);
    b = given(other, "other.onnx", all, QDQ_COUNT(all), NULL);
    const qdq_model *const baselines[] = {b, NULL};
    qdq_tune_opts o =
        test_tuned_opts(test_tuned_costs(TANH("100"), TEST_TUNED_BLIND)); /* nothing is excluded */
    qdq_tune_result r;
    o.qdq_baselines = baselines;
    assert_ok(test_tuned_run(test_tuned, test_path("other"), &o, &r, &err));
    assert_int_equal(r.verdict, QDQ_TUNED);
    assert_int_equal(r.baselines[0].outcome, QDQ_BASELINE_PLACEMENT);
    assert_non_null(strstr(r.baselines[0].why, "is none of the model's, within a step"));
    assert_true(test_tuned_has(test_path("other"), "report.json", "\"result\": \"placement\""));
    assert_true(test_tuned_has(test_path("other"), "report.html", "imported, edge by edge"));
    assert_true(r.speedup > 3); /* its codes in front of Tanh, in ours */
    assert_true(test_tuned_has(test_path("other"), "plan.json", "\"tensor\": \"z\""));
    qdq_model_free(b);
    qdq_model_free(other);
}

TEST(a_model_of_another_interface_or_without_codes_is_refused)
{
    qdq_model *plain = test_tuned_model(),
              *alien = test_model("g (float[1,4] p) => (float[1,4] q) { q = Tanh(p) }");
    const qdq_model *baselines[] = {plain, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL};
    qdq_tune_opts o = options(TANH("100"), NULL, baselines);
    qdq_tune_result r;

    assert_fails(QDQ_E_FORMAT, "Q/DQ baseline 1: found no Q/DQ in it",
                 test_tuned_run(test_tuned, test_path("plain"), &o, &r, &err));
    baselines[0] = alien;
    assert_fails(QDQ_E_FORMAT,
                 "found input 'p', which the model does not have: expected the same network",
                 test_tuned_run(test_tuned, test_path("alien"), &o, &r, &err));
    for (size_t i = 0; i < 9; i++)
        baselines[i] = plain;
    assert_fails(QDQ_E_USAGE, "qdq_baselines: found more than 8 models",
                 test_tuned_run(test_tuned, test_path("many"), &o, &r, &err));
    qdq_model_free(plain);
    qdq_model_free(alien);
}

TEST(the_faster_of_two_baselines_is_written)
{
    static const char *const both[] = {"h1", "z"};
    qdq_model *fast = with_tanh("two_fast.onnx"),
              *slow = given(test_tuned, "two_slow.onnx", both, 2, NULL);
    const qdq_model *const baselines[] = {slow, fast, NULL};
    const qdq_tune_opts o = options(TANH("100"), NULL, baselines);
    const char *folder = test_path("two");
    qdq_tune_result r;

    assert_ok(test_tuned_run(test_tuned, folder, &o, &r, &err));
    assert_int_equal(r.verdict, QDQ_TUNED_BASELINE);
    assert_int_equal(r.baselines[0].outcome, QDQ_BASELINE_BEATEN);
    assert_int_equal(r.baselines[1].outcome, QDQ_BASELINE_SHIPPED);
    assert_true(is_file(folder, "model.onnx", test_path("two_fast.onnx")));
    qdq_model_free(fast);
    qdq_model_free(slow);
}

/* Codes of its own form beside model.onnx, and none that nobody names any more. */
TEST(a_baseline_with_external_data_ships_with_a_side_file_of_our_form)
{
    static const char *const z[] = {"z"};
    qdq_save_opts so = QDQ_SAVE_OPTS_INIT;
    const char *folder = test_path("outside");
    static char text[20000];
    size_t at = (size_t)snprintf(text, sizeof text,
                                 "g (float[1,32] x) => (float[1,32] y) <float[32,32] w = {0.5");
    qdq_tune_result r;
    qdq_model *plain;

    for (int i = 1; i < 32 * 32; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, ", 0.%03d", i * 389 % 1000);
    snprintf(text + at, sizeof text - at, "}> { z = MatMul(x, w) y = Tanh(z) }");
    qdq_model *big = test_model(text);
    so.external = QDQ_EXTERNAL_ALWAYS;
    qdq_model *b = given(big, "outside.onnx", z, 1, &so);
    const qdq_model *const baselines[] = {b, NULL};
    const qdq_tune_opts o = options(TANH("100"), NULL, baselines);
    assert_ok(test_tuned_run(big, folder, &o, &r, &err));
    assert_int_equal(r.verdict, QDQ_TUNED_BASELINE);
    assert_true(exists(test_path("outside/model.onnx.????????????????.data")));
    assert_ok(qdq_model_load(test_path("outside/model.onnx"), NULL, &plain, &err));
    qdq_model_free(plain);
    qdq_model_free(b);
    qdq_model_free(big);
}

/* --- runs that end ---------------------------------------------------------------------------- */

TEST(whoever_ends_a_run_has_the_baseline_that_was_the_best_so_far)
{
    qdq_model *b = with_tanh("ended.onnx");
    const qdq_model *const baselines[] = {b, NULL};
    const char *folder = test_path("ended");
    test_tuned_stop s;
    qdq_tune_opts o = options(TANH("100"), NULL, baselines);
    qdq_tune_result r;

    test_tuned_stop_in(&s, "start", 1, &o);
    assert_int_equal(test_tuned_run(test_tuned, folder, &o, &r, &err), QDQ_E_INTERRUPTED);
    assert_true(is_file(folder, "model.onnx", test_path("ended.onnx")));
    const uint64_t before = test_tuned_samples(folder);
    assert_true(before > 0);
    o.job = NULL;
    o.live = NULL;
    assert_ok(test_tuned_run(test_tuned, folder, &o, &r, &err));
    assert_true(r.resumed);
    assert_int_equal(r.verdict, QDQ_TUNED_BASELINE);
    assert_true(is_file(folder, "model.onnx", test_path("ended.onnx")));
    qdq_cancel_free(s.cancel);
    qdq_model_free(b);
}

TEST(a_finished_run_is_not_replaced_by_one_with_other_baselines)
{
    qdq_model *b = with_tanh("finished.onnx");
    const qdq_model *const baselines[] = {b, NULL};
    const char *folder = test_path("finished");
    qdq_tune_opts o = options(TANH("100"), NULL, baselines);
    qdq_tune_result r;

    test_tuned_details(&o)->keep_finished = true;
    assert_ok(test_tuned_run(test_tuned, folder, &o, &r, &err));
    assert_ok(test_tuned_run(test_tuned, folder, &o, &r, &err)); /* the same is no other run */
    assert_int_equal(r.verdict, QDQ_TUNED_BASELINE);
    o.qdq_baselines = NULL;
    assert_fails(QDQ_E_IO, "other Q/DQ baselines",
                 test_tuned_run(test_tuned, folder, &o, &r, &err));
    assert_non_null(strstr(err.text, "-f replaces it"));
    qdq_model_free(b);
}

/* What was fast when it was searched for is slow when it is to be shipped. */
TEST(where_the_search_is_not_confirmed_the_baseline_is_what_is_left)
{
    static const char *const costs[] = {
        TANH("1600"), "\"MatMul\": {\"float_us\": 100, \"int8_us\": 300}, \"Tanh\": "
                      "{\"float_us\": 2000, \"int8_us\": 1600}"};
    qdq_model *b = with_tanh("left.onnx");
    const qdq_model *const baselines[] = {b, NULL};
    const char *folder = test_path("left");
    test_tuned_stop s;
    qdq_tune_result r;

    for (int i = 0; i < 2; i++) {
        qdq_tune_opts o = options(costs[i], NULL, baselines);
        if (i == 0)
            test_tuned_stop_in(&s, "guard", 1, &o);
        assert_int_equal(test_tuned_run(test_tuned, folder, &o, &r, &err),
                         i == 0 ? QDQ_E_INTERRUPTED : QDQ_OK);
    }
    assert_true(r.resumed);
    assert_int_equal(r.verdict, QDQ_TUNED_BASELINE);
    assert_true(is_file(folder, "model.onnx", test_path("left.onnx")));
    qdq_cancel_free(s.cancel);
    qdq_model_free(b);
}

typedef struct sleeping {
    const char *phase;
    double seconds;
} sleeping;

/* Until the time of the run is up. */
static void sleep_in(void *ctx, const qdq_tune_live *now)
{
    sleeping *s = ctx;

    if (strcmp(now->phase, s->phase) != 0 || !isfinite(now->left_s))
        return;
    s->seconds = now->left_s;
    usleep((useconds_t)((now->left_s + 0.1) * 1e6));
}

static qdq_tune_result run_out_of_time(const char *folder, const char *phase, double time_s,
                                       const qdq_model *one)
{
    const qdq_model *const baselines[] = {one, NULL};
    qdq_tune_opts o = options(TANH("100"), NULL, baselines);
    sleeping s = {.phase = phase};
    qdq_job job = QDQ_JOB_INIT;
    qdq_tune_result r;

    job.ctx = &s;
    o.job = &job;
    o.live = sleep_in;
    o.time_s = time_s;
    assert_ok(test_tuned_run(test_tuned, folder, &o, &r, &err));
    assert_true(s.seconds > 0);
    return r;
}

/* What was proven before the search is not lost where the final validation comes too late. */
TEST(without_time_for_the_guard_a_proven_baseline_is_written)
{
    qdq_model *b = with_tanh("proven.onnx");
    const char *folder = test_path("proven");
    const qdq_tune_result r = run_out_of_time(folder, "guard", 12, b);

    assert_int_equal(r.verdict, QDQ_TUNED_BASELINE);
    assert_int_equal(r.baselines[0].outcome, QDQ_BASELINE_SHIPPED);
    assert_true(r.baselines[0].speedup > 3 && r.ci_low > 2.9);
    assert_string_equal(
        r.baselines[0].why,
        "time limit reached before it was measured again; times are those of the search");
    assert_true(is_file(folder, "model.onnx", test_path("proven.onnx")));
    assert_true(r.ended_early);
    qdq_model_free(b);
}

TEST(a_baseline_that_there_was_no_time_for_says_so)
{
    qdq_model *b = with_tanh("late.onnx");
    const char *folder = test_path("late");
    const qdq_tune_result r = run_out_of_time(folder, "baseline", 2, b);

    assert_int_equal(r.baselines[0].outcome, QDQ_BASELINE_UNKNOWN);
    assert_non_null(strstr(r.baselines[0].why, "time limit reached")); /* measure or judge it */
    assert_true(test_tuned_has(folder, "report.json", r.baselines[0].why));
    assert_int_equal(r.verdict, QDQ_TUNED_FLOAT);
    qdq_model_free(b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_baseline_that_nothing_beats_is_written_as_it_is),
        cmocka_unit_test(a_baseline_that_is_slower_is_not_written),
        cmocka_unit_test(a_baseline_that_misses_the_goal_is_told_with_its_figures_and_ruled_out),
        cmocka_unit_test(a_baseline_that_misses_a_goal_by_a_defect_of_the_engine_is_wrong),
        cmocka_unit_test(a_baseline_that_the_engine_computes_wrongly_is_ruled_out),
        cmocka_unit_test(a_baseline_that_does_not_live_is_told_with_its_reason),
        cmocka_unit_test(a_baseline_with_other_weights_is_a_placement_only),
        cmocka_unit_test(a_model_of_another_interface_or_without_codes_is_refused),
        cmocka_unit_test(the_faster_of_two_baselines_is_written),
        cmocka_unit_test(a_baseline_with_external_data_ships_with_a_side_file_of_our_form),
        cmocka_unit_test(whoever_ends_a_run_has_the_baseline_that_was_the_best_so_far),
        cmocka_unit_test(a_finished_run_is_not_replaced_by_one_with_other_baselines),
        cmocka_unit_test(where_the_search_is_not_confirmed_the_baseline_is_what_is_left),
        cmocka_unit_test(without_time_for_the_guard_a_proven_baseline_is_written),
        cmocka_unit_test(a_baseline_that_there_was_no_time_for_says_so),
    };

    return cmocka_run_group_tests(tests, test_tuned_make, test_tuned_drop);
}
