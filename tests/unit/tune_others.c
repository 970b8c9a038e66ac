/* tune_others.c - what the rules of other targets place, in whole tuning runs on the sim engine: in the types of this one, and only where
 * costs do not rule it out. */
#include "support/tuned.h"

static qdq_error err;

/* Is there a trial of that name in the page? */
static bool has_trial(const char *folder, const char *name)
{
    char *html = test_tuned_file(folder, "report.html");
    const bool found = strstr(html, name) != NULL;

    qdq_free(html);
    return found;
}

static void run(const qdq_model *m, const char *folder, qdq_tune_mode mode, unsigned trials)
{
    qdq_tune_opts o = test_tuned_opts("sim:" QDQ_SOURCE_DIR "/tests/cli/fixtures/sim.json");
    qdq_tune_result r;

    o.mode = mode;
    o.trials = trials;
    assert_ok(test_tuned_run(m, folder, &o, &r, &err));
}

static void rules_of_other_targets_are_tried_in_types_of_this_one(void **state)
{
    static const qdq_tune_mode modes[] = {QDQ_TUNE_REGION, QDQ_TUNE_SUBGRAPH};
    const char *path = test_corpus("digits/digits_cnn.onnx");
    qdq_model *m;

    (void)state;
    if (path == NULL) {
        test_missing("the corpus");
        return;
    }
    assert_ok(qdq_model_load(path, NULL, &m, &err));
    for (size_t i = 0; i < QDQ_COUNT(modes); i++) {
        run(m, test_path("others%zu", i), modes[i], 0);
        assert_true(has_trial(test_path("others%zu", i), "rules of "));
        assert_false(has_trial(test_path("others%zu", i), "rules of ort-cpu<")); /* they are its own */
        assert_false(has_trial(test_path("others%zu", i), "rules of int4"));     /* weights alone */
        char *plan = test_tuned_file(test_path("others%zu", i), "plan.json");
        assert_non_null(strstr(plan, "\"type\": \"uint8\""));
        assert_null(strstr(plan, "float8"));
        qdq_free(plan);
    }
    qdq_model_free(m);
}

/* Of four MatMul, all targets want the same. */
static void rules_that_place_the_same_are_tried_once(void **state)
{
    qdq_model *m = test_tuned_model();

    (void)state;
    run(m, test_path("same"), QDQ_TUNE_REGION, 0);
    assert_false(has_trial(test_path("same"), "rules of "));
    qdq_model_free(m);
}

/* The budget of trials is for starts first. */
static void a_budget_that_is_used_up_tries_none(void **state)
{
    const char *path = test_corpus("digits/digits_cnn.onnx");
    qdq_model *m;

    (void)state;
    if (path == NULL) {
        test_missing("the corpus");
        return;
    }
    assert_ok(qdq_model_load(path, NULL, &m, &err));
    run(m, test_path("budget"), QDQ_TUNE_SUBGRAPH, 1);
    assert_false(has_trial(test_path("budget"), "rules of "));
    qdq_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_of_other_targets_are_tried_in_types_of_this_one),
        cmocka_unit_test(rules_that_place_the_same_are_tried_once),
        cmocka_unit_test(a_budget_that_is_used_up_tries_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
