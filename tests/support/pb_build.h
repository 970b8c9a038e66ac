/* pb_build.h - protobuf by hand, for tests that need bytes which no writer would make. */
#ifndef QDQ_PB_BUILD_H
#define QDQ_PB_BUILD_H

#include "base/buf.h"

#include <string.h>

static inline void pb_varint(qdq_buf *b, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        qdq_buf_putc(b, (char)(v | 0x80));
    qdq_buf_putc(b, (char)v);
}

static inline void pb_tag(qdq_buf *b, unsigned number, unsigned type)
{
    pb_varint(b, (uint64_t)number << 3 | type);
}

static inline void pb_int(qdq_buf *b, unsigned number, int64_t v)
{
    pb_tag(b, number, 0);
    pb_varint(b, (uint64_t)v);
}

static inline void pb_bytes(qdq_buf *b, unsigned number, const void *data, size_t size)
{
    pb_tag(b, number, 2);
    pb_varint(b, size);
    if (size > 0)
        qdq_buf_append(b, data, size);
}

static inline void pb_text(qdq_buf *b, unsigned number, const char *text)
{
    pb_bytes(b, number, text, strlen(text));
}

static inline void pb_fixed32(qdq_buf *b, unsigned number, const void *four)
{
    pb_tag(b, number, 5);
    qdq_buf_append(b, four, 4);
}

static inline void pb_fixed64(qdq_buf *b, unsigned number, const void *eight)
{
    pb_tag(b, number, 1);
    qdq_buf_append(b, eight, 8);
}

/* A nested message, which is used up. */
static inline void pb_message(qdq_buf *b, unsigned number, qdq_buf *message)
{
    pb_bytes(b, number, message->data, message->size);
    qdq_buf_free(message);
}

#define PB_NEW QDQ_BUF_INIT(1u << 30)

/* key and value, as in external_data and metadata_props */
static inline void pb_entry(qdq_buf *b, unsigned number, const char *key, const char *value)
{
    qdq_buf entry = PB_NEW;

    pb_text(&entry, 1, key);
    pb_text(&entry, 2, value);
    pb_message(b, number, &entry);
}

/* ValueInfoProto: float with the given dims. */
static inline void pb_value(qdq_buf *graph, unsigned number, const char *name, int rank,
                            const int64_t *dims)
{
    qdq_buf shape = PB_NEW, tensor = PB_NEW, type = PB_NEW, info = PB_NEW;

    for (int i = 0; i < rank; i++) {
        qdq_buf dim = PB_NEW;
        pb_int(&dim, 1, dims[i]);
        pb_message(&shape, 1, &dim);
    }
    pb_int(&tensor, 1, 1);
    pb_message(&tensor, 2, &shape);
    pb_message(&type, 1, &tensor);
    pb_text(&info, 1, name);
    pb_message(&info, 2, &type);
    pb_message(graph, number, &info);
}

/* A node with at most two inputs ("" is left out, NULL ends) and one output, without closing it. */
static inline qdq_buf pb_node(const char *op, const char *name, const char *a, const char *b,
                              const char *out)
{
    qdq_buf node = PB_NEW;

    if (a != NULL)
        pb_text(&node, 1, a);
    if (b != NULL)
        pb_text(&node, 1, b);
    if (out != NULL)
        pb_text(&node, 2, out);
    if (name != NULL)
        pb_text(&node, 3, name);
    pb_text(&node, 4, op);
    return node;
}

/* ModelProto: IR 8, opset 17, version 1 of `domain` if that is not NULL, the graph (used up). */
static inline qdq_buf pb_model_with(qdq_buf *graph, const char *domain)
{
    qdq_buf model = PB_NEW, opset = PB_NEW;

    pb_int(&model, 1, 8);
    pb_message(&model, 7, graph);
    pb_int(&opset, 2, 17);
    pb_message(&model, 8, &opset);
    if (domain != NULL) {
        pb_text(&opset, 1, domain);
        pb_int(&opset, 2, 1);
        pb_message(&model, 8, &opset);
    }
    return model;
}

static inline qdq_buf pb_model(qdq_buf *graph)
{
    return pb_model_with(graph, NULL);
}

#endif /* QDQ_PB_BUILD_H */
