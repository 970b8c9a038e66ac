/* half_numbers.c - rounds to the nearest, and steps back from infinity and from 0. */
#include "quant/weights/half_numbers.h"

#include <math.h>

#include "base/half.h"

/* The largest and the smallest positive number, as bits. */
typedef struct limits {
    uint16_t largest, smallest;
} limits;

static limits limits_of(qdq_elem elem)
{
    return elem == QDQ_FLOAT16 ? (limits){0x7bff, 1} : (limits){0x7f7f, 1};
}

uint16_t qdq_half_bits(float x, qdq_elem elem, bool *clamped)
{
    uint16_t bits =
        elem == QDQ_FLOAT16 ? qdq_float16_of_double((double)x) : qdq_bfloat16_of_double((double)x);
    uint16_t sign = bits & 0x8000U, infinity = (uint16_t)(limits_of(elem).largest + 1);

    if ((bits & 0x7fffU) == infinity && isfinite(x)) {
        *clamped = true;
        return (uint16_t)(sign | limits_of(elem).largest);
    }
    if ((bits & 0x7fffU) == 0 && x != 0)
        return (uint16_t)(sign | limits_of(elem).smallest);
    return bits;
}

float qdq_half_round(float x, qdq_elem elem)
{
    bool clamped;

    if (elem != QDQ_FLOAT16 && elem != QDQ_BFLOAT16)
        return x;
    uint16_t bits = qdq_half_bits(x, elem, &clamped);
    return elem == QDQ_FLOAT16 ? qdq_float_of_float16(bits) : qdq_float_of_bfloat16(bits);
}

bool qdq_half_fits(const float *scale, size_t n, qdq_elem elem)
{
    for (size_t i = 0; i < n; i++)
        if (!(scale[i] > 0 && fabsf(qdq_half_round(scale[i], elem) - scale[i]) <= scale[i] / 256))
            return false;
    return true;
}

float qdq_half_round_up(float x, qdq_elem elem)
{
    bool clamped;

    if (elem != QDQ_FLOAT16 && elem != QDQ_BFLOAT16)
        return x;
    uint16_t bits = qdq_half_bits(x, elem, &clamped);
    if (qdq_half_round(x, elem) < x && bits < limits_of(elem).largest)
        bits++;
    return elem == QDQ_FLOAT16 ? qdq_float_of_float16(bits) : qdq_float_of_bfloat16(bits);
}
