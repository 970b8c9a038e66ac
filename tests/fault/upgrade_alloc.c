/* upgrade_alloc.c - every allocation of raising the opset fails once. What it is raised from is
 * made without failures; only the raising is attempted. */
#include "support/alloc_fail.h"

#include <string.h>

static qdq_status raise(void *ctx, qdq_error *err)
{
    qdq_model *m = NULL;
    qdq_status st = qdq_model_clone(ctx, &m, err);

    if (st == QDQ_OK)
        st = qdq_model_set_opset(m, 22, err);
    qdq_model_free(m);
    return st;
}

TEST(raising_survives_every_allocation_failure)
{
    qdq_model *m = test_graph("all_adapters");

    assert_true(test_every_alloc_fails(raise, m) > 10);
    qdq_model_free(m);
}
