/* patterns_alloc.c - every allocation of pattern caches fails once: reading, adding, merging,
 * writing, and what points of patterns are in the space. The cache that was there is as it was. */
#include "support/alloc_fail.h"
#include "support/blocks.h"
#include "support/regioned.h"
#include "tune/scheme/pattern_cache.h"

static const char *const text =
    "minimum_distance: 1\npattern_schemes:\n"
    "- pattern_signature: A\n  schemes:\n"
    "  - {latency_ms: 2, profile_timestamp: '2026', nodes_insertion_points: [{node_index: 0, "
    "input_index: "
    "0}]}\n"
    "  - {latency_ms: 1, child_region_inputs: [{region_index: 0, input_index: 0}]}\n"
    "- pattern_signature: B\n  schemes: [{region_outputs: [{node_index: 1, output_index: 0}]}]\n"
    "- pattern_signature: bad\n  schemes: 3\n"
    "- pattern_signature: A\n  schemes: [{latency_ms: 3}]\n";

static qdq_status read_cache(void *ctx, qdq_error *err)
{
    qdq_pattern_cache c;
    qdq_status st = qdq_pattern_cache_parse(ctx, strlen(ctx), "c.yaml", NULL, &c, err);

    assert_int_equal(c.patterns.n, st == QDQ_OK ? 2 : 0);
    qdq_pattern_cache_free(&c);
    return st;
}

TEST(reading_survives_every_allocation_failure)
{
    assert_true(test_every_alloc_fails(read_cache, (void *)(uintptr_t)text) >= 10);
}

static qdq_status write_cache(void *ctx, qdq_error *err)
{
    char *out;
    qdq_status st = qdq_pattern_cache_text(ctx, &out, err);

    assert_true((st == QDQ_OK) == (out != NULL));
    qdq_free(out);
    return st;
}

TEST(writing_survives_every_allocation_failure)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_pattern_cache c;

    assert_ok(qdq_pattern_cache_parse(text, strlen(text), "c.yaml", NULL, &c, &err));
    assert_true(test_every_alloc_fails(write_cache, &c) >= 1);
    qdq_pattern_cache_free(&c);
}

/* Into a cache that knows A: what is half done leaves patterns whole or out. */
static qdq_status merge(void *ctx, qdq_error *err)
{
    static const qdq_scheme fast = {.latency_ms = 0.5};
    qdq_pattern_cache c = QDQ_PATTERN_CACHE_INIT;
    qdq_pattern_schemes known = {.key = {.signature = "A"}};
    qdq_status st = QDQ_OK;

    known.schemes.at = (qdq_scheme *)(uintptr_t)&fast;
    known.schemes.n = 1;
    c.minimum_distance = 1;
    st = qdq_pattern_cache_add(&c, &known, err);
    assert_int_equal(c.patterns.n, st == QDQ_OK ? 1 : 0);
    if (st == QDQ_OK)
        st = qdq_pattern_cache_merge(&c, ctx, false, err);
    for (size_t i = 0; i < c.patterns.n; i++) {
        const qdq_pattern_schemes *ps = c.patterns.at[i];

        assert_ptr_equal(qdq_pattern_cache_find(&c, &ps->key), ps);
        assert_true(ps->schemes.n == 1 || ps->schemes.n == 3);
    }
    qdq_pattern_cache_free(&c);
    return st;
}

TEST(merging_survives_every_allocation_failure)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_pattern_cache c;

    assert_ok(qdq_pattern_cache_parse(text, strlen(text), "c.yaml", NULL, &c, &err));
    assert_true(test_every_alloc_fails(merge, &c) >= 4);
    qdq_pattern_cache_free(&c);
}

/* --- choices ---------------------------------------------------------------------------------- */

typedef struct choosing {
    const qdq_pattern *p;
    const qdq_space *s;
} choosing;

static qdq_status choose(void *ctx, qdq_error *err)
{
    static const qdq_point output = {QDQ_POINT_NONE, 1, 0};
    const choosing *g = ctx;
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_choices c = {0};
    qdq_assign bits, back;
    qdq_boundary_points boundary;
    qdq_scheme scheme;
    qdq_status st = qdq_choices_find(g->p, g->s, &arena, &c, err);

    if (st == QDQ_OK && !qdq_assign_new(&bits, c.n, &arena))
        st = qdq_nomem(err);
    for (size_t i = 0; i < c.n && st == QDQ_OK; i++)
        qdq_assign_set(&bits, i, true);
    if (st == QDQ_OK)
        st = qdq_choices_to_scheme(&c, &bits, &arena, &scheme, err);
    if (st == QDQ_OK && !QDQ_PUSH(&arena, &scheme.outputs, output))
        st = qdq_nomem(err);
    if (st == QDQ_OK)
        st = qdq_choices_from_scheme(&c, g->p, g->s, &scheme, &arena, &back, err);
    if (st == QDQ_OK)
        assert_true(qdq_assign_equal(&bits, &back));
    if (st == QDQ_OK)
        st = qdq_scheme_boundary(&scheme, g->p, g->s, &arena, &boundary, err);
    if (st == QDQ_OK)
        assert_true(boundary.n_points == 1 && boundary.n_lost == 0);
    qdq_arena_free(&arena);
    return st;
}

static qdq_model *two_convs(void)
{
    test_builder b = test_build(17);

    TEST_INPUT(&b, "x", 1, 8, 8, 8);
    test_conv(&b, "c", "x", 8, 8, 3, 1);
    TEST_NODE(&b, "Relu", "r", "c");
    test_conv(&b, "y", "r", 8, 8, 3, 1);
    test_output(&b, "y");
    return test_built(&b);
}

TEST(choices_survive_every_allocation_failure)
{
    test_regioned s = test_regioned_open(two_convs(), "ort-cpu", NULL);
    choosing g = {&s.patterns->pattern[0], s.space};
    assert_true(test_every_alloc_fails(choose, &g) >= 2);
    test_regioned_free(&s);
}

static qdq_status find_borders(void *ctx, qdq_error *err)
{
    const test_regioned *s = ctx;
    qdq_arena arena = QDQ_ARENA_INIT;
    qdq_boundaries b;
    qdq_status st = qdq_boundaries_find(s->patterns, s->space, &arena, &b, err);

    if (st == QDQ_OK)
        assert_int_equal(b.n, 4);
    qdq_arena_free(&arena);
    return st;
}

TEST(borders_survive_every_allocation_failure)
{
    qdq_region_opts opts = QDQ_REGION_OPTS_INIT;
    test_builder b = test_build_planes();

    opts.max_region_size = opts.min_refine_size = 2;
    test_residual_blocks(&b, 0);
    test_output(&b, "e3");
    test_regioned s = test_regioned_open(test_built(&b), "ort-cpu", &opts);
    assert_true(test_every_alloc_fails(find_borders, &s) >= 4);
    test_regioned_free(&s);
}
