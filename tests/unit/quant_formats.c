/* quant_formats.c - every format of weights and activations, into a model and back:
 * import(apply(p)) = p. */
#include <math.h>
#include <stdio.h>

#include "ir/graph_check.h"
#include "quant/insert/insert.h"
#include "support/build.h"
#include "support/placed.h"
#include "support/test.h"

#define NODE(tensor, reader, more)                                                                 \
    "{\"tensor\": \"" tensor "\", \"consumers\": [[\"" reader "\", 1]], " more                     \
    ", \"rule\": \"\", \"origin\": \"\"}"

/* x [4, 70] -> MatMul w [70, 6] -> Gemm v [5, 6], transB */
static qdq_model *two_products(void)
{
    test_builder b = test_build(21);

    TEST_INPUT(&b, "x", 4, 70);
    TEST_RANDOM(&b, "w", 70, 6);
    TEST_RANDOM(&b, "v", 5, 6);
    TEST_NODE(&b, "MatMul", "y", "x", "w");
    assert_true(qdq_node_set_int(TEST_NODE(&b, "Gemm", "z", "y", "v"), "transB", 1));
    test_output(&b, "z");
    return test_built(&b);
}

static qdq_plan *plan_with(const char *tensors, const char *weights)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_plan *p = NULL;
    char text[4096];

    int n = snprintf(text, sizeof text, "{\"qdq_plan\": 1, \"tensors\": [%s], \"weights\": [%s]}",
                     tensors, weights);
    assert_ok(qdq_plan_parse(text, (size_t)n, "plan", &p, &err));
    return p;
}

static void assert_comes_back(const char *tensors, const char *weights)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = two_products(), *stripped = NULL;
    qdq_plan *p = plan_with(tensors, weights), *again = NULL;

    assert_ok(qdq_insert(m, p, NULL, NULL, &err));
    assert_ok(qdq_model_verify(m, &err));
    assert_ok(qdq_plan_import(m, NULL, &again, &stripped, &err));
    assert_ok(qdq_model_verify(stripped, &err));
    char *want = test_plan_essence(p), *have = test_plan_essence(again);
    assert_string_equal(have, want);
    QDQ_FOR_NODES (n, stripped->graph)
        assert_true(n->op == QDQ_OP_MATMUL || n->op == QDQ_OP_GEMM);
    qdq_free(want);
    qdq_free(have);
    qdq_plan_free(p);
    qdq_plan_free(again);
    qdq_model_free(m);
    qdq_model_free(stripped);
}

TEST(weights_of_every_format_come_back)
{
    static const char *const formats[] = {
        "\"axis\": 1, \"type\": \"int8\"",
        "\"axis\": null, \"type\": \"int8\"",
        "\"axis\": 1, \"type\": \"int8\", \"reduced\": true",
        "\"axis\": 1, \"type\": \"int8\", \"symmetric\": false",
        "\"axis\": 1, \"type\": \"uint8\", \"symmetric\": false",
        "\"axis\": 1, \"type\": \"uint8\", \"symmetric\": false, \"reduced\": true",
        "\"axis\": 1, \"type\": \"int16\"",
        "\"axis\": 1, \"type\": \"uint16\", \"symmetric\": false",
        "\"axis\": 1, \"type\": \"int4\"",
        "\"axis\": 0, \"type\": \"int4\", \"block\": 32",
        "\"axis\": 0, \"type\": \"int4\", \"block\": 7",
        "\"axis\": 1, \"type\": \"int8\", \"block\": 4",
        "\"axis\": 0, \"type\": \"uint4\", \"symmetric\": false, \"block\": 16",
        "\"axis\": 1, \"type\": \"int8\", \"pow2\": true",
        "\"axis\": 1, \"type\": \"uint8\", \"symmetric\": false, \"reduced\": true, \"pow2\": true",
        "\"axis\": 0, \"type\": \"int4\", \"pow2\": true, \"block\": 16",
        "\"axis\": 1, \"type\": \"float8e4m3fn\", \"pow2\": true",
        "\"axis\": 1, \"type\": \"float8e4m3fn\"",
        "\"axis\": null, \"type\": \"float8e4m3fn\"",
        "\"axis\": 0, \"type\": \"float8e4m3fn\", \"block\": 16",
        "\"axis\": null, \"type\": \"int4\", \"method\": \"given\", \"scales\": [0.3]",
        ("\"axis\": null, \"type\": \"uint4\", \"method\": \"given\", \"scales\": [2.3], "
         "\"zero_points\": [3]"),
    };
    static const char *const stores[] = {"", ", \"store\": \"float\""};
    char weights[1000];

    for (size_t i = 0; i < QDQ_COUNT(formats); i++)
        for (size_t k = 0; k < QDQ_COUNT(stores); k++) {
            snprintf(weights, sizeof weights, NODE("w", "y", "%s%s"), formats[i], stores[k]);
            assert_comes_back("", weights);
        }
}

/* Scales that keep pairs of codes below a limit are no rule that codes give back. */
TEST(weights_of_limited_pairs_come_back_with_their_scales)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = two_products(), *stripped = NULL;
    qdq_plan *p = plan_with("", NODE("w", "y", "\"axis\": 1, \"type\": \"int8\", \"pairs\": true")),
             *again = NULL, *read = NULL;
    char *text;

    assert_ok(qdq_plan_to_text(p, &text, &err));
    assert_ok(qdq_plan_parse(text, strlen(text), "plan", &read, &err));
    assert_true(read->weights.at[0].pairs);
    qdq_free(text);
    assert_ok(qdq_insert(m, p, NULL, NULL, &err));
    assert_ok(qdq_plan_import(m, NULL, &again, &stripped, &err));
    assert_non_null(again->weights.at[0].scales);
    assert_ok(qdq_insert(stripped, again, NULL, NULL, &err));
    const qdq_tensor *a = qdq_graph_find(m->graph, "w_quantized")->init;
    const qdq_tensor *b = qdq_graph_find(stripped->graph, "w_quantized")->init;
    assert_int_equal(a->bytes.size, b->bytes.size);
    assert_memory_equal(a->bytes.data, b->bytes.data, a->bytes.size);
    qdq_plan_free(p);
    qdq_plan_free(read);
    qdq_plan_free(again);
    qdq_model_free(m);
    qdq_model_free(stripped);
}

TEST(pairs_of_another_format_are_an_error_of_the_plan)
{
    static const char *const wrong[] = {"\"axis\": 1, \"type\": \"uint8\"",
                                        "\"axis\": null, \"type\": \"int8\"",
                                        "\"axis\": 1, \"type\": \"int8\", \"reduced\": true",
                                        "\"axis\": 1, \"type\": \"int8\", \"symmetric\": false"};
    qdq_error err = QDQ_ERROR_INIT;
    char text[1000];
    qdq_plan *p = NULL;

    for (size_t i = 0; i < QDQ_COUNT(wrong); i++) {
        snprintf(text, sizeof text,
                 "{\"qdq_plan\": 1, \"weights\": [" NODE("w", "y", "%s, \"pairs\": true") "]}",
                 wrong[i]);
        assert_fails(QDQ_E_FORMAT, "key 'pairs': expected false",
                     qdq_plan_parse(text, strlen(text), "plan", &p, &err));
    }
}

/* An even number of codes has no middle: what codes give back does not tell the range that they
 * were made for. */
TEST(symmetric_unsigned_weights_come_back_with_their_scales)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = two_products(), *stripped = NULL;
    qdq_plan *p = plan_with("", NODE("w", "y", "\"axis\": null, \"type\": \"uint8\"")),
             *again = NULL;

    assert_ok(qdq_insert(m, p, NULL, NULL, &err));
    assert_ok(qdq_plan_import(m, NULL, &again, &stripped, &err));
    const qdq_plan_weight *w = &again->weights.at[0];
    assert_int_equal(w->n_scales, 1);
    assert_int_equal(w->zero_points[0], 128);
    assert_ok(qdq_insert(stripped, again, NULL, NULL, &err));
    const qdq_tensor *a = qdq_graph_find(m->graph, "w_quantized")->init;
    const qdq_tensor *b = qdq_graph_find(stripped->graph, "w_quantized")->init;
    assert_memory_equal(a->bytes.data, b->bytes.data, 420);
    qdq_plan_free(p);
    qdq_plan_free(again);
    qdq_model_free(m);
    qdq_model_free(stripped);
}

/* with transB the blocks go along axis 1 */
TEST(a_gemm_with_transposed_weight_has_blocks_along_its_columns)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = two_products();
    qdq_plan *p = plan_with("", NODE("v", "z", "\"axis\": 1, \"type\": \"int4\", \"block\": 4"));

    assert_ok(qdq_insert(m, p, NULL, NULL, &err));
    const qdq_node *dq = qdq_graph_find(m->graph, "v_quantized")->first->node;
    assert_int_equal(qdq_node_int(dq, "axis", -9), 1);
    assert_int_equal(qdq_node_int(dq, "block_size", -9), 4);
    const qdq_tensor *scale = dq->in[1].value->init;
    assert_true(scale->rank == 2 && scale->dim[0] == 5 && scale->dim[1] == 2);
    assert_int_equal(dq->in[0].value->init->elem, QDQ_INT4);
    assert_int_equal(dq->in[2].value->init->elem, QDQ_INT4);
    assert_int_equal(dq->in[0].value->init->bytes.size, 15);
    qdq_plan_free(p);
    qdq_model_free(m);
}

TEST(activations_of_every_type_come_back)
{
    static const char *const types[] = {"int8", "uint8", "int16",       "uint16",
                                        "int4", "uint4", "float8e4m3fn"};
    char tensors[1000];

    for (size_t i = 0; i < QDQ_COUNT(types); i++) {
        snprintf(tensors, sizeof tensors,
                 "{\"tensor\": \"y\", \"type\": \"%s\", \"scale\": 0.125, \"zero_point\": %d}",
                 types[i], i < 6 ? 5 : 0);
        assert_comes_back(tensors, "");
    }
}

TEST(formats_stand_side_by_side)
{
    assert_comes_back(
        "{\"tensor\": \"x\", \"type\": \"uint8\", \"scale\": 0.125, \"zero_point\": 7},"
        "{\"tensor\": \"y\", \"type\": \"float8e4m3fn\", \"scale\": 0.125}",
        NODE("v", "z", "\"axis\": 0, \"type\": \"float8e4m3fn\"") ", " NODE(
            "w", "y", "\"axis\": 1, \"type\": \"int8\", \"store\": \"float\""));
}

TEST(clipped_weights_come_back_with_their_scales)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = two_products();
    qdq_plan *again = NULL,
             *p = plan_with("", NODE("w", "y",
                                     "\"axis\": 1, \"type\": \"int4\", \"method\": \"clip\", "
                                     "\"clip_step\": 0.1, \"clip\": \"AFAAAA\""));
    const qdq_tensor *w = qdq_graph_find(m->graph, "w")->init;
    float most[6] = {0};

    for (int64_t i = 0; i < w->count; i++)
        most[i % 6] = fmaxf(most[i % 6], fabsf(qdq_elem_float(QDQ_FLOAT, w->bytes.data, i)));
    assert_ok(qdq_insert(m, p, NULL, NULL, &err));
    assert_ok(qdq_plan_import(m, NULL, &again, NULL, &err));
    const qdq_plan_weight *got = &again->weights.at[0];
    assert_true(got->scales != NULL && got->n_scales == 6);
    for (int i = 0; i < 6; i++)
        assert_true(fabsf(got->scales[i] - most[i] / 7 * (i == 1 ? 0.5f : 1)) < 1e-6f);
    qdq_plan_free(p);
    qdq_plan_free(again);
    qdq_model_free(m);
}

static void assert_refused(const char *weights, const char *message)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = two_products();
    qdq_plan *p = plan_with("", weights);

    assert_fails(QDQ_E_FORMAT, message, qdq_insert(m, p, NULL, NULL, &err));
    qdq_plan_free(p);
    qdq_model_free(m);
}

TEST(scales_must_be_as_many_as_the_format_says)
{
    assert_refused(
        NODE("w", "y", "\"axis\": 1, \"type\": \"int4\", \"method\": \"clip\", \"clip\": \"AB\""),
        "weight 'w': 2 letters in 'clip', but 6 channels");
    assert_refused(NODE("w", "y",
                        "\"axis\": 0, \"block\": 32, \"type\": \"int4\", \"method\": \"given\", "
                        "\"scales\": [1]"),
                   "weight 'w': 1 scales, but 18 blocks");
    assert_refused(NODE("w", "y", "\"axis\": 2, \"type\": \"int4\""), "axis 2, but its rank is 2");
}

TEST(codes_must_be_as_many_bytes_as_the_weight_has)
{
    assert_refused(NODE("w", "y",
                        "\"axis\": 1, \"type\": \"int4\", \"method\": \"given\", \"scales\": "
                        "[1, 1, 1, 1, 1, 1], \"codes\": \"AAAA\""),
                   "weight 'w': 3 bytes of 'codes', expected 210");
}

/* Codes are those of the weight as it is, not of one that is multiplied. */
TEST(codes_do_not_go_with_scaled_data)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = two_products();
    qdq_plan *p = NULL;
    char text[2048], *to = text;

    to +=
        sprintf(to, "{\"qdq_plan\": 1, \"scalings\": [{\"tensor\": \"x\", \"consumers\": [[\"y\", "
                    "0]], \"scales\": [1");
    for (int i = 1; i < 70; i++)
        to += sprintf(to, ", 1");
    to += sprintf(
        to, "]}], \"weights\": [{\"tensor\": \"w\", \"consumers\": [[\"y\", 1]], \"axis\": 1, "
            "\"type\": \"int4\", \"method\": \"given\", \"scales\": [1, 1, 1, 1, 1, 1], "
            "\"codes\": \"");
    for (int i = 0; i < 280; i++)
        *to++ = 'A';
    sprintf(to, "\"}]}");
    assert_ok(qdq_plan_parse(text, strlen(text), "plan", &p, &err));
    assert_fails(QDQ_E_FORMAT, "weight 'w': it has 'codes', but its readers have their data scaled",
                 qdq_insert(m, p, NULL, NULL, &err));
    qdq_plan_free(p);
    qdq_model_free(m);
}

TEST(a_model_of_an_older_opset_is_not_stamped)
{
    static const struct {
        const char *weights, *message;
    } cases[] = {
        {NODE("w", "y", "\"axis\": 1, \"type\": \"int16\""),
         "the plan needs opset 21, but has the model left at 17"},
        {NODE("w", "y", "\"axis\": 1, \"type\": \"float8e4m3fn\""), "the plan needs opset 19"},
        {NODE("w", "y", "\"axis\": 0, \"type\": \"int8\", \"block\": 16"),
         "the plan needs opset 21"},
    };
    qdq_error err = QDQ_ERROR_INIT;

    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        qdq_model *m = two_products();
        qdq_plan *p = plan_with("", cases[i].weights);

        assert_ok(qdq_model_set_opset_version(m, "", 17, &err));
        assert_fails(QDQ_E_FORMAT, cases[i].message, qdq_insert(m, p, NULL, NULL, &err));
        qdq_plan_free(p);
        qdq_model_free(m);
    }
}
