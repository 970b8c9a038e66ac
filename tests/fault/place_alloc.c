/* place_alloc.c - every allocation of placement by partitions fails once, and of reading the
 * targets that ask for it: an error, no crash, no leak. */
#include "base/fail.h"
#include "quant/place/place.h"
#include "support/alloc_fail.h"
#include "support/build.h"

typedef struct placing {
    qdq_model *m;
    qdq_target *t;
    /* what a listener asks about; NULL: nobody listens */
    const char *about;
} placing;

/* A residual block, an attention, a Concat of quantized tensors, a LayerNormalization, Q/DQ that
 * are there. */
static qdq_model *build(void)
{
    test_builder b = test_build(19);

    TEST_INPUT(&b, "x", 1, 32, 32, 32);
    test_qdq(&b, "x", QDQ_INT8, 0.5f, 0);
    test_conv(&b, "c0", "x.dq", 32, 32, 3, 1);
    TEST_NODE(&b, "Relu", "r0", "c0");
    test_conv(&b, "c1", "r0", 32, 32, 3, 1);
    TEST_NODE(&b, "Add", "a", "c1", "r0");
    assert_true(qdq_node_set_int(TEST_NODE(&b, "Concat", "cc", "r0", "a"), "axis", 1));
    test_conv(&b, "c2", "cc", 32, 64, 1, 1);
    TEST_RANDOM(&b, "gamma", 32);
    TEST_NODE(&b, "LayerNormalization", "ln", "c2", "gamma");
    TEST_NODE(&b, "MatMul", "qk", "ln", "c2");
    TEST_NODE(&b, "Div", "d", "qk", "gamma");
    TEST_NODE(&b, "Softmax", "s", "d");
    TEST_NODE(&b, "MatMul", "sv", "s", "ln");
    TEST_NODE(&b, "GlobalAveragePool", "g", "sv");
    TEST_NODE(&b, "Flatten", "f", "g");
    TEST_NODE(&b, "Mul", "m", "f", "f");
    test_output(&b, "m");
    return test_built(&b);
}

static qdq_status place(void *ctx, qdq_error *err)
{
    const placing *p = ctx;
    qdq_why *why = p->about != NULL ? qdq_why_new(p->about) : NULL;
    const qdq_place_opts opts = {.why = why};
    qdq_plan *plan = qdq_plan_new();
    qdq_status st = plan == NULL || (p->about != NULL && why == NULL)
                        ? qdq_fail(err, QDQ_E_NOMEM, "out of memory")
                        : qdq_place(p->m, p->t, &opts, plan, err);

    if (st == QDQ_OK && why != NULL && why->no_memory)
        st = qdq_fail(err, QDQ_E_NOMEM, "out of memory");
    qdq_plan_free(plan);
    qdq_why_free(why);
    return st;
}

TEST(placement_survives_every_allocation_failure)
{
    static const char *const targets[] = {"tensorrt", "tensorrt-fp8"};
    qdq_error err = QDQ_ERROR_INIT;
    placing p = {build(), NULL, NULL};

    for (size_t i = 0; i < 2; i++) {
        assert_ok(qdq_target_load(targets[i], &p.t, &err));
        p.about = i == 0 ? NULL : "ln";
        assert_true(test_every_alloc_fails(place, &p) >= 5);
        qdq_target_free(p.t);
    }
    qdq_model_free(p.m);
}

static qdq_status load(void *ctx, qdq_error *err)
{
    qdq_target *t = NULL;
    qdq_status st = qdq_target_load(ctx, &t, err);

    qdq_target_free(t);
    return st;
}

TEST(reading_partitions_survives_every_allocation_failure)
{
    char name[] = "tensorrt-fp8";

    assert_true(test_every_alloc_fails(load, name) >= 2);
}
