/* tune_fault.c - who was at fault where a trial failed: by the words of the failure, and in the
 * report of a run. */
#include <string.h>

#include "base/json.h"
#include "support/tuned.h"
#include "tune/worker_client/tune_fault.h"

static qdq_error err;

TEST(words_of_a_failure_tell_who_was_at_fault)
{
    static const struct {
        const char *why, *fault;
        bool died;
    } cases[] = {
        {"refused: no kernel for it", "model", false},
        {"outputs: not finite", "model", false},
        {"crashed: SIGSEGV: last words", "model", true},
        {"crashed: SIGKILL from outside, as by a system that is out of memory", "machine", true},
        {"hung: no answer within 60 s", "machine", true},
        {"memory: out of memory", "machine", true},
        {"before: memory: out of memory", "machine", true},
        {"before: before: hung: no answer", "machine", true},
        {"before: outputs: not finite", "model", false},
        {"system: x.plan: No space left on device", "machine", false},
        {"refused: trtexec failed with exit code 1 (builder): no kernel", "model", false},
        {"refused: trtexec failed with exit code 1 (parse): no such operator", "model", false},
        {"refused: trtexec failed with exit code 1 (runtime): CUDA error", "machine", false},
        {"before: refused: trtexec says FAILED (other): no disk", "machine", false},
        {"hunger: no word of ours", "model", false},
    };

    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        assert_string_equal(qdq_tune_fault_name(cases[i].why), cases[i].fault);
        assert_int_equal(qdq_tune_is_death(cases[i].why), cases[i].died);
    }
}

/* How many failed trials of the report are the fault of this one. */
static size_t count_faults(json_t *report, const char *fault)
{
    size_t i, n = 0;
    json_t *o;

    json_array_foreach(json_object_get(report, "failed"), i, o)
    {
        assert_true(json_integer_value(json_object_get(o, "trial")) > 0);
        assert_non_null(json_string_value(json_object_get(o, "why")));
        n += strcmp(json_string_value(json_object_get(o, "fault")), fault) == 0;
    }
    return n;
}

/* A run where no candidate can be opened that runs any MatMul in 8 bits, for this reason. */
static void run_where_all_fails(const char *name, const char *message, size_t *model,
                                size_t *machine)
{
    char fail[700];
    json_t *report;

    snprintf(fail, sizeof fail,
             "\"fail\": [{\"at\": \"open\", \"node\": \"MatMul@h1\", \"message\": \"%s\"}, "
             "{\"at\": \"open\", \"node\": \"MatMul@h2\", \"message\": \"%s\"}, "
             "{\"at\": \"open\", \"node\": \"MatMul@h3\", \"message\": \"%s\"}, "
             "{\"at\": \"open\", \"node\": \"MatMul@h4\", \"message\": \"%s\"}]",
             message, message, message, message);
    const char *folder = test_path("%s", name);
    const qdq_tune_opts o = test_tuned_opts(test_tuned_costs(TEST_TUNED_OPS, fail));
    assert_ok(test_tuned_run(test_tuned, folder, &o, NULL, &err));
    char *text = test_tuned_file(folder, "report.json"),
         *page = test_tuned_file(folder, "report.html");
    assert_ok(qdq_json_parse(text, strlen(text), "report", &report, &err));
    *model = count_faults(report, "model");
    *machine = count_faults(report, "machine");
    assert_int_equal(strstr(page, "(fault of the model)") != NULL, *model > 0);
    assert_int_equal(strstr(page, "(fault of the machine)") != NULL, *machine > 0);
    json_decref(report);
    qdq_free(text);
    qdq_free(page);
}

TEST(the_report_says_whether_the_model_or_the_machine_failed_a_trial)
{
    size_t model, machine;

    run_where_all_fails("model", "trtexec failed with exit code 1 (builder): no kernel", &model,
                        &machine);
    assert_true(model > 0);
    assert_int_equal(machine, 0);
    run_where_all_fails("machine", "trtexec failed with exit code 1 (runtime): CUDA error", &model,
                        &machine);
    assert_int_equal(model, 0);
    assert_true(machine > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_of_a_failure_tell_who_was_at_fault),
        cmocka_unit_test(the_report_says_whether_the_model_or_the_machine_failed_a_trial),
    };

    return cmocka_run_group_tests(tests, test_tuned_make, test_tuned_drop);
}
