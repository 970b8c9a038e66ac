/* quant_bias_correct.c - corrections of biases: what a product's channels are, and what a plan's
 * corrections do to a graph. */
#include "ir/edit.h"
#include "ir/graph_check.h"
#include "quant/insert/insert.h"
#include "quant/plan/plan.h"
#include "quant/weights/linear_form.h"
#include "quant/weights/weights.h"
#include "support/test.h"

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17]>\n"

static const qdq_node *node_of(const qdq_model *m, const char *out)
{
    const qdq_value *v = qdq_graph_find(m->graph, out);

    assert_non_null(v);
    return v->producer;
}

/* --- products --------------------------------------------------------------------------------- */

typedef struct error_case {
    /* its attributes, inputs; dims and numbers of w */
    const char *node, *weight;
    size_t in, out;
    int axis;
    double mean[4], want[4];
} error_case;

/* The weight comes back as zeros: the error is the product of the means. */
TEST(the_error_of_a_product_is_that_of_its_definition)
{
    static const error_case cases[] = {
        {"Conv(x, w)", "float[2,2,1,2] w = {1, 2, 3, 4, 5, 6, 7, 8}", 2, 2, 1, {10, 1}, {37, 125}},
        {"Conv<group = 2>(x, w)", "float[2,1,1,2] w = {1, 2, 3, 4}", 2, 2, 1, {10, 1}, {30, 7}},
        {"Conv<group = 2>(x, w)",
         "float[4,1,1,1] w = {1, 2, 3, 4}",
         2,
         4,
         1,
         {10, 1},
         {10, 20, 3, 4}},
        {"Conv<group = 2>(x, w)",
         "float[2,2,1,1] w = {1, 2, 3, 4}",
         4,
         2,
         1,
         {10, 1, 3, 5},
         {12, 29}},
        {"ConvTranspose(x, w)",
         "float[2,3,1,1] w = {1, 2, 3, 4, 5, 6}",
         2,
         3,
         1,
         {10, 1},
         {14, 25, 36}},
        {"ConvTranspose<strides = [2, 1]>(x, w)", "float[1,1,2,1] w = {1, 2}", 1, 1, 1, {10}, {15}},
        {"ConvTranspose<group = 2>(x, w)",
         "float[2,2,1,1] w = {1, 2, 3, 4}",
         2,
         4,
         1,
         {10, 1},
         {10, 20, 3, 4}},
        {"MatMul(x, w)", "float[2,3] w = {1, 2, 3, 4, 5, 6}", 2, 3, -1, {10, 1}, {14, 25, 36}},
        {"Gemm(x, w)", "float[2,3] w = {1, 2, 3, 4, 5, 6}", 2, 3, 1, {10, 1}, {14, 25, 36}},
        {"Gemm<transA = 1, transB = 1>(x, w)",
         "float[2,3] w = {1, 2, 3, 4, 5, 6}",
         3,
         2,
         0,
         {10, 1, 0},
         {12, 45}},
        {"Gemm<alpha = 3.0, beta = 2.0>(x, w)", "float[1,2] w = {1, 2}", 1, 2, 1, {10}, {15, 30}},
    };

    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        const error_case *c = &cases[i];
        char text[400];
        const float zeros[16] = {0}, *w;
        double have[4] = {0};
        qdq_arena scratch = QDQ_ARENA_INIT;
        qdq_error err = QDQ_ERROR_INIT;
        qdq_linear_form f;

        snprintf(text, sizeof text, HEAD "h (float x) => (float y) <%s> { y = %s }", c->weight,
                 c->node);
        qdq_model *m = test_model(text);
        assert_null(qdq_linear_form_of(node_of(m, "y"), &f));
        assert_int_equal(f.in, c->in);
        assert_int_equal(f.out, c->out);
        assert_int_equal(f.axis, c->axis);
        assert_ok(
            qdq_weight_floats(qdq_value_const(qdq_graph_find(m->graph, "w")), &scratch, &w, &err));
        qdq_linear_error(&f, w, zeros, c->mean, have);
        for (size_t k = 0; k < f.out; k++)
            if (have[k] != c->want[k])
                fail_msg("%s: channel %zu is %g, want %g", c->node, k, have[k], c->want[k]);
        qdq_arena_free(&scratch);
        qdq_model_free(m);
    }
}

TEST(what_is_no_such_product_says_why)
{
    static const struct {
        const char *node, *weight, *why;
    } cases[] = {
        {"Conv(x, w)", "float[1] v = {1}", "its weight is not a float constant"},
        {"Conv(x, w)", "float[3] w = {1, 2, 3}", "its weight is not a float constant"},
        {"Conv(x, w)", "float[0,2,1,1] w", "its weight is not a float constant"},
        {"Conv<group = 0>(x, w)", "float[2,1] w = {1, 2}",
         "no weight whose channels fit its group"},
        {"Conv<group = -3>(x, w)", "float[2,1] w = {1, 2}",
         "no weight whose channels fit its group"},
        {"Conv<group = 3>(x, w)", "float[2,1] w = {1, 2}",
         "no weight whose channels fit its group"},
        {"Gemm<beta = 0.0>(x, w)", "float[1,2] w = {1, 2}", "its bias is multiplied by 0"},
        {"MatMul(x, w)", "float[1,1,2] w = {1, 2}", "its weight is not a matrix"},
        {"Gemm(x, w)", "float[1,1,2] w = {1, 2}", "its weight is not a matrix"},
        {"Mul(x, w)", "float[1,2] w = {1, 2}", "no sum over channels"},
    };

    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        bool constant =
            strstr(cases[i].weight, " w") != NULL && strstr(cases[i].weight, "[0,") == NULL;
        char text[400];
        qdq_linear_form f;

        snprintf(text, sizeof text, HEAD "h (float x%s) => (float y) <%s> { y = %s }",
                 constant ? "" : ", float w", constant ? cases[i].weight : "float[1] v = {1}",
                 cases[i].node);
        qdq_model *m = test_model(text);
        const char *why = qdq_linear_form_of(node_of(m, "y"), &f);
        if (why == NULL || strcmp(why, cases[i].why) != 0)
            fail_msg("%s: '%s', want '%s'", cases[i].node, why != NULL ? why : "", cases[i].why);
        qdq_model_free(m);
    }
}

/* --- plans ------------------------------------------------------------------------------------ */

#define MODEL                                                                                      \
    HEAD "h (float[1,2,2,2] x, float[2,2] r) => (float[1,2,2,2] a, float[1,2,2,2] b, "             \
         "float[1,2,2,2] c, "                                                                      \
         "float[2,2] g, float[2,2] s, float[2,2] q)\n"                                             \
         "<float[2,2,1,1] w = {1, 2, 3, 4}, float[2] one = {1, 2}, float[2] two = {5, 6}, "        \
         "float[2,2] v = "                                                                         \
         "{1, 2, 3, 4}, float[1] scalar = {3}, float[2,1] column = {1, 2}> {\n"                    \
         "  [A] a = Conv(x, w, one)\n  [B] b = Conv(x, w, one)\n  [C] c = Conv(x, w)\n"            \
         "  [G] g = Gemm(r, v, scalar)\n  [M] m = MatMul(r, v)\n  [S] s = Add(two, m)\n"           \
         "  [Q] q = Gemm(r, v, column)\n}\n"
#define FIX(tensor, node, input, delta)                                                            \
    "{\"tensor\": \"" tensor "\", \"consumer\": [\"" node "\", " #input "], \"delta\": " delta "}"

static qdq_plan *plan_of(const char *corrections, const char *more)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_plan *p = NULL;
    char text[2000];

    snprintf(text, sizeof text, "{\"qdq_plan\": 1, \"corrections\": [%s]%s}", corrections, more);
    assert_ok(qdq_plan_parse(text, strlen(text), "plan", &p, &err));
    return p;
}

static qdq_model *inserted(const char *corrections, const char *more)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model(MODEL);
    qdq_plan *p = plan_of(corrections, more);

    assert_ok(qdq_insert(m, p, NULL, NULL, &err));
    assert_ok(qdq_model_verify(m, &err));
    qdq_plan_free(p);
    return m;
}

static void assert_floats(const qdq_model *m, const char *node_out, uint32_t input, float first,
                          float second)
{
    const qdq_tensor *t = qdq_value_const(qdq_node_in(node_of(m, node_out), input));
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_error err = QDQ_ERROR_INIT;
    const float *x;

    assert_non_null(t);
    assert_int_equal(t->count, 2);
    assert_int_equal(t->rank, 1);
    assert_ok(qdq_weight_floats(t, &scratch, &x, &err));
    assert_true(x[0] == first && x[1] == second);
    qdq_arena_free(&scratch);
}

TEST(a_bias_that_two_read_is_copied_for_each)
{
    qdq_model *m = inserted(FIX("one", "A", 2, "[1, 0.5]"), "");
    assert_floats(m, "a", 2, 2, 2.5f);
    assert_floats(m, "b", 2, 1, 2);
    qdq_model_free(m);

    m = inserted(FIX("one", "A", 2, "[1, 0.5]") "," FIX("one", "B", 2, "[-1, -2]"), "");
    assert_floats(m, "a", 2, 2, 2.5f);
    assert_floats(m, "b", 2, 0, 0);
    qdq_model_free(m);
}

TEST(a_bias_of_its_own_keeps_its_name)
{
    qdq_model *m = inserted(FIX("two", "S", 0, "[1, -1]"), "");

    assert_floats(m, "s", 0, 6, 5);
    assert_string_equal(qdq_node_in(node_of(m, "s"), 0)->name, "two");
    qdq_model_free(m);
}

TEST(one_number_for_all_channels_becomes_one_for_each)
{
    qdq_model *m = inserted(FIX("scalar", "G", 2, "[1, -1]"), "");

    assert_floats(m, "g", 2, 4, 2);
    qdq_model_free(m);
}

TEST(a_product_without_a_bias_gets_one)
{
    qdq_model *m = inserted(FIX("fresh", "C", 2, "[1, -1]"), "");

    assert_floats(m, "c", 2, 1, -1);
    assert_string_equal(qdq_node_in(node_of(m, "c"), 2)->name, "fresh");
    qdq_model_free(m);
}

#define QUANTIZED                                                                                  \
    ", \"tensors\": [{\"tensor\": \"x\", \"type\": \"uint8\", \"scale\": 0.5, \"zero_point\": "    \
    "0}], "                                                                                        \
    "\"weights\": [{\"tensor\": \"w\", \"consumers\": [[\"A\", 1], [\"B\", 1], [\"C\", 1]], "      \
    "\"axis\": 0, "                                                                                \
    "\"type\": \"int8\", \"method\": \"given\", \"scales\": [0.5, 0.25]}], \"biases\": ["          \
    "{\"tensor\": \"one\", \"consumer\": [\"A\", 2], \"activation\": \"x\", \"weight\": \"w\"}, "  \
    "{\"tensor\": \"one\", \"consumer\": [\"B\", 2], \"activation\": \"x\", \"weight\": \"w\"}, "  \
    "{\"tensor\": \"fresh\", \"consumer\": [\"C\", 2], \"activation\": \"x\", \"weight\": \"w\"}]"

static void assert_codes(const qdq_model *m, const char *out, int32_t first, int32_t second)
{
    const qdq_node *dq = qdq_node_in(node_of(m, out), 2)->producer;
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_error err = QDQ_ERROR_INIT;
    int32_t codes[2];
    qdq_span bytes;

    assert_non_null(dq);
    assert_ok(qdq_tensor_data(qdq_value_const(dq->in[0].value), &scratch, &bytes, &err));
    assert_int_equal(bytes.size, sizeof codes);
    memcpy(codes, bytes.data, sizeof codes);
    assert_int_equal(codes[0], first);
    assert_int_equal(codes[1], second);
    qdq_arena_free(&scratch);
}

TEST(the_corrected_bias_becomes_int32)
{
    qdq_model *m =
        inserted(FIX("one", "A", 2, "[1, 0.5]") "," FIX("fresh", "C", 2, "[1, -1]"), QUANTIZED);

    assert_codes(m, "a", 8, 20); /* 2 / (0.5 * 0.5), 2.5 / (0.5 * 0.25) */
    assert_codes(m, "b", 4, 16);
    assert_codes(m, "c", 4, -8);
    assert_null(qdq_graph_find(m->graph, "one")); /* nothing is left of what they were made from */
    assert_null(qdq_graph_find(m->graph, "fresh"));
    assert_null(qdq_graph_find(m->graph, "one_corrected"));
    qdq_model_free(m);
}

TEST(import_gives_the_biases_under_their_names)
{
    qdq_model *m =
        inserted(FIX("one", "A", 2, "[1, 0.5]") "," FIX("fresh", "C", 2, "[1, -1]"), QUANTIZED);
    qdq_error err = QDQ_ERROR_INIT;
    qdq_plan *p = NULL;

    assert_ok(qdq_plan_import(m, NULL, &p, NULL, &err));
    assert_int_equal(p->tensors.n, 1);
    assert_int_equal(p->weights.n, 1);
    assert_int_equal(p->biases.n, 3);
    assert_int_equal(p->corrections.n, 0);
    assert_string_equal(p->biases.at[0].tensor, "fresh");
    assert_string_equal(p->biases.at[1].tensor, "one");
    qdq_plan_free(p);
    qdq_model_free(m);
}

TEST(a_plan_says_it_as_text)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_plan *p = plan_of(FIX("two", "S", 0, "[1, -0.1]") "," FIX("one", "B", 2, "[0, 2]"), ""),
             *again = NULL;
    char *text = NULL, *same = NULL;

    assert_ok(qdq_plan_to_text(p, &text, &err));
    assert_non_null(
        strstr(text, "\"corrections\": [\n    {\"tensor\": \"one\", \"consumer\": [\"B\", 2], "
                     "\"delta\": [0.0, 2.0]},\n    {\"tensor\": \"two\", \"consumer\": [\"S\", 0], "
                     "\"delta\": [1.0, -0.1]}\n  ]"));
    assert_ok(qdq_plan_parse(text, strlen(text), "again", &again, &err));
    assert_ok(qdq_plan_to_text(again, &same, &err));
    assert_string_equal(text, same);
    qdq_free(text);
    qdq_free(same);
    qdq_plan_free(p);
    qdq_plan_free(again);
}

TEST(what_does_not_fit_is_refused)
{
    static const struct {
        const char *corrections, *more, *message;
    } cases[] = {
        {FIX("one", "Z", 2, "[1, 2]"), "", "node 'Z'"},
        {FIX("none", "A", 2, "[1, 2]"), "", "bias 'none'"},
        {FIX("", "C", 2, "[1, 2]"), "", "bias ''"},
        {FIX("two", "A", 2, "[1, 2]"), "", "edge 'two' -> 'A' input 2"},
        {FIX("two", "C", 2, "[1, 2]"), "", "edge 'two' -> 'C' input 2"},
        {FIX("fresh", "C", 2, "[1, 2, 3]"), "", "bias 'fresh'"},
        {FIX("fresh", "C", 3, "[1, 2]"), "", "bias 'fresh'"},
        {FIX("fresh", "M", 2, "[1, 2]"), "", "bias 'fresh'"},
        {FIX("one", "A", 2, "[1]"), "", "bias 'one' of a product with 1 channels"},
        {FIX("w", "A", 1, "[1, 2]"), "", "bias 'w' of a product with 2 channels"},
        {FIX("v", "M", 1, "[1, 2]"), "", "bias 'v' of a product with 2 channels"},
        {FIX("column", "Q", 2, "[1, 2]"), "", "bias 'column' of a product with 2 channels"},
        {FIX("m", "S", 1, "[1, 2]"), "", "bias 'm' of a product with 2 channels"},
        {FIX("two", "S", 0, "[1, 2]"),
         ", \"tensors\": [{\"tensor\": \"two\", \"type\": \"uint8\", \"scale\": 1}]",
         "room for a correction of 'two', which is not a bias"},
        {FIX("two", "S", 0, "[3e38, 2]") "," FIX("two", "S", 0, "[3e38, 2]"), "",
         "correction of 'two': channel 0 is not finite"},
    };

    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        qdq_error err = QDQ_ERROR_INIT;
        qdq_model *m = test_model(MODEL);
        qdq_plan *p = plan_of(cases[i].corrections, cases[i].more);

        assert_int_equal(qdq_insert(m, p, NULL, NULL, &err), QDQ_E_FORMAT);
        if (strstr(err.text, cases[i].message) == NULL)
            fail_msg("'%s', want '%s'", err.text, cases[i].message);
        qdq_plan_free(p);
        qdq_model_free(m);
    }
}

TEST(wrong_deltas_are_mistakes_of_the_plan)
{
    static const char *const deltas[] = {"[]", "{}", "1", "[1, \"2\"]", "[1e39]", "[null]", "null"};

    for (size_t i = 0; i < QDQ_COUNT(deltas); i++) {
        qdq_error err = QDQ_ERROR_INIT;
        qdq_plan *p = NULL;
        char text[300];

        snprintf(
            text, sizeof text,
            "{\"qdq_plan\": 1, \"corrections\": [{\"tensor\": \"b\", \"consumer\": [\"A\", 2], "
            "\"delta\": %s}]}",
            deltas[i]);
        assert_int_equal(qdq_plan_parse(text, strlen(text), "plan", &p, &err), QDQ_E_FORMAT);
        assert_non_null(
            strstr(err.text, "corrections[0], key 'delta': expected a list of finite numbers"));
    }
}
