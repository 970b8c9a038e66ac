/* quantize_ort.c - the whole way on ONNX Runtime: what a plan says is what the engine runs, passes
 * change no number, and quantized networks keep their accuracy. */
#include <math.h>

#include "numeric/ort_help.h"

static const char *const digits[] = {"digits_cnn", "digits_cnn_bn", "digits_convnext"};

static qdq_model *loaded(const char *path)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = NULL;

    assert_ok(qdq_model_load(path, NULL, &m, &err));
    return m;
}

static qdq_data *data_for(const qdq_model *m, const char *spec, const char *labels)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_data_opts opts = QDQ_DATA_OPTS_INIT;
    qdq_data *d = NULL;

    opts.labels = labels;
    assert_ok(qdq_data_open(spec, m, &opts, &d, &err));
    return d;
}

static qdq_model *quantized_without(qdq_engine *e, const qdq_model *m, qdq_data *data,
                                    const char *const *exclude)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_target *t = NULL;
    qdq_plan *p = NULL;
    qdq_model *q = NULL;
    qdq_quantize_opts opts = QDQ_QUANTIZE_OPTS_INIT;

    opts.exclude = exclude;
    assert_ok(qdq_target_load("ort-cpu", &t, &err));
    assert_ok(qdq_plan_make(m, t, e, data, &opts, &p, &err));
    assert_ok(qdq_plan_apply(p, m, false, NULL, &q, &err));
    qdq_plan_free(p);
    qdq_target_free(t);
    return q;
}

static qdq_model *quantized(qdq_engine *e, const qdq_model *m, qdq_data *data)
{
    return quantized_without(e, m, data, NULL);
}

TEST(digits_keep_their_accuracy_within_a_fifth_of_a_point)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_engine *e = need_ort();

    for (size_t i = 0; i < QDQ_COUNT(digits); i++) {
        qdq_model *m = loaded(test_corpus("digits/%s.onnx", digits[i]));
        qdq_data *calib = data_for(m, test_corpus("digits/digits_calib.npz"), NULL);
        qdq_model *q = quantized(e, m, calib);
        qdq_data *test = data_for(m, test_corpus("digits/digits_test.npz"), "label");
        qdq_compare_result *r = NULL;

        assert_ok(qdq_compare(e, m, q, test, NULL, &r, &err));
        if (!(r->accuracy_b >= r->accuracy_a - 0.002))
            fail_msg("%s: accuracy %.4f in 8 bits, %.4f in float", digits[i], r->accuracy_b,
                     r->accuracy_a);
        assert_true(r->outputs[0].sqnr_db > 20);
        qdq_free(r);
        qdq_data_close(test);
        qdq_data_close(calib);
        qdq_model_free(q);
        qdq_model_free(m);
    }
}

/* But for rounding: behind a folded BatchNormalization a Q may meet another float32, and round it
 * the other way. */
TEST(cleaning_changes_no_number)
{
    static const struct {
        const char *name;
        double least;
    } models[] = {{"digits/digits_cnn_bn.onnx", 90},
                  {"digits/digits_qat_bn.onnx", 40},
                  {"digits/digits_vit.onnx", 90},
                  {"real/mnist.onnx", 90}};
    qdq_error err = QDQ_ERROR_INIT;
    qdq_engine *e = need_ort();

    for (size_t i = 0; i < QDQ_COUNT(models); i++) {
        qdq_model *m = loaded(test_corpus("%s", models[i].name)), *clean = NULL;
        qdq_data *d = data_for(m, "random:3", NULL);
        qdq_compare_result *r = NULL;

        assert_ok(qdq_model_clone(m, &clean, &err));
        assert_ok(qdq_model_run_passes(clean, "default", &err));
        assert_ok(qdq_compare(e, m, clean, d, NULL, &r, &err));
        if (!(r->outputs[0].sqnr_db > models[i].least))
            fail_msg("%s: %.1f dB after cleaning", models[i].name, r->outputs[0].sqnr_db);
        qdq_free(r);
        qdq_data_close(d);
        qdq_model_free(clean);
        qdq_model_free(m);
    }
}

TEST(a_residual_network_runs_in_8_bit_kernels_from_end_to_end)
{
    qdq_engine *e = need_ort();
    qdq_model *m = loaded(test_corpus("digits/digits_cnn.onnx"));
    qdq_data *calib = data_for(m, test_corpus("digits/digits_calib.npz"), NULL);
    qdq_model *q = quantized(e, m, calib);

    /* all but the first Conv, whose codes the Add shares, and a Gemm of 640 weights: those are
     * faster in float */
    assert_int_equal(count_kernels(e, q, "QLinearConv"), 5);
    assert_int_equal(count_kernels(e, q, "QLinearAdd"), 2);
    assert_int_equal(count_kernels(e, q, "QGemm"), 0);
    qdq_data_close(calib);
    qdq_model_free(q);
    qdq_model_free(m);
}

TEST(a_layer_that_the_user_excludes_runs_in_float)
{
    static const char *const exclude[] = {"^/r1/a/Conv$", NULL};
    qdq_engine *e = need_ort();
    qdq_model *m = loaded(test_corpus("digits/digits_cnn.onnx"));
    qdq_model *q = quantized_without(e, m, NULL, exclude);

    /* and so does the one behind it, or ORT would quantize the excluded one when it loads the
     * file */
    assert_int_equal(count_kernels(e, q, "QLinearConv"), 4);
    assert_int_equal(count_kernels(e, q, "Conv") + count_kernels(e, q, "FusedConv"), 2);
    qdq_model_free(q);
    qdq_model_free(m);
}

TEST(calibration_in_small_chunks_gives_the_same_plan)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_engine *e = need_ort();
    qdq_model *m = loaded(test_corpus("digits/digits_cnn.onnx"));
    qdq_data *calib = data_for(m, test_corpus("digits/digits_calib.npz"), NULL);
    qdq_quantize_opts opts = QDQ_QUANTIZE_OPTS_INIT;
    qdq_target *t = NULL;
    char *text[2];

    assert_ok(qdq_target_load("ort-cpu", &t, &err));
    opts.samples = 8;
    opts.threads = 1;
    for (int i = 0; i < 2; i++) {
        qdq_plan *p = NULL;

        opts.memory = i == 0 ? 0 : 1; /* one tensor at a time */
        assert_ok(qdq_plan_make(m, t, e, calib, &opts, &p, &err));
        assert_ok(qdq_plan_to_text(p, &text[i], &err));
        qdq_plan_free(p);
    }
    assert_string_equal(text[0], text[1]);
    qdq_free(text[0]);
    qdq_free(text[1]);
    qdq_target_free(t);
    qdq_data_close(calib);
    qdq_model_free(m);
}

/* The bytes of the network that a run quantizes to, and its plan. */
static void quantize_with(qdq_engine *e, const char *name, void **bytes, size_t *size, char **plan)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = loaded(test_corpus("digits/%s.onnx", name)), *q = NULL;
    qdq_data *calib = data_for(m, test_corpus("digits/digits_calib.npz"), NULL);
    qdq_quantize_opts opts = QDQ_QUANTIZE_OPTS_INIT;
    qdq_target *t = NULL;
    qdq_plan *p = NULL;

    assert_ok(qdq_target_load("ort-cpu", &t, &err));
    opts.samples = 16;
    opts.threads = 1;
    assert_ok(qdq_quantize(m, t, e, calib, &opts, &p, &q, &err));
    assert_ok(qdq_model_to_bytes(q, NULL, bytes, size, &err));
    assert_ok(qdq_plan_to_text(p, plan, &err));
    qdq_plan_free(p);
    qdq_model_free(q);
    qdq_target_free(t);
    qdq_data_close(calib);
    qdq_model_free(m);
}

/* Arrays travel as they are: no range may depend on where the engine runs. */
TEST(an_engine_in_a_process_of_its_own_gives_the_same_bytes)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_engine_opts opts = QDQ_ENGINE_OPTS_INIT;
    qdq_engine *here = need_ort(), *there;

    opts.in_worker = true;
    opts.worker = QDQ_BUILD_DIR "/qdq-worker";
    assert_ok(qdq_engine_open(ort_spec(here), &opts, &there, &err));
    for (size_t i = 0; i < QDQ_COUNT(digits); i++) {
        void *bytes[2];
        size_t size[2];
        char *plan[2];

        quantize_with(here, digits[i], &bytes[0], &size[0], &plan[0]);
        quantize_with(there, digits[i], &bytes[1], &size[1], &plan[1]);
        assert_int_equal(size[0], size[1]);
        assert_memory_equal(bytes[0], bytes[1], size[0]);
        assert_string_equal(plan[0], plan[1]);
        for (int k = 0; k < 2; k++) {
            qdq_free(bytes[k]);
            qdq_free(plan[k]);
        }
    }
    assert_int_equal(qdq_engine_crashes(there), 0);
    qdq_engine_close(there);
}

TEST(a_plan_for_another_model_is_refused_unless_forced)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_engine *e = need_ort();
    qdq_model *m = loaded(test_corpus("digits/digits_cnn.onnx"));
    qdq_model *other = loaded(test_corpus("digits/digits_cnn_bn.onnx")), *q = NULL;
    qdq_target *t = NULL;
    qdq_plan *p = NULL;

    assert_ok(qdq_target_load("ort-cpu", &t, &err));
    assert_ok(qdq_plan_make(m, t, e, NULL, NULL, &p, &err));
    assert_true(qdq_plan_get_summary(p)->placement_only);
    assert_fails(QDQ_E_FORMAT, "the plan is for another model",
                 qdq_plan_apply(p, other, false, NULL, &q, &err));
    assert_fails(QDQ_E_FORMAT, "the plan names what the model does not have",
                 qdq_plan_apply(p, other, true, NULL, &q, &err));
    assert_null(q);
    qdq_plan_free(p);
    qdq_target_free(t);
    qdq_model_free(m);
    qdq_model_free(other);
}
