/* array_copy.h - a copy of an array that is borrowed for a callback, in memory that is reused. */
#ifndef QDQ_ARRAY_COPY_H
#define QDQ_ARRAY_COPY_H

#include "qdq/tensor.h"

typedef struct qdq_held {
    qdq_array array;
    size_t capacity;
    /* cleared by the caller before the next run */
    bool is_held;
} qdq_held;

qdq_status qdq_hold(qdq_held *h, const qdq_array *a, qdq_error *err);
void qdq_held_free(qdq_held *h);

bool qdq_array_same_shape(const qdq_array *a, const qdq_array *b);

/* "1, 3, 224, 224", truncated to `room` bytes. */
const char *qdq_array_shape_text(const qdq_array *a, char *text, size_t room);

#endif /* QDQ_ARRAY_COPY_H */
