/* rules_vs_ort.c - the rules of `default` keep the numbers of models (rules_help.h). */
#include "numeric/rules_help.h"
#include "support/rule_cases.h"

static void rewritten_models_keep_their_numbers(void **state)
{
    qdq_engine *e = need_ort();

    (void)state;
    for (size_t i = 0; e != NULL && i < QDQ_COUNT(rule_cases); i++)
        assert_rewrite_keeps_numbers(e, &rule_cases[i]);
}

/* The Relu that Q does anyway is not what makes the kernel an 8-bit one. */
static void a_conv_whose_relu_is_gone_runs_in_8_bits_as_before(void **state)
{
    static const char graph[] = "g (float[1,1,8,8] x) => (float[1,2,6,6] y) <float s = {0.02}, "
                                "uint8 z = {128}, uint8 o = {0}, "
                                "int8[2,1,3,3] w = {\n"
                                "  1,-2,3,-4,5,-6,7,-8,9,9,8,7,6,5,4,3,2,1}, float[2] sw = {0.01, "
                                "0.02}, int8[2] zw = {0, 0}> {\n"
                                "  q = QuantizeLinear(x, s, z)\n  d = DequantizeLinear(q, s, z)\n  "
                                "v = DequantizeLinear <axis = 0> "
                                "(w, sw, zw)\n"
                                "  c = Conv(d, v)\n  r = Relu(c)\n  p = QuantizeLinear(r, s, o)\n  "
                                "y = DequantizeLinear(p, s, o)\n}";
    qdq_engine *e = need_ort();
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model(graph);

    (void)state;
    if (e == NULL) {
        qdq_model_free(m);
        return;
    }
    assert_int_equal(count_kernels(e, m, "QLinearConv"), 1);
    assert_ok(qdq_model_run_passes(m, "drop-bounds-before-quantize", &err));
    assert_int_equal(count_kernels(e, m, "QLinearConv"), 1);
    assert_int_equal(count_kernels(e, m, "Conv") + count_kernels(e, m, "Relu"), 0);
    qdq_model_free(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rewritten_models_keep_their_numbers),
        cmocka_unit_test(a_conv_whose_relu_is_gone_runs_in_8_bits_as_before),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
