/* bisect_alloc.c - every allocation of a bisection and of the comparison that judges it fails once:
 * no crash, no leak, a message, and a result without a finding. */
#include "support/alloc_fail.h"

typedef struct search {
    qdq_model *model;
    qdq_engine *engine;
    qdq_data *data;
} search;

/* Compares, so that its allocations fail, too; the verdict is that Identity must not go. */
static qdq_status check_model(void *ctx, const qdq_model *m, bool *bad, char *why, size_t why_size,
                              qdq_error *err)
{
    search *s = ctx;
    qdq_same_result *r;

    QDQ_TRY(qdq_compare_same(s->engine, s->model, m, s->data, NULL, 0, &r, err));
    *bad = qdq_model_input_count(m) == 1 && r->compared != NULL;
    snprintf(why, why_size, "never good enough");
    qdq_same_result_free(r);
    return QDQ_OK;
}

static qdq_status bisect(void *ctx, qdq_error *err)
{
    search *s = ctx;
    qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;
    qdq_bisect_result *r;

    opts.passes = "lift-constants,drop-identity,drop-unused";
    qdq_status st = qdq_model_bisect(s->model, &opts, check_model, s, &r, err);
    assert_true((r != NULL && r->found) == (st == QDQ_OK));
    qdq_free(r);
    return st;
}

TEST(bisection_survives_every_allocation_failure)
{
    qdq_error err = QDQ_ERROR_INIT;
    search s = {.model = test_graph("text"), .engine = test_sim("{\"qdq_sim\": 1}")};

    assert_ok(qdq_data_open("random:1", s.model, NULL, &s.data, &err));
    assert_true(test_every_alloc_fails(bisect, &s) > 50);
    qdq_data_close(s.data);
    qdq_engine_close(s.engine);
    qdq_model_free(s.model);
}
