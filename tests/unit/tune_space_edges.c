/* tune_space_edges.c - each edge by itself: what an assignment says of it, the plan, and the
 * model. */
#include "tune/baseline/baseline.h"
#include "tune/space/space_edges.h"

#include "base/random.h"
#include "ir/graph_check.h"
#include "support/build.h"
#include "support/placed.h"
#include "support/spaced.h"
#include "tune/space/space_types.h"

static qdq_error err;

/* c1 -> Relu -> Transpose, which c2 and an Exp read; a LayerNormalization behind c2, whose result
 * is an output and is read by an Add of two floats. */
static qdq_model *network(void)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 16, 8, 8);
    test_conv(&b, "c0", "x", 16, 16, 3, 1);
    TEST_NODE(&b, "Relu", "r", "c0");
    const int64_t perm[] = {0, 1, 3, 2};
    assert_true(qdq_node_set_ints(TEST_NODE(&b, "Transpose", "t", "r"), "perm", perm, 4));
    test_conv(&b, "c1", "t", 16, 16, 3, 1);
    TEST_NODE(&b, "Exp", "e", "t");
    TEST_RANDOM(&b, "g", 8);
    TEST_NODE(&b, "LayerNormalization", "ln", "c1", "g");
    TEST_NODE(&b, "Mul", "y", "ln", "e");
    test_output(&b, "ln");
    test_output(&b, "y");
    return test_built(&b);
}

static test_space open_space(void)
{
    return test_space_open(network(), "openvino");
}

static const qdq_node *giver(const test_space *t, const char *output)
{
    const qdq_value *v = qdq_graph_find(t->clean->graph, output);

    assert_non_null(v);
    return v->producer;
}

static size_t edge_into(const test_space *t, const char *output, uint32_t input)
{
    return qdq_space_edge_of(t->s, giver(t, output), input);
}

/* Everything that the rules have, in bits with edges. */
static qdq_assign with_rules(test_space *t)
{
    qdq_assign a;

    assert_true(qdq_assign_new(&a, qdq_space_edge_bits(t->s), &t->arena));
    for (size_t i = 0; i < t->s->n_groups; i++)
        qdq_assign_set(&a, i, qdq_assign_get(&t->s->rules, i));
    return a;
}

/* Tensors of the plan with their readers. */
static const char *tensors_text(const qdq_plan *p)
{
    static char text[3000];
    size_t n = 0;

    text[0] = '\0';
    for (size_t i = 0; i < p->tensors.n; i++) {
        const qdq_plan_tensor *t = &p->tensors.at[i];

        assert_true(t->qparam.scale > 0);
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s>%s", n > 0 ? " " : "", t->tensor,
                              t->all ? "all" : "");
        for (size_t k = 0; !t->all && k < t->consumers.n; k++)
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%s:%u", k > 0 ? "," : "",
                                  t->consumers.at[k].node, (unsigned)t->consumers.at[k].input);
    }
    return text;
}

static void expect_tensors(test_space *t, const qdq_assign *a, const char *want)
{
    qdq_plan *p = test_space_plan(t, a);
    qdq_model *m = test_space_applied(t, p);

    assert_string_equal(tensors_text(p), want);
    assert_ok(qdq_model_verify(m, &err));
    qdq_model_free(m);
    qdq_plan_free(p);
}

/* --- what there is ---------------------------------------------------------------------------- */

TEST(floats_that_are_read_have_an_edge_each)
{
    test_space t = open_space();

    assert_true(edge_into(&t, "t", 0) != QDQ_NO_EDGE);
    assert_true(edge_into(&t, "e", 0) != QDQ_NO_EDGE);
    assert_true(edge_into(&t, "ln", 0) != QDQ_NO_EDGE);
    assert_true(edge_into(&t, "y", 0) != QDQ_NO_EDGE && edge_into(&t, "y", 1) != QDQ_NO_EDGE);
    assert_true(edge_into(&t, "ln", 1) == QDQ_NO_EDGE); /* a constant */
    assert_int_not_equal(edge_into(&t, "c1", 0), QDQ_NO_EDGE);
    assert_true(edge_into(&t, "c1", 1) == QDQ_NO_EDGE);
    assert_null(t.s->edge[t.s->n_edges - 1].node); /* outputs are last */
    assert_string_equal(t.s->edge[t.s->n_edges - 1].value->name, "y");
    assert_string_equal(t.s->edge[t.s->n_edges - 2].value->name, "ln");
    assert_int_equal(qdq_space_edge_bits(t.s),
                     qdq_space_scheme_bits(t.s) + t.s->n_edges + qdq_space_type_bits(t.s));
    test_space_close(&t);
}

TEST(where_activations_stay_float_there_is_no_edge)
{
    test_space t = test_space_open(network(), "int4");

    assert_int_equal(t.s->n_edges, 0);
    test_space_close(&t);
}

TEST(what_users_keep_out_has_no_edge)
{
    static const char *const exclude[] = {"=e", NULL};
    qdq_space *s;

    test_space t = open_space();
    t.opts.exclude = exclude;
    assert_ok(qdq_space_new(t.clean, t.target, &t.opts, &s, &err));
    assert_true(qdq_space_edge_of(s, giver(&t, "e"), 0) == QDQ_NO_EDGE);
    assert_true(qdq_space_edge_of(s, giver(&t, "ln"), 0) != QDQ_NO_EDGE);
    qdq_space_free(s);
    test_space_close(&t);
}

TEST(what_a_body_reads_has_no_edge)
{
    test_space t = test_space_open(test_graph(__func__), "openvino");

    assert_true(edge_into(&t, "d", 0) == QDQ_NO_EDGE);
    assert_true(edge_into(&t, "f", 0) != QDQ_NO_EDGE);
    test_space_close(&t);
}

/* --- turned ----------------------------------------------------------------------------------- */

TEST(with_no_edge_turned_the_plan_is_that_of_the_groups)
{
    test_space t = open_space();
    qdq_assign a = with_rules(&t);
    char *text, *want;
    qdq_plan *p = test_space_plan(&t, &a), *q = test_space_plan(&t, &t.s->rules);

    assert_ok(qdq_plan_to_text(p, &text, &err));
    assert_ok(qdq_plan_to_text(q, &want, &err));
    assert_string_equal(text, want);
    qdq_free(text);
    qdq_free(want);
    qdq_plan_free(p);
    qdq_plan_free(q);
    test_space_close(&t);
}

TEST(a_transpose_moves_codes_or_floats)
{
    test_space t = open_space();
    qdq_assign a = with_rules(&t);

    expect_tensors(&t, &a, "r>all t>all x>all");
    qdq_space_flip(t.s, &a, edge_into(&t, "t", 0));
    expect_tensors(&t, &a, "t>all x>all");
    qdq_plan *p = test_space_plan(&t, &a);
    assert_string_equal(test_reason(p, "t"), "moves floats: measured");
    qdq_plan_free(p);
    qdq_space_flip(t.s, &a, edge_into(&t, "t", 0)); /* and back */
    expect_tensors(&t, &a, "r>all t>all x>all");
    test_space_close(&t);
}

TEST(a_float_operator_reads_codes)
{
    test_space t = open_space();
    qdq_assign a = with_rules(&t);

    qdq_space_flip(t.s, &a, edge_into(&t, "ln", 0));
    expect_tensors(&t, &a, "c1>all r>all t>all x>all");
    qdq_plan *p = test_space_plan(&t, &a);
    assert_string_equal(test_reason(p, "ln"), "an input of it is quantized: measured");
    qdq_plan_free(p);
    test_space_close(&t);
}

TEST(one_of_several_readers_does_and_then_all)
{
    test_space t = open_space();
    qdq_assign a = with_rules(&t);

    qdq_space_flip(t.s, &a, edge_into(&t, "y", 0)); /* ln is an output, too: that stays float */
    expect_tensors(&t, &a, "ln>y:0 r>all t>all x>all");
    qdq_space_flip(t.s, &a, edge_into(&t, "e", 0)); /* one of two readers of t */
    expect_tensors(&t, &a, "ln>y:0 r>all t>c1:0 x>all");
    qdq_space_flip(t.s, &a, t.s->n_edges - 2); /* the output ln */
    expect_tensors(&t, &a, "ln>all r>all t>c1:0 x>all");
    /* an output cannot be alone: it has no name of its own */
    qdq_space_flip(t.s, &a, edge_into(&t, "y", 0));
    expect_tensors(&t, &a, "r>all t>c1:0 x>all");
    test_space_close(&t);
}

/* Seen: autotune in folds ended with "out of memory" or a crash. */
TEST(an_edge_that_is_turned_has_scales_in_each_fold)
{
    test_space t = open_space();
    qdq_assign a = with_rules(&t);

    qdq_space_flip(t.s, &a, edge_into(&t, "ln", 0));
    qdq_space_flip(t.s, &a, edge_into(&t, "y", 1));
    test_space_expect_folds(&t, &a);
    test_space_close(&t);
}

TEST(an_output_that_nothing_else_reads_is_a_reader_of_its_own)
{
    test_space t = open_space();
    qdq_assign a = with_rules(&t);

    qdq_space_flip(t.s, &a, t.s->n_edges - 1);
    expect_tensors(&t, &a, "r>all t>all x>all y>all");
    qdq_space_flip(t.s, &a, t.s->n_edges - 1);
    expect_tensors(&t, &a, "r>all t>all x>all");
    test_space_close(&t);
}

/* --- any assignment --------------------------------------------------------------------------- */

static qdq_assign random_assign(test_space *t, qdq_random *r)
{
    qdq_assign a;

    assert_true(qdq_assign_new(&a, qdq_space_edge_bits(t->s), &t->arena));
    for (size_t i = 0; i < t->s->n_groups; i++)
        qdq_space_set_part(t->s, &a, i, (qdq_space_part)(qdq_random_u64(r) % 4));
    for (size_t i = 0; i < t->s->n_edges; i++)
        if ((qdq_random_u64(r) % 3) == 0)
            qdq_space_flip(t->s, &a, i);
    return a;
}

/* c0 -> Relu, which an Add reads, and c1 behind the model's own Q and DQ. */
static qdq_model *trained(void)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 16, 8, 8);
    test_conv(&b, "c0", "x", 16, 16, 3, 1);
    TEST_NODE(&b, "Relu", "r", "c0");
    test_qdq(&b, "r", QDQ_UINT8, 0.02f, 0);
    test_conv(&b, "c1", "r.dq", 16, 16, 3, 1);
    TEST_NODE(&b, "Add", "y", "r", "c1");
    test_output(&b, "y");
    return test_built(&b);
}

TEST(a_q_of_the_model_alone_is_no_reader_that_an_entry_is_for)
{
    test_space t = test_space_open(trained(), "ort-cpu");
    qdq_assign a = with_rules(&t);
    qdq_plan *p = test_space_plan(&t, &a);

    assert_non_null(strstr(tensors_text(p), "r>all"));
    qdq_plan_free(p);
    qdq_space_flip(t.s, &a, edge_into(&t, "y", 0));
    p = test_space_plan(&t, &a);
    assert_null(strstr(tensors_text(p), "r>"));
    qdq_plan_free(p);
    test_space_close(&t);
}

TEST(any_assignment_is_a_valid_model_where_the_model_has_its_own_q)
{
    qdq_random r = qdq_random_new(1, "own");
    test_space t = test_space_open(trained(), "ort-cpu");

    for (int i = 0; i < 60; i++) {
        const qdq_assign a = random_assign(&t, &r);
        qdq_plan *p = test_space_plan(&t, &a);
        qdq_model *m = test_space_applied(&t, p);

        assert_ok(qdq_model_verify(m, &err));
        qdq_model_free(m);
        qdq_plan_free(p);
    }
    test_space_close(&t);
}

TEST(any_assignment_is_a_valid_model_and_is_found_again_in_it)
{
    static const char *const targets[] = {"openvino", "ort-cpu", "tensorrt"};
    qdq_random r = qdq_random_new(1, "edges");

    for (size_t k = 0; k < 3; k++) {
        test_space t = test_space_open(network(), targets[k]);
        for (int i = 0; i < 60; i++) {
            const qdq_assign a = random_assign(&t, &r);
            qdq_plan *p = test_space_plan(&t, &a), *there, *again;
            qdq_model *m = test_space_applied(&t, p);
            bool *want, *have;
            qdq_assign found;
            qdq_tune_not_expressed not_expressed;

            assert_ok(qdq_model_verify(m, &err));
            assert_ok(qdq_plan_import(m, NULL, &there, NULL, &err));
            assert_ok(qdq_space_express(
                t.s, there, &(qdq_space_scaling){t.head, t.engine, NULL, &t.opts, &t.known, 0},
                &t.arena, &found, &err));
            again = test_space_plan(&t, &found);
            assert_ok(qdq_space_read_edges(t.s, p, &t.arena, &want, &err));
            assert_ok(qdq_space_read_edges(t.s, again, &t.arena, &have, &err));
            assert_ok(qdq_plans_differ(t.s, there, again, &not_expressed, &err));
            assert_int_equal(not_expressed.edges, 0);
            for (size_t e = 0; e < t.s->n_edges; e++)
                assert_int_equal(have[e], want[e]);
            qdq_plan_free(again);
            qdq_plan_free(there);
            qdq_plan_free(p);
            qdq_model_free(m);
        }
        test_space_close(&t);
    }
}
