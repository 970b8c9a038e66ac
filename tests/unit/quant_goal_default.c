/* The default goal, which a plan may miss and still be taken, and what a clock says of it. */
#include <math.h>
#include "base/cpu.h"
#include "base/sha256.h"
#include "quant/plan/plan_times.h"
#include "support/build.h"
#include "support/goals.h"
#include "support/npy_file.h"

static qdq_error err;

/* --- the default goal ------------------------------------------------------------------------- */

/* On this engine one layer in 8 bits has 14 dB: only the float model reaches 20. */
static test_goal set_up_noisy(void)
{
    static const char noisy[] = "{\"qdq_sim\": 1, \"error\": 0.2, \"ops\": {"
                                "\"MatMul\": {\"float_us\": 50, \"int8_us\": 20, \"inputs\": 2}}}";
    test_goal s = test_goal_begin_on(test_goal_chain(), noisy);

    s.goal.by_default = true;
    return s;
}

static void
a_default_goal_that_only_float_reaches_keeps_the_best_plan_that_saves_a_tenth(void **state)
{
    test_goal s = set_up_noisy();
    double best = -INFINITY;

    (void)state;
    assert_ok(test_goal_run(&s, &err));
    assert_false(s.r->reached);
    assert_true(s.r->is_best_accepted && !s.r->is_float);
    assert_true(s.r->n_steps > 1);
    for (size_t i = 0; i < s.r->n_steps; i++)
        if (s.r->steps[i].time_fraction <= 0.9)
            best = fmax(best, s.r->steps[i].sqnr_db);
    assert_true(best > s.r->steps[0].sqnr_db);
    assert_true(fmin(s.r->compared->worst_db, s.r->compared->bound_db) == best);
    assert_int_equal(qdq_plan_get_summary(s.plan)->n_weights,
                     TEST_GOAL_LAYERS - test_goal_gone(s.r));
    assert_non_null(strstr(s.r->why, "output 't7'"));
    test_goal_end(&s);
}

static void
a_default_goal_that_is_missed_tries_as_many_layers_back_as_still_save_a_tenth(void **state)
{
    test_goal s = set_up_noisy();
    double most_saved = 0, most_gone = 0, gone = 0;

    (void)state;
    assert_ok(test_goal_run(&s, &err));
    for (size_t i = 0; i < s.r->n_layers; i++)
        most_saved = fmax(most_saved, s.r->layers[i].saved_fraction);
    const qdq_goal_step *last = &s.r->steps[s.r->n_steps - 1];
    assert_true(last->time_fraction <= 0.88 + 1e-9 && last->time_fraction + most_saved > 0.88);
    for (size_t i = 0; i < s.r->n_steps; i++) /* of what is alike, fewer layers in 8 bits */
        if (s.r->steps[i].time_fraction <= 0.9)
            most_gone = fmax(most_gone, (double)s.r->steps[i].n_float);
    gone = (double)test_goal_gone(s.r);
    assert_true(gone == most_gone);
    test_goal_end(&s);
}

TEST(a_default_goal_that_no_saving_plan_reaches_ends_with_the_float_model)
{
    test_goal s = set_up_noisy();

    s.goal.min_saving = 0.99;
    assert_ok(test_goal_run(&s, &err));
    assert_false(s.r->reached);
    assert_true(s.r->is_float && !s.r->is_best_accepted);
    assert_int_equal(qdq_plan_get_summary(s.plan)->n_weights, 0);
    assert_int_equal(qdq_plan_get_summary(s.plan)->n_tensors, 0);
    assert_true(isinf(s.r->compared->worst_db)); /* equal */
    test_goal_end(&s);
}

/* --- times ------------------------------------------------------------------------------------ */

/* The default goal holds with some layers back. Each layer saves 30 of 400, all together no more
 * than 80. `us`: of each plan that is timed; 0: none was. */
static test_goal set_up_timed(qdq_plan *times, double us)
{
    static const char mild[] = "{\"qdq_sim\": 1, \"error\": 0.05, \"ops\": {"
                               "\"MatMul\": {\"float_us\": 50, \"int8_us\": 20, \"inputs\": 2}}}";
    test_goal s = test_goal_begin_on(test_goal_chain(), mild);
    qdq_plan_times t = {
        .processor = "p", .target = "ort-cpu", .trials = 16, .float_us = 400, .eight_us = 320};
    qdq_arena arena = QDQ_ARENA_INIT;
    char name[TEST_GOAL_LAYERS][20], hash[65];

    for (int i = 0; i < TEST_GOAL_LAYERS; i++) {
        snprintf(name[i], sizeof name[i], "m%d", i);
        assert_true(QDQ_PUSH(&arena, &t.layers, ((qdq_layer_time){name[i], 50, 20, {0}})));
    }
    for (unsigned i = 1; us > 0 && i <= 16; i++)
        assert_true(QDQ_PUSH(&arena, &t.timed, ((qdq_trial_time){i, us})));
    /* times are of a target as it was changed for the processor */
    assert_ok(qdq_target_set(s.target, "without_vnni", "any", &err));
    qdq_sha256_text(qdq_target_text(s.target), hash);
    t.target_sha256 = hash;
    assert_true(qdq_plan_set_times(times, &t));
    qdq_arena_free(&arena);
    s.goal.by_default = true;
    s.goal.times = times;
    return s;
}

static void keep_warning(void *ctx, qdq_log_level level, const char *text)
{
    if (level == QDQ_LOG_WARNING)
        snprintf(ctx, 300, "%.299s", text);
}

/* What this processor takes says nothing of another one. */
static void times_are_estimated_for_another_processor(void **state)
{
    const qdq_cpu others[] = {qdq_cpu_detect() == QDQ_CPU_ARM ? QDQ_CPU_AVX2 : QDQ_CPU_ARM,
                              qdq_cpu_detect()};
    qdq_job job = QDQ_JOB_INIT;
    char line[300];

    (void)state;
    job.ctx = line;
    job.log = keep_warning;
    for (int i = 0; i < 2; i++) {
        test_goal s = set_up_noisy();

        line[0] = '\0';
        assert_ok(qdq_target_set(s.target, "engine", "sim", &err));
        s.opts.job = &job;
        s.opts.cpu = others[i];
        assert_ok(test_goal_run(&s, &err));
        assert_true(s.r->is_profiled == (i == 1));
        assert_true((strstr(line, "estimated from shapes") != NULL) == (i == 0));
        test_goal_end(&s);
    }
}

static void
what_no_layer_saves_by_itself_is_shared_so_that_float_takes_the_time_of_float(void **state)
{
    qdq_plan *times = qdq_plan_new();
    test_goal s = set_up_timed(times, 0);

    (void)state;
    assert_ok(test_goal_run(&s, &err));
    assert_true(s.r->reached && s.r->is_profiled);
    assert_true(s.r->n_steps > 1);
    for (size_t i = 0; i < s.r->n_steps; i++)
        assert_true(fabs(s.r->steps[i].time_fraction -
                         (0.8 + 0.2 * (double)s.r->steps[i].n_float / TEST_GOAL_LAYERS)) < 1e-9);
    test_goal_end(&s);
    qdq_plan_free(times);
}

TEST(a_plan_that_reaches_a_default_goal_and_is_not_faster_gives_way_to_float)
{
    qdq_plan *times = qdq_plan_new();
    test_goal s = set_up_timed(times, 406);

    assert_ok(test_goal_run(&s, &err));
    assert_false(s.r->reached);
    assert_true(s.r->is_float && s.r->is_slower);
    assert_int_equal(qdq_plan_get_summary(s.plan)->n_weights, 0);
    assert_string_equal(s.r->why, "what reaches it takes 1.01 of the time of the float model");
    test_goal_end(&s);
    qdq_plan_free(times);
}

TEST(a_plan_that_reaches_a_default_goal_and_is_as_fast_is_taken)
{
    qdq_plan *times = qdq_plan_new(), *again = qdq_plan_new();
    test_goal s = set_up_timed(times, 400);
    size_t gone;

    assert_ok(test_goal_run(&s, &err));
    assert_true(s.r->reached && !s.r->is_float);
    gone = test_goal_gone(s.r);
    assert_true(gone > 0 && gone < TEST_GOAL_LAYERS);
    assert_int_equal(s.plan->times.timed.n, 16); /* the plan has the times that it was made from */
    test_goal_end(&s);
    s = set_up_timed(again, 400);
    s.goal.by_default = false; /* who names a goal gets it at any speed */
    s.goal.min_sqnr = QDQ_DEFAULT_MIN_SQNR;
    assert_ok(test_goal_run(&s, &err));
    assert_true(s.r->reached);
    assert_int_equal(test_goal_gone(s.r), gone);
    test_goal_end(&s);
    qdq_plan_free(times);
    qdq_plan_free(again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_are_estimated_for_another_processor),
        cmocka_unit_test(
            a_default_goal_that_only_float_reaches_keeps_the_best_plan_that_saves_a_tenth),
        cmocka_unit_test(
            a_default_goal_that_is_missed_tries_as_many_layers_back_as_still_save_a_tenth),
        cmocka_unit_test(a_default_goal_that_no_saving_plan_reaches_ends_with_the_float_model),
        cmocka_unit_test(
            what_no_layer_saves_by_itself_is_shared_so_that_float_takes_the_time_of_float),
        cmocka_unit_test(a_plan_that_reaches_a_default_goal_and_is_not_faster_gives_way_to_float),
        cmocka_unit_test(a_plan_that_reaches_a_default_goal_and_is_as_fast_is_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
