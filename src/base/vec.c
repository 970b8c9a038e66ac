/* vec.c - the one function behind the macros of vec.h. */
#include "base/vec.h"

#include <string.h>

/* `at` points to a pointer of the element's type, not to a void pointer: hence memcpy instead of an
 * access. */
bool qdq_vec_grow(qdq_arena *a, void **at, size_t *cap, size_t n, size_t elem_size)
{
    void *old;

    if (*cap > SIZE_MAX / 2)
        return false;
    size_t new_cap = *cap == 0 ? 8 : *cap * 2;
    void *grown = qdq_arena_array(a, new_cap, elem_size);
    if (grown == NULL)
        return false;
    memcpy(&old, at, sizeof old);
    if (n != 0)
        memcpy(grown, old, n * elem_size);
    memcpy(at, &grown, sizeof grown);
    *cap = new_cap;
    return true;
}
