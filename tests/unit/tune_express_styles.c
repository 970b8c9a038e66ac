/* tune_express_styles.c - files in the style of each tool, in our space: of a block with a
 * Transpose, a LayerNormalization and a residual Add; of a Concat as in SqueezeNet; of a residual
 * Add between Clips as in MobileNetV2; and of constants beside activations. */
#include "support/build.h"
#include "support/expressed.h"

/* --- a block ---------------------------------------------------------------------------------- */

/* As in ConvNeXt: the channels are last for two products, and first for the convolution and the
 * Add. */
static qdq_model *block(void)
{
    test_builder b = test_build(17);
    const int64_t there[] = {0, 2, 3, 1}, back[] = {0, 3, 1, 2};

    TEST_INPUT(&b, "x", 1, 16, 8, 8);
    test_conv(&b, "stem", "x", 16, 16, 1, 1);
    test_conv(&b, "dw", "stem", 16, 16, 7, 16);
    assert_true(qdq_node_set_ints(TEST_NODE(&b, "Transpose", "t1", "dw"), "perm", there, 4));
    TEST_RANDOM(&b, "g", 16);
    TEST_RANDOM(&b, "be", 16);
    TEST_NODE(&b, "LayerNormalization", "ln", "t1", "g", "be");
    TEST_RANDOM(&b, "w1", 16, 64);
    TEST_NODE(&b, "MatMul", "m1", "ln", "w1");
    TEST_NODE(&b, "Relu", "r", "m1");
    TEST_RANDOM(&b, "w2", 64, 16);
    TEST_NODE(&b, "MatMul", "m2", "r", "w2");
    assert_true(qdq_node_set_ints(TEST_NODE(&b, "Transpose", "t2", "m2"), "perm", back, 4));
    TEST_NODE(&b, "Add", "s", "t2", "stem");
    test_conv(&b, "head", "s", 16, 16, 1, 1);
    TEST_NODE(&b, "Softmax", "y", "head");
    test_output(&b, "y");
    return test_built(&b);
}

#define ALL_WEIGHTS "stem.w>stem:0 dw.w>dw:0 w1>m1:1 w2>m2:1 head.w>head:0"

static const test_style styles[] = {
    /* all that an operator in its list reads and gives, for all readers */
    {"ONNX Runtime", "ort-cpu", "uint8", "codes", 128, "x stem dw ln r m2 t2 s head", ALL_WEIGHTS},
    /* what linear operators and Add read, weights as floats in front of Q/DQ */
    {"NNCF", "openvino", "int8", "float", 0, "x>stem:0 stem ln>m1:0 +r>m2:0 t2>s:0 s>head:0",
     ALL_WEIGHTS},
    /* Q behind the Transpose, in front of the Add, and in front of LayerNormalization */
    {"Model-Optimizer", "tensorrt", "int8", "codes", 0,
     "x>stem:0 stem>dw:0 stem>s:1 t1>ln:0 ln>m1:0 r>m2:0 t2>s:0 s>head:0", ALL_WEIGHTS},
    /* asymmetric codes for an engine whose target has symmetric ones, and constants that no kernel
       wants */
    {"ONNX Runtime for another engine", "openvino", "uint8", "codes", 117,
     "x stem dw>t1:0 ln r m2 t2 s head", ALL_WEIGHTS " g>ln:0"},
    {"Model-Optimizer for another engine", "openvino", "int8", "codes", 0,
     "x>stem:0 stem>dw:0 stem>s:1 t1>ln:0 ln>m1:0 +r>m2:0 t2>s:0 s>head:0", ALL_WEIGHTS},
};

/* `given` as a user has it, `of` as the tool writes it. */
static void say_style(qdq_model *given, qdq_model *of, const test_style *s)
{
    qdq_model *file = test_write_style(of, s);

    test_expect_same(s->name, given, file, s->target);
    qdq_model_free(file);
    qdq_model_free(of);
}

TEST(files_in_the_styles_of_other_tools_are_said_edge_by_edge)
{
    for (size_t i = 0; i < QDQ_COUNT(styles); i++)
        say_style(block(), block(), &styles[i]);
}

/* --- activations that codes make needless ----------------------------------------------------- */

/* name = Conv and this activation; a tool that drops the activation leaves the Conv its result. */
static void conv_act(test_builder *b, const char *act, const char *name, const char *x, int64_t out,
                     int64_t in, int64_t k, int64_t group, bool dropped)
{
    char conv[40];

    snprintf(conv, sizeof conv, "%s.c", name);
    qdq_node *n = test_conv(b, dropped ? name : conv, x, out, in, k, group);
    n->name = qdq_intern(b->m, conv);
    if (dropped)
        return;
    if (strcmp(act, "Clip") == 0)
        TEST_NODE(b, act, name, conv, "low", "high");
    else
        TEST_NODE(b, act, name, conv);
}

static void put_float(test_builder *b, const char *name, float x)
{
    void *data;
    qdq_tensor *t = qdq_tensor_new(b->m, QDQ_FLOAT, 0, NULL, &data);

    assert_non_null(t);
    *(float *)data = x;
    assert_non_null(qdq_graph_add_init(b->g, name, t));
}

/* As in SqueezeNet. */
static qdq_model *fire(bool dropped)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 16, 8, 8);
    conv_act(&b, "Relu", "s", "x", 4, 16, 1, 1, dropped);
    conv_act(&b, "Relu", "e1", "s", 8, 4, 1, 1, dropped);
    conv_act(&b, "Relu", "e3", "s", 8, 4, 3, 1, dropped);
    assert_true(qdq_node_set_int(TEST_NODE(&b, "Concat", "c", "e1", "e3"), "axis", 1));
    conv_act(&b, "Relu", "head", "c", 8, 16, 1, 1, dropped);
    TEST_NODE(&b, "Softmax", "y", "head");
    test_output(&b, "y");
    return test_built(&b);
}

/* As in MobileNetV2: the Add is behind a block that has none, and in front of the next one. */
static qdq_model *inverted(bool dropped)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 16, 8, 8);
    put_float(&b, "low", 0);
    put_float(&b, "high", 6);
    conv_act(&b, "Clip", "stem", "x", 16, 16, 3, 1, dropped);
    test_conv(&b, "p0", "stem", 8, 16, 1, 1);
    conv_act(&b, "Clip", "e", "p0", 32, 8, 1, 1, dropped);
    conv_act(&b, "Clip", "d", "e", 32, 32, 3, 32, dropped);
    test_conv(&b, "p", "d", 8, 32, 1, 1);
    TEST_NODE(&b, "Add", "s", "p0", "p");
    conv_act(&b, "Clip", "head", "s", 16, 8, 1, 1, dropped);
    TEST_NODE(&b, "Softmax", "y", "head");
    test_output(&b, "y");
    return test_built(&b);
}

#define FIRE_WEIGHTS(axis)                                                                         \
    "s.w>s.c:" axis " e1.w>e1.c:" axis " e3.w>e3.c:" axis " head.w>head.c:" axis
#define FIRE_WEIGHTS_KEPT(axis)                                                                    \
    "s.c.w>s.c:" axis " e1.c.w>e1.c:" axis " e3.c.w>e3.c:" axis " head.c.w>head.c:" axis

/* Those that drop activations first. */
static const test_style fire_styles[] = {
    {"ONNX Runtime U8S8", "ort-cpu", "uint8", "codes", 0, "x s e1 e3 c head", FIRE_WEIGHTS("0")},
    {"ONNX Runtime S8S8", "ort-cpu", "int8", "codes", -128, "x s e1 e3 c head", FIRE_WEIGHTS("0")},
    {"ONNX Runtime per tensor", "ort-cpu", "uint8", "codes", 0, "x s e1 e3 c head",
     FIRE_WEIGHTS("-1")},
    {"ONNX Runtime, one scale at Concat", "ort-cpu", "uint8", "codes", 0, "x s e1 =e3 =c head",
     FIRE_WEIGHTS("0")},
    {"ONNX Runtime U8S8 for another engine", "openvino", "uint8", "codes", 117, "x s e1 e3 c head",
     FIRE_WEIGHTS("0")},
    {"ONNX Runtime S8S8 for another engine", "openvino", "int8", "codes", -128, "x s e1 e3 c head",
     FIRE_WEIGHTS("0")},
};

static const test_style fire_styles_kept[] = {
    {"NNCF", "openvino", "int8", "float", 0, "x>s.c:0 +s +e1 =+e3 +head", FIRE_WEIGHTS_KEPT("0")},
    {"NNCF, own scales", "openvino", "int8", "float", 0, "x +s +e1 +e3", FIRE_WEIGHTS_KEPT("0")},
    {"NNCF behind Concat", "openvino", "int8", "float", 0, "x +s +c>head.c:0",
     FIRE_WEIGHTS_KEPT("0")},
    {"NNCF for another engine", "ort-cpu", "int8", "float", 0, "x +s +e1 =+e3 +head",
     FIRE_WEIGHTS_KEPT("0")},
    {"Model-Optimizer", "tensorrt", "int8", "codes", 0,
     "x>s.c:0 s>e1.c:0 =s>e3.c:0 e1>c:0 =e3>c:1 =c>head.c:0", FIRE_WEIGHTS_KEPT("0")},
    {"Model-Optimizer, own scales", "tensorrt", "int8", "codes", 0,
     "x>s.c:0 s>e1.c:0 =s>e3.c:0 e1>c:0 e3>c:1 c>head.c:0", FIRE_WEIGHTS_KEPT("0")},
    {"Model-Optimizer behind Concat", "tensorrt", "int8", "codes", 0,
     "x>s.c:0 s>e1.c:0 =s>e3.c:0 c>head.c:0", FIRE_WEIGHTS_KEPT("0")},
    {"Model-Optimizer for another engine", "ort-cpu", "int8", "codes", 0,
     "x>s.c:0 s>e1.c:0 =s>e3.c:0 e1>c:0 =e3>c:1 =c>head.c:0", FIRE_WEIGHTS_KEPT("0")},
};

TEST(concats_of_fire_modules_are_said_with_own_and_with_shared_scales)
{
    for (size_t i = 0; i < QDQ_COUNT(fire_styles); i++)
        say_style(fire(false), fire(true), &fire_styles[i]);
    for (size_t i = 0; i < QDQ_COUNT(fire_styles_kept); i++)
        say_style(fire(false), fire(false), &fire_styles_kept[i]);
}

#define INVERTED_WEIGHTS(axis)                                                                     \
    "stem.w>stem.c:" axis " p0.w>p0:" axis " e.w>e.c:" axis " d.w>d.c:" axis " p.w>p:" axis        \
    " head.w>head.c:" axis
#define INVERTED_WEIGHTS_KEPT(axis)                                                                \
    "stem.c.w>stem.c:" axis " p0.w>p0:" axis " e.c.w>e.c:" axis " d.c.w>d.c:" axis " p.w>p:" axis  \
    " head.c.w>head.c:" axis

static const test_style inverted_styles[] = {
    {"ONNX Runtime U8S8", "ort-cpu", "uint8", "codes", 0, "x stem p0 e d p s head",
     INVERTED_WEIGHTS("0")},
    {"ONNX Runtime S8S8", "ort-cpu", "int8", "codes", -128, "x stem p0 e d p s head",
     INVERTED_WEIGHTS("0")},
    {"ONNX Runtime per tensor", "ort-cpu", "uint8", "codes", 0, "x stem p0 e d p s head",
     INVERTED_WEIGHTS("-1")},
    {"ONNX Runtime U8S8 for another engine", "openvino", "uint8", "codes", 117,
     "x stem p0 e d p s head", INVERTED_WEIGHTS("0")},
    {"ONNX Runtime S8S8 for another engine", "openvino", "int8", "codes", -128,
     "x stem p0 e d p s head", INVERTED_WEIGHTS("0")},
};

static const test_style inverted_styles_kept[] = {
    {"NNCF", "openvino", "int8", "float", 0, "x>stem.c:0 +stem p0 +e +d p s",
     INVERTED_WEIGHTS_KEPT("0")},
    {"NNCF, no codes between Clip and the depthwise Conv", "openvino", "int8", "float", 0,
     "x>stem.c:0 p0 +d p s", INVERTED_WEIGHTS_KEPT("0")},
    {"NNCF, one side of the Add", "openvino", "int8", "float", 0, "x +stem p0>e.c:0 +e +d p>s:1 s",
     INVERTED_WEIGHTS_KEPT("0")},
    {"NNCF for another engine", "ort-cpu", "int8", "float", 0, "x +stem p0 +e +d p s",
     INVERTED_WEIGHTS_KEPT("0")},
    {"Model-Optimizer", "tensorrt", "int8", "codes", 0,
     "x>stem.c:0 stem>p0:0 p0>e.c:0 =p0>s:0 e>d.c:0 d>p:0 s>head.c:0", INVERTED_WEIGHTS_KEPT("0")},
    {"Model-Optimizer, both sides of the Add", "tensorrt", "int8", "codes", 0,
     "x>stem.c:0 stem>p0:0 p0>e.c:0 =p0>s:0 e>d.c:0 d>p:0 p>s:1 s>head.c:0",
     INVERTED_WEIGHTS_KEPT("0")},
    {"Model-Optimizer, own scales", "tensorrt", "int8", "codes", 0,
     "x>stem.c:0 stem>p0:0 p0>e.c:0 p0>s:0 e>d.c:0 d>p:0 s>head.c:0", INVERTED_WEIGHTS_KEPT("0")},
    {"Model-Optimizer for another engine", "ort-cpu", "int8", "codes", 0,
     "x>stem.c:0 stem>p0:0 p0>e.c:0 =p0>s:0 e>d.c:0 d>p:0 s>head.c:0", INVERTED_WEIGHTS_KEPT("0")},
};

TEST(residual_adds_between_clips_are_said_on_one_side_and_on_both)
{
    for (size_t i = 0; i < QDQ_COUNT(inverted_styles); i++)
        say_style(inverted(false), inverted(true), &inverted_styles[i]);
    for (size_t i = 0; i < QDQ_COUNT(inverted_styles_kept); i++)
        say_style(inverted(false), inverted(false), &inverted_styles_kept[i]);
}

/* As a vision transformer adds its positions. */
static qdq_model *positions(void)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 4, 16);
    TEST_RANDOM(&b, "w", 16, 16);
    TEST_NODE(&b, "MatMul", "m", "x", "w");
    TEST_RANDOM(&b, "token", 1, 1, 16);
    assert_true(qdq_node_set_int(TEST_NODE(&b, "Concat", "c", "m", "token"), "axis", 1));
    TEST_RANDOM(&b, "pos", 1, 5, 16);
    TEST_NODE(&b, "Add", "s", "c", "pos");
    TEST_RANDOM(&b, "v", 16, 16);
    TEST_NODE(&b, "MatMul", "h", "s", "v");
    TEST_NODE(&b, "Softmax", "y", "h");
    test_output(&b, "y");
    return test_built(&b);
}

TEST(constant_operands_of_concat_and_add_have_the_codes_of_the_file)
{
    static const char tensors[] = "x m c s h", weights[] = "w>m:1 v>h:1 pos>s:-1 token>c:-1";
    static const test_style all[] = {
        {"ONNX Runtime", "ort-cpu", "uint8", "codes", 117, tensors, weights},
        {"ONNX Runtime for another engine", "openvino", "uint8", "codes", 117, tensors, weights},
        {"NNCF", "openvino", "int8", "float", 0, "m c s", "w>m:1 v>h:1"},
        {"NNCF with the token", "openvino", "int8", "float", 0, "x m c>s:0 s", "w>m:1 token>c:-1"},
        {"Model-Optimizer", "tensorrt", "int8", "codes", 0, "x>m:0 m>c:0 c>s:0 s>h:0",
         "w>m:1 v>h:1 pos>s:-1"},
    };

    for (size_t i = 0; i < QDQ_COUNT(all); i++)
        say_style(positions(), positions(), &all[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_in_the_styles_of_other_tools_are_said_edge_by_edge),
        cmocka_unit_test(concats_of_fire_modules_are_said_with_own_and_with_shared_scales),
        cmocka_unit_test(residual_adds_between_clips_are_said_on_one_side_and_on_both),
        cmocka_unit_test(constant_operands_of_concat_and_add_have_the_codes_of_the_file),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
