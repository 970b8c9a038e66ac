/* fuse_vs_ort.c - rules for composites keep the numbers of models: what exporters spell out and the
 * one operator agree (rules_help.h). */
#include "numeric/rules_help.h"

#define NORM_HEAD(type, eps, w)                                                                    \
    "g (" type "[3,5,4] x) => (" type "[3,5,4] y) <" type " eps = {" eps "}, " type                \
    " two = {2.0}, " type "[4] w = {" w "}, " type                                                 \
    "[4] b = {0.5, -0.5, 0.25, 1.0}, int64[1] last = {-1}> {\n"
#define FLOAT_HEAD NORM_HEAD("float", "1e-05", "1, 2, -3, 0.5")

static const rule_case cases[] = {
    {17, "fuse-layernorm",
     FLOAT_HEAD "m = ReduceMean <axes = [-1]> (x) d = Sub(x, m) p = Pow(d, two) v = ReduceMean "
                "<axes = [2]> (p)\n"
                "e = Add(v, eps) s = Sqrt(e) n = Div(d, s) t = Mul(n, w) y = Add(t, b) }"},
    {17, "fuse-layernorm",
     NORM_HEAD("double", "0.001",
               "1, 2, -3, 0.5") "m = ReduceMean <axes = [-1]> (x) d = Sub(x, m) p = "
                                "Mul(d, d) v = ReduceMean <axes = [2]> (p)\n"
                                "e = Add(v, eps) s = Sqrt(e) r = Reciprocal(s) n = Mul(d, "
                                "r) t = Mul(n, w) y = Add(t, b) }"},
    {18, "fuse-layernorm",
     FLOAT_HEAD "m = ReduceMean(x, last) d = Sub(x, m) d2 = Sub(x, m) p = Mul(d2, d2) v = "
                "ReduceMean(p, last)\n"
                "e = Add(v, eps) s = Sqrt(e) y = Div(d, s) }"},
    {17, "fuse-layernorm",
     "g (float[N,3,2,2] x) => (float[N,3,2,2] y) <float eps = {0.01}, float[1,3,2,2] w = {1, 2, 3, "
     "4, 5, 6, "
     "7, 8, 9,\n"
     "10, 11, 12}, float[3,2,2] b = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}> {\n"
     "m = ReduceMean <axes = [1, 2, 3]> (x) d = Sub(x, m) p = Mul(d, d) v = ReduceMean <axes = [1, "
     "-2, -1]> "
     "(p)\n"
     "e = Add(v, eps) s = Sqrt(e) n = Div(d, s) t = Mul(n, w) y = Add(b, t) }"},
    {17, "fuse-layernorm",
     "g (float16[3,4] h) => (float16[3,4] y) <float eps = {1e-05}, float16[4] w = {1.0, 2.0, -3.0, "
     "0.5},\n"
     "float16[4] b = {0.5, 1.0, -2.0, 0.0}> { x = Cast <to = 1> (h)\n"
     "m = ReduceMean <axes = [-1]> (x) d = Sub(x, m) p = Mul(d, d) v = ReduceMean <axes = [-1]> "
     "(p)\n"
     "e = Add(v, eps) s = Sqrt(e) n = Div(d, s) c = Cast <to = 10> (n) t = Mul(c, w) y = Add(t, b) "
     "}"},
    {23, "fuse-rmsnorm",
     FLOAT_HEAD
     "p = Pow(x, two) v = ReduceMean(p, last) e = Add(v, eps) s = Sqrt(e) r = Reciprocal(s)\n"
     "n = Mul(x, r) y = Mul(w, n) }"},
    {23, "fuse-rmsnorm",
     "g (float[3,2,2] x) => (float[3,2,2] y) <float eps = {0.01}, int64[2] axes = {1, 2}> {\n"
     "p = Mul(x, x) v = ReduceMean(p, axes) e = Add(v, eps) s = Sqrt(e) y = Div(x, s) }"},
    {20, "fuse-gelu",
     "g (float[200] x) => (float[200] y) <float half = {0.5}, float one = {1}, float root = "
     "{1.4142135}> {\n"
     "a = Div(x, root) e = Erf(a) s = Add(e, one) p = Mul(x, s) y = Mul(p, half) }"},
    {20, "fuse-gelu",
     "g (float[200] x) => (float[200] y) <float half = {0.5}, float one = {1}, float k = "
     "{0.7978846},\n"
     "float c = {0.044715}, float three = {3}> {\n"
     "a = Pow(x, three) b = Mul(a, c) d = Add(x, b) e = Mul(d, k) t = Tanh(e) f = Add(t, one)\n"
     "h = Mul(x, half) y = Mul(h, f) }"},
    {14, "fuse-hardswish",
     "g (float[200] x) => (float[200] y) <float three = {3}, float zero = {0}, float six = {6}> {\n"
     "u = Mul(x, six) a = Add(u, three) t = Clip(a, zero, six) p = Mul(u, t) y = Div(p, six) }"},
    {14, "fuse-hardswish",
     "g (float[200] x) => (float[200] y) { t = HardSigmoid <alpha = 0.16666667> (x) y = Mul(x, t) "
     "}"},
    {13, "fuse-hardsigmoid",
     "g (float[200] x) => (float[200] y) <float three = {3}, float zero = {0}, float six = {6}> {\n"
     "u = Mul(x, six) a = Add(u, three) t = Clip(a, zero, six) p = Mul(u, t) y = Div(p, six) }"},
    {9, "fuse-hardsigmoid",
     "g (float[200] x) => (float[200] y) <float three = {3}, float sixth = {0.16666667}, float six "
     "= {6}> {\n"
     "u = Mul(x, six) a = Add(three, u) t = Clip <min = 0.0, max = 6.0> (a) y = Mul(t, sixth) }"},
    {24, "fuse-silu", "g (float[200] x) => (float[200] y) { t = Sigmoid(x) y = Mul(x, t) }"},
    {24, "fuse-silu",
     "g (float[200] x) => (float[200] y) <float k = {1.702}> { u = Mul(x, k) t = Sigmoid(u) y = "
     "Mul(x, t) }"},
    {17, "fold-scale",
     "g (float[N,3,2,4] x) => (float[N,5,3,2] y) <float[4,5] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 8, 7, "
     "6, 5, 4, "
     "3, 2, 1,\n"
     "2, 3, 4}, float[5] b = {1, 2, 3, 4, 5}, float[5,1,1] s = {0.1, -2, 3, 0.7, 1}> {\n"
     "p = MatMul(x, w) q = Add(p, b) t = Transpose <perm = [0, 3, 1, 2]> (q) y = Mul(s, t) }"},
    {17, "fold-scale",
     "g (float[3,4] x) => (float[3,2] y) <int8[4,2] w = {1, -2, 3, -4, 5, -6, 7, -8}, float[2] s = "
     "{0.1, "
     "0.2},\n"
     "int8[2] z = {0, 0}, float[2] d = {3, 7}> {\n"
     "v = DequantizeLinear <axis = 1> (w, s, z) p = MatMul(x, v) y = Div(p, d) }"},
    {17, "fuse-gemm",
     "g (float[4,3] x, float[3,5] b) => (float[4,5] y) <float[1,5] c = {1, 2, 3, 4, 5}> {\n"
     "p = MatMul(x, b) y = Add(c, p) }"},
    {17, "fuse-gemm",
     "g (double[N,3] x, double[3,5] b) => (double[N,5] y) <double[5] c = {1, 2, 3, 4, 5}> {\n"
     "p = MatMul(x, b) y = Add(p, c) }"},
    {17, "fuse-gemm-transpose",
     "g (float[3,4] x, float[5,3] b, float[5] c) => (float[4,5] y) {\n"
     "s = Transpose(x) t = Transpose <perm = [1, 0]> (b) y = Gemm <alpha = 0.5, beta = 2.0> (s, t, "
     "c) }"},
};

static void fused_models_keep_their_numbers(void **state)
{
    qdq_engine *e = need_ort();

    (void)state;
    for (size_t i = 0; e != NULL && i < QDQ_COUNT(cases); i++)
        assert_rewrite_keeps_numbers(e, &cases[i]);
}

static size_t count_op(const qdq_model *m, qdq_op op)
{
    size_t n = 0;

    QDQ_FOR_NODES (node, m->graph)
        n += node->op == op;
    return n;
}

/* The opset of a model is never raised for a fusion; where it has the operator, a real model keeps
 * its numbers. */
static void a_real_network_has_gelu_from_opset_20_on(void **state)
{
    static kept before, after;
    qdq_error err = QDQ_ERROR_INIT;
    qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;
    qdq_session_opts run = QDQ_SESSION_OPTS_INIT;
    qdq_engine *e = need_ort();
    qdq_target *t = NULL;
    qdq_model *m;

    (void)state;
    if (e == NULL)
        return;
    m = need_model("digits/digits_convnext.onnx");
    assert_ok(qdq_target_load("ort-cpu", &t, &err));
    opts.target = t;
    assert_ok(qdq_model_optimize(m, &opts, NULL, &err));
    assert_int_equal(count_op(m, QDQ_OP_ERF), 3);
    assert_int_equal(count_op(m, QDQ_OP_GELU), 0);
    run.level = QDQ_LEVEL_NONE;
    run_model(e, m, &run, &before);
    assert_ok(qdq_model_set_opset(m, 20, &err));
    assert_ok(qdq_model_optimize(m, &opts, NULL, &err));
    assert_int_equal(count_op(m, QDQ_OP_ERF), 0);
    assert_int_equal(count_op(m, QDQ_OP_GELU), 3);
    run_model(e, m, &run, &after);
    assert_same_numbers(&(rule_case){20, "fuse-gelu", "digits_convnext"}, &before, &after);
    qdq_model_free(m);
    qdq_target_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fused_models_keep_their_numbers),
        cmocka_unit_test(a_real_network_has_gelu_from_opset_20_on),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
