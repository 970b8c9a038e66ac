/* Metadata of nodes: what was there stays, what has the prefix is replaced, and readers find it. */
#include "onnx/node_props.h"

#include "qdq/model.h"
#include "support/test.h"

static size_t count(const qdq_node *n, const char *text)
{
    size_t found = 0;

    for (size_t i = 0; i + strlen(text) <= n->unknown_fields.size; i++)
        found += memcmp(n->unknown_fields.data + i, text, strlen(text)) == 0;
    return found;
}

static qdq_node *first(qdq_model *m)
{
    return m->graph->end.next;
}

TEST(entries_with_the_prefix_are_replaced_and_others_stay)
{
    qdq_model *m = test_model("g (float x) => (float y) { [n] y = Neg(x) }");
    const qdq_prop other[] = {{"owner", "somebody"}},
                   one[] = {{"qdq.why", "first"}, {"qdq.format", "int8"}},
                   two[] = {{"qdq.why", "second"}};
    qdq_error err = QDQ_ERROR_INIT;

    assert_ok(qdq_node_set_props(first(m), "owner", other, 1, &err));
    assert_ok(qdq_node_set_props(first(m), "qdq.", one, 2, &err));
    assert_int_equal(count(first(m), "qdq."), 2);
    assert_ok(qdq_node_set_props(first(m), "qdq.", two, 1, &err));
    assert_int_equal(count(first(m), "qdq."), 1);
    assert_int_equal(count(first(m), "second"), 1);
    assert_int_equal(count(first(m), "somebody"), 1);
    assert_ok(qdq_node_set_props(first(m), "qdq.", NULL, 0, &err));
    assert_ok(qdq_node_set_props(first(m), "owner", NULL, 0, &err));
    assert_int_equal(first(m)->unknown_fields.size, 0);
    qdq_model_free(m);
}

TEST(an_entry_is_a_field_of_the_wire)
{
    qdq_model *m = test_model("g (float x) => (float y) { [n] y = Neg(x) }");
    const qdq_prop one[] = {{"qdq.a", "b"}};
    qdq_error err = QDQ_ERROR_INIT;

    assert_ok(qdq_node_set_props(first(m), "qdq.", one, 1, &err));
    assert_int_equal(first(m)->unknown_fields.size, 12);
    assert_memory_equal(first(m)->unknown_fields.data,
                        "\x4a\x0a\x0a\x05qdq.a\x12\x01"
                        "b",
                        12);
    qdq_model_free(m);
}

TEST(only_lower_ir_versions_are_raised)
{
    qdq_model *m = test_model("g (float x) => (float y) { y = Neg(x) }");

    m->ir_version = 8;
    qdq_model_allow_node_props(m);
    assert_int_equal(m->ir_version, 10);
    m->ir_version = 11;
    qdq_model_allow_node_props(m);
    assert_int_equal(m->ir_version, 11);
    qdq_model_free(m);
}
