/* statistics_parts.c - trained models on ONNX Runtime, calibrated in 2, 3 and 16 parts: statistics
 * have the bytes of one run, and the quantized model those of all samples. */
#include "support/parts.h"
#include "support/test.h"

#include "base/file.h"

enum { SAMPLES = 17 };

static qdq_error err;

static void assert_same_file(const char *a, const char *b)
{
    char *x, *y;
    size_t n, k;

    assert_ok(qdq_read_file(a, SIZE_MAX / 8, &x, &n, &err));
    assert_ok(qdq_read_file(b, SIZE_MAX / 8, &y, &k, &err));
    assert_true(n == k && memcmp(x, y, n) == 0);
    qdq_free(x);
    qdq_free(y);
}

static const char *quantized(const test_parts *p, const char *cache, const char *name)
{
    qdq_quantize_opts o = p->opts;
    qdq_save_opts so = QDQ_SAVE_OPTS_INIT;
    const char *path = test_path("%s", name);
    qdq_plan *plan = NULL;
    qdq_model *m = NULL;

    o.cache = cache;
    so.allow_overwrite = true;
    assert_ok(qdq_quantize(p->model, p->target, p->engine, cache != NULL ? NULL : p->data, &o,
                           &plan, &m, &err));
    assert_ok(qdq_model_save(m, path, &so, &err));
    qdq_plan_free(plan);
    qdq_model_free(m);
    return path;
}

static void assert_parts_are_one(const test_parts *p, size_t n, test_merging how, const char *one,
                                 const char *whole)
{
    qdq_statistics *all = test_merge_parts(p, n, how);
    char *text = test_statistics_text(all);

    if (strcmp(text, one) != 0)
        fail_msg("%zu parts by %s: other statistics than of one run", n,
                 qdq_method_name(p->opts.method));
    qdq_free(text);
    if (n == 3) { /* equal bytes make equal plans */
        const char *cache = test_path("all.json");

        assert_ok(qdq_statistics_save(all, cache, true, &err));
        assert_same_file(whole, quantized(p, cache, "parts.onnx"));
    }
    qdq_statistics_free(all);
}

static void check_method(test_parts *p, qdq_method method)
{
    p->opts.method = method;
    qdq_statistics *s = test_collect(p, 0, 0);
    char *one = test_statistics_text(s);
    const char *whole = quantized(p, NULL, "whole.onnx");

    qdq_statistics_free(s);
    assert_parts_are_one(p, 2, TEST_BACKWARD, one, whole);
    assert_parts_are_one(p, 3, TEST_IN_PAIRS, one, whole);
    if (method == QDQ_METHOD_MSE || method == QDQ_METHOD_MOVING_AVERAGE)
        assert_parts_are_one(p, 16, TEST_IN_PAIRS, one, whole);
    qdq_free(one);
}

static void check_model(const char *name, const char *data, const char *target)
{
    static const qdq_method methods[] = {
        QDQ_METHOD_MAX, QDQ_METHOD_ENTROPY,        QDQ_METHOD_PERCENTILE,
        QDQ_METHOD_MSE, QDQ_METHOD_MOVING_AVERAGE, QDQ_METHOD_AUTO};
    test_parts p = {.engine = test_ort(), .opts = QDQ_QUANTIZE_OPTS_INIT};
    qdq_data_opts o = QDQ_DATA_OPTS_INIT;
    qdq_model *m = NULL;
    qdq_target *t = NULL;

    o.max_samples = SAMPLES;
    p.opts.threads = 1;
    assert_ok(qdq_model_load(name, NULL, &m, &err));
    assert_ok(qdq_target_load(target, &t, &err));
    assert_ok(qdq_data_open(data, m, &o, &p.data, &err));
    p.model = m;
    p.target = t;
    for (size_t i = 0; i < QDQ_COUNT(methods); i++)
        check_method(&p, methods[i]);
    qdq_data_close(p.data);
    qdq_target_free(t);
    qdq_model_free(m);
}

TEST(trained_models_calibrate_in_parts_as_in_one_run)
{
    static const char *const digits[] = {"digits_cnn", "digits_cnn_bn", "digits_convnext",
                                         "digits_vit", "digits_qat_bn"};

    need_ort();
    /* sanitized, each takes ten seconds; a target each */
    for (size_t i = test_is_sanitized() ? 3 : 0; i < QDQ_COUNT(digits); i++)
        check_model(test_corpus("digits/%s.onnx", digits[i]),
                    test_corpus("digits/digits_calib.npz"), i % 2 == 0 ? "ort-cpu" : "tensorrt");
}

/* Half precision: which nodes stay float32 is decided by ranges of all tensors. */
TEST(statistics_decide_what_stays_float32)
{
    test_parts p = {.engine = need_ort(), .opts = QDQ_QUANTIZE_OPTS_INIT};
    qdq_data_opts o = QDQ_DATA_OPTS_INIT;
    qdq_model *m = NULL;
    qdq_target *t = NULL;

    o.max_samples = SAMPLES;
    p.opts.threads = 1;
    assert_ok(qdq_model_load(test_corpus("digits/digits_convnext.onnx"), NULL, &m, &err));
    assert_ok(qdq_target_load("openvino", &t, &err));
    assert_ok(qdq_target_set(t, "rest.type", "float16", &err));
    assert_ok(qdq_data_open(test_corpus("digits/digits_calib.npz"), m, &o, &p.data, &err));
    p.model = m;
    p.target = t;
    check_method(&p, QDQ_METHOD_ENTROPY);
    qdq_data_close(p.data);
    qdq_target_free(t);
    qdq_model_free(m);
}
