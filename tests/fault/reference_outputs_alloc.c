/* reference_outputs_alloc.c - every allocation of what is kept from trial to trial of a goal fails
 * once: outputs of the float model, and means of channels. */
#include "support/alloc_fail.h"

#include "qdq/qdq.h"
#include "quant/calib/calib_means.h"
#include "quant/calib/scales.h"
#include "quant/compare/reference_outputs.h"

/* Twice: kept, then taken; within the limit and beyond it. */
static qdq_status compare_twice(void *ctx, qdq_error *err)
{
    qdq_reference_outputs kept = {.limit = *(const uint64_t *)ctx};
    qdq_engine *e = NULL;
    qdq_data *d = NULL;
    qdq_model *m = NULL;
    qdq_status st =
        qdq_model_from_text("g (float[N,2] x) => (float[N,2] y) { y = Neg(x) }", "test", &m, err);

    if (st == QDQ_OK)
        st = qdq_engine_open("sim:" QDQ_SOURCE_DIR "/tests/data/sim_basic.json", NULL, &e, err);
    if (st == QDQ_OK)
        st = qdq_data_open("random:1", m, NULL, &d, err);
    for (int i = 0; i < 2 && st == QDQ_OK; i++) {
        qdq_compare_result *r = NULL;

        st = qdq_compare_keeping(&(qdq_comparison){e, m, d, NULL, &kept}, m, &r, err);
        assert_true((st == QDQ_OK) == (r != NULL));
        qdq_free(r);
    }
    qdq_reference_outputs_free(&kept);
    qdq_data_close(d);
    qdq_engine_close(e);
    qdq_model_free(m);
    return st;
}

static qdq_status gather(qdq_scales *s, qdq_error *err)
{
    float x[] = {1, 2, 3, 4};
    const qdq_array array = {
        .elem = QDQ_FLOAT, .rank = 2, .dim = {2, 2}, .data = x, .bytes = sizeof x};
    qdq_plan *p = qdq_plan_new();
    qdq_map index = QDQ_MAP_INIT;
    qdq_status st = QDQ_OK;

    if (p == NULL || !qdq_means_want(p, &index, "x", 1, 2, 0) ||
        !qdq_means_want(p, &index, "x", 0, 2, 2))
        st = qdq_nomem(err);
    if (st == QDQ_OK)
        st = qdq_scales_give_means(s, p, err);
    if (st == QDQ_OK)
        st = qdq_means_add(p, &index, "x", 0, &array, err);
    if (st == QDQ_OK)
        assert_true(qdq_means_find(p, &index, "x", 1, 2)->sum[0] == 1 + 3);
    if (st == QDQ_OK)
        st = qdq_scales_keep(s, p, err);
    qdq_map_free(&index);
    qdq_plan_free(p);
    return st;
}

static qdq_status gather_twice(void *ctx, qdq_error *err)
{
    qdq_scales s = {0};

    (void)ctx;
    qdq_status st = gather(&s, err);
    if (st == QDQ_OK)
        st = gather(&s, err);
    qdq_scales_free(&s);
    return st;
}

TEST(outputs_that_are_kept_survive_every_allocation_failure)
{
    uint64_t enough = 1000, too_little = 8;

    assert_true(test_every_alloc_fails(compare_twice, &enough) > 10);
    assert_true(test_every_alloc_fails(compare_twice, &too_little) > 10);
}

TEST(means_that_are_kept_survive_every_allocation_failure)
{
    assert_true(test_every_alloc_fails(gather_twice, NULL) > 5);
}
