/* pack.h - texts one behind the other in a block that was measured before: results that one free()
 * frees. */
#ifndef QDQ_PACK_H
#define QDQ_PACK_H

#include <string.h>

/* Copies `s` with its NUL to *place, moves *place behind it, and returns the copy. */
static inline char *qdq_pack_text(char **place, const char *s)
{
    size_t size = strlen(s) + 1;
    char *copy = *place;

    memcpy(copy, s, size);
    *place += size;
    return copy;
}

#endif /* QDQ_PACK_H */
