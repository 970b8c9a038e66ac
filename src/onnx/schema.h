/* schema.h - one struct per ONNX message (qdq_pb_node, ...) and its table (qdq_pb_node_desc), made
 * from schema.def. */
#ifndef QDQ_SCHEMA_H
#define QDQ_SCHEMA_H

#include <stddef.h>

#include "ir/ir.h"
#include "onnx/wire.h"

#define MESSAGE(m, title)                                                                          \
    typedef struct qdq_pb_##m {                                                                    \
        qdq_wire_head head;
#define FIELD(m, member, number, kind) qdq_wire_member_##kind member;
#define END(m)                                                                                     \
    }                                                                                              \
    qdq_pb_##m;
#include "onnx/schema.def"
#undef MESSAGE
#undef FIELD
#undef END

#define MESSAGE(m, title) extern const qdq_wire_message qdq_pb_##m##_desc;
#define FIELD(m, member, number, kind)
#define END(m)
#include "onnx/schema.def"
#undef MESSAGE
#undef FIELD
#undef END

/* The field numbers, for masks and for emit callbacks: QDQ_PB_tensor_name. */
enum {
#define MESSAGE(m, title)
#define FIELD(m, member, number, kind) QDQ_PB_##m##_##member = (number),
#define END(m)
#include "onnx/schema.def"
#undef MESSAGE
#undef FIELD
#undef END
    QDQ_PB_END_
};

/* The member that holds the value of attributes of this type, which is not undefined. */
static inline void *qdq_pb_attr_value(qdq_pb_attr *pb, qdq_attr_type type)
{
    static const size_t offset[] = {
#define ATTR(ENUM, number, name, ITEM, c_type, field) [number] = offsetof(qdq_pb_attr, field),
#include "ir/attr_types.def"
#undef ATTR
    };

    return (char *)pb + offset[type];
}

#define QDQ_PB_BIT(field) (1u << QDQ_PB_##field)

#endif /* QDQ_SCHEMA_H */
