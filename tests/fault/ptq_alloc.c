/* ptq_alloc.c - allocations of a whole post-training quantization fail, one at a time: a search
 * under the default goal, nodes that the engine computes wrongly, and the speed. */
#include "support/alloc_fail.h"

#include "support/goals.h"

static const char costs[] = "{\"qdq_sim\": 1, \"error\": 0.2, \"noise\": 0, \"ops\": {\"MatMul\": "
                            "{\"float_us\": 50, \"int8_us\": 20, \"inputs\": 2}}, "
                            "\"wrong\": [{\"node\": \"m3\", \"times\": 0.0001}]}";
static float x[8 * 4 * 64];

static qdq_status quantize(void *ctx, qdq_error *err)
{
    const test_goal *s = ctx;
    qdq_quantize_opts quantize = QDQ_QUANTIZE_OPTS_INIT;
    qdq_ptq_opts o = QDQ_PTQ_OPTS_INIT;
    qdq_ptq_result *r;

    o.quantize = &quantize;
    o.spent_s = -10; /* the shortest time for the speed */
    const qdq_status st = qdq_ptq(s->m, s->target, s->engine, s->data, &o, &r, err);
    qdq_ptq_result_free(r);
    return st;
}

TEST(post_training_quantization_survives_lack_of_memory)
{
    test_goal s = test_goal_begin(test_goal_chain());
    const qdq_named_array in = {
        "x", {.elem = QDQ_FLOAT, .rank = 2, .dim = {8 * 4, 64}, .data = x, .bytes = sizeof x}};
    qdq_error err = QDQ_ERROR_INIT;

    for (size_t i = 0; i < sizeof x / sizeof *x; i++)
        x[i] = (float)(i * 7919 % 251) / 125 - 1;
    qdq_engine_close(s.engine);
    qdq_data_close(s.data);
    s.engine = test_sim(costs);
    assert_ok(qdq_target_set(s.target, "engine", "sim", &err));
    assert_ok(qdq_data_from_arrays(&in, 1, s.m, NULL, &s.data, &err));
    assert_true(test_some_allocs_fail(quantize, &s, 80) > 0);
    test_goal_end(&s);
}
