/* tune_space_forms.c - operators that can have other formats than the target's, data quantized at
 * run time or other weights in blocks: which ones there are, what an assignment says of them, and
 * the plan. */
#include "tune/space/space_forms.h"

#include <math.h>

#include "support/build.h"
#include "support/spaced.h"
#include "tune/space/space_edges.h"
#include "tune/space/space_partial.h"

static qdq_error err;

static void add_lstm_weight(test_builder *b, const char *name)
{
    const int64_t dim[] = {1, 32, 8};
    void *data;
    qdq_tensor *t = qdq_tensor_new(b->m, QDQ_FLOAT, 3, dim, &data);

    assert_non_null(t);
    for (int64_t i = 0; i < t->count; i++)
        ((float *)data)[i] = 0.1F * sinf((float)(i * 7 + name[1]));
    assert_non_null(qdq_graph_add_init(b->g, name, t));
}

/* An LSTM, a MatMul, a Gemm, a product of two activations, and one whose weight has codes. */
static qdq_model *network(void)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 6, 1, 8);
    add_lstm_weight(&b, "lw");
    add_lstm_weight(&b, "lr");
    assert_true(qdq_node_set_int(TEST_NODE(&b, "LSTM", "l", "x", "lw", "lr"), "hidden_size", 8));
    TEST_INTS(&b, "shape", 6, 8);
    TEST_NODE(&b, "Reshape", "f", "l", "shape");
    TEST_RANDOM(&b, "w", 8, 24);
    TEST_NODE(&b, "MatMul", "p", "f", "w");
    TEST_RANDOM(&b, "v", 8, 24);
    assert_true(qdq_node_set_int(TEST_NODE(&b, "Gemm", "q", "p", "v"), "transB", 1));
    TEST_NODE(&b, "Transpose", "t", "q");
    TEST_NODE(&b, "MatMul", "mm", "q", "t");
    TEST_CODES(&b, "cw", QDQ_INT8, 0, 6, 4);
    TEST_NODE(&b, "MatMul", "y", "mm", "cw.dq");
    test_output(&b, "y");
    return test_built(&b);
}

/* Of the first format that the node can have; QDQ_NO_FORM: none. */
static size_t number(const test_space *t, const char *output)
{
    const qdq_value *v = qdq_graph_find(t->clean->graph, output);

    assert_non_null(v);
    for (size_t i = 0; i < t->s->n_formed; i++)
        if (t->s->formed[i].node == v->producer)
            return i;
    return QDQ_NO_FORM;
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

static const qdq_plan_weight *weight(const qdq_plan *p, const char *tensor)
{
    for (size_t i = 0; i < p->weights.n; i++)
        if (strcmp(p->weights.at[i].tensor, tensor) == 0)
            return &p->weights.at[i];
    return NULL;
}

static bool has_tensor(const qdq_plan *p, const char *tensor)
{
    for (size_t i = 0; i < p->tensors.n; i++)
        if (strcmp(p->tensors.at[i].tensor, tensor) == 0)
            return true;
    return false;
}

/* --- which there are -------------------------------------------------------------------------- */

TEST(products_and_lstms_with_constant_weights_have_the_form)
{
    test_space t = test_space_open(network(), "ort-cpu");

    assert_int_equal(t.s->n_formed, 3);
    assert_true(number(&t, "l") != QDQ_NO_FORM);
    assert_true(number(&t, "p") != QDQ_NO_FORM);
    assert_true(number(&t, "q") != QDQ_NO_FORM);
    assert_true(number(&t, "mm") == QDQ_NO_FORM); /* its weight is not constant */
    assert_true(number(&t, "y") == QDQ_NO_FORM);  /* its weight has codes */
    assert_true(number(&t, "t") == QDQ_NO_FORM);
    test_space_close(&t);
}

TEST(targets_without_the_form_or_with_formats_of_single_nodes_have_none)
{
    static const char *const none[] = {NULL};
    static const char *const overrides[] = {
        "overrides", "[{\"op\": \"Conv\", \"weight\": {\"method\": \"mse\"}}]", NULL};
    static const char *const targets[] = {"openvino", "tensorrt", "ort-cpu"};

    for (size_t i = 0; i < QDQ_COUNT(targets); i++) {
        test_space t = test_space_open_with(
            network(), targets[i], strcmp(targets[i], "ort-cpu") == 0 ? overrides : none, NULL);
        assert_int_equal(t.s->n_formed, 0);
        test_space_close(&t);
    }
}

static bool is_listed(const qdq_space *s, const char *name)
{
    for (size_t i = 0; i < s->forms.n; i++)
        if (strcmp(s->forms.at[i].name, name) == 0)
            return true;
    return false;
}

TEST(weights_in_blocks_have_other_bits_blocks_zero_points_and_levels)
{
    test_space nbits = test_space_open(network(), "ort-cpu-int4"),
               codes = test_space_open(network(), "int4");

    assert_int_equal(nbits.s->forms.n, 6);
    assert_true(is_listed(nbits.s, "uint8, blocks of 32"));
    assert_true(is_listed(nbits.s, "uint4, blocks of 16"));
    assert_true(is_listed(nbits.s, "uint4, blocks of 128"));
    assert_true(is_listed(nbits.s, "uint4, blocks of 32, level 1"));
    assert_true(is_listed(nbits.s, "int4, blocks of 32, symmetric"));
    assert_true(is_listed(codes.s, "int8, blocks of 32"));
    assert_true(is_listed(codes.s, "uint4, blocks of 32, with zero points"));
    assert_false(is_listed(codes.s, "int4, blocks of 32, level 1"));
    assert_int_equal(nbits.s->n_formed, 2 * nbits.s->forms.n); /* a MatMul and a Gemm */
    assert_true(number(&nbits, "p") != QDQ_NO_FORM && number(&nbits, "q") != QDQ_NO_FORM);
    assert_true(number(&nbits, "l") == QDQ_NO_FORM && number(&nbits, "mm") == QDQ_NO_FORM);
    test_space_close(&nbits);
    test_space_close(&codes);
}

/* --- assignments and plans -------------------------------------------------------------------- */

TEST(an_assignment_without_edges_gives_no_operator_the_form)
{
    test_space t = test_space_open(network(), "ort-cpu");
    qdq_assign few = test_space_parts(&t, "p:full");

    for (size_t i = 0; i < t.s->n_formed; i++)
        assert_false(qdq_space_has_form(t.s, &few, i));
    test_space_close(&t);
}

TEST(the_form_takes_the_place_of_decisions_and_edges_of_its_operator)
{
    test_space t = test_space_open(network(), "ort-cpu");
    qdq_assign a = everything(&t);
    const size_t p = number(&t, "p"), edge = qdq_space_edge_of(t.s, t.s->formed[p].node, 0);

    assert_true(edge != QDQ_NO_EDGE);
    qdq_space_flip(t.s, &a, edge);
    qdq_space_set_form(t.s, &a, p);
    assert_true(qdq_space_has_form(t.s, &a, p));
    assert_false(qdq_space_has_form(t.s, &a, number(&t, "q")));
    assert_false(qdq_space_is_flipped(t.s, &a, edge));
    assert_int_equal(qdq_space_get_part(t.s, &a, test_space_group(&t, "p")), QDQ_PART_NONE);
    assert_int_equal(qdq_space_get_part(t.s, &a, test_space_group(&t, "q")), QDQ_PART_FULL);
    test_space_close(&t);
}

TEST(the_plan_has_weights_in_the_form_and_no_scale_of_their_data)
{
    test_space t = test_space_open(network(), "ort-cpu");
    qdq_assign a = everything(&t);
    qdq_plan *full = test_space_plan(&t, &a);

    assert_int_equal(weight(full, "w")->store, QDQ_WEIGHT_AS_CODES);
    assert_null(weight(full, "lw"));
    assert_true(has_tensor(full, "f") && has_tensor(full, "p"));
    for (size_t i = 0; i < t.s->n_formed; i++)
        qdq_space_set_form(t.s, &a, i);
    qdq_plan *p = test_space_plan(&t, &a);
    assert_int_equal(qdq_plan_get_summary(p)->n_dynamic, 4); /* two weights of the LSTM */
    assert_int_equal(weight(p, "w")->store, QDQ_WEIGHT_AS_DYNAMIC);
    assert_int_equal(weight(p, "lw")->store, QDQ_WEIGHT_AS_DYNAMIC);
    assert_int_equal(weight(p, "lr")->store, QDQ_WEIGHT_AS_DYNAMIC);
    assert_false(has_tensor(p, "f") || has_tensor(p, "p"));
    qdq_model *m = test_space_applied(&t, p);
    size_t products = 0, lstms = 0;
    QDQ_FOR_NODES (n, m->graph) {
        products += strcmp(n->type, "MatMulInteger") == 0;
        lstms += strcmp(n->type, "DynamicQuantizeLSTM") == 0;
    }
    assert_true(products == 2 && lstms == 1);
    qdq_model_free(m);
    qdq_plan_free(full);
    qdq_plan_free(p);
    test_space_close(&t);
}

/* The operator's own neighbours keep their Q/DQ. */
TEST(one_operator_in_the_form_leaves_the_others_as_they_are)
{
    test_space t = test_space_open(network(), "ort-cpu");
    qdq_assign a = everything(&t);

    qdq_space_set_form(t.s, &a, number(&t, "p"));
    qdq_plan *p = test_space_plan(&t, &a);
    assert_int_equal(weight(p, "w")->store, QDQ_WEIGHT_AS_DYNAMIC);
    assert_int_equal(weight(p, "v")->store, QDQ_WEIGHT_AS_CODES);
    assert_true(has_tensor(p, "p"));
    assert_false(has_tensor(p, "f"));
    qdq_plan_free(p);
    test_space_close(&t);
}

TEST(each_operator_has_one_of_the_formats_of_its_weights_or_is_float)
{
    test_space t = test_space_open(network(), "ort-cpu-int4");
    qdq_assign a = everything(&t), same;
    const size_t p = number(&t, "p");

    qdq_space_set_form(t.s, &a, p);
    qdq_space_set_form(t.s, &a, p + 1);
    assert_int_equal(qdq_space_form_of(t.s, &a, t.s->formed[p].node), p + 1);
    qdq_plan *plan = test_space_plan(&t, &a);
    const qdq_format *f = &t.s->forms.at[t.s->formed[p + 1].form].format;
    assert_int_equal(weight(plan, "w")->type, f->weight.type);
    assert_int_equal(weight(plan, "w")->block, f->weight_block);
    assert_int_equal(weight(plan, "w")->store, QDQ_WEIGHT_AS_NBITS);
    assert_int_equal(weight(plan, "v")->block, 32);
    const qdq_space_scaling from = {
        .head = t.head, .engine = t.engine, .opts = &t.opts, .known = &t.known};
    assert_ok(qdq_space_express(t.s, plan, &from, &t.arena, &same, &err));
    assert_int_equal(qdq_space_form_of(t.s, &same, t.s->formed[p].node), p + 1);
    assert_int_equal(qdq_space_get_part(t.s, &same, test_space_group(&t, "q")), QDQ_PART_FULL);
    qdq_plan_free(plan);
    qdq_space_set_part(t.s, &a, test_space_group(&t, "q"), QDQ_PART_NONE);
    plan = test_space_plan(&t, &a);
    assert_null(weight(plan, "v"));
    qdq_plan_free(plan);
    test_space_close(&t);
}

/* --- placements of others --------------------------------------------------------------------- */

TEST(a_plan_with_the_form_is_expressed_with_it)
{
    test_space t = test_space_open(network(), "ort-cpu");
    qdq_assign a = everything(&t), same;

    qdq_space_set_form(t.s, &a, number(&t, "l"));
    qdq_space_set_form(t.s, &a, number(&t, "q"));
    qdq_plan *p = test_space_plan(&t, &a);
    const qdq_space_scaling from = {
        .head = t.head, .engine = t.engine, .opts = &t.opts, .known = &t.known};
    assert_ok(qdq_space_express(t.s, p, &from, &t.arena, &same, &err));
    assert_true(qdq_space_has_form(t.s, &same, number(&t, "l")));
    assert_true(qdq_space_has_form(t.s, &same, number(&t, "q")));
    assert_false(qdq_space_has_form(t.s, &same, number(&t, "p")));
    assert_int_equal(qdq_space_get_part(t.s, &same, test_space_group(&t, "p")), QDQ_PART_FULL);
    assert_int_equal(qdq_space_get_part(t.s, &same, test_space_group(&t, "q")), QDQ_PART_NONE);
    qdq_plan_free(p);
    test_space_close(&t);
}
