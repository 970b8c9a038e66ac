/* span.h - bytes that belong to somebody else. */
#ifndef QDQ_SPAN_H
#define QDQ_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

typedef struct qdq_span {
    const unsigned char *data;
    size_t size;
} qdq_span;

static inline bool qdq_span_equal(qdq_span a, qdq_span b)
{
    return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

static inline bool qdq_span_is(qdq_span s, const char *text)
{
    return qdq_span_equal(s, (qdq_span){(const unsigned char *)text, strlen(text)});
}

#endif /* QDQ_SPAN_H */
