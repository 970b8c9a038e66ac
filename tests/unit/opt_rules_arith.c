/* opt_rules_arith.c - arithmetic that changes nothing, and what must not be taken for it. */
#include "support/rewrite.h"

#define NOOP "drop-noop-arith,drop-unused"

/* --- drop-noop-arith -------------------------------------------------------------------------- */

static void adding_zero_and_multiplying_by_one_goes(void **state)
{
    static const char *const same[] = {"Mul(t, one)",  "Mul(one, t)",  "Add(t, zero)",
                                       "Add(zero, t)", "Sub(t, zero)", "Div(t, one)",
                                       "Pow(t, one)"};
    char before[300];

    (void)state;
    for (size_t i = 0; i < QDQ_COUNT(same); i++) {
        snprintf(before, sizeof before,
                 "g (float[N] x) => (float[N] y) <float one = {1}, float zero = {0}> {\n"
                 "  t = Relu(x)\n  u = %s\n  y = Exp(u)\n}",
                 same[i]);
        assert_becomes(NOOP, before,
                       "g (float[N] x) => (float[N] y) {\n  t = Relu(x)\n  y = Exp(t)\n}");
    }
}

static void the_other_way_round_is_something_else(void **state)
{
    static const char *const other[] = {"Sub(zero, x)", "Div(one, x)",  "Pow(one, x)",
                                        "Mul(x, zero)", "Div(zero, x)", "Add(x, one)"};
    char text[300];

    (void)state;
    for (size_t i = 0; i < QDQ_COUNT(other); i++) {
        snprintf(
            text, sizeof text,
            "g (float[N] x) => (float[N] y) <float one = {1}, float zero = {0}> {\n  y = %s\n}",
            other[i]);
        assert_kept("drop-noop-arith", text);
    }
}

static void nearly_one_is_not_one(void **state)
{
    (void)state;
    assert_kept("drop-noop-arith",
                "g (float[N] x) => (float[N] y) <float one = {1.000005}> { y = Mul(x, one) }");
    assert_kept("drop-noop-arith",
                "g (float[N] x) => (float[N] y) <float nil = {9e-9}> { y = Add(x, nil) }");
    assert_kept("drop-noop-arith",
                "g (float[3] x) => (float[3] y) <float[3] one = {1, 1, 2}> { y = Mul(x, one) }");
    assert_kept("drop-noop-arith",
                "g (float[N] x) => (float[N] y) { one = Constant <value = float {nan}> ()\n"
                "  y = Mul(x, one) }");
}

static void all_number_types_have_a_zero_and_a_one(void **state)
{
    static const char *const types[] = {"float", "double", "float16", "bfloat16",
                                        "int8",  "uint8",  "int32",   "int64"};
    char before[300], after[300];

    (void)state;
    for (size_t i = 0; i < QDQ_COUNT(types); i++) {
        bool half = strstr(types[i], "16") != NULL;
        snprintf(before, sizeof before,
                 "g (%s[N] x) => (%s[N] y) <%s one = {%s}, %s zero = {0}> { a = Neg(x) b = Mul(a, "
                 "one) y = "
                 "Add(b, zero) }",
                 types[i], types[i], types[i], half ? "1.0" : "1", types[i]);
        snprintf(after, sizeof after, "g (%s[N] x) => (%s[N] y) { y = Neg(x) }", types[i],
                 types[i]);
        assert_becomes(NOOP, before, after);
    }
}

static void minus_zero_counts_as_zero(void **state)
{
    (void)state;
    assert_becomes(NOOP,
                   "g (float[N] x) => (float[N] y) <float z = {-0.0}> { t = Neg(x) y = Sub(t, z) }",
                   "g (float[N] x) => (float[N] y) { y = Neg(x) }");
}

static void a_bias_of_zeros_goes_where_the_shape_is_proven(void **state)
{
    (void)state;
    assert_becomes(
        NOOP,
        "g (float[N,4] x) => (float[N,3] y) <float[4,3] w = {1,2,3,4,5,6,7,8,9,10,11,12}, float[3] "
        "b = "
        "{0, 0, 0}> { t = MatMul(x, w) y = Add(b, t) }",
        "g (float[N,4] x) => (float[N,3] y) <float[4,3] w = {1,2,3,4,5,6,7,8,9,10,11,12}> { y = "
        "MatMul(x, w) }");
    assert_becomes(
        NOOP,
        "g (float[N,M] x) => (float[N,M] y) <float[1,1] b = {0}> { t = Neg(x) y = Add(t, b) }",
        "g (float[N,M] x) => (float[N,M] y) { y = Neg(x) }");
}

static void a_constant_that_may_change_the_shape_stays(void **state)
{
    static const char why[] = "may change the shape";

    (void)state;
    /* more dims, a dim that x may not have, a rank that is not known */
    assert_refused("drop-noop-arith",
                   "g (float[3] x) => (float[1,3] y) <float[1,3] z = {0, 0, 0}> { y = Add(x, z) }",
                   why);
    assert_refused("drop-noop-arith",
                   "g (float[N] x) => (float[3] y) <float[3] z = {0, 0, 0}> { y = Add(x, z) }",
                   why);
    assert_refused("drop-noop-arith",
                   "g (float[1] x) => (float[2] y) <float[2] z = {0, 0}> { y = Add(x, z) }", why);
    assert_refused(
        "drop-noop-arith",
        "g (float[N] x) => (float[] y) <float[1] z = {0}> { t = my.Op(x) y = Add(t, z) }", why);
    assert_becomes(NOOP,
                   "g (float[N] x) => (float[] y) <float z = {0}> { t = my.Op(x) y = Add(t, z) }",
                   "g (float[N] x) => (float[] y) { y = my.Op(x) }");
}

static void a_claimed_shape_is_no_proof(void **state)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model(
        "g (float[N] x) => (float[3] y) <float[3] z = {0, 0, 0}> { t = my.Op(x) y = Add(t, z) }");

    (void)state;
    assert_ok(qdq_model_run_passes(m, "drop-noop-arith", &err));
    test_assert_text(m, "g (float[N] x) => (float[3] y) <\n  float[3] z = {0, 0, 0}\n> {\n  t = "
                        "my.Op(x)\n  y = Add(t, "
                        "z)\n}\n");
    qdq_model_free(m);
}

static void an_empty_constant_goes_only_between_empty_tensors(void **state)
{
    (void)state;
    assert_becomes(NOOP,
                   "g (float[0] x) => (float[0] y) <float[0] z = {}> { t = Neg(x) y = Add(t, z) }",
                   "g (float[0] x) => (float[0] y) { y = Neg(x) }");
    assert_refused("drop-noop-arith",
                   "g (float[1] x) => (float[0] y) <float[0] z = {}> { y = Add(x, z) }",
                   "may change the shape");
}

static void zeros_that_the_caller_may_override_stay(void **state)
{
    (void)state;
    assert_kept("drop-noop-arith",
                "g (float[N] x, float z = {0}) => (float[N] y) { y = Add(x, z) }");
}

static void below_opset_7_an_attribute_places_the_operand(void **state)
{
    (void)state;
    assert_kept("drop-noop-arith", "<ir_version: 4, opset_import: [\"\" : 6]> g (float[2,3] x) => "
                                   "(float[2,3] y) <float[2] z = "
                                   "{0, 0}> { y = Add <axis = 0, broadcast = 1> (x, z) }");
}

static void a_no_op_inside_a_subgraph_goes(void **state)
{
    (void)state;
    assert_becomes(
        NOOP,
        "g (float[N] x, bool b) => (float[N] y) <float z = {0}> {\n"
        "  y = If (b) <then_branch = p () => (float[N] u) { a = Neg(x) u = Add(a, z) },\n"
        "              else_branch = q () => (float[N] v) { v = Add(x, z) }>\n}",
        "g (float[N] x, bool b) => (float[N] y) {\n"
        "  y = If (b) <then_branch = p () => (float[N] u) { u = Neg(x) },\n"
        "              else_branch = q () => (float[N] v) { v = Identity(x) }>\n}");
}

static void a_no_op_between_dequantize_and_quantize_goes(void **state)
{
    (void)state;
    assert_becomes(
        NOOP,
        "g (uint8[N] x) => (uint8[N] y) <float s = {0.5}, uint8 z = {0}, float t = {0.25}, float "
        "one = {1}> {\n"
        "  d = DequantizeLinear(x, s, z)\n  m = Mul(d, one)\n  y = QuantizeLinear(m, t, z)\n}",
        "g (uint8[N] x) => (uint8[N] y) <float s = {0.5}, uint8 z = {0}, float t = {0.25}> {\n"
        "  d = DequantizeLinear(x, s, z)\n  y = QuantizeLinear(d, t, z)\n}");
}

static void a_shared_zero_stays_for_the_others(void **state)
{
    (void)state;
    assert_becomes(
        NOOP,
        "g (float[N] x) => (float[N] y, bool[N] z) <float c = {0}> { t = Neg(x) y = Add(t, c) z = "
        "Less(x, c) }",
        "g (float[N] x) => (float[N] y, bool[N] z) <float c = {0}> { y = Neg(x) z = Less(x, c) }");
}

/* --- drop-repeated ---------------------------------------------------------------------------- */

static void what_was_done_is_not_done_again(void **state)
{
    static const char *const once[] = {"Relu", "Abs", "Ceil", "Floor", "Round", "Sign"};
    char before[200], after[200];

    (void)state;
    for (size_t i = 0; i < QDQ_COUNT(once); i++) {
        snprintf(before, sizeof before,
                 "g (float[N] x) => (float[N] y) { a = %s(x) b = %s(a) y = %s(b) }", once[i],
                 once[i], once[i]);
        snprintf(after, sizeof after, "g (float[N] x) => (float[N] y) { y = %s(x) }", once[i]);
        assert_becomes("drop-repeated", before, after);
    }
    assert_becomes("drop-repeated",
                   "g (float[N] x) => (float[N] y) { t = Exp(x) a = Neg(t) y = Neg(a) }",
                   "g (float[N] x) => (float[N] y) { y = Exp(x) }");
    assert_becomes(
        "drop-repeated",
        "g (bool[N] x, bool[N] z) => (bool[N] y) { a = Not(x) b = Not(a) y = And(b, z) }",
        "g (bool[N] x, bool[N] z) => (bool[N] y) { y = And(x, z) }");
    assert_kept("drop-repeated", "g (float[N] x) => (float[N] y) { a = Abs(x) y = Relu(a) }");
}

static void quantization_between_two_relus_keeps_both(void **state)
{
    (void)state;
    assert_kept("drop-repeated",
                "g (float[N] x) => (float[N] y) <float s = {0.5}, int8 z = {3}> {\n"
                "  a = Relu(x)\n  q = QuantizeLinear(a, s, z)\n  d = DequantizeLinear(q, s, z)\n"
                "  y = Relu(d)\n}");
}

/* --- drop-abs --------------------------------------------------------------------------------- */

static void abs_of_sizes_goes(void **state)
{
    (void)state;
    assert_becomes("drop-abs",
                   "g (float[N,3] x) => (int64[2] y) { s = Shape(x) a = Abs(s) y = Neg(a) }",
                   "g (float[N,3] x) => (int64[2] y) { s = Shape(x) y = Neg(s) }");
}

static void abs_of_what_may_be_negative_stays(void **state)
{
    (void)state;
    assert_kept("drop-abs",
                "g (float[N,3] x) => (int64[2] y) { s = Shape(x) n = Neg(s) y = Abs(n) }");
    assert_kept("drop-abs", "g (int64[2] x) => (int64[2] y) { y = Abs(x) }");
    assert_kept("drop-abs", "g () => (int64[2] y) <int64[2] c = {1, -1}> { y = Abs(c) }");
}

/* --- drop-zero-bias --------------------------------------------------------------------------- */

#define W "float[1,1,1,1] w = {2}"
#define X "g (float[1,1,2,2] x) => (float[1,1,2,2] y) "

/* optimizer 10 case 30 */
static void a_bias_of_zeros_is_left_out(void **state)
{
    (void)state;
    assert_becomes("drop-zero-bias,drop-unused",
                   X "<" W ", float[1] b = {0}> { y = Conv(x, w, b) }",
                   X "<" W "> { y = Conv(x, w) }");
    assert_becomes("drop-zero-bias,drop-unused",
                   X "<" W ", float[1] b = {-0.0}> { y = ConvTranspose(x, w, b) }",
                   X "<" W "> { y = ConvTranspose(x, w) }");
    assert_becomes(
        "drop-zero-bias,drop-unused",
        "g (float[2,2] x, float[2,2] w) => (float[2,2] y) <float[2] b = {0, 0}> { y = Gemm <alpha "
        "= 0.5> (x, w, b) }",
        "g (float[2,2] x, float[2,2] w) => (float[2,2] y) { y = Gemm <alpha = 0.5> (x, w) }");
    assert_becomes(
        "drop-zero-bias,drop-unused",
        "g (uint8[1,1,2,2] x) => (uint8[1,1,2,2] y) <uint8[1,1,1,1] w = {2}, float s = {1}, uint8 "
        "z = {0}, int32[1] b = "
        "{0}> { y = QLinearConv(x, s, z, w, s, z, s, z, b) }",
        "g (uint8[1,1,2,2] x) => (uint8[1,1,2,2] y) <uint8[1,1,1,1] w = {2}, float s = {1}, uint8 "
        "z = {0}> { y = "
        "QLinearConv(x, s, z, w, s, z, s, z) }");
}

/* optimizer 10 case 30 */
static void a_quantized_bias_stays_even_if_zero(void **state)
{
    (void)state;
    assert_kept(
        "drop-zero-bias",
        X "<int8[1,1,1,1] w = {2}, int32[1] b = {0}, float s = {1}> {\n"
          "  dw = DequantizeLinear(w, s)\n  db = DequantizeLinear(b, s)\n  y = Conv(x, dw, db)\n}");
}

/* optimizer 10 case 30 */
static void gemm_needs_its_third_input_below_opset_11(void **state)
{
    (void)state;
    assert_refused(
        "drop-zero-bias",
        "<ir_version: 4, opset_import: [\"\" : 9]> g (float[2,2] x, float[2,2] w) => (float[2,2] "
        "y) <float[2] b = {0, 0}> "
        "{ y = Gemm(x, w, b) }",
        "below opset 11");
}

static void a_bias_that_is_not_zero_stays(void **state)
{
    (void)state;
    assert_kept("drop-zero-bias", X "<" W ", float[1] b = {1e-30}> { y = Conv(x, w, b) }");
    assert_kept("drop-zero-bias", "g (float[1,1,2,2] x, float[1] b = {0}) => (float[1,1,2,2] y) <" W
                                  "> { y = Conv(x, w, b) }");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adding_zero_and_multiplying_by_one_goes),
        cmocka_unit_test(the_other_way_round_is_something_else),
        cmocka_unit_test(nearly_one_is_not_one),
        cmocka_unit_test(all_number_types_have_a_zero_and_a_one),
        cmocka_unit_test(minus_zero_counts_as_zero),
        cmocka_unit_test(a_bias_of_zeros_goes_where_the_shape_is_proven),
        cmocka_unit_test(a_constant_that_may_change_the_shape_stays),
        cmocka_unit_test(a_claimed_shape_is_no_proof),
        cmocka_unit_test(an_empty_constant_goes_only_between_empty_tensors),
        cmocka_unit_test(zeros_that_the_caller_may_override_stay),
        cmocka_unit_test(below_opset_7_an_attribute_places_the_operand),
        cmocka_unit_test(a_no_op_inside_a_subgraph_goes),
        cmocka_unit_test(a_no_op_between_dequantize_and_quantize_goes),
        cmocka_unit_test(a_shared_zero_stays_for_the_others),
        cmocka_unit_test(what_was_done_is_not_done_again),
        cmocka_unit_test(quantization_between_two_relus_keeps_both),
        cmocka_unit_test(abs_of_sizes_goes),
        cmocka_unit_test(abs_of_what_may_be_negative_stays),
        cmocka_unit_test(a_bias_of_zeros_is_left_out),
        cmocka_unit_test(a_quantized_bias_stays_even_if_zero),
        cmocka_unit_test(gemm_needs_its_third_input_below_opset_11),
        cmocka_unit_test(a_bias_that_is_not_zero_stays),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
