/* ir_text.c - the text form: what it looks like, what it accepts, what it refuses. */
#include "support/test.h"

#include "base/buf.h"
#include "base/file.h"
#include "ir/edit.h"
#include "ir/graph_check.h"
#include "ir/text.h"

static char *print_with(const qdq_model *m, int64_t max, bool types)
{
    qdq_text_opts opts = {max, types};
    qdq_buf out = QDQ_BUF_INIT(QDQ_BUF_NO_LIMIT);
    qdq_error err = QDQ_ERROR_INIT;

    assert_ok(qdq_text_print(m, &opts, &out, &err));
    return qdq_buf_take(&out);
}

static void assert_round_trip(const char *text)
{
    qdq_model *m = test_model(text);
    char *first = print_with(m, -1, false);
    qdq_model *again = test_model(first);
    char *second = print_with(again, -1, false);

    assert_string_equal(first, second);
    qdq_free(first);
    qdq_free(second);
    qdq_model_free(m);
    qdq_model_free(again);
}

/* The text is printed exactly as it was read. */
static void assert_same(const char *text)
{
    qdq_model *m = test_model(text);

    test_assert_text(m, text);
    qdq_model_free(m);
    assert_round_trip(text);
}

static void assert_refused(const char *text, const char *part)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = NULL;

    assert_fails(QDQ_E_FORMAT, part, qdq_model_from_text(text, "t", &m, &err));
    assert_null(m);
}

TEST(a_short_graph_is_printed_as_it_was_written)
{
    assert_same("graph (float[1,4] x) => (float[1,4] y) {\n"
                "  y = Relu(x)\n"
                "}\n");
}

TEST(without_a_header_ir_9_and_opset_17_hold)
{
    qdq_model *m = test_model("g (float x) => (float y) { y = com.microsoft.Gelu(x) }");
    char *text = print_with(m, 0, false);

    assert_int_equal(m->ir_version, 9);
    assert_int_equal(qdq_model_opset_of(m, ""), 17);
    assert_int_equal(qdq_model_opset_of(m, "com.microsoft"), 1);
    assert_string_equal(text, "<ir_version: 9, opset_import: [\"\" : 17, \"com.microsoft\" : 1]>\n"
                              "g (float x) => (float y) {\n"
                              "  y = com.microsoft.Gelu(x)\n"
                              "}\n");
    qdq_free(text);
    qdq_model_free(m);
}

TEST(the_whole_header_survives)
{
    const char *text =
        "<ir_version: 7, opset_import: [\"\" : 10, \"a.b\" : 2], producer_name: \"py \\\"x\\\"\", "
        "producer_version: \"1.0\", metadata_props: [\"k\" : \"v\\n\", \"k2\" : \"\"]>\n"
        "agraph (float[N,128] X) => (float[N] Y) {\n"
        "  Y = Foo(X)\n"
        "}\n";
    qdq_model *m = test_model(text);
    char *again = print_with(m, 0, false);

    assert_string_equal(again, text);
    assert_string_equal(m->producer_name, "py \"x\"");
    assert_string_equal(m->props.at[0].value, "v\n");
    qdq_free(again);
    qdq_model_free(m);
}

TEST(other_header_fields_are_kept_as_wire_bytes)
{
    qdq_model *m =
        test_model("<domain: \"d\", model_version: 300, doc_string: \"hi\"> g () => () {}");

    assert_int_equal(m->rest.size, 3 + 3 + 4);
    assert_memory_equal(m->rest.data,
                        "\x22\x01"
                        "d\x28\xac\x02\x32\x02hi",
                        10);
    qdq_model_free(m);
}

TEST(initializers_stand_behind_the_outputs)
{
    assert_same("graph (float[1,2] x, float[2] b = {1, -2.5}) => (float[1,2] y) <\n"
                "  float[2] w = {0.1, 1e+30},\n"
                "  int64[2] s = {-9223372036854775808, 9223372036854775807},\n"
                "  float scale = {0.05},\n"
                "  string[2] names = {\"a\\\"b\", \"\"},\n"
                "  bool[2] flags = {1, 0},\n"
                "  float[0] none = {}\n"
                "> {\n"
                "  y = Foo(x, w, s, scale, names, flags, none, b)\n"
                "}\n");
}

TEST(every_element_type_round_trips)
{
    assert_same("graph () => () <\n"
                "  uint8[2] a = {0, 255},\n"
                "  int8[2] b = {-128, 127},\n"
                "  uint16[2] c = {0, 65535},\n"
                "  int16[2] d = {-32768, 32767},\n"
                "  int32[2] e = {-2147483648, 2147483647},\n"
                "  uint32[2] f = {0, 4294967295},\n"
                "  uint64[2] g = {0, 18446744073709551615},\n"
                "  double[3] h = {0.1, inf, nan},\n"
                "  float16[4] i = {0.1, -2.0, 65504.0, -inf},\n"
                "  bfloat16[2] j = {0.1, nan},\n"
                "  float8e4m3fn[3] k = {448.0, -0.002, nan},\n"
                "  float8e4m3fnuz[2] l = {240.0, nan},\n"
                "  float8e5m2[2] m = {57344.0, -inf},\n"
                "  float8e5m2fnuz[2] n = {-57344.0, nan},\n"
                "  uint4[3] o = {0, 15, 7},\n"
                "  int4[3] p = {-8, 7, -1},\n"
                "  float4e2m1[3] q = {6.0, -0.5, 1.5},\n"
                "  float8e8m0[3] r = {1.0, 0.25, nan},\n"
                "  uint2[5] s = {0, 1, 2, 3, 1},\n"
                "  int2[4] t = {-2, -1, 0, 1},\n"
                "  complex64[2] u = {1, 2, 3, 4},\n"
                "  complex128[1] v = {0.5, -0}\n"
                "> {\n"
                "}\n");
}

TEST(plain_integers_are_the_bits_of_narrow_floats)
{
    qdq_model *m =
        test_model("g () => () <float16[2] h = {15360, 16384}, float8e4m3fn[1] f = {56}> {}");

    test_assert_text(
        m, "g () => () <\n  float16[2] h = {1.0, 2.0},\n  float8e4m3fn[1] f = {1.0}\n> {\n}\n");
    qdq_model_free(m);
}

TEST(attributes_of_all_kinds_round_trip)
{
    assert_same(
        "graph (float x) => (float y) {\n"
        "  y = Op <i = 1, n = -7, f = 1.0, g = 0.1, s = \"a\\\\b\", e = \"\", is = [1, 2], fs = "
        "[1.0, 2.5], "
        "ss = [\"a\", \"b\"], t = float[2] {1, 2}, named = int64 n {3}, ts = [float {1}, int8[1] "
        "{2}], "
        "ty: type_proto = seq(float[N,?]), tys: type_protos = [float, int64[]], none: ints = [], "
        "infs: float = -inf, nans: floats = [nan, 1.0], nothing: graphs = []> (x)\n"
        "}\n");
}

TEST(sparse_tensors_round_trip)
{
    assert_same("graph () => () <\n"
                "  sparse_tensor(float[3,4]) s = {float[2] {1, 2}, int64[2] {0, 5}}\n"
                "> {\n"
                "  = Op <a: sparse_tensor = sparse_tensor(float[3]) {float[1] {1}, int64[1] {2}}, "
                "l: sparse_tensors = [sparse_tensor(int8[3]) {int8[1] {1}, int64[1] {2}}]> ()\n"
                "}\n");
}

TEST(node_names_and_left_out_operands_are_kept)
{
    assert_same("graph (float x) => (float y) {\n"
                "  [conv1] y, \"\" = Op(x, \"\", x)\n"
                "  [\"/layer1/conv\"] a, \"\", b = Op(\"\", y)\n"
                "  = Sink(a)\n"
                "}\n");
}

TEST(names_are_quoted_where_they_must_be)
{
    assert_same("\"main graph\" (float[\"batch size\",N] \"onnx::x.1\", \"float\") => (\"1\") {\n"
                "  \"1\" = Op(\"onnx::x.1\", \"float\", \"\xc3\xa4\")\n"
                "  \"a\\x01\\xff\" = \"my domain\"::\"Op.x\"(\"1\")\n"
                "}\n");
}

TEST(types_of_all_kinds_round_trip)
{
    assert_same(
        "graph (float[] r, float s, float[?,N,3] t, seq(float[2]) q, optional(seq(string)) o, "
        "map(int64, float[2]) m, sparse_tensor(float[3,4]) p, u) => (float[1] y) {\n"
        "  y = Op(r)\n"
        "}\n");
}

TEST(subgraphs_capture_values_and_keep_their_layout)
{
    const char *text = "graph (bool c, float[1] x) => (float[1] y) {\n"
                       "  t = Relu(x)\n"
                       "  y = If <then_branch = then_g () => (float[1] a) <\n"
                       "    float[1] w = {2}\n"
                       "  > {\n"
                       "    a = Mul(t, w)\n"
                       "  }, else_branch = else_g () => (float[1] b) {\n"
                       "    b = Neg(t)\n"
                       "  }> (c)\n"
                       "}\n";
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model(text);

    assert_ok(qdq_model_verify(m, &err));
    assert_int_equal(qdq_graph_find(m->graph, "t")->n_use, 2);
    assert_same(text);
    qdq_model_free(m);
}

TEST(functions_follow_the_graph)
{
    const char *text = "<ir_version: 10, opset_import: [\"\" : 21, \"my\" : 1]>\n"
                       "graph (float x) => (float y) {\n"
                       "  y = my.fn:v1 <alpha = 1> (x)\n"
                       "}\n"
                       "\n"
                       "<domain: \"my\", opset_import: [\"\" : 17], overload: \"v1\">\n"
                       "fn <alpha, beta = 1.0> (x) => (z) {\n"
                       "  z = Foo <axis: int = @alpha> (x)\n"
                       "}\n";
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model(text);
    char *again = print_with(m, 0, false);

    assert_string_equal(text, again);
    assert_ok(qdq_model_verify(m, &err));
    qdq_free(again);
    qdq_model_free(m);
}

TEST(what_onnx_prints_is_read)
{
    qdq_model *m =
        test_model("<\n"
                   "   ir_version: 10,\n"
                   "   opset_import: [\"\" : 21, \"com.microsoft\" : 1]\n"
                   ">\n"
                   "g (float[N] X) => ( Y) \n"
                   "   <float[2] w =  {1,2.5}, float q> # a comment\n"
                   "{\n"
                   "   [nn] q = com.microsoft.Gelu <axis: int = 1, fs: floats = [1, 2]> (X)\n"
                   "   Y = Add (q, w) <x = 1>\n"
                   "}\n");

    test_assert_text(m, "g (float[N] X) => (Y) <\n"
                        "  float[2] w = {1, 2.5}\n"
                        "> {\n"
                        "  [nn] q = com.microsoft.Gelu <axis = 1, fs = [1.0, 2.0]> (X)\n"
                        "  Y = Add <x = 1> (q, w)\n"
                        "}\n");
    qdq_model_free(m);
}

TEST(large_tensors_are_left_out_and_then_refused)
{
    qdq_model *m = test_model("g () => () <float[3] w = {1, 2, 3}> {}");
    char *text = print_with(m, 2, false);

    assert_non_null(strstr(text, "float[3] w = ...\n"));
    assert_refused(text, "found '...', expected the data of tensor 'w', which was left out");
    qdq_free(text);
    qdq_model_free(m);
}

TEST(types_of_intermediate_values_are_comments)
{
    qdq_model *m =
        test_model("g (float[2] x) => (float[2] y) <float[2] t> { t = Relu(x) y = Neg(t) }");
    char *text = print_with(m, 0, true);

    assert_non_null(strstr(text, "  t = Relu(x)  # float[2] t\n"));
    qdq_model_free(test_model(text));
    qdq_free(text);
    qdq_model_free(m);
}

TEST(values_may_be_used_before_they_are_defined)
{
    qdq_model *m = test_model("g (float x) => (float y) { y = Neg(t) t = Relu(x) }");
    qdq_error err = QDQ_ERROR_INIT;

    assert_non_null(qdq_graph_find(m->graph, "t")->producer);
    assert_ok(qdq_model_verify(m, &err));
    qdq_model_free(m);
}

TEST(mistakes_are_reported_with_line_and_column)
{
    assert_refused("", "t:1:1: found the end, expected a name");
    assert_refused("g (float x) => (float y) {\n  y = Relu x)\n}",
                   "t:2:12: found 'x', expected '('");
    assert_refused("g (float x) => (float y) {\n  y = Relu(x)\n",
                   "t:3:1: found the end, expected a node or '}'");
    assert_refused("g (float x) -> (float y) {}", "found '-', expected '='");
    assert_refused("g (float x) = (float y) {}", "expected '=>'");
    assert_refused("g (float[a b] x) => () {}", "t:1:12: found 'b', expected ']'");
    assert_refused("g (float[-1] x) => () {}", "not an integer from 0 up");
    assert_refused("g (float x, float x) => () {}", "t:1:13: found a second listing of input 'x'");
    assert_refused("g (float x) => () { y = Relu(x) y = Neg(x) }",
                   "t:1:33: found a second definition of 'y'");
    assert_refused("g (float x) => () { x = Relu(x) }", "second definition of 'x'");
    assert_refused("g () => () <float x = {1}, float x = {2}> {}", "second definition of 'x'");
    assert_refused("g () => () <x = {1}> {}", "initializer 'x' has no type");
    assert_refused("g () => () <float[] x = {1}> {}", "no rank");
    assert_refused("g () => () <float[N] x = {1}> {}", "dimension 0 is not a number");
    assert_refused("g () => () <float[2] x = {1}> {}",
                   "found fewer values than its type has, expected 2");
    assert_refused("g () => () <float[2] x = {1, 2, 3}> {}",
                   "found more values than its type has, expected 2");
    assert_refused("g () => () <uint8[1] x = {256}> {}",
                   "t:1:27: tensor 'x': the value 256 is not one of uint8");
    assert_refused("g () => () <int4[1] x = {8}> {}", "the value 8 is not one of int4");
    assert_refused("g () => () <int8[1] x = {1.5}> {}", "the value 1.5 is not one of int8");
    assert_refused("g () => () <float8e4m3fn[1] x = {500.0}> {}", "not one of float8e4m3fn");
    assert_refused("g () => () <seq(float) x = {1}> {}", "no tensor type");
    assert_refused("g () => () { = Op <a = []> () }", "an empty list needs a type");
    assert_refused("g () => () { = Op <a = @b> () }", "a reference needs a type");
    assert_refused("g () => () { = Op <a: int = 1.5> () }",
                   "found a value of type float, expected int");
    assert_refused("g () => () { = Op <a = [1, \"x\"]> () }",
                   "found a value of type string, expected int");
    assert_refused("g () => () { = Op <a: int = [1]> () }", "found a list, expected one int");
    assert_refused("g () => () { = Op <a: what = [1]> () }",
                   "found 'what', expected an attribute type");
    assert_refused("g () => () { = Op <a = 99999999999999999999> () }", "out of range");
    assert_refused("g () => () { = Op <a = \"x> () }", "string without an end");
    assert_refused("g () => () { = Op <a = \"\\xg0\"> () }", "hexadecimal");
    assert_refused("g () => () { = Op <a = 1e> () }", "exponent");
    assert_refused("g () => () { = a. Op() }", "t:1:19: found a space behind the domain 'a'");
    assert_refused("g () => () { x = \"a\\x00b\"::\"c\"() }", "zero byte");
    assert_refused("<ir_version: x> g () => () {}", "found 'x', expected a number");
    assert_refused("<color: 1> g () => () {}", "found the key 'color'");
    assert_refused("g () => () {} <color: 1> f () => () {}", "found the key 'color'");
    assert_refused("g () => () {} junk", "expected '('");
    assert_refused("\x01", "found byte 0x01, expected a name");
}

TEST(sizes_beyond_the_text_ask_for_no_memory)
{
    assert_refused("g () => () <float[1000000000000] x = {1}> {}",
                   "found less text than 1000000000000 elements");
    assert_refused("g () => () <float[9999999999,9999999999] x = {1}> {}",
                   "more elements than can be counted");
}

TEST(nesting_is_bounded)
{
    enum { LEVELS = 5000 };
    static const char open[] = "g () => () { = If <a = ", type[] = "optional(";
    char *text = malloc(LEVELS * sizeof open + 100);

    assert_non_null(text);
    text[0] = '\0';
    char *p = text;
    for (int i = 0; i < LEVELS; i++, p += sizeof open - 1)
        memcpy(p, open, sizeof open);
    assert_refused(text, "graphs are nested deeper than 64");
    p = text + snprintf(text, 100, "g (");
    for (int i = 0; i < LEVELS; i++, p += sizeof type - 1)
        memcpy(p, type, sizeof type);
    assert_refused(text, "types are nested deeper than 64");
    free(text);
}

/* Blocks of docs/text.md that are indented by four spaces are whole models. */
TEST(the_examples_of_the_documentation_are_read_and_printed_again)
{
    qdq_error err = QDQ_ERROR_INIT;
    char *doc = NULL, block[4000], *line, *next;
    size_t size, used = 0, n_block = 0;

    assert_ok(qdq_read_file(QDQ_SOURCE_DIR "/docs/text.md", 1 << 20, &doc, &size, &err));
    for (line = doc; line != NULL; line = next) {
        next = strchr(line, '\n');
        if (next != NULL)
            *next++ = '\0';
        if (strncmp(line, "    ", 4) == 0) {
            used += (size_t)snprintf(block + used, sizeof block - used, "%s\n", line + 4);
            assert_true(used < sizeof block);
        } else if (used > 0) {
            assert_same(block);
            used = 0;
            n_block++;
        }
    }
    assert_int_equal(n_block, 2);
    qdq_free(doc);
}

/* Every prefix, and every byte replaced by a few others: an error or a model, never a crash. */
TEST(damaged_text_is_an_error_or_a_model)
{
    static const char text[] =
        "<ir_version: 8, opset_import: [\"\" : 17], metadata_props: [\"k\" : \"v\\n\"]>\n"
        "g (float[N,2] x, int8[2] b = {1, -2}) => (float y) <\n  float[2] w = {1e3, inf}\n> {\n"
        "  [n] y, \"\" = a.b.Op:o <i = -1, l = [1.5, 2], t = float16[1] {1.5}, g = s () => (z) {\n"
        "    z = Neg(x)\n  }, ty: type_proto = map(int64, seq(float))> (x, \"\", w)\n}\n"
        "<domain: \"d\">\nf <a, q = 1> (x) => (y) { y = Op <z: ints = @a> (x) }\n";
    static const char bytes[] = {'\0', '"', '{', '}',  '<', '(',   '[',
                                 ',',  '9', '.', '\\', 'z', '\xff'};
    char copy[sizeof text];

    for (size_t i = 0; i < sizeof text - 1; i++) {
        qdq_model *m = NULL;

        if (qdq_text_parse(text, i, "t", &m, NULL) == QDQ_OK)
            qdq_model_free(m);
        for (size_t k = 0; k < sizeof bytes; k++) {
            memcpy(copy, text, sizeof text);
            copy[i] = bytes[k];
            m = NULL;
            if (qdq_text_parse(copy, sizeof text - 1, "t", &m, NULL) != QDQ_OK)
                continue;
            qdq_free(print_with(m, -1, true));
            (void)qdq_model_verify(m, NULL);
            qdq_model_free(m);
        }
    }
}
