/* quant_dynamic.c - products whose data the model quantizes while it runs: which nodes become some,
 * their form, and the way back. */
#include <math.h>
#include <stdio.h>

#include "support/dynamic.h"

static qdq_plan *placed(const qdq_model *m, const qdq_place_opts *opts)
{
    return test_dynamic_plan(m, opts, "weight.type", "int8");
}

static qdq_model *dynamic(const char *text)
{
    return test_dynamic_model(text, "weight.type", "int8");
}

static void assert_becomes(const char *before, const char *after)
{
    qdq_model *m = dynamic(before);

    test_assert_text(m, after);
    qdq_model_free(m);
}

/* --- the form --------------------------------------------------------------------------------- */

TEST(a_product_gets_the_form_that_onnx_runtime_fuses)
{
    assert_becomes(
        "g (float[3,2] x) => (float[3,2] y) <float[2,2] w = {127, 2, -1, 254}> {\n"
        "  [\"mm\"] y = MatMul(x, w)\n"
        "}\n",
        "g (float[3,2] x) => (float[3,2] y) <\n"
        "  float[2] w_scale = {1, 2},\n"
        "  int8[2] w_zero_point = {0, 0},\n"
        "  int8[2,2] w_quantized = {127, 1, -1, 127}\n"
        "> {\n"
        "  [x_DynamicQuantizeLinear] x_quantized, x_scale, x_zero_point = "
        "DynamicQuantizeLinear(x)\n"
        "  [mm] y_output_quantized = MatMulInteger(x_quantized, w_quantized, x_zero_point, "
        "w_zero_point)\n"
        "  [y_output_cast] y_output_cast = Cast <to = 1> (y_output_quantized)\n"
        "  [y_output_scale] y_output_scale = Mul(x_scale, w_scale)\n"
        "  [mm_output_Mul] y = Mul(y_output_cast, y_output_scale)\n"
        "}\n");
}

/* [N, K] as [K, N], and the bias added behind the scaled product. */
TEST(a_gemm_is_transposed_and_its_bias_added)
{
    assert_becomes(
        "g (float[3,2] x) => (float[3,3] y) <float[3,2] w = {127, 2, -2, 254, 0, -127}, float c = "
        "{5}> {\n"
        "  [\"fc\"] y = Gemm <transB = 1> (x, w, c)\n"
        "}\n",
        "g (float[3,2] x) => (float[3,3] y) <\n"
        "  float c = {5},\n"
        "  float[3] w_scale = {1, 2, 1},\n"
        "  int8[3] w_zero_point = {0, 0, 0},\n"
        "  int8[2,3] w_quantized = {127, -1, 0, 2, 127, -127}\n"
        "> {\n"
        "  [x_DynamicQuantizeLinear] x_quantized, x_scale, x_zero_point = "
        "DynamicQuantizeLinear(x)\n"
        "  [fc] y_output_quantized = MatMulInteger(x_quantized, w_quantized, x_zero_point, "
        "w_zero_point)\n"
        "  [y_output_cast] y_output_cast = Cast <to = 1> (y_output_quantized)\n"
        "  [y_output_scale] y_output_scale = Mul(x_scale, w_scale)\n"
        "  [y_output_without_bias] y_output_without_bias = Mul(y_output_cast, y_output_scale)\n"
        "  [fc_output_Add] y = Add(y_output_without_bias, c)\n"
        "}\n");
}

TEST(readers_of_a_tensor_share_one_quantizer_and_readers_of_a_weight_its_codes)
{
    qdq_model *m = dynamic(
        "g (float[3,2] x) => (float[3,2] y, float[3,2] z, float[3,2] u) <float[2,2] w = {127, 2, "
        "-1, 254}, float[2,2] v = {1, 2, 3, 4}> {\n"
        "  y = MatMul(x, w)\n"
        "  z = MatMul(x, v)\n"
        "  u = MatMul(z, w)\n"
        "}\n");

    assert_int_equal(test_count(m, "DynamicQuantizeLinear"), 2); /* of x and z */
    assert_int_equal(test_count(m, "MatMulInteger"), 3);
    assert_int_equal(qdq_graph_find(m->graph, "w_quantized")->n_use, 2);
    assert_null(qdq_graph_find(m->graph, "w"));
    assert_null(qdq_graph_find(m->graph, "w_quantized_1"));
    qdq_model_free(m);
}

TEST(a_weight_that_products_read_both_ways_is_stored_both_ways)
{
    static const char plan[] =
        "{\"qdq_plan\": 1, \"weights\": [{\"tensor\": \"w\", \"consumers\": [[\"a\", 1], [\"b\", "
        "1]], \"axis\": null, \"type\": \"int8\", \"store\": \"dynamic\"}]}";
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model("g (float[3,2] x) => (float[3,2] y, float[3,2] z) <float[2,2] w = "
                              "{127, 2, -1, 4}> {\n"
                              "  [\"a\"] y = MatMul(x, w)\n"
                              "  [\"b\"] z = Gemm <transB = 1> (x, w)\n"
                              "}\n");
    qdq_plan *p = NULL;

    assert_ok(qdq_plan_parse(plan, sizeof plan - 1, "plan", &p, &err));
    assert_ok(qdq_insert(m, p, NULL, NULL, &err));
    assert_ok(qdq_model_verify(m, &err));
    assert_int_equal(test_count(m, "DynamicQuantizeLinear"), 1);
    assert_non_null(qdq_graph_find(m->graph, "w_quantized"));
    assert_non_null(qdq_graph_find(m->graph, "w_quantized_1"));
    qdq_plan_free(p);
    qdq_model_free(m);
}

TEST(a_quantizer_that_the_model_has_is_used)
{
    qdq_model *m = dynamic("g (float[3,2] x) => (float[3,2] y, uint8[3,2] q) <float[2,2] w = {127, "
                           "2, -1, 254}> {\n"
                           "  y = MatMul(x, w)\n"
                           "  q, s, z = DynamicQuantizeLinear(x)\n"
                           "}\n");

    assert_int_equal(test_count(m, "DynamicQuantizeLinear"), 1);
    qdq_model_free(m);
}

TEST(products_in_branches_quantize_what_they_capture)
{
    qdq_model *m = test_model(
        "g (float[3,2] x, bool c) => (float[3,2] y) <float[2,2] w = {127, 2, -1, 254}> {\n"
        "  y = If <then_branch = t () => (float[3,2] p) { [\"in\"] p = MatMul(x, w) },\n"
        "          else_branch = e () => (float[3,2] q) { q = Tanh(x) }> (c)\n"
        "}\n");
    static const char plan[] =
        "{\"qdq_plan\": 1, \"weights\": [{\"tensor\": \"w\", \"consumers\": [[\"in\", 1]], "
        "\"axis\": 1, \"type\": \"int8\", \"store\": \"dynamic\"}]}";
    qdq_error err = QDQ_ERROR_INIT;
    qdq_plan *p = NULL;

    assert_ok(qdq_plan_parse(plan, sizeof plan - 1, "plan", &p, &err));
    assert_ok(qdq_insert(m, p, NULL, NULL, &err));
    assert_ok(qdq_model_verify(m, &err));
    QDQ_FOR_NODES (n, m->graph)
        assert_string_equal(n->type, "If");
    assert_int_equal(test_count(m, "MatMulInteger"), 1);
    assert_int_equal(test_count(m, "DynamicQuantizeLinear"), 1);
    qdq_plan_free(p);
    qdq_model_free(m);
}

/* --- which nodes ------------------------------------------------------------------------------ */

static void assert_stays(test_builder *b, const char *node, const char *reason)
{
    qdq_model *m = test_built(b);
    qdq_plan *p = placed(m, NULL);

    assert_string_equal(test_reason(p, node), reason);
    qdq_plan_free(p);
    qdq_model_free(m);
}

/* x [4, 96] -> n -> y, whose second operand is w. */
static test_builder product(const char *op, int64_t rows, int64_t columns)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 4, 96);
    TEST_RANDOM(&b, "w", rows, columns);
    TEST_NODE(&b, op, "y", "x", "w");
    test_output(&b, "y");
    return b;
}

static qdq_node *producer(const test_builder *b, const char *name)
{
    return qdq_graph_find(b->g, name)->producer;
}

TEST(products_without_a_dynamic_form_stay_float_and_say_why)
{
    test_builder b = product("MatMul", 96, 80);

    assert_stays(&b, "y",
                 "the product with a small matrix is slower if its data is quantized at run time");
    b = product("Gemm", 96, 96);
    assert_true(qdq_node_set_float(producer(&b, "y"), "alpha", 2));
    assert_stays(&b, "y", "its attributes have no kernel for quantized weights");
    b = test_build(17);
    TEST_INPUT(&b, "x", 96, 4);
    TEST_RANDOM(&b, "w", 96, 96);
    assert_true(qdq_node_set_int(TEST_NODE(&b, "Gemm", "y", "x", "w"), "transA", 1));
    test_output(&b, "y");
    assert_stays(&b, "y", "its data is transposed, and MatMulInteger transposes nothing");
    b = test_build(17);
    TEST_INPUT(&b, "x", 4, 96);
    TEST_INPUT(&b, "w", 96, 96);
    TEST_NODE(&b, "MatMul", "y", "x", "w");
    test_output(&b, "y");
    assert_stays(&b, "y", "its weight is not constant");
    b = product("MatMul", 96, 96);
    TEST_NODE(&b, "Softmax", "p", "y");
    test_output(&b, "p");
    assert_stays(&b, "p", "only products with constant weights are quantized");
}

TEST(conv_and_gru_have_no_dynamic_form)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 16, 8, 8);
    TEST_RANDOM(&b, "w", 16, 1, 3, 3);
    TEST_INPUT(&b, "s", 4, 2, 8);
    TEST_RANDOM(&b, "gw", 1, 24, 8);
    TEST_RANDOM(&b, "gr", 1, 24, 8);
    assert_true(qdq_node_set_int(TEST_NODE(&b, "Conv", "y", "x", "w"), "group", 16));
    assert_true(qdq_node_set_int(TEST_NODE(&b, "GRU", "z", "s", "gw", "gr"), "hidden_size", 8));
    test_output(&b, "y");
    test_output(&b, "z");
    qdq_model *m = test_built(&b);
    qdq_plan *p = placed(m, NULL);
    assert_string_equal(test_reason(p, "y"), "ConvInteger is slower than the float Conv");
    assert_string_equal(test_reason(p, "z"), "no kernel quantizes a GRU's data at run time; with "
                                             "weights alone each run dequantizes them");
    qdq_plan_free(p);
    qdq_model_free(m);
}

TEST(weights_of_rank_3_have_one_scale)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 2, 4, 96);
    TEST_RANDOM(&b, "w", 2, 96, 96);
    TEST_NODE(&b, "MatMul", "y", "x", "w");
    test_output(&b, "y");
    qdq_model *m = test_built(&b);
    qdq_plan *p = placed(m, NULL);
    assert_int_equal(p->weights.n, 1);
    assert_int_equal(p->weights.at[0].axis, -1);
    assert_int_equal(p->weights.at[0].store, QDQ_WEIGHT_AS_DYNAMIC);
    qdq_plan_free(p);
    qdq_model_free(m);
}

TEST(what_is_quantized_already_stays_as_it_is)
{
    qdq_model *m = test_model(
        "g (float[3,2] x) => (float[3,2] y, float[3,2] z) <float s = {0.5}, uint8 zp = {7}, "
        "int8[2,2] q = {1, 2, 3, 4}, float[2,2] v = {1, 2, 3, 4}> {\n"
        "  [\"q\"] xq = QuantizeLinear(x, s, zp)\n"
        "  [\"d\"] xd = DequantizeLinear(xq, s, zp)\n"
        "  [\"e\"] w = DequantizeLinear(q, s)\n"
        "  [\"a\"] y = MatMul(xd, v)\n"
        "  [\"b\"] z = MatMul(x, w)\n"
        "}\n");
    qdq_plan *p = placed(m, &any_size);

    assert_int_equal(p->weights.n, 0);
    assert_string_equal(test_reason(p, "a"), "the model has its data quantized already");
    assert_string_equal(test_reason(p, "b"), "the model has its weight quantized already");
    qdq_plan_free(p);
    qdq_model_free(m);
}

TEST(operators_that_carry_dynamic_codes_are_left_alone_by_a_second_run)
{
    static const char text[] =
        "g (float[3,2] x) => (float[3,2] y) <float[2,2] w = {127, 2, -1, 254}> {\n"
        "  [\"mm\"] y = MatMul(x, w)\n"
        "}\n";
    qdq_model *m = dynamic(text);
    qdq_plan *p = placed(m, &any_size);

    assert_int_equal(p->weights.n, 0);
    qdq_plan_free(p);
    qdq_model_free(m);
}

/* --- plans ------------------------------------------------------------------------------------ */

TEST(plans_whose_products_have_no_such_form_are_refused)
{
    static const struct {
        const char *weight, *message;
    } cases[] = {
        {"\"tensor\": \"w\", \"consumers\": [[\"a\", 1]], \"axis\": 0, \"type\": \"int8\"",
         "'dynamic' for node 'a' needs one scale, or one for each column of a matrix (axis 1)"},
        {"\"tensor\": \"w\", \"consumers\": [[\"a\", 1]], \"axis\": 0, \"block\": 2, \"type\": "
         "\"int8\"",
         "'dynamic' for node 'a' needs one scale"},
        {"\"tensor\": \"w\", \"consumers\": [[\"a\", 1]], \"axis\": 1, \"type\": \"int16\"",
         "'dynamic' for node 'a' needs int8 or uint8"},
        {"\"tensor\": \"w\", \"consumers\": [[\"b\", 1]], \"axis\": 1, \"type\": \"int8\"",
         "'dynamic' for node 'b': its data is transposed"},
        {"\"tensor\": \"w\", \"consumers\": [[\"c\", 1]], \"axis\": 1, \"type\": \"int8\"",
         "'dynamic' for node 'c': its product or its bias is scaled"},
        {"\"tensor\": \"w\", \"consumers\": [[\"d\", 1]], \"axis\": 1, \"type\": \"int8\"",
         "'dynamic' for node 'd': it has no dynamic form as a MatMulInteger"},
    };
    qdq_error err = QDQ_ERROR_INIT;

    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        qdq_model *m = test_model(
            "<ir_version: 10, opset_import: [\"\" : 21]>\n"
            "g (float[2,2] x) => (float[2,2] y, float[2,2] z, float[2,2] u, float[2,2] v) "
            "<float[2,2] w = {1, 2, 3, 4}> {\n"
            "  [\"a\"] y = MatMul(x, w)\n"
            "  [\"b\"] z = Gemm <transA = 1> (x, w)\n"
            "  [\"c\"] u = Gemm <alpha = 2.0> (x, w)\n"
            "  [\"d\"] v = Mul(x, w)\n"
            "}\n");
        qdq_plan *p = NULL;
        char text[600];

        int n = snprintf(text, sizeof text,
                         "{\"qdq_plan\": 1, \"weights\": [{%s, \"store\": \"dynamic\"}]}",
                         cases[i].weight);
        assert_ok(qdq_plan_parse(text, (size_t)n, "plan", &p, &err));
        assert_fails(QDQ_E_FORMAT, cases[i].message, qdq_insert(m, p, NULL, NULL, &err));
        qdq_plan_free(p);
        qdq_model_free(m);
    }
}

static const char two_products[] =
    "g (float[3,2] x, bool k) => (float[3,2] y, float[3,2] z, float[3,2] i) <float[2,2] w = {127, "
    "2, -1, 254}, float[2,3] v = {127, 254, -127, 2, 4, 8}> {\n"
    "  [\"a\"] y = MatMul(x, w)\n"
    "  [\"b\"] h = MatMul(x, v)\n"
    "  [\"r\"] z = MatMul(y, w)\n"
    "  [\"s\"] o = Softmax(h)\n"
    "  [\"if\"] i = If <then_branch = t () => (float[3,2] p) { [\"in\"] p = MatMul(x, w) },\n"
    "          else_branch = e () => (float[3,2] q) { [\"out\"] q = Tanh(x) }> (k)\n"
    "}\n";

TEST(import_gives_the_plan_back_and_strip_the_float_model)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model(two_products), *q = dynamic(two_products), *f = NULL,
              *stripped = NULL;
    qdq_plan *p = placed(m, &any_size), *again = NULL;
    size_t n_left = 9;

    assert_ok(qdq_plan_import(q, NULL, &again, &f, &err));
    char *want = test_plan_essence(p), *have = test_plan_essence(again);
    assert_string_equal(have, want);
    assert_ok(qdq_model_strip(q, NULL, &stripped, &n_left, &err));
    assert_int_equal(n_left, 0);
    assert_int_equal(test_count(stripped, "MatMul"), 4);
    assert_int_equal(test_count(stripped, "DynamicQuantizeLinear"), 0);
    qdq_free(want);
    qdq_free(have);
    qdq_plan_free(p);
    qdq_plan_free(again);
    qdq_model_free(m);
    qdq_model_free(q);
    qdq_model_free(f);
    qdq_model_free(stripped);
}

/* --- targets ---------------------------------------------------------------------------------- */

TEST(formats_that_no_such_product_has_are_refused)
{
    static const struct {
        const char *target, *key, *value, *message;
    } cases[] = {
        {"ort-cpu", "activation.type", "uint8", "'dynamic' is for activations of type 'float'"},
        {"ort-cpu", "weight.type", "int4", "'int8' or 'uint8', as 'store' is 'dynamic'"},
        {"ort-cpu", "weight.block", "32", "0, as 'store' is 'dynamic'"},
        {"openvino", "weight.block", "0", "no operator of this target has 'dynamic': true"},
    };
    qdq_error err = QDQ_ERROR_INIT;

    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        const qdq_target_change changes[] = {{"activation.type", "float"},
                                             {"weight.store", "dynamic"},
                                             {"bias.type", "float"},
                                             {cases[i].key, cases[i].value}};
        qdq_target *t = NULL;

        assert_ok(qdq_target_load(cases[i].target, &t, &err));
        assert_fails(QDQ_E_FORMAT, cases[i].message,
                     qdq_target_set_all(t, changes, QDQ_COUNT(changes), &err));
        qdq_target_free(t);
    }
}
