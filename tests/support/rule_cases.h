/* rule_cases.h - models that the rules of `default` change, and can be run: for the tests against
 * the engine and the ones that let memory fail. */
#ifndef QDQ_TEST_RULE_CASES_H
#define QDQ_TEST_RULE_CASES_H

#include "support/rule_case.h"

static const rule_case rule_cases[] = {
    {17, "drop-noop-arith",
     "g (float[2,3] x) => (float[2,3] y) <float one = {1}, float[3] zero = {0, 0, 0}> {\n"
     "  a = Mul(one, x) b = Add(a, zero) c = Sub(b, zero) d = Div(c, one) e = Pow(d, one) y = "
     "Exp(e) }"},
    {17, "drop-noop-arith",
     "g (int64[2,3] x) => (int64[2,3] y) <int64 one = {1}> { a = Div(x, one) y = Neg(a) }"},
    {17, "drop-repeated",
     "g (float[5] x) => (float[5] y, float[5] z) { a = Relu(x) b = Relu(a) c = Neg(x) d = Neg(c) e "
     "= "
     "Round(d) "
     "f = Round(e) y = Exp(b) z = Exp(f) }"},
    {17, "drop-abs", "g (float[N,3] x) => (int64[2] y) { s = Shape(x) a = Abs(s) y = Neg(a) }"},
    {17, "pick-where",
     "g (float[3] x, float[1] z) => (float[3] y) <bool[3] c = {0, 0, 0}> { t = Neg(x) u = Where(c, "
     "z, t) y = "
     "Exp(u) }"},
    {17, "drop-zero-bias",
     "g (float[1,2,5,5] x, float[3,2,3,3] w) => (float[1,3,3,3] y) <float[3] b = {0, 0, 0}> { y = "
     "Conv(x, w, "
     "b) }"},
    {17, "drop-zero-bias",
     "g (float[1,2,3,3] x, float[2,3,3,3] w) => (float[1,3,5,5] y) <float[3] b = {0, 0, 0}> { y = "
     "ConvTranspose(x, w, b) }"},
    {11, "drop-zero-bias",
     "g (float[2,3] x, float[3,4] w) => (float[2,4] y) <float[4] b = {0, 0, 0, 0}> { y = Gemm "
     "<alpha = 0.5> "
     "(x, w, b) }"},
    {13, "drop-zero-bias",
     "g (uint8[1,1,4,4] x) => (uint8[1,1,3,3] y) <uint8[1,1,2,2] w = {1, 2, 3, 4}, float s = "
     "{0.5}, uint8 z "
     "= {3}, int32[1] b = {0}> "
     "{ y = QLinearConv(x, s, z, w, s, z, s, z, b) }"},
    {17, "drop-noop-cast", "g (float[5] x) => (float[5] y) { a = Cast <to = 1> (x) y = Neg(a) }"},
    {17, "castlike-to-cast", "g (float[5] x, int64[1] l) => (int64[5] y) { y = CastLike(x, l) }"},
    {17, "merge-casts",
     "g (int32[5] x) => (uint8[5] y) { a = Cast <to = 7> (x) y = Cast <to = 2> (a) }"},
    {17, "merge-casts",
     "g (float[5] x) => (float16[5] y) { a = Cast <to = 11> (x) y = Cast <to = 10> (a) }"},
    {17, "merge-casts",
     "g (uint8[5] x) => (float[5] y) { a = Cast <to = 7> (x) y = Cast <to = 1> (a) }"},
    {17, "drop-noop-shape",
     "g (float[2,6] x) => (float[2,6] y) <int64[3] a = {0, 2, 3}, int64[2] b = {-1, 6}> {\n"
     "  t = Reshape(x, a) u = Reshape(t, b) y = Neg(u) }"},
    {17, "drop-noop-shape",
     "g (float[N,6] x) => (float[N,6] y) { s = Shape(x) u = Expand(x, s) y = Neg(u) }"},
    {17, "merge-reshapes",
     "g (float[2,6] x) => (float[4,3] y) <int64[2] a = {4, 3}, int64[2] b = {0, -1}> { t = "
     "Flatten(x) u = "
     "Reshape(t, a) y = Reshape(u, b) }"},
    {17, "merge-unsqueezes",
     "g (float[2,6] x) => (float[1,2,1,6] y) <int64[1] a = {1}, int64[1] b = {-4}> { t = "
     "Unsqueeze(x, a) y = "
     "Unsqueeze(t, b) }"},
    {17, "merge-unsqueezes",
     "g (float[1,2,1,6] x) => (float[2,6] y) <int64[1] a = {-2}, int64[1] b = {0}> { t = "
     "Squeeze(x, a) y = "
     "Squeeze(t, b) }"},
    {17, "materialize-reshape",
     "g (float[N,6] x) => (float[N,2,3] y) <int64[1] i = {0}, int64[2] c = {2, 3}> {\n"
     "  s = Shape(x) n = Gather(s, i) r = Concat <axis = 0> (n, c) y = Reshape(x, r) }"},
    {17, "materialize-reshape",
     "g (float[N,4,2,3] x) => (float[N,4,6] y) <int64[1] a = {0}, int64[1] b = {2}, int64[1] c = "
     "{-1}> {\n"
     "  s = Shape(x) n = Slice(s, a, b) r = Concat <axis = 0> (n, c) y = Reshape(x, r) }"},
    {17, "drop-noop-transpose",
     "g (float[2,3] x) => (float[2,3] y) { a = Transpose <perm = [0, 1]> (x) y = Neg(a) }"},
    {17, "merge-transposes",
     "g (float[2,3,4] x) => (float[4,2,3] y) { t = Transpose <perm = [1, 2, 0]> (x) y = Transpose "
     "<perm = "
     "[1, 2, 0]> (t) }"},
    {17, "merge-transposes",
     "g (float[2,3,4] x) => (float[2,3,4] y) { t = Transpose <perm = [1, 2, 0]> (x) u = Transpose "
     "<perm = "
     "[2, 0, 1]> (t) y = Neg(u) }"},
    {17, "merge-clips",
     "g (float[9] x) => (float[9] a, float[9] b, float[9] c) <float m = {-0.5}, float z = {0}, "
     "float q = "
     "{0.25}, float h = {0.5}> {\n"
     "  t = Clip(x, m, z) a = Clip(t, q, h) u = Relu(x) b = Clip(u, m, q) v = Clip(x, m, q) c = "
     "Relu(v) }"},
    {17, "merge-clips",
     "g (float[9] x) => (float[9] a, float[9] b) <float m = {-0.5}, float n = {-0.25}, float h = "
     "{0.5}> {\n"
     "  t = Clip(x, m, n) a = Relu(t) u = Clip(x, h, m) b = Clip(u, n, h) }"},
    {10, "merge-clips", "g (float[9] x) => (float[9] a) { t = Relu(x) a = Clip <max = 0.25> (t) }"},
    {17, "min-max-to-clip",
     "g (float[9] x) => (float[9] a, float[9] b, float[9] c) <float m = {-0.5}, float[1] q = "
     "{0.25}> {\n"
     "  t = Min(x, q) a = Max(m, t) u = Max(x, q) b = Min(u, m) v = Max(x, q) c = Max(m, v) }"},
    {17, "drop-noop-slice",
     "g (float[N,5] x) => (float[N,5] y) <int64[2] s = {0, -7}, int64[2] e = {9223372036854775807, "
     "5}> { t = "
     "Slice(x, s, e) y = Neg(t) }"},
    {17, "merge-slices",
     "g (float[N,20] x) => (float[?,?] y) <int64[2] s = {0, -18}, int64[2] e = {9, -3}, int64[1] g "
     "= {2}, "
     "int64[1] h = {100}, int64[1] a = {1}> {\n"
     "  t = Slice(x, s, e) y = Slice(t, g, h, a) }"},
    {9, "merge-slices",
     "g (float[4,20] x) => (float[1,20] y) { t = Slice <starts = [1], ends = [7]> (x) y = Slice "
     "<starts = "
     "[1], ends = [2]> (t) }"},
    {17, "split-slices",
     "g (float[N,6] x) => (float[N,1] a, float[N,2] b, float[N,3] c) <int64[1] z = {0}, int64[1] o "
     "= {1}, "
     "int64[1] t = {3}, int64[1] e = {99}, int64[1] l = {-1}> {\n"
     "  a = Slice(x, z, o, l) b = Slice(x, o, t, l) c = Slice(x, t, e, l) }"},
    {9, "split-slices",
     "g (float[6] x) => (float[2] y, float[4] z) { y = Slice <starts = [0], ends = [2]> (x) z = "
     "Slice "
     "<starts = [2], ends = [6]> (x) }"},
    {17, "drop-empty-parts",
     "g (float[2,3] x) => (float[2,6] y) <int64[1] z = {0}, int64[1] l = {-1}> { n = Slice(x, z, "
     "z, l) y = "
     "Concat <axis = 1> (x, n, x) }"},
    {17, "merge-concats",
     "g (float[2,3] x, float[1,3] z) => (float[6,3] y) { t = Concat <axis = 0> (x, z) u = Concat "
     "<axis = -2> "
     "(z, t) y = Concat <axis = 0> (x, u) }"},
    {17, "collapse-requantize",
     "g (uint8[4,3] x) => (float[4,3] y) <float[3] s = {0.1, 0.013, 7}, uint8[3] z = {3, 0, 255}> "
     "{\n"
     "  d = DequantizeLinear(x, s, z) q = QuantizeLinear(d, s, z) y = DequantizeLinear(q, s, z) }"},
    {17, "drop-bounds-before-quantize",
     "g (float[99] x) => (uint8[99] y, int8[99] w) <float s = {0.004}, uint8 z = {0}, int8 m = "
     "{-128}, float "
     "zero = {0}, float hi = {1.02}> {\n"
     "  a = Relu(x) y = QuantizeLinear(a, s, z) b = Clip(x, zero, hi) w = QuantizeLinear(b, s, m) "
     "}"},
    {17, "layout-before-dequantize",
     "g (float[N,3] x) => (float[N,2] y) <int8[2,3] w = {1,-2,3,-4,5,-6}, float[2] s = {0.5, 0.1}, "
     "int8[2] z "
     "= {0, 1}> {\n"
     "  d = DequantizeLinear <axis = 0> (w, s, z) t = Transpose(d) y = MatMul(x, t) }"},
    {17, "layout-before-dequantize",
     "g (float[N,2] x) => (float[N,3] y) <int8[1,2,3] w = {1,-2,3,-4,5,-6}, float[3] s = {0.5, "
     "0.1, 2}, "
     "int64[2] r = {2, -1}> {\n"
     "  d = DequantizeLinear <axis = 2> (w, s) t = Reshape(d, r) y = MatMul(x, t) }"},
    {17, "gather-keeps-dim",
     "g (float[4,3] x) => (float[4,1] y) <int64 i = {-1}, int64[1] a = {-1}> { g = Gather <axis = "
     "1> (x, i) "
     "y = Unsqueeze(g, a) }"},
    {16, "drop-full-scatter",
     "g (float[3,2] x, float[3,2] u) => (float[3,2] y) <int64[3,1] i = {0, 1, 2}> { t = Neg(u) y = "
     "ScatterND(x, i, t) }"},
    {16, "drop-full-scatter",
     "g (float[N,3] x, float[N,3] u) => (float[N,3] y) <int64 zero = {0}, int64 one = {1}, "
     "int64[1] a = "
     "{-1}> {\n"
     "  s = Shape(x) n = Gather(s, zero) r = Range(zero, n, one) i = Unsqueeze(r, a) t = Neg(u) y "
     "= "
     "ScatterND(x, i, t) }"},
    {17, "unwrap-matmul",
     "g (float[2,5,3] a, float[3,4] b) => (float[2,5,4] y) <int64[2] s = {-1, 3}, int64[3] t = {2, "
     "5, 4}> {\n"
     "  r = Reshape(a, s) p = MatMul(r, b) y = Reshape(p, t) }"},
    {17, "unwrap-matmul",
     "g (float[2,3,5,7] a, float[2,3,7,4] b) => (float[2,3,5,4] y) <int64[3] s = {6, 5, 7}, "
     "int64[3] t = {6, "
     "7, 4}, int64[4] u = {2, 3, 5, 4}> {\n"
     "  r = Reshape(a, s) q = Reshape(b, t) p = MatMul(r, q) y = Reshape(p, u) }"},
    {17, "explicit-pads",
     "g (float[1,2,8,7] x, float[3,2,3,4] w) => (float[?,?,?,?] y, float[?,?,?,?] z) {\n"
     "  y = Conv <auto_pad = \"SAME_UPPER\", strides = [2, 3]> (x, w) z = Conv <auto_pad = "
     "\"SAME_LOWER\"> "
     "(x, w) }"},
    {17, "explicit-pads",
     "g (float[1,2,8] x) => (float[?,?,?] y, float[?,?,?] z, float[?,?,?] v) { y = MaxPool "
     "<auto_pad = "
     "\"SAME_UPPER\", kernel_shape = [2]> (x)\n"
     "  z = AveragePool <auto_pad = \"SAME_LOWER\", kernel_shape = [4], strides = [2]> (x) v = "
     "AveragePool "
     "<auto_pad = \"VALID\", kernel_shape = [3]> (x) }"},
    {17, "merge-pads",
     "g (float[1,2,6,6] x, float[3,2,3,3] w) => (float[?,?,?,?] y) <int64[8] p = {0, 0, 1, 2, 0, "
     "0, 3, 0}> { "
     "t = Pad(x, p) y = Conv <pads = [0, 1, 0, 1], strides = [2, 1]> (t, w) }"},
    {17, "merge-pads",
     "g (uint8[1,1,6,6] x, uint8[1,1,3,3] w) => (int32[?,?,?,?] y) <int64[8] p = {0, 0, 1, 1, 0, "
     "0, 1, 1}, "
     "uint8 z = {128}> { t = Pad(x, p, z) y = ConvInteger(t, w, z) }"},
    {17, "merge-pads",
     "g (float[1,2,8] x) => (float[?,?,?] a, float[?,?,?] b, float[?,?,?] c) <int64[6] p = {0, 0, "
     "1, 0, 0, "
     "2}, float i = {-inf}> {\n"
     "  r = Relu(x) s = Pad(r, p) a = MaxPool <kernel_shape = [3], strides = [2]> (s) t = Pad(x, "
     "p) b = "
     "AveragePool <kernel_shape = [3], strides = [2]> (t)\n"
     "  u = Pad(x, p, i) c = MaxPool <kernel_shape = [3]> (u) }"},
    {17, "cast-fill",
     "g (int64[2] s) => (int64[?,?] y, float[?,?] z) { t = ConstantOfShape <value = float[1] "
     "{-2.5}> (k) y = "
     "Cast <to = 7> (t)\n"
     "  u = ConstantOfShape <value = int64[1] {3}> (k) z = Cast <to = 1> (u) k = Constant <value = "
     "int64[2] "
     "{2, 3}> () v = Neg(s) }"},
    {17, "drop-dropout",
     "g (float[2,3] x) => (float[2,3] y, bool[2,3] m) <float r = {0.5}> { y, m = Dropout(x, r) }"},
    {17, "split-sequence,pick-from-sequence",
     "g (float[2,7] x) => (float[2,4] y, float[2,3] z) <int64 n = {4}, int64 i = {0}, int64 j = "
     "{-1}> {\n"
     "  s = SplitToSequence <axis = 1> (x, n) y = SequenceAt(s, i) z = SequenceAt(s, j) }"},
    {17, "split-sequence,pick-from-sequence",
     "g (float[2,3] x) => (float[2] y) <int64 i = {1}> { s = SplitToSequence <axis = 1, keepdims = "
     "0> (x) y "
     "= SequenceAt(s, i) }"},
    {11, "split-sequence,concat-sequence",
     "g (float[5] x) => (float[5] y) <int64[2] n = {2, 3}> { s = SplitToSequence(x, n) y = "
     "ConcatFromSequence <axis = 0> (s) }"},
    {17, "concat-sequence",
     "g (float[3] x, float[3] z) => (float[3,2] y) { s = SequenceConstruct(x, z) y = "
     "ConcatFromSequence "
     "<axis = -1, new_axis = 1> (s) }"},
    {17, "drop-expand",
     "g (float[1,4] x, float[3,4] z) => (float[3,4] y, float[3,4] w) <float c = {2}> { s = "
     "Shape(z) t = "
     "Expand(x, s) y = Sub(t, z) u = Expand(c, s) w = Div(z, u) }"},
    {17, "pick-where-parts",
     "g (float[N,3] x) => (float[N,1,2] y) <int64[1] i = {0}, int64[1] m = {-1}, int64[3] k = {-1, "
     "-1, -1}, "
     "int64[3] one = {1, 1, 1}, float[1,1,2] w = {3, 4}> {\n"
     "  s = Shape(x) n = Gather(s, i) c = Concat <axis = 0> (n, m, m) e = Equal(c, k) v = Where(e, "
     "one, c) y "
     "= Expand(w, v) }"},
    {17, "cancel-transposes",
     "g (float[2,3,4] x) => (float[2,3,4] y) <float half = {0.5}, float lo = {0}> {\n"
     "  t = Transpose <perm = [1, 2, 0]> (x) a = Mul(half, t) b = Clip(a, lo) c = LeakyRelu(b) u = "
     "Transpose "
     "<perm = [2, 0, 1]> (c) y = Neg(u) }"},
};

#endif /* QDQ_TEST_RULE_CASES_H */
