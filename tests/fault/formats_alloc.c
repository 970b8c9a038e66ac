/* formats_alloc.c - every allocation of placing, inserting and reading back all number formats
 * fails once. */
#include "support/alloc_fail.h"

#include <stdio.h>

#include "base/fail.h"
#include "ir/graph_check.h"
#include "quant/insert/insert.h"
#include "quant/place/place.h"
#include "quant/weights/awq_state.h"
#include "quant/weights/gptq_state.h"
#include "support/build.h"

static const char overrides[] =
    "[{\"node\": \"^c1$\", \"activation\": {\"type\": \"int16\"}},"
    " {\"node\": \"^y$\", \"activation\": {\"type\": \"float\"}, \"weight\": "
    "{\"type\": \"int4\", \"block\": 16, "
    "\"store\": \"nbits\"}},"
    " {\"op\": \"LSTM\", \"activation\": {\"type\": \"float\"}, \"weight\": {\"store\": "
    "\"dynamic\"}},"
    " {\"op\": \"Gather\", \"activation\": {\"type\": \"float\"}, \"weight\": "
    "{\"type\": \"uint4\", \"block\": 16, "
    "\"symmetric\": false, \"store\": \"nbits\", \"tables\": true}}]";

static const char scaled[] = "{\"qdq_plan\": 1, \"scalings\": [{\"tensor\": \"n\", \"consumers\": "
                             "[[\"y\", 0]], \"fold\": \"n\", "
                             "\"scales\": [1, 2, 3, 4]}, {\"tensor\": \"x\", \"consumers\": "
                             "[[\"z\", 0]], \"scales\": [1, 2, 3, 4]}],"
                             "\"weights\": [{\"tensor\": \"w\", \"consumers\": [[\"y\", 1]], "
                             "\"axis\": 1, \"type\": \"uint4\", "
                             "\"symmetric\": "
                             "false, \"method\": \"clip\", \"clip\": \"AB\"}, {\"tensor\": \"v\", "
                             "\"consumers\": [[\"z\", 1]], "
                             "\"axis\": 0, "
                             "\"block\": 2, \"type\": \"float8e4m3fn\", \"store\": \"float\"}]}";

static qdq_model *mixed_model(void)
{
    test_builder b = test_build(21);
    qdq_dim dim = {4, NULL};

    assert_non_null(qdq_graph_add_input(b.g, "ids", qdq_type_tensor(b.m, QDQ_INT64, 1, &dim)));
    TEST_INPUT(&b, "x", 1, 8, 4, 4);
    test_conv(&b, "c0", "x", 8, 8, 3, 1);
    test_conv(&b, "c1", "c0", 8, 8, 1, 1);
    TEST_INTS(&b, "shape", 8, 16);
    TEST_NODE(&b, "Reshape", "f", "c1", "shape");
    TEST_RANDOM(&b, "w", 16, 4);
    TEST_NODE(&b, "MatMul", "y", "f", "w");
    TEST_RANDOM(&b, "table", 10, 32);
    TEST_NODE(&b, "Gather", "t", "table", "ids");
    TEST_INPUT(&b, "steps", 3, 2, 40);
    TEST_RANDOM(&b, "lw", 2, 160, 40);
    qdq_node *lstm = TEST_NODE(&b, "LSTM", "l", "steps", "lw", "lw");
    assert_true(qdq_node_set_int(lstm, "hidden_size", 40) &&
                qdq_node_set_string(lstm, "direction", "bidirectional"));
    test_output(&b, "y");
    test_output(&b, "t");
    test_output(&b, "l");
    return test_built(&b);
}

static qdq_model *scaled_model(void)
{
    test_builder b = test_build(21);

    TEST_INPUT(&b, "x", 3, 4);
    TEST_RANDOM(&b, "gain", 4);
    TEST_RANDOM(&b, "w", 4, 2);
    TEST_RANDOM(&b, "v", 4, 2);
    TEST_NODE(&b, "LayerNormalization", "n", "x", "gain");
    TEST_NODE(&b, "MatMul", "y", "n", "w");
    TEST_NODE(&b, "MatMul", "z", "x", "v");
    test_output(&b, "y");
    test_output(&b, "z");
    return test_built(&b);
}

/* A copy of the model with the plan in it, and back. */
static qdq_status insert_and_import(const qdq_model *m, const qdq_plan *p, qdq_error *err)
{
    qdq_model *copy = NULL;
    qdq_plan *again = NULL;
    qdq_status st = qdq_model_clone(m, &copy, err);

    if (st == QDQ_OK)
        st = qdq_insert(copy, p, NULL, NULL, err);
    if (st == QDQ_OK)
        st = qdq_plan_import(copy, NULL, &again, NULL, err);
    qdq_plan_free(again);
    qdq_model_free(copy);
    return st;
}

static qdq_status mix(void *ctx, qdq_error *err)
{
    const qdq_model *m = ctx;
    qdq_target *t = NULL;
    qdq_plan *p = qdq_plan_new();
    qdq_status st = p == NULL ? qdq_nomem(err) : qdq_target_load("ort-cpu", &t, err);

    if (st == QDQ_OK)
        st = qdq_target_set(
            t, "operators",
            "[{\"op\": \"Conv\", \"kind\": \"linear\", \"data\": [0], \"weight\": 1, \"axis\": "
            "\"0\", "
            "\"bias\": 2, \"output\": \"quantized\", \"rule\": \"conv\"},"
            "{\"op\": \"MatMul\", \"kind\": \"linear\", \"axis\": \"last\", \"rule\": \"matmul\"},"
            "{\"op\": \"LSTM\", \"kind\": \"recurrent\", \"axis\": \"1\", \"dynamic\": true, "
            "\"rule\": \"lstm\"},"
            "{\"op\": \"Gather\", \"kind\": \"table\", \"data\": [1], \"weight\": 0, \"axis\": "
            "\"0\", "
            "\"rule\": \"table\"}]",
            err);
    if (st == QDQ_OK)
        st = qdq_target_set(t, "overrides", overrides, err);
    if (st == QDQ_OK)
        st = qdq_place(m, t, NULL, p, err);
    for (size_t i = 0; st == QDQ_OK && i < p->tensors.n; i++)
        p->tensors.at[i].qparam.scale = 0.5f;
    if (st == QDQ_OK)
        st = qdq_plan_finish(p) ? insert_and_import(m, p, err) : qdq_nomem(err);
    qdq_plan_free(p);
    qdq_target_free(t);
    return st;
}

static qdq_status scale(void *ctx, qdq_error *err)
{
    const qdq_model *m = ctx;
    qdq_plan *p = NULL;
    char *text = NULL;
    qdq_status st = qdq_plan_parse(scaled, sizeof scaled - 1, "plan", &p, err);

    if (st == QDQ_OK)
        st = qdq_plan_to_text(p, &text, err);
    if (st == QDQ_OK)
        st = insert_and_import(m, p, err);
    qdq_free(text);
    qdq_plan_free(p);
    return st;
}

static qdq_status search(void *ctx, qdq_error *err)
{
    enum { K = 8, N = 4, ROWS = 140 };
    static float x[ROWS * K], w[K * N];
    qdq_plan_weight entry = {.awq = {0.1, 0.05, 0.5}};
    qdq_awq_group g = {.k = K, .alpha_step = 0.1};
    qdq_weight_columns weight = {.entry = &entry,
                                 .w = w,
                                 .k = K,
                                 .n = N,
                                 .step_k = N,
                                 .step_n = 1,
                                 .block = K,
                                 .n_block = 1,
                                 .scheme = {QDQ_INT4, true, false, QDQ_FLOAT, false}};
    qdq_arena arena = QDQ_ARENA_INIT;
    char letters[N + 1] = {0};

    (void)ctx;
    for (size_t i = 0; i < QDQ_COUNT(x); i++)
        x[i] = (float)(i * 7919 % 101) / 50 - 1;
    for (size_t i = 0; i < QDQ_COUNT(w); i++)
        w[i] = (float)(i * 104729 % 103) / 50 - 1;
    bool ok = QDQ_PUSH(&arena, &g.weights, weight) && qdq_awq_add_rows(&g, &arena, x, ROWS) &&
              qdq_awq_search_scales(&g, &arena) && qdq_awq_search_clip(&g, &weight, letters);
    qdq_arena_free(&arena);
    return ok ? QDQ_OK : qdq_nomem(err);
}

static qdq_status round_codes(void *ctx, qdq_error *err)
{
    enum { K = 40, N = 70, ROWS = 60 };
    static float x[ROWS * K], w[K * N];
    qdq_plan_weight entry = {.method = QDQ_WEIGHT_GPTQ_REFINE,
                             .type = QDQ_INT4,
                             .block = 16,
                             .gptq = {0.01, *(const bool *)ctx}};
    const qdq_weight_columns columns = {.entry = &entry,
                                        .w = w,
                                        .k = K,
                                        .n = N,
                                        .step_k = N,
                                        .step_n = 1,
                                        .block = 16,
                                        .n_block = 3,
                                        .scheme = {QDQ_INT4, true, false, QDQ_FLOAT, false},
                                        .grid = {{1, K, N}, 16, 3}};
    qdq_gptq_group g = {.k = K};
    qdq_gptq_factor f = {0};
    qdq_gptq_result r = {0};
    const char *why = NULL;

    for (size_t i = 0; i < QDQ_COUNT(x); i++)
        x[i] = (float)(i * 7919 % 101) / 50 - 1;
    for (size_t i = 0; i < QDQ_COUNT(w); i++)
        w[i] = (float)(i * 104729 % 103) / 50 - 1;
    if (!qdq_gptq_begin_group(&g))
        return qdq_nomem(err);
    qdq_gptq_add_rows(&g, QDQ_GPTQ_FIT, x, ROWS - 10);
    qdq_gptq_add_rows(&g, QDQ_GPTQ_HELD, x, 10);
    qdq_gptq_flush(&g);
    qdq_status st = qdq_gptq_factorize(&g, &entry.gptq, &f, &why) ? QDQ_OK : qdq_nomem(err);
    if (st == QDQ_OK)
        st = why != NULL ? qdq_fail(err, QDQ_E_BUG, "%s", why)
                         : qdq_gptq_round(&g, &f, &columns, NULL, &r, err);
    if (st == QDQ_OK) {
        qdq_gptq_mirror(&g, &f);
        st = qdq_gptq_refine(&g, &f, &columns, NULL, &r, err);
    }
    qdq_gptq_result_free(&r);
    qdq_gptq_factor_free(&f);
    qdq_gptq_end_group(&g);
    return st;
}

TEST(rounding_by_second_order)
{
    bool act_order = false;

    assert_true(test_every_alloc_fails(round_codes, &act_order) > 10);
    act_order = true;
    assert_true(test_every_alloc_fails(round_codes, &act_order) > 10);
}

TEST(mixing_formats)
{
    qdq_model *m = mixed_model();

    assert_true(test_every_alloc_fails(mix, m) > 2);
    qdq_model_free(m);
}

TEST(scaling_channels)
{
    qdq_model *m = scaled_model();

    assert_true(test_every_alloc_fails(scale, m) > 2);
    qdq_model_free(m);
}

TEST(searching_weights)
{
    assert_true(test_every_alloc_fails(search, NULL) > 2);
}
