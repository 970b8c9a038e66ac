/* wire.h - protobuf's wire format, both ways, driven by tables. Knows messages and fields only as
 * table rows (schema.h), nothing of models.
 *
 * Decoding fills a plain struct from one message: numbers are converted, everything with a length
 * stays a span of the input, nested messages too, so nothing below one level is touched and nothing
 * is copied. Encoding takes the same struct; nested messages come from a callback that writes them
 * in place. */
#ifndef QDQ_WIRE_H
#define QDQ_WIRE_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/file.h"
#include "base/protobuf.h"
#include "base/span.h"
#include "qdq/status.h"

typedef enum qdq_wire_kind {
    QDQ_WIRE_NONE = 0,
    /* optional varint, signed 64 bit */
    QDQ_WIRE_INT,
    /* optional fixed32 */
    QDQ_WIRE_FLOAT,
    /* optional string or bytes; data is NULL when it is not there */
    QDQ_WIRE_TEXT,
    /* repeated string or bytes */
    QDQ_WIRE_TEXTS,
    /* repeated varint; packed is read, unpacked is written */
    QDQ_WIRE_INTS,
    /* repeated fixed32; packed is read, unpacked is written */
    QDQ_WIRE_FLOATS,
    /* optional message */
    QDQ_WIRE_MSG,
    /* repeated message */
    QDQ_WIRE_MSGS,
    /* repeated numbers, packed or not, that are only counted; never written */
    QDQ_WIRE_COUNT_VARINT,
    /* the same */
    QDQ_WIRE_COUNT_FIXED32,
    /* the same */
    QDQ_WIRE_COUNT_FIXED64
} qdq_wire_kind;

typedef struct qdq_wire_out qdq_wire_out;

/* Writes the messages of one field, each by qdq_wire_put_message(). `ctx` is that of the
 * qdq_wire_out. */
typedef void qdq_wire_emit(qdq_wire_out *out, unsigned number, const void *obj);

/* What a member of each kind looks like: schema.h picks by the kind's name. */
typedef struct qdq_wire_member_INT {
    int64_t v;
    bool has;
} qdq_wire_member_INT;

typedef struct qdq_wire_member_FLOAT {
    float v;
    bool has;
} qdq_wire_member_FLOAT;

typedef qdq_span qdq_wire_member_TEXT;

typedef struct qdq_wire_member_TEXTS {
    qdq_span *at;
    size_t n, cap;
} qdq_wire_member_TEXTS;

typedef struct qdq_wire_member_INTS {
    int64_t *at;
    size_t n, cap;
} qdq_wire_member_INTS;

typedef struct qdq_wire_member_FLOATS {
    float *at;
    size_t n, cap;
} qdq_wire_member_FLOATS;

typedef struct qdq_wire_member_MSGS {
    /* bodies, without tag and length */
    qdq_span *at;
    size_t n, cap;
    /* encoding: called instead of writing `at`; NULL: `at` holds it */
    qdq_wire_emit *emit;
    /* its argument */
    const void *obj;
} qdq_wire_member_MSGS;

typedef qdq_wire_member_MSGS qdq_wire_member_MSG; /* n is 0 or 1 */

typedef struct qdq_wire_member_COUNT {
    size_t n;
} qdq_wire_member_COUNT;

typedef qdq_wire_member_COUNT qdq_wire_member_COUNT_VARINT;
typedef qdq_wire_member_COUNT qdq_wire_member_COUNT_FIXED32;
typedef qdq_wire_member_COUNT qdq_wire_member_COUNT_FIXED64;

/* The members that every message struct begins with. */
typedef struct qdq_wire_head {
    /* unknown fields with their tags, in order */
    qdq_span unknown_fields;
    /* encoding: bit n leaves field n of `unknown_fields` out */
    uint32_t rest_skip;
} qdq_wire_head;

#define QDQ_WIRE_FIELDS 32

typedef struct qdq_wire_field {
    const char *name;
    qdq_wire_kind kind;
    /* of the member */
    size_t offset;
} qdq_wire_field;

typedef struct qdq_wire_message {
    const char *name;
    /* of the struct */
    size_t size;
    /* bit n: field n is modelled */
    uint32_t known;
    /* by number */
    qdq_wire_field field[QDQ_WIRE_FIELDS];
} qdq_wire_message;

/* --- decoding --------------------------------------------------------------------------------- */

typedef struct qdq_wire_in {
    /* of the file: positions in messages count from here */
    const unsigned char *start;
    /* arrays of repeated members */
    qdq_arena *scratch;
    /* `unknown_fields`, where it has to be put together */
    qdq_arena *keep;
} qdq_wire_in;

/* Decodes one message into *msg, which is cleared first. Unknown fields become `unknown_fields`.
 * Scalars that come twice: the last one counts; an optional message that comes twice is refused. */
qdq_status qdq_wire_decode(const qdq_wire_in *in, const qdq_wire_message *desc, qdq_span body,
                           void *msg, qdq_error *err);

/* The fields of `body` whose bit is set in `numbers`, and those with unknown ones (31 < number) if
 * bit 0 is set, as one span: of `body` itself if they are neighbours, else put together in
 * `keep`. */
qdq_status qdq_wire_gather(qdq_span body, uint32_t numbers, qdq_arena *keep, qdq_span *out,
                           qdq_error *err);

/* --- encoding --------------------------------------------------------------------------------- */

typedef struct qdq_wire_piece {
    /* position in `bytes` */
    size_t at;
    const unsigned char
        /* goes in at that place; NULL: the length `size` does, over one reserved byte */
        *data;
    uint64_t size;
} qdq_wire_piece;

/* Growing output: small fields in `bytes`, large spans by reference, so that tensor bytes are never
 * copied. Failure is sticky. */
struct qdq_wire_out {
    /* for emit callbacks */
    void *ctx;
    qdq_buf bytes;
    /* ascending `at` */
    qdq_wire_piece *piece;
    size_t n_piece, cap_piece;
    /* bytes that the output will have */
    uint64_t total;
    /* out of memory */
    bool failed;
};

typedef struct qdq_wire_mark {
    size_t at, n_piece;
    uint64_t total;
} qdq_wire_mark;

qdq_wire_mark qdq_wire_begin(qdq_wire_out *out, unsigned number);
void qdq_wire_end(qdq_wire_out *out, qdq_wire_mark mark);

/* Fields in ascending order, those of `unknown_fields` merged in by number. */
void qdq_wire_encode(qdq_wire_out *out, const qdq_wire_message *desc, const void *msg);

/* The same as a field: its begin, its message, its end. */
void qdq_wire_put_message(qdq_wire_out *out, unsigned number, const qdq_wire_message *desc,
                          const void *msg);

/* Bytes as they are; long ones are kept by reference and must live as long as the output. */
void qdq_wire_put(qdq_wire_out *out, qdq_span bytes);

/* A whole length-delimited field. */
void qdq_wire_put_text(qdq_wire_out *out, unsigned number, qdq_span text);

/* The finished output. */
qdq_status qdq_wire_to_buf(const qdq_wire_out *out, const qdq_cancel *cancel, qdq_buf *buf,
                           qdq_error *err);
/* Long bytes in one of n mappings give their memory back when they are written. */
qdq_status qdq_wire_to_file(const qdq_wire_out *out, qdq_outfile *file, qdq_mapping *const *mapping,
                            size_t n, qdq_error *err);
void qdq_wire_out_free(qdq_wire_out *out);

#endif /* QDQ_WIRE_H */
