/* spaced.h - a model with its slot groups, for tests of assignments, their plans and their
 * models. */
#ifndef QDQ_TEST_SPACED_H
#define QDQ_TEST_SPACED_H

#include "support/test.h"
#include "tune/space/space_partial.h"

typedef struct test_space {
    qdq_model *m, *clean;
    /* not its own, if it was given */
    qdq_engine *engine;
    qdq_target *target;
    qdq_plan *head;
    qdq_quantize_opts opts;
    qdq_space *s;
    /* of every group */
    qdq_scales known;
    qdq_arena arena;
    bool own_engine;
} test_space;

/* Takes m over. Calibrated by the engine "sim". */
test_space test_space_open(qdq_model *m, const char *target);

/* `set`: keys of the target and what they become, NULL at the end. `e` NULL: "sim". */
test_space test_space_open_with(qdq_model *m, const char *target, const char *const *set,
                                qdq_engine *e);
void test_space_close(test_space *t);

/* The group of the operator that gives `output`; the first, if it has several. */
uint32_t test_space_group(const test_space *t, const char *output);

/* Nothing on, with the bits for halves; then parts as "c1:full c2:weight m:activation". */
qdq_assign test_space_parts(test_space *t, const char *parts);

/* The other way round, in the order of the groups. Static storage. */
const char *test_space_text(const test_space *t, const qdq_assign *a);

qdq_plan *test_space_plan(test_space *t, const qdq_assign *a);

/* Plans of this assignment, in 2 folds of random samples, have scales of their own in each fold. */
void test_space_expect_folds(test_space *t, const qdq_assign *a);

/* The clean model with the plan in it. */
qdq_model *test_space_applied(const test_space *t, const qdq_plan *p);

#endif /* QDQ_TEST_SPACED_H */
