/* quantize_openvino.c - the whole way for openvino, with OpenVINO itself as the engine of
 * calibration: what the plan puts into 8 bits runs in 8 bits there, and trained networks keep their
 * accuracy, on ONNX Runtime, too. */
#include "numeric/ort_help.h"
#include "support/placed.h"

static qdq_error err;

typedef struct quantized {
    qdq_model *before, *after;
    qdq_plan *plan;
} quantized;

static quantized quantize(qdq_engine *e, const char *model)
{
    qdq_data_opts opts = QDQ_DATA_OPTS_INIT;
    qdq_quantize_opts how = QDQ_QUANTIZE_OPTS_INIT;
    qdq_data *d = NULL;
    qdq_target *t = NULL;
    quantized q = {0};

    assert_ok(qdq_model_load(test_corpus("digits/%s.onnx", model), NULL, &q.before, &err));
    opts.max_samples = 64;
    assert_ok(qdq_data_open(test_corpus("digits/digits_calib.npz"), q.before, &opts, &d, &err));
    assert_ok(qdq_target_load("openvino", &t, &err));
    assert_ok(qdq_quantize(q.before, t, e, d, &how, &q.plan, &q.after, &err));
    qdq_target_free(t);
    qdq_data_close(d);
    return q;
}

static void quantized_free(quantized q)
{
    qdq_plan_free(q.plan);
    qdq_model_free(q.before);
    qdq_model_free(q.after);
}

/* Every layer with a Conv or a product of matrices reads codes. */
static void expect_8_bits(const char *model, size_t least)
{
    qdq_engine *e = need_openvino();
    qdq_session_opts opts = QDQ_SESSION_OPTS_INIT;
    qdq_layer *g = NULL;
    qdq_session *s = NULL;
    size_t n, found = 0;

    if ((qdq_engine_get_info(e)->capabilities & QDQ_CAN_LIST_LAYERS) == 0)
        test_missing("qdq-openvino.so");
    quantized q = quantize(e, model);
    opts.layers = true;
    opts.shapes = &(qdq_input_shape){"x", 4, {1, 1, 16, 16}};
    opts.n_shapes = 1;
    assert_ok(qdq_session_open(e, q.after, &opts, &s, &err));
    assert_ok(qdq_session_layers(s, NULL, 0, 0, &g, &n, &err));
    for (size_t i = 0; i < n; i++) {
        const bool is_product = strstr(g[i].op, "FullyConnected/") != NULL;

        if (!is_product && strstr(g[i].op, "Convolution/") == NULL)
            continue;
        if (is_product && test_saturates()) /* float by rule, where they are slower in 8 bits */
            continue;
        found++;
        if (strcmp(g[i].in_type, "i8") != 0 && strcmp(g[i].in_type, "u8") != 0)
            fail_msg("%s: layer %s, %s, reads %s", model, g[i].layer, g[i].op, g[i].in_type);
    }
    assert_true(found >= least);
    qdq_free(g);
    qdq_session_close(s);
    quantized_free(q);
}

TEST(convolutions_run_in_8_bits)
{
    expect_8_bits("digits_cnn", 4);
    expect_8_bits("digits_convnext", 4);
}

/* --- accuracy --------------------------------------------------------------------------------- */

static void expect_accuracy(qdq_engine *e, const quantized *q, const char *model, double lost,
                            double sqnr_least)
{
    qdq_data_opts opts = QDQ_DATA_OPTS_INIT;
    qdq_compare_result *r = NULL;
    qdq_data *d = NULL;

    opts.labels = "label";
    assert_ok(qdq_data_open(test_corpus("digits/digits_test.npz"), q->before, &opts, &d, &err));
    assert_ok(qdq_compare(e, q->before, q->after, d, NULL, &r, &err));
    if (r->outputs[0].sqnr_db < sqnr_least - (test_saturates() ? 3 : 0) ||
        r->accuracy_b < r->accuracy_a - lost)
        fail_msg("%s: %.1f dB, accuracy %.4f, was %.4f", model, r->outputs[0].sqnr_db,
                 r->accuracy_b, r->accuracy_a);
    qdq_free(r);
    qdq_data_close(d);
}

static void check(const char *model, double lost, double sqnr_least)
{
    qdq_engine *openvino = need_openvino(), *ort = test_ort();
    quantized q = quantize(openvino, model);

    expect_accuracy(openvino, &q, model, lost, sqnr_least);
    if (ort != NULL)
        expect_accuracy(ort, &q, model, lost, sqnr_least);
    test_assert_plan_replays(q.plan, q.before, q.after);
    quantized_free(q);
}

/* At most two of 597 images; the least SQNR is 1.5 dB below what was seen. */
TEST(networks_keep_their_accuracy_on_both_engines)
{
    check("digits_cnn", 0.0034, 38.5);
    check("digits_convnext", 0.0034, 38.5);
    check("digits_vit", 0.0034, 27.5);
}
