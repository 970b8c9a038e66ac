/* Quantization under a goal. On the simulated engine the SQNR falls with the number of nodes in 8
 * bits, and with nothing else: so how many have to go is known. */
#include <math.h>

#include "base/file.h"
#include "base/sha256.h"
#include "qdq/qdq.h"
#include "quant/compare/influence.h"
#include "quant/goal/node_cost.h"
#include "quant/plan/plan.h"
#include "quant/plan/plan_times.h"
#include "support/build.h"
#include "support/npy_file.h"

static qdq_error err;

static const char cost[] =
    "{\"qdq_sim\": 1, \"error\": 0.01, \"ops\": {"
    "\"Conv\": {\"float_us\": 100, \"int8_us\": 30, \"inputs\": 2, \"output_q\": true},"
    "\"Gemm\": {\"float_us\": 50, \"int8_us\": 20, \"inputs\": 2},"
    "\"MatMul\": {\"float_us\": 50, \"int8_us\": 20, \"inputs\": 2}}}";

typedef struct setting {
    qdq_model *m;
    qdq_engine *engine;
    qdq_target *target;
    qdq_data *data;
    qdq_goal_opts goal;
    qdq_plan *plan;
    qdq_model *out;
    qdq_goal_result *r;
} setting;

enum { LAYERS = 8 };

/* Eight MatMul in a chain, each wider than the one before. */
static qdq_model *chain(void)
{
    test_builder b = test_build(17);
    char name[20], weight[20], before[20] = "x";

    TEST_INPUT(&b, "x", 4, 64);
    for (int i = 0; i < LAYERS; i++) {
        snprintf(name, sizeof name, "m%d", i);
        snprintf(weight, sizeof weight, "w%d", i);
        TEST_RANDOM(&b, weight, 32 * (i + 2), 32 * (i + 3));
        TEST_NODE(&b, "MatMul", name, before, weight);
        snprintf(before, sizeof before, "t%d", i);
        TEST_NODE(&b, "Softmax", before, name);
    }
    test_output(&b, before);
    return test_built(&b);
}

static setting set_up(qdq_model *m)
{
    setting s = {.m = m, .goal = QDQ_GOAL_OPTS_INIT};
    char spec[600];

    assert_ok(qdq_write_file(test_path("sim.json"), true, cost, strlen(cost), &err));
    snprintf(spec, sizeof spec, "sim:%s", test_path("sim.json"));
    assert_ok(qdq_engine_open(spec, NULL, &s.engine, &err));
    assert_ok(qdq_target_load("ort-cpu", &s.target, &err));
    assert_ok(qdq_target_set(s.target, "stay_float", "[]", &err)); /* the matrices are small */
    assert_ok(qdq_data_open("random:1", s.m, NULL, &s.data, &err));
    return s;
}

static qdq_status go(setting *s)
{
    return qdq_quantize_goal(s->m, s->target, s->engine, s->data, NULL, &s->goal, &s->plan, &s->out,
                             &s->r, &err);
}

static void put_away(setting *s)
{
    qdq_goal_result_free(s->r);
    qdq_plan_free(s->plan);
    qdq_model_free(s->out);
    qdq_data_close(s->data);
    qdq_target_free(s->target);
    qdq_engine_close(s->engine);
    qdq_model_free(s->m);
}

static size_t count_gone(const qdq_goal_result *r)
{
    size_t n = 0;

    for (size_t i = 0; i < r->n_layers; i++)
        n += r->layers[i].is_float;
    return n;
}

/* --- on the simulated engine ------------------------------------------------------------------ */

static void a_goal_that_holds_at_once_takes_nothing_back(void **state)
{
    (void)state;
    setting s = set_up(chain());

    s.goal.min_sqnr = 10;
    assert_ok(go(&s));
    assert_true(s.r->reached);
    assert_int_equal(s.r->n_steps, 1);
    assert_int_equal(s.r->n_layers, 0);
    assert_true(s.r->steps[0].holds && s.r->steps[0].n_float == 0);
    assert_true(isnan(s.r->float_accuracy));
    assert_string_equal(s.r->why, "");
    assert_int_equal(qdq_plan_get_summary(s.plan)->n_weights, LAYERS);
    put_away(&s);
}

/* What is left of the time of an earlier search counts, whatever this one would have had: the first
 * set that holds is taken. */
static void a_search_without_time_ends_with_the_first_set_that_holds(void **state)
{
    static const double limit_s[] = {0, 1e6, -1};
    size_t steps[3];
    setting s = set_up(chain());
    (void)state;

    s.goal.min_sqnr = 1;
    assert_ok(go(&s));
    const double all = s.r->steps[0].sqnr_db;
    put_away(&s);
    for (int i = 0; i < 3; i++) {
        s = set_up(chain());
        s.goal.min_sqnr = all + 2.9;
        s.goal.max_slowdown = 1e6;
        s.goal.limit_s = limit_s[i];
        assert_ok(go(&s));
        assert_true(s.r->reached);
        assert_true(s.r->is_cut == (limit_s[i] < 0));
        assert_true(s.r->steps[s.r->n_steps - 1].holds || limit_s[i] >= 0);
        assert_true(limit_s[i] < 0 ? s.r->limit_s == 0 : s.r->limit_s > 0);
        steps[i] = s.r->n_steps;
        put_away(&s);
    }
    assert_int_equal(steps[0], steps[1]);
    assert_true(steps[2] < steps[0]);
}

/* The first is noisy by a share of 0.01 times the root of 8; 0.01 times the root of 4 is 3 dB
 * better. */
static void layers_go_until_the_goal_holds(void **state)
{
    (void)state;
    setting s = set_up(chain());

    s.goal.min_sqnr = 1;
    assert_ok(go(&s));
    double all = s.r->steps[0].sqnr_db;
    put_away(&s);

    s = set_up(chain());
    s.goal.min_sqnr = all + 2.9;
    assert_ok(go(&s));
    assert_true(s.r->reached);
    assert_int_equal(s.r->n_layers, LAYERS);
    assert_int_equal(count_gone(s.r), LAYERS / 2);
    assert_int_equal(qdq_plan_get_summary(s.plan)->n_weights, LAYERS / 2);
    assert_true(s.r->n_steps <= 16);
    for (size_t i = 0; i < s.plan->left_float.n; i++) {
        const qdq_plan_float *f = &s.plan->left_float.at[i];

        if (strcmp(f->op, "MatMul") == 0)
            assert_string_equal(f->reason, "back to float for the goal");
    }
    put_away(&s);
}

/* What is written is what was judged: the same as quantizing with these layers excluded. */
static void the_plan_is_that_of_quantizing_without_the_layers(void **state)
{
    (void)state;
    setting s = set_up(chain());
    qdq_quantize_opts opts = QDQ_QUANTIZE_OPTS_INIT;
    const char *exclude[LAYERS + 1] = {NULL};
    char name[LAYERS][20];
    qdq_plan *other;
    size_t n = 0;

    s.goal.min_sqnr = 40;
    assert_ok(go(&s));
    assert_true(count_gone(s.r) > 0);
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
    put_away(&s);
}

static void what_only_a_float_model_reaches_is_not_reached(void **state)
{
    (void)state;
    setting s = set_up(chain());

    s.goal.min_sqnr = 300;
    assert_ok(go(&s));
    assert_false(s.r->reached);
    assert_non_null(strstr(s.r->why, "output 't7': found SQNR "));
    assert_non_null(strstr(s.r->why, "expected at least 300 dB"));
    assert_int_equal(count_gone(s.r), LAYERS - 1);
    assert_int_equal(qdq_plan_get_summary(s.plan)->n_weights, 1); /* what came nearest */
    put_away(&s);
}

static void evaluations_are_bounded(void **state)
{
    (void)state;
    setting s = set_up(chain());

    s.goal.min_sqnr = 300;
    s.goal.max_evaluations = 1;
    assert_ok(go(&s));
    assert_false(s.r->reached);
    assert_int_equal(s.r->n_steps, 1);
    put_away(&s);
}

/* --- what is computed once -------------------------------------------------------------------- */

/* Products whose biases can be corrected. */
static qdq_model *chain_with_biases(void)
{
    test_builder b = test_build(17);
    char name[20], weight[20], bias[20], before[20] = "x";

    TEST_INPUT(&b, "x", 4, 64);
    for (int i = 0; i < LAYERS; i++) {
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

typedef struct heard {
    size_t calibrated, compared; /* runs */
    bool said_memory;
} heard;

static void count_runs(void *ctx, const char *stage, uint64_t done, uint64_t total)
{
    heard *h = ctx;

    (void)done;
    (void)total;
    h->calibrated += strcmp(stage, "calibrate") == 0;
    h->compared += strcmp(stage, "compare") == 0;
}

static void hear_memory(void *ctx, qdq_log_level level, const char *text)
{
    heard *h = ctx;

    if (strstr(text, "it runs again for each trial (--memory)") != NULL) {
        assert_int_equal(level, QDQ_LOG_INFO);
        assert_false(h->said_memory); /* once is enough */
        h->said_memory = true;
    }
}

/* On samples of a file: random ones correct no bias. */
static setting correcting(qdq_quantize_opts *opts, qdq_job *job)
{
    static float x[16][64];
    setting s = set_up(chain_with_biases());

    for (size_t i = 0; i < 16 * 64; i++)
        x[i / 64][i % 64] = (float)(i * 37 % 101) / 25 - 1.5f;
    qdq_data_close(s.data);
    assert_ok(qdq_data_open(test_npy_file("x.npy", TEST_HEADER("<f4", "(16, 64)"), x, sizeof x),
                            s.m, NULL, &s.data, &err));
    s.goal.min_sqnr = 30; /* three of the layers may be in 8 bits */
    job->progress = count_runs;
    job->log = hear_memory;
    opts->job = job;
    opts->bias_correction = QDQ_BIAS_CORRECTION_ON;
    return s;
}

/* Calibration again in each trial, for means that do not depend on what is quantized. */
static void scales_and_means_are_gathered_in_one_calibration(void **state)
{
    heard one = {0}, all = {0};
    qdq_job job = QDQ_JOB_INIT;
    qdq_quantize_opts opts = QDQ_QUANTIZE_OPTS_INIT;
    setting s = correcting(&opts, &job);
    qdq_plan *p;

    (void)state;
    job.ctx = &one;
    assert_ok(qdq_plan_make(s.m, s.target, s.engine, s.data, &opts, &p, &err));
    assert_int_equal(p->corrections.n, LAYERS);
    assert_true(one.calibrated > 0);
    qdq_plan_free(p);
    job.ctx = &all;
    assert_ok(qdq_quantize_goal(s.m, s.target, s.engine, s.data, &opts, &s.goal, &s.plan, &s.out,
                                &s.r, &err));
    assert_true(s.r->n_steps > 1);
    assert_int_equal(all.calibrated, one.calibrated);
    assert_int_equal(all.compared, s.r->n_steps * qdq_data_count(s.data));
    assert_false(all.said_memory);
    put_away(&s);
}

/* The same trials and the same plan, whether the float model's outputs fit or not. */
static void memory_bounds_what_is_kept_and_changes_no_result(void **state)
{
    heard h = {0};
    qdq_job job = QDQ_JOB_INIT;
    qdq_quantize_opts opts = QDQ_QUANTIZE_OPTS_INIT;
    setting s = correcting(&opts, &job), tight = correcting(&opts, &job);
    char *text[2];

    (void)state;
    job.ctx = &h;
    assert_ok(qdq_quantize_goal(s.m, s.target, s.engine, s.data, &opts, &s.goal, &s.plan, &s.out,
                                &s.r, &err));
    assert_false(h.said_memory);
    opts.memory = 1;
    assert_ok(qdq_quantize_goal(tight.m, tight.target, tight.engine, tight.data, &opts, &tight.goal,
                                &tight.plan, &tight.out, &tight.r, &err));
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
    put_away(&s);
    put_away(&tight);
}

static void what_the_caller_excludes_stays_out_and_is_no_layer(void **state)
{
    (void)state;
    setting s = set_up(chain());
    static const char *const exclude[] = {"m[0-3]", NULL};
    qdq_quantize_opts opts = QDQ_QUANTIZE_OPTS_INIT;

    opts.exclude = exclude;
    s.goal.min_sqnr = 300;
    assert_ok(qdq_quantize_goal(s.m, s.target, s.engine, s.data, &opts, &s.goal, &s.plan, &s.out,
                                &s.r, &err));
    assert_int_equal(s.r->n_layers, LAYERS - 4);
    put_away(&s);
}

static void a_goal_needs_data_and_labels(void **state)
{
    (void)state;
    setting s = set_up(chain());

    s.goal.max_drop = 0.01;
    assert_fails(QDQ_E_USAGE, "found no accuracy, expected labels", go(&s));
    assert_null(s.plan);
    assert_null(s.out);
    assert_null(s.r);
    assert_fails(QDQ_E_USAGE, "a goal without data",
                 qdq_quantize_goal(s.m, s.target, s.engine, NULL, NULL, &s.goal, &s.plan, &s.out,
                                   &s.r, &err));
    s.goal.first = 8;
    assert_fails(QDQ_E_USAGE, "samples 8 to 8, the data have 8", go(&s));
    put_away(&s);
}

/* --- the default goal ------------------------------------------------------------------------- */

/* On this engine one layer in 8 bits has 14 dB: only the float model reaches 20. */
static setting set_up_noisy(void)
{
    static const char noisy[] = "{\"qdq_sim\": 1, \"error\": 0.2, \"ops\": {"
                                "\"MatMul\": {\"float_us\": 50, \"int8_us\": 20, \"inputs\": 2}}}";
    setting s = set_up(chain());
    char spec[600];

    qdq_engine_close(s.engine);
    assert_ok(qdq_write_file(test_path("noisy.json"), true, noisy, strlen(noisy), &err));
    snprintf(spec, sizeof spec, "sim:%s", test_path("noisy.json"));
    assert_ok(qdq_engine_open(spec, NULL, &s.engine, &err));
    s.goal.by_default = true;
    return s;
}

static void
a_default_goal_that_only_float_reaches_keeps_the_best_plan_that_saves_a_tenth(void **state)
{
    setting s = set_up_noisy();
    double best = -INFINITY;

    (void)state;
    assert_ok(go(&s));
    assert_false(s.r->reached);
    assert_true(s.r->is_best_kept && !s.r->is_float);
    assert_true(s.r->n_steps > 1);
    for (size_t i = 0; i < s.r->n_steps; i++)
        if (s.r->steps[i].time_share <= 0.9)
            best = fmax(best, s.r->steps[i].sqnr_db);
    assert_true(best > s.r->steps[0].sqnr_db);
    assert_true(fmin(s.r->compared->worst_db, s.r->compared->bound_db) == best);
    assert_int_equal(qdq_plan_get_summary(s.plan)->n_weights, LAYERS - count_gone(s.r));
    assert_non_null(strstr(s.r->why, "output 't7'"));
    put_away(&s);
}

static void
a_default_goal_that_is_missed_tries_as_many_layers_back_as_still_save_a_tenth(void **state)
{
    setting s = set_up_noisy();
    double most_saved = 0, most_gone = 0, gone = 0;

    (void)state;
    assert_ok(go(&s));
    for (size_t i = 0; i < s.r->n_layers; i++)
        most_saved = fmax(most_saved, s.r->layers[i].saved_share);
    const qdq_goal_step *last = &s.r->steps[s.r->n_steps - 1];
    assert_true(last->time_share <= 0.88 + 1e-9 && last->time_share + most_saved > 0.88);
    for (size_t i = 0; i < s.r->n_steps; i++) /* of what is alike, fewer layers in 8 bits */
        if (s.r->steps[i].time_share <= 0.9)
            most_gone = fmax(most_gone, (double)s.r->steps[i].n_float);
    gone = (double)count_gone(s.r);
    assert_true(gone == most_gone);
    put_away(&s);
}

static void a_default_goal_that_no_saving_plan_reaches_ends_with_the_float_model(void **state)
{
    setting s = set_up_noisy();

    (void)state;
    s.goal.least_saving = 0.99;
    assert_ok(go(&s));
    assert_false(s.r->reached);
    assert_true(s.r->is_float && !s.r->is_best_kept);
    assert_int_equal(qdq_plan_get_summary(s.plan)->n_weights, 0);
    assert_int_equal(qdq_plan_get_summary(s.plan)->n_tensors, 0);
    assert_true(isinf(s.r->compared->worst_db)); /* equal */
    put_away(&s);
}

/* --- times ------------------------------------------------------------------------------------ */

/* The default goal holds with some layers back. Each layer saves 30 of 400, all together no more
 * than 80. `least_us`: of each plan that is timed; 0: none was. */
static setting set_up_timed(qdq_plan *times, double least_us)
{
    static const char mild[] = "{\"qdq_sim\": 1, \"error\": 0.05, \"ops\": {"
                               "\"MatMul\": {\"float_us\": 50, \"int8_us\": 20, \"inputs\": 2}}}";
    setting s = set_up(chain());
    qdq_plan_times t = {
        .processor = "p", .target = "ort-cpu", .trials = 16, .float_us = 400, .eight_us = 320};
    qdq_arena arena = QDQ_ARENA_INIT;
    char spec[600], name[LAYERS][20], hash[65];

    qdq_engine_close(s.engine);
    assert_ok(qdq_write_file(test_path("mild.json"), true, mild, strlen(mild), &err));
    snprintf(spec, sizeof spec, "sim:%s", test_path("mild.json"));
    assert_ok(qdq_engine_open(spec, NULL, &s.engine, &err));
    for (int i = 0; i < LAYERS; i++) {
        snprintf(name[i], sizeof name[i], "m%d", i);
        assert_true(QDQ_PUSH(&arena, &t.layers, ((qdq_layer_time){name[i], 50, 20})));
    }
    for (unsigned i = 1; least_us > 0 && i <= 16; i++)
        assert_true(QDQ_PUSH(&arena, &t.timed, ((qdq_trial_time){i, least_us + 5, least_us})));
    qdq_sha256_text(qdq_target_text(s.target), hash);
    t.target_sha256 = hash;
    assert_true(qdq_plan_set_times(times, &t));
    qdq_arena_free(&arena);
    s.goal.by_default = true;
    s.goal.times = times;
    return s;
}

static void
what_no_layer_saves_by_itself_is_shared_so_that_float_takes_the_time_of_float(void **state)
{
    qdq_plan *times = qdq_plan_new();
    setting s = set_up_timed(times, 0);

    (void)state;
    assert_ok(go(&s));
    assert_true(s.r->reached && s.r->is_profiled);
    assert_true(s.r->n_steps > 1);
    for (size_t i = 0; i < s.r->n_steps; i++)
        assert_true(fabs(s.r->steps[i].time_share -
                         (0.8 + 0.2 * (double)s.r->steps[i].n_float / LAYERS)) < 1e-9);
    put_away(&s);
    qdq_plan_free(times);
}

static void a_plan_that_reaches_a_default_goal_and_is_not_faster_gives_way_to_float(void **state)
{
    qdq_plan *times = qdq_plan_new();
    setting s = set_up_timed(times, 401);

    (void)state;
    assert_ok(go(&s));
    assert_false(s.r->reached);
    assert_true(s.r->is_float && s.r->is_slower);
    assert_int_equal(qdq_plan_get_summary(s.plan)->n_weights, 0);
    assert_string_equal(s.r->why, "what reaches it takes 1.01 of the time of the float model");
    put_away(&s);
    qdq_plan_free(times);
}

static void a_plan_that_reaches_a_default_goal_and_may_be_as_fast_is_taken(void **state)
{
    qdq_plan *times = qdq_plan_new(), *again = qdq_plan_new();
    setting s = set_up_timed(times, 399);
    size_t gone;

    (void)state;
    assert_ok(go(&s));
    assert_true(s.r->reached && !s.r->is_float);
    gone = count_gone(s.r);
    assert_true(gone > 0 && gone < LAYERS);
    assert_int_equal(s.plan->times.timed.n, 16); /* the plan has the times that it was made from */
    put_away(&s);
    s = set_up_timed(again, 399);
    s.goal.by_default = false; /* who names a goal gets it at any speed */
    s.goal.min_sqnr = QDQ_DEFAULT_MIN_SQNR;
    assert_ok(go(&s));
    assert_true(s.r->reached);
    assert_int_equal(count_gone(s.r), gone);
    put_away(&s);
    qdq_plan_free(times);
    qdq_plan_free(again);
}

/* --- folds ------------------------------------------------------------------------------------ */

/* Sixteen rows; the last but one, in the last sample, is a hundred times as large as the others. */
static setting set_up_outlier(void)
{
    static float x[16][64];
    setting s = set_up(chain_with_biases());

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
        setting s = set_up_outlier(), plain = set_up_outlier();
        qdq_quantize_opts opts = QDQ_QUANTIZE_OPTS_INIT;
        qdq_plan *all = NULL;

        opts.method = methods[k];
        s.goal.folds = 4;
        assert_ok(qdq_quantize_goal(s.m, s.target, s.engine, s.data, &opts, &s.goal, &s.plan,
                                    &s.out, &s.r, &err));
        assert_true(s.r->is_cross_validated);
        assert_int_equal(s.r->compared->samples, qdq_data_count(s.data));
        assert_ok(
            qdq_plan_make(plain.m, plain.target, plain.engine, plain.data, &opts, &all, &err));
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
        put_away(&s);
        put_away(&plain);
    }
}

static void random_data_and_other_data_are_not_cross_validated(void **state)
{
    setting s = set_up(chain());

    (void)state;
    s.goal.folds = 4;
    assert_fails(QDQ_E_USAGE, "cross-validation: expected samples that calibrate", go(&s));
    put_away(&s);
}

/* --- estimates -------------------------------------------------------------------------------- */

static void multiplications_are_counted_from_shapes(void **state)
{
    (void)state;
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 2, 4, 8, 8);
    qdq_node *conv = test_conv(&b, "c", "x", 6, 4, 3, 1);
    qdq_node *depthwise = test_conv(&b, "d", "x", 4, 4, 3, 4);
    TEST_INPUT(&b, "a", 5, 7);
    TEST_RANDOM(&b, "w", 7, 3);
    qdq_node *gemm = TEST_NODE(&b, "Gemm", "g", "a", "w");
    qdq_node *matmul = TEST_NODE(&b, "MatMul", "m", "a", "w");
    qdq_node *relu = TEST_NODE(&b, "Relu", "r", "a");
    const char *const outputs[] = {"c", "d", "g", "m", "r"};
    for (size_t i = 0; i < 5; i++)
        test_output(&b, outputs[i]);
    qdq_model *m = test_built(&b);
    assert_true(qdq_node_macs(conv) == 2 * 6 * 64 * 4 * 9);
    assert_true(qdq_node_macs(depthwise) == 2 * 4 * 64 * 9);
    assert_true(qdq_node_macs(gemm) == 5 * 3 * 7);
    assert_true(qdq_node_macs(matmul) == 5 * 3 * 7);
    assert_true(qdq_node_macs(relu) == 0);
    assert_true(qdq_node_time(conv, true) < qdq_node_time(conv, false));
    qdq_model_free(m);
}

static void influence_flows_back_by_power(void **state)
{
    (void)state;
    test_builder b = test_build(17);
    qdq_arena arena = QDQ_ARENA_INIT;
    double *weight, *power;

    TEST_INPUT(&b, "x", 4);
    TEST_NODE(&b, "Relu", "r", "x");
    TEST_NODE(&b, "Neg", "n", "r");
    TEST_NODE(&b, "Add", "s", "r", "n");
    TEST_NODE(&b, "Abs", "y", "s");
    test_output(&b, "y");
    qdq_model *m = test_built(&b);
    const qdq_graph *g = m->graph;
    power = qdq_arena_array(&arena, g->values.n + 1, sizeof *power);
    power[qdq_graph_find(g, "r")->id] = 3;
    power[qdq_graph_find(g, "n")->id] = 1;
    const qdq_noise noise = {.power = power};
    assert_ok(qdq_influence(g, &noise, &arena, &weight, &err));
    assert_true(weight[qdq_graph_find(g, "y")->id] == 1);
    assert_true(weight[qdq_graph_find(g, "s")->id] == 1);
    assert_true(weight[qdq_graph_find(g, "n")->id] == 0.25);
    assert_true(weight[qdq_graph_find(g, "r")->id] == 1);
    qdq_arena_free(&arena);
    qdq_model_free(m);
}

/* A detector's head: what is off in scores far below 0 grows in the Sigmoid, and no box hides
 * it. */
static void noise_counts_by_what_nodes_make_of_it_and_slices_are_not_drowned(void **state)
{
    (void)state;
    test_builder b = test_build(17);
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_noise noise;
    double *weight;
    bool *near;

    TEST_INPUT(&b, "x", 4, 8);
    TEST_NODE(&b, "Neg", "boxes", "x");
    TEST_NODE(&b, "Abs", "logits", "x");
    TEST_NODE(&b, "Sigmoid", "scores", "logits");
    assert_true(qdq_node_set_int(TEST_NODE(&b, "Concat", "y", "boxes", "scores"), "axis", 1));
    test_output(&b, "y");
    qdq_model *m = test_built(&b);
    const qdq_graph *g = m->graph;
    const size_t n = g->values.n + 1, boxes = qdq_graph_find(g, "boxes")->id,
                 logits = qdq_graph_find(g, "logits")->id, scores = qdq_graph_find(g, "scores")->id;

    noise.power = qdq_arena_array(&arena, n, sizeof(double));
    noise.total = qdq_arena_array(&arena, n, sizeof(double));
    noise.introduced = qdq_arena_array(&arena, n, sizeof(double));
    noise.total[logits] = 1e-4;
    noise.total[scores] = 0.011;
    noise.introduced[scores] = 0.001;
    noise.total[boxes] = 1e-5;
    noise.total[qdq_graph_find(g, "y")->id] = 0.011;
    assert_ok(qdq_near_outputs(g, &arena, &near, &err));
    assert_true(near[boxes] && near[scores]);
    assert_false(near[logits]);
    assert_ok(qdq_influence(g, &noise, &arena, &weight, &err));
    assert_true(weight[boxes] == 1 && weight[scores] == 1);
    assert_true(fabs(weight[logits] - 100) < 1e-9);
    qdq_arena_free(&arena);
    qdq_model_free(m);
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
            a_default_goal_that_only_float_reaches_keeps_the_best_plan_that_saves_a_tenth),
        cmocka_unit_test(
            a_default_goal_that_is_missed_tries_as_many_layers_back_as_still_save_a_tenth),
        cmocka_unit_test(a_default_goal_that_no_saving_plan_reaches_ends_with_the_float_model),
        cmocka_unit_test(
            what_no_layer_saves_by_itself_is_shared_so_that_float_takes_the_time_of_float),
        cmocka_unit_test(a_plan_that_reaches_a_default_goal_and_is_not_faster_gives_way_to_float),
        cmocka_unit_test(a_plan_that_reaches_a_default_goal_and_may_be_as_fast_is_taken),
        cmocka_unit_test(
            a_fold_is_judged_by_ranges_that_did_not_see_it_and_the_plan_has_those_of_all),
        cmocka_unit_test(random_data_and_other_data_are_not_cross_validated),
        cmocka_unit_test(multiplications_are_counted_from_shapes),
        cmocka_unit_test(influence_flows_back_by_power),
        cmocka_unit_test(noise_counts_by_what_nodes_make_of_it_and_slices_are_not_drowned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
