/* tune_weights_ort.c - autotune on ONNX Runtime with weights in blocks: what is written holds the
 * goal, whatever the machine measured, and is what its plan makes. */
#include "numeric/ort_help.h"
#include "qdq/compare.h"
#include "qdq/tune.h"
#include "support/build.h"
#include "support/tuned.h"

static qdq_model *products(void)
{
    test_builder b = test_build(21);

    TEST_INPUT(&b, "x", 1, 512);
    TEST_RANDOM(&b, "u", 512, 1024);
    TEST_NODE(&b, "MatMul", "p", "x", "u");
    TEST_NODE(&b, "Tanh", "t", "p");
    TEST_RANDOM(&b, "v", 1024, 512);
    TEST_NODE(&b, "MatMul", "y", "t", "v");
    test_output(&b, "y");
    return test_built(&b);
}

static size_t count_nbits(const qdq_model *m)
{
    size_t n = 0;

    QDQ_FOR_NODES (node, m->graph)
        n += strcmp(node->type, "MatMulNBits") == 0;
    return n;
}

static double sqnr(const qdq_model *m, const qdq_model *other)
{
    qdq_compare_opts opts = QDQ_COMPARE_OPTS_INIT;
    qdq_error err = QDQ_ERROR_INIT;
    qdq_compare_result *r = NULL;
    qdq_data *d;

    assert_ok(qdq_data_open("random:7", m, NULL, &d, &err));
    assert_ok(qdq_compare(need_ort(), m, other, d, &opts, &r, &err));
    const double db = r->outputs[0].sqnr_db;
    qdq_free(r);
    qdq_data_close(d);
    return db;
}

static qdq_tune_result tune(const qdq_model *m, double min_sqnr, const char *folder)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_goal_opts goal = QDQ_GOAL_OPTS_INIT;
    qdq_tune_opts o = test_tuned_opts("ort");
    qdq_tune_result *r = NULL;
    qdq_target *t = NULL;

    goal.min_sqnr = min_sqnr;
    o.goal = &goal;
    o.threads = 1;
    o.preset = QDQ_TUNE_QUICK;
    assert_ok(qdq_target_load("ort-cpu-int4", &t, &err));
    assert_ok(qdq_autotune(m, t, NULL, folder, &o, &r, &err));
    test_keep(r);
    qdq_target_free(t);
    return *r;
}

/* 4 bits miss it, so that products in blocks have 8. */
TEST(weights_in_blocks_that_are_tuned_hold_the_goal_and_are_those_of_the_plan)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *written, *again;
    qdq_plan *p;

    need_ort();
    qdq_model *m = products();
    const qdq_tune_result r = tune(m, 30, test_path("tuned"));
    assert_true(r.builds <= 14);
    assert_ok(qdq_model_load(test_path("tuned/model.onnx"), NULL, &written, &err));
    assert_ok(qdq_plan_load(test_path("tuned/plan.json"), &p, &err));
    assert_ok(qdq_plan_apply(p, m, false, NULL, &again, &err));
    assert_int_equal(count_nbits(written), count_nbits(again));
    assert_int_equal(count_nbits(written) > 0, r.verdict != QDQ_TUNED_FLOAT);
    assert_true(sqnr(m, written) >= 30);
    qdq_plan_free(p);
    qdq_model_free(again);
    qdq_model_free(written);
    qdq_model_free(m);
}
