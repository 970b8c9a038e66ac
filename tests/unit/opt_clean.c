/* opt_clean.c - the cleaning passes, as text in and text out. Each rule: fires, does not fire (each
 * reason), graph output, shared value, subgraph, Q/DQ, twice is once. */
#include "ir/ir.h"
#include "support/rewrite.h"

/* --- lift-constants --------------------------------------------------------------------------- */

static void constant_nodes_become_initializers(void **state)
{
    (void)state;
    assert_becomes("lift-constants",
                   "g (float[2] x) => (float[2] y) {\n"
                   "  c = Constant <value = float[2] {1, 2}> ()\n"
                   "  y = Add(x, c)\n"
                   "}\n",
                   "g (float[2] x) => (float[2] y) <float[2] c = {1, 2}> {\n"
                   "  y = Add(x, c)\n"
                   "}\n");
}

static void a_lifted_constant_has_its_type_before_shapes_are_inferred(void **state)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model("g (float[2] x) => (float[2] y) {\n"
                              "  c = Constant <value = float[2] {1, 2}> ()\n"
                              "  y = Add(x, c)\n"
                              "}\n");

    (void)state;
    assert_ok(qdq_model_run_passes(m, "lift-constants", &err));
    const qdq_value *c = qdq_graph_find(m->graph, "c");
    assert_true(c != NULL && c->type != NULL && c->type->elem == QDQ_FLOAT && c->type->rank == 1);
    qdq_model_free(m);
}

static void constants_written_as_numbers_become_tensors(void **state)
{
    (void)state;
    assert_becomes(
        "lift-constants",
        "g (float[2] x) => (float[2] y, int64[2] z) {\n"
        "  c = Constant <value_float = 2.5> ()\n"
        "  y = Mul(x, c)\n"
        "  i = Constant <value_ints = [1, 2]> ()\n"
        "  z = Neg(i)\n"
        "}\n",
        "g (float[2] x) => (float[2] y, int64[2] z) <float c = {2.5}, int64[2] i = {1, 2}> {\n"
        "  y = Mul(x, c)\n"
        "  z = Neg(i)\n"
        "}\n");
}

static void a_constant_that_is_a_graph_output_stays_a_node(void **state)
{
    (void)state;
    assert_kept("lift-constants", "g () => (float[1] c) {\n"
                                  "  c = Constant <value = float[1] {1}> ()\n"
                                  "}\n");
}

static void a_constant_string_stays_a_node(void **state)
{
    (void)state;
    assert_kept("lift-constants", "g () => (string s) {\n"
                                  "  c = Constant <value_string = \"a\"> ()\n"
                                  "  s = Identity(c)\n"
                                  "}\n");
}

static void constants_inside_a_subgraph_become_its_initializers(void **state)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model("g (bool b, float[1] x) => (float[1] y) {\n"
                              "  y = If (b) <\n"
                              "    then_branch = t () => (float[1] a) {\n"
                              "      c = Constant <value = float[1] {1}> ()\n"
                              "      a = Add(x, c)\n"
                              "    },\n"
                              "    else_branch = e () => (float[1] d) {\n"
                              "      d = Neg(x)\n"
                              "    }\n"
                              "  >\n"
                              "}\n");
    char *text = NULL;

    (void)state;
    assert_ok(qdq_model_run_passes(m, "lift-constants", &err));
    assert_ok(qdq_model_to_text(m, &text, &err));
    assert_null(strstr(text, "Constant"));
    qdq_free(text);
    qdq_model_free(m);
}

/* --- drop-identity ---------------------------------------------------------------------------- */

static void identity_in_the_middle_goes(void **state)
{
    (void)state;
    assert_becomes("drop-identity",
                   "g (float[2] x) => (float[2] y) {\n"
                   "  t = Identity(x)\n"
                   "  y = Relu(t)\n"
                   "}\n",
                   "g (float[2] x) => (float[2] y) {\n"
                   "  y = Relu(x)\n"
                   "}\n");
}

static void identity_before_output_keeps_the_output_name(void **state)
{
    (void)state;
    assert_becomes("drop-identity",
                   "g (float[2] x) => (float[2] y) {\n"
                   "  t = Relu(x)\n"
                   "  y = Identity(t)\n"
                   "}\n",
                   "g (float[2] x) => (float[2] y) {\n"
                   "  y = Relu(x)\n"
                   "}\n");
}

static void identity_from_input_to_output_stays(void **state)
{
    (void)state;
    assert_kept("drop-identity", "g (float[2] x) => (float[2] y) {\n"
                                 "  y = Identity(x)\n"
                                 "}\n");
}

static void an_identity_that_lists_a_second_output_stays_when_that_is_read(void **state)
{
    (void)state;
    assert_kept("drop-identity", "g (float[2] x) => (float[2] y, z) {\n"
                                 "  a, z = Identity(x)\n"
                                 "  y = Neg(a)\n"
                                 "}\n");
}

static void identity_between_two_outputs_stays(void **state)
{
    (void)state;
    assert_kept("drop-identity", "g (float[2] x) => (float[2] t, float[2] y) {\n"
                                 "  t = Relu(x)\n"
                                 "  y = Identity(t)\n"
                                 "}\n");
}

static void a_weight_shared_through_identities_is_shared(void **state)
{
    (void)state;
    assert_becomes("drop-identity",
                   "g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> {\n"
                   "  w1 = Identity(w)\n"
                   "  a = Add(x, w)\n"
                   "  y = Mul(a, w1)\n"
                   "}\n",
                   "g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> {\n"
                   "  a = Add(x, w)\n"
                   "  y = Mul(a, w)\n"
                   "}\n");
}

static void identity_between_q_and_dq_goes(void **state)
{
    (void)state;
    assert_becomes("drop-identity",
                   "g (float[2] x) => (float[2] y) <float s = {0.5}, uint8 z = {0}> {\n"
                   "  q = QuantizeLinear(x, s, z)\n"
                   "  t = Identity(q)\n"
                   "  y = DequantizeLinear(t, s, z)\n"
                   "}\n",
                   "g (float[2] x) => (float[2] y) <float s = {0.5}, uint8 z = {0}> {\n"
                   "  q = QuantizeLinear(x, s, z)\n"
                   "  y = DequantizeLinear(q, s, z)\n"
                   "}\n");
}

static void dropout_that_does_not_train_goes(void **state)
{
    (void)state;
    assert_becomes("drop-identity",
                   "g (float[2] x) => (float[2] y) <float r = {0.5}> {\n"
                   "  t = Dropout(x, r)\n"
                   "  y = Relu(t)\n"
                   "}\n",
                   "g (float[2] x) => (float[2] y) <float r = {0.5}> {\n"
                   "  y = Relu(x)\n"
                   "}\n");
}

static void dropout_that_may_train_stays(void **state)
{
    (void)state;
    assert_kept("drop-identity",
                "g (float[2] x, bool training) => (float[2] y) <float r = {0.5}> {\n"
                "  t = Dropout(x, r, training)\n"
                "  y = Relu(t)\n"
                "}\n");
    assert_kept("drop-identity",
                "g (float[2] x) => (float[2] y) <float r = {0.5}, bool training = {1}> {\n"
                "  t = Dropout(x, r, training)\n"
                "  y = Relu(t)\n"
                "}\n");
}

static void dropout_whose_mask_is_read_stays(void **state)
{
    (void)state;
    assert_kept("drop-identity", "g (float[2] x) => (float[2] y, bool[2] m) {\n"
                                 "  t, m = Dropout(x)\n"
                                 "  y = Relu(t)\n"
                                 "}\n");
}

/* --- drop-shared-names ------------------------------------------------------------------------ */

static void names_that_nodes_share_go(void **state)
{
    (void)state;
    assert_becomes("drop-shared-names",
                   "g (float[2] x) => (float[2] y) {\n"
                   "  [same] a = Relu(x)\n"
                   "  [own] b = Neg(a)\n"
                   "  [same] y = Relu(b)\n"
                   "}\n",
                   "g (float[2] x) => (float[2] y) {\n"
                   "  a = Relu(x)\n"
                   "  [own] b = Neg(a)\n"
                   "  y = Relu(b)\n"
                   "}\n");
}

/* --- the manager ------------------------------------------------------------------------------ */

static void unknown_passes_are_named(void **state)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model("g (float[2] x) => (float[2] y) {\n  y = Relu(x)\n}\n");

    (void)state;
    assert_fails(QDQ_E_USAGE, "'make-faster' is no pass",
                 qdq_model_run_passes(m, "drop-unused,make-faster", &err));
    assert_fails(QDQ_E_USAGE, "'' is no pass", qdq_model_run_passes(m, ",", &err));
    assert_ok(qdq_model_run_passes(m, "", &err));
    qdq_model_free(m);
}

static void every_pass_of_the_default_pipeline_is_listed_with_help(void **state)
{
    qdq_error err = QDQ_ERROR_INIT;
    const char *name, *help;
    char *all;
    size_t found = 0, steps = 1;

    (void)state;
    assert_ok(qdq_pass_pipeline("default", NULL, &all, &err));
    for (size_t i = 0; (name = qdq_pass_name(i, &help)) != NULL; i++) {
        assert_true(help[0] != '\0');
        found += strstr(all, name) != NULL;
    }
    for (const char *at = all; *at != '\0'; at++)
        steps += *at == ',';
    assert_true(steps >= 5 && found >= steps);
    qdq_free(all);
}

static void pipelines_have_groups_arguments_and_exceptions(void **state)
{
    qdq_error err = QDQ_ERROR_INIT;
    char *text;

    (void)state;
    assert_ok(qdq_pass_pipeline("default,-fold-batchnorm,inline-functions:a+b", NULL, &text, &err));
    assert_null(strstr(text, "fold-batchnorm"));
    assert_true(strncmp(text, "inline-functions:a+b,lift-constants", 35) == 0); /* where it stood */
    qdq_free(text);
    assert_ok(qdq_pass_pipeline("quantize-bias:int32,drop-unused,quantize-bias:float,drop-unused",
                                NULL, &text, &err));
    /* the last word counts */
    assert_string_equal(text, "quantize-bias:float,drop-unused,drop-unused");
    qdq_free(text);
    assert_ok(
        qdq_pass_pipeline("lift-constants,fold-constants,drop-unused,fold-constants:no=Neg+input=7",
                          NULL, &text, &err));
    assert_string_equal(text, "lift-constants,fold-constants:no=Neg+input=7,drop-unused");
    qdq_free(text);
    assert_fails(QDQ_E_USAGE, "pipeline: 'nothing' is no pass",
                 qdq_pass_pipeline("-nothing", NULL, &text, &err));
    assert_null(text);
}

/* convbn 4 case 27: below IR 4 all initializers are listed as inputs, and callers can replace
 * none. */
static void what_passes_add_to_an_old_model_is_no_input(void **state)
{
    (void)state;
    assert_becomes(
        "fold-batchnorm,drop-unused",
        "<ir_version: 3, opset_import: [\"\" : 9]> g (float[1,1,2,2] x, float[1,1,1,1] w = {2}, "
        "float[1] a = {1}, float[1] v = {4}) => (float[1,1,2,2] y) {\n  c = Conv(x, w)\n"
        "  y = BatchNormalization <epsilon = 0.0> (c, a, a, a, v)\n}\n",
        "<ir_version: 4, opset_import: [\"\" : 9]> g (float[1,1,2,2] x) => (float[1,1,2,2] y) "
        "<float[1] a_folded = {0.5}, float[1,1,1,1] w_folded = {1}> {\n"
        "  y = Conv(x, w_folded, a_folded)\n}\n");
    assert_kept("default",
                "<ir_version: 3, opset_import: [\"\" : 9]> g (float[1,1,2,2] x, float[1,1,1,1] w = "
                "{2}) => (float[1,1,2,2] y) {\n  y = Conv(x, w)\n}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constant_nodes_become_initializers),
        cmocka_unit_test(a_lifted_constant_has_its_type_before_shapes_are_inferred),
        cmocka_unit_test(constants_written_as_numbers_become_tensors),
        cmocka_unit_test(a_constant_that_is_a_graph_output_stays_a_node),
        cmocka_unit_test(a_constant_string_stays_a_node),
        cmocka_unit_test(constants_inside_a_subgraph_become_its_initializers),
        cmocka_unit_test(identity_in_the_middle_goes),
        cmocka_unit_test(identity_before_output_keeps_the_output_name),
        cmocka_unit_test(identity_from_input_to_output_stays),
        cmocka_unit_test(an_identity_that_lists_a_second_output_stays_when_that_is_read),
        cmocka_unit_test(identity_between_two_outputs_stays),
        cmocka_unit_test(a_weight_shared_through_identities_is_shared),
        cmocka_unit_test(identity_between_q_and_dq_goes),
        cmocka_unit_test(dropout_that_does_not_train_goes),
        cmocka_unit_test(dropout_that_may_train_stays),
        cmocka_unit_test(dropout_whose_mask_is_read_stays),
        cmocka_unit_test(names_that_nodes_share_go),
        cmocka_unit_test(unknown_passes_are_named),
        cmocka_unit_test(every_pass_of_the_default_pipeline_is_listed_with_help),
        cmocka_unit_test(pipelines_have_groups_arguments_and_exceptions),
        cmocka_unit_test(what_passes_add_to_an_old_model_is_no_input),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
