/* tune_default_goal.c - the accuracy goal that a tuning run has where nobody asks for one. */
#include "support/npy_file.h"
#include "support/tuned.h"

static qdq_error err;

/* Eight or 64 samples that are not random:SEED. */
static qdq_data *samples(size_t n)
{
    float x[64][8];
    qdq_data *d;

    for (int i = 0; i < 512; i++)
        x[i / 8][i % 8] = (float)((i * 29) % 64 - 20 - i / 64) / 16;
    const char *header = n == 8 ? TEST_HEADER("<f4", "(8, 8)") : TEST_HEADER("<f4", "(64, 8)");
    assert_ok(qdq_data_open(test_npy_file("samples.npy", header, x, n * sizeof x[0]), test_tuned,
                            NULL, &d, &err));
    return d;
}

/* Tunes on data, or on random numbers, in a world with these failures. */
static qdq_tune_result run(const char *folder, const char *more, bool real,
                           const qdq_goal_opts *goal)
{
    qdq_tune_opts o = test_tuned_opts(test_tuned_costs(TEST_TUNED_OPS, more));
    qdq_data *data = real ? samples(8) : NULL;
    qdq_tune_result r;

    o.goal = goal;
    assert_ok(test_tuned_run_on(test_tuned, data, NULL, folder, &o, &r, &err));
    qdq_data_close(data);
    return r;
}

#define NOISY       "\"error\": 10"
#define SLIGHT      "\"error\": 0.03"
#define WRONG(node) "\"fail\": [{\"at\": \"run\", \"node\": \"" node "\", \"outputs\": \"wrong\"}]"

TEST(a_useless_model_is_not_shipped_for_its_speed)
{
    qdq_tune_result r = run(test_path("useless"), NOISY, true, NULL);
    assert_int_equal(r.verdict, QDQ_TUNED_FLOAT);
    assert_non_null(strstr(r.reason, "expected at least 20 dB"));
    assert_true(test_tuned_has(test_path("useless"), "report.json", "\"reason\": \""));
}

TEST(a_goal_of_zero_switches_the_default_off)
{
    const qdq_goal_opts none = QDQ_GOAL_OPTS_INIT;

    qdq_tune_result r = run(test_path("no_goal"), NOISY, true, &none);
    assert_int_not_equal(r.verdict, QDQ_TUNED_FLOAT);
    assert_string_equal(r.reason, "");
}

TEST(random_data_have_no_default_goal)
{
    assert_int_not_equal(run(test_path("random"), NOISY, false, NULL).verdict, QDQ_TUNED_FLOAT);
}

TEST(one_bad_layer_does_not_cost_the_others_their_speed)
{
    qdq_tune_result r = run(test_path("one_bad"), WRONG("MatMul@h2"), true, NULL);
    assert_int_equal(r.verdict, QDQ_TUNED);
    assert_true(r.ci_low > 1);
    assert_true(r.sqnr_db >= QDQ_DEFAULT_MIN_SQNR);
    assert_string_equal(r.reason, "");
}

TEST(a_goal_is_asked_of_the_lower_bound)
{
    qdq_goal_opts goal = QDQ_GOAL_OPTS_INIT;

    goal.min_sqnr = 1;
    const qdq_tune_result easy = run(test_path("easy"), SLIGHT, true, &goal);
    assert_int_equal(easy.verdict, QDQ_TUNED);
    const double bound = easy.written.bound_db;
    assert_true(bound < easy.sqnr_db - 0.1);

    goal.min_sqnr = (bound + easy.sqnr_db) / 2;
    const qdq_tune_result between = run(test_path("between"), SLIGHT, true, &goal);
    assert_true(between.verdict == QDQ_TUNED_FLOAT || between.written.bound_db >= goal.min_sqnr);
    assert_true(test_tuned_has(test_path("between"), "report.json", "(lower bound)"));
}

TEST(samples_are_judged_in_folds)
{
    qdq_goal_opts goal = QDQ_GOAL_OPTS_INIT;

    goal.min_sqnr = 15;
    goal.folds = 4;
    const qdq_tune_result r = run(test_path("folds"), SLIGHT, true, &goal);
    assert_int_equal(r.verdict, QDQ_TUNED);
    assert_int_equal(r.written.samples, 8);
    assert_true(r.written.bound_db >= 15);
}

TEST(folds_need_samples_that_calibrate)
{
    qdq_goal_opts goal = QDQ_GOAL_OPTS_INIT;
    qdq_tune_opts o = test_tuned_opts(test_tuned_costs(TEST_TUNED_OPS, NULL));
    qdq_tune_result r;

    goal.min_sqnr = 20;
    goal.folds = 4;
    o.goal = &goal;
    assert_int_equal(test_tuned_run_on(test_tuned, NULL, NULL, test_path("none"), &o, &r, &err),
                     QDQ_E_USAGE);
    assert_non_null(strstr(err.text, "cross-validation"));
}

/* Tunes a network in text form on n samples; goal NULL: the default one. */
static qdq_tune_result run_text(const char *folder, const char *text, size_t n, const char *more,
                                const qdq_goal_opts *goal)
{
    qdq_tune_opts o = test_tuned_opts(test_tuned_costs(TEST_TUNED_OPS, more));
    qdq_model *m = test_model(text);
    qdq_data *data = samples(n);
    qdq_tune_result r;

    o.goal = goal;
    assert_ok(test_tuned_run_on(m, data, NULL, folder, &o, &r, &err));
    qdq_data_close(data);
    qdq_model_free(m);
    return r;
}

TEST(an_output_that_is_zero_everywhere_does_not_keep_a_model_in_float)
{
    const qdq_tune_result r =
        run_text(test_path("zero"), test_tuned_text(test_graph_text(__func__)), 8, NULL, NULL);
    assert_string_equal(r.reason, "");
    assert_int_equal(r.verdict, QDQ_TUNED);
}

/* 200 classes with random scores, tuned with errors near 24 dB: one row in five has another argmax,
 * hardly any one that scores much less. */
static qdq_tune_result run_classes(const char *folder, const qdq_goal_opts *goal)
{
    static char text[40000];
    size_t at = (size_t)snprintf(text, sizeof text,
                                 "g (float[1,8] x) => (float[1,200] y) <float[8,200] a = {0");

    for (int i = 1; i < 1600; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, ", %d", i % 7);
    snprintf(text + at, sizeof text - at, "}> { y = MatMul(x, a) }");
    return run_text(folder, text, 64, "\"error\": 0.06", goal);
}

TEST(scores_whose_argmax_changes_are_not_shipped_where_a_goal_counts_all_rows)
{
    qdq_goal_opts goal = QDQ_GOAL_OPTS_INIT;

    goal.min_agreement = 0.95;
    const qdq_tune_result r = run_classes(test_path("scores"), &goal);
    assert_int_equal(r.verdict, QDQ_TUNED_FLOAT);
    assert_non_null(strstr(r.reason, "of its rows have the input's argmax, expected"));
}

TEST(classes_that_score_nearly_the_same_do_not_keep_a_model_in_float)
{
    const qdq_tune_result r = run_classes(test_path("ties"), NULL);

    assert_string_equal(r.reason, "");
    assert_true(r.written.top1 < 0.95);
    assert_int_not_equal(r.verdict, QDQ_TUNED_FLOAT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_useless_model_is_not_shipped_for_its_speed),
        cmocka_unit_test(a_goal_of_zero_switches_the_default_off),
        cmocka_unit_test(random_data_have_no_default_goal),
        cmocka_unit_test(one_bad_layer_does_not_cost_the_others_their_speed),
        cmocka_unit_test(a_goal_is_asked_of_the_lower_bound),
        cmocka_unit_test(samples_are_judged_in_folds),
        cmocka_unit_test(folds_need_samples_that_calibrate),
        cmocka_unit_test(an_output_that_is_zero_everywhere_does_not_keep_a_model_in_float),
        cmocka_unit_test(scores_whose_argmax_changes_are_not_shipped_where_a_goal_counts_all_rows),
        cmocka_unit_test(classes_that_score_nearly_the_same_do_not_keep_a_model_in_float),
    };

    return cmocka_run_group_tests(tests, test_tuned_make, test_tuned_drop);
}
