/* bias_correct_ort.c - corrections of biases, with means that ONNX Runtime computes: the numbers
 * are those of the definition, every kind of product takes them, and results come nearer.
 * Cross-layer equalization likewise. */
#include <math.h>

#include "base/random.h"
#include "numeric/ort_help.h"
#include "qdq/compare.h"
#include "quant/plan/plan.h"
#include "support/build.h"
#include "support/npy_file.h"

enum { SAMPLES = 8, CHANNELS = 4, PLANE = 6 * 6, COUNT = SAMPLES * CHANNELS * PLANE };

/* Data whose channels lie around 2, 1, 0, -1. */
static const float *shifted(void)
{
    static float x[COUNT];
    qdq_random r = qdq_random_new(3, NULL);

    for (size_t i = 0; i < COUNT; i++)
        x[i] = 2 - (float)(i / PLANE % CHANNELS) + 0.3f * qdq_random_normal(&r);
    return x;
}

static qdq_data *data_for(const qdq_model *m)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_data_opts opts = QDQ_DATA_OPTS_INIT;
    qdq_data *d = NULL;
    const char *path = test_npy_file("x.npy", TEST_HEADER("<f4", "(8, 4, 6, 6)"), shifted(),
                                     COUNT * sizeof(float));

    assert_ok(qdq_data_open(path, m, &opts, &d, &err));
    return d;
}

typedef struct wish {
    const char *target;
    /* key, value, ...; NULL */
    const char *const *set;
    bool correct, equalize;
} wish;

/* SQNR of the first output against m; the plan, if somebody wants it. */
static double quantized(qdq_engine *e, const qdq_model *m, qdq_data *d, qdq_data *test, wish w,
                        qdq_plan **plan)
{
    qdq_quantize_opts opts = QDQ_QUANTIZE_OPTS_INIT;
    qdq_compare_opts co = QDQ_COMPARE_OPTS_INIT;
    qdq_error err = QDQ_ERROR_INIT;
    qdq_compare_result *r = NULL;
    qdq_target *t = NULL;
    qdq_plan *p = NULL;
    qdq_model *q = NULL;

    opts.bias_correction = w.correct ? QDQ_BIAS_CORRECTION_ON : QDQ_BIAS_CORRECTION_OFF;
    opts.equalize = w.equalize;
    opts.samples = 64;
    co.count = qdq_data_count(test) < 200 ? 0 : 200;
    assert_ok(qdq_target_load(w.target, &t, &err));
    for (const char *const *s = w.set; *s != NULL; s += 2)
        assert_ok(qdq_target_set(t, s[0], s[1], &err));
    assert_ok(qdq_quantize(m, t, e, d, &opts, &p, &q, &err));
    co.fake_quant = true;
    assert_ok(qdq_compare(e, m, q, test, &co, &r, &err));
    double sqnr = r->outputs[0].sqnr_db;
    qdq_free(r);
    qdq_model_free(q);
    qdq_target_free(t);
    if (plan != NULL)
        *plan = p;
    else
        qdq_plan_free(p);
    return sqnr;
}

#define SET(...) ((const char *const[]){__VA_ARGS__, NULL})
#define COARSE   SET("weight.type", "int4", "weight.per_channel", "false", "stay_float", "[]")

/* --- numbers ---------------------------------------------------------------------------------- */

TEST(the_numbers_of_a_conv_are_those_of_the_definition)
{
    qdq_engine *e = need_ort();
    test_builder b = test_build(21);
    const float *x = shifted(), *w;
    double mean[CHANNELS] = {0}, largest = 0;
    qdq_plan *p = NULL;

    TEST_INPUT(&b, "x", 1, CHANNELS, 6, 6);
    test_conv(&b, "c", "x", 3, CHANNELS, 3, 1);
    test_output(&b, "c");
    qdq_model *m = test_built(&b);
    qdq_data *d = data_for(m);
    quantized(e, m, d, d, (wish){"ort-cpu", COARSE, true, false}, &p);
    w = (const void *)qdq_value_const(qdq_graph_find(m->graph, "c.w"))->bytes.data;
    for (size_t i = 0; i < COUNT; i++)
        mean[i / PLANE % CHANNELS] += (double)x[i] / (SAMPLES * PLANE);
    for (size_t i = 0; i < 3 * CHANNELS * 9; i++)
        largest = fmax(largest, fabs((double)w[i]));
    float scale = (float)(largest / 7);
    assert_int_equal(p->corrections.n, 1);
    assert_string_equal(p->corrections.at[0].tensor, "c.b");
    for (size_t oc = 0; oc < 3; oc++) {
        double want = 0;

        for (size_t i = 0; i < CHANNELS * 9; i++) {
            float v = w[oc * CHANNELS * 9 + i], back = nearbyintf(v / scale) * scale;
            want += ((double)v - (double)back) * mean[i / 9];
        }
        assert_true(fabs((double)p->corrections.at[0].delta[oc] - want) < 1e-5);
    }
    qdq_plan_free(p);
    qdq_data_close(d);
    qdq_model_free(m);
}

/* --- kinds ------------------------------------------------------------------------------------ */

static void conv(test_builder *b)
{
    test_conv(b, "y", "x", 8, CHANNELS, 3, 1);
}

static void conv_without_bias(test_builder *b)
{
    TEST_RANDOM(b, "w", 8, CHANNELS, 1, 1);
    TEST_NODE(b, "Conv", "y", "x", "w");
}

static void grouped_conv(test_builder *b)
{
    test_conv(b, "y", "x", 8, CHANNELS, 1, 2);
}

static void depthwise_conv(test_builder *b)
{
    test_conv(b, "y", "x", CHANNELS, CHANNELS, 1, CHANNELS);
}

static void conv_transpose(test_builder *b)
{
    const int64_t strides[2] = {2, 2};

    test_conv(b, "c", "x", 32, CHANNELS, 1, 1);
    TEST_RANDOM(b, "w", 32, 32, 2, 2);
    assert_true(
        qdq_node_set_ints(TEST_NODE(b, "ConvTranspose", "y", "c", "w"), "strides", strides, 2));
}

static void shared_bias(test_builder *b)
{
    TEST_RANDOM(b, "w", CHANNELS, CHANNELS, 1, 1);
    TEST_RANDOM(b, "v", CHANNELS, CHANNELS, 1, 1);
    TEST_RANDOM(b, "b", CHANNELS);
    TEST_NODE(b, "Conv", "c", "x", "w", "b");
    TEST_NODE(b, "Conv", "y", "c", "v", "b");
}

static void matmul_and_add(test_builder *b)
{
    TEST_RANDOM(b, "w", 6, 5);
    TEST_RANDOM(b, "b", 5);
    TEST_NODE(b, "MatMul", "m", "x", "w");
    TEST_NODE(b, "Add", "y", "m", "b");
}

static void rows(test_builder *b)
{
    TEST_INTS(b, "shape", 4, 36);
    TEST_NODE(b, "Reshape", "r", "x", "shape");
}

static void gemm(test_builder *b)
{
    rows(b);
    TEST_RANDOM(b, "w", 36, 5);
    TEST_NODE(b, "Gemm", "y", "r", "w");
}

static void gemm_transposed(test_builder *b)
{
    rows(b);
    TEST_RANDOM(b, "w", 32, 4);
    TEST_RANDOM(b, "b", 1);
    qdq_node *n = TEST_NODE(b, "Gemm", "y", "r", "w", "b");
    assert_true(qdq_node_set_int(n, "transA", 1) && qdq_node_set_int(n, "transB", 1));
    assert_true(qdq_node_set_float(n, "alpha", 0.5f) && qdq_node_set_float(n, "beta", 2));
}

/* Weights alone become codes, and coarse ones: all that is lost is what a bias can take off in
 * part. */
TEST(every_kind_of_product_comes_nearer)
{
    static const struct {
        const char *name, *target;
        void (*make)(test_builder *b);
        size_t n;
    } kinds[] = {
        {"conv", "ort-cpu", conv, 1},
        {"conv without bias", "ort-cpu", conv_without_bias, 1},
        {"grouped", "ort-cpu", grouped_conv, 1},
        {"depthwise", "ort-cpu", depthwise_conv, 1},
        {"transposed conv", "tensorrt", conv_transpose, 1},
        {"shared bias", "ort-cpu", shared_bias, 2},
        {"matmul", "ort-cpu", matmul_and_add, 1},
        {"gemm", "ort-cpu", gemm, 1},
        {"transposed gemm", "int4", gemm_transposed, 1},
    };
    qdq_engine *e = need_ort();

    for (size_t i = 0; i < QDQ_COUNT(kinds); i++) {
        test_builder b = test_build(21);
        qdq_plan *p = NULL;

        TEST_INPUT(&b, "x", 1, CHANNELS, 6, 6);
        kinds[i].make(&b);
        test_output(&b, "y");
        qdq_model *m = test_built(&b);
        qdq_data *d = data_for(m);
        double plain = quantized(e, m, d, d, (wish){kinds[i].target, COARSE, false, false}, NULL);
        double corrected = quantized(e, m, d, d, (wish){kinds[i].target, COARSE, true, false}, &p);
        if (p->corrections.n != kinds[i].n || !(corrected > plain + 0.5))
            fail_msg("%s: %zu corrections, %g dB without, %g dB with", kinds[i].name,
                     p->corrections.n, plain, corrected);
        qdq_plan_free(p);
        qdq_data_close(d);
        qdq_model_free(m);
    }
}

/* Beside int32 biases a new one is int32, too, so that the engine goes on fusing; a MatMul without
 * Add is left alone. */
TEST(a_new_bias_is_stored_as_the_others_are)
{
    qdq_engine *e = need_ort();
    test_builder b = test_build(17);
    qdq_plan *p = NULL;

    TEST_INPUT(&b, "x", 1, CHANNELS, 6, 6);
    conv_without_bias(&b);
    TEST_RANDOM(&b, "v", 6, 6);
    TEST_NODE(&b, "MatMul", "z", "y", "v");
    test_output(&b, "z");
    qdq_model *m = test_built(&b);
    qdq_data *d = data_for(m);
    assert_true(quantized(e, m, d, d, (wish){"ort-cpu", SET("stay_float", "[]"), true, false}, &p) >
                20);
    assert_int_equal(p->corrections.n, 1);
    assert_int_equal(p->biases.n, 1);
    assert_string_equal(p->biases.at[0].tensor, p->corrections.at[0].tensor);
    qdq_plan_free(p);
    qdq_data_close(d);
    qdq_model_free(m);
}

/* --- models ----------------------------------------------------------------------------------- */

static qdq_data *digits(const qdq_model *m, const char *file)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_data_opts opts = QDQ_DATA_OPTS_INIT;
    const char *path = test_corpus("%s", file);
    qdq_data *d = NULL;

    assert_ok(qdq_data_open(path, m, &opts, &d, &err));
    return d;
}

/* At least `gain` dB better. */
static void assert_gain(const char *model, const char *target, const char *const *set,
                        bool equalize, double gain)
{
    qdq_engine *e = need_ort();
    qdq_model *m = need_model(model);
    qdq_data *d = digits(m, "digits/digits_calib.npz"), *test = digits(m, "digits/digits_test.npz");
    double plain = quantized(e, m, d, test, (wish){target, set, false, false}, NULL);
    double better = quantized(e, m, d, test, (wish){target, set, !equalize, equalize}, NULL);

    if (!(better >= plain + gain))
        fail_msg("%s on %s: %g dB without, %g dB with, want %g more", model, target, plain, better,
                 gain);
    qdq_data_close(d);
    qdq_data_close(test);
    qdq_model_free(m);
}

TEST(models_come_nearer)
{
    assert_gain("digits/digits_cnn.onnx", "ort-cpu", SET(NULL), false, 0);
    assert_gain("digits/digits_cnn.onnx", "ort-cpu", SET("weight.type", "int4"), false, 3);
    assert_gain("digits/digits_vit.onnx", "ort-cpu", SET(NULL), false, 0);
    assert_gain("digits/digits_vit.onnx", "int4", SET(NULL), false, 2);
}

/* --- equalization ----------------------------------------------------------------------------- */

/* Rows of the first weight are 1000 times apart, columns of the second the other way round. */
static qdq_model *spread(const char *activation)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, CHANNELS, 6, 6);
    test_conv(&b, "c", "x", 8, CHANNELS, 1, 1);
    TEST_NODE(&b, activation, "r", "c");
    test_conv(&b, "y", "r", CHANNELS, 8, 1, 1);
    test_output(&b, "y");
    qdq_model *m = test_built(&b);
    float *w = (float *)(uintptr_t)qdq_value_const(qdq_graph_find(m->graph, "c.w"))->bytes.data;
    float *bias = (float *)(uintptr_t)qdq_value_const(qdq_graph_find(m->graph, "c.b"))->bytes.data;
    float *v = (float *)(uintptr_t)qdq_value_const(qdq_graph_find(m->graph, "y.w"))->bytes.data;
    for (size_t k = 0; k < 8; k++) {
        float factor = powf(1000, (float)k / 7);

        bias[k] *= factor;
        for (size_t i = 0; i < CHANNELS; i++) {
            w[k * CHANNELS + i] *= factor;
            v[i * 8 + k] /= factor;
        }
    }
    return m;
}

TEST(equalization_gives_small_channels_codes_again)
{
    const char *const *one_scale = SET("weight.per_channel", "false", "stay_float", "[]");
    qdq_engine *e = need_ort();
    qdq_model *m = spread("Relu");
    qdq_data *d = data_for(m);

    double plain = quantized(e, m, d, d, (wish){"ort-cpu", one_scale, false, false}, NULL);
    double equal = quantized(e, m, d, d, (wish){"ort-cpu", one_scale, false, true}, NULL);
    if (!(plain < 15 && equal > 30))
        fail_msg("%g dB without, %g dB with", plain, equal);
    qdq_data_close(d);
    qdq_model_free(m);
}

/* digits_cnn lost 2.1 dB before pairs that do not gain were left alone (docs/decisions.md). */
TEST(equalization_does_no_harm_to_models_that_need_none)
{
    const char *const *one_scale = SET("weight.per_channel", "false");

    for (int i = 0; i < 2; i++) {
        const char *const *set = i == 0 ? SET(NULL) : one_scale;

        assert_gain("digits/digits_cnn.onnx", "ort-cpu", set, true, 0);
        assert_gain("digits/digits_cnn_bn.onnx", "ort-cpu", set, true, 0);
        assert_gain("digits/digits_convnext.onnx", "ort-cpu", set, true, 0);
    }
}
