/* opt_fold_batchnorm.c - BatchNormalization into the Conv before it. The arithmetic is checked by hand here and
 * against the engine in tests/numeric. */
#include <math.h>

#include "ir/edit.h"
#include "ir/ir.h"
#include "support/test.h"

#define PARAMS "float[2] s = {2, 3}, float[2] b = {10, 20}, float[2] mean = {1, 2}, float[2] var = {3, 8}"
#define CONV_BN                                                                                              \
    "  c = Conv <kernel_shape = [1, 1]> (x, w, cb)\n"                                                        \
    "  y = BatchNormalization <epsilon = 1.0> (c, s, b, mean, var)\n"

/* After one run of the pass (and what it leaves unused): number of live BatchNormalization nodes. */
static size_t folded(qdq_model *m)
{
    qdq_error err = QDQ_ERROR_INIT;
    size_t left = 0;

    assert_ok(qdq_model_run_passes(m, "fold-batchnorm,drop-unused", &err));
    for (size_t i = 0; i < m->graphs.n; i++)
        QDQ_FOR_NODES (n, m->graphs.at[i])
            left += n->op == QDQ_OP_BATCHNORMALIZATION;
    return left;
}

static size_t left_in(const char *text)
{
    qdq_model *m = test_model(text);
    size_t left = folded(m);

    qdq_model_free(m);
    return left;
}

static float element(const qdq_model *m, qdq_node *n, uint32_t input, size_t i)
{
    float x;

    (void)m;
    memcpy(&x, qdq_value_const(qdq_node_in(n, input))->bytes.data + i * sizeof x, sizeof x);
    return x;
}

static void weight_and_bias_take_the_factor(void **state)
{
    qdq_model *m = test_model("g (float[1,1,2,2] x) => (float[1,2,2,2] y) <float[2,1,1,1] w = {1, 1}, "
                              "float[2] cb = {5, 5}, " PARAMS "> {\n" CONV_BN "}\n");

    (void)state;
    assert_int_equal(folded(m), 0);
    qdq_node *conv = m->graph->outputs.at[0]->producer;
    assert_int_equal(conv->op, QDQ_OP_CONV);
    assert_string_equal(conv->out[0]->name, "y"); /* the graph output keeps its name */
    /* factors 2 / sqrt(3 + 1) = 1 and 3 / sqrt(8 + 1) = 1 */
    assert_true(element(m, conv, 1, 0) == 1 && element(m, conv, 1, 1) == 1);
    assert_true(element(m, conv, 2, 0) == 5 - 1 + 10 && element(m, conv, 2, 1) == 5 - 2 + 20);
    assert_int_equal(folded(m), 0);
    qdq_model_free(m);
}

static void a_conv_without_bias_gets_one(void **state)
{
    qdq_model *m =
        test_model("g (float[1,1,2,2] x) => (float[1,2,2,2] y) <float[2,1,1,1] w = {4, 6}, " PARAMS "> {\n"
                   "  c = Conv (x, w)\n"
                   "  y = BatchNormalization <epsilon = 1.0> (c, s, b, mean, var)\n"
                   "}\n");

    (void)state;
    assert_int_equal(folded(m), 0);
    qdq_node *conv = m->graph->outputs.at[0]->producer;
    assert_int_equal(conv->n_in, 3);
    assert_true(element(m, conv, 1, 0) == 4 && element(m, conv, 1, 1) == 6);
    assert_true(element(m, conv, 2, 0) == 9 && element(m, conv, 2, 1) == 18);
    qdq_model_free(m);
}

static void a_shared_weight_is_not_changed_for_the_other(void **state)
{
    qdq_model *m =
        test_model("g (float[1,1,2,2] x) => (float[1,2,2,2] y, float[1,2,2,2] z) <float[2,1,1,1] w = "
                   "{1, 1}, float[2] cb = {5, 5}, " PARAMS "> {\n" CONV_BN "  z = Conv (x, w)\n"
                   "}\n");

    (void)state;
    assert_int_equal(folded(m), 0);
    assert_string_equal(m->graph->outputs.at[1]->producer->in[1].value->name, "w");
    assert_string_not_equal(m->graph->outputs.at[0]->producer->in[1].value->name, "w");
    qdq_model_free(m);
}

static void not_when_the_conv_is_read_elsewhere(void **state)
{
    (void)state;
    assert_int_equal(
        left_in("g (float[1,1,2,2] x) => (float[1,2,2,2] y, float[1,2,2,2] z) <float[2,1,1,1] w = {1, "
                "1}, float[2] cb = {5, 5}, " PARAMS "> {\n" CONV_BN "  z = Relu(c)\n}\n"),
        1);
    assert_int_equal(
        left_in("g (float[1,1,2,2] x) => (float[1,2,2,2] y, float[1,2,2,2] c) <float[2,1,1,1] w = {1, "
                "1}, float[2] cb = {5, 5}, " PARAMS "> {\n" CONV_BN "}\n"),
        1);
}

static void not_when_something_is_not_constant(void **state)
{
    (void)state;
    assert_int_equal(
        left_in("g (float[1,1,2,2] x, float[2,1,1,1] w) => (float[1,2,2,2] y) <float[2] cb = {5, 5}, " PARAMS
                "> {\n" CONV_BN "}\n"),
        1);
    assert_int_equal(
        left_in("g (float[1,1,2,2] x, float[2] cb) => (float[1,2,2,2] y) <float[2,1,1,1] w = {1, 1}, " PARAMS
                "> {\n" CONV_BN "}\n"),
        1);
    assert_int_equal(
        left_in("g (float[1,1,2,2] x, float[2] s) => (float[1,2,2,2] y) <float[2,1,1,1] w = {1, 1}, "
                "float[2] cb = {5, 5}, float[2] b = {1, 1}, float[2] mean = {1, 1}, float[2] var = {1, "
                "1}> {\n" CONV_BN "}\n"),
        1);
}

static void not_when_the_weight_is_behind_q_and_dq(void **state)
{
    (void)state;
    assert_int_equal(
        left_in("g (float[1,1,2,2] x) => (float[1,2,2,2] y) <int8[2,1,1,1] w8 = {1, 1}, float ws = "
                "{0.5}, int8 wz = {0}, float[2] cb = {5, 5}, " PARAMS "> {\n"
                "  w = DequantizeLinear(w8, ws, wz)\n" CONV_BN "}\n"),
        1);
}

static void not_when_it_trains(void **state)
{
    (void)state;
    assert_int_equal(
        left_in("g (float[1,1,2,2] x) => (float[1,2,2,2] y) <float[2,1,1,1] w = {1, 1}, float[2] cb = "
                "{5, 5}, " PARAMS "> {\n"
                "  c = Conv <kernel_shape = [1, 1]> (x, w, cb)\n"
                "  y = BatchNormalization <training_mode = 1> (c, s, b, mean, var)\n"
                "}\n"),
        1);
}

static void not_when_the_result_would_not_be_finite(void **state)
{
    (void)state;
    assert_int_equal(
        left_in("g (float[1,1,2,2] x) => (float[1,2,2,2] y) <float[2,1,1,1] w = {1, 1}, float[2] cb = "
                "{5, 5}, float[2] s = {1, 1}, float[2] b = {1, 1}, float[2] mean = {1, 1}, float[2] var "
                "= {-1, 1}> {\n" CONV_BN "}\n"),
        1);
}

static void not_behind_another_operator(void **state)
{
    (void)state;
    assert_int_equal(left_in("g (float[1,2,2,2] x) => (float[1,2,2,2] y) <" PARAMS "> {\n"
                             "  c = Relu(x)\n"
                             "  y = BatchNormalization(c, s, b, mean, var)\n"
                             "}\n"),
                     1);
}

static void inside_a_subgraph_too(void **state)
{
    (void)state;
    assert_int_equal(
        left_in("g (bool q, float[1,1,2,2] x) => (float[1,2,2,2] r) <float[2,1,1,1] w = {1, 1}, float[2] "
                "cb = {5, 5}, " PARAMS "> {\n"
                "  r = If (q) <\n"
                "    then_branch = t () => (float[1,2,2,2] y) {\n" CONV_BN "    },\n"
                "    else_branch = e () => (float[1,2,2,2] z) {\n"
                "      z = Conv (x, w)\n"
                "    }\n"
                "  >\n"
                "}\n"),
        0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weight_and_bias_take_the_factor),
        cmocka_unit_test(a_conv_without_bias_gets_one),
        cmocka_unit_test(a_shared_weight_is_not_changed_for_the_other),
        cmocka_unit_test(not_when_the_conv_is_read_elsewhere),
        cmocka_unit_test(not_when_something_is_not_constant),
        cmocka_unit_test(not_when_the_weight_is_behind_q_and_dq),
        cmocka_unit_test(not_when_it_trains),
        cmocka_unit_test(not_when_the_result_would_not_be_finite),
        cmocka_unit_test(not_behind_another_operator),
        cmocka_unit_test(inside_a_subgraph_too),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
