/* quant_lstm.c - an LSTM whose data is quantized while it runs (ONNX Runtime's
 * DynamicQuantizeLSTM): its form, which nodes become one, and the way back. */
#include <math.h>
#include <stdio.h>

#include "qdq/check.h"
#include "support/dynamic.h"

static const char *const same_key = "weight.type", *const same = "int8";

static void assert_becomes(const char *before, const char *key, const char *value,
                           const char *after)
{
    qdq_model *m = test_dynamic_model(before, key, value);

    test_assert_text(m, after);
    qdq_model_free(m);
}

/* --- the form --------------------------------------------------------------------------------- */

#define W1 "float[1,4,2] w = {127, 2, -2, 254, 0, -127, 508, 4}"
#define R1 "float[1,4,1] r = {127, 254, -127, 508}"

/* [1, 4 * hidden, K] as [1, K, 4 * hidden]; all inputs and attributes come along. */
TEST(an_lstm_becomes_onnx_runtimes_operator_with_transposed_weights)
{
    assert_becomes("<ir_version: 8, opset_import: [\"\" : 17]>\n"
                   "g (float[3,2,2] x, int32[2] n, float[1,2,1] h, float[1,2,1] c) => "
                   "(float[3,1,2,1] y, float[1,2,1] c2) <" W1 ", " R1
                   ", float[1,8] b = {1, 2, 3, 4, 5, 6, 7, 8}, float[1,3] p = {1, 2, 3}> {\n"
                   "  [\"l\"] y, \"\", c2 = LSTM <hidden_size = 1, clip = 2.5, layout = 0> (x, w, "
                   "r, b, n, h, c, p)\n"
                   "}\n",
                   same_key, same,
                   "<ir_version: 8, opset_import: [\"\" : 17, \"com.microsoft\" : 1]>\n"
                   "g (float[3,2,2] x, int32[2] n, float[1,2,1] h, float[1,2,1] c) => "
                   "(float[3,1,2,1] y, float[1,2,1] c2) <\n"
                   "  float[1,8] b = {1, 2, 3, 4, 5, 6, 7, 8},\n"
                   "  float[1,3] p = {1, 2, 3},\n"
                   "  int8[1,1,4] r_quantized = {127, 127, -127, 127},\n"
                   "  float[1,4] r_scale = {1, 2, 1, 4},\n"
                   "  int8[1,4] r_zero_point = {0, 0, 0, 0},\n"
                   "  int8[1,2,4] w_quantized = {127, -1, 0, 127, 2, 127, -127, 1},\n"
                   "  float[1,4] w_scale = {1, 2, 1, 4},\n"
                   "  int8[1,4] w_zero_point = {0, 0, 0, 0}\n"
                   "> {\n"
                   "  [l] y, \"\", c2 = com.microsoft.DynamicQuantizeLSTM <hidden_size = 1, clip = "
                   "2.5> (x, w_quantized, r_quantized, b, n, h, c, p, w_scale, w_zero_point, "
                   "r_scale, r_zero_point)\n"
                   "}\n");
}

#define PLAIN                                                                                      \
    "<ir_version: 8, opset_import: [\"\" : 17]>\n"                                                 \
    "g (float[3,2,2] x) => (y) <" W1 ", " R1 "> {\n"                                               \
    "  [\"l\"] y = LSTM <hidden_size = 1> (x, w, r)\n"                                             \
    "}\n"

/* Left out inputs stay left out; one scale is a list of one. */
TEST(one_scale_for_a_weight_is_one_for_its_direction)
{
    qdq_model *m = test_dynamic_model(PLAIN, "weight.per_channel", "false");
    const qdq_node *n = qdq_graph_find(m->graph, "y")->producer;
    const qdq_tensor *s = qdq_value_const(n->in[8].value), *z = qdq_value_const(n->in[9].value);

    assert_int_equal(n->n_in, 12);
    for (uint32_t i = 3; i < 8; i++)
        assert_null(n->in[i].value);
    assert_int_equal(s->rank, 1);
    assert_int_equal(s->count, 1);
    assert_int_equal(z->rank, 1);
    qdq_model_free(m);
}

#define BIDIRECTIONAL                                                                              \
    "<ir_version: 8, opset_import: [\"\" : 17]>\n"                                                 \
    "g (float[3,2,1] x) => (y) <float[2,4,1] w = {127, 2, 3, 4, 254, 6, 7, 8}, float[2,4,1] r "    \
    "= {1, 2, 3, 4, 5, 6, 7, 508}> {\n"                                                            \
    "  [\"l\"] y = LSTM <hidden_size = 1, direction = \"bidirectional\"> (x, w, r)\n"              \
    "}\n"

TEST(directions_have_scales_of_their_own)
{
    qdq_model *m = test_dynamic_model(BIDIRECTIONAL, same_key, same);
    const qdq_tensor *s = qdq_value_const(qdq_graph_find(m->graph, "w_scale"));
    qdq_arena a = QDQ_ARENA_INIT;
    qdq_error err = QDQ_ERROR_INIT;
    float *scale;

    assert_int_equal(s->rank, 2);
    assert_int_equal(s->dim[0], 2);
    assert_int_equal(s->dim[1], 4);
    assert_ok(qdq_tensor_floats(s, &a, &scale, &err));
    assert_true(scale[0] == 1 && scale[4] == 2);
    qdq_model_free(m);
    m = test_dynamic_model(BIDIRECTIONAL, "weight.per_channel", "false");
    s = qdq_value_const(qdq_graph_find(m->graph, "r_scale"));
    assert_int_equal(s->rank, 1);
    assert_int_equal(s->count, 2);
    assert_ok(qdq_tensor_floats(s, &a, &scale, &err));
    assert_true(scale[1] == 4 && scale[0] < 1);
    qdq_arena_free(&a);
    qdq_model_free(m);
}

/* Two that share W, and one that multiplies both its data and its state by one tensor. */
#define SHARED                                                                                     \
    "<ir_version: 8, opset_import: [\"\" : 17]>\n"                                                 \
    "g (float[3,2,1] x) => (y, z, u) <float[1,4,1] w = {127, 2, 3, 4}, float[1,4,1] r = {4, 3, "   \
    "2, 1}, float[1,4,1] v = {5, 6, 7, 8}> {\n"                                                    \
    "  [\"a\"] y = LSTM <hidden_size = 1> (x, w, r)\n"                                             \
    "  [\"b\"] z = LSTM <hidden_size = 1> (x, w, v)\n"                                             \
    "  [\"c\"] u = LSTM <hidden_size = 1> (x, w, w)\n"                                             \
    "}\n"

TEST(shared_weights_are_stored_once)
{
    qdq_model *m = test_dynamic_model(SHARED, same_key, same);

    assert_int_equal(test_count(m, "DynamicQuantizeLSTM"), 3);
    assert_int_equal(qdq_graph_find(m->graph, "w_quantized")->n_use, 4);
    assert_int_equal(qdq_graph_find(m->graph, "w_scale")->n_use, 4);
    assert_null(qdq_graph_find(m->graph, "w"));
    assert_null(qdq_graph_find(m->graph, "w_quantized_1"));
    qdq_model_free(m);
}

/* A product wants the matrices as they are, with one scale. */
TEST(a_weight_that_a_product_reads_too_has_both_forms)
{
    qdq_model *m = test_dynamic_model(
        "<ir_version: 8, opset_import: [\"\" : 17]>\n"
        "g (float[3,2,2] x, float[2,3,4] x2) => (y, z) <float[2,4,2] w = {1, 2, 3, 4, 5, 6, 7, 8, "
        "9, 10, 11, 12, 13, 14, 15, 16}, float[2,4,1] r = {1, 2, 3, 4, 5, 6, 7, 8}> {\n"
        "  [\"a\"] y = LSTM <hidden_size = 1, direction = \"bidirectional\"> (x, w, r)\n"
        "  [\"b\"] z = MatMul(x2, w)\n"
        "}\n",
        "weight.per_channel", "false");

    assert_int_equal(test_count(m, "DynamicQuantizeLSTM"), 1);
    assert_int_equal(test_count(m, "MatMulInteger"), 1);
    qdq_model_free(m);
}

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

TEST(an_lstm_in_a_branch_becomes_one_and_the_other_branch_keeps_the_floats)
{
    qdq_model *m = inserted(IN_A_BRANCH, IN_PLAN);

    assert_int_equal(test_count(m, "DynamicQuantizeLSTM"), 1);
    assert_int_equal(test_count(m, "LSTM"), 1);
    assert_non_null(qdq_graph_find(m->graph, "w"));
    qdq_model_free(m);
}

/* --- which nodes ------------------------------------------------------------------------------ */

/* x [T, 2, 48] -> LSTM -> y */
static test_builder lstm(int64_t hidden)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 4, 2, 48);
    TEST_RANDOM(&b, "w", 1, 4 * hidden, 48);
    TEST_RANDOM(&b, "r", 1, 4 * hidden, hidden);
    TEST_INPUT(&b, "w2", 1, 4 * hidden, 48);
    TEST_INPUT(&b, "r2", 1, 4 * hidden, hidden);
    return b;
}

static qdq_node *add_lstm(test_builder *b, int64_t hidden, const char *w, const char *r)
{
    qdq_node *n = TEST_NODE(b, "LSTM", "y", "x", w, r);

    assert_true(qdq_node_set_int(n, "hidden_size", hidden));
    test_output(b, "y");
    return n;
}

static void assert_stays(test_builder *b, const char *key, const char *value, const char *reason)
{
    qdq_model *m = test_built(b);
    qdq_plan *p = test_dynamic_plan(m, NULL, key, value);

    assert_string_equal(test_reason(p, "y"), reason);
    assert_int_equal(p->weights.n, 0);
    qdq_plan_free(p);
    qdq_model_free(m);
}

TEST(lstms_without_a_dynamic_form_stay_float_and_say_why)
{
    test_builder b = lstm(48);

    add_lstm(&b, 48, "w2", "r");
    assert_stays(&b, same_key, same, "its weight is not constant");
    b = lstm(48);
    add_lstm(&b, 48, "w", "r2");
    assert_stays(&b, same_key, same, "its weight is not constant");
    b = lstm(48);
    assert_true(qdq_node_set_int(add_lstm(&b, 48, "w", "r"), "layout", 1));
    assert_stays(&b, same_key, same,
                 "ONNX Runtime's LSTM has no form with batches first (attribute layout)");
    b = lstm(48);
    add_lstm(&b, 48, "w", "r");
    assert_stays(&b, "weight.symmetric", "false",
                 "ONNX Runtime's 8-bit LSTM needs symmetric weights where each row has a scale");
    b = lstm(48);
    add_lstm(&b, 48, "w", "r");
    ((float *)(uintptr_t)qdq_graph_find(b.g, "r")->init->bytes.data)[3] = NAN;
    assert_stays(&b, same_key, same, "its weight holds NaN or infinity");
}

/* 4 * 32 * (32 + 48) numbers for each direction. */
TEST(small_lstms_stay_float_and_larger_ones_do_not)
{
    test_builder b = lstm(32);

    add_lstm(&b, 32, "w", "r");
    assert_stays(&b, same_key, same,
                 "an LSTM with small weights is slower if its data is quantized at run time");
    b = lstm(48);
    add_lstm(&b, 48, "w", "r");
    qdq_model *m = test_built(&b);
    qdq_plan *p = test_dynamic_plan(m, NULL, same_key, same);
    assert_int_equal(p->weights.n, 2);
    assert_int_equal(p->weights.at[0].store, QDQ_WEIGHT_AS_DYNAMIC);
    assert_int_equal(p->quantized.n, 1);
    qdq_plan_free(p);
    const qdq_place_opts without = {.exclude = (const char *const[]){"^y$", NULL}};
    p = test_dynamic_plan(m, &without, same_key, same);
    assert_int_equal(p->weights.n, 0);
    qdq_plan_free(p);
    qdq_model_free(m);
}

/* With calibrated scales there is no kernel, and users read what there is. */
TEST(the_default_format_leaves_an_lstm_float_and_names_the_one_that_does_not)
{
    test_builder b = lstm(48);

    add_lstm(&b, 48, "w", "r");
    test_assert_reason(&b, "y",
                       "no kernel for calibrated data; --format dynamic is faster unless it is "
                       "small");
}

TEST(a_second_run_leaves_what_is_quantized)
{
    qdq_model *m = test_dynamic_model(PLAIN, same_key, same);
    qdq_plan *p = test_dynamic_plan(m, &any_size, same_key, same);

    assert_int_equal(p->weights.n, 0);
    assert_string_equal(test_reason(p, "l"), "unknown operator");
    qdq_plan_free(p);
    qdq_model_free(m);
}

/* The float weights between DQ are not constants of the LSTM. */
TEST(weights_behind_a_dequantizelinear_stay)
{
    qdq_model *m = test_model("<ir_version: 8, opset_import: [\"\" : 17]>\n"
                              "g (float[3,2,1] x) => (y) <int8[1,4,1] q = {1, 2, 3, 4}, float s = "
                              "{0.5}, float[1,4,1] r = {4, 3, 2, 1}> {\n"
                              "  w = DequantizeLinear(q, s)\n"
                              "  [\"l\"] y = LSTM <hidden_size = 1> (x, w, r)\n"
                              "}\n");
    qdq_plan *p = test_dynamic_plan(m, &any_size, same_key, same);

    assert_int_equal(p->weights.n, 0);
    assert_string_equal(test_reason(p, "l"), "the model has its weight quantized already");
    qdq_plan_free(p);
    qdq_model_free(m);
}

/* --- plans ------------------------------------------------------------------------------------ */

#define ENTRY(tensor, input, rest)                                                                 \
    "{\"tensor\": \"" tensor "\", \"consumers\": [[\"l\", " input                                  \
    "]], \"store\": \"dynamic\", " rest "}"
#define ROWS "\"axis\": 1, \"type\": \"int8\""

TEST(plans_whose_lstm_has_no_such_form_are_refused)
{
    static const struct {
        const char *weights, *message;
    } cases[] = {
        {ENTRY("w", "1", ROWS), "needs both of its weights (inputs 1 and 2)"},
        {ENTRY("r", "2", ROWS), "needs both of its weights (inputs 1 and 2)"},
        {ENTRY("w", "1", ROWS) ", " ENTRY("r", "2", "\"axis\": 1, \"type\": \"uint8\""),
         "needs both of its weights (inputs 1 and 2) in that form and of one type"},
        {ENTRY("w", "1", "\"axis\": 1, \"type\": \"int16\"") ", " ENTRY("r", "2", ROWS),
         "needs both of its weights"},
        {ENTRY("w", "1", "\"axis\": 1, \"type\": \"int16\"") ", " ENTRY(
             "r", "2", "\"axis\": 1, \"type\": \"int16\""),
         "needs int8 or uint8"},
        {ENTRY("w", "1", "\"axis\": 2, \"type\": \"int8\"") ", " ENTRY("r", "2", ROWS),
         "needs one scale, or one for each direction (axis 0), row (axis 1)"},
        {ENTRY("w", "1", "\"axis\": 2, \"block\": 1, \"type\": \"int8\"") ", " ENTRY("r", "2",
                                                                                     ROWS),
         "blocks of whole rows"},
        {ENTRY("w", "1", "\"axis\": 1, \"type\": \"uint8\", \"symmetric\": false") ", " ENTRY(
             "r", "2", "\"axis\": 1, \"type\": \"uint8\""),
         "needs one zero point (of int8: 0) where rows have scales of their own"},
        {ENTRY("b", "3", ROWS), "only W and R of an LSTM have a dynamic form"},
    };
    qdq_error err = QDQ_ERROR_INIT;

    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        qdq_model *m = test_model("<ir_version: 10, opset_import: [\"\" : 21]>\n"
                                  "g (float[3,2,2] x) => (y) <" W1 ", " R1
                                  ", float[1,8] b = {1, 2, 3, 4, 5, 6, 7, 8}> {\n"
                                  "  [\"l\"] y = LSTM <hidden_size = 1> (x, w, r, b)\n"
                                  "}\n");
        qdq_plan *p = NULL;
        char text[900];

        int n =
            snprintf(text, sizeof text, "{\"qdq_plan\": 1, \"weights\": [%s]}", cases[i].weights);
        assert_ok(qdq_plan_parse(text, (size_t)n, "plan", &p, &err));
        assert_fails(QDQ_E_FORMAT, cases[i].message, qdq_insert(m, p, NULL, NULL, &err));
        qdq_plan_free(p);
        qdq_model_free(m);
    }
}

/* Its shape is that of the file, whatever the attributes say. */
TEST(plans_for_an_lstm_of_other_shapes_are_refused)
{
    static const char *const attributes[] = {"hidden_size = 2",
                                             "hidden_size = 1, direction = \"bidirectional\""};
    static const char plan[] =
        "{\"qdq_plan\": 1, \"weights\": [" ENTRY("w", "1", ROWS) ", " ENTRY("r", "2", ROWS) "]}";
    qdq_error err = QDQ_ERROR_INIT;

    for (size_t i = 0; i < QDQ_COUNT(attributes); i++) {
        char text[600];
        qdq_plan *p = NULL;

        snprintf(text, sizeof text,
                 "<ir_version: 8, opset_import: [\"\" : 17]>\n"
                 "g (float[3,2,2] x) => (y) <" W1 ", " R1 "> { [\"l\"] y = LSTM <%s> (x, w, r) }",
                 attributes[i]);
        qdq_model *m = test_model(text);
        assert_ok(qdq_plan_parse(plan, sizeof plan - 1, "plan", &p, &err));
        assert_fails(QDQ_E_FORMAT, "its weight does not have the shape that its attributes say",
                     qdq_insert(m, p, NULL, NULL, &err));
        qdq_plan_free(p);
        qdq_model_free(m);
    }
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

#define CODES(w, elem, shape, scales, zeros)                                                       \
    "<ir_version: 8, opset_import: [\"\" : 17, \"com.microsoft\" : 1]>\n"                          \
    "g (float[3,2,1] x, int8[1,1,4] input) => (y) <" elem "[" shape                                \
    "] w_quantized = {1, 2, 3, 4}, " scales ", " zeros                                             \
    ", int8[1,1,4] r = {4, 3, 2, 1}, float[1] rs = {0.5}, int8[1] rz = {0}> {\n"                   \
    "  [\"l_quant\"] y = com.microsoft.DynamicQuantizeLSTM <hidden_size = 1> (x, " w ", r, \"\", " \
    "\"\", \"\", \"\", \"\", s, z, rs, rz)\n"                                                      \
    "}\n"

/* Files of ONNX Runtime's tool call the node after the float one. */
TEST(the_name_that_another_tool_gave_is_taken_back)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *stripped = NULL;
    size_t n_left;
    qdq_model *m = test_model(CODES("w_quantized", "int8", "1,1,4", "float[1,4] s = {1, 2, 3, 4}",
                                    "int8[1,4] z = {0, 0, 0, 0}"));

    assert_ok(qdq_model_strip(m, NULL, &stripped, &n_left, &err));
    test_assert_text(stripped, "<ir_version: 8, opset_import: [\"\" : 17, \"com.microsoft\" : 1]>\n"
                               "g (float[3,2,1] x, int8[1,1,4] input) => (y) <\n"
                               "  float[1,4,1] w = {1, 4, 9, 16},\n"
                               "  float[1,4,1] r_1 = {2, 1.5, 1, 0.5}\n"
                               "> {\n"
                               "  [l] y = LSTM <hidden_size = 1> (x, w, r_1)\n"
                               "}\n");
    qdq_model_free(stripped);
    qdq_model_free(m);
}

/* Files may say anything. */
TEST(operators_whose_inputs_do_not_fit_stay_and_are_reported)
{
    static const char *const texts[] = {
        CODES("w_quantized", "int8", "1,1,4", "float s = {1}", "int8 z = {0}"),
        CODES("w_quantized", "int8", "1,1,4", "float[2] s = {1, 2}", "int8[2] z = {0, 0}"),
        CODES("w_quantized", "int8", "1,1,4", "float[1,3] s = {1, 2, 3}",
              "int8[1,3] z = {0, 0, 0}"),
        CODES("w_quantized", "int8", "1,1,4", "float[1] s = {1}", "int8[2] z = {0, 0}"),
        CODES("w_quantized", "int8", "1,1,4", "float[1] s = {1}", "uint8[1] z = {0}"),
        CODES("w_quantized", "int8", "1,4", "float[1] s = {1}", "int8[1] z = {0}"),
        CODES("w_quantized", "int32", "1,1,4", "float[1] s = {1}", "int32[1] z = {0}"),
        CODES("w_quantized", "int8", "1,1,4", "float[1,1,1] s = {1}", "int8[1] z = {0}"),
        CODES("input", "int8", "1,1,4", "float[1] s = {1}", "int8[1] z = {0}"),
    };
    qdq_error err = QDQ_ERROR_INIT;

    for (size_t i = 0; i < QDQ_COUNT(texts); i++) {
        qdq_model *m = test_model(texts[i]), *stripped = NULL;
        size_t n_left = 0;

        assert_ok(qdq_model_strip(m, NULL, &stripped, &n_left, &err));
        assert_int_equal(n_left, 1);
        assert_int_equal(test_count(stripped, "DynamicQuantizeLSTM"), 1);
        qdq_model_free(stripped);
        qdq_model_free(m);
    }
}

TEST(check_counts_it_among_nodes_in_8_bits)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_dynamic_model(PLAIN, same_key, same);
    qdq_target *t = test_dynamic_target(same_key, same);
    qdq_target_check *c = NULL;

    assert_ok(qdq_model_check_target(m, t, NULL, &c, &err));
    assert_int_equal(c->n_fused, 1);
    assert_int_equal(c->n, 0);
    qdq_free(c);
    qdq_target_free(t);
    qdq_model_free(m);
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
