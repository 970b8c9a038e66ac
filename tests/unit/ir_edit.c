/* ir_edit.c - edits of graphs: names, uses, nodes, inputs, questions. */
#include "support/test.h"

#include "base/random.h"
#include "ir/edit.h"
#include "ir/graph_check.h"

static void assert_sound(const qdq_model *m)
{
    qdq_error err = QDQ_ERROR_INIT;

    assert_ok(qdq_model_verify(m, &err));
}

static qdq_value *value(const qdq_model *m, const char *name)
{
    qdq_value *v = qdq_graph_find(m->graph, name);

    assert_non_null(v);
    return v;
}

static qdq_node *maker(const qdq_model *m, const char *name)
{
    return value(m, name)->producer;
}

/* --- names ------------------------------------------------------------------------------------ */

TEST(equal_text_is_interned_once)
{
    qdq_model *m = qdq_model_new();

    assert_ptr_equal(qdq_intern(m, "abc"), qdq_intern_n(m, "abcd", 3));
    assert_ptr_equal(qdq_intern(m, ""), qdq_intern_n(m, "x", 0));
    assert_string_equal(qdq_intern(m, "x"), "x");
    qdq_model_free(m);
    qdq_model_free(NULL);
}

TEST(unique_names_avoid_graphs_around_and_inside)
{
    qdq_model *m = test_graph(__func__);
    qdq_graph *then = maker(m, "y")->attr[0]->v.g, *other = maker(m, "y")->attr[1]->v.g;

    assert_string_equal(qdq_graph_unique_name(m->graph, "free"), "free");
    assert_string_equal(qdq_graph_unique_name(m->graph, "a"), "a_2"); /* a and a_1 are inside */
    assert_string_equal(qdq_graph_unique_name(then, "x"), "x_1");     /* x is around */
    /* b is beside, which is no clash */
    assert_string_equal(qdq_graph_unique_name(then, "b"), "b");
    assert_string_equal(qdq_graph_unique_name(other, "b"), "b_1");
    assert_string_equal(qdq_graph_unique_name(m->graph, ""), "_1");
    qdq_model_free(m);
}

TEST(a_hundred_thousand_names_of_one_base_are_cheap)
{
    qdq_model *m = qdq_model_new();

    for (int i = 0; i < 100000; i++)
        assert_non_null(qdq_graph_add_value(m->graph, qdq_graph_unique_name(m->graph, "t"), NULL));
    assert_non_null(qdq_graph_find(m->graph, "t_99999"));
    qdq_model_free(m);
}

TEST(renaming_frees_the_old_name_and_takes_the_data_along)
{
    qdq_model *m = test_model("g (float x) => (float y) <float w = {1}> { y = Add(x, w) }");
    qdq_value *w = value(m, "w");

    assert_true(qdq_value_rename(w, "w"));
    assert_true(qdq_value_rename(w, "v"));
    assert_null(qdq_graph_find(m->graph, "w"));
    assert_ptr_equal(value(m, "v"), w);
    assert_string_equal(w->init->name, "v");
    assert_sound(m);
    qdq_model_free(m);
}

/* --- uses ------------------------------------------------------------------------------------- */

TEST(uses_are_listed_in_the_order_in_which_they_were_made)
{
    qdq_model *m = test_model("g (float x) => (float y) { a = Neg(x) b = Neg(x) y = Add(x, x) }");
    qdq_value *x = value(m, "x");
    qdq_node *a = maker(m, "a");

    assert_int_equal(x->n_use, 4);
    assert_ptr_equal(x->first->node, a);
    qdq_node_set_in(a, 0, NULL);
    assert_ptr_equal(x->first->node, maker(m, "b"));
    qdq_node_set_in(a, 0, x);
    assert_ptr_equal(x->last->node, a);
    assert_sound(m);
    qdq_model_free(m);
}

TEST(appended_inputs_keep_the_lists_whole)
{
    qdq_model *m = test_model("g (float x, float z) => (float y) { y = Sum(x, x, z) }");
    qdq_node *n = maker(m, "y");

    for (int i = 0; i < 70; i++) {
        assert_true(qdq_node_append_in(n, i % 3 == 0 ? NULL : value(m, i % 2 ? "x" : "z")));
        assert_sound(m);
    }
    assert_int_equal(n->n_in, 73);
    assert_true(qdq_node_append_in(n, NULL));
    qdq_node_trim_in(n);
    assert_int_equal(n->n_in, 72); /* the two at the end were left out */
    assert_sound(m);
    qdq_model_free(m);
}

TEST(replacing_a_value_redirects_captures_too)
{
    qdq_model *m = test_graph("captures");
    qdq_node *identity = maker(m, "t");
    qdq_graph *body = maker(m, "y")->attr[1]->v.g;
    uint64_t inner = body->edits, outer = m->graph->edits;

    assert_int_equal(value(m, "t")->n_use, 3);
    assert_null(qdq_value_only_user(value(m, "t")));
    assert_true(qdq_value_replace(value(m, "t"), value(m, "x")));
    assert_true(body->edits > inner && m->graph->edits > outer);
    qdq_node_remove(identity);
    assert_sound(m);
    assert_int_equal(value(m, "x")->n_use, 3);
    test_assert_text(m, test_graph_text("captures_of_another_value"));
    qdq_model_free(m);
}

TEST(an_output_keeps_its_name_when_it_is_replaced)
{
    qdq_model *m = test_model(
        "g (float x) => (float[1] y, float z) { t = Relu(x) y = Identity(t) z = Neg(y) }");
    qdq_node *identity = maker(m, "y");

    assert_true(qdq_value_replace(value(m, "y"), value(m, "t")));
    qdq_node_remove(identity);
    assert_sound(m);
    test_assert_text(m, test_graph_text(__func__));
    assert_null(qdq_graph_find(m->graph, "t"));
    qdq_model_free(m);
}

TEST(an_output_is_not_replaced_by_what_has_a_name_of_its_own)
{
    static const char *const cases[] = {
        "g (float x) => (float y) { y = Identity(x) }",                      /* an input */
        "g () => (float y) <float x = {1}> { y = Identity(x) }",             /* an initializer */
        "g (float z) => (float y, float x) { x = Relu(z) y = Identity(x) }", /* an output */
    };

    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        qdq_model *m = test_model(cases[i]);
        uint64_t edits = m->graph->edits;

        assert_false(qdq_value_replace(value(m, "y"), value(m, "x")));
        assert_int_equal(m->graph->edits, edits);
        assert_sound(m);
        qdq_model_free(m);
    }
}

TEST(replacing_a_value_by_itself_changes_nothing)
{
    qdq_model *m = test_model("g (float x) => (float y) { y = Relu(x) }");

    assert_true(qdq_value_replace(value(m, "y"), value(m, "y")));
    assert_sound(m);
    qdq_model_free(m);
}

TEST(walking_uses_allows_redirecting_the_current_one)
{
    qdq_model *m = test_model("g (float x, float z) => (float y) { y = Sum(x, x, x, z) }");
    qdq_value *x = value(m, "x"), *z = value(m, "z");
    int n = 0;

    QDQ_FOR_USES (u, x) {
        qdq_node_set_in(u->node, u->index, z);
        n++;
    }
    assert_int_equal(n, 3);
    assert_int_equal(x->n_use, 0);
    assert_int_equal(z->n_use, 4);
    assert_sound(m);
    qdq_model_free(m);
}

/* --- nodes ------------------------------------------------------------------------------------ */

TEST(nodes_are_added_where_they_are_asked_for)
{
    static const char *const outs[] = {"a", NULL, "b"};
    qdq_model *m = test_model("g (float x) => (float y) { y = Relu(x) }");
    qdq_node *n = qdq_graph_add_node(m->graph, maker(m, "y"), "", "Split", "s", 1, 3, outs);

    qdq_node_set_in(n, 0, value(m, "x"));
    qdq_node_set_in(maker(m, "y"), 0, value(m, "b"));
    assert_sound(m);
    test_assert_text(m, test_graph_text(__func__));
    qdq_node_move_before(n, NULL);
    assert_ptr_equal(m->graph->end.prev, n);
    qdq_node_move_before(n, maker(m, "y"));
    assert_ptr_equal(m->graph->end.next, n);
    assert_true(qdq_node_set_type(n, "my", "Thing"));
    assert_int_equal(n->op, QDQ_OP_UNKNOWN);
    assert_true(qdq_node_set_type(n, "", "Split"));
    assert_int_equal(n->op, QDQ_OP_SPLIT);
    qdq_model_free(m);
}

TEST(removing_while_walking_visits_every_node)
{
    qdq_model *m = test_model(
        "g (float x) => (float y) { a = Neg(x) b = Neg(a) c = Neg(b) d = Neg(x) y = Relu(x) }");
    int visited = 0;

    qdq_node_set_in(maker(m, "b"), 0, NULL);
    qdq_node_set_in(maker(m, "c"), 0, NULL);
    QDQ_FOR_NODES (n, m->graph) {
        visited++;
        if (visited == 2) { /* the current one and the one behind it */
            qdq_node *next = n->next;

            qdq_node_remove(n);
            qdq_node_remove(next);
            assert_true(n->dead && next->dead);
        }
    }
    assert_int_equal(visited, 4); /* a, b (with c removed), d, y */
    assert_int_equal(m->graph->n_node, 3);
    assert_null(qdq_graph_find(m->graph, "b"));
    qdq_model_free(m);
}

TEST(a_removed_node_takes_its_subgraphs_and_their_captures_along)
{
    qdq_model *m = test_graph(__func__);
    int live = 0;

    assert_int_equal(value(m, "x")->n_use, 4);
    qdq_node_remove(maker(m, "y"));
    assert_int_equal(value(m, "x")->n_use, 1);
    assert_int_equal(value(m, "c")->n_use, 0);
    QDQ_FOR_GRAPHS (g, m)
        live++;
    assert_int_equal(live, 1);
    assert_string_equal(qdq_graph_unique_name(m->graph, "r"), "r");
    assert_sound(m);
    qdq_model_free(m);
}

TEST(attributes_are_replaced_by_name)
{
    static const int64_t pads[] = {1, 2, 3, 4};
    qdq_model *m = test_model("g (float x) => (float y) { y = Conv <a = 1, group = 2> (x) }");
    qdq_node *n = maker(m, "y");
    const int64_t *ints;
    size_t count;

    assert_true(qdq_node_set_int(n, "group", 7));
    assert_true(qdq_node_set_float(n, "alpha", 0.5F));
    assert_true(qdq_node_set_string(n, "mode", "same"));
    assert_true(qdq_node_set_ints(n, "pads", pads, 4));
    assert_true(qdq_node_set_ints(n, "none", NULL, 0));
    qdq_node_remove_attr(n, "a");
    qdq_node_remove_attr(n, "not there");
    assert_int_equal(n->n_attr, 5);
    assert_int_equal(qdq_node_int(n, "group", 1), 7);
    assert_int_equal(qdq_node_int(n, "alpha", 9), 9); /* there, but of another type */
    assert_true(qdq_node_float(n, "alpha", 1) == 0.5F);
    assert_true(qdq_node_float(n, "beta", 1) == 1);
    assert_true(qdq_node_string_is(n, "mode", "same", NULL));
    assert_false(qdq_node_string_is(n, "mode", "sam", NULL));
    assert_true(qdq_node_string_is(n, "auto_pad", "NOTSET", "NOTSET"));
    assert_false(qdq_node_string_is(n, "auto_pad", "NOTSET", NULL));
    assert_true(qdq_node_ints(n, "pads", &ints, &count));
    assert_true(count == 4 && ints[3] == 4);
    assert_false(qdq_node_ints(n, "strides", &ints, &count));
    assert_true(count == 0 && ints == NULL);
    assert_sound(m);
    qdq_model_free(m);
}

TEST(replacing_a_body_kills_the_old_one)
{
    qdq_model *m = test_graph(__func__);
    qdq_node *n = maker(m, "y");
    qdq_graph *old = n->attr[0]->v.g, *body = qdq_graph_new(m, n, "fresh");
    static const char *const outs[] = {"r"};
    qdq_attr *a = qdq_arena_alloc(&m->arena, sizeof *a);
    qdq_node *inner = qdq_graph_add_node(body, NULL, "", "Relu", NULL, 1, 1, outs);

    qdq_node_set_in(inner, 0, value(m, "x"));
    assert_true(qdq_graph_add_output(body, inner->out[0]));
    *a = (qdq_attr){.name = "then_branch", .type = QDQ_ATTR_GRAPH, .count = 1, .v.g = body};
    assert_true(qdq_node_set_attr(n, a));
    assert_true(old->dead && !body->dead);
    assert_sound(m);
    assert_true(qdq_node_set_attr(n, a)); /* the same again: the body lives on */
    assert_false(body->dead);
    assert_int_equal(value(m, "x")->n_use, 1);
    qdq_node_remove_attr(n, "then_branch");
    assert_true(body->dead);
    qdq_model_free(m);
}

/* --- inputs, outputs, initializers ------------------------------------------------------------ */

TEST(initializers_come_and_go)
{
    static const int64_t dim[] = {2};
    static const float x[] = {1, 2};
    qdq_model *m = test_model("g (float[2] x) => (float[2] y) { y = Neg(x) }");
    qdq_value *w = qdq_graph_add_init(m->graph, "w", qdq_tensor_of_floats(m, 1, dim, x));
    int n = 0;

    assert_string_equal(w->init->name, "w");
    assert_ptr_equal(qdq_value_const(w), w->init);
    assert_true(qdq_value_set_init(w, qdq_tensor_of_floats(m, 1, dim, x)));
    assert_int_equal(m->graph->inits.n, 1);
    assert_true(qdq_value_set_init(w, NULL));
    assert_int_equal(m->graph->inits.n, 0);
    assert_null(qdq_value_const(w));
    assert_true(qdq_value_set_init(w, qdq_tensor_of_floats(m, 1, dim, x)));
    assert_sound(m);
    qdq_value_remove(w);
    assert_true(w->dead);
    QDQ_FOR_INITS(v, m->graph) n++;
    assert_int_equal(n, 0);
    assert_sound(m);
    qdq_model_free(m);
}

TEST(a_constant_is_a_node_in_function_bodies)
{
    static const int64_t dim[] = {2};
    static const float x[] = {1, 2};
    qdq_model *m = test_graph(__func__);
    qdq_graph *body = m->functions.at[0]->body;
    qdq_node *neg = qdq_graph_find(body, "v")->producer;
    qdq_value *outside =
        qdq_graph_add_constant(m->graph, maker(m, "y"), "w", qdq_tensor_of_floats(m, 1, dim, x));
    qdq_value *inside = qdq_graph_add_constant(body, neg, "w", qdq_tensor_of_floats(m, 1, dim, x));

    assert_non_null(outside->init);
    assert_null(outside->producer);
    assert_null(inside->init);
    assert_string_equal(inside->producer->type, "Constant");
    assert_ptr_equal(inside->producer->next, neg);
    assert_int_equal(qdq_value_const(inside)->count, 2);
    assert_int_equal(inside->type->dim[0].value, 2);
    assert_sound(m);
    qdq_model_free(m);
}

TEST(a_constant_that_callers_may_override_is_none)
{
    qdq_model *m = test_graph(__func__);

    assert_null(qdq_value_const(value(m, "w")));
    m->ir_version = 3;
    assert_non_null(qdq_value_const(value(m, "w")));
    assert_non_null(qdq_value_const(value(m, "c")));
    assert_null(qdq_value_const(value(m, "d")));
    assert_null(qdq_value_const(value(m, "x")));
    qdq_graph_unlist_inits(m->graph);
    assert_int_equal(m->graph->inputs.n, 1);
    assert_false(value(m, "w")->is_input);
    assert_sound(m);
    qdq_model_free(m);
}

TEST(inputs_and_outputs_are_edited_by_place)
{
    qdq_model *m = test_model(
        "g (float a, float b, float c) => (float x, float y) { x = Add(a, b) y = Neg(c) }");

    qdq_graph_remove_output(m->graph, 0);
    qdq_graph_set_output(m->graph, 0, value(m, "x"));
    assert_int_equal(value(m, "y")->n_output, 0);
    qdq_node_remove(maker(m, "y"));
    qdq_graph_remove_input(m->graph, value(m, "c"));
    qdq_value_remove(value(m, "c"));
    qdq_value_set_type(value(m, "a"), qdq_type_fixed(m, QDQ_INT8, 0, NULL));
    assert_non_null(qdq_graph_add_input(m->graph, "d", NULL));
    assert_sound(m);
    test_assert_text(m, test_graph_text(__func__));
    qdq_model_free(m);
}

TEST(a_detached_value_can_become_a_constant)
{
    static const float one[] = {1};
    qdq_model *m = test_model("g (float x) => (float y) { a, b = Op(x) y = Add(a, b) }");
    qdq_value *a = value(m, "a");

    qdq_value_detach(a);
    assert_true(qdq_value_set_init(a, qdq_tensor_of_floats(m, 0, NULL, one)));
    assert_sound(m);
    test_assert_text(m, test_graph_text(__func__));
    qdq_model_free(m);
}

/* --- questions -------------------------------------------------------------------------------- */

TEST(shapes_are_static_when_all_is_known)
{
    qdq_model *m =
        test_model("g (float[2,3] a, float[N] b, float[] c, float d, seq(float) e, f) => () {}");
    int64_t dim[2];
    int rank = -7;

    assert_true(qdq_value_static_shape(value(m, "a"), &rank, dim, 2));
    assert_true(rank == 2 && dim[0] == 2 && dim[1] == 3);
    assert_false(qdq_value_static_shape(value(m, "a"), &rank, dim, 1));
    assert_false(qdq_value_static_shape(value(m, "b"), &rank, dim, 2));
    assert_false(qdq_value_static_shape(value(m, "c"), &rank, dim, 2));
    assert_true(qdq_value_static_shape(value(m, "d"), &rank, dim, 2));
    assert_int_equal(rank, 0);
    assert_false(qdq_value_static_shape(value(m, "e"), &rank, dim, 2));
    assert_false(qdq_value_static_shape(value(m, "f"), &rank, dim, 2));
    qdq_model_free(m);
}

TEST(labels_are_names_where_those_are_unique)
{
    qdq_model *m = test_graph(__func__);
    qdq_arena scratch = QDQ_ARENA_INIT;

    assert_string_equal(qdq_node_label(maker(m, "a"), &scratch), "n");
    assert_string_equal(qdq_node_label(maker(m, "b"), &scratch), "Neg@b");
    assert_string_equal(qdq_node_label(maker(m, "c"), &scratch), "Op@c");
    assert_string_equal(qdq_node_label(m->graph->end.prev, &scratch), "Sink@#4");
    qdq_node_remove(maker(m, "b"));
    assert_string_equal(qdq_node_label(maker(m, "y"), &scratch), "dup");
    assert_true(qdq_node_set_name(maker(m, "a"), "dup"));
    assert_string_equal(qdq_node_label(maker(m, "y"), &scratch), "Neg@y");
    qdq_arena_free(&scratch);
    qdq_model_free(m);
}

TEST(nodes_without_a_name_of_their_own_are_called_by_their_labels)
{
    qdq_model *m = test_graph(__func__);

    assert_true(qdq_graph_name_nodes(m->graph));
    assert_string_equal(maker(m, "a")->name, "n");
    assert_string_equal(maker(m, "b")->name, "Neg@b");
    assert_string_equal(maker(m, "y")->name, "Neg@y"); /* not "dup", which became its own */
    assert_string_equal(maker(m, "c")->name, "Op@c");
    qdq_model_free(m);
}

TEST(opsets_and_properties_are_set_by_key)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = qdq_model_new();

    assert_int_equal(qdq_model_opset(m), 0);
    assert_ok(qdq_model_set_opset_version(m, "ai.onnx", 11, &err));
    assert_int_equal(qdq_model_opset_of(m, ""), 11);
    assert_ok(qdq_model_set_opset_version(m, "ai.onnx", 13, &err));
    assert_int_equal(qdq_model_opset(m), 13);
    assert_int_equal(m->opsets.n, 1);
    assert_int_equal(qdq_model_opset_of(m, "x"), 0);
    assert_ok(qdq_model_set_prop(m, "k", "v", &err));
    assert_ok(qdq_model_set_prop(m, "k", "w", &err));
    assert_int_equal(m->props.n, 1);
    assert_string_equal(m->props.at[0].value, "w");
    qdq_model_free(m);
}
