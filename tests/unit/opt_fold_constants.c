/* opt_fold_constants.c - what is computed, what is not and why, and that quantization stays. */
#include <math.h>

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
    const char *text = "g () => (float[2] y, uint8[2] p, float ps, uint8 pz) <\n"
                       "  float[2] w = {0.5, -1},\n"
                       "  float s = {0.1},\n"
                       "  int8 z = {0}\n"
                       "> {\n"
                       "  q = QuantizeLinear(w, s, z)\n"
                       "  y = DequantizeLinear(q, s, z)\n"
                       "  p, ps, pz = DynamicQuantizeLinear(w)\n"
                       "}\n";
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

TEST(a_scale_may_be_made_of_another_scale)
{
    qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;

    opts.fold_input_bytes = opts.fold_output_bytes = 8;
    test_folds_to_with("g (float[N] x) => (uint8[N] y, uint8[N] u) <float[4] w = {1, -8, 2, 4}, "
                       "float half = {0.5}> {\n"
                       "  a = Abs(w)\n"
                       "  s = ReduceMax <keepdims = 0> (a)\n"
                       "  t = Mul(s, half)\n"
                       "  y = QuantizeLinear(x, t)\n"
                       "  u = QuantizeLinear(x, s)\n"
                       "}\n",
                       "g (float[N] x) => (uint8[N] y, uint8[N] u) <\n"
                       "  float t = {4},\n"
                       "  float s = {8}\n"
                       "> {\n"
                       "  y = QuantizeLinear(x, t)\n"
                       "  u = QuantizeLinear(x, s)\n"
                       "}\n",
                       opts);
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

TEST(a_dequantization_stays_however_it_is_spelled)
{
    static const char *const way[] = {
        "c = Cast <to = 1> (w)\n  t = Transpose(c)\n  m = Mul(t, s)",
        "c = Cast <to = 1> (w)\n  t = Reshape(c, shape)\n  m = Mul(t, s)",
        "c = Cast <to = 1> (w)\n  u = Sub(c, z)\n  m = Div(u, s)",
        "c = Cast <to = 1> (w)\n  m = Div(c, s)",
        "c = Cast <to = 1> (w)\n  m = Transpose(c)",
        "c = CastLike(w, s)\n  m = Mul(c, s)",
        "i = Cast <to = 6> (w)\n  u = Sub(i, zi)\n  c = Cast <to = 1> (u)\n  m = Mul(c, s)",
    };

    for (size_t i = 0; i < QDQ_COUNT(way); i++) {
        char text[600];

        snprintf(text, sizeof text,
                 "g (float[N,2] x) => (float[N,2] y) <\n  int8[2,2] w = {1, 2, 3, 4},\n  float s = "
                 "{0.5},\n"
                 "  float z = {3},\n  int32 zi = {3},\n  int64[2] shape = {2, 2}\n> {\n  %s\n  y = "
                 "MatMul(x, "
                 "m)\n}\n",
                 way[i]);
        qdq_model *m = test_folded(text, (qdq_optimize_opts)QDQ_OPTIMIZE_OPTS_INIT, NULL);
        if (!qdq_elem_is_int(qdq_value_const(qdq_graph_find(m->graph, "w"))->elem) ||
            qdq_value_const(qdq_graph_find(m->graph, "m")) != NULL)
            fail_msg("computed: %s", way[i]);
        assert_null(qdq_value_const(qdq_graph_find(m->graph, "c")));
        qdq_model_free(m);
    }
}

/* --- what is computed ------------------------------------------------------------------------- */

TEST(function_bodies_get_constant_nodes)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model("<ir_version: 9, opset_import: [\"\" : 17, \"d\" : 1]>\n"
                              "g (float[2] x) => (float[2] y) {\n"
                              "  y = d.F(x)\n"
                              "}\n"
                              "<domain: \"d\", opset_import: [\"\" : 17]> F (p) => (q) {\n"
                              "  a = Constant <value = float[2] {1, 2}> ()\n"
                              "  b = Neg(a)\n"
                              "  q = Add(p, b)\n"
                              "}\n");

    assert_ok(qdq_model_run_passes(m, TEST_FOLD_PASSES, &err));
    const qdq_graph *body = m->functions.at[0]->body;
    assert_int_equal(body->n_node, 2);
    assert_int_equal(body->end.next->op, QDQ_OP_CONSTANT);
    assert_int_equal(body->inits.n, 0);
    qdq_model_free(m);
}

TEST(shape_arithmetic_in_a_function_depends_on_the_call_and_stays)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model("<ir_version: 9, opset_import: [\"\" : 17, \"d\" : 1]>\n"
                              "g (float[2] x, float[3] u) => (int64[1] y, int64[1] v) {\n"
                              "  y = d.F(x)\n"
                              "  v = d.F(u)\n"
                              "}\n"
                              "<domain: \"d\", opset_import: [\"\" : 17]> F (p) => (q) {\n"
                              "  q = Shape(p)\n"
                              "}\n");

    assert_ok(qdq_model_run_passes(m, "fold-constants", &err));
    assert_int_equal(test_count_op(m, QDQ_OP_SHAPE), 1);
    qdq_model_free(m);
}

/* --- what is not ------------------------------------------------------------------------------ */

TEST(inputs_above_the_limit_are_not_computed_with)
{
    const char *text = "g (float[8] x) => (float[8] y) <\n"
                       "  float[8] w = {1, 2, 3, 4, 5, 6, 7, 8}\n"
                       "> {\n"
                       "  q = Mul(w, w)\n"
                       "  y = Add(x, q)\n"
                       "}\n";
    qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;

    opts.fold_input_bytes = 31;
    test_folds_to_with(text, text, opts);
    test_fold_refused(text, opts, "an input is larger than the limit");
    opts.fold_input_bytes = 32;
    test_folds_to_with(text,
                       "g (float[8] x) => (float[8] y) <\n"
                       "  float[8] q = {1, 4, 9, 16, 25, 36, 49, 64}\n"
                       "> {\n"
                       "  y = Add(x, q)\n"
                       "}\n",
                       opts);
}

TEST(a_weight_that_one_node_reads_is_transposed_whatever_its_size)
{
    const char *alone = "g (float[3] x) => (float[2] y) <float[2,3] w = {1, 2, 3, 4, 5, 6}> {\n"
                        "  t = Transpose(w)\n"
                        "  y = MatMul(x, t)\n"
                        "}\n";
    const char *shared = "g (float[3] x, float[2] u) => (float[2] y, float[3] v) <\n"
                         "  float[2,3] w = {1, 2, 3, 4, 5, 6}\n"
                         "> {\n"
                         "  t = Transpose(w)\n"
                         "  y = MatMul(x, t)\n"
                         "  v = MatMul(u, w)\n"
                         "}\n";
    qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;

    opts.fold_input_bytes = 1;
    test_folds_to_with(alone,
                       "g (float[3] x) => (float[2] y) <\n"
                       "  float[3,2] t = {1, 4, 2, 5, 3, 6}\n"
                       "> {\n"
                       "  y = MatMul(x, t)\n"
                       "}\n",
                       opts);
    test_folds_to_with(shared, shared, opts);
}

TEST(constants_do_not_outgrow_the_budget)
{
    const char *text = "g (float[1] x) => (float[100] y) <\n"
                       "  float[1] a = {1},\n"
                       "  int64[1] n = {100}\n"
                       "> {\n"
                       "  t = Expand(a, n)\n"
                       "  y = Add(x, t)\n"
                       "}\n";
    qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;

    opts.growth_bytes = 100;
    test_folds_to_with(text, text, opts);
    test_fold_refused(text, opts, "the constants would grow beyond the budget");
    opts.growth_bytes = 0;
    opts.fold_output_bytes = 399;
    test_fold_refused(text, opts, "the result is larger than the limit");
}

TEST(lists_and_the_callback_decide)
{
    static const char *const neg[] = {"Neg", NULL}, *const wrong[] = {"Nag", NULL};
    const char *text = "g (float[2] x) => (float[2] y) <\n"
                       "  float[2] a = {1, 2}\n"
                       "> {\n"
                       "  b = Neg(a)\n"
                       "  y = Add(x, b)\n"
                       "}\n";
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

TEST(arguments_of_the_pass_are_limits_and_lists)
{
    static const struct {
        const char *passes;
        /* that stay */
        size_t negs, adds;
    } cases[] = {
        {"fold-constants", 0, 1},
        {"fold-constants:no=Neg", 1, 1},
        {"fold-constants:only=Abs+only=Add", 1, 1},
        {"fold-constants:only=Neg+input=7", 1, 1},
        {"fold-constants:only=Neg+input=8", 0, 1},
        {"fold-constants:output=7", 1, 1},
        {"fold-constants:growth=1", 1, 1},
        {"fold-constants:growth=8", 0, 1},
    };
    static const char *const wrong[] = {
        "no=Nag",    "no=",     "only=DequantizeLinear",     "input=-1", "input=",
        "growth=1k", "weights", "output=1234567890123456789"};
    qdq_error err = QDQ_ERROR_INIT;
    char *text;

    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        qdq_model *m =
            test_model("g (float[2] x) => (float[2] y, float[2] a) <float[2] a = {1, 2}> {\n"
                       "  b = Neg(a)\n  y = Add(x, b)\n}\n");

        assert_ok(qdq_model_run_passes(m, cases[i].passes, &err));
        if (test_count_op(m, QDQ_OP_NEG) != cases[i].negs ||
            test_count_op(m, QDQ_OP_ADD) != cases[i].adds)
            fail_msg("%s: %zu Neg", cases[i].passes, test_count_op(m, QDQ_OP_NEG));
        qdq_model_free(m);
    }
    for (size_t i = 0; i < QDQ_COUNT(wrong); i++) {
        char passes[80];

        snprintf(passes, sizeof passes, "fold-constants:%s", wrong[i]);
        assert_fails(QDQ_E_USAGE, "it takes no such", qdq_pass_pipeline(passes, NULL, &text, &err));
    }
}

/* Inference gives types to outputs of nodes alone: whoever asked for that of a computed weight got
 * none, and targets with partitions put Q/DQ on the data of a product, but not on its weight. */
TEST(what_was_computed_has_a_type)
{
    qdq_model *m =
        test_folded("<ir_version: 8, opset_import: [\"\" : 17]>\n"
                    "h (float[N,3] x) => (float[N,2] y) <float[2,3] w = {1, 2, 3, 4, 5, 6}> {\n"
                    "  t = Transpose(w)\n  y = MatMul(x, t)\n}\n",
                    (qdq_optimize_opts)QDQ_OPTIMIZE_OPTS_INIT, NULL);
    const qdq_value *t = qdq_graph_find(m->graph, "t");

    assert_non_null(qdq_value_const(t));
    assert_non_null(t->type);
    assert_int_equal(t->type->elem, QDQ_FLOAT);
    assert_int_equal(t->type->rank, 2);
    assert_int_equal(t->type->dim[0].value, 3);
    assert_int_equal(t->type->dim[1].value, 2);
    qdq_model_free(m);
}
