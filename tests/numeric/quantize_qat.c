/* quantize_qat.c - networks that were trained with quantization, completed and run: every layer in
 * an 8-bit kernel, trained scales as they were, accuracy kept, and twice is once. */
#include <math.h>

#include "ir/ir.h"
#include "numeric/ort_help.h"
#include "support/qat_form.h"

static qdq_data *data_for(const qdq_model *m, const char *file, const char *labels)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_data_opts opts = QDQ_DATA_OPTS_INIT;
    qdq_data *d = NULL;

    opts.labels = labels;
    assert_ok(qdq_data_open(test_corpus("%s", file), m, &opts, &d, &err));
    return d;
}

/* BatchNormalization folded as an exporter does it: int8 constants behind DQ, float bias. */
static qdq_model *trained(void)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = need_model("digits/digits_qat_bn.onnx");

    assert_ok(test_fold_qat(m, &err));
    return m;
}

static qdq_model *quantized(qdq_engine *e, const qdq_model *m, const char *passes, qdq_plan **plan)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_quantize_opts opts = QDQ_QUANTIZE_OPTS_INIT;
    qdq_data *calib = data_for(m, "digits/digits_calib.npz", NULL);
    qdq_target *t = NULL;
    qdq_model *q = NULL;

    opts.passes = passes;
    assert_ok(qdq_target_load("ort-cpu", &t, &err));
    assert_ok(qdq_quantize(m, t, e, calib, &opts, plan, &q, &err));
    qdq_target_free(t);
    qdq_data_close(calib);
    return q;
}

static void assert_runs_in_8_bits(qdq_engine *e, const qdq_model *q)
{
    assert_int_equal(count_kernels(e, q, "QLinearConv"), 6);
    assert_int_equal(count_kernels(e, q, "QLinearAdd"), 2);
    assert_int_equal(count_kernels(e, q, "QGemm"), 1);
    assert_int_equal(count_kernels(e, q, "Conv") + count_kernels(e, q, "FusedConv"), 0);
}

static void assert_accurate(qdq_engine *e, const qdq_model *m, const qdq_model *q)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_data *test = data_for(m, "digits/digits_test.npz", "label");
    qdq_compare_result *r = NULL;

    assert_ok(qdq_compare(e, m, q, test, NULL, &r, &err));
    if (!(r->accuracy_b >= (test_saturates() ? 0.97 : 0.9933)))
        fail_msg("accuracy %.4f, %.4f before", r->accuracy_b, r->accuracy_a);
    qdq_free(r);
    qdq_data_close(test);
}

static float scale_of(const qdq_node *n)
{
    float scale;
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_span bytes;
    const qdq_tensor *t = qdq_value_const(qdq_node_in(n, 1));

    assert_non_null(t);
    assert_int_equal(qdq_tensor_data(t, &scratch, &bytes, NULL), QDQ_OK);
    memcpy(&scale, bytes.data, sizeof scale);
    qdq_arena_free(&scratch);
    return scale;
}

/* Every Q of an activation of `before` is in `after`, with its scale; those of weights may be
 * computed. */
static void assert_trained_scales_are_there(const qdq_model *before, const qdq_model *after)
{
    size_t n = 0;

    QDQ_FOR_NODES (q, before->graph) {
        if (q->op != QDQ_OP_QUANTIZELINEAR || qdq_value_const(q->in[0].value) != NULL)
            continue;
        const qdq_value *out = qdq_graph_find(after->graph, q->out[0]->name);
        assert_non_null(out);
        assert_int_equal(out->producer->op, QDQ_OP_QUANTIZELINEAR);
        assert_true(scale_of(out->producer) == scale_of(q));
        n++;
    }
    assert_int_equal(n, 7);
}

static void assert_is_completed(qdq_model *m)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_engine *e = need_ort();
    qdq_plan *p = NULL;
    qdq_model *q = quantized(e, m, NULL, &p);

    assert_int_equal(qdq_plan_get_summary(p)->n_weights, 0);
    assert_runs_in_8_bits(e, q);
    assert_accurate(e, m, q);
    /* scales as numbers */
    assert_ok(qdq_model_run_passes(m, "lift-constants,fold-constants", &err));
    assert_trained_scales_are_there(m, q);
    qdq_plan_free(p);
    qdq_model_free(q);
    qdq_model_free(m);
}

TEST(a_trained_network_is_completed_to_8_bits_from_end_to_end)
{
    assert_is_completed(need_model("digits/digits_qat_bn.onnx"));
}

TEST(so_is_one_that_an_exporter_has_folded)
{
    assert_is_completed(trained());
}

/* Then the biases come from the plan: the scales that they follow are the model's. */
TEST(without_passes_the_biases_are_part_of_the_plan)
{
    qdq_engine *e = need_ort();
    qdq_model *m = trained();
    qdq_plan *p = NULL;
    qdq_model *q = quantized(e, m, QDQ_PASSES_MINIMAL, &p);

    assert_int_equal(qdq_plan_get_summary(p)->n_biases, 7);
    assert_runs_in_8_bits(e, q);
    assert_accurate(e, m, q);
    assert_trained_scales_are_there(m, q);
    qdq_plan_free(p);
    qdq_model_free(q);
    qdq_model_free(m);
}

TEST(quantizing_twice_is_quantizing_once)
{
    static const char *const names[] = {"digits/digits_cnn.onnx", "digits/digits_cnn_bn.onnx",
                                        "digits/digits_convnext.onnx", "digits/digits_vit.onnx",
                                        "digits/digits_qat_bn.onnx"};
    qdq_engine *e = need_ort();

    for (size_t i = 0; i < QDQ_COUNT(names); i++) {
        qdq_model *m = need_model(names[i]);
        qdq_plan *first = NULL, *second = NULL;
        qdq_model *once = quantized(e, m, NULL, &first), *twice = quantized(e, once, NULL, &second);
        const qdq_plan_summary *s = qdq_plan_get_summary(second);
        char *a = test_text_of(once), *b = test_text_of(twice);

        if (s->n_tensors + s->n_weights + s->n_biases > 0 || strcmp(a, b) != 0)
            fail_msg("%s: a second time %zu tensors, %zu weights, %zu biases", names[i],
                     s->n_tensors, s->n_weights, s->n_biases);
        assert_true(s->n_existing > 0);
        qdq_free(a);
        qdq_free(b);
        qdq_plan_free(first);
        qdq_plan_free(second);
        qdq_model_free(once);
        qdq_model_free(twice);
        qdq_model_free(m);
    }
}
