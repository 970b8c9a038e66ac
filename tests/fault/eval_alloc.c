/* eval_alloc.c - every allocation of the evaluator fails once, in each way that it takes memory. */
#include "support/alloc_fail.h"
#include "ir/edit.h"
#include "support/evals.h"

/* Kernels that need scratch of their own; types that are widened; constants that are decoded. */
static const char *const graphs[] = {
    "g () => () <float16[2,3] x = {1, 2, 3, 4, 5, 6}> { y = ReduceSum <axes = [1]> (x) }",
    "g () => () <int4[2,3] x = {1, 2, 3, 4, 5, 6}> { y = Transpose(x) }",
    "g () => () <float[5] x = {1, 2, 3, 4, 5}, int64[1] k = {2}> { y, i = TopK(x, k) }",
    "g () => () <float[2,2] x = {1, 2, 3, 4}> { y = MatMul(x, x) }",
    "g () => () <float[2] x = {1, 2}, int64[2] p = {1, 1}> { y = Pad <mode = \"edge\"> (x, p) }",
    "g () => () <float[3] x = {1, 2, 3}, int32[2] i = {1, 2}> { y = Gather(x, i) }",
    "g () => () <int64[3] x = {1, 2, 3}> { a, b = Split <split = [1, 2]> (x) }",
    "g () => () <float[2,2] x = {1, 2, 3, 4}> { y = Det(x) }",
    ("g () => () <float[2] x = {1, 2}, int64[1] s = {3}> { y = Resize <mode = \"cubic\"> (x, \"\", "
     "\"\", s) }"),
    "g () => () <float[1,1,3] x = {1, 2, 3}> { y, i = MaxPool <kernel_shape = [2]> (x) }",
    "g () => () <float[2] x = {1, 3}, float[2] s = {1, 2}> { y, m, d = LayerNormalization(x, s) }",
    "g () => () <float16[1,1,2] x = {1, 2}, float16[1,1,2] w = {1, 2}> { y = ConvTranspose(x, w) }",
    "g () => () <> { y = Constant <value = int64[2] {1, 2}> () }",
    "g () => () <float x = {1}, double z = {2}> { y = Add(x, z) }", /* the reason */
};

typedef struct attempt {
    const qdq_model *m;
    /* of the arena's first block: which allocation needs the second one depends on it */
    size_t taken;
} attempt;

static qdq_status evaluate(void *ctx, qdq_error *err)
{
    const attempt *a = ctx;
    qdq_arena memory = QDQ_ARENA_INIT;
    qdq_const out[QDQ_EVAL_OUTPUTS];
    const char *why;

    if (a->taken > 0 && qdq_arena_alloc(&memory, a->taken) == NULL)
        return qdq_nomem(err);
    qdq_status st = test_eval_model(a->m, 1 << 20, &memory, out, &why, err);
    qdq_arena_free(&memory);
    return st;
}

TEST(evaluation_survives_every_allocation_failure)
{
    for (size_t i = 0; i < QDQ_COUNT(graphs); i++) {
        qdq_model *m = test_model(graphs[i]);

        for (size_t left = 0; left < 400; left += 16)
            assert_true(test_every_alloc_fails(evaluate, &(attempt){m, 4032 - left}) > 0);
        qdq_model_free(m);
    }
}

/* A copy of the result for the model. */
static qdq_status keep(void *ctx, qdq_error *err)
{
    static const int64_t dim = 3, data[3] = {1, 2, 3};
    qdq_const x = {QDQ_INT64, 1, &dim, 3, data, sizeof data};
    qdq_model *m = qdq_model_new();
    qdq_tensor *t = m != NULL ? qdq_const_to_tensor(m, &x) : NULL;

    (void)ctx;
    qdq_model_free(m);
    return t != NULL ? QDQ_OK : qdq_nomem(err);
}

TEST(keeping_a_result_survives_every_allocation_failure)
{
    assert_true(test_every_alloc_fails(keep, NULL) > 2);
}
