/* groups_ort.c - the nodes behind the kernels that ONNX Runtime really executes. */
#include <math.h>

#include "ort_help.h"

static qdq_error err;

typedef struct asked {
    qdq_layer *g;
    size_t n;
} asked;

static asked ask(qdq_engine *e, const qdq_model *m, qdq_opt_level level, unsigned runs)
{
    qdq_session_opts opts = QDQ_SESSION_OPTS_INIT;
    qdq_named_array *in = NULL;
    qdq_session *s;
    asked a = {0};
    size_t n_in = 0;

    opts.layers = true;
    opts.level = level;
    assert_ok(qdq_session_open(e, m, &opts, &s, &err));
    if (runs > 0)
        assert_ok(qdq_random_inputs(s, 1, &in, &n_in, &err));
    assert_ok(qdq_session_layers(s, in, n_in, runs, &a.g, &a.n, &err));
    assert_fails(QDQ_E_USAGE, "not yet asked",
                 qdq_session_layers(s, in, n_in, runs, &(qdq_layer *){0}, &n_in, &err));
    qdq_free(in);
    qdq_session_close(s);
    return a;
}

/* Nodes of the layer that has `node`: "a + b". */
static const char *layer_of(const asked *a, const char *node)
{
    static char text[400];

    for (size_t i = 0; i < a->n; i++) {
        bool has = false;
        text[0] = '\0';
        for (size_t k = 0; k < a->g[i].n_nodes; k++) {
            has = has || strcmp(a->g[i].node[k], node) == 0;
            snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", k > 0 ? " + " : "",
                     a->g[i].node[k]);
        }
        if (has)
            return text;
    }
    return "nobody";
}

static void both_levels_find_the_same_groups(void **state)
{
    static const qdq_opt_level levels[] = {QDQ_LEVEL_EXTENDED, QDQ_LEVEL_ALL};
    qdq_engine *e = need_ort();
    qdq_model *m = test_graph("conv");

    (void)state;
    for (size_t i = 0; i < 2; i++)
        for (unsigned runs = 0; runs < 3; runs += 2) {
            asked a = ask(e, m, levels[i], runs);
            /* The CPU's level "extended" leaves the Add to the layout of "all". */
            assert_string_equal(layer_of(&a, "conv"),
                                levels[i] == QDQ_LEVEL_ALL ? "conv + Add@u + relu" : "conv");
            assert_string_equal(layer_of(&a, "other"), "other");
            assert_string_equal(layer_of(&a, "third"), "third + act");
            assert_string_equal(layer_of(&a, "soft"), "soft");
            assert_true(isnan(a.g[0].median_us) == (runs == 0));
            assert_string_equal(a.g[a.n - 1].op, "Softmax");
            assert_string_equal(a.g[a.n - 1].in_type, "f32");
            qdq_free(a.g);
        }
    asked a = ask(e, m, QDQ_LEVEL_NONE, 2);
    assert_string_equal(layer_of(&a, "conv"), "conv");
    assert_int_equal(a.n, 7);
    qdq_free(a.g);
    qdq_model_free(m);
}

static void kernels_on_codes_have_their_q_and_dq(void **state)
{
    const char *text = test_graph_text(__func__);
    qdq_engine *e = need_ort();
    qdq_model *m = test_model(text);

    (void)state;
    asked a = ask(e, m, QDQ_LEVEL_ALL, 2);
    bool found = false;
    for (size_t i = 0; i < a.n; i++)
        if (strcmp(a.g[i].op, "QLinearConv") == 0) {
            found = true;
            assert_string_equal(a.g[i].in_type, "u8");
            assert_string_equal(a.g[i].out_type, "u8");
            assert_false(a.g[i].conversion);
            assert_int_equal(a.g[i].source, QDQ_LAYER_SLICE);
        }
    assert_true(found);
    const char *nodes = layer_of(&a, "conv");
    assert_non_null(strstr(nodes, "DequantizeLinear@xd"));
    assert_non_null(strstr(nodes, "DequantizeLinear@wd"));
    assert_non_null(strstr(nodes, "QuantizeLinear@rq"));
    qdq_free(a.g);
    qdq_model_free(m);
}

/* At least 98 % of the time of what is computed belongs to nodes. convnext_tiny is the one
 * that layouts and Transposes turn inside out. */
static void nearly_all_time_of_a_network_has_its_nodes(void **state)
{
    static const char *const names[] = {"mobilenet_v2", "convnext_tiny"};
    qdq_engine *e = need_ort();

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        qdq_model *m = test_skeleton(names[i]);
        asked a = ask(e, m, QDQ_LEVEL_ALL, 2);
        assert_true(qdq_layers_add(a.g, a.n).attributed >= 0.98);
        qdq_free(a.g);
        qdq_model_free(m);
    }
}

static unsigned n_warnings;

static void count_warnings(void *ctx, qdq_log_level level, const char *text)
{
    (void)ctx;
    n_warnings +=
        level == QDQ_LOG_WARNING && strstr(text, "layers get their nodes by name") != NULL;
}

/* No provider that compiles nodes is to be had here: a library in front of the real one refuses as
 * they do. */
static void where_the_graph_cannot_be_written_names_tell_the_nodes(void **state)
{
    qdq_engine *real = need_ort(), *e;
    qdq_session_opts opts = QDQ_SESSION_OPTS_INIT;
    qdq_engine_opts engine_opts = QDQ_ENGINE_OPTS_INIT;
    qdq_job job = QDQ_JOB_INIT;
    qdq_model *m = test_graph("conv");
    qdq_session *s;
    qdq_layer *g;
    size_t n;

    (void)state;
    setenv("FAKE_ORT_REAL", qdq_engine_get_info(real)->library, 1);
    job.log = count_warnings;
    engine_opts.job = &job;
    assert_ok(qdq_engine_open("ort:" QDQ_BUILD_DIR "/tests/fake_ort_compiler.so", &engine_opts, &e,
                              &err));
    n_warnings = 0;
    asked a = ask(e, m, QDQ_LEVEL_ALL, 2);
    assert_int_equal(n_warnings, 1);
    assert_string_equal(layer_of(&a, "conv"), "conv");
    assert_string_equal(layer_of(&a, "soft"), "soft");
    assert_string_equal(layer_of(&a, "act"), "act"); /* the kernel is called after what it gives */
    assert_string_equal(layer_of(&a, "third"), "nobody");
    qdq_free(a.g);
    opts.layers = true;
    assert_ok(qdq_session_open(e, m, &opts, &s, &err));
    assert_fails(QDQ_E_UNSUPPORTED, "its layers are known from a timed run alone",
                 qdq_session_layers(s, NULL, 0, 0, &g, &n, &err));
    qdq_session_close(s);
    qdq_engine_close(e);
    qdq_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_levels_find_the_same_groups),
        cmocka_unit_test(kernels_on_codes_have_their_q_and_dq),
        cmocka_unit_test(where_the_graph_cannot_be_written_names_tell_the_nodes),
        cmocka_unit_test(nearly_all_time_of_a_network_has_its_nodes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
