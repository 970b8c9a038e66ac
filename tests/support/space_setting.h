/* space_setting.h - a space of a small network, its assignments and plans as text. */
#ifndef QDQ_SPACE_SETTING_H
#define QDQ_SPACE_SETTING_H

#include "ir/graph_check.h"
#include "quant/quantize_steps.h"
#include "support/build.h"
#include "support/test.h"
#include "tune/space/space.h"

static qdq_error err;

static const char cost[] =
    "{\"qdq_sim\": 1, \"error\": 0.01, \"ops\": {"
    "\"Conv\": {\"float_us\": 100, \"int8_us\": 30, \"inputs\": 2, \"output_q\": true},"
    "\"MatMul\": {\"float_us\": 50, \"int8_us\": 20, \"inputs\": 2}}}";

typedef struct setting {
    qdq_model *m, *clean;
    qdq_engine *engine;
    qdq_target *target;
    qdq_plan *head;
    qdq_quantize_opts opts;
    qdq_space *space;
    qdq_scales known;
    qdq_arena arena;
} setting;

static inline setting open_setting(qdq_model *m, const char *target)
{
    setting s = {
        .m = m, .engine = test_sim(cost), .opts = QDQ_QUANTIZE_OPTS_INIT, .head = qdq_plan_new()};

    assert_ok(qdq_target_load(target, &s.target, &err));
    s.opts.cpu = QDQ_CPU_VNNI; /* that of the target as it is */
    return s;
}

static inline void make_space(setting *s)
{
    assert_ok(qdq_quantize_begin(s->m, s->target, &s->opts, s->head, &s->clean, &err));
    assert_ok(qdq_space_new(s->clean, s->target, &s->opts, &s->space, &err));
}

static inline void put_away(setting *s)
{
    qdq_space_free(s->space);
    qdq_scales_free(&s->known);
    qdq_plan_free(s->head);
    qdq_arena_free(&s->arena);
    qdq_model_free(s->clean);
    qdq_target_free(s->target);
    qdq_engine_close(s->engine);
    qdq_model_free(s->m);
}

/* A first Conv that the rules of ort-cpu leave float, a residual block, what moves data, a
 * classifier. */
static inline qdq_model *residual(void)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 3, 16, 16);
    test_conv(&b, "c0", "x", 16, 3, 3, 1);
    TEST_NODE(&b, "Relu", "r0", "c0");
    test_conv(&b, "c1", "r0", 16, 16, 3, 1);
    TEST_NODE(&b, "Relu", "r1", "c1");
    test_conv(&b, "c2", "r1", 16, 16, 3, 1);
    TEST_NODE(&b, "Add", "a", "c2", "r0");
    TEST_NODE(&b, "Relu", "r2", "a");
    qdq_node *pool = TEST_NODE(&b, "MaxPool", "p", "r2");
    assert_true(qdq_node_set_ints(pool, "kernel_shape", (const int64_t[]){2, 2}, 2) &&
                qdq_node_set_ints(pool, "strides", (const int64_t[]){2, 2}, 2));
    test_conv(&b, "c3", "p", 32, 16, 1, 1);
    TEST_NODE(&b, "GlobalAveragePool", "g", "c3");
    TEST_NODE(&b, "Flatten", "f", "g");
    TEST_RANDOM(&b, "w", 32, 64);
    TEST_NODE(&b, "MatMul", "y", "f", "w");
    test_output(&b, "y");
    return test_built(&b);
}

/* The groups as "c1:3 a:3 ..."; linear ones with a star. */
static inline const char *groups_text(const setting *s)
{
    static char text[1000];
    size_t n = 0;

    text[0] = '\0';
    for (size_t i = 0; i < s->space->n_groups; i++) {
        const qdq_decision *g = &s->space->group[i];
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s%s:%x", i > 0 ? " " : "",
                              g->linear ? "*" : "", g->node->out[0]->name, (unsigned)g->inputs);
    }
    return text;
}

static inline const char *assign_text(const setting *s, const qdq_assign *a)
{
    static char text[1000];
    size_t n = 0;

    text[0] = '\0';
    for (size_t i = 0; i < s->space->n_groups; i++)
        if (qdq_assign_get(a, i))
            n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", n > 0 ? " " : "",
                                  s->space->group[i].node->out[0]->name);
    return text;
}

static inline qdq_plan *plan_of(setting *s, const qdq_assign *a)
{
    qdq_plan *p;

    assert_ok(qdq_space_plan(s->space, a,
                             &(qdq_space_scaling){s->head, s->engine, NULL, &s->opts, &s->known, 0},
                             &p, &err));
    return p;
}

typedef struct bytes {
    void *data;
    size_t size;
} bytes;

static inline bytes bytes_of(const qdq_model *m)
{
    bytes b;

    assert_ok(qdq_model_to_bytes(m, NULL, &b.data, &b.size, &err));
    return b;
}

static inline bytes applied(const setting *s, const qdq_plan *p)
{
    qdq_model *m;

    assert_ok(qdq_model_clone(s->clean, &m, &err));
    assert_ok(qdq_quantize_finish(m, p, NULL, NULL, &err));
    bytes b = bytes_of(m);
    qdq_model_free(m);
    return b;
}

static inline void assert_same_bytes(bytes a, bytes b)
{
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.data, b.data, a.size);
    qdq_free(a.data);
    qdq_free(b.data);
}

static inline qdq_assign assignment(setting *s, uint64_t bits)
{
    qdq_assign a;

    assert_true(qdq_assign_new(&a, s->space->n_groups, &s->arena));
    for (size_t i = 0; i < a.n; i++)
        qdq_assign_set(&a, i, (bits >> i & 1) != 0);
    return a;
}

#endif /* QDQ_SPACE_SETTING_H */
