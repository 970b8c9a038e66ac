/* quant_ptq.c - post-training quantization as one call: what a caller of the library is told, and
 * what is decided for it. On `sim`, whose noise, errors and times are known. */
#include "qdq/ptq.h"

#include <math.h>

#include "base/fail.h"
#include "support/goals.h"
#include "support/test.h"

enum { BATCH = 4, WIDTH = 64, MOST = 160 };

static qdq_error err;
static float values[MOST * BATCH * WIDTH];

/* --- a model, an engine, samples -------------------------------------------------------------- */

static qdq_data *samples(const qdq_model *m, size_t n)
{
    qdq_named_array x = {.name = "x",
                         .array = {.elem = QDQ_FLOAT,
                                   .rank = 2,
                                   .dim = {(int64_t)n * BATCH, WIDTH},
                                   .data = values,
                                   .bytes = n * BATCH * WIDTH * sizeof *values}};
    qdq_data *d;

    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        values[i] = (float)((i * 7919 + i / WIDTH) % 251) / 125 - 1;
    assert_ok(qdq_data_from_arrays(&x, 1, m, NULL, &d, &err));
    return d;
}

/* `more`: keys of the cost model besides its times, as ", \"error\": 0.2". */
static test_goal begin(const char *more, size_t n)
{
    test_goal s = test_goal_begin(test_goal_chain());
    char json[600];

    qdq_engine_close(s.engine);
    qdq_data_close(s.data);
    snprintf(json, sizeof json,
             "{\"qdq_sim\": 1, \"ops\": {\"MatMul\": {\"float_us\": 50, \"int8_us\": 20, "
             "\"inputs\": 2}}%s}",
             more);
    s.engine = test_sim(json);
    assert_ok(qdq_target_set(s.target, "engine", "sim", &err));
    s.data = n > 0 ? samples(s.m, n) : NULL;
    return s;
}

#define NOISY    ", \"error\": 0.2"
#define NO_NOISE ", \"noise\": 0"
#define WRONG    ", \"wrong\": [{\"node\": \"m7\", \"times\": 0.0001}]"
#define ALL_WRONG                                                                                  \
    ", \"wrong\": [{\"op\": \"MatMul\", \"times\": 0.0001}, "                                      \
    "{\"op\": \"MatMul\", \"float\": true, \"times\": 0.0001}]"

static qdq_ptq_result *run(const test_goal *s, const qdq_ptq_opts *o)
{
    qdq_ptq_result *r;

    assert_ok(qdq_ptq(s->m, s->target, s->engine, s->data, o, &r, &err));
    return r;
}

static const qdq_ptq_warning *find(const qdq_ptq_result *r, qdq_ptq_fact fact)
{
    for (size_t i = 0; i < r->n_warnings; i++)
        if (r->warnings[i].fact == fact)
            return &r->warnings[i];
    return NULL;
}

/* --- the goal --------------------------------------------------------------------------------- */

TEST(a_library_caller_is_warned_of_a_model_that_misses_20_db)
{
    test_goal s = begin(NOISY, 8);
    qdq_goal_opts goal = QDQ_GOAL_OPTS_INIT;
    qdq_ptq_opts o = QDQ_PTQ_OPTS_INIT;

    goal.by_default = true;
    goal.one_format = true; /* data quantized at run time have no error on this engine */
    o.goal = &goal;
    qdq_ptq_result *r = run(&s, &o);
    const qdq_ptq_warning *w = find(r, QDQ_PTQ_GOAL_MISSED);

    assert_int_equal(r->verdict, QDQ_PTQ_MISSED);
    assert_non_null(w);
    assert_non_null(strstr(w->text, "the goal of 20 dB is missed: output 't7'"));
    assert_non_null(strstr(w->text, "; worst layers: '"));
    assert_non_null(strstr(r->missed, "expected at least 20 dB"));
    assert_true(r->plan != NULL && r->model != NULL && r->goal->is_best_accepted);
    assert_ptr_equal(r->compared, r->goal->compared);
    qdq_ptq_result_free(r);
    test_goal_end(&s);
}

TEST(a_goal_that_the_caller_names_is_refused_with_what_came_nearest)
{
    test_goal s = begin(NOISY, 8);
    qdq_goal_opts goal = QDQ_GOAL_OPTS_INIT;
    qdq_ptq_opts o = QDQ_PTQ_OPTS_INIT;
    qdq_ptq_result *r;

    goal.min_sqnr = 60;
    goal.one_format = true;
    o.goal = &goal;
    assert_fails(QDQ_E_GOAL,
                 "the goal is not reached by any model with a layer in 8 bits; output 't7'",
                 qdq_ptq(s.m, s.target, s.engine, s.data, &o, &r, &err));
    assert_true(r->verdict == QDQ_PTQ_MISSED && r->model != NULL && r->speed == NULL);
    qdq_ptq_result_free(r);
    o.best_effort = true;
    r = run(&s, &o);
    assert_true(r->verdict == QDQ_PTQ_MISSED && r->model != NULL && r->speed != NULL);
    assert_null(find(r, QDQ_PTQ_GOAL_MISSED)); /* it is in `missed` */
    qdq_ptq_result_free(r);
    test_goal_end(&s);
}

TEST(a_goal_that_holds_and_no_goal)
{
    test_goal s = begin("", 8);
    qdq_goal_opts none = QDQ_GOAL_OPTS_INIT;
    qdq_ptq_opts o = QDQ_PTQ_OPTS_INIT;
    qdq_ptq_result *r = run(&s, NULL);

    assert_int_equal(r->verdict, QDQ_PTQ_REACHED);
    assert_string_equal(r->missed, "");
    assert_true(r->goal->reached && r->split.folds == 4 && r->split.held_out);
    assert_int_equal(r->engine_check->verdict, QDQ_VERIFY_RIGHT);
    qdq_ptq_result_free(r);
    o.goal = &none;
    r = run(&s, &o);
    assert_int_equal(r->verdict, QDQ_PTQ_UNKNOWN);
    assert_true(r->goal == NULL && r->compared != NULL && r->split.folds == 0);
    assert_int_equal(r->split.calibrate, 7);
    qdq_ptq_result_free(r);
    o.goal = NULL;
    o.no_sqnr = true;
    r = run(&s, &o);
    assert_true(r->goal == NULL && r->compared == NULL && r->engine_check == NULL);
    assert_int_equal(r->split.calibrate, 8);
    qdq_ptq_result_free(r);
    o.no_sqnr = false;
    o.plan_only = true;
    r = run(&s, &o);
    assert_true(r->plan != NULL && r->model == NULL && r->speed == NULL);
    qdq_ptq_result_free(r);
    test_goal_end(&s);
}

TEST(random_samples_and_none_have_no_goal_and_a_warning)
{
    test_goal s = begin("", 0);
    qdq_ptq_result *r = run(&s, NULL);

    assert_true(r->verdict == QDQ_PTQ_UNKNOWN && r->compared == NULL && r->speed == NULL);
    assert_non_null(find(r, QDQ_PTQ_PLACEMENT_ONLY));
    qdq_ptq_result_free(r);
    assert_ok(qdq_data_open("random:1", s.m, NULL, &s.data, &err));
    r = run(&s, NULL);
    assert_true(r->goal == NULL && r->compared != NULL && r->engine_check == NULL);
    assert_non_null(find(r, QDQ_PTQ_PLACEMENT_ONLY));
    qdq_ptq_result_free(r);
    test_goal_end(&s);
}

TEST(one_sample_calibrates_and_evaluates_and_that_is_said)
{
    test_goal s = begin("", 1);
    qdq_ptq_result *r = run(&s, NULL);

    assert_true(r->split.calibrate == 1 && r->split.evaluate == 1 && !r->split.held_out);
    assert_true(find(r, QDQ_PTQ_ONE_SAMPLE)->logged);
    qdq_ptq_result_free(r);
    test_goal_end(&s);
}

/* --- the engine check ------------------------------------------------------------------------- */

static void keep_line(void *ctx, qdq_log_level level, const char *text)
{
    if (level == QDQ_LOG_WARNING)
        snprintf(ctx, 300, "%s", text);
}

static void keep_warning(void *ctx, qdq_log_level level, const char *text)
{
    char *at = ctx;

    if (level == QDQ_LOG_WARNING && strstr(text, "prove neither") != NULL)
        snprintf(at + strlen(at), 300 - strlen(at), "%s\n", text);
}

static qdq_data *equal_samples(const qdq_model *m, size_t n)
{
    static const float zeros[MOST * BATCH * WIDTH];
    const qdq_named_array x = {.name = "x",
                               .array = {.elem = QDQ_FLOAT,
                                         .rank = 2,
                                         .dim = {(int64_t)n * BATCH, WIDTH},
                                         .data = (void *)(uintptr_t)zeros,
                                         .bytes = n * BATCH * WIDTH * sizeof *zeros}};
    qdq_data *d;

    assert_ok(qdq_data_from_arrays(&x, 1, m, NULL, &d, &err));
    return d;
}

#define EQUAL                                                                                      \
    "arrays: input 'x' has one value in all samples; they prove neither scales nor accuracy\n"

TEST(samples_without_information_are_warned_of_once_for_each_source)
{
    char said[300] = "";
    const qdq_job job = {.size = sizeof job, .log = keep_warning, .ctx = said};
    test_goal s = begin(NO_NOISE, 0);
    qdq_ptq_opts o = QDQ_PTQ_OPTS_INIT;

    o.job = &job;
    o.no_speed = true;
    s.data = equal_samples(s.m, 8);
    for (int twice = 0; twice < 2; twice++) {
        qdq_ptq_result_free(run(&s, &o));
        assert_string_equal(said, EQUAL);
    }
    qdq_data_close(s.data);
    s.data = samples(s.m, 8);
    o.eval = equal_samples(s.m, 4);
    qdq_ptq_result_free(run(&s, &o));
    assert_string_equal(said, EQUAL EQUAL);
    qdq_data_close(o.eval);
    test_goal_end(&s);
}

TEST(comparisons_and_plans_warn_of_samples_without_information)
{
    char said[300] = "";
    const qdq_job job = {.size = sizeof job, .log = keep_warning, .ctx = said};
    test_goal s = begin(NO_NOISE, 0);
    qdq_compare_opts compare = QDQ_COMPARE_OPTS_INIT;
    qdq_quantize_opts quantize = QDQ_QUANTIZE_OPTS_INIT;
    qdq_compare_result *compared;

    s.data = equal_samples(s.m, 8);
    assert_ok(qdq_compare(s.engine, s.m, s.m, s.data, &compare, &compared, &err));
    qdq_free(compared);
    compare.job = quantize.job = &job; /* the first one had none */
    assert_ok(qdq_compare(s.engine, s.m, s.m, s.data, &compare, &compared, &err));
    qdq_free(compared);
    assert_string_equal(said, EQUAL);
    qdq_data_close(s.data);
    s.data = equal_samples(s.m, 8);
    assert_ok(qdq_plan_make(s.m, s.target, s.engine, s.data, &quantize, &s.plan, &err));
    assert_string_equal(said, EQUAL EQUAL);
    test_goal_end(&s);
}

TEST(nodes_that_the_engine_computes_wrongly_stay_float)
{
    test_goal s = begin(WRONG, 8);
    qdq_quantize_opts quantize = QDQ_QUANTIZE_OPTS_INIT;
    qdq_ptq_opts o = QDQ_PTQ_OPTS_INIT;
    qdq_job job = QDQ_JOB_INIT;
    char line[300] = "";
    size_t n, notes = 0;

    job.ctx = line;
    job.log = keep_line;
    quantize.job = &job;
    quantize.why = qdq_why_new("m7");
    o.quantize = &quantize;
    qdq_ptq_result *r = run(&s, &o);
    const qdq_ptq_warning *w = find(r, QDQ_PTQ_NODES_WRONG);
    assert_true(w != NULL && w->logged);
    assert_non_null(strstr(w->text, "of that form stay"));
    assert_non_null(strstr(line, "of that form stay"));
    assert_int_equal(r->engine_check->verdict, QDQ_VERIFY_RIGHT);
    assert_true(qdq_plan_get_summary(r->plan)->n_weights < TEST_GOAL_LAYERS);
    const qdq_why_note *note = qdq_why_notes(quantize.why, &n);
    for (size_t i = 0; i < n; i++)
        notes += strcmp(note[i].rule, "plan") == 0;
    assert_int_equal(notes, 1); /* those of the plans before are gone */
    qdq_why_free(quantize.why);
    qdq_ptq_result_free(r);
    test_goal_end(&s);
}

TEST(a_model_that_the_engine_computes_wrongly_in_float_too_is_refused)
{
    test_goal s = begin(ALL_WRONG, 8);
    qdq_ptq_opts o = QDQ_PTQ_OPTS_INIT;
    qdq_ptq_result *r;

    assert_fails(QDQ_E_ENGINE, "computes the model wrongly",
                 qdq_ptq(s.m, s.target, s.engine, s.data, NULL, &r, &err));
    assert_int_equal(r->verdict, QDQ_PTQ_WRONG);
    assert_int_equal(r->engine_check->verdict, QDQ_VERIFY_WRONG);
    qdq_ptq_result_free(r);
    o.no_engine_check = true;
    r = run(&s, &o);
    assert_null(r->engine_check);
    qdq_ptq_result_free(r);
    test_goal_end(&s);
}

/* Another engine than the target's: its SQNR leads nowhere, and no node stays float for it. */
TEST(an_engine_that_is_not_the_targets_and_computes_wrongly_starts_no_search)
{
    test_goal s = begin(WRONG, 8);
    qdq_goal_opts goal = QDQ_GOAL_OPTS_INIT;
    qdq_ptq_opts o = QDQ_PTQ_OPTS_INIT;

    assert_ok(qdq_target_set(s.target, "engine", "ort", &err));
    qdq_ptq_result *r = run(&s, NULL);
    const qdq_ptq_warning *w = find(r, QDQ_PTQ_ENGINE_WRONG);
    assert_true(w != NULL && !w->logged);
    assert_non_null(strstr(w->text, "the accuracy is unknown: engine sim"));
    assert_int_equal(r->verdict, QDQ_PTQ_UNKNOWN);
    assert_null(r->engine_check);
    assert_int_equal(r->goal->n_steps, 1);
    assert_int_equal(qdq_plan_get_summary(r->plan)->n_weights, TEST_GOAL_LAYERS);
    qdq_ptq_result_free(r);

    goal.min_sqnr = 30;
    o.goal = &goal;
    assert_fails(QDQ_E_GOAL, "the accuracy is unknown",
                 qdq_ptq(s.m, s.target, s.engine, s.data, &o, &r, &err));
    qdq_ptq_result_free(r);
    test_goal_end(&s);
}

/* --- samples ---------------------------------------------------------------------------------- */

TEST(samples_are_split_by_what_they_are_for)
{
    const unsigned both = QDQ_SPLIT_CALIBRATE | QDQ_SPLIT_EVALUATE;
    enum { ROUNDED = QDQ_SPLIT_GOAL | QDQ_SPLIT_ROUND };
    static const struct {
        size_t have, most;
        unsigned more;
        qdq_split expected;
    } cases[] = {
        {1, 0, 0, {1, 0, 1, false, 0}},
        {8, 0, 0, {7, 7, 1, true, 0}},
        {160, 0, 0, {140, 140, 20, true, 0}},
        {20, 16, 0, {16, 16, 2, true, 0}},
        {1, 0, QDQ_SPLIT_GOAL, {1, 0, 1, false, 0}},
        {8, 0, QDQ_SPLIT_GOAL, {8, 0, 8, true, 4}},
        {63, 0, QDQ_SPLIT_GOAL, {63, 0, 63, true, 4}},
        {64, 0, QDQ_SPLIT_GOAL, {48, 48, 16, true, 0}},
        {24, 16, QDQ_SPLIT_GOAL, {16, 16, 8, true, 0}},
        {24, 17, QDQ_SPLIT_GOAL, {17, 0, 17, true, 4}},
        {160, 0, QDQ_SPLIT_GOAL, {140, 140, 20, true, 0}},
        {1, 0, ROUNDED, {1, 0, 1, false, 0}},
        {2, 0, ROUNDED, {1, 1, 1, true, 0}},
        {4, 0, ROUNDED, {2, 2, 2, true, 0}},
        {8, 0, ROUNDED, {4, 4, 4, true, 0}},
        {15, 0, ROUNDED, {11, 11, 4, true, 0}},
        {40, 0, ROUNDED, {30, 30, 10, true, 0}},
        {63, 0, ROUNDED, {48, 48, 15, true, 0}},
        {64, 0, ROUNDED, {48, 48, 16, true, 0}},
        {24, 17, ROUNDED, {17, 17, 7, true, 0}},
        {24, 22, ROUNDED, {19, 19, 5, true, 0}},
        {3, 1, ROUNDED, {1, 1, 2, true, 0}},
        {8, 0, QDQ_SPLIT_ROUND, {7, 7, 1, true, 0}},
    };
    qdq_model *m = test_goal_chain();

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        qdq_data *d = samples(m, cases[i].have);
        const qdq_split s = qdq_split_samples(d, NULL, cases[i].most, both | cases[i].more),
                        *e = &cases[i].expected;

        if (s.calibrate != e->calibrate || s.first != e->first || s.evaluate != e->evaluate ||
            s.held_out != e->held_out || s.folds != e->folds)
            fail_msg("case %zu: found %zu, %zu + %zu, %u folds", i, s.calibrate, s.first,
                     s.evaluate, s.folds);
        qdq_data_close(d);
    }
    qdq_data *d = samples(m, 24), *eval = samples(m, 5);
    qdq_split s = qdq_split_samples(d, eval, 0, both | QDQ_SPLIT_GOAL);
    assert_true(s.calibrate == 24 && s.first == 0 && s.evaluate == 5 && s.held_out);
    s = qdq_split_samples(d, NULL, 0, QDQ_SPLIT_EVALUATE);
    assert_true(s.calibrate == 0 && s.evaluate == 24 && !s.held_out);
    s = qdq_split_samples(NULL, NULL, 0, both);
    assert_true(s.calibrate == 0 && s.evaluate == 0);
    assert_int_equal(qdq_split_random(0, both), 9);
    assert_int_equal(qdq_split_random(32, both), 36);
    assert_int_equal(qdq_split_random(0, QDQ_SPLIT_CALIBRATE), 8);
    qdq_data_close(eval);
    qdq_data_close(d);
    qdq_model_free(m);
}

/* --- speed, and the moment to save ------------------------------------------------------------ */

typedef struct saved {
    bool measured;
    unsigned calls;
    qdq_status answer;
} saved;

static qdq_status ready(void *ctx, const qdq_ptq_result *r, qdq_error *e)
{
    saved *s = ctx;

    assert_non_null(r->model);
    s->measured = r->speed != NULL;
    s->calls++;
    return s->answer == QDQ_OK ? QDQ_OK : qdq_fail(e, s->answer, "no room for it");
}

TEST(the_model_is_handed_over_before_its_speed_is_measured)
{
    test_goal s = begin(NO_NOISE, 8);
    qdq_ptq_opts o = QDQ_PTQ_OPTS_INIT;
    saved seen = {.answer = QDQ_OK};

    o.ready = ready;
    o.ctx = &seen;
    qdq_ptq_result *r = run(&s, &o);
    assert_true(seen.calls == 1 && !seen.measured);
    assert_true(r->speed->measured && r->speed->threads == 1 && !r->speed->fixed_too);
    assert_true(r->speed->after.speedup > 1.5 && find(r, QDQ_PTQ_SLOWER) == NULL);
    qdq_ptq_result_free(r);
    seen.answer = QDQ_E_IO;
    assert_fails(QDQ_E_IO, "no room for it",
                 qdq_ptq(s.m, s.target, s.engine, s.data, &o, &r, &err));
    assert_null(r);
    o.ready = NULL;
    o.no_speed = true;
    r = run(&s, &o);
    assert_null(r->speed);
    qdq_ptq_result_free(r);
    test_goal_end(&s);
}

TEST(what_is_slower_and_what_cannot_be_timed_is_said)
{
    test_goal s = begin(", \"seed\": 1, \"noise\": 0", 8);
    qdq_ptq_opts o = QDQ_PTQ_OPTS_INIT;
    qdq_goal_opts none = QDQ_GOAL_OPTS_INIT;

    o.goal = &none;
    assert_ok(qdq_target_set(s.target, "engine", "ort", &err));
    qdq_ptq_result *r = run(&s, &o);
    assert_false(r->speed->measured);
    assert_string_equal(r->speed->why_not, "target ort-cpu, engine sim");
    qdq_ptq_result_free(r);
    test_goal_end(&s);
}

/* --- a plan of the caller --------------------------------------------------------------------- */

TEST(a_model_that_was_made_before_is_evaluated_and_not_changed)
{
    test_goal s = begin(NOISY, 8);
    qdq_goal_opts goal = QDQ_GOAL_OPTS_INIT;
    qdq_ptq_opts o = QDQ_PTQ_OPTS_INIT;
    qdq_ptq_result *r;

    assert_ok(qdq_quantize(s.m, s.target, s.engine, s.data, NULL, &s.plan, &s.out, &err));
    o.plan = s.plan;
    o.quantized = s.out;
    assert_ok(qdq_ptq(s.m, NULL, s.engine, s.data, &o, &r, &err));
    assert_true(r->plan == NULL && r->model == NULL && r->goal == NULL);
    assert_int_equal(r->split.evaluate, 8);
    assert_int_equal(r->verdict, QDQ_PTQ_MISSED);
    assert_non_null(strstr(find(r, QDQ_PTQ_PLAN_BELOW)->text, "the plan was not changed for that"));
    qdq_ptq_result_free(r);
    o.goal = &goal;
    goal.min_sqnr = -3; /* noise is larger than the signal */
    assert_ok(qdq_ptq(s.m, NULL, s.engine, s.data, &o, &r, &err));
    assert_true(r->verdict == QDQ_PTQ_REACHED && find(r, QDQ_PTQ_PLAN_BELOW) == NULL);
    qdq_ptq_result_free(r);
    goal.min_sqnr = 60;
    assert_fails(QDQ_E_GOAL, "output 't7'", qdq_ptq(s.m, NULL, s.engine, s.data, &o, &r, &err));
    qdq_ptq_result_free(r);
    goal.max_drop = 0.1; /* the data have no labels */
    assert_fails(QDQ_E_USAGE, "found no accuracy, expected labels",
                 qdq_ptq(s.m, NULL, s.engine, s.data, &o, &r, &err));
    assert_null(r);
    assert_ok(qdq_ptq(s.m, NULL, NULL, NULL,
                      &(qdq_ptq_opts){.size = sizeof o, .plan = s.plan, .quantized = s.out}, &r,
                      &err));
    assert_true(r->verdict == QDQ_PTQ_UNKNOWN && r->compared == NULL);
    qdq_ptq_result_free(r);
    test_goal_end(&s);
}

static qdq_status measure(void *ctx, qdq_metric_run *m, double *value, qdq_error *e)
{
    (void)e;
    *value = qdq_metric_run_is_input(m) ? 1 : *(double *)ctx;
    return QDQ_OK;
}

TEST(a_metric_of_the_caller_judges_a_model_that_was_made_before)
{
    test_goal s = begin("", 8);
    qdq_metric metric = QDQ_METRIC_INIT;
    qdq_goal_opts goal = QDQ_GOAL_OPTS_INIT;
    qdq_ptq_opts o = QDQ_PTQ_OPTS_INIT;
    double found = 0.9;
    qdq_ptq_result *r;

    metric.measure = measure;
    metric.ctx = &found;
    goal.metric = &metric;
    goal.max_drop = 0.2;
    o.goal = &goal;
    assert_ok(qdq_quantize(s.m, s.target, s.engine, s.data, NULL, &s.plan, &s.out, &err));
    o.plan = s.plan;
    o.quantized = s.out;
    r = run(&s, &o);
    assert_true(r->verdict == QDQ_PTQ_REACHED && r->metric_before == 1 && r->metric_after == 0.9);
    qdq_ptq_result_free(r);
    found = 0.5;
    assert_fails(QDQ_E_GOAL, "metric 'metric': found 0.5, 0.5 below that of the input model",
                 qdq_ptq(s.m, s.target, s.engine, s.data, &o, &r, &err));
    qdq_ptq_result_free(r);
    test_goal_end(&s);
}

/* --- options ---------------------------------------------------------------------------------- */

static void expect_usage(const test_goal *s, const qdq_ptq_opts *o, const char *text)
{
    qdq_ptq_result *r;

    assert_fails(QDQ_E_USAGE, text, qdq_ptq(s->m, s->target, s->engine, s->data, o, &r, &err));
    assert_null(r);
}

TEST(wrong_options_are_named)
{
    test_goal s = begin("", 8);
    qdq_ptq_opts o = QDQ_PTQ_OPTS_INIT;
    qdq_goal_opts goal = QDQ_GOAL_OPTS_INIT;
    qdq_ptq_result *r;

    o.quantized = s.m;
    expect_usage(&s, &o, "found `quantized` alone, expected both or none");
    o.quantized = NULL;
    o.goal = &goal;
    goal.folds = 3;
    expect_usage(&s, &o, "qdq_ptq_opts.goal: found samples or a limit of its own");
    goal.folds = 0;
    goal.min_sqnr = 30;
    o.no_sqnr = true;
    expect_usage(&s, &o, "found a goal with no_sqnr");
    o.no_sqnr = false;
    goal.min_sqnr = 0;
    assert_ok(qdq_quantize(s.m, s.target, s.engine, s.data, NULL, &s.plan, NULL, &err));
    goal.times = s.plan;
    expect_usage(&s, &o, "found times where no goal is searched for");
    assert_fails(QDQ_E_USAGE, "found no engine",
                 qdq_ptq(s.m, s.target, NULL, s.data, NULL, &r, &err));
    assert_fails(QDQ_E_USAGE, "found no target",
                 qdq_ptq(s.m, NULL, s.engine, s.data, NULL, &r, &err));
    qdq_ptq_result_free(NULL);
    test_goal_end(&s);
}

TEST(verdicts_have_names)
{
    assert_string_equal(qdq_ptq_verdict_name(QDQ_PTQ_UNKNOWN), "unknown");
    assert_string_equal(qdq_ptq_verdict_name(QDQ_PTQ_REACHED), "reached");
    assert_string_equal(qdq_ptq_verdict_name(QDQ_PTQ_MISSED), "missed");
    assert_string_equal(qdq_ptq_verdict_name(QDQ_PTQ_FLOAT), "float");
    assert_string_equal(qdq_ptq_verdict_name(QDQ_PTQ_WRONG), "wrong");
}

TEST(what_members_of_later_releases_begin_with_must_be_zero)
{
    qdq_load_opts o = QDQ_LOAD_OPTS_INIT;
    qdq_model *m = NULL;

    assert_int_equal(sizeof o, offsetof(qdq_load_opts, reserved) + sizeof o.reserved);
    o.reserved[6] = 1;
    assert_fails(QDQ_E_USAGE, "qdq_load_opts.reserved: found 1, expected 0",
                 qdq_model_load_bytes("", 0, "none", &o, &m, &err));
}
