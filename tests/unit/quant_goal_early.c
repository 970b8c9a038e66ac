/* quant_goal_early.c - trials that are far from the goal end with their first samples. */
#include <math.h>
#include <string.h>

#include "support/build.h"
#include "support/goals.h"
#include "support/npy_file.h"
#include "support/test.h"

static qdq_error err;

enum { SAMPLES = 8, FIRST_SAMPLES = 4, MOST = 64 };

/* How many samples each comparison ran. */
typedef struct counted {
    size_t n, samples[MOST];
} counted;

static void count(void *ctx, const char *phase, uint64_t done, uint64_t total)
{
    counted *c = ctx;

    (void)total;
    if (strcmp(phase, "compare") != 0)
        return;
    c->n += done == 1;
    assert_in_range(c->n, 1, MOST);
    c->samples[c->n - 1] = done;
}

static void run(test_goal *s, counted *c)
{
    qdq_job job = QDQ_JOB_INIT;

    *c = (counted){.n = 0};
    job.ctx = c;
    job.progress = count;
    s->opts.job = &job;
    assert_ok(test_goal_run(s, &err));
    s->opts.job = NULL;
}

/* A goal that is `more_db` above what the plan of the rules has. */
static void run_above_the_rules(test_goal *s, counted *c, double more_db)
{
    s->goal.min_sqnr = 1;
    run(s, c);
    s->goal.min_sqnr = s->r->steps[0].sqnr_db + more_db;
    test_goal_drop_outcome(s);
    run(s, c);
}

/* With `rows` rows of data, of which a sample has eight. */
static test_goal begin_with_rows(int64_t rows)
{
    static float x[8 * SAMPLES * 64];
    const qdq_named_array data = {"x",
                                  {QDQ_FLOAT, 2, {rows, 64}, x, (size_t)rows * 64 * sizeof *x}};
    test_goal s = test_goal_begin(test_goal_chain());

    for (size_t i = 0; i < QDQ_COUNT(x); i++)
        x[i] = (float)(i * 37 % 101) / 25 - 1.5f;
    qdq_data_close(s.data);
    assert_ok(qdq_data_from_arrays(&data, 1, s.m, NULL, &s.data, &err));
    return s;
}

static size_t count_early(const counted *c)
{
    size_t n = 0;

    for (size_t i = 0; i < c->n; i++) {
        n += c->samples[i] == FIRST_SAMPLES;
        assert_true(c->samples[i] == FIRST_SAMPLES || c->samples[i] == SAMPLES);
    }
    return n;
}

TEST(a_trial_far_from_the_goal_ends_with_its_first_samples)
{
    test_goal s = test_goal_begin(test_goal_chain());
    counted c;

    s.goal.min_sqnr = 60;
    run(&s, &c);
    assert_int_equal(c.samples[0], SAMPLES); /* of the first plan, which shows what they say */
    assert_true(count_early(&c) > 0);
    for (size_t i = 0; i < s.r->n_steps; i++)
        assert_true(s.r->steps[i].holds == (s.r->steps[i].sqnr_db >= 60));
    test_goal_end(&s);
}

TEST(a_trial_near_the_goal_sees_all_samples)
{
    test_goal s = test_goal_begin(test_goal_chain());
    counted c;

    run_above_the_rules(&s, &c, 1);
    assert_true(s.r->reached && s.r->n_steps > 1);
    assert_int_equal(count_early(&c), 0);
    test_goal_end(&s);
}

/* Without any noise in the other half it would still miss. */
TEST(a_trial_that_the_second_look_shows_to_miss_ends_there)
{
    test_goal s = begin_with_rows(8 * SAMPLES);
    size_t n_half = 0;
    counted c;

    run_above_the_rules(&s, &c, 8); /* of seven of eight layers in float */
    assert_true(s.r->reached);
    for (size_t i = 0; i < c.n; i++)
        n_half += c.samples[i] == SAMPLES;
    assert_true(n_half > 0);
    test_goal_end(&s);
}

/* Of a default goal that is missed, the best is taken by what all samples say. */
TEST(what_is_taken_was_evaluated_on_all_samples)
{
    static const char noisy[] = "{\"qdq_sim\": 1, \"error\": 0.5, \"ops\": {"
                                "\"MatMul\": {\"float_us\": 50, \"int8_us\": 20, \"inputs\": 2}}}";
    test_goal s = test_goal_begin_on(test_goal_chain(), noisy);
    counted c;

    s.goal.by_default = true;
    run(&s, &c);
    assert_true(s.r->is_best_accepted && count_early(&c) > 0);
    assert_int_equal(s.r->compared->samples, SAMPLES);
    double best = -INFINITY;
    for (size_t i = 0; i < s.r->n_steps; i++)
        if (s.r->steps[i].time_fraction <= 0.9)
            best = fmax(best, s.r->steps[i].sqnr_db);
    assert_true(fmin(s.r->compared->worst_db, s.r->compared->bound_db) >= best - 1);
    test_goal_end(&s);
}

/* Few samples are evaluated in folds, and in nothing else. */
TEST(a_trial_that_holds_is_compared_once)
{
    test_goal s = begin_with_rows(4 * SAMPLES);
    counted c;

    s.goal.folds = 4;
    run_above_the_rules(&s, &c, 1);
    assert_true(s.r->reached && s.r->n_steps > 1 && s.r->is_cross_validated);
    assert_int_equal(c.n, s.r->n_steps);
    test_goal_end(&s);
}

/* --- samples that calibrate ------------------------------------------------------------------- */

/* Runs of all samples that calibrate. */
static void count_calibrations(void *ctx, const char *phase, uint64_t done, uint64_t total)
{
    (void)total;
    *(size_t *)ctx += strcmp(phase, "calibrate") == 0 && done == 1;
}

/* Conv into a Concat that shares their scale, and one after it. */
static qdq_model *concat_of_convs(void)
{
    test_builder b = test_build(17);
    char name[20], weight[20];

    TEST_INPUT(&b, "x", 1, 8, 16, 16);
    for (int i = 0; i < 3; i++) {
        snprintf(name, sizeof name, "c%d", i);
        snprintf(weight, sizeof weight, "w%d", i);
        TEST_RANDOM(&b, weight, 8 * (i + 1), 8, 3, 3);
        TEST_NODE(&b, "Conv", name, "x", weight);
    }
    assert_true(qdq_node_set_int(TEST_NODE(&b, "Concat", "cat", "c0", "c1", "c2"), "axis", 1));
    TEST_RANDOM(&b, "w3", 8, 48, 3, 3);
    TEST_NODE(&b, "Conv", "y", "cat", "w3");
    test_output(&b, "y");
    return test_built(&b);
}

TEST(samples_do_not_run_again_where_a_shared_scale_goes_apart)
{
    test_goal s = test_goal_begin(concat_of_convs());
    qdq_job job = QDQ_JOB_INIT;
    size_t calibrations = 0;

    job.ctx = &calibrations;
    job.progress = count_calibrations;
    s.opts.job = &job;
    s.goal.min_sqnr = 60;
    assert_ok(test_goal_run(&s, &err));
    assert_true(s.r->n_steps > 1);
    assert_int_equal(calibrations, 1);
    test_goal_end(&s);
}

/* --- smoothing -------------------------------------------------------------------------------- */

enum { NOISY = 30 };

/* A gain that could be smoothed before a product, then products that nothing smooths. */
static qdq_model *gain_and_chain(int n)
{
    test_builder b = test_build(17);
    char name[20], weight[20], before[20] = "n";

    TEST_INPUT(&b, "x", 1, 64);
    TEST_RANDOM(&b, "g", 64);
    TEST_NODE(&b, "Mul", "n", "x", "g");
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof name, "m%d", i);
        snprintf(weight, sizeof weight, "w%d", i);
        TEST_RANDOM(&b, weight, 64, 64);
        TEST_NODE(&b, "MatMul", name, before, weight);
        snprintf(before, sizeof before, "t%d", i);
        TEST_NODE(&b, "Softmax", before, name);
    }
    test_output(&b, before);
    return test_built(&b);
}

/* Samples that run to find what to smooth. */
static void count_collected(void *ctx, const char *phase, uint64_t done, uint64_t total)
{
    (void)done;
    (void)total;
    *(size_t *)ctx += strcmp(phase, "weights") == 0;
}

/* Samples from a file: of random ones no variant is tried. */
static void read_samples(test_goal *s)
{
    static float x[SAMPLES][64];

    for (size_t i = 0; i < sizeof x / sizeof **x; i++)
        x[i / 64][i % 64] = (float)(i * 37 % 101) / 25 - 1.5f;
    qdq_data_close(s->data);
    assert_ok(qdq_data_open(test_npy_file("x.npy", TEST_HEADER("<f4", "(8, 64)"), x, sizeof x),
                            s->m, NULL, &s->data, &err));
}

static size_t collected_for(int n_products)
{
    test_goal s = test_goal_begin(gain_and_chain(n_products));
    qdq_job job = QDQ_JOB_INIT;
    size_t collected = 0;

    read_samples(&s);
    job.ctx = &collected;
    job.progress = count_collected;

    s.opts.job = &job;
    s.goal.min_sqnr = 60;
    assert_ok(test_goal_run(&s, &err));
    test_goal_end(&s);
    return collected;
}

TEST(smoothing_is_not_searched_where_other_layers_make_the_error)
{
    assert_int_equal(collected_for(NOISY), 0);
    assert_int_equal(collected_for(1), SAMPLES);
}
