/* fusions_speed.c - fusion groups of large graphs: 6,000 nodes in 50 ms, 100,000 in 1 s, the
 * fastest of three runs, whatever the layers: one for each node, one for each few, one for all. */
#include <math.h>

#include "support/build.h"
#include "support/test.h"
#include "tune/group/fusions.h"

static qdq_error err;

/* Layers of `size` nodes that follow each other; every other one shares its first node with the one
 * before. */
static qdq_layer *layers_of(const qdq_model *m, size_t size, qdq_arena *arena, size_t *n)
{
    const char **label = qdq_arena_array(arena, (size_t)m->graph->n_node + 1, sizeof *label);
    qdq_layer *g = qdq_arena_array(arena, (size_t)m->graph->n_node + 1, sizeof *g);
    size_t labels = 0;

    assert_true(label != NULL && g != NULL);
    QDQ_FOR_NODES (node, m->graph)
        label[labels++] = qdq_node_label(node, arena);
    *n = 0;
    for (size_t i = 0; i < labels; i += size) {
        size_t shared = i > 0 && size > 1 && *n % 2 == 1,
               end = i + size < labels ? i + size : labels;
        g[(*n)++] = (qdq_layer){
            "layer",          "Fused",         "f32", "f32", 1, 0, false, label + i - shared,
            end - i + shared, QDQ_LAYER_EXACT, NULL};
    }
    return g;
}

static void assert_found_in(const qdq_model *m, size_t layer_size, double limit, const char *what)
{
    qdq_arena arena = QDQ_ARENA_INIT;
    size_t n;
    const qdq_layer *g = layers_of(m, layer_size, &arena, &n);
    static const char *const ops[] = {"Add", NULL}; /* the graphs have no operators of weight */
    qdq_fusion_opts opts = QDQ_FUSION_OPTS_INIT;
    double least = 1e9;
    uint32_t groups = 0;

    opts.ops = ops;

    for (int i = 0; i < 3; i++) {
        qdq_fusions *f;
        double start = test_cpu_seconds();
        assert_ok(qdq_fusions_find(m, g, n, &opts, &f, &err));
        double s = test_cpu_seconds() - start;
        least = s < least ? s : least;
        groups = f->n;
        qdq_fusions_free(f);
    }
    print_message("%s, %u nodes, %zu layers, %u groups: %.0f ms\n", what, m->graph->n_node, n,
                  groups, 1e3 * least);
    if (least > limit)
        fail_msg("%s, %zu layers: %.3f s, at most %.3f s", what, n, least, limit);
    qdq_arena_free(&arena);
}

TEST(generated_graphs_are_grouped_in_no_time)
{
    static const struct {
        long nodes;
        double limit;
    } sizes[] = {{6000, 0.05}, {100000, 1}};

    for (size_t i = 0; i < QDQ_COUNT(sizes); i++) {
        qdq_model *m = NULL;
        assert_ok(qdq_model_load(test_generated(sizes[i].nodes, ""), NULL, &m, &err));
        assert_ok(qdq_model_infer_shapes(m, &err));
        assert_found_in(m, 1, sizes[i].limit, "one each");
        assert_found_in(m, 3, sizes[i].limit, "few");
        assert_found_in(m, (size_t)sizes[i].nodes, sizes[i].limit, "all in one");
        qdq_model_free(m);
    }
}

/* A chain whose layers take every k-th node: none is convex as it is. */
TEST(layers_that_interleave_are_split_in_no_time)
{
    enum { NODES = 6000, LAYERS = 8 };
    static const char *label[LAYERS][NODES / LAYERS];
    static char name[NODES][16];
    test_builder b = test_build(17);
    qdq_layer g[LAYERS];
    const char *from = "x";
    qdq_fusions *f;

    TEST_INPUT(&b, "x", 1, 8);
    for (int i = 0; i < NODES; i++) {
        snprintf(name[i], sizeof name[i], "n%d", i);
        TEST_NODE(&b, "Softmax", name[i], from);
        label[i % LAYERS][i / LAYERS] = from = name[i];
    }
    test_output(&b, from);
    for (int k = 0; k < LAYERS; k++)
        g[k] = (qdq_layer){"layer",        "Fused",         "",  "", NAN, 0, false, label[k],
                           NODES / LAYERS, QDQ_LAYER_SLICE, NULL};
    double start = test_cpu_seconds();
    assert_ok(qdq_fusions_find(b.m, g, LAYERS, NULL, &f, &err));
    start = test_cpu_seconds() - start;
    print_message("interleaved: %u groups: %.0f ms\n", f->n, 1e3 * start);
    assert_true(start < 0.05);
    qdq_fusions_free(f);
    qdq_model_free(b.m);
}
