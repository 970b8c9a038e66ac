/* eval_alloc.c - every allocation of the evaluator fails once, in each way that it takes memory. */
#include "support/alloc_fail.h"
#include "ir/edit.h"
#include "support/evals.h"

/* Kernels that need scratch of their own; types that are widened; constants that are decoded. */
static const char *const graphs[] = {
    "ReduceSum",
    "Transpose",
    "TopK",
    "MatMul",
    "Pad",
    "Gather",
    "Split",
    "Det",
    "Resize",
    "MaxPool",
    "LayerNormalization",
    "ConvTranspose",
    "Constant",
    "Add",
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
        qdq_model *m = test_graph(graphs[i]);

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
