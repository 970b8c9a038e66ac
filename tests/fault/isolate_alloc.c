/* isolate_alloc.c - every allocation of making models of isolated groups fails once: an error, no
 * crash, no leak. */
#include "support/alloc_fail.h"
#include "support/isolated.h"
#include "support/test.h"
#include "tune/isolate/group_plan.h"
#include "tune/isolate/legal_inputs.h"
#include "tune/isolate/part_times.h"

typedef struct setting {
    test_isolated s;
    qdq_plan *all;
    qdq_group_model *g[2];
} setting;

static setting *set_up(void)
{
    static setting x;

    x.s = test_isolate(test_isolated_network(0), NULL);
    x.all = test_isolated_plan(&x.s);
    for (uint32_t i = 0; i < 2; i++)
        x.g[i] = test_isolated_group(&x.s, 2 + i);
    return &x;
}

static void put_away(setting *x)
{
    for (int i = 0; i < 2; i++)
        qdq_group_model_free(x->g[i]);
    qdq_plan_free(x->all);
    test_isolated_free(&x->s);
}

static qdq_status apply(void *ctx, qdq_error *err)
{
    const setting *x = ctx;
    qdq_model *m;
    qdq_status st = qdq_group_plan_apply(x->s.f, 2, x->g[0], x->all, NULL, &m, err);

    assert_true((st == QDQ_OK) == (m != NULL));
    qdq_model_free(m);
    return st;
}

TEST(applying_a_plan_survives_every_allocation_failure)
{
    setting *x = set_up();

    assert_true(test_every_alloc_fails(apply, x) >= 50);
    put_away(x);
}

static qdq_status check(void *ctx, qdq_error *err)
{
    const setting *x = ctx;
    qdq_arena arena = QDQ_ARENA_INIT;
    const char *why;
    qdq_status st = qdq_legal_inputs(x->g[0], &arena, &why, err);

    qdq_arena_free(&arena);
    return st;
}

TEST(looking_at_inputs_survives_every_allocation_failure)
{
    setting *x = set_up();

    assert_true(test_every_alloc_fails(check, x) >= 1);
    put_away(x);
}

static qdq_status join(void *ctx, qdq_error *err)
{
    const setting *x = ctx;
    qdq_parts *p;
    qdq_status st = qdq_parts_new(x->s.f, &p, err);

    for (uint32_t i = 0; i < 2 && st == QDQ_OK; i++)
        st = qdq_parts_join(p, 2 + i, x->g[i], x->all, NULL, err);
    qdq_parts_free(p);
    return st;
}

TEST(joining_parts_survives_every_allocation_failure)
{
    setting *x = set_up();

    assert_true(test_every_alloc_fails(join, x) >= 30);
    put_away(x);
}

typedef struct timing {
    qdq_parts *p;
    qdq_layer *layer;
    size_t n;
} timing;

static qdq_status time_parts(void *ctx, qdq_error *err)
{
    const timing *x = ctx;
    qdq_group_time out[TEST_MOST_PARTS];

    return qdq_parts_time(x->p, x->layer, x->n, 50, out, err);
}

TEST(timing_parts_survives_every_allocation_failure)
{
    setting *x = set_up();
    timing s = {.p = test_isolated_parts(&x->s, x->all, NULL)};
    qdq_session_opts opts = QDQ_SESSION_OPTS_INIT;
    qdq_error err = QDQ_ERROR_INIT;
    qdq_session *session;

    opts.layers = true;
    assert_ok(qdq_session_open(x->s.engine, s.p->model, &opts, &session, &err));
    assert_ok(qdq_session_layers(session, NULL, 0, 0, &s.layer, &s.n, &err));
    qdq_session_close(session);
    assert_true(test_every_alloc_fails(time_parts, &s) >= 3);
    qdq_free(s.layer);
    qdq_parts_free(s.p);
    put_away(x);
}

static qdq_status shapes(void *ctx, qdq_error *err)
{
    const setting *x = ctx;
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_input_shape *shape;
    size_t n;
    qdq_status st = qdq_usual_shapes(x->s.clean, NULL, 0, &arena, &shape, &n, err);

    qdq_arena_free(&arena);
    return st;
}

TEST(usual_shapes_survive_every_allocation_failure)
{
    setting *x = set_up();

    assert_true(test_every_alloc_fails(shapes, x) >= 1);
    put_away(x);
}
