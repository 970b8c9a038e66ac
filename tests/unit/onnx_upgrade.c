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

static char *text_of(const qdq_model *m)
{
    qdq_error err = QDQ_ERROR_INIT;
    char *text = NULL;

    assert_ok(qdq_model_to_text(m, &text, &err));
    return text;
}

/* The refusal holds `part`, and the model is what it was, header included. */
static void assert_refused(qdq_status code, const char *part, const char *text, int opset)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model(text);
    char *before = text_of(m), *after;

    assert_fails(code, part, qdq_model_set_opset(m, opset, &err));
    after = text_of(m);
    assert_string_equal(before, after);
    qdq_free(before);
    qdq_free(after);
    qdq_model_free(m);
}

static void the_same_opset_changes_nothing(void **state)
{
    (void)state;
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model(HEADER(3, 13) "g (float[2] x) => (float[2] y) { y = Relu(x) }");

    assert_ok(qdq_model_set_opset(m, 13, &err));
    assert_int_equal(m->ir_version, 3);
    qdq_model_free(m);
}

static void lowering_and_numbers_out_of_range_are_refused(void **state)
{
    static const char text[] = HEADER(8, 13) "g (float[2] x) => (float[2] y) { y = Relu(x) }";

    (void)state;
    assert_refused(QDQ_E_UNSUPPORTED, "has opset 13, and lowering it to 12 is not possible", text,
                   12);
    assert_refused(QDQ_E_UNSUPPORTED, "opset 23 is asked for, expected 7 to 22", text, 23);
    assert_refused(QDQ_E_UNSUPPORTED, "opset 6 is asked for, expected 7 to 22", text, 6);
}

static void opsets_below_seven_are_refused(void **state)
{
    (void)state;
    assert_refused(QDQ_E_UNSUPPORTED, "has opset 6, expected 7 or higher",
                   HEADER(3, 6) "g (float[2] x) => (float[2] y) { y = Relu(x) }", 13);
}

static void models_from_before_opsets_are_refused(void **state)
{
    (void)state;
    assert_refused(QDQ_E_UNSUPPORTED, "IR version 2 is from before opsets, expected 3 or higher",
                   "<ir_version: 2>\ng (float[2] x) => (float[2] y) { y = acme.Relu(x) }", 13);
}

static void an_operator_that_is_not_in_the_table_is_named(void **state)
{
    (void)state;
    assert_refused(
        QDQ_E_UNSUPPORTED,
        "node 'Frobnicate@y': Frobnicate is not an operator that can be raised from opset 7 to 8",
        HEADER(3, 7) "g (float[2] x) => (float[2] y) { t = Relu(x) y = Frobnicate(t) }", 8);
}

static void an_operator_whose_change_is_not_written_is_named_with_the_step(void **state)
{
    (void)state;
    /* Clip is rewritten before in the rehearsal, and must not be in the model. */
    assert_refused(
        QDQ_E_UNSUPPORTED, "node 'hot': OneHot from opset 10 to 11: an index below zero",
        HEADER(5, 9) "g (float[2] x, int64[2] i, int64 d, float[2] v) => (float[2] y, float z)\n"
                     "{ y = Clip <max = 6.0> (x) [hot] z = OneHot(i, d, v) }",
        13);
}

static void operators_of_other_domains_are_left_alone(void **state)
{
    (void)state;
    qdq_model *m = raised("<ir_version: 4, opset_import: [\"\" : 9, \"acme\" : 1]>\n"
                          "g (float[2] x) => (float[2] y) { y = acme.Clip <max = 6.0> (x) }",
                          13);

    test_assert_text(m, "g (float[2] x) => (float[2] y) {\n"
                        "  y = acme.Clip <max = 6.0> (x)\n"
                        "}\n");
    assert_int_equal(qdq_model_opset_of(m, "acme"), 1);
    qdq_model_free(m);
}

static void a_model_without_the_default_domain_gets_it(void **state)
{
    (void)state;
    qdq_model *m = raised("<ir_version: 8, opset_import: [\"acme\" : 1]>\n"
                          "g (float[2] x) => (float[2] y) { y = acme.Foo(x) }",
                          13);

    qdq_model_free(m);
}

static void using_the_default_domain_without_importing_it_is_an_error(void **state)
{
    (void)state;
    assert_refused(QDQ_E_FORMAT, "the default domain is used but not imported",
                   "<ir_version: 8, opset_import: [\"acme\" : 1]>\n"
                   "g (float[2] x) => (float[2] y) { y = Relu(x) }",
                   13);
}

static void the_ir_version_rises_to_what_the_opset_needs(void **state)
{
    static const struct {
        int opset, ir;
    } want[] = {{7, 3},  {8, 3},  {9, 4},  {10, 5}, {11, 6}, {12, 7}, {13, 7},  {14, 7},
                {15, 8}, {16, 8}, {17, 8}, {18, 8}, {19, 9}, {20, 9}, {21, 10}, {22, 10}};

    (void)state;
    for (size_t i = 1; i < QDQ_COUNT(want); i++) {
        qdq_model *m =
            raised(HEADER(3, 7) "g (float[2] x) => (float[2] y) { y = Relu(x) }", want[i].opset);

        assert_int_equal(m->ir_version, want[i].ir);
        qdq_model_free(m);
    }
}

static void a_higher_ir_version_stays(void **state)
{
    (void)state;
    qdq_model *m = raised(HEADER(9, 11) "g (float[2] x) => (float[2] y) { y = Relu(x) }", 13);

    assert_int_equal(m->ir_version, 9);
    qdq_model_free(m);
}

static void initializers_leave_the_inputs_when_ir_three_is_left(void **state)
{
    (void)state;
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

static void initializers_stay_inputs_below_ir_four(void **state)
{
    (void)state;
    qdq_model *m = raised(
        HEADER(3, 7) "g (float[2] x, float[2] w = {1, 2}) => (float[2] y) { y = Add(x, w) }", 8);

    assert_int_equal(m->ir_version, 3);
    assert_int_equal(m->graph->inputs.n, 2);
    qdq_model_free(m);
}

static void replaceable_initializers_of_ir_four_stay_inputs(void **state)
{
    (void)state;
    qdq_model *m = raised(
        HEADER(4, 9) "g (float[2] x, float[2] w = {1, 2}) => (float[2] y) { y = Add(x, w) }", 21);

    assert_int_equal(m->graph->inputs.n, 2);
    qdq_model_free(m);
}

static void subgraphs_are_converted_with_their_own_constants(void **state)
{
    (void)state;
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

static void refusals_in_a_subgraph_leave_the_whole_model(void **state)
{
    (void)state;
    assert_refused(
        QDQ_E_UNSUPPORTED, "node 'Scan@q': Scan",
        HEADER(3, 8) "g (bool c, float[1,2] x) => (float[2] y) {\n"
                     "  t = Clip <max = 6.0> (x)\n"
                     "  y = If (c) <\n"
                     "    then_branch = a () => (float[2] p) { p = Squeeze <axes = [0]> (t) },\n"
                     "    else_branch = b () => (float[2] q) { q = Scan(t) }>\n"
                     "}",
        13);
}

/* ONNX Runtime reads a function's body with the model's opset, whatever the function imports;
 * ONNX's own checker refuses a difference that matters. So bodies are raised along. */
static void function_bodies_are_raised_along_with_constant_nodes(void **state)
{
    (void)state;
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

static void a_function_that_is_further_on_stays(void **state)
{
    (void)state;
    qdq_model *m = raised("<ir_version: 8, opset_import: [\"\" : 11, \"acme\" : 1]>\n"
                          "g (float[1,2] x) => (float[1,2] y) { y = acme.F(x) }\n"
                          "<domain: \"acme\", opset_import: [\"\" : 17]>\n"
                          "F (x) => (y) { y = Relu(x) }",
                          13);

    assert_int_equal(m->functions.at[0]->opsets.at[0].version, 17);
    qdq_model_free(m);
}

static void an_attribute_of_the_functions_caller_is_refused_with_the_function(void **state)
{
    (void)state;
    assert_refused(QDQ_E_UNSUPPORTED,
                   "function 'acme.Flat': node 'Squeeze@y': Squeeze from opset 12 to 13: attribute "
                   "'axes' is given by "
                   "the function's caller",
                   "<ir_version: 8, opset_import: [\"\" : 11, \"acme\" : 1]>\n"
                   "g (float[1,2] x) => (float[2] y) { y = acme.Flat <dims = [0]> (x) }\n"
                   "<domain: \"acme\", opset_import: [\"\" : 11]>\n"
                   "Flat <dims> (x) => (y) { y = Squeeze <axes: ints = @dims> (x) }",
                   13);
}

static void types_found_on_the_way_do_not_stay(void **state)
{
    (void)state;
    qdq_model *m = raised(
        HEADER(7, 12) "g (float[2,3] x) => (float[2,3] y) { t = Relu(x) y = Softmax(t) }", 13);

    assert_null(qdq_graph_find(m->graph, "t")->type);
    qdq_model_free(m);
}

static void a_removed_node_is_not_converted(void **state)
{
    (void)state;
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model(
        HEADER(7, 12) "g (float[2,3] x) => (float[2,3] y) { t = Frobnicate(x) y = Relu(x) }");

    qdq_node_remove(m->graph->end.next);
    assert_ok(qdq_model_set_opset(m, 13, &err));
    qdq_model_free(m);
}

static bool is_newer_than_22(const char *name)
{
    static const char *const newer[] = {"Attention",       "BitCast",         "CausalConvWithState",
                                        "CumProd",         "LinearAttention", "RMSNormalization",
                                        "RotaryEmbedding", "SwiGLU",          "Swish",
                                        "TensorScatter"};

    for (size_t i = 0; i < QDQ_COUNT(newer); i++)
        if (strcmp(name, newer[i]) == 0)
            return true;
    return false;
}

/* A refusal for another reason is fine: then somebody looked. */
static void every_operator_with_a_shape_function_has_a_line(void **state)
{
    (void)state;
    for (int op = 1; op < QDQ_OP_COUNT; op++) {
        qdq_error err = QDQ_ERROR_INIT;
        const char *name = qdq_op_get_info((qdq_op)op)->name, *y = "y";
        qdq_model *m = qdq_model_new();

        assert_non_null(m);
        assert_ok(qdq_model_set_opset_version(m, "", 20, &err));
        if (qdq_op_find("", name) == (qdq_op)op) {
            assert_non_null(qdq_graph_add_node(m->graph, NULL, "", name, "", 0, 1, &y));
            if (qdq_model_set_opset(m, 22, &err) != QDQ_OK &&
                strstr(err.text, "is not an operator") != NULL && !is_newer_than_22(name))
                fail_msg("%s", err.text);
        }
        qdq_model_free(m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_opset_changes_nothing),
        cmocka_unit_test(lowering_and_numbers_out_of_range_are_refused),
        cmocka_unit_test(opsets_below_seven_are_refused),
        cmocka_unit_test(models_from_before_opsets_are_refused),
        cmocka_unit_test(an_operator_that_is_not_in_the_table_is_named),
        cmocka_unit_test(an_operator_whose_change_is_not_written_is_named_with_the_step),
        cmocka_unit_test(operators_of_other_domains_are_left_alone),
        cmocka_unit_test(a_model_without_the_default_domain_gets_it),
        cmocka_unit_test(using_the_default_domain_without_importing_it_is_an_error),
        cmocka_unit_test(the_ir_version_rises_to_what_the_opset_needs),
        cmocka_unit_test(a_higher_ir_version_stays),
        cmocka_unit_test(initializers_leave_the_inputs_when_ir_three_is_left),
        cmocka_unit_test(initializers_stay_inputs_below_ir_four),
        cmocka_unit_test(replaceable_initializers_of_ir_four_stay_inputs),
        cmocka_unit_test(subgraphs_are_converted_with_their_own_constants),
        cmocka_unit_test(refusals_in_a_subgraph_leave_the_whole_model),
        cmocka_unit_test(function_bodies_are_raised_along_with_constant_nodes),
        cmocka_unit_test(a_function_that_is_further_on_stays),
        cmocka_unit_test(an_attribute_of_the_functions_caller_is_refused_with_the_function),
        cmocka_unit_test(types_found_on_the_way_do_not_stay),
        cmocka_unit_test(a_removed_node_is_not_converted),
        cmocka_unit_test(every_operator_with_a_shape_function_has_a_line),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
