/* spelled.c - see the header. */
#include "support/spelled.h"

#include "ir/edit.h"
#include "support/test.h"

static qdq_value *scalar(const qdq_node *at, float number)
{
    qdq_graph *g = at->graph;
    qdq_value *v = qdq_graph_add_init(g, qdq_graph_unique_name(g, "spelled"),
                                      qdq_tensor_of_floats(g->model, 0, NULL, &number));

    assert_non_null(v);
    return v;
}

/* A node in front of `at`, which gives its result. `b` NULL: a mean over the last axis. */
static qdq_value *put(qdq_node *at, const char *op, qdq_value *a, qdq_value *b)
{
    const int64_t last = -1;
    const char *name = qdq_graph_unique_name(at->graph, op);
    qdq_node *n = qdq_graph_add_node(at->graph, at, "", op, name, b != NULL ? 2 : 1, 1, &name);

    assert_non_null(n);
    qdq_node_set_in(n, 0, a);
    if (b != NULL)
        qdq_node_set_in(n, 1, b);
    if (strcmp(op, "ReduceMean") == 0)
        assert_true(qdq_node_set_ints(n, "axes", &last, 1));
    return n->out[0];
}

static void spell(qdq_node *n)
{
    qdq_value *x = qdq_node_in(n, 0), *scale = qdq_node_in(n, 1), *bias = qdq_node_in(n, 2);
    float epsilon = qdq_node_float(n, "epsilon", 1e-5F);
    qdq_value *d = put(n, "Sub", x, put(n, "ReduceMean", x, NULL));
    qdq_value *variance = put(n, "ReduceMean", put(n, "Pow", d, scalar(n, 2)), NULL);
    qdq_value *root = put(n, "Sqrt", put(n, "Add", variance, scalar(n, epsilon)), NULL);

    assert_non_null(bias);
    qdq_node_set_in(n, 0, put(n, "Mul", put(n, "Div", d, root), scale));
    qdq_node_set_in(n, 1, bias);
    qdq_node_set_in(n, 2, NULL);
    qdq_node_trim_in(n);
    while (n->n_attr > 0)
        qdq_node_remove_attr(n, n->attr[n->n_attr - 1]->name);
    assert_true(qdq_node_set_type(n, "", "Add"));
}

size_t test_spell_layernorms(qdq_model *m, int opset)
{
    qdq_error err = QDQ_ERROR_INIT;
    size_t n_spelled = 0;

    QDQ_FOR_NODES (n, m->graph) {
        if (n->op != QDQ_OP_LAYERNORMALIZATION)
            continue;
        spell(n);
        n_spelled++;
    }
    assert_ok(qdq_model_set_opset_version(m, "", opset, &err));
    return n_spelled;
}

size_t test_count_nodes(const qdq_model *m, qdq_op op)
{
    size_t count = 0;

    QDQ_FOR_NODES (n, m->graph)
        count += n->op == op;
    return count;
}
