/* odd_models.c - see the header. */
#include "support/odd_models.h"

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17]>\n"
#define HUGE "int64[2] huge = {3000000000, 3000000000}, int64[1] long = {1099511627776}"

const test_odd_model test_odd_models[] = {
    /* --- graphs of almost nothing ------------------------------------------------------------- */
    {"nothing at all", false, HEAD "g () => () {}"},
    {"inputs without outputs", false, HEAD "g (float x) => () { y = Neg(x) }"},
    {"outputs that are inputs", true,
     HEAD "g (float[2] x, float[2] y) => (float[2] y, float[2] x) {}"},
    {"an output that is an initializer", true,
     HEAD "g (float[2] x) => (float[2] c, float[2] y) <float[2] c = {1, 2}> { y = Add(x, c) }"},
    {"identities between inputs, initializers and outputs", true,
     HEAD "g (float[2] x) => (float[2] y, float[2] z, float[2] x, float[2] c, float[2] d) "
          "<float[2] c = {1, "
          "2}> {\n"
          "  y = Identity(x) t = Identity(x) z = Identity(t) d = Identity(c) }"},
    {"outputs in a chain of identities", true,
     HEAD "g (float[2] x) => (float[2] a, float[2] b, float[2] c) {\n"
          "  t = Neg(x) a = Identity(t) b = Identity(a) c = Identity(b) }"},
    {"equal outputs", true,
     HEAD
     "g (float[2] x) => (float[2] a, float[2] b, float[2] c) { a = Neg(x) b = Neg(x) c = Neg(a) }"},
    {"one value as two outputs", true,
     HEAD "g (float[2] x) => (float[2] y, float[2] y) { y = Neg(x) }"},
    {"constants only", true,
     HEAD
     "g () => (float[2] y, float[2] z) <float[2] c = {1, 2}, float[2] z = {3, 4}> { y = Neg(c) }"},
    {"nodes in any order", true,
     HEAD "g (float[2] x) => (float[2] y) { y = Neg(b) b = Identity(a) a = Abs(x) }"},
    {"nodes and values that nothing reads", true,
     HEAD "g (float[6] x, float unread) => (float[2] a) <float[2] no = {1, 2}, int64[3] s = {2, 2, "
          "2}> {\n"
          "  a, b, c = Split(x, s) d = Neg(b) e = Abs(d) f = Constant <value = float {3}> () }"},
    {"a node name that is there three times", false,
     HEAD "g (float x) => (float y) { [n] a = Neg(x) [n] b = Abs(a) [n] y = Exp(b) }"},
    {"names of values that are names of nodes", true,
     HEAD "g (float x) => (float y) { [y] a = Neg(x) [a] b = Identity(a) [x] y = Exp(b) }"},

    /* --- no elements, one element, no rank ---------------------------------------------------- */
    {"tensors without elements", true,
     HEAD "g (float[2,0,3] x) => (float[2,0,3] a, float[2,3] b, float[2,0,3] c, float[2,0,6] d, "
          "float[2,3,0] e,\n"
          "                       float[4,0,3] f, float[0] h) <float[2,0,3] z = {}, int64[1] one = "
          "{1},\n"
          "                       int64[3] s = {2, 0, 3}, int64[3] t = {2, 1, 1}, int64[1] minus = "
          "{-1}> {\n"
          "  p = Add(x, z) a = Relu(p) b = ReduceSum <keepdims = 0> (x, one) q = Reshape "
          "<allowzero = 1> (x, s)\n"
          "  c = Softmax(q) d = Concat <axis = 2> (x, z) e = Transpose <perm = [0, 2, 1]> (x) f = "
          "Tile(x, t)\n"
          "  h = Reshape(x, minus) }"},
    {"parts without elements", true,
     HEAD
     "g (float[N,2] x) => (float[?,2] y, float[0,2] z) <float[0,2] no = {}, int64[1] zero = {0},\n"
     "                  int64[1] big = {9223372036854775807}> {\n"
     "  a = Concat <axis = 0> (no, x, no) y = Slice(a, zero, big) b = Slice(x, zero, zero)\n"
     "  z = Concat <axis = 0> (b, no) }"},
    {"products over no elements", true,
     HEAD "g (float[2,0] x) => (float[2,3] y, float[2,3] z) <float[0,3] w = {}, float[3] b = {1, "
          "2, 3}> {\n"
          "  y = MatMul(x, w) z = Gemm(x, w, b) }"},
    {"quantization of no elements", true,
     HEAD "g (float[0,3] x) => (float[0,3] y) <float s = {0.1}, uint8 z = {3}> {\n"
          "  r = Relu(x) q = QuantizeLinear(r, s, z) y = DequantizeLinear(q, s, z) }"},
    {"scalars", true,
     HEAD
     "g (float x) => (float y, float z) <float one = {1}, int64[0] none = {}, float m = {7}> {\n"
     "  a = Mul(x, one) b = Reshape(a, none) y = Squeeze(b) c = Min(x, m) z = ReduceMax(c) }"},
    {"an input of any rank", false,
     HEAD "g (float[] x) => (float[] y) <float zero = {0}, float[1] one = {1}> { a = Add(x, zero) "
          "y = Mul(a, "
          "one) }"},

    /* --- numbers ------------------------------------------------------------------------------ */
    {"not a number", true,
     HEAD
     "g (float[2] x) => (float[2] a, bool[2] b, float[2] c, float[2] d, float e, float[2] f) <\n"
     "  float[2] n = {nan, 1}, float[2] m = {nan, 1}, float t = {nan}, float u = {nan}, float i = "
     "{inf}> {\n"
     "  p = Add(x, n) a = Sub(p, m) b = Equal(n, m) c = Mul(n, m) d = Where(b, x, m) q = Sub(i, "
     "i)\n"
     "  e = Max(t, q) r = Clip(x, t, u) f = Add(r, x) }"},
    {"infinities and zeros with a sign", true,
     HEAD "g (float[2] x) => (float[2] a, float[2] b, float[2] c, float[2] d) <float z = {0}, "
          "float n = {-0.0},\n"
          "  float i = {inf}, float j = {-inf}> {\n"
          "  a = Add(x, n) b = Sub(x, z) c = Min(x, i) p = Max(x, j) d = Div(p, n) }"},
    {"integers that wrap", true,
     HEAD
     "g (int64[2] x) => (int64[2] y, int64[2] z, int64[2] u) <int64[2] a = {9223372036854775807, "
     "-9223372036854775808},\n"
     "  int64[2] b = {1, -1}, int64[2] no = {-1, 2}> {\n"
     "  t = Add(a, b) y = Add(t, x) p = Div(a, no) z = Mul(x, a) u = Abs(a) }"},

    /* --- results that no memory holds --------------------------------------------------------- */
    {"huge fills", false,
     HEAD "g (float[N] x) => (float[?] y, float[?] z) <" HUGE
          ", float one = {1}, float two = {0.0000000001}> {\n"
          "  a = ConstantOfShape(huge) r = ReduceMax <keepdims = 0> (a) y = Add(x, r)\n"
          "  b = Expand(one, long) s = ReduceSum <keepdims = 0> (b) c = Range(one, two, two) z = "
          "Mul(x, s) }"},
    {"huge copies", false,
     HEAD "g (float[N] x) => (float y) <float[2,2] c = {1, 2, 3, 4}, " HUGE
          ", float[2] values = {0, 1},\n"
          "  int64[4] pads = {2000000000, 2000000000, 2000000000, 2000000000}, int64[1] i = {3}, "
          "int64 deep = "
          "{1099511627776}> {\n"
          "  a = Tile(c, huge) b = Pad(c, pads) d = OneHot(i, deep, values) e = Expand(c, huge)\n"
          "  p = ReduceMax <keepdims = 0> (a) q = ReduceMax <keepdims = 0> (b) r = ReduceMax "
          "<keepdims = 0> (d)\n"
          "  s = ReduceMax <keepdims = 0> (e) t = Sum(p, q, r, s) u = ReduceMax <keepdims = 0> (x) "
          "y = Add(t, u) "
          "}"},
    {"scales of huge tensors", false,
     HEAD "g (float[N] x) => (uint8[N] y) <float one = {1}, " HUGE "> {\n"
          "  e = Expand(one, huge) s = ReduceMax <keepdims = 0> (e) y = QuantizeLinear(x, s) }"},
    {"a tensor that is doubled forty times", false,
     HEAD
     "g (float[N] x) => (float[?] y) <float[2] c0 = {1, 2}> {\n"
     "  c1 = Concat <axis = 0> (c0, c0) c2 = Concat <axis = 0> (c1, c1) c3 = Concat <axis = 0> "
     "(c2, c2)\n"
     "  c4 = Concat <axis = 0> (c3, c3) c5 = Concat <axis = 0> (c4, c4) c6 = Concat <axis = 0> "
     "(c5, c5)\n"
     "  c7 = Concat <axis = 0> (c6, c6) c8 = Concat <axis = 0> (c7, c7) c9 = Concat <axis = 0> "
     "(c8, c8)\n"
     "  d1 = Concat <axis = 0> (c9, c9, c9, c9, c9, c9, c9, c9, c9, c9, c9, c9, c9, c9, c9, c9)\n"
     "  d2 = Concat <axis = 0> (d1, d1, d1, d1, d1, d1, d1, d1, d1, d1, d1, d1, d1, d1, d1, d1)\n"
     "  d3 = Concat <axis = 0> (d2, d2, d2, d2, d2, d2, d2, d2, d2, d2, d2, d2, d2, d2, d2, d2)\n"
     "  d4 = Concat <axis = 0> (d3, d3, d3, d3, d3, d3, d3, d3, d3, d3, d3, d3, d3, d3, d3, d3)\n"
     "  d5 = Concat <axis = 0> (d4, d4, d4, d4, d4, d4, d4, d4, d4, d4, d4, d4, d4, d4, d4, d4)\n"
     "  m = ReduceMax <keepdims = 0> (d5) y = Add(x, m) }"},

    /* --- graphs in graphs --------------------------------------------------------------------- */
    {"bodies that read what is around them", true,
     HEAD "g (float[2] x, bool c, int64 n) => (float[2] y, float[2] z) <float[2] w = {1, 2}, bool "
          "yes = {1}> {\n"
          "  i = Identity(x) k = Identity(w)\n"
          "  t = If <then_branch = a () => (float[2] p) {\n"
          "    p = If <then_branch = a2 () => (float[2] q) { q = Add(i, k) }, else_branch = e2 () "
          "=> (float[2] r) "
          "{\n"
          "      r = Identity(i) }> (yes)\n"
          "  }, else_branch = b () => (float[2] s) { s = Identity(k) }> (c)\n"
          "  y = Loop <body = l (int64 j, bool on, float[2] v) => (bool go, float[2] u) {\n"
          "    go = Identity(on) m = Identity(i) o = Mul(v, m) u = Add(o, k)\n"
          "  }> (n, c, t)\n"
          "  z = Identity(t) }"},
    {"equal constants and names in both branches", true,
     HEAD "g (float[2] x, bool c) => (float[2] y) {\n"
          "  y = If <then_branch = a () => (float[2] p) <float[2] w = {1, 2}> { t = Add(x, w) p = "
          "Neg(t) },\n"
          "          else_branch = b () => (float[2] q) <float[2] w = {1, 2}> { t = Mul(x, w) q = "
          "Neg(t) }> "
          "(c) }"},
    {"a known branch with names that are taken", true,
     HEAD "g (float[2] x) => (float[2] y, float[2] t, float[2] w) <bool yes = {1}, float[2] w = "
          "{5, 6}> {\n"
          "  [n] k = Neg(x)\n"
          "  s = If <then_branch = a () => (float[2] p) <float[2] w_1 = {1, 2}> { [n] p = Add(k, "
          "w_1) },\n"
          "          else_branch = b () => (float[2] q) { q = Neg(k) }> (yes)\n"
          "  y = Abs(s) t = Add(s, w) }"},
    {"a scan over constants", true,
     HEAD "g (float[2] x) => (float[2] y, float[3,2] z) <float[3,2] c = {1, 2, 3, 4, 5, 6}> {\n"
          "  y, z = Scan <num_scan_inputs = 1, body = b (float[2] s, float[2] e) => (float[2] r, "
          "float[2] o) {\n"
          "    i = Identity(e) r = Add(s, i) o = Identity(r) }> (x, c) }"},
    {"a loop that never runs", true,
     HEAD "g (float[2] x) => (float[2] y) <int64 n = {0}, bool yes = {1}> {\n"
          "  y = Loop <body = l (int64 j, bool on, float[2] v) => (bool go, float[2] u) {\n"
          "    go = Identity(on) u = Add(v, v) }> (n, yes, x) }"},

    /* --- functions ---------------------------------------------------------------------------- */
    {"functions that call functions", true,
     "<ir_version: 8, opset_import: [\"\" : 17, \"my\" : 1]>\n"
     "g (float[2] x) => (float[2] y) { y = my.F <a = 0.5> (x) }\n"
     "<domain: \"my\", opset_import: [\"\" : 17, \"my\" : 1]> F <a> (u) => (v) {\n"
     "  t = my.G(u) s = my.G(t) k = Elu <alpha: float = @a> (s) v = Identity(k) }\n"
     "<domain: \"my\", opset_import: [\"\" : 17]> G (u) => (v) { c = Constant <value = float[2] "
     "{1, 2}> () v "
     "= Add(u, c) }"},
    {"functions that return what they get", false,
     "<ir_version: 8, opset_import: [\"\" : 17, \"my\" : 1]>\n"
     "g (float[2] x) => (float[2] y, float[2] z) { y, z = my.F(x, x) }\n"
     "<domain: \"my\", opset_import: [\"\" : 17]> F (u, w) => (v, w) { v = Identity(u) }"},
    {"functions of another opset", true,
     "<ir_version: 8, opset_import: [\"\" : 17, \"my\" : 1]>\n"
     "g (float[2] x) => (float[2] y) { y = my.F(x) }\n"
     "<domain: \"my\", opset_import: [\"\" : 11]> F (u) => (v) { v = Clip(u) }"},
    {"functions that are not there", false,
     "<ir_version: 8, opset_import: [\"\" : 17, \"my\" : 1]>\n"
     "g (float[2] x) => (float[2] y) { t = my.F(x) i = Identity(t) y = my.F(i) }"},

    /* --- values that are no tensors, tensors that are no numbers ------------------------------ */
    {"strings", false,
     "<ir_version: 9, opset_import: [\"\" : 19]>\n"
     "g (string[2] x) => (string[2] y, bool[2] z, string[2] c, string[1] d) <string[2] c = {\"a\", "
     "\"b\"}, string[2] same = {\"a\", \"b\"},\n"
     "  int64[1] zero = {0}> {\n"
     "  y = Identity(x) z = Equal(x, x) d = Gather(same, zero) e = Concat <axis = 0> (c, same) }"},
    {"sequences and optional values", false,
     HEAD "g (float[2] x, seq(float[2]) s) => (float[2] y, seq(float[2]) t, bool h, int64 n) "
          "<int64 zero = "
          "{0}, int64 one = {1}> {\n"
          "  a = SequenceConstruct(x, x) y = SequenceAt(a, one) t = SequenceInsert(s, x)\n"
          "  o = Optional(x) h = OptionalHasElement(o) e = SequenceEmpty <dtype = 1> () f = "
          "Identity(a)\n"
          "  n = SequenceLength(f) }"},
    {"sparse initializers", true,
     HEAD "g (float[2,3] x) => (float[2,3] y) <sparse_tensor(float[2,3]) c = {float[2] {1, 2}, "
          "int64[2] {0, 5}},\n"
          "  sparse_tensor(float[2,3]) d = {float[2] {1, 2}, int64[2] {0, 5}}> { t = Add(x, c) y = "
          "Add(t, d) }"},
    {"sparse constants", true,
     HEAD "g (float[3] x) => (float[3] y) {\n"
          "  c = Constant <sparse_value: sparse_tensor = sparse_tensor(float[3]) {float[1] {1}, "
          "int64[1] "
          "{0}}> () y = Add(x, c) }"},
    {"packed integers", false,
     "<ir_version: 10, opset_import: [\"\" : 21]>\n"
     "g (float[3] x) => (float[3] y) <int4[3] q = {-8, 7, 1}, float s = {0.5}, int4 z = {0}, "
     "int64[1] shape "
     "= {3}> {\n"
     "  r = Reshape(q, shape) w = DequantizeLinear(r, s, z) y = Add(x, w) }"},

    /* --- initializers ------------------------------------------------------------------------- */
    {"initializers that callers may override", true,
     HEAD "g (float[2] x, float[2] w = {1, 2}, bool c = {1}, float s = {0.5}) => (float[2] y, "
          "float[2] z, "
          "uint8[2] q) {\n"
          "  t = Neg(w) y = Mul(x, t) z = If <then_branch = a () => (float[2] p) { p = Abs(x) },\n"
          "    else_branch = b () => (float[2] r) { r = Identity(x) }> (c)\n"
          "  q = QuantizeLinear(x, s) }"},
    {"initializers that are listed as inputs, below IR 4", true,
     "<ir_version: 3, opset_import: [\"\" : 8]>\n"
     "g (float[2] x, float[2] w = {1, 2}) => (float[2] y) { t = Neg(w) u = Dropout(t) y = Mul(x, "
     "u) }"},

    /* --- quantization ------------------------------------------------------------------------- */
    {"Q and DQ of another domain", true,
     "<ir_version: 8, opset_import: [\"\" : 17, \"com.microsoft\" : 1]>\n"
     "g (float[2] x) => (float[2] y, float[2] z) <float s = {0.5}, uint16 z0 = {3}, uint16[2] w = "
     "{1, 2}> {\n"
     "  q = com.microsoft.QuantizeLinear(x, s, z0) a = com.microsoft.DequantizeLinear(q, s, z0)\n"
     "  b = com.microsoft.DequantizeLinear(w, s, z0) y = Add(a, b)\n"
     "  r = com.microsoft.QuantizeLinear(a, s, z0) z = com.microsoft.DequantizeLinear(r, s, z0) }"},
    {"Q and DQ of constants, in branches and twice", true,
     HEAD
     "g (float[2] x, bool c) => (float[2] y, uint8[2] q2) <float s = {0.5}, uint8 z = {3}, "
     "float[2] w = "
     "{1, 2}> {\n"
     "  q = QuantizeLinear(w, s, z) q2 = QuantizeLinear(w, s, z) d = DequantizeLinear(q, s, z)\n"
     "  y = If <then_branch = a () => (float[2] p) {\n"
     "    k = DequantizeLinear(q, s, z) p = Add(x, k) }, else_branch = b () => (float[2] r) { r = "
     "Add(x, d) }> (c) }"},
    {"scales that are zero, negative and not finite", true,
     HEAD
     "g (float[1,1,2,2] x) => (float[1,1,2,2] y, float[1,1,2,2] u) <float s = {0}, float n = "
     "{-0.5}, "
     "float i = {inf}, float m = {nan},\n"
     "  uint8 z = {3}, int8 z8 = {0}, int8[1,1,1,1] w = {5}, float[1] b = {1}> {\n"
     "  q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z) v = DequantizeLinear(w, n, z8)\n"
     "  t = Conv(d, v, b) r = QuantizeLinear(t, i, z) y = DequantizeLinear(r, m, z)\n"
     "  e = DequantizeLinear(r, i, z) f = QuantizeLinear(e, i, z) u = DequantizeLinear(f, i, z) }"},
};

const size_t test_n_odd_models = sizeof test_odd_models / sizeof *test_odd_models;
