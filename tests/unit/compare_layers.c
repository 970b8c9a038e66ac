/* Which layer introduces how much: matching and passes on the simulated engine, the numbers on ONNX
 * Runtime. */
#include <math.h>

#include "support/build.h"
#include "support/npy_file.h"

static qdq_error err;

#define HEAD "<ir_version: 9, opset_import: [\"\" : 17]>\n"

static qdq_engine *sim(void)
{
    static const char json[] =
        "{\"qdq_sim\": 1, \"error\": 0.01, \"ops\": {\"MatMul\": {\"float_us\": 50, "
        "\"int8_us\": 20, \"inputs\": 2}}}";

    return test_sim(json);
}

/* NULL when it fails, with the reason in `err`. */
static qdq_compare_layers_result *compared(qdq_engine *e, const char *a, const char *b,
                                           const char *spec, const qdq_compare_opts *opts)
{
    qdq_model *m = test_model(a), *n = test_model(b);
    qdq_compare_layers_result *r = NULL;
    qdq_data *d = NULL;

    assert_ok(qdq_data_open(spec, m, NULL, &d, &err));
    qdq_status st = qdq_compare_layers(e, m, n, d, opts, &r, &err);
    assert_true((st == QDQ_OK) == (r != NULL));
    qdq_data_close(d);
    qdq_model_free(m);
    qdq_model_free(n);
    return r;
}

static qdq_compare_layers_result *must(qdq_compare_layers_result *r)
{
    if (r == NULL)
        fail_msg("%s", err.text);
    return r;
}

static const qdq_compare_layer *layer(const qdq_compare_layers_result *r, const char *tensor)
{
    for (size_t i = 0; i < r->n_layers; i++)
        if (strcmp(r->layers[i].value.name, tensor) == 0)
            return &r->layers[i];
    fail_msg("no layer makes '%s'", tensor);
    return NULL;
}

/* --- matching --------------------------------------------------------------------------------- */

TEST(layers_inside_functions_are_matched_as_cleaning_names_them)
{
    const char *flat = test_graph_text("flat");
    const char *in_function = test_graph_text("in_function");
    qdq_engine *e = sim();
    qdq_compare_layers_result *r = must(compared(e, in_function, flat, "random:1", NULL));

    assert_string_equal(layer(r, "m")->node, "MatMul@m");
    assert_true(layer(r, "m")->quantized);
    assert_int_equal(r->n_unmatched_a, 0);
    qdq_free(r);
    qdq_engine_close(e);
}

/* The sum is in the second model alone: an --exclude of it would fit nothing. */
TEST(a_product_whose_channels_are_in_float_is_named_and_not_the_sum)
{
    const char *a =
        test_graph_text("a_product_whose_channels_are_in_float_is_named_and_not_the_sum_a");
    const char *b =
        test_graph_text("a_product_whose_channels_are_in_float_is_named_and_not_the_sum_b");
    qdq_engine *e = sim();
    qdq_compare_layers_result *r = must(compared(e, a, b, "random:1", NULL));

    assert_string_equal(layer(r, "p")->node, "MatMul@m");
    assert_string_equal(layer(r, "p")->op, "MatMul");
    qdq_free(r);
    qdq_engine_close(e);
}

TEST(a_model_introduces_nothing_against_itself)
{
    qdq_engine *e = sim();
    qdq_compare_layers_result *r =
        must(compared(e, test_graph_text("plain"), test_graph_text("plain"), "random:1", NULL));

    assert_int_equal(r->samples, 8);
    assert_int_equal(r->n_layers, 3);
    for (size_t i = 0; i < r->n_layers; i++) {
        assert_false(r->layers[i].quantized);
        assert_true(r->layers[i].error == 0 && isinf(r->layers[i].value.sqnr_db));
        assert_int_equal(r->layers[i].value.elements, 16);
    }
    assert_int_equal(r->n_unmatched_a + r->n_unmatched_b, 0);
    qdq_free(r);
    qdq_engine_close(e);
}

TEST(tensors_that_only_one_has_are_reported)
{
    const char *renamed = test_graph_text(__func__);
    qdq_engine *e = sim();
    qdq_compare_layers_result *r =
        must(compared(e, test_graph_text("plain"), renamed, "random:1", NULL));

    assert_int_equal(r->n_layers, 2);
    assert_int_equal(r->n_unmatched_a, 1);
    assert_string_equal(r->unmatched_a[0], "u");
    assert_int_equal(r->n_unmatched_b, 1);
    assert_string_equal(r->unmatched_b[0], "v");
    qdq_free(r);
    qdq_engine_close(e);
}

TEST(what_has_another_shape_is_no_match)
{
    const char *turned = test_graph_text(__func__);
    qdq_engine *e = sim();
    qdq_compare_layers_result *r =
        must(compared(e, test_graph_text("plain"), turned, "random:1", NULL));

    assert_int_equal(r->n_layers, 2);
    assert_string_equal(r->unmatched_a[0], "u");
    qdq_free(r);
    qdq_engine_close(e);
}

TEST(many_tensors_take_several_passes)
{
    enum { n = 1200 };
    qdq_engine *e = sim();
    qdq_compare_opts opts = QDQ_COMPARE_OPTS_INIT;
    static char text[n * 40];
    size_t at = (size_t)snprintf(text, sizeof text,
                                 HEAD "g (float[N,2] x) => (float[N,2] y) { t0 = Neg(x)\n");

    for (int i = 1; i < n; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "t%d = Neg(t%d)\n", i, i - 1);
    snprintf(text + at, sizeof text - at, "y = Relu(t%d) }", n - 1);
    opts.count = 2;
    qdq_compare_layers_result *r = must(compared(e, text, text, "random:1", &opts));
    assert_int_equal(r->n_layers, n + 1);
    for (size_t i = 0; i < r->n_layers; i++)
        assert_int_equal(r->layers[i].value.elements, 4);
    qdq_free(r);
    qdq_engine_close(e);
}

TEST(samples_that_are_not_there_are_refused)
{
    qdq_engine *e = sim();
    qdq_compare_opts opts = QDQ_COMPARE_OPTS_INIT;

    opts.first = 8;
    assert_null(compared(e, test_graph_text("plain"), test_graph_text("plain"), "random:1", &opts));
    assert_fails(QDQ_E_USAGE, "samples 8 to 8, the data have 8", err.code);
    qdq_engine_close(e);
}

TEST(the_second_model_is_named_when_it_does_not_run)
{
    qdq_engine *e = sim();

    assert_null(compared(e, test_graph_text("plain"),
                         HEAD "g (float[N,2] w) => (float[N,2] y) { y = Relu(w) }", "random:1",
                         NULL));
    assert_non_null(strstr(err.text, "second model, sample 0"));
    qdq_engine_close(e);
}

/* --- numbers, on ONNX Runtime ----------------------------------------------------------------- */

static const float data[] = {1, 2, 4, 3, 5, 6};

static const char *samples(void)
{
    const test_array arrays[] = {{"x", TEST_HEADER("<f4", "(3, 2)"), data, sizeof data}};

    return test_npz_file("layers.npz", false, arrays, 1);
}

TEST(the_layer_behind_the_q_introduces_the_error_and_others_hand_it_on)
{
    qdq_engine *e = need_ort();

    qdq_compare_layers_result *r = must(
        compared(e, test_graph_text("by_hand"), test_graph_text("by_hand_q"), samples(), NULL));
    double signal = 1.25 * 1.25 + 2 * 2 + 4.25 * 4.25 + 3 * 3 + 5.25 * 5.25 + 6 * 6,
           noise = 3 * 0.25 * 0.25;
    const qdq_compare_layer *u = &r->layers[0]; /* the worst */

    assert_string_equal(u->value.name, "u");
    assert_string_equal(u->node, "neg");
    assert_string_equal(u->op, "Neg");
    assert_true(u->quantized);
    assert_true(fabs(u->error - noise / signal) < 1e-9);
    assert_true(fabs(u->introduced.sqnr_db - 10 * log10(signal / noise)) < 1e-9);
    const qdq_compare_layer *t = layer(r, "t");
    assert_true(isinf(t->value.sqnr_db) && t->error == 0);
    assert_true(fabs(t->read_sqnr_db - 10 * log10(signal / noise)) < 1e-9);
    const qdq_compare_layer *y = layer(r, "y");
    assert_true(y->error == 0 && !y->quantized);
    assert_true(fabs(y->value.sqnr_db - 10 * log10(signal / noise)) < 1e-9);
    assert_true(isnan(y->read_sqnr_db));
    qdq_free(r);
}

/* Insertion gives a quantized graph output its name back behind the DQ. */
TEST(an_output_behind_a_dq_is_matched_with_what_is_before_its_q)
{
    const char *a = test_graph_text("an_output_behind_a_dq_is_matched_with_what_is_before_its_q_a");
    const char *b = test_graph_text("an_output_behind_a_dq_is_matched_with_what_is_before_its_q_b");
    qdq_engine *e = need_ort();

    qdq_compare_layers_result *r = must(compared(e, a, b, samples(), NULL));
    assert_int_equal(r->n_layers, 1);
    assert_string_equal(r->layers[0].node, "add");
    assert_true(isinf(r->layers[0].value.sqnr_db));
    assert_true(fabs(r->layers[0].read_sqnr_db - 10 * log10(93.6875 / 0.1875)) < 1);
    assert_true(r->layers[0].error > 0);
    assert_int_equal(r->n_unmatched_b, 0);
    qdq_free(r);
}

/* What is float here is 16 bits wide there: it is fed in the other's type. */
TEST(a_half_precision_layer_is_fed_in_its_own_type)
{
    static const char a[] =
        HEAD "g (float[N,2] x) => (float[N,2] y) { t = Relu(x) u = Neg(t) y = Abs(u) }";
    const char *b = test_graph_text(__func__);
    static const char b19[] = "<ir_version: 9, opset_import: [\"\" : 19]>\n";
    char text[1000];
    qdq_engine *e = need_ort();

    snprintf(text, sizeof text, "%s%s", b19, b + strlen(HEAD));
    qdq_compare_layers_result *r = must(compared(e, a, text, samples(), NULL));
    assert_true(layer(r, "u")->quantized);
    assert_true(layer(r, "u")->error == 0);
    qdq_free(r);
}

static qdq_model *two_products(void)
{
    test_builder b = test_build(21);

    TEST_INPUT(&b, "x", 4, 64);
    TEST_RANDOM(&b, "v", 64, 64);
    TEST_RANDOM(&b, "w", 64, 64);
    TEST_NODE(&b, "MatMul", "t", "x", "v");
    TEST_NODE(&b, "MatMul", "y", "t", "w");
    test_output(&b, "y");
    return test_built(&b);
}

TEST(a_value_that_is_zero_everywhere_has_no_sqnr)
{
    const char *a = test_graph_text(__func__);
    qdq_engine *e = need_ort();

    qdq_compare_layers_result *r = must(compared(e, a, a, samples(), NULL));
    assert_true(isnan(layer(r, "t")->value.sqnr_db) && layer(r, "t")->error == 0);
    qdq_free(r);
}

/* Such layers have neither Q nor DQ around them: a goal ranked them as if they lost nothing. */
TEST(weights_in_blocks_introduce_the_same_error_inside_an_operator_as_behind_dq)
{
    static const char *const targets[] = {"int4", "ort-cpu-int4"};
    double lost[2][2] = {{0}};
    qdq_engine *e = need_ort();
    qdq_compare_opts opts = QDQ_COMPARE_OPTS_INIT;

    for (int k = 0; k < 2; k++) {
        qdq_model *m = two_products(), *out = NULL;
        qdq_target *t = NULL;
        qdq_plan *p = NULL;
        qdq_data *d = NULL;
        qdq_compare_layers_result *r = NULL;

        assert_ok(qdq_target_load(targets[k], &t, &err));
        assert_ok(qdq_target_set(t, "weight.type", "int4", &err));
        assert_ok(qdq_target_set(t, "weight.symmetric", "true", &err));
        if (k == 1) /* data in float, as behind DQ */
            assert_ok(qdq_target_set(t, "weight.accuracy_level", "1", &err));
        assert_ok(qdq_data_open("random:1", m, NULL, &d, &err));
        assert_ok(qdq_quantize(m, t, e, d, NULL, &p, &out, &err));
        assert_ok(qdq_compare_layers(e, m, out, d, &opts, &r, &err));
        for (int i = 0; i < 2; i++) {
            const qdq_compare_layer *l = layer(r, i == 0 ? "t" : "y");

            assert_true(l->quantized);
            lost[k][i] = l->introduced.sqnr_db;
        }
        qdq_free(r);
        qdq_plan_free(p);
        qdq_model_free(out);
        qdq_data_close(d);
        qdq_target_free(t);
        qdq_model_free(m);
    }
    for (int i = 0; i < 2; i++) {
        assert_true(lost[0][i] > 10 && lost[0][i] < 40);
        assert_true(fabs(lost[0][i] - lost[1][i]) < 0.1); /* sums in another order */
    }
}
