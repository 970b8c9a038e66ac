/* formats_ort.c - every number format of weights, run by ONNX Runtime: a quantized model computes
 * what the float model with the decoded weights does, and MatMulNBits and GatherBlockQuantized what
 * DequantizeLinear does. */
#include <math.h>

#include "ir/graph_check.h"
#include "numeric/ort_help.h"
#include "quant/plan/plan.h"
#include "support/build.h"

/* ids -> Gather table [40, 70] -> MatMul w [70, 24] -> Gemm v [10, 24] + c, transB -> Gemm u [10,
 * 6] */
static qdq_model *products(void)
{
    test_builder b = test_build(21);
    const int64_t five = 5;
    qdq_dim dim = {five, NULL};

    assert_non_null(qdq_graph_add_input(b.g, "ids", qdq_type_tensor(b.m, QDQ_INT64, 1, &dim)));
    TEST_RANDOM(&b, "table", 40, 70);
    TEST_RANDOM(&b, "w", 70, 24);
    TEST_RANDOM(&b, "v", 10, 24);
    TEST_RANDOM(&b, "c", 10);
    TEST_RANDOM(&b, "u", 10, 6);
    TEST_NODE(&b, "Gather", "x", "table", "ids");
    TEST_NODE(&b, "MatMul", "y", "x", "w");
    assert_true(qdq_node_set_int(TEST_NODE(&b, "Gemm", "z", "y", "v", "c"), "transB", 1));
    TEST_NODE(&b, "Gemm", "q", "z", "u");
    test_output(&b, "y");
    test_output(&b, "q");
    return test_built(&b);
}

/* Each "key=value"; ends with NULL. */
static qdq_model *quantized(qdq_engine *e, const qdq_model *m, const char *target,
                            const char *const *set)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_target *t = NULL;
    qdq_plan *p = NULL;
    qdq_model *q = NULL;

    assert_ok(qdq_target_load(target, &t, &err));
    for (; *set != NULL; set += 2)
        assert_ok(qdq_target_set(t, set[0], set[1], &err));
    assert_ok(qdq_quantize(m, t, e, NULL, NULL, &p, &q, &err));
    qdq_plan_free(p);
    qdq_target_free(t);
    return q;
}

static kept outputs(qdq_engine *e, const qdq_model *m, qdq_opt_level level)
{
    static kept k;
    qdq_session_opts so = QDQ_SESSION_OPTS_INIT;

    so.level = level;
    run_model(e, m, &so, &k);
    return k;
}

#define SET(...) ((const char *const[]){__VA_ARGS__, NULL})

TEST(each_format_computes_what_its_decoded_weights_do)
{
    static const char *const types[] = {"int8", "uint8", "int16",       "uint16",
                                        "int4", "uint4", "float8e4m3fn"};
    static const char *const blocks[] = {"0", "16", "-1"};
    static const char *const stores[] = {"codes", "float"};
    static kept want, have;
    qdq_engine *e = need_ort();
    qdq_model *m = products();

    for (size_t t = 0; t < QDQ_COUNT(types); t++)
        for (size_t b = 0; b < QDQ_COUNT(blocks); b++)
            for (size_t s = 0; s < QDQ_COUNT(stores); s++) {
                qdq_error err = QDQ_ERROR_INIT;
                qdq_model *stripped = NULL;
                qdq_plan *p = NULL;
                qdq_model *q =
                    quantized(e, m, "int4",
                              SET("weight.type", types[t], "weight.block", blocks[b],
                                  "weight.symmetric", types[t][0] == 'u' ? "false" : "true",
                                  "weight.store", stores[s], "weight.tables", "true"));

                assert_ok(qdq_plan_import(q, NULL, &p, &stripped, &err));
                assert_int_equal(p->weights.n, 4);
                have = outputs(e, q, QDQ_LEVEL_NONE);
                want = outputs(e, s == 0 ? stripped : m, QDQ_LEVEL_NONE);
                expect_near(stores[s], &want, &have, s == 0 ? 1e-5 : 0.3);
                qdq_plan_free(p);
                qdq_model_free(stripped);
                qdq_model_free(q);
            }
    qdq_model_free(m);
}

TEST(operators_of_the_engine_compute_what_dequantizelinear_does)
{
    static const char *const types[] = {"int4", "uint4"}, *const symmetric[] = {"true", "false"};
    static kept want, have;
    qdq_engine *e = need_ort();
    qdq_model *m = products();

    for (size_t t = 0; t < 2; t++)
        for (size_t s = 0; s < 2; s++) {
            qdq_model *dq = quantized(e, m, "int4",
                                      SET("weight.type", types[t], "weight.symmetric", symmetric[s],
                                          "weight.tables", "true"));
            qdq_model *nbits =
                quantized(e, m, "ort-cpu-int4",
                          SET("weight.type", types[t], "weight.symmetric", symmetric[s],
                              "weight.tables", "true", "weight.accuracy_level", "1"));

            want = outputs(e, dq, QDQ_LEVEL_NONE);
            have = outputs(e, nbits, QDQ_LEVEL_ALL);
            expect_near(types[t], &want, &have, 1e-5);
            assert_int_equal(count_kernels(e, nbits, "MatMulNBits"), 3);
            assert_int_equal(count_kernels(e, nbits, "GatherBlockQuantized"), 1);
            qdq_model_free(dq);
            qdq_model_free(nbits);
        }
    qdq_model_free(m);
}

TEST(eight_bits_fit_into_the_engine_s_products_too)
{
    static kept want, have;
    qdq_engine *e = need_ort();
    qdq_model *m = products();
    qdq_model *dq = quantized(e, m, "int4", SET("weight.type", "int8"));
    qdq_model *nbits = quantized(
        e, m, "ort-cpu-int4",
        SET("weight.type", "int8", "weight.symmetric", "true", "weight.accuracy_level", "1"));

    want = outputs(e, dq, QDQ_LEVEL_NONE);
    have = outputs(e, nbits, QDQ_LEVEL_ALL);
    expect_near("int8", &want, &have, 1e-5);
    qdq_model_free(dq);
    qdq_model_free(nbits);
    qdq_model_free(m);
}

/* uint8, int16, float8 and int4 weights side by side. The engine refuses to fuse float8, so none is
 * asked for. */
TEST(formats_of_single_nodes_stand_side_by_side)
{
    static kept want, have;
    qdq_engine *e = need_ort();
    test_builder b = test_build(21);

    TEST_INPUT(&b, "x", 2, 8, 6, 6);
    test_conv(&b, "c8", "x", 8, 8, 3, 1);
    test_conv(&b, "c16", "c8", 8, 8, 3, 1);
    test_conv(&b, "c8b", "c16", 8, 8, 3, 1);
    TEST_INTS(&b, "shape", 16, 36);
    TEST_NODE(&b, "Reshape", "flat", "c8b", "shape");
    TEST_RANDOM(&b, "f8.w", 36, 32);
    TEST_RANDOM(&b, "w4.w", 32, 10);
    TEST_NODE(&b, "MatMul", "f8", "flat", "f8.w");
    TEST_NODE(&b, "MatMul", "w4", "f8", "w4.w");
    test_output(&b, "w4");
    qdq_model *m = test_built(&b);
    qdq_model *q = quantized(
        e, m, "ort-cpu",
        SET("overrides",
            "[{\"node\": \"^c16$\", \"activation\": {\"type\": \"int16\", \"symmetric\": true}},"
            " {\"node\": \"^f8$\", \"activation\": {\"type\": \"float8e4m3fn\"}, \"weight\": "
            "{\"type\": "
            "\"float8e4m3fn\"}},"
            " {\"node\": \"^w4$\", \"activation\": {\"type\": \"float\"}, \"weight\": {\"type\": "
            "\"int4\", "
            "\"block\": 16}}]"));
    want = outputs(e, m, QDQ_LEVEL_NONE);
    have = outputs(e, q, QDQ_LEVEL_NONE);
    expect_near("overrides", &want, &have, 0.15);
    qdq_model_free(q);
    qdq_model_free(m);
}

typedef struct logits {
    float x[4096];
    size_t n;
} logits;

static qdq_status take(void *ctx, const char *name, const qdq_array *a, qdq_error *err)
{
    logits *l = ctx;
    size_t n = (size_t)qdq_array_count(a);

    (void)name;
    if (l->n + n > QDQ_COUNT(l->x))
        return qdq_fail(err, QDQ_E_BUG, "the test keeps too little");
    memcpy(l->x + l->n, a->data, n * sizeof(float));
    l->n += n;
    return QDQ_OK;
}

/* The first outputs on the samples of a file. */
static void run_samples(qdq_engine *e, const qdq_model *m, qdq_data *d, logits *out)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_session_opts so = QDQ_SESSION_OPTS_INIT;
    qdq_session *s = NULL;

    so.level = QDQ_LEVEL_NONE;
    out->n = 0;
    assert_ok(qdq_session_open(e, m, &so, &s, &err));
    for (size_t i = 0; i < 100; i++) {
        const qdq_named_array *in;
        size_t n;

        assert_ok(qdq_data_get(d, i, &in, &n, &err));
        assert_ok(qdq_session_run(s, in, n, take, out, &err));
    }
    qdq_session_close(s);
}

static double error_of_method(qdq_engine *e, const qdq_model *m, qdq_data *d, const char *target,
                              const char *method, const logits *want)
{
    static logits have;
    qdq_error err = QDQ_ERROR_INIT;
    qdq_target *t = NULL;
    qdq_plan *p = NULL;
    qdq_model *q = NULL;
    double sum = 0;

    assert_ok(qdq_target_load(target, &t, &err));
    assert_ok(qdq_target_set(t, "weight.method", method, &err));
    assert_ok(qdq_quantize(m, t, e, d, NULL, &p, &q, &err));
    run_samples(e, q, d, &have);
    assert_int_equal(have.n, want->n);
    for (size_t i = 0; i < have.n; i++)
        sum += ((double)have.x[i] - (double)want->x[i]) * ((double)have.x[i] - (double)want->x[i]);
    qdq_model_free(q);
    qdq_plan_free(p);
    qdq_target_free(t);
    return sum;
}

TEST(activations_make_a_better_choice_than_rounding)
{
    static logits want;
    qdq_error err = QDQ_ERROR_INIT;
    qdq_data_opts dopts = QDQ_DATA_OPTS_INIT;
    qdq_engine *e = need_ort();
    qdq_model *m = need_model("digits/digits_vit.onnx");
    const char *path = test_corpus("digits/digits_calib.npz");
    qdq_data *d = NULL;

    assert_ok(qdq_data_open(path, m, &dopts, &d, &err));
    run_samples(e, m, d, &want);
    for (size_t i = 0; i < 2; i++) { /* codes around 0, and codes with zero points */
        const char *target = i == 0 ? "int4" : "ort-cpu-int4";
        double rounded = error_of_method(e, m, d, target, "absmax", &want);

        assert_true(error_of_method(e, m, d, target, "awq-lite", &want) <= rounded);
        assert_true(error_of_method(e, m, d, target, "awq-clip", &want) < 0.7 * rounded);
        assert_true(error_of_method(e, m, d, target, "awq-full", &want) < 0.7 * rounded);
        assert_true(error_of_method(e, m, d, target, "gptq", &want) < 0.7 * rounded);
        double searched = error_of_method(e, m, d, target, "gptq-mse", &want);
        assert_true(searched < 0.7 * rounded);
        assert_true(error_of_method(e, m, d, target, "gptq-refine", &want) < 0.8 * searched);
    }
    qdq_data_close(d);
    qdq_model_free(m);
}

typedef struct steps {
    /* by total */
    unsigned n[16];
} steps;

static void count_step(void *ctx, const char *stage, uint64_t done, uint64_t total)
{
    steps *s = ctx;

    (void)done;
    if (strcmp(stage, "weights") == 0 && total < QDQ_COUNT(s->n))
        s->n[total]++;
}

/* The reference runs all samples once for each weight. */
TEST(one_sweep_serves_all_weights)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_data_opts dopts = QDQ_DATA_OPTS_INIT;
    qdq_engine *e = need_ort();
    qdq_model *m = need_model("digits/digits_vit.onnx");
    const char *path = test_corpus("digits/digits_calib.npz");
    qdq_quantize_opts opts = QDQ_QUANTIZE_OPTS_INIT;
    steps s = {{0}};
    const qdq_job job = {.size = sizeof job, .ctx = &s, .progress = count_step};
    qdq_target *t = NULL;
    qdq_plan *p = NULL;
    qdq_data *d = NULL;

    dopts.max_samples = 7;
    assert_ok(qdq_data_open(path, m, &dopts, &d, &err));
    assert_ok(qdq_target_load("int4", &t, &err));
    assert_ok(qdq_target_set(t, "weight.method", "awq-full", &err));
    opts.job = &job;
    assert_ok(qdq_quantize(m, t, e, d, &opts, &p, NULL, &err));
    assert_true(qdq_plan_get_summary(p)->n_weights > 7);
    assert_int_equal(s.n[7], 7); /* one step for each sample */
    qdq_plan_free(p);
    qdq_target_free(t);
    qdq_data_close(d);
    qdq_model_free(m);
}
