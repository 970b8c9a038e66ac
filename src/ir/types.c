/* types.c - the table of operators, and what it takes to count elements. */
#include "ir/ir.h"

#include "base/fail.h"

#include <string.h>

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

const qdq_attr_type_info *qdq_attr_type_get_info(qdq_attr_type t)
{
    static const qdq_attr_type_info infos[] = {
        {"undefined", QDQ_ATTR_UNDEFINED, 0},
#define ATTR(ENUM, number, name, ITEM, type, field) {name, QDQ_ATTR_##ITEM, sizeof(type)},
#include "ir/attr_types.def"
#undef ATTR
    };

    return &infos[(unsigned)t < QDQ_COUNT(infos) ? t : QDQ_ATTR_UNDEFINED];
}
