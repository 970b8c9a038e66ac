/* optimize_ort.c - the corpus before and after all passes on ONNX Runtime: what is computed stays
 * the same, a second run finds nothing to do, Q/DQ are kept. */
#include "numeric/ort_help.h"
#include "support/qat_form.h"

static const char *const models[] = {"digits/digits_cnn.onnx",      "digits/digits_cnn_bn.onnx",
                                     "digits/digits_convnext.onnx", "digits/digits_vit.onnx",
                                     "digits/digits_qat_bn.onnx",   "real/mnist.onnx",
                                     "real/ultraface_rfb320.onnx"};

static qdq_error err;

static qdq_model *optimized(const qdq_model *m, const char *target, qdq_optimize_report **report)
{
    qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;
    qdq_target *t = NULL;
    qdq_model *copy = NULL;

    if (target != NULL)
        assert_ok(qdq_target_load(target, &t, &err));
    opts.target = t;
    opts.verify_each = true;
    assert_ok(qdq_model_clone(m, &copy, &err));
    assert_ok(qdq_model_optimize(copy, &opts, report, &err));
    qdq_target_free(t);
    return copy;
}

static void assert_same_outputs(const char *name, const qdq_model *a, const qdq_model *b,
                                const char *spec)
{
    qdq_data_opts how = QDQ_DATA_OPTS_INIT;
    qdq_compare_opts opts = QDQ_COMPARE_OPTS_INIT;
    qdq_same_result *r;
    qdq_data *d = NULL;

    how.max_samples = strncmp(spec, "random:", 7) == 0 ? 3 : 40;
    assert_ok(qdq_data_open(spec, a, &how, &d, &err));
    opts.threads = 1;
    assert_ok(qdq_compare_same(need_ort(), a, b, d, &opts, 0, &r, &err));
    if (!r->same)
        fail_msg("%s: %s", name, r->why);
    qdq_same_result_free(r);
    qdq_data_close(d);
}

TEST(optimized_models_compute_the_same)
{
    for (size_t i = 0; i < QDQ_COUNT(models); i++)
        for (int k = 0; k < 2; k++) {
            qdq_model *m = need_model(models[i]);
            qdq_model *o = optimized(m, k == 0 ? NULL : "ort-cpu", NULL);

            assert_same_outputs(models[i], m, o,
                                strncmp(models[i], "digits", 6) == 0
                                    ? test_corpus("digits/digits_test.npz")
                                    : "random:3");
            qdq_model_free(o);
            qdq_model_free(m);
        }
}

TEST(optimizing_twice_is_optimizing_once)
{
    for (size_t i = 0; i < QDQ_COUNT(models); i++) {
        qdq_model *m = need_model(models[i]);
        qdq_optimize_report *r = NULL;
        qdq_model *once = optimized(m, "ort-cpu", &r);
        char *a, *b;

        assert_true(r->settled);
        qdq_optimize_report_free(r);
        qdq_model *twice = optimized(once, "ort-cpu", &r);
        assert_ok(qdq_model_to_text(once, &a, &err));
        assert_ok(qdq_model_to_text(twice, &b, &err));
        if (r->changes != 0 || strcmp(a, b) != 0)
            fail_msg("%s: %llu changes in the second run", models[i],
                     (unsigned long long)r->changes);
        qdq_optimize_report_free(r);
        qdq_free(a);
        qdq_free(b);
        qdq_model_free(twice);
        qdq_model_free(once);
        qdq_model_free(m);
    }
}

TEST(the_other_form_of_trained_quantization_is_the_same_model)
{
    qdq_model *m = need_model("digits/digits_qat_bn.onnx"), *folded = NULL;
    qdq_optimize_report *r = NULL;

    assert_ok(qdq_model_clone(m, &folded, &err));
    assert_ok(test_fold_qat(folded, &err));
    assert_same_outputs("folded by hand", m, folded, test_corpus("digits/digits_test.npz"));
    qdq_model *o = optimized(folded, NULL, &r);
    assert_int_equal(r->q_after, r->q_before);
    assert_int_equal(r->dq_after, r->dq_before);
    assert_same_outputs("and optimized", folded, o, test_corpus("digits/digits_test.npz"));
    qdq_optimize_report_free(r);
    qdq_model_free(o);
    qdq_model_free(folded);
    qdq_model_free(m);
}
