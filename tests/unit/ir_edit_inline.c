/* ir_edit_inline.c - a node gives way to a body. What it is for: text/inline-if and
 * text/inline-functions; here is what those cannot see. */
#include "support/test.h"

#include "ir/edit.h"
#include "ir/graph_check.h"

static qdq_node *maker(const qdq_model *m, const char *name)
{
    return qdq_graph_find(m->graph, name)->producer;
}

/* Outputs are not replaced by others: who holds on to them still has the right ones. */
TEST(outputs_go_over_to_the_nodes_of_the_body)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_graph(__func__);
    qdq_value *y = qdq_graph_find(m->graph, "y");
    qdq_node *n = y->producer;
    const qdq_type *type = y->type;

    assert_true(qdq_node_inline(n, n->attr[1]->v.g));
    assert_true(n->dead && !y->dead && y->type == type);
    assert_string_equal(y->producer->type, "Abs");
    assert_ok(qdq_model_verify(m, &err));
    qdq_model_free(m);
}

TEST(types_come_along_from_branches_and_not_from_functions)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_graph(__func__);
    const int64_t dim[] = {2};
    const qdq_type *type = qdq_type_fixed(m, QDQ_FLOAT, 1, dim);
    qdq_graph *branch = maker(m, "y")->attr[0]->v.g, *body = m->functions.at[0]->body;

    assert_non_null(type);
    qdq_value_set_type(qdq_graph_find(branch, "p"), type);
    qdq_value_set_type(qdq_graph_find(body, "w"), type);
    qdq_graph_find(branch, "p")->has_info = true;
    assert_true(qdq_node_inline(maker(m, "y"), branch));
    assert_true(qdq_node_inline(maker(m, "z"), body));
    assert_true(qdq_graph_find(m->graph, "p")->type == type &&
                qdq_graph_find(m->graph, "p")->has_info);
    assert_non_null(qdq_graph_find(m->graph, "y")->type);
    assert_null(qdq_graph_find(m->graph, "w")->type);
    assert_ok(qdq_model_verify(m, &err));
    qdq_model_free(m);
}

/* Sparse constants of a branch, in a graph and in a function. */
TEST(sparse_constants_come_along)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_graph(__func__);
    qdq_graph *body = m->functions.at[0]->body;
    qdq_node *inner = qdq_graph_find(body, "y")->producer, *outer = maker(m, "y");

    assert_true(qdq_node_inline(outer, outer->attr[0]->v.g));
    assert_true(qdq_node_inline(inner, inner->attr[0]->v.g));
    assert_non_null(maker(m, "y")->in[1].value->sparse);
    assert_string_equal(qdq_graph_find(body, "y")->producer->in[1].value->producer->attr[0]->name,
                        "sparse_value");
    assert_ok(qdq_model_verify(m, &err));
    qdq_model_free(m);
}

TEST(a_lifted_constant_takes_type_name_and_readers_along)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_graph(__func__);
    qdq_graph *branch = maker(m, "y")->attr[0]->v.g;
    qdq_value *w = qdq_graph_find(branch, "w"), *s = qdq_graph_find(branch, "s"), *lifted;

    lifted = qdq_value_lift(w, m->graph);
    assert_true(w->dead && qdq_graph_find(m->graph, "w") == lifted);
    assert_int_equal(lifted->n_use, 1);
    assert_string_equal(lifted->init->name, "w");
    lifted = qdq_value_lift(s, m->graph);
    assert_true(lifted->sparse != NULL && s->dead);
    assert_ok(qdq_model_verify(m, &err));
    qdq_model_free(m);
}
