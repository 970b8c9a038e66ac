/* tune_region_random.c - what holds of the regions of any graph, by either builder, whatever the
 * sizes: random graphs with names of random modules, or none. */
#include <stdlib.h>

#include "base/random.h"
#include "ir/edit.h"
#include "ir/shape.h"
#include "support/random_graph.h"
#include "support/test.h"
#include "tune/region/pattern.h"

static qdq_error err;

enum { GRAPHS = 150 };

/* "/m1/m0/n7"; one in eight has none. */
static void name_nodes(qdq_model *m, qdq_random *random)
{
    QDQ_FOR_NODES (n, m->graph) {
        char name[64];
        size_t size = 0;
        uint64_t depth = qdq_random_u64(random) % 4;

        for (uint64_t i = 0; i < depth; i++)
            size += (size_t)snprintf(name + size, sizeof name - size, "/m%u",
                                     (unsigned)(qdq_random_u64(random) % 3));
        snprintf(name + size, sizeof name - size, "/n%u", (unsigned)n->id);
        assert_true(qdq_node_set_name(n, qdq_random_u64(random) % 8 == 0 ? "" : name));
    }
}

/* Each node is in one region; sizes add up; what an instance calls by its place is of the same
 * operator in all. */
static void assert_sound(const qdq_regions *r, const qdq_patterns *p)
{
    size_t covered = 0, instances = 0;

    for (size_t i = 0; i < r->all.n; i++) {
        const qdq_region *at = r->all.at[i];
        size_t total = at->nodes.n;
        for (size_t k = 0; k < at->nodes.n; k++)
            assert_ptr_equal(r->of[at->nodes.at[k]->id], at);
        for (size_t k = 0; k < at->children.n; k++)
            total += at->children.at[k]->n_total;
        assert_true(total > 0);
        assert_int_equal(at->n_total, total);
        assert_int_equal(at->children.n > 0, at->type == QDQ_REGION_COMPOSITE);
        covered += at->nodes.n;
    }
    assert_int_equal(covered, r->n_nodes);
    for (size_t i = 0; i < p->n; i++) {
        const qdq_pattern *at = &p->pattern[i];
        for (size_t k = 0; k < at->n_instances; k++) {
            const qdq_instance *in = &at->instance[k];
            assert_int_equal(in->region->pattern, i);
            assert_int_equal(in->region->nodes.n, at->n_nodes);
            assert_int_equal(in->region->n_total, at->instance[0].region->n_total);
            for (size_t n = 0; n < in->region->n_total; n++)
                assert_string_equal(in->inner[n]->type, at->instance[0].inner[n]->type);
        }
        instances += at->n_instances;
    }
    assert_int_equal(instances, r->all.n);
}

static void take_apart(qdq_model *m, qdq_random *random)
{
    static const uint32_t sizes[] = {1, 2, 5, 10, 1000};
    qdq_regions *r;
    qdq_patterns *p, *again;

    for (int b = QDQ_REGIONS_STRUCTURE; b <= QDQ_REGIONS_NAMES; b++) {
        qdq_region_opts opts = QDQ_REGION_OPTS_INIT;
        opts.builder = (qdq_region_builder)b;
        opts.max_region_size = sizes[qdq_random_u64(random) % QDQ_COUNT(sizes)];
        opts.min_refine_size = sizes[qdq_random_u64(random) % QDQ_COUNT(sizes)];
        assert_ok(qdq_regions_find(m, &opts, &r, &err));
        assert_ok(qdq_patterns_find(r, &p, &err));
        assert_sound(r, p);
        assert_ok(qdq_patterns_find(r, &again, &err));
        assert_int_equal(again->n, p->n);
        for (size_t i = 0; i < p->n; i++)
            assert_string_equal(again->pattern[i].signature, p->pattern[i].signature);
        qdq_patterns_free(again);
        qdq_patterns_free(p);
        qdq_regions_free(r);
    }
}

TEST(any_graph_is_taken_apart_without_a_rest)
{
    for (uint64_t seed = 0; seed < GRAPHS; seed++) {
        char *text = test_random_graph(seed, (test_random_opts){10 + seed % 90, seed % 3 == 0});
        qdq_random random = qdq_random_new(seed, "regions");
        qdq_model *m = test_model(text);

        assert_ok(qdq_model_infer(m, NULL, &err));
        name_nodes(m, &random);
        take_apart(m, &random);
        qdq_model_free(m);
        free(text);
    }
}
