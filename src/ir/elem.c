/* elem.c - single elements of packed data as float or int64, all ONNX formats. Knows bits, no
 * tensors. */
#include "ir/ir.h"

#include <math.h>
#include <string.h>

#include "base/half.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "tensor bytes are little-endian and are read in place: a big-endian host is not supported"
#endif

/* A small float of `exp` exponent and `man` mantissa bits; `code` has no sign bit. Infinity and NaN
 * are the caller's business, they differ between the formats. */
static float small_float(unsigned code, unsigned man, int bias)
{
    unsigned exponent = code >> man, mantissa = code & ((1U << man) - 1);

    if (exponent == 0)
        return ldexpf((float)mantissa, 1 - bias - (int)man);
    return ldexpf((float)(mantissa | 1U << man), (int)exponent - bias - (int)man);
}

/* The two families differ in what the codes at the end mean: FN has one NaN per sign, FNUZ one NaN
 * at -0. */
static float from_float8(qdq_elem e, uint8_t b)
{
    unsigned code = b & 0x7fU;
    bool uz = e == QDQ_FLOAT8E4M3FNUZ || e == QDQ_FLOAT8E5M2FNUZ;
    bool e4 = e == QDQ_FLOAT8E4M3FN || e == QDQ_FLOAT8E4M3FNUZ;
    float f;

    if (uz && b == 0x80U)
        return NAN;
    if (e == QDQ_FLOAT8E4M3FN && code == 0x7fU)
        return NAN;
    if (e == QDQ_FLOAT8E5M2 && code >= 0x7cU)
        f = code == 0x7cU ? INFINITY : NAN;
    else if (e4)
        f = small_float(code, 3, uz ? 8 : 7);
    else
        f = small_float(code, 2, uz ? 16 : 15);
    return b & 0x80U ? -f : f;
}

static unsigned packed(const unsigned char *data, int64_t i, unsigned bits)
{
    unsigned per_byte = 8 / bits;
    unsigned shift = (unsigned)(i % per_byte) * bits;

    return ((unsigned)data[i / per_byte] >> shift) & ((1U << bits) - 1);
}

static int sign_extend(unsigned code, unsigned bits)
{
    return code >> (bits - 1) ? (int)code - (int)(1U << bits) : (int)code;
}

#define LOAD(type, data, i)                                                                        \
    type x;                                                                                        \
    memcpy(&x, (const unsigned char *)(data) + (size_t)(i) * sizeof x, sizeof x)

float qdq_elem_float(qdq_elem e, const void *data, int64_t i)
{
    static const float e2m1[] = {0.0F, 0.5F, 1.0F, 1.5F, 2.0F, 3.0F, 4.0F, 6.0F};
    const unsigned char *bytes = data;

    switch (e) {
    case QDQ_FLOAT: {
        LOAD(float, data, i);
        return x;
    }
    case QDQ_DOUBLE: {
        LOAD(double, data, i);
        return (float)x;
    }
    case QDQ_FLOAT16: {
        LOAD(uint16_t, data, i);
        return qdq_float_of_float16(x);
    }
    case QDQ_BFLOAT16: {
        LOAD(uint16_t, data, i);
        return qdq_float_of_bfloat16(x);
    }
    case QDQ_FLOAT8E4M3FN:
    case QDQ_FLOAT8E4M3FNUZ:
    case QDQ_FLOAT8E5M2:
    case QDQ_FLOAT8E5M2FNUZ:
        return from_float8(e, bytes[i]);
    case QDQ_FLOAT8E8M0:
        return bytes[i] == 0xff ? NAN : ldexpf(1.0F, (int)bytes[i] - 127);
    case QDQ_FLOAT4E2M1: {
        unsigned code = packed(bytes, i, 4);

        return code & 8U ? -e2m1[code & 7U] : e2m1[code & 7U];
    }
    case QDQ_UINT64: {
        LOAD(uint64_t, data, i);
        return (float)x;
    }
    case QDQ_UINT8:
    case QDQ_INT8:
    case QDQ_UINT16:
    case QDQ_INT16:
    case QDQ_INT32:
    case QDQ_INT64:
    case QDQ_BOOL:
    case QDQ_UINT32:
    case QDQ_UINT4:
    case QDQ_INT4:
    case QDQ_UINT2:
    case QDQ_INT2:
        return (float)qdq_elem_int(e, data, i);
    case QDQ_UNDEFINED:
    case QDQ_STRING:
    case QDQ_COMPLEX64:
    case QDQ_COMPLEX128:
    case QDQ_ELEM_COUNT:
        return NAN;
    }
    return NAN;
}

int64_t qdq_elem_int(qdq_elem e, const void *data, int64_t i)
{
    const unsigned char *bytes = data;

    switch (e) {
    case QDQ_UINT8:
        return bytes[i];
    case QDQ_INT8: {
        LOAD(int8_t, data, i);
        return x;
    }
    case QDQ_BOOL:
        return bytes[i] != 0;
    case QDQ_UINT16: {
        LOAD(uint16_t, data, i);
        return x;
    }
    case QDQ_INT16: {
        LOAD(int16_t, data, i);
        return x;
    }
    case QDQ_UINT32: {
        LOAD(uint32_t, data, i);
        return x;
    }
    case QDQ_INT32: {
        LOAD(int32_t, data, i);
        return x;
    }
    case QDQ_UINT64:
    case QDQ_INT64: {
        LOAD(int64_t, data, i);
        return x;
    }
    case QDQ_UINT4:
        return packed(bytes, i, 4);
    case QDQ_INT4:
        return sign_extend(packed(bytes, i, 4), 4);
    case QDQ_UINT2:
        return packed(bytes, i, 2);
    case QDQ_INT2:
        return sign_extend(packed(bytes, i, 2), 2);
    case QDQ_UNDEFINED:
    case QDQ_FLOAT:
    case QDQ_STRING:
    case QDQ_FLOAT16:
    case QDQ_DOUBLE:
    case QDQ_COMPLEX64:
    case QDQ_COMPLEX128:
    case QDQ_BFLOAT16:
    case QDQ_FLOAT8E4M3FN:
    case QDQ_FLOAT8E4M3FNUZ:
    case QDQ_FLOAT8E5M2:
    case QDQ_FLOAT8E5M2FNUZ:
    case QDQ_FLOAT4E2M1:
    case QDQ_FLOAT8E8M0:
    case QDQ_ELEM_COUNT:
        return 0;
    }
    return 0;
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

typedef struct small_format {
    unsigned bits, man;
    int bias;
    uint32_t max;      /* largest finite code */
    uint32_t infinity; /* 0: has none */
    uint32_t nan;      /* 0: has none */
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
    bool is_signed =
        e == QDQ_INT2 || e == QDQ_INT4 || e == QDQ_INT8 || e == QDQ_INT16 || e == QDQ_INT32;

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
