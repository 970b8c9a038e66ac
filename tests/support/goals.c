/* goals.c - see the header. */
#include "support/goals.h"

#include "support/build.h"
#include "support/test.h"

const char test_goal_cost[] =
    "{\"qdq_sim\": 1, \"error\": 0.01, \"ops\": {"
    "\"Conv\": {\"float_us\": 100, \"int8_us\": 30, \"inputs\": 2, \"output_q\": true},"
    "\"Gemm\": {\"float_us\": 50, \"int8_us\": 20, \"inputs\": 2},"
    "\"MatMul\": {\"float_us\": 50, \"int8_us\": 20, \"inputs\": 2}}}";

qdq_model *test_goal_chain(void)
{
    test_builder b = test_build(17);
    char name[20], weight[20], before[20] = "x";

    TEST_INPUT(&b, "x", 4, 64);
    for (int i = 0; i < TEST_GOAL_LAYERS; i++) {
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

test_goal test_goal_begin_on(qdq_model *m, const char *costs)
{
    test_goal s = {.m = m,
                   .engine = test_sim(costs),
                   .opts = QDQ_QUANTIZE_OPTS_INIT,
                   .goal = QDQ_GOAL_OPTS_INIT};
    qdq_error err = QDQ_ERROR_INIT;

    assert_ok(qdq_target_load("ort-cpu", &s.target, &err));
    assert_ok(qdq_target_set(s.target, "stay_float", "[]", &err)); /* the matrices are small */
    assert_ok(qdq_data_open("random:1", s.m, NULL, &s.data, &err));
    return s;
}

test_goal test_goal_begin(qdq_model *m)
{
    return test_goal_begin_on(m, test_goal_cost);
}

test_goal test_goal_begin_ort(qdq_model *m, const char *target, const char *data)
{
    test_goal s = {.m = m,
                   .engine = need_ort(),
                   .is_shared = true,
                   .opts = QDQ_QUANTIZE_OPTS_INIT,
                   .goal = QDQ_GOAL_OPTS_INIT};
    qdq_error err = QDQ_ERROR_INIT;

    assert_ok(qdq_target_load(target, &s.target, &err));
    assert_ok(qdq_data_open(data, m, NULL, &s.data, &err));
    return s;
}

qdq_status test_goal_run(test_goal *s, qdq_error *err)
{
    return qdq_quantize_goal(s->m, s->target, s->engine, s->data, &s->opts, &s->goal, &s->plan,
                             &s->out, &s->r, err);
}

void test_goal_drop_outcome(test_goal *s)
{
    qdq_goal_result_free(s->r);
    qdq_plan_free(s->plan);
    qdq_model_free(s->out);
}

void test_goal_end(test_goal *s)
{
    test_goal_drop_outcome(s);
    qdq_data_close(s->data);
    qdq_target_free(s->target);
    if (!s->is_shared)
        qdq_engine_close(s->engine);
    qdq_model_free(s->m);
}

size_t test_goal_gone(const qdq_goal_result *r)
{
    size_t n = 0;

    for (size_t i = 0; i < r->n_layers; i++)
        n += r->layers[i].is_float;
    return n;
}
