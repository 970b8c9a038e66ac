/* ir_shape_control.c - shapes through branches, loops, and functions. */
#include "support/shapes.h"

#include "ir/shape.h"

#define BRANCHES(a, b)                                                                             \
    "then_branch = t () => (p) { p = " a " }, else_branch = e () => (q) { q = " b " }"

TEST(types_are_stored_inside_bodies)
{
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

TEST(what_a_wrong_guess_found_in_a_body_is_not_kept)
{
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

static qdq_model *inferred(const char *text)
{
    qdq_model *m = test_model(text);
    qdq_error err = QDQ_ERROR_INIT;
    qdq_shape_opts strict = {false, true, NULL};

    assert_ok(qdq_model_infer(m, &strict, &err));
    return m;
}

TEST(function_calls_are_looked_into)
{
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

TEST(elements_pass_through_functions)
{
    qdq_model *m = inferred(
        "<ir_version: 8, opset_import: [\"\" : 17, \"my\" : 1]>\n"
        "g (float[N,3,8] x) => (y) <int64[1] m = {-1}> { s = my.head(x) k = Concat<axis = 0>(s, m) "
        "y = Reshape(x, k) }\n"
        "<domain: \"my\", opset_import: [\"\" : 17]> head (a) => (b) { b = Shape<end = 1>(a) }");

    assert_string_equal(test_type(m, "y"), "float[N,24]");
    qdq_model_free(m);
}

TEST(functions_that_call_themselves_end)
{
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
TEST(calls_that_multiply_end)
{
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
