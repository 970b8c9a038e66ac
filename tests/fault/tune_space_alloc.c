/* tune_space_alloc.c - every allocation on the way from a clean model to a candidate's file fails
 * once: an error, no leak, and what was made before still serves. */
#include "support/alloc_fail.h"

#include <sys/stat.h>

#include "base/file.h"
#include "quant/quantize_steps.h"
#include "support/build.h"
#include "tune/space/candidates.h"
#include "tune/mincut/hyperedges.h"
#include "tune/space/space_forms.h"
#include "tune/space/space_edges.h"
#include "tune/space/space_partial.h"

enum { PLANS = 4 };

/* A residual block, a Concat, whose tensors share a scale, and a product. */
static qdq_model *build(void)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 16, 4, 4);
    test_conv(&b, "c0", "x", 16, 16, 3, 1);
    TEST_NODE(&b, "Relu", "r0", "c0");
    test_conv(&b, "c1", "r0", 16, 16, 3, 1);
    TEST_NODE(&b, "Add", "a", "c1", "r0");
    test_conv(&b, "c2", "x", 16, 16, 1, 1);
    assert_true(qdq_node_set_int(TEST_NODE(&b, "Concat", "cc", "a", "c2"), "axis", 1));
    test_conv(&b, "c3", "cc", 16, 32, 1, 1);
    TEST_RANDOM(&b, "w", 4, 8);
    TEST_NODE(&b, "MatMul", "p", "c3", "w");
    test_output(&b, "p");
    return test_built(&b);
}

typedef struct setting {
    qdq_model *clean;
    qdq_target *target;
    qdq_engine *engine;
    qdq_plan *head;
    qdq_quantize_opts opts;
    const char *folder;
    /* of one attempt after the other */
    qdq_candidates *candidates;
    qdq_plan *plans[PLANS];
} setting;

static setting set_up(const char *target)
{
    static unsigned count;
    setting s = {
        .opts = QDQ_QUANTIZE_OPTS_INIT, .head = qdq_plan_new(), .folder = test_path("%u", count++)};
    qdq_error err = QDQ_ERROR_INIT;
    qdq_model *m = build();

    assert_int_equal(mkdir(s.folder, 0700), 0);
    assert_ok(
        qdq_engine_open("sim:" QDQ_SOURCE_DIR "/tests/data/sim_basic.json", NULL, &s.engine, &err));
    assert_ok(qdq_target_load(target, &s.target, &err));
    assert_ok(qdq_target_set(s.target, "weight.method", "mse", &err));
    assert_ok(qdq_quantize_begin(m, s.target, &s.opts, s.head, &s.clean, &err));
    qdq_model_free(m);
    return s;
}

static void put_away(setting *s)
{
    qdq_plan_free(s->head);
    qdq_model_free(s->clean);
    qdq_target_free(s->target);
    qdq_engine_close(s->engine);
}

/* All products' data quantized at run time, if the target has that form, and all other groups. */
static qdq_status plan_form(const qdq_space *space, const qdq_space_scaling *from, qdq_arena *arena,
                            qdq_plan **out, qdq_error *err)
{
    qdq_assign a;

    QDQ_NEED(qdq_assign_new(&a, qdq_space_edge_bits(space), arena), err);
    for (size_t i = 0; i < space->n_groups; i++)
        qdq_assign_set(&a, i, true);
    for (size_t i = 0; i < space->n_formed; i++)
        qdq_space_set_form(space, &a, i);
    return qdq_space_plan(space, &a, from, out, err);
}

/* All groups, then all but the second, then halves of some, then another form of products. */
static qdq_status make_plans(const setting *s, const qdq_space *space, qdq_scales *known,
                             qdq_plan *plans[PLANS], qdq_error *err)
{
    const qdq_space_scaling from = {s->head, s->engine, NULL, &s->opts, known, 0};
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_assign a, own;
    qdq_status st =
        qdq_assign_new(&a, qdq_space_scheme_bits(space), &arena) ? QDQ_OK : qdq_nomem(err);

    for (size_t i = 0; i < space->n_groups && st == QDQ_OK; i++)
        qdq_assign_set(&a, i, true);
    for (size_t i = 0; i < 3 && st == QDQ_OK; i++) {
        qdq_assign_set(&a, 1, i == 0);
        for (size_t k = 0; k < space->n_groups && i == 2; k++)
            qdq_space_set_part(space, &a, k, (qdq_space_part)(k % 4));
        st = qdq_space_plan(space, &a, &from, &plans[i], err);
    }
    if (st == QDQ_OK)
        st = plan_form(space, &from, &arena, &plans[3], err);
    if (st == QDQ_OK)
        st = qdq_space_from_plan(space, plans[1], &own, &arena, err);
    qdq_arena_free(&arena);
    return st;
}

static qdq_status plan(void *ctx, qdq_error *err)
{
    const setting *s = ctx;
    qdq_scales known = {0};
    qdq_space *space = NULL;
    qdq_plan *plans[PLANS] = {NULL};
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_hyperedge_map hyperedges;
    qdq_status st = qdq_space_new(s->clean, s->target, &s->opts, &space, err);

    if (st == QDQ_OK)
        st = qdq_hyperedges_find(space, &arena, &hyperedges, err);
    qdq_arena_free(&arena);
    if (st == QDQ_OK)
        st = qdq_space_calibrate(
            space, &(qdq_space_scaling){s->head, s->engine, NULL, &s->opts, &known, 0}, err);
    if (st == QDQ_OK)
        st = make_plans(s, space, &known, plans, err);
    for (size_t i = 0; i < PLANS; i++)
        qdq_plan_free(plans[i]);
    qdq_scales_free(&known);
    qdq_space_free(space);
    return st;
}

TEST(plans_of_assignments_survive_every_allocation_failure)
{
    setting chains = set_up("ort-cpu"), edges = set_up("tensorrt");

    assert_true(test_every_alloc_fails(plan, &chains) >= 50);
    assert_true(test_every_alloc_fails(plan, &edges) >= 50);
    put_away(&chains);
    put_away(&edges);
}

static qdq_status write_all(const setting *s, qdq_candidates *c, qdq_error *err)
{
    QDQ_TRY(qdq_candidate_write(c, s->plans[0], "a.onnx", err));
    QDQ_TRY(qdq_candidate_write(c, s->plans[1], "b.onnx", err));
    QDQ_TRY(qdq_candidate_write(c, s->plans[2], "c.onnx", err));
    QDQ_TRY(qdq_candidate_write(c, s->plans[3], "d.onnx", err));
    return qdq_candidate_write(c, NULL, "float.onnx", err);
}

static qdq_status write_in_a_new_folder(void *ctx, qdq_error *err)
{
    const setting *s = ctx;
    qdq_candidates *c;
    qdq_status st = qdq_candidates_open(s->folder, s->clean, NULL, &c, err);

    if (st == QDQ_OK)
        st = write_all(s, c, err);
    qdq_candidates_close(c);
    return st;
}

static qdq_status write_in_the_same_folder(void *ctx, qdq_error *err)
{
    const setting *s = ctx;

    return write_all(s, s->candidates, err);
}

TEST(candidates_survive_every_allocation_failure)
{
    setting s = set_up("ort-cpu");
    qdq_error err = QDQ_ERROR_INIT;
    qdq_scales known = {0};
    qdq_model *got, *want;
    qdq_space *space;
    void *a, *b;
    size_t n, k;

    assert_ok(qdq_space_new(s.clean, s.target, &s.opts, &space, &err));
    assert_ok(make_plans(&s, space, &known, s.plans, &err));
    assert_true(test_every_alloc_fails(write_in_a_new_folder, &s) >= 50);
    assert_ok(qdq_candidates_open(s.folder, s.clean, NULL, &s.candidates, &err));
    assert_true(test_every_alloc_fails(write_in_the_same_folder, &s) >= 50);
    /* what is kept is right */
    assert_ok(qdq_candidate_model(s.candidates, s.plans[0], &got, &err));
    assert_ok(qdq_model_clone(s.clean, &want, &err));
    assert_ok(qdq_quantize_finish(want, s.plans[0], NULL, NULL, &err));
    assert_ok(qdq_model_to_bytes(got, NULL, &a, &n, &err));
    assert_ok(qdq_model_to_bytes(want, NULL, &b, &k, &err));
    assert_int_equal(n, k);
    assert_memory_equal(a, b, n);
    qdq_free(a);
    qdq_free(b);
    qdq_model_free(got);
    qdq_model_free(want);
    qdq_candidates_close(s.candidates);
    for (size_t i = 0; i < PLANS; i++)
        qdq_plan_free(s.plans[i]);
    qdq_scales_free(&known);
    qdq_space_free(space);
    put_away(&s);
}
