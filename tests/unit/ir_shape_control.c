/* ir_shape_control.c - shapes through branches, loops, and functions. */
#include "support/shapes.h"

#include "ir/shape.h"

#define BRANCHES(a, b)                                                                             \
    "then_branch = t () => (p) { p = " a " }, else_branch = e () => (q) { q = " b " }"

static void if_gives_what_both_branches_agree_on(void **state)
{
    (void)state;
    test_infers(17,
                "g (bool c, float[N,3] x) => (y) { y = If<" BRANCHES("Relu(x)", "Neg(x)") ">(c) }",
                "float[N,3]");
    test_infers(17,
                "g (bool c, float[N,3] x) => (y) { y = If<" BRANCHES(
                    "Relu(x)", "Concat<axis = 1>(x, x)") ">(c) }",
                "float[N,?]");
    test_infers(17,
                "g (bool c, float[N,3] x) => (y) { y = If<" BRANCHES(
                    "Relu(x)", "ReduceMax<keepdims = 0>(x)") ">(c) }",
                "float[]");
    test_infers(
        17, "g (bool c, float[N,3] x) => (y) { y = If<" BRANCHES("Relu(x)", "Shape(x)") ">(c) }",
        "-");
    test_infers(
        17,
        "g (bool c, float[N,3] x) => (y) { y = If<" BRANCHES("Relu(x)", "a.Unknown(x)") ">(c) }",
        "-");
}

static void a_known_condition_chooses_one_branch(void **state)
{
    (void)state;
    test_infers(17,
                "g (float[2,1,3] x) => (y) <int64 i = {1}, int64 one = {1}, int64[1] a = {1}> { h "
                "= Shape(x) "
                "d = Gather(h, i)"
                " c = Equal(d, one) y = If<" BRANCHES("Squeeze(x, a)", "Identity(x)") ">(c) }",
                "float[2,3]");
    test_infers(17,
                "g (float[2,5,3] x) => (y) <int64 i = {1}, int64 one = {1}, int64[1] a = {1}> { h "
                "= Shape(x) "
                "d = Gather(h, i)"
                " c = Equal(d, one) y = If<" BRANCHES("Squeeze(x, a)", "Identity(x)") ">(c) }",
                "float[2,5,3]");
}

static void branches_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    test_infer_fails(
        17,
        "g (bool c, float[3] x) => (y) { y = If<then_branch = t () => (p) { p = Relu(x) }>(c) }",
        "attribute 'else_branch' is missing");
    test_infer_fails(
        17, "g (bool c, float[3] x) => (y) { y = If<then_branch = 1, else_branch = 2>(c) }",
        "attribute 'else_branch' has the wrong type");
    test_infer_fails(
        17,
        "g (bool c, float[3] x) => (y) { y = If<then_branch = t () => () { p = Relu(x) }, "
        "else_branch = e () => (q) { q = Relu(x) }>(c) }",
        "then_branch has 0 outputs, want 1");
}

static void types_are_stored_inside_bodies(void **state)
{
    (void)state;
    qdq_model *m = test_model(
        "g (bool c, float[N,3] x) => (y) { y = If<" BRANCHES("Relu(x)", "Neg(x)") ">(c) }");
    qdq_error err = QDQ_ERROR_INIT;
    size_t typed = 0;

    assert_ok(qdq_model_infer(m, NULL, &err));
    QDQ_FOR_GRAPHS (g, m)
        for (size_t i = 0; i < g->values.n; i++)
            typed +=
                g != m->graph && g->values.at[i]->type != NULL && g->values.at[i]->type->rank == 2;
    assert_int_equal(typed, 2);
    qdq_model_free(m);
}

static void loop_states_keep_what_holds_in_every_iteration(void **state)
{
    (void)state;
    test_infers(
        17,
        "g (int64 n, bool c, float[N,3] x) => (y) { y = Loop<body = b (i, k, s) => (k2, t) { k2 = "
        "Identity(k) t = Relu(s) }>(n, c, x) }",
        "float[N,3]");
    /* grows along axis 0 */
    test_infers(
        17,
        "g (int64 n, bool c, float[2,3] x) => (y) { y = Loop<body = b (i, k, s) => (k2, t) { k2 = "
        "Identity(k) t = Concat<axis = 0>(s, x) }>(n, c, x) }",
        "float[?,3]");
    /* gets another rank */
    test_infers(
        17,
        "g (int64 n, bool c, float[2,3] x) => (y) <int64[1] a = {0}> { y = Loop<body = b (i, k, s) "
        "=> (k2, t) { k2 = Identity(k) t = Unsqueeze(s, a) }>(n, c, x) }",
        "float[]");
    /* two states that swap */
    test_infers(
        17,
        "g (int64 n, bool c, float[2,3] x, float[2,4] z) => (y, q) { y, q = Loop<body = b (i, k, "
        "s, "
        "r) => (k2, t, u) { k2 = Identity(k) t = Identity(r) u = Identity(s) }>(n, c, x, z) }",
        "float[2,?]");
    test_infers(17,
                "g (int64 n, bool c, float[2,3] x) => (s, y) { s, y = Loop<body = b (i, k, s) => "
                "(k2, t, o) "
                "{ k2 = Identity(k) t = Relu(s) o = Shape(s) }>(n, c, x) }",
                "int64[?,2]");
    test_infer_fails(
        17,
        "g (int64 n, bool c, float[2,3] x) => (y) { y = Loop<body = b (i, k) => (k2, t) { k2 = "
        "Identity(k) t = Relu(x) }>(n, c, x) }",
        "1 states, but the body has 2 inputs");
}

static void what_a_wrong_guess_found_in_a_body_is_not_kept(void **state)
{
    (void)state;
    qdq_model *m = test_model(
        "g (int64 n, bool c, float[2,3] x) => (y) { y = Loop<body = b (i, k, s) => (k2, t) {"
        " k2 = Identity(k) t = Concat<axis = 0>(s, x) }>(n, c, x) }");
    qdq_error err = QDQ_ERROR_INIT;
    qdq_graph *body;

    assert_ok(qdq_model_infer(m, NULL, &err));
    body = m->graphs.at[1];
    assert_int_equal(qdq_graph_find(body, "s")->type->dim[0].value, -1);
    assert_int_equal(qdq_graph_find(body, "t")->type->dim[0].value, -1);
    assert_int_equal(qdq_graph_find(body, "t")->type->dim[1].value, 3);
    qdq_model_free(m);
}

static void scan_takes_its_axis_off_and_puts_it_back(void **state)
{
    (void)state;
    test_infers(
        17,
        "g (float[3] s, float[T,3] x) => (f, y) { f, y = Scan<num_scan_inputs = 1, body = b (p, q) "
        "=> (r, o) { r = Add(p, q) o = Identity(r) }>(s, x) }",
        "float[T,3]");
    test_infers(17,
                "g (float[3] s, float[3,T] x) => (f, y) { f, y = Scan<num_scan_inputs = 1, "
                "scan_input_axes = [1], "
                "scan_output_axes = [-1], body = b (p, q) => (r, o) { r = Add(p, q) o = "
                "Identity(r) }>(s, x) }",
                "float[3,T]");
    test_infers(
        17,
        "g (float[3] s, float[T,3] x) => (y, o) { y, o = Scan<num_scan_inputs = 1, body = b (p, q) "
        "=> (r, o2) { r = Add(p, q) o2 = Identity(r) }>(s, x) }",
        "float[3]");
    test_infers(8,
                "g (float[3] s, float[T,3] x) => (y) { y = Scan<num_scan_inputs = 1, body = b (p) "
                "=> (r) { r "
                "= Relu(p) }>(\"\", x) }",
                "-");
    test_infer_fails(
        17,
        "g (float[2,3] a, float[4,3] x) => (y) { y = Scan<num_scan_inputs = 2, body = b (p, q) "
        "=> (r) { r = Add(p, q) }>(a, x) }",
        "a scanned axis has length 4, want 2");
    test_infer_fails(
        17,
        "g (float[2,3] a) => (y) { y = Scan<num_scan_inputs = 2, body = b (p, q) => (r) { r = "
        "Add(p, q) }>(a) }",
        "1 inputs and 1 outputs, but the body has 2 and 1");
}

static qdq_model *inferred(const char *text)
{
    qdq_model *m = test_model(text);
    qdq_error err = QDQ_ERROR_INIT;
    qdq_shape_opts strict = {false, true, NULL};

    assert_ok(qdq_model_infer(m, &strict, &err));
    return m;
}

static void function_calls_are_looked_into(void **state)
{
    (void)state;
    qdq_model *m =
        inferred("<ir_version: 8, opset_import: [\"\" : 17, \"my\" : 1]>\n"
                 "g (float[N,3,8] x) => (y, z, u) { y = my.flat<from = 2>(x) z = my.flat(x) u = "
                 "my.nope(x) }\n"
                 "<domain: \"my\", opset_import: [\"\" : 11]> flat <from: int = 1> (a) => (b) {"
                 " c = Flatten<axis: int = @from>(a) b = Unsqueeze<axes = [0]>(c) }");

    assert_string_equal(test_type(m, "y"), "float[1,?,8]");
    assert_string_equal(test_type(m, "z"), "float[1,N,24]");
    assert_string_equal(test_type(m, "u"), "-");
    qdq_model_free(m);
}

static void elements_pass_through_functions(void **state)
{
    (void)state;
    qdq_model *m = inferred(
        "<ir_version: 8, opset_import: [\"\" : 17, \"my\" : 1]>\n"
        "g (float[N,3,8] x) => (y) <int64[1] m = {-1}> { s = my.head(x) k = Concat<axis = 0>(s, m) "
        "y = Reshape(x, k) }\n"
        "<domain: \"my\", opset_import: [\"\" : 17]> head (a) => (b) { b = Shape<end = 1>(a) }");

    assert_string_equal(test_type(m, "y"), "float[N,24]");
    qdq_model_free(m);
}

static void functions_that_call_themselves_end(void **state)
{
    (void)state;
    qdq_model *m = inferred(
        "<ir_version: 8, opset_import: [\"\" : 17, \"my\" : 1]>\n"
        "g (float[3] x) => (y) { y = my.f(x) }\n"
        "<domain: \"my\", opset_import: [\"\" : 17, \"my\" : 1]> f (a) => (b) { c = my.h(a) b = "
        "Relu(c) }\n"
        "<domain: \"my\", opset_import: [\"\" : 17, \"my\" : 1]> h (a) => (b) { b = my.f(a) }");

    assert_string_equal(test_type(m, "y"), "-");
    qdq_model_free(m);
}

/* Each function calls the next one twice: 2^40 calls if all were followed. */
static void calls_that_multiply_end(void **state)
{
    (void)state;
    enum { DEPTH = 40 };
    char *text = malloc(DEPTH * 200 + 500), *p = text;
    qdq_model *m;

    assert_non_null(text);
    p += sprintf(p, "<ir_version: 8, opset_import: [\"\" : 17, \"my\" : 1]>\ng (float[3] x) => (y) "
                    "{ y = my.f0(x) }\n");
    for (int i = 0; i < DEPTH; i++)
        p += sprintf(p,
                     "<domain: \"my\", opset_import: [\"\" : 17, \"my\" : 1]> f%d (a) => (b) { c = "
                     "my.f%d(a) "
                     "b = my.f%d(c) }\n",
                     i, i + 1, i + 1);
    sprintf(p, "<domain: \"my\", opset_import: [\"\" : 17]> f%d (a) => (b) { b = Relu(a) }\n",
            DEPTH);
    m = inferred(text);
    assert_string_equal(test_type(m, "y"), "-");
    qdq_model_free(m);
    free(text);
}

static void a_state_that_changes_its_element_type_is_a_contradiction(void **state)
{
    (void)state;
    test_infer_fails(17,
                     "g (float[1] s, int64[T,1] x) => (f, y) {\n"
                     "  f, y = Scan <num_scan_inputs = 1, body = b (p, r) => (r, o) {\n"
                     "    o = Identity(r)\n"
                     "  }> (s, x)\n"
                     "}\n",
                     "state 0 is float, but the body gives int64");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_state_that_changes_its_element_type_is_a_contradiction),
        cmocka_unit_test(if_gives_what_both_branches_agree_on),
        cmocka_unit_test(a_known_condition_chooses_one_branch),
        cmocka_unit_test(branches_that_do_not_fit_are_refused),
        cmocka_unit_test(types_are_stored_inside_bodies),
        cmocka_unit_test(loop_states_keep_what_holds_in_every_iteration),
        cmocka_unit_test(what_a_wrong_guess_found_in_a_body_is_not_kept),
        cmocka_unit_test(scan_takes_its_axis_off_and_puts_it_back),
        cmocka_unit_test(function_calls_are_looked_into),
        cmocka_unit_test(elements_pass_through_functions),
        cmocka_unit_test(functions_that_call_themselves_end),
        cmocka_unit_test(calls_that_multiply_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
