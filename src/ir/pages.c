/* pages.c - frees the pages of mapped weights between uses. */
#include "ir/pages.h"

/* Of smaller tensors the calls cost more than the memory is worth. */
enum { LEAST_BYTES = 256 * 1024 };

void qdq_tensor_rest(const qdq_tensor *t)
{
    if (t->storage == QDQ_STORE_BYTES && t->owner != NULL && t->bytes.size >= LEAST_BYTES)
        qdq_mapping_rest_part(t->owner, t->bytes.data, t->bytes.size);
}
