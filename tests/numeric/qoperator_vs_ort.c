/* qoperator_vs_ort.c - what qoperator-to-qdq makes of an operator on codes computes what ONNX
 * Runtime's kernel of that operator does: the same codes, or the next ones (fused multiply, and
 * tables, round otherwise). */
#include "numeric/ort_help.h"

static const struct {
    const char *what, *body;
} cases[] = {
    {"QLinearAdd", "y = com.microsoft.QLinearAdd(q0, s, z, q1, s, z, t, u)"},
    {"QLinearMul", "y = com.microsoft.QLinearMul(q0, s, z, q1, s, z, t, u)"},
    {"QLinearConcat", "y = com.microsoft.QLinearConcat <axis = 1> (t, u, q0, s, z, q1, s, z)"},
    {"QLinearAveragePool",
     "y = com.microsoft.QLinearAveragePool <kernel_shape = [2, 2], pads = [1, 1, 0, "
     "0], count_include_pad = 1> (q0, "
     "s, z, t, u)"},
    {"QLinearAveragePool",
     "y = com.microsoft.QLinearAveragePool <kernel_shape = [3, 3], strides = [2, 2], "
     "ceil_mode = 1> (q0, s, z, t, u)"},
    {"QLinearGlobalAveragePool",
     "y = com.microsoft.QLinearGlobalAveragePool <channels_last = 0> (q0, s, z, t, u)"},
    {"QLinearSigmoid", "y = com.microsoft.QLinearSigmoid(q0, s, z, h, u)"},
    {"QLinearLeakyRelu", "y = com.microsoft.QLinearLeakyRelu <alpha = 0.3> (q0, s, z, t, u)"},
    {"QLinearSoftmax", "y = com.microsoft.QLinearSoftmax <axis = 1, opset = 13> (q0, s, z, h, z0)"},
    {"QLinearSoftmax",
     "y = com.microsoft.QLinearSoftmax <axis = -1, opset = 11> (q0, s, z, h, z0)"},
    {"QLinearWhere",
     "c = Less(x0, x1)\n  y = com.microsoft.QLinearWhere(c, q0, s, z, q1, s, z, t, u)"},
    {"QLinearConv", "y = QLinearConv <pads = [1, 1, 1, 1]> (q0, s, z, k, ks, kz, t, u, kb)"},
    {"QLinearConv", "y = QLinearConv(q0, s, z, k, ks, kz, t, u)"},
    {"QLinearMatMul", "y = QLinearMatMul(q0, s, z, m, ms, mz, t, u)"},
    {"QLinearMatMul", "y = QLinearMatMul(q0, s, z, q1, s, z, t, u)"},
    {"QGemm", "f = Flatten(q0)\n  y = com.microsoft.QGemm <alpha = 0.5, transB = 1> (f, s, z, n, "
              "ns, nz, nb, t, u)"},
    {"MaxPool", "p = MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (q0)\n"
                "  y = com.microsoft.QLinearLeakyRelu <alpha = 0.1> (p, s, z, t, u)"},
    {"Pad",
     "p = Pad(q0, pads, z)\n  y = com.microsoft.QLinearLeakyRelu <alpha = 0.1> (p, s, z, t, u)"},
};

static qdq_model *model_of(const char *body)
{
    char text[4000];

    snprintf(text, sizeof text, "%s  %s\n}\n", test_graph_text("operands"), body);
    return test_model(text);
}

static void assert_same_codes(const char *what, const kept *a, const kept *b)
{
    assert_int_equal(a->size, b->size);
    assert_true(a->size > 0);
    for (size_t i = 0; i < a->size; i++)
        if (abs(a->bytes[i] - b->bytes[i]) > 1)
            fail_msg("%s: code %zu is %d, want %d", what, i, b->bytes[i], a->bytes[i]);
}

TEST(every_operator_gives_the_codes_of_its_kernel)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_engine *e = need_ort();
    static kept before, after;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        qdq_model *m = model_of(cases[i].body);

        run_model(e, m, NULL, &before);
        assert_ok(qdq_model_run_passes(m, "qoperator-to-qdq,drop-unused,drop-unused-opsets", &err));
        assert_int_equal(qdq_model_opset(m), 17);
        run_model(e, m, NULL, &after);
        assert_same_codes(cases[i].what, &before, &after);
        qdq_session_opts none = QDQ_SESSION_OPTS_INIT;
        none.level = QDQ_LEVEL_NONE; /* in float, without the engine's own fusions */
        run_model(e, m, &none, &after);
        assert_same_codes(cases[i].what, &before, &after);
        qdq_model_free(m);
    }
}

TEST(dynamic_products_are_the_same_numbers)
{
    const char *text = test_graph_text(__func__);
    qdq_error err = QDQ_ERROR_INIT;
    qdq_engine *e = need_ort();
    qdq_model *m = test_model(text);
    static kept before, after;

    run_model(e, m, NULL, &before);
    assert_ok(qdq_model_run_passes(m, "qoperator-to-qdq,drop-unused", &err));
    run_model(e, m, NULL, &after);
    assert_int_equal(before.size, 6 * sizeof(float));
    for (size_t i = 0; i < 6; i++)
        assert_float_equal(kept_float(&before, i), kept_float(&after, i), 1e-5);
    qdq_model_free(m);
}
