/* opt_equalize.c - channels between two Conv get the same range in both weights, by powers of
 * two. */
#include <math.h>

#include "base/random.h"
#include "quant/weights/weights.h"
#include "support/build.h"
#include "support/test.h"

TEST(what_does_not_pass_a_factor_through_or_is_read_elsewhere_stays)
{
    static const char *const bodies[] = {
        /* Relu6: its bound does not move */
        "c = Conv(x, w) r = Clip(c, lo, hi) y = Conv(r, v)",
        "c = Conv(x, w) r = Sigmoid(c) y = Conv(r, v)",            /* not homogeneous */
        "c = Conv(x, w) r = Relu(c) q = Conv(r, v) y = Add(q, r)", /* a second reader */
        "c = Conv(x, w) y = Conv(c, d)",                           /* weights that are computed */
        "c = Conv(x, e) y = Conv(c, v)",                           /* near enough */
        "c = Conv(x, z) y = Conv(c, v)",                           /* dead channels */
    };

    for (size_t i = 0; i < QDQ_COUNT(bodies); i++) {
        char text[800];

        snprintf(text, sizeof text,
                 "h (float[N,2,2,2] x, float[2,2,1,1] d) => (float[N,2,2,2] y)\n"
                 "<float[2,2,1,1] w = {64, 1, 1, 1}, float[2,2,1,1] v = {1, 1, 1, 16}, "
                 "float[2,2,1,1] z = "
                 "{0, 0, 0, 0},\n"
                 "float[2,2,1,1] e = {1.4, 1, 1, 10}, float lo = {0}, float hi = {6}> {\n  %s\n}\n",
                 bodies[i]);
        qdq_model *m = test_model(text);
        qdq_error err = QDQ_ERROR_INIT;
        char *was = NULL, *is = NULL;
        assert_ok(qdq_model_to_text(m, &was, &err));
        assert_ok(qdq_model_run_passes(m, "equalize", &err));
        assert_ok(qdq_model_to_text(m, &is, &err));
        assert_string_equal(was, is);
        qdq_free(was);
        qdq_free(is);
        qdq_model_free(m);
    }
}

static size_t refused(qdq_model *m, const char *pipeline, const char *reason)
{
    qdq_optimize_opts opts = QDQ_OPTIMIZE_OPTS_INIT;
    qdq_optimize_report *r = NULL;
    qdq_error err = QDQ_ERROR_INIT;
    size_t n = 0;

    opts.passes = pipeline;
    assert_ok(qdq_model_optimize(m, &opts, &r, &err));
    for (size_t i = 0; i < r->passes[0].n_refusals; i++)
        n += strcmp(r->passes[0].refusals[i].reason, reason) == 0 ? r->passes[0].refusals[i].n : 0;
    assert_int_equal(n > 0, r->changes == 0);
    qdq_optimize_report_free(r);
    return n;
}

/* digits_cnn lost 2.1 dB. One large weight of the second Conv asks for half the range: its data
 * need twice as much then, and all other channels pay for that; where weights alone count and have
 * one scale, the second one gains more than the first one loses. */
TEST(a_pair_that_would_lose_accuracy_stays)
{
    static const char *const pipelines[] = {"equalize", "equalize:weights", "equalize:per-channel",
                                            "equalize:per-channel+weights"};
    static const struct {
        const char *v;
        size_t refused[QDQ_COUNT(pipelines)];
    } cases[] = {
        {"1, 4, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0", {1, 0, 1, 1}},
        {"1, 4, 1, 4, 1, 4, 1, 4, 1, 4, 1, 4, 1, 4, 1, 4", {0, 0, 0, 0}},
    };

    for (size_t i = 0; i < QDQ_COUNT(cases) * QDQ_COUNT(pipelines); i++) {
        const size_t k = i / QDQ_COUNT(pipelines),
                     want = cases[k].refused[i % QDQ_COUNT(pipelines)];
        const char *pipeline = pipelines[i % QDQ_COUNT(pipelines)];
        char text[500];

        snprintf(text, sizeof text,
                 "h (float[N,2,2,2] x) => (float[N,8,2,2] y)\n"
                 "<float[2,2,1,1] w = {%s}, float[8,2,1,1] v = {%s}> {\n"
                 "  c = Conv(x, w) r = Relu(c) y = Conv(r, v)\n}\n",
                 k == 0 ? "1, 1, 1, 1" : "1, 1, 0.01, 0.01", cases[k].v);
        qdq_model *m = test_model(text);
        size_t n = refused(m, pipeline, "equal ranges would not bring less noise");
        if (n != want)
            fail_msg("case %zu, %s: %zu refused, want %zu", k, pipeline, n, want);
        qdq_model_free(m);
    }
}

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
