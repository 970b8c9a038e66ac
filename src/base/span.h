/* span.h - bytes that belong to somebody else. */
#ifndef QDQ_SPAN_H
#define QDQ_SPAN_H

#include <stddef.h>

typedef struct qdq_span {
    const unsigned char *data;
    size_t size;
} qdq_span;

#endif /* QDQ_SPAN_H */
