/* Quantization under a goal. On the simulated engine the SQNR falls with the number of nodes in 8
 * bits, and with nothing else: so how many have to go is known. */
#include <math.h>

#include "qdq/ptq.h"
#include "quant/plan/plan_times.h"
#include "support/build.h"
#include "support/goals.h"
#include "support/npy_file.h"

static qdq_error err;

/* --- on the simulated engine ------------------------------------------------------------------ */

TEST(a_goal_that_holds_at_once_takes_nothing_back)
{
    test_goal s = test_goal_begin(test_goal_chain());

    s.goal.min_sqnr = 10;
    assert_ok(test_goal_run(&s, &err));
    assert_true(s.r->reached);
    assert_int_equal(s.r->n_steps, 1);
    assert_int_equal(s.r->n_layers, 0);
    assert_true(s.r->steps[0].holds && s.r->steps[0].n_float == 0);
    assert_true(isnan(s.r->float_accuracy));
    assert_string_equal(s.r->why, "");
    assert_int_equal(qdq_plan_get_summary(s.plan)->n_weights, TEST_GOAL_LAYERS);
    test_goal_end(&s);
}

/* What is left of the time of an earlier search counts, whatever this one would have had: the first
 * set that holds is taken. */
TEST(a_search_without_time_ends_with_the_first_set_that_holds)
{
    static const double limit_s[] = {0, 1e6, -1};
    size_t steps[3];
    test_goal s = test_goal_begin(test_goal_chain());

    s.goal.min_sqnr = 1;
    assert_ok(test_goal_run(&s, &err));
    const double all = s.r->steps[0].sqnr_db;
    test_goal_end(&s);
    for (int i = 0; i < 3; i++) {
        s = test_goal_begin(test_goal_chain());
        s.goal.min_sqnr = all + 2.9;
        s.goal.max_slowdown = 1e6;
        s.goal.limit_s = limit_s[i];
        assert_ok(test_goal_run(&s, &err));
        assert_true(s.r->reached);
        assert_true(s.r->is_timed_out == (limit_s[i] < 0));
        assert_true(s.r->steps[s.r->n_steps - 1].holds || limit_s[i] >= 0);
        assert_true(limit_s[i] < 0 ? s.r->limit_s == 0 : s.r->limit_s > 0);
        steps[i] = s.r->n_steps;
        test_goal_end(&s);
    }
    assert_int_equal(steps[0], steps[1]);
    assert_true(steps[2] < steps[0]);
}

/* The first is noisy by a share of 0.01 times the root of 8; 0.01 times the root of 4 is 3 dB
 * better. */
TEST(layers_go_until_the_goal_holds)
{
    test_goal s = test_goal_begin(test_goal_chain());

    s.goal.min_sqnr = 1;
    assert_ok(test_goal_run(&s, &err));
    double all = s.r->steps[0].sqnr_db;
    test_goal_end(&s);

    s = test_goal_begin(test_goal_chain());
    s.goal.min_sqnr = all + 2.9;
    assert_ok(test_goal_run(&s, &err));
    assert_true(s.r->reached);
    assert_int_equal(s.r->n_layers, TEST_GOAL_LAYERS);
    assert_int_equal(test_goal_gone(s.r), TEST_GOAL_LAYERS / 2);
    assert_int_equal(qdq_plan_get_summary(s.plan)->n_weights, TEST_GOAL_LAYERS / 2);
    assert_true(s.r->n_steps <= 16);
    for (size_t i = 0; i < s.plan->left_float.n; i++) {
        const qdq_plan_float *f = &s.plan->left_float.at[i];

        if (strcmp(f->op, "MatMul") == 0)
            assert_string_equal(f->reason, "back to float for the goal");
    }
    test_goal_end(&s);
}

/* What is written is what was judged: the same as quantizing with these layers excluded. */
TEST(the_plan_is_that_of_quantizing_without_the_layers)
{
    test_goal s = test_goal_begin(test_goal_chain());
    qdq_quantize_opts opts = QDQ_QUANTIZE_OPTS_INIT;
    const char *exclude[TEST_GOAL_LAYERS + 1] = {NULL};
    char name[TEST_GOAL_LAYERS][20];
    qdq_plan *other;
    size_t n = 0;

    s.goal.min_sqnr = 40;
    assert_ok(test_goal_run(&s, &err));
    assert_true(test_goal_gone(s.r) > 0);
    for (size_t i = 0; i < s.r->n_layers; i++) {
        if (!s.r->layers[i].is_float)
            continue;
        snprintf(name[n], sizeof name[n], "=%s", s.r->layers[i].node);
        exclude[n] = name[n];
        n++;
    }
    opts.exclude = exclude;
    assert_ok(qdq_plan_make(s.m, s.target, s.engine, s.data, &opts, &other, &err));
    assert_int_equal(other->tensors.n, s.plan->tensors.n);
    for (size_t i = 0; i < other->tensors.n; i++) {
        assert_string_equal(other->tensors.at[i].tensor, s.plan->tensors.at[i].tensor);
        assert_true(other->tensors.at[i].qparam.scale == s.plan->tensors.at[i].qparam.scale);
    }
    qdq_plan_free(other);
    test_goal_end(&s);
}

TEST(what_only_a_float_model_reaches_is_not_reached)
{
    test_goal s = test_goal_begin(test_goal_chain());

    s.goal.min_sqnr = 300;
    assert_ok(test_goal_run(&s, &err));
    assert_false(s.r->reached);
    assert_non_null(strstr(s.r->why, "output 't7': found SQNR "));
    assert_non_null(strstr(s.r->why, "expected at least 300 dB"));
    assert_int_equal(test_goal_gone(s.r), TEST_GOAL_LAYERS - 1);
    assert_int_equal(qdq_plan_get_summary(s.plan)->n_weights, 1); /* what came nearest */
    test_goal_end(&s);
}

TEST(evaluations_are_bounded)
{
    test_goal s = test_goal_begin(test_goal_chain());

    s.goal.min_sqnr = 300;
    s.goal.max_evaluations = 1;
    assert_ok(test_goal_run(&s, &err));
    assert_false(s.r->reached);
    assert_int_equal(s.r->n_steps, 1);
    test_goal_end(&s);
}

/* --- what is computed once -------------------------------------------------------------------- */

/* Products whose biases can be corrected. */
static qdq_model *chain_with_biases(void)
{
    test_builder b = test_build(17);
    char name[20], weight[20], bias[20], before[20] = "x";

    TEST_INPUT(&b, "x", 4, 64);
    for (int i = 0; i < TEST_GOAL_LAYERS; i++) {
        snprintf(name, sizeof name, "g%d", i);
        snprintf(weight, sizeof weight, "w%d", i);
        snprintf(bias, sizeof bias, "b%d", i);
        TEST_RANDOM(&b, weight, 64, 64);
        TEST_RANDOM(&b, bias, 64);
        TEST_NODE(&b, "Gemm", name, before, weight, bias);
        snprintf(before, sizeof before, "t%d", i);
        TEST_NODE(&b, "Softmax", before, name);
    }
    test_output(&b, before);
    return test_built(&b);
}

typedef struct recorded_lines {
    /* runs */
    size_t calibrated, compared;
    bool said_memory;
} recorded_lines;

static void count_runs(void *ctx, const char *stage, uint64_t done, uint64_t total)
{
    recorded_lines *h = ctx;

    (void)done;
    (void)total;
    h->calibrated += strcmp(stage, "calibrate") == 0;
    h->compared += strcmp(stage, "compare") == 0;
}

static void record_memory(void *ctx, qdq_log_level level, const char *text)
{
    recorded_lines *h = ctx;

    if (strstr(text, "it runs again for each trial (--memory)") != NULL) {
        assert_int_equal(level, QDQ_LOG_INFO);
        assert_false(h->said_memory); /* once is enough */
        h->said_memory = true;
    }
}

/* On samples of a file: random ones correct no bias. */
static test_goal correcting(qdq_job *job)
{
    static float x[16][64];
    test_goal s = test_goal_begin(chain_with_biases());

    for (size_t i = 0; i < 16 * 64; i++)
        x[i / 64][i % 64] = (float)(i * 37 % 101) / 25 - 1.5f;
    qdq_data_close(s.data);
    assert_ok(qdq_data_open(test_npy_file("x.npy", TEST_HEADER("<f4", "(16, 64)"), x, sizeof x),
                            s.m, NULL, &s.data, &err));
    s.goal.min_sqnr = 30; /* three of the layers may be in 8 bits */
    job->progress = count_runs;
    job->log = record_memory;
    s.opts.job = job;
    s.opts.bias_correction = QDQ_BIAS_CORRECTION_ON;
    return s;
}

/* Calibration again in each trial, for means that do not depend on what is quantized. */
TEST(scales_and_means_are_gathered_in_one_calibration)
{
    recorded_lines one = {0}, all = {0};
    qdq_job job = QDQ_JOB_INIT;
    test_goal s = correcting(&job);
    qdq_plan *p;

    job.ctx = &one;
    assert_ok(qdq_plan_make(s.m, s.target, s.engine, s.data, &s.opts, &p, &err));
    assert_int_equal(p->corrections.n, TEST_GOAL_LAYERS);
    assert_true(one.calibrated > 0);
    qdq_plan_free(p);
    job.ctx = &all;
    assert_ok(test_goal_run(&s, &err));
    assert_true(s.r->n_steps > 1);
    assert_int_equal(all.calibrated, one.calibrated);
    assert_int_equal(all.compared, s.r->n_steps * qdq_data_count(s.data));
    assert_false(all.said_memory);
    test_goal_end(&s);
}

/* The same trials and the same plan, whether the float model's outputs fit or not. */
TEST(memory_bounds_what_is_kept_and_changes_no_result)
{
    recorded_lines h = {0};
    qdq_job job = QDQ_JOB_INIT;
    test_goal s = correcting(&job), tight = correcting(&job);
    char *text[2];

    job.ctx = &h;
    assert_ok(test_goal_run(&s, &err));
    assert_false(h.said_memory);
    tight.opts.memory = 1;
    assert_ok(test_goal_run(&tight, &err));
    assert_true(h.said_memory);
    assert_true(s.r->n_steps > 1);
    assert_int_equal(s.r->n_steps, tight.r->n_steps);
    for (size_t i = 0; i < s.r->n_steps; i++)
        assert_true(s.r->steps[i].sqnr_db == tight.r->steps[i].sqnr_db);
    assert_ok(qdq_plan_to_text(s.plan, &text[0], &err));
    assert_ok(qdq_plan_to_text(tight.plan, &text[1], &err));
    assert_string_equal(text[0], text[1]);
    for (int i = 0; i < 2; i++)
        qdq_free(text[i]);
    test_goal_end(&s);
    test_goal_end(&tight);
}

TEST(what_the_caller_excludes_stays_out_and_is_no_layer)
{
    test_goal s = test_goal_begin(test_goal_chain());
    static const char *const exclude[] = {"m[0-3]", NULL};

    s.opts.exclude = exclude;
    s.goal.min_sqnr = 300;
    assert_ok(test_goal_run(&s, &err));
    assert_int_equal(s.r->n_layers, TEST_GOAL_LAYERS - 4);
    test_goal_end(&s);
}

TEST(a_goal_needs_data_and_labels)
{
    test_goal s = test_goal_begin(test_goal_chain());

    s.goal.max_drop = 0.01;
    assert_fails(QDQ_E_USAGE, "found no accuracy, expected labels", test_goal_run(&s, &err));
    assert_null(s.plan);
    assert_null(s.out);
    assert_null(s.r);
    assert_fails(QDQ_E_USAGE, "a goal without data",
                 qdq_quantize_goal(s.m, s.target, s.engine, NULL, NULL, &s.goal, &s.plan, &s.out,
                                   &s.r, &err));
    s.goal.first = 8;
    assert_fails(QDQ_E_USAGE, "samples 8 to 8, the data have 8", test_goal_run(&s, &err));
    test_goal_end(&s);
}

/* --- folds ------------------------------------------------------------------------------------ */

/* Sixteen rows; the last but one, in the last sample, is a hundred times as large as the others. */
static test_goal set_up_outlier(void)
{
    static float x[16][64];
    test_goal s = test_goal_begin(chain_with_biases());

    for (size_t i = 0; i < 16 * 64; i++)
        x[i / 64][i % 64] = ((float)(i * 37 % 101) / 25 - 1.5f) * (i / 64 == 14 ? 100 : 1);
    qdq_data_close(s.data);
    assert_ok(qdq_data_open(test_npy_file("x.npy", TEST_HEADER("<f4", "(16, 64)"), x, sizeof x),
                            s.m, NULL, &s.data, &err));
    return s;
}

static void
a_fold_is_judged_by_ranges_that_did_not_see_it_and_the_plan_has_those_of_all(void **state)
{
    static const qdq_method methods[] = {QDQ_METHOD_MAX, QDQ_METHOD_MSE, QDQ_METHOD_MOVING_AVERAGE};

    (void)state;
    for (size_t k = 0; k < 3; k++) {
        test_goal s = set_up_outlier(), plain = set_up_outlier();
        qdq_plan *all = NULL;

        s.opts.method = methods[k];
        s.goal.folds = 4;
        assert_ok(test_goal_run(&s, &err));
        assert_true(s.r->is_cross_validated);
        assert_int_equal(s.r->compared->samples, qdq_data_count(s.data));
        assert_ok(
            qdq_plan_make(plain.m, plain.target, plain.engine, plain.data, &s.opts, &all, &err));
        assert_int_equal(all->tensors.n, s.plan->tensors.n);
        for (size_t i = 0; i < all->tensors.n; i++) {
            const qdq_plan_tensor *t = &s.plan->tensors.at[i];

            assert_true(t->qparam.scale == all->tensors.at[i].qparam.scale);
            assert_non_null(t->fold);
            if (strcmp(t->tensor, "x") != 0)
                continue;
            /* the last fold has the outlier */
            assert_true(t->fold[0].scale > t->fold[3].scale * 1.5f);
            assert_true(k == 2 || t->fold[0].scale == t->qparam.scale || k == 1);
        }
        qdq_plan_free(all);
        test_goal_end(&s);
        test_goal_end(&plain);
    }
}

TEST(random_data_and_other_data_are_not_cross_validated)
{
    test_goal s = test_goal_begin(test_goal_chain());

    s.goal.folds = 4;
    assert_fails(QDQ_E_USAGE, "cross-validation: expected samples that calibrate",
                 test_goal_run(&s, &err));
    test_goal_end(&s);
}

/* Their folds would be evaluated with weights that have seen them. */
TEST(weights_that_samples_round_are_not_cross_validated)
{
    test_goal s = set_up_outlier();

    s.goal.folds = 4;
    assert_false(qdq_rounds_by_samples(s.target));
    assert_ok(qdq_target_set(s.target, "weight.method", "gptq", &err));
    assert_true(qdq_rounds_by_samples(s.target));
    assert_fails(QDQ_E_USAGE, "expected folds 0 and samples that are held out",
                 test_goal_run(&s, &err));
    test_goal_end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_goal_that_holds_at_once_takes_nothing_back),
        cmocka_unit_test(a_search_without_time_ends_with_the_first_set_that_holds),
        cmocka_unit_test(layers_go_until_the_goal_holds),
        cmocka_unit_test(the_plan_is_that_of_quantizing_without_the_layers),
        cmocka_unit_test(what_only_a_float_model_reaches_is_not_reached),
        cmocka_unit_test(evaluations_are_bounded),
        cmocka_unit_test(scales_and_means_are_gathered_in_one_calibration),
        cmocka_unit_test(memory_bounds_what_is_kept_and_changes_no_result),
        cmocka_unit_test(what_the_caller_excludes_stays_out_and_is_no_layer),
        cmocka_unit_test(a_goal_needs_data_and_labels),
        cmocka_unit_test(
            a_fold_is_judged_by_ranges_that_did_not_see_it_and_the_plan_has_those_of_all),
        cmocka_unit_test(random_data_and_other_data_are_not_cross_validated),
        cmocka_unit_test(weights_that_samples_round_are_not_cross_validated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
