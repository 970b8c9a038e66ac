/* ir_clone.c - copies that share weights and nothing else. */
#include "support/test.h"

#include "ir/edit.h"
#include "ir/graph_check.h"

static qdq_model *clone(const qdq_model *m)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *copy = NULL;

    assert_ok(qdq_model_clone(m, &copy, &err));
    assert_ok(qdq_model_verify(copy, &err));
    return copy;
}

TEST(a_clone_says_the_same_after_the_original_died)
{
    qdq_model *m = test_graph("everything"), *copy = clone(m);
    char *t;

    qdq_model_free(m);
    t = test_text_of(copy);
    assert_string_equal(t, test_graph_text("everything"));
    qdq_free(t);
    qdq_model_free(copy);
}

TEST(weights_are_shared_and_held_once)
{
    qdq_model *m = test_graph("everything"), *copy = clone(m);
    qdq_value *a = qdq_graph_find(m->graph, "w"), *b = qdq_graph_find(copy->graph, "w");

    assert_ptr_equal(a->init->bytes.data, b->init->bytes.data);
    assert_ptr_not_equal(a->init, b->init);
    assert_int_equal(m->mappings.n, copy->mappings.n);
    assert_ptr_not_equal(a->name, b->name);
    qdq_model_free(copy);
    qdq_model_free(m);
}

TEST(edits_of_one_are_not_seen_in_the_other)
{
    static const float one[] = {9, 9, 9, 9};
    static const int64_t dim[] = {2, 2};
    qdq_model *m = test_graph("everything"), *copy = clone(m);
    qdq_node *n = qdq_graph_find(copy->graph, "y")->producer;
    char *t;

    assert_int_equal(copy->graph->edits, 0);
    assert_true(qdq_node_set_int(qdq_graph_find(copy->graph, "t")->producer, "i", 77));
    assert_true(qdq_value_rename(qdq_graph_find(copy->graph, "x"), "xx"));
    assert_true(qdq_value_set_init(qdq_graph_find(copy->graph, "w"),
                                   qdq_tensor_of_floats(copy, 2, dim, one)));
    qdq_graph_set_output(copy->graph, 0, qdq_graph_find(copy->graph, "t"));
    qdq_node_remove(n);
    t = test_text_of(m);
    assert_string_equal(t, test_graph_text("everything"));
    qdq_free(t);
    qdq_model_free(copy);
    qdq_model_free(m);
}

TEST(dead_things_are_left_behind)
{
    qdq_model *m = test_graph("everything"), *copy;

    qdq_graph_set_output(m->graph, 0, qdq_graph_find(m->graph, "t"));
    qdq_node_remove(qdq_graph_find(m->graph, "y")->producer);
    copy = clone(m);
    assert_int_equal(copy->graphs.n, 2); /* main and function; three bodies are gone */
    for (size_t i = 0; i < copy->graph->values.n; i++)
        assert_false(copy->graph->values.at[i]->dead);
    assert_int_equal(copy->graph->values.n, m->graph->values.n - 1);
    qdq_model_free(copy);
    qdq_model_free(m);
}

TEST(uses_keep_their_order)
{
    qdq_model *m = test_model("g (float x) => (float y) { a = Neg(x) b = Abs(x) y = Add(a, b) }"),
              *copy;
    qdq_value *x = qdq_graph_find(m->graph, "x");

    qdq_node_set_in(qdq_graph_find(m->graph, "a")->producer, 0, NULL);
    qdq_node_set_in(qdq_graph_find(m->graph, "a")->producer, 0, x);
    copy = clone(m);
    assert_string_equal(qdq_graph_find(copy->graph, "x")->first->node->type, "Abs");
    assert_string_equal(qdq_graph_find(copy->graph, "x")->last->node->type, "Neg");
    qdq_model_free(copy);
    qdq_model_free(m);
}

TEST(wire_bytes_are_copied)
{
    qdq_model *m = test_graph(__func__), *copy;
    unsigned char bytes[] = {0x12, 0x01, 'z'};

    m->graph->unknown_fields = (qdq_span){bytes, sizeof bytes};
    qdq_graph_find(m->graph, "x")->unknown_fields = (qdq_span){bytes, 2};
    copy = clone(m);
    memset(bytes, 0, sizeof bytes);
    assert_memory_equal(copy->graph->unknown_fields.data, "\x12\x01z", 3);
    assert_memory_equal(qdq_graph_find(copy->graph, "x")->unknown_fields.data, "\x12\x01", 2);
    assert_memory_equal(copy->unknown_fields.data, m->unknown_fields.data, m->unknown_fields.size);
    qdq_model_free(copy);
    qdq_model_free(m);
}

TEST(large_attributes_inside_a_mapping_are_shared)
{
    static const int64_t dim[] = {5000};
    qdq_model *m = test_graph(__func__), *copy;
    qdq_node *n = m->graph->end.next;
    void *data;
    qdq_tensor *t = qdq_tensor_new(m, QDQ_UINT8, 1, dim, &data);

    n->attr[0]->v.s = t->bytes; /* as if both lay in one file */
    copy = clone(m);
    assert_ptr_equal(copy->graph->end.next->attr[0]->v.s.data, t->bytes.data);
    assert_int_equal(copy->mappings.n, 1);
    qdq_model_free(m);
    assert_int_equal(copy->graph->end.next->attr[0]->v.s.data[4999], 0);
    qdq_model_free(copy);
}

/* --- beside others ---------------------------------------------------------------------------- */

static void join(qdq_model *to, const char *graph, const char *prefix)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *from = test_model(graph);

    assert_ok(qdq_model_join(to, from, prefix, &err));
    qdq_model_free(from);
    assert_ok(qdq_model_verify(to, &err));
}

TEST(joined_graphs_have_nothing_in_common)
{
    qdq_model *m = qdq_model_new();

    join(m, test_graph_text("with_body"), "a/");
    join(m, test_graph_text("with_body"), "b/");
    assert_int_equal(m->graph->inputs.n, 4);
    assert_int_equal(m->graph->outputs.n, 2);
    assert_int_equal(m->graph->n_node, 4);
    assert_int_equal(qdq_model_opset(m), 17);
    const qdq_value *x = qdq_graph_find(m->graph, "b/x");
    assert_string_equal(x->type->dim[0].param, "b/N");
    assert_string_equal(x->first->node->name, "b/a");
    const qdq_node *branch = qdq_graph_find(m->graph, "b/y")->producer;
    assert_string_equal(branch->name, "");
    const qdq_node *in = branch->attr[0]->v.g->end.next;
    assert_string_equal(in->name, "b/in");
    assert_string_equal(qdq_node_in(in, 0)->name, "b/t");
    qdq_model_free(m);
}

TEST(functions_of_joined_models_come_along_once)
{
    const char *calling = test_graph_text(__func__);
    qdq_model *m = qdq_model_new();

    join(m, calling, "a/");
    join(m, calling, "b/");
    assert_int_equal(m->functions.n, 1);
    assert_int_equal(m->graphs.n, 2);
    assert_int_equal(m->opsets.n, 2);
    qdq_model_free(m);
}

TEST(models_of_other_opsets_are_not_joined)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_graph("opset_17");
    qdq_model *other = test_graph("opset_18");

    assert_fails(QDQ_E_UNSUPPORTED, "models of opset 17 and 18 of domain '' cannot be joined",
                 qdq_model_join(m, other, "b/", &err));
    qdq_model_free(other);
    qdq_model_free(m);
}
