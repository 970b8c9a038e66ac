/* tune_choices_import.c - choices from what a baseline with Q/DQ places: votes of instances, and
 * names of Model-Optimizer. */
#include "support/choices_setting.h"

/* --- baselines with Q/DQ ---------------------------------------------------------------------- */

/* What the pattern of `value` gets from a baseline. */
static void import(setting *s, const qdq_model *baseline, const char *value, bool any,
                   qdq_scheme *out)
{
    const qdq_pattern *p = pattern_of(s, value);
    qdq_choices c = choices_of(s, p);
    qdq_assign whole, mask = bits(s, c.n, 0);
    qdq_plan *plan;

    assert_ok(qdq_plan_import(baseline, NULL, &plan, NULL, &err));
    assert_ok(qdq_space_from_plan(s->space, plan, &whole, &s->arena, &err));
    (any ? qdq_choices_union : qdq_choices_vote)(&c, p, &whole, &mask);
    assert_ok(qdq_choices_to_scheme(&c, &mask, &s->arena, out, &err));
    qdq_plan_free(plan);
}

static bool has_node_input(const qdq_scheme *s, int32_t node, int32_t input)
{
    for (size_t i = 0; i < s->node_inputs.n; i++)
        if (s->node_inputs.at[i].node == node && s->node_inputs.at[i].index == input)
            return true;
    return false;
}

TEST(a_baseline_gives_the_input_of_the_conv)
{
    qdq_model *baseline = blocks("c0 a1 b1 s1");
    setting s = open_setting(blocks(""), "tensorrt");
    qdq_scheme scheme;

    assert_non_null(qdq_graph_find(baseline->graph, "x_QuantizeLinear_Output"));
    import(&s, baseline, "c0", false, &scheme);
    assert_int_equal(scheme.node_inputs.n, 1);
    assert_true(has_node_input(&scheme, 0, 0));
    qdq_model_free(baseline);
    test_regioned_free(&s);
}

/* Of three instances two have the first Conv in 8 bits, one the second. */
TEST(instances_that_disagree_vote)
{
    qdq_model *baseline = blocks("a1 a3 b2");
    setting s = open_setting(blocks(""), "tensorrt");
    qdq_scheme scheme;

    import(&s, baseline, "a1", false, &scheme);
    assert_int_equal(scheme.node_inputs.n, 1);
    assert_true(has_node_input(&scheme, 0, 0));
    import(&s, baseline, "a1", true, &scheme);
    assert_int_equal(scheme.node_inputs.n, 2);
    assert_true(has_node_input(&scheme, 0, 0) && has_node_input(&scheme, 2, 0));
    qdq_model_free(baseline);
    test_regioned_free(&s);
}

/* On ONNX Runtime, a kernel without Q behind it runs in float: a2 does not make it two of three. */
TEST(what_has_no_codes_behind_it_does_not_vote)
{
    qdq_model *baseline = blocks("c0 a1 b1 s1 a2");
    setting s = open_setting(blocks(""), "ort-cpu");
    qdq_scheme scheme;

    import(&s, baseline, "a1", false, &scheme);
    assert_int_equal(scheme.node_inputs.n, 0);
    import(&s, baseline, "a1", true, &scheme);
    assert_int_equal(scheme.node_inputs.n, 4);
    assert_true(has_node_input(&scheme, 0, 0) && has_node_input(&scheme, 2, 0));
    assert_true(has_node_input(&scheme, 3, 0) && has_node_input(&scheme, 3, 1));
    qdq_model_free(baseline);
    test_regioned_free(&s);
}

/* Where no one gave the weight codes: what is tuned gives them. */
TEST(a_baseline_of_activations_alone)
{
    test_builder b = test_build(17);
    TEST_INPUT(&b, "x", 1, 16, 16, 16);
    test_conv(&b, "c", dequantized(&b, "x"), 16, 16, 3, 1);
    test_output(&b, "c");
    qdq_model *baseline = test_built(&b);
    b = test_build(17);
    TEST_INPUT(&b, "x", 1, 16, 16, 16);
    test_conv(&b, "c", "x", 16, 16, 3, 1);
    test_output(&b, "c");
    setting s = open_setting(test_built(&b), "tensorrt");
    qdq_scheme scheme;

    import(&s, baseline, "c", false, &scheme);
    assert_int_equal(scheme.node_inputs.n, 1);
    assert_true(has_node_input(&scheme, 0, 0));
    qdq_model_free(baseline);
    test_regioned_free(&s);
}

/* --- names of Model-Optimizer's --------------------------------------------------------------- */

static const char *named_scalar(test_builder *b, const char *prefix, const char *base,
                                qdq_elem type)
{
    static char names[8][120];
    static unsigned turn;
    char *name = names[turn++ % 8];
    void *data;
    qdq_tensor *t = qdq_tensor_new(b->m, type, 1, (const int64_t[]){1}, &data);

    snprintf(name, sizeof names[0], "%s%s", prefix, base);
    assert_non_null(t);
    assert_true(type == QDQ_INT8 || qdq_elem_put_float(type, data, 0, 0.1));
    assert_non_null(qdq_graph_add_init(b->g, name, t));
    return name;
}

/* Q and DQ at `base` ("T_n2_i0", or "T_qdq" for all readers of T), nodes named with '/' and ':' as
 * '_'. */
static const char *modelopt_pair(test_builder *b, const char *x, const char *base,
                                 const char *plain)
{
    static char names[8][120];
    static unsigned turn;
    char *q = names[turn++ % 8], *dq = names[turn++ % 8], label[120];

    snprintf(q, sizeof names[0], "%s_quantized", base);
    snprintf(dq, sizeof names[0], "%s_dequantized", base);
    qdq_node *n = TEST_NODE(b, "QuantizeLinear", q, x, named_scalar(b, "q_scale_", base, QDQ_FLOAT),
                            named_scalar(b, "q_zp_", base, QDQ_INT8));
    snprintf(label, sizeof label, "QDQ_Q_%s", plain);
    n->name = qdq_intern(b->m, label);
    n = TEST_NODE(b, "DequantizeLinear", dq, q, named_scalar(b, "dq_scale_", base, QDQ_FLOAT),
                  named_scalar(b, "dq_zp_", base, QDQ_INT8));
    snprintf(label, sizeof label, "QDQ_DQ_%s", plain);
    n->name = qdq_intern(b->m, label);
    return dq;
}

/* `/l1/conv/Conv:0` is read by a Conv, which gets a pair of its own, and by another one, which
 * stays float; `a/b` and `a_b` would have the same names in Model-Optimizer. */
static qdq_model *slashes(bool with_qdq)
{
    test_builder b = test_build(19);
    const char *t = "/l1/conv/Conv:0";

    TEST_INPUT(&b, "x", 1, 16, 8, 8);
    TEST_RANDOM(&b, "w", 16, 16, 1, 1);
    TEST_RANDOM(&b, "a/b", 16, 16, 1, 1);
    TEST_RANDOM(&b, "a_b", 16, 16, 1, 1);
    TEST_NODE(&b, "Conv", t, with_qdq ? modelopt_pair(&b, "x", "x_qdq", "x_qdq") : "x",
              with_qdq ? modelopt_pair(&b, "w", "w_qdq", "w_qdq") : "w");
    TEST_NODE(&b, "Conv", "p",
              with_qdq ? modelopt_pair(&b, t, "/l1/conv/Conv:0_n2_i0", "_l1_conv_Conv_0_n2_i0") : t,
              with_qdq ? modelopt_pair(&b, "a/b", "a/b_qdq", "a_b_qdq") : "a/b");
    TEST_NODE(&b, "Conv", "q", t,
              with_qdq ? modelopt_pair(&b, "a_b", "a_b_qdq", "a_b_qdq") : "a_b");
    TEST_NODE(&b, "Concat", "y", "p", "q");
    assert_true(qdq_node_set_int(qdq_graph_find(b.g, "y")->producer, "axis", 1));
    test_output(&b, "y");
    return test_built(&b);
}

TEST(model_optimizers_names_are_imported)
{
    qdq_model *baseline = slashes(true);
    setting s = open_setting(slashes(false), "tensorrt");
    qdq_assign whole;
    qdq_plan *plan;

    assert_ok(qdq_plan_import(baseline, NULL, &plan, NULL, &err));
    assert_ok(qdq_space_from_plan(s.space, plan, &whole, &s.arena, &err));
    assert_string_equal(names_of(&s, &whole), "/l1/conv/Conv:0/3 p/3");
    qdq_plan_free(plan);
    qdq_model_free(baseline);
    test_regioned_free(&s);
}
