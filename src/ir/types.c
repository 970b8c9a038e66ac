/* types.c - element types and the table of operators. Knows names and sizes, no values. */
#include "ir/ir.h"

#include <string.h>

static const struct elem_info {
    const char *name;
    unsigned char bits;
} elem_table[] = {
    [QDQ_UNDEFINED] = {"undefined", 0},
    [QDQ_FLOAT] = {"float", 32},
    [QDQ_UINT8] = {"uint8", 8},
    [QDQ_INT8] = {"int8", 8},
    [QDQ_UINT16] = {"uint16", 16},
    [QDQ_INT16] = {"int16", 16},
    [QDQ_INT32] = {"int32", 32},
    [QDQ_INT64] = {"int64", 64},
    [QDQ_STRING] = {"string", 0},
    [QDQ_BOOL] = {"bool", 8},
    [QDQ_FLOAT16] = {"float16", 16},
    [QDQ_DOUBLE] = {"double", 64},
    [QDQ_UINT32] = {"uint32", 32},
    [QDQ_UINT64] = {"uint64", 64},
    [QDQ_COMPLEX64] = {"complex64", 64},
    [QDQ_COMPLEX128] = {"complex128", 128},
    [QDQ_BFLOAT16] = {"bfloat16", 16},
    [QDQ_FLOAT8E4M3FN] = {"float8e4m3fn", 8},
    [QDQ_FLOAT8E4M3FNUZ] = {"float8e4m3fnuz", 8},
    [QDQ_FLOAT8E5M2] = {"float8e5m2", 8},
    [QDQ_FLOAT8E5M2FNUZ] = {"float8e5m2fnuz", 8},
    [QDQ_UINT4] = {"uint4", 4},
    [QDQ_INT4] = {"int4", 4},
    [QDQ_FLOAT4E2M1] = {"float4e2m1", 4},
    [QDQ_FLOAT8E8M0] = {"float8e8m0", 8},
    [QDQ_UINT2] = {"uint2", 2},
    [QDQ_INT2] = {"int2", 2},
};
_Static_assert(sizeof elem_table / sizeof elem_table[0] == QDQ_ELEM_COUNT,
               "one line per element type");

/* Element types come from files: any number may arrive here. */
static bool is_elem(qdq_elem e)
{
    return (unsigned)e < (unsigned)QDQ_ELEM_COUNT;
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
    return is_elem(e) ? elem_table[e].bits : 0;
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

int64_t qdq_array_count(const qdq_array *a)
{
    int64_t count = 1;

    for (int i = 0; i < a->rank; i++) {
        if (a->dim[i] < 0 || (a->dim[i] != 0 && count > INT64_MAX / a->dim[i]))
            return -1;
        count *= a->dim[i];
    }
    return count;
}

bool qdq_elem_is_int(qdq_elem e)
{
    switch (e) {
    case QDQ_UINT8:
    case QDQ_INT8:
    case QDQ_UINT16:
    case QDQ_INT16:
    case QDQ_INT32:
    case QDQ_INT64:
    case QDQ_BOOL:
    case QDQ_UINT32:
    case QDQ_UINT64:
    case QDQ_UINT4:
    case QDQ_INT4:
    case QDQ_UINT2:
    case QDQ_INT2:
        return true;
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
        return false;
    }
    return false;
}

bool qdq_elem_is_float(qdq_elem e)
{
    return is_elem(e) && !qdq_elem_is_int(e) && e != QDQ_UNDEFINED && e != QDQ_STRING &&
           e != QDQ_COMPLEX64 && e != QDQ_COMPLEX128;
}

static const qdq_op_info op_table[] = {
    {"?", 0},
#define PURE                                    QDQ_OP_PURE
#define NONDET                                  QDQ_OP_NONDET
#define CONTROL                                 QDQ_OP_CONTROL
#define OP(ENUM, name, op_flags, infer, values) {name, op_flags},
#include "ir/ops.def"
#undef OP
#undef PURE
#undef NONDET
#undef CONTROL
};
_Static_assert(sizeof op_table / sizeof op_table[0] == QDQ_OP_COUNT, "one line per operator");

const qdq_op_info *qdq_op_get_info(qdq_op op)
{
    return &op_table[(unsigned)op < (unsigned)QDQ_OP_COUNT ? op : QDQ_OP_UNKNOWN];
}

/* Called for every node of a file: binary search over ops.def, which is in strcmp order (a test
 * looks). */
qdq_op qdq_op_find(const char *domain, const char *name)
{
    int low = QDQ_OP_UNKNOWN + 1, high = QDQ_OP_COUNT;

    if (domain[0] != '\0' && strcmp(domain, "ai.onnx") != 0)
        return QDQ_OP_UNKNOWN;
    while (low < high) {
        int mid = low + (high - low) / 2;
        int order = strcmp(name, op_table[mid].name);

        if (order == 0)
            return (qdq_op)mid;
        if (order < 0)
            high = mid;
        else
            low = mid + 1;
    }
    return QDQ_OP_UNKNOWN;
}
