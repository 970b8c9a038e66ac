/* opt_fold_constants.c - quantization stays under all limits and callbacks. What is computed, what
 * is not and why is in text/fold-constants. */
#include "ir/edit.h"
#include "ir/ir.h"
#include "support/build.h"
#include "support/folded.h"
#include "support/test.h"

/* --- quantization stays ----------------------------------------------------------------------- */

TEST(a_dequantized_weight_stays_however_small_or_large)
{
    const int64_t size[] = {4, 512};

    for (size_t i = 0; i < QDQ_COUNT(size); i++) {
        test_builder b = test_build(13);
        int64_t dim[] = {size[i], size[i], 3, 3}, one = 1;
        float scale = 0.5f;
        void *data;

        TEST_INPUT(&b, "x", 1, size[i], 8, 8);
        qdq_graph_add_init(b.g, "w", qdq_tensor_new(b.m, QDQ_INT8, 4, dim, &data));
        qdq_graph_add_init(b.g, "s", qdq_tensor_of_floats(b.m, 0, &one, &scale));
        qdq_graph_add_init(b.g, "z", qdq_tensor_new(b.m, QDQ_INT8, 0, &one, &data));
        TEST_NODE(&b, "DequantizeLinear", "wf", "w", "s", "z");
        TEST_NODE(&b, "Conv", "y", "x", "wf");
        test_output(&b, "y");
        qdq_model *m = test_built(&b);
        qdq_error err = QDQ_ERROR_INIT;
        qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;
        opts.fold_input_bytes = opts.fold_output_bytes = opts.growth_bytes = (uint64_t)1 << 40;
        assert_ok(qdq_model_optimize(m, &opts, NULL, &err));
        assert_int_equal(m->graph->n_node, 2);
        assert_int_equal(test_count_op(m, QDQ_OP_DEQUANTIZELINEAR), 1);
        assert_non_null(qdq_graph_find(m->graph, "w"));
        qdq_model_free(m);
    }
}

static qdq_fold always(void *ctx, const qdq_fold_node *n)
{
    (void)n;
    ++*(int *)ctx;
    return QDQ_FOLD_YES;
}

TEST(no_callback_and_no_option_folds_quantization)
{
    static const char *const only[] = {"Neg", "DequantizeLinear", NULL};
    qdq_error err = QDQ_ERROR_INIT;
    const char *text = test_graph_text(__func__);
    qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;
    int asked = 0;

    opts.should_fold = always;
    opts.ctx = &asked;
    test_folds_to_with(text, text, opts);
    assert_int_equal(asked, 0);
    opts.should_fold = NULL;
    opts.fold_only = only;
    qdq_model *m = test_model(text);
    assert_fails(QDQ_E_USAGE, "DequantizeLinear is never computed",
                 qdq_model_optimize(m, &opts, NULL, &err));
    qdq_model_free(m);
}

/* Each of the three, of constants small and large, under limits that allow everything and a
 * callback that says yes. */
TEST(the_three_operators_stay_whatever_the_size)
{
    const int64_t size[] = {2, 600000};

    for (size_t i = 0; i < QDQ_COUNT(size) * 2; i++) {
        const int64_t dim[] = {size[i / 2]}, one = 1;
        const float scale = 0.5F;
        qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;
        test_builder b = test_build(13);
        qdq_error err = QDQ_ERROR_INIT;
        int asked = 0;
        void *data;

        TEST_RANDOM(&b, "w", size[i / 2]);
        qdq_graph_add_init(b.g, "codes", qdq_tensor_new(b.m, QDQ_INT8, 1, dim, &data));
        qdq_graph_add_init(b.g, "s", qdq_tensor_of_floats(b.m, 0, &one, &scale));
        qdq_graph_add_init(b.g, "z", qdq_tensor_new(b.m, QDQ_INT8, 0, &one, &data));
        TEST_NODE(&b, "QuantizeLinear", "q", "w", "s", "z");
        TEST_NODE(&b, "DequantizeLinear", "d", "codes", "s", "z");
        qdq_node *dyn = qdq_graph_add_node(b.g, NULL, "", "DynamicQuantizeLinear", "dyn", 1, 3,
                                           (const char *const[]){"p", "ps", "pz"});
        qdq_node_set_in(dyn, 0, qdq_graph_find(b.g, "w"));
        const char *const outputs[] = {"q", "d", "p", "ps", "pz"};
        for (size_t k = 0; k < QDQ_COUNT(outputs); k++)
            test_output(&b, outputs[k]);
        qdq_model *m = test_built(&b);
        opts.should_fold = i % 2 == 0 ? always : NULL;
        opts.ctx = &asked;
        opts.fold_input_bytes = opts.fold_output_bytes = opts.growth_bytes =
            i % 2 == 0 ? (uint64_t)1 << 40 : 1;
        assert_ok(qdq_model_optimize(m, &opts, NULL, &err));
        assert_int_equal(asked, 0);
        assert_int_equal(m->graph->n_node, 3);
        for (size_t k = 0; k < QDQ_COUNT(outputs); k++)
            assert_non_null(qdq_graph_find(m->graph, outputs[k])->producer);
        qdq_model_free(m);
    }
}

TEST(the_scale_of_a_weight_above_all_limits_is_computed)
{
    test_builder b = test_build(13);
    float top = 127;
    int64_t one = 1;
    void *data;

    TEST_INPUT(&b, "x", 4, 1024);
    TEST_RANDOM(&b, "w", 1024, 512);
    qdq_graph_add_init(b.g, "top", qdq_tensor_of_floats(b.m, 0, &one, &top));
    qdq_graph_add_init(b.g, "z", qdq_tensor_new(b.m, QDQ_INT8, 0, &one, &data));
    TEST_NODE(&b, "Abs", "a", "w");
    TEST_NODE(&b, "ReduceMax", "m", "a");
    qdq_node_set_int(b.g->end.prev, "keepdims", 0);
    TEST_NODE(&b, "Div", "s", "m", "top");
    TEST_NODE(&b, "QuantizeLinear", "q", "w", "s", "z");
    TEST_NODE(&b, "DequantizeLinear", "f", "q", "s", "z");
    TEST_NODE(&b, "MatMul", "y", "x", "f");
    test_output(&b, "y");
    qdq_model *m = test_built(&b);
    qdq_error err = QDQ_ERROR_INIT;
    qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;
    opts.passes = TEST_FOLD_PASSES;
    opts.fold_input_bytes = opts.fold_output_bytes = opts.growth_bytes = 64;
    assert_ok(qdq_model_optimize(m, &opts, NULL, &err));
    assert_int_equal(m->graph->n_node, 3);
    assert_non_null(qdq_value_const(qdq_graph_find(m->graph, "s")));
    assert_int_equal(test_count_op(m, QDQ_OP_QUANTIZELINEAR), 1);
    qdq_model_free(m);
}

/* Each scale is the sum of all weights behind it: what is computed for one is not kept for the
 * next. */
TEST(scales_that_share_their_way_do_not_take_quadratic_time)
{
    enum { SCALES = 2000 };
    test_builder b = test_build(13);
    qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;
    qdq_error err = QDQ_ERROR_INIT;
    char name[32], before[32];

    TEST_INPUT(&b, "x", 4);
    TEST_RANDOM(&b, "a0", 64);
    for (int i = 1; i <= SCALES; i++) {
        snprintf(before, sizeof before, "a%d", i - 1);
        snprintf(name, sizeof name, "a%d", i);
        TEST_NODE(&b, "Abs", name, before);
    }
    for (int i = 0; i < SCALES; i++) {
        snprintf(before, sizeof before, "a%d", SCALES);
        snprintf(name, sizeof name, "s%d", i);
        TEST_NODE(&b, "ReduceMax", name, before);
        qdq_node_set_int(b.g->end.prev, "keepdims", 0);
        snprintf(before, sizeof before, "s%d", i);
        snprintf(name, sizeof name, "q%d", i);
        TEST_NODE(&b, "QuantizeLinear", name, "x", before);
        test_output(&b, name);
    }
    test_output(&b, "a0"); /* so that the limits forbid the first of them */
    qdq_model *m = test_built(&b);
    opts.passes = "fold-constants";
    opts.fold_input_bytes = opts.fold_output_bytes = 8;
    assert_ok(qdq_model_optimize(m, &opts, NULL, &err));
    assert_non_null(qdq_value_const(qdq_graph_find(m->graph, "s0")));
    assert_null(qdq_value_const(qdq_graph_find(m->graph, "s1999")));
    qdq_model_free(m);
}

/* --- what callers decide ---------------------------------------------------------------------- */

TEST(lists_and_the_callback_decide)
{
    static const char *const neg[] = {"Neg", NULL}, *const wrong[] = {"Nag", NULL};
    const char *text = test_graph_text(__func__);
    qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model(text);
    int asked = 0;

    opts.no_fold = neg;
    test_folds_to_with(text, text, opts);
    test_fold_refused(text, opts, "the options exclude this operator");
    opts.no_fold = wrong;
    assert_fails(QDQ_E_USAGE, "found 'Nag', expected an operator",
                 qdq_model_optimize(m, &opts, NULL, &err));
    opts.no_fold = NULL;
    opts.fold_input_bytes = 1;
    opts.should_fold = always;
    opts.ctx = &asked;
    assert_ok(qdq_model_optimize(m, &opts, NULL, &err));
    assert_int_equal(test_count_op(m, QDQ_OP_NEG), 0);
    assert_int_equal(asked, 1);
    qdq_model_free(m);
}
