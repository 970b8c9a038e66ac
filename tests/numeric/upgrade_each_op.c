/* upgrade_each_op.c - every operator of the corpus, and those that opset 22 touched, raised from
 * each opset that models come in to each later one: the numbers stay. A line holds for the opsets
 * from `low` to `high`, where the operator is written in this way. */
#include "numeric/upgrade_help.h"

#include "ir/graph_check.h"

typedef struct line {
    int low, high;
    const char *graph;
} line;

static const line corpus_operators[] = {
    {7, 22, "g (float[3,4] x) => (float[3,4] y) { y = Abs(x) }"},
    {7, 22, "g (float[3,4] x, float[4] z) => (float[3,4] y) { y = Add(x, z) }"},
    {7, 22,
     "g (float[2,3,4] x, float[3] s, float[3] b, float[3] m) => (float[2,3,4] y) <float[3] v = "
     "{1.5, 0.5, "
     "1}>\n"
     "{ y = BatchNormalization <epsilon = 0.01> (x, s, b, m, v) }"},
    {7, 22,
     "g (float[3,4] x) => (int32[3,4] a, float[3,4] b) { a = Cast <to = 6> (x) b = Cast <to = 1> "
     "(a) }"},
    {7, 10, "g (float[3,4] x) => (float[3,4] y) { y = Clip <min = -0.5, max = 0.25> (x) }"},
    {11, 22, "g (float[3,4] x) => (float[3,4] y) <float lo = {-0.5}> { y = Clip(x, lo) }"},
    {7, 22, "g (float[3,4] x, float[3,1] z) => (float[3,5] y) { y = Concat <axis = 1> (x, z) }"},
    {11, 22, "g (float[3,4] x, float[3,1] z) => (float[3,5] y) { y = Concat <axis = -1> (x, z) }"},
    {7, 22,
     "g (float[2] x) => (float[2] y) { c = Constant <value = float[2] {1.5, -2}> () y = Mul(x, c) "
     "}"},
    {12, 22,
     "g (float[2] x) => (float[2] y) { c = Constant <value_floats = [1.5, -2.0]> () y = Mul(x, c) "
     "}"},
    {9, 22,
     "g (int64[2] x) => (int64[2,3] y) <int64[2] s = {2, 3}> { y = ConstantOfShape <value = "
     "int64[1] {7}> "
     "(s) }"},
    {7, 22,
     "g (float[1,4,6,6] x, float[6,2,3,3] w, float[6] b) => (float[1,6,3,3] y) {\n"
     "  y = Conv <group = 2, pads = [1, 1, 1, 1], strides = [2, 2]> (x, w, b) }"},
    {7, 22,
     "g (float[1,2,5,5] x, float[3,2,3,3] w) => (float[1,3,1,1] y) { y = Conv <dilations = [2, 2]> "
     "(x, w) }"},
    {7, 22, "g (float[1,8,2,2] x) => (float[1,2,4,4] y) { y = DepthToSpace <blocksize = 2> (x) }"},
    {11, 22,
     "g (float[1,8,2,2] x) => (float[1,2,4,4] y) { y = DepthToSpace <blocksize = 2, mode = "
     "\"CRD\"> (x) }"},
    {10, 22,
     "g (uint8[2,3] x) => (float[2,3] y) <float s = {0.1}, uint8 z = {7}> { y = "
     "DequantizeLinear(x, s, z) }"},
    {13, 22,
     "g (int8[2,3] x) => (float[2,3] y) <float[3] s = {0.1, 0.2, 0.3}> { y = DequantizeLinear "
     "<axis = 1> (x, "
     "s) }"},
    {7, 22, "g (float[3,4] x) => (float[3,4] y) <float d = {3}> { y = Div(x, d) }"},
    {7, 22, "g (int64[2,3] x) => (bool[2,3] y) <int64[1] z = {1}> { y = Equal(x, z) }"},
    {11, 22, "g (float[2,3] x) => (bool[2,3] y) { y = Equal(x, x) }"},
    {9, 22, "g (float[3,4] x) => (float[3,4] y) { y = Erf(x) }"},
    {7, 22, "g (float[3,4] x) => (float[3,4] y) { y = Exp(x) }"},
    {8, 22, "g (float[3,1] x) => (float[2,3,4] y) <int64[3] s = {2, 1, 4}> { y = Expand(x, s) }"},
    {7, 22,
     "g (float[2,3,4] x) => (float[2,12] a, float[1,24] b) { a = Flatten(x) b = Flatten <axis = 0> "
     "(x) }"},
    {11, 22, "g (float[2,3,4] x) => (float[6,4] y) { y = Flatten <axis = -1> (x) }"},
    {7, 22,
     "g (float[3,4] x) => (float[2,4] a, float[3] b) <int64[2] i = {2, 0}, int64 j = {1}> {\n"
     "  a = Gather(x, i) b = Gather <axis = 1> (x, j) }"},
    {11, 22, "g (float[3,4] x) => (float[4] y) <int64 i = {-1}> { y = Gather(x, i) }"},
    {7, 22,
     "g (float[2,3] x, float[4,3] w, float[4] b) => (float[2,4] y) {\n"
     "  y = Gemm <transB = 1, alpha = 0.5, beta = 2.0> (x, w, b) }"},
    {11, 22, "g (float[3,2] x, float[3,4] w) => (float[2,4] y) { y = Gemm <transA = 1> (x, w) }"},
    {7, 22, "g (float[1,3,4,5] x) => (float[1,3,1,1] y) { y = GlobalAveragePool(x) }"},
    {7, 22, "g (float[3,4] x) => (float[3,4] y) { y = Identity(x) }"},
    {17, 22,
     "g (float[2,3,4] x, float[4] s, float[4] b) => (float[2,3,4] y, float[2,3,1] m) {\n"
     "  y, m = LayerNormalization <epsilon = 0.001> (x, s, b) }"},
    {7, 22, "g (float[2,3,4] x, float[4,5] w) => (float[2,3,5] y) { y = MatMul(x, w) }"},
    {7, 22,
     "g (float[1,2,5,5] x) => (float[1,2,3,3] y) {\n"
     "  y = MaxPool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (x) }"},
    {7, 22,
     "g (float[1,2,5,5] x) => (float[1,2,3,3] y) {\n"
     "  y = MaxPool <kernel_shape = [2, 2], strides = [2, 2], auto_pad = \"SAME_UPPER\"> (x) }"},
    {10, 22,
     "g (float[1,2,6,6] x) => (float[1,2,3,3] y) {\n"
     "  y = MaxPool <kernel_shape = [3, 3], strides = [2, 2], ceil_mode = 1> (x) }"},
    /* the last window would start in the padding: counted by the words up to 21, not since, never
       by the engine */
    {10, 22,
     "g (float[1,1,4] x) => (float[1,1,2] y) {\n"
     "  y = MaxPool <kernel_shape = [2], strides = [3], pads = [1, 1], ceil_mode = 1> (x) }"},
    {7, 22, "g (float[3,4] x, float[3,1] z) => (float[3,4] y) { y = Mul(x, z) }"},
    {10, 22,
     "g (float[2,3] x) => (uint8[2,3] y) <float s = {0.1}, uint8 z = {7}> { y = QuantizeLinear(x, "
     "s, z) }"},
    {13, 22,
     "g (float[2,3] x) => (int8[2,3] y) <float[2] s = {0.1, 0.02}, int8[2] z = {0, 1}> {\n"
     "  y = QuantizeLinear <axis = 0> (x, s, z) }"},
    {7, 17,
     "g (float[2,3,4] x) => (float[2,1,4] a, float[3] b) {\n"
     "  a = ReduceMax <axes = [1]> (x) b = ReduceMax <axes = [0, 2], keepdims = 0> (x) }"},
    {18, 22, "g (float[2,3,4] x) => (float[2,1,4] y) <int64[1] a = {1}> { y = ReduceMax(x, a) }"},
    {7, 17,
     "g (float[2,3,4] x) => (float[2,1,4] a, float[3] b, float[1,1,1] c) {\n"
     "  a = ReduceMean <axes = [1]> (x) b = ReduceMean <axes = [0, 2], keepdims = 0> (x) c = "
     "ReduceMean(x) "
     "}"},
    {11, 17,
     "g (float[2,3,4] x) => (float[2,3] y) { y = ReduceMean <axes = [-1], keepdims = 0> (x) }"},
    {18, 22, "g (float[2,3,4] x) => (float[2,3,1] y) <int64[1] a = {-1}> { y = ReduceMean(x, a) }"},
    {7, 22, "g (float[3,4] x) => (float[3,4] y) { y = Relu(x) }"},
    {7, 22, "g (float[2,3,4] x) => (float[2,12] y) <int64[2] s = {0, -1}> { y = Reshape(x, s) }"},
    {10, 10,
     "g (float[1,2,3,4] x) => (float[1,2,6,12] y) <float[4] s = {1, 1, 2, 3}> { y = Resize(x, s) "
     "}"},
    {11, 22,
     "g (float[1,2,3,4] x) => (float[1,2,6,10] y) <float[0] roi = {}, float[4] s = {1, 1, 2, 2.5}> "
     "{\n"
     "  y = Resize <mode = \"linear\", coordinate_transformation_mode = \"pytorch_half_pixel\"> "
     "(x, roi, s) "
     "}"},
    {13, 22,
     "g (float[1,2,5,7] x) => (float[1,2,3,3] y) <int64[4] s = {1, 2, 3, 3}> {\n"
     "  y = Resize <mode = \"nearest\", nearest_mode = \"floor\"> (x, \"\", \"\", s) }"},
    {13, 22,
     "g (float[1,2,3,4] x) => (float[1,2,7,9] y) <int64[4] s = {1, 2, 7, 9}> {\n"
     "  y = Resize <mode = \"cubic\", coordinate_transformation_mode = \"align_corners\"> (x, "
     "\"\", \"\", s) "
     "}"},
    {18, 22,
     "g (float[5,7,3] x) => (float[2,3,3] y) <int64[2] s = {2, 3}> {\n"
     "  y = Resize <mode = \"linear\", axes = [0, 1], antialias = 1> (x, \"\", \"\", s) }"},
    {11, 22, "g (float[3,4] x) => (float[3,4] y) { y = Round(x) }"},
    {7, 22, "g (float[3,4] x) => (int64[2] y) { y = Shape(x) }"},
    {15, 22, "g (float[3,4] x) => (int64[1] y) { y = Shape <start = -1> (x) }"},
    {7, 9,
     "g (float[3,4] x) => (float[1,2] y) { y = Slice <starts = [1, -3], ends = [2, 3]> (x) }"},
    {10, 22,
     "g (float[3,4] x) => (float[3,2] y) <int64[1] b = {-1}, int64[1] e = {0}, int64[1] a = {1}, "
     "int64[1] "
     "t = {-2}> { y = Slice(x, b, e, a, t) }"},
    {7, 12,
     "g (float[2,3,4] x) => (float[2,3,4] a, float[2,3,4] b) { a = Softmax <axis = 2> (x) b = "
     "Softmax(x) }"},
    {13, 22,
     "g (float[2,3,4] x) => (float[2,3,4] a, float[2,3,4] b) { a = Softmax <axis = 1> (x) b = "
     "Softmax(x) }"},
    {7, 12,
     "g (float[2,6] x) => (float[2,1] a, float[2,5] b) { a, b = Split <axis = 1, split = [1, 5]> "
     "(x) }"},
    {7, 17, "g (float[2,6] x) => (float[2,3] a, float[2,3] b) { a, b = Split <axis = 1> (x) }"},
    {13, 22,
     "g (float[2,6] x) => (float[2,1] a, float[2,5] b) <int64[2] s = {1, 5}> { a, b = Split <axis "
     "= 1> (x, "
     "s) }"},
    {18, 22,
     "g (float[2,5] x) => (float[2,3] a, float[2,2] b) { a, b = Split <axis = 1, num_outputs = 2> "
     "(x) }"},
    {7, 12,
     "g (float[1,3,1] x) => (float[3] y, float[1,3] z) { y = Squeeze(x) z = Squeeze <axes = [2]> "
     "(x) }"},
    {13, 22,
     "g (float[1,3,1] x) => (float[3] y, float[1,3] z) <int64[1] a = {-1}> { y = Squeeze(x) z = "
     "Squeeze(x, "
     "a) }"},
    {7, 22, "g (float[3,4] x) => (float[3,4] y) <float d = {3}> { y = Sub(d, x) }"},
    {7, 22,
     "g (float[2,3,4] x) => (float[4,3,2] a, float[3,2,4] b) { a = Transpose(x) b = Transpose "
     "<perm = [1, 0, "
     "2]> (x) }"},
    {7, 12, "g (float[3] x) => (float[1,3,1] y) { y = Unsqueeze <axes = [0, 2]> (x) }"},
    {13, 22, "g (float[3] x) => (float[1,3,1] y) <int64[2] a = {0, -1}> { y = Unsqueeze(x, a) }"},
    {9, 22,
     "g (float[3,4] x) => (float[3,4] y) <float d = {3}, bool[4] c = {1, 0, 0, 1}> { y = Where(c, "
     "x, d) }"},
};

static const line touched_by_22[] = {
    {7, 22,
     "g (float[3,4] x) => (float[3,4] a, float[3,4] b, float[3,4] c, float[3,4] d, float[3,4] e) "
     "{\n"
     "  a = Sin(x) b = Cos(x) c = Tan(x) d = Atan(x) e = Softsign(x) }"},
    {9, 22,
     "g (float[3,4] x) => (float[3,4] a, float[3,4] b, float[3,4] c, float[3,4] d, float[3,4] e) "
     "{\n"
     "  a = Sinh(x) b = Cosh(x) c = Asinh(x) t = Tanh(x) d = Atanh(t) e = Asin(t) }"},
    {7, 22,
     "g (float[3,4] x) => (float[3,4] a, float[3,4] b, float[3,4] c, float[3,4] d) {\n"
     "  a = Elu(x) b = Selu <alpha = 1.5> (x) c = HardSigmoid <alpha = 0.3> (x) d = Softplus(x) }"},
    {10, 22, "g (float[3,4] x) => (float[3,4] y) { y = ThresholdedRelu <alpha = 0.1> (x) }"},
    {14, 22, "g (float[3,4] x) => (float[3,4] y) { y = HardSwish(x) }"},
    {7, 22,
     "g (float[2,3,4] x, float[3] s, float[3] b) => (float[2,3,4] y) { y = "
     "InstanceNormalization(x, s, b) }"},
    {7, 22, "g (float[2,3] x) => (float[2,3] y) { y = LpNormalization <p = 1> (x) }"},
    {7, 22,
     "g (float[1,2,5] x) => (float[1,2,1] a, float[1,2,1] b, float[1,2,1] c) {\n"
     "  a = GlobalMaxPool(x) b = GlobalAveragePool(x) c = GlobalLpPool(x) }"},
    {7, 22,
     "g (float[1,2,5,5] x) => (float[1,2,3,3] y) {\n"
     "  y = AveragePool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1], "
     "count_include_pad = "
     "1> (x) }"},
    {10, 22,
     "g (float[1,2,6,6] x) => (float[1,2,3,3] y) {\n"
     "  y = AveragePool <kernel_shape = [3, 3], strides = [2, 2], ceil_mode = 1> (x) }"},
    {10, 22,
     "g (float[1,1,4] x) => (float[1,1,2] y) {\n"
     "  y = AveragePool <kernel_shape = [2], strides = [3], pads = [1, 1], ceil_mode = 1> (x) }"},
    {7, 22,
     "g (float[1,2,5,5] x) => (float[1,2,2,2] y) { y = LpPool <kernel_shape = [3, 3], strides = "
     "[2, 2]> (x) "
     "}"},
    {7, 22,
     "g (float[1,2,4] x, float[2,1,3] w) => (float[1,1,8] y) {\n"
     "  y = ConvTranspose <strides = [2], pads = [1, 1], output_padding = [1]> (x, w) }"},
    {7, 22,
     "g (float[3,1,2] x, float[1,4,2] w, float[1,4,4] r) => (float[3,1,1,4] y) {\n"
     "  y = RNN <hidden_size = 4> (x, w, r) }"},
    {7, 22,
     "g (float[3,1,2] x, float[1,12,2] w, float[1,12,4] r) => (float[3,1,1,4] y) {\n"
     "  y = GRU <hidden_size = 4> (x, w, r) }"},
    {7, 22,
     "g (float[3,1,2] x, float[1,16,2] w, float[1,16,4] r) => (float[3,1,1,4] y, float[1,1,4] h) "
     "{\n"
     "  y, h = LSTM <hidden_size = 4> (x, w, r) }"},
    {16, 22,
     "g (float[1,1,4,4] x, float[1,2,2,2] p) => (float[1,1,2,2] y) { y = GridSample <mode = "
     "\"nearest\"> (x, "
     "p) }"},
    {9, 22, "g (float[3,4] x) => (float[3,4] y) { y = EyeLike <k = 1> (x) }"},
    {7, 22, "g (float[3,4] x) => (float[3,4] y) { y = Dropout(x) }"},
    {11, 22, "g (float[2,3,3] x) => (float[2] y) { y = Det(x) }"},
};

/* The opsets that models come in, and the first one that has the operator in this form. */
static bool is_start(const line *l, int opset)
{
    static const int common[] = {7, 8, 9, 11, 13, 17, 18};
    bool yes = opset == l->low;

    for (size_t i = 0; i < QDQ_COUNT(common); i++)
        yes = yes || opset == common[i];
    return yes;
}

static void raise_lines(const line *lines, size_t n)
{
    if (test_ort() == NULL) {
        test_missing("ONNX Runtime");
        return;
    }
    for (size_t i = 0; i < n; i++)
        for (int from = lines[i].low; from <= lines[i].high && from < NEWEST; from++) {
            int opsets[NEWEST];
            size_t n_opset = 0;
            qdq_model *m;

            if (!is_start(&lines[i], from))
                continue;
            for (int to = from + 1; to <= NEWEST; to++)
                opsets[n_opset++] = to;
            m = model_at(from, lines[i].graph);
            assert_keeps_its_numbers(m, lines[i].graph, opsets, n_opset);
            qdq_model_free(m);
        }
}

TEST(every_operator_of_the_corpus_keeps_its_numbers)
{
    raise_lines(corpus_operators, QDQ_COUNT(corpus_operators));
}

TEST(operators_touched_by_opset_22_keep_their_numbers)
{
    raise_lines(touched_by_22, QDQ_COUNT(touched_by_22));
}

/* --- the corpus ------------------------------------------------------------------------------- */

static bool is_listed(const char *op)
{
    char call[100];

    for (size_t i = 0; i < QDQ_COUNT(corpus_operators); i++)
        for (const char *end = " (<"; *end != '\0'; end++) {
            /* "= Op(" or "= Op <" */
            snprintf(call, sizeof call, "= %s%c", op, *end);
            if (strstr(corpus_operators[i].graph, call) != NULL)
                return true;
        }
    return false;
}

static void raise_model(qdq_model *m, const char *name)
{
    qdq_error err = QDQ_ERROR_INIT;

    QDQ_FOR_GRAPHS (g, m)
        QDQ_FOR_NODES (n, g)
            if (n->domain[0] == '\0' && !is_listed(n->type))
                fail_msg("%s: no line for %s", name, n->type);
    for (int opset = qdq_model_opset(m); opset <= NEWEST; opset++) {
        if (qdq_model_set_opset(m, opset, &err) != QDQ_OK || qdq_model_verify(m, &err) != QDQ_OK)
            fail_msg("%s: opset %d: %s", name, opset, err.text);
        assert_int_equal(qdq_model_opset(m), opset);
    }
}

/* Operators of other domains (superres_op18) are left alone. */
TEST(every_model_of_the_corpus_can_be_raised)
{
    static const char *const models[] = {
        "digits/digits_cnn.onnx",    "digits/digits_cnn_bn.onnx", "digits/digits_convnext.onnx",
        "digits/digits_qat_bn.onnx", "digits/digits_vit.onnx",    "real/mnist.onnx",
        "real/superres_op18.onnx",   "real/ultraface_rfb320.onnx"};
    static const char *const skeletons[] = {"resnet18",      "resnet50",      "mobilenet_v2",
                                            "squeezenet1_1", "convnext_tiny", "vit_b_32"};
    qdq_error err = QDQ_ERROR_INIT;

    for (size_t i = 0; i < QDQ_COUNT(models) + QDQ_COUNT(skeletons); i++) {
        bool whole = i < QDQ_COUNT(models);
        const char *name = whole ? models[i] : skeletons[i - QDQ_COUNT(models)];
        const char *path = whole ? test_corpus("%s", name) : NULL;
        qdq_model *m = whole ? NULL : test_skeleton(name);

        if (path != NULL)
            assert_ok(qdq_model_load(path, NULL, &m, &err));
        raise_model(m, name);
        qdq_model_free(m);
    }
}
