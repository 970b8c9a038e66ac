/* ir_shape_tensor.c - shapes of operators that lay out elements in another way. */
#include "support/shapes.h"

static void reshape_follows_its_constant(void **state)
{
    (void)state;
    test_infers(17, "g (float[2,3,4] x) => (y) <int64[2] s = {6, 4}> { y = Reshape(x, s) }",
                "float[6,4]");
    test_infers(17, "g (float[2,3,4] x) => (y) <int64[2] s = {0, -1}> { y = Reshape(x, s) }",
                "float[2,12]");
    test_infers(
        17, "g (float[0,3] x) => (y) <int64[2] s = {0, 9}> { y = Reshape<allowzero = 1>(x, s) }",
        "float[0,9]");
    test_infers(17, "g (float[1] x) => (y) <int64[0] s = {}> { y = Reshape(x, s) }", "float");
    test_infers(17, "g (float[] x) => (y) <int64[3] s = {2, 0, -1}> { y = Reshape(x, s) }",
                "float[2,?,?]");
    test_infers(17, "g (float[2,3] x, int64[2] s) => (y) { y = Reshape(x, s) }", "float[?,?]");
    test_infers(17, "g (float[2,3] x, int64[1] s) => (y) { y = Reshape(x, s) }", "float[6]");
    test_infers(17, "g (float[2,3] x, int64[n] s) => (y) { y = Reshape(x, s) }", "float[]");
    test_infers(17, "g (float[2,3] x, int64 s) => (y) { y = Reshape(x, s) }", "float[]");
}

static void symbols_cancel_in_reshape(void **state)
{
    (void)state;
    test_infers(17,
                "g (float[N,768,7,7] x) => (y) <int64[3] s = {0, 768, -1}> { y = Reshape(x, s) }",
                "float[N,768,49]");
    test_infers(17,
                "g (float[N,768,7,7] x) => (y) <int64[2] s = {-1, 37632}> { y = Reshape(x, s) }",
                "float[N,37632]");
    test_infers(17, "g (float[N,8] x) => (y) <int64[2] s = {-1, 4}> { y = Reshape(x, s) }",
                "float[?,4]");
    test_infers(17, "g (float[N,M] x) => (y) <int64[2] s = {0, -1}> { y = Reshape(x, s) }",
                "float[N,M]");
    test_infers(17, "g (float[N,?] x) => (y) <int64[2] s = {0, -1}> { y = Reshape(x, s) }",
                "float[N,?]");
    test_infers(17, "g (float[N,0] x) => (y) <int64[1] s = {-1}> { y = Reshape(x, s) }",
                "float[0]");
    test_infers(17, "g (float[0,3] x) => (y) <int64[2] s = {0, -1}> { y = Reshape(x, s) }",
                "float[0,?]");
    test_infers(17, "g (float[N,N,2] x) => (y) <int64[3] s = {0, 0, -1}> { y = Reshape(x, s) }",
                "float[N,N,2]");
}

static void reshape_that_does_not_fit_is_refused(void **state)
{
    (void)state;
    test_infer_fails(17, "g (float[2,3] x) => (y) <int64[2] s = {4, 2}> { y = Reshape(x, s) }",
                     "6 elements reshaped to 8");
    test_infer_fails(17, "g (float[2,3] x) => (y) <int64[2] s = {4, -1}> { y = Reshape(x, s) }",
                     "6 elements do not fill a shape whose other dims take 4");
    test_infer_fails(17, "g (float[2,3] x) => (y) <int64[2] s = {-1, -1}> { y = Reshape(x, s) }",
                     "dim 1 of the shape is -1, want one -1 at most");
    test_infer_fails(17, "g (float[2,3] x) => (y) <int64[2] s = {-2, 3}> { y = Reshape(x, s) }",
                     "dim 0 of the shape is -2");
    test_infer_fails(17, "g (float[6] x) => (y) <int64[2] s = {6, 0}> { y = Reshape(x, s) }",
                     "dim 1 is copied from an input of rank 1");
}

static void flatten_multiplies(void **state)
{
    (void)state;
    test_infers(17, "g (float[2,3,4] x) => (y) { y = Flatten(x) }", "float[2,12]");
    test_infers(17, "g (float[N,3,4] x) => (y) { y = Flatten<axis = 0>(x) }", "float[1,?]");
    test_infers(17, "g (float[N,1,4] x) => (y) { y = Flatten<axis = -1>(x) }", "float[N,4]");
    test_infers(17, "g (float[] x) => (y) { y = Flatten(x) }", "float[?,?]");
    test_infer_fails(17, "g (float[2] x) => (y) { y = Flatten<axis = 2>(x) }",
                     "axis 2 of a tensor of rank 1");
}

static void squeeze_and_unsqueeze_take_axes_as_attribute_or_input(void **state)
{
    (void)state;
    test_infers(11, "g (float[1,3,1] x) => (y) { y = Squeeze<axes = [0]>(x) }", "float[3,1]");
    test_infers(13, "g (float[1,3,1] x) => (y) <int64[1] a = {-1}> { y = Squeeze(x, a) }",
                "float[1,3]");
    test_infers(13, "g (float[1,3,1] x) => (y) { y = Squeeze(x) }", "float[3]");
    test_infers(13, "g (float[1,N] x) => (y) { y = Squeeze(x) }", "float[]");
    test_infers(13, "g (float[N,3] x) => (y) <int64[1] a = {0}> { y = Squeeze(x, a) }", "float[3]");
    test_infers(13, "g (float[1,3] x, int64[1] a) => (y) { y = Squeeze(x, a) }", "float[]");
    test_infers(11, "g (float[3] x) => (y) { y = Unsqueeze<axes = [0, -1]>(x) }", "float[1,3,1]");
    test_infers(13, "g (float[N] x) => (y) <int64[2] a = {0, 2}> { y = Unsqueeze(x, a) }",
                "float[1,N,1]");
    test_infers(13, "g (float[N] x, int64[2] a) => (y) { y = Unsqueeze(x, a) }", "float[]");
    test_infer_fails(13, "g (float[2,3] x) => (y) <int64[1] a = {0}> { y = Squeeze(x, a) }",
                     "axis 0 has dim 2, want 1");
    test_infer_fails(11, "g (float[2,3] x) => (y) { y = Unsqueeze(x) }",
                     "attribute 'axes' is missing");
    test_infer_fails(11, "g (float[2] x) => (y) { y = Unsqueeze<axes = [0, 0]>(x) }",
                     "axis 0 is listed twice");
    test_infer_fails(11, "g (float[2] x) => (y) { y = Unsqueeze<axes = [2]>(x) }",
                     "axis 2 of a tensor of rank 2");
}

static void transpose_permutes(void **state)
{
    (void)state;
    test_infers(17, "g (float[N,3,4] x) => (y) { y = Transpose(x) }", "float[4,3,N]");
    test_infers(17, "g (float[N,3,4] x) => (y) { y = Transpose<perm = [0, 2, 1]>(x) }",
                "float[N,4,3]");
    test_infer_fails(17, "g (float[3,4] x) => (y) { y = Transpose<perm = [0, 0]>(x) }",
                     "no permutation of 2 axes");
    test_infer_fails(17, "g (float[3,4] x) => (y) { y = Transpose<perm = [0, 7]>(x) }",
                     "no permutation of 2 axes");
    test_infer_fails(17, "g (float[3,4] x) => (y) { y = Transpose<perm = [0]>(x) }",
                     "1 numbers, want 2");
}

static void concat_adds_along_its_axis(void **state)
{
    (void)state;
    test_infers(17, "g (float[2,3] a, float[2,4] b) => (y) { y = Concat<axis = 1>(a, b) }",
                "float[2,7]");
    test_infers(17, "g (float[N,3] a, float[2,4] b) => (y) { y = Concat<axis = -1>(a, b) }",
                "float[2,7]");
    test_infers(17, "g (float[N,3] a, float[1,3] b) => (y) { y = Concat<axis = 0>(a, b) }",
                "float[?,3]");
    test_infers(17, "g (float[N,3] a, float[0,3] b) => (y) { y = Concat<axis = 0>(a, b) }",
                "float[N,3]");
    test_infers(17, "g (float[N,3] a, float[] b) => (y) { y = Concat<axis = 0>(a, b) }",
                "float[?,3]");
    test_infer_fails(17, "g (float[2,3] a, float[3,4] b) => (y) { y = Concat<axis = 1>(a, b) }",
                     "input 1 has 3 along axis 0, want 2");
    test_infer_fails(17, "g (float[2,3] a, float[3] b) => (y) { y = Concat<axis = 0>(a, b) }",
                     "input 1 has rank 1, want 2");
    test_infer_fails(17, "g (float[2,3] a) => (y) { y = Concat(a) }",
                     "attribute 'axis' is missing");
}

static void split_cuts_evenly_or_as_told(void **state)
{
    (void)state;
    test_infers(11, "g (float[6,N] x) => (a) { a, y = Split(x) }", "float[3,N]");
    test_infers(11, "g (float[6,N] x) => (a) { a, y = Split<split = [5, 1]>(x) }", "float[1,N]");
    test_infers(13, "g (float[6,N] x) => (a) <int64[2] s = {4, 2}> { a, y = Split(x, s) }",
                "float[2,N]");
    test_infers(13, "g (float[6,N] x, int64[2] s) => (a) { a, y = Split(x, s) }", "float[?,N]");
    test_infers(18, "g (float[7] x) => (a) { a, b, y = Split<num_outputs = 3>(x) }", "float[1]");
    test_infers(18, "g (float[7,N] x) => (a) { a, y = Split<axis = 1, num_outputs = 2>(x) }",
                "float[7,?]");
    test_infers(18, "g (float[N] x) => (y) { y = Split<num_outputs = 1>(x) }", "float[N]");
    test_infer_fails(13, "g (float[7] x) => (a) { a, y = Split(x) }",
                     "a dim of 7 does not split into 2 parts");
    test_infer_fails(11, "g (float[7] x) => (a) { a, y = Split<split = [5, 1]>(x) }",
                     "split sizes add up to 6, want 7");
    test_infer_fails(11, "g (float[7] x) => (a) { a, y = Split<split = [7]>(x) }",
                     "1 split sizes for 2 outputs");
}

static void pad_grows_and_cuts(void **state)
{
    (void)state;
    test_infers(7, "g (float[2,3] x) => (y) { y = Pad<pads = [0, 1, 2, 3]>(x) }", "float[4,7]");
    test_infers(11, "g (float[N,3] x) => (y) <int64[4] p = {0, -1, 0, 3}> { y = Pad(x, p) }",
                "float[N,5]");
    test_infers(11, "g (float[N,3] x, int64[4] p) => (y) { y = Pad(x, p) }", "float[?,?]");
    test_infers(18,
                "g (float[N,3] x) => (y) <int64[2] p = {1, 1}, int64[1] a = {-1}> { y = Pad(x, p, "
                "\"\", a) }",
                "float[N,5]");
    test_infers(
        18, "g (float[N,3] x, int64[1] a) => (y) <int64[2] p = {1, 1}> { y = Pad(x, p, \"\", a) }",
        "float[?,?]");
    test_infer_fails(11, "g (float[2] x) => (y) <int64[2] p = {-2, -1}> { y = Pad(x, p) }",
                     "pads leave -1 along axis 0");
    test_infer_fails(11, "g (float[2] x) => (y) <int64[1] p = {1}> { y = Pad(x, p) }",
                     "1 pads for 1 axes, want two for each");
    test_infer_fails(7, "g (float[2] x) => (y) { y = Pad(x) }", "attribute 'pads' is missing");
}

static void expand_and_tile_repeat(void **state)
{
    (void)state;
    test_infers(17, "g (float[3,1] x) => (y) <int64[3] s = {2, 1, 4}> { y = Expand(x, s) }",
                "float[2,3,4]");
    test_infers(17, "g (float[N,1] x) => (y) <int64[2] s = {1, 4}> { y = Expand(x, s) }",
                "float[N,4]");
    test_infers(17, "g (float[3,1] x, int64[2] s) => (y) { y = Expand(x, s) }", "float[3,?]");
    test_infers(
        17,
        "g (float[1,1,5] c, float[N,3] x) => (y) <int64 z = {0}, int64[1] a = {0}, int64[2] r = "
        "{-1, -1}> {"
        " s = Shape(x) n = Gather(s, z) u = Unsqueeze(n, a) k = Concat<axis = 0>(u, r)"
        " m = Constant<value_ints = [1, 1]>() q = Concat<axis = 0>(u, m) y = Expand(c, q) }",
        "float[N,1,5]");
    test_infers(17, "g (float[3,N] x) => (y) <int64[2] r = {2, 1}> { y = Tile(x, r) }",
                "float[6,N]");
    test_infers(17, "g (float[3,N] x, int64[2] r) => (y) { y = Tile(x, r) }", "float[?,?]");
    test_infer_fails(17, "g (float[3,2] x) => (y) <int64[2] s = {4, 2}> { y = Expand(x, s) }",
                     "do not broadcast");
    test_infer_fails(17, "g (float[3,2] x) => (y) <int64[1] s = {4}> { y = Tile(x, s) }",
                     "1 repeats for rank 2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reshape_follows_its_constant),
        cmocka_unit_test(symbols_cancel_in_reshape),
        cmocka_unit_test(reshape_that_does_not_fit_is_refused),
        cmocka_unit_test(flatten_multiplies),
        cmocka_unit_test(squeeze_and_unsqueeze_take_axes_as_attribute_or_input),
        cmocka_unit_test(transpose_permutes),
        cmocka_unit_test(concat_adds_along_its_axis),
        cmocka_unit_test(split_cuts_evenly_or_as_told),
        cmocka_unit_test(pad_grows_and_cuts),
        cmocka_unit_test(expand_and_tile_repeat),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
