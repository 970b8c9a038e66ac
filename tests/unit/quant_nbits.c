/* quant_nbits.c - MatMulNBits and GatherBlockQuantized are taken apart: import gives the plan that
 * made them. What strip makes of them is in text/strip-nbits. */
#include "quant/insert/insert.h"
#include "quant/plan/plan.h"
#include "support/build.h"
#include "support/test.h"

/* MatMul [64, 48]; Gemm [32, 48] with transB and a bias, whose weight is a table, too. */
static qdq_model *products(void)
{
    test_builder b = test_build(21);

    TEST_INPUT(&b, "x", 4, 64);
    TEST_RANDOM(&b, "w", 64, 48);
    TEST_RANDOM(&b, "v", 32, 48);
    TEST_RANDOM(&b, "c", 32);
    TEST_INTS(&b, "ids", 3, 1, 2);
    TEST_NODE(&b, "MatMul", "y", "x", "w");
    assert_true(qdq_node_set_int(TEST_NODE(&b, "Gemm", "z", "y", "v", "c"), "transB", 1));
    TEST_NODE(&b, "Gather", "rows", "v", "ids");
    test_output(&b, "z");
    test_output(&b, "rows");
    return test_built(&b);
}

static void assert_same_weight(const qdq_plan_weight *a, const qdq_plan_weight *b)
{
    assert_string_equal(a->tensor, b->tensor);
    assert_int_equal(a->axis, b->axis);
    assert_int_equal(a->block, b->block);
    assert_int_equal(a->type, b->type);
    assert_int_equal(a->asymmetric, b->asymmetric);
    assert_int_equal(a->store, b->store);
    assert_int_equal(a->accuracy_level, b->accuracy_level);
    assert_int_equal(a->consumers.n, b->consumers.n);
    for (size_t i = 0; i < a->consumers.n; i++)
        assert_true(
            qdq_edges_have(&b->consumers, a->consumers.at[i].node, a->consumers.at[i].input));
}

/* Of codes in all four forms; the table that the Gemm reads, too, is packed twice, and one entry
 * again. */
TEST(import_gives_the_plan_that_was_applied)
{
    static const char *const types[] = {"\"int4\"", "\"uint4\", \"symmetric\": false"};
    qdq_error err = QDQ_ERROR_INIT;

    for (size_t i = 0; i < QDQ_COUNT(types); i++) {
        qdq_model *m = products();
        qdq_plan *p = NULL, *imported = NULL;
        char text[900];

        int n = snprintf(text, sizeof text,
                         "{\"qdq_plan\": 1, \"weights\": [{\"tensor\": \"v\", \"consumers\": "
                         "[[\"z\", 1], [\"rows\", 0]], "
                         "\"axis\": 1, \"block\": 16, \"type\": %s, \"store\": \"nbits\", "
                         "\"accuracy_level\": 2}, "
                         "{\"tensor\": \"w\", \"consumers\": [[\"y\", 1]], \"axis\": 0, \"block\": "
                         "32, \"type\": %s, "
                         "\"store\": \"nbits\", \"accuracy_level\": 4}]}",
                         types[i], types[i]);
        assert_ok(qdq_plan_parse(text, (size_t)n, "plan", &p, &err));
        assert_ok(qdq_insert(m, p, NULL, NULL, &err));
        assert_ok(qdq_plan_import(m, NULL, &imported, NULL, &err));
        assert_int_equal(imported->weights.n, 2);
        for (size_t k = 0; k < 2; k++) {
            assert_same_weight(&p->weights.at[k], &imported->weights.at[k]);
            assert_null(imported->weights.at[k].scales); /* they follow from the weights */
        }
        qdq_plan_free(imported);
        qdq_plan_free(p);
        qdq_model_free(m);
    }
}
