/* quant_why.c - the listener of --why hears what is said of one node or tensor, and nothing
 * else. */
#include "quant/place/why.h"
#include "support/build.h"
#include "support/test.h"

static void record_line(qdq_why *why, const char *about)
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

TEST(a_node_is_heard_by_its_label)
{
    qdq_why why = {0};

    record_line(&why, "y");
    assert_true(why.found && !why.no_memory);
    assert_int_equal(why.notes.n, 1);
    assert_string_equal(why.notes.at[0].verdict, "it is a Neg");
    assert_false(why.notes.at[0].holds);
    qdq_why_clear(&why);
}

TEST(a_tensor_is_heard_through_its_producer_and_readers)
{
    qdq_why why = {0};

    record_line(&why, "r");
    assert_int_equal(why.notes.n, 2);
    assert_string_equal(why.notes.at[0].rule, "rule");
    qdq_why_clear(&why);
}

TEST(an_unknown_name_hears_nothing)
{
    qdq_why why = {0};

    record_line(&why, "z");
    assert_true(!why.found && why.notes.n == 0);
    qdq_why_clear(&why);
}

/* --- qdq_explain: the rules of ort-cpu, and what came of it ----------------------------------- */

/* x -> c0 -> Identity same -> Relu r0 -> c1 -> Softmax s, all named after their results */
static test_builder chain(void)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 32, 8, 8);
    test_conv(&b, "c0", "x", 32, 32, 3, 1);
    TEST_NODE(&b, "Identity", "same", "c0");
    TEST_NODE(&b, "Relu", "r0", "same");
    test_conv(&b, "c1", "r0", 32, 32, 3, 1);
    TEST_NODE(&b, "Softmax", "s", "c1");
    test_output(&b, "s");
    return b;
}

static qdq_status explain(const char *about, qdq_why **why, qdq_error *to)
{
    qdq_quantize_opts o = QDQ_QUANTIZE_OPTS_INIT;
    qdq_error err = QDQ_ERROR_INIT;
    qdq_target *t = NULL;
    test_builder b = chain();
    qdq_model *m = test_built(&b);

    assert_ok(qdq_target_load("ort-cpu", &t, &err));
    *why = o.why = qdq_why_new(about);
    assert_non_null(*why);
    qdq_status st = qdq_explain(m, t, &o, to);
    qdq_target_free(t);
    qdq_model_free(m);
    return st;
}

static const qdq_why_note *note(const qdq_why *why, const char *node, const char *rule)
{
    size_t n;
    const qdq_why_note *at = qdq_why_notes(why, &n);

    for (size_t i = 0; i < n; i++)
        if (strcmp(at[i].node, node) == 0 && strcmp(at[i].rule, rule) == 0)
            return &at[i];
    return NULL;
}

TEST(a_quantized_node_names_its_rule_and_what_the_plan_has)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_why *why;
    size_t n;

    assert_ok(explain("c1", &why, &err));
    assert_true(note(why, "c1", "conv")->holds);
    const qdq_why_note *at = qdq_why_notes(why, &n);
    assert_string_equal(note(why, "c1", "plan")->verdict, "quantized");
    assert_string_equal(at[n - 1].verdict, "bias 'c1.b': int32 (rule conv)");
    assert_string_equal(at[n - 2].verdict,
                        "weight 'c1.w': int8, a scale per channel of axis 0 (rule conv)");
    qdq_why_free(why);
}

TEST(a_rule_that_does_not_apply_names_the_condition)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_why *why;

    assert_ok(explain("c1", &why, &err));
    const qdq_why_note *first = note(why, "c1", "first-conv-few-channels");
    assert_true(first != NULL && !first->holds);
    assert_string_equal(first->verdict, "does not apply: its condition 'in_channels_max' fails");
    qdq_why_free(why);
}

TEST(a_node_left_float_says_why)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_why *why;

    assert_ok(explain("s", &why, &err));
    assert_string_equal(note(why, "s", "plan")->verdict,
                        "stays float: slower in 8 bits, and loses accuracy");
    assert_false(note(why, "s", "plan")->holds);
    qdq_why_free(why);
}

TEST(a_fused_node_names_what_it_is_fused_into)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_why *why;

    assert_ok(explain("r0", &why, &err));
    assert_string_equal(note(why, "r0", "conv")->verdict, "the engine fuses it into 'c0'");
    qdq_why_free(why);
}

TEST(what_cleaning_took_out_names_its_heir)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_why *why;

    assert_fails(QDQ_E_USAGE, "'same' is not left after cleaning", explain("same", &why, &err));
    qdq_why_free(why);
}

TEST(an_unknown_name_is_refused_with_one_that_is_near)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_why *why;

    assert_fails(QDQ_E_USAGE, "found no node and no tensor 'C1', did you mean 'c1'?",
                 explain("C1", &why, &err));
    qdq_why_free(why);
    assert_fails(QDQ_E_USAGE, "found no node and no tensor 'nowhere'; expected a name like 'c0'",
                 explain("nowhere", &why, &err));
    qdq_why_free(why);
}
