/* ir_shape_types.c - element types that opsets 21 to 23 let in: 4 bits nearly everywhere, bfloat16
 * in the rest. The expectations are what ONNX 1.23 infers. */
#include "support/shapes.h"

static const struct {
    int opset;
    const char *graph, *type;
} rows[] = {
    {21, "g (int4[2,3] x) => (y) { y = Shape(x) }", "int64[2]"},
    {21, "g (uint4[2,3] x) => (y) { y = Size(x) }", "int64"},
    {21, "g (int4[2,3] x) => (y) <int64[1] s = {6}> { y = Reshape(x, s) }", "int4[6]"},
    {23, "g (float4e2m1[2,3] x) => (y) <int64[1] s = {6}> { y = Reshape(x, s) }", "float4e2m1[6]"},
    {21, "g (int4[2,3] x) => (y) { y = Transpose(x) }", "int4[3,2]"},
    {21, "g (int4[1,3] x) => (y) <int64[1] a = {0}> { y = Squeeze(x, a) }", "int4[3]"},
    {21, "g (int4[3] x) => (y) <int64[1] a = {0}> { y = Unsqueeze(x, a) }", "int4[1,3]"},
    {21, "g (int4[2,3,4] x) => (y) { y = Flatten(x) }", "int4[2,12]"},
    {21, "g (int4[2] x) => (y) { y = Identity(x) }", "int4[2]"},
    {21, "g (float[2] x) => (y) { y = Cast<to = 22>(x) }", "int4[2]"},
    {23, "g (float[2] x) => (y) { y = Cast<to = 23>(x) }", "float4e2m1[2]"},
    {21, "g (float[2] x, int4 t) => (y) { y = CastLike(x, t) }", "int4[2]"},
    {21, "g (int64[1] s) => (y) <int64[1] d = {3}> { y = ConstantOfShape<value = int4[1] {1}>(d) }",
     "int4[3]"},
    {21, "g (int4[2] x) => (y) <int64[2] p = {1, 1}> { y = Pad(x, p) }", "int4[4]"},
    {21,
     "g (bool c, int4[2] x) => (y) { y = If<then_branch = t () => (p) { p = Identity(x) }, "
     "else_branch = e "
     "() => (q) { q = Identity(x) }>(c) }",
     "int4[2]"},
    {21, "g (float[2,4] x, float s) => (y) { y = QuantizeLinear<output_dtype = 22>(x, s) }",
     "int4[2,4]"},
    {21,
     "g (int4[2,4] x, float16[2,2] s) => (y) { y = DequantizeLinear<axis = 1, block_size = 2>(x, "
     "s) }",
     "float16[2,4]"},
    {23, "g (int4[2,4] x, float s) => (y) { y = DequantizeLinear<output_dtype = 10>(x, s) }",
     "float16[2,4]"},
    {23, "g (float16[2,4] x, float s, int4 z) => (y) { y = QuantizeLinear(x, s, z) }", "int4[2,4]"},
    {22, "g (bfloat16[1,2,4,4] x, bfloat16[3,2,3,3] w) => (y) { y = Conv(x, w) }",
     "bfloat16[1,3,2,2]"},
    {22, "g (bfloat16[3,3] x) => (y) { y = EyeLike(x) }", "bfloat16[3,3]"},
    {22, "g (float[3,3] x) => (y) { y = EyeLike<dtype = 16>(x) }", "bfloat16[3,3]"},
    {22, "g (bfloat16[3,3] x) => (y) { y = RandomNormalLike(x) }", "bfloat16[3,3]"},
    {22, "g () => (y) { y = RandomUniform<shape = [2], dtype = 16>() }", "bfloat16[2]"},
    {22, "g (bfloat16[3,3] x) => (y) { y = Bernoulli<dtype = 6>(x) }", "int32[3,3]"},
    {22, "g (bfloat16[3,3] x) => (t) { t, y = Dropout(x) }", "bool[3,3]"},
    {22,
     "g (bfloat16[3,1,2] x, bfloat16[1,16,2] w, bfloat16[1,16,4] r) => (y) { y = LSTM <hidden_size "
     "= 4> (x, "
     "w, r) }",
     "bfloat16[3,1,1,4]"},
};

static void types_of_newer_opsets_pass(void **state)
{
    (void)state;
    for (size_t i = 0; i < QDQ_COUNT(rows); i++)
        test_infers(rows[i].opset, rows[i].graph, rows[i].type);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_of_newer_opsets_pass),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
