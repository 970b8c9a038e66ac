/* qcodes.c - values to codes and back; see qparam.h. Loops are written so that the compiler
 * vectorizes them: no calls, no branches. They divide, since a product with the reciprocal rounds
 * otherwise. */
#include <math.h>
#include <string.h>

#include "target/qparam.h"

#define BOUND 0x1p20F /* far beyond any code */

size_t qdq_code_size(qdq_elem type)
{
    unsigned bits = qdq_elem_bits(type);

    return bits <= 8 ? 1 : bits / 8;
}

/* Round half to even for |x| < 2^22: adding 1.5 * 2^23 leaves no bits behind the point. */
static inline float round_even(float x)
{
    const float magic = 12582912.0f;

    return (x + magic) - magic;
}

static inline float clamp(float x, float low, float high)
{
    x = x > low ? x : low; /* NaN fails the comparison */
    return x < high ? x : high;
}

/* --- float8e4m3fn: 1 + 4 + 3 bits, bias 7, no infinity, subnormals are multiples of 2^-9 ------ */

static inline uint8_t float8_code(float x)
{
    uint32_t bits, magnitude, sign;
    float a = clamp(fabsf(x), 0, (float)QDQ_FLOAT8_MAX);

    memcpy(&bits, &x, sizeof bits);
    sign = bits >> 24 & 0x80;
    memcpy(&magnitude, &a, sizeof magnitude);
    /* half a step, or just below it: ties go to even */
    magnitude += 0x7ffff + (magnitude >> 20 & 1);
    uint32_t normal = (magnitude >> 20) - ((127 - 7) << 3);
    uint32_t subnormal = (uint32_t)(int32_t)round_even(clamp(a, 0, 1) * 512);
    uint32_t code = a < 0x1p-6F ? subnormal : normal;
    return (uint8_t)(x == x ? sign | code : 0x7f);
}

static inline float float8_value(uint8_t code)
{
    uint32_t magnitude = code & 0x7f, bits = (magnitude + ((127 - 7) << 3)) << 20;
    float normal, value;

    memcpy(&normal, &bits, sizeof normal);
    value = magnitude < 8 ? (float)(int32_t)magnitude * 0x1p-9F : normal;
    value = magnitude == 0x7f ? NAN : value;
    return (code & 0x80) != 0 ? -value : value;
}

/* --- one scale -------------------------------------------------------------------------------- */

int32_t qdq_quantize_value(const qdq_qparam *p, float x)
{
    int32_t lowest, highest;

    if (p->type == QDQ_FLOAT8E4M3FN)
        return float8_code(x / p->scale);
    if (isnan(x) || !qdq_elem_code_limits(p->type, &lowest, &highest))
        return p->zero_point;
    float code = round_even(clamp(x / p->scale, -BOUND, BOUND)) + (float)p->zero_point;
    return (int32_t)clamp(code, (float)lowest, (float)highest);
}

/* --- many values: one scale and zero point, or one for each ----------------------------------- */

/* Scale and zero point may be expressions of the place i. */
#define QUANTIZE_AS(type, scale, zero)                                                             \
    do {                                                                                           \
        type *out = codes;                                                                         \
        for (size_t i = 0; i < n; i++) {                                                           \
            float v = x[i] == x[i] ? x[i] : 0;                                                     \
            v = round_even(clamp(v / (scale), -BOUND, BOUND)) + (zero);                            \
            out[i] = (type)(int32_t)clamp(v, (float)lowest, (float)highest);                       \
        }                                                                                          \
    } while (0)

#define QUANTIZE(elem, scale, zero)                                                                \
    do {                                                                                           \
        int32_t lowest = 0, highest = 0;                                                           \
        if ((elem) == QDQ_FLOAT8E4M3FN)                                                            \
            for (size_t i = 0; i < n; i++)                                                         \
                ((uint8_t *)codes)[i] = float8_code(x[i] / (scale));                               \
        else if (!qdq_elem_code_limits((elem), &lowest, &highest))                                 \
            return;                                                                                \
        else if ((elem) == QDQ_INT16)                                                              \
            QUANTIZE_AS(int16_t, scale, zero);                                                     \
        else if ((elem) == QDQ_UINT16)                                                             \
            QUANTIZE_AS(uint16_t, scale, zero);                                                    \
        else if (lowest < 0)                                                                       \
            QUANTIZE_AS(int8_t, scale, zero);                                                      \
        else                                                                                       \
            QUANTIZE_AS(uint8_t, scale, zero);                                                     \
    } while (0)

#define DEQUANTIZE_AS(type, scale, zero)                                                           \
    do {                                                                                           \
        const type *in = codes;                                                                    \
        for (size_t i = 0; i < n; i++)                                                             \
            x[i] = (float)((int32_t)in[i] - (zero)) * (scale);                                     \
    } while (0)

#define DEQUANTIZE(elem, scale, zero)                                                              \
    do {                                                                                           \
        if ((elem) == QDQ_FLOAT8E4M3FN)                                                            \
            for (size_t i = 0; i < n; i++)                                                         \
                x[i] = float8_value(((const uint8_t *)codes)[i]) * (scale);                        \
        else if ((elem) == QDQ_INT8 || (elem) == QDQ_INT4)                                         \
            DEQUANTIZE_AS(int8_t, scale, zero);                                                    \
        else if ((elem) == QDQ_UINT8 || (elem) == QDQ_UINT4)                                       \
            DEQUANTIZE_AS(uint8_t, scale, zero);                                                   \
        else if ((elem) == QDQ_INT16)                                                              \
            DEQUANTIZE_AS(int16_t, scale, zero);                                                   \
        else if ((elem) == QDQ_UINT16)                                                             \
            DEQUANTIZE_AS(uint16_t, scale, zero);                                                  \
        else if ((elem) == QDQ_INT32)                                                              \
            DEQUANTIZE_AS(int32_t, scale, zero);                                                   \
    } while (0)

void qdq_quantize_floats(const qdq_qparam *p, const float *x, size_t n, void *codes)
{
    const float scale = p->scale, zero = (float)p->zero_point;

    QUANTIZE(p->type, scale, zero);
}

void qdq_dequantize_floats(const qdq_qparam *p, const void *codes, size_t n, float *x)
{
    const float scale = p->scale;
    const int32_t zero = p->zero_point;

    DEQUANTIZE(p->type, scale, zero);
}

void qdq_quantize_row(qdq_elem type, const float *scales, const int32_t *zeros, const float *x,
                      size_t n, void *codes)
{
    QUANTIZE(type, scales[i], zeros != NULL ? (float)zeros[i] : 0);
}

void qdq_dequantize_row(qdq_elem type, const float *scales, const int32_t *zeros, const void *codes,
                        size_t n, float *x)
{
    DEQUANTIZE(type, scales[i], zeros != NULL ? zeros[i] : 0);
}

/* --- as tensors store them -------------------------------------------------------------------- */

void qdq_pack_codes(qdq_elem type, const void *codes, size_t n, void *packed)
{
    const uint8_t *in = codes;
    uint8_t *out = packed;

    if (qdq_elem_bits(type) != 4) {
        memcpy(packed, codes, n * qdq_code_size(type));
        return;
    }
    for (size_t i = 0; i < n / 2; i++)
        out[i] = (uint8_t)((in[2 * i] & 15) | (in[2 * i + 1] & 15) << 4);
    if (n % 2 != 0)
        out[n / 2] = in[n - 1] & 15;
}

void qdq_unpack_codes(qdq_elem type, const void *packed, size_t n, void *codes)
{
    const uint8_t *in = packed;
    uint8_t *out = codes;
    uint8_t sign = type == QDQ_INT4 ? 8 : 0; /* (x ^ 8) - 8 extends the sign of four bits */

    if (qdq_elem_bits(type) != 4) {
        memcpy(codes, packed, n * qdq_code_size(type));
        return;
    }
    for (size_t i = 0; i < n; i++)
        out[i] = (uint8_t)((((in[i / 2] >> (i % 2 * 4)) & 15) ^ sign) - sign);
}
