/* quant_why.c - the listener of --why hears what is said of one node or tensor, and nothing else. */
#include "quant/why.h"
#include "support/build.h"
#include "support/test.h"

static void hear(qdq_why *why, const char *about)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 4);
    TEST_NODE(&b, "Relu", "r", "x");
    TEST_NODE(&b, "Neg", "y", "r");
    test_output(&b, "y");
    qdq_model *m = test_built(&b);
    why->about = about;
    QDQ_FOR_NODES (n, m->graph)
        qdq_why_say(why, n, "rule", n->op == QDQ_OP_RELU, "it is a %s", n->type);
    qdq_why_say(NULL, m->graph->end.next, "rule", true, "nobody listens");
    qdq_model_free(m);
}

static void a_node_is_heard_by_its_label(void **state)
{
    qdq_why why = {0};

    (void)state;
    hear(&why, "y");
    assert_true(why.found && !why.no_memory);
    assert_int_equal(why.notes.n, 1);
    assert_string_equal(why.notes.at[0].verdict, "it is a Neg");
    assert_false(why.notes.at[0].holds);
    qdq_why_free(&why);
}

static void a_tensor_is_heard_through_its_producer_and_readers(void **state)
{
    qdq_why why = {0};

    (void)state;
    hear(&why, "r");
    assert_int_equal(why.notes.n, 2);
    assert_string_equal(why.notes.at[0].rule, "rule");
    qdq_why_free(&why);
}

static void an_unknown_name_hears_nothing(void **state)
{
    qdq_why why = {0};

    (void)state;
    hear(&why, "z");
    assert_true(!why.found && why.notes.n == 0);
    qdq_why_free(&why);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_is_heard_by_its_label),
        cmocka_unit_test(a_tensor_is_heard_through_its_producer_and_readers),
        cmocka_unit_test(an_unknown_name_hears_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
