/* upgrade_each_op.c - every operator of the corpus, and those that opset 22 touched, raised from
 * each opset that models come in to each later one: the numbers stay. The graphs are in
 * text/raise-each. */
#include "numeric/upgrade_help.h"

#include "ir/graph_check.h"

TEST(every_operator_of_the_corpus_keeps_its_numbers)
{
    raise_graphs_of("every_operator_of_the_corpus_keeps_its_numbers.txt");
}

TEST(operators_touched_by_opset_22_keep_their_numbers)
{
    raise_graphs_of("operators_touched_by_opset_22_keep_their_numbers.txt");
}

static void add_graph(void *ctx, const text_case *c)
{
    strncat(ctx, c->before, 20000 - strlen(ctx));
}

static bool is_listed(const char *op)
{
    static char graphs[20001];
    char call[100];

    if (*graphs == '\0')
        text_each("every_operator_of_the_corpus_keeps_its_numbers.txt", add_graph, graphs);
    assert_true(strlen(graphs) < sizeof graphs - 1);
    for (const char *end = " (<"; *end != '\0'; end++) {
        /* "= Op(" or "= Op <" */
        snprintf(call, sizeof call, "= %s%c", op, *end);
        if (strstr(graphs, call) != NULL)
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
                fail_msg("%s: no graph for %s", name, n->type);
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
