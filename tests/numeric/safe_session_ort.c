/* safe_session_ort.c - quantized models that ONNX Runtime's optimizations refuse, break or compute
 * wrong: their results are those of a run without optimizations, and the log says why. */
#include <math.h>

#include "numeric/ort_help.h"
#include "quant/half_precision/safe_session.h"

typedef struct recorded_lines {
    char text[2000];
    int warnings;
} recorded_lines;

static void listen(void *ctx, qdq_log_level level, const char *text)
{
    recorded_lines *h = ctx;

    if (level != QDQ_LOG_WARNING || strstr(text, "optimizations") == NULL)
        return;
    h->warnings++;
    snprintf(h->text, sizeof h->text, "%s", text);
}

static void close_data_and_models(qdq_data *data, qdq_model *a, qdq_model *b)
{
    qdq_data_close(data);
    qdq_model_free(a);
    qdq_model_free(b);
}

/* Two input channels share a scale, all weights are exact in 8 bits. */
#define BLOCKED                                                                                    \
    "<ir_version: 10, opset_import: [\"\" : 21]>\n"                                                \
    "graph (float[3,4] x) => (float[3,2] y) <float s = {0.03125}, uint8 z = {128}, int8[4,2] w = " \
    "{1, 2, 3, "                                                                                   \
    "4, 5, 6, 7, 8}, float[2,2] ws = {0.5, 1.0, 2.0, 4.0}> {\n"                                    \
    "q = QuantizeLinear(x, s, z)\n d = DequantizeLinear(q, s, z)\n"                                \
    "f = DequantizeLinear <axis = 0, block_size = 2> (w, ws)\n y = MatMul(d, f)\n}"

TEST(blocked_codes_that_fail_in_the_run_run_without_optimizations)
{
    qdq_engine *e = need_ort();
    qdq_error err = QDQ_ERROR_INIT;
    recorded_lines h = {{0}, 0};
    qdq_job job = {.size = sizeof job, .log = listen, .ctx = &h};
    qdq_compare_opts opts = QDQ_COMPARE_OPTS_INIT;
    qdq_compare_result *r = NULL;
    qdq_compare_layers_result *layers = NULL;
    qdq_data *data = NULL;
    qdq_model *b = test_model(BLOCKED);
    qdq_model *a = test_graph(__func__);

    opts.job = &job;
    assert_ok(qdq_data_open("random:3", a, NULL, &data, &err));
    assert_ok(qdq_compare(e, a, b, data, &opts, &r, &err));
    assert_true(r->outputs[0].sqnr_db > 30);
    assert_int_equal(h.warnings, 1);
    assert_non_null(strstr(h.text, "second model: run without the engine's optimizations"));
    assert_non_null(strstr(h.text, "MatMulIntegerToFloat"));
    assert_ok(qdq_compare_layers(e, a, b, data, &opts, &layers, &err));
    assert_int_equal(layers->n_layers, 1);
    assert_true(layers->layers[0].introduced.sqnr_db > 30);
    qdq_free(layers);
    qdq_free(r);
    close_data_and_models(data, a, b);
}

/* Nothing to retry: what the engine said is what is told. */
TEST(a_run_that_fails_either_way_says_what_the_first_one_did)
{
    static kept k;
    qdq_engine *e = need_ort();
    qdq_error err = QDQ_ERROR_INIT;
    recorded_lines h = {{0}, 0};
    qdq_job job = {.size = sizeof job, .log = listen, .ctx = &h};
    qdq_model *m = test_graph(__func__);
    qdq_safe_session s = {.engine = e, .model = m, .which = "model", .job = &job};
    float x[2] = {1, 2};
    int64_t n[1] = {7}, two[1] = {2};
    qdq_named_array in[2] = {{"x", {QDQ_FLOAT, 1, {2}, x, sizeof x}},
                             {"n", {QDQ_INT64, 1, {1}, n, sizeof n}}};

    s.opts = (qdq_session_opts)QDQ_SESSION_OPTS_INIT;
    assert_ok(qdq_safe_open(&s, &err));
    assert_fails(QDQ_E_ENGINE, "Reshape", qdq_safe_run(&s, in, 2, keep, &k, &err));
    qdq_safe_close(&s);
    assert_ok(qdq_safe_open(&s, &err));
    in[1].array.data = two;
    assert_ok(qdq_safe_run(&s, in, 2, keep, &k, &err));
    assert_string_equal(k.names, "y;");
    assert_int_equal(h.warnings, 0);
    qdq_safe_close(&s);
    qdq_safe_close(&s);
    qdq_model_free(m);
}

/* 1.31 loads a Conv whose float8 has scales of float16, and makes noise of it; one with scales of
 * float32 it refuses. */
TEST(float8_runs_without_optimizations_whether_they_refuse_it_or_not)
{
    static const char *const scales[] = {"float32", "float16"};
    qdq_engine *e = need_ort();

    for (size_t i = 0; i < QDQ_COUNT(scales); i++) {
        qdq_error err = QDQ_ERROR_INIT;
        recorded_lines h = {{0}, 0};
        qdq_job job = {.size = sizeof job, .log = listen, .ctx = &h};
        qdq_quantize_opts qo = QDQ_QUANTIZE_OPTS_INIT;
        qdq_compare_opts opts = QDQ_COMPARE_OPTS_INIT;
        qdq_compare_result *r = NULL;
        qdq_model *m = NULL, *q = NULL;
        qdq_plan *plan = NULL;
        qdq_target *t = NULL;
        qdq_data *data = NULL;

        assert_ok(qdq_model_load(test_corpus("digits/digits_cnn.onnx"), NULL, &m, &err));
        assert_ok(qdq_data_open(test_corpus("digits/digits_calib.npz"), m, NULL, &data, &err));
        assert_ok(qdq_target_load("tensorrt-fp8", &t, &err));
        if (i == 1)
            assert_ok(qdq_target_set(t, "rest.type", scales[i], &err));
        qo.samples = 24;
        assert_ok(qdq_quantize(m, t, e, data, &qo, &plan, &q, &err));
        opts.first = 24;
        opts.count = 8;
        opts.job = &job;
        assert_ok(qdq_compare(e, m, q, data, &opts, &r, &err));
        assert_true(r->outputs[0].sqnr_db > 25);
        assert_int_equal(h.warnings, 1);
        assert_non_null(strstr(h.text, "which take float8 for integers"));
        qdq_free(r);
        qdq_plan_free(plan);
        qdq_target_free(t);
        close_data_and_models(data, m, q);
    }
}
