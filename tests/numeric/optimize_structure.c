/* optimize_structure.c - ONNX Runtime computes the same, to the last bit, before and after passes
 * that change the structure of a model: functions, bodies, equal nodes and constants, one DQ for
 * each reader. */
#include "numeric/ort_help.h"

/* The text with and without the passes; with ONNX Runtime's own optimizations off, which round
 * differently. */
static void assert_same(const char *text, const char *pipeline, uint64_t changes)
{
    static kept before, after;
    qdq_error err = QDQ_ERROR_INIT;
    qdq_engine *e = need_ort();
    qdq_model *m = test_model(text);
    qdq_session_opts so = QDQ_SESSION_OPTS_INIT;
    qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;
    qdq_optimize_report *r;

    so.level = QDQ_LEVEL_NONE;
    run_model(e, m, &so, &before);
    opts.passes = pipeline;
    opts.verify_each = true;
    assert_ok(qdq_model_optimize(m, &opts, &r, &err));
    if (r->changes < changes)
        fail_msg("%s: %u changes, expected %u", pipeline, (unsigned)r->changes, (unsigned)changes);
    run_model(e, m, &so, &after);
    assert_string_equal(after.names, before.names);
    assert_int_equal(after.size, before.size);
    assert_memory_equal(after.bytes, before.bytes, before.size);
    qdq_optimize_report_free(r);
    qdq_model_free(m);
}

#define IMPORTS "<ir_version: 9, opset_import: [\"\" : 17, \"my\" : 1]>\n"
#define MY      "<domain: \"my\", opset_import: [\"\" : 17, \"my\" : 1]>\n"

TEST(functions_in_functions_with_attributes_and_bodies)
{
    assert_same(
        IMPORTS
        "g (float[2,3] x) => (float[2,3] y, float[2,3] z) <float s = {0.05}, uint8 p = {128}> {\n"
        "  a = my.Outer <axis = 0> (x)\n"
        "  b = my.Outer <axis = 1, alpha = 3.5> (x, x)\n"
        "  y = my.FakeQuantize(a, s, p)\n"
        "  z = my.FakeQuantize(b, s, p)\n"
        "}\n" MY "Outer <axis, alpha = 0.5> (u, w) => (v) {\n"
        "  h = my.Inner <a: int = @axis> (u)\n"
        "  zero = Constant <value = float {0}> ()\n"
        "  sum = ReduceSum <keepdims = 0> (h)\n"
        "  c = Greater(sum, zero)\n"
        "  v = If <then_branch = t () => (float[2,3] p) {\n"
        "    p = Elu <alpha: float = @alpha> (u)\n"
        "  }, else_branch = e () => (float[2,3] q) {\n"
        "    q = Neg(h)\n"
        "  }> (c)\n"
        "}\n" MY "Inner <a> (u) => (v) {\n"
        "  h = Neg(u)\n"
        "  v = Softmax <axis: int = @a> (h)\n"
        "}\n" MY "FakeQuantize (x, s, p) => (y) {\n"
        "  q = QuantizeLinear(x, s, p)\n"
        "  y = DequantizeLinear(q, s, p)\n"
        "}\n",
        "inline-functions,drop-unused-functions,drop-unused-opsets", 6);
}

TEST(known_branches_and_constants_of_bodies)
{
    assert_same(
        "g (float[2,3] x, int64 n) => (float[2,3] y, float[2,3] z, float[2,3] w) <bool yes = {1}, "
        "bool no = {0}> {\n"
        "  y, z = If <then_branch = t () => (float[2,3] a, float[2,3] k) <float[2,3] k = {1, 2, 3, "
        "4, 5, 6}> {\n"
        "    h = Neg(x)\n"
        "    a = If <then_branch = t2 () => (float[2,3] p) {\n"
        "      p = Neg(h)\n"
        "    }, else_branch = e2 () => (float[2,3] q) <float[3] c = {1, 2, 3}> {\n"
        "      q = Mul(h, c)\n"
        "    }> (no)\n"
        "  }, else_branch = e () => (float[2,3] d, float[2,3] f) {\n"
        "    d = Abs(x)\n"
        "    f = Neg(x)\n"
        "  }> (yes)\n"
        "  w = Loop <body = b (int64 i, bool k, float[2,3] s) => (bool k2, float[2,3] s2) "
        "<float[3] "
        "c = {1, 2, 3}> {\n"
        "    k2 = Identity(k)\n"
        "    s2 = Add(s, c)\n"
        "  }> (n, yes, x)\n"
        "}\n",
        "inline-if,lift-subgraph-initializers,share-initializers,drop-unused", 5);
}

TEST(equal_nodes_and_constants_around_q_and_dq)
{
    assert_same("g (float[1,2,4,4] x) => (float[1,2,4,4] y, float[1,2,4,4] z) <float s = {0.02}, "
                "float s2 = {0.02}, "
                "uint8 p = {120}, uint8 p2 = {120}, int8[2,2,1,1] w = {5, -7, 9, 11}, float r = "
                "{0.1}, int8 o = {0}> "
                "{\n"
                "  q1 = QuantizeLinear(x, s, p)\n"
                "  q2 = QuantizeLinear(x, s2, p2)\n"
                "  d1 = DequantizeLinear(q1, s, p)\n"
                "  d2 = DequantizeLinear(q2, s2, p2)\n"
                "  v = DequantizeLinear(w, r, o)\n"
                "  c1 = Conv(d1, v)\n"
                "  c2 = Conv(d2, v)\n"
                "  m1, i1 = MaxPool <kernel_shape = [1, 1]> (c1)\n"
                "  m2, i2 = MaxPool <kernel_shape = [1, 1]> (c2)\n"
                "  a1 = Sigmoid(x)\n"
                "  a2 = Sigmoid(x)\n"
                "  y = Sum(m1, a1, d1)\n"
                "  z = Sub(m2, a2)\n"
                "}\n",
                "share-initializers,merge-equal,drop-unused,unique-dq", 8);
}
