/* tune_space.c - slot groups and the plans of assignments. A plan that the space makes is byte for
 * byte what quantize makes when its user excludes what the assignment leaves out. */
#include "support/space_setting.h"

/* --- groups ----------------------------------------------------------------------------------- */

TEST(what_computes_has_a_group_and_what_moves_data_has_none)
{
    setting s = open_setting(residual(), "ort-cpu");

    make_space(&s);
    assert_string_equal(groups_text(&s), "*c0:3 *c1:3 *c2:3 a:3 *c3:3 g:1 *y:3");
    assert_string_equal(assign_text(&s, &s.space->rules), "c1 c2 a c3 g y");
    for (size_t i = 0; i < s.space->n_groups; i++) {
        const qdq_decision *g = &s.space->group[i];

        assert_true(g->cost_ns > 0);
        assert_int_equal(qdq_space_group_of(s.space, g->node, 0), i);
        QDQ_FOR_USES (u, g->node->out[0])
            if (u->node->op == QDQ_OP_RELU || u->node->op == QDQ_OP_MAXPOOL)
                assert_int_equal(qdq_space_group_of(s.space, u->node, 0), QDQ_NO_GROUP);
    }
    put_away(&s);
}

TEST(what_the_user_excludes_has_no_group)
{
    static const char *const exclude[] = {"=c1", "^g$", NULL};

    setting s = open_setting(residual(), "ort-cpu");

    s.opts.exclude = exclude;
    make_space(&s);
    assert_string_equal(groups_text(&s), "*c0:3 *c2:3 a:3 *c3:3 *y:3");
    put_away(&s);
}

/* The branch of an Add that its kernel computes has none: there stands nothing between it and the
 * Add. */
TEST(a_target_of_partitions_has_a_group_for_each_edge)
{
    setting s = open_setting(residual(), "tensorrt");

    make_space(&s);
    assert_string_equal(groups_text(&s), "*c0:3 *c1:3 *c2:3 a:2 p:1 *c3:3 g:1 *y:3");
    put_away(&s);
}

/* --- plans ------------------------------------------------------------------------------------ */

TEST(the_plan_of_the_rules_is_that_of_quantize)
{
    static const char *const targets[] = {"ort-cpu", "tensorrt", "tensorrt-fp8", "int4"};

    for (size_t i = 0; i < 4; i++) {
        setting s = open_setting(residual(), targets[i]);
        qdq_model *want;
        qdq_plan *rules;

        make_space(&s);
        assert_ok(qdq_space_calibrate(
            s.space, &(qdq_space_scaling){s.head, s.engine, NULL, &s.opts, &s.known, 0}, &err));
        qdq_plan *p = plan_of(&s, &s.space->rules);
        assert_ok(qdq_quantize(s.m, s.target, s.engine, NULL, &s.opts, &rules, &want, &err));
        assert_int_equal(p->placement_only, rules->placement_only);
        assert_same_bytes(applied(&s, p), bytes_of(want));
        qdq_plan_free(p);
        qdq_plan_free(rules);
        qdq_model_free(want);
        put_away(&s);
    }
}

/* Eight samples, of which the first is a hundred times as large as the others. */
static qdq_data *samples_with_an_outlier(const qdq_model *m)
{
    static float x[8][3 * 16 * 16];
    const qdq_named_array in = {"x", {QDQ_FLOAT, 4, {8, 3, 16, 16}, x, sizeof x}};
    qdq_data *d;

    for (size_t i = 0; i < sizeof x / sizeof **x; i++)
        (&x[0][0])[i] = (float)((int)(i % 41) - 20) / (i < 3 * 16 * 16 ? 1 : 100);
    assert_ok(qdq_data_from_arrays(&in, 1, m, NULL, &d, &err));
    return d;
}

TEST(folds_have_scales_that_did_not_see_their_samples)
{
    setting s = open_setting(residual(), "ort-cpu");
    size_t found = 0;
    qdq_plan *p;

    make_space(&s);
    qdq_data *data = samples_with_an_outlier(s.m);
    const qdq_space_scaling from = {s.head, s.engine, data, &s.opts, &s.known, 4};
    assert_ok(qdq_space_calibrate(s.space, &from, &err));
    const qdq_assign all = assignment(&s, 127);
    assert_ok(qdq_space_plan(s.space, &all, &from, &p, &err));
    assert_int_equal(p->n_folds, 4);
    for (size_t i = 0; i < p->tensors.n; i++) {
        const qdq_plan_tensor *t = &p->tensors.at[i];

        if (strcmp(t->tensor, "x") != 0)
            continue;
        found++;
        assert_non_null(t->fold);
        assert_true(t->fold[0].scale < t->qparam.scale / 90);
        assert_true(t->fold[3].scale > t->qparam.scale / 1.1F);
    }
    assert_int_equal(found, 1);
    qdq_plan_free(p);
    qdq_data_close(data);
    put_away(&s);
}

/* All of them: each is what quantize makes with these exclusions; none needs another calibration;
 * and what it says of itself stands for the same plan. */
TEST(every_plan_is_one_that_quantize_makes)
{
    setting s = open_setting(residual(), "ort-cpu");
    qdq_target *bare;

    make_space(&s);
    assert_int_equal(s.space->n_groups, 7);
    assert_ok(qdq_target_load("ort-cpu", &bare, &err));
    assert_ok(qdq_target_set(bare, "stay_float", "[]", &err));
    assert_ok(qdq_space_calibrate(
        s.space, &(qdq_space_scaling){s.head, s.engine, NULL, &s.opts, &s.known, 0}, &err));
    const size_t known = s.known.by_use.n_live;
    for (uint64_t bits = 0; bits < 128; bits++) {
        const char *exclude[8] = {NULL};
        size_t n = 0;
        qdq_assign a = assignment(&s, bits), own;
        qdq_quantize_opts opts = s.opts;
        qdq_plan *by_user;
        qdq_model *want;

        qdq_plan *p = plan_of(&s, &a);
        for (size_t i = 0; i < 7; i++)
            if (!qdq_assign_get(&a, i))
                exclude[n++] = qdq_arena_printf(&s.arena, "=%s", s.space->group[i].node->name);
        opts.exclude = exclude;
        assert_ok(qdq_quantize(s.m, bare, s.engine, NULL, &opts, &by_user, &want, &err));
        assert_same_bytes(applied(&s, p), bytes_of(want));
        assert_ok(qdq_space_from_plan(s.space, p, &own, &s.arena, &err));
        for (size_t i = 0; i < 7; i++)
            assert_true(qdq_assign_get(&a, i) || !qdq_assign_get(&own, i));
        qdq_plan *again = plan_of(&s, &own);
        assert_same_bytes(applied(&s, p), applied(&s, again));
        qdq_plan_free(again);
        qdq_plan_free(by_user);
        qdq_model_free(want);
        qdq_plan_free(p);
    }
    assert_int_equal(s.known.by_use.n_live, known);
    qdq_target_free(bare);
    put_away(&s);
}

TEST(every_edge_of_a_target_of_partitions_can_be_left_out)
{
    setting s = open_setting(residual(), "tensorrt");

    make_space(&s);
    assert_ok(qdq_space_calibrate(
        s.space, &(qdq_space_scaling){s.head, s.engine, NULL, &s.opts, &s.known, 0}, &err));
    const size_t known = s.known.by_use.n_live;
    for (uint64_t bits = 0; bits < 256; bits++) {
        qdq_assign a = assignment(&s, bits), own;
        qdq_plan *p = plan_of(&s, &a);

        assert_ok(qdq_space_from_plan(s.space, p, &own, &s.arena, &err));
        for (size_t i = 0; i < a.n; i++)
            assert_true(qdq_assign_get(&a, i) || !qdq_assign_get(&own, i));
        if (bits == 255)
            assert_true(qdq_assign_equal(&a, &own));
        if (bits == 0)
            assert_int_equal(p->tensors.n + p->weights.n, 0);
        qdq_plan_free(p);
    }
    assert_int_equal(s.known.by_use.n_live, known);
    put_away(&s);
}

/* Two branches and a Concat: which tensors share a scale depends on what is quantized. */
static void
tensors_that_share_a_scale_in_one_assignment_alone_are_calibrated_when_it_comes(void **state)
{
    (void)state;
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 32, 8, 8);
    test_conv(&b, "a", "x", 32, 32, 3, 1);
    test_conv(&b, "b", "x", 32, 32, 3, 1);
    assert_true(qdq_node_set_int(TEST_NODE(&b, "Concat", "cc", "a", "b"), "axis", 1));
    test_conv(&b, "c", "cc", 32, 64, 3, 1);
    test_conv(&b, "d", "b", 32, 32, 3, 1);
    TEST_NODE(&b, "Add", "e", "c", "d");
    test_output(&b, "e");
    setting s = open_setting(test_built(&b), "ort-cpu");

    make_space(&s);
    assert_ok(qdq_space_calibrate(
        s.space, &(qdq_space_scaling){s.head, s.engine, NULL, &s.opts, &s.known, 0}, &err));
    for (uint64_t bits = 0; bits < (uint64_t)1 << s.space->n_groups; bits++) {
        qdq_assign a = assignment(&s, bits);
        qdq_scales fresh = {0};
        qdq_plan *p = plan_of(&s, &a), *alone;

        assert_ok(qdq_space_plan(s.space, &a,
                                 &(qdq_space_scaling){s.head, s.engine, NULL, &s.opts, &fresh, 0},
                                 &alone, &err));
        assert_same_bytes(applied(&s, p), applied(&s, alone));
        qdq_plan_free(p);
        qdq_plan_free(alone);
        qdq_scales_free(&fresh);
    }
    put_away(&s);
}

/* --- plans of assignments --------------------------------------------------------------------- */

/* What the plan has for tensor `name`: "all", or its readers as "Conv c1.0 ...", entries one behind
 * the other. */
static const char *readers_of(const qdq_plan *p, const char *name)
{
    static char text[500];
    size_t n = 0;

    text[0] = '\0';
    for (size_t i = 0; i < p->tensors.n; i++) {
        const qdq_plan_tensor *t = &p->tensors.at[i];

        if (strcmp(t->tensor, name) != 0)
            continue;
        if (t->all)
            n += (size_t)snprintf(text + n, sizeof text - n, "%sall", n > 0 ? ", " : "");
        for (size_t k = 0; !t->all && k < t->consumers.n; k++)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%s:%u", n > 0 ? ", " : "",
                                  t->consumers.at[k].node, (unsigned)t->consumers.at[k].input);
    }
    return text;
}

/* Groups by "NODE:INPUT" that are on; all others are off. */
static qdq_plan *plan_with(setting *s, const char *const *on)
{
    qdq_assign a = assignment(s, 0);

    for (; *on != NULL; on++) {
        char name[40];
        unsigned input;

        assert_int_equal(sscanf(*on, "%39[^:]:%u", name, &input), 2);
        const qdq_value *v = qdq_graph_find(s->clean->graph, name);
        assert_non_null(v);
        uint32_t group = qdq_space_group_of(s->space, v->producer, input);
        assert_int_not_equal(group, QDQ_NO_GROUP);
        qdq_assign_set(&a, group, true);
    }
    return plan_of(s, &a);
}
#define PLAN_WITH(s, ...) plan_with((s), (const char *const[]){__VA_ARGS__, NULL})

/* `r0` is read by a Conv and by an Add that another kernel leads to. */
TEST(edges_of_one_tensor_are_merged_or_stay_private)
{
    setting s = open_setting(residual(), "tensorrt");

    make_space(&s);
    assert_ok(qdq_space_calibrate(
        s.space, &(qdq_space_scaling){s.head, s.engine, NULL, &s.opts, &s.known, 0}, &err));
    qdq_plan *both = PLAN_WITH(&s, "c1:0", "c2:0", "a:1");
    assert_string_equal(readers_of(both, "r0"), "all"); /* one pair, both readers */
    qdq_plan *conv = PLAN_WITH(&s, "c1:0", "c2:0");
    assert_string_equal(readers_of(conv, "r0"), "c1:0"); /* the Add reads float */
    qdq_plan *add = PLAN_WITH(&s, "c2:0", "a:1");
    assert_string_equal(readers_of(add, "r0"), "a:1");
    qdq_plan_free(both);
    qdq_plan_free(conv);
    qdq_plan_free(add);
    put_away(&s);
}

/* `a/b` and `a_b` are two tensors, and somebody has taken the names that Q/DQ would get: none comes
 * twice. */
static qdq_model *alike_names(void)
{
    test_builder b = test_build(19);

    TEST_INPUT(&b, "x", 1, 16, 8, 8);
    TEST_RANDOM(&b, "w/1", 16, 16, 1, 1);
    TEST_RANDOM(&b, "w_1", 16, 16, 1, 1);
    TEST_RANDOM(&b, "w_2", 16, 16, 1, 1);
    TEST_NODE(&b, "Conv", "a/b", "x", "w/1");
    TEST_NODE(&b, "Conv", "a_b", "x", "w_1");
    TEST_NODE(&b, "Add", "s", "a/b", "a_b");
    TEST_NODE(&b, "Relu", "a/b_QuantizeLinear_Output", "s");
    TEST_NODE(&b, "Relu", "w_1_quantized", "a/b_QuantizeLinear_Output");
    TEST_NODE(&b, "Relu", "w/1_scale", "w_1_quantized");
    TEST_NODE(&b, "Conv", "y", "w/1_scale", "w_2");
    qdq_graph_find(b.g, "w/1_scale")->producer->name = qdq_intern(b.m, "x_QuantizeLinear");
    test_output(&b, "y");
    return test_built(&b);
}

static void no_name_comes_twice(const qdq_model *m)
{
    qdq_map nodes = QDQ_MAP_INIT, values = QDQ_MAP_INIT;
    bool is_new;

    QDQ_FOR_NODES (n, m->graph) {
        if (n->name != NULL && n->name[0] != '\0') {
            assert_non_null(qdq_map_put(&nodes, n->name, &is_new));
            if (!is_new)
                fail_msg("two nodes '%s'", n->name);
        }
        for (uint32_t i = 0; i < n->n_out; i++) {
            if (n->out[i] == NULL)
                continue;
            assert_non_null(qdq_map_put(&values, n->out[i]->name, &is_new));
            if (!is_new)
                fail_msg("two tensors '%s'", n->out[i]->name);
        }
    }
    QDQ_FOR_INITS(v, m->graph)
    {
        assert_non_null(qdq_map_put(&values, v->name, &is_new));
        if (!is_new)
            fail_msg("two tensors '%s'", v->name);
    }
    qdq_map_free(&nodes);
    qdq_map_free(&values);
}

/* Names are those of ONNX Runtime's tool; types are those of the tensor: a float16 model has
 * float16 scales, and DQ gives float16. */
TEST(names_stay_unique_and_types_fit)
{
    static const char *const targets[] = {"ort-cpu", "tensorrt"};

    for (size_t i = 0; i < 2 * QDQ_COUNT(targets); i++) {
        const bool half = i >= QDQ_COUNT(targets);
        setting s = open_setting(alike_names(), targets[i % QDQ_COUNT(targets)]);
        qdq_plan *plan;
        qdq_model *m;
        unsigned pairs = 0;

        if (half)
            assert_ok(qdq_target_set(s.target, "rest",
                                     "{\"type\": \"float16\", \"direct_io\": true}", &err));
        assert_ok(qdq_quantize(s.m, s.target, s.engine, NULL, &s.opts, &plan, &m, &err));
        assert_ok(qdq_model_verify(m, &err));
        no_name_comes_twice(m);
        QDQ_FOR_NODES (n, m->graph) {
            if (n->op != QDQ_OP_DEQUANTIZELINEAR)
                continue;
            const qdq_tensor *scale = qdq_value_const(qdq_node_in(n, 1));
            assert_non_null(scale);
            assert_int_equal(scale->elem, half ? QDQ_FLOAT16 : QDQ_FLOAT);
            assert_int_equal(n->out[0]->type->elem, half ? QDQ_FLOAT16 : QDQ_FLOAT);
            pairs++;
        }
        assert_true(pairs >= 4);
        assert_non_null(qdq_graph_find(m->graph, "a/b"));
        qdq_plan_free(plan);
        qdq_model_free(m);
        put_away(&s);
    }
}

/* Q/DQ of all groups, in float8; scales in `half` if the network is. */
static void expect_float8(setting *s, bool half)
{
    unsigned pairs = 0;

    make_space(s);
    assert_ok(qdq_space_calibrate(
        s->space, &(qdq_space_scaling){s->head, s->engine, NULL, &s->opts, &s->known, 0}, &err));
    qdq_assign all = assignment(s, UINT64_MAX);
    qdq_plan *plan = plan_of(s, &all);
    qdq_model *m;
    assert_ok(qdq_model_clone(s->clean, &m, &err));
    assert_ok(qdq_quantize_finish(m, plan, NULL, NULL, &err));
    assert_true(qdq_model_opset_of(m, "") >= 19 && m->ir_version >= 9);
    QDQ_FOR_NODES (n, m->graph) {
        if (n->op != QDQ_OP_QUANTIZELINEAR)
            continue;
        const qdq_tensor *zero = qdq_value_const(qdq_node_in(n, 2)),
                         *scales = qdq_value_const(qdq_node_in(n, 1));
        assert_int_equal(zero->elem, QDQ_FLOAT8E4M3FN);
        assert_int_equal(scales->elem, half ? QDQ_FLOAT16 : QDQ_FLOAT);
        assert_true(zero->rank == scales->rank && zero->count == scales->count);
        assert_true(zero->count == 1 && zero->bytes.data[0] == 0);
        pairs++;
    }
    assert_true(pairs >= 1);
    qdq_model_free(m);
    qdq_plan_free(plan);
}

static qdq_model *one_conv(void)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 32, 8, 8);
    test_conv(&b, "y", "x", 32, 32, 3, 1);
    test_output(&b, "y");
    return test_built(&b);
}

/* What int8 has as 0.1 is 0.1 * 127 / 448 in float8 (Model-Optimizer multiplies by the inverse,
 * which leaves most of the codes unused); the zero point is a byte 0; opset and IR are raised to
 * what can say so. */
TEST(float8_has_its_own_scale_and_opset)
{
    setting s = open_setting(one_conv(), "tensorrt-fp8");
    qdq_qscheme scheme = {.type = QDQ_INT8, .symmetric = true};
    qdq_qparam p;

    assert_true(qdq_qparam_from_range(&scheme, -12.7, 12.7, &p));
    assert_float_equal(p.scale, 0.1, 1e-7);
    scheme.type = QDQ_FLOAT8E4M3FN;
    assert_true(qdq_qparam_from_range(&scheme, -12.7, 12.7, &p));
    assert_float_equal(p.scale, 0.0283482, 1e-7);
    expect_float8(&s, false);
    put_away(&s);
}

TEST(a_network_in_float16_has_scales_in_float16)
{
    setting s = open_setting(one_conv(), "tensorrt-fp8");

    assert_ok(
        qdq_target_set(s.target, "rest", "{\"type\": \"float16\", \"direct_io\": true}", &err));
    expect_float8(&s, true);
    put_away(&s);
}

/* Mul(a, a) with only slot 1 chosen: slot 1 only. */
TEST(one_slot_of_a_square_is_chosen_alone)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 16, 8, 8);
    test_conv(&b, "a", "x", 16, 16, 3, 1);
    /* or the kernel of the Conv would take the Mul along */
    TEST_NODE(&b, "GlobalAveragePool", "p", "a");
    TEST_NODE(&b, "Mul", "m", "p", "p");
    test_conv(&b, "y", "m", 16, 16, 3, 1);
    test_output(&b, "y");
    setting s = open_setting(test_built(&b), "tensorrt");

    make_space(&s);
    assert_string_equal(groups_text(&s), "*a:3 p:1 m:1 m:2 *y:3");
    assert_ok(qdq_space_calibrate(
        s.space, &(qdq_space_scaling){s.head, s.engine, NULL, &s.opts, &s.known, 0}, &err));
    qdq_plan *second = PLAN_WITH(&s, "a:0", "m:1", "y:0"),
             *both = PLAN_WITH(&s, "a:0", "m:0", "m:1", "y:0");
    assert_string_equal(readers_of(second, "p"), "m:1");
    assert_string_equal(readers_of(both, "p"), "all");
    qdq_plan_free(second);
    qdq_plan_free(both);
    put_away(&s);
}

/* A linear operator never ends with its activation quantized and its weight not: in no
 * assignment. */
TEST(a_linear_operator_has_codes_for_both_operands_or_none)
{
    static const char *const targets[] = {"ort-cpu", "tensorrt"};

    for (size_t i = 0; i < 2; i++) {
        setting s = open_setting(residual(), targets[i]);

        make_space(&s);
        assert_ok(qdq_space_calibrate(
            s.space, &(qdq_space_scaling){s.head, s.engine, NULL, &s.opts, &s.known, 0}, &err));
        for (uint64_t bits = 0; bits < (uint64_t)1 << s.space->n_groups; bits++) {
            qdq_assign a = assignment(&s, bits);
            qdq_plan *p = plan_of(&s, &a);
            bool weight[64] = {false};

            for (size_t k = 0; k < p->weights.n; k++) {
                const qdq_edge *e = &p->weights.at[k].consumers.at[0];
                const qdq_value *v = qdq_graph_find(s.clean->graph, e->node);

                weight[v->producer->id] = true;
                assert_int_equal(e->input, 1);
            }
            for (size_t g = 0; g < s.space->n_groups;
                 g++) /* chosen, and so its weight: or the node is all float */
                if (s.space->group[g].linear && !qdq_assign_get(&a, g))
                    assert_false(weight[s.space->group[g].node->id]);
            for (size_t k = 0; k < p->quantized.n; k++) {
                const qdq_value *v = qdq_graph_find(s.clean->graph, p->quantized.at[k].node);
                uint32_t g = qdq_space_group_of(s.space, v->producer, 1);

                if (g != QDQ_NO_GROUP && s.space->group[g].linear)
                    assert_true(weight[v->producer->id]);
            }
            qdq_plan_free(p);
        }
        put_away(&s);
    }
}

TEST(an_imported_plan_is_an_assignment)
{
    setting s = open_setting(residual(), "ort-cpu");
    qdq_plan *imported;
    qdq_model *m;
    qdq_assign a;

    make_space(&s);
    qdq_plan *p = plan_of(&s, &s.space->rules);
    assert_ok(qdq_model_clone(s.clean, &m, &err));
    assert_ok(qdq_quantize_finish(m, p, NULL, NULL, &err));
    assert_ok(qdq_plan_import(m, NULL, &imported, NULL, &err));
    assert_ok(qdq_space_from_plan(s.space, imported, &a, &s.arena, &err));
    assert_string_equal(assign_text(&s, &a), assign_text(&s, &s.space->rules));
    qdq_plan_free(imported);
    qdq_model_free(m);
    qdq_plan_free(p);
    put_away(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_computes_has_a_group_and_what_moves_data_has_none),
        cmocka_unit_test(what_the_user_excludes_has_no_group),
        cmocka_unit_test(a_target_of_partitions_has_a_group_for_each_edge),
        cmocka_unit_test(the_plan_of_the_rules_is_that_of_quantize),
        cmocka_unit_test(folds_have_scales_that_did_not_see_their_samples),
        cmocka_unit_test(every_plan_is_one_that_quantize_makes),
        cmocka_unit_test(every_edge_of_a_target_of_partitions_can_be_left_out),
        cmocka_unit_test(
            tensors_that_share_a_scale_in_one_assignment_alone_are_calibrated_when_it_comes),
        cmocka_unit_test(edges_of_one_tensor_are_merged_or_stay_private),
        cmocka_unit_test(one_slot_of_a_square_is_chosen_alone),
        cmocka_unit_test(names_stay_unique_and_types_fit),
        cmocka_unit_test(float8_has_its_own_scale_and_opset),
        cmocka_unit_test(a_network_in_float16_has_scales_in_float16),
        cmocka_unit_test(a_linear_operator_has_codes_for_both_operands_or_none),
        cmocka_unit_test(an_imported_plan_is_an_assignment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
