/* quant_float_channels.c - channels that products compute in float: which stand out, what insertion
 * makes of them, and what is refused. */
#include <stdio.h>

#include "ir/graph_check.h"
#include "quant/insert/insert.h"
#include "quant/weights/float_channels.h"
#include "support/build.h"
#include "support/test.h"

/* --- which stand out -------------------------------------------------------------------------- */

enum { MOST = 128 };

/* Of n channels of magnitude 1, the first n_large have `large`. */
static size_t standing_out(size_t n, size_t n_large, float large, int64_t *channels)
{
    float most[MOST], sorted[MOST];

    for (size_t i = 0; i < n; i++)
        most[i] = i < n_large ? large : 1;
    return qdq_outliers_of(most, n, sorted, channels);
}

TEST(few_channels_that_are_far_larger_stand_out)
{
    float most[64], sorted[64];
    int64_t channels[MOST];

    for (size_t i = 0; i < QDQ_COUNT(most); i++)
        most[i] = 1;
    most[17] = 40;
    most[50] = 3;
    assert_int_equal(qdq_outliers_of(most, QDQ_COUNT(most), sorted, channels), 2);
    assert_int_equal(channels[0], 17);
    assert_int_equal(channels[1], 50);
    assert_int_equal(standing_out(MOST, 4, 4, channels), 4);
}

TEST(channels_that_are_little_larger_or_too_many_do_not)
{
    int64_t channels[MOST];

    assert_int_equal(standing_out(MOST, 4, 3.9f, channels), 0); /* less than two bits */
    assert_int_equal(standing_out(MOST, 5, 40, channels), 0);   /* more than one in 32 */
    assert_int_equal(standing_out(31, 1, 40, channels), 0);     /* one is more than one in 32 */
    assert_int_equal(standing_out(MOST, 0, 1, channels), 0);
    float most[32] = {40}, sorted[32];
    assert_int_equal(qdq_outliers_of(most, 32, sorted, channels), 0); /* nothing is left */
}

/* --- insertion -------------------------------------------------------------------------------- */

/* x -> MatMul y -> Add z of a bias; Gemm g (transB, alpha); Relu r, if asked for */
static qdq_model *model(bool other_reader)
{
    test_builder b = test_build(21);

    TEST_INPUT(&b, "x", 4, 3);
    TEST_RANDOM(&b, "w", 3, 2);
    TEST_RANDOM(&b, "v", 2, 3);
    TEST_RANDOM(&b, "b", 2);
    TEST_NODE(&b, "MatMul", "y", "x", "w");
    TEST_NODE(&b, "Add", "z", "y", "b");
    qdq_node *gemm = TEST_NODE(&b, "Gemm", "g", "x", "v");
    assert_true(qdq_node_set_int(gemm, "transB", 1) && qdq_node_set_float(gemm, "alpha", 2));
    if (other_reader) {
        TEST_NODE(&b, "Relu", "r", "x");
        test_output(&b, "r");
    }
    test_output(&b, "z");
    test_output(&b, "g");
    return test_built(&b);
}

#define CHANNELS(tensor, readers, channels)                                                        \
    "{\"tensor\": \"" tensor "\", \"consumers\": [" readers "], \"channels\": [" channels "]}"
#define WEIGHT(tensor, reader, axis, more)                                                         \
    "{\"tensor\": \"" tensor "\", \"consumers\": [[\"" reader "\", 1]], \"axis\": " axis           \
    ", \"type\": \"int8\"" more "}"
#define BOTH    "[\"g\", 0], [\"y\", 0]"
#define WEIGHTS WEIGHT("v", "g", "0", "") ", " WEIGHT("w", "y", "1", "")
#define X       "{\"tensor\": \"x\", \"type\": \"uint8\", \"scale\": 0.01, \"zero_point\": 128}"

static qdq_status parse(const char *channels, const char *weights, qdq_plan **p, qdq_error *err)
{
    char text[2000];
    const int n = snprintf(text, sizeof text,
                           "{\"qdq_plan\": 1, \"float_channels\": [%s], \"weights\": [%s], "
                           "\"tensors\": [" X "]}",
                           channels, weights);

    return qdq_plan_parse(text, (size_t)n, "plan", p, err);
}

static const float *floats_of(const qdq_model *m, const char *name)
{
    const qdq_value *v = qdq_graph_find(m->graph, name);

    assert_non_null(v);
    return (const float *)(const void *)qdq_value_const(v)->bytes.data;
}

static const qdq_node *maker(const qdq_model *m, const char *name)
{
    const qdq_value *v = qdq_graph_find(m->graph, name);

    assert_non_null(v);
    assert_non_null(v->producer);
    return v->producer;
}

TEST(a_product_of_the_channels_is_added_behind_the_bias)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = model(false);
    qdq_plan *p = NULL;
    float w[6], v[6];

    memcpy(w, floats_of(m, "w"), sizeof w);
    memcpy(v, floats_of(m, "v"), sizeof v);
    assert_ok(parse(CHANNELS("x", BOTH, "1"), WEIGHTS, &p, &err));
    assert_ok(qdq_insert(m, p, NULL, NULL, &err));
    assert_ok(qdq_model_verify(m, &err));
    const qdq_node *sum = maker(m, "z"), *rest = maker(m, "z_in_8_bits");
    assert_int_equal(sum->op, QDQ_OP_ADD);
    assert_ptr_equal(sum->in[0].value->producer, rest);
    assert_string_equal(rest->in[0].value->name, "y_in_8_bits"); /* and the bias */
    const qdq_node *product = sum->in[1].value->producer;
    assert_int_equal(product->op, QDQ_OP_MATMUL);
    const qdq_node *gather = product->in[0].value->producer;
    assert_string_equal(gather->in[0].value->name, "x"); /* before Q */
    assert_ptr_equal(maker(m, "g")->in[1].value->producer->in[0].value->producer, gather);
    assert_null(qdq_graph_find(m->graph, "y"));
    for (size_t i = 0; i < 2; i++) {
        assert_true(floats_of(m, "w_float_rows")[i] == w[2 + i]);
        assert_true(floats_of(m, "v_float_rows")[i] == 2 * v[3 * i + 1]);
        const int8_t *in_w = (const int8_t *)floats_of(m, "w_quantized"),
                     *in_v = (const int8_t *)floats_of(m, "v_quantized");
        assert_true(in_w[2 + i] == 0 && in_v[3 * i + 1] == 0);
        assert_true(in_w[i] != 0 || in_w[4 + i] != 0);
    }
    qdq_plan_free(p);
    qdq_model_free(m);
}

TEST(weights_that_are_stored_as_floats_lose_their_rows)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = model(true);
    qdq_plan *p = NULL;
    char *text = NULL;

    assert_ok(parse(CHANNELS("x", "[\"y\", 0]", "0, 2"),
                    WEIGHT("w", "y", "1", ", \"store\": \"float\""), &p, &err));
    assert_ok(qdq_plan_to_text(p, &text, &err));
    assert_non_null(strstr(text, "\"float_channels\": [\n    {\"tensor\": \"x\", \"consumers\": "
                                 "[[\"y\", 0]], \"channels\": [0, 2]}\n  ]"));
    assert_ok(qdq_insert(m, p, NULL, NULL, &err));
    assert_ok(qdq_model_verify(m, &err));
    const float *zeroed = floats_of(m, "w_zeroed");
    assert_true(zeroed[0] == 0 && zeroed[1] == 0 && zeroed[2] != 0 && zeroed[4] == 0);
    qdq_free(text);
    qdq_plan_free(p);
    qdq_model_free(m);
}

TEST(float_channels_that_do_not_fit_are_refused)
{
    static const struct {
        const char *channels, *weights, *message;
    } cases[] = {
        {CHANNELS("nothing", "[\"y\", 0]", "1"), WEIGHTS, "tensor 'nothing'"},
        {CHANNELS("x", "[\"nobody\", 0]", "1"), WEIGHTS, "node 'nobody'"},
        {CHANNELS("x", "[\"y\", 1]", "1"), WEIGHTS, "product 'y' of 'x'"},
        {CHANNELS("x", BOTH, "3"), WEIGHTS, "a matrix with such input channels"},
        {CHANNELS("x", BOTH, "0, 1, 2"), WEIGHTS, "a matrix with such input channels"},
        {CHANNELS("x", "[\"y\", 0]", "1") ", " CHANNELS("x", BOTH, "1"), WEIGHTS,
         "room for two entries of float channels of node 'y'"},
        {CHANNELS("x", BOTH, "1"), WEIGHT("w", "y", "1", ""),
         "float channels of 'x': product 'g' has no weight in the plan"},
        {CHANNELS("x", BOTH, "1"),
         WEIGHT("v", "g", "0", "") ", " WEIGHT("w", "y", "1", ", \"store\": \"dynamic\""),
         "weight 'w': store 'dynamic': found float channels of its readers"},
        {CHANNELS("x", "[\"y\", 0]", "1"),
         WEIGHT("w", "y", "1",
                ", \"method\": \"given\", \"scales\": [1, 1], \"codes\": \"AAAAAAAA\""),
         "it has 'codes', but its readers have their data partly in float"},
    };
    qdq_error err = QDQ_ERROR_INIT;

    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        qdq_model *m = model(false);
        qdq_plan *p = NULL;

        assert_ok(parse(cases[i].channels, cases[i].weights, &p, &err));
        assert_fails(QDQ_E_FORMAT, cases[i].message, qdq_insert(m, p, NULL, NULL, &err));
        qdq_plan_free(p);
        qdq_model_free(m);
    }
}

TEST(channels_are_ascending_numbers)
{
    static const char *const lists[] = {"", "-1", "1, 1", "2, 1", "0.5", "\"1\""};
    qdq_error err = QDQ_ERROR_INIT;
    qdq_plan *p = NULL;

    for (size_t i = 0; i < QDQ_COUNT(lists); i++) {
        char text[200];

        snprintf(text, sizeof text, CHANNELS("x", BOTH, "%s"), lists[i]);
        assert_fails(QDQ_E_FORMAT,
                     "float_channels[0], key 'channels': expected a list of ascending channels",
                     parse(text, WEIGHTS, &p, &err));
    }
    assert_fails(QDQ_E_FORMAT, "key 'consumers'", parse(CHANNELS("x", "", "1"), WEIGHTS, &p, &err));
}
