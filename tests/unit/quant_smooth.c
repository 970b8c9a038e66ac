/* quant_smooth.c - activations divided in the constants that give them: what a plan that has it
 * does to a model. Which constants, and what stands against it, is in text/smooth. */
#include <stdio.h>

#include "ir/graph_check.h"
#include "qdq/quant.h"
#include "support/test.h"

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
    qdq_model *m = test_graph("norm"), *out = NULL;
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
    qdq_model *m = test_graph("named_norm"), *out = NULL;
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
    qdq_model *m = test_graph("two_products"), *out = NULL;
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
         "smoothing of 'x': node 'MatMul@y': it consumes the tensor, and is not a product"},
        {"{\"tensor\": \"a\", " AS_S ": [1, 2, 3, 4]}", "smoothing of 'a': node 'Mul@x'"},
    };
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = test_graph("product");

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
