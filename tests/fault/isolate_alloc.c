/* isolate_alloc.c - every allocation of making models of isolated groups fails once: an error, no crash, no leak. */
#include "support/alloc_fail.h"
#include "support/isolated.h"
#include "support/test.h"

typedef struct setting {
    test_isolated s;
    qdq_plan *all;
    qdq_group_model *g[2];
} setting;

static setting *set_up(void)
{
    static setting x;

    x.s = test_isolate(test_isolated_network(0));
    x.all = test_isolated_plan(&x.s);
    for (uint32_t i = 0; i < 2; i++)
        x.g[i] = test_isolated_group(&x.s, 2 + i);
    return &x;
}

static void put_away(setting *x)
{
    for (int i = 0; i < 2; i++)
        qdq_group_model_free(x->g[i]);
    qdq_plan_free(x->all);
    test_isolated_free(&x->s);
}

static qdq_status apply(void *ctx, qdq_error *err)
{
    const setting *x = ctx;
    qdq_model *m;
    qdq_status st = qdq_group_plan_apply(x->s.f, x->g[0], x->all, NULL, &m, err);

    assert_true((st == QDQ_OK) == (m != NULL));
    qdq_model_free(m);
    return st;
}

static void applying_a_plan_survives_every_allocation_failure(void **state)
{
    setting *x = set_up();

    (void)state;
    assert_true(test_every_alloc_fails(apply, x) >= 50);
    put_away(x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(applying_a_plan_survives_every_allocation_failure)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
