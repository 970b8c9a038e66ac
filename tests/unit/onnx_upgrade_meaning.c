/* Operators that mean something else in a later opset, or are gone: each adapter of
 * onnx/upgrade_meaning.c. That the numbers stay is tested against ONNX Runtime in
 * numeric/upgrade_vs_ort.c. */
#include "support/test.h"

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

/* --- softmax ---------------------------------------------------------------------------------- */

static void softmax_over_the_last_dim_only_gets_its_axis_written(void **state)
{
    static const char *const ops[] = {"Softmax", "LogSoftmax", "Hardmax"};

    (void)state;
    for (size_t i = 0; i < QDQ_COUNT(ops); i++) {
        char text[300], expected[300];

        snprintf(text, sizeof text, AT(9) "g (float[2,3] x) => (float[2,3] y) { y = %s(x) }",
                 ops[i]);
        snprintf(expected, sizeof expected,
                 "g (float[2,3] x) => (float[2,3] y) {\n  y = %s <axis = 1> (x)\n}\n", ops[i]);
        assert_becomes(text, 13, expected);
    }
}

static void softmax_stays_below_13(void **state)
{
    (void)state;
    assert_becomes(AT(7) "g (float[2,3] x) => (float[2,3] y) { y = Softmax(x) }", 12,
                   "g (float[2,3] x) => (float[2,3] y) {\n  y = Softmax(x)\n}\n");
}

static void softmax_of_13_stays(void **state)
{
    (void)state;
    assert_becomes(AT(13) "g (float[2,3,4] x) => (float[2,3,4] y) { y = Softmax <axis = 1> (x) }",
                   21,
                   "g (float[2,3,4] x) => (float[2,3,4] y) {\n  y = Softmax <axis = 1> (x)\n}\n");
}

static void softmax_over_one_long_dim_gets_that_axis(void **state)
{
    (void)state;
    assert_becomes(
        AT(9) "g (float[N,3,1,1] x) => (float[N,3,1,1] y) { y = Softmax(x) }", 13,
        "g (float[N,3,1,1] x) => (float[N,3,1,1] y) {\n  y = Softmax <axis = 1> (x)\n}\n");
    assert_becomes(AT(9) "g (float[N,1,3] x) => (float[N,1,3] y) { y = Softmax(x) }", 13,
                   "g (float[N,1,3] x) => (float[N,1,3] y) {\n  y = Softmax <axis = 2> (x)\n}\n");
    assert_becomes(AT(9) "g (float[N,1] x) => (float[N,1] y) { y = Softmax(x) }", 13,
                   "g (float[N,1] x) => (float[N,1] y) {\n  y = Softmax <axis = 1> (x)\n}\n");
    assert_becomes(AT(11) "g (float[2,3,4] x) => (float[2,3,4] y) { y = Softmax <axis = -1> (x) }",
                   13,
                   "g (float[2,3,4] x) => (float[2,3,4] y) {\n  y = Softmax <axis = 2> (x)\n}\n");
}

static void softmax_over_several_dims_is_done_in_two(void **state)
{
    (void)state;
    assert_becomes(AT(9) "g (float[2,3,4] x) => (float[2,3,4] y) { [s] y = Softmax(x) }", 13,
                   "g (float[2,3,4] x) => (float[2,3,4] y) <\n"
                   "  int64[3] y_shape = {2, 3, 4}\n"
                   "> {\n"
                   "  y_flat = Flatten <axis = 1> (x)\n"
                   "  [s] y_rows = Softmax <axis = -1> (y_flat)\n"
                   "  y = Reshape(y_rows, y_shape)\n"
                   "}\n");
}

static void softmax_with_one_unknown_dim_reshapes_by_a_constant(void **state)
{
    (void)state;
    assert_becomes(AT(9) "g (float[N,3,4] x) => (float[N,3,4] y) { y = Softmax(x) }", 13,
                   "g (float[N,3,4] x) => (float[N,3,4] y) <\n"
                   "  int64[3] y_shape = {-1, 3, 4}\n"
                   "> {\n"
                   "  y_flat = Flatten <axis = 1> (x)\n"
                   "  y_rows = Softmax <axis = -1> (y_flat)\n"
                   "  y = Reshape(y_rows, y_shape)\n"
                   "}\n");
}

static void softmax_with_unknown_dims_asks_for_the_shape(void **state)
{
    (void)state;
    assert_becomes(AT(9) "g (float[N,3,M] x) => (float[N,3,M] y) { y = Softmax(x) z = Relu(y) }",
                   13,
                   "g (float[N,3,M] x) => (float[N,3,M] y) {\n"
                   "  y_flat = Flatten <axis = 1> (x)\n"
                   "  y_rows = Softmax <axis = -1> (y_flat)\n"
                   "  y_shape = Shape(x)\n"
                   "  y = Reshape(y_rows, y_shape)\n"
                   "  z = Relu(y)\n"
                   "}\n");
}

static void softmax_of_unknown_rank_is_done_in_two_dims(void **state)
{
    (void)state;
    assert_becomes("<ir_version: 8, opset_import: [\"\" : 11, \"acme\" : 1]>\n"
                   "g (float[2] x) => (float[2] y) { t = acme.Foo(x) y = Softmax <axis = -2> (t) }",
                   13,
                   "g (float[2] x) => (float[2] y) {\n"
                   "  t = acme.Foo(x)\n"
                   "  y_flat = Flatten <axis = -2> (t)\n"
                   "  y_rows = Softmax <axis = -1> (y_flat)\n"
                   "  y_shape = Shape(t)\n"
                   "  y = Reshape(y_rows, y_shape)\n"
                   "}\n");
    assert_becomes("<ir_version: 8, opset_import: [\"\" : 11, \"acme\" : 1]>\n"
                   "g (float[2] x) => (float[2] y) { t = acme.Foo(x) y = Softmax <axis = -1> (t) }",
                   13,
                   "g (float[2] x) => (float[2] y) {\n"
                   "  t = acme.Foo(x)\n"
                   "  y = Softmax <axis = -1> (t)\n"
                   "}\n");
}

static void softmax_with_an_axis_that_is_none_is_an_error(void **state)
{
    (void)state;
    assert_refused(
        QDQ_E_FORMAT,
        "node 'Softmax@y': Softmax from opset 12 to 13: axis 2 is not one of an input of rank 2",
        AT(9) "g (float[2,3] x) => (float[2,3] y) { y = Softmax <axis = 2> (x) }", 13);
    assert_refused(QDQ_E_FORMAT, "attribute 'axis' is not an integer",
                   AT(9) "g (float[2,3] x) => (float[2,3] y) { y = Softmax <axis = [1]> (x) }", 13);
    assert_refused(
        QDQ_E_FORMAT, "expected one input and one output",
        AT(9) "g (float[2,3] x) => (float[2,3] z) { y, more = Softmax(x) z = Relu(more) }", 13);
    assert_refused(QDQ_E_FORMAT, "expected one input and one output",
                   AT(9) "g (float[2,3] x) => (float[2,3] x) { y = Softmax() }", 13);
}

/* --- resizing --------------------------------------------------------------------------------- */

static void upsample_becomes_resize(void **state)
{
    static const char text[] =
        AT(7) "g (float[1,1,2,2] x) => (float[1,1,4,4] y) { y = Upsample <mode = "
              "\"nearest\", scales = [1.0, 1.0, 2.0, 2.0]> (x) }";

    (void)state;
    assert_becomes(text, 9,
                   "g (float[1,1,2,2] x) => (float[1,1,4,4] y) <\n"
                   "  float[4] y_scales = {1, 1, 2, 2}\n"
                   "> {\n"
                   "  y = Upsample <mode = \"nearest\"> (x, y_scales)\n"
                   "}\n");
    assert_becomes(text, 10,
                   "g (float[1,1,2,2] x) => (float[1,1,4,4] y) <\n"
                   "  float[4] y_scales = {1, 1, 2, 2}\n"
                   "> {\n"
                   "  y = Resize <mode = \"nearest\"> (x, y_scales)\n"
                   "}\n");
    assert_becomes(text, 11,
                   "g (float[1,1,2,2] x) => (float[1,1,4,4] y) <\n"
                   "  float[4] y_scales = {1, 1, 2, 2},\n"
                   "  float[0] y_roi = {}\n"
                   "> {\n"
                   "  y = Resize <mode = \"nearest\", nearest_mode = \"floor\", "
                   "coordinate_transformation_mode = \"asymmetric\"> "
                   "(x, y_roi, y_scales)\n"
                   "}\n");
    assert_becomes(text, 21,
                   "g (float[1,1,2,2] x) => (float[1,1,4,4] y) <\n"
                   "  float[4] y_scales = {1, 1, 2, 2}\n"
                   "> {\n"
                   "  y = Resize <mode = \"nearest\", nearest_mode = \"floor\", "
                   "coordinate_transformation_mode = \"asymmetric\"> "
                   "(x, \"\", y_scales)\n"
                   "}\n");
    assert_refused(QDQ_E_FORMAT, "attribute 'scales' is missing or not a list of floats",
                   AT(7) "g (float[1,1,2,2] x) => (float[1,1,4,4] y) { y = Upsample(x) }", 9);
}

static void upsample_by_computed_scales_grows_and_takes_floor(void **state)
{
    (void)state;
    assert_becomes(
        AT(9) "g (float[1,2] x, float[2] s) => (float[1,M] y) { y = Upsample(x, s) }", 13,
        "g (float[1,2] x, float[2] s) => (float[1,M] y) {\n"
        "  y = Resize <nearest_mode = \"floor\", coordinate_transformation_mode = \"asymmetric\"> "
        "(x, \"\", s)\n"
        "}\n");
}

static void linear_resize_needs_no_rounding(void **state)
{
    (void)state;
    assert_becomes(AT(10) "g (float[1,2] x, float[2] s) => (float[1,M] y) { y = Resize <mode = "
                          "\"linear\"> (x, s) }",
                   13,
                   "g (float[1,2] x, float[2] s) => (float[1,M] y) {\n"
                   "  y = Resize <mode = \"linear\", coordinate_transformation_mode = "
                   "\"asymmetric\"> (x, \"\", s)\n"
                   "}\n");
}

static void nearest_resize_that_shrinks_takes_ceil(void **state)
{
    (void)state;
    assert_becomes(
        AT(10) "g (float[1,4] x) => (float[1,2] y) <float[2] s = {1.0, 0.5}> { y = Resize(x, s) }",
        13,
        "g (float[1,4] x) => (float[1,2] y) <\n"
        "  float[2] s = {1, 0.5}\n"
        "> {\n"
        "  y = Resize <nearest_mode = \"ceil\", coordinate_transformation_mode = \"asymmetric\"> "
        "(x, \"\", s)\n"
        "}\n");
}

static void nearest_resize_that_nobody_can_round_is_refused(void **state)
{
    (void)state;
    assert_refused(
        QDQ_E_UNSUPPORTED, "mode nearest with scales above and below 1 rounds both ways",
        AT(10) "g (float[2,4] x) => (float[4,2] y) <float[2] s = {2.0, 0.5}> { y = Resize(x, s) }",
        13);
    assert_refused(QDQ_E_UNSUPPORTED, "the scales of mode nearest are computed, expected constants",
                   AT(10) "g (float[2,4] x, float[2] s) => (float[4,2] y) { y = Resize(x, s) }",
                   13);
    assert_refused(QDQ_E_FORMAT, "has 1 inputs, expected x and scales",
                   AT(10) "g (float[2,4] x) => (float[4,2] y) { y = Resize(x) }", 13);
}

static void empty_stand_ins_of_resize_11_are_left_out(void **state)
{
    (void)state;
    assert_becomes(AT(11) "g (float[1,4] x) => (float[1,2] y, float[1,2] z)\n"
                          "<float[0] none = {}, int64[2] sizes = {1, 2}> {\n"
                          "  c = Constant <value = float[0] {}> ()\n"
                          "  y = Resize(x, c, none, sizes)\n"
                          "  z = Resize(x, none, none, sizes)\n"
                          "}",
                   13,
                   "g (float[1,4] x) => (float[1,2] y, float[1,2] z) <\n"
                   "  int64[2] sizes = {1, 2}\n"
                   "> {\n"
                   "  y = Resize(x, \"\", \"\", sizes)\n"
                   "  z = Resize(x, \"\", \"\", sizes)\n"
                   "}\n");
}

static void a_coordinate_mode_that_is_gone_is_refused(void **state)
{
    (void)state;
    assert_refused(
        QDQ_E_UNSUPPORTED,
        "Resize from opset 12 to 13: coordinate_transformation_mode tf_half_pixel_for_nn",
        AT(11) "g (float[1,4] x) => (float[1,2] y) <float[2] s = {1.0, 0.5}>\n"
               "{ y = Resize <coordinate_transformation_mode = \"tf_half_pixel_for_nn\"> (x, \"\", "
               "s) }",
        13);
}

/* --- others ----------------------------------------------------------------------------------- */

#define BN(opset, attrs, outs)                                                                     \
    AT(opset)                                                                                      \
    "g (float[1,2,3] x, float[2] s, float[2] b, float[2] m, float[2] v) => (float[1,2,3] y)\n"     \
    "{ y" outs " = BatchNormalization " attrs " (x, s, b, m, v) }"

static void batchnorm_loses_spatial(void **state)
{
    (void)state;
    assert_becomes(
        BN(7, "<spatial = 1, epsilon = 0.5>", ""), 15,
        "g (float[1,2,3] x, float[2] s, float[2] b, float[2] m, float[2] v) => (float[1,2,3] y) {\n"
        "  y = BatchNormalization <epsilon = 0.5> (x, s, b, m, v)\n"
        "}\n");
    assert_refused(QDQ_E_UNSUPPORTED,
                   "BatchNormalization from opset 8 to 9: spatial is 0, and only 1 was kept",
                   BN(7, "<spatial = 0>", ""), 9);
}

static void batchnorm_in_training_mode_is_refused(void **state)
{
    (void)state;
    assert_refused(QDQ_E_UNSUPPORTED, "output 'mm' puts it into training mode",
                   BN(9, "", ", mm, vv, sm, sv"), 14);
    assert_becomes(
        BN(9, "", ", \"\", \"\", \"\", \"\""), 14,
        "g (float[1,2,3] x, float[2] s, float[2] b, float[2] m, float[2] v) => (float[1,2,3] y) {\n"
        "  y = BatchNormalization(x, s, b, m, v)\n"
        "}\n");
}

static void dropout_loses_a_mask_that_nobody_reads(void **state)
{
    (void)state;
    assert_becomes(AT(7) "g (float[2] x) => (float[2] y) { y, mask = Dropout(x) }", 13,
                   "g (float[2] x) => (float[2] y) {\n  y = Dropout(x)\n}\n");
    assert_becomes(AT(10) "g (float[2] x) => (float[2] y, bool[2] mask) { y, mask = Dropout(x) }",
                   13,
                   "g (float[2] x) => (float[2] y, bool[2] mask) {\n  y, mask = Dropout(x)\n}\n");
    assert_refused(QDQ_E_UNSUPPORTED, "Dropout from opset 9 to 10: its mask 'mask' is used",
                   AT(7) "g (float[2] x) => (float[2] y, float[2] mask) { y, mask = Dropout(x) }",
                   13);
    assert_refused(QDQ_E_UNSUPPORTED, "its mask 'mask' is used",
                   AT(7) "g (float[2] x) => (float[2] y) { z, mask = Dropout(x) y = Relu(mask) }",
                   13);
}

static void transposed_convolution_that_pads_itself_is_refused(void **state)
{
    (void)state;
    assert_becomes(
        AT(7) "g (float[1,1,4] x, float[1,1,2] w) => (float[1,1,8] y) { y = ConvTranspose "
              "<strides = [2]> (x, w) }",
        21,
        "g (float[1,1,4] x, float[1,1,2] w) => (float[1,1,8] y) {\n"
        "  y = ConvTranspose <strides = [2]> (x, w)\n"
        "}\n");
    assert_refused(
        QDQ_E_UNSUPPORTED, "ConvTranspose from opset 10 to 11: padding that it works out itself",
        AT(7) "g (float[1,1,4] x, float[1,1,2] w) => (float[1,1,7] y) { y = ConvTranspose "
              "<output_shape = [7]> (x, w) }",
        11);
    assert_refused(
        QDQ_E_UNSUPPORTED, "padding that it works out itself",
        AT(7) "g (float[1,1,4] x, float[1,1,2] w) => (float[1,1,7] y) { y = ConvTranspose "
              "<auto_pad = \"SAME_LOWER\"> (x, w) }",
        11);
}

static void scatter_is_renamed(void **state)
{
    (void)state;
    assert_becomes(AT(9) "g (float[3] x, int64[1] i, float[1] u) => (float[3] y) { y = Scatter "
                         "<axis = 0> (x, i, u) }",
                   18,
                   "g (float[3] x, int64[1] i, float[1] u) => (float[3] y) {\n"
                   "  y = ScatterElements <axis = 0> (x, i, u)\n"
                   "}\n");
}

static void defaults_that_moved_are_written_down(void **state)
{
    (void)state;
    assert_becomes(
        AT(10) "g (float[1,1,4,4] x, float[1,4] r, int64[1] b) => (float[1,1,1,1] y) { y = "
               "RoiAlign(x, r, b) }",
        16,
        "g (float[1,1,4,4] x, float[1,4] r, int64[1] b) => (float[1,1,1,1] y) {\n"
        "  y = RoiAlign <coordinate_transformation_mode = \"output_half_pixel\"> (x, r, b)\n"
        "}\n");
    assert_becomes(AT(16) "g (float[1,1,4,4] x, float[1,2,2,2] p) => (float[1,1,2,2] y) { y = "
                          "GridSample(x, p) }",
                   20,
                   "g (float[1,1,4,4] x, float[1,2,2,2] p) => (float[1,1,2,2] y) {\n"
                   "  y = GridSample <mode = \"linear\"> (x, p)\n"
                   "}\n");
    assert_becomes(
        AT(16) "g (float[1,1,4,4] x, float[1,2,2,2] p) => (float[1,1,2,2] y) { y = GridSample "
               "<mode = \"bicubic\"> (x, p) }",
        20,
        "g (float[1,1,4,4] x, float[1,2,2,2] p) => (float[1,1,2,2] y) {\n"
        "  y = GridSample <mode = \"cubic\"> (x, p)\n"
        "}\n");
    assert_becomes(
        AT(16) "g (float[1,1,4,4] x, float[1,2,2,2] p) => (float[1,1,2,2] y) { y = GridSample "
               "<mode = \"nearest\"> (x, p) }",
        20,
        "g (float[1,1,4,4] x, float[1,2,2,2] p) => (float[1,1,2,2] y) {\n"
        "  y = GridSample <mode = \"nearest\"> (x, p)\n"
        "}\n");
}

static void operators_whose_words_alone_changed_stay(void **state)
{
    (void)state;
    assert_becomes(
        AT(7) "g (float[1,4,2,2] x) => (float[1,1,4,4] y) { y = DepthToSpace <blocksize = 2> (x) }",
        21,
        "g (float[1,4,2,2] x) => (float[1,1,4,4] y) {\n  y = DepthToSpace <blocksize = 2> "
        "(x)\n}\n");
    assert_becomes(
        AT(7) "g (float[2,3] x, float[3,2] w) => (float[2,2] y) <float c = {0}> { y = Gemm <alpha "
              "= 2.0> (x, w, c) }",
        21,
        "g (float[2,3] x, float[3,2] w) => (float[2,2] y) <\n  float c = {0}\n> {\n"
        "  y = Gemm <alpha = 2.0> (x, w, c)\n}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(softmax_over_the_last_dim_only_gets_its_axis_written),
        cmocka_unit_test(softmax_stays_below_13),
        cmocka_unit_test(softmax_of_13_stays),
        cmocka_unit_test(softmax_over_one_long_dim_gets_that_axis),
        cmocka_unit_test(softmax_over_several_dims_is_done_in_two),
        cmocka_unit_test(softmax_with_one_unknown_dim_reshapes_by_a_constant),
        cmocka_unit_test(softmax_with_unknown_dims_asks_for_the_shape),
        cmocka_unit_test(softmax_of_unknown_rank_is_done_in_two_dims),
        cmocka_unit_test(softmax_with_an_axis_that_is_none_is_an_error),
        cmocka_unit_test(upsample_becomes_resize),
        cmocka_unit_test(upsample_by_computed_scales_grows_and_takes_floor),
        cmocka_unit_test(linear_resize_needs_no_rounding),
        cmocka_unit_test(nearest_resize_that_shrinks_takes_ceil),
        cmocka_unit_test(nearest_resize_that_nobody_can_round_is_refused),
        cmocka_unit_test(empty_stand_ins_of_resize_11_are_left_out),
        cmocka_unit_test(a_coordinate_mode_that_is_gone_is_refused),
        cmocka_unit_test(batchnorm_loses_spatial),
        cmocka_unit_test(batchnorm_in_training_mode_is_refused),
        cmocka_unit_test(dropout_loses_a_mask_that_nobody_reads),
        cmocka_unit_test(transposed_convolution_that_pads_itself_is_refused),
        cmocka_unit_test(scatter_is_renamed),
        cmocka_unit_test(defaults_that_moved_are_written_down),
        cmocka_unit_test(operators_whose_words_alone_changed_stay),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
