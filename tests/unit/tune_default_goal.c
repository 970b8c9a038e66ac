/* tune_default_goal.c - the accuracy goal that a tuning run has where nobody asks for one. */
#include "support/npy_file.h"
#include "support/tuned.h"

static qdq_error err;

/* Eight samples that are not random:SEED. */
static qdq_data *samples(void)
{
    float x[8][8];
    qdq_data *d;

    for (int i = 0; i < 64; i++)
        x[i / 8][i % 8] = (float)((i * 29) % 64 - 20) / 16;
    assert_ok(qdq_data_open(test_npy_file("samples.npy", TEST_HEADER("<f4", "(8, 8)"), x, sizeof x),
                            test_tuned, NULL, &d, &err));
    return d;
}

/* Tunes on data, or on random numbers, in a world with these failures. */
static qdq_tune_result run(const char *folder, const char *more, bool real,
                           const qdq_goal_opts *goal)
{
    qdq_tune_opts o = test_tuned_opts(test_tuned_costs(TEST_TUNED_OPS, more));
    qdq_data *data = real ? samples() : NULL;
    qdq_tune_result r;

    o.goal = goal;
    assert_ok(test_tuned_run_on(test_tuned, data, NULL, folder, &o, &r, &err));
    qdq_data_close(data);
    return r;
}

#define NOISY       "\"error\": 10"
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_useless_model_is_not_shipped_for_its_speed),
        cmocka_unit_test(a_goal_of_zero_switches_the_default_off),
        cmocka_unit_test(random_data_have_no_default_goal),
        cmocka_unit_test(one_bad_layer_does_not_cost_the_others_their_speed),
    };

    return cmocka_run_group_tests(tests, test_tuned_make, test_tuned_drop);
}
