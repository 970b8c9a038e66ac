/* quant_rest.c - half precision for the rest of a model: numbers, and what plans say of it. Graphs
 * are in text/half. */
#include "quant/plan/plan.h"
#include "quant/weights/half_numbers.h"
#include "support/test.h"

TEST(a_number_is_rounded_up_to_one_that_the_type_has)
{
    assert_true(qdq_half_round_up(0.1F, QDQ_FLOAT) == 0.1F);
    assert_true(qdq_half_round_up(0.5F, QDQ_BFLOAT16) == 0.5F);
    assert_true(qdq_half_round_up(1.001F, QDQ_BFLOAT16) == 1.0078125F);
    assert_true(qdq_half_round_up(1.0001F, QDQ_FLOAT16) == 1.0009765625F);
    assert_true(qdq_half_round_up(1e-12F, QDQ_FLOAT16) == 0x1p-24F);
    assert_true(qdq_half_round_up(1e9F, QDQ_FLOAT16) == 65504.0F);
}

TEST(a_plan_says_what_stays_float)
{
    static const char wrong[] = "{\"qdq_plan\": 1, \"rest\": {\"type\": \"half\"}}";
    static const char text[] =
        "{\"qdq_plan\": 1, \"rest\": {\"type\": \"bfloat16\", \"direct_io\": true, "
        "\"keep\": [{\"node\": \"b\","
        " \"op\": \"Exp\", \"reason\": \"asked for\"}, {\"node\": \"a\"}]}}";
    qdq_error err = QDQ_ERROR_INIT;
    qdq_plan *p = NULL, *again = NULL;
    char *once = NULL, *twice = NULL;

    assert_ok(qdq_plan_parse(text, strlen(text), "plan", &p, &err));
    assert_int_equal(p->half.type, QDQ_BFLOAT16);
    assert_true(p->half.direct_io);
    assert_string_equal(p->half.keep.at[0].node, "a");
    assert_ok(qdq_plan_to_text(p, &once, &err));
    assert_ok(qdq_plan_parse(once, strlen(once), "plan", &again, &err));
    assert_ok(qdq_plan_to_text(again, &twice, &err));
    assert_string_equal(once, twice);
    qdq_free(once);
    qdq_free(twice);
    qdq_plan_free(p);
    qdq_plan_free(again);
    assert_fails(QDQ_E_FORMAT, "rest, key 'type': expected 'float', 'float16' or 'bfloat16'",
                 qdq_plan_parse(wrong, strlen(wrong), "plan", &p, &err));
}
