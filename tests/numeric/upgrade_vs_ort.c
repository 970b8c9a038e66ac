/* A model raised to a later opset gives the numbers that it gave. Here: what the adapters rewrite
 * (graphs in text/raise-each), bodies, and models. */
#include "numeric/upgrade_help.h"

TEST(operators_keep_their_numbers_at_every_opset)
{
    raise_graphs_of("operators_keep_their_numbers_at_every_opset.txt");
}

TEST(subgraphs_and_functions_keep_their_numbers)
{
    const char *const models[] = {test_graph_text("branches"), test_graph_text("functions")};
    static const int opsets[] = {12, 13, 17, 18, 21, 22};
    qdq_error err = QDQ_ERROR_INIT;

    need_ort();
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

    need_ort();
    for (size_t i = 0; i < QDQ_COUNT(names); i++) {
        const char *path = test_corpus("%s", names[i]);
        qdq_model *m = NULL;

        assert_ok(qdq_model_load(path, NULL, &m, &err));
        size_t first = qdq_model_opset_of(m, "") > opsets[0];
        assert_keeps_its_numbers(m, path, opsets + first, QDQ_COUNT(opsets) - first);
        qdq_model_free(m);
    }
}
