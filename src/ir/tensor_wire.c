/* tensor_wire.c - the typed fields of a TensorProto: packed or not, in any number of pieces. The
 * reader of models is onnx/. */
#include "ir/tensor_wire.h"

#include "base/fail.h"
#include "base/protobuf.h"

#include <inttypes.h>
#include <string.h>

typedef struct sink {
    const qdq_tensor *t;
    /* where values of this element type are stored */
    unsigned field;
    /* grows towards end */
    unsigned char *data;
    const unsigned char *end;
    /* values for which there was no room */
    uint64_t extra;
    /* one was out of the element type's range */
    bool bad_value;
    int64_t bad;
} sink;

/* Strings are read elsewhere. */
static unsigned field_of(qdq_elem e)
{
    return e == QDQ_STRING ? QDQ_ELEM_NO_FIELD : qdq_elem_get_info(e)->field;
}

/* Bytes that one stored value becomes: 4 and 2 bit types are stored a byte of them at a time. */
static size_t value_size(qdq_elem e)
{
    unsigned bits = qdq_elem_bits(e);

    if (e == QDQ_COMPLEX64 || e == QDQ_COMPLEX128)
        bits /= 2;
    return bits < 8 ? 1 : bits / 8;
}

static void put_value(sink *s, const void *value, size_t size)
{
    if ((size_t)(s->end - s->data) < size) {
        s->extra++;
        return;
    }
    memcpy(s->data, value, size);
    s->data += size;
}

/* Narrow types come as int32: signed or unsigned, both spellings of the same bits are in use. */
static void put_int(sink *s, uint64_t raw)
{
    size_t size = value_size(s->t->elem);

    if (size < 4) {
        int64_t value = (int32_t)(uint32_t)raw, limit = (int64_t)1 << (8 * size);

        if ((value >= limit || value < -limit / 2) && !s->bad_value) {
            s->bad_value = true;
            s->bad = value;
        }
    }
    put_value(s, &raw, size); /* the low bytes: little-endian, as elem.c insists */
}

static bool read_packed(sink *s, qdq_span in)
{
    const unsigned char *p = in.data, *end = p + in.size;
    uint64_t value;

    if (s->field == QDQ_ELEM_FLOAT_DATA || s->field == QDQ_ELEM_DOUBLE_DATA) {
        size_t size = s->field == QDQ_ELEM_FLOAT_DATA ? 4 : 8, got = in.size;
        size_t room = (size_t)(s->end - s->data);

        if (got % size != 0)
            return false;
        if (got > room) {
            s->extra += (got - room) / size;
            got = room;
        }
        if (got > 0)
            memcpy(s->data, p, got);
        s->data += got;
        return true;
    }
    while (p < end) {
        if (!qdq_varint_read(&p, end, &value))
            return false;
        put_int(s, value);
    }
    return true;
}

/* False: of a wire type that the field cannot have. */
static bool read_item(sink *s, const qdq_wire_item *item)
{
    if (item->number != s->field)
        return true;
    if (item->type == QDQ_WIRE_LENGTH)
        return read_packed(s, item->payload);
    if (item->type == QDQ_WIRE_VARINT)
        put_int(s, item->value);
    else
        put_value(s, &item->value, item->type == QDQ_WIRE_FIXED32 ? 4 : 8);
    return true;
}

qdq_status qdq_tensor_decode_wire(const qdq_tensor *t, unsigned char *data, size_t size,
                                  qdq_error *err)
{
    sink s = {t, field_of(t->elem), data, data + size, 0, false, 0};
    qdq_wire_item item;
    size_t pos = 0;
    bool fine = true;
    size_t each = value_size(t->elem);

    if (s.field == 0)
        return qdq_fail(err, QDQ_E_UNSUPPORTED,
                        "tensor '%s': elements of type %s cannot be read as numbers", t->name,
                        qdq_elem_name(t->elem) ? qdq_elem_name(t->elem) : "?");
    while (fine && qdq_wire_next(t->wire, &pos, &item))
        fine = read_item(&s, &item);
    if (!fine || pos < t->wire.size)
        return qdq_fail(err, QDQ_E_FORMAT, "tensor '%s': its typed data is cut off or malformed",
                        t->name);
    if (s.extra > 0 || s.data != s.end)
        return qdq_fail(err, QDQ_E_FORMAT,
                        "tensor '%s': found %" PRIu64 " stored values, expected %zu", t->name,
                        (uint64_t)((size_t)(s.data - data) / each) + s.extra, size / each);
    if (s.bad_value)
        return qdq_fail(err, QDQ_E_FORMAT, "tensor '%s': the value %" PRId64 " does not fit %s",
                        t->name, s.bad, qdq_elem_name(t->elem));
    return QDQ_OK;
}
