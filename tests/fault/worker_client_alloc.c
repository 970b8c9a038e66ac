/* worker_client_alloc.c - every allocation of the worker client fails once: no worker is left
 * behind, nothing is lost. The worker is another program, which has memory. */
#include "base/buf.h"
#include "base/file.h"
#include "support/alloc_fail.h"
#include "tune/worker_client/worker_client.h"

typedef struct tried {
    const char *spec, *model, *other, *logs, *host;
} tried;

static qdq_status use_models(qdq_worker_client *worker_client, const tried *t, int a, int b,
                             qdq_error *err)
{
    qdq_layer *layers = NULL;
    qdq_layer *groups = NULL;
    qdq_worker_client_accuracy acc;
    qdq_remote_outcome outcome;
    double x, y;
    size_t n;

    QDQ_TRY(qdq_worker_client_pair(worker_client, a, b, false, 1, &x, &y, &outcome, err));
    assert_int_equal(outcome.end, QDQ_REMOTE_FINE);
    QDQ_TRY(qdq_worker_client_compare(worker_client, a, b, &acc, &outcome, err));
    assert_int_equal(outcome.end, QDQ_REMOTE_FINE);
    QDQ_TRY(qdq_worker_client_profile(worker_client, t->model, 2, &layers, &n, &outcome, err));
    assert_int_equal(outcome.end, QDQ_REMOTE_FINE);
    qdq_free(layers);
    QDQ_TRY(qdq_worker_client_groups(worker_client, t->model, 2, &groups, &n, &outcome, err));
    assert_int_equal(outcome.end, QDQ_REMOTE_FINE);
    qdq_free(groups);
    qdq_worker_client_drop(worker_client, b);
    return QDQ_OK;
}

static qdq_status use_worker_client(void *ctx, qdq_error *err)
{
    static const qdq_input_shape shape = {"x", 4, {2, 1, 4, 4}};
    static const char *const dirs[] = {"/nowhere", NULL};
    const tried *t = ctx;
    qdq_engine_opts engine_opts = {
        .size = sizeof engine_opts, .search_dirs = dirs, .host = t->host};
    qdq_worker_client_opts opts = {.engine = t->spec,
                                   .worker = QDQ_BUILD_DIR "/qdq-worker",
                                   .logs = t->logs,
                                   .shapes = &shape,
                                   .n_shapes = 1,
                                   .engine_opts = &engine_opts,
                                   .sample_ms = 0.001};
    qdq_worker_client *worker_client;
    qdq_remote_outcome outcome;
    int a, b = -1;

    QDQ_TRY(qdq_worker_client_open(&opts, &worker_client, err));
    qdq_status st = qdq_worker_client_build(worker_client, t->model, &a, &outcome, err);
    if (st == QDQ_OK)
        st = qdq_worker_client_build(worker_client, t->other, &b, &outcome, err);
    if (st == QDQ_OK)
        st = use_models(worker_client, t, a, b, err);
    qdq_worker_client_close(worker_client);
    return st;
}

/* The worker dies of each model: what is said of its end needs memory, too. */
static qdq_status lose_workers(void *ctx, qdq_error *err)
{
    const tried *t = ctx;
    qdq_worker_client_opts opts = {
        .engine = t->spec, .worker = QDQ_BUILD_DIR "/qdq-worker", .logs = t->logs};
    qdq_worker_client *worker_client;
    qdq_remote_outcome outcome;
    qdq_status st;
    int a;

    QDQ_TRY(qdq_worker_client_open(&opts, &worker_client, err));
    for (int i = 0; i < 2; i++) {
        st = qdq_worker_client_build(worker_client, t->model, &a, &outcome, err);
        if (st != QDQ_OK)
            break;
        assert_int_equal(outcome.end, QDQ_REMOTE_CRASHED);
    }
    qdq_worker_client_close(worker_client);
    return st;
}

static char *save(const char *name, const char *text)
{
    qdq_error err = QDQ_ERROR_INIT;
    const char *path = test_path("%s", name);
    char *kept = malloc(strlen(path) + 5);

    assert_non_null(kept);
    if (strstr(name, ".onnx") != NULL) {
        qdq_model *m = test_model(text);
        assert_ok(qdq_model_save(m, path, NULL, &err));
        qdq_model_free(m);
        strcpy(kept, path);
    } else {
        assert_ok(qdq_write_file(path, true, text, strlen(text), &err));
        snprintf(kept, strlen(path) + 5, "sim:%s", path);
    }
    return kept;
}

TEST(the_lab_survives)
{
    char *spec = save("sim.json", "{\"qdq_sim\": 1}"),
         *a = save("a.onnx", test_graph_text("model_text")),
         *b = save("b.onnx", test_graph_text("model_text"));
    char logs[300];

    snprintf(logs, sizeof logs, "%s", test_path("logs"));
    tried t = {spec, a, b, logs, NULL};
    assert_true(test_every_alloc_fails(use_worker_client, &t) > 50);
    free(spec);
    free(a);
    free(b);
}

/* A model with weights that travel on their own. */
static char *large_model(void)
{
    enum { SIDE = 80 };
    qdq_buf text = QDQ_BUF_INIT(1 << 20);

    qdq_buf_printf(&text,
                   "<ir_version: 9, opset_import: [\"\" : 17]>\n"
                   "g (float[N,1,4,4] x) => (float[N,1,4,4] y) <float[%d] w = {0",
                   SIDE * SIDE);
    for (int i = 1; i < SIDE * SIDE; i++)
        qdq_buf_puts(&text, ",1");
    qdq_buf_puts(&text, "}>\n{ m = ReduceMean(w)\n t = Add(x, m)\n y = Neg(t) }\n");
    assert_false(text.failed);
    char *path = save("large.onnx", text.data);
    qdq_buf_free(&text);
    return path;
}

TEST(the_lab_survives_on_a_host)
{
    char *spec = save("sim2.json", "{\"qdq_sim\": 1}"),
         *a = save("a2.onnx", test_graph_text("model_text")), *b = large_model();
    char logs[300], host[1200];

    snprintf(logs, sizeof logs, "%s", test_path("host-logs"));
    snprintf(host, sizeof host, "exec:" QDQ_BUILD_DIR "/qdq-worker --serve --cache-dir %s/cache",
             test_dir());
    tried t = {spec, a, b, logs, host};
    assert_true(test_every_alloc_fails(use_worker_client, &t) > 50);
    free(spec);
    free(a);
    free(b);
}

TEST(so_it_does_when_workers_die)
{
    char *spec = save("crash.json",
                      "{\"qdq_sim\": 1, \"fail\": [{\"at\": \"open\", \"crash\": \"SIGABRT\"}]}");
    char *a = save("c.onnx", test_graph_text("model_text"));
    char logs[300];

    snprintf(logs, sizeof logs, "%s", test_path("crash-logs"));
    tried t = {spec, a, a, logs, NULL};
    assert_true(test_every_alloc_fails(lose_workers, &t) > 30);
    free(spec);
    free(a);
}
