/* tune_pareto.c - the front between latency and accuracy, on the sim engine: all 8-bit kernels make
 * the same error there, and save different times. */
#include <math.h>
#include <unistd.h>

#include "base/json.h"
#include "support/tuned.h"

static qdq_error err;

static const char *world(const char *more)
{
    char text[400];

    snprintf(text, sizeof text,
             "\"error\": 0.01, \"nodes\": {\"MatMul@h3\": {\"float_us\": 200, \"int8_us\": 30}, "
             "\"MatMul@h4\": "
             "{\"float_us\": 150, \"int8_us\": 30}}%s",
             more);
    return test_tuned_costs(TEST_TUNED_OPS, text);
}

static qdq_tune_opts opts(const char *engine, unsigned pareto)
{
    qdq_tune_opts o = test_tuned_opts(engine);

    o.mode = QDQ_TUNE_SUBGRAPH;
    test_tuned_details(&o)->pareto = pareto;
    return o;
}

/* --- what comes out --------------------------------------------------------------------------- */

static void expect_plan(const char *folder, const qdq_tune_point *p)
{
    char path[4300];
    qdq_plan *plan = NULL;
    qdq_model *m = NULL;

    snprintf(path, sizeof path, "%s/%s", folder, p->plan);
    assert_ok(qdq_plan_load(path, &plan, &err));
    snprintf(path, sizeof path, "%s/%s", folder, p->file);
    assert_ok(qdq_model_load(path, NULL, &m, &err));
    assert_true(p->nodes > 0);
    qdq_model_free(m);
    qdq_plan_free(plan);
}

TEST(models_lie_along_the_front)
{
    const char *folder = test_path("front");
    qdq_tune_opts o = opts(world(""), 4);
    qdq_tune_result r;
    bool has_least = false;

    assert_ok(test_tuned_run(test_tuned, folder, &o, &r, &err));
    assert_true(r.n_pareto >= 3 && r.n_pareto <= 4);
    for (size_t i = 0; i < r.n_pareto; i++) {
        const qdq_tune_point *p = &r.pareto[i];
        expect_plan(folder, p);
        assert_true(p->ms_low <= p->ms && p->ms <= p->ms_high && p->ms < r.baseline_ms);
        assert_true(fabs(p->predicted_ms / p->ms - 1) < 0.03);
        assert_true(isnan(p->accuracy) && isfinite(p->sqnr_db));
        assert_true(i == 0 || r.pareto[i - 1].ms <= p->ms);
        has_least = has_least || p->nodes == 1;
    }
    assert_true(has_least && r.pareto[0].nodes == 4 && !r.pareto[0].dominated);
    assert_true(r.pareto[r.n_pareto - 1].sqnr_db >
                r.pareto[0].sqnr_db + 4); /* one kernel against four: 6 dB */
    assert_true(fabs(r.pareto[0].ms / r.final_ms - 1) < 0.02);
    char *json = test_tuned_file(folder, "report.json"),
         *page = test_tuned_file(folder, "report.html");
    assert_non_null(strstr(json, "\"pareto\": ["));
    assert_non_null(strstr(json, "\"file\": \"pareto/model_1.onnx\""));
    assert_non_null(strstr(page, "Latency against accuracy"));
    assert_non_null(strstr(page, "aria-label=\"Dots\""));
    assert_non_null(strstr(page, ">input</text>"));
    qdq_free(json);
    qdq_free(page);
}

TEST(a_goal_bounds_what_is_written_and_not_the_front)
{
    const char *folder = test_path("bounded");
    qdq_goal_opts goal = QDQ_GOAL_OPTS_INIT;
    qdq_tune_opts o = opts(world(""), 4);
    qdq_tune_result r;

    goal.min_sqnr = 35.5;
    o.goal = &goal;
    assert_ok(test_tuned_run(test_tuned, folder, &o, &r, &err));
    assert_true(r.n_pareto >= 3 && r.pareto[0].nodes == 4);
    assert_true(r.pareto[0].sqnr_db < 35.5 && r.pareto[0].ms < r.final_ms);
}

TEST(without_it_there_is_none)
{
    const char *folder = test_path("none");
    qdq_tune_opts o = opts(world(""), 0);
    qdq_tune_result r;

    assert_ok(test_tuned_run(test_tuned, folder, &o, &r, &err));
    assert_int_equal(r.n_pareto, 0);
    assert_false(test_tuned_exists(folder, "pareto"));
    assert_false(test_tuned_has(folder, "report.json", "pareto"));
}

/* --- going on, and less time ------------------------------------------------------------------ */

TEST(nothing_is_measured_again_and_what_is_too_much_goes)
{
    const char *folder = test_path("again"), *engine = world("");
    qdq_tune_opts o = opts(engine, 4);
    qdq_tune_result first, second;

    assert_ok(test_tuned_run(test_tuned, folder, &o, &first, &err));
    const uint64_t samples = test_tuned_samples(folder);
    assert_ok(test_tuned_run(test_tuned, folder, &o, &second, &err));
    assert_int_equal(test_tuned_samples(folder), samples);
    assert_int_equal(first.n_pareto, second.n_pareto);
    for (size_t i = 0; i < first.n_pareto; i++)
        assert_true(first.pareto[i].ms == second.pareto[i].ms &&
                    first.pareto[i].sqnr_db == second.pareto[i].sqnr_db);
    test_tuned_details(&o)->pareto = 2;
    assert_ok(test_tuned_run(test_tuned, folder, &o, &second, &err));
    assert_int_equal(second.n_pareto, 2);
    assert_true(test_tuned_exists(folder, "pareto/model_2.onnx") &&
                test_tuned_exists(folder, "pareto/plan_2.json"));
    assert_false(test_tuned_exists(folder, "pareto/model_3.onnx") ||
                 test_tuned_exists(folder, "pareto/plan_3.json"));
}

TEST(an_interrupted_front_is_gone_on_with)
{
    const char *engine = world("");
    qdq_tune_result whole, part;
    qdq_tune_opts o = opts(engine, 4);

    assert_ok(test_tuned_run(test_tuned, test_path("whole"), &o, &whole, &err));
    for (unsigned after = 0; after < 3; after++) {
        const char *folder = test_path("stopped%u", after);
        test_tuned_stop s;
        o = opts(engine, 4);
        test_tuned_stop_in(&s, "front", after + 1, &o);
        assert_int_equal(test_tuned_run(test_tuned, folder, &o, &part, &err), QDQ_E_INTERRUPTED);
        assert_true(test_tuned_exists(folder, "model.onnx"));
        o = opts(engine, 4);
        assert_ok(test_tuned_run(test_tuned, folder, &o, &part, &err));
        assert_int_equal(part.n_pareto, whole.n_pareto);
        for (size_t i = 0; i < part.n_pareto; i++)
            assert_int_equal(part.pareto[i].nodes, whole.pareto[i].nodes);
        qdq_cancel_free(s.cancel);
    }
}

TEST(no_time_is_no_front)
{
    qdq_tune_opts o = opts(world(""), 3);
    qdq_tune_result r;

    o.time_s = 1e-6;
    assert_ok(test_tuned_run(test_tuned, test_path("hurry"), &o, &r, &err));
    assert_int_equal(r.n_pareto, 0);
    assert_true(r.ended_early);
}

/* --- where there is none ---------------------------------------------------------------------- */

TEST(what_cannot_be_is_refused)
{
    const char *folder = test_path("refused");
    qdq_tune_opts o = opts(world(""), 1);
    qdq_tune_result r;

    assert_fails(QDQ_E_USAGE, "pareto: found 1 models, expected 2 to 16",
                 test_tuned_run(test_tuned, folder, &o, &r, &err));
    test_tuned_details(&o)->pareto = 17;
    assert_fails(QDQ_E_USAGE, "pareto: found 17 models",
                 test_tuned_run(test_tuned, folder, &o, &r, &err));
    test_tuned_details(&o)->pareto = 3;
    o.mode = QDQ_TUNE_REGION;
    assert_fails(QDQ_E_USAGE, "found pareto, which is of subgraph mode alone",
                 test_tuned_run(test_tuned, folder, &o, &r, &err));
    o = opts(world(", \"no_profile\": true"), 3);
    assert_fails(QDQ_E_UNSUPPORTED, "expected them for --pareto",
                 test_tuned_run(test_tuned, test_path("blind"), &o, &r, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_lie_along_the_front),
        cmocka_unit_test(a_goal_bounds_what_is_written_and_not_the_front),
        cmocka_unit_test(without_it_there_is_none),
        cmocka_unit_test(nothing_is_measured_again_and_what_is_too_much_goes),
        cmocka_unit_test(an_interrupted_front_is_gone_on_with),
        cmocka_unit_test(no_time_is_no_front),
        cmocka_unit_test(what_cannot_be_is_refused),
    };

    return cmocka_run_group_tests(tests, test_tuned_make, test_tuned_drop);
}
