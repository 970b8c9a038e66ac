/* tune_cut_goal.c - whole runs by minimum cuts under a goal in accuracy, on the sim engine: its
 * 8-bit kernels all make the same error, so that a goal in SQNR is a number of them. */
#include <math.h>

#include "support/npy_file.h"
#include "support/tuned.h"

static qdq_error err;

/* What the run said, one line each. */
typedef struct recorded_lines {
    char text[20000];
} recorded_lines;

static void record_line(void *ctx, qdq_log_level level, const char *text)
{
    recorded_lines *h = ctx;
    const size_t n = strlen(h->text);

    (void)level;
    snprintf(h->text + n, sizeof h->text - n, "%s\n", text);
}

/* Its SQNR is what the goal is asked of: one sample has no bound. */
static qdq_data *one_sample(void)
{
    float x[8];
    qdq_data *d;

    for (int i = 0; i < 8; i++)
        x[i] = (float)((i * 29) % 8 - 3) / 4;
    assert_ok(qdq_data_open(test_npy_file("sample.npy", TEST_HEADER("<f4", "(1, 8)"), x, sizeof x),
                            test_tuned, NULL, &d, &err));
    return d;
}

static qdq_tune_result run(const char *folder, const char *engine, double min_sqnr,
                           recorded_lines *said)
{
    qdq_goal_opts goal = QDQ_GOAL_OPTS_INIT;
    qdq_tune_opts o = test_tuned_opts(engine);
    qdq_job job = QDQ_JOB_INIT;

    *said = (recorded_lines){{0}};
    job.ctx = said;
    job.log = record_line;
    goal.min_sqnr = min_sqnr;
    o.mode = QDQ_TUNE_SUBGRAPH;
    o.goal = &goal;
    o.job = &job;
    qdq_data *data = one_sample();
    qdq_tune_result r;
    assert_ok(test_tuned_run_on(test_tuned, data, NULL, folder, &o, &r, &err));
    qdq_data_close(data);
    return r;
}

static size_t quantized(const char *folder)
{
    char *text = test_tuned_file(folder, "plan.json");
    size_t n = 0;

    for (const char *at = text; (at = strstr(at, "\"op\": \"MatMul\"}")) != NULL; at++)
        n++;
    qdq_free(text);
    return n;
}

/* In the worst slice, noise of two or three kernels is 35 dB below the signal, of all four 28.7.
 * The third MatMul saves most, then the fourth. */
static const char *world(void)
{
    return test_tuned_costs(
        TEST_TUNED_OPS,
        "\"error\": 0.01, \"nodes\": {\"MatMul@h3\": {\"float_us\": 200, \"int8_us\": 30}, "
        "\"MatMul@h4\": {\"float_us\": 150, \"int8_us\": 30}}");
}

TEST(a_goal_is_met_by_those_that_save_most)
{
    const char *engine = world();
    recorded_lines said;
    const qdq_tune_result free = run(test_path("free"), engine, 0, &said);

    assert_int_equal(quantized(test_path("free")), 4);
    assert_null(strstr(said.text, "evaluated"));
    const qdq_tune_result bound = run(test_path("bound"), engine, 31, &said);
    assert_non_null(
        strstr(said.text, "everything: outputs: SQNR 28.72 dB on all evaluation samples"));
    assert_int_equal(bound.verdict, QDQ_TUNED);
    /* single edges without Q save the noise that all four need */
    assert_int_equal(quantized(test_path("bound")), 4);
    assert_true(bound.sqnr_db > 29); /* of a single sample */
    assert_true(bound.speedup < free.speedup && bound.speedup > 1.5);
    assert_true(bound.builds <= 12);
}

/* Two miss it: the bound follows what was found. */
TEST(a_goal_that_is_missed_narrowly_is_met_by_fewer)
{
    recorded_lines said;
    const qdq_tune_result r = run(test_path("fewer"), world(), 35.5, &said);

    assert_non_null(strstr(said.text, "evaluated, 2 of 4 decisions in 8 bits: SQNR 35.36 dB"));
    assert_int_equal(r.verdict, QDQ_TUNED);
    assert_int_equal(quantized(test_path("fewer")), 1);
    assert_true(r.speedup > 1.2);
}

TEST(a_goal_that_all_meet_costs_nothing)
{
    recorded_lines said;
    const qdq_tune_result r = run(test_path("all"), world(), 20, &said);

    assert_int_equal(quantized(test_path("all")), 4);
    assert_true(r.speedup > 2);
}

TEST(a_goal_that_nothing_meets_is_told)
{
    recorded_lines said;
    const qdq_tune_result r = run(test_path("never"), world(), 80, &said);

    assert_int_equal(r.verdict, QDQ_TUNED_FLOAT);
    assert_non_null(strstr(
        said.text, "no placement that is faster keeps the goal: the best that was evaluated"));
}

TEST(a_run_that_goes_on_judges_nothing_again)
{
    const char *engine = world();
    recorded_lines said;
    const qdq_tune_result first = run(test_path("twice"), engine, 31, &said);
    char *plan = test_tuned_file(test_path("twice"), "plan.json");
    const uint64_t samples = test_tuned_samples(test_path("twice"));

    const qdq_tune_result second = run(test_path("twice"), engine, 31, &said);
    assert_true(second.resumed && first.speedup == second.speedup && first.builds == second.builds);
    test_tuned_holds(test_path("twice"), "plan.json", plan);
    assert_int_equal(samples, test_tuned_samples(test_path("twice")));
    qdq_free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_goal_is_met_by_those_that_save_most),
        cmocka_unit_test(a_goal_that_is_missed_narrowly_is_met_by_fewer),
        cmocka_unit_test(a_goal_that_all_meet_costs_nothing),
        cmocka_unit_test(a_goal_that_nothing_meets_is_told),
        cmocka_unit_test(a_run_that_goes_on_judges_nothing_again)};

    return cmocka_run_group_tests(tests, test_tuned_make, test_tuned_drop);
}
