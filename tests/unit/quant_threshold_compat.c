/* quant_threshold_compat.c - the same thresholds as ONNX Runtime's tool. */
#include <math.h>

#include "quant/calib/threshold_compat.h"
#include "support/test.h"

TEST(divergences_and_threshold_of_sixteen_bins)
{
    static const int counts[16] = {1, 0, 0, 2, 5, 20, 60, 100, 100, 60, 20, 5, 2, 0, 0, 1};
    static const double want[7] = {0.8771, 2.8443, 0.1218, 0.2574, 0.1916, 0.1477, 0.3576};
    qdq_compat c = qdq_compat_new(16);
    double kl[7];
    qdq_range r;

    for (int i = 0; i < 16; i++) /* the outermost first: they fix the bins */
        for (int k = 0, at = (i * 15) % 16; k < counts[at]; k++) {
            float x = at == 0 ? -8 : at == 15 ? 8 : (float)at - 7.5f;
            assert_true(qdq_compat_add(&c, &x, 1));
        }
    assert_int_equal(c.n_bins, 16);
    for (int i = 0; i < 16; i++)
        assert_int_equal(c.bin[i], counts[i]);
    assert_true(qdq_compat_range(&c, 4, kl, &r));
    for (int i = 0; i < 7; i++)
        assert_true(fabs(kl[i] - want[i]) < 5e-5);
    assert_true(r.low == -4 && r.high == 5);
    qdq_compat_free(&c);
}

TEST(bins_are_added_at_both_ends)
{
    const float first[] = {-1, -0.5f, 0.5f, 1}, second[] = {2.2f, -0.1f};
    const uint64_t before[4] = {1, 1, 0, 2}, after[10] = {0, 0, 0, 1, 2, 0, 2, 0, 0, 1};
    qdq_compat c = qdq_compat_new(4);

    assert_true(qdq_compat_add(&c, first, 4));
    assert_int_equal(c.n_bins, 4);
    assert_memory_equal(c.bin, before, sizeof before);
    assert_true(c.threshold == 1.0f);
    assert_true(qdq_compat_add(&c, second, 2));
    assert_int_equal(c.n_bins, 10);
    assert_memory_equal(c.bin, after, sizeof after);
    assert_true(c.threshold == 2.5f);
    qdq_compat_free(&c);
}

/* Numbers that Python makes just the same. */
static float next(uint64_t *s)
{
    *s = *s * 6364136223846793005 + 1442695040888963407;
    float a = (float)((double)(*s >> 40) / (1 << 24) - 0.5);
    *s = *s * 6364136223846793005 + 1442695040888963407;
    float b = (float)((double)(*s >> 40) / (1 << 24));
    return a * b * b;
}

/* Ranges and bins that onnxruntime 1.31.1 (quantization.calibrate.HistogramCollector, 128 bins, 128
 * quantized) gave for five batches of growing range; the last time behind a batch of zeros. */
TEST(ranges_are_those_of_onnxruntime)
{
    static const struct {
        double low, high;
        size_t bins;
        float threshold;
    } want[] = {{-0x1.c88642p+1, 0x1.d5eb76p+1, 1072, 0x1.e73086p+1f},
                {-0x1.af6fcap+1, 0x1.b06068p+1, 1102, 0x1.02f4bcp+2f},
                {-0x1.7e5fbcp+1, 0x1.7f2eacp+1, 1392, 0x1.1952e2p+2f},
                {-0x1.bff558p+1, 0x1.c0e4c4p+1, 1060, 0x1.efa74p+1f},
                {-0x1.7862eep+1, 0x1.795c8cp+1, 1124, 0x1.120064p+2f},
                {-0x1.9fde96p+1, 0x1.a0c78cp+1, 1192, 0x1.0f2dfep+2f}};
    float x[500] = {0};

    for (uint64_t seed = 1; seed <= 6; seed++) {
        qdq_compat c = qdq_compat_new(QDQ_COMPAT_BINS);
        qdq_range r;

        if (seed == 6) {
            memset(x, 0, sizeof x);
            assert_true(qdq_compat_add(&c, x, 10));
        }
        for (uint64_t k = 0; k < 5; k++) {
            uint64_t s = seed * 10 + k;
            for (size_t i = 0; i < 500; i++)
                x[i] = next(&s) * (1 + (float)(k * k) * 0.5f);
            assert_true(qdq_compat_add(&c, x, 500));
        }
        assert_true(qdq_compat_range(&c, QDQ_COMPAT_CODES, NULL, &r));
        assert_int_equal(c.n_bins, want[seed - 1].bins);
        assert_true(c.threshold == want[seed - 1].threshold);
        if (r.low != want[seed - 1].low || r.high != want[seed - 1].high)
            fail_msg("seed %d: want [%a, %a], got [%a, %a]", (int)seed, want[seed - 1].low,
                     want[seed - 1].high, r.low, r.high);
        qdq_compat_free(&c);
    }
}

TEST(bins_without_end_are_refused)
{
    const float small[] = {1e-3f}, large[] = {10}, huge[] = {3e38f};
    qdq_compat c = qdq_compat_new(QDQ_COMPAT_BINS);

    assert_true(qdq_compat_add(&c, small, 1));
    assert_true(qdq_compat_add(&c, large, 1)); /* 1,280,000 bins there */
    assert_true(c.too_wide);
    assert_true(qdq_compat_add(&c, huge, 1));
    assert_int_equal(c.n_bins, QDQ_COMPAT_BINS);
    qdq_compat_free(&c);
}

TEST(constants_and_zeros_have_a_range)
{
    const float zeros[] = {0, 0}, one[] = {3};
    qdq_compat c = qdq_compat_new(QDQ_COMPAT_BINS);
    qdq_range r;

    assert_true(qdq_compat_add(&c, zeros, 2));
    assert_true(qdq_compat_range(&c, QDQ_COMPAT_CODES, NULL, &r));
    assert_true(r.low == 0 && r.high == 0);
    assert_true(qdq_compat_add(&c, one, 1));
    assert_true(qdq_compat_range(&c, QDQ_COMPAT_CODES, NULL, &r));
    assert_true(r.low == 0 && r.high == 3);
    qdq_compat_free(&c);
}
