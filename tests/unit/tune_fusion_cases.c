/* tune_fusion_cases.c - groups, from files as trtexec exports them and from what ONNX Runtime
 * writes, to the partition. */
#include "base/file.h"
#include "engine/ort/optimized_nodes.h"
#include "ir/shape.h"
#include "support/build.h"
#include "support/layers.h"
#include "support/test.h"
#include "tune/extract/group_model.h"

static qdq_error err;

static qdq_model *typed(const char *text)
{
    qdq_model *m = test_model(text);

    assert_ok(qdq_model_infer(m, NULL, &err));
    return m;
}

/* The groups that follow from layer information; consumes m. */
static void assert_exported(qdq_model *m, const char *json, const char *want, const char *sources)
{
    const char *path = test_path("layers.json");
    char found[100] = "";
    qdq_fusions *f;
    qdq_layer *g;
    size_t n;

    assert_ok(qdq_write_file(path, true, json, strlen(json), &err));
    assert_ok(qdq_layers_read(m, path, NULL, NULL, &g, &n, &err));
    assert_ok(qdq_fusions_find(m, g, n, NULL, &f, &err));
    assert_string_equal(test_fusions_text(f), want);
    for (uint32_t i = 0; i < f->n; i++)
        snprintf(found + strlen(found), sizeof found - strlen(found), "%s ",
                 qdq_fusion_source_name(f->at[i].source));
    assert_string_equal(found, sources);
    test_fusions_sound(f);
    qdq_fusions_free(f);
    qdq_free(g);
    qdq_model_free(m);
}

#define TENSOR(name) "{\"Name\":\"" name "\",\"Dimensions\":[4,4],\"Format/Datatype\":\"Half\"}"

TEST(myelin_writes_dots_as_underscores)
{
    assert_exported(typed(test_graph_text(__func__)),
                    "{\"Layers\":[{\"Name\":\"/b_0/MatMul+/b_0/Add_myl0_2\",\"LayerType\":\"gemm\","
                    "\"Inputs\":[],\"Outputs\":[]}],\"Bindings\":[]}",
                    "/b.0/MatMul /b.0/Add", "exact ");
}

/* Two nodes could be meant: the tensors decide. */
TEST(an_ambiguous_name_falls_back_to_the_slice)
{
    assert_exported(
        typed(test_graph_text(__func__)),
        "{\"Layers\":[{\"Name\":\"/b_0/MatMul+/b_0/"
        "Add_myl0_2\",\"LayerType\":\"gemm\",\"Inputs\":[" TENSOR("x") "],\"Outputs\":[" TENSOR(
            "y") "]},"
                 "{\"Name\":\"z\",\"LayerType\":\"gemm\",\"Inputs\":[" TENSOR(
                     "y") "],\"Outputs\":[" TENSOR("z") "]}],"
                                                        "\"Bindings\":[]}",
        "/b.0/MatMul /b.0/Add | /b_0/MatMul", "slice exact ");
}

TEST(pointwise_siblings_and_names_with_separators)
{
    assert_exported(typed(test_graph_text("pointwise")),
                    "{\"Layers\":[{\"Name\":\"PWN(PWN(/a/Sigmoid), "
                    "PWN(/a/Mul))\",\"LayerType\":\"PointWiseV2\","
                    "\"Inputs\":[],\"Outputs\":[]}],\"Bindings\":[]}",
                    "/a/Sigmoid /a/Mul", "exact ");
    assert_exported(typed(test_graph_text("siblings")),
                    "{\"Layers\":[{\"Name\":\"q || k || "
                    "v\",\"LayerType\":\"gemm\",\"Inputs\":[],\"Outputs\":[]}],"
                    "\"Bindings\":[]}",
                    "q k v", "exact ");
    assert_exported(typed(test_graph_text("names_with_separators")),
                    "{\"Layers\":[{\"Name\":\"x + "
                    "y\",\"LayerType\":\"PointWise\",\"Inputs\":[],\"Outputs\":[]},"
                    "{\"Name\":\"x\",\"LayerType\":\"PointWise\",\"Inputs\":[],\"Outputs\":[]},"
                    "{\"Name\":\"y\",\"LayerType\":\"PointWise\",\"Inputs\":[],\"Outputs\":[]}],"
                    "\"Bindings\":[]}",
                    "x + y | x | y", "exact exact exact ");
}

/* Layers as ONNX Runtime's optimized graphs tell them, at level "extended" and at "all". */
TEST(both_levels_give_one_group)
{
    const char *source = test_graph_text("source");
    const char *const dumps[] = {test_graph_text("extended_level"), test_graph_text("all_level")};
    qdq_model *m = typed(source);

    for (size_t d = 0; d < QDQ_COUNT(dumps); d++) {
        qdq_model *dump = test_model(dumps[d]);
        qdq_arena arena = QDQ_ARENA_INIT;
        qdq_optimized_node *o;
        qdq_fusions *f;
        size_t n;
        assert_ok(qdq_optimized_nodes(m->graph, dump->graph, &arena, &o, &n, &err));
        qdq_layer *g = qdq_arena_array(&arena, n + 1, sizeof *g);
        assert_non_null(g);
        for (size_t i = 0; i < n; i++) {
            const char **label = qdq_arena_array(&arena, o[i].nodes.n + 1, sizeof *label);
            for (size_t k = 0; k < o[i].nodes.n; k++)
                label[k] = qdq_node_label(o[i].nodes.at[k], &arena);
            g[i] = (qdq_layer){"layer",         "kernel", "",           "",          1,   0,
                               o[i].conversion, label,    o[i].nodes.n, o[i].source, NULL};
        }
        assert_ok(qdq_fusions_find(m, g, n, NULL, &f, &err));
        assert_string_equal(test_fusions_text(f), "conv add relu");
        assert_int_equal(f->at[0].source, QDQ_FUSION_SLICE);
        qdq_fusions_free(f);
        qdq_arena_free(&arena);
        qdq_model_free(dump);
    }
    qdq_model_free(m);
}

TEST(a_group_has_the_pairs_of_the_whole_model)
{
    test_layers l = TEST_LAYERS("QLinearMatMul a+wq", "QLinearMatMul b+wq", "Erf e");
    qdq_model *m = typed(test_graph_text("shared"));
    qdq_shape_range *range;
    qdq_fusions *f;

    assert_ok(qdq_fusions_find(m, l.at, l.n, NULL, &f, &err));
    test_fusions_sound(f);
    assert_ok(qdq_shape_range_open(m, NULL, &range, &err));
    for (uint32_t i = 0; i < f->n; i++) {
        const qdq_group_model_opts o = {.halo = true, .range = range};
        qdq_group_model *g;
        assert_ok(qdq_group_model_make(f, i, &o, &g, &err));
        assert_non_null(g->model);
        const qdq_graph *at = g->model->graph;
        const qdq_value *y = qdq_graph_find(at, "y"), *e = qdq_graph_find(at, "e");
        if (e != NULL) /* what cannot be quantized reads the tensor as it was */
            assert_string_equal(qdq_node_in(e->producer, 0)->name, "x");
        if (y != NULL) {
            const qdq_node *weight = qdq_node_in(y->producer, 1)->producer;
            const qdq_value *d = qdq_graph_find(at, "d");
            assert_int_equal(qdq_node_int(weight, "axis", -1), 1);
            assert_int_equal(qdq_value_const(qdq_node_in(weight, 1))->rank, 1);
            assert_int_equal(qdq_value_const(qdq_node_in(weight, 1))->dim[0], 3);
            if (d->producer != NULL)
                assert_int_equal(qdq_value_const(qdq_node_in(d->producer, 1))->rank, 0);
            assert_int_equal(qdq_node_in(y->producer, 0) == d, 1);
        }
        qdq_group_model_free(g);
    }
    qdq_shape_range_close(range);
    qdq_fusions_free(f);
    test_layers_free(&l);
    qdq_model_free(m);
}
