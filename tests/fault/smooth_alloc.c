/* smooth_alloc.c - every allocation of smoothing, alone and for a goal, fails once: a message, no
 * leak, and what succeeds is right. */
#include "support/alloc_fail.h"

#include "qdq/goal.h"
#include "quant/plan/plan.h"
#include "support/build.h"
#include "support/npy_file.h"
#include "support/quantize.h"

enum { SAMPLES = 2, ROWS = 4, IN = 8, OUT = 4 };

static void write_model(const char *path)
{
    static const float gains[IN] = {2, 3, 2, 3, 2, 3, 2, 3};
    float w[IN][OUT];
    test_builder b = test_build(17);
    const int64_t dim = IN;

    TEST_INPUT(&b, "x", 1, ROWS, IN);
    for (size_t i = 0; i < (size_t)IN * OUT; i++) /* the simulated data have no large channel */
        w[i / OUT][i % OUT] = (i / OUT == 2 ? 30.0f : 1) * (float)(i * 29 % 67) / 33 - 1;
    assert_non_null(qdq_graph_add_init(
        b.m->graph, "w", qdq_tensor_of_floats(b.m, 2, (const int64_t[]){IN, OUT}, &w[0][0])));
    assert_non_null(qdq_graph_add_init(b.m->graph, "g", qdq_tensor_of_floats(b.m, 1, &dim, gains)));
    TEST_NODE(&b, "Mul", "n", "x", "g");
    TEST_NODE(&b, "MatMul", "y", "n", "w");
    test_output(&b, "y");
    test_save(test_built(&b), path);
}

typedef struct job {
    const char *model, *data;
    const qdq_target *t; /* fits the processor: quantize_alloc.c makes it in the attempts */
    bool has_goal;
} job;

static qdq_status quantize_with(const job *j, const qdq_model *m, qdq_engine *e, qdq_data *d,
                                qdq_error *err)
{
    qdq_quantize_opts opts = QDQ_QUANTIZE_OPTS_INIT;
    qdq_goal_opts goal = QDQ_GOAL_OPTS_INIT;
    qdq_goal_result *r = NULL;
    qdq_plan *p = NULL;
    qdq_model *q = NULL;
    qdq_status st;

    opts.float_channels = QDQ_FLOAT_CHANNELS_OFF;
    opts.bias_correction = QDQ_BIAS_CORRECTION_OFF;
    goal.min_sqnr = 90;
    goal.one_format = true;
    if (j->has_goal) {
        st = qdq_quantize_goal(m, j->t, e, d, &opts, &goal, &p, &q, &r, err);
    } else {
        opts.smooth = QDQ_SMOOTH_ON;
        opts.samples = 1; /* the simulated ones have nothing in common */
        st = qdq_quantize(m, j->t, e, d, &opts, &p, &q, err);
        if (st == QDQ_OK)
            assert_int_equal(p->smoothings.n, 1);
    }
    qdq_goal_result_free(r);
    qdq_plan_free(p);
    qdq_model_free(q);
    return st;
}

static qdq_status quantize(void *ctx, qdq_error *err)
{
    const job *j = ctx;
    qdq_data_opts dopts = QDQ_DATA_OPTS_INIT;
    qdq_engine *e = NULL;
    qdq_data *d = NULL;
    qdq_model *m = NULL;
    qdq_status st = qdq_model_load(j->model, NULL, &m, err);

    if (st == QDQ_OK)
        st = qdq_engine_open("sim:" QDQ_SOURCE_DIR "/tests/data/sim_basic.json", NULL, &e, err);
    if (st == QDQ_OK)
        st = qdq_data_open(j->data, m, &dopts, &d, err);
    if (st == QDQ_OK)
        st = quantize_with(j, m, e, d, err);
    qdq_data_close(d);
    qdq_engine_close(e);
    qdq_model_free(m);
    return st;
}

TEST(smoothing_survives_every_allocation_failure)
{
    static float x[SAMPLES][ROWS][IN];

    for (size_t i = 0; i < (size_t)SAMPLES * ROWS * IN; i++)
        (&x[0][0][0])[i] = (float)(i * 29 % 67) / 33 - 1;
    for (int goal = 0; goal < 2; goal++) {
        job j = {test_path("in.onnx"),
                 test_npy_file("x.npy", TEST_HEADER("<f4", "(2, 4, 8)"), x, sizeof x), NULL,
                 goal != 0};

        write_model(j.model);
        qdq_target *t = test_fitted_target(j.model, "stay_float", "[]");
        j.t = t;
        assert_true(test_every_alloc_fails(quantize, &j) > 50);
        qdq_target_free(t);
    }
}
