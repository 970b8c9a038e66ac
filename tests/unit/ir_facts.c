/* ir_facts.c - what types can be proven of values, while the model changes and of many nodes; more
 * of them in text/facts. */
#include "support/facts.h"

#include <time.h>

#include "ir/edit.h"

/* --- types ------------------------------------------------------------------------------------ */

TEST(claims_of_the_file_are_no_proof)
{
    test_known k = test_know(test_graph_text(__func__));

    test_assert_type(&k, "u", "-");
    test_assert_type(&k, "y", "-");
    test_assert_type(&k, "v", "float[]");
    test_assert_type(&k, "z", "float[]");
    test_assert_type(&k, "t", "float[N,3]");
    assert_false(qdq_facts_same_type(k.f, test_value(&k, "x"), test_value(&k, "u")));
    assert_int_equal(test_value(&k, "u")->type->rank, 2); /* what is written stays */
    test_forget(&k);
}

TEST(an_input_with_a_default_is_what_the_file_and_the_default_say)
{
    qdq_model *m = test_graph("initializers_of_no_input");
    qdq_dim four = {4, NULL};
    qdq_value *d;
    test_known k;

    for (const char *each = "abcd"; *each != '\0'; each++) {
        char name[2] = {*each, '\0'};

        d = qdq_graph_find(m->graph, name);
        assert_true(qdq_graph_make_input(m->graph, d));
        assert_null(qdq_value_const(d));
    }
    qdq_value_set_type(qdq_graph_find(m->graph, "a"),
                       qdq_type_fixed(m, QDQ_FLOAT, 1, &(int64_t){3}));
    qdq_value_set_type(qdq_graph_find(m->graph, "b"), qdq_graph_find(m->graph, "x")->type);
    qdq_value_set_type(qdq_graph_find(m->graph, "c"), qdq_type_tensor(m, QDQ_FLOAT, 1, &four));
    qdq_value_set_type(d, NULL);
    k = test_know_model(m);
    test_assert_type(&k, "a", "float[3]");
    test_assert_type(&k, "b", "float[N]");
    test_assert_type(&k, "c", "-"); /* declared 4, given 2 */
    test_assert_type(&k, "d", "-"); /* not declared: a caller may give anything */
    test_assert_elems(&k, "a", "-");
    test_forget(&k);

    /* below IR 4 these are constants */
    k = test_know(test_graph_text("default_of_another_shape"));
    test_assert_type(&k, "c", "float[2]");
    test_assert_type(&k, "y", "float[2]");
    test_forget(&k);
}

TEST(same_types_have_the_same_dims_by_number_or_name)
{
    test_known k = test_know(test_graph_text(__func__));

    assert_true(qdq_facts_same_type(k.f, test_value(&k, "a"), test_value(&k, "b")));
    assert_true(qdq_facts_same_type(k.f, test_value(&k, "a"), test_value(&k, "y")));
    assert_true(qdq_facts_same_type(k.f, test_value(&k, "u"), test_value(&k, "v")));
    for (const char *other = "cdefuw"; *other != '\0'; other++) {
        char name[2] = {*other, '\0'};

        assert_false(qdq_facts_same_type(k.f, test_value(&k, "a"), test_value(&k, name)));
    }
    /* equal at heart, but two unknown dims are two */
    assert_false(qdq_facts_same_type(k.f, test_value(&k, "d"), test_value(&k, "z")));
    test_forget(&k);
}

/* --- while the model changes ------------------------------------------------------------------ */

TEST(newer_values_have_the_type_that_the_edit_gave)
{
    test_known k = test_know(HEAD "g (float[N,3] x) => (y) { s = Shape(x) y = Relu(x) }");
    qdq_graph *g = k.m->graph;
    int64_t dim = 2, data[] = {4, 5};
    const qdq_type *type = qdq_type_fixed(k.m, QDQ_FLOAT, 1, &dim);
    qdq_value *v = qdq_graph_add_value(g, "new", type), *w = qdq_graph_add_value(g, "bare", NULL),
              *c;
    qdq_fact_elem e[2];
    int rank, n;

    assert_non_null(v);
    assert_ptr_equal(qdq_facts_type(k.f, v), type);
    assert_null(qdq_facts_type(k.f, w));
    assert_false(qdq_facts_elems(k.f, v, 2, &rank, &n, e));
    c = qdq_graph_add_init(g, "const", qdq_tensor_of_ints(k.m, 1, &dim, data));
    test_assert_type(&k, "const", "int64[2]");
    assert_ptr_equal(qdq_facts_type(k.f, c), qdq_facts_type(k.f, c));
    test_assert_elems(&k, "const", "4,5");
    test_forget(&k);
}

TEST(a_newer_value_that_became_a_graph_output_has_a_claim_for_a_type)
{
    test_known k = test_know(HEAD "g (float[N,3] x) => (float[7] y) { y = Relu(x) }");
    qdq_graph *g = k.m->graph;
    qdq_node *n = qdq_graph_add_node(g, NULL, "", "Neg", "", 1, 1, (const char *const[]){"new"});

    qdq_node_set_in(n, 0, test_value(&k, "x"));
    assert_true(qdq_value_replace(test_value(&k, "y"), n->out[0]));
    assert_non_null(n->out[0]->type);
    assert_null(qdq_facts_type(k.f, n->out[0]));
    test_forget(&k);
}

TEST(a_value_that_was_folded_is_what_its_data_says)
{
    test_known k = test_know(test_graph_text(__func__));
    int64_t dim = 1, data = 6;
    qdq_value *s = test_value(&k, "s");
    qdq_node *n = s->producer;

    test_assert_type(&k, "s", "-");
    qdq_value_detach(s);
    qdq_node_remove(n);
    assert_true(qdq_value_set_init(s, qdq_tensor_of_ints(k.m, 1, &dim, &data)));
    test_assert_type(&k, "s", "int64[1]");
    test_assert_elems(&k, "s", "6");
    test_assert_type(&k, "y", "int64[2]");
    test_forget(&k);
}

TEST(values_of_new_graphs_are_newer)
{
    test_known k = test_know(HEAD "g (bool c, float[N] x) => (y) { y = Relu(x) }");
    qdq_node *n =
        qdq_graph_add_node(k.m->graph, NULL, "", "If", "if", 1, 1, (const char *const[]){"z"});
    qdq_graph *body = qdq_graph_new(k.m, n, "body");
    int64_t dim = 2;
    const qdq_type *type = qdq_type_fixed(k.m, QDQ_FLOAT, 1, &dim);

    assert_ptr_equal(qdq_facts_type(k.f, qdq_graph_add_value(body, "inner", type)), type);
    assert_null(qdq_facts_type(k.f, test_value(&k, "z")));
    test_forget(&k);
}

TEST(a_cycle_is_refused)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model(HEAD "g (float x) => (a) { a = Add(x, b) b = Relu(a) }");
    qdq_facts *f = (qdq_facts *)m;

    assert_fails(QDQ_E_FORMAT, "cycle", qdq_facts_open(m, NULL, &f, &err));
    assert_null(f);
    assert_int_equal(qdq_facts_open(m, NULL, &f, NULL), QDQ_E_FORMAT);
    qdq_facts_close(NULL);
    qdq_model_free(m);
}

/* --- many nodes ------------------------------------------------------------------------------- */

/* s = Shape(x); then s = Add(s, one) n times. */
static qdq_model *chain(int n)
{
    qdq_model *m = test_model(HEAD "g (float[N,3] x) => (s) <int64 one = {1}> { s = Shape(x) }");
    qdq_value *last = qdq_graph_find(m->graph, "s"), *one = qdq_graph_find(m->graph, "one");

    for (int i = 0; i < n; i++) {
        char name[32];
        qdq_node *add;

        snprintf(name, sizeof name, "s%d", i);
        add = qdq_graph_add_node(m->graph, NULL, "", "Add", "", 2, 1, (const char *const[]){name});
        qdq_node_set_in(add, 0, last);
        qdq_node_set_in(add, 1, one);
        last = add->out[0];
    }
    return m;
}

static double seconds_for(int n)
{
    double best = 1e9;

    for (int round = 0; round < 3; round++) {
        qdq_model *m = chain(n);
        clock_t start = clock();
        test_known k = test_know_model(m);
        double took = (double)(clock() - start) / CLOCKS_PER_SEC;
        char name[32], want[32];

        snprintf(name, sizeof name, "s%d", n - 1);
        /* sums are made for a while, and then no more */
        snprintf(want, sizeof want, "?,%d", 3 + n);
        test_assert_elems(&k, name, want);
        best = took < best ? took : best;
        test_forget(&k);
    }
    return best;
}

TEST(chains_take_time_in_proportion_to_their_length)
{
    double small = seconds_for(5000), large = seconds_for(50000);

    print_message("5,000 nodes: %.2f ms, 50,000 nodes: %.2f ms\n", small * 1e3, large * 1e3);
    assert_true(large < 40 * small + 0.02);
}
