/* quantize_tensorrt.c - the whole way for tensorrt with ONNX Runtime as the engine of calibration:
 * the file loads and runs there, and trained networks keep their accuracy. */
#include "numeric/ort_help.h"
#include "support/spelled.h"

static qdq_model *quantized(qdq_engine *e, const qdq_model *m, const char *target)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_data_opts opts = QDQ_DATA_OPTS_INIT;
    qdq_data *d = NULL;
    qdq_target *t = NULL;
    qdq_plan *p = NULL;
    qdq_model *q = NULL;

    assert_ok(qdq_data_open(test_corpus("digits/digits_calib.npz"), m, &opts, &d, &err));
    assert_ok(qdq_target_load(target, &t, &err));
    if (strcmp(target, "tensorrt") == 0) /* TensorRT never saturates, processors may */
        assert_ok(qdq_target_set(t, "weight.pairs", "true", &err));
    assert_ok(qdq_quantize(m, t, e, d, NULL, &p, &q, &err));
    assert_true(qdq_plan_get_summary(p)->n_quantized > 0);
    qdq_plan_free(p);
    qdq_target_free(t);
    qdq_data_close(d);
    return q;
}

/* At most so much of the accuracy may go. */
static void check(const char *target, const char *model, double accuracy_lost, double sqnr_least)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_data_opts opts = QDQ_DATA_OPTS_INIT;
    qdq_compare_result *r = NULL;
    qdq_data *d = NULL;
    qdq_model *m = NULL;
    qdq_engine *e = need_ort();

    assert_ok(qdq_model_load(test_corpus("digits/%s.onnx", model), NULL, &m, &err));
    qdq_model *q = quantized(e, m, target);
    opts.labels = "label";
    assert_ok(qdq_data_open(test_corpus("digits/digits_test.npz"), m, &opts, &d, &err));
    assert_ok(qdq_compare(e, m, q, d, NULL, &r, &err));
    if (r->outputs[0].sqnr_db < sqnr_least || r->accuracy_b < r->accuracy_a - accuracy_lost)
        fail_msg("%s: %.1f dB, accuracy %.4f, was %.4f", model, r->outputs[0].sqnr_db,
                 r->accuracy_b, r->accuracy_a);
    qdq_free(r);
    qdq_data_close(d);
    qdq_model_free(q);
    qdq_model_free(m);
}

TEST(a_convolutional_network_keeps_its_accuracy)
{
    check("tensorrt", "digits_cnn", 0.004, 35);
}

TEST(convnext_keeps_its_accuracy)
{
    check("tensorrt", "digits_convnext", 0.004, 30);
}

TEST(a_vision_transformer_keeps_its_accuracy)
{
    check("tensorrt", "digits_vit", 0.01, 23);
}

/* ONNX Runtime refuses such models but for its plain kernels, one operator after the other. */
TEST(networks_keep_their_accuracy_in_fp8)
{
    check("tensorrt-fp8", "digits_cnn", 0.004, 28);
    check("tensorrt-fp8", "digits_convnext", 0.004, 32);
    check("tensorrt-fp8", "digits_vit", 0.01, 22);
}

/* LayerNormalization in nine nodes at opset 13: fused, quantized and as exact as at opset 17. */
TEST(spelled_norms_give_what_the_operator_gives)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_data_opts opts = QDQ_DATA_OPTS_INIT;
    qdq_compare_result *r = NULL;
    qdq_data *d = NULL;
    qdq_model *m = NULL, *spelled = NULL;
    qdq_engine *e = need_ort();

    assert_ok(qdq_model_load(test_corpus("digits/digits_convnext.onnx"), NULL, &m, &err));
    assert_ok(qdq_model_clone(m, &spelled, &err));
    assert_true(test_spell_layernorms(spelled, 13) > 0);
    qdq_model *q17 = quantized(e, m, "tensorrt"), *q13 = quantized(e, spelled, "tensorrt");
    assert_int_equal(test_count_nodes(q13, QDQ_OP_LAYERNORMALIZATION),
                     test_count_nodes(q17, QDQ_OP_LAYERNORMALIZATION));
    assert_int_equal(test_count_nodes(q13, QDQ_OP_QUANTIZELINEAR),
                     test_count_nodes(q17, QDQ_OP_QUANTIZELINEAR));
    assert_ok(qdq_data_open(test_corpus("digits/digits_test.npz"), m, &opts, &d, &err));
    assert_ok(qdq_compare(e, q17, q13, d, NULL, &r, &err));
    /* scales are found on the same values but for the order of their sums */
    if (r->outputs[0].sqnr_db < 50)
        fail_msg("%.1f dB", r->outputs[0].sqnr_db);
    qdq_free(r);
    qdq_data_close(d);
    qdq_model_free(q17);
    qdq_model_free(q13);
    qdq_model_free(spelled);
    qdq_model_free(m);
}
