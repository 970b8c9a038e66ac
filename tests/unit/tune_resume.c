/* tune_resume.c - whole runs: whenever a run ends, what it leaves is whole, and the next one takes
 * it from there. What the store alone promises is in tune_store.c. */
#include <string.h>

#include "support/tuned.h"

static qdq_error err;

static void expect_state(const char *folder, const char *state, const char *more)
{
    char *status, want[100];

    assert_ok(qdq_tune_status(folder, &status, &err));
    snprintf(want, sizeof want, "\"state\": \"%s\"", state);
    if (strstr(status, want) == NULL || strstr(status, more) == NULL)
        fail_msg("found %s, expected %s and %s", status, want, more);
    qdq_free(status);
}

/* Saved before the baseline is known: as calibration begins, and as the first measurement does. */
TEST(a_run_may_end_before_its_baseline_is_timed)
{
    static const char *const phases[] = {"calibrating", "control"};
    const char *engine = test_tuned_costs(TEST_TUNED_OPS, NULL);
    qdq_tune_opts o = test_tuned_opts(engine);
    qdq_tune_result r;

    assert_ok(test_tuned_run(test_tuned, test_path("whole"), &o, &r, &err));
    for (size_t i = 0; i < QDQ_COUNT(phases); i++) {
        const char *folder = test_path("early%zu", i);
        test_tuned_stop s;

        o = test_tuned_opts(engine);
        test_tuned_stop_in(&s, phases[i], 1, &o);
        assert_int_equal(test_tuned_run(test_tuned, folder, &o, &r, &err), QDQ_E_INTERRUPTED);
        assert_int_equal(test_tuned_samples(folder), 0);
        expect_state(folder, "interrupted", phases[i]);
        o = test_tuned_opts(engine);
        assert_ok(test_tuned_run(test_tuned, folder, &o, &r, &err));
        assert_false(r.resumed); /* there was nothing yet */
        test_tuned_same(folder, test_path("whole"), "plan.json");
        expect_state(folder, "finished", "\"verdict\": \"tuned\"");
        qdq_cancel_free(s.cancel);
    }
}

/* Nothing can be compared with a model that cannot be timed: no speed-up of any size is found
 * beside it. */
TEST(a_baseline_that_fails_ends_the_run)
{
    static const struct {
        const char *failure, *why;
    } cases[] = {{"{\"at\": \"time\", \"message\": \"no clock\"}", "no clock"},
                 {"{\"at\": \"time\", \"crash\": \"SIGABRT\"}", "SIGABRT"}};

    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        const char *folder = test_path("failing%zu", i);
        char more[200];
        qdq_tune_result r;

        snprintf(more, sizeof more, "\"fail\": [%s]", cases[i].failure);
        qdq_tune_opts o = test_tuned_opts(test_tuned_costs(TEST_TUNED_OPS, more));
        /* the second time it is tried again, and said again */
        for (int again = 0; again < 2; again++) {
            assert_fails(QDQ_E_ENGINE, "the model cannot be timed",
                         test_tuned_run(test_tuned, folder, &o, &r, &err));
            assert_non_null(strstr(err.text, cases[i].why));
            expect_state(folder, "failed", cases[i].why);
        }
        assert_true(r.speedup == 1 && r.final_ms == 0);
        assert_int_equal(test_tuned_samples(folder), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_may_end_before_its_baseline_is_timed),
        cmocka_unit_test(a_baseline_that_fails_ends_the_run),
    };

    return cmocka_run_group_tests(tests, test_tuned_make, test_tuned_drop);
}
