/* quant_complete.c - plans applied to models that have Q/DQ already: what is there is used, not
 * doubled, and a second time there is nothing left to do. */
#include "ir/graph_check.h"
#include "ir/shape.h"
#include "quant/insert/insert.h"
#include "quant/place/place.h"
#include "quant/weights/bias_fit.h"
#include "support/build.h"
#include "support/spelled.h"
#include "support/test.h"

/* The rule-based plan, with the scale that a calibration could have given. */
static qdq_plan *planned(const qdq_model *m)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_target *t = NULL;
    qdq_plan *p = qdq_plan_new();

    assert_ok(qdq_target_load("ort-cpu", &t, &err));
    assert_ok(qdq_place(m, t, NULL, p, &err));
    qdq_target_free(t);
    for (size_t i = 0; i < p->tensors.n; i++)
        if (!p->tensors.at[i].known)
            p->tensors.at[i].qparam.scale = 0.1f;
    p->model = p->clean = p->created_by = "";
    p->target = "ort-cpu";
    assert_true(qdq_plan_finish(p));
    return p;
}

static qdq_model *inserted(const qdq_model *m, const qdq_plan *p)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_shape_opts so = {.strict = true};
    qdq_model *copy = NULL;

    assert_ok(qdq_model_clone(m, &copy, &err));
    assert_ok(qdq_insert(copy, p, NULL, NULL, &err));
    assert_ok(qdq_model_verify(copy, &err));
    assert_ok(qdq_model_infer(copy, &so, &err));
    return copy;
}

static const qdq_node *node_of(const qdq_model *m, const char *out)
{
    const qdq_value *v = qdq_graph_find(m->graph, out);

    assert_non_null(v);
    return v->producer;
}

/* x -> Q/DQ -> c0 -> r0 -> Q/DQ -> c1; Add(r0, c1) -> r1 */
static test_builder residual(void)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 8, 4, 4);
    test_qdq(&b, "x", QDQ_UINT8, 0.25f, 0);
    test_conv8(&b, "c0", "x.dq", 8, 8, 3);
    TEST_NODE(&b, "Relu", "r0", "c0");
    test_qdq(&b, "r0", QDQ_UINT8, 0.5f, 0);
    test_conv8(&b, "c1", "r0.dq", 8, 8, 3);
    TEST_NODE(&b, "Add", "a", "r0", "c1");
    TEST_NODE(&b, "Relu", "r1", "a");
    return b;
}

TEST(the_q_and_dq_that_are_there_are_used)
{
    test_builder b = residual();

    test_output(&b, "r1");
    qdq_model *m = test_built(&b);
    qdq_plan *p = planned(m);
    qdq_model *q = inserted(m, p);
    const qdq_node *add = node_of(q, "a");

    /* c1, r1 */
    assert_int_equal(test_count_nodes(q, QDQ_OP_QUANTIZELINEAR),
                     test_count_nodes(m, QDQ_OP_QUANTIZELINEAR) + 2);
    assert_int_equal(test_count_nodes(q, QDQ_OP_DEQUANTIZELINEAR),
                     test_count_nodes(m, QDQ_OP_DEQUANTIZELINEAR) + 2);
    assert_string_equal(add->in[0].value->name, "r0.dq");
    assert_int_equal(qdq_graph_find(q->graph, "r0")->n_use, 1); /* its Q alone: the Conv fuses */
    qdq_plan_free(p);
    qdq_model_free(q);
    qdq_model_free(m);
}

/* The node that is to read r0.dq may stand before it in the file. */
TEST(readers_that_stand_before_the_q_are_moved_behind_it)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 8, 4, 4);
    test_qdq(&b, "x", QDQ_UINT8, 0.25f, 0);
    test_conv8(&b, "c0", "x.dq", 8, 8, 3);
    TEST_NODE(&b, "GlobalAveragePool", "g", "c0");
    test_qdq(&b, "c0", QDQ_UINT8, 0.5f, 0);
    test_conv8(&b, "c1", "c0.dq", 8, 8, 3);
    test_output(&b, "g");
    test_output(&b, "c1");
    qdq_model *m = test_built(&b);
    qdq_plan *p = planned(m);
    qdq_model *q = inserted(m, p); /* verified: nodes are in an order in which they can run */

    assert_string_equal(node_of(q, "g_QuantizeLinear_Input")->in[0].value->name, "c0.dq");
    qdq_plan_free(p);
    qdq_model_free(q);
    qdq_model_free(m);
}

TEST(a_graph_output_gets_a_dq_of_its_own_behind_the_q_that_is_there)
{
    test_builder b = residual();

    test_output(&b, "r0");
    test_output(&b, "r1");
    qdq_model *m = test_built(&b);
    qdq_plan *p = planned(m);
    qdq_model *q = inserted(m, p);
    const qdq_value *out = q->graph->outputs.at[0];

    assert_string_equal(out->name, "r0");
    assert_int_equal(out->producer->op, QDQ_OP_DEQUANTIZELINEAR);
    assert_string_equal(out->producer->in[0].value->name, "r0.q");
    assert_int_equal(test_count_nodes(q, QDQ_OP_QUANTIZELINEAR),
                     test_count_nodes(m, QDQ_OP_QUANTIZELINEAR) + 2);
    qdq_plan_free(p);
    qdq_model_free(q);
    qdq_model_free(m);
}

/* Exporters write a Q for each reader: with the same scale, both may go on reading the float
 * value. */
TEST(equal_q_of_the_model_stay_where_they_are)
{
    test_builder b = residual();

    test_q_or_dq(&b, "QuantizeLinear", "two.q", "r0", QDQ_UINT8, 0.5f, 0);
    test_q_or_dq(&b, "DequantizeLinear", "two.dq", "two.q", QDQ_UINT8, 0.5f, 0);
    TEST_NODE(&b, "Softmax", "sm", "two.dq");
    test_output(&b, "sm");
    test_output(&b, "r1");
    qdq_model *m = test_built(&b);
    qdq_plan *p = planned(m);
    qdq_model *q = inserted(m, p);

    assert_string_equal(node_of(q, "two.q")->in[0].value->name, "r0");
    assert_string_equal(node_of(q, "a")->in[0].value->name, "r0.dq");
    qdq_plan_free(p);
    qdq_model_free(q);
    qdq_model_free(m);
}

/* A plan with another scale than the model's: as it says, behind what reads the value now. */
TEST(another_scale_gets_a_q_of_its_own)
{
    static const char text[] =
        "{\"qdq_plan\": 1, \"tensors\": [{\"tensor\": \"r0\", \"consumers\": [[\"a\", 0]],"
        "\"type\": \"uint8\", \"scale\": 0.75}]}";
    test_builder b = residual();
    qdq_error err = QDQ_ERROR_INIT;
    qdq_plan *p = NULL;

    test_output(&b, "r1");
    qdq_model *m = test_built(&b);
    assert_ok(qdq_plan_parse(text, strlen(text), "plan", &p, &err));
    qdq_model *q = inserted(m, p);
    assert_string_equal(node_of(q, "a")->in[0].value->name, "r0_DequantizeLinear_Output");
    assert_int_equal(qdq_graph_find(q->graph, "r0")->n_use, 2);
    qdq_plan_free(p);
    qdq_model_free(q);
    qdq_model_free(m);
}

/* --- biases beside weights that the model has in 8 bits --------------------------------------- */

/* Gemm with float data and bias and trained codes, all of them 0..6 with scale 0.5. */
static qdq_model *weight_only(float bias)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 4, 8);
    TEST_CODES(&b, "w", QDQ_INT8, 1, 8, 16);
    TEST_RANDOM(&b, "bias", 16);
    ((float *)(uintptr_t)qdq_graph_find(b.g, "bias")->init->bytes.data)[5] = bias;
    TEST_NODE(&b, "Gemm", "g", "x", "w.dq", "bias");
    test_output(&b, "g");
    return test_built(&b);
}

TEST(a_bias_takes_the_scale_of_the_weight_that_is_there)
{
    qdq_model *m = weight_only(7);
    qdq_plan *p = planned(m);
    qdq_model *q = inserted(m, p);
    const qdq_node *dq = node_of(q, "g")->in[2].value->producer;
    float scale;
    int32_t code;

    memcpy(&scale, dq->in[1].value->init->bytes.data + 5 * sizeof scale, sizeof scale);
    memcpy(&code, dq->in[0].value->init->bytes.data + 5 * sizeof code, sizeof code);
    assert_true(scale == 0.1f * 0.5f);
    assert_int_equal(code, 140);
    assert_string_equal(node_of(q, "g")->in[1].value->name, "w.dq");
    qdq_plan_free(p);
    qdq_model_free(q);
    qdq_model_free(m);
}

static void keep_log(void *ctx, qdq_log_level level, const char *text)
{
    (void)level;
    snprintf(ctx, 200, "%s", text);
}

TEST(a_bias_that_int32_cannot_hold_beside_it_stays_float)
{
    qdq_model *m = weight_only(3e9f);
    qdq_plan *p = planned(m);
    qdq_error err = QDQ_ERROR_INIT;
    char text[200] = "";
    qdq_job job = QDQ_JOB_INIT;

    job.ctx = text;
    job.log = keep_log;
    assert_int_equal(p->biases.n, 1);
    assert_ok(qdq_drop_overflowing_biases(m, &job, p, &err));
    assert_int_equal(p->biases.n, 0);
    assert_string_equal(
        text, "bias 'bias': int32 overflows with the scales of the model; it stays float");
    qdq_plan_free(p);
    qdq_model_free(m);
}

TEST(a_bias_that_fits_stays_in_the_plan)
{
    qdq_model *m = weight_only(7);
    qdq_plan *p = planned(m);
    qdq_error err = QDQ_ERROR_INIT;

    assert_ok(qdq_drop_overflowing_biases(m, NULL, p, &err));
    assert_int_equal(p->biases.n, 1);
    p->tensors.at[0].qparam.scale = 1e-38f; /* the product has no float */
    assert_ok(qdq_drop_overflowing_biases(m, NULL, p, &err));
    assert_int_equal(p->biases.n, 0);
    qdq_plan_free(p);
    qdq_model_free(m);
}

TEST(a_bias_whose_weight_has_no_known_scales_is_refused)
{
    static const char text[] =
        "{\"qdq_plan\": 1, \"biases\": [{\"tensor\": \"bias\", \"consumer\": [\"g\", 2],"
        "\"activation\": \"x\", \"weight\": \"w.dq\"}]}";
    qdq_model *m = weight_only(7);
    qdq_error err = QDQ_ERROR_INIT;
    qdq_plan *p = NULL;

    memset((void *)(uintptr_t)qdq_graph_find(m->graph, "w.s")->init->bytes.data, 0, 4);
    assert_ok(qdq_plan_parse(text, strlen(text), "plan", &p, &err));
    assert_fails(QDQ_E_FORMAT, "scale of 'x' (for bias 'bias'); scales of 'w.dq' (for bias 'bias')",
                 qdq_insert(m, p, NULL, NULL, &err));
    qdq_plan_free(p);
    qdq_model_free(m);
}

/* --- twice is once ---------------------------------------------------------------------------- */

/* Quantizes a model (consumed), and again: the second plan has nothing, and knows all that the
 * first one did. */
static void assert_settles(qdq_model *m)
{
    qdq_plan *first = planned(m);
    qdq_model *q = inserted(m, first);
    qdq_plan *second = planned(q);

    if (second->tensors.n + second->weights.n + second->biases.n > 0)
        fail_msg("a second time: %zu tensors (%s), %zu weights, %zu biases", second->tensors.n,
                 second->tensors.n > 0 ? second->tensors.at[0].tensor : "", second->weights.n,
                 second->biases.n);
    assert_int_equal(second->quantized.n, first->quantized.n);
    for (size_t i = 0; i < second->quantized.n; i++) {
        assert_string_equal(second->quantized.at[i].node, first->quantized.at[i].node);
        assert_true(second->quantized.at[i].preserved);
    }
    assert_int_equal(second->left_float.n, first->left_float.n);
    for (size_t i = 0; i < second->left_float.n; i++) {
        assert_string_equal(second->left_float.at[i].node, first->left_float.at[i].node);
        assert_string_equal(second->left_float.at[i].reason, first->left_float.at[i].reason);
    }
    qdq_plan_free(second);
    qdq_plan_free(first);
    qdq_model_free(q);
    qdq_model_free(m);
}

TEST(a_completed_residual_settles)
{
    test_builder b = residual();

    test_output(&b, "r1");
    assert_settles(test_built(&b));
}

static void add_pool(test_builder *b, const char *name, const char *x)
{
    const int64_t two[2] = {2, 2};

    assert_true(qdq_node_set_ints(TEST_NODE(b, "MaxPool", name, x), "kernel_shape", two, 2));
}

/* Conv, Relu, MaxPool, squeeze and excitation, Concat, residual Add, float islands, Gemm; and a
 * constant operand. */
TEST(a_network_of_all_kinds_settles)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 3, 16, 16);
    test_conv(&b, "first", "x", 16, 3, 3, 1);
    TEST_NODE(&b, "Relu", "r0", "first");
    test_conv(&b, "dw", "r0", 16, 16, 3, 16);
    TEST_NODE(&b, "Relu", "r1", "dw");
    test_conv(&b, "c1", "r1", 32, 16, 1, 1);
    add_pool(&b, "p", "c1");
    TEST_NODE(&b, "GlobalAveragePool", "gap", "p");
    test_conv(&b, "se", "gap", 32, 32, 1, 1);
    TEST_NODE(&b, "Sigmoid", "s", "se");
    TEST_NODE(&b, "Mul", "m", "p", "s");
    TEST_RANDOM(&b, "half", 1);
    TEST_NODE(&b, "Add", "shift", "m", "half");
    TEST_NODE(&b, "Softmax", "island", "shift");
    TEST_NODE(&b, "Add", "mixed", "shift", "island");
    test_conv(&b, "c2", "mixed", 32, 32, 3, 1);
    assert_true(qdq_node_set_int(TEST_NODE(&b, "Concat", "cat", "c2", "shift"), "axis", 1));
    test_conv(&b, "c3", "cat", 32, 64, 1, 1);
    TEST_NODE(&b, "Add", "sum", "c3", "c2");
    TEST_NODE(&b, "GlobalAveragePool", "gap2", "sum");
    TEST_NODE(&b, "Flatten", "f", "gap2");
    TEST_RANDOM(&b, "w", 32, 10);
    TEST_RANDOM(&b, "bias", 10);
    TEST_NODE(&b, "Gemm", "y", "f", "w", "bias");
    test_output(&b, "y");
    test_output(&b, "sum");
    assert_settles(test_built(&b));
}

TEST(a_transformer_block_settles)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 2, 4, 32);
    TEST_RANDOM(&b, "scale", 32);
    TEST_NODE(&b, "LayerNormalization", "ln", "x", "scale");
    TEST_RANDOM(&b, "w", 32, 32);
    TEST_RANDOM(&b, "bias", 32);
    TEST_NODE(&b, "MatMul", "q", "ln", "w");
    TEST_NODE(&b, "Add", "qb", "q", "bias");
    TEST_NODE(&b, "MatMul", "k", "ln", "w");
    assert_true(qdq_node_set_ints(TEST_NODE(&b, "Transpose", "kt", "k"), "perm",
                                  (const int64_t[]){0, 2, 1}, 3));
    TEST_NODE(&b, "MatMul", "qk", "qb", "kt");
    TEST_NODE(&b, "Softmax", "sm", "qk");
    TEST_NODE(&b, "MatMul", "o", "sm", "ln");
    TEST_NODE(&b, "Add", "res", "o", "x");
    test_output(&b, "res");
    assert_settles(test_built(&b));
}

/* --- plan and model at once ------------------------------------------------------------------- */

TEST(quantize_gives_what_plan_and_apply_give)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_engine *e = NULL;
    qdq_target *t = NULL;
    qdq_plan *p = NULL, *made = NULL;
    qdq_model *q = NULL, *applied = NULL;
    test_builder b = residual();

    test_output(&b, "r1");
    qdq_model *m = test_built(&b);
    assert_ok(qdq_engine_open("sim:" QDQ_SOURCE_DIR "/tests/data/sim_basic.json", NULL, &e, &err));
    assert_ok(qdq_target_load("ort-cpu", &t, &err));
    assert_ok(qdq_quantize(m, t, e, NULL, NULL, &p, &q, &err));
    assert_ok(qdq_plan_make(m, t, e, NULL, NULL, &made, &err));
    assert_ok(qdq_plan_apply(made, m, false, NULL, &applied, &err));
    char *a = test_text_of(q), *c = test_text_of(applied);
    assert_string_equal(a, c);
    assert_true(qdq_plan_get_summary(p)->placement_only);
    qdq_free(a);
    qdq_free(c);
    qdq_model_free(applied);
    qdq_plan_free(made);
    qdq_plan_free(p);

    /* nothing left: no scale comes from random input, whatever the data */
    assert_ok(qdq_plan_make(q, t, e, NULL, NULL, &p, &err));
    assert_false(qdq_plan_get_summary(p)->placement_only);
    assert_int_equal(qdq_plan_get_summary(p)->n_tensors, 0);
    qdq_plan_free(p);
    qdq_model_free(q);
    qdq_target_free(t);
    qdq_engine_close(e);
    qdq_model_free(m);
}
