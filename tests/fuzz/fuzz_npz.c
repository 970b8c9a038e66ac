/* fuzz_npz.c - archives of arrays, and single arrays: whatever they claim, reading them ends, and a
 * header that was believed has data of its size behind it. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "quant/data/npz.h"

enum { MAX_READ = 1 << 20, MAX_ARRAYS = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_array(qdq_npz *z, size_t i, unsigned char *room)
{
    const qdq_npy *a;
    size_t half;

    if (qdq_npz_header(z, i, &a, NULL) != QDQ_OK)
        return;
    if (a->count < 0 || a->bytes != (size_t)a->count * a->elem_size || a->rank > QDQ_MAX_RANK)
        abort();
    if (a->bytes > MAX_READ)
        return;
    half = (size_t)a->count / 2 * a->elem_size;
    if (qdq_npz_read(z, i, 0, room, half, NULL) == QDQ_OK &&
        qdq_npz_read(z, i, half, room, a->bytes - half, NULL) == QDQ_OK &&
        qdq_npz_read(z, i, 0, room, half, NULL) != QDQ_OK)
        abort(); /* what was read once can be read again */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned char *room = malloc(MAX_READ);
    qdq_npz *z;

    if (room != NULL && qdq_npz_open_bytes(data, size, &z, NULL) == QDQ_OK) {
        for (size_t i = 0; i < qdq_npz_count(z) && i < MAX_ARRAYS; i++)
            read_array(z, i, room);
        qdq_npz_close(z);
    }
    free(room);
    return 0;
}
