/* dynamic.h - placement and insertion as `--format dynamic` has them. */
#ifndef QDQ_TEST_DYNAMIC_H
#define QDQ_TEST_DYNAMIC_H

#include <string.h>

#include "ir/graph_check.h"
#include "quant/insert/insert.h"
#include "support/build.h"
#include "support/placed.h"
#include "support/test.h"

/* ort-cpu as --format dynamic has it, and one more change. */
static inline qdq_target *test_dynamic_target(const char *key, const char *value)
{
    const qdq_target_change changes[] = {{"activation.type", "float"},
                                         {"weight.store", "dynamic"},
                                         {"bias.type", "float"},
                                         {key, value}};
    qdq_error err = QDQ_ERROR_INIT;
    qdq_target *t = NULL;

    assert_ok(qdq_target_load("ort-cpu", &t, &err));
    assert_ok(qdq_target_set_all(t, changes, QDQ_COUNT(changes), &err));
    return t;
}

static inline qdq_plan *test_dynamic_plan(const qdq_model *m, const qdq_place_opts *opts,
                                          const char *key, const char *value)
{
    qdq_error err = QDQ_ERROR_INIT;
    qdq_target *t = test_dynamic_target(key, value);
    qdq_plan *p = qdq_plan_new();

    assert_ok(qdq_place(m, t, opts, p, &err));
    assert_true(qdq_plan_finish(p));
    qdq_target_free(t);
    return p;
}

/* Rules of speed leave alone what is asked for, so that graphs can be small. */
static const qdq_place_opts any_size = {.include = (const char *const[]){".", NULL}};

#endif /* QDQ_TEST_DYNAMIC_H */
