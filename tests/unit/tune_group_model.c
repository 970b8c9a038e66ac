/* tune_group_model.c - the shapes that inputs of groups have where callers say little. Groups as
 * models of their own are in text/groups. */
#include "tune/extract/shape_range.h"

#include "support/test.h"

static qdq_error err;

TEST(an_input_without_ends_has_its_usual_shape_there)
{
    const qdq_input_shape opt[] = {{"x", 1, {8}}, {"z", 1, {4}}}, max = {"z", 1, {6}};
    const qdq_shape_range_opts o = {{NULL, opt, &max}, {0, 2, 1}};
    qdq_model *m = test_graph(__func__);
    qdq_dims_range d;
    qdq_shape_range *r;

    assert_ok(qdq_shape_range_open(m, &o, &r, &err));
    assert_true(qdq_shape_range_of(r, qdq_graph_find(m->graph, "y"), &d));
    assert_false(d.dynamic);
    assert_int_equal(d.dim[QDQ_SHAPE_MAX][0], 8);
    assert_true(qdq_shape_range_of(r, qdq_graph_find(m->graph, "q"), &d));
    assert_int_equal(d.dim[QDQ_SHAPE_MIN][0], 4);
    assert_int_equal(d.dim[QDQ_SHAPE_MAX][0], 6);
    qdq_shape_range_close(r);
    qdq_model_free(m);
}

TEST(min_and_max_need_opt)
{
    const qdq_input_shape one = {"x", 3, {1, 2, 2}};
    const qdq_shape_range_opts o = {{&one, NULL, &one}, {1, 0, 1}};
    qdq_model *m = test_model("g (float[N,2,2] x) => (float[N,2,2] y) { y = Relu(x) }");
    qdq_shape_range *r;

    assert_fails(QDQ_E_USAGE, "expected the usual one", qdq_shape_range_open(m, &o, &r, &err));
    assert_null(r);
    qdq_model_free(m);
}

TEST(unknown_dims_count_1_unless_another_input_says_otherwise)
{
    static const qdq_input_shape given = {"a", 2, {3, 4}};
    qdq_model *m = test_graph(__func__);
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_input_shape *s;
    size_t n;

    assert_ok(qdq_usual_shapes(m, &given, 1, &arena, &s, &n, &err));
    assert_int_equal(n, 2);
    assert_string_equal(s[0].name, "a");
    assert_int_equal(s[0].dim[0], 3);
    assert_string_equal(s[1].name, "b");
    assert_true(s[1].rank == 3 && s[1].dim[0] == 1 && s[1].dim[1] == 3 && s[1].dim[2] == 2);
    assert_ok(qdq_usual_shapes(m, NULL, 0, &arena, &s, &n, &err));
    assert_true(n == 2 && s[0].dim[0] == 1 && s[1].dim[1] == 1);
    qdq_arena_free(&arena);
    qdq_model_free(m);
}
