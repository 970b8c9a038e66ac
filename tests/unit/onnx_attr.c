/* onnx_attr.c - types and attributes of every kind. */
#include "ir/ir.h"
#include "support/roundtrip.h"

static void put_type(qdq_buf *graph, const char *name, qdq_buf *type)
{
    qdq_buf info = PB_NEW;

    pb_text(&info, 1, name);
    pb_message(&info, 2, type);
    pb_message(graph, 11, &info);
}

TEST(types_of_every_kind_come_out_unchanged)
{
    qdq_buf graph = PB_NEW, node = pb_node("Relu", "r", "x", NULL, "y"), model, type, a, b;
    qdq_buf unranked = PB_NEW, strange = PB_NEW, map = PB_NEW, dim = PB_NEW, negative;
    int64_t dims[] = {2};
    qdq_model *m;

    pb_message(&graph, 1, &node);
    pb_text(&graph, 2, "g");
    pb_value(&graph, 11, "x", 1, dims);
    pb_int(&unranked, 1, QDQ_INT4);
    type = wrap(1, &unranked); /* tensor of unknown rank */
    put_type(&graph, "unranked", &type);
    pb_int(&unranked, 1, QDQ_FLOAT);
    type = wrap(8, &unranked); /* sparse tensor */
    put_type(&graph, "sparse", &type);
    pb_int(&unranked, 1, QDQ_FLOAT);
    a = wrap(1, &unranked);
    b = wrap(1, &a);
    type = wrap(4, &b); /* sequence of tensors */
    a = wrap(1, &type);
    type = wrap(9, &a); /* optional of it */
    put_type(&graph, "optional", &type);
    pb_int(&unranked, 1, QDQ_FLOAT);
    a = wrap(1, &unranked);
    pb_int(&map, 1, QDQ_INT64);
    pb_message(&map, 2, &a);
    type = wrap(5, &map);
    put_type(&graph, "map", &type);
    pb_text(&strange, 1, "domain");
    pb_text(&strange, 2, "name");
    type = wrap(7, &strange); /* opaque */
    put_type(&graph, "opaque", &type);
    put_type(&graph, "empty", &(qdq_buf)PB_NEW);
    pb_int(&unranked, 1, 99); /* an element type of the future */
    type = wrap(1, &unranked);
    put_type(&graph, "future", &type);
    pb_int(&dim, 1, -1); /* how some exporters write "unknown" */
    a = wrap(1, &dim);
    negative = wrap(2, &a);
    type = wrap(1, &negative);
    put_type(&graph, "negative", &type);
    pb_value(&graph, 12, "y", 1, dims);
    model = pb_model(&graph);
    m = load(&model);
    assert_int_equal(m->graph->inputs.at[1]->type->rank, -1);
    assert_int_equal(m->graph->inputs.at[2]->type->kind, QDQ_TYPE_SPARSE);
    assert_int_equal(m->graph->inputs.at[3]->type->kind, QDQ_TYPE_OPTIONAL);
    assert_int_equal(m->graph->inputs.at[3]->type->inner->kind, QDQ_TYPE_SEQUENCE);
    assert_int_equal(m->graph->inputs.at[3]->type->inner->inner->elem, QDQ_FLOAT);
    assert_int_equal(m->graph->inputs.at[4]->type->kind, QDQ_TYPE_MAP);
    assert_int_equal(m->graph->inputs.at[4]->type->elem, QDQ_INT64);
    assert_int_equal(m->graph->inputs.at[5]->type->kind, QDQ_TYPE_OTHER);
    assert_int_equal(m->graph->inputs.at[6]->type->kind, QDQ_TYPE_OTHER);
    assert_int_equal(m->graph->inputs.at[8]->type->dim[0].value, -1);
    qdq_model_free(m);
    assert_unchanged(&model);
}

static qdq_buf attribute(const char *name)
{
    qdq_buf attr = PB_NEW;

    pb_text(&attr, 1, name);
    return attr;
}

/* `type` stands between fields 15 and 22. */
static void put_attribute(qdq_buf *node, qdq_buf *attr, qdq_attr_type type)
{
    pb_int(attr, 20, (int)type);
    pb_message(node, 5, attr);
}

static void put_message_attribute(qdq_buf *node, const char *name, qdq_attr_type type,
                                  unsigned number, qdq_buf *first, qdq_buf *second)
{
    qdq_buf attr = attribute(name);

    if (number > 20)
        pb_int(&attr, 20, (int)type);
    pb_message(&attr, number, first);
    if (second != NULL)
        pb_message(&attr, number, second);
    if (number > 20)
        pb_message(node, 5, &attr);
    else
        put_attribute(node, &attr, type);
}

static qdq_buf sparse_tensor(const char *name)
{
    qdq_buf sparse = PB_NEW, values = small_tensor(name), indices = PB_NEW;
    int64_t at[] = {0, 2, 4, 6};

    pb_message(&sparse, 1, &values);
    pb_int(&indices, 1, 4);
    pb_int(&indices, 2, QDQ_INT64);
    pb_bytes(&indices, 9, at, sizeof at);
    pb_message(&sparse, 2, &indices);
    pb_int(&sparse, 3, 8);
    return sparse;
}

static qdq_buf subgraph(const char *out)
{
    qdq_buf graph = PB_NEW, node = pb_node("Relu", "inner", "x", NULL, out);
    int64_t dims[] = {1, 3};

    pb_message(&graph, 1, &node);
    pb_text(&graph, 2, "inner");
    pb_value(&graph, 12, out, 2, dims);
    return graph;
}

static qdq_buf float_type(void)
{
    qdq_buf tensor = PB_NEW;

    pb_int(&tensor, 1, QDQ_FLOAT);
    return wrap(1, &tensor);
}

static void put_plain_attributes(qdq_buf *node)
{
    float half = 0.5f;
    qdq_buf attr = attribute("f");

    pb_fixed32(&attr, 2, &half);
    put_attribute(node, &attr, QDQ_ATTR_FLOAT);
    attr = attribute("i");
    pb_int(&attr, 3, -9);
    put_attribute(node, &attr, QDQ_ATTR_INT);
    attr = attribute("s");
    pb_bytes(&attr, 4, "a\0b", 3);
    put_attribute(node, &attr, QDQ_ATTR_STRING);
    attr = attribute("floats");
    pb_fixed32(&attr, 7, &half);
    pb_fixed32(&attr, 7, &half);
    put_attribute(node, &attr, QDQ_ATTR_FLOATS);
    attr = attribute("ints");
    pb_int(&attr, 8, 1);
    pb_int(&attr, 8, INT64_MIN);
    put_attribute(node, &attr, QDQ_ATTR_INTS);
    attr = attribute("strings");
    pb_text(&attr, 9, "a");
    pb_text(&attr, 9, "");
    put_attribute(node, &attr, QDQ_ATTR_STRINGS);
    attr = attribute("empty");
    put_attribute(node, &attr, QDQ_ATTR_INTS);
    attr = attribute("future");
    pb_int(&attr, 3, 5);
    put_attribute(node, &attr, (qdq_attr_type)55);
    attr = attribute("two values");
    pb_int(&attr, 3, 5);
    pb_text(&attr, 4, "kept");
    put_attribute(node, &attr, QDQ_ATTR_INT);
}

static void put_message_attributes(qdq_buf *node)
{
    qdq_buf a = small_tensor("t"), b;

    put_message_attribute(node, "t", QDQ_ATTR_TENSOR, 5, &a, NULL);
    a = subgraph("g1");
    put_message_attribute(node, "g", QDQ_ATTR_GRAPH, 6, &a, NULL);
    a = small_tensor(NULL);
    b = small_tensor("second");
    put_message_attribute(node, "tensors", QDQ_ATTR_TENSORS, 10, &a, &b);
    a = subgraph("g2");
    b = subgraph("g3");
    put_message_attribute(node, "graphs", QDQ_ATTR_GRAPHS, 11, &a, &b);
    a = float_type();
    put_message_attribute(node, "type", QDQ_ATTR_TYPE, 14, &a, NULL);
    a = float_type();
    b = float_type();
    put_message_attribute(node, "types", QDQ_ATTR_TYPES, 15, &a, &b);
    a = sparse_tensor(NULL);
    put_message_attribute(node, "sparse", QDQ_ATTR_SPARSE, 22, &a, NULL);
    a = sparse_tensor(NULL);
    b = sparse_tensor("named");
    put_message_attribute(node, "sparses", QDQ_ATTR_SPARSES, 23, &a, &b);
}

TEST(attributes_of_every_kind_come_out_unchanged)
{
    qdq_buf graph = PB_NEW, node = pb_node("Custom", "c", "x", NULL, "y"), part, model;
    int64_t dims[] = {1, 3};
    qdq_model *m;
    const qdq_node *n;

    put_plain_attributes(&node);
    put_message_attributes(&node);
    pb_text(&node, 7, "my.domain");
    pb_text(&node, 8, "overload");
    pb_message(&graph, 1, &node);
    pb_text(&graph, 2, "g");
    pb_value(&graph, 11, "x", 2, dims);
    pb_value(&graph, 12, "y", 2, dims);
    part = sparse_tensor("s");
    pb_message(&graph, 15, &part);
    model = pb_model_with(&graph, "my.domain");
    m = load(&model);
    n = m->graph->end.next;
    assert_int_equal(n->n_attr, 17);
    assert_int_equal(qdq_node_attr(n, "ints")->v.ints[1], INT64_MIN);
    assert_int_equal(qdq_node_attr(n, "graphs")->count, 2);
    assert_int_equal(qdq_node_attr(n, "future")->type, QDQ_ATTR_UNDEFINED);
    assert_int_equal(qdq_node_attr(n, "two values")->v.i, 5);
    assert_int_equal(m->graph->inputs.at[0]->n_use, 4); /* three captures */
    assert_non_null(qdq_graph_find(m->graph, "s")->sparse);
    qdq_model_free(m);
    assert_unchanged(&model);
}

TEST(attribute_without_type_has_that_of_its_value)
{
    qdq_buf graph = PB_NEW, node = pb_node("Custom", "c", "x", NULL, "y"), attr = attribute("i"),
            model;
    int64_t dims[] = {1, 3};
    qdq_model *m;

    pb_int(&attr, 3, 4); /* as IR version 1 had it */
    pb_message(&node, 5, &attr);
    pb_text(&node, 7, "my.domain");
    pb_message(&graph, 1, &node);
    pb_value(&graph, 11, "x", 2, dims);
    pb_value(&graph, 12, "y", 2, dims);
    model = pb_model_with(&graph, "my.domain");
    m = load(&model);
    assert_int_equal(qdq_node_int(m->graph->end.next, "i", 0), 4);
    assert_stable(m);
    qdq_model_free(m);
    qdq_buf_free(&model);
}
