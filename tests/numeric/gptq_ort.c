/* gptq_ort.c - weights rounded by GPTQ, from samples through ONNX Runtime to the file: what
 * products lose on samples that were not used, plans that replay, bounded memory, and what is left
 * alone. */
#include <math.h>
#include <string.h>

#include "base/random.h"
#include "numeric/ort_help.h"
#include "qdq/compare.h"
#include "quant/plan/plan.h"
#include "support/build.h"
#include "support/placed.h"
#include "support/test.h"

enum { K = 96, ROWS = 16, SAMPLES = 40 };

/* `samples` times ROWS rows of K channels that mix K / 6 sources. */
static void fill(float *x, size_t samples, uint64_t seed)
{
    qdq_random r = qdq_random_new(seed, "rows"), mixing = qdq_random_new(1, "mix");
    static float mix[K / 6][K];

    for (size_t i = 0; i < K / 6; i++)
        for (size_t k = 0; k < K; k++)
            mix[i][k] = qdq_random_normal(&mixing);
    for (size_t row = 0; row < samples * ROWS; row++) {
        float *to = x + row * K;

        for (size_t k = 0; k < K; k++)
            to[k] = 0.1F * qdq_random_normal(&r);
        for (size_t i = 0; i < K / 6; i++) {
            float source = qdq_random_normal(&r);

            for (size_t k = 0; k < K; k++)
                to[k] += source * mix[i][k];
        }
    }
}

static qdq_data *open_data(const qdq_model *m, size_t samples, uint64_t seed)
{
    static float x[2][SAMPLES * ROWS * K]; /* calibration, and another one */
    float *to = x[seed % 2];
    qdq_data_opts opts = QDQ_DATA_OPTS_INIT;
    qdq_error err = QDQ_ERROR_INIT;
    qdq_data *d = NULL;

    fill(to, samples, seed);
    const qdq_named_array a = {"x",
                               {.elem = QDQ_FLOAT,
                                .rank = 2,
                                .dim = {(int64_t)(samples * ROWS), K},
                                .data = to,
                                .bytes = samples * ROWS * K * sizeof(float)}};
    assert_ok(qdq_data_from_arrays(&a, 1, m, &opts, &d, &err));
    return d;
}

/* Two products of x with one weight, a Gemm with transB, and products behind them; `shared` is read
 * by two products of different data. */
static qdq_model *network(void)
{
    test_builder b = test_build(21);

    TEST_INPUT(&b, "x", ROWS, K);
    TEST_RANDOM(&b, "w", K, 40);
    TEST_RANDOM(&b, "v", 50, K);
    TEST_RANDOM(&b, "deep", 40, 30);
    TEST_RANDOM(&b, "shared", 40, 20);
    TEST_NODE(&b, "MatMul", "a", "x", "w");
    TEST_NODE(&b, "MatMul", "again", "x", "w");
    qdq_node *gemm = TEST_NODE(&b, "Gemm", "b", "x", "v");
    assert_true(qdq_node_set_int(gemm, "transB", 1));
    TEST_NODE(&b, "Tanh", "t", "a");
    TEST_NODE(&b, "MatMul", "c", "t", "deep");
    TEST_NODE(&b, "MatMul", "d", "t", "shared");
    TEST_NODE(&b, "MatMul", "e", "again", "shared");
    test_output(&b, "b");
    test_output(&b, "c");
    test_output(&b, "d");
    test_output(&b, "e");
    return test_built(&b);
}

typedef struct made {
    qdq_plan *p;
    qdq_model *q;
} made;

typedef struct setting {
    /* extra: a key, or NULL */
    const char *type, *block, *store, *method, *symmetric, *extra;
    const qdq_job *job;
    uint64_t memory;
} setting;

static const setting usual = {"int4", "32", "codes", "gptq", "true", NULL, NULL, 0};
static const setting formats[] = {
    {"int4", "32", "codes", "gptq", "true", NULL, NULL, 0},
    {"uint4", "32", "codes", "gptq", "false", NULL, NULL, 0},
    {"int8", "0", "codes", "gptq", "true", NULL, NULL, 0},
    {"int4", "32", "codes", "gptq", "true", "weight.act_order", NULL, 0},
};

static qdq_status quantize(const qdq_model *m, qdq_data *d, const setting *s, made *out,
                           qdq_error *err)
{
    const qdq_target_change changes[] = {
        {"weight.type", s->type},
        {"weight.block", s->block},
        {"weight.store", s->store},
        {"weight.method", s->method},
        {"weight.symmetric", s->symmetric},
        {"weight.per_channel", "true"},
        {s->extra != NULL ? s->extra : "weight.damping", s->extra != NULL ? "true" : "0.02"}};
    qdq_quantize_opts opts = QDQ_QUANTIZE_OPTS_INIT;
    qdq_target *t = NULL;

    opts.job = s->job;
    opts.memory = s->memory;
    *out = (made){NULL, NULL};
    qdq_status st = qdq_target_load("int4", &t, err);
    if (st == QDQ_OK)
        st = qdq_target_set_all(t, changes, QDQ_COUNT(changes), err);
    if (st == QDQ_OK)
        st = qdq_quantize(m, t, need_ort(), d, &opts, &out->p, &out->q, err);
    qdq_target_free(t);
    return st;
}

static void made_free(made *a)
{
    qdq_plan_free(a->p);
    qdq_model_free(a->q);
}

/* The least SQNR of the outputs, on samples of another seed. */
static double sqnr(const qdq_model *m, const qdq_model *q)
{
    qdq_data *d = open_data(m, SAMPLES, 2);
    qdq_compare_opts opts = QDQ_COMPARE_OPTS_INIT;
    qdq_error err = QDQ_ERROR_INIT;
    qdq_compare_result *r = NULL;
    double least = INFINITY;

    assert_ok(qdq_compare(need_ort(), m, q, d, &opts, &r, &err));
    for (size_t i = 0; i < r->n_outputs; i++)
        least = fmin(least, r->outputs[i].sqnr_db);
    qdq_free(r);
    qdq_data_close(d);
    return least;
}

static const qdq_plan_rounding *rounding_of(const qdq_plan *p, const char *weight)
{
    const qdq_plan_summary *s = qdq_plan_get_summary(p);

    for (size_t i = 0; i < s->n_rounded; i++)
        if (strcmp(s->rounded[i].weight, weight) == 0)
            return &s->rounded[i];
    fail_msg("nothing is said of %s", weight);
    return NULL;
}

static void assert_rounded(const qdq_plan *p, const char *weight, double least_db)
{
    const qdq_plan_rounding *r = rounding_of(p, weight);

    if (!r->accepted || r->gain_db < least_db)
        fail_msg("%s: %.2f dB, %s", weight, r->gain_db, r->reason);
}

static void assert_left(const qdq_plan *p, const char *weight, const char *reason)
{
    const qdq_plan_rounding *r = rounding_of(p, weight);

    assert_false(r->accepted);
    assert_string_equal(r->reason, reason);
}

TEST(products_lose_two_db_less_on_samples_that_were_not_used)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = network();
    qdq_data *d = open_data(m, SAMPLES, 1);
    made plain, better;

    for (size_t i = 0; i < QDQ_COUNT(formats); i++) {
        setting s = formats[i];

        s.method = "absmax";
        assert_ok(quantize(m, d, &s, &plain, &err));
        s.method = "gptq";
        assert_ok(quantize(m, d, &s, &better, &err));
        assert_rounded(better.p, "w", 2);
        assert_rounded(better.p, "v", 2);
        assert_left(better.p, "shared",
                    "no matrix with scales per column or in blocks behind one activation");
        assert_true(sqnr(m, better.q) > sqnr(m, plain.q) - 0.1);
        test_assert_plan_replays(better.p, m, better.q);
        made_free(&plain);
        made_free(&better);
    }
    qdq_data_close(d);
    qdq_model_free(m);
}

/* The gains of both are against the nearest codes with searched ranges. */
TEST(refined_products_lose_less_than_with_searched_ranges)
{
    static const char *const products[] = {"w", "v", "deep"};
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = network();
    qdq_data *d = open_data(m, SAMPLES, 1);
    made searched, refined;

    for (size_t i = 0; i < QDQ_COUNT(formats); i++) {
        setting s = formats[i];

        s.method = "gptq-mse";
        assert_ok(quantize(m, d, &s, &searched, &err));
        s.method = "gptq-refine";
        assert_ok(quantize(m, d, &s, &refined, &err));
        for (size_t k = 0; k < QDQ_COUNT(products); k++) {
            double before = rounding_of(searched.p, products[k])->gain_db;
            double after = rounding_of(refined.p, products[k])->gain_db;

            if (after < before + (k < 2 ? 0.3 : 0))
                fail_msg("case %zu, %s: %.2f dB, before %.2f", i, products[k], after, before);
        }
        test_assert_plan_replays(refined.p, m, refined.q);
        made_free(&searched);
        made_free(&refined);
    }
    qdq_data_close(d);
    qdq_model_free(m);
}

TEST(each_way_to_store_them_keeps_the_codes)
{
    static const char *const stores[] = {"codes", "float", "nbits"};
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = network();
    qdq_data *d = open_data(m, SAMPLES, 1);
    double db[3];

    for (size_t i = 0; i < QDQ_COUNT(stores); i++) {
        setting s = usual;
        made a;

        s.store = stores[i];
        s.method = "gptq-mse";
        assert_ok(quantize(m, d, &s, &a, &err));
        assert_rounded(a.p, "v", 2);
        db[i] = sqnr(m, a.q);
        test_assert_plan_replays(a.p, m, a.q);
        made_free(&a);
        assert_true(fabs(db[i] - db[0]) < 0.5); /* sums of another kernel */
    }
    qdq_data_close(d);
    qdq_model_free(m);
}

TEST(weights_next_to_quantized_activations_are_rounded_too)
{
    static const qdq_target_change changes[] = {{"stay_float", "[]"}, {"weight.method", "gptq"}};
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = network();
    qdq_data *d = open_data(m, SAMPLES, 1);
    qdq_target *t = NULL;
    made a;

    assert_ok(qdq_target_load("ort-cpu", &t, &err));
    assert_ok(qdq_target_set_all(t, changes, QDQ_COUNT(changes), &err));
    assert_ok(qdq_quantize(m, t, need_ort(), d, NULL, &a.p, &a.q, &err));
    assert_true(qdq_plan_get_summary(a.p)->n_tensors > 0);
    assert_rounded(a.p, "w", 2);
    assert_rounded(a.p, "v", 2);
    test_assert_plan_replays(a.p, m, a.q);
    made_free(&a);
    qdq_target_free(t);
    qdq_data_close(d);
    qdq_model_free(m);
}

/* In passes of one activation each, the codes are the same; where none fits, none are there. */
TEST(memory_bounds_the_matrices)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = network();
    qdq_data *d = open_data(m, SAMPLES, 1);
    setting s = usual;
    made whole, passes, none;
    char *a, *b;

    s.method = "gptq-refine"; /* which takes no more memory than the others */
    assert_ok(quantize(m, d, &s, &whole, &err));
    s.memory = 600 << 10; /* two of 240 kB, no third one */
    assert_ok(quantize(m, d, &s, &passes, &err));
    assert_ok(qdq_plan_to_text(whole.p, &a, &err));
    assert_ok(qdq_plan_to_text(passes.p, &b, &err));
    assert_string_equal(a, b);
    s.memory = 1000;
    assert_ok(quantize(m, d, &s, &none, &err));
    assert_left(none.p, "w", "its Hessian needs too much memory");
    qdq_free(a);
    qdq_free(b);
    made_free(&whole);
    made_free(&passes);
    made_free(&none);
    qdq_data_close(d);
    qdq_model_free(m);
}

TEST(a_single_sample_is_split_by_rows)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = network();
    qdq_data *d = open_data(m, 1, 1);
    made a;

    assert_ok(quantize(m, d, &usual, &a, &err));
    (void)rounding_of(a.p, "w"); /* 13 rows for 96 channels: accepted or not */
    test_assert_plan_replays(a.p, m, a.q);
    made_free(&a);
    qdq_data_close(d);
    qdq_model_free(m);
}

TEST(one_row_cannot_be_split)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_graph(__func__);
    static float x[2] = {1, 2};
    const qdq_named_array in = {
        "x", {.elem = QDQ_FLOAT, .rank = 2, .dim = {1, 2}, .data = x, .bytes = sizeof x}};
    qdq_data_opts opts = QDQ_DATA_OPTS_INIT;
    qdq_data *d = NULL;
    made a;

    assert_ok(qdq_data_from_arrays(&in, 1, m, &opts, &d, &err));
    assert_ok(quantize(m, d, &usual, &a, &err));
    assert_left(a.p, "w", "too few rows to hold some out");
    made_free(&a);
    qdq_data_close(d);
    qdq_model_free(m);
}

/* Both branches have a product of their own; the condition holds in every sample. */
static qdq_model *branches(void)
{
    static char text[4 * K * 8 * 12];
    qdq_random r = qdq_random_new(4, "branches");
    size_t n = 0;

    n += (size_t)snprintf(
        text, sizeof text,
        "<ir_version: 10, opset_import: [\"\" : 21]>\n"
        "g (float[%d,%d] x) => (float[%d,8] y)\n<float least = {-1e9}, float[%d,8] "
        "w = {",
        ROWS, K, ROWS, K);
    for (size_t i = 0; i < K * 8; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%.3f", i > 0 ? ", " : "",
                              (double)qdq_random_normal(&r));
    snprintf(text + n, sizeof text - n,
             "}> {\n"
             "  s = ReduceMax <keepdims = 0> (x)\n"
             "  c = Greater(s, least)\n"
             "  y = If (c) <then_branch = a () => (float[%d,8] p) { p = MatMul(x, w) },\n"
             "    else_branch = b () => (float[%d,8] q) { t = Neg(x) q = MatMul(t, w) }>\n"
             "}\n",
             ROWS, ROWS);
    return test_model(text);
}

TEST(weights_in_a_branch_are_rounded_too)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = branches();
    qdq_data *d = open_data(m, SAMPLES, 1);
    made a;

    assert_ok(quantize(m, d, &usual, &a, &err));
    assert_rounded(a.p, "w", 2);
    test_assert_plan_replays(a.p, m, a.q);
    made_free(&a);
    qdq_data_close(d);
    qdq_model_free(m);
}

static void cancel_rounding(void *ctx, const char *stage, uint64_t done, uint64_t total)
{
    (void)done;
    (void)total;
    if (strcmp(stage, "rounding") == 0)
        qdq_cancel_set(ctx);
}

TEST(rounding_can_be_interrupted)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = network();
    qdq_data *d = open_data(m, SAMPLES, 1);
    qdq_cancel *flag = qdq_cancel_new();
    const qdq_job job = {
        .size = sizeof job, .ctx = flag, .progress = cancel_rounding, .cancel = flag};
    setting s = usual;
    made a;

    s.job = &job;
    s.method = "gptq-refine";
    assert_int_equal(quantize(m, d, &s, &a, &err), QDQ_E_INTERRUPTED);
    assert_null(a.p);
    qdq_cancel_free(flag);
    qdq_data_close(d);
    qdq_model_free(m);
}

static void keep_warning(void *ctx, qdq_log_level level, const char *text)
{
    if (level == QDQ_LOG_WARNING)
        snprintf(ctx, 200, "%s", text);
}

TEST(random_input_rounds_nothing)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = network();
    char warning[200] = "";
    const qdq_job job = {.size = sizeof job, .ctx = warning, .log = keep_warning};
    setting s = usual;
    made a;

    s.job = &job;
    assert_ok(quantize(m, NULL, &s, &a, &err));
    assert_int_equal(qdq_plan_get_summary(a.p)->n_rounded, 0);
    assert_string_equal(warning,
                        "weights have their nearest codes: gptq needs samples, random ones "
                        "say nothing of channels");
    made_free(&a);
    qdq_model_free(m);
}
