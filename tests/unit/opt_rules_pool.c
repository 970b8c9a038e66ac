/* opt_rules_pool.c - pool-before-relu: a Relu between a first Conv with few channels and a MaxPool
 * goes behind it. */
#include "ir/ir.h"
#include "support/rewrite.h"

static const char pass[] = "pool-before-relu";

static void the_relu_goes_behind_the_pool(void **state)
{
    (void)state;
    assert_becomes(
        pass,
        "g (float[1,1,8,8] x) => (float[1,1,4,4] y) <float[1,1,1,1] w = {2}> {\n"
        "  c = Conv(x, w) r = Relu(c) y = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(r)\n}\n",
        "g (float[1,1,8,8] x) => (float[1,1,4,4] y) <float[1,1,1,1] w = {2}> {\n"
        "  c = Conv(x, w) y_1 = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(c) y = "
        "Relu(y_1)\n}\n");
}

static void ceil_mode_is_taken_where_the_last_window_sees_values(void **state)
{
    (void)state;
    /* 7 = 3 + 2 * 2 fits, so the mode changes nothing; of 6, the last window has one column of
     * values */
    assert_becomes(pass,
                   "g (float[1,1,7,6] x) => (float[1,1,3,3] y) <float[1,1,1,1] w = {2}> {\n"
                   "  c = Conv(x, w) r = Relu(c)\n"
                   "  y = MaxPool<ceil_mode = 1, kernel_shape = [3, 3], strides = [2, 2]>(r)\n}\n",
                   "g (float[1,1,7,6] x) => (float[1,1,3,3] y) <float[1,1,1,1] w = {2}> {\n"
                   "  c = Conv(x, w)\n"
                   "  y_1 = MaxPool<ceil_mode = 1, kernel_shape = [3, 3], strides = [2, 2]>(c) y = "
                   "Relu(y_1)\n}\n");
    assert_refused(pass,
                   "g (float[1,1,N,6] x) => (float[] y) <float[1,1,1,1] w = {2}> {\n"
                   "  c = Conv(x, w) r = Relu(c)\n"
                   "  y = MaxPool<ceil_mode = 1, kernel_shape = [3, 3], strides = [2, 2]>(r)\n}\n",
                   "padding alone");
    assert_refused(
        pass,
        "g (float[1,1,7,7] x) => (float[] y) <float[1,1,1,1] w = {2}> {\n"
        "  c = Conv(x, w) r = Relu(c)\n"
        "  y = MaxPool<auto_pad = \"SAME_UPPER\", ceil_mode = 1, kernel_shape = [3, 3]>(r)\n}\n",
        "padding alone");
}

/* w of n numbers, all 1 */
static void expect_size(const char *dims, int n, bool taken)
{
    char text[1200];
    size_t at = (size_t)snprintf(text, sizeof text,
                                 "g (float[1,C,8,8] x) => (float[] y) <float[%s,1,1] w = {1", dims);

    for (int i = 1; i < n; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, ", 1");
    snprintf(text + at, sizeof text - at,
             "}> {\n  c = Conv(x, w) r = Relu(c) y = MaxPool<kernel_shape = [2, 2]>(r)\n}\n");
    if (!taken) {
        assert_refused(pass, text, "more than 64 output channels or sums of more than 27");
        return;
    }
    qdq_model *m = test_model(text);
    qdq_error err = QDQ_ERROR_INIT;
    assert_ok(qdq_model_run_passes(m, pass, &err));
    assert_int_equal(qdq_graph_find(m->graph, "y")->producer->op, QDQ_OP_RELU);
    qdq_model_free(m);
}

static void sizes_are_those_of_the_rule_of_the_target(void **state)
{
    (void)state;
    expect_size("64,1", 64, true);
    expect_size("65,1", 65, false);
    expect_size("1,27", 27, true);
    expect_size("1,28", 28, false);
}

static void what_others_read_or_callers_see_stays(void **state)
{
    (void)state;
    assert_kept(pass, "g (float[1,1,8,8] x) => (float[] y, float[] r) <float[1,1,1,1] w = {2}> {\n"
                      "  c = Conv(x, w) r = Relu(c) y = MaxPool<kernel_shape = [2, 2]>(r)\n}\n");
    assert_kept(
        pass,
        "g (float[1,1,8,8] x) => (float[] y, float[] z) <float[1,1,1,1] w = {2}> {\n"
        "  c = Conv(x, w) r = Relu(c) y = MaxPool<kernel_shape = [2, 2]>(r) z = Tanh(c)\n}\n");
    assert_refused(pass,
                   "g (float[1,1,8,8] x) => (float[] y, int64[] i) <float[1,1,1,1] w = {2}> {\n"
                   "  c = Conv(x, w) r = Relu(c) y, i = MaxPool<kernel_shape = [2, 2]>(r)\n}\n",
                   "indices");
}

static void a_conv_that_is_not_the_first_or_has_no_constant_weight_stays(void **state)
{
    (void)state;
    assert_kept(
        pass,
        "g (float[1,1,8,8] x) => (float[] y) <float[1,1,1,1] w = {2}> {\n"
        "  t = Tanh(x) c = Conv(t, w) r = Relu(c) y = MaxPool<kernel_shape = [2, 2]>(r)\n}\n");
    assert_kept(pass, "g (float[1,1,8,8] x, float[1,1,1,1] w) => (float[] y) {\n"
                      "  c = Conv(x, w) r = Relu(c) y = MaxPool<kernel_shape = [2, 2]>(r)\n}\n");
    assert_kept(pass, "g (float[1,1,8,8] x, float[1,1,1,1] w = {2}) => (float[] y) {\n"
                      "  c = Conv(x, w) r = Relu(c) y = MaxPool<kernel_shape = [2, 2]>(r)\n}\n");
}

static void nothing_moves_across_quantization(void **state)
{
    (void)state;
    assert_kept(
        pass,
        "g (float[1,1,8,8] x) => (float[] y) <float[1,1,1,1] w = {2}, float s = {0.5}, uint8 z = "
        "{0}> {\n"
        "  c = Conv(x, w) r = Relu(c) q = QuantizeLinear(r, s, z) d = DequantizeLinear(q, s, z)\n"
        "  y = MaxPool<kernel_shape = [2, 2]>(d)\n}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_relu_goes_behind_the_pool),
        cmocka_unit_test(ceil_mode_is_taken_where_the_last_window_sees_values),
        cmocka_unit_test(sizes_are_those_of_the_rule_of_the_target),
        cmocka_unit_test(what_others_read_or_callers_see_stays),
        cmocka_unit_test(a_conv_that_is_not_the_first_or_has_no_constant_weight_stays),
        cmocka_unit_test(nothing_moves_across_quantization),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
