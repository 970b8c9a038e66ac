/* engine_layer_file.c - layers of an engine in files: written and read again, and what is
 * refused. */
#include "engine/layer_file.h"

#include <math.h>

#include "base/file.h"
#include "support/test.h"
#include "tune/group/graph_file.h"

static qdq_error err;

static const qdq_engine_info info = {
    .name = "sim", .version = "1", .library = "", .device = "cpu", .fingerprint = "sim 1"};

static const char *const nodes[] = {"a", "b"};
static const qdq_layer layers[] = {
    {"a + b", "Fused", "u8", "f32", 12.5, 0, false, nodes, 2, QDQ_LAYER_EXACT, ""},
    {"\"odd\"", "Reorder", "", "", NAN, 0, true, nodes, 0, QDQ_LAYER_NONE, "t"},
    {"b", "Abs", "f32", "f32", 0, 0, false, nodes + 1, 1, QDQ_LAYER_SLICE, NULL},
};

static void assert_same(const qdq_layer *g, size_t n)
{
    assert_int_equal(n, QDQ_COUNT(layers));
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(g[i].layer, layers[i].layer);
        assert_string_equal(g[i].op, layers[i].op);
        assert_string_equal(g[i].tensor, layers[i].tensor != NULL ? layers[i].tensor : "");
        assert_string_equal(g[i].in_type, layers[i].in_type);
        assert_string_equal(g[i].out_type, layers[i].out_type);
        assert_true(isnan(layers[i].median_us) ? isnan(g[i].median_us)
                                               : g[i].median_us == layers[i].median_us);
        assert_int_equal(g[i].conversion, layers[i].conversion);
        assert_int_equal(g[i].source, layers[i].source);
        assert_int_equal(g[i].n_nodes, layers[i].n_nodes);
        for (size_t k = 0; k < g[i].n_nodes; k++)
            assert_string_equal(g[i].node[k], layers[i].node[k]);
    }
}

TEST(what_is_written_is_read_again)
{
    qdq_model *m = test_graph("text");
    const char *path = test_path("a.json");
    qdq_layer *g;
    size_t n;

    for (int i = 0; i < 2; i++) { /* over the older one */
        assert_ok(qdq_layers_write(path, layers, QDQ_COUNT(layers), &info, &err));
        assert_ok(qdq_layers_read(m, path, NULL, NULL, &g, &n, &err));
        assert_same(g, n);
        qdq_free(g);
    }
    assert_fails(QDQ_E_USAGE, "has times itself",
                 qdq_layers_read(m, path, path, NULL, &g, &n, &err));
    assert_fails(QDQ_E_IO, "nowhere",
                 qdq_layers_read(m, test_path("nowhere"), NULL, NULL, &g, &n, &err));
    qdq_model_free(m);
}

TEST(mistakes_have_their_place)
{
    static const struct {
        const char *text, *part;
    } wrong[] = {
        {"{\"qdq_layers\": 2, \"layers\": []}", "qdq_layers"},
        {"{\"qdq_layers\": 1, \"layers\": [{\"kernel\": \"Relu\"}]}", "layers[0]"},
        {"{\"qdq_layers\": 1, \"layers\": [{\"layer\": \"a\", \"us\": -1}]}", "us"},
        {"{\"qdq_layers\": 1, \"layers\": [{\"layer\": \"a\", \"by\": \"guess\"}]}", "by"},
        {"{\"qdq_layers\": 1, \"layers\": [{\"layer\": \"a\", \"nodes\": [3]}]}", "nodes"},
        {"{\"qdq_layers\": 1, \"layers\": 7}", "layers"},
        {"{\"qdq_layers\": 1", "a.json"},
    };
    qdq_layer *g;
    size_t n;

    for (size_t i = 0; i < QDQ_COUNT(wrong); i++) {
        err = (qdq_error)QDQ_ERROR_INIT;
        if (qdq_layer_file_parse(wrong[i].text, strlen(wrong[i].text), "a.json", &g, &n, &err) ==
            QDQ_OK)
            fail_msg("read: %s", wrong[i].text);
        if (strstr(err.text, wrong[i].part) == NULL)
            fail_msg("'%s' is not in '%s'", wrong[i].part, err.text);
        assert_null(g);
    }
}

/* What an in-process engine said lies in the folder as one file that can be read, and a log. */
TEST(the_folder_of_a_run_has_layers_and_a_log)
{
    qdq_model *m = test_graph("text");
    qdq_graph_file f = {
        .dir = test_dir(), .name = "net", .precision = "fp32", .info = &info, .model = m};
    qdq_layer *g;
    size_t n, size;
    char *log;

    assert_fails(QDQ_E_IO, "net.fp32.graph.json", qdq_graph_file_read(&f, NULL, &g, &n, &err));
    assert_ok(qdq_graph_file_write(&f, layers, QDQ_COUNT(layers), &err));
    assert_ok(qdq_graph_file_read(&f, NULL, &g, &n, &err));
    assert_same(g, n);
    qdq_free(g);
    assert_ok(qdq_read_file(test_path("net.fp32.build.log"), 1000, &log, &size, &err));
    assert_non_null(strstr(log, "sim 1 on cpu, one build, 3 layers"));
    qdq_free(log);
    qdq_model_free(m);
}

/* Names of files say nothing: fingerprints do. */
TEST(layers_of_another_fingerprint_are_not_read)
{
    qdq_model *m = test_graph("text");
    qdq_graph_file f = {
        .dir = test_dir(), .name = "of", .precision = "fp32", .info = &info, .model = m};
    const char *graph = test_path("of.fp32.graph.json");
    qdq_layer *g;
    size_t n;
    bool is;

    f.fingerprint = "0123";
    assert_fails(QDQ_E_IO, "of.fp32.graph.json", qdq_graph_file_read(&f, NULL, &g, &n, &err));
    assert_ok(qdq_graph_file_write(&f, layers, QDQ_COUNT(layers), &err));
    assert_ok(qdq_graph_file_read(&f, NULL, &g, &n, &err));
    assert_same(g, n);
    qdq_free(g);
    f.fingerprint = "0124";
    assert_fails(QDQ_E_UNSUPPORTED, "expected the fingerprint 0124",
                 qdq_graph_file_read(&f, NULL, &g, &n, &err));
    assert_null(g);
    /* of nobody knows what */
    assert_ok(qdq_layers_write(graph, layers, QDQ_COUNT(layers), &info, &err));
    assert_fails(QDQ_E_UNSUPPORTED, "graph.json", qdq_graph_file_read(&f, NULL, &g, &n, &err));
    f.fingerprint = NULL;
    assert_ok(qdq_graph_file_read(&f, NULL, &g, &n, &err));
    qdq_free(g);
    assert_ok(qdq_write_file(graph, true, "{\"fingerprint\": \"0124\"}", 23, &err));
    assert_ok(qdq_layer_file_is_of(graph, "0124", &is, &err));
    assert_false(is); /* whatever that is */
    assert_ok(qdq_write_file(graph, true, "{\"qdq_layers\": 1, \"finge", 25, &err));
    assert_ok(qdq_layer_file_is_of(graph, "0124", &is, &err));
    assert_false(is);
    qdq_model_free(m);
}
