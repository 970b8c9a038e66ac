/* opt_fold_batchnorm_qdq.c - BatchNormalization into quantized weights that are made in code; the
 * rest is in tests/text/fold-batchnorm. */
#include "support/build.h"
#include "support/test.h"

/* Weights large and small stay behind DQ, and inputs stay what they are. */
TEST(no_weight_becomes_float_and_no_initializer_an_input)
{
    qdq_error err = QDQ_ERROR_INIT;

    for (int64_t size = 4; size <= 512; size *= 128) {
        test_builder b = test_build(17);
        const int64_t shape[4] = {size, size, 3, 3}, one = 1;
        const float scale = 0.01F;
        void *data;

        qdq_tensor *t = qdq_tensor_new(b.m, QDQ_INT8, 4, shape, &data);
        memset(data, 5, t->bytes.size);
        qdq_graph_add_init(b.g, "wq", t);
        qdq_graph_add_init(b.g, "s", qdq_tensor_of_floats(b.m, 0, &one, &scale));
        TEST_INPUT(&b, "in", 1, size, 3, 3);
        TEST_RANDOM(&b, "p", size);
        TEST_RANDOM(&b, "var", size);
        TEST_NODE(&b, "QuantizeLinear", "xq", "in", "s");
        TEST_NODE(&b, "DequantizeLinear", "x", "xq", "s");
        TEST_NODE(&b, "DequantizeLinear", "w", "wq", "s");
        TEST_NODE(&b, "Conv", "c", "x", "w");
        qdq_node_set_float(TEST_NODE(&b, "BatchNormalization", "y", "c", "p", "p", "p", "var"),
                           "epsilon", 2);
        test_output(&b, "y");
        qdq_model *m = test_built(&b);
        assert_ok(qdq_model_run_passes(m, "fold-batchnorm,quantize-bias,drop-unused", &err));
        size_t n_dq = 0;
        QDQ_FOR_NODES (n, m->graph) {
            n_dq += n->op == QDQ_OP_DEQUANTIZELINEAR;
            assert_int_not_equal(n->op, QDQ_OP_BATCHNORMALIZATION);
        }
        assert_int_equal(n_dq, 3); /* data, weight, and the new bias */
        QDQ_FOR_INITS(v, m->graph)
        assert_true(v->init->elem != QDQ_FLOAT || v->init->count <= size);
        assert_int_equal(m->graph->inputs.n, 1);
        assert_string_equal(m->graph->inputs.at[0]->name, "in");
        assert_string_equal(m->graph->outputs.at[0]->name, "y");
        qdq_model_free(m);
    }
}
