/* A model raised to a later opset gives the numbers that it gave. Here: what the adapters rewrite
 * (graphs in text/raise-each), bodies, and models. */
#include "numeric/upgrade_help.h"

TEST(operators_keep_their_numbers_at_every_opset)
{
    raise_graphs_of("operators_keep_their_numbers_at_every_opset.txt");
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
