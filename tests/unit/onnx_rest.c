/* onnx_rest.c - what we do not know survives: fields of newer ONNX versions, documentation, odd
 * entries. */
#include "ir/ir.h"
#include "onnx/wire.h"
#include "support/roundtrip.h"

TEST(small_model_comes_out_byte_for_byte)
{
    qdq_buf graph = relu_graph(), model = pb_model(&graph);

    assert_unchanged(&model);
}

/* One field of every wire type under numbers that ONNX does not use; 27 is below the table's end,
 * 1000 not. */
static void put_unknown(qdq_buf *b)
{
    pb_int(b, 27, -5);
    pb_fixed32(b, 28, "abcd");
    pb_fixed64(b, 29, "abcdefgh");
    pb_text(b, 30, "kept");
    pb_int(b, 1000, 7);
}

static void put_typed_value(qdq_buf *graph, unsigned number, const char *name)
{
    qdq_buf dim = PB_NEW, shape = PB_NEW, tensor = PB_NEW, type = PB_NEW, info = PB_NEW;

    pb_text(&dim, 2, "N");
    pb_text(&dim, 3, "DATA_BATCH");
    put_unknown(&dim);
    pb_message(&shape, 1, &dim);
    put_unknown(&shape);
    pb_int(&tensor, 1, 1);
    pb_message(&tensor, 2, &shape);
    put_unknown(&tensor);
    pb_message(&type, 1, &tensor);
    pb_text(&type, 6, "IMAGE");
    put_unknown(&type);
    pb_text(&info, 1, name);
    pb_message(&info, 2, &type);
    pb_text(&info, 3, "documentation of a value");
    pb_entry(&info, 4, "key", "value");
    put_unknown(&info);
    pb_message(graph, number, &info);
}

TEST(unknown_fields_of_every_message_survive)
{
    qdq_buf graph = PB_NEW, node = pb_node("Add", "a", "x", "w", "y"), attr = PB_NEW,
            tensor = PB_NEW;
    qdq_buf model = PB_NEW, opset = PB_NEW, function = PB_NEW,
            body = pb_node("Relu", "r", "a", NULL, "b");
    qdq_buf config = PB_NEW;
    float one = 1;

    pb_text(&attr, 1, "extra");
    pb_int(&attr, 3, 4);
    pb_text(&attr, 13, "documentation of an attribute");
    pb_int(&attr, 20, 2);
    put_unknown(&attr);
    pb_message(&node, 5, &attr);
    pb_text(&node, 6, "documentation of a node");
    pb_entry(&node, 9, "key", "value");
    pb_text(&config, 1, "two devices");
    pb_message(&node, 10, &config);
    put_unknown(&node);
    pb_message(&graph, 1, &node);
    pb_text(&graph, 2, "g");
    pb_int(&tensor, 1, 1);
    pb_int(&tensor, 2, 1);
    pb_text(&tensor, 8, "w");
    pb_bytes(&tensor, 9, &one, 4);
    pb_text(&tensor, 12, "documentation of a tensor");
    pb_entry(&tensor, 16, "key", "value");
    put_unknown(&tensor);
    pb_message(&graph, 5, &tensor);
    pb_text(&graph, 10, "documentation of a graph");
    put_typed_value(&graph, 11, "x");
    put_typed_value(&graph, 12, "y");
    pb_text(&graph, 14, ""); /* an empty TensorAnnotation */
    pb_entry(&graph, 16, "key", "value");
    put_unknown(&graph);

    pb_int(&model, 1, 99); /* a newer IR version than any */
    pb_text(&model, 2, "producer");
    pb_text(&model, 3, "1.0");
    pb_text(&model, 4, "domain.of.model");
    pb_int(&model, 5, 42);
    pb_text(&model, 6, "documentation of a model");
    pb_message(&model, 7, &graph);
    pb_int(&opset, 2, 17);
    put_unknown(&opset);
    pb_message(&model, 8, &opset);
    pb_entry(&model, 14, "key", "value");
    pb_text(&model, 20, ""); /* an empty TrainingInfoProto */

    pb_text(&function, 1, "f");
    pb_text(&function, 4, "a");
    pb_text(&function, 5, "b");
    put_unknown(&body);
    pb_message(&function, 7, &body);
    pb_text(&function, 8, "documentation of a function");
    pb_int(&opset, 2, 17);
    pb_message(&function, 9, &opset);
    pb_text(&function, 10, "local");
    pb_entry(&function, 14, "key", "value");
    put_unknown(&function);
    pb_message(&model, 25, &function);
    pb_text(&config, 1, "two devices");
    pb_int(&config, 2, 2);
    pb_message(&model, 26, &config);
    put_unknown(&model);
    assert_unchanged(&model);
}

TEST(unknown_fields_between_known_ones_are_all_kept)
{
    qdq_buf graph = relu_graph(), model = PB_NEW, opset = PB_NEW;
    qdq_model *m;
    qdq_wire_item item;
    size_t found = 0;

    put_unknown(&model);
    pb_int(&model, 1, 8);
    put_unknown(&model);
    pb_message(&model, 7, &graph);
    pb_int(&opset, 2, 17);
    pb_message(&model, 8, &opset);
    put_unknown(&model);
    m = load(&model);
    for (size_t pos = 0; qdq_wire_next(m->unknown_fields, &pos, &item);)
        found++;
    assert_int_equal(found, 15);
    assert_stable(m);
    qdq_model_free(m);
    qdq_buf_free(&model);
}

TEST(metadata_that_is_more_than_two_texts_is_kept)
{
    qdq_buf graph = relu_graph(), model = pb_model(&graph), entry = PB_NEW;
    qdq_model *m;

    pb_entry(&model, 14, "plain", "value");
    pb_text(&entry, 1, "strange");
    put_unknown(&entry);
    pb_message(&model, 14, &entry);
    pb_text(&entry, 1, "binary");
    pb_bytes(&entry, 2, "a\0b", 3);
    pb_message(&model, 14, &entry);
    m = load(&model);
    assert_int_equal(m->props.n, 1);
    assert_string_equal(m->props.at[0].key, "plain");
    qdq_model_free(m);
    assert_unchanged(&model);
}

/* Paddle calls each dim that it does not know "?": a picture of 48 x 192 has two of them. */
TEST(dims_called_question_mark_are_not_equal_and_survive)
{
    qdq_buf graph = PB_NEW, node = pb_node("Relu", "r", "x", NULL, "y"), shape = PB_NEW,
            tensor = PB_NEW, type = PB_NEW, info = PB_NEW;
    const int64_t none = 0;

    for (size_t i = 0; i < 2; i++) {
        qdq_buf dim = PB_NEW;
        pb_text(&dim, 2, "?");
        pb_message(&shape, 1, &dim);
    }
    pb_int(&tensor, 1, 1);
    pb_message(&tensor, 2, &shape);
    pb_message(&type, 1, &tensor);
    pb_text(&info, 1, "x");
    pb_message(&info, 2, &type);
    pb_message(&graph, 1, &node);
    pb_text(&graph, 2, "g");
    pb_message(&graph, 11, &info);
    pb_value(&graph, 12, "y", 0, &none);
    qdq_buf model = pb_model(&graph);
    qdq_model *m = load(&model);
    const qdq_type *t = m->graph->inputs.at[0]->type;
    assert_int_equal(t->rank, 2);
    assert_true(t->dim[0].value < 0 && t->dim[0].param == NULL);
    assert_true(t->dim[1].value < 0 && t->dim[1].param == NULL);
    qdq_model_free(m);
    assert_unchanged(&model);
}

TEST(value_infos_without_value_are_kept)
{
    qdq_buf graph = relu_graph(), model;
    int64_t dims[] = {7};
    qdq_model *m;

    pb_value(&graph, 13, "nobody", 1, dims);
    pb_value(&graph, 13, "x", 1, dims); /* x has its type as an input */
    model = pb_model(&graph);
    m = load(&model);
    assert_true(m->graph->unknown_fields.size > 0);
    assert_int_equal(m->graph->inputs.at[0]->type->rank, 2);
    assert_stable(m);
    qdq_model_free(m);
    assert_unchanged(&model);
}
