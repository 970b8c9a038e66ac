/* tune_fusions.c - fusion groups: every step from layers to a partition, where it takes place and
 * where it does not. */
#include "tune/group/fusions.h"

#include <math.h>

#include "base/random.h"
#include "ir/shape.h"
#include "support/blocks.h"
#include "support/layers.h"
#include "support/random_graph.h"
#include "support/test.h"

static qdq_error err;

/* --- helpers ---------------------------------------------------------------------------------- */

#define HEAD "<ir_version: 9, opset_import: [\"\" : 17]>\n"

static qdq_model *typed(const char *text)
{
    qdq_model *m = test_model(text);

    assert_ok(qdq_model_infer(m, NULL, &err));
    return m;
}

/* Two convolutions with an activation each. */
static qdq_model *pair(void)
{
    return typed(
        HEAD "g (float[1,4,8,8] x) => (float[1,4,8,8] y)\n"
             "<float[4,4,1,1] w = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16}>\n"
             "{ [a] t = Conv(x, w)\n [b] u = Relu(t)\n [c] v = Conv(u, w)\n [d] y = Relu(v) }\n");
}

static void assert_us(double found, double want)
{
    if (!(fabs(found - want) <= 1e-9))
        fail_msg("want %g, got %g", want, found);
}

/* Consumes m and l. */
static void assert_groups(qdq_model *m, test_layers l, const char *want)
{
    qdq_fusions *f;

    assert_ok(qdq_fusions_find(m, l.at, l.n, NULL, &f, &err));
    assert_string_equal(test_fusions_text(f), want);
    test_fusions_sound(f);
    qdq_fusions_free(f);
    test_layers_free(&l);
    qdq_model_free(m);
}

static test_layers no_layers(void)
{
    return test_layers_of((const char *const[]){NULL});
}

/* --- layers ----------------------------------------------------------------------------------- */

static void a_layer_is_a_group(void **state)
{
    (void)state;
    assert_groups(pair(), TEST_LAYERS("Conv a+b", "Conv c+d"), "a b | c d");
    assert_groups(pair(), TEST_LAYERS("Conv a", "Relu b", "Conv c+d"), "a | b | c d");
}

static void layers_that_share_a_node_are_one_group(void **state)
{
    (void)state;
    assert_groups(pair(), TEST_LAYERS("Conv a+b", "Relu b+c", "Relu d"), "a b c | d");
}

static qdq_model *moved(void)
{
    return typed(HEAD "g (float[1,4] x) => (float[4,4] y, float[4,4] z)\n"
                      "<float[1,4] w = {1,2,3,4}>\n"
                      "{ [t] u = Transpose(x)\n [a] y = MatMul(u, w)\n [b] z = MatMul(u, w) }\n");
}

static void a_shared_transpose_does_not_join_its_readers(void **state)
{
    (void)state;
    assert_groups(moved(), TEST_LAYERS("gemm t+a", "gemm t+b"), "t | a | b");
    assert_groups(moved(), TEST_LAYERS("gemm t+a", "gemm b"), "t a | b");
}

static void conversions_and_control_make_no_groups(void **state)
{
    (void)state;
    assert_groups(pair(),
                  TEST_LAYERS("Reorder a+b+c conversion", "Conv a+b", "wait b+c", "Conv c+d"),
                  "a b | c d");
}

static qdq_model *quantized(void)
{
    return typed(
        HEAD
        "g (float[1,4] x) => (float[1,4] y)\n"
        "<float s = {0.1}, int8 z = {0}, float[4,4] w = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16}>\n"
        "{ [a] t = MatMul(x, w)\n [q] u = QuantizeLinear(t, s, z)\n"
        "  [dq] v = DequantizeLinear(u, s, z)\n [b] y = MatMul(v, w) }\n");
}

static void q_and_dq_go_to_their_reader_and_join_nothing(void **state)
{
    (void)state;
    assert_groups(quantized(), TEST_LAYERS("gemm a+q", "gemm q+dq+b"), "a | q dq b");
    assert_groups(quantized(), TEST_LAYERS("gemm a+q", "gemm b"), "a | q dq b");
}

static void the_times_of_layers_are_those_of_their_groups(void **state)
{
    test_layers l = TEST_LAYERS("Conv a+b 12", "Relu b 3", "Reorder c conversion 2", "Conv c+d 20",
                                "Myelin - 5");
    qdq_model *m = pair();
    qdq_fusions *f;

    (void)state;
    assert_ok(qdq_fusions_find(m, l.at, l.n, NULL, &f, &err));
    assert_int_equal(f->n, 2);
    assert_us(f->at[0].us, 15);
    assert_us(f->at[1].us, 20);
    assert_us(f->at[1].converts_us, 2);
    assert_true(isnan(f->at[0].converts_us));
    assert_us(f->us, 42);
    assert_us(f->unknown_us, 5);
    assert_us(f->converted_us, 2);
    assert_us(f->matched, 0.75);
    assert_us(f->covered, 1);
    assert_int_equal(f->at[0].layers, 2);
    assert_string_equal(f->at[0].layer, "a");
    assert_int_equal(f->at[0].linear, 1);
    qdq_fusions_free(f);
    test_layers_free(&l);
    qdq_model_free(m);
}

static void without_times_there_are_none(void **state)
{
    test_layers l = TEST_LAYERS("Conv a+b", "Conv c+d");
    qdq_model *m = pair();
    qdq_fusions *f;

    (void)state;
    assert_ok(qdq_fusions_find(m, l.at, l.n, NULL, &f, &err));
    assert_true(isnan(f->us) && isnan(f->at[0].us) && isnan(f->unknown_us));
    qdq_fusions_free(f);
    test_layers_free(&l);
    qdq_model_free(m);
}

static void which_operators_count_is_an_option(void **state)
{
    static const char *const ops[] = {"Relu", NULL};
    qdq_fusion_opts o = QDQ_FUSION_OPTS_INIT;
    test_layers l = TEST_LAYERS("Conv a", "Relu b", "Conv c", "Relu d");
    qdq_model *m = pair();
    qdq_fusions *f;

    (void)state;
    o.ops = ops;
    assert_ok(qdq_fusions_find(m, l.at, l.n, &o, &f, &err));
    assert_int_equal(f->at[0].linear, 0);
    assert_int_equal(f->at[1].linear, 1);
    qdq_fusions_free(f);
    test_layers_free(&l);
    qdq_model_free(m);
}

/* --- nodes without a layer -------------------------------------------------------------------- */

static void an_activation_that_no_layer_names_is_an_epilogue(void **state)
{
    (void)state;
    assert_groups(pair(), TEST_LAYERS("Conv a", "Conv c"), "a b | c d");
}

static void movement_goes_to_its_reader_or_at_an_output_to_its_producer(void **state)
{
    qdq_model *m =
        typed(HEAD "g (float[4,4] x) => (float[4,4] y)\n"
                   "<float[4,4] w = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16}>\n"
                   "{ [t] u = Transpose(x)\n [a] v = MatMul(u, w)\n [r] y = Transpose(v) }\n");

    (void)state;
    assert_groups(m, TEST_LAYERS("gemm a"), "t a r");
}

static void what_several_groups_read_is_in_none_of_them(void **state)
{
    qdq_model *m =
        typed(HEAD "g (float[4,4] x) => (float[4,4] y, float[4,4] z)\n"
                   "<float[4,4] w = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16}>\n"
                   "{ [n] u = Softmax(x)\n [a] y = MatMul(u, w)\n [b] z = MatMul(u, w) }\n");

    (void)state;
    assert_groups(m, TEST_LAYERS("gemm a", "gemm b"), "n | a | b");
}

static void an_operator_that_no_layer_names_is_a_group_by_structure(void **state)
{
    test_layers l = TEST_LAYERS("Conv a+b");
    qdq_model *m = pair();
    qdq_fusions *f;

    (void)state;
    assert_ok(qdq_fusions_find(m, l.at, l.n, NULL, &f, &err));
    assert_string_equal(test_fusions_text(f), "a b | c d");
    assert_int_equal(f->at[0].source, QDQ_FUSION_EXACT);
    assert_int_equal(f->at[1].source, QDQ_FUSION_STRUCTURAL);
    assert_int_equal(f->at[1].layers, 0);
    assert_us(f->covered, 0.5);
    qdq_fusions_free(f);
    test_layers_free(&l);
    qdq_model_free(m);
}

static void without_layers_structure_decides(void **state)
{
    test_builder b = test_build_planes();
    qdq_fusions *f;

    (void)state;
    test_residual_blocks(&b, 0);
    qdq_model *m = test_built(&b);
    assert_ok(qdq_fusions_find(m, NULL, 0, NULL, &f, &err));
    assert_string_equal(test_fusions_text(f),
                        "stem s | a1 b1 | c1 d1 e1 | a2 b2 | c2 d2 e2 | a3 b3 | c3 d3 e3");
    assert_true(isnan(f->matched));
    test_fusions_sound(f);
    qdq_fusions_free(f);
    qdq_model_free(m);
}

static void constants_and_shapes_are_in_no_group(void **state)
{
    qdq_model *m = typed(
        HEAD "g (float[N,4] x) => (float[M,K] y)\n"
             "<float[4,4] w = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16}>\n"
             "{ [c] k = Constant<value = int64[1] {2}>()\n [s] sh = Shape(x)\n [m] q = Mul(sh, k)\n"
             "  [a] t = MatMul(x, w)\n [r] y = Reshape(t, sh) }\n");

    (void)state;
    assert_groups(m, TEST_LAYERS("gemm a"), "a r");
}

static qdq_model *branching(void)
{
    return typed(
        HEAD "g (float[4,4] x, bool c) => (float[4,4] y)\n"
             "<float[4,4] w = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16}>\n"
             "{ [a] t = MatMul(x, w)\n"
             "  [i] u = If(c) <then_branch = then () => (float[4,4] p) { [in] p = MatMul(t, w) },\n"
             "                 else_branch = other () => (float[4,4] q) { [out] q = Relu(t) }>\n"
             "  [b] y = MatMul(u, w) }\n");
}

/* subgraph 4.3: an If is one node, whatever an engine says about what is inside. */
static void bodies_are_part_of_the_node_around(void **state)
{
    (void)state;
    assert_groups(branching(), TEST_LAYERS("gemm a", "gemm in", "Relu out", "gemm b"), "a | i | b");
    assert_groups(branching(), TEST_LAYERS("gemm a", "gemm b"), "a | i b");
}

static void a_group_at_an_output_has_its_nodes(void **state)
{
    qdq_model *m = typed(HEAD "g (float[4,4] x) => (float[4,4] y, float[4,4] t)\n"
                              "<float[4,4] w = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16}>\n"
                              "{ [a] t = MatMul(x, w)\n [r] y = Relu(t) }\n");

    (void)state;
    assert_groups(m, TEST_LAYERS("gemm a"), "a r");
}

/* --- what is too large ------------------------------------------------------------------------ */

/* One layer over everything, of which at most two operators may be decided together. */
static void a_large_layer_is_cut_where_one_tensor_passes(void **state)
{
    qdq_fusion_opts o = QDQ_FUSION_OPTS_INIT;
    test_builder b = test_build_planes();
    test_layers l =
        TEST_LAYERS("Myelin stem+s+a1+b1+c1+d1+e1+a2+b2+c2+d2+e2+a3+b3+c3+d3+e3 slice 60");
    qdq_fusions *f;

    (void)state;
    test_residual_blocks(&b, 0);
    qdq_model *m = test_built(&b);
    assert_ok(qdq_fusions_find(m, l.at, l.n, NULL, &f, &err));
    assert_int_equal(f->n, 1);
    assert_int_equal(f->at[0].source, QDQ_FUSION_SLICE);
    qdq_fusions_free(f);

    o.most = 2;
    assert_ok(qdq_fusions_find(m, l.at, l.n, &o, &f, &err));
    assert_string_equal(test_fusions_text(f),
                        "stem s | a1 b1 c1 d1 e1 | a2 b2 c2 d2 e2 | a3 b3 c3 d3 e3");
    assert_int_equal(f->at[0].source, QDQ_FUSION_STRUCTURAL);
    assert_true(f->at[0].cut && f->at[3].cut);
    assert_us(f->at[0].us, 60.0 / 7);
    assert_us(f->at[1].us, 2 * 60.0 / 7);
    test_fusions_sound(f);
    qdq_fusions_free(f);
    test_layers_free(&l);
    qdq_model_free(m);
}

/* --- convexity -------------------------------------------------------------------------------- */

static void what_little_lies_between_is_taken_in(void **state)
{
    qdq_model *m = typed(HEAD "g (float[4,4] x) => (float[4,4] y)\n"
                              "<float[4,4] w = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16}>\n"
                              "{ [a] t = MatMul(x, w)\n [r] u = Relu(t)\n [s] y = Add(t, u) }\n");

    (void)state;
    assert_groups(m, TEST_LAYERS("gemm a+s", "relu r"), "a r s");
}

static void a_group_around_a_kernel_is_split(void **state)
{
    qdq_model *m = typed(HEAD "g (float[4,4] x) => (float[4,4] y)\n"
                              "<float[4,4] w = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16}>\n"
                              "{ [a] t = MatMul(x, w)\n [k] u = MatMul(t, w)\n [s] v = Add(t, u)\n"
                              "  [l] z = MatMul(v, w)\n [e] y = Add(v, z) }\n");

    (void)state;
    assert_groups(m, TEST_LAYERS("gemm a+s+e", "gemm k", "gemm l"), "a | k | s | l | e");
}

static void siblings_without_a_way_between_stay_together(void **state)
{
    (void)state;
    assert_groups(moved(), TEST_LAYERS("gemm a+b", "move t"), "t | a b");
}

/* --- layers of another model ------------------------------------------------------------------ */

static void layers_of_another_model_are_refused(void **state)
{
    test_layers l = TEST_LAYERS("Conv a", "Conv e", "Conv f", "Conv g"),
                few = TEST_LAYERS("Relu b", "Relu d");
    qdq_fusion_opts o = QDQ_FUSION_OPTS_INIT;
    qdq_model *m = pair();
    qdq_fusions *f;

    (void)state;
    assert_fails(
        QDQ_E_UNSUPPORTED,
        "the layers are of another model: 1 of 4 (25 %) compute nodes of this one, expected 50 %",
        qdq_fusions_find(m, l.at, l.n, NULL, &f, &err));
    assert_null(f);
    assert_fails(QDQ_E_UNSUPPORTED,
                 "they compute 0 of 2 (0 %) of its operators that can be quantized",
                 qdq_fusions_find(m, few.at, few.n, NULL, &f, &err));
    o.least = 0.2;
    assert_ok(qdq_fusions_find(m, l.at, l.n, &o, &f, &err));
    assert_us(f->matched, 0.25);
    qdq_fusions_free(f);
    test_layers_free(&few);
    test_layers_free(&l);
    qdq_model_free(m);
}

/* --- refinement ------------------------------------------------------------------------------- */

static void refine(qdq_model *m, test_layers a, test_layers b, const char *want)
{
    qdq_fusions *fa, *fb, *f, *again;

    assert_ok(qdq_fusions_find(m, a.at, a.n, NULL, &fa, &err));
    assert_ok(qdq_fusions_find(m, b.at, b.n, NULL, &fb, &err));
    assert_ok(qdq_fusions_refine(fa, fb, NULL, &f, &err));
    assert_string_equal(test_fusions_text(f), want);
    test_fusions_sound(f);
    assert_ok(qdq_fusions_refine(f, f, NULL, &again, &err));
    assert_string_equal(test_fusions_text(again), want);
    for (uint32_t i = 0; i < f->n; i++) {
        assert_int_equal(again->at[i].source, f->at[i].source);
        if (!isnan(f->at[i].us))
            assert_us(again->at[i].us, f->at[i].us);
    }
    qdq_fusions_free(again);
    qdq_fusions_free(f);
    qdq_fusions_free(fb);
    qdq_fusions_free(fa);
    test_layers_free(&a);
    test_layers_free(&b);
    qdq_model_free(m);
}

/* The layers of the quantized model name Q and DQ that the clean one does not have. */
static void a_refinement_keeps_together_what_both_do(void **state)
{
    (void)state;
    refine(pair(), TEST_LAYERS("Conv a+b", "Conv c+d"),
           TEST_LAYERS("Conv a+b+x_q", "Conv c+d", "QuantizeLinear x_dq"), "a b | c d");
    refine(pair(), TEST_LAYERS("Conv a+b 3", "Conv c+d 5"),
           TEST_LAYERS("Conv a", "Relu b", "Conv c+d"), "a | b | c d");
    refine(pair(), TEST_LAYERS("Conv a+b+c+d 8"), TEST_LAYERS("Conv a+b", "Conv c+d"), "a b | c d");
    refine(pair(), TEST_LAYERS("Conv a+b", "Conv c+d"), TEST_LAYERS("Conv c+d"), "a b | c d");
}

static void a_refinement_divides_times(void **state)
{
    test_layers a = TEST_LAYERS("Conv a+b+c+d 8", "Reorder a conversion 1"),
                b = TEST_LAYERS("Conv a", "Relu b", "Conv c+d");
    qdq_model *m = pair();
    qdq_fusions *fa, *fb, *f;

    (void)state;
    assert_ok(qdq_fusions_find(m, a.at, a.n, NULL, &fa, &err));
    assert_ok(qdq_fusions_find(m, b.at, b.n, NULL, &fb, &err));
    assert_ok(qdq_fusions_refine(fa, fb, NULL, &f, &err));
    assert_us(f->at[0].us, 4);
    assert_us(f->at[1].us, 0);
    assert_us(f->at[2].us, 4);
    assert_us(f->us, 9);
    qdq_fusions_free(f);
    qdq_fusions_free(fb);
    qdq_fusions_free(fa);
    test_layers_free(&a);
    test_layers_free(&b);
    qdq_model_free(m);
}

static void groups_of_two_graphs_have_no_refinement(void **state)
{
    qdq_model *m = pair(), *other = pair();
    qdq_fusions *a, *b, *f;

    (void)state;
    assert_ok(qdq_fusions_find(m, NULL, 0, NULL, &a, &err));
    assert_ok(qdq_fusions_find(other, NULL, 0, NULL, &b, &err));
    assert_fails(QDQ_E_USAGE, "of two graphs", qdq_fusions_refine(a, b, NULL, &f, &err));
    qdq_fusions_free(a);
    qdq_fusions_free(b);
    qdq_model_free(m);
    qdq_model_free(other);
}

/* --- any layers ------------------------------------------------------------------------------- */

enum { GRAPHS = 300, LAYERS = 12 };

/* Layers of nodes drawn by chance, which no engine would make: the result is sound all the same. */
static void any_layers_give_a_sound_partition(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < GRAPHS; i++) {
        qdq_random random = qdq_random_new(i, "layers");
        char *text = test_random_graph(i, (test_random_opts){4 + i % 60, i % 3 == 0});
        qdq_model *m = test_model(text);
        qdq_fusion_opts o = {.size = sizeof o, .most = 1 + (unsigned)(i % 3), .least = 1e-9};
        qdq_arena scratch = QDQ_ARENA_INIT;
        qdq_group layer[LAYERS];
        const char *label[LAYERS][8];
        qdq_fusions *f, *g, *both;

        assert_ok(qdq_model_infer(m, NULL, &err));
        const qdq_node **all = qdq_arena_array(&scratch, (size_t)m->graph->n_node + 1, sizeof *all);
        size_t n = 0;
        QDQ_FOR_NODES (node, m->graph)
            all[n++] = node;
        for (size_t k = 0; k < LAYERS; k++) {
            size_t of = 1 + qdq_random_u64(&random) % 8, from = qdq_random_u64(&random) % n;
            for (size_t j = 0; j < of; j++) /* near each other, as a rule */
                label[k][j] =
                    qdq_node_label(all[(from + qdq_random_u64(&random) % 6) % n], &scratch);
            layer[k] =
                (qdq_group){"l", "Fused", "", "", 1, 0, false, label[k], of, QDQ_GROUP_SLICE, NULL};
        }
        qdq_status st = qdq_fusions_find(m, layer, LAYERS, &o, &f, &err);
        if (st == QDQ_E_UNSUPPORTED) /* none of its operators that can be quantized was drawn */
            assert_ok(qdq_fusions_find(m, NULL, 0, &o, &f, &err));
        else
            assert_ok(st);
        assert_ok(qdq_fusions_find(m, NULL, 0, &o, &g, &err));
        assert_ok(qdq_fusions_refine(f, g, &o, &both, &err));
        test_fusions_sound(f);
        test_fusions_sound(g);
        test_fusions_sound(both);
        qdq_fusions_free(both);
        qdq_fusions_free(g);
        qdq_fusions_free(f);
        qdq_arena_free(&scratch);
        qdq_model_free(m);
        free(text);
    }
}

static void a_graph_without_nodes_has_no_groups(void **state)
{
    qdq_model *m = typed(HEAD "g (float[4] x) => (float[4] x) { }\n");

    (void)state;
    assert_groups(m, no_layers(), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_layer_is_a_group),
        cmocka_unit_test(layers_that_share_a_node_are_one_group),
        cmocka_unit_test(a_shared_transpose_does_not_join_its_readers),
        cmocka_unit_test(conversions_and_control_make_no_groups),
        cmocka_unit_test(q_and_dq_go_to_their_reader_and_join_nothing),
        cmocka_unit_test(the_times_of_layers_are_those_of_their_groups),
        cmocka_unit_test(without_times_there_are_none),
        cmocka_unit_test(which_operators_count_is_an_option),
        cmocka_unit_test(an_activation_that_no_layer_names_is_an_epilogue),
        cmocka_unit_test(movement_goes_to_its_reader_or_at_an_output_to_its_producer),
        cmocka_unit_test(what_several_groups_read_is_in_none_of_them),
        cmocka_unit_test(an_operator_that_no_layer_names_is_a_group_by_structure),
        cmocka_unit_test(without_layers_structure_decides),
        cmocka_unit_test(constants_and_shapes_are_in_no_group),
        cmocka_unit_test(bodies_are_part_of_the_node_around),
        cmocka_unit_test(a_group_at_an_output_has_its_nodes),
        cmocka_unit_test(a_large_layer_is_cut_where_one_tensor_passes),
        cmocka_unit_test(what_little_lies_between_is_taken_in),
        cmocka_unit_test(a_group_around_a_kernel_is_split),
        cmocka_unit_test(siblings_without_a_way_between_stay_together),
        cmocka_unit_test(layers_of_another_model_are_refused),
        cmocka_unit_test(a_refinement_keeps_together_what_both_do),
        cmocka_unit_test(a_refinement_divides_times),
        cmocka_unit_test(groups_of_two_graphs_have_no_refinement),
        cmocka_unit_test(any_layers_give_a_sound_partition),
        cmocka_unit_test(a_graph_without_nodes_has_no_groups),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
