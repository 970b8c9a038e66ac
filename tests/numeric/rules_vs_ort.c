/* rules_vs_ort.c - rules keep the numbers of models (rules_help.h): what exporters spell out and
 * the one operator agree. */
#include "numeric/rules_help.h"
#include "support/spelled.h"

TEST(rewritten_models_keep_their_numbers)
{
    qdq_engine *e = need_ort();

    if (e != NULL)
        text_each("numbers_stay_on_onnx_runtime.txt", assert_rewrite_keeps_numbers, e);
}

/* The Relu that Q does anyway is not what makes the kernel an 8-bit one. */
TEST(a_conv_whose_relu_is_gone_runs_in_8_bits_as_before)
{
    const char *graph = test_graph_text(__func__);
    qdq_engine *e = need_ort();
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model(graph);

    if (e == NULL) {
        qdq_model_free(m);
        return;
    }
    assert_int_equal(count_kernels(e, m, "QLinearConv"), 1);
    assert_ok(qdq_model_run_passes(m, "drop-bounds-before-quantize", &err));
    assert_int_equal(count_kernels(e, m, "QLinearConv"), 1);
    assert_int_equal(count_kernels(e, m, "Conv") + count_kernels(e, m, "Relu"), 0);
    qdq_model_free(m);
}

/* The opset of a model is never raised for a fusion; where it has the operator, a real model keeps
 * its numbers. */
TEST(a_real_network_has_gelu_from_opset_20_on)
{
    static kept before, after;
    static char name[] = "digits_convnext";
    qdq_error err = QDQ_ERROR_INIT;
    qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;
    qdq_session_opts run = QDQ_SESSION_OPTS_INIT;
    qdq_engine *e = need_ort();
    qdq_target *t = NULL;
    qdq_model *m;

    if (e == NULL)
        return;
    m = need_model("digits/digits_convnext.onnx");
    assert_ok(qdq_target_load("ort-cpu", &t, &err));
    opts.target = t;
    assert_ok(qdq_model_optimize(m, &opts, NULL, &err));
    assert_int_equal(test_count_nodes(m, QDQ_OP_ERF), 3);
    assert_int_equal(test_count_nodes(m, QDQ_OP_GELU), 0);
    run.level = QDQ_LEVEL_NONE;
    run_model(e, m, &run, &before);
    assert_ok(qdq_model_set_opset(m, 20, &err));
    assert_ok(qdq_model_optimize(m, &opts, NULL, &err));
    assert_int_equal(test_count_nodes(m, QDQ_OP_ERF), 0);
    assert_int_equal(test_count_nodes(m, QDQ_OP_GELU), 3);
    run_model(e, m, &run, &after);
    assert_same_numbers(&(text_case){.arg = "fuse-gelu", .before = name}, &before, &after);
    qdq_model_free(m);
    qdq_target_free(t);
}
