/* wire_out.c - protobuf encoding: one pass, forwards, with tensor bytes by reference.
 *
 * A message's length stands before its body but is known only after it. One byte is reserved for
 * it; a length that needs more makes a small body move up, and a large one (or one that holds
 * references) leave a note for the final pass. Must not know any message. */
#include "onnx/wire.h"
#include "base/fail.h"

#include <stdlib.h>
#include <string.h>

enum {
    BY_REFERENCE = 512,     /* spans from this size on are not copied */
    MOVE_AT_MOST = 1 << 14, /* bodies up to this size are moved to make room for their length */
    STAGING = 1 << 18       /* small pieces are collected before they go to a file */
};

static size_t varint_encode(uint64_t v, unsigned char *p)
{
    size_t n = 0;

    while (v >= 0x80) {
        p[n++] = (unsigned char)(v | 0x80);
        v >>= 7;
    }
    p[n++] = (unsigned char)v;
    return n;
}

static void put_small(qdq_wire_out *out, const void *data, size_t size)
{
    if (size == 0)
        return;
    qdq_buf_append(&out->bytes, data, size);
    out->total += size;
}

static void put_varint(qdq_wire_out *out, uint64_t v)
{
    unsigned char bytes[10];

    put_small(out, bytes, varint_encode(v, bytes));
}

static void put_tag(qdq_wire_out *out, unsigned number, unsigned type)
{
    put_varint(out, (uint64_t)number << 3 | type);
}

static void insert_piece(qdq_wire_out *out, size_t index, qdq_wire_piece piece)
{
    if (out->n_piece == out->cap_piece) {
        size_t cap = out->cap_piece == 0 ? 64 : out->cap_piece * 2;
        qdq_wire_piece *grown =
            cap > SIZE_MAX / sizeof *grown ? NULL : realloc(out->piece, cap * sizeof *grown);
        if (grown == NULL) {
            out->failed = true;
            return;
        }
        out->piece = grown;
        out->cap_piece = cap;
    }
    memmove(out->piece + index + 1, out->piece + index,
            (out->n_piece - index) * sizeof *out->piece);
    out->piece[index] = piece;
    out->n_piece++;
}

void qdq_wire_put(qdq_wire_out *out, qdq_span bytes)
{
    if (bytes.size < BY_REFERENCE) {
        put_small(out, bytes.data, bytes.size);
        return;
    }
    insert_piece(out, out->n_piece, (qdq_wire_piece){out->bytes.size, bytes.data, bytes.size});
    out->total += bytes.size;
}

void qdq_wire_put_text(qdq_wire_out *out, unsigned number, qdq_span text)
{
    put_tag(out, number, QDQ_WIRE_LENGTH);
    put_varint(out, text.size);
    qdq_wire_put(out, text);
}

qdq_wire_mark qdq_wire_begin(qdq_wire_out *out, unsigned number)
{
    put_tag(out, number, QDQ_WIRE_LENGTH);
    put_small(out, "", 1); /* the length, if it is below 128 */
    return (qdq_wire_mark){out->bytes.size - 1, out->n_piece, out->total};
}

void qdq_wire_end(qdq_wire_out *out, qdq_wire_mark mark)
{
    uint64_t size = out->total - mark.total;
    unsigned char length[10];
    size_t n = varint_encode(size, length);

    if (out->bytes.failed || out->failed)
        return;
    if (out->n_piece == mark.n_piece && size <= MOVE_AT_MOST) {
        if (n > 1 && qdq_buf_extend(&out->bytes, n - 1) == NULL)
            return;
        char *at = out->bytes.data + mark.at;
        if (n > 1)
            memmove(at + n, at + 1, (size_t)size);
        memcpy(at, length, n);
    } else {
        insert_piece(out, mark.n_piece, (qdq_wire_piece){mark.at, NULL, size});
    }
    out->total += n - 1;
}

static void put_ints(qdq_wire_out *out, unsigned number, const qdq_wire_member_INTS *m)
{
    for (size_t i = 0; i < m->n; i++) {
        put_tag(out, number, QDQ_WIRE_VARINT);
        put_varint(out, (uint64_t)m->at[i]);
    }
}

static void put_float(qdq_wire_out *out, unsigned number, float f)
{
    unsigned char bytes[4];
    uint32_t bits;

    memcpy(&bits, &f, sizeof bits);
    for (unsigned i = 0; i < 4; i++)
        bytes[i] = (unsigned char)(bits >> 8 * i);
    put_tag(out, number, QDQ_WIRE_FIXED32);
    put_small(out, bytes, sizeof bytes);
}

static void put_messages(qdq_wire_out *out, unsigned number, const qdq_wire_member_MSGS *m)
{
    if (m->emit != NULL) {
        m->emit(out, number, m->obj);
        return;
    }
    for (size_t i = 0; i < m->n; i++)
        qdq_wire_put_text(out, number, m->at[i]);
}

static void put_field(qdq_wire_out *out, unsigned number, const qdq_wire_field *field,
                      const void *member)
{
    switch (field->kind) {
    case QDQ_WIRE_INT: {
        const qdq_wire_member_INT *i = member;
        if (i->has)
            put_ints(out, number, &(qdq_wire_member_INTS){(int64_t[]){i->v}, 1, 1});
        return;
    }
    case QDQ_WIRE_FLOAT: {
        const qdq_wire_member_FLOAT *f = member;
        if (f->has)
            put_float(out, number, f->v);
        return;
    }
    case QDQ_WIRE_TEXT: {
        const qdq_wire_member_TEXT *text = member;
        if (text->data != NULL)
            qdq_wire_put_text(out, number, *text);
        return;
    }
    case QDQ_WIRE_TEXTS: {
        const qdq_wire_member_TEXTS *texts = member;
        for (size_t i = 0; i < texts->n; i++)
            qdq_wire_put_text(out, number, texts->at[i]);
        return;
    }
    case QDQ_WIRE_INTS:
        put_ints(out, number, member);
        return;
    case QDQ_WIRE_FLOATS: {
        const qdq_wire_member_FLOATS *floats = member;
        for (size_t i = 0; i < floats->n; i++)
            put_float(out, number, floats->at[i]);
        return;
    }
    case QDQ_WIRE_MSG:
    case QDQ_WIRE_MSGS:
        put_messages(out, number, member);
        return;
    case QDQ_WIRE_COUNT_VARINT:
    case QDQ_WIRE_COUNT_FIXED32:
    case QDQ_WIRE_COUNT_FIXED64:
    case QDQ_WIRE_NONE:
        return;
    }
}

/* The fields of `unknown_fields` from *pos on that are below `number`. */
static void put_rest(qdq_wire_out *out, const qdq_wire_head *head, size_t *pos, uint32_t number)
{
    qdq_wire_item item;

    for (size_t next = *pos; qdq_wire_next(head->unknown_fields, &next, &item); *pos = next) {
        if (item.number >= number)
            return;
        if (item.number >= QDQ_WIRE_FIELDS || (head->rest_skip >> item.number & 1) == 0)
            qdq_wire_put(out, item.whole);
    }
}

void qdq_wire_encode(qdq_wire_out *out, const qdq_wire_message *desc, const void *msg)
{
    const qdq_wire_head *head = msg;
    size_t pos = 0;

    for (unsigned number = 1; number < QDQ_WIRE_FIELDS; number++) {
        const qdq_wire_field *field = &desc->field[number];
        if (field->kind == QDQ_WIRE_NONE)
            continue;
        if (head->unknown_fields.size != 0)
            put_rest(out, head, &pos, number);
        put_field(out, number, field, (const char *)msg + field->offset);
    }
    if (head->unknown_fields.size != 0)
        put_rest(out, head, &pos, UINT32_MAX);
}

void qdq_wire_put_message(qdq_wire_out *out, unsigned number, const qdq_wire_message *desc,
                          const void *msg)
{
    const qdq_wire_mark mark = qdq_wire_begin(out, number);

    qdq_wire_encode(out, desc, msg);
    qdq_wire_end(out, mark);
}

/* --- the finished output ---------------------------------------------------------------------- */

/* Walks the output in order: small bytes, a piece, small bytes, ... Calls take() for each run. */
typedef qdq_status take_fn(void *ctx, const void *data, size_t size, qdq_error *err);

static qdq_status walk_pieces(const qdq_wire_out *out, take_fn *take, void *ctx, qdq_error *err)
{
    size_t pos = 0;

    QDQ_NEED(!out->failed && !out->bytes.failed, err);
    for (size_t i = 0; i < out->n_piece; i++) {
        const qdq_wire_piece *piece = &out->piece[i];
        if (piece->at > pos)
            QDQ_TRY(take(ctx, out->bytes.data + pos, piece->at - pos, err));
        pos = piece->at;
        if (piece->data != NULL) {
            QDQ_TRY(take(ctx, piece->data, (size_t)piece->size, err));
        } else {
            unsigned char length[10];
            QDQ_TRY(take(ctx, length, varint_encode(piece->size, length), err));
            pos++;
        }
    }
    if (out->bytes.size > pos)
        QDQ_TRY(take(ctx, out->bytes.data + pos, out->bytes.size - pos, err));
    return QDQ_OK;
}

typedef struct copying {
    unsigned char *to;
    const qdq_cancel *cancel;
} copying;

static qdq_status take_into_memory(void *ctx, const void *data, size_t size, qdq_error *err)
{
    copying *c = ctx;

    for (size_t at = 0, n; at < size; at += n) {
        n = size - at < QDQ_POLL_BYTES ? size - at : QDQ_POLL_BYTES;
        QDQ_TRY(qdq_cancel_poll(c->cancel, err));
        memcpy(c->to, (const unsigned char *)data + at, n);
        c->to += n;
    }
    return QDQ_OK;
}

qdq_status qdq_wire_to_buf(const qdq_wire_out *out, const qdq_cancel *cancel, qdq_buf *buf,
                           qdq_error *err)
{
    copying c = {.cancel = cancel};

    if (out->failed || out->bytes.failed ||
        (out->total > 0 && (c.to = qdq_buf_extend(buf, out->total)) == NULL))
        return qdq_nomem(err);
    return out->total == 0 ? QDQ_OK : walk_pieces(out, take_into_memory, &c, err);
}

typedef struct staging {
    qdq_outfile *file;
    qdq_mapping *const *mapping;
    size_t n_mappings;
    /* STAGING bytes */
    unsigned char *data;
    size_t used;
} staging;

static void rest(const staging *s, const void *data, size_t size)
{
    for (size_t i = 0; i < s->n_mappings; i++) {
        const uintptr_t begin = (uintptr_t)qdq_mapping_data(s->mapping[i]), at = (uintptr_t)data;
        if (at >= begin && at < begin + qdq_mapping_size(s->mapping[i]))
            qdq_mapping_rest_part(s->mapping[i], data, size);
    }
}

static qdq_status take_into_file(void *ctx, const void *data, size_t size, qdq_error *err)
{
    staging *s = ctx;

    if (size > STAGING - s->used) {
        struct iovec iov[2] = {{s->data, s->used}, {(void *)(uintptr_t)data, size}};
        s->used = 0;
        QDQ_TRY(qdq_outfile_writev(s->file, iov, 2, err));
        rest(s, data, size);
        return QDQ_OK;
    }
    memcpy(s->data + s->used, data, size);
    s->used += size;
    return QDQ_OK;
}

qdq_status qdq_wire_to_file(const qdq_wire_out *out, qdq_outfile *file, qdq_mapping *const *mapping,
                            size_t n, qdq_error *err)
{
    staging s = {file, mapping, n, malloc(STAGING), 0};
    qdq_status st;

    QDQ_NEED(s.data != NULL, err);
    st = walk_pieces(out, take_into_file, &s, err);
    if (st == QDQ_OK && s.used > 0)
        st = qdq_outfile_write(file, s.data, s.used, err);
    free(s.data);
    return st;
}

void qdq_wire_out_free(qdq_wire_out *out)
{
    qdq_buf_free(&out->bytes);
    free(out->piece);
    out->piece = NULL;
    out->n_piece = out->cap_piece = 0;
}
