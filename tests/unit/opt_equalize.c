/* opt_equalize.c - channels between two Conv get the same range in both weights, by powers of
 * two. */
#include <math.h>

#include "base/random.h"
#include "quant/weights/weights.h"
#include "support/build.h"
#include "support/test.h"

/* Squared error of a weight in 8 bits with one scale, over its squares: the mean over its output
 * channels. */
static double noise_of(const qdq_model *m, const char *node)
{
    const qdq_node *n = NULL;
    qdq_arena a = QDQ_ARENA_INIT;
    qdq_error err = QDQ_ERROR_INIT;
    const qdq_qscheme s = {QDQ_INT8, true, false, QDQ_FLOAT, false};
    float low, high, scale;
    double mean = 0;
    int32_t zero;
    const float *w;
    qdq_scale_grid g;

    QDQ_FOR_NODES (k, m->graph)
        if (strcmp(k->out[0]->name, node) == 0)
            n = k;
    assert_non_null(n);
    const qdq_tensor *t = qdq_value_const(n->in[1].value);
    assert_non_null(t);
    assert_ok(qdq_weight_floats(t, &a, &w, &err));
    assert_ok(qdq_weight_grid(t, -1, 0, &g, &err));
    assert_ok(qdq_weight_ranges(w, &g, NULL, &low, &high, &err));
    assert_ok(qdq_weight_scales(&s, &low, &high, NULL, 1, &scale, &zero, &err));
    int64_t each = t->count / t->dim[0];
    for (int64_t c = 0; c < t->dim[0]; c++) {
        double error = 0, sum = 0;
        for (int64_t i = c * each; i < (c + 1) * each; i++) {
            double off = (double)w[i] - nearbyint((double)(w[i] / scale)) * (double)scale;
            error += off * off;
            sum += (double)w[i] * (double)w[i];
        }
        mean += error / sum / (double)t->dim[0];
    }
    qdq_arena_free(&a);
    return mean;
}

/* Channel ranges 1000 times apart, as MobileNet has them: one scale leaves the small ones
 * nothing. */
TEST(channels_a_thousand_times_apart_fit_one_scale_afterwards)
{
    test_builder b = test_build(17);
    qdq_error err = QDQ_ERROR_INIT;

    TEST_INPUT(&b, "x", 1, 8, 6, 6);
    test_conv(&b, "c0", "x", 16, 8, 3, 1);
    TEST_NODE(&b, "Relu", "r0", "c0");
    test_conv(&b, "c1", "r0", 16, 16, 3, 16);
    TEST_NODE(&b, "Relu", "r1", "c1");
    test_conv(&b, "c2", "r1", 8, 16, 1, 1);
    test_output(&b, "c2");
    qdq_model *m = test_built(&b);
    QDQ_FOR_NODES (n, m->graph) { /* the network stays the same: c1 takes back what c0 spreads */
        bool first = strcmp(n->out[0]->name, "c0") == 0,
             second = strcmp(n->out[0]->name, "c1") == 0;
        if (!first && !second)
            continue;
        float *w = (float *)(uintptr_t)qdq_value_const(n->in[1].value)->bytes.data;
        float *bias = (float *)(uintptr_t)qdq_value_const(n->in[2].value)->bytes.data;
        int64_t each = qdq_value_const(n->in[1].value)->count / 16;
        for (int64_t i = 0; i < 16 * each; i++)
            w[i] *= powf(1000, (float)(i / each % 4) / 3 * (first ? 1 : -1));
        for (int64_t i = 0; first && i < 16; i++)
            bias[i] *= powf(1000, (float)(i % 4) / 3);
    }
    double before = noise_of(m, "c1");
    assert_ok(qdq_model_run_passes(m, "equalize", &err));
    double after = noise_of(m, "c1");
    if (!(after < before / 100))
        fail_msg("noise %g, was %g", after, before);
    assert_true(noise_of(m, "c0") < 1e-3 && noise_of(m, "c2") < 1e-3);
    qdq_model_free(m);
}
