/* regioned.h - a model with all that its patterns are tuned by: slots of a target, regions,
 * patterns. */
#ifndef QDQ_TEST_REGIONED_H
#define QDQ_TEST_REGIONED_H

#include "tune/region/pattern.h"
#include "tune/space/space.h"

typedef struct test_regioned {
    qdq_model *m, *clean;
    qdq_target *target;
    qdq_plan *head;
    qdq_space *space;
    qdq_regions *regions;
    qdq_patterns *patterns;
    /* for what tests make of it */
    qdq_arena arena;
} test_regioned;

/* Takes the model. `opts` may be NULL. */
test_regioned test_regioned_open(qdq_model *m, const char *target, const qdq_region_opts *opts);
void test_regioned_free(test_regioned *s);

/* What every set of regions must keep. */
void test_regions_sound(const qdq_regions *r);

#endif /* QDQ_TEST_REGIONED_H */
