/* ir_set_shapes.c - fixing input shapes. */
#include "support/shapes.h"

#include "ir/graph_check.h"

static qdq_input_shape shape_of(const char *name, int rank, int64_t a, int64_t b, int64_t c)
{
    qdq_input_shape s = {name, rank, {a, b, c}};

    return s;
}

static qdq_model *fixed(const char *text, const qdq_input_shape *shapes, size_t n)
{
    qdq_model *m = test_model(text);
    qdq_error err = QDQ_ERROR_INIT;

    assert_ok(qdq_model_set_shapes(m, shapes, n, &err));
    assert_ok(qdq_model_verify(m, &err));
    return m;
}

/* The call fails, and the model is as it was, to the byte. */
static void refused(const char *text, const qdq_input_shape *shapes, size_t n, const char *part)
{
    qdq_model *m = test_model(text);
    qdq_error err = QDQ_ERROR_INIT;
    uint64_t edits = m->graph->edits;

    assert_fails(QDQ_E_USAGE, part, qdq_model_set_shapes(m, shapes, n, &err));
    assert_int_equal(m->graph->edits, edits);
    assert_int_equal(qdq_model_set_shapes(m, shapes, n, NULL), QDQ_E_USAGE);
    qdq_model_free(m);
}

TEST(a_symbol_becomes_a_number_everywhere)
{
    qdq_input_shape s = shape_of("x", 2, 128, 3, 0);
    qdq_model *m = fixed(
        "g (float[N,3] x, float[N] w) => (float[N,3] y, u) { y = Relu(x) u = Neg(w) }", &s, 1);

    test_assert_text(m,
                     "g (float[128,3] x, float[128] w) => (float[128,3] y, float[128] u) {\n  y = "
                     "Relu(x)\n  u = Neg(w)\n}\n");
    qdq_model_free(m);
}

TEST(stale_shapes_of_the_file_are_replaced)
{
    qdq_input_shape s = shape_of("x", 2, 128, 3, 0);
    qdq_model *m =
        fixed("g (float[1,3] x) => (float[1,3] y, float[1,N] z) <float[1,3] t> { t = Relu(x) y = "
              "Neg(t) z = a.Other(t) }",
              &s, 1);

    assert_string_equal(test_type(m, "t"), "float[128,3]");
    assert_string_equal(test_type(m, "y"), "float[128,3]");
    assert_string_equal(test_type(m, "z"), "float[?,N]");
    qdq_model_free(m);
}

TEST(a_constant_batch_in_reshape_follows)
{
    qdq_input_shape s = shape_of("x", 3, 128, 5, 4);
    qdq_model *m = fixed(
        "g (float[1,5,4] x) => (y) <int64[3] k = {1, -1, 2}> { t = Relu(x) y = Reshape(t, k) }", &s,
        1);

    test_assert_text(
        m, "g (float[128,5,4] x) => (float[128,10,2] y) <\n  int64[3] k_1 = {128, -1, 2}\n> {\n "
           " t = Relu(x)\n  y = Reshape(t, k_1)\n}\n");
    qdq_model_free(m);
}

TEST(rows_follow_through_flattening_and_back)
{
    qdq_input_shape s = shape_of("x", 3, 8, 5, 4);
    qdq_model *m =
        fixed("g (float[2,5,4] x) => (y) <int64[2] a = {10, 4}, int64[3] b = {2, 5, 4}> {"
              " t = Reshape(x, a) u = Relu(t) y = Reshape(u, b) }",
              &s, 1);

    assert_string_equal(test_type(m, "t"), "float[40,4]");
    assert_string_equal(test_type(m, "y"), "float[8,5,4]");
    qdq_model_free(m);
}

/* [50 tokens of one picture, 4] made [1 picture, 50, 4]: batches double the pictures ... */
TEST(a_leading_1_follows_when_only_batches_grow)
{
    qdq_input_shape s = shape_of("x", 3, 8, 5, 4);
    qdq_model *m =
        fixed("g (float[2,5,4] x) => (y) <int64[2] a = {-1, 4}, int64[3] b = {2, -1, 4}> { t = "
              "Reshape(x, a) y = Reshape(t, b) }",
              &s, 1);

    assert_string_equal(test_type(m, "y"), "float[8,5,4]");
    qdq_model_free(m);
}

/* ... but a picture of another size without a batch stays one picture. */
TEST(a_leading_1_stays_when_pictures_grow)
{
    qdq_input_shape s = shape_of("x", 3, 6, 8, 3);
    qdq_model *m =
        fixed("g (float[3,4,3] x) => (y) <int64[3] b = {1, -1, 3}> { y = Reshape(x, b) }", &s, 1);

    assert_string_equal(test_type(m, "y"), "float[1,48,3]");
    qdq_model_free(m);
}

TEST(a_shared_constant_keeps_its_other_uses)
{
    qdq_input_shape s = shape_of("x", 2, 6, 4, 0);
    qdq_model *m =
        fixed("g (float[1,4] x) => (y, z, k) <int64[2] k = {1, -1}, float[2,2] w = {1, 2, 3, 4}> {"
              " y = Reshape(x, k) z = Reshape(w, k) }",
              &s, 1);

    assert_string_equal(test_type(m, "y"), "float[6,4]");
    assert_string_equal(test_type(m, "z"), "float[1,4]");
    assert_int_equal(qdq_graph_find(m->graph, "k")->n_use, 1);
    qdq_model_free(m);
}

TEST(constants_from_nodes_follow_too)
{
    qdq_input_shape s = shape_of("x", 2, 6, 4, 0);
    qdq_model *m = fixed(
        "g (float[1,4] x) => (y) { k = Constant<value = int64[2] {1, 4}>() y = Reshape(x, k) }", &s,
        1);

    test_assert_text(m, "g (float[6,4] x) => (float[6,4] y) <\n  int64[2] k_1 = {6, 4}\n> {\n  y = "
                        "Reshape(x, k_1)\n}\n");
    qdq_model_free(m);
}

TEST(what_follows_by_itself_is_not_touched)
{
    qdq_input_shape s = shape_of("x", 2, 6, 4, 0);
    static const char text[] =
        "g (float[1,4] x) => (y, z) <int64[2] a = {-1, 2}, int64[3] b = {0, 2, 2}, "
        "int64[1] i = {0}, int64[1] j = {1}, int64[1] k = {-1}> {"
        " y = Reshape(x, a) z = Reshape(x, b) h = Shape(x) c = Slice(h, i, j) d = "
        "Concat<axis = 0>(c, k) w = Reshape(x, d) }";
    qdq_model *m = fixed(text, &s, 1);

    assert_string_equal(test_type(m, "y"), "float[12,2]");
    assert_string_equal(test_type(m, "z"), "float[6,2,2]");
    assert_string_equal(test_type(m, "w"), "float[6,4]");
    assert_int_equal(m->graph->inits.n, 5);
    qdq_model_free(m);
}

TEST(a_symbolic_batch_says_nothing_about_constants)
{
    qdq_input_shape s = shape_of("x", 2, 6, 4, 0);
    qdq_model *m =
        fixed("g (float[N,4] x) => (y) <int64[2] k = {1, -1}> { y = Reshape(x, k) }", &s, 1);

    assert_string_equal(test_type(m, "y"), "float[1,24]");
    qdq_model_free(m);
}

TEST(shapes_inside_branches_follow)
{
    qdq_input_shape s = shape_of("x", 2, 6, 4, 0);
    qdq_model *m =
        fixed("g (bool c, float[1,4] x) => (y) <int64[2] k = {1, 4}> {"
              " y = If<then_branch = t () => (p) { p = Reshape(x, k) }, else_branch = e () => (q) "
              "{ q = Relu(x) }>(c) }",
              &s, 1);

    assert_string_equal(test_type(m, "y"), "float[6,4]");
    qdq_model_free(m);
}

TEST(shapes_that_do_not_fit_are_refused)
{
    static const char plain[] =
        "g (float[N,3] x, float[N,4] z) => (y) <float[3,5] k = "
        "{1,2,3,4,5,6,7,8,9,10,11,12,13,14,15}> { [fc] y = Gemm(x, k) u = Relu(z) }";
    qdq_input_shape two[2];
    qdq_input_shape s;

    s = shape_of("nope", 1, 1, 0, 0);
    refused(plain, &s, 1, "shape for 'nope': the model has no input of that name");
    s = shape_of("y", 1, 1, 0, 0);
    refused(plain, &s, 1, "shape for 'y': the model has no input of that name");
    s = shape_of(NULL, 1, 1, 0, 0);
    refused(plain, &s, 1, "the model has no input of that name");
    s = shape_of("x", 3, 1, 3, 1);
    refused(plain, &s, 1, "shape for 'x': rank 3, the input has rank 2");
    s = shape_of("x", 13, 1, 3, 1);
    refused(plain, &s, 1, "shape for 'x': rank 13, want 0 to 12");
    s = shape_of("x", 2, 0, 3, 1);
    refused(plain, &s, 1, "shape for 'x': dim 0 is 0, want 1 or more");
    s = shape_of("x", 2, 2, 4, 1);
    refused(plain, &s, 1,
            "the shapes do not fit: node 'fc' (Gemm): inner dim of the second input is 3, want 4");
    two[0] = shape_of("x", 2, 2, 3, 0);
    two[1] = shape_of("z", 2, 4, 4, 0);
    refused(plain, two, 2, "shape for 'z': dim 'N' is 4 here and 2 elsewhere");
    two[1] = two[0];
    refused(plain, two, 2, "shape for 'x': given twice");
}

TEST(constants_and_odd_inputs_are_refused)
{
    qdq_input_shape s = shape_of("w", 1, 2, 0, 0);

    refused("<ir_version: 3, opset_import: [\"\" : 8]> g (float[2] x, float[2] w = {1, 2}) => (y) "
            "{ y = "
            "Add(x, w) }",
            &s, 1, "shape for 'w': a constant of the model");
    refused("g (w) => (y) { y = Relu(w) }", &s, 1, "no tensor of a known element type");
    refused("g (seq(float) w) => (y) { y = Identity(w) }", &s, 1,
            "no tensor of a known element type");
}

TEST(a_reshape_that_cannot_follow_is_refused)
{
    /* The batch is not in front where the constant has it. */
    qdq_input_shape s = shape_of("x", 3, 2, 5, 4);

    refused("g (float[1,5,4] x) => (y) <int64[3] k = {5, 2, 2}> { t = Transpose<perm = [1, 0, "
            "2]>(x) y = "
            "Reshape(t, k) }",
            &s, 1, "40 elements reshaped to 20");
    s = shape_of("x", 3, 3, 5, 4);
    refused("g (float[2,5,4] x) => (y) <int64[2] k = {5, 8}> { y = Reshape(x, k) }", &s, 1,
            "60 elements reshaped to 40");
}

TEST(an_input_without_shape_gets_one)
{
    qdq_input_shape s = shape_of("x", 2, 2, 3, 0);
    qdq_model *m = fixed("g (float[] x) => (y) { y = Transpose(x) }", &s, 1);

    assert_string_equal(test_type(m, "y"), "float[3,2]");
    qdq_model_free(m);
}

TEST(setting_the_same_shapes_twice_changes_nothing)
{
    qdq_input_shape s = shape_of("x", 3, 8, 5, 4);
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m =
        fixed("g (float[1,5,4] x) => (y) <int64[3] k = {1, -1, 2}> { y = Reshape(x, k) }", &s, 1);
    uint64_t edits = m->graph->edits;

    assert_ok(qdq_model_set_shapes(m, &s, 1, &err));
    assert_int_equal(m->graph->edits, edits);
    qdq_model_free(m);
}
