/* tune_metric.c - tuning under a metric of the caller: what is kept and shipped, what is asked
 * again, and what fails. */
#include <math.h>

#include "ir/ir.h"
#include "support/npy_file.h"
#include "support/tuned.h"

static qdq_error err;

/* 100 without Q/DQ, and one less for each MatMul that reads 8 bits, unless a test wants others. */
typedef struct scale {
    unsigned calls, inputs;
    /* the call with this number, from 1; 0: none */
    unsigned fail_at;
    qdq_status status;
    /* nothing but the input model has a number */
    bool is_odd;
    qdq_cancel *cancel;
} scale;

static unsigned count_quantized(const qdq_model *m)
{
    unsigned n = 0;

    for (const qdq_node *node = m->graph->end.next; node != &m->graph->end; node = node->next)
        n += node->op == QDQ_OP_MATMUL && node->in[0].value->producer != NULL &&
             node->in[0].value->producer->op == QDQ_OP_DEQUANTIZELINEAR;
    return n;
}

static qdq_status measure(void *ctx, qdq_metric_run *run, double *value, qdq_error *e)
{
    scale *s = ctx;
    const bool is_input = qdq_metric_run_is_input(run);

    s->calls++;
    s->inputs += is_input;
    if (s->calls == s->fail_at) {
        e->code = s->status;
        snprintf(e->text, sizeof e->text, "the user's own words");
        return s->status;
    }
    if (s->cancel != NULL && !is_input)
        qdq_cancel_set(s->cancel);
    *value = s->is_odd && !is_input ? (double)NAN
                                    : 100 - (double)count_quantized(qdq_metric_run_model(run));
    return QDQ_OK;
}

/* Eight samples that are not random:SEED. */
static qdq_data *samples(void)
{
    static float x[8][8];
    const qdq_named_array a = {
        "x", {.elem = QDQ_FLOAT, .rank = 2, .dim = {8, 8}, .data = x, .bytes = sizeof x}};
    qdq_data *d;

    for (int i = 0; i < 64; i++)
        x[i / 8][i % 8] = (float)((i * 29) % 64 - 20) / 16;
    assert_ok(qdq_data_from_arrays(&a, 1, test_tuned, NULL, &d, &err));
    return d;
}

/* `least` below 0: the drop of the goal instead. */
static qdq_status try_run(const char *folder, scale *s, double least, qdq_tune_mode mode,
                          qdq_tune_result *r)
{
    /* without an error no decision does any harm, and minimum cuts know none to take back */
    qdq_tune_opts o = test_tuned_opts(test_tuned_costs(TEST_TUNED_OPS, "\"error\": 0.01"));
    qdq_metric metric = QDQ_METRIC_INIT;
    qdq_goal_opts goal = QDQ_GOAL_OPTS_INIT;
    qdq_job job = QDQ_JOB_INIT;
    qdq_data *data = samples();

    metric.name = "layers";
    metric.ctx = s;
    metric.measure = measure;
    goal.metric = &metric;
    goal.has_min_metric = least >= 0;
    goal.min_metric = least;
    goal.max_drop = least >= 0 ? -1 : -least - 1;
    job.cancel = s->cancel;
    o.goal = &goal;
    o.mode = mode;
    o.job = &job;
    const qdq_status st = test_tuned_run_on(test_tuned, data, NULL, folder, &o, r, &err);
    qdq_data_close(data);
    return st;
}

static qdq_tune_result run(const char *folder, scale *s, double least, qdq_tune_mode mode)
{
    qdq_tune_result r;

    assert_ok(try_run(folder, s, least, mode, &r));
    return r;
}

static unsigned shipped(const char *folder)
{
    char path[5000];
    qdq_model *m;

    snprintf(path, sizeof path, "%s/model.onnx", folder);
    assert_ok(qdq_model_load(path, NULL, &m, &err));
    const unsigned n = count_quantized(m);
    qdq_model_free(m);
    return n;
}

TEST(a_metric_that_allows_everything_changes_nothing)
{
    scale s = {0};
    const char *folder = test_path("all");

    qdq_tune_result r = run(folder, &s, 1, QDQ_TUNE_REGION);
    assert_int_not_equal(r.verdict, QDQ_TUNED_FLOAT);
    assert_int_equal(shipped(folder), 4);
    assert_int_equal(s.inputs, 1);
    assert_true(s.calls > 1);
    assert_true(test_tuned_has(folder, "report.json", "\"metric\": {"));
    assert_true(test_tuned_has(folder, "report.json", "\"name\": \"layers\""));
    assert_true(test_tuned_has(folder, "report.json", "\"input\": 100"));
    assert_true(test_tuned_has(folder, "report.json", "\"written\": 96"));
    assert_true(test_tuned_has(folder, "report.json", "\"min\": 1"));
    assert_true(test_tuned_has(folder, "report.html", "layers 96, of the input 100"));
}

TEST(what_ships_holds_the_metric)
{
    static const qdq_tune_mode modes[] = {QDQ_TUNE_REGION, QDQ_TUNE_SUBGRAPH};

    for (size_t i = 0; i < 2; i++) {
        scale s = {0};
        const char *folder = test_path("some%zu", i);

        qdq_tune_result r = run(folder, &s, 98, modes[i]);
        assert_int_equal(r.verdict, QDQ_TUNED);
        assert_true(r.ci_low > 1);
        assert_in_range(shipped(folder), 1, 2);
    }
}

TEST(a_drop_counts_from_the_metric_of_the_input)
{
    scale s = {0};
    const char *folder = test_path("drop");

    run(folder, &s, -3, QDQ_TUNE_REGION); /* a drop of 2 */
    assert_in_range(shipped(folder), 1, 2);
    assert_true(test_tuned_has(folder, "report.json", "\"max_drop\": 2"));
}

TEST(a_metric_that_nothing_reaches_ships_the_input)
{
    scale s = {0}, odd = {.is_odd = true};
    const char *folder = test_path("none");

    qdq_tune_result r = run(folder, &s, 100, QDQ_TUNE_REGION);
    assert_int_equal(r.verdict, QDQ_TUNED_FLOAT);
    assert_int_equal(shipped(folder), 0);
    assert_non_null(strstr(r.reason, "metric 'layers': found 9"));
    assert_true(test_tuned_has(folder, "report.json", "\"written\": 100"));
    folder = test_path("odd");
    r = run(folder, &odd, 1, QDQ_TUNE_REGION);
    assert_int_equal(r.verdict, QDQ_TUNED_FLOAT);
    assert_int_equal(shipped(folder), 0);
    assert_non_null(strstr(r.reason, "metric 'layers': found nan, expected a finite number"));
}

TEST(a_run_that_goes_on_asks_for_the_input_alone)
{
    scale first = {0}, second = {0};
    const char *folder = test_path("again");

    run(folder, &first, 98, QDQ_TUNE_SUBGRAPH);
    run(folder, &second, 98, QDQ_TUNE_SUBGRAPH);
    assert_true(first.calls > 1);
    assert_true(second.calls < first.calls);
    assert_int_equal(second.inputs, 1);
    assert_in_range(shipped(folder), 1, 2);
}

TEST(an_error_of_the_metric_comes_out_unchanged)
{
    static const qdq_status codes[] = {QDQ_E_ENGINE, QDQ_E_UNSUPPORTED, QDQ_E_INTERRUPTED,
                                       QDQ_E_FORMAT, QDQ_E_IO,          QDQ_E_NOMEM};

    for (unsigned i = 0; i < 2 * QDQ_COUNT(codes); i++) {
        scale s = {.status = codes[i / 2], .fail_at = 1 + i % 2};
        qdq_tune_result r;

        assert_int_equal(try_run(test_path("fails%u", i), &s, 98, QDQ_TUNE_REGION, &r), s.status);
        assert_string_equal(err.text, "the user's own words");
        assert_int_equal(s.calls, s.fail_at);
    }
}

TEST(a_flag_that_is_set_in_the_metric_ends_the_run)
{
    scale s = {.cancel = qdq_cancel_new()};
    qdq_tune_result r;

    assert_int_equal(try_run(test_path("stopped"), &s, 98, QDQ_TUNE_REGION, &r), QDQ_E_INTERRUPTED);
    assert_int_equal(s.calls, 2);
    qdq_cancel_free(s.cancel);
}

TEST(a_metric_without_a_limit_is_refused)
{
    qdq_tune_opts o = test_tuned_opts(test_tuned_costs(TEST_TUNED_OPS, NULL));
    qdq_goal_opts goal = QDQ_GOAL_OPTS_INIT;
    qdq_metric metric = QDQ_METRIC_INIT;
    qdq_tune_result r;

    metric.measure = measure;
    goal.metric = &metric;
    o.goal = &goal;
    assert_fails(QDQ_E_USAGE, "found a metric without a limit, expected min_metric or max_drop",
                 test_tuned_run(test_tuned, test_path("limit"), &o, &r, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_metric_that_allows_everything_changes_nothing),
        cmocka_unit_test(what_ships_holds_the_metric),
        cmocka_unit_test(a_drop_counts_from_the_metric_of_the_input),
        cmocka_unit_test(a_metric_that_nothing_reaches_ships_the_input),
        cmocka_unit_test(a_run_that_goes_on_asks_for_the_input_alone),
        cmocka_unit_test(an_error_of_the_metric_comes_out_unchanged),
        cmocka_unit_test(a_flag_that_is_set_in_the_metric_ends_the_run),
        cmocka_unit_test(a_metric_without_a_limit_is_refused),
    };

    return cmocka_run_group_tests(tests, test_tuned_make, test_tuned_drop);
}
