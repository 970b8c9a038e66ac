/* quant_smooth.c - activations divided in the constants that give them: which constants, what
 * stands against it, and what a plan that has it does to a model. */
#include <stdio.h>

#include "ir/graph_check.h"
#include "ir/shape.h"
#include "qdq/quant.h"
#include "quant/weights/smooth_fold.h"
#include "support/test.h"

#define HEAD "<ir_version: 10, opset_import: [\"\" : 23]>\n"

/* --- where the division can go ---------------------------------------------------------------- */

static qdq_smooth_fold fold_of(const qdq_model *m, int64_t count)
{
    const qdq_value *x = qdq_graph_find(m->graph, "x");
    qdq_smooth_fold f;

    assert_non_null(x);
    (void)qdq_smooth_find_fold(x, count, &f);
    return f;
}

/* Tensor "x" of 4 channels: its division goes into these constants, named in order. */
static void assert_folds(const char *text, const char *constants)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model(text);
    char names[200] = "";

    assert_ok(qdq_model_infer(m, NULL, &err));
    const qdq_smooth_fold f = fold_of(m, 4);
    if (f.n == 0)
        fail_msg("%s: %s", text, f.reason);
    for (size_t i = 0; i < f.n; i++)
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s/%d ",
                 f.part[i].node->in[f.part[i].input].value->name, f.part[i].axis);
    assert_string_equal(names, constants);
    qdq_model_free(m);
}

#define GRAPH(nodes, more)                                                                         \
    HEAD "g (float[2,4] a) => (float[2,3] y)\n"                                                    \
         "<float[4,3] w = {1,2,3,4,5,6,7,8,9,10,11,12}, float[4] g = {1,2,3,4}, "                  \
         "float[4] b = {5,6,7,8}, float[4,4] v = {1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7}" more           \
         ">\n{\n" nodes "\n  y = MatMul(x, w)\n}"

TEST(gains_and_biases_of_normalizations_take_the_division)
{
    assert_folds(GRAPH("x = LayerNormalization(a, g, b)", ""), "g/0 b/0 ");
    assert_folds(GRAPH("x = LayerNormalization(a, g)", ""), "g/0 ");
    assert_folds(GRAPH("x = RMSNormalization(a, g)", ""), "g/0 ");
    assert_folds(GRAPH("x = Mul(a, g)", ""), "g/0 ");
    assert_folds(GRAPH("n = Mul(a, g)\n x = Add(n, b)", ""), "b/0 g/0 ");
}

TEST(columns_of_products_take_the_division)
{
    assert_folds(GRAPH("x = MatMul(a, v)", ""), "v/1 ");
    assert_folds(GRAPH("n = MatMul(a, v)\n x = Add(b, n)", ""), "b/0 v/1 ");
    assert_folds(GRAPH("x = Gemm(a, v, b)", ""), "v/1 b/0 ");
    assert_folds(GRAPH("x = Gemm<transB = 1>(a, v)", ""), "v/0 ");
}

/* Heads of attention: channels go through a product with the weights of tokens. */
static const char attention[] =
    HEAD "g (float[1,s,4] a, float[1,2,s,s] p) => (float[1,s,3] y)\n"
         "<float[4,3] w = {1,2,3,4,5,6,7,8,9,10,11,12}, float[4] b = {5,6,7,8}, "
         "float[4,4] v = {1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7}, int64[4] heads = {1,-1,2,2}, "
         "int64[3] all = {1,-1,4}>\n{\n"
         "  m = MatMul(a, v)\n  n = Add(m, b)\n  r = Reshape(n, heads)\n"
         "  t = Transpose<perm = [0,2,1,3]>(r)\n  o = MatMul(p, t)\n"
         "  u = Transpose<perm = [0,2,1,3]>(o)\n  x = Reshape(u, all)\n  y = MatMul(x, w)\n}";

TEST(channels_are_followed_through_copies_and_attention)
{
    assert_folds(attention, "b/0 v/1 ");
    assert_folds(GRAPH("n = MatMul(a, v)\n x = Identity(n)", ""), "v/1 ");
}

TEST(what_does_not_keep_channels_or_has_other_consumers_is_left_alone)
{
    static const struct {
        const char *text, *node, *reason;
    } cases[] = {
        {GRAPH("x = Relu(a)", ""), "x", "it has no constants with one number for each channel"},
        {GRAPH("x = LayerNormalization(a, a)", ""), "x", "it has no constants"},
        {GRAPH("x = Mul(a, one)", ", float[1] one = {2}"), "x", "it has no constants"},
        {GRAPH("x = LayerNormalization<axis = 0>(a, q)", ", float[2,4] q = {1,2,3,4,5,6,7,8}"), "x",
         "it has no constants"},
        {GRAPH("n = Mul(a, g)\n x = Softmax(n)", ""), "x", "it has no constants"},
        {GRAPH("n = MatMul(a, v)\n t = Transpose(n)\n x = Reshape(t, shape)",
               ", int64[2] shape = {2,4}"),
         "x", "it has no constants"},
        {GRAPH("n = MatMul(a, v)\n r = Relu(n)\n x = Identity(n)", ""), "n",
         "its result has other consumers"},
        {GRAPH("x = Gemm(a, v, c)", ", float[1] c = {1}"), "x",
         "its bias is not one constant for each channel"},
        {GRAPH("x = MatMul(a, v)\n z = MatMul(a, v)", ""), "x", "its weight has other consumers"},
        {GRAPH("x = Mul(a, g)\n r = Relu(x)", ""), "r", "is no product of it and a constant"},
        {GRAPH("x = Mul(a, g)\n t = MatMul(x, a)", ""), "t", "is no product"},
        {GRAPH("x = Mul(a, g)\n t = Transpose(w)", ""), "y", "its weight has other consumers"},
        {GRAPH("x = DequantizeLinear(codes, s)", ", int8[2,4] codes = {1,2,3,4,5,6,7,8}, float s "
                                                 "= {1}"),
         "x", "it has no constants"},
        {GRAPH("x = Mul(a, g)\n t = QuantizeLinear(x, s)", ", float s = {1}"), "t",
         "is no product"},
        {HEAD "g (float[2,4] x) => (float[2,3] y)\n<float[4,3] w = "
              "{1,2,3,4,5,6,7,8,9,10,11,12}>\n{\n y = MatMul(x, w)\n}",
         NULL, "it is an input of the graph"},
        {HEAD "g (float[2,4] a) => (float[2,3] y, float[2,4] x)\n<float[4,3] w = "
              "{1,2,3,4,5,6,7,8,9,10,11,12}, float[4] g = {1,2,3,4}>\n{\n x = Mul(a, g)\n"
              " y = MatMul(x, w)\n}",
         "x", "its result is a graph output"},
        {HEAD "g (float[2,4] a, bool c) => (float[2,3] y, float[2,4] z)\n<float[4,3] w = "
              "{1,2,3,4,5,6,7,8,9,10,11,12}, float[4] g = {1,2,3,4}>\n{\n x = Mul(a, g)\n"
              " y = MatMul(x, w)\n z = If(c) <then_branch = t () => (float[2,4] p) { p = Neg(x) },"
              " else_branch = e () => (float[2,4] q) { q = Abs(x) }>\n}",
         "p", "a node of a subgraph consumes the tensor"},
    };
    qdq_error err = QDQ_ERROR_INIT;

    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        qdq_model *m = test_model(cases[i].text);

        assert_ok(qdq_model_infer(m, NULL, &err));
        const qdq_smooth_fold f = fold_of(m, 4);
        if (f.n > 0 || strstr(f.reason, cases[i].reason) == NULL)
            fail_msg("%s: %s, expected %s", cases[i].text, f.n > 0 ? "folds" : f.reason,
                     cases[i].reason);
        assert_true((f.node == NULL) == (cases[i].node == NULL));
        if (f.node != NULL && cases[i].node[0] != 'p')
            assert_string_equal(f.node->out[0]->name, cases[i].node);
        qdq_model_free(m);
    }
}

/* The heads have an open number, or are repeated. */
TEST(channels_that_cannot_be_followed_are_left_alone)
{
    static const char *const texts[] = {
        HEAD "g (float[1,s,h,2] u) => (float[1,s,3] y)\n"
             "<float[4,3] w = {1,2,3,4,5,6,7,8,9,10,11,12}, int64[3] all = {1,-1,4}>\n{\n"
             "  n = Identity(u)\n  x = Reshape(n, all)\n  y = MatMul(x, w)\n}",
        HEAD "g (float[1,1,s,2] t, float[1,2,s,s] p) => (float[1,s,3] y)\n"
             "<float[4,3] w = {1,2,3,4,5,6,7,8,9,10,11,12}, int64[3] all = {1,-1,4}>\n{\n"
             "  n = Identity(t)\n  o = MatMul(p, n)\n  u = Transpose<perm = [0,2,1,3]>(o)\n"
             "  x = Reshape(u, all)\n  y = MatMul(x, w)\n}",
    };
    static const char *const at[] = {"x", "o"};
    qdq_error err = QDQ_ERROR_INIT;

    for (size_t i = 0; i < QDQ_COUNT(texts); i++) {
        qdq_model *m = test_model(texts[i]);

        assert_ok(qdq_model_infer(m, NULL, &err));
        const qdq_smooth_fold f = fold_of(m, 4);
        assert_int_equal(f.n, 0);
        assert_string_equal(f.node->out[0]->name, at[i]);
        qdq_model_free(m);
    }
}

/* --- what a plan does ------------------------------------------------------------------------- */

static qdq_status parse(const char *smoothings, qdq_plan **p, qdq_error *err)
{
    char text[600];
    const int n =
        snprintf(text, sizeof text, "{\"qdq_plan\": 1, \"smoothings\": [%s]}", smoothings);

    return qdq_plan_parse(text, (size_t)n, "plan", p, err);
}

#define AS_S "\"smoothed\": \"s\", \"scales\""
#define TWO  "{\"tensor\": \"x\", " AS_S ": [1, 2, 4, 0.5]}"

static float number_of(const qdq_model *m, const char *name, int64_t i)
{
    const qdq_value *v = qdq_graph_find(m->graph, name);

    assert_non_null(v);
    return qdq_elem_float(QDQ_FLOAT, qdq_value_const(v)->bytes.data, i);
}

TEST(a_plan_divides_the_activation_and_multiplies_the_weight)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model(GRAPH("x = LayerNormalization(a, g, b)", "")), *out = NULL;
    qdq_plan *p = NULL;
    char *text = NULL;

    assert_ok(parse(TWO, &p, &err));
    assert_ok(qdq_plan_apply(p, m, true, NULL, &out, &err));
    assert_ok(qdq_model_verify(out, &err));
    assert_true(number_of(out, "g", 2) == 0.75f && number_of(out, "b", 3) == 16);
    assert_true(number_of(out, "w", 0) == 1 && number_of(out, "w", 4) == 10 &&
                number_of(out, "w", 11) == 6);
    assert_true(number_of(m, "g", 2) == 3); /* the caller's */
    assert_ok(qdq_plan_to_text(p, &text, &err));
    assert_non_null(strstr(text, "\"smoothings\": [\n    {\"tensor\": \"x\", \"smoothed\": \"s\", "
                                 "\"scales\": [1.0, 2.0, 4.0, 0.5]}\n  ]"));
    qdq_free(text);
    qdq_plan_free(p);
    qdq_model_free(out);
    qdq_model_free(m);
}

/* What is divided is another value than the one of that name in the input model: a comparison of
 * both by names would blame the layers behind it. Nodes go by what they were called before. */
TEST(what_is_divided_has_another_name)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_arena scratch = QDQ_ARENA_INIT;
    qdq_model *m =
                  test_model(GRAPH("[norm] n = LayerNormalization(a, g, b)\n x = Identity(n)", "")),
              *out = NULL;
    qdq_plan *p = NULL;

    assert_ok(parse(TWO, &p, &err));
    assert_ok(qdq_plan_apply(p, m, true, NULL, &out, &err));
    assert_ok(qdq_model_verify(out, &err));
    assert_null(qdq_graph_find(out->graph, "n"));
    assert_null(qdq_graph_find(out->graph, "x"));
    const qdq_value *n = qdq_graph_find(out->graph, "n_smoothed"),
                    *s = qdq_graph_find(out->graph, "s");
    assert_true(n != NULL && s != NULL && s->producer->in[0].value == n);
    assert_string_equal(qdq_node_label(n->producer, &scratch), "norm");
    assert_string_equal(qdq_node_label(s->producer, &scratch), "Identity@x");
    qdq_arena_free(&scratch);
    qdq_plan_free(p);
    qdq_model_free(out);
    qdq_model_free(m);
}

TEST(a_gain_that_others_consume_is_copied)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model(GRAPH("n = Mul(a, g)\n x = Mul(n, g)", "")), *out = NULL;
    qdq_plan *p = NULL;

    assert_ok(parse(TWO, &p, &err));
    assert_ok(qdq_plan_apply(p, m, true, NULL, &out, &err));
    assert_ok(qdq_model_verify(out, &err));
    assert_true(number_of(out, "g", 2) == 3 && number_of(out, "g_smoothed", 2) == 0.75f);
    qdq_plan_free(p);
    qdq_model_free(out);
    qdq_model_free(m);
}

TEST(smoothings_that_do_not_fit_are_rejected)
{
    static const struct {
        const char *smoothings, *message;
    } cases[] = {
        {"{\"tensor\": \"nothing\", " AS_S ": [1]}", "tensor 'nothing'"},
        {"{\"tensor\": \"x\", \"scales\": [1]}", "key 'smoothed'"},
        {"{\"tensor\": \"x\", \"smoothed\": \"a\", \"scales\": [1, 2, 3, 4]}",
         "smoothing of 'x': the model has a tensor 'a'"},
        {"{\"tensor\": \"x\", " AS_S ": [1, 2]}",
         "smoothing of 'x': node 'MatMul@y': it consumes the tensor, and is no product"},
        {"{\"tensor\": \"a\", " AS_S ": [1, 2, 3, 4]}", "smoothing of 'a': node 'Mul@x'"},
    };
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_model(GRAPH("x = Mul(a, g)", ""));

    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        qdq_model *out = NULL;
        qdq_plan *p = NULL;

        qdq_status st = parse(cases[i].smoothings, &p, &err);
        if (st == QDQ_OK)
            st = qdq_plan_apply(p, m, true, NULL, &out, &err);
        assert_fails(QDQ_E_FORMAT, cases[i].message, st);
        assert_null(out);
        qdq_plan_free(p);
    }
    qdq_model_free(m);
}

TEST(scales_of_smoothings_are_finite_numbers_above_0)
{
    static const char *const lists[] = {"", "0", "-1", "1e99", "\"1\""};
    qdq_error err = QDQ_ERROR_INIT;
    qdq_plan *p = NULL;

    for (size_t i = 0; i < QDQ_COUNT(lists); i++) {
        char text[200];

        snprintf(text, sizeof text, "{\"tensor\": \"x\", " AS_S ": [%s]}", lists[i]);
        assert_fails(QDQ_E_FORMAT, "smoothings[0], key 'scales'", parse(text, &p, &err));
    }
    assert_fails(QDQ_E_FORMAT, "smoothings[0]",
                 parse("{\"tensor\": \"x\", " AS_S ": [1], \"more\": 1}", &p, &err));
}
