/* engine_alloc.c - every allocation of the engines fails once: opening, running, timing,
 * profiling. */
#include "support/alloc_fail.h"

#include <string.h>

#include "base/file.h"

typedef struct tried {
    const char *spec;
    const qdq_model *model;
} tried;

static qdq_status look(void *ctx, const char *name, const qdq_array *a, qdq_error *err)
{
    (void)ctx;
    (void)name;
    (void)err;
    return a->data != NULL ? QDQ_OK : QDQ_E_BUG;
}

static qdq_status use_session(qdq_session *s, qdq_error *err)
{
    qdq_bench_opts opts = QDQ_BENCH_OPTS_INIT;
    qdq_named_array *in = NULL;
    qdq_layer *layers = NULL;
    qdq_bench_model timed;
    size_t n_in, n;

    QDQ_TRY(qdq_random_inputs(s, 1, &in, &n_in, err));
    qdq_status st = qdq_session_run(s, in, n_in, look, NULL, err);
    opts.rounds = 2;
    opts.min_sample_ms = 0.001;
    if (st == QDQ_OK)
        st = qdq_bench(&s, 1, &opts, &timed, err);
    if (st == QDQ_OK)
        st = qdq_session_profile(s, in, n_in, 2, &layers, &n, err);
    qdq_free(layers);
    qdq_free(in);
    return st;
}

static qdq_status use_engine(void *ctx, qdq_error *err)
{
    static const char *const expose[] = {"t", NULL};
    const tried *t = ctx;
    qdq_input_shape shape = {"x", 4, {2, 1, 4, 4}};
    qdq_session_opts opts = QDQ_SESSION_OPTS_INIT;
    qdq_session *s = NULL;
    qdq_engine *e = NULL;

    QDQ_TRY(qdq_engine_open(t->spec, NULL, &e, err));
    opts.profile = true;
    opts.expose = expose;
    opts.shapes = &shape;
    opts.n_shapes = 1;
    qdq_status st = qdq_session_open(e, t->model, &opts, &s, err);
    if (st == QDQ_OK)
        st = use_session(s, err);
    else
        assert_null(s);
    qdq_session_close(s);
    qdq_engine_close(e);
    return st;
}

TEST(the_simulated_engine_survives)
{
    tried t = {"sim:" QDQ_SOURCE_DIR "/tests/data/sim_basic.json", test_graph("model_text")};

    assert_true(test_every_alloc_fails(use_engine, &t) > 20);
    qdq_model_free((qdq_model *)t.model);
}

/* Allocations inside ONNX Runtime are its own affair and do not fail here. */
TEST(the_binding_of_onnx_runtime_survives)
{
    char spec[4200];

    qdq_engine *e = need_ort();
    snprintf(spec, sizeof spec, "ort:%s", qdq_engine_get_info(e)->library);
    tried t = {spec, test_graph("model_text")};
    assert_true(test_every_alloc_fails(use_engine, &t) > 20);
    qdq_model_free((qdq_model *)t.model);
}

static qdq_status open_missing(void *ctx, qdq_error *err)
{
    qdq_engine *e = NULL;

    (void)ctx;
    qdq_status st = qdq_engine_open("no-such-engine", NULL, &e, err);
    assert_null(e);
    return st == QDQ_E_USAGE ? QDQ_OK : st;
}

TEST(even_the_list_of_engines_may_fail)
{
    test_every_alloc_fails(open_missing, NULL);
}
