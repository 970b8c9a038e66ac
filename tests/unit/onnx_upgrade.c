/* Raising the opset as a whole: what is refused, what stays as it was, versions, subgraphs,
 * functions. */
#include "support/test.h"

#include "ir/edit.h"
#include "ir/graph_check.h"
#include "ir/ir.h"

#define HEADER(ir, opset) "<ir_version: " #ir ", opset_import: [\"\" : " #opset "]>\n"

static qdq_model *raised(const char *text, int opset)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model(text);

    assert_ok(qdq_model_set_opset(m, opset, &err));
    assert_int_equal(qdq_model_opset_of(m, ""), opset);
    assert_ok(qdq_model_verify(m, &err));
    return m;
}

TEST(the_same_opset_changes_nothing)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model(HEADER(3, 13) "g (float[2] x) => (float[2] y) { y = Relu(x) }");

    assert_ok(qdq_model_set_opset(m, 13, &err));
    assert_int_equal(m->ir_version, 3);
    qdq_model_free(m);
}

TEST(operators_of_other_domains_are_left_alone)
{
    qdq_model *m = raised("<ir_version: 4, opset_import: [\"\" : 9, \"acme\" : 1]>\n"
                          "g (float[2] x) => (float[2] y) { y = acme.Clip <max = 6.0> (x) }",
                          13);

    test_assert_text(m, "g (float[2] x) => (float[2] y) {\n"
                        "  y = acme.Clip <max = 6.0> (x)\n"
                        "}\n");
    assert_int_equal(qdq_model_opset_of(m, "acme"), 1);
    qdq_model_free(m);
}

TEST(a_model_without_the_default_domain_gets_it)
{
    qdq_model *m = raised("<ir_version: 8, opset_import: [\"acme\" : 1]>\n"
                          "g (float[2] x) => (float[2] y) { y = acme.Foo(x) }",
                          13);

    qdq_model_free(m);
}

TEST(the_ir_version_rises_to_what_the_opset_needs)
{
    static const struct {
        int opset, ir;
    } want[] = {{7, 3},  {8, 3},  {9, 4},  {10, 5}, {11, 6}, {12, 7}, {13, 7},  {14, 7},
                {15, 8}, {16, 8}, {17, 8}, {18, 8}, {19, 9}, {20, 9}, {21, 10}, {22, 10}};

    for (size_t i = 1; i < QDQ_COUNT(want); i++) {
        qdq_model *m =
            raised(HEADER(3, 7) "g (float[2] x) => (float[2] y) { y = Relu(x) }", want[i].opset);

        assert_int_equal(m->ir_version, want[i].ir);
        qdq_model_free(m);
    }
}

TEST(a_higher_ir_version_stays)
{
    qdq_model *m = raised(HEADER(9, 11) "g (float[2] x) => (float[2] y) { y = Relu(x) }", 13);

    assert_int_equal(m->ir_version, 9);
    qdq_model_free(m);
}

TEST(initializers_leave_the_inputs_when_ir_three_is_left)
{
    qdq_model *m = raised(
        HEADER(3, 8) "g (float[2] x, float[2] w = {1, 2}) => (float[2] y) { y = Add(x, w) }", 9);

    assert_int_equal(m->graph->inputs.n, 1);
    test_assert_text(m, "g (float[2] x) => (float[2] y) <\n"
                        "  float[2] w = {1, 2}\n"
                        "> {\n"
                        "  y = Add(x, w)\n"
                        "}\n");
    qdq_model_free(m);
}

TEST(initializers_stay_inputs_below_ir_four)
{
    qdq_model *m = raised(
        HEADER(3, 7) "g (float[2] x, float[2] w = {1, 2}) => (float[2] y) { y = Add(x, w) }", 8);

    assert_int_equal(m->ir_version, 3);
    assert_int_equal(m->graph->inputs.n, 2);
    qdq_model_free(m);
}

TEST(replaceable_initializers_of_ir_four_stay_inputs)
{
    qdq_model *m = raised(
        HEADER(4, 9) "g (float[2] x, float[2] w = {1, 2}) => (float[2] y) { y = Add(x, w) }", 21);

    assert_int_equal(m->graph->inputs.n, 2);
    qdq_model_free(m);
}

TEST(subgraphs_are_converted_with_their_own_constants)
{
    qdq_model *m = raised(
        HEADER(6, 11) "g (bool c, float[1,2] x) => (float[2] y) {\n"
                      "  y = If (c) <\n"
                      "    then_branch = a () => (float[2] p) { p = Squeeze <axes = [0]> (x) },\n"
                      "    else_branch = b () => (float[2] q) { q = ReduceSum <axes = [0], "
                      "keepdims = 0> (x) }>\n"
                      "}",
        13);
    const qdq_node *node = m->graph->end.next;

    assert_int_equal(m->graph->inits.n, 0);
    for (uint32_t i = 0; i < 2; i++) {
        const qdq_graph *g = node->attr[i]->v.g;
        const qdq_node *n = g->end.next;

        assert_int_equal(g->inits.n, 1);
        assert_int_equal(n->n_in, 2);
        assert_ptr_equal(n->in[1].value, g->inits.at[0]);
        assert_null(qdq_node_attr(n, "axes"));
    }
    qdq_model_free(m);
}

/* ONNX Runtime reads a function's body with the model's opset, whatever the function imports;
 * ONNX's own checker refuses a difference that matters. So bodies are raised along. */
TEST(function_bodies_are_raised_along_with_constant_nodes)
{
    qdq_model *m = raised("<ir_version: 8, opset_import: [\"\" : 11, \"acme\" : 1]>\n"
                          "g (float[1,2] x) => (float[2] y) { y = acme.Flat(x) }\n"
                          "<domain: \"acme\", opset_import: [\"\" : 11]>\n"
                          "Flat (x) => (y) { y = Squeeze <axes = [0]> (x) }",
                          13);

    test_assert_text(m, "g (float[1,2] x) => (float[2] y) {\n"
                        "  y = acme.Flat(x)\n"
                        "}\n"
                        "\n"
                        "<domain: \"acme\", opset_import: [\"\" : 13]>\n"
                        "Flat (x) => (y) {\n"
                        "  y_axes = Constant <value = int64[1] {0}> ()\n"
                        "  y = Squeeze(x, y_axes)\n"
                        "}\n");
    qdq_model_free(m);
}

TEST(a_function_that_is_further_on_stays)
{
    qdq_model *m = raised("<ir_version: 8, opset_import: [\"\" : 11, \"acme\" : 1]>\n"
                          "g (float[1,2] x) => (float[1,2] y) { y = acme.F(x) }\n"
                          "<domain: \"acme\", opset_import: [\"\" : 17]>\n"
                          "F (x) => (y) { y = Relu(x) }",
                          13);

    assert_int_equal(m->functions.at[0]->opsets.at[0].version, 17);
    qdq_model_free(m);
}

TEST(types_found_on_the_way_do_not_stay)
{
    qdq_model *m = raised(
        HEADER(7, 12) "g (float[2,3] x) => (float[2,3] y) { t = Relu(x) y = Softmax(t) }", 13);

    assert_null(qdq_graph_find(m->graph, "t")->type);
    qdq_model_free(m);
}

TEST(a_removed_node_is_not_converted)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model(
        HEADER(7, 12) "g (float[2,3] x) => (float[2,3] y) { t = Frobnicate(x) y = Relu(x) }");

    qdq_node_remove(m->graph->end.next);
    assert_ok(qdq_model_set_opset(m, 13, &err));
    qdq_model_free(m);
}

static bool is_newer_than_26(const char *name)
{
    static const char *const newer[] = {"CausalConvWithState", "LinearAttention", "SwiGLU"};

    for (size_t i = 0; i < QDQ_COUNT(newer); i++)
        if (strcmp(name, newer[i]) == 0)
            return true;
    return false;
}

/* A refusal for another reason is fine: then somebody looked. */
TEST(every_operator_with_a_shape_function_has_a_line)
{
    for (int op = 1; op < QDQ_OP_COUNT; op++) {
        qdq_error err = QDQ_ERROR_INIT;
        const char *name = qdq_op_get_info((qdq_op)op)->name, *y = "y";
        qdq_model *m = qdq_model_new();

        assert_non_null(m);
        assert_ok(qdq_model_set_opset_version(m, "", 20, &err));
        if (qdq_op_find("", name) == (qdq_op)op) {
            assert_non_null(qdq_graph_add_node(m->graph, NULL, "", name, "", 0, 1, &y));
            if (qdq_model_set_opset(m, 26, &err) != QDQ_OK &&
                strstr(err.text, "is not an operator") != NULL && !is_newer_than_26(name))
                fail_msg("%s", err.text);
        }
        qdq_model_free(m);
    }
}

/* --- bounds and values ------------------------------------------------------------------------ */

/* The bits of the minimum of a float16 Clip. */
static uint16_t half_of(const char *number)
{
    qdq_error err = QDQ_ERROR_INIT;
    char text[300];
    uint16_t bits;

    snprintf(text, sizeof text,
             HEADER(8, 10) "g (float16[2] x) => (float16[2] y) { y = Clip <min: float = %s> (x) }",
             number);
    qdq_model *m = test_model(text);
    assert_ok(qdq_model_set_opset(m, 11, &err));
    const qdq_tensor *t = qdq_value_const(m->graph->end.next->in[1].value);
    assert_int_equal(t->elem, QDQ_FLOAT16);
    assert_int_equal(t->bytes.size, 2);
    memcpy(&bits, t->bytes.data, 2);
    qdq_model_free(m);
    return bits;
}

TEST(bounds_of_float16_are_rounded_to_it)
{
    assert_int_equal(half_of("0.0"), 0x0000);
    assert_int_equal(half_of("-1.0"), 0xbc00);
    assert_int_equal(half_of("6.0"), 0x4600);
    assert_int_equal(half_of("0.1"), 0x2e66);
    assert_int_equal(half_of("2049.0"), 0x6800);  /* a tie, to even */
    assert_int_equal(half_of("2051.0"), 0x6802);  /* a tie, to even */
    assert_int_equal(half_of("2047.9"), 0x6800);  /* rounds up into the exponent */
    assert_int_equal(half_of("65504.0"), 0x7bff); /* the largest */
    assert_int_equal(half_of("65519.0"), 0x7bff); /* still */
    assert_int_equal(half_of("65520.0"), 0x7c00); /* infinity */
    assert_int_equal(half_of("-3.402823e38"), 0xfc00);
    assert_int_equal(half_of("6.1035156e-5"), 0x0400); /* the smallest normal one */
    assert_int_equal(half_of("5.9604645e-8"), 0x0001); /* the smallest subnormal one */
    assert_int_equal(half_of("1.0e-9"), 0x0000);
    assert_int_equal(half_of("6.1006e-5"), 0x0400); /* subnormal that rounds to normal */
}
