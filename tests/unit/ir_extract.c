/* ir_extract.c - the part of a model between some values and some others. */
#include "support/test.h"

#include "ir/edit.h"
#include "ir/graph_check.h"

static const char text[] = "g (float[2] x, float[2] z) => (float[2] y, float[2] u) <\n"
                           "  float[2] w = {1, 2},\n"
                           "  float[2] k = {3, 4}\n"
                           "> {\n"
                           "  a = Relu(x)\n"
                           "  b = Add(a, w)\n"
                           "  y = Mul(b, z)\n"
                           "  u = Sub(z, k)\n"
                           "}\n";

static qdq_model *extract(const char *from, const char *in0, const char *in1, const char *out0)
{
    const char *inputs[] = {in0, in1};
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model(from), *part = NULL;

    assert_ok(qdq_model_extract(m, inputs, (in0 != NULL) + (in1 != NULL), &out0, 1, &part, &err));
    qdq_model_free(m);
    assert_ok(qdq_model_verify(part, &err));
    return part;
}

static void assert_extract_fails(const char *in0, const char *in1, const char *out0,
                                 const char *out1, const char *part)
{
    const char *inputs[] = {in0, in1}, *outputs[] = {out0, out1};
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model(text), *out = NULL;

    assert_fails(QDQ_E_USAGE, part,
                 qdq_model_extract(m, inputs, (in0 != NULL) + (in1 != NULL), outputs,
                                   (out0 != NULL) + (out1 != NULL), &out, &err));
    assert_null(out);
    test_assert_text(m, text);
    qdq_model_free(m);
}

TEST(what_is_between_the_cuts_is_kept)
{
    qdq_model *m = extract(text, "b", "z", "y");

    test_assert_text(m, "g (float[2] b, float[2] z) => (float[2] y) {\n  y = Mul(b, z)\n}\n");
    qdq_model_free(m);
}

TEST(weights_that_are_needed_come_along)
{
    qdq_model *m = extract(text, "x", NULL, "b");

    test_assert_text(m, "g (float[2] x) => (float[2] b) <\n  float[2] w = {1, 2}\n> {\n"
                        "  a = Relu(x)\n  b = Add(a, w)\n}\n");
    qdq_model_free(m);
}

TEST(the_whole_model_is_a_part_of_itself)
{
    const char *inputs[] = {"x", "z"}, *outputs[] = {"y", "u"};
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model(text), *part = NULL;

    assert_ok(qdq_model_extract(m, inputs, 2, outputs, 2, &part, &err));
    test_assert_text(part, text);
    qdq_model_free(part);
    qdq_model_free(m);
}

TEST(weights_can_become_inputs_and_the_order_is_the_callers)
{
    qdq_model *m = extract(text, "w", "a", "b");

    test_assert_text(m, "g (float[2] w, float[2] a) => (float[2] b) {\n  b = Add(a, w)\n}\n");
    qdq_model_free(m);
}

TEST(a_node_with_one_output_cut_keeps_the_other)
{
    qdq_model *m =
        extract("g (float[2] x) => (float y) { a, b = Split(x) y = Add(a, b) }", "x", "a", "y");

    test_assert_text(
        m,
        "g (float[2] x, float[1] a) => (float[1] y) {\n  \"\", b = Split(x)\n  y = Add(a, b)\n}\n");
    qdq_model_free(m);
}

TEST(captured_values_count_as_needed)
{
    static const char nested[] = "g (bool c, float[2] x) => (float[2] y) { t = Relu(x) n = Neg(x)\n"
                                 "y = If <then_branch = a () => (float[2] p) { p = Abs(t) },"
                                 " else_branch = e () => (float[2] q) { q = Abs(x) }> (c) }";
    const char *inputs[] = {"c", "t"}, *outputs[] = {"y"};
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model(nested), *part = NULL;

    assert_fails(QDQ_E_USAGE, "the outputs also depend on 'x', expected inputs that cut all paths",
                 qdq_model_extract(m, inputs, 2, outputs, 1, &part, &err));
    inputs[1] = "x";
    assert_ok(qdq_model_extract(m, inputs, 2, outputs, 1, &part, &err));
    assert_ok(qdq_model_verify(part, &err));
    assert_int_equal(part->graph->n_node, 2); /* Neg is gone */
    qdq_model_free(part);
    qdq_model_free(m);
}

TEST(constants_that_may_be_overridden_stay_so)
{
    qdq_model *m = extract(
        "g (float k = {1}, float x, float l = {2}) => (float z) { y = Add(x, k) z = Add(y, l) }",
        "x", NULL, "y");

    test_assert_text(m, "g (float x, float k = {1}) => (float y) {\n  y = Add(x, k)\n}\n");
    qdq_model_free(m);
}

TEST(wrong_cuts_are_refused_by_name)
{
    assert_extract_fails("b", NULL, "y", NULL, "the outputs also depend on 'z'");
    assert_extract_fails(NULL, NULL, "y", NULL, "depend on 'z', 'x'");
    assert_extract_fails("nope", NULL, "y", NULL, "input 'nope' is no value of graph 'g'");
    assert_extract_fails("x", "z", "nope", NULL, "output 'nope' is no value of graph 'g'");
    assert_extract_fails("x", "x", "a", NULL, "input 'x' is given twice");
    assert_extract_fails("x", "z", "y", "y", "output 'y' is given twice");
    assert_extract_fails("x", "z", NULL, NULL, "found no outputs");
}

TEST(a_long_list_of_what_is_missing_is_cut_short)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model
        *m = test_model(
            "g (float a,float b,float c,float d,float e,float f,float h,float i,float j,float k)"
            " => (float y) { y = Sum(a,b,c,d,e,f,h,i,j,k) }"),
        *part = NULL;
    const char *outputs[] = {"y"};

    assert_fails(QDQ_E_USAGE, "'h', 'i' and 2 more",
                 qdq_model_extract(m, NULL, 0, outputs, 1, &part, &err));
    qdq_model_free(m);
}
