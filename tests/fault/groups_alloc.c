/* groups_alloc.c - every allocation fails once while layers of engines get their nodes: out of
 * names, graphs and profiles, through each engine, and on the way to what is drawn and said of
 * them. */
#include "support/alloc_fail.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "base/file.h"
#include "engine/layer_nodes.h"
#include "engine/ort/ort_session.h"
#include "qdq/check.h"

/* --- out of texts ----------------------------------------------------------------------------- */

#define NODE(name, us, op, index)                                                                  \
    "{\"cat\" : \"Node\",\"dur\" :" us ",\"name\" :\"" name                                        \
    "_kernel_time\",\"args\" : {\"op_name\" : \"" op "\",\"node_index\" : \"" index                \
    "\",\"input_type_shape\" : [{\"uint8\":[1,8]}],\"output_type_shape\" : "                       \
    "[{\"float\":[1,8]}]}},\n"
#define RUN "{\"cat\" : \"Session\",\"dur\" :9,\"name\" :\"model_run\",\"args\" : {}},\n"

static const char profile[] =
    "[\n" RUN NODE("ReorderInput_0", "1", "ReorderInput", "0") NODE("u_nchwc", "9", "Conv", "1")
        NODE("Relu_3", "2", "Relu", "3") NODE("a \"b\" \\", "2", "Neg", "4") RUN "]\n";

typedef struct models {
    const qdq_model *source, *optimized;
} models;

static qdq_status read_profile(const models *m, qdq_arena *arena, qdq_layer **g, size_t *n,
                               qdq_error *err)
{
    char *text = qdq_arena_strdup(arena, profile);
    qdq_engine_layer *l;
    unsigned runs;

    if (text == NULL)
        return qdq_nomem(err);
    QDQ_TRY(qdq_ort_profile_rows(text, NULL, arena, &l, n, &runs, err));
    QDQ_TRY(qdq_ort_join_groups(m->source->graph, m->optimized->graph, l, n, arena, err));
    return qdq_engine_layers_pack(l, *n, arena, g, n, err);
}

static qdq_status show(const qdq_model *m, const qdq_layer *g, size_t n, qdq_error *err)
{
    qdq_layer_finding *finding = NULL;
    size_t n_finding;
    qdq_fusion_list *list = NULL;
    char *dot = NULL;

    qdq_status st = qdq_layers_check(m, g, n, &finding, &n_finding, err);
    if (st == QDQ_OK)
        st = qdq_fusions_list(m, g, n, NULL, &list, err);
    if (st == QDQ_OK)
        st = qdq_fusions_dot(m, list, &dot, err);
    qdq_fusion_list_free(list);
    qdq_free(finding);
    qdq_free(dot);
    return st;
}

static qdq_status read_and_show(void *ctx, qdq_error *err)
{
    const models *m = ctx;
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_layer *g = NULL;
    size_t n;

    qdq_status st = read_profile(m, &arena, &g, &n, err);
    if (st == QDQ_OK)
        st = show(m->source, g, n, err);
    qdq_free(g);
    qdq_arena_free(&arena);
    return st;
}

TEST(groups_of_a_profile_survive)
{
    qdq_model *m = test_graph("source"), *o = test_graph("optimized");
    models both = {m, o};

    assert_true(test_every_alloc_fails(read_and_show, &both) > 20);
    qdq_model_free(m);
    qdq_model_free(o);
}

static qdq_status split(void *ctx, qdq_error *err)
{
    static const char *const separators[] = {" + ", ",", NULL};
    const qdq_model *m = ctx;
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_layer_names names = {0};
    qdq_layer_index x;

    qdq_status st = qdq_layer_index_make(&x, m->graph, &arena, err);
    if (st == QDQ_OK)
        st = qdq_layer_split(&x, "conv + Add@u,y,nobody + w", separators, &arena, &names, err);
    if (st == QDQ_OK && (names.known.n != 4 || names.n_unknown != 1))
        st = QDQ_E_BUG;
    qdq_layer_index_free(&x);
    qdq_arena_free(&arena);
    return st;
}

TEST(names_in_one_text_survive)
{
    qdq_model *m = test_graph("source");

    assert_true(test_every_alloc_fails(split, m) > 2);
    qdq_model_free(m);
}

/* --- through engines -------------------------------------------------------------------------- */

typedef struct tried {
    const char *spec;
    const qdq_model *model;
    /* it computes outputs */
    bool runs;
} tried;

static qdq_status look(void *ctx, const char *name, const qdq_array *a, qdq_error *err)
{
    (void)ctx, (void)name, (void)err;
    return a->data != NULL ? QDQ_OK : QDQ_E_BUG;
}

static qdq_status use_session(const tried *t, qdq_session *s, qdq_error *err)
{
    qdq_bench_opts opts = QDQ_BENCH_OPTS_INIT;
    qdq_named_array *in = NULL;
    qdq_bench_model timed;
    qdq_layer *g = NULL;
    size_t n_in, n;

    QDQ_TRY(qdq_random_inputs(s, 1, &in, &n_in, err));
    opts.rounds = 2;
    opts.min_sample_ms = 0.001;
    qdq_status st = t->runs ? qdq_session_run(s, in, n_in, look, NULL, err) : QDQ_OK;
    if (st == QDQ_OK)
        st = qdq_bench(&s, 1, &opts, &timed, err);
    if (st == QDQ_OK)
        st = qdq_session_layers(s, in, n_in, 2, &g, &n, err);
    if (st == QDQ_OK)
        st = show(t->model, g, n, err);
    qdq_free(g);
    qdq_free(in);
    return st;
}

static qdq_status profile_session(qdq_session *s, qdq_error *err)
{
    qdq_named_array *in = NULL;
    qdq_layer *l = NULL;
    size_t n_in, n;

    QDQ_TRY(qdq_random_inputs(s, 1, &in, &n_in, err));
    qdq_status st = qdq_session_profile(s, in, n_in, 2, &l, &n, err);
    qdq_free(l);
    qdq_free(in);
    return st;
}

static qdq_status use_engine(void *ctx, qdq_error *err)
{
    const tried *t = ctx;
    qdq_session_opts opts = QDQ_SESSION_OPTS_INIT;
    qdq_engine *e = NULL;
    qdq_status st = qdq_engine_open(t->spec, NULL, &e, err);

    for (int i = 0; st == QDQ_OK && i < 2; i++) {
        qdq_session *s = NULL;
        opts.layers = i == 0;
        opts.profile = i == 1;
        st = qdq_session_open(e, t->model, &opts, &s, err);
        if (st == QDQ_OK)
            st = i == 0 ? use_session(t, s, err) : profile_session(s, err);
        qdq_session_close(s);
    }
    qdq_engine_close(e);
    return st;
}

static void try_engine(const char *spec, bool runs)
{
    qdq_model *m = test_graph("source");
    tried t = {spec, m, runs};

    assert_true(test_every_alloc_fails(use_engine, &t) > 20);
    qdq_model_free(m);
}

TEST(the_simulated_engine_survives)
{
    try_engine("sim:" QDQ_SOURCE_DIR "/tests/data/sim_basic.json", true);
}

/* What the library allocates itself does not fail: it has its own copy of ours. */
TEST(engines_from_shared_libraries_survive)
{
    try_engine(QDQ_BUILD_DIR "/examples/engine_plugin.so:sim:" QDQ_SOURCE_DIR
                             "/tests/data/sim_basic.json",
               true);
}

static void write_text(const char *path, const char *text)
{
    qdq_error err = QDQ_ERROR_INIT;

    assert_ok(qdq_write_file(path, true, text, strlen(text), &err));
}

TEST(the_replay_engine_survives)
{
    const char *dir = test_path("replay");
    char spec[4200];

    assert_int_equal(mkdir(dir, 0700), 0);
    write_text(test_path("replay/replay.json"),
               "{\"qdq_replay\": 1, \"engine\": \"trtexec\", \"version\": \"10.16.1\", \"device\": "
               "\"stand-in\"}");
    write_text(test_path("replay/any.times.json"), "[{\"computeMs\":2},{\"computeMs\":3}]");
    write_text(test_path("replay/any.profile.json"),
               "[{\"count\":2},{\"name\":\"conv + "
               "Add@u\",\"averageMs\":1},{\"name\":\"k\",\"averageMs\":2}]");
    write_text(test_path("replay/any.layers.json"),
               "{\"Layers\":[{\"Name\":\"conv + "
               "Add@u\",\"LayerType\":\"CaskConvolution\",\"Inputs\":[{\"Name\":\"x\","
               "\"Format/Datatype\":\"Int8\"}],\"Outputs\":[{\"Name\":\"u\",\"Format/"
               "Datatype\":\"Half\"}]},"
               "{\"Name\":\"k\",\"LayerType\":\"kgen\",\"Inputs\":[{\"Name\":\"u\"}],\"Outputs\":[{"
               "\"Name\":\"y\"}],"
               "\"Metadata\":\"[ONNX Layer: node_of_y]\"}],\"Bindings\":[\"x\",\"z\",\"y\"]}");
    snprintf(spec, sizeof spec, "replay:%s", dir);
    try_engine(spec, false);
}

/* Of real ones what our binding allocates fails; OpenVINO takes its time over each model that it
 * compiles. */
TEST(the_binding_of_onnx_runtime_survives)
{
    qdq_engine *e = need_ort();
    char spec[4200];

    snprintf(spec, sizeof spec, "ort:%s", qdq_engine_get_info(e)->library);
    try_engine(spec, true);
}

TEST(the_binding_of_openvino_survives)
{
    qdq_engine *e = need_openvino();
    qdq_model *m = test_graph("source");
    char spec[4200];

    snprintf(spec, sizeof spec, "openvino:%s", qdq_engine_get_info(e)->library);
    tried t = {spec, m, true};
    assert_true(test_some_allocs_fail(use_engine, &t, 20) > 20);
    qdq_model_free(m);
}
