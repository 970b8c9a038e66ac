/* eval_vs_ort.c - what the evaluator computes is what ONNX Runtime computes: exactly for integers
 * and for moved elements, to a few units in the last place for floats. */
#include <math.h>

#include "ir/edit.h"
#include "support/evals.h"

typedef struct one {
    /* units in the last place that floats may differ by */
    int opset, ulp;
    const char *inputs, *node;
} one;

static const one cases[] = {
#define R44 "float[1,1,4,4] x = {1, -2, 3, 4.5, 5, 6, 7, 8, -9, 10, 11, 12, 13, 14.5, 15, 16}"
#define F6  "float[2,3] x = {-1.5, 0.25, 3, 100.5, -0.75, 7}"
#define I6  "int64[2,3] x = {-1, 2, 3, 100, -7, 0}"
    /* arithmetic */
    {14, 0, F6 ", float[3] b = {0.1, 0.7, -3}", "y = Add(x, b)"},
    {14, 0, F6 ", float[2,1] b = {0.1, 0.7}", "y = Sub(x, b)"},
    {14, 0, F6 ", float b = {0.1}", "y = Mul(x, b)"},
    {14, 0, F6 ", float[3] b = {0.1, 0.7, -3}", "y = Div(x, b)"},
    {14, 0, "double[2] x = {1, 2}, double[2] b = {3, 7}", "y = Div(x, b)"},
    {14, 0, "int32[4] x = {7, -7, 7, -7}, int32[4] b = {2, 2, -2, -2}", "y = Div(x, b)"},
    {14, 0, "int64[4] x = {7, -7, 7, -7}, int64[4] b = {2, 2, -2, -2}", "y = Div(x, b)"},
    {14, 0, "uint8[2] x = {200, 100}, uint8[2] b = {100, 3}", "y = Add(x, b)"},
    {14, 0, "int32[2] x = {2147483647, 100}, int32[2] b = {2, 3}", "y = Mul(x, b)"},
    {13, 0, "int64[4] x = {7, -7, 7, -7}, int64[4] b = {3, 3, -3, -3}", "y = Mod(x, b)"},
    {13, 0, "int8[4] x = {7, -7, 7, -7}, int8[4] b = {3, 3, -3, -3}", "y = Mod <fmod = 1> (x, b)"},
    {13, 0, "float[4] x = {7.5, -7.5, 7.5, -7.5}, float[4] b = {3, 3, -3, -3}",
     "y = Mod <fmod = 1> (x, b)"},
    {13, 0, F6 ", float[3] b = {0.1, 0.7, -3}", "y = Max(x, b)"},
    {13, 0, F6 ", float[3] b = {0.1, 0.7, -3}, float[2,1] d = {5, -5}", "y = Min(x, b, d)"},
    {13, 0, "int8[3] x = {-4, 0, 9}, int8 b = {3}", "y = Max(x, b)"},
    {13, 0, F6 ", float[3] b = {0.1, 0.7, -3}, float[2,1] d = {5, -5}", "y = Sum(x, b, d)"},
    {13, 1, F6 ", float[3] b = {0.1, 0.7, -3}, float[2,1] d = {5, -5}", "y = Mean(x, b, d)"},
    {13, 1, "float[4] x = {0.1, 2, 3.5, 10}, float b = {2}", "y = Pow(x, b)"},
    {13, 2, "float[4] x = {0.1, 2, 3.5, 10}, float[4] b = {0.5, -1.5, 3, 0}", "y = Pow(x, b)"},
    {13, 0, "int32[4] x = {-3, 2, 3, 10}, int32[4] b = {3, 10, 0, 1}", "y = Pow(x, b)"},
    {13, 0, "int64[2] x = {-3, 2}, float b = {2}", "y = Pow(x, b)"},
    {13, 1, "float[2] x = {-3, 0.3}, int64 b = {-3}", "y = Pow(x, b)"},
    {13, 0, "float16[3] x = {1.0, 0.1, 2048.0}, float16[3] b = {0.1, 0.2, 1.0}", "y = Add(x, b)"},
    {11, 0, "uint8[3] x = {1, 128, 7}, uint8[3] b = {1, 2, 7}",
     "y = BitShift <direction = \"RIGHT\"> (x, b)"},
    {11, 0, "uint32[3] x = {1, 2147483648, 7}, uint32[3] b = {1, 2, 31}",
     "y = BitShift <direction = \"LEFT\"> (x, b)"},
    {18, 0, "int32[3] x = {12, -2, 7}, int32[3] b = {10, 255, 7}", "y = BitwiseAnd(x, b)"},
    {18, 0, "uint8[3] x = {12, 2, 7}, uint8[3] b = {10, 255, 7}", "y = BitwiseOr(x, b)"},
    {18, 0, "int64[3] x = {12, -2, 7}, int64[3] b = {10, 255, 7}", "y = BitwiseXor(x, b)"},
    {18, 0, "int16[3] x = {12, -2, 7}", "y = BitwiseNot(x)"},
    /* comparison, logic */
    {13, 0, F6 ", float b = {0.25}", "y = Equal(x, b)"},
    {13, 0, "bool[2] x = {1, 0}, bool[2,1] b = {1, 0}", "y = Equal(x, b)"},
    {13, 0, I6 ", int64 b = {2}", "y = Less(x, b)"},
    {13, 0, I6 ", int64 b = {2}", "y = Greater(x, b)"},
    {16, 0, F6 ", float b = {0.25}", "y = LessOrEqual(x, b)"},
    {16, 0, F6 ", float b = {0.25}", "y = GreaterOrEqual(x, b)"},
    {13, 0, "bool[2] x = {1, 0}, bool[2,1] b = {1, 0}", "y = And(x, b)"},
    {13, 0, "bool[2] x = {1, 0}, bool[2,1] b = {1, 0}", "y = Or(x, b)"},
    {13, 0, "bool[2] x = {1, 0}, bool[2,1] b = {1, 0}", "y = Xor(x, b)"},
    {13, 0, "bool[2] x = {1, 0}", "y = Not(x)"},
    {13, 0, "float[4] x = {nan, inf, -inf, 1}", "y = IsNaN(x)"},
    {10, 0, "float[4] x = {nan, inf, -inf, 1}", "y = IsInf(x)"},
    {10, 0, "float[4] x = {nan, inf, -inf, 1}", "y = IsInf <detect_negative = 0> (x)"},
    {16, 0, "bool[2,1] x = {1, 0}, float[3] b = {1, 2, 3}, float d = {9}", "y = Where(x, b, d)"},
    /* functions */
    {13, 0, F6, "y = Abs(x)"},
    {13, 0, "int8[3] x = {-128, -3, 4}", "y = Abs(x)"},
    {13, 0, F6, "y = Neg(x)"},
    {13, 0, F6, "y = Ceil(x)"},
    {13, 0, F6, "y = Floor(x)"},
    {11, 0, "float[5] x = {0.5, 1.5, 2.5, -0.5, -2.7}", "y = Round(x)"},
    {13, 0, F6, "y = Sign(x)"},
    {13, 0, F6, "y = Relu(x)"},
    {14, 0, "int32[3] x = {-3, 0, 4}", "y = Relu(x)"},
    {13, 0, "float[4] x = {0, 0.1, 2, 1e10}", "y = Sqrt(x)"},
    {13, 0, F6, "y = Reciprocal(x)"},
    {13, 2, "float[5] x = {-100, -1.5, 0, 0.3, 20}", "y = Exp(x)"},
    {13, 2, "float[4] x = {0.1, 1, 7, 1e10}", "y = Log(x)"},
    {13, 2, F6, "y = Sin(x)"},
    {13, 2, F6, "y = Cos(x)"},
    {13, 2, "float[3] x = {-0.5, 0.1, 0.9}", "y = Tan(x)"},
    {13, 2, "float[3] x = {-0.5, 0.1, 0.9}", "y = Asin(x)"},
    {13, 2, "float[3] x = {-0.5, 0.1, 0.9}", "y = Acos(x)"},
    {13, 2, F6, "y = Atan(x)"},
    {13, 2, "float[3] x = {-0.5, 0.1, 0.9}", "y = Sinh(x)"},
    {13, 2, "float[3] x = {-0.5, 0.1, 0.9}", "y = Cosh(x)"},
    {13, 2, F6, "y = Asinh(x)"},
    {13, 2, "float[3] x = {1, 1.5, 30}", "y = Acosh(x)"},
    {13, 2, "float[3] x = {-0.5, 0.1, 0.9}", "y = Atanh(x)"},
    {13, 4, "float[5] x = {-2, -0.5, 0, 0.1, 0.9}", "y = Erf(x)"},
    {13, 4, "float[5] x = {-8, -0.5, 0, 0.1, 3}", "y = Tanh(x)"},
    {13, 8, "float[5] x = {-2, -0.5, 0, 0.1, 3}", "y = Sigmoid(x)"},
    {13, 2, "float[5] x = {-8, -0.5, 0, 0.1, 3}", "y = Softplus(x)"},
    {13, 2, "float[5] x = {-8, -0.5, 0, 0.1, 3}", "y = Softsign(x)"},
    {13, 1, F6, "y = LeakyRelu <alpha = 0.3> (x)"},
    {13, 2, F6, "y = HardSigmoid <alpha = 0.3, beta = 0.4> (x)"},
    {14, 2, F6, "y = HardSwish(x)"},
    {13, 2, F6, "y = Elu <alpha = 0.3> (x)"},
    {13, 4, F6, "y = Selu(x)"},
    {13, 0, F6, "y = ThresholdedRelu <alpha = 0.5> (x)"},
    {12, 2, F6, "y = Celu <alpha = 0.3> (x)"},
    {9, 0, F6, "y = Shrink <lambd = 0.5, bias = 0.25> (x)"},
    {18, 4, F6, "y = Mish(x)"},
    {20, 8, "float[5] x = {-2, -0.5, 0, 0.1, 3}", "y = Gelu(x)"},
    {20, 16, "float[5] x = {-2, -0.5, 0, 0.1, 3}", "y = Gelu <approximate = \"tanh\"> (x)"},
    {16, 0, F6 ", float[3] b = {0.1, 0.7, -3}", "y = PRelu(x, b)"},
    {16, 0, F6 ", float[2,1] b = {0.1, 0.7}", "y = PRelu(x, b)"},
    {16, 0, F6 ", float b = {0.25}", "y = PRelu(x, b)"},
    {7, 0, F6, "y = Clip <min = -1.0, max = 5.0> (x)"},
    {13, 0, F6 ", float lo = {-1}, float hi = {5}", "y = Clip(x, lo, hi)"},
    {13, 0, F6 ", float lo = {5}, float hi = {-1}", "y = Clip(x, lo, hi)"},
    {13, 0, "int8[3] x = {-9, 0, 9}, int8 hi = {5}", "y = Clip(x, \"\", hi)"},
    /* casts */
    {13, 0, F6, "y = Cast <to = 7> (x)"},
    {13, 0, F6, "y = Cast <to = 9> (x)"},
    {13, 0, F6, "y = Cast <to = 10> (x)"},
    {13, 0, F6, "y = Cast <to = 16> (x)"},
    {13, 0, F6, "y = Cast <to = 11> (x)"},
    {13, 0, "float[3] x = {65519, 65520, 1e-8}", "y = Cast <to = 10> (x)"},
    {13, 0, "double[3] x = {0.1, 1e300, -3.7}", "y = Cast <to = 1> (x)"},
    {13, 0, "int64[4] x = {300, -1, 4294967297, 0}", "y = Cast <to = 2> (x)"},
    {13, 0, "int64[4] x = {300, -1, 4294967297, 0}", "y = Cast <to = 6> (x)"},
    {13, 0, "int64[4] x = {300, -1, 9007199254740993, 0}", "y = Cast <to = 1> (x)"},
    {13, 0, "uint64[2] x = {18446744073709551615, 7}", "y = Cast <to = 1> (x)"},
    {13, 0, "bool[2] x = {1, 0}", "y = Cast <to = 1> (x)"},
    {13, 0, "float16[3] x = {1.5, 0.1, -7.0}", "y = Cast <to = 1> (x)"},
    {13, 0, "float16[3] x = {1.5, 0.1, -7.0}", "y = Cast <to = 6> (x)"},
    {19, 0, "float[6] x = {1, 0.3, -1000, 1e-3, 449, 0.001953125}", "y = Cast <to = 17> (x)"},
    {19, 0, "float[6] x = {1, 0.3, -1000, 1e-3, 1e6, 3}", "y = Cast <to = 19> (x)"},
    {19, 0, "float[6] x = {1, 0.3, -1000, 1e-3, 249, 3}", "y = Cast <to = 18> (x)"},
    {21, 0, "int4[3] x = {-8, 7, 1}", "y = Cast <to = 1> (x)"},
    {21, 0, "float[3] x = {-8, 7, 1}", "y = Cast <to = 22> (x)"},
    {21, 0, "int32[3] x = {15, 7, 1}", "y = Cast <to = 21> (x)"},
    {15, 0, F6 ", int32 t = {1}", "y = CastLike(x, t)"},
    /* shapes */
    {15, 0, I6, "y = Shape <start = -1> (x)"},
    {13, 0, I6, "y = Size(x)"},
    {14, 0, I6 ", int64[3] s = {0, 1, -1}", "y = Reshape(x, s)"},
    {13, 0, I6, "y = Flatten <axis = 0> (x)"},
    {13, 0, "float[1,2,1] x = {1, 2}", "y = Squeeze(x)"},
    {11, 0, "float[1,2,1] x = {1, 2}", "y = Squeeze <axes = [-1]> (x)"},
    {13, 0, "float[2] x = {1, 2}, int64[2] a = {-1, 0}", "y = Unsqueeze(x, a)"},
    {13, 0, I6, "y = Identity(x)"},
    /* moved elements */
    {13, 0, "float[2,3,2] x = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}",
     "y = Transpose <perm = [2, 0, 1]> (x)"},
    {13, 0, I6 ", int64[2,1] b = {8, 9}", "y = Concat <axis = 1> (x, b)"},
    {10, 0,
     I6
     ", int64[2] s = {-1, 5}, int64[2] e = {-9, -9}, int64[2] a = {0, -1}, int64[2] t = {-1, -2}",
     "y = Slice(x, s, e, a, t)"},
    {9, 0, F6, "y = Slice <starts = [-2, 1], ends = [9, 2]> (x)"},
    {13, 0, I6 ", int64[2,1] i = {-1, 0}", "y = Gather <axis = 1> (x, i)"},
    {13, 0, I6 ", int64[1,3] i = {-1, 0, 1}", "y = GatherElements(x, i)"},
    {13, 0, I6 ", int64[2,2] i = {2, 0, -1, 1}", "y = GatherElements <axis = 1> (x, i)"},
    {13, 0, I6 ", int64[2,2] i = {0, 1, 1, -1}", "y = GatherND(x, i)"},
    {13, 0, I6 ", int64[2,1] i = {0, 2}", "y = GatherND <batch_dims = 1> (x, i)"},
    {13, 0, I6 ", int64[1,1,1] i = {-1}", "y = GatherND(x, i)"},
    {13, 0, I6 ", int64[1,2] i = {1, 0}, int64[1,2] u = {50, 60}", "y = ScatterElements(x, i, u)"},
    {18, 0, I6 ", int64[2,2] i = {2, 2, -1, 0}, int64[2,2] u = {50, 60, 70, 80}",
     "y = ScatterElements <axis = 1, reduction = \"add\"> (x, i, u)"},
    {18, 0, F6 ", int64[2,2] i = {2, 2, -1, 0}, float[2,2] u = {50, 60, 70, 80}",
     "y = ScatterElements <axis = 1, reduction = \"max\"> (x, i, u)"},
    {13, 0, I6 ", int64[1,1] i = {-1}, int64[1,3] u = {50, 60, 70}", "y = ScatterND(x, i, u)"},
    {18, 0, F6 ", int64[2,2] i = {0, 1, 0, 1}, float[2] u = {50, 60}",
     "y = ScatterND <reduction = \"add\"> (x, i, u)"},
    {13, 0, F6 ", int64[3] s = {2, 1, 3}", "y = Expand(x, s)"},
    {13, 0, F6 ", int64[2] r = {2, 3}", "y = Tile(x, r)"},
    {13, 0, F6 ", int64[4] p = {1, 0, 0, 2}, float v = {9}", "y = Pad(x, p, v)"},
    {13, 0, I6 ", int64[4] p = {-1, 0, 1, -2}", "y = Pad(x, p)"},
    {13, 0, F6 ", int64[4] p = {1, 2, 1, 1}", "y = Pad <mode = \"reflect\"> (x, p)"},
    {13, 0, F6 ", int64[4] p = {1, 0, 3, 2}", "y = Pad <mode = \"edge\"> (x, p)"},
    {19, 0, F6 ", int64[4] p = {1, 2, 1, 2}", "y = Pad <mode = \"wrap\"> (x, p)"},
    {18, 0, F6 ", int64[2] p = {1, 2}, int64[1] a = {-1}", "y = Pad(x, p, \"\", a)"},
    {10, 0, F6, "y = Pad <pads = [1, 0, 0, 2], value = 3.0> (x)"},
    {13, 0, "float[6,2] x = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}", "y, z = Split(x)"},
    {13, 0, I6 ", int64[2] s = {1, 2}", "y, z = Split <axis = 1> (x, s)"},
    {18, 0, "int64[5] x = {1, 2, 3, 4, 5}", "y, z, w = Split <num_outputs = 3> (x)"},
    {7, 0, F6, "y, z = Split <axis = 1, split = [1, 2]> (x)"},
    {14, 0, "float[3,3] x = {1, 2, 3, 4, 5, 6, 7, 8, 9}, int64 k = {1}", "y = Trilu(x, k)"},
    {14, 0, "int64[3,3] x = {1, 2, 3, 4, 5, 6, 7, 8, 9}, int64 k = {-1}",
     "y = Trilu <upper = 0> (x, k)"},
    {14, 0, "float[2,3,2] x = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}",
     "y = Trilu <upper = 0> (x)"},
    {13, 0, "float[1,8,1,2] x = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}",
     "y = DepthToSpace <blocksize = 2> (x)"},
    {13, 0, "float[1,8,1,2] x = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}",
     "y = DepthToSpace <blocksize = 2, mode = \"CRD\"> (x)"},
    {13, 0, "float[1,2,2,4] x = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}",
     "y = SpaceToDepth <blocksize = 2> (x)"},
    /* made arrays */
    {13, 0, "int64[2] x = {2, 3}", "y = ConstantOfShape <value = int32[1] {7}> (x)"},
    {13, 0, "", "y = Constant <value_floats = [1.5, 2.5]> ()"},
    {11, 0, "int64 a = {10}, int64 b = {-3}, int64 d = {-4}", "y = Range(a, b, d)"},
    {11, 1, "float a = {0.1}, float b = {1}, float d = {0.3}", "y = Range(a, b, d)"},
    {13, 0, "float[2,3] x = {1, 2, 3, 4, 5, 6}", "y = EyeLike <k = 1, dtype = 7> (x)"},
    {13, 0, "int64[3] x = {-1, 0, 9}, int64 d = {3}, float[2] v = {2, 5}", "y = OneHot(x, d, v)"},
    {13, 0, "int64[2,2] x = {-1, 0, 1, 2}, int64 d = {3}, int64[2] v = {2, 5}",
     "y = OneHot <axis = 1> (x, d, v)"},
    {13, 0, "float[2,3] x = {0, 2, 3, -0.0, 0, 6}", "y = NonZero(x)"},
    {13, 0, "bool[4] x = {0, 1, 0, 1}", "y = NonZero(x)"},
    /* along axes */
    {13, 1, F6 ", int64[1] a = {1}", "y = ReduceSum(x, a)"},
    {13, 1, F6, "y = ReduceMean <axes = [0], keepdims = 0> (x)"},
    {13, 0, "int32[2,2] x = {-1, -2, 4, 5}", "y = ReduceMean <axes = [1]> (x)"},
    {13, 0, F6, "y = ReduceMax <axes = [1]> (x)"},
    {18, 0, F6 ", int64[1] a = {-2}", "y = ReduceMin <keepdims = 0> (x, a)"},
    {13, 1, F6, "y = ReduceProd(x)"},
    {13, 1, F6, "y = ReduceL1 <axes = [1]> (x)"},
    {13, 1, F6, "y = ReduceL2 <axes = [1]> (x)"},
    {13, 1, F6, "y = ReduceSumSquare <axes = [1]> (x)"},
    {13, 2, "float[3] x = {1, 2, 3.5}", "y = ReduceLogSum(x)"},
    {13, 2, "float[2,3] x = {1, 200, 3.5, -1, 0, 5}", "y = ReduceLogSumExp <axes = [1]> (x)"},
    {18, 2, F6 ", int64[1] a = {0}", "y = ReduceLogSumExp <keepdims = 0> (x, a)"},
    {20, 0, "bool[2,2] x = {1, 0, 1, 1}, int64[1] a = {1}", "y = ReduceMax(x, a)"},
    {20, 0, "bool[2,2] x = {1, 0, 1, 1}, int64[1] a = {1}", "y = ReduceMin(x, a)"},
    {13, 0, I6, "y = ReduceSum(x)"},
    {13, 0, "int64[2,2,2] x = {1, 2, 3, 4, 5, 6, 7, 8}",
     "y = ReduceMax <axes = [0, 2], keepdims = 0> (x)"},
    {13, 0, "float[2,4] x = {1, 5, 5, 2, 7, 3, 7, 1}", "y = ArgMax <axis = 1> (x)"},
    {13, 0, "float[2,4] x = {1, 5, 5, 2, 7, 3, 7, 1}",
     "y = ArgMax <axis = 1, select_last_index = 1> (x)"},
    {13, 0, "float[2,4] x = {1, 5, 5, 2, 7, 3, 7, 1}", "y = ArgMin <axis = 0, keepdims = 0> (x)"},
    {13, 0, "int32[2,4] x = {1, 5, 5, 2, 7, 3, 7, 1}", "y = ArgMin <axis = -1> (x)"},
    {11, 0, "float[2,4] x = {1, 5, 5, 2, 7, 3, 7, 1}, int64[1] k = {3}", "y, i = TopK(x, k)"},
    {11, 0, "float[4,2] x = {1, 5, -5, 2, 7, 3, 7, 1}, int64[1] k = {2}",
     "y, i = TopK <axis = 0, largest = 0> (x, k)"},
    {11, 0, "int64[4] x = {1, 5, -5, 2}, int64[1] k = {2}", "y, i = TopK(x, k)"},
    {11, 0, F6 ", int64 a = {1}", "y = CumSum(x, a)"},
    {11, 0, F6 ", int64 a = {0}", "y = CumSum <reverse = 1, exclusive = 1> (x, a)"},
    {11, 0, I6 ", int64 a = {-1}", "y = CumSum <exclusive = 1> (x, a)"},
    {13, 16, "float[2,3] x = {1, 2, 3, -1, 0, 5}", "y = Softmax(x)"},
    {11, 16, "float[2,3,2] x = {1, 2, 3, -1, 0, 5, 1, 2, 3, 4, 5, 6}", "y = Softmax(x)"},
    {13, 16, "float[2,3,2] x = {1, 2, 3, -1, 0, 5, 1, 2, 3, 4, 5, 6}",
     "y = Softmax <axis = 1> (x)"},
    {13, 64, "float[2,3] x = {1, 2, 3, -1, 0, 5}", "y = LogSoftmax(x)"},
    /* matrices */
    {13, 1, F6 ", float[3,2] b = {1, 2, 3, 4, 5, 6}", "y = MatMul(x, b)"},
    {13, 1, F6 ", float[3] b = {1, 2, 3}", "y = MatMul(x, b)"},
    {13, 1, F6 ", float[2] b = {1, 2}", "y = MatMul(b, x)"},
    {13, 1, "float[3] a = {1, 2, 3}, float[3] b = {4, 5, 6.5}", "y = MatMul(a, b)"},
    {13, 1, "float[2,1,1,2] a = {1, 2, 3, 4}, float[2,2,2] b = {1, 2, 3, 4, 5, 6, 7, 8}",
     "y = MatMul(a, b)"},
    {13, 0, "int64[1,2] a = {1, 2}, int64[2,2] b = {1, 2, 3, 4}", "y = MatMul(a, b)"},
    {13, 1, F6 ", float[3,2] b = {1, 2, 3, 4, 5, 6}, float[2] d = {0.5, 1}",
     "y = Gemm <alpha = 0.5, beta = 2.0> (x, b, d)"},
    {13, 1, F6 ", float[2,2] b = {1, 2, 3, 4}, float[3,1] d = {0.5, 1, 2}",
     "y = Gemm <transA = 1, transB = 1> (x, b, d)"},
    {13, 1, F6 ", float[2,3] b = {1, 2, 3, 4, 5, 6}", "y = Gemm <transB = 1> (x, b)"},
#define X34                                                                                        \
    "float[1,2,3,4] x = {1, -2, 3, 4, 5, 6.5, 7, 8, -9, 10, 11, 12, 1, 2, 3, -4, 5, 6, 7, 0.25, "  \
    "9, 10, 11, "                                                                                  \
    "12}"
#define W2122 ", float[2,1,2,2] w = {1, 2, 3, 4, -5, 6, 7, 8}"
    {11, 1, X34 ", float[2,2,2,2] w = {1, 2, 3, 4, -5, 6, 7, 8, 9, 1, 2, 3, 4, 5, 6, 7}",
     "y = Conv(x, w)"},
    {11, 1, X34 W2122 ", float[2] b = {0.5, -1}",
     "y = Conv <group = 2, pads = [1, 0, 0, 2], strides = [2, 1], kernel_shape = [2, 2]> (x, w, "
     "b)"},
    {11, 1, X34 ", float[1,2,2,1] w = {1, 2, 3, 4}",
     "y = Conv <dilations = [2, 1], auto_pad = \"VALID\"> (x, w)"},
    {11, 1, "float[2,1,4] x = {1, 2, 3, 4, 5, 6, 7, 8}, float[1,1,3] w = {1, 0.5, -1}",
     "y = Conv <pads = [1, 1]> (x, w)"},
    {11, 1, "float[1,1,2,2,2] x = {1, 2, 3, 4, 5, 6, 7, 8}, float[1,1,1,2,2] w = {1, 0.5, -1, 2}",
     "y = Conv(x, w)"},
    {11, 1, X34 ", float[1,2,2,3] w = {1, 2, 3, 4, -5, 6, 7, 8, 9, 1, 2, 3}",
     "y = Conv <auto_pad = \"SAME_UPPER\", strides = [2, 1]> (x, w)"},
    {11, 1, X34 ", float[1,2,2,2] w = {1, 2, 3, 4, -5, 6, 7, 8}",
     "y = Conv <auto_pad = \"SAME_LOWER\"> (x, w)"},
    {11, 1, X34 ", float[1,2,1,1] w = {1, 2}",
     "y = Conv <auto_pad = \"SAME_UPPER\", strides = [3, 3]> (x, w)"},
    {11, 2, X34 W2122, "y = ConvTranspose(x, w)"},
    {11, 2, X34 W2122, "y = ConvTranspose <strides = [2, 3]> (x, w)"},
    {11, 2, X34 W2122, "y = ConvTranspose <pads = [1, 0, 0, 1]> (x, w)"},
    {11, 2, X34 W2122,
     "y = ConvTranspose <strides = [2, 2], output_padding = [1, 0], pads = [0, 1, 1, 0]> (x, w)"},
    {11, 2, X34 W2122, "y = ConvTranspose <dilations = [2, 3]> (x, w)"},
    {11, 2, X34 W2122, "y = ConvTranspose <auto_pad = \"SAME_UPPER\", strides = [1, 2]> (x, w)"},
    {11, 2, X34 W2122, "y = ConvTranspose <auto_pad = \"SAME_LOWER\"> (x, w)"},
    {11, 2, X34 W2122, "y = ConvTranspose <auto_pad = \"VALID\"> (x, w)"},
    {11, 2, X34 W2122, "y = ConvTranspose <output_shape = [3, 4]> (x, w)"},
    {11, 2, X34 W2122,
     "y = ConvTranspose <output_shape = [3, 4], auto_pad = \"SAME_UPPER\"> (x, w)"},
    {11, 2, X34 ", float[2,2,1,2] w = {1, 2, 3, 4, -5, 6, 7, 8}, float[4] b = {1, 2, 3, 4}",
     "y = ConvTranspose <group = 2, kernel_shape = [1, 2]> (x, w, b)"},
    {11, 2, "float[2,1,3] x = {1, 2, 3, 4, 5, 6}, float[1,2,2] w = {1, 2, 3, 4}",
     "y = ConvTranspose <strides = [3]> (x, w)"},
    /* resizes */
    {19, 2048, R44 ", float[4] s = {1.0, 1.0, 2.3, 0.8}",
     "y = Resize <mode = \"linear\", coordinate_transformation_mode = \"half_pixel_symmetric\"> "
     "(x, \"\", "
     "s)"},
    {19, 2048, R44 ", float[4] s = {1.0, 1.0, 2.0, 0.6}",
     "y = Resize <mode = \"cubic\", cubic_coeff_a = -0.5, exclude_outside = 1> (x, \"\", s)"},
    {19, 2048, R44 ", int64[2] s = {6, 9}",
     "y = Resize <mode = \"linear\", axes = [3, 2], keep_aspect_ratio_policy = \"not_larger\"> (x, "
     "\"\", "
     "\"\", s)"},
    {19, 2048, R44 ", int64[2] s = {6, 9}",
     "y = Resize <mode = \"linear\", axes = [2, 3], keep_aspect_ratio_policy = \"not_smaller\"> "
     "(x, \"\", "
     "\"\", s)"},
    {13, 2048,
     R44 ", int64[4] s = {1, 1, 3, 5}, float[8] r = {0.0, 0.0, 0.4, 0.6, 1.0, 1.0, 1.2, 1.7}",
     "y = Resize <mode = \"linear\", coordinate_transformation_mode = \"tf_crop_and_resize\", "
     "extrapolation_value = 7.5> (x, r, \"\", s)"},
    {9, 0, R44 ", float[4] s = {1.0, 1.0, 2.0, 1.5}", "y = Upsample(x, s)"},
    {9, 64, R44 ", float[4] s = {1.0, 1.0, 2.0, 1.5}", "y = Upsample <mode = \"linear\"> (x, s)"},
/* layers with states */
#define X321 "float[3,2,1] x = {0.5, -1, 2, 0.25, -0.75, 1}"
#define STATE(d, gates, w, r)                                                                      \
    X321 ", float[" #d "," #gates ",1] w = {" w "}, float[" #d "," #gates ",1] r = {" r "}"
#define LENGTHS ", int32[2] n = {3, 2}, float[2,2,1] h = {0.5, -0.5, 1, 0}"
    {14, 64, STATE(2, 1, "0.5, -1", "0.25, 2") LENGTHS,
     "y, a = RNN <direction = \"bidirectional\", hidden_size = 1, activations = [\"Relu\", "
     "\"Sigmoid\"]> (x, w, r, \"\", n, h)"},
    {14, 64, STATE(2, 3, "0.5, -1, 2, 1, 0.3, -2", "1, 0.5, -2, 0.2, -0.1, 1") LENGTHS,
     "y, a = GRU <direction = \"bidirectional\", hidden_size = 1> (x, w, r, \"\", n, h)"},
    {14, 64, STATE(1, 3, "0.5, -1, 2", "1, 0.5, -2") ", float[1,6] b = {1, 2, 3, 4, -5, 0.5}",
     "y, a = GRU <direction = \"reverse\", hidden_size = 1, linear_before_reset = 1> (x, w, r, b)"},
    {14, 64,
     STATE(2, 4, "0.5, -1, 2, 1, 0.3, -2, 1, 1", "1, 0.5, -2, 0.2, -0.1, 1, 0.4, -1") LENGTHS
     ", float[2,3] p = {1, 0.5, -1, 0.3, 2, -2}",
     "y, a, b = LSTM <direction = \"bidirectional\", hidden_size = 1> (x, w, r, \"\", n, h, h, p)"},
/* places in images */
#define GRID ", float[1,2,3,2] g = {-1.7, 0.4, 0.3, -0.2, 1.6, 0.9, -0.5, -2.9, 0.15, 3.1, 0, 0}"
    {16, 2048, R44 GRID,
     "y = GridSample <mode = \"bicubic\", padding_mode = \"reflection\"> (x, g)"},
    {20, 2048, R44 GRID, "y = GridSample <mode = \"cubic\", padding_mode = \"border\"> (x, g)"},
    {20, 2048, R44 GRID,
     "y = GridSample <padding_mode = \"reflection\", align_corners = 1> (x, g)"},
    {20, 0, R44 GRID, "y = GridSample <mode = \"nearest\", padding_mode = \"reflection\"> (x, g)"},
    {16, 64, R44 ", float[2,4] b = {0, 0.3, 2.2, 3.1, 1.1, 1.2, 7.3, 9.4}, int64[2] i = {0, 0}",
     "y = RoiAlign <output_height = 2, output_width = 3> (x, b, i)"},
    {10, 64, R44 ", float[1,4] b = {0, 0.3, 2.2, 3.1}, int64[1] i = {0}",
     "y = RoiAlign <mode = \"max\", output_width = 2, spatial_scale = 0.5> (x, b, i)"},
    {11, 0, "float[1,2,2] x = {1, 2, 3, 4}, int64[1,2,2] i = {0, 3, 5, 7}, int64[3] s = {1, 2, 4}",
     "y = MaxUnpool <kernel_shape = [2], strides = [2]> (x, i, s)"},
    {11, 0, "float[2,3] x = {2, 1, 2, 3, 0, 3}", "y, i, n, k = Unique <axis = 1> (x)"},
    /* picked elements */
    {11, 0, F6 ", bool[2] k = {0, 1}", "y = Compress(x, k)"},
    {11, 0, F6 ", bool[2] k = {0, 1}", "y = Compress <axis = 0> (x, k)"},
    {11, 0, I6 ", bool[2] k = {0, 1}", "y = Compress <axis = -1> (x, k)"},
    {11, 0, F6 ", bool[6] k = {0, 1, 0, 0, 1, 1}", "y = Compress(x, k)"},
    {10, 0, F6 ", int64[3] n = {0, 1, 2}", "y = ReverseSequence(x, n)"},
    {10, 0, F6 ", int64[2] n = {3, 2}",
     "y = ReverseSequence <time_axis = 1, batch_axis = 0> (x, n)"},
    {10, 0, "int64[2,2,2] x = {1, 2, 3, 4, 5, 6, 7, 8}, int64[2] n = {2, 1}",
     "y = ReverseSequence(x, n)"},
    {11, 8, "float[2,2] x = {1, 2, 3, 5}", "y = Det(x)"},
    {11, 8, "float[2,3,3] x = {0, 1, 2, 3, 4, 6, 6, 7, 8, 2, 0, 0, 1, 3, 0, 9, 9, 4}",
     "y = Det(x)"},
    /* pools */
    {12, 0, X34, "y = MaxPool <kernel_shape = [2, 2]> (x)"},
    {12, 0, X34,
     "y, i = MaxPool <kernel_shape = [2, 3], pads = [1, 0, 1, 2], strides = [2, 2]> (x)"},
    {12, 0, X34, "y, i = MaxPool <kernel_shape = [2, 2], storage_order = 1> (x)"},
    {12, 0, X34, "y = MaxPool <kernel_shape = [2, 2], dilations = [2, 1]> (x)"},
    {12, 0, X34, "y = MaxPool <kernel_shape = [2, 3], strides = [2, 2], ceil_mode = 1> (x)"},
    {12, 0, X34, "y = MaxPool <kernel_shape = [2, 2], auto_pad = \"SAME_UPPER\"> (x)"},
    {12, 0, X34,
     "y = MaxPool <kernel_shape = [2, 2], auto_pad = \"SAME_LOWER\", strides = [2, 1]> (x)"},
    {12, 0, "int8[1,1,4] x = {-7, 3, -128, 2}", "y = MaxPool <kernel_shape = [2]> (x)"},
    {12, 0, "uint8[1,1,1,2,2] x = {7, 3, 128, 2}", "y = MaxPool <kernel_shape = [1, 2, 1]> (x)"},
    {12, 0, "double[1,1,4] x = {-7, 3, -128, 2}", "y = MaxPool <kernel_shape = [3]> (x)"},
    {11, 1, X34, "y = AveragePool <kernel_shape = [2, 2]> (x)"},
    {11, 1, X34,
     "y = AveragePool <kernel_shape = [2, 3], pads = [1, 0, 1, 2], strides = [2, 2]> (x)"},
    {11, 1, X34,
     "y = AveragePool <kernel_shape = [2, 3], pads = [1, 0, 1, 2], count_include_pad = 1> (x)"},
    {11, 1, X34, "y = AveragePool <kernel_shape = [2, 3], strides = [2, 2], ceil_mode = 1> (x)"},
    {11, 1, X34, "y = AveragePool <kernel_shape = [2, 2], auto_pad = \"SAME_LOWER\"> (x)"},
    {19, 1, X34, "y = AveragePool <kernel_shape = [2, 2], dilations = [2, 3]> (x)"},
    {11, 4, X34, "y = LpPool <kernel_shape = [2, 2]> (x)"},
    {11, 4, X34,
     "y = LpPool <kernel_shape = [2, 2], p = 3, strides = [1, 2], pads = [0, 1, 1, 0]> (x)"},
    {18, 4, X34, "y = LpPool <kernel_shape = [2, 2], p = 1, dilations = [2, 1]> (x)"},
    {11, 1, X34, "y = GlobalAveragePool(x)"},
    {11, 0, X34, "y = GlobalMaxPool(x)"},
    {11, 4, X34, "y = GlobalLpPool(x)"},
    {11, 4, X34, "y = GlobalLpPool <p = 3> (x)"},
/* normalizations */
#define C2(name, a, b) ", float[2] " name " = {" #a ", " #b "}"
    {9, 32, X34 C2("s", 2, -1) C2("b", 0.5, 3) C2("m", 1, 2) C2("v", 0.25, 4),
     "y = BatchNormalization(x, s, b, m, v)"},
    {15, 32, X34 C2("s", 2, -1) C2("b", 0.5, 3) C2("m", 1, 2) C2("v", 0.25, 4),
     "y = BatchNormalization <epsilon = 0.01> (x, s, b, m, v)"},
    {9, 32, X34 C2("s", 2, -1) C2("b", 0.5, 3), "y = InstanceNormalization(x, s, b)"},
    {17, 32, F6 ", float[3] s = {1, 2, -3}, float[3] b = {0.5, 1, 2}",
     "y, m, d = LayerNormalization(x, s, b)"},
    {17, 32, F6 ", float[2,3] s = {1, 2, -3, 4, 5, 6}",
     "y = LayerNormalization <axis = 0, epsilon = 0.1> (x, s)"},
    {21, 32, X34 C2("s", 2, -1) C2("b", 0.5, 3),
     "y = GroupNormalization <num_groups = 1> (x, s, b)"},
    {21, 32, X34 C2("s", 2, -1) C2("b", 0.5, 3),
     "y = GroupNormalization <num_groups = 2> (x, s, b)"},
    {18, 32, X34 ", float[1] s = {2}, float[1] b = {0.5}",
     "y = GroupNormalization <num_groups = 1> (x, s, b)"},
    {23, 32, F6 ", float[3] s = {1, 2, -3}", "y = RMSNormalization(x, s)"},
    {13, 32, X34, "y = LRN <size = 1> (x)"},
    {13, 32, X34, "y = LRN <size = 3, alpha = 0.5, beta = 0.5, bias = 2.0> (x)"},
    {13, 32, "float[1,4,1,2] x = {1, 2, 3, 4, 5, 6, 7, 8}", "y = LRN <size = 3, alpha = 0.1> (x)"},
    {13, 4, F6, "y = LpNormalization(x)"},
    {13, 4, F6, "y = LpNormalization <axis = 0, p = 1> (x)"},
    {13, 0, F6, "y = Hardmax(x)"},
    {13, 0, F6, "y = Hardmax <axis = 0> (x)"},
    {11, 0, "float[2,2,2] x = {1, 2, 3, 4, 32, 7, 32, 5}", "y = Hardmax(x)"},
    {12, 0, F6, "y = Einsum <equation = \"ij->ji\"> (x)"},
    {12, 1, F6, "y = Einsum <equation = \"ij->i\"> (x)"},
    {12, 1, F6, "y = Einsum <equation = \"ij->\"> (x)"},
    {12, 0, F6, "y = Einsum <equation = \"ba\"> (x)"},
    {12, 1, F6 ", float[3,2] b = {1, 2, 3, 4, 5, 6}",
     "y = Einsum <equation = \" ij , jk \"> (x, b)"},
    {12, 1, "float[3] a = {1, 2, 3}, float[3] b = {4, 5, 6.5}",
     "y = Einsum <equation = \"i,i\"> (a, b)"},
    {12, 1, "float[3] a = {1, 2, 3}, float[2] b = {4, 5}",
     "y = Einsum <equation = \"i,j\"> (a, b)"},
    {12, 1, "float[2,1,2] a = {1, 2, 3, 4}, float[2,2,2] b = {1, 2, 3, 4, 5, 6, 7, 8}",
     "y = Einsum <equation = \"bij, bjk -> bik\"> (a, b)"},
    {12, 0, "float[2,2,2] a = {1, 2, 3, 4, 5, 6, 7, 8}",
     "y = Einsum <equation = \"...ii->...i\"> (a)"},
    {12, 1, "float[2,1,2] a = {1, 2, 3, 4}, float[1,2,2] b = {1, 2, 3, 4}",
     "y = Einsum <equation = \"...ij,...jk->...ik\"> (a, b)"},
    {12, 1, F6 ", float[3,2] b = {1, 2, 3, 4, 5, 6}, float[2] d = {0.5, -1}",
     "y = Einsum <equation = \"ij,jk,k->i\"> (x, b, d)"},
    {12, 0, "int64[2,2] a = {1, 2, 3, 4}, int64[2,2] b = {5, 6, 7, 8}",
     "y = Einsum <equation = \"ij,jk->ik\"> (a, b)"},
};

/* --- comparing -------------------------------------------------------------------------------- */

typedef struct run {
    const one *c;
    const qdq_node *node;
    const qdq_const *ours;
} run;

/* Floats as integers in their order: neighbours differ by one. */
static int64_t ordinal(const qdq_const *x, const void *data, int64_t i)
{
    double d;
    int64_t bits;

    if (x->elem == QDQ_FLOAT) {
        int32_t small;

        memcpy(&small, (const char *)data + i * 4, 4);
        return small < 0 ? -(int64_t)(small & INT32_MAX) : small;
    }
    memcpy(&d, (const char *)data + i * 8, 8);
    memcpy(&bits, &d, 8);
    return bits < 0 ? -(bits & INT64_MAX) : bits;
}

static void assert_close(const run *r, const char *name, const qdq_const *ours, const void *theirs)
{
    bool is_float = ours->elem == QDQ_FLOAT || ours->elem == QDQ_DOUBLE;

    if (!is_float && memcmp(ours->data, theirs, ours->bytes) != 0) {
        for (size_t i = 0; i < ours->bytes; i++)
            if (((const unsigned char *)ours->data)[i] != ((const unsigned char *)theirs)[i])
                fail_msg("%s: '%s' differs at byte %zu: %d, expected %d", r->c->node, name, i,
                         ((const unsigned char *)ours->data)[i],
                         ((const unsigned char *)theirs)[i]);
    }
    for (int64_t i = 0; is_float && i < ours->count; i++) {
        int64_t far = ordinal(ours, ours->data, i) - ordinal(ours, theirs, i);

        if (far > r->c->ulp || far < -r->c->ulp)
            fail_msg("%s: '%s' is off by %lld at %lld: %.9g, expected %.9g", r->c->node, name,
                     (long long)far, (long long)i,
                     (double)qdq_elem_float(ours->elem, ours->data, i),
                     (double)qdq_elem_float(ours->elem, theirs, i));
    }
}

static qdq_status look(void *ctx, const char *name, const qdq_array *a, qdq_error *err)
{
    const run *r = ctx;
    uint32_t i = 0;

    (void)err;
    while (strcmp(r->node->out[i]->name, name) != 0)
        i++;
    const qdq_const *ours = &r->ours[i];
    if (ours->elem != a->elem || ours->rank != a->rank ||
        (a->rank > 0 && memcmp(ours->dim, a->dim, (size_t)a->rank * sizeof *a->dim) != 0))
        fail_msg("%s: '%s' has another type or shape: %s, expected %s", r->c->node, name,
                 qdq_elem_name(ours->elem), qdq_elem_name(a->elem));
    assert_close(r, name, ours, a->data);
    return QDQ_OK;
}

/* The results of our run become the declared types of the model's outputs. */
static void declare_outputs(qdq_model *m, const qdq_node *n, const qdq_const *ours)
{
    for (uint32_t i = 0; i < n->n_out; i++) {
        qdq_value_set_type(n->out[i], qdq_type_fixed(m, ours[i].elem, ours[i].rank, ours[i].dim));
        assert_true(qdq_graph_add_output(m->graph, n->out[i]));
    }
}

static void compare(qdq_engine *e, const one *c)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_session_opts opts = QDQ_SESSION_OPTS_INIT;
    qdq_arena memory = QDQ_ARENA_INIT;
    qdq_const ours[QDQ_EVAL_OUTPUTS];
    qdq_session *s = NULL;
    const char *why;
    char text[2000];

    snprintf(text, sizeof text,
             "<ir_version: 10, opset_import: [\"\" : %d]>\ng () => () <%s> { %s }", c->opset,
             c->inputs, c->node);
    qdq_model *m = test_model(text);
    const qdq_node *n = qdq_live_from(m->graph, m->graph->end.next);
    assert_ok(test_eval_model(m, 1 << 20, &memory, ours, &why, &err));
    if (why != NULL)
        fail_msg("%s: %s", c->node, why);
    declare_outputs(m, n, ours);
    opts.level = QDQ_LEVEL_NONE;
    if (qdq_session_open(e, m, &opts, &s, &err) != QDQ_OK)
        fail_msg("%s: %s", c->node, err.text);
    assert_ok(qdq_session_run(s, NULL, 0, look, &(run){c, n, ours}, &err));
    qdq_session_close(s);
    qdq_arena_free(&memory);
    qdq_model_free(m);
}

static void resize(qdq_engine *e, int ulp, const char *sizes, const char *inputs,
                   const char *attributes)
{
    char node[300];

    snprintf(node, sizeof node, "y = Resize <%s> (x, \"\", %s)", attributes, inputs);
    compare(e, &(one){13, ulp, sizes, node});
}

TEST(resizes_of_every_mode_give_what_the_engine_gives)
{
    static const char *const modes[] = {"nearest", "linear", "cubic"};
    static const char *const places[] = {"half_pixel", "pytorch_half_pixel", "align_corners",
                                         "asymmetric"};
    static const char *const roundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor",
                                            "ceil"};
    qdq_engine *e = need_ort();
    char attributes[200];

    for (size_t i = 0; i < QDQ_COUNT(modes) * QDQ_COUNT(places); i++) {
        snprintf(attributes, sizeof attributes,
                 "mode = \"%s\", coordinate_transformation_mode = \"%s\"",
                 modes[i % QDQ_COUNT(modes)], places[i / QDQ_COUNT(modes)]);
        resize(e, 2048, R44 ", float[4] s = {1.0, 1.0, 1.5, 2.0}", "s", attributes);
        resize(e, 2048, R44 ", int64[4] s = {1, 1, 3, 6}", "\"\", s", attributes);
    }
    for (size_t i = 0; i < QDQ_COUNT(roundings); i++) {
        snprintf(attributes, sizeof attributes,
                 "coordinate_transformation_mode = \"asymmetric\", nearest_mode = \"%s\"",
                 roundings[i]);
        resize(e, 0, R44 ", float[4] s = {1.0, 1.0, 2.0, 0.5}", "s", attributes);
    }
}

TEST(every_operator_gives_what_the_engine_gives)
{
    qdq_engine *e = need_ort();

    for (size_t i = 0; i < QDQ_COUNT(cases); i++)
        compare(e, &cases[i]);
}
