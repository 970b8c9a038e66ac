/* tune_score.c - what isolated groups cost: layers as engines report them, whose they are, and what
 * is left out. */
#include "tune/isolate/score.h"

#include <math.h>
#include <sys/stat.h>

#include "ir/shape.h"
#include "support/isolated.h"
#include "support/layers.h"
#include "support/test.h"
#include "tune/worker_client/worker_client.h"
#include "tune/space/candidates.h"

static qdq_error err;

static void assert_us(double is, double want)
{
    if (!(fabs(is - want) < 1e-6))
        fail_msg("%g us, want %g", is, want);
}

/* --- a chain with one group in the middle ----------------------------------------------------- */

#define W4 "float[4,4] w = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16}"

static const char chain[] =
    "<ir_version: 9, opset_import: [\"\" : 17]>\n"
    "g (float[4,4] x) => (float[4,4] y) <" W4 ">\n"
    "{ [a] t = MatMul(x, w)\n [b] u = MatMul(t, w)\n [r] v = Relu(u)\n [m] k = Transpose(v)\n"
    "  [c] s = MatMul(k, w)\n [d] y = MatMul(s, w) }\n";

typedef struct setting {
    qdq_model *m;
    qdq_fusions *f;
    qdq_shape_range *range;
    qdq_parts *p;
} setting;

/* Twice the group [b, r, m, c], with [a] and [d] around it: without Q/DQ, and with t and v
 * quantized. */
static setting set_up(void)
{
    static const char plan[] =
        "{\"qdq_plan\": 1, \"model\": \"0\", \"target\": \"\", \"created_by\": \"\", "
        "\"clean\": \"\", \"opset\": 0, "
        "\"placement_only\": false, \"tensors\": ["
        "{\"tensor\": \"t\", \"consumers\": [[\"b\", 0]], \"type\": \"int8\", "
        "\"scale\": 0.1, \"zero_point\": 0, "
        "\"rule\": \"\", \"origin\": \"\"},"
        "{\"tensor\": \"v\", \"consumers\": [[\"m\", 0]], \"type\": \"int8\", "
        "\"scale\": 0.1, \"zero_point\": 0, "
        "\"rule\": \"\", \"origin\": \"\"}], \"weights\": [], \"biases\": [], "
        "\"quantized\": [], \"left_float\": []}";
    test_layers l = TEST_LAYERS("gemm a", "gemm b+r+m+c", "gemm d");
    setting s = {.m = test_model(chain)};
    qdq_group_model *g;
    qdq_plan *p;

    assert_ok(qdq_plan_parse(plan, strlen(plan), "plan", &p, &err));
    assert_ok(qdq_model_infer(s.m, NULL, &err));
    assert_ok(qdq_fusions_find(s.m, l.at, l.n, NULL, &s.f, &err));
    assert_int_equal(s.f->n, 3);
    assert_ok(qdq_shape_range_open(s.m, NULL, &s.range, &err));
    const qdq_group_model_opts o = {.halo = true, .range = s.range};
    assert_ok(qdq_group_model_make(s.f, 1, &o, &g, &err));
    assert_ok(qdq_parts_new(s.f, &s.p, &err));
    for (int i = 0; i < 2; i++)
        assert_ok(qdq_parts_join(s.p, 1, g, i > 0 ? p : NULL, NULL, &err));
    qdq_group_model_free(g);
    qdq_plan_free(p);
    test_layers_free(&l);
    return s;
}

static void put_away(setting *s)
{
    qdq_parts_free(s->p);
    qdq_shape_range_close(s->range);
    qdq_fusions_free(s->f);
    qdq_model_free(s->m);
}

static qdq_part_score *score_at(test_layers l, double end_to_end)
{
    static qdq_part_score out[2];
    setting s = set_up();

    assert_ok(qdq_parts_score(s.p, l.at, l.n, end_to_end, out, &err));
    test_layers_free(&l);
    put_away(&s);
    return out;
}

#define SCORE(...) score_at(TEST_LAYERS(__VA_ARGS__), NAN)

/* --- whose layers ----------------------------------------------------------------------------- */

TEST(layers_of_the_group_count_and_those_of_the_halo_do_not)
{
    const qdq_part_score *s = SCORE("MatMul g1/a 100", "MatMul g1/b+g1/r 20", "MatMul g1/c+g1/m 30",
                                    "MatMul g1/d 100", "MatMul g1.1/b+g1.1/r+g1.1/m+g1.1/c 7");

    assert_true(s[0].known && s[1].known);
    assert_us(s[0].own_us, 50);
    assert_int_equal(s[0].layers, 2);
    assert_true(qdq_part_mismatches(&s[0], &(qdq_group_layers){.n = 1, .shared = true}));
    assert_false(s[0].shared);
    assert_us(s[1].own_us, 7);
    assert_false(qdq_part_mismatches(&s[1], &(qdq_group_layers){.n = 1, .shared = true}));
}

TEST(a_layer_of_both_counts_and_says_so)
{
    const qdq_part_score *s = SCORE("MatMul g1/a+g1/b 100", "MatMul g1.1/b 3");

    assert_us(s[0].own_us, 100);
    assert_true(s[0].shared);
    assert_false(s[1].shared);
}

/* m moves what d's kernel reads: that is still the halo's. */
TEST(moved_numbers_do_not_make_a_layer_ours)
{
    const qdq_part_score *s =
        SCORE("MatMul g1/b+g1/c 10", "MatMul g1/m+g1/d 100", "Transpose g1/m 2");

    assert_us(s[0].own_us, 12);
    assert_false(s[0].shared);
}

TEST(what_is_not_known_is_said)
{
    const qdq_part_score *s = SCORE("MatMul g1/b+g1/c", "MatMul g1.1/a 100", "Relu - 3");

    assert_false(s[0].known); /* no time */
    assert_true(isnan(s[0].own_us) && isnan(qdq_part_cold_us(&s[0])));
    assert_false(s[1].known); /* no layer */
    s = SCORE("MatMul g1/b+g1.1/b 10", "MatMul g1/c 10", "MatMul g1.1/c 10");
    assert_false(s[0].known || s[1].known); /* nobody knows whose share it is */
}

static void assert_context(test_layers part, test_layers whole, bool mismatch)
{
    setting s = set_up();
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_group_layers *there;
    qdq_part_score out[2];

    assert_ok(qdq_parts_score(s.p, part.at, part.n, NAN, out, &err));
    assert_ok(qdq_count_group_layers(s.f, whole.at, whole.n, &arena, &there, &err));
    assert_int_equal(qdq_part_mismatches(&out[0], &there[1]), mismatch);
    qdq_arena_free(&arena);
    test_layers_free(&part);
    test_layers_free(&whole);
    put_away(&s);
}

/* The whole model says which layers are right, with Q/DQ others than without. */
TEST(kernels_of_another_kind_than_in_the_whole_model_are_told)
{
    assert_context(TEST_LAYERS("MatMul g1/b 1", "MatMul g1/c 1"),
                   TEST_LAYERS("MatMul b+r", "MatMul c"), false);
    assert_context(TEST_LAYERS("MatMul g1/b 1", "MatMul g1/c 1"), TEST_LAYERS("MatMul b+r+m+c"),
                   true);
    assert_context(TEST_LAYERS("MatMul g1/a+g1/b 1"),
                   TEST_LAYERS("MatMul a", "MatMul b+r", "MatMul c"), true);
    assert_context(TEST_LAYERS("MatMul g1/a+g1/b 1"), TEST_LAYERS("MatMul a+b", "MatMul c"), false);
    assert_context(TEST_LAYERS("MatMul g1/a+g1/b 1"), TEST_LAYERS("MatMul b", "MatMul m+d"),
                   true); /* m moves */
    assert_context(TEST_LAYERS("MatMul g1/a+g1/b 1", "MatMul g1/c 1"), TEST_LAYERS("MatMul a"),
                   true); /* as before */
}

/* --- conversions ------------------------------------------------------------------------------ */

/* t is the halo's, and v the group's own. */
TEST(qdq_of_the_plan_count_and_those_at_the_border_are_told_apart)
{
    const qdq_part_score *s =
        SCORE("MatMul g1.1/a 100", "QuantizeLinear g1.1/t_QuantizeLinear conversion 5",
              "MatMul g1.1/t_DequantizeLinear+g1.1/b+g1.1/r 20",
              "QuantizeLinear g1.1/v_QuantizeLinear conversion 3",
              "DequantizeLinear g1.1/v_DequantizeLinear conversion 2", "MatMul g1.1/m+g1.1/c 20",
              "MatMul g1/b 1");

    assert_us(s[1].own_us, 40);
    assert_us(s[1].qdq_us, 10);
    assert_us(s[1].boundary_qdq_us, 5);
    assert_us(qdq_part_cold_us(&s[1]), 50);
}

/* ONNX Runtime doubles a DQ under a name of its own, and says of it nothing else. */
TEST(a_copy_of_a_dq_is_found_by_its_name)
{
    test_layers l =
        TEST_LAYERS("MatMul g1.1/b 20", "DequantizeLinear - conversion 2", "MatMul g1.1/c 20");

    l.at[1].layer = "g1.1/t_DequantizeLinear/duplicated";
    const qdq_part_score *s = score_at(l, NAN);
    assert_us(s[1].qdq_us, 2);
    assert_us(s[1].boundary_qdq_us, 2);
}

TEST(reformats_count_between_nodes_of_the_group_alone)
{
    const qdq_part_score *s = SCORE(
        "Reorder - conversion 1", "MatMul g1/a 100", "Reorder - conversion 2", "MatMul g1/b 20",
        "Reorder - conversion 4", "MatMul g1/c 20", "Reorder - conversion 8", "MatMul g1/d 100",
        "Reorder - conversion 16", "MatMul g1.1/b 20", "Reorder - conversion 32");

    assert_us(s[0].own_us, 40);
    assert_us(s[0].reformat_us, 4);
    assert_us(s[1].reformat_us, 0);
}

/* By the name of the tensor, whatever is executed around it; and by the node that it is for. */
TEST(a_reformat_that_names_its_tensor_needs_no_neighbours)
{
    test_layers l =
        TEST_LAYERS("MatMul g1/b 20", "Reorder - conversion 2", "Reorder - conversion 4",
                    "MatMul g1/a 100", "Reformat g1/c conversion 8", "MatMul g1/c 20",
                    "Reformat g1/c conversion 16", "MatMul g1/b 20");

    l.at[1].layer = "g1/v";
    l.at[2].layer = "g1/t";
    assert_us(score_at(l, NAN)[0].reformat_us, 2 + 16);
}

/* --- launch correction ------------------------------------------------------------------------ */

TEST(what_profiling_adds_is_taken_off_each_layer)
{
    static const double end_to_end[] = {160, 300, NAN};
    static const double want[] = {50 - 2 * 10, 50, 50};

    for (int i = 0; i < 3; i++) {
        const qdq_part_score *s =
            score_at(TEST_LAYERS("MatMul g1/a 100", "MatMul g1/b 20", "MatMul g1/c 30",
                                 "MatMul g1/d 50", "NoOp - 0"),
                     end_to_end[i]);
        assert_us(s[0].own_us, want[i]);
    }
}

/* Scores a group's model from the layers and the profile that trtexec writes for it. */
static double table_row(const char *name, double compute, double qdq, size_t n_qdq, double reformat,
                        double end_to_end)
{
    enum { N_COMPUTE = 20 };
    char layers_path[700], times_path[700];
    const size_t n = N_COMPUTE + n_qdq + 1;
    setting s = set_up();
    qdq_part_score out[2];
    qdq_layer *layer;
    size_t n_layers;

    snprintf(layers_path, sizeof layers_path, "%s", test_path("%s.layers.json", name));
    snprintf(times_path, sizeof times_path, "%s", test_path("%s.times.json", name));
    FILE *layers = fopen(layers_path, "w"), *times = fopen(times_path, "w");
    assert_true(layers != NULL && times != NULL);
    fprintf(layers, "{\"Layers\": [");
    fprintf(times, "[{\"count\": 100}");
    for (size_t i = 0; i < n; i++) {
        const bool computes = i < N_COMPUTE - 1 || i == n - 1, is_qdq = i < N_COMPUTE + n_qdq - 1;
        const char *node = computes ? "g1.1/b" : is_qdq ? "g1.1/v_QuantizeLinear" : "";
        const double us = computes ? compute / N_COMPUTE : is_qdq ? qdq / (double)n_qdq : reformat;
        fprintf(layers,
                "%s{\"Name\": \"l%zu\", \"LayerType\": \"%s\", \"Origin\": \"%s\", \"Inputs\": [], "
                "\"Outputs\": [], \"Metadata\": \"%s%s%s\"}",
                i > 0 ? ", " : "", i, computes ? "gemm" : "Reformat",
                computes ? ""
                : is_qdq ? "QDQ"
                         : "REFORMAT",
                *node != '\0' ? "[ONNX Layer: " : "", node, *node != '\0' ? "]" : "");
        fprintf(times,
                ", {\"name\": \"l%zu\", \"timeMs\": %g, \"averageMs\": %g, \"medianMs\": %g, "
                "\"percentage\": 1}",
                i, us * 0.1, us * 1e-3, us * 1e-3);
    }
    fprintf(layers, "], \"Bindings\": []}");
    fprintf(times, "]");
    assert_true(fclose(layers) == 0 && fclose(times) == 0);
    assert_ok(qdq_layers_read(s.p->model, layers_path, times_path, NULL, &layer, &n_layers, &err));
    assert_int_equal(n_layers, n);
    assert_ok(qdq_parts_score(s.p, layer, n_layers, end_to_end, out, &err));
    qdq_free(layer);
    put_away(&s);
    return qdq_part_cold_us(&out[1]);
}

/* Residuals in float: Q/DQ and reformats cost more than 8-bit kernels save. */
TEST(residuals_in_float_make_int8_slower)
{
    const double f16 = table_row("f16", 928.8, 0, 0, 88.1, 862.2),
                 i8 = table_row("i8", 817.2, 232.4, 10, 46.1, 882.6);

    assert_true(fabs(i8 / f16 - 1 - 0.024) < 0.001);
}

/* --- engines ---------------------------------------------------------------------------------- */

/* What every group of the network costs on the sim engine, from files in a worker client: 0 without
 * Q/DQ, 1 with all. */
static void score_on_sim(test_isolated *s, bool with, qdq_part_score *out)
{
    const char *folder = test_path("parts%d", with);
    const qdq_worker_client_opts opts = {.engine = test_isolated_costs(),
                                         .worker = QDQ_BUILD_DIR "/qdq-worker"};
    qdq_plan *all = test_isolated_plan(s);
    qdq_candidates *c;
    qdq_worker_client *worker_client;
    qdq_remote_outcome outcome;
    qdq_layer *layer;
    qdq_parts *p;
    char path[700];
    size_t n;

    assert_int_equal(mkdir(folder, 0700), 0);
    assert_ok(qdq_candidates_open(folder, s->clean, NULL, &c, &err));
    p = test_isolated_parts(s, with ? all : NULL, qdq_candidates_cache(c));
    assert_ok(qdq_candidate_write_part(c, p->model, "parts.onnx", &err));
    snprintf(path, sizeof path, "%s/parts.onnx", folder);
    assert_ok(qdq_worker_client_open(&opts, &worker_client, &err));
    assert_ok(qdq_worker_client_groups(worker_client, path, 3, &layer, &n, &outcome, &err));
    assert_int_equal(outcome.end, QDQ_REMOTE_FINE);
    assert_ok(qdq_parts_score(p, layer, n, NAN, out, &err));
    qdq_free(layer);
    qdq_worker_client_close(worker_client);
    qdq_parts_free(p);
    qdq_candidates_close(c);
    qdq_plan_free(all);
}

TEST(scores_of_all_groups_are_those_of_the_engine)
{
    test_isolated s = test_isolate(test_isolated_network(1), NULL);
    qdq_part_score none[TEST_MOST_PARTS], all[TEST_MOST_PARTS];
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_group_layers *there;

    assert_ok(qdq_count_group_layers(s.f, NULL, 0, &arena, &there, &err));
    score_on_sim(&s, false, none);
    score_on_sim(&s, true, all);
    for (uint32_t i = 0; i < s.f->n; i++) {
        const qdq_fusion *f = &s.f->at[i];
        const bool conv = f->node[0]->op == QDQ_OP_CONV;
        assert_true(none[i].known && all[i].known);
        assert_int_equal(none[i].layers, 1);
        assert_false(qdq_part_mismatches(&none[i], &there[i]) ||
                     qdq_part_mismatches(&all[i], &there[i]));
        assert_false(none[i].shared || all[i].shared);
        assert_us(none[i].qdq_us, 0);
        if (!conv)
            continue;
        assert_us(none[i].own_us, 100);
        assert_us(all[i].own_us, 30);
        assert_us(all[i].qdq_us, 10);                       /* a Q in front, a DQ behind */
        assert_us(all[i].boundary_qdq_us, i == 0 ? 5 : 10); /* who feeds the model gives no codes */
    }
    qdq_arena_free(&arena);
    test_isolated_free(&s);
}
