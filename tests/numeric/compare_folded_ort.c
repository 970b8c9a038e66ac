/* compare_folded_ort.c - inner values of models whose nodes an optimizer folded into each other, on
 * ONNX Runtime: a result keeps the first node's name and has the last one's numbers. */
#include <math.h>

#include "numeric/ort_help.h"
#include "support/npy_file.h"

static qdq_error err;

static qdq_model *optimized(const qdq_model *m)
{
    qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;
    qdq_model *copy = NULL;

    assert_ok(qdq_model_clone(m, &copy, &err));
    assert_ok(qdq_model_optimize(copy, &opts, NULL, &err));
    return copy;
}

static qdq_compare_layers_result *compared(const qdq_model *a, const qdq_model *b, const char *spec)
{
    qdq_data_opts how = QDQ_DATA_OPTS_INIT;
    qdq_compare_layers_result *r = NULL;
    qdq_data *d = NULL;

    how.max_samples = 2;
    assert_ok(qdq_data_open(spec, a, &how, &d, &err));
    assert_ok(qdq_compare_layers(need_ort(), a, b, d, NULL, &r, &err));
    qdq_data_close(d);
    return r;
}

static void assert_introduces_nothing(const char *name, const qdq_model *m, const char *spec)
{
    qdq_model *o = optimized(m);
    qdq_compare_layers_result *r = compared(m, o, spec);

    assert_true(r->n_layers > 0);
    for (size_t i = 0; i < r->n_layers; i++)
        if (r->layers[i].value.sqnr_db < 60 || r->layers[i].error > 0)
            fail_msg("%s: '%s' (%s) has %.1f dB against the original", name,
                     r->layers[i].value.name, r->layers[i].op, r->layers[i].value.sqnr_db);
    qdq_free(r);
    qdq_model_free(o);
}

TEST(an_optimized_model_introduces_nothing)
{
    static const char *const models[] = {
        "digits/digits_cnn.onnx", "digits/digits_cnn_bn.onnx", "digits/digits_convnext.onnx",
        "digits/digits_vit.onnx", "real/mnist.onnx",           "real/ultraface_rfb320.onnx"};
    qdq_model *made = test_graph("convs");

    assert_introduces_nothing("made", made, "random:1");
    qdq_model_free(made);
    for (size_t i = 0; i < QDQ_COUNT(models); i++) {
        qdq_model *m = need_model(models[i]);

        assert_introduces_nothing(models[i], m, "random:2");
        qdq_model_free(m);
    }
}

/* The pre-normalization values have nothing to compare with, and are listed. */
TEST(what_was_folded_is_told_as_unmatched)
{
    qdq_model *m = test_graph("convs"), *o = optimized(m);
    qdq_compare_layers_result *r = compared(m, o, "random:1");
    bool found = false;

    for (size_t i = 0; i < r->n_unmatched_a; i++) {
        found |= strcmp(r->unmatched_a[i], "c") == 0;
        assert_string_not_equal(r->unmatched_a[i], "n");
    }
    assert_true(found);
    found = false;
    for (size_t i = 0; i < r->n_layers; i++)
        if (strcmp(r->layers[i].value.name, "c") == 0) {
            assert_string_equal(r->layers[i].name_in_a, "n");
            found = true;
        }
    assert_true(found);
    qdq_free(r);
    qdq_model_free(o);
    qdq_model_free(m);
}

/* A factor near 1 went into the Conv; codes of 1 make of its input what is nearer to the value
 * before the factor. */
TEST(a_coarse_model_is_matched_by_what_it_computes_without_codes)
{
    const char *a =
        test_graph_text("a_coarse_model_is_matched_by_what_it_computes_without_codes_a");
    const char *b =
        test_graph_text("a_coarse_model_is_matched_by_what_it_computes_without_codes_b");
    static const float x[] = {1.4F, 2.4F, 3.4F, 4.4F};
    qdq_model *m = test_model(a), *q = test_model(b);
    const char *data = test_npy_file("x.npy", TEST_HEADER("<f4", "(1, 1, 2, 2)"), x, sizeof x);
    qdq_compare_layers_result *r = compared(m, q, data);

    for (size_t i = 0; i < r->n_layers; i++)
        if (strcmp(r->layers[i].value.name, "c") == 0)
            assert_string_equal(r->layers[i].name_in_a, "n");
    assert_int_equal(r->n_layers, 3);
    qdq_free(r);
    qdq_model_free(q);
    qdq_model_free(m);
}

/* Rounding tips over here and there by what folding changes in last digits. The same layers as the
 * report's page and the goal's list have, which compare with the optimized float model. */
TEST(a_quantized_model_is_blamed_as_its_optimized_float_model_would_be)
{
    qdq_model *m = need_model("digits/digits_cnn_bn.onnx"), *o = optimized(m), *q = NULL;
    qdq_target *t = NULL;
    qdq_plan *p = NULL;
    qdq_data *d = NULL;

    assert_ok(qdq_target_load("ort-cpu", &t, &err));
    assert_ok(qdq_data_open("random:3", m, NULL, &d, &err));
    assert_ok(qdq_quantize(m, t, need_ort(), d, NULL, &p, &q, &err));
    qdq_compare_layers_result *given = compared(m, q, "random:4"),
                              *clean = compared(o, q, "random:4");
    for (size_t i = 0; i < clean->n_layers; i++)
        for (size_t k = 0; k < given->n_layers; k++) {
            const qdq_compare_layer *x = &clean->layers[i], *y = &given->layers[k];

            if (strcmp(x->value.name, y->value.name) == 0 &&
                !(fabs(x->error - y->error) <= 0.02 * x->error + 1e-7))
                fail_msg("'%s' introduces %g, against the model as it was given %g", x->node,
                         x->error, y->error);
        }
    assert_string_equal(given->layers[0].node, clean->layers[0].node);
    qdq_free(given);
    qdq_free(clean);
    qdq_data_close(d);
    qdq_target_free(t);
    qdq_plan_free(p);
    qdq_model_free(q);
    qdq_model_free(o);
    qdq_model_free(m);
}
