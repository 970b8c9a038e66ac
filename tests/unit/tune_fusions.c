/* tune_fusions.c - fusion groups: options, sizes, refinement, and that any layers give a sound
 * partition. Every step from layers to a partition, and times are in text/fusions. */
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

static qdq_model *typed(const char *text)
{
    qdq_model *m = test_model(text);

    assert_ok(qdq_model_infer(m, NULL, &err));
    return m;
}

/* Two convolutions with an activation each. */
static qdq_model *pair(void)
{
    return typed(test_graph_text(__func__));
}

static void assert_us(double found, double want)
{
    if (!(fabs(found - want) <= 1e-9))
        fail_msg("want %g, got %g", want, found);
}

/* --- layers ----------------------------------------------------------------------------------- */

TEST(which_operators_count_is_an_option)
{
    static const char *const ops[] = {"Relu", NULL};
    qdq_fusion_opts o = QDQ_FUSION_OPTS_INIT;
    test_layers l = TEST_LAYERS("Conv a", "Relu b", "Conv c", "Relu d");
    qdq_model *m = pair();
    qdq_fusions *f;

    o.ops = ops;
    assert_ok(qdq_fusions_find(m, l.at, l.n, &o, &f, &err));
    assert_int_equal(f->at[0].linear, 0);
    assert_int_equal(f->at[1].linear, 1);
    qdq_fusions_free(f);
    test_layers_free(&l);
    qdq_model_free(m);
}

/* --- nodes without a layer -------------------------------------------------------------------- */

TEST(without_layers_structure_decides)
{
    test_builder b = test_build_planes();
    qdq_fusions *f;

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

/* --- what is too large ------------------------------------------------------------------------ */

/* One layer over everything, of which at most two operators may be decided together. */
TEST(a_large_layer_is_cut_where_one_tensor_passes)
{
    qdq_fusion_opts o = QDQ_FUSION_OPTS_INIT;
    test_builder b = test_build_planes();
    test_layers l =
        TEST_LAYERS("Myelin stem+s+a1+b1+c1+d1+e1+a2+b2+c2+d2+e2+a3+b3+c3+d3+e3 slice 60");
    qdq_fusions *f;

    test_residual_blocks(&b, 0);
    qdq_model *m = test_built(&b);
    assert_ok(qdq_fusions_find(m, l.at, l.n, NULL, &f, &err));
    assert_int_equal(f->n, 1);
    assert_int_equal(f->at[0].source, QDQ_FUSION_SLICE);
    qdq_fusions_free(f);

    o.max_ops = 2;
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

/* --- layers of another model ------------------------------------------------------------------ */

TEST(layers_of_another_model_are_refused)
{
    test_layers l = TEST_LAYERS("Conv a", "Conv e", "Conv f", "Conv g"),
                few = TEST_LAYERS("Relu b", "Relu d");
    qdq_fusion_opts o = QDQ_FUSION_OPTS_INIT;
    qdq_model *m = pair();
    qdq_fusions *f;

    assert_fails(
        QDQ_E_UNSUPPORTED,
        "the layers are of another model: 1 of 4 (25 %) compute nodes of this one, expected 50 %",
        qdq_fusions_find(m, l.at, l.n, NULL, &f, &err));
    assert_null(f);
    assert_fails(QDQ_E_UNSUPPORTED,
                 "they compute 0 of 2 (0 %) of its operators that can be quantized",
                 qdq_fusions_find(m, few.at, few.n, NULL, &f, &err));
    o.min_matched = 0.2;
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
TEST(a_refinement_keeps_together_what_both_do)
{
    refine(pair(), TEST_LAYERS("Conv a+b", "Conv c+d"),
           TEST_LAYERS("Conv a+b+x_q", "Conv c+d", "QuantizeLinear x_dq"), "a b | c d");
    refine(pair(), TEST_LAYERS("Conv a+b 3", "Conv c+d 5"),
           TEST_LAYERS("Conv a", "Relu b", "Conv c+d"), "a | b | c d");
    refine(pair(), TEST_LAYERS("Conv a+b+c+d 8"), TEST_LAYERS("Conv a+b", "Conv c+d"), "a b | c d");
    refine(pair(), TEST_LAYERS("Conv a+b", "Conv c+d"), TEST_LAYERS("Conv c+d"), "a b | c d");
}

TEST(a_refinement_divides_times)
{
    test_layers a = TEST_LAYERS("Conv a+b+c+d 8", "Reorder a conversion 1"),
                b = TEST_LAYERS("Conv a", "Relu b", "Conv c+d");
    qdq_model *m = pair();
    qdq_fusions *fa, *fb, *f;

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

TEST(groups_of_two_graphs_have_no_refinement)
{
    qdq_model *m = pair(), *other = pair();
    qdq_fusions *a, *b, *f;

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
TEST(any_layers_give_a_sound_partition)
{
    for (uint64_t i = 0; i < GRAPHS; i++) {
        qdq_random random = qdq_random_new(i, "layers");
        char *text = test_random_graph(i, (test_random_opts){4 + i % 60, i % 3 == 0});
        qdq_model *m = test_model(text);
        qdq_fusion_opts o = {
            .size = sizeof o, .max_ops = 1 + (unsigned)(i % 3), .min_matched = 1e-9};
        qdq_arena scratch = QDQ_ARENA_INIT;
        qdq_layer layer[LAYERS];
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
                (qdq_layer){"l", "Fused", "", "", 1, 0, false, label[k], of, QDQ_LAYER_SLICE, NULL};
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
