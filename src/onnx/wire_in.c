/* wire_in.c - protobuf decoding: bounds-checked, one level at a time, by table. Must not know any
 * message. */
#include "onnx/wire.h"
#include "base/fail.h"
#include "base/vec.h"

#include <inttypes.h>
#include <string.h>

static float get_float(const unsigned char *p)
{
    float f;

    memcpy(&f, p, sizeof f); /* little-endian, as elem.c insists */
    return f;
}

/* Says why qdq_wire_next() stopped at `pos`: the slow way, once per broken file. */
static qdq_status fail_item(const qdq_wire_in *in, const qdq_wire_message *desc, qdq_span body,
                            size_t pos, qdq_error *err)
{
    const unsigned char *p = body.data + pos, *end = body.data + body.size;
    size_t at = (size_t)(p - in->start);
    const char *field = "unknown";
    uint64_t tag, length;

    if (!qdq_varint_read(&p, end, &tag) || tag > UINT32_MAX || tag >> 3 == 0)
        return qdq_fail(err, QDQ_E_FORMAT,
                        "%s at byte %zu: bad field tag, expected one of 1 to 5 bytes", desc->name,
                        at);
    if (tag >> 3 < QDQ_WIRE_FIELDS && desc->field[tag >> 3].name != NULL)
        field = desc->field[tag >> 3].name;
    switch (tag & 7) {
    case QDQ_WIRE_VARINT:
        return qdq_fail(err, QDQ_E_FORMAT, "%s at byte %zu: field %" PRIu64 " (%s): bad varint",
                        desc->name, at, tag >> 3, field);
    case QDQ_WIRE_FIXED64:
    case QDQ_WIRE_FIXED32:
        return qdq_fail(err, QDQ_E_FORMAT, "%s at byte %zu: field %" PRIu64 " (%s): truncated",
                        desc->name, at, tag >> 3, field);
    case QDQ_WIRE_LENGTH:
        if (!qdq_varint_read(&p, end, &length))
            return qdq_fail(err, QDQ_E_FORMAT, "%s at byte %zu: field %" PRIu64 " (%s): bad length",
                            desc->name, at, tag >> 3, field);
        return qdq_fail(err, QDQ_E_FORMAT,
                        "%s at byte %zu: field %" PRIu64 " (%s): truncated: %" PRIu64
                        " bytes announced, %zu are left",
                        desc->name, at, tag >> 3, field, length, (size_t)(end - p));
    default:
        return qdq_fail(err, QDQ_E_FORMAT,
                        "%s at byte %zu: field %" PRIu64 " (%s): unknown wire type %u", desc->name,
                        at, tag >> 3, field, (unsigned)(tag & 7));
    }
}

static qdq_status add_ints(const qdq_wire_in *in, const qdq_wire_item *item,
                           qdq_wire_member_INTS *m, qdq_error *err)
{
    const unsigned char *p = item->payload.data;
    uint64_t v = item->value;

    if (item->type == QDQ_WIRE_VARINT)
        return QDQ_PUSH(in->scratch, m, (int64_t)v) ? QDQ_OK : qdq_nomem(err);
    for (const unsigned char *end = p + item->payload.size; p < end;) {
        if (!qdq_varint_read(&p, end, &v))
            return qdq_fail(err, QDQ_E_FORMAT, "bad varint in a packed list");
        QDQ_NEED(QDQ_PUSH(in->scratch, m, (int64_t)v), err);
    }
    return QDQ_OK;
}

static qdq_status add_floats(const qdq_wire_in *in, const qdq_wire_item *item,
                             qdq_wire_member_FLOATS *m, qdq_error *err)
{
    if (item->type == QDQ_WIRE_FIXED32) {
        unsigned char bytes[4] = {(unsigned char)item->value, (unsigned char)(item->value >> 8),
                                  (unsigned char)(item->value >> 16),
                                  (unsigned char)(item->value >> 24)};
        return QDQ_PUSH(in->scratch, m, get_float(bytes)) ? QDQ_OK : qdq_nomem(err);
    }
    if (item->payload.size % 4 != 0)
        return qdq_fail(err, QDQ_E_FORMAT, "%zu bytes of packed floats, expected a multiple of 4",
                        item->payload.size);
    for (size_t i = 0; i < item->payload.size; i += 4)
        QDQ_NEED(QDQ_PUSH(in->scratch, m, get_float(item->payload.data + i)), err);
    return QDQ_OK;
}

/* Tensor data in typed fields is only counted here, so that it can be checked against the shape;
 * decoding it is the business of whoever wants the values. */
static qdq_status count(const qdq_wire_item *item, unsigned width, qdq_wire_member_COUNT *m,
                        qdq_error *err)
{
    const unsigned char *p = item->payload.data;
    size_t n = item->payload.size, ends = 0;

    if (item->type != QDQ_WIRE_LENGTH) {
        m->n++;
        return QDQ_OK;
    }
    if (width != 0) {
        if (n % width != 0)
            return qdq_fail(err, QDQ_E_FORMAT,
                            "%zu bytes of packed numbers, expected a multiple of %u", n, width);
        m->n += n / width;
        return QDQ_OK;
    }
    for (size_t i = 0; i < n; i++)
        ends += p[i] < 0x80;
    if (n > 0 && p[n - 1] >= 0x80)
        return qdq_fail(err, QDQ_E_FORMAT, "the last varint of a packed list is truncated");
    m->n += ends;
    return QDQ_OK;
}

static qdq_status add_message(const qdq_wire_in *in, const qdq_wire_item *item, bool single,
                              qdq_wire_member_MSGS *m, qdq_error *err)
{
    if (single && m->n == 1)
        return qdq_fail(err, QDQ_E_FORMAT, "comes twice, expected once");
    return QDQ_PUSH(in->scratch, m, item->payload) ? QDQ_OK : qdq_nomem(err);
}

/* The wire types that a kind may come in: bit n for type n. */
static unsigned allowed_types(qdq_wire_kind kind)
{
    switch (kind) {
    case QDQ_WIRE_INT:
        return 1u << QDQ_WIRE_VARINT;
    case QDQ_WIRE_FLOAT:
        return 1u << QDQ_WIRE_FIXED32;
    case QDQ_WIRE_TEXT:
    case QDQ_WIRE_TEXTS:
    case QDQ_WIRE_MSG:
    case QDQ_WIRE_MSGS:
        return 1u << QDQ_WIRE_LENGTH;
    case QDQ_WIRE_INTS:
    case QDQ_WIRE_COUNT_VARINT:
        return 1u << QDQ_WIRE_VARINT | 1u << QDQ_WIRE_LENGTH;
    case QDQ_WIRE_FLOATS:
    case QDQ_WIRE_COUNT_FIXED32:
        return 1u << QDQ_WIRE_FIXED32 | 1u << QDQ_WIRE_LENGTH;
    case QDQ_WIRE_COUNT_FIXED64:
        return 1u << QDQ_WIRE_FIXED64 | 1u << QDQ_WIRE_LENGTH;
    case QDQ_WIRE_NONE:
        return 0;
    }
    return 0;
}

static qdq_status set_member(const qdq_wire_in *in, const qdq_wire_field *field,
                             const qdq_wire_item *item, void *member, qdq_error *err)
{
    if ((allowed_types(field->kind) >> item->type & 1) == 0)
        return qdq_fail(err, QDQ_E_FORMAT, "wire type %u does not fit the field", item->type);
    switch (field->kind) {
    case QDQ_WIRE_INT:
        *(qdq_wire_member_INT *)member = (qdq_wire_member_INT){(int64_t)item->value, true};
        return QDQ_OK;
    case QDQ_WIRE_FLOAT: {
        uint32_t bits = (uint32_t)item->value;
        qdq_wire_member_FLOAT *f = member;
        memcpy(&f->v, &bits, sizeof f->v);
        f->has = true;
        return QDQ_OK;
    }
    case QDQ_WIRE_TEXT:
        *(qdq_wire_member_TEXT *)member = item->payload;
        return QDQ_OK;
    case QDQ_WIRE_TEXTS:
        return QDQ_PUSH(in->scratch, (qdq_wire_member_TEXTS *)member, item->payload)
                   ? QDQ_OK
                   : qdq_nomem(err);
    case QDQ_WIRE_INTS:
        return add_ints(in, item, member, err);
    case QDQ_WIRE_FLOATS:
        return add_floats(in, item, member, err);
    case QDQ_WIRE_MSG:
        return add_message(in, item, true, member, err);
    case QDQ_WIRE_MSGS:
        return add_message(in, item, false, member, err);
    case QDQ_WIRE_COUNT_VARINT:
        return count(item, 0, member, err);
    case QDQ_WIRE_COUNT_FIXED32:
        return count(item, 4, member, err);
    case QDQ_WIRE_COUNT_FIXED64:
        return count(item, 8, member, err);
    case QDQ_WIRE_NONE:
        break;
    }
    return qdq_fail(err, QDQ_E_BUG, "field without kind");
}

qdq_status qdq_wire_decode(const qdq_wire_in *in, const qdq_wire_message *desc, qdq_span body,
                           void *msg, qdq_error *err)
{
    qdq_wire_head *head = msg;
    qdq_wire_item item;
    size_t pos = 0;
    bool scattered = false;

    memset(msg, 0, desc->size);
    while (qdq_wire_next(body, &pos, &item)) {
        if (item.number < QDQ_WIRE_FIELDS && desc->field[item.number].kind != QDQ_WIRE_NONE) {
            const qdq_wire_field *field = &desc->field[item.number];
            qdq_status st = set_member(in, field, &item, (char *)msg + field->offset, err);
            if (st != QDQ_OK)
                return qdq_within(err, st, "%s at byte %zu: field %u (%s)", desc->name,
                                  (size_t)(item.whole.data - in->start), (unsigned)item.number,
                                  field->name);
        } else if (head->unknown_fields.size == 0) {
            head->unknown_fields = item.whole;
        } else if (head->unknown_fields.data + head->unknown_fields.size == item.whole.data) {
            head->unknown_fields.size += item.whole.size;
        } else {
            scattered = true;
        }
    }
    if (pos < body.size)
        return fail_item(in, desc, body, pos, err);
    if (scattered)
        return qdq_wire_gather(body, ~desc->known, in->keep, &head->unknown_fields, err);
    return QDQ_OK;
}

static bool is_wanted(const qdq_wire_item *item, uint32_t numbers)
{
    return numbers >> (item->number < QDQ_WIRE_FIELDS ? item->number : 0) & 1;
}

qdq_status qdq_wire_gather(qdq_span body, uint32_t numbers, qdq_arena *keep, qdq_span *out,
                           qdq_error *err)
{
    qdq_span first = {NULL, 0};
    qdq_wire_item item;
    size_t pos = 0, size = 0;
    bool scattered = false;

    while (qdq_wire_next(body, &pos, &item)) {
        if (!is_wanted(&item, numbers))
            continue;
        size += item.whole.size;
        if (first.size == 0)
            first = item.whole;
        else if (!scattered && first.data + first.size == item.whole.data)
            first.size += item.whole.size;
        else
            scattered = true;
    }
    if (scattered) {
        unsigned char *copy = qdq_arena_alloc(keep, size);
        size_t at = 0;
        QDQ_NEED(copy != NULL, err);
        for (pos = 0; qdq_wire_next(body, &pos, &item);) {
            if (is_wanted(&item, numbers)) {
                memcpy(copy + at, item.whole.data, item.whole.size);
                at += item.whole.size;
            }
        }
        first = (qdq_span){copy, size};
    }
    *out = first;
    return QDQ_OK;
}
