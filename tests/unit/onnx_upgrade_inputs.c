/* Attributes that became inputs: each adapter of onnx/upgrade_inputs.c, with and without the
 * attribute, and what it says about an attribute of the wrong type. */
#include "support/test.h"

#include "ir/edit.h"
#include "ir/graph_check.h"
#include "ir/ir.h"

#define AT(opset) "<ir_version: 8, opset_import: [\"\" : " #opset "]>\n"

static void assert_becomes(const char *text, int opset, const char *expected)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model(text);

    assert_ok(qdq_model_set_opset(m, opset, &err));
    assert_ok(qdq_model_verify(m, &err));
    test_assert_text(m, expected);
    qdq_model_free(m);
}

static void assert_refused(qdq_status code, const char *part, const char *text, int opset)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model(text);

    assert_fails(code, part, qdq_model_set_opset(m, opset, &err));
    qdq_model_free(m);
}

/* --- axes ------------------------------------------------------------------------------------- */

static void squeeze_axes_become_an_input_in_13(void **state)
{
    (void)state;
    assert_becomes(AT(12) "g (float[1,2,1] x) => (float[2] y) { y = Squeeze <axes = [0, 2]> (x) }",
                   13,
                   "g (float[1,2,1] x) => (float[2] y) <\n"
                   "  int64[2] y_axes = {0, 2}\n"
                   "> {\n"
                   "  y = Squeeze(x, y_axes)\n"
                   "}\n");
}

static void squeeze_without_axes_stays(void **state)
{
    (void)state;
    assert_becomes(AT(12) "g (float[1,2] x) => (float[2] y) { y = Squeeze(x) }", 13,
                   "g (float[1,2] x) => (float[2] y) {\n"
                   "  y = Squeeze(x)\n"
                   "}\n");
}

static void squeeze_stays_below_13(void **state)
{
    (void)state;
    assert_becomes(AT(7) "g (float[1,2] x) => (float[2] y) { y = Squeeze <axes = [0]> (x) }", 12,
                   "g (float[1,2] x) => (float[2] y) {\n"
                   "  y = Squeeze <axes = [0]> (x)\n"
                   "}\n");
}

static void unsqueeze_needs_axes(void **state)
{
    (void)state;
    assert_becomes(AT(12) "g (float[2] x) => (float[1,2] y) { y = Unsqueeze <axes = [0]> (x) }", 13,
                   "g (float[2] x) => (float[1,2] y) <\n"
                   "  int64[1] y_axes = {0}\n"
                   "> {\n"
                   "  y = Unsqueeze(x, y_axes)\n"
                   "}\n");
    assert_refused(QDQ_E_FORMAT,
                   "node 'Unsqueeze@y': Unsqueeze from opset 12 to 13: attribute 'axes' is missing",
                   AT(12) "g (float[2] x) => (float[1,2] y) { y = Unsqueeze(x) }", 13);
}

static void axes_of_another_type_are_an_error(void **state)
{
    (void)state;
    assert_refused(QDQ_E_FORMAT, "attribute 'axes' is not a list of integers",
                   AT(12) "g (float[1,2] x) => (float[2] y) { y = Squeeze <axes = 1> (x) }", 13);
}

static void an_input_in_the_place_of_the_attribute_is_an_error(void **state)
{
    (void)state;
    assert_refused(
        QDQ_E_FORMAT, "has an input 1, expected attribute 'axes' in its place",
        AT(12) "g (float[1,2] x, int64[1] a) => (float[2] y) { y = Squeeze <axes = [1]> (x, a) }",
        13);
}

static void reduce_sum_changes_in_13_and_the_other_reductions_in_18(void **state)
{
    static const char *const others[] = {"ReduceL1",        "ReduceL2",   "ReduceLogSum",
                                         "ReduceLogSumExp", "ReduceMax",  "ReduceMean",
                                         "ReduceMin",       "ReduceProd", "ReduceSumSquare"};

    (void)state;
    assert_becomes(AT(12) "g (float[3,2] x) => (float[3,1] y) { y = ReduceSum <axes = [1]> (x) }",
                   13,
                   "g (float[3,2] x) => (float[3,1] y) <\n"
                   "  int64[1] y_axes = {1}\n"
                   "> {\n"
                   "  y = ReduceSum(x, y_axes)\n"
                   "}\n");
    for (size_t i = 0; i < QDQ_COUNT(others); i++) {
        char text[500], same[500], changed[500];

        snprintf(
            text, sizeof text,
            AT(12) "g (float[3,2] x) => (float[3] y) { y = %s <axes = [1], keepdims = 0> (x) }",
            others[i]);
        snprintf(same, sizeof same,
                 "g (float[3,2] x) => (float[3] y) {\n  y = %s <axes = [1], keepdims = 0> (x)\n}\n",
                 others[i]);
        snprintf(changed, sizeof changed,
                 "g (float[3,2] x) => (float[3] y) <\n  int64[1] y_axes = {1}\n> {\n"
                 "  y = %s <keepdims = 0> (x, y_axes)\n}\n",
                 others[i]);
        assert_becomes(text, 17, same);
        assert_becomes(text, 18, changed);
    }
}

static void a_name_that_is_taken_gets_a_number(void **state)
{
    (void)state;
    assert_becomes(
        AT(12) "g (float[1,2] y_axes) => (float[2] y) { y = Squeeze <axes = [0]> (y_axes) }", 13,
        "g (float[1,2] y_axes) => (float[2] y) <\n"
        "  int64[1] y_axes_1 = {0}\n"
        "> {\n"
        "  y = Squeeze(y_axes, y_axes_1)\n"
        "}\n");
}

/* --- bounds and values ------------------------------------------------------------------------ */

static void clip_bounds_become_scalars_of_the_inputs_type(void **state)
{
    (void)state;
    assert_becomes(AT(10) "g (float[2] x) => (float[2] y) { y = Clip <min = 0.0, max = 6.0> (x) }",
                   11,
                   "g (float[2] x) => (float[2] y) <\n"
                   "  float y_min = {0},\n"
                   "  float y_max = {6}\n"
                   "> {\n"
                   "  y = Clip(x, y_min, y_max)\n"
                   "}\n");
    assert_becomes(AT(7) "g (double[2] x) => (double[2] y) { y = Clip <min = -0.5> (x) }", 21,
                   "g (double[2] x) => (double[2] y) <\n"
                   "  double y_min = {-0.5}\n"
                   "> {\n"
                   "  y = Clip(x, y_min)\n"
                   "}\n");
}

static void clip_with_only_a_maximum_leaves_the_minimum_out(void **state)
{
    (void)state;
    assert_becomes(AT(10) "g (float[2] x) => (float[2] y) { y = Clip <max = 6.0> (x) }", 11,
                   "g (float[2] x) => (float[2] y) <\n"
                   "  float y_max = {6}\n"
                   "> {\n"
                   "  y = Clip(x, \"\", y_max)\n"
                   "}\n");
}

static void clip_without_bounds_stays(void **state)
{
    (void)state;
    assert_becomes(AT(10) "g (float[2] x) => (float[2] y) { y = Clip(x) }", 11,
                   "g (float[2] x) => (float[2] y) {\n"
                   "  y = Clip(x)\n"
                   "}\n");
}

/* The bits of the minimum of a float16 Clip. */
static uint16_t half_of(const char *number)
{
    qdq_error err = QDQ_ERROR_INIT;
    char text[300];
    uint16_t bits;

    snprintf(text, sizeof text,
             AT(10) "g (float16[2] x) => (float16[2] y) { y = Clip <min: float = %s> (x) }",
             number);
    qdq_model *m = test_model(text);
    assert_ok(qdq_model_set_opset(m, 11, &err));
    const qdq_tensor *t = qdq_value_const(m->graph->end.next->in[1].value);
    assert_int_equal(t->elem, QDQ_FLOAT16);
    assert_int_equal(t->bytes.size, 2);
    memcpy(&bits, t->bytes.data, 2);
    qdq_model_free(m);
    return bits;
}

static void bounds_of_float16_are_rounded_to_it(void **state)
{
    (void)state;
    assert_int_equal(half_of("0.0"), 0x0000);
    assert_int_equal(half_of("-1.0"), 0xbc00);
    assert_int_equal(half_of("6.0"), 0x4600);
    assert_int_equal(half_of("0.1"), 0x2e66);
    assert_int_equal(half_of("2049.0"), 0x6800);  /* a tie, to even */
    assert_int_equal(half_of("2051.0"), 0x6802);  /* a tie, to even */
    assert_int_equal(half_of("2047.9"), 0x6800);  /* rounds up into the exponent */
    assert_int_equal(half_of("65504.0"), 0x7bff); /* the largest */
    assert_int_equal(half_of("65519.0"), 0x7bff); /* still */
    assert_int_equal(half_of("65520.0"), 0x7c00); /* infinity */
    assert_int_equal(half_of("-3.402823e38"), 0xfc00);
    assert_int_equal(half_of("6.1035156e-5"), 0x0400); /* the smallest normal one */
    assert_int_equal(half_of("5.9604645e-8"), 0x0001); /* the smallest subnormal one */
    assert_int_equal(half_of("1.0e-9"), 0x0000);
    assert_int_equal(half_of("6.1006e-5"), 0x0400); /* subnormal that rounds to normal */
}

static void clip_of_unknown_type_is_refused(void **state)
{
    (void)state;
    assert_refused(
        QDQ_E_UNSUPPORTED,
        "Clip from opset 10 to 11: the element type of its input is not known, and attribute 'max'",
        "<ir_version: 8, opset_import: [\"\" : 10, \"acme\" : 1]>\n"
        "g (float[2] x) => (float[2] y) { t = acme.Foo(x) y = Clip <max = 6.0> (t) }",
        11);
}

static void clip_of_integers_is_an_error(void **state)
{
    (void)state;
    assert_refused(QDQ_E_FORMAT, "input of type int32, expected float, double or float16",
                   AT(10) "g (int32[2] x) => (int32[2] y) { y = Clip <max = 6.0> (x) }", 11);
    assert_refused(QDQ_E_FORMAT, "attribute 'max' is not a float",
                   AT(10) "g (float[2] x) => (float[2] y) { y = Clip <max = 6> (x) }", 11);
}

static void pad_gets_pads_and_a_value_that_is_not_zero(void **state)
{
    (void)state;
    assert_becomes(
        AT(10) "g (float[2] x) => (float[4] y) { y = Pad <pads = [1, 1], value = 2.0, mode = "
               "\"constant\"> (x) }",
        11,
        "g (float[2] x) => (float[4] y) <\n"
        "  int64[2] y_pads = {1, 1},\n"
        "  float y_value = {2}\n"
        "> {\n"
        "  y = Pad <mode = \"constant\"> (x, y_pads, y_value)\n"
        "}\n");
    assert_becomes(AT(10) "g (float[2] x) => (float[4] y) { y = Pad <pads = [1, 1], value = 0.0, "
                          "mode = \"edge\"> (x) }",
                   21,
                   "g (float[2] x) => (float[4] y) <\n"
                   "  int64[2] y_pads = {1, 1}\n"
                   "> {\n"
                   "  y = Pad <mode = \"edge\"> (x, y_pads)\n"
                   "}\n");
    assert_refused(QDQ_E_FORMAT, "attribute 'pads' is missing",
                   AT(10) "g (float[2] x) => (float[4] y) { y = Pad(x) }", 11);
}

static void dropout_keeps_its_ratio_as_an_input(void **state)
{
    (void)state;
    assert_becomes(AT(7) "g (float[2] x) => (float[2] y) { y = Dropout <ratio = 0.25> (x) }", 13,
                   "g (float[2] x) => (float[2] y) <\n"
                   "  float y_ratio = {0.25}\n"
                   "> {\n"
                   "  y = Dropout(x, y_ratio)\n"
                   "}\n");
}

/* --- ranges, parts, counts -------------------------------------------------------------------- */

static void slice_gets_starts_ends_and_axes(void **state)
{
    (void)state;
    assert_becomes(AT(9) "g (float[4,4] x) => (float[4,2] y) { y = Slice <starts = [1], ends = "
                         "[3], axes = [1]> (x) }",
                   10,
                   "g (float[4,4] x) => (float[4,2] y) <\n"
                   "  int64[1] y_starts = {1},\n"
                   "  int64[1] y_ends = {3},\n"
                   "  int64[1] y_axes = {1}\n"
                   "> {\n"
                   "  y = Slice(x, y_starts, y_ends, y_axes)\n"
                   "}\n");
    assert_becomes(
        AT(9) "g (float[4] x) => (float[2] y) { y = Slice <starts = [1], ends = [3]> (x) }", 13,
        "g (float[4] x) => (float[2] y) <\n"
        "  int64[1] y_starts = {1},\n"
        "  int64[1] y_ends = {3}\n"
        "> {\n"
        "  y = Slice(x, y_starts, y_ends)\n"
        "}\n");
    assert_refused(QDQ_E_FORMAT, "attribute 'ends' is missing",
                   AT(9) "g (float[4] x) => (float[2] y) { y = Slice <starts = [1]> (x) }", 13);
}

static void split_gets_its_parts_in_13(void **state)
{
    (void)state;
    assert_becomes(
        AT(7) "g (float[3] x) => (float[1] y, float[2] z) { y, z = Split <split = [1, 2]> (x) }",
        18,
        "g (float[3] x) => (float[1] y, float[2] z) <\n"
        "  int64[2] y_split = {1, 2}\n"
        "> {\n"
        "  y, z = Split(x, y_split)\n"
        "}\n");
}

static void split_into_equal_parts_gets_their_number_in_18(void **state)
{
    static const char text[] =
        AT(13) "g (float[4] x) => (float[2] y, float[2] z) { y, z = Split(x) }";

    (void)state;
    assert_becomes(text, 17,
                   "g (float[4] x) => (float[2] y, float[2] z) {\n"
                   "  y, z = Split(x)\n"
                   "}\n");
    assert_becomes(text, 18,
                   "g (float[4] x) => (float[2] y, float[2] z) {\n"
                   "  y, z = Split <num_outputs = 2> (x)\n"
                   "}\n");
}

static void topk_gets_k(void **state)
{
    (void)state;
    assert_becomes(
        AT(9) "g (float[4] x) => (float[2] y, int64[2] i) { y, i = TopK <k = 2, axis = 0> (x) }",
        11,
        "g (float[4] x) => (float[2] y, int64[2] i) <\n"
        "  int64[1] y_k = {2}\n"
        "> {\n"
        "  y, i = TopK <axis = 0> (x, y_k)\n"
        "}\n");
    assert_refused(QDQ_E_FORMAT, "attribute 'k' is missing or not an integer",
                   AT(9) "g (float[4] x) => (float[2] y, int64[2] i) { y, i = TopK(x) }", 11);
}

static void dft_gets_its_axis_because_the_default_moved(void **state)
{
    (void)state;
    assert_becomes(AT(17) "g (float[1,4,4,1] x) => (float[1,4,4,2] y) { y = DFT(x) }", 20,
                   "g (float[1,4,4,1] x) => (float[1,4,4,2] y) <\n"
                   "  int64 y_axis = {1}\n"
                   "> {\n"
                   "  y = DFT(x, \"\", y_axis)\n"
                   "}\n");
    assert_refused(QDQ_E_FORMAT, "attribute 'axis' is not an integer",
                   AT(17) "g (float[1,4,4,1] x) => (float[1,4,4,2] y) { y = DFT <axis = [1]> (x) }",
                   20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(squeeze_axes_become_an_input_in_13),
        cmocka_unit_test(squeeze_without_axes_stays),
        cmocka_unit_test(squeeze_stays_below_13),
        cmocka_unit_test(unsqueeze_needs_axes),
        cmocka_unit_test(axes_of_another_type_are_an_error),
        cmocka_unit_test(an_input_in_the_place_of_the_attribute_is_an_error),
        cmocka_unit_test(reduce_sum_changes_in_13_and_the_other_reductions_in_18),
        cmocka_unit_test(a_name_that_is_taken_gets_a_number),
        cmocka_unit_test(clip_bounds_become_scalars_of_the_inputs_type),
        cmocka_unit_test(clip_with_only_a_maximum_leaves_the_minimum_out),
        cmocka_unit_test(clip_without_bounds_stays),
        cmocka_unit_test(bounds_of_float16_are_rounded_to_it),
        cmocka_unit_test(clip_of_unknown_type_is_refused),
        cmocka_unit_test(clip_of_integers_is_an_error),
        cmocka_unit_test(pad_gets_pads_and_a_value_that_is_not_zero),
        cmocka_unit_test(dropout_keeps_its_ratio_as_an_input),
        cmocka_unit_test(slice_gets_starts_ends_and_axes),
        cmocka_unit_test(split_gets_its_parts_in_13),
        cmocka_unit_test(split_into_equal_parts_gets_their_number_in_18),
        cmocka_unit_test(topk_gets_k),
        cmocka_unit_test(dft_gets_its_axis_because_the_default_moved),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
