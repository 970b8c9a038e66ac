/* ir_shape_index.c - shapes of constants, ranges, slices, gathers. */
#include "support/shapes.h"

static void constants_of_all_kinds(void **state)
{
    (void)state;
    test_infers(17, "g () => (y) { y = Constant<value = float16[2,1] {1, 2}>() }", "float16[2,1]");
    test_infers(17, "g () => (y) { y = Constant<value_int = 3>() }", "int64");
    test_infers(17, "g () => (y) { y = Constant<value_ints = [3, 4]>() }", "int64[2]");
    test_infers(17, "g () => (y) { y = Constant<value_float = 3.0>() }", "float");
    test_infers(17, "g () => (y) { y = Constant<value_floats = [3.0]>() }", "float[1]");
    test_infers(17, "g () => (y) { y = Constant<value_string = \"a\">() }", "string");
    test_infers(17, "g () => (y) { y = Constant<value_strings = [\"a\", \"b\"]>() }", "string[2]");
    test_infers(17,
                "g () => (y) { y = Constant<sparse_value = sparse_tensor(float[3,4]) {float[1] "
                "{1}, int64[1] "
                "{2}}>() }",
                "float[3,4]");
    test_infers(17, "g () => (y) <int8[2,3] w = {1,2,3,4,5,6}> { y = Identity(w) }", "int8[2,3]");
    test_infers(17, "g () => (y) <int64[2] s = {2, 5}> { y = ConstantOfShape(s) }", "float[2,5]");
    test_infers(17, "g (int64[3] s) => (y) { y = ConstantOfShape<value = int8[1] {1}>(s) }",
                "int8[?,?,?]");
    test_infers(17, "g (int64[n] s) => (y) { y = ConstantOfShape(s) }", "float[]");
    test_infer_fails(17, "g () => (y) <int64[1] s = {-2}> { y = ConstantOfShape(s) }",
                     "dim 0 of the shape is -2");
}

static void shape_counts_the_dims_in_its_range(void **state)
{
    (void)state;
    test_infers(13, "g (float[2,N,4] x) => (y) { y = Shape<start = 1>(x) }", "int64[3]");
    test_infers(15, "g (float[2,N,4] x) => (y) { y = Shape<start = 1>(x) }", "int64[2]");
    test_infers(15, "g (float[2,N,4] x) => (y) { y = Shape<start = -1, end = -5>(x) }", "int64[0]");
    test_infers(15,
                "g (float[2,N,4] x) => (y) { y = Shape<start = -9223372036854775808, end = "
                "9223372036854775807>(x) }",
                "int64[3]");
    test_infers(15, "g (float[] x) => (y) { y = Shape(x) }", "int64[?]");
    test_infers(15, "g (float[2] x) => (y) { y = Size(x) }", "int64");
}

static void range_counts_steps(void **state)
{
    (void)state;
    test_infers(17,
                "g () => (y) <int64 a = {1}, int64 b = {8}, int64 c = {3}> { y = Range(a, b, c) }",
                "int64[3]");
    test_infers(17,
                "g () => (y) <int64 a = {8}, int64 b = {1}, int64 c = {-3}> { y = Range(a, b, c) }",
                "int64[3]");
    test_infers(17,
                "g () => (y) <int64 a = {8}, int64 b = {1}, int64 c = {3}> { y = Range(a, b, c) }",
                "int64[0]");
    test_infers(17,
                "g () => (y) <int64 a = {8}, int64 b = {8}, int64 c = {3}> { y = Range(a, b, c) }",
                "int64[0]");
    test_infers(
        17, "g () => (y) <float a = {0}, float b = {1}, float c = {0.3}> { y = Range(a, b, c) }",
        "float[4]");
    test_infers(17,
                "g () => (y) <int64 a = {0}, int64 b = {5}, int64 c = {0}> { y = Range(a, b, c) }",
                "int64[?]");
    test_infers(
        17,
        "g () => (y) <int64 a = {-9223372036854775808}, int64 b = {9223372036854775807}, int64 c = "
        "{1}> { y = Range(a, b, c) }",
        "int64[?]");
    test_infers(
        17,
        "g (float[N] x) => (y) <int64 a = {0}, int64 c = {1}> { b = Size(x) y = Range(a, b, c) }",
        "int64[N]");
}

static void slice_clamps_its_ends(void **state)
{
    (void)state;
    test_infers(9, "g (float[10,N] x) => (y) { y = Slice<starts = [2], ends = [-1]>(x) }",
                "float[7,N]");
    test_infers(
        9, "g (float[10,4] x) => (y) { y = Slice<starts = [1], ends = [100], axes = [-1]>(x) }",
        "float[10,3]");
    test_infers(13,
                "g (float[10,4] x) => (y) <int64[1] s = {9}, int64[1] e = {-100}, int64[1] a = "
                "{0}, int64[1] "
                "t = {-3}> { y = Slice(x, s, e, a, t) }",
                "float[4,4]");
    test_infers(
        13, "g (float[10] x) => (y) <int64[1] s = {5}, int64[1] e = {2}> { y = Slice(x, s, e) }",
        "float[0]");
    test_infers(
        13,
        "g (float[10] x) => (y) <int64[1] s = {-9223372036854775808}, int64[1] e = "
        "{9223372036854775807}, "
        "int64[1] a = {0}, int64[1] t = {9223372036854775807}> { y = Slice(x, s, e, a, t) }",
        "float[1]");
    test_infers(
        13,
        "g (float[10] x) => (y) <int64[1] s = {9223372036854775807}, int64[1] e = "
        "{-9223372036854775808}, "
        "int64[1] a = {0}, int64[1] t = {-9223372036854775808}> { y = Slice(x, s, e, a, t) }",
        "float[1]");
    test_infers(13,
                "g (float[0] x) => (y) <int64[1] s = {0}, int64[1] e = {-5}, int64[1] a = {0}, "
                "int64[1] t = "
                "{-1}> { y = Slice(x, s, e, a, t) }",
                "float[0]");
    test_infers(13,
                "g (float[0] x) => (y) <int64[1] s = {-1}, int64[1] e = {-9223372036854775808}, "
                "int64[1] a = "
                "{0}, int64[1] t = {-1}> { y = Slice(x, s, e, a, t) }",
                "float[0]");
}

static void slice_backwards_to_the_end_is_left_open(void **state)
{
    (void)state;
    test_infers(13,
                "g (float[10] x) => (y) <int64[1] s = {9}, int64[1] e = {9223372036854775807}, "
                "int64[1] a = "
                "{0}, int64[1] t = {-1}> { y = Slice(x, s, e, a, t) }",
                "float[?]");
}

static void slice_knows_what_it_can_of_symbols(void **state)
{
    (void)state;
    test_infers(
        13,
        "g (float[N,4] x) => (y) <int64[1] s = {0}, int64[1] e = {9223372036854775807}> { y = "
        "Slice(x, s, e) }",
        "float[N,4]");
    test_infers(
        13,
        "g (float[N,4] x) => (y) <int64[1] s = {1}, int64[1] e = {9223372036854775807}> { y = "
        "Slice(x, s, e) }",
        "float[?,4]");
    test_infers(13, "g (float[N,4] x, int64[1] e) => (y) <int64[1] s = {1}> { y = Slice(x, s, e) }",
                "float[?,4]");
    test_infers(13,
                "g (float[3,4] x, int64[1] a) => (y) <int64[1] s = {1}, int64[1] e = {2}> { y = "
                "Slice(x, s, e, a) }",
                "float[?,?]");
    test_infers(13, "g (float[3,4] x, int64[n] s, int64[n] e) => (y) { y = Slice(x, s, e) }",
                "float[?,?]");
    test_infers(
        13,
        "g (float[N,4] x) => (y) <int64[1] s = {0}, int64[1] z = {0}, int64[1] o = {1}> { h = "
        "Shape(x) e = Slice(h, z, o) y = Slice(x, s, e) }",
        "float[N,4]");
    test_infers(13,
                "g (float[5,4] x, int64[1] t) => (y) <int64[1] s = {0}, int64[1] e = {5}, int64[1] "
                "a = {0}> "
                "{ y = Slice(x, s, e, a, t) }",
                "float[?,4]");
}

static void slice_that_makes_no_sense_is_refused(void **state)
{
    (void)state;
    test_infer_fails(9, "g (float[4] x) => (y) { y = Slice<starts = [1]>(x) }",
                     "attribute 'ends' is missing");
    test_infer_fails(9, "g (float[4] x) => (y) { y = Slice<starts = [1], ends = [1, 2]>(x) }",
                     "attribute 'ends' has 2 numbers, want 1");
    test_infer_fails(
        13,
        "g (float[4] x) => (y) <int64[1] s = {0}, int64[1] a = {0}, int64[1] z = {0}> { y = "
        "Slice(x, s, s, a, z) }",
        "the step along axis 0 is 0");
    test_infer_fails(13,
                     "g (float[4] x) => (y) <int64[2] s = {0, 0}, int64[2] a = {0, 0}> { y = "
                     "Slice(x, s, s, a) }",
                     "2 slices of a tensor of rank 1");
    test_infer_fails(13,
                     "g (float[4,4] x) => (y) <int64[2] s = {0, 0}, int64[2] a = {1, -1}> { y = "
                     "Slice(x, s, s, a) }",
                     "axis 1 is sliced twice");
    test_infer_fails(13, "g (float[4] x) => (y) <float[1] s = {0}> { y = Slice(x, s, s) }",
                     "input 1 is not of an integer type");
}

static void gathers_put_indices_in_place_of_axes(void **state)
{
    (void)state;
    test_infers(17, "g (float[5,N] x, int64[2,3] i) => (y) { y = Gather(x, i) }", "float[2,3,N]");
    test_infers(17, "g (float[5,N] x, int64 i) => (y) { y = Gather<axis = 1>(x, i) }", "float[5]");
    test_infers(17, "g (float[5,N] x, int64[M,3] i) => (y) { y = GatherElements(x, i) }",
                "float[M,3]");
    test_infers(17, "g (float[2,3,4] x, int64[5,2] i) => (y) { y = GatherND(x, i) }", "float[5,4]");
    test_infers(17,
                "g (float[B,3,4] x, int64[B,1] i) => (y) { y = GatherND<batch_dims = 1>(x, i) }",
                "float[B,4]");
    test_infers(17, "g (float[2,3] x, int64[5,n] i) => (y) { y = GatherND(x, i) }", "float[]");
    test_infer_fails(17, "g (float[5] x, int64 i) => (y) { y = Gather<axis = 1>(x, i) }",
                     "axis 1 of a tensor of rank 1");
    test_infer_fails(17, "g (float[5] x, int64[2] i) => (y) { y = GatherND(x, i) }",
                     "indices of 2 numbers into rank 1");
    test_infer_fails(17, "g (float[5] x, int64[2] i) => (y) { y = GatherND<batch_dims = 9>(x, i) }",
                     "9 batch dims");
}

static void others_that_pick_elements(void **state)
{
    (void)state;
    test_infers(9, "g (float[N,9] x) => (v) { v, y = TopK<k = 3>(x) }", "int64[N,3]");
    test_infers(11, "g (float[N,9] x) => (y) <int64[1] k = {4}> { y, i = TopK<axis = 0>(x, k) }",
                "float[4,9]");
    test_infers(11, "g (float[N,9] x, int64[1] k) => (y) { y, i = TopK(x, k) }", "float[N,?]");
    test_infers(17, "g (float[N,9] x) => (y) { y = NonZero(x) }", "int64[2,?]");
    test_infers(17, "g (float[N,9] x, bool[9] k) => (y) { y = Compress(x, k) }", "float[?]");
    test_infers(17, "g (float[N,9] x, bool[9] k) => (y) { y = Compress<axis = 1>(x, k) }",
                "float[N,?]");
    test_infers(17, "g (float16[N,3,4,4] x) => (y) { y = Det(x) }", "float16[N,3]");
    test_infer_fails(17, "g (float[9] x, bool[9] k) => (y) { y = Compress<axis = 1>(x, k) }",
                     "axis 1");
    test_infer_fails(17, "g (float[9] x) => (y) { y = Det(x) }", "rank 1, want 2");
    test_infers(17, "g (int64[N] x, float[2] v) => (y) <int64 d = {7}> { y = OneHot(x, d, v) }",
                "float[N,7]");
    test_infers(
        17, "g (int64[N] x, int8[2] v) => (y) <float[1] d = {7}> { y = OneHot<axis = 0>(x, d, v) }",
        "int8[7,N]");
    test_infers(17, "g (float[1,9,4] b, float[1,2,9] s) => (y) { y = NonMaxSuppression(b, s) }",
                "int64[?,3]");
    test_infer_fails(11,
                     "g (float[N,9] x) => (y) <int64[1] k = {4}> { y, i = TopK<axis = 2>(x, k) }",
                     "axis 2 of a tensor of rank 2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constants_of_all_kinds),
        cmocka_unit_test(shape_counts_the_dims_in_its_range),
        cmocka_unit_test(range_counts_steps),
        cmocka_unit_test(slice_clamps_its_ends),
        cmocka_unit_test(slice_backwards_to_the_end_is_left_open),
        cmocka_unit_test(slice_knows_what_it_can_of_symbols),
        cmocka_unit_test(slice_that_makes_no_sense_is_refused),
        cmocka_unit_test(gathers_put_indices_in_place_of_axes),
        cmocka_unit_test(others_that_pick_elements),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
