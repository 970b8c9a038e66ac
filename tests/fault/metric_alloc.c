/* metric_alloc.c - allocations of a search under a metric of the caller fail, one at a time. */
#include "support/alloc_fail.h"
#include "support/goals.h"

static float x[4 * 64];

static qdq_status measure(void *ctx, qdq_metric_run *run, double *value, qdq_error *err)
{
    const qdq_named_array in = {
        "x", {.elem = QDQ_FLOAT, .rank = 2, .dim = {4, 64}, .data = x, .bytes = sizeof x}};
    const qdq_named_array *out;
    unsigned *calls = ctx;
    size_t n;

    const qdq_status st = qdq_metric_run_arrays(run, &in, 1, &out, &n, err);
    *value = qdq_metric_run_is_input(run) ? 100 : 10 * (double)++*calls; /* the second one holds */
    return st;
}

static qdq_status quantize(void *ctx, qdq_error *err)
{
    test_goal *s = ctx;
    unsigned calls = 0;
    qdq_metric metric = QDQ_METRIC_INIT;

    metric.ctx = &calls;
    metric.measure = measure;
    s->goal.metric = &metric;
    s->goal.max_drop = 85;
    s->goal.max_evaluations = 2;
    const qdq_status st = test_goal_run(s, err);
    qdq_goal_result_free(s->r);
    qdq_plan_free(s->plan);
    qdq_model_free(s->out);
    s->r = NULL;
    s->plan = NULL;
    s->out = NULL;
    return st;
}

TEST(a_metric_survives_lack_of_memory)
{
    test_goal s = test_goal_begin(test_goal_chain());

    assert_true(test_some_allocs_fail(quantize, &s, 60) > 0);
    test_goal_end(&s);
}
