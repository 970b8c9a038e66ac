/* quant_lstm.c - an LSTM whose data is quantized while it runs (ONNX Runtime's
 * DynamicQuantizeLSTM): the way back, and rules of targets. Its form and which nodes become one are
 * in text/dynamic-lstm. */
#include <stdio.h>

#include "support/dynamic.h"

static const char *const same_key = "weight.type", *const same = "int8";

#define W1 "float[1,4,2] w = {127, 2, -2, 254, 0, -127, 508, 4}"
#define R1 "float[1,4,1] r = {127, 254, -127, 508}"

#define PLAIN                                                                                      \
    "<ir_version: 8, opset_import: [\"\" : 17]>\n"                                                 \
    "g (float[3,2,2] x) => (y) <" W1 ", " R1 "> {\n"                                               \
    "  [\"l\"] y = LSTM <hidden_size = 1> (x, w, r)\n"                                             \
    "}\n"

#define BIDIRECTIONAL                                                                              \
    "<ir_version: 8, opset_import: [\"\" : 17]>\n"                                                 \
    "g (float[3,2,1] x) => (y) <float[2,4,1] w = {127, 2, 3, 4, 254, 6, 7, 8}, float[2,4,1] r "    \
    "= {1, 2, 3, 4, 5, 6, 7, 508}> {\n"                                                            \
    "  [\"l\"] y = LSTM <hidden_size = 1, direction = \"bidirectional\"> (x, w, r)\n"              \
    "}\n"

/* Two that share W, and one that multiplies both its data and its state by one tensor. */
#define SHARED                                                                                     \
    "<ir_version: 8, opset_import: [\"\" : 17]>\n"                                                 \
    "g (float[3,2,1] x) => (y, z, u) <float[1,4,1] w = {127, 2, 3, 4}, float[1,4,1] r = {4, 3, "   \
    "2, 1}, float[1,4,1] v = {5, 6, 7, 8}> {\n"                                                    \
    "  [\"a\"] y = LSTM <hidden_size = 1> (x, w, r)\n"                                             \
    "  [\"b\"] z = LSTM <hidden_size = 1> (x, w, v)\n"                                             \
    "  [\"c\"] u = LSTM <hidden_size = 1> (x, w, w)\n"                                             \
    "}\n"

#define IN_A_BRANCH                                                                                \
    "<ir_version: 8, opset_import: [\"\" : 17]>\n"                                                 \
    "g (float[3,2,2] x, bool k) => (y) <" W1 ", " R1 "> {\n"                                       \
    "  y = If <then_branch = t () => (p) { [\"in\"] p = LSTM <hidden_size = 1> (x, w, r) },\n"     \
    "          else_branch = e () => (q) { [\"out\"] q = LSTM <hidden_size = 1> (x, w, r) }> "     \
    "(k)\n"                                                                                        \
    "}\n"

#define IN_PLAN                                                                                    \
    "{\"qdq_plan\": 1, \"weights\": ["                                                             \
    "{\"tensor\": \"w\", \"consumers\": [[\"in\", 1]], \"axis\": 1, \"type\": \"int8\", "          \
    "\"store\": \"dynamic\"}, "                                                                    \
    "{\"tensor\": \"r\", \"consumers\": [[\"in\", 2]], \"axis\": 1, \"type\": \"int8\", "          \
    "\"store\": \"dynamic\"}]}"

static qdq_model *inserted(const char *text, const char *plan)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model(text);
    qdq_plan *p = NULL;

    assert_ok(qdq_plan_parse(plan, strlen(plan), "plan", &p, &err));
    assert_ok(qdq_insert(m, p, NULL, NULL, &err));
    assert_ok(qdq_model_verify(m, &err));
    qdq_plan_free(p);
    return m;
}

/* --- the way back ----------------------------------------------------------------------------- */

static void assert_comes_back(const char *text, const char *key, const char *value)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model(text), *q = test_dynamic_model(text, key, value), *f = NULL,
              *stripped = NULL;
    qdq_plan *p = test_dynamic_plan(m, &any_size, key, value), *again = NULL;
    size_t n_left = 9, n = test_count(m, "LSTM");

    assert_ok(qdq_plan_import(q, NULL, &again, &f, &err));
    char *want = test_plan_essence(p), *have = test_plan_essence(again);
    assert_string_equal(have, want);
    assert_ok(qdq_insert(f, again, NULL, NULL, &err));
    assert_int_equal(test_count(f, "DynamicQuantizeLSTM"), n);
    assert_ok(qdq_model_strip(q, NULL, &stripped, &n_left, &err));
    assert_int_equal(n_left, 0);
    assert_ok(qdq_model_verify(stripped, &err));
    assert_int_equal(test_count(stripped, "LSTM"), n);
    assert_int_equal(test_count(stripped, "DequantizeLinear"), 0);
    const qdq_tensor *was = qdq_value_const(qdq_graph_find(m->graph, "w")),
                     *is = qdq_value_const(qdq_graph_find(stripped->graph, "w"));
    assert_int_equal(is->rank, was->rank);
    assert_memory_equal(is->dim, was->dim, (size_t)was->rank * sizeof *was->dim);
    qdq_free(want);
    qdq_free(have);
    qdq_plan_free(p);
    qdq_plan_free(again);
    qdq_model_free(m);
    qdq_model_free(q);
    qdq_model_free(f);
    qdq_model_free(stripped);
}

TEST(import_gives_the_plan_back_and_strip_the_float_lstm)
{
    static const char *const texts[] = {PLAIN, BIDIRECTIONAL, SHARED};

    for (size_t i = 0; i < QDQ_COUNT(texts); i++) {
        assert_comes_back(texts[i], same_key, same);
        assert_comes_back(texts[i], "weight.reduced", "true");
        assert_comes_back(texts[i], "weight.per_channel", "false");
    }
}

TEST(an_lstm_in_a_branch_comes_back)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *q = inserted(IN_A_BRANCH, IN_PLAN), *stripped = NULL;
    qdq_plan *again = NULL;
    size_t n_left = 9;

    assert_ok(qdq_plan_import(q, NULL, &again, NULL, &err));
    assert_int_equal(again->weights.n, 2);
    assert_string_equal(again->weights.at[0].consumers.at[0].node, "in");
    assert_ok(qdq_model_strip(q, NULL, &stripped, &n_left, &err));
    assert_int_equal(n_left, 0);
    assert_int_equal(test_count(stripped, "LSTM"), 2);
    qdq_plan_free(again);
    qdq_model_free(stripped);
    qdq_model_free(q);
}

/* --- targets ---------------------------------------------------------------------------------- */

TEST(recurrent_rules_have_a_dynamic_form_alone)
{
    static const struct {
        const char *keys, *message;
    } cases[] = {
        {"\"kind\": \"recurrent\"", "key 'dynamic': expected true, as 'kind' is 'recurrent'"},
        {"\"kind\": \"pass\", \"dynamic\": true",
         "key 'dynamic': expected false, as 'kind' is not 'linear' or 'recurrent'"},
    };
    qdq_error err = QDQ_ERROR_INIT;

    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        qdq_target *t = NULL;
        char text[400];

        int n = snprintf(text, sizeof text,
                         "{\"qdq_target\": 1, \"name\": \"t\", \"activation\": {\"type\": "
                         "\"uint8\"}, \"weight\": {\"type\": \"int8\"}, \"operators\": [{\"op\": "
                         "\"LSTM\", \"rule\": \"r\", %s}]}",
                         cases[i].keys);
        assert_fails(QDQ_E_FORMAT, cases[i].message,
                     qdq_target_parse(text, (size_t)n, "t", &t, &err));
    }
}
