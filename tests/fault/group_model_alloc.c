/* group_model_alloc.c - every allocation of making a group's model fails once: an error, no crash,
 * no leak. */
#include "ir/shape.h"
#include "support/alloc_fail.h"
#include "support/layers.h"
#include "support/test.h"
#include "tune/extract/group_model.h"

static qdq_status make(void *ctx, qdq_error *err)
{
    static const qdq_input_shape shape = {"x", 3, {8, 2, 2}};
    const qdq_shape_range_opts shapes = {{NULL, &shape, NULL}, {0, 1, 0}};
    const qdq_fusions *f = ctx;
    qdq_shape_range *range = NULL;
    qdq_group_model *g = NULL;
    qdq_status st = qdq_shape_range_open(f->g.g->model, &shapes, &range, err);

    assert_true((st == QDQ_OK) == (range != NULL));
    for (uint32_t i = 0; i < f->n && st == QDQ_OK; i++) {
        qdq_group_model_opts o = {.halo = i % 2 == 0, .range = range};
        st = qdq_group_model_make(f, i, &o, &g, err);
        assert_true((st == QDQ_OK) == (g != NULL));
        qdq_group_model_free(g);
    }
    qdq_shape_range_close(range);
    return st;
}

/* The same for callers of the library. */
static qdq_status extract(void *ctx, qdq_error *err)
{
    static const qdq_input_shape usual = {"x", 3, {8, 2, 2}}, most = {"x", 3, {16, 2, 2}};
    const qdq_fusions *f = ctx;
    qdq_fusion_extract_opts how = QDQ_FUSION_EXTRACT_OPTS_INIT;
    qdq_model *part = NULL;
    qdq_fusion_input *in = NULL;
    size_t n = 0;

    how.opt = &usual;
    how.max = &most;
    how.n_opt = how.n_max = 1;
    qdq_status st = qdq_fusion_extract(f->g.g->model, NULL, 0, NULL, 0, &how, &part, &in, &n, err);
    assert_true((st == QDQ_OK) == (part != NULL) && (st == QDQ_OK) == (in != NULL));
    qdq_free(in);
    qdq_model_free(part);
    return st;
}

/* One that comes with its shape, one whose shape is frozen, one that cannot be. */
TEST(making_models_survives_every_allocation_failure)
{
    qdq_model *m = test_graph(__func__);
    test_layers l = TEST_LAYERS("relu r", "gemm v+a", "abs d");
    qdq_error err = QDQ_ERROR_INIT;
    qdq_fusions *f;

    assert_ok(qdq_model_infer(m, NULL, &err));
    assert_ok(qdq_fusions_find(m, l.at, l.n, NULL, &f, &err));
    assert_int_equal(f->n, 3);
    assert_true(test_every_alloc_fails(make, f) >= 30);
    assert_true(test_every_alloc_fails(extract, f) >= 30);
    qdq_fusions_free(f);
    test_layers_free(&l);
    qdq_model_free(m);
}
