/* isolated.h - a network like MobileNet's with its fusion groups on the sim engine and its plans,
 * for tests of isolated groups. */
#ifndef QDQ_TEST_ISOLATED_H
#define QDQ_TEST_ISOLATED_H

#include "tune/isolate/bench_model.h"
#include "tune/space/space.h"

typedef struct test_isolated {
    qdq_model *m, *clean;
    qdq_engine *engine;
    bool is_own_engine;
    qdq_target *target;
    qdq_plan *head;
    qdq_quantize_opts opts;
    qdq_space *space;
    qdq_scales known;
    qdq_fusions *f;
    qdq_shape_range *range;
    qdq_arena arena;
} test_isolated;

/* Conv with Clip, some depthwise, a residual Add that Erf reads, too, a pool and Gemm; half of the
 * nodes have no name. The batch is `batch`, or a symbol whose usual value is 2 (0). */
qdq_model *test_isolated_network(int64_t batch);

/* "sim:FILE" of the costs that the network has there; static storage. */
const char *test_isolated_costs(void);

/* Takes the model over: cleaned, calibrated, its groups found from the engine's layers; NULL: the
 * sim engine with those costs. */
test_isolated test_isolate(qdq_model *m, qdq_engine *e);
void test_isolated_free(test_isolated *s);

/* Everything that can be in 8 bits, and what group `only` has of it. qdq_plan_free(). */
qdq_plan *test_isolated_plan(test_isolated *s);
qdq_plan *test_isolated_plan_of(test_isolated *s, uint32_t only);

/* The group as a model with its halo; it has one, or `why` is printed and the test fails. */
qdq_group_model *test_isolated_group(const test_isolated *s, uint32_t group);

enum { TEST_MOST_PARTS = 32 };

/* All groups as one model, each with its part of the plan (NULL: without Q/DQ);
 * qdq_parts_free(). */
qdq_parts *test_isolated_parts(const test_isolated *s, const qdq_plan *plan,
                               qdq_insert_cache *cache);

#endif /* QDQ_TEST_ISOLATED_H */
