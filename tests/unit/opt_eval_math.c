/* opt_eval_math.c - arithmetic of the evaluator: exact values, broadcasting, types, what is
 * refused. */
#include "support/evals.h"

TEST(elements_are_computed_one_by_one)
{
    gives(17, "float[3] a = {1, 2, 3}, float[3] b = {0.5, 0.25, -3}", "y = Add(a, b)",
          "float[3] y = {1.5, 2.25, 0}");
    gives(17, "int64 a = {7}, int64 b = {9}", "y = Sub(a, b)", "int64 y = {-2}");
    gives(17, "double[1] a = {3}, double b = {0.5}", "y = Mul(a, b)", "double[1] y = {1.5}");
    gives(17, "uint8[2] a = {3, 200}, uint8[2] b = {5, 9}", "y = Max(a, b)",
          "uint8[2] y = {5, 200}");
    gives(17, "int16[2] a = {3, -200}, int16[2] b = {5, 9}", "y = Min(a, b)",
          "int16[2] y = {3, -200}");
    gives(17, "float[0] a = {}, float[1] b = {1}", "y = Add(a, b)", "float[0] y = {}");
}

TEST(activations_of_later_opsets_are_computed)
{
    gives(16, "float[4] x = {-2, -1, 0, 3}, float b = {0.5}", "y = PRelu(x, b)",
          "float[4] y = {-1, -0.5, 0, 3}");
    gives(16, "int32[2] x = {-2, 3}, int32 b = {5}", "y = PRelu(x, b)", "int32[2] y = {-10, 3}");
    gives(9, "float[5] x = {-2, -1, 0, 1, 2}", "y = Shrink <lambd = 1.5, bias = 1.5> (x)",
          "float[5] y = {-0.5, 0, 0, 0, 0.5}");
    gives(12, "float[2] x = {0, 3}", "y = Celu <alpha = 2.0> (x)", "float[2] y = {0, 3}");
    gives(24, "float[2] x = {0, inf}", "y = Swish <alpha = 2.0> (x)", "float[2] y = {0, inf}");
    gives(18, "float[2,2] x = {0, -inf, 2, 2}", "y = ReduceLogSumExp <keepdims = 0> (x)",
          "float y = {2.7586236}");
    refuses(16, "float x = {1}, float[2] b = {1, 2}", "y = PRelu(x, b)",
            "does not broadcast to the data");
    refuses(16, "float[2] x = {1, 2}, double b = {1}", "y = PRelu(x, b)", "inputs of the types");
    refuses(13, "int64[2] x = {1, 2}", "y = ReduceLogSumExp(x)", "type int64");
}

TEST(arrays_are_broadcast)
{
    gives(17, "int32[2,1] a = {10, 20}, int32[3] b = {1, 2, 3}", "y = Add(a, b)",
          "int32[2,3] y = {11, 12, 13, 21, 22, 23}");
    gives(17, "int32[2,1,2] a = {1, 2, 3, 4}, int32[3,1] b = {10, 20, 30}", "y = Mul(a, b)",
          "int32[2,3,2] y = {10, 20, 20, 40, 30, 60, 30, 40, 60, 80, 90, 120}");
    gives(17, "float a = {2}, float[2,2] b = {1, 2, 3, 4}", "y = Sub(a, b)",
          "float[2,2] y = {1, 0, -1, -2}");
    gives(17, "float[2,0,3] a = {}, float[1,3] b = {1, 2, 3}", "y = Sub(a, b)",
          "float[2,0,3] y = {}");
    refuses(17, "float[2] a = {1, 2}, float[3] b = {1, 2, 3}", "y = Add(a, b)", "do not broadcast");
    refuses(17, "float[0] a = {}, float[3] b = {1, 2, 3}", "y = Add(a, b)", "do not broadcast");
}

TEST(integers_wrap_and_are_divided_towards_zero)
{
    gives(17, "int8[2] a = {127, -128}, int8[2] b = {1, 1}", "y = Add(a, b)",
          "int8[2] y = {-128, -127}");
    gives(17, "uint16[1] a = {65535}, uint16[1] b = {65535}", "y = Mul(a, b)", "uint16[1] y = {1}");
    gives(17, "int64[1] a = {9223372036854775807}, int64[1] b = {2}", "y = Mul(a, b)",
          "int64[1] y = {-2}");
    gives(17, "int32[4] a = {7, -7, 7, -7}, int32[4] b = {2, 2, -2, -2}", "y = Div(a, b)",
          "int32[4] y = {3, -3, -3, 3}");
    gives(17, "int64[1] a = {-9223372036854775808}, int64[1] b = {-1}", "y = Div(a, b)",
          "int64[1] y = {-9223372036854775808}");
    gives(17, "uint64[1] a = {18446744073709551615}, uint64[1] b = {2}", "y = Div(a, b)",
          "uint64[1] y = {9223372036854775807}");
    refuses(17, "int32[2] a = {1, 2}, int32[2] b = {1, 0}", "y = Div(a, b)", "division by zero");
    refuses(17, "uint8 a = {1}, uint8 b = {0}", "y = Mod(a, b)", "division by zero");
}

TEST(the_remainder_has_the_sign_of_the_divisor_or_with_fmod_of_the_dividend)
{
    gives(13, "int64[4] a = {7, -7, 7, -7}, int64[4] b = {3, 3, -3, -3}", "y = Mod(a, b)",
          "int64[4] y = {1, 2, -2, -1}");
    gives(13, "int64[4] a = {7, -7, 7, -7}, int64[4] b = {3, 3, -3, -3}",
          "y = Mod <fmod = 1> (a, b)", "int64[4] y = {1, -1, 1, -1}");
    gives(13, "int8 a = {-128}, int8 b = {-1}", "y = Mod(a, b)", "int8 y = {0}");
    gives(13, "float[2] a = {5.5, -5.5}, float b = {2}", "y = Mod <fmod = 1> (a, b)",
          "float[2] y = {1.5, -1.5}");
    refuses(13, "float a = {5}, float b = {2}", "y = Mod(a, b)", "type float");
}

TEST(comparisons_and_logic_give_bool)
{
    gives(17, "int64[3] a = {1, 2, 3}, int64 b = {2}", "y = Less(a, b)", "bool[3] y = {1, 0, 0}");
    gives(17, "uint64 a = {18446744073709551615}, uint64 b = {1}", "y = Greater(a, b)",
          "bool y = {1}");
    gives(17, "float[2] a = {1, 2}, float[2] b = {1, 1}", "y = LessOrEqual(a, b)",
          "bool[2] y = {1, 0}");
    gives(17, "float[2] a = {1, 0}, float[2] b = {1, 1}", "y = GreaterOrEqual(a, b)",
          "bool[2] y = {1, 0}");
    gives(17, "bool[4] a = {0, 0, 1, 1}, bool[4] b = {0, 1, 0, 1}", "y = Equal(a, b)",
          "bool[4] y = {1, 0, 0, 1}");
    gives(17, "bool[4] a = {0, 0, 1, 1}, bool[4] b = {0, 1, 0, 1}", "y = And(a, b)",
          "bool[4] y = {0, 0, 0, 1}");
    gives(17, "bool[4] a = {0, 0, 1, 1}, bool[4] b = {0, 1, 0, 1}", "y = Or(a, b)",
          "bool[4] y = {0, 1, 1, 1}");
    gives(17, "bool[4] a = {0, 0, 1, 1}, bool[4] b = {0, 1, 0, 1}", "y = Xor(a, b)",
          "bool[4] y = {0, 1, 1, 0}");
    gives(17, "bool[2] a = {0, 1}", "y = Not(a)", "bool[2] y = {1, 0}");
    gives(17, "float[2] a = {nan, 1}, float[2] b = {nan, nan}", "y = Equal(a, b)",
          "bool[2] y = {0, 0}");
    refuses(17, "int64 a = {1}, int64 b = {1}", "y = And(a, b)", "type int64");
    refuses(17, "int64 a = {1}, int32 b = {1}", "y = Equal(a, b)", "types int64 and int32");
}

TEST(several_arrays_are_taken_from_the_left)
{
    gives(17, "float[2] a = {1, 2}, float[1] b = {3}, float[2,1] c = {10, 20}", "y = Sum(a, b, c)",
          "float[2,2] y = {14, 15, 24, 25}");
    gives(17, "float[2] a = {1, 2}, float[2] b = {3, 5}", "y = Mean(a, b)",
          "float[2] y = {2, 3.5}");
    gives(17, "int64[2] a = {1, 7}, int64[2] b = {3, 5}, int64 c = {4}", "y = Max(a, b, c)",
          "int64[2] y = {4, 7}");
    gives(17, "float[2] a = {1, 7}", "y = Min(a)", "float[2] y = {1, 7}");
    gives(17, "float[2] a = {nan, 1}, float[2] b = {1, nan}", "y = Max(a, b)",
          "float[2] y = {nan, nan}");
    refuses(17, "int64 a = {1}, int64 b = {2}", "y = Mean(a, b)", "type int64");
    refuses(17, "float a = {1}", "y = Max(a, \"\")", "left out");
}

TEST(clip_takes_bounds_as_attributes_or_inputs)
{
    gives(7, "float[3] a = {-5, 0.5, 5}", "y = Clip <min = -1.0, max = 1.0> (a)",
          "float[3] y = {-1, 0.5, 1}");
    gives(7, "double[2] a = {-5, 5}", "y = Clip <max = 1.0> (a)", "double[2] y = {-5, 1}");
    gives(7, "float[2] a = {-5, 5}", "y = Clip(a)", "float[2] y = {-5, 5}");
    gives(13, "float[3] a = {-5, 0.5, 5}, float l = {-1}, float h = {1}", "y = Clip(a, l, h)",
          "float[3] y = {-1, 0.5, 1}");
    gives(13, "int8[3] a = {-5, 0, 5}, int8 h = {1}", "y = Clip(a, \"\", h)",
          "int8[3] y = {-5, 0, 1}");
    gives(13, "int8[3] a = {-5, 0, 5}, int8 l = {1}", "y = Clip(a, l)", "int8[3] y = {1, 1, 5}");
    gives(13, "float16[2] a = {-5.0, 5.0}, float16 l = {1.0}", "y = Clip(a, l)",
          "float16[2] y = {1.0, 5.0}");
    refuses(13, "float[2] a = {1, 2}, float[2] l = {1, 2}", "y = Clip(a, l)", "not a scalar");
    refuses(13, "float[2] a = {1, 2}, double l = {1}", "y = Clip(a, l)", "types float and double");
    refuses(7, "float[2] a = {1, 2}, float l = {1}", "y = Clip(a, l)", "below opset 11");
    refuses(7, "float[2] a = {1, 2}", "y = Clip <min = 1> (a)", "attribute 'min'");
}

TEST(powers_take_two_types)
{
    gives(13, "float[3] a = {2, 3, 4}, float b = {2}", "y = Pow(a, b)", "float[3] y = {4, 9, 16}");
    gives(13, "float[2] a = {4, 9}, float b = {0.5}", "y = Pow(a, b)", "float[2] y = {2, 3}");
    gives(13, "int32[2] a = {-3, 2}, int64[2] b = {3, 10}", "y = Pow(a, b)",
          "int32[2] y = {-27, 1024}");
    gives(13, "int64 a = {7}, float b = {2}", "y = Pow(a, b)", "int64 y = {49}");
    gives(13, "double a = {2}, int32 b = {-1}", "y = Pow(a, b)", "double y = {0.5}");
    refuses(13, "int32 a = {2}, int32 b = {31}", "y = Pow(a, b)", "beyond its type");
    refuses(13, "int32 a = {2}, int32 b = {-1}", "y = Pow(a, b)", "beyond its type");
    refuses(13, "int32 a = {2}, float b = {0.5}", "y = Pow(a, b)", "beyond its type");
}

TEST(functions_of_one_number)
{
    gives(17, "float[3] a = {-1, 0, 2}", "y = Abs(a)", "float[3] y = {1, 0, 2}");
    gives(17, "int8[2] a = {-128, -5}", "y = Abs(a)", "int8[2] y = {-128, 5}");
    gives(17, "int64[2] a = {-9223372036854775808, 5}", "y = Neg(a)",
          "int64[2] y = {-9223372036854775808, -5}");
    gives(17, "float[3] a = {4, 2.25, 0}", "y = Sqrt(a)", "float[3] y = {2, 1.5, 0}");
    gives(17, "float[4] a = {0.5, 1.5, -0.5, 2.6}", "y = Round(a)", "float[4] y = {0, 2, -0.0, 3}");
    gives(17, "float[2] a = {1.5, -1.5}", "y = Ceil(a)", "float[2] y = {2, -1}");
    gives(17, "float[2] a = {1.5, -1.5}", "y = Floor(a)", "float[2] y = {1, -2}");
    gives(17, "float[2] a = {4, 0.5}", "y = Reciprocal(a)", "float[2] y = {0.25, 2}");
    gives(17, "float[2] a = {0, 1}", "y = Exp(a)", "float[2] y = {1, 2.7182817}");
    gives(17, "float[1] a = {1}", "y = Log(a)", "float[1] y = {0}");
    gives(17, "float[3] a = {-3, 0, 2}", "y = Sign(a)", "float[3] y = {-1, 0, 1}");
    gives(17, "float[2] a = {-3, 2}", "y = Relu(a)", "float[2] y = {0, 2}");
    gives(17, "float[2] a = {-4, 2}", "y = LeakyRelu <alpha = 0.25> (a)", "float[2] y = {-1, 2}");
    gives(17, "float[3] a = {-4, 0, 4}", "y = HardSigmoid <alpha = 0.25, beta = 0.5> (a)",
          "float[3] y = {0, 0.5, 1}");
    gives(17, "float[2] a = {0, 1000}", "y = Softplus(a)", "float[2] y = {0.6931472, 1000}");
    gives(17, "float[2] a = {0, -1000}", "y = Sigmoid(a)", "float[2] y = {0.5, 0}");
    refuses(17, "uint8[1] a = {1}", "y = Neg(a)", "type uint8");
    refuses(17, "float[1] a = {-1}", "y = Sqrt(a)", "the result has NaN");
    refuses(17, "float a = {inf}, float b = {inf}", "y = Sub(a, b)", "the result has NaN");
    gives(17, "float[1] a = {nan}", "y = Sqrt(a)", "float[1] y = {nan}");
    gives(17, "float[2] a = {0, 1000}", "y = Exp(a)", "float[2] y = {1, inf}");
}

TEST(half_precision_is_rounded_once)
{
    gives(17, "float16[2] a = {1.0, 2048.0}, float16[2] b = {0.5, 1.0}", "y = Add(a, b)",
          "float16[2] y = {1.5, 2048.0}"); /* 2049 is a tie */
    gives(17, "float16[1] a = {60000.0}, float16[1] b = {60000.0}", "y = Add(a, b)",
          "float16[1] y = {inf}");
    gives(17, "bfloat16[1] a = {1.0}, bfloat16[1] b = {3.0}", "y = Div(a, b)",
          "bfloat16[1] y = {0.333984375}");
    gives(17, "float16[2] a = {1.0, 3.0}, float16 b = {2.0}", "y = Less(a, b)",
          "bool[2] y = {1, 0}");
    refuses(17, "float16 a = {1.0}, float b = {2}", "y = Add(a, b)", "types float16 and float");
    refuses(17, "float16 a = {1.0}, bfloat16 b = {2.0}", "y = Add(a, b)",
            "types float16 and bfloat16");
}

TEST(sums_and_extremes_along_axes)
{
    static const char x[] = "float[2,3] x = {1, 2, 3, 4, 5, 6}";

    gives(7, x, "y = ReduceSum <axes = [1]> (x)", "float[2,1] y = {6, 15}");
    gives(7, x, "y = ReduceSum <axes = [-2], keepdims = 0> (x)", "float[3] y = {5, 7, 9}");
    gives(7, x, "y = ReduceMean <keepdims = 0> (x)", "float y = {3.5}");
    gives(7, x, "y = ReduceMax (x)", "float[1,1] y = {6}");
    gives(17, x, "y = ReduceMin <axes = [0]> (x)", "float[1,3] y = {1, 2, 3}");
    gives(17, x, "y = ReduceProd <axes = [1], keepdims = 0> (x)", "float[2] y = {6, 120}");
    gives(13, "float[2,3] x = {1, 2, 3, 4, 5, 6}, int64[1] a = {1}", "y = ReduceSum(x, a)",
          "float[2,1] y = {6, 15}");
    gives(18, "float[2,3] x = {1, 2, 3, 4, 5, 6}, int64[1] a = {1}",
          "y = ReduceMax <keepdims = 0> (x, a)", "float[2] y = {3, 6}");
    gives(13, "float[2] x = {1, 2}, int64[0] a = {}",
          "y = ReduceSum <noop_with_empty_axes = 1> (x, a)", "float[2] y = {1, 2}");
    gives(13, "float[2] x = {1, 2}, int64[0] a = {}", "y = ReduceSum(x, a)", "float[1] y = {3}");
    gives(13, "float[0] x = {}", "y = ReduceSum <keepdims = 0> (x)", "float y = {0}");
    gives(17, "int8[2] x = {100, 100}", "y = ReduceSum(x)", "int8[1] y = {-56}");
    gives(17, "int64[2,2,2] x = {1, 2, 3, 4, 5, 6, 7, 8}",
          "y = ReduceMax <axes = [0, 2], keepdims = 0> (x)", "int64[2] y = {6, 8}");
    gives(17, "float[3] x = {1, nan, 3}", "y = ReduceMax(x)", "float[1] y = {nan}");
    gives(17, "float x = {7}", "y = ReduceMax(x)", "float y = {7}");
    gives(17, "float[0] x = {}", "y = ReduceMax(x)", "float[1] y = {-inf}");
    refuses(17, "float[2] x = {1, 2}", "y = ReduceMax <axes = [1]> (x)",
            "axis 1 of a tensor of rank 1");
    refuses(17, "float[2] x = {1, 2}", "y = ReduceMax <axes = [0, -1]> (x)", "listed twice");
    refuses(17, "float[2] x = {1, 2}, int64[1] a = {0}", "y = ReduceMax(x, a)",
            "below opset 18 is an attribute");
    refuses(18, "float[2] x = {1, 2}, float[1] a = {0}", "y = ReduceMax(x, a)", "type float");
}
