/* onnx_graph.c - graphs, functions, and writing them for engines. */
#include "ir/edit.h"
#include "onnx/onnx_io.h"
#include "support/roundtrip.h"

TEST(nodes_in_any_order_are_read_and_written_sorted)
{
    qdq_buf graph = PB_NEW, last = pb_node("Relu", "last", "t", NULL, "y");
    qdq_buf first = pb_node("Relu", "first", "x", NULL, "t"), model;
    int64_t dims[] = {1, 3};
    qdq_model *m, *again = NULL;
    void *data;
    size_t size;

    pb_message(&graph, 1, &last);
    pb_message(&graph, 1, &first);
    pb_value(&graph, 11, "x", 2, dims);
    pb_value(&graph, 12, "y", 2, dims);
    model = pb_model(&graph);
    m = load(&model);
    assert_string_equal(m->graph->end.next->name, "last");
    assert_ptr_equal(m->graph->end.next->in[0].value->producer, m->graph->end.prev);
    assert_ok(qdq_model_to_bytes(m, NULL, &data, &size, &err));
    assert_ok(qdq_model_load_bytes(data, size, "again", NULL, &again, &err));
    assert_string_equal(again->graph->end.next->name, "first");
    qdq_free(data);
    qdq_model_free(again);
    qdq_model_free(m);
    qdq_buf_free(&model);
}

/* Paddle's exporter gives what a Loop takes along the name that it has outside; ONNX Runtime reads
 * the inner value. */
TEST(inputs_of_bodies_with_a_name_from_outside_get_one_of_their_own)
{
    qdq_buf graph = PB_NEW, inner = PB_NEW, attr = PB_NEW, model;
    qdq_buf add = pb_node("Add", "add", "x", "x", "t"),
            loop = pb_node("Custom", "n", "x", NULL, "z");
    int64_t dims[] = {1, 3};

    pb_message(&inner, 1, &add);
    pb_text(&inner, 2, "body");
    pb_value(&inner, 11, "x", 2, dims);
    pb_value(&inner, 12, "t", 2, dims);
    pb_text(&attr, 1, "body");
    pb_message(&attr, 6, &inner);
    pb_int(&attr, 20, QDQ_ATTR_GRAPH);
    pb_message(&loop, 5, &attr);
    pb_message(&graph, 1, &loop);
    pb_text(&graph, 2, "g");
    pb_value(&graph, 11, "x", 2, dims);
    pb_value(&graph, 12, "z", 2, dims);
    model = pb_model(&graph);
    qdq_model *m = load(&model);
    const qdq_graph *body = m->graphs.at[1];
    assert_string_equal(body->inputs.at[0]->name, "x_1");
    assert_ptr_equal(body->end.next->in[0].value, body->inputs.at[0]);
    assert_ptr_equal(m->graph->end.next->in[0].value, m->graph->inputs.at[0]);
    qdq_model_free(m);
    qdq_buf_free(&model);
}

TEST(left_out_operands_stay_left_out)
{
    qdq_buf graph = PB_NEW, node = PB_NEW, model;
    int64_t dims[] = {1, 3};
    qdq_model *m;

    pb_text(&node, 1, "x");
    pb_text(&node, 1, "");
    pb_text(&node, 1, "x");
    pb_text(&node, 1, "");
    pb_text(&node, 2, "y");
    pb_text(&node, 2, "");
    pb_text(&node, 4, "Custom");
    pb_text(&node, 7, "my.domain");
    pb_message(&graph, 1, &node);
    pb_text(&graph, 2, "g");
    pb_value(&graph, 11, "x", 2, dims);
    pb_value(&graph, 12, "y", 2, dims);
    model = pb_model_with(&graph, "my.domain");
    m = load(&model);
    assert_int_equal(m->graph->end.next->n_in, 4);
    assert_null(m->graph->end.next->in[1].value);
    assert_int_equal(m->graph->end.next->n_out, 2);
    assert_null(m->graph->end.next->out[1]);
    qdq_model_free(m);
    assert_unchanged(&model);
}

TEST(initializer_of_an_input_is_its_default)
{
    qdq_buf graph = PB_NEW, node = pb_node("Add", "a", "x", "t", "y"), tensor = small_tensor("t"),
            model;
    int64_t dims[] = {4};
    qdq_model *m;

    pb_message(&graph, 1, &node);
    pb_text(&graph, 2, "g");
    pb_message(&graph, 5, &tensor);
    pb_value(&graph, 11, "x", 1, dims);
    pb_value(&graph, 11, "t", 1, dims);
    pb_value(&graph, 12, "y", 1, dims);
    model = pb_model(&graph);
    m = load(&model);
    assert_int_equal(m->graph->inputs.n, 2);
    assert_ptr_equal(m->graph->inputs.at[1], m->graph->inits.at[0]);
    assert_null(qdq_value_const(m->graph->inits.at[0])); /* the caller may give another one */
    m->ir_version = 3;
    assert_non_null(qdq_value_const(m->graph->inits.at[0]));
    qdq_model_free(m);
    qdq_buf_free(&model);
}

TEST(value_info_of_an_initializer_is_written_again)
{
    qdq_buf graph = PB_NEW, node = pb_node("Add", "a", "x", "t", "y"), tensor = small_tensor("t"),
            model;
    qdq_buf type = PB_NEW, shape = PB_NEW, dim = PB_NEW, info = PB_NEW, tensor_type = PB_NEW;
    int64_t dims[] = {4};

    pb_message(&graph, 1, &node);
    pb_text(&graph, 2, "g");
    pb_message(&graph, 5, &tensor);
    pb_value(&graph, 11, "x", 1, dims);
    pb_value(&graph, 12, "y", 1, dims);
    pb_int(&dim, 1, 4);
    pb_message(&shape, 1, &dim);
    pb_int(&tensor_type, 1, QDQ_UINT8);
    pb_message(&tensor_type, 2, &shape);
    pb_message(&type, 1, &tensor_type);
    pb_text(&info, 1, "t");
    pb_message(&info, 2, &type);
    pb_text(&info, 3, "documentation");
    pb_message(&graph, 13, &info);
    model = pb_model(&graph);
    assert_unchanged(&model);
}

TEST(functions_come_out_unchanged)
{
    qdq_buf graph = relu_graph(), model = PB_NEW, opset = PB_NEW, function = PB_NEW, attr = PB_NEW;
    qdq_buf node = pb_node("LeakyRelu", "n", "a", NULL, "b"), default_attr = PB_NEW;
    int64_t dims[] = {2};
    float alpha = 0.1f;
    qdq_model *m;

    pb_text(&attr, 1, "alpha");
    pb_int(&attr, 20, QDQ_ATTR_FLOAT);
    pb_text(&attr, 21, "slope"); /* the function's attribute */
    pb_message(&node, 5, &attr);
    pb_text(&function, 1, "Leaky");
    pb_text(&function, 4, "a");
    pb_text(&function, 5, "b");
    pb_text(&function, 6, "slope");
    pb_message(&function, 7, &node);
    pb_text(&opset, 1, "");
    qdq_buf_free(&opset);
    pb_int(&opset, 2, 17);
    pb_message(&function, 9, &opset);
    pb_text(&function, 10, "local");
    pb_text(&default_attr, 1, "offset");
    pb_fixed32(&default_attr, 2, &alpha);
    pb_int(&default_attr, 20, QDQ_ATTR_FLOAT);
    pb_message(&function, 11, &default_attr);
    pb_value(&function, 12, "b", 1, dims);
    pb_text(&function, 13, "overload");
    pb_int(&model, 1, 10);
    pb_message(&model, 7, &graph);
    pb_int(&opset, 2, 17);
    pb_message(&model, 8, &opset);
    pb_text(&opset, 1, "local");
    pb_int(&opset, 2, 1);
    pb_message(&model, 8, &opset);
    pb_message(&model, 25, &function);
    m = load(&model);
    assert_int_equal(m->functions.n, 1);
    assert_string_equal(qdq_node_attr(m->functions.at[0]->body->end.next, "alpha")->ref, "slope");
    assert_float_equal(m->functions.at[0]->attr_protos.at[0]->v.f, 0.1f, 0);
    assert_int_equal(m->opsets.n, 2);
    qdq_model_free(m);
    qdq_model *clone = NULL, *first = load(&model);
    assert_ok(qdq_model_clone(first, &clone, &err));
    qdq_model_free(first);
    assert_stable(clone);
    qdq_model_free(clone);
    qdq_buf_free(&model);
}

TEST(both_names_of_the_default_domain_are_one)
{
    qdq_buf graph = relu_graph(), model = PB_NEW, opset = PB_NEW;
    qdq_model *m;

    pb_int(&model, 1, 8);
    pb_message(&model, 7, &graph);
    pb_int(&opset, 2, 17);
    pb_message(&model, 8, &opset);
    pb_text(&opset, 1, "ai.onnx");
    pb_int(&opset, 2, 17);
    pb_message(&model, 8, &opset);
    m = load(&model);
    assert_int_equal(m->opsets.n, 1);
    assert_string_equal(m->opsets.at[0].domain, "");
    assert_int_equal(qdq_model_opset(m), 17);
    qdq_model_free(m);
    qdq_buf_free(&model);
}

/* --- writing for engines ---------------------------------------------------------------------- */

static qdq_model *load_text(void)
{
    return test_graph(__func__);
}

static qdq_model *write_and_load(const qdq_model *m, const qdq_onnx_write_opts *opts)
{
    qdq_buf buf = QDQ_BUF_INIT(1 << 20);
    qdq_load_opts load_opts = QDQ_LOAD_OPTS_INIT;
    qdq_model *again = NULL;

    load_opts.external_dir = test_dir();
    assert_ok(qdq_onnx_write_to_buf(m, opts, &buf, &err));
    assert_ok(qdq_model_load_bytes(buf.data, buf.size, "again", &load_opts, &again, &err));
    qdq_buf_free(&buf);
    return again;
}

TEST(exposed_values_become_outputs_without_type)
{
    const char *names[] = {"t", "y", "u"};
    qdq_onnx_write_opts opts = {NULL, NULL, names, 3, false};
    qdq_model *m = load_text(), *again = write_and_load(m, &opts);

    assert_int_equal(again->graph->outputs.n, 3); /* y is one already */
    assert_string_equal(again->graph->outputs.at[0]->name, "y");
    assert_string_equal(again->graph->outputs.at[1]->name, "t");
    assert_null(again->graph->outputs.at[1]->type);
    assert_string_equal(again->graph->outputs.at[2]->name, "u");
    qdq_model_free(again);
    opts.only_exposed = true;
    again = write_and_load(m, &opts);
    assert_int_equal(again->graph->outputs.n, 3);
    assert_string_equal(again->graph->outputs.at[0]->name, "t");
    assert_string_equal(again->graph->outputs.at[1]->name, "y");
    assert_int_equal(m->graph->outputs.n, 1); /* the model itself is as it was */
    qdq_model_free(again);
    names[1] = "nobody";
    qdq_buf buf = QDQ_BUF_INIT(1 << 20);
    assert_fails(QDQ_E_USAGE, "no value 'nobody'", qdq_onnx_write_to_buf(m, &opts, &buf, &err));
    qdq_buf_free(&buf);
    qdq_model_free(m);
}

static bool refer_to_mapping(void *ctx, const qdq_tensor *t, bool is_init, qdq_onnx_ref *ref)
{
    int *asked = ctx;

    (*asked)++;
    return is_init && qdq_onnx_mapped_ref(t, ref);
}

TEST(weights_can_be_references_into_the_model_file_itself)
{
    int asked = 0;
    qdq_onnx_write_opts opts = {refer_to_mapping, &asked, NULL, 0, false};
    qdq_model *m = load_text(), *mapped = NULL, *again;
    qdq_arena scratch = QDQ_ARENA_INIT;
    float *found;

    assert_ok(qdq_model_save(m, test_path("weights.onnx"), NULL, &err));
    qdq_model_free(m);
    assert_ok(qdq_model_load(test_path("weights.onnx"), NULL, &mapped, &err));
    again = write_and_load(mapped, &opts);
    assert_int_equal(asked, 1);
    assert_true(again->graph->inits.at[0]->init->external);
    assert_ok(qdq_tensor_floats(again->graph->inits.at[0]->init, &scratch, &found, &err));
    assert_float_equal(found[3], 4, 0);
    qdq_arena_free(&scratch);
    qdq_model_free(again);
    qdq_model_free(mapped);
}
