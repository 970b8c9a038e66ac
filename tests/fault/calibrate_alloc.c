/* calibrate_alloc.c - every allocation of calibration by histograms, of equalization and of reading
 * caches fails once: a message, no leak, and what succeeds is right. */
#include "support/alloc_fail.h"

#include "quant/calib/calib_cache.h"
#include "quant/calib/observer.h"
#include "quant/plan/plan.h"
#include "support/build.h"
#include "support/npy_file.h"
#include "support/quantize.h"

static void write_model(const char *path)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 8, 4, 4);
    test_conv(&b, "c0", "x", 8, 8, 3, 1);
    TEST_NODE(&b, "Relu", "r0", "c0");
    TEST_RANDOM(&b, "c1.w", 8, 8, 1, 1);
    TEST_NODE(&b, "Conv", "c1", "r0", "c1.w"); /* gets a bias by correction */
    test_output(&b, "c1");
    qdq_model *m = test_built(&b);
    float *w = (float *)(uintptr_t)qdq_value_const(qdq_graph_find(m->graph, "c0.w"))->bytes.data;
    for (int i = 0; i < 72; i++) /* a channel that asks for equalization */
        w[i] *= 100;
    test_save(m, path);
}

typedef struct job {
    const char *model, *ranges, *data;
    qdq_method method;
    const qdq_target *t; /* fits the processor: quantize_alloc.c makes it in the attempts */
} job;

static qdq_status quantize(void *ctx, qdq_error *err)
{
    const job *j = ctx;
    qdq_quantize_opts opts = QDQ_QUANTIZE_OPTS_INIT;
    qdq_model *m = NULL, *q = NULL;
    qdq_data_opts dopts = QDQ_DATA_OPTS_INIT;
    qdq_engine *e = NULL;
    qdq_data *d = NULL;
    qdq_plan *p = NULL;
    qdq_status st = qdq_model_load(j->model, NULL, &m, err);

    opts.method = j->method;
    opts.equalize = true;
    opts.bias_correction = QDQ_BIAS_CORRECTION_ON;
    opts.float_channels = QDQ_FLOAT_CHANNELS_ON;
    if (st == QDQ_OK)
        st = qdq_engine_open("sim:" QDQ_SOURCE_DIR "/tests/data/sim_basic.json", NULL, &e, err);
    if (st == QDQ_OK)
        st = qdq_data_open(j->data, m, &dopts, &d, err);
    if (st == QDQ_OK)
        st = qdq_quantize(m, j->t, e, d, &opts, &p, &q, err);
    if (st == QDQ_OK)
        assert_int_equal(p->corrections.n, 2);
    if (st == QDQ_OK)
        st = qdq_plan_save_ranges(p, j->ranges, true, err);
    qdq_plan_free(p);
    qdq_model_free(q);
    qdq_data_close(d);
    qdq_engine_close(e);
    qdq_model_free(m);
    return st;
}

TEST(every_method_survives_every_allocation_failure)
{
    static const qdq_method methods[] = {QDQ_METHOD_ENTROPY_COMPAT, QDQ_METHOD_AUTO};

    for (size_t i = 0; i < QDQ_COUNT(methods); i++) {
        static const float x[128] = {1, 2, 3, 4, [64] = 0.5f, 3};
        job j = {test_path("in.onnx"), test_path("ranges.json"),
                 test_npy_file("x.npy", TEST_HEADER("<f4", "(1, 8, 4, 4)"), x, sizeof x),
                 methods[i], NULL};

        write_model(j.model);
        qdq_target *t = test_fitted_target(j.model, "weight.method", "mse");
        j.t = t;
        assert_true(test_every_alloc_fails(quantize, &j) > 50);
        qdq_target_free(t);
    }
}

static qdq_status read_cache(void *ctx, qdq_error *err)
{
    const char *text = ctx;
    qdq_cache c;
    qdq_status st = qdq_cache_parse(text, strlen(text), "cache", &c, err);

    if (st == QDQ_OK)
        assert_int_equal(c.ranges.n, 2);
    qdq_cache_free(&c);
    return st;
}

TEST(caches_survive_every_allocation_failure)
{
    char trt[] = "TRT-8601-EntropyCalibration2\nx: 3d4ccccd\na: b: 0\n";
    char ours[] =
        "{\"qdq_ranges\": 1, \"tensors\": [{\"tensor\": \"x\", \"low\": -1, \"high\": 2},\n"
        "{\"tensor\": \"y\", \"low\": 0, \"high\": 0}]}";

    assert_true(test_every_alloc_fails(read_cache, trt) >= 1);
    assert_true(test_every_alloc_fails(read_cache, ours) >= 1);
}

/* Two members of a group: pooling and searching allocate, too. */
static qdq_status pool(void *ctx, qdq_error *err)
{
    static const float a[] = {-1, 4, 0.5f}, b[] = {-2, 3, 0.25f};
    static const qdq_qscheme s = {QDQ_INT8, true, false, QDQ_FLOAT, false};
    const qdq_method *method = ctx;
    qdq_observer *x = qdq_observer_new(*method, 99), *y = qdq_observer_new(*method, 99);
    qdq_range r;
    bool ok = x != NULL && y != NULL && qdq_observer_add(x, a, 3) && qdq_observer_add(y, b, 3) &&
              qdq_observer_pool(x, y) && qdq_observer_range(x, &s, &r, NULL);

    qdq_observer_free(x);
    qdq_observer_free(y);
    return ok ? QDQ_OK : qdq_nomem(err);
}

TEST(groups_survive_every_allocation_failure)
{
    for (int method = QDQ_METHOD_MAX; method <= QDQ_METHOD_AUTO; method++)
        assert_true(test_every_alloc_fails(pool, &method) >= 2);
}
