/* schema.c - the tables behind schema.h. */
#include "onnx/schema.h"

/* The mask of modelled numbers needs the field list a second time, so it is summed up as an
 * enumerator. */
#define MESSAGE(m, title)              enum { m##_known = 0
#define FIELD(m, member, number, kind) | (int)(1u << (number))
#define END(m)                                                                                     \
    }                                                                                              \
    ;
#include "onnx/schema.def"
#undef MESSAGE
#undef FIELD
#undef END

#define MESSAGE(m, title)                                                                          \
    const qdq_wire_message qdq_pb_##m##_desc = {title, sizeof(qdq_pb_##m), m##_known, {
#define FIELD(m, member, number, kind)                                                             \
    [number] = {#member, QDQ_WIRE_##kind, offsetof(qdq_pb_##m, member)},
#define END(m)                                                                                     \
    }                                                                                              \
    }                                                                                              \
    ;
#include "onnx/schema.def"
#undef MESSAGE
#undef FIELD
#undef END
