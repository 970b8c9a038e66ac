/* ir_check.c - the verifier finds what no text can say: damaged tensors and structures. Graphs are
 * sorted. What texts can say is in text/check. */
#include "support/test.h"

#include "ir/edit.h"
#include "ir/graph_check.h"

/* All findings as one text, "E: ..." or "W: ..." a line. */
static char *findings(const qdq_model *m)
{
    static char text[20000];
    qdq_error err = QDQ_ERROR_INIT;
    qdq_finding *f = NULL;
    size_t n = 0, used = 0;

    assert_ok(qdq_model_check(m, &f, &n, &err));
    text[0] = '\0';
    for (size_t i = 0; i < n; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s: %s\n",
                                 f[i].is_error ? "E" : "W", f[i].text);
    qdq_free(f);
    return text;
}

static void assert_finds(const qdq_model *m, const char *part)
{
    char *all = findings(m);

    if (strstr(all, part) == NULL)
        fail_msg("'%s' is not in '%s'", part, all);
}

static void assert_error(qdq_model *m, const char *part)
{
    qdq_error err = QDQ_ERROR_INIT;

    assert_fails(QDQ_E_FORMAT, part, qdq_model_verify(m, &err));
    assert_finds(m, part);
}

static qdq_value *value(const qdq_model *m, const char *name)
{
    qdq_value *v = qdq_graph_find(m->graph, name);

    assert_non_null(v);
    return v;
}

TEST(tensors_are_looked_at)
{
    qdq_model *m = test_model(
        "g () => () <float[2] w = {1, 2}> { c = Constant <value = float[2] {1, 2}> () }");
    qdq_tensor *t = value(m, "w")->init;

    t->bytes.size = 7;
    assert_error(m, "tensor 'w': found 7 bytes of data, expected 2 elements of float");
    t->bytes.size = 8;
    t->count = 3;
    assert_error(m, "tensor 'w': found 3 elements, expected 2");
    t->count = 2;
    t->elem = QDQ_STRING;
    assert_error(m, "found elements of string stored as numbers");
    t->elem = (qdq_elem)99;
    assert_finds(m, "W: tensor 'w': element type 99 is not known");
    t->elem = QDQ_INT32;
    assert_finds(m, "W: value 'w': declared as float, but its data is int32");
    t->elem = QDQ_FLOAT;
    value(m, "w")->type = qdq_type_fixed(m, QDQ_FLOAT, 0, NULL);
    assert_finds(m, "W: value 'w': declared with 0 dimensions, but its data has 1");
    value(m, "w")->type = qdq_type_fixed(m, QDQ_FLOAT, 1, (const int64_t[]){3});
    assert_finds(m, "W: value 'w': dimension 0 is declared as 3, but is 2 in its data");
    ((qdq_tensor *)(uintptr_t)value(m, "c")->producer->attr[0]->v.t)->bytes.size = 1;
    assert_error(m, "tensor 'value': found 1 bytes of data");
    qdq_model_free(m);
}

/* Damage that only a defect of ours can do: the verifier is how it would be noticed. */
TEST(damaged_structures_are_found)
{
    static const char text[] =
        "g (float x) => (float y) <float w = {1}> { [n] t = Add(x, w) [r] y = Relu(t) }";
    qdq_model *m = test_model(text);

    value(m, "x")->n_use++;
    assert_error(m, "value 'x': found 1 uses in its list, expected 2");
    value(m, "x")->n_use--;

    value(m, "t")->first->index = 5;
    assert_error(m, "value 't': its use list is damaged at entry 0");
    value(m, "t")->first->index = 0;

    value(m, "t")->out_index = 1;
    assert_error(m, "value 't': it does not stand where its producer 'n' keeps its outputs");
    value(m, "t")->out_index = 0;

    value(m, "t")->is_input = true;
    assert_error(m,
                 "value 't': found a producer, and it is a graph input, expected one definition");
    value(m, "t")->is_input = false;

    value(m, "y")->n_output = 2;
    assert_error(m, "value 'y': counted as 2 outputs, listed as 1");
    value(m, "y")->n_output = 1;

    value(m, "x")->id = 7;
    assert_error(m, "value 'x' is not where its id says");
    value(m, "x")->id = 0;

    m->graph->inits.n = 0;
    assert_error(m, "value 'w': is an initializer, but not listed as one");
    m->graph->inits.n = 1;

    m->graph->n_node = 3;
    assert_error(m, "graph 'g': found 2 nodes, expected 3");
    m->graph->n_node = 2;

    value(m, "t")->producer->id = 1;
    assert_error(m, "graph 'g': its node list is damaged at place 1");
    value(m, "t")->producer->id = 0;

    value(m, "x")->dead = true;
    assert_error(m, "input 0, 'x', is not an input value of it");
    assert_finds(m, "node 'n': input 0, 'x', was removed");
    value(m, "x")->dead = false;

    m->graph->inputs.n = 0;
    assert_error(m, "value 'x': is an input, but not listed as one");
    m->graph->inputs.n = 1;

    qdq_map_remove(&m->graph->by_name, "t");
    assert_error(m, "graph 'g': the name 't' belongs to two values");
    qdq_model_free(m);
}

TEST(a_body_belongs_to_one_attribute)
{
    qdq_model *m = test_graph(__func__);
    qdq_node *owner = value(m, "y")->producer, *other = value(m, "z")->producer;
    qdq_attr *kept = other->attr[0];

    other->attr[0] = owner->attr[0];
    assert_error(m, "node 'If@z': attribute 'then_branch' holds a graph that is not its own");
    other->attr[0] = kept;
    owner->n_attr = 0;
    assert_error(m, "graph 'b': found 0 attributes that hold it, expected 1");
    owner->n_attr = 1;
    owner->attr[0]->v.g->owner = NULL;
    assert_finds(m, "input 0, 'c', is of a graph that is not around it");
    qdq_model_free(m);
}

TEST(sorting_keeps_the_order_of_the_file_where_it_can)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_graph("unsorted");
    uint64_t edits = m->graph->edits;

    assert_ok(qdq_graph_sort(m->graph, &err));
    assert_true(m->graph->edits > edits);
    edits = m->graph->edits;
    test_assert_text(m, test_graph_text("sorted"));
    assert_string_equal(findings(m), "");
    assert_ok(qdq_graph_sort(m->graph, &err));
    assert_int_equal(m->graph->edits, edits);
    qdq_model_free(m);
}

TEST(a_cycle_is_named_by_a_node_that_is_on_it)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m =
        test_model("g (float x) => (float y) { y = Neg(z) z = Abs(b) a = Add(x, b) b = Neg(a) }");

    assert_fails(QDQ_E_FORMAT, "graph 'g': node '", qdq_graph_sort(m->graph, &err));
    assert_true(strstr(err.text, "'Add@a'") != NULL || strstr(err.text, "'Neg@b'") != NULL);
    qdq_model_free(m);
}

TEST(a_long_chain_backwards_is_sorted_in_no_time)
{
    enum { N = 50000 };
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model("g (float x) => (float y) { y = Neg(t0) }");

    for (int i = 0; i < N; i++) {
        char name[20], next[20];

        snprintf(name, sizeof name, "t%d", i);
        snprintf(next, sizeof next, "t%d", i + 1);
        qdq_node *n = qdq_graph_add_node(m->graph, NULL, "", "Neg", NULL, 1, 0, NULL);
        qdq_value *v = qdq_graph_find(m->graph, name), *in;
        assert_true(
            qdq_node_append_out(n, v != NULL ? v : qdq_graph_add_value(m->graph, name, NULL)));
        in = i + 1 < N ? qdq_graph_add_value(m->graph, next, NULL) : qdq_graph_find(m->graph, "x");
        qdq_node_set_in(n, 0, in);
    }
    assert_ok(qdq_graph_sort(m->graph, &err));
    assert_ptr_equal(m->graph->end.prev, value(m, "y")->producer);
    assert_ok(qdq_model_verify(m, &err));
    qdq_model_free(m);
}
