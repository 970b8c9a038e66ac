/* qparam.c - scales and zero points; see the header. Loops are written so that the compiler
 * vectorizes them: no calls, no branches. */
#include "target/qparam.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/half.h"

bool qdq_elem_code_limits(qdq_elem type, int32_t *lowest, int32_t *highest)
{
    unsigned bits = qdq_elem_bits(type);
    bool is_unsigned = type == QDQ_UINT4 || type == QDQ_UINT8 || type == QDQ_UINT16;

    if (!is_unsigned && type != QDQ_INT4 && type != QDQ_INT8 && type != QDQ_INT16)
        return false;
    *lowest = is_unsigned ? 0 : -(1 << (bits - 1));
    *highest = is_unsigned ? (1 << bits) - 1 : (1 << (bits - 1)) - 1;
    return true;
}

int32_t qdq_elem_middle_code(qdq_elem type)
{
    int32_t low, high;

    return qdq_elem_code_limits(type, &low, &high) ? (low + high + 1) / 2 : 0;
}

bool qdq_elem_is_code(qdq_elem type)
{
    int32_t low, high;

    return type == QDQ_FLOAT8E4M3FN || qdq_elem_code_limits(type, &low, &high);
}

bool qdq_qscheme_codes(const qdq_qscheme *s, int32_t *lowest, int32_t *highest)
{
    if (!qdq_elem_code_limits(s->type, lowest, highest))
        return false;
    if (s->reduced) { /* int8 becomes -64..64, uint8 0..127: one bit less on each side of zero */
        *highest = *lowest < 0 ? (*highest + 1) / 2 : *highest / 2;
        *lowest = *lowest / 2;
    } else if (s->symmetric && *lowest < 0) {
        *lowest += 1; /* -127..127: the same scale on both sides */
    }
    return true;
}

/* The scale as its storage type holds it, never below twice the smallest value that type has. */
static float store_scale(double scale, qdq_elem storage)
{
    /* powers of two, up, so that nothing saturates: the MX formats */
    if (storage == QDQ_FLOAT8E8M0)
        return (float)exp2(fmin(ceil(fmax(log2(scale), -127)), 127));
    if (storage == QDQ_FLOAT16) {
        const double step = 0x1p-24; /* smallest positive float16 */

        if (scale < 2 * step)
            return (float)(2 * step);
        int exponent;
        frexp(scale, &exponent);
        double ulp = ldexp(1.0, exponent - 11 < -24 ? -24 : exponent - 11);
        return (float)fmin(nearbyint(scale / ulp) * ulp, 65504.0);
    }
    if (storage == QDQ_BFLOAT16) {
        uint16_t bits = qdq_bfloat16_of_double(scale);

        return qdq_float_of_bfloat16((uint16_t)(bits < 2 ? 2 : bits > 0x7f7f ? 0x7f7f : bits));
    }
    if (scale < 2 * (double)FLT_TRUE_MIN)
        return 2 * FLT_TRUE_MIN;
    return (float)fmin(scale, FLT_MAX);
}

double qdq_power_of_two(double x)
{
    int exponent;

    return frexp(x, &exponent) == 0.5 ? x : ldexp(1.0, exponent);
}

/* What store_scale() stops at on top is no power of two: then the one below. */
float qdq_qscheme_scale(const qdq_qscheme *s, double scale)
{
    if (!s->pow2)
        return store_scale(scale, s->storage);
    double stored = (double)store_scale(qdq_power_of_two(scale), s->storage);
    return (float)(qdq_power_of_two(stored) > stored ? qdq_power_of_two(stored) / 2 : stored);
}

/* Codes that are numbers themselves: the largest value becomes the largest code, and 0 is 0. */
static bool float8_from_range(const qdq_qscheme *s, double low, double high, qdq_qparam *out)
{
    double largest = fmax(fabs(low), fabs(high));

    if (!isfinite(low) || !isfinite(high))
        return false;
    if (largest == 0 && s->storage != QDQ_FLOAT8E8M0)
        *out = (qdq_qparam){s->type, 1, 0};
    else
        *out = (qdq_qparam){s->type, qdq_qscheme_scale(s, largest / QDQ_FLOAT8_MAX), 0};
    return true;
}

bool qdq_qparam_from_range(const qdq_qscheme *s, double low, double high, qdq_qparam *out)
{
    int32_t lowest, highest;

    if (s->type == QDQ_FLOAT8E4M3FN)
        return float8_from_range(s, low, high, out);
    if (!isfinite(low) || !isfinite(high) || !qdq_qscheme_codes(s, &lowest, &highest))
        return false;
    low = fmin(low, 0);
    high = fmax(high, 0);
    if (s->symmetric) {
        high = fmax(-low, high);
        low = -high;
    }
    out->type = s->type;
    if (s->symmetric)
        out->zero_point = (int32_t)nearbyint(((double)lowest + highest) / 2);
    if (high == low) {
        out->scale = 1;
        if (!s->symmetric)
            out->zero_point = lowest > 0 ? lowest : 0;
        return true;
    }
    double scale = (high - low) / ((double)highest - lowest);
    if (s->pow2)
        scale = qdq_power_of_two(scale); /* the zero point belongs to what is stored */
    out->scale = qdq_qscheme_scale(s, scale);
    if (!s->symmetric) {
        double zero_point = nearbyint(lowest - low / scale);
        out->zero_point = (int32_t)fmax(lowest, fmin(highest, zero_point));
    }
    return true;
}

int32_t qdq_quantize_bias(double bias, float bias_scale)
{
    if (!(bias_scale > 0)) /* a dead channel: the product of two scales was too small for a float */
        return 0;
    double code = nearbyint(bias / bias_scale);
    return (int32_t)fmax(INT32_MIN, fmin(INT32_MAX, code));
}

bool qdq_bias_scale_is(float scale, double product)
{
    double exact = (double)(float)product;

    return fabs((double)scale - product) <= 1e-5 * product ||
           (fabs((double)scale - product) <= product / 256 &&
            (scale == qdq_float_of_bfloat16(qdq_bfloat16_of_double(exact)) ||
             scale == qdq_float_of_float16(qdq_float16_of_double(exact))));
}

double qdq_bias_scale_min(float bias)
{
    return 1.0001 * 2 * fabs((double)bias) / (4294967296.0 - 2);
}

float qdq_absmax(const float *x, size_t n)
{
    uint32_t largest = 0;

    /* as integers, |x| sorts as its bits do, and infinity and NaN are on top */
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        bits &= 0x7fffffff;
        largest = bits > largest ? bits : largest;
    }
    if (largest >= 0x7f800000)
        return -1;
    float result;
    memcpy(&result, &largest, sizeof result);
    return result;
}

/* Maps float bits to integers that sort as the floats do; its own inverse. Integer minima vectorize
 * without the promises about NaN and -0 that float minima would need. */
static inline int32_t sortable(int32_t bits)
{
    return bits ^ ((bits >> 31) & 0x7fffffff);
}

static inline float from_sortable(int32_t key)
{
    int32_t bits = sortable(key);
    float x;

    memcpy(&x, &bits, sizeof x);
    return x;
}

static void minmax_finite(const float *x, size_t n, float *low, float *high, uint64_t *n_nonfinite)
{
    *low = FLT_MAX;
    *high = -FLT_MAX;
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(x[i])) {
            ++*n_nonfinite;
            continue;
        }
        *low = fminf(*low, x[i]);
        *high = fmaxf(*high, x[i]);
    }
}

bool qdq_minmax(const float *x, size_t n, float *low, float *high, uint64_t *n_nonfinite)
{
    int32_t smallest = INT32_MAX, largest = INT32_MIN;

    for (size_t i = 0; i < n; i++) {
        int32_t bits;
        memcpy(&bits, x + i, sizeof bits);
        int32_t key = sortable(bits);
        smallest = key < smallest ? key : smallest;
        largest = key > largest ? key : largest;
    }
    *n_nonfinite = 0;
    *low = from_sortable(smallest);
    *high = from_sortable(largest);
    /* they sort to the ends: rare, and again with care */
    if (n > 0 && !(isfinite(*low) && isfinite(*high)))
        minmax_finite(x, n, low, high, n_nonfinite);
    return n > *n_nonfinite;
}
