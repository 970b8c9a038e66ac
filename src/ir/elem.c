/* elem.c - single elements of packed data as float or int64, all ONNX formats. Knows bits, no
 * tensors. */
#include "ir/ir.h"

#include <math.h>
#include <string.h>

#include "base/half.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "tensor bytes are little-endian and are read in place: a big-endian host is not supported"
#endif

static unsigned packed(const unsigned char *data, int64_t i, unsigned bits)
{
    unsigned per_byte = 8 / bits;
    unsigned shift = (unsigned)(i % per_byte) * bits;

    return ((unsigned)data[i / per_byte] >> shift) & ((1U << bits) - 1);
}

static uint64_t get_bits(const unsigned char *bytes, int64_t i, unsigned bits)
{
    uint64_t code = 0;

    if (bits < 8)
        return packed(bytes, i, bits);
    switch (bits) { /* sizes that the compiler knows */
    case 8:
        return bytes[i];
    case 16:
        memcpy(&code, bytes + i * 2, 2);
        return code;
    case 32:
        memcpy(&code, bytes + i * 4, 4);
        return code;
    default:
        memcpy(&code, bytes + i * 8, 8);
        return code;
    }
}

int64_t qdq_elem_int(qdq_elem e, const void *data, int64_t i)
{
    const qdq_elem_info *info = qdq_elem_get_info(e);

    if (!qdq_elem_is_int(e))
        return 0;
    const uint64_t code = get_bits(data, i, info->bits), sign = UINT64_C(1) << (info->bits - 1);
    if (info->kind == QDQ_ELEM_BOOL)
        return code != 0;
    return (int64_t)(info->kind == QDQ_ELEM_INT ? (code ^ sign) - sign : code);
}

/* --- small floats ----------------------------------------------------------------------------- */

typedef struct small_format {
    unsigned bits, man;
    int bias;
    /* largest finite code */
    uint32_t max;
    /* 0: has none */
    uint32_t infinity;
    /* 0: has none */
    uint32_t nan;
    bool has_minus_zero;
} small_format;

static bool format_of(qdq_elem e, small_format *f)
{
    static const struct {
        qdq_elem elem;
        small_format format;
    } table[] = {
        {QDQ_FLOAT16, {16, 10, 15, 0x7bff, 0x7c00, 0x7e00, true}},
        {QDQ_BFLOAT16, {16, 7, 127, 0x7f7f, 0x7f80, 0x7fc0, true}},
        {QDQ_FLOAT8E4M3FN, {8, 3, 7, 0x7e, 0, 0x7f, true}},
        {QDQ_FLOAT8E4M3FNUZ, {8, 3, 8, 0x7f, 0, 0x80, false}},
        {QDQ_FLOAT8E5M2, {8, 2, 15, 0x7b, 0x7c, 0x7f, true}},
        {QDQ_FLOAT8E5M2FNUZ, {8, 2, 16, 0x7f, 0, 0x80, false}},
        {QDQ_FLOAT4E2M1, {4, 1, 1, 7, 0, 0, true}},
    };

    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (table[i].elem == e) {
            *f = table[i].format;
            return true;
        }
    return false;
}

/* The families of float8 differ in what the codes at the end mean: FN has one NaN per sign, FNUZ
 * one NaN at -0. */
static float decode(const small_format *f, unsigned code)
{
    const unsigned sign = 1U << (f->bits - 1), rest = code & (sign - 1), exponent = rest >> f->man,
                   mantissa = rest & ((1U << f->man) - 1);
    float x;

    if (!f->has_minus_zero && code == f->nan)
        return NAN;
    if (rest > f->max)
        x = f->infinity != 0 && rest == f->infinity ? INFINITY : NAN;
    else if (exponent == 0)
        x = ldexpf((float)mantissa, 1 - f->bias - (int)f->man);
    else
        x = ldexpf((float)(mantissa | 1U << f->man), (int)exponent - f->bias - (int)f->man);
    return code & sign ? -x : x;
}

#define LOAD(type, data, i)                                                                        \
    type x;                                                                                        \
    memcpy(&x, (const unsigned char *)(data) + (size_t)(i) * sizeof x, sizeof x)

float qdq_elem_float(qdq_elem e, const void *data, int64_t i)
{
    small_format format;

    if (e == QDQ_FLOAT) {
        LOAD(float, data, i);
        return x;
    }
    if (qdq_elem_is_int(e)) {
        const int64_t x = qdq_elem_int(e, data, i);
        return e == QDQ_UINT64 ? (float)(uint64_t)x : (float)x;
    }
    if (e == QDQ_DOUBLE) {
        LOAD(double, data, i);
        return (float)x;
    }
    if (e == QDQ_FLOAT16 || e == QDQ_BFLOAT16) {
        LOAD(uint16_t, data, i);
        return e == QDQ_FLOAT16 ? qdq_float_of_float16(x) : qdq_float_of_bfloat16(x);
    }
    if (e == QDQ_FLOAT8E8M0) {
        const int exponent = ((const unsigned char *)data)[i];
        return exponent == 0xff ? NAN : ldexpf(1.0F, exponent - 127);
    }
    return format_of(e, &format) ? decode(&format, (unsigned)get_bits(data, i, format.bits)) : NAN;
}

double qdq_elem_double(qdq_elem e, const void *data, int64_t i)
{
    if (e == QDQ_UINT64) {
        LOAD(uint64_t, data, i);
        return (double)x;
    }
    if (e == QDQ_DOUBLE) {
        LOAD(double, data, i);
        return x;
    }
    return qdq_elem_is_int(e) ? (double)qdq_elem_int(e, data, i)
                              : (double)qdq_elem_float(e, data, i);
}

/* --- writing ---------------------------------------------------------------------------------- */

/* The code nearest to a >= 0, ties to even; beyond the largest code the result is beyond it,
 * too. */
static uint32_t small_code(double a, unsigned man, int bias)
{
    int e;

    if (a == 0)
        return 0;
    e = ilogb(a);
    if (e < 1 - bias)
        e = 1 - bias;
    if (e > 1 << 12)
        return UINT32_MAX;
    return (uint32_t)nearbyint(ldexp(a, (int)man - e)) + ((uint32_t)(e - (1 - bias)) << man);
}

/* The code of x; false if the format has no value near it. */
static bool encode(const small_format *f, double x, uint32_t *code)
{
    uint32_t sign = 1U << (f->bits - 1);

    if (isnan(x)) {
        *code = f->nan;
        return f->nan != 0;
    }
    if (isinf(x)) {
        *code = f->infinity | (x < 0 ? sign : 0);
        return f->infinity != 0;
    }
    *code = small_code(fabs(x), f->man, f->bias);
    if (*code > f->max)
        return false;
    if (signbit(x) && (*code != 0 || f->has_minus_zero))
        *code |= sign;
    return true;
}

static void put_bits(void *data, int64_t i, unsigned bits, uint64_t code)
{
    unsigned char *bytes = data;

    if (bits >= 8) {
        memcpy(bytes + (size_t)i * (bits / 8), &code, bits / 8);
        return;
    }
    unsigned per_byte = 8 / bits, shift = (unsigned)(i % per_byte) * bits;
    unsigned mask = ((1U << bits) - 1) << shift;

    bytes[i / per_byte] =
        (unsigned char)((bytes[i / per_byte] & ~mask) | ((unsigned)code << shift & mask));
}

bool qdq_elem_put_float(qdq_elem e, void *data, int64_t i, double x)
{
    small_format format;
    uint32_t code;

    if (e == QDQ_FLOAT) {
        float f = (float)x;

        if (!isfinite(f) && isfinite(x))
            return false;
        memcpy((unsigned char *)data + (size_t)i * sizeof f, &f, sizeof f);
        return true;
    }
    if (e == QDQ_DOUBLE) {
        memcpy((unsigned char *)data + (size_t)i * sizeof x, &x, sizeof x);
        return true;
    }
    if (e == QDQ_FLOAT8E8M0) { /* powers of two and NaN */
        int exponent = isfinite(x) && x > 0 ? ilogb(x) : -1000;

        if (!isnan(x) && (exponent < -127 || exponent > 127 || ldexp(1, exponent) != x))
            return false;
        put_bits(data, i, 8, isnan(x) ? 0xff : (uint64_t)(exponent + 127));
        return true;
    }
    if (!format_of(e, &format) || !encode(&format, x, &code))
        return false;
    put_bits(data, i, format.bits, code);
    return true;
}

bool qdq_elem_put_int(qdq_elem e, void *data, int64_t i, int64_t x)
{
    unsigned bits = qdq_elem_bits(e);
    bool is_signed = qdq_elem_get_info(e)->kind == QDQ_ELEM_INT;

    if (!qdq_elem_is_int(e))
        return false;
    if (e == QDQ_BOOL) {
        if (x != 0 && x != 1)
            return false;
    } else if (bits < 64) {
        int64_t limit = (int64_t)1 << (is_signed ? bits - 1 : bits);

        if (x >= limit || x < (is_signed ? -limit : 0))
            return false;
    } else if (e == QDQ_UINT64 && x < 0) {
        return false;
    }
    put_bits(data, i, bits, (uint64_t)x);
    return true;
}

bool qdq_elem_has_nan(qdq_elem e, const void *data, int64_t count)
{
    for (int64_t i = 0; i < count && !qdq_elem_is_int(e); i++)
        if (isnan(qdq_elem_float(e, data, i)))
            return true;
    return false;
}
