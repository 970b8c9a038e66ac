/* regioned.c - see the header. */
#include "support/regioned.h"

#include "quant/quantize_steps.h"
#include "support/test.h"

test_regioned test_regioned_open(qdq_model *m, const char *target, const qdq_region_opts *regions)
{
    qdq_quantize_opts opts = QDQ_QUANTIZE_OPTS_INIT;
    qdq_error err;
    test_regioned s = {.m = m, .head = qdq_plan_new()};

    assert_ok(qdq_target_load(target, &s.target, &err));
    assert_ok(qdq_quantize_begin(s.m, s.target, &opts, s.head, &s.clean, &err));
    assert_ok(qdq_space_new(s.clean, s.target, &opts, &s.space, &err));
    assert_ok(qdq_regions_find(s.clean, regions, &s.regions, &err));
    assert_ok(qdq_patterns_find(s.regions, &s.patterns, &err));
    return s;
}

void test_regioned_free(test_regioned *s)
{
    qdq_patterns_free(s->patterns);
    qdq_regions_free(s->regions);
    qdq_space_free(s->space);
    qdq_plan_free(s->head);
    qdq_arena_free(&s->arena);
    qdq_model_free(s->clean);
    qdq_target_free(s->target);
    qdq_model_free(s->m);
}

void test_regions_sound(const qdq_regions *r)
{
    size_t covered = 0;

    assert_int_equal(r->n_covered, r->n_nodes);
    for (size_t i = 0; i < r->all.n; i++) {
        const qdq_region *at = r->all.at[i];
        size_t total = at->nodes.n;

        assert_int_equal(at->id, i);
        assert_true(at->parent == NULL ||
                    (at->parent->id < at->id && at->depth == at->parent->depth + 1));
        for (size_t k = 0; k < at->nodes.n; k++) {
            assert_ptr_equal(r->of[at->nodes.at[k]->id], at);
            assert_true(k == 0 ||
                        r->place[at->nodes.at[k - 1]->id] < r->place[at->nodes.at[k]->id]);
        }
        for (size_t k = 0; k < at->children.n; k++)
            total += at->children.at[k]->n_total;
        assert_int_equal(at->n_total, total);
        assert_true(at->type == QDQ_REGION_LEAF ? at->children.n == 0 : at->children.n > 1);
        covered += at->nodes.n;
    }
    assert_int_equal(covered, r->n_nodes);
}
