/* tune_borders.c - what composites decide: tensors at the borders of their parts. */
#include "support/blocks.h"
#include "support/regioned.h"
#include "support/test.h"
#include "tune/scheme/scheme.h"

static qdq_error err;

/* Leaves of two nodes, so that each residual block is a composite; its first leaf is like the one
 * on top, {stem s}. */
static test_regioned open_blocks(const char *target, unsigned swapped)
{
    qdq_region_opts opts = QDQ_REGION_OPTS_INIT;
    test_builder b = test_build_planes();

    opts.max_region_size = opts.min_refine_size = 2;
    test_residual_blocks(&b, swapped);
    test_output(&b, "e3");
    return test_regioned_open(test_built(&b), target, &opts);
}

/* "value: reader/slots reader/slots; ..." */
static const char *text_of(const test_regioned *s, const qdq_boundaries *b)
{
    static char text[4000];
    size_t n = 0;

    text[0] = '\0';
    for (size_t i = 0; i < b->n; i++) {
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%s:", i > 0 ? "; " : "",
                              b->at[i].value->name);
        for (size_t k = 0; k < b->at[i].n_groups; k++) {
            const qdq_decision *g = &s->space->group[b->at[i].group[k]];
            n += (size_t)snprintf(text + n, sizeof text - n, " %s/%x", g->node->out[0]->name,
                                  (unsigned)g->inputs);
        }
    }
    return text;
}

static void assert_borders(const char *target, unsigned swapped, const char *want)
{
    test_regioned s = open_blocks(target, swapped);
    qdq_boundaries b;

    assert_ok(qdq_boundaries_find(s.patterns, s.space, &s.arena, &b, &err));
    assert_string_equal(text_of(&s, &b), want);
    for (size_t i = 0; i < b.n; i++) {
        double sum = 0;
        for (size_t k = 0; k < b.at[i].n_groups; k++)
            sum += s.space->group[b.at[i].group[k]].cost_ns;
        assert_true(sum > 0);
        assert_float_equal(b.at[i].cost_ns, sum, 1e-9 * sum);
    }
    test_regioned_free(&s);
}

TEST(borders_are_what_several_parts_read)
{
    assert_borders(
        "ort-cpu", 0,
        "x: stem/3 a1/3 d1/3 a2/3 d2/3 a3/3 d3/3; s: a1/3 d1/3 a2/3 d2/3 a3/3 d3/3; b1: c1/3 c2/3 "
        "c3/3; e1: a2/3 d2/3 a3/3 d3/3");
}

TEST(borders_are_in_the_same_place_of_swapped_instances)
{
    assert_borders(
        "tensorrt", 1u << 2,
        "x: stem/3 a1/3 d1/2 a2/3 d2/1 a3/3 d3/2; s: a1/3 d1/2 a2/3 d2/1 a3/3 d3/2; b1: c1/3 c2/3 "
        "c3/3; e1: a2/3 d2/1 a3/3 d3/2");
}

/* What comes into a block on top is a border of the whole, in all blocks. */
TEST(leaves_on_top_are_parts_of_the_whole)
{
    test_builder b = test_build_planes();
    qdq_boundaries boundaries;

    test_residual_blocks(&b, 0);
    test_output(&b, "e3");
    test_regioned s = test_regioned_open(test_built(&b), "ort-cpu", NULL);
    assert_ok(qdq_boundaries_find(s.patterns, s.space, &s.arena, &boundaries, &err));
    assert_string_equal(text_of(&s, &boundaries), "x: stem/3; s: a1/3 d1/3 a2/3 d2/3 a3/3 d3/3");
    test_regioned_free(&s);
}

/* A mask that every layer reads is no border between two of them. */
TEST(what_too_many_read_is_none)
{
    static char name[65][8], weight[65][8];

    for (int n = 64; n <= 65; n++) {
        test_builder b = test_build(17);
        qdq_boundaries boundaries;
        TEST_INPUT(&b, "x", 1, 8);
        for (int i = 0; i < n; i++) {
            snprintf(name[i], sizeof name[i], "m%d", i);
            snprintf(weight[i], sizeof weight[i], "w%d", i);
            TEST_RANDOM(&b, weight[i], 8, 8);
            TEST_NODE(&b, "MatMul", name[i], "x", weight[i]);
            test_output(&b, name[i]);
        }
        test_regioned s = test_regioned_open(test_built(&b), "ort-cpu", NULL);
        assert_ok(qdq_boundaries_find(s.patterns, s.space, &s.arena, &boundaries, &err));
        assert_true(boundaries.n == (n == 64));
        test_regioned_free(&s);
    }
}
