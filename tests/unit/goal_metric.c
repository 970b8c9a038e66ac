/* goal_metric.c - quantization until a metric of the caller holds: what the metric is asked, what
 * its answers do, and how it fails. */
#include <math.h>

#include "ir/ir.h"
#include "support/goals.h"
#include "support/test.h"

static qdq_error err;

/* 100 without Q/DQ, and one less for each MatMul that reads 8 bits, unless a test wants others. */
typedef struct scale {
    unsigned calls, inputs;
    /* the call with this number, from 1; 0: none */
    unsigned fail_at, odd_at;
    /* instead, from odd_at on */
    double odd;
    qdq_status status;
    const char *text;
    /* the model, too */
    bool runs;
    qdq_cancel *cancel;
    size_t n_out;
    char name[20];
    /* number of the outputs: of the input model, of the last one */
    double first[2];
    /* that asks this */
    qdq_metric metric;
} scale;

static unsigned count_quantized(const qdq_model *m)
{
    unsigned n = 0;

    for (const qdq_node *node = m->graph->end.next; node != &m->graph->end; node = node->next)
        n += node->op == QDQ_OP_MATMUL && node->in[0].value->producer != NULL &&
             node->in[0].value->producer->op == QDQ_OP_DEQUANTIZELINEAR;
    return n;
}

static qdq_status run_once(scale *s, qdq_metric_run *run, qdq_error *e)
{
    static float x[4 * 64];
    qdq_named_array in = {
        "x", {.elem = QDQ_FLOAT, .rank = 2, .dim = {4, 64}, .data = x, .bytes = sizeof x}};
    const qdq_named_array *out;

    for (size_t i = 0; i < 4 * 64; i++)
        x[i] = (float)(i * 37 % 101) / 25 - 1.5f;
    for (int again = 0; again < 2; again++) {
        qdq_status st = qdq_metric_run_arrays(run, &in, 1, &out, &s->n_out, e);
        if (st != QDQ_OK) {
            assert_null(out);
            return st;
        }
    }
    snprintf(s->name, sizeof s->name, "%s", out[0].name);
    s->first[!qdq_metric_run_is_input(run)] = ((const float *)out[0].array.data)[0];
    return QDQ_OK;
}

static qdq_status measure(void *ctx, qdq_metric_run *run, double *value, qdq_error *e)
{
    scale *s = ctx;

    s->calls++;
    s->inputs += qdq_metric_run_is_input(run);
    *value = 100 - count_quantized(qdq_metric_run_model(run));
    if (s->cancel != NULL && s->calls == 2)
        qdq_cancel_set(s->cancel);
    if (s->calls == s->fail_at) {
        e->code = s->status;
        snprintf(e->text, sizeof e->text, "%s", s->text);
        return s->status;
    }
    if (s->odd_at > 0 && s->calls >= s->odd_at)
        *value = s->odd;
    return s->runs ? run_once(s, run, e) : QDQ_OK;
}

/* Its metric asks `of`. */
static test_goal begin(scale *of)
{
    test_goal s = test_goal_begin(test_goal_chain());

    of->metric = (qdq_metric)QDQ_METRIC_INIT;
    of->metric.name = "layers";
    of->metric.ctx = of;
    of->metric.measure = measure;
    s.goal.metric = &of->metric;
    return s;
}

static double metric_of_result(const test_goal *s)
{
    return 100 - (double)count_quantized(s->out);
}

/* --- what holds ------------------------------------------------------------------------------- */

TEST(layers_go_back_until_the_metric_is_high_enough)
{
    scale of = {0};
    test_goal s = begin(&of);

    s.goal.has_min_metric = true;
    s.goal.min_metric = 97;
    assert_ok(test_goal_run(&s, &err));
    assert_true(s.r->reached);
    assert_string_equal(s.r->why, "");
    assert_string_equal(s.r->metric_name, "layers");
    assert_float_equal(s.r->float_metric, 100, 0);
    assert_float_equal(s.r->metric, metric_of_result(&s), 0);
    assert_true(s.r->metric >= 97 && s.r->metric < 100);
    assert_int_equal(of.inputs, 1);
    assert_int_equal(of.calls, 1 + s.r->n_steps);
    assert_float_equal(s.r->steps[0].metric, 92, 0);
    for (size_t i = 0; i < s.r->n_steps; i++)
        assert_int_equal(s.r->steps[i].holds, s.r->steps[i].metric >= 97);
    test_goal_end(&s);
}

TEST(a_drop_counts_from_the_metric_of_the_input_model)
{
    scale of = {0};
    test_goal s = begin(&of);

    s.goal.max_drop = 5; /* no labels are needed */
    assert_ok(test_goal_run(&s, &err));
    assert_true(s.r->reached);
    assert_true(s.r->metric >= 95 && s.r->metric < 100);
    test_goal_end(&s);
}

TEST(a_metric_that_holds_at_once_is_asked_twice)
{
    scale of = {0};
    test_goal s = begin(&of);

    s.goal.max_drop = 8;
    s.goal.has_min_metric = true;
    s.goal.min_metric = 92;
    assert_ok(test_goal_run(&s, &err));
    assert_true(s.r->reached);
    assert_int_equal(of.calls, 2);
    assert_int_equal(s.r->n_steps, 1);
    assert_float_equal(s.r->metric, 92, 0);
    test_goal_end(&s);
}

TEST(what_misses_the_sqnr_is_not_measured)
{
    scale of = {0};
    test_goal s = begin(&of);

    s.goal.min_sqnr = 34;
    s.goal.max_drop = 50;
    assert_ok(test_goal_run(&s, &err));
    assert_true(s.r->reached);
    unsigned measured = 0;
    for (size_t i = 0; i < s.r->n_steps; i++) {
        assert_int_equal(isnan(s.r->steps[i].metric), !(s.r->steps[i].sqnr_db >= 34));
        measured += !isnan(s.r->steps[i].metric);
    }
    assert_true(measured < s.r->n_steps);
    assert_int_equal(of.calls, 1 + measured);
    test_goal_end(&s);
}

TEST(a_metric_runs_the_model_on_arrays)
{
    scale of = {.runs = true};
    test_goal s = begin(&of);

    s.goal.max_drop = 50;
    assert_ok(test_goal_run(&s, &err));
    assert_int_equal(of.n_out, 1);
    assert_string_equal(of.name, "t7");
    assert_true(of.first[0] != of.first[1]); /* the noise of 8 bits */
    assert_float_equal(of.first[0], of.first[1], 0.1);
    test_goal_end(&s);
}

TEST(without_a_metric_there_is_no_number)
{
    test_goal s = test_goal_begin(test_goal_chain());

    s.goal.min_sqnr = 1;
    assert_ok(test_goal_run(&s, &err));
    assert_true(isnan(s.r->float_metric) && isnan(s.r->metric) && isnan(s.r->steps[0].metric));
    assert_string_equal(s.r->metric_name, "");
    test_goal_end(&s);
}

/* --- what does not ---------------------------------------------------------------------------- */

TEST(a_goal_that_is_missed_ends_with_the_highest_metric)
{
    scale of = {0};
    test_goal s = begin(&of);

    s.goal.has_min_metric = true;
    s.goal.min_metric = 100;
    assert_ok(test_goal_run(&s, &err));
    assert_false(s.r->reached);
    double best = 0;
    for (size_t i = 0; i < s.r->n_steps; i++)
        best = fmax(best, s.r->steps[i].metric);
    assert_float_equal(s.r->metric, best, 0);
    assert_float_equal(metric_of_result(&s), best, 0);
    assert_non_null(strstr(s.r->why, "metric 'layers': found 9"));
    assert_non_null(strstr(s.r->why, ", expected at least 100"));
    test_goal_end(&s);
}

TEST(a_drop_that_is_too_large_is_told_in_the_unit_of_the_metric)
{
    scale of = {0};
    test_goal s = begin(&of);

    s.goal.max_drop = 2;
    s.goal.max_evaluations = 1;
    assert_ok(test_goal_run(&s, &err));
    assert_false(s.r->reached);
    assert_non_null(strstr(s.r->why, "below that of the input model, expected at most 2"));
    test_goal_end(&s);
}

static void record_line(void *ctx, qdq_log_level level, const char *text)
{
    if (level == QDQ_LOG_WARNING && strstr(text, "metric 'layers' of the input model") != NULL)
        snprintf(ctx, 300, "%s", text);
}

TEST(an_input_model_that_misses_the_goal_itself_ends_the_search)
{
    char said[300] = "";
    scale of = {0};
    qdq_job job = QDQ_JOB_INIT;
    test_goal s = begin(&of);

    job.ctx = said;
    job.log = record_line;
    s.opts.job = &job;
    s.goal.has_min_metric = true;
    s.goal.min_metric = 101;
    assert_ok(test_goal_run(&s, &err));
    assert_false(s.r->reached);
    assert_int_equal(s.r->n_steps, 1);
    assert_string_equal(said, "metric 'layers' of the input model: found 100, expected at least "
                              "101; no layer goes back to float");
    test_goal_end(&s);
}

TEST(a_metric_that_is_no_number_misses_the_goal)
{
    static const double odd[] = {NAN, INFINITY, -INFINITY};

    for (size_t i = 0; i < 3; i++) {
        scale of = {.odd_at = 2, .odd = odd[i]};
        test_goal s = begin(&of);

        s.goal.max_drop = 50;
        s.goal.max_evaluations = 2;
        assert_ok(test_goal_run(&s, &err));
        assert_false(s.r->reached);
        assert_true(isnan(s.r->metric) && isnan(s.r->steps[0].metric));
        assert_non_null(strstr(s.r->why, "metric 'layers': found "));
        assert_non_null(strstr(s.r->why, ", expected a finite number"));
        test_goal_end(&s);
    }
}

/* 8 samples are compared first; the second attempt is that without the engine's optimizations. */
TEST(an_engine_that_fails_in_the_metric_is_a_verdict_on_the_model)
{
    static const char cost[] =
        "{\"qdq_sim\": 1, \"error\": 0.01, \"ops\": {\"MatMul\": {\"float_us\": 50, \"int8_us\": "
        "20, \"inputs\": 2}}, \"fail\": ["
        "{\"at\": \"run\", \"nth\": 9, \"node\": \"m0\", \"message\": \"too hot\"},"
        "{\"at\": \"run\", \"nth\": 10, \"node\": \"m0\", \"message\": \"too hot\"}]}";
    scale of = {.runs = true};
    test_goal s = begin(&of);

    qdq_engine_close(s.engine);
    s.engine = test_sim(cost);
    s.goal.max_drop = 50;
    assert_ok(test_goal_run(&s, &err));
    assert_true(s.r->n_steps > 1);
    assert_true(isnan(s.r->steps[0].metric));
    assert_false(s.r->steps[0].holds);
    assert_true(s.r->reached);
    test_goal_end(&s);
}

/* --- failures --------------------------------------------------------------------------------- */

TEST(an_error_of_the_metric_comes_out_unchanged)
{
    static const qdq_status codes[] = {QDQ_E_USAGE,       QDQ_E_NOMEM,  QDQ_E_IO,
                                       QDQ_E_UNSUPPORTED, QDQ_E_FORMAT, QDQ_E_ENGINE,
                                       QDQ_E_INTERRUPTED};

    for (unsigned i = 0; i < 3 * QDQ_COUNT(codes); i++) {
        scale of = {.status = codes[i / 3], .text = "the user's own words", .fail_at = 1 + i % 3};
        test_goal s = begin(&of);

        s.goal.max_drop = 2;
        assert_int_equal(test_goal_run(&s, &err), of.status);
        assert_string_equal(err.text, of.text);
        assert_int_equal(err.code, of.status);
        assert_int_equal(of.calls, of.fail_at);
        assert_null(s.plan);
        assert_null(s.r);
        test_goal_end(&s);
    }
}

TEST(a_goal_that_a_metric_misses_itself_is_a_misuse)
{
    scale of = {.status = QDQ_E_GOAL, .text = "the user's own words", .fail_at = 2};
    test_goal s = begin(&of);

    s.goal.max_drop = 2;
    assert_fails(QDQ_E_USAGE, "the user's own words", test_goal_run(&s, &err));
    assert_int_equal(err.code, QDQ_E_USAGE);
    test_goal_end(&s);
}

TEST(a_metric_that_fails_without_words_is_named)
{
    scale of = {.status = QDQ_E_IO, .text = "", .fail_at = 2};
    test_goal s = begin(&of);

    of.metric.name = NULL;
    s.goal.max_drop = 2;
    assert_fails(QDQ_E_IO, "metric 'metric' failed", test_goal_run(&s, &err));
    test_goal_end(&s);
}

TEST(a_metric_of_the_input_model_that_is_no_number_is_an_error)
{
    scale of = {.odd_at = 1, .odd = NAN};
    test_goal s = begin(&of);

    s.goal.max_drop = 2;
    assert_fails(QDQ_E_FORMAT,
                 "metric 'layers' of the input model: found nan, expected a finite number",
                 test_goal_run(&s, &err));
    test_goal_end(&s);
}

TEST(a_flag_that_is_set_in_the_metric_ends_the_search)
{
    scale of = {.runs = true, .cancel = qdq_cancel_new()};
    qdq_job job = QDQ_JOB_INIT;
    test_goal s = begin(&of);

    job.cancel = of.cancel;
    s.opts.job = &job;
    s.goal.max_drop = 2;
    assert_int_equal(test_goal_run(&s, &err), QDQ_E_INTERRUPTED);
    assert_int_equal(of.calls, 2);
    qdq_cancel_free(of.cancel);
    test_goal_end(&s);
}

TEST(a_metric_that_makes_no_sense_is_refused)
{
    scale of = {0};
    test_goal s = begin(&of);

    s.goal.metric = NULL;
    s.goal.has_min_metric = true;
    assert_fails(QDQ_E_USAGE, "found min_metric without a metric", test_goal_run(&s, &err));
    s.goal.metric = &of.metric;
    s.goal.has_min_metric = false;
    assert_fails(QDQ_E_USAGE, "found a metric without a limit, expected min_metric or max_drop",
                 test_goal_run(&s, &err));
    s.goal.has_min_metric = true;
    s.goal.min_metric = NAN;
    assert_fails(QDQ_E_USAGE, "min_metric: found nan, expected a finite number",
                 test_goal_run(&s, &err));
    s.goal.min_metric = 1;
    s.goal.by_default = true;
    assert_fails(QDQ_E_USAGE, "found a metric in a goal by default", test_goal_run(&s, &err));
    s.goal.by_default = false;
    of.metric.measure = NULL;
    assert_fails(QDQ_E_USAGE, "qdq_metric: found no function `measure`", test_goal_run(&s, &err));
    of.metric.size = 0;
    assert_fails(QDQ_E_USAGE, "qdq_metric", test_goal_run(&s, &err));
    assert_int_equal(of.calls, 0);
    test_goal_end(&s);
}
