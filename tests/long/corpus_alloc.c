/* corpus_alloc.c - every allocation of quantizing real models fails once. What
 * fault/quantize_alloc.c does on one small graph, on networks with all that exporters leave in
 * them. */
#include "support/alloc_fail.h"
#include "support/quantize.h"

static qdq_status quantize(void *ctx, qdq_error *err)
{
    return test_quantize_on_sim(ctx, QDQ_SOURCE_DIR "/tests/data/sim_basic.json", err);
}

TEST(quantizing_real_models_survives_every_allocation_failure)
{
    static const char *const models[] = {"digits/digits_cnn_bn.onnx", "digits/digits_convnext.onnx",
                                         "digits/digits_qat_bn.onnx", "real/mnist.onnx"};

    for (size_t i = 0; i < QDQ_COUNT(models); i++) {
        const char *path = test_corpus("%s", models[i]);

        assert_true(test_every_alloc_fails(quantize, (void *)(uintptr_t)path) > 100);
    }
}
