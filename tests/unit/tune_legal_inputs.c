/* tune_legal_inputs.c - which parts run on random numbers, and which would be given indices outside
 * or shapes of 0. */
#include "tune/isolate/legal_inputs.h"

#include "ir/shape.h"
#include "support/layers.h"
#include "support/test.h"

static qdq_error err;

#define HEAD "<ir_version: 9, opset_import: [\"\" : 17, \"com.microsoft\" : 1]>\n"

/* Why the group that gives y, alone, does not; "": it does. Static storage. */
static const char *why(const char *graph)
{
    static char text[400];
    test_layers none = {.n = 0};
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_shape_range *range;
    qdq_group_model *g;
    qdq_fusions *f;
    const char *found;

    snprintf(text, sizeof text, HEAD "%s", graph);
    qdq_model *m = test_model(text);
    assert_ok(qdq_model_infer(m, NULL, &err));
    assert_ok(qdq_fusions_find(m, none.at, 0, NULL, &f, &err));
    assert_ok(qdq_shape_range_open(m, NULL, &range, &err));
    const qdq_group_model_opts o = {.range = range};
    assert_ok(
        qdq_group_model_make(f, f->of[qdq_graph_find(m->graph, "y")->producer->id], &o, &g, &err));
    if (g->model == NULL)
        fail_msg("%s", g->why);
    assert_ok(qdq_legal_inputs(g, &arena, &found, &err));
    snprintf(text, sizeof text, "%s", found);
    qdq_arena_free(&arena);
    qdq_group_model_free(g);
    qdq_shape_range_close(range);
    qdq_fusions_free(f);
    qdq_model_free(m);
    return text;
}

TEST(numbers_are_legal)
{
    assert_string_equal(why("g (float[4] x) => (float[4] y) { y = Relu(x) }"), "");
    assert_string_equal(why("g (float16[4] x, bool[4] c) => (float16[4] y) { y = Where(c, x, x) }"),
                        "");
    assert_string_equal(why("g (int32[4] x) => (int32[4] y) { y = Add(x, x) }"), "");
    assert_string_equal(
        why("g (uint8[4] x) => (float[4] y) <float s = {1}> { y = DequantizeLinear(x, s) }"), "");
}

TEST(indices_are_legal_where_there_are_two_elements)
{
    assert_string_equal(
        why("g (int64[4] i) => (float[4,2] y) <float[2,2] t = {1,2,3,4}> { y = Gather(t, i) }"),
        "");
    assert_string_equal(
        why("g (int64[4] i) => (float[4,2] y) <float[1,2] t = {1,2}> { [g] y = Gather(t, i) }"),
        "random indices may be outside: 'i', for 'g'");
    assert_string_equal(why("g (int64[4] i) => (float[1,4] y) <float[1,2] t = {1,2}> { y = "
                            "Gather<axis = -1>(t, i) }"),
                        "");
    assert_string_equal(
        why("g (float[2,1] x, int64[3,2] i) => (float[3] y) { [g] y = GatherND(x, i) }"),
        "random indices may be outside: 'i', for 'g'");
}

TEST(sums_of_integers_are_no_indices)
{
    assert_string_equal(why("g (int64[4] i) => (float[4,2] y) <float[2,2] t = {1,2,3,4}> "
                            "{ [c] k = Identity(i)\n [g] y = Gather(t, k) }"),
                        "");
    assert_string_equal(why("g (int64[4] i) => (float[4,2] y) <float[2,2] t = {1,2,3,4}> "
                            "{ [a] j = Add(i, i)\n [g] y = Gather(t, j) }"),
                        "random indices may be outside: 'i', for 'g'");
}

TEST(shapes_and_divisors_are_not)
{
    assert_string_equal(why("g (int32[4] x, int32[4] d) => (int32[4] y) { [d] y = Div(x, d) }"),
                        "0 and 1 are not the shape that an integer input stands for: 'd', for 'd'");
    assert_string_equal(why("g (int32[4] x, int32[4] d) => (int32[4] y) <int32[4] two = {2,2,2,2}> "
                            "{ [d] y = Div(x, two) }"),
                        "");
}

TEST(what_nobody_knows_is_refused)
{
    assert_string_equal(why("g (float[4] x, int32[4] m) => (float[4] y) { [k] y = "
                            "com.microsoft.MaskedThing(x, m) }"),
                        "unknown which integers are legal: 'm', for 'k'");
    assert_string_equal(why("g (float[N,4] x) => (float[N,4] y) { y = Relu(x) }"),
                        "the usual shape of an input is not known: 'x'");
    assert_string_equal(
        why("g (float8e4m3fn[4] x) => (float[4] y) <float s = {1}> { y = DequantizeLinear(x, s) }"),
        "there are no random numbers of the type of an input: 'x'");
}
