/* opt_qoperator.c - operators on codes become float operators between Q/DQ. What they compute:
 * numeric/qoperator_vs_ort.c. */
#include "support/rewrite.h"

#define PASS  "qoperator-to-qdq"
#define CODES "<float s = {0.5}, uint8 z = {3}, float t = {0.25}, uint8 u = {7}"

static void a_conv_gets_dq_for_all_it_reads_and_q_behind_it(void **state)
{
    (void)state;
    assert_becomes(
        PASS,
        "g (uint8[1,1,4,4] x_quantized) => (float[1,2,4,4] r) " CODES
        ", int8[2,1,1,1] w_quantized = {1, 2}, float[2] ws = {0.5, 0.25}, int8[2] wz = {0, 0}, "
        "int32[2] b_quantized = {8, 9}> {\n"
        "  [\"c_quant\"] y_quantized = QLinearConv <strides = [1, 1]> (x_quantized, s, z, "
        "w_quantized, ws, wz, t, u, b_quantized)\n"
        "  r = DequantizeLinear(y_quantized, t, u)\n"
        "}\n",
        "g (uint8[1,1,4,4] x_quantized) => (float[1,2,4,4] r) " CODES
        ", int8[2,1,1,1] w_quantized = {1, 2}, float[2] ws = {0.5, 0.25}, int8[2] wz = {0, 0}, "
        "int32[2] b_quantized = {8, 9}, float[2] b_quantized_scale = {0.25, 0.125}> {\n"
        "  [\"x_DequantizeLinear\"] x_DequantizeLinear_Output = DequantizeLinear(x_quantized, s, "
        "z)\n"
        "  [\"w_DequantizeLinear\"] w_DequantizeLinear_Output = DequantizeLinear <axis = 0> "
        "(w_quantized, ws, wz)\n"
        "  [\"b_DequantizeLinear\"] b_DequantizeLinear_Output = DequantizeLinear <axis = 0> "
        "(b_quantized, b_quantized_scale)\n"
        "  [\"c\"] y = Conv <strides = [1, 1]> (x_DequantizeLinear_Output, "
        "w_DequantizeLinear_Output, b_DequantizeLinear_Output)\n"
        "  [\"y_QuantizeLinear\"] y_quantized = QuantizeLinear(y, t, u)\n"
        "  r = DequantizeLinear(y_quantized, t, u)\n"
        "}\n");
}

static void a_graph_output_of_codes_keeps_its_name(void **state)
{
    (void)state;
    assert_becomes(
        PASS,
        "g (uint8[2] a) => (uint8[2] y) " CODES "> {\n"
        "  y = com.microsoft.QLinearAdd(a, s, z, a, s, z, t, u)\n"
        "}\n",
        "<ir_version: 9, opset_import: [\"\" : 17, \"com.microsoft\" : 1]>\n"
        "g (uint8[2] a) => (uint8[2] y) " CODES "> {\n"
        "  [\"a_DequantizeLinear\"] a_DequantizeLinear_Output = DequantizeLinear(a, s, z)\n"
        "  [\"a_DequantizeLinear_1\"] a_DequantizeLinear_Output_1 = DequantizeLinear(a, s, z)\n"
        "  y_float = Add(a_DequantizeLinear_Output, a_DequantizeLinear_Output_1)\n"
        "  [\"y_float_QuantizeLinear\"] y = QuantizeLinear(y_float, t, u)\n"
        "}\n");
}

static void a_gemm_without_output_scale_gives_floats(void **state)
{
    (void)state;
    assert_becomes(
        PASS,
        "g (uint8[2,3] x) => (float[2,2] y) " CODES
        ", int8[2,3] w = {1, 2, 3, 4, 5, 6}, float[2] ws = {0.5, 1}, "
        "int8[2] wz = {0, 0}, int32[2] b = {8, 9}> {\n"
        "  y = com.microsoft.QGemm <alpha = 2.0, transB = 1> (x, s, z, w, ws, wz, b)\n"
        "}\n",
        "<ir_version: 9, opset_import: [\"\" : 17, \"com.microsoft\" : 1]>\n"
        "g (uint8[2,3] x) => (float[2,2] y) " CODES
        ", int8[2,3] w = {1, 2, 3, 4, 5, 6}, float[2] ws = {0.5, 1}, "
        "int8[2] wz = {0, 0}, int32[2] b = {8, 9}, float[2] b_scale = {0.5, 1}> {\n"
        "  [\"x_DequantizeLinear\"] x_DequantizeLinear_Output = DequantizeLinear(x, s, z)\n"
        "  [\"w_DequantizeLinear\"] w_DequantizeLinear_Output = DequantizeLinear <axis = 0> (w, "
        "ws, wz)\n"
        "  [\"b_DequantizeLinear\"] b_DequantizeLinear_Output = DequantizeLinear <axis = 0> (b, "
        "b_scale)\n"
        "  y = Gemm <alpha = 2.0, transB = 1> (x_DequantizeLinear_Output, "
        "w_DequantizeLinear_Output, "
        "b_DequantizeLinear_Output)\n"
        "}\n");
}

static void concat_takes_any_number_of_threes_and_where_keeps_its_condition(void **state)
{
    (void)state;
    assert_becomes(
        PASS,
        "g (bool[2] c, uint8[2] a, uint8[2] b) => (uint8[4] y) " CODES "> {\n"
        "  p = com.microsoft.QLinearWhere(c, a, s, z, b, t, u, s, z)\n"
        "  y = com.microsoft.QLinearConcat <axis = 0> (t, u, p, s, z, b, t, u)\n"
        "}\n",
        "<ir_version: 9, opset_import: [\"\" : 17, \"com.microsoft\" : 1]>\n"
        "g (bool[2] c, uint8[2] a, uint8[2] b) => (uint8[4] y) " CODES "> {\n"
        "  [\"a_DequantizeLinear\"] a_DequantizeLinear_Output = DequantizeLinear(a, s, z)\n"
        "  [\"b_DequantizeLinear\"] b_DequantizeLinear_Output = DequantizeLinear(b, t, u)\n"
        "  p_float = Where(c, a_DequantizeLinear_Output, b_DequantizeLinear_Output)\n"
        "  [\"p_float_QuantizeLinear\"] p = QuantizeLinear(p_float, s, z)\n"
        "  [\"p_DequantizeLinear\"] p_DequantizeLinear_Output = DequantizeLinear(p, s, z)\n"
        "  [\"b_DequantizeLinear_1\"] b_DequantizeLinear_Output_1 = DequantizeLinear(b, t, u)\n"
        "  y_float = Concat <axis = 0> (p_DequantizeLinear_Output, b_DequantizeLinear_Output_1)\n"
        "  [\"y_float_QuantizeLinear\"] y = QuantizeLinear(y_float, t, u)\n"
        "}\n");
}

/* int8 codes without a zero point are told apart from Q's own default. */
static void a_missing_zero_point_is_written_where_codes_are_signed(void **state)
{
    (void)state;
    assert_becomes(PASS,
                   "g (int8[2] a) => (int8[2] y) " CODES "> {\n"
                   "  y = com.microsoft.QLinearSigmoid(a, s, \"\", t)\n"
                   "}\n",
                   "<ir_version: 9, opset_import: [\"\" : 17, \"com.microsoft\" : 1]>\n"
                   "g (int8[2] a) => (int8[2] y) " CODES ", int8 zero_point = {0}> {\n"
                   "  [\"a_DequantizeLinear\"] a_DequantizeLinear_Output = DequantizeLinear(a, s)\n"
                   "  y_float = Sigmoid(a_DequantizeLinear_Output)\n"
                   "  [\"y_float_QuantizeLinear\"] y = QuantizeLinear(y_float, t, zero_point)\n"
                   "}\n");
}

static void operators_that_move_codes_move_floats(void **state)
{
    (void)state;
    assert_becomes(
        PASS,
        "g (float[2,3] x) => (float[3,2] y) " CODES "> {\n"
        "  q = QuantizeLinear(x, s, z)\n"
        "  t_quantized = Transpose <perm = [1, 0]> (q)\n"
        "  y = DequantizeLinear(t_quantized, s, z)\n"
        "}\n",
        "g (float[2,3] x) => (float[3,2] y) " CODES "> {\n"
        "  q = QuantizeLinear(x, s, z)\n"
        "  [\"q_DequantizeLinear\"] q_DequantizeLinear_Output = DequantizeLinear(q, s, z)\n"
        "  t_1 = Transpose <perm = [1, 0]> (q_DequantizeLinear_Output)\n"
        "  [\"t_QuantizeLinear\"] t_quantized = QuantizeLinear(t_1, s, z)\n"
        "  y = DequantizeLinear(t_quantized, s, z)\n"
        "}\n");
}

static void an_index_of_the_largest_code_needs_no_q(void **state)
{
    (void)state;
    assert_becomes(
        PASS,
        "g (float[2,3] x) => (int64[2,1] y) " CODES "> {\n"
        "  q = QuantizeLinear(x, s, z)\n"
        "  y = ArgMax <axis = 1> (q)\n"
        "}\n",
        "g (float[2,3] x) => (int64[2,1] y) " CODES "> {\n"
        "  q = QuantizeLinear(x, s, z)\n"
        "  [\"q_DequantizeLinear\"] q_DequantizeLinear_Output = DequantizeLinear(q, s, z)\n"
        "  y = ArgMax <axis = 1> (q_DequantizeLinear_Output)\n"
        "}\n");
}

static void what_moves_without_a_known_scale_stays(void **state)
{
    (void)state;
    assert_kept(PASS, "g (uint8[2,3] x) => (uint8[3,2] y) { y = Transpose <perm = [1, 0]> (x) }");
    assert_refused(PASS,
                   "g (float[2] x) => (uint8[4] y) " CODES "> {\n"
                   "  q = QuantizeLinear(x, s, z)\n"
                   "  p = QuantizeLinear(x, t, u)\n"
                   "  y = Concat <axis = 0> (q, p)\n"
                   "}\n",
                   "codes of different scales");
    assert_refused(PASS,
                   "g (float[1,1,2,2] x) => (y) " CODES ", float[4] scales = {1, 1, 2, 2}> {\n"
                   "  q = QuantizeLinear(x, s, z)\n"
                   "  y = Resize <mode = \"linear\"> (q, \"\", scales)\n"
                   "}\n",
                   "interpolates codes");
    assert_refused(PASS,
                   "g (float[2] x) => (y) " CODES ", int64[2] pads = {1, 1}> {\n"
                   "  q = QuantizeLinear(x, s, z)\n"
                   "  y = Pad(q, pads)\n"
                   "}\n",
                   "pads with code 0");
}

static void dynamic_quantization_is_a_product_of_dequantized_operands(void **state)
{
    (void)state;
    assert_becomes(
        PASS,
        "g (float[2,3] x) => (float[2,2] y) <int8[3,2] w_quantized = {1, 2, 3, 4, 5, 6}, "
        "float[2] ws = {0.5, 1}, int8[2] wz = {0, 0}> {\n"
        "  xq, xs, xz = DynamicQuantizeLinear(x)\n"
        "  s = Mul(xs, ws)\n"
        "  [\"m_quant\"] i = MatMulInteger(xq, w_quantized, xz, wz)\n"
        "  f = Cast <to = 1> (i)\n"
        "  [\"scaled\"] y = Mul(f, s)\n"
        "}\n",
        "g (float[2,3] x) => (float[2,2] y) <int8[3,2] w_quantized = {1, 2, 3, 4, 5, 6}, "
        "float[2] ws = {0.5, 1}, int8[2] wz = {0, 0}> {\n"
        "  xq, xs, xz = DynamicQuantizeLinear(x)\n"
        "  [\"xq_DequantizeLinear\"] xq_DequantizeLinear_Output = DequantizeLinear(xq, xs, xz)\n"
        "  [\"w_DequantizeLinear\"] w_DequantizeLinear_Output = DequantizeLinear <axis = 1> "
        "(w_quantized, ws, wz)\n"
        "  [\"m\"] y = MatMul(xq_DequantizeLinear_Output, w_DequantizeLinear_Output)\n"
        "}\n");
}

static void an_integer_product_without_its_scales_stays(void **state)
{
    (void)state;
    assert_refused(PASS,
                   "g (uint8[2,3] x, int8[3,2] w) => (int32[2,2] y) { y = MatMulInteger(x, w) }",
                   "no Cast to float alone reads it");
    assert_refused(PASS,
                   "g (uint8[2,3] x, int8[3,2] w) => (y) {\n"
                   "  i = MatMulInteger(x, w)\n"
                   "  y = Cast <to = 1> (i)\n"
                   "}\n",
                   "no Mul with its scales alone reads it");
    assert_refused(PASS,
                   "g (uint8[2,3] x, int8[3,2] w, float s) => (y) {\n"
                   "  i = MatMulInteger(x, w)\n"
                   "  f = Cast <to = 1> (i)\n"
                   "  y = Mul(f, s)\n"
                   "}\n",
                   "the scale of its data is not known");
    assert_refused(PASS,
                   "g (float[2,3] x, int8[3,2] w, float s) => (y) {\n"
                   "  q, qs, qz = DynamicQuantizeLinear(x)\n"
                   "  i = MatMulInteger(q, w, qz)\n"
                   "  f = Cast <to = 1> (i)\n"
                   "  y = Mul(f, s)\n"
                   "}\n",
                   "not multiplied by the scales");
}

static void q_and_dq_of_com_microsoft_become_those_of_the_standard(void **state)
{
    (void)state;
    assert_becomes(PASS,
                   "g (float[2] x) => (float[2] y) " CODES "> {\n"
                   "  q = com.microsoft.QuantizeLinear(x, s, z)\n"
                   "  y = com.microsoft.DequantizeLinear(q, s, z)\n"
                   "}\n",
                   "<ir_version: 9, opset_import: [\"\" : 17, \"com.microsoft\" : 1]>\n"
                   "g (float[2] x) => (float[2] y) " CODES "> {\n"
                   "  q = QuantizeLinear(x, s, z)\n"
                   "  y = DequantizeLinear(q, s, z)\n"
                   "}\n");
    assert_refused(PASS,
                   "g (float[2] x) => (y) <float s = {0.5}, uint16 z = {3}> {\n"
                   "  q = com.microsoft.QuantizeLinear(x, s, z)\n"
                   "  y = com.microsoft.DequantizeLinear(q, s, z)\n"
                   "}\n",
                   "need opset 21");
}

static void bodies_of_if_are_converted_too(void **state)
{
    (void)state;
    assert_becomes(
        PASS,
        "g (bool c, uint8[2] x) => (float[2] y) " CODES "> {\n"
        "  y = If <then_branch = a () => (float[2] p) {\n"
        "    h = com.microsoft.QLinearSigmoid(x, s, z, t, u)\n"
        "    p = DequantizeLinear(h, t, u)\n"
        "  }, else_branch = b () => (float[2] r) {\n"
        "    r = DequantizeLinear(x, s, z)\n"
        "  }> (c)\n"
        "}\n",
        "<ir_version: 9, opset_import: [\"\" : 17, \"com.microsoft\" : 1]>\n"
        "g (bool c, uint8[2] x) => (float[2] y) " CODES "> {\n"
        "  y = If <then_branch = a () => (float[2] p) {\n"
        "    [\"x_DequantizeLinear\"] x_DequantizeLinear_Output = DequantizeLinear(x, s, z)\n"
        "    h_float = Sigmoid(x_DequantizeLinear_Output)\n"
        "    [\"h_float_QuantizeLinear\"] h = QuantizeLinear(h_float, t, u)\n"
        "    p = DequantizeLinear(h, t, u)\n"
        "  }, else_branch = b () => (float[2] r) {\n"
        "    r = DequantizeLinear(x, s, z)\n"
        "  }> (c)\n"
        "}\n");
}

static void what_q_and_dq_cannot_say_is_refused_with_the_reason(void **state)
{
    (void)state;
    assert_refused(
        PASS,
        "g (uint8[1,4,4,1] x) => (y) " CODES "> {\n"
        "  y = com.microsoft.QLinearGlobalAveragePool <channels_last = 1> (x, s, z, t, u)\n"
        "}\n",
        "channels last");
    assert_refused(PASS,
                   "g (uint8[2,3,4] x) => (y) " CODES "> {\n"
                   "  y = com.microsoft.QLinearSoftmax <axis = 1, opset = 11> (x, s, z, t, u)\n"
                   "}\n",
                   "Softmax of another opset");
    assert_refused(PASS,
                   "g (uint8[2,3] x, uint8[3,2] w) => (y) " CODES
                   ", float[2] xs = {1, 2}, uint8[2] xz = {0, 0}> {\n"
                   "  y = QLinearMatMul(x, xs, xz, w, s, z, t, u)\n"
                   "}\n",
                   "its data has several scales");
    assert_refused(PASS,
                   "g (uint8[1,1,4,4] x) => (y) " CODES
                   ", int8[2,1,1,1] w = {1, 2}, float[2] ws = {0.5, 0.25}, int8 wz = {0}> {\n"
                   "  y = QLinearConv(x, s, z, w, ws, wz, t, u)\n"
                   "}\n",
                   "not as many zero points as scales");
    assert_refused(PASS,
                   "g (uint8[2] a) => (y) " CODES
                   "> { y = com.microsoft.QLinearConcat <axis = 0> (t, u, a, s) }",
                   "threes of codes");
    assert_refused(PASS,
                   "g (uint8[2] a) => (y) " CODES
                   "> { y = com.microsoft.QLinearAdd(a, s, z, \"\", \"\", \"\", t, u) }",
                   "an input is missing");
    assert_refused(PASS, "g (uint8[2] a) => (y) " CODES "> { y = com.microsoft.QLinearSigmoid(a) }",
                   "a scale is missing");
    assert_refused(PASS,
                   "<ir_version: 8, opset_import: [\"\" : 12]>\n"
                   "g (uint8[1,1,4,4] x) => (y) " CODES
                   ", int8[2,1,1,1] w = {1, 2}, float[2] ws = {0.5, 0.25}, int8[2] wz = {0, 0}> {\n"
                   "  y = QLinearConv(x, s, z, w, ws, wz, t, u)\n"
                   "}\n",
                   "need opset 13");
}

/* The bias's scale is then computed as well. */
static void scales_that_are_computed_stay_computed(void **state)
{
    (void)state;
    assert_becomes(
        PASS,
        "g (uint8[1,1,4,4] x, float a) => (uint8[1,1,4,4] y) " CODES
        ", int8[1,1,1,1] w = {1}, float ws = {0.5}, int8 wz = {0}, int32[1] b = {8}> {\n"
        "  y = QLinearConv(x, a, z, w, ws, wz, t, u, b)\n"
        "}\n",
        "g (uint8[1,1,4,4] x, float a) => (uint8[1,1,4,4] y) " CODES
        ", int8[1,1,1,1] w = {1}, float ws = {0.5}, int8 wz = {0}, int32[1] b = {8}> {\n"
        "  [\"x_DequantizeLinear\"] x_DequantizeLinear_Output = DequantizeLinear(x, a, z)\n"
        "  [\"w_DequantizeLinear\"] w_DequantizeLinear_Output = DequantizeLinear(w, ws, wz)\n"
        "  bias_scale = Mul(a, ws)\n"
        "  [\"b_DequantizeLinear\"] b_DequantizeLinear_Output = DequantizeLinear(b, bias_scale)\n"
        "  y_float = Conv(x_DequantizeLinear_Output, w_DequantizeLinear_Output, "
        "b_DequantizeLinear_Output)\n"
        "  [\"y_float_QuantizeLinear\"] y = QuantizeLinear(y_float, t, u)\n"
        "}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_conv_gets_dq_for_all_it_reads_and_q_behind_it),
        cmocka_unit_test(a_graph_output_of_codes_keeps_its_name),
        cmocka_unit_test(a_gemm_without_output_scale_gives_floats),
        cmocka_unit_test(concat_takes_any_number_of_threes_and_where_keeps_its_condition),
        cmocka_unit_test(a_missing_zero_point_is_written_where_codes_are_signed),
        cmocka_unit_test(operators_that_move_codes_move_floats),
        cmocka_unit_test(an_index_of_the_largest_code_needs_no_q),
        cmocka_unit_test(what_moves_without_a_known_scale_stays),
        cmocka_unit_test(dynamic_quantization_is_a_product_of_dequantized_operands),
        cmocka_unit_test(an_integer_product_without_its_scales_stays),
        cmocka_unit_test(q_and_dq_of_com_microsoft_become_those_of_the_standard),
        cmocka_unit_test(bodies_of_if_are_converted_too),
        cmocka_unit_test(what_q_and_dq_cannot_say_is_refused_with_the_reason),
        cmocka_unit_test(scales_that_are_computed_stay_computed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
