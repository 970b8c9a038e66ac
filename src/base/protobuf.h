/* protobuf.h - fields of protocol buffers, one after the other, bounds-checked. Knows no message.
 */
#ifndef QDQ_PROTOBUF_H
#define QDQ_PROTOBUF_H

#include <stdbool.h>
#include <stdint.h>

#include "base/span.h"

/* Wire types. */
enum {
    QDQ_WIRE_VARINT = 0,
    QDQ_WIRE_FIXED64 = 1,
    /* length-delimited */
    QDQ_WIRE_LENGTH = 2,
    QDQ_WIRE_FIXED32 = 5
};

/* At most ten bytes, the last of them 0 or 1; false for anything else, and *p stays. */
bool qdq_varint_read(const unsigned char **p, const unsigned char *end, uint64_t *value);

/* One field after the other, tag included in `whole`. Returns false at the end, and on malformed
 * input, where *pos stays before body.size. */
typedef struct qdq_wire_item {
    uint32_t number;
    /* wire type */
    unsigned type;
    /* tag, length and payload */
    qdq_span whole;
    /* of length-delimited fields */
    qdq_span payload;
    /* of the others */
    uint64_t value;
} qdq_wire_item;

bool qdq_wire_next(qdq_span body, size_t *pos, qdq_wire_item *item);

#endif /* QDQ_PROTOBUF_H */
