/* engine_conformance.c - what every engine promises, asked of all of them: sim, ONNX Runtime,
 * OpenVINO, trtexec (its stand-in) with what it recorded for replay, and an engine in a shared
 * library. Whoever adds an engine adds a line to `engines`. */
#include <math.h>

#include "base/file.h"
#include "base/map.h"
#include "ir/ir.h"
#include "support/test.h"

static qdq_error err;
static bool is_borrowed; /* the engine is the one that all tests share */

/* --- the engines ------------------------------------------------------------------------------ */

static const char *sim_spec(void)
{
    static const char cost[] =
        "{\"qdq_sim\": 1, \"ops\": {\"MatMul\": {\"float_us\": 9, \"epilogue\": [\"Relu\"]}}}";

    return test_sim_spec(cost);
}

static qdq_engine *open_spec(const char *spec, const char *record)
{
    qdq_engine_opts o = QDQ_ENGINE_OPTS_INIT;
    qdq_engine *e;

    o.trtexec = QDQ_BUILD_DIR "/tests/fake_trtexec";
    o.record = record;
    o.temp_dir = test_dir();
    assert_ok(qdq_engine_open(spec, &o, &e, &err));
    return e;
}

static qdq_engine *open_sim(void)
{
    return open_spec(sim_spec(), NULL);
}

static qdq_engine *open_plugin(void)
{
    char spec[1200];

    snprintf(spec, sizeof spec, "%s/examples/engine_plugin.so:%s", QDQ_BUILD_DIR, sim_spec());
    return open_spec(spec, NULL);
}

static qdq_engine *open_ort(void)
{
    is_borrowed = true;
    return test_ort();
}

static qdq_engine *open_openvino(void)
{
    is_borrowed = true;
    return test_openvino();
}

static qdq_engine *open_trtexec(void)
{
    return open_spec("trtexec", test_path("recorded"));
}

static qdq_engine *open_replay(void)
{
    char spec[600];

    snprintf(spec, sizeof spec, "replay:%s", test_path("recorded"));
    return open_spec(spec, NULL);
}

/* replay comes behind what it replays. */
static const struct {
    const char *name;
    qdq_engine *(*open)(void);
} engines[] = {
    {"sim", open_sim},           {"example", open_plugin},  {"ort", open_ort},
    {"openvino", open_openvino}, {"trtexec", open_trtexec}, {"replay", open_replay},
};

/* --- what they promise ------------------------------------------------------------------------ */

typedef struct subject {
    qdq_engine *e;
    const qdq_engine_info *info;
    qdq_model *m;
    qdq_named_array *in;
    size_t n_in;
} subject;

static bool can(const subject *s, unsigned flag)
{
    return (s->info->capabilities & flag) != 0;
}

static qdq_session *open_session(const subject *s, bool profile, bool groups)
{
    qdq_session_opts o = QDQ_SESSION_OPTS_INIT;
    qdq_session *session;

    o.profile = profile;
    o.layers = groups;
    assert_ok(qdq_session_open(s->e, s->m, &o, &session, &err));
    return session;
}

static void it_says_who_it_is(const subject *s, const char *name)
{
    assert_string_equal(s->info->name, name);
    assert_non_null(s->info->version);
    assert_non_null(s->info->library);
    assert_true(s->info->device[0] != '\0');
    /* other versions have other times */
    assert_non_null(strstr(s->info->fingerprint, s->info->version));
    assert_true(can(s, QDQ_CAN_RUN) || can(s, QDQ_CAN_TIME));
}

static void it_knows_inputs_and_outputs(subject *s)
{
    qdq_session *session = open_session(s, false, false);
    qdq_io io;

    assert_true(qdq_session_input(session, 0, &io));
    assert_string_equal(io.name, "x");
    assert_true(io.elem == QDQ_FLOAT && io.rank == 2 && io.dim[0] == 1 && io.dim[1] == 4);
    assert_false(qdq_session_input(session, 1, &io));
    assert_true(qdq_session_output(session, 0, &io));
    assert_string_equal(io.name, "y");
    assert_false(qdq_session_output(session, 1, &io));
    assert_ok(qdq_random_inputs(session, 1, &s->in, &s->n_in, &err));
    qdq_session_close(session);
}

static qdq_status look(void *ctx, const char *name, const qdq_array *a, qdq_error *e)
{
    (void)e;
    assert_string_equal(name, "y");
    assert_true(a->elem == QDQ_FLOAT && a->rank == 2 && a->bytes == 4 * sizeof(float));
    ++*(int *)ctx;
    return QDQ_OK;
}

static qdq_status stop(void *ctx, const char *name, const qdq_array *a, qdq_error *e)
{
    (void)ctx, (void)name, (void)a;
    snprintf(e->text, sizeof e->text, "enough");
    e->code = QDQ_E_GOAL;
    return QDQ_E_GOAL;
}

static void it_runs_or_says_that_it_cannot(const subject *s)
{
    qdq_session *session = open_session(s, false, false);
    int outputs = 0;

    if (!can(s, QDQ_CAN_RUN)) {
        assert_fails(QDQ_E_UNSUPPORTED, "computes no outputs",
                     qdq_session_run(session, s->in, s->n_in, look, &outputs, &err));
    } else {
        assert_ok(qdq_session_run(session, s->in, s->n_in, look, &outputs, &err));
        assert_ok(qdq_session_run(session, s->in, s->n_in, look, &outputs, &err));
        assert_int_equal(outputs, 2);
        assert_fails(QDQ_E_USAGE, "'x'", qdq_session_run(session, NULL, 0, look, &outputs, &err));
        assert_fails(QDQ_E_GOAL, "enough",
                     qdq_session_run(session, s->in, s->n_in, stop, NULL, &err));
        /* is of use afterwards */
        assert_ok(qdq_session_run(session, s->in, s->n_in, look, &outputs, &err));
    }
    qdq_session_close(session);
}

static void it_takes_time(const subject *s)
{
    qdq_session *session = open_session(s, false, false);
    qdq_bench_opts o = QDQ_BENCH_OPTS_INIT;
    qdq_bench_model out;

    o.rounds = 3;
    o.warmup = 1;
    o.min_sample_ms = 0.01;
    if (can(s, QDQ_CAN_TIME)) {
        assert_ok(qdq_bench(&session, 1, &o, &out, &err));
        assert_true(out.median_ms > 0 && out.p10_ms <= out.median_ms &&
                    out.median_ms <= out.p90_ms);
    }
    qdq_session_close(session);
}

static void it_profiles_once(const subject *s)
{
    qdq_layer *l;
    size_t n;

    if (!can(s, QDQ_CAN_PROFILE))
        return;
    qdq_session *session = open_session(s, true, false);
    assert_ok(qdq_session_profile(session, s->in, s->n_in, 3, &l, &n, &err));
    assert_true(n > 0);
    for (size_t i = 0; i < n; i++)
        assert_true(l[i].layer[0] != '\0' && l[i].op != NULL && l[i].median_us >= 0);
    qdq_free(l);
    assert_fails(QDQ_E_USAGE, "not yet profiled",
                 qdq_session_profile(session, s->in, s->n_in, 3, &l, &n, &err));
    qdq_session_close(session);
    session = open_session(s, false, false);
    assert_fails(QDQ_E_USAGE, "opened with `profile`",
                 qdq_session_profile(session, s->in, s->n_in, 3, &l, &n, &err));
    qdq_session_close(session);
}

/* Every node of the model that computes is in a layer, and every label is one of the model. */
static void it_tells_the_nodes_of_its_layers(const subject *s, unsigned runs)
{
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_map labels = QDQ_MAP_INIT;
    size_t n, found = 0;
    qdq_layer *g;

    if (!can(s, QDQ_CAN_LIST_LAYERS))
        return;
    qdq_session *session = open_session(s, false, true);
    assert_true(qdq_graph_map_labels(s->m->graph, &arena, &labels));
    assert_ok(qdq_session_layers(session, runs > 0 ? s->in : NULL, runs > 0 ? s->n_in : 0, runs, &g,
                                 &n, &err));
    assert_true(n > 0);
    for (size_t i = 0; i < n; i++) {
        assert_true(g[i].layer != NULL && g[i].op != NULL && g[i].in_type != NULL &&
                    g[i].out_type != NULL);
        assert_true(isnan(g[i].median_us) || g[i].median_us >= 0);
        assert_true((g[i].n_nodes > 0) == (g[i].source != QDQ_LAYER_NONE));
        for (size_t k = 0; k < g[i].n_nodes; k++) {
            qdq_map_value *at = qdq_map_get(&labels, g[i].node[k]);
            assert_non_null(at);
            found += at->ptr != NULL;
            at->ptr = NULL;
        }
    }
    assert_int_equal(found, 3);
    qdq_free(g);
    assert_fails(QDQ_E_USAGE, "not yet asked",
                 qdq_session_layers(session, s->in, s->n_in, 3, &g, &n, &err));
    assert_true(g == NULL && n == 0);
    qdq_map_free(&labels);
    qdq_arena_free(&arena);
    qdq_session_close(session);
}

static void it_refuses_what_makes_no_sense(const subject *s)
{
    qdq_session_opts o = QDQ_SESSION_OPTS_INIT;
    qdq_input_shape shape = {"nobody", 1, {1}};
    qdq_session *session;

    o.threads = -1;
    assert_fails(QDQ_E_USAGE, "-1 threads", qdq_session_open(s->e, s->m, &o, &session, &err));
    assert_null(session);
    o.threads = 1;
    o.shapes = &shape;
    o.n_shapes = 1;
    assert_fails(QDQ_E_USAGE, "'nobody'", qdq_session_open(s->e, s->m, &o, &session, &err));
}

static void check_engine(size_t i)
{
    is_borrowed = false;
    subject s = {.e = engines[i].open()};

    if (s.e == NULL)
        test_missing(engines[i].name);
    s.info = qdq_engine_get_info(s.e);
    s.m = test_graph("network");
    it_says_who_it_is(&s, engines[i].name);
    it_knows_inputs_and_outputs(&s);
    it_runs_or_says_that_it_cannot(&s);
    it_takes_time(&s);
    it_profiles_once(&s);
    it_tells_the_nodes_of_its_layers(&s, 3);
    it_refuses_what_makes_no_sense(&s);
    qdq_free(s.in);
    qdq_model_free(s.m);
    if (!is_borrowed)
        qdq_engine_close(s.e);
}

#define ENGINE_TEST(i, name)                                                                       \
    static void name##_keeps_its_promises(void **state)                                            \
    {                                                                                              \
        (void)state;                                                                               \
        check_engine(i);                                                                           \
    }
ENGINE_TEST(0, sim)
ENGINE_TEST(1, plugin)
ENGINE_TEST(2, ort)
ENGINE_TEST(3, openvino)
ENGINE_TEST(4, trtexec)
ENGINE_TEST(5, replay)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sim_keeps_its_promises),     cmocka_unit_test(plugin_keeps_its_promises),
        cmocka_unit_test(ort_keeps_its_promises),     cmocka_unit_test(openvino_keeps_its_promises),
        cmocka_unit_test(trtexec_keeps_its_promises), cmocka_unit_test(replay_keeps_its_promises),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
