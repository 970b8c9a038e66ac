/* fusions_alloc.c - every allocation of reading layers, of finding fusion groups and their keys
 * fails once: an error, no crash, no leak. */
#include "base/fail.h"
#include "engine/layer_file.h"
#include "support/alloc_fail.h"
#include "support/blocks.h"
#include "support/layers.h"
#include "support/test.h"
#include "tune/group/fusion_patterns.h"
#include "tune/group/graph_file.h"

typedef struct finding {
    qdq_model *m;
    test_layers layers, quantized;
    qdq_fusion_opts opts;
} finding;

static qdq_status find(void *ctx, qdq_error *err)
{
    const finding *f = ctx;
    qdq_fusions *a = NULL, *b = NULL, *both = NULL;
    qdq_fusion_keys *keys = NULL;
    qdq_patterns *patterns = NULL;
    qdq_status st = qdq_fusions_find(f->m, f->layers.at, f->layers.n, &f->opts, &a, err);

    if (st == QDQ_OK)
        st = qdq_fusions_find(f->m, f->quantized.at, f->quantized.n, &f->opts, &b, err);
    if (st == QDQ_OK)
        st = qdq_fusions_refine(a, b, &f->opts, &both, err);
    assert_true((st == QDQ_OK) == (both != NULL));
    if (st == QDQ_OK)
        st = qdq_fusion_keys_find(both, &keys, err);
    assert_true((st == QDQ_OK) == (keys != NULL));
    if (st == QDQ_OK)
        st = qdq_fusion_patterns_make(keys, &patterns, err);
    assert_true((st == QDQ_OK) == (patterns != NULL));
    qdq_patterns_free(patterns);
    qdq_fusion_keys_free(keys);
    qdq_fusions_free(both);
    qdq_fusions_free(b);
    qdq_fusions_free(a);
    return st;
}

TEST(finding_groups_survives_every_allocation_failure)
{
    test_builder b = test_build_planes();
    finding f = {.opts = QDQ_FUSION_OPTS_INIT};

    test_residual_blocks(&b, 0);
    f.m = test_built(&b);
    f.opts.max_ops = 3;
    f.opts.min_matched = 0.1;
    f.layers =
        TEST_LAYERS("Myelin stem+s+a1+b1+c1+d1+e1+a2 9", "Conv a2+c2+e2 3", "Conv b3 2", "wait -");
    f.quantized = TEST_LAYERS("Conv a1+b1 2", "Conv a2+b2", "Conv c2", "Conv a3+b3+x_q");
    assert_true(test_every_alloc_fails(find, &f) >= 10);
    test_layers_free(&f.layers);
    test_layers_free(&f.quantized);
    qdq_model_free(f.m);
}

static qdq_status read_file(void *ctx, qdq_error *err)
{
    const char *text = ctx;
    qdq_layer *g;
    size_t n;
    qdq_status st = qdq_layer_file_parse(text, strlen(text), "a.json", &g, &n, err);

    assert_int_equal(n, st == QDQ_OK ? 2 : 0);
    qdq_free(g);
    return st;
}

TEST(reading_layers_survives_every_allocation_failure)
{
    static char text[] =
        "{\"qdq_layers\": 1, \"layers\": [{\"layer\": \"a\", \"kernel\": \"Conv\", \"us\": 3, "
        "\"by\": \"exact\", \"nodes\": [\"a\", \"b\"]}, {\"layer\": \"c\"}]}";

    assert_true(test_every_alloc_fails(read_file, text) >= 2);
}

/* What a run leaves in its folder, and finds there. */
static qdq_status write_and_read(void *ctx, qdq_error *err)
{
    static const qdq_engine_info info = {
        .name = "sim", .version = "1", .device = "cpu", .fingerprint = "sim 1 cpu"};
    static const char *const nodes[] = {"a", "b"};
    static const qdq_layer layer = {.layer = "k",
                                    .op = "Conv",
                                    .in_type = "",
                                    .out_type = "",
                                    .median_us = 3,
                                    .node = nodes,
                                    .n_nodes = 2};
    const qdq_graph_file f = {.dir = test_dir(),
                              .name = "net",
                              .precision = "fp32",
                              .info = &info,
                              .model = ctx,
                              .fingerprint = "0123"};
    qdq_layer *g = NULL;
    size_t n;

    QDQ_TRY(qdq_graph_file_write(&f, &layer, 1, err));
    qdq_status st = qdq_graph_file_read(&f, NULL, &g, &n, err);
    assert_int_equal(n, st == QDQ_OK ? 1 : 0);
    qdq_free(g);
    return st;
}

TEST(layers_in_a_folder_survive_every_allocation_failure)
{
    qdq_model *m =
        test_model("g (float[1,8] x) => (float[1,8] y) { [a] t = Relu(x) [b] y = Tanh(t) }");

    (void)test_dir(); /* makes it */
    assert_true(test_every_alloc_fails(write_and_read, m) >= 10);
    qdq_model_free(m);
}
