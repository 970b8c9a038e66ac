/* tune_space_partial.c - linear operators whose weight alone or activation alone has codes: what an
 * assignment says of them, the plan, its text, and the model. */
#include "tune/space/space_partial.h"

#include "base/random.h"
#include "ir/graph_check.h"
#include "support/build.h"
#include "support/placed.h"
#include "support/spaced.h"

static qdq_error err;

/* c0 -> Relu -> c1 -> c2 + shortcut -> Softmax; a product of two activations; a MatMul, [K, N] =
 * [16, 24], and a Gemm that is transposed. r0 has three readers, two of which are linear. */
static qdq_model *network(void)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 16, 8, 8);
    test_conv(&b, "c0", "x", 16, 16, 3, 1);
    TEST_NODE(&b, "Relu", "r0", "c0");
    test_conv(&b, "c1", "r0", 16, 16, 3, 1);
    test_conv(&b, "c2", "r0", 16, 16, 1, 16);
    TEST_NODE(&b, "Softmax", "sm", "r0");
    TEST_NODE(&b, "Add", "a", "c1", "c2");
    TEST_NODE(&b, "MatMul", "mm", "a", "sm");
    TEST_NODE(&b, "GlobalAveragePool", "g", "mm");
    TEST_NODE(&b, "Flatten", "f", "g");
    TEST_RANDOM(&b, "w", 16, 24);
    TEST_NODE(&b, "MatMul", "p", "f", "w");
    TEST_RANDOM(&b, "v", 10, 24);
    TEST_RANDOM(&b, "bias", 10);
    assert_true(qdq_node_set_int(TEST_NODE(&b, "Gemm", "y", "p", "v", "bias"), "transB", 1));
    test_output(&b, "y");
    return test_built(&b);
}

/* What the plan says: tensors with their readers, then weights, then biases, by name. */
static const char *entries_text(const qdq_plan *p)
{
    static char text[3000];
    size_t n = 0;

    text[0] = '\0';
    for (size_t i = 0; i < p->tensors.n; i++) {
        const qdq_plan_tensor *t = &p->tensors.at[i];

        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s>", n > 0 ? " " : "", t->tensor);
        if (t->all)
            n += (size_t)snprintf(text + n, sizeof text - n, "all");
        for (size_t k = 0; !t->all && k < t->consumers.n; k++)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%s:%u", k > 0 ? "," : "",
                                  t->consumers.at[k].node, (unsigned)t->consumers.at[k].input);
    }
    for (size_t i = 0; i < p->weights.n; i++) {
        const qdq_plan_weight *w = &p->weights.at[i];

        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s[%d]>", n > 0 ? " " : "", w->tensor,
                              w->axis);
        for (size_t k = 0; k < w->consumers.n; k++)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%s:%u", k > 0 ? "," : "",
                                  w->consumers.at[k].node, (unsigned)w->consumers.at[k].input);
    }
    for (size_t i = 0; i < p->biases.n; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", n > 0 ? " " : "",
                              p->biases.at[i].tensor);
    return text;
}

static const qdq_plan_tensor *tensor_entry(const qdq_plan *p, const char *name)
{
    for (size_t i = 0; i < p->tensors.n; i++)
        if (strcmp(p->tensors.at[i].tensor, name) == 0)
            return &p->tensors.at[i];
    return NULL;
}

static void expect_entries(test_space *t, const char *parts, const char *want)
{
    qdq_assign a = test_space_parts(t, parts);
    qdq_plan *p = test_space_plan(t, &a);

    assert_string_equal(entries_text(p), want);
    qdq_plan_free(p);
}

/* --- assignments ------------------------------------------------------------------------------ */

TEST(linear_operators_with_a_constant_weight_have_halves)
{
    static const char *const targets[] = {"ort-cpu", "tensorrt"};

    for (size_t i = 0; i < QDQ_COUNT(targets); i++) {
        test_space t = test_space_open(network(), targets[i]);

        assert_int_equal(qdq_space_scheme_bits(t.s), 3 * t.s->n_groups);
        for (size_t k = 0; k < t.s->n_groups; k++) {
            const char *name = t.s->group[k].node->out[0]->name;
            bool linear = strchr("cpy", name[0]) != NULL;

            assert_int_equal(qdq_space_has_partial(t.s, k), linear);
        }
        test_space_close(&t);
    }
}

TEST(where_activations_stay_float_the_weight_is_the_whole)
{
    test_space t = test_space_open(network(), "int4");

    assert_true(t.s->n_groups > 0);
    for (size_t i = 0; i < t.s->n_groups; i++)
        assert_false(qdq_space_has_partial(t.s, i));
    test_space_close(&t);
}

/* c has its weight in codes already, d its activation; e has neither. */
TEST(what_the_model_has_in_codes_already_is_no_half)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 16, 8, 8);
    TEST_CODES(&b, "cw", QDQ_INT8, 0, 16, 16, 1, 1);
    TEST_NODE(&b, "Conv", "c", "x", "cw.dq");
    test_qdq(&b, "c", QDQ_UINT8, 0.05f, 128);
    test_conv(&b, "d", "c.dq", 16, 16, 1, 1);
    TEST_NODE(&b, "Exp", "exp", "d");
    test_conv(&b, "e", "exp", 16, 16, 1, 1);
    TEST_NODE(&b, "Exp", "y", "e");
    test_output(&b, "y");
    test_space t = test_space_open(test_built(&b), "ort-cpu");
    assert_true(t.s->n_groups >= 2);
    for (size_t i = 0; i < t.s->n_groups; i++)
        assert_int_equal(qdq_space_has_partial(t.s, i),
                         strcmp(t.s->group[i].node->out[0]->name, "e") == 0);
    test_space_close(&t);
}

TEST(of_the_three_bits_of_a_group_one_is_on)
{
    test_space t = test_space_open(network(), "ort-cpu");
    const uint32_t c1 = test_space_group(&t, "c1"), a = test_space_group(&t, "a");
    qdq_assign x = test_space_parts(&t, ""), few;

    for (unsigned from = 0; from < 4; from++)
        for (unsigned to = 0; to < 4; to++) {
            qdq_space_set_part(t.s, &x, c1, (qdq_space_part)from);
            qdq_space_set_part(t.s, &x, c1, (qdq_space_part)to);
            assert_int_equal(qdq_space_get_part(t.s, &x, c1), to);
            assert_int_equal(qdq_assign_count(&x), to > 0);
        }
    qdq_space_set_part(t.s, &x, c1, QDQ_PART_NONE);
    qdq_space_set_part(t.s, &x, a, QDQ_PART_WEIGHT); /* an Add has none */
    assert_int_equal(qdq_assign_count(&x), 0);
    qdq_assign_set(&x, t.s->n_groups + a, true); /* and by hand it counts for nothing */
    assert_int_equal(qdq_space_get_part(t.s, &x, a), QDQ_PART_NONE);
    for (size_t third = 0; third < 3; third++) /* the first one counts */
        qdq_assign_set(&x, third * t.s->n_groups + c1, true);
    assert_int_equal(qdq_space_get_part(t.s, &x, c1), QDQ_PART_FULL);
    qdq_assign_set(&x, c1, false);
    assert_int_equal(qdq_space_get_part(t.s, &x, c1), QDQ_PART_WEIGHT);

    assert_true(qdq_assign_new(&few, t.s->n_groups, &t.arena));
    qdq_space_set_part(t.s, &few, c1, QDQ_PART_ACTIVATION); /* there is no bit for it */
    assert_int_equal(qdq_assign_count(&few), 0);
    qdq_space_set_part(t.s, &few, c1, QDQ_PART_FULL);
    assert_int_equal(qdq_space_get_part(t.s, &few, c1), QDQ_PART_FULL);
    test_space_close(&t);
}

/* --- plans ------------------------------------------------------------------------------------ */

TEST(without_halves_the_plan_is_that_of_the_full_bits)
{
    test_space t = test_space_open(network(), "ort-cpu");
    qdq_assign x = test_space_parts(&t, "c1:full c2:full a:full p:full"), few;
    char *text, *want;

    assert_true(qdq_assign_new(&few, t.s->n_groups, &t.arena));
    for (size_t i = 0; i < few.n; i++)
        qdq_assign_set(&few, i, qdq_assign_get(&x, i));
    qdq_assign_set(&x, t.s->n_groups + test_space_group(&t, "a"), true); /* no half of anything */
    qdq_plan *p = test_space_plan(&t, &x), *q = test_space_plan(&t, &few);
    assert_ok(qdq_plan_to_text(p, &text, &err));
    assert_ok(qdq_plan_to_text(q, &want, &err));
    assert_string_equal(text, want);
    qdq_free(text);
    qdq_free(want);
    qdq_plan_free(p);
    qdq_plan_free(q);
    test_space_close(&t);
}

/* Axes of weights: Conv 0, MatMul the last one, Gemm 0 if it is transposed. */
TEST(a_weight_alone_is_one_entry_and_no_bias)
{
    test_space t = test_space_open(network(), "ort-cpu");

    expect_entries(&t, "c1:weight", "c1.w[0]>c1:1");
    expect_entries(&t, "c2:weight", "c2.w[0]>c2:1");
    expect_entries(&t, "p:weight y:weight", "v[0]>y:1 w[1]>p:1");
    qdq_assign a = test_space_parts(&t, "c1:weight");
    qdq_plan *p = test_space_plan(&t, &a);
    assert_string_equal(test_reason(p, "c1"), "only its weight is quantized");
    assert_false(test_is_quantized(p, "c1"));
    assert_int_equal(qdq_plan_get_summary(p)->n_weights, 1);
    assert_int_equal(qdq_plan_get_summary(p)->n_quantized, 0);
    assert_int_equal(qdq_plan_get_summary(p)->n_left_float, p->left_float.n);
    qdq_plan_free(p);
    test_space_close(&t);
}

TEST(an_activation_alone_is_one_edge_and_no_result)
{
    test_space t = test_space_open(network(), "ort-cpu");

    expect_entries(&t, "c1:activation", "r0>c1:0");
    expect_entries(&t, "p:activation", "f>all"); /* nobody else reads it */
    expect_entries(&t, "c1:activation c2:activation", "r0>c1:0,c2:0");
    qdq_assign a = test_space_parts(&t, "c1:activation"), everything = test_space_parts(&t, "");
    for (size_t i = 0; i < t.s->n_groups; i++)
        qdq_assign_set(&everything, i, true);
    qdq_plan *p = test_space_plan(&t, &a), *all = test_space_plan(&t, &everything);
    assert_string_equal(test_reason(p, "c1"), "only its activation is quantized");
    assert_int_equal(tensor_entry(p, "r0")->qparam.type, tensor_entry(all, "r0")->qparam.type);
    assert_float_equal(tensor_entry(p, "r0")->qparam.scale, tensor_entry(all, "r0")->qparam.scale,
                       0);
    assert_string_equal(tensor_entry(p, "r0")->rule, tensor_entry(all, "r0")->rule);
    assert_true(p->placement_only); /* random input */
    qdq_plan_free(p);
    qdq_plan_free(all);
    test_space_close(&t);
}

TEST(an_activation_alone_has_scales_in_each_fold)
{
    test_space t = test_space_open(network(), "ort-cpu");
    const qdq_assign a = test_space_parts(&t, "c1:activation p:activation");

    test_space_expect_folds(&t, &a);
    test_space_close(&t);
}

TEST(an_activation_that_all_read_as_codes_needs_nothing)
{
    test_space t = test_space_open(network(), "ort-cpu");

    expect_entries(&t, "c0:full", "r0>all x>all c0.w[0]>c0:1 c0.b");
    expect_entries(&t, "c0:full c1:activation", "r0>all x>all c0.w[0]>c0:1 c0.b");
    test_space_close(&t);
}

TEST(an_edge_joins_the_entry_that_the_tensor_has)
{
    test_space t = test_space_open(network(), "tensorrt");
    qdq_assign a = test_space_parts(&t, "c1:full c2:activation");
    qdq_plan *p = test_space_plan(&t, &a);

    assert_non_null(strstr(entries_text(p), "r0>c1:0,c2:0"));
    qdq_plan_free(p);
    test_space_close(&t);
}

/* Two convolutions and one weight. */
static qdq_model *tied(void)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 16, 8, 8);
    TEST_RANDOM(&b, "w", 16, 16, 1, 1);
    TEST_NODE(&b, "Conv", "c", "x", "w");
    TEST_NODE(&b, "Conv", "d", "c", "w");
    TEST_NODE(&b, "Conv", "e", "d", "w");
    test_output(&b, "e");
    return test_built(&b);
}

TEST(a_weight_of_several_is_stored_once_for_those_who_want_it)
{
    test_space t = test_space_open(tied(), "tensorrt");
    qdq_assign a = test_space_parts(&t, "c:full e:weight");
    qdq_plan *p = test_space_plan(&t, &a);
    qdq_model *m = test_space_applied(&t, p);

    assert_non_null(strstr(entries_text(p), "w[0]>c:1,e:1"));
    assert_true(qdq_graph_find(m->graph, "d")->producer->in[1].value ==
                qdq_graph_find(m->graph, "w")); /* float */
    assert_true(qdq_graph_find(m->graph, "c")->producer->in[1].value ==
                qdq_graph_find(m->graph, "e")->producer->in[1].value);
    qdq_model_free(m);
    qdq_plan_free(p);
    expect_entries(&t, "c:weight d:weight e:weight", "w[0]>c:1,d:1,e:1");
    test_space_close(&t);
}

TEST(a_weight_that_is_searched_has_its_clip_alone_too)
{
    static const char *const mse[] = {"weight.method", "mse", NULL};

    test_space t = test_space_open_with(network(), "ort-cpu", mse, NULL);
    qdq_assign a = test_space_parts(&t, "p:weight"), b = test_space_parts(&t, "p:full");
    qdq_plan *half = test_space_plan(&t, &a), *full = test_space_plan(&t, &b);

    assert_int_equal(half->weights.n, 1);
    assert_int_equal(full->weights.n, 1);
    assert_non_null(half->weights.at[0].clip);
    assert_string_equal(half->weights.at[0].clip, full->weights.at[0].clip);
    qdq_plan_free(half);
    qdq_plan_free(full);
    test_space_close(&t);
}

TEST(scales_that_nobody_found_before_are_found)
{
    test_space t = test_space_open(network(), "ort-cpu");
    qdq_assign a = test_space_parts(&t, "c1:activation p:activation y:weight");
    qdq_plan *p = test_space_plan(&t, &a), *alone;
    qdq_scales none = {0};
    char *text, *want;

    assert_ok(qdq_space_plan(
        t.s, &a, &(qdq_space_scaling){t.head, t.engine, NULL, &t.opts, &none, 0}, &alone, &err));
    assert_ok(qdq_plan_to_text(alone, &text, &err));
    assert_ok(qdq_plan_to_text(p, &want, &err));
    assert_string_equal(text, want);
    qdq_free(text);
    qdq_free(want);
    qdq_scales_free(&none);
    qdq_plan_free(p);
    qdq_plan_free(alone);
    test_space_close(&t);
}

/* --- text, and models ------------------------------------------------------------------------- */

static void assert_same_models(const qdq_model *a, const qdq_model *b)
{
    void *x, *y;
    size_t n, k;

    assert_ok(qdq_model_to_bytes(a, NULL, &x, &n, &err));
    assert_ok(qdq_model_to_bytes(b, NULL, &y, &k, &err));
    assert_int_equal(n, k);
    assert_memory_equal(x, y, n);
    qdq_free(x);
    qdq_free(y);
}

/* Written, read again, applied to the model that was given. */
static void expect_round_trip(const test_space *t, const qdq_plan *p)
{
    qdq_model *m = test_space_applied(t, p), *again;
    char *text, *second;
    qdq_plan *read;

    assert_ok(qdq_model_verify(m, &err));
    assert_ok(qdq_plan_to_text(p, &text, &err));
    assert_ok(qdq_plan_parse(text, strlen(text), "plan", &read, &err));
    assert_ok(qdq_plan_to_text(read, &second, &err));
    assert_string_equal(text, second);
    assert_ok(qdq_plan_apply(read, t->m, false, NULL, &again, &err));
    assert_same_models(m, again);
    qdq_model_free(again);
    qdq_model_free(m);
    qdq_plan_free(read);
    qdq_free(text);
    qdq_free(second);
}

/* The Conv behind a DQ, or in front of none. */
static void expect_inputs(const qdq_model *m, const char *node, const char *codes)
{
    const qdq_node *n = qdq_graph_find(m->graph, node)->producer;

    for (uint32_t i = 0; i < n->n_in; i++) {
        const qdq_node *before = qdq_node_in(n, i)->producer;

        if ((before != NULL && before->op == QDQ_OP_DEQUANTIZELINEAR) != (codes[i] == 'q'))
            fail_msg("%s, input %u: want %s", node, (unsigned)i,
                     codes[i] == 'q' ? "codes" : "float");
    }
}

TEST(the_model_has_what_the_half_says)
{
    test_space t = test_space_open(network(), "ort-cpu");
    qdq_assign a = test_space_parts(&t, "c0:activation c1:weight c2:full p:activation y:weight");
    qdq_plan *p = test_space_plan(&t, &a);
    qdq_model *m = test_space_applied(&t, p);

    expect_inputs(m, "c0", "qff");
    expect_inputs(m, "c1", "fqf");
    expect_inputs(m, "c2", "qqq");
    expect_inputs(m, "p", "qf");
    expect_inputs(m, "y", "fqf");
    expect_inputs(m, "sm", "f");
    expect_round_trip(&t, p);
    qdq_model_free(m);
    qdq_plan_free(p);
    test_space_close(&t);
}

/* Any parts together: a whole model, the same after its plan was a text; full is what the first
 * bits say, and nothing is calibrated. */
TEST(plans_with_halves_survive_being_written)
{
    static const char *const targets[] = {"ort-cpu", "tensorrt", "openvino", "tensorrt-fp8"};
    qdq_random random = qdq_random_new(7, "parts");

    for (size_t i = 0; i < QDQ_COUNT(targets); i++) {
        test_space t = test_space_open(network(), targets[i]);
        const size_t known = t.known.by_use.n_live;

        for (int round = 0; round < 40; round++) {
            qdq_assign a = test_space_parts(&t, ""), own;

            for (size_t g = 0; g < t.s->n_groups; g++)
                qdq_space_set_part(t.s, &a, g, (qdq_space_part)(qdq_random_u64(&random) % 4));
            qdq_plan *p = test_space_plan(&t, &a);
            expect_round_trip(&t, p);
            assert_ok(qdq_space_from_plan(t.s, p, &own, &t.arena, &err));
            for (size_t g = 0; g < t.s->n_groups; g++) {
                qdq_space_part part = qdq_space_get_part(t.s, &a, g);
                const char *name = t.s->group[g].node->out[0]->name;

                assert_true(part == QDQ_PART_FULL || !qdq_assign_get(&own, g));
                if (part == QDQ_PART_WEIGHT || part == QDQ_PART_ACTIVATION)
                    assert_memory_equal(test_reason(p, name), "only its ", 9);
            }
            qdq_plan_free(p);
        }
        assert_int_equal(t.known.by_use.n_live, known);
        test_space_close(&t);
    }
}

TEST(what_is_left_in_float16_gets_scales_in_float16)
{
    static const char *const rest[] = {"rest", "{\"type\": \"float16\", \"direct_io\": true}",
                                       NULL};

    test_space t = test_space_open_with(network(), "tensorrt", rest, NULL);
    qdq_assign a = test_space_parts(&t, "c1:weight p:activation");
    qdq_plan *p = test_space_plan(&t, &a);
    qdq_model *m = test_space_applied(&t, p);
    unsigned n_scales = 0;

    QDQ_FOR_NODES (n, m->graph)
        if (n->op == QDQ_OP_DEQUANTIZELINEAR) {
            assert_int_equal(qdq_value_const(qdq_node_in(n, 1))->elem, QDQ_FLOAT16);
            n_scales++;
        }
    assert_int_equal(n_scales, 2);
    expect_round_trip(&t, p);
    qdq_model_free(m);
    qdq_plan_free(p);
    test_space_close(&t);
}

/* --- several consumers of one tensor ---------------------------------------------------------- */

/* Two products and a Softmax read one tensor: the input of a model that consists of them, or the
 * result of others. */
static qdq_model *shared(bool isolated)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, isolated ? "t" : "x", 8, 16);
    if (!isolated) {
        TEST_RANDOM(&b, "u", 16, 16);
        TEST_NODE(&b, "Exp", "e", "x");
        TEST_NODE(&b, "MatMul", "first", "e", "u");
        TEST_NODE(&b, "Tanh", "t", "first");
    }
    TEST_RANDOM(&b, "w", 16, 24);
    TEST_RANDOM(&b, "v", 16, 10);
    TEST_NODE(&b, "MatMul", "p", "t", "w");
    TEST_NODE(&b, "MatMul", "q", "t", "v");
    TEST_NODE(&b, "Softmax", "s", "t");
    test_output(&b, "p");
    test_output(&b, "q");
    test_output(&b, "s");
    return test_built(&b);
}

static void expect_shared_tensor(test_space *t, const char *parts, bool weight, bool activation)
{
    qdq_assign a = test_space_parts(t, parts);
    qdq_plan *p = test_space_plan(t, &a);
    qdq_model *m = test_space_applied(t, p);
    const qdq_value *shared = qdq_graph_find(m->graph, "t");
    unsigned quantizers = 0;

    for (const char *const *name = (const char *const[]){"p", "q", NULL}; *name != NULL; name++) {
        const qdq_node *n = qdq_graph_find(m->graph, *name)->producer;
        const qdq_node *data = n->in[0].value->producer, *w = n->in[1].value->producer;

        assert_true(!activation || data->op == QDQ_OP_DEQUANTIZELINEAR);
        assert_true(activation || n->in[0].value == shared);
        if (activation)
            assert_int_equal(qdq_value_const(data->in[1].value)->rank, 0);
        assert_true((w != NULL) == weight);
        if (!weight)
            continue;
        const qdq_tensor *scales = qdq_value_const(w->in[1].value);
        int64_t columns = (*name)[0] == 'p' ? 24 : 10;
        assert_true(w->op == QDQ_OP_DEQUANTIZELINEAR && qdq_node_int(w, "axis", -1) == 1);
        assert_true(scales->rank == 1 && scales->dim[0] == columns);
        assert_int_equal(qdq_value_const(w->in[0].value)->elem, QDQ_INT8);
    }
    QDQ_FOR_USES (u, shared)
        quantizers += u->node->op == QDQ_OP_QUANTIZELINEAR;
    assert_int_equal(quantizers, activation);
    assert_ptr_equal(qdq_graph_find(m->graph, "s")->producer->in[0].value, shared);
    qdq_model_free(m);
    qdq_plan_free(p);
}

TEST(a_shared_tensor_is_quantized_once_for_those_who_take_codes)
{
    static const char *const targets[] = {"ort-cpu", "tensorrt"};

    for (size_t i = 0; i < 2 * QDQ_COUNT(targets); i++) {
        test_space t = test_space_open(shared(i % 2 == 1), targets[i / 2]);

        expect_shared_tensor(&t, "p:full q:full", true, true);
        expect_shared_tensor(&t, "p:weight q:weight", true, false);
        expect_shared_tensor(&t, "p:activation q:activation", false, true);
        test_space_close(&t);
    }
}
