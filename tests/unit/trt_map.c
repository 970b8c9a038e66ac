/* trt_map.c - from the layers of TensorRT to the nodes of the model: names in every form, metadata,
 * slices. */
#include "engine/trt/trt_map.h"
#include "engine/trt/trt_names.h"
#include "support/test.h"

static qdq_error err;
static qdq_arena arena;
static qdq_trt_layers info;
static qdq_trt_nodes nodes[16];

/* All nodes of layer i: "a b | q" with Q and DQ behind the bar. */
static const char *text_of(const qdq_trt_nodes *n)
{
    static char text[500];
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < n->n; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", used > 0 ? " " : "",
                                 qdq_node_label(n->at[i], &arena));
    for (size_t i = 0; i < n->n_qdq; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", i == 0 ? " | " : " ",
                                 qdq_node_label(n->qdq[i], &arena));
    return text;
}

static void map(const char *model, const char *json)
{
    qdq_model *m = test_model(model);

    qdq_arena_free(&arena);
    assert_ok(qdq_trt_layers_parse(json, strlen(json), 0, &arena, &info, &err));
    assert_true(info.n <= QDQ_COUNT(nodes));
    assert_ok(qdq_trt_map(&info, m->graph, &arena, nodes, &err));
    for (size_t i = 0; i < info.n; i++) { /* they outlive this function as texts only */
        static char texts[QDQ_COUNT(nodes)][500];
        snprintf(texts[i], sizeof texts[i], "%s", text_of(&nodes[i]));
        info.at[i].tactic = texts[i];
        static char tensors[QDQ_COUNT(nodes)][50];
        snprintf(tensors[i], sizeof tensors[i], "%s",
                 nodes[i].tensor != NULL ? nodes[i].tensor->name : "");
        info.at[i].parameter_type = tensors[i];
    }
    qdq_model_free(m);
}

#define assert_layer(i, want, from)                                                                \
    do {                                                                                           \
        assert_string_equal(info.at[i].tactic, want);                                              \
        assert_int_equal(nodes[i].source, from);                                                   \
    } while (0)

#define CHAIN                                                                                      \
    "graph (float[1,4] x) => (float[1,4] y) <float[4,4] w = {1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1}> {"  \
    " [\"/l0/MatMul\"] a = MatMul(x, w) [\"/l0/Relu\"] b = Relu(a) [\"/l1/Sigmoid\"] c = "         \
    "Sigmoid(b)"                                                                                   \
    " [\"/l1/Mul\"] d = Mul(b, c) [\"/l2/Relu\"] y = Relu(d) }"

/* Layers that have names only. */
static void map_names(const char *model, const char *const *names)
{
    char json[2000];
    size_t used = (size_t)snprintf(json, sizeof json, "[");

    for (size_t i = 0; names[i] != NULL; i++)
        used += (size_t)snprintf(json + used, sizeof json - used, "%s{\"Name\":\"%s\"}",
                                 i > 0 ? "," : "", names[i]);
    snprintf(json + used, sizeof json - used, "]");
    map(model, json);
}

TEST(names_of_every_form_give_their_nodes)
{
    static const char *const names[] = {"/l0/MatMul + /l0/Relu",
                                        "PWN(PWN(/l1/Sigmoid), PWN(/l1/Mul))",
                                        "/l0/MatMul || /l0/Relu || /l2/Relu",
                                        "w + /l0/MatMul",
                                        "Reformatting CopyNode for Input Tensor 0 to /l2/Relu",
                                        "reshape_after_/l0/MatMul",
                                        "[UNARY]-[aten_ops.relu.default]-[/l2/Relu]",
                                        "b copy",
                                        "(Unnamed Layer* 30) [Shuffle]",
                                        "__myl_AddMulErf_myl5_1",
                                        "{ForeignNode[/l0/Relu.../l2/Relu]}",
                                        "y copy",
                                        NULL};

    map_names(CHAIN, names);
    assert_layer(0, "/l0/MatMul /l0/Relu", QDQ_TRT_NAME);
    assert_layer(1, "/l1/Sigmoid /l1/Mul", QDQ_TRT_NAME);
    assert_layer(2, "/l0/MatMul /l0/Relu /l2/Relu", QDQ_TRT_NAME);
    assert_layer(3, "/l0/MatMul", QDQ_TRT_NAME);
    assert_layer(4, "/l2/Relu", QDQ_TRT_NAME);
    assert_layer(5, "/l0/MatMul", QDQ_TRT_NAME);
    assert_layer(6, "/l2/Relu", QDQ_TRT_NAME);
    assert_layer(7, "/l1/Sigmoid", QDQ_TRT_NAME); /* who reads it */
    assert_layer(8, "", QDQ_TRT_NO_SOURCE);
    assert_layer(9, "", QDQ_TRT_NO_SOURCE);
    assert_layer(10, "", QDQ_TRT_NO_SOURCE);
    assert_layer(11, "/l2/Relu", QDQ_TRT_NAME); /* nobody reads it: who gave it */
    assert_int_equal(nodes[6].set, nodes[2].set);
    assert_int_equal(nodes[0].set, nodes[2].set);
    assert_int_equal(nodes[1].set, nodes[7].set);
}

TEST(the_longest_known_name_wins_over_delimiters)
{
    static const char *const names[] = {"x + y", "x + y + x", "x + y, z", "x + nobody", NULL};

    map_names(test_graph_text(__func__), names);
    assert_layer(0, "x + y", QDQ_TRT_NAME);
    assert_layer(1, "x + y x", QDQ_TRT_NAME);
    /* 'y, z' cannot be had as well: the longest from the left */
    assert_layer(2, "x + y", QDQ_TRT_NAME);
    assert_layer(3, "x", QDQ_TRT_NAME);
    assert_int_equal(nodes[0].set, 0);
    assert_int_equal(nodes[1].set, 0);
    assert_int_equal(nodes[3].set, 0); /* through x, which layer 1 has, too */
}

TEST(dots_come_back_where_myelin_replaced_them)
{
    static const char layer[] =
        "[{\"Name\":\"/b_0/MatMul+/b_0/Add_myl0_2\",\"Inputs\":[{\"Name\":\"x\"}],"
        "\"Outputs\":[{\"Name\":\"y\"}]}]";

    map(test_graph_text("dots"), layer);
    assert_layer(0, "/b.0/MatMul /b_0/Add", QDQ_TRT_NAME);
    assert_false(nodes[0].ambiguous);
    /* A second node that would be called the same: the name cannot be trusted, the tensors can. */
    map(test_graph_text("dots_in_two_names_that_become_one"), layer);
    assert_true(nodes[0].ambiguous);
    assert_layer(0, "/b_0/Add /b.0/MatMul", QDQ_TRT_SLICE);
}

TEST(metadata_gives_the_same_nodes_in_all_encodings)
{
    static const char *const ways[] = {"\x1e", "\\u001e", "\x1f", "\\u001f", ""};

    for (size_t i = 0; i < QDQ_COUNT(ways); i++) {
        char text[300];
        snprintf(
            text, sizeof text,
            "[{\"Name\":\"n\",\"Metadata\":\"[ONNX Layer: a]b]%s[ONNX Layer: c | F | call (G)]\"}]",
            ways[i]);
        map(test_graph_text("odd_name"), text);
        assert_layer(0, "a]b c", QDQ_TRT_METADATA);
    }
}

TEST(unnamed_nodes_are_found_by_what_they_give)
{
    map(test_graph_text(__func__),
        "[{\"Name\":\"k1\",\"Metadata\":\"[ONNX Layer: node_of_t5]\"},"
        "{\"Name\":\"node_of_b + d\"},{\"Name\":\"k3\",\"Metadata\":\"[ONNX Layer: node_of_d]\"},"
        "{\"Name\":\"k4\",\"Metadata\":\"[ONNX Layer: node_of_nothing]\"}]");
    assert_layer(0, "Relu@t5", QDQ_TRT_METADATA);
    assert_layer(1, "Relu@b d", QDQ_TRT_NAME);
    assert_layer(2, "d", QDQ_TRT_METADATA);
    assert_layer(3, "", QDQ_TRT_NO_SOURCE);
    assert_int_not_equal(nodes[0].set, nodes[1].set);
    assert_int_equal(nodes[1].set, nodes[2].set);
}

TEST(damaged_metadata_is_completed_from_the_tensors)
{
    map(test_graph_text(__func__),
        "[{\"Name\":\"k\",\"Inputs\":[{\"Name\":\"a\"}],\"Outputs\":[{\"Name\":\"e\"}],"
        "\"Metadata\":"
        "\"[ONNX Layer: /b0/Add]\\u001f[ONNX Layer: /b7/Mu ... ver: /b19/Add]\\u001f[ONNX Layer: "
        "/b20/Cast]\"},"
        "{\"Name\":\"k\",\"Metadata\":\"[ONNX Layer: /b0/Add]\\u001f[ONNX Layer: /b7/Mu ... ver: "
        "/b19/Add]"
        "\\u001f[ONNX Layer: /b20/Cast]\"}]");
    assert_true(nodes[0].truncated && nodes[1].truncated);
    assert_layer(0, "/b20/Cast /b19/Add /b7/Mul /b0/Add", QDQ_TRT_SLICE);
    assert_layer(1, "/b0/Add /b20/Cast", QDQ_TRT_METADATA);
}

TEST(slices_end_at_tensors_that_reformats_stand_in_for)
{
    map(CHAIN, "[{\"Name\":\"Reformatting CopyNode for Input Tensor 0 to "
               "k\",\"LayerType\":\"Reformat\",\"Origin\":"
               "\"REFORMAT\",\"Inputs\":[{\"Name\":\"b\"}],\"Outputs\":[{\"Name\":\"Reformatted "
               "Input Tensor 0 to "
               "k\"}]},"
               "{\"Name\":\"__myl_Etc_myl1_1\",\"LayerType\":\"kgen\",\"Inputs\":[{\"Name\":"
               "\"Reformatted Input "
               "Tensor 0 to k\"}],\"Outputs\":[{\"Name\":\"d\"}]},"
               "{\"Name\":\"__myl_Etc_myl1_2\",\"LayerType\":\"kgen\",\"Inputs\":[{\"Name\":\"not "
               "there\"}],"
               "\"Outputs\":[{\"Name\":\"y\"}]},"
               "{\"Name\":\"{ForeignNode[/l0/Relu.../l1/"
               "Mul]}\",\"Inputs\":[{\"Name\":\"a\"}],\"Outputs\":[{"
               "\"Name\":\"d\"}]}]");
    assert_layer(1, "/l1/Mul /l1/Sigmoid", QDQ_TRT_SLICE);
    assert_layer(2, "", QDQ_TRT_NO_SOURCE); /* it would have gone back to the model's input */
    assert_layer(3, "/l1/Mul /l0/Relu /l1/Sigmoid", QDQ_TRT_SLICE);
}

TEST(a_reformat_has_the_tensor_that_it_converts)
{
    map(CHAIN, "[{\"Name\":\"Reformatting CopyNode for Input Tensor 0 to "
               "k\",\"LayerType\":\"Reformat\",\"Inputs\":["
               "{\"Name\":\"b\"}],\"Outputs\":[{\"Name\":\"Reformatted Input Tensor 0 to k\"}]},"
               "{\"Name\":\"Reformatting CopyNode for Output Tensor 0 to "
               "k\",\"LayerType\":\"Reformat\",\"Inputs\":["
               "{\"Name\":\"Reformatted Output Tensor 0 to k\"}],\"Outputs\":[{\"Name\":\"d\"}]},"
               "{\"Name\":\"/l1/Mul\",\"LayerType\":\"PointWise\",\"Inputs\":[{\"Name\":\"b\"}]},"
               "{\"Name\":\"copy\",\"LayerType\":\"Reformat\",\"Inputs\":[{\"Name\":\"other\"}]}]");
    assert_string_equal(info.at[0].parameter_type, "b");
    assert_string_equal(info.at[1].parameter_type, "d");
    assert_string_equal(info.at[2].parameter_type, "");
    assert_string_equal(info.at[3].parameter_type, "");
}

TEST(q_and_dq_are_told_apart_and_join_nobody)
{
    map(test_graph_text(__func__),
        "[{\"Name\":\"q\",\"LayerType\":\"Reformat\",\"Origin\":\"QDQ\"},{\"Name\":\"r\","
        "\"Metadata\":"
        "\"[ONNX Layer: dq]\\u001e[ONNX Layer: r]\"},{\"Name\":\"n\",\"Metadata\":\"[ONNX Layer: "
        "dq]\\u001e[ONNX Layer: n]\"}]");
    assert_layer(0, " | q", QDQ_TRT_NAME);
    assert_layer(1, "r | dq", QDQ_TRT_METADATA);
    assert_layer(2, "n | dq", QDQ_TRT_METADATA);
    assert_int_equal(nodes[1].set, 1);
    assert_int_equal(nodes[2].set, 2);
}

TEST(layers_of_another_model_have_no_nodes)
{
    map(test_graph_text("odd_name"),
        "[{\"Name\":\"/other/Conv + /other/Relu\"},{\"Name\":\"k\",\"Metadata\":\"[ONNX "
        "Layer: /other/x]\","
        "\"Inputs\":[{\"Name\":\"p\"}],\"Outputs\":[{\"Name\":\"q\"}]}]");
    assert_layer(0, "", QDQ_TRT_NO_SOURCE);
    assert_layer(1, "", QDQ_TRT_NO_SOURCE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_every_form_give_their_nodes),
        cmocka_unit_test(the_longest_known_name_wins_over_delimiters),
        cmocka_unit_test(dots_come_back_where_myelin_replaced_them),
        cmocka_unit_test(metadata_gives_the_same_nodes_in_all_encodings),
        cmocka_unit_test(unnamed_nodes_are_found_by_what_they_give),
        cmocka_unit_test(damaged_metadata_is_completed_from_the_tensors),
        cmocka_unit_test(slices_end_at_tensors_that_reformats_stand_in_for),
        cmocka_unit_test(a_reformat_has_the_tensor_that_it_converts),
        cmocka_unit_test(q_and_dq_are_told_apart_and_join_nobody),
        cmocka_unit_test(layers_of_another_model_have_no_nodes),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    qdq_arena_free(&arena);
    return failed;
}
