/* tune_space_types.c - other types of activations, tensor by tensor: what an assignment says of
 * them, and the plan. */
#include "tune/space/space_types.h"

#include "ir/graph_check.h"
#include "support/build.h"
#include "support/spaced.h"
#include "target/target.h"
#include "tune/space/space_edges.h"

static qdq_error err;

/* Two convolutions whose results a Concat joins, a Transpose of that, and two products; the last
 * result is an output, and so is the Transpose's. */
static qdq_model *network(void)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 16, 8, 8);
    test_conv(&b, "a", "x", 16, 16, 3, 1);
    test_conv(&b, "b", "x", 16, 16, 3, 1);
    assert_true(qdq_node_set_int(TEST_NODE(&b, "Concat", "cc", "a", "b"), "axis", 1));
    const int64_t perm[] = {0, 1, 3, 2};
    assert_true(qdq_node_set_ints(TEST_NODE(&b, "Transpose", "t", "cc"), "perm", perm, 4));
    test_conv(&b, "c", "t", 16, 32, 3, 1);
    test_conv(&b, "d", "c", 16, 16, 3, 1);
    test_output(&b, "t");
    test_output(&b, "d");
    return test_built(&b);
}

static test_space open_space(void)
{
    return test_space_open(network(), "openvino");
}

static uint32_t number(const test_space *t, const char *tensor)
{
    const qdq_value *v = qdq_graph_find(t->clean->graph, tensor);

    assert_non_null(v);
    return qdq_space_typed(t->s, v);
}

/* All groups, in bits with edges. */
static qdq_assign everything(test_space *t)
{
    qdq_assign a;

    assert_true(qdq_assign_new(&a, qdq_space_edge_bits(t->s), &t->arena));
    for (size_t i = 0; i < t->s->n_groups; i++)
        qdq_assign_set(&a, i, true);
    return a;
}

static void set_all(const test_space *t, qdq_assign *a)
{
    for (uint32_t i = 0; i < t->s->n_typed; i++)
        qdq_space_set_type(t->s, a, i, 1);
}

static const qdq_plan_tensor *entry(const qdq_plan *p, const char *tensor)
{
    for (size_t i = 0; i < p->tensors.n; i++)
        if (strcmp(p->tensors.at[i].tensor, tensor) == 0)
            return &p->tensors.at[i];
    fail_msg("the plan has no entry of '%s'", tensor);
    return NULL;
}

static size_t count_type(const qdq_plan *p, qdq_elem type)
{
    size_t n = 0;

    for (size_t i = 0; i < p->tensors.n; i++)
        n += p->tensors.at[i].qparam.type == type;
    return n;
}

/* --- one tensor ------------------------------------------------------------------------------- */

TEST(a_tensor_has_the_type_that_was_set_last)
{
    test_space t = open_space();
    qdq_assign a = everything(&t), groups;
    const uint32_t x = number(&t, "x");

    assert_int_equal(qdq_space_type_bits(t.s), 3 * t.s->n_typed);
    assert_int_equal(qdq_space_get_type(t.s, &a, x), 0);
    qdq_space_set_type(t.s, &a, x, 1);
    assert_int_equal(qdq_space_get_type(t.s, &a, x), 1);
    assert_int_equal(qdq_space_get_type(t.s, &a, number(&t, "c")), 0);
    qdq_space_set_type(t.s, &a, x, 0);
    assert_int_equal(qdq_space_get_type(t.s, &a, x), 0);
    assert_true(qdq_assign_new(&groups, t.s->n_groups, &t.arena));
    assert_int_equal(qdq_space_get_type(t.s, &groups, x), 0);
    test_space_close(&t);
}

TEST(one_tensor_changes_its_type_alone)
{
    test_space t = open_space();
    qdq_assign a = everything(&t);
    qdq_plan *own = test_space_plan(&t, &a), *p;

    qdq_space_set_type(t.s, &a, number(&t, "c"), 1);
    p = test_space_plan(&t, &a);
    assert_int_equal(p->tensors.n, own->tensors.n);
    for (size_t i = 0; i < p->tensors.n; i++) {
        const qdq_plan_tensor *e = &p->tensors.at[i], *was = &own->tensors.at[i];
        const bool is_c = strcmp(e->tensor, "c") == 0;
        assert_string_equal(e->tensor, was->tensor);
        assert_int_equal(e->qparam.type, is_c ? QDQ_UINT8 : QDQ_INT8);
        assert_true(is_c || e->qparam.scale == was->qparam.scale);
        assert_string_equal(e->origin, is_c ? "tuned" : was->origin);
        assert_string_equal(e->rule, was->rule);
    }
    assert_true(entry(p, "c")->qparam.zero_point > 0);
    qdq_plan_free(own);
    qdq_plan_free(p);
    test_space_close(&t);
}

/* --- the same plan as by the target's own type ------------------------------------------------ */

TEST(all_tensors_of_another_type_are_what_a_target_of_that_type_makes)
{
    static const char *const uint8[] = {"activation.type",
                                        "uint8",
                                        "activation.symmetric",
                                        "false",
                                        "activation.unsigned_if_non_negative",
                                        "false",
                                        NULL};

    test_space t = open_space(), other = test_space_open_with(network(), "openvino", uint8, NULL);
    qdq_assign a = everything(&t), b = everything(&other);
    set_all(&t, &a);
    qdq_plan *p = test_space_plan(&t, &a), *want = test_space_plan(&other, &b);

    assert_int_equal(other.s->n_typed, 0);
    assert_int_equal(p->tensors.n, want->tensors.n);
    assert_int_equal(count_type(p, QDQ_UINT8), p->tensors.n);
    for (size_t i = 0; i < p->tensors.n; i++) {
        const qdq_plan_tensor *e = &p->tensors.at[i], *w = entry(want, e->tensor);
        assert_int_equal(e->qparam.zero_point, w->qparam.zero_point);
        assert_float_equal(e->qparam.scale, w->qparam.scale, 0);
    }
    qdq_plan_free(p);
    qdq_plan_free(want);
    test_space_close(&t);
    test_space_close(&other);
}

TEST(nothing_is_calibrated_for_another_type_but_in_the_beginning)
{
    test_space t = open_space();
    qdq_assign a = everything(&t);
    const uint64_t known = t.known.by_use.n_live;

    set_all(&t, &a);
    qdq_plan_free(test_space_plan(&t, &a));
    assert_int_equal(t.known.by_use.n_live, known);
    test_space_close(&t);
}

/* --- tied tensors ----------------------------------------------------------------------------- */

TEST(what_shares_a_scale_has_one_type)
{
    static const char *const tied[] = {"a", "b", "cc"};

    test_space t = test_space_open(network(), "openvino");
    for (size_t i = 0; i < 3; i++) {
        qdq_assign a = everything(&t);
        if (number(&t, tied[i]) == QDQ_NOT_TYPED)
            continue;
        qdq_space_set_type(t.s, &a, number(&t, tied[i]), 1);
        qdq_plan *p = test_space_plan(&t, &a);
        const qdq_plan_tensor *first = NULL;
        for (size_t k = 0; k < p->tensors.n; k++) {
            const qdq_plan_tensor *e = &p->tensors.at[k];
            if (e->group == NULL)
                continue;
            first = first != NULL ? first : e;
            assert_int_equal(e->qparam.type, QDQ_UINT8);
            assert_float_equal(e->qparam.scale, first->qparam.scale, 0);
            assert_int_equal(e->qparam.zero_point, first->qparam.zero_point);
        }
        assert_non_null(first);
        assert_int_equal(entry(p, "x")->qparam.type, QDQ_INT8);
        assert_int_equal(entry(p, "c")->qparam.type, QDQ_INT8);
        qdq_plan_free(p);
    }
    test_space_close(&t);
}

/* --- what keeps its type ---------------------------------------------------------------------- */

TEST(a_tensor_that_the_model_has_in_codes_keeps_its_type)
{
    test_builder b = test_build(17);
    TEST_INPUT(&b, "x", 1, 16, 8, 8);
    qdq_model *m;

    test_qdq(&b, "x", QDQ_INT8, 0.02F, 0);
    test_conv(&b, "a", "x.dq", 16, 16, 3, 1);
    test_conv(&b, "c", "a", 16, 16, 3, 1);
    test_output(&b, "c");
    m = test_built(&b);
    test_space t = test_space_open(m, "openvino");
    qdq_assign a = everything(&t);
    set_all(&t, &a);
    qdq_plan *p = test_space_plan(&t, &a);
    qdq_model *out = test_space_applied(&t, p);
    for (size_t i = 0; i < p->tensors.n; i++)
        assert_string_not_equal(p->tensors.at[i].tensor, "x");
    assert_int_equal(entry(p, "a")->qparam.type, QDQ_UINT8);
    assert_int_equal(qdq_graph_find(out->graph, "x.q")->type->elem, QDQ_INT8);
    qdq_model_free(out);
    qdq_plan_free(p);
    test_space_close(&t);
}

TEST(a_target_without_other_types_has_none)
{
    test_space t = test_space_open(network(), "tensorrt");
    qdq_assign a = everything(&t);

    assert_int_equal(t.s->n_typed, 0);
    assert_int_equal(qdq_space_type_bits(t.s), 0);
    assert_int_equal(number(&t, "x"), QDQ_NOT_TYPED);
    assert_int_equal(qdq_space_get_type(t.s, &a, QDQ_NOT_TYPED), 0);
    test_space_close(&t);
}

/* --- with edges, and as files ----------------------------------------------------------------- */

/* The output "t" and the convolution behind it: one of both reads floats where its edge is
 * turned. */
TEST(a_turned_edge_keeps_the_type_of_its_tensor)
{
    test_space t = open_space();
    qdq_assign a = everything(&t);

    set_all(&t, &a);
    for (size_t i = 0; i < t.s->n_edges; i++)
        if (t.s->edge[i].node == NULL)
            qdq_space_flip(t.s, &a, i);
    qdq_plan *p = test_space_plan(&t, &a);
    qdq_model *m = test_space_applied(&t, p);
    assert_int_equal(count_type(p, QDQ_UINT8), p->tensors.n);
    assert_ok(qdq_model_verify(m, &err));
    qdq_model_free(m);
    qdq_plan_free(p);
    test_space_close(&t);
}

TEST(a_plan_with_types_comes_back_from_its_text)
{
    test_space t = open_space();
    qdq_assign a = everything(&t);
    qdq_plan *again;
    char *text, *other;

    qdq_space_set_type(t.s, &a, number(&t, "c"), 1);
    qdq_plan *p = test_space_plan(&t, &a);
    assert_ok(qdq_plan_to_text(p, &text, &err));
    assert_ok(qdq_plan_parse(text, strlen(text), "p", &again, &err));
    assert_ok(qdq_plan_to_text(again, &other, &err));
    assert_string_equal(text, other);
    qdq_model *m = test_space_applied(&t, p), *n = test_space_applied(&t, again);
    char *of_m, *of_n;
    assert_ok(qdq_model_to_text(m, &of_m, &err));
    assert_ok(qdq_model_to_text(n, &of_n, &err));
    assert_string_equal(of_m, of_n);
    qdq_free(of_m);
    qdq_free(of_n);
    qdq_model_free(m);
    qdq_model_free(n);
    qdq_free(text);
    qdq_free(other);
    qdq_plan_free(p);
    qdq_plan_free(again);
    test_space_close(&t);
}
