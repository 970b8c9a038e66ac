/* Import reads back what insertion wrote: import(apply(p)) = p; and says what no plan can say. */
#include "ir/graph_check.h"
#include "support/placed.h"
#include "support/test.h"

/* Applies the plan of a built model and reads it back. Consumes the model. */
static void assert_import_inverts(qdq_model *m)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_plan *p = test_plan_by_rules(m), *again = NULL;
    qdq_model *q = test_inserted(m, p), *stripped = NULL;

    assert_ok(qdq_plan_import(q, NULL, &again, &stripped, &err));
    char *want = test_plan_essence(p), *have = test_plan_essence(again);
    assert_string_equal(have, want);
    assert_ok(qdq_model_verify(stripped, &err));
    QDQ_FOR_NODES (n, stripped->graph)
        assert_true(n->op != QDQ_OP_QUANTIZELINEAR && n->op != QDQ_OP_DEQUANTIZELINEAR);
    qdq_free(want);
    qdq_free(have);
    qdq_plan_free(p);
    qdq_plan_free(again);
    qdq_model_free(q);
    qdq_model_free(stripped);
    qdq_model_free(m);
}

TEST(import_inverts_a_chain)
{
    test_builder b = test_two_convs();

    assert_import_inverts(test_built(&b));
}

TEST(import_inverts_residuals_with_partial_edges)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 8, 4, 4);
    TEST_NODE(&b, "Tanh", "t", "x"); /* float: only some of its readers get Q/DQ */
    test_conv(&b, "c0", "t", 8, 8, 3, 1);
    test_conv(&b, "c1", "t", 8, 8, 3, 1);
    TEST_NODE(&b, "Add", "a", "c0", "c1");
    TEST_NODE(&b, "Relu", "r", "a");
    TEST_NODE(&b, "Mul", "m", "r", "t");
    test_output(&b, "m");
    test_output(&b, "r");
    assert_import_inverts(test_built(&b));
}

TEST(import_inverts_shared_weights_and_biases)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 8, 4, 4);
    test_conv(&b, "c0", "x", 8, 8, 3, 1);
    qdq_node *c1 = test_conv(&b, "c1", "c0", 8, 8, 3, 1);
    qdq_node_set_in(c1, 1, qdq_graph_find(b.g, "c0.w"));
    qdq_node_set_in(c1, 2, qdq_graph_find(b.g, "c0.b"));
    qdq_value_remove(qdq_graph_find(b.g, "c1.w"));
    qdq_value_remove(qdq_graph_find(b.g, "c1.b"));
    test_output(&b, "c1");
    assert_import_inverts(test_built(&b));
}

TEST(import_inverts_matmul_with_bias_and_gemm)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 2, 4, 32);
    TEST_RANDOM(&b, "w", 32, 16);
    TEST_RANDOM(&b, "bias", 16);
    TEST_NODE(&b, "MatMul", "m", "x", "w");
    TEST_NODE(&b, "Add", "a", "bias", "m");
    TEST_RANDOM(&b, "w3", 2, 16, 8);
    TEST_NODE(&b, "MatMul", "m3", "a", "w3");
    test_output(&b, "m3");
    assert_import_inverts(test_built(&b));
}

TEST(import_says_nothing_of_computed_scales)
{
    test_builder b = test_build(17);
    qdq_error err = QDQ_ERROR_INIT;
    qdq_plan *p = NULL;
    qdq_model *stripped = NULL;

    TEST_INPUT(&b, "x", 4, 4);
    TEST_INPUT(&b, "scale", 1);
    TEST_NODE(&b, "Squeeze", "s", "scale");
    TEST_NODE(&b, "QuantizeLinear", "q", "x", "s");
    TEST_NODE(&b, "DequantizeLinear", "dq", "q", "s");
    test_output(&b, "dq");
    qdq_model *m = test_built(&b);
    assert_ok(qdq_plan_import(m, NULL, &p, &stripped, &err));
    assert_int_equal(p->tensors.n, 0);
    assert_null(qdq_graph_find(stripped->graph, "q")); /* but it is stripped */
    qdq_plan_free(p);
    qdq_model_free(stripped);
    qdq_model_free(m);
}

/* `n` codes of int8, all of them `code`. */
static void add_codes(test_builder *b, const char *name, int64_t rows, int64_t columns, int code)
{
    const int64_t dim[2] = {rows, columns};
    void *data;
    qdq_tensor *t = qdq_tensor_new(b->m, QDQ_INT8, 2, dim, &data);

    assert_non_null(t);
    memset(data, code, (size_t)(rows * columns));
    assert_non_null(qdq_graph_add_init(b->g, name, t));
}

TEST(weights_with_numbered_names_are_not_mixed_up)
{
    test_builder b = test_build(17);
    qdq_error err = QDQ_ERROR_INIT;
    qdq_plan *p = NULL;
    qdq_model *stripped = NULL;
    int64_t one = 1;
    float half = 0.5f;

    TEST_INPUT(&b, "x", 4, 4);
    assert_non_null(qdq_graph_add_init(b.g, "s", qdq_tensor_of_floats(b.m, 1, &one, &half)));
    add_codes(&b, "w_quantized_1", 4, 4, 10);
    add_codes(&b, "w_quantized_2", 4, 4, -20);
    /* a list of one scale is one scale */
    TEST_NODE(&b, "DequantizeLinear", "w1", "w_quantized_1", "s");
    TEST_NODE(&b, "DequantizeLinear", "w2", "w_quantized_2", "s");
    TEST_NODE(&b, "MatMul", "m1", "x", "w1");
    TEST_NODE(&b, "MatMul", "m2", "m1", "w2");
    test_output(&b, "m2");
    qdq_model *m = test_built(&b);
    assert_ok(qdq_plan_import(m, NULL, &p, &stripped, &err));
    assert_int_equal(p->weights.n, 2);
    const qdq_tensor *first = qdq_graph_find(stripped->graph, "m1")->producer->in[1].value->init;
    const qdq_tensor *second = qdq_graph_find(stripped->graph, "m2")->producer->in[1].value->init;
    assert_true(((const float *)(const void *)first->bytes.data)[0] == 5);
    assert_true(((const float *)(const void *)second->bytes.data)[0] == -10);
    qdq_plan_free(p);
    qdq_model_free(stripped);
    qdq_model_free(m);
}

TEST(import_knows_the_type_that_q_names_itself)
{
    test_builder b = test_build(21);
    qdq_error err = QDQ_ERROR_INIT;
    qdq_plan *p = NULL;

    TEST_INPUT(&b, "x", 4, 4);
    test_scalar(&b, "s", 0.5f);
    assert_true(
        qdq_node_set_int(TEST_NODE(&b, "QuantizeLinear", "q", "x", "s"), "output_dtype", QDQ_INT8));
    TEST_NODE(&b, "DequantizeLinear", "dq", "q", "s");
    TEST_NODE(&b, "Relu", "r", "dq");
    test_output(&b, "r");
    qdq_model *m = test_built(&b);
    assert_ok(qdq_plan_import(m, NULL, &p, NULL, &err));
    assert_int_equal(p->tensors.n, 1);
    assert_int_equal(p->tensors.at[0].qparam.type, QDQ_INT8);
    qdq_plan_free(p);
    qdq_model_free(m);
}

/* x is read in float, and in 8 bits by an output: no list of edges can say that. */
TEST(import_says_nothing_of_what_edges_cannot_name)
{
    test_builder b = test_build(17);
    qdq_error err = QDQ_ERROR_INIT;
    qdq_plan *p = NULL;
    qdq_model *stripped = NULL;

    TEST_INPUT(&b, "x", 4, 4);
    test_scalar(&b, "s", 0.5f);
    TEST_NODE(&b, "Relu", "y", "x");
    TEST_NODE(&b, "QuantizeLinear", "q", "y", "s");
    TEST_NODE(&b, "DequantizeLinear", "dq", "q", "s");
    TEST_NODE(&b, "Relu", "r", "y");
    test_output(&b, "dq");
    test_output(&b, "r");
    qdq_model *m = test_built(&b);
    assert_ok(qdq_plan_import(m, NULL, &p, &stripped, &err));
    assert_int_equal(p->tensors.n, 0);
    assert_null(qdq_graph_find(stripped->graph, "q")); /* but it is stripped */
    qdq_plan_free(p);
    qdq_model_free(stripped);
    qdq_model_free(m);
}
