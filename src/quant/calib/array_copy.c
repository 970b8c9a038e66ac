/* array_copy.c - copies an array into memory that is reused. */
#include "quant/calib/array_copy.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/fail.h"

qdq_status qdq_hold(qdq_held *h, const qdq_array *a, qdq_error *err)
{
    if (a->bytes > h->capacity || h->array.data == NULL) {
        void *data = malloc(a->bytes > 0 ? a->bytes : 1);

        QDQ_NEED(data != NULL, err);
        free(h->array.data);
        h->array.data = data;
        h->capacity = a->bytes;
    }
    void *data = h->array.data;
    if (a->bytes > 0)
        memcpy(data, a->data, a->bytes);
    h->array = *a;
    h->array.data = data;
    h->is_held = true;
    return QDQ_OK;
}

void qdq_held_free(qdq_held *h)
{
    free(h->array.data);
    *h = (qdq_held){.capacity = 0};
}

bool qdq_array_same_shape(const qdq_array *a, const qdq_array *b)
{
    if (a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dim[i] != b->dim[i])
            return false;
    return true;
}

const char *qdq_array_shape_text(const qdq_array *a, char *text, size_t room)
{
    text[0] = '\0';
    for (int i = 0; i < a->rank; i++)
        qdq_text_add(text, room, "%s%" PRId64, i > 0 ? ", " : "", a->dim[i]);
    return text;
}
