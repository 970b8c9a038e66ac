/* quant_scaling.c - activations divided and weights multiplied: where the division goes, and what
 * is refused. */
#include <stdio.h>

#include "ir/graph_check.h"
#include "quant/insert/insert.h"
#include "quant/weights/scaling.h"
#include "support/build.h"
#include "support/test.h"

/* x -> LayerNormalization n -> MatMul y, Gemm z (transB); Relu(n) or an output, if asked for */
static qdq_model *model(bool other_reader)
{
    test_builder b = test_build(21);

    TEST_INPUT(&b, "x", 4, 2);
    TEST_RANDOM(&b, "gain", 2);
    TEST_RANDOM(&b, "shift", 2);
    TEST_RANDOM(&b, "w", 2, 3);
    TEST_RANDOM(&b, "v", 3, 2);
    TEST_NODE(&b, "LayerNormalization", "n", "x", "gain", "shift");
    TEST_NODE(&b, "MatMul", "y", "n", "w");
    assert_true(qdq_node_set_int(TEST_NODE(&b, "Gemm", "z", "n", "v"), "transB", 1));
    if (other_reader) {
        TEST_NODE(&b, "Relu", "r", "n");
        test_output(&b, "r");
    }
    test_output(&b, "y");
    test_output(&b, "z");
    return test_built(&b);
}

#define WEIGHTS                                                                                    \
    "\"weights\": [{\"tensor\": \"v\", \"consumers\": [[\"z\", 1]], \"axis\": 0, \"type\": "       \
    "\"int8\"},"                                                                                   \
    "{\"tensor\": \"w\", \"consumers\": [[\"y\", 1]], \"axis\": 1, \"type\": \"int8\"}]"
#define SCALING(tensor, readers, more)                                                             \
    "{\"tensor\": \"" tensor "\", \"consumers\": [" readers "], \"scales\": [2, 4]" more "}"
#define BOTH "[\"y\", 0], [\"z\", 0]"

static qdq_plan *plan_of(const char *scalings, const char *weights)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_plan *p = NULL;
    char text[2000];

    int n =
        snprintf(text, sizeof text, "{\"qdq_plan\": 1, \"scalings\": [%s], %s}", scalings, weights);
    assert_ok(qdq_plan_parse(text, (size_t)n, "plan", &p, &err));
    return p;
}

static float first(const qdq_model *m, const char *name, int64_t i)
{
    const qdq_value *v = qdq_graph_find(m->graph, name);

    assert_non_null(v);
    return qdq_elem_float(QDQ_FLOAT, qdq_value_const(v)->bytes.data, i);
}

TEST(a_normalization_takes_the_division)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = model(false);
    qdq_plan *p = plan_of(SCALING("n", BOTH, ", \"fold\": \"n\""), WEIGHTS);
    float gain = first(m, "gain", 1), shift = first(m, "shift", 0);

    assert_ok(qdq_insert(m, p, NULL, NULL, &err));
    assert_ok(qdq_model_verify(m, &err));
    assert_true(first(m, "gain_scaled", 1) == gain / 4 && first(m, "shift_scaled", 0) == shift / 2);
    assert_null(qdq_graph_find(m->graph, "gain"));
    /* what is divided is not the value that a comparison by names would take it for */
    assert_null(qdq_graph_find(m->graph, "n"));
    assert_string_equal(qdq_graph_find(m->graph, "n_scaled")->producer->name, "n");
    QDQ_FOR_NODES (n, m->graph)
        assert_true(n->op != QDQ_OP_MUL);
    qdq_plan_free(p);
    qdq_model_free(m);
}

TEST(where_others_read_it_a_mul_divides)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = model(true);
    qdq_plan *p = plan_of(SCALING("n", BOTH, ""), WEIGHTS);
    char *text = NULL;

    assert_ok(qdq_plan_to_text(p, &text, &err));
    assert_non_null(strstr(
        text, "\"scalings\": [\n    {\"tensor\": \"n\", \"consumers\": [[\"y\", 0], [\"z\", 0]], "
              "\"scales\": [2.0, 4.0]}\n  ]"));
    assert_ok(qdq_insert(m, p, NULL, NULL, &err));
    assert_ok(qdq_model_verify(m, &err));
    const qdq_node *mul = qdq_graph_find(m->graph, "n_scaled")->producer;
    assert_int_equal(mul->op, QDQ_OP_MUL);
    assert_int_equal(mul->out[0]->n_use, 2);
    assert_true(first(m, "n_scaled_by", 1) == 0.25f);
    assert_string_equal(qdq_graph_find(m->graph, "r")->producer->in[0].value->name, "n");
    qdq_free(text);
    qdq_plan_free(p);
    qdq_model_free(m);
}

TEST(weights_that_are_stored_as_floats_are_multiplied)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = model(false);
    qdq_plan *p = plan_of(
        SCALING("n", "[\"z\", 0]", ""),
        "\"weights\": [{\"tensor\": \"v\", \"consumers\": [[\"z\", 1]], \"axis\": 0, \"type\": "
        "\"int8\", \"store\": \"float\"}]");
    float v = first(m, "v", 1);

    assert_ok(qdq_insert(m, p, NULL, NULL, &err));
    assert_true(first(m, "v_scaled", 1) == 4 * v); /* [N, K]: element 1 is of channel 1 */
    qdq_plan_free(p);
    qdq_model_free(m);
}

TEST(what_does_not_fit_is_refused)
{
    static const struct {
        const char *scalings, *weights, *message;
        bool other_reader;
    } cases[] = {
        {SCALING("n", BOTH, ", \"fold\": \"n\""), WEIGHTS,
         "constants of node 'n' that scale 'n' for these readers alone", true},
        {SCALING("n", "[\"y\", 0]", ", \"fold\": \"nobody\""), WEIGHTS, "node 'nobody'", false},
        {SCALING("n", "[\"nobody\", 0]", ""), WEIGHTS, "node 'nobody'", false},
        {SCALING("nothing", "[\"y\", 0]", ""), WEIGHTS, "tensor 'nothing'", false},
        {SCALING("n", "[\"y\", 1]", ""), WEIGHTS,
         "product 'y' of 'n' and a matrix with 2 input channels", false},
        {SCALING("x", "[\"y\", 0]", ""), WEIGHTS, "product 'y' of 'x'", false},
        {SCALING("n", "[\"y\", 0]", "") "," SCALING("n", BOTH, ""), WEIGHTS,
         "room for two scalings of node 'y'", false},
        {SCALING("n", BOTH, ""),
         "\"weights\": [{\"tensor\": \"w\", \"consumers\": [[\"y\", 1]], \"axis\": 1, \"type\": "
         "\"int8\"}]",
         "scaling of 'n': 1 of its 2 readers have a weight in the plan, expected all", false},
    };
    qdq_error err = QDQ_ERROR_INIT;

    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        qdq_model *m = model(cases[i].other_reader);
        qdq_plan *p = plan_of(cases[i].scalings, cases[i].weights);

        assert_fails(QDQ_E_FORMAT, cases[i].message, qdq_insert(m, p, NULL, NULL, &err));
        qdq_plan_free(p);
        qdq_model_free(m);
    }
}

/* gain and bias behind the normalization, no bias in front of it and no weight of a product */
TEST(constants_of_normalizations_and_products_can_take_it)
{
    test_builder b = test_build(21);
    uint32_t inputs[2];

    TEST_INPUT(&b, "x", 4, 2);
    TEST_RANDOM(&b, "row", 2);
    TEST_RANDOM(&b, "column", 2, 1);
    TEST_NODE(&b, "LayerNormalization", "a", "x", "row");
    TEST_NODE(&b, "Mul", "b", "row", "x");
    TEST_NODE(&b, "Mul", "c", "x", "column");
    TEST_NODE(&b, "Mul", "d", "x", "x");
    TEST_NODE(&b, "LayerNormalization", "e", "x", "row", "x");
    TEST_NODE(&b, "Relu", "f", "x");
    TEST_RANDOM(&b, "square", 2, 2);
    TEST_NODE(&b, "MatMul", "g", "x", "square");
    TEST_NODE(&b, "Gemm", "h", "x", "square", "row");
    assert_int_equal(qdq_scaling_inputs(qdq_graph_find(b.g, "a")->producer, 2, inputs), 1);
    assert_int_equal(qdq_scaling_inputs(qdq_graph_find(b.g, "b")->producer, 2, inputs), 1);
    assert_int_equal(inputs[0], 0);
    for (const char *const *n = (const char *const[]){"c", "d", "e", "f", "g", "h", NULL};
         *n != NULL; n++)
        assert_int_equal(qdq_scaling_inputs(qdq_graph_find(b.g, *n)->producer, 2, inputs), 0);
    qdq_model_free(b.m);
}
