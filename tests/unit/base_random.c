/* Random numbers: fixed streams, and their distribution. */
#include "support/test.h"

#include <math.h>

#include "base/random.h"

TEST(the_stream_of_a_seed_never_changes)
{
    qdq_random r = {.counter = 1234567};
    /* the published test vector of SplitMix64 */
    assert_true(qdq_random_u64(&r) == UINT64_C(6457827717110365317));
    assert_true(qdq_random_u64(&r) == UINT64_C(3203168211198807973));
    assert_true(qdq_random_u64(&r) == UINT64_C(9817491932198370423));

    r = qdq_random_new(1, "x");
    uint64_t first = qdq_random_u64(&r);
    r = qdq_random_new(1, "y");
    assert_true(first != qdq_random_u64(&r));
    r = qdq_random_new(2, "x");
    assert_true(first != qdq_random_u64(&r));
    r = qdq_random_new(1, "x");
    assert_true(first == qdq_random_u64(&r));
    assert_true(qdq_random_nth_seed(7, 0) == 7);
    assert_true(qdq_random_nth_seed(7, 1) != qdq_random_nth_seed(7, 2));
}

TEST(normals_have_mean_zero_and_deviation_one)
{
    qdq_random r = qdq_random_new(1, "x");
    enum { n = 200000 };
    double sum = 0, square = 0, fourth = 0;

    for (int i = 0; i < n; i++) {
        double x = (double)qdq_random_normal(&r);
        sum += x;
        square += x * x;
        fourth += x * x * x * x;
    }
    assert_true(fabs(sum / n) < 0.01);
    assert_true(fabs(square / n - 1) < 0.02);
    assert_true(fabs(fourth / n - 3) < 0.1);
}

static qdq_array array_of(qdq_elem elem, void *data, size_t bytes)
{
    return (qdq_array){.elem = elem, .data = data, .bytes = bytes};
}

TEST(the_first_floats_of_seed_1_are_fixed)
{
    float x[4];
    double d[4];
    qdq_array a = array_of(QDQ_FLOAT, x, sizeof x), b = array_of(QDQ_DOUBLE, d, sizeof d);

    assert_true(qdq_random_fill(&a, 1, "x"));
    assert_true(qdq_random_fill(&b, 1, "x"));
    static const float want[4] = {-1.32855546f, 0.454034477f, 0.931805372f, -0.161065057f};
    for (int i = 0; i < 4; i++) {
        if (fabsf(x[i] - want[i]) > 1e-6f)
            fail_msg("element %d is %.9g", i, (double)x[i]);
        assert_true(d[i] == (double)x[i]);
    }
}

static float of_half(uint16_t h)
{
    int exponent = (h >> 10) & 31, fraction = h & 1023;
    float f =
        exponent ? ldexpf((float)(1024 + fraction), exponent - 25) : ldexpf((float)fraction, -24);
    return h & 0x8000 ? -f : f;
}

TEST(halves_and_bfloats_are_the_same_numbers_rounded)
{
    enum { n = 20000 };
    static float x[n];
    static uint16_t h[n], bf[n];
    qdq_array a = array_of(QDQ_FLOAT, x, sizeof x), b = array_of(QDQ_FLOAT16, h, sizeof h),
              c = array_of(QDQ_BFLOAT16, bf, sizeof bf);

    assert_true(qdq_random_fill(&a, 3, "x") && qdq_random_fill(&b, 3, "x") &&
                qdq_random_fill(&c, 3, "x"));
    for (int i = 0; i < n; i++) {
        uint32_t bits = (uint32_t)bf[i] << 16;
        float wide;
        memcpy(&wide, &bits, sizeof wide);
        assert_true(fabsf(of_half(h[i]) - x[i]) <= fmaxf(fabsf(x[i]) * 0x1p-11f, 0x1p-25f));
        assert_true(fabsf(wide - x[i]) <= fabsf(x[i]) * 0x1p-8f);
    }
}

TEST(integers_are_zero_or_one_in_every_width)
{
    static const struct {
        qdq_elem elem;
        unsigned bits;
    } of[] = {{QDQ_INT8, 8},    {QDQ_UINT8, 8},  {QDQ_BOOL, 8},    {QDQ_INT16, 16},
              {QDQ_UINT16, 16}, {QDQ_INT32, 32}, {QDQ_UINT32, 32}, {QDQ_INT64, 64},
              {QDQ_UINT64, 64}, {QDQ_INT4, 4},   {QDQ_UINT4, 4},   {QDQ_INT2, 2},
              {QDQ_UINT2, 2}};

    for (size_t t = 0; t < QDQ_COUNT(of); t++) {
        unsigned char data[512];
        unsigned ones = 0, n = (unsigned)sizeof data * 8 / of[t].bits;
        qdq_array a = array_of(of[t].elem, data, sizeof data);

        memset(data, 0xff, sizeof data);
        assert_true(qdq_random_fill(&a, 1, "x"));
        for (unsigned bit = 0; bit < sizeof data * 8; bit++) {
            unsigned set = data[bit / 8] >> bit % 8 & 1;
            if (bit % of[t].bits != 0)
                assert_int_equal(set, 0);
            ones += set;
        }
        assert_in_range(ones, n / 4, n - n / 4);
    }
}

TEST(types_without_numbers_are_refused)
{
    char data[16] = "";
    qdq_array a = array_of(QDQ_STRING, data, sizeof data);

    assert_false(qdq_random_fill(&a, 1, "x"));
    a.elem = QDQ_COMPLEX64;
    assert_false(qdq_random_fill(&a, 1, "x"));
    a.elem = QDQ_FLOAT8E8M0;
    assert_false(qdq_random_fill(&a, 1, "x"));
}
