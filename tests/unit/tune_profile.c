/* tune_profile.c - whose time a profile's layers are: named as ONNX Runtime names them, fused,
 * converted, unknown. */
#include "support/test.h"
#include "tune/measure/layer_times.h"

static const char network[] =
    "g (float[1,4,8,8] x) => (float[1,4,8,8] y) <float[4,4,1,1] w = {%s}> {"
    " [conv1] a = Conv(x, w) [relu1] r = Relu(a) [conv2] b = Conv(r, w) [side] s = Conv(r, w)"
    " [add] c = Add(b, s) [relu2] y = Relu(c) }";

typedef struct attributed {
    qdq_model *m;
    qdq_arena arena;
    qdq_tune_times times;
} attributed;

static attributed attribute(const qdq_layer *layer, size_t n)
{
    attributed a = {.arena = QDQ_ARENA_INIT};
    char zeros[200] = "0", text[1000];
    qdq_error err = QDQ_ERROR_INIT;

    for (int i = 1; i < 16; i++)
        strcat(zeros, ", 0");
    snprintf(text, sizeof text, network, zeros);
    a.m = test_model(text);
    assert_ok(qdq_tune_attribute(a.m->graph, layer, n, &a.arena, &a.times, &err));
    return a;
}

/* Layers in order of execution. */
#define ATTRIBUTE(...)                                                                             \
    attribute((const qdq_layer[]){__VA_ARGS__},                                                    \
              sizeof((const qdq_layer[]){__VA_ARGS__}) / sizeof(qdq_layer))

static void done(attributed *a)
{
    qdq_model_free(a->m);
    qdq_arena_free(&a->arena);
}

static double own(const attributed *a, const char *node)
{
    QDQ_FOR_NODES (n, a->m->graph)
        if (strcmp(n->name, node) == 0)
            return a->times.own[n->id];
    return -1;
}

static double boundary(const attributed *a, const char *node)
{
    QDQ_FOR_NODES (n, a->m->graph)
        if (strcmp(n->name, node) == 0)
            return a->times.boundary[n->id];
    return -1;
}

static double converted(const attributed *a, const char *value, double conversions)
{
    const qdq_value *v = qdq_graph_find(a->m->graph, value);

    assert_true(a->times.conversions[v->id] == conversions);
    return a->times.converted[v->id];
}

TEST(a_fused_kernel_is_called_after_its_end_and_belongs_to_its_conv)
{
    attributed a = ATTRIBUTE({.layer = "r_nchwc", .op = "Conv", .median_us = 5},
                             {.layer = "s_nchwc", .op = "Conv", .median_us = 7},
                             {.layer = "y_nchwc", .op = "Conv", .median_us = 9});

    assert_true(own(&a, "conv1") == 5 && own(&a, "relu1") == 0);
    assert_true(own(&a, "side") == 7 &&
                own(&a, "conv2") == 9); /* of two in front of the Add, the other is taken */
    assert_true(a.times.is_known && a.times.sum == 21 && a.times.known == 21);
    done(&a);
}

TEST(kernels_on_codes_keep_the_name_of_the_node)
{
    attributed a = ATTRIBUTE(
        {.layer = "x_QuantizeLinear", .op = "QuantizeLinear", .median_us = 1},
        {.layer = "conv1_token_12", .op = "QLinearConv", .median_us = 5},
        {.layer = "r_DequantizeLinear/duplicated", .op = "DequantizeLinear", .median_us = 2},
        {.layer = "add", .op = "QLinearAdd", .median_us = 3});

    assert_true(own(&a, "conv1") == 5 && own(&a, "add") == 3);
    assert_true(boundary(&a, "conv1") == 1); /* who reads x */
    assert_true(boundary(&a, "relu1") == 2 && boundary(&a, "conv2") == 2 &&
                boundary(&a, "side") == 2);
    assert_true(converted(&a, "x", 1) == 1 && converted(&a, "r", 1) == 2 &&
                converted(&a, "a", 0) == 0);
    assert_true(a.times.n_rows == 4);
    done(&a);
}

TEST(a_conversion_without_a_name_belongs_to_the_kernels_around_it)
{
    attributed a =
        ATTRIBUTE({.layer = "conv1", .op = "Conv", .median_us = 5},
                  {.layer = "ReorderOutput_token_2", .op = "ReorderOutput", .median_us = 2},
                  {.layer = "relu1", .op = "Relu", .median_us = 1},
                  {.layer = "nobody", .op = "Gelu", .median_us = 1},
                  {.layer = "Transpose", .op = "Transpose", .median_us = 4},
                  {.layer = "conv2", .op = "Conv", .median_us = 5});

    assert_true(boundary(&a, "conv1") == 2 && boundary(&a, "relu1") == 2);
    assert_true(boundary(&a, "conv2") == 4);
    assert_true(converted(&a, "a", 1) == 2 && converted(&a, "r", 0) == 0);
    done(&a);
}

/* TensorRT's names hold those of several nodes, its copies that of who reads them, and its weights
 * stand in front. */
TEST(a_layer_that_is_called_after_several_nodes_belongs_to_its_products)
{
    attributed a = ATTRIBUTE({.layer = "w + conv1 + relu1",
                              .op = "CaskConvolution",
                              .median_us = 5,
                              .node = (const char *const[]){"conv1", "relu1", "r_QuantizeLinear"},
                              .n_nodes = 3},
                             {.layer = "{ForeignNode[conv2...relu2]}",
                              .op = "Myelin",
                              .median_us = 8,
                              .node = (const char *const[]){"relu2", "conv2", "side", "add"},
                              .n_nodes = 4},
                             {.layer = "PWN(add, relu2)",
                              .op = "PointWise",
                              .median_us = 3,
                              .node = (const char *const[]){"add", "relu2"},
                              .n_nodes = 2});

    assert_true(own(&a, "conv1") == 5 && own(&a, "relu1") == 0);
    assert_true(own(&a, "conv2") == 4 && own(&a, "side") == 4); /* as fusion groups share it */
    assert_true(own(&a, "add") == 3 && own(&a, "relu2") == 0);
    assert_true(a.times.reported == 16 && a.times.known == 16 && a.times.n_rows == 3);
    done(&a);
}

TEST(a_reformat_belongs_to_the_tensor_that_the_engine_tells)
{
    attributed a = ATTRIBUTE({.layer = "conv1", .op = "CaskConvolution", .median_us = 5},
                             {.layer = "side", .op = "CaskConvolution", .median_us = 5},
                             {.layer = "Reformatting CopyNode for Input Tensor 0 to conv2",
                              .op = "Reformat",
                              .median_us = 2,
                              .node = (const char *const[]){"conv2"},
                              .n_nodes = 1,
                              .conversion = true,
                              .tensor = "r_QuantizeLinear_Output"},
                             {.layer = "conv2", .op = "CaskConvolution", .median_us = 5},
                             {.layer = "c copy",
                              .op = "Reformat",
                              .median_us = 1,
                              .conversion = true,
                              .tensor = "other"},
                             {.layer = "r_QuantizeLinear", .op = "Reformat", .median_us = 4});

    assert_true(converted(&a, "r", 2) == 6 && converted(&a, "s", 0) == 0);
    /* no tensor of this model: that of the kernel before */
    assert_true(converted(&a, "b", 1) == 1);
    assert_true(boundary(&a, "relu1") == 6 && boundary(&a, "conv2") == 7 &&
                boundary(&a, "conv1") == 0);
    assert_true(a.times.reported == 2 && a.times.sum == 22);
    done(&a);
}

TEST(layers_of_another_network_say_nothing)
{
    attributed a = ATTRIBUTE({.layer = "encoder", .op = "MatMul", .median_us = 50},
                             {.layer = "relu1", .op = "Relu", .median_us = 1});

    assert_false(a.times.is_known);
    assert_true(a.times.sum == 51);
    done(&a);
    a = attribute(NULL, 0);
    assert_false(a.times.is_known);
    done(&a);
}
