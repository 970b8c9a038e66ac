/* remote_alloc.c - every allocation of an engine in another process fails once, on our side: no
 * process is left behind, nothing is lost. The worker is another program, which has memory. */
#include "support/alloc_fail.h"

typedef struct tried {
    const char *spec, *host;
    const qdq_model *model;
} tried;

static qdq_status ignore(void *ctx, const char *name, const qdq_array *a, qdq_error *err)
{
    (void)ctx, (void)name, (void)a, (void)err;
    return QDQ_OK;
}

static qdq_status use_session(qdq_session *s, qdq_error *err)
{
    qdq_bench_opts bo = QDQ_BENCH_OPTS_INIT;
    qdq_bench_model time;
    qdq_named_array *in;
    qdq_layer *l = NULL;
    size_t n, k;

    bo.rounds = 1;
    bo.warmup = 1;
    QDQ_TRY(qdq_random_inputs(s, 1, &in, &n, err));
    qdq_status st = qdq_session_run(s, in, n, ignore, NULL, err);
    if (st == QDQ_OK)
        st = qdq_bench(&s, 1, &bo, &time, err);
    if (st == QDQ_OK)
        st = qdq_session_profile(s, in, n, 2, &l, &k, err);
    qdq_free(l);
    qdq_free(in);
    return st;
}

static qdq_status use_engine(void *ctx, qdq_error *err)
{
    const tried *t = ctx;
    qdq_engine_opts o = QDQ_ENGINE_OPTS_INIT;
    qdq_session_opts so = QDQ_SESSION_OPTS_INIT;
    const qdq_input_shape shape = {"x", 4, {2, 1, 4, 4}};
    qdq_engine *e;
    qdq_session *s = NULL;
    qdq_layer *g = NULL;
    size_t n;

    o.worker = QDQ_BUILD_DIR "/qdq-worker";
    o.in_worker = true;
    o.host = t->host;
    o.temp_dir = test_dir();
    so.shapes = &shape;
    so.n_shapes = 1;
    so.profile = so.layers = true;
    QDQ_TRY(qdq_engine_open(t->spec, &o, &e, err));
    qdq_status st = qdq_session_open(e, t->model, &so, &s, err);
    if (st == QDQ_OK)
        st = use_session(s, err);
    qdq_session_close(s);
    s = NULL;
    if (st == QDQ_OK)
        st = qdq_session_open(e, t->model, &so, &s, err);
    if (st == QDQ_OK)
        st = qdq_session_layers(s, NULL, 0, 0, &g, &n, err);
    qdq_free(g);
    qdq_session_close(s);
    qdq_engine_close(e);
    return st;
}

TEST(an_engine_in_another_process_survives)
{
    qdq_model *m = test_graph("text");
    tried t = {test_sim_spec("{\"qdq_sim\": 1}"), NULL, m};

    assert_true(test_every_alloc_fails(use_engine, &t) > 100);
    qdq_model_free(m);
}

/* The device has memory. */
TEST(an_engine_on_a_host_survives)
{
    char host[1200];

    snprintf(host, sizeof host, "exec:" QDQ_BUILD_DIR "/qdq-worker --serve --cache-dir %s/cache",
             test_dir());
    qdq_model *m = test_graph("text");
    tried t = {test_sim_spec("{\"qdq_sim\": 1}"), host, m};
    assert_true(test_every_alloc_fails(use_engine, &t) > 100);
    qdq_model_free(m);
}
