/* ir_shape_math.c - shapes of element-wise operators, reductions, matrix products, casts. */
#include "support/shapes.h"

static void dims_broadcast_with_symbols(void **state)
{
    (void)state;
    test_infers(17, "g (float[2,3] x) => (y) { y = Relu(x) }", "float[2,3]");
    test_infers(17, "g (float[2,1] a, float[3] b) => (y) { y = Add(a, b) }", "float[2,3]");
    test_infers(17, "g (float[N,4] a, float[N,4] b) => (y) { y = Mul(a, b) }", "float[N,4]");
    test_infers(17, "g (float[N,4] a, float[1,4] b) => (y) { y = Mul(a, b) }", "float[N,4]");
    test_infers(17, "g (float[N] a, float[5] b) => (y) { y = Sub(a, b) }", "float[5]");
    test_infers(17, "g (float[N] a, float[M] b) => (y) { y = Sub(a, b) }", "float[?]");
    test_infers(17, "g (float[N] a, float b) => (y) { y = Div(a, b) }", "float[N]");
    test_infers(17, "g (float[0] a, float[1] b) => (y) { y = Div(a, b) }", "float[0]");
    test_infers(17, "g (float[] a, float[1] b) => (y) { y = Div(a, b) }", "float[]");
    test_infers(17, "g (float[2] a, float[1,2] b, float[3,1,1] c) => (y) { y = Max(a, b, c) }",
                "float[3,1,2]");
    test_infers(17, "g (float[1] a) => (y) { y = Sum(a) }", "float[1]");
    test_infers(17, "g (int64[2] a, float[2] b) => (y) { y = Pow(a, b) }", "int64[2]");
}

static void dims_that_do_not_broadcast_are_refused(void **state)
{
    (void)state;
    test_infer_fails(
        17, "g (float[2,3] a, float[4] b) => (y) { [n] y = Add(a, b) }",
        "node 'n' (Add): dims 3 and 4, counted 1 from the end, do not broadcast: want equal or 1");
    test_infer_fails(17, "g (float[2] a, float[0] b) => (y) { y = Less(a, b) }",
                     "do not broadcast");
}

static void comparisons_give_bool(void **state)
{
    (void)state;
    test_infers(17, "g (float[2,1] a, float[3] b) => (y) { y = Equal(a, b) }", "bool[2,3]");
    test_infers(17, "g (float[2] a) => (y) { y = IsNaN(a) }", "bool[2]");
    test_infers(17, "g (bool[N] a) => (y) { y = Not(a) }", "bool[N]");
    test_infers(17, "g (bool[N] c, int32[1] a, int32[N] b) => (y) { y = Where(c, a, b) }",
                "int32[N]");
}

static void casts_change_the_element_type(void **state)
{
    (void)state;
    test_infers(17, "g (float[2,N] x) => (y) { y = Cast<to = 7>(x) }", "int64[2,N]");
    test_infers(17, "g (float[] x) => (y) { y = Cast<to = 10>(x) }", "float16[]");
    test_infers(17, "g (float[2] x, uint8 t) => (y) { y = CastLike(x, t) }", "uint8[2]");
    test_infer_fails(17, "g (float[2] x) => (y) { y = Cast<to = 99>(x) }",
                     "'to' names no element type");
    test_infer_fails(17, "g (float[2] x) => (y) { y = Cast<to = 1.5>(x) }",
                     "attribute 'to' has the wrong type");
}

static void quantization_takes_its_type_from_the_zero_point(void **state)
{
    (void)state;
    test_infers(13, "g (float[N,4] x, float s, int8 z) => (y) { y = QuantizeLinear(x, s, z) }",
                "int8[N,4]");
    test_infers(13, "g (float[N,4] x, float s) => (y) { y = QuantizeLinear(x, s) }", "uint8[N,4]");
    test_infers(21,
                "g (float[4] x, float s) => (y) { y = QuantizeLinear<output_dtype = 22>(x, s) }",
                "int4[4]");
    test_infers(13, "g (int8[4] x, float s) => (y) { y = DequantizeLinear(x, s) }", "float[4]");
    test_infers(19, "g (int8[4] x, float16 s) => (y) { y = DequantizeLinear(x, s) }", "float16[4]");
    test_infers(17, "g (float[3] x) => (y) { a, b, y = DynamicQuantizeLinear(x) }", "uint8");
}

static void reductions_drop_or_keep_axes(void **state)
{
    (void)state;
    test_infers(17, "g (float[2,3,N] x) => (y) { y = ReduceMean<axes = [-1]>(x) }", "float[2,3,1]");
    test_infers(17, "g (float[2,3,N] x) => (y) { y = ReduceMean<axes = [0, 2], keepdims = 0>(x) }",
                "float[3]");
    test_infers(17, "g (float[2,3] x) => (y) { y = ReduceMax<keepdims = 0>(x) }", "float");
    test_infers(17, "g (float[2,3] x) => (y) { y = ReduceMax(x) }", "float[1,1]");
    test_infers(13, "g (float[2,3] x) => (y) <int64[1] a = {1}> { y = ReduceSum(x, a) }",
                "float[2,1]");
    test_infers(18, "g (float[2,3] x) => (y) <int64[1] a = {1}> { y = ReduceMean(x, a) }",
                "float[2,1]");
    test_infers(18, "g (float[2,3] x, int64[1] a) => (y) { y = ReduceMean(x, a) }", "float[?,?]");
    test_infers(18, "g (float[2,3] x, int64[1] a) => (y) { y = ReduceMean<keepdims = 0>(x, a) }",
                "float[]");
    test_infers(18, "g (float[2,3] x) => (y) { y = ReduceMean<noop_with_empty_axes = 1>(x) }",
                "float[2,3]");
    test_infers(17, "g (float[2,3] x) => (y) { y = ArgMax<axis = 1>(x) }", "int64[2,1]");
    test_infers(17, "g (float[2,3] x) => (y) { y = ArgMin<axis = 0, keepdims = 0>(x) }",
                "int64[3]");
    test_infer_fails(17, "g (float[2,3] x) => (y) { y = ReduceMean<axes = [2]>(x) }",
                     "axis 2 of a tensor of rank 2");
    test_infer_fails(17, "g (float[2,3] x) => (y) { y = ReduceMean<axes = [1, -1]>(x) }",
                     "axis 1 is listed twice");
}

static void matrix_products_broadcast_their_batches(void **state)
{
    (void)state;
    test_infers(17, "g (float[N,3] a, float[3,5] b) => (y) { y = MatMul(a, b) }", "float[N,5]");
    test_infers(17, "g (float[N,12,50,64] a, float[N,12,64,50] b) => (y) { y = MatMul(a, b) }",
                "float[N,12,50,50]");
    test_infers(17, "g (float[7,1,2,3] a, float[4,3,5] b) => (y) { y = MatMul(a, b) }",
                "float[7,4,2,5]");
    test_infers(17, "g (float[3] a, float[3,5] b) => (y) { y = MatMul(a, b) }", "float[5]");
    test_infers(17, "g (float[2,3] a, float[3] b) => (y) { y = MatMul(a, b) }", "float[2]");
    test_infers(17, "g (float[3] a, float[3] b) => (y) { y = MatMul(a, b) }", "float");
    test_infers(17, "g (float[] a, float[3] b) => (y) { y = MatMul(a, b) }", "float[]");
    test_infers(17, "g (uint8[2,3] a, int8[3,4] b) => (y) { y = MatMulInteger(a, b) }",
                "int32[2,4]");
    test_infer_fails(17, "g (float[2,3] a, float[4,5] b) => (y) { y = MatMul(a, b) }",
                     "inner dim of the second input is 4, want 3");
    test_infer_fails(17, "g (float a, float[4,5] b) => (y) { y = MatMul(a, b) }",
                     "input 0 is a scalar");
}

static void gemm_transposes(void **state)
{
    (void)state;
    test_infers(17, "g (float[N,3] a, float[3,5] b) => (y) { y = Gemm(a, b) }", "float[N,5]");
    test_infers(17, "g (float[N,3] a, float[5,3] b) => (y) { y = Gemm<transB = 1>(a, b) }",
                "float[N,5]");
    test_infers(17, "g (float[3,N] a, float[3,5] b) => (y) { y = Gemm<transA = 1>(a, b) }",
                "float[N,5]");
    test_infers(17, "g (float[] a, float[3,5] b) => (y) { y = Gemm(a, b) }", "float[?,5]");
    test_infer_fails(17, "g (float[2,3] a, float[5,4] b) => (y) { y = Gemm<transB = 1>(a, b) }",
                     "inner dim of the second input is 4, want 3");
    test_infer_fails(17, "g (float[2,3,1] a, float[5,4] b) => (y) { y = Gemm(a, b) }",
                     "ranks 3 and 2, want 2");
}

static void random_tensors_have_the_shape_that_is_asked_for(void **state)
{
    (void)state;
    test_infers(17, "g () => (y) { y = RandomNormal<shape = [2, 3]>() }", "float[2,3]");
    test_infers(17, "g (int8[N] x) => (y) { y = RandomUniformLike<dtype = 11>(x) }", "double[N]");
    test_infers(17, "g (float[N,9] x) => (y) { y = Multinomial<sample_size = 4>(x) }",
                "int32[N,4]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dims_broadcast_with_symbols),
        cmocka_unit_test(dims_that_do_not_broadcast_are_refused),
        cmocka_unit_test(comparisons_give_bool),
        cmocka_unit_test(casts_change_the_element_type),
        cmocka_unit_test(quantization_takes_its_type_from_the_zero_point),
        cmocka_unit_test(reductions_drop_or_keep_axes),
        cmocka_unit_test(matrix_products_broadcast_their_batches),
        cmocka_unit_test(gemm_transposes),
        cmocka_unit_test(random_tensors_have_the_shape_that_is_asked_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
