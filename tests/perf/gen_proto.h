/* gen_proto.h - a few lines of protobuf for the programs that write large models, so that these do
 * not measure what they test. */
#ifndef QDQ_GEN_PROTO_H
#define QDQ_GEN_PROTO_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

typedef struct bytes {
    unsigned char *data;
    size_t size, cap;
} bytes;

static inline void put(bytes *b, const void *data, size_t size)
{
    if (size > b->cap - b->size) {
        b->cap = 2 * (b->size + size) + 64;
        b->data = realloc(b->data, b->cap);
        if (b->data == NULL) {
            fprintf(stderr, "out of memory\n");
            exit(1);
        }
    }
    if (size > 0)
        memcpy(b->data + b->size, data, size);
    b->size += size;
}

static inline void put_varint(bytes *b, uint64_t v)
{
    unsigned char out[10];
    size_t n = 0;

    for (; v >= 0x80; v >>= 7)
        out[n++] = (unsigned char)(v | 0x80);
    out[n++] = (unsigned char)v;
    put(b, out, n);
}

static inline void put_int(bytes *b, unsigned number, uint64_t v)
{
    put_varint(b, number << 3);
    put_varint(b, v);
}

static inline void put_bytes(bytes *b, unsigned number, const void *data, size_t size)
{
    put_varint(b, number << 3 | 2);
    put_varint(b, size);
    put(b, data, size);
}

static inline void put_text(bytes *b, unsigned number, const char *text)
{
    put_bytes(b, number, text, strlen(text));
}

static inline void put_message(bytes *b, unsigned number, bytes *message)
{
    put_bytes(b, number, message->data, message->size);
    message->size = 0;
}

typedef struct label {
    char text[32];
} label;

static inline label name(const char *what, long i)
{
    label l;

    snprintf(l.text, sizeof l.text, "%s_%ld", what, i);
    return l;
}

static inline int write_file(const char *path, const bytes *b, off_t holes)
{
    FILE *f = fopen(path, "wb");

    if (f == NULL || (b->size > 0 && fwrite(b->data, 1, b->size, f) != b->size) || fflush(f) != 0 ||
        (holes > 0 && ftruncate(fileno(f), holes) != 0) || fclose(f) != 0) {
        perror(path);
        return 1;
    }
    return 0;
}

#endif /* QDQ_GEN_PROTO_H */
