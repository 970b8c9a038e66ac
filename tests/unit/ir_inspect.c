/* ir_inspect.c - views of a model, its inputs and outputs, and the part of it between some
 * values. */
#include "support/test.h"

#include <jansson.h>

#include "ir/edit.h"
#include "ir/graph_check.h"

static char *view(const qdq_model *m, qdq_view kind)
{
    qdq_error err = QDQ_ERROR_INIT;
    char *out = NULL;

    assert_ok(qdq_model_inspect(m, kind, &out, &err));
    return out;
}

TEST(json_has_the_promised_keys)
{
    qdq_model *m = test_graph("text");
    char *out = view(m, QDQ_VIEW_JSON);
    json_t *j = json_loads(out, 0, NULL), *io;

    assert_int_equal(json_integer_value(json_object_get(j, "ir_version")), 10);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(j, "opsets"), "")), 21);
    assert_int_equal(json_integer_value(json_object_get(j, "nodes")), 6);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(j, "ops"), "my::F")), 1);
    assert_int_equal(
        json_integer_value(json_object_get(json_object_get(j, "ops"), "com.microsoft::Gelu")), 1);
    assert_int_equal(
        json_integer_value(json_object_get(json_object_get(j, "ops"), "DequantizeLinear")), 2);
    assert_null(json_object_get(json_object_get(j, "ops"), "Add"));
    assert_int_equal(json_integer_value(json_object_get(j, "initializers")), 4);
    assert_int_equal(json_integer_value(json_object_get(j, "weight_bytes")), 8 + 16 + 2 + 3);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(j, "qdq"), "quantize")), 1);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(j, "qdq"), "dequantize")),
                     2);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(j, "subgraphs"), "nodes")),
                     2);
    assert_int_equal(
        json_integer_value(json_object_get(json_object_get(j, "subgraphs"), "weight_bytes")), 4);
    assert_int_equal(json_integer_value(json_object_get(json_object_get(j, "functions"), "nodes")),
                     1);

    io = json_object_get(j, "inputs");
    assert_int_equal(json_array_size(io), 4); /* b is an initializer */
    assert_string_equal(json_string_value(json_object_get(json_array_get(io, 1), "name")), "x");
    assert_string_equal(json_string_value(json_object_get(json_array_get(io, 1), "type")), "float");
    char *shape = json_dumps(json_object_get(json_array_get(io, 1), "shape"), 0);
    assert_string_equal(shape, "[\"N\", 2, null]");
    free(shape);
    assert_string_equal(json_string_value(json_object_get(json_array_get(io, 2), "type")),
                        "seq(float[2])");
    assert_true(json_is_null(json_object_get(json_array_get(io, 3), "shape")));
    io = json_object_get(j, "outputs");
    assert_int_equal(json_array_size(json_object_get(json_array_get(io, 0), "shape")), 0);
    assert_string_equal(json_string_value(json_object_get(json_array_get(io, 1), "type")),
                        "undefined");
    json_decref(j);
    qdq_free(out);
    qdq_model_free(m);
}

TEST(names_that_are_not_utf8_still_give_json)
{
    qdq_model *m = test_graph(__func__);
    char *out = view(m, QDQ_VIEW_JSON);

    assert_non_null(strstr(out, "\"x?\""));
    assert_non_null(strstr(out, "\"d?::o?\""));
    qdq_free(out);
    qdq_model_free(m);
}

TEST(the_text_view_is_for_people)
{
    qdq_model *m = test_graph("text");
    char *out = view(m, QDQ_VIEW_TEXT);

    assert_string_equal(out, "graph         main\n"
                             "IR version    10\n"
                             "opsets        21, my 1\n"
                             "producer      pytorch 2\n"
                             "inputs        c: bool\n"
                             "              x: float[N,2,?]\n"
                             "              q: seq(float[2])\n"
                             "              r: float[]\n"
                             "outputs       y: float\n"
                             "              z: unknown type\n"
                             "initializers  4, 29 bytes\n"
                             "Q/DQ          1 QuantizeLinear, 2 DequantizeLinear\n"
                             "nodes         6\n"
                             "subgraphs     2 with 2 nodes\n"
                             "functions     1 with 1 nodes\n"
                             "operators\n"
                             "        2  DequantizeLinear\n"
                             "        1  If\n"
                             "        1  QuantizeLinear\n"
                             "        1  com.microsoft::Gelu\n"
                             "        1  my::F\n"
                             "operators in subgraphs\n"
                             "        2  Add\n"
                             "operators in functions\n"
                             "        1  Mul\n");
    qdq_free(out);
    qdq_model_free(m);
}

TEST(the_drawing_has_nodes_edges_and_frames)
{
    qdq_model *m = test_graph("text");
    char *out = view(m, QDQ_VIEW_DOT);

    assert_int_equal(strncmp(out, "digraph \"main\" {\n", 17), 0);
    assert_non_null(strstr(
        out, "g0n1 [shape=box, style=filled, fillcolor=\"#f4cccc\", label=\"QuantizeLinear\"];"));
    assert_non_null(strstr(out, "g0n0 -> g0n1 [label=\"t\"];"));
    assert_non_null(strstr(out, "subgraph cluster_1 {"));
    assert_non_null(strstr(out, "label=\"x\\nfloat[N,2,?]\""));
    qdq_free(out);
    qdq_model_free(m);
}

TEST(an_unknown_view_is_refused)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_graph("text");
    char *out = NULL;

    assert_fails(QDQ_E_USAGE, "no view number 9", qdq_model_inspect(m, (qdq_view)9, &out, &err));
    assert_null(out);
    qdq_model_free(m);
}

TEST(inputs_leave_initializers_out)
{
    qdq_model *m = test_graph("text");
    qdq_io io;

    assert_int_equal(qdq_model_opset(m), 21);
    assert_int_equal(qdq_model_input_count(m), 4);
    assert_int_equal(qdq_model_output_count(m), 2);
    assert_true(qdq_model_input(m, 1, &io));
    assert_string_equal(io.name, "x");
    assert_true(io.rank == 3 && io.dim[0] == -1 && io.dim[1] == 2 && io.dim[2] == -1);
    assert_string_equal(io.param[0], "N");
    assert_null(io.param[1]);
    assert_null(io.param[2]);
    assert_true(qdq_model_input(m, 2, &io));
    assert_string_equal(io.name, "q");
    assert_true(io.rank == -1 && io.elem == QDQ_UNDEFINED);
    assert_false(qdq_model_input(m, 4, &io));
    for (size_t i = 0; qdq_model_input(m, i, &io); i++)
        assert_true(qdq_model_has_input(m, io.name));
    assert_false(qdq_model_has_input(m, "b")); /* an initializer */
    assert_false(qdq_model_has_input(m, "y"));
    assert_false(qdq_model_has_input(m, "absent"));
    assert_true(qdq_model_output(m, 0, &io));
    assert_true(io.rank == 0 && io.elem == QDQ_FLOAT);
    assert_false(qdq_model_output(m, 2, &io));
    assert_true(qdq_model_is_open(m));
    qdq_model_free(m);
    m = test_model("g (float[2] x, float y) => (float[N] z) { z = Add(x, y) }");
    assert_false(qdq_model_is_open(m)); /* outputs do not count */
    qdq_model_free(m);
}

TEST(more_dimensions_than_the_interface_has_count_as_unknown)
{
    qdq_model *m = test_model("g (float[1,2,3,4,5,6,7,8,9,10,11,12,13] x) => () {}");
    qdq_io io;

    assert_true(qdq_model_input(m, 0, &io));
    assert_int_equal(io.rank, -1);
    qdq_model_free(m);
}
