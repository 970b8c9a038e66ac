/* tune_choices.c - what patterns offer, what that is in the space, and how schemes say it. */
#include "support/choices_setting.h"

/* --- choices ---------------------------------------------------------------------------------- */

TEST(choices_are_the_slot_groups_of_all_instances)
{
    setting s = open_setting(blocks(""), "ort-cpu");
    const qdq_pattern *stem = pattern_of(&s, "c0"), *block = pattern_of(&s, "a1");
    qdq_choices c = choices_of(&s, stem);

    assert_string_equal(text_of(&s, stem, &c), "*(0,0):3 c0/3");
    c = choices_of(&s, block);
    assert_string_equal(text_of(&s, block, &c),
                        "*(0,0):3 a1/3 a2/3 a3/3; *(2,0):3 b1/3 b2/3 b3/3; (3,0):3 s1/3 s2/3 s3/3");
    for (size_t i = 0; i < c.n; i++) {
        double sum = 0;
        for (size_t k = 0; k < 3; k++)
            sum += s.space->group[c.choice[i].group[k]].cost_ns;
        assert_true(sum > 0);
        assert_float_equal(c.choice[i].cost_ns, sum, 1e-9 * sum);
    }
    test_regioned_free(&s);
}

/* Where edges are placed, the operand from outside is one choice in all instances, whichever input
 * it is. */
TEST(swapped_operands_are_one_choice)
{
    setting s = open_setting(blocks(""), "tensorrt");
    const qdq_pattern *block = pattern_of(&s, "a1");
    qdq_choices c = choices_of(&s, block);

    assert_string_equal(text_of(&s, block, &c),
                        "*(0,0):3 a1/3 a2/3 a3/3; *(2,0):3 b1/3 b2/3 b3/3; (3,0):1 s1/2 s2/1 s3/2");
    test_regioned_free(&s);
}

TEST(choices_are_set_in_one_instance_or_in_all)
{
    setting s = open_setting(blocks(""), "ort-cpu");
    const qdq_pattern *block = pattern_of(&s, "a1");
    qdq_choices c = choices_of(&s, block);
    qdq_assign a = bits(&s, s.space->n_groups, 0), on = bits(&s, c.n, 5), off = bits(&s, c.n, 2);

    qdq_choices_apply(&c, block, 1, &on, &a);
    assert_string_equal(names_of(&s, &a), "a2/3 s2/3");
    qdq_choices_apply(&c, block, SIZE_MAX, &on, &a);
    assert_string_equal(names_of(&s, &a), "a1/3 s1/3 a2/3 s2/3 a3/3 s3/3");
    qdq_choices_apply(&c, block, 0, &off, &a);
    assert_string_equal(names_of(&s, &a), "b1/3 a2/3 s2/3 a3/3 s3/3");
    test_regioned_free(&s);
}

TEST(most_instances_decide_and_any_makes_the_union)
{
    setting s = open_setting(blocks(""), "ort-cpu");
    const qdq_pattern *block = pattern_of(&s, "a1");
    qdq_choices c = choices_of(&s, block);
    qdq_assign a = bits(&s, s.space->n_groups, 0), got = bits(&s, c.n, 7), mask = bits(&s, c.n, 1);

    qdq_choices_apply(&c, block, 0, &mask, &a); /* a1 */
    mask = bits(&s, c.n, 3);
    qdq_choices_apply(&c, block, 2, &mask, &a); /* a3 b3 */
    qdq_choices_vote(&c, block, &a, &got);
    assert_int_equal(number_of(&got), 1);
    qdq_choices_union(&c, block, &a, &got);
    assert_int_equal(number_of(&got), 3);
    /* only the third can take it: one of one */
    c.choice[1].group[0] = c.choice[1].group[1] = QDQ_NO_GROUP;
    qdq_choices_vote(&c, block, &a, &got);
    assert_int_equal(number_of(&got), 3);
    test_regioned_free(&s);
}

/* Instances may differ in what is legal for them. */
TEST(an_instance_without_the_slot_is_left_alone)
{
    setting s = open_setting(blocks(""), "ort-cpu");
    const qdq_pattern *block = pattern_of(&s, "a1");
    const qdq_node *second = qdq_graph_find(s.clean->graph, "b2")->producer;

    s.space->first_group[second->id] = QDQ_NO_GROUP;
    qdq_choices c = choices_of(&s, block);
    assert_string_equal(text_of(&s, block, &c),
                        "*(0,0):3 a1/3 a2/3 a3/3; *(2,0):3 b1/3 - b3/3; (3,0):3 s1/3 s2/3 s3/3");
    qdq_assign a = bits(&s, s.space->n_groups, 0), on = bits(&s, c.n, 2);
    qdq_choices_apply(&c, block, SIZE_MAX, &on, &a);
    assert_string_equal(names_of(&s, &a), "b1/3 b3/3");
    test_regioned_free(&s);
}

/* --- schemes ---------------------------------------------------------------------------------- */

static void expect_scheme(setting *s, const qdq_pattern *p, const qdq_choices *c, uint64_t on,
                          const char *points)
{
    qdq_assign mask = bits(s, c->n, on), back;
    qdq_scheme scheme;
    char text[500] = "";
    size_t n = 0;

    assert_ok(qdq_choices_to_scheme(c, &mask, &s->arena, &scheme, &err));
    for (size_t i = 0; i < scheme.node_inputs.n; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "(%d,%d)",
                              (int)scheme.node_inputs.at[i].node,
                              (int)scheme.node_inputs.at[i].index);
    assert_string_equal(text, points);
    assert_true(isinf(scheme.latency_ms) && !scheme.error && scheme.timestamp == NULL);
    assert_int_equal(scheme.child_inputs.n + scheme.outputs.n, 0);
    assert_ok(qdq_choices_from_scheme(c, p, s->space, &scheme, &s->arena, &back, &err));
    assert_true(qdq_assign_equal(&back, &mask));
}

TEST(every_set_of_choices_is_a_scheme_and_back)
{
    for (int t = 0; t < 2; t++) {
        setting s = open_setting(blocks(""), t == 0 ? "ort-cpu" : "tensorrt");
        const qdq_pattern *block = pattern_of(&s, "a1");
        qdq_choices c = choices_of(&s, block);

        expect_scheme(&s, block, &c, 0, "");
        expect_scheme(&s, block, &c, 1, "(0,0)");
        expect_scheme(&s, block, &c, 2, "(2,0)");
        expect_scheme(&s, block, &c, 3, "(0,0)(2,0)");
        expect_scheme(&s, block, &c, 4, t == 0 ? "(3,0)(3,1)" : "(3,0)");
        expect_scheme(&s, block, &c, 7, t == 0 ? "(0,0)(2,0)(3,0)(3,1)" : "(0,0)(2,0)(3,0)");
        test_regioned_free(&s);
    }
}

static uint64_t bits_of(setting *s, const qdq_pattern *p, const qdq_choices *c,
                        const qdq_scheme *scheme)
{
    qdq_assign a;

    assert_ok(qdq_choices_from_scheme(c, p, s->space, scheme, &s->arena, &a, &err));
    return number_of(&a);
}

/* The output of the first Relu is what the second Conv reads: a scheme with that point means the
 * same as one with the Conv's input, and is not measured again, because its bits are the same. */
TEST(the_same_resolved_set_is_the_same_bits)
{
    const qdq_scheme output = {.outputs = POINTS({-1, 1, 0})},
                     input = {.node_inputs = POINTS(NODE(2, 0))};
    const qdq_scheme conv_output = {.outputs = POINTS({-1, 0, 0})}; /* the Relu fuses: nothing */
    char a[33], b[33];

    setting s = open_setting(blocks(""), "ort-cpu");
    const qdq_pattern *block = pattern_of(&s, "a1");
    qdq_choices c = choices_of(&s, block);

    qdq_scheme_hash(&output, a);
    qdq_scheme_hash(&input, b);
    assert_string_not_equal(a, b);
    assert_int_equal(bits_of(&s, block, &c, &output), 2);
    assert_int_equal(bits_of(&s, block, &c, &input), 2);
    assert_int_equal(bits_of(&s, block, &c, &conv_output), 0);
    test_regioned_free(&s);
}

TEST(points_that_mean_nothing_here_are_left_out)
{
    const qdq_scheme strange = {.node_inputs =
                                    POINTS(NODE(0, 0), NODE(0, 40), NODE(1, 0), NODE(99, 0)),
                                .child_inputs = POINTS(CHILD(0, 0), CHILD(7, 1)),
                                .outputs = POINTS({-1, 77, 0}, {-1, 1, 5}, {3, -1, 0})};

    setting s = open_setting(blocks(""), "ort-cpu");
    const qdq_pattern *block = pattern_of(&s, "a1");
    qdq_choices c = choices_of(&s, block);

    assert_int_equal(bits_of(&s, block, &c, &strange), 1);
    test_regioned_free(&s);
}

/* Conv and Relu, whose output nobody reads: a point at it has nothing to quantize, and is not
 * offered. */
TEST(an_output_without_readers_is_no_choice)
{
    const qdq_scheme output = {.outputs = POINTS({-1, 1, 0})},
                     relu = {.node_inputs = POINTS(NODE(1, 0))};
    static const char *const targets[] = {"ort-cpu", "tensorrt"};

    for (size_t i = 0; i < QDQ_COUNT(targets); i++) {
        test_builder b = test_build(17);
        TEST_INPUT(&b, "x", 1, 64, 8, 8);
        test_conv(&b, "c", "x", 64, 64, 3, 1);
        TEST_NODE(&b, "Relu", "y", "c");
        test_output(&b, "y");
        setting s = open_setting(test_built(&b), targets[i]);
        const qdq_pattern *p = pattern_of(&s, "y");
        qdq_choices c = choices_of(&s, p);

        assert_string_equal(text_of(&s, p, &c), "*(0,0):3 c/3");
        assert_int_equal(bits_of(&s, p, &c, &output), 0);
        assert_int_equal(bits_of(&s, p, &c, &relu), 0);
        test_regioned_free(&s);
    }
}

/* Both products of two activations: a point at one operand stands for both. */
TEST(a_point_of_a_product_stands_for_both_operands)
{
    static const char *const targets[] = {"ort-cpu", "tensorrt"};
    const int64_t perm[3] = {0, 2, 1};

    for (size_t i = 0; i < QDQ_COUNT(targets); i++) {
        test_builder b = test_build(17);
        TEST_INPUT(&b, "x", 1, 64, 64);
        TEST_RANDOM(&b, "wq", 64, 64);
        TEST_RANDOM(&b, "wk", 64, 64);
        TEST_RANDOM(&b, "wv", 64, 64);
        TEST_RANDOM(&b, "scale", 1);
        TEST_NODE(&b, "MatMul", "q", "x", "wq");
        TEST_NODE(&b, "MatMul", "k", "x", "wk");
        assert_true(qdq_node_set_ints(TEST_NODE(&b, "Transpose", "t", "k"), "perm", perm, 3));
        TEST_NODE(&b, "MatMul", "qk", "q", "t");
        TEST_NODE(&b, "Div", "d", "qk", "scale");
        TEST_NODE(&b, "Softmax", "p", "d");
        TEST_NODE(&b, "MatMul", "v", "x", "wv");
        TEST_NODE(&b, "MatMul", "pv", "p", "v");
        test_output(&b, "pv");
        setting s = open_setting(test_built(&b), targets[i]);
        static const char *const products[] = {"qk", "pv"};

        for (size_t k = 0; k < QDQ_COUNT(products); k++) {
            const qdq_pattern *p = pattern_of(&s, products[k]);
            const qdq_node *node = qdq_graph_find(s.clean->graph, products[k])->producer;
            const uint32_t group = qdq_space_group_of(s.space, node, 0);
            qdq_choices c = choices_of(&s, p);
            int32_t at = 0;

            assert_int_not_equal(group, QDQ_NO_GROUP);
            assert_int_equal(qdq_space_group_of(s.space, node, 1), group);
            assert_int_equal(s.space->group[group].inputs, 3);
            while (p->instance[0].node[at] != node)
                at++;
            const qdq_scheme first = {.node_inputs = POINTS(NODE(at, 0))};
            uint64_t on = bits_of(&s, p, &c, &first);
            assert_int_equal(__builtin_popcountll(on), 1);
            assert_int_equal(c.choice[__builtin_ctzll(on)].group[0], group);
        }
        test_regioned_free(&s);
    }
}

/* Mul(p, p), slot 1 only. */
TEST(one_slot_of_a_square_is_a_point_of_its_own)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 16, 8, 8);
    test_conv(&b, "a", "x", 16, 16, 3, 1);
    TEST_NODE(&b, "GlobalAveragePool", "p", "a");
    TEST_NODE(&b, "Mul", "m", "p", "p");
    test_conv(&b, "y", "m", 16, 16, 3, 1);
    test_output(&b, "y");
    setting s = open_setting(test_built(&b), "tensorrt");
    const qdq_pattern *p = pattern_of(&s, "m");
    qdq_choices c = choices_of(&s, p);
    const qdq_scheme second = {.node_inputs = POINTS(NODE(2, 1))},
                     producer = {.outputs = POINTS({-1, 1, 0})};

    assert_string_equal(text_of(&s, p, &c),
                        "*(0,0):3 a/3; (1,0):1 p/1; (2,0):1 m/1; (2,1):2 m/2; *(3,0):3 y/3");
    assert_int_equal(bits_of(&s, p, &c, &second), 8);
    assert_int_equal(bits_of(&s, p, &c, &producer), 12); /* all readers */
    test_regioned_free(&s);
}

/* A cache that Model-Optimizer wrote has this pattern under our signature: Conv, Add and what fuses
 * (nothing). */
TEST(a_cache_of_model_optimizer_gives_seeds)
{
    char path[1024];
    qdq_pattern_cache cache;

    snprintf(path, sizeof path, "%s/tests/data/patterns/autotuner_state_pattern_cache.yaml",
             QDQ_SOURCE_DIR);
    assert_ok(qdq_pattern_cache_load(path, NULL, &cache, &err));
    setting s = open_setting(blocks(""), "ort-cpu");
    const qdq_pattern *block = pattern_of(&s, "a1");
    const qdq_pattern_schemes *known =
        qdq_pattern_cache_find(&cache, &(qdq_pattern_key){.signature = block->signature});
    qdq_choices c = choices_of(&s, block);

    assert_non_null(known);
    assert_int_equal(known->size, block->n_nodes);
    assert_int_equal(known->schemes.n, 2);
    /* (2,0) (3,0) (4,0), output of 4 */
    assert_int_equal(bits_of(&s, block, &c, &known->schemes.at[0]), 6);
    assert_int_equal(bits_of(&s, block, &c, &known->schemes.at[1]), 0);
    qdq_pattern_cache_free(&cache);
    test_regioned_free(&s);
}

/* --- composites ------------------------------------------------------------------------------- */

/* Leaves of two nodes: each of three residual blocks is a composite that the builder made. */
static setting open_composites(void)
{
    qdq_region_opts opts = QDQ_REGION_OPTS_INIT;
    test_builder b = test_build_planes();

    opts.max_region_size = opts.min_refine_size = 2;
    test_residual_blocks(&b, 0);
    test_output(&b, "e3");
    return test_regioned_open(test_built(&b), "ort-cpu", &opts);
}

/* The composite around the region of a value's producer. */
static const qdq_pattern *composite_of(const setting *s, const char *value)
{
    const qdq_region *r =
        s->regions->of[qdq_graph_find(s->clean->graph, value)->producer->id]->parent;

    assert_non_null(r);
    assert_int_equal(r->type, QDQ_REGION_COMPOSITE);
    return &s->patterns->pattern[r->pattern];
}

/* The child of its first instance that reads `value` from outside, or gives it (`gives`). */
static qdq_point child_point(setting *s, const qdq_pattern *p, const char *value, bool gives)
{
    const qdq_region *r = p->instance[0].region, **child = qdq_region_sorted_children(r, &s->arena);
    qdq_point found = {-1, -1, -1};

    for (size_t i = 0; i < r->children.n && found.region < 0; i++) {
        const qdq_value *const *at = gives ? child[i]->outputs.at : child[i]->inputs.at;
        const size_t n = gives ? child[i]->outputs.n : child[i]->inputs.n;
        for (size_t k = 0; k < n; k++)
            if (strcmp(at[k]->name, value) == 0)
                found = (qdq_point){(int32_t)i, -1, (int32_t)k};
    }
    assert_true(found.region >= 0);
    return found;
}

static qdq_boundary_points boundary_of(setting *s, const qdq_pattern *p, const qdq_scheme *scheme)
{
    qdq_boundary_points b;

    assert_ok(qdq_scheme_boundary(scheme, p, s->space, &s->arena, &b, &err));
    return b;
}

static void turn_on(const qdq_boundary_points *b, qdq_assign *a)
{
    for (size_t i = 0; i < b->n_groups; i++)
        qdq_assign_set(a, b->group[i], true);
}

/* What the leaves chose stays: a composite adds what reads the tensors that it names, and nothing
 * else. */
TEST(leaf_full_then_composite_inherits)
{
    setting s = open_composites();
    const qdq_pattern *block = composite_of(&s, "b1"), *last = pattern_of(&s, "c1");
    const qdq_scheme empty = {0},
                     middle = {.child_inputs = POINTS(child_point(&s, block, "b1", false))};
    const qdq_boundary_points none = boundary_of(&s, block, &empty),
                              some = boundary_of(&s, block, &middle);
    qdq_assign a = bits(&s, s.space->n_groups, 0), full, only = bits(&s, s.space->n_groups, 0);

    for (size_t i = 0; i < s.patterns->n; i++) {
        qdq_choices c = choices_of(&s, &s.patterns->pattern[i]);
        qdq_assign all = bits(&s, c.n, UINT64_MAX);
        assert_true(c.n == 0 || s.patterns->pattern[i].instance[0].region->type == QDQ_REGION_LEAF);
        qdq_choices_apply(&c, &s.patterns->pattern[i], SIZE_MAX, &all, &a);
    }
    assert_int_equal(qdq_assign_count(&a), s.space->n_groups);
    assert_true(qdq_assign_copy(&full, &a, &s.arena));
    turn_on(&none, &a);
    turn_on(&some, &a);
    assert_true(qdq_assign_equal(&a, &full));
    /* its leaf leaves it float: the composite has the last word */
    qdq_choices c = choices_of(&s, last);
    qdq_assign off = bits(&s, c.n, 0);
    qdq_choices_apply(&c, last, SIZE_MAX, &off, &a);
    turn_on(&none, &a);
    assert_false(qdq_assign_equal(&a, &full));
    turn_on(&some, &only);
    assert_string_equal(names_of(&s, &only), "c1/3 c2/3 c3/3");
    test_regioned_free(&s);
}

/* All that reads the tensor gets codes, in all instances, whichever region it is in. */
TEST(child_inputs_and_outputs_are_all_readers_of_the_tensor)
{
    setting s = open_composites();
    const qdq_pattern *block = composite_of(&s, "b1"), *stem = pattern_of(&s, "s");
    const qdq_point s_in = child_point(&s, block, "s", false),
                    b_in = child_point(&s, block, "b1", false),
                    e_out = child_point(&s, block, "e1", true);
    static const char thirds[] = "c1/3 c2/3 c3/3";
    const struct {
        const qdq_pattern *p;
        qdq_scheme scheme;
        const char *want;
        size_t points, lost;
    } cases[] = {
        {block, {.child_inputs = POINTS(s_in)}, "a1/3 d1/3 a2/3 d2/3 a3/3 d3/3", 1, 0},
        {block, {.outputs = POINTS(e_out)}, "a2/3 d2/3 a3/3 d3/3", 1, 0},
        {block, {.outputs = POINTS({-1, 0, 0})}, "", 1, 1}, /* it has no nodes of its own */
        {block, {.child_inputs = POINTS(CHILD(0, 9), CHILD(9, 0), CHILD(-1, 0))}, "", 3, 3},
        {block,
         {.child_inputs = POINTS(b_in, CHILD(7, 7)), .outputs = POINTS({7, -1, 7})},
         thirds,
         3,
         2},
        /* the first leaf of each block is like it: what reads b1, b2, b3 is another leaf, too */
        {stem, {.outputs = POINTS({-1, 1, 0})}, "a1/3 c1/3 d1/3 c2/3 c3/3", 1, 0},
        {stem, {.child_inputs = POINTS(CHILD(0, 0))}, "", 1, 1},
        {stem, {.node_inputs = POINTS(NODE(0, 0))}, "", 0, 0}, /* no point of a boundary */
    };

    for (size_t i = 0; i < QDQ_COUNT(cases); i++) {
        const qdq_boundary_points b = boundary_of(&s, cases[i].p, &cases[i].scheme);
        qdq_assign a = bits(&s, s.space->n_groups, 0);
        turn_on(&b, &a);
        assert_string_equal(names_of(&s, &a), cases[i].want);
        assert_true(b.n_points == cases[i].points && b.n_lost == cases[i].lost);
        assert_int_equal(b.n_groups, qdq_assign_count(&a));
    }
    test_regioned_free(&s);
}
