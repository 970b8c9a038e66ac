/* tune_part_times.c - what isolated groups cost: layers as engines report them, and whose they
 * are. */
#include "tune/isolate/part_times.h"

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
    setting s = {.m = test_graph("chain")};
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

/* Of both parts. */
static const qdq_group_time *times_at(test_layers l, double end_to_end)
{
    static qdq_group_time out[2];
    setting s = set_up();

    assert_ok(qdq_parts_time(s.p, l.at, l.n, end_to_end, out, &err));
    test_layers_free(&l);
    put_away(&s);
    return out;
}

#define TIMES(...) times_at(TEST_LAYERS(__VA_ARGS__), NAN)

/* --- whose layers ----------------------------------------------------------------------------- */

TEST(layers_of_the_group_count_and_those_of_the_halo_are_told_apart)
{
    const qdq_group_time *t = TIMES("MatMul g1/a 100", "MatMul g1/b+g1/r 20", "MatMul g1/c+g1/m 30",
                                    "MatMul g1/d 100", "MatMul g1.1/b 7", "MatMul g1.1/c 8");

    assert_us(t[0].own, 50);
    assert_us(t[0].halo, 200);
    assert_us(t[0].rows, 2);
    assert_us(t[1].own, 15);
    assert_us(t[1].halo, 0);
}

/* TensorRT's names: products in one kernel have equal parts of it. */
TEST(a_layer_of_both_is_divided)
{
    test_layers l = TEST_LAYERS("gemm g1/a+g1/b 100", "gemm g1/c 10", "gemm g1.1/b+g1.1/r 3");

    l.at[0].layer = "g1/a + g1/b";
    const qdq_group_time *t = times_at(l, NAN);
    assert_us(t[0].own, 60);
    assert_us(t[0].halo, 50);
    assert_us(t[0].rows, 1.5);
    assert_us(t[1].own, 3);
}

TEST(what_two_parts_have_in_one_layer_is_neithers)
{
    test_layers l = TEST_LAYERS("gemm g1/b+g1.1/b 10", "gemm g1/c 10", "gemm g1.1/c 10");

    l.at[0].layer = "fused";
    const qdq_group_time *t = times_at(l, NAN);
    assert_true(isnan(t[0].own) && isnan(t[1].own));
}

TEST(a_part_without_layers_or_times_takes_none)
{
    const qdq_group_time *t = TIMES("MatMul g1/b+g1/c", "Relu - 3");

    assert_us(t[0].own + t[0].halo, 0);
    assert_us(t[1].own + t[1].halo, 0);
}

/* The whole model says which layers are right, with Q/DQ others than without. */
static void assert_differs(test_layers part, test_layers whole, bool differs)
{
    setting s = set_up();
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_tune_times times;
    qdq_group_time out[2];

    assert_ok(qdq_parts_time(s.p, part.at, part.n, NAN, out, &err));
    assert_ok(qdq_tune_attribute(s.f->g.g, whole.at, whole.n, &arena, &times, &err));
    const qdq_group_time there = qdq_group_time_of(s.f, 1, &times);
    assert_int_equal(qdq_group_time_differs(&out[0], &there), differs);
    qdq_arena_free(&arena);
    test_layers_free(&part);
    test_layers_free(&whole);
    put_away(&s);
}

TEST(kernels_of_another_kind_than_in_the_whole_model_are_told)
{
    assert_differs(TEST_LAYERS("MatMul g1/b 1", "MatMul g1/c 1"),
                   TEST_LAYERS("MatMul b+r 1", "MatMul c 1"), false);
    assert_differs(TEST_LAYERS("MatMul g1/b 1", "MatMul g1/c 1"), TEST_LAYERS("MatMul b+r+m+c 1"),
                   true);
    assert_differs(TEST_LAYERS("MatMul g1/a 1"), TEST_LAYERS("MatMul a 1", "MatMul b 1"), true);
    assert_differs(TEST_LAYERS("MatMul g1/a 1", "MatMul g1/b 1"),
                   TEST_LAYERS("MatMul b 1", "MatMul d 1"), false);
}

/* --- conversions ------------------------------------------------------------------------------ */

/* t is the halo's, and v the group's own. */
TEST(qdq_of_the_plan_count_and_those_at_the_border_are_told_apart)
{
    const qdq_group_time *t =
        TIMES("MatMul g1.1/a 100", "QuantizeLinear g1.1/t_QuantizeLinear conversion 5",
              "MatMul g1.1/b 20", "QuantizeLinear g1.1/v_QuantizeLinear conversion 3",
              "DequantizeLinear g1.1/v_DequantizeLinear conversion 2", "MatMul g1.1/c 20",
              "MatMul g1/b 1");

    assert_us(t[1].own, 40);
    assert_us(t[1].inside, 5);
    assert_us(t[1].border, 5);
    assert_us(t[0].inside + t[0].border, 0);
}

/* ONNX Runtime decodes a weight in each run: whoever reads it, too, it is the group's. */
TEST(codes_of_a_weight_are_no_border)
{
    const qdq_group_time *t = TIMES(
        "MatMul g1/b 20", "DequantizeLinear g1/w_DequantizeLinear conversion 4", "MatMul g1/c 20");

    assert_us(t[0].inside, 4);
    assert_us(t[0].border, 0);
}

/* ONNX Runtime doubles a DQ under a name of its own, and says of it nothing else. */
TEST(a_copy_of_a_dq_is_found_by_its_name)
{
    test_layers l =
        TEST_LAYERS("MatMul g1.1/b 20", "DequantizeLinear - conversion 2", "MatMul g1.1/c 20");

    l.at[1].layer = "g1.1/t_DequantizeLinear/duplicated";
    assert_us(times_at(l, NAN)[1].border, 2);
}

/* By who is executed before; not where another part follows. */
TEST(reformats_count_between_nodes_of_the_group_alone)
{
    const qdq_group_time *t = TIMES(
        "Reorder - conversion 1", "MatMul g1/a 100", "Reorder - conversion 2", "MatMul g1/b 20",
        "Reorder - conversion 4", "MatMul g1/c 20", "Reorder - conversion 8", "MatMul g1/d 100",
        "Reorder - conversion 16", "MatMul g1.1/b 20", "Reorder - conversion 32");

    assert_us(t[0].own, 40);
    assert_us(t[0].inside, 4);
    assert_us(t[0].border, 2 + 8);
    assert_us(t[1].inside + t[1].border, 0);
}

/* By the name of the tensor, whatever is executed around it. */
TEST(a_reformat_that_names_its_tensor_needs_no_neighbours)
{
    test_layers l = TEST_LAYERS("MatMul g1/b 20", "Reorder - conversion 2",
                                "Reorder - conversion 4", "MatMul g1/a 100", "MatMul g1/c 20");

    l.at[1].layer = "g1/v";
    l.at[2].layer = "g1/t";
    const qdq_group_time *t = times_at(l, NAN);
    assert_us(t[0].inside, 2);
    assert_us(t[0].border, 4);
}

/* --- launch correction ------------------------------------------------------------------------ */

TEST(what_profiling_adds_is_taken_off_each_layer)
{
    static const double end_to_end[] = {160, 300, NAN};
    static const double want[] = {50 - 2 * 10, 50, 50};

    for (int i = 0; i < 3; i++) {
        const qdq_group_time *t =
            times_at(TEST_LAYERS("MatMul g1/a 100", "MatMul g1/b 20", "MatMul g1/c 30",
                                 "MatMul g1/d 50", "NoOp - 0"),
                     end_to_end[i]);
        assert_us(t[0].own, want[i]);
    }
}

/* --- engines ---------------------------------------------------------------------------------- */

/* What every group of the network costs on the sim engine, from files in a worker client: 0 without
 * Q/DQ, 1 with all. */
static void time_on_sim(test_isolated *s, bool with, qdq_group_time *out)
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
    assert_ok(qdq_parts_time(p, layer, n, NAN, out, &err));
    qdq_free(layer);
    qdq_worker_client_close(worker_client);
    qdq_parts_free(p);
    qdq_candidates_close(c);
    qdq_plan_free(all);
}

TEST(times_of_all_groups_are_those_of_the_engine)
{
    test_isolated s = test_isolate(test_isolated_network(1), NULL);
    qdq_group_time none[TEST_MOST_PARTS], all[TEST_MOST_PARTS];

    time_on_sim(&s, false, none);
    time_on_sim(&s, true, all);
    for (uint32_t i = 0; i < s.f->n; i++) {
        const qdq_fusion *f = &s.f->at[i];
        assert_us(none[i].rows, 1);
        assert_us(none[i].inside + none[i].border, 0);
        if (f->node[0]->op != QDQ_OP_CONV)
            continue;
        assert_us(none[i].own, 100);
        assert_us(all[i].own, 30);
        assert_us(all[i].rows, 1);
        assert_us(all[i].inside + all[i].border, 10); /* a Q in front, a DQ behind */
        assert_us(all[i].border, i == 0 ? 5 : 10);    /* who feeds the model gives no codes */
    }
    test_isolated_free(&s);
}
