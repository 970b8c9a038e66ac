/* random.c - seeded random numbers. Knows element types, no models; has no state of its own. */
#include "base/random.h"

#include "base/elem_info.h"
#include "base/half.h"

#include <math.h>
#include <string.h>

static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

qdq_random qdq_random_new(uint64_t seed, const char *name)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */

    for (; name != NULL && *name != '\0'; name++)
        hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    return (qdq_random){.counter = mix(seed ^ mix(hash))};
}

uint64_t qdq_random_nth_seed(uint64_t seed, uint64_t i)
{
    return i == 0 ? seed : mix(seed + i * UINT64_C(0xd1342543de82ef95));
}

uint64_t qdq_random_u64(qdq_random *r)
{
    return mix(r->counter += UINT64_C(0x9e3779b97f4a7c15));
}

double qdq_random_uniform(qdq_random *r)
{
    return (double)(qdq_random_u64(r) >> 11) * 0x1p-53;
}

/* Marsaglia's polar method: needs log and sqrt only, which libraries round alike once the result is
 * a float. */
float qdq_random_normal(qdq_random *r)
{
    double u, v, s;

    if (r->has_spare) {
        r->has_spare = false;
        return (float)r->spare;
    }
    do {
        u = 2 * qdq_random_uniform(r) - 1;
        v = 2 * qdq_random_uniform(r) - 1;
        s = u * u + v * v;
    } while (s >= 1 || s == 0);
    s = sqrt(-2 * log(s) / s);
    r->spare = v * s;
    r->has_spare = true;
    return (float)(u * s);
}

static void fill_floats(qdq_random *r, qdq_array *a)
{
    unsigned char *p = a->data, *end = p + a->bytes;

    if (a->elem == QDQ_FLOAT) {
        for (float f; end - p >= (ptrdiff_t)sizeof f; p += sizeof f) {
            f = qdq_random_normal(r);
            memcpy(p, &f, sizeof f);
        }
    } else if (a->elem == QDQ_DOUBLE) {
        for (double d; end - p >= (ptrdiff_t)sizeof d; p += sizeof d) {
            d = qdq_random_normal(r);
            memcpy(p, &d, sizeof d);
        }
    } else {
        for (uint16_t h; end - p >= (ptrdiff_t)sizeof h; p += sizeof h) {
            double d = (double)qdq_random_normal(r);
            h = a->elem == QDQ_FLOAT16 ? qdq_float16_of_double(d) : qdq_bfloat16_of_double(d);
            memcpy(p, &h, sizeof h);
        }
    }
}

/* Little-endian integers of `size` bytes: the low byte carries the bit. */
static void fill_integers(qdq_random *r, qdq_array *a, size_t size)
{
    unsigned char *p = a->data;

    memset(p, 0, a->bytes);
    for (size_t i = 0; i + size <= a->bytes; i += size)
        p[i] = (unsigned char)(qdq_random_u64(r) >> 63);
}

bool qdq_random_fill(qdq_array *a, uint64_t seed, const char *name)
{
    qdq_random r = qdq_random_new(seed, name);
    const qdq_elem_info *info = qdq_elem_get_info(a->elem);

    if (info->kind == QDQ_ELEM_FLOAT && info->digits > 0)
        fill_floats(&r, a);
    else if (!qdq_elem_is_int(a->elem))
        return false;
    else if (info->bits >= 8)
        fill_integers(&r, a, info->bits / 8);
    else /* two elements a byte, or four */
        for (size_t i = 0; i < a->bytes; i++)
            ((unsigned char *)a->data)[i] = info->bits == 4
                                                ? (unsigned char)(qdq_random_u64(&r) >> 59) & 0x11
                                                : (unsigned char)(qdq_random_u64(&r) >> 56) & 0x55;
    return true;
}
