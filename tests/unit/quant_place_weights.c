/* quant_place_weights.c - placement where activations stay float, and operators of the engine that
 * hold weights. */
#include <math.h>
#include <stdio.h>

#include "ir/graph_check.h"
#include "quant/insert/insert.h"
#include "support/build.h"
#include "support/placed.h"
#include "support/test.h"

static const qdq_plan_weight *weight(const qdq_plan *p, const char *name)
{
    for (size_t i = 0; i < p->weights.n; i++)
        if (strcmp(p->weights.at[i].tensor, name) == 0)
            return &p->weights.at[i];
    fail_msg("no weight '%s'", name);
    return NULL;
}

static void assert_reason(const qdq_plan *p, const char *node, const char *want)
{
    const char *reason = test_reason(p, node);

    assert_non_null(reason);
    assert_string_equal(reason, want);
}

TEST(products_get_blocks_along_their_input_channels)
{
    test_builder b = test_build(21);

    TEST_INPUT(&b, "x", 2, 3, 64);
    TEST_RANDOM(&b, "w", 64, 48);
    TEST_RANDOM(&b, "stack", 2, 48, 32);
    TEST_NODE(&b, "MatMul", "y", "x", "w");
    TEST_NODE(&b, "MatMul", "z", "y", "stack");
    test_output(&b, "z");
    test_placed p = test_place_on(&b, "int4", NULL);
    assert_int_equal(p.plan->weights.n, 2);
    assert_int_equal(p.plan->tensors.n, 0);
    assert_int_equal(weight(p.plan, "w")->axis, 0);
    assert_int_equal(weight(p.plan, "w")->block, 32);
    assert_int_equal(weight(p.plan, "w")->type, QDQ_INT4);
    /* rows of each of its matrices */
    assert_int_equal(weight(p.plan, "stack")->axis, 1);
    assert_int_equal(weight(p.plan, "stack")->block, 32);
    test_placed_free(p);
}

static test_builder gemms(void)
{
    test_builder b = test_build(21);

    TEST_INPUT(&b, "x", 4, 64);
    TEST_INPUT(&b, "free", 32, 8);
    TEST_RANDOM(&b, "v", 32, 64);
    TEST_RANDOM(&b, "u", 32, 8);
    TEST_RANDOM(&b, "c", 8);
    assert_true(qdq_node_set_int(TEST_NODE(&b, "Gemm", "y", "x", "v"), "transB", 1));
    assert_true(qdq_node_set_float(TEST_NODE(&b, "Gemm", "z", "y", "u", "c"), "alpha", 2));
    TEST_NODE(&b, "MatMul", "t", "y", "free");
    TEST_NODE(&b, "Add", "s", "z", "t");
    test_output(&b, "s");
    return b;
}

TEST(gemms_have_blocks_along_k_both_ways)
{
    test_builder b = gemms();
    test_placed p = test_place_on(&b, "int4", NULL);

    assert_int_equal(weight(p.plan, "v")->axis, 1);
    assert_int_equal(weight(p.plan, "u")->axis, 0);
    assert_reason(p.plan, "t", "its weight is not constant");
    assert_reason(p.plan, "s", "only weights are quantized");
    test_placed_free(p);
}

TEST(what_the_engine_s_operator_does_not_take_stands_behind_dequantizelinear)
{
    qdq_error err = QDQ_ERROR_INIT;
    test_builder b = gemms();
    test_placed p = test_place_on(&b, "ort-cpu-int4", NULL);

    assert_int_equal(weight(p.plan, "v")->store, QDQ_WEIGHT_AS_NBITS);
    assert_int_equal(weight(p.plan, "u")->store, QDQ_WEIGHT_AS_CODES); /* alpha is 2 */
    assert_true(qdq_plan_finish(p.plan));
    assert_ok(qdq_insert(p.m, p.plan, NULL, &err));
    assert_ok(qdq_model_verify(p.m, &err));
    const qdq_node *y = qdq_graph_find(p.m->graph, "y")->producer;
    assert_string_equal(y->type, "MatMulNBits");
    assert_int_equal(qdq_node_int(y, "K", 0), 64);
    assert_int_equal(qdq_node_int(y, "N", 0), 32);
    assert_int_equal(qdq_node_int(y, "accuracy_level", 0), 4);
    assert_null(qdq_node_attr(y, "transB"));
    assert_int_equal(y->n_in, 4);
    assert_int_equal(qdq_graph_find(p.m->graph, "z")->producer->op, QDQ_OP_GEMM);
    assert_null(qdq_graph_find(p.m->graph, "v"));
    test_placed_free(p);
}

static test_builder table(void)
{
    test_builder b = test_build(21);
    qdq_dim dim = {5, NULL};

    assert_non_null(qdq_graph_add_input(b.g, "ids", qdq_type_tensor(b.m, QDQ_INT64, 1, &dim)));
    TEST_RANDOM(&b, "table", 40, 64);
    TEST_NODE(&b, "Gather", "x", "table", "ids");
    assert_true(qdq_node_set_int(TEST_NODE(&b, "Gather", "side", "table", "ids"), "axis", 1));
    test_output(&b, "x");
    test_output(&b, "side");
    return b;
}

TEST(tables_stay_float_unless_asked_for)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_target *t = NULL;
    qdq_plan *plan = qdq_plan_new();
    test_builder b = table();
    test_placed p = test_place_on(&b, "int4", NULL);

    assert_int_equal(p.plan->weights.n, 0);
    assert_reason(p.plan, "x", "tables stay float (key 'weight.tables' of the target)");
    assert_ok(qdq_target_load("int4", &t, &err));
    assert_ok(qdq_target_set(t, "weight.tables", "true", &err));
    assert_ok(qdq_place(p.m, t, NULL, plan, &err));
    assert_int_equal(weight(plan, "table")->axis, 1); /* along each row */
    assert_int_equal(weight(plan, "table")->consumers.n, 1);
    assert_reason(plan, "side", "its attributes have no kernel for quantized weights");
    qdq_plan_free(plan);
    qdq_target_free(t);
    test_placed_free(p);
}

TEST(odd_weights_stay_float_with_a_reason)
{
    test_builder b = test_build(21);
    float *nan;
    void *data;

    TEST_INPUT(&b, "x", 4, 64);
    TEST_RANDOM(&b, "vector", 64);
    qdq_tensor *bad = qdq_tensor_new(b.m, QDQ_FLOAT, 2, (const int64_t[]){64, 4}, &data);
    nan = data;
    nan[7] = NAN;
    assert_non_null(qdq_graph_add_init(b.g, "bad", bad));
    assert_non_null(qdq_graph_add_init(
        b.g, "none", qdq_tensor_new(b.m, QDQ_FLOAT, 2, (const int64_t[]){64, 0}, &data)));
    TEST_RANDOM(&b, "p", 4, 64);
    TEST_RANDOM(&b, "fine", 64, 4);
    TEST_NODE(&b, "MatMul", "a", "x", "vector");
    TEST_NODE(&b, "MatMul", "b", "x", "bad");
    TEST_NODE(&b, "MatMul", "c", "x", "none");
    TEST_NODE(&b, "MatMul", "d", "p", "fine");
    TEST_NODE(&b, "MatMul", "e", "x", "fine"); /* shared with a node that stays float */
    TEST_NODE(&b, "Softmax", "f", "e");
    for (const char *const *out = (const char *const[]){"a", "b", "c", "d", "f", NULL};
         *out != NULL; out++)
        test_output(&b, *out);
    test_placed p = test_place_on(&b, "int4", NULL);
    assert_reason(p.plan, "a", "its weight is no matrix");
    assert_reason(p.plan, "b", "its weight holds NaN or infinity");
    assert_reason(p.plan, "c", "its weight is empty");
    assert_reason(p.plan, "d", "both inputs are constant");
    assert_reason(p.plan, "f", "only weights are quantized");
    assert_int_equal(weight(p.plan, "fine")->consumers.n, 1);
    test_placed_free(p);
}

TEST(nodes_that_the_user_excludes_keep_their_weights)
{
    const qdq_place_opts opts = {.exclude = (const char *const[]){"^y$", NULL}};
    test_builder b = gemms();
    test_placed p = test_place_on(&b, "int4", &opts);

    assert_int_equal(p.plan->weights.n, 1);
    assert_reason(p.plan, "y", "excluded by the user");
    test_placed_free(p);
}

TEST(plans_that_no_operator_of_the_engine_fits_are_refused)
{
    static const struct {
        const char *weight, *message;
    } cases[] = {
        {"\"tensor\": \"v\", \"consumers\": [[\"y\", 1]], \"axis\": 0, \"block\": 16",
         "'nbits' for node 'y' needs blocks of 16, 32, 64, ... along axis 1"},
        {"\"tensor\": \"v\", \"consumers\": [[\"y\", 1]], \"axis\": 1, \"block\": 24",
         "'nbits' for node 'y' needs blocks"},
        {"\"tensor\": \"v\", \"consumers\": [[\"y\", 1]], \"axis\": 1",
         "'nbits' for node 'y' needs blocks"},
        {"\"tensor\": \"u\", \"consumers\": [[\"z\", 1]], \"axis\": 0, \"block\": 16",
         "node 'z' is no product of matrices and no table that 'nbits' is for"},
    };
    qdq_error err = QDQ_ERROR_INIT;

    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        test_builder b = gemms();
        qdq_model *m = test_built(&b);
        qdq_plan *p = NULL;
        char text[600];

        int n = snprintf(
            text, sizeof text,
            "{\"qdq_plan\": 1, \"weights\": [{%s, \"type\": \"int4\", \"store\": \"nbits\"}]}",
            cases[i].weight);
        assert_ok(qdq_plan_parse(text, (size_t)n, "plan", &p, &err));
        assert_fails(QDQ_E_FORMAT, cases[i].message, qdq_insert(m, p, NULL, &err));
        qdq_plan_free(p);
        qdq_model_free(m);
    }
}
