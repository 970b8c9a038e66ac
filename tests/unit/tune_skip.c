/* tune_skip.c - where Model-Optimizer would not quantize, and where it should not. */
#include "support/build.h"
#include "support/test.h"
#include "tune/scheme/scheme.h"

static const qdq_node *producer(const qdq_model *m, const char *name)
{
    const qdq_value *v = qdq_graph_find(m->graph, name);

    assert_non_null(v);
    assert_non_null(v->producer);
    return v->producer;
}

static void expect(const qdq_model *m, const char *name, uint32_t i, const char *reason)
{
    const char *got = qdq_skip_reason(producer(m, name), i);

    if ((got == NULL) != (reason == NULL) || (got != NULL && strcmp(got, reason) != 0))
        fail_msg("%s:%u: got '%s', want '%s'", name, (unsigned)i, got != NULL ? got : "keep",
                 reason != NULL ? reason : "keep");
}

static qdq_model *read(const char *text)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model(text);

    assert_ok(qdq_model_infer_shapes(m, &err));
    return m;
}

/* "name:slot ..." of all that is not skipped, in the graph's order. */
static const char *kept(const qdq_model *m)
{
    static char text[500];
    size_t n = 0;

    text[0] = '\0';
    QDQ_FOR_NODES (node, m->graph)
        for (uint32_t i = 0; i < node->n_in; i++)
            if (qdq_skip_reason(node, i) == NULL)
                n += (size_t)snprintf(text + n, sizeof text - n, "%s%s:%u", n > 0 ? " " : "",
                                      node->out[0]->name, (unsigned)i);
    return text;
}

TEST(nodes_of_these_operators_are_left_out)
{
    qdq_model *m = read(test_graph_text(__func__));

    expect(m, "equal", 0, "the operator tests, compares or selects");
    expect(m, "equal", 1, "the operator tests, compares or selects");
    expect(m, "shape", 0, "the operator moves or converts data");
    expect(m, "product", 0, NULL);
    expect(m, "product", 1, "goes with the activation");
    expect(m, "sum", 0, NULL);
    expect(m, "sum", 1, NULL);
    expect(m, "relu", 0, NULL);
    expect(m, "clip", 0, "the operator moves or converts data");
    expect(m, "t", 0, "the operator moves or converts data");
    expect(m, "pad", 0, "the operator moves or converts data");
    expect(m, "size", 0, NULL);
    expect(m, "size", 1, "left out");
    expect(m, "size", 2, "a parameter of the operator");
    expect(m, "mean", 0, "the operator reduces");
    expect(m, "sel", 1, "the operator tests, compares or selects");
    expect(m, "soft", 0, NULL);
    expect(m, "abs", 0, "the operator tests, compares or selects");
    expect(m, "sum", 7, "left out");
    qdq_model_free(m);
}

TEST(what_fuses_into_a_convolution_is_left_out)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 8, 8, 8);
    test_conv(&b, "c", "x", 8, 8, 3, 1);
    TEST_RANDOM(&b, "scale", 8);
    TEST_NODE(&b, "BatchNormalization", "bn", "c", "scale", "scale", "scale", "scale");
    TEST_NODE(&b, "Relu", "r", "bn");
    test_conv(&b, "d", "r", 8, 8, 3, 1);
    TEST_NODE(&b, "Softmax", "s", "d");
    TEST_NODE(&b, "BatchNormalization", "free", "s", "scale", "scale", "scale", "scale");
    TEST_NODE(&b, "Relu", "q", "free");
    test_output(&b, "q");
    qdq_model *m = test_built(&b);

    expect(m, "c", 0, NULL);
    expect(m, "c", 1, "goes with the activation");
    expect(m, "c", 2, "a bias");
    expect(m, "bn", 0, "fuses into the convolution in front");
    expect(m, "bn", 1, "fuses into the convolution in front");
    expect(m, "r", 0, "fuses into the convolution in front");
    expect(m, "s", 0, "fuses into the convolution in front");
    expect(m, "free", 0, NULL);
    expect(m, "free", 1, "a parameter of the operator");
    expect(m, "q", 0, NULL);
    qdq_model_free(m);
}

/* bfloat16 stays (Model-Optimizer does not know it); float64 and unknown types do not (it lets them
 * through). */
TEST(types_without_numbers_and_small_tensors_are_left_out)
{
    static const struct {
        const char *type, *reason;
    } cases[] = {{"int32[4,4]", "not float32, float16 or bfloat16"},
                 {"double[4,4]", "not float32, float16 or bfloat16"},
                 {"float16[4,4]", NULL},
                 {"bfloat16[4,4]", NULL},
                 {"float[1]", "fewer than 8 elements"},
                 {"float[7]", "fewer than 8 elements"},
                 {"float[8]", NULL},
                 {"float", "fewer than 8 elements"},
                 {"float[0,9]", "fewer than 8 elements"},
                 {"float[9,9223372036854775807,0]", "fewer than 8 elements"},
                 {"float[N,4]", NULL},
                 {"float[]", NULL}};

    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        char text[200];

        snprintf(text, sizeof text, "g (%s a, %s b) => (%s y) { y = Add(a, b) }", cases[i].type,
                 cases[i].type, cases[i].type);
        qdq_model *m = test_model(text);
        expect(m, "y", 0, cases[i].reason);
        qdq_model_free(m);
    }
    qdq_model *m = test_graph(__func__);
    expect(m, "y", 1, "its type is not known");
    expect(m, "b", 0, NULL);
    qdq_model_free(m);
}

/* Another domain's Abs may be anything. */
TEST(operators_of_other_domains_are_not_in_the_table)
{
    qdq_model *m = test_model("g (float[8] a) => (float[8] y) { y = my.Abs(a) }");

    expect(m, "y", 0, NULL);
    qdq_model_free(m);
}

TEST(conv_bn_relu_maxpool_has_points_at_its_ends)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 64, 8, 8);
    test_conv(&b, "c", "x", 64, 64, 3, 1);
    TEST_RANDOM(&b, "scale", 64);
    TEST_NODE(&b, "BatchNormalization", "bn", "c", "scale", "scale", "scale", "scale");
    TEST_NODE(&b, "Relu", "r", "bn");
    assert_true(qdq_node_set_ints(TEST_NODE(&b, "MaxPool", "p", "r"), "kernel_shape",
                                  (const int64_t[]){2, 2}, 2));
    test_output(&b, "p");
    qdq_model *m = test_built(&b);

    assert_string_equal(kept(m), "c:0 p:0"); /* the Conv's weight goes along */
    qdq_model_free(m);
}

/* The constant operand of the Add would be a point of Model-Optimizer's; required: rejected. */
TEST(matmul_add_relu_has_points_at_its_ends)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 4, 64);
    TEST_RANDOM(&b, "w", 64, 64);
    TEST_RANDOM(&b, "bias", 64);
    TEST_NODE(&b, "MatMul", "h", "x", "w");
    TEST_NODE(&b, "Add", "a", "h", "bias");
    TEST_NODE(&b, "Relu", "r", "a");
    test_output(&b, "r");
    qdq_model *m = test_built(&b);

    assert_string_equal(kept(m), "h:0 a:0 r:0");
    expect(m, "a", 1, "a constant operand");
    qdq_model_free(m);
}
