/* half.h - float16 and bfloat16 as bits: exact to float, rounded once from double. */
#ifndef QDQ_HALF_H
#define QDQ_HALF_H

#include <stdint.h>
#include <string.h>

static inline float qdq_float_of_bits(uint32_t bits)
{
    float f;

    memcpy(&f, &bits, sizeof f);
    return f;
}

static inline float qdq_float_of_bfloat16(uint16_t h)
{
    return qdq_float_of_bits((uint32_t)h << 16);
}

static inline float qdq_float_of_float16(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000U) << 16, code = h & 0x7fffU;

    if (code >= 0x7c00U)
        return qdq_float_of_bits(sign | 0x7f800000U | (code & 0x3ffU) << 13);
    if (code >= 0x400U)
        return qdq_float_of_bits(sign | (code + ((127U - 15U) << 10)) << 13);
    float subnormal = (float)code * 0x1p-24F;
    return sign != 0 ? -subnormal : subnormal;
}

/* A format of 1 + exp + man = 16 bits: to nearest even, beyond the largest number to infinity. */
static inline uint16_t qdq_bits16_of_double(double x, unsigned man)
{
    uint64_t bits, kept, rest, middle;
    unsigned exp_bits = 15 - man, shift = 52 - man;
    uint32_t infinity = ((1U << exp_bits) - 1) << man, code;

    memcpy(&bits, &x, sizeof bits);
    uint32_t sign = (uint32_t)(bits >> 63) << 15;
    int exponent = (int)(bits >> 52 & 0x7ffU) - 1023 + (1 << (exp_bits - 1)) - 1;
    uint64_t mantissa = bits & ((UINT64_C(1) << 52) - 1);

    if ((bits >> 52 & 0x7ffU) == 0x7ffU)
        return (uint16_t)(sign | infinity | (mantissa != 0 ? 1U << (man - 1) : 0));
    /* subnormal there, or zero: doubles that are subnormal themselves are far below */
    if (exponent <= 0) {
        shift += (unsigned)(1 - exponent);
        exponent = 1;
        if (shift > 53)
            return (uint16_t)sign;
    }
    mantissa |= UINT64_C(1) << 52;
    kept = mantissa >> shift;
    rest = mantissa & ((UINT64_C(1) << shift) - 1);
    middle = UINT64_C(1) << (shift - 1);
    kept += rest > middle || (rest == middle && (kept & 1) != 0);
    code = ((uint32_t)(exponent - 1) << man) + (uint32_t)kept; /* a carry is the next exponent's */
    return (uint16_t)(sign | (code > infinity ? infinity : code));
}

static inline uint16_t qdq_float16_of_double(double x)
{
    return qdq_bits16_of_double(x, 10);
}

static inline uint16_t qdq_bfloat16_of_double(double x)
{
    return qdq_bits16_of_double(x, 7);
}

#endif /* QDQ_HALF_H */
