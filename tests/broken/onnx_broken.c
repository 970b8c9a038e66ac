/* onnx_broken.c - malformed models, made in code: each is refused with a place and a reason, and
 * none crashes, hangs or leaves anything behind. */
#include "base/file.h"
#include "ir/ir.h"
#include "support/broken_model.h"
#include "support/roundtrip.h"

#include <sys/stat.h>
#include <unistd.h>

/* --- one mistake each ------------------------------------------------------------------------- */

static qdq_buf no_graph(void)
{
    qdq_buf b = PB_NEW;

    pb_int(&b, 1, 8);
    return b;
}

static qdq_buf no_ir_version(void)
{
    qdq_buf graph = sound_graph(), b = PB_NEW;

    pb_message(&b, 7, &graph);
    return b;
}

static qdq_buf text_file(void)
{
    qdq_buf b = PB_NEW;

    qdq_buf_puts(&b, "ir_version: 8\ngraph { }\n");
    return b;
}

static qdq_buf two_graphs(void)
{
    qdq_buf graph = sound_graph(), b = pb_model(&graph), second = sound_graph();

    pb_message(&b, 7, &second);
    return b;
}

static qdq_buf graph_as_number(void)
{
    qdq_buf b = no_graph();

    pb_int(&b, 7, 5);
    return b;
}

static qdq_buf group_field(void)
{
    qdq_buf b = no_graph();

    pb_tag(&b, 7, 3);
    return b;
}

static qdq_buf field_zero(void)
{
    qdq_buf b = no_graph();

    pb_int(&b, 0, 1);
    return b;
}

static qdq_buf long_varint(void)
{
    qdq_buf b = PB_NEW;

    pb_tag(&b, 1, 0);
    for (int i = 0; i < 11; i++)
        qdq_buf_putc(&b, (char)0xff);
    return b;
}

static qdq_buf overflowing_varint(void)
{
    qdq_buf b = PB_NEW;

    pb_tag(&b, 1, 0);
    for (int i = 0; i < 9; i++)
        qdq_buf_putc(&b, (char)0xff);
    qdq_buf_putc(&b, 2); /* bit 64 */
    return b;
}

static qdq_buf length_beyond_the_end(void)
{
    qdq_buf b = no_graph();

    pb_tag(&b, 7, 2);
    pb_varint(&b, 1000);
    qdq_buf_puts(&b, "short");
    return b;
}

static qdq_buf length_of_2_to_the_63(void)
{
    qdq_buf b = no_graph();

    pb_tag(&b, 7, 2);
    pb_varint(&b, (uint64_t)1 << 63);
    return b;
}

static qdq_buf two_opset_versions(void)
{
    qdq_buf graph = sound_graph(), b = pb_model(&graph), opset = PB_NEW;

    pb_text(&opset, 1, "ai.onnx");
    pb_int(&opset, 2, 13);
    pb_message(&b, 8, &opset);
    return b;
}

static qdq_buf nul_in_name(void)
{
    qdq_buf graph = PB_NEW;

    pb_bytes(&graph, 2, "a\0b", 3);
    return graph_model(&graph);
}

static qdq_buf undefined_input(void)
{
    qdq_buf graph = sound_graph();

    put_node(&graph, "Relu", "conv1", "nobody", "z");
    return graph_model(&graph);
}

static qdq_buf undefined_output(void)
{
    qdq_buf graph = sound_graph();

    pb_value(&graph, 12, "nobody", 2, dims);
    return graph_model(&graph);
}

static qdq_buf two_producers(void)
{
    qdq_buf graph = sound_graph();

    put_node(&graph, "Relu", "", "x", "y");
    return graph_model(&graph);
}

static qdq_buf one_node_twice_the_same_output(void)
{
    qdq_buf graph = sound_graph(), node = pb_node("Split", "s", "x", NULL, "a");

    pb_text(&node, 2, "a");
    pb_message(&graph, 1, &node);
    return graph_model(&graph);
}

static qdq_buf producer_of_an_input(void)
{
    qdq_buf graph = sound_graph();

    put_node(&graph, "Relu", "again", "y", "x");
    return graph_model(&graph);
}

static qdq_buf two_inputs(void)
{
    qdq_buf graph = sound_graph();

    pb_value(&graph, 11, "x", 2, dims);
    return graph_model(&graph);
}

static qdq_buf nameless_input(void)
{
    qdq_buf graph = sound_graph();

    pb_value(&graph, 11, "", 2, dims);
    return graph_model(&graph);
}

static qdq_buf nameless_operator(void)
{
    qdq_buf graph = sound_graph();

    put_node(&graph, "", "n", "x", "z");
    return graph_model(&graph);
}

static qdq_buf two_initializers(void)
{
    qdq_buf graph = sound_graph(), t = tensor(0, NULL);

    pb_bytes(&t, 9, "abcd", 4);
    pb_message(&graph, 5, &t);
    t = tensor(0, NULL);
    pb_bytes(&t, 9, "abcd", 4);
    pb_message(&graph, 5, &t);
    return graph_model(&graph);
}

static qdq_buf initializer_and_producer(void)
{
    qdq_buf graph = sound_graph(), t = tensor(0, NULL);

    pb_bytes(&t, 9, "abcd", 4);
    pb_message(&graph, 5, &t);
    put_node(&graph, "Relu", "n", "x", "w");
    return graph_model(&graph);
}

/* An attribute of the given type without value. */
static qdq_buf valueless_attribute(int type)
{
    qdq_buf graph = sound_graph(), node = pb_node("Custom", "n", "x", NULL, "z"), attr = PB_NEW;

    pb_text(&attr, 1, "a");
    pb_int(&attr, 20, type);
    pb_message(&node, 5, &attr);
    pb_message(&graph, 1, &node);
    return graph_model(&graph);
}

static qdq_buf tensor_attribute_without_tensor(void)
{
    return valueless_attribute(QDQ_ATTR_TENSOR);
}

static qdq_buf graph_attribute_without_graph(void)
{
    return valueless_attribute(QDQ_ATTR_GRAPH);
}

/* A node with a subgraph whose one node reads `in` and writes `out`. */
static qdq_buf nested(const char *in, const char *out, const char *listed)
{
    qdq_buf graph = sound_graph(), node = pb_node("Custom", "if", "x", NULL, "z"), attr = PB_NEW,
            inner = PB_NEW;

    put_node(&inner, "Relu", "inner", in, out);
    pb_text(&inner, 2, "body");
    pb_value(&inner, 12, listed, 2, dims);
    pb_text(&attr, 1, "then_branch");
    pb_message(&attr, 6, &inner);
    pb_int(&attr, 20, QDQ_ATTR_GRAPH);
    pb_message(&node, 5, &attr);
    pb_message(&graph, 1, &node);
    return graph_model(&graph);
}

static qdq_buf subgraph_reads_nobody(void)
{
    return nested("nobody", "t", "t");
}

static qdq_buf subgraph_shadows(void)
{
    return nested("x", "y", "y");
}

static qdq_buf subgraph_returns_outer_value(void)
{
    return nested("x", "t", "x");
}

static qdq_buf graphs_in_graphs(int depth)
{
    qdq_buf graph = PB_NEW;

    pb_text(&graph, 2, "deepest");
    for (int i = 0; i < depth; i++) {
        qdq_buf node = PB_NEW, attr = PB_NEW, outer = PB_NEW;
        pb_text(&node, 4, "Custom");
        pb_text(&attr, 1, "body");
        pb_message(&attr, 6, &graph);
        pb_int(&attr, 20, QDQ_ATTR_GRAPH);
        pb_message(&node, 5, &attr);
        pb_message(&outer, 1, &node);
        graph = outer;
    }
    return graph_model(&graph);
}

static qdq_buf graph_bomb(void)
{
    return graphs_in_graphs(2000);
}

static qdq_buf graph_bomb_by_one(void)
{
    return graphs_in_graphs(QDQ_MAX_NESTING);
}

static qdq_buf type_bomb(void)
{
    qdq_buf type = PB_NEW, graph = sound_graph(), info = PB_NEW;

    for (int i = 0; i < 5000; i++) {
        qdq_buf sequence = PB_NEW, outer = PB_NEW;
        pb_message(&sequence, 1, &type);
        pb_message(&outer, 4, &sequence);
        type = outer;
    }
    pb_text(&info, 1, "s");
    pb_message(&info, 2, &type);
    pb_message(&graph, 11, &info);
    return graph_model(&graph);
}

static qdq_buf function_model(const char *out, bool twice)
{
    qdq_buf graph = sound_graph(), b = pb_model(&graph);

    for (int i = 0; i < (twice ? 2 : 1); i++) {
        qdq_buf function = PB_NEW, node = pb_node("Relu", "n", "a", NULL, "b");
        pb_text(&function, 1, "f");
        pb_text(&function, 4, "a");
        pb_text(&function, 5, out);
        pb_message(&function, 7, &node);
        pb_text(&function, 10, "local");
        pb_message(&b, 25, &function);
    }
    return b;
}

static qdq_buf two_functions(void)
{
    return function_model("b", true);
}

static qdq_buf function_without_its_output(void)
{
    return function_model("nobody", false);
}

typedef struct broken_case {
    const char *name;
    qdq_buf (*make)(void);
    const char *message;
    /* QDQ_OK stands for QDQ_E_FORMAT */
    qdq_status status;
} broken_case;

static const broken_case cases[] = {
    {"no graph", no_graph, "m.onnx: no graph, expected an ONNX model", 0},
    {"no IR version", no_ir_version, "ir_version is 0, expected 1 or more", 0},
    {"text", text_file, "m.onnx: not an ONNX model: ModelProto at byte ", 0},
    {"two graphs", two_graphs, "field 7 (graph): comes twice, expected once", 0},
    {"graph as number", graph_as_number,
     "ModelProto at byte 2: field 7 (graph): wire type 0 does not fit", 0},
    {"group", group_field, "field 7 (graph): unknown wire type 3", 0},
    {"field 0", field_zero, "ModelProto at byte 2: bad field tag", 0},
    {"long varint", long_varint, "field 1 (ir_version): bad varint", 0},
    {"overflowing varint", overflowing_varint, "field 1 (ir_version): bad varint", 0},
    {"long length", length_beyond_the_end,
     "field 7 (graph): truncated: 1000 bytes announced, 5 are left", 0},
    {"huge length", length_of_2_to_the_63,
     "truncated: 9223372036854775808 bytes announced, 0 are left", 0},
    {"two opset versions", two_opset_versions,
     "domain '' is imported in versions 17 and 13, expected one", 0},
    {"NUL in name", nul_in_name, "a NUL byte in graph name 'a', expected text", 0},
    {"undefined input", undefined_input,
     "m.onnx: graph 'g': node 1 ('conv1'): input 0 'nobody' is not defined, expected the name of",
     0},
    {"undefined output", undefined_output,
     "graph 'g': output 'nobody' is not defined in this graph", 0},
    {"two producers", two_producers, "graph 'g': node 1 (Relu): output 'y' is already defined", 0},
    {"output listed twice", one_node_twice_the_same_output,
     "node 1 ('s'): output 'a' is already defined", 0},
    {"producer of an input", producer_of_an_input,
     "node 1 ('again'): output 'x' is already defined", 0},
    {"two inputs", two_inputs, "graph 'g': input 'x' is already defined", 0},
    {"nameless input", nameless_input, "graph 'g': a value without name", 0},
    {"nameless operator", nameless_operator, "node 1 ('n'): no operator type", 0},
    {"two initializers", two_initializers,
     "initializer 'w' is already defined, expected a name of its own", 0},
    {"initializer and producer", initializer_and_producer,
     "node 1 ('n'): output 'w' is already defined", 0},
    {"nameless initializer", nameless_initializer, "an initializer without name", 0},
    {"negative dim", negative_dim, "tensor 'w': dimension 1 is negative (-7)", 0},
    {"overflowing dims", overflowing_dims, "tensor 'w': the product of the dimensions overflows",
     0},
    {"overflowing bytes", overflowing_bytes, "elements of type float overflow the address space",
     0},
    {"many dims", too_many_dims, "13 dimensions, at most 12 are supported", QDQ_E_UNSUPPORTED},
    {"short raw data", short_raw_data, "8 bytes of raw data, 3 elements of type float need 12", 0},
    {"no data", no_data, "tensor 'w': 0 values of type float, the shape needs 3", 0},
    {"few values", few_values, "tensor 'w': 2 values of type float, the shape needs 3", 0},
    {"odd floats", odd_packed_floats,
     "(float_data): 5 bytes of packed numbers, expected a multiple of 4", 0},
    {"wrong field", wrong_typed_field, "data in a field that does not fit element type float", 0},
    {"two encodings", two_encodings, "both raw data and typed data, expected one", 0},
    {"truncated list", truncated_packed_varint, "the last varint of a packed list is truncated", 0},
    {"raw strings", raw_strings, "strings as raw data, expected string_data", 0},
    {"no element type", no_element_type, "element type 0, expected 1 to 26", 0},
    {"future element type", future_element_type, "element type 99 is not known", QDQ_E_UNSUPPORTED},
    {"segments", segmented, "tensor 'w': a tensor in segments", QDQ_E_UNSUPPORTED},
    {"data location", data_location, "data location 7, expected 0 or 1", 0},
    {"external and inline", external_and_inline, "both external data and data in the file", 0},
    {"no tensor", tensor_attribute_without_tensor,
     "node 1 ('n'): attribute 'a': no value, expected one", 0},
    {"no subgraph", graph_attribute_without_graph, "attribute 'a': no value, expected one", 0},
    {"subgraph reads nobody", subgraph_reads_nobody,
     "node 1 ('if'): attribute 'then_branch': graph 'body': node 0 ('inner'): input 0 'nobody' is "
     "not "
     "defined",
     0},
    {"subgraph shadows", subgraph_shadows,
     "graph 'body': node 0 ('inner'): output 'y' is already defined", 0},
    {"subgraph returns outer value", subgraph_returns_outer_value,
     "graph 'body': output 'x' is not defined in this graph", 0},
    {"graph bomb", graph_bomb, "graphs nest deeper than 64", 0},
    {"graph bomb by one", graph_bomb_by_one, "graphs nest deeper than 64", 0},
    {"type bomb", type_bomb, "value 's': types nest deeper than 64", 0},
    {"two functions", two_functions, "function 'f' of domain 'local' is defined twice", 0},
    {"function without output", function_without_its_output,
     "function 'f': output 'nobody' is not defined in this function", 0},
};

TEST(each_mistake_is_named_with_its_place)
{
    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        const broken_case *c = &cases[i];
        qdq_buf b = c->make();
        qdq_model *m = (qdq_model *)&b;
        qdq_status want = c->status == QDQ_OK ? QDQ_E_FORMAT : c->status;
        qdq_status st = qdq_model_load_bytes(b.data, b.size, "m.onnx", NULL, &m, &err);

        if (st != want || strstr(err.text, c->message) == NULL)
            fail_msg("%s: %s: '%s', expected '%s'", c->name, qdq_status_name(st), err.text,
                     c->message);
        assert_null(m);
        assert_null(strchr(err.text, '\n'));
        qdq_buf_free(&b);
    }
}

TEST(nesting_up_to_the_limit_is_read_and_written)
{
    qdq_buf b = graphs_in_graphs(QDQ_MAX_NESTING - 1);
    qdq_model *m = load(&b);
    qdq_buf out = PB_NEW;

    assert_int_equal(m->graphs.n, QDQ_MAX_NESTING);
    qdq_model_free(m);
    qdq_buf_free(&out);
    qdq_buf_free(&b);
}

TEST(cycle_is_read_and_then_refused)
{
    qdq_buf graph = PB_NEW, a = pb_node("Add", "a", "x", "u", "t"),
            b = pb_node("Relu", "b", "t", NULL, "u"), bytes;
    qdq_model *m;
    void *data;
    size_t size;

    pb_message(&graph, 1, &a);
    pb_message(&graph, 1, &b);
    pb_value(&graph, 11, "x", 2, dims);
    pb_value(&graph, 12, "u", 2, dims);
    bytes = pb_model(&graph);
    m = load(&bytes);
    assert_fails(QDQ_E_FORMAT, "cycle", qdq_model_to_bytes(m, NULL, &data, &size, &err));
    assert_fails(QDQ_E_FORMAT, "cycle", qdq_model_save(m, test_path("cycle.onnx"), NULL, &err));
    assert_int_not_equal(access(test_path("cycle.onnx"), F_OK), 0);
    qdq_model_free(m);
    qdq_buf_free(&bytes);
}

TEST(size_limit_and_empty_files_are_named)
{
    qdq_load_opts opts = QDQ_LOAD_OPTS_INIT;
    qdq_buf graph = sound_graph(), b = pb_model(&graph);
    qdq_model *m = NULL;

    opts.max_bytes = 10;
    assert_fails(QDQ_E_UNSUPPORTED, "bytes, at most 10 are allowed",
                 qdq_model_load_bytes(b.data, b.size, "m.onnx", &opts, &m, &err));
    assert_fails(QDQ_E_FORMAT, "m.onnx: the file is empty",
                 qdq_model_load_bytes("", 0, "m.onnx", NULL, &m, &err));
    assert_fails(QDQ_E_IO, "nothing.onnx",
                 qdq_model_load(test_path("nothing.onnx"), NULL, &m, &err));
    assert_fails(QDQ_E_IO, test_dir(), qdq_model_load(test_dir(), NULL, &m, &err));
    qdq_buf_free(&b);
}
