/* isolated.c - see the header. */
#include "support/isolated.h"

#include "quant/quantize_steps.h"
#include "support/build.h"
#include "support/test.h"

static void clipped(test_builder *b, const char *name, const char *x, int64_t out, int64_t in,
                    int64_t k, int64_t group)
{
    char clip[40];

    test_conv(b, name, x, out, in, k, group);
    snprintf(clip, sizeof clip, "%s.c", name);
    TEST_NODE(b, "Clip", clip, name, "zero", "six");
}

static void scalar(test_builder *b, const char *name, float x)
{
    assert_non_null(qdq_graph_add_init(b->g, name, qdq_tensor_of_floats(b->m, 0, NULL, &x)));
}

static void drop_names(test_builder *b)
{
    bool odd = false;

    QDQ_FOR_NODES (n, b->g) {
        if (odd)
            assert_true(qdq_node_set_name(n, ""));
        odd = !odd;
    }
}

qdq_model *test_isolated_network(int64_t batch)
{
    test_builder b = test_build(17);
    qdq_value *x = TEST_INPUT(&b, "x", 1, 3, 16, 16);
    const qdq_dim free[4] = {{-1, qdq_intern(b.m, "N")}, {3, NULL}, {16, NULL}, {16, NULL}};
    const int64_t fixed[4] = {batch, 3, 16, 16};

    qdq_value_set_type(x, batch == 0 ? qdq_type_tensor(b.m, QDQ_FLOAT, 4, free)
                                     : qdq_type_fixed(b.m, QDQ_FLOAT, 4, fixed));
    scalar(&b, "zero", 0);
    scalar(&b, "six", 6);
    clipped(&b, "stem", "x", 8, 3, 3, 1);
    clipped(&b, "deep", "stem.c", 8, 8, 3, 8);
    test_conv(&b, "flat", "deep.c", 16, 8, 1, 1);
    clipped(&b, "wide", "flat", 32, 16, 1, 1);
    clipped(&b, "mid", "wide.c", 32, 32, 3, 32);
    test_conv(&b, "thin", "mid.c", 16, 32, 1, 1);
    TEST_NODE(&b, "Add", "sum", "thin", "flat");
    TEST_NODE(&b, "Erf", "e", "sum");
    clipped(&b, "last", "sum", 24, 16, 1, 1);
    TEST_NODE(&b, "GlobalAveragePool", "pool", "last.c");
    TEST_NODE(&b, "Flatten", "vector", "pool");
    TEST_RANDOM(&b, "fc.w", 24, 10);
    TEST_RANDOM(&b, "fc.b", 10);
    TEST_NODE(&b, "Gemm", "y", "vector", "fc.w", "fc.b");
    drop_names(&b);
    test_output(&b, "y");
    test_output(&b, "e");
    return test_built(&b);
}

const char *test_isolated_costs(void)
{
    static const char cost[] =
        "{\"qdq_sim\": 1, \"error\": 0.001, \"overhead_us\": 10, \"default\": {\"float_us\": 2}, "
        "\"convert\": {\"float_us\": 5}, \"ops\": {"
        "\"Conv\": {\"float_us\": 100, \"int8_us\": 30, \"inputs\": 2, \"output_q\": true, "
        "\"epilogue\": "
        "[\"Clip\"]}, "
        "\"Gemm\": {\"float_us\": 50, \"int8_us\": 20, \"inputs\": 2}, "
        "\"Add\": {\"float_us\": 8, \"int8_us\": 4, \"inputs\": 2, \"output_q\": true}}}";

    return test_sim_spec(cost);
}

static void find_groups(test_isolated *s)
{
    qdq_session_opts opts = QDQ_SESSION_OPTS_INIT;
    qdq_error err = QDQ_ERROR_INIT;
    qdq_session *session;
    qdq_layer *layer;
    size_t n;

    opts.layers = true;
    assert_ok(qdq_session_open(s->engine, s->clean, &opts, &session, &err));
    assert_ok(qdq_session_layers(session, NULL, 0, 0, &layer, &n, &err));
    qdq_session_close(session);
    assert_ok(qdq_fusions_find(s->clean, layer, n, NULL, &s->f, &err));
    qdq_free(layer);
}

test_isolated test_isolate(qdq_model *m, qdq_engine *e)
{
    static const qdq_input_shape usual = {"x", 4, {2, 3, 16, 16}};
    const bool is_free = qdq_graph_find(m->graph, "x")->type->dim[0].value < 0;
    const qdq_shape_range_opts shapes = {{NULL, &usual, NULL}, {0, is_free ? 1 : 0, 0}};
    test_isolated s = {.m = m, .opts = QDQ_QUANTIZE_OPTS_INIT, .head = qdq_plan_new()};
    qdq_error err = QDQ_ERROR_INIT;

    s.engine = e;
    s.is_own_engine = e == NULL;
    if (e == NULL)
        assert_ok(qdq_engine_open(test_isolated_costs(), NULL, &s.engine, &err));
    assert_ok(qdq_target_load("ort-cpu", &s.target, &err));
    assert_ok(qdq_quantize_begin(m, s.target, &s.opts, s.head, &s.clean, &err));
    assert_ok(qdq_space_new(s.clean, s.target, &s.opts, &s.space, &err));
    assert_ok(qdq_space_calibrate(
        s.space, &(qdq_space_scaling){s.head, s.engine, NULL, &s.opts, &s.known, 0}, &err));
    find_groups(&s);
    assert_ok(qdq_shape_range_open(s.clean, is_free ? &shapes : NULL, &s.range, &err));
    return s;
}

void test_isolated_free(test_isolated *s)
{
    qdq_shape_range_close(s->range);
    qdq_fusions_free(s->f);
    qdq_plan_free(s->head);
    qdq_space_free(s->space);
    qdq_scales_free(&s->known);
    qdq_arena_free(&s->arena);
    qdq_model_free(s->clean);
    qdq_target_free(s->target);
    if (s->is_own_engine)
        qdq_engine_close(s->engine);
    qdq_model_free(s->m);
}

static qdq_plan *plan(test_isolated *s, uint32_t only)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_assign a;
    qdq_plan *p;

    assert_true(qdq_assign_new(&a, s->space->n_groups, &s->arena));
    for (size_t i = 0; i < a.n; i++)
        qdq_assign_set(&a, i,
                       only == QDQ_NO_FUSION || s->f->of[s->space->group[i].node->id] == only);
    assert_ok(qdq_space_plan(s->space, &a,
                             &(qdq_space_scaling){s->head, s->engine, NULL, &s->opts, &s->known, 0},
                             &p, &err));
    return p;
}

qdq_plan *test_isolated_plan(test_isolated *s)
{
    return plan(s, QDQ_NO_FUSION);
}

qdq_plan *test_isolated_plan_of(test_isolated *s, uint32_t only)
{
    return plan(s, only);
}

qdq_group_model *test_isolated_group(const test_isolated *s, uint32_t group)
{
    const qdq_group_model_opts o = {.halo = true, .range = s->range};
    qdq_error err = QDQ_ERROR_INIT;
    qdq_group_model *g;

    assert_ok(qdq_group_model_make(s->f, group, &o, &g, &err));
    if (g->model == NULL)
        fail_msg("group %u: %s", (unsigned)group, g->why);
    return g;
}

qdq_parts *test_isolated_parts(const test_isolated *s, const qdq_plan *plan,
                               qdq_insert_cache *cache)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_parts *p;

    assert_true(s->f->n <= TEST_MOST_PARTS);
    assert_ok(qdq_parts_new(s->f, &p, &err));
    for (uint32_t i = 0; i < s->f->n; i++) {
        qdq_group_model *g = test_isolated_group(s, i);
        assert_ok(qdq_parts_join(p, i, g, plan, cache, &err));
        qdq_group_model_free(g);
    }
    return p;
}
