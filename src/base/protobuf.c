/* protobuf.c - varints and fields. */
#include "base/protobuf.h"

bool qdq_varint_read(const unsigned char **p, const unsigned char *end, uint64_t *value)
{
    const unsigned char *q = *p;
    uint64_t v = 0;

    for (unsigned shift = 0; shift < 70 && q < end; shift += 7) {
        unsigned char byte = *q++;
        if (shift == 63 && byte > 1)
            return false;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *p = q;
            *value = v;
            return true;
        }
    }
    return false;
}

static uint32_t get_u32(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

bool qdq_wire_next(qdq_span body, size_t *pos, qdq_wire_item *item)
{
    const unsigned char *start, *p, *end;
    uint64_t tag, length;

    if (*pos >= body.size)
        return false;
    start = p = body.data + *pos;
    end = body.data + body.size;
    if (!qdq_varint_read(&p, end, &tag) || tag > UINT32_MAX || tag >> 3 == 0)
        return false;
    item->number = (uint32_t)(tag >> 3);
    item->type = (unsigned)(tag & 7);
    item->payload = (qdq_span){NULL, 0};
    item->value = 0;
    switch (item->type) {
    case QDQ_WIRE_VARINT:
        if (!qdq_varint_read(&p, end, &item->value))
            return false;
        break;
    case QDQ_WIRE_FIXED64:
        if (end - p < 8)
            return false;
        item->value = get_u32(p) | (uint64_t)get_u32(p + 4) << 32;
        p += 8;
        break;
    case QDQ_WIRE_FIXED32:
        if (end - p < 4)
            return false;
        item->value = get_u32(p);
        p += 4;
        break;
    case QDQ_WIRE_LENGTH:
        if (!qdq_varint_read(&p, end, &length) || length > (uint64_t)(end - p))
            return false;
        item->payload = (qdq_span){p, (size_t)length};
        p += length;
        break;
    default: /* groups, long gone from protobuf, and what never was */
        return false;
    }
    item->whole = (qdq_span){start, (size_t)(p - start)};
    *pos += item->whole.size;
    return true;
}
