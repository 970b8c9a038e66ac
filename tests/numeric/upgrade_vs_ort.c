/* A model raised to a later opset gives the numbers that it gave. Here: what the adapters rewrite,
 * bodies, and models. */
#include "numeric/upgrade_help.h"

/* --- operators -------------------------------------------------------------------------------- */

static const struct {
    int opset;
    const char *graph;
} operators[] = {
    {7, "g (float[3,4] x) => (float[3,4] y) { y = Clip <min = -0.5, max = 0.25> (x) }"},
    {7, "g (float[3,4] x) => (float[3,4] y) { y = Clip <max = 0.25> (x) }"},
    {7, "g (float[2,3] x) => (float[3,5] y) { y = Pad <pads = [0, 1, 1, 1], value = 2.5> (x) }"},
    {7, "g (float[3,3] x) => (float[5,5] y) { y = Pad <pads = [1, 1, 1, 1], mode = \"reflect\"> "
        "(x) }"},
    {7, "g (float[3,4] x) => (float[1,2] y) { y = Slice <starts = [1, -3], ends = [2, 3]> (x) }"},
    {7,
     "g (float[3,4] x) => (float[3,2] y) { y = Slice <starts = [1], ends = [3], axes = [1]> (x) }"},
    {7, "g (float[1,3,1] x) => (float[3] y, float[1,3] z) { y = Squeeze(x) z = Squeeze <axes = "
        "[2]> (x) }"},
    {7, "g (float[3] x) => (float[1,3,1] y) { y = Unsqueeze <axes = [0, 2]> (x) }"},
    {7, "g (float[2,3,4] x) => (float[2,1,4] a, float[1,1,1] b, float[3] c) {\n"
        "  a = ReduceSum <axes = [1]> (x) b = ReduceMean(x) c = ReduceMax <axes = [0, 2], keepdims "
        "= 0> (x) }"},
    {7, "g (float[2,3,4] x) => (float[2,3,1] a, float[2,3,1] b, float[2,3,1] c, float[2,3,1] d) {\n"
        "  a = ReduceMin <axes = [2]> (x) b = ReduceL2 <axes = [2]> (x) c = ReduceProd <axes = "
        "[2]> (x)\n"
        "  d = ReduceLogSumExp <axes = [2]> (x) }"},
    {7, "g (float[2,6] x) => (float[2,1] a, float[2,5] b) { a, b = Split <axis = 1, split = [1, "
        "5]> (x) }"},
    {7, "g (float[2,6] x) => (float[2,3] a, float[2,3] b) { a, b = Split <axis = 1> (x) }"},
    {7, "g (float[3,5] x) => (float[3,2] y, int64[3,2] i) { y, i = TopK <k = 2> (x) }"},
    {7, "g (float[3,5] x) => (float[3,5] y) { y = Dropout <ratio = 0.5> (x) }"},
    {7,
     "g (float[2,3,4] x) => (float[2,3,4] a, float[2,3,4] b, float[2,3,4] c, float[2,3,4] d) {\n"
     "  a = Softmax(x) b = Softmax <axis = 0> (x) c = Softmax <axis = 2> (x) d = LogSoftmax(x) }"},
    {7, "g (float[N,3,1,1] x) => (float[N,3,1,1] y) { y = Softmax(x) }"},
    {7, "g (float[N,3,M] x) => (float[N,3,M] y) { y = Softmax(x) }"},
    {11, "g (float[2,3,4] x) => (float[2,3,4] y) { y = Softmax <axis = -2> (x) }"},
    {7, "g (float[2,3,4] x) => (float[2,3,4] y) { y = Hardmax(x) }"},
    {7, "g (float[1,2,3,4] x) => (float[1,2,6,12] y) {\n"
        "  y = Upsample <mode = \"nearest\", scales = [1.0, 1.0, 2.0, 3.0]> (x) }"},
    {7, "g (float[1,2,3,4] x) => (float[1,2,6,10] y) {\n"
        "  y = Upsample <mode = \"nearest\", scales = [1.0, 1.0, 2.0, 2.5]> (x) }"},
    {7, "g (float[1,2,3,4] x) => (float[1,2,6,12] y) {\n"
        "  y = Upsample <mode = \"linear\", scales = [1.0, 1.0, 2.0, 3.0]> (x) }"},
    {10, "g (float[1,2,3,4] x) => (float[1,2,6,10] y) <float[4] s = {1.0, 1.0, 2.0, 2.5}> { y = "
         "Resize(x, s) }"},
    {10, "g (float[1,2,5,7] x) => (float[1,2,3,3] y) <float[4] s = {1.0, 1.0, 0.6, 0.5}> { y = "
         "Resize(x, s) }"},
    {10, "g (float[1,2,5,7] x) => (float[1,2,3,3] y) <float[4] s = {1.0, 1.0, 0.6, 0.5}>\n"
         "{ y = Resize <mode = \"linear\"> (x, s) }"},
    {10, "g (float[1,2,3,4] x) => (float[1,2,7,8] y) <float[4] s = {1.0, 1.0, 2.4, 2.0}>\n"
         "{ y = Resize <mode = \"linear\"> (x, s) }"},
    {11, "g (float[1,2,3,4] x) => (float[1,2,5,9] y) <float[0] none = {}, int64[4] size = {1, 2, "
         "5, 9}>\n"
         "{ y = Resize <coordinate_transformation_mode = \"half_pixel\", mode = \"cubic\"> (x, "
         "none, none, "
         "size) }"},
    {7, "g (float[1,2,3] x, float[2] s, float[2] b, float[2] m) => (float[1,2,3] y) <float[2] v = "
        "{1.5, 0.5}>\n"
        "{ y = BatchNormalization <epsilon = 0.01> (x, s, b, m, v) }"},
    {9, "g (float[3,2] x, int64[1,2] i, float[1,2] u) => (float[3,2] y) { y = Scatter(x, i, u) }"},
    {10, "g (float[1,1,6,6] x) => (float[1,1,2,2] y) <float[1,4] r = {0.5, 0.5, 4.0, 4.0}, "
         "int64[1] b = {0}>\n"
         "{ y = RoiAlign <output_height = 2, output_width = 2> (x, r, b) }"},
    {16, "g (float[1,1,4,4] x, float[1,2,2,2] p) => (float[1,1,2,2] y) { y = GridSample(x, p) }"},
    {17, "g (float[1,4,6,1] x) => (float[1,4,6,2] y) { y = DFT(x) }"},
    {7, "g (float[1,2,4] x, float[2,1,3] w) => (float[1,1,8] y) {\n"
        "  y = ConvTranspose <strides = [2], pads = [1, 1], output_padding = [1]> (x, w) }"},
    {7, "g (float[1,2,4,4] x, float[3,2,3,3] w) => (float[1,3,4,4] y) { y = Conv <auto_pad = "
        "\"SAME_UPPER\"> "
        "(x, w) }"},
    {7, "g (float[1,2,5,5] x) => (float[1,2,2,2] a, float[1,2,3,3] b) {\n"
        "  a = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x)\n"
        "  b = AveragePool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (x) }"},
    {7, "g (float[1,8,2,2] x) => (float[1,2,4,4] y) { y = DepthToSpace <blocksize = 2> (x) }"},
    {10, "g (float[2,3] x) => (float[2,3] y) <float s = {0.1}, uint8 z = {7}> {\n"
         "  q = QuantizeLinear(x, s, z) y = DequantizeLinear(q, s, z) }"},
};

TEST(operators_keep_their_numbers_at_every_opset)
{
    if (test_ort() == NULL) {
        test_missing("ONNX Runtime");
        return;
    }
    for (size_t i = 0; i < QDQ_COUNT(operators); i++) {
        int opsets[NEWEST];
        size_t n = 0;
        qdq_model *m = model_at(operators[i].opset, operators[i].graph);

        for (int opset = operators[i].opset + 1; opset <= NEWEST; opset++)
            opsets[n++] = opset;
        assert_keeps_its_numbers(m, operators[i].graph, opsets, n);
        qdq_model_free(m);
    }
}

TEST(subgraphs_and_functions_keep_their_numbers)
{
    static const char *const models[] = {
        "<ir_version: 8, opset_import: [\"\" : 11]>\n"
        "g (float[1,2] x) => (float[2] y) {\n"
        "  s = ReduceSum <keepdims = 0> (x)\n"
        "  zero = Constant <value = float {0}> ()\n"
        "  c = Greater(s, zero)\n"
        "  y = If (c) <then_branch = a () => (float[2] p) { p = Squeeze <axes = [0]> (x) },\n"
        "              else_branch = b () => (float[2] q) { q = ReduceMean <axes = [0], keepdims = "
        "0> (x) "
        "}>\n"
        "}",
        "<ir_version: 8, opset_import: [\"\" : 11, \"acme\" : 1]>\n"
        "g (float[2,3,4] x) => (float[2,3,4] y) { y = acme.F(x) }\n"
        "<domain: \"acme\", opset_import: [\"\" : 11]>\n"
        "F (x) => (y) { t = Softmax(x) m = ReduceMean <axes = [2]> (t) y = Sub(t, m) }"};
    static const int opsets[] = {12, 13, 17, 18, 21, 22};
    qdq_error err = QDQ_ERROR_INIT;

    if (test_ort() == NULL) {
        test_missing("ONNX Runtime");
        return;
    }
    for (size_t i = 0; i < QDQ_COUNT(models); i++) {
        qdq_model *m = NULL;

        assert_ok(qdq_model_from_text(models[i], "test", &m, &err));
        assert_keeps_its_numbers(m, models[i], opsets, QDQ_COUNT(opsets));
        qdq_model_free(m);
    }
}

/* --- models ----------------------------------------------------------------------------------- */

TEST(models_of_the_corpus_keep_their_numbers)
{
    static const char *const names[] = {"real/mnist.onnx",        "real/ultraface_rfb320.onnx",
                                        "digits/digits_cnn.onnx", "digits/digits_cnn_bn.onnx",
                                        "digits/digits_vit.onnx", "digits/digits_convnext.onnx"};
    static const int opsets[] = {13, 21, 22};
    qdq_error err = QDQ_ERROR_INIT;

    if (test_ort() == NULL) {
        test_missing("ONNX Runtime");
        return;
    }
    for (size_t i = 0; i < QDQ_COUNT(names); i++) {
        const char *path = test_corpus("%s", names[i]);
        qdq_model *m = NULL;

        assert_ok(qdq_model_load(path, NULL, &m, &err));
        size_t first = qdq_model_opset_of(m, "") > opsets[0];
        assert_keeps_its_numbers(m, path, opsets + first, QDQ_COUNT(opsets) - first);
        qdq_model_free(m);
    }
}
