/* elem_info.c - the table of element types. Knows names and sizes, no values. */
#include "base/elem_info.h"

#include <string.h>

static const qdq_elem_info elem_table[] = {
#define ELEM(ENUM, name, bits, KIND, FIELD, brief, npy, digits, exponent)                          \
    [QDQ_##ENUM] = {name, brief, npy, QDQ_ELEM_##KIND, QDQ_ELEM_##FIELD, bits, digits, exponent},
#include "base/elem.def"
#undef ELEM
};
_Static_assert(sizeof elem_table / sizeof elem_table[0] == QDQ_ELEM_COUNT,
               "one line per element type");

static bool is_elem(qdq_elem e)
{
    return (unsigned)e < (unsigned)QDQ_ELEM_COUNT;
}

const qdq_elem_info *qdq_elem_get_info(qdq_elem e)
{
    return &elem_table[is_elem(e) ? e : QDQ_UNDEFINED];
}

const char *qdq_elem_name(qdq_elem e)
{
    return is_elem(e) ? elem_table[e].name : NULL;
}

qdq_elem qdq_elem_from_name(const char *name)
{
    for (int e = 1; e < QDQ_ELEM_COUNT; e++)
        if (strcmp(name, elem_table[e].name) == 0)
            return (qdq_elem)e;
    return QDQ_UNDEFINED;
}

unsigned qdq_elem_bits(qdq_elem e)
{
    return qdq_elem_get_info(e)->bits;
}

bool qdq_elem_bytes(qdq_elem e, int64_t count, size_t *bytes)
{
    unsigned bits = qdq_elem_bits(e);

    *bytes = 0;
    if (bits == 0 || count < 0)
        return false;
    if (bits < 8) {
        uint64_t per_byte = 8 / bits;

        *bytes = (size_t)(((uint64_t)count + per_byte - 1) / per_byte);
        return true;
    }
    if ((uint64_t)count > (uint64_t)(PTRDIFF_MAX / (bits / 8)))
        return false;
    *bytes = (size_t)count * (bits / 8);
    return true;
}

bool qdq_elem_is_int(qdq_elem e)
{
    const qdq_elem_kind kind = qdq_elem_get_info(e)->kind;

    return kind == QDQ_ELEM_BOOL || kind == QDQ_ELEM_UINT || kind == QDQ_ELEM_INT;
}

bool qdq_elem_is_float(qdq_elem e)
{
    return qdq_elem_get_info(e)->kind == QDQ_ELEM_FLOAT;
}
