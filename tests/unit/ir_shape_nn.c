/* ir_shape_nn.c - shapes of convolutions, pools, normalizations, Resize. */
#include "support/shapes.h"

static void conv_counts_windows(void **state)
{
    (void)state;
    test_infers(17,
                "g (float[N,3,224,224] x, float[64,3,7,7] w) => (y) { y = Conv<strides = [2, 2], "
                "pads = [3, "
                "3, 3, 3]>(x, w) }",
                "float[N,64,112,112]");
    test_infers(
        17,
        "g (float[1,4,9] x, float[8,1,3] w) => (y) { y = Conv<group = 4, dilations = [2]>(x, w) }",
        "float[1,8,5]");
    test_infers(17,
                "g (float[1,4,10] x, float[8,4,3] w) => (y) { y = Conv<auto_pad = \"SAME_UPPER\", "
                "strides = "
                "[3]>(x, w) }",
                "float[1,8,4]");
    test_infers(
        17, "g (float[1,4,10] x, float[8,4,3] w) => (y) { y = Conv<auto_pad = \"VALID\">(x, w) }",
        "float[1,8,8]");
    test_infers(17, "g (float[1,4,2,3,4] x, float[8,4,1,1,1] w) => (y) { y = Conv(x, w) }",
                "float[1,8,2,3,4]");
}

static void conv_keeps_symbols_that_it_does_not_change(void **state)
{
    (void)state;
    test_infers(
        17, "g (float[N,3,H,W] x, float[8,3,3,3] w) => (y) { y = Conv<pads = [1, 1, 1, 1]>(x, w) }",
        "float[N,8,H,W]");
    test_infers(17, "g (float[N,3,H] x, float[8,3,3] w) => (y) { y = Conv(x, w) }", "float[N,8,?]");
    test_infers(
        17,
        "g (float[N,3,H] x, float[8,3,3] w) => (y) { y = Conv<auto_pad = \"SAME_LOWER\">(x, w) }",
        "float[N,8,H]");
    test_infers(17, "g (float[] x, float[8,3,3] w) => (y) { y = Conv(x, w) }", "float[?,8,?]");
    test_infers(17, "g (float[1,3,9] x, float[] w) => (y) { y = Conv<kernel_shape = [3]>(x, w) }",
                "float[1,?,7]");
}

static void conv_that_does_not_fit_is_refused(void **state)
{
    (void)state;
    test_infer_fails(17, "g (float[1,3,9] x, float[8,4,3] w) => (y) { y = Conv(x, w) }",
                     "the input has 3 channels, the weight wants 4 in 1 groups");
    test_infer_fails(17, "g (float[1,3,9] x, float[8,3,3,3] w) => (y) { y = Conv(x, w) }",
                     "rank 3 and weight of rank 4");
    test_infer_fails(17, "g (float[1,3,2] x, float[8,3,3] w) => (y) { y = Conv(x, w) }",
                     "the kernel covers 3, the padded input has 2");
    test_infer_fails(17,
                     "g (float[1,3,9] x, float[8,3,3] w) => (y) { y = Conv<strides = [0]>(x, w) }",
                     "attribute 'strides' has 0, want 1 or more");
    test_infer_fails(17, "g (float[1,3,9] x, float[8,3,3] w) => (y) { y = Conv<pads = [1]>(x, w) }",
                     "attribute 'pads' has 1 numbers, want 2");
    test_infer_fails(17,
                     "g (float[1,3,9] x, float[8,3,3] w) => (y) { y = Conv<pads = [-1, 0]>(x, w) }",
                     "attribute 'pads' has -1, want 0 or more");
    test_infer_fails(17, "g (float[1,3,9] x, float[8,3,3] w) => (y) { y = Conv<group = 0>(x, w) }",
                     "attribute 'group' is 0");
    test_infer_fails(
        17, "g (float[1,3,9] x, float[8,3,3] w) => (y) { y = Conv<kernel_shape = [5]>(x, w) }",
        "attribute 'kernel_shape' has 5, want 3");
    test_infer_fails(17,
                     "g (float[1,3,9] x, float[8,3,3] w) => (y) { y = Conv<strides = "
                     "[9223372036854775807]>(x, w) }",
                     "attribute 'strides'");
}

static void huge_numbers_do_not_overflow(void **state)
{
    (void)state;
    test_infers(17,
                "g (float[1,3,9223372036854775807] x, float[8,3,3] w) => (y) { y = Conv(x, w) }",
                "float[1,8,?]");
    test_infers(17, "g (float[9223372036854775807,2] x) => (y) { y = Flatten<axis = 2>(x) }",
                "float[?,1]");
    test_infers(
        17,
        "g (float[1,3,9223372036854775807] x, float[3,8,3] w) => (y) { y = ConvTranspose<strides = "
        "[2147483647]>(x, w) }",
        "float[1,8,?]");
    test_infers(
        17, "g (float[4611686018427387904,2] x) => (y) <int64[1] s = {-1}> { y = Reshape(x, s) }",
        "float[?]");
}

static void quantized_convolutions_take_the_type_of_their_zero_point(void **state)
{
    (void)state;
    test_infers(17,
                "g (uint8[1,3,9] x, float s, uint8 z, int8[8,3,3] w, float ws, int8 wz, float ys, "
                "uint8 yz) => (y) "
                "{ y = QLinearConv(x, s, z, w, ws, wz, ys, yz) }",
                "uint8[1,8,7]");
    test_infers(17, "g (uint8[1,3,9] x, int8[8,3,3] w) => (y) { y = ConvInteger(x, w) }",
                "int32[1,8,7]");
    test_infers(17,
                "g (uint8[4,3] x, float s, uint8 z, int8[3,5] w, float ws, int8 wz, float ys, int8 "
                "yz) => (y) "
                "{ y = QLinearMatMul(x, s, z, w, ws, wz, ys, yz) }",
                "int8[4,5]");
}

static void transposed_conv_grows(void **state)
{
    (void)state;
    test_infers(
        17, "g (float[N,4,5] x, float[4,6,3] w) => (y) { y = ConvTranspose<strides = [2]>(x, w) }",
        "float[N,6,11]");
    test_infers(17,
                "g (float[N,4,5] x, float[4,6,3] w) => (y) { y = ConvTranspose<strides = [2], pads "
                "= [1, 1], "
                "output_padding = [1]>(x, w) }",
                "float[N,6,10]");
    test_infers(
        17,
        "g (float[N,4,5] x, float[4,6,3] w) => (y) { y = ConvTranspose<group = 2, auto_pad = "
        "\"SAME_UPPER\", strides = [2]>(x, w) }",
        "float[N,12,10]");
    test_infers(17,
                "g (float[N,4,5] x, float[4,6,3] w) => (y) { y = ConvTranspose<output_shape = "
                "[12], strides "
                "= [2]>(x, w) }",
                "float[N,6,12]");
    test_infers(
        17, "g (float[N,4,L] x, float[4,6,3] w) => (y) { y = ConvTranspose<pads = [1, 1]>(x, w) }",
        "float[N,6,L]");
    test_infer_fails(17, "g (float[N,5,5] x, float[4,6,3] w) => (y) { y = ConvTranspose(x, w) }",
                     "channels of the input: 5, want 4");
    test_infer_fails(
        17, "g (float[N,4,1] x, float[4,6,1] w) => (y) { y = ConvTranspose<pads = [2, 2]>(x, w) }",
        "pads leave -3 of the output");
}

static void pools_count_windows_and_round_up_on_request(void **state)
{
    (void)state;
    test_infers(17,
                "g (float[N,3,7] x) => (y) { y = MaxPool<kernel_shape = [2], strides = [2]>(x) }",
                "float[N,3,3]");
    test_infers(17,
                "g (float[N,3,7] x) => (y) { y = MaxPool<kernel_shape = [2], strides = [2], "
                "ceil_mode = 1>(x) }",
                "float[N,3,4]");
    /* the last window would start in the padding */
    test_infers(
        17,
        "g (float[N,3,2] x) => (y) { y = AveragePool<kernel_shape = [1], strides = [2], pads = [0, "
        "1], ceil_mode = 1>(x) }",
        "float[N,3,1]");
    /* engines differ */
    test_infers(17, "g (float[N,3,2] x) => (y) { y = MaxPool<kernel_shape = [3]>(x) }",
                "float[N,3,?]");
    test_infers(
        17,
        "g (float[N,3,9] x) => (y) { y = MaxPool<kernel_shape = [3], dilations = [2], auto_pad = "
        "\"SAME_UPPER\">(x) }",
        "float[N,3,?]");
    test_infers(
        17,
        "g (float[N,3,9] x) => (y) { y = MaxPool<kernel_shape = [3], strides = [2], auto_pad = "
        "\"SAME_UPPER\">(x) }",
        "float[N,3,5]");
    test_infers(17, "g (float[N,3,7] x) => (i) { i, y = MaxPool<kernel_shape = [2]>(x) }",
                "int64[N,3,6]");
    test_infers(17, "g (float[] x) => (y) { y = MaxPool<kernel_shape = [2, 2]>(x) }",
                "float[?,?,?,?]");
    test_infers(17, "g (float[N,3,H,W] x) => (y) { y = GlobalAveragePool(x) }", "float[N,3,1,1]");
    test_infer_fails(17, "g (float[N,3,7] x) => (y) { y = MaxPool(x) }",
                     "attribute 'kernel_shape' is missing");
    test_infer_fails(17, "g (float[N,3,7] x) => (y) { y = MaxPool<kernel_shape = [2, 2]>(x) }",
                     "attribute 'kernel_shape' has 2 numbers, want 1");
}

static void normalizations_keep_the_shape(void **state)
{
    (void)state;
    test_infers(17,
                "g (float[N,3,4] x, float[3] a, float[3] b, float[3] c, float[3] d) => (y) { y = "
                "BatchNormalization(x, a, b, c, d) }",
                "float[N,3,4]");
    test_infers(
        15,
        "g (float[N,3,4] x, float[3] a, float[3] b, float[3] c, float[3] d) => (o, y) { o, y = "
        "BatchNormalization<training_mode = 1>(x, a, b, c, d) }",
        "float[3]");
    test_infers(17, "g (float16[N,5,8] x, float16[8] a) => (o) { o, y = LayerNormalization(x, a) }",
                "float[N,5,1]");
    test_infers(17, "g (float[N,5,8] x) => (y) { y = Softmax(x) }", "float[N,5,8]");
    test_infers(17, "g (float[N,8] x) => (o) { o, y = Dropout(x) }", "bool[N,8]");
    test_infers(7, "g (float[N,8] x) => (o) { o, y = Dropout(x) }", "float[N,8]");
    test_infer_fails(
        17, "g (float[5,8] x, float[8] a) => (y) { y = LayerNormalization<axis = 2>(x, a) }",
        "axis 2 of a tensor of rank 2");
}

static void recurrent_networks_stack_their_states(void **state)
{
    (void)state;
    test_infers(
        13,
        "g (float[T,N,8] x, float[2,20,8] w, float[2,20,5] r) => (y) { y = LSTM<direction = "
        "\"bidirectional\", hidden_size = 5>(x, w, r) }",
        "float[T,2,N,5]");
    test_infers(
        13,
        "g (float[T,N,8] x, float[1,15,8] w, float[1,15,5] r) => (y) { \"\", y = GRU(x, w, r) }",
        "float[1,N,5]");
    test_infers(14,
                "g (float[N,T,8] x, float[1,5,8] w, float[1,5,5] r) => (y) { y = RNN<layout = "
                "1>(x, w, r) }",
                "float[N,T,1,5]");
    test_infers(14,
                "g (float[N,T,8] x, float[1,20,8] w, float[] r) => (y) { \"\", \"\", y = "
                "LSTM<layout = 1>(x, w, r) }",
                "float[N,1,?]");
    test_infer_fails(
        14, "g (float[T,8] x, float[1,20,8] w, float[1,20,5] r) => (y) { y = LSTM(x, w, r) }",
        "input 0 has rank 2, want 3");
    test_infer_fails(14,
                     "g (float[T,N,8] x, float[1,20,8] w, float[1,20,5] r) => (y) { y = "
                     "LSTM<hidden_size = 6>(x, w, r) }",
                     "input 2 does not fit a hidden size of 6");
}

static void a_sampled_grid_has_the_places_of_the_grid(void **state)
{
    (void)state;
    test_infers(16, "g (float[N,3,8,9] x, float[2,4,W,2] p) => (y) { y = GridSample(x, p) }",
                "float[2,3,4,W]");
    test_infers(16, "g (float[N,3,8,9] x, float[] p) => (y) { y = GridSample(x, p) }", "float[]");
    test_infer_fails(16, "g (float[1,3,8,9] x, float[2,4,5,2] p) => (y) { y = GridSample(x, p) }",
                     "batch of the grid: 2, want 1");
    test_infer_fails(16, "g (float[1,3,8,9] x, float[1,4,2] p) => (y) { y = GridSample(x, p) }",
                     "rank 4 and grid of rank 3");
}

static void depth_becomes_space_and_back(void **state)
{
    (void)state;
    test_infers(17, "g (float[N,9,4,W] x) => (y) { y = DepthToSpace<blocksize = 3>(x) }",
                "float[N,1,12,?]");
    test_infers(17, "g (float[N,1,12,6] x) => (y) { y = SpaceToDepth<blocksize = 3>(x) }",
                "float[N,9,4,2]");
    test_infer_fails(17, "g (float[N,8,4,4] x) => (y) { y = DepthToSpace<blocksize = 3>(x) }",
                     "a dim of 8 does not divide by 9");
    test_infer_fails(17, "g (float[N,8,4,4] x) => (y) { y = DepthToSpace(x) }",
                     "attribute 'blocksize' is 0");
    test_infer_fails(17, "g (float[8,4,4] x) => (y) { y = DepthToSpace<blocksize = 1>(x) }",
                     "rank 3, want 4");
}

static void resize_by_scales_or_sizes(void **state)
{
    (void)state;
    test_infers(10,
                "g (float[N,3,5,7] x) => (y) <float[4] s = {1, 1, 2, 0.5}> { y = Resize(x, s) }",
                "float[N,3,10,3]");
    test_infers(
        13, "g (float[N,3,5,7] x) => (y) <float[4] s = {1, 1, 2, 0.5}> { y = Resize(x, \"\", s) }",
        "float[N,3,10,3]");
    test_infers(
        13, "g (float[N,3,H,7] x) => (y) <float[4] s = {1, 1, 2, 1}> { y = Resize(x, \"\", s) }",
        "float[N,3,?,7]");
    test_infers(
        13,
        "g (float[1,3,5,7] x) => (y) <float[0] s = {}, int64[4] z = {1, 3, 8, 9}> { y = Resize(x, "
        "\"\", s, z) }",
        "float[1,3,8,9]");
    test_infers(18,
                "g (float[N,3,5,7] x) => (y) <int64[2] z = {8, 9}> { y = Resize<axes = [2, -1]>(x, "
                "\"\", \"\", z) }",
                "float[N,3,8,9]");
    test_infers(18,
                "g (float[N,3,5,10] x) => (y) <int64[2] z = {20, 20}> { y = Resize<axes = [2, 3], "
                "keep_aspect_ratio_policy = \"not_larger\">(x, \"\", \"\", z) }",
                "float[N,3,10,20]");
    test_infers(18,
                "g (float[N,3,5,10] x) => (y) <int64[2] z = {20, 20}> { y = Resize<axes = [2, 3], "
                "keep_aspect_ratio_policy = \"not_smaller\">(x, \"\", \"\", z) }",
                "float[N,3,20,40]");
    test_infers(13,
                "g (float[1,5] x, float[4] r) => (y) <float[2] s = {1, 2}> { y = "
                "Resize<coordinate_transformation_mode = \"tf_crop_and_resize\">(x, r, s) }",
                "float[?,?]");
    test_infers(7, "g (float[N,3,5,7] x) => (y) { y = Upsample<scales = [1.0, 1.0, 2.0, 2.5]>(x) }",
                "float[N,3,10,17]");
    test_infers(9, "g (float[N,3,5,7] x) => (y) <float[4] s = {1, 1, 2, 2}> { y = Upsample(x, s) }",
                "float[N,3,10,14]");
    test_infer_fails(13,
                     "g (float[1,5] x) => (y) <float[3] s = {1, 2, 3}> { y = Resize(x, \"\", s) }",
                     "input 2 has 3 elements, want 2");
    test_infer_fails(18,
                     "g (float[1,5] x) => (y) <int64[2] z = {1, 2}> { y = Resize<axes = [1, "
                     "-1]>(x, \"\", \"\", z) }",
                     "axis 1 is listed twice");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conv_counts_windows),
        cmocka_unit_test(conv_keeps_symbols_that_it_does_not_change),
        cmocka_unit_test(conv_that_does_not_fit_is_refused),
        cmocka_unit_test(huge_numbers_do_not_overflow),
        cmocka_unit_test(quantized_convolutions_take_the_type_of_their_zero_point),
        cmocka_unit_test(transposed_conv_grows),
        cmocka_unit_test(pools_count_windows_and_round_up_on_request),
        cmocka_unit_test(normalizations_keep_the_shape),
        cmocka_unit_test(recurrent_networks_stack_their_states),
        cmocka_unit_test(a_sampled_grid_has_the_places_of_the_grid),
        cmocka_unit_test(depth_becomes_space_and_back),
        cmocka_unit_test(resize_by_scales_or_sizes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
