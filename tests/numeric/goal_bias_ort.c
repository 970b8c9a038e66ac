/* goal_bias_ort.c - a goal that is missed because rounding the weights shifts the means: biases are
 * corrected before any layer goes back to float, where that brings the goal nearer on samples that
 * the means did not see. */
#include <math.h>
#include <string.h>

#include "base/random.h"
#include "base/sha256.h"
#include "numeric/ort_help.h"
#include "qdq/goal.h"
#include "quant/plan/plan.h"
#include "quant/plan/plan_times.h"
#include "support/build.h"
#include "support/goals.h"
#include "support/npy_file.h"

enum { SAMPLES = 8, IN = 32, OUT = 8 };

static qdq_error err;

/* Products of rows around `first` in the first half of the samples, around `second` in the other
 * half. */
static test_goal set_up(float first, float second, unsigned folds)
{
    static const char *const coarse[][2] = {
        {"weight.type", "int4"}, {"weight.per_channel", "false"}, {"stay_float", "[]"}};
    static float x[SAMPLES][IN];
    test_builder b = test_build(21);
    qdq_random r = qdq_random_new(5, NULL);

    for (size_t i = 0; i < (size_t)SAMPLES * IN; i++)
        x[i / IN][i % IN] = (i / IN < SAMPLES / 2 ? first : second) + 0.5f * qdq_random_normal(&r);
    TEST_INPUT(&b, "x", 1, IN);
    TEST_RANDOM(&b, "w", IN, OUT);
    TEST_RANDOM(&b, "b", OUT);
    TEST_NODE(&b, "Gemm", "y", "x", "w", "b");
    test_output(&b, "y");
    test_goal s =
        test_goal_begin_ort(test_built(&b), "ort-cpu",
                            test_npy_file("x.npy", TEST_HEADER("<f4", "(8, 32)"), x, sizeof x));
    for (size_t i = 0; i < QDQ_COUNT(coarse); i++)
        assert_ok(qdq_target_set(s.target, coarse[i][0], coarse[i][1], &err));
    s.goal.folds = folds;
    return s;
}

static void go(test_goal *s)
{
    assert_ok(test_goal_run(s, &err));
}

/* What the goal is compared with, of the plan with everything in 8 bits. */
static double bound_with(test_goal *s, qdq_bias_correction when)
{
    s->opts.bias_correction = when;
    s->goal.min_sqnr = 0.001;
    go(s);
    const double db = s->r->steps[0].sqnr_db;
    assert_false(s->r->is_corrected);
    assert_int_equal(s->plan->corrections.n, when == QDQ_BIAS_CORRECTION_ON);
    test_goal_drop_outcome(s);
    s->opts.bias_correction = QDQ_BIAS_CORRECTION_AUTO;
    return db;
}

TEST(a_goal_that_shifted_means_miss_is_reached_by_corrected_biases)
{
    test_goal s = set_up(2, 2, 0);
    const double without = bound_with(&s, QDQ_BIAS_CORRECTION_OFF),
                 with = bound_with(&s, QDQ_BIAS_CORRECTION_ON);
    qdq_model *again = NULL;

    assert_true(with > without + 3);
    s.goal.min_sqnr = (with + without) / 2;
    go(&s);
    assert_true(s.r->reached && s.r->is_corrected);
    assert_int_equal(s.r->n_steps, 1); /* no layer went back */
    assert_true(fabs(s.r->steps[0].sqnr_db - with) < 1e-6);
    assert_true(s.r->corrected_db > s.r->uncorrected_db);
    assert_int_equal(s.plan->corrections.n, 1);
    assert_string_equal(s.r->why, "");
    assert_ok(qdq_plan_apply(s.plan, s.m, false, NULL, &again, &err));
    qdq_model_free(again);
    test_goal_end(&s);
}

TEST(biases_stay_where_the_goal_holds_without)
{
    test_goal s = set_up(2, 2, 0);
    const double without = bound_with(&s, QDQ_BIAS_CORRECTION_OFF);

    s.goal.min_sqnr = without - 1;
    go(&s);
    assert_true(s.r->reached && !s.r->is_corrected);
    assert_int_equal(s.plan->corrections.n, 0);
    test_goal_end(&s);
}

TEST(biases_stay_where_the_caller_wants_them)
{
    test_goal s = set_up(2, 2, 0);

    s.goal.min_sqnr = bound_with(&s, QDQ_BIAS_CORRECTION_OFF) + 1;
    s.opts.bias_correction = QDQ_BIAS_CORRECTION_OFF;
    go(&s);
    assert_false(s.r->reached || s.r->is_corrected);
    assert_int_equal(s.plan->corrections.n, 0);
    test_goal_end(&s);
}

/* The output as a whole has 0.3 dB more with them, and the bound that the goal asks for 3 dB less.
 */
TEST(a_gain_that_is_next_to_nothing_keeps_biases_as_they_are)
{
    test_goal s = set_up(0.3f, 0.3f, 4);
    const double without = bound_with(&s, QDQ_BIAS_CORRECTION_OFF),
                 with = bound_with(&s, QDQ_BIAS_CORRECTION_ON);

    assert_true(with < without);
    s.goal.min_sqnr = without + 10;
    go(&s);
    assert_false(s.r->reached || s.r->is_corrected);
    assert_int_equal(s.plan->corrections.n, 0);
    test_goal_end(&s);
}

/* Over all samples the mean is 1, which would help both halves; over the other half alone it does
 * harm. */
TEST(corrections_are_judged_by_means_that_did_not_see_the_samples)
{
    test_goal s = set_up(3, -1, 2);
    const double without = bound_with(&s, QDQ_BIAS_CORRECTION_OFF),
                 with = bound_with(&s, QDQ_BIAS_CORRECTION_ON);

    assert_true(with < without);
    s.goal.min_sqnr = without + 1;
    go(&s);
    assert_false(s.r->reached || s.r->is_corrected);
    assert_int_equal(s.plan->corrections.n, 0);
    test_goal_end(&s);
}

static void count_samples(void *ctx, const char *phase, uint64_t done, uint64_t total)
{
    (void)done;
    (void)total;
    *(size_t *)ctx += strcmp(phase, "compare") == 0;
}

/* The first half of the samples shows the harm, and is all that they run on. */
TEST(corrections_that_do_harm_to_the_first_samples_do_not_run_on_all)
{
    test_goal s = set_up(3, -1, 2);
    qdq_job job = QDQ_JOB_INIT;
    size_t samples = 0;

    s.goal.min_sqnr = bound_with(&s, QDQ_BIAS_CORRECTION_OFF) + 20;
    job.ctx = &samples;
    job.progress = count_samples;
    s.opts.job = &job;
    go(&s);
    assert_false(s.r->is_corrected);
    assert_int_equal(samples, SAMPLES + SAMPLES / 2); /* one layer: without it nothing is left */
    test_goal_end(&s);
}

/* A float model is told from the input model, whose BatchNormalization is folded, by its first
 * samples. */
TEST(where_nothing_is_quantized_the_first_samples_are_compared)
{
    static const char *const more[] = {"gain", "shift", "mean", "variance"};
    test_goal s = set_up(2, 2, 0);
    test_builder b = test_build(21);

    qdq_model_free(s.m);
    qdq_data_close(s.data);
    TEST_INPUT(&b, "x", 1, IN, 1, 1);
    TEST_RANDOM(&b, "w", OUT, IN, 1, 1);
    for (size_t i = 0; i < QDQ_COUNT(more); i++) {
        float v[OUT];
        const int64_t dim = OUT;

        for (size_t k = 0; k < OUT; k++)
            v[k] = 0.7f + 0.1f * (float)((k * 3 + i) % 7);
        assert_non_null(
            qdq_graph_add_init(b.m->graph, more[i], qdq_tensor_of_floats(b.m, 1, &dim, v)));
    }
    TEST_NODE(&b, "Conv", "c", "x", "w");
    TEST_NODE(&b, "BatchNormalization", "y", "c", "gain", "shift", "mean", "variance");
    test_output(&b, "y");
    s.m = test_built(&b);
    static float x[SAMPLES][IN];
    qdq_random r = qdq_random_new(5, NULL);

    for (size_t i = 0; i < (size_t)SAMPLES * IN; i++)
        x[i / IN][i % IN] = qdq_random_normal(&r);
    assert_ok(
        qdq_data_open(test_npy_file("y.npy", TEST_HEADER("<f4", "(8, 32, 1, 1)"), x, sizeof x), s.m,
                      NULL, &s.data, &err));
    s.goal.by_default = true;
    s.goal.min_saving = 0.99;
    s.opts.bias_correction = QDQ_BIAS_CORRECTION_OFF;
    go(&s);
    assert_true(s.r->is_float && isfinite(s.r->compared->worst_db));
    assert_int_equal(s.r->compared->samples, SAMPLES / 2);
    test_goal_end(&s);
}

/* The default goal, reached by corrected biases: by times of whole runs, the float model takes 400
 * us. */
static void default_goal_by(test_goal *s, qdq_plan *times, double us)
{
    qdq_plan_times t = {
        .processor = "p", .target = "ort-cpu", .trials = 16, .float_us = 400, .eight_us = us};
    qdq_arena arena = QDQ_ARENA_INIT;
    char hash[65];

    assert_true(QDQ_PUSH(&arena, &t.layers, ((qdq_layer_time){"y", 400, us, {0}})));
    assert_true(QDQ_PUSH(&arena, &t.timed, ((qdq_trial_time){1, us})));
    qdq_sha256_text(qdq_target_text(s->target), hash);
    t.target_sha256 = hash;
    assert_true(qdq_plan_set_times(times, &t));
    qdq_arena_free(&arena);
    s->goal.by_default = true;
    s->goal.times = times;
    go(s);
}

TEST(what_corrected_biases_make_right_must_be_faster_than_float)
{
    static const double us[] = {399, 401};

    for (int i = 0; i < 2; i++) {
        qdq_plan *times = qdq_plan_new();
        test_goal s = set_up(4, 4, 0);

        default_goal_by(&s, times, us[i]);
        assert_int_equal(s.r->n_steps, 1);
        assert_int_equal(s.r->reached, i == 0);
        assert_int_equal(s.r->is_corrected, i == 0);
        assert_int_equal(s.r->is_slower, i == 1);
        assert_int_equal(qdq_plan_get_summary(s.plan)->n_weights, i == 0);
        test_goal_end(&s);
        qdq_plan_free(times);
    }
}

TEST(random_data_have_no_means_that_count)
{
    test_goal s = set_up(2, 2, 0);

    qdq_data_close(s.data);
    assert_ok(qdq_data_open("random:1", s.m, NULL, &s.data, &err));
    s.goal.min_sqnr = 60;
    go(&s);
    assert_false(s.r->is_corrected);
    assert_int_equal(s.plan->corrections.n, 0);
    test_goal_end(&s);
}

/* Ranges that are there already are to save the runs that means would need. */
TEST(a_cache_of_ranges_keeps_biases_as_they_are)
{
    test_goal s = set_up(2, 2, 0);

    s.goal.min_sqnr = bound_with(&s, QDQ_BIAS_CORRECTION_OFF) - 1;
    go(&s);
    assert_ok(qdq_plan_save_ranges(s.plan, test_path("ranges.json"), true, &err));
    test_goal_drop_outcome(&s);
    s.goal.min_sqnr += 2;
    s.opts.cache = test_path("ranges.json");
    go(&s);
    assert_false(s.r->is_corrected);
    test_goal_end(&s);
}
